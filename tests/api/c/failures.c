/* Errors that concern all ranks, met by every operation while it waits, and by every later call. */
#define _POSIX_C_SOURCE 200809L
#include <stdatomic.h>

#include "api/c/calls.h"
#include "api/c/observe.h"
#include "api/c/parts.h"
#include "api/c/ranks.h"

/* What rank 1 does while rank 0 waits for it. */
typedef enum { kAbortsHere, kAborts, kRevokes, kLeaves, kCallsOther, kStaysAway, kNumberOfCauses } Cause;
static const rondeResult_t kResults[kNumberOfCauses] = {rondeAborted,  rondeRemoteError, rondeRevoked,
                                                        rondePeerLost, rondeMismatch,    rondeTimedOut};

/* One operation that waits, by one of the functions that return its result. */
typedef struct {
  Cause cause;
  const Call* call; /* NULL: an all-reduce, whose result `by` returns */
  const char* by;
  rondeComm_t comms[2];
  atomic_int called; /* rank 0 has called what it can call without waiting */
} Wait;

static rondeResult_t all_reduce(rondeComm_t comm, rondeStream_t stream) {
  static float zeroes[2][kBlock]; /* nobody ever comes to write there */
  return rondeAllReduce(zeroes[0], zeroes[1], kBlock, rondeFloat32, rondeSum, comm, stream);
}

static rondeResult_t query(rondeStream_t stream) {
  rondeResult_t result = rondeInProgress;
  while ((result = rondeStreamQuery(stream)) == rondeInProgress) {
    observe(__FILE__, __LINE__, "rondeStreamQuery", rondeInProgress, result, NULL);
    sleep_ms(5);
  }
  return result;
}

/* The text names the operation, where it is one that has failed; otherwise who has ended the communicator. */
static void says_why(Cause cause, const char* operation) {
  static const char* const kWhy[kNumberOfCauses] = {
      "aborted on this rank", "rank 1 aborted", "revoke", NULL, "rank 1", NULL};
  NEED(strstr(rondeGetLastError(NULL), kWhy[cause] != NULL ? kWhy[cause] : operation) != NULL);
}

/* A stream's function, the end of a group, or finalize: they tell how an all-reduce on a stream has ended. */
static void wait_by(Wait* wait) {
  const rondeResult_t result = kResults[wait->cause];
  const char* by = wait->by;
  rondeStream_t stream = NULL;
  rondeResult_t got = rondeSuccess;
  MEET(rondeSuccess, rondeStreamCreate, (&stream));
  if (strcmp(by, "rondeGroupEnd") == 0) {
    MEET(rondeSuccess, rondeGroupStart, ());
    NEED(all_reduce(wait->comms[0], NULL) == rondeSuccess);
    wait->called = 1;
    got = rondeGroupEnd();
  } else {
    NEED(all_reduce(wait->comms[0], stream) == rondeSuccess);
    wait->called = 1;
    if (strcmp(by, "rondeStreamSynchronize") == 0) got = rondeStreamSynchronize(stream);
    if (strcmp(by, "rondeStreamQuery") == 0) got = query(stream);
    if (strcmp(by, "rondeCommFinalize") == 0) got = rondeCommFinalize(wait->comms[0]);
    if (strcmp(by, "rondeStreamDestroy") == 0) {
      got = rondeStreamDestroy(stream);
      stream = NULL;
    }
  }
  observe(__FILE__, __LINE__, by, result, got, NULL);
  says_why(wait->cause, "AllReduce");
  if (strcmp(by, "rondeCommFinalize") == 0) MEET(result, rondeStreamSynchronize, (stream));
  MEET(rondeSuccess, rondeStreamDestroy, (stream)); /* each error of a stream is told once */
}

static void later_calls(const Wait* wait) {
  const rondeResult_t result = kResults[wait->cause];
  rondeResult_t error = rondeSuccess;
  rondeUniqueId id;
  memset(&id, 0, sizeof id);
  NEED(all_reduce(wait->comms[0], NULL) == result);
  MEET_UNTOUCHED(result, rondeCommGetUniqueId, (wait->comms[0], &id), id);
  MEET(rondeSuccess, rondeCommGetAsyncError, (wait->comms[0], &error));
  NEED(error == result);
  MEET(result, rondeCommFinalize, (wait->comms[0]));
}

