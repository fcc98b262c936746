/* Every function of ronde.h from C11, in one thread: two ranks of one process, driven in groups. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/need.h"
#include "ronde/ronde.h"

/* api_c_streams.c */
void test_streams(void);
void count_call(rondeResult_t status, void* user);

enum { kRanks = 2, kCount = 1000 };

static int messages = 0;

static void on_message(rondeLogLevel_t level, const char* message, void* user) {
  (void)level;
  (void)message;
  ++*(int*)user;
}

static void test_without_communicator(void) {
  int version = 0;
  NEED(rondeGetVersion(&version) == rondeSuccess && version == RONDE_VERSION_CODE);
  NEED(rondeGetVersion(NULL) == rondeInvalidArgument);
  NEED(strstr(rondeGetLastError(NULL), "version") != NULL);
  NEED(strcmp(rondeGetErrorString(rondeSuccess), "success") == 0);
  NEED(strcmp(rondeGetErrorString((rondeResult_t)77), "unknown result") == 0);
  NEED(rondeSetLogLevel(rondeLogWarn) == rondeSuccess);
  NEED(rondeSetLogLevel((rondeLogLevel_t)9) == rondeInvalidArgument);
  NEED(rondeSetLogCallback(on_message, &messages) == rondeSuccess);

  rondeUniqueId id;
  rondeUniqueId again;
  char text[RONDE_UNIQUE_ID_TEXT_BYTES];
  NEED(rondeGetUniqueId(&id) == rondeSuccess);
  NEED(rondeUniqueIdToText(&id, text) == rondeSuccess);
  NEED(strlen(text) + 1 == RONDE_UNIQUE_ID_TEXT_BYTES && strncmp(text, "ronde1:", 7) == 0);
  NEED(rondeUniqueIdFromText(text, &again) == rondeSuccess && memcmp(&id, &again, sizeof id) == 0);
  NEED(rondeUniqueIdFromText("ronde1:xyz", &again) == rondeInvalidArgument);
  NEED(rondeUniqueIdFromText(NULL, &again) == rondeInvalidArgument);
  NEED(rondeGetUniqueId(NULL) == rondeInvalidArgument);

  rondeWorld_t world;
  memset(&world, 0, sizeof world);
  NEED(rondeGetWorldFromEnv(&world, &id) == rondeInvalidArgument); /* size not set */
  world.size = sizeof world;
  NEED(rondeGetWorldFromEnv(&world, &id) == rondeSuccess && world.nranks == 1 && world.rank == 0);
}

static void test_one_rank(void) {
  rondeUniqueId id;
  rondeComm_t comm = RONDE_COMM_NULL;
  rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
  config.commName = "alone";
  NEED(rondeGetUniqueId(&id) == rondeSuccess);
  NEED(rondeCommInitRank(&comm, 1, id, 1) == rondeInvalidArgument);
  NEED(rondeCommInitRank(&comm, 0, id, 0) == rondeInvalidArgument);
  NEED(rondeCommInitRank(NULL, 1, id, 0) == rondeInvalidArgument);
  config.device = 3;
  NEED(rondeCommInitRankConfig(&comm, 1, id, 0, &config) == rondeInvalidArgument);
  NEED(strstr(rondeGetLastError(NULL), "rondeCommInitRankConfig: config.device is 3") != NULL);
  config.device = RONDE_DEVICE_HOST;
  config.magic = 0;
  NEED(rondeCommInitRankConfig(&comm, 1, id, 0, &config) == rondeInvalidArgument);
  NEED(strstr(rondeGetLastError(NULL), "rondeCommInitRankConfig: the config") != NULL);
  config.magic = RONDE_CONFIG_MAGIC;
  config.algorithm = "best";
  NEED(rondeCommInitRankConfig(&comm, 1, id, 0, &config) == rondeInvalidUsage);
  NEED(strstr(rondeGetLastError(NULL), "rondeCommInitRankConfig: config.algorithm: RONDE_ALGO='best'") != NULL);
  config.algorithm = "ring";
  NEED(rondeCommInitRankConfig(&comm, 1, id, 0, &config) == rondeSuccess);
  double in = 5;
  double out = 0;
  NEED(rondeAllReduce(&in, &out, 1, rondeDouble, rondeAvg, comm, NULL) == rondeSuccess && out == 5);
  NEED(rondeAllReduce(&in, &out, 1, rondeDouble, rondeBitXor, comm, NULL) == rondeInvalidArgument);
  NEED(strstr(rondeGetLastError(NULL), "rondeAllReduce: bit_xor is for integer types, not for float64") != NULL);
  NEED(rondeAllReduce(&in, &out, 1, rondeUint64, rondeBitXor, comm, NULL) == rondeSuccess && out == 5);
  NEED(rondeCommFinalize(comm) == rondeSuccess);
  NEED(rondeAllReduce(&in, &out, 1, rondeDouble, rondeAvg, comm, NULL) == rondeInvalidUsage);
  NEED(rondeCommDestroy(comm) == rondeSuccess);
  NEED(rondeCommDestroy(NULL) == rondeSuccess);
}

