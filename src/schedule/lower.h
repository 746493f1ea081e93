/* lower.h: the value of a tensor node at an index, as scalar UOps over RANGEs. Internal to the schedule.
 *
 * A kernel is lowered from the node that it stores. Movement ops change the index, reductions open RANGEs, gathers load
 * their index. At every node that could be stored instead of computed in place, the schedule is asked. */
#ifndef POLY_LOWER_H
#define POLY_LOWER_H

#include "schedule/schedule.h"

enum { MAX_RANGES = 64 };

typedef struct Lower Lower;

/* Asked for each node but leaves and moves. Returns the slot to load it from, or -1: compute it here. */
typedef int (*LowerPolicy)(void *user, Lower *l, UOp *node, UOp *const *idx, UOp *gate);

/* A loop over the edges of each row. */
typedef struct EdgeLoop {
  UOp *entry, *range; /* the edge, and the RANGE of its place in the row order */
  UOp *row, *rows;    /* the row, and how many there are */
  UOp *edges;         /* how many edges all loops go over */
} EdgeLoop;

struct Lower {
  PolyContext *ctx;
  Arena arena; /* for this lowering */
  LowerPolicy policy;
  void *user;
  int nout;     /* output ranges have the ids 0 .. nout-1 */
  bool decided; /* the policy no longer depends on where a value is read */
  int ncontext; /* loops that are open where the current value is needed, outermost first: range ids */
  int context[MAX_RANGES];
  VEC(int) param;         /* slot of each kernel parameter */
  Map memo, free;         /* (node, index, gate) -> value; scalar -> mask of ranges that it depends on */
  UOp *range[MAX_RANGES]; /* the RANGE that has each id: one in a kernel */
  Map entry;              /* the edge of an open segment loop -> its Row */
  VEC(EdgeLoop) edges;
};

void lower_begin(Lower *l, PolyContext *ctx, LowerPolicy policy, void *user, bool decided);
void lower_end(Lower *l);
/* STORE of node into slot, with one RANGE per axis, or two: split[k], if it is not 0, is the size of the inner one of
 * axis k. Stored is node->src[0] or what defines it: see lower.c. */
UOp *lower_store(Lower *l, UOp *node, int slot, const int64_t *split);
/* STORE of one part of a CAT into its part of the slot. */
UOp *lower_store_part(Lower *l, UOp *cat, int part, int slot);
/* Of a kernel that has been lowered to `store` and loads node from slot: if it does so only at the edge of one loop
 * over the edges of all rows, the rows and what else node has being its outer loops, the STORE of node into slot at
 * that edge; else NULL. */
UOp *lower_store_by_edge(Lower *l, UOp *node, int slot, int nstore, UOp *const *store);
/* Bit k: the scalar depends on the RANGE with id k. */
uint64_t lower_free(Lower *l, UOp *scalar);
bool lower_has_load(Lower *l, UOp *scalar);
/* Is it the edge of an open loop over a row's edges? Such a loop visits each edge once, as a RANGE would. */
bool lower_is_edge(const Lower *l, const UOp *scalar);
/* Is the set of ranges an initial piece of the open loops? */
bool lower_is_prefix(const Lower *l, uint64_t ranges);

#endif
