/* test_sample.c: sampling: which edges and nodes a sample may hold, that it depends on the seed and not on the threads,
 * that every edge is as likely as it should be, times, weights, budgets, walks; and what happens when memory runs out.
 */
#include "graph_fixture.h"

static Failing own; /* memory of samplers */

static int open_own(void **state) {
  (void)state;
  own = (Failing){.until = -1};
  return 0;
}

static int close_own(void **state) {
  (void)state;
  assert_int_equal(own.bytes, 0);
  return 0;
}

#define PLAIN(name) cmocka_unit_test_setup_teardown(name, open_own, close_own)

static PolySampler *sampler_new(int types, const int64_t *nodes) {
  return poly_sampler_new(&(PolyAllocator){failing_realloc, &own}, types, nodes);
}

static void add(PolySampler *s, PolyRelation r) {
  if (poly_sampler_add(s, &r, 2) != POLY_OK) fail_msg("%s", poly_sampler_error_text(s));
}

/* A sampler of one relation between nodes of one type. */
static PolySampler *plain_sampler(int64_t nodes, int64_t edges, const int64_t *src, const int64_t *dst) {
  PolySampler *s = sampler_new(1, &nodes);
  assert_non_null(s);
  add(s, (PolyRelation){.dtype = POLY_INT64, .num_edges = edges, .src = src, .dst = dst});
  return s;
}

static void run(PolySample *p, PolySampleSpec spec, int64_t n, const int64_t *seeds) {
  if (poly_sample_run(p, &spec, 1, &(PolySeeds){.count = n, .node = seeds}) != POLY_OK)
    fail_msg("%s", poly_sample_error_text(p));
}

typedef struct Read {
  int nodes, edges;
  int64_t node[4096], src[4096], dst[4096], edge[4096], batch[4096];
} Read;

static Read got, before;

static Read *read_sample(PolySample *p, bool disjoint) {
  memset(&got, 0, sizeof got);
  got.nodes = (int)poly_sample_num_nodes(p, 0);
  got.edges = (int)poly_sample_num_edges(p, 0);
  assert_in_range(got.nodes, 0, 4096);
  assert_in_range(got.edges, 0, 4096);
  assert_int_equal(poly_sample_read(p, 'n', 0, got.node), POLY_OK);
  assert_int_equal(poly_sample_read(p, 's', 0, got.src), POLY_OK);
  assert_int_equal(poly_sample_read(p, 'd', 0, got.dst), POLY_OK);
  assert_int_equal(poly_sample_read(p, 'e', 0, got.edge), POLY_OK);
  if (disjoint) assert_int_equal(poly_sample_read(p, 'b', 0, got.batch), POLY_OK);
  return &got;
}

static void expect(const char *what, int n, const int64_t *have, const int64_t *want) {
  for (int k = 0; k < n; k++)
    if (have[k] != want[k]) fail_msg("%s %d is %d, not %d", what, k, (int)have[k], (int)want[k]);
}

#define EXPECT(what, have, ...)                                                                                        \
  expect(what, (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), have, (int64_t[]){__VA_ARGS__})

/* ---- what a sample holds ---- */

/* Node 0 has the edges 1 -> 0, 2 -> 0; 1: 3 -> 1, 0 -> 1; 2: 3 -> 2; 3 and 4 none; 5: itself, twice. */
static const int64_t small_src[] = {1, 3, 2, 3, 0, 5, 5}, small_dst[] = {0, 1, 0, 2, 1, 5, 5};
enum { SMALL_NODES = 6, SMALL_EDGES = 7 };

static void takes_whole_neighbourhoods(void **state) {
  (void)state;
  PolySampler *s = plain_sampler(SMALL_NODES, SMALL_EDGES, small_src, small_dst);
  PolySample *p = poly_sample_new(s);
  run(p, (PolySampleSpec){.hops = 2, .counts = (int64_t[]){-1, -1}}, 2, (int64_t[]){0, 5});
  Read *r = read_sample(p, false);
  assert_int_equal(r->nodes, 5);
  assert_int_equal(r->edges, 7);
  EXPECT("node", r->node, 0, 5, 1, 2, 3);
  EXPECT("source", r->src, 2, 3, 1, 1, 4, 0, 4);
  EXPECT("destination", r->dst, 0, 0, 1, 1, 2, 2, 3);
  EXPECT("edge", r->edge, 0, 2, 5, 6, 1, 4, 3);
  int64_t want_nodes[] = {2, 2, 1}, want_edges[] = {4, 3};
  for (int h = 0; h < 3; h++) assert_int_equal(poly_sample_hop_nodes(p, 0, h), want_nodes[h]);
  for (int h = 0; h < 2; h++) assert_int_equal(poly_sample_hop_edges(p, 0, h), want_edges[h]);
  assert_int_equal(poly_sample_hop_nodes(p, 0, 3), -1);
  assert_int_equal(poly_sample_hop_edges(p, 0, 2), -1);
  poly_sample_free(p);
  poly_sampler_free(s);
}

