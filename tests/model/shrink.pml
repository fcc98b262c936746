/* Shrink: the ranks that are left agree on who goes on (src/control/shrink.h). Searched exhaustively by run_model.py,
   with a death of any rank between any two steps, also in the middle of telling the others, and with ranks that refuse:
   nobody is to go on. What is asserted:
     - Two ranks that live, or have left, take the same for decided. Except a rank that is excluded: one that has heard
       so; OUTSIDE, which is not asked, but goes on only if nobody else does; LISTED, once a rank has excluded it: what
       that rank had promised before may still let it go on.
     - Who goes on is one of those that go on, and has taken part. Who is excluded may hear a decision without that.
     - That some go on is decided under a ballot only if no member that lives had refused when it answered that ballot.
       (Who refuses later may have to go on: its promise is given.)
     - Nobody goes on only if a rank has refused that is not OUTSIDE.
     - None that lives waits for ever. Except for LISTED: while it does not come, and nobody lists it that the asker
       hears of; or while it has heard that it is excluded, is silent, and has not left.

   Every two ranks have a connection, as up to four have; it keeps the order, and its end is seen after all that was
   said on it. Only what was decided is passed on by others, so more is lost than in the code. Who asks does so again
   only once it has promised a higher ballot to a rank that is excluded; where the answer to a repeated question would
   differ, it is sent without one. A death is seen only if there is one.
     LEAVES         a rank may leave once it has decided, as one does for the new communicator: it has passed on what
                    was decided, answers no more, and lives
     REFUSALS       so many ranks may refuse, at any time before they have heard a decision, also before they begin; as
                    does who begins another shrink: it takes part in this one until that is decided
     OUTSIDE        this rank is on the list of all others, and does not know it
     LISTED         this rank is on the list of the next shrink that ranks which refuse begin, so that they exclude it
                    from this one; it may come or not
     REFUSER, DIES  only this rank refuses, or dies (for 4 ranks)

   Faults to plant, each of which must be found:
     NO_PROMISE             a rank takes what was decided under a lower ballot than it has promised to
     SILENT_ABOUT_DECISION  a rank that is asked does not say what it has heard decided (with DEAF_TO_LOWER: either is
                            enough while nobody leaves)
     NOT_PASSED_ON          what was decided is told by the rank that decides, and not passed on
     ONE_IS_ENOUGH          who asks decides with the first answer (with REFUSALS)
     DEAF_TO_LOWER          who has promised a higher ballot does not keep what was decided under a lower one (with
                            LEAVES)
     FORGET_REFUSAL         a rank forgets with its next promise that it has refused
     UNHEARD_REFUSAL        who asks does not look for refusals in answers
     OLD_END                a rank that begins another shrink ends this one at once: its refusal is what it takes for
                            decided, and tells if it asks */

#ifndef RANKS
#define RANKS 3
#endif
#ifndef DEATHS
#define DEATHS 2
#endif
#ifndef REFUSALS
#define REFUSALS 0
#endif
#ifndef OUTSIDE
#define OUTSIDE 9
#endif
#ifndef LISTED
#define LISTED 9
#endif
#ifdef REFUSER
#define MAY_REFUSE (me == REFUSER && refusals < may_refuse)
#else
#define MAY_REFUSE (refusals < may_refuse)
#endif
#ifdef DIES
#define MAY_DIE (me == DIES && deaths < allowed)
#else
#define MAY_DIE (deaths < allowed)
#endif

#define NOBODY 9
#define REFUSED 99 /* decided: nobody goes on */
#define REFUSES 128 /* in the set of an answer */
#define BIT(r) (1 << (r))
#define ALL ((1 << RANKS) - 1)
#define WIRE(from, to) wire[(from) * RANKS + (to)]

mtype = { question, answer, commit };

/* number: a ballot, round * RANKS + rank; set: of ranks that are excluded; what: that was decided, named by the ballot
   under which it was first, or REFUSED; 0: nothing. */
chan wire[RANKS * RANKS] = [7] of { mtype, byte /* number */, byte /* set */, byte /* what */ };
bit dead[RANKS]; /* or has left */
bit left[RANKS];
byte deaths;
byte allowed; /* deaths in this run: so that a rank that waits for ever is not helped by one */
byte decided[RANKS];
byte members[RANKS * (RANKS + 3)]; /* of what was decided */
bit alone[RANKS]; /* has ended as it has heard that it is excluded */
bit listed; /* a rank has excluded LISTED */
bit absent; /* LISTED does not begin in this run */
bit refused[RANKS];
byte after[RANKS]; /* the ballot that a rank had promised to when it refused: what it had answered does not tell */
byte refusals;
byte may_refuse; /* refusals in this run */

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
     :: MAY_DIE -> goto dies
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

