/* matmul_cpu.c: the CPU's matrix product. float32 goes to oneDNN if that library is on the machine (it is loaded when
 * first needed and nothing of it is needed to build), else, and for float64, to the blocked routine; other dtypes to
 * plain loops. Operands that are nearly all zeros have a routine of their own.
 *
 * In: a MatmulCall with any strides. Out: C, the same bits for any number of threads. */
#include "runtime/cpu.h"

#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const char *const dnnl_names[] = {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"};

static SgemmFn find_sgemm(CpuDevice *cpu) {
  if (cpu->dnnl_looked) return cpu->sgemm;
  cpu->dnnl_looked = true;
  const char *wanted = getenv("POLY_ONEDNN");
  if (wanted && !strcmp(wanted, "0")) return NULL;
  for (int i = 0; i < LEN(dnnl_names) && !cpu->sgemm; i++) {
    /* never unmapped: its threads and code generators do not expect to go */
    cpu->dnnl = dlopen(dnnl_names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!cpu->dnnl) continue;
    void *symbol = dlsym(cpu->dnnl, "dnnl_sgemm");
    memcpy(&cpu->sgemm, &symbol, sizeof symbol); /* ISO C has no cast between object and function pointers */
    if (!cpu->sgemm) cpu_matmul_close(cpu);
  }
  return cpu->sgemm;
}

void cpu_matmul_close(CpuDevice *cpu) {
  if (cpu->dnnl) dlclose(cpu->dnnl);
  cpu->dnnl = NULL;
}

/* A matrix of rows x cols with strides, as BLAS sees it: 'N' rows of contiguous elements, 'T' columns. Where a size is
 * 1 its stride means nothing. False: neither (a broadcast, say). */
static bool as_blas(int64_t rows, int64_t cols, int64_t row, int64_t col, char *trans, int64_t *ld) {
  if ((col == 1 || cols == 1) && (row >= cols || rows == 1)) {
    *trans = 'N';
    *ld = MAX(row, cols);
    if (rows == 1) *ld = cols;
    return true;
  }
  if ((row == 1 || rows == 1) && (col >= rows || cols == 1)) {
    *trans = 'T';
    *ld = cols == 1 ? rows : MAX(col, rows);
    return true;
  }
  return false;
}

/* One matrix of many that share a right side is a taller matrix. */
static MatmulCall merge_batch(const MatmulCall *m) {
  MatmulCall c = *m;
  if (c.batch > 1 && c.b_batch == 0 && c.a_batch == c.m * c.a_row && c.c_batch == c.m * c.c_row) {
    c.m *= c.batch;
    c.batch = 1;
  }
  return c;
}

/* Kernels of oneDNN 2 do not keep the stack as a signal handler needs it: a signal that is handled on a thread inside
 * them (Ctrl-C in Python, a timer of a profiler) writes over other memory of the program. So signals wait until a
 * product is done, on each thread that has a part of it; those that the program causes itself come as ever. */
static _Thread_local sigset_t signals_before;
static _Thread_local int holding; /* depth: a thread may hold them for all products of a batch, and for each */

static void hold_signals(void) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
  if (holding++) return;
  sigset_t others;
  sigfillset(&others);
  for (int i = 0; i < LEN(own); i++) sigdelset(&others, own[i]);
  pthread_sigmask(SIG_BLOCK, &others, &signals_before);
}

static void let_signals(void) {
  if (holding && !--holding) pthread_sigmask(SIG_SETMASK, &signals_before, NULL);
}

enum { PIECE_ROWS = 64 };

/* One product, its rows distributed over the threads: each row is computed as on one thread, and the library, on one
 * thread inside a parallel region, is quicker than its own way of sharing. */
static int run_rows(SgemmFn sgemm, const MatmulCall *m, char ta, int64_t lda, char tb, int64_t ldb, int64_t ldc,
                    int threads) {
  int64_t each = ((m->m + threads - 1) / threads + 15) / 16 * 16;
  int bad = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(| : bad)
  for (int p = 0; p < threads; p++) {
    int64_t first = p * each, rows = MIN(each, m->m - first);
    if (rows <= 0) continue;
    hold_signals();
    bad |= sgemm(ta, tb, rows, m->n, m->k, 1.0f, (const float *)host_at(m->a) + first * m->a_row, lda, host_at(m->b),
                 ldb, 0.0f, (float *)host_at(m->c) + first * m->c_row, ldc);
    let_signals();
  }
  return bad;
}