static void copes_with_little(void **state) {
  (void)state;
  PolySampler *s = plain_sampler(SMALL_NODES, SMALL_EDGES, small_src, small_dst);
  PolySample *p = poly_sample_new(s);
  run(p, (PolySampleSpec){.hops = 2, .counts = (int64_t[]){3, 3}}, 2, (int64_t[]){4, 3}); /* nothing leads there */
  Read *r = read_sample(p, false);
  assert_int_equal(r->nodes, 2);
  assert_int_equal(r->edges, 0);
  run(p, (PolySampleSpec){0}, 2, (int64_t[]){1, 0}); /* no hops */
  r = read_sample(p, false);
  EXPECT("node", r->node, 1, 0);
  assert_int_equal(r->edges, 0);
  run(p, (PolySampleSpec){.hops = 1, .counts = (int64_t[]){0}}, 1, (int64_t[]){0}); /* none asked for */
  assert_int_equal(read_sample(p, false)->edges, 0);
  run(p, (PolySampleSpec){.hops = 1, .counts = (int64_t[]){5}}, 0, NULL); /* no seeds */
  assert_int_equal(read_sample(p, false)->nodes, 0);
  run(p, (PolySampleSpec){.hops = 1, .counts = (int64_t[]){5}}, 3, (int64_t[]){0, 0, 2}); /* a seed twice */
  r = read_sample(p, false);
  EXPECT("node", r->node, 0, 0, 2, 1, 3);
  EXPECT("source", r->src, 3, 2, 3, 2, 4);
  EXPECT("destination", r->dst, 0, 0, 1, 1, 2);
  poly_sample_free(p);
  poly_sampler_free(s);
  s = plain_sampler(0, 0, NULL, NULL); /* no graph at all */
  p = poly_sample_new(s);
  run(p, (PolySampleSpec){.hops = 1, .counts = (int64_t[]){5}}, 0, NULL);
  assert_int_equal(read_sample(p, false)->nodes, 0);
  poly_sample_free(p);
  poly_sampler_free(s);
}

static void takes_all_edges_between_nodes(void **state) {
  (void)state;
  PolySampler *s = plain_sampler(SMALL_NODES, SMALL_EDGES, small_src, small_dst);
  PolySample *p = poly_sample_new(s);
  run(p, (PolySampleSpec){.induced = true}, 4, (int64_t[]){2, 0, 1, 5});
  Read *r = read_sample(p, false);
  assert_int_equal(r->edges, 5);
  EXPECT("edge", r->edge, 0, 2, 4, 5, 6);
  EXPECT("source", r->src, 2, 0, 1, 3, 3);
  EXPECT("destination", r->dst, 1, 1, 2, 3, 3);
  poly_sample_free(p);
  poly_sampler_free(s);
}

static void keeps_seeds_apart(void **state) {
  (void)state;
  PolySampler *s = plain_sampler(SMALL_NODES, SMALL_EDGES, small_src, small_dst);
  PolySample *p = poly_sample_new(s);
  PolySampleSpec spec = {.hops = 1, .counts = (int64_t[]){-1}, .disjoint = true};
  run(p, spec, 2, (int64_t[]){1, 2});
  Read *r = read_sample(p, true);
  EXPECT("node", r->node, 1, 2, 3, 0, 3);
  EXPECT("batch", r->batch, 0, 1, 0, 0, 1);
  EXPECT("source", r->src, 2, 3, 4);
  spec.induced = true;
  run(p, spec, 2, (int64_t[]){1, 2});
  r = read_sample(p, true);
  EXPECT("source", r->src, 2, 3, 4, 0); /* and 1 -> 0 of the first seed */
  EXPECT("destination", r->dst, 0, 0, 1, 3);
  spec.disjoint = spec.induced = false; /* the same sample may be used either way */
  run(p, spec, 2, (int64_t[]){1, 2});
  EXPECT("node", read_sample(p, false)->node, 1, 2, 3, 0);
  assert_int_equal(poly_sample_read(p, 'b', 0, got.batch), POLY_ERROR_VALUE);
  poly_sample_free(p);
  poly_sampler_free(s);
}

