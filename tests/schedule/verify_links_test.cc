#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "schedule/chain.h"
#include "schedule/exchange.h"
#include "schedule/ordered.h"
#include "schedule/ring.h"
#include "schedule/slice_order.h"
#include "schedule/star.h"
#include "schedule/verifier.h"

using namespace ronde::schedule;

namespace {

bool says(const Verdict& verdict, const std::string& text) { return verdict.why.find(text) != std::string::npos; }

void require_ok(const LinkProgram& program, const LinkConditions& conditions) {
  const Verdict verdict = verify_links(program, conditions);
  if (verdict.ok) return;
  FAIL(verdict.why << " (n " << program.positions << " slices " << conditions.slices << " slots " << conditions.slots
                   << " depth " << conditions.depth << " in place " << conditions.in_place << " user memory "
                   << conditions.user_memory << ")");
}

// Every combination for small n; for large n, whose cost grows with n^3, one combination of slots and depth each.
void require_ok_everywhere(const std::function<LinkProgram(int)>& program_of, int least) {
  int turn = 0;
  for (int n = least; n <= 128; ++n) {
    const LinkProgram program = program_of(n);
    for (size_t slots = 2; slots <= 4; ++slots) {
      for (size_t depth = 1; depth < slots; ++depth) {
        ++turn;
        const bool all = n <= 12;
        if (!all && turn % 6 != n % 6) continue;
        for (size_t slices = 1; slices <= 5; ++slices) {
          if (n > 32 && slices != 1 + static_cast<size_t>(n) % 5) continue;
          for (const bool in_place : {false, true}) {
            for (const bool user_memory : {false, true}) {
              if (n > 64 && in_place != user_memory) continue;
              require_ok(
                  program,
                  {.slices = slices, .slots = slots, .depth = depth, .in_place = in_place, .user_memory = user_memory});
            }
          }
        }
      }
    }
  }
}

// `program` with one step of one position replaced by what `change` makes of it.
template <typename Change>
LinkProgram with_fault(LinkProgram program, int position, int number, Change change) {
  program.step = [original = program.step, position, number, change](int at, int step_number) {
    LinkStep step = original(at, step_number);
    if (at == position && step_number == number) change(step);
    return step;
  };
  return program;
}

// Plants `change` in each step of each position that `applies` picks, in turn; every one must be found, in place and
// out of place. Returns how many there were.
template <typename Change, typename Applies>
int require_found(const LinkProgram& program, const std::string& name, Change change, Applies applies) {
  int planted = 0;
  for (int position = 0; position < program.positions; ++position) {
    for (int number = 0; number < program.steps(position); ++number) {
      if (!applies(program.step(position, number))) continue;
      ++planted;
      const LinkProgram faulty = with_fault(program, position, number, change);
      for (const bool in_place : {false, true}) {
        const Verdict verdict = verify_links(faulty, {.slices = 2, .slots = 2, .depth = 1, .in_place = in_place});
        if (verdict.ok) FAIL(name << " not found: position " << position << " step " << number);
        REQUIRE_FALSE(verdict.why.empty());
      }
    }
  }
  return planted;
}

void require_all_faults_found(const LinkProgram& program) {
  const auto always = [](const LinkStep&) { return true; };
  const auto sends = [](const LinkStep& step) { return step.to.count > 0; };
  const auto receives = [](const LinkStep& step) { return step.from.count > 0; };
  require_found(
      program, "add_input", [](LinkStep& step) { step.add_input = !step.add_input; }, always);
  require_found(
      program, "keep", [](LinkStep& step) { step.keep = !step.keep; }, always);
  require_found(
      program, "from_output", [](LinkStep& step) { step.from_output = !step.from_output; }, always);
  require_found(
      program, "receives_final", [](LinkStep& step) { step.receives_final = !step.receives_final; }, always);
  // Of a step that sends nothing the flag says nothing.
  require_found(
      program, "sends_final", [](LinkStep& step) { step.sends_final = !step.sends_final; }, sends);
  require_found(
      program, "no send", [](LinkStep& step) { step.to.count = 0; }, sends);
  require_found(
      program, "no receive", [](LinkStep& step) { step.from.count = 0; }, receives);
  if (program.meaning.chunks > 1) {
    const int chunks = program.meaning.chunks;
    require_found(
        program, "chunk", [chunks](LinkStep& step) { step.chunk = (step.chunk + 1) % chunks; }, always);
  }
}

// All slices of a step before the next step.
std::vector<Visit> chunk_major(int steps, size_t slices) {
  std::vector<Visit> visits;
  for (int step = 0; step < steps; ++step) {
    for (size_t slice = 0; slice < slices; ++slice) visits.push_back({step, slice});
  }
  return visits;
}

int chunks_sent(const LinkProgram& program, int position) {
  int sent = 0;
  for (int number = 0; number < program.steps(position); ++number) sent += program.step(position, number).to.count;
  return sent;
}

}  // namespace

