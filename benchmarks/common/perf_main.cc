// The main program of every *_perf: who am I, which ranks do I have, measure, report.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "common/collective.h"
#include "common/crew.h"
#include "common/data_types.h"
#include "common/environment.h"
#include "common/gather.h"
#include "common/json_report.h"
#include "common/measure.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/report.h"
#include "common/team.h"
#include "common/trace_run.h"

namespace perf {
namespace {

// Why something that was printed is lost; by the thread with rank 0.
int output_error = 0;

void print(const std::string& text) {
  if ((std::fputs(text.c_str(), stdout) == EOF || std::fflush(stdout) == EOF) && output_error == 0)
    output_error = errno;
}

// Else the library's first files would be taken for the standard ones, and what is printed go into a connection.
void take_standard_files() {
  for (int file = 0; file <= 2; ++file) {
    if (fcntl(file, F_GETFD) < 0) open("/dev/null", O_RDONLY);  // writing fails, as it should
  }
}

int fail(const Facts& facts, int exit_code, const std::string& text) {
  std::fprintf(stderr, "%s: %s\n", facts.program, text.c_str());
  return exit_code;
}

int fail_to_print(const Facts& facts) {
  return fail(facts, 1, fmt::format("cannot write to the standard output: {}", std::strerror(output_error)));
}

// What all threads of the process share. Written by the first thread alone, read when all have ended.
struct Job {
  Collective& collective;
  const Facts facts;
  const Options& options;
  rondeWorld_t world;
  rondeUniqueId id;
  std::vector<Tensor> tensors;  // with --sizes-from
  std::optional<Flip> flip;
  std::string refusal;  // why no rank can run this; rank 0 has said it
  Totals totals;

  int ranks_per_process() const { return options.threads * options.ranks_per_thread; }
  int nranks() const { return world.nranks * ranks_per_process(); }
};

// The whole run of one thread. Reports to stdout if it has rank 0, and into job.totals if it is the first thread.
class RankThread {
 public:
  RankThread(Job& job, int thread, Progress* progress)
      : job_(job),
        first_(thread == 0),
        team_(job.options.ranks_per_thread, job.nranks(), job.options.null_stream, progress) {}

  void run() {
    team_.join(job_.id);
    team_.enter("gathering ranks", 0);
    std::vector<RankInfo> ranks = gather_ranks(team_);
    if (team_.is_root()) print(opening(job_.facts.program, job_.options, ranks));
    if (team_.is_root() && ranks.size() == 1) {
      print(fmt::format(
          "#\n# One rank: nothing is exchanged. Bandwidths are those of a copy, or in place of nothing at all.\n"
          "# For four ranks: ronderun -n 4 {}\n",
          job_.facts.program));
    }
    if (first_) job_.totals.ranks = std::move(ranks);
    const std::string refusal = job_.options.sizes_from.empty() ? run_sizes() : run_tensors();
    // Before the barrier, as a launcher ends all ranks when the first one has failed.
    if (team_.is_root() && !refusal.empty()) fail(job_.facts, 1, refusal);
    if (first_) job_.refusal = refusal;
    team_.enter("saying goodbye", 0);
    team_.barrier();
  }

  void abort() { team_.abort(); }

 private:
  // Returns why not, the same on all ranks.
  std::string run_tensors() {
    const std::size_t needed = trace_buffer_bytes(job_.options, job_.tensors);
    if (const std::size_t greatest = agreed_buffer_bytes(); needed > greatest) {
      return fmt::format(
          "--sizes-from: all tensors need {} bytes in each of two buffers a rank; with {} memory has room for {}",
          needed, ranks_text(), greatest);
    }
    const TraceResult result = run_trace(job_.collective, job_.options, job_.tensors, team_);
    if (team_.is_root()) print(trace_report(job_.options, job_.tensors, result));
    if (!first_) return {};
    job_.totals.step_us = result.step_us;
    job_.totals.add_bus_bandwidth(result.bus_bandwidth);
    job_.totals.wrong = result.wrong;
    job_.totals.out_of_bounds = result.out_of_bounds;
    return {};
  }

