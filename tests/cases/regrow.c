/* A rank of a job that shrinks when one dies, and grows back with a new process; regrow_test.py starts it and kills.
 * The ranks stand in a grid: each of its rows and columns is a communicator, too, made anew in each round.
 *
 * usage: regrow FOLDER ROUNDS               a rank of the first communicator, from the environment
 *        regrow FOLDER ROUNDS NRANKS ROUND  joins, in that round, as the last of NRANKS, with the id of FOLDER/ROUND
 *
 * Each round begins with a death, which it hears of in reductions over all, its row or its column. Then the first rank
 * that is left leaves an id in FOLDER/ROUND. Prints "ROUND RANK NRANKS" when all are there again and have reduced in
 * all three; round 0 is the first communicator. Exit code 1: something went wrong; 3: wrong data. */
#include <errno.h>
#include <fcntl.h>
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMost = 100000, kReduces = 20, kColumns = 4 };
static const size_t kCounts[] = {1, 1000, kMost};
static int buffer[kMost];

/* The communicators of a round. */
typedef struct {
  rondeComm_t all;
  rondeComm_t row;
  rondeComm_t column;
} Grid;

static void check(rondeResult_t result, const char* what) {
  if (result == rondeSuccess) return;
  fprintf(stderr, "%s: %d %s\n", what, (int)result, rondeGetLastError(NULL));
  exit(1);
}

static rondeResult_t reduce(rondeComm_t comm, int number) {
  const size_t count = kCounts[(size_t)number % (sizeof kCounts / sizeof kCounts[0])];
  int rank = 0;
  int nranks = 0;
  check(rondeCommUserRank(comm, &rank), "rank");
  check(rondeCommCount(comm, &nranks), "count");
  for (size_t i = 0; i < count; ++i) buffer[i] = rank + number % 1000;
  const rondeResult_t result = rondeAllReduce(buffer, buffer, count, rondeInt32, rondeSum, comm, NULL);
  const int sum = nranks * (nranks - 1) / 2 + nranks * (number % 1000);
  for (size_t i = 0; result == rondeSuccess && i < count; ++i) {
    if (buffer[i] == sum) continue;
    fprintf(stderr, "wrong data: element %zu is %d, not %d\n", i, buffer[i], sum);
    exit(3);
  }
  return result;
}

static void path_of(char* path, size_t size, const char* folder, int round, const char* ending) {
  snprintf(path, size, "%s/%d%s", folder, round, ending);
}

/* Appears as a whole. */
static void leave_id(const char* folder, int round, const rondeUniqueId* id) {
  char text[RONDE_UNIQUE_ID_TEXT_BYTES];
  char path[512];
  char part[512];
  path_of(path, sizeof path, folder, round, "");
  path_of(part, sizeof part, folder, round, ".part");
  check(rondeUniqueIdToText(id, text), "rondeUniqueIdToText");
  const int file = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const ssize_t length = (ssize_t)strlen(text);
  if (file < 0 || write(file, text, (size_t)length) != length || close(file) != 0 || rename(part, path) != 0) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(1);
  }
}

static rondeUniqueId find_id(const char* folder, int round) {
  char text[RONDE_UNIQUE_ID_TEXT_BYTES] = "";
  char path[512];
  rondeUniqueId id;
  path_of(path, sizeof path, folder, round, "");
  FILE* file = fopen(path, "r");
  if (file == NULL || fgets(text, sizeof text, file) == NULL) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(1);
  }
  fclose(file);
  check(rondeUniqueIdFromText(text, &id), "rondeUniqueIdFromText");
  return id;
}

static Grid make_grid(rondeComm_t all) {
  Grid grid = {all, NULL, NULL};
  int rank = 0;
  check(rondeCommUserRank(all, &rank), "rank");
  check(rondeCommSplit(all, rank / kColumns, rank, &grid.row, NULL), "rondeCommSplit into rows");
  check(rondeCommSplit(all, rank % kColumns, rank, &grid.column, NULL), "rondeCommSplit into columns");
  return grid;
}

