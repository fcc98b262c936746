// The text that goes to stdout: the columns and widths of nccl-tests. Returns strings, prints nothing.
#pragma once

#include <string>
#include <vector>

#include "common/options.h"
#include "common/results.h"

namespace perf {

// The comment lines down to the ranks.
std::string opening(const std::string& program, const Options& options, const std::vector<RankInfo>& ranks);

// The three lines over the table.
std::string table_head(const Options& options);

std::string table_row(const Row& row, const Options& options);

std::string counters_table(const std::vector<CounterRow>& counters);

// The last lines. The very last one says when results are wrong or were not checked.
std::string closing(const std::string& program, const Totals& totals);

// The last line alone, which also tells of errors. Used when a run ended early, too.
std::string last_line(const std::string& program, const Totals& totals);

// The time of day, for -S and the JSON file.
std::string now_text();

}  // namespace perf
