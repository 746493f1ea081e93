/* schedule.h: from a graph of tensor UOps to an ordered list of work: kernels, matrix products, library calls.
 *
 * In: canonical roots. Leaves are BUFFER nodes with arg.i = -(k+1) for input k, VARIABLE for sizes and other integers
 * (no BIND), CONST and IOTA. Out: slots (memory that a plan touches) and items that read and write them. Knows nothing
 * of devices but what the Target says, and nothing of how kernels are written. A kernel comes out as STORE nodes over
 * RANGEs: scheduling lowers, because whether a value must be stored is seen from the index at which it is read. */
#ifndef POLY_SCHEDULE_H
#define POLY_SCHEDULE_H

#include "ir/uop.h"

/* SLOT_TILE: memory of each worker of a composite item, see TilesItem. */
typedef enum SlotKind { SLOT_INPUT, SLOT_OUTPUT, SLOT_TEMP, SLOT_TILE } SlotKind;
enum { SLOT_KINDS = SLOT_TILE + 1 };

typedef struct Slot {
  SlotKind kind;
  int input;       /* SLOT_INPUT: which */
  UOp *node;       /* what it holds; its dtype and shape are the slot's */
  UOp *numel;      /* integer UOp over the plan's variables */
  const char *why; /* "asked for", "matrix product", ... */
  int64_t rows;    /* how many rows of the node it holds at a time; 0: all of it */
  int64_t copies;  /* how many times it holds the node, once for each piece of a composite item; 0: once */
  int64_t width,
      pitch; /* of the node's rows that lie further apart: how long they are, and how far apart; 0: none do */
} Slot;

typedef enum ItemKind { ITEM_KERNEL, ITEM_MATMUL, ITEM_LIBRARY, ITEM_LOOP, ITEM_TILES } ItemKind;
enum { ITEM_KINDS = ITEM_TILES + 1 };

typedef enum RowAxis {
  ROWS_NOWHERE, /* a batch, or size 1 */
  ROWS_OUTER,   /* outermost of the rows of A and of the result */
  ROWS_SUMMED   /* outermost of the inner axes */
} RowAxis;

/* Integer UOps, in elements, as in MatmulCall, but with up to four batch axes (nbatch may be 0). The operands are
 * arg[1] and arg[2] of the item, the result is arg[0]; offsets are added to the operands' pointers. */
typedef struct MatmulItem {
  UOp *m, *n, *k;
  UOp *a_row, *a_col, *a_offset, *b_row, *b_col, *b_offset, *c_row;
  int nbatch;
  UOp *batch[4], *a_batch[4], *b_batch[4], *c_batch[4];
  /* Where axis 0 of the product is, for a product that is computed tile by tile along it: */
  RowAxis axis;
  UOp *each;            /* what m (or k) is for one index of axis 0, */
  UOp *a_step, *b_step; /* and how far it moves in the operands; */
  bool in_place;        /* in the result, too: rows of a tile go to their places in memory */
} MatmulItem;

typedef struct Loop Loop;

typedef struct Item {
  ItemKind kind;
  int nout, narg;
  int *arg;    /* slots: nout outputs, then inputs; arg[i] is parameter i of the kernel */
  UOp **store; /* kernel: nout lowered STORE nodes, what codegen_kernel takes */
  UOp **made;  /* kernel: the nodes that the outputs hold */
  int *over;   /* kernel: for each output an input of its size that is read only where the output is written, so that it
                  may   take over its memory; -1: none. Places in arg. */
  UOp *node;   /* library: the LIBRARY node, its value sources are arg[1..] */
  UOp **offset; /* library: where each of those begins in its slot, in elements; NULL: at the first */
  MatmulItem *matmul;
  Loop *loop; /* its results are arg[0 .. nout-1], its operands follow */
  struct TilesItem *tiles;
} Item;

/* A composite item: kernels and matrix products that run for a tile of edges at a time, so that values of each edge
 * between them live in scratch memory that the cache holds. Edges are taken in the order of the rows of one end, or in
 * their own. They are cut into pieces, whole rows each, and a piece into tiles; pieces run side by side, the tiles of a
 * piece one after the other. So a row that a tile cuts is combined in order, and so is a sum over all edges: a partial
 * result for each piece, and `finish` over those. Pieces and tiles follow from the graph alone.
 *
 * Its arguments are all slots that its sub-items touch. Sub-items are Schedule.sub[first ..], those of `finish` behind
 * the others; their kernels take variables of the tile beside those of the plan. */
typedef enum TileVar {
  TILE_EDGE,   /* the first edge of the tile, as a place in the order, */
  TILE_EDGES,  /* and how many */
  TILE_ROW,    /* the first row that it touches, */
  TILE_ROWS,   /* and how many */
  TILE_PIECE,  /* which piece it belongs to */
  TILE_BEGUN,  /* 1: not the first of its piece */
  TILE_PIECES, /* how many pieces there are; known to `finish` too */
  TILE_VARS
} TileVar;

