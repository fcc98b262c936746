#include "common/trace.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "common/input_file.h"

namespace perf {
namespace {

// One line without comment; false if it is no tensor.
bool read_line(const std::string& line, Tensor* tensor) {
  std::istringstream words(line);
  std::string number;
  std::string more;
  if (!(words >> tensor->name >> number) || (words >> more)) return false;
  const char* end = number.data() + number.size();
  const auto [read_to, error] = std::from_chars(number.data(), end, tensor->elements);
  return error == std::errc() && read_to == end && tensor->elements > 0;
}

}  // namespace

std::optional<std::vector<Tensor>> read_trace(const std::string& path, std::string* why) {
  const std::optional<std::string> text = read_input_file(path, why);
  if (!text) return std::nullopt;
  std::istringstream file(*text);
  std::vector<Tensor> tensors;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (!read_line(line, &tensors.emplace_back())) {
      *why = fmt::format("{}:{}: a line is \"name elements\" with at least one element", path, number);
      return std::nullopt;
    }
  }
  if (tensors.empty()) {
    *why = fmt::format("{}: there is no tensor in it", path);
    return std::nullopt;
  }
  return tensors;
}

std::size_t total_elements(const std::vector<Tensor>& tensors) {
  std::size_t total = 0;
  for (const Tensor& tensor : tensors) total += tensor.elements;
  return total;
}

}  // namespace perf
