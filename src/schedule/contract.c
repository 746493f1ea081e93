/* contract.c: from REDUCE(ADD, MUL(a, b)) to a matrix product.
 *
 * Each axis of the product is read by a, by b, or by both. A reduced axis that both read is K. Of the others, those
 * that only a reads are rows, those that only b reads are columns, those that both read are batches:
 *
 *   x [B,T,1,K] * w [1,1,N,K]  summed over K       rows B,T   columns N   no batch      one product of B*T x K x N
 *   conv: x [B,1,Y,X,C,Ky,Kx] * w [1,O,1,1,C,Ky,Kx]   columns O between rows: the last run Y,X and the run O before it
 * are the matrix, B is a batch over which w does not move
 *
 * An operand is used where it lies if its index is affine with a unit stride; otherwise a packed copy is stored first.
 */
#include "schedule/contract.h"

#include "ir/context.h"
#include "ir/edge_to_node.h"
#include "ir/index.h"

enum { SMALL_PRODUCT = 4096, KIND_A = 1, KIND_B = 2, KIND_BOTH = KIND_A | KIND_B, NARROW = 32, LOOK_INTO = 64 };

typedef struct Side {
  UOp *view;             /* the source of MUL, */
  UOp *value;            /* and what it shows */
  UOp *base;             /* what lies in memory */
  UOp *flat;             /* index into base over the ranges */
  UOp *stride[MAX_DIMS]; /* of each axis of the product, when direct */
  UOp *offset;
  uint32_t axes; /* that it reads */
  bool direct;
} Side;

typedef struct Match {
  PolyContext *ctx;
  UOp *mul;
  UOp *range[MAX_DIMS]; /* NULL for axes of size 1 */
  Side side[2];
  uint32_t reduced;
  bool by_rows;
  int k[MAX_DIMS], nk, x[MAX_DIMS], nx, y[MAX_DIMS], ny, batch[MAX_DIMS], nbatch;
} Match;

static uint32_t reads(const Match *m, UOp *u) {
  if (u->op == OP_RANGE) return 1u << u->arg.i;
  uint32_t set = 0;
  for (int i = 0; i < u->nsrc; i++) set |= reads(m, u->src[i]);
  return set;
}

/* e with range r replaced by `with`, simplified again. Not a pass: an index is a handful of nodes, and is asked for
 * many times a plan. */
static UOp *substitute(UOp *e, UOp *r, UOp *with) {
  if (e == r) return with;
  if (!e->nsrc || e->op == OP_RANGE || e->op == OP_BIND) return e;
  UOp *src[3];
  bool same = true;
  if (e->nsrc > 3) return e;
  for (int i = 0; i < e->nsrc; i++) {
    src[i] = substitute(e->src[i], r, with);
    if (!src[i]) return NULL;
    same &= src[i] == e->src[i];
  }
  return same ? e : uop_with_sources(e, src);
}

/* Follows the view down to memory. Through a unary op the value changes, so the base can no longer be used in place. */
static bool trace(Match *m, Side *s) {
  UOp *idx[MAX_DIMS], *gate = NULL, *zero = uop_index(m->ctx, 0), *u = s->view;
  bool pure = true;
  if (u->op == OP_CONST || !zero) return false;
  for (int i = 0; i < u->ndim; i++) idx[i] = m->range[i] ? m->range[i] : zero;
  for (;;) {
    bool unary = op_info[u->op].cls == CLASS_UNARY;
    if (op_info[u->op].cls == CLASS_MOVE) {
      if (!index_through(u, idx, &gate)) return false;
    } else if (unary) {
      pure = false;
    } else {
      break;
    }
    u = u->src[0];
  }
  for (int i = 0; i < u->ndim; i++) s->axes |= reads(m, idx[i]);
  if (gate) s->axes |= reads(m, gate);
  s->value = s->view;
  while (op_info[s->value->op].cls == CLASS_MOVE) s->value = s->value->src[0];
  s->base = u;
  s->flat = index_flat(u, idx);
  bool leaf = u->op == OP_CONST || u->op == OP_IOTA || u->op == OP_VARIABLE;
  s->direct = pure && !gate && !leaf;
  return s->flat != NULL;
}

