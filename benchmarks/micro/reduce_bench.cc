// How fast reduce() and copy_bytes() are, beside memcpy: micro_reduce --benchmark_filter=float32
//
// Names: type/op/sources/targets/plain|streaming/bytes, where bytes is the size of one source. bytes_per_second counts
// what is read and written: (sources + targets) * bytes, without the lines that a plain store reads first.
#include <benchmark/benchmark.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "memory/float_formats.h"
#include "memory/reduce.h"

namespace ronde {
namespace {

constexpr size_t kSizes[] = {8, 4096, 256 << 10, 64 << 20};

// One of 256 values from 1 to 2 (integers: any): no overflow, no subnormals, which some processors handle slowly.
uint64_t random_element(DataType type, uint64_t random) {
  const float value = 1 + static_cast<float>(random % 256) / 256;
  switch (type) {
    case rondeFloat16: return float32_to_float16(value);
    case rondeBfloat16: return float32_to_bfloat16(value);
    case rondeFloat8e4m3: return float32_to_float8e4m3(value);
    case rondeFloat8e5m2: return float32_to_float8e5m2(value);
    case rondeFloat32: return std::bit_cast<uint32_t>(value);
    case rondeFloat64: return std::bit_cast<uint64_t>(double{value});
    default: return random;
  }
}

// Cache-line aligned.
class Buffer {
 public:
  Buffer(DataType type, size_t bytes) : memory_(bytes + 64) {
    std::mt19937_64 random(bytes);
    const size_t step = element_bytes(type);
    for (size_t i = 0; i + step <= bytes; i += step) {
      const uint64_t element = random_element(type, random());
      std::memcpy(data() + i, &element, step);
    }
  }
  uint8_t* data() { return memory_.data() + (64 - reinterpret_cast<uintptr_t>(memory_.data()) % 64) % 64; }

 private:
  std::vector<uint8_t> memory_;
};

struct Shape {
  Reduction reduction;
  size_t sources;
  size_t targets;
  bool streaming;
};

void report(benchmark::State& state, size_t bytes_moved) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes_moved));
}

void bench_reduce(benchmark::State& state, const Shape& shape, size_t bytes) {
  std::vector<Buffer> inputs(shape.sources, Buffer(shape.reduction.type, bytes));
  std::vector<Buffer> outputs(shape.targets, Buffer(shape.reduction.type, bytes));
  std::vector<ReduceSource> sources;
  std::vector<ReduceTarget> targets;
  for (Buffer& input : inputs) sources.push_back({input.data(), Content::input});
  for (Buffer& output : outputs) targets.push_back({output.data(), Content::final, shape.streaming});
  const size_t count = bytes / element_bytes(shape.reduction.type);
  for (auto _ : state) {
    reduce(shape.reduction, sources, targets, count);
    benchmark::ClobberMemory();
  }
  report(state, (shape.sources + shape.targets) * bytes);
}

void bench_memcpy(benchmark::State& state, size_t bytes) {
  Buffer from(rondeUint8, bytes);
  Buffer to(rondeUint8, bytes);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::ClobberMemory();
  }
  report(state, 2 * bytes);
}

void bench_copy(benchmark::State& state, bool streaming, size_t bytes) {
  Buffer from(rondeUint8, bytes);
  Buffer to(rondeUint8, bytes);
  for (auto _ : state) {
    copy_bytes(to.data(), from.data(), bytes, streaming);
    benchmark::ClobberMemory();
  }
  report(state, 2 * bytes);
}

void add(const Shape& shape, size_t bytes) {
  const Reduction& reduction = shape.reduction;
  const std::string name = std::string(type_name(reduction.type)) + "/" + std::string(op_name(reduction.op)) + "/" +
                           std::to_string(shape.sources) + "/" + std::to_string(shape.targets) +
                           (shape.streaming ? "/streaming/" : "/plain/") + std::to_string(bytes);
  benchmark::RegisterBenchmark(name.c_str(),
                               [shape, bytes](benchmark::State& state) { bench_reduce(state, shape, bytes); });
}

void add_all() {
  for (size_t bytes : kSizes) {
    const std::string size = std::to_string(bytes);
    benchmark::RegisterBenchmark(("memcpy/" + size).c_str(),
                                 [bytes](benchmark::State& state) { bench_memcpy(state, bytes); });
    benchmark::RegisterBenchmark(("copy/streaming/" + size).c_str(),
                                 [bytes](benchmark::State& state) { bench_copy(state, true, bytes); });
    for (DataType type : {rondeFloat32, rondeBfloat16, rondeFloat16}) {
      for (auto [sources, targets] : {std::pair<size_t, size_t>{2, 1}, {2, 2}, {4, 1}, {4, 2}, {8, 1}}) {
        for (bool streaming : {false, true}) {
          add({Reduction::of(type, rondeSum, 8, false), sources, targets, streaming}, bytes);
        }
      }
    }
  }
  for (int type = 0; type < rondeNumTypes; ++type) {
    for (RedOp op : {rondeSum, rondeProd, rondeMax, rondeMin, rondeAvg, rondeBitXor}) {
      if (!reduction_fits(static_cast<DataType>(type), op)) continue;
      if (op == rondeSum && (type == rondeFloat32 || type == rondeBfloat16 || type == rondeFloat16)) continue;
      add({Reduction::of(static_cast<DataType>(type), op, 8, false), 2, 1, false}, 256 << 10);
    }
  }
}

}  // namespace
}  // namespace ronde

int main(int argc, char** argv) {
  ronde::add_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
