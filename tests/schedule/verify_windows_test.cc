#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "schedule/direct.h"
#include "schedule/one_shot.h"
#include "schedule/two_shot.h"
#include "schedule/verifier.h"

using namespace ronde::schedule;

namespace {

bool says(const Verdict& verdict, const std::string& text) { return verdict.why.find(text) != std::string::npos; }

// In some order of progress a slot is overwritten before it is read; which of the two ends is caught depends on the
// order.
bool unsafe(const Verdict& verdict) { return says(verdict, "may still be reading") || says(verdict, "may lie"); }

bool unsafe_lent(const Verdict& verdict) {
  return says(verdict, "may still be reading") || says(verdict, "may be overwritten");
}

void require_ok(const WindowProgram& program, size_t slots) {
  for (const bool in_place : {false, true}) {
    if (program.positions > 48 && in_place != (program.positions % 2 == 0)) continue;  // the cost grows with n^3
    const Verdict verdict = verify_windows(program, {.slots = slots, .in_place = in_place});
    if (!verdict.ok) FAIL(verdict.why << " (n " << program.positions << " pieces " << program.pieces << ")");
  }
}

// First all pieces of `first`, then all of `second`, in the same windows: two operations one after the other.
WindowProgram one_after_the_other(const WindowProgram& first, const WindowProgram& second) {
  return {.positions = first.positions,
          .pieces = first.pieces + second.pieces,
          .meaning = [first, second](size_t piece) -> const Meaning& {
            return piece < first.pieces ? first.meaning(piece) : second.meaning(piece - first.pieces);
          },
          .steps = [first, second](int position) { return first.steps(position) + second.steps(position); },
          .step =
              [first, second](int position, size_t number) {
                if (number < first.steps(position)) return first.step(position, number);
                WindowStep step = second.step(position, number - first.steps(position));
                step.piece += first.pieces;
                return step;
              }};
}

template <typename Change>
WindowProgram with_fault(WindowProgram program, int position, size_t number, Change change) {
  program.step = [original = program.step, position, number, change](int at, size_t step_number) {
    WindowStep step = original(at, step_number);
    if (at == position && step_number == number) change(step);
    return step;
  };
  return program;
}

template <typename Change, typename Applies>
void require_found(const WindowProgram& program, size_t slots, const std::string& name, Change change,
                   Applies applies) {
  for (int position = 0; position < program.positions; ++position) {
    for (size_t number = 0; number < program.steps(position); ++number) {
      if (!applies(program.step(position, number))) continue;
      const Verdict verdict = verify_windows(with_fault(program, position, number, change), {.slots = slots});
      if (verdict.ok) FAIL(name << " not found: position " << position << " step " << number);
    }
  }
}

bool says_hand_out(const WindowProgram& program) {
  for (size_t number = 0; number < program.steps(0); ++number) {
    if (program.step(0, number).hand_out) return true;
  }
  return false;
}

void require_all_faults_found(const WindowProgram& program, size_t slots) {
  const int n = program.positions;
  const size_t pieces = program.pieces;
  const auto always = [](const WindowStep&) { return true; };
  const auto combines = [](const WindowStep& step) { return step.action == WindowAction::combine; };
  const auto fetches = [](const WindowStep& step) { return step.action == WindowAction::fetch; };
  // To publish more than what others need is right, only slower.
  const auto narrow = [](WindowStep& step) {
    step.parts = step.parts == WindowParts::own ? WindowParts::others : WindowParts::own;
  };
  require_found(program, slots, "other parts", narrow, [](const WindowStep& step) {
    return step.action == WindowAction::combine || step.action == WindowAction::publish;
  });
  const bool hands_out = says_hand_out(program);
  if (hands_out) {
    require_found(
        program, slots, "no hand-out", [](WindowStep& step) { step.hand_out = false; }, combines);
  }
  require_found(
      program, slots, "peer", [n](WindowStep& step) { step.peer = (step.peer + 1) % n; }, fetches);
  require_found(
      program, slots, "piece", [pieces](WindowStep& step) { step.piece = (step.piece + 1) % pieces; }, always);
  require_found(
      program, slots, "no combine", [](WindowStep& step) { step.action = WindowAction::publish; }, combines);
  require_found(
      program, slots, "no fetch", [](WindowStep& step) { step.action = WindowAction::publish; }, fetches);
}

}  // namespace

TEST_CASE("one-shot is complete, exact, safe and ends for n = 1..128") {
  for (int n = 1; n <= 128; ++n) {
    for (size_t pieces = 1; pieces <= 7; ++pieces) {
      if (n > 24 && pieces != 4) continue;
      require_ok(window_program<OneShot>(n, pieces), OneShot::kSlots);
      if (n <= 24) require_ok(window_program<OneShot>(n, pieces), OneShot::kSlots + 1);
    }
  }
}

TEST_CASE("two-shot is complete, exact, safe and ends for n = 1..128") {
  for (int n = 1; n <= 128; ++n) {
    for (size_t pieces = 1; pieces <= 8; ++pieces) {
      if (n > 24 && pieces != 5) continue;
      require_ok(window_program<TwoShot>(n, pieces), TwoShot::kSlots);
      if (n <= 24) require_ok(window_program<TwoShot>(n, pieces), TwoShot::kSlots + 1);
    }
  }
}

