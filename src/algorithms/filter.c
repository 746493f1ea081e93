/* filter.c: some of the edges of a graph, or some of the rows of a tensor, in their order.
 *
 * In: edges, and which of them stay: by a mask of edges, by what is known of their ends, by whether they are self
 * loops; or rows and a mask. Out: what stays, and the mask of it. A mask is filled first, and counted in parts; then
 * each part writes what it keeps from its own place on. A branch for each edge would be guessed wrong half the time, so
 * places are listed without one. The result does not depend on the number of threads. O(E). */
#include "algorithms/sampler.h"
#include "base/threads.h"
#include "graph/graph.h"
#include "runtime/keys.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_PARTS = 64, CHUNK = 1024 };

/* What decides about one end of the edges: a mask of nodes, or their new numbers, negative for nodes that go. */
typedef struct NodeFilter {
  const void *data;
  PolyDType dtype; /* bool, int32 or int64 */
  int64_t nodes;
} NodeFilter;

typedef struct Filter {
  const char *end[2]; /* of the edges; [1] may be NULL */
  bool wide;          /* int64, not int32 */
  int64_t edges;
  NodeFilter nodes[2];
  const uint8_t *given; /* a mask of edges, or NULL */
  char loops;           /* 'a' all edges, 'n' no self loops, 'l' self loops alone */
  uint8_t *mask;
  int parts;
  int64_t first[MAX_PARTS + 1]; /* edges that stay in front of each part */
} Filter;

static int parts_for(PolyContext *ctx, int64_t work) {
  return work < 1 << 15 ? 1 : MIN(MAX_PARTS, threads_allowed(poly_threads(ctx)));
}

/* ---- the mask ---- */

#define BY_LOOPS(T)                                                                                                    \
  do {                                                                                                                 \
    const T *a = (const T *)f->end[0], *b = (const T *)f->end[1];                                                      \
    for (int64_t e = from; e < to; e++) mask[e] &= (uint8_t)((a[e] == b[e]) == loops);                                 \
  } while (0)

WIDE_CLONES static void by_loops(const Filter *f, int64_t from, int64_t to) {
  bool loops = f->loops == 'l';
  uint8_t *restrict mask = f->mask;
  if (f->wide)
    BY_LOOPS(int64_t);
  else
    BY_LOOPS(int32_t);
}

/* T: of the ends; V: of the filter; STAYS: whether the node of value v does. Gives the first edge whose end is no node,
 * or `to`. */
#define BY_NODES(T, V, STAYS)                                                                                          \
  do {                                                                                                                 \
    const T *a = (const T *)f->end[k];                                                                                 \
    const V *value = n->data;                                                                                          \
    for (int64_t e = from; e < to; e++) {                                                                              \
      if ((uint64_t)a[e] >= (uint64_t)n->nodes) return e;                                                              \
      V v = value[a[e]];                                                                                               \
      f->mask[e] &= (uint8_t)(STAYS);                                                                                  \
    }                                                                                                                  \
    return to;                                                                                                         \
  } while (0)

static int64_t by_nodes(Filter *f, int k, int64_t from, int64_t to) {
  const NodeFilter *n = &f->nodes[k];
  if (!n->data) return to;
  if (n->dtype == POLY_BOOL && f->wide) BY_NODES(int64_t, uint8_t, v != 0);
  if (n->dtype == POLY_BOOL) BY_NODES(int32_t, uint8_t, v != 0);
  if (n->dtype == POLY_INT64 && f->wide) BY_NODES(int64_t, int64_t, v >= 0);
  if (n->dtype == POLY_INT64) BY_NODES(int32_t, int64_t, v >= 0);
  if (f->wide) BY_NODES(int64_t, int32_t, v >= 0);
  BY_NODES(int32_t, int32_t, v >= 0);
}

WIDE_CLONES static int64_t count_true(const uint8_t *mask, int64_t from, int64_t to) {
  int64_t n = 0;
  for (int64_t at = from; at < to; at += CHUNK) {
    uint16_t some = 0;
    for (int64_t e = at; e < MIN(to, at + CHUNK); e++) some = (uint16_t)(some + (mask[e] != 0));
    n += some;
  }
  return n;
}

/* Fills the mask for a part and counts it into `kept`. Gives the first edge whose end is no node, or the part's end. */
static int64_t fill_part(Filter *f, int part, int64_t *kept) {
  int64_t from = f->edges * part / f->parts, to = f->edges * (part + 1) / f->parts, stop = to;
  if (f->given)
    for (int64_t e = from; e < to; e++) f->mask[e] = f->given[e] != 0;
  else
    memset(f->mask + from, 1, (size_t)(to - from));
  if (f->loops != 'a') by_loops(f, from, to);
  for (int k = 0; k < 2 && stop == to; k++) stop = by_nodes(f, k, from, to);
  *kept = count_true(f->mask, from, to);
  return stop;
}

