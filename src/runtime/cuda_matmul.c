/* cuda_matmul.c: matrix products by cuBLASLt.
 *
 * cuBLASLt works on columns: a row-major C[m,n] = A B is for it the product of B and A in that order, both as they lie.
 * How a product runs is chosen by the library once for a shape, the strides and the alignment of its operands, and
 * kept. float32 is computed in float32 unless POLY_TF32=1 allows less; the half types are summed in float32. */
#include "runtime/cuda.h"

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
  struct CudaProduct *next;
} CudaProduct;

bool cuda_matmul_open(CudaDevice *c) {
  if (!cuda_api_cublaslt(&c->api) || c->api.cublasLtCreate(&c->lt) != 0) {
    c->lt = NULL;
    return false;
  }
  return c->api.cuMemAlloc_v2(&c->workspace, CUDA_WORKSPACE) == CU_OK;
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

static bool choose(CudaDevice *c, CudaProduct *p) {
  LtPreference wish = NULL;
  size_t room = CUDA_WORKSPACE;
  uint32_t aligned = (uint32_t)p->shape.aligned;
  int found = 0;
  bool ok = c->api.cublasLtMatmulPreferenceCreate(&wish) == 0 &&
            c->api.cublasLtMatmulPreferenceSetAttribute(wish, LT_WORKSPACE, &room, sizeof room) == 0;
  for (int which = LT_ALIGNMENT_A; ok && which <= LT_ALIGNMENT_D; which++)
    ok = c->api.cublasLtMatmulPreferenceSetAttribute(wish, which, &aligned, sizeof aligned) == 0;
  ok = ok &&
       c->api.cublasLtMatmulAlgoGetHeuristic(c->lt, p->product, p->a, p->b, p->c, p->c, wish, 1, &p->choice, &found) ==
           0 &&
       found > 0 && p->choice.status == 0;
  if (wish) c->api.cublasLtMatmulPreferenceDestroy(wish);
  return ok;
}

/* The library's A is our B and the other way round: rows of its C are our columns. */
static bool prepare(CudaDevice *c, CudaProduct *p) {
  const Shape *s = &p->shape;
  int scale = s->dtype == POLY_FLOAT64 ? LT_R_64F : LT_R_32F;
  return s->k > 0 && s->batch <= INT32_MAX &&
         c->api.cublasLtMatmulDescCreate(&p->product, compute_type(s->dtype), scale) == 0 &&
         operand(c, s, p->product, LT_TRANSPOSE_A, s->n, s->k, s->b_col, s->b_row, s->b_batch, &p->a) &&
         operand(c, s, p->product, LT_TRANSPOSE_B, s->k, s->m, s->a_col, s->a_row, s->a_batch, &p->b) &&
         operand(c, s, p->product, 0, s->n, s->m, 1, s->c_row, s->c_batch, &p->c) && choose(c, p);
}

static CudaProduct *find_product(CudaDevice *c, const Shape *s) {
  CudaProduct **head = &c->product[hash_bytes(s, sizeof *s, 0) % CUDA_PRODUCTS];
  for (CudaProduct *p = *head; p; p = p->next)
    if (!memcmp(&p->shape, s, sizeof *s)) return p;
  if (c->nproduct >= 8 * CUDA_PRODUCTS) forget_products(c);
  CudaProduct *p = mem_new(ctx_base(c->device.ctx), sizeof *p);
  if (!p) return NULL;
  p->shape = *s;
  p->usable = prepare(c, p);
  p->next = *head;
  *head = p;
  c->nproduct++;
  return p;
}

static int64_t alignment(CuAddress a, CuAddress b, CuAddress d) {
  CuAddress all = a | b | d | 256;
  return (int64_t)(all & -all);
}

static bool run(CudaDevice *c, const CudaProduct *p, const MatmulCall *m) {
  static const float one_f = 1, zero_f = 0;
  static const double one_d = 1, zero_d = 0;
  bool wide = m->dtype == POLY_FLOAT64;
  void *d = (void *)(uintptr_t)cuda_at(m->c);
  int status =
      c->api.cublasLtMatmul(c->lt, p->product, wide ? (const void *)&one_d : &one_f, (void *)(uintptr_t)cuda_at(m->b),
                            p->a, (void *)(uintptr_t)cuda_at(m->a), p->b, wide ? (const void *)&zero_d : &zero_f, d,
                            p->c, d, p->c, &p->choice.algorithm, (void *)(uintptr_t)c->workspace, CUDA_WORKSPACE, c->stream);
  return status == 0 ||
         base_fail(ctx_base(c->device.ctx), POLY_ERROR_RUNTIME,
                   "cuBLASLt failed (%d) at a product of (%lld, %lld) and (%lld, %lld) %s", status, (long long)m->m,
                   (long long)m->k, (long long)m->k, (long long)m->n, dtype_name(m->dtype));
}

bool cuda_matmul(Device *d, const MatmulCall *m, int threads) {
  (void)threads;
  CudaDevice *c = (CudaDevice *)d;
  CudaEntry entry;
  if (!cuda_enter(c, &entry)) return false;
  Shape s = {.dtype = m->dtype, .m = m->m, .n = m->n, .k = m->k, .batch = m->batch};
  s.a_row = m->a_row, s.a_col = m->a_col, s.a_batch = m->a_batch;
  s.b_row = m->b_row, s.b_col = m->b_col, s.b_batch = m->b_batch;
  s.c_row = m->c_row, s.c_batch = m->c_batch;
  s.aligned = alignment(cuda_at(m->a), cuda_at(m->b), cuda_at(m->c));
  const CudaProduct *p = c->lt && cuda_run_queues(c) ? find_product(c, &s) : NULL;
  bool ok = !cuda_run_queues(c) || (p && p->usable ? run(c, p, m) : cuda_matmul_plain(c, m));
  cuda_leave(c, &entry);
  return ok;
}