// With the root anywhere.
template <typename Schedule>
LinkProgram program_of(int n) {
  return link_program<Schedule>(n, n * 5 / 7);
}

TEST_CASE("the ring is complete, exact and ends for n = 2..128") { require_ok_everywhere(program_of<Ring>, 2); }

TEST_CASE("the star is complete, exact and ends for n = 1..128") { require_ok_everywhere(program_of<Star>, 1); }

TEST_CASE("reduce-scatter round the ring is complete, exact and ends for n = 2..128") {
  require_ok_everywhere(program_of<RingReduceScatter>, 2);
}
TEST_CASE("all-gather round the ring is complete, exact and ends for n = 2..128") {
  require_ok_everywhere(program_of<RingAllGather>, 2);
}
TEST_CASE("broadcast along the chain is complete, exact and ends for n = 2..128") {
  require_ok_everywhere(program_of<ChainBroadcast>, 2);
}
TEST_CASE("reduce along the chain is complete, exact and ends for n = 2..128") {
  require_ok_everywhere(program_of<ChainReduce>, 2);
}

TEST_CASE("reductions in the order of positions are complete, exact and end") {
  for (int n = 2; n <= 40; ++n) {
    for (size_t slots = 1; slots <= 4; ++slots) {
      for (size_t slices = 1; slices <= 6; ++slices) {
        if (n > 12 && (slices + slots + static_cast<size_t>(n)) % 5 != 0) continue;
        for (const bool in_place : {false, true}) {
          for (const bool user_memory : {false, true}) {
            LinkConditions conditions{
                .slices = slices, .slots = slots, .depth = slices, .in_place = in_place, .user_memory = user_memory};
            require_ok(link_program<OrderedChain>(n), conditions);
            for (conditions.depth = 1; conditions.depth <= slots; ++conditions.depth) {
              require_ok(link_program<ScatteredReduce>(n), conditions);
              for (const int root : {0, n / 2, n - 1}) require_ok(link_program<DirectReduce>(n, root), conditions);
            }
          }
        }
      }
    }
  }
}

// The sum at each position before it adds its own input must be that of all positions before it.
TEST_CASE("the ordered chain adds in the order of positions") {
  for (int n = 2; n <= 16; ++n) {
    const LinkProgram chain = link_program<OrderedChain>(n);
    for (int position = 0; position < n; ++position) {
      const LinkStep step = chain.step(position, 0);
      CHECK(step.add_input);
      CHECK((position == 0 ? step.from.count == 0 : step.from.first == position - 1));
      CHECK((position == n - 1 ? step.to.count == 0 : step.to.first == position + 1));
    }
  }
}

// Also with a single slot a link; by reference only apart, as a block that is written over must have left.
TEST_CASE("all-to-all, gather and scatter are complete, exact and end") {
  for (int n = 2; n <= 24; ++n) {
    for (size_t slots = 1; slots <= 3; ++slots) {
      for (size_t slices = 1; slices <= 4; ++slices) {
        for (const bool in_place : {false, true}) {
          require_ok(link_program<Exchange>(n), {.slices = slices, .slots = slots, .in_place = in_place});
          for (const int root : {0, n / 2, n - 1}) {
            for (const bool user_memory : {false, true}) {
              const LinkConditions conditions{
                  .slices = slices, .slots = slots, .in_place = in_place, .user_memory = user_memory};
              require_ok(link_program<Gather>(n, root), conditions);
              require_ok(link_program<Scatter>(n, root), conditions);
            }
          }
        }
        require_ok(link_program<Exchange>(n), {.slices = slices, .slots = slots, .user_memory = true});
      }
    }
  }
}

