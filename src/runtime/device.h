/* device.h: a device is a struct of functions. The engine talks to devices through this and nothing else. */
#ifndef POLY_DEVICE_H
#define POLY_DEVICE_H

#include "ir/linear.h"
#include "ir/target.h"

/* Rows of runtime/targets.c. */
extern const Target cpu_target, test_target, opencl_target, cuda_target;
/* Products as cards have them whose warps multiply together in groups of four. POLY_PRODUCT_SPLIT decides, if it is
 * set; else the device does. */
void target_split_products(Target *t, bool has);

typedef struct Device Device;
typedef struct Memory Memory;
typedef struct Program Program;
typedef struct Runtime Runtime;

/* Where a value lies on a device: memory that it has allocated, and bytes from its beginning. The address means nothing
 * to the host, unless the memory is the host's. */
typedef struct MemoryRef {
  void *memory;
  size_t offset;
} MemoryRef;

/* Batched matrix product, row-major in the sense of strides: C[b,i,j] (+)= sum_k A[b,i,k] B[b,k,j].
 * For each operand either the row or the column stride is 1. Strides and counts are elements. */
typedef struct MatmulCall {
  PolyDType dtype; /* of all three */
  int64_t m, n, k, batch;
  MemoryRef a, b, c;
  int64_t a_row, a_col, a_batch, b_row, b_col, b_batch, c_row, c_batch; /* c's column stride is 1 */
  bool worker;    /* called from one of several workers: it runs on this thread alone and asks for no memory */
  MemoryRef work; /* of a worker: Device.matmul_room bytes */
} MatmulCall;

typedef struct LibraryTensor {
  PolyDType dtype;
  int ndim;
  int64_t shape[MAX_DIMS];
  MemoryRef data; /* row-major */
} LibraryTensor;

/* A named routine. "argsort": n=1 descending, along the last axis, int32 places, stable, NaN last when ascending and
 * first when descending. "topk": the first places of that order, as many as the result has. "kth": the place of the
 * n-th of the ascending order, for each row. "median": the place of each row's lower median, of the first NaN where
 * there is one; n=1: of what is a number, where anything is. "searchsorted": for each value of source 1 how many values
 * of source 0, which is sorted, lie before it; n=1: or are equal to it. "bincount": how often each of 0 .. V-1 occurs.
 * "scan": n is OP_ADD OP_MUL OP_MAX OP_MIN, running reduction along the last axis.
 * "recurrence": a, b of float32 or float64 -> y[i] = a[i] y[i-1] + b[i] along the last axis, y[0] = b[0].
 * "segment_order": index [E] of any integer dtype -> int32 [V+1+E], row pointers and then the stable order of the
 * entries; an index outside [0, V) is an error. "scatter": x [E], index [E] of int32 or int64 -> [V], n the op as for
 * "scan": the x of each index combined in their order. "nonzero": bool [N] -> flat places of the true ones.
 * Of matrices [..., m, n] of float32 or float64 (matrices.c): "solve": A, B -> X with A X = B. "triangular": likewise
 * with one triangle of A, n=1 the upper one, n=2 more: ones on its diagonal. "det": determinant, its sign, log of its
 * size. "lu": both factors in one matrix, then the rows exchanged. "cholesky": the lower factor. "qr": Q [m, m], R [m,
 * n]. "eigh": eigenvalues, then eigenvectors [n, n] as columns. "svd", for m >= n: U [m, m], singular values, V
 * transposed. Several results lie one after another in the last axis. */
typedef struct LibraryCall {
  const char *name;
  int64_t n;
  int nsrc;
  LibraryTensor src[4];
  LibraryTensor out;
  int threads;
} LibraryCall;

/* A memory, and how bytes get in and out of it. Devices that work in the same memory share one: the CPU and the
 * interpreter work in the host's.
 *
 * Launches of a device run in order. If it runs them asynchronously, `free`, `copy` and `copy_out` come after all
 * launches that were made before them: a buffer is released as soon as its last launch was made. */
