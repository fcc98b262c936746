#include <catch2/catch.hpp>
#include <string>

#include "schedule/one_shot.h"
#include "schedule/two_shot.h"
#include "schedule/verifier.h"

using namespace ronde::schedule;

namespace {

bool says(const Verdict& verdict, const std::string& text) { return verdict.why.find(text) != std::string::npos; }

// In some order of progress a slot is overwritten before it is read; which of the two ends is caught depends on the order.
bool unsafe(const Verdict& verdict) { return says(verdict, "may still be reading") || says(verdict, "may lie"); }

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

void require_all_faults_found(const WindowProgram& program, size_t slots) {
  const int n = program.positions;
  const size_t pieces = program.pieces;
  const auto always = [](const WindowStep&) { return true; };
  const auto combines = [](const WindowStep& step) { return step.action == WindowAction::combine; };
  const auto fetches = [](const WindowStep& step) { return step.action == WindowAction::fetch; };
  // A publish of the whole piece where a part would do is right, only slower.
  const auto whole_counts = [](const WindowStep& step) { return step.action == WindowAction::combine || step.whole; };
  require_found(
      program, slots, "whole", [](WindowStep& step) { step.whole = !step.whole; }, whole_counts);
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
      require_ok(one_shot_program(n, pieces), OneShot::kSlots);
      if (n <= 24) require_ok(one_shot_program(n, pieces), OneShot::kSlots + 1);
    }
  }
}

TEST_CASE("two-shot is complete, exact, safe and ends for n = 1..128") {
  for (int n = 1; n <= 128; ++n) {
    for (size_t pieces = 1; pieces <= 8; ++pieces) {
      if (n > 24 && pieces != 5) continue;
      require_ok(two_shot_program(n, pieces), TwoShot::kSlots);
      if (n <= 24) require_ok(two_shot_program(n, pieces), TwoShot::kSlots + 1);
    }
  }
}

TEST_CASE("operations may follow each other in the same window without a barrier") {
  for (int n = 1; n <= 16; ++n) {
    for (size_t before = 1; before <= 4; ++before) {
      for (size_t after = 1; after <= 4; ++after) {
        const WindowProgram small = one_shot_program(n, before);
        const WindowProgram large = two_shot_program(n, after);
        require_ok(one_after_the_other(small, small), OneShot::kSlots);
        require_ok(one_after_the_other(large, large), TwoShot::kSlots);
        require_ok(one_after_the_other(small, large), TwoShot::kSlots);
        require_ok(one_after_the_other(large, small), TwoShot::kSlots);
      }
    }
  }
}

TEST_CASE("two-shot with two slots is found unsafe") {
  for (int n = 2; n <= 32; ++n) {
    for (size_t pieces = 3; pieces <= 6; ++pieces) {
      CHECK(unsafe(verify_windows(two_shot_program(n, pieces), {.slots = 2})));
    }
  }
}

TEST_CASE("two-shot with two slots would be safe if a part lay at the same place for all pieces, with one it is not") {
  for (int n = 2; n <= 32; ++n) {
    for (size_t pieces = 3; pieces <= 6; ++pieces) {
      CHECK(verify_windows(two_shot_program(n, pieces), {.slots = 2, .fixed_parts = true}).ok);
      CHECK(unsafe(verify_windows(two_shot_program(n, pieces), {.slots = 1, .fixed_parts = true})));
    }
  }
}

TEST_CASE("one-shot with one slot is found unsafe") {
  for (int n = 2; n <= 32; ++n) {
    for (size_t pieces = 2; pieces <= 6; ++pieces) {
      CHECK(unsafe(verify_windows(one_shot_program(n, pieces), {.slots = 1})));
    }
  }
}

TEST_CASE("each step of one-shot and two-shot, planted wrong, is found") {
  for (int n = 2; n <= 5; ++n) {
    require_all_faults_found(one_shot_program(n, 5), OneShot::kSlots);
    require_all_faults_found(two_shot_program(n, 5), TwoShot::kSlots);
  }
}

TEST_CASE("a wait for a piece that nobody publishes is found") {
  WindowProgram program = two_shot_program(3, 2);
  program.steps = [original = program.steps](int position) { return position == 1 ? 0 : original(position); };
  CHECK(says(verify_windows(program, {.slots = TwoShot::kSlots}), "does not terminate"));
}
