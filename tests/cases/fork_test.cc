// Situation 10: a process forks after init. (11 with children: fork_death_test.cc.)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cases/support/child.h"
#include "cases/support/open_files.h"
#include "cases/support/ranks.h"
#include "support/sanitizers.h"

// What the parent's threads hold is out of reach in a forked child: the address sanitizer's leak check asks here.
static bool in_forked_child = false;
extern "C" [[gnu::visibility("default")]] int __lsan_is_turned_off() { return in_forked_child ? 1 : 0; }

namespace ronde::cases {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kForks = testing::kSanitizer ? 20 : 100;  // with one a fork takes long

const std::vector<Way>& ways_to_fork() {
  static const std::vector<Way> ways = {{"shm, blocking", false, "shm"},
                                        {"shm, ring, stream", false, "shm", "ring", true},
                                        {"tcp, blocking", false, "tcp"},
                                        {"inproc, stream", true, "inproc", "auto", true},
                                        {"tcp threads, blocking", true, "tcp"}};
  return ways;
}

OpenFiles files_before;  // of this process, before it used the library

constexpr int kSums = testing::kSanitizer ? 5 : 20;  // of each size

void many_sums(Rank& rank) {
  for (const size_t count : {size_t{1}, size_t{5'000}, size_t{300'000}}) {
    std::vector<float> values(count);
    for (int round = 0; round < (count == 1 ? 3 * kSums : kSums); ++round) {
      std::fill(values.begin(), values.end(), static_cast<float>(rank.number() + round));
      expect_success(rank.all_reduce(values.data(), values.data(), count, rondeFloat32, rondeSum),
                     "round " + std::to_string(round));
      const int n = rank.nranks();
      const auto right = static_cast<float>(n * (n - 1) / 2 + n * round);
      for (const float value : values) expect(value == right, "round " + std::to_string(round) + ": a wrong sum");
    }
  }
}

// What rank 1 does after a first operation and before many others.
struct Fork {
  std::function<void()> before = [] {};     // in each process, before it calls the library
  std::function<void()> in_parent = [] {};  // just before the fork
  std::function<std::string(Rank&)> in_child;
  std::function<void()> afterwards = [] {};  // in the parent, when the child has ended
};

std::string run_with_child(const Way& way, const Fork& what) {
  World world{way, 3};
  world.before = [&what] {
    files_before = OpenFiles::now();
    what.before();
  };
  return run_ranks(world, [&what](Rank& rank) {
    float value = 1;
    expect_success(rank.all_reduce(&value, &value, 1, rondeFloat32, rondeSum), "the first operation");
    if (rank.number() == 1) {
      what.in_parent();
      Child child([&] {
        in_forked_child = true;
        return what.in_child(rank);
      });
      const std::string outcome = child.end_by(Clock::now() + std::chrono::seconds(20), "the forked child");
      expect(outcome.empty(), outcome);
      what.afterwards();
    }
    many_sums(rank);
  });
}

std::string what_is_left() {
  const OpenFiles now = OpenFiles::now();
  const OpenFile* file = now.first_beyond(files_before);
  return file == nullptr ? "" : "open: " + std::to_string(file->number) + " " + file->name.data() + "\n";
}

// Where this process has the memory of communicators; only that with a name can be told.
std::vector<uintptr_t> segments() {
  std::vector<uintptr_t> places;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:ronde") != std::string::npos) places.push_back(std::stoul(line, nullptr, 16));
  }
  return places;
}

std::string refusals(Rank& rank) {
  float value = 0;
  const auto refused = [](rondeResult_t result) {
    return result == rondeInvalidUsage && std::strstr(rondeGetLastError(nullptr), "forked") != nullptr;
  };
  rondeComm_t comm = nullptr;
  if (rondeAllReduce(&value, &value, 1, rondeFloat32, rondeSum, rank.comm(), nullptr) != rondeInvalidUsage ||
      std::strstr(rondeGetLastError(rank.comm()), "rondeAllReduce: this process was forked") == nullptr) {
    return std::string("rondeAllReduce: ") + rondeGetLastError(rank.comm()) + "\n";
  }
  if (!refused(rondeCommAbort(rank.comm()))) return "rondeCommAbort is not refused\n";
  if (!refused(rondeCommDestroy(rank.comm()))) return "rondeCommDestroy is not refused\n";
  if (!refused(rondeGroupStart())) return "rondeGroupStart is not refused\n";
  if (!refused(rondeSetLogCallback(nullptr, nullptr))) return "rondeSetLogCallback is not refused\n";
  if (!refused(rondeCommInitAll(&comm, 1, nullptr))) return "rondeCommInitAll is not refused\n";
  return "";
}

