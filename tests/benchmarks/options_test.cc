#include "common/options.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/environment.h"
#include "common/json_report.h"
#include "common/trace.h"
#include "common/values.h"

namespace {

// A program that takes every flag.
constexpr perf::Facts kAll = {.program = "x_perf",
                              .description = "Measures x.",
                              .size = "the size",
                              .bus_factor = "the factor",
                              .reduces = true,
                              .has_root = true,
                              .replays = true,
                              .own_flag = "--matrix"};
// One that takes only those of all programs.
constexpr perf::Facts kFew = {.program = "x_perf", .size = "the size", .bus_factor = "the factor"};

perf::CommandLine parse(std::vector<const char*> arguments, const perf::Facts& facts = kAll) {
  arguments.insert(arguments.begin(), "x_perf");
  return perf::parse_command_line(facts, static_cast<int>(arguments.size()), arguments.data());
}

TEST_CASE("defaults") {
  const auto line = parse({});
  REQUIRE(line.options.has_value());
  CHECK(line.options->threads == 1);
  CHECK(line.options->min_bytes == 32U << 20);
  CHECK(line.options->iterations == 20);
  CHECK(line.options->average == perf::Average::kMean);
  CHECK(perf::sizes_of(*line.options) == std::vector<std::size_t>{32U << 20});
}

TEST_CASE("short and long names") {
  const auto line =
      parse({"-t", "2", "--ngpus", "3", "-b", "8", "--maxbytes", "1.5K", "-f", "2",       "-n", "7",         "-m", "4",
             "-w", "0", "-N",      "2", "-p", "1", "-c",         "3",    "-o", "min,max", "-d", "half,int8", "-r", "1",
             "-z", "3", "-y",      "1", "-T", "9", "-C",         "1",    "-S", "1",       "-J", "x.json",    "-a", "3",
             "-u", "1", "-I",      "1", "-K", "2", "--counters"});
  INFO(line.error);
  REQUIRE(line.options.has_value());
  const perf::Options& o = *line.options;
  CHECK(o.threads == 2);
  CHECK(o.ranks_per_thread == 3);
  CHECK(perf::sizes_of(o) == std::vector<std::size_t>{8, 16, 32, 64, 128, 256, 512, 1024});
  CHECK(o.ops == std::vector<rondeRedOp_t>{rondeMin, rondeMax});
  CHECK(o.types == std::vector<rondeDataType_t>{rondeFloat16, rondeInt8});
  CHECK(o.blocking == perf::Blocking::kWaitAndUntimedBarrier);
  CHECK(o.null_stream);
  CHECK(o.average == perf::Average::kMax);
  CHECK(o.counters);
}

TEST_CASE("all types, all reductions, steps") {
  const auto line = parse({"-d", "all", "-o", "all", "-b", "0", "-e", "10", "-i", "4"});
  REQUIRE(line.options.has_value());
  CHECK(line.options->types.size() == 12);
  CHECK(line.options->ops.size() == 9);
  CHECK(perf::sizes_of(*line.options) == std::vector<std::size_t>{0, 4, 8});
}

TEST_CASE("a factor goes before a step, and one of 0 or 1 is none") {
  const auto sizes = [](const char* factor) {
    const auto line = parse({"-b", "8", "-e", "20", "-i", "4", "-f", factor});
    INFO(line.error);
    REQUIRE(line.options.has_value());
    return perf::sizes_of(*line.options);
  };
  CHECK(sizes("2") == std::vector<std::size_t>{8, 16});
  for (const char* off : {"0", "1"}) CHECK(sizes(off) == std::vector<std::size_t>{8, 12, 16, 20});
}

TEST_CASE("bitwise reductions are for integers; all leaves out what does not fit") {
  for (const char* types : {"int8", "all", "uint64,int32"})
    CHECK(parse({"-o", "band,bxor", "-d", types}).options.has_value());
  CHECK(parse({"-o", "all", "-d", "half"}).options.has_value());
  CHECK(parse({"-o", "mulsum", "-d", "half"}).options.has_value());
  for (const char* types : {"half", "int8,bfloat16"}) {
    const auto line = parse({"-o", "sum,bor", "-d", types});
    CHECK_FALSE(line.options.has_value());
    CHECK(line.exit_code == 2);
    CHECK(line.error.find("-o/--op: bor is for integers, not for ") != std::string::npos);
  }
}

void check_refused(const perf::CommandLine& line, const char* name) {
  INFO(line.error);
  CHECK_FALSE(line.options.has_value());
  CHECK(line.exit_code == 2);
  CHECK(line.help.empty());
  CHECK(line.error.find(name) != std::string::npos);
  CHECK(std::count(line.error.begin(), line.error.end(), '\n') == 1);
}

TEST_CASE("roots") {
  const auto roots = [](std::vector<const char*> arguments, const perf::Facts& facts) {
    const auto line = parse(std::move(arguments), facts);
    INFO(line.error);
    REQUIRE(line.options.has_value());
    return perf::roots_of(*line.options, facts, 3);
  };
  CHECK(roots({}, kAll) == std::vector<int>{0});
  CHECK(roots({"-r", "2"}, kAll) == std::vector<int>{2});
  CHECK(roots({"-r", "all"}, kAll) == std::vector<int>{0, 1, 2});
  CHECK(roots({"-r", "-1"}, kAll) == std::vector<int>{0, 1, 2});
  CHECK(roots({"--root=-1"}, kAll) == std::vector<int>{0, 1, 2});
  CHECK(roots({"-r", "2"}, kFew) == std::vector<int>{perf::kNoRoot});
  for (const char* wrong : {"-2", "first", "1x", "0x1", "99999999999"}) {
    const std::string argument = std::string("--root=") + wrong;
    check_refused(parse({argument.c_str()}), wrong);
  }
}

TEST_CASE("flags that a program has no use for are refused, but for root and reduction") {
  const auto line = parse({"-t", "2"}, kFew);
  REQUIRE(line.options.has_value());
  CHECK(line.options->ops == std::vector<rondeRedOp_t>{perf::kNoReduction});
  for (const char* op : {"prod", "all", "bor,min"}) {
    CHECK(parse({"-o", op}, kFew).options->ops == std::vector<rondeRedOp_t>{perf::kNoReduction});
  }
  check_refused(parse({"--op", "xor"}, kFew), "-o/--op: there is no reduction \"xor\"");
  check_refused(parse({"--sizes-from", "f"}, kFew), "x_perf: --sizes-from: replays");
  check_refused(parse({"--sizes-from"}, kFew), "x_perf: --sizes-from: replays");
  check_refused(parse({"--matrix", "f"}, kFew), "--matrix");
  CHECK(parse({"--matrix", "f"}).options->own_flag == "f");
  const std::string help = parse({"--help"}, kFew).help;
  CHECK(help.find("accepted; this program has no reduction") != std::string::npos);
  for (const char* flag : {"--sizes-from", "--matrix"}) {
    CHECK(help.find(flag) == std::string::npos);
    CHECK(parse({"--help"}).help.find(flag) != std::string::npos);
  }
}

TEST_CASE("wrong arguments name themselves") {
  const auto refused = [](std::vector<const char*> arguments, const char* name) {
    check_refused(parse(std::move(arguments)), name);
  };
  refused({"-t", "0"}, "x_perf: -t/--nthreads: \"0\" is no whole number from 1 to 4096. ");
  refused({"-t", "abc"}, "abc");
  for (const char* number : {"-3", "2x", "1.5", ""}) refused({"-n", number}, "-n/--iters: \"");
  refused({"--iters=99999999999"}, "-n/--iters: \"99999999999\" is no whole number from 1 to 2147483647");
  refused({"-n"}, "x_perf: -n/--iters: needs a value. ");
  refused({"--warmup"}, "-w/--warmup_iters: needs a value");
  refused({"-n", "1", "-n", "2"}, "-n/--iters: is given more than once");
  refused({"-b", "12abc", "-e", "1M"}, "-b/--minbytes: \"12abc\"");
  refused({"-b", "64M"}, "-e");
  refused({"-b", "8", "-e", "16", "-i", "0"}, "-i/--stepbytes: ");
  refused({"-b", "0", "-e", "16", "-f", "2"}, "-f/--stepfactor: ");
  refused({"-f", "-1"}, "-f/--stepfactor: ");
  refused({"-o", "xor"}, "-o/--op: there is no reduction \"xor\"");
  refused({"-d", "float,floot"}, "floot");
  refused({"-d", ""}, "-d");
  refused({"-a", "4"}, "--average");
  refused({"-K", "20", "-I", "1"}, "-K");
  refused({"--sizes-from", "f", "-d", "all"}, "--sizes-from");
  for (const char* flag : {"-b", "-e", "-i", "-f"}) {
    refused({"--sizes-from", "f", flag, "2"}, "the sizes are those of --sizes-from");
  }
  refused({"--nonsense"}, "--nonsense");
  refused({"stray"}, "stray");
  for (const char* flag : {"-G", "-x", "-D", "-V", "-M"}) {
    refused({flag}, (std::string("x_perf: ") + flag + "/--").c_str());
    refused({flag, "1"}, "leave the flag out");
  }
}

TEST_CASE("help goes to stdout and names the hook for tests") {
  const auto line = parse({"--help"});
  CHECK_FALSE(line.options.has_value());
  CHECK(line.exit_code == 0);
  CHECK(line.error.empty());
  CHECK(line.help.find("--nthreads") != std::string::npos);
  CHECK(line.help.find(perf::kFlipVariable) != std::string::npos);
  CHECK(line.help.find("size = the size; algbw = size / time; busbw = algbw * the factor") != std::string::npos);
}

TEST_CASE("a launcher tells the rank, ronderun before all others") {
  const std::pair<const char*, const char*> variables[] = {
      {"RONDE_RANK", "5"}, {"RONDE_LOCAL_RANK", "1"}, {"PMI_RANK", "7"}, {"MPI_LOCALRANKID", "0"}};
  for (const auto& [name, value] : variables) REQUIRE(setenv(name, value, 1) == 0);
  const perf::Place place = perf::place_from_launcher();
  for (const auto& [name, value] : variables) unsetenv(name);
  CHECK(place.rank == 5);
  CHECK(place.rank_on_host == 1);
}

TEST_CASE("traces") {
  const std::string path = "trace_of_options_test.txt";
  std::ofstream(path) << "# head\n\na.weight 10 # note\n  b 7\n";
  std::string why;
  const auto tensors = perf::read_trace(path, &why);
  REQUIRE(tensors.has_value());
  CHECK(tensors->size() == 2);
  CHECK(tensors->at(0).name == "a.weight");
  CHECK(perf::total_elements(*tensors) == 17);
  for (const char* bad : {"a\n", "a 0\n", "a -1\n", "a 1 2\n", "a 1x\n"}) {
    std::ofstream(path) << "ok 1\n" << bad;
    CHECK_FALSE(perf::read_trace(path, &why).has_value());
    CHECK(why.find(path + ":2:") == 0);
  }
  std::ofstream(path) << "# nothing\n";
  CHECK_FALSE(perf::read_trace(path, &why).has_value());
  std::remove(path.c_str());
  CHECK_FALSE(perf::read_trace(path, &why).has_value());
}

TEST_CASE("JSON has the keys of the format, and files are never overwritten") {
  perf::Totals totals;
  totals.ranks = {{1, "node"}};
  totals.rows.resize(2);
  totals.rows[0].out_of_place.wrong = 2;
  totals.rows[0].in_place.emplace();
  const perf::Options options;
  const auto json = nlohmann::json::parse(perf::to_json({"x_perf", {"x_perf", "\xff"}, "now", options, totals}));
  CHECK(json["results"][0]["out_of_place"]["nwrong"] == 2);
  CHECK(json["results"][0]["in_place"]["nwrong"] == "N/A");
  CHECK(json["results"][1]["in_place"]["nwrong"] == "N/A");
  CHECK(json["results"][1]["in_place"]["time"].is_null());
  CHECK(json["average_bus_bandwidth"].is_null());
  CHECK(json["config"]["devices"][0]["hostname"] == "node");
  const std::string path = "json_of_options_test.json";
  std::string why;
  CHECK(perf::write_new_file(path, "1", &why) == path);
  CHECK(perf::write_new_file(path, "2", &why) == path + ".0");
  CHECK(perf::write_new_file(path, "3", &why) == path + ".1");
  for (const char* end : {"", ".0", ".1"}) CHECK(std::remove((path + end).c_str()) == 0);
  CHECK(perf::write_new_file("/nonexistent/x", "1", &why).empty());
  CHECK_FALSE(why.empty());
}

}  // namespace
