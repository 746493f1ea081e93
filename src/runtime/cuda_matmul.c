/* cuda_matmul.c: matrix products by cuBLASLt.
 *
 * cuBLASLt works on columns: a row-major C[m,n] = A B is for it the product of B and A in that order, both as they lie.
 * How a product runs is chosen once for a shape, the strides and the alignment of its operands: the library proposes a
 * few ways, which are timed where it runs first. The choice decides in which order sums are rounded, so it is kept on
 * disk, and later processes take the same; where nothing can be kept, the library's first proposal is taken. float32 is
 * computed in float32 unless POLY_TF32=1 allows less; the half types are summed in float32.
 *
 * A product of few results that are long sums, as the gradient of a weight is one over all nodes or edges, keeps few
 * multiprocessors busy. Another way to run it is in parts: the inner axis is cut, the parts are one batched product,
 * and a kernel adds up their results in a fixed order. It is taken where it was quicker when both were timed. */
#include "runtime/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All that the choice depends on. */
typedef struct Shape {
  int64_t dtype, m, n, k, batch, a_row, a_col, a_batch, b_row, b_col, b_batch, c_row, c_batch, aligned;
} Shape;

typedef struct CudaProduct {
  Shape shape;
  LtProduct product;
  LtLayout a, b, c;
  LtChoice choice;
  bool usable; /* false: the library has no way to run it */
  int parts;   /* that its inner axis is cut into; 0: it is not */
  struct CudaProduct *next;
} CudaProduct;

bool cuda_matmul_open(CudaDevice *c) {
  if (!cuda_api_cublaslt(&c->api) || c->api.cublasLtCreate(&c->lt) != 0) {
    c->lt = NULL;
    return false;
  }
  return c->api.cuMemAlloc_v2(&c->workspace, CUDA_WORKSPACE + CUDA_PARTS) == CU_OK;
}

static void product_free(CudaDevice *c, CudaProduct *p) {
  if (p->a) c->api.cublasLtMatrixLayoutDestroy(p->a);
  if (p->b) c->api.cublasLtMatrixLayoutDestroy(p->b);
  if (p->c) c->api.cublasLtMatrixLayoutDestroy(p->c);
  if (p->product) c->api.cublasLtMatmulDescDestroy(p->product);
  mem_free(ctx_base(c->device.ctx), p, sizeof *p);
}

static void forget_products(CudaDevice *c) {
  for (int i = 0; i < CUDA_PRODUCTS; i++)
    for (CudaProduct *p = c->product[i], *next; p; p = next) {
      next = p->next;
      product_free(c, p);
    }
  memset(c->product, 0, sizeof c->product);
  c->nproduct = 0;
}

void cuda_matmul_close(CudaDevice *c) {
  if (!c->lt) return;
  forget_products(c);
  if (c->workspace) c->api.cuMemFree_v2(c->workspace);
  c->api.cublasLtDestroy(c->lt);
  c->lt = NULL;
  c->workspace = 0;
}

/* ---- how a product runs ---- */

static int element_type(int64_t dtype) {
  switch (dtype) {
  case POLY_FLOAT64: return LT_R_64F;
  case POLY_FLOAT16: return LT_R_16F;
  case POLY_BFLOAT16: return LT_R_16BF;
  default: return LT_R_32F;
  }
}

static int compute_type(int64_t dtype) {
  const char *env = getenv("POLY_TF32");
  if (dtype == POLY_FLOAT64) return LT_COMPUTE_64F;
  return dtype == POLY_FLOAT32 && env && atoi(env) > 0 ? LT_COMPUTE_32F_TF32 : LT_COMPUTE_32F;
}

/* An operand of `rows` x `cols` in the library's sense: the elements of a column lie side by side unless it is taken
 * transposed. `inner` is the stride from row to row, `outer` from column to column. */
static bool operand(CudaDevice *c, const Shape *s, LtProduct product, int which, int64_t rows, int64_t cols,
                    int64_t inner, int64_t outer, int64_t batch, LtLayout *out) {
  int transposed = inner != 1 && rows > 1;
  if (transposed && outer != 1 && cols > 1) return false;
  int64_t least = transposed ? cols : rows, count = transposed ? rows : cols, ld = transposed ? inner : outer;
  if (count <= 1) ld = MAX(ld, least);
  if (ld < least) return false; /* rows that lie in each other */
  int32_t batches = (int32_t)s->batch;
  if (c->api.cublasLtMatrixLayoutCreate(out, element_type(s->dtype), (uint64_t)least, (uint64_t)count, ld) != 0 ||
      c->api.cublasLtMatrixLayoutSetAttribute(*out, LT_BATCH_COUNT, &batches, sizeof batches) != 0 ||
      c->api.cublasLtMatrixLayoutSetAttribute(*out, LT_BATCH_STRIDE, &batch, sizeof batch) != 0)
    return false;
  int32_t op = transposed;
  return !which || c->api.cublasLtMatmulDescSetAttribute(product, which, &op, sizeof op) == 0;
}

