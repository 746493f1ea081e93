/* sample.c: a sample, drawn hop by hop. In: seeds, and how many edges each node may take at each hop. Out: nodes, seeds
 * first and then in the order in which they were reached; edges by local numbers, hop after hop, each hop by
 * destination; and the numbers of both in the graph.
 *
 *   seeds 7 3;  hop 1: 7 <- 4, 7 <- 9, 3 <- 9;  hop 2: 4 <- 3, 9 <- 8
 *   nodes 7 3 4 9 8     src 2 3 3 1 4     dst 0 0 1 2 3
 *
 * For each hop threads count what every node takes and draw the edges; one thread then numbers the nodes that these
 * lead to, in their order, which is what makes the numbers independent of the threads. */
#include "base/threads.h"
#include "base/handles.h"
#include "algorithms/sampler.h"

#include <inttypes.h>
#include <string.h>

enum { TABLE_NODES = 1 << 26, MOST = 1 << 30, PARALLEL = 1 << 11, CHUNK = 64 };

/* ---- making and freeing ---- */

static size_t types_of(const PolySample *s) { return (size_t)s->sampler->types; }

PolySample *poly_sample_new(const PolySampler *sampler) {
  if (!sampler) return NULL;
  Base b = {.alloc = sampler->base.alloc};
  PolySample *s = handle_new(&b, sizeof *s, HANDLE_SAMPLE, NULL);
  if (!s) return NULL;
  s->base = b;
  s->sampler = sampler;
  atomic_fetch_add(&((PolySampler *)sampler)->refs, 1);
  s->relations = sampler->relation.n;
  s->nodes = mem_new(&s->base, types_of(s) * sizeof *s->nodes);
  s->edges = mem_new(&s->base, (size_t)s->relations * sizeof *s->edges);
  if (s->nodes && (s->edges || !s->relations)) return s;
  poly_sample_free(s);
  return NULL;
}

static void free_map(Base *b, NodeMap *m) {
  mem_free(b, m->key, m->size * sizeof *m->key);
  mem_free(b, m->value, m->size * sizeof *m->value);
  *m = (NodeMap){0};
}

void poly_sample_free(PolySample *s) {
  if (!s) return;
  Base b = s->base;
  for (size_t t = 0; s->nodes && t < types_of(s); t++) {
    NodeSet *n = &s->nodes[t];
    vec_free(&b, &n->node);
    vec_free(&b, &n->batch);
    mem_free(&b, n->table, (size_t)s->sampler->nodes[t] * sizeof *n->table);
    free_map(&b, &n->map);
  }
  for (int r = 0; s->edges && r < s->relations; r++) {
    vec_free(&b, &s->edges[r].src);
    vec_free(&b, &s->edges[r].dst);
    vec_free(&b, &s->edges[r].edge);
  }
  vec_free(&b, &s->seed_time);
  vec_free(&b, &s->offset);
  vec_free(&b, &s->keys);
  vec_free(&b, &s->hop_nodes);
  vec_free(&b, &s->hop_edges);
  mem_free(&b, s->nodes, types_of(s) * sizeof *s->nodes);
  mem_free(&b, s->edges, (size_t)s->relations * sizeof *s->edges);
  sampler_release((PolySampler *)s->sampler);
  handle_free(&b, s, sizeof *s);
}

PolyStatus poly_sample_error(const PolySample *s) { return s ? s->base.code : POLY_ERROR_MEMORY; }
const char *poly_sample_error_text(const PolySample *s) { return s ? s->base.text : ""; }

/* ---- local numbers ---- */

static uint64_t map_key(int32_t batch, int32_t node) { return ((uint64_t)(uint32_t)batch << 32 | (uint32_t)node) + 1; }

static size_t map_place(const NodeMap *m, uint64_t key) {
  size_t at = (size_t)random_mix(key) & (m->size - 1);
  while (m->key[at] && m->key[at] != key) at = (at + 1) & (m->size - 1);
  return at;
}

static bool map_grow(Base *b, NodeMap *m) {
  NodeMap wide = {.size = m->size ? 2 * m->size : 1024, .used = m->used};
  wide.key = mem_new(b, wide.size * sizeof *wide.key);
  wide.value = wide.key ? mem_new(b, wide.size * sizeof *wide.value) : NULL;
  if (!wide.value) {
    free_map(b, &wide);
    return false;
  }
  for (size_t k = 0; k < m->size; k++)
    if (m->key[k]) {
      size_t at = map_place(&wide, m->key[k]);
      wide.key[at] = m->key[k];
      wide.value[at] = m->value[k];
    }
  free_map(b, m);
  *m = wide;
  return true;
}

