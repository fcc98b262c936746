/* What must hold in a C test, or it ends with the library's last error. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "ronde/ronde.h"

#define NEED(condition)                                                                    \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, rondeGetLastError(NULL)); \
      exit(1);                                                                             \
    }                                                                                      \
  } while (0)