static void reduce_in_group(rondeComm_t* comms, rondeStream_t* streams, float input[kRanks][kCount],
                            float output[kRanks][kCount]) {
  NEED(rondeGroupStart() == rondeSuccess);
  for (int rank = 0; rank < kRanks; ++rank) {
    NEED(rondeAllReduce(input[rank], output[rank], kCount, rondeFloat, rondeSum, comms[rank],
                        streams != NULL ? streams[rank] : NULL) == rondeSuccess);
  }
  NEED(rondeGroupEnd() == rondeSuccess);
  for (int rank = 0; streams != NULL && rank < kRanks; ++rank) {
    NEED(rondeStreamSynchronize(streams[rank]) == rondeSuccess);
    NEED(rondeStreamQuery(streams[rank]) == rondeSuccess);
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    for (int i = 0; i < kCount; ++i) NEED(output[rank][i] == (float)(3 * i));
  }
}

static void test_wrong_arguments(rondeComm_t comm, float* buffer) {
  NEED(rondeAllReduce(buffer, buffer + 1, 10, rondeFloat, rondeSum, comm, NULL) == rondeInvalidArgument);
  NEED(rondeAllReduce(NULL, buffer, 10, rondeFloat, rondeSum, comm, NULL) == rondeInvalidArgument);
  NEED(rondeAllReduce(buffer, NULL, 10, rondeFloat, rondeSum, comm, NULL) == rondeInvalidArgument);
  NEED(rondeAllReduce(buffer, buffer, 10, (rondeDataType_t)12, rondeSum, comm, NULL) == rondeInvalidArgument);
  NEED(rondeAllReduce(buffer, buffer, 10, rondeFloat, (rondeRedOp_t)5, comm, NULL) == rondeInvalidArgument);
  NEED(rondeAllReduce(buffer, buffer, (size_t)-1, rondeFloat, rondeSum, comm, NULL) == rondeInvalidArgument);
  NEED(rondeAllReduce(buffer, buffer, 10, rondeFloat, rondeSum, NULL, NULL) == rondeInvalidArgument);
  NEED(rondeGroupEnd() == rondeInvalidUsage);
  NEED(rondeGroupStart() == rondeSuccess);
  NEED(rondeAllReduce(buffer, buffer + 1, 10, rondeFloat, rondeSum, comm, NULL) == rondeInvalidArgument);
  NEED(rondeGroupEnd() == rondeInvalidArgument); /* nothing of the group was started */
}

/* What an open group names must live until its end. */
static void test_lives_in_group(rondeComm_t* comms, rondeStream_t stream, float* buffer) {
  NEED(rondeGroupStart() == rondeSuccess);
  NEED(rondeAllReduce(buffer, buffer, 1, rondeFloat, rondeSum, comms[0], stream) == rondeSuccess);
  NEED(rondeAllReduce(buffer + 1, buffer + 1, 1, rondeFloat, rondeSum, comms[1], NULL) == rondeSuccess);
  NEED(rondeCommDestroy(comms[0]) == rondeInvalidUsage);
  NEED(rondeCommFinalize(comms[1]) == rondeInvalidUsage);
  NEED(rondeStreamDestroy(stream) == rondeInvalidUsage);
  NEED(strstr(rondeGetLastError(NULL), "rondeGroupEnd") != NULL);
  NEED(rondeGroupEnd() == rondeSuccess);
  NEED(rondeStreamSynchronize(stream) == rondeSuccess);
}

