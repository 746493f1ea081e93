/* points.c: neighbours among points: the k nearest, those within a radius, and points that lie far from one another.
 *
 * In: points [N, F] of float32 or float64, in groups that lie one after the other (the graphs of a batch). Out:
 * indices. Distances are squared ones, summed in double, so that equal distances are equal here as well; of those the
 * smaller index comes first, and results depend neither on the tree nor on the number of threads.
 *
 * With few features the points of a group are put into a k-d tree: halves along the widest side until LEAF points are
 * left. A search goes down the side of the query first and leaves out what cannot be nearer than the worst it keeps.
 * With many features no side can be left out, and all points are looked at. */
#include "base/threads.h"
#include "graph/graph.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { LEAF = 16, TREE_FEATURES = 8, PARTS = 64, FPS_PARALLEL = 1 << 14 };

/* ---- points of a tensor ---- */

typedef struct Points {
  double *at; /* [n][features] */
  int64_t n, features;
} Points;

static size_t points_bytes(const Points *p) { return (size_t)MAX(p->n * p->features, 1) * sizeof(double); }
static void points_free(Base *b, Points *p) { mem_free(b, p->at, points_bytes(p)), p->at = NULL; }
static const double *point(const Points *p, int64_t i) { return p->at + i * p->features; }

/* float32 values in the second half of memory, spread out over all of it. */
static void widen(double *at, int64_t n) {
  const char *from = (const char *)at + (size_t)n * sizeof(float);
  for (int64_t i = 0; i < n; i++) {
    float v;
    memcpy(&v, from + (size_t)i * sizeof v, sizeof v);
    at[i] = v;
  }
}

static bool points_read(PolyTensor *t, const char *what, Points *p) {
  PolyContext *ctx = t->ctx;
  Base *b = ctx_base(ctx);
  PolyDType d = poly_dtype(t);
  if (poly_ndim(t) != 2)
    return base_fail(b, POLY_ERROR_VALUE, "%s: points have the shape [N, F], not %d axes", what, poly_ndim(t));
  if (d != POLY_FLOAT32 && d != POLY_FLOAT64)
    return base_fail(b, POLY_ERROR_TYPE, "%s: points are float32 or float64, not %s", what, poly_dtype_name(d));
  *p = (Points){NULL, poly_dim_value(ctx, poly_dim(t, 0)), poly_dim_value(ctx, poly_dim(t, 1))};
  if (!(p->at = mem_new(b, points_bytes(p)))) return false;
  int64_t values = p->n * p->features;
  size_t bytes = (size_t)values * (d == POLY_FLOAT32 ? sizeof(float) : sizeof(double));
  char *to = (char *)p->at + ((size_t)values * sizeof(double) - bytes);
  if (values && poly_read(t, to, bytes) != POLY_OK) {
    points_free(b, p);
    return false;
  }
  if (d == POLY_FLOAT32) widen(p->at, values);
  return true;
}

/* Where the points of each group begin; NULL: one group of all points. */
typedef struct Groups {
  const int64_t *ptr;
  int64_t count, n;
} Groups;

static int64_t group_begin(const Groups *g, int64_t k) { return g->ptr ? g->ptr[k] : 0; }
static int64_t group_end(const Groups *g, int64_t k) { return g->ptr ? g->ptr[k + 1] : g->n; }

static bool check_groups(Base *b, const char *what, const Groups *g) {
  if (!g->ptr)
    return g->count == 1 ||
           base_fail(b, POLY_ERROR_VALUE, "%s: %" PRId64 " groups without row pointers", what, g->count);
  bool ok = g->count >= 0 && g->ptr[0] == 0 && g->ptr[g->count] == g->n;
  for (int64_t k = 0; ok && k < g->count; k++) ok = g->ptr[k] <= g->ptr[k + 1];
  return ok || base_fail(b, POLY_ERROR_VALUE, "%s: the row pointers of the groups do not go up from 0 to %" PRId64,
                         what, g->n);
}

/* ---- the tree ---- */

typedef struct Split {
  int32_t axis;
  double low, high; /* the largest value of the first half, the smallest of the second */
} Split;

