/* lengths.c: rows in the order of their lengths, so that threads side by side have about as much to do, and the longest
 * rows begin first. In: row pointers. Out: the rows, sorted into bins by the power of two of their length, longest
 * first, in their own order within a bin; and how many are longer than each power of two.
 *
 *   rowptr 0 2 9 9 10   ->   row 1 0 3 2      longer than 1, 2, 4, 8 ..: 2 1 1 0 ..
 *
 * It lies behind the row pointers in their memory, where kernels of devices with groups of threads find it
 * (codegen/flatten.c). O(rows). */
#include "graph/graph.h"

/* The bin of a row: bin k holds the lengths from 2^(b-1) + 1 to 2^b, with b = ROW_BINS - 1 - k; the last is empty rows.
 */
static int bin_of(int32_t length) {
  if (!length) return ROW_BINS;
  return ROW_BINS - 1 - (length > 1 ? 32 - __builtin_clz((unsigned)length - 1) : 0);
}

void rows_by_length(const int32_t *rowptr, int64_t rows, int32_t *table) {
  int32_t next[ROW_BINS + 2] = {0}; /* where the next row of each bin goes */
  for (int64_t v = 0; v < rows; v++) next[bin_of(rowptr[v + 1] - rowptr[v]) + 1]++;
  for (int k = 0; k <= ROW_BINS; k++) next[k + 1] += next[k];
  for (int k = 0; k < ROW_BINS; k++) table[rows + ROW_BINS - 1 - k] = next[k];
  for (int64_t v = 0; v < rows; v++) table[next[bin_of(rowptr[v + 1] - rowptr[v])]++] = (int32_t)v;
}
