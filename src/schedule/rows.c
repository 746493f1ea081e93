/* rows.c: wide values by tiles of their rows. In: roots. Out: the same roots, in which what lies between two products
 * is computed by a loop over steps.
 *
 *   s = q @ k^T    p = softmax(s)    out = p @ v              q, k, v [B, T, D]; s, p [B, T, T]
 *
 * A product like s is larger than its operands and than everything that is made of it in the end. If all of that works
 * on each row by itself (axes in front, the batch, and the axis of rows stay where they are), a tile of rows can go all
 * the way, and nothing of the size of s is stored:
 *
 *   for each b:  for each tile t of the rows of q[b]:         SCANs over q as [B, T/R, R, D], k and v as [B, T, D]
 *     out[b, t] = softmax(t @ k[b]^T) @ v[b]                  stacked
 *
 * A value that leaves the rows is a sink: one with rows is stacked, a sum over the rows is carried along (the gradients
 * of k and v). Sinks that need the same wide values and do not wait for each other share a loop; what two loops need is
 * computed by both, so the backward pass computes s and p again. What a row needs from outside is read a row at a time
 * if it has rows, or is the same for all tiles; a mask that is computed from positions is computed for the tile.
 *
 * It is done where a reduction of each row leads back to wide values, as in a softmax or a norm: such a value is read
 * several times, and then from the cache. Wide values that are asked for, or read in any other way, are stored as ever.
 */
#include "schedule/rows.h"

#include "ir/context.h"
#include "ir/scan.h"
#include "schedule/plan_nodes.h"

#include <math.h>
#include <string.h>

enum {
  LEAST_GAIN = 2,   /* a product is wide if it has this many times the elements of its operands, */
  WIDE_CACHES = 4,  /* and this many times the bytes of the second cache */
  LEAST_ROWS = 16,  /* of a tile, */
  TILE_CACHES = 4,  /* and bytes of a wide value of it: second caches. More rows make better products than less memory:
                     * attention over 4096 tokens took 205, 173 and 152 ms with 1, 2 and 4, on one thread */
  LONG_ROW = 128,   /* elementwise values of longer rows from outside are computed for the tile, others are stored */
  MOST_LOOPS = 56,  /* in a program: see LoopIds */
  MOST_INPUTS = 64, /* of a loop, */
  MOST_SINKS = 32   /* and results */
};

/* A tile is R rows of axis `axis`; the axes in front are the batch. */
typedef struct Shape {
  int axis;
  int64_t size[MAX_DIMS], batch; /* of the axes up to it; of the batch, all together */
  UOp *seed;                     /* the product that it is the shape of */
  int64_t numel;                 /* from this many elements on a value is wide */
  int64_t row_bytes, width;      /* of a row; elements of it */
} Shape;

typedef struct Rows {
  PolyContext *ctx;
  Arena *arena;
  const Target *target;
  Walk walk;
  Map place;      /* of each node in the walk */
  uint64_t *mask; /* loops that the node is inside of */
  int nloop;
  Shape shape;
  uint8_t *rowed, *leads, *region, *root, *sum, *sink, *closure; /* for each node */
  int *level;                                                    /* sinks that it waits for, as a part of a loop */
  int *after;                                                    /* and once it is known */
} Rows;

static int place_of(const Rows *r, const UOp *u) {
  uint64_t at = 0;
  map_get(&r->place, (uintptr_t)u, &at);
  return (int)at;
}

/* Sources that are values, not sizes. */
static int nvalue(const UOp *u) { return MIN(uop_nvalue(u), u->nsrc); }

/* ---- which nodes ---- */

static bool sizes_known(const UOp *u) {
  for (int i = 0; i < u->ndim; i++)
    if (u->shape[i]->op != OP_CONST) return false;
  return true;
}

static UOp *operand(UOp *x) { return x->op == OP_EXPAND ? x->src[0] : x; }

static bool varies(const UOp *x, int i) {
  return !uop_is_int(x->op == OP_EXPAND ? x->src[0]->shape[i] : x->shape[i], 1);
}

/* A sum of products of two values of which each is broadcast along an axis. */
static bool is_product(const UOp *u) {
  if (u->op != OP_REDUCE || u->arg.i != OP_ADD || u->src[0]->op != OP_MUL) return false;
  return u->src[0]->src[0]->op == OP_EXPAND && u->src[0]->src[1]->op == OP_EXPAND;
}

/* The first axis along which one factor of a product is broadcast; -1: axes in front of it are summed over. */
static int row_axis(const UOp *u) {
  const UOp *x = u->src[0]->src[0], *y = u->src[0]->src[1];
  for (int i = 0; i < u->ndim; i++) {
    if (u->arg.j & (1 << i)) return -1;
    if (varies(x, i) != varies(y, i)) return i;
  }
  return -1;
}

static bool is_seed(const Rows *r, UOp *u, int i) {
  if (r->mask[i] || !is_product(u) || !sizes_known(u) || row_axis(u) < 0) return false;
  int64_t n = uop_numel_max(u), bytes = WIDE_CACHES * r->target->cache_bytes[1];
  if (n < bytes / dtype_size((PolyDType)u->dtype)) return false;
  return n >= LEAST_GAIN * (uop_numel_max(operand(u->src[0]->src[0])) + uop_numel_max(operand(u->src[0]->src[1])));
}

static bool is_wide(const Rows *r, UOp *u) { return uop_numel_max(u) >= r->shape.numel; }

/* Does u have the batch and the rows as its first axes? */
static bool has_rows(const Rows *r, const UOp *u) {
  if (u->ndim <= r->shape.axis) return false;
  for (int i = 0; i <= r->shape.axis; i++)
    if (!uop_is_int(u->shape[i], r->shape.size[i])) return false;
  return true;
}

static uint32_t leading_axes(const Rows *r) { return (2u << r->shape.axis) - 1; }

