// Ranks that are made together, each on a thread of its own.
#include "api/group.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "cases/support/child.h"

namespace ronde::api {
namespace {

// From now on this process has few threads. The limit counts the processes of a user, and root has none: it becomes a
// user who has no others.
bool limit_threads() {
  constexpr uid_t kNobodyElse = 61'973;
  if (getuid() == 0 && setuid(kNobodyElse) != 0) return false;
  const rlimit few{4, 4};
  return setrlimit(RLIMIT_NPROC, &few) == 0;
}

using Make = std::function<Status()>;  // of a rank that never comes into being

Status make_all(const std::vector<Make>& makes) {
  rondeComm_t comm = nullptr;
  std::vector<GroupInit> inits;
  for (const Make& make : makes) inits.push_back({[make](const auto&) { return make(); }, &comm, nullptr});
  const Status status = make_together(inits);
  CHECK(comm == nullptr);
  return status;
}

}  // namespace

TEST_CASE("when a rank has no thread no rank begins, and the error says what to raise") {
  cases::Child child([]() -> std::string {
    if (!limit_threads()) return "the number of threads cannot be limited";
    std::atomic<int> begun = 0;
    const std::vector<Make> makes(8, [&begun] {
      ++begun;
      return Status(rondeInternalError, "begun");
    });
    const Status status = make_all(makes);
    if (status.code() != rondeSystemError) return "no error: " + status.message();
    if (begun != 0) return std::to_string(begun) + " ranks have begun";
    const bool says =
        status.message().find("of 8") != std::string::npos && status.message().find("ulimit -u") != std::string::npos;
    return says ? "" : status.message();
  });
  CHECK(child.end_by(std::chrono::steady_clock::now() + std::chrono::seconds(20), "the child") == "");
}

TEST_CASE("all ranks run at once, and the error of the one that is the cause is returned") {
  std::atomic<int> begun = 0;
  std::vector<Make> makes(5, [&begun]() -> Status {
    ++begun;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (begun < 5 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    return begun == 5 ? Status(rondeRemoteError, "a consequence") : Status(rondeTimedOut, "one by one");
  });
  CHECK(make_all(makes).message() == "a consequence");
  makes[3] = [&begun]() -> Status {
    ++begun;
    throw std::runtime_error("the cause");
  };
  begun = 0;
  CHECK_THAT(make_all(makes).message(), Catch::Contains("the cause"));
}

}  // namespace ronde::api
