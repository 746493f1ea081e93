/* edge_order.c: edges in the order of the rows of one end.
 *
 * Values of edges are in the order in which the user gave the edges. A sum over the edges of a row finds each of them
 * through `entries`, wherever it lies; a kernel over all edges finds the ends of its neighbours scattered over all
 * nodes. Where a program has values of edges from nodes alone, and for nodes alone, nobody sees that order, and edges
 * may as well be numbered by their places in the rows of one end:
 *
 *   e -> k:  index[e] -> rows[k]   entries[k] -> k   other[e] -> others[k]      at this end
 *            index[e] -> others[k]   entries[i] -> places[i]                    at the other end
 *
 * A row's edges lie side by side then, and so do those that read the same row. Of each graph the end is taken whose
 * rows are summed more often.
 *
 * The gradient of a maximum over rows may find its edge by place: value and number of each edge in one whole number,
 * whose maximum is taken, and compared with the numbers again (grad/rules_index.c). In the order of those rows the
 * first of equal edges stays the first, so the order is not seen there; that end is taken then. */
#include "schedule/edge_order.h"

#include "ir/context.h"
#include "ir/edge_to_node.h"
#include "ir/scan.h"

enum { MOST_GRAPHS = 16 };

/* A graph: its two ends. */
typedef struct Edges {
  UOp *end[2];
  int sums[2];
  bool places[2]; /* edges are found by place among those of a row of this end */
  bool seen;      /* the order of its edges shows */
} Edges;

/* What a node has of the number of an edge: a key of value and number; of a row, the largest key, its part below the
 * value, and the number found; that number at each edge. */
typedef enum Mark { MARK_NONE, MARK_KEY, MARK_BEST, MARK_REST, MARK_FOUND, MARK_EDGE } Mark;

typedef struct EdgeOrder {
  int n;
  Edges graph[MOST_GRAPHS];
  int8_t *of;                  /* for each node of the walk: the graph whose edges its rows are, -1: none */
  int8_t *mark, *about, *side; /* a Mark, and the graph and its end that it is of */
} EdgeOrder;

static bool are_ends(const UOp *a, const UOp *b) {
  return a->src[END_OTHER] == b->src[END_INDEX] && b->src[END_OTHER] == a->src[END_INDEX];
}

static int graph_of(const EdgeOrder *o, const UOp *end, int *which) {
  for (int g = 0; g < o->n; g++)
    for (int k = 0; k < 2; k++)
      if (o->graph[g].end[k] == end) {
        *which = k;
        return g;
      }
  return -1;
}

static void note_end(EdgeOrder *o, UOp *end) {
  for (int g = 0; g < o->n; g++)
    if (!o->graph[g].end[1] && are_ends(o->graph[g].end[0], end)) {
      o->graph[g].end[1] = end;
      return;
    }
  if (o->n < MOST_GRAPHS) o->graph[o->n++].end[0] = end;
}

/* Does a move leave the rows where they are? */
static bool keeps_rows(const UOp *u) {
  const UOp *x = u->src[0];
  if (!u->ndim || !x->ndim || u->shape[0] != x->shape[0]) return false;
  switch (u->op) {
  case OP_RESHAPE:
  case OP_EXPAND: return true;
  case OP_PERMUTE: return perm_at(u, 0) == 0;
  case OP_PAD: return uop_is_int(u->src[1], 0) && uop_is_int(u->src[2], 0);
  case OP_SHRINK: return uop_is_int(u->src[1], 0) && u->src[2] == x->shape[0];
  case OP_FLIP: return !(u->arg.i & 1);
  default: return false;
  }
}

/* Is x the same in all rows? */
static bool has_equal_rows(const UOp *x) {
  return x->op == OP_CONST || x->op == OP_VARIABLE || !x->ndim || repeats_row(x);
}

