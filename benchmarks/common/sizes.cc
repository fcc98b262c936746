#include "common/sizes.h"

#include <cctype>

namespace perf {
namespace {

// The binary power of a suffix, or -1: "", "B" 0; "K", "KB", "KiB" 10; and so on, in either case.
int suffix_power(std::string_view suffix) {
  if (suffix.empty()) return 0;
  constexpr std::string_view letters = "BKMGT";
  const auto place = letters.find(static_cast<char>(std::toupper(static_cast<unsigned char>(suffix[0]))));
  if (place == std::string_view::npos) return -1;
  std::string_view rest = suffix.substr(1);
  if (place > 0 && !rest.empty() && rest[0] == 'i') rest.remove_prefix(1);
  if (place > 0 && !rest.empty() && (rest[0] == 'B' || rest[0] == 'b')) rest.remove_prefix(1);
  return rest.empty() ? static_cast<int>(place) * 10 : -1;
}

}  // namespace

std::optional<std::size_t> parse_size(std::string_view text, std::string* why) {
  std::size_t at = 0;
  int digits = 0;
  int dots = 0;
  for (; at < text.size() && (std::isdigit(static_cast<unsigned char>(text[at])) || text[at] == '.'); ++at) {
    text[at] == '.' ? ++dots : ++digits;
  }
  const int power = suffix_power(text.substr(at));
  if (digits == 0 || dots > 1 || power < 0) {
    *why = "a size is a number with K, M, G or T (binary) behind it, such as 8, 64K or 1.5M";
    return std::nullopt;
  }
  if (dots == 1 && power == 0) {
    *why = "a size is a whole number of bytes; a fraction needs K, M, G or T behind it";
    return std::nullopt;
  }
  // 64 bits of mantissa or more, where long double has them: exact for every size that fits in memory.
  const long double bytes = std::stold(std::string(text.substr(0, at))) * static_cast<long double>(1ULL << power);
  if (bytes > static_cast<long double>(1ULL << 62)) {
    *why = "the size is more than 2^62 bytes";
    return std::nullopt;
  }
  return static_cast<std::size_t>(bytes);
}

}  // namespace perf
