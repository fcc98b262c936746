#include "memory/created_reduction.h"

#include <cassert>

namespace ronde {

CreatedReduction CreatedReduction::pre_mul_sum(DataType type, const void* scalar) {
  return CreatedReduction(PreMulSum{type, read_element(type, scalar)});
}

CreatedReduction CreatedReduction::user_defined(rondeReduceFunction_t function, void* user, bool commutative) {
  assert(function != nullptr);
  return CreatedReduction(UserDefined{function, user, commutative});
}

bool CreatedReduction::fits(DataType type) const {
  const PreMulSum* sum = std::get_if<PreMulSum>(&kind_);
  return sum == nullptr || sum->type == type;
}

bool CreatedReduction::is_commutative() const {
  const UserDefined* own = std::get_if<UserDefined>(&kind_);
  return own == nullptr || own->commutative;
}

Reduction CreatedReduction::of(DataType type, bool float32_partials) const {
  assert(fits(type));
  if (const PreMulSum* sum = std::get_if<PreMulSum>(&kind_)) {
    return Reduction::pre_mul_sum(type, sum->scalar, float32_partials);
  }
  const UserDefined& own = std::get<UserDefined>(kind_);
  return Reduction::user_defined(type, own.function, own.user, own.commutative);
}

}  // namespace ronde
