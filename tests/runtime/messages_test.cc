// Sends and receives: any pattern ends, arrives in order, and a wrong size is told to both sides.
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <string>

#include "runtime/collective_model.h"
#include "runtime/group.h"

namespace ronde::testing {
namespace {

struct Planned {
  int from = 0;
  int to = 0;
  size_t bytes = 0;
};

// The same on all ranks.
std::vector<Planned> random_pattern(int nranks, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Planned> pattern;
  const size_t number = 1 + random() % 40;
  for (size_t i = 0; i < number; ++i) {
    constexpr std::array<size_t, 6> kSizes = {0, 1, 100, 4'096, 100'000, 1'000'001};
    const auto rank = [&] { return static_cast<int>(random() % static_cast<uint32_t>(nranks)); };
    pattern.push_back({rank(), rank(), kSizes[random() % kSizes.size()]});
  }
  return pattern;
}

std::byte content(size_t message, size_t at) { return static_cast<std::byte>(message * 31 + at * 7 + at / 251); }

// The part of one rank, in an order of its own.
Status run_pattern(Communicator& comm, const std::vector<Planned>& pattern, uint32_t seed) {
  std::vector<std::vector<std::byte>> sent(pattern.size());
  std::vector<std::vector<std::byte>> received(pattern.size());
  std::vector<PairMessage> sends;
  std::vector<PairMessage> receives;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const Planned& message = pattern[i];
    if (message.from == comm.rank()) {
      sent[i].resize(message.bytes);
      for (size_t at = 0; at < message.bytes; ++at) sent[i][at] = content(i, at);
      sends.push_back({message.to, sent[i].data(), nullptr, message.bytes, true});
    }
    if (message.to == comm.rank()) {
      received[i].assign(message.bytes + 1, std::byte{0xee});
      receives.push_back({message.from, nullptr, received[i].data(), message.bytes, false});
    }
  }
  if ((seed + static_cast<uint32_t>(comm.rank())) % 2 == 0) std::swap(sends, receives);
  sends.insert(sends.end(), receives.begin(), receives.end());
  if (!sends.empty()) RONDE_TRY(comm.run(messages_of(sends)));
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i].to != comm.rank()) continue;
    for (size_t at = 0; at < pattern[i].bytes; ++at) {
      if (received[i][at] != content(i, at)) return {rondeInternalError, "a message has other bytes than were sent"};
    }
    if (received[i].back() != std::byte{0xee}) return {rondeInternalError, "a message was written beyond its end"};
  }
  return {};
}

void check_patterns(WorldOptions options) {
  for (const int nranks : {1, 2, 3, 5}) {
    CAPTURE(nranks);
    options.nranks = nranks;
    const uint64_t lost_before = lost_wakeups();
    World world(options);
    REQUIRE(first_failure(world.made()).ok());
    const Status status = first_failure(world.run([&](Communicator& comm) -> Status {
      for (uint32_t seed = 0; seed < 30; ++seed) {
        RONDE_TRY(run_pattern(comm, random_pattern(comm.nranks(), seed), seed));
        if (seed % 5 != 0) continue;
        // A collective between them, over the same links.
        CollectiveCall call{.what = seed % 2 == 0 ? Collective::all_to_all : Collective::all_reduce, .count = 1000};
        CollectiveBuffers buffers(call, comm.rank(), comm.nranks());
        RONDE_TRY(comm.run(buffers.args()));
        RONDE_TRY(buffers.check());
      }
      return {};
    }));
    INFO(status.message());
    CHECK(status.ok());
    CHECK(lost_wakeups() == lost_before);
  }
}

PairMessage send_to(int peer, const std::vector<std::byte>& data) {
  return {peer, data.data(), nullptr, data.size(), true};
}
PairMessage receive_from(int peer, std::vector<std::byte>& data) {
  return {peer, nullptr, data.data(), data.size(), false};
}

}  // namespace

TEST_CASE("messages in any pattern, in a process") { check_patterns({.settings = {{"RONDE_TRANSPORT", "inproc"}}}); }
TEST_CASE("messages in any pattern, in shared memory") { check_patterns({.settings = {{"RONDE_TRANSPORT", "shm"}}}); }
TEST_CASE("messages in any pattern, over TCP") { check_patterns({.settings = {{"RONDE_TRANSPORT", "tcp"}}}); }
TEST_CASE("messages in any pattern, over several TCP connections, asleep") {
  check_patterns({.settings = {{"RONDE_TRANSPORT", "tcp"}, {"RONDE_TCP_CONNECTIONS", "3"}, {"RONDE_SPIN", "off"}}});
}
TEST_CASE("messages whose numbers pass the end of 32 bits") {
  check_patterns({.settings = {{"RONDE_TRANSPORT", "inproc"}}, .counters_start = 0xfffffff8u});
}

