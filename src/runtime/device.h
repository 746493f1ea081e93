/* device.h: a device is a struct of functions. The engine talks to devices through this and nothing else. */
#ifndef POLY_DEVICE_H
#define POLY_DEVICE_H

#include "ir/linear.h"
#include "ir/target.h"

/* Rows of runtime/targets.c. */
extern const Target cpu_target, interp_target;

typedef struct Device Device;
typedef struct Program Program;

/* Batched matrix product, row-major in the sense of strides: C[b,i,j] (+)= sum_k A[b,i,k] B[b,k,j].
 * For each operand either the row or the column stride is 1. Strides and counts are elements. */
typedef struct MatmulCall {
  PolyDType dtype; /* of all three */
  int64_t m, n, k, batch;
  const void *a, *b;
  void *c;
  int64_t a_row, a_col, a_batch, b_row, b_col, b_batch, c_row, c_batch; /* c's column stride is 1 */
} MatmulCall;

typedef struct LibraryTensor {
  PolyDType dtype;
  int ndim;
  int64_t shape[MAX_DIMS];
  void *data; /* row-major */
} LibraryTensor;

/* A named routine. "argsort": n=1 descending, along the last axis, int32 places, stable, NaN last when ascending and
 * first when descending. "scan": n is OP_ADD OP_MUL OP_MAX OP_MIN, running reduction along the last axis.
 * "segment_order": index [E] of any integer dtype -> int32 [V+1+E], row pointers and then the stable order of the
 * entries; an index outside [0, V) is an error. "nonzero": bool [N] -> flat places of the true ones. */
typedef struct LibraryCall {
  const char *name;
  int64_t n;
  int nsrc;
  LibraryTensor src[4];
  LibraryTensor out;
  int threads;
} LibraryCall;

struct Device {
  const char *name;
  PolyContext *ctx;
  Target target;
  bool needs_source;                       /* compile takes rendered text */
  void *(*alloc)(Device *d, size_t bytes); /* 64-byte aligned, not cleared; NULL and an error text with the bytes */
  void (*free)(Device *d, void *p, size_t bytes);
  bool (*copy_in)(Device *d, void *dst, const void *host, size_t bytes);
  bool (*copy_out)(Device *d, void *host, const void *src, size_t bytes);
  /* All kernels of a plan at once. source is NULL unless needs_source. The linear kernels may be freed afterwards. */
  Program *(*compile)(Device *d, const char *source, int n, const Linear *const *kernel);
  void (*program_free)(Program *p);
  /* Runs kernel k. args: one pointer a parameter; vars: its integer arguments. False and an error text on an index
   * error. */
  bool (*launch)(Program *p, int k, void *const *args, const int64_t *vars, int threads);
  bool (*matmul)(Device *d, const MatmulCall *m, int threads);
  bool (*library)(Device *d, const LibraryCall *call);
  void (*close)(Device *d);
};

struct Program {
  Device *device;
  int nkernel;
  /* the device's own fields follow */
};

/* Memory of a tensor. Reference-counted; bytes are counted in the runtime for poly_live_bytes and poly_peak_bytes. */
typedef struct PolyBuffer {
  Device *device;
  void *data;
  size_t bytes;
  int refs;
  bool stale;                  /* overwritten by an assignment: reading it as the old value is an error */
  void (*release)(void *user); /* borrowed memory: called instead of free */
  void *user;
  bool borrowed;
} PolyBuffer;
PolyBuffer *buffer_new(Device *d, size_t bytes);
PolyBuffer *buffer_borrow(Device *d, void *data, size_t bytes, void (*release)(void *), void *user);
PolyBuffer *buffer_retain(PolyBuffer *b);
void buffer_release(PolyBuffer *b);

/* The devices of a context. runtime_new reads POLY_DEVICE, POLY_THREADS and POLY_POISON and registers what can be
 * opened on demand. */
typedef struct Runtime {
  PolyContext *ctx;
  Device *device[8]; /* opened so far */
  int ndevice;
  Device *current;
  int threads;
  int64_t live_bytes, peak_bytes;
  int64_t compilations; /* by a real compiler, not found in the cache */
  char *cache_dir;
  bool poison; /* POLY_POISON=1: fresh memory is filled with NaN, so that a value nobody wrote shows */
} Runtime;
Runtime *runtime_new(PolyContext *ctx);
void runtime_free(Runtime *r);
Device *runtime_open(Runtime *r, const char *name); /* cached; NULL and an error that lists the known names */
Device *cpu_open(Runtime *r);
Device *interp_open(Runtime *r);

#endif
