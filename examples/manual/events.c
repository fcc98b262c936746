/* Work on a second stream begins when the first has come to a point, and a function of the program when both are done.
 *
 *   ronderun -n 4 manual_events
 */
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>

static void check(rondeResult_t result) {
  if (result == rondeSuccess) return;
  fprintf(stderr, "%s\n", rondeGetLastError(NULL));
  exit(EXIT_FAILURE);
}

typedef struct {
  int value; /* what the operations leave */
  int seen;  /* what the host function found */
  rondeResult_t status;
} Step;

/* Runs on a thread of the library; status is that of the operations on its stream. */
static void notice(rondeResult_t status, void* user) {
  Step* const step = user;
  step->status = status;
  step->seen = step->value;
}

int main(void) {
  rondeWorld_t world = {.size = sizeof(world)};
  rondeUniqueId id;
  rondeComm_t sums = RONDE_COMM_NULL;
  rondeComm_t maxima = RONDE_COMM_NULL;
  check(rondeGetWorldFromEnv(&world, &id));
  check(rondeCommInitRank(&sums, world.nranks, id, world.rank));
  check(rondeCommDup(sums, &maxima, NULL)); /* operations of one communicator keep their order anyway */

  rondeStream_t first = NULL;
  rondeStream_t second = NULL;
  rondeEvent_t summed = NULL;
  rondeEvent_t noticed = NULL;
  check(rondeStreamCreate(&first));
  check(rondeStreamCreate(&second));
  check(rondeEventCreate(&summed));
  check(rondeEventCreate(&noticed));

  Step step = {1, 0, rondeInternalError};
  check(rondeAllReduce(&step.value, &step.value, 1, rondeInt32, rondeSum, sums, first));
  check(rondeEventRecord(summed, first));
  check(rondeStreamWaitEvent(second, summed)); /* else the second reduction would read what the first one writes */
  check(rondeAllReduce(&step.value, &step.value, 1, rondeInt32, rondeMax, maxima, second));
  check(rondeLaunchHostFunc(second, notice, &step));
  check(rondeEventRecord(noticed, second));

  /* Nothing has waited so far. */
  check(rondeEventSynchronize(noticed));
  printf("rank %d of %d: %d\n", world.rank, world.nranks, step.seen);
  const int right = step.status == rondeSuccess && step.seen == world.nranks;

  check(rondeEventDestroy(noticed));
  check(rondeEventDestroy(summed));
  check(rondeStreamDestroy(second));
  check(rondeStreamDestroy(first));
  check(rondeCommDestroy(maxima));
  check(rondeCommDestroy(sums));
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
