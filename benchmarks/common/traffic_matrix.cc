#include "common/traffic_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>

#include "common/input_file.h"

namespace perf {
namespace {

// So that no sum over ranks overflows.
constexpr std::size_t kMostUnits = 1U << 20;

// The numbers of a line, or what is none of them.
std::string read_row(const std::string& line, std::vector<std::size_t>* row) {
  std::istringstream words(line.substr(0, line.find('#')));
  for (std::string word; words >> word;) {
    std::size_t units = 0;
    const char* end = word.data() + word.size();
    const auto [read, error] = std::from_chars(word.data(), end, units);
    if (error != std::errc() || read != end || units > kMostUnits) {
      return fmt::format("\"{}\" is no number from 0 to {}", word, kMostUnits);
    }
    row->push_back(units);
  }
  return {};
}

}  // namespace

TrafficMatrix TrafficMatrix::uneven(int nranks) {
  TrafficMatrix matrix;
  const auto n = static_cast<std::size_t>(nranks);
  matrix.rows_.assign(n, std::vector<std::size_t>(n));
  for (std::size_t from = 0; from < n; ++from) {
    for (std::size_t to = 0; to < n; ++to) matrix.rows_[from][to] = (1 + from + 2 * to) % 4;
  }
  return matrix;
}

std::string TrafficMatrix::read(const std::string& path, TrafficMatrix* matrix) {
  std::string unreadable;
  const std::optional<std::string> text = read_input_file(path, &unreadable);
  if (!text) return unreadable;
  std::istringstream file(*text);
  TrafficMatrix read;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::vector<std::size_t> row;
    const std::string why = read_row(line, &row);
    if (!why.empty()) return fmt::format("{}:{}: {}", path, number, why);
    if (row.empty()) continue;
    if (!read.rows_.empty() && row.size() != read.rows_[0].size()) {
      return fmt::format("{}:{}: {} numbers, the first row has {}", path, number, row.size(), read.rows_[0].size());
    }
    read.rows_.push_back(std::move(row));
  }
  if (read.rows_.empty()) return fmt::format("{}: holds no numbers", path);
  if (read.rows_.size() != read.rows_[0].size()) {
    return fmt::format("{}: {} rows of {} numbers; there must be as many rows as columns", path, read.rows_.size(),
                       read.rows_[0].size());
  }
  if (read.busiest() == 0) return fmt::format("{}: nobody sends anything", path);
  *matrix = std::move(read);
  return {};
}

std::size_t TrafficMatrix::sent(int rank) const {
  std::size_t units = 0;
  for (int to = 0; to < nranks(); ++to) units += at(rank, to);
  return units;
}

std::size_t TrafficMatrix::received(int rank) const {
  std::size_t units = 0;
  for (int from = 0; from < nranks(); ++from) units += at(from, rank);
  return units;
}

std::size_t TrafficMatrix::exchanged(int rank) const { return std::max(sent(rank), received(rank)) - at(rank, rank); }

std::size_t TrafficMatrix::busiest() const {
  std::size_t units = 0;
  for (int rank = 0; rank < nranks(); ++rank) units = std::max({units, sent(rank), received(rank)});
  return units;
}

}  // namespace perf
