/* derive.c: graphs out of graphs: reversed, with and without self loops, undirected, coalesced. In: a graph. Out:
 * another, which the first one keeps, and for each of its edges the edge that it came from.
 *
 * All but reversed mark edges (or nodes) with a byte, then copy what is marked, in order. Marking goes row by row:
 * beside each thread lies an array with, for each node, the last row in which it was met, so that "was this neighbour
 * here before?" is one look. Rows are independent, and so is copying once it is known how much each part of the edges
 * will copy: the result does not depend on the number of threads. O(V + E). */
#include "graph/graph.h"

#include "tensor/tensor.h"

#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { PARTS = 64 };

/* A byte for each of n edges or nodes. */
typedef struct Marks {
  uint8_t *at;
  int64_t n;
} Marks;

static bool marks_new(Base *b, Marks *m, int64_t n) {
  *m = (Marks){mem_new(b, (size_t)MAX(n, 1)), n};
  return m->at != NULL;
}

static void marks_free(Base *b, Marks *m) { mem_free(b, m->at, (size_t)MAX(m->n, 1)); }

static int64_t part_of(int64_t n, int p) { return n * p / PARTS; }

/* How many marks lie before each part; returns how many there are. */
static int64_t count_marks(const Marks *m, int threads, int64_t before[PARTS]) {
  int64_t total = 0;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int p = 0; p < PARTS; p++) {
    int64_t n = 0;
    for (int64_t i = part_of(m->n, p); i < part_of(m->n, p + 1); i++) n += m->at[i];
    before[p] = n;
  }
  for (int p = 0; p < PARTS; p++) {
    int64_t n = before[p];
    before[p] = total;
    total += n;
  }
  return total;
}

/* ---- the new graph ---- */

typedef struct Arrays {
  int32_t *end[2], *origin;
} Arrays;

static bool arrays_of(PolyGraph *g, Arrays *a) {
  *a = (Arrays){.end = {graph_data(g->index[SRC]), graph_data(g->index[DST])}};
  return a->end[SRC] && a->end[DST];
}

/* How many edges a derived graph has. Where the edges of g are a symbolic size, what is counted becomes one too, with a
 * name of its own: programs over the derived graphs of two such graphs are the same program. */
static UOp *counted_size(PolyGraph *g, const char *kind, int64_t count) {
  if (g->edges->op == OP_CONST) return uop_index(g->ctx, count);
  char of[96], name[128];
  snprintf(name, sizeof name, "%s of %s", kind, dim_text(g->edges, of, sizeof of));
  return uop_bind(uop_variable(g->ctx, name, 0, INT32_MAX), count);
}

/* Where the edges of g stay in front and nothing but loops follows, origins need no memory: k below their number, else
 * -1. */
static UOp *origins_in_front(PolyGraph *g, PolyGraph *h) {
  UOp *k = uop_iota(g->ctx, POLY_INT32, h->edges);
  UOp *count = k ? t_broadcast_like(t_size_value(g->edges, POLY_INT32), k) : NULL;
  return count ? t_where(t_less(k, count), k, t_int_like(k, -1)) : NULL;
}

static PolyGraph *derived_new(PolyGraph *g, UOp *edges, bool in_front, Arrays *from, Arrays *to) {
  PolyGraph *h = graph_alloc(g->ctx, edges, g->nodes[SRC], g->nodes[DST]);
  if (!h) return NULL;
  h->origin = in_front ? uop_retain(origins_in_front(g, h)) : graph_array(g->ctx, h->edges, 0);
  bool ok = h->origin && arrays_of(g, from) && arrays_of(h, to);
  if (ok && (in_front || (to->origin = graph_data(h->origin)))) return h;
  poly_graph_free(h);
  return NULL;
}

