/* Split, dup and grow, in one process. */
#define _POSIX_C_SOURCE 200809L
#include "api/c/observe.h"
#include "api/c/parts.h"
#include "api/c/ranks.h"

enum { kRanks = 2 };

static void destroy_all(rondeComm_t* comms, int nranks) {
  for (int rank = 0; rank < nranks; ++rank) MEET(rondeSuccess, rondeCommDestroy, (comms[rank]));
}

static void expect_place(rondeComm_t comm, int rank, int nranks) {
  int value = -1;
  MEET(rondeSuccess, rondeCommUserRank, (comm, &value));
  NEED(value == rank);
  MEET(rondeSuccess, rondeCommCount, (comm, &value));
  NEED(value == nranks);
}

static void expect_sum(rondeComm_t* comms, int nranks) {
  int values[kRanks + 1];
  MEET(rondeSuccess, rondeGroupStart, ());
  for (int rank = 0; rank < nranks; ++rank) {
    values[rank] = rank + 1;
    MEET(rondeSuccess, rondeAllReduce, (&values[rank], &values[rank], 1, rondeInt, rondeSum, comms[rank], NULL));
  }
  MEET(rondeSuccess, rondeGroupEnd, ());
  for (int rank = 0; rank < nranks; ++rank) NEED(values[rank] == nranks * (nranks + 1) / 2);
}

static rondeResult_t outcome(rondeComm_t comm) {
  rondeResult_t error = rondeInProgress;
  while (error == rondeInProgress) {
    sleep_ms(1);
    MEET(rondeSuccess, rondeCommGetAsyncError, (comm, &error));
  }
  return error;
}

static void test_arguments(rondeComm_t comm) {
  rondeComm_t next = NULL;
  rondeUniqueId id, other;
  rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
  memset(&id, 0, sizeof id);
  MEET(rondeSuccess, rondeGetUniqueId, (&other));
  MEET(rondeInvalidArgument, rondeCommSplit, (comm, 0, 0, NULL, NULL));
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommSplit, (comm, -2, 0, &next, NULL), next);
  NEED(strstr(rondeGetLastError(NULL), "color is -2") != NULL);
  MEET(rondeInvalidArgument, rondeCommDup, (comm, NULL, NULL));
  MEET(rondeInvalidArgument, rondeCommGetUniqueId, (comm, NULL));
  MEET(rondeInvalidArgument, rondeCommGrow, (comm, 3, NULL, -1, NULL, NULL));
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommGrow, (comm, 2, NULL, -1, &next, NULL), next);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommGrow, (comm, 3, NULL, 1, &next, NULL), next);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommGrow, (comm, 3, &id, -1, &next, NULL), next);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommGrow, (comm, 3, &other, -1, &next, NULL), next);
  NEED(strstr(rondeGetLastError(NULL), "not one of this communicator") != NULL);
  /* Of one that joins. */
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommGrow, (NULL, 3, NULL, 2, &next, NULL), next);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommGrow, (NULL, 3, &id, 2, &next, NULL), next);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommGrow, (NULL, 3, &other, 3, &next, NULL), next);

  config.magic = 0;
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommSplit, (comm, 0, 0, &next, &config), next);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommDup, (comm, &next, &config), next);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommGrow, (comm, 3, NULL, -1, &next, &config), next);
  config.magic = RONDE_CONFIG_MAGIC;
  config.spin = "sometimes";
  MEET_UNTOUCHED(rondeInvalidUsage, rondeCommSplit, (comm, 0, 0, &next, &config), next);
  NEED(strstr(rondeGetLastError(NULL), "rondeCommSplit: config.spin: RONDE_SPIN='sometimes'") != NULL);
  MEET_UNTOUCHED(rondeInvalidUsage, rondeCommDup, (comm, &next, &config), next);
  MEET_UNTOUCHED(rondeInvalidUsage, rondeCommGrow, (comm, 3, NULL, -1, &next, &config), next);
}

