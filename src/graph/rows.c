/* rows.c: the edges of a graph sorted by one end. In: for each entry its row (key) and what is to stand beside it
 * (other). Out: row pointers, the entries of each row in their old order, and the others in that order.
 *
 *   key 2 0 2 1   other a b c d   ->   rowptr 0 1 2 4   entries 1 3 0 2   others b d a c
 *
 * One counter per row and one write to a random place for each entry would miss the caches on large graphs. So entries
 * are first distributed into groups of neighbouring rows, then each group is sorted, which the caches hold. Threads
 * share the entries in the first step and the groups in the second, and both steps keep the order, so the result does
 * not depend on the number of threads. What is distributed lies where the result will be: the entry in its own place,
 * its row in the place of the other. */
#include "graph/graph.h"

#include <string.h>

enum { MAX_GROUPS = 512, GROUP_ENTRIES = 1 << 15, SMALL = 1 << 16, AHEAD = 16 };

typedef struct Out {
  int32_t *rowptr, *entry, *other;
} Out;

/* ---- keys that never go down ---- */

static void rows_sorted(const Rows *r, Out o) {
  int64_t n = r->entries;
#pragma omp parallel for num_threads(r->threads) schedule(static)
  for (int64_t e = 0; e < n; e++) {
    for (int64_t v = e ? r->key[e - 1] + 1 : 0; v <= r->key[e]; v++) o.rowptr[v] = (int32_t)e;
    o.entry[e] = (int32_t)e;
    o.other[e] = r->other[e];
  }
  for (int64_t v = n ? r->key[n - 1] + 1 : 0; v <= r->rows; v++) o.rowptr[v] = (int32_t)n;
}

/* ---- a few entries ---- */

/* Counts in rowptr[first .. last) to the places where rows begin; the first row begins at `from`. */
static void counts_to_places(int32_t *rowptr, int64_t first, int64_t last, int64_t from) {
  for (int64_t v = first; v < last; v++) {
    int32_t count = rowptr[v];
    rowptr[v] = (int32_t)from;
    from += count;
  }
}

/* While entries were placed, rowptr[v] went on to where row v ends: the beginning of row v + 1. */
static void places_back(int32_t *rowptr, int64_t first, int64_t last, int64_t from) {
  memmove(rowptr + first + 1, rowptr + first, (size_t)(last - first - 1) * sizeof *rowptr);
  rowptr[first] = (int32_t)from;
}

static void rows_small(const Rows *r, Out o) {
  memset(o.rowptr, 0, (size_t)(r->rows + 1) * sizeof *o.rowptr);
  for (int64_t e = 0; e < r->entries; e++) o.rowptr[r->key[e]]++;
  counts_to_places(o.rowptr, 0, r->rows, 0);
  for (int64_t e = 0; e < r->entries; e++) {
    int32_t at = o.rowptr[r->key[e]]++;
    o.entry[at] = (int32_t)e;
    o.other[at] = r->other[e];
  }
  if (r->rows) places_back(o.rowptr, 0, r->rows, 0);
  o.rowptr[r->rows] = (int32_t)r->entries;
}

/* ---- many ---- */

typedef struct Groups {
  int shift, n, parts;
  int32_t (*count)[MAX_GROUPS]; /* a row for each part of the entries */
  int64_t begin[MAX_GROUPS + 1];
} Groups;

static int64_t part_begin(const Rows *r, int part, int parts) { return r->entries * part / parts; }

/* How many entries of each part go to each group, and from that where they go. */
static void count_groups(const Rows *r, Groups *g) {
#pragma omp parallel for num_threads(g->parts) schedule(static, 1)
  for (int p = 0; p < g->parts; p++)
    for (int64_t e = part_begin(r, p, g->parts); e < part_begin(r, p + 1, g->parts); e++)
      g->count[p][r->key[e] >> g->shift]++;
  int64_t sum = 0;
  for (int k = 0; k < g->n; k++) {
    g->begin[k] = sum;
    for (int p = 0; p < g->parts; p++) {
      int32_t count = g->count[p][k];
      g->count[p][k] = (int32_t)sum;
      sum += count;
    }
  }
  g->begin[g->n] = sum;
}

static void distribute(const Rows *r, Groups *g, Out o) {
#pragma omp parallel for num_threads(g->parts) schedule(static, 1)
  for (int p = 0; p < g->parts; p++)
    for (int64_t e = part_begin(r, p, g->parts); e < part_begin(r, p + 1, g->parts); e++) {
      int32_t at = g->count[p][r->key[e] >> g->shift]++;
      o.entry[at] = (int32_t)e;
      o.other[at] = r->key[e];
    }
}

