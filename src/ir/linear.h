/* linear.h: a kernel as a list of instructions. Codegen makes it, renderers print it, the interpreter runs it.
 *
 * An instruction's value is named by its place in the list; sources are earlier places (-1: none). Loops are properly
 * nested between LOOP and END. Values are scalars: "for every iteration". What may run as lanes of a vector or on
 * several threads is a mark on the loop, and a renderer is free to ignore it.
 *
 *   a[i] = exp(x[i] - m) for a row sum:      0 VAR n          3 LOOP 2 0 (vector)     6 SUB 5 m        9 END 3
 *                                            1 ACC ADD        4 LOAD x[3]             7 EXP 6         10 STORE s[..] 1
 *                                            2 CONST 0        5 ...                   8 UPDATE 1 7
 *
 * Vector loops. Codegen promises for a loop marked LOOP_VECTOR: no other vector loop inside or around it (but see
 * below); bounds of
 * loops inside it do not depend on it; iterations are independent except for UPDATEs of accumulators that were declared
 * before it (a reduction along the loop, see below), and what all of them store to one place is one value. Every LOAD
 * and STORE inside carries `stride`: by how many elements its index grows an iteration (0: the same element for all
 * lanes), or STRIDE_NONE.
 *
 * Lanes of two loops. A loop of H iterations marked LOOP_OUTER makes lanes together with the vector loops inside it,
 * each of D iterations: a value that varies with the outer loop alone has H lanes, one that varies with the vector loop
 * has H*D, those of one outer iteration side by side. Codegen promises: H is a constant power of two, D a constant, of
 * a vector loop that reduces a power of two; no vector loop and no other LOOP_OUTER around it; bounds of loops inside
 * it do not depend on it; no accumulator from before it is updated inside. Every LOAD and STORE inside carries `outer`,
 * its stride along it. One vector loop may stand in another then, if it reduces as many iterations and depends on that
 * one in nothing, nor do others update what it does: it sums for each outer iteration what is spread over the other's
 * lanes again, as the weight of an edge is, made of a dot product, that all features of a head are weighed with.
 *
 * A reduction along a vector loop has partial results, whose number is on the loop, and every device that keeps the
 * widths computes the same bits: iteration k, counted from the first one, is combined with partial result
 * k mod (lanes * copies) as long as all of them get a value, then (if the bounds are not constants) with k mod lanes
 * while `lanes` iterations are left. Copies are combined pairwise, neighbours first, then the two halves of the lanes
 * until one result is left, which is combined with the accumulator. What remains is, if the bounds are constants, done
 * in the same way by half as many lanes, and so on down to `tail` of them; then one by one into the accumulator.
 * Inside outer lanes each of the D iterations has a partial result, and neighbours are combined.
 *
 * Grid and group. Loops marked LOOP_PARALLEL are nested directly in each other from the outermost one on and make the
 * grid: their iterations are independent, and each is run by a group of `group` threads. All threads of a group run the
 * whole body, but share the iterations of a loop marked LOOP_GROUP: thread t runs begin + t, begin + t + group and so
 * on. What lies outside such loops each of them computes for itself; a STORE there is done by one of them, or by all
 * where the parameter is read in the kernel too. An accumulator from outside that a group loop updates holds a thread's
 * own part until COMBINE makes it the whole, in a fixed tree, for all threads. FENCE: what threads of the group have
 * stored before it, the others load after it. Codegen promises: no group loop inside another, and neither COMBINE nor
 * FENCE inside one; all threads of a group come to them equally often, since bounds outside group loops do not depend
 * on them. With one thread in a group these marks mean nothing: a plain loop, and instructions that do nothing.
 *
 * Sums of neighbours. A loop marked LOOP_ACROSS has as many iterations as the innermost loop of the grid, inside of
 * which it stands, does nothing but add to accumulators from outside, and depends on that loop in nothing. `neighbours`
 * threads, a power of two, have all iterations of the grid along it and lie side by side in a warp, whose threads all
 * run the loops around it equally often, but for their shares of a loop of the group. So a device can have each add
 * what belongs to its own iterations of the grid, and combine the results in a fixed tree; to all others it is a plain
 * loop.
 *
 * Products of a warp. A loop marked LOOP_TENSOR, of a constant multiple of 8 iterations, is the only line of a group
 * loop with an iteration for each thread, and adds products of two local arrays of float32 to accumulators from
 * outside: thread 4g + q of a warp those of the rows r + g, r + g + 8, r + g + 16, r + g + 24 of the first array and of
 * the columns c + 8j + 2q, c + 8j + 2q + 1 of the second, j = 0, 1 .., rows first, columns side by side. LOADs of the
 * rows come first, then those of the columns; arg.i is the distance of two columns in memory. So a device with matrix
 * instructions can do eight iterations in one for each 16 rows and 8 columns; to all others it is a plain loop. A
 * thread may also have the rows r + g, r + g + 8 alone. With LOOP_SPLIT as well, four warps side by side along the rows
 * have the same columns, the number of which is arg.i, and each number of these is the sum of an element of the second
 * and one of the third array: column c at k is element (k / 4 * columns + c) * 4 + k % 4 of both. */
