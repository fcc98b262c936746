// Communicators that further ranks join.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "cases/support/children.h"
#include "cases/support/ranks.h"

namespace ronde::cases {
namespace {

// Of a world the first ranks are a communicator; the others join it.
class Growth {
 public:
  Growth(Rank& rank, int old_ranks) : rank_(rank), is_old_(rank.number() < old_ranks) {
    expect_success(rondeCommSplit(rank.comm(), is_old_ ? 0 : RONDE_SPLIT_NOCOLOR, 0, &before_, nullptr), "the split");
  }

  [[nodiscard]] bool is_old() const { return is_old_; }
  [[nodiscard]] rondeComm_t before() const { return before_; }
  void destroy_before() { before_.destroy(); }

  // From the old rank `maker` to all.
  void hand_out_id(int maker) {
    if (rank_.number() == maker) expect_success(rondeCommGetUniqueId(before_, &id_), "rondeCommGetUniqueId");
    expect_success(rondeBcast(id_.internal, sizeof id_.internal, rondeUint8, maker, rank_.comm(), nullptr), "the id");
  }
  [[nodiscard]] const rondeUniqueId& id() const { return id_; }

  rondeResult_t grow(OwnedComm& made, int nranks, const rondeUniqueId* id, int number, rondeConfig_t* config) {
    return rondeCommGrow(before_, nranks, id, number, &made, config);
  }
  // As it should be called; the maker of the id gives NULL.
  rondeResult_t grow(OwnedComm& made, rondeConfig_t* config = nullptr) {
    return grow(made, rank_.nranks(), is_old_ ? nullptr : &id_, is_old_ ? -1 : rank_.number(), config);
  }

 private:
  Rank& rank_;
  bool is_old_;
  OwnedComm before_;
  rondeUniqueId id_{};
};

rondeConfig_t config_with_limit(int seconds) {
  rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
  config.initTimeoutSeconds = seconds;
  return config;
}

// A count that all processes of a world see; made before they are forked.
class SharedCount {
 public:
  SharedCount() {
    void* page = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::runtime_error("mmap failed");
    count_ = new (page) std::atomic<int>(0);
  }
  ~SharedCount() { munmap(count_, sizeof(std::atomic<int>)); }
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;
  void add_one() { ++*count_; }
  void wait_until(int count) const {
    while (*count_ < count) std::this_thread::yield();
  }

