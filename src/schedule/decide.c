/* decide.c: what is stored. Asked by lowering at each node, with the index at which a kernel reads it.
 *
 * A reduction may stay inside its reader's kernel if the loops that its index depends on are the outermost of the
 * reader's: then it is computed once, as a loop beside the next inner one (row softmax, layer norm). Otherwise it would
 * be computed again and again: it is stored. The same holds for elementwise work that costs more than a load. */
#include "schedule/drafts.h"

#include "ir/context.h"
#include "ir/edge_to_node.h"
#include "ir/lanes.h"
#include "schedule/contract.h"
#include "schedule/dots.h"
#include "schedule/joins.h"
#include "schedule/tiles.h"

#include <string.h>

enum {
  TOO_DEEP = 512,   /* chains that are cut at any cost */
  LONG_CHAIN = 128, /* longest chain of ops in a kernel: bounds compile time and recursion */
  LEAST_ROWS = 4,   /* of a product that is computed in tiles, */
  FEW_ROWS = 2,     /* and of one that the library would need a copy of a factor for; */
  GROUP_END = 16,   /* operations that follow a product in its kernel where each thread has many results; */
  LEAST_COLUMNS = 8,
  LEAST_SUM = 4,
  LONG_SUM = 16384, /* into a result so small that one tile holds it: one thread would be at work */
  SMALL_RESULT = 16384,
  SMALL_SIDE = 32, /* rows or columns: for so few a copy of the other factor takes longer than the products */
  REPEATED = 4,    /* times that a value of an edge is asked for in a row: then storing it costs less */
  OVERLAPPED = 8,  /* times that windows over a reduction ask for each of its elements: it is stored */
  MUCH_WIDER = 8   /* times: what is broadcast so far is worth storing before it is broadcast */
};

static bool maps_edges(const Sched *s, const UOp *u);

static int op_cost(const Sched *s, const UOp *u) {
  if (u->op == OP_REDUCE || u->op == OP_SEGMENT) return COST_LIMIT;
  return op_elementwise((Op)u->op) ? s->target->cost.op[op_info[u->op].cost] : 0;
}

static UOp *behind_moves(UOp *u) {
  while (op_info[u->op].cls == CLASS_MOVE) u = u->src[0];
  return u;
}

/* A value that is broadcast widely costs a load where it is read: it is stored before, or kept in a register. */
static bool spreads(const UOp *u) {
  if (u->op != OP_EXPAND) return false;
  double from = (double)uop_numel_max(u->src[0]), to = (double)uop_numel_max((UOp *)(uintptr_t)u);
  return to >= MUCH_WIDER * from;
}

/* Is it larger than what it is made of, as the product in front of a contraction is? Its inputs are stored instead. */
static bool is_expanded(const UOp *node) {
  double made_of = 0;
  for (int i = 0; i < node->nsrc; i++) made_of += (double)uop_numel_max(behind_moves(node->src[i]));
  return (double)uop_numel_max((UOp *)(uintptr_t)node) > made_of;
}

NodeInfo *sched_info(Sched *s, UOp *node) {
  uint64_t at;
  if (map_get(&s->index, (uint64_t)(uintptr_t)node, &at)) return s->info.at[at];
  NodeInfo *n = arena_new(s->arena, sizeof *n);
  Base *b = ctx_base(s->ctx);
  if (!n || !vec_push(b, &s->info, n) || !map_put(b, &s->index, (uint64_t)(uintptr_t)node, (uint64_t)s->info.n - 1))
    return NULL;
  *n = (NodeInfo){.node = node, .slot = -1, .kernel = -1, .hold = schedule_hold(s->limits, node)};
  return n;
}

Below sched_inlined_work(Sched *s, NodeInfo *n, int limit) {
  enum { LOOK = 512 };
  NodeInfo *todo[LOOK];
  int ntodo = 0, stamp = ++s->stamp;
  int64_t broadcast = uop_numel_max(n->node) / MUCH_WIDER;
  Below r = {0};
  todo[ntodo++] = n;
  n->visited = stamp;
  for (int k = 0; k < ntodo && r.ops + s->target->cost.load * r.loads <= limit; k++) {
    const UOp *u = todo[k]->node;
    r.ops += op_cost(s, u);
    for (int i = 0; i < uop_nvalue(u) && i < u->nsrc; i++) {
      NodeInfo *below = u->src[i]->op == OP_CONST ? NULL : sched_info(s, u->src[i]);
      if (!below || below->visited == stamp) continue;
      below->visited = stamp;
      int64_t numel = uop_numel_max(below->node);
      bool inner = below->slot < 0 && (below->node->op == OP_REDUCE || below->node->op == OP_SEGMENT);
      r.reduction |= inner;
      if (below->slot >= 0 || below->node->op == OP_BUFFER || inner) r.widest = MAX(r.widest, numel);
      if (numel <= broadcast) {
        r.reads += u->op == OP_GATHER;
        continue;
      }
      if (below->slot >= 0 || below->node->op == OP_BUFFER || inner)
        r.loads++;
      else if (ntodo < LOOK)
        todo[ntodo++] = below;
      else
        r.ops = limit + 1;
    }
  }
  return r;
}

/* Is a product computed by loops over tiles, so that what it is made of and what follows it may be in its kernel? A
 * long sum hides the time that memory takes: it is left to the library, which also knows what to do with zeros, unless
 * that could not read a factor as it lies in memory. */
