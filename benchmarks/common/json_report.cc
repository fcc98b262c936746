#include "common/json_report.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "common/data_types.h"
#include "common/environment.h"
#include "common/report.h"

namespace perf {
namespace {

using Json = nlohmann::ordered_json;

Json side_json(const Side& side, bool cpu_time) {
  Json json;
  json[cpu_time ? "cpu_time" : "time"] = cpu_time ? side.cpu_time_us : side.time_us;
  json["alg_bw"] = side.algorithm_bandwidth;
  json["bus_bw"] = side.bus_bandwidth;
  json["nwrong"] = side.wrong ? Json(*side.wrong) : Json("N/A");
  if (side.spread) {
    const Spread& spread = *side.spread;
    json["per_iter"] = {{"min", spread.min_us},    {"max", spread.max_us}, {"p50", spread.p50_us},
                        {"p95", spread.p95_us},    {"p99", spread.p99_us}, {"cv_percent", spread.variation_percent},
                        {"times", spread.times_us}};
  }
  return json;
}

// The same keys, so that readers find them; null is no number, as a time of 0 would be.
Json no_side_json(bool cpu_time) {
  return {{cpu_time ? "cpu_time" : "time", nullptr}, {"alg_bw", nullptr}, {"bus_bw", nullptr}, {"nwrong", "N/A"}};
}

Json config_json(const JsonReport& report) {
  const Options& options = report.options;
  Json devices = Json::array();
  for (std::size_t rank = 0; rank < report.totals.ranks.size(); ++rank) {
    const RankInfo& info = report.totals.ranks[rank];
    devices.push_back({{"rank", rank}, {"pid", info.pid}, {"hostname", info.host}, {"device", "host memory"}});
  }
  return {{"nthreads", options.threads},
          {"ngpus", options.ranks_per_thread},
          {"minbytes", options.min_bytes},
          {"maxbytes", options.max_bytes},
          {"stepbytes", options.step_bytes},
          {"stepfactor", options.step_factor},
          {"warmup_iters", options.warmup_iterations},
          {"iters", options.iterations},
          {"agg_iters", options.calls_per_iteration},
          {"validation", options.checks},
          {"unalign", options.unalign_elements},
          {"devices", devices}};
}

Json rows_json(const JsonReport& report) {
  Json rows = Json::array();
  const bool cpu_time = report.options.report_cpu_time;
  for (const Row& row : report.totals.rows) {
    rows.push_back({{"size", row.bytes},
                    {"count", row.count},
                    {"type", type_info(row.type).name},
                    {"redop", row.op},
                    {"root", std::to_string(row.root)},
                    {"out_of_place", side_json(row.out_of_place, cpu_time)},
                    {"in_place", row.in_place ? side_json(*row.in_place, cpu_time) : no_side_json(cpu_time)},
                    {"actual_iterations", report.options.iterations}});
  }
  return rows;
}

Json counters_json(const std::vector<CounterRow>& counters) {
  Json rows = Json::array();
  for (const CounterRow& row : counters) {
    rows.push_back({{"size", row.bytes},
                    {"type", row.type},
                    {"redop", row.op},
                    {"root", std::to_string(row.root)},
                    {"rank", row.rank},
                    {"transport", row.transport},
                    {"sent", row.sent},
                    {"sent_header", row.sent_header},
                    {"received", row.received},
                    {"received_header", row.received_header},
                    {"ideal", row.ideal}});
  }
  return rows;
}

}  // namespace

std::string to_json(const JsonReport& report) {
  int library = 0;
  (void)rondeGetVersion(&library);
  Json json;
  json["version"] = std::to_string(RONDE_MAJOR) + "." + std::to_string(RONDE_MINOR) + "." + std::to_string(RONDE_PATCH);
  json["program"] = report.program;
  json["start_time"] = report.start_time;
  json["args"] = report.arguments;
  json["env"] = library_settings();
  json["ronde_version"] = library;
  json["config"] = config_json(report);
  json["results"] = rows_json(report);
  if (!report.totals.step_us.empty()) json["step_us"] = report.totals.step_us;
  if (!report.totals.counters.empty()) json["counters"] = counters_json(report.totals.counters);
  json["out_of_bounds"] = report.totals.checked ? Json(report.totals.out_of_bounds) : Json("N/A");
  json["average_bus_bandwidth"] = report.totals.exchanged() ? Json(report.totals.average_bus_bandwidth()) : Json();
  json["errors"] = report.totals.errors;
  json["end_time"] = now_text();
  // An environment variable may hold bytes that are no UTF-8; they must not cost the whole report.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string write_new_file(const std::string& path, const std::string& text, std::string* why) {
  std::string name = path;
  struct stat info {};
  const bool is_device = stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);  // nothing there is overwritten
  int file = is_device ? open(name.c_str(), O_WRONLY | O_CLOEXEC)
                       : open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  for (int number = 0; file < 0 && errno == EEXIST; ++number) {
    name = path + "." + std::to_string(number);
    file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  }
  std::size_t written = 0;
  while (file >= 0 && written < text.size()) {
    const ssize_t now = write(file, text.data() + written, text.size() - written);
    if (now < 0 && errno != EINTR) break;
    if (now > 0) written += static_cast<std::size_t>(now);
  }
  const bool complete = file >= 0 && written == text.size();
  if (!complete) *why = std::strerror(errno);
  if (file >= 0) close(file);
  return complete ? name : "";
}

}  // namespace perf