/* The points of one group. Node k has the children 2k + 1 and 2k + 2; its points are a range of `index`, halved in
 * the middle from node to node, so that ranges need not be stored. */
typedef struct Tree {
  const Points *points;
  int64_t begin, n;
  int64_t *index; /* [n]: numbers of points, leaf by leaf; NULL: no tree, all points are looked at */
  double *leaf;   /* [n][features]: the points in that order */
  Split *split;
  int64_t splits;
} Tree;

static int64_t tree_nodes(int64_t n) {
  int64_t nodes = 1;
  for (int64_t size = n; size > LEAF; size -= size / 2) nodes = 2 * nodes + 1;
  return nodes;
}

static int widest(const Tree *t, int64_t first, int64_t last) {
  int best = 0;
  double most = -1;
  for (int f = 0; f < (int)t->points->features; f++) {
    double low = DBL_MAX, high = -DBL_MAX;
    for (int64_t i = first; i < last; i++) {
      double v = point(t->points, t->index[i])[f];
      low = MIN(low, v), high = MAX(high, v);
    }
    if (high - low > most) most = high - low, best = f;
  }
  return best;
}

static double key_of(const Tree *t, int64_t i, int axis) { return point(t->points, t->index[i])[axis]; }

static void swap_index(int64_t *v, int64_t i, int64_t j) {
  int64_t x = v[i];
  v[i] = v[j], v[j] = x;
}

/* Quickselect: nothing before `middle` is larger than what stands there, nothing after it smaller. */
static void halve(Tree *t, int64_t first, int64_t last, int64_t middle, int axis) {
  while (last - first > 1) {
    double pivot = key_of(t, first + (last - first) / 2, axis);
    int64_t i = first, j = last - 1;
    while (i <= j) {
      while (key_of(t, i, axis) < pivot) i++;
      while (key_of(t, j, axis) > pivot) j--;
      if (i <= j) swap_index(t->index, i++, j--);
    }
    if (middle <= j)
      last = j + 1;
    else if (middle >= i)
      first = i;
    else
      return;
  }
}

static void tree_split(Tree *t, int64_t node, int64_t first, int64_t last) {
  if (last - first <= LEAF) return;
  int64_t middle = first + (last - first) / 2;
  Split *s = &t->split[node];
  s->axis = widest(t, first, last);
  halve(t, first, last, middle, s->axis);
  s->low = -DBL_MAX, s->high = key_of(t, middle, s->axis);
  for (int64_t i = first; i < middle; i++) s->low = MAX(s->low, key_of(t, i, s->axis));
  tree_split(t, 2 * node + 1, first, middle);
  tree_split(t, 2 * node + 2, middle, last);
}

static void tree_free(Base *b, Tree *t) {
  mem_free(b, t->index, (size_t)t->n * sizeof *t->index);
  mem_free(b, t->leaf, (size_t)(t->n * t->points->features) * sizeof *t->leaf);
  mem_free(b, t->split, (size_t)t->splits * sizeof *t->split);
  t->index = NULL, t->leaf = NULL, t->split = NULL;
}

/* NaN would end the search for a pivot outside the range. */
static bool all_finite(const Points *p, int64_t begin, int64_t n) {
  for (int64_t i = begin * p->features; i < (begin + n) * p->features; i++)
    if (!isfinite(p->at[i])) return false;
  return true;
}

static bool tree_build(Base *b, const Points *p, int64_t begin, int64_t n, bool plain, Tree *t) {
  *t = (Tree){.points = p, .begin = begin, .n = n, .splits = tree_nodes(n)};
  if (plain || n <= 2 * LEAF || p->features > TREE_FEATURES || !p->features || !all_finite(p, begin, n)) return true;
  t->index = mem_new(b, (size_t)n * sizeof *t->index);
  t->leaf = mem_new(b, (size_t)(n * p->features) * sizeof *t->leaf);
  t->split = mem_new(b, (size_t)t->splits * sizeof *t->split);
  if (!t->index || !t->leaf || !t->split) {
    tree_free(b, t);
    return false;
  }
  for (int64_t i = 0; i < n; i++) t->index[i] = begin + i;
  tree_split(t, 0, 0, n);
  for (int64_t i = 0; i < n; i++)
    memcpy(t->leaf + i * p->features, point(p, t->index[i]), (size_t)p->features * sizeof *t->leaf);
  return true;
}

