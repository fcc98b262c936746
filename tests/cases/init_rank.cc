// A rank that makes a communicator and ends it: case_29_test.py starts it. Errors go to stderr, with exit code 1.
#include <ronde/ronde.h>

#include <cstdio>

namespace {

int fail(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, rondeGetLastError(nullptr));
  return 1;
}

}  // namespace

int main() {
  rondeWorld_t world = {};
  world.size = sizeof world;
  rondeUniqueId id;
  rondeComm_t comm = nullptr;
  if (rondeGetWorldFromEnv(&world, &id) != rondeSuccess) return fail("rondeGetWorldFromEnv");
  if (rondeCommInitRank(&comm, world.nranks, id, world.rank) != rondeSuccess) return fail("rondeCommInitRank");
  if (rondeCommDestroy(comm) != rondeSuccess) return fail("rondeCommDestroy");
  std::printf("rank %d of %d\n", world.rank, world.nranks);
  return 0;
}
