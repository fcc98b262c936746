// The right results, against a model that reduces in many orders and rounds after every step, as a ring does, or once.
#include "common/values.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace {

using perf::Kind;
using perf::Reduction;
using perf::TypeInfo;
using Bits = std::uint64_t;

// Arithmetic in the type that the library computes in: float64 for itself, float32 for all other floats.
template <typename Real>
Real combine(rondeRedOp_t op, Real a, Real b) {
  if constexpr (std::is_integral_v<Real>) {
    if (op == rondeBitAnd) return a & b;
    if (op == rondeBitOr) return a | b;
    if (op == rondeBitXor) return a ^ b;
  }
  switch (op) {
    case rondeProd: return a * b;
    case rondeMin: return std::min(a, b);
    case rondeMax: return std::max(a, b);
    default: return a + b;
  }
}

template <typename Real>
Bits model_float(const TypeInfo& type, rondeRedOp_t op, const std::vector<Bits>& inputs, bool round_each_step) {
  const Real factor = op == rondeAvg ? Real(1) / static_cast<Real>(inputs.size()) : Real(1);
  Real result = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Real value = static_cast<Real>(perf::decode(type, inputs[i])) * factor;
    result = i == 0 ? value : combine(op, result, value);
    if (round_each_step) result = static_cast<Real>(perf::decode(type, perf::encode(type, result)));
  }
  return perf::encode(type, result);
}

template <typename Integer>
Bits model_integer(rondeRedOp_t op, const std::vector<Bits>& inputs) {
  Integer result = static_cast<Integer>(inputs[0]);
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const auto value = static_cast<Integer>(inputs[i]);
    if (op == rondeMin || op == rondeMax) {
      result = combine(op, result, value);
    } else {
      result = static_cast<Integer>(combine(op, static_cast<Bits>(result), static_cast<Bits>(value)));
    }
  }
  if (op == rondeAvg) {
    if constexpr (std::is_signed_v<Integer>) {
      result = static_cast<Integer>(result / static_cast<std::int64_t>(inputs.size()));
    } else {
      result = static_cast<Integer>(result / inputs.size());
    }
  }
  return static_cast<Bits>(static_cast<std::make_unsigned_t<Integer>>(result));
}

Bits model(const Reduction& reduction, const std::vector<Bits>& inputs, bool round_each_step) {
  const TypeInfo& type = perf::type_info(reduction.type);
  switch (reduction.type) {
    case rondeInt8: return model_integer<std::int8_t>(reduction.op, inputs);
    case rondeUint8: return model_integer<std::uint8_t>(reduction.op, inputs);
    case rondeInt32: return model_integer<std::int32_t>(reduction.op, inputs);
    case rondeUint32: return model_integer<std::uint32_t>(reduction.op, inputs);
    case rondeInt64: return model_integer<std::int64_t>(reduction.op, inputs);
    case rondeUint64: return model_integer<std::uint64_t>(reduction.op, inputs);
    case rondeFloat64: return model_float<double>(type, reduction.op, inputs, round_each_step);
    default: return model_float<float>(type, reduction.op, inputs, round_each_step);
  }
}

Bits multiplied(const TypeInfo& type, Bits bits, int rank) {
  const int scalar = perf::mulsum_scalar(rank);
  if (type.kind != Kind::kFloat) return bits * static_cast<Bits>(scalar);
  const double product = perf::decode(type, bits) * scalar;
  CHECK(perf::decode(type, perf::encode(type, product)) == product);  // it travels in the type
  return perf::encode(type, product);
}

// What is summed, of mulsum after the multiplication.
std::vector<Bits> inputs_at(const Reduction& reduction, std::size_t index) {
  std::vector<Bits> inputs;
  for (int rank = 0; rank < reduction.nranks; ++rank) {
    const Bits bits = perf::input_bits(reduction, rank, index);
    inputs.push_back(reduction.op == perf::kMulSum ? multiplied(perf::type_info(reduction.type), bits, rank) : bits);
  }
  return inputs;
}

