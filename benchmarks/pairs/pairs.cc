#include "pairs/pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace pairs {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kMostRepeats = 100'000;

// values: at least one. part: 0.25, 0.5 ...
double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  const double place = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

void repeat(const Way& way, int times) {
  for (int i = 0; i < times; ++i) way();
}

// How often a sample does it. The first call, which makes what is made on demand, is not counted.
int repeats_of(const Job& job, const Way& way, double sample_ms) {
  way();
  const double once = job.seconds(way);
  const double wanted = std::clamp(sample_ms / 1e3 / std::max(once, 1e-9), 1.0, static_cast<double>(kMostRepeats));
  const double several = job.seconds([&] { repeat(way, static_cast<int>(std::min(wanted, 50.0))); });
  const double each = several / std::min(wanted, 50.0);
  return job.from_first(static_cast<int>(std::clamp(sample_ms / 1e3 / each, 1.0, static_cast<double>(kMostRepeats))));
}

}  // namespace

void must(rondeResult_t result, const char* what) {
  if (result == rondeSuccess) return;
  std::fprintf(stderr, "%s: %s: %s\n", what, rondeGetErrorString(result), rondeGetLastError(nullptr));
  std::exit(1);
}

Job::Job() {
  rondeWorld_t world{};
  world.size = sizeof world;
  rondeUniqueId id{};
  must(rondeGetWorldFromEnv(&world, &id), "rondeGetWorldFromEnv");
  rank_ = world.rank;
  nranks_ = world.nranks;
  must(rondeCommInitRank(&comm_, nranks_, id, rank_), "rondeCommInitRank");
}

rondeComm_t Job::another() const {
  rondeUniqueId id{};
  if (rank_ == 0) must(rondeGetUniqueId(&id), "rondeGetUniqueId");
  must(rondeBcast(&id, sizeof id, rondeUint8, 0, comm_, nullptr), "handing the id on");
  rondeComm_t made = nullptr;
  must(rondeCommInitRank(&made, nranks_, id, rank_), "rondeCommInitRank");
  return made;
}

double Job::seconds(const std::function<void()>& work) const {
  must(rondeBarrier(comm_, nullptr), "rondeBarrier");
  const Clock::time_point begun = Clock::now();
  work();
  double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  must(rondeAllReduce(&seconds, &seconds, 1, rondeFloat64, rondeMax, comm_, nullptr), "the slowest rank's time");
  return seconds;
}

int Job::from_first(int value) const {
  must(rondeBcast(&value, 1, rondeInt32, 0, comm_, nullptr), "rank 0's number");
  return value;
}

Comparison compare(const Job& job, const Way& first, const Way& second, int rounds, double sample_ms) {
  const Way* ways[2] = {&first, &second};
  const int repeats[2] = {repeats_of(job, first, sample_ms), repeats_of(job, second, sample_ms)};
  std::vector<double> times[2];
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    for (const int which : {round % 2, 1 - round % 2}) {
      const double seconds = job.seconds([&] { repeat(*ways[which], repeats[which]); });
      times[which].push_back(seconds * 1e6 / repeats[which]);
    }
    ratios.push_back(times[0].back() / times[1].back());
  }
  return {quantile(times[0], 0.5), quantile(times[1], 0.5), quantile(ratios, 0.5), quantile(ratios, 0.25),
          quantile(ratios, 0.75)};
}

std::string row(const std::string& name, const Comparison& found) {
  return fmt::format("| {} | {:.5g} | {:.5g} | {:.2f} ({:.2f} to {:.2f}) |\n", name, found.first_us, found.second_us,
                     found.ratio, found.low, found.high);
}

std::string size_text(std::size_t bytes) {
  if (bytes >= 1 << 20) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= 1 << 10) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

}  // namespace pairs
