/* Ronde: collective communication for host memory. The C API, the only public contract of the library.
 *
 * Conventions, valid for the whole header:
 *
 *  1. Names, argument order and numeric values follow nccl.h (2.28), with the prefix "ronde".
 *  2. Every function returns a rondeResult_t unless it says otherwise. Outputs are written only on success.
 *  3. Every rank of a communicator calls the same collectives with the same count, type, reduction and root in the same
 *     order and, where they group all-reduces, in equal groups. What differs is an error on all ranks that says what
 *     each of them called; so is a rank that is finalized or destroyed while others still wait for it.
 *  4. Threads: different communicators may be used from different threads at the same time. Calls on one communicator
 *     are made by one thread at a time, except rondeCommAbort, rondeCommRevoke, rondeCommGetAsyncError,
 *     rondeCommGetFailedRanks and rondeGetLastError, which any thread may call at any moment before the communicator is
 *     destroyed.
 *  5. Buffer life: with stream NULL a call returns when its result is complete and both buffers are the caller's again.
 *     With a stream, and inside a group, both buffers belong to the library until the stream is synchronized (or an
 *     event behind the call is reached, or a host function behind it is called), or until rondeGroupEnd has returned
 *     for calls with stream NULL. So it is with calls that fail, too. The send buffer is never written.
 *  6. A wrong argument seen by one rank alone makes that call return at once without effect: the other ranks wait, and
 *     a right call takes its place. After an error that concerns all ranks (100 and above, rondeRemoteError) every
 *     later call on that communicator that is right in itself returns the same error; abort it, or destroy it, and make
 *     a new one.
 *  7. Counts are elements, never bytes. Sizes are bytes. Times are as their names say.
 *  8. The library never writes to stdout. Warnings go to stderr, or to RONDE_LOG_FILE, or to a callback.
 *  9. fork: a child of a process that has called the library may live, exit and exec as it likes, and does the parent
 *     no harm: it has none of the library's files and connections. It cannot use the library itself
 *     (rondeInvalidUsage): fork before the first call, or exec. (Children of vfork, posix_spawn or a bare clone must
 *     exec.)
 * 10. The first call that needs them raises the process's soft limit of open files to the hard one (65,536 at
 *     most).
 * 11. Errors that are not repeated with each function: rondeInvalidArgument where a handle, or a pointer to what is
 *     read or written, is NULL, unless NULL is allowed, and where a handle is a small number, or, as far as the
 *     memory of what was freed can tell, one that was destroyed; rondeInProgress, or the error of its start, for a
 *     communicator that is not ready (see rondeCommInitRankConfig); rondeInvalidUsage in a forked child (9);
 *     rondeSystemError where memory is at an end.
 */
#ifndef RONDE_RONDE_H_
#define RONDE_RONDE_H_

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define RONDE_MAJOR 0
#define RONDE_MINOR 1
#define RONDE_PATCH 0
#define RONDE_VERSION(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))
#define RONDE_VERSION_CODE RONDE_VERSION(RONDE_MAJOR, RONDE_MINOR, RONDE_PATCH)

#if defined(__GNUC__)
#define RONDE_API __attribute__((visibility("default")))
#else
#define RONDE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Types ------------------------------------------------------------------------------------------------------ */

/* What the functions take and return: handles, results, element types and reductions. */

/* A communicator as one rank sees it. Opaque. */
typedef struct rondeComm* rondeComm_t;
#define RONDE_COMM_NULL NULL

/* An in-order queue of operations on host memory. Opaque. NULL: run in the calling thread and return when done. */
typedef struct rondeStream* rondeStream_t;

/* What the ranks of a communicator must share to find and to trust each other: addresses, a port, a 256-bit secret.
 * Keep it as secret as a password, and overwrite it (explicit_bzero) once rondeCommInitRank has returned and no other
 * rank needs it from here: the library's own copy is in no core dump, but this one is. */
#define RONDE_UNIQUE_ID_BYTES 128
typedef struct {
  char internal[RONDE_UNIQUE_ID_BYTES];
} rondeUniqueId;

/* Length of the text form of an id, terminating NUL included: "ronde1:" and two hexadecimal digits a byte. */
#define RONDE_UNIQUE_ID_TEXT_BYTES (7 + 2 * RONDE_UNIQUE_ID_BYTES + 1)

/* What a function has to say of how it ended. */
typedef enum {
  rondeSuccess = 0,
  rondeUnhandledCudaError = 1, /* a CUDA call failed; not without devices */
  rondeSystemError = 2,        /* the operating system refused something; the last error text says what and why */
  rondeInternalError = 3,      /* a fault of the library */
  rondeInvalidArgument = 4,    /* one argument is wrong in itself */
  rondeInvalidUsage = 5,       /* arguments are right, but not now or not together; or a setting is wrong */
  rondeRemoteError = 6,        /* another rank failed for a reason of its own */
  rondeInProgress = 7,         /* not an error: not ended yet */
  rondeNumResults = 8,         /* the number of results that NCCL has too */
  /* Results that NCCL does not have. */
  rondePeerLost = 100,        /* the process of another rank has ended, or it has left while it was needed */
  rondePeerUnreachable = 101, /* the host of another rank, or the way to it, is silent */
  rondeMismatch = 102,        /* the ranks called different operations */
  rondeAborted = 103,         /* this communicator was aborted on this rank */
  rondeTimedOut = 104,        /* a deadline passed: start-up, or a rank that never came */
  rondeRevoked = 105          /* a rank has revoked this communicator */
} rondeResult_t;

/* Element types. float16 is IEEE binary16, bfloat16 the upper half of a binary32, float8 the OCP formats. */
typedef enum {
  rondeInt8 = 0,
  rondeChar = 0,
  rondeUint8 = 1,
  rondeInt32 = 2,
  rondeInt = 2,
  rondeUint32 = 3,
  rondeInt64 = 4,
  rondeUint64 = 5,
  rondeFloat16 = 6,
  rondeHalf = 6,
  rondeFloat32 = 7,
  rondeFloat = 7,
  rondeFloat64 = 8,
  rondeDouble = 8,
  rondeBfloat16 = 9,
  rondeFloat8e4m3 = 10,
  rondeFloat8e5m2 = 11,
  rondeNumTypes = 12,
  /* So that every int is a value of the type: a wrong one is refused, not undefined. */
  rondeMinDataType = INT_MIN,
  rondeMaxDataType = INT_MAX
} rondeDataType_t;

