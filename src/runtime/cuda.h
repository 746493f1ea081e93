/* cuda.h: inside of the CUDA device. Private to src/runtime.
 *
 *   cuda_api.c     finds the driver, NVRTC and cuBLASLt        cuda_memory.c   blocks of the card's memory, copies
 *   cuda.c         the device: opening, launches, errors       cuda_compile.c  text to binaries, kept on disk
 *   cuda_graph.c   plans recorded and replayed                 cuda_matmul.c   matrix products
 *   cuda_order.c   which launches of a plan wait for which     cuda_library.c  sort, running sums, segment order
 *   cuda_ahead.c   copies on a stream of their own
 *
 * All work of a device goes to one stream, in order, but for copies of what a later step reads: memory that is given
 * back can be handed out again at once, since whoever gets it comes later in the stream. Only what the host reads is
 * waited for. */
#ifndef POLY_CUDA_H
#define POLY_CUDA_H

#include "runtime/cuda_api.h"
#include "runtime/gpu.h"

typedef struct CudaDevice CudaDevice;

/* ---- memory ---- */

struct CudaBlock;
enum { CUDA_BINS = 48, CUDA_CHUNKS = 4 };
enum { CUDA_CHUNK_BYTES = 4 << 20 };
typedef struct CudaMemory {
  Memory memory; /* first */
  CudaDevice *device;
  struct CudaBlock *bin[CUDA_BINS]; /* free blocks by the logarithm of their size */
  struct CudaBlock **used;          /* blocks in use, a hash table by address */
  size_t nused, room;
  /* Page-locked memory of the host that copies go through, a ring; each chunk is free once its event has passed. */
  char *chunk[CUDA_CHUNKS];
  CuEvent chunk_free[CUDA_CHUNKS];
  bool chunk_busy[CUDA_CHUNKS];
  int next_chunk;
  struct CudaAhead *ahead; /* cuda_ahead.c; NULL: nothing was copied ahead yet */
} CudaMemory;
bool cuda_memory_open(CudaDevice *c);
void cuda_memory_close(CudaDevice *c);

/* ---- cuda_ahead.c ---- */

uint64_t cuda_copy_ahead(Memory *m, void *dst, const void *host, size_t bytes);
bool cuda_arrive(Memory *m, uint64_t number);
void cuda_ahead_close(CudaDevice *c);

/* ---- errors that kernels find ---- */

/* Kinds in the first word of the record (gpu.h): an index of a gather or scatter, an index of a segment order or a
 * count, whose place is the fourth word, places of true values that do not fit. */
enum { CUDA_INDEX = 1, CUDA_SEGMENT, CUDA_ROOM, CUDA_COUNT };

/* ---- the device ---- */

struct CudaProduct;
struct CudaRoutine;
struct CudaRun;
typedef struct CudaOrder CudaOrder;
/* Memory of matrix products: the library's, which is cut into rooms, and behind it a room for results in parts. */
enum { CUDA_PRODUCTS = 256, CUDA_WORKSPACE = 32 << 20, CUDA_PARTS = 8 << 20, CUDA_ROOMS = 4, CUDA_ALL_ROOMS = 5 };
struct CudaDevice {
  Device device; /* first */
  Runtime *runtime;
  CudaApi api;
  CudaMemory memory;
  char name[16], card[128], architecture[32];
  char about[128]; /* what compiled kernels depend on besides their text */
  int number, handle, arch, multiprocessors;
  bool binary; /* NVRTC knows the architecture: cubin instead of PTX; */
  bool own;    /* with instructions that no later one has: four warps multiply matrices together */
  CuContext context;
  CuStream stream;
  CuEvent from, to; /* of the timer */
  int pid;
  char lost[200]; /* why nothing runs on it any more; empty: it works */
  CuAddress error;
  int64_t *error_copy; /* page-locked */
  /* cuda_matmul.c */
  Lt lt;
  CuAddress workspace;
  int next_room; /* the part of the workspace that the next small product works in */
  struct CudaProduct *product[CUDA_PRODUCTS];
  int nproduct;
  /* cuda_library.c */
  struct CudaRoutine *routines;
  /* cuda_graph.c */
  struct CudaRun *run; /* that is recorded or brought up to date; NULL: launches run as they come */
  CudaOrder *order;    /* cuda_order.c: of the run that is recorded; NULL: in the order of its launches */
};

