#include "base/printable.h"

#include <catch2/catch.hpp>

using ronde::printable;

TEST_CASE("Text that a terminal only shows stays as it is") {
  for (const char* text : {"", "node-a", "Zürich", "日本", "\xf0\x9f\x92\x83"}) CHECK(printable(text) == text);
}

TEST_CASE("What a terminal would obey, and what is no UTF-8, becomes a question mark") {
  CHECK(printable("\x1b[31mred\n\x7f") == "?[31mred??");
  CHECK(printable("\xc2\x9b"
                  "31m") == "?31m");  // CSI as one character
  CHECK(printable("a\xe2\x80\xae"
                  "b") == "a?b");             // right-to-left override
  CHECK(printable("\x9b\xff") == "??");       // alone
  CHECK(printable("\xc0\x9b") == "??");       // longer than it may be
  CHECK(printable("\xed\xa0\x80") == "???");  // half of a surrogate pair
  CHECK(printable("\xe2\x82") == "??");       // cut off
}
