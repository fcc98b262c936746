// Ends the program with a message when a test does not end: a test that hangs must say where.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "base/deadline.h"

namespace ronde::testing {

// From its making to its end at most `limit` may pass.
class Watchdog {
 public:
  Watchdog(std::string what, Milliseconds limit);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void run(Milliseconds limit);

  std::string what_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace ronde::testing