/* Reductions, and what they do at the edges:
 *
 *  - Integers: sum and product are taken modulo 2^bits; nothing is undefined on overflow.
 *  - Integer average: the sum modulo 2^bits, read as the type, then divided by the number of ranks and cut toward zero
 *    (four ranks with 250 in uint8: 1000 mod 256 = 232, 232 / 4 = 58).
 *  - Bitwise and, or, exclusive or: integer types only, the sign bit like any other; with a float type an operation is
 *    refused with rondeInvalidArgument. NCCL does not have them: their numbers are far from those that it gives out.
 *  - Float average: each input is multiplied by 1/n before its first rounding, in float32 (float64 for float64), so
 *    that it does not overflow where the sum would. (float16: four ranks with 60000 give 60000.)
 *  - Minimum and maximum of floats: NaN if any input is NaN.
 *  - 16-bit floats and float8 are widened to float32 for each step of arithmetic and rounded to nearest, ties to even.
 *    Where an algorithm sees all inputs at once (in one node: one_shot, two_shot; star) the sum is rounded once. On the
 *    ring each hop rounds: the error of a sum is at most (n-1) * u * (sum of the magnitudes), u = 2^-8 for bfloat16,
 *    2^-11 for float16, 2^-4 for e4m3, 2^-3 for e5m2. RONDE_ACCUMULATE=float32 sends float32 partial sums instead and
 *    rounds once, everywhere.
 *  - float8 results beyond the greatest finite value become that value with their sign (448 for e4m3, 57344 for e5m2);
 *    NaN stays NaN.
 *  - All ranks receive the same bits. The same build, settings, ranks, layout and count give the same bits in each run.
 */
typedef enum {
  rondeSum = 0,
  rondeProd = 1,
  rondeMax = 2,
  rondeMin = 3,
  rondeAvg = 4,
  rondeNumOps = 5, /* the number of built-in reductions that NCCL has too */
  /* Reductions that NCCL does not have. */
  rondeBitAnd = 0x40000000,
  rondeBitOr = 0x40000001,
  rondeBitXor = 0x40000002,
  rondeMinRedOp = INT_MIN, /* every int is a value of the type */
  rondeMaxRedOp = INT_MAX
} rondeRedOp_t;

/* A reduction of the program's own: result[i] = left[i] op right[i] for all i below count.
 *
 *  - left, right: inputs of ranks, or what the function made of such. Given as not commutative: all of left is from
 *    lower ranks than all of right. Given as commutative: in any order. Pairs are chosen as if op were associative.
 *  - left, right, result: count elements of datatype each, aligned as their type needs it even where buffers are not.
 *    result may be equal to left or to right, and does not overlap them in any other way. Only result may be written,
 *    and it must not be read where it is equal to neither.
 *  - count: at least 1. The library cuts the elements of an operation into parts as it likes and hands them over in any
 *    order. What an element becomes must depend on left[i] and right[i] alone, else ranks end with different bits.
 *  - datatype: that of the operation. Partial results have it too, with every setting, and are rounded as the function
 *    rounds them.
 *  - user: the pointer that was given with the function. Neither copied nor read by the library.
 *  - Thread: whichever drives the operation, be it one of the program or of the library. Operations of different
 *    communicators or streams may call the function at the same time. While it runs the rank does nothing else for the
 *    operation.
 *  - The function must return: no exception, no longjmp. It must not call the library. */
typedef void (*rondeReduceFunction_t)(const void* left, const void* right, void* result, size_t count,
                                      rondeDataType_t datatype, void* user);

/* ---- Version and errors ----------------------------------------------------------------------------------------- */

/* Which library is loaded, and the texts of what goes wrong. */

/* Writes RONDE_VERSION_CODE of the library that is loaded. rondeInvalidArgument: version is NULL. */
RONDE_API rondeResult_t rondeGetVersion(int* version);

/* A short constant text for a result. Never NULL; "unknown result" for a number that is none. */
RONDE_API const char* rondeGetErrorString(rondeResult_t result);

/* The text of an error. It names operation, ranks, cause and remedy. With a communicator: the first error that concerns
 * it on all ranks; as long as there is none, like NULL. With NULL: the last error that a call of this thread returned,
 * for whatever object (rondeInProgress is none). Empty if there was none. Valid until the calling thread asks again. */
RONDE_API const char* rondeGetLastError(rondeComm_t comm);

/* ---- Log -------------------------------------------------------------------------------------------------------- */

/* How much the library tells, and where to. */

/* How much is told: messages of this level and those above it in the list. */
typedef enum {
  rondeLogNone = 0,
  rondeLogWarn = 1,           /* default: what a user should act on */
  rondeLogInfo = 2,           /* what was chosen, and why */
  rondeLogTrace = 3,          /* each step of start-up and each operation */
  rondeMinLogLevel = INT_MIN, /* every int is a value of the type */
  rondeMaxLogLevel = INT_MAX
} rondeLogLevel_t;

/* Called for each message at or below the level, by any thread, one call at a time. message has no final newline and is
 * valid during the call only. The callback must not call the library. */
typedef void (*rondeLogCallback_t)(rondeLogLevel_t level, const char* message, void* user);

/* Sets the level for the whole process; overrides RONDE_DEBUG. rondeInvalidArgument: no such level. */
RONDE_API rondeResult_t rondeSetLogLevel(rondeLogLevel_t level);

/* Sends the messages of the whole process to callback; NULL returns to stderr or RONDE_LOG_FILE. */
RONDE_API rondeResult_t rondeSetLogCallback(rondeLogCallback_t callback, void* user);

/* ---- Meeting ---------------------------------------------------------------------------------------------------- */

/* How ranks find each other: one process makes an id, which all of them join with. Under a launcher
 * rondeGetWorldFromEnv obtains it, and nothing is handed over by hand. */

/* Makes an id and starts to listen for the ranks that will join with it. Called by one process, which hands the id to
 * all ranks by any means. That process must live until all of them have returned from rondeCommInitRank, and should
 * outlive them: it also tells the others when one of them dies. An id is good for one communicator; one that nobody
 * uses keeps its port for RONDE_INIT_TIMEOUT seconds.
 * Errors: rondeInvalidArgument (NULL), rondeInvalidUsage (a setting), rondeSystemError (no port can be had). */
RONDE_API rondeResult_t rondeGetUniqueId(rondeUniqueId* id);

/* The text form of an id, for argument files and pipes (not for command lines: it holds the secret). text has room for
 * RONDE_UNIQUE_ID_TEXT_BYTES. */
RONDE_API rondeResult_t rondeUniqueIdToText(const rondeUniqueId* id, char* text);

/* Reads the text form; white space around it is allowed. rondeInvalidArgument: it is not an id; the last error says
 * where. */
RONDE_API rondeResult_t rondeUniqueIdFromText(const char* text, rondeUniqueId* id);

/* The place of this process in the job that started it. */
typedef struct {
  size_t size; /* sizeof(rondeWorld_t), set by the caller */
  int nranks;
  int rank;
  int localRank;   /* number among the processes of this host */
  int localNranks; /* processes of this job on this host; 0 if the launcher does not tell */
} rondeWorld_t;

/* Reads from the environment of ronderun, mpirun (Open MPI, MPICH), srun or torchrun who this process is, and obtains
 * the id of a first communicator over all processes of the job. Without any launcher: one rank.
 *
 * ronderun hands over the id itself. Other launchers: on one host the processes find each other through a Unix socket
 * of the same user; for several hosts set MASTER_ADDR, MASTER_PORT (or RONDE_PORT) and RONDE_SECRET_FILE, a file of
 * mode 0600 with at least 32 bytes, of this user or of root, that is the same on all hosts.
 *
 * An id may be used by more ranks than there are processes (several ranks in each): nranks is what rondeCommInitRank is
 * given. Blocks until the id is known, at most RONDE_INIT_TIMEOUT seconds. Each call gives a new id where the launcher
 * allows that, and rondeInvalidUsage otherwise (ronderun and RONDE_SECRET_FILE: once a process).
 * Errors: rondeInvalidArgument, rondeInvalidUsage (the text names the variable that is missing or wrong),
 * rondeTimedOut, rondeSystemError. */
