#include "common/input_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace perf {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

}  // namespace

std::optional<std::string> read_input_file(const std::string& path, std::string* why) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  std::string text(file != nullptr ? kMostBytes + 1 : 0, '\0');
  if (file != nullptr) {
    text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    if (text.size() > kMostBytes) {
      *why = fmt::format("{}: has more than {} bytes", path, kMostBytes);
      return std::nullopt;
    }
  }
  if (file != nullptr && std::ferror(file.get()) == 0) return text;
  *why = fmt::format("{}: {}", path, std::strerror(errno));
  return std::nullopt;
}

}  // namespace perf
