#include "memory/reduce_world.h"

#include <deque>

#include "memory/reduce_pass.h"
// After HWY_DISABLED_TARGETS, which reduce_pass.h defines.
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstring>

namespace ronde::test {
namespace {

constexpr uint8_t kGuard = 0xa5;
constexpr size_t kGuardBytes = 80;

std::vector<uint64_t> special_floats(DataType type) {
  switch (type) {
    case rondeFloat32:
      return {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000,
              0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
              0x7fc00000, 0xffc00000, 0x7f800001, 0xffabcdef, 0x34000000, 0x33800000};
    case rondeFloat64:
      return {0,
              uint64_t{1} << 63,
              1,
              0x000fffffffffffff,
              0x0010000000000000,
              0x3ff0000000000000,
              0xbff0000000000000,
              0x7fefffffffffffff,
              0xffefffffffffffff,
              0x7ff0000000000000,
              0xfff0000000000000,
              0x7ff8000000000000,
              0xfff8000000000000,
              0x7ff0000000000001,
              0xfff0123456789abc,
              0x3cb0000000000000};
    case rondeFloat16:
      return {0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x7bff,
              0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7c01, 0xffff, 0x1000, 0x3c01};
    case rondeBfloat16:
      return {0,      0x8000, 1,      0x8001, 0x007f, 0x0080, 0x3f80, 0xbf80, 0x7f7f,
              0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x7f81, 0xffff, 0x3b80, 0x3f81};
    case rondeFloat8e4m3: return {0, 0x80, 1, 0x81, 7, 8, 0x38, 0xb8, 0x7e, 0xfe, 0x7f, 0xff, 0x1f};
    default: return {0, 0x80, 1, 0x81, 3, 4, 0x3c, 0xbc, 0x7b, 0xfb, 0x7c, 0xfc, 0x7d, 0x7e, 0x7f, 0xff};
  }
}

// Elements are read as what they are, so that the undefined-behaviour sanitizer sees where they are misaligned.
template <class T>
void mix(const void* left, const void* right, void* result, size_t count) {
  const T* a = static_cast<const T*>(left);
  const T* b = static_cast<const T*>(right);
  T* to = static_cast<T*>(result);
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<T>((a[i] * 5u) ^ (a[i] >> 3) ^ (b[i] * 3u + 1u));
}

bool overlap_in_part(const void* left, const void* right, size_t bytes) {
  const auto a = reinterpret_cast<uintptr_t>(left);
  const auto b = reinterpret_cast<uintptr_t>(right);
  return a != b && a < b + bytes && b < a + bytes;
}

void note_call(const void* left, const void* right, const void* result, size_t count, DataType type, MixCalls* calls) {
  const size_t bytes = element_bytes(type);
  ++calls->calls;
  calls->elements += count;
  calls->wrong += count == 0;
  for (const void* data : {left, right, result}) calls->wrong += reinterpret_cast<uintptr_t>(data) % bytes != 0;
  calls->wrong += overlap_in_part(result, left, count * bytes) || overlap_in_part(result, right, count * bytes);
}

}  // namespace

std::vector<DataType> all_types() {
  std::vector<DataType> types;
  for (int type = 0; type < rondeNumTypes; ++type) types.push_back(static_cast<DataType>(type));
  return types;
}

std::vector<RedOp> all_ops(DataType type) {
  std::vector<RedOp> ops = {rondeSum, rondeProd, rondeMax, rondeMin, rondeAvg};
  if (!is_float(type)) ops.insert(ops.end(), {rondeBitAnd, rondeBitOr, rondeBitXor});
  return ops;
}

std::vector<Reduction> all_reductions(DataType type, int nranks, bool float32_partials) {
  std::vector<Reduction> reductions;
  for (RedOp op : all_ops(type)) reductions.push_back(Reduction::of(type, op, nranks, float32_partials));
  const uint64_t usual = is_float(type) ? float_bits(type, -0.7) : 0xb97b3d5a81c6e935;
  for (uint64_t scalar : {usual, special_elements(type)[2]}) {
    reductions.push_back(Reduction::pre_mul_sum(type, scalar, float32_partials));
  }
  reductions.push_back(Reduction::user_defined(type, mix_elements, nullptr, false));
  return reductions;
}

void mix_elements(const void* left, const void* right, void* result, size_t count, rondeDataType_t type, void* user) {
  if (user != nullptr) note_call(left, right, result, count, type, static_cast<MixCalls*>(user));
  switch (element_bytes(type)) {
    case 1: return mix<uint8_t>(left, right, result, count);
    case 2: return mix<uint16_t>(left, right, result, count);
    case 4: return mix<uint32_t>(left, right, result, count);
    default: return mix<uint64_t>(left, right, result, count);
  }
}

void for_each_instruction_set(const std::function<void(const std::string& name)>& body) {
#ifdef HWY_COMPILE_ONLY_STATIC
  body("static");
#else
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    body(hwy::TargetName(target));
  }
  hwy::SetSupportedTargetsForTest(0);
#endif
}