static bool worth_tiling(const Sched *s, const UOp *u, const MatmulItem *m, bool library, bool copied) {
  if (s->target->group > 1) return contract_by_groups(s->target, u, m, library, copied);
  int64_t few = MIN(m->m->vmax, m->n->vmax), many = MAX(m->m->vmax, m->n->vmax);
  bool fits = m->m->vmax >= LEAST_ROWS && m->n->vmax >= LEAST_COLUMNS && m->k->vmax >= LEAST_SUM;
  fits |= copied && few >= FEW_ROWS && many >= LEAST_COLUMNS && m->k->vmax >= LEAST_SUM;
  if (!fits || !library || m->k->vmax <= s->target->cost.fused_sum) return fits;
  double results = (double)m->m->vmax * (double)m->n->vmax;
  for (int i = 0; i < m->nbatch; i++) results *= (double)m->batch[i]->vmax;
  /* its pieces are the library's to share out, if that is worth the copy */
  bool one_tile = m->k->vmax >= LONG_SUM && results <= SMALL_RESULT && few > SMALL_SIDE;
  return copied && !one_tile;
}

/* What would be inlined with n, measured from its sources. */
static void measure(Sched *s, NodeInfo *n) {
  UOp *node = n->node;
  for (int i = 0; i < uop_nvalue(node) && i < node->nsrc; i++) {
    uint64_t at;
    if (!map_get(&s->index, (uint64_t)(uintptr_t)node->src[i], &at)) continue;
    const NodeInfo *below = s->info.at[at];
    if (below->kind != STORE_NOT) continue;
    n->depth = MAX(n->depth, below->depth + 1);
    if (!below->contraction) n->cost = MIN(COST_LIMIT, n->cost + below->cost);
  }
  if (spreads(node)) n->cost = MIN(n->cost, 1);
  n->cost = MIN(COST_LIMIT, n->cost + op_cost(s, node));
  tiles_measure(s, n);
  n->maps_edges = !n->by_tiles && !n->sums_tiles && !n->compared && maps_edges(s, node);
  if (node->op == OP_REDUCE && !n->maps_edges && !n->by_tiles) {
    bool library = s->target->matmul & (1u << node->dtype);
    bool copied = false;
    n->contraction = contract_match(node, false, &n->matmul, n->operand, n->factor, &copied);
    n->tiled = n->contraction && worth_tiling(s, node, &n->matmul, library, copied);
    n->contraction &= library || n->tiled;
  }
  bool product = node->op == OP_REDUCE && is_expanded(node->src[0]) && !n->maps_edges;
  if (n->contraction || product) n->depth = 0; /* will be stored */
}

/* Chains are cut where a value ends so much work that storing it costs little beside: kernels stay small, and so does
 * the work of planning them. */
static bool ends_chain(Sched *s, NodeInfo *n) {
  int much = s->target->cost.much;
  UOp *node = n->node;
  if (node->op == OP_REDUCE) return n->depth >= LONG_CHAIN;
  if (!op_elementwise((Op)node->op)) return false;
  if (n->depth >= TOO_DEEP) return true;
  if (is_expanded(node)) return false;
  if (n->depth >= LONG_CHAIN) return true;
  if (sched_edge_sized(s, node)) return false;
  if (n->users < 2 || n->cost <= much) return false;
  Below b = sched_inlined_work(s, n, much);
  return b.ops + s->target->cost.load * b.loads > much && uop_numel_max(node) <= b.widest;
}

/* ---- what all readers of a reduction make of it ---- */

enum { LONGEST_END = 32 }; /* nodes between a reduction and its end */

/* The first node that the ways from a and from b have in common; each leads through its `meet`. */
static NodeInfo *first_common(NodeInfo *a, NodeInfo *b) {
  for (int k = 0; a != b && a && b; k++) {
    if (k > LONGEST_END) return NULL;
    if (a->level >= b->level)
      a = a->meet;
    else
      b = b->meet;
  }
  return a == b ? a : NULL;
}

static bool is_plain(const NodeInfo *from, const NodeInfo *to) {
  const UOp *u = to->node;
  return (op_elementwise((Op)u->op) || u->op == OP_RESHAPE) && uop_numel(to->node) == uop_numel(from->node);
}

/* Users come behind their sources, so from the last node on all that is asked for is known. */
static void find_meets(Sched *s, const Walk *walk) {
  for (int i = walk->n; i-- > 0;) {
    NodeInfo *n = sched_info(s, walk->at[i]);
    n->plain = true;
    n->level = n->meet ? n->meet->level + 1 : 1;
    for (int k = 0; k < uop_nvalue(n->node) && k < n->node->nsrc; k++) {
      NodeInfo *below = sched_info(s, n->node->src[k]);
      below->meet = below->users++ ? first_common(below->meet, n) : n;
      below->uses += n->node->op != OP_REDUCE && n->node->op != OP_SEGMENT;
    }
  }
  for (int i = walk->n; i-- > 0;) {
    NodeInfo *n = sched_info(s, walk->at[i]);
    n->plain = n->plain && n->meet;
    for (int k = 0; k < uop_nvalue(n->node) && k < n->node->nsrc; k++) {
      NodeInfo *below = sched_info(s, n->node->src[k]), *at = n;
      bool plain = is_plain(below, n);
      while (plain && at && at != below->meet) {
        plain = at->plain;
        at = at->meet;
      }
      below->plain &= plain;
    }
  }
}

/* Marks what products read that is made of reductions: it is stored for them. */
static void find_factors(Sched *s, const Walk *walk) {
  for (int i = 0; i < walk->n; i++) {
    const NodeInfo *n = sched_info(s, walk->at[i]);
    if (!n->contraction || n->by_tiles) continue;
    for (int k = 0; k < 2; k++) {
      NodeInfo *f = n->factor[k] ? sched_info(s, sched_memory(n->factor[k])) : NULL;
      if (f && f->cost >= COST_LIMIT) f->is_factor = true;
    }
  }
}

