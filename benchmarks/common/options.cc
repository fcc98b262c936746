#include "common/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <numeric>

#include "common/data_types.h"
#include "common/environment.h"
#include "common/sizes.h"
#include "common/values.h"

namespace perf {
namespace {

// What must be read further once CLI11 has taken the command line apart.
struct Texts {
  std::string min_bytes;
  std::string max_bytes;
  std::string step_bytes;
  std::string ops = "sum";
  std::string types = "float";
  std::string root = "0";
  int blocking = 0;
  int average = 1;
  int parallel_init = 0;
};

struct RefusedFlag {
  const char* names;
  const char* what;
};

constexpr RefusedFlag kRefused[] = {
    {"-G,--cudagraph", "CUDA graphs"},
    {"-x,--cta_policy", "the policy for GPU thread blocks"},
    {"-D,--device_implementation", "collectives called inside GPU kernels"},
    {"-V,--device_cta_count", "the number of GPU thread blocks"},
    {"-M,--memory_report", "the report of GPU memory"},
};

// Checks a range without showing it in the help, where it would push the text aside.
CLI::Validator within(int least, int greatest) {
  const auto check = [least, greatest](const std::string& text) -> std::string {
    char* end = nullptr;
    errno = 0;
    const long long number = std::strtoll(text.c_str(), &end, 0);
    const bool whole = !text.empty() && *end == '\0' && errno == 0;
    if (whole && number >= least && number <= greatest) return {};
    return fmt::format("\"{}\" is no whole number from {} to {}", text, least, greatest);
  };
  return {check, "", ""};
}

// Flags of some programs stay known to the others, which then can say more than that there is no such flag.
CLI::Option* only_where(bool shown, CLI::Option* option) { return shown ? option : option->group("")->expected(0, 1); }

void add_size_flags(CLI::App& app, const Facts& facts, Options& o, Texts& t) {
  app.add_option("-b,--minbytes", t.min_bytes, "smallest size in bytes; K, M, G binary, fractions allowed (32M)")
      ->type_name("SIZE");
  app.add_option("-e,--maxbytes", t.max_bytes, "greatest size (32M)")->type_name("SIZE");
  app.add_option("-i,--stepbytes", t.step_bytes, "step between sizes; without -f (1M)")->type_name("SIZE");
  app.add_option("-f,--stepfactor", o.step_factor, "factor between sizes; -i then has no effect. 0 and 1: off (off)")
      ->check(within(0, 1 << 30));
  app.add_option("-d,--datatype", t.types,
                 "int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 f8e4m3 f8e5m2, several with commas, "
                 "or all (float)")
      ->type_name("NAMES");
  app.add_option("-o,--op", t.ops,
                 facts.reduces ? "sum prod min max avg mulsum; for integers band bor bxor; several with commas, or all "
                                 "(sum)"
                               : "accepted; this program has no reduction (sum)")
      ->type_name("NAMES");
  app.add_option(
         "-r,--root", t.root,
         facts.has_root ? "root rank; all, or -1: one after the other (0)" : "accepted; this program has no root (0)")
      ->type_name("RANK");
  app.add_option("-R,--local_register", o.library_memory,
                 "1 or 2: buffers from rondeMemAlloc, which the ranks of a node read where they lie (0)")
      ->check(within(0, 2));
  app.add_option("-u,--unalign", o.unalign_elements, "elements between a page boundary and the buffers (0)")
      ->check(within(0, 256));
  only_where(facts.replays,
             app.add_option("--sizes-from", o.sizes_from,
                            "instead of -b, -e, -i and -f: each step reduces all tensors of FILE, lines \"name "
                            "elements\""))
      ->type_name("FILE");
  if (facts.own_flag != nullptr) app.add_option(facts.own_flag, o.own_flag, facts.own_flag_help)->type_name("FILE");
}

void add_run_flags(CLI::App& app, Options& o, Texts& t) {
  app.add_option("-t,--nthreads", o.threads, "threads in each process (1)")->check(within(1, 4096));
  app.add_option("-g,--ngpus", o.ranks_per_thread, "ranks in each thread, driven in groups (1)")
      ->check(within(1, 4096));
  app.add_option("-n,--iters", o.iterations, "timed iterations (20)")->check(within(1, INT_MAX));
  app.add_option("-m,--agg_iters", o.calls_per_iteration, "calls in each iteration, in one group (1)")
      ->check(within(1, 1 << 20));
  app.add_option("-w,--warmup_iters,--warmup", o.warmup_iterations, "iterations before, not timed (1)")
      ->check(within(0, INT_MAX));
  app.add_option("-N,--run_cycles", o.cycles, "how often to run all sizes, 0 for ever (1)")->check(within(0, INT_MAX));
  app.add_option("-p,--parallel_init", t.parallel_init, "accepted; threads always start in parallel (0)")
      ->check(within(0, 1));
  app.add_option("-c,--check", o.checks, "checked runs a size, 0: results are not checked (1)")
      ->check(within(0, INT_MAX));
  app.add_option("-z,--blocking", t.blocking,
                 "after each iteration 1: wait and barrier, 2: wait, 3: wait and a barrier that is not timed (0)")
      ->check(within(0, 3));
  app.add_option("-y,--stream_null", o.null_stream,
                 "1: calls block, as is natural on host memory, 0: they are queued on a stream (1)")
      ->check(within(0, 1));
  app.add_option("-T,--timeout", o.timeout_seconds, "seconds that a phase of one size may take, 0: no limit (0)")
      ->check(within(0, INT_MAX));
}

void add_report_flags(CLI::App& app, Options& o, Texts& t) {
  app.add_option("-a,--average", t.average,
                 "times are those of 0: rank 0, 1: the mean, 2: minimum, 3: maximum of ranks (1)")
      ->check(within(0, 3));
  app.add_option("-C,--report_cputime", o.report_cpu_time, "1: show the time until the calls returned (0)")
      ->check(within(0, 1));
  app.add_option("-I,--per_iter_timing", o.per_iteration, "1: wait for and time each iteration, show its spread (0)")
      ->check(within(0, 1));
  app.add_option("-K,--per_iter_skip", o.per_iteration_skip, "first iterations that -I leaves out (0)")
      ->check(within(0, INT_MAX));
  app.add_option("-S,--report_timestamps,--timestamps", o.report_timestamps, "1: add the time of day to rows (0)")
      ->check(within(0, 1));
  app.add_option("-J,--output_file", o.json_file, "also write results as JSON; never overwrites, appends .0, .1")
      ->type_name("FILE");
  app.add_flag("--counters", o.counters, "after the table: bytes that one operation of each size moved, by rank");
}

void read_size(const std::string& text, const char* flag, std::size_t* bytes) {
  if (text.empty()) return;
  std::string why;
  const auto size = parse_size(text, &why);
  if (!size) throw CLI::ValidationError(flag, fmt::format("\"{}\": {}", text, why));
  *bytes = *size;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t comma; (comma = text.find(',', from)) != std::string::npos; from = comma + 1) {
    parts.push_back(text.substr(from, comma - from));
  }
  parts.push_back(text.substr(from));
  return parts;
}

void read_types(const std::string& text, Options& o) {
  o.types.clear();
  for (const std::string& name : split(text)) {
    if (name == "all") {
      for (const TypeInfo& info : all_types()) o.types.push_back(info.type);
    } else if (const auto type = type_from_name(name)) {
      o.types.push_back(*type);
    } else {
      throw CLI::ValidationError("-d", fmt::format("there is no type \"{}\"; use int8, uint8, int32, uint32, int64, "
                                                   "uint64, half, float, double, bfloat16, f8e4m3, f8e5m2 or all",
                                                   name));
    }
  }
}

void read_ops(const std::string& text, const Facts& facts, Options& o) {
  o.ops.clear();
  for (const std::string& name : split(text)) {
    if (name == "all") {
      for (const OpInfo& info : all_ops()) o.ops.push_back(info.op);
    } else if (const auto op = op_from_name(name)) {
      o.ops.push_back(*op);
    } else {
      throw CLI::ValidationError(
          "-o",
          fmt::format("there is no reduction \"{}\"; use sum, prod, min, max, avg, mulsum, band, bor, bxor or all",
                      name));
    }
  }
  if (!facts.reduces) o.ops = {kNoReduction};
}

bool has_all(const std::string& names) {
  const std::vector<std::string> parts = split(names);
  return std::find(parts.begin(), parts.end(), "all") != parts.end();
}

// "all" leaves out what does not fit; what was named must.
void check_fit(const Texts& texts, const Options& o) {
  if (has_all(texts.types) || has_all(texts.ops)) return;
  for (const rondeRedOp_t op : o.ops) {
    for (const rondeDataType_t type : o.types) {
      if (fits(op, type)) continue;
      throw CLI::ValidationError("-o", fmt::format("{} is for integers, not for {}; name integer types with -d",
                                                   op_name(op), type_info(type).name));
    }
  }
}

void read_root(const std::string& text, Options& o) {
  if (text == "all" || text == "-1") {
    o.root = kAllRoots;
    return;
  }
  const char* end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, o.root);
  if (error != std::errc() || read != end || o.root < 0) {
    throw CLI::ValidationError("-r", fmt::format("\"{}\" is no rank; use a number from 0 on, or all", text));
  }
}

