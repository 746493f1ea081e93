/* optim_rules.c: the formulas of optimizers, one function each. In: a parameter, its gradient and the state before a
 * step. Out: those after it, as lazy values. With g the gradient, p the parameter, t the number of the step, all as
 * PyTorch has them, LARS, Muon and LAMB as tinygrad:
 *
 *   sgd        g += wd p;  m = mu m + (1-damp) g, at first m = g;  p -= lr (nesterov ? g + mu m : m)
 *              classic: the momentum holds lr g
 *   adam       g += wd p;  m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2;  amsgrad: v is the largest so far
 *              p -= lr / (1-b1^t) m / (sqrt(v) / sqrt(1-b2^t) + eps)
 *   adamw      p *= 1 - lr wd;  then adam without wd
 *   sparseadam adam, of which rows without a gradient see nothing
 *   rmsprop    g += wd p;  v = a v + (1-a) g^2;  d = g / (sqrt(v) + eps);  m = mu m + d;  p -= lr m
 *              centered: v less the square of a running mean of g
 *   adagrad    g += wd p;  s += g^2;  p -= lr / (1 + (t-1) decay) g / (sqrt(s) + eps)
 *   adadelta   g += wd p;  v as in rmsprop;  d = sqrt(a + eps) / sqrt(v + eps) g;  a = rho a + (1-rho) d^2;  p -= lr d
 *   adamax     g += wd p;  m as in adam;  u = max(b2 u, |g| + eps);  p -= lr / (1-b1^t) m / u
 *   nadam      adam with Nesterov's momentum, whose factor mu_t = b1 (1 - 0.96^(t decay) / 2) grows
 *   radam      adam whose second moment is used once its variance is finite
 *   rprop      a step size for each element, which grows while the sign of g stays and shrinks where it turns
 *   asgd       p decays by lambd eta, p -= eta g;  eta = lr / (1 + lambd lr t)^alpha;  a running mean of p
 *   lars       g (+ wd p), times trust |p| / (|g| + wd |p|), then as sgd; muon: Newton and Schulz's iteration of the
 *              momentum, and p -= lr wd p
 *   lamb       u = m' / (sqrt(v') + eps) + wd p  (m', v' as in adam, corrected);  p -= lr |p| / |u| u */
#include "nn/optim.h"

#include <math.h>
#include <string.h>

#include "tensor/shape_ops.h"

typedef const PolyOptimOptions Options;

enum { FIRST = 1, SECOND = 2, THIRD = 4 };

/* ---- what the formulas share ---- */

static UOp *as(UOp *scalar, const UOp *like) {
  return scalar && like ? uop_cast(scalar, (PolyDType)like->dtype) : NULL;
}

static UOp *mix(UOp *old, UOp *now, double keep) { return t_add(t_mulc(old, keep), t_mulc(now, 1 - keep)); }

/* x times the momentum, or beta1, which is a tensor once it has been changed. */
static UOp *by_momentum(UOp *x, const Step *step, double constant) {
  return step->momentum ? t_mul(x, as(step->momentum, x)) : t_mulc(x, constant);
}

static UOp *mix_first(Options *s, const Step *step, UOp *old, UOp *now) {
  if (!step->momentum) return mix(old, now, s->beta1);
  return t_add(t_mul(old, as(step->momentum, old)), t_mul(now, as(t_rsubc(1, step->momentum), now)));
}

static UOp *decayed(Options *s, const Update *u) {
  return s->weight_decay != 0 && !s->decoupled ? t_add(u->grad, t_mulc(u->param, s->weight_decay)) : u->grad;
}

/* p (1 - lr wd), if the decay is decoupled from the gradient */
static UOp *shrunk(Options *s, const Step *step, UOp *p) {
  if (s->weight_decay == 0 || !s->decoupled) return p;
  return t_mul(p, as(t_rsubc(1, t_mulc(step->rate, s->weight_decay)), p));
}

static UOp *less_one(UOp *power) { return t_rsubc(1, power); }

