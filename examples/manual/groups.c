/* One thread drives all four ranks of a communicator: without a group the first call would wait for the others. */
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRanks = 4, kTensors = 20 };

static void check(rondeResult_t result) {
  if (result == rondeSuccess) return;
  fprintf(stderr, "%s\n", rondeGetLastError(NULL));
  exit(EXIT_FAILURE);
}

int main(void) {
  rondeComm_t comms[kRanks];
  check(rondeCommInitAll(comms, kRanks, NULL));

  /* Many small ones: what a group holds of them travels together. */
  static int tensors[kRanks][kTensors];
  check(rondeGroupStart());
  for (int rank = 0; rank < kRanks; ++rank) {
    for (int t = 0; t < kTensors; ++t) {
      tensors[rank][t] = t;
      check(rondeAllReduce(&tensors[rank][t], &tensors[rank][t], 1, rondeInt32, rondeSum, comms[rank], NULL));
    }
  }
  check(rondeGroupEnd()); /* only here anything moves; all of it has ended when this returns */

  int wrong = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    for (int t = 0; t < kTensors; ++t) wrong += tensors[rank][t] != kRanks * t;
  }
  for (int rank = 0; rank < kRanks; ++rank) check(rondeCommDestroy(comms[rank]));
  printf("%d sums on each of %d ranks, %d wrong\n", kTensors, kRanks, wrong);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
