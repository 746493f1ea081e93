/* testdev.c: the test device. The interpreter on a memory of its own, with the Target of a small GPU, so that what such
 * a device needs of the library is exercised without one.
 *
 * Addresses of this memory carry a tag, and whoever reads or writes through one without asking the device faults. What
 * the device is given is checked: an address without the tag is the host's, and an error. Fresh and freed memory is
 * filled with NaN, so a value that nobody wrote, or that was read after it was given back, shows.
 *
 * POLY_TEST_TARGET=CUDA (or OPENCL) gives it the Target of that device: its kernels are then shaped as for a GPU and
 * run here, thread by thread. With POLY_TEST_SOURCE=dir their text is written there too, a file for each program, so
 * that a compiler can be tried on it.
 *
 * What is copied ahead arrives when somebody waits for it, and not before. */
#include "runtime/host.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Bits that no address of a program has: above the 47 of x86-64 and the 48 of ARM64, below the byte that ARM64
 * ignores. */
static const uintptr_t TAG = (uintptr_t)0x55 << 48, TAG_MASK = (uintptr_t)0xff << 48;

typedef struct TestDevice {
  Device device; /* first */
  HeapMemory memory;
  Device *interp; /* runs the kernels; its scratch memory is the host's */
  MemoryRef *args;
  int room;
  struct Ahead *ahead; /* copies that have not arrived, the last one first */
  uint64_t copies;
} TestDevice;

typedef struct Ahead {
  struct Ahead *before;
  uint64_t number;
  void *to, *bytes;
  size_t size;
} Ahead;

static void *tagged(void *p) { return (void *)((uintptr_t)p | TAG); }
static void *untagged(const void *p) { return (void *)((uintptr_t)p & ~TAG_MASK); }
static bool is_tagged(const void *p) { return ((uintptr_t)p & TAG_MASK) == TAG; }

/* ---- memory ---- */

static void *test_alloc(Memory *m, size_t bytes) {
  void *p = heap_alloc(&((HeapMemory *)m)->heap, bytes);
  if (!p) return NULL;
  memset(p, HEAP_POISON, bytes);
  return tagged(p);
}

static void test_free(Memory *m, void *p, size_t bytes) {
  memset(untagged(p), HEAP_POISON, bytes);
  heap_free(&((HeapMemory *)m)->heap, untagged(p));
}

static bool check(const Memory *m, const void *p) {
  return is_tagged(p) || base_fail(ctx_base(m->runtime->ctx), POLY_ERROR_RUNTIME,
                                   "internal: an address that is not of the memory of %s", m->name);
}

static bool check_host(const Memory *m, const void *p) {
  return !is_tagged(p) || base_fail(ctx_base(m->runtime->ctx), POLY_ERROR_RUNTIME,
                                    "internal: an address of the memory of %s instead of the host's", m->name);
}

static bool test_copy_in(Memory *m, void *dst, const void *host, size_t bytes) {
  if (!check(m, dst) || !check_host(m, host)) return false;
  memcpy(untagged(dst), host, bytes);
  return true;
}

static bool test_copy_out(Memory *m, void *host, const void *src, size_t bytes) {
  if (!check(m, src) || !check_host(m, host)) return false;
  memcpy(host, untagged(src), bytes);
  return true;
}

static bool test_copy(Memory *m, void *dst, const void *src, size_t bytes) {
  if (!check(m, dst) || !check(m, src)) return false;
  memmove(untagged(dst), untagged(src), bytes);
  return true;
}

static TestDevice *device_of(Memory *m) { return (TestDevice *)((char *)m - offsetof(TestDevice, memory)); }

static uint64_t test_copy_ahead(Memory *m, void *dst, const void *host, size_t bytes) {
  TestDevice *t = device_of(m);
  Base *b = ctx_base(m->runtime->ctx);
  Ahead *a = check(m, dst) && check_host(m, host) ? mem_new(b, sizeof *a) : NULL;
  void *kept = a ? mem_resize(b, NULL, 0, bytes) : NULL;
  if (!kept) {
    mem_free(b, a, sizeof *a);
    return 0;
  }
  memcpy(kept, host, bytes);
  *a = (Ahead){t->ahead, ++t->copies, untagged(dst), kept, bytes};
  t->ahead = a;
  return a->number;
}

/* Copies of up to that number; those after it stay away. */
static bool test_arrive(Memory *m, uint64_t number) {
  for (Ahead **p = &device_of(m)->ahead; *p;) {
    Ahead *a = *p;
    if (a->number > number) {
      p = &a->before;
      continue;
    }
    *p = a->before;
    memcpy(a->to, a->bytes, a->size);
    mem_free(ctx_base(m->runtime->ctx), a->bytes, a->size);
    mem_free(ctx_base(m->runtime->ctx), a, sizeof *a);
  }
  return true;
}

/* ---- kernels ---- */

static bool translate(const Memory *m, MemoryRef *ref) {
  if (!ref->memory) return true; /* of a slot without bytes */
  if (!check(m, ref->memory)) return false;
  ref->memory = untagged(ref->memory);
  return true;
}

/* Programs are the interpreter's, but belong to this device. */
typedef struct TestProgram {
  Program program; /* first */
  Program *inner;
  int *nparam;
} TestProgram;

static void test_program_free(Program *p) {
  if (!p) return;
  TestProgram *tp = (TestProgram *)p;
  const TestDevice *t = (const TestDevice *)p->device;
  Base *b = ctx_base(p->device->ctx);
  t->interp->program_free(tp->inner);
  mem_free(b, tp->nparam, (size_t)MAX(p->nkernel, 1) * sizeof *tp->nparam);
  mem_free(b, tp, sizeof *tp);
}