/* Does u work on each row of its sources by itself? */
static bool keeps_rows(const Rows *r, const UOp *u) {
  if (!sizes_known(u) || !has_rows(r, u)) return false;
  if (op_elementwise((Op)u->op) || u->op == OP_RESHAPE || u->op == OP_EXPAND) return true;
  if (u->op == OP_REDUCE) return !((uint32_t)u->arg.j & leading_axes(r));
  if (u->op != OP_PERMUTE) return false;
  for (int i = 0; i <= r->shape.axis; i++)
    if (perm_at(u, i) != i) return false;
  return true;
}

/* Is it handed on to what reads it, row by row? What a product has made narrow is a result. */
static bool hands_on(const Rows *r, int i) {
  return r->rowed[i] && (is_wide(r, r->walk.at[i]) || !is_product(r->walk.at[i]));
}

static bool same_shape(const Rows *r, const UOp *u) { return row_axis(u) == r->shape.axis && has_rows(r, u); }

static void find_rowed(Rows *r) {
  for (int i = 0; i < r->walk.n; i++) {
    UOp *u = r->walk.at[i];
    bool any = false;
    if (r->mask[i]) continue;
    for (int k = 0; k < nvalue(u); k++) any |= hands_on(r, place_of(r, u->src[k]));
    r->rowed[i] = (is_seed(r, u, i) && same_shape(r, u)) || (any && keeps_rows(r, u));
    r->sum[i] = any && !r->rowed[i] && u->op == OP_REDUCE && u->arg.i == OP_ADD && u->arg.j & (1 << r->shape.axis);
  }
}

/* The region: wide values, what leads from one to the next, and what is made of one at once. */
static void find_region(Rows *r) {
  for (int i = r->walk.n; i-- > 0;) {
    UOp *u = r->walk.at[i];
    if (!r->rowed[i] || !(r->leads[i] || is_wide(r, u))) continue;
    for (int k = 0; k < nvalue(u); k++) {
      int at = place_of(r, u->src[k]);
      if (hands_on(r, at)) r->leads[at] = 1;
    }
  }
  for (int i = 0; i < r->walk.n; i++) {
    UOp *u = r->walk.at[i];
    bool near = false;
    for (int k = 0; k < nvalue(u); k++) {
      int at = place_of(r, u->src[k]);
      near |= r->region[at] && is_wide(r, u->src[k]);
    }
    r->region[i] = r->rowed[i] && (r->leads[i] || is_wide(r, u) || near);
  }
}

/* False: a wide value is read outside. */
static bool find_sinks(Rows *r) {
  for (int i = 0; i < r->walk.n; i++) {
    UOp *u = r->walk.at[i];
    if (r->root[i] && r->region[i]) r->sink[i] = 1;
    for (int k = 0; k < u->nsrc; k++) {
      int at = place_of(r, u->src[k]);
      if (!r->region[at]) continue;
      if (r->sum[i])
        r->sink[i] = 1;
      else if (!r->region[i] || !hands_on(r, at))
        r->sink[at] = 1;
    }
  }
  for (int i = 0; i < r->walk.n; i++)
    if (r->sink[i] && r->region[i] && is_wide(r, r->walk.at[i])) return false;
  return true;
}

static void find_levels(Rows *r) {
  for (int i = 0; i < r->walk.n; i++) {
    UOp *u = r->walk.at[i];
    for (int k = 0; k < u->nsrc; k++) {
      int at = place_of(r, u->src[k]);
      bool inside = r->region[at] && hands_on(r, at) && (r->region[i] || r->sink[i]);
      r->level[i] = MAX(r->level[i], inside ? r->level[at] : r->after[at]);
    }
    r->after[i] = r->level[i] + r->sink[i];
  }
}

/* What a sink needs of the region, marked; touches: something that was marked before. */
static bool mark_needed(const Rows *r, int sink, uint8_t *mark, bool *touches) {
  IntVec todo = {0};
  bool ok = vec_push(ctx_base(r->ctx), &todo, sink);
  while (ok && todo.n) {
    int i = todo.at[--todo.n];
    UOp *u = r->walk.at[i];
    *touches |= r->closure[i] != 0;
    if (mark[i]) continue;
    mark[i] = 1;
    for (int k = 0; ok && k < nvalue(u); k++) {
      int at = place_of(r, u->src[k]);
      if (r->region[at] && hands_on(r, at)) ok = vec_push(ctx_base(r->ctx), &todo, at);
    }
  }
  vec_free(ctx_base(r->ctx), &todo);
  return ok;
}

/* Sinks that wait for no other and share what they need, into `group`; how many. -1: an error was set. */
static int find_group(Rows *r, int *group) {
  int n = 0;
  uint8_t *mark = arena_new(r->arena, (size_t)r->walk.n);
  if (!mark) return -1;
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < r->walk.n && n < MOST_SINKS; i++) {
      bool touches = false;
      if (!r->sink[i] || r->level[i]) continue;
      memset(mark, 0, (size_t)r->walk.n);
      if (!mark_needed(r, i, mark, &touches)) return -1;
      if (n && !touches) continue;
      for (int k = 0; k < r->walk.n; k++) r->closure[k] |= mark[k];
      r->sink[i] = 0;
      group[n++] = i;
      more = true;
    }
  }
  return n;
}

/* Does a reduction of each row lead back to wide values? */
static bool has_statistic(const Rows *r) {
  for (int i = 0; i < r->walk.n; i++)
    if (r->closure[i] && r->leads[i] && !is_wide(r, r->walk.at[i])) return true;
  return false;
}

/* Are the rows edges, which have tiles of their own? */
static bool rows_are_edges(const Rows *r) {
  for (int i = 0; i < r->walk.n; i++) {
    const UOp *u = r->walk.at[i];
    bool edges = u->op == OP_SEGMENT && u->src[1]->op == OP_ENDPOINT;
    if (edges && uop_is_int(u->src[0]->shape[0], r->shape.size[0])) return true;
  }
  return false;
}

/* ---- the loops ---- */

typedef struct Input {
  UOp *from, *to; /* stacked, and the ARGUMENT */
} Input;

