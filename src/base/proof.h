// Mutual proof on a connection: both sides show that they know the secret, by HMAC-SHA-256 over version, job, role,
// both ranks and both nonces. Two state machines without sockets or clocks.
//
//   client -> server   Hello  {magic, version, job, role, client rank, server rank, client nonce}      fixed size
//   server -> client   Answer {magic, version, server nonce, MAC over "server", hello and nonce}       fixed size
//   client -> server   Proof  {MAC over "client", hello and server nonce}                              fixed size
//
// On sockets the server then says with one byte, kAdmitted, that it has taken the connection in: until then it may
// still drop it, and the client would not know.
//
// Nothing is allocated by what a stranger sends. A replayed hello meets a fresh nonce.
#pragma once

#include <cstdint>

#include "base/crypto.h"
#include "base/secret.h"

namespace ronde {

enum class Role : uint32_t {
  rendezvous = 1,
  data = 2,
  segment = 3,
  control = 4
};  // what the connection will be used for

// What the client says it is, and whom it wants.
struct Claim {
  uint64_t job = 0;
  Role role = Role::rendezvous;
  uint32_t client_rank = 0;
  uint32_t server_rank = 0;  // kAnyRank for the root of a rendezvous
  uint32_t detail = 0;       // role data: which of the connections between these two
};
inline constexpr uint32_t kAnyRank = 0xffffffff;

inline constexpr size_t kHelloBytes =
    72;  // magic 4, version 4, job 8, role 4, client 4, server 4, detail 4, pad 8, nonce 32
inline constexpr size_t kAnswerBytes = 72;  // magic 4, version 4, nonce 32, mac 32
inline constexpr size_t kProofBytes = 32;
inline constexpr std::byte kAdmitted{0xa5};

enum class ProofState { more, proved, refused };

class ProofClient {
 public:
  ProofClient(const Secret& secret, const Claim& claim, const Nonce& nonce);
  // What to send first.
  [[nodiscard]] ByteView hello() const { return hello_; }
  // Takes bytes of the answer; consumes at most kAnswerBytes - (what it had). Returns how many it took.
  size_t feed(ByteView bytes);
  [[nodiscard]] ProofState state() const { return state_; }
  // After `proved`: what to send last.
  [[nodiscard]] ByteView proof() const { return proof_; }
  // A key that only the two sides know, for MACs on this connection. After `proved`.
  [[nodiscard]] const Key& session_key() const { return session_key_; }
  [[nodiscard]] const char* refusal() const { return refusal_; }  // why, after `refused`

 private:
  Secret secret_;
  std::array<std::byte, kHelloBytes> hello_{};
  std::array<std::byte, kAnswerBytes> answer_{};
  size_t answer_size_ = 0;
  Mac proof_{};
  Key session_key_{};
  ProofState state_ = ProofState::more;
  const char* refusal_ = "";
};

class ProofServer {
 public:
  ProofServer(const Secret& secret, uint64_t job, const Nonce& nonce);
  // Takes bytes of hello and proof; returns how many it took: never more than these two need.
  size_t feed(ByteView bytes);
  // What to send now; empty most of the time. Valid until the next feed.
  [[nodiscard]] ByteView take_answer();
  [[nodiscard]] ProofState state() const { return state_; }
  [[nodiscard]] const Claim& claim() const { return claim_; }  // after `proved`
  [[nodiscard]] const Key& session_key() const { return session_key_; }
  [[nodiscard]] const char* refusal() const { return refusal_; }
  // After `refused`: a connection of this library, but of another job, or without the secret of this one.
  [[nodiscard]] bool is_outsider() const { return outsider_; }

 private:
  void read_hello();
  void check_proof();
  void refuse_outsider(const char* why);

  Secret secret_;
  uint64_t job_;
  Nonce nonce_;
  std::array<std::byte, kHelloBytes + kProofBytes> received_{};
  size_t received_size_ = 0;
  std::array<std::byte, kAnswerBytes> answer_{};
  bool answer_ready_ = false;
  Claim claim_;
  bool outsider_ = false;
  Key session_key_{};
  ProofState state_ = ProofState::more;
  const char* refusal_ = "";
};

}  // namespace ronde
