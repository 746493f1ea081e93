/* graph.c: graphs: made from pairs, rows or an edge_index tensor; checked once; counted; and their arrays at the API.
 *
 * In: indices in host memory, int32 or int64. Out: a PolyGraph with int32 arrays in which every index is known to be in
 * range, which is why kernels check nothing.
 *
 * A context keeps a list of its graphs, so that none outlives it, and a short table from edge_index tensors to graphs.
 * The table holds the tensor's node, so its address cannot come back as another tensor; an entry goes when nobody else
 * holds the node, or when its memory was overwritten. */
#include "base/threads.h"
#include "base/handles.h"
#include "graph/graph.h"

#include "runtime/device.h"

#include <inttypes.h>
#include <string.h>

enum { KNOWN = 16, PARALLEL = 1 << 15 };

/* An edge_index tensor and its graph. */
typedef struct Known {
  UOp *node;
  int64_t asked[2]; /* numbers of nodes, as they were given */
  uint64_t hash[2]; /* of its rows */
  PolyGraph *graph;
  uint64_t used;
} Known;

struct Graphs {
  PolyGraph *first;
  Known known[KNOWN];
  uint64_t clock;
};

int graph_threads(const PolyGraph *g, int64_t work) {
  return work < PARALLEL ? 1 : threads_allowed(poly_threads(g->ctx));
}

/* ---- freeing ---- */

static void unlink_graph(PolyGraph *g) {
  if (g->prev) g->prev->next = g->next;
  if (g->next) g->next->prev = g->prev;
  if (g->ctx->graphs->first == g) g->ctx->graphs->first = g->next;
}

static EdgeRows rows_retain(const EdgeRows *r) {
  return (EdgeRows){
      .rowptr = uop_retain(r->rowptr), .entries = uop_retain(r->entries), .others = uop_retain(r->others)};
}

static void rows_release(const EdgeRows *r) {
  uop_release(r->rowptr);
  uop_release(r->entries);
  uop_release(r->others);
  uop_release(r->rows);
  uop_release(r->places);
}

/* Everything but the graph itself and what it derived. */
static void release_arrays(PolyGraph *g) {
  for (int k = 0; k < 2; k++) {
    uop_release(g->end[k]);
    rows_release(&g->rows[k]);
    uop_release(g->index[k]);
    uop_release(g->shown[k]);
    uop_release(g->nodes[k]);
  }
  uop_release(g->edges);
  uop_release(g->origin);
  uop_release(g->loops);
  for (int k = 0; k < 4; k++) uop_release(g->norm[k / 2][k % 2]);
  uop_release(g->own);
  if (g->twin) g->twin->twin = NULL;
}

/* Graphs that die with the last reference wait in a list threaded through `next`: a long chain of derived graphs needs
 * no stack. */
static void release_graph(PolyGraph *g) {
  if (--g->refs) return;
  unlink_graph(g);
  g->next = NULL;
  for (PolyGraph *dead = g; dead;) {
    PolyGraph *d = dead;
    dead = d->next;
    release_arrays(d);
    for (int k = 0; k < DERIVED_COUNT; k++) {
      PolyGraph *child = d->derived[k];
      if (!child || --child->refs) continue;
      unlink_graph(child);
      child->next = dead;
      dead = child;
    }
    handle_free(ctx_base(d->ctx), d, sizeof *d);
  }
}

static void forget(Known *k) {
  if (!k->node) return;
  uop_release(k->node);
  release_graph(k->graph);
  *k = (Known){0};
}

static bool is_gone(const Known *k) {
  return k->node && (k->node->refs == 1 || !k->node->buffer || k->node->buffer->stale);
}

static void forget_gone(struct Graphs *all) {
  for (int i = 0; i < KNOWN; i++)
    if (is_gone(&all->known[i])) forget(&all->known[i]);
}