/* Edges of `from` that are marked (all, if marks is NULL) follow one another in `to` from place `at` on. */
static void copy_edges(const Arrays *from, int64_t n, const Marks *marks, const int64_t *before, bool turned,
                       const Arrays *to, int64_t at, int threads) {
  End src = turned ? DST : SRC;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int p = 0; p < PARTS; p++) {
    int64_t k = at + (marks ? before[p] : part_of(n, p));
    for (int64_t e = part_of(n, p); e < part_of(n, p + 1); e++) {
      if (marks && !marks->at[e]) continue;
      to->end[SRC][k] = from->end[src][e];
      to->end[DST][k] = from->end[other_end(src)][e];
      if (to->origin) to->origin[k] = (int32_t)e;
      k++;
    }
  }
}

/* Loops at the nodes that are marked (all, if marks is NULL), which come from no edge. */
static void add_loops(const Marks *marks, const int64_t *before, int64_t nodes, const Arrays *to, int64_t at,
                      int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int p = 0; p < PARTS; p++) {
    int64_t k = at + (marks ? before[p] : part_of(nodes, p));
    for (int64_t v = part_of(nodes, p); v < part_of(nodes, p + 1); v++) {
      if (marks && !marks->at[v]) continue;
      to->end[SRC][k] = to->end[DST][k] = (int32_t)v;
      if (to->origin) to->origin[k] = -1;
      k++;
    }
  }
}

/* ---- marking ---- */

/* Nodes that can have a loop: those with a number on both sides. */
static int64_t num_loops(const PolyGraph *g) { return MIN(g->num_nodes[SRC], g->num_nodes[DST]); }

static bool mark_not_loops(PolyGraph *g, Marks *m) {
  Arrays a;
  if (!arrays_of(g, &a)) return false;
#pragma omp parallel for num_threads(graph_threads(g, g->num_edges)) schedule(static)
  for (int64_t e = 0; e < g->num_edges; e++) m->at[e] = a.end[SRC][e] != a.end[DST][e];
  return true;
}

/* Nodes without a loop. */
static bool mark_bare_nodes(PolyGraph *g, Marks *m) {
  Arrays a;
  if (!arrays_of(g, &a)) return false;
  memset(m->at, 1, (size_t)m->n);
#pragma omp parallel for num_threads(graph_threads(g, g->num_edges)) schedule(static)
  for (int64_t e = 0; e < g->num_edges; e++)
    if (a.end[SRC][e] == a.end[DST][e]) {
#pragma omp atomic write
      m->at[a.end[SRC][e]] = 0;
    }
  return true;
}

/* Of the edges of a row from one neighbour, the first. */
static void mark_first(const RowView *in, int64_t v, int32_t *met, Marks *m) {
  for (int32_t i = in->rowptr[v]; i < in->rowptr[v + 1]; i++) {
    m->at[in->edge[i]] = met[in->other[i]] != (int32_t)v;
    met[in->other[i]] = (int32_t)v;
  }
}

/* Of the edges of a row from one neighbour to which no edge leads back, the first. */
static void mark_one_way(const RowView *in, const RowView *out, int64_t v, int32_t *met, Marks *m) {
  for (int32_t i = out->rowptr[v]; i < out->rowptr[v + 1]; i++) met[out->other[i]] = (int32_t)v;
  met[v] = (int32_t)v; /* a loop is its own way back */
  mark_first(in, v, met, m);
}

/* Edges whose backward edge is missing (both_ways), or that have no equal before them. */
static bool mark_by_rows(PolyGraph *g, bool both_ways, Marks *m) {
  Base *b = ctx_base(g->ctx);
  RowView in, out = {0};
  if (!graph_view_rows(g, DST, &in) || (both_ways && !graph_view_rows(g, SRC, &out))) return false;
  int64_t sources = g->num_nodes[SRC];
  int threads = graph_threads(g, g->num_edges);
  size_t bytes = (size_t)threads * (size_t)MAX(sources, 1) * sizeof(int32_t);
  int32_t *met = mem_resize(b, NULL, 0, bytes);
  if (!met) return false;
  memset(met, 0xff, bytes); /* -1: in no row */
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1024)
  for (int64_t v = 0; v < g->num_nodes[DST]; v++) {
    int32_t *own = met + omp_get_thread_num() * sources;
    if (both_ways)
      mark_one_way(&in, &out, v, own, m);
    else
      mark_first(&in, v, own, m);
  }
  mem_free(b, met, bytes);
  return true;
}

