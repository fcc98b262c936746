/* Shrink, and what belongs to ranks that die: who is left, and the errors of those who go on. */
#define _POSIX_C_SOURCE 200809L
#include "api/c/observe.h"
#include "api/c/parts.h"
#include "api/c/ranks.h"

enum { kRanks = 2 };

static void make_all(rondeComm_t* comms, int nranks) { MEET(rondeSuccess, rondeCommInitAll, (comms, nranks, NULL)); }
static void destroy_all(rondeComm_t* comms, int nranks) {
  for (int rank = 0; rank < nranks; ++rank) MEET(rondeSuccess, rondeCommDestroy, (comms[rank]));
}

typedef struct {
  rondeComm_t comm;
  rondeComm_t next;
  rondeConfig_t* config;
  rondeResult_t result;
  const char* text;
} Shrink;

static void* shrink(void* user) {
  Shrink* it = user;
  rondeComm_t const before = it->next;
  MEET_TEXT(it->result, rondeCommShrink, (it->comm, NULL, 0, &it->next, it->config, RONDE_SHRINK_DEFAULT), it->text);
  NEED(it->result == rondeSuccess || it->next == before);
  return NULL;
}

static void test_arguments(void) {
  rondeComm_t comms[kRanks], next = NULL;
  const int other = 1, none = kRanks;
  rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
  make_all(comms, kRanks);
  MEET(rondeInvalidArgument, rondeCommShrink, (comms[0], NULL, 0, NULL, NULL, RONDE_SHRINK_DEFAULT));
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommShrink, (comms[0], NULL, 1, &next, NULL, RONDE_SHRINK_DEFAULT), next);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommShrink, (comms[0], &other, -1, &next, NULL, RONDE_SHRINK_DEFAULT),
                 next);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommShrink, (comms[0], &none, 1, &next, NULL, RONDE_SHRINK_DEFAULT), next);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommShrink, (comms[1], &other, 1, &next, NULL, RONDE_SHRINK_DEFAULT), next);
  NEED(strstr(rondeGetLastError(NULL), "rank 1") != NULL);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommShrink, (comms[0], &other, 1, &next, NULL, 2), next);
  config.spin = "sometimes";
  MEET_UNTOUCHED(rondeInvalidUsage, rondeCommShrink, (comms[0], NULL, 0, &next, &config, RONDE_SHRINK_DEFAULT), next);
  MEET(rondeSuccess, rondeCommFinalize, (comms[0]));
  MEET_UNTOUCHED(rondeInvalidUsage, rondeCommShrink, (comms[0], NULL, 0, &next, NULL, RONDE_SHRINK_DEFAULT), next);
  destroy_all(comms, kRanks);
}

/* All go on after an error, in a group of one thread; then one goes on alone, in the background. */
static void test_success(void) {
  rondeComm_t comms[kRanks], next[kRanks], alone = NULL;
  rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
  rondeResult_t error = rondeInProgress;
  const int other = 1;
  int count = 0;
  float value = 4;
  make_all(comms, kRanks);
  MEET(rondeSuccess, rondeCommRevoke, (comms[0], RONDE_REVOKE_DEFAULT));
  MEET(rondeSuccess, rondeGroupStart, ());
  for (int rank = 0; rank < kRanks; ++rank)
    MEET(rondeSuccess, rondeCommShrink, (comms[rank], NULL, 0, &next[rank], NULL, RONDE_SHRINK_DEFAULT));
  MEET(rondeInvalidUsage, rondeCommDestroy, (comms[0]));
  MEET(rondeSuccess, rondeGroupEnd, ());
  destroy_all(comms, kRanks);

  config.blocking = 0;
  config.commName = "alone";
  MEET(rondeInProgress, rondeCommShrink, (next[0], &other, 1, &alone, &config, RONDE_SHRINK_ABORT));
  while (error == rondeInProgress) {
    sleep_ms(1);
    MEET(rondeSuccess, rondeCommGetAsyncError, (alone, &error));
  }
  NEED(error == rondeSuccess);
  MEET(rondeSuccess, rondeCommCount, (alone, &count));
  NEED(count == 1);
  MEET(rondeSuccess, rondeAllReduce, (&value, &value, 1, rondeFloat, rondeSum, alone, NULL));
  MEET(rondeRevoked, rondeAllReduce, (&value, &value, 1, rondeFloat, rondeSum, next[0], NULL));
  MEET(rondeSuccess, rondeCommDestroy, (alone));
  destroy_all(next, kRanks);
}

