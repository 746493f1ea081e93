/* cuda.c: the CUDA device: a card is opened, kernels are launched on its stream, what goes wrong becomes an error text.
 *
 * Nothing here waits but what has to: results are waited for where they are read (cuda_memory.c). An index error that a
 * kernel finds is written to a word of device memory, which is read together with results. A fault in a kernel ends the
 * card's context: the device is lost from then on and says so; other devices of the process go on. */
#include "runtime/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- errors ---- */

static const char *error_name(CudaDevice *c, int status) {
  const char *text = NULL;
  return c->api.cuGetErrorName(status, &text) == CU_OK && text ? text : "unknown error";
}

static const char *error_text(CudaDevice *c, int status) {
  const char *text = NULL;
  return c->api.cuGetErrorString(status, &text) == CU_OK && text ? text : "unknown error";
}

/* Errors after which a context can do nothing more: faults of kernels and of the hardware. */
static bool is_fatal(int status) {
  return status == 214 || status == 220 || (status >= 700 && status <= 702) ||
         (status >= 709 && status <= 721 && status != 712 && status != 713);
}

static bool fail_lost(const CudaDevice *c) {
  return base_fail(ctx_base(c->device.ctx), POLY_ERROR_RUNTIME,
                   "%s (%s) failed while %s; its context is lost, and with it the values that only it held. Other "
                   "devices can still be used; start the program again to use this one",
                   c->name, c->card, c->lost);
}

bool cuda_ok(CudaDevice *c, int status, const char *what) {
  if (status == CU_OK) return true;
  Base *b = ctx_base(c->device.ctx);
  if (is_fatal(status) && !c->lost[0])
    snprintf(c->lost, sizeof c->lost, "%s: %s (%s)", what, error_name(c, status), error_text(c, status));
  if (c->lost[0]) return fail_lost(c);
  if (status == CU_OUT_OF_MEMORY)
    return base_fail(b, POLY_ERROR_MEMORY, "out of memory on %s (%s) while %s", c->name, c->card, what);
  return base_fail(b, POLY_ERROR_RUNTIME, "%s (%s) failed while %s: %s (%s)", c->name, c->card, what,
                   error_name(c, status), error_text(c, status));
}

bool cuda_enter(CudaDevice *c, CudaEntry *e) {
  *e = (CudaEntry){0};
  if (c->lost[0]) return fail_lost(c);
  if (c->pid != (int)getpid())
    return base_fail(ctx_base(c->device.ctx), POLY_ERROR_RUNTIME,
                     "%s was opened before this process was forked, and CUDA cannot be used across a fork: start "
                     "processes by spawning, or use the CPU in them",
                     c->name);
  if (!cuda_ok(c, c->api.cuCtxGetCurrent(&e->before), "asking for the context")) return false;
  e->changed = e->before != c->context;
  return !e->changed || cuda_ok(c, c->api.cuCtxSetCurrent(c->context), "setting the context");
}

void cuda_leave(CudaDevice *c, const CudaEntry *e) {
  if (e->changed) c->api.cuCtxSetCurrent(e->before);
}

bool cuda_queue_word(CudaDevice *c) {
  return cuda_ok(c, c->api.cuMemcpyDtoHAsync_v2(c->error_copy, c->error, GPU_ERROR_WORDS * sizeof(int64_t), c->stream),
                 "copying from the card");
}

bool cuda_check_word(CudaDevice *c) {
  const int64_t *w = c->error_copy;
  int64_t kind = w[0], index = w[1], size = w[2], place = w[3];
  if (!kind) return true;
  PolyContext *ctx = c->device.ctx;
  memset(c->error_copy, 0, GPU_ERROR_WORDS * sizeof(int64_t));
  if (!cuda_ok(c, c->api.cuMemsetD8Async(c->error, 0, GPU_ERROR_WORDS * sizeof(int64_t), c->stream), "clearing memory"))
    return false;
  if (kind == CUDA_INDEX) return host_index_error(ctx, index, size);
  if (kind == CUDA_ROOM)
    return base_fail(ctx_base(ctx), POLY_ERROR_VALUE, "nonzero: %lld values do not fit in %lld places",
                     (long long)index, (long long)size);
  return base_fail(ctx_base(ctx), POLY_ERROR_INDEX,
                   "%s: index %lld at position %lld is out of range for an axis of size %lld",
                   kind == CUDA_COUNT ? "bincount" : "scatter", (long long)index, (long long)place, (long long)size);
}

bool cuda_finish(CudaDevice *c) {
  return cuda_queue_word(c) && cuda_ok(c, c->api.cuStreamSynchronize(c->stream), "running kernels") &&
         cuda_check_word(c);
}

