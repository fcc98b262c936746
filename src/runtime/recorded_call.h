// A call as it stands in the record of a black box: 32 bits for what was called. Reading trusts nothing.
#pragma once

#include <cstdint>

#include "plan/choose.h"
#include "runtime/operation.h"

namespace ronde {

// From the lowest byte: reduction (of one that is not built in its kind; of an all-gather its purpose), type (and in
// its two highest bits uneven blocks, fused), algorithm, collective.
[[nodiscard]] uint32_t pack_call(const OperationArgs& args, plan::Algorithm algorithm);

struct UnpackedCall {
  OperationArgs args;  // without buffers, count and root
  plan::Algorithm algorithm = plan::Algorithm::automatic;
};
[[nodiscard]] UnpackedCall unpack_call(uint32_t what);

}  // namespace ronde
