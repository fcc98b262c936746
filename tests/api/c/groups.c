/* Groups, and reductions of the program's own. */
#include "api/c/observe.h"
#include "api/c/parts.h"
#include "api/c/ranks.h"

enum { kRanks = 2 };

static void all_reduce_in_group(rondeComm_t* comms, rondeRedOp_t op0, rondeRedOp_t op1, float* values) {
  const rondeRedOp_t ops[kRanks] = {op0, op1};
  MEET(rondeSuccess, rondeGroupStart, ());
  for (int rank = 0; rank < kRanks; ++rank)
    MEET(rondeSuccess, rondeAllReduce, (&values[rank], &values[rank], 1, rondeFloat, ops[rank], comms[rank], NULL));
  MEET(rondeSuccess, rondeGroupEnd, ());
}

/* Nested ones act at the outermost end; a wrong call is the error of the end, and nothing was started. */
static void test_groups(rondeComm_t* comms) {
  float values[kRanks] = {1, 2};
  MEET(rondeInvalidUsage, rondeGroupEnd, ());
  MEET(rondeSuccess, rondeGroupStart, ());
  all_reduce_in_group(comms, rondeSum, rondeSum, values);
  NEED(values[0] == 1 && values[1] == 2);
  MEET(rondeInvalidUsage, rondeCommDestroy, (comms[0]));
  MEET(rondeInvalidUsage, rondeCommFinalize, (comms[1]));
  NEED(strstr(rondeGetLastError(NULL), "rondeGroupEnd") != NULL);
  MEET(rondeSuccess, rondeGroupEnd, ());
  NEED(values[0] == 3 && values[1] == 3);

  MEET(rondeSuccess, rondeGroupStart, ());
  for (int rank = 0; rank < kRanks; ++rank)
    MEET(rondeSuccess, rondeAllReduce, (&values[rank], &values[rank], 1, rondeFloat, rondeSum, comms[rank], NULL));
  MEET(rondeInvalidArgument, rondeBroadcast, (values, values, 1, rondeFloat, 2, comms[0], NULL));
  MEET(rondeInvalidArgument, rondeBcast, (values, 1, rondeFloat, 3, comms[0], NULL));
  MEET_TEXT(rondeInvalidArgument, rondeGroupEnd, (), "rondeBroadcast: root 2");
  NEED(values[0] == 3 && values[1] == 3);
  MEET(rondeInvalidUsage, rondeGroupEnd, ());
}

/* ---- Reductions ------------------------------------------------------------------------------------------------- */

static void keep_right(const void* left, const void* right, void* result, size_t count, rondeDataType_t type,
                       void* user) {
  NEED(type == rondeFloat && *(int*)user == 7);
  (void)left;
  if (result != right) memcpy(result, right, count * sizeof(float));
}

static void test_pre_mul_sum(rondeComm_t* comms) {
  float values[kRanks] = {1, 2};
  const float scalars[kRanks] = {10, 100};
  rondeRedOp_t ops[kRanks];
  memset(ops, 0x5a, sizeof ops);
#define REFUSED(arguments) MEET_UNTOUCHED(rondeInvalidArgument, rondeRedOpCreatePreMulSum, arguments, ops)
  MEET(rondeInvalidArgument, rondeRedOpCreatePreMulSum,
       (NULL, scalars, rondeFloat, rondeScalarHostImmediate, comms[0]));
  REFUSED((&ops[0], NULL, rondeFloat, rondeScalarHostImmediate, comms[0]));
  REFUSED((&ops[0], scalars, (rondeDataType_t)12, rondeScalarHostImmediate, comms[0]));
  REFUSED((&ops[0], scalars, rondeFloat, (rondeScalarResidence_t)2, comms[0]));
  REFUSED((&ops[0], scalars, rondeFloat, rondeScalarDevice, comms[0]));
#undef REFUSED
  for (int rank = 0; rank < kRanks; ++rank)
    MEET(rondeSuccess, rondeRedOpCreatePreMulSum,
         (&ops[rank], &scalars[rank], rondeFloat, rondeScalarHostImmediate, comms[rank]));
  all_reduce_in_group(comms, ops[0], ops[1], values);
  NEED(values[0] == 210 && values[1] == 210);
  double other = 0;
  MEET_UNTOUCHED(rondeInvalidArgument, rondeAllReduce, (&other, &other, 1, rondeDouble, ops[0], comms[0], NULL), other);
  for (int rank = 0; rank < kRanks; ++rank) MEET(rondeSuccess, rondeRedOpDestroy, (ops[rank], comms[rank]));
  MEET(rondeInvalidArgument, rondeRedOpDestroy, (ops[0], comms[0])); /* it is gone */
  MEET(rondeInvalidArgument, rondeRedOpDestroy, (rondeSum, comms[0]));
  MEET(rondeInvalidArgument, rondeAllReduce, (values, values, 1, rondeFloat, ops[0], comms[0], NULL));
}

static void test_own_function(rondeComm_t* comms) {
  float values[kRanks] = {1, 2};
  int seven = 7;
  rondeRedOp_t ops[kRanks];
  memset(ops, 0x5a, sizeof ops);
  MEET(rondeInvalidArgument, rondeRedOpCreate, (NULL, keep_right, 0, &seven, comms[0]));
  MEET_UNTOUCHED(rondeInvalidArgument, rondeRedOpCreate, (&ops[0], NULL, 0, &seven, comms[0]), ops);
  for (int rank = 0; rank < kRanks; ++rank)
    MEET(rondeSuccess, rondeRedOpCreate, (&ops[rank], keep_right, 0, &seven, comms[rank]));
  all_reduce_in_group(comms, ops[0], ops[1], values);
  NEED(values[0] == 2 && values[1] == 2);
  MEET(rondeSuccess, rondeRedOpDestroy, (ops[0], comms[0])); /* that of rank 1 goes with its communicator */
}

void part_groups(void) {
  rondeComm_t comms[kRanks];
  MEET(rondeSuccess, rondeCommInitAll, (comms, kRanks, NULL));
  test_groups(comms);
  test_pre_mul_sum(comms);
  test_own_function(comms);
  for (int rank = 0; rank < kRanks; ++rank) MEET(rondeSuccess, rondeCommDestroy, (comms[rank]));
}
