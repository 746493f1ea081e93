/* match.c: nodes of a graph put together, and paths of two edges.
 *
 *   match     pairs of neighbours, node by node in a random order (the coarsening step of Graclus)
 *   contract  edges by falling score, each unless one of its ends is taken already
 *   product   for each path i -> j -> k over an edge of one graph and one of another, an edge i -> k
 *
 * In: a graph and values of its edges. Out: indices; what values do with them is the caller's business, but for
 * products whose values are known: there are many more paths than edges, and they need not be stored. The first two go
 * one step at a time, because each choice rules out others; the third takes the rows of the first graph in parallel. */
#include "graph/graph.h"
#include "algorithms/sampler.h"

#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Values of the edges as doubles, or NULL: an error was set. */
static double *edge_values(PolyGraph *g, PolyTensor *t, const char *what) {
  Base *b = ctx_base(g->ctx);
  if (t->ctx != g->ctx) return fail_null(b, POLY_ERROR_VALUE, "%s: values of another context", what);
  if (poly_numel(t) != g->num_edges)
    return fail_null(b, POLY_ERROR_VALUE, "%s: %" PRId64 " values for %" PRId64 " edges", what, poly_numel(t),
                     g->num_edges);
  PolyDType d = poly_dtype(t);
  if (d != POLY_FLOAT32 && d != POLY_FLOAT64)
    return fail_null(b, POLY_ERROR_TYPE, "%s: values are float32 or float64, not %s", what, poly_dtype_name(d));
  size_t n = (size_t)g->num_edges;
  double *v = mem_new(b, MAX(n, 1) * sizeof *v);
  if (!v || !n) return v;
  size_t bytes = n * (d == POLY_FLOAT32 ? sizeof(float) : sizeof(double));
  char *from = (char *)v + (n * sizeof(double) - bytes); /* spread out from the front; never ahead of what is read */
  if (poly_read(t, from, bytes) != POLY_OK) {
    mem_free(b, v, n * sizeof *v);
    return NULL;
  }
  for (size_t i = 0; d == POLY_FLOAT32 && i < n; i++) {
    float x;
    memcpy(&x, from + i * sizeof x, sizeof x);
    v[i] = x;
  }
  return v;
}

static void free_values(PolyGraph *g, double *v) {
  mem_free(ctx_base(g->ctx), v, (size_t)MAX(g->num_edges, 1) * sizeof *v);
}

static bool check_one_set(PolyGraph *g, const char *what) {
  return g->num_nodes[SRC] == g->num_nodes[DST] ||
         base_fail(ctx_base(g->ctx), POLY_ERROR_VALUE,
                   "%s needs one set of nodes, not %" PRId64 " sources and %" PRId64 " destinations", what,
                   g->num_nodes[SRC], g->num_nodes[DST]);
}

/* ---- match ---- */

/* The partner of u: the free neighbour with the largest weight, which must not be negative, the last of equals; without
 * weights one of the free neighbours at random. u itself if there is none. */
static int64_t partner(const RowView *r, int64_t u, const double *weight, const int64_t *cluster, Random *random) {
  int64_t best = u, seen = 0;
  double most = 0;
  for (int64_t i = r->rowptr[u]; i < r->rowptr[u + 1]; i++) {
    int64_t v = r->other[i];
    if (v == u || cluster[v] >= 0) continue;
    if (weight) {
      if (weight[r->edge[i]] >= most) best = v, most = weight[r->edge[i]];
    } else if (random_below(random, ++seen) == 0)
      best = v;
  }
  return best;
}

static void match_nodes(const RowView *r, int64_t nodes, const double *weight, int64_t *order, int64_t *cluster,
                        Random random) {
  for (int64_t v = 0; v < nodes; v++) order[v] = v, cluster[v] = -1;
  for (int64_t i = nodes - 1; i > 0; i--) {
    int64_t j = random_below(&random, i + 1), v = order[i];
    order[i] = order[j], order[j] = v;
  }
  for (int64_t i = 0; i < nodes; i++) {
    int64_t u = order[i];
    if (cluster[u] >= 0) continue;
    int64_t v = partner(r, u, weight, cluster, &random);
    cluster[u] = cluster[v] = MIN(u, v);
  }
}

