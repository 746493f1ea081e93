/* targets.c: the Target of each device, one row each: every number that schedule, codegen and render decide by, and
 * where it comes from. A device copies its row and fills in what it finds out about the machine. */
#include "runtime/device.h"

#include <stdlib.h>

enum { ALL_DTYPES = (1u << POLY_DTYPE_COUNT) - 1, FLOATS = 1u << POLY_FLOAT32 | 1u << POLY_FLOAT64 };

/* Costs. "Measured" is bench/costs.py on one thread of an AVX-512 server core, other programs running, least of 200
 * runs, in additions of one cached float32 (22 ps). Where the table has another number, that is the one that fusion was
 * built with; taking the measured one changes what is stored, so it needs a run of the benchmarks.
 *
 *                measured                                              in the table
 *   SIMPLE       maximum 2.5, where 2.9                                1
 *   DIVIDE       quotient 3.9, square root 6.5                         4
 *   FUNCTION     exp 21, log 44, tanh 47, sin 57, erf 62               10
 *   POWER        128                                                   20, two functions
 *   ROUNDING     floor 0.9                                             1
 *   load         15, streamed from memory                              16
 *   store        19, streamed to memory                                32
 *   launch       1,400 for one more kernel in a compiled step          8192
 *
 *   cheap        half of a load                                        8
 *   much         ten loads                                             160
 *   serial, short_sum, few_scores: no measurement is on record; a change needs a run of the benchmarks.
 *
 * Threads. Results are the same for any number of them. ops is that of rendered kernels and library routines (8
 * operations per element); products are fewer the slower the routine is. */
#define COSTS                                                                                                          \
  {                                                                                                                    \
    .op = {[COST_SIMPLE] = 1, [COST_DIVIDE] = 4, [COST_FUNCTION] = 10, [COST_POWER] = 20, [COST_ROUNDING] = 1},        \
    .load = 16, .store = 32, .cached = 1, .launch = 8192, .cheap = 8, .much = 160, .serial = 4096, .short_sum = 32,    \
    .few_scores = 8, .fused_sum = 256, .inline_sum = 4                                                                 \
  }

#define THREADS                                                                                                        \
  {                                                                                                                    \
    .ops = 250000, .bytes = 1 << 20, .elements = 32768, .products_plain = 20000, .products_blocked = 100000,           \
    .products_library = 1000000, .chunk = 64                                                                           \
  }

const Target cpu_target = {
    .dialect = DIALECT_C,
    .host = true,
    .index_bits = 64,
    .dtypes = ALL_DTYPES,
    .matmul = FLOATS,
    .vector_bytes = 16, /* and 16 registers, unless the machine has more: cpu.c asks it */
    .vector_registers = 16,
    .least_lanes = 4,
    .lanes = 8,
    .log_sum_lanes = 5,
    .registers = {[COST_SIMPLE] = 1, [COST_DIVIDE] = 1, [COST_FUNCTION] = 6, [COST_POWER] = 12, [COST_ROUNDING] = 1},
    .ahead = true,
    .group = 1,
    /* what a loop over the edges of a row stores for them is read in order by the next one: a step of attention (4
     * heads of 8) on 40,000 nodes, 500,000 edges took 0.8 of the time */
    .by_rows = true,
    .cache_bytes = {32 << 10, 1 << 20},
    .cores = 4,              /* unless the machine tells */
    .tile_bytes = 512 << 10, /* half of a second cache of 1 MB: weights and gathered rows have the rest */
    .tile_edges = 1024,
    /* sums over all edges are continued tile by tile: of a matrix of 64 x 32 for each edge, tiles of 16 edges took 6.5
     * s for 500,000 edges, tiles of 64 took 2.2 s although they are larger than the second cache */
    .tile_least = 64,
    /* fewer copies share kernels and fuse with what is around them: 8 steps of a sum over 500,000 edges take 1.1 of
     * their time as a loop, 5 of one over 10,000 edges 0.8 */
    .loop_steps = 4,
    .split_pieces = 64,
    .split_elements = 32768,
    .split_results = 64,
    .cost = COSTS,
    /* lanes that are loaded one by one are put together one by one, too: the sum over 100,000 rows of 40 columns of
     * exp(x - a) / b * c, where a, b and c are of the row, takes 2.5 ms with lanes along rows, 0.75 along columns */
    .gain = {.contiguous = 2,
             .reversed = 1.5,
             .same = 1,
             .strided = -1.5,
             .scattered = -2,
             .wasted = -4,
             .gated = -1,
             .function = 6,
             .simple = 0.5},
    .threads = THREADS,
    .tiers = {.step_ns = 2.5, .lane_ns = 0.3, .compile_ms = 35, .inst_ms = 0.3, .least_ms = 4},
};

/* The interpreter as a small GPU would be: memory of its own, 32-bit indices, groups of at most four threads, of which
 * each has registers of its own. */
const Target test_target = {
    .dialect = DIALECT_C,
    .index_bits = 32,
    .dtypes = ALL_DTYPES,
    .matmul = FLOATS,
    .lanes = 1,
    .registers = {[COST_SIMPLE] = 1, [COST_DIVIDE] = 1, [COST_FUNCTION] = 1, [COST_POWER] = 1, [COST_ROUNDING] = 1},
    .group = 4,
    .warp = 1,
    .product_warps = 2,
    .product_bytes = 16 << 10,
    .product_work = 1 << 13,
    .strip = 2,
    .strip_threads = 8,
    .busy_threads = 1 << 15,
    .hub_edges = 8,
    .hub_most = 16,
    .hub_threads = 16,
    .hub_workers = 3,
    .hub_split = 1,
    .hub_longest = 6,
    .shared_bytes = 16 << 10,
    .tile_bytes = 8 << 10,
    .kept_bytes = 1 << 20,
    .tile_edges = 1024,
    .tile_least = 16,
    .graph_edges = 32,
    .rmat_edges = 32,
    .sample_edges = 32,
    .loop_steps = 4,
    .split_pieces = 4,
    .split_elements = 256,
    .split_results = 64,
    .cost = COSTS,
    .gain = {.contiguous = 2,
             .reversed = 1.5,
             .same = 1,
             .strided = -0.5,
             .scattered = -2,
             .gated = -1,
             .function = 6,
             .simple = 0.5},
    .threads = THREADS,
};

