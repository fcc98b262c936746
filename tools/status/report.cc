#include "status/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "common/command_line.h"

namespace ronde::status {
namespace {

using black_box::OperationState;
using black_box::Phase;
using Json = nlohmann::ordered_json;

std::string_view state_name(const StatusRank& rank) {
  if (!rank.recorded.in_use) return rank.recorded.failure.empty() ? "destroyed" : "failed";
  if (rank.state == ProcessState::ended) return "ended";
  if (rank.state == ProcessState::stopped) return "stopped";
  if (shrinks(rank)) return "shrinks";
  if (!rank.recorded.failure.empty()) return "failed";
  if (starts(rank)) return "starts";
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

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::meeting: return "meeting";
    case Phase::linking: return "linking";
    case Phase::working: return "working";
    case Phase::shrinking: return "shrinking";
    case Phase::finalized: return "finalized";
  }
  return "";
}

Json operation_json(const RecordedOperation& operation, Time now) {
  Json json;
  json["number"] = operation.sequence;
  json["operation"] = operation_name(operation.args);
  json["type"] = type_name(operation.args.type);
  if (schedule::reduces(operation.args.what)) json["reduction"] = reduction_name(operation.args.op);
  if (schedule::has_root(operation.args.what)) json["root"] = operation.args.root;
  json["count"] = operation.args.count;
  json["bytes"] = is_data_type(operation.args.type) ? operation.args.bytes() : 0;
  json["algorithm"] = plan::algorithm_name(operation.algorithm);
  json["state"] = operation_state_name(operation.state);
  json["begun_s_ago"] = seconds_between(operation.begun, now);
  if (operation.state != OperationState::running) json["ended_s_ago"] = seconds_between(operation.ended, now);
  if (!operation.wait) return json;
  json["waits_for"] = operation.wait->rank ? Json(*operation.wait->rank) : Json("others");
  json["parts_done"] = operation.wait->done;
  json["parts"] = operation.wait->total;
  return json;
}

std::string title(const StatusCommunicator& communicator) {
  std::set<std::string> programs;
  for (const StatusRank& rank : communicator.ranks) programs.insert(rank.program);
  const std::string name = communicator.name.empty() ? "" : fmt::format(" '{}'", communicator.name);
  return fmt::format("communicator {:016x}{} of {}: {} ranks, {} on this host\n", communicator.job, name,
                     fmt::join(programs, ", "), communicator.nranks, communicator.ranks.size());
}

}  // namespace

std::string as_text(const std::vector<StatusCommunicator>& communicators, size_t operations, Time now) {
  std::string text;
  for (const StatusCommunicator& communicator : communicators) {
    if (!text.empty()) text += "\n";
    text += title(communicator);
    text += fmt::format("{:>6} {:>9}  {:<9} {}\n", "rank", "pid", "state", "what it does");
    for (const StatusRank& rank : communicator.ranks) {
      text += fmt::format("{:>6} {:>9}  {:<9} {}\n", rank.recorded.rank, rank.pid != 0 ? std::to_string(rank.pid) : "-",
                          state_name(rank), describe_activity(rank.recorded, now));
      if (operations < 2) continue;
      for (const RecordedOperation& operation : rank.recorded.operations) {
        const bool running = operation.state == OperationState::running;
        const Time until = running ? now : operation.ended;
        text += fmt::format("{:>28}{} {}, {:.3f} ms\n", "", describe(operation), operation_state_name(operation.state),
                            std::chrono::duration<double, std::milli>(until - operation.begun).count());
      }
    }
    for (const std::string& finding : findings(communicator, now)) text += "  " + finding + "\n";
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
                       {"phase", phase_name(rank.recorded.phase)},
                       {"phase_s", seconds_between(rank.recorded.phase_since, now)},
                       {"in_use", rank.recorded.in_use},
                       {"failure", rank.recorded.failure},
                       {"operations", operations}});
    }
    all.push_back({{"communicator", fmt::format("{:016x}", communicator.job)},
                   {"name", communicator.name},
                   {"nranks", communicator.nranks},
                   {"ranks", ranks},
                   {"findings", findings(communicator, now)}});
  }
  // Texts come from other processes: what is no UTF-8 is replaced.
  const Json document{{"program", "ronde-status"}, {"version", tools::version()}, {"communicators", all}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ronde::status
