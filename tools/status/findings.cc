#include "status/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "bootstrap/messages.h"

namespace ronde::status {
namespace {

using black_box::OperationState;
using black_box::Phase;

// Start-up and shrink: who is a moment behind the others holds nobody up.
constexpr Milliseconds kLong{500};

// Ranks by what they have to do with something in which ranks wait.
struct Parties {
  std::vector<uint32_t> waiting, working, behind, stopped, ended, differing, unseen;
  bool may_be_missing = false;  // the unseen ones, whatever else is found
};

bool has_gone(const StatusRank& rank) { return rank.state == ProcessState::ended || !rank.recorded.in_use; }

std::vector<uint32_t> unseen_ranks(const StatusCommunicator& communicator) {
  std::vector<bool> seen(communicator.nranks);
  for (const StatusRank& rank : communicator.ranks) {
    if (rank.recorded.rank < seen.size()) seen[rank.recorded.rank] = true;
  }
  std::vector<uint32_t> unseen;
  for (uint32_t rank = 0; rank < seen.size(); ++rank) {
    if (!seen[rank]) unseen.push_back(rank);
  }
  return unseen;
}

std::string_view plural(const std::vector<uint32_t>& ranks, std::string_view one, std::string_view many) {
  return ranks.size() == 1 ? one : many;
}

// what: in which they wait.
void say(const std::string& what, const Parties& parties, std::vector<std::string>& found) {
  const std::string who =
      fmt::format("{} {} in {}", ranks_text(parties.waiting), plural(parties.waiting, "waits", "wait"), what);
  const size_t before = found.size();
  const auto tell = [&](const std::vector<uint32_t>& ranks, std::string_view one, std::string_view many) {
    if (!ranks.empty()) found.push_back(fmt::format("{} for {}, {}", who, ranks_text(ranks), plural(ranks, one, many)));
  };
  tell(parties.ended, "which has ended", "which have ended");
  tell(parties.stopped, "whose process is stopped", "whose processes are stopped");
  tell(parties.behind, "which has not called it", "which have not called it");
  tell(parties.differing, "which called something else as that number", "which called something else as that number");
  const bool is_known = found.size() > before;
  if (!is_known) tell(parties.working, "which works on it", "which work on it");
  if (!is_known || parties.may_be_missing)
    tell(parties.unseen, "perhaps, which is not seen on this host: if it runs on another, run ronde-status there",
         "perhaps, which are not seen on this host: if they run on another, run ronde-status there");
  if (found.size() == before) found.push_back(who + "; nothing that can be seen here holds it up");
}

// One for each cause: most ranks of a communicator fail by the same.
void say_failures(const StatusCommunicator& communicator, std::vector<std::string>& found) {
  std::vector<std::pair<std::string_view, std::vector<uint32_t>>> causes;
  for (const StatusRank& rank : communicator.ranks) {
    const std::string_view failure = rank.recorded.failure;
    if (failure.empty()) continue;
    auto cause = std::find_if(causes.begin(), causes.end(), [&](const auto& known) { return known.first == failure; });
    if (cause == causes.end()) cause = causes.insert(cause, {failure, {}});
    cause->second.push_back(rank.recorded.rank);
  }
  for (const auto& [cause, ranks] : causes)
    found.push_back(fmt::format("{} {} failed: {}", ranks_text(ranks), plural(ranks, "has", "have"), cause));
}

// Operations: the earliest in which a rank waits; what follows cannot begin before.
const RecordedOperation* stuck_operation(const StatusCommunicator& communicator) {
  const RecordedOperation* earliest = nullptr;
  for (const StatusRank& rank : communicator.ranks) {
    if (!waits(rank)) continue;
    const RecordedOperation* operation = last_operation(rank);
    if (earliest == nullptr || !reached(operation->sequence, earliest->sequence)) earliest = operation;
  }
  return earliest;
}

Parties parties_of(const StatusCommunicator& communicator, const RecordedOperation& operation) {
  Parties parties;
  parties.unseen = unseen_ranks(communicator);
  for (const StatusRank& rank : communicator.ranks) {
    const uint32_t number = rank.recorded.rank;
    const RecordedOperation* last = last_operation(rank);
    const bool has_begun = last != nullptr && reached(last->sequence, operation.sequence);
    const bool same = last != nullptr && last->sequence == operation.sequence;
    if (has_gone(rank)) {
      parties.ended.push_back(number);
    } else if (rank.state == ProcessState::stopped) {
      parties.stopped.push_back(number);
    } else if (!has_begun) {
      parties.behind.push_back(number);
    } else if (same && last->digest != operation.digest) {
      parties.differing.push_back(number);
    } else if (same && waits(rank)) {
      parties.waiting.push_back(number);
    } else if (same && last->state == OperationState::running) {
      parties.working.push_back(number);
    }
  }
  return parties;
}

// Start-up. Who has come further waits for nobody.
Parties start_parties(const StatusCommunicator& communicator) {
  Parties parties;
  parties.unseen = unseen_ranks(communicator);
  parties.may_be_missing = true;
  for (const StatusRank& rank : communicator.ranks) {
    if (has_gone(rank)) {
      parties.ended.push_back(rank.recorded.rank);
    } else if (starts(rank)) {
      (rank.state == ProcessState::stopped ? parties.stopped : parties.waiting).push_back(rank.recorded.rank);
    }
  }
  return parties;
}

// A shrink does without those that have gone or said goodbye.
Parties shrink_parties(const StatusCommunicator& communicator) {
  Parties parties;
  parties.unseen = unseen_ranks(communicator);
  for (const StatusRank& rank : communicator.ranks) {
    if (has_gone(rank) || rank.recorded.phase == Phase::finalized) continue;
    if (rank.state == ProcessState::stopped) {
      parties.stopped.push_back(rank.recorded.rank);
    } else {
      (shrinks(rank) ? parties.waiting : parties.behind).push_back(rank.recorded.rank);
    }
  }
  return parties;
}

// Whether a rank that runs has been in a phase for long.
bool lasts(const StatusCommunicator& communicator, bool (*phase)(const StatusRank&), Time now) {
  return std::any_of(communicator.ranks.begin(), communicator.ranks.end(), [&](const StatusRank& rank) {
    return rank.state == ProcessState::lives && rank.recorded.in_use && phase(rank) &&
           now - rank.recorded.phase_since >= kLong;
  });
}

}  // namespace

std::vector<StatusCommunicator> communicators_of(const std::vector<FoundProcess>& processes, bool all) {
  std::map<uint64_t, StatusCommunicator> by_job;
  for (const FoundProcess& process : processes) {
    for (const RecordedRank& rank : process.recording.ranks) {
      if (!all && !rank.in_use) continue;
      StatusCommunicator& communicator = by_job[rank.job];
      communicator.job = rank.job;
      communicator.name = rank.name;
      communicator.nranks = std::min(std::max(communicator.nranks, rank.nranks), kMostRanks);
      const pid_t pid = process.pid != 0 ? process.pid : static_cast<pid_t>(process.recording.pid);
      communicator.ranks.push_back({rank, pid, process.state, process.recording.host, process.recording.program});
    }
  }
  std::vector<StatusCommunicator> result;
  for (auto& [job, communicator] : by_job) {
    const auto gone = [](const StatusRank& rank) { return has_gone(rank); };
    if (!all && std::all_of(communicator.ranks.begin(), communicator.ranks.end(), gone)) continue;
    std::stable_sort(communicator.ranks.begin(), communicator.ranks.end(),
                     [](const StatusRank& a, const StatusRank& b) { return a.recorded.rank < b.recorded.rank; });
    result.push_back(std::move(communicator));
  }
  return result;
}

const RecordedOperation* last_operation(const StatusRank& rank) {
  return rank.recorded.operations.empty() ? nullptr : &rank.recorded.operations.front();
}

bool waits(const StatusRank& rank) {
  const RecordedOperation* last = last_operation(rank);
  return rank.state == ProcessState::lives && last != nullptr && last->wait.has_value();
}

bool starts(const StatusRank& rank) {
  return rank.recorded.phase == Phase::meeting || rank.recorded.phase == Phase::linking;
}

bool shrinks(const StatusRank& rank) { return rank.recorded.phase == Phase::shrinking; }

std::vector<std::string> findings(const StatusCommunicator& communicator, Time now) {
  std::vector<std::string> found;
  say_failures(communicator, found);
  if (lasts(communicator, starts, now)) say("start-up", start_parties(communicator), found);
  if (lasts(communicator, shrinks, now)) say("rondeCommShrink", shrink_parties(communicator), found);
  if (const RecordedOperation* stuck = stuck_operation(communicator); stuck != nullptr)
    say(describe(*stuck), parties_of(communicator, *stuck), found);
  return found;
}

}  // namespace ronde::status
