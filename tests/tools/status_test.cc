// What ronde-status concludes from black boxes, and how it finds their writers.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "status/findings.h"
#include "status/report.h"
#include "status/scan.h"

namespace ronde::status {
namespace {

using black_box::OperationState;
using black_box::Phase;

const Time kNow = Time() + std::chrono::hours(1);

RecordedOperation operation(uint32_t sequence, OperationState state) {
  RecordedOperation result;
  result.sequence = sequence;
  result.digest = 1;
  result.args.count = 10;
  result.algorithm = plan::Algorithm::ring;
  result.state = state;
  result.begun = kNow - std::chrono::seconds(3);
  result.ended = kNow - std::chrono::seconds(2);
  return result;
}

// A job of one rank a process, all in the given operation.
class Job {
 public:
  explicit Job(uint32_t nranks) {
    for (uint32_t rank = 0; rank < nranks; ++rank) {
      FoundProcess process;
      process.pid = static_cast<pid_t>(1000 + rank);
      process.state = ProcessState::lives;
      process.recording.host = "node-a";
      process.recording.program = "train";
      process.recording.ranks.push_back({42, "", rank, nranks, true, "", {operation(7, OperationState::running)}});
      processes.push_back(process);
    }
  }
  RecordedRank& rank(size_t number) { return processes[number].recording.ranks[0]; }
  void waits(std::initializer_list<size_t> ranks, uint32_t for_rank) {
    for (const size_t number : ranks) rank(number).operations[0].wait = RecordedWait{for_rank, 1, 4};
  }
  [[nodiscard]] std::vector<std::string> found() const {
    const auto communicators = communicators_of(processes, false);
    REQUIRE(communicators.size() == 1);
    return findings(communicators[0], kNow);
  }

