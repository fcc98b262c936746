#include "common/number_format.h"

#include <fmt/format.h>

namespace perf {
namespace {

std::string shortest_exponent(double value, int width) {
  for (int decimals = 2; decimals > 0; --decimals) {
    std::string text = fmt::format("{:.{}e}", value, decimals);
    if (static_cast<int>(text.size()) <= width) return text;
  }
  return fmt::format("{:.0e}", value);
}

std::string pad(const std::string& text, int width) { return fmt::format("{:>{}}", text, width); }

}  // namespace

std::string to_width(double value, int width) {
  for (int decimals = 2; decimals >= 0; --decimals) {
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (static_cast<int>(text.size()) <= width) return pad(text, width);
  }
  return pad(shortest_exponent(value, width), width);
}

std::string count_to_width(unsigned long long value, int width) {
  std::string text = fmt::format("{}", value);
  if (static_cast<int>(text.size()) > width) text = shortest_exponent(static_cast<double>(value), width);
  return pad(text, width);
}

}  // namespace perf