/* ---- random draws ---- */

enum { NODES = 3000, EDGES = 40000 };
static int64_t many_src[EDGES], many_dst[EDGES];

static PolySampler *many_sampler(void) {
  uint64_t seed = 5;
  for (int e = 0; e < EDGES; e++) {
    many_src[e] = (int64_t)(sample_random(&seed) % NODES);
    many_dst[e] = e % 3 ? (int64_t)(sample_random(&seed) % NODES) : (int64_t)(sample_random(&seed) % 20);
  }
  return plain_sampler(NODES, EDGES, many_src, many_dst);
}

/* Every edge is an edge of the graph, and none is there twice unless that was allowed; nobody takes too many. */
static void check_sample(const Read *r, const int64_t *counts, bool replace, PolySample *p) {
  static int seen[EDGES], taken[4096];
  memset(seen, 0, sizeof seen);
  memset(taken, 0, sizeof taken);
  for (int k = 0; k < r->edges; k++) {
    assert_in_range(r->edge[k], 0, EDGES - 1);
    assert_int_equal(r->node[r->src[k]], many_src[r->edge[k]]);
    assert_int_equal(r->node[r->dst[k]], many_dst[r->edge[k]]);
    assert_true(replace || !seen[r->edge[k]]++);
    taken[r->dst[k]]++;
    if (k) assert_true(r->dst[k] >= r->dst[k - 1]);
  }
  int first = 0;
  for (int h = 0; h < 2; h++) {
    int last = first + (int)poly_sample_hop_nodes(p, 0, h);
    for (int v = first; v < last; v++) assert_true(taken[v] <= counts[h]);
    first = last;
  }
  for (int v = first; v < r->nodes; v++) assert_int_equal(taken[v], 0);
  static int known[NODES];
  memset(known, 0, sizeof known);
  for (int v = 0; v < r->nodes; v++) assert_int_equal(known[r->node[v]]++, 0);
}

static void does_not_depend_on_threads(void **state) {
  (void)state;
  PolySampler *s = many_sampler();
  PolySample *p = poly_sample_new(s);
  int64_t seeds[300], counts[][2] = {{3, 4}, {40, 1}, {0, 2}};
  for (int k = 0; k < 300; k++) seeds[k] = k * 7;
  for (int k = 0; k < 6; k++)
    for (int threads = 1; threads <= 4; threads++) {
      PolySampleSpec spec = {.hops = 2, .counts = counts[k % 3], .replace = k >= 3, .seed = 11, .batch = 2};
      spec.threads = threads;
      run(p, spec, k % 3 == 1 ? 25 : 300, seeds);
      Read *r = read_sample(p, false);
      check_sample(r, counts[k % 3], spec.replace, p);
      if (threads > 1) assert_memory_equal(r, &before, sizeof *r);
      before = *r;
      spec.batch = 3;
      run(p, spec, k % 3 == 1 ? 25 : 300, seeds);
      if (k % 3 != 2) assert_memory_not_equal(read_sample(p, false)->edge, before.edge, 8 * 300);
    }
  poly_sample_free(p);
  poly_sampler_free(s);
}

/* Draws `count` of one node's edges many times; every edge must come up as often as `share` of all says, within five
 * standard deviations. */
static void check_shares(PolySampler *s, int64_t degree, int64_t count, bool replace, const double *share) {
  enum { ROUNDS = 4000 };
  PolySample *p = poly_sample_new(s);
  double seen[128] = {0};
  for (int k = 0; k < ROUNDS; k++) {
    run(p, (PolySampleSpec){.hops = 1, .counts = &count, .replace = replace, .seed = 3, .batch = (uint64_t)k}, 1,
        (int64_t[]){0});
    Read *r = read_sample(p, false);
    assert_int_equal(r->edges, count);
    for (int e = 0; e < r->edges; e++) seen[r->edge[e]]++;
  }
  for (int e = 0; e < degree; e++) {
    double want = ROUNDS * share[e];
    if (fabs(seen[e] - want) > 5 * sqrt(want) + 1e-9) fail_msg("edge %d came up %g times, not %g", e, seen[e], want);
  }
  poly_sample_free(p);
}