typedef struct Build {
  Rows *r;
  Map made; /* node and axis: its value in the body */
  int64_t tile, tiles, id[2];
  int ncarry, ninput[2];
  Input input[2][MOST_INPUTS]; /* of the loop over the batch, and of the one over tiles */
  bool refused;
} Build;

static UOp *index_of(const Build *b, int64_t n) { return uop_index(b->r->ctx, n); }

static UOp *refuse(Build *b) {
  b->refused = true;
  return NULL;
}

/* The row of x that the loop is at. */
static UOp *row_of(Build *b, int loop, UOp *x) {
  if (!x || b->ninput[loop] == MOST_INPUTS) return refuse(b);
  int k = b->ninput[loop]++ + (loop ? b->ncarry : 0);
  UOp *a = uop_argument(b->r->ctx, b->id[loop], k, (PolyDType)x->dtype, x->ndim - 1, x->shape + 1);
  b->input[loop][b->ninput[loop] - 1] = (Input){x, a};
  return a;
}

/* The shape of u, whose axis of rows is `axis`, in a tile: a batch of one. */
static void tile_shape(const Build *b, const UOp *u, int axis, UOp **shape) {
  for (int i = 0; i < u->ndim; i++) {
    shape[i] = i < axis ? index_of(b, 1) : u->shape[i];
    if (i == axis && uop_is_int(u->shape[i], b->r->shape.size[b->r->shape.axis])) shape[i] = index_of(b, b->tile);
  }
}

/* A value from outside that is in memory, as the tile sees it. */
static UOp *leaf(Build *b, UOp *u, int axis) {
  const Shape *s = &b->r->shape;
  UOp *shape[MAX_DIMS], *cut[MAX_DIMS + 2];
  int64_t batch = 1;
  bool rows = axis < u->ndim && s->size[s->axis] > 1 && uop_is_int(u->shape[axis], s->size[s->axis]);
  for (int i = 0; i < axis && i < u->ndim; i++) batch *= u->shape[i]->vmax;
  if (batch == 1 && !rows) return u;
  if ((batch > 1 && batch != s->batch) || u->ndim - axis + 2 > MAX_DIMS) return refuse(b);
  UOp *base = u;
  while (base->op == OP_RESHAPE) base = base->src[0];
  if (uop_numel_max(u) >= s->numel && base->op != OP_BUFFER) return refuse(b);
  int n = 0;
  if (batch > 1) cut[n++] = index_of(b, batch);
  if (rows) cut[n++] = index_of(b, b->tiles), cut[n++] = index_of(b, b->tile);
  for (int i = rows ? axis + 1 : axis; i < u->ndim; i++) cut[n++] = u->shape[i];
  UOp *x = uop_reshape(u, n, cut);
  if (batch > 1) x = row_of(b, 0, x);
  if (rows) x = row_of(b, 1, x);
  tile_shape(b, u, axis, shape);
  return x ? uop_reshape(x, u->ndim, shape) : NULL;
}

/* A value from outside that is the same for all rows, with axes in another order than in memory, as the values are that
 * weights are multiplied with: stored as it lies, and its axes are moved in the tile, where a product reads them with
 * strides. NULL: it is none. */
static UOp *moved_leaf(Build *b, UOp *u, int axis) {
  UOp *p = u->op == OP_RESHAPE ? u->src[0] : u, *cut[MAX_DIMS + 1], *shape[MAX_DIMS];
  const Shape *s = &b->r->shape;
  int64_t batch = 1;
  int kept = 0, n = 0, perm[MAX_DIMS];
  if (p->op != OP_PERMUTE || axis >= u->ndim || varies(u, axis) || uop_numel_max(u) >= s->numel) return NULL;
  while (kept < p->ndim && batch < s->batch && perm_at(p, kept) == kept) batch *= p->shape[kept++]->vmax;
  if (batch != s->batch || batch == 1) return NULL;
  cut[n++] = index_of(b, batch);
  for (int i = kept; i < p->ndim; i++) cut[n++] = p->src[0]->shape[i];
  UOp *x = row_of(b, 0, uop_reshape(p->src[0], n, cut));
  for (int i = 0; i < p->ndim; i++) {
    shape[i] = i < kept ? index_of(b, 1) : p->src[0]->shape[i];
    perm[i] = perm_at(p, i);
  }
  x = x ? uop_permute(uop_reshape(x, p->ndim, shape), perm) : NULL;
  tile_shape(b, u, axis, shape);
  return x ? uop_reshape(x, u->ndim, shape) : NULL;
}

static UOp *value(Build *b, UOp *u, int axis);

/* Does it only put axes of one element in front? How many; 0: no. */
static int axes_in_front(const UOp *u) {
  int more = u->op == OP_RESHAPE ? u->ndim - u->src[0]->ndim : 0;
  for (int i = 0; more > 0 && i < u->ndim; i++)
    if (i < more ? !uop_is_int(u->shape[i], 1) : u->shape[i] != u->src[0]->shape[i - more]) return 0;
  return MAX(more, 0);
}

/* A value from outside. Those of long rows are computed for the tile as far as they are elementwise. */
static UOp *outer_value(Build *b, UOp *u, int axis) {
  UOp *shape[MAX_DIMS], *src[3];
  const Shape *s = &b->r->shape;
  bool rows = axis >= 0 && axis < u->ndim && uop_is_int(u->shape[axis], s->size[s->axis]);
  int64_t width = 1;
  for (int i = axis + 1; rows && i < u->ndim; i++) width *= u->shape[i]->vmax;
  if (u->op == OP_CONST || u->ndim == 0 || axis < 0) return u;
  int front = axes_in_front(u);
  tile_shape(b, u, axis, shape);
  if (u->op == OP_EXPAND) {
    UOp *x = value(b, u->src[0], axis);
    return x ? uop_expand(x, shape) : NULL;
  }
  if (front && front <= axis) {
    UOp *x = value(b, u->src[0], axis - front);
    return x ? uop_reshape(x, u->ndim, shape) : NULL;
  }
  UOp *moved = moved_leaf(b, u, axis);
  if (moved || b->refused) return moved;
  if (!rows || width <= LONG_ROW || !op_elementwise((Op)u->op)) return leaf(b, u, axis);
  for (int k = 0; k < u->nsrc; k++)
    if (!(src[k] = value(b, u->src[k], axis))) return NULL;
  return uop_with_sources(u, src);
}

