/* A right call of each function of ronde.h, for what holds for all of them alike. */
#pragma once

#include <stdint.h>

#include "ronde/ronde.h"

enum { kBlock = 8 }; /* elements that each rank gives to each other one */

/* What a call is made with. */
typedef struct {
  rondeComm_t comm;
  rondeStream_t stream;
  rondeEvent_t event;
  int rank; /* of two */
  rondeRedOp_t op;
  void* memory;
  void* handle;
  rondeWindow_t window;
  rondeUniqueId id;
  rondeConfig_t* config;
  float from[2 * kBlock];
  /* What calls write. */
  struct {
    rondeComm_t comms[2];
    rondeStream_t stream;
    rondeEvent_t event;
    rondeRedOp_t op;
    void* memory;
    void* handle;
    rondeWindow_t window;
    const void* peer;
    rondeResult_t error;
    rondeUniqueId id;
    rondeWorld_t world;
    rondeTraffic_t traffic[2];
    uint64_t stat;
    int number;
    char text[RONDE_UNIQUE_ID_TEXT_BYTES];
    float to[2 * kBlock];
  } out;
} Inputs;

enum {
  kUsesComm = 1,
  kUsesStream = 2,
  kUsesEvent = 4,
  kNeverRefused = 8, /* in a forked child */
  kAlways = 16 /* allowed while the communicator starts */,
  kWaits = 32 /* for the other rank, and nothing else: rank 0 cannot end without it */
};
typedef struct {
  const char* function;
  rondeResult_t (*call)(Inputs* in);
  int kind;
} Call;

extern const Call kCalls[];
extern const int kNumberOfCalls;

/* Nothing is written, and all handles are NULL; sizes are set. */
void prepare_inputs(Inputs* in);
/* Makes the call; ends the program unless it returns this, with its outputs as they were. */
void refuse(const Call* call, Inputs* in, rondeResult_t result);