  // Returns why not, the same on all ranks.
  std::string run_sizes() {
    const Options& options = job_.options;
    const std::size_t greatest = agreed_buffer_bytes() / buffer_share(job_.collective, options, job_.nranks());
    if (options.min_bytes > greatest) {
      return fmt::format(
          "-b/--minbytes: a size of {} bytes does not fit into memory; with {} there is room for {} bytes at most",
          options.min_bytes, ranks_text(), greatest);
    }
    if (options.max_bytes > greatest && team_.is_root()) {
      print(fmt::format("# Sizes above {} bytes are left out: memory is too small\n", greatest));
    }
    const std::size_t max_bytes = std::min(options.max_bytes, greatest);
    Measure measure(job_.collective, job_.options, max_bytes, job_.flip, team_);
    if (team_.is_root()) print(table_head(job_.options));
    for (int cycle = 0; job_.options.cycles == 0 || cycle < job_.options.cycles; ++cycle) {
      for_each_size(max_bytes, measure, [&](std::size_t bytes) { add(measure.run(bytes)); });
    }
    std::vector<CounterRow> counters;
    if (job_.options.counters) {
      for_each_size(max_bytes, measure, [&](std::size_t bytes) {
        const std::vector<CounterRow> rows = measure.count_traffic(bytes);
        counters.insert(counters.end(), rows.begin(), rows.end());
      });
      if (team_.is_root()) print(counters_table(counters));
    }
    if (!first_) return {};
    job_.totals.counters = std::move(counters);
    job_.totals.out_of_bounds = measure.out_of_bounds();
    return {};
  }

  template <typename Act>
  void for_each_size(std::size_t max_bytes, Measure& measure, const Act& act) {
    for (rondeDataType_t type : job_.options.types) {
      for (rondeRedOp_t op : job_.options.ops) {
        if (!fits(op, type)) continue;
        for (int root : roots_of(job_.options, job_.facts, job_.nranks())) {
          measure.select(type, op, root);
          for (std::size_t bytes : sizes_of(job_.options)) {
            if (bytes <= max_bytes) act(bytes);
          }
        }
      }
    }
  }

  void add(const Row& row) {
    if (team_.is_root()) print(table_row(row, job_.options));
    if (!first_) return;
    for (const Side* side : {&row.out_of_place, row.in_place ? &*row.in_place : nullptr}) {
      if (side == nullptr) continue;
      job_.totals.wrong += side->wrong.value_or(0);
      job_.totals.add_bus_bandwidth(side->bus_bandwidth);
    }
    // An endless run must not fill the memory with rows that nobody will read.
    if (job_.options.cycles > 0) job_.totals.rows.push_back(row);
  }

  // What one of the two buffers of a rank may have, on every host.
  std::size_t agreed_buffer_bytes() {
    // Where the launcher does not tell, all of them may be on this host.
    const int processes_here = job_.world.localNranks > 0 ? job_.world.localNranks : job_.world.nranks;
    const auto buffers =
        2 * static_cast<std::size_t>(job_.ranks_per_process()) * static_cast<std::size_t>(processes_here);
    std::vector<double> greatest = {static_cast<double>(greatest_buffer(buffers))};
    team_.reduce(&greatest, rondeMin);
    return static_cast<std::size_t>(std::min(greatest[0], 9e18));
  }

  std::string ranks_text() const { return job_.nranks() == 1 ? "one rank" : fmt::format("{} ranks", job_.nranks()); }

