// Who sends how much to whom: whole numbers, in units that a size then gives a number of elements.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace perf {

class TrafficMatrix {
 public:
  // Uneven, with pairs that send nothing: rank s sends (1 + s + 2 r) mod 4 units to rank r.
  static TrafficMatrix uneven(int nranks);

  // Reads as many rows as columns of numbers, row s what rank s sends; "#" begins a comment. Returns why not, with file
  // and line, or an empty string.
  static std::string read(const std::string& path, TrafficMatrix* matrix);

  int nranks() const { return static_cast<int>(rows_.size()); }

  // Units from rank `from` to rank `to`.
  std::size_t at(int from, int to) const { return rows_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)]; }

  // Units that the rank sends, or receives, its own among them.
  std::size_t sent(int rank) const;
  std::size_t received(int rank) const;

  // Units that the rank sends to or receives from others, whichever are more.
  std::size_t exchanged(int rank) const;

  // The most units that a rank sends or receives, its own among them.
  std::size_t busiest() const;

 private:
  std::vector<std::vector<std::size_t>> rows_;
};

}  // namespace perf
