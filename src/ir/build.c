/* build.c: builders. Each checks its operands, infers dtype and shape, drops moves that change nothing, and interns.
 * Errors are reported here, when the program is written, with the shapes in the text. */
#include "ir/context.h"
#include "ir/edge_to_node.h"
#include "ir/scan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- text of sizes and shapes ---- */

static void dim_add_text(const UOp *d, char *buf, size_t n) {
  size_t used = strlen(buf);
  char *at = buf + used;
  size_t left = n - used;
  static const struct {
    Op op;
    const char *sign;
  } signs[] = {{OP_ADD, "+"}, {OP_SUB, "-"}, {OP_MUL, "*"}, {OP_IDIV, "//"}, {OP_MOD, "%"}};
  if (d->op == OP_CONST) {
    snprintf(at, left, "%" PRId64, d->arg.i);
  } else if (d->op == OP_VARIABLE) {
    snprintf(at, left, "%s", d->arg.name);
  } else if (d->op == OP_BIND) {
    snprintf(at, left, "%s", d->src[0]->arg.name);
  } else {
    for (int i = 0; i < LEN(signs); i++)
      if (signs[i].op == d->op) {
        bool inner = d->op != OP_ADD;
        if (inner && d->src[0]->nsrc > 1 && d->src[0]->op != OP_BIND) strncat(buf, "(", n - strlen(buf) - 1);
        dim_add_text(d->src[0], buf, n);
        if (inner && d->src[0]->nsrc > 1 && d->src[0]->op != OP_BIND) strncat(buf, ")", n - strlen(buf) - 1);
        strncat(buf, signs[i].sign, n - strlen(buf) - 1);
        dim_add_text(d->src[1], buf, n);
        return;
      }
    snprintf(at, left, "%s(...)", op_info[d->op].name);
  }
}

const char *dim_text(const UOp *d, char *buf, size_t n) {
  buf[0] = 0;
  dim_add_text(d, buf, n);
  return buf;
}

const char *shape_text(const UOp *u, char *buf, size_t n) {
  snprintf(buf, n, "(");
  for (int i = 0; i < u->ndim && strlen(buf) + 8 < n; i++) {
    if (i) strncat(buf, ", ", n - strlen(buf) - 1);
    dim_add_text(u->shape[i], buf, n);
    size_t used = strlen(buf);
    if (u->shape[i]->op == OP_BIND) snprintf(buf + used, n - used, "=%" PRId64, u->shape[i]->src[1]->arg.i);
  }
  strncat(buf, u->ndim == 1 ? ",)" : ")", n - strlen(buf) - 1);
  return buf;
}

void uop_fail_shapes(const char *what, const UOp *a, const UOp *b) {
  char ta[256], tb[256];
  base_fail(ctx_base(a->ctx), POLY_ERROR_VALUE, "%s: shapes %s and %s do not agree", what, shape_text(a, ta, sizeof ta),
            shape_text(b, tb, sizeof tb));
}

bool shape_equal(const UOp *a, const UOp *b) {
  if (a->ndim != b->ndim) return false;
  for (int i = 0; i < a->ndim; i++)
    if (a->shape[i] != b->shape[i]) return false;
  return true;
}

/* ---- sizes that are equal in this run ---- */

static bool unbound(void *user, const UOp *leaf, int64_t *value) {
  (void)user, (void)leaf, (void)value;
  return false;
}

bool size_same(const UOp *a, const UOp *b) {
  int64_t x, y;
  if (a == b) return true;
  if (!a || !b || (a->op == OP_CONST && b->op == OP_CONST) || a->vmax < b->vmin || b->vmax < a->vmin) return false;
  return int_eval(a, unbound, NULL, &x) && int_eval(b, unbound, NULL, &y) && x == y;
}

bool shape_same(const UOp *a, const UOp *b) {
  bool same = a->ndim == b->ndim;
  for (int i = 0; same && i < a->ndim; i++) same = size_same(a->shape[i], b->shape[i]);
  return same;
}

static UOp *shrink_as(UOp *x, UOp *const *begin, UOp *const *end, bool same);

static bool same_sizes(const UOp *x, int ndim, UOp *const *shape) {
  return x->ndim == ndim && (!ndim || memcmp(x->shape, shape, (size_t)ndim * sizeof *shape) == 0);
}

UOp *uop_under(UOp *x, UOp *const *shape) {
  UOp *zero[MAX_DIMS];
  if (x && same_sizes(x, x->ndim, shape)) return x;
  for (int i = 0; x && i < x->ndim; i++) zero[i] = uop_index(x->ctx, 0);
  return x ? shrink_as(x, zero, shape, true) : NULL;
}

