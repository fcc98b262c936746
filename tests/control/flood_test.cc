// Words that reach all, answers that find back.
#include "control/flood.h"

#include <catch2/catch.hpp>
#include <deque>
#include <random>

#include "control/graph.h"

namespace ronde {
namespace {

Bytes bytes_of(const std::string& text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}
std::string text_of(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Machines joined as in a job; messages on their way, in order for each pair.
class Net {
 public:
  explicit Net(uint32_t nranks) {
    for (uint32_t rank = 0; rank < nranks; ++rank) {
      floods.emplace_back(rank, nranks);
      for (const uint32_t peer : control_neighbours(rank, nranks)) floods[rank].open(peer);
    }
  }
  // Until nothing moves; `gone` neither takes nor gives. In any order of ranks.
  void settle(uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    std::deque<std::pair<uint32_t, Flood::Outgoing>> on_the_way;
    for (;;) {
      for (uint32_t rank = 0; rank < floods.size(); ++rank)
        for (Flood::Outgoing& outgoing : floods[rank].take_messages()) on_the_way.emplace_back(rank, outgoing);
      if (on_the_way.empty()) return;
      const size_t next = random() % on_the_way.size();
      const auto [from, outgoing] = on_the_way[next];
      on_the_way.erase(on_the_way.begin() + static_cast<ptrdiff_t>(next));
      ++carried;
      if (gone == from || gone == outgoing.peer) continue;
      CHECK(floods[outgoing.peer].received(from, outgoing.message->bytes));
    }
  }
  std::vector<Flood> floods;
  uint32_t gone = UINT32_MAX;
  size_t carried = 0;
};

}  // namespace

TEST_CASE("a word reaches everybody else once, whichever way is faster") {
  const uint32_t nranks = GENERATE(2u, 3u, 8u, 33u);
  const uint64_t seed = GENERATE(range(1, 20));
  Net net(nranks);
  net.floods[1].say(bytes_of("one"));
  net.floods[0].say(bytes_of("zero"));
  net.floods[1].say(bytes_of("two"));
  net.settle(seed);
  for (uint32_t rank = 0; rank < nranks; ++rank) {
    std::multiset<std::string> heard;
    for (const Flood::Arrival& arrival : net.floods[rank].take_arrivals()) {
      CHECK_FALSE(arrival.answers);
      heard.insert(std::to_string(arrival.origin) + text_of(arrival.payload));
    }
    std::multiset<std::string> expected{"0zero", "1one", "1two"};
    std::erase_if(expected, [&](const std::string& text) { return text[0] == static_cast<char>('0' + rank); });
    CHECK(heard == expected);
  }
}

TEST_CASE("answers of all find back to who asked, also past a rank that is gone") {
  const uint32_t nranks = GENERATE(2u, 8u, 33u);
  const bool is_one_gone = GENERATE(false, true);
  Net net(nranks);
  if (is_one_gone && nranks > 2) net.gone = 2;
  const uint32_t number = net.floods[0].say(bytes_of("?"));
  net.settle();
  std::set<uint32_t> expected;
  for (uint32_t rank = 1; rank < nranks; ++rank) {
    if (rank == net.gone) continue;
    REQUIRE(net.floods[rank].take_arrivals().size() == 1);
    net.floods[rank].answer(0, number, bytes_of("!" + std::to_string(rank)));
    expected.insert(rank);
  }
  net.settle();
  std::set<uint32_t> answered;
  for (const Flood::Arrival& arrival : net.floods[0].take_arrivals()) {
    REQUIRE(arrival.answers);
    CHECK(arrival.number == number);
    CHECK(text_of(arrival.payload) == "!" + std::to_string(*arrival.answers));
    answered.insert(*arrival.answers);
  }
  CHECK(answered == expected);
}

TEST_CASE("what was said long ago and comes again is nothing new") {
  Flood listener(1, 2);
  listener.open(0);
  Flood speaker(0, 2);
  speaker.open(1);
  std::vector<SharedMessage> said;
  for (int i = 0; i < 200; ++i) {
    speaker.say(bytes_of(std::to_string(i)));
    said.push_back(speaker.take_messages().at(0).message);
    CHECK(listener.received(0, said.back()->bytes));
  }
  CHECK(listener.take_arrivals().size() == 200);
  for (const SharedMessage& message : said) CHECK(listener.received(0, message->bytes));
  CHECK(listener.take_arrivals().empty());
}

TEST_CASE("words that overtake each other all arrive") {
  Flood listener(1, 2);
  listener.open(0);
  Flood speaker(0, 2);
  speaker.open(1);
  std::vector<SharedMessage> said;
  for (int i = 0; i < 60; ++i) {
    speaker.say(bytes_of(std::to_string(i)));
    said.push_back(speaker.take_messages().at(0).message);
  }
  for (auto message = said.rbegin(); message != said.rend(); ++message) CHECK(listener.received(0, (*message)->bytes));
  CHECK(listener.take_arrivals().size() == 60);
}

TEST_CASE("bytes that make no sense are refused, and do no harm") {
  Flood flood(0, 4);
  for (const uint32_t peer : {1u, 2u, 3u}) flood.open(peer);
  std::mt19937_64 random(3);
  for (int round = 0; round < 20'000; ++round) {
    Bytes noise(random() % 24);
    for (std::byte& b : noise) b = static_cast<std::byte>(random() % 5);
    static_cast<void>(flood.received(1, noise));
    static_cast<void>(flood.take_arrivals());
    static_cast<void>(flood.take_messages());
  }
  CHECK_FALSE(flood.received(1, {}));
  CHECK_FALSE(flood.received(1, Bytes(9, std::byte{7})));
  Writer of_nobody;
  of_nobody.number(uint8_t{1}).number(uint32_t{4}).number(uint32_t{1});
  CHECK_FALSE(flood.received(1, of_nobody.view()));
}

}  // namespace ronde
