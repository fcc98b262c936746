#include "memory/reduce.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "memory/float_formats.h"
#include "memory/reduce_pass.h"

namespace ronde {
namespace {

// One source whose elements reach every target unchanged.
bool is_plain_copy(const Reduction& reduction, std::span<const ReduceSource> sources,
                   std::span<const ReduceTarget> targets) {
  if (sources.size() != 1) return false;
  if (reduction.multiplies && sources[0].content == Content::input) return false;
  const bool divides = reduction.op == rondeAvg && !is_float(reduction.type) && reduction.nranks > 1;
  return std::all_of(targets.begin(), targets.end(), [&](const ReduceTarget& target) {
    if (divides && target.content == Content::final) return false;
    return reduction.type_of(target.content) == reduction.type_of(sources[0].content);
  });
}

void copy_elements(const Reduction& reduction, const ReduceSource& source, std::span<const ReduceTarget> targets,
                   size_t count) {
  const size_t bytes = count * element_bytes(reduction.type_of(source.content));
  for (const ReduceTarget& target : targets) {
    if (target.data != source.data) copy_bytes(target.data, source.data, bytes, target.streaming);
  }
}

void run_kernel(const ReducePass& pass) {
  switch (pass.reduction->type) {
    case rondeInt8: return reduce_int8(pass);
    case rondeUint8: return reduce_uint8(pass);
    case rondeInt32: return reduce_int32(pass);
    case rondeUint32: return reduce_uint32(pass);
    case rondeInt64: return reduce_int64(pass);
    case rondeUint64: return reduce_uint64(pass);
    case rondeFloat16: return reduce_float16(pass);
    case rondeFloat32: return reduce_float32(pass);
    case rondeFloat64: return reduce_float64(pass);
    case rondeBfloat16: return reduce_bfloat16(pass);
    case rondeFloat8e4m3: return reduce_float8e4m3(pass);
    case rondeFloat8e5m2: return reduce_float8e5m2(pass);
    case rondeNumTypes:
    case rondeMinDataType:
    case rondeMaxDataType: break;
  }
  assert(!"not an element type");
}

DataType partial_type(DataType type, bool float32_partials) {
  return float32_partials && is_narrow_float(type) ? rondeFloat32 : type;
}

uint64_t float32_bits(float value) { return std::bit_cast<uint32_t>(value); }

// An element of type as Reduction::factor.
uint64_t factor_of(DataType type, uint64_t element) {
  switch (type) {
    case rondeFloat16: return float32_bits(float16_to_float32(static_cast<uint16_t>(element)));
    case rondeBfloat16: return float32_bits(bfloat16_to_float32(static_cast<uint16_t>(element)));
    case rondeFloat8e4m3: return float32_bits(float8e4m3_to_float32(static_cast<uint8_t>(element)));
    case rondeFloat8e5m2: return float32_bits(float8e5m2_to_float32(static_cast<uint8_t>(element)));
    default: return element;
  }
}

}  // namespace

Reduction Reduction::of(DataType type, RedOp op, int nranks, bool float32_partials) {
  assert(op < rondeBitAnd || !is_float(type));
  Reduction reduction{type, partial_type(type, float32_partials), op, nranks};
  if (op == rondeAvg && is_float(type)) {
    reduction.multiplies = true;
    reduction.factor =
        type == rondeFloat64 ? std::bit_cast<uint64_t>(1.0 / nranks) : float32_bits(1.0f / static_cast<float>(nranks));
  }
  return reduction;
}

Reduction Reduction::pre_mul_sum(DataType type, uint64_t scalar, bool float32_partials) {
  Reduction reduction{type, partial_type(type, float32_partials), rondeSum, 1};
  reduction.multiplies = true;
  reduction.factor = factor_of(type, scalar);
  return reduction;
}

Reduction Reduction::user_defined(DataType type, rondeReduceFunction_t function, void* user, bool commutative) {
  Reduction reduction{type, type, rondeSum, 1};
  reduction.function = function;
  reduction.user = user;
  reduction.commutative = commutative;
  return reduction;
}

bool Reduction::partials_are_exact() const {
  return function != nullptr || !is_narrow_float(type) || partial == rondeFloat32;
}

void reduce(const Reduction& reduction, std::span<const ReduceSource> sources, std::span<const ReduceTarget> targets,
            size_t count) {
  assert(!sources.empty() && sources.size() <= 256 && (targets.size() == 1 || targets.size() == 2));
  if (count == 0) return;
  if (is_plain_copy(reduction, sources, targets)) return copy_elements(reduction, sources[0], targets, count);
  if (reduction.function != nullptr) return reduce_user_defined(reduction, sources, targets, count);
  const ReducePass pass{sources.data(), sources.size(), targets.data(), targets.size(), count, &reduction};
  if (reduction.op < rondeBitAnd) return run_kernel(pass);
  ReducePass bytes = pass;
  bytes.count *= element_bytes(reduction.type);
  reduce_bits(bytes);
}

}  // namespace ronde