/* Rank 1 does not call: rank 0 gives up, or is stopped. One shrink at a time. */
static void test_waits_in_vain(void) {
  rondeComm_t comms[kRanks], next = NULL;
  rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
  make_all(comms, kRanks);
  config.initTimeoutSeconds = 1;
  MEET_UNTOUCHED(rondeTimedOut, rondeCommShrink, (comms[0], NULL, 0, &next, &config, RONDE_SHRINK_DEFAULT), next);
  NEED(strstr(rondeGetLastError(NULL), "rank 1") != NULL);
  destroy_all(comms, kRanks);

  make_all(comms, kRanks);
  rondeComm_t background = NULL;
  config.blocking = 0;
  config.initTimeoutSeconds = RONDE_CONFIG_UNDEF_INT;
  MEET(rondeInProgress, rondeCommShrink, (comms[0], NULL, 0, &background, &config, RONDE_SHRINK_DEFAULT));
  MEET_UNTOUCHED(rondeInvalidUsage, rondeCommShrink, (comms[0], NULL, 0, &next, NULL, RONDE_SHRINK_DEFAULT), next);
  MEET(rondeSuccess, rondeCommDestroy, (background));
  destroy_all(comms, kRanks);

  make_all(comms, kRanks);
  Shrink waits = {comms[0], NULL, NULL, rondeAborted, "abort"};
  pthread_t thread = start_thread(shrink, &waits);
  sleep_ms(200);
  MEET(rondeSuccess, rondeCommAbort, (comms[0]));
  join_thread(thread);
  MEET_UNTOUCHED(rondeRemoteError, rondeCommShrink, (comms[1], NULL, 0, &next, NULL, RONDE_SHRINK_DEFAULT), next);
  NEED(strstr(rondeGetLastError(NULL), "rank 0") != NULL);
  destroy_all(comms, kRanks);
}

/* Of three ranks the last one does not call, and rank 1 has less patience than rank 0. */
static void test_other_gives_up(void) {
  rondeComm_t comms[3];
  rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
  make_all(comms, 3);
  config.initTimeoutSeconds = 1;
  Shrink impatient = {comms[1], NULL, &config, rondeTimedOut, "rank 2"};
  Shrink patient = {comms[0], NULL, NULL, rondeTimedOut, "rank 1 has waited"};
  Shrink late = {comms[2], NULL, NULL, rondeTimedOut, "rank 1 has waited"};
  pthread_t threads[3] = {start_thread(shrink, &impatient), start_thread(shrink, &patient)};
  join_thread(threads[0]);
  threads[2] = start_thread(shrink, &late); /* now all have called, and rank 1 has given up */
  for (int i = 1; i < 3; ++i) join_thread(threads[i]);
  destroy_all(comms, 3);
}

/* The process of rank 1 ends while nothing is done, and while both start the next communicator. */
static void test_death(const char* role, int in_the_middle) {
  rondeUniqueId id;
  rondeComm_t comm = NULL, next = NULL;
  float value = 1;
  int failed[kRanks] = {-1, -1}, number = 0, count = 0;
  MEET(rondeSuccess, rondeGetUniqueId, (&id));
  Helper helper = start_helper(role, &id, 1);
  MEET(rondeSuccess, rondeCommInitRank, (&comm, kRanks, id, 0));
  if (in_the_middle) {
    MEET_UNTOUCHED(rondePeerLost, rondeCommShrink, (comm, NULL, 0, &next, NULL, RONDE_SHRINK_DEFAULT), next);
    NEED(strstr(rondeGetLastError(NULL), "rank 1") != NULL);
    end_helper(&helper, 9);
  } else {
    char line[20];
    read_line(&helper, line, sizeof line);
    kill_helper(&helper);
  }
  MEET(rondePeerLost, rondeAllReduce, (&value, &value, 1, rondeFloat, rondeSum, comm, NULL));
  NEED(strstr(USE(rondeGetLastError)(comm), "rank 1") != NULL);
  MEET(rondeSuccess, rondeCommGetFailedRanks, (comm, failed, kRanks, &number));
  NEED(number == 1 && failed[0] == 1 && failed[1] == -1);
  MEET(rondeSuccess, rondeCommShrink, (comm, NULL, 0, &next, NULL, RONDE_SHRINK_DEFAULT));
  MEET(rondeSuccess, rondeCommCount, (next, &count));
  NEED(count == 1);
  MEET(rondeSuccess, rondeCommDestroy, (next));
  MEET(rondeSuccess, rondeCommDestroy, (comm));
}

/* Nobody can open a meeting point, nor go to one. */
static void test_no_files(void) {
  rondeComm_t comms[kRanks];
  make_all(comms, kRanks);
  Shrink first = {comms[0], NULL, NULL, rondeSystemError, "open files"};
  Shrink second = {comms[1], NULL, NULL, rondeSystemError, "open files"};
  const int number = forbid_new_files();
  pthread_t thread = start_thread(shrink, &second);
  shrink(&first);
  join_thread(thread);
  allow_files(number);
  destroy_all(comms, kRanks);
}

void part_succession(void) {
  test_arguments();
  test_success();
  test_waits_in_vain();
  test_other_gives_up();
  test_death("waits", 0);
  test_death("dies_as_it_shrinks", 1);
  test_no_files();
}

void helper_dies_as_it_shrinks(int rank) {
  rondeComm_t comm = NULL, next = NULL;
  MEET(rondeSuccess, rondeCommInitRank, (&comm, rank + 1, read_id(), rank));
  MEET(rondeSuccess, rondeSetLogCallback, (end_in_the_middle, NULL));
  MEET(rondeSuccess, rondeSetLogLevel, (rondeLogTrace));
  rondeCommShrink(comm, NULL, 0, &next, NULL, RONDE_SHRINK_DEFAULT);
}