static void draws_evenly(void **state) {
  (void)state;
  static const struct {
    int degree, count;
    bool replace;
  } kind[] = {{10, 3, false}, {7, 1, false}, {100, 33, false}, {100, 95, false}, {10, 4, true}, {3, 9, true}};
  for (int k = 0; k < (int)(sizeof kind / sizeof *kind); k++) {
    int64_t src[128], dst[128] = {0};
    double share[128];
    for (int e = 0; e < kind[k].degree; e++) src[e] = e, share[e] = (double)kind[k].count / kind[k].degree;
    PolySampler *s = plain_sampler(128, kind[k].degree, src, dst);
    check_shares(s, kind[k].degree, kind[k].count, kind[k].replace, share);
    poly_sampler_free(s);
  }
}

/* Two of three drawn by weight: first and second draw, from those left. */
static void draws_by_weight(void **state) {
  (void)state;
  double w[] = {1, 2, 0, 5}, share[4] = {0};
  for (int a = 0; a < 4; a++)
    for (int b = 0; b < 4; b++)
      if (a != b && w[a] > 0) {
        double chance = w[a] / 8 * w[b] / (8 - w[a]);
        share[a] += chance;
        share[b] += chance;
      }
  PolySampler *s = sampler_new(1, (int64_t[]){4});
  add(s, (PolyRelation){.dtype = POLY_INT64,
                        .num_edges = 4,
                        .src = (int64_t[]){0, 1, 2, 3},
                        .dst = (int64_t[]){0, 0, 0, 0},
                        .weight = w});
  check_shares(s, 4, 2, false, share);
  check_shares(s, 4, 3, true, (double[]){3. / 8, 6. / 8, 0, 15. / 8});
  check_shares(s, 4, 4, false, (double[]){1, 1, 1, 1}); /* all of them: whatever their weights */
  check_shares(s, 4, 3, false, (double[]){1, 1, 0, 1});
  poly_sampler_free(s);
}

/* ---- times ---- */

static void keeps_to_the_past(void **state) {
  (void)state;
  int64_t src[] = {1, 2, 3, 4, 1}, dst[] = {0, 0, 0, 0, 4}, time[] = {10, 20, 30, 40, 35};
  PolySampler *s = sampler_new(1, (int64_t[]){5});
  add(s, (PolyRelation){.dtype = POLY_INT64, .num_edges = 5, .src = src, .dst = dst, .edge_time = time});
  PolySample *p = poly_sample_new(s);
  PolySampleSpec spec = {.hops = 2, .counts = (int64_t[]){-1, -1}};
  PolySeeds seeds = {.count = 3, .node = (int64_t[]){0, 0, 0}, .time = (int64_t[]){9, 30, 45}};
  assert_int_equal(poly_sample_run(p, &spec, 1, &seeds), POLY_OK);
  Read *r = read_sample(p, true);
  assert_int_equal(r->edges, 8); /* none, three, four and the edge at the second hop */
  EXPECT("edge", r->edge, 0, 1, 2, 0, 1, 2, 3, 4);
  EXPECT("batch", r->batch, 0, 1, 2, 1, 1, 1, 2, 2, 2, 2);
  spec = (PolySampleSpec){.hops = 1, .counts = (int64_t[]){2}, .last = true};
  assert_int_equal(poly_sample_run(p, &spec, 1, &seeds), POLY_OK);
  EXPECT("edge", read_sample(p, true)->edge, 1, 2, 2, 3);
  for (uint64_t batch = 0; batch < 50; batch++) {
    spec = (PolySampleSpec){.hops = 1, .counts = (int64_t[]){2}, .batch = batch};
    assert_int_equal(poly_sample_run(p, &spec, 1, &seeds), POLY_OK);
    r = read_sample(p, true);
    assert_int_equal(r->edges, 4);
    for (int e = 0; e < 4; e++) assert_true(time[r->edge[e]] <= seeds.time[r->dst[e]]);
  }
  poly_sample_free(p);
  poly_sampler_free(s);
  s = sampler_new(1, (int64_t[]){5}); /* times of the sources; edges named otherwise */
  add(s, (PolyRelation){.dtype = POLY_INT64,
                        .num_edges = 3,
                        .src = (int64_t[]){3, 2, 1},
                        .dst = (int64_t[]){0, 0, 0},
                        .id = (int64_t[]){70, 80, 90},
                        .src_time = (int64_t[]){0, 3, 2, 1, 0}});
  p = poly_sample_new(s);
  spec = (PolySampleSpec){.hops = 1, .counts = (int64_t[]){-1}};
  seeds = (PolySeeds){.count = 1, .node = (int64_t[]){0}, .time = (int64_t[]){2}};
  assert_int_equal(poly_sample_run(p, &spec, 1, &seeds), POLY_OK);
  EXPECT("edge", read_sample(p, true)->edge, 70, 80);
  poly_sample_free(p);
  poly_sampler_free(s);
}

