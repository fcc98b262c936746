// Makes the greatest size fit into the memory of the machine.
#pragma once

#include <cstddef>

namespace perf {

// Bytes that one buffer may have if `buffers` of them shall fit into most of the memory that is available now.
std::size_t greatest_buffer(std::size_t buffers);

}  // namespace perf
