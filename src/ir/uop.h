/* uop.h: the intermediate representation. A UOp is immutable and interned: two equal nodes of one context are one
 * pointer.
 *
 * Lifetime. Nodes are reference-counted by their users: other nodes, tensor handles, plans. The intern table holds no
 * reference. Builders return a node that the innermost open Scope holds, so that code which composes ops needs no
 * release; whoever wants to keep a node past the scope calls uop_retain. The last release frees iteratively.
 *
 * Errors. A builder given NULL returns NULL; a builder that fails returns NULL with code and text in the context. So a
 * chain of builders is written without checks, and its end is checked once.
 *
 * Shapes are arrays of integer UOps (dtype int64, no shape of their own). They are simplified when they are built, so
 * two sizes that are provably equal are one pointer. */
#ifndef POLY_UOP_H
#define POLY_UOP_H

#include "base/base.h"
#include "ir/public.h"
#include "ir/target.h"

enum { MAX_DIMS = 16, UOP_MAX_PARTS = 32 /* of a CAT */ };

typedef enum Op {
#define X(name, nsrc, cls, dt) OP_##name,
#include "ops.def"
  OP_COUNT
} Op;

typedef enum OpClass {
  CLASS_LEAF,
  CLASS_UNARY,
  CLASS_BINARY,
  CLASS_COMPARE,
  CLASS_TERNARY,
  CLASS_MOVE,
  CLASS_REDUCE,
  CLASS_INDIRECT,
  CLASS_MEMORY,
  CLASS_LIBRARY,
  CLASS_KERNEL
} OpClass;

typedef enum DTypeRule { RULE_SAME, RULE_BOOL, RULE_GIVEN, RULE_VALUE } DTypeRule;

typedef enum OpTakes { TAKES_ANY, TAKES_FLOAT, TAKES_INT, TAKES_BITS, TAKES_NUMBER } OpTakes;

/* The columns of ops.def. Those from `takes` on are of elementwise ops, and 0 for others. */
typedef struct OpInfo {
  const char *name;
  int nsrc;
  OpClass cls;
  DTypeRule dtype;
  OpTakes takes;
  OpCost cost;
  bool exact, commutes;
  const char *infix, *bools, *call;
} OpInfo;
extern const OpInfo op_info[OP_COUNT];

bool op_takes(Op op, PolyDType dtype); /* as the dtype of its (value) sources */

/* Is it computed element by element from sources of the same shape? */
static inline bool op_elementwise(Op op) { return op_info[op].cls >= CLASS_UNARY && op_info[op].cls <= CLASS_TERNARY; }

/* Everything about a node that is neither a source nor a dtype. Unused fields are zero. */
typedef struct UArg {
  int64_t i, j;     /* see ops.def; for CONST, i is the integer or the bits of a double */
  const char *name; /* from ctx_name: pointers of equal names are equal */
} UArg;

typedef struct UOp UOp;
struct UOp {
  PolyContext *ctx;
  UOp *next; /* chain of the intern table */
  uint32_t refs, hash;
  uint16_t op;
  uint8_t dtype; /* PolyDType */
  uint8_t ndim;
  int32_t nsrc;
  uint32_t epoch;     /* stamp of the last traversal that reached the node, */
  int32_t slot;       /* and the number which that traversal gave it */
  int64_t vmin, vmax; /* bounds of an integer scalar; INT64_MIN and INT64_MAX when unknown */
  UArg arg;
  UOp **shape;               /* ndim sizes */
  struct PolyBuffer *buffer; /* the stored value, if there is one (owned; released through ctx) */
  struct PolyTensor *handle; /* the first of the tensor handles on this node; see handle_move */
  uint64_t serial : 62;      /* 1, 2, 3 ...: no other node of the context has it, not even a later one at its address */
  uint64_t cut : 1;   /* of a BUFFER: the program that computed it was let go, though nobody had asked for its value */
  uint64_t left : 1;  /* a tensor that required a gradient was on this node and was freed */
  const char *origin; /* of GATHER and SEGMENT: the public function that first built it, for errors; or NULL */
  UOp *src[];
};

/* Memory that belongs to a tensor. Any other node is an expression: interning makes one node of all tensors that are
 * computed alike, so that a value stored there says nothing about what the next tensor computed alike should be after
 * one of its inputs was replaced. */
static inline bool node_is_own(const UOp *u) {
  return u->op == OP_BUFFER || u->op == OP_ASSIGN || (u->op == OP_CONTIGUOUS && u->arg.i != 0);
}

/* ---- context.c: nodes, scopes, names ---- */

