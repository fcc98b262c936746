#include "base/event_loop.h"

#include <sys/eventfd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace ronde {
namespace {

class Counter final : public EventSource {
 public:
  Counter() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Counter() override {
    if (on_destroy) on_destroy();
  }
  [[nodiscard]] int descriptor() const override { return fd_.get(); }
  bool advance(Time now) override {
    eventfd_t value = 0;
    if (eventfd_read(fd_.get(), &value) == 0) events += static_cast<int>(value);
    if (next_.passed(now)) {
      next_ = Deadline::never();
      timer_passed = true;
    }
    calls.fetch_add(1);
    if (slow) std::this_thread::sleep_for(Milliseconds(20));
    if (on_advance) on_advance();
    return calls.load() < end_after;
  }
  [[nodiscard]] Deadline next_deadline() const override { return next_; }

  void signal() const { eventfd_write(fd_.get(), 1); }

  std::atomic<int> calls{0};
  std::atomic<int> events{0};
  std::atomic<bool> timer_passed{false};
  bool slow = false;
  int end_after = 1'000'000;
  Deadline next_ = Deadline::never();
  std::function<void()> on_advance;
  std::function<void()> on_destroy;

 private:
  Fd fd_;
};

bool eventually(const std::function<bool()>& condition) {
  const Deadline limit = Deadline::after(Milliseconds(3000));
  while (!condition()) {
    if (limit.passed()) return false;
    std::this_thread::sleep_for(Milliseconds(1));
  }
  return true;
}

}  // namespace

TEST_CASE("A loop without sources has no thread and ends") { const EventLoop loop; }

TEST_CASE("A source is served when readable, poked, or its deadline has passed") {
  EventLoop loop;
  auto source = std::make_shared<Counter>();
  source->next_ = Deadline::after(Milliseconds(30));
  REQUIRE(loop.add(source).ok());
  CHECK(eventually([&] { return source->timer_passed.load(); }));
  source->signal();
  CHECK(eventually([&] { return source->events == 1; }));
  const int before = source->calls;
  loop.poke(*source);
  CHECK(eventually([&] { return source->calls > before; }));
  std::this_thread::sleep_for(Milliseconds(50));
  CHECK(source->calls < before + 5);  // it does not spin
}

TEST_CASE("A source that says so has ended and is let go of") {
  EventLoop loop;
  std::atomic<bool> destroyed = false;
  auto source = std::make_shared<Counter>();
  source->end_after = 1;
  source->on_destroy = [&] { destroyed = true; };
  REQUIRE(loop.add(std::move(source)).ok());
  CHECK(eventually([&] { return destroyed.load(); }));
}

TEST_CASE("After remove a source is not served") {
  EventLoop loop;
  std::vector<std::shared_ptr<Counter>> sources;
  for (int round = 0; round < 30; ++round) {
    auto source = std::make_shared<Counter>();
    source->slow = round % 2 == 0;
    REQUIRE(loop.add(source).ok());
    source->signal();
    if (round % 3 == 0) loop.poke(*source);
    if (round % 4 == 0) std::this_thread::sleep_for(Milliseconds(2));
    loop.remove(*source);
    const int calls = source->calls;
    loop.poke(*source);  // unknown by now: nothing
    source->signal();
    std::this_thread::sleep_for(Milliseconds(1));
    CHECK(source->calls == calls);
    CHECK(source.use_count() == 1);
  }
}

TEST_CASE("Sources may remove themselves, add others, and be destroyed with the loop") {
  std::atomic<int> destroyed = 0;
  {
    EventLoop loop;
    auto first = std::make_shared<Counter>();
    auto second = std::make_shared<Counter>();
    first->on_destroy = [&] { ++destroyed; };
    second->on_destroy = [&] { ++destroyed; };
    std::atomic<bool> removed = false;
    std::atomic<bool> added = false;
    Counter* raw = first.get();
    first->on_advance = [&, raw, second]() {
      if (removed) return;
      added = loop.add(second).ok();
      loop.remove(*raw);
      removed = true;
    };
    REQUIRE(loop.add(first).ok());
    REQUIRE(eventually([&] { return removed.load() && second->calls > 0; }));
    CHECK(added);
    first->on_advance = nullptr;
  }
  CHECK(destroyed == 2);
}

TEST_CASE("Several threads add, poke and remove at once") {
  EventLoop loop;
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        auto source = std::make_shared<Counter>();
        if (!loop.add(source).ok()) ++failures;
        loop.poke(*source);
        source->signal();
        if (i % 2 == 0) std::this_thread::yield();
        loop.remove(*source);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
}

TEST_CASE("case_22_signals: the loop's thread takes none") {
  EventLoop loop;
  auto source = std::make_shared<Counter>();
  std::atomic<bool> blocked = false;
  source->on_advance = [&] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked = sigismember(&mask, SIGALRM) == 1 && sigismember(&mask, SIGTERM) == 1;
  };
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  REQUIRE(loop.add(source).ok());
  CHECK(eventually([&] { return source->calls > 0 && blocked; }));
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  CHECK(sigismember(&after, SIGTERM) == sigismember(&before, SIGTERM));
  loop.remove(*source);
}

}  // namespace ronde