/* The number of each row. */
static bool is_number(const UOp *u) {
  const UOp *rows = u->ndim ? u->shape[0] : NULL;
  while ((u->op == OP_RESHAPE || u->op == OP_EXPAND) && u->ndim && u->shape[0] == rows) u = u->src[0];
  return u->op == OP_IOTA && u->shape[0] == rows;
}

/* A constant less the number of each row. */
static bool is_number_down(const UOp *u) {
  return u->op == OP_SUB && u->src[0]->op == OP_CONST && is_number(u->src[1]);
}

static Mark mark_at(const EdgeOrder *o, const UOp *u) { return (Mark)o->mark[u->slot]; }

/* The mark of u; MARK_NONE: it has none. *ends: the number is used up, u is a value of each edge like others. */
static Mark mark_of(const EdgeOrder *o, const UOp *u, int *about, int *side, bool *ends) {
  const UOp *a = u->nsrc ? u->src[0] : NULL, *b = u->nsrc > 1 ? u->src[1] : NULL;
  int which = -1;
  *ends = false;
  if (!b) return MARK_NONE;
  Mark of = mark_at(o, a), with = mark_at(o, b);
  *about = of ? o->about[a->slot] : with ? o->about[b->slot] : o->of[a->slot];
  *side = of ? o->side[a->slot] : with ? o->side[b->slot] : 0;
  switch (u->op) {
  case OP_ADD: return !of && !with && *about >= 0 && is_number_down(b) ? MARK_KEY : MARK_NONE;
  case OP_SEGMENT:
    if (of != MARK_KEY || u->arg.i != OP_MAX || graph_of(o, b, &which) != *about) return MARK_NONE;
    *side = which;
    return MARK_BEST;
  case OP_MOD: return of == MARK_BEST && b->op == OP_CONST ? MARK_REST : MARK_NONE;
  case OP_SUB: return with == MARK_REST && a->op == OP_CONST ? MARK_FOUND : MARK_NONE;
  case OP_GATHER: return of == MARK_FOUND && graph_of(o, b, &which) == *about && which == *side ? MARK_EDGE : MARK_NONE;
  case OP_CMPEQ: *ends = (of == MARK_EDGE && is_number(b)) || (with == MARK_EDGE && is_number(a)); return MARK_NONE;
  default: return MARK_NONE;
  }
}

/* Follows the numbers of edges. True: u is one of these nodes, and its rows are known. */
static bool follow_numbers(EdgeOrder *o, const UOp *u) {
  int about = -1, side = 0, i = u->slot;
  bool ends;
  Mark m = mark_of(o, u, &about, &side, &ends);
  o->mark[i] = (int8_t)m;
  o->about[i] = (int8_t)about;
  o->side[i] = (int8_t)side;
  if (m == MARK_BEST) o->graph[about].places[side] = true;
  for (int k = 0; k < u->nsrc && !m && !ends; k++)
    if (mark_at(o, u->src[k])) o->graph[o->about[u->src[k]->slot]].seen = true;
  o->of[i] = (int8_t)(m == MARK_KEY || m == MARK_EDGE || ends ? about : -1);
  return m || ends;
}

/* The graph whose edges the rows of u are, -1: none. *seen: u shows the order of the edges of a graph among its
 * sources'. */