/* Is there another reduction below its end, one that is not stored for its own sake, as products and factors are? */
static bool has_others(Sched *s, NodeInfo *end, const NodeInfo *n) {
  enum { LOOK = 256 };
  NodeInfo *todo[LOOK];
  int ntodo = 0, stamp = ++s->stamp;
  todo[ntodo++] = end;
  end->visited = stamp;
  for (int k = 0; k < ntodo; k++) {
    const UOp *u = todo[k]->node;
    if (todo[k] == n || todo[k]->contraction || todo[k]->is_factor || todo[k]->slot >= 0) continue;
    if (u->op == OP_BUFFER || u->op == OP_GATHER || u->buffer) continue;
    if (u->op == OP_REDUCE || u->op == OP_SEGMENT || ntodo + u->nsrc > LOOK) return true;
    for (int i = 0; i < uop_nvalue(u) && i < u->nsrc; i++) {
      NodeInfo *below = sched_info(s, u->src[i]);
      if (!below || below->visited == stamp) continue;
      below->visited = stamp;
      todo[ntodo++] = below;
    }
  }
  return false;
}

/* Does u read rows of an end of the edges? */
static bool reads_ends(const UOp *u) {
  for (int i = 0; i < uop_nvalue(u) && i < u->nsrc; i++) {
    const UOp *x = u->src[i];
    while (op_info[x->op].cls == CLASS_MOVE && !is_row_read(x)) x = x->src[0];
    if (is_row_read(x)) return true;
  }
  return false;
}

/* Where every reader of a reduction goes through one elementwise value that is no larger, that value is stored in its
 * place, by the kernel of the reduction: the other operands (a bias, a residual, the mask of an activation) are read
 * once and not by every reader, and their memory is given back earlier, or is written over. Of a product of edges, as
 * far as little follows that does not read their ends: loops over the edges of a row have the value of one end at hand.
 */
static void find_end(Sched *s, NodeInfo *n) {
  const UOp *node = n->node;
  bool fits = (node->op == OP_REDUCE || node->op == OP_SEGMENT) && !n->sums_tiles && !n->maps_edges && !n->forms_dots;
  if (!fits || (n->contraction && !n->tiled) || (!n->by_tiles && sched_edge_sized(s, node))) return;
  if (n->by_tiles && n->matmul.axis == ROWS_SUMMED) return;
  NodeInfo *end = NULL, *at = n;
  for (int k = 0; k < LONGEST_END && at->plain; k++) {
    at = at->meet;
    const UOp *u = at->node;
    if (n->by_tiles ? at->cost > GROUP_END || reads_ends(u) : at->over_tiles) break;
    if (op_elementwise((Op)u->op) && dtype_size((PolyDType)u->dtype) <= dtype_size((PolyDType)node->dtype)) end = at;
  }
  if (!end || (at->meet && at->meet->node->op == OP_ASSIGN)) return;
  if (s->target->group > 1 && has_others(s, end, n)) return; /* one reduction to a group of threads */
  n->end = end;
  n->next = end->made;
  end->made = n;
}

UOp *sched_store_at(const NodeInfo *n) {
  for (const NodeInfo *at = n; n->end && at != n->end; at = at->meet)
    if (at->meet->kind != STORE_NOT) return n->node;
  return n->end ? n->end->node : n->node;
}

/* Is u a comparison of values with their own maximum or minimum, as the gradient of one is? Which values. */
static UOp *compared_by(const UOp *u) {
  for (int k = 0; u->op == OP_CMPEQ && k < 2; k++) {
    const UOp *best = behind_moves(u->src[k]);
    bool extremum = best->op == OP_REDUCE && (best->arg.i == OP_MAX || best->arg.i == OP_MIN);
    if (extremum && behind_moves(best->src[0]) == behind_moves(u->src[1 - k])) return u->src[1 - k];
  }
  return NULL;
}

/* Marks what such values are made of: users come before sources. */
static void find_compared(Sched *s, const Walk *walk) {
  for (int i = walk->n; i-- > 0;) {
    UOp *u = walk->at[i], *x = compared_by(u);
    if (x) sched_info(s, x)->compared = true;
    if (!sched_info(s, u)->compared || u->buffer) continue;
    for (int k = 0; k < uop_nvalue(u) && k < u->nsrc; k++)
      if (map_get(&s->index, (uint64_t)(uintptr_t)u->src[k], NULL)) sched_info(s, u->src[k])->compared = true;
  }
}

bool sched_measure(Sched *s, const Walk *walk) {
  for (int i = 0; i < walk->n; i++)
    if (!sched_info(s, walk->at[i])) return false;
  find_compared(s, walk);
  find_meets(s, walk);
  tiles_keep_products(s, walk);
  for (int i = 0; i < walk->n; i++) {
    NodeInfo *n = sched_info(s, walk->at[i]);
    measure(s, n);
    if (ends_chain(s, n) && !sched_store(s, n->node, STORE_KERNEL, "end of a long chain")) return false;
  }
  tiles_find_sums(s, walk);
  dots_find(s, walk);
  find_factors(s, walk);
  for (int i = 0; i < walk->n; i++) find_end(s, sched_info(s, walk->at[i]));
  return true;
}

int sched_add_slot(Sched *s, SlotKind kind, int input, UOp *node, const char *why) {
  Slot slot = {.kind = kind, .input = input, .node = node, .numel = uop_numel(node), .why = why};
  return slot.numel && vec_push(ctx_base(s->ctx), &s->slot, slot) ? s->slot.n - 1 : -1;
}

int sched_input(Sched *s, UOp *buffer) {
  int number = (int)(-buffer->arg.i - 1);
  uint64_t at;
  if (map_get(&s->input, (uint64_t)number, &at)) return (int)at;
  int slot = sched_add_slot(s, SLOT_INPUT, number, buffer, "input");
  return slot >= 0 && map_put(ctx_base(s->ctx), &s->input, (uint64_t)number, (uint64_t)slot) ? slot : -1;
}

/* ---- loops of a stored node ---- */

