/* split.c: REDUCE of many elements to few results, as a graph rewrite:
 *
 *   sum of x[n]   ->   sum over p of contiguous(sum over q of x[0 : P*(n//P)] as [P, n//P])  +  sum of x[P*(n//P) : n]
 *
 * The number of pieces is fixed, so the result is the same for every number of threads. Where no axis is long enough
 * but all that are reduced are together, as the batch, rows and columns of images are for a batch norm, they are taken
 * as one on devices with groups of threads: there few results would keep few of them busy.
 *
 * A matrix product of few results over a long axis, the gradient of a weight, is cut where groups of threads compute
 * products in tiles: each piece is a product of its own, and the device has as many of them as keep it busy. Factors
 * are filled up with zeros to whole pieces. */
#include "schedule/split.h"

#include "schedule/contract.h"

#include "ir/context.h"
#include "ir/rewrite.h"

/* What the rule hands on: reductions that it made are not cut again. */
typedef struct Split {
  const Target *target;
  Map *keep;
  Map made;
} Split;

static bool wants_split(const Target *t, const UOp *u) {
  if (u->op != OP_REDUCE || uop_numel_max((UOp *)(uintptr_t)u) > t->split_results) return false;
  return uop_numel_max(u->src[0]) / MAX(uop_numel_max((UOp *)(uintptr_t)u), 1) >= t->split_elements;
}

/* The outermost reduced axis that is long enough. -1: none. */
static int split_axis(const Target *t, const UOp *u) {
  for (int i = 0; i < u->ndim; i++)
    if (u->arg.j & (1 << i) && u->src[0]->shape[i]->vmax >= 4 * t->split_pieces) return i;
  return -1;
}

/* Of a GPU as many that the pieces stay short, or that all threads have one: each has a thread for each of a few
 * results. */
static int64_t pieces_of(const Target *t, const UOp *n, int64_t results) {
  enum { MOST = 8192, LONG = 512, THREADS = 1 << 18 };
  int64_t pieces = t->split_pieces;
  while (t->group > 1 && pieces < MOST && n->vmax / pieces > LONG && pieces * results < THREADS) pieces *= 2;
  return pieces;
}

static UOp *slice(UOp *x, int axis, UOp *from, UOp *to) {
  UOp *begin[MAX_DIMS], *end[MAX_DIMS];
  for (int i = 0; i < x->ndim; i++) {
    begin[i] = i == axis ? from : uop_index(x->ctx, 0);
    end[i] = i == axis ? to : x->shape[i];
  }
  return uop_shrink(x, begin, end);
}

/* A reduction, which is not to be cut again. */
static UOp *made(Split *s, UOp *u) {
  return u && map_put(ctx_base(u->ctx), &s->made, (uint64_t)(uintptr_t)u, 1) ? u : NULL;
}

/* Does x, element by element, read through an index? Looked for among the nearest sources. */
static bool reads_by_index(const UOp *x, int depth) {
  if (x->buffer || depth == 0) return false;
  if (x->op == OP_GATHER) return true;
  if (!op_elementwise((Op)x->op) && op_info[x->op].cls != CLASS_MOVE) return false;
  for (int i = 0; i < uop_nvalue(x); i++)
    if (reads_by_index(x->src[i], depth - 1)) return true;
  return false;
}

/* What is left over is at most an element for each piece. Where it is read through an index it is stored, so that its
 * sum is nothing but loads, which threads can share. Filling up all pieces with zeros instead would put a condition on
 * each load: on a GPU the sum of a loss over 169,343 rows took 147 us rather than 22. */
static UOp *split_one(Split *s, UOp *u, int axis) {
  PolyContext *ctx = u->ctx;
  UOp *x = u->src[0];
  Op op = (Op)u->arg.i;
  enum { NEAR = 12 };
  bool indexed = s->target->group > 1 && reads_by_index(x, NEAR);
  UOp *n = x->shape[axis], *pieces = uop_index(ctx, pieces_of(s->target, x->shape[axis], uop_numel_max(u)));
  UOp *each = int_div(n, pieces), *whole = each ? int_mul(each, pieces) : NULL;
  if (!whole || x->ndim + 1 > MAX_DIMS) return u;
  UOp *cut[MAX_DIMS];
  uint32_t inner = 0;
  for (int i = 0, j = 0; i < x->ndim; i++) {
    if (u->arg.j & (1 << i)) inner |= 1u << (i == axis ? j + 1 : j);
    if (i == axis) cut[j++] = pieces;
    cut[j++] = i == axis ? each : x->shape[i];
  }
  UOp *main_part = uop_reshape(slice(x, axis, uop_index(ctx, 0), whole), x->ndim + 1, cut);
  UOp *partial = uop_contiguous(made(s, uop_reduce(op, main_part, inner)), 0);
  UOp *total = uop_reshape(made(s, uop_reduce(op, partial, 1u << axis)), u->ndim, u->shape);
  if (whole == n) return total;
  UOp *left = slice(x, axis, whole, n);
  if (indexed) left = uop_contiguous(left, 0);
  return uop_binary(op, total, made(s, uop_reduce(op, left, (uint32_t)u->arg.j)));
}

