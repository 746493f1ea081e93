/* spiral_mlp.c: a small network learns to tell two interleaved spirals apart. One training step (forward, backward,
 * Adam) is traced once, compiled, and then replayed on random batches. Shows the loss, the accuracy, and the plane as
 * the network sees it. Exits with 1 if it has not learned. */
#include <polygrad.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { POINTS = 1000, BATCH = 250, HIDDEN = 32, STEPS = 1000, REPORT = 200, WIDE = 64, HIGH = 28, PARAMS = 6 };

static const double PI = 3.14159265358979323846;

/* A repeatable stream of numbers in [0, 1). */
static uint64_t random_state = 42;
static double random_unit(void) {
  random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (double)(random_state >> 11) / 9007199254740992.0;
}

/* Arm `label` of the spiral, one and a half turns outwards, slightly blurred. */
static void draw_point(float *xy, float *label, int arm) {
  double t = random_unit(), angle = 3 * PI * t + PI * arm, radius = 0.08 + 0.87 * t;
  xy[0] = (float)(radius * cos(angle) + 0.02 * (random_unit() - 0.5));
  xy[1] = (float)(radius * sin(angle) + 0.02 * (random_unit() - 0.5));
  *label = (float)arm;
}

typedef struct Net {
  PolyTensor *param[PARAMS]; /* weight and bias of three layers */
} Net;

static void net_init(Net *net, PolyContext *ctx) {
  static const int64_t sizes[] = {2, HIDDEN, HIDDEN, 1};
  for (int layer = 0; layer < PARAMS / 2; layer++) {
    int64_t shape[] = {sizes[layer + 1], sizes[layer]};
    net->param[2 * layer] = poly_kaiming_uniform(ctx, POLY_FLOAT32, 2, shape, 0);
    net->param[2 * layer + 1] = poly_zeros(ctx, POLY_FLOAT32, 1, shape);
  }
  for (int k = 0; k < PARAMS; k++) poly_set_requires_grad(net->param[k], true);
}

/* Points [n, 2] to the logit of class 1, [n]. */
static PolyTensor *net_apply(const Net *net, PolyTensor *x) {
  PolyTensor *const *p = net->param;
  PolyTensor *h = poly_tanh(poly_linear(poly_mul_scalar(x, 4), p[0], p[1]));
  h = poly_tanh(poly_linear(h, p[2], p[3]));
  return poly_squeeze(poly_linear(h, p[4], p[5]), 1);
}

/* One step of training on a batch, compiled. Output 0 is the loss. */
static PolyStep *make_step(const Net *net, PolyOptim *optim, PolyTensor *x, PolyTensor *label) {
  PolyTensor *state[PARAMS + 2 + 2 * PARAMS];
  PolyContext *ctx = poly_context_of(x);
  poly_scope_begin(ctx);
  PolyTensor *loss = poly_binary_cross_entropy_logits(net_apply(net, x), label, NULL, 'm');
  poly_backward(loss, NULL);
  poly_optim_schedule(optim);
  for (int k = 0; k < PARAMS; k++) state[k] = net->param[k];
  int n = PARAMS + poly_optim_state(optim, state + PARAMS, 2 + 2 * PARAMS);
  PolyStep *step = poly_step_new((PolyTensor *[]){x, label}, 2, &loss, 1, state, n);
  poly_optim_zero_grad(optim);
  poly_scope_end(ctx);
  return step;
}

/* Fills the batch's own memory with other points of the set. */
static void next_batch(PolyTensor *x, PolyTensor *label, const float *points, const float *labels) {
  float bx[BATCH][2], bl[BATCH];
  for (int k = 0; k < BATCH; k++) {
    int at = (int)(random_unit() * POINTS);
    bx[k][0] = points[2 * at];
    bx[k][1] = points[2 * at + 1];
    bl[k] = labels[at];
  }
  poly_write(x, bx, sizeof bx);
  poly_write(label, bl, sizeof bl);
}

