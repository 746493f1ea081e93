/* matmul_blocked.c: matrix products of float32 and float64 in blocks that fit the caches, with the widest vectors that
 * the machine has.
 *
 * In: a MatmulCall with any strides. Out: C. C is cut into one part for each thread:
 *
 *   for NC columns of the part, for each block of KC along k
 *     pack B into strips as wide as a register tile          few rows read it where it lies instead
 *     for MC rows
 *       pack A by rows                                       stays in the second cache
 *       for each strip, for each register tile of rows: MR x NR sums over the block in registers, then onto C
 *
 * A register tile has as many rows and columns as leave least of it unused: rows that divide well, the last strip
 * narrow, and few rows with wide strips. Every sum runs over k in the same order whatever the tiles and threads are. A
 * long one is cut into pieces, and what adding these up rounds off is kept for the next one, so that it loses no
 * digits.
 *
 * Where a row of both factors belongs to each k, as in the gradient of a weight, a register tile reads neighbours in
 * both: nothing is packed, and while a block is multiplied the next one is prefetched. A sum over 169,343 rows of 64 x
 * 128 products takes 11 ms that way, 20 ms with packed factors and 16 ms without the prefetches. */
#include "runtime/host.h"

#include <string.h>

enum {
  KC = 256,
  MC = 336,
  NC = 1024,
  LINE = KC + 16, /* elements from row to row of packed A: rows do not fall on the same lines of a cache */
  PIECE = 8 * KC,
  PIECE_ROWS = 336, /* of C with sums of several pieces, which are computed beside it, */
  PIECE_COLUMNS = 512,
  MOST_ROWS = 14, /* of a register tile, */
  MOST_VECTORS = 6,
  TILE_MAX = MOST_ROWS * 32, /* and its elements */
  MOST_LANES = 16,
  DIRECT = 28, /* rows up to which packing B takes longer than it saves */
  ALONG = 512, /* elements of both factors for each k, up to which two blocks fit the second cache */
  CACHE_LINE = 64
};

#if defined(__clang__)
#define FUSED
#define UNROLL _Pragma("unroll")
#else
#define FUSED __attribute__((optimize("fp-contract=fast")))
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* What register tiles multiply: kc steps along k, a_step and b_step elements apart. ahead: where memory is prefetched,
 * ahead_step bytes further with each step. */
typedef struct Block {
  int64_t kc, a_step, b_step, ahead_step;
  const void *a, *b;
  const char *ahead;
} Block;

/* Sums of MR x NV vectors of products over a block, from MR rows of A, ROW elements apart, and NV vectors of B for each
 * k, into or onto out. The lines of out are asked for before they are needed. */
typedef void (*Micro)(const Block *block, void *out, int64_t ld, bool add);

#define MICRO_OF(name, T, BYTES, MR, NV, TARGET, ROW)                                                                  \
  TARGET FUSED static void name(const Block *block, void *to, int64_t ld, bool add) {                                  \
    enum { LANES = BYTES / sizeof(T) };                                                                                \
    typedef T Vec __attribute__((vector_size(BYTES), aligned(sizeof(T))));                                             \
    const T *restrict a = block->a, *restrict b = block->b;                                                            \
    const char *ahead = block->ahead;                                                                                  \
    const int64_t kc = block->kc, a_step = block->a_step, b_step = block->b_step, ahead_step = block->ahead_step;      \
    T *restrict out = to;                                                                                              \
    Vec sum[MR][NV];                                                                                                   \
    memset(sum, 0, sizeof sum);                                                                                        \
    UNROLL for (int i = 0; i < MR; i++) {                                                                              \
      UNROLL for (int v = 0; v < NV; v++) __builtin_prefetch(out + i * ld + v * LANES, 1);                             \
    }                                                                                                                  \
    for (int64_t k = 0; k < kc; k++, a += a_step, b += b_step) {                                                       \
      Vec col[NV];                                                                                                     \
      if ((ROW) == 1) __builtin_prefetch(ahead), ahead += ahead_step;                                                  \
      UNROLL for (int v = 0; v < NV; v++) col[v] = *(const Vec *)(b + v * LANES);                                      \
      UNROLL for (int i = 0; i < MR; i++) { UNROLL for (int v = 0; v < NV; v++) sum[i][v] += a[i * (ROW)] * col[v]; }  \
    }                                                                                                                  \
    UNROLL for (int i = 0; i < MR; i++) {                                                                              \
      UNROLL for (int v = 0; v < NV; v++) {                                                                            \
        Vec *at = (Vec *)(out + i * ld + v * LANES);                                                                   \
        *at = add ? *at + sum[i][v] : sum[i][v];                                                                       \
      }                                                                                                                \
    }                                                                                                                  \
  }

