/* lower.c: value of a node at an index. In: a stored node and the policy that says what else is stored. Out: a STORE
 * over RANGEs whose value is made of LOADs, scalar ALU ops and LOOPs (reductions).
 *
 *   softmax over rows:   STORE(out, exp(LOAD(x, i*n+j) - m) / s, i*n+j, i, j)
 *                        m = LOOP max (LOAD(x, i*n+k), k)      s = LOOP add (exp(LOAD(x, i*n+k) - m), k)
 *
 * Recursion is as deep as a kernel, which the schedule bounds, not as deep as the graph. */
#include "schedule/lower.h"

#include "ir/context.h"
#include "ir/eval.h"
#include "ir/index.h"
#include "ir/rewrite.h"

#include <string.h>

void lower_begin(Lower *l, PolyContext *ctx, LowerPolicy policy, void *user, bool decided) {
  *l = (Lower){.ctx = ctx, .arena = {.b = ctx_base(ctx)}, .policy = policy, .user = user, .decided = decided};
}

void lower_end(Lower *l) {
  Base *b = ctx_base(l->ctx);
  vec_free(b, &l->param);
  map_free(b, &l->memo);
  map_free(b, &l->free);
  map_free(b, &l->entry);
  vec_free(b, &l->edges);
  arena_free(&l->arena);
}

/* ---- which ranges a scalar depends on ---- */

uint64_t lower_free(Lower *l, UOp *scalar) {
  return scalar ? index_ranges(l->ctx, &l->free, scalar) & ~RANGES_LOAD : 0;
}
bool lower_has_load(Lower *l, UOp *scalar) { return scalar && index_ranges(l->ctx, &l->free, scalar) & RANGES_LOAD; }

bool lower_is_edge(const Lower *l, const UOp *scalar) { return map_get(&l->entry, (uint64_t)(uintptr_t)scalar, NULL); }

bool lower_is_prefix(const Lower *l, uint64_t ranges) {
  for (int i = 0; i < l->ncontext && ranges; i++) {
    uint64_t bit = 1ull << l->context[i];
    if (!(ranges & bit)) return false;
    ranges &= ~bit;
  }
  return ranges == 0;
}

static uint64_t index_free(Lower *l, int n, UOp *const *idx, UOp *gate) {
  uint64_t m = lower_free(l, gate);
  for (int i = 0; i < n; i++) m |= lower_free(l, idx[i]);
  return m;
}

/* ---- memo ---- */

typedef struct Memo {
  struct Memo *next;
  UOp *node, *gate, *value;
  UOp *idx[];
} Memo;

/* While the policy still decides, the same value inside other loops is another question. */
static uint64_t memo_key(const Lower *l, UOp *node, UOp *const *idx, UOp *gate) {
  uint64_t h = hash_bytes(idx, (size_t)node->ndim * sizeof *idx, (uint64_t)(uintptr_t)node);
  if (!l->decided) h = hash_bytes(l->context, (size_t)l->ncontext * sizeof *l->context, h);
  return hash_bytes(&gate, sizeof gate, h);
}

static UOp *memo_find(Lower *l, uint64_t key, UOp *node, UOp *const *idx, UOp *gate) {
  uint64_t at;
  if (!map_get(&l->memo, key, &at)) return NULL;
  for (Memo *m = (Memo *)(uintptr_t)at; m; m = m->next)
    if (m->node == node && m->gate == gate &&
        (!node->ndim || memcmp(m->idx, idx, (size_t)node->ndim * sizeof *idx) == 0))
      return m->value;
  return NULL;
}

static void memo_add(Lower *l, uint64_t key, UOp *node, UOp *const *idx, UOp *gate, UOp *value) {
  Memo *m = arena_new(&l->arena, sizeof *m + (size_t)node->ndim * sizeof *idx);
  if (!m) return;
  uint64_t at = 0;
  map_get(&l->memo, key, &at);
  m->next = (Memo *)(uintptr_t)at;
  m->node = node;
  m->gate = gate;
  m->value = value;
  for (int i = 0; i < node->ndim; i++) m->idx[i] = idx[i];
  map_put(ctx_base(l->ctx), &l->memo, key, (uint64_t)(uintptr_t)m);
}

/* ---- pieces ---- */

static UOp *lower_identity(PolyContext *ctx, Op op, PolyDType dtype) {
  return value_to_const(ctx, dtype, value_identity(op, dtype));
}

static UOp *param_of(Lower *l, int slot, PolyDType dtype) {
  int p = 0;
  while (p < l->param.n && l->param.at[p] != slot) p++;
  if (p == l->param.n && !vec_push(ctx_base(l->ctx), &l->param, slot)) return NULL;
  return uop_make(l->ctx, OP_PARAM, dtype, (UArg){.i = p}, 0, NULL, 0, NULL);
}

/* Inside a loop over edges, this is known of the edge. */
typedef struct Row {
  UOp *index; /* of the SEGMENT; NULL: edges are taken in their own order */
  UOp *row;   /* which row: what `index` is at this edge; NULL: it must be loaded */
  UOp *place; /* of the edge in the row order */
} Row;

static const Row *row_of(const Lower *l, const UOp *entry) {
  uint64_t at;
  return map_get(&l->entry, (uint64_t)(uintptr_t)entry, &at) ? (const Row *)(uintptr_t)at : NULL;
}