TEST_CASE("a send ends when its message has arrived, small or large") {
  for (const std::string transport : {"inproc", "tcp"}) {
    for (const size_t bytes : {size_t{1}, size_t{3'000'000}}) {
      CAPTURE(transport, bytes);
      WorldOptions options;
      options.settings = {{"RONDE_TRANSPORT", transport}};
      World world(options);
      REQUIRE(first_failure(world.made()).ok());
      std::atomic<bool> receiving{false};
      const Status status = first_failure(world.run([&](Communicator& comm) -> Status {
        std::vector<std::byte> data(bytes);
        if (comm.rank() == 0) {
          RONDE_TRY(comm.run(messages_of({send_to(1, data)})));
          return receiving ? Status() : Status(rondeInternalError, "the send ended before its receive began");
        }
        std::this_thread::sleep_for(Milliseconds(200));
        receiving = true;
        return comm.run(messages_of({receive_from(0, data)}));
      }));
      INFO(status.message());
      CHECK(status.ok());
    }
  }
}

TEST_CASE("a message of another size than expected is an error on both sides, with both sizes") {
  for (const std::string transport : {"inproc", "shm", "tcp"}) {
    for (const auto& [sent, expected] : {std::pair<size_t, size_t>{1000, 1001}, {5'000'000, 16}, {0, 7}, {7, 0}}) {
      CAPTURE(transport, sent, expected);
      WorldOptions options;
      options.nranks = 3;
      options.settings = {{"RONDE_TRANSPORT", transport}};
      World world(options);
      REQUIRE(first_failure(world.made()).ok());
      const Time begun = Clock::now();
      const std::vector<Status> statuses =
          world.run([&, sent = sent, expected = expected](Communicator& comm) -> Status {
            std::vector<std::byte> data(comm.rank() == 0 ? sent : expected);
            if (comm.rank() == 0) return comm.run(messages_of({send_to(1, data)}));
            if (comm.rank() == 1) return comm.run(messages_of({receive_from(0, data)}));
            return {};
          });
      CHECK(Clock::now() - begun < Milliseconds(2'000));
      for (const int rank : {0, 1}) {
        const Status& status = statuses[static_cast<size_t>(rank)];
        CAPTURE(rank, status.message());
        CHECK(status.code() == rondeMismatch);
        CHECK(status.message().find(std::to_string(sent) + " bytes") != std::string::npos);
        CHECK(status.message().find(std::to_string(expected) + " bytes") != std::string::npos);
      }
    }
  }
}

TEST_CASE("blocks of all-to-all whose sizes do not agree are an error on all, with both sizes") {
  WorldOptions options;
  options.nranks = 3;
  World world(options);
  REQUIRE(first_failure(world.made()).ok());
  const std::vector<Status> statuses = world.run([&](Communicator& comm) -> Status {
    std::vector<std::byte> from(300);
    std::vector<std::byte> to(300);
    auto blocks = std::make_shared<UnevenBlocks>();
    for (size_t rank = 0; rank < 3; ++rank) {
      blocks->send.push_back({rank * 100, 10});
      blocks->receive.push_back({rank * 100, comm.rank() == 2 && rank == 1 ? size_t{11} : size_t{10}});
    }
    OperationArgs args{from.data(), to.data(), 0, rondeUint8, rondeSum, Collective::all_to_all};
    args.uneven = true;
    args.blocks = blocks;
    RONDE_TRY(comm.run(args));
    return comm.run({nullptr, nullptr, 0, rondeUint8, rondeSum, Collective::barrier});
  });
  for (const Status& status : statuses) {
    CAPTURE(status.message());
    CHECK(status.code() == rondeMismatch);
    CHECK(status.message().find("rank 1 sends 10 bytes to rank 2, which expects 11 bytes") != std::string::npos);
  }
}

TEST_CASE("the messages of a group are taken together, behind its collectives") {
  WorldOptions options;
  World world(options);
  REQUIRE(first_failure(world.made()).ok());
  const Status status = first_failure(world.run([&](Communicator& comm) -> Status {
    std::vector<std::byte> out(10'000, std::byte(comm.rank() + 1));
    std::vector<std::byte> in(10'000);
    float value = 1;
    const OperationArgs sum{&value, &value, 1, rondeFloat32, rondeSum};
    const int other = 1 - comm.rank();
    std::vector<GroupCall> calls = {{&comm, nullptr, messages_of({send_to(other, out)})},
                                    {&comm, nullptr, messages_of({receive_from(other, in)})}};
    // One rank calls the collective first, the other one last.
    calls.insert(comm.rank() == 0 ? calls.begin() : calls.end(), {&comm, nullptr, sum});
    RONDE_ASSIGN(const std::vector<GroupCall> together, with_messages_together(calls));
    if (together.size() != 2) return {rondeInternalError, "the messages were not put together"};
    RONDE_TRY(run_group(together, world.process().worker()));
    return value == 2 && in.back() == std::byte(other + 1) ? Status() : Status(rondeInternalError, "wrong result");
  }));
  INFO(status.message());
  CHECK(status.ok());
}

TEST_CASE("messages to oneself need their counterpart") {
  std::vector<std::byte> data(10);
  CHECK(check_own_messages(messages_of({send_to(2, data)}), 2).code() == rondeInvalidUsage);
  CHECK(check_own_messages(messages_of({send_to(2, data)}), 1).ok());
  std::vector<std::byte> longer(11);
  CHECK(check_own_messages(messages_of({send_to(2, data), receive_from(2, longer)}), 2).code() == rondeInvalidUsage);
  CHECK(check_own_messages(messages_of({receive_from(2, longer), send_to(2, longer)}), 2).ok());
}

}  // namespace ronde::testing