/* The reduction with all its axes joined into the first; NULL: that is not long enough either, or an error. */
static UOp *join_axes(const Split *s, UOp *u) {
  UOp *x = u->src[0], *shape[MAX_DIMS], *n = uop_index(u->ctx, 1);
  int perm[MAX_DIMS], at = 0, kept = 1, first = 0;
  for (int i = 0; i < x->ndim; i++) {
    if (!(u->arg.j & (1 << i))) continue;
    if (x->shape[i]->op != OP_CONST) return NULL;
    n = int_mul(n, x->shape[i]);
    perm[at++] = i;
    first++;
  }
  if (s->target->group <= 1 || first < 2 || !n || n->vmax < 4 * s->target->split_pieces) return NULL;
  for (int i = 0; i < x->ndim; i++) {
    if (u->arg.j & (1 << i)) continue;
    shape[kept++] = x->shape[i];
    perm[at++] = i;
  }
  shape[0] = n;
  UOp *joined = uop_reduce((Op)u->arg.i, uop_reshape(uop_permute(x, perm), kept, shape), 1);
  return joined && joined->op == OP_REDUCE && joined->arg.j == 1 ? joined : NULL;
}

/* ---- matrix products ---- */

enum { PIECE = 32, LEAST_K = 512, SHORTEST = 128, TILE = 128, ALL_TILES = 256 };

static int64_t tiles_of(const UOp *n) { return (n->vmax + TILE - 1) / TILE; }

/* Is it summed along axis i? One of size 1 is no sum. */
static bool sums_along(const UOp *u, int i) { return u->arg.j & (1 << i) && !uop_is_int(u->src[0]->shape[i], 1); }

/* The outermost of the axes that are summed, and whether it is the only one. */
static int outer_axis(const UOp *u, bool *only) {
  int axis = 0, n = 0;
  for (int i = u->ndim; i-- > 0;)
    if (sums_along(u, i)) axis = i, n++;
  *only = n == 1;
  return axis;
}

/* About as many as asked for, of equal length if that can be. */
static int64_t equal_parts(int64_t size, int64_t pieces) {
  if (pieces >= size) return size;
  for (int64_t n = pieces; 2 * n <= 3 * pieces; n++)
    if (size % n == 0) return n;
  for (int64_t n = pieces; 2 * n > pieces; n--)
    if (size % n == 0) return n;
  return pieces;
}

/* Pieces that a product is cut into along its outermost inner axis; 1: it is none, or has enough results. Of several
 * axes the outermost is cut in equal parts where it can be. */
static int64_t product_pieces(const Split *s, UOp *u, int axis, bool only) {
  MatmulItem m;
  UOp *operand[2], *factor[2];
  bool copied;
  bool sum = u->arg.i == OP_ADD && u->src[0]->op == OP_MUL && u->dtype == POLY_FLOAT32;
  if (!s->target->product_warps || !sum || u->src[0]->ndim + 1 > MAX_DIMS) return 1;
  if (!contract_match(u, false, &m, operand, factor, &copied) || m.nbatch || m.k->vmax < LEAST_K) return 1;
  if (!contract_by_groups(s->target, u, &m, s->target->matmul & (1u << POLY_FLOAT32), copied)) return 1;
  int64_t tiles = tiles_of(m.m) * tiles_of(m.n), most = ALL_TILES / tiles, pieces = MIN(most, m.k->vmax / SHORTEST);
  const UOp *size = u->src[0]->shape[axis];
  if (only || pieces <= 1) return MAX(1, pieces);
  return size->op == OP_CONST ? equal_parts(size->vmax, pieces) : MIN(pieces, size->vmax);
}

