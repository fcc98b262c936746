/* Ranks have different numbers of records; all get all of them, and each then adds up its share.
 *
 *   ronderun -n 4 manual_collectives
 */
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMostRanks = 64, kMostRecords = kMostRanks * (kMostRanks + 1) / 2 };

static void check(rondeResult_t result) {
  if (result == rondeSuccess) return;
  fprintf(stderr, "%s\n", rondeGetLastError(NULL));
  exit(EXIT_FAILURE);
}

int main(void) {
  rondeWorld_t world = {.size = sizeof(world)};
  rondeUniqueId id;
  rondeComm_t comm = RONDE_COMM_NULL;
  check(rondeGetWorldFromEnv(&world, &id));
  const size_t n = (size_t)world.nranks;
  const size_t rank = (size_t)world.rank;
  if (n > kMostRanks) return EXIT_FAILURE;
  check(rondeCommInitRank(&comm, world.nranks, id, world.rank));

  /* Rank r has r + 1 records; each finds out how many the others have. */
  size_t counts[kMostRanks];
  counts[rank] = rank + 1;
  check(rondeAllGather(&counts[rank], counts, 1, rondeUint64, comm, NULL)); /* in place */

  size_t total = 0;
  for (size_t r = 0; r < n; ++r) total += counts[r];
  double own[kMostRanks];
  double all[kMostRecords];
  for (size_t i = 0; i < counts[rank]; ++i) own[i] = (double)rank;
  check(rondeAllGatherV(own, all, counts, NULL, rondeFloat64, comm, NULL)); /* displs NULL: one behind the other */

  /* Block r of the sum over all ranks, on rank r alone. */
  double sums[kMostRanks];
  check(rondeReduceScatterV(all, sums, counts, NULL, rondeFloat64, rondeSum, comm, NULL));

  int wrong = 0;
  for (size_t i = 0; i < counts[rank]; ++i) wrong += sums[i] != (double)(n * rank);
  check(rondeReduce(&wrong, &wrong, 1, rondeInt32, rondeSum, 0, comm, NULL)); /* rank 0 learns how it went everywhere */
  check(rondeBcast(&wrong, 1, rondeInt32, 0, comm, NULL));
  if (rank == 0) printf("%zu records of %zu ranks, %d wrong\n", total, n, wrong);
  check(rondeCommDestroy(comm));
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
