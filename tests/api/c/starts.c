/* Communicators from ids, and how their start fails: the three functions that make them fail alike. */
#define _POSIX_C_SOURCE 200809L
#include <unistd.h>

#include "api/c/observe.h"
#include "api/c/parts.h"
#include "api/c/ranks.h"

typedef struct {
  const char* function;
  rondeResult_t (*make)(rondeComm_t* comm, int nranks, rondeUniqueId id, int rank, rondeConfig_t* config);
  int has_config;
} Maker;

static rondeResult_t make_plain(rondeComm_t* comm, int nranks, rondeUniqueId id, int rank, rondeConfig_t* config) {
  (void)config;
  return rondeCommInitRank(comm, nranks, id, rank);
}
static rondeResult_t make_config(rondeComm_t* comm, int nranks, rondeUniqueId id, int rank, rondeConfig_t* config) {
  return rondeCommInitRankConfig(comm, nranks, id, rank, config);
}
static rondeResult_t make_scalable(rondeComm_t* comm, int nranks, rondeUniqueId id, int rank, rondeConfig_t* config) {
  return rondeCommInitRankScalable(comm, nranks, rank, 1, &id, config);
}

static const Maker kMakers[] = {{"rondeCommInitRank", make_plain, 0},
                                {"rondeCommInitRankConfig", make_config, 1},
                                {"rondeCommInitRankScalable", make_scalable, 1}};
enum { kMakersNumber = 3 };

/* *comm stays as it is where the start fails. */
static void make(const Maker* maker, int nranks, rondeUniqueId id, int rank, rondeConfig_t* config,
                 rondeResult_t result, const char* text) {
  rondeComm_t const before = (rondeComm_t)(void*)&kMakers;
  rondeComm_t comm = before;
  observe(__FILE__, __LINE__, maker->function, result, maker->make(&comm, nranks, id, rank, config), text);
  NEED(comm == before);
}

static rondeUniqueId new_id(void) {
  rondeUniqueId id;
  MEET(rondeSuccess, rondeGetUniqueId, (&id));
  return id;
}

static void test_arguments(const Maker* maker) {
  rondeUniqueId id = new_id(), none;
  rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
  memset(&none, 0, sizeof none);
  observe(__FILE__, __LINE__, maker->function, rondeInvalidArgument, maker->make(NULL, 1, id, 0, NULL), NULL);
  make(maker, 0, id, 0, NULL, rondeInvalidArgument, NULL);
  make(maker, 2, id, 2, NULL, rondeInvalidArgument, NULL);
  make(maker, 2, id, -1, NULL, rondeInvalidArgument, NULL);
  make(maker, 1, none, 0, NULL, rondeInvalidArgument, NULL);
  NEED(setenv("RONDE_ALGO", "best", 1) == 0);
  make(maker, 1, id, 0, NULL, rondeInvalidUsage, "RONDE_ALGO='best'");
  NEED(unsetenv("RONDE_ALGO") == 0);
  if (!maker->has_config) return;
  config.magic = 0;
  make(maker, 1, id, 0, &config, rondeInvalidArgument, NULL);
  config.magic = RONDE_CONFIG_MAGIC;
  config.device = 3;
  make(maker, 1, id, 0, &config, rondeInvalidArgument, NULL);
  config.device = RONDE_DEVICE_HOST;
  config.blocking = 2;
  make(maker, 1, id, 0, &config, rondeInvalidArgument, NULL);
}

/* ---- Starts that fail because of others ------------------------------------------------------------------------- */

typedef struct {
  const Maker* maker;
  int nranks;
  rondeUniqueId id;
  int rank;
  rondeResult_t result;
  const char* text;
} Start;

static void* run_start(void* user) {
  const Start* start = user;
  make(start->maker, start->nranks, start->id, start->rank, NULL, start->result, start->text);
  return NULL;
}

static void test_rank_taken_twice(const Maker* maker) {
  Start starts[2] = {{maker, 3, new_id(), 1, rondeInvalidUsage, "rank 1"}};
  starts[1] = starts[0];
  pthread_t other = start_thread(run_start, &starts[1]);
  /* The first one waits, and is told as the second one comes: both are in the wrong. */
  run_start(&starts[0]);
  join_thread(other);
}

static void test_different_numbers(const Maker* maker) {
  const rondeUniqueId id = new_id();
  Start starts[2] = {{maker, 2, id, 0, rondeInvalidUsage, "as one of 3"},
                     {maker, 3, id, 1, rondeInvalidUsage, "as one of 3"}};
  pthread_t other = start_thread(run_start, &starts[1]);
  run_start(&starts[0]);
  join_thread(other);
}

/* The process that made the id has ended. */
static void test_nobody_there(const Maker* maker) {
  char text[RONDE_UNIQUE_ID_TEXT_BYTES];
  rondeUniqueId id;
  Helper helper = start_helper("makes_id", NULL, 0);
  read_line(&helper, text, sizeof text);
  end_helper(&helper, 0);
  MEET(rondeSuccess, rondeUniqueIdFromText, (text, &id));
  make(maker, 2, id, 1, NULL, rondePeerUnreachable, NULL);
}