/* The library's own threads are those that a region of ours has. */
static void hold_on_threads(int threads, void (*change)(void)) {
  if (threads > 1) {
#pragma omp parallel num_threads(threads)
    change();
  } else {
    change();
  }
}

static bool run_sgemm(const Target *t, SgemmFn sgemm, const MatmulCall *m, int threads) {
  char ta, tb;
  int64_t lda, ldb, ldc = m->m == 1 ? m->n : m->c_row;
  if (!as_blas(m->m, m->k, m->a_row, m->a_col, &ta, &lda) || !as_blas(m->k, m->n, m->b_row, m->b_col, &tb, &ldb) ||
      ldc < m->n)
    return false;
  const float *a = host_at(m->a), *b = host_at(m->b);
  float *c = host_at(m->c);
  double work = (double)m->m * (double)m->n * (double)m->k;
  bool apart = m->batch > 1 && (work < 2e6 || m->batch >= 4 * threads) && work * (double)m->batch > 5e4;
  if (m->batch == 1) threads = threads_worth(threads, work, t->threads.products_library);
  int bad = 0, before = omp_get_max_threads();
  omp_set_num_threads(threads);
  if (m->batch == 1 && threads > 1 && m->m >= PIECE_ROWS * threads) {
    bad = run_rows(sgemm, m, ta, lda, tb, ldb, ldc, threads);
  } else if (apart && threads > 1) {
    /* small matrices: each on one thread; the library stays on one thread inside a parallel region */
#pragma omp parallel num_threads(threads) reduction(| : bad)
    {
      hold_signals();
#pragma omp for schedule(static)
      for (int64_t i = 0; i < m->batch; i++)
        bad |= sgemm(ta, tb, m->m, m->n, m->k, 1.0f, a + i * m->a_batch, lda, b + i * m->b_batch, ldb, 0.0f,
                     c + i * m->c_batch, ldc);
      let_signals();
    }
  } else {
    hold_on_threads(threads, hold_signals);
    /* in no parallel construct, not even a serialised one: there the library's threads would be new each time */
    for (int64_t i = 0; i < m->batch; i++)
      bad |= sgemm(ta, tb, m->m, m->n, m->k, 1.0f, a + i * m->a_batch, lda, b + i * m->b_batch, ldb, 0.0f,
                   c + i * m->c_batch, ldc);
    hold_on_threads(threads, let_signals);
  }
  omp_set_num_threads(before);
  return !bad;
}

/* A long sum into few results, of two factors that both run along it: there oneDNN 2 (AVX-512) takes 1.1 to 2.5
 * times as long as the blocked routine: 64 x 4096 x 64 0.96 ms for 0.39, 128 x 2048 x 128 0.82 ms for 0.72. Where both
 * have a row for each k: 64 x 169343 x 128 15 ms for 11, 40 x 169343 x 64 5.4 ms for 4.1. With other layouts, and with
 * more results, the library is up to a tenth faster. */
static bool blocked_is_faster(const MatmulCall *m) {
  enum { FEW = 128, LONG = 1000 };
  bool along = (m->a_col == 1 && m->b_row == 1 && m->b_col != 1) || matmul_blocked_along(m);
  return along && m->k >= LONG && m->m <= FEW && m->n <= FEW && MIN(m->m, m->n) >= FEW / 4;
}

/* By oneDNN, or where that is missing or slower by the blocked routine. */
static bool run_dense(Device *d, SgemmFn sgemm, const MatmulCall *m, int threads) {
  if (sgemm && !blocked_is_faster(m)) return run_sgemm(&d->target, sgemm, m, threads);
  double work = (double)m->m * (double)m->n * (double)m->k * (double)m->batch;
  return matmul_blocked(d->memory, m, threads_worth(threads, work, d->target.threads.products_blocked));
}

enum { LONG_PIECES = 8, LONG_SUM = 16384, SMALL_RESULT = 65536 };

/* Products of LONG_PIECES pieces of the inner axis from `first` on, `each` long, are added to sum; a shorter rest comes
 * last. part has room for the pieces. */
