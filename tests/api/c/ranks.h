/* Ranks as threads and as processes, and limits under which they live. */
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include "ronde/ronde.h"

void sleep_ms(int milliseconds);

/* Ends the program if it is still running after so many seconds. Each process of a part calls it once. */
void end_after(int seconds);

/* Threads, which end well or not at all. */
pthread_t start_thread(void* (*body)(void*), void* user);
void join_thread(pthread_t thread);

/* A process: this program once more in a role (main.c), which reads `input` (ids as text) from its standard input. */
typedef struct {
  pid_t pid;
  int input;  /* open until it is ended: a helper that is to wait reads it to its end */
  int output; /* what it says */
} Helper;

Helper start_helper(const char* role, const rondeUniqueId* id, int rank);
/* One line of it, without the end of the line; the program ends if there is none. */
void read_line(const Helper* helper, char* line, size_t size);
/* It may end, and must with this exit code. */
void end_helper(Helper* helper, int exit_code);
void kill_helper(Helper* helper);

/* In a helper. */
rondeUniqueId read_id(void);
void say(const char* line);
void wait_for_end_of_input(void);

/* The most open files from now on: none more than there are. Gives what was allowed before. */
int forbid_new_files(void);
void allow_files(int number);

/* The address sanitizer is not to look for leaks as this process ends. */
void look_for_no_leaks(void);

/* The process becomes a user who may have no further thread; 0 if that cannot be. */
int forbid_new_threads(void);
