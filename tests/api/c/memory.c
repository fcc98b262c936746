/* Library memory, registration and windows. */
#define _POSIX_C_SOURCE 200809L
#include "api/c/observe.h"
#include "api/c/parts.h"
#include "api/c/ranks.h"

enum { kRanks = 2, kBytes = 10000 };

static void test_allocation(void) {
  void* memory = NULL;
  int other = 0;
  MEET(rondeInvalidArgument, rondeMemAlloc, (NULL, kBytes));
  MEET_UNTOUCHED(rondeInvalidArgument, rondeMemAlloc, (&memory, 0), memory);
  MEET_UNTOUCHED(rondeSystemError, rondeMemAlloc, (&memory, SIZE_MAX / 2), memory);
  MEET(rondeSuccess, rondeMemAlloc, (&memory, kBytes));
  NEED((uintptr_t)memory % 4096 == 0);
  for (int i = 0; i < kBytes; ++i) NEED(((char*)memory)[i] == 0);
  MEET(rondeInvalidArgument, rondeMemFree, (&other));
  MEET(rondeInvalidArgument, rondeMemFree, ((char*)memory + 8));
  MEET(rondeSuccess, rondeMemFree, (memory));
  MEET(rondeInvalidArgument, rondeMemFree, (memory)); /* freed already */
  MEET(rondeSuccess, rondeMemFree, (NULL));
}

static void test_registration(rondeComm_t* comms) {
  void *memory = NULL, *handle = NULL;
  static char ordinary[100];
  MEET(rondeSuccess, rondeMemAlloc, (&memory, kBytes));
  MEET(rondeInvalidArgument, rondeCommRegister, (comms[0], memory, kBytes, NULL));
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommRegister, (comms[0], NULL, kBytes, &handle), handle);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeCommRegister, (comms[0], memory, 0, &handle), handle);
  MEET(rondeSuccess, rondeCommRegister, (comms[0], memory, kBytes, &handle));
  MEET(rondeInvalidUsage, rondeMemFree, (memory)); /* it is registered */
  MEET(rondeInvalidArgument, rondeCommDeregister, (comms[1], handle));
  MEET(rondeSuccess, rondeCommDeregister, (comms[0], handle));
  MEET(rondeInvalidArgument, rondeCommDeregister, (comms[0], handle)); /* gone already */
  MEET(rondeSuccess, rondeMemFree, (memory));
  MEET(rondeSuccess, rondeCommRegister, (comms[0], ordinary, sizeof ordinary, &handle));
  MEET(rondeSuccess, rondeCommDeregister, (comms[0], handle));
}

/* ---- Windows ---------------------------------------------------------------------------------------------------- */

typedef struct {
  rondeComm_t comm;
  void* memory;
  size_t size;
  rondeResult_t result;
  rondeWindow_t window;
} Seat;

static void* register_window(void* user) {
  Seat* seat = user;
  rondeWindow_t const before = seat->window;
  MEET(seat->result, rondeCommWindowRegister, (seat->comm, seat->memory, seat->size, &seat->window, RONDE_WIN_DEFAULT));
  NEED(seat->result == rondeSuccess || seat->window == before);
  return NULL;
}

static void register_both(Seat* seats) {
  pthread_t other = start_thread(register_window, &seats[1]);
  register_window(&seats[0]);
  join_thread(other);
}

static void test_window_arguments(rondeComm_t comm, void* memory) {
  rondeWindow_t window = NULL;
  static int nothing[16];
#define REFUSED(result, arguments) MEET_UNTOUCHED(result, rondeCommWindowRegister, arguments, window)
  MEET(rondeInvalidArgument, rondeCommWindowRegister, (comm, memory, kBytes, NULL, RONDE_WIN_DEFAULT));
  REFUSED(rondeInvalidArgument, (comm, NULL, kBytes, &window, RONDE_WIN_DEFAULT));
  REFUSED(rondeInvalidArgument, (comm, memory, 0, &window, RONDE_WIN_DEFAULT));
  REFUSED(rondeInvalidArgument, (comm, memory, kBytes, &window, 6));
  MEET(rondeSuccess, rondeGroupStart, ());
  REFUSED(rondeInvalidUsage, (comm, memory, kBytes, &window, RONDE_WIN_DEFAULT));
  MEET(rondeSuccess, rondeGroupEnd, ());
#undef REFUSED
  MEET(rondeSuccess, rondeCommWindowDeregister, (comm, NULL));
  MEET(rondeInvalidArgument, rondeCommWindowDeregister, (comm, (rondeWindow_t)(void*)nothing));
}

static void test_windows(rondeComm_t* comms) {
  Seat seats[kRanks];
  const void* peer = NULL;
  for (int rank = 0; rank < kRanks; ++rank) {
    seats[rank] = (Seat){comms[rank], NULL, kBytes, rondeSuccess, NULL};
    MEET(rondeSuccess, rondeMemAlloc, (&seats[rank].memory, kBytes));
    memset(seats[rank].memory, 'a' + rank, kBytes);
  }
  test_window_arguments(comms[0], seats[0].memory);
  for (int rank = 0; rank < kRanks; ++rank) {
    seats[rank].size = (size_t)(kBytes - rank);
    seats[rank].result = rondeInvalidArgument; /* different sizes, told to all */
  }
  register_both(seats);
  for (int rank = 0; rank < kRanks; ++rank) {
    seats[rank].size = kBytes;
    seats[rank].result = rondeSuccess;
  }
  register_both(seats);
  rondeWindow_t const window = seats[0].window;
  MEET(rondeSuccess, rondeGetPeerPointer, (window, 9, 1, &peer));
  NEED(*(const char*)peer == 'b' && ((const char*)peer)[kBytes - 10] == 'b');
  MEET(rondeSuccess, rondeGetPeerPointer, (window, 0, 0, &peer));
  NEED(peer == seats[0].memory);
  MEET(rondeInvalidArgument, rondeGetPeerPointer, (window, 0, 0, NULL));
  MEET_UNTOUCHED(rondeInvalidArgument, rondeGetPeerPointer, (window, kBytes, 0, &peer), peer);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeGetPeerPointer, (window, 0, 2, &peer), peer);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeGetPeerPointer, (window, 0, -1, &peer), peer);
  MEET_UNTOUCHED(rondeInvalidArgument, rondeGetPeerPointer, (NULL, 0, 0, &peer), peer);
  MEET(rondeInvalidUsage, rondeMemFree, (seats[0].memory)); /* it is in a window */
  for (int rank = 0; rank < kRanks; ++rank) {
    MEET(rondeSuccess, rondeCommWindowDeregister, (comms[rank], seats[rank].window));
    MEET(rondeInvalidArgument, rondeCommWindowDeregister, (comms[rank], seats[rank].window));
    MEET(rondeSuccess, rondeMemFree, (seats[rank].memory));
  }
}

/* Before any memory is had: later the setting counts no more. */
static void test_setting(void) {
  void* memory = NULL;
  NEED(setenv("RONDE_MEM_LIMIT", "much", 1) == 0);
  MEET_UNTOUCHED(rondeInvalidUsage, rondeMemAlloc, (&memory, kBytes), memory);
  NEED(unsetenv("RONDE_MEM_LIMIT") == 0);
}

void part_memory(void) {
  rondeComm_t comms[kRanks];
  test_setting();
  test_allocation();
  MEET(rondeSuccess, rondeCommInitAll, (comms, kRanks, NULL));
  test_registration(comms);
  test_windows(comms);
  for (int rank = 0; rank < kRanks; ++rank) MEET(rondeSuccess, rondeCommDestroy, (comms[rank]));
}
