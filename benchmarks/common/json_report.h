// The results as a JSON file, with the keys of nccl-tests.
#pragma once

#include <string>
#include <vector>

#include "common/options.h"
#include "common/results.h"

namespace perf {

struct JsonReport {
  std::string program;
  std::vector<std::string> arguments;
  std::string start_time;
  const Options& options;
  const Totals& totals;
};

// The document as text.
std::string to_json(const JsonReport& report);

// Writes text to path, or to path.0, path.1 ... if that is there already. Returns the name of the file, or an empty
// string and the system's reason in *why.
std::string write_new_file(const std::string& path, const std::string& text, std::string* why);

}  // namespace perf
