/* Collectives and messages: their results between two ranks, and the arguments that they refuse. */
#include "api/c/calls.h"
#include "api/c/observe.h"
#include "api/c/parts.h"
#include "api/c/ranks.h"

enum { kRanks = 2, kUntouched = -1 };

static float given(int rank, int i) { return (float)(100 * rank + i); }

/* What rank has in element i of its output, as calls.c calls: rank 1 is the root that gives, rank 0 one that takes. */
static float wanted(const char* function, int rank, int i) {
  const int block = i / kBlock, within = i % kBlock;
  const int first = block == 0;
  const float sum = given(0, i) + given(1, i);
#define IS(name) (strcmp(function, name) == 0)
  if (IS("rondeAllReduce")) return first ? sum : kUntouched;
  if (IS("rondeReduce")) return first && rank == 0 ? sum : kUntouched;
  if (IS("rondeReduceScatter") || IS("rondeReduceScatterV"))
    return first ? given(0, rank * kBlock + i) + given(1, rank * kBlock + i) : kUntouched;
  if (IS("rondeAllGather") || IS("rondeAllGatherV")) return given(block, within);
  if (IS("rondeBroadcast")) return first ? given(1, i) : kUntouched;
  if (IS("rondeBcast")) return kUntouched; /* in place: the root's output */
  if (IS("rondeAlltoAll") || IS("rondeAlltoAllV")) return given(block, rank * kBlock + within);
  if (IS("rondeGather") || IS("rondeGatherV")) return rank == 0 ? given(block, within) : kUntouched;
  if (IS("rondeScatter") || IS("rondeScatterV")) return first ? given(1, rank * kBlock + i) : kUntouched;
  if (IS("rondeSend") || IS("rondeRecv"))
    return first && rank == (IS("rondeSend") ? 1 : 0) ? given(1 - rank, i) : kUntouched;
#undef IS
  return kUntouched;
}

static const Call* call_of(const char* function) {
  for (int i = 0; i < kNumberOfCalls; ++i) {
    if (strcmp(kCalls[i].function, function) == 0) return &kCalls[i];
  }
  return NULL;
}

/* On streams, or in a group. */
static void test_result(const Call* call, rondeComm_t* comms, rondeStream_t* streams) {
  static Inputs inputs[kRanks];
  const Call* answer = call;
  if (strcmp(call->function, "rondeSend") == 0) answer = call_of("rondeRecv");
  if (strcmp(call->function, "rondeRecv") == 0) answer = call_of("rondeSend");
  if (streams == NULL) MEET(rondeSuccess, rondeGroupStart, ());
  for (int rank = 0; rank < kRanks; ++rank) {
    Inputs* in = &inputs[rank];
    const Call* called = rank == 0 ? call : answer;
    prepare_inputs(in);
    in->rank = rank;
    in->comm = comms[rank];
    if (streams != NULL) in->stream = streams[rank];
    for (int i = 0; i < 2 * kBlock; ++i) {
      in->from[i] = given(rank, i);
      in->out.to[i] = kUntouched;
    }
    observe(__FILE__, __LINE__, called->function, rondeSuccess, called->call(in), NULL);
  }
  if (streams == NULL) MEET(rondeSuccess, rondeGroupEnd, ());
  for (int rank = 0; rank < kRanks; ++rank) {
    if (streams != NULL) MEET(rondeSuccess, rondeStreamSynchronize, (streams[rank]));
    for (int i = 0; i < 2 * kBlock; ++i) {
      NEED(inputs[rank].from[i] == given(rank, i));
      NEED(inputs[rank].out.to[i] == wanted(call->function, rank, i));
    }
  }
}

static void test_results(rondeComm_t* comms) {
  rondeStream_t streams[kRanks];
  for (int rank = 0; rank < kRanks; ++rank) MEET(rondeSuccess, rondeStreamCreate, (&streams[rank]));
  for (int i = 0; i < kNumberOfCalls; ++i) {
    const Call* call = &kCalls[i];
    if ((call->kind & kWaits) == 0 || strncmp(call->function, "rondeComm", 9) == 0) continue;
    test_result(call, comms, NULL);
    test_result(call, comms, streams);
  }
  for (int rank = 0; rank < kRanks; ++rank) MEET(rondeSuccess, rondeStreamDestroy, (streams[rank]));
}

/* ---- What is refused -------------------------------------------------------------------------------------------- */

#define REFUSED(function, arguments) MEET_UNTOUCHED(rondeInvalidArgument, function, arguments, to)

