/* SlotRing and doorbell: ranks in a ring pass slices around, through links of few slots, and sleep when there is nothing
   to do. Searched exhaustively by run_model.py for lost wake-ups (a rank that sleeps for ever: invalid end state) and for
   slots overwritten before they are read (assertions). The schedule is that of src/schedule/ring.h.

   Memory is sequentially consistent here, as the counters and the `sleeping` word are in the code (seq_cst). The sleep of at
   most 100 ms is left out: it would hide a lost wake-up. A slot is written in one step with the look that finds it free, and
   read in one step with its release: the earliest write and the latest read, the worst case for overwriting.

   Faults to plant, each of which must be found:
     NO_DATA_BELL      who publishes a slice does not ring
     NO_CREDIT_BELL    who frees a slot does not ring
     NO_SECOND_LOOK    a rank goes to sleep without looking at the counter again after it has set `sleeping`
     LOOK_BEFORE_STORE who publishes looks at `sleeping` before it stores its counter (as a store that is not seq_cst may)
     ONE_SLOT_TOO_MANY a sender takes one slot more than there are */

#ifndef RANKS
#define RANKS 3
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef SLICES
#define SLICES 1
#endif

#ifdef ONE_SLOT_TOO_MANY
#define CAPACITY (SLOTS + 1)
#else
#define CAPACITY SLOTS
#endif

#define NOBODY 100
#define ANY 101

#define NEXT(r) ((r + 1) % RANKS)
#define PREVIOUS(r) ((r + RANKS - 1) % RANKS)
#define LAST_STEP (2 * RANKS - 2)

/* Link r leads from rank r to the next. */
byte slot[RANKS * SLOTS];
byte tail[RANKS]; /* slices sent, written by rank r */
byte head[RANKS]; /* slices released, written by the next rank */

byte sleeping[RANKS] = NOBODY; /* whom rank r waits for */
bit bell[RANKS];               /* whether its eventfd counts more than 0: a read takes the whole count */

#define FULL(r) (tail[PREVIOUS(r)] != received) /* the link to r has a slice */
#define FREE(r) (sent - head[r] < CAPACITY)     /* the link from r has a free slot */
#define INCOMING slot[PREVIOUS(me) * SLOTS + received % SLOTS]
#define OUTGOING slot[me * SLOTS + sent % SLOTS]
#define CONTENT (1 + slice * RANKS + chunk)

/* Whether rank `whom` waits for this one. */
inline look(whom) {
  wanted = (sleeping[whom] == me || sleeping[whom] == ANY)
}

inline ring_bell(whom) {
  if
  :: wanted -> d_step { bell[whom] = 1; wanted = 0 }
  :: else
  fi
}

/* Sleep until rung, unless there is work already; the caller looks again in any case. A rank may name the peer it waits
   for, or any. */
inline sleep_unless(work, peer) {
  if
  :: sleeping[me] = peer
  :: sleeping[me] = ANY
  fi;
#ifdef NO_SECOND_LOOK
  d_step { bell[me] == 1 -> bell[me] = 0 };
#else
  if
  :: work
  :: else -> d_step { bell[me] == 1 -> bell[me] = 0 }
  fi;
#endif
  sleeping[me] = NOBODY
}

inline commit() {
#ifdef LOOK_BEFORE_STORE
  look(NEXT(me));
  d_step { sent++; tail[me] = sent };
#else
  d_step { sent++; tail[me] = sent };
  look(NEXT(me));
#endif
#ifdef NO_DATA_BELL
  wanted = 0
#else
  ring_bell(NEXT(me))
#endif
}

inline read_and_release() {
#ifdef LOOK_BEFORE_STORE
  look(PREVIOUS(me));
  d_step { assert(INCOMING == CONTENT); received++; head[PREVIOUS(me)] = received };
#else
  d_step { assert(INCOMING == CONTENT); received++; head[PREVIOUS(me)] = received };
  look(PREVIOUS(me));
#endif
#ifdef NO_CREDIT_BELL
  wanted = 0
#else
  ring_bell(PREVIOUS(me))
#endif
}

proctype Rank(byte me) {
  byte sent = 0;
  byte received = 0;
  byte slice = 0;
  byte step = 0; /* 0: send the own chunk; then receive, and send on but for the last */
  byte chunk = me;
  bit wanted = 0;

step_begins:
  if
  :: step > 0 ->
     do
     :: FULL(me) -> break
     :: else -> sleep_unless(FULL(me), PREVIOUS(me))
     od
  :: else
  fi;
  if
  :: step < LAST_STEP ->
     do
     :: d_step { FREE(me) -> OUTGOING = CONTENT }; break
     :: else -> sleep_unless(FREE(me), NEXT(me))
     od
  :: else
  fi;
  if
  :: step > 0 -> read_and_release()
  :: else
  fi;
  if
  :: step < LAST_STEP -> commit()
  :: else
  fi;
  d_step {
    if
    :: step < LAST_STEP -> step++; chunk = PREVIOUS(chunk)
    :: else -> step = 0; chunk = me; slice++
    fi
  }
  if
  :: slice < SLICES -> goto step_begins
  :: else -> assert(sent == received && sent == SLICES * LAST_STEP)
  fi
}

init {
  atomic {
    byte r = 0;
    do
    :: r < RANKS -> run Rank(r); r++
    :: else -> break
    od
  }
}
