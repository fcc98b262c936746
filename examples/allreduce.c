/* Data-parallel training in one step: every rank has gradients of its own part of the batch, and all need the average.
 *
 *   ronderun -n 4 example_allreduce          on this machine
 *   mpirun -n 4 example_allreduce            under another launcher: mpirun, srun, torchrun
 *   example_allreduce                        alone: one rank
 */
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>

enum { kGradients = 1000 };

/* The last error of the communicator, or of this thread if there is none yet, says what happened and what to change. */
#define CHECK(comm, call)                                                                                        \
  do {                                                                                                           \
    const rondeResult_t check_result = (call);                                                                   \
    if (check_result != rondeSuccess) {                                                                          \
      fprintf(stderr, "%s\n  %s: %s\n", #call, rondeGetErrorString(check_result), rondeGetLastError(comm));      \
      exit(EXIT_FAILURE); /* the other ranks learn that this one is gone, and get an error instead of waiting */ \
    }                                                                                                            \
  } while (0)

int main(void) {
  /* Who am I, and how do I find the others? The launcher told. */
  rondeWorld_t world = {.size = sizeof(world)};
  rondeUniqueId id;
  CHECK(NULL, rondeGetWorldFromEnv(&world, &id));

  rondeComm_t comm = RONDE_COMM_NULL;
  CHECK(NULL, rondeCommInitRank(&comm, world.nranks, id, world.rank));

  /* Stands for a backward pass: rank r finds the gradient r + i for parameter i. */
  static float gradients[kGradients];
  for (int i = 0; i < kGradients; ++i) gradients[i] = (float)(world.rank + i);

  /* In place: the same array on both sides. Stream NULL: the result is there when the call returns. */
  CHECK(comm, rondeAllReduce(gradients, gradients, kGradients, rondeFloat32, rondeAvg, comm, NULL));

  /* The average of the rank numbers is (nranks - 1) / 2. */
  if (world.rank == 0) {
    const float first = (float)(world.nranks - 1) / 2;
    printf("%d ranks, average of the first gradient: %g (expected %g), of the last: %g (expected %g)\n", world.nranks,
           gradients[0], first, gradients[kGradients - 1], first + (float)(kGradients - 1));
  }

  CHECK(NULL, rondeCommDestroy(comm));
  return EXIT_SUCCESS;
}