static UOp *load(Lower *l, UOp *node, int slot, UOp *const *idx, UOp *gate) {
  UOp *at[MAX_DIMS];
  for (int i = 0; i < node->ndim; i++) at[i] = idx[i];
  if (l->tile && l->tile->holds(l->user, slot)) {
    const Row *r = node->ndim ? row_of(l, idx[0]) : NULL;
    if (!r) {
      if (l->tile->misread) *l->tile->misread = slot;
      return fail_null(ctx_base(l->ctx), POLY_ERROR_RUNTIME, "internal: a tile of edges is not read edge by edge");
    }
    at[0] = int_sub(r->place, l->tile->var[TILE_EDGE]);
  }
  UOp *src[3] = {param_of(l, slot, (PolyDType)node->dtype), index_flat(node, at), gate};
  return uop_make(l->ctx, OP_LOAD, (PolyDType)node->dtype, (UArg){0}, gate ? 3 : 2, src, 0, NULL);
}

static UOp *range(Lower *l, int id, UOp *begin, UOp *end, int row) {
  UOp *r = uop_make(l->ctx, OP_RANGE, POLY_INT64, (UArg){.i = id, .j = row}, 2, (UOp *[]){begin, end}, 0, NULL);
  l->range[id] = r;
  return r;
}

/* A new loop inside everything that `busy` depends on. Reductions that stand side by side over the same bounds get
 * equal RANGEs, so that codegen can run them in one loop; other bounds get another id, so that an id names one RANGE of
 * the kernel. */
static UOp *inner_range(Lower *l, uint64_t busy, UOp *begin, UOp *end, int row) {
  if (!begin || !end) return NULL;
  for (int id = l->nout; id < MAX_RANGES - 1; id++) {
    const UOp *taken = l->range[id];
    bool same = !taken || (taken->src[0] == begin && taken->src[1] == end && taken->arg.j == row);
    if (same && !(busy & (1ull << id))) return range(l, id, begin, end, row);
  }
  return fail_null(ctx_base(l->ctx), POLY_ERROR_RUNTIME, "a kernel needs too many loops");
}

static UOp *value_at(Lower *l, UOp *node, UOp *const *idx, UOp *gate);

/* LOOP over the ranges, its body lowered with the loops open. */
static UOp *loop(Lower *l, Op op, UOp *x, UOp *const *idx, UOp *gate, int n, UOp *const *ranges) {
  if (l->ncontext + n > MAX_RANGES)
    return fail_null(ctx_base(l->ctx), POLY_ERROR_RUNTIME, "a kernel needs too many loops");
  for (int i = 0; i < n; i++) l->context[l->ncontext++] = (int)ranges[i]->arg.i;
  UOp *src[1 + MAX_DIMS] = {value_at(l, x, idx, gate)};
  l->ncontext -= n;
  for (int i = 0; i < n; i++) src[1 + i] = ranges[i];
  return uop_make(l->ctx, OP_LOOP, (PolyDType)x->dtype, (UArg){.i = op}, 1 + n, src, 0, NULL);
}

/* The loops that are open, to be put back after a reduction was lowered at the loops that it depends on. */
typedef struct Context {
  int n, id[MAX_RANGES];
} Context;

/* Only the loops up to the last one in `ranges` stay open around a reduction that depends on those. */
static Context hoist_context(Lower *l, uint64_t ranges) {
  Context saved = {.n = l->ncontext};
  memcpy(saved.id, l->context, sizeof saved.id);
  l->ncontext = 0;
  for (int i = 0; i < saved.n; i++)
    if (ranges & (1ull << saved.id[i])) l->ncontext = i + 1;
  return saved;
}

static void restore_context(Lower *l, const Context *saved) {
  l->ncontext = saved->n;
  memcpy(l->context, saved->id, sizeof saved->id);
}

static UOp *lower_reduce(Lower *l, UOp *u, UOp *const *idx, UOp *gate) {
  UOp *x = u->src[0], *at[MAX_DIMS], *ranges[MAX_DIMS], *zero = uop_index(l->ctx, 0);
  UOp *outer[MAX_DIMS];
  int n = 0;
  for (int i = 0; i < x->ndim; i++) {
    bool reduced = u->arg.j & (1 << i);
    if (reduced && uop_is_int(x->shape[i], 0)) return lower_identity(l->ctx, (Op)u->arg.i, (PolyDType)u->dtype);
    outer[i] = reduced ? zero : idx[i];
  }
  uint64_t busy = index_free(l, x->ndim, outer, gate);
  Context saved = hoist_context(l, busy);
  for (int i = 0; i < x->ndim; i++) {
    at[i] = outer[i];
    if (!(u->arg.j & (1 << i)) || uop_is_int(x->shape[i], 1)) continue;
    ranges[n] = inner_range(l, busy, zero, x->shape[i], 0);
    if (!ranges[n]) return NULL;
    busy |= 1ull << ranges[n]->arg.i;
    at[i] = ranges[n++];
  }
  UOp *r = n ? loop(l, (Op)u->arg.i, x, at, gate, n, ranges) : value_at(l, x, at, gate);
  restore_context(l, &saved);
  return r;
}

/* A value used as an index, checked against the size of the axis. */
static UOp *checked(Lower *l, UOp *value, UOp *size, UOp *gate) {
  UOp *src[3] = {uop_cast(value, POLY_INT64), size, gate};
  return uop_make(l->ctx, OP_CHECK, POLY_INT64, (UArg){0}, gate ? 3 : 2, src, 0, NULL);
}

/* ---- rows of a graph ---- */

static bool remember_row(Lower *l, UOp *entry, Row row) {
  Row *r = arena_new(&l->arena, sizeof *r);
  if (!r) return false;
  *r = row;
  return map_put(ctx_base(l->ctx), &l->entry, (uint64_t)(uintptr_t)entry, (uint64_t)(uintptr_t)r);
}