PolyTensor *poly_graph_match(PolyGraph *g, PolyTensor *weight, uint64_t seed) {
  if (!g) return NULL;
  Base *b = ctx_base(g->ctx);
  RowView rows;
  if (!check_one_set(g, "match") || !graph_view_rows(g, SRC, &rows)) return NULL;
  double *values = NULL;
  if (weight && !(values = edge_values(g, weight, "match"))) return NULL;
  int64_t nodes = g->num_nodes[SRC];
  size_t bytes = 2 * (size_t)MAX(nodes, 1) * sizeof(int64_t);
  int64_t *memory = mem_new(b, bytes);
  PolyTensor *t = NULL;
  if (memory) {
    match_nodes(&rows, nodes, values, memory, memory + nodes, (Random){random_mix(seed)});
    t = poly_from_data(g->ctx, memory + nodes, POLY_INT64, 1, &nodes);
  }
  mem_free(b, memory, bytes);
  if (values) free_values(g, values);
  return t;
}

/* ---- contract ---- */

typedef struct Scored {
  double score;
  int32_t edge;
} Scored;

/* Falling scores; NaN last; equal ones in their order. */
static int by_score(const void *a, const void *b) {
  const Scored *x = a, *y = b;
  if (x->score != y->score && !(isnan(x->score) && isnan(y->score)))
    return x->score > y->score || isnan(y->score) ? -1 : 1;
  return (x->edge > y->edge) - (x->edge < y->edge);
}

/* Returns how many edges were chosen; they come first in `chosen`, and make the clusters 0, 1, 2 ... in that order. */
static int64_t contract_edges(PolyGraph *g, const Scored *order, const int32_t *src, const int32_t *dst,
                              int64_t *cluster, int64_t *chosen) {
  int64_t count = 0, nodes = g->num_nodes[SRC];
  for (int64_t v = 0; v < nodes; v++) cluster[v] = -1;
  for (int64_t i = 0; i < g->num_edges; i++) {
    int32_t e = order[i].edge;
    if (cluster[src[e]] >= 0 || cluster[dst[e]] >= 0) continue;
    cluster[src[e]] = cluster[dst[e]] = count;
    chosen[count++] = e;
  }
  for (int64_t v = 0, next = count; v < nodes; v++)
    if (cluster[v] < 0) cluster[v] = next++;
  return count;
}

PolyTensor *poly_graph_contract(PolyGraph *g, PolyTensor *score, PolyTensor **chosen) {
  if (chosen) *chosen = NULL;
  if (!g || !score || !chosen || !check_one_set(g, "contract")) return NULL;
  Base *b = ctx_base(g->ctx);
  const int32_t *src = graph_data(g->index[SRC]), *dst = graph_data(g->index[DST]);
  double *values = src && dst ? edge_values(g, score, "contract") : NULL;
  if (!values) return NULL;
  int64_t nodes = g->num_nodes[SRC], edges = g->num_edges;
  size_t order_bytes = (size_t)MAX(edges, 1) * sizeof(Scored);
  size_t bytes = (size_t)MAX(nodes + MIN(nodes, edges), 1) * sizeof(int64_t);
  Scored *order = mem_new(b, order_bytes);
  int64_t *memory = mem_new(b, bytes);
  PolyTensor *t = NULL;
  if (order && memory) {
    for (int64_t e = 0; e < edges; e++) order[e] = (Scored){values[e], (int32_t)e};
    qsort(order, (size_t)edges, sizeof *order, by_score);
    int64_t count = contract_edges(g, order, src, dst, memory, memory + nodes);
    *chosen = poly_from_data(g->ctx, memory + nodes, POLY_INT64, 1, &count);
    t = *chosen ? poly_from_data(g->ctx, memory, POLY_INT64, 1, &nodes) : NULL;
    if (!t) poly_free(*chosen), *chosen = NULL;
  }
  mem_free(b, memory, bytes);
  mem_free(b, order, order_bytes);
  free_values(g, values);
  return t;
}

/* ---- product ---- */

/* What one thread knows of the row that it is at: by node, in which row it was reached last (plus 1), and its place
 * among the row's edges. */
