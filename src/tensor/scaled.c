/* scaled.c: matrix products of rows that hold one value several times over, scaled by numbers of the row:
 *
 *   [x | a | s1*a | s2*a] @ w   ->   x @ w0 + p0 + s1*p1 + s2*p2,   [p0 | p1 | p2] = a @ [w1 | w2 | w3]
 *
 * as where an aggregation is scaled by functions of a node's degree. A factor of a row comes out of a sum over the
 * columns of the row. The joined value is wider than what is made of it, and is not stored then; nor is its gradient:
 * those of a and of w are products with [d | s1*d | s2*d]. So this stands where products are built, and gradients are
 * built from it. A gradient that is asked for at the joined value itself goes the plain way (grad.c). (If a is a join
 * of several aggregations, a product for each of them stores less, but took a third longer on an H200.) */
#include "ir/context.h"
#include "tensor/shape_ops.h"

enum { MOST_PIECES = 32 };

/* A part of the join: `value`, every column of which is multiplied with `scale` of its row, a column; NULL: with 1. */
typedef struct Piece {
  UOp *part, *value, *scale;
} Piece;

typedef struct Join {
  UOp *x, *cat; /* the factor, and the join that it shows through moves */
  Piece piece[MOST_PIECES];
  int n;
} Join;

static bool is_one(const UOp *size) { return uop_is_int(size, 1); }

/* The axis of `to`, a RESHAPE of `from`, that is `axis` of `from`: they differ in axes of size 1. -1: in others, too.
 */
static int axis_in(const UOp *from, int axis, int ndim, UOp *const *to) {
  int found = -1, k = 0;
  for (int i = 0; i < from->ndim; i++) {
    if (is_one(from->shape[i]) && i != axis) continue;
    while (k < ndim && is_one(to[k])) k++;
    if (k == ndim || to[k] != from->shape[i]) return -1;
    if (i == axis) found = k;
    k++;
  }
  while (k < ndim && is_one(to[k])) k++;
  return k == ndim ? found : -1;
}

/* Where the joined axis of the CAT below u is in u; -1: it is cut, or u is no such value. */
static int joined_axis(const UOp *u, UOp **cat) {
  if (u->buffer) return -1;
  if (u->op == OP_CAT) {
    *cat = (UOp *)(uintptr_t)u;
    return (int)u->arg.i;
  }
  if (u->op != OP_RESHAPE && (u->op != OP_SHRINK || u->arg.i))
    return -1; /* a step checks sizes that it cuts to equal */
  int at = joined_axis(u->src[0], cat);
  if (at < 0) return -1;
  if (u->op == OP_RESHAPE) return axis_in(u->src[0], at, u->ndim, u->shape);
  return u->shape[at] == u->src[0]->shape[at] ? at : -1;
}

/* `part` in place of the CAT below u, under the moves of u; the joined axis is as long as that of the part. */
static UOp *moved(UOp *u, const UOp *cat, UOp *part) {
  if (u == cat || !part) return part;
  UOp *x = moved(u->src[0], cat, part), *below, *shape[MAX_DIMS], *begin[MAX_DIMS], *end[MAX_DIMS];
  int at = joined_axis(u, &below), from = joined_axis(u->src[0], &below);
  if (!x) return NULL;
  for (int i = 0; i < u->ndim; i++) shape[i] = i == at ? x->shape[from] : u->shape[i];
  if (u->op == OP_RESHAPE) return uop_reshape(x, u->ndim, shape);
  for (int i = 0; i < u->ndim; i++) {
    begin[i] = i == at ? uop_index(u->ctx, 0) : u->src[1 + 2 * i];
    end[i] = i == at ? x->shape[from] : u->src[2 + 2 * i];
  }
  return uop_shrink(x, begin, end);
}

/* u as a value times a number of each row, which is the same along the axis. */
static bool unscaled(UOp *u, int axis, Piece *p) {
  *p = (Piece){u, u, NULL};
  for (bool found = true; found && p->value->op == OP_MUL && !p->value->buffer;) {
    found = false;
    for (int k = 0; k < 2 && !found; k++) {
      UOp *s = p->value->src[k], *shape[MAX_DIMS];
      if (p->value->src[!k]->op == OP_CONST || s->op != OP_EXPAND || s->buffer || !is_one(s->src[0]->shape[axis]) ||
          is_one(s->shape[axis]))
        continue;
      for (int i = 0; i < u->ndim; i++) shape[i] = i == axis ? uop_index(u->ctx, 1) : u->shape[i];
      UOp *scale = uop_expand(s->src[0], shape);
      p->scale = p->scale ? uop_binary(OP_MUL, p->scale, scale) : scale;
      p->value = p->value->src[!k];
      found = true;
      if (!p->scale) return false;
    }
  }
  return true;
}

/* How many pieces from k on are the same value. */
static int same_from(const Join *j, int k) {
  int n = 1;
  while (k + n < j->n && j->piece[k + n].value == j->piece[k].value) n++;
  return n;
}

