// All that the benchmark programs read from the environment themselves. What the library reads is the library's matter.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace perf {

// A hook for tests of the check itself: "rank:size:index" flips one byte of a result, or of what lies behind it, before
// it is checked.
inline constexpr const char* kFlipVariable = "RONDE_PERF_FLIP";

struct Flip {
  int rank = 0;
  std::size_t bytes = 0;  // the size as the table shows it
  std::size_t index = 0;  // of the byte, from the beginning of the result on
};

// The hook, if it is set. *error is filled if it is set to something else than three numbers.
std::optional<Flip> flip_from_environment(std::string* error);

// Where a launcher put this process, by its variables alone, before anything else is known; 0 where it does not tell.
struct Place {
  int rank = 0;
  int rank_on_host = 0;
};
Place place_from_launcher();

// "VARIABLE=n" for the first variable by which a launcher says that it started n > 1 processes; empty if none does.
std::string launcher_with_several_processes();

// The variables of the environment with the library's prefix. None holds a secret: at most they say where one is.
std::map<std::string, std::string> library_settings();

}  // namespace perf
