/* part.c: a loop of a sum of products becomes two, where a factor reads a part of it or lies in memory by two axes.
 *
 *   sum over k of x(i / 8, k) * y(i, k)          ->    i = 8 a + b: x varies with a alone, y with both
 *   sum over k of x((i + 1) / 2, k) * y(i % 2, k)  ->    i = 2 a + b: x varies with both, y with b alone
 *   sum over k of x(i, k / 32, k % 32) * y(k, j)   ->    k = 32 a + b: every index grows evenly with a and with b
 *
 * The first is the gradient of a convolution in groups, the second that of one with a stride. As one loop i is in both
 * factors and nothing is shared between its iterations; as two, the one that is in one factor alone makes up rows or
 * columns of a tile (tiles.c). The third are heads of attention that a linear layer reads side by side: along the inner
 * loop memory is contiguous, so it is moved by vectors. */
#include "codegen/block.h"

#include "ir/context.h"

enum { MOST_PARTS = 8, FREE_IDS = 8, LEAST_RUN = 64 };

typedef struct Part {
  PolyContext *ctx;
  Arena *arena;
  UOp *range, *outer, *inner, *sum; /* range is outer * size + inner */
  Map done;
  int64_t size[MOST_PARTS]; /* divisors of what varies with the range */
  int nsize;
  bool shared; /* the range is an output loop that both factors vary with */
} Part;

static uint64_t bit(const UOp *range) { return 1ull << range->arg.i; }

/* Ranges below u, those that are lists of loops included. */
static uint64_t ranges_below(Part *p, Map *memo, UOp *u) {
  uint64_t set;
  if (map_get(memo, (uint64_t)(uintptr_t)u, &set)) return set;
  set = u->op == OP_RANGE ? bit(u) : 0;
  for (int i = 0; i < u->nsrc; i++) set |= ranges_below(p, memo, u->src[i]);
  map_put(ctx_base(p->ctx), memo, (uint64_t)(uintptr_t)u, set);
  return set;
}

static uint64_t ranges_of(Part *p, UOp *u) {
  Map memo = {0};
  uint64_t set = ranges_below(p, &memo, u);
  map_free(ctx_base(p->ctx), &memo);
  return set;
}

/* Constants by which something that varies with the range is divided, and that divide its size. */
static void find_sizes(Part *p, UOp *u, Map *seen) {
  if (map_get(seen, (uint64_t)(uintptr_t)u, NULL)) return;
  map_put(ctx_base(p->ctx), seen, (uint64_t)(uintptr_t)u, 1);
  bool divides = (u->op == OP_IDIV || u->op == OP_MOD) && u->dtype == POLY_INT64 && u->src[1]->op == OP_CONST;
  int64_t size = divides ? u->src[1]->arg.i : 0, all = p->range->src[1]->arg.i;
  if (size > 1 && size < all && all % size == 0 && p->nsize < MOST_PARTS && ranges_of(p, u) & bit(p->range)) {
    bool known = false;
    for (int i = 0; i < p->nsize; i++) known |= p->size[i] == size;
    if (!known) p->size[p->nsize++] = size;
  }
  for (int i = 0; i < u->nsrc; i++) find_sizes(p, u->src[i], seen);
}

/* u with the two loops in place of the range. Not a pass of the rewrite driver: the lists of STORE and LOOP grow. */
static UOp *parted(Part *p, UOp *u) {
  uint64_t at;
  if (u == p->range) return p->sum;
  if (!u->nsrc) return u;
  if (map_get(&p->done, (uint64_t)(uintptr_t)u, &at)) return (UOp *)(uintptr_t)at;
  UOp **src = arena_new(p->arena, (size_t)(u->nsrc + 1) * sizeof *src);
  if (!src) return NULL;
  int n = 0, lists = u->op == OP_STORE ? 3 : u->op == OP_LOOP ? 1 : u->nsrc;
  bool same = true;
  for (int i = 0; i < u->nsrc; i++) {
    bool both = i >= lists && u->src[i] == p->range;
    if (both) src[n++] = p->outer;
    src[n] = both ? p->inner : parted(p, u->src[i]);
    if (!src[n]) return NULL;
    same &= src[n++] == u->src[i];
  }
  bool kernel = op_info[u->op].cls == CLASS_KERNEL;
  UOp *r = same     ? u
           : kernel ? uop_make(p->ctx, (Op)u->op, (PolyDType)u->dtype, u->arg, n, src, 0, NULL)
                    : uop_with_sources(u, src);
  return r && map_put(ctx_base(p->ctx), &p->done, (uint64_t)(uintptr_t)u, (uint64_t)(uintptr_t)r) ? r : NULL;
}