/* The edge at a place of the row order; where edges lie in that order, the place itself. */
static UOp *edge_at(Lower *l, UOp *entries, UOp *place, UOp *gate) {
  return entries->op == OP_IOTA ? place : uop_cast(value_at(l, entries, &place, gate), POLY_INT64);
}

/* An end of an edge: inside a loop over the edges of a row, one end is the row, and the other stands in the row order.
 */
static UOp *lower_endpoint(Lower *l, UOp *u, UOp *const *idx, UOp *gate) {
  const Row *r = row_of(l, idx[0]);
  if (r && r->row && r->index == u) return uop_cast(r->row, POLY_INT32);
  if (r && r->index && r->index->op == OP_ENDPOINT && r->index->src[END_OTHER] == u->src[END_INDEX])
    return value_at(l, r->index->src[END_OTHERS], &r->place, gate);
  return value_at(l, u->src[0], idx, gate);
}

/* The row itself if the index is an end of an edge in the loop over that row's edges, without a detour through int32.
 */
static UOp *known_row(Lower *l, UOp *index, UOp *const *idx) {
  const Row *r = index->op == OP_ENDPOINT ? row_of(l, idx[0]) : NULL;
  return r && r->index == index ? r->row : NULL;
}

/* Is part used in v? Without an answer for want of memory: no. */
static bool is_used(Lower *l, UOp *v, const UOp *part) {
  Base *b = ctx_base(l->ctx);
  VEC(UOp *) stack = {0};
  Map seen = {0};
  bool found = v == part, ok = vec_push(b, &stack, v);
  while (ok && !found && stack.n) {
    UOp *u = stack.at[--stack.n];
    for (int k = 0; k < u->nsrc && ok && !found; k++) {
      UOp *s = u->src[k];
      found = s == part;
      if (s->nsrc && !map_get(&seen, (uintptr_t)s, NULL))
        ok = map_put(b, &seen, (uintptr_t)s, 1) && vec_push(b, &stack, s);
    }
  }
  vec_free(b, &stack);
  map_free(b, &seen);
  return found;
}

/* A value that is the same at every index (a constant, a broadcast axis) is read without one. The index is checked all
 * the same: the value is chosen by a comparison that holds unless the check fails, in which case the run fails. */
static UOp *with_check(Lower *l, UOp *v, UOp *value, UOp *size, UOp *gate) {
  UOp *good = uop_binary(OP_CMPEQ, checked(l, value, size, gate), value);
  bool zero = v->op == OP_CONST && const_float(v) == 0;
  return uop_where(good, v, uop_const(l->ctx, (PolyDType)v->dtype, zero));
}

static UOp *lower_gather(Lower *l, UOp *u, UOp *const *idx, UOp *gate) {
  UOp *x = u->src[0], *index = u->src[1], *at[MAX_DIMS];
  UOp *value = known_row(l, index, idx);
  bool trusted = value || index->op == OP_ENDPOINT;
  if (!value) value = value_at(l, index, idx, gate);
  value = uop_cast(value, POLY_INT64);
  if (!value) return NULL;
  bool inside = value->vmin >= 0 && value->vmax < x->shape[0]->vmin;
  at[0] = trusted || inside ? value : checked(l, value, x->shape[0], gate);
  for (int i = 1; i < x->ndim; i++) at[i] = idx[index->ndim + i - 1];
  UOp *v = at[0] ? value_at(l, x, at, gate) : NULL;
  if (!v || trusted || (inside && value->op == OP_CONST) || is_used(l, v, at[0])) return v;
  return with_check(l, v, value, x->shape[0], gate);
}

/* How many edges a row has on the average: 1 + the number as a power of two. */
static int usual_edges(const UOp *edges, const UOp *rows) {
  enum { USUAL_EDGES = 16 };
  bool known = rows->op == OP_CONST && edges->op == OP_CONST && rows->arg.i > 0;
  int64_t mean = known ? edges->arg.i / rows->arg.i : USUAL_EDGES;
  int log = 0;
  while (mean >> (log + 1)) log++;
  return 1 + log;
}

/* Of a loop that goes through all rows of a graph, what RANGE says of that. Where sizes are not known, so many edges.
 */
static int walks_all_rows(const UOp *index, const UOp *row, const UOp *rows) {
  if (index->op != OP_ENDPOINT || row->op != OP_RANGE || !uop_is_int(row->src[0], 0) || row->src[1] != rows) return 0;
  return usual_edges(index->shape[0], rows);
}

bool lower_counts_rows(const UOp *u) {
  const UOp *one = u->op == OP_SEGMENT && u->arg.i == OP_ADD && u->dtype != POLY_BOOL ? const_under(u->src[0]) : NULL;
  PolyDType d = (PolyDType)u->dtype;
  bool wide = d == POLY_INT32 || d == POLY_INT64 || d == POLY_FLOAT32 || d == POLY_FLOAT64;
  return one && wide && (dtype_is_float(d) ? const_float(one) == 1 : one->arg.i == 1);
}

