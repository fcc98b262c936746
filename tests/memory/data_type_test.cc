#include "memory/data_type.h"

#include <catch2/catch.hpp>

#include "memory/reduce.h"

namespace ronde {
namespace {

TEST_CASE("data types have sizes, kinds and names") {
  CHECK(element_bytes(rondeInt8) == 1);
  CHECK(element_bytes(rondeUint64) == 8);
  CHECK(element_bytes(rondeBfloat16) == 2);
  CHECK(element_bytes(rondeFloat64) == 8);
  CHECK(element_bytes(rondeFloat8e5m2) == 1);
  CHECK(is_narrow_float(rondeFloat16));
  CHECK(is_narrow_float(rondeFloat8e4m3));
  CHECK_FALSE(is_narrow_float(rondeFloat32));
  CHECK_FALSE(is_float(rondeUint8));
  CHECK(type_name(rondeFloat16) == "float16");
  CHECK(op_name(rondeAvg) == "avg");
}

TEST_CASE("numbers that are no type or reduction are told apart") {
  CHECK(is_data_type(0));
  CHECK_FALSE(is_data_type(-1));
  CHECK_FALSE(is_data_type(rondeNumTypes));
  CHECK_FALSE(is_built_in_op(rondeNumOps));
  CHECK(type_name(static_cast<DataType>(rondeNumTypes)) == "?");
  CHECK(op_name(static_cast<RedOp>(17)) == "?");
}

TEST_CASE("only narrow floats have partials of another type") {
  CHECK(Reduction::of(rondeBfloat16, rondeSum, 4, true).partial == rondeFloat32);
  CHECK(Reduction::of(rondeBfloat16, rondeSum, 4, false).partial == rondeBfloat16);
  CHECK(Reduction::of(rondeFloat64, rondeSum, 4, true).partial == rondeFloat64);
  CHECK(Reduction::of(rondeInt8, rondeSum, 4, true).partial == rondeInt8);
}

}  // namespace
}  // namespace ronde
