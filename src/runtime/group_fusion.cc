// The small all-reduces of a group: those of one type and reduction travel as one.
#include <algorithm>

#include "runtime/group.h"

namespace ronde {
namespace {

// Of what a message costs beside its bytes nothing is left to save above this.
constexpr size_t kSmall = size_t{64} << 10;
// A bundle that stays in the caches while it is packed.
constexpr size_t kBundle = size_t{1} << 20;

// Of reductions that the program has made each rank has handles of its own: whether two calls have the same one may
// differ between ranks, which must fuse alike.
bool can_be_fused(const OperationArgs& args) {
  return args.what == Collective::all_reduce && args.created == nullptr && args.bytes() <= kSmall;
}

// What travels together.
struct Bundle {
  size_t place = 0;  // of the first among the calls
  GroupCall call;    // of the first
  std::vector<Span> spans;
  size_t bytes = 0;

  [[nodiscard]] bool takes(const GroupCall& other) const {
    return call.communicator == other.communicator && call.stream == other.stream &&
           call.args.type == other.args.type && call.args.op == other.args.op && bytes + other.args.bytes() <= kBundle;
  }
  void take(const GroupCall& other) {
    spans.push_back({other.args.send, other.args.receive, other.args.count});
    bytes += other.args.bytes();
  }
};

}  // namespace

std::vector<GroupCall> with_small_ones_fused(std::vector<GroupCall> calls) {
  std::vector<Bundle> bundles;
  std::vector<bool> gone(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    const GroupCall& call = calls[i];
    if (!can_be_fused(call.args) || call.communicator->nranks() == 1) continue;
    // The last one that fits: all ranks see the same calls in the same order.
    const auto fits =
        std::find_if(bundles.rbegin(), bundles.rend(), [&](const Bundle& one) { return one.takes(call); });
    if (fits != bundles.rend()) {
      fits->take(call);
      gone[i] = true;
    } else {
      bundles.push_back({i, call, {}, 0});
      bundles.back().take(call);
    }
  }
  for (Bundle& bundle : bundles) {
    if (bundle.spans.size() == 1) continue;
    OperationArgs& args = calls[bundle.place].args;
    args.count = bundle.bytes / element_bytes(args.type);
    args.fused = true;
    args.spans = std::make_shared<const std::vector<Span>>(std::move(bundle.spans));
  }
  size_t kept = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (gone[i]) continue;
    if (kept != i) calls[kept] = std::move(calls[i]);
    ++kept;
  }
  calls.erase(calls.begin() + static_cast<ptrdiff_t>(kept), calls.end());
  return calls;
}

}  // namespace ronde
