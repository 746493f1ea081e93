/* later.c: arrays of a graph that are made again where they are needed.
 *
 * A graph has six arrays as long as its edges: both ends in the user's order, and for each end the edges row by row and
 * their other ends. A sum over neighbours reads the other ends and nothing else. Of the rest, the edges row by row of
 * one end are enough to make all others: their memory is given back once the rows are built, and whoever asks for them
 * later (edge features, attention weights) has them made. So are the edges that those of a graph without loops, or with
 * a loop at each node, came from: few ask. */
#include "base/threads.h"
#include "graph/graph.h"

#include "runtime/device.h"

#include <string.h>

enum { LEAST_EDGES = 1 << 16 }; /* 256 KiB for each array: below, memory is no matter */

/* The rows by destination, and what is made of them: one end of each edge, or the edges by source. */
typedef struct Later {
  PolyContext *ctx;
  PolyBuffer *rowptr, *entries, *others; /* by destination, which stay, */
  PolyBuffer *by_source;                 /* and row pointers by source */
  int64_t num_edges, rows, sources;
} Later;

static const int32_t *read(const Later *l, PolyBuffer *b) { return buffer_read(b, host_memory(l->ctx->runtime)); }

/* Sources or destinations in the order of the edges. */
static bool make_end(const Later *l, End end, int32_t *out) {
  const int32_t *rowptr = read(l, l->rowptr), *edge = read(l, l->entries), *other = read(l, l->others);
  if (!rowptr || !edge || !other) return false;
  int threads = threads_allowed(poly_threads(l->ctx));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1024)
  for (int64_t v = 0; v < l->rows; v++)
    for (int64_t i = rowptr[v]; i < rowptr[v + 1]; i++) out[edge[i]] = end == DST ? (int32_t)v : other[i];
  return true;
}

static bool make_source(void *user, void *data) { return make_end(user, SRC, data); }
static bool make_destination(void *user, void *data) { return make_end(user, DST, data); }

/* The edges by source, in their own order within a row. */
static bool make_entries(void *user, void *data) {
  const Later *l = user;
  Base *b = ctx_base(l->ctx);
  size_t ends = (size_t)l->num_edges * sizeof(int32_t), places = (size_t)(l->sources + 1) * sizeof(int32_t);
  const int32_t *rowptr = read(l, l->by_source);
  int32_t *out = data, *source = rowptr ? mem_resize(b, NULL, 0, ends) : NULL;
  int32_t *at = source ? mem_resize(b, NULL, 0, places) : NULL;
  bool ok = at && make_end(l, SRC, source);
  if (ok) memcpy(at, rowptr, places);
  for (int64_t e = 0; ok && e < l->num_edges; e++) out[at[source[e]]++] = (int32_t)e;
  mem_free(b, at, places);
  mem_free(b, source, ends);
  return ok;
}

static void later_free(void *user) {
  Later *l = user;
  buffer_release(l->rowptr);
  buffer_release(l->entries);
  buffer_release(l->others);
  buffer_release(l->by_source);
  mem_free(ctx_base(l->ctx), l, sizeof *l);
}

static bool give_back(PolyGraph *g, UOp *array, bool (*make)(void *user, void *data)) {
  Later *l = mem_new(ctx_base(g->ctx), sizeof *l);
  if (!l) return false;
  const EdgeRows *by = &g->rows[DST];
  *l = (Later){.ctx = g->ctx,
               .rowptr = buffer_retain(by->rowptr->buffer),
               .entries = buffer_retain(by->entries->buffer),
               .others = buffer_retain(by->others->buffer),
               .by_source = buffer_retain(g->rows[SRC].rowptr->buffer),
               .num_edges = g->num_edges,
               .rows = g->num_nodes[DST],
               .sources = g->num_nodes[SRC]};
  if (!buffer_make_later(array->buffer, make, later_free, l)) later_free(l);
  return true;
}

static bool is_whole(const UOp *array) { return !array->buffer->make; }

bool graph_thin(PolyGraph *g) {
  const EdgeRows *by = g->rows;
  if (g->num_edges < LEAST_EDGES) return true;
  /* arrays that it has in common with its reversed graph may be made of each other in the other direction */
  if (!is_whole(by[SRC].entries) || !is_whole(by[DST].entries) || !is_whole(g->index[SRC]) || !is_whole(g->index[DST]))
    return true;
  return give_back(g, g->index[SRC], make_source) && give_back(g, g->index[DST], make_destination) &&
         give_back(g, by[SRC].entries, make_entries);
}

/* What was made for one use alone is given back. */
static void put_back(PolyBuffer *b, bool was_missing) {
  if (was_missing) buffer_forget(b);
}

/* ---- where edges came from ---- */

/* The ends of the edges of a graph, of which one without its loops was made, or one with a loop at each of `loops`
 * nodes behind the other edges. */
typedef struct Origins {
  PolyContext *ctx;
  PolyBuffer *end[2];
  int64_t num_edges, loops;
} Origins;

