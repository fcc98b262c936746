/* Uses the library and returns from main without destroying anything; exit_test.py starts it.
 *
 * usage: exits_early WAY [OTHERS_GO_ON]   WAY: blocking, stream, or destroy
 *
 * With a second argument rank 0 returns and the others call once more, which must fail. "destroy": rank 0 destroys and
 * ends without exit handlers; that is no failure for the others, unless they call once more. */
#include <ronde/ronde.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kCount = 100000 };
static float values[kCount];

static rondeResult_t sum(rondeComm_t comm, rondeStream_t stream) {
  rondeResult_t result = rondeAllReduce(values, values, kCount, rondeFloat32, rondeSum, comm, stream);
  return result == rondeSuccess && stream != NULL ? rondeStreamSynchronize(stream) : result;
}

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, rondeGetLastError(NULL));
  return 1;
}

/* Not to destroy is what this program is about: the address sanitizer's leak check asks here. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return 1; }

int main(int argc, char** argv) {
  rondeWorld_t world = {sizeof(world), 0, 0, 0, 0};
  rondeUniqueId id;
  rondeComm_t comm;
  rondeStream_t stream = NULL;
  struct timespec now;
  if (argc < 2) return 2;
  if (rondeGetWorldFromEnv(&world, &id) != rondeSuccess) return fail("world");
  if (rondeCommInitRank(&comm, world.nranks, id, world.rank) != rondeSuccess) return fail("init");
  if (strcmp(argv[1], "stream") == 0 && rondeStreamCreate(&stream) != rondeSuccess) return fail("stream");
  for (int i = 0; i < kCount; ++i) values[i] = 1;
  if (sum(comm, stream) != rondeSuccess) return fail("allreduce");
  if (values[0] != (float)world.nranks || values[kCount - 1] != (float)world.nranks) return fail("wrong result");
  if (strcmp(argv[1], "destroy") == 0) {
    const struct timespec moment = {0, 200000000};
    rondeResult_t error = rondeInternalError;
    if (world.rank == 0) {
      clock_gettime(CLOCK_MONOTONIC, &now);
      printf("%.6f\n", (double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
      fflush(stdout);
      if (rondeCommDestroy(comm) != rondeSuccess) return fail("destroy");
      _exit(0);
    }
    nanosleep(&moment, NULL);
    if (rondeCommGetAsyncError(comm, &error) != rondeSuccess) return fail("async error");
    /* Another one that was quicker may have ended by now, without a goodbye, or have missed rank 0. */
    if (argc == 2 && error != rondeSuccess &&
        (error != rondePeerLost || strstr(rondeGetLastError(comm), "rank 0 ") != NULL))
      return fail(rondeGetLastError(comm));
  }
  if (argc > 2 && world.rank != 0) {
    rondeResult_t result = sum(comm, stream);
    if (result != rondePeerLost) return fail(rondeGetErrorString(result));
    int lost = -1;
    int number = -1;
    if (rondeCommGetFailedRanks(comm, &lost, 1, &number) != rondeSuccess) return fail("lost ranks");
    /* In rising order; the other one may have heard of it and ended by now. */
    if (number > 2 || (strcmp(argv[1], "destroy") != 0) != (number > 0 && lost == 0)) return fail("who is lost");
    if (strcmp(argv[1], "destroy") == 0 && (strstr(rondeGetLastError(comm), "rank 0 (pid ") == NULL ||
                                            strstr(rondeGetLastError(comm), ") has left: ") == NULL))
      return fail("the reason");
  }
  clock_gettime(CLOCK_MONOTONIC, &now);
  printf("%.6f\n", (double)now.tv_sec + 1e-9 * (double)now.tv_nsec); /* from here on it must end quickly */
  return 0;
}
