/* cpu.c: the CPU device. Kernels are compiled by the system's compiler, loaded and called; until they are, the
 * interpreter runs them, with the same bits.
 *
 * In: linear kernels. Out: a Program in units, each of one source text and one object: a kernel, several (POLY_UNIT),
 * or all of a text that was given. Before each run it is decided for each unit (ready): what costs less to interpret
 * than to compile is interpreted at once. What has been interpreted for longer than is worth while, all runs together,
 * is compiled in the background, the most expensive first, and a later run changes over. The rest is compiled before
 * the run begins, several units at once. Numbers: `tiers` of the Target.
 *
 * A compilation that fails in the background leaves its unit to the interpreter; it is an error in a run that has to be
 * compiled. */
#include "runtime/cpu.h"

#include "ir/work.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct Unit {
  int first, n; /* kernels */
  int ninst;
  Object *object; /* NULL: its source has not been needed yet */
  const KernelFn *kernel;
  double expected, spent; /* ms: to interpret the next run; interpreted so far */
} Unit;

typedef struct CpuProgram {
  Program program; /* first */
  Arena arena;
  const Linear **lin; /* copies, as long as something may be interpreted or compiled; NULL: source was given */
  Unit *unit;
  int nunit, nready; /* units that are compiled */
  Unit **unit_of;    /* of each kernel */
  Program *interp;   /* the same kernels, once something was interpreted */
  HostArgs args;
} CpuProgram;

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- the compiler ---- */

static bool need_compiler(CpuDevice *cpu) {
  if (!cpu->looked) cpu->found = compiler_find(&cpu->compiler);
  cpu->looked = true;
  if (cpu->found) return true;
  Base *b = ctx_base(cpu->device.ctx);
  const char *cc = getenv("CC");
  if (cc && strspn(cc, " \t") < strlen(cc))
    return base_fail(
        b, POLY_ERROR_RUNTIME,
        "CC is \"%.200s\", which is not a program on PATH: set CC to a C compiler, unset it to use gcc, clang "
        "or cc, or use the device INTERP",
        cc);
  return base_fail(b, POLY_ERROR_RUNTIME,
                   "no C compiler was found: tried gcc, clang and cc on PATH; set CC, or use the device INTERP");
}

/* ---- units ---- */

static CpuDevice *device_of(const CpuProgram *cp) { return (CpuDevice *)cp->program.device; }

/* Usually a kernel is compiled by itself, although the compiler takes 10 ms to start: a program of 370 kernels in seven
 * plans had 245 different ones, which are then compiled once each, and the few in which most of the time is spent come
 * first. */
static bool make_units(CpuProgram *cp, int n, const Linear *const *kernel) {
  cp->unit = arena_new(&cp->arena, (size_t)MAX(n, 1) * sizeof *cp->unit);
  cp->unit_of = arena_new(&cp->arena, (size_t)MAX(n, 1) * sizeof *cp->unit_of);
  if (!cp->unit || !cp->unit_of) return false;
  int most = device_of(cp)->runtime->unit_insts;
  for (int k = 0; k < n; k++) {
    Unit *u = cp->nunit ? &cp->unit[cp->nunit - 1] : NULL;
    if (!u || u->ninst >= most) {
      u = &cp->unit[cp->nunit++];
      u->first = k;
    }
    u->n++;
    u->ninst += kernel[k]->ninst;
    cp->unit_of[k] = u;
  }
  return true;
}

static void *copy_of(Arena *arena, const void *from, size_t bytes) {
  void *to = arena_new(arena, bytes + 1);
  if (to && bytes) memcpy(to, from, bytes);
  return to;
}

/* Kernels are the caller's, who frees them: what renders and interprets them later needs no UOps. */
static bool keep_kernels(CpuProgram *cp, int n, const Linear *const *kernel) {
  if (!(cp->lin = arena_new(&cp->arena, (size_t)MAX(n, 1) * sizeof *cp->lin))) return false;
  for (int k = 0; k < n; k++) {
    Linear *to = copy_of(&cp->arena, kernel[k], sizeof *to);
    if (!to) return false;
    to->inst = copy_of(&cp->arena, kernel[k]->inst, (size_t)to->ninst * sizeof *to->inst);
    to->param = copy_of(&cp->arena, kernel[k]->param, (size_t)to->nparam * sizeof *to->param);
    to->name = copy_of(&cp->arena, kernel[k]->name, strlen(kernel[k]->name));
    to->var = NULL;
    to->flops = to->moved = NULL;
    if (!to->inst || !to->param || !to->name) return false;
    cp->lin[k] = to;
  }
  return true;
}

