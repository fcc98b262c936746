/* Shrink: the ranks that are left agree on who goes on (src/control/shrink.h). Searched exhaustively by run_model.py, with a
   death of any rank between any two steps, also in the middle of telling the others: ranks that live must not go on
   differently or without each other, and none may wait for ever (assertions).

   Every two ranks have a connection, as up to four have; it keeps the order, and its end is seen after all that was said on
   it. Only what was decided is passed on by others, so more is lost than in the code. Nothing is asked twice: that repairs
   answers lost on their way through a third rank. A death is seen only if there is one. With LEAVES a rank may leave once it
   has decided, as one does for the new communicator: it has passed on what was decided, answers no more, and lives.

   Faults to plant, each of which must be found:
     NO_PROMISE            a rank takes what was decided under a lower ballot than it has promised to
     SILENT_ABOUT_DECISION a rank that is asked does not say what it has heard decided (with DEAF_TO_LOWER: either is enough
                           while nobody leaves)
     NOT_PASSED_ON         what was decided is told by the rank that decides, and not passed on
     ONE_IS_ENOUGH         who asks decides with the first answer
     DEAF_TO_LOWER         who has promised a higher ballot does not keep what was decided under a lower one (with LEAVES) */

#ifndef RANKS
#define RANKS 3
#endif
#ifndef DEATHS
#define DEATHS 2
#endif

#define NOBODY 9
#define BIT(r) (1 << (r))
#define ALL ((1 << RANKS) - 1)
#define WIRE(from, to) wire[(from) * RANKS + (to)]

mtype = { question, answer, commit };

/* number: a ballot, round * RANKS + rank; set: of ranks that are excluded; what: that was decided, named by the ballot
   under which it was first; 0: nothing. */
chan wire[RANKS * RANKS] = [7] of { mtype, byte /* number */, byte /* set */, byte /* what */ };
bit dead[RANKS]; /* or has left */
bit left[RANKS];
byte deaths;
byte allowed; /* deaths in this run: so that a rank that waits for ever is not helped by one */
byte decided[RANKS];
byte members[RANKS * (RANKS + 2)]; /* of what was decided */

#define LOWEST(set) ((set & 1) == 0 -> 0 : ((set & 2) == 0 -> 1 : ((set & 4) == 0 -> 2 : 3)))

inline tell(to, kind, number, set, what) {
  if
  :: dead[to] -> skip
  :: else -> WIRE(me, to) ! kind, number, set, what
  fi
}

inline tell_one(to, kind, number, set, what) {
  atomic {
    to < RANKS && !(told & BIT(to)) ->
      told = told | BIT(to);
      tell(to, kind, number, set, what)
  }
}

/* In any order, each word by itself: the rank may die in between. */
inline tell_all(kind, number, set, what) {
  told = BIT(me);
  do
  :: told != ALL ->
     if
     :: deaths < allowed -> goto dies
     :: tell_one(0, kind, number, set, what)
     :: tell_one(1, kind, number, set, what)
     :: tell_one(2, kind, number, set, what)
#if RANKS > 3
     :: tell_one(3, kind, number, set, what)
#endif
     fi
  :: else -> break
  od;
  told = 0
}

inline decide(what) {
  decided[me] = what;
  assert(members[what] & BIT(me));
  at = 0;
  do
  :: at < RANKS ->
     assert((dead[at] && !left[at]) || decided[at] == 0 || decided[at] == what);
     at++
  :: else -> break
  od;
  at = 0
}

#define ACTIVE (begun && decided[me] == 0)
#define ASKS (ACTIVE && !asking && LOWEST(excluded) == me)
#ifdef ONE_IS_ENOUGH
#define COMPLETE (ACTIVE && asking && ballot == promised && (answered != 0 || (excluded | BIT(me)) == ALL))
#else
#define COMPLETE (ACTIVE && asking && ballot == promised && ((excluded | answered | BIT(me)) == ALL))
#endif