/* Strides of an affine index: the step that one more makes must depend on no range. */
static bool find_strides(Match *m, Side *s) {
  UOp *zero = uop_index(m->ctx, 0);
  s->offset = s->flat;
  for (int i = 0; i < m->mul->ndim; i++) {
    s->stride[i] = zero;
    if (!m->range[i] || !(s->axes & (1u << i))) continue;
    UOp *next = substitute(s->flat, m->range[i], int_addc(m->range[i], 1));
    s->stride[i] = int_sub(next, s->flat);
    s->offset = s->offset ? substitute(s->offset, m->range[i], zero) : NULL;
    if (!s->stride[i] || !s->offset || reads(m, s->stride[i])) return false;
  }
  return true;
}

/* Do the axes, outermost first, behave as one axis with the stride of the last? */
static bool chained(const Match *m, const Side *s, const int *axis, int n) {
  for (int i = 0; i + 1 < n; i++)
    if (s->stride[axis[i]] != int_mul(s->stride[axis[i + 1]], m->mul->shape[axis[i + 1]])) return false;
  return true;
}

static UOp *extent(const Match *m, const int *axis, int n) {
  UOp *e = uop_index(m->ctx, 1);
  for (int i = 0; i < n; i++) e = int_mul(e, m->mul->shape[axis[i]]);
  return e;
}

static bool at_least(UOp *a, UOp *b) {
  UOp *d = int_sub(a, b);
  return d && d->vmin >= 0;
}

/* Can the library read the operand in place? One of the two strides is 1 and the other steps over a whole line. */
static bool usable(const Match *m, const Side *s, const int *axis, int n) {
  if (!s->direct || !chained(m, s, axis, n) || !chained(m, s, m->k, m->nk)) return false;
  UOp *line = s->stride[axis[n - 1]], *inner = s->stride[m->k[m->nk - 1]];
  if (uop_is_int(inner, 1)) return at_least(line, extent(m, m->k, m->nk));
  return uop_is_int(line, 1) && at_least(inner, extent(m, axis, n));
}

/* Packed copy: the batch axes that the side reads, then `first`, then `second`, all contiguous. Where the product is
 * computed for some indices of axis 0 at a time, that axis is in front. */
static bool pack(Match *m, Side *s, const int *first, int nfirst, const int *second, int nsecond) {
  bool front = m->by_rows && m->nk && m->k[0] == 0;
  int nd = m->mul->ndim, perm[MAX_DIMS], n = 0;
  UOp *begin[MAX_DIMS], *end[MAX_DIMS], *shape[MAX_DIMS], *zero = uop_index(m->ctx, 0), *one = uop_index(m->ctx, 1);
  uint32_t placed = 0;
  for (int i = 0; i < nd; i++) {
    begin[i] = zero;
    end[i] = s->axes & (1u << i) ? m->mul->shape[i] : one;
    s->stride[i] = zero;
  }
  for (int i = 0; front && i < m->nk; i++) perm[n++] = m->k[i];
  for (int i = 0; i < m->nbatch; i++)
    if (s->axes & (1u << m->batch[i])) perm[n++] = m->batch[i];
  for (int i = 0; i < nfirst && !(front && first == m->k); i++) perm[n++] = first[i];
  for (int i = 0; i < nsecond && !(front && second == m->k); i++) perm[n++] = second[i];
  int kept = n;
  UOp *step = one;
  for (int i = n; i-- > 0;) {
    placed |= 1u << perm[i];
    shape[i] = m->mul->shape[perm[i]];
    s->stride[perm[i]] = step;
    step = int_mul(step, shape[i]);
  }
  for (int i = 0; i < nd; i++)
    if (!(placed & (1u << i))) perm[n++] = i;
  UOp *u = uop_permute(uop_shrink(s->view, begin, end), perm);
  s->base = uop_contiguous(uop_reshape(u, kept, shape), 0);
  s->offset = zero;
  return s->base && step;
}

static bool classify(Match *m) {
  int kind[MAX_DIMS], order[MAX_DIMS], n = 0;
  for (int i = 0; i < m->mul->ndim; i++) {
    if (!m->range[i]) continue;
    bool a = m->side[0].axes & (1u << i), b = m->side[1].axes & (1u << i);
    if (m->reduced & (1u << i)) {
      if (!a || !b) return false;
      m->k[m->nk++] = i;
    } else {
      if (!a && !b) return false;
      kind[n] = a && b ? KIND_BOTH : a ? KIND_A : KIND_B;
      order[n++] = i;
    }
  }
  if (!m->nk || n < 2 || kind[n - 1] == KIND_BOTH) return false;
  int y = n, last = kind[n - 1];
  while (y > 0 && kind[y - 1] == last) y--;
  int other = last == KIND_A ? KIND_B : KIND_A, x = y;
  while (x > 0 && kind[x - 1] == other) x--;
  if (x == y) return false;
  for (int i = 0; i < x; i++) m->batch[m->nbatch++] = order[i];
  for (int i = x; i < y; i++) m->x[m->nx++] = order[i];
  for (int i = y; i < n; i++) m->y[m->ny++] = order[i];
  if (last == KIND_A) { /* the columns come from a: swap the sides */
    Side t = m->side[0];
    m->side[0] = m->side[1];
    m->side[1] = t;
  }
  return true;
}

