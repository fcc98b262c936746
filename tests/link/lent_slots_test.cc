// Slices that lie in the sender's arena: who reads them trusts nothing in them.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>

#include "link/arena.h"
#include "link/free_ranges.h"
#include "link/port.h"

namespace ronde {
namespace {

constexpr size_t kArena = size_t{4} << 20;

// Both ends of a link in this process; the receiver reads the arena through a mapping of its own.
struct LentLink {
  std::shared_ptr<Arena> own = *Arena::create(kArena);
  std::shared_ptr<Arena> mapped = *Arena::map(own->memfd(), own->token(), kArena);
  SlotGeometry geometry{2, 256};
  std::unique_ptr<std::byte[]> memory = std::make_unique<std::byte[]>(geometry.total_bytes());
  SharedCounter tail;
  SharedCounter head;
  SharedCounter withdrawn;
  SleepWord sleep;
  SlotSender sender{geometry, memory.get(), &tail, &head};
  SendPort out{1, sender, Ringer(&sleep, -1, 0), own.get()};
  ReceivePort in{0, SlotReceiver(geometry, memory.get(), &tail, &head), Ringer(&sleep, -1, 1),
                 Lender{mapped.get(), &withdrawn}};
};

}  // namespace

TEST_CASE("lent slices: read where they lie, and the sender's again when they are released") {
  LentLink link;
  std::byte* data = link.own->begin_use(Arena::kHugePage, 1'000);
  std::memset(data, 5, 1'000);
  const SliceHead slice{1, 2, 0, 1'000};
  REQUIRE(link.out.lends(data, 1'000));
  CHECK(link.out.idle());
  REQUIRE(link.out.send_by_reference(slice, data));
  CHECK_FALSE(link.out.idle());
  const std::byte* payload = nullptr;
  REQUIRE(link.in.receive(slice, &payload) == Arrival::here);
  CHECK(payload == link.mapped->at(Arena::kHugePage, 1'000));
  CHECK(std::memcmp(payload, data, 1'000) == 0);
  CHECK(link.in.still_lent());
  link.in.release(slice);
  CHECK(link.out.idle());
}

TEST_CASE("lent slices: places outside of the arena are refused") {
  for (const Place place :
       {Place{1}, Place{Arena::kPage - 1}, Place{kArena - 99}, Place{kArena}, ~Place{0}, ~Place{98}}) {
    LentLink link;
    const SliceHead slice{1, 2, 0, 100};
    REQUIRE(link.sender.acquire() != nullptr);
    link.sender.commit(slice, place);
    const std::byte* payload = nullptr;
    CAPTURE(place);
    CHECK(link.in.receive(slice, &payload) == Arrival::broken);
    REQUIRE(link.in.broken() != nullptr);
    CHECK(link.in.broken()->code() == rondeRemoteError);
  }
}

TEST_CASE("lent slices: what the sender has withdrawn is not taken for its data") {
  LentLink link;
  const std::byte* data = link.own->begin_use(Arena::kPage, 100);
  const SliceHead slice{1, 2, 0, 100};
  REQUIRE(link.out.send_by_reference(slice, data));
  const std::byte* payload = nullptr;
  REQUIRE(link.in.receive(slice, &payload) == Arrival::here);
  withdraw(link.withdrawn.value, 1);
  CHECK_FALSE(link.in.still_lent());
  CHECK(link.in.broken() != nullptr);
}

TEST_CASE("an arena: places of its bytes alone, sealed, zeroes after use") {
  const auto arena = *Arena::create(kArena);
  std::byte* data = arena->begin_use(Arena::kPage, 10'000);
  CHECK(arena->place_of(data, 10'000) == Arena::kPage);
  CHECK(arena->place_of(data, 0) == kNoPlace);
  CHECK(arena->place_of(data - 1, 10) == kNoPlace);
  CHECK(arena->place_of(data, kArena) == kNoPlace);
  int elsewhere = 0;
  CHECK(arena->place_of(&elsewhere, sizeof elsewhere) == kNoPlace);
  CHECK(::ftruncate(arena->memfd(), 0) != 0);
  CHECK(::mmap(nullptr, kArena, PROT_READ | PROT_WRITE, MAP_SHARED, arena->memfd(), 0) == MAP_FAILED);
  const auto mapped = *Arena::map(arena->memfd(), arena->token(), kArena);
  std::memset(data, 9, 10'000);
  CHECK(std::memcmp(mapped->at(Arena::kPage, 10'000), data, 10'000) == 0);
  arena->end_use(Arena::kPage, 10'000);
  CHECK(*mapped->at(Arena::kPage + 5'000, 1) == std::byte{0});
  CHECK_FALSE(Arena::map(arena->memfd(), Nonce{}, kArena).ok());
  CHECK_FALSE(Arena::map(arena->memfd(), arena->token(), kArena - 1).ok());
  const Fd unsealed(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(unsealed.get(), kArena) == 0);
  CHECK_FALSE(Arena::map(unsealed.get(), Nonce{}, kArena).ok());
}

TEST_CASE("free ranges: first fit, aligned, and whole again when all is given back") {
  FreeRanges ranges(100, 10'000);
  CHECK(ranges.take(100, 1) == 100);
  CHECK(ranges.take(1'000, 512) == 512);
  CHECK(ranges.parts() == 2);
  CHECK(ranges.take(312, 1) == 200);
  CHECK(ranges.parts() == 1);
  CHECK_FALSE(ranges.take(9'000, 1));
  ranges.give_back(512, 1'000);
  CHECK(ranges.parts() == 1);
  ranges.give_back(100, 100);
  CHECK(ranges.parts() == 2);
  ranges.give_back(200, 312);
  CHECK(ranges.parts() == 1);
  CHECK(ranges.take(9'900, 1) == 100);
}

}  // namespace ronde
