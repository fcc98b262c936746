// What a collective is asked to do, as plain values, and how it is named in messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "memory/data_type.h"

namespace ronde {

struct OperationArgs {
  const void* send = nullptr;
  void* receive = nullptr;
  size_t count = 0;
  DataType type = rondeFloat32;
  RedOp op = rondeSum;

  [[nodiscard]] size_t bytes() const { return count * element_bytes(type); }
};

// 32 bits over what must be equal on all ranks: kind of operation, type, reduction, count.
[[nodiscard]] uint32_t digest_of(const OperationArgs& args);

// "AllReduce (float32, sum, 1024 elements)", and with " number 7".
[[nodiscard]] std::string describe(const OperationArgs& args);
[[nodiscard]] std::string describe(const OperationArgs& args, uint32_t sequence);

}  // namespace ronde
