/* What an all-reduce of two ranks moved, and what memory their communicators take. */
#include <inttypes.h>
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRanks = 2, kCount = 100000, kTransports = 8 };

static void check(rondeResult_t result) {
  if (result == rondeSuccess) return;
  fprintf(stderr, "%s\n", rondeGetLastError(NULL));
  exit(EXIT_FAILURE);
}

int main(void) {
  rondeComm_t comms[kRanks];
  check(rondeCommInitAll(comms, kRanks, NULL));
  static float data[kRanks][kCount];
  check(rondeGroupStart());
  for (int i = 0; i < kRanks; ++i) {
    check(rondeAllReduce(data[i], data[i], kCount, rondeFloat32, rondeSum, comms[i], NULL));
  }
  check(rondeGroupEnd());

  int wrong = 0;
  for (int i = 0; i < kRanks; ++i) {
    int count = 0;
    int rank = 0;
    uint64_t bytes = 0;
    check(rondeCommCount(comms[i], &count));
    check(rondeCommUserRank(comms[i], &rank));
    check(rondeCommMemStats(comms[i], rondeStatHostMemTotal, &bytes));
    printf("rank %d of %d takes at most %" PRIu64 " bytes of memory\n", rank, count, bytes);

    rondeTraffic_t traffic[kTransports];
    for (int t = 0; t < kTransports; ++t) traffic[t].size = sizeof(traffic[t]);
    int transports = 0;
    unsigned long long moved = 0;
    check(rondeCommGetTraffic(comms[i], traffic, kTransports, &transports));
    for (int t = 0; t < transports; ++t) {
      printf("  %s: %llu bytes sent, %llu received\n", traffic[t].transport, traffic[t].sentBytes,
             traffic[t].receivedBytes);
      moved += traffic[t].receivedBytes;
    }
    wrong += rank != i || count != kRanks || moved < sizeof(data[0]);
  }
  for (int i = 0; i < kRanks; ++i) check(rondeCommDestroy(comms[i]));
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
