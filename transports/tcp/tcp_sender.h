// The sending end of a TCP link.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/fd.h"
#include "link/port.h"

namespace ronde {

class TcpSender final : public WireSender {
 public:
  // connections: proved, non-blocking, at least one. peer: for messages, "rank 3 (10.0.0.2:4711)".
  TcpSender(std::vector<Fd> connections, size_t slice_bytes, std::string peer);

  std::byte* acquire() override;
  void commit(const SliceHead& head) override;
  bool send_by_reference(const SliceHead& head, const void* payload) override;
  void advance() override;
  [[nodiscard]] bool idle() const override { return completed_ == queued_; }
  // Bytes that the receiver sends back on the first connection, one a message.
  [[nodiscard]] bool taken(uint32_t messages) override;
  [[nodiscard]] const Status& broken() const override { return broken_; }
  [[nodiscard]] size_t memory_bytes() const override { return kQueue * slice_bytes_ + kCacheLine; }

 private:
  static constexpr uint32_t kQueue = kLinkSlots;  // slices on the way

  struct Entry {
    SliceHead head;
    const std::byte* payload = nullptr;
    bool sent = false;
  };
  struct Connection {
    Fd fd;
    bool busy = false;
    uint32_t entry = 0;   // what it is sending, if busy
    size_t progress = 0;  // bytes of head and payload that have left
  };

  [[nodiscard]] bool full() const { return queued_ - completed_ == kQueue; }
  Entry& entry(uint32_t number) { return entries_[number % kQueue]; }
  void enqueue(const SliceHead& head, const std::byte* payload);
  bool take_next(Connection& connection);
  bool send_some(Connection& connection);
  void finish(Connection& connection);

  std::vector<Connection> connections_;
  size_t slice_bytes_;
  std::string peer_;
  std::unique_ptr<std::byte[]> staging_;  // kQueue slices; touched only if a step sends from the wire's memory
  std::array<Entry, kQueue> entries_;
  uint32_t queued_ = 0;     // entries handed in
  uint32_t taken_ = 0;      // entries that a connection has begun
  uint32_t completed_ = 0;  // entries that have left, all before them too
  uint32_t acknowledged_ = 0;
  Status broken_;
};

}  // namespace ronde
