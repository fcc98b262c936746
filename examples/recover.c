/* Goes on when ranks die: the ranks that are left make a new communicator and repeat the step that failed.
 *
 *   ronderun -n 4 --keep-going example_recover [STEPS]      kill one of its processes meanwhile: kill -9 PID
 */
#define _POSIX_C_SOURCE 200809L
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const struct timespec kPause = {0, 100000000}; /* stands for work: 0.1 s */

static void fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, rondeGetLastError(NULL));
  exit(EXIT_FAILURE);
}

/* Instead of *comm a communicator of the ranks that are left; *step becomes the first that one of them has not done. */
static rondeResult_t recover(rondeComm_t* comm, int* step) {
  rondeComm_t next = RONDE_COMM_NULL;
  /* Who dies during this call is an error of it, too, and is left out by the next one. */
  rondeResult_t result = rondeCommShrink(*comm, NULL, 0, &next, NULL, RONDE_SHRINK_ABORT);
  for (int tries = 1; result == rondePeerLost && tries < 10; ++tries) {
    result = rondeCommShrink(*comm, NULL, 0, &next, NULL, RONDE_SHRINK_ABORT);
  }
  if (result != rondeSuccess) fail("rondeCommShrink");
  rondeCommDestroy(*comm);
  *comm = next;
  /* The step that was interrupted may have ended on some ranks and failed on others. */
  int first = 0;
  result = rondeAllReduce(step, &first, 1, rondeInt32, rondeMin, *comm, NULL);
  if (result == rondeSuccess) *step = first;
  return result;
}

int main(int argc, char** argv) {
  const int steps = argc > 1 ? atoi(argv[1]) : 50;
  rondeWorld_t world = {.size = sizeof(world)};
  rondeUniqueId id;
  rondeComm_t comm = RONDE_COMM_NULL;
  if (rondeGetWorldFromEnv(&world, &id) != rondeSuccess) fail("rondeGetWorldFromEnv");
  if (rondeCommInitRank(&comm, world.nranks, id, world.rank) != rondeSuccess) fail("rondeCommInitRank");
  printf("rank %d of %d is process %d\n", world.rank, world.nranks, (int)getpid());
  fflush(stdout);

  int step = 0;
  int living = 0;
  while (step < steps) {
    const int one = 1; /* not in place: the input is needed again if the step fails */
    rondeResult_t result = rondeAllReduce(&one, &living, 1, rondeInt32, rondeSum, comm, NULL);
    while (result == rondePeerLost || result == rondePeerUnreachable) {
      fprintf(stderr, "step %d: %s\n", step, rondeGetLastError(comm));
      result = recover(&comm, &step);
      if (result == rondeSuccess) result = rondeAllReduce(&one, &living, 1, rondeInt32, rondeSum, comm, NULL);
    }
    if (result != rondeSuccess) fail("rondeAllReduce");
    ++step;
    nanosleep(&kPause, NULL);
  }

  int rank = 0;
  if (rondeCommUserRank(comm, &rank) == rondeSuccess && rank == 0) {
    printf("%d steps done; %d of %d ranks are left\n", step, living, world.nranks);
  }
  if (rondeCommDestroy(comm) != rondeSuccess) fail("rondeCommDestroy");
  return EXIT_SUCCESS;
}