/* The factor of a wide product that is the same for all tiles. Summed along its last axis it would be transposed for
 * each tile, where its columns are put side by side: it is stored so, once. NULL: as it is. */
static UOp *turned_factor(Build *b, UOp *u, UOp *x, int axis) {
  UOp *shape[MAX_DIMS], *from = operand(x);
  int perm[MAX_DIMS], last = x->ndim - 1;
  if (b->tiles == 1 || u->arg.j != 1 << last || last - 1 <= axis || x->op != OP_EXPAND || varies(x, axis)) return NULL;
  if (b->r->closure[place_of(b->r, x)] || !varies(x, last - 1)) return NULL;
  for (int i = 0; i <= last; i++) perm[i] = i < last - 1 ? i : 2 * last - 1 - i;
  UOp *y = leaf(b, uop_permute(from, perm), axis);
  tile_shape(b, x, axis, shape);
  return y ? uop_expand(uop_permute(y, perm), shape) : NULL;
}

static UOp *wide_product(Build *b, UOp *u, int axis) {
  UOp *factor[2];
  for (int k = 0; k < 2; k++) {
    UOp *x = u->src[0]->src[k];
    factor[k] = turned_factor(b, u, x, axis);
    if (!factor[k] && !b->refused) factor[k] = value(b, x, axis);
    if (!factor[k]) return NULL;
  }
  return uop_reduce(OP_ADD, uop_with_sources(u->src[0], factor), (uint32_t)u->arg.j);
}

/* A value of the region. */
static UOp *inner_value(Build *b, UOp *u, int axis) {
  UOp *shape[MAX_DIMS], *src[3];
  int perm[MAX_DIMS];
  if (is_product(u) && is_wide(b->r, u)) return wide_product(b, u, axis);
  for (int k = 0; k < nvalue(u); k++)
    if (!(src[k] = value(b, u->src[k], axis))) return NULL;
  tile_shape(b, u, axis, shape);
  for (int i = 0; i < u->ndim; i++) perm[i] = perm_at(u, i);
  switch (u->op) {
  case OP_RESHAPE: return uop_reshape(src[0], u->ndim, shape);
  case OP_EXPAND: return uop_expand(src[0], shape);
  case OP_PERMUTE: return uop_permute(src[0], perm);
  case OP_REDUCE: return uop_reduce((Op)u->arg.i, src[0], (uint32_t)u->arg.j);
  default: return uop_with_sources(u, src);
  }
}

static UOp *value(Build *b, UOp *u, int axis) {
  uint64_t key = (uint64_t)(uintptr_t)u * 16 + (uint64_t)axis, at;
  if (map_get(&b->made, key, &at)) return (UOp *)(uintptr_t)at;
  bool inner = axis == b->r->shape.axis && b->r->closure[place_of(b->r, u)];
  UOp *v = inner ? inner_value(b, u, axis) : outer_value(b, u, axis);
  return v && map_put(ctx_base(u->ctx), &b->made, key, (uintptr_t)v) ? v : NULL;
}

/* What the body of the loop over tiles gives for a sink: of a sum, the part of this tile. */
static UOp *sink_value(Build *b, UOp *u, bool sum) {
  int axis = b->r->shape.axis;
  if (sum) {
    UOp *x = value(b, u->src[0], axis);
    return x ? uop_reduce(OP_ADD, x, (uint32_t)u->arg.j & ~((1u << axis) - 1)) : NULL;
  }
  UOp *x = value(b, u, axis);
  return x ? uop_reshape(x, x->ndim - axis, x->shape + axis) : NULL;
}

static UOp *make_scan(Build *b, int loop, int64_t length, int nout, UOp *const *out, UOp *const *init) {
  UOp *xs[MOST_INPUTS];
  for (int k = 0; k < b->ninput[loop]; k++) xs[k] = b->input[loop][k].from;
  Scan s = {.id = b->id[loop],
            .ncarry = loop ? b->ncarry : 0,
            .nx = b->ninput[loop],
            .nout = nout,
            .init = init,
            .xs = xs,
            .out = out,
            .length = index_of(b, length)};
  return uop_scan(b->r->ctx, &s);
}

/* The sink as a whole, from what the loops give. */
static UOp *whole_value(const Rows *r, UOp *u, bool sum, UOp *x) {
  UOp *shape[MAX_DIMS];
  uint32_t batch = (1u << r->shape.axis) - 1;
  if (!x || !sum) return x ? uop_reshape(x, u->ndim, u->shape) : NULL;
  for (int i = 0; i < u->ndim; i++) shape[i] = i < r->shape.axis ? uop_index(r->ctx, r->shape.size[i]) : u->shape[i];
  x = uop_reshape(x, u->ndim, shape);
  return x ? uop_reduce(OP_ADD, x, (uint32_t)u->arg.j & batch) : NULL;
}

/* Rows of a tile: a divisor of their number. */
static int64_t tile_rows(const Rows *r) {
  int64_t n = r->shape.size[r->shape.axis], most = TILE_CACHES * r->target->cache_bytes[1];
  most /= MAX(r->shape.row_bytes, 1);
  int64_t best = MIN(n, MAX(most, LEAST_ROWS));
  while (n % best) best--;
  return best;
}