static bool add_pieces(Device *d, SgemmFn sgemm, const MatmulCall *m, int64_t first, int64_t each, int64_t pieces,
                       float *part, double *sum, int threads) {
  MatmulCall p = *m;
  int64_t size = m->m * m->n;
  p.c = (MemoryRef){part, 0};
  p.a.offset += (size_t)(first * m->a_col) * sizeof(float);
  p.b.offset += (size_t)(first * m->b_row) * sizeof(float);
  p.k = each;
  p.batch = pieces;
  p.a_batch = each * m->a_col;
  p.b_batch = each * m->b_row;
  p.c_batch = size;
  if (!run_dense(d, sgemm, &p, threads)) return false;
  for (int64_t k = 0; k < pieces; k++)
    for (int64_t i = 0; i < size; i++) sum[i] += (double)part[k * size + i];
  return true;
}

/* A long sum into a small result, as a weight's gradient is: the sum is cut into pieces whose length depends on its
 * length alone. They run side by side and are added in order, in float64, so the number of threads changes nothing and
 * no digits are lost. False: not this case, or no memory for the pieces. */
static bool run_long(Device *d, SgemmFn sgemm, const MatmulCall *m, int threads) {
  int64_t size = m->m * m->n, each = MIN(m->k / LONG_PIECES, (int64_t)LONG_SUM), at = 0;
  if (m->batch != 1 || m->k < LONG_SUM || size > SMALL_RESULT || m->c_row != m->n) return false;
  size_t sums = (size_t)size * sizeof(double), bytes = sums + (size_t)(LONG_PIECES * size) * sizeof(float);
  double *sum = memory_alloc(d->memory, bytes);
  if (!sum) {
    base_clear(ctx_base(d->ctx));
    return false;
  }
  memset(sum, 0, sums);
  float *part = (float *)(sum + size), *c = host_at(m->c);
  bool ok = true;
  for (; ok && m->k - at >= each; at += each * LONG_PIECES)
    ok = add_pieces(d, sgemm, m, at, each, MIN((int64_t)LONG_PIECES, (m->k - at) / each), part, sum, threads);
  at = m->k / each * each;
  if (ok && at < m->k) ok = add_pieces(d, sgemm, m, at, m->k - at, 1, part, sum, 1);
  for (int64_t i = 0; ok && i < size; i++) c[i] = (float)sum[i];
  memory_free(d->memory, sum, bytes);
  return ok;
}

static void fill_zero(const MatmulCall *m) {
  size_t size = (size_t)dtype_size(m->dtype);
  for (int64_t i = 0; i < m->batch * m->m; i++)
    memset((char *)host_at(m->c) + (size_t)(i / m->m * m->c_batch + i % m->m * m->c_row) * size, 0,
           (size_t)m->n * size);
}

size_t cpu_matmul_room(const Device *d, const MatmulCall *m) {
  if (m->dtype == POLY_FLOAT32) find_sgemm((CpuDevice *)(uintptr_t)d); /* workers do not look for it */
  MatmulCall merged = merge_batch(m);
  return matmul_blocked_room(&merged);
}

bool cpu_matmul(Device *d, const MatmulCall *call, int threads) {
  MatmulCall m = merge_batch(call);
  CpuDevice *cpu = (CpuDevice *)d;
  if (m.m == 0 || m.n == 0 || m.batch == 0) return true;
  if (m.k == 0) {
    fill_zero(&m);
    return true;
  }
  threads = m.worker ? 1 : MAX(threads, 1);
  if (m.worker) {
    if (m.dtype == POLY_FLOAT32 && cpu->sgemm && run_sgemm(&d->target, cpu->sgemm, &m, 1)) return true;
    return matmul_blocked(d->memory, &m, 1);
  }
  if (matmul_zeros(d, &m, threads)) return true;
  if (m.dtype == POLY_FLOAT32) {
    SgemmFn sgemm = find_sgemm((CpuDevice *)d);
    if (run_long(d, sgemm, &m, threads) || (sgemm && run_dense(d, sgemm, &m, threads))) return true;
  }
  if (m.dtype == POLY_FLOAT32 || m.dtype == POLY_FLOAT64) return run_dense(d, NULL, &m, threads);
  double work = (double)m.m * (double)m.n * (double)m.k * (double)m.batch;
  matmul_naive(&m, threads_worth(threads, work, d->target.threads.products_plain));
  return true;
}