typedef struct Seen {
  int32_t *row, *place;
} Seen;

typedef struct Product {
  RowView a, b;
  int64_t rows, columns;
  int64_t *paths, *edges; /* [rows + 1]: where the paths and the edges of each row begin */
  int32_t *seen;          /* [threads][2][columns] */
  int32_t *src, *dst;     /* of the new edges */
  int32_t *from_a, *from_b, *to;
  /* where values are asked for: those of both graphs in the order of their rows, NULL for ones, and the new ones */
  const double *value_a, *value_b;
  double *sums; /* [threads][columns]: of the row at hand, by node */
  PolyDType dtype;
  /* rows that are on their way: where each has room for its edges, and these with their values */
  int64_t *room;
  int32_t *new_dst;
  char *new_value;
} Product;

static Seen seen_of(const Product *p) {
  int32_t *at = p->seen + 2 * (size_t)p->columns * (size_t)omp_get_thread_num();
  return (Seen){at, at + p->columns};
}

static void count_row(const Product *p, int64_t i, Seen seen) {
  int64_t paths = 0, edges = 0;
  for (int64_t x = p->a.rowptr[i]; x < p->a.rowptr[i + 1]; x++) {
    int32_t j = p->a.other[x];
    paths += p->b.rowptr[j + 1] - p->b.rowptr[j];
    for (int64_t y = p->b.rowptr[j]; y < p->b.rowptr[j + 1]; y++) {
      int32_t k = p->b.other[y];
      edges += seen.row[k] != (int32_t)i + 1;
      seen.row[k] = (int32_t)i + 1;
    }
  }
  p->paths[i + 1] = paths;
  p->edges[i + 1] = edges;
}

/* The destinations of the row as they are reached; then each path to the place of its edge. Paths of one edge keep the
 * order of the edges of a, then of b. next: for each edge of the row, where its next path goes. */
static void fill_row(const Product *p, int64_t i, Seen seen, int64_t *next) {
  int64_t first = p->edges[i], n = 0;
  for (int64_t x = p->a.rowptr[i]; x < p->a.rowptr[i + 1]; x++) {
    int32_t j = p->a.other[x];
    for (int64_t y = p->b.rowptr[j]; y < p->b.rowptr[j + 1]; y++) {
      int32_t k = p->b.other[y];
      if (seen.row[k] == (int32_t)i + 1) continue;
      seen.row[k] = (int32_t)i + 1;
      seen.place[k] = (int32_t)n;
      p->dst[first + n++] = k;
    }
  }
  for (int64_t e = 0; e < n; e++) {
    p->src[first + e] = (int32_t)i;
    next[first + e] = 0;
  }
  for (int64_t x = p->a.rowptr[i]; x < p->a.rowptr[i + 1]; x++) {
    int32_t j = p->a.other[x];
    for (int64_t y = p->b.rowptr[j]; y < p->b.rowptr[j + 1]; y++) next[first + seen.place[p->b.other[y]]]++;
  }
  for (int64_t e = 0, at = p->paths[i]; e < n; e++) {
    int64_t count = next[first + e];
    next[first + e] = at;
    at += count;
  }
  for (int64_t x = p->a.rowptr[i]; x < p->a.rowptr[i + 1]; x++) {
    int32_t j = p->a.other[x];
    for (int64_t y = p->b.rowptr[j]; y < p->b.rowptr[j + 1]; y++) {
      int32_t e = seen.place[p->b.other[y]];
      int64_t at = next[first + e]++;
      p->from_a[at] = p->a.edge[x];
      p->from_b[at] = p->b.edge[y];
      p->to[at] = (int32_t)(first + e);
    }
  }
}

static void sum_up(int64_t *v, int64_t n) {
  for (int64_t i = 0; i < n; i++) v[i + 1] += v[i];
}

