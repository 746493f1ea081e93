/* sampler.h: what the files of neighbour sampling share. A sampler is the rows of a graph's relations, by destination;
 * a sample is what was drawn from it last, with the memory for the next draw. Neither belongs to a context, so a thread
 * of its own can draw the next batch while the context computes on the last.
 *
 *   sampler.c  relations, checks, rows        pick.c  which edges of one row
 *   sample.c   hop by hop, local numbers      hgt.c   by budgets of nodes, as HGT has it
 *   walk.c     random walks
 *
 * Random numbers are a function of (seed, batch, hop, relation, place), never of what another row has drawn: the result
 * does not depend on the number of threads. */
#ifndef POLY_SAMPLER_H
#define POLY_SAMPLER_H

#include "base/base.h"
#include "ir/public.h"

#include <stdatomic.h>

/* The edges into each node of one type from the nodes of another (or the same) type. */
typedef struct Relation {
  int src, dst; /* types of nodes */
  int64_t edges, rows;
  int32_t *memory;                       /* the three below */
  const int32_t *rowptr, *entry, *other; /* by row: the edge's number, and its source */
  int64_t *time;                         /* by place in the rows, or NULL; never goes down within a row */
  double *weight;                        /* the same, or NULL */
  bool ordered;                          /* do the sources of every row go up? */
} Relation;

struct PolySampler {
  Base base;       /* allocator, and the last error */
  atomic_int refs; /* the caller's, and one of each sample */
  int types;
  int64_t *nodes; /* of each type */
  VEC(Relation) relation;
};

/* Ends when the last sample of it has ended. */
void sampler_release(PolySampler *s);

/* Checks and reports; where a count or an index comes from a caller. */
bool sampler_in_range(Base *b, const char *what, int64_t at, int64_t value, int64_t size);

/* ---- random numbers ---- */

typedef struct Random {
  uint64_t state;
} Random;

static const uint64_t RANDOM_STEP = 0x9e3779b97f4a7c15u; /* from one state of a stream to the next */

static inline uint64_t random_mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* One key out of two. words.h has both once more, for kernels. */
static inline uint64_t random_key(uint64_t key, uint64_t with) { return random_mix(key + RANDOM_STEP * (with + 1)); }

static inline uint64_t random_next(Random *r) { return random_mix(r->state += RANDOM_STEP); }

/* Of what a relation draws at one hop; each row goes on from random_key(key, its local number). */
static inline uint64_t sample_key(uint64_t seed, uint64_t batch, int64_t hop, int64_t relation) {
  uint64_t key = random_key(random_key(random_mix(seed), batch), 1);
  return random_key(random_key(key, (uint64_t)hop), (uint64_t)relation);
}

/* In [0, n), for n < 2^32: the high half of the product of a random fraction and n. */
static inline int64_t random_below(Random *r, int64_t n) {
  uint64_t x = random_next(r), m = (uint64_t)n;
  return (int64_t)(((x >> 32) * m + (((x & UINT32_MAX) * m) >> 32)) >> 32);
}

/* In (0, 1): never 0, so that a logarithm may be taken. */
static inline double random_unit(Random *r) { return ((double)(random_next(r) >> 11) + 0.5) * 0x1p-53; }

/* ---- pick.c ---- */

/* A part of a row: places [begin, end) of the relation's arrays. */
typedef struct Range {
  int64_t begin, end;
} Range;

/* How many edges of a range a draw of `count` gives (-1: all). */
int64_t pick_count(const Relation *r, Range range, int64_t count, bool replace);
/* Draws as many as pick_count said; places into out. scratch: a double for each, if the relation has weights. */
void pick(const Relation *r, Range range, int64_t count, bool replace, Random random, int64_t take, int32_t *out,
          double *scratch);
/* The k entries of smallest key, -log(u) / weight, of n: a draw without replacement. Those of weight 0 are left out.
 * Returns how many there are, indices in out. scratch: k doubles. */
int64_t pick_weighted(const double *weight, int64_t n, int64_t k, Random random, int32_t *out, double *scratch);

/* ---- a sample: sample.c ---- */

/* From (batch, node) to local number; open addressing. */
typedef struct NodeMap {
  uint64_t *key; /* batch and node, plus 1; 0: free */
  int32_t *value;
  size_t size, used; /* size: a power of two, or 0 */
} NodeMap;

/* The nodes of one type. Seeds come first, then each hop's. */
typedef struct NodeSet {
  VEC(int32_t) node;
  VEC(int32_t) batch; /* the seed that each belongs to, in a disjoint sample */
  int begin, end;     /* the last hop's */
  int32_t *table;     /* local number of each node of the graph or -1; NULL: the map is used */
  NodeMap map;
} NodeSet;

/* Edges by local numbers, and their numbers in the graph. */
typedef struct EdgeSet {
  VEC(int32_t) src;
  VEC(int32_t) dst;
  VEC(int32_t) edge;
} EdgeSet;

struct PolySample {
  Base base;
  const PolySampler *sampler;
  NodeSet *nodes; /* of each type */
  EdgeSet *edges; /* of each relation */
  int relations;  /* as many as there were when the sample was made */
  bool disjoint;
  VEC(int64_t) seed_time;
  VEC(int64_t) offset; /* where the edges of each node of a hop begin */
  VEC(double) keys;
  VEC(int64_t) hop_nodes; /* [types][hops + 1] */
  VEC(int64_t) hop_edges; /* [relations][hops] */
  int hops;
};

/* Empties the sample; disjoint: nodes are told apart by seed as well. */
void sample_begin(PolySample *s, bool disjoint, int hops);
bool sample_add_seeds(PolySample *s, int count, const PolySeeds *seeds);
/* Local number of a node; a new one is added at the end. -1: no memory. */
int32_t sample_insert(PolySample *s, NodeSet *set, int32_t batch, int32_t node);
/* The same without adding: -1 if it is not there. */
int32_t sample_find(const PolySample *s, const NodeSet *set, int32_t batch, int32_t node);
/* Replaces the edges by all edges between the nodes. */
bool sample_induce(PolySample *s, int threads);
/* Next hop: what was added since the last one. */
void sample_next_hop(PolySample *s, int hop);

/* The sizes of a tensor in this run, also of axes that are symbolic. */
static inline void sizes_of(PolyTensor *t, int64_t *out) {
  poly_shape(t, out);
  for (int d = 0; d < poly_ndim(t); d++) out[d] = poly_dim_value(poly_context_of(t), out[d]);
}

#endif
