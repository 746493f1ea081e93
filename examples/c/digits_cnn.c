/* digits_cnn.c: a small convolutional network learns to read digits. The digits are drawn here: seven segments each, in
 * a 12x12 picture, moved about, slanted, of changing thickness and brightness, with noise. Two convolutions with
 * pooling, one linear layer, AdamW, a compiled step. Exits with 1 unless more than 95 % of new pictures are read
 * correctly. */
#include <polygrad.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SIDE = 12, CLASSES = 10, BATCH = 100, STEPS = 300, REPORT = 50, TESTS = 1000, PARAMS = 6 };

static uint64_t random_state = 2024;
static double random_unit(void) {
  random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (double)(random_state >> 11) / 9007199254740992.0;
}
static double random_in(double low, double high) { return low + (high - low) * random_unit(); }

/* ---- pictures ---- */

/* Segments: top, top right, bottom right, bottom, bottom left, top left, middle; in a box of 1 by 2. */
static const double segment[7][4] = {{0, 0, 1, 0}, {1, 0, 1, 1}, {1, 1, 1, 2}, {0, 2, 1, 2},
                                     {0, 1, 0, 2}, {0, 0, 0, 1}, {0, 1, 1, 1}};
static const int lit[CLASSES] = {0x3f, 0x06, 0x5b, 0x4f, 0x66, 0x6d, 0x7d, 0x07, 0x7f, 0x6f};

static double distance(double x, double y, const double *s) {
  double dx = s[2] - s[0], dy = s[3] - s[1];
  double t = ((x - s[0]) * dx + (y - s[1]) * dy) / (dx * dx + dy * dy);
  t = t < 0 ? 0 : t > 1 ? 1 : t;
  return hypot(x - s[0] - t * dx, y - s[1] - t * dy);
}

static void draw_digit(float *pixel, int digit) {
  double scale = random_in(3.4, 4.4), left = random_in(2, 10 - scale), top = random_in(0.8, 10.8 - 2 * scale);
  double slant = random_in(-0.25, 0.25), thick = random_in(0.16, 0.26), bright = random_in(0.7, 1.2);
  for (int k = 0; k < SIDE * SIDE; k++) {
    double y = (k / SIDE - top) / scale, x = (k % SIDE - left) / scale + slant * (y - 1), near = 9;
    for (int s = 0; s < 7; s++)
      if (lit[digit] >> s & 1) near = fmin(near, distance(x, y, segment[s]));
    double ink = bright / (1 + exp((near - thick) * 18));
    pixel[k] = (float)(ink + random_in(-0.15, 0.15));
  }
}

static void draw_digits(float *pixels, int32_t *labels, int n) {
  for (int k = 0; k < n; k++) {
    labels[k] = (int32_t)(random_unit() * CLASSES);
    draw_digit(pixels + (size_t)k * SIDE * SIDE, labels[k]);
  }
}

static void show(const float *pixels, int n) {
  static const char shade[] = " .:-=+*#%@";
  for (int row = 0; row < SIDE; row++) {
    for (int k = 0; k < n; k++) {
      for (int column = 0; column < SIDE; column++) {
        int level = (int)(pixels[(k * SIDE + row) * SIDE + column] * 9);
        putchar(shade[level < 0 ? 0 : level > 9 ? 9 : level]);
      }
      putchar(' ');
    }
    putchar('\n');
  }
}

/* ---- the network ---- */

typedef struct Net {
  PolyTensor *param[PARAMS]; /* two convolutions and a linear layer: weight, bias */
} Net;

static void net_init(Net *net, PolyContext *ctx) {
  net->param[0] = poly_kaiming_uniform(ctx, POLY_FLOAT32, 4, (int64_t[]){8, 1, 3, 3}, 0);
  net->param[1] = poly_zeros(ctx, POLY_FLOAT32, 1, (int64_t[]){8});
  net->param[2] = poly_kaiming_uniform(ctx, POLY_FLOAT32, 4, (int64_t[]){16, 8, 3, 3}, 0);
  net->param[3] = poly_zeros(ctx, POLY_FLOAT32, 1, (int64_t[]){16});
  net->param[4] = poly_kaiming_uniform(ctx, POLY_FLOAT32, 2, (int64_t[]){CLASSES, 16 * 9}, 1);
  net->param[5] = poly_zeros(ctx, POLY_FLOAT32, 1, (int64_t[]){CLASSES});
  for (int k = 0; k < PARAMS; k++) poly_set_requires_grad(net->param[k], true);
}

