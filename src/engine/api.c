/* api.c: contexts: making and freeing them, their errors, devices, switches and counters. */
#include "engine/engine.h"

#include <stdlib.h>
#include <unistd.h>

static int debug_from_environment(void) {
  const char *text = getenv("DEBUG");
  return text ? atoi(text) : 0;
}

static bool set_in_environment(const char *name) {
  const char *text = getenv(name);
  return text && atoi(text);
}

PolyContext *poly_context_new_with(const PolyAllocator *allocator) {
  Base base = {0};
  if (allocator) base.alloc = (Allocator){allocator->realloc, allocator->user};
  PolyContext *ctx = mem_new(&base, sizeof *ctx);
  if (!ctx) return NULL;
  ctx->base = base;
  ctx->debug = debug_from_environment();
  ctx->verify = set_in_environment("POLY_VERIFY");
  if (ctx_init(ctx) && (ctx->runtime = runtime_new(ctx)) && engine_new(ctx)) {
    const char *megabytes = getenv("POLY_KEEP");
    ctx->engine->exact = set_in_environment("POLY_EXACT");
    ctx->engine->unrolled = set_in_environment("POLY_UNROLL");
    ctx->engine->recalls = !set_in_environment("POLY_NO_RECALL");
    ctx->engine->keep_limit = (size_t)MAX(megabytes ? atoll(megabytes) : 256, 0) << 20;
    return ctx;
  }
  poly_context_free(ctx);
  return NULL;
}

PolyContext *poly_context_new(void) { return poly_context_new_with(NULL); }

/* Handles first, then plans, then the nodes that are left; the memory of nodes goes back to devices, so these close
 * last. */
void poly_context_free(PolyContext *ctx) {
  if (!ctx) return;
  ctx->interrupt = NULL;
  if (ctx->engine) {
    poly_trace_end(ctx);
    steps_free(ctx);
    for (PolyTensor *t = ctx->tensors; t; t = t->next) t->grad = NULL; /* gradients are in the list themselves */
    while (ctx->tensors) poly_free(ctx->tensors);
    engine_drop_plans(ctx);
  }
  if (ctx->graphs) ctx->graphs_free(ctx);
  ctx_drop(ctx);
  engine_free(ctx);
  if (ctx->runtime) runtime_free(ctx->runtime);
  if (ctx->guard) ctx->guard_free(ctx);
  Base base = ctx->base;
  mem_free(&base, ctx, sizeof *ctx);
}

const char *poly_version(void) { return POLY_VERSION; }

PolyStatus poly_error_code(const PolyContext *ctx) { return ctx ? ctx->base.code : POLY_ERROR_MEMORY; }
const char *poly_error_text(const PolyContext *ctx) { return ctx ? ctx->base.text : "out of memory: no context"; }
void poly_clear_error(PolyContext *ctx) {
  if (ctx) base_clear(&ctx->base);
}

PolyStatus poly_set_device(PolyContext *ctx, const char *name) {
  if (!ctx || !name) return POLY_ERROR_VALUE;
  Device *d = runtime_open(ctx->runtime, name);
  if (d) ctx->runtime->current = d;
  return status_of(ctx, d != NULL);
}

const char *poly_device(const PolyContext *ctx) { return ctx->runtime->current->name; }

int64_t poly_live_nodes(const PolyContext *ctx) { return ctx->nnode; }
int64_t poly_live_tensors(const PolyContext *ctx) { return ctx->ntensor; }
int64_t poly_live_bytes(const PolyContext *ctx) { return ctx->runtime->live_bytes; }
int64_t poly_peak_bytes(const PolyContext *ctx) { return ctx->runtime->peak_bytes; }
void poly_reset_peak(PolyContext *ctx) {
  Runtime *r = ctx->runtime;
  r->peak_bytes = r->live_bytes;
  for (int k = 0; k < MAX_MEMORIES; k++)
    if (r->memory[k]) r->memory[k]->peak_bytes = r->memory[k]->live_bytes;
}

/* The memory of a device that is open; one that is not has none. */
static Memory *memory_of_device(PolyContext *ctx, const char *name) {
  const Device *d = name && device_known(ctx->runtime, name) ? runtime_find(ctx->runtime, name) : NULL;
  return d ? d->memory : NULL;
}

int64_t poly_device_live_bytes(PolyContext *ctx, const char *device) {
  const Memory *m = memory_of_device(ctx, device);
  return m ? m->live_bytes : 0;
}

int64_t poly_device_peak_bytes(PolyContext *ctx, const char *device) {
  const Memory *m = memory_of_device(ctx, device);
  return m ? m->peak_bytes : 0;
}

int64_t poly_device_held_bytes(PolyContext *ctx, const char *device) {
  const Memory *m = memory_of_device(ctx, device);
  return m ? MAX(m->held_bytes, m->live_bytes) : 0;
}

int64_t poly_device_read_bytes(PolyContext *ctx, const char *device) {
  const Memory *m = memory_of_device(ctx, device);
  return m ? m->read_bytes : 0;
}

void poly_device_trim(PolyContext *ctx, const char *device) {
  Memory *m = memory_of_device(ctx, device);
  if (m && m->trim) m->trim(m);
}

const char *poly_device_card(PolyContext *ctx, const char *device) {
  const Device *d = runtime_open(ctx->runtime, device);
  return d ? (d->card ? d->card : d->name) : NULL;
}

PolyStatus poly_synchronize(PolyContext *ctx) {
  Device *d = ctx->runtime->current;
  return status_of(ctx, !d->wait || d->wait(d));
}

void poly_set_debug(PolyContext *ctx, int level) { ctx->debug = level; }
void poly_set_threads(PolyContext *ctx, int threads) {
  const char *text = getenv("POLY_THREADS");
  if (threads <= 0) threads = text ? atoi(text) : 0;
  if (threads <= 0) threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
  ctx->runtime->threads = MAX(1, MIN(threads, 1024));
}
int poly_threads(const PolyContext *ctx) { return ctx->runtime->threads; }

int64_t poly_compilations(const PolyContext *ctx) { return ctx->runtime->compilations; }
int64_t poly_plans_built(const PolyContext *ctx) { return ctx->engine->plans_built; }
int64_t poly_plans_reused(const PolyContext *ctx) { return ctx->engine->plans_reused; }
int64_t poly_steps_recalled(const PolyContext *ctx) { return ctx->engine->steps_recalled; }

const char *poly_cache_dir(const PolyContext *ctx) { return ctx->runtime->cache_dir; }
int64_t poly_cache_entries(const PolyContext *ctx) { return runtime_cached(ctx->runtime).entries; }
int64_t poly_cache_bytes(const PolyContext *ctx) { return runtime_cached(ctx->runtime).bytes; }
int64_t poly_cache_limit(const PolyContext *ctx) { return ctx->runtime->cache_limit; }

PolyStatus poly_cache_clear(PolyContext *ctx) {
  runtime_clear_cache(ctx->runtime);
  return POLY_OK;
}