typedef struct Scope {
  struct Scope *outer;
  VEC(UOp *) held;
} Scope;
void scope_enter(PolyContext *ctx, Scope *s);
void scope_leave(PolyContext *ctx, Scope *s); /* releases all that was built since scope_enter */

UOp *uop_retain(UOp *u);  /* NULL is allowed */
void uop_release(UOp *u); /* NULL is allowed; frees iteratively */

/* Interns a node. shape may be NULL when ndim is 0. Callers outside src/ir use the builders below. */
UOp *uop_make(PolyContext *ctx, Op op, PolyDType dtype, UArg arg, int nsrc, UOp *const *src, int ndim,
              UOp *const *shape);

const char *ctx_name(PolyContext *ctx, const char *name); /* interned string, lives as long as the context */
int64_t ctx_unique(PolyContext *ctx);                     /* 1, 2, 3 ... */
Base *ctx_base(PolyContext *ctx);
bool ctx_init(PolyContext *ctx); /* the tables of a cleared context */
void ctx_drop(PolyContext *ctx);

/* ---- build.c: builders that check and infer. Sources of elementwise ops must have one shape, CONST excepted. ---- */

UOp *uop_buffer(PolyContext *ctx, PolyDType dtype, int ndim, UOp *const *shape); /* no memory yet: set ->buffer */
UOp *uop_buffer_for(const UOp *u); /* in the place of u: what was built of u is built of the same value */
UOp *uop_const(PolyContext *ctx, PolyDType dtype,
               double value); /* rounded to dtype; integers beyond 2^53: uop_int_const */
UOp *uop_int_const(PolyContext *ctx, PolyDType dtype, int64_t value); /* wraps to dtype; float dtypes: converted */
UOp *uop_index(PolyContext *ctx, int64_t value);                      /* int64 constant, for sizes and indices */
UOp *uop_variable(PolyContext *ctx, const char *name, int64_t vmin, int64_t vmax);
UOp *uop_bind(UOp *variable, int64_t value);
UOp *uop_iota(PolyContext *ctx, PolyDType dtype, UOp *size);
/* One of two random words of each of `size` elements; the others are int64 scalars. wide: size may pass 2^32. */
UOp *uop_random(UOp *size, UOp *low, UOp *high, UOp *draw, int which, bool wide);

UOp *uop_unary(Op op, UOp *x);
UOp *uop_cast(UOp *x, PolyDType dtype); /* x itself if it has that dtype */
UOp *uop_bitcast(UOp *x, PolyDType dtype);
UOp *uop_binary(Op op, UOp *a, UOp *b); /* also the comparisons */
UOp *uop_where(UOp *cond, UOp *a, UOp *b);

UOp *uop_reshape(UOp *x, int ndim, UOp *const *shape); /* x itself if nothing changes; so for all moves */
UOp *uop_expand(UOp *x, UOp *const *shape);
UOp *uop_permute(UOp *x, const int *perm);
UOp *uop_pad(UOp *x, UOp *const *before, UOp *const *after);
UOp *uop_shrink(UOp *x, UOp *const *begin, UOp *const *end);
/* x under other sizes that are equal in this run: a SHRINK that moves nothing, with arg 1. A compiled step compares the
 * sizes in each run. */
UOp *uop_under(UOp *x, UOp *const *shape);
UOp *uop_flip(UOp *x, uint32_t axes);
UOp *uop_cat(int n, UOp *const *part, int axis); /* n >= 1 parts of one dtype and of one shape but for the axis */
UOp *uop_reduce(Op op, UOp *x, uint32_t axes);   /* op: OP_ADD OP_MUL OP_MAX OP_MIN; x itself if axes is 0 */
UOp *uop_gather(UOp *x, UOp *index);
UOp *uop_segment(Op op, UOp *x, UOp *index, UOp *size);
/* One end of the edges of a graph; sources by their places. */
enum { END_INDEX, END_ROWPTR, END_ENTRIES, END_OTHERS, END_OTHER, END_ROWS, END_PLACES, END_SOURCES };
enum { ROW_BINS = 32 }; /* see ENDPOINT */
UOp *uop_endpoint(UOp *const src[END_SOURCES]);
UOp *uop_contiguous(UOp *x, int64_t unique);
UOp *uop_detach(UOp *x);

/* The gradient rules of FUNCTION, by what the value is of its arguments x, y, z ... (grad/rules_function.c). p: its
 * parameter. */
