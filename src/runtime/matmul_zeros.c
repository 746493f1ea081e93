/* matmul_zeros.c: products of float32 where one operand is nearly all zeros, as bags of words and one-hot features are.
 *
 * In: a MatmulCall. Out: C, or false: some rows were looked at, and there is not enough zero in them (or the shape is
 * not worth it). The operand is read once, as it lies in memory, and only what is not zero is multiplied:
 *
 *   gather   C[i, :]  = sum over j of S[i, j] O[j, :]      the layer x W; threads share the rows
 *   scatter  T[j, :] += S[i, j] O[i, :]                    the weight's gradient; threads share the columns
 *
 * A guess from few rows can only cost time. Zeros are left out, so 0 * Inf would be missed: if O is not finite, the
 * dense product is taken. Each sum runs in one order, whatever the threads are; after every FOLD products it is added
 * to a total that keeps what the addition rounds off, so that long sums lose no digits. */
#include "runtime/cpu.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* LEAST: elements of the operand for which looking is worth it. One in RARE elements may be other than zero. */
enum { LEAST = 1 << 18, NARROW = 4, WIDE = 512, SAMPLE = 16, RARE = 25, LANES = 16, FOLD = 256 };

/* ---- which of 16 elements are not zero ---- */

#if defined(__x86_64__)
#define AVX512 __attribute__((target("avx512f,avx2,fma")))
#define AVX2 __attribute__((target("avx2,fma")))
AVX512 static inline uint32_t mask_avx512(const float *p) {
  return _mm512_cmp_ps_mask(_mm512_loadu_ps(p), _mm512_setzero_ps(), _CMP_NEQ_UQ);
}
AVX2 static inline uint32_t mask_avx2(const float *p) {
  __m256 zero = _mm256_setzero_ps();
  return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(p), zero, _CMP_NEQ_UQ)) |
         (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(p + 8), zero, _CMP_NEQ_UQ)) << 8;
}
#endif
static inline uint32_t mask_plain(const float *p) {
  uint32_t mask = 0;
  for (int k = 0; k < LANES; k++) mask |= (uint32_t)(p[k] != 0) << k;
  return mask;
}

/* ---- long sums ---- */

/* Beside the rows of a result, while they are summed: of each row, what was summed before (total, less lost) and how
 * many products there were. A row and its place here move by the same number of elements. */
typedef struct Totals {
  float *total, *lost;
  int64_t *count;
} Totals;

/* total + (to - lost), and what that rounds off. */
static void fold(float *to, float *total, float *lost, int64_t n, bool first) {
  for (int64_t k = 0; k < n; k++) {
    float add = first ? to[k] : to[k] - lost[k], sum = first ? add : total[k] + add;
    float off = first ? 0 : (sum - total[k]) - add;
    lost[k] = off == off ? off : 0; /* of an infinite sum */
    total[k] = sum;
    to[k] = 0;
  }
}

/* The sum, once all products are in. */
static void finish(const Totals *s, int64_t row, float *to, int64_t ld, int64_t n) {
  if (s->count[row] < FOLD) return;
  const float *total = s->total + row * ld, *lost = s->lost + row * ld;
  for (int64_t k = 0; k < n; k++) to[row * ld + k] = total[k] + (to[row * ld + k] - lost[k]);
}

/* ---- loops, once for each width of vectors ---- */

/* A dense matrix whose rows are contiguous. */
typedef struct Rows {
  float *at;
  int64_t ld, n;
} Rows;

/* Adds the products of a piece of a row, from p, n elements, to what gather or scatter says: the row of from and the
 * row of to move with the element, or stay. sums: NULL if they are short. */