/* What is made in a group is made as a whole. */
static void test_made_in_group(void) {
  rondeUniqueId one, two;
  rondeComm_t alone = NULL, pair[2] = {NULL, NULL};
  NEED(rondeGetUniqueId(&one) == rondeSuccess && rondeGetUniqueId(&two) == rondeSuccess);
  NEED(rondeGroupStart() == rondeSuccess);
  NEED(rondeCommInitRank(&alone, 1, one, 0) == rondeSuccess);
  NEED(rondeCommInitRank(&pair[0], 2, two, 1) == rondeSuccess);
  NEED(rondeCommInitRank(&pair[1], 2, two, 1) == rondeSuccess);
  NEED(rondeGroupEnd() == rondeInvalidUsage); /* rank 1 is taken twice */
  NEED(alone == NULL && pair[0] == NULL && pair[1] == NULL);

  NEED(rondeGetUniqueId(&one) == rondeSuccess);
  NEED(rondeCommInitRank(&alone, 1, one, 0) == rondeSuccess);
  rondeComm_t next = NULL;
  NEED(rondeGroupStart() == rondeSuccess);
  NEED(rondeCommShrink(alone, NULL, 0, &next, NULL, RONDE_SHRINK_DEFAULT) == rondeSuccess);
  NEED(next == NULL);
  NEED(rondeCommDestroy(alone) == rondeInvalidUsage);
  NEED(rondeGroupEnd() == rondeSuccess);
  NEED(next != NULL);
  NEED(rondeCommDestroy(next) == rondeSuccess);
  NEED(rondeCommFinalize(alone) == rondeSuccess);
  NEED(rondeCommRevoke(alone, RONDE_REVOKE_DEFAULT) == rondeInvalidUsage);
  NEED(rondeCommDestroy(alone) == rondeSuccess);
}

/* To be in progress is no error: the text of the one before stays. */
static void test_query_keeps_last_error(rondeStream_t stream, rondeComm_t* comms, float* buffer) {
  NEED(rondeAllReduce(NULL, buffer, 1, rondeFloat, rondeSum, comms[0], stream) == rondeInvalidArgument);
  NEED(rondeAllReduce(buffer, buffer, 1, rondeFloat, rondeSum, comms[0], stream) == rondeSuccess);
  NEED(rondeStreamQuery(stream) == rondeInProgress); /* the other rank has not called */
  NEED(strstr(rondeGetLastError(NULL), "sendbuff") != NULL);
  NEED(rondeAllReduce(buffer + 1, buffer + 1, 1, rondeFloat, rondeSum, comms[1], NULL) == rondeSuccess);
  NEED(rondeStreamSynchronize(stream) == rondeSuccess);
}

static void test_questions(rondeComm_t comm) {
  int value = -1;
  NEED(rondeCommCount(comm, &value) == rondeSuccess && value == kRanks);
  NEED(rondeCommUserRank(comm, &value) == rondeSuccess && value == 0);
  NEED(rondeCommDevice(comm, &value) == rondeSuccess && value == RONDE_DEVICE_HOST);
  rondeResult_t error = rondeInternalError;
  NEED(rondeCommGetAsyncError(comm, &error) == rondeSuccess && error == rondeSuccess);
  NEED(rondeCommGetFailedRanks(comm, NULL, 0, &value) == rondeSuccess && value == 0);
  NEED(rondeCommGetFailedRanks(comm, NULL, 1, &value) == rondeInvalidArgument);
  NEED(rondeCommGetFailedRanks(comm, &value, -1, &value) == rondeInvalidArgument);
  NEED(rondeCommGetFailedRanks(comm, NULL, 0, NULL) == rondeInvalidArgument);
  rondeTraffic_t traffic[4];
  memset(traffic, 0, sizeof traffic);
  for (int i = 0; i < 4; ++i) traffic[i].size = sizeof traffic[i];
  NEED(rondeCommGetTraffic(comm, traffic, 4, &value) == rondeSuccess && value == 1);
  NEED(strcmp(traffic[0].transport, "inproc") == 0 && traffic[0].sent_bytes > 0);
  NEED(rondeCommGetTraffic(comm, NULL, 0, &value) == rondeSuccess && value == 0);
}