TEST_CASE("all-to-all in place by reference is found unsafe") {
  for (int n = 2; n <= 12; ++n) {
    const Verdict verdict =
        verify_links(link_program<Exchange>(n), {.slots = 2, .in_place = true, .user_memory = true});
    INFO(verdict.why);
    CHECK((says(verdict, "may still be reading") || says(verdict, "after it was overwritten in place")));
  }
}

TEST_CASE("the two halves of the ring with one slot: only the chains end") {
  for (int n = 2; n <= 16; ++n) {
    CHECK(says(verify_links(link_program<RingReduceScatter>(n), {.slices = 2, .slots = 1, .depth = 2}),
               "does not terminate"));
    for (const int root : {0, n - 1}) {
      CHECK(verify_links(link_program<ChainBroadcast>(n, root), {.slices = 5, .slots = 1, .depth = 3}).ok);
      CHECK(verify_links(link_program<ChainReduce>(n, root), {.slices = 5, .slots = 1, .depth = 3}).ok);
    }
  }
}

TEST_CASE("the ring with one slot does not terminate") {
  for (int n = 2; n <= 16; ++n) {
    const Verdict verdict = verify_links(link_program<Ring>(n), {.slots = 1});
    CHECK(says(verdict, "does not terminate"));
  }
}

TEST_CASE("the ring does not terminate when a group fills all slots of a link") {
  for (int n = 2; n <= 16; ++n) {
    for (size_t slots = 2; slots <= 4; ++slots) {
      for (size_t slices = 1; slices <= 6; ++slices) {
        const Verdict verdict = verify_links(link_program<Ring>(n), {.slices = slices, .slots = slots, .depth = slots});
        CHECK(verdict.ok == (slices < slots));
        CHECK(says(verdict, "does not terminate") == (slices >= slots));
      }
    }
  }
}

TEST_CASE("the star terminates as long as a group fits the slots there and back") {
  for (int n = 2; n <= 8; ++n) {
    for (size_t slots = 1; slots <= 4; ++slots) {
      for (size_t depth = 1; depth <= 10; ++depth) {
        const Verdict verdict = verify_links(link_program<Star>(n), {.slices = 11, .slots = slots, .depth = depth});
        CHECK(verdict.ok == (depth <= 2 * slots));
      }
    }
  }
}

TEST_CASE("the ring in chunk-major order does not terminate from as many slices as slots on") {
  for (int n = 2; n <= 16; ++n) {
    for (size_t slots = 2; slots <= 4; ++slots) {
      for (size_t slices = 1; slices <= 6; ++slices) {
        const auto order = [slices](int steps) { return chunk_major(steps, slices); };
        const Verdict verdict = verify_links(link_program<Ring>(n), {.slices = slices, .slots = slots, .order = order});
        CHECK(verdict.ok == (slices < slots));
        CHECK(says(verdict, "does not terminate") == (slices >= slots));
      }
    }
  }
}

TEST_CASE("each flag of each step of the ring, planted wrong, is found") {
  for (int n = 2; n <= 7; ++n) require_all_faults_found(link_program<Ring>(n));
}

TEST_CASE("each flag of each step of the star, planted wrong, is found") {
  for (int n = 2; n <= 7; ++n) require_all_faults_found(link_program<Star>(n));
}

TEST_CASE("each flag of each step of the other schedules, planted wrong, is found") {
  for (int n = 2; n <= 6; ++n) {
    require_all_faults_found(program_of<RingReduceScatter>(n));
    require_all_faults_found(program_of<RingAllGather>(n));
    require_all_faults_found(program_of<ChainBroadcast>(n));
    require_all_faults_found(program_of<ChainReduce>(n));
    require_all_faults_found(program_of<Exchange>(n));
    require_all_faults_found(program_of<OrderedChain>(n));
    require_all_faults_found(program_of<DirectReduce>(n));
    require_all_faults_found(program_of<ScatteredReduce>(n));
    require_all_faults_found(program_of<Gather>(n));
    require_all_faults_found(program_of<Scatter>(n));
  }
}