/* The sinks of a group by loops, into `to`. False without an error: it cannot be done so. */
static bool build_loops(Build *b, int n, const int *group, UOp **to) {
  Rows *r = b->r;
  UOp *out[MOST_SINKS], *init[MOST_SINKS], *v[MOST_SINKS], *got[MOST_SINKS];
  int order[MOST_SINKS], at = 0;
  for (int sums = 1; sums >= 0; sums--) /* what is carried comes first */
    for (int k = 0; k < n; k++)
      if (r->sum[group[k]] == sums) order[at++] = k;
  for (int k = 0; k < n; k++) b->ncarry += r->sum[group[k]];
  for (int o = 0; o < n; o++) {
    int i = group[order[o]];
    if (!(v[o] = sink_value(b, r->walk.at[i], r->sum[i]))) return false;
    out[o] = v[o];
    if (o >= b->ncarry) continue;
    UOp *carried = uop_argument(r->ctx, b->id[1], o, (PolyDType)v[o]->dtype, v[o]->ndim, v[o]->shape);
    init[o] = uop_zeros_like(v[o]);
    if (!(out[o] = carried ? uop_binary(OP_ADD, carried, v[o]) : NULL)) return false;
  }
  UOp *inner = make_scan(b, 1, b->tiles, n, out, init);
  for (int o = 0; inner && o < n; o++)
    if (!(got[o] = o < b->ncarry ? uop_final(inner, o) : uop_stacked(inner, v[o]))) return false;
  UOp *outer = inner && r->shape.batch > 1 ? make_scan(b, 0, r->shape.batch, n, got, NULL) : inner;
  for (int o = 0; outer && o < n; o++) {
    int i = group[order[o]];
    UOp *x = outer == inner ? got[o] : uop_stacked(outer, got[o]);
    if (!(to[order[o]] = whole_value(r, r->walk.at[i], r->sum[i], x))) return false;
  }
  return outer != NULL;
}

/* Replaces the sinks of a group in the roots. *done: it was possible. */
static bool replace_group(Rows *r, int n, const int *group, int nroot, UOp **root, bool *done) {
  UOp *from[MOST_SINKS], *to[MOST_SINKS];
  Build *b = arena_new(r->arena, sizeof *b);
  if (!b) return false;
  *b = (Build){.r = r, .tile = tile_rows(r), .id = {ctx_unique(r->ctx), ctx_unique(r->ctx)}};
  b->tiles = r->shape.size[r->shape.axis] / b->tile;
  *done = b->tiles * r->shape.batch > 1 && build_loops(b, n, group, to);
  map_free(ctx_base(r->ctx), &b->made);
  if (!*done) return b->refused || ctx_base(r->ctx)->code == POLY_OK;
  for (int k = 0; k < n; k++) from[k] = r->walk.at[group[k]];
  return uop_replace(r->ctx, r->arena, nroot, root, n, from, to, root);
}

/* ---- rows that see some of the columns ---- */

/* Where a mask that is computed from positions hides columns from some rows, as that of causal attention does, the rows
 * are cut into BANDS, each with the columns that it sees:
 *
 *   out = [softmax(q[0:T/4] @ k[0:T/4]^T + mask) @ v[0:T/4], softmax(q[T/4:T/2] @ k[0:T/2]^T + mask) @ v[0:T/2], ...]
 *
 * Elements of a column that is left out must be what the reductions over it leave as it is: 0 of a sum, the least of a
 * maximum. As in a product with zeros that are left out, the other factor is taken to be finite. */
enum { BANDS = 4, MORE_BANDS = 8, BAND_STEPS = 8, LEAST_BAND = 64, LONG_BAND = 512 };

/* Of causal attention, 4 bands compute 5 / 8 of the scores and 8 bands 9 / 16. Each has loops and kernels of its own:
 * more of them are taken where rows are many and all wide products of the program can have as many. */
static int count_bands(const Rows *r) {
  int64_t rows = r->shape.size[r->shape.axis], products = 0;
  for (int i = 0; i < r->walk.n; i++) products += is_seed(r, r->walk.at[i], i);
  return rows / MORE_BANDS >= LONG_BAND && r->nloop + 2 * MORE_BANDS * products <= MOST_LOOPS ? MORE_BANDS : BANDS;
}

/* A node, and which of its axes are the rows and the columns; -1: it does not vary with them. */
typedef struct Place {
  UOp *u;
  int row, col;
} Place;

typedef struct Band {
  Rows *r;
  int64_t columns, row[2], col[2]; /* how many there are; those of the band */
  Map made, known;
  bool refused;
} Band;

typedef enum Hidden { HIDDEN_ANY = 1, HIDDEN_ZERO, HIDDEN_LOWEST } Hidden; /* what all elements outside are */

static uint64_t place_key(const Place *p) {
  return (uint64_t)(uintptr_t)p->u * 256 + (uint64_t)(p->row + 1) * 16 + (uint64_t)(p->col + 1);
}

/* The axis of x, of as many elements as u, that has the elements of an axis of u; -1: none has. */
static int same_axis(const UOp *u, int axis, const UOp *x) {
  int64_t before = 1, now = 1;
  for (int i = 0; i < axis; i++) before *= u->shape[i]->vmax;
  for (int i = 0; i < x->ndim; now *= x->shape[i++]->vmax)
    if (now == before && x->shape[i]->vmax == u->shape[axis]->vmax) return i;
  return -1;
}

static int axis_below(const UOp *u, int axis) {
  const UOp *x = u->src[0];
  if (axis < 0) return -1;
  switch (u->op) {
  case OP_EXPAND: return uop_is_int(x->shape[axis], 1) ? -1 : axis;
  case OP_PERMUTE: return perm_at(u, axis);
  case OP_RESHAPE: return uop_is_int(u->shape[axis], 1) ? -1 : same_axis(u, axis, x);
  default: return axis;
  }
}

/* The same elements below a movement. False: they cannot be told. */
static bool below(const Place *p, int k, Place *out) {
  UOp *u = p->u;
  *out = (Place){u->src[k], p->row, p->col};
  if (u->src[k]->op == OP_CONST || op_elementwise((Op)u->op)) return true;
  out->row = axis_below(u, p->row);
  out->col = axis_below(u, p->col);
  bool lost = (p->row >= 0 && out->row < 0) || (p->col >= 0 && out->col < 0);
  return u->op == OP_EXPAND || (!lost && (u->op == OP_RESHAPE || u->op == OP_PERMUTE));
}

