#include "control/flood.h"

#include <utility>

namespace ronde {
namespace {

// kind u8 | origin u32 | number u32 | answering rank u32 (answers only) | payload to the end
enum class Kind : uint8_t { word = 1, answer = 2 };
constexpr size_t kWordHead = 9;
constexpr size_t kAnswerHead = 13;
constexpr uint32_t kRemembered = 64;

SharedMessage make(Writer& head, ByteView payload) {
  head.raw(payload.data(), payload.size());
  return std::make_shared<const Message>(head.take());
}

}  // namespace

uint32_t Flood::say(ByteView payload) {
  const uint32_t number = ++said_;
  Writer head;
  head.number(Kind::word).number(rank_).number(number);
  const SharedMessage message = make(head, payload);
  for (const uint32_t peer : links_) send(peer, message);
  return number;
}

void Flood::answer(uint32_t origin, uint32_t number, ByteView payload) {
  const std::optional<uint32_t> way = way_back(origin, number);
  if (!way) return;
  Writer head;
  head.number(Kind::answer).number(origin).number(number).number(rank_);
  send(*way, make(head, payload));
}

bool Flood::received(uint32_t from, ByteView message) {
  Reader reader(message);
  const auto kind = reader.number<Kind>();
  const auto origin = reader.number<uint32_t>();
  const auto number = reader.number<uint32_t>();
  if (kind == Kind::word) {
    if (!reader.ok() || origin >= nranks_ || number == 0) return false;
    return word_received(from, origin, number, message.subspan(kWordHead), message);
  }
  const auto who = reader.number<uint32_t>();
  if (kind != Kind::answer || !reader.ok() || origin >= nranks_ || who >= nranks_) return false;
  return answer_received(origin, number, who, message.subspan(kAnswerHead), message);
}

bool Flood::word_received(uint32_t from, uint32_t origin, uint32_t number, ByteView payload, ByteView message) {
  if (origin == rank_ || !origins_[origin].enter(number, from)) return true;  // it has come by another way
  arrivals_.push_back({origin, number, std::nullopt, Bytes(payload.begin(), payload.end())});
  SharedMessage copy;
  for (const uint32_t peer : links_) {
    if (peer == from || peer == origin) continue;
    if (!copy) copy = std::make_shared<const Message>(Bytes(message.begin(), message.end()));
    send(peer, copy);
  }
  return true;
}

bool Flood::answer_received(uint32_t origin, uint32_t number, uint32_t who, ByteView payload, ByteView message) {
  if (origin == rank_) {
    arrivals_.push_back({origin, number, who, Bytes(payload.begin(), payload.end())});
  } else if (const std::optional<uint32_t> way = way_back(origin, number)) {
    send(*way, std::make_shared<const Message>(Bytes(message.begin(), message.end())));
  }
  return true;
}

std::optional<uint32_t> Flood::way_back(uint32_t origin, uint32_t number) const {
  const auto known = origins_.find(origin);
  if (known == origins_.end()) return std::nullopt;
  const auto& [of, from] = known->second.way[number % known->second.way.size()];
  if (of != number || !links_.contains(from)) return std::nullopt;
  return from;
}

bool Flood::Origin::enter(uint32_t number, uint32_t from) {
  if (number > newest) {
    const uint32_t step = number - newest;
    seen = step < kRemembered ? seen << step : 0;
    newest = number;
  }
  const uint32_t age = newest - number;
  if (age >= kRemembered || (seen >> age & 1) != 0) return false;
  seen |= uint64_t{1} << age;
  way[number % way.size()] = {number, from};
  return true;
}

}  // namespace ronde
