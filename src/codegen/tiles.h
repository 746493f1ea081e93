/* tiles.h: a sum of products that is computed in tiles: what the two ways of it share, that of one thread with lanes
 * (tiles.c) and that of a group of threads (group_tiles.c). Internal to codegen. */
#ifndef POLY_CODEGEN_TILES_H
#define POLY_CODEGEN_TILES_H

#include "codegen/block.h"

enum { MAX_STORES = 16 }; /* of a kernel that is built so */

enum {
  TILE_MOST_ROWS = 28,          /* of a register tile, whose text is written out */
  TILE_PAD = 16,                /* elements behind a row of a panel: rows do not fall on the same lines of a cache */
  TILE_PANEL_BYTES = 1536 << 10 /* of local arrays, which are on the stack of a thread */
};

static inline int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* Loops that are walked together: the rows, the columns, or what is summed over. */
typedef struct Group {
  int n;
  UOp *range[MAX_DIMS]; /* outermost first; of a tile some iterations of the first and all of the others */
  int64_t tile, inner;  /* iterations of the first in a tile; of all others together */
  int64_t unit;         /* of the first, distributed evenly over the tiles; 0: every tile but the last is whole */
  UOp *tiles;           /* how many tiles there are, */
  UOp *first, *count;   /* and of the one at hand: where it begins, and its iterations of the first loop */
  UOp *to[MAX_DIMS];    /* what stands for each range in the nest that is open */
} Group;

/* A further product that the sum adds up: its factors, of the same rows and columns, and its own inner loop. */
typedef struct Term {
  UOp *loop, *x, *y;
  Group k;
} Term;

/* Loops of columns and of the sum that y varies with only by step * column + turn * k, one of them 1: see windows.c. */
typedef struct Windows {
  int n;
  const UOp *col[MAX_DIMS], *k[MAX_DIMS];
  int64_t step[MAX_DIMS], turn[MAX_DIMS];
  bool on;    /* the panel of y is packed so; */
  bool whole; /* register tiles of columns do not go beyond the end of a line: columns are numbered as without */
  int64_t col_step[MAX_DIMS], k_step[MAX_DIMS]; /* in the panel, of each loop of the groups, */
  int64_t part[MAX_DIMS];                       /* and of each remainder of windows with a step */
  int64_t size[MAX_DIMS];                       /* of each loop of columns, as these are numbered */
  int64_t elements, columns, line;              /* of the panel; columns, with what is between lines; of a line */
} Windows;

typedef struct Tiles {
  Codegen *g;
  UOp *const *store;
  int nstore;
  UOp *loop, *x, *y; /* the sum and its factors, or those of its first term; */
  int nmore;         /* how many others there are, which groups of threads add up alone */
  Term more[MOST_TERMS - 1];
  Group row, col, k, batch;
  Group k_outer;          /* loops of the sum around those of a block */
  UOp *blocks;            /* of a sum */
  PolyDType dtype;        /* of the sum while it is formed */
  int64_t mr, nr;         /* of the register tile */
  int64_t lanes;          /* of a vector, */
  int64_t most_rows;      /* and rows that a register tile has room for */
  int64_t a_line, b_line; /* elements from row to row of a panel */
  bool a_by_k, b_by_k;    /* the panel of x, of y, has a row for each k */
  bool pairs;
  bool plain_end, direct; /* what follows the sum is little work along the columns; it is done in the register tile, */
  bool ragged, clipped;   /* which may go beyond the rows of the tile, beyond its columns */
  Windows windows;
  int64_t c_line;       /* elements from row to row of the sums */
  bool inside;          /* x is packed for a register tile at a time */
  UOp *a, *b, *c, *low; /* local arrays, as PARAMs */
  const UOp *step;      /* the loop over register tiles of rows while it is open; NULL: it is none */
} Tiles;

/* u with what stands for the ranges of the groups; `sum`: what stands for the reduction, NULL: it is not in there. */
typedef struct Change {
  Tiles *t;
  uint64_t ranges;
  UOp *to[64];
  UOp *sum;
  UOp *gate;        /* of loads that vary with the loop `along`; */
  const UOp *along; /* NULL: that vary with any of the ranges */
  UOp *clip;        /* of loads that vary with the columns */
  UOp *both;        /* gate and clip, or the one that there is: of stores, and of loads that vary with both */
  Map done;
} Change;

bool tiles_match(Tiles *t); /* the sum, its factors and the loops by which factor varies with them */
void tiles_turn(Tiles *t);  /* what were rows are columns, and the other way round */
bool tiles_is_product(const UOp *loop);
bool tiles_vary_as(Tiles *t,
                   const Term *term); /* do its factors vary with the loops of rows and columns alone, and its own? */