int32_t sample_find(const PolySample *s, const NodeSet *set, int32_t batch, int32_t node) {
  if (!s->disjoint && set->table) return set->table[node];
  if (!set->map.used) return -1;
  size_t at = map_place(&set->map, map_key(batch, node));
  return set->map.key[at] ? set->map.value[at] : -1;
}

/* Room for one more node; what follows cannot fail half way. */
static bool reserve_node(PolySample *s, NodeSet *set) {
  if (set->node.n >= MOST) return base_fail(&s->base, POLY_ERROR_MEMORY, "a sample has at most %d nodes", MOST);
  return vec_reserve(&s->base, &set->node, set->node.n + 1) &&
         (!s->disjoint || vec_reserve(&s->base, &set->batch, set->batch.n + 1));
}

static void append(const PolySample *s, NodeSet *set, int32_t batch, int32_t node) {
  set->node.at[set->node.n++] = node;
  if (s->disjoint) set->batch.at[set->batch.n++] = batch;
}

/* Notes local as the number of a node, unless it has one; gives the one it has. */
static int32_t note(PolySample *s, NodeSet *set, int32_t batch, int32_t node, int32_t local) {
  if (!s->disjoint && set->table) {
    if (set->table[node] < 0) set->table[node] = local;
    return set->table[node];
  }
  NodeMap *m = &set->map;
  if (2 * (m->used + 1) > m->size && !map_grow(&s->base, m)) return -1;
  size_t at = map_place(m, map_key(batch, node));
  if (!m->key[at]) {
    m->key[at] = map_key(batch, node);
    m->value[at] = local;
    m->used++;
  }
  return m->value[at];
}

int32_t sample_insert(PolySample *s, NodeSet *set, int32_t batch, int32_t node) {
  if (!reserve_node(s, set)) return -1;
  int32_t local = note(s, set, batch, node, set->node.n);
  if (local == set->node.n) append(s, set, batch, node);
  return local;
}

/* ---- beginning ---- */

/* Nodes leave the table one by one: the table is as large as the graph, a sample is not. */
static void empty_set(NodeSet *n) {
  for (int k = 0; n->table && k < n->node.n; k++) n->table[n->node.at[k]] = -1;
  if (n->map.used) memset(n->map.key, 0, n->map.size * sizeof *n->map.key);
  n->map.used = 0;
  n->node.n = n->batch.n = n->begin = n->end = 0;
}

void sample_begin(PolySample *s, bool disjoint, int hops) {
  base_clear(&s->base);
  for (size_t t = 0; t < types_of(s); t++) empty_set(&s->nodes[t]);
  for (int r = 0; r < s->relations; r++) s->edges[r].src.n = s->edges[r].dst.n = s->edges[r].edge.n = 0;
  s->seed_time.n = 0;
  s->disjoint = disjoint;
  s->hops = hops;
}

/* The table of a type of nodes is made when the first of them is reached. */
static bool open_tables(PolySample *s) {
  for (size_t t = 0; !s->disjoint && t < types_of(s); t++) {
    NodeSet *n = &s->nodes[t];
    size_t bytes = (size_t)s->sampler->nodes[t] * sizeof *n->table;
    if (n->table || !bytes || s->sampler->nodes[t] > TABLE_NODES) continue;
    n->table = mem_resize(&s->base, NULL, 0, bytes);
    if (!n->table) return false;
    memset(n->table, -1, bytes);
  }
  return true;
}

static bool open_hops(PolySample *s, int hops) {
  int64_t nodes = (int64_t)types_of(s) * (hops + 1), edges = (int64_t)s->relations * hops;
  if (nodes > MOST || edges > MOST) return base_fail(&s->base, POLY_ERROR_VALUE, "%d hops are too many", hops);
  if (!vec_reserve(&s->base, &s->hop_nodes, (int)nodes) || !vec_reserve(&s->base, &s->hop_edges, (int)edges))
    return false;
  memset(s->hop_nodes.at, 0, (size_t)nodes * sizeof *s->hop_nodes.at);
  if (edges) memset(s->hop_edges.at, 0, (size_t)edges * sizeof *s->hop_edges.at);
  return true;
}