static bool need_object(CpuProgram *cp, Unit *u) {
  if (u->object) return true;
  CpuDevice *cpu = device_of(cp);
  Str source = {.b = ctx_base(cpu->device.ctx)};
  Linear nameless = *cp->lin[u->first]; /* kernels of other names that do the same are the same text */
  nameless.name = "kernel";
  bool ok = need_compiler(cpu) &&
            cpu->runtime->render(cpu->device.ctx, &cpu->device.target, u->n,
                                 u->n == 1 ? (const Linear *const[]){&nameless} : cp->lin + u->first, &source);
  if (ok) u->object = object_get(cpu, source.at);
  str_free(&source);
  return u->object;
}

static bool take_kernels(CpuProgram *cp, Unit *u) {
  if (u->kernel || !u->object || !(u->kernel = object_kernels(u->object))) return u->kernel;
  cp->nready++;
  return true;
}

/* ---- which way to run ---- */

static double compile_ms(const Target *t, const Unit *u) { return t->tiers.compile_ms + u->ninst * t->tiers.inst_ms; }

static void cpu_expect(Program *p, int k, const size_t *bytes, const int64_t *vars) {
  CpuProgram *cp = (CpuProgram *)p;
  const Target *t = &p->device->target;
  if (cp->nready == cp->nunit) return;
  if (k < 0) {
    for (int i = 0; i < cp->nunit; i++) cp->unit[i].expected = 0;
    return;
  }
  if (cp->unit_of[k]->kernel) return;
  Work w = linear_work(cp->lin[k], bytes, vars, INTERP_LANES);
  cp->unit_of[k]->expected += (w.steps * t->tiers.step_ns + w.lanes * t->tiers.lane_ns) * 1e-6;
}

/* Without an error: the interpreter can go on without a compiler. */
static bool try_object(CpuProgram *cp, Unit *u) {
  Base *b = ctx_base(cp->program.device->ctx);
  bool clean = b->code == POLY_OK, ok = need_object(cp, u);
  if (!ok && clean && b->code != POLY_ERROR_MEMORY) base_clear(b);
  return ok;
}

/* Must the unit be compiled before this run? If not, but it is worth while, that begins. */
static bool must_compile(CpuProgram *cp, Unit *u) {
  const Target *t = &cp->program.device->target;
  int tier = device_of(cp)->runtime->tier;
  if (tier >= 0) return tier == 1;
  if (u->expected + u->spent < t->tiers.least_ms) return false;
  bool must = u->expected > compile_ms(t, u);
  if (try_object(cp, u) && !take_kernels(cp, u) && !must)
    object_start(device_of(cp), u->object, (u->expected + u->spent) / compile_ms(t, u));
  return must && !u->kernel;
}

static bool cpu_ready(Program *p) {
  CpuProgram *cp = (CpuProgram *)p;
  CpuDevice *cpu = device_of(cp);
  if (cpu->busy) objects_poll(cpu);
  if (cp->nready == cp->nunit) return true;
  enum { MOST = 256 };
  Object *must[MOST];
  Unit *unit[MOST];
  int n = 0;
  for (int i = 0; i < cp->nunit; i++) {
    Unit *u = &cp->unit[i];
    if (take_kernels(cp, u) || !must_compile(cp, u)) continue;
    if (!need_object(cp, u)) return false;
    if (take_kernels(cp, u)) continue;
    unit[n] = u;
    must[n++] = u->object;
    if (n == MOST && !objects_need(cpu, n, must)) return false;
    for (int k = 0; n == MOST && k < n; k++) take_kernels(cp, unit[k]);
    n %= MOST;
  }
  if (n && !objects_need(cpu, n, must)) return false;
  for (int k = 0; k < n; k++) take_kernels(cp, unit[k]);
  return ctx_base(cpu->device.ctx)->code == POLY_OK;
}

/* ---- the device ---- */

