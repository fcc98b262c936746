// Signals as readable events. While one of these objects lives its signals are blocked and come through a descriptor;
// a signal that the parent had set to be ignored (nohup, a script's background job) stays ignored.
#pragma once

#include <csignal>
#include <functional>
#include <initializer_list>
#include <string>

#include "base/fd.h"
#include "ronderun/process.h"
#include "ronderun/reactor.h"

namespace ronde::launcher {

// What this process was started with. Ignores SIGPIPE, lets it open as many files as it is allowed to, and opens
// /dev/null for standard descriptors that are closed. To be called first.
Inherited take_over();

class SignalSource {
 public:
  // Throws std::system_error: no more descriptors.
  SignalSource(Reactor& reactor, std::initializer_list<int> numbers, std::function<void(int)> received);
  ~SignalSource();
  SignalSource(const SignalSource&) = delete;
  SignalSource& operator=(const SignalSource&) = delete;

 private:
  void read_some();

  Reactor& reactor_;
  std::function<void(int)> received_;
  Fd fd_;
};

// Suspends this process by SIGTSTP, as it would by default; returns when it goes on.
void suspend_self();
// Ends this process by a signal, so that its parent sees that. No core file.
[[noreturn]] void end_by_signal(int number);
// This host's name, or "localhost" where it has none.
std::string own_host_name();

}  // namespace ronde::launcher