void check_together(const CLI::App& app, const Options& o) {
  if (!o.sizes_from.empty()) {
    for (const char* flag : {"-b", "-e", "-i", "-f"}) {
      if (app.count(flag) > 0)
        throw CLI::ValidationError(flag, "the sizes are those of --sizes-from; give one of them");
    }
    if (o.types.size() != 1 || o.ops.size() != 1) {
      throw CLI::ValidationError("--sizes-from", "takes one type (-d) and one reduction (-o)");
    }
    return;
  }
  if (o.min_bytes > o.max_bytes) {
    throw CLI::ValidationError("-b",
                               fmt::format("{} bytes are more than -e, {} bytes; give both", o.min_bytes, o.max_bytes));
  }
  if (o.min_bytes == o.max_bytes) return;
  if (o.step_factor <= 1 && o.step_bytes == 0) throw CLI::ValidationError("-i", "a step of 0 never reaches -e");
  if (o.step_factor > 1 && o.min_bytes == 0) {
    throw CLI::ValidationError("-f", "a factor never gets away from -b 0; begin at 1 or more, or use -i");
  }
}

void refuse_flags_of_others(const CLI::App& app, const Facts& facts) {
  if (!facts.replays && app.count("--sizes-from") > 0) {
    throw CLI::ValidationError("--sizes-from", "replays the allreduces of a model; only allreduce_perf does");
  }
}

