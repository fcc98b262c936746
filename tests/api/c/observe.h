/* What the functions of ronde.h return, as this program observes it. Each pair of a function and a result is written to
 * the file that TEST_OBSERVED names, when it is met first; errors_test.py compares them with what the header says. */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ronde/ronde.h"

/* What must hold, or the program ends with the library's last error. Any thread. */
#define NEED(condition)                                               \
  do {                                                                \
    if (!(condition)) observed_wrong(__FILE__, __LINE__, #condition); \
  } while (0)

/* The function, called with these arguments (in parentheses), returns this result. The text of an error of one call
 * names the function; that of one that concerns all ranks is not empty. */
#define MEET(result, function, arguments) observe(__FILE__, __LINE__, #function, result, function arguments, NULL)

/* The same; text: what that of the error says, with or without the function's name. */
#define MEET_TEXT(result, function, arguments, text) \
  observe(__FILE__, __LINE__, #function, result, function arguments, text)

/* The same as MEET; output is a variable that the function is to write, and must not as it fails. */
#define MEET_UNTOUCHED(result, function, arguments, output)                                 \
  do {                                                                                      \
    unsigned char before_[sizeof(output)];                                                  \
    memcpy(before_, &(output), sizeof before_);                                             \
    observe(__FILE__, __LINE__, #function, result, function arguments, NULL);               \
    if (memcmp(before_, &(output), sizeof before_) != 0)                                    \
      observed_wrong(__FILE__, __LINE__, #function " has failed and has written " #output); \
  } while (0)

/* A function that returns no result. */
#define USE(function) (observe_use(#function), function)

void observe(const char* file, int line, const char* function, rondeResult_t wanted, rondeResult_t got,
             const char* text);
void observe_use(const char* function);
/* The part cannot bring about this result here; ends the program. */
_Noreturn void observe_nothing(rondeResult_t result, const char* why);
_Noreturn void observed_wrong(const char* file, int line, const char* what);

/* "rondeSuccess" for rondeSuccess. */
const char* name_of_result(rondeResult_t result);