std::vector<uint64_t> special_elements(DataType type) {
  if (is_float(type)) return special_floats(type);
  const uint64_t sign = uint64_t{1} << (8 * element_bytes(type) - 1);
  return {0, 1, ~uint64_t{0}, sign, sign - 1, sign + 1, sign / 2, 3, ~uint64_t{1}};
}

ElementSource::ElementSource(DataType type, uint64_t seed)
    : type_(type), random_(seed), specials_(special_elements(type)) {}

void ElementSource::fill(uint8_t* data, size_t count) {
  const size_t bytes = element_bytes(type_);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bits = random_();
    const uint64_t element = random_() % 8 == 0 ? specials_[bits % specials_.size()] : bits;
    std::memcpy(data + i * bytes, &element, bytes);
  }
}

GuardedBytes::GuardedBytes(size_t bytes, size_t misalignment)
    : bytes_(bytes), memory_(bytes + 2 * kGuardBytes + 128, kGuard) {
  const uintptr_t first = reinterpret_cast<uintptr_t>(memory_.data()) + kGuardBytes;
  start_ = kGuardBytes + (64 - first % 64) % 64 + misalignment % 64;
}

bool GuardedBytes::guards_are_whole() const {
  for (size_t i = 0; i < memory_.size(); ++i) {
    if ((i < start_ || i >= start_ + bytes_) && memory_[i] != kGuard) return false;
  }
  return true;
}

size_t Trial::mismatches() const {
  size_t slot = 0;
  const auto next_misalignment = [&] { return misalignment[slot++ % misalignment.size()]; };

  std::deque<GuardedBytes> inputs;
  std::vector<ReduceSource> from;
  for (size_t s = 0; s < sources.size(); ++s) {
    const DataType type = reduction.type_of(sources[s]);
    inputs.emplace_back(count * element_bytes(type), next_misalignment());
    ElementSource(type, seed * 1000 + s).fill(inputs.back().data(), count);
    from.push_back({inputs.back().data(), sources[s]});
  }
  std::deque<GuardedBytes> outputs;
  std::deque<std::vector<uint8_t>> expected;
  std::vector<ReduceTarget> to;
  std::vector<ReduceTarget> model_to;
  for (size_t t = 0; t < targets.size(); ++t) {
    const size_t bytes = count * element_bytes(reduction.type_of(targets[t]));
    expected.emplace_back(bytes + 1);
    model_to.push_back({expected.back().data(), targets[t], false});
    outputs.emplace_back(bytes, next_misalignment());
    const bool shares = in_place && t == 0;
    to.push_back({shares ? inputs.front().data() : outputs.back().data(), targets[t], streaming});
  }
  model_reduce(model_reduction.value_or(reduction), from, model_to, count, model_rounding);
  reduce(reduction, from, to, count);

  size_t wrong = 0;
  for (size_t t = 0; t < targets.size(); ++t) {
    const size_t bytes = element_bytes(reduction.type_of(targets[t]));
    const uint8_t* actual = static_cast<const uint8_t*>(to[t].data);
    for (size_t i = 0; i < count; ++i)
      wrong += std::memcmp(actual + i * bytes, expected[t].data() + i * bytes, bytes) != 0;
  }
  for (const GuardedBytes& input : inputs) wrong += input.guards_are_whole() ? 0 : 1000000;
  for (const GuardedBytes& output : outputs) wrong += output.guards_are_whole() ? 0 : 1000000;
  return wrong;
}

std::string Trial::describe() const {
  const std::string op = reduction.function != nullptr ? "user-defined" : std::string(op_name(reduction.op));
  std::string text = std::string(type_name(reduction.type)) + " " + op + " nranks " + std::to_string(reduction.nranks) +
                     " partial " + std::string(type_name(reduction.partial)) + " count " + std::to_string(count) +
                     " sources ";
  for (Content content : sources) text += "irpf"[static_cast<size_t>(content)];
  text += " targets ";
  for (Content content : targets) text += "irpf"[static_cast<size_t>(content)];
  if (reduction.multiplies) text.append(" factor ").append(std::to_string(reduction.factor));
  text += streaming ? " streaming" : "";
  text += in_place ? " in place" : "";
  for (size_t offset : misalignment) text.append(" ").append(std::to_string(offset));
  return text;
}

}  // namespace ronde::test