RONDE_API rondeResult_t rondeGetWorldFromEnv(rondeWorld_t* world, rondeUniqueId* id);

/* ---- Communicators ---------------------------------------------------------------------------------------------- */

/* Making communicators, and ending them. */

#define RONDE_CONFIG_UNDEF_INT INT_MIN
#define RONDE_CONFIG_UNDEF_PTR NULL

/* A communicator's kind of memory is host memory unless device says otherwise. */
#define RONDE_DEVICE_HOST -1

/* Settings of one communicator; they come before the environment. Initialize with RONDE_CONFIG_INITIALIZER: a library
 * that is newer or older than the program reads only the fields that both know. */
typedef struct {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int blocking;           /* 1 (default): init returns when the communicator is ready; 0: at once, see below */
  int device;             /* RONDE_DEVICE_HOST (default); devices come with the CUDA path and are refused for now */
  const char* commName;   /* a name for messages and logs; at most 63 bytes are kept */
  int initTimeoutSeconds; /* RONDE_INIT_TIMEOUT */
  const char* algorithm;  /* RONDE_ALGO */
  const char* transport;  /* RONDE_TRANSPORT */
  /* The settings of the environment that have these names, each with the same values; README.md lists them. */
  int lateWarningSeconds;       /* RONDE_LATE_WARNING */
  int lateTimeoutSeconds;       /* RONDE_LATE_TIMEOUT */
  int silentTimeoutSeconds;     /* RONDE_SILENT_TIMEOUT */
  const char* socketInterfaces; /* RONDE_SOCKET_IFNAME: of this rank, not of the meeting point that an id names */
  const char* socketFamily;     /* RONDE_SOCKET_FAMILY */
  int tcpConnections;           /* RONDE_TCP_CONNECTIONS; equal on all ranks */
  const char* accumulate;       /* RONDE_ACCUMULATE; equal on all ranks */
  const char* spin;             /* RONDE_SPIN */
  long long shmLimitBytes;      /* RONDE_SHM_LIMIT: whether this communicator goes beyond it with all of the process */
} rondeConfig_t;

#define RONDE_CONFIG_MAGIC 0x526f6e64u
#define RONDE_CONFIG_INITIALIZER                                                                              \
  {                                                                                                           \
    sizeof(rondeConfig_t), RONDE_CONFIG_MAGIC, RONDE_VERSION_CODE, RONDE_CONFIG_UNDEF_INT, RONDE_DEVICE_HOST, \
        RONDE_CONFIG_UNDEF_PTR, RONDE_CONFIG_UNDEF_INT, RONDE_CONFIG_UNDEF_PTR, RONDE_CONFIG_UNDEF_PTR,       \
        RONDE_CONFIG_UNDEF_INT, RONDE_CONFIG_UNDEF_INT, RONDE_CONFIG_UNDEF_INT, RONDE_CONFIG_UNDEF_PTR,       \
        RONDE_CONFIG_UNDEF_PTR, RONDE_CONFIG_UNDEF_INT, RONDE_CONFIG_UNDEF_PTR, RONDE_CONFIG_UNDEF_PTR,       \
        RONDE_CONFIG_UNDEF_INT                                                                                \
  }

/* Joins the communicator of nranks ranks that id names, as that rank. Blocks until all ranks have joined, at most
 * RONDE_INIT_TIMEOUT seconds (default 300), with a warning that names the missing ranks each 10 s. One thread that
 * makes several ranks puts the calls between rondeGroupStart and rondeGroupEnd, which makes all of them and writes
 * each *comm, or none.
 * Errors: rondeInvalidArgument (a rank outside 0..nranks-1, a NULL, an id that is none, a config that was not
 * initialized), rondeInvalidUsage (a rank taken twice, different nranks, a setting), rondePeerUnreachable (nobody
 * answers where the id says, or a host has fallen silent), rondePeerLost (the process of another rank has ended),
 * rondeRemoteError (another rank has given up, or cannot go on), rondeTimedOut (the text names the missing ranks),
 * rondeSystemError. */
RONDE_API rondeResult_t rondeCommInitRank(rondeComm_t* comm, int nranks, rondeUniqueId id, int rank);

/* rondeCommInitRank with settings; config NULL means all defaults.
 *
 * With blocking = 0 it returns rondeInProgress at once (inside a group, too), *comm is written, and the communicator
 * comes into being on a thread of the library. Until rondeCommGetAsyncError writes something else than rondeInProgress
 * only that function, rondeGetLastError, rondeCommAbort and rondeCommDestroy may be called; all others return
 * rondeInProgress. An error of the start is what rondeCommGetAsyncError writes then, and what all other functions
 * return. Abort and destroy give the start up within 1 s; the other ranks get rondeRemoteError. Collectives are not
 * affected: use streams to have them return at once. */
RONDE_API rondeResult_t rondeCommInitRankConfig(rondeComm_t* comm, int nranks, rondeUniqueId id, int rank,
                                                rondeConfig_t* config);

/* rondeCommInitRankConfig with several ids, ids[0] to ids[nids - 1], as ncclCommInitRankScalable takes them; all
 * ranks give the same ones in the same order. For now all ranks meet at the first one and the others are only looked
 * at: nothing becomes faster by them, and their ports are kept until RONDE_INIT_TIMEOUT. rondeInvalidArgument: nids
 * below 1 or above nranks, an id that is none (the text says which). Otherwise as with one id. */
RONDE_API rondeResult_t rondeCommInitRankScalable(rondeComm_t* newcomm, int nranks, int myrank, int nids,
                                                  rondeUniqueId* ids, rondeConfig_t* config);

/* Makes all nranks ranks of one communicator in this process: comms has room for nranks. devices is NULL or an array of
 * nranks times RONDE_DEVICE_HOST. All or none are made. One thread that drives several of them puts each collective in
 * a group.
 * Errors: rondeInvalidArgument (nranks, a device), rondeInvalidUsage (a setting), rondeSystemError (no thread). */
RONDE_API rondeResult_t rondeCommInitAll(rondeComm_t* comms, int nranks, const int* devices);

/* Waits until every operation of this communicator has ended on this rank, and says goodbye to the other ranks (which
 * takes at most 1 s where one of them does not answer): after it only destroy, abort and questions are allowed.
 * Returns the first error that the communicator met. rondeInvalidUsage: as rondeCommDestroy, or the caller is a host
 * function for which it would wait. */
RONDE_API rondeResult_t rondeCommFinalize(rondeComm_t comm);

/* Says goodbye to the other ranks if that was not done, then frees everything. comm is invalid afterwards, unless that
 * is refused as below. Waits for the operations that are queued on streams (abort first to end them) and, like
 * finalize, for its goodbye, for nothing else. Does not return what operations have returned before: ask
 * rondeCommFinalize or rondeCommGetAsyncError for that.
 * rondeInvalidArgument: not a communicator. rondeInvalidUsage: the open group of this thread holds calls on it; then
 * nothing is freed. NULL is allowed and does nothing. */
