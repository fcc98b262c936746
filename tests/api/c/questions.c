/* What one can ask of a communicator, and how it ends. */
#include "api/c/observe.h"
#include "api/c/parts.h"
#include "api/c/ranks.h"

enum { kRanks = 2 };

static void test_place_and_errors(rondeComm_t comm) {
  int value = 7;
  rondeResult_t error = rondeInternalError;
  MEET(rondeSuccess, rondeCommCount, (comm, &value));
  NEED(value == kRanks);
  MEET(rondeSuccess, rondeCommUserRank, (comm, &value));
  NEED(value == 0);
  MEET(rondeSuccess, rondeCommDevice, (comm, &value));
  NEED(value == RONDE_DEVICE_HOST);
  MEET(rondeSuccess, rondeCommGetAsyncError, (comm, &error));
  NEED(error == rondeSuccess);
  MEET(rondeSuccess, rondeCommGetFailedRanks, (comm, NULL, 0, &value));
  NEED(value == 0);
  value = 7;
  MEET(rondeInvalidArgument, rondeCommCount, (comm, NULL));
  MEET(rondeInvalidArgument, rondeCommUserRank, (comm, NULL));
  MEET(rondeInvalidArgument, rondeCommDevice, (comm, NULL));
  MEET(rondeInvalidArgument, rondeCommGetAsyncError, (comm, NULL));
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommGetFailedRanks, (comm, NULL, 1, &value), value);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommGetFailedRanks, (comm, &value, -1, &value), value);
  MEET(rondeInvalidArgument, rondeCommGetFailedRanks, (comm, NULL, 0, NULL));
  MEET(rondeInvalidArgument, rondeCommRevoke, (comm, 7));
}

static void test_traffic(rondeComm_t comm) {
  rondeTraffic_t traffic[4];
  int number = 7;
  memset(traffic, 0, sizeof traffic);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommGetTraffic, (comm, traffic, 4, &number), traffic); /* no size */
  for (int i = 0; i < 4; ++i) traffic[i].size = sizeof traffic[i];
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommGetTraffic, (comm, traffic, 4, NULL), traffic);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommGetTraffic, (comm, traffic, -1, &number), traffic);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommGetTraffic, (comm, NULL, 1, &number), number);
  MEET(rondeSuccess, rondeCommGetTraffic, (comm, traffic, 4, &number));
  NEED(number == 1 && strcmp(traffic[0].transport, "inproc") == 0 && traffic[0].sentBytes > 0);
  MEET(rondeSuccess, rondeCommGetTraffic, (comm, NULL, 0, &number));
  NEED(number == 1);
}

static uint64_t stat_of(rondeComm_t comm, rondeCommMemStat_t stat) {
  uint64_t value = 0;
  MEET(rondeSuccess, rondeCommMemStats, (comm, stat, &value));
  return value;
}

static void test_memory(rondeComm_t comm) {
  uint64_t value = 7;
  MEET(rondeInvalidArgument, rondeCommMemStats, (comm, rondeStatHostMemTotal, NULL));
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommMemStats, (comm, (rondeCommMemStat_t)77, &value), value);
  for (int stat = rondeStatGpuMemSuspend; stat <= rondeStatGpuMemTotal; ++stat)
    NEED(stat_of(comm, (rondeCommMemStat_t)stat) == 0);
  const uint64_t touched = stat_of(comm, rondeStatHostMemTouched);
  NEED(touched > 0 && touched <= stat_of(comm, rondeStatHostMemSegment));
  NEED(stat_of(comm, rondeStatHostMemWires) == 0);
  NEED(stat_of(comm, rondeStatHostMemTotal) == touched + stat_of(comm, rondeStatHostMemPacking));
  (void)stat_of(comm, rondeStatProcessSharedMem);
}

static void* run_finalize(void* user) {
  MEET(rondeSuccess, rondeCommFinalize, (*(rondeComm_t*)user));
  return NULL;
}

/* After finalize only destroy, abort and questions are allowed. */
static void test_end(rondeComm_t* comms) {
  rondeResult_t error = rondeInternalError;
  pthread_t other = start_thread(run_finalize, &comms[1]);
  MEET(rondeSuccess, rondeCommFinalize, (comms[0]));
  join_thread(other);
  MEET(rondeInvalidUsage, rondeBarrier, (comms[0], NULL));
  MEET(rondeInvalidUsage, rondeCommRevoke, (comms[0], RONDE_REVOKE_DEFAULT));
  MEET(rondeSuccess, rondeCommGetAsyncError, (comms[0], &error));
  NEED(error == rondeSuccess);
  MEET(rondeSuccess, rondeCommAbort, (comms[1]));
  for (int rank = 0; rank < kRanks; ++rank) MEET(rondeSuccess, rondeCommDestroy, (comms[rank]));
  MEET(rondeSuccess, rondeCommDestroy, (NULL));
}

void part_questions(void) {
  rondeComm_t comms[kRanks];
  float values[kRanks] = {1, 2};
  MEET(rondeSuccess, rondeCommInitAll, (comms, kRanks, NULL));
  MEET(rondeSuccess, rondeGroupStart, ());
  for (int rank = 0; rank < kRanks; ++rank)
    MEET(rondeSuccess, rondeAllReduce, (&values[rank], &values[rank], 1, rondeFloat, rondeSum, comms[rank], NULL));
  MEET(rondeSuccess, rondeGroupEnd, ());
  test_place_and_errors(comms[0]);
  test_traffic(comms[0]);
  test_memory(comms[0]);
  test_end(comms);
}
