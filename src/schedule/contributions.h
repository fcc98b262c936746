// Whose inputs a value is the sum of: for each position 0, 1, or more than 1 times. What the verifier computes with in
// place of numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ronde::schedule {

class Contributions {
 public:
  static constexpr int kMaxPositions = 128;

  [[nodiscard]] static Contributions of(int position) {
    Contributions own;
    own.once_[word(position)] = bit(position);
    return own;
  }

  // Each of n once.
  [[nodiscard]] static Contributions of_all(int n) {
    Contributions all;
    for (int position = 0; position < n; ++position) all.add(of(position));
    return all;
  }

  void add(const Contributions& other) {
    for (size_t i = 0; i < once_.size(); ++i) {
      more_[i] |= other.more_[i] | (once_[i] & other.once_[i]);
      once_[i] |= other.once_[i];
    }
  }

  [[nodiscard]] bool empty() const { return once_ == decltype(once_){}; }

  [[nodiscard]] int times(int position) const {
    if ((more_[word(position)] & bit(position)) != 0) return 2;
    return (once_[word(position)] & bit(position)) != 0 ? 1 : 0;
  }

  bool operator==(const Contributions&) const = default;

  // The first of n positions that is not in it as often as in `wanted`; n if there is none.
  [[nodiscard]] int first_difference(const Contributions& wanted, int n) const {
    int position = 0;
    while (position < n && times(position) == wanted.times(position)) ++position;
    return position;
  }

 private:
  [[nodiscard]] static size_t word(int position) { return static_cast<size_t>(position) / 64; }
  [[nodiscard]] static uint64_t bit(int position) { return uint64_t{1} << (position % 64); }

  std::array<uint64_t, kMaxPositions / 64> once_ = {};  // at least once
  std::array<uint64_t, kMaxPositions / 64> more_ = {};  // more than once
};

}  // namespace ronde::schedule
