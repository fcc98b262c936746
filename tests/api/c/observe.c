#define _POSIX_C_SOURCE 200809L
#include "api/c/observe.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

enum { kMostPairs = 1000 };
typedef struct {
  const char* function;
  const char* result;
} Pair;

static const struct {
  rondeResult_t result;
  const char* name;
} kResults[] = {
    {rondeSuccess, "rondeSuccess"},
    {rondeUnhandledCudaError, "rondeUnhandledCudaError"},
    {rondeSystemError, "rondeSystemError"},
    {rondeInternalError, "rondeInternalError"},
    {rondeInvalidArgument, "rondeInvalidArgument"},
    {rondeInvalidUsage, "rondeInvalidUsage"},
    {rondeRemoteError, "rondeRemoteError"},
    {rondeInProgress, "rondeInProgress"},
    {rondePeerLost, "rondePeerLost"},
    {rondePeerUnreachable, "rondePeerUnreachable"},
    {rondeMismatch, "rondeMismatch"},
    {rondeAborted, "rondeAborted"},
    {rondeTimedOut, "rondeTimedOut"},
    {rondeRevoked, "rondeRevoked"},
};

const char* name_of_result(rondeResult_t result) {
  for (size_t i = 0; i < sizeof kResults / sizeof kResults[0]; ++i) {
    if (kResults[i].result == result) return kResults[i].name;
  }
  return "no result";
}

/* One write a line: several processes append to the file. */
static void write_pair(const char* function, const char* result) {
  static int file = -1;
  const char* path = getenv("TEST_OBSERVED");
  if (path == NULL) return;
  if (file < 0) file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  char line[200];
  const int length = snprintf(line, sizeof line, "%s %s\n", function, result);
  if (file < 0 || write(file, line, (size_t)length) != length) {
    perror(path);
    _exit(1);
  }
}

static void record(const char* function, const char* result) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static Pair pairs[kMostPairs];
  static size_t count = 0;
  pthread_mutex_lock(&mutex);
  size_t i = 0;
  while (i < count && (strcmp(pairs[i].function, function) != 0 || pairs[i].result != result)) ++i;
  if (i == count && count < kMostPairs) {
    pairs[count++] = (Pair){function, result};
    write_pair(function, result);
  }
  pthread_mutex_unlock(&mutex);
}

void observe_use(const char* function) { record(function, "rondeSuccess"); }

void observe_nothing(rondeResult_t result, const char* why) {
  fprintf(stderr, "skipped: %s\n", why);
  write_pair("skipped", name_of_result(result));
  _exit(77);
}

void observed_wrong(const char* file, int line, const char* what) {
  fprintf(stderr, "%s:%d: %s\n  last error: %s\n", file, line, what, rondeGetLastError(NULL));
  _exit(1);
}

/* "rondeCommSplit" is named as such, or as "CommSplit". */
static int names(const char* text, const char* function) { return strstr(text, function + strlen("ronde")) != NULL; }

void observe(const char* file, int line, const char* function, rondeResult_t wanted, rondeResult_t got,
             const char* text) {
  char what[1000];
  record(function, name_of_result(got));
  if (got != wanted) {
    snprintf(what, sizeof what, "%s has returned %s, not %s", function, name_of_result(got), name_of_result(wanted));
    observed_wrong(file, line, what);
  }
  if (got == rondeSuccess || got == rondeInProgress) return;
  const char* said = rondeGetLastError(NULL);
  const int of_all_ranks = got >= rondePeerLost || got == rondeRemoteError;
  if (text != NULL ? strstr(said, text) != NULL : of_all_ranks ? said[0] != '\0' : names(said, function)) return;
  snprintf(what, sizeof what, "the text of %s from %s does not tell of %s", name_of_result(got), function,
           text != NULL ? text : function);
  observed_wrong(file, line, what);
}
