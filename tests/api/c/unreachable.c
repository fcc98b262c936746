/* rondePeerUnreachable: a host that falls silent. The ranks are two processes in a network of their own, whose loopback
 * goes down under them. */
#define _GNU_SOURCE
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/c/calls.h"
#include "api/c/observe.h"
#include "api/c/parts.h"
#include "api/c/ranks.h"

static void set_loopback(int up) {
  struct ifreq request;
  const int any = socket(AF_INET, SOCK_DGRAM, 0);
  memset(&request, 0, sizeof request);
  strcpy(request.ifr_name, "lo");
  NEED(any >= 0 && ioctl(any, SIOCGIFFLAGS, &request) == 0);
  request.ifr_flags = (short)(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
  NEED(ioctl(any, SIOCSIFFLAGS, &request) == 0);
  close(any);
}

/* What is on its way as the host falls silent. */
enum { kStreams = 3 };
static void call_on_streams(rondeComm_t comm, rondeStream_t* streams) {
  static float values[2];
  for (int i = 0; i < kStreams; ++i) {
    MEET(rondeSuccess, rondeStreamCreate, (&streams[i]));
    MEET(rondeSuccess, rondeAllReduce, (&values[0], &values[1], 1, rondeFloat, rondeSum, comm, streams[i]));
  }
}

static void hear_from_streams(rondeStream_t* streams) {
  rondeResult_t result = rondeInProgress;
  MEET_TEXT(rondePeerUnreachable, rondeStreamSynchronize, (streams[0]), "rank 1");
  while ((result = rondeStreamQuery(streams[1])) == rondeInProgress) sleep_ms(1);
  observe(__FILE__, __LINE__, "rondeStreamQuery", rondePeerUnreachable, result, "is silent");
  MEET(rondePeerUnreachable, rondeStreamDestroy, (streams[2]));
  for (int i = 0; i < 2; ++i) MEET(rondeSuccess, rondeStreamDestroy, (streams[i]));
}

static void later_calls(rondeComm_t comm) {
  Inputs in;
  prepare_inputs(&in);
  in.comm = comm;
  for (int i = 0; i < kNumberOfCalls; ++i) {
    if (kCalls[i].kind & kWaits) refuse(&kCalls[i], &in, rondePeerUnreachable);
  }
  MEET(rondePeerUnreachable, rondeCommGetUniqueId, (comm, &in.out.id));
  MEET(rondeSuccess, rondeGroupStart, ());
  MEET(rondePeerUnreachable, rondeBarrier, (comm, NULL));
  MEET(rondePeerUnreachable, rondeGroupEnd, ());
  MEET(rondePeerUnreachable, rondeCommFinalize, (comm));
}

void part_unreachable(void) {
  rondeUniqueId id;
  rondeComm_t comm = NULL;
  rondeStream_t streams[kStreams];
  char line[20];
  if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
    observe_nothing(rondePeerUnreachable, "no network namespace can be had");
  set_loopback(1);
  NEED(setenv("RONDE_SOCKET_IFNAME", "lo", 1) == 0 && setenv("RONDE_TRANSPORT", "tcp", 1) == 0);
  NEED(setenv("RONDE_SILENT_TIMEOUT", "5", 1) == 0);
  MEET(rondeSuccess, rondeGetUniqueId, (&id));
  Helper helper = start_helper("waits", &id, 1);
  MEET(rondeSuccess, rondeCommInitRank, (&comm, 2, id, 0));
  read_line(&helper, line, sizeof line); /* it is ready, too */
  call_on_streams(comm, streams);
  set_loopback(0);
  hear_from_streams(streams);
  later_calls(comm);
  MEET(rondeSuccess, rondeCommDestroy, (comm));
  kill_helper(&helper);
}

/* Ranks 1, 2, 4 and 5 of six are all that rank 0 has a connection to: without them nothing leads to rank 3. */
void part_cut_off(void) {
  enum { kRanks = 6 };
  rondeComm_t comms[kRanks], next = NULL;
  MEET(rondeSuccess, rondeCommInitAll, (comms, kRanks, NULL));
  for (int rank = 1; rank < kRanks; ++rank) {
    if (rank != 3) MEET(rondeSuccess, rondeCommDestroy, (comms[rank]));
  }
  sleep_ms(100);
  MEET_UNTOUCHED(rondePeerUnreachable, rondeCommShrink, (comms[0], NULL, 0, &next, NULL, RONDE_SHRINK_DEFAULT), next);
  NEED(strstr(rondeGetLastError(NULL), "rank 3") != NULL);
  MEET(rondeSuccess, rondeCommDestroy, (comms[0]));
  MEET(rondeSuccess, rondeCommDestroy, (comms[3]));
}

void helper_waits(int rank) {
  rondeComm_t comm = NULL;
  MEET(rondeSuccess, rondeCommInitRank, (&comm, rank + 1, read_id(), rank));
  say("ready");
  wait_for_end_of_input();
  MEET(rondeSuccess, rondeCommDestroy, (comm));
}