#define LOOPS(NAME, BYTES, MASK, TARGET)                                                                               \
  typedef float Vec_##NAME __attribute__((vector_size(BYTES), aligned(sizeof(float))));                                \
  TARGET static inline void add_##NAME(float v, const float *restrict from, float *restrict to, int64_t n) {           \
    enum { W = BYTES / sizeof(float) };                                                                                \
    int64_t k = 0;                                                                                                     \
    for (; k + W <= n; k += W) *(Vec_##NAME *)(to + k) += v * *(const Vec_##NAME *)(from + k);                         \
    for (; k < n; k++) to[k] += v * from[k];                                                                           \
  }                                                                                                                    \
  TARGET static inline void product_##NAME(float v, int64_t k, const float *from, int64_t from_step, float *to,        \
                                           int64_t to_step, int64_t width, const Totals *sums) {                       \
    int64_t at = k * to_step, row = to_step ? k : 0;                                                                   \
    add_##NAME(v, from + k * from_step, to + at, width);                                                               \
    if (sums && ++sums->count[row] % FOLD == 0)                                                                        \
      fold(to + at, sums->total + at, sums->lost + at, width, sums->count[row] == FOLD);                               \
  }                                                                                                                    \
  TARGET static void row_##NAME(const float *p, int64_t n, const float *from, int64_t from_step, float *to,            \
                                int64_t to_step, int64_t width, const Totals *sums) {                                  \
    int64_t j = 0;                                                                                                     \
    for (; j + LANES <= n; j += LANES)                                                                                 \
      for (uint32_t mask = MASK(p + j); mask; mask &= mask - 1) {                                                      \
        int64_t k = j + __builtin_ctz(mask);                                                                           \
        product_##NAME(p[k], k, from, from_step, to, to_step, width, sums);                                            \
      }                                                                                                                \
    for (; j < n; j++)                                                                                                 \
      if (p[j] != 0) product_##NAME(p[j], j, from, from_step, to, to_step, width, sums);                               \
  }                                                                                                                    \
  TARGET static bool finite_##NAME(const float *p, int64_t n) {                                                        \
    enum { W = BYTES / sizeof(float) };                                                                                \
    Vec_##NAME sum = {0}; /* 0 times what is not finite is NaN */                                                      \
    int64_t k = 0;                                                                                                     \
    for (; k + W <= n; k += W) sum += 0.0f * *(const Vec_##NAME *)(p + k);                                             \
    float all = 0;                                                                                                     \
    for (; k < n; k++) all += 0.0f * p[k];                                                                             \
    for (int w = 0; w < (int)W; w++) all += sum[w];                                                                    \
    return all == 0;                                                                                                   \
  }
LOOPS(plain, 16, mask_plain, )
#if defined(__x86_64__)
LOOPS(avx2, 32, mask_avx2, AVX2)
LOOPS(avx512, 64, mask_avx512, AVX512)
#endif

typedef struct Loops {
  void (*row)(const float *p, int64_t n, const float *from, int64_t from_step, float *to, int64_t to_step,
              int64_t width, const Totals *sums);
  bool (*finite)(const float *p, int64_t n);
} Loops;

static Loops pick_loops(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return (Loops){row_avx512, finite_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return (Loops){row_avx2, finite_avx2};
#endif
  return (Loops){row_plain, finite_plain};
}

/* ---- the product ---- */

/* Few enough of the elements of some rows are other than zero. */
static bool mostly_zero(const Rows *s, int64_t rows) {
  int64_t found = 0, looked = 0;
  for (int64_t r = 0; r < MIN(rows, SAMPLE); r++) {
    const float *p = s->at + r * (rows / MIN(rows, SAMPLE)) * s->ld;
    for (int64_t j = 0; j < s->n; j++) found += p[j] != 0;
    looked += s->n;
    if (r >= 1 && found * 4 > looked) return false; /* dense: said quickly */
  }
  return found * RARE <= looked;
}

static bool all_finite(const Loops *loops, const Rows *o, int64_t rows) {
  if (o->ld == o->n) return loops->finite(o->at, rows * o->n);
  for (int64_t i = 0; i < rows; i++)
    if (!loops->finite(o->at + i * o->ld, o->n)) return false;
  return true;
}

/* to[j, i] = from[i, j], in squares that stay in the cache. */
static void transpose(const Rows *from, int64_t rows, const Rows *to, int threads) {
  enum { SIDE = 32 };
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i0 = 0; i0 < rows; i0 += SIDE)
    for (int64_t j0 = 0; j0 < from->n; j0 += SIDE)
      for (int64_t i = i0; i < MIN(i0 + SIDE, rows); i++)
        for (int64_t j = j0; j < MIN(j0 + SIDE, from->n); j++) to->at[j * to->ld + i] = from->at[i * from->ld + j];
}

static void gather(const Loops *loops, const Rows *s, int64_t rows, const Rows *o, const Rows *out, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < rows; i++) {
    float *to = out->at + i * out->ld, total[WIDE], lost[WIDE];
    int64_t count = 0;
    Totals sums = {total, lost, &count};
    memset(to, 0, (size_t)o->n * sizeof *to);
    loops->row(s->at + i * s->ld, s->n, o->at, o->ld, to, 0, o->n, s->n > FOLD ? &sums : NULL);
    finish(&sums, 0, to, 0, o->n);
  }
}

