/* hgt.c: sampling by budgets, as the heterogeneous graph transformer has it (Hu et al., 2020). Nodes that an edge leads
 * from to a drawn node collect a budget, 1 / in-degree for each such edge. At each hop a given number of every type is
 * drawn, by the square of their budgets; their neighbours collect in turn. At the end all edges between the nodes are
 * taken.
 */
#include "algorithms/sampler.h"

#include <string.h>

enum { MOST_NEIGHBOURS = 50 }; /* of a node with more, this many are drawn and count */

/* The nodes of one type that have a budget: local numbers of a set of their own are places in `amount`. */
typedef struct Budget {
  NodeSet set;
  VEC(double) amount; /* 0: drawn */
  VEC(double) weight;
  VEC(int32_t) drawn;
  VEC(double) keys;
} Budget;

static void free_budgets(PolySample *s, Budget *budget) {
  Base *b = &s->base;
  for (int t = 0; t < s->sampler->types; t++) {
    Budget *g = &budget[t];
    vec_free(b, &g->set.node);
    mem_free(b, g->set.map.key, g->set.map.size * sizeof *g->set.map.key);
    mem_free(b, g->set.map.value, g->set.map.size * sizeof *g->set.map.value);
    vec_free(b, &g->amount);
    vec_free(b, &g->weight);
    vec_free(b, &g->drawn);
    vec_free(b, &g->keys);
  }
  mem_free(b, budget, (size_t)s->sampler->types * sizeof *budget);
}

static bool add_to_budget(PolySample *s, Budget *g, const NodeSet *known, int32_t node, double amount) {
  if (sample_find(s, known, 0, node) >= 0) return true;
  int32_t at = sample_insert(s, &g->set, 0, node);
  if (at < 0 || (at == g->amount.n && !vec_push(&s->base, &g->amount, 0.0))) return false;
  g->amount.at[at] += amount;
  return true;
}

/* What the nodes [begin, end) of a type add to the budgets of their neighbours. */
static bool collect(PolySample *s, Budget *budget, int type, uint64_t key) {
  const NodeSet *to = &s->nodes[type];
  for (int k = 0; k < s->relations; k++) {
    const Relation *r = &s->sampler->relation.at[k];
    if (r->dst != type) continue;
    for (int i = to->begin; i < to->end; i++) {
      int32_t v = to->node.at[i], place[MOST_NEIGHBOURS];
      Range row = {r->rowptr[v], r->rowptr[v + 1]};
      int64_t n = row.end - row.begin, take = MIN(n, MOST_NEIGHBOURS);
      Relation plain = {.edges = r->edges}; /* all edges alike, whatever their weights */
      pick(&plain, row, MOST_NEIGHBOURS, false, (Random){random_key(random_key(key, (uint64_t)k), (uint64_t)i)}, take,
           place, NULL);
      for (int64_t j = 0; j < take; j++)
        if (!add_to_budget(s, &budget[r->src], &s->nodes[r->src], r->other[place[j]], 1.0 / (double)take)) return false;
    }
  }
  return true;
}

static bool collect_all(PolySample *s, Budget *budget, uint64_t key) {
  for (int t = 0; t < s->sampler->types; t++)
    if (!collect(s, budget, t, random_key(key, (uint64_t)t))) return false;
  return true;
}

static bool draw_type(PolySample *s, Budget *g, int type, int64_t count, uint64_t key) {
  int n = g->amount.n;
  int64_t most = count < 0 ? n : MIN(count, n);
  if (!most) return true;
  if (!vec_reserve(&s->base, &g->weight, n) || !vec_reserve(&s->base, &g->drawn, (int)most) ||
      !vec_reserve(&s->base, &g->keys, (int)most))
    return false;
  for (int k = 0; k < n; k++) g->weight.at[k] = g->amount.at[k] * g->amount.at[k];
  int64_t have = pick_weighted(g->weight.at, n, most, (Random){key}, g->drawn.at, g->keys.at);
  for (int64_t k = 0; k < have; k++) {
    int at = g->drawn.at[k];
    g->amount.at[at] = 0;
    if (sample_insert(s, &s->nodes[type], 0, g->set.node.at[at]) < 0) return false;
  }
  return true;
}

static bool draw_all(PolySample *s, Budget *budget, const PolySampleSpec *spec) {
  uint64_t key = random_key(random_key(random_mix(spec->seed), spec->batch), 2);
  if (!collect_all(s, budget, random_key(key, 0))) return false;
  for (int hop = 0; hop < spec->hops; hop++) {
    uint64_t own = random_key(key, 2 * (uint64_t)hop + 1);
    for (int t = 0; t < s->sampler->types; t++)
      if (!draw_type(s, &budget[t], t, spec->counts[(int64_t)t * spec->hops + hop], random_key(own, (uint64_t)t)))
        return false;
    sample_next_hop(s, hop);
    if (hop + 1 < spec->hops && !collect_all(s, budget, random_key(key, 2 * (uint64_t)hop + 2))) return false;
  }
  return true;
}

PolyStatus poly_sample_run_hgt(PolySample *s, const PolySampleSpec *spec, int num_seeds, const PolySeeds *seeds) {
  if (!s || !spec || num_seeds < 0 || (num_seeds && !seeds)) return POLY_ERROR_VALUE;
  sample_begin(s, false, MAX(spec->hops, 0));
  if (spec->hops < 0 || (spec->hops && !spec->counts)) {
    base_fail(&s->base, POLY_ERROR_VALUE, "%d hops%s", spec->hops, spec->hops < 0 ? "" : " without counts");
    return s->base.code;
  }
  Budget *budget = mem_new(&s->base, (size_t)s->sampler->types * sizeof *budget);
  if (!budget) return s->base.code;
  bool ok = sample_add_seeds(s, num_seeds, seeds) && draw_all(s, budget, spec) && sample_induce(s, spec->threads);
  free_budgets(s, budget);
  return ok ? POLY_OK : s->base.code;
}