RONDE_API rondeResult_t rondeCommDestroy(rondeComm_t comm);

/* ---- Failures --------------------------------------------------------------------------------------------------- */

/* When something has gone wrong: ending what waits, asking what happened, and going on without the ranks that died. */

/* Stops every operation of this communicator on this rank within 1 s, from any thread: a call that was waiting returns
 * rondeAborted. The other ranks get an error that names this rank. The communicator must still be destroyed with
 * rondeCommDestroy, by the thread that uses it. (NCCL's abort also frees; this one does not, since another thread may
 * still be inside a call.) */
RONDE_API rondeResult_t rondeCommAbort(rondeComm_t comm);

/* Like abort, but on all ranks: their operations end soon with rondeRevoked, and so does each later call. For a rank
 * that knows that the others wait in vain, as after an error of its own. From any thread. flags: RONDE_REVOKE_DEFAULT.
 * rondeInvalidArgument: other flags. rondeInvalidUsage: it was finalized. */
#define RONDE_REVOKE_DEFAULT 0
RONDE_API rondeResult_t rondeCommRevoke(rondeComm_t comm, int flags);

/* Writes the first error that the communicator has met, or rondeSuccess; rondeInProgress while it starts. Never
 * blocks. */
RONDE_API rondeResult_t rondeCommGetAsyncError(rondeComm_t comm, rondeResult_t* asyncError);

/* Writes the ranks whose processes have ended, in rising order, at most capacity of them, and to *number how many there
 * are, as far as this rank has heard. When an operation returns rondePeerLost for a rank that died, that rank is among
 * them. Never blocks; any thread.
 * ranks may be NULL if capacity is 0. rondeInvalidArgument: NULL, a negative capacity. */
RONDE_API rondeResult_t rondeCommGetFailedRanks(rondeComm_t comm, int* ranks, int capacity, int* number);

/* Makes a communicator of the ranks that are left, without restarting a process. All of them call it, whatever error
 * the communicator has met before (that is what it is for); ranks that have died or left need not be named. The list
 * names further ranks to go on without, excludeRanksCount of them (NULL if 0), equal on all that call; those do not
 * call. New ranks are numbered in the order of the old ones. The ranks agree on who is left: all make the same
 * communicator, also if more of them die meanwhile, or none does: who dies after that, before the new one is ready, or
 * cannot start it, is an error on all, which may then call again.
 *
 * Waits until the operations on this rank have ended (a non-blocking call, too), then for the other ranks, at most
 * RONDE_INIT_TIMEOUT seconds in all (and half a second for a last word), with a warning each 10 s that names those that
 * have not called. rondeCommAbort of comm from another thread ends it, on all ranks. RONDE_SHRINK_ABORT:
 * first ends operations, as rondeCommRevoke does. Non-blocking and in groups as rondeCommInitRankConfig; config NULL:
 * the settings and the name of comm. comm itself stays as it is, and must be destroyed. One shrink of a communicator at
 * a time; destroying comm before a non-blocking one has ended gives it up.
 *
 * What died in the middle may have ended on some ranks and failed on others: before they go on, the ranks that are left
 * should agree where (an allreduce with rondeMin of the step on the new communicator), and inputs that were reduced in
 * place are lost. examples/recover.c does that. Under ronderun give --keep-going, which else ends the job with the
 * first rank. A rank that is only late or stopped is not known as dead: name it in the list. The text of an error of
 * this call is that of rondeGetLastError(NULL); that of comm stays its first one.
 * Errors: rondeInvalidArgument (a NULL, a rank that is none or one's own, flags), rondeInvalidUsage (comm was
 * finalized, or is being shrunk; the others go on without this rank), rondePeerLost (as above), rondePeerUnreachable
 * (so many have died that ranks which were not named cannot be reached), rondeRemoteError (another rank has given up,
 * or could not start it; the text says which and why), rondeAborted, rondeTimedOut (the text names who did not call),
 * rondeSystemError. */
#define RONDE_SHRINK_DEFAULT 0
#define RONDE_SHRINK_ABORT 1
RONDE_API rondeResult_t rondeCommShrink(rondeComm_t comm, const int* excludeRanksList, int excludeRanksCount,
                                        rondeComm_t* newcomm, rondeConfig_t* config, int shrinkFlags);

/* ---- Communicators from others ---------------------------------------------------------------------------------- */

/* Parts of a communicator, a second one of the same ranks, and a larger one. */

/* Makes communicators of parts of comm, which goes on beside them. All ranks of comm call it, each with a color: ranks
 * of equal colors become one communicator, numbered by key, those of equal keys as in comm. RONDE_SPLIT_NOCOLOR: the
 * rank takes part, and *newcomm becomes NULL. The new ones need comm no more once they are ready: it may be destroyed
 * first.
 *
 * Has a place among the operations of comm, in the order of the calls, as a collective with stream NULL: waits for what
 * was queued before, then for the other ranks (RONDE_LATE_WARNING, RONDE_LATE_TIMEOUT); ranks that call something else
 * get rondeMismatch ("CommSplit"). Then for the start of the new one, at most RONDE_INIT_TIMEOUT seconds. In a group
 * communicators are made before its operations begin. Non-blocking and in groups as rondeCommInitRankConfig, several
 * splits of a communicator at a time, too; operations that are called on comm meanwhile come after it (without a color:
 * *newcomm is NULL at once, and the call returns rondeSuccess). config NULL: the settings and the name of comm,
 * blocking.
 *
 * rondeCommAbort of comm from another thread ends it, on all ranks. To abort or destroy the new one of a non-blocking
 * call while the ranks of comm still settle who belongs together aborts comm, too: the others cannot go on without that
 * rank.
 * Errors: rondeInvalidArgument (a NULL, color, config), rondeInvalidUsage (comm was finalized, a setting), those
 * of collectives, which are comm's; and those of a start, which concern the ranks of one color alone: rondeRemoteError
 * (another rank has no port, or no files; the text says which and why), rondePeerLost, rondePeerUnreachable,
 * rondeTimedOut, rondeAborted, rondeSystemError. Then comm is as usable as before. */
#define RONDE_SPLIT_NOCOLOR -1
RONDE_API rondeResult_t rondeCommSplit(rondeComm_t comm, int color, int key, rondeComm_t* newcomm,
                                       rondeConfig_t* config);

/* Makes a communicator of the same ranks with the same numbers, which has nothing to do with comm afterwards: for a
 * part of a program that must not be in the way of another one's calls. Otherwise as rondeCommSplit with one color. */
RONDE_API rondeResult_t rondeCommDup(rondeComm_t comm, rondeComm_t* newcomm, rondeConfig_t* config);

/* Makes an id with which further ranks can join the ranks of comm, and starts to listen for them, as rondeGetUniqueId
 * does. Called on one rank, whose process must live until rondeCommGrow has returned everywhere; hand the id to the
 * processes that join, by any means, and keep it as secret as any other. It is good for one rondeCommGrow, also one
 * that fails; a later id takes the place of one that was not used. Does not wait for other ranks.
 * Errors: rondeInvalidArgument (NULL), rondeInvalidUsage (comm was finalized), rondeSystemError (no port can be had),
 * and what comm has met. */