#ifndef POLY_LINEAR_H
#define POLY_LINEAR_H

#include "ir/uop.h"

typedef enum InstKind {
  INST_CONST, /* arg as in a CONST UOp */
  INST_VAR,   /* integer argument number arg.i of the kernel, int64 */
  INST_ALU,   /* op (MULACC or any elementwise Op; CAST converts from the dtype of src 0) of src[0..2] */
  INST_LOAD,  /* param[src 0]; src 1: gate, a bool; 0 is the value where it is false, and nothing is read */
  INST_STORE, /* param[src 0] = src 1; src 2: gate */
  INST_LOOP,  /* from src 0 up to but not including src 1; value: the loop variable, int64 or int32; flags. src 2, or
               * -1: up to here there are iterations, of this loop or of the same one in later iterations around it, so
               * memory that they load an index from is there to be read before their turn */
  INST_END,   /* of loop src 0 */
  INST_ACC,   /* accumulator with the identity of op (ADD MUL MAX MIN) in dtype; its value when read: what it holds then
               */
  INST_UPDATE,  /* accumulator src 0 = op(it, src 1); with src 2: it + src 1 * src 2, rounded once */
  INST_CHECK,   /* src 0 if 0 <= src 0 < src 1; else raises an index error for the launch and is 0. src 2: gate, as in
                 * LOAD */
  INST_COMBINE, /* accumulator src 0: its op over those of all threads of the group */
  INST_FENCE /* of the group. arg.i, if it is not 0: what local arrays were given since the last arg.i - 1 such fences
              * may still be on its way, and nobody reads it before */
} InstKind;

/* LOOP_ONCE: ends after its first iteration, so it is an if; and it seldom runs. LOOP_IF: has one iteration or none.
 * INST_EXTRA, on any instruction: it belongs to the blocks of a long sum (codegen/flatten.c) and is left out where
 * codegen estimates how much work a body is; of a loop, all that is inside.
 */
enum {
  LOOP_PARALLEL = 1,
  LOOP_VECTOR = 2,
  LOOP_REDUCE = 4,
  LOOP_OUTER = 8,
  LOOP_ONCE = 16,
  INST_EXTRA = 32,
  LOOP_GROUP = 64,
  LOOP_TENSOR = 128,
  LOOP_IF = 256,
  LOOP_SPLIT = 512,
  LOOP_ACROSS = 1024
};
#define STRIDE_NONE INT64_MIN
enum { MAX_LANES = 64 };                           /* of a vector */
enum { LOCAL_ALIGN = 16, LOCAL_BYTES = 48 << 10 }; /* of local arrays on a GPU; what a kernel has at most by itself */
enum { MAX_LOCAL_BYTES = 1 << 20 };                /* of a local array: the stack of a thread holds it */