/* ---- a search ---- */

typedef struct Found {
  double distance;
  int64_t index;
} Found;

static bool nearer(Found a, Found b) {
  return a.distance < b.distance || (a.distance == b.distance && a.index < b.index);
}

/* What is kept of one query's points: a heap with the farthest on top. */
typedef struct Search {
  const Tree *tree;
  const double *query;
  int64_t most, count; /* how many are kept, at most and now */
  int64_t skip;        /* this point is none of them */
  double limit;        /* nor are those that lie this far off or farther */
  bool cosine;
  Found *heap;
  double side[TREE_FEATURES]; /* how far the query lies outside of the part of the tree, along each axis */
} Search;

static void heap_up(Found *h, int64_t at) {
  for (Found x = h[at]; at && nearer(h[(at - 1) / 2], x);) {
    h[at] = h[(at - 1) / 2];
    at = (at - 1) / 2;
    h[at] = x;
  }
}

static void heap_down(Found *h, int64_t n) {
  Found x = h[0];
  int64_t at = 0;
  for (int64_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && nearer(h[child], h[child + 1])) child++;
    if (!nearer(x, h[child])) break;
    h[at] = h[child];
  }
  h[at] = x;
}

static void offer(Search *s, double distance, int64_t index) {
  Found f = {distance, index};
  if (!(distance < s->limit) || index == s->skip) return;
  if (s->count < s->most) {
    s->heap[s->count] = f;
    heap_up(s->heap, s->count++);
  } else if (s->most && nearer(f, s->heap[0])) {
    s->heap[0] = f;
    heap_down(s->heap, s->count);
  }
}

static double squared_distance(const double *a, const double *b, int64_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t f = 0; f < n; f++) sum += (a[f] - b[f]) * (a[f] - b[f]);
  return sum;
}

/* Rows have the length 1 or 0. */
static double cosine_distance(const double *a, const double *b, int64_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t f = 0; f < n; f++) sum += a[f] * b[f];
  return 1 - sum;
}

static void search_all(Search *s) {
  const Tree *t = s->tree;
  int64_t features = t->points->features;
  for (int64_t i = t->begin; i < t->begin + t->n; i++) {
    const double *x = point(t->points, i);
    offer(s, s->cosine ? cosine_distance(s->query, x, features) : squared_distance(s->query, x, features), i);
  }
}

/* bound: the squared distance of the query from this part of the tree, which rounding may have made too large by a
 * little. */
static void search_tree(Search *s, int64_t node, int64_t first, int64_t last, double bound) {
  const Tree *t = s->tree;
  double worst = s->count < s->most ? s->limit : s->heap[0].distance;
  if (bound * (1 - 1e-12) > worst) return;
  int64_t features = t->points->features;
  if (last - first <= LEAF) {
    for (int64_t i = first; i < last; i++)
      offer(s, squared_distance(s->query, t->leaf + i * features, features), t->index[i]);
    return;
  }
  const Split *p = &t->split[node];
  int64_t middle = first + (last - first) / 2;
  double v = s->query[p->axis], old = s->side[p->axis];
  bool right = v - p->low > p->high - v; /* nearer to the second half */
  double gap = right ? v - p->low : p->high - v;
  double far = MAX(gap, 0);
  if (right)
    search_tree(s, 2 * node + 2, middle, last, bound);
  else
    search_tree(s, 2 * node + 1, first, middle, bound);
  far = MAX(far, old);
  s->side[p->axis] = far;
  bound += far * far - old * old;
  if (right)
    search_tree(s, 2 * node + 1, first, middle, bound);
  else
    search_tree(s, 2 * node + 2, middle, last, bound);
  s->side[p->axis] = old;
}

