// What the collectives mean to the verifier.
#include <utility>

#include "schedule/verifier.h"

namespace ronde::schedule {
namespace {

bool everybody_holds(int, int) { return true; }
bool own_chunk(int position, int chunk) { return position == chunk; }
int itself(int, int chunk) { return chunk; }

Meaning reduction(int n, int chunks, std::function<bool(int, int)> holds) {
  return {.chunks = chunks,
          .final_value = [all = Contributions::of_all(n)](int) { return all; },
          .holds = std::move(holds),
          .overlaid = itself};
}

}  // namespace

Meaning meaning_of(Collective what, int n, int root, bool chunk_per_rank) {
  const auto only_root = [root](int position, int) { return position == root; };
  const auto from_root = [root](int) { return Contributions::of(root); };
  const auto from_number = [](int chunk) { return Contributions::of(chunk); };
  const int chunks = chunk_per_rank ? n : 1;
  switch (what) {
    case Collective::all_reduce: return reduction(n, chunks, everybody_holds);
    case Collective::reduce_scatter: return reduction(n, n, own_chunk);
    case Collective::reduce: return reduction(n, chunks, only_root);
    case Collective::all_gather: return {n, from_number, everybody_holds, itself};
    case Collective::broadcast: return {chunks, from_root, everybody_holds, itself};
    case Collective::gather: return {n, from_number, only_root, itself};
    case Collective::scatter: return {n, from_root, own_chunk, itself};
    case Collective::all_to_all:
      return {n * n, [n](int chunk) { return Contributions::of(chunk / n); },
              [n](int position, int chunk) { return chunk % n == position; },
              [n](int position, int chunk) { return position * n + chunk / n; }};
    case Collective::barrier:
    case Collective::send_receive: break;
  }
  return {};  // no schedule of its own; refused as without chunks
}

}  // namespace ronde::schedule
