#include "status/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bootstrap/messages.h"

namespace ronde::status {
namespace {

using black_box::OperationState;
using Json = nlohmann::ordered_json;

const RecordedOperation* last_operation(const StatusRank& rank) {
  return rank.recorded.operations.empty() ? nullptr : &rank.recorded.operations.front();
}

bool waits(const StatusRank& rank) {
  const RecordedOperation* last = last_operation(rank);
  return rank.state == ProcessState::lives && last != nullptr && last->wait.has_value();
}

std::string_view state_name(const StatusRank& rank) {
  if (rank.state == ProcessState::ended) return "ended";
  if (rank.state == ProcessState::stopped) return "stopped";
  if (!rank.recorded.failure.empty()) return "failed";
  if (waits(rank)) return "waits";
  const RecordedOperation* last = last_operation(rank);
  return last != nullptr && last->state == OperationState::running ? "works" : "idle";
}

std::string_view operation_state_name(OperationState state) {
  switch (state) {
    case OperationState::running: return "running";
    case OperationState::failed: return "failed";
    default: return "ended";
  }
}

// The earliest operation in which a rank waits: what follows cannot begin before.
const RecordedOperation* stuck_operation(const StatusCommunicator& communicator) {
  const RecordedOperation* earliest = nullptr;
  for (const StatusRank& rank : communicator.ranks) {
    if (!waits(rank)) continue;
    const RecordedOperation* operation = last_operation(rank);
    if (earliest == nullptr || !reached(operation->sequence, earliest->sequence)) earliest = operation;
  }
  return earliest;
}

// Ranks by what they have to do with an operation in which others wait.
struct Parties {
  std::vector<uint32_t> waiting, working, behind, stopped, ended, differing, unseen;
};

Parties parties_of(const StatusCommunicator& communicator, const RecordedOperation& operation) {
  Parties parties;
  std::vector<bool> seen(communicator.nranks);
  for (const StatusRank& rank : communicator.ranks) {
    const uint32_t number = rank.recorded.rank;
    if (number < seen.size()) seen[number] = true;
    const RecordedOperation* last = last_operation(rank);
    const bool has_begun = last != nullptr && reached(last->sequence, operation.sequence);
    const bool same = last != nullptr && last->sequence == operation.sequence;
    if (rank.state == ProcessState::ended || !rank.recorded.in_use) {
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
  for (uint32_t rank = 0; rank < seen.size(); ++rank) {
    if (!seen[rank]) parties.unseen.push_back(rank);
  }
  return parties;
}

std::string_view plural(const std::vector<uint32_t>& ranks, std::string_view one, std::string_view many) {
  return ranks.size() == 1 ? one : many;
}

Json operation_json(const RecordedOperation& operation, Time now) {
  // A box is read a little after `now`.
  const auto seconds_ago = [now](Time time) {
    return std::max(0.0, std::chrono::duration<double>(now - time).count());
  };
  Json json;
  json["number"] = operation.sequence;
  json["operation"] = "AllReduce";
  json["type"] = type_name(operation.args.type);
  json["reduction"] = op_name(operation.args.op);
  json["count"] = operation.args.count;
  json["bytes"] = is_data_type(operation.args.type) ? operation.args.bytes() : 0;
  json["algorithm"] = plan::algorithm_name(operation.algorithm);
  json["state"] = operation_state_name(operation.state);
  json["begun_s_ago"] = seconds_ago(operation.begun);
  if (operation.state != OperationState::running) json["ended_s_ago"] = seconds_ago(operation.ended);
  if (!operation.wait) return json;
  json["waits_for"] = operation.wait->rank ? Json(*operation.wait->rank) : Json("others");
  json["parts_done"] = operation.wait->done;
  json["parts"] = operation.wait->total;
  return json;
}

std::string title(const StatusCommunicator& communicator) {
  const std::string name = communicator.name.empty() ? "" : fmt::format(" '{}'", communicator.name);
  return fmt::format("communicator {:016x}{}: {} ranks, {} on this host\n", communicator.job, name, communicator.nranks,
                     communicator.ranks.size());
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
      communicator.ranks.push_back(
          {rank, process.pid, process.state, process.recording.host, process.recording.program});
    }
  }
  std::vector<StatusCommunicator> result;
  for (auto& [job, communicator] : by_job) {
    const bool lives = std::any_of(communicator.ranks.begin(), communicator.ranks.end(), [](const StatusRank& rank) {
      return rank.state != ProcessState::ended && rank.recorded.in_use;
    });
    if (!all && !lives) continue;
    std::stable_sort(communicator.ranks.begin(), communicator.ranks.end(),
                     [](const StatusRank& a, const StatusRank& b) { return a.recorded.rank < b.recorded.rank; });
    result.push_back(std::move(communicator));
  }
  return result;
}

std::vector<std::string> findings(const StatusCommunicator& communicator) {
  std::vector<std::string> found;
  for (const StatusRank& rank : communicator.ranks) {
    if (rank.recorded.failure.empty()) continue;
    found.push_back(fmt::format("rank {} has failed: {}", rank.recorded.rank, rank.recorded.failure));
  }
  const RecordedOperation* stuck = stuck_operation(communicator);
  if (stuck == nullptr) return found;
  const Parties parties = parties_of(communicator, *stuck);
  const std::string who = fmt::format("{} {} in {}", ranks_text(parties.waiting),
                                      plural(parties.waiting, "waits", "wait"), describe(*stuck));
  const size_t before = found.size();
  const auto tell = [&](const std::vector<uint32_t>& ranks, std::string_view one, std::string_view many) {
    if (!ranks.empty()) found.push_back(fmt::format("{} for {}, {}", who, ranks_text(ranks), plural(ranks, one, many)));
  };
  tell(parties.ended, "which has ended", "which have ended");
  tell(parties.stopped, "whose process is stopped", "whose processes are stopped");
  tell(parties.behind, "which has not called it", "which have not called it");
  tell(parties.differing, "which called something else as that number", "which called something else as that number");
  if (found.size() > before) return found;
  tell(parties.working, "which works on it", "which work on it");
  tell(parties.unseen, "perhaps, which is not on this host: run ronde-status there too",
       "perhaps, which are not on this host: run ronde-status there too");
  if (found.size() == before) found.push_back(who + "; nothing that can be seen here holds it up");
  return found;
}

std::string as_text(const std::vector<StatusCommunicator>& communicators, size_t operations, Time now) {
  std::string text;
  for (const StatusCommunicator& communicator : communicators) {
    if (!text.empty()) text += "\n";
    text += title(communicator);
    text += fmt::format("{:>6} {:>9}  {:<8} {}\n", "rank", "pid", "state", "what it does");
    for (const StatusRank& rank : communicator.ranks) {
      text += fmt::format("{:>6} {:>9}  {:<8} {}\n", rank.recorded.rank, rank.pid != 0 ? std::to_string(rank.pid) : "-",
                          state_name(rank), describe_activity(rank.recorded, now));
      if (operations < 2) continue;
      for (const RecordedOperation& operation : rank.recorded.operations) {
        const bool running = operation.state == OperationState::running;
        const Time until = running ? now : operation.ended;
        text += fmt::format("{:>27}{} {}, {:.3f} ms\n", "", describe(operation), operation_state_name(operation.state),
                            std::chrono::duration<double, std::milli>(until - operation.begun).count());
      }
    }
    for (const std::string& finding : findings(communicator)) text += "  " + finding + "\n";
  }
  return text;
}

std::string as_json(const std::vector<StatusCommunicator>& communicators, Time now) {
  Json all = Json::array();
  for (const StatusCommunicator& communicator : communicators) {
    Json ranks = Json::array();
    for (const StatusRank& rank : communicator.ranks) {
      Json operations = Json::array();
      for (const RecordedOperation& operation : rank.recorded.operations)
        operations.push_back(operation_json(operation, now));
      ranks.push_back({{"rank", rank.recorded.rank},
                       {"pid", rank.pid},
                       {"host", rank.host},
                       {"program", rank.program},
                       {"state", state_name(rank)},
                       {"in_use", rank.recorded.in_use},
                       {"failure", rank.recorded.failure},
                       {"operations", operations}});
    }
    all.push_back({{"communicator", fmt::format("{:016x}", communicator.job)},
                   {"name", communicator.name},
                   {"nranks", communicator.nranks},
                   {"ranks", ranks},
                   {"findings", findings(communicator)}});
  }
  // Texts come from other processes: what is no UTF-8 is replaced.
  return Json{{"communicators", all}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ronde::status