static uint64_t stat_of(rondeComm_t comm, rondeCommMemStat_t stat) {
  uint64_t value = 0;
  NEED(rondeCommMemStats(comm, stat, &value) == rondeSuccess);
  return value;
}

static void test_memory(rondeComm_t comm) {
  uint64_t value = 7;
  NEED(rondeCommMemStats(NULL, rondeStatHostMemTotal, &value) == rondeInvalidArgument);
  NEED(rondeCommMemStats(comm, rondeStatHostMemTotal, NULL) == rondeInvalidArgument);
  NEED(rondeCommMemStats(comm, (rondeCommMemStat_t)77, &value) == rondeInvalidArgument && value == 7);
  NEED(stat_of(comm, rondeStatGpuMemTotal) == 0);
  const uint64_t touched = stat_of(comm, rondeStatHostMemTouched);
  NEED(touched > 0 && touched <= stat_of(comm, rondeStatHostMemSegment));
  NEED(stat_of(comm, rondeStatHostMemWires) == 0);
  NEED(stat_of(comm, rondeStatHostMemTotal) == touched + stat_of(comm, rondeStatHostMemPacking));
  (void)stat_of(comm, rondeStatProcessSharedMem);
}

static void test_two_ranks(void) {
  static float input[kRanks][kCount];
  static float output[kRanks][kCount];
  rondeComm_t comms[kRanks];
  rondeStream_t streams[kRanks];
  const int devices[kRanks] = {RONDE_DEVICE_HOST, RONDE_DEVICE_HOST};
  const int wrong[kRanks] = {RONDE_DEVICE_HOST, 0};
  for (int rank = 0; rank < kRanks; ++rank) {
    for (int i = 0; i < kCount; ++i) input[rank][i] = (float)((rank + 1) * i);
    NEED(rondeStreamCreate(&streams[rank]) == rondeSuccess);
  }
  NEED(rondeCommInitAll(comms, kRanks, wrong) == rondeInvalidArgument);
  NEED(rondeCommInitAll(comms, kRanks, devices) == rondeSuccess);
  reduce_in_group(comms, NULL, input, output);
  memset(output, 0, sizeof output);
  reduce_in_group(comms, streams, input, output);
  test_wrong_arguments(comms[0], input[0]);
  test_questions(comms[0]);
  test_memory(comms[0]);
  test_lives_in_group(comms, streams[0], output[0]);
  test_query_keeps_last_error(streams[0], comms, output[0]);
  reduce_in_group(comms, NULL, input, output);
  for (int rank = 0; rank < kRanks; ++rank) {
    NEED(rondeCommDestroy(comms[rank]) == rondeSuccess);
    NEED(rondeStreamDestroy(streams[rank]) == rondeSuccess);
  }
  NEED(rondeStreamDestroy(NULL) == rondeSuccess);
}

/* One thread that makes all ranks puts the calls into a group. */
static void test_group_init_and_abort(void) {
  rondeUniqueId id;
  rondeComm_t comms[kRanks];
  rondeResult_t error = rondeSuccess;
  float value = 1;
  NEED(rondeGetUniqueId(&id) == rondeSuccess);
  NEED(rondeGroupStart() == rondeSuccess);
  for (int rank = 0; rank < kRanks; ++rank) NEED(rondeCommInitRank(&comms[rank], kRanks, id, rank) == rondeSuccess);
  NEED(rondeGroupEnd() == rondeSuccess);
  NEED(rondeCommRevoke(comms[0], 7) == rondeInvalidArgument);
  NEED(rondeCommAbort(comms[0]) == rondeSuccess);
  NEED(rondeCommRevoke(comms[0], RONDE_REVOKE_DEFAULT) == rondeSuccess);
  NEED(rondeCommGetAsyncError(comms[0], &error) == rondeSuccess && error == rondeAborted);
  NEED(rondeAllReduce(&value, &value, 1, rondeFloat, rondeSum, comms[0], NULL) == rondeAborted);
  NEED(rondeAllReduce(&value, &value, 1, rondeFloat, rondeSum, comms[1], NULL) == rondeRemoteError);
  NEED(strstr(rondeGetLastError(comms[1]), "rank 0") != NULL);
  for (int rank = 0; rank < kRanks; ++rank) NEED(rondeCommDestroy(comms[rank]) == rondeSuccess);
}