void finish(const CLI::App& app, const Texts& texts, const Facts& facts, Options& o) {
  read_size(texts.min_bytes, "-b", &o.min_bytes);
  read_size(texts.max_bytes, "-e", &o.max_bytes);
  read_size(texts.step_bytes, "-i", &o.step_bytes);
  read_types(texts.types, o);
  read_ops(texts.ops, facts, o);
  check_fit(texts, o);
  read_root(texts.root, o);
  o.blocking = static_cast<Blocking>(texts.blocking);
  o.average = static_cast<Average>(texts.average);
  if (o.per_iteration && o.per_iteration_skip >= o.iterations) {
    throw CLI::ValidationError("-K", "leaves out all iterations; it must be less than -n");
  }
  check_together(app, o);
}

// The short and the long name of a flag that is known by one of them; any other text as it is.
std::string both_names(const CLI::App& app, const std::string& name) {
  const CLI::Option* option = app.get_option_no_throw(name);
  if (option == nullptr || option->get_snames().empty() || option->get_lnames().empty()) return name;
  return fmt::format("-{}/--{}", option->get_snames()[0], option->get_lnames()[0]);
}

// "-n/--iters: what is wrong with it". CLI11 names the long flag alone, whichever was typed.
std::string in_our_words(const CLI::App& app, const CLI::ParseError& error) {
  std::string text = error.what();
  const std::size_t colon = text.find(": ");
  if (colon == std::string::npos) return text;
  const std::string flag = both_names(app, text.substr(0, colon));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return flag + text.substr(colon);
  return flag + (text.ends_with("missing") ? ": needs a value" : ": is given more than once");
}