RONDE_API rondeResult_t rondeCommGetUniqueId(rondeComm_t comm, rondeUniqueId* uniqueId);

/* Makes a communicator of nranks ranks: those of comm, which keep their numbers, and further ones with the numbers from
 * the size of comm up. All of them call it, with the same nranks:
 *  - ranks of comm with comm, and rank -1. The one that made the id with rondeCommGetUniqueId may give it or NULL, the
 *    others NULL (the id is right there, too). It has a place among the operations of comm as rondeCommSplit
 *    ("CommGrow"); comm stays as it is, and may be destroyed when this has returned.
 *  - ranks that join with comm NULL, the id, and their number in the new one.
 * After rondeCommShrink it brings a communicator back to its size, with new processes in the place of those that died.
 *
 * Waits for the ranks of comm as rondeCommSplit, and for those that join at most RONDE_INIT_TIMEOUT seconds, with a
 * warning each 10 s that names who is missing. Non-blocking and in groups as rondeCommInitRankConfig. config NULL: for
 * ranks of comm its settings and name, for those that join the defaults. Aborts: as in rondeCommSplit.
 * What goes wrong before it is ready is an error of all, or, of those to which it was ready, of their first operation.
 * Errors: rondeInvalidArgument (a NULL, nranks not above the size of comm, a rank, an id that is none or not one of
 * comm, config), rondeInvalidUsage (different nranks, several ids or none, a number that is taken), rondeTimedOut
 * (the text names the missing ranks), and as rondeCommSplit. */
RONDE_API rondeResult_t rondeCommGrow(rondeComm_t comm, int nranks, const rondeUniqueId* uniqueId, int rank,
                                      rondeComm_t* newcomm, rondeConfig_t* config);

/* ---- Questions -------------------------------------------------------------------------------------------------- */

/* What a communicator is made of, what it has moved and what memory it takes. Asks no other rank. */

/* Write the number of ranks, and this one's number among them, from 0. rondeInvalidArgument: NULL. */
RONDE_API rondeResult_t rondeCommCount(const rondeComm_t comm, int* count);
RONDE_API rondeResult_t rondeCommUserRank(const rondeComm_t comm, int* rank);

/* Writes the device of the communicator, RONDE_DEVICE_HOST for host memory. */
RONDE_API rondeResult_t rondeCommDevice(const rondeComm_t comm, int* device);

/* Bytes that this rank has moved since the communicator was made, by transport. */
typedef struct {
  size_t size;                        /* sizeof(rondeTraffic_t), set by the caller */
  char transport[16];                 /* "inproc", "shm", "tcp" */
  unsigned long long sentBytes;       /* payload that this rank made readable to others */
  unsigned long long receivedBytes;   /* payload that this rank took from others */
  unsigned long long sentHeaderBytes; /* heads of slices and lines, on top of the payload */
  unsigned long long receivedHeaderBytes;
  /* Of sentBytes: inputs and results that were copied into the library's memory first, so that others could read them
   * or they could be sent from there. None of rondeMemAlloc in a node, see there. */
  unsigned long long stagedBytes;
} rondeTraffic_t;

/* Writes how many transports are in use, and fills an entry for each of them, at most capacity. Set size in every entry
 * of the array, which may be NULL where capacity is 0. Call it between operations. rondeInvalidArgument: NULL, a
 * negative capacity, a size that is not set. */
RONDE_API rondeResult_t rondeCommGetTraffic(rondeComm_t comm, rondeTraffic_t* traffic, int capacity, int* number);

/* What of memory a communicator takes on this rank. */
typedef enum {
  /* NCCL's; all 0 without devices. */
  rondeStatGpuMemSuspend = 0,
  rondeStatGpuMemSuspended = 1,
  rondeStatGpuMemPersist = 2,
  rondeStatGpuMemTotal = 3,
  /* Bytes of host memory. */
  rondeStatHostMemSegment = 100, /* address space of this rank's segment, from which the ranks of its node read */
  rondeStatHostMemTouched = 101, /* what of the segment is in memory: pages that were used so far */
  /* Buffers of the links to other nodes that this rank has now, address space; without the kernel's buffers of their
   * sockets. */
  rondeStatHostMemWires = 102,
  rondeStatHostMemPacking = 103, /* room in which the buffers of small calls of a group are put together */
  rondeStatHostMemTotal = 104,   /* 101 to 103 together: the most that it takes */
  /* Of the whole process, equal for all of its communicators. */
  rondeStatProcessSharedMem = 200,        /* what counts against RONDE_SHM_LIMIT: the most that segments can have */
  rondeStatProcessLibraryMem = 201,       /* allocated by rondeMemAlloc and not freed, in whole pages */
  rondeStatProcessLibraryMemShared = 202, /* what of that the ranks of its node can read */
  rondeMinCommMemStat = INT_MIN,          /* every int is a value of the type */
  rondeMaxCommMemStat = INT_MAX
} rondeCommMemStat_t;

/* Writes one number of rondeCommMemStat_t. Call it between operations. Memory of peers that this rank has mapped is
 * theirs; what a communicator has beyond this (lists, its place in the black box, connections) is not counted.
 * rondeInvalidArgument: NULL, no such number. */
RONDE_API rondeResult_t rondeCommMemStats(rondeComm_t comm, rondeCommMemStat_t stat, uint64_t* value);

/* ---- Memory ----------------------------------------------------------------------------------------------------- */

/* Memory that the ranks of a host read where it lies, for buffers of operations and for looks at each other's data. */

/* Allocates size bytes, zeroes at a page boundary (4096 bytes), for any use. Pages take memory when
 * they are first touched; an mlockall(MCL_FUTURE) does not lock them (mlock does), and
 * for one with MCL_CURRENT see RONDE_MEM_LIMIT. What ranks of other processes of the node need of such memory they read
 * where it lies: operations of more than 32 KiB (messages: each of more than that) copy nothing of it into the
 * library's memory. In these cases they do all the same:
 *  - RONDE_ALGO=one_shot; all-to-all in place; a reduction of rondeRedOpCreatePreMulSum in windows (the product is what
 *    others read); rondeReduceScatterV with blocks that do not follow each other; small all-reduces of a group that
 *    travel as one;
 *  - one of the ranks cannot read that of another one: RONDE_MEM_LIMIT=0, ulimit -v, or no shared memory between them.
 * It is one buffer as any other one otherwise, may be mixed with others in one operation, by each rank as it likes, and
 * makes no difference to any result. What the library combines on the way (partial sums of a ring or a chain) lies in
 * its own memory where no buffer of the rank has a place for it.
 *
 * It belongs to the process, not to a communicator: made before or after any of them, freed when no call needs it any
 * more. A process has RONDE_MEM_LIMIT of it (the memory of the machine if that is less; an eighth of ulimit -v), beyond
 * that, and where the system refuses shared memory, it is ordinary memory, with one warning:
 * rondeStatProcessLibraryMemShared tells. Every rank of a communicator that shares memory with this process can read
 * all of it, not only what is passed to operations of that communicator: keep secrets of others than the job elsewhere
 * (SECURITY.md). A forked child shares it with its parent: what one of them writes the other one sees. A core dump
 * shows it. Any thread. rondeInvalidArgument: ptr is NULL, size is 0. rondeInvalidUsage: a setting, at the first call.
 * rondeSystemError: no memory. */
