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
  uint64_t around;    /* output loops that it stands in */
} EdgeLoop;

/* The tile that a kernel works on: see TilesItem. */
typedef struct LowerTile {
  UOp *end;            /* ENDPOINT whose rows give the order of the edges; NULL: their own order */
  UOp *var[TILE_VARS]; /* VARIABLEs */
  int64_t parts; /* of a tile whose sums over its edges are kept apart, so that threads share them; 0 and 1: one */
  /* Does the slot hold values of the tile alone, at its edges? */
  bool (*holds)(void *user, int slot);
  int *misread; /* out: such a slot, where one is read at another edge than the one at hand, which is an error */
} LowerTile;

struct Lower {
  PolyContext *ctx;
  const LowerTile *tile; /* NULL: the kernel works on everything */
  Arena arena;           /* for this lowering */
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
/* In a tile: STORE of node, or of one part of it if it is a CAT and part is not negative, or of what lies in the slot
 * `from` if that is not negative, at each edge of the tile: into the tile, or into memory that has all edges. */
UOp *lower_tile_edges(Lower *l, UOp *node, int part, int from, int slot, bool into_tile);
/* STORE of the rows of a SEGMENT that the tile touches; what earlier tiles made of a row is continued. */
UOp *lower_tile_rows(Lower *l, UOp *segment, int slot);
/* STORE of a REDUCE over the edges of the tile and other axes into the copy of this piece in slot, continued. */
UOp *lower_tile_sum(Lower *l, UOp *reduce, int slot);
/* The same for a sum of products, whose parts have equally many edges each, so that threads form it in tiles. */
UOp *lower_tile_product(Lower *l, UOp *product, int slot);
/* STORE of what lies in `from`, as large as node, into this piece's copy, continued by addition; and, of those copies,
 * STORE of the reduction by op over all pieces. */
UOp *lower_tile_add(Lower *l, UOp *node, int from, int slot);
UOp *lower_tile_finish(Lower *l, UOp *node, Op op, int from, int slot);
/* Does u count the entries of each row? A sum of ones is the length of the row: no loop goes through it. */
bool lower_counts_rows(const UOp *u);
/* Bit k: the scalar depends on the RANGE with id k. */
uint64_t lower_free(Lower *l, UOp *scalar);
bool lower_has_load(Lower *l, UOp *scalar);
/* Is it the edge of an open loop over a row's edges? Such a loop visits each edge once, as a RANGE would. */
bool lower_is_edge(const Lower *l, const UOp *scalar);
/* Is the set of ranges an initial piece of the open loops? */
bool lower_is_prefix(const Lower *l, uint64_t ranges);

#endif
