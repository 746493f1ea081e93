/* verify.h: what a legal program is. Passes are checked with it in every test, and the text reader trusts nothing else.
 */
#ifndef POLY_VERIFY_H
#define POLY_VERIFY_H

#include "ir/uop.h"

typedef enum VerifyLevel {
  VERIFY_ANY,
  VERIFY_TENSOR, /* shapes, no kernel ops */
  VERIFY_KERNEL  /* scalars and kernel ops, nothing with a shape */
} VerifyLevel;

/* All nodes that the roots reach: arity, dtypes, shapes, arguments, bounds, and what the level allows. False: the error
 * names the node and says what is wrong with it. */
bool uop_verify(PolyContext *ctx, int nroot, UOp *const *roots, VerifyLevel level);
bool uop_verify_node(UOp *u, VerifyLevel level);
/* Can an op have so many sources? To be asked before a node is made of untrusted parts. */
bool uop_arity_ok(Op op, const UArg *arg, int nsrc, int ndim);

#endif
