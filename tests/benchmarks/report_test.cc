// The text of the table, against the lines that scripts for nccl-tests know.
#include "common/report.h"

#include <catch2/catch.hpp>

#include "common/number_format.h"

namespace {

using perf::count_to_width;
using perf::to_width;

TEST_CASE("numbers lose decimals to fit, then go to e-notation") {
  CHECK(to_width(95.2, 7) == "  95.20");
  CHECK(to_width(0, 6) == "  0.00");
  CHECK(to_width(123.456, 6) == "123.46");
  CHECK(to_width(1234.56, 6) == "1234.6");
  CHECK(to_width(12345.6, 6) == " 12346");
  CHECK(to_width(123456.7, 6) == "123457");
  CHECK(to_width(999.996, 6) == "1000.0");
  CHECK(to_width(1234567.0, 6) == " 1e+06");
  CHECK(to_width(1234567.0, 7) == "1234567");
  CHECK(to_width(12345678.0, 7) == "1.2e+07");
  CHECK(count_to_width(0, 6) == "     0");
  CHECK(count_to_width(999999, 6) == "999999");
  CHECK(count_to_width(1000000, 6) == " 1e+06");
}

perf::Row sample_row() {
  perf::Row row;
  row.bytes = 1048576;
  row.count = 262144;
  row.op = "sum";
  row.out_of_place = {95.2, 20, 11.01, 19.28, 0, {}};
  row.in_place = perf::Side{94.8, 21, 11.06, 19.36, 0, {}};
  return row;
}

TEST_CASE("head and row have the columns of the format") {
  const perf::Options options;
  CHECK(
      perf::table_head(options) ==
      "#\n"
      "#                                                              out-of-place                       in-place      "
      "    \n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  "
      "#wrong \n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  "
      "(GB/s)         \n");
  CHECK(perf::table_row(sample_row(), options) ==
        "     1048576        262144     float     sum      -1    95.20   11.01   19.28       0    94.80   11.06   "
        "19.36   "
        "    0\n");
}

TEST_CASE("unchecked rows say so") {
  perf::Row row = sample_row();
  row.out_of_place.wrong.reset();
  row.in_place->wrong.reset();
  CHECK(perf::table_row(row, {}) ==
        "     1048576        262144     float     sum      -1    95.20   11.01   19.28     N/A    94.80   11.06   "
        "19.36   "
        "  N/A\n");
}

TEST_CASE("an operation that cannot work in place has no numbers there") {
  perf::Row row = sample_row();
  row.op = "none";
  row.in_place.reset();
  CHECK(perf::table_row(row, {}) ==
        "     1048576        262144     float    none      -1    95.20   11.01   19.28       0      N/A     N/A     "
        "N/A     N/A\n");
  perf::Options options;
  options.per_iteration = true;
  row.out_of_place.spread = perf::spread_of({1});
  const std::string text = perf::table_row(row, options);
  CHECK(text.size() == 52 + 2 * 69 + 1);
  CHECK(text.find("0.00      N/A     N/A     N/A     N/A      N/A      N/A      N/A      N/A\n") != std::string::npos);
}

TEST_CASE("counters name the root, and what the rank moves at least") {
  perf::CounterRow row;
  row.bytes = 64;
  row.type = "float";
  row.op = "none";
  row.root = 2;
  row.transport = "shm";
  row.sent = 48;
  row.ideal = 48;
  const std::string text = perf::counters_table({row});
  CHECK(text.find(
            "#       size      type   redop   root   rank  transport          sent   headers      received   headers "
            "        ideal\n") != std::string::npos);
  CHECK(text.find(
            "#         64     float    none      2      0        shm            48         0             0         0 "
            "           48\n") != std::string::npos);
}

TEST_CASE("processor time, spread and time of day are added where asked for") {
  perf::Options options;
  options.report_cpu_time = true;
  options.per_iteration = true;
  options.report_timestamps = true;
  perf::Row row = sample_row();
  row.out_of_place.spread = perf::spread_of({1, 2, 3});
  row.in_place->spread = perf::spread_of({4});
  row.timestamp = "2026-01-02 03:04:05";
  CHECK(perf::table_row(row, options) ==
        "     1048576        262144     float     sum      -1    20.00   11.01   19.28       0     1.00     3.00     "
        "3.00 "
        "   40.82    21.00   11.06   19.36       0     4.00     4.00     4.00     0.00  2026-01-02 03:04:05\n");
  CHECK(perf::table_head(options).find("  cputime   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%") !=
        std::string::npos);
}

TEST_CASE("the opening names program, settings and ranks") {
  perf::Options options;
  options.min_bytes = options.max_bytes = 1048576;
  options.step_factor = 2;
  const std::string text = perf::opening("allreduce_perf", options, {{4242, "node-a"}, {4243, "node-b"}});
  CHECK(text.find("# Collective test starting: allreduce_perf\n"
                  "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1048576 step: 2(factor) warmup iters: 1 iters: 20 agg "
                  "iters: 1 validation: 1 graph: 0 unalign: 0\n#\n# Using devices\n"
                  "#  Rank  0 Group  0 Pid   4242 on     node-a device host memory\n"
                  "#  Rank  1 Group  0 Pid   4243 on     node-b device host memory\n") != std::string::npos);
}

TEST_CASE("the end tells the truth") {
  perf::Totals totals;
  totals.add_bus_bandwidth(19.28);
  totals.add_bus_bandwidth(19.36);
  CHECK(perf::closing("x_perf", totals) ==
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 19.32 \n#\n# Collective test concluded: x_perf\n");
  totals.ranks.resize(1);
  CHECK(perf::closing("x_perf", totals).find("\n# Avg bus bandwidth    : N/A (one rank exchanges nothing)\n#\n") !=
        std::string::npos);
  totals.ranks.resize(2);
  totals.wrong = 3;
  CHECK(perf::closing("x_perf", totals).find("OK") == std::string::npos);
  CHECK(perf::last_line("x_perf", totals) ==
        "# Collective test concluded: x_perf - FAILED: 3 wrong elements, 0 bytes out of bounds\n");
  totals.wrong = 0;
  totals.out_of_bounds = 2;
  CHECK(perf::closing("x_perf", totals).find("# Out of bounds values : 2 FAILED\n") == 0);
  totals.out_of_bounds = 0;
  totals.checked = false;
  CHECK(perf::closing("x_perf", totals).find("# Out of bounds values : not checked\n") == 0);
  CHECK(perf::last_line("x_perf", totals) == "# Collective test concluded: x_perf - results not checked\n");
  totals.errors = {"rank 1: peer lost"};
  CHECK(perf::last_line("x_perf", totals) == "# Collective test concluded: x_perf - FAILED: rank 1: peer lost\n");
}

TEST_CASE("percentiles") {
  std::vector<double> values;
  for (int i = 100; i > 0; --i) values.push_back(i);
  CHECK(perf::percentile(values, 50) == 50);
  CHECK(perf::percentile(values, 99) == 99);
  CHECK(perf::percentile(values, 100) == 100);
  CHECK(perf::percentile({7}, 1) == 7);
}

}  // namespace