/* ---- several types ---- */

/* Authors 0..2 write papers 0..3; papers cite papers. */
static PolySampler *library(void) {
  PolySampler *s = sampler_new(2, (int64_t[]){4, 3});
  add(s, (PolyRelation){.src_type = 1,
                        .dst_type = 0,
                        .dtype = POLY_INT32,
                        .num_edges = 4,
                        .src = (int32_t[]){0, 1, 1, 2},
                        .dst = (int32_t[]){0, 0, 1, 3}});
  add(s, (PolyRelation){.dtype = POLY_INT64, .num_edges = 3, .src = (int64_t[]){1, 2, 3}, .dst = (int64_t[]){0, 1, 2}});
  return s;
}

static void samples_several_types(void **state) {
  (void)state;
  PolySampler *s = library();
  PolySample *p = poly_sample_new(s);
  run(p, (PolySampleSpec){.hops = 2, .counts = (int64_t[]){-1, -1, -1, -1}}, 1, (int64_t[]){0});
  int64_t a[8];
  assert_int_equal(poly_sample_num_nodes(p, 0), 3);
  assert_int_equal(poly_sample_num_nodes(p, 1), 2);
  poly_sample_read(p, 'n', 0, a);
  EXPECT("paper", a, 0, 1, 2);
  poly_sample_read(p, 's', 0, a);
  EXPECT("author", a, 0, 1, 1);
  poly_sample_read(p, 'd', 0, a);
  EXPECT("written", a, 0, 0, 1);
  poly_sample_read(p, 's', 1, a);
  EXPECT("cited", a, 1, 2);
  PolySampleSpec spec = {.hops = 1, .counts = (int64_t[]){-1, -1}, .disjoint = true};
  PolySeeds both[] = {{.type = 1, .count = 1, .node = (int64_t[]){2}}, {.type = 0, .count = 1, .node = (int64_t[]){3}}};
  assert_int_equal(poly_sample_run(p, &spec, 2, both), POLY_OK);
  poly_sample_read(p, 'b', 1, a);
  EXPECT("batch", a, 0, 1); /* author 2 as a seed, and again as the writer of paper 3 */
  poly_sample_free(p);
  poly_sampler_free(s);
}

static void samples_by_budget(void **state) {
  (void)state;
  PolySampler *s = library();
  PolySample *p = poly_sample_new(s);
  PolySampleSpec spec = {.hops = 2, .counts = (int64_t[]){1, 1, 0, 2}};
  PolySeeds seeds = {.count = 1, .node = (int64_t[]){0}};
  assert_int_equal(poly_sample_run_hgt(p, &spec, 1, &seeds), POLY_OK);
  int64_t a[8];
  assert_int_equal(poly_sample_num_nodes(p, 0), 3);
  poly_sample_read(p, 'n', 0, a);
  EXPECT("paper", a, 0, 1, 2);
  assert_int_equal(poly_sample_num_nodes(p, 1), 2);
  assert_int_equal(poly_sample_num_edges(p, 0), 3);
  assert_int_equal(poly_sample_num_edges(p, 1), 2);
  poly_sample_free(p);
  poly_sampler_free(s);
}

/* One of three sources with budgets 1/2 (two of four edges), 1/4 and 1/4: by their squares. */
static void budgets_are_squared(void **state) {
  (void)state;
  enum { ROUNDS = 4000 };
  PolySampler *s = plain_sampler(4, 4, (int64_t[]){1, 1, 2, 3}, (int64_t[]){0, 0, 0, 0});
  PolySample *p = poly_sample_new(s);
  double seen[4] = {0}, want[4] = {0, 4. / 6, 1. / 6, 1. / 6};
  for (int k = 0; k < ROUNDS; k++) {
    PolySampleSpec spec = {.hops = 1, .counts = (int64_t[]){1}, .seed = 8, .batch = (uint64_t)k};
    PolySeeds seeds = {.count = 1, .node = (int64_t[]){0}};
    assert_int_equal(poly_sample_run_hgt(p, &spec, 1, &seeds), POLY_OK);
    Read *r = read_sample(p, false);
    assert_int_equal(r->nodes, 2);
    seen[r->node[1]]++;
  }
  for (int v = 0; v < 4; v++) assert_true(fabs(seen[v] - ROUNDS * want[v]) <= 5 * sqrt(ROUNDS * want[v]));
  poly_sample_free(p);
  poly_sampler_free(s);
}

