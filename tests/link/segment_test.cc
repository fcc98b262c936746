#include "link/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <vector>

#include "link/memory_link.h"
#include "support/sanitizers.h"

namespace ronde {
namespace {

std::shared_ptr<Segment> make_segment(const SegmentLayout& layout, bool shared = true) {
  auto segment = Segment::create(layout, shared);
  REQUIRE(segment.ok());
  return *segment;
}

struct Area {
  const char* name;
  size_t begin;
  size_t bytes;
};

std::vector<Area> areas_of(const SegmentLayout& layout) {
  const auto ranks = static_cast<size_t>(layout.local_ranks);
  return {{"words", 0, sizeof(SegmentWords)},
          {"ring counters", layout.ring_counters, 2 * sizeof(SharedCounter)},
          {"pair counters", layout.pair_counters, 2 * ranks * sizeof(SharedCounter)},
          {"one-shot windows", layout.one_shot, 2 * layout.one_shot_bytes},
          {"pieces", layout.pieces, 3 * layout.piece_bytes},
          {"ring slots", layout.ring_slots, layout.ring.total_bytes()},
          {"pair slots", layout.pair_slots, ranks * layout.pair.total_bytes()}};
}

}  // namespace

TEST_CASE("areas of a segment do not overlap, for any number of ranks") {
  for (int ranks = 1; ranks <= 300; ++ranks) {
    CAPTURE(ranks);
    const SegmentLayout layout = SegmentLayout::for_ranks(ranks);
    size_t end = 0;
    for (const Area& area : areas_of(layout)) {
      INFO(area.name);
      REQUIRE(area.begin >= end);
      REQUIRE(area.begin % kCacheLine == 0);
      end = area.begin + area.bytes;
    }
    REQUIRE(layout.total >= end);
    // What a rank can touch: its pair slots to itself are never used, and so never take memory.
    const size_t counters = 2 * static_cast<size_t>(ranks) * sizeof(SharedCounter);
    REQUIRE(layout.total - layout.pair.total_bytes() - counters <= (size_t{9} << 20) / 2);
  }
}

TEST_CASE("links of a segment have enough slots, or none") {
  for (int ranks = 1; ranks <= 300; ++ranks) {
    CAPTURE(ranks);
    const SlotGeometry pair = SegmentLayout::for_ranks(ranks).pair;
    REQUIRE((pair.slots > 0) == (ranks <= 257));
    if (pair.slots == 0) continue;
    REQUIRE(pair.slots >= 2);
    REQUIRE(pair.payload_bytes >= 4096);
    REQUIRE(pair.payload_bytes % kCacheLine == 0);
    REQUIRE(SegmentLayout::for_ranks(ranks).ring.slots >= 2);
  }
}

// An endpoint that has reached one rank.
class ReachedEndpoint final : public MemoryEndpoint {
 public:
  ReachedEndpoint(const EndpointContext& context, int rank, PeerMemory memory) : MemoryEndpoint(context) {
    found(rank, std::move(memory));
  }
  [[nodiscard]] Bytes facts() const override { return {}; }
  Result<std::vector<bool>> reach(const Peers&, const OwnMemory&, Deadline) override { return std::vector<bool>(); }
};

TEST_CASE("a rank of too many is refused pair links with a way out") {
  const SegmentLayout layout = SegmentLayout::for_ranks(300);
  const OwnMemory own{make_segment(layout, false), nullptr};
  EndpointContext context;
  context.nranks = 300;
  ReachedEndpoint endpoint(context, 1, {make_segment(layout, false), nullptr, -1});
  Peers peers;
  for (int rank = 0; rank < 300; ++rank) peers.local_index.push_back(rank);
  REQUIRE(endpoint.connect({}, peers, own, Deadline::after(Milliseconds(0))).ok());
  const auto link = endpoint.take({LinkKind::pair, true, 1});
  REQUIRE(link);
  REQUIRE_FALSE(link->ok());
  CHECK(link->status().code() == rondeInvalidUsage);
  CHECK_THAT(link->status().message(), Catch::Contains("300 ranks") && Catch::Contains("RONDE_TRANSPORT=auto or tcp"));
}

TEST_CASE("a peer sees what the owner writes, and cannot write itself") {
  const SegmentLayout layout = SegmentLayout::for_ranks(2);
  const std::shared_ptr<Segment> own = make_segment(layout);
  auto mapped = Segment::map(own->memfd(), layout, own->token());
  REQUIRE(mapped.ok());
  std::memset(own->piece(1), 0x5a, layout.piece_bytes);
  publish(own->words().published.value, 3);
  CHECK(observe((*mapped)->words().published.value) == 3);
  CHECK((*mapped)->piece(1)[layout.piece_bytes - 1] == std::byte{0x5a});

  // Neither a new mapping nor the old one can be made writable, nor the descriptor written or resized.
  CHECK(::mmap(nullptr, layout.total, PROT_READ | PROT_WRITE, MAP_SHARED, own->memfd(), 0) == MAP_FAILED);
  CHECK(errno == EPERM);
  CHECK(::mprotect(&(*mapped)->words(), 4096, PROT_READ | PROT_WRITE) != 0);
  CHECK(errno == EACCES);
  CHECK(::pwrite(own->memfd(), "x", 1, 0) < 0);
  CHECK(errno == EPERM);
  CHECK(::ftruncate(own->memfd(), 0) != 0);
  CHECK(::fcntl(own->memfd(), F_ADD_SEALS, F_SEAL_WRITE) != 0);
}

TEST_CASE("a segment of another size or with another token is refused") {
  const SegmentLayout layout = SegmentLayout::for_ranks(2);
  const std::shared_ptr<Segment> own = make_segment(layout);

  auto other_size = Segment::map(own->memfd(), SegmentLayout::for_ranks(3), own->token());
  REQUIRE_FALSE(other_size.ok());
  CHECK(other_size.status().code() == rondeSystemError);
  CHECK_THAT(other_size.status().message(), Catch::Contains(std::to_string(layout.total)));

  Nonce token = own->token();
  token[31] ^= std::byte{1};
  auto other_token = Segment::map(own->memfd(), layout, token);
  REQUIRE_FALSE(other_token.ok());
  CHECK(other_token.status().code() == rondeSystemError);

  const Fd unsealed = Fd::make([] { return ::memfd_create("unsealed", MFD_CLOEXEC); });
  REQUIRE(::ftruncate(unsealed.get(), static_cast<off_t>(layout.total)) == 0);
  auto could_shrink = Segment::map(unsealed.get(), layout, own->token());
  REQUIRE_FALSE(could_shrink.ok());
  CHECK_THAT(could_shrink.status().message(), Catch::Contains("sealed"));

  auto no_memory = Segment::map(-1, layout, own->token());
  REQUIRE_FALSE(no_memory.ok());
  CHECK_THAT(no_memory.status().message(), Catch::Contains("errno"));
}

TEST_CASE("a segment that stays in its process has no descriptor") {
  const std::shared_ptr<Segment> own = make_segment(SegmentLayout::for_ranks(4), false);
  CHECK(own->memfd() == -1);
  own->pair_slots(3)[own->layout().pair.total_bytes() - 1] = std::byte{1};
}

TEST_CASE("a forked child has no segment, and ends none of its own mappings with one") {
  REQUIRE(fork_guard::watch());
  for (const bool shared : {true, false}) {
    std::shared_ptr<Segment> own = make_segment(SegmentLayout::for_ranks(2), shared);
    void* const place = &own->words();
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      unsigned char resident = 0;
      const bool is_taken = mincore(place, 1, &resident) == 0;
      // The thread sanitizer starts a thread in the child: its stack may lie there.
      if (is_taken && !testing::kThreadSanitizer) _exit(1);
      const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
      if (!is_taken && mmap(place, 4096, PROT_READ | PROT_WRITE, flags, -1, 0) != place) _exit(2);
      own.reset();
      _exit(mincore(place, 1, &resident) == 0 ? 0 : 3);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(own->words().published.value == 0);
  }
}

TEST_CASE("all counters of a segment can start anywhere") {
  const std::shared_ptr<Segment> own = make_segment(SegmentLayout::for_ranks(3));
  own->start_counters_at(0xfffffff0u);
  CHECK(own->words().published.value == 0xfffffff0u);
  CHECK(own->words().combined.value == 0xfffffff0u);
  CHECK(own->words().lines[1].sequence == 0xfffffff0u);
  CHECK(own->ring_tail().value == 0xfffffff0u);
  CHECK(own->pair_head(2).value == 0xfffffff0u);
  CHECK(own->words().sleep.waits_for == kAwake);
}

}  // namespace ronde
