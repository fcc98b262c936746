// The secret of a job is in no memory that a core dump holds: not in ranks that use it, nor after they have let go.
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cases/support/child.h"
#include "cases/support/ranks.h"

namespace ronde::cases {
namespace {

constexpr size_t kSecretOffset = 12;  // in an id, see src/bootstrap/unique_id.h
constexpr size_t kSecretBytes = 32;
constexpr unsigned char kMask = 0x5a;

// The secret in a form that is not found: each byte changed.
using Masked = std::array<unsigned char, kSecretBytes>;

Masked masked_secret_of(const rondeUniqueId& id) {
  Masked masked{};
  for (size_t i = 0; i < kSecretBytes; ++i) {
    masked[i] = static_cast<unsigned char>(static_cast<unsigned char>(id.internal[kSecretOffset + i]) ^ kMask);
  }
  return masked;
}

struct Region {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  std::string name;
};

// What a core dump would hold of this process: readable, and not marked "dd" (do not dump).
std::vector<Region> dumped_regions() {
  std::vector<Region> regions;
  std::ifstream maps("/proc/self/smaps");
  Region region;
  bool readable = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    std::array<char, 5> access{};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access.data()) == 3) {
      region = {begin, end, line};
      readable = access[0] == 'r';
    } else if (line.starts_with("VmFlags:")) {
      std::istringstream flags(line.substr(8));
      bool kept_out = false;
      for (std::string flag; flags >> flag;) kept_out = kept_out || flag == "dd" || flag == "io" || flag == "pf";
      const bool of_kernel = region.name.find("[v") != std::string::npos;  // vvar, vdso, vsyscall
      if (readable && !kept_out && !of_kernel) regions.push_back(region);
    }
  }
  return regions;
}

// The regions that hold the secret; "" for none.
[[gnu::no_sanitize("address", "thread")]] std::string found_in(const Masked& masked) {
  std::string found;
  for (const Region& region : dumped_regions()) {
    const auto* const memory = reinterpret_cast<const volatile unsigned char*>(region.begin);
    const size_t size = region.end - region.begin;
    for (size_t at = 0; at + kSecretBytes <= size; ++at) {
      size_t equal = 0;
      while (equal < kSecretBytes && (memory[at + equal] ^ kMask) == masked[equal]) ++equal;
      if (equal < kSecretBytes) continue;
      found += region.name + " at " + std::to_string(at) + "\n";
      break;
    }
  }
  return found;
}

void expect_sum(rondeComm_t comm) {
  float value = 1;
  expect_success(rondeAllReduce(&value, &value, 1, rondeFloat32, rondeSum, comm, nullptr), "a sum");
  expect(value == 2, "a wrong sum");
}

// Two processes, without a launcher's help; the way that the id takes is part of what is tested.
void be_rank(int rank, bool by_text) {
  rondeWorld_t world{.size = sizeof(world)};
  rondeUniqueId id;
  expect_success(rondeGetWorldFromEnv(&world, &id), "the id");
  expect(world.rank == rank && world.nranks == 2, "the world");
  if (by_text) {
    std::array<char, RONDE_UNIQUE_ID_TEXT_BYTES> text{};
    expect_success(rondeUniqueIdToText(&id, text.data()), "its text");
    expect_success(rondeUniqueIdFromText(text.data(), &id), "from its text");
    explicit_bzero(text.data(), text.size());
  }
  const Masked masked = masked_secret_of(id);
  expect(!found_in(masked).empty(), "the secret is not found in the program's own variable: this test finds nothing");

  rondeComm_t comm = nullptr;
  expect_success(rondeCommInitRank(&comm, 2, id, rank), "the communicator");
  explicit_bzero(&id, sizeof id);
  expect_sum(comm);
  const std::string at_work = found_in(masked);
  expect(at_work.empty(), "rank " + std::to_string(rank) + " holds the secret in:\n" + at_work);

  rondeComm_t next = nullptr;
  expect_success(rondeCommShrink(comm, nullptr, 0, &next, nullptr, RONDE_SHRINK_DEFAULT), "a successor");
  expect_sum(next);
  expect_success(rondeCommDestroy(comm), "destroy");
  expect_success(rondeCommDestroy(next), "destroy");
  const std::string after = found_in(masked);
  expect(after.empty(), "rank " + std::to_string(rank) + " has left the secret in:\n" + after);
}

std::string outcome_of_rank(int rank, const std::string& transport, bool by_text, const std::string& port) {
  const std::string number = std::to_string(rank);
  for (const char* name : {"RANK", "LOCAL_RANK"}) setenv(name, number.c_str(), 1);
  for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}) setenv(name, "2", 1);
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT", port.c_str(), 1);
  setenv("RONDE_TRANSPORT", transport.c_str(), 1);
  try {
    be_rank(rank, by_text);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("The secret of a job is in no core dump") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip("a sanitizer keeps freed memory and copies of the stack");
#endif
  const std::string transport = GENERATE(as<std::string>(), "shm", "tcp");
  const bool by_text = GENERATE(false, true);
  CAPTURE(transport, by_text);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  // Names the job only: nobody listens there.
  const std::string port = std::to_string(1024 + getpid() % 60'000);
  Child other([&] { return outcome_of_rank(1, transport, by_text, port); });
  Child root([&] { return outcome_of_rank(0, transport, by_text, port); });
  CHECK(root.end_by(deadline, "rank 0") == "");
  CHECK(other.end_by(deadline, "rank 1") == "");
}

}  // namespace ronde::cases
