/* linear_build.h: kernels by hand, for tests of renderers, and a way to compile and load what was rendered. */
#ifndef TEST_LINEAR_BUILD_H
#define TEST_LINEAR_BUILD_H

#include <dlfcn.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/codegen.h"
#include "ir/context.h"
#include "ir/eval.h"
#include "render/render.h"
#include "runtime/device.h"

typedef struct Kern {
  Linear lin;
  Inst inst[400];
  LinearParam param[16];
  char name[32];
} Kern;

static inline Kern *kern_new(const char *name) {
  Kern *k = calloc(1, sizeof *k);
  snprintf(k->name, sizeof k->name, "%s", name);
  k->lin.name = k->name;
  k->lin.inst = k->inst;
  k->lin.param = k->param;
  return k;
}
static inline int kern_param(Kern *k, PolyDType d, bool written) {
  k->param[k->lin.nparam] = (LinearParam){.dtype = d, .written = written, .read = !written};
  return k->lin.nparam++;
}
static inline int kern_put(Kern *k, InstKind kind, PolyDType d, Op op, int a, int b, int c) {
  k->inst[k->lin.ninst] =
      (Inst){.kind = (uint8_t)kind, .dtype = (uint8_t)d, .op = (uint16_t)op, .src = {a, b, c}, .param = -1};
  return k->lin.ninst++;
}
static inline int kern_int(Kern *k, PolyDType d, int64_t v) {
  int i = kern_put(k, INST_CONST, d, OP_CONST, -1, -1, -1);
  k->inst[i].arg.i = v;
  return i;
}
static inline int kern_float(Kern *k, PolyDType d, double v) {
  int i = kern_put(k, INST_CONST, d, OP_CONST, -1, -1, -1);
  memcpy(&k->inst[i].arg.i, &v, 8);
  return i;
}
static inline int kern_var(Kern *k) {
  int i = kern_put(k, INST_VAR, POLY_INT64, OP_CONST, -1, -1, -1);
  k->inst[i].arg.i = k->lin.nvar++;
  return i;
}
static inline int kern_loop(Kern *k, int begin, int end, uint32_t flags) {
  int i = kern_put(k, INST_LOOP, POLY_INT64, OP_RANGE, begin, end, -1);
  k->inst[i].flags = flags;
  k->inst[i].cost = 10;
  return i;
}
static inline void kern_end(Kern *k, int loop) { kern_put(k, INST_END, POLY_INT64, OP_RANGE, loop, -1, -1); }
static inline int kern_alu(Kern *k, Op op, PolyDType d, int a, int b, int c) {
  return kern_put(k, INST_ALU, d, op, a, b, c);
}
static inline int kern_load(Kern *k, int param, int index, int64_t stride, int gate) {
  int i = kern_put(k, INST_LOAD, k->param[param].dtype, OP_LOAD, index, gate, -1);
  k->inst[i].param = param;
  k->inst[i].stride = stride;
  return i;
}
static inline void kern_store(Kern *k, int param, int index, int value, int64_t stride, int gate) {
  int i = kern_put(k, INST_STORE, k->param[param].dtype, OP_STORE, index, value, gate);
  k->inst[i].param = param;
  k->inst[i].stride = stride;
}
static inline int kern_acc(Kern *k, Op op, PolyDType d) { return kern_put(k, INST_ACC, d, op, -1, -1, -1); }
static inline void kern_update(Kern *k, int acc, int value) {
  kern_put(k, INST_UPDATE, (PolyDType)k->inst[acc].dtype, (Op)k->inst[acc].op, acc, value, -1);
}
/* Functions are right to 2 ulp, everything else to the bit. */
static inline bool is_math(Op op) { return (op >= OP_EXP && op <= OP_ERF) || op == OP_POW; }
static inline bool close_enough(Op op, PolyDType d, Value got, Value want) {
  if (!is_math(op) || !dtype_is_float(d)) return value_same(got, want, d);
  if (isnan(want.f) || isinf(want.f) || isinf(got.f)) return value_same(got, want, d);
  double eps = d == POLY_FLOAT64    ? 0x1p-51
               : d == POLY_FLOAT32  ? 0x1p-22
               : d == POLY_FLOAT16  ? 0x1p-10
               : d == POLY_BFLOAT16 ? 0x1p-7
                                    : 0x1p-2;
  double tiny = d == POLY_FP8E4M3   ? 0x1p-9
                : d == POLY_FP8E5M2 ? 0x1p-16
                : d == POLY_FLOAT16 ? 0x1p-24
                : d == POLY_FLOAT64 ? 0x1p-1073
                                    : 0x1p-133;
  return fabs(got.f - want.f) <= fabs(want.f) * eps + tiny;
}

