/* kernels.h: what the hand-written kernels share: vectors, and a graph as rows of one end of its edges. They are what
 * one would write in C for the machine at hand: vectors along the features, accumulators in registers, rows dealt out
 * to threads as these come free. bench/graph_kernels.py compiles them and runs them beside what the compiler makes of
 * the same layer. */
#ifndef HAND_KERNELS_H
#define HAND_KERNELS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef float f8 __attribute__((vector_size(32)));
typedef float f16 __attribute__((vector_size(64)));
typedef int32_t i8 __attribute__((vector_size(32)));
typedef f8 f8u __attribute__((aligned(4), may_alias));
typedef f16 f16u __attribute__((aligned(4), may_alias));

static inline f8 load8(const float *p) { return *(const f8u *)p; }
static inline f16 load16(const float *p) { return *(const f16u *)p; }
static inline void store8(float *p, f8 x) { *(f8u *)p = x; }
static inline void store16(float *p, f16 x) { *(f16u *)p = x; }

/* Row v is the entries begin[v] .. begin[v + 1]: the other end of an edge, and its number in the user's order. */
typedef struct Rows {
  int32_t rows;
  const int32_t *begin, *other, *edge;
} Rows;

enum { ROWS_AT_ONCE = 64 };

#endif