/* The axes of y as axes of u, which has as many elements: equal, or two of them for one. False: some other way. */
static bool find_pairs(const UOp *u, const UOp *y, int64_t *split) {
  int k = 0;
  for (int i = 0; i < u->ndim; i++) {
    if (uop_is_int(u->shape[i], 1)) continue;
    while (k < y->ndim && uop_is_int(y->shape[k], 1)) k++;
    if (k == y->ndim) return false;
    if (y->shape[k] == u->shape[i]) {
      k++;
      continue;
    }
    int next = k + 1;
    while (next < y->ndim && uop_is_int(y->shape[next], 1)) next++;
    if (next >= y->ndim || u->shape[i]->op != OP_CONST) return false;
    if (y->shape[k]->op != OP_CONST || y->shape[next]->op != OP_CONST) return false;
    if (const_int(y->shape[k]) * const_int(y->shape[next]) != const_int(u->shape[i])) return false;
    split[i] = const_int(y->shape[next]);
    k = next + 1;
  }
  return true;
}

/* A reduction below elementwise work whose axes were joined (heads and features of an attention layer, before its bias)
 * is walked as it was: each of the two loops has work that the other one has not. The same holds where the axes of a
 * value of each edge were joined before the edges of a row are summed. */
static void find_split(Sched *s, NodeInfo *n) {
  enum { LOOK = 64 };
  UOp *todo[LOOK];
  int ntodo = 0;
  todo[ntodo++] = n->node;
  for (int i = 0; i < ntodo; i++) {
    UOp *u = todo[i];
    const NodeInfo *below = u->op == OP_RESHAPE ? sched_info(s, u->src[0]) : NULL;
    if (below && below->kind == STORE_NOT && !below->contraction && below->cost >= COST_LIMIT) {
      int64_t split[MAX_DIMS] = {0};
      if (!find_pairs(u, u->src[0], split) || (split[0] && u->shape[0] != n->node->shape[0])) continue;
      memcpy(n->split, split, sizeof split);
      return;
    }
    bool edges = u->op == OP_SEGMENT && (u == n->node || sched_info(s, u)->kind == STORE_NOT);
    if (!op_elementwise((Op)u->op) && !edges) continue;
    for (int k = 0; k < (edges ? 1 : u->nsrc) && ntodo < LOOK; k++)
      if (u->src[k]->ndim == n->node->ndim) todo[ntodo++] = u->src[k];
  }
}

static bool enqueue(Sched *s, int kernel) {
  Trial *t = &s->trial.at[kernel];
  if (t->queued) return true;
  t->queued = true;
  return vec_push(ctx_base(s->ctx), &s->queue, kernel);
}

int sched_next_kernel(Sched *s) {
  if (s->next == s->queue.n) return -1;
  s->current = s->queue.at[s->next++];
  Trial *t = &s->trial.at[s->current];
  for (int i = 0; i < t->inlined.n; i++) {
    const Inlined *e = &t->inlined.at[i];
    e->n->readers--;
    e->n->edge_loops -= e->edge;
    e->n->wide_loops -= e->wide;
  }
  t->inlined.n = 0;
  t->queued = false;
  NodeInfo *kernel = s->info.at[s->work.at[s->current]];
  kernel->product = NULL;
  kernel->terms = NULL;
  return s->current;
}

/* One result of a loop is stored with all the others. */
static bool store_siblings(Sched *s, const UOp *node) {
  const Loop *l = loop_at(&s->loops, node);
  for (int k = 0; k < l->nresult; k++)
    if (!sched_store(s, l->node[k], STORE_LOOP, "result of a loop")) return false;
  return true;
}

bool sched_store(Sched *s, UOp *node, StoreKind kind, const char *why) {
  NodeInfo *n = sched_info(s, node);
  if (!n || n->kind != STORE_NOT) return n != NULL;
  if (node->op == OP_RESULT && kind != STORE_LOOP) return store_siblings(s, node);
  if (kind == STORE_KERNEL && n->contraction) {
    kind = n->tiled ? STORE_KERNEL : STORE_MATMUL;
    why = "matrix product";
  }
  if (node->op == OP_LIBRARY) {
    kind = STORE_LIBRARY;
    why = "library routine";
  }
  n->kind = kind;
  if (kind == STORE_KERNEL) find_split(s, n);
  n->slot = sched_add_slot(s, SLOT_TEMP, -1, node, why);
  uint64_t at = 0;
  map_get(&s->index, (uint64_t)(uintptr_t)node, &at);
  Base *b = ctx_base(s->ctx);
  if (n->slot < 0 || !vec_push(b, &s->work, (int)at) || !vec_push(b, &s->trial, (Trial){0})) return false;
  if (!enqueue(s, s->work.n - 1)) return false;
  for (const Reader *r = n->reader; r; r = r->next)
    if (!enqueue(s, r->kernel)) return false;
  return true;
}

static bool same_memory(const UOp *u) { return u->op == OP_RESHAPE || u->op == OP_CONTIGUOUS; }

UOp *sched_memory(UOp *u) {
  UOp *v = u;
  while (same_memory(v)) v = v->src[0];
  OpClass cls = op_info[v->op].cls;
  return cls == CLASS_LEAF || cls == CLASS_MOVE || v->op == OP_ASSIGN ? u : v;
}

int sched_slot_of(Sched *s, UOp *node) {
  for (;; node = node->src[0]) {
    while (node->op == OP_ASSIGN) node = node->src[1]; /* readers see the value, wherever it is written to */
    if (node->op == OP_BUFFER) return sched_input(s, node);
    uint64_t at;
    if (map_get(&s->index, (uint64_t)(uintptr_t)node, &at) && s->info.at[at]->slot >= 0) return s->info.at[at]->slot;
    if (!same_memory(node)) return -1;
  }
}

/* Is a SHRINK one run of the memory of its source? Along every axis behind the first that keeps more than one index it
 * keeps all. */