/* With the context go all its graphs, whoever still holds them. */
static void graphs_free(PolyContext *ctx) {
  vertex_free_all(ctx);
  struct Graphs *all = ctx->graphs;
  for (int i = 0; i < KNOWN; i++) forget(&all->known[i]);
  while (all->first) {
    PolyGraph *g = all->first;
    all->first = g->next;
    g->twin = NULL;
    release_arrays(g);
    handle_free(ctx_base(ctx), g, sizeof *g);
  }
  mem_free(ctx_base(ctx), all, sizeof *all);
  ctx->graphs = NULL;
}

static bool graphs_open(PolyContext *ctx) {
  if (ctx->graphs) return true;
  ctx->graphs = mem_new(ctx_base(ctx), sizeof *ctx->graphs);
  ctx->graphs_free = graphs_free;
  return ctx->graphs != NULL;
}

PolyGraph *graph_hold(PolyGraph *g) {
  if (g) g->refs++;
  return g;
}

PolyGraph *graph_keep(PolyGraph *g) {
  if (g) g->given--;
  return g;
}

void graph_drop(PolyGraph *g) {
  if (!g) return;
  struct Graphs *all = g->ctx->graphs;
  release_graph(g);
  forget_gone(all);
}

PolyGraph *poly_graph_retain(PolyGraph *g) {
  if (g) g->given++;
  return graph_hold(g);
}

void poly_graph_free(PolyGraph *g) {
  if (!g) return;
  if (g->given <= 0) {
    base_fail(ctx_base(g->ctx), POLY_ERROR_VALUE, "poly_graph_free: argument g was freed before");
    return;
  }
  g->given--;
  graph_drop(g);
}

/* ---- arrays ---- */

static int64_t size_now(UOp *size) { return poly_dim_value(size->ctx, dim_to_api(size)); }

/* Arrays are filled on the host, before anything else uses them. A plan brings them to its device. */
UOp *graph_array(PolyContext *ctx, UOp *size, int64_t more) {
  if (!size) return NULL;
  int64_t n = size_now(size) + more;
  Scope s;
  scope_enter(ctx, &s);
  PolyBuffer *b = buffer_new(host_memory(ctx->runtime), (size_t)n * sizeof(int32_t));
  UOp *u = b ? uop_retain(uop_buffer(ctx, POLY_INT32, 1, &size)) : NULL;
  scope_leave(ctx, &s);
  if (u)
    u->buffer = b;
  else
    buffer_release(b);
  return u;
}

int32_t *graph_data(UOp *array) { return array ? buffer_read(array->buffer, host_memory(array->ctx->runtime)) : NULL; }

static bool check_count(PolyContext *ctx, int64_t n, const char *what) {
  return n <= INT32_MAX ||
         base_fail(ctx_base(ctx), POLY_ERROR_VALUE, "%" PRId64 " %s: a graph has at most %d", n, what, INT32_MAX);
}

static PolyGraph *graph_new(PolyContext *ctx, UOp *edges, UOp *src, UOp *dst) {
  PolyGraph *g = graphs_open(ctx) ? handle_new(ctx_base(ctx), sizeof *g, HANDLE_GRAPH, ctx) : NULL;
  if (!g) return NULL;
  *g = (PolyGraph){.ctx = ctx, .refs = 1, .given = 1, .num_edges = size_now(edges)};
  g->num_nodes[SRC] = size_now(src);
  g->num_nodes[DST] = size_now(dst);
  g->edges = uop_retain(edges);
  g->nodes[SRC] = uop_retain(src);
  g->nodes[DST] = uop_retain(dst);
  forget_gone(ctx->graphs);
  g->next = ctx->graphs->first;
  if (g->next) g->next->prev = g;
  ctx->graphs->first = g;
  return g;
}

/* One without arrays. */
static PolyGraph *graph_bare(PolyContext *ctx, UOp *edges, UOp *src, UOp *dst) {
  if (!edges || !src || !dst || !check_count(ctx, size_now(edges), "edges") ||
      !check_count(ctx, size_now(src), "source nodes") || !check_count(ctx, size_now(dst), "destination nodes"))
    return NULL;
  return graph_new(ctx, edges, src, dst);
}