static UOp *loop_over(Part *p, int id, int64_t size) {
  UOp *src[2] = {uop_index(p->ctx, 0), uop_index(p->ctx, size)};
  return src[0] && src[1] ? uop_make(p->ctx, OP_RANGE, POLY_INT64, (UArg){.i = id}, 2, src, 0, NULL) : NULL;
}

/* Divisions and remainders in u of what varies with the ranges. */
static int divisions(Part *p, UOp *u, uint64_t ranges, Map *seen) {
  if (map_get(seen, (uint64_t)(uintptr_t)u, NULL)) return 0;
  map_put(ctx_base(p->ctx), seen, (uint64_t)(uintptr_t)u, 1);
  int n = (u->op == OP_IDIV || u->op == OP_MOD) && u->dtype == POLY_INT64 && ranges_of(p, u) & ranges;
  for (int i = 0; i < u->nsrc; i++) n += divisions(p, u->src[i], ranges, seen);
  return n;
}

static int divisions_of(Part *p, UOp *x, UOp *y, uint64_t ranges) {
  Map seen = {0};
  int n = divisions(p, x, ranges, &seen) + divisions(p, y, ranges, &seen);
  map_free(ctx_base(p->ctx), &seen);
  return n;
}

/* Loops of `size` iterations inside others, in place of the range. */
static bool loops_of(Part *p, int64_t size, int id) {
  map_free(ctx_base(p->ctx), &p->done);
  p->outer = loop_over(p, p->range->arg.i, p->range->src[1]->arg.i / size);
  p->inner = loop_over(p, id, size);
  p->sum = p->outer && p->inner ? int_add(int_mulc(p->outer, size), p->inner) : NULL;
  return p->sum != NULL;
}

/* Loops of `size` iterations inside others. *better: one of the two is in one factor alone, where the loop was in both
 * and is none of the sum, or nothing is divided any more. */
static bool try_size(Part *p, UOp *product, int64_t size, int id, bool *better) {
  *better = false;
  UOp *x = loops_of(p, size, id) ? parted(p, product->src[0]) : NULL, *y = x ? parted(p, product->src[1]) : NULL;
  if (!y) return false;
  uint64_t in_both = ranges_of(p, x) & ranges_of(p, y), two = bit(p->outer) | bit(p->inner);
  *better = p->shared ? (in_both & two) != two : !divisions_of(p, x, y, two);
  return true;
}

/* The sum of products of a kernel that has no other reduction; NULL: it is none. */
static UOp *only_sum(Part *p, int nstore, UOp **store) {
  Walk walk;
  UOp *found = NULL;
  if (!uop_walk(p->ctx, p->arena, nstore, store, NULL, NULL, &walk)) return NULL;
  for (int i = 0; i < walk.n; i++) {
    if (walk.at[i]->op != OP_LOOP) continue;
    if (found || walk.at[i]->arg.i != OP_ADD || walk.at[i]->src[0]->op != OP_MUL) return NULL;
    found = walk.at[i];
  }
  return found;
}

/* Parts one range of the stores, if that helps. Returns false only when memory runs out. */
static bool part_range(Part *p, int nstore, UOp **store, UOp *product, uint64_t used, bool *any) {
  Map seen = {0};
  int id = 0;
  while (id < 64 && used & (1ull << id)) id++;
  p->nsize = 0;
  find_sizes(p, product, &seen);
  map_free(ctx_base(p->ctx), &seen);
  for (int i = 0; i < p->nsize && id < 64 && !*any; i++)
    if (!try_size(p, product, p->size[i], id, any)) return false;
  for (int i = 0; i < nstore && *any; i++)
    if (!(store[i] = parted(p, store[i]))) return false;
  return true;
}

/* Is the range one that may be parted to advantage? One of the output that is in both factors, or one that a factor
 * divides. */