static int by_distance(const void *a, const void *b) {
  return nearer(*(const Found *)a, *(const Found *)b) ? -1 : nearer(*(const Found *)b, *(const Found *)a);
}
static int by_index(const void *a, const void *b) {
  int64_t i = ((const Found *)a)->index, j = ((const Found *)b)->index;
  return (i > j) - (i < j);
}

/* ---- all queries ---- */

/* Pairs of one part of the queries. */
typedef struct Part {
  int64_t *pair; /* query, point, query, point ... */
  int64_t n, cap;
} Part;

typedef struct Job {
  Base *b;
  Points x, y;
  Groups gx, gy;
  int64_t most;
  double limit;
  bool cosine, skip_same, nearest_first;
  int threads;
  Part part[PARTS];
} Job;

/* Allocators need not be safe to call from several threads at a time. */
static bool part_reserve(Base *b, Part *p, int64_t more) {
  if (p->n + more <= p->cap) return true;
  int64_t cap = MAX(p->n + more, 2 * p->cap);
  int64_t *pair;
#pragma omp critical(poly_points)
  pair = mem_resize(b, p->pair, 2 * (size_t)p->cap * sizeof *pair, 2 * (size_t)cap * sizeof *pair);
  if (!pair) return false;
  p->pair = pair, p->cap = cap;
  return true;
}

static bool run_query(const Job *j, Search *s, int64_t query, Part *out) {
  s->query = point(&j->y, query);
  s->count = 0;
  s->skip = j->skip_same ? query : -1;
  if (s->tree->index) {
    memset(s->side, 0, sizeof s->side);
    search_tree(s, 0, 0, s->tree->n, 0);
  } else
    search_all(s);
  qsort(s->heap, (size_t)s->count, sizeof *s->heap, j->nearest_first ? by_distance : by_index);
  if (!part_reserve(j->b, out, s->count)) return false;
  for (int64_t i = 0; i < s->count; i++) {
    out->pair[2 * out->n] = query;
    out->pair[2 * out->n++ + 1] = s->heap[i].index;
  }
  return true;
}

/* The queries of one group. They are shared out in parts; the parts of the groups follow one another in each part, so
 * the pairs of a part are put in order of the query by `collect`. */
static bool run_group(Job *j, int64_t group) {
  int64_t begin = group_begin(&j->gx, group), n = group_end(&j->gx, group) - begin;
  int64_t first = group_begin(&j->gy, group), queries = group_end(&j->gy, group) - first;
  int64_t most = MIN(j->most, n);
  if (!queries || most <= 0) return true;
  Tree tree;
  if (!tree_build(j->b, &j->x, begin, n, j->cosine || queries * 4 < LEAF, &tree)) return false;
  int parts = j->threads > 1 && queries * n > 1 << 12 ? PARTS : 1, threads = parts > 1 ? j->threads : 1;
  size_t heap_bytes = (size_t)threads * (size_t)most * sizeof(Found);
  Found *heaps = mem_new(j->b, heap_bytes);
  int failed = !heaps;
  if (heaps) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) reduction(| : failed)
    for (int p = 0; p < parts; p++) {
      Search s = {.tree = &tree, .most = most, .limit = j->limit, .cosine = j->cosine};
      s.heap = heaps + (size_t)omp_get_thread_num() * (size_t)most;
      for (int64_t q = first + queries * p / parts; !failed && q < first + queries * (p + 1) / parts; q++)
        failed |= !run_query(j, &s, q, &j->part[p]);
    }
  }
  mem_free(j->b, heaps, heap_bytes);
  tree_free(j->b, &tree);
  return !failed;
}

/* Pairs in order of the query: a query's pairs all lie in one part, in their order. */
static void place_pairs(const Job *j, const int64_t *start, int64_t total, int64_t *out) {
  for (int p = 0; p < PARTS; p++) {
    const Part *part = &j->part[p];
    int64_t at = 0, last = -1;
    for (int64_t i = 0; i < part->n; i++) {
      int64_t query = part->pair[2 * i];
      at = query == last ? at + 1 : start[query];
      last = query;
      out[at] = query;
      out[total + at] = part->pair[2 * i + 1];
    }
  }
}