/* x with zeros behind the end of an axis. */
static UOp *padded(UOp *x, int axis, UOp *to) {
  UOp *before[MAX_DIMS], *after[MAX_DIMS];
  for (int i = 0; i < x->ndim; i++) before[i] = after[i] = uop_index(x->ctx, 0);
  after[axis] = to ? int_sub(to, x->shape[axis]) : NULL;
  return after[axis] ? uop_pad(x, before, after) : NULL;
}

/* x with axis `axis` in whole pieces, in front of all others: [pieces, each, ..]. */
static UOp *in_pieces(UOp *x, int axis, UOp *pieces, UOp *each) {
  UOp *shape[MAX_DIMS], *all = padded(x, axis, int_mul(pieces, each));
  int perm[MAX_DIMS], n = 1;
  perm[0] = axis;
  shape[0] = pieces;
  shape[1] = each;
  for (int i = 0; i < x->ndim; i++) {
    if (i == axis) continue;
    perm[n] = i;
    shape[++n] = x->shape[i];
  }
  return all ? uop_reshape(uop_permute(all, perm), x->ndim + 1, shape) : NULL;
}

/* Those axes of u that are summed, in [pieces, each, ..]. */
static uint32_t summed_in_pieces(const UOp *u, int axis) {
  uint32_t summed = 1u << 1;
  for (int i = 0; i < u->ndim; i++)
    if (i != axis && u->arg.j & (1 << i)) summed |= 1u << (i < axis ? i + 2 : i + 1);
  return summed;
}

static UOp *cut_product(Split *s, UOp *u, int axis, bool only, int64_t n) {
  int64_t grain = only ? PIECE : 1;
  UOp *k = u->src[0]->shape[axis];
  UOp *each = int_mulc(int_div(int_addc(k, n * grain - 1), uop_index(u->ctx, n * grain)), grain);
  UOp *pieces = each ? int_div(int_addc(int_add(k, each), -1), each) : NULL;
  if (!pieces) return NULL;
  UOp *x = in_pieces(u->src[0]->src[0], axis, pieces, each), *y = in_pieces(u->src[0]->src[1], axis, pieces, each);
  UOp *parts = x && y ? made(s, uop_reduce(OP_ADD, uop_binary(OP_MUL, x, y), summed_in_pieces(u, axis))) : NULL;
  UOp *sum = parts ? made(s, uop_reduce(OP_ADD, uop_contiguous(parts, 0), 1)) : NULL;
  return sum ? uop_reshape(sum, u->ndim, u->shape) : NULL;
}

static UOp *cut_reduction(UOp *u, void *user) {
  Split *s = user;
  uint64_t key = (uint64_t)(uintptr_t)u;
  bool apart = map_get(&s->made, key, NULL) || map_get(s->keep, key, NULL);
  bool only;
  int outer = outer_axis(u, &only);
  int64_t pieces = apart ? 1 : product_pieces(s, u, outer, only);
  if (pieces > 1) return cut_product(s, u, outer, only, pieces);
  bool whole = apart || !wants_split(s->target, u);
  int axis = whole ? -1 : split_axis(s->target, u);
  if (whole || axis >= 0) return whole ? u : split_one(s, u, axis);
  UOp *joined = join_axes(s, u), *sum = joined ? split_one(s, joined, 0) : NULL;
  return sum ? uop_reshape(sum, u->ndim, u->shape) : u;
}

/* What is kept is kept over new sources too: a sum below it may have been cut. */
static bool follow(const UOp *from, const UOp *to, void *user) {
  Split *s = user;
  if (!map_get(s->keep, (uint64_t)(uintptr_t)from, NULL)) return true;
  return map_put(ctx_base(from->ctx), s->keep, (uint64_t)(uintptr_t)to, 1);
}

bool split_reductions(PolyContext *ctx, const Target *target, Map *keep, int nroot, UOp *const *root, UOp **out) {
  static const RewriteRule rules[] = {{OP_REDUCE, cut_reduction}};
  static const RewritePass pass = {.name = "split", .rules = rules, .nrule = LEN(rules), .rebuilt = follow};
  Split s = {.target = target, .keep = keep};
  for (int i = 0; i < nroot; i++) out[i] = root[i];
  bool ok = rewrite_graphs(ctx, &pass, &s, nroot, out);
  map_free(ctx_base(ctx), &s.made);
  return ok;
}
