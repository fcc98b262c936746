// Shapes: lengths, alignments, numbers of sources and targets, partials, streaming, in place, cuts.
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "memory/reduce.h"
#include "memory/reduce_world.h"

namespace ronde::test {
namespace {

void check(const std::string& instruction_set, const Trial& trial) {
  const size_t wrong = trial.mismatches();
  if (wrong == 0) return;
  INFO(instruction_set << ": " << trial.describe());
  CHECK(wrong == 0);
}

TEST_CASE("reduce: every length from 0 to 130 at changing alignments, guards whole") {
  for_each_instruction_set([](const std::string& name) {
    size_t turn = 0;
    for (DataType type : all_types()) {
      const std::vector<Reduction> reductions = all_reductions(type, 3, false);
      for (size_t count = 0; count <= 130; ++count, ++turn) {
        Trial trial;
        trial.reduction = reductions[turn % reductions.size()];
        trial.count = count;
        trial.sources.assign(1 + turn % 4, Content::input);
        trial.targets.assign(1 + turn % 2, Content::final);
        trial.misalignment = {turn % 64, (turn * 7) % 64, (turn * 11 + 3) % 64};
        trial.streaming = turn % 5 < 2;
        trial.in_place = turn % 7 == 0;
        check(name, trial);
      }
    }
  });
  SUCCEED();
}

TEST_CASE("reduce: every misalignment from 0 to 63 of sources and targets, with and without streaming") {
  for_each_instruction_set([](const std::string& name) {
    for (DataType type : {rondeFloat32, rondeBfloat16, rondeUint8, rondeFloat64}) {
      for (size_t offset = 0; offset < 64; ++offset) {
        for (bool streaming : {false, true}) {
          Trial trial;
          trial.reduction = Reduction::of(type, rondeSum, 2, false);
          trial.count = 517;
          trial.sources = {Content::input, Content::input};
          trial.targets = {Content::final, Content::final};
          // The two targets are sometimes equally aligned, so that both can stream, and sometimes not.
          trial.misalignment = {offset, 0, offset, offset % 3 == 0 ? offset : offset / 2};
          trial.streaming = streaming;
          check(name, trial);
        }
      }
    }
  });
  SUCCEED();
}

TEST_CASE("reduce: partials, float32 and of the type itself, mixed with inputs and final results") {
  constexpr Content in = Content::input;
  constexpr Content ready = Content::ready;
  constexpr Content part = Content::partial;
  constexpr Content out = Content::final;
  const std::vector<std::vector<Content>> source_kinds = {
      {in},         {part},      {ready},       {in, part},       {part, in},
      {part, part}, {in, ready}, {ready, part}, {in, part, part}, {part, in, ready, part}};
  const std::vector<std::vector<Content>> target_kinds = {{out},       {part},       {ready},       {out, part},
                                                          {part, out}, {part, part}, {ready, part}, {out, ready}};
  for_each_instruction_set([&](const std::string& name) {
    for (DataType type : all_types()) {
      for (bool float32_partials : {false, true}) {
        if (float32_partials && !is_narrow_float(type)) continue;
        for (const Reduction& reduction : all_reductions(type, 5, float32_partials)) {
          for (const std::vector<Content>& sources : source_kinds) {
            for (const std::vector<Content>& targets : target_kinds) {
              Trial trial;
              trial.reduction = reduction;
              trial.count = 403;
              trial.sources = sources;
              trial.targets = targets;
              trial.misalignment = {0, 13, 8, 60};
              trial.streaming = sources.size() == 2;
              trial.in_place = trial.reduction.type_of(sources[0]) == trial.reduction.type_of(targets[0]);
              check(name, trial);
            }
          }
        }
      }
    }
  });
  SUCCEED();
}

TEST_CASE("reduce: 256 sources") {
  Trial trial;
  trial.reduction = Reduction::of(rondeFloat16, rondeSum, 256, false);
  trial.count = 100;
  trial.sources.assign(256, Content::input);
  trial.targets = {Content::final};
  check("best", trial);
  SUCCEED();
}

// The same elements by one call, and by many on pieces of odd lengths with streaming in every second one.
bool cut_gives_equal_bits(const Reduction& reduction) {
  const size_t count = 1000;
  const DataType type = reduction.type;
  const size_t bytes = element_bytes(type);
  std::vector<uint8_t> inputs[3];
  for (size_t s = 0; s < 3; ++s) {
    inputs[s].resize(count * bytes);
    ElementSource(type, 40 + s).fill(inputs[s].data(), count);
  }
  std::vector<uint8_t> whole(count * bytes);
  std::vector<uint8_t> pieces(count * bytes);
  const auto reduce_range = [&](std::vector<uint8_t>& result, size_t first, size_t number, bool streaming) {
    std::vector<ReduceSource> sources;
    for (const std::vector<uint8_t>& input : inputs) sources.push_back({input.data() + first * bytes, Content::input});
    const ReduceTarget targets[] = {{result.data() + first * bytes, Content::final, streaming}};
    reduce(reduction, sources, targets, number);
  };
  reduce_range(whole, 0, count, false);
  for (size_t first = 0, turn = 0; first < count; ++turn) {
    const size_t number = std::min(count - first, 1 + (turn * 37) % 149);
    reduce_range(pieces, first, number, turn % 2 == 1);
    first += number;
  }
  return whole == pieces;
}

TEST_CASE("reduce: the result does not depend on the cut or on streaming") {
  for_each_instruction_set([](const std::string& name) {
    for (DataType type : all_types()) {
      for (const Reduction& reduction : all_reductions(type, 3, false)) {
        if (cut_gives_equal_bits(reduction)) continue;
        INFO(name << " " << type_name(type) << " " << op_name(reduction.op));
        CHECK(false);
      }
    }
  });
  SUCCEED();
}

TEST_CASE("reduce: streaming of a large range") {
  for (DataType type : {rondeFloat32, rondeBfloat16}) {
    Trial trial;
    trial.reduction = Reduction::of(type, rondeSum, 4, false);
    trial.count = 20'011;
    trial.sources.assign(4, Content::input);
    trial.targets = {Content::final, Content::final};
    trial.streaming = true;
    trial.misalignment = {4, 0, 8, 12, 4, 4};
    check("best", trial);
  }
  SUCCEED();
}

}  // namespace
}  // namespace ronde::test
