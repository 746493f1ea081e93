/* blocks.c: STORE nodes to a tree of loops. Each value is emitted in the outermost block in which all the ranges that
 * it depends on are open, once; a reduction becomes an accumulator, a loop and its updates there. Reductions over the
 * same ranges that do not need each other share one loop.
 *
 *   for i:                       values that depend on i alone
 *     acc; for k: acc += ...     a reduction that depends on i
 *     for j: store               values that depend on i and j
 *
 * A STORE over a range of a reduction belongs to the first loop that loads what it stores: there the value is computed
 * and stored, and loops after it load it. If none does, it belongs to the first loop over that range.
 *
 * A reduction may be over a RANGE whose loop is open around it, if it does not depend on that loop but on one further
 * in: the value of a sum over k inside another sum over k. Such a loop gets a RANGE of its own. */
#include "codegen/block.h"

#include "ir/context.h"

#include <string.h>

uint64_t block_ranges(Codegen *g, UOp *u) { return index_ranges(g->ctx, &g->ranges, u); }

int block_inst(Codegen *g, Block *b, Inst inst, UOp *origin) {
  Base *base = ctx_base(g->ctx);
  if (!vec_push(base, &g->inst, inst) || !vec_push(base, &g->origin, origin)) return -1;
  Line line = {g->inst.n - 1, NULL};
  return b == NULL || vec_push(base, &b->line, line) ? g->inst.n - 1 : -1;
}

static Block *new_block(Codegen *g, Block *parent, UOp *range, int loop) {
  Block *b = arena_new(g->arena, sizeof *b);
  if (!b || !vec_push(ctx_base(g->ctx), &g->block, b)) return NULL;
  *b = (Block){.parent = parent, .range = range, .loop = loop, .trips = 1};
  return b;
}

bool block_name(Codegen *g, Block *b, UOp *u, int inst) {
  return map_put(ctx_base(g->ctx), &b->value, (uint64_t)(uintptr_t)u, (uint64_t)inst);
}

static UOp *renamed(Codegen *g, Map *done, UOp *u, UOp *from, UOp *to);

static UOp *with_range(Codegen *g, UOp *u, UOp *range, UOp *by) {
  Map done = {0};
  UOp *r = by ? renamed(g, &done, u, range, by) : NULL;
  map_free(ctx_base(g->ctx), &done);
  return r;
}

/* A bound without what cuts it off: a tile has the part of a row that lies between its first and its last edge. */
static UOp *uncut(Codegen *g, UOp *bound) {
  if (bound->op != OP_MIN && bound->op != OP_MAX) return bound;
  if (!block_ranges(g, bound->src[0])) return bound->src[1];
  return block_ranges(g, bound->src[1]) ? bound : bound->src[0];
}

/* The end of the last row, if r is a row of entries and rows follow one another in memory: each begins where the one
 * before it ends. Rows are those of the loop around it that its begin varies with: of the kernel, or of a tile. NULL:
 * it is none. */
static UOp *rows_end(Codegen *g, const Block *b, const UOp *r) {
  uint64_t need = block_ranges(g, r->src[0]);
  if (r->src[0]->op == OP_CONST || r->src[1]->op == OP_CONST) return NULL;
  if (!(need & RANGES_LOAD) || block_ranges(g, r->src[1]) != need) return NULL;
  while (b->parent && !(need & (1ull << b->range->arg.i))) b = b->parent;
  UOp *row = b->range;
  if (!row || with_range(g, uncut(g, r->src[0]), row, int_addc(row, 1)) != uncut(g, r->src[1])) return NULL;
  return with_range(g, r->src[1], row, int_addc(row->src[1], -1));
}

/* Opens a loop over r inside b; its bounds are emitted where they belong. The loop becomes a line of b when it is
 * closed. */
Block *block_open(Codegen *g, Block *b, UOp *r, uint32_t flags) {
  int begin = block_value(g, b, r->src[0]), end = block_value(g, b, r->src[1]);
  if (begin < 0 || end < 0) return NULL;
  UOp *last = g->target->ahead ? rows_end(g, b, r) : NULL;
  int limit = last ? block_value(g, b, last) : -1;
  Inst inst = {.kind = INST_LOOP, .dtype = POLY_INT64, .src = {begin, end, limit}, .flags = flags, .arg = r->arg};
  int loop = block_inst(g, NULL, inst, r);
  Block *inner = loop < 0 ? NULL : new_block(g, b, r, loop);
  return inner && block_name(g, inner, r, loop) ? inner : NULL;
}