/* Of rows of packed A, and of rows that lie side by side. */
#define MICRO(name, T, BYTES, MR, NV, TARGET)                                                                          \
  MICRO_OF(name##_##MR##x##NV, T, BYTES, MR, NV, TARGET, LINE)                                                         \
  MICRO_OF(name##_##MR##x##NV##_along, T, BYTES, MR, NV, TARGET, 1)

/* Register tiles by rows, of one and of two vectors; those of few rows have wide ones, too. */
typedef struct Shapes {
  int lanes, least, most; /* of a vector; rows, in steps of two */
  Micro by[MOST_ROWS / 2 + 1][3][2];
} Shapes;

#define EACH_FEW(F, name, T, BYTES, TARGET)                                                                            \
  F(name, T, BYTES, 2, 1, TARGET)                                                                                      \
  F(name, T, BYTES, 2, 2, TARGET)                                                                                      \
  F(name, T, BYTES, 4, 1, TARGET) F(name, T, BYTES, 4, 2, TARGET)
#define EACH_SIX(F, name, T, BYTES, TARGET)                                                                            \
  EACH_FEW(F, name, T, BYTES, TARGET) F(name, T, BYTES, 6, 1, TARGET) F(name, T, BYTES, 6, 2, TARGET)
#define EACH_ALL(F, name, T, BYTES, TARGET)                                                                            \
  EACH_SIX(F, name, T, BYTES, TARGET)                                                                                  \
  F(name, T, BYTES, 8, 1, TARGET)                                                                                      \
  F(name, T, BYTES, 8, 2, TARGET)                                                                                      \
  F(name, T, BYTES, 10, 1, TARGET)                                                                                     \
  F(name, T, BYTES, 10, 2, TARGET)                                                                                     \
  F(name, T, BYTES, 12, 1, TARGET)                                                                                     \
  F(name, T, BYTES, 12, 2, TARGET)                                                                                     \
  F(name, T, BYTES, 14, 1, TARGET)                                                                                     \
  F(name, T, BYTES, 14, 2, TARGET)                                                                                     \
  F(name, T, BYTES, 2, 6, TARGET) F(name, T, BYTES, 4, 6, TARGET)
#define BOTH(name)                                                                                                     \
  { name, name##_along }
#define ROW(name, MR)                                                                                                  \
  { BOTH(name##_##MR##x1), BOTH(name##_##MR##x2) }
#define WIDE_ROW(name, MR)                                                                                             \
  { BOTH(name##_##MR##x1), BOTH(name##_##MR##x2), BOTH(name##_##MR##x6) }

#define NO_TARGET
EACH_FEW(MICRO, f32, float, 16, NO_TARGET)
EACH_FEW(MICRO, f64, double, 16, NO_TARGET)
static const Shapes shapes_f32 = {4, 2, 4, {[1] = ROW(f32, 2), ROW(f32, 4)}};
static const Shapes shapes_f64 = {2, 2, 4, {[1] = ROW(f64, 2), ROW(f64, 4)}};
#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx2,fma")))
EACH_SIX(MICRO, f32_avx2, float, 32, AVX2)
EACH_SIX(MICRO, f64_avx2, double, 32, AVX2)
EACH_ALL(MICRO, f32_avx512, float, 64, AVX512)
EACH_ALL(MICRO, f64_avx512, double, 64, AVX512)
#define SIX_ROWS(name)                                                                                                 \
  { [1] = ROW(name, 2), ROW(name, 4), ROW(name, 6) }
#define ALL_ROWS(name)                                                                                                 \
  {                                                                                                                    \
    [1] = WIDE_ROW(name, 2), WIDE_ROW(name, 4), ROW(name, 6), ROW(name, 8), ROW(name, 10), ROW(name, 12),              \
    ROW(name, 14)                                                                                                      \
  }
static const Shapes shapes_f32_avx2 = {8, 2, 6, SIX_ROWS(f32_avx2)};
static const Shapes shapes_f64_avx2 = {4, 2, 6, SIX_ROWS(f64_avx2)};
static const Shapes shapes_f32_avx512 = {16, 2, 14, ALL_ROWS(f32_avx512)};
static const Shapes shapes_f64_avx512 = {8, 2, 14, ALL_ROWS(f64_avx512)};
#endif

static const Shapes *choose(PolyDType dtype) {
  bool wide = dtype == POLY_FLOAT64;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return wide ? &shapes_f64_avx512 : &shapes_f32_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return wide ? &shapes_f64_avx2 : &shapes_f32_avx2;
#endif
  return wide ? &shapes_f64 : &shapes_f32;
}

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Rows of a register tile where this many are left. A tile costs its rows and, beside its products, about one more. */
static int choose_rows(const Shapes *s, int64_t rows) {
  int best = s->most;
  int64_t least = INT64_MAX;
  for (int mr = s->most; mr >= s->least; mr -= 2) {
    int64_t cost = ceil_div(rows, mr) * (mr + 1);
    if (cost < least) least = cost, best = mr;
  }
  return best;
}

/* Rows [i0, i0+mc) and columns [j0, j0+nc) of a product, of which k runs from k0 to k1, into rows of ld from out;
 * apack and bpack have room for a block of each. */
typedef struct Tile {
  const MatmulCall *m;
  const Shapes *shapes;
  int mr;      /* rows of a register tile, at most */
  bool direct; /* B is read where it lies */
  bool along;  /* and A, whose rows lie side by side */
  int64_t batch, i0, j0, mc, nc, k0, k1, ld;
  void *apack, *bpack, *out;
} Tile;

/* Vectors of the strip of columns that begins at j. */
static int strip_vectors(const Tile *t, int64_t j) {
  int64_t left = t->nc - j, lanes = t->shapes->lanes;
  if (t->shapes->by[t->mr / 2][2][0] && left >= MOST_VECTORS * lanes) return MOST_VECTORS;
  return left > lanes ? 2 : 1;
}

static Micro micro_of(const Tile *t, int rows, int vectors) {
  return t->shapes->by[rows / 2][vectors == MOST_VECTORS ? 2 : vectors - 1][t->along];
}

/* Rows of the register tile that begins at row i of C, where this many are left. Where A is not packed: equally many in
 * all tiles, an even number, and more than are left only if there are rows in front. */
static int next_rows(const Tile *t, int64_t i, int64_t left) {
  if (!t->along) return t->mr;
  int64_t each = ceil_div(left, ceil_div(left, t->shapes->most));
  return (int)MAX(each + (i ? each & 1 : -(each & 1)), 2);
}

/* Columns in front of j that a strip has which is wider than what is left, where B is not packed for it. */
static int64_t columns_over(const Tile *t, int64_t j, int64_t width) {
  int64_t over = MAX(j + width - t->nc, 0);
  return t->along && t->j0 + j >= over ? over : 0;
}

/* What the register tile `count` of a block prefetches: lines of the next block of A, then of B. */
static void look_ahead(const Tile *t, Block *block, int64_t k0, int64_t count) {
  const MatmulCall *m = t->m;
  int64_t size = dtype_size(m->dtype), next = k0 + block->kc, rows = MIN(m->k - next, (int64_t)KC);
  int64_t from = count * block->kc * CACHE_LINE, a = rows * m->a_col * size, b = rows * m->b_row * size;
  bool whole = t->mc == m->a_col && t->nc == m->b_row;
  block->ahead = block->b;
  block->ahead_step = 0;
  if (!t->along || !whole || from >= a + b) return;
  bool first = from < a;
  const MemoryRef *ref = first ? &m->a : &m->b;
  int64_t at = t->batch * (first ? m->a_batch : m->b_batch) + next * (first ? m->a_col : m->b_row);
  block->ahead = (const char *)host_at(*ref) + at * size + (first ? from : from - a);
  block->ahead_step = CACHE_LINE;
}

/* ---- panels ---- */

/* to[q, p] = from[p, q]: squares of 16 bytes a side are turned in registers. */
#define TURN(T, SIDE, TURN_SQUARE)                                                                                     \
  static void turn_##T(const T *restrict from, int64_t from_step, int64_t rows, int64_t cols, T *restrict to,          \
                       int64_t to_step) {                                                                              \
    typedef T Vec __attribute__((vector_size(16), aligned(sizeof(T))));                                                \
    int64_t p = 0;                                                                                                     \
    for (; p + SIDE <= rows; p += SIDE) {                                                                              \
      int64_t q = 0;                                                                                                   \
      for (; q + SIDE <= cols; q += SIDE) {                                                                            \
        Vec row[SIDE], col[SIDE];                                                                                      \
        UNROLL for (int i = 0; i < SIDE; i++) row[i] = *(const Vec *)(from + (p + i) * from_step + q);                 \
        TURN_SQUARE                                                                                                    \
        UNROLL for (int i = 0; i < SIDE; i++) * (Vec *)(to + (q + i) * to_step + p) = col[i];                          \
      }                                                                                                                \
      for (; q < cols; q++)                                                                                            \
        for (int i = 0; i < SIDE; i++) to[q * to_step + p + i] = from[(p + i) * from_step + q];                        \
    }                                                                                                                  \
    for (; p < rows; p++)                                                                                              \
      for (int64_t q = 0; q < cols; q++) to[q * to_step + p] = from[p * from_step + q];                                \
  }
#define TURN_TWO                                                                                                       \
  col[0] = __builtin_shufflevector(row[0], row[1], 0, 2);                                                              \
  col[1] = __builtin_shufflevector(row[0], row[1], 1, 3);
#define TURN_FOUR                                                                                                      \
  Vec low = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5),                                                       \
      high = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);                                                      \
  Vec low2 = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5),                                                      \
      high2 = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);                                                     \
  col[0] = __builtin_shufflevector(low, low2, 0, 1, 4, 5);                                                             \
  col[1] = __builtin_shufflevector(low, low2, 2, 3, 6, 7);                                                             \
  col[2] = __builtin_shufflevector(high, high2, 0, 1, 4, 5);                                                           \
  col[3] = __builtin_shufflevector(high, high2, 2, 3, 6, 7);
TURN(float, 4, TURN_FOUR)
TURN(double, 2, TURN_TWO)

/* Panels: A by rows, B by strips. What a register tile has beyond the matrix is 0. */
#define PACK(name, T)                                                                                                  \
  static void name##_strip(const MatmulCall *m, const T *from, int64_t kc, int64_t n, int64_t width, T *to) {          \
    if (m->b_col == 1)                                                                                                 \
      for (int64_t k = 0; k < kc; k++) memcpy(to + k * width, from + k * m->b_row, (size_t)n * sizeof(T));             \
    else if (m->b_row == 1)                                                                                            \
      turn_##T(from, m->b_col, n, kc, to, width);                                                                      \
    else                                                                                                               \
      for (int64_t k = 0; k < kc; k++)                                                                                 \
        for (int64_t q = 0; q < n; q++) to[k * width + q] = from[k * m->b_row + q * m->b_col];                         \
    for (int64_t k = 0; k < kc && n < width; k++) memset(to + k * width + n, 0, (size_t)(width - n) * sizeof(T));      \
  }                                                                                                                    \
  static void name##_b(const Tile *t, const T *b, int64_t kc) {                                                        \
    const MatmulCall *m = t->m;                                                                                        \
    T *to = t->bpack;                                                                                                  \
    for (int64_t j = 0, width; j < t->nc; j += width, to += width * kc) {                                              \
      width = strip_vectors(t, j) * t->shapes->lanes;                                                                  \
      if (!t->direct || j + width - columns_over(t, j, width) > t->nc)                                                 \
        name##_strip(m, b + j * m->b_col, kc, MIN(width, t->nc - j), width, to);                                       \
    }                                                                                                                  \
  }                                                                                                                    \
  static void name##_a(const Tile *t, const T *a, int64_t kc, int64_t mc) {                                            \
    const MatmulCall *m = t->m;                                                                                        \
    T *to = t->apack;                                                                                                  \
    if (m->a_row == 1 && m->a_col != 1)                                                                                \
      turn_##T(a, m->a_col, kc, mc, to, LINE);                                                                         \
    else                                                                                                               \
      for (int64_t i = 0; i < mc; i++) {                                                                               \
        if (m->a_col == 1)                                                                                             \
          memcpy(to + i * LINE, a + i * m->a_row, (size_t)kc * sizeof(T));                                             \
        else                                                                                                           \
          for (int64_t k = 0; k < kc; k++) to[i * LINE + k] = a[i * m->a_row + k * m->a_col];                          \
      }                                                                                                                \
    for (int64_t i = mc; i < ceil_div(mc, t->mr) * t->mr; i++) memset(to + i * LINE, 0, (size_t)kc * sizeof(T));       \
  }