/* Who goes on without a rank, or after an error; the communicator before stays as it is. */
static void test_shrink(void) {
  rondeComm_t comms[kRanks];
  rondeComm_t next[kRanks];
  rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
  rondeResult_t error = rondeInProgress;
  const int other = 1;
  const int none = kRanks;
  int count = 0;
  float value = 4;
  NEED(rondeCommInitAll(comms, kRanks, NULL) == rondeSuccess);
  NEED(rondeCommShrink(NULL, NULL, 0, &next[0], NULL, RONDE_SHRINK_DEFAULT) == rondeInvalidArgument);
  NEED(rondeCommShrink(comms[0], NULL, 0, NULL, NULL, RONDE_SHRINK_DEFAULT) == rondeInvalidArgument);
  NEED(rondeCommShrink(comms[0], NULL, 1, &next[0], NULL, RONDE_SHRINK_DEFAULT) == rondeInvalidArgument);
  NEED(rondeCommShrink(comms[0], &other, -1, &next[0], NULL, RONDE_SHRINK_DEFAULT) == rondeInvalidArgument);
  NEED(rondeCommShrink(comms[0], &none, 1, &next[0], NULL, RONDE_SHRINK_DEFAULT) == rondeInvalidArgument);
  NEED(rondeCommShrink(comms[1], &other, 1, &next[0], NULL, RONDE_SHRINK_DEFAULT) == rondeInvalidArgument);
  NEED(strstr(rondeGetLastError(NULL), "rank 1") != NULL);
  NEED(rondeCommShrink(comms[0], &other, 1, &next[0], NULL, 2) == rondeInvalidArgument);

  NEED(rondeCommRevoke(comms[0], RONDE_REVOKE_DEFAULT) == rondeSuccess);
  NEED(rondeGroupStart() == rondeSuccess);
  for (int rank = 0; rank < kRanks; ++rank)
    NEED(rondeCommShrink(comms[rank], NULL, 0, &next[rank], NULL, RONDE_SHRINK_DEFAULT) == rondeSuccess);
  NEED(rondeGroupEnd() == rondeSuccess);
  float input[kRanks][kCount];
  float output[kRanks][kCount];
  for (int rank = 0; rank < kRanks; ++rank) {
    for (int i = 0; i < kCount; ++i) input[rank][i] = (float)((rank + 1) * i);
  }
  reduce_in_group(next, NULL, input, output);
  for (int rank = 0; rank < kRanks; ++rank) NEED(rondeCommDestroy(comms[rank]) == rondeSuccess);

  config.blocking = 0;
  config.commName = "alone";
  NEED(rondeCommShrink(next[0], &other, 1, &comms[0], &config, RONDE_SHRINK_ABORT) == rondeInProgress);
  while (error == rondeInProgress) NEED(rondeCommGetAsyncError(comms[0], &error) == rondeSuccess);
  NEED(error == rondeSuccess && rondeCommCount(comms[0], &count) == rondeSuccess && count == 1);
  NEED(rondeAllReduce(&value, &value, 1, rondeFloat, rondeSum, comms[0], NULL) == rondeSuccess && value == 4);
  NEED(rondeAllReduce(&value, &value, 1, rondeFloat, rondeSum, next[0], NULL) == rondeRevoked);
  NEED(rondeCommFinalize(next[0]) == rondeRevoked);
  NEED(rondeCommShrink(next[0], &other, 1, &comms[1], NULL, RONDE_SHRINK_DEFAULT) == rondeInvalidUsage);
  NEED(rondeCommDestroy(comms[0]) == rondeSuccess);
  for (int rank = 0; rank < kRanks; ++rank) NEED(rondeCommDestroy(next[rank]) == rondeSuccess);
}

static void refused_field(rondeUniqueId id, rondeConfig_t config, const char* text) {
  rondeComm_t comm = NULL;
  NEED(rondeCommInitRankConfig(&comm, 1, id, 0, &config) == rondeInvalidUsage);
  if (strstr(rondeGetLastError(NULL), text) == NULL) fprintf(stderr, "no '%s'\n", text);
  NEED(strstr(rondeGetLastError(NULL), text) != NULL);
}

