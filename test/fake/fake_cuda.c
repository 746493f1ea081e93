/* fake_cuda.c: a CUDA driver, NVRTC and cuBLASLt for machines without a GPU, so that the device's own code is tested
 * everywhere. Kernels are compiled by the host's C++ compiler (kernel_shim.h) and run on the host.
 *
 * What a real driver does later is done later here too: launches and copies are queued and run when somebody waits,
 * with the arguments as they were at the launch and page-locked memory as it is when the copy runs. Device memory
 * cannot be touched by the host in between. A stream runs as far as it can before the next one does anything, so what
 * does not wait for a copy on another stream does not find it. Wrong handles, freed memory and unknown kernels are
 * errors.
 *
 * fake_cuda_set("memory", bytes) sets the size of the card's memory, ("fault", status) the result of the next wait,
 * ("kernels", 0) what fake_cuda_count returns. */
#include "runtime/cuda_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#ifndef FAKE_FLAGS /* those that the header was compiled with ahead */
#define FAKE_FLAGS "-std=c++17 -O0 -w -fPIC -ffp-contract=off -fwrapv -fno-strict-aliasing"
#endif
enum { INVALID = 1, NOT_FOUND = 500, MAX_BLOCKS = 65536 };

/* ---- state ---- */

typedef struct Function {
  char name[256];
  void *(*pack)(void **params);
  void (*run)(void *call, const unsigned *grid, const unsigned *block);
  void (*release)(void *call);
} Function;

typedef enum OpKind { OP_KERNEL, OP_TO_CARD, OP_TO_HOST, OP_ON_CARD, OP_FILL, OP_EVENT, OP_WAIT, OP_PRODUCT } OpKind;
typedef struct Product {
  int type, op_a, op_b, batch;
  uint64_t m, n, k;
  int64_t lda, ldb, ldc, sa, sb, sc;
  const void *a, *b;
  void *c;
} Product;
typedef struct Op {
  OpKind kind;
  Function *function;
  void *call;
  unsigned grid[3], block[3];
  void *to;
  const void *from;
  void *own; /* bytes of pageable memory, taken at once */
  size_t bytes;
  unsigned char byte;
  struct Event *event;
  long record; /* of the event: which of those made of it */
  Product product;
  struct Op *next;
  struct Op **after; /* recorded: what it waits for */
  int nafter, depth;
} Op;

typedef struct Event {
  long made, passed; /* records of it */
  double ms;
} Event;

enum { MOST_STREAMS = 64 };
typedef struct Stream {
  Op *first, *last; /* queued */
} Stream;

/* wait: what the next operation that is recorded waits for. */
enum { MOST_WAIT = 4096 };
typedef struct Graph {
  Op *first, *last;
  Op *wait[MOST_WAIT];
  int nwait;
} Graph;

static struct {
  bool ready;
  char *arena; /* of the card */
  size_t size, used_bytes;
  struct {
    size_t at, bytes;
  } block[MAX_BLOCKS];
  int nblock;
  struct {
    char *at;
    size_t bytes;
  } pinned[256];
  int npinned;
  Stream *stream[MOST_STREAMS];
  int nstream;
  bool capturing;
  Graph *capture;
  int fault;
  long launches, graph_launches, captures, waits, unordered, nodes, depth;
  void *current;
} fake = {.size = (size_t)1 << 30};

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

EXPORT int fake_cuda_set(const char *what, long value) {
  if (!strcmp(what, "memory"))
    fake.size = (size_t)value;
  else if (!strcmp(what, "fault"))
    fake.fault = (int)value;
  else if (!strcmp(what, "clear"))
    fake.launches = fake.graph_launches = fake.captures = fake.waits = 0;
  else
    return INVALID;
  return 0;
}
EXPORT long fake_cuda_count(const char *what) {
  if (!strcmp(what, "launches")) return fake.launches;
  if (!strcmp(what, "replays")) return fake.graph_launches;
  if (!strcmp(what, "captures")) return fake.captures;
  if (!strcmp(what, "nodes")) return fake.nodes; /* of the run recorded last, and its longest chain */
  if (!strcmp(what, "depth")) return fake.depth;
  if (!strcmp(what, "unordered")) return fake.unordered; /* recorded launches that do not wait for the one before */
  if (!strcmp(what, "waits")) return fake.waits;
  return strcmp(what, "blocks") ? -1 : fake.nblock;
}

/* ---- memory ---- */

enum { ARENA = 2000 };
static const size_t arena_bytes = (size_t)ARENA << 20;
static void open_card(bool open) { mprotect(fake.arena, arena_bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE); }

/* Does [p, p + bytes) lie in one allocation? */
static bool on_card(const void *p, size_t bytes) {
  if (!bytes) return true;
  for (int i = 0; i < fake.nblock; i++) {
    const char *from = fake.arena + fake.block[i].at;
    if ((const char *)p >= from && (const char *)p + bytes <= from + fake.block[i].bytes) return true;
  }
  return false;
}

