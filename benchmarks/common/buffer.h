// Page-aligned host memory with room for guard bytes around whatever part of it an operation works on.
#pragma once

#include <cstddef>
#include <memory>

namespace perf {

// Bytes before and after a result that must stay as they are.
inline constexpr std::size_t kGuardBytes = 64;

class Buffer {
 public:
  // data() lies `unalign` bytes behind a page boundary. from_library: memory of rondeMemAlloc. Throws std::bad_alloc.
  Buffer(std::size_t bytes, std::size_t unalign, bool from_library = false);

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  // Sets the guards around bytes [offset, offset + bytes) of data().
  void arm(std::size_t offset, std::size_t bytes) const;

  // Guard bytes that have changed since arm was called with the same arguments.
  std::size_t broken(std::size_t offset, std::size_t bytes) const;

 private:
  struct Free {
    bool from_library;
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace perf
