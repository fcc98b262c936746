/* Which library is loaded, and what a refused call says. */
#include <ronde/ronde.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  int version = 0;
  if (rondeGetVersion(&version) != rondeSuccess) return EXIT_FAILURE;
  printf("built against %d, runs with %d\n", RONDE_VERSION_CODE, version);
  if (version / 100 != RONDE_VERSION_CODE / 100) {
    fprintf(stderr, "another minor version: the interface may differ\n");
    return EXIT_FAILURE;
  }

  rondeComm_t comm = RONDE_COMM_NULL;
  if (rondeCommInitAll(&comm, 1, NULL) != rondeSuccess) return EXIT_FAILURE;

  /* A wrong argument: the call has no effect, and the text says what is wrong. Elements are counted, not bytes. */
  float x = 1;
  const rondeResult_t result = rondeAllReduce(&x, NULL, 1, rondeFloat32, rondeSum, comm, NULL);
  printf("%d, %s: %s\n", result, rondeGetErrorString(result), rondeGetLastError(NULL));
  if (result != rondeInvalidArgument || strlen(rondeGetLastError(NULL)) == 0) return EXIT_FAILURE;

  /* It concerns this call alone: a right one takes its place. */
  if (rondeAllReduce(&x, &x, 1, rondeFloat32, rondeSum, comm, NULL) != rondeSuccess || x != 1) return EXIT_FAILURE;
  return rondeCommDestroy(comm) == rondeSuccess ? EXIT_SUCCESS : EXIT_FAILURE;
}
