/* yx_gradient.c: the smallest use of gradients. x is the 3x3 identity, y a row, z = sum(y x); then dz/dx has y's
 * elements in its rows and dz/dy is a row of ones (the row sums of x). Exits with 1 if the numbers are wrong. */
#include <polygrad.h>

#include <stdio.h>

static void print(const char *name, const float *v, int rows, int columns) {
  printf("%s\n", name);
  for (int r = 0; r < rows; r++) {
    for (int c = 0; c < columns; c++) printf("%6.1f", v[r * columns + c]);
    printf("\n");
  }
}

int main(void) {
  static const float row[3] = {2, 0, -2};
  float dx[9] = {0}, dy[3] = {0};
  PolyContext *ctx = poly_context_new();
  if (!ctx) return 1;
  poly_scope_begin(ctx);
  PolyTensor *x = poly_eye(ctx, POLY_FLOAT32, 3, 3);
  PolyTensor *y = poly_from_data(ctx, row, POLY_FLOAT32, 2, (int64_t[]){1, 3});
  poly_set_requires_grad(x, true);
  poly_set_requires_grad(y, true);

  PolyTensor *z = poly_sum(poly_matmul(y, x), 0, NULL, false);
  poly_backward(z, NULL);
  poly_read(poly_get_grad(x), dx, sizeof dx);
  poly_read(poly_get_grad(y), dy, sizeof dy);

  bool right = poly_error_code(ctx) == POLY_OK;
  if (!right) fprintf(stderr, "%s\n", poly_error_text(ctx));
  poly_scope_end(ctx);
  poly_context_free(ctx);

  print("dz/dx", dx, 3, 3);
  print("dz/dy", dy, 1, 3);
  for (int k = 0; k < 9; k++) right = right && dx[k] == row[k / 3];
  for (int k = 0; k < 3; k++) right = right && dy[k] == 1;
  return right ? 0 : 1;
}