proctype rank(byte me) {
  bit begun, asking;
  byte gone, excluded, promised, ballot, answered, heard, overheard, overheard_number;
  byte waiting = NOBODY; /* whose question came before this rank had begun */
  byte waiting_number, waiting_set;
  byte from, number, set, what, at, told;

end_again:
  if
  :: deaths < allowed -> goto dies
  :: !begun -> atomic {
       begun = 1;
       excluded = gone;
       if
       :: waiting != NOBODY ->
          excluded = excluded | waiting_set;
          promised = waiting_number;
          tell(waiting, answer, promised, excluded, 0);
          waiting = NOBODY
       :: else -> skip
       fi
     }
#ifdef LEAVES
  :: atomic {
       decided[me] != 0 ->
       left[me] = 1;
       deaths--; /* none of those that are allowed */
       goto dies
     }
#endif
  :: ASKS ->
     asking = 1;
     ballot = (promised / RANKS + 1) * RANKS + me;
     promised = ballot;
     tell_all(question, ballot, excluded, 0)
  :: COMPLETE ->
     atomic {
       if
       :: heard != 0 -> skip
       :: heard == 0 && overheard != 0 -> heard = overheard
       :: else ->
          heard = ballot;
          members[ballot] = ALL & ~excluded
       fi;
       decide(heard)
     };
     tell_all(commit, ballot, 0, heard)
  :: atomic {
       (me != 0 && nempty(WIRE(0, me))) -> from = 0; goto hears
     }
  :: atomic {
       (me != 1 && nempty(WIRE(1, me))) -> from = 1; goto hears
     }
  :: atomic {
       (RANKS > 2 && me != 2 && nempty(WIRE(2, me))) -> from = 2; goto hears
     }
  :: atomic {
       (me != 0 && dead[0] && empty(WIRE(0, me)) && !(gone & BIT(0))) -> from = 0; goto loses
     }
  :: atomic {
       (me != 1 && dead[1] && empty(WIRE(1, me)) && !(gone & BIT(1))) -> from = 1; goto loses
     }
  :: atomic {
       (RANKS > 2 && me != 2 && dead[2] && empty(WIRE(2, me)) && !(gone & BIT(2))) -> from = 2; goto loses
     }
#if RANKS > 3
  :: atomic {
       (me != 3 && nempty(WIRE(3, me))) -> from = 3; goto hears
     }
  :: atomic {
       (me != 3 && dead[3] && empty(WIRE(3, me)) && !(gone & BIT(3))) -> from = 3; goto loses
     }
#endif
  fi;
  goto end_again;

loses:
  atomic {
    gone = gone | BIT(from);
    if
    :: ACTIVE -> excluded = excluded | BIT(from)
    :: else -> skip
    fi;
    goto end_again
  }

hears:
  atomic {
    if
    :: WIRE(from, me) ? question, number, set, what ->
       if
       :: decided[me] != 0 ->
#ifdef SILENT_ABOUT_DECISION
          tell(from, answer, number, 0, 0)
#else
          tell(from, answer, number, 0, decided[me])
#endif
       :: !begun && (waiting == NOBODY || number > waiting_number) ->
          waiting = from;
          waiting_number = number;
          waiting_set = set
       :: !begun && waiting != NOBODY && number <= waiting_number -> skip
       :: ACTIVE ->
          excluded = excluded | set;
          if
          :: number > promised -> promised = number
          :: else -> skip
          fi;
          tell(from, answer, promised, excluded, 0)
       fi
    :: WIRE(from, me) ? answer, number, set, what ->
       if
       :: ACTIVE && asking && !(excluded & BIT(from)) ->
          excluded = excluded | set;
          if
          :: what != 0 ->
             heard = what;
             answered = answered | BIT(from)
          :: what == 0 && number == ballot -> answered = answered | BIT(from)
          :: else -> skip
          fi;
          if
          :: number > promised -> promised = number
          :: else -> skip
          fi
       :: else -> skip
       fi
    :: WIRE(from, me) ? commit, number, set, what ->
       if
#ifdef NO_PROMISE
       :: ACTIVE -> decide(what); goto passes_on
#else
       :: ACTIVE && number >= promised -> decide(what); goto passes_on
       :: ACTIVE && number < promised ->
#ifndef DEAF_TO_LOWER
          if
          :: overheard_number < number ->
             overheard = what;
             overheard_number = number;
             goto passes_on
          :: else -> skip
          fi
#endif
          skip
#endif
       :: else -> skip
       fi
    fi;
    goto end_again
  }

passes_on:
#ifndef NOT_PASSED_ON
  tell_all(commit, number, 0, what);
#endif
  goto end_again;

dies:
  atomic {
    dead[me] = 1;
    deaths++;
    overheard = 0; overheard_number = 0; begun = 0; asking = 0; gone = 0; excluded = 0; promised = 0; ballot = 0;
    answered = 0; heard = 0; waiting = 0; waiting_number = 0; waiting_set = 0;
    from = 0; number = 0; set = 0; what = 0; at = 0; told = 0
  };
end_dead:
  false
}

init {
  byte r = 0;
  atomic {
    do
    :: r < RANKS ->
       run rank(r);
       r++
    :: else -> break
    od;
    r = 0;
    if
    :: allowed = 0
    :: allowed = 1
    :: allowed = DEATHS
    fi
  };
  timeout;
  do
  :: r < RANKS ->
     assert(dead[r] || decided[r] != 0); /* nobody waits for ever */
     r++
  :: else -> break
  od
}
