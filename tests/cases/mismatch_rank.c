/* A rank that calls something else than the others, again and again, each time in a new communicator; mismatch_test.py
 * starts it. For each difference and each odd rank (the first, one in the middle, the last) it prints
 *
 *   KIND<TAB>ODD RANK<TAB>SECONDS<TAB>CODE<TAB>TEXT
 *
 * SECONDS: of the call that failed. Exit code 1: something else went wrong. */
#include <ronde/ronde.h>
#include <stdio.h>
#include <time.h>

enum { kMost = 300000, kMostCalls = 2, kMostRanks = 8, kLong = 30000 };
typedef enum {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllGatherV,
  kBroadcast,
  kReduce,
  kAlltoAll,
  kGather,
  kScatter,
  kBarrier
} What;
typedef struct {
  What what;
  size_t count; /* of a block, where there are several */
  rondeDataType_t type;
  rondeRedOp_t op;
  int root;
  size_t more; /* elements in the block of rank 0; `less` of them are missing in that of rank 1 */
  size_t less;
} Call;
typedef struct {
  const char* kind;
  int ncalls;
  Call even[kMostCalls]; /* of all but the odd rank */
  Call odd[kMostCalls];
} Difference;

#define REDUCE(count, type, op) \
  { kAllReduce, count, type, op, 0, 0, 0 }
#define SUM(what, count) \
  { what, count, rondeFloat32, rondeSum, 0, 0, 0 }
#define ROOTED(what, count, root) \
  { what, count, rondeFloat32, rondeSum, root, 0, 0 }
#define UNEVEN(count, more, less) \
  { kAllGatherV, count, rondeFloat32, rondeSum, 0, more, less }

static const Difference kDifferences[] = {
    {"count", 1, {SUM(kAllReduce, 1000)}, {SUM(kAllReduce, 1001)}},
    {"short and long", 1, {SUM(kAllReduce, 4)}, {SUM(kAllReduce, kMost)}},
    {"long and short", 1, {SUM(kAllReduce, kMost)}, {SUM(kAllReduce, 1000)}},
    {"none and some", 1, {SUM(kAllReduce, 0)}, {SUM(kAllReduce, kMost)}},
    {"type", 1, {SUM(kAllReduce, 1000)}, {REDUCE(1000, rondeInt32, rondeSum)}},
    {"size of the type", 1, {SUM(kAllReduce, kMost)}, {REDUCE(kMost, rondeFloat64, rondeSum)}},
    {"reduction", 1, {SUM(kAllReduce, kMost)}, {REDUCE(kMost, rondeFloat32, rondeMax)}},
    {"order", 2, {SUM(kAllReduce, 1000), SUM(kAllReduce, kMost)}, {SUM(kAllReduce, kMost), SUM(kAllReduce, 1000)}},
    {"root of a broadcast", 1, {ROOTED(kBroadcast, 1000, 0)}, {ROOTED(kBroadcast, 1000, 1)}},
    {"root of a long broadcast", 1, {ROOTED(kBroadcast, kMost, 1)}, {ROOTED(kBroadcast, kMost, 0)}},
    {"root of a reduce", 1, {ROOTED(kReduce, 1000, 0)}, {ROOTED(kReduce, 1000, 1)}},
    {"root of a gather", 1, {ROOTED(kGather, 1000, 0)}, {ROOTED(kGather, 1000, 1)}},
    {"root of a scatter", 1, {ROOTED(kScatter, kLong, 1)}, {ROOTED(kScatter, kLong, 0)}},
    {"all-reduce and broadcast", 1, {SUM(kAllReduce, 1000)}, {ROOTED(kBroadcast, 1000, 0)}},
    {"all-reduce and barrier", 1, {SUM(kAllReduce, 1)}, {SUM(kBarrier, 0)}},
    {"barrier and all-reduce", 1, {SUM(kBarrier, 0)}, {SUM(kAllReduce, kMost)}},
    {"all-gather and reduce-scatter", 1, {SUM(kAllGather, 1000)}, {SUM(kReduceScatter, 1000)}},
    {"all-to-all and all-gather", 1, {SUM(kAlltoAll, kLong)}, {SUM(kAllGather, kLong)}},
    {"gather and scatter", 1, {ROOTED(kGather, 1000, 0)}, {ROOTED(kScatter, 1000, 0)}},
    {"count of an all-gather", 1, {SUM(kAllGather, 1000)}, {SUM(kAllGather, 1001)}},
    {"count of a long all-gather", 1, {SUM(kAllGather, kLong)}, {SUM(kAllGather, kLong - 1)}},
    {"count of an uneven all-gather", 1, {UNEVEN(1000, 0, 0)}, {UNEVEN(1000, 1, 0)}},
    {"blocks of an uneven all-gather", 1, {UNEVEN(1000, 0, 0)}, {UNEVEN(1000, 7, 7)}},
    {"even and uneven", 1, {SUM(kAllGather, kLong)}, {UNEVEN(kLong, 0, 0)}},
};
static double buffer[kMost];
static double from[kMost];

static rondeResult_t make(const Call* call, int nranks, rondeComm_t comm) {
  size_t counts[kMostRanks];
  for (int rank = 0; rank < nranks; ++rank) counts[rank] = call->count;
  counts[0] += call->more;
  counts[1] -= call->less;
  switch (call->what) {
    case kReduceScatter: return rondeReduceScatter(from, buffer, call->count, call->type, call->op, comm, NULL);
    case kAllGather: return rondeAllGather(from, buffer, call->count, call->type, comm, NULL);
    case kAllGatherV: return rondeAllGatherV(from, buffer, counts, NULL, call->type, comm, NULL);
    case kBroadcast: return rondeBroadcast(from, buffer, call->count, call->type, call->root, comm, NULL);
    case kReduce: return rondeReduce(from, buffer, call->count, call->type, call->op, call->root, comm, NULL);
    case kAlltoAll: return rondeAlltoAll(from, buffer, call->count, call->type, comm, NULL);
    case kGather: return rondeGather(from, buffer, call->count, call->type, call->root, comm, NULL);
    case kScatter: return rondeScatter(from, buffer, call->count, call->type, call->root, comm, NULL);
    case kBarrier: return rondeBarrier(comm, NULL);
    default: return rondeAllReduce(buffer, buffer, call->count, call->type, call->op, comm, NULL);
  }
}

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
  for (int i = 0; i < difference->ncalls && result == rondeSuccess; ++i) result = make(&calls[i], world.nranks, comm);
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