static bool cuda_wait(Device *d) {
  CudaDevice *c = (CudaDevice *)d;
  CudaEntry entry;
  if (!cuda_enter(c, &entry)) return false;
  /* of other libraries' streams as well, which may have written what was borrowed of them */
  bool ok = cuda_finish(c) && cuda_ok(c, c->api.cuCtxSynchronize(), "waiting for the card");
  cuda_leave(c, &entry);
  return ok;
}

static bool read_timer(CudaDevice *c, double *ms) {
  float elapsed = 0;
  if (!c->from && (!cuda_ok(c, c->api.cuEventCreate(&c->from, 0), "making an event") ||
                   !cuda_ok(c, c->api.cuEventCreate(&c->to, 0), "making an event")))
    return false;
  if (!ms) return cuda_ok(c, c->api.cuEventRecord(c->from, c->stream), "recording an event");
  if (!cuda_ok(c, c->api.cuEventRecord(c->to, c->stream), "recording an event") || !cuda_finish(c) ||
      !cuda_ok(c, c->api.cuEventElapsedTime(&elapsed, c->from, c->to), "reading a time"))
    return false;
  *ms = elapsed;
  return true;
}

static bool cuda_timer(Device *d, double *ms) {
  CudaDevice *c = (CudaDevice *)d;
  CudaEntry entry;
  if (!cuda_enter(c, &entry)) return false;
  bool ok = read_timer(c, ms);
  cuda_leave(c, &entry);
  return ok;
}

/* ---- kernels ---- */

bool cuda_launch(CudaDevice *c, const CudaLaunch *l, const char *name) {
  int status = c->api.cuLaunchKernel(l->function, l->grid, 1, 1, l->block, 1, 1, l->room, c->stream, l->params, NULL);
  if (status == CU_OK) return true;
  char what[256];
  snprintf(what, sizeof what, "launching %s with %u blocks of %u threads", name, l->grid, l->block);
  return cuda_ok(c, status, what);
}

static void cuda_program_free(Program *p) {
  if (!p) return;
  CudaProgram *cp = (CudaProgram *)p;
  CudaDevice *c = (CudaDevice *)p->device;
  PolyContext *ctx = p->device->ctx;
  Base *b = ctx_base(ctx);
  CudaEntry entry;
  if (cp->module && !c->lost[0] && c->pid == (int)getpid() && cuda_enter(c, &entry)) {
    c->api.cuStreamSynchronize(c->stream); /* its kernels may still be queued */
    cuda_forget_runs(cp);
    c->api.cuModuleUnload(cp->module);
    cuda_leave(c, &entry);
  }
  size_t n = (size_t)MAX(p->nkernel, 1);
  for (int k = 0; cp->kernel && k < p->nkernel; k++) gpu_kernel_free(ctx, &cp->kernel[k]);
  mem_free(b, cp->kernel, n * sizeof *cp->kernel);
  mem_free(b, cp->function, n * sizeof *cp->function);
  mem_free(b, cp->params, (size_t)cp->room * sizeof *cp->params);
  mem_free(b, cp->word, (size_t)cp->room * sizeof *cp->word);
  mem_free(b, cp, sizeof *cp);
}

static bool read_kernels(CudaProgram *cp, int n, const Linear *const *kernel) {
  PolyContext *ctx = cp->program.device->ctx;
  Base *b = ctx_base(ctx);
  cp->room = 1;
  cp->kernel = mem_new(b, (size_t)MAX(n, 1) * sizeof *cp->kernel);
  cp->function = mem_new(b, (size_t)MAX(n, 1) * sizeof *cp->function);
  if (!cp->kernel || !cp->function) return false;
  for (int k = 0; k < n; k++) {
    if (!gpu_kernel_new(ctx, &cp->kernel[k], n, kernel, k)) return false;
    cp->room = MAX(cp->room, cp->kernel[k].narg + cp->kernel[k].nvar + 1);
  }
  cp->params = mem_new(b, (size_t)cp->room * sizeof *cp->params);
  cp->word = mem_new(b, (size_t)cp->room * sizeof *cp->word);
  if (!cp->params || !cp->word) return false;
  for (int i = 0; i < cp->room; i++) cp->params[i] = &cp->word[i];
  return true;
}