static void test_arguments(rondeComm_t comm) {
  float from[4 * kBlock] = {0}, to[4 * kBlock];
  float* inside = to + 1;
  const rondeDataType_t type = rondeFloat, none = (rondeDataType_t)12;
  const size_t counts[kRanks] = {2, 2}, much[kRanks] = {SIZE_MAX / 8, SIZE_MAX / 8}, one[kRanks] = {1, 2};
  const size_t same_place[kRanks] = {0, 1};
  memset(to, 0x5a, sizeof to);
  REFUSED(rondeAllReduce, (from, to, 4, none, rondeSum, comm, NULL));
  REFUSED(rondeAllReduce, (from, to, 4, type, (rondeRedOp_t)5, comm, NULL));
  REFUSED(rondeAllReduce, (from, to, 4, type, rondeBitXor, comm, NULL));
  REFUSED(rondeAllReduce, (from, to, SIZE_MAX, type, rondeSum, comm, NULL));
  REFUSED(rondeAllReduce, (NULL, to, 4, type, rondeSum, comm, NULL));
  REFUSED(rondeAllReduce, (from, NULL, 4, type, rondeSum, comm, NULL));
  REFUSED(rondeAllReduce, (to, inside, 4, type, rondeSum, comm, NULL));
  REFUSED(rondeReduceScatter, (to, inside, 4, type, rondeSum, comm, NULL));
  REFUSED(rondeReduceScatter, (from, to, 4, type, (rondeRedOp_t)0x7ffffffe, comm, NULL));
  REFUSED(rondeReduceScatterV, (from, to, NULL, NULL, type, rondeSum, comm, NULL));
  REFUSED(rondeReduceScatterV, (from, to, much, NULL, type, rondeSum, comm, NULL));
  REFUSED(rondeReduceScatterV, (from, to, counts, NULL, type, (rondeRedOp_t)5, comm, NULL));
  REFUSED(rondeAllGather, (inside, to, 4, type, comm, NULL));
  REFUSED(rondeAllGatherV, (from, to, NULL, NULL, type, comm, NULL));
  REFUSED(rondeAllGatherV, (from, to, counts, same_place, type, comm, NULL));
  REFUSED(rondeBroadcast, (from, to, 4, type, 2, comm, NULL));
  REFUSED(rondeBroadcast, (from, to, 4, type, -1, comm, NULL));
  REFUSED(rondeBcast, (NULL, 4, type, 0, comm, NULL));
  REFUSED(rondeBcast, (to, 4, none, 0, comm, NULL));
  REFUSED(rondeReduce, (from, to, 4, type, rondeSum, 2, comm, NULL));
  REFUSED(rondeReduce, (from, NULL, 4, type, rondeSum, 0, comm, NULL));
  REFUSED(rondeAlltoAll, (to, inside, 4, type, comm, NULL));
  REFUSED(rondeAlltoAllV, (from, one, NULL, to, counts, NULL, type, comm, NULL)); /* to itself one, from itself two */
  REFUSED(rondeAlltoAllV, (to, counts, NULL, to, counts, NULL, type, comm, NULL));
  REFUSED(rondeAlltoAllV, (from, NULL, NULL, to, counts, NULL, type, comm, NULL));
  REFUSED(rondeAlltoAllV, (from, counts, NULL, to, NULL, NULL, type, comm, NULL));
  REFUSED(rondeGather, (from, to, 4, type, 7, comm, NULL));
  REFUSED(rondeGatherV, (from, 2, to, NULL, NULL, type, 0, comm, NULL));
  REFUSED(rondeGatherV, (from, 1, to, counts, NULL, type, 0, comm, NULL));
  REFUSED(rondeScatter, (from, to, 4, none, 0, comm, NULL));
  REFUSED(rondeScatterV, (from, NULL, NULL, to, 2, type, 0, comm, NULL));
  REFUSED(rondeScatterV, (from, counts, NULL, to, 1, type, 0, comm, NULL));
  REFUSED(rondeSend, (to, 4, type, 2, comm, NULL));
  REFUSED(rondeSend, (NULL, 4, type, 1, comm, NULL));
  REFUSED(rondeSend, (to, 4, none, 1, comm, NULL));
  REFUSED(rondeRecv, (to, SIZE_MAX, type, 1, comm, NULL));
  REFUSED(rondeRecv, (NULL, 4, type, 1, comm, NULL));
}

/* A message to oneself needs its counterpart in the same group, and all messages of a group name one stream. */
static void test_messages(rondeComm_t comm) {
  int from = 5, to = 0;
  rondeStream_t stream = NULL;
  MEET(rondeSuccess, rondeStreamCreate, (&stream));
  MEET(rondeInvalidUsage, rondeSend, (&from, 1, rondeInt, 0, comm, NULL));
  MEET_UNTOUCHED(rondeInvalidUsage, rondeRecv, (&to, 1, rondeInt, 0, comm, NULL), to);
  MEET(rondeSuccess, rondeGroupStart, ());
  MEET(rondeSuccess, rondeSend, (&from, 1, rondeInt, 0, comm, NULL));
  MEET(rondeSuccess, rondeRecv, (&to, 1, rondeInt, 0, comm, stream));
  MEET_TEXT(rondeInvalidUsage, rondeGroupEnd, (), "stream");
  MEET(rondeSuccess, rondeGroupStart, ());
  MEET(rondeSuccess, rondeSend, (&from, 1, rondeInt, 0, comm, NULL));
  MEET_TEXT(rondeInvalidUsage, rondeGroupEnd, (), "itself");
  NEED(to == 0);
  MEET(rondeSuccess, rondeGroupStart, ());
  MEET(rondeSuccess, rondeRecv, (&to, 1, rondeInt, 0, comm, NULL));
  MEET(rondeSuccess, rondeSend, (&from, 1, rondeInt, 0, comm, NULL));
  MEET(rondeSuccess, rondeGroupEnd, ());
  NEED(to == 5);
  MEET(rondeSuccess, rondeStreamDestroy, (stream));
}

static void test_finalized(rondeComm_t comm) {
  Inputs in;
  prepare_inputs(&in);
  in.comm = comm;
  MEET(rondeSuccess, rondeCommFinalize, (comm));
  for (int i = 0; i < kNumberOfCalls; ++i) {
    if (kCalls[i].kind & kWaits) refuse(&kCalls[i], &in, rondeInvalidUsage);
  }
}

void part_collectives(void) {
  rondeComm_t comms[kRanks];
  MEET(rondeSuccess, rondeCommInitAll, (comms, kRanks, NULL));
  test_arguments(comms[0]);
  test_results(comms);
  test_messages(comms[0]);
  test_finalized(comms[0]);
  for (int rank = 0; rank < kRanks; ++rank) MEET(rondeSuccess, rondeCommDestroy, (comms[rank]));
}