static bool one_run(const UOp *u) {
  int axis = 0;
  while (axis < u->ndim && uop_is_int(u->shape[axis], 1)) axis++;
  for (int d = axis + 1; d < u->ndim; d++)
    if (u->shape[d] != u->src[0]->shape[d]) return false;
  return true;
}

static UOp *first_of_run(const UOp *u) {
  UOp *at = uop_index(u->ctx, 0);
  for (int d = 0; d < u->ndim; d++) at = int_add(int_mul(at, u->src[0]->shape[d]), u->src[1 + 2 * d]);
  return at;
}

int sched_run_of(Sched *s, UOp *node, UOp **offset) {
  int slot = sched_slot_of(s, node);
  *offset = NULL;
  if (slot >= 0 || ctx_base(s->ctx)->code != POLY_OK) return slot;
  for (; same_memory(node) || (node->op == OP_SHRINK && one_run(node)); node = node->src[0]) {
    if (node->op != OP_SHRINK) continue;
    UOp *first = first_of_run(node);
    *offset = *offset ? int_add(*offset, first) : first;
  }
  return *offset && node->op == OP_BUFFER ? sched_input(s, node) : -1;
}

/* ---- the rules ---- */

typedef struct Reading {
  uint64_t free;     /* ranges that the index depends on */
  bool through_load; /* an index was loaded, */
  bool edge;         /* or is the edge of a loop over edges, which goes through all of them once */
  bool prefix, whole;
  bool beside;    /* under a condition of the innermost output loop, as a part of a CAT is */
  double repeats; /* how often the loops of the index come to the same element; at an edge: to the same of the edge */
  double inner;   /* iterations of output loops inside those that the index depends on */
  uint64_t hash;
} Reading;

/* The score of a head that is read at each of its features (index f / 16, f in a loop of 128) is asked for 16 times;
 * what windows of 28 by 14 read, which move by one, 392 times; a row that is padded to a matrix of a hundred rows is
 * computed for each of them. */
static double count_repeats(Lower *l, const UOp *node, UOp *const *idx, int axis) {
  uint64_t ranges = 0;
  double times = 1;
  for (int i = axis; i < node->ndim; i++) ranges |= lower_free(l, idx[i]);
  for (int id = 0; id < MAX_RANGES; id++) {
    if (!(ranges & (1ull << id)) || !l->range[id]) continue;
    times *= (double)l->range[id]->src[1]->vmax - (double)l->range[id]->src[0]->vmin;
  }
  for (int i = axis; i < node->ndim; i++) {
    double span = (double)idx[i]->vmax - (double)idx[i]->vmin + 1;
    times /= MIN(span, MAX(1, (double)node->shape[i]->vmax));
  }
  return times;
}

static Reading reading(Lower *l, UOp *node, UOp *const *idx, UOp *gate) {
  Reading r = {.free = lower_free(l, gate), .through_load = lower_has_load(l, gate)};
  for (int i = 0; i < node->ndim; i++) {
    r.free |= lower_free(l, idx[i]);
    bool edge = lower_is_edge(l, idx[i]);
    r.edge |= edge;
    r.through_load |= !edge && lower_has_load(l, idx[i]);
  }
  uint64_t open = 0;
  for (int i = 0; i < l->ncontext; i++) open |= 1ull << l->context[i];
  r.inner = 1;
  for (int i = 0; i < l->ncontext; i++) {
    const UOp *loop = l->context[i] < l->nout ? l->range[l->context[i]] : NULL;
    if (loop && !(r.free & (1ull << loop->arg.i))) r.inner *= (double)loop->src[1]->vmax - (double)loop->src[0]->vmin;
  }
  r.prefix = lower_is_prefix(l, r.free);
  r.beside = gate && l->nout > 1 && lower_free(l, gate) & (1ull << (l->nout - 1));
  r.whole = (open & ~r.free) == 0;
  r.hash = hash_bytes(idx, (size_t)node->ndim * sizeof *idx, 1);
  if (!r.through_load) r.repeats = count_repeats(l, node, idx, r.edge);
  return r;
}

bool sched_edge_sized(const Sched *s, const UOp *u) {
  for (int i = 0; u->ndim && i < s->edges.n; i++)
    if (s->edges.at[i] == u->shape[0]) return true;
  return false;
}

static bool same_for_all_rows(const UOp *u) { return u->op == OP_CONST || repeats_row(u); }

bool sched_is_repeated(const UOp *v, const UOp *u) {
  if (v->op != OP_EXPAND) return false;
  for (int i = 1; i < u->ndim; i++)
    if (!(u->arg.j & (1 << i)) && v->src[0]->shape[i] != v->shape[i]) return true;
  return false;
}

/* Is a sum of products much narrower at each edge than either factor? A vector times a matrix of the edge is not. */
static bool are_scores(const UOp *product, int64_t width) {
  for (int i = 0; product->op == OP_MUL && i < 2; i++) {
    double own = (double)uop_numel_max(behind_moves(product->src[i]));
    if (own < 2 * (double)width * (double)product->shape[0]->vmax) return false;
  }
  return product->op == OP_MUL;
}

/* A short sum at each edge that is too wide to store: a linear map of the values of an edge, or any of a few values
 * that leaves many per edge. Scores (a dot product for each head) are stored: few per edge, or much fewer than what
 * they are summed from. */
static bool maps_edges(const Sched *s, const UOp *u) {
  if (u->op != OP_REDUCE || u->arg.j & 1 || !sched_edge_sized(s, u)) return false;
  const UOp *x = u->src[0];
  int64_t k = 1, width = 1;
  for (int i = 1; i < u->ndim; i++) {
    int64_t *size = u->arg.j & (1 << i) ? &k : &width;
    if (__builtin_mul_overflow(*size, x->shape[i]->vmax, size)) return false;
  }
  bool linear = false;
  for (int i = 0; x->op == OP_MUL && i < 2; i++)
    linear |= same_for_all_rows(x->src[i]) && sched_is_repeated(x->src[!i], u);
  int few = s->target->cost.few_scores;
  return k <= s->target->cost.short_sum && (linear || (width > few && (k < 2 * few || !are_scores(x, width))));
}

