/* block.h: a kernel as a tree of loops while codegen shapes it. Internal to codegen. */
#ifndef POLY_BLOCK_H
#define POLY_BLOCK_H

#include "codegen/codegen.h"
#include "ir/index.h"

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
};

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
  Map made; /* LOAD of what the kernel itself stores from inside a reduction -> the STORE, until that is emitted */
  Block *top;
  Block *inner; /* innermost block of the output loops */
  UOp *grid;    /* where the target has groups: see Linear */
  int group, pack;
} Codegen;

/* merge.c: neighbouring ranges that every index walks as one become one. Rewrites store[]. */
bool merge_ranges(PolyContext *ctx, Arena *arena, int nstore, UOp **store);
/* blocks.c: the tree of loops with instructions at the depth of the ranges that they depend on. */
bool build_blocks(Codegen *g, int nstore, UOp *const *store);
uint64_t block_ranges(Codegen *g, UOp *u);
/* shape.c: which loops run as lanes and which on several threads. */
bool shape_loops(Codegen *g);
double range_trips(Codegen *g, const UOp *r); /* of a loop, at most; of one whose bounds are loaded, a guess */
bool lanes_allowed(Codegen *g, const Block *b, const UOp *r);
double gain_below(Codegen *g, const Block *b, const UOp *r, const UOp *outer); /* what lanes along r save in b */
/* groups.c: which loops are the grid and which are shared by the threads of a group. */
bool shape_groups(Codegen *g);
/* flatten.c: the tree as a list of instructions; long sums in blocks. */
bool flatten_blocks(Codegen *g, Linear *out);

#endif
