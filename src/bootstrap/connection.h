// A proved connection that carries framed messages, without blocking, and knows when the other host has fallen silent.
// Used by root, members and the control plane alike; one thread at a time.
#pragma once

#include <deque>
#include <optional>

#include "base/authenticated_stream.h"
#include "base/deadline.h"
#include "base/status.h"
#include "bootstrap/frame.h"
#include "bootstrap/host_probe.h"
#include "bootstrap/silence.h"

namespace ronde {

class Connection {
 public:
  // silent_limit: without any sign of the other host, idle or not.
  Connection(ProvedStream stream, Direction sends, size_t most_received_bytes, std::chrono::seconds silent_limit);

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::string& peer() const { return peer_; }  // "10.0.0.1:4711"

  void send(SharedMessage message);
  // Sends what the socket takes. A broken connection is told by receive(), which may still find messages.
  void flush(Time now);
  [[nodiscard]] bool has_unsent() const { return !unsent_.empty(); }
  // No more will be sent: the other side sees the end once it has read everything.
  void finish_sending();

  // Appends the messages that have come. Nothing while the connection stands; else how it ended, to be put behind "rank
  // 3" or the like: rondePeerLost "ended without saying goodbye", rondePeerUnreachable "is silent: ...".
  [[nodiscard]] std::optional<Status> receive(std::vector<Bytes>& messages);

  // Whether what was sent arrives; to be called by the time of next_check(). An error, to be put behind "rank 3" too:
  // the other host has been silent for too long.
  [[nodiscard]] std::optional<Status> check(Time now);
  [[nodiscard]] Deadline next_check() const { return Deadline::at(check_at_); }

  // Reads away what nobody wants any more: closing with unread bytes would destroy what was sent last.
  void drain();

 private:
  Fd fd_;
  std::string peer_;
  FrameSealer sealer_;
  FrameOpener opener_;
  std::deque<Frame> unsent_;
  size_t sent_of_first_ = 0;
  bool sending_broken_ = false;
  SilenceClock silence_;
  std::optional<HostProbe> probe_;
  Time check_at_ = Time::max();
};

}  // namespace ronde