/* ---- choosing ---- */

enum { PROPOSALS = 8, FEW_PROPOSALS = 3, TIMED_RUNS = 4 };
static const double long_ms = 2, least_gain = 0.95; /* of the time of the first proposal: less may be noise */

static int multiply(CudaDevice *c, const CudaProduct *p, const MatmulCall *m, const LtChoice *choice, CuAddress room) {
  static const float one_f = 1, zero_f = 0;
  static const double one_d = 1, zero_d = 0;
  bool wide = m->dtype == POLY_FLOAT64;
  void *d = (void *)(uintptr_t)cuda_at(m->c);
  return c->api.cublasLtMatmul(c->lt, p->product, wide ? (const void *)&one_d : &one_f,
                               (void *)(uintptr_t)cuda_at(m->b), p->a, (void *)(uintptr_t)cuda_at(m->a), p->b,
                               wide ? (const void *)&zero_d : &zero_f, d, p->c, d, p->c, &choice->algorithm,
                               (void *)(uintptr_t)room, choice->workspace, c->stream);
}

static int multiply_parts(CudaDevice *c, const MatmulCall *m, int64_t parts);

/* One way to run a product: in parts, or by the choice. */
typedef struct Way {
  const LtChoice *choice;
  int64_t parts;
} Way;

static int multiply_by(CudaDevice *c, const CudaProduct *p, const MatmulCall *m, Way way, CuAddress room) {
  return way.parts ? multiply_parts(c, m, way.parts) : multiply(c, p, m, way.choice, room);
}

/* Milliseconds of a product; negative: it does not run that way, which is no error. */
static double time_of(CudaDevice *c, const CudaProduct *p, const MatmulCall *m, Way way, CuEvent event[2], int runs) {
  float ms = 0;
  bool clean = ctx_base(c->device.ctx)->code == POLY_OK;
  for (int i = -1; i < runs; i++) {
    if (!i && c->api.cuEventRecord(event[0], c->stream) != CU_OK) return -1;
    if (multiply_by(c, p, m, way, c->workspace) == 0) continue;
    if (clean && !c->lost[0]) base_clear(ctx_base(c->device.ctx));
    return -1;
  }
  bool ok = c->api.cuEventRecord(event[1], c->stream) == CU_OK && c->api.cuEventSynchronize(event[1]) == CU_OK &&
            c->api.cuEventElapsedTime(&ms, event[0], event[1]) == CU_OK;
  return ok ? ms / runs : -1;
}

/* The quickest of n ways. The product is computed anew each time, into where its result belongs. */
static int quickest(CudaDevice *c, const CudaProduct *p, const MatmulCall *m, const LtChoice *way, int n) {
  CuEvent event[2] = {NULL, NULL};
  bool ok = c->api.cuEventCreate(&event[0], 0) == CU_OK && c->api.cuEventCreate(&event[1], 0) == CU_OK;
  double first = ok ? time_of(c, p, m, (Way){.choice = &way[0]}, event, 1) : -1, least = first;
  int best = 0, runs = first > long_ms ? 1 : TIMED_RUNS;
  if (first > long_ms) n = MIN(n, FEW_PROPOSALS);
  if (first > 0 && runs > 1) first = least = time_of(c, p, m, (Way){.choice = &way[0]}, event, runs);
  for (int k = 1; ok && k < n; k++) {
    double ms = way[k].status == 0 ? time_of(c, p, m, (Way){.choice = &way[k]}, event, runs) : -1;
    if (ms <= 0 || (first > 0 && (ms >= least || ms > least_gain * first))) continue;
    best = k;
    least = ms;
  }
  for (int k = 0; k < 2; k++)
    if (event[k]) c->api.cuEventDestroy_v2(event[k]);
  return best;
}

