#include "common/report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "common/data_types.h"
#include "common/number_format.h"

namespace perf {
namespace {

std::string side_cells(const Side& side, const Options& options) {
  std::string cells =
      fmt::format("  {}  {}  {}", to_width(options.report_cpu_time ? side.cpu_time_us : side.time_us, 7),
                  to_width(side.algorithm_bandwidth, 6), to_width(side.bus_bandwidth, 6));
  cells += "  " + (side.wrong ? count_to_width(*side.wrong, 6) : fmt::format("{:>6}", "N/A"));
  if (side.spread) {
    for (double value :
         {side.spread->min_us, side.spread->max_us, side.spread->p99_us, side.spread->variation_percent}) {
      cells += "  " + to_width(value, 7);
    }
  }
  return cells;
}

std::string side_head(const char* time, const char* algbw, const char* busbw, const char* wrong, bool spread,
                      const std::vector<const char*>& spread_names) {
  std::string head = fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", time, algbw, busbw, wrong);
  for (const char* name : spread_names) {
    if (spread) head += fmt::format("  {:>7}", name);
  }
  return head;
}

// Of an operation that cannot work in place.
std::string no_side_cells(const Options& options) {
  std::string cells = fmt::format("  {0:>7}  {0:>6}  {0:>6}  {0:>6}", "N/A");
  if (options.per_iteration) cells += fmt::format("  {0:>7}  {0:>7}  {0:>7}  {0:>7}", "N/A");
  return cells;
}

// What is wrong, in words; empty if nothing is.
std::string verdict(const Totals& totals) {
  if (!totals.errors.empty()) return "FAILED: " + totals.errors.front();
  if (!totals.right()) {
    return fmt::format("FAILED: {} wrong elements, {} bytes out of bounds", totals.wrong, totals.out_of_bounds);
  }
  return totals.checked ? "" : "results not checked";
}

}  // namespace

std::string opening(const std::string& program, const Options& options, const std::vector<RankInfo>& ranks) {
  int library = 0;
  (void)rondeGetVersion(&library);
  std::string text = fmt::format("# ronde {} version {}.{}.{} ronde-headers={} ronde-library={}\n", program,
                                 RONDE_MAJOR, RONDE_MINOR, RONDE_PATCH, RONDE_VERSION_CODE, library);
  text += fmt::format("# Collective test starting: {}\n", program);
  const std::string step = options.step_factor > 1 ? fmt::format("{}(factor)", options.step_factor)
                                                   : fmt::format("{}(bytes)", options.step_bytes);
  text += fmt::format(
      "# nThread {} nGpus {} minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} agg iters: {} validation: {} "
      "graph: 0 unalign: {}\n",
      options.threads, options.ranks_per_thread, options.min_bytes, options.max_bytes, step, options.warmup_iterations,
      options.iterations, options.calls_per_iteration, options.checks, options.unalign_elements);
  text += "#\n# Using devices\n";
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    text += fmt::format("#  Rank {:>2} Group  0 Pid {:>6} on {:>10} device host memory\n", rank, ranks[rank].pid,
                        ranks[rank].host);
  }
  return text;
}

std::string table_head(const Options& options) {
  const bool spread = options.per_iteration;
  const char* time = options.report_cpu_time ? "cputime" : "time";
  const std::string gap(spread ? 4 * 9 : 0, ' ');
  const std::string stamp = options.report_timestamps ? fmt::format("{:>20}", "timestamp") : "";
  const std::string names = side_head(time, "algbw", "busbw", "#wrong", spread, {"i_min", "i_max", "i_p99", "i_cv%"});
  const std::string units = side_head("(us)", "(GB/s)", "(GB/s)", "", spread, {"(us)", "(us)", "(us)", ""});
  std::string text =
      "#\n#" + std::string(62, ' ') + "out-of-place" + gap + std::string(23, ' ') + "in-place          \n";
  text += fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{} {}\n", "size", "count", "type", "redop", "root", names,
                      names, stamp);
  text += fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{} \n", "(B)", "(elements)", "", "", "", units, units);
  return text;
}

std::string table_row(const Row& row, const Options& options) {
  const char* type = "";
  for (const TypeInfo& info : all_types()) {
    if (info.type == row.type) type = info.name;
  }
  std::string text = fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}", row.bytes, row.count, type, row.op, row.root);
  text += side_cells(row.out_of_place, options);
  text += row.in_place ? side_cells(*row.in_place, options) : no_side_cells(options);
  if (!row.timestamp.empty()) text += "  " + row.timestamp;
  return text + "\n";
}

std::string counters_table(const std::vector<CounterRow>& counters) {
  std::string text = "#\n# Bytes moved by one out-of-place operation of each size\n";
  text += fmt::format("# {:>10}  {:>8}  {:>6}  {:>5}  {:>5}  {:>9}  {:>12}  {:>8}  {:>12}  {:>8}  {:>12}\n", "size",
                      "type", "redop", "root", "rank", "transport", "sent", "headers", "received", "headers", "ideal");
  for (const CounterRow& row : counters) {
    text += fmt::format("# {:>10}  {:>8}  {:>6}  {:>5}  {:>5}  {:>9}  {:>12}  {:>8}  {:>12}  {:>8}  {:>12.0f}\n",
                        row.bytes, row.type, row.op, row.root, row.rank, row.transport, row.sent, row.sent_header,
                        row.received, row.received_header, row.ideal);
  }
  return text;
}

std::string closing(const std::string& program, const Totals& totals) {
  std::string text;
  if (!totals.checked) {
    text = "# Out of bounds values : not checked\n";
  } else if (totals.right()) {
    text = "# Out of bounds values : 0 OK\n";
  } else {
    // Scripts look for "OK" here, so wrong elements inside the bounds must not say it either.
    text = fmt::format("# Out of bounds values : {} FAILED\n", totals.out_of_bounds);
  }
  text += totals.exchanged() ? fmt::format("# Avg bus bandwidth    : {:g} \n#\n", totals.average_bus_bandwidth())
                             : "# Avg bus bandwidth    : N/A (one rank exchanges nothing)\n#\n";
  return text + last_line(program, totals);
}

std::string last_line(const std::string& program, const Totals& totals) {
  const std::string words = verdict(totals);
  return fmt::format("# Collective test concluded: {}{}{}\n", program, words.empty() ? "" : " - ", words);
}

std::string now_text() { return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(std::time(nullptr))); }

}  // namespace perf
