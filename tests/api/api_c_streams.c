/* Events and host functions of ronde.h from C11; a part of api_c_test. */
#include <string.h>

#include "api/need.h"
#include "ronde/ronde.h"

enum { kRanks = 2 };

void count_call(rondeResult_t status, void* user);
void test_streams(void);

static int called = 0;
static rondeResult_t told = rondeInternalError;
static char told_text[200];

void count_call(rondeResult_t status, void* user) {
  told = status;
  strncpy(told_text, rondeGetLastError(NULL), sizeof told_text - 1);
  ++*(int*)user;
}

struct Inside {
  rondeStream_t stream;
  rondeEvent_t event;
  rondeResult_t results[6];
};

/* What a host function may call, and what it is refused. */
static void inside(rondeResult_t status, void* user) {
  struct Inside* in = user;
  in->results[0] = status;
  in->results[1] = rondeStreamSynchronize(in->stream);
  in->results[2] = rondeStreamDestroy(in->stream);
  in->results[3] = rondeEventSynchronize(in->event);
  in->results[4] = rondeEventRecord(in->event, in->stream);
  in->results[5] = rondeStreamQuery(in->stream);
}

static void test_wrong_events(rondeStream_t stream, rondeEvent_t event) {
  int no_handle[16] = {0};
  rondeEvent_t none = (rondeEvent_t)(void*)no_handle;
  NEED(rondeEventCreate(NULL) == rondeInvalidArgument);
  NEED(rondeEventDestroy(NULL) == rondeSuccess);
  NEED(rondeEventDestroy(none) == rondeInvalidArgument);
  NEED(rondeEventRecord(NULL, stream) == rondeInvalidArgument);
  NEED(rondeEventRecord(none, stream) == rondeInvalidArgument);
  NEED(rondeEventRecord(event, NULL) == rondeInvalidArgument);
  NEED(rondeStreamWaitEvent(stream, NULL) == rondeInvalidArgument);
  NEED(rondeStreamWaitEvent(stream, none) == rondeInvalidArgument);
  NEED(strstr(rondeGetLastError(NULL), "rondeStreamWaitEvent: event is not an event") != NULL);
  NEED(rondeStreamWaitEvent(NULL, event) == rondeInvalidArgument);
  NEED(rondeEventQuery(NULL) == rondeInvalidArgument);
  NEED(rondeEventSynchronize(NULL) == rondeInvalidArgument);
  NEED(rondeLaunchHostFunc(NULL, count_call, &called) == rondeInvalidArgument);
  NEED(rondeLaunchHostFunc(stream, NULL, &called) == rondeInvalidArgument);
  NEED(strstr(rondeGetLastError(NULL), "rondeLaunchHostFunc: fn") != NULL);
  NEED(rondeStreamCreate(NULL) == rondeInvalidArgument);
  NEED(rondeStreamSynchronize(NULL) == rondeInvalidArgument);
  NEED(rondeStreamQuery(NULL) == rondeInvalidArgument);
}