TEST_CASE("reduce-scatter and all-gather are complete, exact, safe and end for n = 2..128") {
  for (int n = 2; n <= 128; ++n) {
    for (size_t pieces = 1; pieces <= 7; ++pieces) {
      if (n > 24 && pieces != 4) continue;
      for (size_t slots = 2; slots <= 4; ++slots) {
        if (n > 24 && slots != DirectAllGather::kSlots) continue;
        require_ok(window_program<DirectReduceScatter>(n, pieces), slots);
        require_ok(window_program<DirectAllGather>(n, pieces), slots);
      }
    }
  }
}

namespace {

// Everybody lends, or every other one does and the others copy.
void require_ok_lent(const WindowProgram& program, size_t slots) {
  for (const bool in_place : {false, true}) {
    for (const int every : {1, 2}) {
      const Verdict verdict = verify_windows(
          program,
          {.slots = slots, .in_place = in_place, .lends = [every](int position) { return position % every == 0; }});
      if (!verdict.ok) FAIL(verdict.why << " (n " << program.positions << " pieces " << program.pieces << ")");
    }
  }
}

}  // namespace

TEST_CASE("two-shot, reduce-scatter and all-gather are right where inputs and results are read in the user's memory") {
  for (int n = 2; n <= 32; ++n) {
    for (const size_t pieces : {1, 2, 5}) {
      require_ok_lent(window_program<TwoShot>(n, pieces), TwoShot::kSlots);
      require_ok_lent(window_program<DirectReduceScatter>(n, pieces), DirectReduceScatter::kSlots);
      require_ok_lent(window_program<DirectAllGather>(n, pieces), DirectAllGather::kSlots);
    }
  }
}

TEST_CASE("inputs that are lent and overwritten too early are found") {
  const auto all = [](int) { return true; };
  // One-shot writes over its input in place while others may still read it.
  CHECK(unsafe_lent(verify_windows(window_program<OneShot>(3, 2), {.slots = 2, .in_place = true, .lends = all})));
  CHECK(verify_windows(window_program<OneShot>(3, 2), {.slots = 2, .lends = all}).ok);
  // Two-shot whose fetch does not wait for the one who combines that part.
  const auto program =
      with_fault(window_program<TwoShot>(2, 1), 0, 2, [](WindowStep& step) { step.as_published = true; });
  CHECK_FALSE(verify_windows(program, {.slots = TwoShot::kSlots, .in_place = true, .lends = all}).ok);
}

TEST_CASE("operations may follow each other in the same window without a barrier") {
  for (int n = 2; n <= 16; ++n) {
    for (size_t before = 1; before <= 4; ++before) {
      for (size_t after = 1; after <= 4; ++after) {
        require_ok(one_after_the_other(window_program<OneShot>(n, before), window_program<OneShot>(n, after)),
                   OneShot::kSlots);
        const auto all_kinds = [n](size_t pieces) {
          return std::vector{window_program<OneShot>(n, pieces), window_program<TwoShot>(n, pieces),
                             window_program<DirectReduceScatter>(n, pieces),
                             window_program<DirectAllGather>(n, pieces)};
        };
        for (const WindowProgram& first : all_kinds(before)) {
          for (const WindowProgram& second : all_kinds(after))
            require_ok(one_after_the_other(first, second), TwoShot::kSlots);
        }
      }
    }
  }
}

TEST_CASE("two-shot with two slots is found unsafe") {
  for (int n = 2; n <= 32; ++n) {
    for (size_t pieces = 3; pieces <= 6; ++pieces) {
      CHECK(unsafe(verify_windows(window_program<TwoShot>(n, pieces), {.slots = 2})));
    }
  }
}

TEST_CASE("two-shot with two slots would be safe if a part lay at the same place for all pieces, with one it is not") {
  for (int n = 2; n <= 32; ++n) {
    for (size_t pieces = 3; pieces <= 6; ++pieces) {
      CHECK(verify_windows(window_program<TwoShot>(n, pieces), {.slots = 2, .fixed_parts = true}).ok);
      CHECK(unsafe(verify_windows(window_program<TwoShot>(n, pieces), {.slots = 1, .fixed_parts = true})));
    }
  }
}

TEST_CASE("one-shot with one slot is found unsafe") {
  for (int n = 2; n <= 32; ++n) {
    for (size_t pieces = 2; pieces <= 6; ++pieces) {
      CHECK(unsafe(verify_windows(window_program<OneShot>(n, pieces), {.slots = 1})));
    }
  }
}

TEST_CASE("reduce-scatter and all-gather with one slot are found unsafe") {
  for (int n = 2; n <= 32; ++n) {
    for (size_t pieces = 2; pieces <= 6; ++pieces) {
      CHECK(unsafe(verify_windows(window_program<DirectReduceScatter>(n, pieces), {.slots = 1})));
      CHECK(unsafe(verify_windows(window_program<DirectAllGather>(n, pieces), {.slots = 1})));
    }
  }
}

TEST_CASE("each step of the window schedules, planted wrong, is found") {
  for (int n = 2; n <= 5; ++n) {
    require_all_faults_found(window_program<DirectReduceScatter>(n, 5), DirectReduceScatter::kSlots);
    require_all_faults_found(window_program<DirectAllGather>(n, 5), DirectAllGather::kSlots);
    require_all_faults_found(window_program<OneShot>(n, 5), OneShot::kSlots);
    require_all_faults_found(window_program<TwoShot>(n, 5), TwoShot::kSlots);
  }
}

TEST_CASE("a wait for a piece that nobody publishes is found") {
  WindowProgram program = window_program<TwoShot>(3, 2);
  program.steps = [original = program.steps](int position) { return position == 1 ? 0 : original(position); };
  CHECK(says(verify_windows(program, {.slots = TwoShot::kSlots}), "does not terminate"));
}
