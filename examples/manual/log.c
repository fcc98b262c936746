/* Messages of the library go to the program's own log. */
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  FILE* file;
  int messages;
} Journal;

/* Any thread of the library calls it, one at a time. It must not call the library. */
static void note(rondeLogLevel_t level, const char* message, void* user) {
  static const char* const names[] = {"", "warning", "info", "trace"};
  Journal* const journal = user;
  fprintf(journal->file, "[%s] %s\n", names[level], message);
  ++journal->messages;
}

int main(void) {
  Journal journal = {stdout, 0};
  if (rondeSetLogCallback(note, &journal) != rondeSuccess) return EXIT_FAILURE;
  if (rondeSetLogLevel(rondeLogInfo) != rondeSuccess) return EXIT_FAILURE;

  rondeComm_t comms[2];
  if (rondeCommInitAll(comms, 2, NULL) != rondeSuccess) return EXIT_FAILURE;
  for (int rank = 0; rank < 2; ++rank) {
    if (rondeCommDestroy(comms[rank]) != rondeSuccess) return EXIT_FAILURE;
  }

  /* Before the journal goes: back to stderr. */
  if (rondeSetLogCallback(NULL, NULL) != rondeSuccess) return EXIT_FAILURE;
  printf("%d messages\n", journal.messages);
  return journal.messages > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
