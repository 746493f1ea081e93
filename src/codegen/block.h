/* block.h: a kernel as a tree of loops while codegen shapes it. Internal to codegen. */
#ifndef POLY_BLOCK_H
#define POLY_BLOCK_H

#include "codegen/codegen.h"
#include "ir/index.h"

enum { MOST_STORES = 16 }; /* of a kernel */

typedef struct Block Block;

/* One line of a block: an instruction (numbered as it was made) or a loop. */
typedef struct Line {
  int inst; /* -1: child */
  Block *child;
} Line;

struct Block {
  Block *parent;
  UOp *range; /* NULL: the kernel itself */
  int loop;   /* instruction that is the loop variable */
  VEC(Line) line;
  Map value;    /* UOp -> instruction, made in this block */
  double trips; /* how often the block's body runs, estimated */
  double cost;  /* operations of one iteration */
  bool whole;   /* a sum that is not cut into blocks: it is one already */
  bool ordered; /* an iteration writes over what the one before it stored beyond its own places */
  bool own;     /* of a loop of a group: each thread keeps what it has added up */
  bool fenced;  /* threads wait for each other behind a later loop: no fence is needed here */
};

/* Flags of a LOOP that stay inside codegen. LOOP_JAMMED: one step of a register tile: all its lanes at once, as many
 * copies as that takes. */
enum { LOOP_JAMMED = 1 << 30 };

enum { MAX_ROWPTRS = 4 };

/* Rows of more than `edges` edges, or up to `most` where rows are long on the average, are left to a kernel with so
 * many workers, blocks of this many threads. split: those that are 2 to the power of it times as long have these; the
 * others have smaller blocks, in a kernel of their own. */
typedef struct Hubs {
  int edges, most, threads, workers, split;
  bool first; /* they take longer than the other rows: see Linear.also_first */
} Hubs;

/* Which rows a kernel has. */
typedef enum RowClass { ROWS_SHORT, ROWS_LONG, ROWS_MIDDLE, ROWS_LONGEST } RowClass;

typedef struct Codegen {
  PolyContext *ctx;
  Arena *arena;
  const Target *target;
  Map ranges;        /* memo of index_ranges */
  uint64_t used;     /* ids that RANGEs of the kernel have */
  VEC(Inst) inst;    /* with sources numbered as made */
  VEC(UOp *) origin; /* the UOp that each instruction came from; NULL for ENDs */
  VEC(Block *) block;
  VEC(UOp *) loops; /* all LOOP nodes */
  VEC(UOp *) var;
  Map made;          /* LOAD of what the kernel itself stores from inside a reduction -> the STORE, until that is
                      * emitted (blocks.c) */
  VEC(UOp *) unread; /* those of them that nothing loads */
  Block *top;
  UOp *grid; /* where the target has groups: see Linear */
  int group, pack;
  Block *inner;           /* innermost block of the output loops */
  int nargs;              /* parameters that are arguments */
  VEC(LinearParam) local; /* local arrays: the parameters behind them */
  bool tiled;             /* the tree is tiles.c's */
  UOp *flops;             /* of a launch, where the tree has other work in it; NULL: what the tree says */
  int spread;             /* see Linear */
  int turns;              /* see Linear */
  bool warp_row;          /* see Linear */
  Block *body;            /* of one iteration of the grid */
  int strip;              /* of the innermost loop of the grid: see Inst */
  int neighbours;         /* threads along that loop that add up what each of them has: see Linear; 0: none do */
  int padded;  /* its iterations are as many as a multiple of this, a power of two; those too many store nothing; 0: as
                  they are */
  double work; /* of the loop that the number of threads was chosen by */
  /* LOOPs whose bounds are those of a row, one for each array that these are loaded from (rowptr, a parameter; -1: they
   * are computed): rows that are long in one of them are a kernel apart, see Hubs. */
  int nragged, ragged[MAX_ROWPTRS], rowptr[MAX_ROWPTRS];
  int log_edges;  /* of the mean number of edges of such a row */
  bool by_length; /* all of them have the rows by length behind the row pointers: see ENDPOINT */
  Hubs hubs;
  RowClass rows; /* of the kernel that is being made */
} Codegen;

