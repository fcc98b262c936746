// What one check has found, as every report shows it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace ronde::doctor {

enum class State { ok, warning, problem };

struct Finding {
  State state = State::ok;
  std::string what;    // what was looked at
  std::string value;   // what was found
  std::string remedy;  // what the user can do; empty where all is well, or where the value says it
};

// The library's own message as a problem.
inline Finding problem_of(std::string what, const Status& status, std::string remedy = "") {
  return {State::problem, std::move(what), status.message(), std::move(remedy)};
}

}  // namespace ronde::doctor