/* Is u the value of an end of each edge, which is read for something else as well? */
static bool is_shared_end(Sched *s, UOp *u) {
  bool shared = false;
  for (; op_info[u->op].cls == CLASS_MOVE && !is_row_read(u); u = u->src[0]) shared |= sched_info(s, u)->users > 1;
  return is_row_read(u) && (shared || sched_info(s, u)->users > 1);
}

/* Is u a dot product, for each head, of both ends of an edge, that loops over all features of a row may form where they
 * want it: in the lanes of these, out of factors of which they have one at hand and gather the other (ir/linear.h,
 * lanes of two loops)? Then it is not stored, as it would have to be for loops that go through the features one by one.
 */
static bool is_dot_in_lanes(Sched *s, const UOp *u) {
  const Target *t = s->target;
  const UOp *x = u->src[0];
  bool dot = u->op == OP_REDUCE && u->arg.i == OP_ADD && u->dtype == POLY_FLOAT32 && x->op == OP_MUL && x->ndim == 3;
  if (!dot || u->arg.j != 1 << 2 || t->rows_apart || !lanes_of_two(t, x->shape[1], x->shape[2])) return false;
  return is_shared_end(s, x->src[0]) && is_shared_end(s, x->src[1]);
}

/* Why a reduction cannot stay inside, or NULL. */
static const char *reduction_reason(Sched *s, const Lower *l, const NodeInfo *n, const Reading *r) {
  if (r->through_load)
    return "reduction read through an index"; /* gradients rely on it: two readers see the same bits */
  if (n->maps_edges || (r->edge && is_dot_in_lanes(s, n->node))) return NULL;
  if (!r->prefix) return "reduction read out of loop order";
  if (r->edge && r->repeats >= REPEATED) return "reduction read again and again at an edge";
  if (r->repeats >= OVERLAPPED) return "reduction read by windows that overlap";
  /* lanes go along the innermost loop: a reduction at some of its places only would be computed place by place */
  if (r->beside && !lower_counts_rows(n->node)) return "reduction at a part of the innermost loop";
  bool row = n->node->op == OP_SEGMENT || (r->edge && sched_edge_sized(s, n->node));
  if (s->target->rows_apart && row && (r->edge || r->inner > 1)) return "reduction of a row or an edge, apart";
  bool serial = r->free == 0 && l->ncontext > 0;
  if (serial && uop_numel_max(n->node->src[0]) > s->target->cost.serial) return "reduction of everything";
  return NULL;
}

/* Is there a reduction at each edge below n, such as the sum of a softmax over a few values, that n would be stored
 * instead of? One that others need as well is stored anyway: what takes little work beside such values, as the gradient
 * of a score does, would be one more array of all edges in memory. Looked for among the nearest sources: what lies
 * behind a move between nodes and edges is stored by itself. */
static bool reduces_at_edge(Sched *s, const NodeInfo *n) {
  enum { NEAR = 32 };
  const UOp *near[NEAR] = {n->node};
  bool shared[NEAR] = {false}, any = false; /* is it, or something between it and n, read by others as well? */
  int ops = 0;
  for (int i = 0, count = 1; i < count; i++) {
    const UOp *at = near[i];
    if (!shared[i] && op_elementwise((Op)at->op)) ops += op_cost(s, at);
    if (at->op == OP_REDUCE && sched_edge_sized(s, at) && !is_dot_in_lanes(s, at)) {
      if (!shared[i]) return true;
      any = true;
    }
    if (at->buffer || at->op == OP_REDUCE || at->op == OP_SEGMENT || at->op == OP_GATHER) continue;
    for (int k = 0; k < at->nsrc && count < NEAR; k++) {
      const NodeInfo *below = k < uop_nvalue(at) ? sched_info(s, at->src[k]) : NULL;
      shared[count] = shared[i] || (below && below->uses > 1);
      near[count++] = at->src[k];
    }
  }
  return any && ops > s->target->cost.cheap;
}

/* Do several values follow from what all users of n lead to, as the backward pass from the weights of a softmax? */
static bool is_needed_later(const NodeInfo *n) {
  const NodeInfo *at = n->meet;
  while (at && at->users == 1 && at->meet && op_info[at->meet->node->op].cls == CLASS_MOVE) at = at->meet;
  return !at || at->users > 1;
}

/* A function of an edge, such as the exponential of a softmax, that a sum along the edges needs as well as one of
 * features that it weighs: lanes go along the edges in the first and along the features in the second, which would
 * compute it edge by edge. The first stores it. Not where heads fill the lanes of both, nor in a forward pass alone,
 * which stores nothing. */
static bool is_summed_function(const Sched *s, const NodeInfo *n, const Reading *r) {
  const UOp *u = n->node;
  bool function = s->target->group == 1 && op_cost(s, u) >= s->target->cost.op[COST_FUNCTION];
  if (!function || !r->edge || r->inner < REPEATED || n->users == n->uses || !sched_edge_sized(s, u)) return false;
  return is_needed_later(n) && uop_numel_max(n->node) < s->target->least_lanes * u->shape[0]->vmax;
}

/* The product by tiles that the current kernel is or computes; NULL: there is none. */
static const NodeInfo *tile_product(const Sched *s) {
  const NodeInfo *kernel = s->info.at[s->work.at[s->current]], *product = kernel->by_tiles ? kernel : kernel->product;
  return product && product->by_tiles ? product : NULL;
}