typedef enum FunctionRule {
  FUNCTION_FLAT,            /* anything whose derivative is zero everywhere */
  FUNCTION_APART,           /* anything that was built from x but does not depend on it; its own gradient passes */
  FUNCTION_LIKE,            /* equal to x up to rounding, which has the better gradient */
  FUNCTION_SIGMOID,         /* 1 / (1 + exp(-x)) */
  FUNCTION_SOFTMAX,         /* along axis p */
  FUNCTION_LOG_SOFTMAX,     /* along axis p */
  FUNCTION_SOFTPLUS,        /* log(1 + exp(x)) */
  FUNCTION_ONE_LESS_SQUARE, /* 1 - x^2 (p = 0) or x^2 - 1 (p = 1) */
  FUNCTION_ABS,             /* |x| */
  FUNCTION_CLAMP,           /* x within two constants, y and z */
  FUNCTION_ELU,             /* x above 0, p (exp(x) - 1) below */
  FUNCTION_CELU,            /* x above 0, p (exp(x/p) - 1) below */
  FUNCTION_HARDSIGMOID,     /* x/6 + 1/2, within 0 and 1 */
  FUNCTION_HARDSWISH,       /* x times that */
  FUNCTION_SILU,            /* x sigmoid(p x) */
  FUNCTION_GELU,            /* x times the normal distribution up to x: by tanh (p = 0) or erf (1); 2, 3: its slope */
  FUNCTION_MISH,            /* x tanh(softplus(x)) */
  FUNCTION_COPYSIGN,        /* the size of x with the sign of y */
  FUNCTION_ANGLE,           /* of the point (y, x), as atan2 has it */
  FUNCTION_LENGTH,          /* of the point (x, y) */
  FUNCTION_SCATTERED,       /* x and, of the rows y that index z sends to each of its rows, the extremum by op p */
  FUNCTION_SHARES,          /* softmax of x among the rows that index y sends to the same row of z */
  FUNCTION_OTHERS,          /* of each row of x, the product of the others that index y sends to its row of z */
  FUNCTION_VARIANCE,        /* of x over the axes p: the sum of squared distances from the mean, over y */
  FUNCTION_DEVIATION,       /* its root */
  FUNCTION_ROW_VARIANCE,    /* of the rows of x that index y sends to one row; z: their mean, then their number */
  FUNCTION_NORM,            /* the y-norm of x over the axes p */
  FUNCTION_FIRST_MAX,       /* the maximum of x over the axes p; of equal ones the first has the gradient */
  FUNCTION_FIRST_MIN,       /* the minimum */
  FUNCTION_BCE,             /* binary cross entropy of the probability x with the target y */
  FUNCTION_WINDOWS,         /* of axis p of x, with step y and dilation z: see t_windows */
  FUNCTION_CONV,            /* of x with the weight y; then the numbers of its geometry (tensor/conv.c) */
  FUNCTION_POLYGAMMA,       /* derivative p of digamma; -1: log |Gamma(x)| */
  FUNCTION_ERFINV,          /* the inverse of erf */
  FUNCTION_SAME, /* x, computed in another way: a gradient goes that way, but to targets on x's own (grad.c) */
  FUNCTION_USER, /* a callback's: see poly_function. Any number of arguments, and what keeps it alive */
} FunctionRule;
UOp *uop_function(FunctionRule rule, double p, UOp *value, int n, UOp *const *x);
enum { FUNCTION_MAX_INPUTS = 24, FUNCTION_MAX_SOURCES = 32 };
/* One whose gradients a callback makes; owner keeps what `callback` points at. */
UOp *uop_function_user(void *callback, UOp *owner, UOp *value, int n, UOp *const *x);
static inline FunctionRule function_rule(const UOp *u) { return (FunctionRule)u->arg.i; }
double function_parameter(const UOp *u);
UOp *uop_assign(UOp *buffer, UOp *value);
UOp *uop_library(PolyContext *ctx, const char *name, int64_t n, PolyDType dtype, int nvalue, UOp *const *value,
                 int ndim, UOp *const *shape);

/* A scalar (usually CONST) spread to a shape: RESHAPE and EXPAND as needed. */
UOp *uop_spread(UOp *x, int ndim, UOp *const *shape);
UOp *uop_zeros_like(UOp *x);

/* ---- reading a node ---- */
static inline int perm_at(const UOp *u, int k) { return (int)((u->arg.i >> (4 * k)) & 15); }
static inline bool uop_is_int(const UOp *u, int64_t v) {
  return u->op == OP_CONST && u->ndim == 0 && u->dtype == POLY_INT64 && u->arg.i == v;
}
double const_float(const UOp *u); /* value of a CONST of any dtype */
int64_t const_int(const UOp *u);
int uop_nvalue(const UOp *u);  /* how many leading sources are values (the rest are integers) */
UOp *uop_numel(UOp *u);        /* product of the sizes, simplified */
int64_t uop_numel_max(UOp *u); /* its upper bound */
bool shape_equal(const UOp *a, const UOp *b);
/* Equal, or equal in this run: at least one is symbolic, and they have the same value. Builders take such operands. */
bool size_same(const UOp *a, const UOp *b);
bool shape_same(const UOp *a, const UOp *b);
const char *shape_text(const UOp *u, char *buf, size_t n); /* "(3, n, 4)" into buf */
const char *dim_text(const UOp *d, char *buf, size_t n);
void uop_fail_shapes(const char *what, const UOp *a, const UOp *b); /* error with both shapes in the text */