static UOp *lower_segment(Lower *l, UOp *u, UOp *const *idx, UOp *gate) {
  UOp *x = u->src[0], *rowptr = u->src[2], *entries = u->src[3], *rows = u->src[4], *at[MAX_DIMS];
  UOp *begin_at = idx[0], *end_at = int_addc(idx[0], 1);
  if (uop_is_int(x->shape[0], 0)) return lower_identity(l->ctx, (Op)u->arg.i, (PolyDType)u->dtype);
  UOp *begin = uop_cast(value_at(l, rowptr, &begin_at, gate), POLY_INT64);
  UOp *end = uop_cast(value_at(l, rowptr, &end_at, gate), POLY_INT64);
  if (!begin || !end) return NULL;
  if (lower_counts_rows(u)) return uop_cast(int_sub(end, begin), (PolyDType)u->dtype);
  uint64_t busy = index_free(l, u->ndim, idx, gate);
  Context saved = hoist_context(l, busy);
  UOp *r = inner_range(l, busy, begin, end, walks_all_rows(u->src[1], idx[0], rows));
  if (!r) return NULL;
  l->context[l->ncontext++] = (int)r->arg.i;
  UOp *entry = edge_at(l, entries, r, gate);
  l->ncontext--;
  at[0] = entry;
  for (int i = 1; i < x->ndim; i++) at[i] = idx[i];
  bool ready = entry && remember_row(l, entry, (Row){u->src[1], idx[0], r}) &&
               vec_push(ctx_base(l->ctx), &l->edges, ((EdgeLoop){entry, r, idx[0], rows, x->shape[0], busy}));
  UOp *v = ready ? loop(l, (Op)u->arg.i, x, at, gate, 1, &r) : NULL;
  restore_context(l, &saved);
  return v;
}

/* The part in which the index falls. Parts are read under the condition that it is theirs, so nothing is read out of
 * range. */
static UOp *lower_cat(Lower *l, UOp *u, UOp *const *idx, UOp *gate) {
  int axis = (int)u->arg.i;
  UOp *at[MAX_DIMS], *value = NULL, *end = u->shape[axis];
  for (int i = 0; i < u->ndim; i++) at[i] = idx[i];
  for (int k = u->nsrc; k-- > 0;) {
    UOp *begin = int_sub(end, u->src[k]->shape[axis]);
    UOp *low = k ? int_lt(int_addc(begin, -1), idx[axis]) : uop_true(l->ctx), *high = int_lt(idx[axis], end);
    UOp *inside = low && high ? int_and(low, high) : NULL;
    if (inside && gate) inside = int_and(inside, gate);
    at[axis] = int_sub(idx[axis], begin);
    if (!inside || !at[axis]) return NULL;
    bool never = inside->op == OP_CONST && !inside->arg.i, always = inside->op == OP_CONST && !never;
    if (never && (k || value)) {
      end = begin;
      continue;
    }
    UOp *part = value_at(l, u->src[k], at, always ? NULL : inside);
    value = value && !always ? uop_where(high, part, value) : part;
    if (!value || always) return value;
    end = begin;
  }
  return value;
}

static UOp *lower_elementwise(Lower *l, UOp *u, UOp *const *idx, UOp *gate) {
  UOp *src[3];
  for (int i = 0; i < u->nsrc; i++) {
    UOp *s = u->src[i];
    src[i] = s->op == OP_CONST ? s : value_at(l, s, idx, gate);
    if (!src[i]) return NULL;
  }
  switch (op_info[u->op].cls) {
  case CLASS_UNARY:
    if (u->op == OP_CAST) return uop_cast(src[0], (PolyDType)u->dtype);
    if (u->op == OP_BITCAST) return uop_bitcast(src[0], (PolyDType)u->dtype);
    return uop_unary((Op)u->op, src[0]);
  case CLASS_TERNARY: return uop_where(src[0], src[1], src[2]);
  default: return uop_binary((Op)u->op, src[0], src[1]);
  }
}

static UOp *compute(Lower *l, UOp *u, UOp *const *idx, UOp *gate) {
  if (op_elementwise((Op)u->op)) return lower_elementwise(l, u, idx, gate);
  switch (u->op) {
  case OP_CONST:
  case OP_VARIABLE: return u;
  case OP_IOTA: return uop_cast(idx[0], (PolyDType)u->dtype);
  case OP_REDUCE: return lower_reduce(l, u, idx, gate);
  case OP_GATHER: return lower_gather(l, u, idx, gate);
  case OP_SEGMENT: return lower_segment(l, u, idx, gate);
  case OP_ENDPOINT: return lower_endpoint(l, u, idx, gate);
  case OP_CAT: return lower_cat(l, u, idx, gate);
  case OP_CONTIGUOUS:
  case OP_DETACH:
  case OP_FUNCTION:
  case OP_COPY: return value_at(l, u->src[0], idx, gate);
  case OP_ASSIGN: return value_at(l, u->src[1], idx, gate);
  default:
    return fail_null(ctx_base(l->ctx), POLY_ERROR_RUNTIME, "internal: %s cannot be lowered", op_info[u->op].name);
  }
}

/* Moves are followed in a loop, so a long chain of them costs no stack. The value of PAD is 0 where its gate is false.
 */
static UOp *value_at(Lower *l, UOp *node, UOp *const *idx, UOp *gate) {
  uint64_t key = memo_key(l, node, idx, gate);
  UOp *found = memo_find(l, key, node, idx, gate);
  if (found) return found;
  UOp *at[MAX_DIMS], *u = node, *inner = gate;
  for (int i = 0; i < node->ndim; i++) at[i] = idx[i];
  int slot = -1;
  while (slot < 0 && op_info[u->op].cls == CLASS_MOVE) {
    slot = l->policy(l->user, l, u, at, inner);
    if (slot >= 0) break;
    if (!index_through(u, at, &inner)) return NULL;
    u = u->src[0];
  }
  if (inner && inner->op == OP_CONST && !inner->arg.i) return uop_const(l->ctx, (PolyDType)u->dtype, 0);
  if (inner && inner->op == OP_CONST) inner = NULL;
  if (slot < 0 && u->op != OP_CONST && u->op != OP_VARIABLE && u->op != OP_IOTA)
    slot = l->policy(l->user, l, u, at, inner);
  if (ctx_base(l->ctx)->code != POLY_OK) return NULL;
  UOp *v = slot >= 0 ? load(l, u, slot, at, inner) : compute(l, u, at, inner);
  bool plain_load = v && v->op == OP_LOAD && slot >= 0; /* a gated load already gives 0 */
  if (inner && inner != gate && v && !plain_load) v = uop_where(inner, v, uop_const(l->ctx, (PolyDType)v->dtype, 0));
  if (v) memo_add(l, key, node, idx, gate, v);
  return v;
}

