/* runtime.c: the devices of a context: which there are, which one is current, how many threads and bytes.
 *
 * In: POLY_DEVICE, POLY_THREADS, POLY_CACHE_DIR, POLY_CACHE_SIZE, POLY_TIER. Out: devices, opened when they are first
 * asked for. Without POLY_DEVICE the CPU is used if a compiler is found, else the interpreter, which needs none. */
#include "runtime/host.h"
#include "runtime/cpu.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const struct {
  const char *name;
  Device *(*open)(Runtime *r);
  Device *(*open_number)(Runtime *r, int number); /* instead, where a machine may have several: "CUDA:1" */
} known[] = {{"CPU", cpu_open, NULL},
             {"INTERP", interp_open, NULL},
             {"TEST", testdev_open, NULL},
             {"OPENCL", opencl_open, NULL},
             {"CUDA", NULL, cuda_open}};

/* ---- the host's memory, and what its devices share ---- */

static void *host_alloc(Memory *m, size_t bytes) { return heap_alloc(&((HeapMemory *)m)->heap, bytes); }

static void host_free(Memory *m, void *p, size_t bytes) {
  (void)bytes;
  heap_free(&((HeapMemory *)m)->heap, p);
}

static void host_trim(Memory *m) { heap_trim(&((HeapMemory *)m)->heap, 0); }

static bool host_copy(Memory *m, void *dst, const void *src, size_t bytes) {
  (void)m;
  if (bytes) memmove(dst, src, bytes);
  return true;
}

/* What this process may use: the machine's memory, or less in a container. */
static size_t machine_memory(void) {
  static const char *const limits[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  size_t least = pages > 0 && size > 0 ? (size_t)pages * (size_t)size : SIZE_MAX;
  for (int i = 0; i < LEN(limits); i++) {
    unsigned long long limit;
    FILE *f = fopen(limits[i], "r");
    if (f && fscanf(f, "%llu", &limit) == 1) least = MIN(least, (size_t)limit);
    if (f) fclose(f);
  }
  return least;
}

bool host_memory_open(Runtime *r) {
  HeapMemory *h = mem_new(ctx_base(r->ctx), sizeof *h);
  if (!h) return false;
  h->memory = (Memory){.name = "the host", .runtime = r, .alloc = host_alloc, .free = host_free, .trim = host_trim};
  h->memory.copy_in = h->memory.copy_out = h->memory.copy = host_copy;
  h->memory.capacity = machine_memory();
  h->heap.memory = &h->memory;
  return runtime_add_memory(r, &h->memory);
}

void host_memory_close(Runtime *r) {
  HeapMemory *h = (HeapMemory *)host_memory(r);
  if (!h) return;
  heap_trim(&h->heap, 0);
  mem_free(ctx_base(r->ctx), h, sizeof *h);
}

/* The vector registers that this machine has. */
static void find_vectors(Target *t) {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx512f")) {
    t->vector_bytes = 64;
    t->vector_registers = 32;
    t->masks = __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  } else if (__builtin_cpu_supports("avx2")) {
    t->vector_bytes = 32;
  }
#else
  (void)t;
#endif
}

static void find_cores(Target *t) {
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  if (n > 0 && n <= 4096) t->cores = (int)n;
}

void host_init(Device *d, Runtime *r, const char *name) {
  d->name = name;
  d->target = cpu_target;
  find_vectors(&d->target);
  find_cores(&d->target);
  d->ctx = r->ctx;
  d->memory = host_memory(r);
  d->library = library_run;
}

bool host_args_new(PolyContext *ctx, HostArgs *h, int n, const Linear *const *kernel) {
  *h = (HostArgs){.room = 1, .nkernel = n};
  if (!(h->count = mem_new(ctx_base(ctx), (size_t)MAX(n, 1) * sizeof *h->count))) return false;
  for (int k = 0; k < n; k++) {
    h->count[k] = linear_nargs(kernel[k]);
    h->room = MAX(h->room, kernel[k]->nparam);
  }
  return (h->at = mem_new(ctx_base(ctx), (size_t)h->room * sizeof *h->at)) != NULL;
}

void host_args_free(PolyContext *ctx, HostArgs *h) {
  mem_free(ctx_base(ctx), h->at, (size_t)h->room * sizeof *h->at);
  mem_free(ctx_base(ctx), h->count, (size_t)MAX(h->nkernel, 1) * sizeof *h->count);
}

void *const *host_args(HostArgs *h, int k, const MemoryRef *args, void **local) {
  void **at = local && h->count[k] <= LOCAL_ARGS ? local : h->at;
  for (int i = 0; i < h->count[k]; i++) at[i] = host_at(args[i]);
  return at;
}

bool host_index_error(PolyContext *ctx, int64_t index, int64_t size) {
  return base_fail(ctx_base(ctx), POLY_ERROR_INDEX,
                   "gather or scatter: index %lld is out of range for an axis of size %lld", (long long)index,
                   (long long)size);
}

/* ---- runtime ---- */

bool runtime_add_memory(Runtime *r, Memory *m) {
  for (m->number = 0; m->number < MAX_MEMORIES && r->memory[m->number];) m->number++;
  if (m->number == MAX_MEMORIES)
    return base_fail(ctx_base(r->ctx), POLY_ERROR_RUNTIME, "too many devices with memory of their own are open");
  r->memory[m->number] = m;
  return true;
}

