/* gpu.c: what devices with grids of groups share. In: linear kernels, values of their integer arguments. Out: how many
 * blocks a launch has; index errors as errors; library routines, run on the host. */
#include "runtime/gpu.h"

/* ---- kernels ---- */

static bool has_check(const Linear *lin) {
  for (int i = 0; i < lin->ninst; i++)
    if (lin->inst[i].kind == INST_CHECK) return true;
  return false;
}

bool gpu_kernel_new(PolyContext *ctx, GpuKernel *k, int n, const Linear *const *kernel, int at) {
  const Linear *lin = kernel[at];
  *k =
      (GpuKernel){.narg = linear_nargs(lin), .nvar = lin->nvar, .group = MAX(lin->group, 1), .pack = MAX(lin->pack, 1)};
  k->turns = MAX(lin->turns, 1);
  k->checks = has_check(lin);
  for (int i = 0; i < linear_nargs(lin); i++) k->updates |= lin->param[i].read && lin->param[i].written;
  k->strips = linear_has_strip(lin);
  k->room = linear_room(lin);
  linear_symbol(n, kernel, at, k->name);
  k->var = mem_new(ctx_base(ctx), (size_t)MAX(lin->nvar, 1) * sizeof *k->var);
  if (!k->var) return false;
  for (int i = 0; i < lin->nvar; i++) k->var[i] = uop_retain(lin->var[i]);
  k->grid = uop_retain(lin->grid);
  return true;
}

void gpu_kernel_free(PolyContext *ctx, GpuKernel *k) {
  for (int i = 0; k->var && i < k->nvar; i++) uop_release(k->var[i]);
  if (k->grid) uop_release(k->grid);
  mem_free(ctx_base(ctx), k->var, (size_t)MAX(k->nvar, 1) * sizeof *k->var);
  *k = (GpuKernel){0};
}

typedef struct Values {
  const GpuKernel *kernel;
  const int64_t *value;
} Values;

static bool lookup(void *user, const UOp *leaf, int64_t *value) {
  const Values *v = user;
  for (int i = 0; i < v->kernel->nvar; i++) {
    if (v->kernel->var[i] != leaf) continue;
    *value = v->value[i];
    return true;
  }
  return false;
}

bool gpu_blocks(const GpuKernel *k, const int64_t *vars, int64_t *blocks) {
  int64_t n;
  Values v = {k, vars};
  if (!int_eval(k->grid, lookup, &v, &n))
    return base_fail(ctx_base(k->grid->ctx), POLY_ERROR_RUNTIME, "internal: kernel %s has a grid of unknown size",
                     k->name);
  int64_t each = (int64_t)k->pack * k->turns;
  *blocks = n > 0 ? (n + each - 1) / each : 0;
  return true;
}

bool gpu_check_errors(PolyContext *ctx, const int64_t *record) {
  return !record[0] || host_index_error(ctx, record[1], record[2]);
}

/* ---- library routines on the host ---- */

static size_t tensor_bytes(const LibraryTensor *t) {
  size_t n = (size_t)dtype_size(t->dtype);
  for (int i = 0; i < t->ndim; i++) n *= (size_t)t->shape[i];
  return n;
}

/* A copy of t's memory on the host, in the place of t. */
static bool bring(Device *d, Memory *host, LibraryTensor *t, bool contents) {
  size_t bytes = tensor_bytes(t);
  const char *from = (const char *)t->data.memory + t->data.offset;
  t->data = (MemoryRef){memory_alloc(host, MAX(bytes, 1)), 0};
  if (contents) d->memory->read_bytes += (int64_t)bytes;
  return t->data.memory && (!contents || !bytes || d->memory->copy_out(d->memory, t->data.memory, from, bytes));
}

bool gpu_library(Device *d, const LibraryCall *call) {
  Memory *m = d->memory, *host = host_memory(m->runtime);
  LibraryCall c = *call;
  Device on_host = *d; /* what routines ask of their device: memory for their work is the host's */
  on_host.memory = host;
  int n = 0;
  bool ok = true;
  while (ok && n < c.nsrc) ok = bring(d, host, &c.src[n++], true);
  ok = ok && bring(d, host, &c.out, false);
  bool have_out = c.out.data.memory != call->out.data.memory;
  ok = ok && library_run(&on_host, &c);
  size_t bytes = tensor_bytes(&call->out);
  if (ok && bytes) ok = m->copy_in(m, (char *)call->out.data.memory + call->out.data.offset, c.out.data.memory, bytes);
  for (int i = 0; i < n; i++)
    if (c.src[i].data.memory) memory_free(host, c.src[i].data.memory, MAX(tensor_bytes(&c.src[i]), 1));
  if (have_out && c.out.data.memory) memory_free(host, c.out.data.memory, MAX(bytes, 1));
  return ok;
}