static bool add_seed(PolySample *s, const PolySeeds *given, int64_t k, int32_t batch) {
  NodeSet *set = &s->nodes[given->type];
  if (!sampler_in_range(&s->base, "seed", k, given->node[k], s->sampler->nodes[given->type])) return false;
  int32_t node = (int32_t)given->node[k];
  /* A seed that is given twice is there twice; edges lead to the first. */
  if (!reserve_node(s, set) || note(s, set, batch, node, set->node.n) < 0) return false;
  append(s, set, batch, node);
  return !given->time || vec_push(&s->base, &s->seed_time, given->time[k]);
}

bool sample_add_seeds(PolySample *s, int count, const PolySeeds *seeds) {
  Base *b = &s->base;
  int64_t all = 0;
  if (!open_hops(s, s->hops) || !open_tables(s)) return false;
  for (int k = 0; k < count; k++) {
    const PolySeeds *g = &seeds[k];
    if (g->type < 0 || g->type >= s->sampler->types)
      return base_fail(b, POLY_ERROR_VALUE, "seeds of type %d: there are %d types of nodes", g->type,
                       s->sampler->types);
    if (g->count < 0 || (g->count && !g->node) || g->count > MOST)
      return base_fail(b, POLY_ERROR_VALUE, "%" PRId64 " seeds%s", g->count,
                       g->count < 0 || g->count > MOST ? "" : " without nodes");
    for (int64_t i = 0; i < g->count; i++)
      if (!add_seed(s, g, i, (int32_t)(all + i))) return false;
    all += g->count;
  }
  if (s->seed_time.n && s->seed_time.n != all)
    return base_fail(b, POLY_ERROR_VALUE, "%d of %" PRId64 " seeds have times: all have, or none", s->seed_time.n, all);
  sample_next_hop(s, -1);
  return true;
}

void sample_next_hop(PolySample *s, int hop) {
  for (size_t t = 0; t < types_of(s); t++) {
    NodeSet *n = &s->nodes[t];
    n->begin = n->end;
    n->end = n->node.n;
    s->hop_nodes.at[(int64_t)t * (s->hops + 1) + hop + 1] = n->end - n->begin;
  }
}

/* ---- one hop ---- */

/* What one relation does at one hop. */
typedef struct Hop {
  PolySample *s;
  const PolySampleSpec *spec;
  const Relation *r;
  const NodeSet *to; /* the nodes whose edges are drawn: [to->begin, to->end) */
  int64_t count;
  uint64_t key;
  int threads;
} Hop;

/* The part of the row of local node i that may be drawn: with times, what is not later than the seed. */
static Range row_range(const Hop *h, int i) {
  const Relation *r = h->r;
  int32_t v = h->to->node.at[i];
  Range range = {r->rowptr[v], r->rowptr[v + 1]};
  if (!r->time || !h->s->seed_time.n) return range;
  int64_t seed = h->s->seed_time.at[h->to->batch.at[i]], low = range.begin, high = range.end;
  while (low < high) {
    int64_t mid = low + (high - low) / 2;
    if (r->time[mid] <= seed)
      low = mid + 1;
    else
      high = mid;
  }
  range.end = low;
  if (h->spec->last && h->count >= 0) range.begin = MAX(range.begin, low - h->count);
  return range;
}

static void count_rows(const Hop *h, int64_t n, int64_t *offset) {
#pragma omp parallel for num_threads(h->threads) schedule(dynamic, CHUNK)
  for (int64_t i = 0; i < n; i++)
    offset[i + 1] = pick_count(h->r, row_range(h, h->to->begin + (int)i), h->count, h->spec->replace);
  offset[0] = 0;
  for (int64_t i = 0; i < n; i++) offset[i + 1] += offset[i];
}

/* Places in `edges` first, then what is found there: the edge's number, and its source's in the graph. */
static void draw_rows(const Hop *h, int64_t n, const int64_t *offset, EdgeSet *e, double *keys, int64_t most) {
  int32_t *edge = e->edge.at + e->edge.n, *src = e->src.at + e->src.n, *dst = e->dst.at + e->dst.n;
  const Relation *r = h->r;
  int64_t chunks = (n + CHUNK - 1) / CHUNK;
  int parts = h->threads;
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; part++)
    for (int64_t c = part; c < chunks; c += parts)
      for (int64_t i = c * CHUNK; i < MIN(n, (c + 1) * CHUNK); i++) {
        int64_t take = offset[i + 1] - offset[i], at = offset[i];
        int local = h->to->begin + (int)i;
        if (!take) continue;
        Random random = {random_key(h->key, (uint64_t)local)};
        pick(r, row_range(h, local), h->count, h->spec->replace, random, take, edge + at,
             keys ? keys + part * most : NULL);
        for (int64_t k = at; k < at + take; k++) {
          src[k] = r->other[edge[k]];
          dst[k] = local;
          edge[k] = r->entry[edge[k]];
        }
      }
}