PACK(pack_f32, float)
PACK(pack_f64, double)

/* ---- a tile of C ---- */

#define TILES(name, T, PANEL)                                                                                          \
  /* Rows i0 .. i0+mc of a tile times a strip. block: of row i0, count: register tiles of it so far. A tile that is    \
   * higher than what is left of packed A has rows of zeros; of A where it lies, rows that were computed before; so    \
   * has one that is wider than what is left, `over` columns. */                                                       \
  static void name##_strip(const Tile *t, int vectors, int64_t i0, int64_t mc, int64_t j, int64_t over, Block block,   \
                           int64_t k0, int64_t *count) {                                                               \
    const T *a = block.a;                                                                                              \
    int64_t width = vectors * t->shapes->lanes, nr = MIN(width, t->nc - j);                                            \
    for (int64_t i = 0, mr, rows; i < mc; i += rows) {                                                                 \
      mr = next_rows(t, t->i0 + i0 + i, mc - i);                                                                       \
      rows = MIN(mr, mc - i);                                                                                          \
      int64_t skip = t->along ? mr - rows : 0;                                                                         \
      bool whole = rows == mr && nr == width, add = k0 > t->k0;                                                        \
      T edge[TILE_MAX], *c = (T *)t->out + (i0 + i) * t->ld + j;                                                       \
      block.a = a + (i - skip) * (t->along ? 1 : LINE);                                                                \
      look_ahead(t, &block, k0, (*count)++);                                                                           \
      micro_of(t, (int)mr, vectors)(&block, whole ? c : edge, whole ? t->ld : width, whole && add);                    \
      for (int64_t y = 0; y < rows && !whole; y++)                                                                     \
        for (int64_t x = 0; x < nr; x++) {                                                                             \
          T *to = c + y * t->ld + x, from = edge[(y + skip) * width + over + x];                                       \
          *to = add ? *to + from : from;                                                                               \
        }                                                                                                              \
    }                                                                                                                  \
  }                                                                                                                    \
  static void name(const Tile *t) {                                                                                    \
    const MatmulCall *m = t->m;                                                                                        \
    const T *a = (const T *)host_at(m->a) + t->batch * m->a_batch + t->i0 * m->a_row;                                  \
    const T *b = (const T *)host_at(m->b) + t->batch * m->b_batch + t->j0 * m->b_col;                                  \
    for (int64_t k0 = t->k0; k0 < t->k1; k0 += KC) {                                                                   \
      int64_t kc = MIN((int64_t)KC, t->k1 - k0), count = 0;                                                            \
      PANEL##_b(t, b + k0 * m->b_row, kc);                                                                             \
      for (int64_t i = 0; i < t->mc; i += MC) {                                                                        \
        int64_t mc = MIN((int64_t)MC, t->mc - i);                                                                      \
        const T *rows = a + k0 * m->a_col + i * m->a_row, *packed = t->bpack;                                          \
        if (!t->along) PANEL##_a(t, rows, kc, mc);                                                                     \
        for (int64_t j = 0, width; j < t->nc; j += width, packed += width * kc) {                                      \
          int vectors = strip_vectors(t, j);                                                                           \
          width = vectors * t->shapes->lanes;                                                                          \
          int64_t over = columns_over(t, j, width);                                                                    \
          bool here = t->direct && j + width - over <= t->nc;                                                          \
          Block block = {.kc = kc,                                                                                     \
                         .a = t->along ? rows : t->apack,                                                              \
                         .a_step = t->along ? m->a_col : 1,                                                            \
                         .b = here ? b + k0 * m->b_row + j - over : packed,                                            \
                         .b_step = here ? m->b_row : width};                                                           \
          name##_strip(t, vectors, i, mc, j, over, block, k0, &count);                                                 \
        }                                                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
  }
TILES(tile_f32, float, pack_f32)
TILES(tile_f64, double, pack_f64)

static void run_pieceless(const Tile *t) {
  if (t->m->dtype == POLY_FLOAT64)
    tile_f64(t);
  else
    tile_f32(t);
}

/* ---- long sums ---- */

/* Adds the rows of a piece to those of c: c + (piece - lost), and what that rounds off. */
#define FOLD(name, T)                                                                                                  \
  static void name(const Tile *t, T *c, int64_t ld, T *lost, bool first) {                                             \
    for (int64_t i = 0; i < t->mc; i++) {                                                                              \
      const T *restrict piece = (const T *)t->out + i * t->ld;                                                         \
      T *restrict to = c + i * ld, *restrict off = lost + i * t->ld;                                                   \
      _Pragma("omp simd") for (int64_t j = 0; j < t->nc; j++) {                                                        \
        T more = first ? piece[j] : piece[j] - off[j], sum = to[j] + more, rest = (sum - to[j]) - more;                \
        off[j] = rest == rest ? rest : 0; /* an infinite sum has none */                                               \
        to[j] = sum;                                                                                                   \
      }                                                                                                                \
    }                                                                                                                  \
  }
FOLD(fold_f32, float)
FOLD(fold_f64, double)

/* A tile of C, piece by piece of k. Later pieces are computed beside it: room for two tiles in rows of nc. */
static void run_tile(Tile *t, char *room, int64_t nc) {
  const MatmulCall *m = t->m;
  size_t size = (size_t)dtype_size(m->dtype);
  char *c = (char *)host_at(m->c) + (size_t)(t->batch * m->c_batch + t->i0 * m->c_row + t->j0) * size;
  for (t->k0 = 0; t->k0 < m->k; t->k0 = t->k1) {
    t->k1 = MIN(t->k0 + PIECE, m->k);
    t->out = t->k0 ? room : c;
    t->ld = t->k0 ? nc : m->c_row;
    run_pieceless(t);
    if (!t->k0) continue;
    void *lost = room + (size_t)(t->mc * nc) * size;
    if (m->dtype == POLY_FLOAT64)
      fold_f64(t, (double *)(void *)c, m->c_row, lost, t->k0 == PIECE);
    else
      fold_f32(t, (float *)(void *)c, m->c_row, lost, t->k0 == PIECE);
  }
}

/* ---- the product ---- */

/* How C is cut: parts for threads, `down` by `across` of each product, and tiles of a part; and bytes of a thread. */
typedef struct Cut {
  int64_t down, across, rows, cols; /* of a part */
  int64_t mc, nc;                   /* of a tile */
  size_t aroom, broom, room;
} Cut;

/* The longer side is cut, along whole vectors. */
static Cut cut_up(const MatmulCall *m, const Shapes *s, int threads) {
  Cut c = {.down = 1, .across = 1, .rows = m->m, .cols = m->n};
  int64_t parts = ceil_div(threads, m->batch), wide = 2 * s->lanes;
  if (parts > 1 && m->m >= m->n) c.rows = ceil_div(ceil_div(m->m, parts), s->least) * s->least;
  if (parts > 1 && m->m < m->n) c.cols = ceil_div(ceil_div(m->n, parts), wide) * wide;
  c.down = ceil_div(m->m, c.rows);
  c.across = ceil_div(m->n, c.cols);
  bool pieces = m->k > PIECE;
  c.mc = pieces ? MIN(c.rows, (int64_t)PIECE_ROWS) : c.rows;
  c.nc = MIN(c.cols, (int64_t)(pieces ? PIECE_COLUMNS : NC));
  size_t size = (size_t)dtype_size(m->dtype);
  c.aroom = (size_t)((MIN(c.mc, (int64_t)MC) + MOST_ROWS) * LINE) * size;
  c.broom = (size_t)((c.nc + wide) * MIN((int64_t)KC, m->k)) * size;
  c.room = (c.aroom + c.broom + (pieces ? (size_t)(2 * c.mc * c.nc) * size : 0) + 63) / 64 * 64;
  return c;
}

bool matmul_blocked_along(const MatmulCall *m) {
  return m->a_row == 1 && m->b_col == 1 && m->m > 1 && m->m + m->n <= ALONG;
}

/* One part, tile by tile. */
static void run_part(const MatmulCall *m, const Shapes *s, const Cut *c, int64_t part, char *work) {
  int64_t i0 = part / c->across % c->down * c->rows, j0 = part % c->across * c->cols;
  int64_t i1 = MIN(i0 + c->rows, m->m), j1 = MIN(j0 + c->cols, m->n);
  for (int64_t j = j0; j < j1; j += c->nc)
    for (int64_t i = i0; i < i1; i += c->mc) {
      Tile t = {.m = m, .shapes = s, .batch = part / c->across / c->down, .i0 = i, .j0 = j};
      t.mc = MIN(c->mc, i1 - i);
      t.nc = MIN(c->nc, j1 - j);
      t.along = matmul_blocked_along(m);
      t.mr = t.along ? next_rows(&t, i, t.mc) : choose_rows(s, MIN(t.mc, (int64_t)MC));
      t.direct = m->b_col == 1 && (t.along || t.mc <= DIRECT);
      t.apack = work;
      t.bpack = work + c->aroom;
      run_tile(&t, work + c->aroom + c->broom, c->nc);
    }
}

size_t matmul_blocked_room(const MatmulCall *m) {
  MatmulCall shorter = *m; /* tiles of a sum that is no longer than a piece are larger */
  shorter.k = MIN(m->k, (int64_t)PIECE);
  size_t all = cut_up(m, choose(m->dtype), 1).room, one = cut_up(&shorter, choose(m->dtype), 1).room;
  return MAX(all, one);
}

bool matmul_blocked(Memory *memory, const MatmulCall *m, int threads) {
  const Shapes *s = choose(m->dtype);
  Cut c = cut_up(m, s, threads);
  int64_t parts = c.down * c.across * m->batch;
  threads = (int)MIN((int64_t)threads, parts);
  char *work = m->worker ? host_at(m->work) : memory->alloc(memory, c.room * (size_t)threads);
  if (!work) return false;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int p = 0; p < threads; p++)
    for (int64_t part = parts * p / threads; part < parts * (p + 1) / threads; part++)
      run_part(m, s, &c, part, work + c.room * (size_t)p);
  if (!m->worker) memory->free(memory, work, c.room * (size_t)threads);
  return true;
}