static Program *cuda_compile(Device *d, const char *source, int n, const Linear *const *kernel) {
  CudaDevice *c = (CudaDevice *)d;
  CudaEntry entry;
  if (!cuda_enter(c, &entry)) return NULL;
  CudaProgram *cp = mem_new(ctx_base(d->ctx), sizeof *cp);
  bool ok = cp != NULL;
  if (ok) cp->program = (Program){.device = d, .nkernel = n};
  ok = ok && read_kernels(cp, n, kernel) && (n == 0 || (cp->module = cuda_compile_text(c, source)));
  for (int k = 0; ok && k < n; k++) {
    ok = cuda_ok(c, c->api.cuModuleGetFunction(&cp->function[k], cp->module, cp->kernel[k].name), "loading kernels");
    if (ok && cp->kernel[k].room)
      ok = cuda_ok(c, c->api.cuFuncSetAttribute(cp->function[k], CU_FUNCTION_SHARED, (int)cp->kernel[k].room),
                   "asking for local memory");
  }
  cuda_leave(c, &entry);
  if (ok) return &cp->program;
  if (cp) cuda_program_free(&cp->program);
  return NULL;
}

static bool cuda_device_launch(Program *p, int k, const MemoryRef *args, const int64_t *vars, int threads) {
  (void)threads;
  CudaProgram *cp = (CudaProgram *)p;
  CudaDevice *c = (CudaDevice *)p->device;
  const GpuKernel *kernel = &cp->kernel[k];
  int64_t blocks;
  if (!gpu_blocks(kernel, vars, &blocks)) return false;
  if (blocks > INT32_MAX)
    return base_fail(ctx_base(p->device->ctx), POLY_ERROR_VALUE, "kernel %s has %lld blocks, more than %s can run",
                     kernel->name, (long long)blocks, c->name);
  int n = 0;
  for (int i = 0; i < kernel->narg; i++) {
    cp->word[n++] = cuda_at(args[i]);
    if (kernel->strips && cp->word[i] % STRIP_BYTES)
      return base_fail(ctx_base(p->device->ctx), POLY_ERROR_VALUE,
                       "kernel %s: an argument does not begin at a multiple of %d bytes", kernel->name, STRIP_BYTES);
  }
  for (int i = 0; i < kernel->nvar; i++) cp->word[n++] = (uint64_t)vars[i];
  cp->word[n++] = c->error;
  CudaLaunch l = {.function = cp->function[k], .grid = (unsigned)blocks, .block = (unsigned)gpu_threads(kernel)};
  l.room = (unsigned)kernel->room;
  l.nword = n;
  l.params = cp->params;
  l.word = cp->word;
  CudaEntry entry;
  if (!cuda_enter(c, &entry)) return false;
  bool ok = c->run ? cuda_run_launch(c, &l, kernel) : !blocks || cuda_launch(c, &l, kernel->name);
  cuda_leave(c, &entry);
  return ok;
}

/* ---- opening and closing ---- */

static void cuda_close(Device *d) {
  CudaDevice *c = (CudaDevice *)d;
  CudaEntry entry;
  bool clean = ctx_base(d->ctx)->code == POLY_OK;
  if (c->context && cuda_enter(c, &entry)) {
    if (c->stream) c->api.cuStreamSynchronize(c->stream);
    cuda_library_close(c);
    cuda_matmul_close(c);
    cuda_memory_close(c);
    if (c->from) c->api.cuEventDestroy_v2(c->from);
    if (c->to) c->api.cuEventDestroy_v2(c->to);
    if (c->error) c->api.cuMemFree_v2(c->error);
    if (c->error_copy) c->api.cuMemFreeHost(c->error_copy);
    if (c->stream) c->api.cuStreamDestroy_v2(c->stream);
    cuda_leave(c, &entry);
    c->api.cuDevicePrimaryCtxRelease_v2(c->handle);
  }
  if (clean) base_clear(ctx_base(d->ctx)); /* a lost device is closed too */
  cuda_api_close(&c->api);
  mem_free(ctx_base(d->ctx), c, sizeof *c);
}

/* The newest architecture that NVRTC knows and the card runs: its own as a binary, an older one as PTX. */
static bool choose_architecture(CudaDevice *c) {
  int major = 0, minor = 0, n = 0, known[128], best = 0;
  if (!cuda_ok(c, c->api.cuDeviceGetAttribute(&major, CU_MAJOR, c->handle), "asking for its architecture") ||
      !cuda_ok(c, c->api.cuDeviceGetAttribute(&minor, CU_MINOR, c->handle), "asking for its architecture"))
    return false;
  int own = 10 * major + minor;
  if (c->api.nvrtcGetNumSupportedArchs(&n) != 0 || n > LEN(known) || c->api.nvrtcGetSupportedArchs(known) != 0) n = 0;
  for (int i = 0; i < n; i++)
    if (known[i] <= own) best = MAX(best, known[i]);
  c->arch = best;
  c->binary = best == own;
  c->own = c->binary && best == 90 && c->api.compiler[0] >= 12;
  snprintf(c->architecture, sizeof c->architecture, "%s_%d%s", c->binary ? "sm" : "compute", best, c->own ? "a" : "");
  snprintf(c->about, sizeof c->about, "CUDA %s NVRTC %d.%d", c->architecture, c->api.compiler[0], c->api.compiler[1]);
  return best || base_fail(ctx_base(c->device.ctx), POLY_ERROR_RUNTIME,
                           "NVRTC %d.%d cannot compile for %s (architecture %d.%d)", c->api.compiler[0],
                           c->api.compiler[1], c->card, major, minor);
}