enum { MAX_MEMORIES = 6 };
struct Memory {
  const char *name; /* for error texts */
  Runtime *runtime;
  int number;                              /* its place in a buffer's list of copies; 0: the host's */
  int64_t live_bytes, peak_bytes;          /* counted by memory_alloc and memory_free */
  int64_t held_bytes;                      /* taken of the system, if the memory keeps some for later; else 0 */
  int64_t read_bytes;                      /* copied from it to the host's */
  size_t capacity;                         /* what is refused beyond this; 0: unknown */
  void *(*alloc)(Memory *m, size_t bytes); /* 64-byte aligned, not cleared; NULL and an error text with the bytes */
  void (*free)(Memory *m, void *p, size_t bytes);
  bool (*copy_in)(Memory *m, void *dst, const void *host, size_t bytes);
  bool (*copy_out)(Memory *m, void *host, const void *src, size_t bytes);
  bool (*copy)(Memory *m, void *dst, const void *src, size_t bytes); /* within the memory */
  /* A copy to the memory beside the launches that are made from now on; those made before may still use the memory that
   * is written. Gives its number, which grows from copy to copy; 0 and an error. NULL: copies are in order. */
  uint64_t (*copy_ahead)(Memory *m, void *dst, const void *host, size_t bytes);
  bool (*arrive)(Memory *m, uint64_t number); /* launches and copies from now on come after that copy */
  void (*trim)(Memory *m);                    /* gives back what is kept for later; NULL: nothing is */
};
/* Counted. NULL and an error that names memory and bytes. */
void *memory_alloc(Memory *m, size_t bytes);
void memory_free(Memory *m, void *p, size_t bytes);
/* Can these bytes be had? What cannot fit is better refused than asked for: the machine would rather kill the process
 * than refuse. */
bool memory_fits(const Memory *m, size_t bytes);

/* What a run of a program depends on: the same words, the same launches but for the values of `loose`, integer
 * arguments that no size depends on. */
typedef struct RunWords {
  int nfixed, nloose;
  const uint64_t *fixed; /* where memory is, and values that sizes depend on */
  const int64_t *loose;
} RunWords;
/* A part of the device's memory that is read, and maybe written. */
typedef struct MemoryUse {
  uint64_t begin, end;
  bool written;
} MemoryUse;
/* RUN_DONE: it was replayed, nothing is left to do. RUN_ITEMS: launch all items, then call `end`. */
typedef enum RunKind { RUN_FAILED, RUN_PLAIN, RUN_ITEMS, RUN_DONE } RunKind;

