#include "cases/support/children.h"

#include <chrono>
#include <thread>
#include <vector>

#include "cases/support/ranks.h"

namespace ronde::cases {

void OwnedComm::destroy() { expect_success(rondeCommDestroy(release()), "rondeCommDestroy"); }

void expect_place(rondeComm_t comm, int rank, int nranks, const std::string& what) {
  int number = -1;
  int count = -1;
  expect_success(rondeCommUserRank(comm, &number), what + ": rondeCommUserRank");
  expect_success(rondeCommCount(comm, &count), what + ": rondeCommCount");
  expect(number == rank && count == nranks, what + ": rank " + std::to_string(number) + " of " + std::to_string(count) +
                                                " instead of " + std::to_string(rank) + " of " +
                                                std::to_string(nranks));
}

void expect_sums(rondeComm_t comm, const std::string& what) {
  int rank = 0;
  int nranks = 0;
  expect_success(rondeCommUserRank(comm, &rank), what);
  expect_success(rondeCommCount(comm, &nranks), what);
  for (const size_t count : {size_t{1}, size_t{1'000}, size_t{100'000}}) {
    std::vector<int> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = rank + 1 + static_cast<int>(i % 100);
    expect_success(rondeAllReduce(values.data(), values.data(), count, rondeInt32, rondeSum, comm, nullptr),
                   what + ": rondeAllReduce");
    for (size_t i = 0; i < count; ++i) {
      const int sum = nranks * (nranks + 1) / 2 + nranks * static_cast<int>(i % 100);
      expect(values[i] == sum, what + ": element " + std::to_string(i) + " is wrong");
    }
  }
}

rondeResult_t outcome_of_start(rondeComm_t comm) {
  rondeResult_t result = rondeInProgress;
  while (result == rondeInProgress) {
    expect_success(rondeCommGetAsyncError(comm, &result), "rondeCommGetAsyncError");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return result;
}

}  // namespace ronde::cases