/* Parts' counts as running sums. */
static void sum_up(int64_t *first, int parts) {
  for (int p = 0; p < parts; p++) first[p + 1] += first[p];
}

static int64_t fill_mask(Filter *f) {
  int64_t bad = f->edges;
  f->first[0] = 0;
#pragma omp parallel for num_threads(f->parts) schedule(static, 1) reduction(min : bad) if (f->parts > 1)
  for (int p = 0; p < f->parts; p++) {
    int64_t stop = fill_part(f, p, &f->first[p + 1]);
    if (stop < f->edges * (p + 1) / f->parts) bad = MIN(bad, stop);
  }
  sum_up(f->first, f->parts);
  return bad;
}

/* ---- what stays ---- */

/* Places of the true values in [from, to), at most CHUNK of them; how many there are. */
static int list_places(const uint8_t *mask, int64_t from, int64_t to, int32_t *place) {
  int n = 0;
  for (int64_t i = from; i < to; i += 8) {
    uint64_t eight = 0;
    memcpy(&eight, mask + i, (size_t)MIN(8, to - i));
    if (!eight) continue;
    for (int64_t j = i; j < MIN(to, i + 8); j++) {
      place[n] = (int32_t)(j - from);
      n += mask[j] != 0;
    }
  }
  return n;
}

#define RENUMBERED(T, V)                                                                                               \
  do {                                                                                                                 \
    const V *value = n->data;                                                                                          \
    for (int i = 0; i < count; i++) ((T *)out)[i] = (T)value[((const T *)from)[place[i]]];                             \
  } while (0)
#define SAME(T)                                                                                                        \
  do {                                                                                                                 \
    for (int i = 0; i < count; i++) ((T *)out)[i] = ((const T *)from)[place[i]];                                       \
  } while (0)

/* One end of the edges at `place`, with the new numbers of their nodes if there are any. */
static void write_ends(const Filter *f, int k, const void *from, const int32_t *place, int count, void *out) {
  const NodeFilter *n = &f->nodes[k];
  bool number = n->data && n->dtype != POLY_BOOL;
  if (!number && f->wide)
    SAME(int64_t);
  else if (!number)
    SAME(int32_t);
  else if (n->dtype == POLY_INT64 && f->wide)
    RENUMBERED(int64_t, int64_t);
  else if (n->dtype == POLY_INT64)
    RENUMBERED(int32_t, int64_t);
  else if (f->wide)
    RENUMBERED(int64_t, int32_t);
  else
    RENUMBERED(int32_t, int32_t);
}

static void write_part(const Filter *f, int part, char *const out[2]) {
  int32_t place[CHUNK + 1];
  size_t item = f->wide ? 8 : 4;
  int64_t end = f->edges * (part + 1) / f->parts, at = f->first[part];
  for (int64_t from = f->edges * part / f->parts; from < end; from += CHUNK) {
    int n = list_places(f->mask, from, MIN(end, from + CHUNK), place);
    for (int k = 0; k < 2 && f->end[k]; k++)
      write_ends(f, k, f->end[k] + (size_t)from * item, place, n, out[k] + (size_t)at * item);
    at += n;
  }
}

/* ---- the public function ---- */

static bool vector_data(PolyTensor *t, const void **data, int64_t *n) {
  *n = poly_numel(t);
  *data = *n ? poly_data(t) : "";
  return *data != NULL;
}

/* The arguments into f. */
static bool read_filter(Filter *f, PolyTensor *edge_index, PolyTensor *mask, PolyTensor *const node[2], char loops) {
  PolyContext *ctx = poly_context_of(edge_index);
  Base *b = ctx_base(ctx);
  PolyDType dtype = poly_dtype(edge_index);
  int64_t shape[MAX_DIMS] = {0}, n;
  int ndim = poly_ndim(edge_index);
  sizes_of(edge_index, shape);
  if ((dtype != POLY_INT32 && dtype != POLY_INT64) || !(ndim == 1 || (ndim == 2 && shape[0] == 2)))
    return base_fail(b, POLY_ERROR_VALUE, "filter_edges: edges are int32 or int64 of shape [2, E] or [E]");
  if (!loops || !strchr(ndim == 1 ? "a" : "anl", loops))
    return base_fail(b, POLY_ERROR_VALUE, "filter_edges: loops are 'a', 'n' or 'l', not '%c'", loops);
  f->edges = shape[ndim - 1];
  f->wide = dtype == POLY_INT64;
  f->loops = loops;
  for (int k = 0; k < 2; k++) {
    NodeFilter *nodes = &f->nodes[k];
    if (!node[k]) continue;
    nodes->dtype = poly_dtype(node[k]);
    if ((nodes->dtype != POLY_BOOL && nodes->dtype != POLY_INT32 && nodes->dtype != POLY_INT64) ||
        poly_ndim(node[k]) != 1 || k >= ndim)
      return base_fail(b, POLY_ERROR_VALUE, "filter_edges: nodes are a vector of bool, int32 or int64");
    if (!vector_data(node[k], &nodes->data, &nodes->nodes)) return false;
  }
  if (mask && (poly_dtype(mask) != POLY_BOOL || poly_ndim(mask) != 1 || poly_numel(mask) != f->edges))
    return base_fail(b, POLY_ERROR_VALUE, "filter_edges: the mask is not bool of %" PRId64 " edges", f->edges);
  const void *given = NULL, *data;
  if ((mask && !vector_data(mask, &given, &n)) || !vector_data(edge_index, &data, &n)) return false;
  f->given = given;
  f->end[0] = data;
  f->end[1] = ndim == 2 ? f->end[0] + (size_t)f->edges * (f->wide ? 8 : 4) : NULL;
  f->parts = parts_for(ctx, f->edges);
  return true;
}