struct Device {
  const char *name;
  const char *card; /* what the hardware calls itself; NULL: nothing to add to the name */
  PolyContext *ctx;
  Memory *memory;
  Target target;
  bool closed;       /* by runtime_close: nothing can run on it any more */
  Device *next;      /* of the closed ones */
  bool needs_source; /* compile takes rendered text */
  /* All kernels of a plan at once. source is NULL unless needs_source. The linear kernels may be freed afterwards. */
  Program *(*compile)(Device *d, const char *source, int n, const Linear *const *kernel);
  void (*program_free)(Program *p);
  /* Programs that can run in more than one way (NULL: there is one). expect: what a launch of kernel k will work on,
   * bytes of each argument and integer arguments; k < 0: forget what was expected. ready: a run with all that was
   * expected follows. False and an error: it cannot run. */
  void (*expect)(Program *p, int k, const size_t *bytes, const int64_t *vars);
  bool (*ready)(Program *p);
  /* Runs kernel k. args: the device's memory for each parameter; vars: its integer arguments. False and an error text
   * on an index error. */
  bool (*launch)(Program *p, int k, const MemoryRef *args, const int64_t *vars, int threads);
  bool (*matmul)(Device *d, const MatmulCall *m, int threads);
  /* Bytes that a product of at most that size needs when a worker calls it. NULL: none. */
  size_t (*matmul_room)(const Device *d, const MatmulCall *m);
  bool (*library)(Device *d, const LibraryCall *call);
  /* Calls run for each piece 0 .. n-1, on several threads, each with a number of its own below `threads`: launches and
   * products of workers. False: one of them has failed, with an error. NULL: launches come from one thread. */
  bool (*pieces)(Device *d, int64_t n, int threads, bool (*run)(void *user, int64_t piece, int worker), void *user);
  /* Recording: launches and matrix products between begin and end may be kept and queued again by later runs with the
   * same words. NULL: they are not. again: nothing has run, the items are to be launched once more, without begin. */
  RunKind (*begin)(Program *p, const RunWords *words);
  bool (*end)(Program *p, bool ok, bool *again);
  /* Told between begin and end, before the launches of each item: the memory that they read and write, and how many
   * bytes they move. Items that touch nothing in common need not wait for each other, nor need the launches of one
   * item, unless in_order. NULL: all run in order. */
  void (*touches)(Device *d, int n, const MemoryUse *use, int64_t bytes, bool in_order);
  /* How long what is launched between two calls takes on the device. ms NULL: from now on; else waits for it. NULL: the
   * clock of the host is used. */
  bool (*timer)(Device *d, double *ms);
  bool (*wait)(Device *d); /* until all launches have ended; NULL: they have when launch returns */
  void (*close)(Device *d);
};

struct Program {
  Device *device;
  int nkernel;
  /* the device's own fields follow */
};

/* What a tensor holds: bytes, and a copy of them in each memory that they were used in. Reference-counted. */
typedef struct BufferCopy {
  void *data;     /* NULL: none */
  bool valid;     /* holds the value; writing to one copy makes the others invalid */
  uint64_t ahead; /* the copy that brings it, if nobody has waited for that one; else 0 */
} BufferCopy;

typedef struct PolyBuffer {
  Runtime *runtime;
  size_t bytes;
  int refs;
  bool stale;    /* overwritten by an assignment: reading it as the old value is an error */
  bool exposed;  /* the host's copy is known outside and may be written there: other copies are not kept */
  bool borrowed; /* the copy in memory number `home` is the caller's, */
  int home;
  void (*release)(void *user); /* who is told when it is no longer used */
  void *user;
  bool (*make)(void *user, void *data); /* writes its contents on the host where no copy is valid; NULL: none can */
  struct PolyBuffer *prev, *next;       /* the buffers of the runtime that are no aliases */
  struct PolyBuffer *of; /* another name for that buffer, without copies of its own; NULL: not an alias */
  BufferCopy copy[MAX_MEMORIES];
} PolyBuffer;
/* A buffer in m whose contents are still to be written. */
PolyBuffer *buffer_new(Memory *m, size_t bytes);
/* A buffer on memory of the caller's, on the host. */
PolyBuffer *buffer_borrow(Runtime *r, void *data, size_t bytes, void (*release)(void *), void *user);
/* The same on memory of the caller's in m. */
PolyBuffer *buffer_borrow_in(Memory *m, void *data, size_t bytes, void (*release)(void *), void *user);
/* Another buffer that is the same memory. */
PolyBuffer *buffer_alias(PolyBuffer *b);
PolyBuffer *buffer_retain(PolyBuffer *b);
void buffer_release(PolyBuffer *b);
/* Gives its memory back; `make` writes the contents again where somebody asks for them. False: they have to stay where
 * they are, and user is the caller's; otherwise `release` is called for it at the end. */