// ---- What a child has on its own where its parent has something of the library
// ---------------------------------------

std::vector<int> own_files;
std::vector<unsigned char*> own_pages;

// Registered before the library is used, so that it runs after the library's exit handlers.
void check_own_at_exit() {
  for (const int file : own_files) {
    if (fcntl(file, F_GETFD) < 0) _exit(5);
  }
  for (const unsigned char* page : own_pages) {
    unsigned char resident = 0;
    if (mincore(const_cast<unsigned char*>(page), 1, &resident) != 0 || page[0] != 0xa5) _exit(6);
  }
}

std::string take_places(int greatest_of_parent, const std::vector<uintptr_t>& segments_of_parent) {
  for (int file = -1; file <= greatest_of_parent;) {
    file = open("/dev/null", O_RDONLY);
    if (file < 0) return "open failed\n";
    own_files.push_back(file);
  }
  for (const uintptr_t place : segments_of_parent) {
    auto* const wanted = reinterpret_cast<unsigned char*>(place);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    void* const page = mmap(wanted, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
    // The place is free, so an allocator may have taken it for the child; a sanitizer, for a thread of its own.
    if (page == MAP_FAILED && errno == EEXIST) continue;
    if (page != wanted) return "no page at the place of a segment\n";
    wanted[0] = 0xa5;
    own_pages.push_back(wanted);
  }
  if (own_pages.empty() && !testing::kThreadSanitizer && !testing::kAddressSanitizer)
    return "all places of segments are taken in the child\n";
  return "";
}

// ---- Children that execute another program
// ---------------------------------------------------------------------------

// The open files of a program that is executed: "number target" each; without its pipe and the folder that it reads.
std::string files_of_program(FILE* output) {
  std::string files;
  char line[512];
  while (std::fgets(line, sizeof line, output) != nullptr) {
    const char* const arrow = std::strstr(line, " -> ");
    if (arrow == nullptr || std::strstr(arrow, "pipe:") != nullptr || std::strstr(arrow, "/proc/") != nullptr) continue;
    const char* number = arrow;
    while (number > line && number[-1] != ' ') --number;
    files += number;
  }
  return files;
}

std::string files_after_spawn() {  // popen: without the handlers of fork
  FILE* const output = popen("exec ls -l /proc/self/fd", "r");
  if (output == nullptr) return "popen failed";
  const std::string files = files_of_program(output);
  return pclose(output) == 0 ? files : "ls failed";
}

std::string files_after_fork() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "pipe failed";
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execlp("ls", "ls", "-l", "/proc/self/fd", nullptr);
    _exit(127);
  }
  close(ends[1]);
  FILE* const output = fdopen(ends[0], "r");
  const std::string files = files_of_program(output);
  std::fclose(output);
  int status = -1;
  waitpid(pid, &status, 0);
  return status == 0 ? files : "ls failed";
}

// ---- Communicators that come and go while another thread forks
// -------------------------------------------------------

void make_and_destroy() {
  rondeUniqueId id;
  rondeComm_t comms[2] = {nullptr, nullptr};
  expect_success(rondeGetUniqueId(&id), "rondeGetUniqueId");
  expect_success(rondeGroupStart(), "rondeGroupStart");
  for (int rank = 0; rank < 2; ++rank) expect_success(rondeCommInitRank(&comms[rank], 2, id, rank), "init");
  expect_success(rondeGroupEnd(), "rondeGroupEnd");
  for (rondeComm_t comm : comms) expect_success(rondeCommDestroy(comm), "destroy");
}

