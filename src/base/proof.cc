#include "base/proof.h"

#include <algorithm>
#include <string_view>

namespace ronde {
namespace {

constexpr std::array<std::byte, 4> kMagic = {std::byte{'R'}, std::byte{'n'}, std::byte{'d'}, std::byte{'e'}};
constexpr uint32_t kVersion = 2;
constexpr size_t kVersionOffset = 4;
constexpr size_t kAnswerNonceOffset = 8;
constexpr size_t kAnswerMacOffset = 40;

// The purpose is part of each MAC, so that none can stand for another.
Mac mac_for(const Secret& secret, std::string_view purpose, ByteView hello, ByteView server_nonce) {
  return hmac_sha256_of_parts(secret.bytes(), {std::as_bytes(std::span(purpose)), hello, server_nonce});
}

template <size_t N>
void copy_exactly(std::array<std::byte, N>& target, ByteView source) {
  std::copy_n(source.begin(), N, target.begin());
}

bool has_magic(ByteView received) {
  const size_t known = std::min(received.size(), kMagic.size());
  return std::equal(kMagic.begin(), kMagic.begin() + static_cast<ptrdiff_t>(known), received.begin());
}

uint32_t version_in(ByteView message) { return Reader(message.subspan(kVersionOffset)).number<uint32_t>(); }

}  // namespace

ProofClient::ProofClient(const Secret& secret, const Claim& claim, const Nonce& nonce) : secret_(secret) {
  Writer writer;
  writer.fixed(kMagic).number(kVersion).number(claim.job).number(claim.role);
  writer.number(claim.client_rank).number(claim.server_rank).number(claim.detail).number(uint64_t{0}).fixed(nonce);
  copy_exactly(hello_, writer.view());
}

size_t ProofClient::feed(ByteView bytes) {
  if (state_ != ProofState::more) return 0;
  const size_t taken = std::min(bytes.size(), answer_.size() - answer_size_);
  std::copy_n(bytes.begin(), taken, answer_.begin() + static_cast<ptrdiff_t>(answer_size_));
  answer_size_ += taken;

  const auto refuse = [&](const char* why) {
    state_ = ProofState::refused;
    refusal_ = why;
    return taken;
  };
  const ByteView answer(answer_);
  if (!has_magic(answer.first(answer_size_))) return refuse("what listens there is another program");
  if (answer_size_ < answer_.size()) return taken;
  if (version_in(answer) != kVersion) return refuse("the other side runs another version of the library");

  const ByteView server_nonce = answer.subspan(kAnswerNonceOffset, sizeof(Nonce));
  if (!equal_in_constant_time(mac_for(secret_, "server", hello_, server_nonce), answer.subspan(kAnswerMacOffset)))
    return refuse("the other side does not know the secret of this job");
  proof_ = mac_for(secret_, "client", hello_, server_nonce);
  session_key_ = mac_for(secret_, "session", hello_, server_nonce);
  state_ = ProofState::proved;
  return taken;
}

ProofServer::ProofServer(const Secret& secret, uint64_t job, const Nonce& nonce)
    : secret_(secret), job_(job), nonce_(nonce) {}

size_t ProofServer::feed(ByteView bytes) {
  size_t taken = 0;
  while (state_ == ProofState::more && taken < bytes.size()) {
    // Stops behind the hello: what follows it before the answer is no proof, but is kept and checked like one.
    const size_t wanted = received_size_ < kHelloBytes ? kHelloBytes : received_.size();
    const size_t step = std::min(bytes.size() - taken, wanted - received_size_);
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(taken), step,
                received_.begin() + static_cast<ptrdiff_t>(received_size_));
    received_size_ += step;
    taken += step;
    if (received_size_ <= kHelloBytes) read_hello();
    if (received_size_ == received_.size()) check_proof();
  }
  return taken;
}

void ProofServer::read_hello() {
  const auto refuse = [&](const char* why) {
    state_ = ProofState::refused;
    refusal_ = why;
  };
  const ByteView hello = ByteView(received_).first(received_size_);
  if (!has_magic(hello)) return refuse("not a connection of this library");
  if (received_size_ < kHelloBytes) return;

  Reader reader(hello.subspan(kMagic.size()));
  const auto version = reader.number<uint32_t>();
  claim_.job = reader.number<uint64_t>();
  claim_.role = reader.number<Role>();
  claim_.client_rank = reader.number<uint32_t>();
  claim_.server_rank = reader.number<uint32_t>();
  claim_.detail = reader.number<uint32_t>();
  if (claim_.job != job_) return refuse_outsider("it belongs to another job");

  // Another version is told which one this is, so that its user learns it.
  Writer writer;
  writer.fixed(kMagic).number(kVersion).fixed(nonce_).fixed(mac_for(secret_, "server", hello, nonce_));
  copy_exactly(answer_, writer.view());
  answer_ready_ = true;
  if (version != kVersion) refuse("it runs another version of the library");
}

void ProofServer::check_proof() {
  const ByteView hello = ByteView(received_).first(kHelloBytes);
  const ByteView proof = ByteView(received_).subspan(kHelloBytes);
  if (equal_in_constant_time(mac_for(secret_, "client", hello, nonce_), proof)) {
    session_key_ = mac_for(secret_, "session", hello, nonce_);
    state_ = ProofState::proved;
  } else {
    refuse_outsider("it does not know the secret of this job");
  }
}

void ProofServer::refuse_outsider(const char* why) {
  state_ = ProofState::refused;
  refusal_ = why;
  outsider_ = true;
}

ByteView ProofServer::take_answer() {
  if (!std::exchange(answer_ready_, false)) return {};
  return answer_;
}

}  // namespace ronde
