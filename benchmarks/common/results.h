// What was measured, before it is shown.
#pragma once

#include <ronde/ronde.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace perf {

// Spread of the iterations of one side, with -I.
struct Spread {
  double min_us = 0;
  double max_us = 0;
  double p50_us = 0;
  double p95_us = 0;
  double p99_us = 0;
  double variation_percent = 0;  // standard deviation over mean
  std::vector<double> times_us;
};

// Out of place or in place.
struct Side {
  double time_us = 0;  // of one call
  double cpu_time_us = 0;
  double algorithm_bandwidth = 0;  // 1e9 bytes a second
  double bus_bandwidth = 0;
  std::optional<std::uint64_t> wrong;  // elements, over all ranks; nothing: not checked
  std::optional<Spread> spread;
};

struct Row {
  std::size_t bytes = 0;
  std::size_t count = 0;
  rondeDataType_t type = rondeFloat32;
  std::string op;
  int root = -1;
  Side out_of_place;
  std::optional<Side> in_place;  // nothing: the operation cannot work in place
  std::string timestamp;
};

// A process and a rank in it.
struct RankInfo {
  int pid = 0;
  std::string host;
};

// What one rank moved in one operation, over one transport.
struct CounterRow {
  std::size_t bytes = 0;
  std::string type;
  std::string op;
  int root = -1;
  int rank = 0;
  std::string transport;
  std::uint64_t sent = 0;
  std::uint64_t sent_header = 0;
  std::uint64_t received = 0;
  std::uint64_t received_header = 0;
  double ideal = 0;  // what this rank sends or receives at least, whichever is more
};

struct Totals {
  std::vector<RankInfo> ranks;
  std::vector<Row> rows;
  std::vector<double> step_us;  // with --sizes-from
  std::vector<CounterRow> counters;
  double bus_bandwidth_sum = 0;  // over both sides of all rows
  int bus_bandwidths = 0;
  std::uint64_t out_of_bounds = 0;  // guard bytes and input elements that changed
  std::uint64_t wrong = 0;
  bool checked = true;
  std::vector<std::string> errors;

  // One rank alone copies within its memory, or does nothing at all: its bandwidths say nothing.
  bool exchanged() const { return ranks.size() != 1; }
  bool right() const { return wrong == 0 && out_of_bounds == 0; }
  double average_bus_bandwidth() const { return bus_bandwidths == 0 ? 0 : bus_bandwidth_sum / bus_bandwidths; }
  void add_bus_bandwidth(double bandwidth);
};

// p in percent; the smallest value that at least p percent are not above. values need no order, and are not empty.
double percentile(std::vector<double> values, double p);

Spread spread_of(const std::vector<double>& times_us);

}  // namespace perf