bool block_close(Codegen *g, Block *inner) {
  Line line = {-1, inner};
  return vec_push(ctx_base(g->ctx), &inner->parent->line, line);
}

static int find_value(const Block *b, const UOp *u) {
  uint64_t at;
  for (; b; b = b->parent)
    if (map_get(&b->value, (uint64_t)(uintptr_t)u, &at)) return (int)at;
  return -1;
}

/* The innermost block of the chain whose loop u depends on. */
static Block *home(Codegen *g, Block *b, UOp *u) {
  uint64_t need = block_ranges(g, u);
  while (b->parent && !(need & (1ull << b->range->arg.i))) b = b->parent;
  return b;
}

/* ---- reductions ---- */

/* What has become of the STORE that is to be emitted before a LOAD (Codegen.made); else it is the STORE. */
enum { MADE, BEING_MADE };

/* Is u a LOAD of what is being computed, and not stored yet? */
static bool is_being_made(const Codegen *g, const UOp *u) {
  uint64_t store;
  return u->op == OP_LOAD && map_get(&g->made, (uint64_t)(uintptr_t)u, &store) && store == BEING_MADE;
}

/* What is computed where u is loaded for the first time; NULL: it is there already, or no such LOAD. */
static UOp *to_be_made(const Codegen *g, const UOp *u) {
  uint64_t store;
  bool waits = u->op == OP_LOAD && map_get(&g->made, (uint64_t)(uintptr_t)u, &store) && store > BEING_MADE;
  return waits ? ((UOp *)(uintptr_t)store)->src[1] : NULL;
}

/* The ranges of a LOOP's own. */
static uint64_t bound_ranges(const UOp *loop) {
  uint64_t bound = 0;
  for (int i = 1; i < loop->nsrc; i++) bound |= 1ull << loop->src[i]->arg.i;
  return bound;
}

/* Does u, in the body of self, reach a LOOP beside it that has not been emitted yet, or a value that is being computed?
 * A LOOP that changes along those of self stands inside. */
static bool needs_other(Codegen *g, const Block *b, UOp *u, UOp *self, Map *seen) {
  if (map_get(seen, (uint64_t)(uintptr_t)u, NULL) || !map_put(ctx_base(g->ctx), seen, (uint64_t)(uintptr_t)u, 1))
    return false;
  bool beside = u->op == OP_LOOP && u != self && find_value(b, u) < 0 && !(block_ranges(g, u) & bound_ranges(self));
  if (beside || is_being_made(g, u)) return true;
  UOp *made = to_be_made(g, u);
  if (made && needs_other(g, b, made, self, seen)) return true;
  for (int i = 0; i < u->nsrc; i++)
    if (needs_other(g, b, u->src[i], self, seen)) return true;
  return false;
}

static bool same_ranges(const UOp *a, const UOp *b) {
  return a->nsrc == b->nsrc && memcmp(a->src + 1, b->src + 1, (size_t)(a->nsrc - 1) * sizeof(UOp *)) == 0;
}

/* Reductions that can share the loop of `first`: same ranges, same home, ready now. */
static int companions(Codegen *g, Block *b, UOp *first, UOp **out, int max) {
  int n = 0;
  out[n++] = first;
  for (int i = 0; i < g->loops.n && n < max; i++) {
    UOp *u = g->loops.at[i];
    if (u == first || !same_ranges(u, first) || find_value(b, u) >= 0 || home(g, b, u) != b) continue;
    if (block_ranges(g, u) != block_ranges(g, first)) continue;
    Map seen = {0};
    bool waits = needs_other(g, b, u, u, &seen);
    map_free(ctx_base(g->ctx), &seen);
    if (!waits) out[n++] = u;
  }
  return n;
}

/* Ranges whose loops are open in b. */
static uint64_t open_ranges(const Block *b) {
  uint64_t open = RANGES_LOAD;
  for (; b->parent; b = b->parent) open |= 1ull << b->range->arg.i;
  return open;
}