RONDE_API rondeResult_t rondeMemAlloc(void** ptr, size_t size);

/* Frees what rondeMemAlloc has written. No operation that was called may still need it, on this rank; after an error of
 * a communicator it may be freed as soon as the call has returned. NULL is allowed and does nothing. Any thread.
 * rondeInvalidArgument: not such a pointer, or freed already. rondeInvalidUsage: it is registered, or in a window; or
 * this is a forked child. */
RONDE_API rondeResult_t rondeMemFree(void* ptr);

/* Registers a buffer for use in operations of comm, and writes a handle. As in NCCL a hint: results do not depend on
 * it. Memory of rondeMemAlloc needs none, and cannot be freed while it is registered; any other memory is accepted
 * without effect, until there is a transport that has one. Overlapping registrations are allowed. Goes with comm, if it
 * is not deregistered before.
 * rondeInvalidArgument: NULL, size is 0, or it goes beyond the end of what rondeMemAlloc gave. */
RONDE_API rondeResult_t rondeCommRegister(const rondeComm_t comm, void* buff, size_t size, void** handle);

/* Forgets a registration. rondeInvalidArgument: no handle of comm, or gone already. */
RONDE_API rondeResult_t rondeCommDeregister(const rondeComm_t comm, void* handle);

/* A buffer of each rank of a communicator, which the others of its node may read. Opaque. */
typedef struct rondeWindow* rondeWindow_t;

#define RONDE_WIN_DEFAULT 0x00
#define RONDE_WIN_COLL_SYMMETRIC 0x01 /* accepted, and without meaning here */

/* Makes a window of the buffers that all ranks of comm give, size bytes each; which lie in memory of rondeMemAlloc
 * where others are to read them, and cannot be freed while the window lives. All ranks call it, at the same place among
 * their operations, as a collective with stream NULL ("CommWindowRegister"); no group may be open. The window goes with
 * comm, if it is not deregistered before.
 * Errors: rondeInvalidArgument (NULL, size is 0, flags; on all ranks: different sizes,
 * or one that goes beyond the end of what rondeMemAlloc gave), rondeInvalidUsage (a group is open),
 * and those of collectives. */
RONDE_API rondeResult_t rondeCommWindowRegister(rondeComm_t comm, void* buff, size_t size, rondeWindow_t* win,
                                                int winFlags);

/* Frees the window on this rank; pointers into it are invalid from now on. Does not wait for others: the buffer may be
 * written and freed when the program knows that no rank reads it any more (a barrier). NULL is allowed and does
 * nothing.
 * rondeInvalidArgument: no window of comm. */
RONDE_API rondeResult_t rondeCommWindowDeregister(rondeComm_t comm, rondeWindow_t win);

/* Writes where byte offset of rank peer's buffer lies for this process, for reading: size - offset bytes from there on.
 * NULL, with success, if it cannot be read here: that rank is on another host, or its buffer is ordinary memory. (As
 * ncclGetPeerDevicePointer of NCCL 2.29, for host memory.) The own rank: its own buffer. Writing there ends the
 * program. When what is there may be read is the program's to settle, by operations: what a rank has written before a
 * barrier the others see after it. When the peer's process has ended its bytes stay as they were. Any thread.
 * rondeInvalidArgument: NULL, no such rank, offset is not below size. */
RONDE_API rondeResult_t rondeGetPeerPointer(rondeWindow_t window, size_t offset, int peer, const void** outPtr);

/* ---- Streams ---------------------------------------------------------------------------------------------------- */

/* An in-order queue of operations on host memory. One worker thread of the process runs the operations of all streams.
 * Operations of one communicator run in the order of their calls, whatever stream they name. Putting something on a
 * stream never waits, not even for other threads that do so. A stream may be used by several threads; their calls are
 * taken in some order. Only handles of rondeStreamCreate are streams here, no cudaStream_t.
 * stream NULL is an error (rondeInvalidArgument) for all functions here but rondeStreamDestroy, and so is a
 * handle that is none; whatever puts something on a stream can return rondeSystemError (no memory, no thread). */

/* Makes a stream, on which nothing is yet. */
RONDE_API rondeResult_t rondeStreamCreate(rondeStream_t* stream);

/* Waits until everything that was put on the stream so far has ended. Returns the first error of those operations that
 * was not returned yet, once. rondeInvalidUsage: the caller is a host function (rondeLaunchHostFunc). */
RONDE_API rondeResult_t rondeStreamSynchronize(rondeStream_t stream);

/* Tells whether something is left to do on the stream; never blocks. Any other result than these two is an error as
 * from rondeStreamSynchronize. rondeSuccess: nothing is left. rondeInProgress: something is. */
RONDE_API rondeResult_t rondeStreamQuery(rondeStream_t stream);

/* Synchronizes and frees the stream; no other thread may use it any more. NULL is allowed and does nothing.
 * rondeInvalidUsage, and nothing is freed: the open group of this thread holds calls on it, or the caller is a host
 * function. */
RONDE_API rondeResult_t rondeStreamDestroy(rondeStream_t stream);

/* ---- Events and host functions ---------------------------------------------------------------------------------- */

/* Order between streams, and between a stream and the program. What Streams says of stream NULL holds here, too. */

/* A moment in a stream, for which other streams and threads can wait. Opaque. Any thread, several at a time. */
typedef struct rondeEvent* rondeEvent_t;

/* Makes an event. It counts as reached until it is recorded. */
RONDE_API rondeResult_t rondeEventCreate(rondeEvent_t* event);

/* Frees the event at once; no other thread may use it any more. Streams that wait for it go on waiting for the moment
 * that was recorded. NULL is allowed and does nothing. */
RONDE_API rondeResult_t rondeEventDestroy(rondeEvent_t event);

/* Records the moment at which everything that was put on the stream so far has ended, well or not. An event can be
 * recorded any number of times, in any stream; the last one counts, for what is called after it: who waits already
 * waits for the moment as it was then.
 * rondeInvalidUsage: the open group of this thread holds calls on the stream, which would come after the record (the
 * same for rondeStreamWaitEvent and rondeLaunchHostFunc; on other streams these act at once, inside a group, too). */
RONDE_API rondeResult_t rondeEventRecord(rondeEvent_t event, rondeStream_t stream);

/* What is put on the stream from now on waits until the last record of the event, as of this call, is reached. Does not
 * block, neither the caller nor other streams. An event that was never recorded counts as reached.
 * Errors do not come along: work that waits for an event begins also where the work before the record has failed, whose
 * error is that of its own stream and communicator.
 * Streams of a process cannot wait for each other in a circle, as every record comes before those who wait for it. But
 * the ranks of a communicator can: an event adds to the order in which a rank can begin its operations, and two ranks
 * whose orders contradict each other wait for ever (or until RONDE_LATE_TIMEOUT). */
RONDE_API rondeResult_t rondeStreamWaitEvent(rondeStream_t stream, rondeEvent_t event);

