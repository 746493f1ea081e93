/* sampler.c: a sampler: the relations that samples are drawn from, checked once and sorted by destination; and the rows
 * of features that belong to a sample. Knows nothing of contexts and tensors. */
#include "base/threads.h"
#include "base/handles.h"
#include "algorithms/sampler.h"

#include "graph/graph.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { PARALLEL = 1 << 15 };

/* ---- making ---- */

PolySampler *poly_sampler_new(const PolyAllocator *allocator, int node_types, const int64_t *num_nodes) {
  Base b = {0};
  if (allocator) b.alloc = (Allocator){allocator->realloc, allocator->user};
  if (node_types < 1 || !num_nodes) return NULL;
  PolySampler *s = handle_new(&b, sizeof *s, HANDLE_SAMPLER, NULL);
  if (!s) return NULL;
  s->base = b;
  atomic_init(&s->refs, 1);
  s->types = node_types;
  s->nodes = mem_new(&s->base, (size_t)node_types * sizeof *s->nodes);
  if (!s->nodes) {
    poly_sampler_free(s);
    return NULL;
  }
  for (int t = 0; t < node_types; t++) {
    s->nodes[t] = num_nodes[t];
    if (num_nodes[t] < 0 || num_nodes[t] > INT32_MAX)
      base_fail(&s->base, POLY_ERROR_VALUE, "%" PRId64 " nodes of type %d: there are 0 to %d", num_nodes[t], t,
                INT32_MAX);
  }
  return s;
}

static size_t row_words(const Relation *r) { return (size_t)r->rows + 1 + 2 * (size_t)r->edges; }

static void free_relation(Base *b, Relation *r) {
  mem_free(b, r->memory, row_words(r) * sizeof *r->memory);
  mem_free(b, r->time, (size_t)r->edges * sizeof *r->time);
  mem_free(b, r->weight, (size_t)r->edges * sizeof *r->weight);
}

void sampler_release(PolySampler *s) {
  if (!s || atomic_fetch_sub(&s->refs, 1) > 1) return;
  Base b = s->base;
  for (int k = 0; k < s->relation.n; k++) free_relation(&b, &s->relation.at[k]);
  vec_free(&b, &s->relation);
  mem_free(&b, s->nodes, (size_t)s->types * sizeof *s->nodes);
  mem_free(&b, s, sizeof *s);
}

void poly_sampler_free(PolySampler *s) {
  if (!s) return;
  handle_drop(s);
  sampler_release(s);
}

PolyStatus poly_sampler_error(const PolySampler *s) { return s ? s->base.code : POLY_ERROR_MEMORY; }
const char *poly_sampler_error_text(const PolySampler *s) { return s ? s->base.text : ""; }
int64_t poly_sampler_num_edges(const PolySampler *s, int relation) {
  return s && relation >= 0 && relation < s->relation.n ? s->relation.at[relation].edges : -1;
}

bool sampler_in_range(Base *b, const char *what, int64_t at, int64_t value, int64_t size) {
  if (value >= 0 && value < size) return true;
  return base_fail(b, POLY_ERROR_INDEX, "%s %" PRId64 ": %" PRId64 " is out of range for %" PRId64 " nodes", what, at,
                   value, size);
}

/* ---- relations ---- */

static int64_t index_at(const void *p, PolyDType dtype, int64_t k) {
  return dtype == POLY_INT32 ? ((const int32_t *)p)[k] : ((const int64_t *)p)[k];
}

/* Copies indices into 32 bits; the first bad one is an error. */
static bool narrow(Base *b, const char *what, const void *from, PolyDType dtype, int64_t n, int64_t size, int32_t *to,
                   int threads) {
  int64_t bad = n;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : bad)
  for (int64_t k = 0; k < n; k++) {
    int64_t v = index_at(from, dtype, k);
    if (v < 0 || v >= size) bad = MIN(bad, k);
    to[k] = (int32_t)v;
  }
  return bad == n || sampler_in_range(b, what, bad, index_at(from, dtype, bad), size);
}

static bool check_weights(Base *b, const PolyRelation *given) {
  for (int64_t e = 0; given->weight && e < given->num_edges; e++)
    if (!(given->weight[e] >= 0) || isinf(given->weight[e]))
      return base_fail(b, POLY_ERROR_VALUE, "edge %" PRId64 ": the weight %g is not a number of at least 0", e,
                       given->weight[e]);
  return true;
}

static bool check_relation(PolySampler *s, const PolyRelation *g) {
  Base *b = &s->base;
  if (g->src_type < 0 || g->src_type >= s->types || g->dst_type < 0 || g->dst_type >= s->types)
    return base_fail(b, POLY_ERROR_VALUE, "a relation from type %d to type %d: there are %d types of nodes",
                     g->src_type, g->dst_type, s->types);
  if (g->dtype != POLY_INT32 && g->dtype != POLY_INT64)
    return base_fail(b, POLY_ERROR_TYPE, "the indices of a relation are int32 or int64, not %s",
                     poly_dtype_name(g->dtype));
  if (g->num_edges < 0 || g->num_edges > INT32_MAX || (g->num_edges && (!g->src || !g->dst)))
    return base_fail(b, POLY_ERROR_VALUE, "a relation of %" PRId64 " edges%s", g->num_edges,
                     g->num_edges < 0 || g->num_edges > INT32_MAX ? "" : " without their indices");
  return check_weights(b, g);
}

