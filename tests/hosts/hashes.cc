// Reduces random floats in many ways and prints the hash of each result; reproducible_test.py starts the ranks.
//
// usage: hashes REPEATS
//
// For each type and reduction the same inputs go through all-reduce, reduce and reduce-scatter; in one call, in
// several, and in a group of several; REPEATS times. Each rank prints a line for each type and reduction, "TYPE
// REDUCTION HASH...", with all hashes that it has seen, each once. If results are reproducible there is one, the same
// on all ranks.
#include <ronde/ronde.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

// Fields of exponents: wide, but sums of products of four ranks stay finite.
struct Format {
  rondeDataType_t type;
  const char* name;
  size_t bytes;
  int mantissa_bits;
  uint64_t least_exponent;
  uint64_t exponents;
  uint64_t exponent_of_one;
};
constexpr Format kFormats[] = {{rondeFloat32, "float32", 4, 23, 107, 41, 127},
                               {rondeFloat16, "float16", 2, 10, 4, 22, 15},
                               {rondeBfloat16, "bfloat16", 2, 7, 107, 41, 127},
                               {rondeFloat64, "float64", 8, 52, 973, 101, 1023}};

constexpr size_t kNumbers = 60'004;
// Parts of them: of one line, small enough to travel in a bundle, larger.
constexpr size_t kParts[] = {4, 2800, 52, 17'004, kNumbers - 19'860};

using Bytes = std::vector<unsigned char>;

void must(rondeResult_t result, const char* what) {
  if (result == rondeSuccess) return;
  std::fprintf(stderr, "%s: %s: %s\n", what, rondeGetErrorString(result), rondeGetLastError(nullptr));
  std::exit(1);
}

uint64_t random_float(const Format& format, std::mt19937_64& random, uint64_t least, uint64_t exponents) {
  const uint64_t sign = random() % 2 << (8 * format.bytes - 1);
  const uint64_t exponent = (least + random() % exponents) << format.mantissa_bits;
  return sign | exponent | (random() & ((uint64_t{1} << format.mantissa_bits) - 1));
}

Bytes random_inputs(const Format& format, int rank) {
  std::mt19937_64 random(static_cast<uint64_t>(rank) * 977 + format.bytes);
  Bytes bytes(kNumbers * format.bytes);
  for (size_t i = 0; i < kNumbers; ++i) {
    const uint64_t bits = random_float(format, random, format.least_exponent, format.exponents);
    std::memcpy(bytes.data() + i * format.bytes, &bits, format.bytes);  // little-endian
  }
  return bytes;
}

uint64_t hash_of(const Bytes& bytes) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, sizeof word);
    hash = (hash ^ word) * 1099511628211u;
    hash ^= hash >> 29;
  }
  return hash;
}

enum class How { all_reduce, reduce, reduce_scatter };
enum class Cut { whole, calls, group };

// What a rank makes of its inputs of one type.
class Reducer {
 public:
  Reducer(const Format& format, rondeComm_t comm) : format_(format), comm_(comm) {
    must(rondeCommUserRank(comm, &rank_), "rondeCommUserRank");
    must(rondeCommCount(comm, &nranks_), "rondeCommCount");
    inputs_ = random_inputs(format, rank_);
    results_.resize(inputs_.size());
  }

  // The result of all numbers, whichever rank it came about on.
  uint64_t hash(How how, Cut cut, rondeRedOp_t op) {
    std::fill(results_.begin(), results_.end(), 0xaa);
    if (cut == Cut::group) must(rondeGroupStart(), "rondeGroupStart");
    for_each_part(cut, [&](size_t first, size_t count) { reduce(how, first, count, op); });
    if (cut == Cut::group) must(rondeGroupEnd(), "rondeGroupEnd");
    for_each_part(cut, [&](size_t first, size_t count) { hand_out(how, first, count); });
    return hash_of(results_);
  }

