/* drafts.h: items in the making: who reads and writes what, in which order they run, which of them become one kernel.
 * Internal to the schedule.
 *
 *   schedule.c  the driver: what is stored, and the finished items     drafts.c  a draft for each stored node
 *   order.c     what must come first, and what comes first             join.c    drafts that share a kernel
 *   tiles.c     drafts that run tile by tile */
#ifndef POLY_DRAFTS_H
#define POLY_DRAFTS_H

#include "schedule/plan_nodes.h"

enum {
  MAX_OUTPUTS = 24, /* of a draft; */
  MAX_STORED = 8,   /* of one kernel; */
  MOST_STORED = 16  /* where a launch costs more than registers */
};

static inline int max_stored(const Sched *s) { return s->target->group > 1 ? MOST_STORED : MAX_STORED; }

/* An item in the making. */
typedef struct Draft {
  StoreKind kind;
  int nout;
  NodeInfo *out[MAX_OUTPUTS];
  int target[MAX_OUTPUTS];   /* slot that it writes */
  bool by_edge[MAX_OUTPUTS]; /* it is stored from inside the loop over edges that reads it: see join.c */
  bool absorbed;             /* out[1..] may be read by the others at their own place: see join.c */
  VEC(int) reads;            /* slots: all that its kernel reads as it is now, or more */
  VEC(int) needs;            /* drafts that must come first because they make what it reads, */
  VEC(int) waits;            /* or because they still read what it overwrites */
  int part;                  /* of a CAT, each of which is a kernel; -1: all of it */
  int next_part;             /* draft of the next part, -1: none */
  bool copy;                 /* copies the value of a root ASSIGN out of a temporary */
  struct Tiles *tiles;       /* of a composite draft: see tiles.c */
  bool dead;
  int merged; /* the draft that a dead one became part of */
} Draft;

typedef struct Drafts {
  VEC(Draft *) at;
  Map writer; /* slot of a temporary -> draft */
} Drafts;

/* An order of all drafts that are not dead. */
typedef struct Order {
  int *at, n; /* drafts; -1 where one was merged into another since */
  int *place; /* of each draft in it */
  int *stamp, last;
} Order;

/* ---- drafts.c ---- */

bool make_drafts(Sched *s, Drafts *d);
Draft *new_draft(Sched *s, Drafts *d, NodeInfo *n);
bool reads_slot(const Draft *x, int slot);
bool add_read(Sched *s, Draft *x, int slot);
/* Lowers the kernel of n (of one part of a CAT) as things stand. The caller ends the lowering. */
bool lower_part(Sched *s, Lower *l, NodeInfo *n, int part, UOp **store);
/* Lowers the kernel of a draft: a STORE for each output. Parameters are its outputs, then what it reads. The caller
 * ends the lowering. */
bool lower_kernel(Sched *s, Lower *l, const Draft *x, UOp **store);
/* Does a kernel load parameter `param` below u anywhere but at the index `at`? Yes, too, where memory runs out. */
bool reads_elsewhere(UOp *u, int64_t param, const UOp *at, Map *seen, Base *b);
/* Would n's kernel, if the buffer in `slot` were written as n is, read it anywhere but at the place it writes? Yes,
 * too, if that cannot be found out. */
bool reads_out_of_place(Sched *s, NodeInfo *n, int slot);

/* ---- order.c ---- */

/* Fills `needs` and `waits` of every draft. */
bool find_order(Sched *s, Drafts *d);
/* Depth-first from the first draft on. Returns a draft on a cycle, or -1. -2: out of memory. */
int sort_drafts(Sched *s, Drafts *d, Order *o);
/* Another order that the dependences allow, with as little memory in use at a time as a look one step ahead gives. */
bool order_for_memory(Sched *s, Drafts *d, Order *o);
/* Must `to` be over before `from` begins? Places in the order bound the search. That `from` overwrites what `to` reads
 * is no obstacle by itself: in one kernel, loads come before stores. direct: the step from `from` to `to` itself
 * counts. */
bool depends(Sched *s, const Drafts *d, Order *o, int from, int to, bool direct);
/* `gone`, on which `kept` does not depend but directly, or the other way round, became part of `kept`: the drafts
 * between them that depend on either move behind it. */
bool order_merge(Sched *s, Drafts *d, Order *o, int kept, int gone);
/* The draft that x is part of. */
int draft_now(const Drafts *d, int x);

/* ---- join.c ---- */

/* Is n one of the draft's outputs that are computed where they are read? */
bool draft_makes(const Draft *x, const NodeInfo *n);
bool join_kernels(Sched *s, Drafts *d, Order *o);

/* ---- over.c ---- */

/* Which outputs of a kernel are written over which inputs. last: for each slot, the last item that touches it; `at` is
 * the place of this one. */
bool sched_find_over(Sched *s, Item *item, const int *last, int at);

/* ---- pitch.c ---- */

/* Rows of temporaries, further apart where that helps. out: its items are finished but for what they write over. */
bool pitch_rows(Sched *s, Schedule *out);

#endif