enum { MAX_OUTER = 2 * MAX_DIMS }; /* ranges of an output */

static UOp *open_range(Lower *l, UOp *size, UOp **ranges, int *n) {
  UOp *zero = uop_index(l->ctx, 0);
  if (!size || uop_is_int(size, 1)) return size ? zero : NULL;
  UOp *r = range(l, *n, zero, size, false);
  l->context[*n] = *n;
  return r ? ranges[(*n)++] = r : NULL;
}

/* RANGEs for each axis of `shape` that is longer than 1, all of them open. Returns how many, -1 on failure. */
static int open_domain(Lower *l, const UOp *shape, const int64_t *split, UOp **idx, UOp **ranges) {
  int n = 0;
  for (int i = 0; i < shape->ndim; i++) {
    UOp *size = shape->shape[i];
    if (split && split[i]) {
      UOp *outer = open_range(l, uop_index(l->ctx, const_int(size) / split[i]), ranges, &n);
      UOp *inner = open_range(l, uop_index(l->ctx, split[i]), ranges, &n);
      idx[i] = outer && inner ? int_add(int_mulc(outer, split[i]), inner) : NULL;
    } else {
      idx[i] = open_range(l, size, ranges, &n);
    }
    if (!idx[i]) return -1;
  }
  l->nout = MAX(l->nout, n);
  l->ncontext = n;
  return n;
}

static UOp *store_at(Lower *l, UOp *node, int slot, UOp *value, UOp *flat, int n, UOp *const *ranges) {
  UOp *src[3 + MAX_OUTER] = {param_of(l, slot, (PolyDType)node->dtype), value, flat};
  for (int i = 0; i < n; i++) src[3 + i] = ranges[i];
  return uop_make(l->ctx, OP_STORE, (PolyDType)node->dtype, (UArg){0}, 3 + n, src, 0, NULL);
}

static UOp *make_store(Lower *l, UOp *node, int slot, UOp *value, UOp *const *idx, int n, UOp *const *ranges) {
  return store_at(l, node, slot, value, index_flat(node, idx), n, ranges);
}

/* The value of a node that is itself stored. Of a movement op, it is what its source has at the moved index. */
static UOp *stored_value(Lower *l, UOp *node, UOp *const *idx) {
  if (op_info[node->op].cls != CLASS_MOVE) return compute(l, node, idx, NULL);
  UOp *inner[MAX_DIMS], *gate = NULL, *zero = uop_const(l->ctx, (PolyDType)node->dtype, 0);
  for (int i = 0; i < node->ndim; i++) inner[i] = idx[i];
  if (!index_through(node, inner, &gate)) return NULL;
  if (!gate || (gate->op == OP_CONST && gate->arg.i)) return value_at(l, node->src[0], inner, NULL);
  if (gate->op == OP_CONST) return zero;
  return uop_where(gate, value_at(l, node->src[0], inner, gate), zero);
}

UOp *lower_store(Lower *l, UOp *node, int slot, const int64_t *split) {
  UOp *idx[MAX_DIMS], *ranges[MAX_OUTER];
  if (!param_of(l, slot, (PolyDType)node->dtype)) return NULL;
  int n = open_domain(l, node, split, idx, ranges);
  if (n < 0) return NULL;
  return make_store(l, node, slot, stored_value(l, node, idx), idx, n, ranges);
}

UOp *lower_store_part(Lower *l, UOp *cat, int part, int slot) {
  UOp *idx[MAX_DIMS], *ranges[MAX_OUTER], *x = cat->src[part];
  int axis = (int)cat->arg.i;
  if (!param_of(l, slot, (PolyDType)cat->dtype)) return NULL;
  int n = open_domain(l, x, NULL, idx, ranges);
  UOp *value = n < 0 ? NULL : value_at(l, x, idx, NULL);
  for (int k = 0; k < part; k++) idx[axis] = int_add(idx[axis], cat->src[k]->shape[axis]);
  return value ? make_store(l, cat, slot, value, idx, n, ranges) : NULL;
}

/* ---- storing from inside a loop over edges ---- */

/* The index of node at an edge and at the outer loops behind the rows. */
static bool edge_index(const EdgeLoop *e, const UOp *store, UOp *node, UOp **idx) {
  int k = 3;
  if (k == store->nsrc || store->src[k] != e->row || e->row->src[1] != e->rows) return false;
  if (node->shape[0] != e->edges) return false; /* the loops go over some of its rows only */
  idx[0] = e->entry;
  for (int d = 1; d < node->ndim; d++) {
    idx[d] = uop_index(node->ctx, 0);
    if (uop_is_int(node->shape[d], 1)) continue;
    if (++k == store->nsrc || store->src[k]->src[1] != node->shape[d]) return false;
    idx[d] = store->src[k];
  }
  return k + 2 >= store->nsrc; /* one more loop may do it again: that over features, which runs as lanes */
}