static const char *elementwise_reason(Sched *s, const NodeInfo *n, const Reading *r) {
  if (n->cost <= s->target->cost.cheap) return NULL;
  if (is_summed_function(s, n, r)) return "function of an edge, summed along the edges as well";
  if (r->edge && s->target->rows_apart && r->inner >= REPEATED)
    return "computed once, read by several features of an edge";
  if (r->edge) /* what is as wide as the edges is computed where it is read, unless that is done for nothing */
    return r->repeats >= REPEATED && reduces_at_edge(s, n) ? "computed once, read again and again at an edge" : NULL;
  bool smaller = uop_numel_max(n->node) <= uop_numel_max(s->domain);
  if (r->through_load) return smaller || n->cost >= COST_LIMIT ? "computed once, read through an index" : NULL;
  bool factor = tile_product(s) && sched_edge_sized(s, n->node); /* sched_store_factors has decided */
  if (!r->prefix && !r->whole && smaller && !factor) return "computed once, read in an inner loop";
  return NULL;
}

/* The current kernel computes n in place. */
static bool note_reader(Sched *s, NodeInfo *n, const Reading *r) {
  Base *b = ctx_base(s->ctx);
  Trial *t = &s->trial.at[s->current];
  if (n->kernel != s->kernel) {
    bool wide = n->node->op == OP_REDUCE && uop_numel_max(s->domain) / 2 >= uop_numel_max(n->node->src[0]) / 4;
    n->kernel = s->kernel;
    n->at = r->hash;
    n->entry = t->inlined.n;
    n->readers++;
    n->wide_loops += wide;
    if (!vec_push(b, &t->inlined, ((Inlined){n, false, wide}))) return false;
    if (!n->reader || n->reader->kernel != s->current) {
      Reader *reader = arena_new(s->arena, sizeof *reader);
      if (!reader) return false;
      *reader = (Reader){s->current, n->reader};
      n->reader = reader;
    }
  }
  Inlined *e = &t->inlined.at[n->entry];
  if (r->edge && !e->edge) {
    e->edge = true;
    n->edge_loops++;
  }
  return true;
}

/* What is contiguous in memory already needs no copy. */
static int contiguous_slot(Sched *s, UOp *node) {
  UOp *u = node, *memory = sched_memory(node);
  while (same_memory(u)) u = u->src[0];
  if (u->op == OP_BUFFER) return -1;
  if (!sched_store(s, memory, STORE_KERNEL, "asked to be contiguous")) return -1;
  return memory == node ? sched_info(s, node)->slot : -1;
}

/* Why a node is stored because its reader's kernel may not hold it, or NULL. */
static const char *limit_reason(const Sched *s, const UOp *node) {
  bool reduction = node->op == OP_REDUCE || node->op == OP_SEGMENT;
  if (reduction && s->hold >= HOLD_ONE_REDUCTION) return "reduction of a kernel with too many";
  bool computed = reduction || op_elementwise((Op)node->op) || node->op == OP_GATHER || node->op == OP_CAT;
  return computed && s->hold >= HOLD_ONE_OP ? "operation of a kernel with too many" : NULL;
}

/* May the current kernel compute the product n, and what follows it, tile by tile? It reads it once, element by
 * element, and has no other, unless it adds them up. */
static bool may_hold_product(Sched *s, const NodeInfo *n, const Reading *r, const UOp *gate) {
  NodeInfo *kernel = s->info.at[s->work.at[s->current]];
  if (!n->tiled || !r->whole || r->through_load || gate || kernel->node->op == OP_CAT) return false;
  if (n->by_tiles && n->matmul.axis == ROWS_SUMMED) return false; /* its results are those of parts of the edges */
  /* its cost counts what was not yet stored when it was measured */
  if (s->target->group > 1 && kernel->cost > GROUP_END &&
      (has_others(s, kernel, n) || sched_inlined_work(s, kernel, COST_LIMIT).ops > GROUP_END))
    return false;
  return !kernel->product || kernel->product == n || sched_is_term(s, kernel, n);
}

static bool holds_product(Sched *s, NodeInfo *n, const Reading *r, const UOp *gate) {
  NodeInfo *kernel = s->info.at[s->work.at[s->current]];
  if (!may_hold_product(s, n, r, gate)) return false;
  if (!kernel->product) kernel->product = n;
  return sched_store_factors(s, n);
}

/* Why the end of a reduction is stored: the reduction could not stay in the current kernel, which reads the end at r.
 * NULL: it could, or something between them is stored. */
static const char *end_reason(Sched *s, const Lower *l, const NodeInfo *end, const Reading *r, const UOp *gate) {
  const char *why = NULL;
  /* a kernel that reduces what it reads has no room for a product */
  bool room = uop_numel(s->info.at[s->work.at[s->current]]->node) == uop_numel(end->node);
  for (const NodeInfo *n = end->made; n && !why; n = n->next) {
    if (n->kind != STORE_NOT || sched_store_at(n) != end->node) continue;
    if (n->contraction)
      why = room && may_hold_product(s, n, r, gate) ? NULL : "matrix product";
    else
      why = reduction_reason(s, l, n, r);
  }
  return why;
}

/* What the kernel of a product by tiles alone needs of each edge is stored for the tile. */
static bool store_read(Sched *s, NodeInfo *n, const char *why) {
  return sched_store_for(s, n, tile_product(s) && sched_edge_sized(s, n->node), why);
}

