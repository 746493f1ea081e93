/* test_lengths.c: the table of rows by their lengths. If one of these fails, a device that takes rows from the table
 * would miss some, or compute some twice. */
#include "graph_fixture.h"

#include "graph/graph.h"

static int64_t length_of(const int32_t *rowptr, int32_t v) { return rowptr[v + 1] - rowptr[v]; }

/* The power of two that a length is counted under. */
static int64_t rounded(int64_t length) {
  int64_t n = length ? 1 : 0;
  while (n < length) n *= 2;
  return n;
}

static void check_table(const int32_t *rowptr, int64_t rows, const int32_t *table) {
  bool *seen = calloc((size_t)rows + 1, sizeof *seen);
  for (int64_t i = 0; i < rows; i++) {
    assert_in_range(table[i], 0, rows - 1);
    assert_false(seen[table[i]]);
    seen[table[i]] = true;
    if (!i) continue;
    int64_t before = rounded(length_of(rowptr, table[i - 1])), here = rounded(length_of(rowptr, table[i]));
    assert_true(before > here || (before == here && table[i - 1] < table[i]));
  }
  for (int k = 0; k < ROW_BINS; k++) {
    int64_t longer = 0;
    for (int32_t v = 0; v < rows; v++) longer += length_of(rowptr, v) > (int64_t)1 << k;
    assert_int_equal(table[rows + k], longer);
  }
  free(seen);
}

static void check_degrees(const int32_t *degree, int64_t rows) {
  int32_t *rowptr = calloc((size_t)rows + 1, sizeof *rowptr);
  int32_t *table = calloc((size_t)rows + ROW_BINS, sizeof *table);
  for (int64_t v = 0; v < rows; v++) rowptr[v + 1] = rowptr[v] + degree[v];
  rows_by_length(rowptr, rows, table);
  check_table(rowptr, rows, table);
  free(table);
  free(rowptr);
}

static void rows_of_all_lengths(void **state) {
  (void)state;
  check_degrees((int32_t[]){0}, 0);
  check_degrees((int32_t[]){0, 0, 0}, 3);
  check_degrees((int32_t[]){2, 7, 0, 1}, 4);
  check_degrees((int32_t[]){1, 2, 3, 4, 5, 8, 9, 255, 256, 257, 512, 513, 0}, 13);
  check_degrees((int32_t[]){5, INT32_MAX - 5}, 2);
  int32_t degree[300];
  for (int v = 0; v < 300; v++) degree[v] = v * v % 997;
  check_degrees(degree, 300);
}

static void behind_the_row_pointers(void **state) {
  (void)state;
  PolyContext *ctx = poly_context_new();
  int64_t src[600], dst[600];
  for (int e = 0; e < 600; e++) src[e] = e % 9, dst[e] = e < 500 ? 4 : e % 9;
  PolyGraph *g = poly_graph_from_coo(ctx, src, dst, POLY_INT64, 600, 9, 9);
  assert_non_null(g);
  for (int end = 0; end < 2; end++) {
    RowView rows;
    assert_true(graph_view_rows(g, (End)end, &rows));
    check_table(rows.rowptr, 9, rows.rowptr + 10);
  }
  PolyTensor *rowptr = poly_graph_rowptr(g, 'i');
  int64_t shape;
  assert_int_equal(poly_ndim(rowptr), 1);
  poly_shape(rowptr, &shape);
  assert_int_equal(shape, 10);
  poly_free(rowptr);
  poly_graph_free(g);
  poly_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_all_lengths), cmocka_unit_test(behind_the_row_pointers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