UOp *uop_numel(UOp *u) {
  UOp *n = u ? uop_index(u->ctx, 1) : NULL;
  for (int i = 0; n && i < u->ndim; i++) n = int_mul(n, u->shape[i]);
  return n;
}

int64_t uop_numel_max(UOp *u) {
  int64_t n = 1;
  for (int i = 0; i < u->ndim; i++)
    if (__builtin_mul_overflow(n, u->shape[i]->vmax, &n)) return INT64_MAX;
  return n;
}

/* ---- leaves ---- */

UOp *uop_buffer(PolyContext *ctx, PolyDType dtype, int ndim, UOp *const *shape) {
  return uop_make(ctx, OP_BUFFER, dtype, (UArg){.i = ctx_unique(ctx)}, ndim, shape, ndim, shape);
}

UOp *uop_buffer_for(const UOp *u) {
  UArg arg = {.i = ctx_unique(u->ctx), .j = (int64_t)u->serial};
  return uop_make(u->ctx, OP_BUFFER, (PolyDType)u->dtype, arg, u->ndim, u->shape, u->ndim, u->shape);
}

static UOp *const_bits(PolyContext *ctx, PolyDType dtype, int64_t bits) {
  return uop_make(ctx, OP_CONST, dtype, (UArg){.i = bits}, 0, NULL, 0, NULL);
}

/* Equal constants are one node, so there is one NaN. */
static UOp *const_double(PolyContext *ctx, PolyDType dtype, double v) {
  v = isnan(v) ? (double)NAN : dtype_round(dtype, v);
  int64_t bits;
  memcpy(&bits, &v, 8);
  return const_bits(ctx, dtype, bits);
}

UOp *uop_const(PolyContext *ctx, PolyDType dtype, double value) {
  if (dtype_is_float(dtype)) return const_double(ctx, dtype, value);
  if (dtype == POLY_BOOL) return const_bits(ctx, dtype, value != 0);
  if (isnan(value)) return const_bits(ctx, dtype, 0);
  if (dtype == POLY_UINT64 && value >= 0x1p63)
    return const_bits(ctx, dtype, (int64_t)(value >= 0x1p64 ? UINT64_MAX : (uint64_t)value));
  int64_t v = value >= 0x1p63 ? INT64_MAX : value < -0x1p63 ? INT64_MIN : (int64_t)value;
  return const_bits(ctx, dtype, dtype_wrap(dtype, (uint64_t)v));
}

UOp *uop_int_const(PolyContext *ctx, PolyDType dtype, int64_t value) {
  if (dtype_is_float(dtype)) return const_double(ctx, dtype, (double)value);
  return const_bits(ctx, dtype, dtype_wrap(dtype, (uint64_t)value));
}

UOp *uop_index(PolyContext *ctx, int64_t value) { return const_bits(ctx, POLY_INT64, value); }

double const_float(const UOp *u) {
  if (u->dtype == POLY_UINT64) return (double)(uint64_t)u->arg.i;
  if (!dtype_is_float((PolyDType)u->dtype)) return (double)u->arg.i;
  double v;
  memcpy(&v, &u->arg.i, 8);
  return v;
}

int64_t const_int(const UOp *u) { return dtype_is_float((PolyDType)u->dtype) ? (int64_t)const_float(u) : u->arg.i; }

UOp *uop_variable(PolyContext *ctx, const char *name, int64_t vmin, int64_t vmax) {
  if (vmin > vmax)
    return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "variable %s: bounds %" PRId64 "..%" PRId64 " are empty", name,
                     vmin, vmax);
  const char *interned = ctx_name(ctx, name);
  if (!interned) return NULL;
  return uop_make(ctx, OP_VARIABLE, POLY_INT64, (UArg){vmin, vmax, interned}, 0, NULL, 0, NULL);
}

UOp *uop_bind(UOp *variable, int64_t value) {
  if (!variable) return NULL;
  if (value < variable->arg.i || value > variable->arg.j)
    return fail_null(ctx_base(variable->ctx), POLY_ERROR_VALUE,
                     "variable %s: %" PRId64 " is outside its bounds %" PRId64 "..%" PRId64, variable->arg.name, value,
                     variable->arg.i, variable->arg.j);
  UOp *src[2] = {variable, uop_index(variable->ctx, value)};
  return uop_make(variable->ctx, OP_BIND, POLY_INT64, (UArg){0}, 2, src, 0, NULL);
}

UOp *uop_iota(PolyContext *ctx, PolyDType dtype, UOp *size) {
  return uop_make(ctx, OP_IOTA, dtype, (UArg){0}, 1, &size, 1, &size);
}

