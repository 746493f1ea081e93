/* walk.c: random walks on one relation. From a node the walk goes on to the other end of one of its row's edges. With
 * p and q as node2vec has them (Grover and Leskovec, 2016) a step is drawn uniformly, and kept with a probability that
 * depends on where the walk came from; else another is drawn. */
#include "base/threads.h"
#include "algorithms/sampler.h"

enum { MOST_DRAWS = 64 };

typedef struct Walk {
  const Relation *r;
  int64_t length;
  double back, beside, away; /* how likely a step is kept */
  bool plain;
} Walk;

/* Is `to` at the other end of an edge of row v? */
static bool is_neighbour(const Relation *r, int64_t v, int32_t to) {
  int64_t low = r->rowptr[v], high = r->rowptr[v + 1];
  if (!r->ordered) {
    for (int64_t p = low; p < high; p++)
      if (r->other[p] == to) return true;
    return false;
  }
  while (low < high) {
    int64_t mid = low + (high - low) / 2;
    if (r->other[mid] < to)
      low = mid + 1;
    else
      high = mid;
  }
  return low < r->rowptr[v + 1] && r->other[low] == to;
}

static double chance_of(const Walk *w, int64_t before, int32_t to) {
  return to == before ? w->back : is_neighbour(w->r, before, to) ? w->beside : w->away;
}

/* A place in a row of n entries, drawn by the chances of all of them; any if no chance is left. */
static int64_t weighed(const Walk *w, int64_t begin, int64_t n, int64_t before, Random *random) {
  double total = 0, part = 0;
  for (int64_t k = 0; k < n; k++) total += chance_of(w, before, w->r->other[begin + k]);
  if (!(total > 0)) return begin + random_below(random, n);
  double end = random_unit(random) * total;
  for (int64_t k = 0; k < n; k++) {
    part += chance_of(w, before, w->r->other[begin + k]);
    if (end < part) return begin + k;
  }
  return begin + n - 1;
}

/* A place in row v. before: the node that the walk came from, or -1. Where hardly any step is kept (a leaf, with a
 * large p), drawing on and on would take for ever: the next step is then drawn by the chances of the whole row, which
 * is the same distribution. */
static int64_t step(const Walk *w, int64_t v, int64_t before, Random *random) {
  const Relation *r = w->r;
  int64_t begin = r->rowptr[v], n = r->rowptr[v + 1] - begin;
  if (!n) return -1;
  for (int tried = 0; tried < MOST_DRAWS; tried++) {
    int64_t at = begin + random_below(random, n);
    if (w->plain || before < 0) return at;
    if (random_unit(random) < chance_of(w, before, r->other[at])) return at;
  }
  return weighed(w, begin, n, before, random);
}

static void walk(const Walk *w, int64_t start, Random random, int64_t *nodes, int64_t *edges) {
  int64_t v = start, before = -1;
  nodes[0] = v;
  for (int64_t k = 0; k < w->length; k++) {
    int64_t at = step(w, v, before, &random);
    before = v;
    if (at >= 0) v = w->r->other[at];
    nodes[k + 1] = v;
    if (edges) edges[k] = at < 0 ? -1 : w->r->entry[at];
  }
}

int64_t poly_sampler_walk(const PolySampler *s, int relation, const int64_t *start, int64_t n, int64_t length, double p,
                          double q, uint64_t seed, int threads, int64_t *nodes, int64_t *edges) {
  if (!s || relation < 0 || relation >= s->relation.n || length < 0 || !(p > 0) || !(q > 0)) return 0;
  const Relation *r = &s->relation.at[relation];
  if (r->src != r->dst) return 0;
  for (int64_t k = 0; k < n; k++)
    if (start[k] < 0 || start[k] >= r->rows) return k;
  double back = 1 / p, away = 1 / q, most = MAX(MAX(back, away), 1.0);
  Walk w = {r, length, back / most, 1 / most, away / most, p == 1 && q == 1};
  uint64_t key = random_key(random_mix(seed), 3);
#pragma omp parallel for num_threads(n *length < 4096 ? 1 : threads_allowed(threads)) schedule(dynamic, 64)
  for (int64_t k = 0; k < n; k++)
    walk(&w, start[k], (Random){random_key(key, (uint64_t)k)}, nodes + k * (length + 1),
         edges ? edges + k * length : NULL);
  return -1;
}
