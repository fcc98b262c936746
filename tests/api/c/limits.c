/* rondeSystemError: what the operating system refuses. */
#define _POSIX_C_SOURCE 200809L
#include "api/c/calls.h"
#include "api/c/observe.h"
#include "api/c/parts.h"
#include "api/c/ranks.h"

enum { kRanks = 2 };

/* ---- No further file -------------------------------------------------------------------------------------------- */

typedef struct {
  const char* function;
  rondeComm_t comm;
  rondeUniqueId* id;
  int rank;
  rondeResult_t result;
} Child;

static rondeResult_t make_child(const Child* child, rondeComm_t* made) {
  if (strcmp(child->function, "rondeCommSplit") == 0) return rondeCommSplit(child->comm, 0, 0, made, NULL);
  if (strcmp(child->function, "rondeCommDup") == 0) return rondeCommDup(child->comm, made, NULL);
  return rondeCommGrow(child->comm, kRanks + 1, NULL, -1, made, NULL);
}

static void* run_child(void* user) {
  const Child* child = user;
  rondeComm_t made = NULL;
  observe(__FILE__, __LINE__, child->function, child->result, make_child(child, &made), "open files");
  NEED(made == NULL);
  return NULL;
}

/* The rank that was to open the meeting point has the error, the others hear of it; the communicator is as usable as
 * before. */
static void test_children(const char* function) {
  rondeComm_t comms[kRanks];
  float values[kRanks] = {1, 2};
  rondeUniqueId id;
  MEET(rondeSuccess, rondeCommInitAll, (comms, kRanks, NULL));
  MEET(rondeSuccess, rondeCommGetUniqueId, (comms[0], &id));
  Child children[kRanks] = {{function, comms[0], &id, 0, rondeSystemError},
                            {function, comms[1], &id, 1, rondeRemoteError}};
  if (strcmp(function, "rondeCommGrow") == 0) children[1].result = rondeSystemError; /* each has to reach it */
  const int number = forbid_new_files();
  pthread_t thread = start_thread(run_child, &children[1]);
  run_child(&children[0]);
  join_thread(thread);
  allow_files(number);
  MEET(rondeSuccess, rondeGroupStart, ());
  for (int rank = 0; rank < kRanks; ++rank)
    MEET(rondeSuccess, rondeAllReduce, (&values[rank], &values[rank], 1, rondeFloat, rondeSum, comms[rank], NULL));
  MEET(rondeSuccess, rondeGroupEnd, ());
  for (int rank = 0; rank < kRanks; ++rank) MEET(rondeSuccess, rondeCommDestroy, (comms[rank]));
}

static void test_no_port(void) {
  rondeComm_t comm = NULL;
  rondeUniqueId id;
  rondeWorld_t world;
  memset(&id, 0x5a, sizeof id);
  memset(&world, 0x5a, sizeof world);
  world.size = sizeof world;
  MEET(rondeSuccess, rondeCommInitAll, (&comm, 1, NULL));
  const int number = forbid_new_files();
  MEET_UNTOUCHED(rondeSystemError, rondeGetUniqueId, (&id), id);
  MEET_UNTOUCHED(rondeSystemError, rondeGetWorldFromEnv, (&world, &id), world);
  MEET_UNTOUCHED(rondeSystemError, rondeCommGetUniqueId, (comm, &id), id);
  NEED(strstr(rondeGetLastError(NULL), "open files") != NULL);
  allow_files(number);
  MEET(rondeSuccess, rondeCommDestroy, (comm));
}

void part_no_files(void) {
  test_no_port();
  test_children("rondeCommSplit");
  test_children("rondeCommDup");
  test_children("rondeCommGrow");
}

/* ---- No further thread ------------------------------------------------------------------------------------------ */

/* Whatever puts something on a stream needs the thread that serves streams, and the first one starts it. */
static void test_streams(Inputs* in) {
  for (int i = 0; i < kNumberOfCalls; ++i) {
    const Call* call = &kCalls[i];
    const int is_operation = (call->kind & kWaits) != 0 && strncmp(call->function, "rondeComm", 9) != 0;
    if (is_operation || strcmp(call->function, "rondeEventRecord") == 0 ||
        strcmp(call->function, "rondeLaunchHostFunc") == 0)
      refuse(call, in, rondeSystemError);
  }
  MEET(rondeSuccess, rondeGroupStart, ());
  MEET(rondeSuccess, rondeBarrier, (in->comm, in->stream));
  MEET(rondeSystemError, rondeGroupEnd, ());
  /* Nothing was put there, and nothing is refused that needs no thread. */
  MEET(rondeSuccess, rondeStreamSynchronize, (in->stream));
  MEET(rondeSuccess, rondeEventSynchronize, (in->event));
  MEET(rondeSuccess, rondeStreamWaitEvent, (in->stream, in->event));
}

/* A communicator that is made in the background has a thread. */
static void test_non_blocking(Inputs* in) {
  rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
  config.blocking = 0;
  in->config = &config;
  static const char* const kFunctions[] = {"rondeCommInitRankConfig",
                                           "rondeCommInitRankScalable",
                                           "rondeCommShrink",
                                           "rondeCommSplit",
                                           "rondeCommDup",
                                           "rondeCommGrow"};
  for (int i = 0; i < kNumberOfCalls; ++i) {
    for (size_t j = 0; j < sizeof kFunctions / sizeof kFunctions[0]; ++j) {
      if (strcmp(kCalls[i].function, kFunctions[j]) == 0) refuse(&kCalls[i], in, rondeSystemError);
    }
  }
  in->config = NULL;
}

void part_no_threads(void) {
  Inputs in;
  rondeComm_t comms[kRanks];
  prepare_inputs(&in);
  MEET(rondeSuccess, rondeCommInitAll, (comms, kRanks, NULL));
  MEET(rondeSuccess, rondeGetUniqueId, (&in.id));
  MEET(rondeSuccess, rondeStreamCreate, (&in.stream));
  MEET(rondeSuccess, rondeEventCreate, (&in.event));
  in.comm = comms[0];
  look_for_no_leaks(); /* it would need a thread */
  if (!forbid_new_threads()) observe_nothing(rondeSystemError, "the number of threads cannot be limited");
  test_streams(&in);
  test_non_blocking(&in);
  MEET_UNTOUCHED(rondeSystemError, rondeCommInitAll, (in.out.comms, kRanks, NULL), in.out.comms);
  MEET(rondeSuccess, rondeEventDestroy, (in.event));
  MEET(rondeSuccess, rondeStreamDestroy, (in.stream));
  for (int rank = 0; rank < kRanks; ++rank) MEET(rondeSuccess, rondeCommDestroy, (comms[rank]));
}
