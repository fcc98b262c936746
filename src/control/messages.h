// What ranks say to each other over their control connections, and its bytes. All of it but Goodbye travels in a Flood.
//
//   words     Lost (a rank whose process has ended), Failure (of the rank that says it), Verdict (on all), Inquiry
//   (where
//             are you, what was your call of this number?), Late (whom a wait is for), ShrinkQuestion (who goes on?),
//             ShrinkCommit (these do), Left (ranks that have said goodbye)
//   answers   Answer (to an Inquiry), ShrinkAnswer
//   Goodbye   to the neighbours only, the last on a connection
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/wire.h"

namespace ronde {

// Of the ranks that a wait is for so many are told; of ranks that wait for each other, so many in a LateNote.
inline constexpr size_t kMostAwaited = 64;
inline constexpr size_t kMostWaits = 16;

// One rank's call: of a collective, or of sends and receives, which are numbered by each rank for itself and compared
// with nothing. Numbers of collectives are compared by signed difference.
struct CallNote {
  uint32_t sequence = 0;
  uint32_t digest = 0;      // over what must be equal on all ranks, in this call and all before it
  std::string description;  // "AllReduce (float32, sum, 1024 elements)"
  bool numbered = true;     // a collective
  // Of sends and receives, while they wait: the peers of those that have not ended, rising, at most kMostAwaited.
  std::vector<uint32_t> sends_to = {};
  std::vector<uint32_t> receives_from = {};

  [[nodiscard]] bool sends(uint32_t rank) const;
  [[nodiscard]] bool receives(uint32_t rank) const;
};

// A rank that has waited for long in a call, and for whom.
struct RankWait {
  uint32_t rank = 0;
  CallNote call;  // without the peers
  std::vector<uint32_t> awaited;
};

// How far a rank is: an answer to "where are you, and what was your call number n?"
struct Whereabouts {
  uint32_t begun = 0;            // the last number that it has begun
  std::optional<CallNote> call;  // number n, if it was begun and is still remembered
};

// Whom a wait is for, in truth: the rank next to it is often innocent.
struct LateNote {
  uint32_t sequence = 0;
  std::vector<uint32_t> behind;  // have not begun this number; of messages: are waited for, and do not wait themselves
  std::vector<uint32_t> silent;  // did not answer: stopped, or out of reach
  bool numbered = true;
  // Who waits for whom, as far as it matters: the rank that has asked, then those that wait and are waited for.
  std::vector<RankWait> waits = {};
};

// By rank: the last collective that each had begun when it left.
using Departures = std::vector<std::pair<uint32_t, uint32_t>>;

// departed: others that have left before, at most kMostTold, so that it stays known when their neighbours go.
struct Goodbye {
  uint32_t begun = 0;
  Departures departed;
};
inline constexpr size_t kMostTold = 64;

struct Answer {
  Whereabouts whereabouts;
  std::optional<CallNote> wait;  // what it waits in, for long
  Departures departed;           // as far as it knows
};

// One attempt of one rank to have the others agree; later attempts are greater.
struct Ballot {
  uint32_t round = 0;
  uint32_t rank = 0;
  auto operator<=>(const Ballot&) const = default;
};

// What was agreed: who goes on and where they meet, or why nobody does.
struct ShrinkDecision {
  Status status;
  std::vector<uint32_t> members;  // rising
  Bytes meeting;                  // means nothing to the control plane
};

// number: of the shrink among those of this communicator, from 1. excluded: ranks that cannot, or shall not, go on.
// Without a ballot it asks nothing, but tells only whom it excludes.
struct ShrinkQuestion {
  uint32_t number = 0;
  Ballot ballot;
  std::set<uint32_t> excluded;
  std::vector<uint32_t> missing;  // have not answered so far
};
struct ShrinkAnswer {
  uint32_t number = 0;
  Ballot promised;                         // no lower one will be heard
  std::set<uint32_t> excluded;             // as above
  std::optional<ShrinkDecision> decision;  // if this rank has one already
  std::optional<Status> refusal;           // it waits no more, and nobody may go on
};
struct ShrinkCommit {
  uint32_t number = 0;
  Ballot ballot;
  ShrinkDecision decision;
};

enum class WordKind : uint8_t {
  lost = 1,
  failure = 2,
  verdict = 3,
  inquiry = 4,
  late = 5,
  shrink_question = 6,
  shrink_commit = 7,
  left = 8,
  goodbye = 16,
};

// Of one message; what is longer comes from no rank of the job.
[[nodiscard]] size_t most_control_bytes(uint32_t nranks);

[[nodiscard]] Bytes encode_lost(uint32_t rank, const Status& how);
[[nodiscard]] Bytes encode_status(WordKind kind, const Status& status);  // failure or verdict; the text is cut at 4 KiB
[[nodiscard]] Bytes encode_inquiry(const CallNote& call);
[[nodiscard]] Bytes encode(const LateNote& note);
[[nodiscard]] Bytes encode(const ShrinkQuestion& question);
[[nodiscard]] Bytes encode(const ShrinkCommit& commit);
[[nodiscard]] Bytes encode_left(const std::vector<uint32_t>& ranks);
[[nodiscard]] Bytes encode_goodbye(const Goodbye& goodbye);
// Answers begin with the kind of what they answer.
[[nodiscard]] Bytes encode(const Answer& answer);
[[nodiscard]] Bytes encode(const ShrinkAnswer& answer);

// The readers take what follows the kind (of a failure, a verdict: decode_status; of left: decode_ranks). False: the
// bytes are none of ours.
[[nodiscard]] bool decode_lost(Reader& reader, uint32_t& rank, Status& how);
[[nodiscard]] bool decode(Reader& reader, CallNote& call);
[[nodiscard]] bool decode(Reader& reader, LateNote& note);
[[nodiscard]] bool decode(Reader& reader, Answer& answer);
[[nodiscard]] bool decode(Reader& reader, ShrinkQuestion& question);
[[nodiscard]] bool decode(Reader& reader, ShrinkAnswer& answer);
[[nodiscard]] bool decode(Reader& reader, ShrinkCommit& commit);
[[nodiscard]] bool decode(Reader& reader, Goodbye& goodbye);

}  // namespace ronde