/* All loads of a parameter below u are at one index, without a gate: that one. NULL: there is none, *elsewhere tells
 * whether there are several. */
static UOp *only_index(UOp *u, int64_t param, Map *seen, Base *b, bool *elsewhere) {
  UOp *at = NULL;
  if (map_get(seen, (uint64_t)(uintptr_t)u, NULL)) return NULL;
  if (!map_put(b, seen, (uint64_t)(uintptr_t)u, 1)) *elsewhere = true;
  if (u->op == OP_LOAD && u->src[0]->arg.i == param) {
    at = u->src[1];
    *elsewhere |= u->nsrc > 2;
  }
  for (int i = 0; i < u->nsrc; i++) {
    UOp *below = only_index(u->src[i], param, seen, b, elsewhere);
    *elsewhere |= at && below && at != below;
    if (below) at = below;
  }
  return at;
}

/* Is there a reduction below u that runs anew for each iteration of `range`? */
static bool reduces_inside(Lower *l, UOp *u, const UOp *range, Map *seen) {
  if (map_get(seen, (uint64_t)(uintptr_t)u, NULL)) return false;
  if (u->op == OP_LOOP && lower_free(l, u) & (1ull << range->arg.i)) return true;
  if (!map_put(ctx_base(l->ctx), seen, (uint64_t)(uintptr_t)u, 1)) return true;
  for (int i = 0; i < u->nsrc; i++)
    if (reduces_inside(l, u->src[i], range, seen)) return true;
  return false;
}

/* Would storing `value` at each edge of e do a reduction again for each iteration of a loop that it does not depend
 * on? Lanes would go along that reduction and not along the loop, whose features each walk the edges then. */
static bool repeats_reduction(Lower *l, const EdgeLoop *e, int n, UOp *const *ranges, UOp *value) {
  uint64_t extra = e->around;
  for (int i = 0; i < n; i++) extra &= ~(1ull << ranges[i]->arg.i);
  Map seen = {0};
  bool repeats = extra && reduces_inside(l, value, e->range, &seen);
  map_free(ctx_base(l->ctx), &seen);
  return repeats;
}

UOp *lower_store_by_edge(Lower *l, UOp *node, int slot, int nstore, UOp *const *store) {
  Base *b = ctx_base(l->ctx);
  int param = 0;
  while (param < l->param.n && l->param.at[param] != slot) param++;
  Map seen = {0};
  bool elsewhere = param == l->param.n || !node->ndim;
  UOp *at = NULL;
  for (int i = 0; i < nstore && !elsewhere; i++) {
    UOp *found = only_index(store[i]->src[1], param, &seen, b, &elsewhere);
    elsewhere |= at && found && at != found;
    if (found) at = found;
  }
  map_free(b, &seen);
  for (int k = 0; !elsewhere && k < l->edges.n; k++) {
    const EdgeLoop e = l->edges.at[k];
    UOp *idx[MAX_DIMS], *ranges[MAX_OUTER];
    if (!edge_index(&e, store[0], node, idx) || (at && index_flat(node, idx) != at)) continue;
    int n = 0;
    for (int d = 0; d < node->ndim; d++)
      if (!d || !uop_is_int(node->shape[d], 1)) {
        ranges[n] = store[0]->src[3 + n];
        n++;
      }
    for (l->ncontext = 0; l->ncontext < n; l->ncontext++) l->context[l->ncontext] = (int)ranges[l->ncontext]->arg.i;
    ranges[n++] = e.range;
    l->context[l->ncontext++] = (int)e.range->arg.i;
    UOp *value = stored_value(l, node, idx);
    if (!value) return NULL;
    if (!at || !repeats_reduction(l, &e, n, ranges, value)) return make_store(l, node, slot, value, idx, n, ranges);
  }
  return NULL;
}

/* ---- tiles of edges ---- */

/* The edge at a place in the order of the tile's edges, of which its ends are then known. */
static UOp *tile_entry(Lower *l, UOp *place, UOp *gate) {
  UOp *end = l->tile->end;
  UOp *entry = end && place ? edge_at(l, end->src[END_ENTRIES], place, gate) : place;
  return entry && remember_row(l, entry, (Row){end, NULL, place}) ? entry : NULL;
}

/* RANGEs for the axes of u from 1 on that `axes` does not name, all of them open; idx of the others is 0. */
static bool open_inner(Lower *l, const UOp *u, uint32_t axes, UOp **idx, UOp **ranges, int *n) {
  for (int i = 1; i < u->ndim; i++) {
    idx[i] = axes & (1u << i) ? uop_index(l->ctx, 0) : open_range(l, u->shape[i], ranges, n);
    if (!idx[i]) return false;
  }
  l->nout = MAX(l->nout, *n);
  l->ncontext = *n;
  return true;
}

UOp *lower_tile_edges(Lower *l, UOp *node, int part, int from, int slot, bool into_tile) {
  UOp *idx[MAX_DIMS], *ranges[MAX_OUTER], *x = part < 0 ? node : node->src[part], *edge = l->tile->var[TILE_EDGE];
  int n = 0, axis = part < 0 ? 0 : (int)node->arg.i;
  if (!param_of(l, slot, (PolyDType)node->dtype)) return NULL;
  UOp *i = open_range(l, l->tile->var[TILE_EDGES], ranges, &n);
  if (!i || !open_inner(l, x, 0, idx, ranges, &n)) return NULL;
  UOp *entry = idx[0] = tile_entry(l, int_add(edge, i), NULL);
  UOp *value = !entry      ? NULL
               : from >= 0 ? load(l, node, from, idx, NULL)
               : part >= 0 ? value_at(l, x, idx, NULL)
                           : stored_value(l, node, idx);
  if (!value) return NULL;
  if (into_tile) idx[0] = i;
  for (int k = 0; k < part; k++) idx[axis] = int_add(idx[axis], node->src[k]->shape[axis]);
  return make_store(l, node, slot, value, idx, n, ranges);
}

