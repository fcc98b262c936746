// How a word of one rank reaches all others over the control connections, and how answers find back. Everybody hands a
// word that is new to it to all its neighbours, so it arrives as long as any way is left; an answer takes the way back
// that the word came. A state machine without sockets and clocks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "bootstrap/frame.h"

namespace ronde {

class Flood {
 public:
  struct Outgoing {
    uint32_t peer;
    SharedMessage message;
  };
  // Something that has come for this rank.
  struct Arrival {
    uint32_t origin = 0;              // whose word it is, or was
    uint32_t number = 0;              // among the words of that origin
    std::optional<uint32_t> answers;  // the rank that answers the word; nothing: it is the word itself
    Bytes payload;
  };

  Flood(uint32_t rank, uint32_t nranks) : rank_(rank), nranks_(nranks) {}

  // Neighbours to which there is a connection. One that is closed carries nothing any more.
  void open(uint32_t peer) { links_.insert(peer); }
  void close(uint32_t peer) { links_.erase(peer); }
  [[nodiscard]] const std::set<uint32_t>& links() const { return links_; }

  // A word to all. Returns its number, by which answers to it are known.
  uint32_t say(ByteView payload);
  // An answer to a word that has arrived here, not long ago.
  void answer(uint32_t origin, uint32_t number, ByteView payload);
  // From a neighbour. False: the bytes are none of ours.
  [[nodiscard]] bool received(uint32_t from, ByteView message);

  [[nodiscard]] std::vector<Outgoing> take_messages() { return std::exchange(messages_, {}); }
  // In the order in which they came.
  [[nodiscard]] std::vector<Arrival> take_arrivals() { return std::exchange(arrivals_, {}); }

 private:
  // What is known of the words of one origin. Numbers begin with 1.
  struct Origin {
    uint32_t newest = 0;
    uint64_t seen = 0;                                 // bit i: newest - i has come; older ones count as seen
    std::array<std::pair<uint32_t, uint32_t>, 8> way;  // by number % 8: number, neighbour it came from
    [[nodiscard]] bool enter(uint32_t number, uint32_t from);
  };

  [[nodiscard]] bool word_received(uint32_t from, uint32_t origin, uint32_t number, ByteView payload, ByteView message);
  [[nodiscard]] bool answer_received(uint32_t origin, uint32_t number, uint32_t who, ByteView payload,
                                     ByteView message);
  void send(uint32_t peer, const SharedMessage& message) { messages_.push_back({peer, message}); }
  [[nodiscard]] std::optional<uint32_t> way_back(uint32_t origin, uint32_t number) const;

  const uint32_t rank_;
  const uint32_t nranks_;
  std::set<uint32_t> links_;
  uint32_t said_ = 0;
  std::unordered_map<uint32_t, Origin> origins_;
  std::vector<Outgoing> messages_;
  std::vector<Arrival> arrivals_;
};

}  // namespace ronde