/* A GPU. No costs were measured on one yet but where it says so: those of the CPU with other proportions. A load is
 * much dearer than arithmetic, nothing is reduced in front of a kernel (every thread would do it), and there are enough
 * threads only if a long reduction is cut into many pieces. */
#define GPU_COSTS                                                                                                      \
  {                                                                                                                    \
    .op = {[COST_SIMPLE] = 1, [COST_DIVIDE] = 8, [COST_FUNCTION] = 20, [COST_POWER] = 60, [COST_ROUNDING] = 1},        \
    .load = 16, .store = 32, .cached = 1, .launch = 8192, .cheap = 8, .much = 160, .serial = 1, .short_sum = 32,       \
    .few_scores = 8, .inline_sum = 16                                                                                  \
  }
#define GPU_GAINS                                                                                                      \
  {                                                                                                                    \
    .contiguous = 2, .reversed = 1.5, .same = 1, .strided = -0.5, .scattered = -2, .gated = -1, .function = 0.5,       \
    .simple = 0.1                                                                                                      \
  }

const Target opencl_target = {
    .dialect = DIALECT_OPENCL,
    .index_bits = 64,
    .narrow_index = true,
    .dtypes = ALL_DTYPES,
    .lanes = 1,
    .registers = {[COST_SIMPLE] = 1, [COST_DIVIDE] = 1, [COST_FUNCTION] = 1, [COST_POWER] = 1, [COST_ROUNDING] = 1},
    .group = 128,
    .warp = 1,
    .strip = 4,
    .strip_threads = 4096,
    .turns = 2,
    .hub_edges = 512,
    .hub_most = 1024,
    .hub_threads = 128,
    .hub_workers = 61,
    .rows_apart = true,
    .by_rows = true,
    .shared_bytes = 16 << 10,
    .graph_edges = 1 << 16,  /* not measured */
    .rmat_edges = 1 << 18,   /* 50 ms on one core of the host */
    .sample_edges = 1 << 20, /* not measured */
    .batch_bytes = 1 << 20,  /* not measured */
    .loop_steps = 4,
    .split_pieces = 256,
    .split_elements = 8192,
    .split_results = 1024,
    .cost = GPU_COSTS,
    .gain = GPU_GAINS,
    .threads = THREADS,
};

const Target cuda_target = {
    .dialect = DIALECT_CUDA,
    .index_bits = 64,
    .narrow_index = true,
    .dtypes = ALL_DTYPES,
    .lanes = 1,
    .registers = {[COST_SIMPLE] = 1, [COST_DIVIDE] = 1, [COST_FUNCTION] = 1, [COST_POWER] = 1, [COST_ROUNDING] = 1},
    .group = 256,
    .warp = 32,
    .product_warps = 4,
    .product_bytes = LOCAL_BYTES,
    .product_work = 1 << 28,
    .strip = 4,
    .strip_threads = 65536,
    .busy_threads = 1 << 18, /* an H200 has 132 multiprocessors of 2048 threads */
    .turns = 4,
    /* Blocks of 1024 threads: a row of 16,746 edges, the longest of an R-MAT graph, keeps one busy for as long as
     * memory takes, 30 us for 32 features on an H200; 4084 blocks that find no row take as long. */
    .hub_edges = 256,
    .hub_most = 1024,
    .row_edges = 8,
    .hub_threads = 1024,
    .hub_workers = 1021,
    .hub_split = 3,
    .hub_longest = 512,
    .rows_apart = true,
    /* On an H200, 2.5M edges: rows of 160 bytes 0.40 ms beside 0.33 by kernels of their own, of 256 bytes 0.40 beside
     * 0.43, a GAT step of both 1.67 beside 1.62; of 1024 bytes 0.75. What counts is how many lines of the cache an edge
     * asks for. */
    .dot_bytes = 512,
    .by_rows = true,
    .shared_bytes = 48 << 10,
    /* few tiles, each of which keeps the card busy: what they pass on lies in its memory, whose bandwidth is ample, and
     * each waits for its longest row */
    .tile_bytes = 512 << 20,
    .kept_bytes = 1 << 30,
    .tile_edges = 4 << 20,
    .tile_least = 16,
    .graph_edges = 1 << 16,  /* some twenty launches; not measured */
    .rmat_edges = 1 << 18,   /* 50 ms on one core of the host */
    .sample_edges = 1 << 20, /* not measured */
    .batch_bytes = 1 << 20,  /* not measured */
    /* the steps of a loop are launched one by one, copies are replayed as one graph; not measured */
    .loop_steps = 64,
    .split_pieces = 1024,
    .split_elements = 8192,
    .split_results = 1024,
    .cost = GPU_COSTS,
    .gain = GPU_GAINS,
    .threads = THREADS,
};

/* Three blocks of 128 threads fit on a multiprocessor of an H200 beside each other, with all registers. */
void target_split_products(Target *t, bool has) {
  const char *split = getenv("POLY_PRODUCT_SPLIT");
  if (split ? atoi(split) <= 0 : !has) return;
  t->product_split = true;
  t->product_bytes = 72 << 10;
}