  Job& job_;
  const bool first_;
  Team team_;
};

// Returns what went wrong, or an empty string.
std::string run_thread(Job& job, int thread, Progress* progress) {
  RankThread ranks(job, thread, progress);
  try {
    ranks.run();
    return {};
  } catch (const LibraryError& error) {
    ranks.abort();
    return error.what();
  } catch (const std::exception& error) {
    ranks.abort();
    return fmt::format("rank {}: {} ({}, {} bytes)", progress->first_rank(), error.what(), progress->phase(),
                       progress->bytes());
  }
}

// For what is wrong on several processes alike: one of them tells. A launcher ends all of them when the first one ends,
// so that one has to be it.
int refuse(bool tells, const std::string& text) {
  if (tells) {
    std::fputs(text.c_str(), stderr);
  } else {
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
  return 2;
}

int refuse(const Facts& facts, bool tells, const std::string& text) {
  return refuse(tells, fmt::format("{}: {}\n", facts.program, text));
}

// Reads what the command line and the environment name, or says what is wrong with it.
std::string read_inputs(Job* job) {
  std::string error;
  job->flip = flip_from_environment(&error);
  if (!error.empty()) return error;
  if (!job->options.own_flag.empty()) {
    error = job->collective.take_own_flag(job->options.own_flag);
    if (!error.empty()) return fmt::format("{} {}: {}", job->facts.own_flag, job->options.own_flag, error);
  }
  if (job->options.sizes_from.empty()) return {};
  auto tensors = read_trace(job->options.sizes_from, &error);
  if (!tensors) return "--sizes-from: " + error;
  job->tensors = std::move(*tensors);
  return {};
}

// What cannot be run with the number of ranks that there are.
std::string check_ranks(const Job& job) {
  const int nranks = job.nranks();
  if (job.flip && job.flip->rank >= nranks) {
    return fmt::format("{} names rank {}, there are {}", kFlipVariable, job.flip->rank, nranks);
  }
  if (job.facts.has_root && job.options.root >= nranks) {
    return fmt::format("-r/--root: root {} is none of the {} ranks, which count from 0", job.options.root, nranks);
  }
  return job.collective.take_ranks(nranks);
}

// Finds the place of this process, or says why it cannot go on.
std::string find_world(Job* job) {
  job->world.size = sizeof(job->world);
  const rondeResult_t result = rondeGetWorldFromEnv(&job->world, &job->id);
  if (result != rondeSuccess) {
    return fmt::format("cannot find the other processes: {}: {}", rondeGetErrorString(result),
                       rondeGetLastError(nullptr));
  }
  const std::string launcher = launcher_with_several_processes();
  if (job->world.nranks == 1 && !launcher.empty()) {
    return fmt::format(
        "a launcher started several processes ({}) but the library sees one rank; refuses to run many single-rank "
        "jobs. "
        "Start with ronderun, mpirun, srun or torchrun itself, or unset that variable",
        launcher);
  }
  return {};
}

int report_end(const Job& job, const JsonReport& json) {
  const bool root = job.world.rank == 0;
  const bool failed = !job.totals.errors.empty();
  const std::string program = job.facts.program;
  if (root) print(failed ? last_line(program, job.totals) : closing(program, job.totals));
  if (root && !job.options.json_file.empty()) {
    std::string why;
    if (write_new_file(job.options.json_file, to_json(json), &why).empty()) {
      return fail(job.facts, 1, fmt::format("cannot write {}: {}", job.options.json_file, why));
    }
  }
  if (output_error != 0) return fail_to_print(job.facts);
  return !failed && job.totals.right() ? 0 : 1;
}

}  // namespace

int perf_main(Collective&& collective, int argc, const char* const* argv) {
  take_standard_files();
  const Facts facts = collective.facts();
  const Place place = place_from_launcher();
  const CommandLine line = parse_command_line(facts, argc, argv);
  if (!line.error.empty()) return refuse(place.rank == 0, line.error);
  if (!line.options) {
    if (place.rank == 0) print(line.help);
    return output_error == 0 ? 0 : fail_to_print(facts);
  }
  const Options& options = *line.options;
  Job job{collective, facts, options, {}, {}, {}, {}, {}, {}};
  std::string error = read_inputs(&job);
  // A file may be missing on one host only.
  if (!error.empty()) return refuse(facts, place.rank_on_host == 0, error);
  error = find_world(&job);
  if (!error.empty()) return fail(facts, 1, error);
  error = check_ranks(job);
  if (!error.empty()) return refuse(facts, job.world.rank == 0, error);
  if (job.world.rank == 0 && !options.json_file.empty()) {
    const std::string folder = std::filesystem::path(options.json_file).parent_path();
    if (access(folder.empty() ? "." : folder.c_str(), W_OK) != 0)
      return fail(facts, 2,
                  fmt::format("-J/--output_file: cannot write to {}: {}", options.json_file, std::strerror(errno)));
  }
  job.totals.checked = options.checks > 0;
  const JsonReport json{facts.program, {argv, argv + argc}, now_text(), options, job.totals};
  const CrewOptions crew{facts.program, options.threads, job.world.rank * job.ranks_per_process(),
                         options.ranks_per_thread, options.timeout_seconds};
  job.totals.errors =
      run_crew(crew, [&job](int thread, Progress* progress) { return run_thread(job, thread, progress); });
  if (!job.refusal.empty()) job.totals.errors.push_back(job.refusal);
  return report_end(job, json);
}

}  // namespace perf