static int rows_of(const EdgeOrder *o, const UOp *u, bool *seen) {
  int from = -1, which;
  bool mixed = false;
  int nvalue = u->op == OP_FUNCTION ? 1 : u->nsrc;
  for (int k = 0; k < nvalue; k++) {
    int g = o->of[u->src[k]->slot];
    if (g < 0) continue;
    mixed |= from >= 0 && from != g;
    from = g;
  }
  *seen = from >= 0;
  if (u->op == OP_ENDPOINT) {
    *seen = false;
    return graph_of(o, u, &which);
  }
  if (u->op == OP_GATHER && u->src[1]->op == OP_ENDPOINT) {
    *seen = o->of[u->src[0]->slot] >= 0;
    return graph_of(o, u->src[1], &which);
  }
  if (u->op == OP_SEGMENT && u->src[1]->op == OP_ENDPOINT) {
    int g = graph_of(o, u->src[1], &which), x = o->of[u->src[0]->slot];
    *seen = x >= 0 ? x != g : !has_equal_rows(u->src[0]);
    return -1;
  }
  if (from < 0) return -1;
  if (u->op == OP_REDUCE) {
    *seen = mixed;
    return u->arg.j & 1 ? -1 : from;
  }
  if (op_info[u->op].cls == CLASS_MOVE) {
    *seen = !keeps_rows(u);
    return *seen ? -1 : from;
  }
  if (u->op == OP_DETACH || u->op == OP_FUNCTION) {
    *seen = false;
    return from;
  }
  if (!op_elementwise((Op)u->op) || mixed) return -1;
  for (int k = 0; k < u->nsrc; k++)
    if (o->of[u->src[k]->slot] < 0 && !has_equal_rows(u->src[k])) return -1;
  *seen = false;
  return from;
}

/* Finds the graphs the order of whose edges shows. */
static void find_seen(EdgeOrder *o, const Walk *w) {
  for (int i = 0; i < w->n; i++) {
    const UOp *u = w->at[i];
    bool seen = false;
    if (!follow_numbers(o, u)) o->of[i] = (int8_t)rows_of(o, u, &seen);
    for (int k = 0; seen && k < u->nsrc; k++) {
      int g = o->of[u->src[k]->slot];
      if (g >= 0) o->graph[g].seen = true;
    }
    int which, g = u->op == OP_SEGMENT ? graph_of(o, u->src[1], &which) : -1;
    if (g >= 0) o->graph[g].sums[which]++;
  }
}

bool edges_by_rows(PolyContext *ctx, Arena *arena, int nroot, UOp **root) {
  EdgeOrder o = {0};
  Walk w;
  if (!uop_walk(ctx, arena, nroot, root, NULL, NULL, &w)) return false;
  for (int i = 0; i < w.n; i++)
    if (w.at[i]->op == OP_ENDPOINT) note_end(&o, w.at[i]);
  if (!o.n) return true;
  size_t nodes = (size_t)w.n + 1;
  o.of = arena_new(arena, nodes);
  o.mark = arena_new(arena, nodes);
  o.about = arena_new(arena, nodes);
  o.side = arena_new(arena, nodes);
  if (!o.of || !o.mark || !o.about || !o.side) return false;
  find_seen(&o, &w);
  for (int i = 0; i < nroot; i++) {
    int at = root[i]->slot, g = o.mark[at] ? o.about[at] : o.of[at];
    if (g >= 0) o.graph[g].seen = true;
  }
  UOp *from[2 * MOST_GRAPHS], *to[2 * MOST_GRAPHS];
  int n = 0;
  for (int g = 0; g < o.n; g++) {
    const Edges *e = &o.graph[g];
    if (e->seen || !e->end[1] || (e->places[0] && e->places[1])) continue;
    int by = e->places[0] == e->places[1] ? e->sums[1] > e->sums[0] : e->places[1];
    UOp *const *own = e->end[by]->src, *const *other = e->end[!by]->src;
    UOp *iota = uop_iota(ctx, POLY_INT32, e->end[by]->shape[0]);
    from[n] = e->end[by];
    to[n++] = uop_endpoint((UOp *[]){own[END_ROWS], own[END_ROWPTR], iota, own[END_OTHERS], own[END_OTHERS],
                                     own[END_ROWS], own[END_OTHERS]});
    from[n] = e->end[!by];
    to[n++] = uop_endpoint((UOp *[]){own[END_OTHERS], other[END_ROWPTR], other[END_PLACES], other[END_OTHERS],
                                     own[END_ROWS], other[END_OTHERS], other[END_PLACES]});
    if (!to[n - 1] || !to[n - 2]) return false;
  }
  return !n || uop_replace(ctx, arena, nroot, root, n, from, to, root);
}
