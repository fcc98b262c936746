/* One of three ranks cannot go on and says so; the others, who wait for it, make a communicator without it. */
#include <pthread.h>
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRanks = 3, kFails = 1 };

static void check(rondeResult_t result) {
  if (result == rondeSuccess) return;
  fprintf(stderr, "%s\n", rondeGetLastError(NULL));
  exit(EXIT_FAILURE);
}

/* What a rank does; returns NULL if all went as it should. Each rank is a thread here, and is often a process. */
static void* rank_main(void* argument) {
  const rondeComm_t comm = argument;
  int rank = 0;
  check(rondeCommUserRank(comm, &rank));

  if (rank == kFails) {
    /* Its disk is full, say. Without this call the others would wait until RONDE_LATE_TIMEOUT. */
    check(rondeCommRevoke(comm, RONDE_REVOKE_DEFAULT));
    check(rondeCommDestroy(comm));
    return NULL;
  }

  int one = 1;
  int living = 0;
  const rondeResult_t result = rondeAllReduce(&one, &living, 1, rondeInt32, rondeSum, comm, NULL);
  if (result != rondeRevoked) return "the sum was not revoked";
  printf("rank %d: %s\n", rank, rondeGetLastError(comm));

  /* A rank that died need not be named; one that lives and shall not take part is. */
  const int excluded[] = {kFails};
  rondeComm_t rest = RONDE_COMM_NULL;
  check(rondeCommShrink(comm, excluded, 1, &rest, NULL, RONDE_SHRINK_DEFAULT));
  check(rondeCommDestroy(comm));
  check(rondeAllReduce(&one, &living, 1, rondeInt32, rondeSum, rest, NULL));
  check(rondeCommDestroy(rest));
  return living == kRanks - 1 ? NULL : "not all who are left take part";
}

int main(void) {
  rondeComm_t comms[kRanks];
  check(rondeCommInitAll(comms, kRanks, NULL));
  pthread_t threads[kRanks];
  for (int rank = 0; rank < kRanks; ++rank) {
    if (pthread_create(&threads[rank], NULL, rank_main, comms[rank]) != 0) return EXIT_FAILURE;
  }
  int status = EXIT_SUCCESS;
  for (int rank = 0; rank < kRanks; ++rank) {
    void* wrong = NULL;
    pthread_join(threads[rank], &wrong);
    if (wrong == NULL) continue;
    fprintf(stderr, "rank %d: %s\n", rank, (const char*)wrong);
    status = EXIT_FAILURE;
  }
  return status;
}
