/* graph.h: what the files of the graph module share. A graph is two index arrays in the user's edge order, and, once
 * they are needed, the rows of its edges by either end. To the compiler it is a pair of ENDPOINT nodes; see ir/ops.def.
 *
 *   graph.c   making, checking, reference counts, the graph of an edge_index tensor
 *   rows.c    edges sorted by one end             derive.c  graphs out of graphs
 *   lengths.c rows in the order of their lengths
 *   later.c   arrays that are made again where they are needed
 *   on_device.c  the same arrays, made on a device where the indices are
 *   moves.c   node values seen from edges, edge values reduced over rows
 *   vertex.c  programs for one vertex, out of the moves
 *
 * Arrays are BUFFER nodes of int32 that are never handed out: a handle gets a node of its own on the same memory, so
 * that whoever assigns to it writes a copy. Their sizes are integer UOps; nothing but array sizes and the loops that
 * fill the arrays uses the plain numbers beside them, so a graph whose sizes are bound variables needs no other moves.
 */
#ifndef POLY_GRAPH_H
#define POLY_GRAPH_H

#include "ir/context.h"

/* The two ends of an edge; rows by destination are the in-edges of each node. */
typedef enum End { SRC, DST } End;
static inline End other_end(End e) { return e == SRC ? DST : SRC; }

typedef enum Derived {
  DERIVED_LOOPS,
  DERIVED_MISSING_LOOPS,
  DERIVED_OWN_LOOPS,
  DERIVED_NO_LOOPS,
  DERIVED_UNDIRECTED,
  DERIVED_COALESCED,
  DERIVED_REVERSED,
  DERIVED_COUNT
} Derived;

/* The edges sorted by one end; NULL: not built yet. */
typedef struct EdgeRows {
  UOp *rowptr;  /* [V + 1]: row v is rowptr[v] .. rowptr[v + 1] of the other two; its memory goes on: see ENDPOINT */
  UOp *entries; /* [E]: the edges, row by row, in their own order within a row */
  UOp *others;  /* [E]: the other end of each of those */
  UOp *rows, *places; /* [E] each, NULL until there are both ends' rows; see ENDPOINT */
} EdgeRows;

struct PolyGraph {
  PolyContext *ctx;
  PolyGraph *prev, *next; /* the graphs of the context */
  int refs, given;        /* references, and how many of them callers have: those free each of theirs once */
  int64_t num_edges, num_nodes[2];
  UOp *edges, *nodes[2]; /* the same as sizes, which may be symbolic */
  UOp *index[2];         /* [E]: one end of each edge, */
  UOp *shown[2];         /* and what handles on it are called; NULL: nobody has asked */
  bool sorted[2];        /* does that end never go down from edge to edge? */
  EdgeRows rows[2];      /* by either end */
  UOp *end[2];           /* ENDPOINT, or NULL: no move was used yet */
  UOp *origin;           /* [E], of a derived graph */
  UOp *loops;            /* [V], or NULL: not counted yet; see poly_graph_loops */
  UOp *norm[2][2];       /* [V, 1] by end and with or without own loops, or NULL; see poly_graph_norm */
  UOp *own;              /* [V, 1], or NULL; see poly_graph_own */
  PolyGraph *derived[DERIVED_COUNT];
  PolyGraph *twin; /* the same edges the other way round; not owned */
};

/* ---- graph.c ---- */

/* References of the library's own, beside those that callers have (poly_graph_retain, poly_graph_free); graph_keep
 * makes one of a new graph's, which is a caller's at first. */
PolyGraph *graph_hold(PolyGraph *g);
PolyGraph *graph_keep(PolyGraph *g);
void graph_drop(PolyGraph *g);