static bool fail_at(Base *b, const Filter *f, int64_t e) {
  for (int k = 0; k < 2 && f->end[k]; k++) {
    int64_t v = f->wide ? ((const int64_t *)f->end[k])[e] : ((const int32_t *)f->end[k])[e];
    if (f->nodes[k].data && (uint64_t)v >= (uint64_t)f->nodes[k].nodes)
      return base_fail(b, POLY_ERROR_INDEX, "index %" PRId64 " is out of range for %" PRId64 " nodes", v,
                       f->nodes[k].nodes);
  }
  return false;
}

PolyStatus poly_filter_edges(PolyTensor *edge_index, PolyTensor *mask, PolyTensor *src, PolyTensor *dst, char loops,
                             PolyTensor **kept, PolyTensor **stays) {
  PolyContext *ctx = poly_context_of(edge_index);
  Base *b = ctx_base(ctx);
  Filter f = {.edges = 0};
  *kept = *stays = NULL;
  if (!read_filter(&f, edge_index, mask, (PolyTensor *const[2]){src, dst}, loops)) return poly_error_code(ctx);
  *stays = poly_empty(ctx, POLY_BOOL, 1, &f.edges);
  if (*stays) f.mask = f.edges ? poly_data(*stays) : (uint8_t *)"";
  if (!f.mask) goto fail;
  int64_t bad = fill_mask(&f), n = f.first[f.parts];
  if (bad < f.edges) {
    fail_at(b, &f, bad);
    goto fail;
  }
  int ndim = f.end[1] ? 2 : 1;
  *kept = poly_empty(ctx, poly_dtype(edge_index), ndim, ndim == 2 ? (int64_t[]){2, n} : &n);
  if (!*kept) goto fail;
  if (!n) return POLY_OK;
  char *out[2] = {poly_data(*kept)};
  if (!out[0]) goto fail;
  out[1] = out[0] + (size_t)n * (f.wide ? 8 : 4);
#pragma omp parallel for num_threads(f.parts) schedule(static, 1) if (f.parts > 1)
  for (int p = 0; p < f.parts; p++) write_part(&f, p, out);
  return POLY_OK;
fail:
  poly_free(*kept);
  poly_free(*stays);
  *kept = *stays = NULL;
  return poly_error_code(ctx);
}

/* ---- rows of a tensor ---- */

typedef struct Slices {
  const char *from;
  char *out;
  size_t bytes; /* of a row */
  int64_t rows;
} Slices;

/* Sizes that are known to the compiler become loads and stores. */
static void copy_rows(const char *from, const int32_t *place, int n, size_t bytes, char *out) {
#define COPY(SIZE)                                                                                                     \
  for (int i = 0; i < n; i++) memcpy(out + (size_t)i * (SIZE), from + (size_t)place[i] * (SIZE), SIZE)
  switch (bytes) {
  case 1: COPY(1); break;
  case 2: COPY(2); break;
  case 4: COPY(4); break;
  case 8: COPY(8); break;
  case 16: COPY(16); break;
  case 32: COPY(32); break;
  case 64: COPY(64); break;
  default: COPY(bytes);
  }
#undef COPY
}

static void compress_part(const Slices *r, const uint8_t *mask, int64_t from, int64_t to, int64_t at) {
  int32_t place[CHUNK + 1];
  for (; from < to; from += CHUNK) {
    int n = list_places(mask, from, MIN(to, from + CHUNK), place);
    copy_rows(r->from + (size_t)from * r->bytes, place, n, r->bytes, r->out + (size_t)at * r->bytes);
    at += n;
  }
}