static void choice_key(const CudaDevice *c, const CudaProduct *p, const char *what, CacheKey *key) {
  char shape[2 * sizeof p->shape + 1], library[48];
  const unsigned char *byte = (const unsigned char *)&p->shape;
  for (size_t i = 0; i < sizeof p->shape; i++) snprintf(shape + 2 * i, 3, "%02x", byte[i]);
  snprintf(library, sizeof library, "cuBLASLt %zu, %d", c->api.lt_version, compute_type(p->shape.dtype));
  cache_key(key, 4, (const char *const[]){what, shape, library, c->card});
}

/* A choice that was kept and is still possible. */
static bool kept_choice(CudaDevice *c, const char *dir, const CacheKey *key, CudaProduct *p) {
  size_t bytes = 0;
  Base *b = ctx_base(c->device.ctx);
  char *kept = cache_get(b, dir, key, &bytes);
  LtChoice choice = {0};
  bool ok = kept && bytes == sizeof choice;
  if (ok) memcpy(&choice, kept, sizeof choice);
  ok = ok && choice.workspace <= CUDA_WORKSPACE;
  if (ok) p->choice = choice;
  mem_free(b, kept, bytes);
  return ok;
}

/* Where choices are kept; NULL: nothing is timed. Nothing can be while a run is recorded. */
static const char *choices_dir(const CudaDevice *c) {
  const char *env = getenv("POLY_CUDA_TUNE"), *dir = c->runtime->cache_dir;
  return c->run || (env && atoi(env) == 0) || !dir || !cache_usable(dir) ? NULL : dir;
}

/* Among the library's proposals. */
static bool choose_among(CudaDevice *c, CudaProduct *p, const MatmulCall *m, const LtChoice *way, int n) {
  const char *dir = choices_dir(c);
  p->choice = way[0];
  bool good = way[0].status == 0;
  if (n < 2 || !dir) return good;
  CacheKey key;
  choice_key(c, p, "matrix product", &key);
  if (kept_choice(c, dir, &key, p)) return true;
  p->choice = way[quickest(c, p, m, way, n)];
  LtChoice mine = p->choice;
  if (!kept_choice(c, dir, &key, p)) /* another process may have been quicker */
    cache_put(dir, &key, &mine, sizeof mine, c->runtime->cache_limit);
  return p->choice.status == 0;
}

static bool choose(CudaDevice *c, CudaProduct *p, const MatmulCall *m) {
  LtPreference wish = NULL;
  LtChoice way[PROPOSALS];
  size_t room = CUDA_WORKSPACE;
  uint32_t aligned = (uint32_t)p->shape.aligned;
  int found = 0;
  bool ok = c->api.cublasLtMatmulPreferenceCreate(&wish) == 0 &&
            c->api.cublasLtMatmulPreferenceSetAttribute(wish, LT_WORKSPACE, &room, sizeof room) == 0;
  for (int which = LT_ALIGNMENT_A; ok && which <= LT_ALIGNMENT_D; which++)
    ok = c->api.cublasLtMatmulPreferenceSetAttribute(wish, which, &aligned, sizeof aligned) == 0;
  ok = ok &&
       c->api.cublasLtMatmulAlgoGetHeuristic(c->lt, p->product, p->a, p->b, p->c, p->c, wish, PROPOSALS, way, &found) ==
           0 &&
       found > 0 && choose_among(c, p, m, way, found);
  if (wish) c->api.cublasLtMatmulPreferenceDestroy(wish);
  return ok;
}

/* The library's A is our B and the other way round: rows of its C are our columns. */
static bool prepare(CudaDevice *c, CudaProduct *p, const MatmulCall *m) {
  const Shape *s = &p->shape;
  int scale = s->dtype == POLY_FLOAT64 ? LT_R_64F : LT_R_32F;
  return s->k > 0 && s->batch <= INT32_MAX &&
         c->api.cublasLtMatmulDescCreate(&p->product, compute_type(s->dtype), scale) == 0 &&
         operand(c, s, p->product, LT_TRANSPOSE_A, s->n, s->k, s->b_col, s->b_row, s->b_batch, &p->a) &&
         operand(c, s, p->product, LT_TRANSPOSE_B, s->k, s->m, s->a_col, s->a_row, s->a_batch, &p->b) &&
         operand(c, s, p->product, 0, s->n, s->m, 1, s->c_row, s->c_batch, &p->c) && choose(c, p, m);
}

/* ---- in parts ---- */

static const CudaProduct *find_call(CudaDevice *c, const MatmulCall *m);

enum { LONG_SUM = 8192, LEAST_PART = 512, PART_UNIT = 4, TILE_SIDE = 128, MOST_PARTS = 512 };