UOp *uop_random(UOp *size, UOp *low, UOp *high, UOp *draw, int which, bool wide) {
  UOp *src[4] = {size, low, high, draw};
  for (int k = 0; k < 4; k++)
    if (!src[k]) return NULL;
  return uop_make(size->ctx, OP_RANDOM, POLY_UINT32, (UArg){.i = which, .j = wide}, 4, src, 1, src);
}

/* ---- elementwise ---- */

static bool is_scalar_const(const UOp *u) { return u->op == OP_CONST; }

/* Sources whose sizes are equal in this run only get those of the first that has a symbolic one: x, in place. */
static bool agree(Op op, int n, UOp **x) {
  const UOp *model = NULL;
  UOp *shape[MAX_DIMS];
  for (int k = 0; k < n; k++) {
    if (is_scalar_const(x[k])) continue;
    if (model && !shape_same(model, x[k])) {
      uop_fail_shapes(op_info[op].name, model, x[k]);
      return false;
    }
    for (int i = 0; i < x[k]->ndim; i++)
      if (!model || shape[i]->op == OP_CONST) shape[i] = x[k]->shape[i];
    model = model ? model : x[k];
  }
  for (int k = 0; k < n; k++)
    if (!is_scalar_const(x[k]) && !(x[k] = uop_under(x[k], shape))) return false;
  return true;
}

/* Interns an elementwise node over sources that agree in shape; constants fit anywhere. */
static UOp *elementwise(Op op, PolyDType dtype, UArg arg, int n, UOp *const *src) {
  const UOp *model = NULL;
  UOp *cut[3];
  bool same = true;
  for (int i = 0; i < n; i++) {
    if (!src[i]) return NULL;
    if (is_scalar_const(src[i])) continue;
    if (!model) model = src[i];
    same = same && shape_equal(model, src[i]);
  }
  if (!same) {
    memcpy(cut, src, (size_t)n * sizeof *cut);
    return agree(op, n, cut) ? elementwise(op, dtype, arg, n, cut) : NULL;
  }
  UOp *hoisted = model ? edge_to_node_elementwise(op, dtype, n, src) : NULL;
  if (hoisted) return hoisted;
  if (!model) model = src[0];
  return uop_make(src[0]->ctx, op, dtype, arg, n, src, model->ndim, model->shape);
}

static UOp *fail_dtype(Op op, const UOp *a, const UOp *b) {
  if (!b)
    return fail_null(ctx_base(a->ctx), POLY_ERROR_TYPE, "%s does not take %s", op_info[op].name,
                     dtype_name((PolyDType)a->dtype));
  return fail_null(ctx_base(a->ctx), POLY_ERROR_TYPE, "%s: dtypes %s and %s do not agree", op_info[op].name,
                   dtype_name((PolyDType)a->dtype), dtype_name((PolyDType)b->dtype));
}

UOp *uop_unary(Op op, UOp *x) {
  if (!x) return NULL;
  if (!op_takes(op, (PolyDType)x->dtype)) return fail_dtype(op, x, NULL);
  return elementwise(op, (PolyDType)x->dtype, (UArg){0}, 1, &x);
}

UOp *uop_cast(UOp *x, PolyDType dtype) {
  if (!x || x->dtype == dtype) return x;
  if (x->op == OP_CONST) {
    bool whole = !dtype_is_float((PolyDType)x->dtype) && x->dtype != POLY_UINT64;
    return whole ? uop_int_const(x->ctx, dtype, x->arg.i) : uop_const(x->ctx, dtype, const_float(x));
  }
  return elementwise(OP_CAST, dtype, (UArg){0}, 1, &x);
}

UOp *uop_bitcast(UOp *x, PolyDType dtype) {
  if (!x || x->dtype == dtype) return x;
  if (dtype_size(dtype) != dtype_size((PolyDType)x->dtype))
    return fail_null(ctx_base(x->ctx), POLY_ERROR_TYPE, "bitcast from %s to %s: item sizes differ",
                     dtype_name((PolyDType)x->dtype), dtype_name(dtype));
  return elementwise(OP_BITCAST, dtype, (UArg){0}, 1, &x);
}

UOp *uop_binary(Op op, UOp *a, UOp *b) {
  if (!a || !b) return NULL;
  if (a->dtype != b->dtype) return fail_dtype(op, a, b);
  if (!op_takes(op, (PolyDType)a->dtype)) return fail_dtype(op, a, NULL);
  PolyDType dtype = op_info[op].dtype == RULE_BOOL ? POLY_BOOL : (PolyDType)a->dtype;
  return elementwise(op, dtype, (UArg){0}, 2, (UOp *[]){a, b});
}