static UOp *norm(UOp *x) { return x ? t_sqrt(t_sum(t_square(x), t_all_axes(x), false)) : NULL; }

static UOp *choose(UOp *size, UOp *yes, double no) {
  return size ? t_where(t_less(t_scalar_like(size, 0), size), yes, t_scalar_like(size, no)) : NULL;
}

/* ---- sgd and its relatives ---- */

static int slots_sgd(Options *s) { return s->momentum != 0 ? FIRST : 0; }

static UOp *with_momentum(Options *s, const Step *step, Update *u, UOp *g) {
  if (s->momentum == 0) return g;
  UOp *add = s->dampening != 0 ? t_mulc(g, 1 - s->dampening) : g;
  UOp *m = t_add(by_momentum(u->slot[0], step, s->momentum), add);
  if (s->dampening != 0) {
    UOp *count = step->scalar[COUNT];
    m = count ? t_where(t_less_equal(count, t_scalar_like(count, 1)), g, m) : NULL;
  }
  u->slot[0] = m;
  return s->nesterov ? t_add(g, by_momentum(m, step, s->momentum)) : m;
}

static void step_sgd(Options *s, const Step *step, Update *u) {
  UOp *g = decayed(s, u), *rate = as(step->rate, u->param);
  g = s->classic ? with_momentum(s, step, u, t_mul(g, rate)) : t_mul(with_momentum(s, step, u, g), rate);
  u->param = t_sub(u->param, g);
}

/* The matrix of a parameter: its first axis against the others. */
static UOp *as_matrix(UOp *x) {
  UOp *rest = t_count(x, t_all_axes(x) & ~1u);
  return rest ? uop_reshape(x, 2, (UOp *[]){x->shape[0], rest}) : NULL;
}

/* Odd polynomials of a matrix, after which its singular values are near 1. */
static UOp *newton_schulz(UOp *x, int steps, const double c[3], double eps) {
  bool tall = int_less(x->shape[1], x->shape[0]);
  UOp *y = tall ? t_transpose(x, 0, 1) : x;
  UOp *size = norm(y);
  y = size ? t_div(y, t_addc(size, eps)) : NULL;
  for (int k = 0; y && k < steps; k++) {
    UOp *square = t_matmul(y, t_transpose(y, 0, 1));
    UOp *inner = t_add(t_mulc(square, c[1]), t_mulc(t_matmul(square, square), c[2]));
    y = t_add(t_mulc(y, c[0]), t_matmul(inner, y));
  }
  return tall && y ? t_transpose(y, 0, 1) : y;
}

static void step_lars(Options *s, const Step *step, Update *u) {
  UOp *g = u->grad, *p = u->param, *trust = NULL;
  if (s->trust != 0) {
    UOp *size = norm(p), *slope = norm(g);
    UOp *ratio = t_div(t_mulc(size, s->trust), t_add(slope, t_mulc(size, s->weight_decay)));
    trust = choose(size, choose(slope, ratio, 1), 1);
    if (!trust) goto failed;
  }
  UOp *rate = as(step->rate, p);
  UOp *scale = trust ? t_mul(rate, trust) : rate;
  g = decayed(s, u);
  if (s->classic) g = t_mul(g, scale);
  g = with_momentum(s, step, u, g);
  if (s->ns_steps > 0 && p->ndim >= 2) {
    UOp *m = g ? as_matrix(g) : NULL;
    m = m ? newton_schulz(m, s->ns_steps, s->ns, s->eps) : NULL;
    g = m ? uop_reshape(m, p->ndim, p->shape) : NULL;
  }
  if (!s->classic) g = t_mul(g, scale);
  if (s->decoupled && s->weight_decay != 0) g = t_add(g, t_mul(t_mulc(p, s->weight_decay), rate));
  u->param = t_sub(p, g);
  return;
failed:
  u->param = NULL;
}

/* ---- adam and its relatives ---- */

