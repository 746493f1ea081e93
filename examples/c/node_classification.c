/* node_classification.c: Zachary's karate club, 34 people who took sides when their club broke up. Only the two who
 * quarrelled say on which side they are; a graph convolutional network (Kipf and Welling, 2016) tells it for the other
 * 32 from nothing but who is friends with whom. Forward, backward and Adam are one compiled step. Exits with 1 unless
 * at least 30 of the 32 are put on the side that they took. */
#include <polygrad.h>

#include <stdio.h>

enum { PEOPLE = 34, TIES = 78, SIDES = 2, WIDE = 8, STEPS = 150, REPORT = 30, PARAMS = 4, UNKNOWN = -100 };

/* ---- the club ---- */

static const unsigned char tie[TIES][2] = {
    {0, 1},   {0, 2},   {0, 3},   {0, 4},   {0, 5},   {0, 6},   {0, 7},   {0, 8},   {0, 10},  {0, 11},
    {0, 12},  {0, 13},  {0, 17},  {0, 19},  {0, 21},  {0, 31},  {1, 2},   {1, 3},   {1, 7},   {1, 13},
    {1, 17},  {1, 19},  {1, 21},  {1, 30},  {2, 3},   {2, 7},   {2, 8},   {2, 9},   {2, 13},  {2, 27},
    {2, 28},  {2, 32},  {3, 7},   {3, 12},  {3, 13},  {4, 6},   {4, 10},  {5, 6},   {5, 10},  {5, 16},
    {6, 16},  {8, 30},  {8, 32},  {8, 33},  {9, 33},  {13, 33}, {14, 32}, {14, 33}, {15, 32}, {15, 33},
    {18, 32}, {18, 33}, {19, 33}, {20, 32}, {20, 33}, {22, 32}, {22, 33}, {23, 25}, {23, 27}, {23, 29},
    {23, 32}, {23, 33}, {24, 25}, {24, 27}, {24, 31}, {25, 31}, {26, 29}, {26, 33}, {27, 33}, {28, 31},
    {28, 33}, {29, 32}, {29, 33}, {30, 32}, {30, 33}, {31, 32}, {31, 33}, {32, 33}};
/* The instructor's side or the president's. */
static const char side[] = "iiiiiiiiipiiiippiipipipppppppppppp";

/* Friendship goes both ways. */
static PolyGraph *club(PolyContext *ctx) {
  static int32_t src[2 * TIES], dst[2 * TIES];
  for (int k = 0; k < TIES; k++) {
    src[k] = dst[TIES + k] = tie[k][0];
    dst[k] = src[TIES + k] = tie[k][1];
  }
  return poly_graph_from_coo(ctx, src, dst, POLY_INT32, 2 * TIES, PEOPLE, PEOPLE);
}

/* ---- the network ---- */

typedef struct Layer {
  PolyTensor *weight, *bias; /* [out, in], [out] */
} Layer;

typedef struct Net {
  Layer one, two;
  PolyGraph *friends; /* and oneself */
  PolyTensor *scale;  /* [PEOPLE, 1]: 1 / sqrt(number of friends) */
} Net;

static Layer layer_new(PolyContext *ctx, int in, int out) {
  Layer l = {poly_glorot_uniform(ctx, POLY_FLOAT32, 2, (int64_t[]){out, in}),
             poly_zeros(ctx, POLY_FLOAT32, 1, (int64_t[]){out})};
  poly_set_requires_grad(l.weight, true);
  poly_realize(l.bias);
  poly_set_requires_grad(l.bias, true);
  return l;
}

/* x' = D^-1/2 (A + 1) D^-1/2 x W^T + b, as a sum over neighbours: nothing is kept for an edge. */
static PolyTensor *convolve(const Net *net, const Layer *l, PolyTensor *x) {
  PolyTensor *h = poly_mul(poly_linear(x, l->weight, NULL), net->scale);
  PolyVertex *v = poly_zoom_in(net->friends);
  PolyNbs *n = poly_innbs(v);
  PolyTensor *sum = poly_zoom_out(v, poly_nb_sum(n, poly_nb(n, h)));
  return poly_add(poly_mul(sum, net->scale), l->bias);
}

static PolyTensor *net_apply(const Net *net, PolyTensor *x) {
  return convolve(net, &net->two, poly_tanh(convolve(net, &net->one, x)));
}

