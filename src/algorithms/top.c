/* top.c: the highest scores of each group, as pooling keeps the best nodes of each graph of a batch.
 *
 * In: scores, the group of each, and how many each group keeps. Out: their places, group after group, highest first;
 * equal scores keep their order and NaN comes last. Entries are counted and put in order by group, then those of a
 * group are sorted by themselves. O(n log n) of the largest group. */
#include "graph/graph.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct Entry {
  double score;
  int64_t place;
} Entry;

typedef struct Top {
  const void *score, *group;
  bool wide, wide_group; /* float64, int64 */
  int64_t n, ngroup;
  const int64_t *keep;
  int64_t *first; /* of each group in `entry`, and behind the last */
  Entry *entry;
} Top;

static int highest_first(const void *a, const void *b) {
  const Entry *x = a, *y = b;
  if (x->score != y->score) {
    bool x_nan = x->score != x->score, y_nan = y->score != y->score;
    if (!x_nan && !y_nan) return x->score > y->score ? -1 : 1;
    if (x_nan != y_nan) return x_nan ? 1 : -1;
  }
  return x->place < y->place ? -1 : 1;
}

static int64_t group_at(const Top *t, int64_t i) {
  return t->wide_group ? ((const int64_t *)t->group)[i] : ((const int32_t *)t->group)[i];
}

static double score_at(const Top *t, int64_t i) {
  return t->wide ? ((const double *)t->score)[i] : (double)((const float *)t->score)[i];
}

/* Entries by group, in their order. */
static bool sort_by_group(Base *b, Top *t) {
  for (int64_t i = 0; i < t->n; i++) {
    int64_t g = group_at(t, i);
    if (g < 0 || g >= t->ngroup)
      return base_fail(b, POLY_ERROR_INDEX, "index %" PRId64 " is out of range for %" PRId64 " groups", g, t->ngroup);
    t->first[g + 1]++;
  }
  for (int64_t g = 0; g < t->ngroup; g++) t->first[g + 1] += t->first[g];
  for (int64_t i = 0; i < t->n; i++) t->entry[t->first[group_at(t, i)]++] = (Entry){score_at(t, i), i};
  for (int64_t g = t->ngroup; g > 0; g--) t->first[g] = t->first[g - 1];
  t->first[0] = 0;
  return true;
}

static int64_t kept(const Top *t, int64_t g) { return MIN(MAX(t->keep[g], 0), t->first[g + 1] - t->first[g]); }

static PolyTensor *write_top(PolyContext *ctx, const Top *t) {
  int64_t total = 0;
  for (int64_t g = 0; g < t->ngroup; g++) total += kept(t, g);
  PolyTensor *out = poly_empty(ctx, POLY_INT64, 1, &total);
  if (!out || !total) return out;
  int64_t *to = poly_data(out);
  if (!to) {
    poly_free(out);
    return NULL;
  }
  for (int64_t g = 0; g < t->ngroup; g++) {
    Entry *e = t->entry + t->first[g];
    qsort(e, (size_t)(t->first[g + 1] - t->first[g]), sizeof *e, highest_first);
    for (int64_t k = 0; k < kept(t, g); k++) *to++ = e[k].place;
  }
  return out;
}

/* The memory of a vector, which is realized; an empty one has none. */
static bool read_vector(PolyTensor *t, const void **data, int64_t *n) {
  *n = poly_numel(t);
  *data = *n ? poly_data(t) : "";
  return *data != NULL;
}

PolyTensor *poly_top_rows(PolyTensor *score, PolyTensor *group, PolyTensor *keep) {
  PolyContext *ctx = poly_context_of(score);
  Base *b = ctx_base(ctx);
  Top t = {.wide = poly_dtype(score) == POLY_FLOAT64, .wide_group = poly_dtype(group) == POLY_INT64};
  int64_t ngiven = 0;
  if (poly_ndim(score) != 1 || poly_ndim(group) != 1 || poly_ndim(keep) != 1 ||
      (!t.wide && poly_dtype(score) != POLY_FLOAT32) || (!t.wide_group && poly_dtype(group) != POLY_INT32) ||
      poly_dtype(keep) != POLY_INT64)
    return fail_null(b, POLY_ERROR_VALUE,
                     "top_rows: scores are a vector of float32 or float64, groups one of int32 or int64, and how many "
                     "each keeps one of int64");
  const void *counts;
  if (!read_vector(score, &t.score, &t.n) || !read_vector(group, &t.group, &ngiven) ||
      !read_vector(keep, &counts, &t.ngroup))
    return NULL;
  if (ngiven != t.n)
    return fail_null(b, POLY_ERROR_VALUE, "top_rows: %" PRId64 " scores, but the groups of %" PRId64, t.n, ngiven);
  t.keep = counts;
  Arena arena = {.b = b};
  t.first = arena_new(&arena, (size_t)(t.ngroup + 1) * sizeof *t.first);
  t.entry = arena_new(&arena, (size_t)(t.n + 1) * sizeof *t.entry);
  PolyTensor *out = t.first && t.entry && sort_by_group(b, &t) ? write_top(ctx, &t) : NULL;
  arena_free(&arena);
  return out;
}