/* ---- one function a kind ---- */

static PolyGraph *derive_marked(PolyGraph *g, const Marks *m, const char *kind) {
  int64_t before[PARTS];
  int threads = graph_threads(g, g->num_edges);
  Arrays from, to;
  PolyGraph *h = derived_new(g, counted_size(g, kind, count_marks(m, threads, before)), false, &from, &to);
  if (h) copy_edges(&from, g->num_edges, m, before, false, &to, 0, threads);
  return h;
}

static PolyGraph *derive_no_loops(PolyGraph *g, Marks *m) {
  PolyGraph *h = mark_not_loops(g, m) ? derive_marked(g, m, "no loops") : NULL;
  if (!h || graph_origins_later(g, h, 0)) return h;
  poly_graph_free(h);
  return NULL;
}

static PolyGraph *derive_coalesced(PolyGraph *g, Marks *m) {
  return mark_by_rows(g, false, m) ? derive_marked(g, m, "distinct") : NULL;
}

static PolyGraph *derive_undirected(PolyGraph *g, Marks *m) {
  int64_t before[PARTS];
  int threads = graph_threads(g, g->num_edges);
  Arrays from, to;
  if (!mark_by_rows(g, true, m)) return NULL;
  int64_t count = g->num_edges + count_marks(m, threads, before);
  PolyGraph *h = derived_new(g, counted_size(g, "both ways", count), false, &from, &to);
  if (!h) return NULL;
  copy_edges(&from, g->num_edges, NULL, NULL, false, &to, 0, threads);
  copy_edges(&from, g->num_edges, m, before, true, &to, g->num_edges, threads);
  return h;
}

static PolyGraph *derive_missing_loops(PolyGraph *g, Marks *m) {
  int64_t before[PARTS];
  int threads = graph_threads(g, g->num_edges + num_loops(g));
  Arrays from, to;
  if (!mark_bare_nodes(g, m)) return NULL;
  int64_t count = g->num_edges + count_marks(m, threads, before);
  PolyGraph *h = derived_new(g, counted_size(g, "loops", count), true, &from, &to);
  if (!h) return NULL;
  copy_edges(&from, g->num_edges, NULL, NULL, false, &to, 0, threads);
  add_loops(m, before, num_loops(g), &to, g->num_edges, threads);
  return h;
}

static PolyGraph *derive_loops(PolyGraph *g, Marks *m) {
  (void)m;
  int threads = graph_threads(g, g->num_edges + num_loops(g));
  Arrays from, to;
  bool one_set = g->nodes[SRC] == g->nodes[DST];
  UOp *size = one_set ? int_add(g->edges, g->nodes[SRC]) : counted_size(g, "all loops", g->num_edges + num_loops(g));
  PolyGraph *h = derived_new(g, size, true, &from, &to);
  if (!h) return NULL;
  copy_edges(&from, g->num_edges, NULL, NULL, false, &to, 0, threads);
  add_loops(NULL, NULL, num_loops(g), &to, g->num_edges, threads);
  return h;
}

/* The last loop of each node, as the origin of the one that it gets. Later edges come later, whoever looks at them. */
static void note_own_loops(const Arrays *from, int64_t edges, int32_t *origin) {
  for (int64_t e = 0; e < edges; e++)
    if (from->end[SRC][e] == from->end[DST][e]) origin[from->end[SRC][e]] = (int32_t)e;
}