UOp *uop_where(UOp *cond, UOp *a, UOp *b) {
  if (!cond || !a || !b) return NULL;
  if (cond->dtype != POLY_BOOL) return fail_dtype(OP_WHERE, cond, NULL);
  if (a->dtype != b->dtype) return fail_dtype(OP_WHERE, a, b);
  return elementwise(OP_WHERE, (PolyDType)a->dtype, (UArg){0}, 3, (UOp *[]){cond, a, b});
}

/* ---- movement ---- */

static UOp *move(Op op, UOp *x, UArg arg, int nint, UOp *const *ints, int ndim, UOp *const *shape) {
  UOp *hoisted = edge_to_node_move(op, x, arg, nint, ints, ndim, shape);
  if (hoisted) return hoisted;
  UOp *src[1 + 2 * MAX_DIMS] = {x};
  for (int i = 0; i < nint; i++) src[1 + i] = ints[i];
  return uop_make(x->ctx, op, (PolyDType)x->dtype, arg, 1 + nint, src, ndim, shape);
}

static bool all_set(int n, UOp *const *u) {
  for (int i = 0; i < n; i++)
    if (!u[i]) return false;
  return true;
}

static bool count_of(int n, UOp *const *size, int64_t *count) {
  *count = 1;
  for (int i = 0; i < n; i++)
    if (size[i]->op != OP_CONST || __builtin_mul_overflow(*count, size[i]->arg.i, count)) return false;
  return true;
}

/* Are the sizes numbers whose products are equal? Saves nodes for the products. */
static bool same_count(const UOp *x, int ndim, UOp *const *shape) {
  int64_t have, want;
  return count_of(x->ndim, x->shape, &have) && count_of(ndim, shape, &want) && have == want;
}

UOp *uop_reshape(UOp *x, int ndim, UOp *const *shape) {
  if (!x || !all_set(ndim, shape)) return NULL;
  if (ndim > MAX_DIMS)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "a tensor has at most %d dimensions", MAX_DIMS);
  if (same_sizes(x, ndim, shape)) return x;
  UOp *n = NULL, *have = NULL;
  if (!same_count(x, ndim, shape)) {
    n = uop_index(x->ctx, 1);
    have = uop_numel(x);
    for (int i = 0; i < ndim; i++) n = int_mul(n, shape[i]);
    if (!n || !have) return NULL;
  }
  if (n != have && size_same(n, have)) {
    bool axes = x->ndim == ndim;
    for (int i = 0; axes && i < ndim; i++) axes = size_same(x->shape[i], shape[i]);
    return axes ? uop_under(x, shape) : uop_reshape(uop_under(uop_reshape(x, 1, &have), &n), ndim, shape);
  }
  if (n != have) {
    char ta[256], tb[256], nb[64], na[64];
    UOp *target = uop_make(x->ctx, OP_BUFFER, POLY_BOOL, (UArg){0}, ndim, shape, ndim, shape);
    if (!target) return NULL;
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "cannot reshape %s (%s elements) into %s (%s elements)",
                     shape_text(x, ta, sizeof ta), dim_text(have, na, sizeof na), shape_text(target, tb, sizeof tb),
                     dim_text(n, nb, sizeof nb));
  }
  if (x->op == OP_RESHAPE && !x->buffer) {
    x = x->src[0];
    if (same_sizes(x, ndim, shape)) return x;
  }
  return move(OP_RESHAPE, x, (UArg){0}, ndim, shape, ndim, shape);
}

UOp *uop_expand(UOp *x, UOp *const *shape) {
  if (!x || !all_set(x->ndim, shape)) return NULL;
  if (same_sizes(x, x->ndim, shape)) return x;
  UOp *own[MAX_DIMS];
  for (int i = 0; i < x->ndim; i++) {
    own[i] = !uop_is_int(x->shape[i], 1) && size_same(x->shape[i], shape[i]) ? shape[i] : x->shape[i];
    if (own[i] != shape[i] && !uop_is_int(own[i], 1)) {
      char ta[256], tb[256];
      UOp *target = uop_make(x->ctx, OP_BUFFER, POLY_BOOL, (UArg){0}, x->ndim, shape, x->ndim, shape);
      if (!target) return NULL;
      return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "cannot expand %s to %s", shape_text(x, ta, sizeof ta),
                       shape_text(target, tb, sizeof tb));
    }
  }
  if (!(x = uop_under(x, own)) || same_sizes(x, x->ndim, shape)) return x;
  if (x->op == OP_EXPAND && !x->buffer) x = x->src[0];
  return move(OP_EXPAND, x, (UArg){0}, x->ndim, shape, x->ndim, shape);
}