PolyGraph *graph_alloc(PolyContext *ctx, UOp *edges, UOp *src, UOp *dst) {
  PolyGraph *g = graph_bare(ctx, edges, src, dst);
  if (!g) return NULL;
  for (int k = 0; k < 2; k++) g->index[k] = graph_array(ctx, edges, 0);
  if (g->index[SRC] && g->index[DST]) return g;
  release_graph(g);
  return NULL;
}

PolyGraph *graph_view(PolyGraph *g) {
  PolyGraph *h = graph_new(g->ctx, g->edges, g->nodes[DST], g->nodes[SRC]);
  if (!h) return NULL;
  for (int k = 0; k < 2; k++) {
    h->index[k] = uop_retain(g->index[!k]);
    h->sorted[k] = g->sorted[!k];
  }
  return h;
}

bool graph_build_rows(PolyGraph *g, End end) {
  if (g->rows[end].rowptr) return true;
  End other = other_end(end);
  if (g->twin && g->twin->rows[other].rowptr) {
    g->rows[end] = rows_retain(&g->twin->rows[other]);
    return true;
  }
  bool done;
  if (!graph_rows_on_device(g, end, &done) || done) return g->rows[end].rowptr != NULL;
  Scope s;
  scope_enter(g->ctx, &s);
  int64_t table = g->num_nodes[end] + ROW_BINS;
  EdgeRows new = {.rowptr = graph_array(g->ctx, int_addc(g->nodes[end], 1), table),
                  .entries = graph_array(g->ctx, g->edges, 0),
                  .others = graph_array(g->ctx, g->edges, 0)};
  Rows rows = {.key = graph_data(g->index[end]),
               .other = graph_data(g->index[other]),
               .rows = g->num_nodes[end],
               .entries = g->num_edges,
               .sorted = g->sorted[end],
               .rowptr = graph_data(new.rowptr),
               .entry_out = graph_data(new.entries),
               .other_out = graph_data(new.others),
               .threads = graph_threads(g, g->num_edges + g->num_nodes[end])};
  bool memory = rows.key && rows.other && rows.rowptr && rows.entry_out && rows.other_out;
  if (memory && rows_build(ctx_base(g->ctx), &rows)) {
    rows_by_length(rows.rowptr, rows.rows, rows.rowptr + rows.rows + 1);
    g->rows[end] = new;
  } else {
    rows_release(&new);
  }
  scope_leave(g->ctx, &s);
  return g->rows[end].rowptr != NULL;
}

bool graph_view_rows(PolyGraph *g, End end, RowView *out) {
  if (!graph_build_rows(g, end)) return false;
  const EdgeRows *r = &g->rows[end];
  *out = (RowView){graph_data(r->rowptr), graph_data(r->entries), graph_data(r->others)};
  return out->rowptr && out->edge && out->other;
}

bool graph_note_sorted(PolyGraph *g) {
  for (int k = 0; k < 2; k++) {
    const int32_t *v = graph_data(g->index[k]);
    if (!v) return false;
    int down = 0;
#pragma omp parallel for num_threads(graph_threads(g, g->num_edges)) schedule(static) reduction(| : down)
    for (int64_t e = 1; e < g->num_edges; e++) down |= v[e] < v[e - 1];
    g->sorted[k] = !down;
  }
  return true;
}

/* ---- pairs ---- */

/* Indices as they came. */
typedef struct Pairs {
  const void *end[2]; /* destinations NULL: they are known to be right */
  PolyDType dtype;
  int64_t n;
} Pairs;

static int64_t pair_at(const Pairs *p, End end, int64_t e) {
  return p->dtype == POLY_INT32 ? ((const int32_t *)p->end[end])[e] : ((const int64_t *)p->end[end])[e];
}

typedef struct Bounds {
  int64_t low, high;
} Bounds;

/* Copies one end of the edges into 32 bits, and finds its bounds. Those of nothing are 0, -1. */
#define CONVERT(T)                                                                                                     \
  do {                                                                                                                 \
    const T *from = p->end[end];                                                                                       \
    _Pragma("omp parallel for num_threads(threads) schedule(static) reduction(min : low) reduction(max : high)") for ( \
        int64_t e = 0; e < p->n; e++) {                                                                                \
      low = MIN(low, (int64_t)from[e]);                                                                                \
      high = MAX(high, (int64_t)from[e]);                                                                              \
      to[e] = (int32_t)from[e];                                                                                        \
    }                                                                                                                  \
  } while (0)