static PolyTensor *conv_block(PolyTensor *x, PolyTensor *weight, PolyTensor *bias) {
  static const int64_t one[2] = {1, 1}, two[2] = {2, 2}, same[4] = {1, 1, 1, 1}, none[4] = {0, 0, 0, 0};
  PolyTensor *h = poly_relu(poly_conv(x, weight, bias, 1, one, one, same));
  return poly_max_pool(h, 2, two, two, one, none, false);
}

/* Pictures [n, 1, 12, 12] to class scores [n, 10]. */
static PolyTensor *net_apply(const Net *net, PolyTensor *x) {
  PolyTensor *const *p = net->param;
  PolyTensor *h = conv_block(conv_block(x, p[0], p[1]), p[2], p[3]);
  return poly_linear(poly_flatten(h, 1, -1), p[4], p[5]);
}

static PolyStep *make_step(const Net *net, PolyOptim *optim, PolyTensor *x, PolyTensor *label) {
  PolyTensor *state[PARAMS + 2 + 2 * PARAMS];
  PolyContext *ctx = poly_context_of(x);
  poly_scope_begin(ctx);
  PolyTensor *loss = poly_cross_entropy(net_apply(net, x), label, 0, -100, 'm');
  poly_backward(loss, NULL);
  poly_optim_schedule(optim);
  for (int k = 0; k < PARAMS; k++) state[k] = net->param[k];
  int n = PARAMS + poly_optim_state(optim, state + PARAMS, 2 + 2 * PARAMS);
  PolyStep *step = poly_step_new((PolyTensor *[]){x, label}, 2, &loss, 1, state, n);
  poly_optim_zero_grad(optim);
  poly_scope_end(ctx);
  return step;
}

static void train(PolyContext *ctx, const Net *net, PolyOptim *optim) {
  static float pixels[BATCH * SIDE * SIDE];
  static int32_t labels[BATCH];
  PolyTensor *x = poly_from_data(ctx, pixels, POLY_FLOAT32, 4, (int64_t[]){BATCH, 1, SIDE, SIDE});
  PolyTensor *label = poly_from_data(ctx, labels, POLY_INT32, 1, (int64_t[]){BATCH});
  PolyStep *step = make_step(net, optim, x, label);
  for (int k = 1; step && k <= STEPS; k++) {
    draw_digits(pixels, labels, BATCH);
    poly_write(x, pixels, sizeof pixels);
    poly_write(label, labels, sizeof labels);
    if (poly_step_run(step, NULL, 0) != POLY_OK) break;
    if (k % REPORT && k > 1) continue;
    PolyTensor *loss = poly_step_output(step, 0);
    printf("step %4d  loss %.4f\n", k, poly_item(loss));
    poly_free(loss);
  }
  poly_step_free(step);
  poly_free(x);
  poly_free(label);
}

static double accuracy(PolyContext *ctx, const Net *net) {
  static float pixels[TESTS * SIDE * SIDE];
  static int32_t labels[TESTS], answer[TESTS];
  int right = 0;
  draw_digits(pixels, labels, TESTS);
  poly_scope_begin(ctx);
  poly_set_no_grad(ctx, true);
  PolyTensor *x = poly_from_data(ctx, pixels, POLY_FLOAT32, 4, (int64_t[]){TESTS, 1, SIDE, SIDE});
  poly_read(poly_argmax(net_apply(net, x), 1, false), answer, sizeof answer);
  poly_set_no_grad(ctx, false);
  poly_scope_end(ctx);
  for (int k = 0; k < TESTS; k++) right += answer[k] == labels[k];
  show(pixels, 6);
  printf("read as ");
  for (int k = 0; k < 6; k++) printf(k ? "%13d" : "%d", answer[k]);
  printf("\n");
  return (double)right / TESTS;
}

int main(void) {
  PolyContext *ctx = poly_context_new();
  Net net;
  if (!ctx) return 1;
  poly_set_threads(ctx, 1); /* kernels this small are done before a second thread has woken up */
  poly_manual_seed(ctx, 3);
  net_init(&net, ctx);
  PolyOptim *optim = poly_adamw(net.param, PARAMS, 0.005, 0.9, 0.999, 1e-8, 0.01);
  clock_t start = clock();
  train(ctx, &net, optim);
  printf("trained in %.2f s of processor time\n", (double)(clock() - start) / CLOCKS_PER_SEC);
  double share = accuracy(ctx, &net);
  printf("accuracy on new pictures: %.1f %%\n", 100 * share);

  bool fine = poly_error_code(ctx) == POLY_OK && share > 0.95;
  if (poly_error_code(ctx) != POLY_OK) fprintf(stderr, "%s\n", poly_error_text(ctx));
  poly_optim_free(optim);
  for (int k = 0; k < PARAMS; k++) poly_free(net.param[k]);
  poly_context_free(ctx);
  return fine ? 0 : 1;
}
