// Traffic matrices: the default, and files.
#include "common/traffic_matrix.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>

namespace {

using perf::TrafficMatrix;

TEST_CASE("the default is uneven, has pairs without traffic, and traffic for any number of ranks") {
  const TrafficMatrix three = TrafficMatrix::uneven(3);
  const std::size_t rows[3][3] = {{1, 3, 1}, {2, 0, 2}, {3, 1, 3}};
  for (int from = 0; from < 3; ++from) {
    for (int to = 0; to < 3; ++to) CHECK(three.at(from, to) == rows[from][to]);
  }
  CHECK(three.sent(2) == 7);
  CHECK(three.received(1) == 4);
  CHECK(three.busiest() == 7);
  const std::size_t exchanged[3] = {5, 4, 4};
  for (int rank = 0; rank < 3; ++rank) CHECK(three.exchanged(rank) == exchanged[rank]);
  for (int nranks = 1; nranks <= 20; ++nranks) CHECK(TrafficMatrix::uneven(nranks).busiest() > 0);
}

TEST_CASE("files") {
  const std::string path = "traffic_matrix_test.txt";
  TrafficMatrix matrix;
  std::ofstream(path) << "# to 0, to 1\n\n0 7 # a lot\n 1\t0\n";
  CHECK(TrafficMatrix::read(path, &matrix).empty());
  CHECK(matrix.nranks() == 2);
  CHECK(matrix.at(0, 1) == 7);
  CHECK(matrix.at(1, 0) == 1);
  const std::pair<const char*, const char*> wrong[] = {
      {"1 2\n3 x\n", ":2: \"x\""},   {"1 2\n3 -1\n", ":2: \"-1\""},  {"1 2\n3 1.5\n", ":2: \"1.5\""},
      {"1 2\n3\n", ":2: 1 numbers"}, {"1 2\n", "1 rows of 2"},       {"1\n2\n", "2 rows of 1"},
      {"0 0\n0 0\n", "nobody"},      {"# no\n", "holds no numbers"}, {"1 99999999999\n2 3\n", ":1:"},
  };
  for (const auto& [text, why] : wrong) {
    std::ofstream(path) << text;
    const std::string answer = TrafficMatrix::read(path, &matrix);
    INFO(answer);
    CHECK(answer.find(path) == 0);
    CHECK(answer.find(why) != std::string::npos);
    CHECK(matrix.at(0, 1) == 7);
  }
  std::remove(path.c_str());
  CHECK_FALSE(TrafficMatrix::read(path, &matrix).empty());
}

}  // namespace