/* Tells whether the last record is reached; never blocks. rondeSuccess: it is, or there was none. rondeInProgress: not
 * yet. */
RONDE_API rondeResult_t rondeEventQuery(rondeEvent_t event);

/* Waits until the last record, as of this call, is reached. Success, also where the work before it has failed.
 * rondeInvalidUsage: the caller is a host function. */
RONDE_API rondeResult_t rondeEventSynchronize(rondeEvent_t event);

/* A host function. status: the first error of the operations on its stream between the host function of that stream
 * before it and this one, rondeSuccess if there was none; its text is that of rondeGetLastError(NULL) then.
 * Synchronizing and querying a stream neither take this error nor lose theirs by it. */
typedef void (*rondeHostFn_t)(rondeResult_t status, void* user);

/* Calls fn(status, user) once everything that was put on the stream so far has ended, well or not; what is put on it
 * later waits until fn has returned. Other streams go on meanwhile: host functions run on a thread of the library of
 * their own, one at a time for the whole process, with all signals blocked. One that waits for another one waits for
 * ever. Every function is called exactly once, unless the process ends before: then those that have not begun are not
 * called, and one that runs is waited for 1 s at most. It must not throw.
 *
 * Of the library it may call only what never waits: rondeGetLastError, rondeGetErrorString, rondeGetVersion,
 * rondeStreamQuery, rondeEventQuery, rondeCommGetAsyncError, rondeCommGetFailedRanks, rondeCommAbort, rondeCommRevoke,
 * and what puts something on a stream: rondeEventRecord, rondeStreamWaitEvent, rondeLaunchHostFunc, and collectives
 * that name a stream, if no other thread uses their communicator. Waits for streams, events and queued operations are
 * refused there (rondeInvalidUsage); other calls may stop all host functions of the process.
 * rondeInvalidArgument: fn is NULL. rondeInvalidUsage: as rondeEventRecord. */
RONDE_API rondeResult_t rondeLaunchHostFunc(rondeStream_t stream, rondeHostFn_t fn, void* user);

/* ---- Groups ----------------------------------------------------------------------------------------------------- */

/* Calls that begin together: several ranks of one thread, messages that need each other, many small operations. */

/* Between start and end, calls of this thread are only recorded; they return at once, with argument errors only. The
 * end starts them all. Groups nest; only the outermost end acts. All operations with stream NULL progress together and
 * have ended when rondeGroupEnd returns; those with a stream are queued on it: ranks of one thread that need each other
 * must then be on different streams (rondeInvalidUsage), as a stream ends one operation before it starts the next.
 * Events and host functions are not recorded: they act at once, and are refused for a stream on which the group holds
 * calls.
 * All-reduces of one communicator, stream, element type and built-in reduction, of at most 64 KiB each, travel as one
 * message of at most 1 MiB, packed and unpacked by the library: many small tensors then cost little more than one large
 * one. So all ranks must group them alike.
 * Calls of a group may run at once and in any order: what one of them writes no other one may read or write. A wrong
 * argument inside a group makes rondeGroupEnd return that error, and nothing of
 * the group is started; so does a communicator that is not ready (rondeInvalidUsage). Communicators and streams that
 * the open group names cannot be finalized or destroyed (rondeInvalidUsage). rondeGroupEnd returns the first error of
 * its calls, each of which may be any that the call by itself returns. rondeInvalidUsage, too: this thread has no open
 * group. */
RONDE_API rondeResult_t rondeGroupStart(void);
RONDE_API rondeResult_t rondeGroupEnd(void);

/* ---- Collectives ------------------------------------------------------------------------------------------------ */

/* What all ranks of a communicator do together. */

/* Rules for all of them; n is the number of ranks, elements are of type datatype.
 *
 * Buffers may have any alignment. In place is said with each function; any other overlap of the two buffers is refused
 * (rondeInvalidArgument) and nothing is written. A rank without elements may pass NULL. Zero elements are a right call
 * that all ranks must make. Any count is allowed, also above 2^31.
 * Errors: rondeInvalidArgument (comm, stream, datatype, op, root, a buffer that is NULL, buffers that overlap, more
 * elements than memory can hold: this call has no effect, convention 6), rondeInvalidUsage (finalized), rondeInProgress
 * (not ready yet), and those that concern all ranks: rondeMismatch, rondeRemoteError, rondePeerLost,
 * rondePeerUnreachable, rondeAborted, rondeTimedOut, rondeRevoked. After one of these the content of recvbuff is
 * undefined; nothing outside of it was touched. A rank whose part in a collective with a root had ended before the
 * error learns it from its next call.
 *
 * The functions that end in V take blocks of different sizes: counts and displs are arrays of n elements, in rank
 * order, that are read before the call returns; displs[r] is where the block of rank r begins, in elements; displs
 * NULL: one block behind the other. Blocks of a receive buffer must not overlap; what lies between them is not written.
 * */

/* Reduces count elements over all ranks and leaves the same result on every rank. In place: sendbuff == recvbuff. */
RONDE_API rondeResult_t rondeAllReduce(const void* sendbuff, void* recvbuff, size_t count, rondeDataType_t datatype,
                                       rondeRedOp_t op, rondeComm_t comm, rondeStream_t stream);

/* Reduces n * recvcount elements over all ranks; rank r gets block r of the result, recvcount elements.
 * In place: recvbuff == sendbuff + r * recvcount elements (the other blocks of sendbuff stay as they are). */
RONDE_API rondeResult_t rondeReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                           rondeDataType_t datatype, rondeRedOp_t op, rondeComm_t comm,
                                           rondeStream_t stream);
/* rondeReduceScatter with blocks of different sizes: block r has recvcounts[r] elements, at displs[r] of sendbuff; the
 * arrays of counts are equal on all ranks.
 * displs may differ between ranks; blocks of sendbuff may overlap.
 * In place: recvbuff == sendbuff + displs[r] elements, where no other block of sendbuff may lie. */
RONDE_API rondeResult_t rondeReduceScatterV(const void* sendbuff, void* recvbuff, const size_t* recvcounts,
                                            const size_t* displs, rondeDataType_t datatype, rondeRedOp_t op,
                                            rondeComm_t comm, rondeStream_t stream);

/* Leaves on every rank the sendcount elements of each, in rank order: recvbuff has n * sendcount.
 * In place on rank r: sendbuff == recvbuff + r * sendcount elements. */
RONDE_API rondeResult_t rondeAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, rondeDataType_t datatype,
                                       rondeComm_t comm, rondeStream_t stream);
/* rondeAllGather with blocks of different sizes: rank r gives recvcounts[r] elements, which end at displs[r] of
 * recvbuff; the arrays of counts are equal on all ranks, those of displacements need not be.
 * In place on rank r: sendbuff == recvbuff + displs[r] elements. */
RONDE_API rondeResult_t rondeAllGatherV(const void* sendbuff, void* recvbuff, const size_t* recvcounts,
                                        const size_t* displs, rondeDataType_t datatype, rondeComm_t comm,
                                        rondeStream_t stream);

/* Leaves the count elements of root's sendbuff in every rank's recvbuff. sendbuff of other ranks is not looked at.
 * In place: sendbuff == recvbuff. rondeBcast: the same with one buffer. */