/* The group's rows are [first, last), its places [from, to). The others are fetched in the order of the entries, which
 * goes up: memory is asked for a few steps ahead. */
static void sort_group(const Rows *r, Out o, int64_t first, int64_t last, int64_t from, int64_t to, int32_t *scratch) {
  int64_t n = to - from;
  int32_t *row = scratch, *entry = scratch + n;
  memcpy(row, o.other + from, (size_t)n * sizeof *row);
  memcpy(entry, o.entry + from, (size_t)n * sizeof *entry);
  memset(o.rowptr + first, 0, (size_t)(last - first) * sizeof *o.rowptr);
  for (int64_t i = 0; i < n; i++) o.rowptr[row[i]]++;
  counts_to_places(o.rowptr, first, last, from);
  for (int64_t i = 0; i < n; i++) {
    __builtin_prefetch(&r->other[entry[MIN(i + AHEAD, n - 1)]]);
    int32_t at = o.rowptr[row[i]]++;
    o.entry[at] = entry[i];
    o.other[at] = r->other[entry[i]];
  }
  places_back(o.rowptr, first, last, from);
}

/* A group of one row is in order already. */
static void finish_row(const Rows *r, Out o, int64_t row, int64_t from, int64_t to) {
  o.rowptr[row] = (int32_t)from;
  for (int64_t i = from; i < to; i++) {
    __builtin_prefetch(&r->other[o.entry[MIN(i + AHEAD, to - 1)]]);
    o.other[i] = r->other[o.entry[i]];
  }
}

static int64_t group_first(const Groups *g, int k) { return (int64_t)k << g->shift; }
static int64_t group_last(const Rows *r, const Groups *g, int k) { return MIN(r->rows, group_first(g, k + 1)); }

static void sort_groups(const Rows *r, const Groups *g, Out o, int64_t largest, int32_t *scratch) {
#pragma omp parallel num_threads(g->parts)
  {
    int32_t *own = NULL;
#pragma omp for schedule(static, 1)
    for (int p = 0; p < g->parts; p++) own = scratch + 2 * largest * p;
#pragma omp for schedule(dynamic, 1)
    for (int k = 0; k < g->n; k++) {
      int64_t first = group_first(g, k), last = group_last(r, g, k);
      if (last - first == 1)
        finish_row(r, o, first, g->begin[k], g->begin[k + 1]);
      else
        sort_group(r, o, first, last, g->begin[k], g->begin[k + 1], own);
    }
  }
  o.rowptr[r->rows] = (int32_t)r->entries;
}

static int64_t largest_group(const Rows *r, const Groups *g) {
  int64_t n = 0;
  for (int k = 0; k < g->n; k++)
    if (group_last(r, g, k) - group_first(g, k) > 1) n = MAX(n, g->begin[k + 1] - g->begin[k]);
  return n;
}

static bool rows_large(Base *b, const Rows *r, Out o) {
  Groups g = {.parts = r->threads};
  int64_t want = MIN(MAX_GROUPS, MAX(1, MAX(r->entries, r->rows) / GROUP_ENTRIES));
  while (((r->rows - 1) >> g.shift) + 1 > want) g.shift++;
  g.n = (int)(((r->rows - 1) >> g.shift) + 1);
  size_t counts = (size_t)g.parts * sizeof *g.count;
  g.count = mem_new(b, counts);
  if (!g.count) return false;
  count_groups(r, &g);
  int64_t largest = largest_group(r, &g);
  size_t bytes = (size_t)g.parts * (size_t)MAX(largest, 1) * 2 * sizeof(int32_t);
  int32_t *scratch = mem_resize(b, NULL, 0, bytes);
  if (scratch) {
    distribute(r, &g, o);
    sort_groups(r, &g, o, largest, scratch);
  }
  mem_free(b, scratch, bytes);
  mem_free(b, g.count, counts);
  return scratch != NULL;
}

bool rows_build(Base *b, const Rows *r) {
  Out o = {r->rowptr, r->entry_out, r->other_out};
  if (r->sorted)
    rows_sorted(r, o);
  else if (r->rows + r->entries < SMALL)
    rows_small(r, o);
  else
    return rows_large(b, r, o);
  return true;
}
