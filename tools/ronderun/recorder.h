// The black box of a rank as its agent holds it: made before the rank starts, read when it has failed or is asked
// about.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/status.h"

namespace ronde::launcher {

// An empty file for the rank with that environment to write, above the numbers that scripts use for themselves.
Result<Fd> make_black_box(const std::vector<std::string>& environment, int lowest_descriptor);

// What the process of that rank of the job does, or did when it ended: a line for each of its communicators that is not
// destroyed, at most a few. Nothing if the program does not use the library.
std::vector<std::string> read_activities(int world_rank, const Fd& black_box);

}  // namespace ronde::launcher
