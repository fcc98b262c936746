// What each operation pays for being watched (micro_call): the digest of the call, which every rank compares with its
// peers' lines, and its record in the black box. Control messages carry MACs; none is sent while operations move.
#include <benchmark/benchmark.h>

#include "bootstrap/frame.h"
#include "runtime/black_box.h"
#include "runtime/call_log.h"

namespace ronde {
namespace {

OperationArgs some_call() {
  OperationArgs args;
  args.count = 2;
  args.type = rondeFloat32;
  args.op = rondeSum;
  return args;
}

void bench_digest(benchmark::State& state) {
  OperationArgs args = some_call();
  for (auto _ : state) {
    ++args.count;
    benchmark::DoNotOptimize(digest_of(args));
  }
}

void bench_record(benchmark::State& state) {
  BlackBox box;
  CallLog log(box.area_for(1, 0, 2, "bench"), 0);
  const OperationArgs args = some_call();
  uint32_t sequence = 0;
  for (auto _ : state) {
    CallLog::end(log.begin(args, ++sequence, 7, plan::Algorithm::one_shot), {});
  }
}

void bench_seal(benchmark::State& state) {
  FrameSealer sealer(Key{}, Direction::to_server);
  const auto message = std::make_shared<const Message>(Bytes(static_cast<size_t>(state.range(0))));
  for (auto _ : state) benchmark::DoNotOptimize(sealer.seal(message));
}

BENCHMARK(bench_digest)->Name("digest of a call");
BENCHMARK(bench_record)->Name("record in the black box");
BENCHMARK(bench_seal)->Name("MAC of a control message/bytes")->Arg(64)->Arg(1024);

}  // namespace
}  // namespace ronde

BENCHMARK_MAIN();