/* ---- walks ---- */

static void walks(void **state) {
  (void)state;
  PolySampler *s = many_sampler();
  enum { WALKS = 500, LENGTH = 12 };
  static int64_t start[WALKS], nodes[2][WALKS][LENGTH + 1], edges[WALKS][LENGTH];
  for (int k = 0; k < WALKS; k++) start[k] = k * 5;
  for (int threads = 1; threads <= 3; threads += 2)
    assert_int_equal(poly_sampler_walk(s, 0, start, WALKS, LENGTH, 0.5, 2, 9, threads, nodes[threads / 2][0], edges[0]),
                     -1);
  assert_memory_equal(nodes[0], nodes[1], sizeof nodes[0]);
  for (int k = 0; k < WALKS; k++)
    for (int i = 0; i < LENGTH; i++) {
      int64_t v = nodes[0][k][i], w = nodes[0][k][i + 1], e = edges[k][i];
      if (e < 0) {
        assert_int_equal(v, w);
        continue;
      }
      assert_int_equal(many_dst[e], v);
      assert_int_equal(many_src[e], w);
    }
  start[3] = NODES;
  assert_int_equal(poly_sampler_walk(s, 0, start, WALKS, LENGTH, 1, 1, 9, 1, nodes[0][0], NULL), 3);
  poly_sampler_free(s);
}

/* A path 0 - 1 - 2 and an edge 1 - 3, 0 - 3. From 0 to 1 and on: back to 0 (1/p), to 3, which is beside 0 (1), or away
 * to 2 (1/q). */
static void walks_with_p_and_q(void **state) {
  (void)state;
  int64_t src[] = {0, 1, 1, 2, 1, 3, 0, 3}, dst[] = {1, 0, 2, 1, 3, 1, 3, 0};
  PolySampler *s = plain_sampler(4, 8, src, dst);
  enum { WALKS = 20000 };
  static int64_t start[WALKS], nodes[WALKS][3];
  assert_int_equal(poly_sampler_walk(s, 0, start, WALKS, 2, 0.25, 0.5, 1, 2, nodes[0], NULL), -1);
  double seen[4] = {0}, all = 0, share[4] = {4. / 7, 0, 2. / 7, 1. / 7};
  for (int k = 0; k < WALKS; k++)
    if (nodes[k][1] == 1) seen[nodes[k][2]]++, all++;
  assert_true(all > WALKS / 3);
  for (int v = 0; v < 4; v++) assert_true(fabs(seen[v] - all * share[v]) <= 5 * sqrt(all * share[v]));
  poly_sampler_free(s);
}

/* The only step from the end of a path leads back, which hardly ever is kept: the walk ends all the same. */
static void walks_that_hardly_return(void **state) {
  (void)state;
  int64_t src[] = {0, 1}, dst[] = {1, 0}, start[] = {0}, nodes[6];
  PolySampler *s = plain_sampler(2, 2, src, dst);
  const double p[] = {1e300, INFINITY};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(poly_sampler_walk(s, 0, start, 1, 5, p[i], 0.5, 1, 1, nodes, NULL), -1);
    for (int k = 0; k < 6; k++) assert_int_equal(nodes[k], k % 2);
  }
  poly_sampler_free(s);
}

/* ---- rows ---- */

static void gathers_rows(void **state) {
  (void)state;
  for (size_t width = 0; width <= 24; width++) {
    unsigned char from[24 * 5], out[24 * 4];
    for (int k = 0; k < (int)sizeof from; k++) from[k] = (unsigned char)(k * 7 + 1);
    int64_t index[] = {4, 0, 4, 2};
    assert_int_equal(poly_gather_rows(from, 5, width, index, 4, out, 2), -1);
    for (int k = 0; k < 4; k++) assert_memory_equal(out + (size_t)k * width, from + (size_t)index[k] * width, width);
    index[2] = 5;
    assert_int_equal(poly_gather_rows(from, 5, width, index, 4, out, 2), 2);
    index[1] = -1;
    assert_int_equal(poly_gather_rows(from, 5, width, index, 4, out, 1), 1);
  }
}

/* ---- parts ---- */

