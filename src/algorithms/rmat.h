/* rmat.h: an R-MAT graph that is to be drawn, which the host (rmat.c) and a device (rmat_device.c) draw alike. */
#ifndef POLY_RMAT_H
#define POLY_RMAT_H

#include "algorithms/sampler.h"

enum { RMAT_ROUNDS = 4 }; /* of the permutation of names */

typedef struct Rmat {
  uint64_t nodes, key, names;
  uint32_t a, ab, abc; /* where the quarters end, of 2^32 */
  int levels, half;
} Rmat;

/* False: there is no such graph. */
bool rmat_begin(Rmat *m, int64_t num_nodes, int64_t num_edges, double a, double b, double c, uint64_t seed);
void rmat_fill(const Rmat *m, int64_t num_edges, bool shuffle, int threads, int64_t *edge_index);

#endif