 private:
  template <typename Use>
  static void for_each_part(Cut cut, const Use& use) {
    if (cut == Cut::whole) return use(0, kNumbers);
    size_t first = 0;
    for (const size_t count : kParts) {
      use(first, count);
      first += count;
    }
  }
  [[nodiscard]] size_t block_of(size_t count) const { return count / static_cast<size_t>(nranks_); }
  [[nodiscard]] unsigned char* result_at(size_t number) { return results_.data() + number * format_.bytes; }

  void reduce(How how, size_t first, size_t count, rondeRedOp_t op) {
    const unsigned char* in = inputs_.data() + first * format_.bytes;
    const size_t block = block_of(count);
    unsigned char* own = result_at(first + block * static_cast<size_t>(rank_));
    switch (how) {
      case How::all_reduce:
        return must(rondeAllReduce(in, result_at(first), count, format_.type, op, comm_, nullptr), "rondeAllReduce");
      case How::reduce:
        return must(rondeReduce(in, result_at(first), count, format_.type, op, root(), comm_, nullptr), "rondeReduce");
      default: return must(rondeReduceScatter(in, own, block, format_.type, op, comm_, nullptr), "rondeReduceScatter");
    }
  }
  void hand_out(How how, size_t first, size_t count) {
    const size_t block = block_of(count);
    unsigned char* own = result_at(first + block * static_cast<size_t>(rank_));
    if (how == How::reduce)
      must(rondeBcast(result_at(first), count, format_.type, root(), comm_, nullptr), "rondeBcast");
    if (how == How::reduce_scatter)
      must(rondeAllGather(own, result_at(first), block, format_.type, comm_, nullptr), "rondeAllGather");
  }
  [[nodiscard]] int root() const { return nranks_ / 2; }

  const Format& format_;
  rondeComm_t comm_;
  int rank_ = 0;
  int nranks_ = 0;
  Bytes inputs_;
  Bytes results_;
};

rondeRedOp_t pre_mul_sum(const Format& format, rondeComm_t comm) {
  int rank = 0;
  must(rondeCommUserRank(comm, &rank), "rondeCommUserRank");
  std::mt19937_64 random(static_cast<uint64_t>(rank) + 4711);
  const uint64_t scalar = random_float(format, random, format.exponent_of_one - 2, 4);
  rondeRedOp_t op{};
  must(rondeRedOpCreatePreMulSum(&op, &scalar, format.type, rondeScalarHostImmediate, comm),
       "rondeRedOpCreatePreMulSum");
  return op;
}

std::string hashes(Reducer& reducer, rondeRedOp_t op, int repeats) {
  std::set<uint64_t> seen;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (const How how : {How::all_reduce, How::reduce, How::reduce_scatter}) {
      for (const Cut cut : {Cut::whole, Cut::calls, Cut::group}) seen.insert(reducer.hash(how, cut, op));
    }
  }
  std::string text;
  for (const uint64_t hash : seen) {
    char digits[20];
    std::snprintf(digits, sizeof digits, " %016llx", static_cast<unsigned long long>(hash));
    text += digits;
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int repeats = std::atoi(argv[1]);
  rondeWorld_t world{};
  world.size = sizeof world;
  rondeUniqueId id{};
  rondeComm_t comm = nullptr;
  must(rondeGetWorldFromEnv(&world, &id), "rondeGetWorldFromEnv");
  must(rondeCommInitRank(&comm, world.nranks, id, world.rank), "rondeCommInitRank");
  for (const Format& format : kFormats) {
    Reducer reducer(format, comm);
    const rondeRedOp_t products = pre_mul_sum(format, comm);
    const std::pair<const char*, rondeRedOp_t> ops[] = {
        {"sum", rondeSum}, {"avg", rondeAvg}, {"prod", rondeProd}, {"premulsum", products}};
    for (const auto& [name, op] : ops) {
      std::printf("%s %s%s\n", format.name, name, hashes(reducer, op, repeats).c_str());
      std::fflush(stdout);
    }
  }
  must(rondeCommDestroy(comm), "rondeCommDestroy");
  return 0;
}