int sched_policy(void *user, Lower *l, UOp *node, UOp *const *idx, UOp *gate) {
  Sched *s = user;
  if (node->op == OP_BUFFER) return sched_input(s, node);
  NodeInfo *n = sched_info(s, node);
  if (!n) return -1;
  if (node->op == OP_ASSIGN) return s->copying ? n->slot : -1; /* to readers it is its value */
  if (n->slot >= 0 && (!n->tile_operand || s->in_tile)) return s->draft && draft_makes(s->draft, n) ? -1 : n->slot;
  if (s->decided || op_info[node->op].cls == CLASS_MOVE) return -1;
  const char *why = NULL;
  Reading r = reading(l, node, idx, gate);
  switch (node->op) {
  case OP_CONTIGUOUS: return contiguous_slot(s, node);
  case OP_COPY: why = "copied"; break;
  case OP_CAT: why = joins_many(s->target, node->nsrc) ? "joined from many parts" : NULL; break;
  case OP_LIBRARY: why = "library routine"; break;
  case OP_RESULT: why = "result of a loop"; break;
  case OP_REDUCE:
    why = n->contraction  ? holds_product(s, n, &r, gate) ? NULL : "matrix product"
          : n->sums_tiles ? "reduction over tiles of edges"
                          : reduction_reason(s, l, n, &r);
    if (!why && n->kernel == s->kernel && n->at != r.hash && !n->maps_edges) why = "reduction read at several places";
    break;
  case OP_SEGMENT:
    why = n->sums_tiles   ? "reduction over tiles of edges"
          : n->forms_dots ? "sum whose loop forms dot products of edges"
                          : reduction_reason(s, l, n, &r);
    break;
  default:
    why = elementwise_reason(s, n, &r);
    if (!why && n->made) why = end_reason(s, l, n, &r, gate);
    if (!why && node->op == OP_ADD && r.whole && !gate && !sched_store_other_terms(s, node)) return -1;
    break;
  }
  if (!why) why = limit_reason(s, node);
  if (why) return store_read(s, n, why) ? n->slot : -1;
  note_reader(s, n, &r);
  return -1;
}

/* ---- values that are computed several times ---- */

/* Would all readers of n together be done sooner if it were stored?
 *
 *   in place    readers * (ops + loads)               stored    ops + loads + one store + readers * one load + a launch
 *
 * Arithmetic that costs more than a store and two loads is not repeated. Loads are repeated until they are twice what
 * storing takes: readers that become one kernel later share them. Not asked where a reduction is inlined below: it is
 * asked about by itself. What is wider than all that it is made of is not stored: it would be the largest thing in
 * memory. */
static bool pays_to_store(Sched *s, NodeInfo *n) {
  int64_t numel = uop_numel_max(n->node), again = n->readers - 1;
  const CostTable *cost = &s->target->cost;
  int launch = (int)(cost->launch / MAX(numel, 1)), stored = cost->store + n->readers * cost->load + launch;
  Below b = sched_inlined_work(s, n, 2 * stored);
  if (b.reduction || (numel > b.widest && b.widest)) return false;
  return b.ops > cost->store + 2 * cost->load + launch || again * (b.ops + cost->load * b.loads) > 2 * stored;
}

/* A few values of each edge, which several loops over edges make of more than one array: where threads walk edges in
 * other orders than they lie in memory, each of these reads is a piece of memory of its own. */
static bool pays_at_edges(Sched *s, NodeInfo *n) {
  UOp *u = n->node;
  const CostTable *cost = &s->target->cost;
  if (!s->target->rows_apart || n->edge_loops < 2 || !sched_edge_sized(s, u)) return false;
  if (uop_numel_max(u) > cost->few_scores * u->shape[0]->vmax) return false;
  int stored = cost->store + n->readers * cost->load;
  Below b = sched_inlined_work(s, n, 2 * stored);
  int once = b.ops + cost->load * (b.loads + b.reads);
  return !b.reduction && uop_numel_max(u) <= b.widest && (n->readers - 1) * once > stored;
}

/* The last such value first: its readers are then no longer those of what it is made of. */
static bool store_at_edges(Sched *s, bool *changed) {
  for (int i = s->info.n; i-- > 0 && !*changed;) {
    NodeInfo *n = s->info.at[i];
    if (n->kind != STORE_NOT || !op_elementwise((Op)n->node->op) || !pays_at_edges(s, n)) continue;
    if (!sched_store(s, n->node, STORE_KERNEL, "a value of an edge, needed by several loops")) return false;
    *changed = true;
  }
  return true;
}

/* Is n a dot product of both ends of each edge that loops over edges read and nothing else? The loop over the edges of
 * one end has the factor of that end at hand and gathers the other, which it does anyway for a sum that this one goes
 * into: multiplying again takes less time than writing the product of every edge and reading it in the order of the
 * other end, and nothing of the edges' size is in memory. A step of GAT (8 heads of 8, 2.5M edges) took 0.87 of the
 * time and 80 MB less. Groups of threads store it: their kernels have one kind of results. */
static bool is_dot_of_ends(Sched *s, const NodeInfo *n) {
  const UOp *u = n->node, *x = u->src[0];
  if (s->target->rows_apart || u->op != OP_REDUCE || u->arg.i != OP_ADD || x->op != OP_MUL || n->compared) return false;
  if (!sched_edge_sized(s, u) || n->edge_loops != n->readers) return false;
  return is_shared_end(s, x->src[0]) && is_shared_end(s, x->src[1]);
}

/* Sources come before users in `info`, so what is stored shortens the way of what is made of it. */
bool sched_store_repeated(Sched *s, bool *changed) {
  *changed = false;
  for (int i = 0, n_info = s->info.n; i < n_info; i++) {
    NodeInfo *n = s->info.at[i];
    if (n->kind != STORE_NOT || n->readers < 2) continue;
    bool reduction = n->node->op == OP_REDUCE || n->node->op == OP_SEGMENT;
    /* kernels may add up in another order each, those of groups always: readers that compare must see the same bits */
    bool again =
        reduction ? (s->target->group > 1 || !n->wide_loops || n->compared) && !n->maps_edges && !is_dot_of_ends(s, n)
                  : op_elementwise((Op)n->node->op) && !n->edge_loops && pays_to_store(s, n);
    if (!again) continue;
    if (!sched_store(s, reduction ? sched_store_at(n) : n->node, STORE_KERNEL, "needed by several kernels"))
      return false;
    *changed = true;
  }
  return *changed || store_at_edges(s, changed);
}
