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
  CHECK(op_name(rondeBitAnd) == "bit_and");
  CHECK(op_name(rondeBitOr) == "bit_or");
  CHECK(op_name(rondeBitXor) == "bit_xor");
}

TEST_CASE("numbers that are no type or reduction are told apart") {
  CHECK(is_data_type(0));
  CHECK_FALSE(is_data_type(-1));
  CHECK_FALSE(is_data_type(rondeNumTypes));
  CHECK_FALSE(is_built_in_op(-1));
  CHECK_FALSE(is_built_in_op(rondeNumOps));
  CHECK_FALSE(is_built_in_op(rondeBitAnd - 1));
  CHECK(is_built_in_op(rondeBitAnd));
  CHECK(is_built_in_op(rondeBitXor));
  CHECK_FALSE(is_built_in_op(rondeBitXor + 1));
  CHECK_FALSE(is_built_in_op(rondeMaxRedOp));
  CHECK(type_name(static_cast<DataType>(rondeNumTypes)) == "?");
  CHECK(op_name(static_cast<RedOp>(17)) == "?");
}

TEST_CASE("bitwise reductions are for integers") {
  for (int type = 0; type < rondeNumTypes; ++type) {
    for (RedOp op : {rondeBitAnd, rondeBitOr, rondeBitXor}) {
      CHECK(reduction_fits(static_cast<DataType>(type), op) == !is_float(static_cast<DataType>(type)));
    }
    CHECK(reduction_fits(static_cast<DataType>(type), rondeAvg));
  }
}

TEST_CASE("a byte stands for each built-in reduction") {
  for (RedOp op : {rondeSum, rondeProd, rondeMax, rondeMin, rondeAvg, rondeBitAnd, rondeBitOr, rondeBitXor}) {
    CHECK(op_of_code(op_code(op)) == op);
  }
  for (int code = 0; code < 256; ++code) {
    const RedOp op = op_of_code(static_cast<uint8_t>(code));
    CHECK((!is_built_in_op(op) || op_code(op) == code));
  }
}

TEST_CASE("only narrow floats have partials of another type") {
  CHECK(Reduction::of(rondeBfloat16, rondeSum, 4, true).partial == rondeFloat32);
  CHECK(Reduction::of(rondeBfloat16, rondeSum, 4, false).partial == rondeBfloat16);
  CHECK(Reduction::of(rondeFloat64, rondeSum, 4, true).partial == rondeFloat64);
  CHECK(Reduction::of(rondeInt8, rondeSum, 4, true).partial == rondeInt8);
}

}  // namespace
}  // namespace ronde