/* The device's place in `known` and its number, 0 unless the name ends in one: "CUDA:1". */
static int place_of(const char *name, int *number) {
  size_t n = strcspn(name, ":");
  const char *digits = name[n] ? name + n + 1 : "0";
  size_t ndigit = strspn(digits, "0123456789");
  *number = 0;
  if (!ndigit || ndigit > 4 || digits[ndigit]) return LEN(known);
  *number = atoi(digits);
  int i = 0;
  while (i < LEN(known) && (strncasecmp(known[i].name, name, n) || known[i].name[n])) i++;
  return i < LEN(known) && *number && !known[i].open_number ? LEN(known) : i;
}

Device *runtime_find(const Runtime *r, const char *name) {
  int number, wanted, place = place_of(name, &wanted);
  for (int i = 0; place < LEN(known) && i < r->ndevice; i++)
    if (place_of(r->device[i]->name, &number) == place && number == wanted) return r->device[i];
  return NULL;
}

bool device_known(const Runtime *r, const char *name) {
  int number;
  if (place_of(name, &number) < LEN(known)) return true;
  char list[128] = "";
  for (int i = 0; i < LEN(known); i++)
    snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", known[i].name);
  return base_fail(ctx_base(r->ctx), POLY_ERROR_VALUE, "unknown device \"%s\"; known devices: %s", name, list);
}

Device *runtime_open(Runtime *r, const char *name) {
  Device *d = runtime_find(r, name);
  if (d || !device_known(r, name)) return d;
  if (r->ndevice == LEN(r->device)) return fail_null(ctx_base(r->ctx), POLY_ERROR_RUNTIME, "too many devices are open");
  int number, place = place_of(name, &number);
  d = known[place].open ? known[place].open(r) : known[place].open_number(r, number);
  if (d) r->device[r->ndevice++] = d;
  return d;
}

bool device_usable(const Device *d) {
  return !d->closed || base_fail(ctx_base(d->ctx), POLY_ERROR_RUNTIME, "the device %s was closed", d->name);
}

/* Moves what a memory holds to the host. */
static bool empty_memory(Runtime *r, const Memory *m) {
  int k = m->number;
  for (PolyBuffer *b = r->buffers; b; b = b->next)
    if (b->copy[k].valid && !buffer_read(b, host_memory(r))) return false;
  for (PolyBuffer *b = r->buffers; b; b = b->next)
    if (b->copy[k].data && !buffer_update(b, host_memory(r))) return false;
  return true;
}

bool runtime_close(Runtime *r, Device *d) {
  if (d == r->current)
    return base_fail(ctx_base(r->ctx), POLY_ERROR_VALUE, "the device %s is in use: it cannot be closed", d->name);
  bool shared = d->memory == host_memory(r);
  if (!shared && !empty_memory(r, d->memory)) return false;
  if (!shared) r->memory[d->memory->number] = NULL;
  int at = 0;
  while (r->device[at] != d) at++;
  for (r->ndevice--; at < r->ndevice; at++) r->device[at] = r->device[at + 1];
  d->closed = true;
  d->next = r->closed;
  r->closed = d;
  return true;
}

static int default_threads(void) {
  const char *env = getenv("POLY_THREADS");
  int n = env ? atoi(env) : 0;
  return n > 0 ? MIN(n, 1024) : omp_get_num_procs();
}

static int default_unit(void) {
  enum { MOST = 1 << 20 };
  const char *env = getenv("POLY_UNIT");
  int n = env ? atoi(env) : 0;
  return n > 0 ? MIN(n, MOST) : 1;
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
  const char *tier = getenv("POLY_TIER");
  r->tier = tier && !strcmp(tier, "0") ? 0 : tier && !strcmp(tier, "1") ? 1 : -1;
  r->unit_insts = default_unit();
  r->cache_limit = cache_default_limit();
  bool clean = b->code == POLY_OK;
  r->cache_dir = cache_default_dir(b);
  bool memory = (!clean || b->code != POLY_ERROR_MEMORY) && host_memory_open(r);
  if (memory) r->current = default_device(r);
  if (!r->current) {
    runtime_free(r);
    return NULL;
  }
  ctx->runtime = r;
  ctx->buffer_release = release_hook;
  return r;
}

CacheCount runtime_cached(const Runtime *r) {
  CacheCount count = {0};
  if (r->cache_dir) cache_count(r->cache_dir, &count);
  return count;
}

void runtime_clear_cache(Runtime *r) {
  if (r->cache_dir) cache_clear(r->cache_dir);
}

void runtime_free(Runtime *r) {
  if (!r) return;
  if (r->ctx->runtime == r) r->ctx->runtime = NULL;
  for (int i = 0; i < r->ndevice; i++) r->device[i]->close(r->device[i]);
  for (Device *d = r->closed; d;) {
    Device *next = d->next;
    d->close(d);
    d = next;
  }
  host_memory_close(r);
  mem_strfree(ctx_base(r->ctx), r->cache_dir);
  mem_free(ctx_base(r->ctx), r, sizeof *r);
}