EXPORT int cuMemAlloc_v2(CuAddress *p, size_t bytes) {
  if (!bytes) return INVALID;
  bytes = (bytes + 511) / 512 * 512;
  if (fake.nblock == MAX_BLOCKS || fake.used_bytes + bytes > fake.size) return CU_OUT_OF_MEMORY;
  size_t at = 0;
  int i = 0;
  while (i < fake.nblock && fake.block[i].at - at < bytes) { /* sorted by address */
    at = fake.block[i].at + fake.block[i].bytes;
    i++;
  }
  if (at + bytes > arena_bytes) return CU_OUT_OF_MEMORY;
  memmove(&fake.block[i + 1], &fake.block[i], (size_t)(fake.nblock - i) * sizeof fake.block[0]);
  fake.block[i].at = at;
  fake.block[i].bytes = bytes;
  fake.nblock++;
  fake.used_bytes += bytes;
  open_card(true);
  memset(fake.arena + at, 0xff, bytes);
  open_card(false);
  *p = (CuAddress)(uintptr_t)(fake.arena + at);
  return 0;
}

static int drain(const Event *until);
EXPORT int cuMemFree_v2(CuAddress p) {
  if (fake.capturing) return 900;
  int status = drain(NULL);
  if (status) return status;
  for (int i = 0; i < fake.nblock; i++) {
    if ((CuAddress)(uintptr_t)(fake.arena + fake.block[i].at) != p) continue;
    fake.used_bytes -= fake.block[i].bytes;
    fake.nblock--;
    memmove(&fake.block[i], &fake.block[i + 1], (size_t)(fake.nblock - i) * sizeof fake.block[0]);
    return 0;
  }
  return INVALID;
}
EXPORT int cuMemGetInfo_v2(size_t *available, size_t *total) {
  *total = fake.size;
  *available = fake.size - fake.used_bytes;
  return 0;
}
EXPORT int cuMemHostAlloc(void **p, size_t bytes, unsigned flags) {
  (void)flags;
  if (fake.npinned == 256 || !(*p = malloc(bytes))) return CU_OUT_OF_MEMORY;
  fake.pinned[fake.npinned].at = *p;
  fake.pinned[fake.npinned++].bytes = bytes;
  return 0;
}
EXPORT int cuMemFreeHost(void *p) {
  int status = drain(NULL);
  for (int i = 0; i < fake.npinned; i++)
    if (fake.pinned[i].at == p) {
      fake.pinned[i] = fake.pinned[--fake.npinned];
      free(p);
      return status;
    }
  return INVALID;
}
static bool is_pinned(const void *p, size_t bytes) {
  for (int i = 0; i < fake.npinned; i++)
    if ((const char *)p >= fake.pinned[i].at && (const char *)p + bytes <= fake.pinned[i].at + fake.pinned[i].bytes)
      return true;
  return false;
}

/* ---- matrix products ---- */

static double get(const void *p, int type, int64_t i) {
  uint16_t h;
  uint32_t u;
  float f;
  switch (type) {
  case LT_R_64F: return ((const double *)p)[i];
  case LT_R_32F: return ((const float *)p)[i];
  case LT_R_16F: {
    _Float16 v;
    memcpy(&v, (const char *)p + 2 * i, 2);
    return (double)v;
  }
  default:
    memcpy(&h, (const char *)p + 2 * i, 2);
    u = (uint32_t)h << 16;
    memcpy(&f, &u, 4);
    return f;
  }
}
static void put(void *p, int type, int64_t i, double v) {
  float f = (float)v;
  uint32_t u;
  uint16_t h;
  _Float16 half = (_Float16)f;
  switch (type) {
  case LT_R_64F: ((double *)p)[i] = v; break;
  case LT_R_32F: ((float *)p)[i] = f; break;
  case LT_R_16F: memcpy((char *)p + 2 * i, &half, 2); break;
  default:
    memcpy(&u, &f, 4);
    h = v != v ? 0x7fc0 : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
    memcpy((char *)p + 2 * i, &h, 2);
  }
}
static void multiply(const Product *p) {
  for (int b = 0; b < p->batch; b++)
    for (uint64_t j = 0; j < p->n; j++)
      for (uint64_t i = 0; i < p->m; i++) {
        double sum = 0;
        for (uint64_t l = 0; l < p->k; l++) {
          int64_t a = p->op_a ? (int64_t)l + (int64_t)i * p->lda : (int64_t)i + (int64_t)l * p->lda;
          int64_t c = p->op_b ? (int64_t)j + (int64_t)l * p->ldb : (int64_t)l + (int64_t)j * p->ldb;
          sum += get(p->a, p->type, a + b * p->sa) * get(p->b, p->type, c + b * p->sb);
        }
        put(p->c, p->type, (int64_t)i + (int64_t)j * p->ldc + b * p->sc, sum);
      }
}

/* ---- the queue ---- */

