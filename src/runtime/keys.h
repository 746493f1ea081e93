/* keys.h: values as unsigned numbers that compare in the order that is wanted, for sorting and selecting. */
#ifndef POLY_KEYS_H
#define POLY_KEYS_H

#include "runtime/host.h"

/* Keys of n values from place `from` on. Floats have their bits turned so that they compare as integers, -0 as 0, every
 * NaN as the largest; descending turns all bits of the key. */
void keys_read(const LibraryTensor *t, int64_t from, int n, bool descending, uint64_t *out);
/* Bits of a key. */
static inline int keys_width(const LibraryTensor *t) { return t->dtype == POLY_BOOL ? 1 : 8 * dtype_size(t->dtype); }

/* Runs a statement for part = 0 .. parts-1, each on a thread of its own. A single part does without OpenMP, whose team
 * of one thread would take as long as a short row. */
#define PARTS_DO(parts, ...)                                                                                           \
  do {                                                                                                                 \
    const int count_of_parts = (parts);                                                                                \
    if (count_of_parts == 1) {                                                                                         \
      const int part = 0;                                                                                              \
      __VA_ARGS__;                                                                                                     \
      break;                                                                                                           \
    }                                                                                                                  \
    _Pragma("omp parallel for num_threads(count_of_parts) schedule(static, 1)") for (int part = 0;                     \
                                                                                     part < count_of_parts; part++) {  \
      __VA_ARGS__;                                                                                                     \
    }                                                                                                                  \
  } while (0);

/* A function that is compiled for wide vectors too, where the loader can choose: which one runs is decided once.
 * Sanitizers are not ready when it does. */
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) &&                       \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE_CLONES
#endif

#endif