static int slots_adam(Options *s) { return FIRST | SECOND | (s->amsgrad ? THIRD : 0); }
static int slots_two(Options *s) { return (void)s, FIRST | SECOND; }

static UOp *second_moment(Options *s, Update *u, UOp *g) { return u->slot[1] = mix(u->slot[1], t_mul(g, g), s->beta2); }

static void step_adam(Options *s, const Step *step, Update *u) {
  UOp *g = decayed(s, u), *p = shrunk(s, step, u->param);
  u->slot[0] = mix_first(s, step, u->slot[0], g);
  UOp *v = second_moment(s, u, g);
  if (s->amsgrad) v = u->slot[2] = t_maximum(u->slot[2], v);
  UOp *length = t_div(step->rate, less_one(step->scalar[POWER1]));
  UOp *correct = t_sqrt(less_one(step->scalar[POWER2]));
  UOp *denominator = t_addc(t_div(t_sqrt(v), as(correct, u->grad)), s->eps);
  u->param = t_sub(p, t_mul(as(length, u->grad), t_div(u->slot[0], denominator)));
}

static void step_sparse_adam(Options *s, const Step *step, Update *u) {
  Update old = *u;
  UOp *g = u->grad, *zero = t_scalar_like(g, 0);
  UOp *row = t_any(t_not_equal(g, zero), t_all_axes(g) & ~1u, true);
  UOp *m = mix_first(s, step, old.slot[0], g), *v = mix(old.slot[1], t_mul(g, g), s->beta2);
  UOp *length = t_div(t_mul(step->rate, t_sqrt(less_one(step->scalar[POWER2]))), less_one(step->scalar[POWER1]));
  UOp *p = t_sub(old.param, t_mul(as(length, g), t_div(m, t_addc(t_sqrt(v), s->eps))));
  u->slot[0] = t_where(row, m, old.slot[0]);
  u->slot[1] = t_where(row, v, old.slot[1]);
  u->param = t_where(row, p, old.param);
}

static void step_adamax(Options *s, const Step *step, Update *u) {
  UOp *g = decayed(s, u);
  u->slot[0] = mix_first(s, step, u->slot[0], g);
  u->slot[1] = t_maximum(t_mulc(u->slot[1], s->beta2), t_addc(t_abs(g), s->eps));
  UOp *length = t_div(step->rate, less_one(step->scalar[POWER1]));
  u->param = t_sub(u->param, t_mul(as(length, g), t_div(u->slot[0], u->slot[1])));
}

/* mu_t, by the number of the step */
static UOp *nadam_factor(Options *s, UOp *t) {
  UOp *power = t_exp(t_mulc(t, s->momentum_decay * log(0.96)));
  return t_mulc(t_rsubc(1, t_mulc(power, 0.5)), s->beta1);
}

static UOp *nadam_next(Options *s, const Step *step) {
  return t_mul(step->scalar[EXTRA], nadam_factor(s, step->scalar[COUNT]));
}

static void step_nadam(Options *s, const Step *step, Update *u) {
  UOp *t = step->scalar[COUNT], *product = step->scalar[EXTRA];
  UOp *mu = nadam_factor(s, t), *next = nadam_factor(s, t_addc(t, 1));
  UOp *g = decayed(s, u), *p = shrunk(s, step, u->param);
  u->slot[0] = mix_first(s, step, u->slot[0], g);
  UOp *v = second_moment(s, u, g);
  UOp *below = t_addc(t_sqrt(t_div(v, as(less_one(step->scalar[POWER2]), v))), s->eps);
  UOp *now = t_div(t_mul(step->rate, less_one(mu)), less_one(product));
  UOp *later = t_div(t_mul(step->rate, next), less_one(t_mul(product, next)));
  UOp *move = t_add(t_mul(g, as(now, g)), t_mul(u->slot[0], as(later, g)));
  u->param = t_sub(p, t_div(move, below));
}