/* Emits the reductions that u's body needs and that stand beside its loop, not inside: after that, every reduction
 * which is not yet emitted is one that u does not wait for. */
static bool emit_needed(Codegen *g, Block *b, UOp *u, UOp *self, uint64_t open, Map *seen) {
  if (map_get(seen, (uint64_t)(uintptr_t)u, NULL)) return true;
  if (!map_put(ctx_base(g->ctx), seen, (uint64_t)(uintptr_t)u, 1)) return false;
  if (u->op == OP_LOOP && u != self && !(block_ranges(g, u) & ~open)) return block_value(g, b, u) >= 0;
  UOp *made = to_be_made(g, u);
  if (made && !emit_needed(g, b, made, self, open, seen)) return false;
  for (int i = 0; i < u->nsrc; i++)
    if (!emit_needed(g, b, u->src[i], self, open, seen)) return false;
  return true;
}

/* u with `to` in the place of the RANGE `from`, where that is not bound inside. Not a pass of the rewrite driver, which
 * knows nothing of what binds a RANGE. */
static UOp *renamed(Codegen *g, Map *done, UOp *u, UOp *from, UOp *to) {
  uint64_t at;
  if (u == from) return to;
  if (!(block_ranges(g, u) & (1ull << from->arg.i))) return u;
  if (map_get(done, (uint64_t)(uintptr_t)u, &at)) return (UOp *)(uintptr_t)at;
  UOp **src = arena_new(g->arena, (size_t)u->nsrc * sizeof *src);
  if (!src) return NULL;
  for (int i = 0; i < u->nsrc; i++)
    if (!(src[i] = renamed(g, done, u->src[i], from, to))) return NULL;
  bool kernel = op_info[u->op].cls == CLASS_KERNEL;
  UOp *r = kernel ? uop_make(g->ctx, (Op)u->op, (PolyDType)u->dtype, u->arg, u->nsrc, src, 0, NULL)
                  : uop_with_sources(u, src);
  Base *base = ctx_base(g->ctx);
  if (!r || !map_put(base, done, (uint64_t)(uintptr_t)u, (uint64_t)(uintptr_t)r)) return NULL;
  return r->op != OP_LOOP || vec_push(base, &g->loops, r) ? r : NULL;
}

/* The reduction u with RANGEs of its own in the place of those whose loops are open. */
static UOp *with_own_ranges(Codegen *g, UOp *u, uint64_t open) {
  for (int i = 1; u && i < u->nsrc; i++) {
    UOp *from = u->src[i], *src[1 + MAX_DIMS];
    if (!(open & (1ull << from->arg.i))) continue;
    int id = 0;
    while (id < 63 && g->used & (1ull << id)) id++;
    if (id == 63) /* RANGES_LOAD */
      return fail_null(ctx_base(g->ctx), POLY_ERROR_RUNTIME, "a kernel needs too many loops");
    g->used |= 1ull << id;
    UOp *to = uop_make(g->ctx, OP_RANGE, POLY_INT64, (UArg){.i = id, .j = from->arg.j}, 2, from->src, 0, NULL);
    Map done = {0};
    for (int k = 0; k < u->nsrc; k++) src[k] = to ? renamed(g, &done, u->src[k], from, to) : NULL;
    map_free(ctx_base(g->ctx), &done);
    for (int k = 0; k < u->nsrc; k++)
      if (!src[k]) return NULL;
    u = uop_make(g->ctx, OP_LOOP, (PolyDType)u->dtype, u->arg, u->nsrc, src, 0, NULL);
  }
  return u;
}

static int add_cast(Codegen *g, Block *b, int value, PolyDType to, UOp *origin) {
  if (value < 0 || g->inst.at[value].dtype == to) return value;
  return block_inst(g, b, (Inst){.kind = INST_ALU, .dtype = (uint8_t)to, .op = OP_CAST, .src = {value, -1, -1}},
                    origin);
}

/* What a reduction is accumulated in: sums and products of small floats in float32, rounded at the end. */
static PolyDType acc_dtype(const UOp *loop) {
  bool half = dtype_is_small((PolyDType)loop->dtype);
  bool rounds = loop->arg.i == OP_ADD || loop->arg.i == OP_MUL;
  return half && rounds ? POLY_FLOAT32 : (PolyDType)loop->dtype;
}