/* Streams that wait for each other, and functions in their order. */
static void test_events(rondeComm_t* comms, rondeStream_t* streams, float* buffer) {
  rondeEvent_t event;
  NEED(rondeEventCreate(&event) == rondeSuccess);
  test_wrong_events(streams[0], event);
  NEED(rondeEventQuery(event) == rondeSuccess); /* never recorded */
  NEED(rondeEventSynchronize(event) == rondeSuccess);
  NEED(rondeStreamWaitEvent(streams[0], event) == rondeSuccess);

  called = 0;
  NEED(rondeAllReduce(buffer, buffer, 1, rondeFloat, rondeSum, comms[0], streams[0]) == rondeSuccess);
  NEED(rondeEventRecord(event, streams[0]) == rondeSuccess);
  NEED(rondeStreamWaitEvent(streams[1], event) == rondeSuccess);
  NEED(rondeLaunchHostFunc(streams[1], count_call, &called) == rondeSuccess);
  NEED(rondeEventQuery(event) == rondeInProgress);
  NEED(rondeStreamQuery(streams[1]) == rondeInProgress && called == 0);
  NEED(rondeAllReduce(buffer + 1, buffer + 1, 1, rondeFloat, rondeSum, comms[1], NULL) == rondeSuccess);
  NEED(rondeEventSynchronize(event) == rondeSuccess);
  NEED(rondeEventQuery(event) == rondeSuccess);
  NEED(rondeStreamSynchronize(streams[1]) == rondeSuccess && called == 1 && told == rondeSuccess);

  NEED(rondeGroupStart() == rondeSuccess);
  NEED(rondeAllReduce(buffer, buffer, 1, rondeFloat, rondeSum, comms[0], streams[0]) == rondeSuccess);
  NEED(rondeAllReduce(buffer + 1, buffer + 1, 1, rondeFloat, rondeSum, comms[1], NULL) == rondeSuccess);
  NEED(rondeEventRecord(event, streams[0]) == rondeInvalidUsage);
  NEED(rondeStreamWaitEvent(streams[0], event) == rondeInvalidUsage);
  NEED(rondeLaunchHostFunc(streams[0], count_call, &called) == rondeInvalidUsage);
  NEED(rondeEventRecord(event, streams[1]) == rondeSuccess);
  NEED(rondeGroupEnd() == rondeSuccess);
  NEED(rondeStreamSynchronize(streams[0]) == rondeSuccess);

  struct Inside in = {streams[0], event, {rondeSuccess}};
  NEED(rondeLaunchHostFunc(streams[0], inside, &in) == rondeSuccess);
  NEED(rondeStreamSynchronize(streams[0]) == rondeSuccess);
  NEED(in.results[0] == rondeSuccess && in.results[1] == rondeInvalidUsage && in.results[2] == rondeInvalidUsage);
  NEED(in.results[3] == rondeInvalidUsage && in.results[4] == rondeSuccess && in.results[5] == rondeInProgress);
  NEED(rondeEventDestroy(event) == rondeSuccess);
}

/* Streams end what was put on them before they go, and their functions hear of errors. */
static void test_destroy_with_work(void) {
  rondeComm_t comms[kRanks];
  rondeStream_t streams[kRanks];
  float values[kRanks] = {1, 2};
  called = 0;
  NEED(rondeCommInitAll(comms, kRanks, NULL) == rondeSuccess);
  for (int rank = 0; rank < kRanks; ++rank) {
    NEED(rondeStreamCreate(&streams[rank]) == rondeSuccess);
    for (int i = 0; i < 10; ++i) {
      NEED(rondeAllReduce(&values[rank], &values[rank], 1, rondeFloat, rondeMax, comms[rank], streams[rank]) ==
           rondeSuccess);
      NEED(rondeLaunchHostFunc(streams[rank], count_call, &called) == rondeSuccess);
    }
  }
  for (int rank = 0; rank < kRanks; ++rank) NEED(rondeStreamDestroy(streams[rank]) == rondeSuccess);
  NEED(called == 10 * kRanks && values[0] == 2 && values[1] == 2);

  NEED(rondeStreamCreate(&streams[0]) == rondeSuccess);
  NEED(rondeAllReduce(&values[0], &values[0], 1, rondeFloat, rondeMax, comms[0], streams[0]) == rondeSuccess);
  NEED(rondeLaunchHostFunc(streams[0], count_call, &called) == rondeSuccess);
  NEED(rondeCommAbort(comms[0]) == rondeSuccess);
  NEED(rondeCommDestroy(comms[0]) == rondeSuccess);
  NEED(rondeStreamDestroy(streams[0]) == rondeAborted);
  NEED(told == rondeAborted && strstr(told_text, "aborted") != NULL);
  NEED(rondeCommDestroy(comms[1]) == rondeSuccess);
}

void test_streams(void) {
  rondeComm_t comms[kRanks];
  rondeStream_t streams[kRanks];
  float buffer[kRanks] = {1, 2};
  NEED(rondeCommInitAll(comms, kRanks, NULL) == rondeSuccess);
  for (int rank = 0; rank < kRanks; ++rank) NEED(rondeStreamCreate(&streams[rank]) == rondeSuccess);
  test_events(comms, streams, buffer);
  for (int rank = 0; rank < kRanks; ++rank) {
    NEED(rondeStreamDestroy(streams[rank]) == rondeSuccess);
    NEED(rondeCommDestroy(comms[rank]) == rondeSuccess);
  }
  test_destroy_with_work();
}