static void step_radam(Options *s, const Step *step, Update *u) {
  UOp *g = decayed(s, u), *p = shrunk(s, step, u->param);
  u->slot[0] = mix_first(s, step, u->slot[0], g);
  UOp *v = second_moment(s, u, g);
  UOp *t = step->scalar[COUNT], *power = step->scalar[POWER2];
  double last = 2 / (1 - s->beta2) - 1;
  UOp *rho = t_rsubc(last, t_div(t_mulc(t_mul(t, power), 2), less_one(power)));
  UOp *above = rho ? t_maximum(rho, t_scalar_like(rho, 5)) : NULL;
  UOp *share = t_div(t_mul(t_subc(above, 4), t_subc(above, 2)), above);
  UOp *scale = t_sqrt(t_mulc(t_mul(share, less_one(power)), last / ((last - 4) * (last - 2))));
  UOp *adaptive = t_div(as(scale, v), t_addc(t_sqrt(v), s->eps));
  UOp *use = rho ? t_less(t_scalar_like(rho, 5), rho) : NULL;
  UOp *factor = v ? t_where(use, adaptive, t_scalar_like(v, 1)) : NULL;
  UOp *length = t_div(step->rate, less_one(step->scalar[POWER1]));
  u->param = t_sub(p, t_mul(t_mul(u->slot[0], as(length, v)), factor));
}

static void step_lamb(Options *s, const Step *step, Update *u) {
  u->slot[0] = mix_first(s, step, u->slot[0], u->grad);
  second_moment(s, u, u->grad);
  UOp *m = t_div(u->slot[0], as(less_one(step->scalar[POWER1]), u->grad));
  UOp *v = t_div(u->slot[1], as(less_one(step->scalar[POWER2]), u->grad));
  UOp *up = t_add(t_div(m, t_addc(t_sqrt(v), s->eps)), t_mulc(u->param, s->weight_decay));
  UOp *size = norm(u->param), *move = norm(up);
  UOp *trust = size && move ? choose(size, choose(move, t_div(size, move), 1), 1) : NULL;
  u->param = trust ? t_sub(u->param, t_mul(t_mul(as(step->rate, u->grad), trust), up)) : NULL;
}

/* ---- running squares ---- */

static int slots_rmsprop(Options *s) { return (s->momentum != 0 ? FIRST : 0) | SECOND | (s->centered ? THIRD : 0); }

static void step_rmsprop(Options *s, const Step *step, Update *u) {
  UOp *g = decayed(s, u);
  UOp *v = second_moment(s, u, g);
  if (s->centered) {
    UOp *mean = u->slot[2] = mix(u->slot[2], g, s->beta2);
    v = t_sub(v, t_mul(mean, mean));
  }
  UOp *d = t_div(g, t_addc(t_sqrt(v), s->eps));
  if (s->momentum != 0) d = u->slot[0] = t_add(by_momentum(u->slot[0], step, s->momentum), d);
  u->param = t_sub(u->param, t_mul(d, as(step->rate, u->param)));
}

static int slots_second(Options *s) { return (void)s, SECOND; }
static double first_adagrad(Options *s, double lr, int slot) { return (void)lr, (void)slot, s->initial; }

static void step_adagrad(Options *s, const Step *step, Update *u) {
  UOp *g = decayed(s, u);
  u->slot[1] = t_add(u->slot[1], t_mul(g, g));
  UOp *rate = step->rate;
  if (s->lr_decay != 0) rate = t_div(rate, t_addc(t_mulc(t_subc(step->scalar[COUNT], 1), s->lr_decay), 1));
  u->param = t_sub(u->param, t_mul(as(rate, g), t_div(g, t_addc(t_sqrt(u->slot[1]), s->eps))));
}

static void step_adadelta(Options *s, const Step *step, Update *u) {
  UOp *g = decayed(s, u);
  UOp *v = second_moment(s, u, g);
  UOp *d = t_mul(t_div(t_sqrt(t_addc(u->slot[0], s->eps)), t_sqrt(t_addc(v, s->eps))), g);
  u->slot[0] = mix(u->slot[0], t_mul(d, d), s->beta2);
  u->param = t_sub(u->param, t_mul(d, as(step->rate, d)));
}