#define LIVES(r) (!dead[r] || left[r])

/* The others have excluded it, and need not agree with it. If OUTSIDE goes on nobody else does, though. */
#define IS_OUT(r) ((r == OUTSIDE && (decided[r] == REFUSED || !(members[decided[r]] & BIT(r)))) || \
                   (r == LISTED && listed))

/* What does not matter any more, so that fewer states differ. */
inline forget() {
  asking = 0; answered = 0; heard = 0; overheard = 0; overheard_number = 0; refuses = 0; asked_by = 0;
  promised = 0; ballot = 0; gone = 0; excluded = excluded & BIT(me)
}

/* Some go on, this rank among them unless it is excluded, or nobody does, as one has refused that is not OUTSIDE; and
   nobody has heard anything else. */
inline decide(what) {
  assert(begun || me == OUTSIDE || me == LISTED);
  begun = 1;
  decided[me] = what;
  at = 0;
  if
  :: me == OUTSIDE || me == LISTED -> skip
  :: me != OUTSIDE && me != LISTED && what != REFUSED -> assert(members[what] & BIT(me))
  :: else ->
     do
     :: at < RANKS && refused[at] && at != OUTSIDE -> break
     :: at < RANKS && !(refused[at] && at != OUTSIDE) -> at++
     :: at == RANKS -> assert(false)
     od;
     at = 0
  fi;
  do
  :: at < RANKS ->
     assert(!LIVES(at) || alone[at] || decided[at] == 0 || decided[at] == what || IS_OUT(at) || IS_OUT(me));
     at++
  :: else -> break
  od;
  at = 0;
  forget()
}

/* Nobody who lives had refused before it answered this ballot. */
inline check_refusals() {
  at = 0;
  do
  :: at < RANKS ->
     assert(!refused[at] || !LIVES(at) || (excluded & BIT(at)) || (at != me && ballot <= after[at]));
     at++
  :: else -> break
  od;
  at = 0
}

inline end_alone() {
  decided[me] = REFUSED;
  alone[me] = 1;
  forget()
}

inline answer_it() {
  tell(asked_by, answer, promised, excluded | (refuses -> REFUSES : 0), 0)
}

#define ACTIVE (begun && decided[me] == 0)
#define OVERTAKEN (ballot != promised && (excluded & BIT(promised % RANKS)))
#define ASKS (ACTIVE && LOWEST(excluded) == me && (!asking || OVERTAKEN))
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
  bit refuses; /* this rank, or one that has answered it */
  byte asked_by = NOBODY; /* the last question that was answered */
  byte from, number, set, what, at, told;

end_again:
  if
  :: MAY_DIE -> goto dies
  :: !begun && !(absent && me == LISTED) -> atomic {
       begun = 1;
       excluded = gone;
       if
       :: OUTSIDE < RANKS && me != OUTSIDE -> excluded = excluded | BIT(OUTSIDE)
       :: else -> skip
       fi;
       if
       :: waiting != NOBODY ->
          excluded = excluded | waiting_set;
          if
          :: excluded & BIT(me) -> end_alone()
          :: else ->
             promised = waiting_number;
             asked_by = waiting;
             answer_it()
          fi
       :: else -> skip
       fi;
       waiting = NOBODY; waiting_number = 0; waiting_set = 0
     }
  :: atomic {
       decided[me] == 0 && !refused[me] && MAY_REFUSE ->
       refusals++;
       refused[me] = 1;
       after[me] = promised;
       if
       :: ACTIVE && !refuses && !asking && asked_by != NOBODY -> refuses = 1; answer_it()
       :: else -> refuses = 1
       fi
     }
  :: atomic {
       LISTED < RANKS && me != LISTED && ACTIVE && refused[me] && !(excluded & BIT(LISTED)) ->
       listed = 1;
       excluded = excluded | BIT(LISTED);
       if
       :: !asking && asked_by != NOBODY -> answer_it()
       :: else -> skip
       fi
     }
#ifdef OLD_END
  :: atomic {
       ACTIVE && refused[me] && !ASKS ->
       if
       :: asking ->
          number = ballot;
          what = REFUSED;
          decide(REFUSED);
          goto passes_on
       :: else -> decide(REFUSED)
       fi
     }