/* What is stored from inside a loop over r, and nothing loads. */
static bool emit_unread(Codegen *g, Block *inner, const UOp *r) {
  for (int i = 0; i < g->unread.n; i++) {
    UOp *load = g->unread.at[i];
    if (to_be_made(g, load) && block_ranges(g, load) & (1ull << r->arg.i) && block_value(g, inner, load) < 0)
      return false;
  }
  return true;
}

static int emit_loop(Codegen *g, Block *b, UOp *u) {
  UOp *member[MOST_STORES];
  int acc[MOST_STORES], n;
  Map seen = {0};
  if (!(u = with_own_ranges(g, u, open_ranges(b)))) return -1;
  bool ready = emit_needed(g, b, u, u, open_ranges(b), &seen);
  map_free(ctx_base(g->ctx), &seen);
  if (!ready) return -1;
  n = companions(g, b, u, member, LEN(member));
  for (int i = 0; i < n; i++) {
    Inst inst = {.kind = INST_ACC,
                 .dtype = (uint8_t)acc_dtype(member[i]),
                 .op = (uint16_t)member[i]->arg.i,
                 .src = {-1, -1, -1}};
    acc[i] = block_inst(g, b, inst, member[i]);
    if (acc[i] < 0) return -1;
  }
  Block *inner = b;
  for (int i = 1; inner && i < u->nsrc; i++) inner = block_open(g, inner, u->src[i], LOOP_REDUCE);
  if (!inner) return -1;
  for (int i = 0; i < n; i++) {
    PolyDType d = acc_dtype(member[i]);
    int v = add_cast(g, inner, block_value(g, inner, member[i]->src[0]), d, member[i]->src[0]);
    Inst inst = {.kind = INST_UPDATE, .dtype = (uint8_t)d, .op = (uint16_t)member[i]->arg.i, .src = {acc[i], v, -1}};
    if (v < 0 || block_inst(g, inner, inst, NULL) < 0) return -1;
  }
  if (!emit_unread(g, inner, u->src[u->nsrc - 1])) return -1;
  for (; inner != b; inner = inner->parent)
    if (!block_close(g, inner)) return -1;
  for (int i = 0; i < n; i++) {
    acc[i] = add_cast(g, b, acc[i], (PolyDType)member[i]->dtype, member[i]);
    if (acc[i] < 0 || !block_name(g, b, member[i], acc[i])) return -1;
  }
  return acc[0];
}

/* ---- values ---- */

static int emit_var(Codegen *g, Block *b, UOp *u) {
  int k = 0;
  while (k < g->var.n && g->var.at[k] != u) k++;
  if (k == g->var.n && !vec_push(ctx_base(g->ctx), &g->var, u)) return -1;
  return block_inst(g, b, (Inst){.kind = INST_VAR, .dtype = POLY_INT64, .src = {-1, -1, -1}, .arg = {.i = k}}, u);
}

static bool non_negative(const UOp *u) { return u->src[0]->vmin >= 0 && u->src[1]->vmin > 0; }

static int emit_store(Codegen *g, Block *b, UOp *store, int index, int value, int gate) {
  Inst inst = {.kind = INST_STORE, .dtype = store->dtype, .src = {index, value, gate}, .stride = STRIDE_NONE};
  inst.param = (int32_t)store->src[0]->arg.i;
  return block_inst(g, b, inst, store);
}

/* Instead of the first load of something that is stored from inside a reduction. */
static int emit_made(Codegen *g, Block *b, UOp *load, UOp *store) {
  Base *base = ctx_base(g->ctx);
  if (!map_put(base, &g->made, (uint64_t)(uintptr_t)load, BEING_MADE)) return -1;
  int value = block_value(g, b, store->src[1]), index = value < 0 ? -1 : block_value(g, b, store->src[2]);
  if (index < 0 || emit_store(g, b, store, index, value, -1) < 0) return -1;
  return map_put(base, &g->made, (uint64_t)(uintptr_t)load, MADE) ? value : -1;
}