static Bounds convert(const Pairs *p, End end, int32_t *to, int threads) {
  int64_t low = 0, high = -1;
  if (p->dtype == POLY_INT32)
    CONVERT(int32_t);
  else
    CONVERT(int64_t);
  return (Bounds){low, high};
}
#undef CONVERT

/* Names the first edge with an end outside its nodes. */
static bool fail_pair(PolyContext *ctx, const Pairs *p, const int64_t *nodes) {
  static const char *const name[] = {"source", "destination"};
  for (int64_t e = 0; e < p->n; e++)
    for (int k = 0; k < 2 && p->end[k]; k++) {
      int64_t v = pair_at(p, (End)k, e);
      if (v < 0)
        return base_fail(ctx_base(ctx), POLY_ERROR_INDEX, "edge %" PRId64 ": %s %" PRId64 " is negative", e, name[k],
                         v);
      if (v >= nodes[k])
        return base_fail(ctx_base(ctx), POLY_ERROR_INDEX,
                         "edge %" PRId64 ": %s %" PRId64 " is out of range for %" PRId64 " nodes", e, name[k], v,
                         nodes[k]);
    }
  return false;
}

/* Numbers of nodes that were not given; false if an index is out of range for what they come to. */
static bool check_node_counts(PolyGraph *g, const Pairs *p, const Bounds *bounds) {
  PolyContext *ctx = g->ctx;
  int64_t most = MAX(bounds[SRC].high, bounds[DST].high) + 1, nodes[2];
  bool bad = false;
  for (int k = 0; k < 2; k++) {
    nodes[k] = g->num_nodes[k] < 0 ? most : g->num_nodes[k];
    bad |= bounds[k].low < 0 || bounds[k].high >= nodes[k];
  }
  if (bad) return fail_pair(ctx, p, nodes);
  Scope s;
  scope_enter(ctx, &s);
  bool ok = true;
  for (int k = 0; ok && k < 2; k++) {
    if (g->num_nodes[k] >= 0) continue;
    UOp *size = check_count(ctx, nodes[k], "nodes") ? uop_index(ctx, nodes[k]) : NULL;
    ok = size != NULL;
    if (!ok) break;
    uop_release(g->nodes[k]);
    g->nodes[k] = uop_retain(size);
    g->num_nodes[k] = nodes[k];
  }
  scope_leave(ctx, &s);
  return ok;
}

static bool fill_pairs(PolyGraph *g, const Pairs *p) {
  Bounds bounds[2];
  for (int k = 0; k < 2; k++) {
    int32_t *to = graph_data(g->index[k]);
    if (!to) return false;
    bounds[k] = convert(p, (End)k, to, graph_threads(g, p->n));
  }
  return check_node_counts(g, p, bounds) && graph_note_sorted(g);
}

static bool check_dtype(PolyContext *ctx, PolyDType dtype) {
  return dtype == POLY_INT32 || dtype == POLY_INT64 ||
         base_fail(ctx_base(ctx), POLY_ERROR_TYPE, "the indices of a graph are int32 or int64, not %s",
                   poly_dtype_name(dtype));
}

static bool check_nodes(PolyContext *ctx, int64_t n, const char *what) {
  return n >= -1 || poly_dim_is_symbolic(n) ||
         base_fail(ctx_base(ctx), POLY_ERROR_VALUE, "a graph of %" PRId64 " %s nodes", n, what);
}

/* A graph whose arrays are not filled, from numbers as the API gives them. */
static PolyGraph *alloc_api(PolyContext *ctx, int64_t edges, int64_t num_src, int64_t num_dst, bool arrays) {
  if (!check_nodes(ctx, num_src, "source") || !check_nodes(ctx, num_dst, "destination")) return NULL;
  Scope s;
  scope_enter(ctx, &s);
  PolyGraph *g = (arrays ? graph_alloc : graph_bare)(ctx, dim_from_api(ctx, edges), dim_from_api(ctx, num_src),
                                                     dim_from_api(ctx, num_dst));
  scope_leave(ctx, &s);
  return g;
}

