/* What holds for all functions alike: handles that are none, communicators that start or could not, forked children. */
#define _POSIX_C_SOURCE 200809L
#include <sys/wait.h>
#include <unistd.h>

#include "api/c/calls.h"
#include "api/c/observe.h"
#include "api/c/parts.h"
#include "api/c/ranks.h"

/* For prints of what fails. */
static int is(const Call* call, const char* function) { return strcmp(call->function, function) == 0; }

static int null_is_allowed(const Call* call) {
  return is(call, "rondeCommDestroy") || is(call, "rondeStreamDestroy") || is(call, "rondeEventDestroy");
}

/* NULL, and memory that is no such thing. */
static void test_no_handles(const Inputs* right) {
  static int nothing[16];
  for (int i = 0; i < kNumberOfCalls; ++i) {
    const Call* call = &kCalls[i];
    for (int kind = kUsesComm; kind <= kUsesEvent; kind *= 2) {
      if ((call->kind & kind) == 0) continue;
      for (int with_null = 0; with_null < 2; ++with_null) {
        Inputs in = *right;
        void* handle = with_null ? NULL : nothing;
        if (kind == kUsesComm) in.comm = handle;
        if (kind == kUsesStream) in.stream = handle;
        if (kind == kUsesEvent) in.event = handle;
        if (with_null && null_is_allowed(call)) {
          observe(__FILE__, __LINE__, call->function, rondeSuccess, call->call(&in), NULL);
        } else {
          refuse(call, &in, rondeInvalidArgument);
        }
      }
    }
  }
  /* A stream that is none, of an operation. */
  for (int i = 0; i < kNumberOfCalls && !is(&kCalls[i], "rondeCommSplit"); ++i) {
    Inputs in = *right;
    in.stream = (rondeStream_t)(void*)nothing;
    refuse(&kCalls[i], &in, rondeInvalidArgument);
  }
}

/* Each function that is not allowed while a communicator starts returns this, and has no effect. */
static void all_return(Inputs* in, rondeResult_t result) {
  for (int i = 0; i < kNumberOfCalls; ++i) {
    const Call* call = &kCalls[i];
    if ((call->kind & kUsesComm) == 0 || (call->kind & kAlways) != 0) continue;
    refuse(call, in, result);
  }
}

static void test_start_that_takes_long(void) {
  Inputs in;
  rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
  rondeUniqueId id;
  rondeResult_t error = rondeSuccess;
  prepare_inputs(&in);
  config.blocking = 0;
  config.initTimeoutSeconds = 2;
  MEET(rondeSuccess, rondeGetUniqueId, (&id));
  MEET(rondeInProgress, rondeCommInitRankConfig, (&in.comm, 2, id, 0, &config)); /* the other one never comes */
  MEET(rondeSuccess, rondeCommGetAsyncError, (in.comm, &error));
  NEED(error == rondeInProgress);
  all_return(&in, rondeInProgress);
  while (error == rondeInProgress) {
    sleep_ms(10);
    MEET(rondeSuccess, rondeCommGetAsyncError, (in.comm, &error));
  }
  NEED(error == rondeTimedOut);
  NEED(strstr(USE(rondeGetLastError)(in.comm), "rank 1") != NULL);
  all_return(&in, rondeTimedOut);
  MEET(rondeSuccess, rondeCommAbort, (in.comm));
  MEET(rondeSuccess, rondeCommDestroy, (in.comm));
}

static void test_forked_child(Inputs* in) {
  const pid_t child = fork();
  NEED(child >= 0);
  if (child == 0) {
    look_for_no_leaks(); /* what the parent's threads hold is out of reach */
    for (int i = 0; i < kNumberOfCalls; ++i) {
      if (kCalls[i].kind & kNeverRefused) continue;
      refuse(&kCalls[i], in, rondeInvalidUsage);
      NEED(strstr(rondeGetLastError(NULL), "fork") != NULL);
    }
    NEED(strstr(rondeGetLastError(in->comm), "fork") != NULL);
    MEET(rondeSuccess, rondeCommDestroy, (NULL));
    exit(0);
  }
  int status = -1;
  NEED(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void part_all_alike(void) {
  Inputs in;
  rondeComm_t comms[2];
  prepare_inputs(&in);
  MEET(rondeSuccess, rondeCommInitAll, (comms, 2, NULL));
  MEET(rondeSuccess, rondeStreamCreate, (&in.stream));
  MEET(rondeSuccess, rondeEventCreate, (&in.event));
  MEET(rondeSuccess, rondeGetUniqueId, (&in.id));
  MEET(rondeSuccess, rondeMemAlloc, (&in.memory, kBlock));
  in.window = (rondeWindow_t)(void*)&in; /* not looked at where the rest is wrong */
  in.comm = comms[0];
  test_no_handles(&in);
  test_forked_child(&in);
  /* The parent goes on. */
  float value = 1;
  MEET(rondeSuccess, rondeAllReduce, (&value, &value, 1, rondeFloat, rondeSum, comms[0], in.stream));
  MEET(rondeSuccess, rondeAllReduce, (&value, &value, 1, rondeFloat, rondeSum, comms[1], NULL));
  MEET(rondeSuccess, rondeStreamSynchronize, (in.stream));
  for (int rank = 0; rank < 2; ++rank) MEET(rondeSuccess, rondeCommDestroy, (comms[rank]));
  MEET(rondeSuccess, rondeStreamDestroy, (in.stream));
  MEET(rondeSuccess, rondeEventDestroy, (in.event));
  MEET(rondeSuccess, rondeMemFree, (in.memory));
  test_start_that_takes_long();
}
