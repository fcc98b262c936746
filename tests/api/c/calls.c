#include "api/c/calls.h"

#include "api/c/observe.h"

/* Operations that wait for the other rank go from rank 1 to rank 0: a root need not wait for anybody. */
static const size_t kCounts[2] = {kBlock, kBlock};

static void add(const void* left, const void* right, void* result, size_t count, rondeDataType_t type, void* user) {
  (void)type;
  (void)user;
  for (size_t i = 0; i < count; ++i) ((float*)result)[i] = ((const float*)left)[i] + ((const float*)right)[i];
}
static void no_message(rondeLogLevel_t level, const char* message, void* user) {
  (void)level;
  (void)message;
  (void)user;
}
static void no_function(rondeResult_t status, void* user) {
  (void)status;
  (void)user;
}

#define CALL(function, arguments)                    \
  static rondeResult_t call_##function(Inputs* in) { \
    (void)in;                                        \
    return function arguments;                       \
  }

#define DATA in->from, in->out.to, kBlock, rondeFloat32
CALL(rondeAllReduce, (DATA, rondeSum, in->comm, in->stream))
CALL(rondeReduceScatter, (DATA, rondeSum, in->comm, in->stream))
CALL(rondeReduceScatterV, (in->from, in->out.to, kCounts, NULL, rondeFloat32, rondeSum, in->comm, in->stream))
CALL(rondeAllGather, (DATA, in->comm, in->stream))
CALL(rondeAllGatherV, (in->from, in->out.to, kCounts, NULL, rondeFloat32, in->comm, in->stream))
CALL(rondeBroadcast, (DATA, 1, in->comm, in->stream))
CALL(rondeBcast, (in->out.to, kBlock, rondeFloat32, 1, in->comm, in->stream))
CALL(rondeReduce, (DATA, rondeSum, 0, in->comm, in->stream))
CALL(rondeAlltoAll, (DATA, in->comm, in->stream))
CALL(rondeAlltoAllV, (in->from, kCounts, NULL, in->out.to, kCounts, NULL, rondeFloat32, in->comm, in->stream))
CALL(rondeGather, (DATA, 0, in->comm, in->stream))
CALL(rondeGatherV, (in->from, kBlock, in->out.to, kCounts, NULL, rondeFloat32, 0, in->comm, in->stream))
CALL(rondeScatter, (DATA, 1, in->comm, in->stream))
CALL(rondeScatterV, (in->from, kCounts, NULL, in->out.to, kBlock, rondeFloat32, 1, in->comm, in->stream))
CALL(rondeBarrier, (in->comm, in->stream))
CALL(rondeSend, (in->from, kBlock, rondeFloat32, 1 - in->rank, in->comm, in->stream))
CALL(rondeRecv, (in->out.to, kBlock, rondeFloat32, 1 - in->rank, in->comm, in->stream))

CALL(rondeRedOpCreatePreMulSum, (&in->out.op, in->from, rondeFloat32, rondeScalarHostImmediate, in->comm))
CALL(rondeRedOpCreate, (&in->out.op, add, 1, NULL, in->comm))
CALL(rondeRedOpDestroy, (in->op, in->comm))

CALL(rondeCommSplit, (in->comm, 0, 0, &in->out.comms[0], in->config))
CALL(rondeCommDup, (in->comm, &in->out.comms[0], in->config))
CALL(rondeCommGrow, (in->comm, 3, NULL, -1, &in->out.comms[0], in->config))
CALL(rondeCommShrink, (in->comm, NULL, 0, &in->out.comms[0], in->config, RONDE_SHRINK_DEFAULT))
CALL(rondeCommGetUniqueId, (in->comm, &in->out.id))
CALL(rondeCommFinalize, (in->comm))
CALL(rondeCommDestroy, (in->comm))
CALL(rondeCommAbort, (in->comm))
CALL(rondeCommRevoke, (in->comm, RONDE_REVOKE_DEFAULT))
CALL(rondeCommGetAsyncError, (in->comm, &in->out.error))
CALL(rondeCommGetFailedRanks, (in->comm, &in->out.number, 1, &in->out.number))
CALL(rondeCommCount, (in->comm, &in->out.number))
CALL(rondeCommUserRank, (in->comm, &in->out.number))
CALL(rondeCommDevice, (in->comm, &in->out.number))
CALL(rondeCommGetTraffic, (in->comm, in->out.traffic, 2, &in->out.number))
CALL(rondeCommMemStats, (in->comm, rondeStatHostMemTotal, &in->out.stat))

CALL(rondeMemAlloc, (&in->out.memory, kBlock))
CALL(rondeMemFree, (in->memory))
CALL(rondeCommRegister, (in->comm, in->from, sizeof in->from, &in->out.handle))
CALL(rondeCommDeregister, (in->comm, in->handle))
CALL(rondeCommWindowRegister, (in->comm, in->from, sizeof in->from, &in->out.window, RONDE_WIN_DEFAULT))
CALL(rondeCommWindowDeregister, (in->comm, in->window))
CALL(rondeGetPeerPointer, (in->window, 0, 0, &in->out.peer))

CALL(rondeStreamCreate, (&in->out.stream))
CALL(rondeStreamSynchronize, (in->stream))
CALL(rondeStreamQuery, (in->stream))
CALL(rondeStreamDestroy, (in->stream))
CALL(rondeStreamWaitEvent, (in->stream, in->event))
CALL(rondeLaunchHostFunc, (in->stream, no_function, NULL))
CALL(rondeEventCreate, (&in->out.event))
CALL(rondeEventDestroy, (in->event))
CALL(rondeEventRecord, (in->event, in->stream))
CALL(rondeEventQuery, (in->event))
CALL(rondeEventSynchronize, (in->event))

