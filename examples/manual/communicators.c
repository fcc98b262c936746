/* A communicator of all ranks of the job, with settings of its own, from start to end.
 *
 *   ronderun -n 4 manual_communicators
 */
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>

static void check(rondeResult_t result) {
  if (result == rondeSuccess) return;
  fprintf(stderr, "%s\n", rondeGetLastError(NULL));
  exit(EXIT_FAILURE);
}

int main(void) {
  rondeWorld_t world = {.size = sizeof(world)};
  rondeUniqueId id;
  check(rondeGetWorldFromEnv(&world, &id));

  rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
  config.commName = "training"; /* stands in messages, and in what ronde-status shows */
  config.initTimeoutSeconds = 60;
  config.lateTimeoutSeconds = 30; /* a rank that does not come for so long is an error */
  rondeComm_t comm = RONDE_COMM_NULL;
  check(rondeCommInitRankConfig(&comm, world.nranks, id, world.rank, &config));

  double loss = world.rank;
  check(rondeAllReduce(&loss, &loss, 1, rondeFloat64, rondeAvg, comm, NULL));

  /* Finalize tells whether all went well, and says goodbye; destroy frees. */
  check(rondeCommFinalize(comm));
  check(rondeCommDestroy(comm));
  printf("rank %d of %d: the average is %g\n", world.rank, world.nranks, loss);
  return loss == (world.nranks - 1) / 2.0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
