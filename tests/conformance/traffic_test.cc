// Of the suite: ranks in threads of their own that sleep on their doorbells.
#include <algorithm>
#include <catch2/catch.hpp>

#include "base/wait_loop.h"
#include "conformance/transport_suite.h"
#include "support/world.h"

namespace ronde::testing {
namespace {

constexpr uint32_t kSlices = 200;

size_t bytes_of(uint32_t slice, size_t most) {
  if (slice % 16 == 0) return most;
  return slice % 16 == 1 ? 0 : slice * 97 % 3000;
}

// Sends slices to one rank and receives as many from another one.
class Traffic final : public Task {
 public:
  Traffic(SendPort& out, ReceivePort& in, size_t slice_bytes) : out_(out), in_(in), slice_bytes_(slice_bytes) {}

  Progress advance() override {
    out_.advance();
    bool moved = false;
    while (send()) moved = true;
    while (receive()) moved = true;
    if (failed) return Progress::done;
    if (sent_ == kSlices && received_ == kSlices && out_.idle()) return Progress::done;
    return moved ? Progress::moved : Progress::blocked;
  }
  [[nodiscard]] uint32_t waits_for() const override { return kWaitsForAny; }
  void check_patience(Time, Time) override {}

  bool failed = false;

 private:
  [[nodiscard]] SliceHead head(uint32_t slice) const {
    return {1, 1, slice, static_cast<uint32_t>(bytes_of(slice, slice_bytes_))};
  }

  bool send() {
    if (sent_ == kSlices) return false;
    std::byte* memory = out_.acquire();
    if (memory == nullptr) return false;
    std::fill_n(memory, head(sent_).bytes, static_cast<std::byte>(sent_));
    out_.commit(head(sent_++));
    return true;
  }

  bool receive() {
    if (received_ == kSlices || failed) return false;
    const SliceHead expected = head(received_);
    const std::byte* found = nullptr;
    const Arrival arrival = in_.receive(expected, &found);
    if (arrival == Arrival::none) return false;
    const auto fill = static_cast<std::byte>(received_);
    failed = arrival != Arrival::here ||
             !std::all_of(found, found + expected.bytes, [fill](std::byte byte) { return byte == fill; });
    if (failed) return false;
    in_.release(expected);
    ++received_;
    return true;
  }

  SendPort& out_;
  ReceivePort& in_;
  size_t slice_bytes_;
  uint32_t sent_ = 0;
  uint32_t received_ = 0;
};

}  // namespace

TEST_CASE("a ring of sleepers passes everything on and loses no wake-up") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    for (const int nranks : {2, 3}) {
      INFO(subject.name << ", " << nranks << " ranks");
      const Watchdog watchdog("a ring over " + subject.name, Milliseconds(100'000));
      LinkWorld world(subject, nranks);
      REQUIRE(world.reach_all().ok());
      REQUIRE(world.connect_all().ok());
      const uint64_t lost_before = lost_wakeups();
      const auto statuses = in_threads(nranks, [&](int rank) -> Status {
        SendPort& out = world.sender(LinkKind::ring, rank, (rank + 1) % nranks);
        ReceivePort& in = world.receiver(LinkKind::ring, (rank + nranks - 1) % nranks, rank);
        Traffic task(out, in, out.slice_bytes());
        run_to_end({&task, world[rank].own.doorbell.get(), WaitPolicy{0, 0}, false});
        if (task.failed) return {rondeInternalError, "a slice is not the one that was sent"};
        return {};
      });
      const Status failure = first_failure(statuses);
      INFO(failure.message());
      CHECK(failure.ok());
      CHECK(lost_wakeups() == lost_before);
    }
  }
}

}  // namespace ronde::testing
