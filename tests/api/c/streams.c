/* Streams, events and host functions. */
#include "api/c/observe.h"
#include "api/c/parts.h"
#include "api/c/ranks.h"

enum { kRanks = 2 };

static int called = 0;
static rondeResult_t told = rondeInternalError;
static char told_text[200];

static void count_call(rondeResult_t status, void* user) {
  told = status;
  strncpy(told_text, rondeGetLastError(NULL), sizeof told_text - 1);
  ++*(int*)user;
}

static void sum(float* value, rondeComm_t comm, rondeStream_t stream) {
  MEET(rondeSuccess, rondeAllReduce, (value, value, 1, rondeFloat, rondeSum, comm, stream));
}

static void make(rondeComm_t* comms, rondeStream_t* streams) {
  MEET(rondeSuccess, rondeCommInitAll, (comms, kRanks, NULL));
  for (int rank = 0; rank < kRanks; ++rank) MEET(rondeSuccess, rondeStreamCreate, (&streams[rank]));
}

static void destroy(rondeComm_t* comms, rondeStream_t* streams) {
  for (int rank = 0; rank < kRanks; ++rank) {
    MEET(rondeSuccess, rondeStreamDestroy, (streams[rank]));
    MEET(rondeSuccess, rondeCommDestroy, (comms[rank]));
  }
}

static void test_arguments(rondeStream_t stream) {
  MEET(rondeInvalidArgument, rondeStreamCreate, (NULL));
  MEET(rondeInvalidArgument, rondeEventCreate, (NULL));
  MEET(rondeInvalidArgument, rondeLaunchHostFunc, (stream, NULL, &called));
  NEED(strstr(rondeGetLastError(NULL), "rondeLaunchHostFunc: fn") != NULL);
  MEET(rondeSuccess, rondeEventDestroy, (NULL));
  MEET(rondeSuccess, rondeStreamDestroy, (NULL));
}

/* Streams that wait for each other, and functions in their order. */
static void test_events(rondeComm_t* comms, rondeStream_t* streams) {
  float values[kRanks] = {1, 2};
  rondeEvent_t event;
  MEET(rondeSuccess, rondeEventCreate, (&event));
  MEET(rondeSuccess, rondeEventQuery, (event)); /* never recorded */
  MEET(rondeSuccess, rondeEventSynchronize, (event));
  MEET(rondeSuccess, rondeStreamWaitEvent, (streams[0], event));

  called = 0;
  sum(&values[0], comms[0], streams[0]);
  MEET(rondeSuccess, rondeEventRecord, (event, streams[0]));
  MEET(rondeSuccess, rondeStreamWaitEvent, (streams[1], event));
  MEET(rondeSuccess, rondeLaunchHostFunc, (streams[1], count_call, &called));
  MEET(rondeInProgress, rondeEventQuery, (event));
  MEET(rondeInProgress, rondeStreamQuery, (streams[1]));
  NEED(called == 0);
  sum(&values[1], comms[1], NULL);
  MEET(rondeSuccess, rondeEventSynchronize, (event));
  MEET(rondeSuccess, rondeEventQuery, (event));
  MEET(rondeSuccess, rondeStreamSynchronize, (streams[1]));
  MEET(rondeSuccess, rondeStreamQuery, (streams[1]));
  NEED(called == 1 && told == rondeSuccess && values[0] == 3 && values[1] == 3);

  /* In a group: refused on a stream for which it holds calls, at once on others. */
  MEET(rondeSuccess, rondeGroupStart, ());
  sum(&values[0], comms[0], streams[0]);
  sum(&values[1], comms[1], NULL);
  MEET(rondeInvalidUsage, rondeEventRecord, (event, streams[0]));
  MEET(rondeInvalidUsage, rondeStreamWaitEvent, (streams[0], event));
  MEET(rondeInvalidUsage, rondeLaunchHostFunc, (streams[0], count_call, &called));
  MEET(rondeInvalidUsage, rondeStreamDestroy, (streams[0]));
  NEED(strstr(rondeGetLastError(NULL), "rondeGroupEnd") != NULL);
  MEET(rondeSuccess, rondeEventRecord, (event, streams[1]));
  MEET(rondeSuccess, rondeGroupEnd, ());
  MEET(rondeSuccess, rondeStreamSynchronize, (streams[0]));
  MEET(rondeSuccess, rondeEventDestroy, (event));
}

/* ---- Host functions --------------------------------------------------------------------------------------------- */

typedef struct {
  rondeComm_t comm;
  rondeComm_t queued; /* its operations cannot end before the function has returned */
  rondeStream_t stream;
  rondeEvent_t event;
} Inside;