/* ---- others ---- */

/* The gradient before, and the step sizes. */
static double first_rprop(Options *s, double lr, int slot) { return (void)s, slot == 1 ? lr : 0; }

static void step_rprop(Options *s, const Step *step, Update *u) {
  (void)step;
  UOp *g = u->grad, *turn = t_mul(g, u->slot[0]), *zero = t_scalar_like(g, 0);
  if (!turn) {
    u->param = NULL;
    return;
  }
  UOp *same = t_less(zero, turn), *other = t_less(turn, zero);
  UOp *factor =
      t_where(same, t_scalar_like(g, s->grow), t_where(other, t_scalar_like(g, s->shrink), t_scalar_like(g, 1)));
  UOp *size = u->slot[1] = t_clamp(t_mul(u->slot[1], factor), s->low, s->high);
  g = u->slot[0] = t_where(other, zero, g);
  u->param = t_sub(u->param, t_mul(t_sign(g), size));
}

static double extra_asgd(Options *s, double lr) { return (void)s, lr; }

static UOp *asgd_rate(Options *s, const Step *step) {
  UOp *base = t_addc(t_mul(t_mulc(step->rate, s->lambd), step->scalar[COUNT]), 1);
  return base ? t_div(step->rate, t_pow(base, t_scalar_like(base, s->alpha))) : NULL;
}

static int slots_first(Options *s) { return (void)s, FIRST; }

/* EXTRA is eta, as the step before left it; the mean of p weighs this step by 1 / max(1, t - 1 - t0). */
static void step_asgd(Options *s, const Step *step, Update *u) {
  UOp *g = decayed(s, u), *eta = as(step->scalar[EXTRA], u->param);
  UOp *p = t_sub(t_mul(u->param, t_rsubc(1, t_mulc(eta, s->lambd))), t_mul(g, eta));
  UOp *past = t_subc(step->scalar[COUNT], s->t0 + 1);
  UOp *share = past ? t_recip(t_maximum(past, t_scalar_like(past, 1))) : NULL;
  u->slot[0] = t_add(u->slot[0], t_mul(t_sub(p, u->slot[0]), as(share, p)));
  u->param = p;
}

/* ---- the table ---- */

enum { P1 = 1 << POWER1, P12 = 1 << POWER1 | 1 << POWER2, T = 1 << COUNT, X = 1 << EXTRA, IF = OPTIM_COUNT_IF };

const OptimKind *optim_kind(const char *name) {
  static const OptimKind kinds[] = {
      {"sgd", step_sgd, IF, slots_sgd, NULL, NULL, NULL},
      {"lars", step_lars, IF, slots_sgd, NULL, NULL, NULL},
      {"adam", step_adam, P12, slots_adam, NULL, NULL, NULL},
      {"sparseadam", step_sparse_adam, P12, slots_two, NULL, NULL, NULL},
      {"adamax", step_adamax, P1, slots_two, NULL, NULL, NULL},
      {"nadam", step_nadam, P12 | T | X, slots_two, NULL, NULL, nadam_next},
      {"radam", step_radam, P12 | T, slots_two, NULL, NULL, NULL},
      {"lamb", step_lamb, P12, slots_two, NULL, NULL, NULL},
      {"rmsprop", step_rmsprop, 0, slots_rmsprop, NULL, NULL, NULL},
      {"adagrad", step_adagrad, IF, slots_second, first_adagrad, NULL, NULL},
      {"adadelta", step_adadelta, 0, slots_two, NULL, NULL, NULL},
      {"rprop", step_rprop, 0, slots_two, first_rprop, NULL, NULL},
      {"asgd", step_asgd, T | X, slots_first, NULL, extra_asgd, asgd_rate},
  };
  for (size_t k = 0; name && k < sizeof kinds / sizeof *kinds; k++)
    if (strcmp(kinds[k].name, name) == 0) return &kinds[k];
  return NULL;
}