UOp *uop_permute(UOp *x, const int *perm) {
  if (!x) return NULL;
  int full[MAX_DIMS] = {0};
  uint32_t seen = 0;
  for (int i = 0; i < x->ndim; i++) {
    if (perm[i] < 0 || perm[i] >= x->ndim || (seen & (1u << perm[i])))
      return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "the order is not a permutation of %d axes", x->ndim);
    seen |= 1u << perm[i];
    full[i] = perm[i];
  }
  if (x->op == OP_PERMUTE && !x->buffer) {
    for (int i = 0; i < x->ndim; i++) full[i] = perm_at(x, perm[i]);
    x = x->src[0];
  }
  UArg arg = {0};
  UOp *shape[MAX_DIMS];
  bool identity = true;
  for (int i = 0; i < x->ndim; i++) {
    identity &= full[i] == i;
    arg.i |= (int64_t)((uint64_t)full[i] << (4 * i));
    shape[i] = x->shape[full[i]];
  }
  return identity ? x : move(OP_PERMUTE, x, arg, 0, NULL, x->ndim, shape);
}

UOp *uop_pad(UOp *x, UOp *const *before, UOp *const *after) {
  if (!x || !all_set(x->ndim, before) || !all_set(x->ndim, after)) return NULL;
  UOp *ints[2 * MAX_DIMS], *shape[MAX_DIMS];
  bool none = true;
  for (int i = 0; i < x->ndim; i++) {
    ints[2 * i] = before[i];
    ints[2 * i + 1] = after[i];
    if (before[i]->vmax < 0 || after[i]->vmax < 0)
      return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "padding of axis %d is negative", i);
    shape[i] = int_add(int_add(x->shape[i], before[i]), after[i]);
    none &= uop_is_int(before[i], 0) && uop_is_int(after[i], 0);
  }
  return none ? x : move(OP_PAD, x, (UArg){0}, 2 * x->ndim, ints, x->ndim, shape);
}

/* same: the sizes are equal in this run, the node says so. */
static UOp *shrink_as(UOp *x, UOp *const *begin, UOp *const *end, bool same) {
  if (!x || !all_set(x->ndim, begin) || !all_set(x->ndim, end)) return NULL;
  UOp *ints[2 * MAX_DIMS], *shape[MAX_DIMS];
  bool whole = true;
  for (int i = 0; i < x->ndim; i++) {
    ints[2 * i] = begin[i];
    ints[2 * i + 1] = end[i];
    shape[i] = int_sub(end[i], begin[i]);
    UOp *over = int_sub(end[i], x->shape[i]);
    if (!shape[i] || !over) return NULL;
    if (begin[i]->vmax < 0 || shape[i]->vmax < 0 || over->vmin > 0) {
      char ta[256], tb[64], te[64];
      return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "cannot shrink axis %d of %s to %s..%s", i,
                       shape_text(x, ta, sizeof ta), dim_text(begin[i], tb, sizeof tb),
                       dim_text(end[i], te, sizeof te));
    }
    whole &= uop_is_int(begin[i], 0) && end[i] == x->shape[i];
  }
  return whole ? x : move(OP_SHRINK, x, (UArg){.i = same}, 2 * x->ndim, ints, x->ndim, shape);
}

UOp *uop_shrink(UOp *x, UOp *const *begin, UOp *const *end) { return shrink_as(x, begin, end, false); }

UOp *uop_flip(UOp *x, uint32_t axes) {
  if (!x) return NULL;
  for (int i = 0; i < x->ndim; i++)
    if (uop_is_int(x->shape[i], 1)) axes &= ~(1u << i);
  if (!axes) return x;
  if (x->op == OP_FLIP && !x->buffer) return uop_flip(x->src[0], axes ^ (uint32_t)x->arg.i);
  return move(OP_FLIP, x, (UArg){.i = axes}, 0, NULL, x->ndim, x->shape);
}