/* merge.c: neighbouring ranges that every index walks as one become one. Rewrites store[]. */
bool merge_ranges(PolyContext *ctx, Arena *arena, int nstore, UOp **store);
/* part.c: an output loop of a sum of products becomes two where one of these is in one factor alone. Rewrites store[].
 */
bool part_ranges(PolyContext *ctx, Arena *arena, int nstore, UOp **store);
/* sections.c: the innermost output loop, or several, one after another, where tensors are joined along it: the range of
 * each and the stores inside it. */
enum { MOST_SECTIONS = 8 };
typedef struct Sections {
  int n;
  UOp *range[MOST_SECTIONS], **store[MOST_SECTIONS];
} Sections;
bool find_sections(Codegen *g, int nstore, UOp **store, Sections *out);
/* blocks.c: the tree of loops with instructions at the depth of the ranges that they depend on. */
bool build_blocks(Codegen *g, int nstore, UOp **store);
bool begin_blocks(Codegen *g, int nstore, UOp *const *store);
/* shared.c: functions of a row that two loops need go through a local array; store has room for one more. */
bool share_values(Codegen *g, int *nstore, UOp **store);
uint64_t block_ranges(Codegen *g, UOp *u);
/* Does u depend on range r? NULL does not. */
static inline bool block_varies(Codegen *g, UOp *u, const UOp *r) {
  return u && (block_ranges(g, u) & (1ull << r->arg.i));
}
/* Pieces of a tree, for those who build one by hand. */
int block_inst(Codegen *g, Block *b, Inst inst, UOp *origin);        /* -1: no memory */
Block *block_open(Codegen *g, Block *b, UOp *range, uint32_t flags); /* a loop inside b; */
bool block_close(Codegen *g, Block *inner);                          /* only then it is a line of b */
int block_value(Codegen *g, Block *b, UOp *u);                       /* the instruction that gives u in b */
bool block_name(Codegen *g, Block *b, UOp *u, int inst);             /* u is what that instruction gives */
bool block_store(Codegen *g, Block *b, UOp *store, UOp *gate); /* store->src: array, value, index; gate: NULL, or if */
/* tiles.c: the same for a sum of products. *done: false if the kernel is none; then nothing has been built. */
bool build_tiles(Codegen *g, int nstore, UOp *const *store, bool *done);
/* turned.c: the same for elementwise work on memory that lies in two orders. */
bool build_turned(Codegen *g, int nstore, UOp *const *store, bool *done);
/* shape.c: which loops run as lanes and which on several threads. */
bool shape_loops(Codegen *g);
double range_trips(Codegen *g, const UOp *r); /* of a loop, at most; of one whose bounds are loaded, a guess */
bool lanes_allowed(Codegen *g, const Block *b, const UOp *r);
double gain_below(Codegen *g, const Block *b, const UOp *r, const UOp *outer); /* what lanes along r save in b */
/* groups.c: which loops are the grid and which are shared by the threads of a group. */
bool shape_groups(Codegen *g);
/* How many iterations of the loop of b a thread takes at once; */
int block_strip_of(Codegen *g, Block *b);
void block_strip(Codegen *g, Block *b, int n); /* a thread takes n iterations of the loop of b side by side */
int64_t block_stride(Codegen *g, UOp *index, const UOp *range); /* by how much an index grows with it; STRIDE_NONE */
/* The same for the kernel of long rows, once the other one is written out. */
bool shape_hubs(Codegen *g, RowClass rows);
/* across.c: sums that neighbouring threads form together, each of them with what it has. True: there are some, and
 * g->neighbours says how many threads that takes. */
bool find_across(Codegen *g);
void drop_across(Codegen *g); /* takes its marks away: threads are shaped in another way */
/* Does b, a loop inside that of f, add up as many values as f has iterations, and depend on it in nothing? */
bool sums_along(Codegen *g, const Block *b, const UOp *f);
/* flatten.c: the tree as a list of instructions; long sums in blocks. */
bool flatten_blocks(Codegen *g, Linear *out);

#endif