/* What a host function may call, and what it is refused. */
static void inside(rondeResult_t status, void* user) {
  const Inside* in = user;
  rondeResult_t error = rondeInternalError;
  rondeComm_t next = NULL;
  int number = 0;
  NEED(status == rondeSuccess);
  MEET(rondeInvalidUsage, rondeStreamSynchronize, (in->stream));
  MEET(rondeInvalidUsage, rondeStreamDestroy, (in->stream));
  MEET(rondeInvalidUsage, rondeEventSynchronize, (in->event));
  MEET(rondeInvalidUsage, rondeCommFinalize, (in->queued));
  MEET(rondeInvalidUsage, rondeCommDestroy, (in->queued));
  MEET_UNTOUCHED(rondeInvalidUsage, rondeCommSplit, (in->comm, 0, 0, &next, NULL), next);
  MEET(rondeSuccess, rondeEventRecord, (in->event, in->stream));
  MEET(rondeSuccess, rondeStreamWaitEvent, (in->stream, in->event));
  MEET(rondeInProgress, rondeEventQuery, (in->event));
  MEET(rondeInProgress, rondeStreamQuery, (in->stream));
  MEET(rondeSuccess, rondeCommGetAsyncError, (in->comm, &error));
  MEET(rondeSuccess, rondeCommGetFailedRanks, (in->comm, NULL, 0, &number));
  MEET(rondeSuccess, rondeGetVersion, (&number));
  NEED(error == rondeSuccess);
}

static void test_inside(rondeComm_t* comms, rondeStream_t* streams) {
  float values[kRanks] = {1, 2};
  rondeComm_t alone = NULL;
  MEET(rondeSuccess, rondeCommInitAll, (&alone, 1, NULL));
  Inside in = {comms[0], alone, streams[0], NULL};
  MEET(rondeSuccess, rondeEventCreate, (&in.event));
  /* The function begins when rank 1 has called, and by then what is behind it is there. */
  sum(&values[0], comms[0], streams[0]);
  MEET(rondeSuccess, rondeLaunchHostFunc, (streams[0], inside, &in));
  MEET(rondeSuccess, rondeBarrier, (alone, streams[0]));
  sum(&values[1], comms[1], NULL);
  MEET(rondeSuccess, rondeStreamSynchronize, (streams[0]));
  MEET(rondeSuccess, rondeEventDestroy, (in.event));
  MEET(rondeSuccess, rondeCommDestroy, (alone));
}

/* Streams end what was put on them before they go, and their functions hear of errors. */
static void test_destroy_with_work(void) {
  rondeComm_t comms[kRanks];
  rondeStream_t streams[kRanks];
  float values[kRanks] = {1, 2};
  called = 0;
  make(comms, streams);
  for (int rank = 0; rank < kRanks; ++rank) {
    for (int i = 0; i < 10; ++i) {
      MEET(rondeSuccess, rondeAllReduce,
           (&values[rank], &values[rank], 1, rondeFloat, rondeMax, comms[rank], streams[rank]));
      MEET(rondeSuccess, rondeLaunchHostFunc, (streams[rank], count_call, &called));
    }
  }
  for (int rank = 0; rank < kRanks; ++rank) MEET(rondeSuccess, rondeStreamDestroy, (streams[rank]));
  NEED(called == 10 * kRanks && values[0] == 2 && values[1] == 2);

  MEET(rondeSuccess, rondeStreamCreate, (&streams[0]));
  sum(&values[0], comms[0], streams[0]);
  MEET(rondeSuccess, rondeLaunchHostFunc, (streams[0], count_call, &called));
  MEET(rondeSuccess, rondeCommAbort, (comms[0]));
  MEET(rondeSuccess, rondeCommDestroy, (comms[0]));
  MEET(rondeAborted, rondeStreamDestroy, (streams[0]));
  NEED(told == rondeAborted && strstr(told_text, "aborted") != NULL);
  MEET(rondeSuccess, rondeCommDestroy, (comms[1]));
}

/* To be in progress is no error: the text of the one before stays. */
static void test_query_keeps_last_error(rondeComm_t* comms, rondeStream_t stream) {
  float values[kRanks] = {1, 2};
  MEET(rondeInvalidArgument, rondeAllReduce, (NULL, values, 1, rondeFloat, rondeSum, comms[0], stream));
  sum(&values[0], comms[0], stream);
  MEET(rondeInProgress, rondeStreamQuery, (stream)); /* the other rank has not called */
  NEED(strstr(USE(rondeGetLastError)(NULL), "sendbuff") != NULL);
  sum(&values[1], comms[1], NULL);
  MEET(rondeSuccess, rondeStreamSynchronize, (stream));
}

void part_streams(void) {
  rondeComm_t comms[kRanks];
  rondeStream_t streams[kRanks];
  make(comms, streams);
  test_arguments(streams[0]);
  test_events(comms, streams);
  test_inside(comms, streams);
  test_query_keeps_last_error(comms, streams[0]);
  destroy(comms, streams);
  test_destroy_with_work();
}
