// Reductions that a program makes.
#include <fmt/format.h>

#include "api/calls.h"
#include "api/group.h"
#include "api/handles.h"

namespace ronde::api {
namespace {

Status create_pre_mul_sum(rondeRedOp_t* op, const void* scalar, rondeDataType_t type, rondeScalarResidence_t residence,
                          rondeComm_t comm) {
  constexpr const char* kFunction = "rondeRedOpCreatePreMulSum";
  RONDE_TRY(check_ready(comm, kFunction));
  RONDE_TRY(not_null(op, kFunction, "op"));
  RONDE_TRY(not_null(scalar, kFunction, "scalar"));
  if (!is_data_type(type))
    return {rondeInvalidArgument,
            fmt::format("{}: datatype {} is not one of rondeDataType_t", kFunction, static_cast<int>(type))};
  if (residence != rondeScalarDevice && residence != rondeScalarHostImmediate)
    return {rondeInvalidArgument, fmt::format("{}: residence {} is not one of rondeScalarResidence_t", kFunction,
                                              static_cast<int>(residence))};
  if (residence == rondeScalarDevice)
    return {rondeInvalidArgument,
            fmt::format("{}: the communicator has host memory: use rondeScalarHostImmediate", kFunction)};
  *op = comm->communicator->reductions().add(CreatedReduction::pre_mul_sum(type, scalar));
  return {};
}

Status create(rondeRedOp_t* op, rondeReduceFunction_t function, int commutative, void* user, rondeComm_t comm) {
  RONDE_TRY(check_ready(comm, "rondeRedOpCreate"));
  RONDE_TRY(not_null(op, "rondeRedOpCreate", "op"));
  if (function == nullptr) return {rondeInvalidArgument, "rondeRedOpCreate: function is NULL"};
  *op = comm->communicator->reductions().add(CreatedReduction::user_defined(function, user, commutative != 0));
  return {};
}

Status destroy(rondeRedOp_t op, rondeComm_t comm) {
  RONDE_TRY(check_ready(comm, "rondeRedOpDestroy"));
  if (comm->communicator->reductions().remove(op)) return {};
  return {rondeInvalidArgument,
          fmt::format("rondeRedOpDestroy: op {} was not made on this communicator, or was destroyed",
                      static_cast<int>(op))};
}

}  // namespace
}  // namespace ronde::api

rondeResult_t rondeRedOpCreatePreMulSum(rondeRedOp_t* op, const void* scalar, rondeDataType_t datatype,
                                        rondeScalarResidence_t residence, rondeComm_t comm) {
  return ronde::api::guarded([&] { return ronde::api::create_pre_mul_sum(op, scalar, datatype, residence, comm); });
}

rondeResult_t rondeRedOpCreate(rondeRedOp_t* op, rondeReduceFunction_t function, int commutative, void* user,
                               rondeComm_t comm) {
  return ronde::api::guarded([&] { return ronde::api::create(op, function, commutative, user, comm); });
}

rondeResult_t rondeRedOpDestroy(rondeRedOp_t op, rondeComm_t comm) {
  return ronde::api::guarded([&] { return ronde::api::destroy(op, comm); });
}
