#include "runtime/element_values.h"

#include <cstdint>
#include <cstring>

namespace ronde::testing {
namespace {

template <typename T>
void put(std::byte* target, T value) {
  std::memcpy(target, &value, sizeof value);
}
template <typename T>
T get(const std::byte* source) {
  T value;
  std::memcpy(&value, source, sizeof value);
  return value;
}

}  // namespace

void store_value(DataType type, std::byte* target, int value) {
  switch (type) {
    case rondeInt8: return put(target, static_cast<int8_t>(value));
    case rondeFloat32: return put(target, static_cast<float>(value));
    case rondeFloat64: return put(target, static_cast<double>(value));
    default: {  // bfloat16: the upper half of a float32
      const auto whole = static_cast<float>(value);
      return put(target, static_cast<uint16_t>(get<uint32_t>(reinterpret_cast<const std::byte*>(&whole)) >> 16));
    }
  }
}

double load_value(DataType type, const std::byte* source) {
  switch (type) {
    case rondeInt8: return get<int8_t>(source);
    case rondeFloat32: return get<float>(source);
    case rondeFloat64: return get<double>(source);
    default: {
      const uint32_t bits = static_cast<uint32_t>(get<uint16_t>(source)) << 16;
      return get<float>(reinterpret_cast<const std::byte*>(&bits));
    }
  }
}

}  // namespace ronde::testing
