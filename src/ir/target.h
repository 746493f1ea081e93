/* target.h: where code will run, in numbers. A device gives a Target; schedule, codegen and render read it and know
 * nothing else of devices: no pass asks which device it is, it asks for the number that it needs. The rows of the
 * devices, and where their numbers come from, are in runtime/targets.c.
 *
 * What decides bits (the width of lanes, the pieces of a sum) is the same for every number of threads. */
#ifndef POLY_TARGET_H
#define POLY_TARGET_H

#include <stdbool.h>
#include <stdint.h>

/* What rendered text is written in. */
typedef enum Dialect { DIALECT_C, DIALECT_CUDA, DIALECT_OPENCL } Dialect;

/* Kinds of work: the column `cost` of ir/ops.def. */
typedef enum OpCost {
  COST_NONE,
  COST_SIMPLE,
  COST_DIVIDE,
  COST_FUNCTION,
  COST_POWER,
  COST_ROUNDING,
  COST_KINDS
} OpCost;

/* In operations: what one addition of one element takes when nothing waits for it. */
typedef struct CostTable {
  int op[COST_KINDS];
  int load, store; /* one element of memory that no cache holds */
  int cached;      /* one element that a loop over it has in the cache: loads and stores beside arithmetic */
  int launch;      /* one more kernel */
  int cheap;       /* operations per element that are repeated rather than stored */
  int much;        /* operations per element beside which a store is little */
  int serial;      /* elements that may be reduced on one thread in front of a kernel */
  int short_sum;   /* products per element that a loop over edges does itself rather than load their sum, */
  int fused_sum;   /* longest sum of a matrix product that is computed in the kernel that reads it */
  int few_scores;  /* unless it is so few values per edge that storing them is cheaper */
  int inline_sum;  /* products per element that are summed where they are read rather than for a tile of edges */
} CostTable;

/* What lanes save in one run of one instruction, in operations; negative: they cost. */
typedef struct LaneGains {
  double contiguous, reversed, same, strided; /* loads and stores, by the step from lane to lane; same: one element */
  double scattered;                           /* along two loops that memory does not join */
  double
      wasted; /* beside strided: a line for each lane, whose other elements are read only when it has left the cache */
  double gated;            /* a condition of each lane decides whether memory is read */
  double function, simple; /* functions of one float; other arithmetic */
} LaneGains;

/* From how much work on several threads are used: below, one is done before a second one has begun. */
typedef struct ThreadWork {
  int64_t ops, bytes; /* of a kernel: operations, and memory that it touches */
  int64_t elements;   /* of a library routine */
  /* multiplications of a matrix product: by plain loops, by the blocked routine, by the machine's library */
  int64_t products_plain, products_blocked, products_library;
  int chunk; /* rows of unequal length that a thread takes at a time */
} ThreadWork;

/* When a kernel is compiled on a device that can also interpret it. All times are rough: they decide when something is
 * compiled, never what it computes. */
typedef struct TierCosts {
  double step_ns, lane_ns;    /* to interpret an instruction: once for a block of iterations, and for each iteration */
  double compile_ms, inst_ms; /* to compile: a unit of kernels, and each of its instructions */
  double least_ms;            /* of interpreting, all runs together, that is never worth compiling */
} TierCosts;

enum { MOST_TERMS = 4 }; /* products that one kernel of a group of threads adds up */

