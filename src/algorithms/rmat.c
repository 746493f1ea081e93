/* rmat.c: random graphs whose degrees are as uneven as those of real ones (R-MAT, Chakrabarti et al., 2004). In: sizes,
 * the chances of the four quarters, a seed. Out: edges. Knows no contexts: it writes into the caller's memory.
 *
 * The adjacency matrix is halved in both directions until one entry is left; each time a quarter is drawn:
 *
 *     a b      rows are sources, columns destinations; a + b + c + d = 1
 *     c d
 *
 * Numbers that are drawn beyond the nodes that there are, are drawn again. Every edge has random numbers of its own, so
 * the result does not depend on threads. Since the small numbers get most edges, names can be assigned at random: by a
 * Feistel network on the bits of a number, applied until it is in range, which is a permutation that needs no memory.
 */
#include "base/threads.h"
#include "algorithms/rmat.h"

enum { TRIES = 1000 };

/* Another number of 2 * half bits; different ones for different numbers. */
static uint64_t feistel(const Rmat *m, uint64_t x) {
  uint64_t mask = ((uint64_t)1 << m->half) - 1, left = x >> m->half, right = x & mask;
  for (uint64_t k = 0; k < RMAT_ROUNDS; k++) {
    uint64_t next = left ^ (random_key(m->names + k, right) & mask);
    left = right;
    right = next;
  }
  return left << m->half | right;
}

static int64_t name(const Rmat *m, uint64_t x) {
  do x = feistel(m, x);
  while (x >= m->nodes);
  return (int64_t)x;
}

static void draw(const Rmat *m, Random r, uint64_t *row, uint64_t *col) {
  for (int t = 0; t < TRIES; t++) {
    uint64_t i = 0, j = 0, bits = 0;
    for (int k = 0; k < m->levels; k++) {
      bits = k % 2 ? bits >> 32 : random_next(&r);
      uint32_t u = (uint32_t)bits;
      i = 2 * i + (u >= m->ab);
      j = 2 * j + ((u >= m->a && u < m->ab) || u >= m->abc);
    }
    *row = i;
    *col = j;
    if (i < m->nodes && j < m->nodes) return;
  }
  *row %= m->nodes; /* chances that lead out of range nearly always */
  *col %= m->nodes;
}

static uint32_t share(double p) { return p >= 1 ? UINT32_MAX : (uint32_t)(p * 4294967296.0); }

bool rmat_begin(Rmat *m, int64_t num_nodes, int64_t num_edges, double a, double b, double c, uint64_t seed) {
  bool fit = num_nodes >= 0 && num_nodes <= (int64_t)1 << 40 && num_edges >= 0 && (num_nodes > 0 || num_edges == 0);
  if (!fit || !(a >= 0 && b >= 0 && c >= 0 && a + b + c <= 1 + 1e-9)) return false;
  uint64_t key = random_mix(seed);
  *m = (Rmat){.nodes = (uint64_t)num_nodes, .key = random_key(key, 5), .names = random_key(key, 6)};
  m->a = share(a), m->ab = share(a + b), m->abc = share(a + b + c);
  while (m->levels < 40 && (uint64_t)1 << m->levels < m->nodes) m->levels++;
  m->half = MAX(1, (m->levels + 1) / 2);
  return true;
}

void rmat_fill(const Rmat *m, int64_t num_edges, bool shuffle, int threads, int64_t *edge_index) {
#pragma omp parallel for num_threads(threads_allowed(threads)) if (num_edges > 1 << 12)
  for (int64_t k = 0; k < num_edges; k++) {
    uint64_t row, col;
    draw(m, (Random){random_key(m->key, (uint64_t)k)}, &row, &col);
    edge_index[k] = shuffle ? name(m, row) : (int64_t)row;
    edge_index[num_edges + k] = shuffle ? name(m, col) : (int64_t)col;
  }
}

PolyStatus poly_rmat(int64_t num_nodes, int64_t num_edges, double a, double b, double c, uint64_t seed, bool shuffle,
                     int threads, int64_t *edge_index) {
  Rmat m;
  if (!rmat_begin(&m, num_nodes, num_edges, a, b, c, seed) || (!edge_index && num_edges)) return POLY_ERROR_VALUE;
  rmat_fill(&m, num_edges, shuffle, threads, edge_index);
  return POLY_OK;
}