/* A graph whose index arrays are still to be filled; in the context's list, with one reference. */
PolyGraph *graph_alloc(PolyContext *ctx, UOp *edges, UOp *src, UOp *dst);
/* The same edges the other way round, on the same arrays. */
PolyGraph *graph_view(PolyGraph *g);
/* A new array of size int32s, with `more` behind it in its memory; the caller holds it. */
UOp *graph_array(PolyContext *ctx, UOp *size, int64_t more);
/* Its memory, on the host. NULL: an error was set. */
int32_t *graph_data(UOp *array);
/* A handle on an array: a node of its own on the same memory. */
PolyTensor *graph_handle(PolyGraph *g, UOp *array);
/* Builds the rows by one end, unless they are there. */
bool graph_build_rows(PolyGraph *g, End end);
/* The same, as arrays on the host. */
typedef struct RowView {
  const int32_t *rowptr, *edge, *other;
} RowView;
bool graph_view_rows(PolyGraph *g, End end, RowView *out);
int graph_threads(const PolyGraph *g, int64_t work);
/* Sets g->sorted. */
bool graph_note_sorted(PolyGraph *g);
/* Sets g->loops. */
bool graph_count_loops(PolyGraph *g); /* derive.c */

/* ---- later.c ---- */

/* Both rows of a large graph are there: gives back the memory of those arrays that can be made again out of others. */
bool graph_thin(PolyGraph *g);
/* Where the edges of h came from is made when it is asked for: those of g that are no loops, then `loops` of nodes. */
bool graph_origins_later(PolyGraph *g, PolyGraph *h, int64_t loops);
/* Sets rows[].rows and rows[].places, which are made where they are needed. */
bool graph_order_edges(PolyGraph *g);

/* ---- on_device.c ---- */

/* What is known of one end of an edge_index on a device: bounds, whether it never goes down, the hash of graph.c. */
typedef struct DeviceEnd {
  int64_t low, high;
  bool sorted;
  uint64_t hash;
  UOp *index; /* its array, or NULL if none was asked for; the caller's */
} DeviceEnd;
/* Does an edge_index lie on the device that programs run on, and nowhere else, and is it worth staying there? */
bool graph_pairs_on_device(const PolyTensor *edge_index);
bool graph_look_on_device(PolyTensor *edge_index, bool arrays, DeviceEnd end[2]);
/* The rows by one end, if its indices are there alone: *done. */
bool graph_rows_on_device(PolyGraph *g, End end, bool *done);

/* ---- moves.c ---- */

/* Nodes of a tensor [V, ...] seen from the edges at one end; edge values [E, ...] reduced over the rows of one end, and
 * the softmax over each row; op: "sum" ... "logsumexp". No checks. */
UOp *graph_spread(PolyGraph *g, UOp *x, End end);
UOp *graph_reduce(PolyGraph *g, UOp *m, const char *op, End end);
UOp *graph_softmax(PolyGraph *g, UOp *m, End end);
UOp *graph_degree(PolyGraph *g, End end); /* int32 [V] */
/* Is there a row of x for each of size nodes or edges? */
bool graph_check_rows(PolyGraph *g, const UOp *x, UOp *size, const char *what, const char *of);

/* ---- vertex.c ---- */

void vertex_free_all(PolyContext *ctx); /* programs that are still open when their context ends */

/* ---- lengths.c ---- */

/* Rows by their lengths, the longest first, into table[rows + ROW_BINS]: see ENDPOINT. */
void rows_by_length(const int32_t *rowptr, int64_t rows, int32_t *table);

/* ---- rows.c ---- */

/* Stable counting sort of entries by key, which lies in [0, rows), into rowptr[rows + 1], the entries of each row, and
 * other[] of each of those. The result does not depend on threads. O(rows + entries); scratch: 8 bytes for each
 * entry of the largest group of rows and thread. */
typedef struct Rows {
  const int32_t *key, *other;
  int64_t rows, entries;
  bool sorted; /* keys never go down: only rowptr is to be found */
  int32_t *rowptr, *entry_out, *other_out;
  int threads;
} Rows;
bool rows_build(Base *b, const Rows *r);

#endif