UOp *uop_cat(int n, UOp *const *part, int axis) {
  if (n < 1 || !all_set(n, part)) return NULL;
  if (n > UOP_MAX_PARTS)
    return fail_null(ctx_base(part[0]->ctx), POLY_ERROR_VALUE, "cat: at most %d parts", UOP_MAX_PARTS);
  if (n == 1) return part[0];
  UOp *shape[MAX_DIMS], *cut[UOP_MAX_PARTS], *total = part[0]->shape[axis];
  for (int k = 0; k < n; k++) {
    bool fits = part[k]->ndim == part[0]->ndim;
    for (int i = 0; fits && i < part[0]->ndim; i++) {
      fits = i == axis || size_same(part[k]->shape[i], part[0]->shape[i]);
      shape[i] = i == axis ? part[k]->shape[i] : part[0]->shape[i];
    }
    if (!fits) {
      uop_fail_shapes("cat", part[0], part[k]);
      return NULL;
    }
    if (!(cut[k] = uop_under(part[k], shape))) return NULL;
    if (k == 0) continue;
    if (part[k]->dtype != part[0]->dtype) return fail_dtype(OP_CAT, part[0], part[k]);
    total = int_add(total, part[k]->shape[axis]);
  }
  for (int i = 0; i < part[0]->ndim; i++) shape[i] = i == axis ? total : part[0]->shape[i];
  return uop_make(part[0]->ctx, OP_CAT, (PolyDType)part[0]->dtype, (UArg){.i = axis}, n, cut, part[0]->ndim, shape);
}

UOp *uop_reduce(Op op, UOp *x, uint32_t axes) {
  for (int i = 0; x && i < x->ndim; i++)
    if (uop_is_int(x->shape[i], 1)) axes &= ~(1u << i); /* nothing to reduce */
  if (!x || !axes) return x;
  UOp *shape[MAX_DIMS], *hoisted = edge_to_node_reduce(op, x, axes);
  if (hoisted) return hoisted;
  for (int i = 0; i < x->ndim; i++) shape[i] = axes & (1u << i) ? uop_index(x->ctx, 1) : x->shape[i];
  return uop_make(x->ctx, OP_REDUCE, (PolyDType)x->dtype, (UArg){op, axes, NULL}, 1, &x, x->ndim, shape);
}

/* ---- indirect ---- */

UOp *uop_gather(UOp *x, UOp *index) {
  if (!x || !index) return NULL;
  if (!dtype_is_int((PolyDType)index->dtype)) return fail_dtype(OP_GATHER, index, NULL);
  if (x->ndim == 0) return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "gather: a scalar has no axis to index");
  if (index->ndim + x->ndim - 1 > MAX_DIMS)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "a tensor has at most %d dimensions", MAX_DIMS);
  UOp *shape[2 * MAX_DIMS];
  int n = 0;
  for (int i = 0; i < index->ndim; i++) shape[n++] = index->shape[i];
  for (int i = 1; i < x->ndim; i++) shape[n++] = x->shape[i];
  return uop_make(x->ctx, OP_GATHER, (PolyDType)x->dtype, (UArg){0}, 2, (UOp *[]){x, index}, n, shape);
}

UOp *uop_segment(Op op, UOp *x, UOp *index, UOp *size) {
  if (!x || !index || !size) return NULL;
  if (!dtype_is_int((PolyDType)index->dtype)) return fail_dtype(OP_SEGMENT, index, NULL);
  if (index->ndim != 1 || x->ndim < 1 || !size_same(x->shape[0], index->shape[0])) {
    uop_fail_shapes("segment", x, index);
    return NULL;
  }
  UOp *rowptr, *entries, *own[MAX_DIMS] = {index->shape[0]};
  for (int i = 1; i < x->ndim; i++) own[i] = x->shape[i];
  if (!(x = uop_under(x, own))) return NULL;
  if (index->op == OP_ENDPOINT) {
    rowptr = index->src[END_ROWPTR];
    entries = index->src[END_ENTRIES];
  } else {
    UOp *rows = int_addc(size, 1), *total = int_add(rows, index->shape[0]), *zero = uop_index(x->ctx, 0);
    UOp *order = uop_library(x->ctx, "segment_order", 0, POLY_INT32, 1, &index, 1, &total);
    if (!order) return NULL;
    rowptr = uop_shrink(order, &zero, &rows);
    entries = uop_shrink(order, &rows, &total);
  }
  if (!rowptr || !entries) return NULL;
  UOp *shape[MAX_DIMS] = {size};
  for (int i = 1; i < x->ndim; i++) shape[i] = x->shape[i];
  return uop_make(x->ctx, OP_SEGMENT, (PolyDType)x->dtype, (UArg){.i = op}, 5,
                  (UOp *[]){x, index, rowptr, entries, size}, x->ndim, shape);
}

UOp *uop_endpoint(UOp *const src[END_SOURCES]) {
  for (int i = 0; i < END_SOURCES; i++) {
    if (!src[i]) return NULL;
    if (src[i]->dtype != POLY_INT32) return fail_dtype(OP_ENDPOINT, src[i], NULL);
    if (src[i]->ndim != 1 || (i != END_ROWPTR && !shape_equal(src[0], src[i]))) {
      uop_fail_shapes("endpoint", src[0], src[i]);
      return NULL;
    }
  }
  return uop_make(src[0]->ctx, OP_ENDPOINT, POLY_INT32, (UArg){0}, END_SOURCES, src, 1, src[0]->shape);
}

