// Bounded writing and reading of bytes that travel between processes. Little-endian, no padding, no pointers.
// A Reader never reads beyond its bytes and never allocates by a length that the bytes do not cover.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ronde {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

class Writer {
 public:
  template <typename T>
  requires std::is_integral_v<T> || std::is_enum_v<T> Writer& number(T value) { return raw(&value, sizeof value); }
  Writer& bytes(ByteView value) {  // length (32 bits), then the bytes
    number(static_cast<uint32_t>(value.size()));
    return raw(value.data(), value.size());
  }
  Writer& text(std::string_view value) { return bytes(std::as_bytes(std::span(value))); }
  template <size_t N>
  Writer& fixed(const std::array<std::byte, N>& value) {
    return raw(value.data(), N);
  }
  // Neither inlined nor insert(): GCC 12 warns of an overflow that cannot be.
  [[gnu::noinline]] Writer& raw(const void* data, size_t size) {
    const size_t before = bytes_.size();
    bytes_.resize(before + size);
    if (size != 0) std::memcpy(bytes_.data() + before, data, size);
    return *this;
  }
  [[nodiscard]] const Bytes& view() const { return bytes_; }
  [[nodiscard]] Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

// Reads what a Writer wrote. After any read beyond the end ok() is false and all further values are zero or empty.
class Reader {
 public:
  explicit Reader(ByteView bytes) : left_(bytes) {}

  template <typename T>
  requires std::is_integral_v<T> || std::is_enum_v<T> T number() {
    T value{};
    raw(&value, sizeof value);
    return value;
  }
  ByteView bytes() {
    const auto size = number<uint32_t>();
    if (!ok_ || size > left_.size()) return fail();
    const ByteView value = left_.first(size);
    left_ = left_.subspan(size);
    return value;
  }
  std::string text() {
    const ByteView value = bytes();
    return {reinterpret_cast<const char*>(value.data()), value.size()};
  }
  template <size_t N>
  std::array<std::byte, N> fixed() {
    std::array<std::byte, N> value{};
    raw(value.data(), N);
    return value;
  }
  void skip(size_t size) {
    if (size > left_.size()) {
      fail();
      return;
    }
    left_ = left_.subspan(size);
  }
  [[nodiscard]] bool ok() const { return ok_; }
  // True if everything was read and nothing was missing.
  [[nodiscard]] bool complete() const { return ok_ && left_.empty(); }

 private:
  void raw(void* target, size_t size) {
    if (!ok_ || size > left_.size()) {
      fail();
      return;
    }
    if (size != 0) std::memcpy(target, left_.data(), size);
    left_ = left_.subspan(size);
  }
  ByteView fail() {
    ok_ = false;
    left_ = {};
    return {};
  }

  ByteView left_;
  bool ok_ = true;
};

}  // namespace ronde
