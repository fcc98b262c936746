// Compares two ways to do the same, alternately in one run. A rank of a job: start it with ronderun.
//
//   ronderun -n 2 bench_pairs at_once [ROUNDS]          two communicators, by two threads at once or by one in turn
//   ronderun -n 2 bench_pairs group TRACE [ROUNDS]      the tensors of benchmarks/traces in a group, or as one
//   ronderun -n 4 bench_pairs reproducible [ROUNDS]     with RONDE_REPRODUCIBLE=1 and without
//
// Prints a table with medians over ROUNDS (21) pairs; ratios with their quartiles.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "pairs/pairs.h"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string what = words.empty() ? "" : words[0];
  const std::size_t before_rounds = what == "group" ? 2 : 1;
  const bool known = what == "at_once" || what == "group" || what == "reproducible";
  const int rounds = words.size() > before_rounds ? std::atoi(words[before_rounds].c_str()) : 21;
  if (!known || words.size() < before_rounds || words.size() > before_rounds + 1 || rounds < 1) {
    std::fprintf(stderr, "usage: bench_pairs at_once|group TRACE|reproducible [ROUNDS], under ronderun\n");
    return 2;
  }
  const pairs::Job job;
  if (what == "at_once") pairs::two_at_once(job, rounds);
  if (what == "group") pairs::group_and_one_call(job, rounds, words[1]);
  if (what == "reproducible") pairs::reproducible_or_not(job, rounds);
  return 0;
}
