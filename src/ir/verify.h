/* verify.h: what a legal program is. In tests it is asked after every pass; the text reader trusts nothing else. */
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
/* After a pass, if the context verifies (POLY_VERIFY=1, set in all tests): is what it made legal? Memory that is
 * already stored is not looked into. False: an internal error that names the pass, and that no other schedule is tried
 * for. */
bool uop_verify_pass(PolyContext *ctx, const char *pass, int nroot, UOp *const *roots, VerifyLevel level);
/* The same, for what is no UOp: `ok` is what a check of the pass's result said. */
bool verify_result(PolyContext *ctx, const char *pass, bool ok);
/* Can an op have this many sources? To be asked before a node is made of untrusted parts. */
bool uop_arity_ok(Op op, const UArg *arg, int nsrc, int ndim);

#endif