static inline int kern_idx(Kern *k, Op op, int a, int b) { return kern_alu(k, op, POLY_INT64, a, b, -1); }

typedef void (*KernFn)(void *const *arg, const int64_t *var, int threads, int64_t *err);
/* How the compiler may fuse; a test that compares bits turns it off. */
static const char *contract_ = "-ffp-contract=fast";

typedef struct Built {
  void *dl;
  const KernFn *fn;
  char *text;
} Built;

/* The kernel with the widths that codegen chooses for a target; NULL: no memory. */
static inline const Linear *kern_shaped(Arena *arena, const Target *target, const Linear *lin) {
  size_t bytes = (size_t)lin->ninst * sizeof *lin->inst;
  Linear *copy = arena_new(arena, sizeof *copy);
  Inst *inst = copy ? arena_new(arena, bytes + 1) : NULL;
  if (!inst) return NULL;
  *copy = *lin;
  copy->inst = memcpy(inst, lin->inst, bytes);
  return codegen_widths(arena, target, copy) ? copy : NULL;
}

/* Renders, compiles with the given compiler and loads. fn is NULL when any of it failed. */
static inline Built kern_build(int n, Kern *const *k, int vector_bytes, const char *cc, const char *level) {
  extern char **environ;
  Built out = {0};
  PolyContext ctx = {0};
  Str s = {.b = &ctx.base};
  Arena arena = {.b = &ctx.base};
  const Linear **lin = calloc((size_t)n, sizeof *lin);
  Target target = cpu_target;
  target.vector_bytes = vector_bytes;
  target.vector_registers = vector_bytes >= 64 ? 32 : 16;
  bool ok = true;
  for (int i = 0; i < n; i++) ok = ok && (lin[i] = kern_shaped(&arena, &target, &k[i]->lin));
  ok = ok && render_program(&ctx, &target, n, lin, &s);
  arena_free(&arena);
  free(lin);
  if (!ok) {
    fprintf(stderr, "render: %s\n", ctx.base.text);
    return out;
  }
  char src[64], lib[64];
  static int serial;
  snprintf(src, sizeof src, "/tmp/poly_render_%d_%d.c", (int)getpid(), serial);
  snprintf(lib, sizeof lib, "/tmp/poly_render_%d_%d.so", (int)getpid(), serial++);
  FILE *f = fopen(src, "w");
  if (!f) return out;
  fwrite(s.at, 1, s.n, f);
  fclose(f);
  char *argv[] = {(char *)cc,
                  (char *)level,
                  "-march=native",
                  "-std=gnu11",
                  (char *)contract_,
                  "-fno-math-errno",
                  "-fno-trapping-math",
                  "-fwrapv",
                  "-fopenmp",
                  "-fPIC",
                  "-shared",
                  "-w",
                  "-fno-tree-vectorize",
                  "-fno-tree-slp-vectorize",
                  "-o",
                  lib,
                  src,
                  "-lm",
                  NULL};
  if (!strcmp(cc, "clang")) argv[8] = "-Wall"; /* its OpenMP library may be absent */
  pid_t pid;
  int status = 1;
  if (!posix_spawnp(&pid, cc, NULL, NULL, argv, environ)) waitpid(pid, &status, 0);
  /* never unloaded: with the last of them the OpenMP library would go, and its threads are still there */
  if (status == 0) out.dl = dlopen(lib, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (out.dl) out.fn = (const KernFn *)dlsym(out.dl, "poly_kernels");
  if (!getenv("KEEP")) unlink(src), unlink(lib);
  out.text = strdup(s.at);
  str_free(&s);
  return out;
}

static inline void built_free(Built *b) {
  if (b->dl) dlclose(b->dl);
  free(b->text);
}

#endif
