#define _GNU_SOURCE
#include "api/c/ranks.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/c/observe.h"

void sleep_ms(int milliseconds) {
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  while (nanosleep(&time, &time) != 0 && errno == EINTR) continue;
}

static void too_late(int number) {
  static const char text[] = "this part of the program has not ended in time\n";
  (void)number;
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(2);
  abort(); /* leaves a core file, where they are wanted */
}

void end_after(int seconds) {
  signal(SIGALRM, too_late);
  alarm((unsigned)seconds);
}

pthread_t start_thread(void* (*body)(void*), void* user) {
  pthread_t thread;
  NEED(pthread_create(&thread, NULL, body, user) == 0);
  return thread;
}

void join_thread(pthread_t thread) { NEED(pthread_join(thread, NULL) == 0); }

/* ---- Processes -------------------------------------------------------------------------------------------------- */

Helper start_helper(const char* role, const rondeUniqueId* id, int rank) {
  int input[2], output[2];
  char number[16], text[RONDE_UNIQUE_ID_TEXT_BYTES] = "";
  NEED(pipe(input) == 0 && pipe(output) == 0);
  snprintf(number, sizeof number, "%d", rank);
  if (id != NULL) NEED(rondeUniqueIdToText(id, text) == rondeSuccess);
  Helper helper = {fork(), input[1], output[0]};
  NEED(helper.pid >= 0);
  if (helper.pid == 0) {
    dup2(input[0], STDIN_FILENO);
    dup2(output[1], STDOUT_FILENO);
    for (int i = 0; i < 2; ++i) {
      close(input[i]);
      close(output[i]);
    }
    execl("/proc/self/exe", "api_c", "helper", role, number, (char*)NULL);
    _exit(127);
  }
  close(input[0]);
  close(output[1]);
  if (id != NULL) NEED(dprintf(helper.input, "%s\n", text) > 0);
  return helper;
}

void read_line(const Helper* helper, char* line, size_t size) {
  size_t length = 0;
  while (length + 1 < size && read(helper->output, line + length, 1) == 1 && line[length] != '\n') ++length;
  line[length] = '\0';
  NEED(length > 0);
}

void end_helper(Helper* helper, int exit_code) {
  int status = 0;
  close(helper->input);
  NEED(waitpid(helper->pid, &status, 0) == helper->pid);
  NEED(WIFEXITED(status) && WEXITSTATUS(status) == exit_code);
  close(helper->output);
}

void kill_helper(Helper* helper) {
  int status = 0;
  NEED(kill(helper->pid, SIGKILL) == 0 && waitpid(helper->pid, &status, 0) == helper->pid);
  close(helper->input);
  close(helper->output);
}

rondeUniqueId read_id(void) {
  char text[RONDE_UNIQUE_ID_TEXT_BYTES + 1];
  rondeUniqueId id;
  NEED(fgets(text, sizeof text, stdin) != NULL);
  NEED(rondeUniqueIdFromText(text, &id) == rondeSuccess);
  return id;
}

void say(const char* line) { NEED(dprintf(STDOUT_FILENO, "%s\n", line) > 0); }

void wait_for_end_of_input(void) {
  while (fgetc(stdin) != EOF) continue;
}

/* ---- Limits ----------------------------------------------------------------------------------------------------- */

int forbid_new_files(void) {
  struct rlimit limit;
  NEED(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const int before = (int)limit.rlim_cur;
  limit.rlim_cur = 0; /* those that are open stay */
  NEED(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  return before;
}

void allow_files(int number) {
  struct rlimit limit;
  NEED(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = (rlim_t)number;
  NEED(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* The address sanitizer asks here. */
static int no_leaks = 0;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return no_leaks; }
void look_for_no_leaks(void) { no_leaks = 1; }

/* The limit counts the processes of a user, and root has none. */
int forbid_new_threads(void) {
  enum { kNobodyElse = 61974 };
  const struct rlimit none = {1, 1};
  if (getuid() == 0 && setuid(kNobodyElse) != 0) return 0;
  return setrlimit(RLIMIT_NPROC, &none) == 0;
}
