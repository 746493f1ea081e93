/* composite.h: composite drafts and what they are made of. Internal to tiles.c, which forms them, and tile_items.c,
 * which makes their items. */
#ifndef POLY_COMPOSITE_H
#define POLY_COMPOSITE_H

#include "schedule/tiles.h"

typedef VEC(NodeInfo *) NodeVec;

/* What a composite draft is made of. */
typedef struct Tiles {
  UOp *edges;   /* how many */
  UOp *end;     /* ENDPOINT whose rows give the order; NULL: any order will do */
  NodeVec node; /* values that live for a tile, sources first */
} Tiles;

/* A kernel of a composite at work on n: where it stores. */
typedef struct Recipe {
  NodeInfo *n;
  int slot, partial, product; /* that it is stored to; for a sum over all edges: its copies, and a product's scratch */
} Recipe;

int64_t tiles_row_width(const UOp *u); /* elements of one row */
/* Does the slot hold values of a tile? user: the Sched. */
bool tiles_holds(void *user, int slot);
/* Lowering in a tile. */
bool tiles_make_vars(Sched *s, LowerTile *tile, UOp *edges, UOp *end);
void tiles_begin_lower(Sched *s, Lower *l, const LowerTile *tile);
void tiles_end_lower(Sched *s, Lower *l);
/* What the kernel stores as the k-th of those that its node takes. NULL without an error: it takes no more. */
UOp *tiles_lower_nth(Lower *l, const Recipe *r, int k);
bool tiles_sums_edges(const NodeInfo *n); /* is it a sum over all edges? */
/* Has such a sum results for each part of a tile? A library's product has one. */
bool tiles_keeps_parts(const NodeInfo *n);
/* The product by tiles that n is, or that its kernel computes; NULL: there is none. */
NodeInfo *tiles_product(NodeInfo *n);
/* The slots that n reads in a tile, added to the list. False: it cannot be computed by tiles, or an error was set. */
bool tiles_reads(Sched *s, NodeInfo *n, const LowerTile *tile, IntVec *reads);

#endif
