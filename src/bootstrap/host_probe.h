// Asks whether the host at the other end of a connection is there, apart from that connection, whose repetitions become
// rarer with each that is lost: by attempts to connect, which any answer ends, a refusal too. One thread.
#pragma once

#include "base/socket.h"

namespace ronde {

class HostProbe {
 public:
  explicit HostProbe(const SocketAddress& address) : address_(address) {}

  // To be called about each second: true if the attempt of the last call was answered; begins the next one. Never
  // blocks.
  bool answered();

 private:
  SocketAddress address_;
  Fd attempt_;
};

}  // namespace ronde
