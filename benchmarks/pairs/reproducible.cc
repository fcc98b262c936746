// All-reduces with RONDE_REPRODUCIBLE=1 and without.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "pairs/pairs.h"

namespace pairs {
namespace {

rondeComm_t make(const Job& job, const char* reproducible) {
  setenv("RONDE_REPRODUCIBLE", reproducible, 1);
  return job.another();
}

}  // namespace

void reproducible_or_not(const Job& job, int rounds) {
  const Comm with(make(job, "1"));
  const Comm without(make(job, "0"));
  if (job.rank() == 0) {
    std::printf("| sum of | with, us | without, us | ratio |\n|---|---:|---:|---:|\n");
  }
  struct Type {
    rondeDataType_t type;
    const char* name;
    std::size_t bytes;
  };
  for (const Type& type : {Type{rondeFloat32, "float32", 4}, Type{rondeBfloat16, "bfloat16", 2}}) {
    for (const std::size_t bytes :
         {std::size_t{8}, std::size_t{64} << 10, std::size_t{1} << 20, std::size_t{64} << 20}) {
      std::vector<std::byte> values(bytes);
      const auto reduce = [&](const Comm& comm) {
        must(rondeAllReduce(values.data(), values.data(), bytes / type.bytes, type.type, rondeSum, comm.get(), nullptr),
             "rondeAllReduce");
      };
      const Comparison found = compare(
          job, [&] { reduce(with); }, [&] { reduce(without); }, rounds);
      if (job.rank() == 0) std::fputs(row(fmt::format("{} of {}", size_text(bytes), type.name), found).c_str(), stdout);
      std::fflush(stdout);
    }
  }
}

}  // namespace pairs
