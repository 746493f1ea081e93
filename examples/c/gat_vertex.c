/* gat_vertex.c: a graph attention network written as what happens at one vertex. Four groups of people: most ties are
 * within a group, the rest go anywhere; what is known of a person is mostly noise; and one in five says which group is
 * theirs. The network learns to tell for all. Forward, backward and Adam are one compiled step, and nothing as large as
 * edges times features is stored. Exits with 1 unless more than 85 % of the others are put into their group. */
#include <polygrad.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { GROUPS = 4, PEOPLE = 600, TIES = 6000, KNOWN = 16, HEADS = 4, WIDE = 8, STEPS = 100, REPORT = 20, PARAMS = 6 };
enum { UNKNOWN = -100 };

static uint64_t random_state = 7;
static double random_unit(void) {
  random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (double)(random_state >> 11) / 9007199254740992.0;
}
static double random_normal(void) { return sqrt(-2 * log(1 - random_unit())) * cos(6.283185307179586 * random_unit()); }

/* ---- people ---- */

typedef struct People {
  int32_t src[TIES + PEOPLE], dst[TIES + PEOPLE]; /* everyone has a tie to themselves, too */
  int32_t group[PEOPLE], told[PEOPLE];            /* told: UNKNOWN for those who do not say */
  float known[PEOPLE][KNOWN];
} People;

static void draw_people(People *p) {
  for (int k = 0; k < PEOPLE; k++) {
    p->group[k] = k % GROUPS;
    p->told[k] = k / GROUPS % 5 ? UNKNOWN : p->group[k];
    for (int f = 0; f < KNOWN; f++) p->known[k][f] = (float)(random_normal() + (f % GROUPS == p->group[k] ? 0.6 : 0));
    p->src[TIES + k] = p->dst[TIES + k] = k;
  }
  for (int e = 0; e < TIES; e++) {
    int a = (int)(random_unit() * PEOPLE), b = (int)(random_unit() * PEOPLE);
    if (random_unit() < 0.75) b = b / GROUPS * GROUPS + p->group[a];
    p->src[e] = a, p->dst[e] = b;
  }
}

/* ---- the network ---- */

typedef struct Layer {
  int heads, wide;
  PolyTensor *weight, *left, *right; /* [heads * wide, in], and [heads, wide] for each end of an edge */
} Layer;

static PolyTensor *glorot(PolyContext *ctx, int rows, int columns) {
  PolyTensor *t = poly_glorot_uniform(ctx, POLY_FLOAT32, 2, (int64_t[]){rows, columns});
  poly_set_requires_grad(t, true);
  return t;
}

static Layer layer_new(PolyContext *ctx, int in, int heads, int wide) {
  return (Layer){heads, wide, glorot(ctx, heads * wide, in), glorot(ctx, heads, wide), glorot(ctx, heads, wide)};
}

static PolyTensor *dot(PolyTensor *a, PolyTensor *b) { return poly_sum(poly_mul(a, b), 1, (int[]){-1}, false); }

/* A vertex looks at its neighbours, and adds up what they have to say by how much each matters to it. */
static PolyTensor *attend(const Layer *l, PolyGraph *g, PolyTensor *x) {
  PolyTensor *h = poly_unflatten(poly_linear(x, l->weight, NULL), 1, 2, (int64_t[]){l->heads, l->wide});
  PolyTensor *el = dot(h, l->left), *er = dot(h, l->right);

  PolyVertex *v = poly_zoom_in(g);
  PolyNbs *n = poly_innbs(v);
  PolyTensor *score = poly_leaky_relu(poly_add(poly_nb(n, el), poly_self(v, er)), 0.2);
  PolyTensor *alpha = poly_nb_softmax(n, score);
  PolyTensor *rst = poly_nb_sum(n, poly_mul(poly_unsqueeze(alpha, -1), poly_nb(n, h)));
  return poly_flatten(poly_zoom_out(v, rst), 1, -1);
}

typedef struct Net {
  Layer one, two;
} Net;

static PolyTensor *net_apply(const Net *net, PolyGraph *g, PolyTensor *x) {
  return attend(&net->two, g, poly_elu(attend(&net->one, g, x), 1));
}

static PolyStep *make_step(const Net *net, PolyOptim *optim, PolyTensor *const *param, PolyGraph *g, PolyTensor *x,
                           PolyTensor *told) {
  PolyTensor *state[PARAMS + 2 + 2 * PARAMS];
  PolyContext *ctx = poly_context_of(x);
  poly_scope_begin(ctx);
  PolyTensor *loss = poly_cross_entropy(net_apply(net, g, x), told, 0, UNKNOWN, 'm');
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

/* The share of those who did not tell that are put into their group. */
static double accuracy(PolyContext *ctx, const Net *net, PolyGraph *g, PolyTensor *x, const People *p) {
  static int32_t answer[PEOPLE];
  int right = 0, asked = 0;
  poly_scope_begin(ctx);
  poly_set_no_grad(ctx, true);
  poly_read(poly_argmax(net_apply(net, g, x), 1, false), answer, sizeof answer);
  poly_set_no_grad(ctx, false);
  poly_scope_end(ctx);
  for (int k = 0; k < PEOPLE; k++)
    if (p->told[k] == UNKNOWN) asked++, right += answer[k] == p->group[k];
  return (double)right / asked;
}

int main(void) {
  static People people;
  draw_people(&people);
  PolyContext *ctx = poly_context_new();
  if (!ctx) return 1;
  poly_set_threads(ctx, 1); /* kernels this small are done before a second thread has woken up */
  poly_manual_seed(ctx, 1);
  PolyGraph *g = poly_graph_from_coo(ctx, people.src, people.dst, POLY_INT32, TIES + PEOPLE, PEOPLE, PEOPLE);
  PolyTensor *x = poly_from_data(ctx, people.known, POLY_FLOAT32, 2, (int64_t[]){PEOPLE, KNOWN});
  PolyTensor *told = poly_from_data(ctx, people.told, POLY_INT32, 1, (int64_t[]){PEOPLE});
  Net net = {layer_new(ctx, KNOWN, HEADS, WIDE), layer_new(ctx, HEADS * WIDE, 1, GROUPS)};
  PolyTensor *param[PARAMS] = {net.one.weight, net.one.left, net.one.right,
                               net.two.weight, net.two.left, net.two.right};
  PolyOptim *optim = poly_adam(param, PARAMS, 0.01, 0.9, 0.999, 1e-8, 5e-3);

  clock_t start = clock();
  PolyStep *step = make_step(&net, optim, param, g, x, told);
  train(step);
  if (step) printf("a step is %d kernels\n", poly_step_kernels(step));
  printf("trained in %.2f s of processor time\n", (double)(clock() - start) / CLOCKS_PER_SEC);
  double share = accuracy(ctx, &net, g, x, &people);
  printf("accuracy on those who did not tell: %.1f %%\n", 100 * share);

  bool fine = poly_error_code(ctx) == POLY_OK && share > 0.85;
  if (poly_error_code(ctx) != POLY_OK) fprintf(stderr, "%s\n", poly_error_text(ctx));
  poly_step_free(step);
  poly_optim_free(optim);
  poly_context_free(ctx); /* frees the graph and the tensors too */
  return fine ? 0 : 1;
}