static int emit_node(Codegen *g, Block *b, UOp *u) {
  uint64_t store = 0;
  if (u->op == OP_LOAD && map_get(&g->made, (uint64_t)(uintptr_t)u, &store) && store > BEING_MADE)
    return emit_made(g, b, u, (UOp *)(uintptr_t)store);
  Inst inst = {.dtype = u->dtype, .op = u->op, .src = {-1, -1, -1}, .stride = STRIDE_NONE};
  int first = 0;
  switch (u->op) {
  case OP_CONST:
    inst.kind = INST_CONST;
    inst.arg = u->arg;
    break;
  case OP_VARIABLE: return emit_var(g, b, u);
  case OP_LOAD:
    inst.kind = INST_LOAD;
    inst.param = (int32_t)u->src[0]->arg.i;
    first = 1;
    break;
  case OP_CHECK: inst.kind = INST_CHECK; break;
  default:
    if (!op_elementwise((Op)u->op)) {
      base_fail(ctx_base(g->ctx), POLY_ERROR_RUNTIME, "internal: %s inside a kernel", op_info[u->op].name);
      return -1;
    }
    inst.kind = INST_ALU;
    if (u->op == OP_IDIV || u->op == OP_MOD) inst.flags = non_negative(u);
  }
  for (int i = first; i < u->nsrc; i++) {
    inst.src[i - first] = block_value(g, b, u->src[i]);
    if (inst.src[i - first] < 0) return -1;
  }
  return block_inst(g, b, inst, u);
}

int block_value(Codegen *g, Block *b, UOp *u) {
  int found = find_value(b, u);
  if (found >= 0) return found;
  b = home(g, b, u);
  int inst = u->op == OP_LOOP ? emit_loop(g, b, u) : emit_node(g, b, u);
  return inst >= 0 && block_name(g, b, u, inst) ? inst : -1;
}

/* ---- the kernel ---- */

static bool list_loops(Codegen *g, int nstore, UOp *const *store) {
  Walk walk;
  if (!uop_walk(g->ctx, g->arena, nstore, store, NULL, NULL, &walk)) return false;
  for (int i = 0; i < walk.n; i++) {
    if (walk.at[i]->op == OP_PARAM) g->nargs = MAX(g->nargs, (int)walk.at[i]->arg.i + 1);
    if (walk.at[i]->op == OP_RANGE) g->used |= 1ull << walk.at[i]->arg.i;
    if (walk.at[i]->op == OP_LOOP && !vec_push(ctx_base(g->ctx), &g->loops, walk.at[i])) return false;
  }
  return true;
}

/* The block of a store whose ranges are the outermost of the first one's. */
static Block *store_block(Block *inner, const UOp *first, const UOp *store) {
  for (int n = first->nsrc - store->nsrc; n > 0; n--) inner = inner->parent;
  return inner;
}

/* Is it over a range that is none of the first store's? Then it is noted for the load that it comes before. */
static bool inside_reduction(const UOp *first, const UOp *store) {
  const UOp *last = store->src[store->nsrc - 1];
  if (store->nsrc == 3) return false;
  for (int i = 3; i < first->nsrc; i++)
    if (first->src[i] == last) return false;
  return true;
}

static bool note_made(Codegen *g, UOp *store) {
  UOp *src[2] = {store->src[0], store->src[2]};
  UOp *load = uop_make(g->ctx, OP_LOAD, (PolyDType)store->dtype, (UArg){0}, 2, src, 0, NULL);
  return load && map_put(ctx_base(g->ctx), &g->made, (uint64_t)(uintptr_t)load, (uint64_t)(uintptr_t)store);
}

/* The same for all of them. */
static bool note_unread(Codegen *g, int n, UOp *const *store) {
  Walk walk;
  if (!uop_walk(g->ctx, g->arena, n, store, NULL, NULL, &walk)) return false;
  for (int i = 0; i < n; i++) {
    UOp *src[2] = {store[i]->src[0], store[i]->src[2]};
    UOp *load = uop_make(g->ctx, OP_LOAD, (PolyDType)store[i]->dtype, (UArg){0}, 2, src, 0, NULL);
    bool made = load && map_get(&g->made, (uint64_t)(uintptr_t)load, NULL), read = !made;
    for (int k = 0; k < walk.n && !read; k++) read = walk.at[k] == load;
    if (!load || (!read && !vec_push(ctx_base(g->ctx), &g->unread, load))) return false;
  }
  return true;
}

