// Reads ronderun's standard input for rank 0 where that rank cannot read it itself: a terminal (the rank is not in its
// foreground), or a rank on another host. At most one window of bytes is under way. Terminal modes are left alone.
#pragma once

#include <functional>
#include <vector>

#include "base/wire.h"
#include "ronderun/reactor.h"

namespace ronde::launcher {

class InputForwarder {
 public:
  // send: what was read; an empty view is the end. Needs SIGTTIN to be blocked.
  InputForwarder(Reactor& reactor, std::function<void(ByteView)> send)
      : reactor_(reactor), send_(std::move(send)), buffer_(kWindowBytes) {}
  void start();
  void taken(size_t bytes);  // rank 0 has taken so many
  void stop();

 private:
  static constexpr size_t kWindowBytes = 64 << 10;
  static constexpr Milliseconds kBackgroundPause{500};
  void wait();
  void read_some();

  Reactor& reactor_;
  std::function<void(ByteView)> send_;
  Bytes buffer_;
  size_t under_way_ = 0;
  bool waiting_ = false;  // a watch or a timer will read
  bool active_ = false;
};

}  // namespace ronde::launcher