/* ---- int.c: integer algebra on int64 scalars; simplifies as it builds ---- */
UOp *int_add(UOp *a, UOp *b);
UOp *int_sub(UOp *a, UOp *b);
UOp *int_mul(UOp *a, UOp *b);
UOp *int_div(UOp *a, UOp *b); /* floor */
UOp *int_mod(UOp *a, UOp *b);
UOp *int_min(UOp *a, UOp *b);
UOp *int_max(UOp *a, UOp *b);
UOp *int_lt(UOp *a, UOp *b);  /* bool; CONST when the bounds decide */
UOp *int_and(UOp *a, UOp *b); /* of bools; NULL is not "true" here: use uop_true */
UOp *int_addc(UOp *a, int64_t c);
UOp *int_mulc(UOp *a, int64_t c);
/* Writes u as sum coef[k]*term[k] + constant, terms not sums themselves. Returns the count, -1 if more than max. */
int int_terms(UOp *u, int max, UOp **term, int64_t *coef, int64_t *constant);
/* Value under an assignment of VARIABLE and RANGE nodes (through lookup), BIND takes its own value. False: unbound. */
typedef bool (*IntLookup)(void *user, const UOp *leaf, int64_t *value);
bool int_eval(const UOp *u, IntLookup lookup, void *user, int64_t *value);
UOp *int_rebuild(UOp *u, UOp *const *src);   /* the same integer or bool scalar over other sources, simplified */
UOp *int_where(UOp *cond, UOp *a, UOp *b);   /* of int64 scalars */
UOp *uop_true(PolyContext *ctx);             /* bool CONST */
bool int_less(UOp *a, UOp *b);               /* is a < b certain? */
int uop_compare(const UOp *a, const UOp *b); /* total order by structure, the same in every run; 0 only for one node */
void int_bounds(UOp *u); /* sets vmin and vmax of a scalar integer or bool; uop_make calls it (bounds.c) */

/* ---- dtype.c ---- */
int dtype_size(PolyDType d);
const char *dtype_name(PolyDType d);
bool dtype_is_float(PolyDType d);
bool dtype_is_int(PolyDType d); /* not bool */
bool dtype_is_unsigned(PolyDType d);
bool dtype_is_small(PolyDType d);                  /* of 8 or 16 bits: stored so, computed in float32 and rounded */
PolyDType dtype_promote(PolyDType a, PolyDType b); /* least upper bound in tinygrad's lattice */
PolyDType dtype_sum(PolyDType d);                  /* what a sum accumulates in */
/* An integer's bits, cut to the dtype and extended by its sign rule. */
static inline int64_t dtype_wrap(PolyDType d, uint64_t v) {
  switch (d) {
  case POLY_BOOL: return v != 0;
  case POLY_INT8: return (int8_t)v;
  case POLY_UINT8: return (uint8_t)v;
  case POLY_INT16: return (int16_t)v;
  case POLY_UINT16: return (uint16_t)v;
  case POLY_INT32: return (int32_t)v;
  case POLY_UINT32: return (uint32_t)v;
  default: return (int64_t)v;
  }
}
double dtype_round(PolyDType d, double v); /* to nearest even in a floating-point dtype, rounding once */
float half_to_float(uint16_t h);
uint16_t float_to_half(float f);
float bfloat_to_float(uint16_t h);
uint16_t float_to_bfloat(float f);
float e4m3_to_float(uint8_t v);
uint8_t float_to_e4m3(float f);
float e5m2_to_float(uint8_t v);
uint8_t float_to_e5m2(float f);

/* ---- walk.c: traversals and rewriting, iterative ---- */
/* All nodes that the roots reach, sources before users. stop(u) true: u's sources are not entered. The list lives in
 * the arena; u->slot is the node's place in it as long as u->epoch is the returned epoch. NULL: out of memory. */
typedef struct Walk {
  UOp **at;
  int n;
  uint32_t epoch;
} Walk;
bool uop_walk(PolyContext *ctx, Arena *arena, int nroot, UOp *const *root, bool (*stop)(const UOp *u, void *user),
              void *user, Walk *out);
/* The same node over other sources: re-infers through the builders. */
UOp *uop_with_sources(UOp *u, UOp *const *src);

#endif