bool tiles_add_terms(Tiles *t);       /* all reductions of the kernel, if they are terms of one sum */
bool tiles_sort_terms(Tiles *t);      /* the factors of the others, once rows and columns are known */
double tiles_extent(const Group *group);
bool tiles_put(Group *group, UOp *range);
int tiles_runs(Tiles *t, UOp *factor, const UOp *range); /* loads of a factor that are contiguous along a loop */
/* Are more loads of a factor contiguous along its rows or columns than along k? If both, the longer run counts. */
bool tiles_along(Tiles *t, UOp *factor, const Group *other);

/* tile_sizes.c */

bool tiles_choose_sizes(Tiles *t);                            /* blocks, tiles and register tiles */
bool tiles_walk_as_one(Tiles *t, UOp *u, const Group *group); /* do all loads in u walk the loops of a group as one? */
bool tiles_end_as_one(Tiles *t, const Group *group); /* the same for what follows the sum, and the stores of it */
/* Of `group`, loops for tiles of about `most` elements: inner ones whole, one in pieces, which are of one size where
 * `even`; those around it go to `outer`. */
bool tiles_cut(Tiles *t, Group *group, int64_t most, bool even, Group *outer);
int64_t tiles_columns(const Tiles *t);  /* columns of a tile, as they are numbered */
int64_t tiles_each(const Group *group); /* elements of a tile, */

/* tiles.c */

UOp *tiles_elements(const Group *group);      /* and of the one at hand */
bool tiles_place(Group *group, UOp *n);       /* the tile at hand, number n */
bool tiles_place_outer(Group *group, UOp *n); /* loops that are one loop, at its iteration n */
bool tiles_grid(Tiles *t, Block **b);         /* the parallel loop: over tiles, and over what both factors vary with */
/* A loop over begin .. end inside *b; of one iteration without flags none is opened. */
UOp *tiles_open(Tiles *t, Block **b, UOp *begin, UOp *end, uint32_t flags);
bool tiles_close(Tiles *t, Block *b, const Block *outer);

UOp *tiles_index(const Tiles *t, int64_t v);
UOp *tiles_line(UOp *line, int64_t length, UOp *at);
uint64_t tiles_ranges(const Group *group);    /* bits of the numbers of its loops */
UOp *tiles_array(Tiles *t, int64_t elements); /* a local one */
UOp *tiles_load(Tiles *t, UOp *array, UOp *index, int64_t name);
/* The factor at the place that the groups have open, for loads behind `gate` along the last loop of `run`. */
UOp *tiles_factor_here(Tiles *t, UOp *factor, const Group *other, const Group *run, UOp *gate);
bool tiles_store(Tiles *t, Block *b, UOp *array, UOp *index, UOp *value); /* array[index] = value, in b */
bool tiles_store_if(Tiles *t, Block *b, UOp *array, UOp *index, UOp *value, UOp *gate);
UOp *tiles_flops(const Tiles *t);

/* tile_ends.c */

/* The loops of a group at place `flat` of the tile and `lane` places on, in the same run of the innermost one. */
bool tiles_at(Group *group, UOp *flat, UOp *lane);
void tiles_note(Change *c, const Group *group);
UOp *tiles_changed(Change *c, UOp *u);
/* What follows the sum at the row and column that the groups are at, and the stores of it; gate: whether they are done,
 * and the loads that vary with the loop `along`, or with any that is open where that is NULL; clip: the same for loads
 * that vary with the columns. Both may be NULL. */
bool tiles_finish(Tiles *t, Block *b, UOp *sum, UOp *gate, const UOp *along, UOp *clip);
bool tiles_finish_row(Tiles *t, Block *b, UOp *row, UOp *col, UOp *lane, UOp *part); /* of one row of a register tile */
bool tiles_end_plainly(Tiles *t); /* is what follows the sum little work on vectors of columns? */
void tiles_choose_end(Tiles *t);  /* whether it is done in registers */
/* Memory that `value` reads along the loop `lane` is asked for one register tile ahead. */
bool tiles_read_ahead(Tiles *t, Block *b, UOp *value, const UOp *lane);

/* windows.c */

void windows_find(Tiles *t);                   /* once rows, columns and the loops of the sum are known; */
bool windows_lay_out(Tiles *t);                /* once the tile has been cut. false: it has no windows */
UOp *windows_columns(Tiles *t);                /* columns of the tile at hand, as they are numbered */
UOp *windows_column(Tiles *t, UOp *flat);      /* where in the panel column `flat` is for the first product, */
UOp *windows_product(Tiles *t, UOp *const *k); /* and how far from there that is for iterations of the sum's loops */
bool windows_pack(Tiles *t, Block *b);

/* group_tiles.c: the same by a group of threads. *done: false if the target has none for it. */
bool build_group_tiles(Tiles *t, bool *done);

#endif