static PolyStep *make_step(const Net *net, PolyOptim *optim, PolyTensor *const *param, PolyTensor *x,
                           PolyTensor *told) {
  PolyTensor *state[PARAMS + 2 + 2 * PARAMS];
  PolyContext *ctx = poly_context_of(x);
  poly_scope_begin(ctx);
  PolyTensor *loss = poly_cross_entropy(net_apply(net, x), told, 0, UNKNOWN, 'm');
  poly_backward(loss, NULL);
  poly_optim_schedule(optim);
  for (int k = 0; k < PARAMS; k++) state[k] = param[k];
  int n = PARAMS + poly_optim_state(optim, state + PARAMS, 2 + 2 * PARAMS);
  PolyStep *step = poly_step_new((PolyTensor *[]){x, told}, 2, &loss, 1, state, n);
  poly_optim_zero_grad(optim);
  poly_scope_end(ctx);
  return step;
}

static void train(PolyStep *step) {
  for (int k = 1; step && k <= STEPS; k++) {
    if (poly_step_run(step, NULL, 0) != POLY_OK) return;
    if (k % REPORT && k > 1) continue;
    PolyTensor *loss = poly_step_output(step, 0);
    printf("step %4d  loss %.4f\n", k, poly_item(loss));
    poly_free(loss);
  }
}

/* Asks the network about everyone, shows the answers, and counts the right ones among those who did not tell. */
static int ask(PolyContext *ctx, const Net *net, PolyTensor *x, const int32_t *told) {
  int32_t answer[PEOPLE] = {0};
  int right = 0;
  poly_scope_begin(ctx);
  poly_set_no_grad(ctx, true);
  poly_read(poly_argmax(net_apply(net, x), 1, false), answer, sizeof answer);
  poly_set_no_grad(ctx, false);
  poly_scope_end(ctx);
  printf("took    %s\nfound   ", side);
  for (int k = 0; k < PEOPLE; k++) {
    putchar("ip"[answer[k] == 1]);
    right += told[k] == UNKNOWN && "ip"[answer[k] == 1] == side[k];
  }
  putchar('\n');
  return right;
}

int main(void) {
  PolyContext *ctx = poly_context_new();
  if (!ctx) return 1;
  poly_set_threads(ctx, 1); /* kernels this small are done before a second thread has woken up */
  poly_manual_seed(ctx, 1);

  int32_t sides[PEOPLE];
  for (int k = 0; k < PEOPLE; k++) sides[k] = UNKNOWN;
  sides[0] = 0, sides[PEOPLE - 1] = 1; /* the instructor and the president */
  PolyTensor *told = poly_from_data(ctx, sides, POLY_INT32, 1, (int64_t[]){PEOPLE});
  PolyTensor *x = poly_eye(ctx, POLY_FLOAT32, PEOPLE, PEOPLE); /* nothing is known of a person but who it is */
  poly_realize(x);

  Net net = {.one = layer_new(ctx, PEOPLE, WIDE), .two = layer_new(ctx, WIDE, SIDES)};
  net.friends = poly_graph_with_self_loops(club(ctx), true);
  PolyTensor *degree = poly_cast(poly_graph_degree(net.friends, 'i'), POLY_FLOAT32);
  net.scale = poly_unsqueeze(poly_unary(POLY_RSQRT, degree), 1);
  poly_realize(net.scale);
  PolyTensor *param[PARAMS] = {net.one.weight, net.one.bias, net.two.weight, net.two.bias};
  PolyOptim *optim = poly_adam(param, PARAMS, 0.02, 0.9, 0.999, 1e-8, 5e-4);

  PolyStep *step = make_step(&net, optim, param, x, told);
  train(step);
  if (step) printf("a step is %d kernels\n", poly_step_kernels(step));
  int right = ask(ctx, &net, x, sides);
  printf("%d of the %d who did not tell are on the side that they took\n", right, PEOPLE - 2);

  bool fine = poly_error_code(ctx) == POLY_OK && right >= 30;
  if (poly_error_code(ctx) != POLY_OK) fprintf(stderr, "%s\n", poly_error_text(ctx));
  poly_step_free(step);
  poly_optim_free(optim);
  poly_context_free(ctx); /* frees the graph and the tensors too */
  return fine ? 0 : 1;
}