static bool reserve(TestDevice *t, int n) {
  if (n <= t->room) return true;
  MemoryRef *more =
      mem_resize(ctx_base(t->device.ctx), t->args, (size_t)t->room * sizeof *more, (size_t)n * sizeof *more);
  if (!more) return false;
  t->args = more;
  t->room = n;
  return true;
}

/* The text of a program as a file in the directory that POLY_TEST_SOURCE names. */
static bool write_source(const Device *d, const char *source) {
  char path[4096];
  CacheKey key;
  cache_key(&key, 1, &source);
  snprintf(path, sizeof path, "%s/%s.%s", getenv("POLY_TEST_SOURCE"), key.text,
           d->target.dialect == DIALECT_CUDA     ? "cu"
           : d->target.dialect == DIALECT_OPENCL ? "cl"
                                                 : "c");
  FILE *f = fopen(path, "w");
  bool ok = f && fputs(source, f) >= 0;
  if (f) ok = fclose(f) == 0 && ok;
  return ok || base_fail(ctx_base(d->ctx), POLY_ERROR_IO, "the test device cannot write %s", path);
}

static Program *test_compile(Device *d, const char *source, int n, const Linear *const *kernel) {
  TestDevice *t = (TestDevice *)d;
  Base *b = ctx_base(d->ctx);
  if (source && !write_source(d, source)) return NULL;
  TestProgram *tp = mem_new(b, sizeof *tp);
  if (!tp) return NULL;
  tp->program = (Program){.device = d, .nkernel = n};
  tp->nparam = mem_new(b, (size_t)MAX(n, 1) * sizeof *tp->nparam);
  bool ok = tp->nparam != NULL;
  for (int k = 0; ok && k < n; k++) ok = reserve(t, tp->nparam[k] = linear_nargs(kernel[k]));
  if (ok) tp->inner = t->interp->compile(t->interp, source, n, kernel);
  if (tp->inner) return &tp->program;
  test_program_free(&tp->program);
  return NULL;
}

static bool test_launch(Program *p, int k, const MemoryRef *args, const int64_t *vars, int threads) {
  const TestProgram *tp = (const TestProgram *)p;
  TestDevice *t = (TestDevice *)p->device;
  for (int i = 0; i < tp->nparam[k]; i++) {
    t->args[i] = args[i];
    if (!translate(&t->memory.memory, &t->args[i])) return false;
  }
  return t->interp->launch(tp->inner, k, t->args, vars, threads);
}

static bool test_matmul(Device *d, const MatmulCall *call, int threads) {
  TestDevice *t = (TestDevice *)d;
  const Memory *m = &t->memory.memory;
  MatmulCall c = *call;
  return translate(m, &c.a) && translate(m, &c.b) && translate(m, &c.c) && t->interp->matmul(t->interp, &c, threads);
}

static bool test_library(Device *d, const LibraryCall *call) {
  TestDevice *t = (TestDevice *)d;
  const Memory *m = &t->memory.memory;
  LibraryCall c = *call;
  for (int k = 0; k < c.nsrc; k++)
    if (!translate(m, &c.src[k].data)) return false;
  return translate(m, &c.out.data) && t->interp->library(t->interp, &c);
}

static void test_close(Device *d) {
  TestDevice *t = (TestDevice *)d;
  Base *b = ctx_base(d->ctx);
  heap_trim(&t->memory.heap, 0);
  if (t->interp) t->interp->close(t->interp);
  mem_free(b, t->args, (size_t)t->room * sizeof *t->args);
  mem_free(b, t, sizeof *t);
}

/* The interpreter has matrix products, whatever the target says; it runs one thread after the other, so rows are long
 * early and few threads look for them. */
static Target choose_target(void) {
  const char *name = getenv("POLY_TEST_TARGET");
  Target t = name && !strcasecmp(name, "CUDA")     ? cuda_target
             : name && !strcasecmp(name, "OPENCL") ? opencl_target
                                                   : test_target;
  const char *work = getenv("POLY_PRODUCT_WORK");
  if (work) t.product_work = atoll(work);
  target_split_products(&t, false);
  t.matmul = test_target.matmul;
  t.hub_edges = MIN(t.hub_edges, 16);
  t.hub_most = MIN(t.hub_most, 32);
  t.row_edges = MIN(t.row_edges, 1);
  t.hub_threads = MIN(t.hub_threads, 64);
  t.hub_workers = test_target.hub_workers;
  t.hub_split = MIN(t.hub_split, test_target.hub_split);
  t.hub_longest = test_target.hub_longest;
  t.strip_threads = test_target.strip_threads;
  return t;
}

Device *testdev_open(Runtime *r) {
  TestDevice *t = mem_new(ctx_base(r->ctx), sizeof *t);
  if (!t) return NULL;
  Memory *m = &t->memory.memory;
  *m = (Memory){.name = "TEST", .runtime = r, .alloc = test_alloc, .free = test_free};
  m->copy_in = test_copy_in;
  m->copy_out = test_copy_out;
  m->copy = test_copy;
  m->copy_ahead = test_copy_ahead;
  m->arrive = test_arrive;
  m->capacity = host_memory(r)->capacity; /* it is the same machine's */
  t->memory.heap.memory = m;
  Device *d = &t->device;
  d->name = "TEST";
  d->ctx = r->ctx;
  d->memory = m;
  d->close = test_close;
  if (!(t->interp = interp_open(r)) || !runtime_add_memory(r, m)) {
    test_close(d);
    return NULL;
  }
  d->target = t->interp->target = choose_target();
  d->needs_source = getenv("POLY_TEST_SOURCE") != NULL;
  d->compile = test_compile;
  d->program_free = test_program_free;
  d->launch = test_launch;
  d->matmul = test_matmul;
  d->library = test_library;
  return d;
}