#endif
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
     answered = 0;
     tell_all(question, ballot, excluded, 0)
  :: COMPLETE ->
     atomic {
       if
       :: heard != 0 -> skip
       :: heard == 0 && overheard != 0 -> heard = overheard
       :: heard == 0 && overheard == 0 && refuses -> heard = REFUSED
       :: else ->
          heard = ballot;
          check_refusals();
          members[ballot] = ALL & ~excluded
       fi;
       number = ballot;
       what = heard;
       decide(what)
     };
     tell_all(commit, number, 0, what);
     atomic {
       number = 0;
       what = 0
     }
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
       (me != 0 && decided[me] == 0 && dead[0] && empty(WIRE(0, me)) && !(gone & BIT(0))) -> from = 0; goto loses
     }
  :: atomic {
       (me != 1 && decided[me] == 0 && dead[1] && empty(WIRE(1, me)) && !(gone & BIT(1))) -> from = 1; goto loses
     }
  :: atomic {
       (RANKS > 2 && me != 2 && decided[me] == 0 && dead[2] && empty(WIRE(2, me)) && !(gone & BIT(2))) ->
          from = 2;
          goto loses
     }
#if RANKS > 3
  :: atomic {
       (me != 3 && nempty(WIRE(3, me))) -> from = 3; goto hears
     }
  :: atomic {
       (me != 3 && decided[me] == 0 && dead[3] && empty(WIRE(3, me)) && !(gone & BIT(3))) -> from = 3; goto loses
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
    from = 0;
    goto end_again
  }

hears:
  atomic {
    if
    :: WIRE(from, me) ? question, number, set, what ->
       if
       :: decided[me] != 0 && (excluded & BIT(me)) -> skip
       :: decided[me] != 0 && !(excluded & BIT(me)) ->
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
          :: excluded & BIT(me) -> end_alone()
          :: else ->
             if
             :: number > promised ->
                promised = number
#ifdef FORGET_REFUSAL
                ;
                refuses = 0
#endif
             :: else -> skip
             fi;
             asked_by = from;
             answer_it()
          fi
       fi
    :: WIRE(from, me) ? answer, number, set, what ->
       if
       :: ACTIVE && asking && !(excluded & BIT(from)) ->
          excluded = excluded | (set & ALL);
          if
          :: excluded & BIT(me) -> end_alone()
          :: else ->
             if
             :: what != 0 ->
                heard = what;
                answered = answered | BIT(from)
             :: what == 0 && number == ballot -> answered = answered | BIT(from)
             :: else -> skip
             fi;
             if
#ifndef UNHEARD_REFUSAL
             :: set & REFUSES -> refuses = 1
#endif
             :: else -> skip
             fi;
             if
             :: number > promised -> promised = number
             :: else -> skip
             fi
          fi
       :: else -> skip
       fi
    :: WIRE(from, me) ? commit, number, set, what ->
       if
       :: !begun ->
          if
          :: waiting != NOBODY -> tell(waiting, answer, waiting_number, 0, what)
          :: else -> skip
          fi;
          waiting = NOBODY; waiting_number = 0; waiting_set = 0;
          decide(what);
          goto passes_on
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
    from = 0; number = 0; set = 0; what = 0;
    goto end_again
  }

passes_on:
#ifndef NOT_PASSED_ON
  tell_all(commit, number, 0, what);
#endif
  atomic {
    from = 0; number = 0; set = 0; what = 0;
    goto end_again
  }

dies:
  atomic {
    dead[me] = 1;
    deaths++;
    if
    :: left[me] -> skip
    :: else -> decided[me] = 0; alone[me] = 0; after[me] = 0
    fi;
    overheard = 0; overheard_number = 0; begun = 0; asking = 0; gone = 0; excluded = 0; promised = 0; ballot = 0;
    answered = 0; heard = 0; waiting = 0; waiting_number = 0; waiting_set = 0;
    refuses = 0; asked_by = 0;
    from = 0; number = 0; set = 0; what = 0; at = 0; told = 0
  };
end_dead:
  false
}

init {
  byte r = 0;
  byte asker = 0; /* the lowest that lives and is not LISTED */
  bit lists; /* one that lives has excluded LISTED, and the asker will know */
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
    :: DEATHS > 1 -> allowed = 1
    :: allowed = DEATHS
    fi;
    if
    :: may_refuse = 0
    :: may_refuse = REFUSALS
    fi;
    if
    :: absent = 0
    :: LISTED < RANKS -> absent = 1
    fi
  };
  timeout;
  do
  :: asker < RANKS && (dead[asker] || asker == LISTED) -> asker++
  :: else -> break
  od;
  do
  :: r < RANKS ->
     /* That LISTED is listed all know from an asker, or from its questions. */
     lists = lists || (refused[r] && LIVES(r) && r != LISTED && (LISTED > asker || r == asker));
     r++
  :: else -> break
  od;
  r = 0;
  do
  :: r < RANKS ->
     /* Nobody waits for ever, but for LISTED: it does not come, and nobody lists it, or it has been told that it is. */
     assert(dead[r] || decided[r] != 0 || (absent && (r == LISTED || !lists)) ||
            (LISTED < RANKS && alone[LISTED] && !dead[LISTED]));
     r++
  :: else -> break
  od
}