/* Each field that stands for a setting has its limits; a program that does not know the newer ones goes without them. */
static void test_config_fields(void) {
  rondeUniqueId id;
  rondeComm_t comm = NULL;
  const rondeConfig_t unset = RONDE_CONFIG_INITIALIZER;
  rondeConfig_t config = unset;
  NEED(rondeGetUniqueId(&id) == rondeSuccess);
  config.initTimeoutSeconds = 0;
  refused_field(id, config, "config.initTimeoutSeconds: RONDE_INIT_TIMEOUT='0'");
  config = unset;
  config.lateWarningSeconds = -1;
  refused_field(id, config, "config.lateWarningSeconds: RONDE_LATE_WARNING='-1'");
  config = unset;
  config.lateTimeoutSeconds = 86401;
  refused_field(id, config, "config.lateTimeoutSeconds: RONDE_LATE_TIMEOUT='86401'");
  config = unset;
  config.silentTimeoutSeconds = 4;
  refused_field(id, config, "config.silentTimeoutSeconds: RONDE_SILENT_TIMEOUT='4'");
  config = unset;
  config.socketFamily = "ipx";
  refused_field(id, config, "config.socketFamily: RONDE_SOCKET_FAMILY='ipx'");
  config = unset;
  config.tcpConnections = 17;
  refused_field(id, config, "config.tcpConnections: RONDE_TCP_CONNECTIONS='17'");
  config = unset;
  config.accumulate = "float64";
  refused_field(id, config, "config.accumulate: RONDE_ACCUMULATE='float64'");
  config = unset;
  config.shmLimitBytes = -3000000000;
  refused_field(id, config, "config.shmLimitBytes: RONDE_SHM_LIMIT='-3000000000'");

  config.size = offsetof(rondeConfig_t, lateWarningSeconds);
  NEED(rondeCommInitRankConfig(&comm, 1, id, 0, &config) == rondeSuccess);
  NEED(rondeCommDestroy(comm) == rondeSuccess);
  config = unset;
  config.lateWarningSeconds = 0;
  config.lateTimeoutSeconds = 0;
  config.silentTimeoutSeconds = 5;
  config.socketInterfaces = "lo";
  config.socketFamily = "any";
  config.tcpConnections = 16;
  config.accumulate = "float32";
  config.spin = "off";
  config.shmLimitBytes = 1LL << 40;
  NEED(rondeGetUniqueId(&id) == rondeSuccess);
  NEED(rondeCommInitRankConfig(&comm, 1, id, 0, &config) == rondeSuccess);
  NEED(rondeCommDestroy(comm) == rondeSuccess);
}

static void test_several_ids(void) {
  rondeUniqueId ids[2];
  rondeComm_t comms[kRanks];
  NEED(rondeGetUniqueId(&ids[0]) == rondeSuccess && rondeGetUniqueId(&ids[1]) == rondeSuccess);
  NEED(rondeCommInitRankScalable(NULL, kRanks, 0, 2, ids, NULL) == rondeInvalidArgument);
  NEED(rondeCommInitRankScalable(&comms[0], kRanks, 0, 0, ids, NULL) == rondeInvalidArgument);
  NEED(rondeCommInitRankScalable(&comms[0], kRanks, 0, 3, ids, NULL) == rondeInvalidArgument);
  NEED(rondeCommInitRankScalable(&comms[0], kRanks, 0, 2, NULL, NULL) == rondeInvalidArgument);
  NEED(rondeCommInitRankScalable(&comms[0], kRanks, 2, 2, ids, NULL) == rondeInvalidArgument);
  NEED(rondeGroupStart() == rondeSuccess);
  for (int rank = 0; rank < kRanks; ++rank)
    NEED(rondeCommInitRankScalable(&comms[rank], kRanks, rank, 2, ids, NULL) == rondeSuccess);
  NEED(rondeGroupEnd() == rondeSuccess);
  for (int rank = 0; rank < kRanks; ++rank) NEED(rondeCommDestroy(comms[rank]) == rondeSuccess);
  memset(&ids[1], 0, sizeof ids[1]);
  NEED(rondeCommInitRankScalable(&comms[0], kRanks, 0, 2, ids, NULL) == rondeInvalidArgument);
  NEED(strstr(rondeGetLastError(NULL), "ids[1]") != NULL);
}