/* Reductions in the blocks around b, the outermost first: they run before those in b, and so the one that makes what is
 * stored from inside a reduction is to be looked for among them first. */
static bool emit_outer_loops(Codegen *g, Block *b) {
  if (!(b = b->parent)) return true;
  if (!emit_outer_loops(g, b)) return false;
  uint64_t open = open_ranges(b);
  for (int i = 0; i < g->loops.n; i++) {
    UOp *u = g->loops.at[i];
    if (!(block_ranges(g, u) & ~open) && home(g, b, u) == b && block_value(g, b, u) < 0) return false;
  }
  return true;
}

bool block_store(Codegen *g, Block *b, UOp *store, UOp *gate) {
  int value = block_value(g, b, store->src[1]), index = value < 0 ? -1 : block_value(g, b, store->src[2]);
  int only = gate && index >= 0 ? block_value(g, b, gate) : -1;
  return index >= 0 && (!gate || only >= 0) && emit_store(g, b, store, index, value, only) >= 0;
}

bool begin_blocks(Codegen *g, int nstore, UOp *const *store) {
  g->top = new_block(g, NULL, NULL, -1);
  return g->top && list_loops(g, nstore, store);
}

/* What is listed of the stores, once share_values has changed them. */
static bool share(Codegen *g, int *nstore, UOp **store) {
  int n = *nstore, nargs = g->nargs;
  if (!share_values(g, nstore, store)) return false;
  if (*nstore == n) return true;
  g->loops.n = 0;
  bool ok = list_loops(g, *nstore, store);
  g->nargs = nargs;
  return ok;
}

/* The blocks of the output loops: those of the innermost ones, which stand side by side. */
static bool open_outputs(Codegen *g, const Sections *parts, UOp *const *store, Block **inner) {
  Block *outer = g->top;
  for (int i = 3; outer && i < store[0]->nsrc - 1; i++) outer = block_open(g, outer, store[0]->src[i], 0);
  if (!outer) return false;
  for (int k = 0; k < parts->n; k++)
    if (!(inner[k] = parts->range[k] ? block_open(g, outer, parts->range[k], 0) : outer)) return false;
  g->inner = parts->n > 1 ? outer : inner[0];
  return true;
}

/* Emits what n stores store, in all sections before any store: an output may be an input too. */
static bool emit_stores(Codegen *g, int n, const Sections *parts, Block *const *inner) {
  int value[MOST_SECTIONS][MOST_STORES], index[MOST_SECTIONS][MOST_STORES];
  for (int pass = 0; pass < 2; pass++)
    for (int k = 0; k < parts->n; k++)
      for (int i = 0; i < n; i++) {
        UOp *s = parts->store[k][i], *first = parts->store[k][0];
        Block *b = store_block(inner[k], first, s);
        if (k && s->nsrc < first->nsrc) continue; /* outside of the sections */
        if (!pass) {
          value[k][i] = block_value(g, b, s->src[1]);
          index[k][i] = block_value(g, b, s->src[2]);
        }
        if (value[k][i] < 0 || index[k][i] < 0) return false;
        if (pass && emit_store(g, b, s, index[k][i], value[k][i], -1) < 0) return false;
      }
  return true;
}

bool build_blocks(Codegen *g, int nstore, UOp **store) {
  if (!share(g, &nstore, store)) return false;
  int n = nstore; /* those inside reductions come last */
  while (n > 1 && inside_reduction(store[0], store[n - 1]))
    if (!note_made(g, store[--n])) return false;
  Sections parts = {.n = 1, .range = {store[0]->nsrc > 3 ? store[0]->src[store[0]->nsrc - 1] : NULL}, .store = {store}};
  Block *inner[MOST_SECTIONS];
  if (n == nstore && !find_sections(g, n, store, &parts)) return false;
  if (!open_outputs(g, &parts, store, inner)) return false;
  if (n < nstore && (!note_unread(g, nstore, store) || !emit_outer_loops(g, inner[0]))) return false;
  if (!emit_stores(g, n, &parts, inner)) return false;
  for (int k = 0; k + 1 < parts.n; k++)
    if (!block_close(g, inner[k])) return false;
  for (Block *b = inner[parts.n - 1]; b != g->top; b = b->parent)
    if (!block_close(g, b)) return false;
  return true;
}