/* Parts, a copy and a greater one, in groups of one thread. */
static void test_groups(rondeComm_t* comms) {
  rondeComm_t alone[kRanks], copies[kRanks], grown[kRanks + 1], none = NULL;
  rondeUniqueId id;
  MEET(rondeSuccess, rondeGroupStart, ());
  for (int rank = 0; rank < kRanks; ++rank) {
    MEET(rondeSuccess, rondeCommSplit, (comms[rank], rank, 0, &alone[rank], NULL));
    MEET(rondeSuccess, rondeCommDup, (comms[rank], &copies[rank], NULL));
  }
  MEET(rondeSuccess, rondeGroupEnd, ());
  MEET(rondeSuccess, rondeCommGetUniqueId, (comms[1], &id));
  MEET(rondeSuccess, rondeGroupStart, ());
  for (int rank = 0; rank < kRanks; ++rank)
    MEET(rondeSuccess, rondeCommGrow, (comms[rank], kRanks + 1, NULL, -1, &grown[rank], NULL));
  MEET(rondeSuccess, rondeCommGrow, (NULL, kRanks + 1, &id, kRanks, &grown[kRanks], NULL));
  MEET(rondeSuccess, rondeGroupEnd, ());
  for (int rank = 0; rank < kRanks; ++rank) {
    expect_place(alone[rank], 0, 1);
    expect_place(copies[rank], rank, kRanks);
  }
  for (int rank = 0; rank <= kRanks; ++rank) expect_place(grown[rank], rank, kRanks + 1);
  expect_sum(copies, kRanks);
  expect_sum(grown, kRanks + 1);
  destroy_all(copies, kRanks);
  destroy_all(grown, kRanks + 1);

  MEET(rondeSuccess, rondeCommFinalize, (alone[0]));
  MEET_UNTOUCHED(rondeInvalidUsage, rondeCommSplit, (alone[0], 0, 0, &none, NULL), none);
  MEET_UNTOUCHED(rondeInvalidUsage, rondeCommDup, (alone[0], &none, NULL), none);
  MEET_UNTOUCHED(rondeInvalidUsage, rondeCommGrow, (alone[0], 2, NULL, -1, &none, NULL), none);
  MEET_UNTOUCHED(rondeInvalidUsage, rondeCommGetUniqueId, (alone[0], &id), id);
  destroy_all(alone, kRanks);
}

/* In the background; a rank without a color has nothing to wait for. */
static void test_non_blocking(rondeComm_t* comms) {
  rondeComm_t made[kRanks], grown[kRanks + 1];
  rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
  rondeUniqueId id;
  config.blocking = 0;
  memset(made, 0x5a, sizeof made);
  MEET(rondeInProgress, rondeCommSplit, (comms[0], 0, 0, &made[0], &config));
  MEET(rondeSuccess, rondeCommSplit, (comms[1], RONDE_SPLIT_NOCOLOR, 0, &made[1], &config));
  NEED(made[1] == NULL && outcome(made[0]) == rondeSuccess);
  expect_place(made[0], 0, 1);
  MEET(rondeSuccess, rondeCommDestroy, (made[0]));

  for (int rank = 0; rank < kRanks; ++rank) MEET(rondeInProgress, rondeCommDup, (comms[rank], &made[rank], &config));
  for (int rank = 0; rank < kRanks; ++rank) NEED(outcome(made[rank]) == rondeSuccess);
  expect_sum(made, kRanks);
  destroy_all(made, kRanks);

  MEET(rondeSuccess, rondeCommGetUniqueId, (comms[0], &id));
  for (int rank = 0; rank < kRanks; ++rank)
    MEET(rondeInProgress, rondeCommGrow, (comms[rank], kRanks + 1, NULL, -1, &grown[rank], &config));
  MEET(rondeInProgress, rondeCommGrow, (NULL, kRanks + 1, &id, kRanks, &grown[kRanks], &config));
  for (int rank = 0; rank <= kRanks; ++rank) NEED(outcome(grown[rank]) == rondeSuccess);
  expect_sum(grown, kRanks + 1);
  destroy_all(grown, kRanks + 1);
}

/* Nobody has made an id, and different numbers of ranks: the communicator is as usable as before. */
static void test_no_agreement(rondeComm_t* comms) {
  rondeComm_t made[kRanks] = {NULL, NULL};
  for (int different = 0; different < 2; ++different) {
    rondeUniqueId id;
    if (different) MEET(rondeSuccess, rondeCommGetUniqueId, (comms[0], &id));
    MEET(rondeSuccess, rondeGroupStart, ());
    for (int rank = 0; rank < kRanks; ++rank)
      MEET(rondeSuccess, rondeCommGrow,
           (comms[rank], kRanks + 1 + (different ? rank : 0), NULL, -1, &made[rank], NULL));
    MEET_TEXT(rondeInvalidUsage, rondeGroupEnd, (), different ? "3" : "rondeCommGetUniqueId");
    NEED(made[0] == NULL && made[1] == NULL);
  }
  expect_sum(comms, kRanks);
}

void part_children(void) {
  rondeComm_t comms[kRanks];
  MEET(rondeSuccess, rondeCommInitAll, (comms, kRanks, NULL));
  test_arguments(comms[0]);
  test_groups(comms);
  test_non_blocking(comms);
  test_no_agreement(comms);
  destroy_all(comms, kRanks);
}