/* The card by its number. */
static bool find_card(CudaDevice *c) {
  int n = 0;
  Base *b = ctx_base(c->device.ctx);
  if (!cuda_ok(c, c->api.cuDeviceGetCount(&n), "counting cards")) return false;
  if (c->number >= n)
    return base_fail(b, POLY_ERROR_VALUE, "there is no %s: this machine has %d GPU%s that CUDA can use", c->name, n,
                     n == 1 ? "" : "s");
  return cuda_ok(c, c->api.cuDeviceGet(&c->handle, c->number), "opening a card") &&
         cuda_ok(c, c->api.cuDeviceGetName(c->card, sizeof c->card, c->handle), "asking for its name") &&
         cuda_ok(c, c->api.cuDeviceGetAttribute(&c->multiprocessors, CU_MULTIPROCESSORS, c->handle),
                 "asking for its multiprocessors");
}

static bool open_context(CudaDevice *c) {
  void *copy = NULL;
  const size_t bytes = GPU_ERROR_WORDS * sizeof(int64_t);
  CudaEntry entry;
  if (!cuda_ok(c, c->api.cuDevicePrimaryCtxRetain(&c->context, c->handle), "making a context") ||
      !cuda_enter(c, &entry))
    return false;
  bool ok = cuda_ok(c, c->api.cuStreamCreate(&c->stream, CU_STREAM_NON_BLOCKING), "making a stream") &&
            cuda_ok(c, c->api.cuMemAlloc_v2(&c->error, bytes), "allocating memory") &&
            cuda_ok(c, c->api.cuMemHostAlloc(&copy, bytes, 0), "allocating page-locked memory") &&
            cuda_ok(c, c->api.cuMemsetD8Async(c->error, 0, bytes, c->stream), "clearing memory");
  c->error_copy = copy;
  if (ok) cuda_matmul_open(c);
  cuda_leave(c, &entry);
  return ok;
}

static bool open_libraries(CudaDevice *c) {
  char message[512];
  Base *b = ctx_base(c->device.ctx);
  if (!cuda_api_driver(&c->api, message, sizeof message) || !cuda_api_nvrtc(&c->api, message, sizeof message))
    return base_fail(b, POLY_ERROR_RUNTIME, "%s cannot be used: %s", c->name, message);
  return true;
}

/* What the card says of itself. */
static void fill_target(CudaDevice *c) {
  Target *t = &c->device.target;
  int value = 0;
  *t = cuda_target;
  if (c->lt) t->matmul = 1u << POLY_FLOAT32 | 1u << POLY_FLOAT64;
  const char *work = getenv("POLY_PRODUCT_WORK"), *rounded = getenv("POLY_TF32");
  if (work) t->product_work = atoll(work);
  /* matrix instructions came with this architecture; with factors that may be rounded the library's are best */
  if (c->lt && !work && (c->arch < 80 || (rounded && atoi(rounded) > 0))) t->product_warps = 0;
  target_split_products(t, c->own);
  if (c->api.cuDeviceGetAttribute(&value, CU_L2_BYTES, c->handle) == CU_OK && value > 0) t->cache_bytes[1] = value;
}

Device *cuda_open(Runtime *r, int number) {
  CudaDevice *c = mem_new(ctx_base(r->ctx), sizeof *c);
  if (!c) return NULL;
  Device *d = &c->device;
  c->runtime = r;
  c->number = number;
  c->pid = (int)getpid();
  snprintf(c->name, sizeof c->name, number ? "CUDA:%d" : "CUDA", number);
  d->name = c->name;
  d->ctx = r->ctx;
  d->memory = &c->memory.memory;
  d->close = cuda_close;
  if (!open_libraries(c) || !find_card(c) || !choose_architecture(c) || !open_context(c) || !cuda_memory_open(c) ||
      !runtime_add_memory(r, d->memory)) {
    cuda_close(d);
    return NULL;
  }
  fill_target(c);
  d->card = c->card;
  d->needs_source = true;
  d->compile = cuda_compile;
  d->program_free = cuda_program_free;
  d->launch = cuda_device_launch;
  d->matmul = cuda_matmul;
  d->library = cuda_library;
  d->timer = cuda_timer;
  d->wait = cuda_wait;
  d->begin = cuda_begin;
  d->end = cuda_end;
  d->touches = cuda_touches;
  return d;
}