/* sums: room for rows as out has them, and zeros to count by. */
static void scatter(const Loops *loops, const Rows *s, int64_t rows, const Rows *o, const Rows *out, const Totals *sums,
                    int threads) {
  int64_t each = ((s->n + threads - 1) / threads + LANES - 1) / LANES * LANES;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int t = 0; t < threads; t++) {
    int64_t first = t * each, count = MIN(each, s->n - first);
    for (int64_t j = 0; j < count; j++) memset(out->at + (first + j) * out->ld, 0, (size_t)o->n * sizeof(float));
    if (count <= 0) continue;
    Totals part = {sums->total + first * out->ld, sums->lost + first * out->ld, sums->count + first};
    for (int64_t i = 0; i < rows; i++)
      loops->row(s->at + i * s->ld + first, count, o->at + i * o->ld, 0, out->at + first * out->ld, out->ld, o->n,
                 &part);
    for (int64_t j = 0; j < count; j++) finish(&part, j, out->at + first * out->ld, out->ld, o->n);
  }
}

/* What is nearly all zeros, and how it lies: the left operand by rows (a layer), the left one by columns or the right
 * one by rows (a gradient). */
typedef enum Side { NEITHER, LEFT, LEFT_COLUMNS, RIGHT } Side;

static Side find_side(const MatmulCall *m, Rows *s, int64_t *rows) {
  if (m->m * m->k >= LEAST && m->n >= NARROW && m->n <= WIDE) {
    bool by_rows = m->a_col == 1 && m->a_row >= m->k;
    *s = (Rows){(float *)host_at(m->a), by_rows ? m->a_row : m->a_col, by_rows ? m->k : m->m};
    *rows = by_rows ? m->m : m->k;
    if ((by_rows || (m->a_row == 1 && m->a_col >= m->m)) && mostly_zero(s, *rows)) return by_rows ? LEFT : LEFT_COLUMNS;
  }
  if (m->k * m->n >= LEAST && m->m >= NARROW && m->m <= WIDE && m->b_col == 1 && m->b_row >= m->n) {
    *s = (Rows){(float *)host_at(m->b), m->b_row, m->n};
    *rows = m->k;
    if (mostly_zero(s, *rows)) return RIGHT;
  }
  return NEITHER;
}

/* A scatter with room of its own for long sums. False: there is none. */
static bool scattered(Device *d, const Loops *loops, const Rows *s, int64_t rows, const Rows *o, const Rows *out,
                      int threads) {
  Base *b = ctx_base(d->ctx);
  size_t each = (size_t)(s->n * out->ld) * sizeof(float), counts = (size_t)s->n * sizeof(int64_t);
  float *room = memory_alloc(d->memory, 2 * each);
  Totals sums = {room, room ? room + s->n * out->ld : NULL, mem_new(b, counts)};
  bool ok = room && sums.count;
  if (ok)
    scatter(loops, s, rows, o, out, &sums, threads);
  else
    base_clear(b);
  if (room) memory_free(d->memory, room, 2 * each);
  mem_free(b, sums.count, counts);
  return ok;
}

bool matmul_zeros(Device *d, const MatmulCall *m, int threads) {
  Rows s, c = {host_at(m->c), m->c_row, m->n};
  int64_t rows;
  if (m->batch != 1 || m->dtype != POLY_FLOAT32) return false;
  Side side = find_side(m, &s, &rows);
  if (side == NEITHER) return false;
  /* the other operand: its rows go with the columns of s (gather) or with its rows (scatter) */
  bool is_b = side != RIGHT;
  int64_t n = is_b ? m->n : m->m, col = is_b ? m->b_col : m->a_row;
  Rows other = {(float *)host_at(is_b ? m->b : m->a), is_b ? m->b_row : m->a_col, n};
  int64_t turned = col == 1 ? 0 : m->k * n, wide = side == RIGHT ? m->n * n : 0;
  size_t bytes = (size_t)(turned + wide) * sizeof(float);
  if (turned && other.ld != 1) return false;
  float *room = bytes ? memory_alloc(d->memory, bytes) : NULL;
  if (bytes && !room) {
    base_clear(ctx_base(d->ctx));
    return false;
  }
  if (turned) {
    Rows lies = {other.at, col, m->k}, to = {room, n, n};
    transpose(&lies, n, &to, threads);
    other = to;
  }
  Loops loops = pick_loops();
  bool good = all_finite(&loops, &other, m->k);
  if (good && side == LEFT) gather(&loops, &s, rows, &other, &c, threads);
  if (good && side == LEFT_COLUMNS) good = scattered(d, &loops, &s, rows, &other, &c, threads);
  if (good && side == RIGHT) {
    Rows t = {room + turned, n, n};
    good = scattered(d, &loops, &s, rows, &other, &t, threads);
    if (good) transpose(&t, m->n, &c, threads);
  }
  if (room) memory_free(d->memory, room, bytes);
  return good;
}
