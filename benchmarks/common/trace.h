// A model's gradient tensors, read from a file, for --sizes-from.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace perf {

struct Tensor {
  std::string name;
  std::size_t elements = 0;
};

// Reads lines "name elements"; "#" begins a comment. Nothing, with file and line in *why, if a line is something else
// or there is no tensor.
std::optional<std::vector<Tensor>> read_trace(const std::string& path, std::string* why);

std::size_t total_elements(const std::vector<Tensor>& tensors);

}  // namespace perf
