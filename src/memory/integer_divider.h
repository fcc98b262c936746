// Division of unsigned 64-bit integers by one divisor many times: a multiplication instead of a division
// (Granlund and Montgomery, Division by Invariant Integers using Multiplication, figure 4.1).
#pragma once

#include <hwy/base.h>

#include <bit>
#include <cstdint>

namespace ronde {

class IntegerDivider {
 public:
  // divisor: 2 to 2^31 - 1.
  explicit IntegerDivider(uint32_t divisor) : shift_(std::bit_width(divisor - 1) - 1) {
    // floor(2^64 * (2^(shift+1) - divisor) / divisor) + 1, by two digits of 32 bits.
    const uint64_t start = (uint64_t{2} << shift_) - divisor;
    const uint64_t high = (start << 32) / divisor;
    const uint64_t low = (((start << 32) % divisor) << 32) / divisor;
    multiplier_ = (high << 32) + low + 1;
  }

  [[nodiscard]] uint64_t divide(uint64_t value) const {
    uint64_t product_high = 0;
    hwy::Mul128(multiplier_, value, &product_high);
    return (product_high + ((value - product_high) >> 1)) >> shift_;
  }

 private:
  uint64_t multiplier_ = 0;
  int shift_;
};

}  // namespace ronde