std::string help_footer(const Facts& facts) {
  return fmt::format(
      "Columns, with n ranks: size = {}; algbw = size / time; busbw = algbw * {}.\n"
      "#wrong: elements of results that are not right, over all ranks.\n"
      "Ranks are processes * threads * ranks in a thread; ronderun, mpirun, srun or torchrun start the processes.\n"
      "Exit code: 0 right or not checked, 1 wrong results or an error, 2 wrong arguments.\n"
      "For tests of this program: {}=rank:size:index flips the byte at that index of the\n"
      "first checked result of that size on that rank, or behind it: a byte that must stay.",
      facts.size, facts.bus_factor, kFlipVariable);
}

}  // namespace

std::vector<std::size_t> sizes_of(const Options& o) {
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = o.min_bytes; bytes <= o.max_bytes;) {
    sizes.push_back(bytes);
    if (bytes == o.max_bytes) break;
    bytes = o.step_factor > 1 ? bytes * static_cast<std::size_t>(o.step_factor) : bytes + o.step_bytes;
  }
  return sizes;
}

std::vector<int> roots_of(const Options& options, const Facts& facts, int nranks) {
  if (!facts.has_root) return {kNoRoot};
  if (options.root != kAllRoots) return {options.root};
  std::vector<int> roots(static_cast<std::size_t>(nranks));
  std::iota(roots.begin(), roots.end(), 0);
  return roots;
}

CommandLine parse_command_line(const Facts& facts, int argc, const char* const* argv) {
  const std::string program = facts.program;
  Options options;
  Texts texts;
  CLI::App app(facts.description, program);
  app.get_formatter()->column_width(34);
  app.footer(help_footer(facts));
  add_run_flags(app, options, texts);
  add_size_flags(app, facts, options, texts);
  add_report_flags(app, options, texts);
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type == "INT" || type == "BOOLEAN") option->type_name("N");
  }
  std::vector<CLI::Option*> refused;
  std::vector<std::string> ignored;
  for (const RefusedFlag& flag : kRefused) {
    refused.push_back(app.add_option(flag.names, ignored)->expected(0, 1)->group(""));
  }
  const std::string version = fmt::format("{} (Ronde) {}.{}.{}", program, RONDE_MAJOR, RONDE_MINOR, RONDE_PATCH);
  app.set_version_flag("--version", version, "print the version");
  app.allow_extras();  // to name the first of them
  CommandLine result;
  try {
    app.parse(argc, argv);
    if (const std::vector<std::string> unknown = app.remaining(); !unknown.empty()) {
      const std::string& first = unknown.front();
      throw CLI::ParseError(first.starts_with('-') ? fmt::format("there is no flag \"{}\"", first)
                                                   : fmt::format("\"{}\" belongs to no flag", first),
                            2);
    }
    for (std::size_t i = 0; i < refused.size(); ++i) {
      if (refused[i]->count() == 0) continue;
      throw CLI::ValidationError("-" + refused[i]->get_snames()[0],
                                 fmt::format("sets {}; host memory has none, leave the flag out", kRefused[i].what));
    }
    refuse_flags_of_others(app, facts);
    finish(app, texts, facts, options);
    result.options = options;
  } catch (const CLI::CallForHelp&) {
    result.help = app.help();
  } catch (const CLI::CallForVersion&) {
    result.help = version + "\n";
  } catch (const CLI::ParseError& error) {
    result.exit_code = 2;
    result.error = fmt::format("{}: {}. {} --help shows the flags.\n", program, in_our_words(app, error), program);
  }
  return result;
}

}  // namespace perf