/* What was stored at an index if `begun`, else the identity of op. */
static UOp *so_far(Lower *l, Op op, UOp *node, int slot, UOp *flat, UOp *begun) {
  PolyDType dtype = (PolyDType)node->dtype;
  UOp *src[3] = {param_of(l, slot, dtype), flat, begun};
  UOp *old = uop_make(l->ctx, OP_LOAD, dtype, (UArg){0}, 3, src, 0, NULL);
  return uop_where(begun, old, lower_identity(l->ctx, op, dtype));
}

UOp *lower_tile_rows(Lower *l, UOp *u, int slot) {
  UOp *const *var = l->tile->var;
  UOp *x = u->src[0], *end = u->src[1], *idx[MAX_DIMS], *at[MAX_DIMS], *ranges[MAX_OUTER];
  int n = 0;
  if (!param_of(l, slot, (PolyDType)u->dtype)) return NULL;
  UOp *r = open_range(l, var[TILE_ROWS], ranges, &n);
  if (!r || !open_inner(l, u, 0, idx, ranges, &n) || !(idx[0] = int_add(r, var[TILE_ROW]))) return NULL;
  UOp *next = int_addc(idx[0], 1), *last = int_add(var[TILE_EDGE], var[TILE_EDGES]);
  UOp *from = uop_cast(value_at(l, end->src[END_ROWPTR], &idx[0], NULL), POLY_INT64);
  UOp *to = uop_cast(value_at(l, end->src[END_ROWPTR], &next, NULL), POLY_INT64);
  if (!from || !to || !last) return NULL;
  uint64_t busy = index_free(l, u->ndim, idx, NULL);
  UOp *place =
      inner_range(l, busy, int_max(from, var[TILE_EDGE]), int_min(to, last), usual_edges(x->shape[0], u->shape[0]));
  if (!place) return NULL;
  l->context[l->ncontext++] = (int)place->arg.i;
  UOp *entry = edge_at(l, end->src[END_ENTRIES], place, NULL);
  l->ncontext--;
  if (!entry || !remember_row(l, entry, (Row){end, idx[0], place})) return NULL;
  at[0] = entry;
  for (int i = 1; i < x->ndim; i++) at[i] = idx[i];
  UOp *sum = loop(l, (Op)u->arg.i, x, at, NULL, 1, &place), *flat = index_flat(u, idx);
  UOp *old = sum ? so_far(l, (Op)u->arg.i, u, slot, flat, int_lt(from, var[TILE_EDGE])) : NULL;
  return old ? store_at(l, u, slot, uop_binary((Op)u->arg.i, old, sum), flat, n, ranges) : NULL;
}

/* The place of an element in the copy of a piece, or of a part of it. */
static UOp *in_piece(UOp *node, UOp *flat, UOp *piece) {
  return flat ? int_add(int_mul(piece, uop_numel(node)), flat) : NULL;
}

UOp *lower_tile_sum(Lower *l, UOp *u, int slot) {
  UOp *const *var = l->tile->var;
  UOp *x = u->src[0], *idx[MAX_DIMS], *at[MAX_DIMS], *ranges[MAX_OUTER], *inner[MAX_DIMS], *zero = uop_index(l->ctx, 0);
  int n = 0, m = 0;
  int64_t parts = MAX(l->tile->parts, 1);
  if (!param_of(l, slot, (PolyDType)u->dtype)) return NULL;
  UOp *part = parts > 1 ? open_range(l, uop_index(l->ctx, parts), ranges, &n) : zero;
  if (!part || !open_inner(l, u, (uint32_t)u->arg.j, idx, ranges, &n)) return NULL;
  UOp *each = int_div(int_addc(var[TILE_EDGES], parts - 1), uop_index(l->ctx, parts));
  UOp *from = int_min(int_mul(part, each), var[TILE_EDGES]), *to = int_min(int_add(from, each), var[TILE_EDGES]);
  idx[0] = part;
  uint64_t busy = index_free(l, u->ndim, idx, NULL);
  idx[0] = zero;
  for (int i = 0; i < x->ndim; i++) {
    at[i] = idx[i];
    if (!(u->arg.j & (1 << i)) || (i && uop_is_int(x->shape[i], 1))) continue;
    if (!(inner[m] = inner_range(l, busy, i ? zero : from, i ? x->shape[i] : to, false))) return NULL;
    busy |= 1ull << inner[m]->arg.i;
    at[i] = inner[m++];
  }
  l->context[l->ncontext++] = (int)inner[0]->arg.i;
  at[0] = tile_entry(l, int_add(var[TILE_EDGE], inner[0]), NULL);
  l->ncontext--;
  UOp *sum = at[0] ? loop(l, (Op)u->arg.i, x, at, NULL, m, inner) : NULL;
  UOp *flat = in_piece(u, index_flat(u, idx), int_add(int_mulc(var[TILE_PIECE], parts), part));
  UOp *old = sum && flat ? so_far(l, (Op)u->arg.i, u, slot, flat, int_lt(zero, var[TILE_BEGUN])) : NULL;
  return old ? store_at(l, u, slot, uop_binary((Op)u->arg.i, old, sum), flat, n, ranges) : NULL;
}