bool buffer_make_later(PolyBuffer *b, bool (*make)(void *user, void *data), void (*release)(void *user), void *user);
/* Gives its memory back once more, if it can be made again and nobody outside knows its address. */
void buffer_forget(PolyBuffer *b);
/* Will the next reader have to wait for `make`? */
bool buffer_is_missing(const PolyBuffer *b);
/* Its contents in m: copied from another memory if they are not valid there. NULL: an error was set. */
void *buffer_read(PolyBuffer *b, Memory *m);
/* The same, to be changed: no other copy is valid afterwards. */
void *buffer_update(PolyBuffer *b, Memory *m);
/* The same, to be overwritten as a whole: nothing is copied. */
void *buffer_overwrite(PolyBuffer *b, Memory *m);
/* Its contents on the host for whoever may keep the address and write there. */
void *buffer_expose(PolyBuffer *b);
/* The same as buffer_read, and memory of the caller's elsewhere is let go: the copy in m is the value from now on. */
void *buffer_take(PolyBuffer *b, Memory *m);
/* The first bytes, to or from the host, without a copy there. m: where they are written. */
bool buffer_get(PolyBuffer *b, void *host, size_t bytes);
bool buffer_put(PolyBuffer *b, Memory *m, const void *host, size_t bytes);
/* A buffer in m with the same contents. */
PolyBuffer *buffer_copy(PolyBuffer *b, Memory *m);
/* May its contents be changed by somebody else? */
static inline bool buffer_is_shared(const PolyBuffer *b) { return b->of || b->exposed || b->borrowed || b->refs > 1; }

/* The devices of a context. runtime_new reads POLY_DEVICE, POLY_THREADS and POLY_POISON and registers what can be
 * opened on demand. */
struct Runtime {
  PolyContext *ctx;
  Memory *memory[MAX_MEMORIES]; /* by number; the first is the host's */
  Device *device[8];            /* open ones */
  int ndevice;
  Device *closed; /* closed ones: plans may still know them */
  PolyBuffer *buffers;
  Device *current;
  int threads;
  int64_t live_bytes, peak_bytes; /* of all memories together */
  int64_t compilations;           /* by a real compiler, not found in the cache */
  char *cache_dir;
  int64_t cache_limit; /* bytes */
  int tier;            /* POLY_TIER: 0 interprets, 1 compiles, -1 (auto) chooses by cost */
  int unit_insts;      /* POLY_UNIT: instructions from which on a source text of the CPU takes no further kernel */
  /* Source text of kernels in the dialect of a Target. */
  bool (*render)(PolyContext *ctx, const Target *target, int n, const Linear *const *kernel, Str *out);
  bool copy_ahead; /* what is put into a new buffer comes by Memory.copy_ahead */
  bool poison;     /* POLY_POISON=1: fresh memory is filled with NaN, so that a value nobody wrote shows */
};
Runtime *runtime_new(PolyContext *ctx);
void runtime_free(Runtime *r);
/* Compiled programs on disk. */
typedef struct CacheCount {
  int64_t entries, bytes, files;
} CacheCount;
CacheCount runtime_cached(const Runtime *r);
void runtime_clear_cache(Runtime *r);
Device *runtime_open(Runtime *r, const char *name); /* cached; NULL and an error that lists the known names */
/* False and an error that lists the known names. */
bool device_known(const Runtime *r, const char *name);
/* The device by that name if it is open. */
Device *runtime_find(const Runtime *r, const char *name);
/* Closes an open device that is not the current one: what only its memory holds goes to the host, and whatever was
 * compiled for it can no longer run. Opening the name again makes another device. */
bool runtime_close(Runtime *r, Device *d);
/* False and an error if the device was closed. */
bool device_usable(const Device *d);
static inline Memory *host_memory(const Runtime *r) { return r->memory[0]; }
/* Gives a new memory its number; false: there are too many. */
bool runtime_add_memory(Runtime *r, Memory *m);
Device *cpu_open(Runtime *r);
Device *interp_open(Runtime *r);
Device *testdev_open(Runtime *r);
Device *opencl_open(Runtime *r);
Device *cuda_open(Runtime *r, int number);

#endif
