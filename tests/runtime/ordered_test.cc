// Reductions that a program makes, and the reproducible mode: inputs combined in the order of ranks.
#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <random>
#include <string>

#include "runtime/group.h"
#include "runtime/one_rank.h"
#include "support/world.h"

namespace ronde::testing {
namespace {

struct Way {
  std::string transport;
  std::string algorithm;
};
const std::vector<Way> kWays = {{"inproc", "auto"}, {"inproc", "one_shot"}, {"inproc", "two_shot"},
                                {"inproc", "ring"}, {"inproc", "star"},     {"shm", "auto"},
                                {"shm", "ring"},    {"tcp", "auto"},        {"tcp", "star"}};

WorldOptions options_of(const Way& way, int nranks) {
  WorldOptions options;
  options.nranks = nranks;
  options.settings = {{"RONDE_TRANSPORT", way.transport}, {"RONDE_ALGO", way.algorithm}};
  return options;
}

// Affine maps x -> a x + b modulo 2^32, packed: their composition is associative, but not commutative.
uint64_t compose(uint64_t left, uint64_t right) {
  const auto a1 = static_cast<uint32_t>(left >> 32);
  const auto b1 = static_cast<uint32_t>(left);
  const auto a2 = static_cast<uint32_t>(right >> 32);
  const auto b2 = static_cast<uint32_t>(right);
  return static_cast<uint64_t>(a1 * a2) << 32 | static_cast<uint32_t>(a1 * b2 + b1);
}

void compose_all(const void* left, const void* right, void* result, size_t count, rondeDataType_t, void* calls) {
  ++*static_cast<std::atomic<int>*>(calls);
  for (size_t i = 0; i < count; ++i) {
    static_cast<uint64_t*>(result)[i] =
        compose(static_cast<const uint64_t*>(left)[i], static_cast<const uint64_t*>(right)[i]);
  }
}

uint64_t map_of(int rank, size_t index) {
  return (index * 2654435761u + static_cast<uint64_t>(rank) * 0x9e3779b97f4a7c15u) | uint64_t{1} << 32;
}

uint64_t composed(int nranks, size_t index) {
  uint64_t all = map_of(0, index);
  for (int rank = 1; rank < nranks; ++rank) all = compose(all, map_of(rank, index));
  return all;
}

Status check_composition(Communicator& comm, Collective what, size_t count, bool in_place) {
  std::atomic<int> calls{0};
  const auto n = static_cast<size_t>(comm.nranks());
  const bool scatters = what == Collective::reduce_scatter;
  std::vector<uint64_t> input(scatters ? count * n : count);
  for (size_t i = 0; i < input.size(); ++i) input[i] = map_of(comm.rank(), i);
  std::vector<uint64_t> apart(count);
  const size_t first = scatters ? count * static_cast<size_t>(comm.rank()) : 0;
  uint64_t* result = in_place ? input.data() + first : apart.data();
  OperationArgs args{input.data(), result, count, rondeUint64, kUserDefined, what, comm.nranks() / 2};
  args.created = std::make_shared<const CreatedReduction>(CreatedReduction::user_defined(compose_all, &calls, false));
  RONDE_TRY(comm.run(args));
  if (what == Collective::reduce && comm.rank() != args.root) return {};
  for (size_t i = 0; i < count; ++i) {
    if (result[i] != composed(comm.nranks(), first + i)) return {rondeInternalError, "not in the order of ranks"};
  }
  return {};
}

template <typename T>
uint64_t hash_of(const std::vector<T>& values) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (size_t i = 0; i < values.size() * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash;
}

// Random bits of ordinary size, so that every order of a sum rounds in another way.
std::vector<uint16_t> random_bfloat16(int rank, size_t count) {
  std::mt19937 random(static_cast<uint32_t>(rank) * 977 + 5);
  std::vector<uint16_t> values(count);
  for (uint16_t& value : values)
    value = static_cast<uint16_t>((random() % 2 << 15) | (120 + random() % 12) << 7 | random() % 128);
  return values;
}
std::vector<float> random_float32(int rank, size_t count) {
  std::mt19937 random(static_cast<uint32_t>(rank) * 991 + 7);
  std::normal_distribution<float> normal(0, 100);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

enum class Cut { whole, in_calls, in_a_group };

// Of PreMulSum; other scalars on each rank.
std::shared_ptr<const CreatedReduction> products(DataType type, int rank) {
  const float wide = 0.3F + 0.7F * static_cast<float>(rank);
  const auto narrow = static_cast<uint16_t>(std::bit_cast<uint32_t>(wide) >> 16);
  const void* scalar = type == rondeFloat32 ? static_cast<const void*>(&wide) : &narrow;
  return std::make_shared<const CreatedReduction>(CreatedReduction::pre_mul_sum(type, scalar));
}

template <typename T>
Status reduce_cut(World& world, Communicator& comm, std::vector<T>& values, DataType type, RedOp op, Cut cut) {
  const std::vector<size_t> parts =
      cut == Cut::whole ? std::vector<size_t>{values.size()} : std::vector<size_t>{1, 700, 13, values.size() - 714};
  std::vector<GroupCall> calls;
  T* at = values.data();
  for (const size_t part : parts) {
    OperationArgs args{at, at, part, type, op};
    if (op == kPreMulSum) args.created = products(type, comm.rank());
    calls.push_back({&comm, nullptr, args});
    at += part;
  }
  if (cut == Cut::in_a_group) return run_group(with_small_ones_fused(std::move(calls)), world.process().worker());
  for (const GroupCall& call : calls) RONDE_TRY(comm.run(call.args));
  return {};
}

}  // namespace

TEST_CASE("a reduction that is not commutative is done in the order of ranks, everywhere") {
  for (const Way& way : kWays) {
    for (const int nranks : {1, 2, 3, 5}) {
      CAPTURE(way.transport, way.algorithm, nranks);
      World world(options_of(way, nranks));
      REQUIRE(first_failure(world.made()).ok());
      const Status status = first_failure(world.run([&](Communicator& comm) -> Status {
        for (const Collective what : {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter}) {
          for (const size_t count : {size_t{0}, size_t{1}, size_t{6}, size_t{1000}, size_t{70'001}}) {
            for (const bool in_place : {false, true}) RONDE_TRY(check_composition(comm, what, count, in_place));
          }
        }
        return {};
      }));
      INFO(status.message());
      CHECK(status.ok());
    }
  }
}

TEST_CASE("PreMulSum multiplies each rank's input by its own scalar") {
  for (const Way& way : kWays) {
    for (const int nranks : {1, 2, 3}) {
      CAPTURE(way.transport, way.algorithm, nranks);
      World world(options_of(way, nranks));
      REQUIRE(first_failure(world.made()).ok());
      const Status status = first_failure(world.run([&](Communicator& comm) -> Status {
        for (const size_t count : {size_t{1}, size_t{10}, size_t{2000}, size_t{100'000}}) {
          std::vector<float> values(count);
          std::iota(values.begin(), values.end(), 1.0F);
          const auto scalar = static_cast<float>(comm.rank() + 2);
          OperationArgs args{values.data(), values.data(), count, rondeFloat32, kPreMulSum};
          args.created = std::make_shared<const CreatedReduction>(CreatedReduction::pre_mul_sum(rondeFloat32, &scalar));
          RONDE_TRY(comm.run(args));
          const int factors = comm.nranks() * (comm.nranks() + 3) / 2;
          for (size_t i = 0; i < count; ++i) {
            if (values[i] != static_cast<float>(i + 1) * static_cast<float>(factors))
              return {rondeInternalError, "wrong sum of products"};
          }
        }
        return {};
      }));
      INFO(status.message());
      CHECK(status.ok());
    }
  }
}

TEST_CASE("reproducible: the same bits by every transport, algorithm, cut and group, again and again") {
  constexpr int kRanks = 4;
  constexpr size_t kCount = 40'003;
  for (const RedOp op : {rondeSum, rondeAvg, rondeProd, kPreMulSum}) {
    std::vector<uint64_t> narrow_hashes;
    std::vector<uint64_t> wide_hashes;
    for (const Way& way : kWays) {
      CAPTURE(way.transport, way.algorithm, reduction_name(op));
      WorldOptions options = options_of(way, kRanks);
      options.settings.emplace_back("RONDE_REPRODUCIBLE", "1");
      World world(options);
      REQUIRE(first_failure(world.made()).ok());
      for (const Cut cut : {Cut::whole, Cut::in_calls, Cut::in_a_group}) {
        std::vector<uint64_t> narrow(kRanks);
        std::vector<uint64_t> wide(kRanks);
        const Status status = first_failure(world.run([&](Communicator& comm) -> Status {
          const auto rank = static_cast<size_t>(comm.rank());
          std::vector<uint16_t> small = random_bfloat16(comm.rank(), kCount);
          std::vector<float> large = random_float32(comm.rank(), kCount);
          RONDE_TRY(reduce_cut(world, comm, small, rondeBfloat16, op, cut));
          RONDE_TRY(reduce_cut(world, comm, large, rondeFloat32, op, cut));
          narrow[rank] = hash_of(small);
          wide[rank] = hash_of(large);
          return {};
        }));
        INFO(status.message());
        REQUIRE(status.ok());
        narrow_hashes.insert(narrow_hashes.end(), narrow.begin(), narrow.end());
        wide_hashes.insert(wide_hashes.end(), wide.begin(), wide.end());
      }
    }
    CHECK(
        std::all_of(narrow_hashes.begin(), narrow_hashes.end(), [&](uint64_t one) { return one == narrow_hashes[0]; }));
    CHECK(std::all_of(wide_hashes.begin(), wide_hashes.end(), [&](uint64_t one) { return one == wide_hashes[0]; }));
  }
}

TEST_CASE("without it the ring and windows give other bits: the test above can fail") {
  uint64_t hashes[2];
  int at = 0;
  for (const std::string algorithm : {"ring", "two_shot"}) {
    World world(options_of({"inproc", algorithm}, 4));
    REQUIRE(first_failure(world.made()).ok());
    const Status status = first_failure(world.run([&](Communicator& comm) -> Status {
      std::vector<float> values = random_float32(comm.rank(), 10'000);
      RONDE_TRY(comm.run({values.data(), values.data(), values.size(), rondeFloat32, rondeSum}));
      if (comm.rank() == 0) hashes[at] = hash_of(values);
      return {};
    }));
    REQUIRE(status.ok());
    ++at;
  }
  CHECK(hashes[0] != hashes[1]);
}

}  // namespace ronde::testing
