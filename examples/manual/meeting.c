/* Ranks without a launcher: a program starts another process and hands it the id through a pipe. */
#define _POSIX_C_SOURCE 200809L
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(rondeResult_t result) {
  if (result == rondeSuccess) return;
  fprintf(stderr, "%s\n", rondeGetLastError(NULL));
  exit(EXIT_FAILURE);
}

/* Joins as one of two ranks, and adds 1 and 2. */
static int work(rondeUniqueId id, int rank) {
  rondeComm_t comm = RONDE_COMM_NULL;
  check(rondeCommInitRank(&comm, 2, id, rank));
  int number = rank + 1;
  check(rondeAllReduce(&number, &number, 1, rondeInt32, rondeSum, comm, NULL));
  printf("rank %d: the sum is %d\n", rank, number);
  check(rondeCommDestroy(comm));
  return number == 3 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(void) {
  int ends[2];
  if (pipe(ends) != 0) return EXIT_FAILURE;
  /* Before the first call of the library: a child of a process that has called it cannot use it. */
  const pid_t child = fork();
  if (child < 0) return EXIT_FAILURE;

  char text[RONDE_UNIQUE_ID_TEXT_BYTES] = "";
  rondeUniqueId id;
  if (child == 0) {
    close(ends[1]);
    FILE* const from_parent = fdopen(ends[0], "r");
    if (from_parent == NULL || fgets(text, sizeof(text), from_parent) == NULL) return EXIT_FAILURE;
    check(rondeUniqueIdFromText(text, &id));
    return work(id, 1);
  }
  close(ends[0]);
  check(rondeGetUniqueId(&id));
  check(rondeUniqueIdToText(&id, text));
  /* Through a pipe, not on a command line, which everybody on the machine can read: it holds the secret. */
  if (write(ends[1], text, sizeof(text) - 1) != (ssize_t)sizeof(text) - 1) return EXIT_FAILURE;
  close(ends[1]);
  const int done = work(id, 0);
  int status = 0;
  waitpid(child, &status, 0);
  return done == EXIT_SUCCESS && status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
