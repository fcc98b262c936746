/* Element types and reductions at their edges: what four ranks of this process get. */
#include <math.h>
#include <ronde/ronde.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRanks = 4 };

static void check(rondeResult_t result) {
  if (result == rondeSuccess) return;
  fprintf(stderr, "%s\n", rondeGetLastError(NULL));
  exit(EXIT_FAILURE);
}

/* Reduces one element of each rank in place; elements lie one behind the other. */
static void reduce(rondeComm_t* comms, void* elements, size_t bytes, rondeDataType_t type, rondeRedOp_t op) {
  check(rondeGroupStart());
  for (int rank = 0; rank < kRanks; ++rank) {
    char* const own = (char*)elements + (size_t)rank * bytes;
    check(rondeAllReduce(own, own, 1, type, op, comms[rank], NULL));
  }
  check(rondeGroupEnd());
}

int main(void) {
  rondeComm_t comms[kRanks];
  check(rondeCommInitAll(comms, kRanks, NULL));

  /* Integers wrap before they are divided: 1000 mod 256 = 232. */
  uint8_t small[kRanks] = {250, 250, 250, 250};
  reduce(comms, small, sizeof(small[0]), rondeUint8, rondeAvg);

  /* Floats are divided first: 0x7b53 is 60000 as float16, and the sum would have no room. */
  uint16_t halves[kRanks] = {0x7b53, 0x7b53, 0x7b53, 0x7b53};
  reduce(comms, halves, sizeof(halves[0]), rondeFloat16, rondeAvg);

  double with_nan[kRanks] = {1, NAN, 3, 4};
  reduce(comms, with_nan, sizeof(with_nan[0]), rondeFloat64, rondeMax);

  uint32_t flags[kRanks] = {1u << 0, 1u << 9, 1u << 9, 1u << 31};
  reduce(comms, flags, sizeof(flags[0]), rondeUint32, rondeBitOr);

  for (int rank = 0; rank < kRanks; ++rank) {
    if (small[rank] != 58 || halves[rank] != 0x7b53 || !isnan(with_nan[rank]) || flags[rank] != 0x80000201u) {
      fprintf(stderr, "rank %d has %d, %#x, %g, %#x\n", rank, small[rank], halves[rank], with_nan[rank], flags[rank]);
      return EXIT_FAILURE;
    }
    check(rondeCommDestroy(comms[rank]));
  }
  printf("average of 250 in uint8: %d, of 60000 in float16: 60000, maximum with NaN: NaN\n", small[0]);
  return EXIT_SUCCESS;
}
