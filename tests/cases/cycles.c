/* Makes and destroys communicators, one after the other; cycles_test.py and the tests of odd machines start it.
 *
 * usage: cycles NUMBER [ALIVE]   ALIVE: how many live at the same time (1)
 *
 * After the hundredth and the last it prints "CYCLE OPEN-FILES THREADS MAPPINGS RESIDENT-KIB SECONDS". */
#include <dirent.h>
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kMostAlive = 16, kFirstLook = 100 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static long entries(const char* folder) {
  DIR* directory = opendir(folder);
  long number = 0;
  if (directory == NULL) return -1;
  while (readdir(directory) != NULL) ++number;
  closedir(directory);
  return number;
}

static long lines_or_value(const char* file, const char* name) {
  FILE* stream = fopen(file, "r");
  char line[512];
  long value = 0;
  if (stream == NULL) return -1;
  while (fgets(line, sizeof line, stream) != NULL) {
    if (name == NULL) ++value;
    if (name != NULL && strncmp(line, name, strlen(name)) == 0) value = atol(line + strlen(name));
  }
  fclose(stream);
  return value;
}

static void look(int cycle, double seconds) {
  printf("%d %ld %ld %ld %ld %.3f\n", cycle, entries("/proc/self/fd"), entries("/proc/self/task"),
         lines_or_value("/proc/self/maps", NULL), lines_or_value("/proc/self/status", "VmRSS:"), seconds);
  fflush(stdout);
}

static int fail(int cycle) {
  fprintf(stderr, "cycle %d: %s\n", cycle, rondeGetLastError(NULL));
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int number = atoi(argv[1]);
  const int alive = argc > 2 ? atoi(argv[2]) : 1;
  rondeComm_t comms[kMostAlive] = {NULL};
  if (alive < 1 || alive > kMostAlive) return 2;
  double begin = now();
  for (int cycle = 1; cycle <= number; ++cycle) {
    rondeWorld_t world = {sizeof(world), 0, 0, 0, 0};
    rondeUniqueId id;
    rondeComm_t* comm = &comms[cycle % alive];
    float value = 1;
    if (rondeGetWorldFromEnv(&world, &id) != rondeSuccess) return fail(cycle);
    if (rondeCommDestroy(*comm) != rondeSuccess) return fail(cycle);
    *comm = NULL;
    if (rondeCommInitRank(comm, world.nranks, id, world.rank) != rondeSuccess) return fail(cycle);
    if (rondeAllReduce(&value, &value, 1, rondeFloat32, rondeSum, *comm, NULL) != rondeSuccess) return fail(cycle);
    if (value != (float)world.nranks) {
      fprintf(stderr, "cycle %d: the sum is %f\n", cycle, (double)value);
      return 1;
    }
    if (cycle != kFirstLook && cycle != number) continue;
    const double seconds = now() - begin;
    sleep(1); /* until what ended with the last ones is closed */
    look(cycle, seconds);
    begin += 1;
    /* Nobody leaves while others still count. */
    if (rondeAllReduce(&value, &value, 1, rondeFloat32, rondeSum, *comm, NULL) != rondeSuccess) return fail(cycle);
  }
  for (int i = 0; i < alive; ++i) rondeCommDestroy(comms[i]);
  return 0;
}
