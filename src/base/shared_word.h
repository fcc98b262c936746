// Words that one thread or process writes and others read, and every memory order that goes with them. Nothing else in
// the library names an order on shared words.
//
// The protocol has two parts. Data: the writer writes plain data, then publish(); a reader that observe()s the new
// value sees the data (release / acquire). Sleep: whoever has nothing to do announces that it will sleep, then looks
// once more (look_again); whoever publishes asks afterwards whether somebody sleeps. Both sides store one word and then
// load the other one's, so both pairs must be sequentially consistent: else each could miss the other and the wake-up
// is lost. No fences in either: GCC's thread sanitizer does not see them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ronde {

inline constexpr size_t kCacheLine = 64;

// A counter on a line of its own. Counters only grow, modulo 2^32, and are compared by signed difference.
struct alignas(kCacheLine) SharedCounter {
  std::atomic<uint32_t> value{0};
};
static_assert(std::atomic<uint32_t>::is_always_lock_free, "shared between processes");

// Who the owner of this word is sleeping for. On a line of its own: it is written only around sleeps.
struct alignas(kCacheLine) SleepWord {
  std::atomic<uint32_t> waits_for{0};
};
inline constexpr uint32_t kAwake = 0;
inline constexpr uint32_t kWaitsForAny = 0xffffffff;
[[nodiscard]] constexpr uint32_t waits_for_rank(int rank) { return static_cast<uint32_t>(rank) + 1; }

// True if counter value `a` is `b` or later.
[[nodiscard]] constexpr bool reached(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) >= 0; }

// Makes everything written before visible to who observes `value`. seq_cst, not release, for the sake of sleepers: the
// load in is_sleeping_for must not move before this store.
inline void publish(std::atomic<uint32_t>& word, uint32_t value) {
#ifdef RONDE_PLANTED_WEAK_PUBLISH  // a test builds with this and must see the thread sanitizer complain
  word.store(value, std::memory_order_relaxed);
#else
  word.store(value, std::memory_order_seq_cst);
#endif
}

// Pairs with publish: what was written before the observed value is visible.
[[nodiscard]] inline uint32_t observe(const std::atomic<uint32_t>& word) {
  // seq_cst costs nothing over acquire on x86-64 and AArch64 loads, and makes this usable as the second look before a
  // sleep, too.
  return word.load(std::memory_order_seq_cst);
}

