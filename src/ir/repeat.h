/* repeat.h: loops that were written out. A Python loop builds K copies of its body, each of which reads the one before;
 * here the copies are found again and become one loop over steps (scan.h).
 *
 *   h1 = tanh(x[0] + h0 @ u)
 *   h2 = tanh(x[1] + h1 @ u)      ->      SCAN(h0, x, h' = tanh(row + h @ u))
 *   h3 = ...
 *
 *   repeat.c        finds chains of copies, and drives the others
 *   repeat_match.c  goes down all copies of a chain side by side: what is the same, carried, a row of something
 *   repeat_loop.c   the loop, and the program around it
 *   repeat_sums.c   sums of copies, as the gradients of shared weights are
 *
 * A node stands in one *place* of the body, which has a node of each copy. Nothing is concluded from hashes or names: a
 * place is inside the loop only if its nodes are equal in all copies, source by source. */
#ifndef POLY_REPEAT_H
#define POLY_REPEAT_H

#include "ir/uop.h"

/* Replaces the roots by ones with loops of `least` steps or more. loops: how many were made. O(nodes) for each loop. */
bool repeats_fold(PolyContext *ctx, Arena *arena, int nroot, UOp **root, int least, int *loops);

/* Is it worth looking? Without as many reductions of one kind as a loop has steps there is nothing to find. */
bool repeats_possible(PolyContext *ctx, Arena *arena, int nroot, UOp *const *root, int least, bool *possible);

#endif
