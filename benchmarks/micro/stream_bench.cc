// What it costs to put an operation on a stream (micro_stream): each thread has a stream and a communicator of one
// rank, so that the operation itself is as short as it can be. Batches, so that the worker both sleeps and works
// meanwhile.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "ronde/ronde.h"

namespace {

void need(rondeResult_t result) {
  if (result != rondeSuccess) std::abort();
}

// The time of the calls, or with what follows them: until the last has ended.
enum class Timed { calls, to_the_end };

void bench_enqueue(benchmark::State& state, Timed timed) {
  const auto batch = static_cast<int>(state.range(0));
  rondeComm_t comm = nullptr;
  rondeStream_t stream = nullptr;
  need(rondeCommInitAll(&comm, 1, nullptr));
  need(rondeStreamCreate(&stream));
  float value = 1;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < batch; ++i) need(rondeAllReduce(&value, &value, 1, rondeFloat32, rondeSum, comm, stream));
    if (timed == Timed::to_the_end) need(rondeStreamSynchronize(stream));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (timed == Timed::calls) need(rondeStreamSynchronize(stream));
    state.SetIterationTime(took.count());
  }
  state.SetItemsProcessed(state.iterations() * batch);
  need(rondeStreamDestroy(stream));
  need(rondeCommDestroy(comm));
}

BENCHMARK_CAPTURE(bench_enqueue, calls, Timed::calls)->Arg(1)->Arg(256)->Threads(1)->Threads(4)->UseManualTime();
BENCHMARK_CAPTURE(bench_enqueue, to_the_end, Timed::to_the_end)
    ->Arg(1)
    ->Arg(256)
    ->Threads(1)
    ->Threads(4)
    ->UseManualTime();

}  // namespace

BENCHMARK_MAIN();
