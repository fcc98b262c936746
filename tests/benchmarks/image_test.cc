// What a buffer must hold, where stretches cover each other.
#include "common/image.h"

#include <catch2/catch.hpp>
#include <set>

namespace {

using perf::Image;
using perf::Stretch;

constexpr std::size_t kCount = 100;

struct Fixture {
  perf::Pattern pattern{perf::Reduction{rondeInt32, perf::kNoReduction, 2}};
  const perf::TypeInfo& type = pattern.type();
  std::vector<std::byte> memory = std::vector<std::byte>(kCount * type.bytes);

  Stretch stretch(std::size_t place, std::size_t count, int rank, Stretch::Kind kind) {
    return {.place = place, .count = count, .tile = &pattern.input(rank), .first = 1000, .kind = kind};
  }
  Stretch filler() { return {.place = 0, .count = kCount, .tile = &pattern.filler(), .first = 1000}; }
  std::uint64_t at(std::size_t place) const { return perf::load_bits(type, &memory[place * type.bytes]); }
  std::uint64_t input(int rank, std::size_t index) const {
    return perf::input_bits({rondeInt32, perf::kNoReduction, 2}, rank, index);
  }
  void spoil(std::size_t place) { memory[place * type.bytes] ^= std::byte{1}; }
};

TEST_CASE("later stretches cover earlier ones, whose rest keeps its pattern") {
  Fixture f;
  Image image;
  image.cover(f.filler());
  image.cover(f.stretch(10, 50, 0, Stretch::Kind::kUntouched));
  image.cover(f.stretch(20, 10, 1, Stretch::Kind::kResult));
  image.cover(f.stretch(55, 10, 1, Stretch::Kind::kPoison));
  image.cover(f.stretch(30, 0, 1, Stretch::Kind::kPoison));
  image.write(f.type, f.memory.data());
  CHECK(f.at(10) == f.input(0, 1000));
  CHECK(f.at(19) == f.input(0, 1009));
  CHECK(f.at(20) == f.input(1, 1000));
  CHECK(f.at(29) == f.input(1, 1009));
  CHECK(f.at(30) == f.input(0, 1020));
  CHECK(f.at(54) == f.input(0, 1044));
  CHECK(f.at(55) == (~f.input(1, 1000) & 0xffffffff));
  CHECK(f.at(64) == (~f.input(1, 1009) & 0xffffffff));
  const std::uint64_t after_all = f.at(65);
  Image alone;
  alone.cover(f.filler());
  alone.write(f.type, f.memory.data());
  CHECK(f.at(65) == after_all);
}

TEST_CASE("what differs counts as wrong in results, as out of bounds elsewhere") {
  Fixture f;
  Image image;
  image.cover(f.filler());
  image.cover(f.stretch(40, 20, 0, Stretch::Kind::kResult));
  image.cover(f.stretch(70, 10, 1, Stretch::Kind::kUntouched));
  image.write(f.type, f.memory.data());
  CHECK(image.compare(f.type, f.memory.data()).wrong == 0);
  CHECK(image.compare(f.type, f.memory.data()).out_of_bounds == 0);
  for (std::size_t place : {39, 40, 59, 60, 75, 99}) f.spoil(place);
  CHECK(image.compare(f.type, f.memory.data()).wrong == 2);
  CHECK(image.compare(f.type, f.memory.data()).out_of_bounds == 4);
}

TEST_CASE("the filler is what no rank gives, and finite") {
  for (const perf::TypeInfo& type : perf::all_types()) {
    perf::Pattern pattern({type.type, rondeSum, 3});
    std::set<int> ranks_with_the_same;
    for (int rank = 0; rank < 3; ++rank) {
      if (pattern.filler() == pattern.input(rank)) ranks_with_the_same.insert(rank);
    }
    CHECK(ranks_with_the_same.empty());
    for (std::size_t index = 0; type.kind == perf::Kind::kFloat && index < perf::kPeriod; ++index) {
      const double value = perf::decode(type, perf::load_bits(type, &pattern.filler()[index * type.bytes]));
      if (!(value > -1e20 && value < 1e20)) FAIL(type.name << " " << value);
    }
  }
}

}  // namespace
