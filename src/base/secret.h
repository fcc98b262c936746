// Secrets of jobs, kept where neither a core dump nor a forked child gets them.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>

#include "base/status.h"
#include "base/wire.h"

namespace ronde {

// Copies share one page of memory of its own, which is wiped before it goes. Nothing here may put the bytes anywhere
// else, and who takes them out of it wipes what he took (Wipe).
class Secret {
 public:
  static constexpr size_t kBytes = 32;

  Secret() = default;  // zeroes: nobody's
  // Like the two below it throws std::bad_alloc without memory.
  explicit Secret(std::span<const std::byte, kBytes> bytes);
  static Result<Secret> random();
  // HMAC-SHA-256 under `key` over the parts one after the other.
  static Secret derive(ByteView key, std::initializer_list<ByteView> parts);

  [[nodiscard]] ByteView bytes() const;
  friend bool operator==(const Secret& a, const Secret& b);

 private:
  std::shared_ptr<std::byte> page_;
};

// Overwrites memory when it goes out of scope: what held a secret for a moment.
class Wipe {
 public:
  explicit Wipe(std::span<std::byte> memory) : memory_(memory) {}
  explicit Wipe(std::span<char> memory) : memory_(std::as_writable_bytes(memory)) {}
  ~Wipe();
  Wipe(const Wipe&) = delete;
  Wipe& operator=(const Wipe&) = delete;

 private:
  std::span<std::byte> memory_;
};

}  // namespace ronde