/* Four cliques of eight nodes in a ring: the parts are the cliques. */
static void splits_graphs(void **state) {
  PolyContext *ctx = *state;
  int64_t src[512], dst[512], part[32];
  int n = 0;
  for (int a = 0; a < 32; a++)
    for (int b = 0; b < 32; b++)
      if (a / 8 == b / 8 || (a % 8 == 0 && b == (a + 15) % 32)) src[n] = a, dst[n++] = b; /* loops, one-way edges */
  for (int recursive = 0; recursive < 2; recursive++) {
    PolyGraph *g = poly_graph_from_coo(ctx, src, dst, POLY_INT64, n, 32, 32);
    PolyStatus status = poly_graph_partition(g, 4, recursive, part);
    if (status == POLY_ERROR_RUNTIME && strstr(poly_error_text(ctx), "libmetis5")) {
      print_message("METIS is not installed: its parts are not checked\n");
      poly_clear_error(ctx);
      poly_graph_free(g);
      skip();
    }
    assert_int_equal(status, POLY_OK);
    for (int v = 0; v < 32; v++) {
      assert_in_range(part[v], 0, 3);
      assert_int_equal(part[v], part[v - v % 8]);
    }
    for (int a = 0; a < 32; a += 8)
      for (int b = 0; b < a; b += 8) assert_true(part[a] != part[b]);
    assert_int_equal(poly_graph_partition(g, 1, recursive, part), POLY_OK);
    for (int v = 0; v < 32; v++) assert_int_equal(part[v], 0);
    assert_int_equal(poly_graph_partition(g, 40, recursive, part), POLY_OK);
    for (int v = 0; v < 32; v++) assert_int_equal(part[v], v);
    assert_int_equal(poly_graph_partition(g, 0, recursive, part), POLY_ERROR_VALUE);
    poly_clear_error(ctx);
    poly_graph_free(g);
  }
}

/* ---- errors ---- */

static void expect_refused(PolySampler *s, PolyRelation r, PolyStatus want, const char *words) {
  assert_int_equal(poly_sampler_add(s, &r, 1), want);
  if (poly_sampler_error(s) != want || !strstr(poly_sampler_error_text(s), words))
    fail_msg("\"%s\" does not say \"%s\"", poly_sampler_error_text(s), words);
  poly_sampler_free(s);
}

static void refuses_bad_relations(void **state) {
  (void)state;
  int64_t three = 3, src[] = {0, 1}, dst[] = {1, 0}, wrong[] = {0, 3}, below[] = {-1, 0};
  PolyRelation r = {.dtype = POLY_INT64, .num_edges = 2, .src = src, .dst = dst}, bad;
  bad = r, bad.dst = wrong;
  expect_refused(sampler_new(1, &three), bad, POLY_ERROR_INDEX, "destination of edge 1: 3 is out of range for 3 nodes");
  bad = r, bad.src = below;
  expect_refused(sampler_new(1, &three), bad, POLY_ERROR_INDEX, "source of edge 0: -1 is out of range");
  bad = r, bad.dst_type = 1;
  expect_refused(sampler_new(1, &three), bad, POLY_ERROR_VALUE, "there are 1 types");
  bad = r, bad.dtype = POLY_FLOAT32;
  expect_refused(sampler_new(1, &three), bad, POLY_ERROR_TYPE, "int32 or int64");
  bad = r, bad.src = NULL;
  expect_refused(sampler_new(1, &three), bad, POLY_ERROR_VALUE, "without their indices");
  bad = r, bad.weight = (double[]){1, NAN};
  expect_refused(sampler_new(1, &three), bad, POLY_ERROR_VALUE, "edge 1: the weight nan");
  bad = r, bad.weight = (double[]){-1, 1};
  expect_refused(sampler_new(1, &three), bad, POLY_ERROR_VALUE, "edge 0: the weight -1");
  bad = r, bad.dst = (int64_t[]){0, 0}, bad.edge_time = (int64_t[]){2, 1};
  expect_refused(sampler_new(1, &three), bad, POLY_ERROR_VALUE, "into node 0 are not in the order of their times");
  bad = r, bad.id = below;
  expect_refused(sampler_new(1, &three), bad, POLY_ERROR_INDEX, "edge 0: the number -1");
  expect_refused(sampler_new(1, &(int64_t){-1}), r, POLY_ERROR_VALUE, "-1 nodes of type 0");
  assert_null(sampler_new(0, &three));
}

