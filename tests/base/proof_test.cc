#include "base/proof.h"

#include <catch2/catch.hpp>
#include <string>

namespace ronde {
namespace {

Nonce nonce_of(int seed) {
  Nonce nonce{};
  nonce[0] = static_cast<std::byte>(seed);
  return nonce;
}

Secret secret_of(int seed) { return Secret(nonce_of(seed)); }

Claim some_claim() {
  Claim claim;
  claim.job = 0x1122334455667788;
  claim.role = Role::data;
  claim.client_rank = 3;
  claim.server_rank = 5;
  claim.detail = 7;
  return claim;
}

Bytes copy(ByteView bytes) { return {bytes.begin(), bytes.end()}; }

// Both ends, and what travelled between them.
struct Dialogue {
  ProofClient client;
  ProofServer server;
  Bytes answer;

  Dialogue(const Secret& client_secret, const Secret& server_secret, uint64_t server_job)
      : client(client_secret, some_claim(), nonce_of(100)), server(server_secret, server_job, nonce_of(200)) {}

  void run() {
    server.feed(client.hello());
    answer = copy(server.take_answer());
    client.feed(answer);
    if (client.state() == ProofState::proved) server.feed(client.proof());
  }
};

}  // namespace

TEST_CASE("Both sides prove that they know the secret") {
  Dialogue talk(secret_of(1), secret_of(1), some_claim().job);
  talk.run();
  REQUIRE(talk.client.state() == ProofState::proved);
  REQUIRE(talk.server.state() == ProofState::proved);
  CHECK(talk.client.session_key() == talk.server.session_key());
  CHECK_FALSE(Secret(talk.client.session_key()) == secret_of(1));
  CHECK(talk.server.claim().job == some_claim().job);
  CHECK(talk.server.claim().role == Role::data);
  CHECK(talk.server.claim().client_rank == 3);
  CHECK(talk.server.claim().server_rank == 5);
  CHECK(talk.server.claim().detail == 7);
}

TEST_CASE("A proof may come byte by byte, and nothing beyond it is taken") {
  ProofClient client(secret_of(1), some_claim(), nonce_of(100));
  ProofServer server(secret_of(1), some_claim().job, nonce_of(200));
  Bytes answer;
  for (const std::byte b : client.hello()) {
    REQUIRE(server.feed({&b, 1}) == 1);
    const ByteView now = server.take_answer();
    answer.insert(answer.end(), now.begin(), now.end());
  }
  REQUIRE(answer.size() == kAnswerBytes);
  for (size_t i = 0; i + 1 < answer.size(); ++i) {
    REQUIRE(client.feed({&answer[i], 1}) == 1);
    REQUIRE(client.state() == ProofState::more);
  }
  const Bytes last_and_more = {answer.back(), std::byte{9}, std::byte{9}};
  CHECK(client.feed(last_and_more) == 1);
  REQUIRE(client.state() == ProofState::proved);

  Bytes proof_and_more = copy(client.proof());
  proof_and_more.push_back(std::byte{9});
  CHECK(server.feed(proof_and_more) == kProofBytes);
  CHECK(server.state() == ProofState::proved);
  CHECK(server.feed(proof_and_more) == 0);
}

TEST_CASE("A wrong secret or job is refused by both sides") {
  Dialogue wrong_secret(secret_of(1), secret_of(2), some_claim().job);
  wrong_secret.run();
  CHECK(wrong_secret.client.state() == ProofState::refused);
  CHECK(wrong_secret.client.refusal() == std::string("the other side does not know the secret of this job"));

  // One that pretends to be content with the answer gets no further.
  wrong_secret.server.feed(Bytes(kProofBytes));
  CHECK(wrong_secret.server.state() == ProofState::refused);

  Dialogue wrong_job(secret_of(1), secret_of(1), 99);
  wrong_job.run();
  CHECK(wrong_job.server.state() == ProofState::refused);
  CHECK(wrong_job.answer.empty());  // a stranger learns nothing
}

TEST_CASE("Each flipped bit of hello, answer and proof is found") {
  Dialogue right(secret_of(1), secret_of(1), some_claim().job);
  right.run();
  for (size_t bit = 0; bit < kHelloBytes * 8; ++bit) {
    ProofServer server(secret_of(1), some_claim().job, nonce_of(200));
    Bytes hello = copy(right.client.hello());
    hello[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    server.feed(hello);
    server.feed(right.client.proof());
    REQUIRE(server.state() == ProofState::refused);
  }
  for (size_t bit = 0; bit < kAnswerBytes * 8; ++bit) {
    ProofClient client(secret_of(1), some_claim(), nonce_of(100));
    Bytes answer = right.answer;
    answer[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    client.feed(answer);
    REQUIRE(client.state() == ProofState::refused);
  }
  for (size_t bit = 0; bit < kProofBytes * 8; ++bit) {
    ProofServer server(secret_of(1), some_claim().job, nonce_of(200));
    Bytes proof = copy(right.client.proof());
    proof[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    server.feed(right.client.hello());
    server.feed(proof);
    REQUIRE(server.state() == ProofState::refused);
  }
}

TEST_CASE("A replayed dialogue is refused: the server's nonce is another one") {
  Dialogue first(secret_of(1), secret_of(1), some_claim().job);
  first.run();
  REQUIRE(first.server.state() == ProofState::proved);
  ProofServer second(secret_of(1), some_claim().job, nonce_of(201));
  second.feed(first.client.hello());
  second.feed(first.client.proof());
  CHECK(second.state() == ProofState::refused);
}

TEST_CASE("A server that sends the client's own hello back is refused") {
  ProofClient client(secret_of(1), some_claim(), nonce_of(100));
  client.feed(copy(client.hello()));
  CHECK(client.state() == ProofState::refused);
}

TEST_CASE("Other protocols are refused at their first bytes") {
  ProofServer server(secret_of(1), some_claim().job, nonce_of(200));
  const std::string_view request = "GET / HTTP/1.1\r\n";
  server.feed(std::as_bytes(std::span(request)));
  CHECK(server.state() == ProofState::refused);
  CHECK(server.take_answer().empty());
}

TEST_CASE("Another version of the library is told so") {
  ProofClient client(secret_of(1), some_claim(), nonce_of(100));
  ProofServer server(secret_of(1), some_claim().job, nonce_of(200));
  Bytes hello = copy(client.hello());
  hello[4] = std::byte{99};
  server.feed(hello);
  CHECK(server.state() == ProofState::refused);
  Bytes answer = copy(server.take_answer());
  REQUIRE(answer.size() == kAnswerBytes);
  answer[4] = std::byte{99};  // as the other version would see it: not its own number
  client.feed(answer);
  CHECK(client.state() == ProofState::refused);
  CHECK(client.refusal() == std::string("the other side runs another version of the library"));
}

}  // namespace ronde
