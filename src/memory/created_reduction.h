// A reduction that a program has made, as a table of a communicator keeps it: knows neither handles nor communicators.
#pragma once

#include <cstdint>
#include <variant>

#include "memory/reduce.h"

namespace ronde {

// A value. Immutable, so that threads may share it.
class CreatedReduction {
 public:
  // scalar: an element of type, of any alignment; read before this returns.
  [[nodiscard]] static CreatedReduction pre_mul_sum(DataType type, const void* scalar);
  // function: not null.
  [[nodiscard]] static CreatedReduction user_defined(rondeReduceFunction_t function, void* user, bool commutative);

  // PreMulSum fits the type of its scalar. A user's function is told the type, so it fits all.
  [[nodiscard]] bool fits(DataType type) const;

  [[nodiscard]] bool is_user_defined() const { return std::holds_alternative<UserDefined>(kind_); }

  [[nodiscard]] bool is_commutative() const;

  // For an operation on a type that fits. float32_partials: not followed by a user-defined one.
  [[nodiscard]] Reduction of(DataType type, bool float32_partials) const;

 private:
  struct PreMulSum {
    DataType type;
    uint64_t scalar;
  };
  struct UserDefined {
    rondeReduceFunction_t function;
    void* user;
    bool commutative;
  };
  using Kind = std::variant<PreMulSum, UserDefined>;

  explicit CreatedReduction(const Kind& kind) : kind_(kind) {}

  Kind kind_;
};

}  // namespace ronde