typedef struct Inst {
  uint8_t kind;  /* InstKind */
  uint8_t dtype; /* PolyDType of the value; of the stored value for STORE */
  uint16_t op;   /* Op, for ALU, ACC, UPDATE */
  int32_t src[3];
  int32_t param; /* LOAD, STORE: which argument */
  /* How a marked LOOP runs, from codegen/widths.c. LOOP_VECTOR: steps of lanes * copies iterations; then of lanes; what
   * is left in vectors half as wide and so on down to `tail` lanes, then one by one. LOOP_OUTER: lanes of a register.
   * LOOP_PARALLEL: a thread takes `chunk` iterations at a time; 0: each has an equal share. */
  uint16_t lanes, copies, tail, chunk;
  /* A loop of a group, or of the grid the innermost, or that reduces nothing: iterations that a thread takes side by
   * side, a power of two that divides their number and the first one; 0 and 1: one. No other such loop is inside. A
   * LOAD or STORE inside whose `stride` is 1 has these at neighbouring places, the first of them at a multiple of the
   * strip. */
  uint16_t strip;
  uint32_t flags; /* LOOP; INST_EXTRA; ALU: codegen's mark of a division without negative operands, 1 */
  int64_t cost;   /* LOOP: rough operations an iteration, all that is inside counted */
  int64_t stride; /* LOAD, STORE inside a vector loop */
  int64_t outer;  /* LOAD, STORE inside an outer loop of lanes */
  int64_t ahead;  /* LOAD with a stride of 1: the elements this far behind it are read soon after; 0: it is not */
  UArg arg;
} Inst;

/* A local array belongs to one iteration of the parallel loop (to the kernel, where it has none): it is no argument of
 * a launch, holds nothing when the iteration begins and is gone when it ends. LOAD and STORE name it as they name
 * arguments. On a CPU it lies on the thread's stack, on a GPU in the memory that a group shares. */
typedef struct LinearParam {
  PolyDType dtype;
  bool written, read;
  int64_t local; /* elements of a local array; 0: an argument. Arguments come first */
} LinearParam;

enum { MAX_ALSO = 2 }; /* further kernels of one */

typedef struct Linear {
  const char *name; /* a C identifier that says what the kernel does */
  Inst *inst;
  int ninst;
  LinearParam *param;
  int nparam;
  UOp **var; /* VARIABLE nodes, in the order of the kernel's integer arguments */
  int nvar;
  UOp *flops; /* floating-point operations of a launch, an integer UOp over var */
  UOp *moved; /* bytes that it loads and stores, the same; NULL: known in the launch only */
  UOp *grid;  /* iterations of the grid, the same; NULL where the target has no groups */
  int group;  /* threads that run one of them; 0 and 1: one */
  int pack;   /* groups that a device starts together, as one block */
  /* So many neighbouring groups, of which `pack` is a multiple, have threads that alternate, so that neighbouring
   * threads belong to neighbouring groups; 0: those of a group lie side by side. All groups whose threads alternate
   * come to each FENCE and COMBINE equally often; where they are more than a warp, they are all groups of the block. */
  int spread;
  int neighbours; /* of the threads that form a sum of a LOOP_ACROSS; 0: there is none */
  bool warp_row;  /* a warp has one row of edges: its threads run the loops over them equally often, but for shares */
  int turns; /* iterations of the grid that a group runs one after the other, a block's side by side; 0 and 1: one */
  struct Linear *also; /* a further kernel with the same arguments, for rows that this one leaves out; or NULL */
  bool also_first;     /* the further kernels are started before this one, which takes less time than they do */
} Linear;

static inline bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }
int linear_nargs(const Linear *lin); /* parameters that are arguments of a launch */
/* The parallel loop that all uses of a local array are in; -1: there is none around some. */
int linear_local_loop(const Linear *lin, int param);
/* Bytes of a local array with what is left out up to the next one, and of all where they are more than a kernel has by
 * itself; else 0. */
int64_t linear_local_bytes(const LinearParam *p);
int64_t linear_room(const Linear *lin);
bool linear_has_strip(const Linear *lin); /* a thread takes several iterations of a loop side by side */
/* The name of kernel k of a program as rendered: kernels of one name are told apart by a number. */
enum { SYMBOL_SIZE = 208 };
void linear_symbol(int n, const Linear *const *kernel, int k, char out[SYMBOL_SIZE]);
/* Text for DEBUG and for tests. */
void linear_print(Str *out, const Linear *lin);
/* What is legal: sources before use and of the right kind, loops nested, vector promises kept. */
bool linear_verify(PolyContext *ctx, const Linear *lin);

#endif