/* The bounds of an integer that is computed from positions, in some rows and columns. */
static bool position(const Band *b, Place p, const int64_t *col, int64_t *lo, int64_t *hi) {
  UOp *u = p.u;
  Place x;
  int64_t l[2], h[2];
  if (!sizes_known(u)) return false;
  if (u->op == OP_CONST && dtype_is_int((PolyDType)u->dtype)) return *lo = *hi = const_int(u), true;
  if (u->op == OP_IOTA) {
    const int64_t *of = p.row == 0 ? b->row : p.col == 0 ? col : (int64_t[]){0, u->shape[0]->vmax};
    return *lo = of[0], *hi = of[1] - 1, true;
  }
  int n = u->op == OP_ADD || u->op == OP_SUB ? 2 : 1;
  bool moves = u->op == OP_EXPAND || u->op == OP_RESHAPE || u->op == OP_PERMUTE || u->op == OP_CAST;
  if ((n == 1 && !moves) || !dtype_is_int((PolyDType)u->dtype)) return false;
  for (int k = 0; k < n; k++)
    if (!below(&p, k, &x) || !position(b, x, col, &l[k], &h[k])) return false;
  *lo = n == 1 ? l[0] : u->op == OP_ADD ? l[0] + l[1] : l[0] - h[1];
  *hi = n == 1 ? h[0] : u->op == OP_ADD ? h[0] + h[1] : h[0] - l[1];
  return true;
}

/* Is a comparison false in the rows of the band and all columns outside? */
static bool never_outside(const Band *b, Place p) {
  const int64_t outside[2][2] = {{0, b->col[0]}, {b->col[1], b->columns}};
  for (int k = 0; k < 2; k++) {
    int64_t lo[2], hi[2];
    if (outside[k][0] >= outside[k][1]) continue;
    for (int i = 0; i < 2; i++)
      if (!position(b, (Place){p.u->src[i], p.row, p.col}, outside[k], &lo[i], &hi[i])) return false;
    if (p.u->op == OP_CMPLE ? lo[0] <= hi[1] : lo[0] < hi[1]) return false;
  }
  return true;
}

static Hidden outside(Band *b, Place p);

static Hidden source_outside(Band *b, const Place *p, int k) {
  Place x;
  return below(p, k, &x) ? outside(b, x) : HIDDEN_ANY;
}

static Hidden find_outside(Band *b, Place p) {
  UOp *u = p.u;
  Hidden h[3] = {HIDDEN_ANY, HIDDEN_ANY, HIDDEN_ANY};
  if (u->op == OP_CONST) {
    double v = const_float(u);
    return v == 0 ? HIDDEN_ZERO : v == -INFINITY ? HIDDEN_LOWEST : HIDDEN_ANY;
  }
  bool reduced = u->op == OP_REDUCE && p.row >= 0 && p.col >= 0 && u->arg.i == OP_ADD &&
                 !((uint32_t)u->arg.j >> p.row & 1) && !((uint32_t)u->arg.j >> p.col & 1);
  bool moves = u->op == OP_EXPAND || u->op == OP_RESHAPE || u->op == OP_PERMUTE;
  if (reduced) return outside(b, (Place){u->src[0], p.row, p.col}) == HIDDEN_ZERO ? HIDDEN_ZERO : HIDDEN_ANY;
  if (!moves && !op_elementwise((Op)u->op)) return HIDDEN_ANY;
  if (u->op == OP_CMPLE || u->op == OP_CMPLT) return never_outside(b, p) ? HIDDEN_ZERO : HIDDEN_ANY;
  for (int k = 0; k < nvalue(u) && k < 3; k++) h[k] = source_outside(b, &p, k);
  bool zeros = h[0] == HIDDEN_ZERO && h[1] == HIDDEN_ZERO, either = h[0] == HIDDEN_ZERO || h[1] == HIDDEN_ZERO;
  switch (u->op) {
  case OP_EXPAND:
  case OP_RESHAPE:
  case OP_PERMUTE:
  case OP_CAST: return h[0];
  case OP_NEG: return h[0] == HIDDEN_ZERO ? h[0] : HIDDEN_ANY;
  case OP_EXP: return h[0] == HIDDEN_LOWEST ? HIDDEN_ZERO : HIDDEN_ANY;
  case OP_AND:
  case OP_MUL: return either ? HIDDEN_ZERO : HIDDEN_ANY;
  case OP_DIV: return h[0] == HIDDEN_ZERO ? h[0] : HIDDEN_ANY;
  case OP_ADD: return zeros ? HIDDEN_ZERO : h[0] == HIDDEN_LOWEST || h[1] == HIDDEN_LOWEST ? HIDDEN_LOWEST : HIDDEN_ANY;
  case OP_SUB: return zeros ? HIDDEN_ZERO : h[0] == HIDDEN_LOWEST ? HIDDEN_LOWEST : HIDDEN_ANY;
  case OP_WHERE: return h[0] == HIDDEN_ZERO || h[1] == h[2] ? h[2] : HIDDEN_ANY;
  default: return HIDDEN_ANY;
  }
}

static Hidden outside(Band *b, Place p) {
  uint64_t at;
  if (map_get(&b->known, place_key(&p), &at)) return (Hidden)at;
  Hidden h = find_outside(b, p);
  return map_put(ctx_base(b->r->ctx), &b->known, place_key(&p), (uint64_t)h) ? h : HIDDEN_ANY;
}

/* The axis of the columns in what a reduction is over, if its result does without those outside; -1: none. */
static int hidden_axis(Band *b, const UOp *u, int row, bool reduced) {
  UOp *x = u->src[0];
  Hidden wanted = u->arg.i == OP_ADD ? HIDDEN_ZERO : u->arg.i == OP_MAX ? HIDDEN_LOWEST : HIDDEN_ANY;
  for (int i = row + 1; i < x->ndim && wanted != HIDDEN_ANY; i++) {
    bool here = ((uint32_t)u->arg.j >> i & 1) == reduced && uop_is_int(x->shape[i], b->columns);
    if (here && outside(b, (Place){x, row, i}) == wanted) return i;
  }
  return -1;
}

