// The gradients of a model in one group, or as one tensor of their total size.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "common/trace.h"
#include "pairs/pairs.h"

namespace pairs {

void group_and_one_call(const Job& job, int rounds, const std::string& trace) {
  std::string why;
  const auto tensors = perf::read_trace(trace, &why);
  if (!tensors) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::exit(2);
  }
  const Comm comm(job.another());
  const std::size_t elements = perf::total_elements(*tensors);
  std::vector<float> gradients(elements, 1.0F);
  const auto reduce = [&](float* at, std::size_t count) {
    must(rondeAllReduce(at, at, count, rondeFloat32, rondeAvg, comm.get(), nullptr), "rondeAllReduce");
  };
  const auto group = [&] {
    must(rondeGroupStart(), "rondeGroupStart");
    float* at = gradients.data();
    for (const perf::Tensor& tensor : *tensors) {
      reduce(at, tensor.elements);
      at += tensor.elements;
    }
    must(rondeGroupEnd(), "rondeGroupEnd");
  };
  const auto one_call = [&] { reduce(gradients.data(), elements); };
  const Comparison found = compare(job, group, one_call, rounds);
  if (job.rank() == 0) {
    std::printf(
        "%zu tensors, %zu elements of float32, %d ranks\n\n"
        "| in place | one group, us | one call, us | ratio |\n|---|---:|---:|---:|\n%s",
        tensors->size(), elements, job.nranks(), row("average", found).c_str());
  }
}

}  // namespace pairs