static bool number_sources(PolySample *s, const Relation *r, EdgeSet *e, int64_t total) {
  const NodeSet *to = &s->nodes[r->dst];
  int32_t *src = e->src.at + e->src.n, *dst = e->dst.at + e->dst.n;
  for (int64_t k = 0; k < total; k++) {
    src[k] = sample_insert(s, &s->nodes[r->src], s->disjoint ? to->batch.at[dst[k]] : 0, src[k]);
    if (src[k] < 0) return false;
  }
  return true;
}

static bool reserve_edges(PolySample *s, EdgeSet *e, int64_t total) {
  Base *b = &s->base;
  if (e->edge.n + total > MOST) return base_fail(b, POLY_ERROR_MEMORY, "a sample has at most %d edges", MOST);
  int need = (int)(e->edge.n + total);
  return vec_reserve(b, &e->edge, need) && vec_reserve(b, &e->src, need) && vec_reserve(b, &e->dst, need);
}

static bool draw_hop(const Hop *h, int relation, int hop) {
  PolySample *s = h->s;
  EdgeSet *e = &s->edges[relation];
  int64_t n = h->to->end - h->to->begin, most = 0;
  if (!n || !h->count || !h->r->edges) return true;
  if (!vec_reserve(&s->base, &s->offset, (int)n + 1)) return false;
  int64_t *offset = s->offset.at;
  count_rows(h, n, offset);
  int64_t total = offset[n];
  for (int64_t i = 0; h->r->weight && i < n; i++) most = MAX(most, offset[i + 1] - offset[i]);
  if (most * h->threads > MOST) return base_fail(&s->base, POLY_ERROR_MEMORY, "%" PRId64 " edges by weight", most);
  if (!vec_reserve(&s->base, &s->keys, (int)(most * h->threads)) || !reserve_edges(s, e, total)) return false;
  draw_rows(h, n, offset, e, s->keys.at, most);
  if (!number_sources(s, h->r, e, total)) return false;
  e->edge.n += (int)total, e->src.n += (int)total, e->dst.n += (int)total;
  s->hop_edges.at[(int64_t)relation * s->hops + hop] = total;
  return true;
}

static bool draw_hops(PolySample *s, const PolySampleSpec *spec) {
  for (int hop = 0; hop < spec->hops; hop++) {
    for (int k = 0; k < s->relations; k++) {
      const Relation *r = &s->sampler->relation.at[k];
      Hop h = {s, spec, r, &s->nodes[r->dst], spec->counts[(int64_t)k * spec->hops + hop], 0, 1};
      h.key = sample_key(spec->seed, spec->batch, hop, k);
      if (h.to->end - h.to->begin >= PARALLEL / 8) h.threads = threads_allowed(spec->threads);
      if (!draw_hop(&h, k, hop)) return false;
    }
    sample_next_hop(s, hop);
  }
  return true;
}

/* ---- all edges between the nodes ---- */

/* Counts the edges into local node i, or writes them. */
static int64_t induce_row(const PolySample *s, const Relation *r, int i, EdgeSet *e, int64_t at) {
  const NodeSet *to = &s->nodes[r->dst], *from = &s->nodes[r->src];
  int32_t v = to->node.at[i], batch = s->disjoint ? to->batch.at[i] : 0;
  int64_t n = 0;
  for (int32_t p = r->rowptr[v]; p < r->rowptr[v + 1]; p++) {
    int32_t local = sample_find(s, from, batch, r->other[p]);
    if (local < 0) continue;
    if (e) {
      e->src.at[at + n] = local;
      e->dst.at[at + n] = i;
      e->edge.at[at + n] = r->entry[p];
    }
    n++;
  }
  return n;
}