RONDE_API rondeResult_t rondeBroadcast(const void* sendbuff, void* recvbuff, size_t count, rondeDataType_t datatype,
                                       int root, rondeComm_t comm, rondeStream_t stream);
RONDE_API rondeResult_t rondeBcast(void* buff, size_t count, rondeDataType_t datatype, int root, rondeComm_t comm,
                                   rondeStream_t stream);

/* Reduces count elements over all ranks into root's recvbuff; that of other ranks is not looked at.
 * In place (on root): sendbuff == recvbuff. */
RONDE_API rondeResult_t rondeReduce(const void* sendbuff, void* recvbuff, size_t count, rondeDataType_t datatype,
                                    rondeRedOp_t op, int root, rondeComm_t comm, rondeStream_t stream);

/* Block s of rank r's recvbuff becomes block r of rank s's sendbuff; blocks of count elements, n of them in each
 * buffer.
 * In place: sendbuff == recvbuff. */
RONDE_API rondeResult_t rondeAlltoAll(const void* sendbuff, void* recvbuff, size_t count, rondeDataType_t datatype,
                                      rondeComm_t comm, rondeStream_t stream);
/* rondeAlltoAll with blocks of different sizes.
 * sendcounts[s] elements at sdispls[s] go to rank s, recvcounts[s] elements from rank s come to rdispls[s]. What a rank
 * sends to another one must be what that one expects from it: else rondeMismatch, on all ranks, with both sizes. Not in
 * place. */
RONDE_API rondeResult_t rondeAlltoAllV(const void* sendbuff, const size_t* sendcounts, const size_t* sdispls,
                                       void* recvbuff, const size_t* recvcounts, const size_t* rdispls,
                                       rondeDataType_t datatype, rondeComm_t comm, rondeStream_t stream);

/* Collects count elements of each rank in root's recvbuff, in rank order: n * count; recvbuff of other ranks is not
 * looked at. In place on root: sendbuff == recvbuff + root * count elements. */
RONDE_API rondeResult_t rondeGather(const void* sendbuff, void* recvbuff, size_t count, rondeDataType_t datatype,
                                    int root, rondeComm_t comm, rondeStream_t stream);
/* rondeGather with blocks of different sizes.
 * recvcounts and displs are looked at on root only; recvcounts[r] must be rank r's sendcount: else rondeMismatch, on
 * all ranks. In place on root: sendbuff == recvbuff + displs[root] elements. */
RONDE_API rondeResult_t rondeGatherV(const void* sendbuff, size_t sendcount, void* recvbuff, const size_t* recvcounts,
                                     const size_t* displs, rondeDataType_t datatype, int root, rondeComm_t comm,
                                     rondeStream_t stream);

/* Rank r gets block r of root's sendbuff, which has n blocks of count elements; sendbuff of other ranks is not looked
 * at. In place on root: recvbuff == sendbuff + root * count elements. */
RONDE_API rondeResult_t rondeScatter(const void* sendbuff, void* recvbuff, size_t count, rondeDataType_t datatype,
                                     int root, rondeComm_t comm, rondeStream_t stream);
/* rondeScatter with blocks of different sizes.
 * sendcounts and displs are looked at on root only; sendcounts[r] must be rank r's recvcount: else rondeMismatch, on
 * all ranks. In place on root: recvbuff == sendbuff + displs[root] elements. */
RONDE_API rondeResult_t rondeScatterV(const void* sendbuff, const size_t* sendcounts, const size_t* displs,
                                      void* recvbuff, size_t recvcount, rondeDataType_t datatype, int root,
                                      rondeComm_t comm, rondeStream_t stream);

/* Ends on no rank before all have begun it. */
RONDE_API rondeResult_t rondeBarrier(rondeComm_t comm, rondeStream_t stream);

/* ---- Reductions of the program's own ---------------------------------------------------------------------------- */

/* Where the reductions of rondeRedOp_t are not enough: a factor of each rank, or a function. */

/* Where a scalar lies. rondeScalarDevice (device memory, read when the operation runs) comes with the CUDA path. */
typedef enum {
  rondeScalarDevice = 0,
  rondeScalarHostImmediate = 1,      /* host memory, read before the call returns */
  rondeMinScalarResidence = INT_MIN, /* every int is a value of the type */
  rondeMaxScalarResidence = INT_MAX
} rondeScalarResidence_t;

/* Makes a reduction for this communicator: the sum of the inputs, each multiplied before by the scalar of the rank that
 * gives it, an element of datatype. Ranks may have different scalars; each makes its own. For operations on that
 * datatype only. Integers are multiplied modulo 2^bits, 8- and 16-bit floats in float32; where other ranks read the
 * product it is rounded to datatype first (with RONDE_REPRODUCIBLE=1 everywhere).
 * Errors: rondeInvalidArgument (NULL, no such type or residence, a scalar in device memory). */
RONDE_API rondeResult_t rondeRedOpCreatePreMulSum(rondeRedOp_t* op, const void* scalar, rondeDataType_t datatype,
                                                  rondeScalarResidence_t residence, rondeComm_t comm);

/* Makes a reduction by a function of the program, see rondeReduceFunction_t; user is passed to it. commutative 0:
 * inputs are combined in the order of ranks, which is slower between nodes (reduce and reduce-scatter: at most 256
 * ranks there). All ranks must make the same reduction, of which the library compares no more than `commutative`. For
 * operations on any datatype.
 * Errors: rondeInvalidArgument (NULL). */
RONDE_API rondeResult_t rondeRedOpCreate(rondeRedOp_t* op, rondeReduceFunction_t function, int commutative, void* user,
                                         rondeComm_t comm);

/* Forgets a reduction that was made on comm; operations that were called before may still use it. Goes with comm
 * otherwise.
 * Errors: rondeInvalidArgument (it was not made on comm, or is gone). */
RONDE_API rondeResult_t rondeRedOpDestroy(rondeRedOp_t op, rondeComm_t comm);

/* ---- Messages between two ranks --------------------------------------------------------------------------------- */

/* What two ranks tell each other, without the rest. */

/* Sends count elements to rank peer, which must receive as many bytes with a call of its own; messages between two
 * ranks are matched by their order. A send has ended when its message has arrived, whatever its size; so two ranks that
 * both send first wait for each other for ever (a warning says so after 10 s): put calls that depend on each other into
 * one group. In a group all sends and receives of a communicator progress together, in any pattern, behind its
 * collectives; they must name the same stream. A message to oneself needs its counterpart in the same group. A buffer
 * that is received into must not overlap another one of the group.
 * Errors: those of collectives; rondeMismatch on all ranks, with both sizes, if what is sent is not what is expected;
 * rondeInvalidUsage: a message to oneself without its counterpart, several streams. */
RONDE_API rondeResult_t rondeSend(const void* sendbuff, size_t count, rondeDataType_t datatype, int peer,
                                  rondeComm_t comm, rondeStream_t stream);
RONDE_API rondeResult_t rondeRecv(void* recvbuff, size_t count, rondeDataType_t datatype, int peer, rondeComm_t comm,
                                  rondeStream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* RONDE_RONDE_H_ */