TEST_CASE("an input overwritten in place before its last read is found") {
  // Whereabouts 0 of the ring for two keeps what it sends in its first step and adds its input to it later.
  const auto keep_first = [](LinkStep& step) { step.keep = true; };
  const auto add_again = [](LinkStep& step) { step.add_input = true; };
  const LinkProgram program = with_fault(with_fault(link_program<Ring>(2), 0, 0, keep_first), 0, 2, add_again);
  const Verdict verdict = verify_links(program, {.in_place = true});
  CHECK(says(verdict, "reads its input after it was overwritten"));
}

TEST_CASE("user memory overwritten while a receiver may still read it is found") {
  // Two positions exchange inputs over two links and add them: right with slots, wrong when the input of the one is
  // still read by the other while the sum is written over it.
  const auto step = [](int position, int number) -> LinkStep {
    const Peers other{1 - position, 1};
    if (number == 0) return {.to = other, .add_input = true};
    return {.from = other, .add_input = true, .keep = true};
  };
  const LinkProgram exchange{.positions = 2,
                             .meaning = meaning_of(Collective::all_reduce, 2, 0, false),
                             .steps = [](int) { return 2; },
                             .step = step};
  for (const bool in_place : {false, true}) {
    for (const bool user_memory : {false, true}) {
      const Verdict verdict = verify_links(exchange, {.slices = 3, .in_place = in_place, .user_memory = user_memory});
      CHECK(verdict.ok == !(in_place && user_memory));
      CHECK(says(verdict, "may still be reading") == (in_place && user_memory));
    }
  }
}

TEST_CASE("each position of the ring sends 2(n-1) chunks, position 0 of the star n-1 whole buffers") {
  for (int n = 2; n <= 128; ++n) {
    const LinkProgram ring = link_program<Ring>(n);
    const LinkProgram star = link_program<Star>(n);
    REQUIRE(ring.meaning.chunks == n);
    REQUIRE(star.meaning.chunks == 1);
    for (int position = 0; position < n; ++position) {
      REQUIRE(chunks_sent(ring, position) == 2 * (n - 1));
      REQUIRE(chunks_sent(star, position) == (position == 0 ? n - 1 : 1));
    }
  }
}

TEST_CASE("each collective sends the least that can be") {
  for (int n = 2; n <= 64; ++n) {
    for (int position = 0; position < n; ++position) {
      // Chunks of 1/n of the result, or of what all have.
      REQUIRE(chunks_sent(link_program<RingReduceScatter>(n), position) == n - 1);
      REQUIRE(chunks_sent(link_program<RingAllGather>(n), position) == n - 1);
      REQUIRE(chunks_sent(link_program<Exchange>(n), position) == n - 1);
      for (const int root : {0, n / 2}) {
        const int before_root = (root + n - 1) % n;
        REQUIRE(chunks_sent(link_program<ChainBroadcast>(n, root), position) == (position == before_root ? 0 : 1));
        REQUIRE(chunks_sent(link_program<ChainReduce>(n, root), position) == (position == root ? 0 : 1));
        REQUIRE(chunks_sent(link_program<Gather>(n, root), position) == (position == root ? 0 : 1));
        REQUIRE(chunks_sent(link_program<Scatter>(n, root), position) == (position == root ? n - 1 : 0));
      }
    }
  }
}

TEST_CASE("what the star sends as partial is an input as it was") {
  static_assert(Star::kPartialsAreInputs && !Ring::kPartialsAreInputs);
  for (int n = 2; n <= 16; ++n) {
    const LinkProgram star = link_program<Star>(n);
    for (int position = 0; position < n; ++position) {
      for (int number = 0; number < star.steps(position); ++number) {
        const LinkStep step = star.step(position, number);
        if (step.to.count == 0 || step.sends_final) continue;
        REQUIRE((step.from.count == 0 && step.add_input && !step.from_output));
      }
    }
  }
}

TEST_CASE("what cannot be verified is refused") {
  CHECK_FALSE(verify_links(link_program<Ring>(129), {}).ok);
  CHECK_FALSE(verify_links(link_program<Ring>(4), {.slices = 0}).ok);
  CHECK_FALSE(verify_links(link_program<Ring>(4), {.slots = 0}).ok);
  CHECK_FALSE(verify_links(link_program<Ring>(4), {.depth = 0}).ok);
}