/* edges: p->n as a size. */
static PolyGraph *from_pairs(PolyContext *ctx, const Pairs *p, int64_t edges, int64_t num_src, int64_t num_dst) {
  PolyGraph *g = alloc_api(ctx, edges, num_src, num_dst, true);
  if (!g || fill_pairs(g, p)) return g;
  release_graph(g);
  return NULL;
}

PolyGraph *poly_graph_from_coo(PolyContext *ctx, const void *src, const void *dst, PolyDType dtype, int64_t num_edges,
                               int64_t num_src, int64_t num_dst) {
  if (!ctx || !check_dtype(ctx, dtype)) return NULL;
  int64_t count = poly_dim_value(ctx, num_edges);
  if (count < 0 || (count > 0 && (!src || !dst)))
    return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "a graph of %" PRId64 " edges%s", count,
                     count < 0 ? "" : " without their indices");
  return from_pairs(ctx, &(Pairs){{src, dst}, dtype, count}, num_edges, num_src, num_dst);
}

/* ---- rows by destination ---- */

/* rowptr, read as the sources of Pairs are. */
static bool check_rowptr(PolyContext *ctx, const Pairs *p, int64_t rows) {
  Base *b = ctx_base(ctx);
  if (pair_at(p, SRC, 0) != 0)
    return base_fail(b, POLY_ERROR_VALUE, "the row pointers begin with %" PRId64 ", not 0", pair_at(p, SRC, 0));
  for (int64_t v = 0; v < rows; v++)
    if (pair_at(p, SRC, v + 1) < pair_at(p, SRC, v))
      return base_fail(b, POLY_ERROR_VALUE, "row %" PRId64 ": the row pointers go down from %" PRId64 " to %" PRId64, v,
                       pair_at(p, SRC, v), pair_at(p, SRC, v + 1));
  return true;
}

/* Sources come from col; destinations are the rows. */
static bool fill_rows(PolyGraph *g, const Pairs *rowptr, const Pairs *col) {
  int32_t *src = graph_data(g->index[SRC]), *dst = graph_data(g->index[DST]);
  if (!src || !dst) return false;
  int64_t rows = g->num_nodes[DST];
  Bounds bounds[2] = {convert(col, SRC, src, graph_threads(g, g->num_edges)), {0, rows - 1}};
#pragma omp parallel for num_threads(graph_threads(g, g->num_edges + rows)) schedule(dynamic, 4096)
  for (int64_t v = 0; v < rows; v++)
    for (int64_t e = pair_at(rowptr, SRC, v); e < pair_at(rowptr, SRC, v + 1); e++) dst[e] = (int32_t)v;
  return check_node_counts(g, col, bounds) && graph_note_sorted(g);
}

PolyGraph *poly_graph_from_csr(PolyContext *ctx, const void *rowptr, const void *col, PolyDType dtype, int64_t num_dst,
                               int64_t num_src) {
  if (!ctx || !check_dtype(ctx, dtype)) return NULL;
  int64_t count = poly_dim_value(ctx, num_dst);
  if (count < 0 || !rowptr)
    return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "a graph of %" PRId64 " rows%s", count,
                     count < 0 ? "" : " without row pointers");
  Pairs rows = {{rowptr, NULL}, dtype, count + 1};
  if (!check_rowptr(ctx, &rows, count)) return NULL;
  int64_t edges = pair_at(&rows, SRC, count);
  if (edges > 0 && !col)
    return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "a graph of %" PRId64 " edges without their indices", edges);
  PolyGraph *g = alloc_api(ctx, edges, num_src, num_dst, true);
  if (!g || fill_rows(g, &rows, &(Pairs){{col, NULL}, dtype, edges})) return g;
  release_graph(g);
  return NULL;
}

/* ---- the graph of an edge_index tensor ---- */