/* Second half: rows are known to fit. */
static PolyGraph *product_fill(PolyGraph *a, PolyGraph *b, Product *p, PolyTensor **paths, int threads) {
  PolyContext *ctx = a->ctx;
  Base *base = ctx_base(ctx);
  int64_t edges = p->edges[p->rows], total = p->paths[p->rows], shape[2] = {3, total};
  Scope s;
  scope_enter(ctx, &s);
  PolyGraph *g = graph_alloc(ctx, uop_index(ctx, edges), a->nodes[SRC], b->nodes[DST]);
  scope_leave(ctx, &s);
  size_t from_bytes = 3 * (size_t)MAX(total, 1) * sizeof(int32_t), next_bytes = (size_t)MAX(edges, 1) * sizeof(int64_t);
  int32_t *from = g ? mem_new(base, from_bytes) : NULL;
  int64_t *next = from ? mem_new(base, next_bytes) : NULL;
  if (next && (p->src = graph_data(g->index[SRC])) && (p->dst = graph_data(g->index[DST]))) {
    p->from_a = from, p->from_b = from + total, p->to = from + 2 * total;
    memset(p->seen, 0, 2 * (size_t)threads * (size_t)p->columns * sizeof *p->seen);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 256)
    for (int64_t i = 0; i < p->rows; i++) fill_row(p, i, seen_of(p), next);
    if (graph_note_sorted(g)) *paths = poly_from_data(ctx, from, POLY_INT32, 2, shape);
  }
  if (next) mem_free(base, next, next_bytes);
  if (from) mem_free(base, from, from_bytes);
  if (*paths) return g;
  poly_graph_free(g);
  return NULL;
}

/* A row's edges as they are reached, with the sum over their paths, to its room. No branch: whether a node was reached
 * before is guessed wrong too often. */
static void sum_row(const Product *p, int64_t i, int32_t *seen, double *sums) {
  int32_t *dst = p->new_dst + p->room[i], row = (int32_t)i + 1;
  int64_t n = 0;
  for (int64_t x = p->a.rowptr[i]; x < p->a.rowptr[i + 1]; x++) {
    int32_t j = p->a.other[x];
    double va = p->value_a ? p->value_a[x] : 1;
    for (int64_t y = p->b.rowptr[j]; y < p->b.rowptr[j + 1]; y++) {
      int32_t k = p->b.other[y];
      double v = p->value_b ? va * p->value_b[y] : va, sum = sums[k] + v;
      bool again = seen[k] == row;
      seen[k] = row;
      dst[n] = k;
      n += !again;
      sums[k] = again ? sum : v;
    }
  }
  for (int64_t e = 0; e < n; e++) {
    if (p->dtype == POLY_FLOAT32)
      ((float *)p->new_value)[p->room[i] + e] = (float)sums[dst[e]];
    else
      ((double *)p->new_value)[p->room[i] + e] = sums[dst[e]];
  }
  p->edges[i + 1] = n;
}

/* Entries that the rows of a round may come to. How many edges a row has is known once its sums are, and there may be
 * many more paths: so some rows at a time are computed, and what they have is put together. */
enum { ROUND = 1 << 18 };

/* An upper bound of the number of edges of row i; one more may be written, and is not kept. */
static int64_t row_room(const Product *p, int64_t i) { return MIN(p->paths[i + 1], p->columns) + 1; }

static int64_t round_end(Product *p, int64_t from, int64_t *room) {
  int64_t i = from, at = 0;
  for (; i < p->rows && (i == from || at + row_room(p, i) <= ROUND); i++) {
    p->room[i] = at;
    at += row_room(p, i);
  }
  *room = at;
  return i;
}

/* The edges of all rows and their values. */
typedef struct Summed {
  size_t size; /* of a value */
  void *dst, *value;
  size_t dst_bytes, value_bytes;
} Summed;

static bool summed_reserve(Base *b, void **at, size_t *bytes, size_t need) {
  if (need <= *bytes) return true;
  size_t more = MAX(need, 2 * *bytes);
  void *p = mem_resize(b, *at, *bytes, more);
  if (!p) return false;
  *at = p;
  *bytes = more;
  return true;
}