  std::vector<FoundProcess> processes;
};

// Of an object, by the alphabet.
std::string keys(const nlohmann::json& object) {
  std::string all;
  for (const auto& [key, value] : object.items()) all += (all.empty() ? "" : " ") + key;
  return all;
}

const std::string kSeven = "in AllReduce (float32, sum, 10 elements) number 7 by ring for ";

}  // namespace

TEST_CASE("nothing is said of a job that moves") { CHECK(Job(3).found().empty()); }

TEST_CASE("who has not called is named, not who is waited for") {
  Job job(4);
  job.waits({0, 1, 3}, 2);
  job.rank(1).operations[0].wait->rank = 0;  // an innocent neighbour
  job.rank(2).operations = {operation(6, OperationState::ended)};
  CHECK(job.found() == std::vector<std::string>{"ranks 0, 1 and 3 wait " + kSeven + "rank 2, which has not called it"});
  job.rank(2).operations.clear();
  CHECK(job.found().size() == 1);
}

TEST_CASE("a stopped process, an ended one and one that called something else are told apart") {
  Job job(2);
  job.waits({0}, 1);
  SECTION("stopped") {
    job.processes[1].state = ProcessState::stopped;
    CHECK(job.found() == std::vector<std::string>{"rank 0 waits " + kSeven + "rank 1, whose process is stopped"});
  }
  SECTION("ended") {
    job.processes[1].state = ProcessState::ended;
    job.processes[1].pid = 0;
    CHECK(job.found() == std::vector<std::string>{"rank 0 waits " + kSeven + "rank 1, which has ended"});
  }
  SECTION("destroyed") {
    job.rank(1).in_use = false;
    CHECK(job.found() ==
          std::vector<std::string>{"rank 0 waits " + kSeven +
                                   "rank 1, perhaps, which is not seen on this host: if it runs on another, run "
                                   "ronde-status there"});
  }
  SECTION("called something else") {
    job.rank(1).operations[0].digest = 2;
    CHECK_THAT(job.found().at(0), Catch::Contains("rank 1, which called something else as that number"));
  }
}

TEST_CASE("ranks on another host are pointed to") {
  Job job(3);
  job.waits({0, 1}, 2);
  job.processes.pop_back();
  CHECK_THAT(job.found().at(0), Catch::Contains("for rank 2, perhaps, which is not seen on this host"));
}

TEST_CASE("the earliest operation is what holds the others up") {
  Job job(3);
  job.rank(0).operations = {operation(8, OperationState::running)};
  job.waits({0, 1}, 2);
  job.rank(2).operations = {operation(6, OperationState::running)};
  job.waits({2}, 0);
  CHECK(job.found() ==
        std::vector<std::string>{"rank 2 waits in AllReduce (float32, sum, 10 elements) number 6 by ring; "
                                 "nothing that can be seen here holds it up"});
}

TEST_CASE("the failure of a rank is told") {
  Job job(2);
  job.rank(1).failure = "rank 0 is gone";
  CHECK(job.found() == std::vector<std::string>{"rank 1 has failed: rank 0 is gone"});
}

TEST_CASE("a failure of many ranks is told once") {
  Job job(4);
  for (const size_t rank : {0, 1, 3}) job.rank(rank).failure = "rank 2 is gone";
  job.rank(2).failure = "out of memory";
  CHECK(job.found() ==
        std::vector<std::string>{"ranks 0, 1 and 3 have failed: rank 2 is gone", "rank 2 has failed: out of memory"});
}

TEST_CASE("waits in start-up and in a shrink are told once they are long") {
  Job job(4);
  const auto enter = [&](size_t rank, Phase phase, Milliseconds ago) {
    job.rank(rank).operations.clear();
    job.rank(rank).phase = phase;
    job.rank(rank).phase_since = kNow - ago;
  };
  SECTION("start-up: who has not come, and who is stopped") {
    for (const size_t rank : {0, 1, 2}) enter(rank, Phase::meeting, Milliseconds(100));
    job.processes.pop_back();
    CHECK(job.found().empty());
    enter(0, Phase::meeting, Milliseconds(600));
    CHECK(job.found() == std::vector<std::string>{"ranks 0-2 wait in start-up for rank 3, perhaps, which is not "
                                                  "seen on this host: if it runs on another, run ronde-status there"});
    job.processes[1].state = ProcessState::stopped;
    CHECK(job.found() == std::vector<std::string>{
                             "ranks 0 and 2 wait in start-up for rank 1, whose process is stopped",
                             "ranks 0 and 2 wait in start-up for rank 3, perhaps, which is not seen on this host: "
                             "if it runs on another, run ronde-status there"});
  }
  SECTION("start-up: an ended rank is the cause, who has come further waits for nobody") {
    enter(0, Phase::linking, Milliseconds(600));
    for (const size_t rank : {1, 2}) enter(rank, Phase::working, Milliseconds(100));
    job.processes[2].state = ProcessState::stopped;
    enter(3, Phase::meeting, Milliseconds(600));
    job.processes[3].state = ProcessState::ended;
    CHECK(job.found() == std::vector<std::string>{"rank 0 waits in start-up for rank 3, which has ended"});
  }
  SECTION("shrink: who has said goodbye is not waited for") {
    for (const size_t rank : {0, 1, 2}) enter(rank, Phase::shrinking, Milliseconds(700));
    enter(3, Phase::finalized, Milliseconds(900));
    CHECK(job.found() ==
          std::vector<std::string>{"ranks 0-2 wait in rondeCommShrink; nothing that can be seen here holds it up"});
  }
  SECTION("shrink: who has not called it; the dead are not waited for") {
    enter(0, Phase::shrinking, Milliseconds(700));
    enter(1, Phase::shrinking, Milliseconds(10));
    enter(2, Phase::working, Milliseconds(9000));
    job.processes[3].state = ProcessState::ended;
    CHECK(job.found() ==
          std::vector<std::string>{"ranks 0 and 1 wait in rondeCommShrink for rank 2, which has not called it"});
    enter(0, Phase::shrinking, Milliseconds(100));
    CHECK(job.found().empty());
  }
}

TEST_CASE("jobs whose processes have all ended are shown only when asked for") {
  Job job(2);
  for (FoundProcess& process : job.processes) process.state = ProcessState::ended;
  CHECK(communicators_of(job.processes, false).empty());
  CHECK(communicators_of(job.processes, true).size() == 1);
}

TEST_CASE("text and JSON show each rank") {
  Job job(2);
  job.waits({0}, 1);
  const auto communicators = communicators_of(job.processes, false);
  const std::string text = as_text(communicators, 1, kNow);
  CHECK_THAT(text, Catch::Contains("communicator 000000000000002a of train: 2 ranks, 2 on this host") &&
                       Catch::Contains("     0      1000  waits     in AllReduce") &&
                       Catch::Contains("for 3.0 s, 25 % done, waits for rank 1") &&
                       Catch::Contains("     1      1001  works     "));
  const auto json = nlohmann::json::parse(as_json(communicators, kNow));
  const auto& communicator = json["communicators"][0];
  const auto& rank = communicator["ranks"][0];
  // As docs/json.md has them; these may not go.
  CHECK(keys(json) == "communicators program version");
  CHECK(keys(communicator) == "communicator findings name nranks ranks");
  CHECK(keys(rank) == "failure host in_use operations phase phase_s pid program rank state");
  CHECK(keys(rank["operations"][0]) ==
        "algorithm begun_s_ago bytes count number operation parts parts_done reduction state type waits_for");
  CHECK(rank["state"] == "waits");
  CHECK(rank["phase"] == "working");
  CHECK(rank["operations"][0]["number"] == 7);
  CHECK(rank["operations"][0]["bytes"] == 40);
  CHECK(rank["operations"][0]["waits_for"] == 1);
  CHECK(json["communicators"][0]["findings"].size() == 1);
}

TEST_CASE("a process is found by the number that it knows itself by") {
  CHECK(own_pid_of("Name:\tx\nState:\tS\nNSpid:\t400\t12\nUid:\t0\n") == 12);
  CHECK(own_pid_of("Name:\tx\nNSpid:\t400\n") == 400);
  CHECK_FALSE(own_pid_of("Name:\tNSpid:\n"));
  CHECK_FALSE(own_pid_of(""));
}

}  // namespace ronde::status