// Before plain data that others may read changes: who reads any of the changes, and then asks held_until_now(), learns
// it.
inline void withdraw(std::atomic<uint32_t>& word, uint32_t value) {
  word.store(value, std::memory_order_seq_cst);
#ifndef __SANITIZE_THREAD__
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

// Was the word still `value` when everything that the calling thread has read so far was read? What somebody writes
// after another value of the word cannot have been among it then.
[[nodiscard]] inline bool held_until_now(const std::atomic<uint32_t>& word, uint32_t value) {
#ifndef __SANITIZE_THREAD__  // which does not know fences, and runs where loads keep their order anyway
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
  return word.load(std::memory_order_seq_cst) == value;
}

// A word that only the calling thread writes: no order needed.
[[nodiscard]] inline uint32_t own_value(const std::atomic<uint32_t>& word) {
  return word.load(std::memory_order_relaxed);
}

// Stores without waking or ordering anything: for values that a later publish makes visible.
inline void store_before_publish(std::atomic<uint32_t>& word, uint32_t value) {
  word.store(value, std::memory_order_relaxed);
}

// publish and observe for words on which nobody sleeps (logs, positions): release and acquire are enough.
template <typename T>
void publish_unwatched(std::atomic<T>& word, T value) {
  word.store(value, std::memory_order_release);
}
template <typename T>
[[nodiscard]] T observe_unwatched(const std::atomic<T>& word) {
  return word.load(std::memory_order_acquire);
}

// False if the word is not `expected`, which then becomes what it is.
template <typename T>
[[nodiscard]] bool replace_unwatched(std::atomic<T>& word, T& expected, T value) {
  return word.compare_exchange_strong(expected, value, std::memory_order_acq_rel, std::memory_order_acquire);
}

// "I am about to sleep." The look at the awaited word must come after this, in program order.
inline void announce_sleep(SleepWord& word, uint32_t waits_for) {
  word.waits_for.store(waits_for, std::memory_order_seq_cst);
}

// Relaxed: a ringer that still sees the old value only writes the eventfd once more than needed.
inline void withdraw_sleep(SleepWord& word) { word.waits_for.store(kAwake, std::memory_order_relaxed); }

// Asked after a publish: must the owner be woken for news from `rank`?
[[nodiscard]] inline bool is_sleeping_for(const SleepWord& word, int rank) {
  const uint32_t waits_for = word.waits_for.load(std::memory_order_seq_cst);
  return waits_for == kWaitsForAny || waits_for == waits_for_rank(rank);
}
[[nodiscard]] inline bool is_sleeping(const SleepWord& word) {
  return word.waits_for.load(std::memory_order_seq_cst) != kAwake;
}

// A list to which several threads add and from which one takes everything at once. The links are plain data of the
// nodes. put_first is a publish, for the sake of sleepers, too. Nodes that come back to a list do it no harm: nobody
// takes one alone.
template <typename Node>
void put_first(std::atomic<Node*>& list, Node& node, Node* Node::*next) {
  Node* first = list.load(std::memory_order_relaxed);
  do {
    node.*next = first;
  } while (!list.compare_exchange_weak(first, &node, std::memory_order_seq_cst, std::memory_order_relaxed));
}
// The last that was put comes first.
template <typename Node>
[[nodiscard]] Node* take_all(std::atomic<Node*>& list) {
  return list.exchange(nullptr, std::memory_order_seq_cst);
}
template <typename Node>
[[nodiscard]] bool is_empty(const std::atomic<Node*>& list) {
  return list.load(std::memory_order_seq_cst) == nullptr;
}

// The same protocol where the sleepers are counted: they enter and look again, who publishes asks whether anybody is
// in. A word that is published for them is written by raise and read by observe_raised.
struct alignas(kCacheLine) SleeperCount {
  std::atomic<uint32_t> count{0};
};
inline void enter_sleep(SleeperCount& sleepers) { sleepers.count.fetch_add(1, std::memory_order_seq_cst); }
inline void leave_sleep(SleeperCount& sleepers) { sleepers.count.fetch_sub(1, std::memory_order_relaxed); }
[[nodiscard]] inline bool anybody_sleeps(const SleeperCount& sleepers) {
  return sleepers.count.load(std::memory_order_seq_cst) != 0;
}
template <typename T>
void raise(std::atomic<T>& word, T value) {
  word.store(value, std::memory_order_seq_cst);
}
// The same if the word is `expected`; false: it is not.
template <typename T>
[[nodiscard]] bool raise_from(std::atomic<T>& word, T expected, T value) {
  return word.compare_exchange_strong(expected, value, std::memory_order_seq_cst, std::memory_order_seq_cst);
}
template <typename T>
[[nodiscard]] T observe_raised(const std::atomic<T>& word) {
  return word.load(std::memory_order_seq_cst);
}

// A count to which several threads add; returns the number of the added one. Everything but the count itself is
// ordered by what comes after it.
inline uint64_t count_one(std::atomic<uint64_t>& count) { return count.fetch_add(1, std::memory_order_seq_cst) + 1; }

// A flag that is set once, by any thread.
class OnceFlag {
 public:
  void set() { flag_.store(true, std::memory_order_seq_cst); }
  // As observe(): usable as the second look before a sleep.
  [[nodiscard]] bool is_set() const { return flag_.load(std::memory_order_seq_cst); }

 private:
  std::atomic<bool> flag_{false};
};

}  // namespace ronde