void check_all(int nranks, std::size_t places, int orders) {
  std::mt19937 random(static_cast<unsigned>(nranks));
  for (const TypeInfo& type : perf::all_types()) {
    for (const perf::OpInfo& op : perf::all_ops()) {
      if (!perf::fits(op.op, type.type)) continue;
      const Reduction reduction{type.type, op.op, nranks};
      const auto allowed = static_cast<Bits>(perf::allowed_ulps(reduction));
      std::size_t wrong = 0;
      for (std::size_t index = 0; index < places; ++index) {
        std::vector<Bits> inputs = inputs_at(reduction, index);
        const Bits expected = perf::expected_bits(reduction, index);
        for (int order = 0; order < orders; ++order) {
          const Bits got = model(reduction, inputs, order % 2 == 0);
          wrong += got != expected && (allowed == 0 || perf::ulps_between(type, got, expected) > allowed);
          std::shuffle(inputs.begin(), inputs.end(), random);
        }
      }
      INFO(type.name << " " << op.name << " " << nranks << " ranks");
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("expected values are those of every order, 1 to 16 ranks") {
  for (int nranks = 1; nranks <= 16; ++nranks) check_all(nranks, 300, 6);
}

TEST_CASE("expected values are those of every order, many ranks") {
  for (int nranks : {17, 31, 32, 33, 64, 100, 127, 128}) check_all(nranks, 60, 4);
}

TEST_CASE("only averages of floats over a number of ranks that is no power of two may be inexact") {
  for (const TypeInfo& type : perf::all_types()) {
    for (int nranks : {1, 2, 3, 4, 8, 128}) {
      CHECK(perf::allowed_ulps({type.type, rondeSum, nranks}) == 0);
      const bool inexact = type.kind == Kind::kFloat && type.bytes >= 4 && nranks == 3;
      CHECK(perf::allowed_ulps({type.type, rondeAvg, nranks}) == (inexact ? 2 : 0));
    }
  }
}

TEST_CASE("every rank matters, and values differ from place to place") {
  for (const TypeInfo& type : perf::all_types()) {
    for (const perf::OpInfo& op : perf::all_ops()) {
      if (!perf::fits(op.op, type.type)) continue;
      const Reduction reduction{type.type, op.op, 128};
      std::set<Bits> results;
      for (std::size_t index = 0; index < 500; ++index) results.insert(perf::expected_bits(reduction, index));
      INFO(type.name << " " << op.name);
      // A minimum over 128 values of a type with few of them is nearly always the least one.
      CHECK(results.size() >= (type.bytes == 1 ? 2 : 20));
      for (int rank = 0; rank < 128; ++rank) {
        std::set<Bits> values;
        for (std::size_t index = 0; index < 500; ++index) values.insert(perf::input_bits(reduction, rank, index));
        CHECK(values.size() >= 2);
      }
    }
  }
}

TEST_CASE("what is only moved has random bits, different on each rank") {
  for (const TypeInfo& type : perf::all_types()) {
    std::size_t equal = 0;
    Bits ones = 0;
    Bits zeros = 0;
    for (std::size_t index = 0; index < 1000; ++index) {
      const Bits first = perf::input_bits({type.type, perf::kNoReduction, 2}, 0, index);
      equal += first == perf::input_bits({type.type, perf::kNoReduction, 2}, 1, index);
      ones |= first;
      zeros |= ~first;
    }
    const Bits all = type.bytes == 8 ? ~Bits{0} : (Bits{1} << (8 * type.bytes)) - 1;
    INFO(type.name);
    CHECK(equal < 20);
    CHECK(ones == all);
    CHECK((zeros & all) == all);
  }
}

TEST_CASE("integer averages are tried with and without overflow") {
  const Reduction reduction{rondeInt8, rondeAvg, 4};
  int overflows[2] = {};
  for (std::size_t index = 0; index < 200; ++index) {
    int sum = 0;
    for (Bits bits : inputs_at(reduction, index)) sum += static_cast<std::int8_t>(bits);
    overflows[index % 2] += sum < -128 || sum > 127;
  }
  CHECK(overflows[0] > 10);
  CHECK(overflows[1] == 0);
}

TEST_CASE("the rule for averages, by hand") {
  CHECK(model({rondeUint8, rondeAvg, 4}, {250, 250, 250, 250}, false) == 58);
  CHECK(model({rondeInt8, rondeAvg, 4}, {0xff, 0xfe, 0xfe, 0xfe}, false) == 0xff);
  CHECK(model({rondeInt8, rondeSum, 2}, {120, 100}, false) == 0xdc);
}

TEST_CASE("minimum and maximum see negative values") {
  for (rondeDataType_t type : {rondeInt8, rondeInt64, rondeFloat16, rondeFloat32, rondeFloat8e5m2}) {
    const perf::TypeInfo& info = perf::type_info(type);
    const Bits sign = 1ULL << (8 * info.bytes - 1);
    int negative = 0;
    for (std::size_t index = 0; index < 100; ++index) {
      negative += (perf::input_bits({type, rondeMin, 2}, 1, index) & sign) != 0;
    }
    CHECK(negative > 20);
    CHECK(negative < 80);
  }
}

}  // namespace