/* Over one after the other. The first error ends it. */
static rondeResult_t reduce_everywhere(const Grid* grid, int number) {
  rondeResult_t result = reduce(grid->row, number);
  if (result == rondeSuccess) result = reduce(grid->column, number);
  return result == rondeSuccess ? reduce(grid->all, number) : result;
}

/* Others may wait for this rank in a row or a column that is whole: they would never hear of the death there. */
static void leave_parts(const Grid* grid) {
  check(rondeCommRevoke(grid->row, RONDE_REVOKE_DEFAULT), "rondeCommRevoke of the row");
  check(rondeCommRevoke(grid->column, RONDE_REVOKE_DEFAULT), "rondeCommRevoke of the column");
}

static void destroy_parts(const Grid* grid) {
  check(rondeCommDestroy(grid->row), "rondeCommDestroy of the row");
  check(rondeCommDestroy(grid->column), "rondeCommDestroy of the column");
}

static void say(const Grid* grid, int round) {
  int rank = 0;
  int nranks = 0;
  for (int i = 0; i < kReduces; ++i) check(reduce_everywhere(grid, i), "reduce");
  check(rondeCommUserRank(grid->all, &rank), "rank");
  check(rondeCommCount(grid->all, &nranks), "count");
  printf("%d %d %d\n", round, rank, nranks);
  fflush(stdout);
}

static rondeComm_t grow_back(rondeComm_t comm, const char* folder, int round) {
  rondeComm_t left = NULL;
  rondeComm_t grown = NULL;
  rondeUniqueId id;
  int rank = 0;
  int nranks = 0;
  check(rondeCommCount(comm, &nranks), "count");
  check(rondeCommShrink(comm, NULL, 0, &left, NULL, RONDE_SHRINK_ABORT), "rondeCommShrink");
  check(rondeCommDestroy(comm), "rondeCommDestroy");
  for (int i = 0; i < kReduces; ++i) check(reduce(left, i), "reduce of those that are left");
  check(rondeCommUserRank(left, &rank), "rank");
  if (rank == 0) {
    check(rondeCommGetUniqueId(left, &id), "rondeCommGetUniqueId");
    leave_id(folder, round, &id);
  }
  check(rondeCommGrow(left, nranks, NULL, -1, &grown, NULL), "rondeCommGrow");
  check(rondeCommDestroy(left), "rondeCommDestroy");
  return grown;
}

int main(int argc, char** argv) {
  if (argc != 3 && argc != 5) return 2;
  const int rounds = atoi(argv[2]);
  int round = 0;
  rondeComm_t comm = NULL;
  if (argc == 3) {
    rondeWorld_t world = {sizeof(world), 0, 0, 0, 0};
    rondeUniqueId id;
    check(rondeGetWorldFromEnv(&world, &id), "rondeGetWorldFromEnv");
    check(rondeCommInitRank(&comm, world.nranks, id, world.rank), "rondeCommInitRank");
  } else {
    const int nranks = atoi(argv[3]);
    round = atoi(argv[4]);
    const rondeUniqueId id = find_id(argv[1], round);
    check(rondeCommGrow(NULL, nranks, &id, nranks - 1, &comm, NULL), "rondeCommGrow of a rank that joins");
  }
  Grid grid = make_grid(comm);
  say(&grid, round);
  while (round < rounds) {
    rondeResult_t result = rondeSuccess;
    for (int i = 0; result == rondeSuccess; ++i) result = reduce_everywhere(&grid, i);
    if (result != rondePeerLost && result != rondeRevoked) check(result, "the death");
    leave_parts(&grid);
    comm = grow_back(grid.all, argv[1], ++round);
    destroy_parts(&grid);
    grid = make_grid(comm);
    say(&grid, round);
  }
  check(rondeBarrier(comm, NULL), "the end");
  destroy_parts(&grid);
  check(rondeCommDestroy(comm), "rondeCommDestroy");
  return 0;
}