/* The edges that are no loops; then the last loop that each node had, -1: it had none. */
static bool make_origins(void *user, void *data) {
  const Origins *o = user;
  bool missing[2];
  const int32_t *end[2];
  for (int k = 0; k < 2; k++) {
    missing[k] = buffer_is_missing(o->end[k]);
    end[k] = buffer_read(o->end[k], host_memory(o->ctx->runtime));
  }
  bool ok = end[SRC] && end[DST];
  int32_t *out = data;
  for (int64_t e = 0; ok && e < o->num_edges; e++)
    if (end[SRC][e] != end[DST][e]) *out++ = (int32_t)e;
  for (int64_t v = 0; ok && v < o->loops; v++) out[v] = -1;
  for (int64_t e = 0; ok && o->loops && e < o->num_edges; e++)
    if (end[SRC][e] == end[DST][e]) out[end[SRC][e]] = (int32_t)e;
  for (int k = 0; k < 2; k++) put_back(o->end[k], missing[k]);
  return ok;
}

static void origins_free(void *user) {
  Origins *o = user;
  buffer_release(o->end[SRC]);
  buffer_release(o->end[DST]);
  mem_free(ctx_base(o->ctx), o, sizeof *o);
}

bool graph_origins_later(PolyGraph *g, PolyGraph *h, int64_t loops) {
  if (h->num_edges < LEAST_EDGES) return true;
  Origins *o = mem_new(ctx_base(g->ctx), sizeof *o);
  if (!o) return false;
  *o = (Origins){.ctx = g->ctx,
                 .end = {buffer_retain(g->index[SRC]->buffer), buffer_retain(g->index[DST]->buffer)},
                 .num_edges = g->num_edges,
                 .loops = loops};
  if (!buffer_make_later(h->origin->buffer, make_origins, origins_free, o)) origins_free(o);
  return true;
}

/* ---- edges row by row ---- */

/* One end's rows, and the edges by the rows of the other. */
typedef struct ByRow {
  PolyContext *ctx;
  PolyBuffer *rowptr, *entries, *other_entries;
  int64_t num_edges, rows;
} ByRow;

static const int32_t *read_at(const ByRow *r, PolyBuffer *b) { return buffer_read(b, host_memory(r->ctx->runtime)); }

static bool make_rows(void *user, void *data) {
  const ByRow *r = user;
  const int32_t *rowptr = read_at(r, r->rowptr);
  int32_t *out = data;
  if (!rowptr) return false;
  int threads = threads_allowed(poly_threads(r->ctx));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1024)
  for (int64_t v = 0; v < r->rows; v++)
    for (int64_t i = rowptr[v]; i < rowptr[v + 1]; i++) out[i] = (int32_t)v;
  return true;
}

static bool make_places(void *user, void *data) {
  const ByRow *r = user;
  Base *b = ctx_base(r->ctx);
  size_t bytes = (size_t)r->num_edges * sizeof(int32_t);
  bool own_missing = buffer_is_missing(r->entries), other_missing = buffer_is_missing(r->other_entries);
  const int32_t *other = read_at(r, r->other_entries);
  int32_t *out = data, *place = other ? mem_resize(b, NULL, 0, bytes) : NULL;
  if (!place && r->num_edges) return false;
  int threads = threads_allowed(poly_threads(r->ctx));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < r->num_edges; i++) place[other[i]] = (int32_t)i;
  put_back(r->other_entries, other_missing);
  const int32_t *own = read_at(r, r->entries);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < (own ? r->num_edges : 0); i++) out[i] = place[own[i]];
  put_back(r->entries, own_missing);
  mem_free(b, place, bytes);
  return own != NULL;
}

static void by_row_free(void *user) {
  ByRow *r = user;
  buffer_release(r->rowptr);
  buffer_release(r->entries);
  buffer_release(r->other_entries);
  mem_free(ctx_base(r->ctx), r, sizeof *r);
}

static UOp *later_array(PolyGraph *g, int end, bool (*make)(void *user, void *data)) {
  ByRow *r = mem_new(ctx_base(g->ctx), sizeof *r);
  UOp *u = r ? graph_array(g->ctx, g->edges, 0) : NULL;
  if (!r) return NULL;
  *r = (ByRow){.ctx = g->ctx,
               .rowptr = buffer_retain(g->rows[end].rowptr->buffer),
               .entries = buffer_retain(g->rows[end].entries->buffer),
               .other_entries = buffer_retain(g->rows[!end].entries->buffer),
               .num_edges = g->num_edges,
               .rows = g->num_nodes[end]};
  if (u && buffer_make_later(u->buffer, make, by_row_free, r)) return u;
  by_row_free(r);
  uop_release(u);
  return NULL;
}

bool graph_order_edges(PolyGraph *g) {
  if (!graph_build_rows(g, SRC) || !graph_build_rows(g, DST)) return false;
  for (int k = 0; k < 2; k++) {
    EdgeRows *r = &g->rows[k];
    if (!r->rows) r->rows = later_array(g, k, make_rows);
    if (!r->places) r->places = later_array(g, k, make_places);
    if (!r->rows || !r->places) return false;
  }
  return true;
}