/* Tells what an edge_index holds, so that the graph needs not keep it in its order: a sum over the edges of a mixture
 * of index and place, for which the order of threads does not matter. */
static uint64_t end_hash(const Pairs *p, int end, int threads) {
  const int32_t *narrow = p->end[end];
  const int64_t *wide = p->end[end];
  uint64_t sum = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sum)
  for (int64_t e = 0; e < p->n; e++) {
    uint64_t v = (uint64_t)(p->dtype == POLY_INT32 ? narrow[e] : wide[e]);
    uint64_t x = (v + 1) * 0x9e3779b97f4a7c15u ^ ((uint64_t)e + 1) * 0xd6e8feb86659fd93u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    sum += (x ^ x >> 32) * 0x9e3779b97f4a7c15u;
  }
  return sum;
}

/* Does the memory still say what it said when the graph was made? */
static bool same_pairs(const Known *k, const Pairs *p) {
  int threads = graph_threads(k->graph, p->n);
  for (int end = 0; end < 2; end++)
    if (k->hash[end] != end_hash(p, end, threads)) return false;
  return true;
}

static Known *find_known(struct Graphs *all, const UOp *node, int64_t num_src, int64_t num_dst) {
  for (int i = 0; i < KNOWN; i++) {
    Known *k = &all->known[i];
    if (k->node == node && k->asked[SRC] == num_src && k->asked[DST] == num_dst) return k;
  }
  return NULL;
}

/* An empty place, or the one that was not used for the longest time. */
static Known *free_known(struct Graphs *all) {
  Known *oldest = &all->known[0];
  for (int i = 1; i < KNOWN; i++)
    if (all->known[i].used < oldest->used) oldest = &all->known[i];
  forget(oldest);
  return oldest;
}

/* What poly_graph_of is given: an edge_index whose values are on the host, or on a device alone. */
typedef struct Given {
  PolyTensor *edge_index;
  int64_t num_src, num_dst;
  Pairs pairs; /* on the host, */
  bool there;  /* or not */
} Given;

/* Its values on the host. */
static bool bring(Given *in) {
  PolyTensor *t = in->edge_index;
  int64_t n = poly_dim_value(t->ctx, poly_dim(t, 1));
  PolyDType dtype = poly_dtype(t);
  char *data = buffer_read(t->uop->buffer, host_memory(t->ctx->runtime));
  if (!data) return false;
  in->pairs = (Pairs){{data, data + n * dtype_size(dtype)}, dtype, n};
  in->there = false;
  return true;
}

/* A graph of what is on a device. NULL without an error: it is not in order, and the host is to say so. */
static PolyGraph *from_device(const Given *in, uint64_t hash[2]) {
  PolyContext *ctx = in->edge_index->ctx;
  DeviceEnd end[2] = {{0}};
  PolyGraph *g = graph_look_on_device(in->edge_index, true, end)
                     ? alloc_api(ctx, poly_dim(in->edge_index, 1), in->num_src, in->num_dst, false)
                     : NULL;
  const int64_t most = MAX(end[SRC].high, end[DST].high) + 1;
  bool good = g != NULL;
  for (int k = 0; k < 2; k++) {
    good = good && end[k].low >= 0 && end[k].high < (g->num_nodes[k] < 0 ? most : g->num_nodes[k]);
    hash[k] = end[k].hash;
    if (g) g->index[k] = end[k].index;
    if (g) g->sorted[k] = end[k].sorted;
    if (!g) uop_release(end[k].index);
  }
  const Bounds bounds[2] = {{end[SRC].low, end[SRC].high}, {end[DST].low, end[DST].high}};
  if (good && check_node_counts(g, &(Pairs){0}, bounds)) return g;
  if (g) release_graph(g);
  return NULL;
}

static PolyGraph *make_graph(Given *in, uint64_t hash[2]) {
  PolyContext *ctx = in->edge_index->ctx;
  PolyGraph *g = in->there ? from_device(in, hash) : NULL;
  if (g || ctx_base(ctx)->code != POLY_OK || (in->there && !bring(in))) return g;
  g = from_pairs(ctx, &in->pairs, poly_dim(in->edge_index, 1), in->num_src, in->num_dst);
  for (int end = 0; g && end < 2; end++) hash[end] = end_hash(&in->pairs, end, graph_threads(g, in->pairs.n));
  return g;
}

