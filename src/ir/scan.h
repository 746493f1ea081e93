/* scan.h: loops over steps as nodes.
 *
 *   SCAN(init..., xs..., out..., free..., length)      carry = init;  for t: carry = out[0 .. ncarry-1] of the body
 *
 * The body is an ordinary graph over ARGUMENTs: the carried values of a step, and row t of each stacked input. It reads
 * values from outside the loop where they are; those are listed as `free`. A SCAN is no value by itself:
 *
 *   FINAL(scan) k      carried value k after the last step
 *   STATES(scan) k     carried value k before and after each step: length + 1 rows
 *   STACKED(scan, v)   v, any node of the body, at every step: row t is its value at step t
 *
 * So what is read of a loop does not change the loop: a gradient may ask for any value inside the body, and a plan has
 * one loop that stores what somebody reads. A loop that is reversed walks t downwards; rows stay at their t. */
#ifndef POLY_SCAN_H
#define POLY_SCAN_H

#include "ir/uop.h"

enum { SCAN_MAX_CARRY = 4000, SCAN_MAX_ROWS = 16000, SCAN_MAX_OUT = 16000 };

typedef struct Scan {
  int64_t id; /* of its ARGUMENTs */
  bool reverse;
  bool recompute; /* its gradient keeps the carried values alone, and computes the rest of the body again */
  int ncarry, nx, nout, nfree;
  UOp *const *init, *const *xs;
  UOp *const *out; /* the new carried values, then what else the body gives */
  UOp *const *free;
  UOp *length;
} Scan;

/* The parts of a SCAN node; and how many there are, for one that is known by its argument and number of sources. */
Scan scan_of(const UOp *u);
Scan scan_counts(UArg arg, int nsrc);
/* The SCAN of a FINAL, STATES or STACKED; NULL: u is none. */
UOp *scan_behind(const UOp *u);

/* Argument k of the body of loop `id`: carried values first, then rows. */
UOp *uop_argument(PolyContext *ctx, int64_t id, int k, PolyDType dtype, int ndim, UOp *const *shape);
/* A loop; `free` is found. Shapes and dtypes must fit, which the caller has checked. */
UOp *uop_scan(PolyContext *ctx, const Scan *s);
UOp *uop_final(UOp *scan, int k);
UOp *uop_states(UOp *scan, int k);
UOp *uop_stacked(UOp *scan, UOp *v);
/* Of STATES, in a loop that is reversed or not: the rows before or after each step, and the row before the first or
 * after the last. */
UOp *scan_states_part(UOp *states, bool after, bool reverse);
UOp *scan_states_end(UOp *states, bool after, bool reverse);
/* Rows from .. to-1. */
UOp *scan_rows(UOp *x, UOp *from, UOp *to);

/* ---- what is inside a loop ---- */

/* Which loops' ARGUMENTs each node of a walk depends on, as bits: those of a loop are gone behind its SCAN. */
typedef struct LoopIds {
  int64_t id[64];
  int n;
} LoopIds;
uint64_t loop_bit(const LoopIds *ids, int64_t id); /* 0: not among them */
/* mask: one entry for each node of the walk; in the arena. */
bool loop_masks(PolyContext *ctx, Arena *arena, const Walk *w, LoopIds *ids, uint64_t **mask);

/* Is u better computed where it is read than kept in memory: does it only move elements, or is it larger than what it
 * is made of, as values of edges are that are read from nodes? weight: elements that must be in memory for each node of
 * the walk that u was numbered by, up to u. */
bool scan_is_wide(const UOp *u, double *weight);

/* The values from outside that a body reads, which are worth keeping in memory: what only moves elements, or is larger
 * than what it is made of, is computed inside. */
typedef VEC(UOp *) NodeList;
bool scan_find_free(PolyContext *ctx, Arena *arena, int64_t id, int nroot, UOp *const *root, NodeList *out);

/* roots with from[k] replaced by to[k]. */
bool uop_replace(PolyContext *ctx, Arena *arena, int nroot, UOp *const *root, int n, UOp *const *from, UOp *const *to,
                 UOp **out);

/* ---- stack.c ---- */

/* How values of a body become those of all steps at once. */
typedef struct Stacking {
  PolyContext *ctx;
  int64_t id;
  UOp *length;
  /* The stacked value of an open node, if it is known otherwise; NULL: it is made of those of its sources. */
  UOp *(*known)(void *user, UOp *u);
  void *user;
} Stacking;
/* [length, ...] of a node of the body. NULL without an error: some op on the way has no stacked form. */
UOp *stack_value(const Stacking *s, UOp *u);

/* ---- hoist.c ---- */

/* A loop without the work that can be done outside of it: products and reductions that depend on rows of stacked inputs
 * alone are done before it, for all steps at once. */
UOp *scan_build(PolyContext *ctx, const Scan *s);
/* v at every step. Products and reductions that no carried value needs are done after the loop. */
UOp *scan_result(UOp *scan, UOp *v);
/* Can the sum of v over all steps be made of what the loop has at every step, without v itself at every step? So for a
 * sum, as the gradient of a weight is one: over the rows of all steps it is one product. */
bool scan_has_total(const UOp *v);
/* That sum. */
UOp *scan_total(UOp *scan, UOp *v);

#endif
