// The receiving end of a TCP link.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "link/port.h"

namespace ronde {

class TcpReceiver final : public WireReceiver {
 public:
  // connections: proved, non-blocking, at least one. peer: for messages.
  TcpReceiver(std::vector<Fd> connections, size_t slice_bytes, std::string peer);

  Arrival receive(const SliceHead& expected, const std::byte** payload) override;
  Arrival receive_into(const SliceHead& expected, void* payload) override;
  void release() override { staged_ = false; }
  bool acknowledge() override;
  [[nodiscard]] SliceHead head() const override { return unexpected_; }
  [[nodiscard]] const Status& broken() const override { return broken_; }
  [[nodiscard]] size_t memory_bytes() const override { return staging_bytes_; }

 private:
  struct Connection {
    Fd fd;
    SliceHead head;
    size_t head_bytes = 0;     // how much of the head has come
    size_t payload_bytes = 0;  // how much of the payload has come
    bool ended = false;        // the peer sends no more on it; what came before may be unread on others
    [[nodiscard]] bool head_complete() const { return head_bytes == sizeof(SliceHead); }
  };

  bool read_into(Connection& connection, const SliceHead& expected, std::byte* payload);
  bool read(Connection& connection, std::byte* payload, size_t payload_room);
  Arrival judge(const SliceHead& expected);

  std::vector<Connection> connections_;
  std::string peer_;
  size_t staging_bytes_;
  std::unique_ptr<std::byte[]> staging_;  // one slice
  std::byte* staging_aligned_ = nullptr;
  bool staged_ = false;
  SliceHead unexpected_;
  Status broken_;
};

}  // namespace ronde
