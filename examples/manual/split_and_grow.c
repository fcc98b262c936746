/* A job of one rank takes two more in, and those of equal parity then work by themselves. */
#include <pthread.h>
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRanks = 3 };

static void check(rondeResult_t result) {
  if (result == rondeSuccess) return;
  fprintf(stderr, "%s\n", rondeGetLastError(NULL));
  exit(EXIT_FAILURE);
}

/* What all ranks do once they are three; returns how many share this one's parity. */
static int work(rondeComm_t all) {
  int rank = 0;
  check(rondeCommUserRank(all, &rank));
  rondeComm_t part = RONDE_COMM_NULL;
  check(rondeCommSplit(all, rank % 2, rank, &part, NULL));
  int number = 1;
  check(rondeAllReduce(&number, &number, 1, rondeInt32, rondeSum, part, NULL));
  check(rondeCommDestroy(part));
  check(rondeBarrier(all, NULL)); /* it goes on beside its parts */
  printf("rank %d: %d of %d\n", rank, number, kRanks);
  return number;
}

/* A rank that joins knows the id and its number. It is a thread here, and is often a new process. */
typedef struct {
  pthread_t thread;
  rondeUniqueId id;
  int rank;
  int number;
} Joining;

static void* join(void* argument) {
  Joining* const self = argument;
  rondeComm_t all = RONDE_COMM_NULL;
  check(rondeCommGrow(RONDE_COMM_NULL, kRanks, &self->id, self->rank, &all, NULL));
  self->number = work(all);
  check(rondeCommDestroy(all));
  return NULL;
}

int main(void) {
  rondeComm_t alone = RONDE_COMM_NULL;
  check(rondeCommInitAll(&alone, 1, NULL));

  rondeUniqueId id;
  check(rondeCommGetUniqueId(alone, &id));
  Joining joining[kRanks] = {0};
  for (int rank = 1; rank < kRanks; ++rank) {
    joining[rank].id = id;
    joining[rank].rank = rank;
    if (pthread_create(&joining[rank].thread, NULL, join, &joining[rank]) != 0) return EXIT_FAILURE;
  }
  rondeComm_t all = RONDE_COMM_NULL;
  check(rondeCommGrow(alone, kRanks, NULL, -1, &all, NULL));
  check(rondeCommDestroy(alone));
  joining[0].number = work(all);
  check(rondeCommDestroy(all));

  int sum = joining[0].number;
  for (int rank = 1; rank < kRanks; ++rank) {
    pthread_join(joining[rank].thread, NULL);
    sum += joining[rank].number;
  }
  return sum == 2 + 1 + 2 ? EXIT_SUCCESS : EXIT_FAILURE;
}
