/* balance.c: the table that balances rows of very different lengths. In: row pointers. Out: pieces of rows, longest
 * first, that are about equally much work each when taken in order.
 *
 *   rowptr 0 2 9 9 10, pieces of at most 4   ->   row   1 1 0 3 2
 *                                                 begin 2 6 0 9 9
 *                                                 end   6 9 2 10 9      bins: lengths 3 to 4, 2, 1, 0
 *                                                 rows that were cut: 1, with the partial results 0 and 1
 *
 * A row of at most `length` edges is one piece. A longer one, a hub, is cut into pieces of `length` edges, each with a
 * place for its partial result; the partial results of a hub lie side by side in the order of its edges and are
 * combined in that order. Pieces are sorted into bins by the power of two of their length, in the order of the rows
 * within a bin, so one piece beside the next has about as much to do. The length follows from the degrees alone, so
 * results have the same bits on every device and for every number of threads. O(rows + edges / length). */
#include "graph/graph.h"

/* Pieces of 256 edges were best for a mean degree of 14, pieces of 1024 for one of 490 (sums over in-edges of R-MAT
 * graphs on a GPU): about twice the mean degree between those bounds. */
enum { SHORTEST_PIECE = 256, LONGEST_PIECE = 1024 };

static int64_t piece_length(int64_t rows, int64_t edges) {
  int64_t length = SHORTEST_PIECE;
  while (length < LONGEST_PIECE && length * rows < 2 * edges) length *= 2;
  return length;
}

/* The bin of a piece: bin k holds the lengths from 2^(b-1) + 1 to 2^b, with b = BALANCE_BINS - 2 - k; the last is empty
 * rows. */
static int bin_of(int64_t length) {
  int b = 0;
  if (!length) return BALANCE_BINS - 1;
  while (((int64_t)1 << b) < length) b++;
  return BALANCE_BINS - 2 - b;
}

static int64_t pieces_of(int64_t degree, int64_t length) {
  return degree > length ? (degree + length - 1) / length : 1;
}

/* Numbers of pieces by bin, and how many rows are cut into how many partial results. */
static void count(const int32_t *rowptr, int64_t rows, Balance *t) {
  int64_t bins[BALANCE_BINS] = {0};
  for (int64_t v = 0; v < rows; v++) {
    int64_t degree = rowptr[v + 1] - rowptr[v], n = pieces_of(degree, t->length);
    if (n == 1) {
      bins[bin_of(degree)]++;
      continue;
    }
    t->hubs++;
    t->partials += n;
    bins[bin_of(t->length)] += n - 1;
    bins[bin_of(degree - (n - 1) * t->length)]++;
  }
  for (int k = 0; k < BALANCE_BINS; k++) t->bin[k + 1] = t->bin[k] + bins[k];
}

static void fill(const int32_t *rowptr, int64_t rows, Balance *t) {
  int64_t next[BALANCE_BINS], hub = 0, partial = 0;
  for (int k = 0; k < BALANCE_BINS; k++) next[k] = t->bin[k];
  for (int64_t v = 0; v < rows; v++) {
    int64_t degree = rowptr[v + 1] - rowptr[v], n = pieces_of(degree, t->length);
    if (n > 1) {
      t->hub_row[hub] = (int32_t)v;
      t->hub_first[hub++] = (int32_t)partial;
    }
    for (int64_t k = 0; k < n; k++) {
      int64_t from = k * t->length, to = n == 1 ? degree : MIN(degree, from + t->length);
      int64_t at = next[bin_of(to - from)]++;
      t->row[at] = (int32_t)v;
      t->begin[at] = (int32_t)(rowptr[v] + from);
      t->end[at] = (int32_t)(rowptr[v] + to);
      t->partial[at] = n > 1 ? (int32_t)partial++ : -1;
    }
  }
  t->hub_first[hub] = (int32_t)partial;
}

static size_t words(const Balance *t) { return (size_t)(4 * balance_pieces(t) + 2 * t->hubs + 1); }

Balance *balance_new(Base *b, const int32_t *rowptr, int64_t rows) {
  Balance *t = mem_new(b, sizeof *t);
  if (!t) return NULL;
  t->length = piece_length(rows, rowptr[rows]);
  count(rowptr, rows, t);
  int64_t n = balance_pieces(t);
  int32_t *memory = mem_resize(b, NULL, 0, words(t) * sizeof *memory);
  if (!memory) {
    mem_free(b, t, sizeof *t);
    return NULL;
  }
  t->row = memory;
  t->begin = t->row + n;
  t->end = t->begin + n;
  t->partial = t->end + n;
  t->hub_row = t->partial + n;
  t->hub_first = t->hub_row + t->hubs;
  fill(rowptr, rows, t);
  return t;
}

void balance_free(Base *b, Balance *t) {
  if (!t) return;
  mem_free(b, t->row, words(t) * sizeof *t->row);
  mem_free(b, t, sizeof *t);
}

const Balance *graph_balance(PolyGraph *g, End end) {
  RowView rows;
  if (!g->balance[end] && graph_view_rows(g, end, &rows))
    g->balance[end] = balance_new(ctx_base(g->ctx), rows.rowptr, g->num_nodes[end]);
  return g->balance[end];
}
