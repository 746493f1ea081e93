/* grad.h: reverse-mode differentiation of tensor UOps. Gradients are ordinary UOps, so they can be scheduled with the
 * rest and differentiated again. Knows nothing of handles; src/grad/backward.c puts it behind the API. */
#ifndef POLY_GRAD_H
#define POLY_GRAD_H

#include "ir/context.h"

/* out[k] = d(root)/d(targets[k]) times seed, which has root's shape and dtype; NULL for a target that root does not
 * depend on, or whose derivative is zero everywhere. Results are held by the open scope. False: an error is in the
 * context. O(nodes between root and its leaves). */
bool grad_build(PolyContext *ctx, UOp *root, UOp *seed, int n, UOp *const *targets, UOp **out);
/* The same along the paths that go through none of the stops: a gradient ends at a stop, other than root itself. */
bool grad_build_until(PolyContext *ctx, UOp *root, UOp *seed, int n, UOp *const *targets, int nstop, UOp *const *stops,
                      UOp **out);

/* The same for several roots, whose gradients add up; stops may be roots. */
bool grad_build_many(PolyContext *ctx, int nroot, UOp *const *root, UOp *const *seed, int n, UOp *const *targets,
                     int nstop, UOp *const *stops, UOp **out);

/* Does a gradient flow from root to any of the targets? O(nodes). */
bool grad_reaches(PolyContext *ctx, UOp *root, int n, UOp *const *targets);

/* met[k]: is root computed from targets[k], in whatever way but through DETACH? If no gradient flows between them (a
 * comparison, an integer), the derivative is zero. False: an error is in the context. O(nodes). */
bool grad_depends(PolyContext *ctx, UOp *root, int n, UOp *const *targets, bool *met);

/* Where a walk along a program stops that looks for what gradients may flow to. */
bool grad_is_detached(const UOp *u, void *user);

/* Is root computed from a value whose program is gone, though nobody had asked for that value? O(nodes). */
bool grad_is_cut(PolyContext *ctx, UOp *root);

/* Was there a tensor that required a gradient, and that was freed, among what root is computed from? */
bool grad_had_leaf(PolyContext *ctx, UOp *root);

/* Which sources of u a gradient flows into, as bits; 0: it stops here. */
uint32_t grad_mask(const UOp *u);

#endif
