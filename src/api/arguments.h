// The arguments of collectives: what is wrong in themselves, seen by one rank alone.
#pragma once

#include <vector>

#include "base/status.h"
#include "runtime/operation.h"

namespace ronde::api {

// Where the blocks of a buffer lie: counts and displacements by rank, in elements; displacements null: one block behind
// the other. rondeInvalidArgument names the argument that is NULL or the rank whose block is more than memory can hold.
Result<std::vector<schedule::Range>> blocks_of(const char* function, const char* counts_name, const size_t* counts,
                                               const size_t* displacements, int nranks, rondeDataType_t type);

// rondeInvalidArgument: no such type, or more elements than memory can hold.
Status check_elements(const char* function, rondeDataType_t type, size_t count);

// rondeInvalidArgument: no such type, reduction or root, a buffer that is NULL, more elements than memory can hold,
// blocks of the receive buffer or buffers that overlap in another way than in place.
Status check_arguments(const char* function, const OperationArgs& args, int rank, int nranks);

}  // namespace ronde::api