static PolyTensor *collect(PolyContext *ctx, const Job *j) {
  int64_t total = 0, shape[2] = {2, 0};
  size_t start_bytes = (size_t)(j->y.n + 1) * sizeof(int64_t);
  int64_t *start = mem_new(j->b, start_bytes);
  if (!start) return NULL;
  for (int p = 0; p < PARTS; p++) {
    total += j->part[p].n;
    for (int64_t i = 0; i < j->part[p].n; i++) start[j->part[p].pair[2 * i] + 1]++;
  }
  for (int64_t q = 0; q < j->y.n; q++) start[q + 1] += start[q];
  shape[1] = total;
  size_t bytes = 2 * (size_t)MAX(total, 1) * sizeof(int64_t);
  int64_t *out = mem_new(j->b, bytes);
  if (out) place_pairs(j, start, total, out);
  PolyTensor *t = out ? poly_from_data(ctx, out, POLY_INT64, 2, shape) : NULL;
  mem_free(j->b, out, bytes);
  mem_free(j->b, start, start_bytes);
  return t;
}

static void to_unit_length(Points *p) {
  for (int64_t i = 0; i < p->n; i++) {
    double *x = p->at + i * p->features, sum = 0;
    for (int64_t f = 0; f < p->features; f++) sum += x[f] * x[f];
    for (int64_t f = 0; sum > 0 && f < p->features; f++) x[f] /= sqrt(sum);
  }
}

static PolyTensor *run(PolyTensor *x, PolyTensor *y, const char *what, Job *j) {
  PolyContext *ctx = x->ctx;
  Base *b = j->b = ctx_base(ctx);
  PolyTensor *out = NULL;
  j->threads = threads_allowed(poly_threads(ctx));
  bool ok = points_read(x, what, &j->x);
  ok = ok && points_read(y, what, &j->y);
  j->gx.n = j->x.n, j->gy.n = j->y.n;
  if (ok && j->x.features != j->y.features)
    ok = base_fail(b, POLY_ERROR_VALUE, "%s: points of %" PRId64 " and of %" PRId64 " features", what, j->x.features,
                   j->y.features);
  ok = ok && check_groups(b, what, &j->gx) && check_groups(b, what, &j->gy);
  if (ok && j->cosine) to_unit_length(&j->x), to_unit_length(&j->y);
  for (int64_t g = 0; ok && g < j->gx.count; g++) ok = run_group(j, g);
  if (ok) out = collect(ctx, j);
  for (int p = 0; p < PARTS; p++) mem_free(b, j->part[p].pair, 2 * (size_t)j->part[p].cap * sizeof(int64_t));
  if (j->y.at) points_free(b, &j->y);
  if (j->x.at) points_free(b, &j->x);
  return out;
}

PolyTensor *poly_knn(PolyTensor *x, PolyTensor *y, const int64_t *ptr_x, const int64_t *ptr_y, int64_t groups,
                     int64_t k, bool cosine, bool skip_same) {
  if (!x || !y) return NULL;
  if (k < 0) return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "knn: %" PRId64 " neighbours", k);
  Job j = {.gx = {ptr_x, groups, 0},
           .gy = {ptr_y, groups, 0},
           .most = k,
           .limit = INFINITY,
           .cosine = cosine,
           .skip_same = skip_same,
           .nearest_first = true};
  return run(x, y, "knn", &j);
}

PolyTensor *poly_radius(PolyTensor *x, PolyTensor *y, const int64_t *ptr_x, const int64_t *ptr_y, int64_t groups,
                        double r, int64_t most, bool skip_same) {
  if (!x || !y) return NULL;
  Job j = {.gx = {ptr_x, groups, 0},
           .gy = {ptr_y, groups, 0},
           .most = most < 0 ? INT64_MAX : most,
           .limit = r * r,
           .skip_same = skip_same};
  return run(x, y, "radius", &j);
}

/* ---- points far from one another ---- */