/* ---- memory ---- */

UOp *uop_contiguous(UOp *x, int64_t unique) {
  return x ? uop_make(x->ctx, OP_CONTIGUOUS, (PolyDType)x->dtype, (UArg){.i = unique}, 1, &x, x->ndim, x->shape) : NULL;
}

UOp *uop_detach(UOp *x) {
  if (!x || x->op == OP_DETACH || x->op == OP_CONST) return x;
  if (is_row_read(x)) return uop_gather(uop_detach(x->src[0]), x->src[1]);
  return uop_make(x->ctx, OP_DETACH, (PolyDType)x->dtype, (UArg){0}, 1, &x, x->ndim, x->shape);
}

/* Where x is read from ends of edges, value is as well, and the function is one of the nodes. */
UOp *uop_function(FunctionRule rule, double p, UOp *value, int n, UOp *const *x) {
  if (!value || n >= FUNCTION_MAX_SOURCES || !all_set(n, x)) return NULL;
  UOp *src[FUNCTION_MAX_SOURCES] = {value}, *hoisted = edge_to_node_function(rule, p, value, n, x);
  if (hoisted) return hoisted;
  for (int i = 0; i < n; i++) src[1 + i] = x[i];
  UArg arg = {.i = rule};
  memcpy(&arg.j, &p, sizeof p);
  return uop_make(value->ctx, OP_FUNCTION, (PolyDType)value->dtype, arg, 1 + n, src, value->ndim, value->shape);
}

UOp *uop_function_user(void *callback, UOp *owner, UOp *value, int n, UOp *const *x) {
  if (!value || !owner || n > FUNCTION_MAX_INPUTS || !all_set(n, x)) return NULL;
  UOp *src[2 + FUNCTION_MAX_INPUTS] = {value};
  for (int i = 0; i < n; i++) src[1 + i] = x[i];
  src[1 + n] = owner;
  UArg arg = {.i = FUNCTION_USER, .j = (int64_t)(intptr_t)callback};
  return uop_make(value->ctx, OP_FUNCTION, (PolyDType)value->dtype, arg, 2 + n, src, value->ndim, value->shape);
}

double function_parameter(const UOp *u) {
  double p;
  memcpy(&p, &u->arg.j, sizeof p);
  return p;
}

UOp *uop_assign(UOp *buffer, UOp *value) {
  if (!buffer || !value) return NULL;
  if (buffer->dtype != value->dtype) return fail_dtype(OP_ASSIGN, buffer, value);
  if (!shape_same(buffer, value)) {
    uop_fail_shapes("assign", buffer, value);
    return NULL;
  }
  if (!(value = uop_under(value, buffer->shape))) return NULL;
  return uop_make(buffer->ctx, OP_ASSIGN, (PolyDType)buffer->dtype, (UArg){0}, 2, (UOp *[]){buffer, value},
                  buffer->ndim, buffer->shape);
}

UOp *uop_library(PolyContext *ctx, const char *name, int64_t n, PolyDType dtype, int nvalue, UOp *const *value,
                 int ndim, UOp *const *shape) {
  UOp *src[4 + MAX_DIMS];
  if (nvalue > 4 || ndim > MAX_DIMS)
    return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "library %s: too many operands", name);
  for (int i = 0; i < nvalue; i++) src[i] = value[i];
  for (int i = 0; i < ndim; i++) src[nvalue + i] = shape[i];
  const char *interned = ctx_name(ctx, name);
  if (!interned) return NULL;
  return uop_make(ctx, OP_LIBRARY, dtype, (UArg){n, nvalue, interned}, nvalue + ndim, src, ndim, shape);
}

/* ---- helpers ---- */

int uop_nvalue(const UOp *u) {
  if (u->op == OP_LIBRARY) return (int)u->arg.j;
  if (u->op == OP_SCAN) return u->nsrc - 1;
  int n = op_info[u->op].nsrc;
  return n < 0 ? u->nsrc : n;
}

UOp *uop_spread(UOp *x, int ndim, UOp *const *shape) {
  if (!x) return NULL;
  UOp *ones[MAX_DIMS];
  for (int i = 0; i < ndim; i++) ones[i] = uop_index(x->ctx, 1);
  return uop_expand(uop_reshape(x, ndim, ones), shape);
}