/* Sorts the edges by destination. key, other: the two ends of each edge. */
static bool build_rows(Base *b, Relation *r, const int32_t *key, const int32_t *other, int threads) {
  r->memory = mem_resize(b, NULL, 0, row_words(r) * sizeof *r->memory);
  if (!r->memory) return false;
  bool sorted = true;
  for (int64_t e = 1; sorted && e < r->edges; e++) sorted = key[e] >= key[e - 1];
  r->rowptr = r->memory;
  r->entry = r->memory + r->rows + 1;
  r->other = r->entry + r->edges;
  return rows_build(b, &(Rows){.key = key,
                               .other = other,
                               .rows = r->rows,
                               .entries = r->edges,
                               .sorted = sorted,
                               .rowptr = r->memory,
                               .entry_out = r->memory + r->rows + 1,
                               .other_out = r->memory + r->rows + 1 + r->edges,
                               .threads = threads});
}

static bool fill_rows(Base *b, Relation *r, const PolyRelation *g, const int64_t *nodes, int threads) {
  size_t words = 2 * (size_t)MAX(r->edges, 1);
  int32_t *ends = mem_resize(b, NULL, 0, words * sizeof *ends), *dst = ends + r->edges;
  bool ok = ends && narrow(b, "source of edge", g->src, g->dtype, r->edges, nodes[r->src], ends, threads) &&
            narrow(b, "destination of edge", g->dst, g->dtype, r->edges, r->rows, dst, threads) &&
            build_rows(b, r, dst, ends, threads);
  mem_free(b, ends, words * sizeof *ends);
  return ok;
}

/* Times and weights by place in the rows, from those of edges, or the times of sources. */
static bool fill_values(Base *b, Relation *r, const PolyRelation *g, int threads) {
  size_t n = (size_t)r->edges;
  if (!n) return true;
  bool timed = g->edge_time || g->src_time;
  if (timed) r->time = mem_resize(b, NULL, 0, n * sizeof *r->time);
  if (g->weight) r->weight = mem_resize(b, NULL, 0, n * sizeof *r->weight);
  if ((timed && !r->time) || (g->weight && !r->weight)) return false;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t p = 0; p < r->edges; p++) {
    if (timed) r->time[p] = g->edge_time ? g->edge_time[r->entry[p]] : g->src_time[r->other[p]];
    if (g->weight) r->weight[p] = g->weight[r->entry[p]];
  }
  return true;
}

/* Notes whether sources go up in every row; times must not go down. */
static bool check_rows(Base *b, Relation *r, int threads) {
  int64_t late = r->rows;
  int down = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4096) reduction(min : late) reduction(| : down)
  for (int64_t v = 0; v < r->rows; v++)
    for (int32_t p = r->rowptr[v] + 1; p < r->rowptr[v + 1]; p++) {
      down |= r->other[p] < r->other[p - 1];
      if (r->time && r->time[p] < r->time[p - 1]) late = MIN(late, v);
    }
  r->ordered = !down;
  return late == r->rows ||
         base_fail(b, POLY_ERROR_VALUE, "the edges into node %" PRId64 " are not in the order of their times", late);
}

static void rename_edges(Relation *r, const int64_t *id, int threads) {
  int32_t *entry = r->memory + r->rows + 1;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t p = 0; p < r->edges; p++) entry[p] = (int32_t)id[entry[p]];
}

static bool check_ids(Base *b, const PolyRelation *g) {
  for (int64_t e = 0; g->id && e < g->num_edges; e++)
    if (g->id[e] < 0 || g->id[e] > INT32_MAX)
      return base_fail(b, POLY_ERROR_INDEX, "edge %" PRId64 ": the number %" PRId64 " is negative or too large", e,
                       g->id[e]);
  return true;
}

PolyStatus poly_sampler_add(PolySampler *s, const PolyRelation *given, int threads) {
  if (!s || !given) return POLY_ERROR_VALUE;
  Base *b = &s->base;
  if (b->code != POLY_OK) return b->code;
  if (!check_relation(s, given) || !check_ids(b, given) || !vec_reserve(b, &s->relation, s->relation.n + 1))
    return b->code;
  Relation r = {.src = given->src_type, .dst = given->dst_type, .edges = given->num_edges};
  r.rows = s->nodes[r.dst];
  threads = r.edges + r.rows < PARALLEL ? 1 : threads_allowed(threads);
  if (!fill_rows(b, &r, given, s->nodes, threads) || !fill_values(b, &r, given, threads) ||
      !check_rows(b, &r, threads)) {
    free_relation(b, &r);
    return b->code;
  }
  if (given->id) rename_edges(&r, given->id, threads);
  s->relation.at[s->relation.n++] = r;
  return POLY_OK;
}

/* ---- features ---- */

int64_t poly_gather_rows(const void *from, int64_t rows, size_t row_bytes, const int64_t *index, int64_t n, void *out,
                         int threads) {
  int64_t bad = n;
  if (n <= 0) return -1;
  const char *in = from;
  char *to = out;
  size_t bytes = (size_t)n * row_bytes;
#pragma omp parallel for num_threads(bytes < PARALLEL ? 1 : threads_allowed(threads)) schedule(static)                 \
    reduction(min                                                                                                      \
              : bad)
  for (int64_t k = 0; k < n; k++) {
    if (index[k] < 0 || index[k] >= rows) {
      bad = MIN(bad, k);
      continue;
    }
    switch (row_bytes) { /* labels and masks: no call for each */
    case 8: memcpy(to + k * 8, in + index[k] * 8, 8); break;
    case 4: memcpy(to + k * 4, in + index[k] * 4, 4); break;
    case 1: to[k] = in[index[k]]; break;
    default: memcpy(to + (size_t)k * row_bytes, in + (size_t)index[k] * row_bytes, row_bytes);
    }
  }
  return bad == n ? -1 : bad;
}