/* The card's context for the calling thread while a function of the device runs. */
typedef struct CudaEntry {
  CuContext before;
  bool changed;
} CudaEntry;
bool cuda_enter(CudaDevice *c, CudaEntry *e); /* false and an error: the device is lost, or the process was forked */
void cuda_leave(CudaDevice *c, const CudaEntry *e);

/* Is the result of a call of the driver good? False and an error that says what was done. */
bool cuda_ok(CudaDevice *c, int status, const char *what);
/* All that was queued is done, and no kernel has found an error. */
bool cuda_finish(CudaDevice *c);
/* The error word as it was when the copy that follows the results arrived. False: an error was set. */
bool cuda_check_word(CudaDevice *c);
bool cuda_queue_word(CudaDevice *c);

static inline CuAddress cuda_at(MemoryRef ref) {
  return ref.memory ? (CuAddress)(uintptr_t)ref.memory + ref.offset : 0;
}

/* One launch. The values that params point at are copied when it is made. */
typedef struct CudaLaunch {
  CuFunction function;
  unsigned grid, block; /* blocks, and threads of each */
  unsigned room;        /* bytes of local memory that it asks for */
  int nword;            /* arguments, 8 bytes each */
  void **params;
  const uint64_t *word; /* their values, if there are params for each */
} CudaLaunch;
bool cuda_launch(CudaDevice *c, const CudaLaunch *l, const char *name);

/* ---- programs ---- */

enum { CUDA_RUNS = 4 };
typedef struct CudaProgram {
  Program program; /* first */
  CuModule module;
  GpuKernel *kernel;
  CuFunction *function;
  void **params;  /* room for the arguments of a launch, and */
  uint64_t *word; /* their values */
  int room;
  struct CudaRun *runs[CUDA_RUNS]; /* of this program that were seen, recorded or not */
  uint64_t clock;
  bool unrecordable;
} CudaProgram;

/* ---- cuda_graph.c ---- */

RunKind cuda_begin(Program *p, const RunWords *words);
bool cuda_end(Program *p, bool ok, bool *again);
void cuda_forget_runs(CudaProgram *p);
/* A launch while a run is recorded or brought up to date. */
bool cuda_run_launch(CudaDevice *c, const CudaLaunch *l, const GpuKernel *kernel);
/* What was recorded cannot be used. */
void cuda_run_spoil(CudaDevice *c);
/* Memory that a routine has worked in: does the run that is recorded keep it for its replays? */
bool cuda_run_keeps(CudaDevice *c, void *memory, size_t bytes);
/* Is what is not a kernel to be queued? Not while a recorded run is brought up to date. */
bool cuda_run_queues(const CudaDevice *c);

/* ---- cuda_order.c ---- */

void cuda_order_begin(CudaDevice *c);
void cuda_order_free(CudaDevice *c);
void cuda_touches(Device *d, int n, const MemoryUse *use, int64_t bytes, bool in_order);
/* Around each launch of a run that is recorded; kernel NULL: a matrix product. rooms: bits of the parts of the
 * workspace that it works in. */
void cuda_order_before(CudaDevice *c, const GpuKernel *kernel, unsigned rooms);
void cuda_order_after(CudaDevice *c, unsigned rooms);

/* ---- cuda_compile.c ---- */

/* A module out of text, compiled or from the cache. NULL and an error. */
CuModule cuda_compile_text(CudaDevice *c, const char *source);

/* ---- cuda_matmul.c, cuda_library.c ---- */

bool cuda_matmul_open(CudaDevice *c);
bool cuda_matmul(Device *d, const MatmulCall *m, int threads);
void cuda_matmul_close(CudaDevice *c);
/* The sum of results in parts, one behind the other, into the result of m. */
bool cuda_add_parts(CudaDevice *c, const MatmulCall *m, CuAddress part, int64_t parts);
/* Any strides and sizes; slow. */
bool cuda_matmul_plain(CudaDevice *c, const MatmulCall *m);
bool cuda_library(Device *d, const LibraryCall *call);
void cuda_library_close(CudaDevice *c);

#endif