/* Takes what a round has computed. */
static bool take_rows(Base *b, Product *p, int64_t from, int64_t to, Summed *s, int threads) {
  for (int64_t i = from; i < to; i++) p->edges[i + 1] += p->edges[i];
  int64_t all = p->edges[to];
  if (all > INT32_MAX) return base_fail(b, POLY_ERROR_VALUE, "product: more than %d edges are too many", INT32_MAX);
  if (!summed_reserve(b, &s->dst, &s->dst_bytes, (size_t)all * sizeof(int32_t)) ||
      !summed_reserve(b, &s->value, &s->value_bytes, (size_t)all * s->size))
    return false;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = from; i < to; i++) {
    size_t at = (size_t)p->edges[i], n = (size_t)(p->edges[i + 1] - p->edges[i]), room = (size_t)p->room[i];
    if (!n) continue;
    memcpy((int32_t *)s->dst + at, p->new_dst + room, n * sizeof(int32_t));
    memcpy((char *)s->value + at * s->size, p->new_value + room * s->size, n * s->size);
  }
  return true;
}

static bool sum_rounds(Base *b, Product *p, Summed *s, int threads) {
  int64_t room = 0, most = 0;
  for (int64_t from = 0; from < p->rows; most = MAX(most, room)) from = round_end(p, from, &room);
  size_t dst_bytes = (size_t)MAX(most, 1) * sizeof *p->new_dst, value_bytes = (size_t)MAX(most, 1) * s->size;
  p->new_dst = mem_resize(b, NULL, 0, dst_bytes);
  p->new_value = p->new_dst ? mem_resize(b, NULL, 0, value_bytes) : NULL;
  bool ok = p->new_value;
  for (int64_t from = 0, to; ok && from < p->rows; from = to) {
    to = round_end(p, from, &room);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 8)
    for (int64_t i = from; i < to; i++) sum_row(p, i, seen_of(p).row, p->sums + p->columns * omp_get_thread_num());
    ok = take_rows(b, p, from, to, s, threads);
  }
  mem_free(b, p->new_value, p->new_value ? value_bytes : 0);
  mem_free(b, p->new_dst, p->new_dst ? dst_bytes : 0);
  return ok;
}

/* The graph of the sums. */
static PolyGraph *summed_graph(PolyGraph *a, PolyGraph *b, Product *p, const Summed *s, PolyTensor **values) {
  PolyContext *ctx = a->ctx;
  int64_t edges = p->edges[p->rows];
  Scope scope;
  scope_enter(ctx, &scope);
  PolyGraph *g = graph_alloc(ctx, uop_index(ctx, edges), a->nodes[SRC], b->nodes[DST]);
  scope_leave(ctx, &scope);
  if (g && (p->src = graph_data(g->index[SRC])) && (p->dst = graph_data(g->index[DST]))) {
    for (int64_t i = 0; i < p->rows; i++)
      for (int64_t e = p->edges[i]; e < p->edges[i + 1]; e++) p->src[e] = (int32_t)i;
    if (edges) memcpy(p->dst, s->dst, (size_t)edges * sizeof *p->dst);
    if (graph_note_sorted(g)) *values = poly_from_data(ctx, edges ? s->value : "", p->dtype, 1, &edges);
  }
  if (*values) return g;
  poly_graph_free(g);
  return NULL;
}

/* Second half where values are known. */
static PolyGraph *product_sum(PolyGraph *a, PolyGraph *b, Product *p, PolyTensor **values, int threads) {
  Base *base = ctx_base(a->ctx);
  size_t sum_bytes = (size_t)threads * (size_t)MAX(p->columns, 1) * sizeof *p->sums;
  size_t room_bytes = (size_t)(p->rows + 1) * sizeof *p->room;
  Summed s = {.size = (size_t)dtype_size(p->dtype)};
  PolyGraph *g = NULL;
  p->sums = mem_new(base, sum_bytes);
  p->room = p->sums ? mem_new(base, room_bytes) : NULL;
  if (p->room && sum_rounds(base, p, &s, threads)) g = summed_graph(a, b, p, &s, values);
  mem_free(base, s.dst, s.dst_bytes);
  mem_free(base, s.value, s.value_bytes);
  mem_free(base, p->room, p->room ? room_bytes : 0);
  mem_free(base, p->sums, p->sums ? sum_bytes : 0);
  return g;
}

/* How many paths the rows have. */
static void count_paths(const Product *p, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < p->rows; i++) {
    int64_t paths = 0;
    for (int64_t x = p->a.rowptr[i]; x < p->a.rowptr[i + 1]; x++)
      paths += p->b.rowptr[p->a.other[x] + 1] - p->b.rowptr[p->a.other[x]];
    p->paths[i + 1] = paths;
  }
}