static double train(PolyContext *ctx, const Net *net, PolyOptim *optim, const float *points, const float *labels) {
  double last = NAN;
  PolyTensor *x = poly_from_data(ctx, points, POLY_FLOAT32, 2, (int64_t[]){BATCH, 2});
  PolyTensor *label = poly_from_data(ctx, labels, POLY_FLOAT32, 1, (int64_t[]){BATCH});
  PolyStep *step = make_step(net, optim, x, label);
  for (int k = 1; step && k <= STEPS; k++) {
    next_batch(x, label, points, labels);
    if (k == STEPS * 2 / 3) poly_optim_set_lr(optim, poly_optim_lr(optim) / 5);
    if (poly_step_run(step, NULL, 0) != POLY_OK) break;
    if (k % REPORT && k > 1) continue;
    PolyTensor *loss = poly_step_output(step, 0);
    last = poly_item(loss);
    printf("step %5d  loss %.4f\n", k, last);
    poly_free(loss);
  }
  if (step) printf("a step is %d kernels\n", poly_step_kernels(step));
  poly_step_free(step);
  poly_free(x);
  poly_free(label);
  return last;
}

/* The logits of n points. */
static void look(PolyContext *ctx, const Net *net, const float *points, int n, float *logits) {
  poly_scope_begin(ctx);
  poly_set_no_grad(ctx, true);
  PolyTensor *x = poly_from_data(ctx, points, POLY_FLOAT32, 2, (int64_t[]){n, 2});
  poly_read(net_apply(net, x), logits, (size_t)n * sizeof *logits);
  poly_set_no_grad(ctx, false);
  poly_scope_end(ctx);
}

static void show_plane(PolyContext *ctx, const Net *net, const float *points, const float *labels) {
  static float grid[HIGH * WIDE][2], logits[HIGH * WIDE];
  static char picture[HIGH][WIDE + 1];
  for (int k = 0; k < HIGH * WIDE; k++) {
    grid[k][0] = (float)(2.2 * (k % WIDE + 0.5) / WIDE - 1.1);
    grid[k][1] = (float)(1.1 - 2.2 * (k / WIDE + 0.5) / HIGH);
  }
  look(ctx, net, grid[0], HIGH * WIDE, logits);
  for (int k = 0; k < HIGH * WIDE; k++) picture[k / WIDE][k % WIDE] = logits[k] > 0 ? '.' : ' ';
  for (int k = 0; k < POINTS; k += 3) {
    int column = (int)((points[2 * k] + 1.1) / 2.2 * WIDE), row = (int)((1.1 - points[2 * k + 1]) / 2.2 * HIGH);
    picture[row][column] = labels[k] > 0 ? '#' : 'o';
  }
  for (int row = 0; row < HIGH; row++) printf("  |%s|\n", picture[row]);
}

static double accuracy(PolyContext *ctx, const Net *net) {
  static float points[POINTS][2], labels[POINTS], logits[POINTS];
  int right = 0;
  for (int k = 0; k < POINTS; k++) draw_point(points[k], &labels[k], k % 2);
  look(ctx, net, points[0], POINTS, logits);
  for (int k = 0; k < POINTS; k++) right += (logits[k] > 0) == (labels[k] > 0);
  return (double)right / POINTS;
}

int main(void) {
  static float points[POINTS][2], labels[POINTS];
  PolyContext *ctx = poly_context_new();
  Net net;
  if (!ctx) return 1;
  for (int k = 0; k < POINTS; k++) draw_point(points[k], &labels[k], k % 2);
  poly_set_threads(ctx, 1); /* kernels this small are done before a second thread has woken up */
  poly_manual_seed(ctx, 1);
  net_init(&net, ctx);
  PolyOptim *optim = poly_adam(net.param, PARAMS, 0.01, 0.9, 0.999, 1e-8, 0);
  printf("two spirals: %d points, a network 2-%d-%d-1, device %s\n", POINTS, HIDDEN, HIDDEN, poly_device(ctx));

  clock_t start = clock();
  double loss = train(ctx, &net, optim, points[0], labels);
  printf("trained in %.2f s of processor time\n", (double)(clock() - start) / CLOCKS_PER_SEC);
  show_plane(ctx, &net, points[0], labels);
  double share = accuracy(ctx, &net);
  printf("accuracy on new points: %.1f %%\n", 100 * share);

  bool fine = poly_error_code(ctx) == POLY_OK && share > 0.97 && loss < 0.2;
  if (poly_error_code(ctx) != POLY_OK) fprintf(stderr, "%s\n", poly_error_text(ctx));
  poly_optim_free(optim);
  for (int k = 0; k < PARAMS; k++) poly_free(net.param[k]);
  poly_context_free(ctx);
  return fine ? 0 : 1;
}