static UOp *part(Band *b, Place p);

static UOp *part_shrunk(Band *b, Place p) {
  UOp *begin[MAX_DIMS], *end[MAX_DIMS], *u = p.u;
  if (uop_numel_max(u) >= b->r->shape.numel) return b->refused = true, NULL;
  for (int i = 0; i < u->ndim; i++) {
    const int64_t *of = i == p.row ? b->row : i == p.col ? b->col : (int64_t[]){0, u->shape[i]->vmax};
    begin[i] = uop_index(u->ctx, of[0]);
    end[i] = uop_index(u->ctx, of[1]);
  }
  return uop_shrink(u, begin, end);
}

/* A reduction over the columns is one over those of the band. */
static UOp *part_reduced(Band *b, Place p) {
  UOp *u = p.u;
  int col = p.col < 0 ? hidden_axis(b, u, p.row, true) : p.col;
  if (p.row < 0 || col < 0) return b->refused = true, NULL;
  UOp *x = part(b, (Place){u->src[0], p.row, col});
  return x ? uop_reduce((Op)u->arg.i, x, (uint32_t)u->arg.j) : NULL;
}

static UOp *part_made(Band *b, Place p) {
  UOp *u = p.u, *src[3], *shape[MAX_DIMS];
  int perm[MAX_DIMS];
  bool inner = p.row == b->r->shape.axis && b->r->closure[place_of(b->r, u)];
  bool moves = u->op == OP_EXPAND || u->op == OP_RESHAPE || u->op == OP_PERMUTE;
  Place x;
  if (u->op == OP_CONST || (p.row < 0 && p.col < 0)) return u;
  if (!sizes_known(u)) return b->refused = true, NULL;
  if (inner && u->op == OP_REDUCE) return part_reduced(b, p);
  if (!moves && !op_elementwise((Op)u->op)) return part_shrunk(b, p);
  for (int k = 0; k < nvalue(u); k++) {
    if (!below(&p, k, &x)) return part_shrunk(b, p);
    if (!(src[k] = part(b, x))) return NULL;
  }
  for (int i = 0; i < u->ndim; i++) {
    shape[i] = i == p.row ? uop_index(u->ctx, b->row[1] - b->row[0]) : u->shape[i];
    if (i == p.col) shape[i] = uop_index(u->ctx, b->col[1] - b->col[0]);
    perm[i] = perm_at(u, i);
  }
  switch (u->op) {
  case OP_EXPAND: return uop_expand(src[0], shape);
  case OP_RESHAPE: return uop_reshape(src[0], u->ndim, shape);
  case OP_PERMUTE: return uop_permute(src[0], perm);
  default: return uop_with_sources(u, src);
  }
}

static UOp *part(Band *b, Place p) {
  uint64_t at;
  if (p.row < 0 && p.col < 0) return p.u;
  if (map_get(&b->made, place_key(&p), &at)) return (UOp *)(uintptr_t)at;
  UOp *v = part_made(b, p);
  return v && map_put(ctx_base(b->r->ctx), &b->made, place_key(&p), (uintptr_t)v) ? v : NULL;
}

/* Do all sinks of the group do without the columns outside? */
static bool band_holds(Band *b, int n, const int *group) {
  const Rows *r = b->r;
  map_free(ctx_base(r->ctx), &b->known);
  b->known = (Map){0};
  for (int k = 0; k < n; k++) {
    const UOp *u = r->walk.at[group[k]];
    if (u->op != OP_REDUCE || hidden_axis(b, u, r->shape.axis, !r->sum[group[k]]) < 0) return false;
  }
  return true;
}

/* The fewest columns, in steps, that the rows of the band see. */
static void find_columns(Band *b, int n, const int *group) {
  int64_t step = MAX(b->columns / BAND_STEPS, 1);
  b->col[0] = 0;
  for (b->col[1] = step; b->col[1] < b->columns && !band_holds(b, n, group);) b->col[1] += step;
  b->col[1] = MIN(b->col[1], b->columns);
  for (int64_t at = b->col[1] - step; at > 0 && !b->col[0]; at -= step) {
    b->col[0] = at;
    if (!band_holds(b, n, group)) b->col[0] = 0;
  }
  band_holds(b, n, group);
}

/* What a band gives for a sink: its rows, or its part of a sum over the rows, with zeros for columns outside. */
static UOp *band_value(Band *b, UOp *u, bool sum) {
  UOp *before[MAX_DIMS], *after[MAX_DIMS];
  int row = b->r->shape.axis;
  if (!sum) return part(b, (Place){u, row, -1});
  int col = hidden_axis(b, u, row, false);
  UOp *x = col >= 0 ? part(b, (Place){u->src[0], row, col}) : NULL;
  x = x ? uop_reduce(OP_ADD, x, (uint32_t)u->arg.j) : NULL;
  for (int i = 0; i < u->ndim; i++) {
    before[i] = uop_index(u->ctx, i == col ? b->col[0] : 0);
    after[i] = uop_index(u->ctx, i == col ? b->columns - b->col[1] : 0);
  }
  return x ? uop_pad(x, before, after) : NULL;
}