static void cpu_program_free(Program *p) {
  if (!p) return;
  CpuProgram *cp = (CpuProgram *)p;
  CpuDevice *cpu = device_of(cp);
  for (int i = 0; i < cp->nunit; i++) object_release(cpu, cp->unit[i].object);
  if (cp->interp) cpu->interp->program_free(cp->interp);
  host_args_free(p->device->ctx, &cp->args);
  arena_free(&cp->arena);
  mem_free(ctx_base(p->device->ctx), cp, sizeof *cp);
}

/* One unit of a text that is given. */
static bool compile_given(CpuProgram *cp, const char *source) {
  CpuDevice *cpu = device_of(cp);
  if (!need_compiler(cpu)) return false;
  for (int k = 0; k < cp->program.nkernel; k++) cp->unit_of[k] = cp->unit;
  cp->unit->n = cp->program.nkernel;
  cp->nunit = 1;
  cp->unit->object = object_get(cpu, source);
  if (!cp->unit->object) return false;
  return take_kernels(cp, cp->unit) || (objects_need(cpu, 1, &cp->unit->object) && take_kernels(cp, cp->unit));
}

static Program *cpu_compile(Device *d, const char *source, int n, const Linear *const *kernel) {
  CpuProgram *cp = mem_new(ctx_base(d->ctx), sizeof *cp);
  if (!cp) return NULL;
  cp->program = (Program){.device = d, .nkernel = n};
  cp->arena.b = ctx_base(d->ctx);
  bool ok = host_args_new(d->ctx, &cp->args, n, kernel) && make_units(cp, n, kernel);
  if (ok) ok = source ? compile_given(cp, source) : keep_kernels(cp, n, kernel);
  if (ok) return &cp->program;
  cpu_program_free(&cp->program);
  return NULL;
}

static bool interpret(CpuProgram *cp, int k, const MemoryRef *args, const int64_t *vars) {
  CpuDevice *cpu = device_of(cp);
  if (!cpu->interp && !(cpu->interp = interp_open(cpu->runtime))) return false;
  if (!cp->interp && !(cp->interp = cpu->interp->compile(cpu->interp, NULL, cp->program.nkernel, cp->lin)))
    return false;
  double begin = now_ms();
  bool ok = cpu->interp->launch(cp->interp, k, args, vars, 1);
  cp->unit_of[k]->spent += now_ms() - begin;
  return ok;
}

static bool cpu_launch(Program *p, int k, const MemoryRef *args, const int64_t *vars, int threads) {
  int64_t err[3] = {0};
  void *at[LOCAL_ARGS];
  CpuProgram *cp = (CpuProgram *)p;
  const Unit *u = cp->unit_of[k];
  bool ok = true;
  if (u->kernel) {
    u->kernel[k - u->first](host_args(&cp->args, k, args, at), vars, threads, err);
    if (!err[0]) return true;
  }
  /* from several threads, the interpreter and errors one at a time */
#pragma omp critical(poly_cpu_launch)
  ok = u->kernel ? host_index_error(p->device->ctx, err[1], err[2]) : interpret(cp, k, args, vars);
  return ok;
}

static bool cpu_pieces(Device *d, int64_t n, int threads, bool (*run)(void *user, int64_t piece, int worker),
                       void *user) {
  (void)d;
  int failed = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) reduction(| : failed) if (threads > 1)
  for (int64_t k = 0; k < n; k++)
    if (!failed) failed |= !run(user, k, omp_get_thread_num());
  return !failed;
}

static void cpu_close(Device *d) {
  CpuDevice *cpu = (CpuDevice *)d;
  cpu_matmul_close(cpu);
  objects_close(cpu);
  if (cpu->interp) cpu->interp->close(cpu->interp);
  mem_free(ctx_base(d->ctx), cpu, sizeof *cpu);
}

Device *cpu_open(Runtime *r) {
  CpuDevice *cpu = mem_new(ctx_base(r->ctx), sizeof *cpu);
  if (!cpu) return NULL;
  Device *d = &cpu->device;
  host_init(d, r, "CPU");
  cpu->runtime = r;
  d->compile = cpu_compile;
  d->program_free = cpu_program_free;
  d->expect = cpu_expect;
  d->ready = cpu_ready;
  d->launch = cpu_launch;
  d->matmul = cpu_matmul;
  d->matmul_room = cpu_matmul_room;
  d->pieces = cpu_pieces;
  d->close = cpu_close;
  return d;
}
