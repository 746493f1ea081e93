/* template_device.c: a device to begin with. It has memory of its own and hands kernels to the interpreter; each place
 * that a real device fills in says so. test/c/test_template.c compiles it and runs a kernel on it. */
#include "runtime/host.h"

#include <stdlib.h>
#include <string.h>

/* What schedule and codegen decide by. Begin with the row of a device like yours (runtime/targets.c). */
static const Target *mine_target = &test_target;

typedef struct MineDevice {
  Device device; /* first: a Device * is a MineDevice * */
  Memory memory;
  Device *interp; /* of a real device: its context, its queue, the functions of its driver */
} MineDevice;

typedef struct MineProgram {
  Program program; /* first */
  Program *inner;  /* of a real device: the compiled kernels, and what gpu.h keeps of each */
} MineProgram;

/* ---- memory: what alloc gives may be any handle that takes an offset ---- */

static void *mine_alloc(Memory *m, size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (!p) base_fail(ctx_base(m->runtime->ctx), POLY_ERROR_MEMORY, "out of memory on %s: %zu bytes", m->name, bytes);
  return p;
}

/* If launches are asynchronous: only after those that were made before. */
static void mine_free(Memory *m, void *p, size_t bytes) {
  (void)m, (void)bytes;
  free(p);
}

static bool mine_copy(Memory *m, void *dst, const void *src, size_t bytes) {
  (void)m;
  memmove(dst, src, bytes);
  return true;
}

/* ---- programs ---- */

static void mine_program_free(Program *p) {
  if (!p) return;
  MineProgram *mp = (MineProgram *)p;
  const MineDevice *mine = (const MineDevice *)p->device;
  mine->interp->program_free(mp->inner);
  mem_free(ctx_base(p->device->ctx), mp, sizeof *mp);
}

/* All kernels of a plan. With needs_source, `source` is their text in the Target's dialect. */
static Program *mine_compile(Device *d, const char *source, int n, const Linear *const *kernel) {
  const MineDevice *mine = (const MineDevice *)d;
  MineProgram *mp = mem_new(ctx_base(d->ctx), sizeof *mp);
  if (!mp) return NULL;
  mp->program = (Program){.device = d, .nkernel = n};
  if ((mp->inner = mine->interp->compile(mine->interp, source, n, kernel))) return &mp->program;
  mine_program_free(&mp->program);
  return NULL;
}

static bool mine_launch(Program *p, int k, const MemoryRef *args, const int64_t *vars, int threads) {
  const MineDevice *mine = (const MineDevice *)p->device;
  return mine->interp->launch(((MineProgram *)p)->inner, k, args, vars, threads);
}

/* ---- products and routines: without the first, leave target.matmul 0; gpu_library runs the second on the host ---- */

static bool mine_matmul(Device *d, const MatmulCall *call, int threads) {
  Device *interp = ((MineDevice *)d)->interp;
  return interp->matmul(interp, call, threads);
}

static bool mine_library(Device *d, const LibraryCall *call) {
  Device *interp = ((MineDevice *)d)->interp;
  return interp->library(interp, call);
}

/* ---- opening: fails with a text that says what is missing ---- */

static void mine_close(Device *d) {
  MineDevice *mine = (MineDevice *)d;
  if (mine->interp) mine->interp->close(mine->interp);
  mem_free(ctx_base(d->ctx), mine, sizeof *mine);
}

Device *mine_open(Runtime *r) {
  MineDevice *mine = mem_new(ctx_base(r->ctx), sizeof *mine);
  if (!mine) return NULL;
  Device *d = &mine->device;
  Memory *m = &mine->memory;
  *d = (Device){.name = "MINE", .ctx = r->ctx, .memory = m, .target = *mine_target};
  d->compile = mine_compile;
  d->program_free = mine_program_free;
  d->launch = mine_launch;
  d->matmul = mine_matmul;
  d->library = mine_library;
  d->close = mine_close;
  *m = (Memory){.name = "MINE", .runtime = r, .alloc = mine_alloc, .free = mine_free};
  m->copy_in = m->copy_out = m->copy = mine_copy;
  if ((mine->interp = interp_open(r)) && runtime_add_memory(r, m)) {
    mine->interp->target = d->target;
    return d;
  }
  mine_close(d);
  return NULL;
}