static void run_op(Op *op) {
  switch (op->kind) {
  case OP_KERNEL: op->function->run(op->call, op->grid, op->block); break;
  case OP_TO_CARD:
  case OP_TO_HOST:
  case OP_ON_CARD: memmove(op->to, op->own ? op->own : op->from, op->bytes); break;
  case OP_FILL: memset(op->to, op->byte, op->bytes); break;
  case OP_EVENT:
    op->event->passed = op->record;
    op->event->ms = now_ms();
    break;
  case OP_WAIT: break;
  case OP_PRODUCT: multiply(&op->product); break;
  }
}

static void free_op(Op *op) {
  if (op->kind == OP_KERNEL) op->function->release(op->call);
  free(op->own);
  free(op);
}

/* False: nothing is queued there, or it waits for another stream. */
static bool run_next(Stream *stream) {
  Op *op = stream->first;
  if (!op || (op->kind == OP_WAIT && op->event->passed < op->record)) return false;
  stream->first = op->next;
  if (!stream->first) stream->last = NULL;
  run_op(op);
  free_op(op);
  return true;
}

/* Runs what is queued, up to the event's last record if one is given. */
static int drain(const Event *until) {
  if (fake.fault) return fake.fault;
  long record = until ? until->made : 0;
  bool moved = true;
  open_card(true);
  while (moved && (!until || until->passed < record)) {
    moved = false;
    for (int k = 0; k < fake.nstream; k++)
      while ((!until || until->passed < record) && run_next(fake.stream[k])) moved = true;
  }
  open_card(false);
  return 0;
}

static void append(Op **first, Op **last, Op *op) {
  op->next = NULL;
  if (*last)
    (*last)->next = op;
  else
    *first = op;
  *last = op;
}

/* Are all that op waits for among the first n of the list? */
static bool is_ready(const Op *op, int n, Op *const *node) {
  for (int k = 0; k < op->nafter; k++) {
    bool found = false;
    for (int i = 0; i < n && !found; i++) found = node[i] == op->after[k];
    if (!found) return false;
  }
  return true;
}

static int queue(CuStream stream, Op op) {
  Op *copy = malloc(sizeof *copy);
  if (!copy) return CU_OUT_OF_MEMORY;
  *copy = op;
  if (fake.capturing) {
    Graph *g = fake.capture;
    copy->nafter = g->nwait;
    copy->after = calloc((size_t)g->nwait + 1, sizeof *copy->after);
    memcpy(copy->after, g->wait, (size_t)g->nwait * sizeof *copy->after);
    fake.unordered += g->last && !is_ready(&(Op){.after = &g->last, .nafter = 1}, copy->nafter, copy->after);
    append(&g->first, &g->last, copy);
    g->wait[0] = copy;
    g->nwait = 1;
  } else
    append(&((Stream *)stream)->first, &((Stream *)stream)->last, copy);
  return 0;
}

EXPORT int cuMemcpyHtoDAsync_v2(CuAddress to, const void *from, size_t bytes, CuStream stream) {
  if (!on_card((void *)(uintptr_t)to, bytes)) return INVALID;
  Op op = {.kind = OP_TO_CARD, .to = (void *)(uintptr_t)to, .from = from, .bytes = bytes};
  if (!is_pinned(from, bytes) && bytes) {
    if (!(op.own = malloc(bytes))) return CU_OUT_OF_MEMORY;
    memcpy(op.own, from, bytes);
  }
  return queue(stream, op);
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, CuAddress from, size_t bytes, CuStream stream) {
  if (!on_card((void *)(uintptr_t)from, bytes)) return INVALID;
  int status = queue(stream, (Op){.kind = OP_TO_HOST, .to = to, .from = (void *)(uintptr_t)from, .bytes = bytes});
  return status || is_pinned(to, bytes) ? status : drain(NULL);
}
EXPORT int cuMemcpyDtoDAsync_v2(CuAddress to, CuAddress from, size_t bytes, CuStream stream) {
  if (!on_card((void *)(uintptr_t)to, bytes) || !on_card((void *)(uintptr_t)from, bytes)) return INVALID;
  return queue(stream,
               (Op){.kind = OP_ON_CARD, .to = (void *)(uintptr_t)to, .from = (void *)(uintptr_t)from, .bytes = bytes});
}
EXPORT int cuMemsetD8Async(CuAddress p, unsigned char byte, size_t bytes, CuStream stream) {
  if (!on_card((void *)(uintptr_t)p, bytes)) return INVALID;
  return queue(stream, (Op){.kind = OP_FILL, .to = (void *)(uintptr_t)p, .byte = byte, .bytes = bytes});
}

/* ---- devices, contexts, streams, events ---- */