/* Is it big enough for a library call to win over loops? Sizes that change count with their largest value. */
static bool worthwhile(const Match *m) {
  double size = 1;
  int64_t least = INT64_MAX;
  const int *axes[3] = {m->x, m->y, m->k};
  const int count[3] = {m->nx, m->ny, m->nk};
  for (int g = 0; g < 3; g++) {
    double e = 1;
    for (int i = 0; i < count[g]; i++) e *= (double)m->mul->shape[axes[g][i]]->vmax;
    size *= e;
    if (e < (double)least) least = (int64_t)e;
  }
  return size >= SMALL_PRODUCT && least >= 2;
}

/* Elements of the largest value that is read from an end of the edges below u. */
static int64_t read_from(UOp *u, int *budget) {
  int64_t most = 0;
  if ((*budget)-- <= 0 || u->buffer) return 0;
  if (is_row_read(u)) return uop_numel_max(u->src[0]);
  for (int i = 0; i < uop_nvalue(u) && i < u->nsrc; i++) {
    int64_t below = read_from(u->src[i], budget);
    most = MAX(most, below);
  }
  return most;
}

/* A sum over edges into a small result, of something that is as wide as the edges and computed from their ends: the
 * weight gradient of a message. Storing that operand for the library would cost more memory than the graph; loops
 * compute it on the way. An operand that is no larger than the values of the nodes is stored like any other. */
static bool sums_over_edges(const Match *m) {
  double x = 1, y = 1;
  for (int i = 0; i < m->nx; i++) x *= (double)m->mul->shape[m->x[i]]->vmax;
  for (int i = 0; i < m->ny; i++) y *= (double)m->mul->shape[m->y[i]]->vmax;
  if (MIN(x, y) > NARROW) return false;
  for (int s = 0; s < 2; s++) {
    int budget = LOOK_INTO, again = LOOK_INTO;
    UOp *base = m->side[s].base;
    if (!op_elementwise((Op)base->op) && base->op != OP_REDUCE) continue;
    if (reads_row_ends(base, &budget) && uop_numel_max(base) > read_from(base, &again)) return true;
  }
  return false;
}

/* Neighbouring batch axes that step together in all three tensors become one. */
static bool fill_batches(const Match *m, MatmulItem *out) {
  UOp *step = int_mul(out->m, out->n);
  out->nbatch = 0;
  for (int i = m->nbatch; i-- > 0;) {
    int axis = m->batch[i], n = out->nbatch;
    UOp *size = m->mul->shape[axis], *sa = m->side[0].stride[axis], *sb = m->side[1].stride[axis];
    if (n && sa == int_mul(out->a_batch[n - 1], out->batch[n - 1]) &&
        sb == int_mul(out->b_batch[n - 1], out->batch[n - 1])) {
      out->batch[n - 1] = int_mul(out->batch[n - 1], size);
    } else {
      if (n == LEN(out->batch)) return false;
      out->batch[n] = size;
      out->a_batch[n] = sa;
      out->b_batch[n] = sb;
      out->c_batch[n] = step;
      out->nbatch++;
    }
    step = int_mul(step, size);
  }
  return step != NULL;
}

static bool begin_match(Match *m, UOp *u) {
  *m = (Match){.ctx = u->ctx, .mul = u->src[0], .reduced = (uint32_t)u->arg.j};
  for (int i = 0; i < m->mul->ndim; i++) {
    if (uop_is_int(m->mul->shape[i], 1)) continue;
    if (m->mul->shape[i]->vmax <= 0) return false;
    UOp *src[2] = {uop_index(m->ctx, 0), m->mul->shape[i]};
    m->range[i] = uop_make(m->ctx, OP_RANGE, POLY_INT64, (UArg){.i = i}, 2, src, 0, NULL);
    if (!m->range[i]) return false;
  }
  for (int s = 0; s < 2; s++) {
    m->side[s].view = m->mul->src[s];
    if (!trace(m, &m->side[s])) return false;
  }
  return true;
}

