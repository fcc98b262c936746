// The contract of rendezvous.h with real sockets and with ranks of one process: one thread a rank.
#include "bootstrap/rendezvous.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace ronde {
namespace {

RendezvousOptions loopback_options(int family = AF_INET) {
  RendezvousOptions options;
  options.socket_ifname = "lo";
  options.socket_family = family;
  options.init_timeout = Milliseconds(10'000);
  return options;
}

// Every rank in a thread of its own; each says how it went, "" for well. Checks are made by the test's own thread.
using RankBody = std::function<std::string(int rank)>;
void run_ranks(int nranks, const RankBody& body) {
  std::vector<std::string> outcomes(static_cast<size_t>(nranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < nranks; ++rank)
    threads.emplace_back([&, rank] { outcomes[static_cast<size_t>(rank)] = body(rank); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& outcome : outcomes) CHECK(outcome == "");
}

Bytes part_of(int rank, int round) {
  return Bytes(static_cast<size_t>(rank * 1000 + round * 37) % 60'000, static_cast<std::byte>(rank + round));
}

std::string exchange_rounds(Rendezvous& rendezvous, int nranks, int rank, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const auto table = rendezvous.exchange("parts", part_of(rank, round), Deadline::after(Milliseconds(20'000)));
    if (!table.ok()) return table.status().message();
    if (table->size() != static_cast<size_t>(nranks)) return "wrong number of parts";
    for (int other = 0; other < nranks; ++other)
      if ((*table)[static_cast<size_t>(other)] != part_of(other, round)) return "wrong part";
  }
  return "";
}

// Waits for one failure.
class FailureListener {
 public:
  std::function<void(Status)> callback() {
    return [this](const Status& status) {
      const std::scoped_lock lock(mutex_);
      ++calls_;
      if (!failure_) failure_ = status;
      changed_.notify_all();
    };
  }
  std::optional<Status> wait(Milliseconds limit) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, Clock::now() + limit, [&] { return failure_.has_value(); });
    return failure_;
  }
  int calls() {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Status> failure_;
  int calls_ = 0;
};

std::string mismatch(const std::optional<Status>& status, rondeResult_t code, const std::vector<std::string>& words) {
  if (!status) return "no failure was told";
  if (status->code() != code) return "code " + std::to_string(status->code()) + ": " + status->message();
  for (const std::string& word : words)
    if (status->message().find(word) == std::string::npos) return "'" + word + "' not in: " + status->message();
  return "";
}

// Both kinds behind one face: ranks that met over sockets, or in this process.
class World {
 public:
  World(bool sockets, int nranks) : nranks_(nranks) {
    if (!sockets) {
      ranks_ = local_rendezvous(nranks);
      return;
    }
    ranks_.resize(static_cast<size_t>(nranks));
    const auto id = start_root(loop_, loopback_options());
    REQUIRE(id.ok());
    run_ranks(nranks, [&](int rank) {
      auto joined = join(loop_, *id, nranks, rank, loopback_options(), Deadline::after(Milliseconds(10'000)));
      if (!joined.ok()) return joined.status().message();
      ranks_[static_cast<size_t>(rank)] = std::move(*joined);
      return std::string();
    });
  }
  Rendezvous& operator[](int rank) { return *ranks_[static_cast<size_t>(rank)]; }
  void destroy(int rank) { ranks_[static_cast<size_t>(rank)].reset(); }
  void leave_all() {
    for (auto& rank : ranks_)
      if (rank) rank->leave();
  }
  [[nodiscard]] int nranks() const { return nranks_; }

 private:
  const int nranks_;
  EventLoop loop_;
  std::vector<std::unique_ptr<Rendezvous>> ranks_;
};

}  // namespace

TEST_CASE("Ranks meet, exchange parts of different sizes, and part in peace") {
  const bool sockets = GENERATE(true, false);
  const int nranks = GENERATE(1, 2, 5, 16);
  World world(sockets, nranks);
  std::vector<FailureListener> watchers(static_cast<size_t>(nranks));
  run_ranks(nranks, [&](int rank) {
    std::string outcome = exchange_rounds(world[rank], nranks, rank, 5);
    world[rank].watch({watchers[static_cast<size_t>(rank)].callback()});
    if (outcome.empty()) outcome = exchange_rounds(world[rank], nranks, rank, 2);  // watched or not
    world[rank].leave();
    world[rank].leave();
    return outcome;
  });
  for (int rank = 0; rank < nranks; ++rank) world.destroy(rank);
  for (FailureListener& watcher : watchers) CHECK(watcher.calls() == 0);
}

TEST_CASE("Over IPv6 alone") {
  EventLoop loop;
  const auto id = start_root(loop, loopback_options(AF_INET6));
  if (!id.ok()) {
    WARN("skipped: no IPv6 here: " << id.status().message());
    return;
  }
  run_ranks(3, [&](int rank) {
    auto joined = join(loop, *id, 3, rank, loopback_options(), Deadline::after(Milliseconds(5000)));
    if (!joined.ok()) return joined.status().message();
    std::string outcome = exchange_rounds(**joined, 3, rank, 2);
    (*joined)->leave();
    return outcome;
  });
}

TEST_CASE("Both families at once, and each rank with a loop of its own as in separate processes") {
  EventLoop loop;
  const auto id = start_root(loop, loopback_options(0));
  REQUIRE(id.ok());
  const auto packed = UniqueId::unpack(id->pack());
  REQUIRE(packed.ok());
  run_ranks(4, [&](int rank) {
    EventLoop own;
    auto joined = join(own, *packed, 4, rank, loopback_options(0), Deadline::after(Milliseconds(5000)));
    if (!joined.ok()) return joined.status().message();
    std::string outcome = exchange_rounds(**joined, 4, rank, 3);
    (*joined)->watch({[](const Status&) {}});
    (*joined)->leave();
    joined->reset();
    return outcome;
  });
}

TEST_CASE("case_12_limit: the error names the missing rank, on all, at the limit") {
  const bool sockets = GENERATE(true, false);
  World world(sockets, 4);
  const Time start = Clock::now();
  run_ranks(3, [&](int rank) {
    const auto table = world[rank].exchange("addresses", {}, Deadline::after(Milliseconds(1000)));
    if (table.ok()) return std::string("it succeeded");
    return mismatch(table.status(), rondeTimedOut, {"addresses", "waited", "for rank 3"});
  });
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  CHECK(seconds >= 0.99);
  CHECK(seconds < 3.0);
  CHECK(mismatch(world[3].exchange("addresses", {}, Deadline::after(Milliseconds(1000))).status(), rondeTimedOut,
                 {"for rank 3"}) == "");
}

TEST_CASE("case_12_limit: the same when the rank has not even joined") {
  EventLoop loop;
  const auto id = start_root(loop, loopback_options());
  REQUIRE(id.ok());
  run_ranks(3, [&](int rank) {
    auto joined = join(loop, *id, 4, rank, loopback_options(), Deadline::after(Milliseconds(3000)));
    if (!joined.ok()) return joined.status().message();
    const auto table = (*joined)->exchange("addresses", {}, Deadline::after(Milliseconds(1000)));
    return mismatch(table.status(), rondeTimedOut, {"for rank 3"});
  });
}

TEST_CASE("A rank that ends without goodbye is a failure on all others, once") {
  const bool sockets = GENERATE(true, false);
  const bool in_exchange = GENERATE(true, false);
  World world(sockets, 4);
  std::vector<FailureListener> watchers(4);
  run_ranks(4, [&](int rank) { return exchange_rounds(world[rank], 4, rank, 1); });
  run_ranks(4, [&](int rank) {
    if (rank == 2) {
      std::this_thread::sleep_for(Milliseconds(50));
      world.destroy(2);
      return std::string();
    }
    if (in_exchange) {
      const auto table = world[rank].exchange("more", {}, Deadline::after(Milliseconds(5000)));
      if (const std::string wrong = mismatch(table.status(), rondePeerLost, {"rank 2", "goodbye"}); !wrong.empty())
        return wrong;
    }
    FailureListener& watcher = watchers[static_cast<size_t>(rank)];
    world[rank].watch({watcher.callback()});
    return mismatch(watcher.wait(Milliseconds(2000)), rondePeerLost, {"rank 2", "ended without saying goodbye"});
  });
  world.leave_all();
  for (const int rank : {0, 1, 3}) CHECK(watchers[static_cast<size_t>(rank)].calls() == 1);
  CHECK(watchers[2].calls() == 0);
}

TEST_CASE("A report from another thread ends the own exchange and reaches the others") {
  const bool sockets = GENERATE(true, false);
  World world(sockets, 3);
  std::vector<FailureListener> watchers(3);
  for (int rank = 0; rank < 3; ++rank) world[rank].watch({watchers[static_cast<size_t>(rank)].callback()});
  std::thread reporter([&] {
    std::this_thread::sleep_for(Milliseconds(100));
    world[0].report({rondeAborted, "aborted by the user"});
    world[0].report({rondeSystemError, "too late"});
  });
  const Time start = Clock::now();
  const auto table = world[0].exchange("parts", {}, Deadline::after(Milliseconds(5000)));
  CHECK(mismatch(table.status(), rondeAborted, {"aborted by the user"}) == "");
  CHECK(Clock::now() - start < Milliseconds(1000));
  reporter.join();
  for (const int rank : {1, 2})
    CHECK(mismatch(watchers[static_cast<size_t>(rank)].wait(Milliseconds(2000)), rondeAborted,
                   {"rank 0", "aborted by the user"}) == "");
  CHECK(watchers[0].calls() == 0);
  world.leave_all();
}

TEST_CASE("A callback may leave and destroy its own rank") {
  const bool sockets = GENERATE(true, false);
  World world(sockets, 2);
  std::atomic<bool> told = false;
  world[0].watch({[&](const Status&) {
    world[0].leave();
    told = true;
  }});
  world.destroy(1);
  const Deadline limit = Deadline::after(Milliseconds(2000));
  while (!told && !limit.passed()) std::this_thread::sleep_for(Milliseconds(1));
  CHECK(told);
}

TEST_CASE("leave() and failures from many threads at once") {
  const bool sockets = GENERATE(true, false);
  for (int round = 0; round < 10; ++round) {
    World world(sockets, 3);
    std::atomic<bool> left = false;
    std::atomic<int> late_calls = 0;
    for (int rank = 0; rank < 3; ++rank)
      world[rank].watch({[&, rank](const Status&) {
        if (rank == 0 && left) ++late_calls;
      }});
    std::thread leaver([&] {
      world[0].leave();
      left = true;
    });
    std::thread reporter([&] { world[1].report({rondeSystemError, "x"}); });
    std::thread killer([&] { world.destroy(2); });
    leaver.join();
    reporter.join();
    killer.join();
    std::this_thread::sleep_for(Milliseconds(2));
    CHECK(late_calls == 0);
    world.leave_all();
  }
}

TEST_CASE("case_09: an id is good for one communicator, a rank and a size for one claim") {
  EventLoop loop;
  const auto id = start_root(loop, loopback_options());
  REQUIRE(id.ok());
  const auto join_one = [&](int nranks, int rank) {
    return join(loop, *id, nranks, rank, loopback_options(), Deadline::after(Milliseconds(4000)));
  };
  SECTION("while the first lives, and after it") {
    auto first = join_one(1, 0);
    REQUIRE(first.ok());
    const Time start = Clock::now();
    CHECK(mismatch(join_one(1, 0).status(), rondeInvalidUsage, {"rank 0 cannot join", "used already"}) == "");
    CHECK((*first)->exchange("still works", {}, Deadline::after(Milliseconds(1000))).ok());
    (*first)->leave();
    first->reset();
    const auto later = join_one(1, 0);
    REQUIRE_FALSE(later.ok());
    CHECK_THAT(later.status().message(), Catch::Contains("used already"));
    CHECK(Clock::now() - start < Milliseconds(4500));
  }
  SECTION("a rank twice") {
    auto first = join_one(3, 1);
    REQUIRE(first.ok());
    CHECK(mismatch(join_one(3, 1).status(), rondeInvalidUsage, {"rank 1 was claimed twice"}) == "");
    CHECK(mismatch((*first)->exchange("parts", {}, Deadline::after(Milliseconds(2000))).status(), rondeInvalidUsage,
                   {"rank 1 was claimed twice"}) == "");
    CHECK(mismatch(join_one(3, 0).status(), rondeInvalidUsage, {"rank 1 was claimed twice"}) == "");
  }
  SECTION("different sizes") {
    auto first = join_one(3, 1);
    REQUIRE(first.ok());
    CHECK(mismatch(join_one(2, 0).status(), rondeInvalidUsage, {"one of 2", "one of 3"}) == "");
    CHECK(mismatch((*first)->exchange("parts", {}, Deadline::after(Milliseconds(2000))).status(), rondeInvalidUsage,
                   {"one of 2", "one of 3"}) == "");
  }
}

TEST_CASE("A taken port is an error that names it") {
  const auto taken = listen_tcp(*SocketAddress::parse("127.0.0.1", 0), 0);
  REQUIRE(taken.ok());
  EventLoop loop;
  RendezvousOptions options = loopback_options();
  options.port = taken->port;
  CHECK(mismatch(start_root(loop, options).status(), rondeSystemError, {std::to_string(taken->port)}) == "");
}

TEST_CASE("A root for a known id, joined before it listens") {
  UniqueId id;
  {
    const auto port = listen_tcp(*SocketAddress::parse("127.0.0.1", 0), 0);
    REQUIRE(port.ok());
    id.port = port->port;
  }
  id.job = 77;
  id.retry_refused = true;
  id.addresses = {*SocketAddress::parse("127.0.0.1", 0)};
  EventLoop loop;
  std::thread late([&] {
    std::this_thread::sleep_for(Milliseconds(250));
    (void)start_root_for(loop, id, loopback_options()).ok();
  });
  const auto joined = join(loop, id, 1, 0, loopback_options(), Deadline::after(Milliseconds(4000)));
  late.join();
  CHECK(joined.ok());
}

TEST_CASE("The meeting point's end: in good order no failure, else a loss") {
  const bool in_good_order = GENERATE(true, false);
  int ready[2];
  int done[2];
  REQUIRE(pipe(ready) == 0);
  REQUIRE(pipe(done) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {  // holds the root only
    auto loop = std::make_unique<EventLoop>();
    const auto id = start_root(*loop, loopback_options());
    if (!id.ok()) _exit(1);
    const rondeUniqueId packed = id->pack();
    char byte = 0;
    if (write(ready[1], &packed, sizeof packed) != sizeof packed || read(done[0], &byte, 1) != 1) _exit(2);
    if (in_good_order) loop.reset();
    _exit(0);
  }
  rondeUniqueId packed{};
  REQUIRE(read(ready[0], &packed, sizeof packed) == sizeof packed);
  const auto id = UniqueId::unpack(packed);
  REQUIRE(id.ok());
  EventLoop loop;
  FailureListener watcher;
  auto member = join(loop, *id, 1, 0, loopback_options(), Deadline::after(Milliseconds(4000)));
  REQUIRE(member.ok());
  (*member)->watch({watcher.callback()});
  REQUIRE(write(done[1], "x", 1) == 1);
  int state = 0;
  REQUIRE(waitpid(child, &state, 0) == child);
  if (in_good_order) {
    CHECK_FALSE(watcher.wait(Milliseconds(300)));
  } else {
    CHECK(mismatch(watcher.wait(Milliseconds(2000)), rondePeerLost,
                   {"the process that holds the meeting point (127.0.0.1"}) == "");
  }
  (*member)->leave();
  for (const int fd : {ready[0], ready[1], done[0], done[1]}) close(fd);
}

TEST_CASE("case_22_interrupted: a 1 ms timer without SA_RESTART disturbs nothing, and its handler stays") {
  static std::atomic<int> ticks;
  ticks = 0;
  struct sigaction action {};
  action.sa_handler = [](int) { ticks.fetch_add(1, std::memory_order_relaxed); };
  struct sigaction before {};
  REQUIRE(sigaction(SIGALRM, &action, &before) == 0);
  const itimerval each_ms{{0, 1000}, {0, 1000}};
  REQUIRE(setitimer(ITIMER_REAL, &each_ms, nullptr) == 0);
  {
    World world(true, 4);
    run_ranks(4, [&](int rank) {
      std::string outcome = exchange_rounds(world[rank], 4, rank, 30);
      world[rank].watch({[](const Status&) {}});
      if (outcome.empty()) std::this_thread::sleep_for(Milliseconds(20));
      world[rank].leave();
      return outcome;
    });
  }
  const itimerval off{};
  setitimer(ITIMER_REAL, &off, nullptr);
  struct sigaction after {};
  REQUIRE(sigaction(SIGALRM, &before, &after) == 0);
  CHECK(after.sa_handler == action.sa_handler);
  CHECK(ticks > 0);
}

TEST_CASE("case_08_cycles: a rendezvous leaves no descriptor or thread behind") {
  const auto open_files = [] {
    int count = 0;
    for (int fd = 0; fd < 1000; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    return count;
  };
  EventLoop loop;
  int after_second = 0;
  for (int cycle = 0; cycle < 30; ++cycle) {
    const auto id = start_root(loop, loopback_options());
    REQUIRE(id.ok());
    run_ranks(2, [&](int rank) {
      auto joined = join(loop, *id, 2, rank, loopback_options(), Deadline::after(Milliseconds(4000)));
      if (!joined.ok()) return joined.status().message();
      std::string outcome = exchange_rounds(**joined, 2, rank, 1);
      (*joined)->watch({[](const Status&) {}});
      (*joined)->leave();
      return outcome;
    });
    if (cycle == 1) {
      std::this_thread::sleep_for(Milliseconds(100));
      after_second = open_files();
    }
  }
  // The loop closes what belonged to roots a moment later.
  const Deadline limit = Deadline::after(Milliseconds(2000));
  while (open_files() != after_second && !limit.passed()) std::this_thread::sleep_for(Milliseconds(5));
  CHECK(open_files() == after_second);
}

}  // namespace ronde