/* Without loops to drop it is the graph with loops, and needs no memory for where edges came from. */
static PolyGraph *derive_own_loops(PolyGraph *g, Marks *m) {
  int64_t before[PARTS];
  int threads = graph_threads(g, g->num_edges + num_loops(g));
  Arrays from, to;
  if (!mark_not_loops(g, m)) return NULL;
  int64_t kept = count_marks(m, threads, before);
  if (g->edges->op == OP_CONST && kept == g->num_edges) return derive_loops(g, m);
  PolyGraph *h = derived_new(g, counted_size(g, "own loops", kept + num_loops(g)), false, &from, &to);
  if (!h) return NULL;
  copy_edges(&from, g->num_edges, m, before, false, &to, 0, threads);
  add_loops(NULL, NULL, num_loops(g), &to, kept, threads);
  note_own_loops(&from, g->num_edges, to.origin + kept);
  if (graph_origins_later(g, h, num_loops(g))) return h;
  poly_graph_free(h);
  return NULL;
}

static const struct {
  const char *name;
  PolyGraph *(*make)(PolyGraph *g, Marks *m);
  bool one_set; /* of nodes: only where sources and destinations are the same */
  bool by_node; /* marks are for nodes, not for edges */
} kinds[] = {[DERIVED_LOOPS] = {"self loops", derive_loops, false, true},
             [DERIVED_MISSING_LOOPS] = {"self loops", derive_missing_loops, false, true},
             [DERIVED_OWN_LOOPS] = {"self loops", derive_own_loops, false, false},
             [DERIVED_NO_LOOPS] = {"self loops", derive_no_loops, false, false},
             [DERIVED_UNDIRECTED] = {"edges in both directions", derive_undirected, true, false},
             [DERIVED_COALESCED] = {"distinct edges", derive_coalesced, false, false}};

static PolyGraph *derive(PolyGraph *g, Derived kind) {
  if (!g) return NULL;
  if (g->derived[kind]) return poly_graph_retain(g->derived[kind]);
  Base *b = ctx_base(g->ctx);
  if (kinds[kind].one_set && g->num_nodes[SRC] != g->num_nodes[DST])
    return fail_null(b, POLY_ERROR_VALUE,
                     "%s need one set of nodes; this graph has %" PRId64 " source and %" PRId64 " destination nodes",
                     kinds[kind].name, g->num_nodes[SRC], g->num_nodes[DST]);
  Marks m;
  if (!marks_new(b, &m, kinds[kind].by_node ? num_loops(g) : g->num_edges)) return NULL;
  Scope s;
  scope_enter(g->ctx, &s);
  PolyGraph *h = kinds[kind].make(g, &m);
  scope_leave(g->ctx, &s);
  marks_free(b, &m);
  if (h && !graph_note_sorted(h)) {
    poly_graph_free(h);
    h = NULL;
  }
  g->derived[kind] = graph_keep(h);
  return poly_graph_retain(h);
}

PolyGraph *poly_graph_with_self_loops(PolyGraph *g, bool only_missing) {
  return derive(g, only_missing ? DERIVED_MISSING_LOOPS : DERIVED_LOOPS);
}
PolyGraph *poly_graph_with_own_loops(PolyGraph *g) { return derive(g, DERIVED_OWN_LOOPS); }
PolyGraph *poly_graph_without_self_loops(PolyGraph *g) { return derive(g, DERIVED_NO_LOOPS); }
PolyGraph *poly_graph_undirected(PolyGraph *g) { return derive(g, DERIVED_UNDIRECTED); }
PolyGraph *poly_graph_coalesced(PolyGraph *g) { return derive(g, DERIVED_COALESCED); }