// "" or what a forked child has of the library.
std::string fork_and_look(int round) {
  const pid_t pid = fork();
  if (pid < 0) return "fork failed\n";
  if (pid == 0) {
    in_forked_child = true;
    alarm(20);
    const OpenFiles now = OpenFiles::now();
    const OpenFile* file = now.first_beyond(files_before);
    if (file != nullptr) {
      [[maybe_unused]] const ssize_t told = write(STDERR_FILENO, file->name.data(), std::strlen(file->name.data()));
      _exit(7);
    }
    // Without exit handlers: those of other libraries wait for ever where another thread was in one of them at the
    // fork.
    _exit(0);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return status == 0 ? "" : "fork " + std::to_string(round) + " ended with status " + std::to_string(status) + "\n";
}

std::string fork_beside_communicators(const std::string& transport) {
  setenv("RONDE_TRANSPORT", transport.c_str(), 1);
  files_before = OpenFiles::now();
  std::atomic<bool> stop{false};
  std::atomic<int> made{0};
  std::string trouble;
  std::thread maker([&] {
    try {
      for (; !stop; ++made) make_and_destroy();
    } catch (const std::exception& error) {
      trouble = error.what();
    }
  });
  while (made == 0 && trouble.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::string outcome;
  int with_files = 0;
  for (int round = 0; round < kForks && outcome.empty(); ++round) {
    std::this_thread::sleep_for(std::chrono::microseconds(37 * round % 2000));
    with_files += OpenFiles::now().number_beyond(files_before) > 0 ? 1 : 0;
    outcome = fork_and_look(round);
  }
  stop = true;
  maker.join();
  outcome += trouble;
  if (outcome.empty() && made < 3) outcome = "only " + std::to_string(made) + " communicators were made meanwhile\n";
  if (outcome.empty() && with_files < kForks / 2) outcome = "there was hardly anything to inherit\n";
  return outcome;
}

}  // namespace

TEST_CASE("case_10_fork_and_exit: a child has nothing of the library, is refused, and harms nobody") {
  for (const Way& way : ways_to_fork()) {
    Fork fork;
    fork.in_child = [](Rank& rank) { return what_is_left() + refusals(rank); };
    CHECK(run_with_child(way, fork) == "");
  }
}

TEST_CASE("case_10_fork_and_reuse: the exit handlers of a child leave its own files and memory alone") {
  for (const Way& way : ways_to_fork()) {
    OpenFiles files_of_parent;
    std::vector<uintptr_t> segments_of_parent;
    Fork fork;
    fork.before = [] { std::atexit(check_own_at_exit); };
    fork.in_parent = [&] {
      files_of_parent = OpenFiles::now();
      segments_of_parent = segments();
      expect(files_of_parent.number_beyond(files_before) >= 5, "the library has hardly any files");
      expect(!segments_of_parent.empty(), "segments and black boxes were not found");
    };
    fork.in_child = [&](Rank&) { return take_places(files_of_parent.greatest_number(), segments_of_parent); };
    fork.afterwards = [&] {
      expect(OpenFiles::now().number_beyond(files_of_parent) == 0, "the parent has other files than before");
      expect(segments() == segments_of_parent, "the parent has other segments than before");
    };
    CHECK(run_with_child(way, fork) == "");
  }
}

TEST_CASE("case_10_fork_and_exec: another program inherits nothing") {
  for (const Way& way : ways_to_fork()) {
    std::string files;
    Fork fork;
    fork.before = [&] { files = files_after_fork(); };
    fork.in_parent = [&] {
      expect(!files.empty(), "a program has no files at all");
      expect(files_after_fork() == files, "by fork: " + files_after_fork() + "instead of " + files);
      expect(files_after_spawn() == files, "by spawn: " + files_after_spawn() + "instead of " + files);
    };
    fork.in_child = [&](Rank&) {
      return files_after_spawn() == files ? "" : "from a child: " + files_after_spawn() + "instead of " + files;
    };
    CHECK(run_with_child(way, fork) == "");
  }
}

TEST_CASE("case_10_fork_at_any_moment: communicators come and go in another thread") {
  for (const char* transport : {"shm", "tcp", "inproc"}) {
    INFO(transport);
    Child child([transport] { return fork_beside_communicators(transport); });
    CHECK(child.end_by(Clock::now() + std::chrono::seconds(60), "the process that forks") == "");
  }
}

}  // namespace ronde::cases
