/* cuda_split.c: matrix products of float32 on tensor cores, by factors that are split in two (cuda_split.cu). Which
 * products can run that way, how their results are cut into tiles, and the launch. Whether one does is decided by
 * timing it beside cuBLASLt (cuda_matmul.c). */
#include "runtime/cuda.h"
#include "runtime/gpu_routines.h"

#include <stdio.h>

enum { FIRST_ARCH = 80, WARPS = 4, WARP_ROWS = 32, MOST_WIDE = 64, TILE_K = 16, LEAST_PART = 256, THREE_STAGES = 192 };

/* Warps of a block along rows and columns, and columns of each. */
typedef struct Tiling {
  int rows, columns, wide;
} Tiling;

static int64_t ceil_div(int64_t n, int64_t d) { return (n + d - 1) / d; }
static int64_t block_m(const Tiling *t) { return (int64_t)WARP_ROWS * t->rows; }
static int64_t block_n(const Tiling *t) { return (int64_t)t->wide * t->columns; }
static int64_t tiles_of(const Tiling *t, const MatmulCall *m) {
  return ceil_div(m->m, block_m(t)) * ceil_div(m->n, block_n(t));
}

static Tiling tiling(const MatmulCall *m, int rows) {
  Tiling t = {.rows = rows, .columns = WARPS / rows};
  int64_t across = ceil_div(m->n, (int64_t)MOST_WIDE * t.columns); /* blocks */
  t.wide = (int)(ceil_div(m->n, across * t.columns * 8) * 8);
  return t;
}

/* The tiles that compute least beyond the result, and of those the ones that read least. */
static Tiling best_tiling(const MatmulCall *m) {
  Tiling best = {0};
  double least = 0;
  for (int rows = WARPS; rows >= 1; rows /= 2) {
    Tiling t = tiling(m, rows);
    double bm = (double)block_m(&t), bn = (double)block_n(&t), tiles = (double)tiles_of(&t, m);
    double work = tiles * bm * bn * (1 + 16 / bm + 16 / bn); /* a row that is read costs as 16 columns of products */
    if (best.rows && work >= least) continue;
    best = t;
    least = work;
  }
  return best;
}

/* Rows of 16 bytes: `run` elements lie side by side, and begin at multiples of `step`. */
static bool by_fours(int64_t run, int64_t step, int64_t batch) {
  return run % 4 == 0 && step % 4 == 0 && batch % 4 == 0;
}

static bool fits(const CudaDevice *c, const MatmulCall *m) {
  bool a = m->a_col == 1 ? by_fours(m->k, m->a_row, m->a_batch) : m->a_row == 1 && by_fours(m->m, m->a_col, m->a_batch);
  bool b = m->b_row == 1 ? by_fours(m->k, m->b_col, m->b_batch) : m->b_col == 1 && by_fours(m->n, m->b_row, m->b_batch);
  bool to = m->n % 2 == 0 && m->c_row % 2 == 0 && m->c_batch % 2 == 0 && cuda_at(m->c) % 8 == 0;
  return c->arch >= FIRST_ARCH && m->dtype == POLY_FLOAT32 && a && b && to &&
         (cuda_at(m->a) | cuda_at(m->b)) % 16 == 0 && m->k > 0;
}

int64_t cuda_split_parts(const CudaDevice *c, const MatmulCall *m, int times) {
  if (!fits(c, m)) return 0;
  Tiling t = best_tiling(m);
  int64_t tiles = tiles_of(&t, m), blocks = (int64_t)times * c->multiprocessors;
  double room = (double)m->m * (double)m->n * 4;
  if (m->batch != 1 || tiles >= blocks || 2 * room > CUDA_PARTS) return 1;
  int64_t parts = MIN(MIN(blocks / tiles, (int64_t)(CUDA_PARTS / room)), m->k / LEAST_PART);
  return MAX(parts, 1);
}

bool cuda_split(CudaDevice *c, const MatmulCall *m, int64_t parts) {
  Tiling t = best_tiling(m);
  bool a_by_k = m->a_col == 1, b_by_k = m->b_row == 1;
  char defines[200];
  snprintf(defines, sizeof defines,
           "#define WARPS_M %d\n#define WARPS_N %d\n#define WIDE %d\n#define A_BY_K %d\n#define B_BY_K %d\n"
           "#define STAGES %d\n",
           t.rows, t.columns, t.wide, a_by_k, b_by_k, block_m(&t) + block_n(&t) <= THREE_STAGES ? 3 : 2);
  CuModule module = cuda_routine(c, "", defines, cuda_split_text);
  CuAddress a = cuda_at(m->a), b = cuda_at(m->b), to = parts > 1 ? c->workspace + CUDA_WORKSPACE : cuda_at(m->c);
  MatmulCall v = *m;
  int64_t each = ceil_div(ceil_div(m->k, parts), TILE_K) * TILE_K, a_step = a_by_k ? m->a_row : m->a_col,
          b_step = b_by_k ? m->b_col : m->b_row, part = parts > 1 ? m->m * m->n : 0, blocks = tiles_of(&t, m);
  if (parts > 1) v.c_row = m->n;
  int64_t count = ceil_div(m->k, each);
  blocks *= count * m->batch;
  if (!module || blocks > INT32_MAX) return false;
  void *args[] = {&a,      &b,         &to,     &v.m,       &v.n,     &v.k,       &count, &each,
                  &a_step, &v.a_batch, &b_step, &v.b_batch, &v.c_row, &v.c_batch, &part};
  CudaLaunch l = {.grid = (unsigned)blocks, .block = 32 * WARPS, .params = args};
  return cuda_ok(c, c->api.cuModuleGetFunction(&l.function, module, "split_product"), "split_product") &&
         cuda_launch(c, &l, "split_product") && (parts <= 1 || cuda_add_parts(c, m, to, count));
}
