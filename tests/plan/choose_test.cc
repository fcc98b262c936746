#include "plan/choose.h"

#include <catch2/catch.hpp>

using namespace ronde::plan;
using ronde::schedule::Collective;

namespace {

Layout node_of(int nranks) {
  Layout layout;
  layout.nranks = nranks;
  layout.windows = true;
  layout.line_bytes = 56;
  layout.one_shot_bytes = 32 << 10;
  layout.piece_bytes = 384 << 10;
  layout.ring_slots = 4;
  layout.ring_slice_bytes = 128 << 10;
  layout.pair_slice_bytes = 64 << 10;
  return layout;
}

Message all_reduce(size_t bytes) { return {Collective::all_reduce, bytes, bytes, false}; }

}  // namespace

TEST_CASE("in a node the message's size decides") {
  const Layout layout = node_of(4);
  CHECK(choose(layout, Algorithm::automatic, all_reduce(0)).algorithm == Algorithm::line);
  CHECK(choose(layout, Algorithm::automatic, all_reduce(56)).algorithm == Algorithm::line);
  CHECK(choose(layout, Algorithm::automatic, all_reduce(57)).algorithm == Algorithm::one_shot);
  CHECK(choose(layout, Algorithm::automatic, all_reduce(64 << 20)).algorithm == Algorithm::two_shot);
}

TEST_CASE("between nodes it is the ring") {
  Layout layout = node_of(4);
  layout.windows = false;
  for (const size_t bytes : {size_t{0}, size_t{8}, size_t{1} << 30}) {
    CHECK(choose(layout, Algorithm::automatic, all_reduce(bytes)).algorithm == Algorithm::ring);
  }
}

TEST_CASE("a request is followed at every size") {
  const Layout layout = node_of(3);
  for (const size_t bytes : {size_t{0}, size_t{8}, size_t{4096}, size_t{1} << 30}) {
    CHECK(choose(layout, Algorithm::ring, all_reduce(bytes)).algorithm == Algorithm::ring);
    CHECK(choose(layout, Algorithm::star, all_reduce(bytes)).algorithm == Algorithm::star);
    CHECK(choose(layout, Algorithm::two_shot, all_reduce(bytes)).algorithm == Algorithm::two_shot);
  }
  CHECK(choose(layout, Algorithm::one_shot, all_reduce(57)).algorithm == Algorithm::one_shot);
  CHECK(choose(layout, Algorithm::one_shot, all_reduce(56)).algorithm == Algorithm::line);  // one-shot within a line
}

TEST_CASE("a cut fits its slot, is whole in every type, and never empty") {
  for (int nranks = 2; nranks <= 64; ++nranks) {
    const Layout layout = node_of(nranks);
    for (size_t bytes = 0; bytes < size_t{1} << 33; bytes = bytes * 3 + 7) {
      for (const auto algorithm : {Algorithm::ring, Algorithm::star, Algorithm::one_shot, Algorithm::two_shot}) {
        const Choice choice = choose(layout, algorithm, all_reduce(bytes));
        const size_t slot = algorithm == Algorithm::ring       ? layout.ring_slice_bytes
                            : algorithm == Algorithm::star     ? layout.pair_slice_bytes
                            : algorithm == Algorithm::one_shot ? layout.one_shot_bytes
                                                               : layout.piece_bytes;
        REQUIRE(choice.cut_bytes >= 1);
        REQUIRE(choice.cut_bytes <= slot);
        REQUIRE(choice.depth >= 1);
        REQUIRE(choice.depth <= 3);  // slots - 1: more would deadlock
      }
    }
  }
}

TEST_CASE("each collective goes its way, and its cut fits") {
  const auto of = [](Collective what, size_t bytes, size_t total, bool ordered = false) {
    return Message{what, bytes, total, ordered};
  };
  for (int nranks = 2; nranks <= 64; ++nranks) {
    Layout node = node_of(nranks);
    Layout apart = node;
    apart.windows = false;
    const auto n = static_cast<size_t>(nranks);
    for (size_t bytes = 1; bytes < size_t{1} << 33; bytes = bytes * 5 + 3) {
      for (const Collective what : {Collective::reduce_scatter, Collective::all_gather}) {
        const Choice choice = choose(node, Algorithm::automatic, of(what, bytes, bytes * n));
        const size_t line = what == Collective::all_gather ? bytes : bytes * n;
        REQUIRE(choice.algorithm == (line <= node.line_bytes ? Algorithm::line : Algorithm::direct));
        const size_t parts = what == Collective::all_gather ? 1 : n;
        const size_t stride = (choice.cut_bytes + 63) / 64 * 64;
        REQUIRE(choice.cut_bytes >= 8);
        if (choice.algorithm == Algorithm::direct) REQUIRE(stride * parts <= node.piece_bytes);
        REQUIRE(choose(apart, Algorithm::automatic, of(what, bytes, bytes * n)).algorithm == Algorithm::ring);
        REQUIRE(choose(node, Algorithm::ring, of(what, bytes, bytes * n)).algorithm == Algorithm::ring);
      }
      for (const Layout& layout : {node, apart}) {
        for (const Collective what : {Collective::broadcast, Collective::reduce}) {
          const Choice choice = choose(layout, Algorithm::automatic, of(what, bytes, bytes));
          REQUIRE(choice.algorithm == Algorithm::chain);
          REQUIRE((choice.cut_bytes >= 8 && choice.cut_bytes <= layout.ring_slice_bytes));
        }
        for (const Collective what : {Collective::all_to_all, Collective::gather, Collective::scatter}) {
          const Choice choice = choose(layout, Algorithm::automatic, of(what, bytes, bytes));
          REQUIRE((choice.algorithm == Algorithm::exchange && choice.cut_bytes == layout.pair_slice_bytes));
        }
      }
    }
  }
}

TEST_CASE("in the order of ranks: windows, the star, or along the chain") {
  const Layout node = node_of(4);
  Layout apart = node;
  apart.windows = false;
  for (const size_t bytes : {size_t{8}, size_t{4096}, size_t{1} << 25}) {
    const Message sum{Collective::all_reduce, bytes, bytes, true};
    CHECK(choose(node, Algorithm::automatic, sum).algorithm ==
          choose(node, Algorithm::automatic, all_reduce(bytes)).algorithm);
    CHECK(choose(node, Algorithm::star, sum).algorithm == Algorithm::star);
    CHECK(choose(node, Algorithm::ring, sum).algorithm == Algorithm::chain);
    CHECK(choose(apart, Algorithm::automatic, sum).algorithm == Algorithm::chain);
    CHECK(choose(node, Algorithm::automatic, {Collective::reduce, bytes, bytes, true}).algorithm == Algorithm::star);
    const Choice scattered = choose(apart, Algorithm::automatic, {Collective::reduce_scatter, bytes, 4 * bytes, true});
    CHECK(scattered.algorithm == Algorithm::star);
    CHECK(scattered.depth <= 2);  // slots of a pair link: more would deadlock
  }
}

TEST_CASE("names go both ways") {
  for (const char* name : {"auto", "one_shot", "two_shot", "ring", "star", "direct", "chain", "exchange"}) {
    REQUIRE(algorithm_by_name(name).has_value());
    CHECK(algorithm_name(*algorithm_by_name(name)) == name);
  }
  CHECK_FALSE(algorithm_by_name("tree").has_value());
}
