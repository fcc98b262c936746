/* Version, log, ids and the environment. */
#define _POSIX_C_SOURCE 200809L
#include "api/c/observe.h"
#include "api/c/parts.h"
#include "api/c/ranks.h"

static void count_message(rondeLogLevel_t level, const char* message, void* user) {
  NEED(level <= rondeLogTrace && strchr(message, '\n') == NULL);
  ++*(int*)user;
}

static void test_version_and_texts(void) {
  int version = 0;
  MEET(rondeSuccess, rondeGetVersion, (&version));
  NEED(version == RONDE_VERSION_CODE);
  MEET(rondeInvalidArgument, rondeGetVersion, (NULL));
  NEED(strcmp(USE(rondeGetErrorString)(rondeSuccess), "success") == 0);
  for (int result = 0; result < 200; ++result) {
    const char* text = rondeGetErrorString((rondeResult_t)result);
    const int known = strcmp(name_of_result((rondeResult_t)result), "no result") != 0;
    NEED(text != NULL && (strcmp(text, "unknown result") == 0) != known);
  }
  /* The text of the last error stays as long as no other one is met. */
  MEET(rondeInvalidArgument, rondeGetUniqueId, (NULL));
  MEET(rondeSuccess, rondeGetVersion, (&version));
  NEED(strstr(USE(rondeGetLastError)(NULL), "rondeGetUniqueId: id is NULL") != NULL);
}

static void test_log(void) {
  int messages = 0;
  rondeComm_t comm = NULL;
  MEET(rondeInvalidArgument, rondeSetLogLevel, ((rondeLogLevel_t)9));
  MEET(rondeInvalidArgument, rondeSetLogLevel, ((rondeLogLevel_t)0x7ffffffe));
  MEET(rondeSuccess, rondeSetLogCallback, (count_message, &messages));
  MEET(rondeSuccess, rondeSetLogLevel, (rondeLogTrace));
  MEET(rondeSuccess, rondeCommInitAll, (&comm, 1, NULL));
  MEET(rondeSuccess, rondeSetLogLevel, (rondeLogNone));
  const int before = messages;
  NEED(before > 0);
  MEET(rondeSuccess, rondeCommDestroy, (comm));
  NEED(messages == before);
  MEET(rondeSuccess, rondeSetLogCallback, (NULL, NULL));
}

static void test_ids(void) {
  rondeUniqueId id, again;
  char text[RONDE_UNIQUE_ID_TEXT_BYTES], spaced[RONDE_UNIQUE_ID_TEXT_BYTES + 4];
  memset(&again, 0x5a, sizeof again);
  MEET(rondeSuccess, rondeGetUniqueId, (&id));
  MEET(rondeSuccess, rondeUniqueIdToText, (&id, text));
  NEED(strlen(text) + 1 == RONDE_UNIQUE_ID_TEXT_BYTES && strncmp(text, "ronde1:", 7) == 0);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeUniqueIdToText, (NULL, text), text);
  MEET(rondeInvalidArgument, rondeUniqueIdToText, (&id, NULL));
  MEET(rondeInvalidArgument, rondeUniqueIdFromText, (text, NULL));
  MEET_UNTOUCHED(rondeInvalidArgument, rondeUniqueIdFromText, (NULL, &again), again);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeUniqueIdFromText, ("ronde1:xyz", &again), again);
  text[20] = 'x';
  MEET_UNTOUCHED(rondeInvalidArgument, rondeUniqueIdFromText, (text, &again), again);
  NEED(strstr(rondeGetLastError(NULL), "20") != NULL || strstr(rondeGetLastError(NULL), "21") != NULL);
  MEET(rondeSuccess, rondeUniqueIdToText, (&id, text));
  snprintf(spaced, sizeof spaced, " %s\n", text);
  MEET(rondeSuccess, rondeUniqueIdFromText, (spaced, &again));
  NEED(memcmp(&id, &again, sizeof id) == 0);

  MEET(rondeInvalidArgument, rondeGetUniqueId, (NULL));
  NEED(setenv("RONDE_SOCKET_FAMILY", "ipx", 1) == 0);
  MEET_UNTOUCHED(rondeInvalidUsage, rondeGetUniqueId, (&again), again);
  NEED(strstr(rondeGetLastError(NULL), "RONDE_SOCKET_FAMILY='ipx'") != NULL);
  NEED(unsetenv("RONDE_SOCKET_FAMILY") == 0);
  /* A second id does not compete for the port of the job's first meeting point. */
  NEED(setenv("RONDE_PORT", "47113", 1) == 0);
  MEET(rondeSuccess, rondeGetUniqueId, (&id));
  MEET(rondeSuccess, rondeGetUniqueId, (&again));
  NEED(unsetenv("RONDE_PORT") == 0);
}

static void test_world(void) {
  rondeWorld_t world;
  rondeUniqueId id;
  memset(&world, 0, sizeof world);
  memset(&id, 0, sizeof id);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeGetWorldFromEnv, (&world, &id), world); /* its size is not set */
  world.size = sizeof world;
  MEET(rondeInvalidArgument, rondeGetWorldFromEnv, (NULL, &id));
  MEET_UNTOUCHED(rondeInvalidArgument, rondeGetWorldFromEnv, (&world, NULL), world);

  /* As torchrun starts the first of two processes on two hosts; the second one never comes. */
  NEED(setenv("RANK", "0", 1) == 0 && setenv("WORLD_SIZE", "two", 1) == 0 && setenv("LOCAL_RANK", "0", 1) == 0);
  NEED(setenv("LOCAL_WORLD_SIZE", "2", 1) == 0 && setenv("RONDE_INIT_TIMEOUT", "1", 1) == 0);
  MEET_UNTOUCHED(rondeInvalidUsage, rondeGetWorldFromEnv, (&world, &id), world);
  NEED(strstr(rondeGetLastError(NULL), "WORLD_SIZE") != NULL);
  NEED(setenv("WORLD_SIZE", "2", 1) == 0 && setenv("RANK", "1", 1) == 0 && setenv("LOCAL_RANK", "1", 1) == 0);
  MEET_UNTOUCHED(rondeInvalidUsage, rondeGetWorldFromEnv, (&world, &id), world); /* of which job? */
  NEED(strstr(rondeGetLastError(NULL), "MASTER_PORT is not set") != NULL);
  NEED(setenv("MASTER_PORT", "1", 1) == 0);
  MEET_UNTOUCHED(rondeTimedOut, rondeGetWorldFromEnv, (&world, &id), world);
  NEED(unsetenv("MASTER_PORT") == 0);
  NEED(unsetenv("RANK") == 0 && unsetenv("WORLD_SIZE") == 0 && unsetenv("LOCAL_RANK") == 0);
  NEED(unsetenv("LOCAL_WORLD_SIZE") == 0 && unsetenv("RONDE_INIT_TIMEOUT") == 0);

  MEET(rondeSuccess, rondeGetWorldFromEnv, (&world, &id));
  NEED(world.nranks == 1 && world.rank == 0 && world.localRank == 0 && world.localNranks == 1);
}

void part_meeting(void) {
  test_version_and_texts();
  test_log();
  test_ids();
  test_world();
}