 private:
  std::atomic<int>* count_;
};

void expect_error(rondeResult_t result, rondeResult_t wanted, const std::string& part) {
  const std::string text = rondeGetLastError(nullptr);
  expect(result == wanted, std::string("another error: ") + rondeGetErrorString(result) + ": " + text);
  expect(text.find(part) != std::string::npos, "no '" + part + "' in: " + text);
}

}  // namespace

TEST_CASE("ranks join a communicator, which keeps its own and outlives the one before") {
  for (const Way& way : pairwise_ways()) {
    CHECK(run_ranks({way, 6}, [](Rank& rank) {
            Growth growth(rank, 4);
            growth.hand_out_id(2);
            OwnedComm grown;
            expect_success(growth.grow(grown), "rondeCommGrow");
            expect_place(grown, rank.number(), 6, "grown");
            if (growth.is_old()) {
              expect_sums(growth.before(), "the one before");
              growth.destroy_before();
            }
            expect_sums(grown, "grown");
          }) == "");
  }
}

TEST_CASE("ranks that join may come first, in the background, in groups; those before may all give the id") {
  CHECK(run_ranks({{"threads", true}, 5}, [](Rank& rank) {
          Growth growth(rank, 3);
          growth.hand_out_id(0);
          rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
          config.blocking = 0;
          OwnedComm grown;
          const int number = growth.is_old() ? -1 : rank.number();
          if (growth.is_old()) {
            expect_sums(growth.before(), "before");
            expect_success(rondeGroupStart(), "rondeGroupStart");
          }
          const rondeResult_t result = growth.grow(grown, 5, &growth.id(), number, growth.is_old() ? nullptr : &config);
          expect(result == (growth.is_old() ? rondeSuccess : rondeInProgress), rondeGetLastError(nullptr));
          if (growth.is_old()) expect_success(rondeGroupEnd(), "rondeGroupEnd");
          expect(outcome_of_start(grown) == rondeSuccess, "the start");
          expect_sums(grown, "grown");
        }) == "");
}

TEST_CASE("a rank that never joins is named when the time is over, and the one before goes on") {
  CHECK(run_ranks({{"processes"}, 4}, [](Rank& rank) {
          Growth growth(rank, 2);
          growth.hand_out_id(0);
          rondeConfig_t config = config_with_limit(2);
          OwnedComm grown;
          if (rank.number() != 3) expect_error(growth.grow(grown, &config), rondeTimedOut, "rank 3");
          if (growth.is_old()) expect_sums(growth.before(), "the one before");
          expect_success(rondeBarrier(rank.comm(), nullptr), "the world");
        }) == "");
}

TEST_CASE("what does not fit together is an error of all, also of those that join, at once") {
  struct Wrong {
    std::string name;
    int nranks_of_1;  // what rank 1 of the old ones wants
    int number_of_3;  // what rank 3, which joins, takes
    std::string text;
  };
  const Wrong all[] = {{"number of ranks", 5, 3, "rank 1 wants 5 ranks, but rank 0 wants 4"},
                       {"a number that is taken", 4, 1, "rank 1 was claimed twice"}};
  for (const Wrong& wrong : all) {
    CHECK(run_ranks({{wrong.name}, 4}, [&wrong](Rank& rank) {
            Growth growth(rank, 2);
            growth.hand_out_id(0);
            const auto begin = std::chrono::steady_clock::now();
            rondeConfig_t config = config_with_limit(30);
            OwnedComm grown;
            const int nranks = rank.number() == 1 ? wrong.nranks_of_1 : 4;
            const int number = rank.number() == 3 ? wrong.number_of_3 : rank.number();
            const auto result = growth.is_old() ? growth.grow(grown, nranks, nullptr, -1, &config)
                                                : growth.grow(grown, nranks, &growth.id(), number, &config);
            expect_error(result, rondeInvalidUsage, wrong.text);
            expect(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5), "it took longer than 5 s");
            // What follows is right.
            growth.hand_out_id(1);
            expect_success(growth.grow(grown), "rondeCommGrow");
            expect_sums(grown, "grown");
          }) == "");
  }
}

TEST_CASE("no id, or two, are an error of all ranks of the communicator") {
  CHECK(run_ranks({{"threads", true}, 2}, [](Rank& rank) {
          OwnedComm grown;
          expect_error(rondeCommGrow(rank.comm(), 3, nullptr, -1, &grown, nullptr), rondeInvalidUsage,
                       "no rank has an id");
          rondeUniqueId id;
          expect_success(rondeCommGetUniqueId(rank.comm(), &id), "rondeCommGetUniqueId");
          expect_error(rondeCommGrow(rank.comm(), 3, &id, -1, &grown, nullptr), rondeInvalidUsage, "different ids");
          expect_sums(rank.comm(), "the one before");
        }) == "");
}

TEST_CASE("a rank that dies while ranks join is an error on all") {
  for (const int dying : {0, 1, 3}) {  // where the meeting point is; another one; one that joins
    SharedCount ready;
    CHECK(run_ranks({{"processes"}, 4}, [dying, &ready](Rank& rank) {
            Growth growth(rank, 2);
            growth.hand_out_id(0);
            ready.add_one();
            if (rank.number() == dying) {
              ready.wait_until(4);
              _exit(0);
            }
            rondeConfig_t config = config_with_limit(3);  // of a rank that has not joined nobody knows
            const auto begin = std::chrono::steady_clock::now();
            OwnedComm grown;
            const rondeResult_t result = growth.grow(grown, &config);
            expect(result != rondeSuccess && result != rondeInProgress, "a communicator with a dead rank");
            expect(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10), "it took longer than 10 s");
          }) == "");
  }
}

}  // namespace ronde::cases