/* All rows of all slices in front of the axis, in parts. */
static void compress(Slices r, const uint8_t *mask, int64_t outer, int64_t kept, int parts, const int64_t *first) {
  for (int64_t o = 0; o < outer; o++) {
#pragma omp parallel for num_threads(parts) schedule(static, 1) if (parts > 1)
    for (int p = 0; p < parts; p++) compress_part(&r, mask, r.rows * p / parts, r.rows * (p + 1) / parts, first[p]);
    r.from += (size_t)r.rows * r.bytes;
    r.out += (size_t)kept * r.bytes;
  }
}

/* The same as a program, for gradients and whoever builds on it: rows at the places of the mask. */
static PolyTensor *compress_lazy(PolyTensor *x, PolyTensor *mask, int axis, int64_t kept) {
  PolyContext *ctx = x->ctx;
  Scope scope;
  scope_enter(ctx, &scope);
  UOp *size = uop_index(ctx, kept), *stored = mask->uop;
  PolyDType dtype = poly_numel(mask) > INT32_MAX ? POLY_INT64 : POLY_INT32;
  PolyTensor *index = tensor_wrap(ctx, uop_library(ctx, "nonzero", 0, dtype, 1, &stored, 1, &size));
  PolyTensor *out = poly_index_select(x, axis, index);
  poly_free(index);
  scope_leave(ctx, &scope);
  return out;
}

/* The value, on memory of its own. first: what is kept in front of each part of the mask. */
static PolyTensor *compress_now(PolyTensor *x, const uint8_t *mask, int axis, int parts, const int64_t *first) {
  int64_t shape[MAX_DIMS], outer = 1;
  int ndim = poly_ndim(x);
  sizes_of(x, shape);
  Slices r = {.bytes = (size_t)dtype_size(poly_dtype(x)), .rows = shape[axis]};
  for (int k = 0; k < axis; k++) outer *= shape[k];
  for (int k = axis + 1; k < ndim; k++) r.bytes *= (size_t)shape[k];
  shape[axis] = first[parts];
  PolyTensor *out = poly_empty(poly_context_of(x), poly_dtype(x), ndim, shape);
  if (!out || !poly_numel(out)) return out;
  r.from = poly_data(x);
  r.out = poly_data(out);
  if (!r.from || !r.out) {
    poly_free(out);
    return NULL;
  }
  compress(r, mask, outer, first[parts], parts, first);
  return out;
}

PolyTensor *poly_compress(PolyTensor *x, PolyTensor *mask, int axis) {
  if (!x || !mask) return NULL;
  PolyContext *ctx = poly_context_of(x);
  int64_t shape[MAX_DIMS], first[MAX_PARTS + 1] = {0};
  sizes_of(x, shape);
  if (axis < 0 || axis >= poly_ndim(x) || poly_dtype(mask) != POLY_BOOL || poly_ndim(mask) != 1 ||
      poly_numel(mask) != shape[axis])
    return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "compress: the mask is not bool of the slices along axis %d",
                     axis);
  int64_t rows = shape[axis];
  const uint8_t *stays = rows ? poly_data(mask) : (const uint8_t *)"";
  if (!stays) return NULL;
  int parts = parts_for(ctx, rows);
#pragma omp parallel for num_threads(parts) schedule(static, 1) if (parts > 1)
  for (int p = 0; p < parts; p++) first[p + 1] = count_true(stays, rows * p / parts, rows * (p + 1) / parts);
  sum_up(first, parts);
  PolyTensor *value = compress_now(x, stays, axis, parts, first);
  if (!value || !dtype_is_float(poly_dtype(x)) || !poly_numel(value)) return value;
  PolyTensor *out = compress_lazy(x, mask, axis, first[parts]);
  if (out && poly_give(out, value) != POLY_OK) {
    poly_free(out);
    out = NULL;
  }
  poly_free(value);
  return out;
}

/* ---- random masks ---- */

PolyTensor *poly_random_mask(PolyContext *ctx, int64_t n, double p, uint64_t seed) {
  PolyTensor *out = poly_empty(ctx, POLY_BOOL, 1, &n);
  if (!out || n <= 0) return out;
  uint8_t *mask = poly_data(out);
  if (!mask) {
    poly_free(out);
    return NULL;
  }
  /* each entry is a function of its place and the seed, so threads do not matter */
  uint64_t limit = p >= 1 ? 0 : (uint64_t)((p > 0 ? p : 0) * 0x1p53);
  bool all = p >= 1;
  int threads = parts_for(ctx, n);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (int64_t i = 0; i < n; i++) mask[i] = (uint8_t)(all | (random_key(seed, (uint64_t)i) >> 11 < limit));
  return out;
}
