/* runtime.c: the devices of a context: which there are, which one is current, how many threads and bytes.
 *
 * In: POLY_DEVICE, POLY_THREADS, POLY_CACHE_DIR. Out: devices, opened when they are first asked for. Without
 * POLY_DEVICE the CPU is used if a compiler is found, else the interpreter, which needs none. */
#include "runtime/host.h"
#include "runtime/cpu.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
  const char *name;
  Device *(*open)(Runtime *r);
} known[] = {{"CPU", cpu_open}, {"INTERP", interp_open}};

/* ---- functions that the host devices share ---- */

static void *host_alloc(Device *d, size_t bytes) { return heap_alloc(&((Host *)d)->heap, bytes); }
static void host_free(Device *d, void *p, size_t bytes) { heap_free(&((Host *)d)->heap, p, bytes); }

static bool host_copy(Device *d, void *dst, const void *src, size_t bytes) {
  (void)d;
  if (bytes) memmove(dst, src, bytes);
  return true;
}

void host_init(Host *h, Runtime *r, const char *name, const Target *target) {
  h->heap.runtime = r;
  Device *d = &h->device;
  d->name = name;
  d->target = *target;
  d->ctx = r->ctx;
  d->alloc = host_alloc;
  d->free = host_free;
  d->copy_in = d->copy_out = host_copy;
  d->library = library_run;
}

bool host_index_error(PolyContext *ctx, int64_t index, int64_t size) {
  return base_fail(ctx_base(ctx), POLY_ERROR_INDEX,
                   "gather or scatter: index %lld is out of range for an axis of size %lld", (long long)index,
                   (long long)size);
}

/* ---- runtime ---- */

Device *runtime_open(Runtime *r, const char *name) {
  Base *b = ctx_base(r->ctx);
  for (int i = 0; i < r->ndevice; i++)
    if (!strcasecmp(r->device[i]->name, name)) return r->device[i];
  for (int i = 0; i < LEN(known); i++)
    if (!strcasecmp(known[i].name, name)) {
      if (r->ndevice == LEN(r->device)) return fail_null(b, POLY_ERROR_RUNTIME, "too many devices are open");
      Device *d = known[i].open(r);
      if (d) r->device[r->ndevice++] = d;
      return d;
    }
  char list[128] = "";
  for (int i = 0; i < LEN(known); i++)
    snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", known[i].name);
  return fail_null(b, POLY_ERROR_VALUE, "unknown device \"%s\"; known devices: %s", name, list);
}

static int default_threads(void) {
  const char *env = getenv("POLY_THREADS");
  int n = env ? atoi(env) : 0;
  return n > 0 ? MIN(n, 1024) : omp_get_num_procs();
}

/* The device to begin with. A name that is not known leaves its error in the context and the default in place, so that
 * a context can be made and its error read. */
static Device *default_device(Runtime *r) {
  const char *env = getenv("POLY_DEVICE");
  if (env && *env) {
    Device *d = runtime_open(r, env);
    if (d || ctx_base(r->ctx)->code == POLY_ERROR_MEMORY) return d;
  }
  const char *cc = getenv("CC"); /* set, but not there: the CPU's error says so */
  if ((cc && *cc) || cpu_has_compiler()) return runtime_open(r, "CPU");
  if (r->ctx->debug >= 1) fprintf(stderr, "polygrad: no C compiler was found, the interpreter runs the kernels\n");
  return runtime_open(r, "INTERP");
}

static void release_hook(PolyContext *ctx, struct PolyBuffer *b) {
  (void)ctx;
  buffer_release(b);
}

Runtime *runtime_new(PolyContext *ctx) {
  Base *b = ctx_base(ctx);
  Runtime *r = mem_new(b, sizeof *r);
  if (!r) return NULL;
  r->ctx = ctx;
  r->threads = default_threads();
  const char *poison = getenv("POLY_POISON");
  r->poison = poison && atoi(poison) > 0;
  bool clean = b->code == POLY_OK;
  r->cache_dir = cache_default_dir(b);
  if (!clean || b->code != POLY_ERROR_MEMORY) r->current = default_device(r);
  if (!r->current) {
    runtime_free(r);
    return NULL;
  }
  ctx->runtime = r;
  ctx->buffer_release = release_hook;
  return r;
}

void runtime_free(Runtime *r) {
  if (!r) return;
  if (r->ctx->runtime == r) r->ctx->runtime = NULL;
  for (int i = 0; i < r->ndevice; i++) r->device[i]->close(r->device[i]);
  mem_strfree(ctx_base(r->ctx), r->cache_dir);
  mem_free(ctx_base(r->ctx), r, sizeof *r);
}