/* Distances fall to those from the last point chosen; returns the point that is now farthest, the first of equals. */
static int64_t fps_step(const Points *p, int64_t begin, int64_t n, int64_t last, double *distance, int threads) {
  const double *from = point(p, last);
  Found best = {-1, begin};
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    Found mine = {-1, begin};
#pragma omp for schedule(static) nowait
    for (int64_t i = begin; i < begin + n; i++) {
      double d = squared_distance(from, point(p, i), p->features);
      if (d < distance[i]) distance[i] = d;
      if (distance[i] > mine.distance) mine = (Found){distance[i], i};
    }
#pragma omp critical(poly_fps)
    if (mine.distance > best.distance || (mine.distance == best.distance && mine.index < best.index)) best = mine;
  }
  return best.index;
}

static void fps_group(const Points *p, int64_t begin, int64_t n, int64_t start, int64_t count, double *distance,
                      int64_t *out, int threads) {
  for (int64_t i = begin; i < begin + n; i++) distance[i] = INFINITY;
  out[0] = begin + start;
  for (int64_t i = 1; i < count; i++) out[i] = fps_step(p, begin, n, out[i - 1], distance, threads);
}

/* How many of n: rounded up, in float32 as PyG does, so that the same numbers come out. */
static int64_t fps_count(int64_t n, double ratio) {
  int64_t count = (int64_t)ceilf((float)((double)(float)n * ratio));
  return MIN(MAX(count, 0), n);
}

static bool fps_check(Base *b, const Groups *g, double ratio, const int64_t *start) {
  if (!(ratio > 0 && ratio <= 1)) return base_fail(b, POLY_ERROR_VALUE, "fps: the ratio %g is not in (0, 1]", ratio);
  for (int64_t k = 0; start && k < g->count; k++)
    if (group_end(g, k) > group_begin(g, k) && (start[k] < 0 || start[k] >= group_end(g, k) - group_begin(g, k)))
      return base_fail(b, POLY_ERROR_INDEX, "fps: start %" PRId64 " of group %" PRId64 " is out of range", start[k], k);
  return true;
}

PolyTensor *poly_fps(PolyTensor *x, const int64_t *ptr, int64_t groups, double ratio, const int64_t *start) {
  if (!x) return NULL;
  PolyContext *ctx = x->ctx;
  Base *b = ctx_base(ctx);
  Points p;
  if (!points_read(x, "fps", &p)) return NULL;
  Groups g = {ptr, groups, p.n};
  PolyTensor *t = NULL;
  double *distance = NULL;
  int64_t *out = NULL, total = 0;
  size_t at_bytes = (size_t)(MAX(groups, 0) + 1) * sizeof(int64_t), out_bytes = 0;
  int64_t *at = mem_new(b, at_bytes);
  if (!at || !check_groups(b, "fps", &g) || !fps_check(b, &g, ratio, start)) goto end;
  for (int64_t k = 0; k < groups; k++) {
    at[k] = total;
    total += fps_count(group_end(&g, k) - group_begin(&g, k), ratio);
  }
  at[groups] = total;
  out_bytes = (size_t)MAX(total, 1) * sizeof *out;
  out = mem_new(b, out_bytes);
  distance = mem_new(b, (size_t)MAX(p.n, 1) * sizeof *distance);
  if (!out || !distance) goto end;
  int threads = threads_allowed(poly_threads(ctx));
  bool inside = groups < threads && p.n >= FPS_PARALLEL;
#pragma omp parallel for num_threads(inside ? 1 : threads) schedule(dynamic, 1) if (!inside && p.n > 1 << 10)
  for (int64_t k = 0; k < groups; k++) {
    int64_t begin = group_begin(&g, k);
    if (at[k + 1] > at[k])
      fps_group(&p, begin, group_end(&g, k) - begin, start ? start[k] : 0, at[k + 1] - at[k], distance, out + at[k],
                inside ? threads : 1);
  }
  t = poly_from_data(ctx, out, POLY_INT64, 1, &total);
end:
  mem_free(b, distance, (size_t)MAX(p.n, 1) * sizeof *distance);
  mem_free(b, out, out_bytes);
  mem_free(b, at, at_bytes);
  points_free(b, &p);
  return t;
}
