#include "transports/shm/handover.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/unix_socket.h"

namespace ronde {
namespace {

constexpr Milliseconds kLimit{60'000};  // never reached
constexpr rlim_t kMostMore = 16;

// So many files more than are open now; the number of an open file is below the limit.
class FewMoreFiles {
 public:
  explicit FewMoreFiles(rlim_t more) {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit now = before_;
    const Fd lowest_free(::eventfd(0, EFD_CLOEXEC));
    now.rlim_cur = static_cast<rlim_t>(lowest_free.get()) + more;
    setrlimit(RLIMIT_NOFILE, &now);
  }
  ~FewMoreFiles() { setrlimit(RLIMIT_NOFILE, &before_); }
  FewMoreFiles(const FewMoreFiles&) = delete;
  FewMoreFiles& operator=(const FewMoreFiles&) = delete;

 private:
  rlimit before_{};
};

struct Side {
  explicit Side(int number)
      : name("ronde-test-handover-" + std::to_string(getpid()) + "-" + std::to_string(number)),
        listener(std::move(*listen_abstract(name, 4))),
        memory(::eventfd(0, EFD_CLOEXEC)),
        event(::eventfd(0, EFD_CLOEXEC)),
        offer{.job = 7, .rank = number, .memfd = memory.get(), .event_fd = event.get()} {}

  Result<std::vector<Received>> run(const Side& other, OnceFlag& stop) const {
    auto received = hand_over(offer, listener.get(), {{other.offer.rank, other.name}}, &stop, Deadline::after(kLimit));
    if (!received.ok()) stop.set();  // as start-up does: the others hear of it
    return received;
  }

  std::string name;
  Fd listener;
  Fd memory;
  Fd event;
  Offer offer;
};

}  // namespace

TEST_CASE("shm: a candidate gets the black box that it is to have") {
  Side with_box(2);
  const Side other(3);
  with_box.offer.black_box = with_box.event.get();
  OnceFlag stop;
  std::optional<Result<std::vector<Received>>> got;
  std::thread thread([&] { got.emplace(other.run(with_box, stop)); });
  const Candidate neighbour{other.offer.rank, other.name, true};
  const auto received = hand_over(with_box.offer, with_box.listener.get(), {neighbour}, &stop, Deadline::after(kLimit));
  thread.join();
  REQUIRE((received.ok() && received->size() == 1 && got->ok() && (*got)->size() == 1));
  CHECK((*got)->front().black_box.valid());
  CHECK_FALSE(received->front().black_box.valid());
}

TEST_CASE("shm: a hand-over ends by its time, and without the rank that is held up") {
  const Side side(4);
  const Side held_up(5);  // listens, but does not take in who connects
  const Time begun = Clock::now();
  const Deadline end = Deadline::at(begun + Milliseconds(200));
  const auto received = hand_over(side.offer, side.listener.get(), {{held_up.offer.rank, held_up.name}}, nullptr, end);
  REQUIRE(received.ok());
  CHECK(received->empty());
  CHECK(end.passed());
  CHECK(Clock::now() < begun + Milliseconds(5'000));
}

TEST_CASE("shm: too few open files for the hand-over is an error that names the limit, at each point") {
  const Side sides[] = {Side(0), Side(1)};
  bool succeeded = false;
  for (rlim_t more = 0; more <= kMostMore; ++more) {
    CAPTURE(more);
    OnceFlag stop;
    const Status not_run(rondeInternalError, "has not run");
    Result<std::vector<Received>> results[] = {not_run, not_run};
    {
      const FewMoreFiles limit(more);
      std::thread other([&] { results[1] = sides[1].run(sides[0], stop); });
      results[0] = sides[0].run(sides[1], stop);
      other.join();
    }
    succeeded = results[0].ok() && results[1].ok();
    CHECK(succeeded == (results[0].ok() && results[0]->size() == 1 && results[1].ok() && results[1]->size() == 1));
    CHECK((more > 0 || !succeeded));
    for (const auto& result : results) {
      if (!result.ok()) CHECK(result.status().message().find("limit of open files is") != std::string::npos);
    }
  }
  CHECK(succeeded);
}

}  // namespace ronde
