/* Two reductions that are not built in: a sum with weights, and the value that is farthest from zero.
 *
 *   ronderun -n 4 manual_reductions
 */
#include <math.h>
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>

static void check(rondeResult_t result) {
  if (result == rondeSuccess) return;
  fprintf(stderr, "%s\n", rondeGetLastError(NULL));
  exit(EXIT_FAILURE);
}

/* Of two values the one of the greater magnitude. user is not needed. */
static void farthest(const void* left, const void* right, void* result, size_t count, rondeDataType_t datatype,
                     void* user) {
  const double* const l = left;
  const double* const r = right;
  (void)datatype; /* this program uses it with doubles only */
  (void)user;
  for (size_t i = 0; i < count; ++i) ((double*)result)[i] = fabs(l[i]) >= fabs(r[i]) ? l[i] : r[i];
}

int main(void) {
  rondeWorld_t world = {.size = sizeof(world)};
  rondeUniqueId id;
  rondeComm_t comm = RONDE_COMM_NULL;
  check(rondeGetWorldFromEnv(&world, &id));
  check(rondeCommInitRank(&comm, world.nranks, id, world.rank));

  /* Each rank has a weight of its own: here 1, 2, 3, ... */
  const double weight = world.rank + 1;
  double weighted = 10;
  rondeRedOp_t weighted_sum;
  check(rondeRedOpCreatePreMulSum(&weighted_sum, &weight, rondeFloat64, rondeScalarHostImmediate, comm));
  check(rondeAllReduce(&weighted, &weighted, 1, rondeFloat64, weighted_sum, comm, NULL));
  check(rondeRedOpDestroy(weighted_sum, comm));

  const int last = world.nranks - 1;
  double value = world.rank == last ? -100.0 : world.rank;
  rondeRedOp_t by_magnitude;
  check(rondeRedOpCreate(&by_magnitude, farthest, 1, NULL, comm));
  check(rondeAllReduce(&value, &value, 1, rondeFloat64, by_magnitude, comm, NULL));
  check(rondeRedOpDestroy(by_magnitude, comm));

  printf("rank %d of %d: weighted sum %g, farthest from zero %g\n", world.rank, world.nranks, weighted, value);
  check(rondeCommDestroy(comm));
  return weighted == 10.0 * world.nranks * (world.nranks + 1) / 2 && value == -100 ? EXIT_SUCCESS : EXIT_FAILURE;
}
