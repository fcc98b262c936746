#include "plan/choose.h"

#include <catch2/catch.hpp>

using namespace ronde::plan;

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
  layout.star_slice_bytes = 64 << 10;
  return layout;
}

}  // namespace

TEST_CASE("in a node the message's size decides") {
  const Layout layout = node_of(4);
  CHECK(choose(layout, Algorithm::automatic, 0).algorithm == Algorithm::line);
  CHECK(choose(layout, Algorithm::automatic, 56).algorithm == Algorithm::line);
  CHECK(choose(layout, Algorithm::automatic, 57).algorithm == Algorithm::one_shot);
  CHECK(choose(layout, Algorithm::automatic, 64 << 20).algorithm == Algorithm::two_shot);
}

TEST_CASE("between nodes it is the ring") {
  Layout layout = node_of(4);
  layout.windows = false;
  for (const size_t bytes : {size_t{0}, size_t{8}, size_t{1} << 30}) {
    CHECK(choose(layout, Algorithm::automatic, bytes).algorithm == Algorithm::ring);
  }
}

TEST_CASE("a request is followed at every size") {
  const Layout layout = node_of(3);
  for (const size_t bytes : {size_t{0}, size_t{8}, size_t{4096}, size_t{1} << 30}) {
    CHECK(choose(layout, Algorithm::ring, bytes).algorithm == Algorithm::ring);
    CHECK(choose(layout, Algorithm::star, bytes).algorithm == Algorithm::star);
    CHECK(choose(layout, Algorithm::two_shot, bytes).algorithm == Algorithm::two_shot);
  }
  CHECK(choose(layout, Algorithm::one_shot, 57).algorithm == Algorithm::one_shot);
  CHECK(choose(layout, Algorithm::one_shot, 56).algorithm == Algorithm::line);  // one-shot within a line
}

TEST_CASE("a cut fits its slot, is whole in every type, and never empty") {
  for (int nranks = 2; nranks <= 64; ++nranks) {
    const Layout layout = node_of(nranks);
    for (size_t bytes = 0; bytes < size_t{1} << 33; bytes = bytes * 3 + 7) {
      for (const auto algorithm : {Algorithm::ring, Algorithm::star, Algorithm::one_shot, Algorithm::two_shot}) {
        const Choice choice = choose(layout, algorithm, bytes);
        const size_t slot = algorithm == Algorithm::ring       ? layout.ring_slice_bytes
                            : algorithm == Algorithm::star     ? layout.star_slice_bytes
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

TEST_CASE("names go both ways") {
  for (const char* name : {"auto", "one_shot", "two_shot", "ring", "star"}) {
    REQUIRE(algorithm_by_name(name).has_value());
    CHECK(algorithm_name(*algorithm_by_name(name)) == name);
  }
  CHECK_FALSE(algorithm_by_name("tree").has_value());
}
