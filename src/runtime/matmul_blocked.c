/* matmul_blocked.c: matrix products of float32 and float64 in blocks that fit the caches, with the widest vectors that
 * the machine has.
 *
 * In: a MatmulCall with any strides. Out: C. C is cut into tiles, each tile is one thread's work: for each block of k
 * it packs the pieces of A and B that it needs into strips, and a small kernel keeps MR x NR sums in registers. Every
 * sum runs over k in the same order whatever the tiles and threads are. A long one is cut into pieces, and what adding
 * these up rounds off is kept for the next one, so that it loses no digits. */
#include "runtime/host.h"

#include <string.h>

enum { KC = 256, MC = 240, NC = 512, TILE_MAX = 16 * 32, LINE = KC + 16, PIECE = 8 * KC };

#if defined(__clang__)
#define FUSED
#define UNROLL _Pragma("unroll")
#else
#define FUSED __attribute__((optimize("fp-contract=fast")))
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Sums of mr x nr products over kc, from a strip of A (mr rows of LINE values, or mr values for each k: by_k) and one
 * of B (nr values for each k), into or onto out. */
#define MICRO(name, T, BYTES, MR, NV, TARGET)                                                                          \
  MICRO_ONE(name, T, BYTES, MR, NV, TARGET, 1, LINE)                                                                   \
  MICRO_ONE(name##_by_k, T, BYTES, MR, NV, TARGET, MR, 1)
#define MICRO_ONE(name, T, BYTES, MR, NV, TARGET, STEP, ROW)                                                           \
  TARGET FUSED static void name(int64_t kc, const T *restrict a, const T *restrict b, T *restrict out, int64_t ld,     \
                                bool add) {                                                                            \
    enum { LANES = BYTES / sizeof(T) };                                                                                \
    typedef T Vec __attribute__((vector_size(BYTES), aligned(sizeof(T))));                                             \
    Vec sum[MR][NV];                                                                                                   \
    memset(sum, 0, sizeof sum);                                                                                        \
    for (int64_t k = 0; k < kc; k++, a += STEP, b += NV * LANES) {                                                     \
      Vec col[NV];                                                                                                     \
      UNROLL for (int v = 0; v < NV; v++) col[v] = *(const Vec *)(b + v * LANES);                                      \
      UNROLL for (int i = 0; i < MR; i++) { UNROLL for (int v = 0; v < NV; v++) sum[i][v] += a[i * ROW] * col[v]; }    \
    }                                                                                                                  \
    UNROLL for (int i = 0; i < MR; i++) {                                                                              \
      UNROLL for (int v = 0; v < NV; v++) {                                                                            \
        Vec *to = (Vec *)(out + i * ld + v * LANES);                                                                   \
        *to = add ? *to + sum[i][v] : sum[i][v];                                                                       \
      }                                                                                                                \
    }                                                                                                                  \
  }
#define NO_TARGET
MICRO(micro_f32, float, 16, 4, 2, NO_TARGET)
MICRO(micro_f64, double, 16, 4, 2, NO_TARGET)
#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx2,fma")))
MICRO(micro_f32_avx2, float, 32, 6, 2, AVX2)
MICRO(micro_f64_avx2, double, 32, 6, 2, AVX2)
MICRO(micro_f32_avx512, float, 64, 12, 2, AVX512)
MICRO(micro_f64_avx512, double, 64, 12, 2, AVX512)
#endif

/* One tile: rows [i0, i0+mc) and columns [j0, j0+nc) of a product, of which k runs from k0 to k1, into rows of ld from
 * out; apack and bpack have room for MC*LINE and NC*KC. */
typedef struct Tile {
  const MatmulCall *m;
  int64_t batch, i0, j0, mc, nc, k0, k1, ld;
  void *apack, *bpack, *out;
} Tile;

/* Panels. The part of a strip that lies behind the matrix is 0. What is contiguous in memory is copied as it is. */
#define PACK(name, T)                                                                                                  \
  static void name##_b(const MatmulCall *m, const T *b, int64_t kc, int64_t nc, int64_t NR, T *bp) {                   \
    for (int64_t j = 0; j < nc; j += NR) {                                                                             \
      int64_t n = MIN(NR, nc - j);                                                                                     \
      const T *from = b + j * m->b_col;                                                                                \
      T *to = bp + j * kc;                                                                                             \
      for (int64_t k = 0; k < kc && m->b_col == 1; k++)                                                                \
        memcpy(to + k * NR, from + k * m->b_row, (size_t)n * sizeof(T));                                               \
      for (int64_t q = 0; q < n && m->b_col != 1; q++)                                                                 \
        for (int64_t k = 0; k < kc; k++) to[k * NR + q] = from[k * m->b_row + q * m->b_col];                           \
      for (int64_t k = 0; k < kc && n < NR; k++) memset(to + k * NR + n, 0, (size_t)(NR - n) * sizeof(T));             \
    }                                                                                                                  \
  }                                                                                                                    \
  static void name##_a(const MatmulCall *m, const T *a, int64_t kc, int64_t mc, int64_t MR, T *ap, bool by_k) {        \
    for (int64_t i = 0; i < mc; i += MR) {                                                                             \
      int64_t n = MIN(MR, mc - i);                                                                                     \
      const T *from = a + i * m->a_row;                                                                                \
      T *to = ap + i * LINE;                                                                                           \
      for (int64_t k = 0; k < kc && by_k; k++) {                                                                       \
        memcpy(to + k * MR, from + k * m->a_col, (size_t)n * sizeof(T));                                               \
        memset(to + k * MR + n, 0, (size_t)(MR - n) * sizeof(T));                                                      \
      }                                                                                                                \
      for (int64_t q = 0; q < MR && !by_k; q++) {                                                                      \
        if (q >= n)                                                                                                    \
          memset(to + q * LINE, 0, (size_t)kc * sizeof(T));                                                            \
        else if (m->a_col == 1)                                                                                        \
          memcpy(to + q * LINE, from + q * m->a_row, (size_t)kc * sizeof(T));                                          \
        else                                                                                                           \
          for (int64_t k = 0; k < kc; k++) to[q * LINE + k] = from[q * m->a_row + k * m->a_col];                       \
      }                                                                                                                \
    }                                                                                                                  \
  }
