/* Each rank keeps a part of a table that all ranks of the host look things up in, without a copy of their own.
 *
 *   ronderun -n 4 manual_memory
 */
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>

enum { kEntries = 1000000 };

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

  const size_t bytes = kEntries * sizeof(int);
  void* memory = NULL;
  check(rondeMemAlloc(&memory, bytes));
  int* table = memory;
  rondeWindow_t window = NULL;
  check(rondeCommWindowRegister(comm, table, bytes, &window, RONDE_WIN_DEFAULT));

  /* As a buffer of an operation it is one like any other, but the ranks of the host copy nothing in between. */
  for (int i = 0; i < kEntries; ++i) table[i] = i % 10;
  check(rondeAllReduce(table, table, kEntries, rondeInt32, rondeSum, comm, NULL));

  for (int i = 0; i < kEntries; ++i) table[i] += 100 * world.rank;
  check(rondeBarrier(comm, NULL)); /* from here on all parts are there */

  int wrong = 0;
  for (int peer = 0; peer < world.nranks; ++peer) {
    const size_t entry = 77;
    const void* there = NULL;
    check(rondeGetPeerPointer(window, entry * sizeof(int), peer, &there));
    if (there == NULL) continue; /* on another host */
    wrong += *(const int*)there != (int)(entry % 10) * world.nranks + 100 * peer;
  }
  printf("rank %d of %d: %d wrong\n", world.rank, world.nranks, wrong);

  check(rondeBarrier(comm, NULL)); /* nobody reads any more */
  check(rondeCommWindowDeregister(comm, window));
  check(rondeMemFree(memory));
  check(rondeCommDestroy(comm));
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
