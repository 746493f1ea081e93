/* run.c: one execution of a plan. In: the plan, values of its variables, memory of its inputs. Out: memory with its
 * results. Everything that can be refused is refused before the first kernel: sizes, memory. */
#include "base/threads.h"
#include "engine/engine.h"

#include <stdio.h>
#include <time.h>

double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- memory ---- */

static void bytes_text(size_t bytes, char *buf, size_t n) {
  static const char *const unit[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
  double v = (double)bytes;
  int k = 0;
  for (; v >= 1000 && k + 1 < LEN(unit); k++) v /= 1000;
  if (k == 0)
    snprintf(buf, n, "%zu bytes", bytes);
  else
    snprintf(buf, n, "%.1f %s", v, unit[k]);
}

static bool fail_memory(const Device *d, size_t bytes, int ndim, const int64_t *shape, PolyDType dtype,
                        const char *why) {
  char size[32], dims[256];
  size_t at = 0;
  bytes_text(bytes, size, sizeof size);
  dims[0] = 0;
  for (int d = 0; d < ndim && at + 24 < sizeof dims; d++)
    at += (size_t)snprintf(dims + at, sizeof dims - at, "%s%lld", d ? ", " : "", (long long)shape[d]);
  return base_fail(ctx_base(d->ctx), POLY_ERROR_MEMORY, "out of memory on %s: %s for a tensor of shape (%s%s) %s (%s)",
                   d->name, size, dims, ndim == 1 ? "," : "", dtype_name(dtype), why);
}

PolyBuffer *tensor_memory(Device *d, size_t bytes, int ndim, const int64_t *shape, PolyDType dtype, const char *why) {
  Base *b = ctx_base(d->ctx);
  bool clean = b->code == POLY_OK;
  PolyBuffer *p = buffer_new(d->memory, bytes);
  if (p) return p;
  if (clean) base_clear(b);
  fail_memory(d, bytes, ndim, shape, dtype, why);
  return NULL;
}

static bool slot_shape(const Plan *p, const PlanSlot *s, int64_t *shape) {
  for (int d = 0; d < s->node->ndim; d++)
    if (!int_eval_vars(s->node->shape[d], p->nvar, p->var, p->value, &shape[d])) return false;
  return true;
}

static bool fail_slot(const Plan *p, const PlanSlot *s) {
  int64_t shape[MAX_DIMS] = {0};
  if (!slot_shape(p, s, shape)) return false;
  return fail_memory(p->device, s->bytes, s->node->ndim, shape, (PolyDType)s->node->dtype, s->why);
}

/* The peak of the run is known: refuse it as a whole, naming the largest tensor in it. */
static bool check_peak(const Plan *p, PolyBuffer *const *out, const PolyBuffer *arena) {
  size_t need = arena ? 0 : p->arena_bytes;
  const PlanSlot *largest = NULL;
  for (int i = 0; i < p->nslot; i++) {
    const PlanSlot *s = &p->slot[i];
    if (s->kind == SLOT_INPUT || out[i]) continue;
    if (s->kind == SLOT_OUTPUT) need += s->bytes;
    if (!largest || s->bytes > largest->bytes) largest = s;
  }
  return !largest || memory_fits(p->device->memory, need) || fail_slot(p, largest);
}

static bool new_outputs(const Plan *p, PolyBuffer **out) {
  Base *b = ctx_base(p->ctx);
  for (int i = 0; i < p->nslot; i++) {
    const PlanSlot *s = &p->slot[i];
    if (s->kind != SLOT_OUTPUT || out[i]) continue;
    bool clean = b->code == POLY_OK;
    if ((out[i] = buffer_new(p->device->memory, s->bytes))) continue;
    if (clean) base_clear(b);
    return fail_slot(p, s);
  }
  return true;
}

static PolyBuffer *new_arena(const Plan *p) {
  Base *b = ctx_base(p->ctx);
  bool clean = b->code == POLY_OK;
  PolyBuffer *arena = buffer_new(p->device->memory, p->arena_bytes);
  const PlanSlot *largest = NULL;
  for (int i = 0; !arena && i < p->nslot; i++)
    if (p->slot[i].kind >= SLOT_TEMP && (!largest || p->slot[i].bytes > largest->bytes)) largest = &p->slot[i];
  if (!arena && largest) {
    if (clean) base_clear(b);
    fail_slot(p, largest);
  }
  return arena;
}

/* The memory of every slot on the plan's device: what the plan is given is brought there. */
static bool bind_slots(Plan *p, PolyBuffer *const *input, PolyBuffer *const *out, PolyBuffer *arena) {
  Memory *m = p->device->memory;
  void *base = arena ? buffer_overwrite(arena, m) : NULL;
  if (arena && !base) return false;
  for (int i = 0; i < p->nslot; i++) {
    const PlanSlot *s = &p->slot[i];
    MemoryRef *at = &p->at[i];
    *at = (MemoryRef){base, base ? s->offset : 0};
    if (s->kind >= SLOT_TEMP) continue;
    PolyBuffer *b = s->kind == SLOT_OUTPUT ? out[i] : input[s->input];
    void *data = s->kind == SLOT_OUTPUT ? buffer_overwrite(b, m)
                 : s->writer >= 0       ? buffer_update(b, m)
                                        : buffer_read(b, m);
    *at = (MemoryRef){data, 0};
    if (!data) return false;
  }
  return true;
}

/* An index of 32 bits does not reach every element of a larger tensor. */
static bool check_index_width(const Plan *p) {
  for (int i = 0; p->device->target.index_bits == 32 && i < p->nslot; i++) {
    const PlanSlot *s = &p->slot[i];
    if (s->bytes / (size_t)dtype_size((PolyDType)s->node->dtype) <= INT32_MAX) continue;
    return base_fail(ctx_base(p->ctx), POLY_ERROR_VALUE, "a tensor of %zu bytes (%s) on %s, which has 32-bit indices",
                     s->bytes, s->why, p->device->name);
  }
  return true;
}

/* ---- items ---- */

/* A kernel over symbolic sizes was compiled for the largest: the sizes of this run tell whether several threads are
 * worth it.
 */
static int kernel_threads(const Plan *p, const PlanItem *it) {
  int wanted = p->ctx->runtime->threads;
  return threads_allowed(it->nvar ? target_threads(&p->device->target, wanted, it->nflops, it->nmoved) : wanted);
}

bool launch_kernels(Plan *p, const PlanItem *it, const MemoryRef *args, const int64_t *vars, int threads) {
  bool ok = it->also_first || p->device->launch(p->program, it->kernel, args, vars, threads);
  for (int k = 0; ok && k < MAX_ALSO && it->also[k] >= 0; k++)
    ok = p->device->launch(p->program, it->also[k], args, vars, threads);
  return ok && (!it->also_first || p->device->launch(p->program, it->kernel, args, vars, threads));
}

static bool run_kernel(Plan *p, const PlanItem *it) {
  for (int a = 0; a < it->narg; a++) p->args[a] = p->at[it->arg[a]];
  for (int k = 0; k < it->nvar; k++) p->vars[k] = p->value[it->var[k]];
  int threads = kernel_threads(p, it);
  return launch_kernels(p, it, p->args, p->vars, threads);
}

static MemoryRef element(MemoryRef at, int64_t place, PolyDType dtype) {
  at.offset += (size_t)(place * dtype_size(dtype));
  return at;
}

bool run_product(Plan *p, const PlanItem *it, MatmulCall *c, const MemoryRef *args, int64_t a_offset, int64_t b_offset,
                 int threads) {
  int64_t count = 1;
  for (int o = 0; o < it->nouter; o++) count *= it->outer[o];
  if (c->m == 0 || c->n == 0 || c->batch == 0) return true;
  for (int64_t i = 0; i < count; i++) {
    int64_t rest = i, a = a_offset, b = b_offset, r = 0;
    for (int o = 0; o < it->nouter; o++) {
      int64_t k = rest % it->outer[o];
      rest /= it->outer[o];
      a += k * it->a_outer[o];
      b += k * it->b_outer[o];
      r += k * it->c_outer[o];
    }
    c->a = element(args[1], a, c->dtype);
    c->b = element(args[2], b, c->dtype);
    c->c = element(args[0], r, c->dtype);
    if (!p->device->matmul(p->device, c, threads)) return false;
  }
  return true;
}

static bool run_matmul(Plan *p, const PlanItem *it) {
  MatmulCall c = it->call;
  MemoryRef args[3];
  for (int a = 0; a < 3; a++) args[a] = p->at[it->arg[a]];
  return run_product(p, it, &c, args, it->a_offset, it->b_offset, threads_allowed(p->ctx->runtime->threads));
}

static bool library_tensor(const Plan *p, const UOp *u, MemoryRef data, LibraryTensor *t) {
  t->dtype = (PolyDType)u->dtype;
  t->ndim = u->ndim;
  t->data = data;
  for (int d = 0; d < u->ndim; d++)
    if (!int_eval_vars(u->shape[d], p->nvar, p->var, p->value, &t->shape[d])) return false;
  return true;
}

static bool run_library(Plan *p, const PlanItem *it) {
  const UOp *u = it->library;
  LibraryCall call = {
      .name = u->arg.name, .n = u->arg.i, .nsrc = uop_nvalue(u), .threads = threads_allowed(p->ctx->runtime->threads)};
  for (int k = 0; k < call.nsrc; k++) {
    int64_t first = 0;
    if (it->offset[k] && !int_eval_vars(it->offset[k], p->nvar, p->var, p->value, &first)) return false;
    MemoryRef at = element(p->at[it->arg[it->nout + k]], first, (PolyDType)u->src[k]->dtype);
    if (!library_tensor(p, u->src[k], at, &call.src[k])) return false;
  }
  if (!library_tensor(p, u, p->at[it->arg[0]], &call.out)) return false;
  return p->device->library(p->device, &call);
}

static bool run_item(Plan *p, const PlanItem *it) {
  switch (it->kind) {
  case ITEM_KERNEL: return run_kernel(p, it);
  case ITEM_MATMUL: return run_matmul(p, it);
  case ITEM_LIBRARY: return run_library(p, it);
  case ITEM_LOOP: return plan_run_loop(p, it);
  case ITEM_TILES: return run_tiles(p, it);
  }
  return false;
}

/* Runs an item and waits for it. */
static bool run_timed(Plan *p, const PlanItem *it, double *ms) {
  Device *d = p->device;
  double start = now_ms();
  if (d->timer) return d->timer(d, NULL) && run_item(p, it) && d->timer(d, ms);
  bool ok = run_item(p, it) && (!d->wait || d->wait(d));
  *ms = now_ms() - start;
  return ok;
}

static void expect_kernel(Plan *p, Program *program, const PlanItem *it, const int64_t *tile) {
  for (int a = 0; a < it->narg; a++) p->bytes[a] = p->slot[it->arg[a]].bytes;
  for (int k = 0; k < it->nvar; k++) p->vars[k] = it->var[k] >= 0 ? p->value[it->var[k]] : tile[-1 - it->var[k]];
  p->device->expect(program, it->kernel, p->bytes, p->vars);
}

/* All tiles together are as much work as one tile of everything. */
static void expect_tiles(Plan *p, Program *program, const PlanTiles *t) {
  int64_t tile[TILE_VARS] = {[TILE_EDGES] = t->nedges, [TILE_ROWS] = t->nrows, [TILE_PIECES] = t->pieces};
  for (int i = 0; i < t->nitem + t->nfinish; i++)
    if (t->item[i].kind == ITEM_KERNEL) expect_kernel(p, program, &t->item[i], tile);
}

enum { MANY_STEPS = 1000 }; /* that is enough to be compiled */

/* Every kernel that will run, once for each time. */
static void expect_items(Plan *p, Program *program, int64_t times) {
  for (int i = 0; i < p->nitem; i++) {
    const PlanItem *it = &p->item[i];
    if (it->loop) expect_items(it->loop->body, program, MIN(times * it->loop->n, MANY_STEPS));
    for (int64_t t = 0; t < times && it->tiles; t++) expect_tiles(p, program, it->tiles);
    for (int64_t t = 0; t < times && it->kind == ITEM_KERNEL; t++) expect_kernel(p, program, it, NULL);
  }
}

/* Tells a device that chooses between ways to run what this run will be. */
static bool make_ready(Plan *p) {
  Device *d = p->device;
  if (!d->ready || !p->program) return true;
  if (!p->expected && p->nitem) d->expect(p->program, -1, NULL, NULL);
  if (!p->expected) expect_items(p, p->program, 1);
  p->expected = true;
  return d->ready(p->program);
}

/* Of a loop, its items are timed, one by one at each step. */
bool plan_run_items(Plan *p) {
  bool timed = p->ctx->debug >= 2 || p->ctx->engine->profile.on;
  for (int i = 0; i < p->nitem; i++) {
    double ms = 0;
    bool single = timed && !p->item[i].loop && !(p->item[i].tiles && tiles_are_profiled(p));
    if (!(single ? run_timed(p, &p->item[i], &ms) : run_item(p, &p->item[i]))) {
      p->failed = i;
      return false;
    }
    if (!single) continue;
    p->ctx->engine->counters.ms += ms;
    profile_item(p, &p->item[i], ms);
    debug_item(p, &p->item[i], ms);
  }
  if (timed) profile_plan(p);
  return true;
}

static bool run_items(Plan *p) {
  double begin = p->ctx->debug >= 1 ? now_ms() : 0;
  if (!plan_run_items(p)) return false;
  if (p->ctx->debug >= 1 && p->device->wait && !p->device->wait(p->device)) return false;
  if (p->ctx->debug >= 1) debug_run(p, now_ms() - begin);
  return true;
}

/* ---- replayed runs ---- */

static bool is_recordable(const Plan *p) {
  if (!p->device->begin || !p->program || p->ctx->debug >= 1 || p->ctx->engine->profile.on) return false;
  for (int i = 0; i < p->nitem; i++)
    if (p->item[i].kind == ITEM_LOOP) return false;
  return p->nitem > 0;
}

/* Where each slot is, the values that sizes depend on, and the tiles of composite items; the other values are loose. */
static bool run_words(Plan *p, RunWords *out) {
  RunWords w = {.fixed = p->word, .loose = p->loose};
  for (int i = 0; i < p->nslot; i++) p->word[w.nfixed++] = (uint64_t)(uintptr_t)p->at[i].memory + p->at[i].offset;
  for (int k = 0; k < p->nvar; k++) {
    if (p->is_size[k])
      p->word[w.nfixed++] = (uint64_t)p->value[k];
    else
      p->loose[w.nloose++] = p->value[k];
  }
  for (int i = 0; p->tiled && i < p->nitem; i++)
    if (p->item[i].kind == ITEM_TILES && !tiles_word(p, &p->item[i], &p->word[w.nfixed++])) return false;
  *out = w;
  return true;
}

/* Launches items that the device records. */
static bool record_items(Plan *p) {
  for (int i = 0; i < p->nitem; i++) {
    const PlanItem *it = &p->item[i];
    for (int a = 0; a < it->narg; a++) {
      const PlanSlot *s = &p->slot[it->arg[a]];
      const MemoryRef *at = &p->at[it->arg[a]];
      uint64_t begin = (uint64_t)(uintptr_t)at->memory + at->offset;
      bool inner = s->kind == SLOT_TILE || s->copies; /* what a composite item writes to besides its results */
      p->use[a] = (MemoryUse){begin, begin + s->bytes, a < it->nout || inner};
    }
    if (p->device->touches) p->device->touches(p->device, it->narg, p->use, it->nbytes, it->kind == ITEM_TILES);
    if (!run_item(p, it)) return false;
  }
  return true;
}

static bool run_or_replay(Plan *p) {
  if (!is_recordable(p)) return run_items(p);
  RunWords w;
  bool again = false, ok;
  if (!run_words(p, &w)) return false;
  switch (p->device->begin(p->program, &w)) {
  case RUN_FAILED: return false;
  case RUN_DONE: return true;
  case RUN_PLAIN: return run_items(p);
  case RUN_ITEMS: break;
  }
  ok = record_items(p);
  ok = p->device->end(p->program, ok, &again) && ok;
  return ok && again ? run_items(p) : ok;
}

bool plan_run(Plan *p, const int64_t *value, PolyBuffer *const *input, PolyBuffer **out, PolyBuffer *arena) {
  if (p->ctx->runtime->poison) arena = NULL; /* a fresh one is filled with NaN, one of the last run is not */
  if (!device_usable(p->device) || !plan_size(p, value) || !check_peak(p, out, arena) || !check_index_width(p) ||
      !new_outputs(p, out))
    return false;
  PolyBuffer *own = !arena && p->arena_bytes ? new_arena(p) : NULL;
  if (!arena && p->arena_bytes && !own) return false;
  p->input = input;
  p->failed = 0;
  bool ok = bind_slots(p, input, out, arena ? arena : own) && make_ready(p) && run_or_replay(p);
  if (ok) count_run(p);
  buffer_release(own);
  return ok;
}