static void expect_failed(PolySample *p, PolySampleSpec spec, PolySeeds seeds, PolyStatus want, const char *words) {
  assert_int_equal(poly_sample_run(p, &spec, 1, &seeds), want);
  if (!strstr(poly_sample_error_text(p), words))
    fail_msg("\"%s\" does not say \"%s\"", poly_sample_error_text(p), words);
}

static void refuses_bad_requests(void **state) {
  (void)state;
  PolySampler *s = plain_sampler(SMALL_NODES, SMALL_EDGES, small_src, small_dst);
  PolySample *p = poly_sample_new(s);
  PolySampleSpec spec = {.hops = 1, .counts = (int64_t[]){2}};
  expect_failed(p, spec, (PolySeeds){.count = 2, .node = (int64_t[]){1, 6}}, POLY_ERROR_INDEX,
                "seed 1: 6 is out of range for 6 nodes");
  expect_failed(p, spec, (PolySeeds){.count = 1, .node = (int64_t[]){-2}}, POLY_ERROR_INDEX, "-2 is out of range");
  expect_failed(p, spec, (PolySeeds){.type = 1}, POLY_ERROR_VALUE, "there are 1 types");
  expect_failed(p, spec, (PolySeeds){.count = 1}, POLY_ERROR_VALUE, "without nodes");
  spec.counts = (int64_t[]){-2};
  expect_failed(p, spec, (PolySeeds){0}, POLY_ERROR_VALUE, "-2 neighbours");
  spec.hops = -1;
  expect_failed(p, spec, (PolySeeds){0}, POLY_ERROR_VALUE, "-1 hops");
  run(p, (PolySampleSpec){.hops = 1, .counts = (int64_t[]){-1}}, 1, (int64_t[]){0}); /* and still works */
  EXPECT("node", read_sample(p, false)->node, 0, 1, 2);
  assert_int_equal(poly_sample_read(p, 'x', 0, got.node), POLY_ERROR_VALUE);
  poly_sample_free(p);
  poly_sampler_free(s);
}

/* Fails the n-th allocation for every n: an error comes back, nothing leaks, and the same sample then works. */
static void survives_without_memory(void **state) {
  (void)state;
  int64_t seeds[64];
  for (int k = 0; k < 64; k++) seeds[k] = k;
  poly_sampler_free(many_sampler()); /* fills the arrays */
  for (int64_t n = 0;; n++) {
    own = (Failing){.until = n};
    int64_t nodes = NODES;
    PolySampler *s = sampler_new(1, &nodes);
    PolyRelation r = {.dtype = POLY_INT64, .num_edges = 4000, .src = many_src, .dst = many_dst};
    bool ok = s && poly_sampler_add(s, &r, 1) == POLY_OK;
    PolySample *p = ok ? poly_sample_new(s) : NULL;
    PolySampleSpec spec = {.hops = 2, .counts = (int64_t[]){3, 40}};
    ok = p != NULL;
    for (int k = 0; ok && k < 3; k++) { /* as usual, disjoint, by budget */
      PolySeeds given = {.count = 64, .node = seeds};
      spec.disjoint = k == 1;
      PolyStatus status = k == 2 ? poly_sample_run_hgt(p, &spec, 1, &given) : poly_sample_run(p, &spec, 1, &given);
      ok = status == POLY_OK;
      if (ok) continue;
      assert_int_equal(status, POLY_ERROR_MEMORY);
      own.until = -1;
      spec.disjoint = false;
      run(p, spec, 64, seeds);
      read_sample(p, false);
      for (int e = 0; e < got.edges; e++) assert_int_equal(got.node[got.src[e]], many_src[got.edge[e]]);
    }
    poly_sample_free(p);
    poly_sampler_free(s);
    assert_int_equal(own.bytes, 0);
    if (ok) break;
    assert_true(n < 1000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      PLAIN(takes_whole_neighbourhoods),
      PLAIN(copes_with_little),
      PLAIN(takes_all_edges_between_nodes),
      PLAIN(keeps_seeds_apart),
      PLAIN(draws_evenly),
      PLAIN(does_not_depend_on_threads),
      PLAIN(draws_by_weight),
      PLAIN(keeps_to_the_past),
      PLAIN(samples_several_types),
      PLAIN(samples_by_budget),
      PLAIN(budgets_are_squared),
      PLAIN(walks),
      PLAIN(walks_with_p_and_q),
      PLAIN(walks_that_hardly_return),
      PLAIN(gathers_rows),
      TEST(splits_graphs),
      PLAIN(refuses_bad_relations),
      PLAIN(refuses_bad_requests),
      PLAIN(survives_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