/* Both halves; p may have values, and gets the rest. out: paths or values. */
static PolyGraph *product_of(PolyGraph *a, PolyGraph *b, Product *p, bool sums, PolyTensor **out) {
  Base *base = ctx_base(a->ctx);
  p->rows = a->num_nodes[SRC], p->columns = b->num_nodes[DST];
  if (!graph_view_rows(a, SRC, &p->a) || !graph_view_rows(b, SRC, &p->b)) return NULL;
  int threads = graph_threads(a, a->num_edges + b->num_edges);
  size_t count_bytes = 2 * (size_t)(p->rows + 1) * sizeof(int64_t);
  size_t seen_bytes = 2 * (size_t)threads * (size_t)MAX(p->columns, 1) * sizeof(int32_t);
  PolyGraph *g = NULL;
  p->paths = mem_new(base, count_bytes);
  p->seen = p->paths ? mem_new(base, seen_bytes) : NULL;
  if (p->seen) {
    p->edges = p->paths + p->rows + 1;
    if (sums) {
      count_paths(p, threads);
      g = product_sum(a, b, p, out, threads);
    } else {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 256)
      for (int64_t i = 0; i < p->rows; i++) count_row(p, i, seen_of(p));
      sum_up(p->paths, p->rows);
      sum_up(p->edges, p->rows);
      int64_t most = p->paths[p->rows];
      if (most > INT32_MAX)
        base_fail(base, POLY_ERROR_VALUE, "product: %" PRId64 " paths of two edges are too many", most);
      else
        g = product_fill(a, b, p, out, threads);
    }
  }
  mem_free(base, p->seen, p->seen ? seen_bytes : 0);
  mem_free(base, p->paths, p->paths ? count_bytes : 0);
  return g;
}

static bool check_inner(PolyGraph *a, PolyGraph *b) {
  return (a->ctx == b->ctx && a->num_nodes[DST] == b->num_nodes[SRC]) ||
         base_fail(ctx_base(a->ctx), POLY_ERROR_VALUE,
                   "product: the first graph leads to %" PRId64 " nodes, the second comes from %" PRId64,
                   a->num_nodes[DST], b->num_nodes[SRC]);
}

PolyGraph *poly_graph_product(PolyGraph *a, PolyGraph *b, PolyTensor **paths) {
  if (paths) *paths = NULL;
  if (!a || !b || !paths || !check_inner(a, b)) return NULL;
  return product_of(a, b, &(Product){0}, false, paths);
}

/* Values t of g's edges in the order of its rows, which a product reads them in; NULL: an error was set. */
static double *row_values(PolyGraph *g, PolyTensor *t) {
  RowView r;
  double *by_edge = graph_view_rows(g, SRC, &r) ? edge_values(g, t, "product") : NULL;
  double *by_row = by_edge ? mem_new(ctx_base(g->ctx), (size_t)MAX(g->num_edges, 1) * sizeof *by_row) : NULL;
  for (int64_t i = 0; by_row && i < g->num_edges; i++) by_row[i] = by_edge[r.edge[i]];
  if (by_edge) free_values(g, by_edge);
  return by_row;
}

PolyGraph *poly_graph_product_values(PolyGraph *a, PolyTensor *x, PolyGraph *b, PolyTensor *y, PolyTensor **values) {
  if (values) *values = NULL;
  if (!a || !b || !values || !check_inner(a, b)) return NULL;
  bool wide = (x && poly_dtype(x) == POLY_FLOAT64) || (y && poly_dtype(y) == POLY_FLOAT64);
  double *value_a = NULL, *value_b = NULL;
  PolyGraph *g = NULL;
  if ((!x || (value_a = row_values(a, x))) && (!y || (value_b = row_values(b, y)))) {
    Product p = {.value_a = value_a, .value_b = value_b, .dtype = wide ? POLY_FLOAT64 : POLY_FLOAT32};
    g = product_of(a, b, &p, true, values);
  }
  if (value_a) free_values(a, value_a);
  if (value_b) free_values(b, value_b);
  return g;
}