/* Into how many parts of the inner axis it might be worth cutting a product; 0: into none. As many as there are
 * multiprocessors, or `times` as many, each with its share of the results. */
static int64_t parts_for(const CudaDevice *c, const MatmulCall *m, int times) {
  double results = (double)m->m * (double)m->n, size = dtype_size(m->dtype);
  int64_t tiles = ((m->m + TILE_SIDE - 1) / TILE_SIDE) * ((m->n + TILE_SIDE - 1) / TILE_SIDE);
  bool wide = m->dtype == POLY_FLOAT32 || m->dtype == POLY_FLOAT64;
  if (!wide || m->batch != 1 || m->k < LONG_SUM || 2 * tiles > c->multiprocessors) return 0;
  int64_t most = MIN((int64_t)(CUDA_PARTS / (results * size)) - 1, m->k / LEAST_PART);
  int64_t parts = MIN(MIN((int64_t)times * c->multiprocessors / tiles, most), MOST_PARTS);
  return parts >= 4 ? parts : 0;
}

/* The product of `count` parts of `each` from k on, into the results in parts from `at` on. */
static int part_product(CudaDevice *c, const MatmulCall *m, int64_t k, int64_t each, int64_t count, int64_t at) {
  MatmulCall v = *m;
  size_t size = (size_t)dtype_size(m->dtype);
  if (!each) return 0;
  v.k = each;
  v.batch = count;
  v.a.offset += (size_t)(k * m->a_col) * size;
  v.b.offset += (size_t)(k * m->b_row) * size;
  v.a_batch = each * m->a_col;
  v.b_batch = each * m->b_row;
  v.c = (MemoryRef){(void *)(uintptr_t)c->workspace, CUDA_WORKSPACE + (size_t)(at * m->m * m->n) * size};
  v.c_row = m->n;
  v.c_batch = m->m * m->n;
  const CudaProduct *p = find_call(c, &v);
  return p && p->usable ? multiply(c, p, &v, &p->choice, c->workspace) : -1;
}

static int multiply_parts(CudaDevice *c, const MatmulCall *m, int64_t parts) {
  int64_t each = m->k / parts / PART_UNIT * PART_UNIT, rest = m->k - parts * each;
  int status = part_product(c, m, 0, each, parts, 0);
  if (!status) status = part_product(c, m, parts * each, rest, 1, parts);
  if (status) return status;
  return cuda_add_parts(c, m, c->workspace + CUDA_WORKSPACE, parts + (rest > 0)) ? 0 : -1;
}

/* The quickest number of parts; 0: the whole product is quicker. */
static int time_parts(CudaDevice *c, const CudaProduct *p, const MatmulCall *m) {
  CuEvent event[2] = {NULL, NULL};
  bool ok = c->api.cuEventCreate(&event[0], 0) == CU_OK && c->api.cuEventCreate(&event[1], 0) == CU_OK;
  double whole = ok ? time_of(c, p, m, (Way){.choice = &p->choice}, event, TIMED_RUNS) : -1, least = whole * least_gain;
  int best = 0;
  for (int times = 1; whole > 0 && times <= 4; times *= 2) {
    int64_t parts = parts_for(c, m, times);
    double ms = parts && parts != best ? time_of(c, p, m, (Way){.parts = parts}, event, TIMED_RUNS) : -1;
    if (ms <= 0 || ms >= least) continue;
    best = (int)parts;
    least = ms;
  }
  for (int k = 0; k < 2; k++)
    if (event[k]) c->api.cuEventDestroy_v2(event[k]);
  return best;
}

/* Is it a part of a product that is cut already? */
static bool is_part(const CudaDevice *c, const MatmulCall *m) {
  CuAddress room = c->workspace + CUDA_WORKSPACE, to = cuda_at(m->c);
  return to >= room && to < room + CUDA_PARTS;
}

/* A number that was kept for a product; `otherwise` if there is none. */
static int kept_number(CudaDevice *c, const char *dir, const CacheKey *key, int otherwise) {
  size_t bytes = 0;
  Base *b = ctx_base(c->device.ctx);
  int32_t number = otherwise;
  char *kept = cache_get(b, dir, key, &bytes);
  if (kept && bytes == sizeof number) memcpy(&number, kept, sizeof number);
  mem_free(b, kept, bytes);
  return number;
}

static bool parts_fit(const MatmulCall *m, int parts) {
  return (double)(parts + 1) * (double)(m->m * m->n) * dtype_size(m->dtype) <= CUDA_PARTS;
}

