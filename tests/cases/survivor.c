/* A rank that goes on without those that die: reduces for ever, shrinks when another rank has died, reduces again and
 * ends. kill_matrix.py starts it.
 *
 * usage: survivor CHILDREN OPERATIONS DEATHS   CHILDREN: sleeping children that it forks after its start
 *                                              OPERATIONS: then it destroys the communicator; 0: never
 *                                              DEATHS: with so many ranks less it ends; before, it goes on
 *
 * Says what it does in lines "WORD SECONDS REST" (SECONDS of CLOCK_MONOTONIC): ready, failed CODE TEXT, lost RANKS,
 * again CODE TEXT (a shrink has failed), shrunk NRANKS, ended; init-failed or shrink-failed CODE TEXT end it with exit
 * code 3, wrong data with 4. */
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { kMost = 1 << 20, kMostChildren = 8, kAfterShrink = 20, kMostShrinks = 10 };
static const size_t kCounts[] = {1, 100, 5000, 60000, kMost};
static float input[kMost];
static float output[kMost];

static void say(const char* word, const char* rest) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  printf("%s %.6f %s\n", word, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec, rest);
  fflush(stdout);
}

static void say_error(const char* word, rondeResult_t code) {
  char text[2048];
  snprintf(text, sizeof text, "%d %s", (int)code, rondeGetLastError(NULL));
  say(word, text);
}

static void say_lost(rondeComm_t comm) {
  int ranks[64];
  int number = 0;
  char text[512] = "";
  int length = 0;
  if (rondeCommGetFailedRanks(comm, ranks, 64, &number) != rondeSuccess) return;
  for (int i = 0; i < number && i < 64; ++i)
    length += snprintf(text + length, sizeof text - (size_t)length, "%d ", ranks[i]);
  say("lost", text);
}

/* Each rank gives its number + 1 + the number of the operation. */
static rondeResult_t reduce(rondeComm_t comm, int number) {
  const size_t count = kCounts[(size_t)number % (sizeof kCounts / sizeof kCounts[0])];
  int rank = 0;
  int nranks = 0;
  rondeCommUserRank(comm, &rank);
  rondeCommCount(comm, &nranks);
  for (size_t i = 0; i < count; ++i) input[i] = (float)(rank + 1 + number % 100);
  for (size_t i = 0; i < count; ++i) output[i] = -1;
  const rondeResult_t result = rondeAllReduce(input, output, count, rondeFloat32, rondeSum, comm, NULL);
  const float wanted = (float)(nranks * (nranks + 1) / 2 + nranks * (number % 100));
  for (size_t i = 0; result == rondeSuccess && i < count; ++i) {
    if (output[i] == wanted) continue;
    fprintf(stderr, "wrong data in operation %d: element %zu is %f, not %f\n", number, i, (double)output[i],
            (double)wanted);
    exit(4);
  }
  return result;
}

static void fork_children(int number) {
  for (int i = 0; i < number && i < kMostChildren; ++i) {
    if (fork() != 0) continue;
    sleep(60);
    _exit(0);
  }
}

/* Reduces in the communicator of those that are left; false: it has failed, too. */
static int goes_on(rondeComm_t comm, int until_failure) {
  int nranks = 0;
  char text[32];
  rondeCommCount(comm, &nranks);
  snprintf(text, sizeof text, "%d", nranks);
  rondeResult_t result = reduce(comm, 0);
  if (result == rondeSuccess) say("shrunk", text);
  for (int i = 1; result == rondeSuccess && (until_failure || i < kAfterShrink); ++i) result = reduce(comm, i);
  if (result != rondeSuccess) say_error("failed", result);
  return result == rondeSuccess;
}

/* Of a communicator that has failed. */
static int survive(rondeComm_t comm, int left) {
  for (int i = 0; i < kMostShrinks; ++i) {
    rondeComm_t next = NULL;
    int nranks = 0;
    say_lost(comm);
    const rondeResult_t result = rondeCommShrink(comm, NULL, 0, &next, NULL, RONDE_SHRINK_DEFAULT);
    if (result != rondeSuccess) {
      say_error("again", result);
      continue;
    }
    rondeCommDestroy(comm);
    comm = next;
    rondeCommCount(comm, &nranks);
    if (!goes_on(comm, nranks > left)) continue;
    rondeCommDestroy(comm);
    say("ended", "");
    return 0;
  }
  say("shrink-failed", "so often");
  return 3;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int operations = atoi(argv[2]);
  rondeWorld_t world = {sizeof(world), 0, 0, 0, 0};
  rondeUniqueId id;
  rondeComm_t comm;
  rondeResult_t result = rondeGetWorldFromEnv(&world, &id);
  if (result == rondeSuccess) result = rondeCommInitRank(&comm, world.nranks, id, world.rank);
  if (result != rondeSuccess) {
    say_error("init-failed", result);
    return 3;
  }
  fork_children(atoi(argv[1]));
  say("ready", "");
  for (int i = 0; result == rondeSuccess && (operations == 0 || i < operations); ++i) result = reduce(comm, i);
  if (result != rondeSuccess) {
    say_error("failed", result);
    return survive(comm, world.nranks - atoi(argv[3]));
  }
  say("destroys", "");
  rondeCommDestroy(comm);
  say("ended", "");
  return 0;
}
