/* test_balance.c: the table that balances rows. If one of these fails, a device that takes rows from the table would
 * miss edges, count some twice, or combine the pieces of a hub in another order than another device. */
#include "graph_fixture.h"

#include "graph/graph.h"

static Failing memory = {.until = -1};
static Base base = {.alloc = {failing_realloc, &memory}};

static int64_t length_of(const Balance *t, int64_t k) { return t->end[k] - t->begin[k]; }

/* Every edge of every row is in one piece; the pieces of a hub lie side by side, in the order of its edges. */
static void check_cover(const Balance *t, const int32_t *rowptr, int64_t rows) {
  int64_t edges = rowptr[rows], pieces = balance_pieces(t), cut = 0;
  int *met = calloc((size_t)edges + 1, sizeof *met), *seen = calloc((size_t)rows + 1, sizeof *seen);
  int32_t *ends = malloc((size_t)(t->partials + 1) * sizeof *ends),
          *begins = malloc((size_t)(t->partials + 1) * sizeof *begins);
  for (int64_t k = 0; k < pieces; k++) {
    int32_t v = t->row[k];
    assert_in_range(v, 0, rows - 1);
    assert_true(t->begin[k] >= rowptr[v] && t->begin[k] <= t->end[k] && t->end[k] <= rowptr[v + 1]);
    assert_true(length_of(t, k) <= t->length);
    for (int32_t e = t->begin[k]; e < t->end[k]; e++) met[e]++;
    seen[v]++;
    assert_int_equal(t->partial[k] >= 0, rowptr[v + 1] - rowptr[v] > t->length);
    if (t->partial[k] < 0) continue;
    begins[t->partial[k]] = t->begin[k];
    ends[t->partial[k]] = t->end[k];
    cut++;
  }
  for (int64_t e = 0; e < edges; e++) assert_int_equal(met[e], 1);
  for (int64_t v = 0; v < rows; v++) assert_true(seen[v] >= 1); /* rows without edges too: they have a result */
  assert_int_equal(cut, t->partials);
  for (int64_t h = 0; h < t->hubs; h++) {
    assert_int_equal(begins[t->hub_first[h]], rowptr[t->hub_row[h]]);
    for (int32_t p = t->hub_first[h]; p + 1 < t->hub_first[h + 1]; p++) assert_int_equal(ends[p], begins[p + 1]);
    assert_int_equal(ends[t->hub_first[h + 1] - 1], rowptr[t->hub_row[h] + 1]);
  }
  free(met), free(seen), free(ends), free(begins);
}

/* Longest first, up to a factor of two; in the order of the rows within a bin. */
static void check_bins(const Balance *t) {
  assert_int_equal(t->bin[0], 0);
  for (int k = 0; k < BALANCE_BINS; k++)
    for (int64_t i = t->bin[k]; i < t->bin[k + 1]; i++) {
      int64_t most = k < BALANCE_BINS - 1 ? (int64_t)1 << (BALANCE_BINS - 2 - k) : 0;
      assert_true(length_of(t, i) <= most && 2 * length_of(t, i) > (most > 1 ? most : most ? 1 : -1));
      if (i > t->bin[k]) assert_true(t->row[i - 1] <= t->row[i]);
    }
}

static void check_degrees(const int32_t *degree, int64_t rows, int64_t length) {
  int32_t *rowptr = calloc((size_t)rows + 1, sizeof *rowptr);
  for (int64_t v = 0; v < rows; v++) rowptr[v + 1] = rowptr[v] + degree[v];
  Balance *t = balance_new(&base, rowptr, rows);
  assert_non_null(t);
  assert_int_equal(t->length, length);
  check_cover(t, rowptr, rows);
  check_bins(t);
  balance_free(&base, t);
  free(rowptr);
  assert_int_equal(memory.bytes, 0);
}

static void rows_of_all_lengths(void **state) {
  (void)state;
  check_degrees((int32_t[]){0}, 0, 256);
  check_degrees((int32_t[]){0, 0, 0}, 3, 256);
  check_degrees((int32_t[]){1, 2, 3, 4, 5, 8, 9, 255, 256, 257, 512, 513, 0}, 13, 512);
  int32_t degree[300];
  for (int v = 0; v < 300; v++) degree[v] = v % 7;
  degree[17] = 5000;
  degree[299] = 256 * 40;
  check_degrees(degree, 300, 256);
  for (int v = 0; v < 300; v++) degree[v] = 490 + v;
  check_degrees(degree, 300, 1024);
}

/* What the table is for: sums of pieces, combined in order, are the sums of the rows. */
static void sums_by_pieces(void **state) {
  (void)state;
  enum { ROWS = 50 };
  int32_t rowptr[ROWS + 1] = {0};
  for (int v = 0; v < ROWS; v++) rowptr[v + 1] = rowptr[v] + (v == 20 ? 3000 : v % 5);
  Balance *t = balance_new(&base, rowptr, ROWS);
  double *partial = calloc((size_t)t->partials + 1, sizeof *partial), sum[ROWS] = {0};
  for (int64_t k = 0; k < balance_pieces(t); k++) {
    double *to = t->partial[k] < 0 ? &sum[t->row[k]] : &partial[t->partial[k]];
    for (int32_t e = t->begin[k]; e < t->end[k]; e++) *to += e;
  }
  for (int64_t h = 0; h < t->hubs; h++)
    for (int32_t p = t->hub_first[h]; p < t->hub_first[h + 1]; p++) sum[t->hub_row[h]] += partial[p];
  for (int v = 0; v < ROWS; v++) {
    double want = 0;
    for (int32_t e = rowptr[v]; e < rowptr[v + 1]; e++) want += e;
    assert_true(sum[v] == want);
  }
  free(partial);
  balance_free(&base, t);
}

static void kept_with_the_graph(void **state) {
  (void)state;
  PolyContext *ctx = poly_context_new();
  int64_t src[600], dst[600];
  for (int e = 0; e < 600; e++) src[e] = e % 9, dst[e] = e < 500 ? 4 : e % 9;
  PolyGraph *g = poly_graph_from_coo(ctx, src, dst, POLY_INT64, 600, 9, 9);
  assert_non_null(g);
  const Balance *in = graph_balance(g, DST);
  assert_non_null(in);
  assert_int_equal(in->hubs, 1);
  assert_int_equal(in->hub_row[0], 4);
  assert_ptr_equal(graph_balance(g, DST), in);
  assert_int_equal(graph_balance(g, SRC)->hubs, 0);
  poly_graph_free(g);
  poly_context_free(ctx);
}

static void memory_may_run_out(void **state) {
  (void)state;
  int32_t rowptr[] = {0, 1, 1000};
  for (int n = 0; n < 2; n++) {
    memory.until = n;
    assert_null(balance_new(&base, rowptr, 2));
    assert_int_equal(memory.bytes, 0);
    base_clear(&base);
  }
  memory.until = -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_all_lengths), cmocka_unit_test(sums_by_pieces),
                                     cmocka_unit_test(kept_with_the_graph), cmocka_unit_test(memory_may_run_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