PACK(pack_f32, float)
PACK(pack_f64, double)

#define TILES(name, T, PANEL, MICRO_FN, MR, NR)                                                                        \
  static void name(const Tile *t) {                                                                                    \
    const MatmulCall *m = t->m;                                                                                        \
    const T *a = (const T *)host_at(m->a) + t->batch * m->a_batch + t->i0 * m->a_row;                                  \
    const T *b = (const T *)host_at(m->b) + t->batch * m->b_batch + t->j0 * m->b_col;                                  \
    T *c = t->out, *ap = t->apack, *bp = t->bpack;                                                                     \
    bool by_k = m->a_row == 1 && m->a_col != 1;                                                                        \
    for (int64_t k0 = t->k0; k0 < t->k1; k0 += KC) {                                                                   \
      int64_t kc = MIN((int64_t)KC, t->k1 - k0);                                                                       \
      PANEL##_b(m, b + k0 * m->b_row, kc, t->nc, NR, bp);                                                              \
      PANEL##_a(m, a + k0 * m->a_col, kc, t->mc, MR, ap, by_k);                                                        \
      for (int64_t j = 0; j < t->nc; j += NR)                                                                          \
        for (int64_t i = 0; i < t->mc; i += MR) {                                                                      \
          int64_t mr = MIN((int64_t)MR, t->mc - i), nr = MIN((int64_t)NR, t->nc - j);                                  \
          bool whole = mr == MR && nr == NR;                                                                           \
          T edge[TILE_MAX], *out = whole ? c + i * t->ld + j : edge;                                                   \
          (by_k ? MICRO_FN##_by_k : MICRO_FN)(kc, ap + i * LINE, bp + j * kc, out, whole ? t->ld : NR,                 \
                                              whole && k0 > t->k0);                                                    \
          for (int64_t y = 0; y < mr && !whole; y++)                                                                   \
            for (int64_t x = 0; x < nr; x++) {                                                                         \
              T *to = c + (i + y) * t->ld + j + x;                                                                     \
              *to = k0 > t->k0 ? *to + edge[y * NR + x] : edge[y * NR + x];                                            \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
  }
TILES(tile_f32, float, pack_f32, micro_f32, 4, 8)
TILES(tile_f64, double, pack_f64, micro_f64, 4, 4)
#if defined(__x86_64__)
TILES(tile_f32_avx2, float, pack_f32, micro_f32_avx2, 6, 16)
TILES(tile_f64_avx2, double, pack_f64, micro_f64_avx2, 6, 8)
TILES(tile_f32_avx512, float, pack_f32, micro_f32_avx512, 12, 32)
TILES(tile_f64_avx512, double, pack_f64, micro_f64_avx512, 12, 16)
#endif

typedef void (*TileFn)(const Tile *t);

static TileFn choose(PolyDType dtype) {
  bool wide = dtype == POLY_FLOAT64;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return wide ? tile_f64_avx512 : tile_f32_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return wide ? tile_f64_avx2 : tile_f32_avx2;
#endif
  return wide ? tile_f64 : tile_f32;
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
static void run_tile(TileFn fn, Tile *t, char *room, int64_t nc) {
  const MatmulCall *m = t->m;
  size_t size = (size_t)dtype_size(m->dtype);
  char *c = (char *)host_at(m->c) + (size_t)(t->batch * m->c_batch + t->i0 * m->c_row + t->j0) * size;
  for (t->k0 = 0; t->k0 < m->k; t->k0 = t->k1) {
    t->k1 = MIN(t->k0 + PIECE, m->k);
    t->out = t->k0 ? room : c;
    t->ld = t->k0 ? nc : m->c_row;
    fn(t);
    if (!t->k0) continue;
    void *lost = room + (size_t)(t->mc * nc) * size;
    if (m->dtype == POLY_FLOAT64)
      fold_f64(t, (double *)(void *)c, m->c_row, lost, t->k0 == PIECE);
    else
      fold_f32(t, (float *)(void *)c, m->c_row, lost, t->k0 == PIECE);
  }
}

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Bytes for strips of n rows or columns. */
static size_t strip_room(const MatmulCall *m, int64_t n, int64_t line) {
  return (size_t)(n * line) * (size_t)dtype_size(m->dtype);
}

/* Bytes of a thread, for tiles of mc rows and nc columns. */
static size_t work_room(const MatmulCall *m, int64_t mc, int64_t nc) {
  size_t pieces = m->k > PIECE ? (size_t)(2 * mc * nc) * (size_t)dtype_size(m->dtype) : 0;
  return strip_room(m, mc + 16, LINE) + strip_room(m, nc + 32, KC) + pieces;
}

size_t matmul_blocked_room(const MatmulCall *m) {
  return work_room(m, MIN((int64_t)MC, m->m + 12), MIN((int64_t)NC, ceil_div(m->n, 32) * 32));
}

bool matmul_blocked(Base *base, const MatmulCall *m, int threads) {
  TileFn fn = choose(m->dtype);
  /* tiles as large as the caches like, smaller if there would be fewer than threads */
  int64_t nc = MIN((int64_t)NC, ceil_div(m->n, 32) * 32), across = ceil_div(m->n, nc);
  int64_t parts = ceil_div(2 * threads, across * m->batch), mc = ceil_div(ceil_div(m->m, parts), 12) * 12;
  mc = MIN((int64_t)MC, mc);
  int64_t down = ceil_div(m->m, mc), tiles = across * down * m->batch;
  threads = (int)MIN((int64_t)threads, tiles);
  size_t aroom = strip_room(m, mc + 16, LINE), broom = strip_room(m, nc + 32, KC), room = work_room(m, mc, nc);
  char *work = m->worker ? host_at(m->work) : mem_resize(base, NULL, 0, room * (size_t)threads);
  if (!work) return false;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; part++)
    for (int64_t t = tiles * part / threads; t < tiles * (part + 1) / threads; t++) {
      int64_t i0 = t / across % down * mc, j0 = t % across * nc;
      char *mine = work + room * (size_t)part;
      Tile tile = {.m = m, .batch = t / across / down, .i0 = i0, .j0 = j0, .mc = MIN(mc, m->m - i0)};
      tile.nc = MIN(nc, m->n - j0);
      tile.apack = mine;
      tile.bpack = mine + aroom;
      run_tile(fn, &tile, mine + aroom + broom, nc);
    }
  if (!m->worker) mem_free(base, work, room * (size_t)threads);
  return true;
}
