#include "schedule/partition.h"

#include <catch2/catch.hpp>
#include <cstdint>

using ronde::schedule::even_part;
using ronde::schedule::Range;
using ronde::schedule::slice_of;
using ronde::schedule::slice_rounds;

namespace {

// Whether the parts follow each other without gap or overlap, fill 0..count, and start at multiples of grain. A plain
// function: a CHECK for each of a million parts would take most of the time.
bool covers(size_t count, int parts, size_t grain) {
  size_t end = 0;
  for (int part = 0; part < parts; ++part) {
    const Range range = even_part(count, parts, part, grain);
    if (range.offset != end || range.end() < range.offset) return false;
    if (range.count > 0 && range.offset % grain != 0) return false;
    if (range.count > even_part(count, parts, 0, grain).count) return false;
    end = range.end();
  }
  return end == count;
}

bool slices_cover(Range chunk, size_t slice_count) {
  size_t end = chunk.offset;
  const size_t rounds = slice_rounds(chunk.count, slice_count);
  for (size_t slice = 0; slice < rounds; ++slice) {
    const Range range = slice_of(chunk, slice_count, slice);
    if (range.offset != end || range.count > slice_count) return false;
    if (slice + 1 < rounds && range.count != slice_count) return false;
    end = range.end();
  }
  return end == chunk.end();
}

}  // namespace

TEST_CASE("parts cover a range exactly") {
  for (const size_t grain : {1, 2, 3, 4, 16, 32, 64}) {
    for (int parts = 1; parts <= 33; ++parts) {
      for (size_t count = 0; count <= 200; ++count) {
        if (!covers(count, parts, grain)) FAIL("count " << count << " parts " << parts << " grain " << grain);
      }
    }
  }
}

TEST_CASE("case_04_fewer_elements_than_parts: all of them in the first parts") {
  for (size_t count = 1; count <= 7; ++count) {
    for (int part = 0; part < 8; ++part) {
      CHECK(even_part(count, 8, part, 1).count == (static_cast<size_t>(part) < count ? 1 : 0));
      CHECK(even_part(count, 8, part, 16).count == (part == 0 ? count : 0));
    }
  }
}

TEST_CASE("case_05_nothing_to_send: every part is empty and there is one round") {
  for (int part = 0; part < 4; ++part) CHECK(even_part(0, 4, part, 16).count == 0);
  CHECK(slice_rounds(0, 1024) == 1);
  CHECK(slice_of({0, 0}, 1024, 0).count == 0);
}

TEST_CASE("case_07_large_counts: parts and slices do not overflow near 2^31, 2^32 and 2^63") {
  for (const int power : {31, 32, 63}) {
    const size_t middle = size_t{1} << power;
    for (size_t count = middle - 40; count <= middle + 40; ++count) {
      for (const int parts : {1, 2, 3, 5, 7, 8, 33, 128, 1024}) {
        for (const size_t grain : {1, 16, 64}) {
          if (!covers(count, parts, grain)) FAIL("count " << count << " parts " << parts << " grain " << grain);
        }
      }
      const size_t slice_count = middle / 16 + 3;
      for (const int part : {0, 2}) {
        if (!slices_cover(even_part(count, 3, part, 16), slice_count)) FAIL("count " << count << " part " << part);
      }
    }
  }
}

TEST_CASE("slices cover a chunk exactly") {
  for (size_t count = 0; count <= 200; ++count) {
    for (const size_t slice_count : {1, 2, 3, 7, 64, 199, 200, 201, 1000}) {
      if (!slices_cover({17, count}, slice_count)) FAIL("count " << count << " slice " << slice_count);
    }
  }
}

TEST_CASE("slices beyond a short chunk are empty, so that all go through the rounds of the longest") {
  const Range chunk{100, 10};
  CHECK(slice_of(chunk, 4, 2).count == 2);
  CHECK(slice_of(chunk, 4, 3).count == 0);
  CHECK(slice_of(chunk, 4, 3).offset == chunk.end());
}
