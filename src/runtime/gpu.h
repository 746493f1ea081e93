/* gpu.h: what devices with grids of groups share: sizes of launches, the record of index errors, library routines on
 * copies in the host's memory. Private to src/runtime. */
#ifndef POLY_GPU_H
#define POLY_GPU_H

#include "runtime/host.h"

/* What is kept of a linear kernel: the numbers that a launch needs. */
enum { STRIP_BYTES = 16 };

typedef struct GpuKernel {
  char name[SYMBOL_SIZE];
  int narg, nvar;
  int group, pack; /* threads of a group, groups of a block */
  int turns;       /* iterations of the grid that a group runs */
  bool checks;     /* it may note an index error */
  bool updates;    /* it changes what it reads, unless an index error is noted */
  int64_t room;    /* bytes of local memory that a launch asks for; 0: what it has is enough */
  bool strips;     /* it loads several elements at once: its arguments begin at multiples of STRIP_BYTES */
  UOp *grid;       /* held */
  UOp **var;       /* held */
} GpuKernel;
/* False and an error text: no memory. gpu_kernel_free takes one that was not filled in. */
bool gpu_kernel_new(PolyContext *ctx, GpuKernel *k, int n, const Linear *const *kernel, int at);
void gpu_kernel_free(PolyContext *ctx, GpuKernel *k);
/* Blocks of a launch; 0: there is nothing to do. */
bool gpu_blocks(const GpuKernel *k, const int64_t *vars, int64_t *blocks);
static inline int gpu_threads(const GpuKernel *k) { return k->group * k->pack; }

/* The last argument of a kernel: int64[4] in the device's memory. The first word is not 0 once an index was out of
 * range, then come the index and the size; kernels go on with index 0. */
enum { GPU_ERROR_WORDS = 4 };
/* False and the error's text if the record, copied to the host, holds one. */
bool gpu_check_errors(PolyContext *ctx, const int64_t *record);

/* Runs a routine of the host on copies of its operands. */
bool gpu_library(Device *d, const LibraryCall *call);

#endif
