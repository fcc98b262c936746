// Threads of the library take no signals: the user's handlers run on the user's threads only.
#pragma once

#include <csignal>

namespace ronde {

// Blocks all signals for the calling thread while it lives. A thread that is started meanwhile inherits that.
class BlockAllSignals {
 public:
  BlockAllSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockAllSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockAllSignals(const BlockAllSignals&) = delete;
  BlockAllSignals& operator=(const BlockAllSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace ronde