/* Shares every array with g, and is the graph whose reversed is g. */
PolyGraph *poly_graph_reversed(PolyGraph *g) {
  if (!g || g->twin) return g ? poly_graph_retain(g->twin) : NULL;
  PolyGraph *h = graph_view(g);
  if (!h) return NULL;
  Scope s;
  scope_enter(g->ctx, &s);
  h->origin = uop_retain(uop_iota(g->ctx, POLY_INT32, g->edges));
  scope_leave(g->ctx, &s);
  if (!h->origin) {
    poly_graph_free(h);
    return NULL;
  }
  h->twin = g;
  g->twin = h;
  g->derived[DERIVED_REVERSED] = graph_keep(h);
  return poly_graph_retain(h);
}

/* ---- loops ---- */

bool graph_count_loops(PolyGraph *g) {
  if (g->loops) return true;
  UOp *u = graph_array(g->ctx, g->nodes[DST], 0);
  int32_t *count = graph_data(u);
  const int32_t *rowptr = graph_build_rows(g, DST) ? graph_data(g->rows[DST].rowptr) : NULL;
  const int32_t *other = rowptr ? graph_data(g->rows[DST].others) : NULL;
  if (!count || !other) {
    uop_release(u);
    return false;
  }
#pragma omp parallel for num_threads(graph_threads(g, g->num_edges)) schedule(dynamic, 1024)
  for (int64_t v = 0; v < g->num_nodes[DST]; v++) {
    int32_t n = 0;
    for (int64_t i = rowptr[v]; i < rowptr[v + 1]; i++) n += other[i] == v;
    count[v] = n;
  }
  g->loops = u;
  return true;
}

PolyTensor *poly_graph_loops(PolyGraph *g) { return g && graph_count_loops(g) ? graph_handle(g, g->loops) : NULL; }

/* ---- arrays ---- */

typedef struct Listing {
  PolyContext *ctx;
  PolyTensor **out;
  int n, max;
} Listing;

/* Arrays that two graphs share (a graph and its reversed) are listed twice in `like` as well as here: once is enough.
 */
static bool list_array(Listing *l, UOp *array, const UOp *like) {
  if (!like || like->op != OP_BUFFER) return true;
  if (!array) return false;
  for (int k = 0; k < l->n && k < l->max; k++)
    if (l->out[k]->uop == array) return true;
  if (l->n < l->max && !(l->out[l->n] = tensor_wrap(l->ctx, array))) return false;
  l->n++;
  return true;
}

static bool list_arrays(Listing *l, PolyGraph *g, PolyGraph *like) {
  for (int k = 0; k < 2; k++) {
    const EdgeRows *r = &g->rows[k], *s = &like->rows[k];
    if (s->rowptr && !graph_build_rows(g, (End)k)) return false;
    if (!list_array(l, g->index[k], like->index[k]) || !list_array(l, r->rowptr, s->rowptr) ||
        !list_array(l, r->entries, s->entries) || !list_array(l, r->others, s->others))
      return false;
    if (s->rows && !graph_order_edges(g)) return false;
    if (!list_array(l, r->rows, s->rows) || !list_array(l, r->places, s->places)) return false;
  }
  if (like->loops && !graph_count_loops(g)) return false;
  if (!list_array(l, g->origin, like->origin) || !list_array(l, g->loops, like->loops)) return false;
  for (int k = 0; k < DERIVED_COUNT; k++) {
    if (!like->derived[k]) continue;
    PolyGraph *child = k == DERIVED_REVERSED ? poly_graph_reversed(g) : derive(g, (Derived)k);
    bool ok = child && list_arrays(l, child, like->derived[k]);
    poly_graph_free(child);
    if (!ok) return false;
  }
  return true;
}

int poly_graph_arrays(PolyGraph *g, PolyGraph *like, PolyTensor **out, int max) {
  if (!g || !like) return -1;
  Listing l = {.ctx = g->ctx, .out = out, .max = max};
  if (list_arrays(&l, g, like)) return l.n;
  for (int k = 0; k < l.n && k < max; k++) poly_free(out[k]);
  return -1;
}
