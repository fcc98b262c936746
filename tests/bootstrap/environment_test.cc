// Launchers as the library sees them: their variables, set in forked children, one for each rank.
#include "bootstrap/environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/settings.h"
#include "bootstrap/id_handout.h"
#include "bootstrap/launcher.h"
#include "bootstrap/secret_file.h"
#include "support/skip.h"

namespace ronde {
namespace {

using Variables = std::map<std::string, std::string>;

RendezvousOptions loopback_options(Milliseconds init_timeout = Milliseconds(4000)) {
  RendezvousOptions options;
  options.socket_ifname = "lo";
  options.socket_family = AF_INET;
  options.init_timeout = init_timeout;
  options.secret_file = environment_variable("RONDE_SECRET_FILE").value_or("");  // of the child that calls
  return options;
}

// Runs the body in a child with these variables alone, and returns what it returned.
class Child {
 public:
  Child(const Variables& variables, const std::function<std::string()>& body) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      clearenv();
      for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
      const std::string outcome = body();
      (void)!write(ends[1], outcome.data(), outcome.size());
      _exit(0);
    }
    close(ends[1]);
    output_ = Fd(ends[0]);
  }
  std::string outcome() {
    std::string text;
    char buffer[512];
    for (ssize_t got = 0; (got = read(output_.get(), buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<size_t>(got));
    int state = 0;
    waitpid(pid_, &state, 0);
    return WIFEXITED(state) ? text : text + " (killed)";
  }

 private:
  pid_t pid_ = -1;
  Fd output_;
};

std::string message_in(const Variables& variables, Milliseconds init_timeout = Milliseconds(4000)) {
  return Child(variables,
               [&]() -> std::string {
                 EventLoop loop;
                 const auto world = world_from_environment(loop, loopback_options(init_timeout));
                 return world.ok() ? "no error"
                                   : std::to_string(world.status().code()) + " " + world.status().message();
               })
      .outcome();
}

// What a rank of a job does: finds its world twice (or once), meets the others each time, tells where it is.
std::string meet(int times, RendezvousOptions options) {
  options.secret_file = environment_variable("RONDE_SECRET_FILE").value_or("");
  std::string text;
  EventLoop loop;
  for (int i = 0; i < times; ++i) {
    const auto world = world_from_environment(loop, options);
    if (!world.ok()) return world.status().message();
    auto member =
        join(loop, world->id, world->world.nranks, world->world.rank, options, Deadline::after(options.init_timeout));
    if (!member.ok()) return member.status().message();
    Writer mine;
    mine.number(world->world.rank);
    const auto table = (*member)->exchange("ranks", mine.view(), Deadline::after(options.init_timeout));
    if (!table.ok()) return table.status().message();
    for (int rank = 0; rank < world->world.nranks; ++rank)
      if (Reader((*table)[static_cast<size_t>(rank)]).number<int>() != rank) return "wrong rank";
    (*member)->leave();
    text += fmt::format("{}/{} local {}/{};", world->world.rank, world->world.nranks, world->world.local_rank,
                        world->world.local_nranks);
  }
  return text;
}

std::string unique(const std::string& name) { return name + "-" + std::to_string(getpid()); }

class TemporaryFile {
 public:
  TemporaryFile(size_t bytes, mode_t mode) {
    char name[] = "/tmp/ronde-secret-XXXXXX";
    const Fd fd(mkstemp(name));
    path_ = name;
    const std::string content(bytes, 's');
    REQUIRE(write(fd.get(), content.data(), content.size()) == static_cast<ssize_t>(bytes));
    REQUIRE(fchmod(fd.get(), mode) == 0);
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

uint16_t free_port() {
  const auto listener = listen_tcp(*SocketAddress::parse("127.0.0.1", 0), 0);
  REQUIRE(listener.ok());
  return listener->port;
}

void check_job(const std::function<Variables(int)>& variables_of, int nranks, int times,
               const RendezvousOptions& options = loopback_options(), bool local_told = true) {
  std::vector<std::unique_ptr<Child>> children;
  for (int rank = nranks - 1; rank >= 0; --rank)  // rank 0 last: the others wait for it
    children.push_back(std::make_unique<Child>(variables_of(rank), [&] { return meet(times, options); }));
  for (int rank = nranks - 1; rank >= 0; --rank) {
    std::string expected;
    for (int i = 0; i < times; ++i)
      expected += fmt::format("{0}/{1} local {2}/{3};", rank, nranks, local_told ? rank : 0, local_told ? nranks : 0);
    CHECK(children[static_cast<size_t>(nranks - 1 - rank)]->outcome() == expected);
  }
}

Variables launcher_variables(const std::string& launcher, int rank, int nranks) {
  const std::string r = std::to_string(rank);
  const std::string n = std::to_string(nranks);
  if (launcher == "openmpi")
    return {{"OMPI_COMM_WORLD_RANK", r},
            {"OMPI_COMM_WORLD_SIZE", n},
            {"OMPI_COMM_WORLD_LOCAL_RANK", r},
            {"OMPI_COMM_WORLD_LOCAL_SIZE", n},
            {"PMIX_NAMESPACE", unique("ns")}};
  if (launcher == "mpich") return {{"PMI_RANK", r}, {"PMI_SIZE", n}, {"MPI_LOCALRANKID", r}, {"MPI_LOCALNRANKS", n}};
  if (launcher == "slurm")
    return {{"SLURM_PROCID", r},   {"SLURM_NTASKS", n},          {"SLURM_LOCALID", r},
            {"SLURM_NNODES", "1"}, {"SLURM_JOB_ID", unique("")}, {"SLURM_STEP_ID", "0"}};
  return {{"RANK", r},
          {"WORLD_SIZE", n},
          {"LOCAL_RANK", r},
          {"LOCAL_WORLD_SIZE", n},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", "29500"},
          {"TORCHELASTIC_RUN_ID", unique("run")}};
}

}  // namespace

TEST_CASE("Without a launcher: one rank") {
  CHECK(Child({}, [] { return meet(2, loopback_options()); }).outcome() == "0/1 local 0/1;0/1 local 0/1;");
}

TEST_CASE("The processes of a launcher on one host find each other without settings, again and again") {
  const std::string launcher = GENERATE("openmpi", "mpich", "slurm", "torchrun");
  INFO(launcher);
  check_job([&](int rank) { return launcher_variables(launcher, rank, 4); }, 4, 3);
}

TEST_CASE("The innermost launcher counts: torchrun under srun, mpirun in a Slurm allocation") {
  Variables variables = {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_STEP_ID", "0"}, {"SLURM_NNODES", "2"}};
  const auto launcher_in = [](const Variables& set) {
    return Child(set,
                 []() -> std::string {
                   const auto launcher = detect_launcher();
                   if (!launcher.ok()) return launcher.status().message();
                   return *launcher ? (*launcher)->name : "none";
                 })
        .outcome();
  };
  CHECK(launcher_in(variables) == "srun (Slurm)");
  Variables torch = variables;
  torch.merge(launcher_variables("torchrun", 0, 4));
  CHECK(launcher_in(torch) == "torchrun");
  Variables mpi = variables;
  mpi.merge(launcher_variables("openmpi", 0, 4));
  CHECK(launcher_in(mpi) == "mpirun (Open MPI)");
  variables.erase("SLURM_STEP_ID");  // a batch script, not started by srun
  CHECK(launcher_in(variables) == "none");
}

TEST_CASE("case_29_numbers: a wrong number names its variable and what is allowed") {
  for (const char* value : {"12abc", "-1", "1e9", "", "4", "99999999999999999999"}) {
    Variables variables = launcher_variables("openmpi", 0, 4);
    variables["OMPI_COMM_WORLD_RANK"] = value;
    CHECK_THAT(message_in(variables), Catch::StartsWith("5 OMPI_COMM_WORLD_RANK='" + std::string(value) + "'") &&
                                          Catch::Contains("from 0 to 3"));
  }
  CHECK_THAT(message_in({{"RONDE_RANK", "0"}}), Catch::Contains("RONDE_NRANKS is not set"));
  CHECK_THAT(message_in({{"RONDE_RANK", "0"}, {"RONDE_NRANKS", "2"}}),
             Catch::Contains("not RONDE_ID_FD") && Catch::Contains("WORLD_SIZE"));
}

TEST_CASE("Half a place is an error, not a job of one rank") {
  CHECK_THAT(message_in({{"RANK", "1"}}), Catch::StartsWith("5 RANK='1' is set, but WORLD_SIZE is not"));
  CHECK_THAT(message_in({{"WORLD_SIZE", "2"}}), Catch::StartsWith("5 WORLD_SIZE='2' is set, but RANK is not"));
}

TEST_CASE("Ranks that are started by hand must say of which job they are") {
  for (const char* rank : {"0", "1"}) {
    CHECK_THAT(message_in({{"RANK", rank}, {"WORLD_SIZE", "2"}}), Catch::StartsWith("5 MASTER_PORT is not set"));
  }
}

TEST_CASE("A call that failed does not count: the next one gets the id") {
  const std::string outcome =
      Child({{"RANK", "0"}, {"WORLD_SIZE", "1"}}, [] {
        EventLoop loop;
        setenv("RANK", "7", 1);
        const bool failed = !world_from_environment(loop, loopback_options()).ok();
        setenv("RANK", "0", 1);
        return std::to_string(failed) + std::to_string(world_from_environment(loop, loopback_options()).ok());
      }).outcome();
  CHECK(outcome == "11");
}

TEST_CASE("ronderun hands over the id in a file of memory, once") {
  EventLoop loop;  // as in ronderun itself
  RendezvousOptions options = loopback_options();
  const Fd memory(memfd_create("id", 0));
  REQUIRE(memory.valid());
  const auto variables_of = [&](int rank) {
    return Variables{{"RONDE_RANK", std::to_string(rank)},
                     {"RONDE_NRANKS", "2"},
                     {"RONDE_LOCAL_RANK", std::to_string(rank)},
                     {"RONDE_LOCAL_NRANKS", "2"},
                     {"RONDE_ID_FD", std::to_string(memory.get())}};
  };
  CHECK_THAT(message_in(variables_of(0)), Catch::Contains("RONDE_ID_FD") && Catch::Contains("not an id"));
  // The children are forked before this process has a thread.
  std::vector<std::unique_ptr<Child>> children;
  for (int rank = 0; rank < 2; ++rank)
    children.push_back(std::make_unique<Child>(variables_of(rank), [&]() -> std::string {
      char byte = 0;
      while (pread(memory.get(), &byte, 1, 0) != 1) poll(nullptr, 0, 5);
      poll(nullptr, 0, 20);
      const std::string first = meet(1, options);
      EventLoop own;
      return first + std::to_string(world_from_environment(own, options, 1).status().code());
    }));
  const auto id = start_root(loop, options);
  REQUIRE(id.ok());
  const std::string text = id_to_text(id->pack()) + "\n";
  REQUIRE(pwrite(memory.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  CHECK(children[0]->outcome() == "0/2 local 0/2;5");
  CHECK(children[1]->outcome() == "1/2 local 1/2;5");
}

TEST_CASE("Programs that a rank starts do not get the id of ronderun, another descriptor is left alone") {
  UniqueId id;
  id.port = 1;
  id.addresses.push_back(*SocketAddress::parse("127.0.0.1", 0));
  const bool is_id = GENERATE(true, false);
  const std::string text = is_id ? id_to_text(id.pack()) : "something else";
  const Fd memory(memfd_create("id", 0));
  REQUIRE(pwrite(memory.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  const Variables variables{{"RONDE_RANK", "0"}, {"RONDE_NRANKS", "2"}, {"RONDE_ID_FD", std::to_string(memory.get())}};
  const auto outcome = Child(variables, [&] {
                         EventLoop loop;
                         const bool found = world_from_environment(loop, loopback_options(), 0).ok();
                         return fmt::format("{} {}", found, fcntl(memory.get(), F_GETFD) == FD_CLOEXEC);
                       }).outcome();
  CHECK(outcome == (is_id ? "true true" : "false false"));
}

TEST_CASE("Several hosts without a secret, or without a place to meet, is an error that says what to do") {
  Variables variables = launcher_variables("openmpi", 1, 4);
  variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  CHECK_THAT(message_in(variables), Catch::StartsWith("5") && Catch::Contains("several hosts") &&
                                        Catch::Contains("RONDE_SECRET_FILE is not set") &&
                                        Catch::Contains("head -c 32 /dev/urandom"));
  const TemporaryFile secret(32, 0600);
  variables["RONDE_SECRET_FILE"] = secret.path();
  CHECK_THAT(message_in(variables), Catch::Contains("MASTER_ADDR is not set"));
  variables["MASTER_ADDR"] = "127.0.0.1";
  CHECK_THAT(message_in(variables), Catch::Contains("neither RONDE_PORT nor MASTER_PORT"));
  variables["MASTER_PORT"] = "65535";
  CHECK_THAT(message_in(variables), Catch::Contains("MASTER_PORT='65535'"));
}

TEST_CASE("With a secret file all processes derive the same id and meet at rank 0") {
  const TemporaryFile secret(40, 0600);
  const uint16_t port = free_port();
  const auto variables_of = [&](int rank) {
    return Variables{{"RANK", std::to_string(rank)},
                     {"WORLD_SIZE", "3"},
                     {"MASTER_ADDR", "127.0.0.1"},
                     {"MASTER_PORT", std::to_string(port - 1)},
                     {"RONDE_SECRET_FILE", secret.path()}};
  };
  check_job(variables_of, 3, 1, loopback_options(), false);
  const std::string twice =
      Child({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"RONDE_SECRET_FILE", secret.path()}},
            [&]() -> std::string {
              EventLoop loop;
              RendezvousOptions options = loopback_options();
              options.port = port;
              options.secret_file = secret.path();
              if (!world_from_environment(loop, options).ok()) return "first";
              return world_from_environment(loop, options).status().message();
            })
          .outcome();
  CHECK_THAT(twice, Catch::Contains("one id"));
}

TEST_CASE("Secret files must be secret, long enough and readable") {
  const auto message = [](const std::string& path) { return read_secret_file(path).status().message(); };
  const TemporaryFile good(32, 0600);
  CHECK(read_secret_file(good.path()).ok());
  const TemporaryFile stricter(32, 0400);
  CHECK(read_secret_file(stricter.path()).ok());
  CHECK(*read_secret_file(good.path()) == *read_secret_file(stricter.path()));  // the content counts
  const TemporaryFile open_to_group(32, 0640);
  CHECK_THAT(message(open_to_group.path()), Catch::Contains("mode 0640") && Catch::Contains("chmod 600"));
  const TemporaryFile short_one(31, 0600);
  CHECK_THAT(message(short_one.path()), Catch::Contains("31 bytes"));
  const TemporaryFile long_one(100'000, 0600);
  CHECK_THAT(message(long_one.path()), Catch::Contains("more than"));
  CHECK_THAT(message("/nonexistent/file"),
             Catch::Contains("No such file") && Catch::Contains("head -c 32 /dev/urandom"));
  CHECK_THAT(message("/tmp"), Catch::Contains("no plain file"));

  const Secret secret = *read_secret_file(good.path());
  CHECK(derive_id(secret, 1).job == derive_id(secret, 1).job);
  CHECK(derive_id(secret, 1).job != derive_id(secret, 2).job);
  CHECK(derive_id(secret, 1).retry_refused);
}

TEST_CASE("A secret file of another user is refused") {
  if (geteuid() != 0) testing::skip("only root can give a file away");
  const TemporaryFile secret(32, 0600);
  REQUIRE(chown(secret.path().c_str(), 65534, 65534) == 0);
  const Status status = read_secret_file(secret.path()).status();
  CHECK(status.code() == rondeInvalidUsage);
  CHECK_THAT(status.message(),
             Catch::Contains(secret.path()) && Catch::Contains("belongs to user 65534") && Catch::Contains("user 0"));
  const std::string as_its_owner = Child({}, [&] {
                                     const bool is_owner = seteuid(65534) == 0;
                                     return is_owner ? read_secret_file(secret.path()).status().message() : "root";
                                   }).outcome();
  CHECK(as_its_owner == "");
}

TEST_CASE("A name that leads nowhere is an error that names the variable") {
  const Variables variables = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "256.0.0.1"}, {"MASTER_PORT", "1"}};
  CHECK_THAT(message_in(variables), Catch::StartsWith("5 MASTER_ADDR='256.0.0.1'"));
}

TEST_CASE("case_12: a rank 0 that never comes is an error at the limit, with the remedy for several hosts") {
  const std::string message = message_in(launcher_variables("openmpi", 1, 2), Milliseconds(300));
  CHECK_THAT(message, Catch::StartsWith("104 rank 1 waited 0.3 s") && Catch::Contains("RONDE_SECRET_FILE"));
}

TEST_CASE("Ids of different calls and jobs are kept apart, and one job has one rank 0") {
  EventLoop loop;
  UniqueId first;
  first.port = 1;
  first.addresses.push_back(*SocketAddress::parse("127.0.0.1", 0));
  UniqueId second = first;
  second.port = 2;
  const std::string job = unique("job");
  REQUIRE(hand_out_id(loop, job, 0, first, 1, Milliseconds(3000)).ok());
  REQUIRE(hand_out_id(loop, job, 1, second, 1, Milliseconds(3000)).ok());
  const Status twice = hand_out_id(loop, job, 1, second, 1, Milliseconds(3000));
  CHECK_THAT(twice.message(), Catch::Contains("another process is rank 0"));
  CHECK(fetch_id(job, 1, Deadline::after(Milliseconds(2000)))->port == 2);
  CHECK(fetch_id(job, 0, Deadline::after(Milliseconds(2000)))->port == 1);
  CHECK(fetch_id(job + "x", 0, Deadline::after(Milliseconds(100))).status().code() == rondeTimedOut);
  // Once all have it, the name is free again.
  const Deadline limit = Deadline::after(Milliseconds(2000));
  Status again = twice;
  while (!again.ok() && !limit.passed()) {
    poll(nullptr, 0, 5);
    again = hand_out_id(loop, job, 1, second, 1, Milliseconds(100));
  }
  CHECK(again.ok());
}

}  // namespace ronde