static bool is_unchanged(const Known *k, const Given *in) {
  DeviceEnd end[2];
  if (!in->there) return same_pairs(k, &in->pairs);
  return graph_look_on_device(in->edge_index, false, end) && end[SRC].hash == k->hash[SRC] &&
         end[DST].hash == k->hash[DST];
}

static PolyGraph *graph_of(Given *in) {
  PolyContext *ctx = in->edge_index->ctx;
  UOp *node = in->edge_index->uop;
  if (!graphs_open(ctx)) return NULL;
  struct Graphs *all = ctx->graphs;
  forget_gone(all);
  Known *k = find_known(all, node, in->num_src, in->num_dst);
  if (k && buffer_is_shared(node->buffer) && !is_unchanged(k, in)) {
    if (ctx_base(ctx)->code != POLY_OK) return NULL;
    forget(k);
    k = NULL;
  }
  if (!k) {
    uint64_t hash[2];
    PolyGraph *g = make_graph(in, hash);
    if (!g) return NULL;
    k = free_known(all);
    *k = (Known){.node = uop_retain(node),
                 .asked = {in->num_src, in->num_dst},
                 .hash = {hash[SRC], hash[DST]},
                 .graph = graph_keep(g)};
  }
  k->used = ++all->clock;
  return poly_graph_retain(k->graph);
}

PolyGraph *poly_graph_of(PolyTensor *edge_index, int64_t num_src, int64_t num_dst) {
  if (!edge_index || !check_dtype(edge_index->ctx, poly_dtype(edge_index))) return NULL;
  PolyContext *ctx = edge_index->ctx;
  char shape[256];
  if (edge_index->uop->ndim != 2 || !uop_is_int(edge_index->uop->shape[0], 2))
    return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "an edge_index has the shape (2, edges), not %s",
                     shape_text(edge_index->uop, shape, sizeof shape));
  if (poly_realize(edge_index) != POLY_OK) return NULL;
  Given in = {.edge_index = edge_index, .num_src = num_src, .num_dst = num_dst};
  in.there = graph_pairs_on_device(edge_index);
  return in.there || bring(&in) ? graph_of(&in) : NULL;
}

/* ---- reading ---- */

int64_t poly_graph_num_edges(const PolyGraph *g) { return g ? dim_to_api(g->edges) : 0; }
int64_t poly_graph_num_src(const PolyGraph *g) { return g ? dim_to_api(g->nodes[SRC]) : 0; }
int64_t poly_graph_num_dst(const PolyGraph *g) { return g ? dim_to_api(g->nodes[DST]) : 0; }

PolyTensor *graph_handle(PolyGraph *g, UOp *array) {
  Scope s;
  scope_enter(g->ctx, &s);
  UOp *u = array;
  if (array->op == OP_BUFFER && (u = uop_buffer(g->ctx, POLY_INT32, 1, array->shape)))
    u->buffer = buffer_retain(array->buffer);
  PolyTensor *t = tensor_wrap(g->ctx, u);
  scope_leave(g->ctx, &s);
  return t;
}

/* All handles on an end of the edges have one node: what several layers compute from it is computed once. */
static PolyTensor *end_handle(PolyGraph *g, End end) {
  if (g->shown[end]) return tensor_wrap(g->ctx, g->shown[end]);
  PolyTensor *t = graph_handle(g, g->index[end]);
  if (t) g->shown[end] = uop_retain(t->uop);
  return t;
}

PolyTensor *poly_graph_src_index(PolyGraph *g) { return g ? end_handle(g, SRC) : NULL; }
PolyTensor *poly_graph_dst_index(PolyGraph *g) { return g ? end_handle(g, DST) : NULL; }
PolyTensor *poly_graph_origin(PolyGraph *g) { return g && g->origin ? graph_handle(g, g->origin) : NULL; }
