#include "ronderun/lines.h"

#include <catch2/catch.hpp>
#include <random>

using namespace ronde::launcher;
using namespace std::chrono_literals;

namespace {

const ronde::Time kStart{};
const Source kA{0, 1};
const Source kB{1, 1};

}  // namespace

TEST_CASE("lines of two sources never mix") {
  LineMerger merger({});
  merger.add(kA, "one ", kStart);
  merger.add(kB, "x\ny", kStart);
  CHECK(merger.take() == "x\n");
  merger.add(kA, "line\ntwo", kStart);
  CHECK(merger.take() == "one line\n");
  merger.end(kB);
  CHECK(merger.take() == "y");
  merger.end_all();
  CHECK(merger.take() == "\ntwo");
  merger.message("said");
  CHECK(merger.take() == "\nsaid\n");
}

TEST_CASE("a prefix for each line") {
  LineMerger merger({false, true, false});
  merger.add(kB, "a\n\nb", kStart);
  merger.add(kB, "c\n", kStart);
  merger.add({-1, 2}, "from a remote shell\n", kStart);
  merger.add(kA, "end", kStart);
  merger.end(kA);
  CHECK(merger.take() == "[1] a\n[1] \n[1] bc\nfrom a remote shell\n[0] end");
}

TEST_CASE("a terminal shows an unfinished line after a while if there is only one") {
  LineMerger merger({false, false, true});
  merger.add(kA, "50%", kStart);
  CHECK(merger.next_deadline().time() == kStart + 100ms);
  merger.advance(kStart + 99ms);
  CHECK(merger.empty());
  merger.advance(kStart + 100ms);
  CHECK(merger.take() == "50%");
  merger.add(kA, "\r60%", kStart + 150ms);
  CHECK(merger.take() == "\r60%");  // its line is there already
  merger.add(kB, "other\n", kStart + 200ms);
  CHECK(merger.take() == "\nother\n");

  merger.add(kA, "a", kStart + 300ms);
  merger.add(kB, "b", kStart + 300ms);
  CHECK(merger.next_deadline().time() == ronde::Time::max());
  merger.advance(kStart + 1h);
  CHECK(merger.empty());
}

TEST_CASE("a file gets whole lines only") {
  LineMerger merger({});
  merger.add(kA, "part", kStart);
  CHECK(merger.next_deadline().time() == ronde::Time::max());
  merger.advance(kStart + 1h);
  CHECK(merger.empty());
}

TEST_CASE("one rank's output stays as it is") {
  LineMerger merger({true, false, false});
  merger.add(kA, std::string("a\0b", 3), kStart);
  merger.add({0, 2}, "x\n", kStart);
  CHECK(merger.take() == std::string("a\0bx\n", 5));
}

TEST_CASE("an endless line does not fill the memory") {
  LineMerger merger({});
  const std::string piece(100'000, 'x');
  size_t written = 0;
  for (int i = 0; i < 100; ++i) {
    merger.add(kA, piece, kStart);
    written += merger.take().size();
    CHECK(static_cast<size_t>(i + 1) * piece.size() - written <= LineMerger::kMaxLineBytes);
  }
  merger.end(kA);
  CHECK(written + merger.take().size() == 100 * piece.size());
}

TEST_CASE("any cut of the stream gives the same lines") {
  std::string text;
  for (int i = 0; i < 200; ++i) text += std::string(static_cast<size_t>(i) % 17, 'x') + "\n";
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    LineMerger merger({false, true, false});
    for (size_t at = 0; at < text.size();) {
      const size_t size = 1 + random() % 40;
      merger.add(kA, std::string_view(text).substr(at, size), kStart);
      at += size;
    }
    LineMerger whole({false, true, false});
    whole.add(kA, text, kStart);
    REQUIRE(merger.take() == whole.take());
  }
}
