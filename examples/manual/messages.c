/* Each rank holds a strip of a line of cells and needs the cells at the edges of its neighbours' strips.
 *
 *   ronderun -n 4 manual_messages
 */
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCells = 100 };

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
  check(rondeCommInitRank(&comm, world.nranks, id, world.rank));

  /* cells[0] and cells[kCells + 1] are copies of the neighbours' cells; the line is closed to a ring. */
  float cells[kCells + 2];
  for (int i = 0; i <= kCells + 1; ++i) cells[i] = (float)world.rank;
  const int left = (world.rank + world.nranks - 1) % world.nranks;
  const int right = (world.rank + 1) % world.nranks;

  /* In one group: all ranks send first, which would wait for ever without it. Messages of two ranks are matched by
   * their order, which counts where left and right are the same rank. */
  check(rondeGroupStart());
  check(rondeSend(&cells[1], 1, rondeFloat32, left, comm, NULL));
  check(rondeRecv(&cells[kCells + 1], 1, rondeFloat32, right, comm, NULL));
  check(rondeSend(&cells[kCells], 1, rondeFloat32, right, comm, NULL));
  check(rondeRecv(&cells[0], 1, rondeFloat32, left, comm, NULL));
  check(rondeGroupEnd());

  printf("rank %d of %d: %g on the left, %g on the right\n", world.rank, world.nranks, cells[0], cells[kCells + 1]);
  const int right_values = cells[0] == (float)left && cells[kCells + 1] == (float)right;
  check(rondeCommDestroy(comm));
  return right_values ? EXIT_SUCCESS : EXIT_FAILURE;
}