static bool is_candidate(Part *p, UOp *product, UOp *range, bool output) {
  p->range = range;
  if (!uop_is_int(range->src[0], 0) || range->src[1]->op != OP_CONST) return false;
  UOp *x = product->src[0], *y = product->src[1];
  p->shared = output && ranges_of(p, x) & ranges_of(p, y) & bit(range);
  return p->shared || divisions_of(p, x, y, bit(range));
}

static bool part_some(Part *p, int nstore, UOp **store, bool *any) {
  *any = false;
  UOp *sum = only_sum(p, nstore, store);
  if (!sum) return ctx_base(p->ctx)->code == POLY_OK;
  UOp *product = sum->src[0];
  uint64_t used = 0;
  for (int i = 0; i < nstore; i++) used |= ranges_of(p, store[i]);
  if (__builtin_popcountll(used) > 64 - FREE_IDS) return true;
  int outputs = store[0]->nsrc - 3, all = outputs + sum->nsrc - 1;
  for (int i = 0; i < all && !*any; i++) {
    UOp *range = i < outputs ? store[0]->src[3 + i] : sum->src[1 + i - outputs];
    if (is_candidate(p, product, range, i < outputs) && !part_range(p, nstore, store, product, used, any)) return false;
  }
  return true;
}

/* Two loops in place of one of a kernel, if nothing in the n values is divided any more, and runs along memory are
 * long. */
static bool try_plain(Part *p, int nstore, UOp **store, int n, UOp *const *value, uint64_t used, bool *any) {
  Map seen = {0};
  int id = 0;
  while (id < 64 && used & (1ull << id)) id++;
  p->nsize = 0;
  for (int k = 0; k < n; k++) find_sizes(p, value[k], &seen);
  map_free(ctx_base(p->ctx), &seen);
  for (int i = 0; i < p->nsize && id < 64 && !*any; i++) {
    if (p->size[i] < LEAST_RUN) continue;
    if (!loops_of(p, p->size[i], id)) return false;
    *any = true;
    for (int k = 0; k < n && *any; k++) {
      UOp *u = parted(p, value[k]);
      if (!u) return false;
      *any = !divisions_of(p, u, u, bit(p->outer) | bit(p->inner));
    }
  }
  for (int i = 0; i < nstore && *any; i++)
    if (!(store[i] = parted(p, store[i]))) return false;
  return true;
}

/* Loops of other kernels: of a sum over the channels of a group and their places, with a weight for each channel, and
 * of what is stored for these. */
static bool part_others(Part *p, int nstore, UOp **store, bool *any) {
  Walk walk;
  bool divides = false;
  *any = false;
  if (!uop_walk(p->ctx, p->arena, nstore, store, NULL, NULL, &walk)) return false;
  for (int i = 0; i < walk.n; i++) {
    const UOp *u = walk.at[i];
    divides |= (u->op == OP_IDIV || u->op == OP_MOD) && u->dtype == POLY_INT64 && u->src[1]->op == OP_CONST &&
               u->src[1]->arg.i >= LEAST_RUN;
  }
  if (!divides) return true;
  uint64_t used = 0;
  for (int i = 0; i < nstore; i++) used |= ranges_of(p, store[i]);
  if (__builtin_popcountll(used) > 64 - FREE_IDS) return true;
  for (int i = 0; i < walk.n && !*any; i++) {
    UOp *u = walk.at[i];
    bool whole = u == store[0], loop = u->op == OP_LOOP;
    for (int k = whole ? 3 : 1; (whole || loop) && k < u->nsrc && !*any; k++) {
      p->range = u->src[k];
      bool plain = uop_is_int(p->range->src[0], 0) && p->range->src[1]->op == OP_CONST;
      if (plain && !try_plain(p, nstore, store, whole ? nstore : 1, whole ? store : u->src, used, any)) return false;
    }
  }
  return true;
}

bool part_ranges(PolyContext *ctx, Arena *arena, int nstore, UOp **store) {
  Part p = {.ctx = ctx, .arena = arena};
  bool any = true, ok = true;
  for (int i = 0; ok && any && i < MOST_PARTS; i++) ok = part_some(&p, nstore, store, &any);
  any = true;
  for (int i = 0; ok && any && i < MOST_PARTS; i++) ok = part_others(&p, nstore, store, &any);
  map_free(ctx_base(ctx), &p.done);
  return ok;
}