EXPORT int cuInit(unsigned flags) {
  if (flags) return INVALID;
  if (!fake.arena) {
    fake.arena = mmap(NULL, arena_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fake.arena == MAP_FAILED) return CU_OUT_OF_MEMORY;
  }
  return getenv("FAKE_CUDA_NO_GPU") ? CU_NO_DEVICE : 0;
}
EXPORT int cuDriverGetVersion(int *version) {
  const char *env = getenv("FAKE_CUDA_VERSION");
  *version = env ? atoi(env) : 12040;
  return 0;
}
EXPORT int cuGetErrorName(int error, const char **text) {
  *text = error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
  return 0;
}
EXPORT int cuGetErrorString(int error, const char **text) {
  *text = error == 700 ? "an illegal memory access was encountered" : error == 2 ? "out of memory" : "fake error";
  return 0;
}
EXPORT int cuDeviceGetCount(int *n) {
  *n = 2;
  return 0;
}
EXPORT int cuDeviceGet(int *device, int number) {
  *device = number;
  return number < 0 || number > 1 ? 101 : 0;
}
EXPORT int cuDeviceGetName(char *name, int n, int device) {
  snprintf(name, (size_t)n, "Fake GPU %d", device);
  return 0;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  switch (attribute) {
  case CU_THREADS_PER_BLOCK: *value = 1024; return 0;
  case CU_MULTIPROCESSORS: *value = 4; return 0;
  case CU_MEMORY_CLOCK: *value = 1000000; return 0;
  case CU_MEMORY_BITS: *value = 256; return 0;
  case CU_L2_BYTES: *value = 1 << 20; return 0;
  case CU_MAJOR: *value = 9; return 0;
  case CU_MINOR: *value = 0; return 0;
  case CU_SHARED_BYTES: *value = 99 << 10; return 0;
  default: return INVALID;
  }
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  (void)device;
  *bytes = fake.size;
  return 0;
}
static char contexts[2];
EXPORT int cuDevicePrimaryCtxRetain(CuContext *context, int device) {
  *context = (CuContext)&contexts[device];
  return 0;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  (void)device;
  return 0;
}
EXPORT int cuCtxGetCurrent(CuContext *context) {
  *context = fake.current;
  return 0;
}
EXPORT int cuCtxSetCurrent(CuContext context) {
  fake.current = context;
  return 0;
}
EXPORT int cuCtxSynchronize(void) { return fake.capturing ? 900 : drain(NULL); }
EXPORT int cuStreamCreate(CuStream *stream, unsigned flags) {
  (void)flags;
  if (!fake.current) return 201;
  if (fake.nstream == MOST_STREAMS) return CU_OUT_OF_MEMORY;
  fake.stream[fake.nstream] = calloc(1, sizeof(Stream));
  *stream = (CuStream)fake.stream[fake.nstream++];
  return 0;
}
EXPORT int cuStreamDestroy_v2(CuStream stream) {
  int status = drain(NULL), at = 0;
  while (at < fake.nstream && fake.stream[at] != (Stream *)stream) at++;
  if (at == fake.nstream) return INVALID;
  memmove(&fake.stream[at], &fake.stream[at + 1], (size_t)(--fake.nstream - at) * sizeof fake.stream[0]);
  free(stream);
  return status;
}
EXPORT int cuStreamSynchronize(CuStream stream) {
  (void)stream;
  fake.waits++;
  return fake.capturing ? 900 : drain(NULL);
}
EXPORT int cuEventCreate(CuEvent *event, unsigned flags) {
  (void)flags;
  *event = calloc(1, sizeof(Event));
  return 0;
}
EXPORT int cuEventDestroy_v2(CuEvent event) {
  int status = drain((Event *)event);
  free(event);
  return status;
}
EXPORT int cuEventRecord(CuEvent event, CuStream stream) {
  Event *e = (Event *)event;
  return queue(stream, (Op){.kind = OP_EVENT, .event = e, .record = ++e->made});
}
EXPORT int cuEventSynchronize(CuEvent event) {
  fake.waits++;
  return drain((Event *)event);
}
EXPORT int cuEventQuery(CuEvent event) {
  const Event *e = (Event *)event;
  return e->passed < e->made ? 600 : 0;
}
EXPORT int cuStreamWaitEvent(CuStream stream, CuEvent event, unsigned flags) {
  Event *e = (Event *)event;
  return flags || fake.capturing ? INVALID : queue(stream, (Op){.kind = OP_WAIT, .event = e, .record = e->made});
}
EXPORT int cuEventElapsedTime(float *ms, CuEvent from, CuEvent to) {
  if (cuEventQuery(from) || cuEventQuery(to)) return 600;
  *ms = (float)(((Event *)to)->ms - ((Event *)from)->ms);
  return 0;
}

/* ---- kernels ---- */

typedef struct Module {
  void *handle;
  Function function[512];
  int nfunction;
} Module;

