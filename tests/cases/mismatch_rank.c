/* A rank that calls something else than the others, again and again, each time in a new communicator; mismatch_test.py
 * starts it. For each difference and each odd rank (the first, one in the middle, the last) it prints
 *
 *   KIND<TAB>ODD RANK<TAB>SECONDS<TAB>CODE<TAB>TEXT
 *
 * SECONDS: of the call that failed. Exit code 1: something else went wrong. */
#include <ronde/ronde.h>
#include <stdio.h>
#include <time.h>

enum { kMost = 300000, kMostCalls = 2 };
typedef struct {
  size_t count;
  rondeDataType_t type;
  rondeRedOp_t op;
} Call;
typedef struct {
  const char* kind;
  int ncalls;
  Call even[kMostCalls]; /* of all but the odd rank */
  Call odd[kMostCalls];
} Difference;

static const Difference kDifferences[] = {
    {"count", 1, {{1000, rondeFloat32, rondeSum}}, {{1001, rondeFloat32, rondeSum}}},
    {"short and long", 1, {{4, rondeFloat32, rondeSum}}, {{kMost, rondeFloat32, rondeSum}}},
    {"long and short", 1, {{kMost, rondeFloat32, rondeSum}}, {{1000, rondeFloat32, rondeSum}}},
    {"none and some", 1, {{0, rondeFloat32, rondeSum}}, {{kMost, rondeFloat32, rondeSum}}},
    {"type", 1, {{1000, rondeFloat32, rondeSum}}, {{1000, rondeInt32, rondeSum}}},
    {"size of the type", 1, {{kMost, rondeFloat32, rondeSum}}, {{kMost, rondeFloat64, rondeSum}}},
    {"reduction", 1, {{kMost, rondeFloat32, rondeSum}}, {{kMost, rondeFloat32, rondeMax}}},
    {"order",
     2,
     {{1000, rondeFloat32, rondeSum}, {kMost, rondeFloat32, rondeSum}},
     {{kMost, rondeFloat32, rondeSum}, {1000, rondeFloat32, rondeSum}}},
};
static double buffer[kMost];

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int differ(const Difference* difference, int odd) {
  rondeWorld_t world = {sizeof(world), 0, 0, 0, 0};
  rondeUniqueId id;
  rondeComm_t comm;
  if (rondeGetWorldFromEnv(&world, &id) != rondeSuccess ||
      rondeCommInitRank(&comm, world.nranks, id, world.rank) != rondeSuccess) {
    fprintf(stderr, "%s: %s\n", difference->kind, rondeGetLastError(NULL));
    return 1;
  }
  const int rank = odd == 1 ? world.nranks / 2 : odd == 2 ? world.nranks - 1 : 0;
  const Call* calls = world.rank == rank ? difference->odd : difference->even;
  const double begin = now();
  /* Others may be quicker, differ, and end this one too. */
  rondeResult_t result = rondeAllReduce(buffer, buffer, 10, rondeFloat32, rondeMax, comm, NULL);
  for (int i = 0; i < difference->ncalls && result == rondeSuccess; ++i)
    result = rondeAllReduce(buffer, buffer, calls[i].count, calls[i].type, calls[i].op, comm, NULL);
  /* A rank that needs nothing of the others has ended well, and hears of it in its next call. */
  if (result == rondeSuccess) result = rondeAllReduce(buffer, buffer, 1, rondeFloat32, rondeSum, comm, NULL);
  printf("%s\t%d\t%.3f\t%d\t%s\n", difference->kind, rank, now() - begin, (int)result, rondeGetLastError(comm));
  rondeCommDestroy(comm);
  return 0;
}

int main(void) {
  for (size_t i = 0; i < sizeof kDifferences / sizeof kDifferences[0]; ++i) {
    for (int odd = 0; odd < 3; ++odd) {
      if (differ(&kDifferences[i], odd) != 0) return 1;
    }
  }
  return 0;
}