/* Parts, a copy and a greater one of a communicator, in groups of one thread. */
static void test_children(void) {
  rondeComm_t comms[kRanks], alone[kRanks], copies[kRanks], grown[kRanks + 1], none = NULL;
  rondeUniqueId id, other;
  rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
  int value = 0;
  NEED(rondeCommInitAll(comms, kRanks, NULL) == rondeSuccess);
  NEED(rondeCommSplit(NULL, 0, 0, &none, NULL) == rondeInvalidArgument);
  NEED(rondeCommSplit(comms[0], 0, 0, NULL, NULL) == rondeInvalidArgument);
  NEED(rondeCommSplit(comms[0], -2, 0, &none, NULL) == rondeInvalidArgument);
  NEED(strstr(rondeGetLastError(NULL), "color is -2") != NULL);
  NEED(rondeCommDup(NULL, &none, NULL) == rondeInvalidArgument);
  NEED(rondeCommDup(comms[0], NULL, NULL) == rondeInvalidArgument);
  config.magic = 0;
  NEED(rondeCommDup(comms[0], &none, &config) == rondeInvalidArgument);
  config.magic = RONDE_CONFIG_MAGIC;
  config.spin = "sometimes";
  NEED(rondeCommSplit(comms[0], 0, 0, &none, &config) == rondeInvalidUsage);
  NEED(strstr(rondeGetLastError(NULL), "rondeCommSplit: config.spin: RONDE_SPIN='sometimes'") != NULL);
  NEED(rondeCommGetUniqueId(NULL, &id) == rondeInvalidArgument);
  NEED(rondeCommGetUniqueId(comms[0], NULL) == rondeInvalidArgument);
  NEED(rondeCommGrow(NULL, 3, NULL, 2, &none, NULL) == rondeInvalidArgument); /* a rank that joins has an id */
  NEED(rondeCommGrow(comms[0], 2, NULL, -1, &none, NULL) == rondeInvalidArgument);
  NEED(rondeCommGrow(comms[0], 3, NULL, 1, &none, NULL) == rondeInvalidArgument);
  NEED(rondeCommGrow(comms[0], 3, NULL, -1, NULL, NULL) == rondeInvalidArgument);
  NEED(rondeGetUniqueId(&other) == rondeSuccess);
  NEED(rondeCommGrow(comms[0], 3, &other, -1, &none, NULL) == rondeInvalidArgument);
  NEED(strstr(rondeGetLastError(NULL), "not one of this communicator") != NULL);

  NEED(rondeGroupStart() == rondeSuccess);
  for (int rank = 0; rank < kRanks; ++rank) {
    NEED(rondeCommSplit(comms[rank], rank, 0, &alone[rank], NULL) == rondeSuccess);
    NEED(rondeCommDup(comms[rank], &copies[rank], NULL) == rondeSuccess);
  }
  NEED(rondeGroupEnd() == rondeSuccess);
  NEED(rondeCommGetUniqueId(comms[1], &id) == rondeSuccess);
  NEED(rondeGroupStart() == rondeSuccess);
  for (int rank = 0; rank < kRanks; ++rank)
    NEED(rondeCommGrow(comms[rank], kRanks + 1, NULL, -1, &grown[rank], NULL) == rondeSuccess);
  NEED(rondeCommGrow(NULL, kRanks + 1, &id, kRanks, &grown[kRanks], NULL) == rondeSuccess);
  NEED(rondeGroupEnd() == rondeSuccess);
  for (int rank = 0; rank <= kRanks; ++rank) {
    NEED(rondeCommUserRank(grown[rank], &value) == rondeSuccess && value == rank);
    NEED(rondeCommCount(grown[rank], &value) == rondeSuccess && value == kRanks + 1);
  }
  static float input[kRanks][kCount], output[kRanks][kCount];
  for (int rank = 0; rank < kRanks; ++rank) {
    NEED(rondeCommCount(alone[rank], &value) == rondeSuccess && value == 1);
    for (int i = 0; i < kCount; ++i) input[rank][i] = (float)((rank + 1) * i);
  }
  for (int rank = 0; rank < kRanks; ++rank) NEED(rondeCommDestroy(comms[rank]) == rondeSuccess);
  reduce_in_group(copies, NULL, input, output);
  NEED(rondeCommFinalize(alone[0]) == rondeSuccess);
  NEED(rondeCommSplit(alone[0], 0, 0, &none, NULL) == rondeInvalidUsage);
  NEED(rondeCommGetUniqueId(alone[0], &id) == rondeInvalidUsage);
  for (int rank = 0; rank < kRanks; ++rank) {
    NEED(rondeCommDestroy(alone[rank]) == rondeSuccess);
    NEED(rondeCommDestroy(copies[rank]) == rondeSuccess);
  }
  for (int rank = 0; rank <= kRanks; ++rank) NEED(rondeCommDestroy(grown[rank]) == rondeSuccess);
}