CALL(rondeGetVersion, (&in->out.number))
CALL(rondeSetLogLevel, (rondeLogNone))
CALL(rondeSetLogCallback, (no_message, NULL))
CALL(rondeGetUniqueId, (&in->out.id))
CALL(rondeUniqueIdToText, (&in->id, in->out.text))
CALL(rondeUniqueIdFromText, (in->out.text, &in->out.id))
CALL(rondeGetWorldFromEnv, (&in->out.world, &in->out.id))
CALL(rondeCommInitRank, (&in->out.comms[0], 1, in->id, 0))
CALL(rondeCommInitRankConfig, (&in->out.comms[0], 1, in->id, 0, in->config))
CALL(rondeCommInitRankScalable, (&in->out.comms[0], 1, 0, 1, &in->id, in->config))
CALL(rondeCommInitAll, (in->out.comms, 2, NULL))
CALL(rondeGroupStart, ())
CALL(rondeGroupEnd, ())

#define OF_COMM(function) \
  { #function, call_##function, kUsesComm }
#define WAITS(function) \
  { #function, call_##function, kUsesComm | kWaits }
#define OF(function, kind) \
  { #function, call_##function, kind }
const Call kCalls[] = {
    WAITS(rondeAllReduce),
    WAITS(rondeReduceScatter),
    WAITS(rondeReduceScatterV),
    WAITS(rondeAllGather),
    WAITS(rondeAllGatherV),
    WAITS(rondeBroadcast),
    WAITS(rondeBcast),
    WAITS(rondeReduce),
    WAITS(rondeAlltoAll),
    WAITS(rondeAlltoAllV),
    WAITS(rondeGather),
    WAITS(rondeGatherV),
    WAITS(rondeScatter),
    WAITS(rondeScatterV),
    WAITS(rondeBarrier),
    WAITS(rondeSend),
    WAITS(rondeRecv),
    WAITS(rondeCommSplit),
    WAITS(rondeCommDup),
    WAITS(rondeCommGrow),
    WAITS(rondeCommWindowRegister),
    OF_COMM(rondeRedOpCreatePreMulSum),
    OF_COMM(rondeRedOpCreate),
    OF_COMM(rondeRedOpDestroy),
    OF_COMM(rondeCommShrink),
    OF_COMM(rondeCommGetUniqueId),
    OF_COMM(rondeCommFinalize),
    OF_COMM(rondeCommRevoke),
    OF_COMM(rondeCommGetFailedRanks),
    OF_COMM(rondeCommCount),
    OF_COMM(rondeCommUserRank),
    OF_COMM(rondeCommDevice),
    OF_COMM(rondeCommGetTraffic),
    OF_COMM(rondeCommMemStats),
    OF(rondeCommGetAsyncError, kUsesComm | kAlways),
    OF(rondeCommAbort, kUsesComm | kAlways),
    OF(rondeCommDestroy, kUsesComm | kAlways),
    OF(rondeMemAlloc, 0),
    OF(rondeMemFree, 0),
    OF_COMM(rondeCommRegister),
    OF(rondeCommDeregister, kUsesComm | kAlways),
    OF(rondeCommWindowDeregister, kUsesComm | kAlways),
    OF(rondeGetPeerPointer, 0),
    OF(rondeStreamCreate, 0),
    OF(rondeStreamSynchronize, kUsesStream),
    OF(rondeStreamQuery, kUsesStream),
    OF(rondeStreamDestroy, kUsesStream),
    OF(rondeStreamWaitEvent, kUsesStream | kUsesEvent),
    OF(rondeLaunchHostFunc, kUsesStream),
    OF(rondeEventCreate, 0),
    OF(rondeEventDestroy, kUsesEvent),
    OF(rondeEventRecord, kUsesStream | kUsesEvent),
    OF(rondeEventQuery, kUsesEvent),
    OF(rondeEventSynchronize, kUsesEvent),
    OF(rondeGetVersion, kNeverRefused),
    OF(rondeSetLogLevel, 0),
    OF(rondeSetLogCallback, 0),
    OF(rondeGetUniqueId, 0),
    OF(rondeUniqueIdToText, kNeverRefused),
    OF(rondeUniqueIdFromText, kNeverRefused),
    OF(rondeGetWorldFromEnv, 0),
    OF(rondeCommInitRank, 0),
    OF(rondeCommInitRankConfig, 0),
    OF(rondeCommInitRankScalable, 0),
    OF(rondeCommInitAll, 0),
    OF(rondeGroupStart, 0),
    OF(rondeGroupEnd, 0),
};
const int kNumberOfCalls = sizeof kCalls / sizeof kCalls[0];

void prepare_inputs(Inputs* in) {
  memset(in, 0, sizeof *in);
  memset(&in->out, 0x5a, sizeof in->out);
  in->out.world.size = sizeof in->out.world;
  for (int i = 0; i < 2; ++i) in->out.traffic[i].size = sizeof in->out.traffic[i];
}

void refuse(const Call* call, Inputs* in, rondeResult_t result) {
  unsigned char before[sizeof in->out];
  memcpy(before, &in->out, sizeof before);
  observe(__FILE__, __LINE__, call->function, result, call->call(in), NULL);
  if (memcmp(before, &in->out, sizeof before) == 0) return;
  fprintf(stderr, "%s has failed and has written an output\n", call->function);
  NEED(0);
}