/* The sinks of a group by bands. *done: it was possible, and leaves out a quarter of the work. */
static bool replace_bands(Rows *r, int n, const int *group, int nroot, UOp **root, bool *done) {
  UOp *from[MOST_SINKS], *to[MOST_SINKS], *value[MOST_SINKS][MORE_BANDS];
  int64_t rows = r->shape.size[r->shape.axis], columns = r->shape.width, seen = 0;
  Band band[MORE_BANDS] = {0};
  int bands = count_bands(r);
  *done = false;
  if (rows % bands || rows / bands < LEAST_BAND || columns < LEAST_BAND) return true;
  for (int k = 0; k < bands; k++) {
    int64_t each = rows / bands;
    band[k] = (Band){.r = r, .columns = columns, .row = {k * each, (k + 1) * each}};
    find_columns(&band[k], n, group);
    seen += each * (band[k].col[1] - band[k].col[0]);
  }
  bool ok = seen <= rows * columns / 4 * 3;
  for (int i = 0; ok && i < n; i++) {
    UOp *u = from[i] = r->walk.at[group[i]];
    bool sum = r->sum[group[i]];
    for (int k = 0; ok && k < bands; k++) ok = (value[i][k] = band_value(&band[k], u, sum)) != NULL;
    to[i] = !ok ? NULL : sum ? value[i][0] : uop_cat(bands, value[i], r->shape.axis);
    for (int k = 1; ok && sum && k < bands; k++) to[i] = to[i] ? uop_binary(OP_ADD, to[i], value[i][k]) : NULL;
    ok = to[i] != NULL;
  }
  for (int k = 0; k < bands; k++) {
    map_free(ctx_base(r->ctx), &band[k].made);
    map_free(ctx_base(r->ctx), &band[k].known);
  }
  *done = ok;
  if (!ok) return ctx_base(r->ctx)->code == POLY_OK;
  return uop_replace(r->ctx, r->arena, nroot, root, n, from, to, root);
}

/* ---- the pass ---- */

static bool begin(Rows *r, int nroot, UOp **root) {
  LoopIds ids = {0};
  if (!uop_walk(r->ctx, r->arena, nroot, root, NULL, NULL, &r->walk) ||
      !loop_masks(r->ctx, r->arena, &r->walk, &ids, &r->mask))
    return false;
  r->nloop = ids.n;
  size_t n = (size_t)r->walk.n + 1;
  uint8_t **marks[] = {&r->rowed, &r->leads, &r->region, &r->root, &r->sum, &r->sink, &r->closure};
  for (size_t k = 0; k < LEN(marks); k++)
    if (!(*marks[k] = arena_new(r->arena, n))) return false;
  r->level = arena_new(r->arena, n * sizeof(int));
  r->after = arena_new(r->arena, n * sizeof(int));
  if (!r->level || !r->after) return false;
  for (int i = 0; i < r->walk.n; i++)
    if (!map_put(ctx_base(r->ctx), &r->place, (uintptr_t)r->walk.at[i], (uint64_t)i)) return false;
  for (int k = 0; k < nroot; k++) r->root[place_of(r, root[k])] = 1;
  return true;
}

/* The first wide product that was not refused; false: there is none. */
static bool choose(Rows *r, const Map *refused) {
  for (int i = 0; i < r->walk.n; i++) {
    UOp *u = r->walk.at[i];
    if (!is_seed(r, u, i) || map_get(refused, (uintptr_t)u, NULL)) continue;
    Shape *s = &r->shape;
    *s = (Shape){.axis = row_axis(u), .batch = 1, .numel = uop_numel_max(u)};
    for (int k = 0; k <= s->axis; k++) s->size[k] = u->shape[k]->vmax;
    for (int k = 0; k < s->axis; k++) s->batch *= s->size[k];
    s->width = s->numel / (s->batch * s->size[s->axis]);
    s->row_bytes = s->width * dtype_size((PolyDType)u->dtype);
    s->seed = u;
    return true;
  }
  return false;
}

/* The products of the bands are not cut again. */
static bool keep_bands(Rows *r, Map *whole, int nroot, UOp **root) {
  Rows now = {.ctx = r->ctx, .arena = r->arena, .target = r->target};
  bool ok = begin(&now, nroot, root);
  for (int i = 0; ok && i < now.walk.n; i++) {
    UOp *u = now.walk.at[i];
    if (is_product(u) && !map_get(&r->place, (uintptr_t)u, NULL))
      ok = map_put(ctx_base(r->ctx), whole, (uintptr_t)u, 1);
  }
  map_free(ctx_base(r->ctx), &now.place);
  return ok;
}

/* One group of sinks. *more: the roots have changed, or a product was refused. */
static bool step(Rows *r, Map *refused, Map *whole, int nroot, UOp **root, bool *more) {
  int group[MOST_SINKS], n = 0;
  bool done = false;
  *more = false;
  if (!begin(r, nroot, root)) return false;
  if (r->nloop + 2 > MOST_LOOPS || !choose(r, refused)) return true;
  *more = true;
  find_rowed(r);
  find_region(r);
  if (!rows_are_edges(r) && find_sinks(r)) {
    find_levels(r);
    n = find_group(r, group);
    if (n < 0) return false;
  }
  bool cut = n > 0 && has_statistic(r) && !map_get(whole, (uintptr_t)r->shape.seed, NULL);
  if (cut && !replace_bands(r, n, group, nroot, root, &done)) return false;
  if (done) return keep_bands(r, whole, nroot, root);
  if (n > 0 && has_statistic(r) && !replace_group(r, n, group, nroot, root, &done)) return false;
  for (int i = 0; !done && i < r->walk.n; i++)
    if (r->rowed[i] && is_seed(r, r->walk.at[i], i) && !map_put(ctx_base(r->ctx), refused, (uintptr_t)r->walk.at[i], 1))
      return false;
  return true;
}

bool rows_in_tiles(PolyContext *ctx, Arena *arena, const Target *target, int nroot, UOp **root) {
  Map refused = {0}, whole = {0};
  /* a device with groups has no cache for a tile, and wants all rows at once; the body of a loop is a tile already */
  bool ok = true, more = target->tile_bytes > 0 && target->group <= 1;
  while (ok && more) {
    Rows r = {.ctx = ctx, .arena = arena, .target = target};
    ok = step(&r, &refused, &whole, nroot, root, &more);
    map_free(ctx_base(ctx), &r.place);
  }
  map_free(ctx_base(ctx), &refused);
  map_free(ctx_base(ctx), &whole);
  return ok;
}