EXPORT int cuModuleLoadData(CuModule *module, const void *image) {
  uint64_t size;
  memcpy(&size, image, 8);
  char path[] = "/tmp/fake-cuda-XXXXXX";
  int fd = mkstemp(path);
  if (fd < 0 || size > (1u << 30)) return 200;
  const char *at = (const char *)image + 8;
  for (size_t left = size; left;) {
    ssize_t n = write(fd, at, left);
    if (n <= 0) return 200;
    at += n;
    left -= (size_t)n;
  }
  close(fd);
  Module *m = calloc(1, sizeof *m);
  m->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  unlink(path);
  if (!m->handle) {
    fprintf(stderr, "fake CUDA: %s\n", dlerror());
    free(m);
    return 200;
  }
  *module = (CuModule)m;
  return 0;
}
EXPORT int cuModuleUnload(CuModule module) {
  int status = drain(NULL);
  dlclose(((Module *)module)->handle);
  free(module);
  return status;
}
EXPORT int cuModuleGetFunction(CuFunction *function, CuModule module, const char *name) {
  Module *m = (Module *)module;
  for (int i = 0; i < m->nfunction; i++)
    if (!strcmp(m->function[i].name, name)) {
      *function = (CuFunction)&m->function[i];
      return 0;
    }
  Function *f = &m->function[m->nfunction];
  char symbol[300];
  snprintf(f->name, sizeof f->name, "%s", name);
  snprintf(symbol, sizeof symbol, "fake_pack_%s", name);
  *(void **)&f->pack = dlsym(m->handle, symbol);
  snprintf(symbol, sizeof symbol, "fake_run_%s", name);
  *(void **)&f->run = dlsym(m->handle, symbol);
  snprintf(symbol, sizeof symbol, "fake_free_%s", name);
  *(void **)&f->release = dlsym(m->handle, symbol);
  if (!f->pack || !f->run || !f->release || m->nfunction == 511) return NOT_FOUND;
  m->nfunction++;
  *function = (CuFunction)f;
  return 0;
}
EXPORT int cuFuncSetAttribute(CuFunction function, int attribute, int value) {
  return function && attribute == CU_FUNCTION_SHARED && value >= 0 ? 0 : INVALID;
}
static Op kernel_op(CuFunction function, const unsigned *grid, const unsigned *block, void **params) {
  Op op = {.kind = OP_KERNEL, .function = (Function *)function};
  memcpy(op.grid, grid, sizeof op.grid);
  memcpy(op.block, block, sizeof op.block);
  op.call = op.function->pack(params);
  return op;
}
EXPORT int cuLaunchKernel(CuFunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, CuStream stream, void **params, void **extra) {
  if (!function || extra || !gx || !gy || !gz || !bx || !by || !bz || gx > INT32_MAX || gy > 65535 || gz > 65535 ||
      bx * by * bz > 1024 || shared > 99 << 10)
    return INVALID;
  fake.launches++;
  return queue(stream, kernel_op(function, (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, params));
}

/* ---- graphs ---- */

EXPORT int cuStreamBeginCapture_v2(CuStream stream, int mode) {
  (void)stream;
  (void)mode;
  if (fake.capturing) return INVALID;
  fake.capturing = true;
  fake.capture = calloc(1, sizeof *fake.capture);
  return 0;
}
EXPORT int cuStreamEndCapture(CuStream stream, CuGraph *graph) {
  (void)stream;
  if (!fake.capturing) return INVALID;
  fake.capturing = false;
  fake.captures++;
  *graph = (CuGraph)fake.capture;
  return 0;
}
EXPORT int cuStreamGetCaptureInfo_v2(CuStream stream, int *status, uint64_t *id, CuGraph *graph,
                                     const CuGraphNode **last, size_t *nlast) {
  (void)stream;
  *status = fake.capturing;
  if (id) *id = 1;
  if (graph) *graph = (CuGraph)fake.capture;
  if (last) *last = (const CuGraphNode *)fake.capture->wait;
  if (nlast) *nlast = (size_t)fake.capture->nwait;
  return 0;
}
EXPORT int cuStreamUpdateCaptureDependencies(CuStream stream, CuGraphNode *node, size_t n, unsigned flags) {
  (void)stream;
  Graph *g = fake.capture;
  if (!fake.capturing || flags > 1 || n + (size_t)g->nwait > MOST_WAIT) return INVALID;
  if (flags == CU_SET_DEPENDENCIES) g->nwait = 0;
  for (size_t i = 0; i < n; i++) g->wait[g->nwait++] = (Op *)node[i];
  return 0;
}
/* An executable graph is the graph itself: whoever destroys the graph first leaves its operations to the other. */
typedef struct Exec {
  int n;
  Op **node, *op;
} Exec;
/* The operations in an order that their dependencies allow, as far from that of the recording as can be: what was
 * recorded last goes first, so a missing dependency shows. */
static void order_nodes(Exec *e, const Graph *g) {
  bool *taken = calloc((size_t)e->n + 1, 1);
  Op **all = calloc((size_t)e->n + 1, sizeof *all);
  int n = 0;
  for (Op *op = g->first; op; op = op->next) all[n++] = op;
  for (int i = 0; i < e->n; i++) {
    int k = e->n - 1;
    while (taken[k] || !is_ready(all[k], i, e->node)) k--;
    taken[k] = true;
    e->node[i] = all[k];
  }
  fake.nodes = e->n;
  fake.depth = 0;
  for (int i = 0; i < e->n; i++) {
    Op *op = e->node[i];
    op->depth = 1;
    for (int k = 0; k < op->nafter; k++)
      op->depth = op->depth > op->after[k]->depth ? op->depth : op->after[k]->depth + 1;
    if (op->depth > fake.depth) fake.depth = op->depth;
  }
  free(all);
  free(taken);
}
EXPORT int cuGraphInstantiateWithFlags(CuGraphExec *exec, CuGraph graph, unsigned long long flags) {
  (void)flags;
  Exec *e = calloc(1, sizeof *e);
  const Graph *g = (const Graph *)graph;
  for (Op *op = g->first; op; op = op->next) e->n++;
  e->op = calloc((size_t)e->n + 1, sizeof *e->op);
  e->node = calloc((size_t)e->n + 1, sizeof *e->node);
  order_nodes(e, g);
  for (int i = 0; i < e->n; i++) e->op[i] = *e->node[i];
  *exec = (CuGraphExec)e;
  return 0;
}
EXPORT int cuGraphExecKernelNodeSetParams(CuGraphExec exec, CuGraphNode node, const CuKernelNode *params) {
  Exec *e = (Exec *)exec;
  for (int i = 0; i < e->n; i++) {
    if (e->node[i] != (Op *)node) continue;
    if (e->op[i].kind != OP_KERNEL || e->op[i].function != (Function *)params->function) return INVALID;
    e->op[i] = kernel_op(params->function, params->grid, params->block, params->params);
    return 0;
  }
  return INVALID;
}
static void keep_call(void *call) { (void)call; }
EXPORT int cuGraphLaunch(CuGraphExec exec, CuStream stream) {
  Exec *e = (Exec *)exec;
  fake.graph_launches++;
  for (int i = 0; i < e->n; i++) {
    Op op = e->op[i];
    if (op.kind == OP_KERNEL) { /* the arguments stay the graph's */
      static Function shared[65536];
      static int used;
      Function *f = &shared[used++ % 65536];
      *f = *op.function;
      f->release = keep_call;
      op.function = f;
    }
    int status = queue(stream, op);
    if (status) return status;
  }
  return 0;
}
EXPORT int cuGraphExecDestroy(CuGraphExec exec) {
  int status = drain(NULL);
  free(((Exec *)exec)->op);
  free(((Exec *)exec)->node);
  free(exec);
  return status;
}
EXPORT int cuGraphDestroy(CuGraph graph) {
  free(graph);
  return 0;
}

/* ---- NVRTC ---- */

typedef struct Text {
  char *source, *image, log[4096];
  size_t bytes;
} Text;

EXPORT int nvrtcVersion(int *major, int *minor) {
  *major = 12;
  *minor = 4;
  return 0;
}
EXPORT int nvrtcGetNumSupportedArchs(int *n) {
  *n = 2;
  return 0;
}
EXPORT int nvrtcGetSupportedArchs(int *archs) {
  archs[0] = 80;
  archs[1] = 90;
  return 0;
}
EXPORT int nvrtcCreateProgram(NvrtcProgram *program, const char *source, const char *name, int nheader,
                              const char *const *header, const char *const *include) {
  (void)name, (void)nheader, (void)header, (void)include;
  Text *t = calloc(1, sizeof *t);
  t->source = strdup(source);
  *program = (NvrtcProgram)t;
  return 0;
}
EXPORT int nvrtcDestroyProgram(NvrtcProgram *program) {
  Text *t = (Text *)*program;
  free(t->source);
  free(t->image);
  free(t);
  *program = NULL;
  return 0;
}

/* A function with C linkage for each kernel that packs arguments, runs and frees. */
static void write_entries(FILE *f, const char *source) {
  static const char mark[] = "__global__ void";
  for (const char *at = source; (at = strstr(at, mark));) {
    at += sizeof mark - 1;
    while (*at == ' ') at++;
    if (!strncmp(at, "__launch_bounds__", 17)) at = strchr(at, ')') + 1;
    while (*at == ' ') at++;
    size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (!n || at[n] != '(') continue;
    fprintf(f,
            "extern \"C\" void *fake_pack_%.*s(void **p) { return fake::pack_all(%.*s, p); }\n"
            "extern \"C\" void fake_run_%.*s(void *c, const unsigned *g, const unsigned *b) { fake::run_all(%.*s, c, "
            "g, b); }\n"
            "extern \"C\" void fake_free_%.*s(void *c) { fake::free_all(%.*s, c); }\n",
            (int)n, at, (int)n, at, (int)n, at, (int)n, at, (int)n, at, (int)n, at);
  }
}

/* Kernels written with a macro for their beginning: the macro's text is found after the preprocessor has run. */
static char *preprocess(const char *dir, const char *source) {
  char path[512], command[2048];
  snprintf(path, sizeof path, "%s/text.cpp", dir);
  FILE *f = fopen(path, "w");
  fputs(source, f);
  fclose(f);
  snprintf(command, sizeof command, "g++ -E -P -w %s -o %s/text.i 2>/dev/null", path, dir);
  if (system(command) != 0) return NULL;
  snprintf(path, sizeof path, "%s/text.i", dir);
  if (!(f = fopen(path, "r"))) return NULL;
  fseek(f, 0, SEEK_END);
  size_t n = (size_t)ftell(f);
  rewind(f);
  char *text = calloc(1, n + 1);
  if (fread(text, 1, n, f) != n) text[0] = 0;
  fclose(f);
  return text;
}

static const char *shim_path(void) {
  static char path[1024];
  const char *env = getenv("FAKE_CUDA_SHIM");
  if (env) return env;
  Dl_info here;
  if (!dladdr((void *)&fake, &here)) return "kernel_shim.h";
  snprintf(path, sizeof path - 32, "%s", here.dli_fname);
  char *slash = strrchr(path, '/');
  strcpy(slash ? slash + 1 : path, "kernel_shim.h");
  return path;
}

EXPORT int nvrtcCompileProgram(NvrtcProgram program, int noption, const char *const *option) {
  Text *t = (Text *)program;
  bool arch = false;
  for (int i = 0; i < noption; i++) arch |= !strncmp(option[i], "--gpu-architecture=", 19);
  if (!arch) return 5;
  char dir[] = "/tmp/fake-nvrtc-XXXXXX", path[512], command[2048];
  if (!mkdtemp(dir)) return 1;
  char *text = strstr(t->source, "#define KERNEL") ? preprocess(dir, t->source) : strdup(t->source);
  int status = text ? 0 : 6;
  if (!status) {
    snprintf(path, sizeof path, "%s/kernels.cpp", dir);
    FILE *f = fopen(path, "w");
    fprintf(f,
            "#include \"%s\"\n#define int64_t fake_int64\n#define uint64_t fake_uint64\n#define uint fake_uint\n"
            "#define ulong fake_ulong\n#define ushort fake_ushort\n#define uchar fake_uchar\n",
            shim_path());
    fputs(text, f);
    fputs("\n", f);
    write_entries(f, text);
    fclose(f);
    snprintf(command, sizeof command,
             "g++ " FAKE_FLAGS " -shared -o %s/kernels.so %s "
             "2>%s/log",
             dir, path, dir);
    status = system(command) == 0 ? 0 : 6;
  }
  snprintf(path, sizeof path, "%s/%s", dir, status ? "log" : "kernels.so");
  FILE *f = fopen(path, "r");
  if (f && status) t->log[fread(t->log, 1, sizeof t->log - 1, f)] = 0;
  if (f && !status) {
    fseek(f, 0, SEEK_END);
    uint64_t size = (uint64_t)ftell(f);
    rewind(f);
    t->bytes = size + 8;
    t->image = malloc(t->bytes);
    memcpy(t->image, &size, 8);
    if (fread(t->image + 8, 1, size, f) != size) status = 1;
  }
  if (f) fclose(f);
  if (status && getenv("FAKE_CUDA_KEEP"))
    fprintf(stderr, "fake NVRTC: %s: %s\n", dir, t->log);
  else {
    snprintf(command, sizeof command, "rm -rf %s", dir);
    if (system(command) != 0) status = status ? status : 1;
  }
  free(text);
  return status;
}
EXPORT int nvrtcGetProgramLogSize(NvrtcProgram program, size_t *n) {
  *n = strlen(((Text *)program)->log) + 1;
  return 0;
}
EXPORT int nvrtcGetProgramLog(NvrtcProgram program, char *log) {
  strcpy(log, ((Text *)program)->log);
  return 0;
}
EXPORT int nvrtcGetCUBINSize(NvrtcProgram program, size_t *n) {
  *n = ((Text *)program)->bytes;
  return 0;
}
EXPORT int nvrtcGetCUBIN(NvrtcProgram program, char *cubin) {
  memcpy(cubin, ((Text *)program)->image, ((Text *)program)->bytes);
  return 0;
}
EXPORT int nvrtcGetPTXSize(NvrtcProgram program, size_t *n) { return nvrtcGetCUBINSize(program, n); }
EXPORT int nvrtcGetPTX(NvrtcProgram program, char *ptx) { return nvrtcGetCUBIN(program, ptx); }

/* ---- cuBLASLt ---- */

typedef struct Layout {
  int type;
  uint64_t rows, cols;
  int64_t ld, stride;
  int batch;
} Layout;
typedef struct Desc {
  int compute, scale, op[2];
} Desc;

EXPORT int cublasLtCreate(Lt *lt) {
  *lt = malloc(1);
  return 0;
}
EXPORT int cublasLtDestroy(Lt lt) {
  free(lt);
  return 0;
}
EXPORT int cublasLtMatmulDescCreate(LtProduct *product, int compute, int scale) {
  Desc *d = calloc(1, sizeof *d);
  *d = (Desc){compute, scale, {0, 0}};
  *product = (LtProduct)d;
  return 0;
}
EXPORT int cublasLtMatmulDescDestroy(LtProduct product) {
  free(product);
  return 0;
}
EXPORT int cublasLtMatmulDescSetAttribute(LtProduct product, int attribute, const void *value, size_t bytes) {
  if (bytes != 4 || attribute < LT_TRANSPOSE_A || attribute > LT_TRANSPOSE_B) return 7;
  memcpy(&((Desc *)product)->op[attribute - LT_TRANSPOSE_A], value, 4);
  return 0;
}
EXPORT int cublasLtMatrixLayoutCreate(LtLayout *layout, int type, uint64_t rows, uint64_t cols, int64_t ld) {
  if (ld < (int64_t)rows) return 7;
  Layout *l = calloc(1, sizeof *l);
  *l = (Layout){type, rows, cols, ld, 0, 1};
  *layout = (LtLayout)l;
  return 0;
}
EXPORT int cublasLtMatrixLayoutDestroy(LtLayout layout) {
  free(layout);
  return 0;
}
EXPORT int cublasLtMatrixLayoutSetAttribute(LtLayout layout, int attribute, const void *value, size_t bytes) {
  Layout *l = (Layout *)layout;
  if (attribute == LT_BATCH_COUNT && bytes == 4)
    memcpy(&l->batch, value, 4);
  else if (attribute == LT_BATCH_STRIDE && bytes == 8)
    memcpy(&l->stride, value, 8);
  else
    return 7;
  return 0;
}
EXPORT int cublasLtMatmulPreferenceCreate(LtPreference *preference) {
  *preference = malloc(1);
  return 0;
}
EXPORT int cublasLtMatmulPreferenceDestroy(LtPreference preference) {
  free(preference);
  return 0;
}
EXPORT int cublasLtMatmulPreferenceSetAttribute(LtPreference preference, int attribute, const void *value,
                                                size_t bytes) {
  (void)preference, (void)value;
  return attribute == LT_WORKSPACE                                                  ? (bytes == 8 ? 0 : 7)
         : attribute >= LT_ALIGNMENT_A && attribute <= LT_ALIGNMENT_D && bytes == 4 ? 0
                                                                                    : 7;
}
/* Sizes of operands agree with those of the product. */
static bool product_fits(const Desc *d, const Layout *a, const Layout *b, const Layout *c) {
  uint64_t m = d->op[0] ? a->cols : a->rows, k = d->op[0] ? a->rows : a->cols;
  uint64_t k2 = d->op[1] ? b->cols : b->rows, n = d->op[1] ? b->rows : b->cols;
  return m == c->rows && n == c->cols && k == k2 && a->batch == b->batch && a->batch == c->batch && a->type == c->type;
}
EXPORT int cublasLtMatmulAlgoGetHeuristic(Lt lt, LtProduct product, LtLayout a, LtLayout b, LtLayout c, LtLayout d,
                                          LtPreference preference, int wanted, LtChoice *choice, int *found) {
  (void)lt, (void)d, (void)preference;
  if (wanted < 1 || !product_fits((Desc *)product, (Layout *)a, (Layout *)b, (Layout *)c)) return 7;
  *found = wanted < 2 ? 1 : 2;
  for (int i = 0; i < *found; i++) {
    memset(&choice[i], 0, sizeof *choice);
    choice[i].algorithm.data[0] = 42;
    choice[i].workspace = (size_t)i << 20;
  }
  return 0;
}
EXPORT int cublasLtMatmul(Lt lt, LtProduct product, const void *alpha, const void *a, LtLayout la, const void *b,
                          LtLayout lb, const void *beta, const void *c, LtLayout lc, void *d, LtLayout ld,
                          const LtAlgorithm *algorithm, void *workspace, size_t workspace_bytes, CuStream stream) {
  (void)lt, (void)ld;
  const Desc *p = (const Desc *)product;
  const Layout *x = (const Layout *)la, *y = (const Layout *)lb, *z = (const Layout *)lc;
  double one = p->scale == LT_R_64F ? *(const double *)alpha : *(const float *)alpha;
  double zero = p->scale == LT_R_64F ? *(const double *)beta : *(const float *)beta;
  if (algorithm->data[0] != 42 || c != d || one != 1 || zero != 0 || !on_card(workspace, workspace_bytes) ||
      !product_fits(p, x, y, z) || !on_card(a, 1) || !on_card(b, 1) || !on_card(d, 1))
    return 7;
  Product q = {x->type, p->op[0], p->op[1], x->batch,  z->rows,   z->cols,   p->op[0] ? x->rows : x->cols,
               x->ld,   y->ld,    z->ld,    x->stride, y->stride, z->stride, a,
               b,       d};
  return queue(stream, (Op){.kind = OP_PRODUCT, .product = q});
}