typedef struct Target {
  Dialect dialect;   /* of its kernels as text, to compile or to look at */
  bool host;         /* its memory is the host's: kernels and the program see the same addresses */
  int index_bits;    /* of an index into memory: 32 or 64 */
  bool narrow_index; /* indices are computed in 32 bits where these reach: arithmetic of 64 costs more */
  uint32_t dtypes;   /* bit of a PolyDType: kernels may have values of it, */
  uint32_t matmul;   /* and there is a matrix product for it */

  int vector_bytes;     /* widest register that lanes fill; 0: no loop runs as lanes */
  int vector_registers; /* how many there are */
  bool masks;           /* loads and stores of some lanes of a float32 vector take as long as those of all */
  int least_lanes;      /* fewer are not worth a vector */
  int lanes;            /* lanes that a loop has, as far as costs go, and that the sizes of two loops have in common */
  int log_sum_lanes;    /* sums of its own, as a power of two, that a sum along lanes is taken to have */
  int registers[COST_KINDS]; /* that one operation keeps busy */
  bool ahead; /* what is read soon is asked for: loops over the edges of a row know how far the rows behind it go, and
               * the packing of a tile of a product asks for the next one */

  int group; /* most threads that share fast memory and can wait for each other; 1: there are no groups */
  int warp;  /* of them, how many exchange values by themselves: groups of at most this many are packed several to a
                block */
  /* Warps of 32 threads that compute a tile of a matrix product together, a power of two; 0: products are plain loops,
   * or the library's. */
  int product_warps;
  bool product_split;    /* four of them multiply by what lies in local memory in two parts (codegen/group_tiles.c) */
  int64_t product_bytes; /* of local memory, for such a tile */
  int64_t product_work;  /* multiplications of a product from which on they do it rather than a library */
  int strip;             /* neighbouring elements that a thread takes at once, by one load or store; 0 and 1: one */
  int strip_threads;     /* that a grid is to have left for it */
  int64_t busy_threads;  /* that keep the device busy: long sums are shared by up to this many threads; 0: not known */
  int turns; /* of a short body, that a thread runs one after the other so that their loads are under way together; 0
              * and 1: one */
  /* Rows of more edges are left to a kernel in which several threads share a row: powers of two; where rows are long on
   * the average, up to hub_most; 0: there is none. */
  int hub_edges, hub_most;
  int row_edges;   /* of a row of mean length, that one thread is to have before several share a row */
  int hub_threads; /* of a block there, */
  int hub_workers; /* and how many blocks look for such rows */
  int hub_split;   /* rows 2 to the power of this as long as the shortest of them have blocks of so many threads; 0: all
                    */
  int hub_longest; /* blocks of the kernel of those where rows are short on the average: few are so long, and a block
                    * that finds none takes time as well */
  /* A kernel has the loops over edges of one kind of results: values of a row that its features need, and values of an
   * edge that several of its features need, are stored by kernels of their own, in which all threads have work. */
  bool rows_apart;
  /* Dot products of both ends of edges are formed by the loop of a sum over the edges of one end where a row that both
   * read has so many bytes: then reading it once more takes longer than to read and store values of edges in the order
   * of that end, in which they lie scattered. */
  int dot_bytes;
  bool by_rows;           /* edges whose order nobody sees are in that of the rows of one end (schedule/edge_order.c) */
  int64_t shared_bytes;   /* of that memory */
  int64_t cache_bytes[2]; /* of one core: the first and the second cache; 0: none */
  int cores;              /* that share tiles of a sum of products; no bit of a result depends on it */

  int64_t
      tile_bytes; /* of the values of a tile of edges, which the second cache is to hold; 0: nothing runs by tiles */
  int64_t
      kept_bytes; /* a product of each edge that rows of both its ends need is stored if it is no larger; 0: never */
  int tile_edges; /* that a tile has at most, */
  int tile_least; /* and at least, however wide its values are */

  int64_t graph_edges;  /* from which on the rows of a graph whose indices lie on the device are made there; 0: never */
  int64_t rmat_edges;   /* from which on R-MAT graphs are drawn there; 0: never */
  int64_t sample_edges; /* of a graph that lies there, from which on neighbours are drawn there; 0: never */
  int64_t batch_bytes;  /* of values that lie on the device, from which on a batch is made of them there */

  int loop_steps; /* copies of a body, one after the other, from which on they become a loop over steps (ir/repeat.h) */

  int split_pieces;       /* a reduction of at least split_elements elements a result, */
  int64_t split_elements; /* to at most split_results results, is cut into this many pieces */
  int64_t split_results;

  CostTable cost;
  LaneGains gain;
  ThreadWork threads;
  TierCosts tiers;
} Target;

/* How many of `wanted` threads so much work is worth, if it takes at least `least` to be worth more than one. */
static inline int threads_worth(int wanted, double work, int64_t least) { return work < (double)least ? 1 : wanted; }

/* How many of `wanted` threads a kernel of so much work is worth: all, or one. */
static inline int target_threads(const Target *t, int wanted, int64_t ops, int64_t bytes) {
  return ops < t->threads.ops && bytes < t->threads.bytes ? 1 : wanted;
}

#endif