UOp *uop_zeros_like(UOp *x) {
  return x ? uop_spread(uop_const(x->ctx, (PolyDType)x->dtype, 0), x->ndim, x->shape) : NULL;
}

/* Sizes stay canonical when they are rebuilt: their arithmetic goes through the integer algebra again. */
static UOp *(*int_builder(Op op))(UOp *, UOp *) {
  switch (op) {
  case OP_ADD: return int_add;
  case OP_SUB: return int_sub;
  case OP_MUL: return int_mul;
  case OP_IDIV: return int_div;
  case OP_MOD: return int_mod;
  case OP_MIN: return int_min;
  case OP_MAX: return int_max;
  default: return NULL;
  }
}

UOp *uop_with_sources(UOp *u, UOp *const *src) {
  PolyContext *ctx = u->ctx;
  UOp *const *ints = src + 1;
  switch (op_info[u->op].cls) {
  case CLASS_UNARY:
    if (u->op == OP_CAST) return uop_cast(src[0], (PolyDType)u->dtype);
    if (u->op == OP_BITCAST) return uop_bitcast(src[0], (PolyDType)u->dtype);
    return uop_unary((Op)u->op, src[0]);
  case CLASS_BINARY:
    if (u->ndim == 0 && u->dtype == POLY_INT64 && int_builder((Op)u->op)) return int_builder((Op)u->op)(src[0], src[1]);
    return uop_binary((Op)u->op, src[0], src[1]);
  case CLASS_COMPARE: return uop_binary((Op)u->op, src[0], src[1]);
  case CLASS_TERNARY: return uop_where(src[0], src[1], src[2]);
  case CLASS_REDUCE: return uop_reduce((Op)u->arg.i, src[0], (uint32_t)u->arg.j);
  default: break;
  }
  UOp *even[MAX_DIMS], *odd[MAX_DIMS];
  int perm[MAX_DIMS];
  for (int i = 0; i < u->ndim; i++) perm[i] = perm_at(u, i);
  if (u->op == OP_PAD || u->op == OP_SHRINK)
    for (int i = 0; i < u->ndim; i++) {
      even[i] = ints[2 * i];
      odd[i] = ints[2 * i + 1];
    }
  switch (u->op) {
  case OP_RESHAPE: return uop_reshape(src[0], u->ndim, ints);
  case OP_EXPAND: return uop_expand(src[0], ints);
  case OP_PERMUTE: return uop_permute(src[0], perm);
  case OP_PAD: return uop_pad(src[0], even, odd);
  case OP_SHRINK: return shrink_as(src[0], even, odd, u->arg.i);
  case OP_FLIP: return uop_flip(src[0], (uint32_t)u->arg.i);
  case OP_GATHER: return uop_gather(src[0], src[1]);
  case OP_SEGMENT: return uop_segment((Op)u->arg.i, src[0], src[1], src[4]);
  case OP_CAT: return uop_cat(u->nsrc, src, (int)u->arg.i);
  case OP_ENDPOINT: return uop_endpoint(src);
  case OP_CONTIGUOUS: return uop_contiguous(src[0], u->arg.i);
  case OP_DETACH: return uop_detach(src[0]);
  case OP_FUNCTION:
    if (function_rule(u) == FUNCTION_USER)
      return uop_function_user((void *)(intptr_t)u->arg.j, src[u->nsrc - 1], src[0], u->nsrc - 2, src + 1);
    return uop_function(function_rule(u), function_parameter(u), src[0], u->nsrc - 1, src + 1);
  case OP_ASSIGN: return uop_assign(src[0], src[1]);
  case OP_IOTA: return uop_iota(ctx, (PolyDType)u->dtype, src[0]);
  case OP_RANDOM: return uop_random(src[0], src[1], src[2], src[3], (int)u->arg.i, u->arg.j);
  case OP_LIBRARY:
    return uop_library(ctx, u->arg.name, u->arg.i, (PolyDType)u->dtype, (int)u->arg.j, src, u->ndim, src + u->arg.j);
  case OP_ARGUMENT:
  case OP_BUFFER: return uop_make(ctx, (Op)u->op, (PolyDType)u->dtype, u->arg, u->nsrc, src, u->ndim, src);
  case OP_FINAL: return uop_final(src[0], (int)u->arg.i);
  case OP_STATES: return uop_states(src[0], (int)u->arg.i);
  case OP_STACKED: return uop_stacked(src[0], src[1]);
  case OP_BIND: return uop_make(ctx, OP_BIND, POLY_INT64, u->arg, 2, src, 0, NULL);
  default: return uop_make(ctx, (Op)u->op, (PolyDType)u->dtype, u->arg, u->nsrc, src, u->ndim, u->shape);
  }
}