bool sample_induce(PolySample *s, int threads) {
  for (int k = 0; k < s->relations; k++) {
    const Relation *r = &s->sampler->relation.at[k];
    EdgeSet *e = &s->edges[k];
    int n = s->nodes[r->dst].node.n;
    e->src.n = e->dst.n = e->edge.n = 0;
    if (!n || !r->edges || !s->nodes[r->src].node.n) continue;
    if (!vec_reserve(&s->base, &s->offset, n + 1)) return false;
    int64_t *offset = s->offset.at;
    int parts = n < PARALLEL ? 1 : threads_allowed(threads);
    offset[0] = 0;
#pragma omp parallel for num_threads(parts) schedule(dynamic, CHUNK)
    for (int i = 0; i < n; i++) offset[i + 1] = induce_row(s, r, i, NULL, 0);
    for (int i = 0; i < n; i++) offset[i + 1] += offset[i];
    if (!reserve_edges(s, e, offset[n])) return false;
#pragma omp parallel for num_threads(parts) schedule(dynamic, CHUNK)
    for (int i = 0; i < n; i++) induce_row(s, r, i, e, offset[i]);
    e->src.n = e->dst.n = e->edge.n = (int)offset[n];
  }
  return true;
}

/* ---- the API ---- */

static bool check_spec(PolySample *s, const PolySampleSpec *spec) {
  int64_t n = (int64_t)s->relations * spec->hops;
  if (spec->hops < 0 || (n && !spec->counts))
    return base_fail(&s->base, POLY_ERROR_VALUE, "%d hops%s", spec->hops, spec->hops < 0 ? "" : " without counts");
  for (int64_t k = 0; k < n; k++)
    if (spec->counts[k] < -1)
      return base_fail(&s->base, POLY_ERROR_VALUE, "%" PRId64 " neighbours: -1 means all of them", spec->counts[k]);
  return true;
}

PolyStatus poly_sample_run(PolySample *s, const PolySampleSpec *spec, int num_seeds, const PolySeeds *seeds) {
  if (!s || !spec || num_seeds < 0 || (num_seeds && !seeds)) return POLY_ERROR_VALUE;
  bool timed = false;
  for (int k = 0; k < num_seeds; k++) timed |= seeds[k].time != NULL;
  sample_begin(s, spec->disjoint || timed, 0);
  if (!check_spec(s, spec)) return s->base.code;
  s->hops = spec->hops;
  if (!sample_add_seeds(s, num_seeds, seeds) || !draw_hops(s, spec)) return s->base.code;
  if (spec->induced && !sample_induce(s, spec->threads)) return s->base.code;
  return POLY_OK;
}

int64_t poly_sample_num_nodes(const PolySample *s, int type) {
  return s && type >= 0 && type < s->sampler->types ? s->nodes[type].node.n : -1;
}

int64_t poly_sample_num_edges(const PolySample *s, int relation) {
  return s && relation >= 0 && relation < s->relations ? s->edges[relation].edge.n : -1;
}

int64_t poly_sample_hop_nodes(const PolySample *s, int type, int hop) {
  if (!s || type < 0 || type >= s->sampler->types || hop < 0 || hop > s->hops || !s->hop_nodes.at) return -1;
  return s->hop_nodes.at[(int64_t)type * (s->hops + 1) + hop];
}

int64_t poly_sample_hop_edges(const PolySample *s, int relation, int hop) {
  if (!s || relation < 0 || relation >= s->relations || hop < 0 || hop >= s->hops) return -1;
  return s->hop_edges.at[(int64_t)relation * s->hops + hop];
}

static bool widen(const int32_t *from, int n, int64_t *out) {
  for (int k = 0; k < n; k++) out[k] = from[k];
  return true;
}

PolyStatus poly_sample_read(PolySample *s, char what, int of, int64_t *out) {
  if (!s || !out) return POLY_ERROR_VALUE;
  bool node = what == 'n' || what == 'b', known = node || what == 's' || what == 'd' || what == 'e';
  if (!known || of < 0 || of >= (node ? s->sampler->types : s->relations) || (what == 'b' && !s->disjoint)) {
    base_fail(&s->base, POLY_ERROR_VALUE, "a sample has no '%c' of %d", what, of);
    return s->base.code;
  }
  switch (what) {
  case 'n': widen(s->nodes[of].node.at, s->nodes[of].node.n, out); break;
  case 'b': widen(s->nodes[of].batch.at, s->nodes[of].batch.n, out); break;
  case 's': widen(s->edges[of].src.at, s->edges[of].src.n, out); break;
  case 'd': widen(s->edges[of].dst.at, s->edges[of].dst.n, out); break;
  default: widen(s->edges[of].edge.at, s->edges[of].edge.n, out);
  }
  return POLY_OK;
}