typedef struct TilesItem {
  int first, nitem, nfinish;
  UOp *edges, *rows;    /* how many; rows: NULL where edges are taken in their own order */
  int rowptr;           /* slot of the row pointers, -1 likewise */
  int64_t tile, pieces; /* edges of a tile and number of pieces, at most */
  int nproduct;
  UOp **product; /* the nodes of its matrix products */
  UOp *var[TILE_VARS];
} TilesItem;

typedef struct Schedule {
  Slot *slot;
  int nslot;
  Item *item;
  int nitem;
  Item *sub; /* sub-items of composite items */
  int nsub;
  int *root_slot; /* where each root's value is after the run; a root ASSIGN: the slot of the buffer it writes */
} Schedule;

/* A loop over steps: schedules of its own, which the item runs again and again.
 *
 * Inputs of the body, by number: the carried values, a row of each stacked operand, operands as a whole. Its roots: the
 * new carried values, then a row of each stacked result. The operands of the item in the same order, with the first
 * carried values. A carried value of which all states are kept is read from one row of them and written to the next;
 * any other goes back and forth between its result and memory of the loop. */
typedef struct LoopResult {
  enum { LOOP_FINAL, LOOP_STATES, LOOP_STACK } kind;
  int at; /* which carried value, or which stacked result */
} LoopResult;

struct Loop {
  UOp *count;
  bool reverse;
  int ncarry, nrow, nwhole; /* operands */
  int nstack, nresult;
  UOp **operand;
  UOp **root; /* of the body: ncarry + nstack */
  LoopResult *result;
  UOp **node;     /* RESULT nodes, or NULL: nobody asked */
  UOp *closed;    /* CLOSED */
  int draft;      /* while the schedule is made: its draft, -1: none yet */
  UOp **copy;     /* roots of `first` */
  Schedule first; /* copies the first carried values to where they are kept: inputs and roots are the carried values */
  Schedule body;
};

/* What a kernel may hold beside the node that it stores. */
typedef enum Hold {
  HOLD_ANYTHING,
  HOLD_ONE_OUTPUT,    /* nothing else is stored by it */
  HOLD_ONE_REDUCTION, /* and other reductions are stored before they are read */
  HOLD_ONE_OP         /* and so is everything that it is computed from */
} Hold;

/* Begins as zeros: all kernels may hold anything. */
typedef struct ScheduleLimits {
  Map whole;         /* products that are not computed tile by tile, */
  bool wider;        /* which has grown since the schedule was last built */
  Map hold;          /* node that is stored -> what its kernel may hold */
  Hold all;          /* what any kernel may hold */
  int rounds;        /* of limiting */
  VEC(UOp *) failed; /* what the kernel was to store that could not be written */
} ScheduleLimits;

/* Lists live in the arena and their nodes in the caller's scope. Where it fails, or where what it gives cannot be
 * written (which schedule_blame takes down), schedule_limit says whether it is to be tried again. */
bool schedule_build(PolyContext *ctx, Arena *arena, int nroot, UOp *const *root, const Target *target,
                    ScheduleLimits *limits, Schedule *out);

/* ---- verify.c ---- */

/* What is legal: slots and items that refer to each other as the comments above say, kernels whose nodes are legal and
 * whose loops close. Which item may run before which is the business of engine/check.c. Runs after schedule_build if
 * the context verifies. */
bool schedule_verify(PolyContext *ctx, int nroot, const Schedule *s);

/* ---- limits.c ---- */

/* The kernel that stores these nodes cannot be written. Counts for the first failure only. */
void schedule_blame(PolyContext *ctx, ScheduleLimits *l, int n, UOp *const *made);
/* Products that are not to be computed tile by tile when the schedule is built again. */
bool schedule_keep_whole(PolyContext *ctx, ScheduleLimits *l, int n, UOp *const *product);
/* After a failure: tightens the limits of the kernel that was blamed (of all, if none was) and clears the error. False:
 * the failure is final. */
bool schedule_limit(PolyContext *ctx, ScheduleLimits *l);
Hold schedule_hold(const ScheduleLimits *l, const UOp *made);
void schedule_limits_free(PolyContext *ctx, ScheduleLimits *l);

/* ---- of kernels ---- */

/* Of a kernel that overwrites the parameter: does it read that anywhere but at the place that it writes at the time? */
bool overwrites_early(Base *b, int nstore, UOp *const *store, int64_t param);

/* The schedule in words, for DEBUG=3 and explain. */
void schedule_print(Str *out, const Schedule *s);

#endif