/* Another rank aborts while the third one is awaited. */
static void test_other_gives_up(const Maker* maker) {
  rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
  rondeComm_t other = NULL;
  Start start = {maker, 3, new_id(), 0, rondeRemoteError, "rank 1"};
  config.blocking = 0;
  const Maker* with_config = &kMakers[maker->has_config ? maker - kMakers : 1];
  observe(__FILE__, __LINE__, with_config->function, rondeInProgress,
          with_config->make(&other, 3, start.id, 1, &config), NULL);
  pthread_t thread = start_thread(run_start, &start);
  sleep_ms(50);
  MEET(rondeSuccess, rondeCommAbort, (other));
  join_thread(thread);
  MEET(rondeSuccess, rondeCommDestroy, (other));
}

static void test_other_dies(const Maker* maker) {
  const rondeUniqueId id = new_id();
  Helper helper = start_helper("dies_as_it_starts", &id, 1);
  make(maker, 2, id, 0, NULL, rondePeerLost, "rank 1");
  end_helper(&helper, 9);
}

static void test_other_never_comes(void) {
  Start starts[kMakersNumber];
  pthread_t threads[kMakersNumber];
  NEED(setenv("RONDE_INIT_TIMEOUT", "1", 1) == 0);
  for (int i = 0; i < kMakersNumber; ++i) {
    starts[i] = (Start){&kMakers[i], 2, new_id(), 0, rondeTimedOut, "rank 1"};
    threads[i] = start_thread(run_start, &starts[i]);
  }
  for (int i = 0; i < kMakersNumber; ++i) join_thread(threads[i]);
  NEED(unsetenv("RONDE_INIT_TIMEOUT") == 0);
}

static void test_no_files(const Maker* maker) {
  const rondeUniqueId id = new_id();
  const int number = forbid_new_files();
  make(maker, 2, id, 0, NULL, rondeSystemError, "open files");
  allow_files(number);
}

/* ---- Several ids, fields of the config, groups ----------------------------------------------------------------- */

static void test_several_ids(void) {
  rondeUniqueId ids[2] = {new_id(), new_id()};
  rondeComm_t comms[2];
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommInitRankScalable, (&comms[0], 2, 0, 0, ids, NULL), comms);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommInitRankScalable, (&comms[0], 2, 0, 3, ids, NULL), comms);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommInitRankScalable, (&comms[0], 2, 0, 2, NULL, NULL), comms);
  MEET(rondeSuccess, rondeGroupStart, ());
  for (int rank = 0; rank < 2; ++rank)
    MEET(rondeSuccess, rondeCommInitRankScalable, (&comms[rank], 2, rank, 2, ids, NULL));
  MEET(rondeSuccess, rondeGroupEnd, ());
  for (int rank = 0; rank < 2; ++rank) MEET(rondeSuccess, rondeCommDestroy, (comms[rank]));
  memset(&ids[1], 0, sizeof ids[1]);
  MEET_TEXT(rondeInvalidArgument, rondeCommInitRankScalable, (&comms[0], 2, 0, 2, ids, NULL), "ids[1]");
}

static void refuse_field(rondeConfig_t config, const char* text) {
  make(&kMakers[1], 1, new_id(), 0, &config, rondeInvalidUsage, text);
}

/* Each field that stands for a setting has its limits; a program that does not know the newer ones does without. */
static void test_fields(void) {
  const rondeConfig_t unset = RONDE_CONFIG_INITIALIZER;
  rondeConfig_t config = unset;
  rondeComm_t comm = NULL;
  config.initTimeoutSeconds = 0;
  refuse_field(config, "config.initTimeoutSeconds: RONDE_INIT_TIMEOUT='0'");
  config = unset;
  config.algorithm = "best";
  refuse_field(config, "rondeCommInitRankConfig: config.algorithm: RONDE_ALGO='best'");
  config = unset;
  config.transport = "pigeon";
  refuse_field(config, "config.transport: RONDE_TRANSPORT='pigeon'");
  config = unset;
  config.lateWarningSeconds = -1;
  refuse_field(config, "config.lateWarningSeconds: RONDE_LATE_WARNING='-1'");
  config = unset;
  config.lateTimeoutSeconds = 86401;
  refuse_field(config, "config.lateTimeoutSeconds: RONDE_LATE_TIMEOUT='86401'");
  config = unset;
  config.silentTimeoutSeconds = 4;
  refuse_field(config, "config.silentTimeoutSeconds: RONDE_SILENT_TIMEOUT='4'");
  config = unset;
  config.socketFamily = "ipx";
  refuse_field(config, "config.socketFamily: RONDE_SOCKET_FAMILY='ipx'");
  config = unset;
  config.tcpConnections = 17;
  refuse_field(config, "config.tcpConnections: RONDE_TCP_CONNECTIONS='17'");
  config = unset;
  config.accumulate = "float64";
  refuse_field(config, "config.accumulate: RONDE_ACCUMULATE='float64'");
  config = unset;
  config.spin = "sometimes";
  refuse_field(config, "config.spin: RONDE_SPIN='sometimes'");
  config = unset;
  config.shmLimitBytes = -3000000000;
  refuse_field(config, "config.shmLimitBytes: RONDE_SHM_LIMIT='-3000000000'");
  config.size = offsetof(rondeConfig_t, lateWarningSeconds);
  MEET(rondeSuccess, rondeCommInitRankConfig, (&comm, 1, new_id(), 0, &config));
  MEET(rondeSuccess, rondeCommDestroy, (comm));

  config = unset;
  config.commName = "alone";
  config.algorithm = "ring";
  config.lateWarningSeconds = 0;
  config.lateTimeoutSeconds = 0;
  config.silentTimeoutSeconds = 5;
  config.socketInterfaces = "lo";
  config.socketFamily = "any";
  config.tcpConnections = 16;
  config.accumulate = "float32";
  config.spin = "off";
  config.shmLimitBytes = 1LL << 40;
  MEET(rondeSuccess, rondeCommInitRankConfig, (&comm, 1, new_id(), 0, &config));
  MEET(rondeSuccess, rondeCommDestroy, (comm));
}

