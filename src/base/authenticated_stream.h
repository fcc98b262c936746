// Connections that have been proved on both sides: dialling one, and taking in those that others dial.
// Uses socket.h for the wire and proof.h for the proof. TLS will wrap the stream here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/proof.h"
#include "base/shared_word.h"
#include "base/socket.h"

namespace ronde {

// A connection that is proved: non-blocking, configured, no byte beyond the proof read.
struct ProvedStream {
  Fd fd;
  Claim claim;
  Key session_key{};
};

struct DialOptions {
  Deadline deadline = Deadline::never();
  // A refused connection is tried again every 100 ms (the other side may not listen yet), else it is final for that
  // address.
  bool retry_refused = false;
  // Once one of them is set the dialling ends within 50 ms, with rondeTimedOut.
  const OnceFlag* stop = nullptr;
  const OnceFlag* stop_too = nullptr;
  // Called each 10 s with how long it has lasted, and each address with its reason.
  std::function<void(std::chrono::seconds, const std::string&)> still_waits;
};

// Tries the addresses in turn (each starts 250 ms after the one before, all go on together; the first that proves wins)
// until one stands or the deadline passes.
// A connection that is closed before the proof is tried again for about 3 s: a full acceptor does that.
// rondePeerUnreachable when every address has failed (one that does not answer at all does so after 9 s), rondeTimedOut
// at the deadline. The error lists each address with its reason. `whom` names the other side in it: "rank 3", "the
// root".
Result<ProvedStream> dial(const std::vector<SocketAddress>& addresses, const Secret& secret, const Claim& claim,
                          std::string_view whom, const DialOptions& options);

// Takes in connections on a listener. Not blocking: the owner polls poll_fd() and calls advance().
// Bounds: at most 64 unproved connections at a time (the oldest gives way, once it is 100 ms old; further ones wait in
// the listener's queue), each for at most 5 s; one log line a second.
class Acceptor {
 public:
  Acceptor(Fd listener, const Secret& secret, uint64_t job);
  Acceptor(std::vector<Fd> listeners, const Secret& secret, uint64_t job);
  ~Acceptor();
  Acceptor(Acceptor&&) noexcept;
  Acceptor& operator=(Acceptor&&) noexcept;

  // One epoll descriptor that is readable when advance() has something to do.
  [[nodiscard]] int poll_fd() const;
  // Accepts, reads and answers what can be done without blocking; moves connections that are proved now to `proved`.
  void advance(Time now, std::vector<ProvedStream>& proved);
  // The last connection of this library that did not know this job or its secret; nothing: none since the last call.
  [[nodiscard]] std::optional<std::string> take_outsider();
  // When advance() must be called even if nothing is readable.
  [[nodiscard]] Deadline next_deadline() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ronde
