// Root and members as state machines, joined by queues, in virtual time: no sockets, no threads.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/member_machine.h"
#include "bootstrap/root_machine.h"

namespace ronde {

inline const Status kEndOfFile(rondePeerLost, "ended without saying goodbye");

// One root and any number of members. A member's number is its connection, and its rank unless told otherwise.
class SimulatedMeeting {
 public:
  // root_process: equal to a member's number if the root lives in that member's process.
  explicit SimulatedMeeting(uint32_t nranks, uint32_t root_process = 999)
      : nranks_(nranks), root(process(root_process), Milliseconds(300'000), now) {}

  size_t add(uint32_t rank, uint32_t nranks = 0) {
    const JoinMessage join{nranks == 0 ? nranks_ : nranks, rank, process(static_cast<uint32_t>(members.size()))};
    members.push_back({std::make_unique<MemberMachine>(join, "10.0.0.1:7", Milliseconds(10'000)), true});
    Claim claim;
    claim.client_rank = rank;
    root.opened(members.size() - 1, claim);
    return members.size() - 1;
  }
  void add_all() {
    for (uint32_t rank = 0; rank < nranks_; ++rank) add(rank);
    settle();
  }
  MemberMachine& operator[](size_t number) { return *members[number].machine; }

  void begin(size_t number, const std::string& part, Milliseconds limit = Milliseconds(60'000)) {
    (*this)[number].begin_exchange("test", std::as_bytes(std::span(part)), now, Deadline::at(now + limit));
  }

  // Its process has died.
  void kill(size_t number) {
    members[number].connected = false;
    root.closed(number, kEndOfFile, now);
  }
  void kill_root() {
    for (Member& member : members)
      if (member.connected) member.machine->closed(kEndOfFile);
  }

  // Carries messages until none is under way.
  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t number = 0; number < members.size(); ++number) {
        for (const SharedMessage& message : members[number].machine->take_messages()) {
          if (members[number].connected) root.received(number, message->bytes, now);
          moved = true;
        }
      }
      for (const RootMachine::Outgoing& outgoing : root.take_messages()) {
        if (members[outgoing.connection].connected)
          members[outgoing.connection].machine->received(outgoing.message->bytes, now);
        moved = true;
      }
      for (const ConnectionId connection : root.take_closes()) {
        if (std::exchange(members[connection].connected, false)) members[connection].machine->closed(kEndOfFile);
        moved = true;
      }
    }
  }

  // Lets time pass in the steps that the machines ask for.
  void pass(Milliseconds span) {
    settle();
    const Time end = now + span;
    while (true) {
      Deadline next = root.next_deadline();
      for (const Member& member : members) next = next.earlier(member.machine->next_deadline());
      const bool more = next.time() <= end;
      if (more && next.time() <= now) ++spins;
      now = more ? std::max(now, next.time()) : end;
      root.advance(now);
      for (const Member& member : members) member.machine->advance(now);
      settle();
      if (!more || spins > 10) return;
    }
  }

  struct Member {
    std::unique_ptr<MemberMachine> machine;
    bool connected = false;
  };

 private:
  const uint32_t nranks_;

 public:
  static ProcessIdentity process(uint32_t number) { return {"node-a", 4000 + number, number}; }

  Time now = Time() + std::chrono::hours(1);
  RootMachine root;
  std::vector<Member> members;
  int spins = 0;  // a machine that asks for a time that has passed
};

inline std::string text_of(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

inline std::string message_of(const std::optional<Status>& failure) { return failure ? failure->message() : ""; }

}  // namespace ronde