/* Elements of a row of u, all axes but the first. */
static UOp *row_numel(const UOp *u) {
  UOp *n = uop_index(u->ctx, 1);
  for (int i = 1; i < u->ndim; i++) n = int_mul(n, u->shape[i]);
  return n;
}

/* Does the operand lie in memory as rows along axis 0 of the product, or not move along it? */
static bool moves_by_rows(const Match *m, const Side *s) {
  if (!(s->axes & 1)) return true;
  return s->base->ndim && s->base->shape[0] == m->mul->shape[0] && s->stride[0] == row_numel(s->base);
}

/* Where axis 0 is, if the product can be computed for some of its indices at a time. */
static void find_row_axis(const Match *m, MatmulItem *out) {
  const Side *a = &m->side[0], *b = &m->side[1];
  out->axis = ROWS_NOWHERE;
  out->each = out->a_step = out->b_step = uop_index(m->ctx, 0);
  if (!m->range[0] || !moves_by_rows(m, a) || !moves_by_rows(m, b)) return;
  bool outer = m->nx && m->x[0] == 0, summed = m->nk && m->k[0] == 0;
  if (outer) out->axis = ROWS_OUTER, out->each = extent(m, m->x + 1, m->nx - 1);
  if (summed) out->axis = ROWS_SUMMED, out->each = extent(m, m->k + 1, m->nk - 1);
  if (out->axis != ROWS_NOWHERE) out->a_step = a->stride[0], out->b_step = b->stride[0];
}

bool contract_match(UOp *u, bool by_rows, MatmulItem *out, UOp *operand[2], UOp *factor[2], bool *copied) {
  if (u->op != OP_REDUCE || u->arg.i != OP_ADD || u->src[0]->op != OP_MUL) return false;
  if (u->dtype == POLY_BOOL) return false;
  Match m;
  if (!begin_match(&m, u) || !classify(&m) || !worthwhile(&m)) return false;
  if (!by_rows && sums_over_edges(&m)) return false;
  m.by_rows = by_rows;
  Side *a = &m.side[0], *b = &m.side[1];
  if (a->direct) a->direct = find_strides(&m, a);
  if (b->direct) b->direct = find_strides(&m, b);
  bool copy_a = !usable(&m, a, m.x, m.nx), copy_b = !usable(&m, b, m.y, m.ny);
  *copied = copy_a || copy_b;
  if (copy_a && !pack(&m, a, m.x, m.nx, m.k, m.nk)) return false;
  if (copy_b && !pack(&m, b, m.k, m.nk, m.y, m.ny)) return false;
  int x = m.x[m.nx - 1], y = m.y[m.ny - 1], k = m.k[m.nk - 1];
  *out = (MatmulItem){.m = extent(&m, m.x, m.nx),
                      .n = extent(&m, m.y, m.ny),
                      .k = extent(&m, m.k, m.nk),
                      .a_row = a->stride[x],
                      .a_col = a->stride[k],
                      .a_offset = a->offset,
                      .b_row = b->stride[k],
                      .b_col = b->stride[y],
                      .b_offset = b->offset};
  out->c_row = out->n;
  factor[0] = a->value;
  factor[1] = b->value;
  operand[0] = a->base;
  operand[1] = b->base;
  find_row_axis(&m, out);
  return out->m && out->n && out->k && fill_batches(&m, out);
}

/* A library needs less time to begin with; but it stores operands that do not lie in memory as it wants them. */
bool contract_by_groups(const Target *target, const UOp *u, const MatmulItem *m, bool library, bool copied) {
  enum { LEAST_ROWS = 32, LEAST = 8, COPIED = 16 };
  if (!target->product_warps || u->dtype != POLY_FLOAT32) return false;
  if (m->m->vmax < LEAST_ROWS || m->n->vmax < LEAST || m->k->vmax < LEAST) return false;
  double work = (double)m->m->vmax * (double)m->n->vmax * (double)m->k->vmax;
  for (int i = 0; i < m->nbatch; i++) work *= (double)m->batch[i]->vmax;
  return !library || work >= (double)target->product_work / (copied ? COPIED : 1);
}

/* Of two sizes either may be that of the columns. */
bool contract_edges_by_groups(const Target *target, const UOp *u, const MatmulItem *m, bool library) {
  MatmulItem turned = *m;
  bool summed = m->axis == ROWS_SUMMED;
  if (summed) turned.m = m->n, turned.n = m->m;
  return contract_by_groups(target, u, m, library, true) ||
         (summed && contract_by_groups(target, u, &turned, library, true));
}