/* A second id does not compete for the port of the job's first meeting point. */
static void test_two_ids(void) {
  rondeUniqueId first;
  rondeUniqueId second;
  NEED(setenv("RONDE_PORT", "47113", 1) == 0);
  NEED(rondeGetUniqueId(&first) == rondeSuccess);
  NEED(rondeGetUniqueId(&second) == rondeSuccess);
  NEED(unsetenv("RONDE_PORT") == 0);
}

/* What the parent's threads hold is out of reach in a forked child: the address sanitizer's leak check asks here. */
static int in_child = 0;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return in_child; }

/* A forked child is refused, may exit, and does the parent no harm; a stream's thread exists in the parent only. */
static void test_fork(void) {
  rondeComm_t comm;
  rondeStream_t stream;
  rondeEvent_t event;
  float value = 2;
  NEED(rondeCommInitAll(&comm, 1, NULL) == rondeSuccess);
  NEED(rondeEventCreate(&event) == rondeSuccess);
  NEED(rondeStreamCreate(&stream) == rondeSuccess);
  NEED(rondeAllReduce(&value, &value, 1, rondeFloat, rondeSum, comm, stream) == rondeSuccess);
  NEED(rondeStreamSynchronize(stream) == rondeSuccess);
  const pid_t child = fork();
  NEED(child >= 0);
  if (child == 0) {
    in_child = 1;
    NEED(rondeAllReduce(&value, &value, 1, rondeFloat, rondeSum, comm, NULL) == rondeInvalidUsage);
    NEED(strstr(rondeGetLastError(NULL), "fork") != NULL);
    /* Nothing that would need the parent's threads begins. */
    rondeUniqueId id = {{0}};
    rondeWorld_t world = {sizeof(world), 0, 0, 0, 0};
    NEED(rondeGetUniqueId(&id) == rondeInvalidUsage);
    NEED(rondeGetWorldFromEnv(&world, &id) == rondeInvalidUsage);
    NEED(rondeCommInitRank(&comm, 1, id, 0) == rondeInvalidUsage);
    NEED(rondeCommInitAll(&comm, 1, NULL) == rondeInvalidUsage);
    NEED(rondeStreamCreate(&stream) == rondeInvalidUsage);
    NEED(rondeLaunchHostFunc(stream, count_call, &messages) == rondeInvalidUsage);
    NEED(rondeEventRecord(event, stream) == rondeInvalidUsage);
    NEED(rondeEventCreate(&event) == rondeInvalidUsage);
    exit(0);
  }
  int status = -1;
  NEED(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  NEED(rondeAllReduce(&value, &value, 1, rondeFloat, rondeSum, comm, stream) == rondeSuccess);
  NEED(rondeEventDestroy(event) == rondeSuccess);
  NEED(rondeStreamDestroy(stream) == rondeSuccess);
  NEED(rondeCommDestroy(comm) == rondeSuccess);
}

int main(void) {
  test_without_communicator();
  test_two_ids();
  test_fork();
  test_one_rank();
  test_two_ranks();
  test_streams();
  test_group_init_and_abort();
  test_shrink();
  test_children();
  test_several_ids();
  test_config_fields();
  test_made_in_group();
  NEED(rondeSetLogCallback(NULL, NULL) == rondeSuccess);
  return 0;
}
