#include "common/results.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace perf {

void Totals::add_bus_bandwidth(double bandwidth) {
  bus_bandwidth_sum += bandwidth;
  ++bus_bandwidths;
}

double percentile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  const double place = std::ceil(p / 100 * static_cast<double>(values.size()));
  return values[static_cast<std::size_t>(std::clamp(place, 1.0, static_cast<double>(values.size()))) - 1];
}

Spread spread_of(const std::vector<double>& times_us) {
  Spread spread;
  spread.times_us = times_us;
  const auto number = static_cast<double>(times_us.size());
  const double mean = std::accumulate(times_us.begin(), times_us.end(), 0.0) / number;
  double squares = 0;
  for (double time : times_us) squares += (time - mean) * (time - mean);
  const auto [least, greatest] = std::minmax_element(times_us.begin(), times_us.end());
  spread.min_us = *least;
  spread.max_us = *greatest;
  spread.p50_us = percentile(times_us, 50);
  spread.p95_us = percentile(times_us, 95);
  spread.p99_us = percentile(times_us, 99);
  spread.variation_percent = mean > 0 ? 100 * std::sqrt(squares / number) / mean : 0;
  return spread;
}

}  // namespace perf
