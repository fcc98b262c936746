/* Gradients are reduced in buckets while the next bucket is being computed.
 *
 *   ronderun -n 4 manual_streams
 */
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBuckets = 8, kBucket = 5000 };

static void check(rondeResult_t result) {
  if (result == rondeSuccess) return;
  fprintf(stderr, "%s\n", rondeGetLastError(NULL));
  exit(EXIT_FAILURE);
}

int main(void) {
  rondeWorld_t world = {.size = sizeof(world)};
  rondeUniqueId id;
  rondeComm_t comm = RONDE_COMM_NULL;
  rondeStream_t stream = NULL;
  check(rondeGetWorldFromEnv(&world, &id));
  check(rondeCommInitRank(&comm, world.nranks, id, world.rank));
  check(rondeStreamCreate(&stream));

  static float gradients[kBuckets][kBucket];
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    for (int i = 0; i < kBucket; ++i) gradients[bucket][i] = (float)(world.rank + bucket); /* a backward pass */
    /* Returns at once. From here on the bucket belongs to the library. */
    check(rondeAllReduce(gradients[bucket], gradients[bucket], kBucket, rondeFloat32, rondeSum, comm, stream));
  }
  const rondeResult_t now = rondeStreamQuery(stream);
  if (now != rondeSuccess && now != rondeInProgress) check(now);

  /* All buckets are reduced and ours again, or this is the first error of one of them. */
  check(rondeStreamSynchronize(stream));

  int wrong = 0;
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    const float expected = (float)(world.nranks * (world.nranks - 1) / 2 + world.nranks * bucket);
    for (int i = 0; i < kBucket; ++i) wrong += gradients[bucket][i] != expected;
  }
  printf("rank %d of %d: %d wrong\n", world.rank, world.nranks, wrong);
  check(rondeStreamDestroy(stream));
  check(rondeCommDestroy(comm));
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