static int choose_parts(CudaDevice *c, const CudaProduct *p, const MatmulCall *m) {
  const char *dir = choices_dir(c), *env = getenv("POLY_CUDA_PARTS");
  if (is_part(c, m) || !p->usable || !parts_for(c, m, 1)) return 0;
  if (env) return atoi(env) > 0 ? (int)parts_for(c, m, atoi(env)) : 0;
  if (!dir) return 0;
  CacheKey key;
  choice_key(c, p, "parts of a matrix product", &key);
  int32_t parts = kept_number(c, dir, &key, -1);
  if (parts == 0 || (parts >= 4 && parts_fit(m, parts))) return parts;
  parts = time_parts(c, p, m);
  cache_put(dir, &key, &parts, sizeof parts, c->runtime->cache_limit);
  return parts;
}

static CudaProduct *find_product(CudaDevice *c, const Shape *s, const MatmulCall *m) {
  CudaProduct **head = &c->product[hash_bytes(s, sizeof *s, 0) % CUDA_PRODUCTS];
  for (CudaProduct *p = *head; p; p = p->next)
    if (!memcmp(&p->shape, s, sizeof *s)) return p;
  if (c->nproduct >= 8 * CUDA_PRODUCTS) forget_products(c);
  CudaProduct *p = mem_new(ctx_base(c->device.ctx), sizeof *p);
  if (!p) return NULL;
  p->shape = *s;
  p->usable = prepare(c, p, m);
  p->parts = choose_parts(c, p, m);
  p->next = *head;
  *head = p;
  c->nproduct++;
  return p;
}

static int64_t alignment(CuAddress a, CuAddress b, CuAddress d) {
  CuAddress all = a | b | d | 256;
  return (int64_t)(all & -all);
}

static const CudaProduct *find_call(CudaDevice *c, const MatmulCall *m) {
  Shape s = {.dtype = m->dtype, .m = m->m, .n = m->n, .k = m->k, .batch = m->batch};
  s.a_row = m->a_row, s.a_col = m->a_col, s.a_batch = m->a_batch;
  s.b_row = m->b_row, s.b_col = m->b_col, s.b_batch = m->b_batch;
  s.c_row = m->c_row, s.c_batch = m->c_batch;
  s.aligned = alignment(cuda_at(m->a), cuda_at(m->b), cuda_at(m->c));
  return find_product(c, &s, m);
}

/* Products that need little room to work in have a part of it each in turn, so that they can run side by side. */
static CuAddress room_for(CudaDevice *c, const CudaProduct *p, unsigned *rooms) {
  const size_t part = CUDA_WORKSPACE / CUDA_ROOMS;
  *rooms = p->choice.workspace ? (1u << CUDA_ROOMS) - 1 : 0;
  if (!*rooms || p->choice.workspace > part) return c->workspace;
  c->next_room = (c->next_room + 1) % CUDA_ROOMS;
  *rooms = 1u << c->next_room;
  return c->workspace + (CuAddress)c->next_room * part;
}

static bool run(CudaDevice *c, const CudaProduct *p, const MatmulCall *m) {
  unsigned rooms = (1u << CUDA_ALL_ROOMS) - 1;
  CuAddress room = p->parts ? c->workspace : room_for(c, p, &rooms);
  cuda_order_before(c, NULL, rooms);
  int status = multiply_by(c, p, m, (Way){&p->choice, p->parts}, room);
  cuda_order_after(c, rooms);
  return status == 0 ||
         base_fail(ctx_base(c->device.ctx), POLY_ERROR_RUNTIME,
                   "cuBLASLt failed (%d) at a product of (%lld, %lld) and (%lld, %lld) %s", status, (long long)m->m,
                   (long long)m->k, (long long)m->k, (long long)m->n, dtype_name(m->dtype));
}

static bool plain(CudaDevice *c, const MatmulCall *m) {
  cuda_order_before(c, NULL, 0);
  bool ok = cuda_matmul_plain(c, m);
  cuda_order_after(c, 0);
  return ok;
}

bool cuda_matmul(Device *d, const MatmulCall *m, int threads) {
  (void)threads;
  CudaDevice *c = (CudaDevice *)d;
  CudaEntry entry;
  if (!cuda_enter(c, &entry)) return false;
  const CudaProduct *p = c->lt && cuda_run_queues(c) ? find_call(c, m) : NULL;
  bool ok = !cuda_run_queues(c) || (p && p->usable ? run(c, p, m) : plain(c, m));
  cuda_leave(c, &entry);
  return ok;
}