/* A factor of a product, zero where the gate is closed. */
static UOp *gated_value(Lower *l, UOp *x, UOp *const *idx, UOp *gate) {
  UOp *v = value_at(l, x, idx, gate);
  bool zero = v && v->op == OP_LOAD && v->nsrc > 2 && v->src[2] == gate;
  return !v || zero ? v : uop_where(gate, v, uop_const(l->ctx, (PolyDType)v->dtype, 0));
}

UOp *lower_tile_product(Lower *l, UOp *u, int slot) {
  enum { UNIT = 32 }; /* edges of a part are so many times some, so that blocks of a sum are whole ones */
  UOp *const *var = l->tile->var;
  UOp *x = u->src[0], *idx[MAX_DIMS], *at[MAX_DIMS], *ranges[MAX_OUTER], *inner[MAX_DIMS], *zero = uop_index(l->ctx, 0);
  int n = 0, m = 0;
  int64_t parts = MAX(l->tile->parts, 1);
  if (!param_of(l, slot, (PolyDType)u->dtype)) return NULL;
  UOp *part = parts > 1 ? open_range(l, uop_index(l->ctx, parts), ranges, &n) : zero;
  if (!part || !open_inner(l, u, (uint32_t)u->arg.j, idx, ranges, &n)) return NULL;
  UOp *units = uop_index(l->ctx, parts * UNIT);
  UOp *each = int_mulc(int_div(int_addc(var[TILE_EDGES], parts * UNIT - 1), units), UNIT);
  idx[0] = part;
  uint64_t busy = index_free(l, u->ndim, idx, NULL);
  idx[0] = zero;
  for (int i = 0; i < x->ndim; i++) {
    at[i] = idx[i];
    if (!(u->arg.j & (1 << i)) || (i && uop_is_int(x->shape[i], 1))) continue;
    if (!(inner[m] = inner_range(l, busy, zero, i ? x->shape[i] : each, false))) return NULL;
    busy |= 1ull << inner[m]->arg.i;
    at[i] = inner[m++];
  }
  for (int i = 0; i < m; i++) l->context[l->ncontext++] = (int)inner[i]->arg.i;
  UOp *place = int_add(int_mul(part, each), inner[0]), *inside = place ? int_lt(place, var[TILE_EDGES]) : NULL;
  at[0] = inside ? tile_entry(l, int_add(var[TILE_EDGE], place), inside) : NULL;
  UOp *a = at[0] ? gated_value(l, x->src[0], at, inside) : NULL, *b = a ? gated_value(l, x->src[1], at, inside) : NULL;
  l->ncontext -= m;
  UOp *body[1 + MAX_DIMS] = {b ? uop_binary(OP_MUL, a, b) : NULL};
  for (int i = 0; i < m; i++) body[1 + i] = inner[i];
  UOp *sum = body[0] ? uop_make(l->ctx, OP_LOOP, (PolyDType)x->dtype, (UArg){.i = OP_ADD}, 1 + m, body, 0, NULL) : NULL;
  UOp *flat = in_piece(u, index_flat(u, idx), int_add(int_mulc(var[TILE_PIECE], parts), part));
  UOp *old = sum && flat ? so_far(l, OP_ADD, u, slot, flat, int_lt(zero, var[TILE_BEGUN])) : NULL;
  return old ? store_at(l, u, slot, uop_binary(OP_ADD, old, sum), flat, n, ranges) : NULL;
}

/* One RANGE over all elements of node. */
static UOp *open_flat(Lower *l, UOp *node, UOp **ranges, int *n) {
  UOp *flat = open_range(l, uop_numel(node), ranges, n);
  l->nout = l->ncontext = *n;
  return flat;
}

UOp *lower_tile_add(Lower *l, UOp *node, int from, int slot) {
  UOp *const *var = l->tile->var;
  UOp *ranges[1];
  int n = 0;
  if (!param_of(l, slot, (PolyDType)node->dtype)) return NULL;
  UOp *i = open_flat(l, node, ranges, &n), *flat = in_piece(node, i, var[TILE_PIECE]);
  if (!flat) return NULL;
  UOp *src[2] = {param_of(l, from, (PolyDType)node->dtype), i};
  UOp *new = uop_make(l->ctx, OP_LOAD, (PolyDType)node->dtype, (UArg){0}, 2, src, 0, NULL);
  UOp *old = so_far(l, OP_ADD, node, slot, flat, int_lt(uop_index(l->ctx, 0), var[TILE_BEGUN]));
  return store_at(l, node, slot, uop_binary(OP_ADD, old, new), flat, n, ranges);
}

UOp *lower_tile_finish(Lower *l, UOp *node, Op op, int from, int slot) {
  UOp *ranges[1];
  int n = 0;
  if (!param_of(l, slot, (PolyDType)node->dtype)) return NULL;
  UOp *i = open_flat(l, node, ranges, &n);
  UOp *n_copies = int_mulc(l->tile->var[TILE_PIECES], MAX(l->tile->parts, 1));
  UOp *piece = i ? inner_range(l, lower_free(l, i), uop_index(l->ctx, 0), n_copies, false) : NULL;
  UOp *flat = piece ? in_piece(node, i, piece) : NULL;
  if (!flat) return NULL;
  UOp *load[2] = {param_of(l, from, (PolyDType)node->dtype), flat};
  UOp *body[2] = {uop_make(l->ctx, OP_LOAD, (PolyDType)node->dtype, (UArg){0}, 2, load, 0, NULL), piece};
  UOp *sum = uop_make(l->ctx, OP_LOOP, (PolyDType)node->dtype, (UArg){.i = op}, 2, body, 0, NULL);
  return store_at(l, node, slot, sum, i, n, ranges);
}
