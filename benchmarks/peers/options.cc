#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "peers/measure.h"

namespace peers {

Options parse_options(int argc, char** argv, const std::string& default_name) {
  Options options;
  options.name = default_name;
  CLI::App app("Measures allreduce of float32 sums; prints one JSON object for each size.");
  app.add_option("-n,--nranks", options.nranks, "ranks to start, where no launcher does (2)")->check(CLI::Range(1, 64));
  app.add_option("--sizes", options.sizes, "bytes, comma-separated; K and M are binary")
      ->delimiter(',')
      ->transform(CLI::AsNumberWithUnit(std::map<std::string, std::size_t>{{"K", 1 << 10}, {"M", 1 << 20}}))
      ->check(CLI::Range(std::size_t{4}, std::size_t{1} << 33));
  app.add_option("--seconds", options.seconds, "time for the blocks of one size, at least (0.4)");
  app.add_flag("--rewrite", options.rewrite, "rewrite the inputs before every operation, and time each one alone");
  app.add_option("--probe", options.probe_file, "a file for the near/far probe; all ranks of the run must see it");
  app.add_option("--name", options.name, "name in the output");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

}  // namespace peers