/* Lists the parts of a join, and in their place those of a join in it. */
static bool list_pieces(Join *j, UOp *cat, int depth) {
  int axis = (int)cat->arg.i;
  for (int k = 0; k < cat->nsrc; k++) {
    UOp *part = cat->src[k];
    if (part->op == OP_CAT && part->arg.i == axis && !part->buffer && depth) {
      Join inner = {0};
      bool again = false;
      if (!list_pieces(&inner, part, depth - 1)) return false;
      for (int i = 0; i < inner.n; i++) again |= same_from(&inner, i) > 1;
      if (again && j->n + inner.n > MOST_PIECES) return false;
      for (int i = 0; again && i < inner.n; i++) j->piece[j->n++] = inner.piece[i];
      if (again) continue;
    }
    if (j->n == MOST_PIECES || !unscaled(part, axis, &j->piece[j->n++])) return false;
  }
  return true;
}

/* Is the product with n columns no wider than the value, so that of the two it is the one to scale and store? */
static bool is_narrower(const UOp *columns, const UOp *wide) {
  return columns->op == OP_CONST && wide->op == OP_CONST && columns->arg.i <= wide->arg.i;
}

static bool find_join(Join *j, UOp *x, UOp *w) {
  *j = (Join){.x = x};
  if (x->ndim < 2 || w->ndim != 2 || !dtype_is_float((PolyDType)x->dtype) || dtype_is_small((PolyDType)x->dtype))
    return false;
  if (joined_axis(x, &j->cat) != x->ndim - 1 || !list_pieces(j, j->cat, 2)) return false;
  for (int k = 0; k < j->n; k++)
    if (same_from(j, k) > 1 && is_narrower(w->shape[0], j->piece[k].value->shape[j->cat->arg.i])) return true;
  return false;
}

/* Products with rows of w [n, k], x [.., k]: [.., n] */
static UOp *product(UOp *x, UOp *w, PolyDType out) {
  if (!x || !w) return NULL;
  int nd = x->ndim + 1;
  UOp *shape[MAX_DIMS + 1];
  for (int i = 0; i < nd; i++) shape[i] = i == nd - 2 ? w->shape[0] : x->shape[i - (i == nd - 1)];
  return t_contract(t_unsqueeze(x, nd - 2), w, nd, shape, 1u << (nd - 1), out);
}

/* The numbers of n pieces from k on, beside each other: [.., n] */
static UOp *scales(Join *j, int k, int n) {
  UOp *column[MOST_PIECES];
  for (int i = 0; i < n; i++) {
    Piece *p = &j->piece[k + i];
    UOp *shape[MAX_DIMS], *one = uop_const(j->x->ctx, (PolyDType)j->x->dtype, 1);
    for (int d = 0; d < p->part->ndim; d++)
      shape[d] = d == (int)j->cat->arg.i ? uop_index(j->x->ctx, 1) : p->part->shape[d];
    column[i] = moved(j->x, j->cat, p->scale ? p->scale : uop_spread(one, p->part->ndim, shape));
  }
  return t_cat(j->x->ctx, n, column, j->x->ndim - 1);
}

/* The value a of n pieces times w [n, m, wide]: [.., n, m] */
static UOp *product_of_value(Join *j, UOp *a, UOp *w, PolyDType out) {
  UOp *x = moved(j->x, j->cat, a), *shape[MAX_DIMS];
  if (!x || !w || x->ndim + 2 > MAX_DIMS) return NULL;
  int nd = x->ndim + 2; /* [.., n, m, wide] */
  for (int i = 0; i < nd; i++) shape[i] = i < nd - 3 ? x->shape[i] : w->shape[i - (nd - 3)];
  return t_contract(t_unsqueeze(t_unsqueeze(x, nd - 3), nd - 2), w, nd, shape, 1u << (nd - 1), out);
}

/* n pieces from k on, times columns of w [m, n * wide]: the value times all of these, then summed with the scales. */
static UOp *product_of_same(Join *j, int k, int n, UOp *w, PolyDType out) {
  UOp *a = j->piece[k].value, *s = scales(j, k, n);
  w = uop_permute(t_split_axis(w, 1, uop_index(w->ctx, n), a->shape[j->cat->arg.i]), (int[]){1, 0, 2});
  UOp *all = w && s ? product_of_value(j, a, w, out) : NULL;
  return all ? t_contract(all, t_unsqueeze(s, all->ndim - 1), all->ndim, all->shape, 1u << (all->ndim - 2), out) : NULL;
}

UOp *t_scaled_product(UOp *x, UOp *w, PolyDType out) {
  Join j;
  UOp *total = NULL, *at, *one;
  if (!find_join(&j, x, w)) return NULL;
  at = uop_index(x->ctx, 0);
  for (int k = 0, n; k < j.n; k += n) {
    UOp *part[MOST_PIECES], *end = at;
    int same = same_from(&j, k);
    bool scaled = same > 1;
    for (n = scaled ? same : 1; !scaled && k + n < j.n && same_from(&j, k + n) == 1;) n++;
    for (int i = 0; i < n; i++) {
      part[i] = j.piece[k + i].part;
      end = int_add(end, part[i]->shape[j.cat->arg.i]);
    }
    UOp *columns = t_slice(w, 1, at, end);
    one = scaled ? product_of_same(&j, k, n, columns, out)
                 : product(moved(x, j.cat, t_cat(x->ctx, n, part, (int)j.cat->arg.i)), columns, out);
    total = k ? t_add(total, one) : one;
    if (!total) return NULL;
    at = end;
  }
  return total;
}