/* What is made in a group is made as a whole. */
static void test_groups(void) {
  rondeComm_t alone = NULL, pair[2] = {NULL, NULL};
  const rondeUniqueId id = new_id();
  MEET(rondeSuccess, rondeGroupStart, ());
  MEET(rondeSuccess, rondeCommInitRank, (&alone, 1, new_id(), 0));
  MEET(rondeSuccess, rondeCommInitRank, (&pair[0], 2, id, 1));
  MEET(rondeSuccess, rondeCommInitRank, (&pair[1], 2, id, 1));
  MEET_TEXT(rondeInvalidUsage, rondeGroupEnd, (), "rank 1");
  NEED(alone == NULL && pair[0] == NULL && pair[1] == NULL);

  const rondeUniqueId again = new_id();
  MEET(rondeSuccess, rondeGroupStart, ());
  MEET(rondeSuccess, rondeCommInitRank, (&pair[0], 2, again, 0));
  MEET(rondeSuccess, rondeCommInitRankConfig, (&pair[1], 2, again, 1, NULL));
  MEET(rondeSuccess, rondeGroupEnd, ());
  for (int rank = 0; rank < 2; ++rank) MEET(rondeSuccess, rondeCommDestroy, (pair[rank]));
}

static void test_all_at_a_time(void) {
  enum { kRanks = 3 };
  rondeComm_t comms[kRanks];
  const int devices[kRanks] = {RONDE_DEVICE_HOST, RONDE_DEVICE_HOST, RONDE_DEVICE_HOST};
  const int wrong[kRanks] = {RONDE_DEVICE_HOST, 0, RONDE_DEVICE_HOST};
  memset(comms, 0, sizeof comms);
  MEET(rondeInvalidArgument, rondeCommInitAll, (NULL, kRanks, NULL));
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommInitAll, (comms, 0, NULL), comms);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommInitAll, (comms, kRanks, wrong), comms);
  NEED(setenv("RONDE_ALGO", "best", 1) == 0);
  MEET_UNTOUCHED(rondeInvalidUsage, rondeCommInitAll, (comms, kRanks, NULL), comms);
  NEED(unsetenv("RONDE_ALGO") == 0);
  MEET(rondeSuccess, rondeCommInitAll, (comms, kRanks, devices));
  for (int rank = 0; rank < kRanks; ++rank) MEET(rondeSuccess, rondeCommDestroy, (comms[rank]));
}

void part_starts(void) {
  for (int i = 0; i < kMakersNumber; ++i) {
    const Maker* maker = &kMakers[i];
    test_arguments(maker);
    test_rank_taken_twice(maker);
    test_different_numbers(maker);
    test_nobody_there(maker);
    test_other_gives_up(maker);
    test_other_dies(maker);
    test_no_files(maker);
  }
  test_other_never_comes();
  test_several_ids();
  test_fields();
  test_groups();
  test_all_at_a_time();
}

/* ---- Helpers ---------------------------------------------------------------------------------------------------- */

void helper_makes_id(int rank) {
  char text[RONDE_UNIQUE_ID_TEXT_BYTES];
  const rondeUniqueId id = new_id();
  (void)rank;
  MEET(rondeSuccess, rondeUniqueIdToText, (&id, text));
  say(text);
}

/* Ends the process in the middle of a start: it then has joined, and the others wait for what it is to tell. */
void end_in_the_middle(rondeLogLevel_t level, const char* message, void* user) {
  (void)level;
  (void)user;
  if (strstr(message, "tells what it is") != NULL) _exit(9);
}

void helper_dies_as_it_starts(int rank) {
  rondeComm_t comm = NULL;
  MEET(rondeSuccess, rondeSetLogCallback, (end_in_the_middle, NULL));
  MEET(rondeSuccess, rondeSetLogLevel, (rondeLogTrace));
  rondeCommInitRank(&comm, rank + 1, read_id(), rank);
}