/* As messages name it. */
static const char* operation_of(const char* function) {
  return strcmp(function, "rondeBcast") == 0 ? "Broadcast" : function + strlen("ronde");
}

static void* rank_0(void* user) {
  Wait* wait = user;
  const rondeResult_t result = kResults[wait->cause];
  if (wait->call == NULL) {
    wait_by(wait);
  } else {
    Inputs in;
    prepare_inputs(&in);
    in.comm = wait->comms[0];
    rondeComm_t const no_child = in.out.comms[0];
    wait->called = 1;
    const rondeResult_t got = wait->call->call(&in);
    observe(__FILE__, __LINE__, wait->call->function, result, got, NULL);
    says_why(wait->cause, operation_of(wait->call->function));
    NEED(in.out.comms[0] == no_child);
  }
  later_calls(wait);
  return NULL;
}

/* Something else than what rank 0 has called. */
static void call_other(const Wait* wait) {
  float values[2 * kBlock] = {0};
  const char* function = wait->call != NULL ? wait->call->function : "rondeAllReduce";
  rondeComm_t comm = wait->comms[1];
  if (strcmp(function, "rondeSend") == 0) {
    MEET(rondeMismatch, rondeRecv, (values, kBlock + 1, rondeFloat32, 0, comm, NULL));
  } else if (strcmp(function, "rondeRecv") == 0) {
    MEET(rondeMismatch, rondeSend, (values, kBlock + 1, rondeFloat32, 0, comm, NULL));
  } else if (strcmp(function, "rondeBarrier") == 0) {
    NEED(all_reduce(comm, NULL) == rondeMismatch);
  } else {
    MEET(rondeMismatch, rondeBarrier, (comm, NULL));
  }
}

static void* rank_1(void* user) {
  Wait* wait = user;
  while (wait->cause != kStaysAway && !wait->called) sleep_ms(1);
  sleep_ms(20); /* by now rank 0 is in the middle of it, mostly */
  switch (wait->cause) {
    case kAbortsHere: MEET(rondeSuccess, rondeCommAbort, (wait->comms[0])); break;
    case kAborts: MEET(rondeSuccess, rondeCommAbort, (wait->comms[1])); break;
    case kRevokes: MEET(rondeSuccess, rondeCommRevoke, (wait->comms[1], RONDE_REVOKE_DEFAULT)); break;
    case kCallsOther: call_other(wait); break;
    case kLeaves: MEET(rondeSuccess, rondeCommDestroy, (wait->comms[1])); break;
    default: break;
  }
  return NULL;
}

/* All of them at a time, each in a communicator of its own. */
static void all_wait(Cause cause) {
  enum { kMost = 40 };
  static const char* const kBy[] = {"rondeGroupEnd", "rondeStreamSynchronize", "rondeStreamQuery", "rondeStreamDestroy",
                                    "rondeCommFinalize"};
  Wait waits[kMost];
  pthread_t threads[kMost][2];
  int number = 0;
  for (int i = 0; i < kNumberOfCalls; ++i) {
    if (kCalls[i].kind & kWaits) waits[number++] = (Wait){cause, &kCalls[i], NULL, {NULL, NULL}, 0};
  }
  for (int i = 0; i < 5; ++i) waits[number++] = (Wait){cause, NULL, kBy[i], {NULL, NULL}, 0};
  for (int i = 0; i < number; ++i) MEET(rondeSuccess, rondeCommInitAll, (waits[i].comms, 2, NULL));
  for (int i = 0; i < number; ++i) {
    threads[i][0] = start_thread(rank_0, &waits[i]);
    threads[i][1] = start_thread(rank_1, &waits[i]);
  }
  for (int i = 0; i < number; ++i) {
    for (int rank = 0; rank < 2; ++rank) join_thread(threads[i][rank]);
    MEET(rondeSuccess, rondeCommDestroy, (waits[i].comms[0])); /* nobody is inside an abort any more */
    if (cause != kLeaves) MEET(rondeSuccess, rondeCommDestroy, (waits[i].comms[1]));
  }
}

void part_failures(void) {
  for (int cause = 0; cause < kStaysAway; ++cause) all_wait((Cause)cause);
}

/* It reads the environment as its communicators are made. */
void part_late(void) {
  NEED(setenv("RONDE_LATE_WARNING", "0", 1) == 0 && setenv("RONDE_LATE_TIMEOUT", "1", 1) == 0);
  all_wait(kStaysAway);
}
