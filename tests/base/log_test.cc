// Messages when nobody reads them.
#include "base/log.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <string>

namespace ronde {
namespace {

// How a child ends that logs with its stderr going to a pipe that nobody reads.
int status_of_child(bool signal_was_pending) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    signal(SIGPIPE, SIG_DFL);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGPIPE);
    if (signal_was_pending) {
      sigprocmask(SIG_BLOCK, &only, nullptr);
      raise(SIGPIPE);
    }
    log::warn("nobody reads this");
    sigset_t pending;
    sigpending(&pending);
    _exit(sigismember(&pending, SIGPIPE) == (signal_was_pending ? 1 : 0) ? 7 : 8);
  }
  close(ends[0]);
  close(ends[1]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

TEST_CASE("a message whose reader has gone does not end the process, nor take a signal that was there before") {
  for (const bool pending : {false, true}) {
    const int status = status_of_child(pending);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 7);
  }
}

TEST_CASE("a FIFO that nobody reads is no log file, and does not keep anybody waiting") {
  char folder[] = "/tmp/ronde-log-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string path = std::string(folder) + "/fifo";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const Status status = log::set_file(path);
  unlink(path.c_str());
  rmdir(folder);
  REQUIRE(status.code() == rondeSystemError);
  CHECK_THAT(status.message(), Catch::Contains(path) && Catch::Contains("RONDE_LOG_FILE"));
}

}  // namespace ronde
