/* rewrite.h: the one rewrite driver. A pass is a named list of rules; the driver applies them bottom-up until none
 * applies.
 *
 * Three tiers, the simplest that does the job:
 *   identities   static data: a pattern, what replaces it, and for which dtypes it is true. Tested one by one on random
 * values rules        a function per op, for what depends on shapes, bounds or arguments int.c        division,
 * remainder and bounds of indices, which simplify while they are built
 *
 * A rule keeps dtype and shape, and makes progress: the driver counts, and a pass that does not end is an error. */
#ifndef POLY_REWRITE_H
#define POLY_REWRITE_H

#include "ir/uop.h"

/* ---- identities ---- */

/* Patterns are in prefix order: an Op, or one of these. Variables match any source, and the same one each time they
 * occur. Constants match a CONST, also one that was spread to a shape. */
enum {
  PAT_END = -1,
  PAT_X = -2,
  PAT_Y = -3,
  PAT_C = -4,       /* a bool */
  PAT_ZERO = -5,    /* 0; +0.0 */
  PAT_NEGZERO = -6, /* -0.0 */
  PAT_ONE = -7,
  PAT_TWO = -8,
  PAT_ONES = -9, /* -1; for unsigned and bool all bits set */
  PAT_TRUE = -10,
  PAT_FALSE = -11
};
enum { PAT_LENGTH = 8 };

/* For which dtypes of x and y. */
enum { FOR_BOOL = 1, FOR_INT = 2, FOR_UINT = 4, FOR_FLOAT = 8 };

/* ROUNDED: equal but for the last bit, where the new form is the more exact one. */
typedef enum Exactness { EXACT, ROUNDED } Exactness;

typedef struct Identity {
  unsigned dtypes;
  int16_t from[PAT_LENGTH], to[PAT_LENGTH]; /* end with PAT_END */
  Exactness exactness;
} Identity;

/* ---- passes ---- */

/* Returns what replaces u; u or NULL: the rule does not apply. A NULL with an error in the context stops the pass. */
typedef UOp *(*RewriteFn)(UOp *u, void *user);

typedef struct RewriteRule {
  Op op; /* OP_COUNT: any */
  RewriteFn apply;
} RewriteRule;

typedef struct RewritePass {
  const char *name;
  const Identity *identities;
  int nidentity;
  const RewriteRule *rules;
  int nrule;
  bool index; /* integer scalars are rebuilt through int.c */
  /* NULL, or told that `to` is `from` over new sources, before the rules see it. False: an error. */
  bool (*rebuilt)(const UOp *from, const UOp *to, void *user);
} RewritePass;

/* The rewritten root, held by the innermost scope; NULL: an error. Nodes that are stored (->buffer) stay as they are,
 * and so does everything below them. At DEBUG 5 the program is shown before and after. O(nodes) besides the rules. */
UOp *rewrite_graph(PolyContext *ctx, const RewritePass *pass, UOp *root);
/* The same for several roots at once, in place; user is handed to the rules. */
bool rewrite_graphs(PolyContext *ctx, const RewritePass *pass, void *user, int nroot, UOp **roots);

/* u replaced by the first identity that matches; NULL: none. */
UOp *identity_apply(const Identity *list, int n, UOp *u);

/* ---- identities.c ---- */

/* Algebra that holds bit for bit (NaN, infinities and signed zeros included), constants folded, moves merged. */
extern const RewritePass simplify_pass;
/* RANDOM as the arithmetic that it stands for. */
extern const RewritePass random_pass;
/* The CONST behind u, also when it is spread or moved; NULL: u is not one constant. */
const UOp *const_under(const UOp *u);

#endif
