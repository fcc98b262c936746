// The root of a rendezvous as a state machine: takes in the members, hands their parts around, and tells all when one
// of them fails. Without sockets and clocks; root.h feeds it. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/deadline.h"
#include "base/proof.h"
#include "base/status.h"
#include "bootstrap/messages.h"

namespace ronde {

using ConnectionId = uint64_t;

class RootMachine {
 public:
  struct Outgoing {
    ConnectionId connection;
    SharedMessage message;
  };

  // nobody_limit: when no member has come by then, the root gives up.
  RootMachine(ProcessIdentity own, Milliseconds nobody_limit, Time now);

  // Inputs. A connection is proved when it is opened; `end` is Connection::receive's account of how it ended.
  void opened(ConnectionId connection, const Claim& claim);
  void received(ConnectionId connection, ByteView message, Time now);
  void closed(ConnectionId connection, const Status& end, Time now);
  void advance(Time now);
  // The process of the root is about to end in good order: members lose the watch, and the ranks of this process that
  // have not left.
  void end();

  // Outputs: what to send, in order, and which connections to close once everything is sent to them.
  [[nodiscard]] std::vector<Outgoing> take_messages() { return std::exchange(messages_, {}); }
  [[nodiscard]] std::vector<ConnectionId> take_closes() { return std::exchange(closes_, {}); }
  [[nodiscard]] Deadline next_deadline() const;
  // All ranks have left or are lost, or nobody came, or end(): nothing more will happen.
  [[nodiscard]] bool finished() const { return finished_; }

 private:
  enum class MemberState { present, left, lost };
  struct Member {
    ConnectionId connection = 0;
    ProcessIdentity process;
    MemberState state = MemberState::present;
    std::optional<Bytes> part;  // of the exchange in progress
  };

  void join(ConnectionId connection, const Claim& claim, const JoinMessage& message, Time now);
  [[nodiscard]] Status check_join(const JoinMessage& message) const;
  void member_message(uint32_t rank, MessageKind kind, Reader& reader, Time now);
  void give(uint32_t rank, Bytes part, Time now);
  void leave(uint32_t rank, Time now);
  void part_if_own_ranks_left();
  [[nodiscard]] std::vector<uint32_t> own_ranks() const;
  void hand_out_table();
  [[nodiscard]] std::vector<uint32_t> missing_ranks() const;
  [[nodiscard]] std::string who(uint32_t rank) const;  // "rank 3 (pid 4242 on host node-a)"
  [[nodiscard]] std::string holder_text() const;
  void fail(Status failure, std::optional<uint32_t> origin, Time now);
  void lose(uint32_t rank, const Status& end, Time now);
  void refuse(ConnectionId connection, const Status& why);
  void send(ConnectionId connection, SharedMessage message) { messages_.push_back({connection, std::move(message)}); }
  void check_finished(Time now);
  [[nodiscard]] bool somebody_present() const;

  const ProcessIdentity own_;
  const Time nobody_until_;
  std::map<ConnectionId, Claim> unjoined_;
  std::map<ConnectionId, uint32_t> ranks_;  // of connections that have joined
  std::map<uint32_t, Member> members_;
  std::set<uint32_t> refused_ranks_;  // those that learnt the failure by being refused
  uint32_t nranks_ = 0;               // 0: nobody has come
  bool complete_ = false;             // all have come
  uint32_t parts_ = 0;                // of the exchange in progress
  bool parted_ = false;               // the ranks of this process have left, and the others know it
  std::optional<Status> failure_;
  Time linger_until_ = Time::max();  // a failed start-up tells those who come late
  bool finished_ = false;
  std::vector<Outgoing> messages_;
  std::vector<ConnectionId> closes_;
};

}  // namespace ronde
