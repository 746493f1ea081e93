/* optim.c: optimizers. In: parameter handles and the gradients that poly_backward left in them. Out: lazy assignments
 * to the parameters and to the optimizer's own state, so that a compiled step replays them.
 *
 * Everything that changes from step to step is a tensor: the learning rate and the powers beta^t (float64 scalars: a
 * float32 0.999 would put a relative error of 1e-5 into the first bias correction), momenta (the parameter's dtype, but
 * at least float32). With g the gradient, p the parameter, all as PyTorch has them, LAMB as tinygrad:
 *
 *   SGD      g += wd p;  m = mu m + g;  p -= lr (nesterov ? g + mu m : m)
 *   Adam     g += wd p;  m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2
 *            p -= lr / (1-b1^t) m / (sqrt(v) / sqrt(1-b2^t) + eps)
 *   AdamW    p *= 1 - lr wd;  then Adam without wd
 *   RMSprop  g += wd p;  v = a v + (1-a) g^2;  d = g / (sqrt(v) + eps);  m = mu m + d;  p -= lr m
 *   LAMB     u = m' / (sqrt(v') + eps) + wd p  (m', v' as in Adam, corrected);  p -= lr |p| / |u| u */
#include "base/handles.h"
#include "tensor/tensor.h"

typedef enum Kind { SGD, ADAM, ADAMW, RMSPROP, LAMB } Kind;

typedef struct Settings {
  Kind kind;
  double momentum, beta1, beta2, eps, decay;
  bool nesterov;
} Settings;

struct PolyOptim {
  PolyContext *ctx;
  Settings set;
  double lr;
  int n;
  PolyTensor **param;           /* the caller's */
  PolyTensor **first, **second; /* m and v of each parameter; entries are NULL where the kind has none */
  PolyTensor *power1, *power2;  /* b1^t and b2^t, or NULL */
  PolyTensor *rate;
};

/* What a step computes for one parameter: from the values before it to those after it. */
typedef struct Update {
  UOp *param, *grad, *first, *second;
} Update;

/* Scalars of a step: float64 nodes. */
typedef struct Step {
  UOp *rate, *power1, *power2;
} Step;

/* ---- the formulas ---- */

static UOp *as(UOp *scalar, const UOp *like) { return uop_cast(scalar, (PolyDType)like->dtype); }

static UOp *mix(UOp *old, UOp *now, double keep) { return t_add(t_mulc(old, keep), t_mulc(now, 1 - keep)); }

static UOp *decayed(const Settings *s, const Update *u) {
  return s->decay != 0 ? t_add(u->grad, t_mulc(u->param, s->decay)) : u->grad;
}

static void step_sgd(const Settings *s, const Step *step, Update *u) {
  UOp *g = decayed(s, u);
  if (s->momentum != 0) {
    u->first = t_add(t_mulc(u->first, s->momentum), g);
    g = s->nesterov ? t_add(g, t_mulc(u->first, s->momentum)) : u->first;
  }
  u->param = t_sub(u->param, t_mul(g, as(step->rate, u->param)));
}

static void step_adam(const Settings *s, const Step *step, Update *u) {
  UOp *g = s->kind == ADAM ? decayed(s, u) : u->grad;
  UOp *p = u->param;
  if (s->kind == ADAMW && s->decay != 0) p = t_mul(p, as(t_rsubc(1, t_mulc(step->rate, s->decay)), p));
  u->first = mix(u->first, g, s->beta1);
  u->second = mix(u->second, t_mul(g, g), s->beta2);
  UOp *length = t_div(step->rate, t_rsubc(1, step->power1));
  UOp *correct = t_sqrt(t_rsubc(1, step->power2));
  UOp *denominator = t_addc(t_div(t_sqrt(u->second), as(correct, u->grad)), s->eps);
  u->param = t_sub(p, t_mul(as(length, u->grad), t_div(u->first, denominator)));
}

static void step_rmsprop(const Settings *s, const Step *step, Update *u) {
  UOp *g = decayed(s, u);
  u->second = mix(u->second, t_mul(g, g), s->beta2);
  UOp *d = t_div(g, t_addc(t_sqrt(u->second), s->eps));
  if (s->momentum != 0) d = u->first = t_add(t_mulc(u->first, s->momentum), d);
  u->param = t_sub(u->param, t_mul(d, as(step->rate, u->param)));
}

static UOp *norm(UOp *x) { return x ? t_sqrt(t_sum(t_square(x), t_all_axes(x), false)) : NULL; }

static void step_lamb(const Settings *s, const Step *step, Update *u) {
  u->first = mix(u->first, u->grad, s->beta1);
  u->second = mix(u->second, t_mul(u->grad, u->grad), s->beta2);
  UOp *m = t_div(u->first, as(t_rsubc(1, step->power1), u->grad));
  UOp *v = t_div(u->second, as(t_rsubc(1, step->power2), u->grad));
  UOp *up = t_add(t_div(m, t_addc(t_sqrt(v), s->eps)), t_mulc(u->param, s->decay));
  UOp *size = norm(u->param), *move = norm(up);
  if (!size || !move) {
    u->param = NULL;
    return;
  }
  UOp *zero = t_scalar_like(size, 0), *one = t_scalar_like(size, 1);
  UOp *trust = t_where(t_less(zero, size), t_where(t_less(zero, move), t_div(size, move), one), one);
  u->param = t_sub(u->param, t_mul(t_mul(as(step->rate, u->grad), trust), up));
}

static const struct {
  void (*step)(const Settings *s, const Step *step, Update *u);
  bool second, powers; /* every kind but SGD and RMSprop without momentum has m as well */
} kinds[] = {
    [SGD] = {step_sgd, false, false},        [ADAM] = {step_adam, true, true}, [ADAMW] = {step_adam, true, true},
    [RMSPROP] = {step_rmsprop, true, false}, [LAMB] = {step_lamb, true, true},
};

static bool has_first(const Settings *s) { return kinds[s->kind].powers || s->momentum != 0; }

/* ---- making one ---- */

static PolyDType state_dtype(const PolyTensor *p) {
  return p->uop->dtype == POLY_FLOAT64 ? POLY_FLOAT64 : POLY_FLOAT32;
}

/* A tensor of its own, filled with value, that outlives the caller's poly_scope. */
static PolyTensor *state_new(PolyContext *ctx, PolyDType dtype, double value, int ndim, UOp *const *shape) {
  Scope scope;
  scope_enter(ctx, &scope);
  UOp *full = uop_spread(uop_const(ctx, dtype, value), ndim, shape);
  PolyTensor *t = tensor_wrap(ctx, uop_contiguous(full, ctx_unique(ctx)));
  scope_leave(ctx, &scope);
  return t ? poly_keep(t) : NULL;
}

/* Copies the list, each parameter once. */
static bool take_params(PolyOptim *o, PolyTensor *const *params, int n) {
  Base *b = ctx_base(o->ctx);
  Map seen = {0};
  bool ok = true;
  for (int k = 0; ok && k < n; k++) {
    PolyDType dtype = (PolyDType)params[k]->uop->dtype;
    if (!dtype_is_float(dtype)) {
      ok = base_fail(b, POLY_ERROR_TYPE, "parameter %d of an optimizer is %s; it must be floating point", k,
                     dtype_name(dtype));
    } else if (params[k]->ctx != o->ctx) {
      ok = base_fail(b, POLY_ERROR_VALUE, "parameter %d of an optimizer belongs to another context", k);
    } else if (!map_get(&seen, (uintptr_t)params[k], &(uint64_t){0})) {
      o->param[o->n++] = params[k];
      ok = map_put(b, &seen, (uintptr_t)params[k], 1);
    }
  }
  map_free(b, &seen);
  return ok;
}

static bool make_state(PolyOptim *o) {
  const Settings *s = &o->set;
  for (int k = 0; k < o->n; k++) {
    const UOp *u = o->param[k]->uop;
    PolyDType dtype = state_dtype(o->param[k]);
    if (has_first(s) && !(o->first[k] = state_new(o->ctx, dtype, 0, u->ndim, u->shape))) return false;
    if (kinds[s->kind].second && !(o->second[k] = state_new(o->ctx, dtype, 0, u->ndim, u->shape))) return false;
  }
  if (kinds[s->kind].powers) {
    o->power1 = state_new(o->ctx, POLY_FLOAT64, 1, 0, NULL);
    o->power2 = state_new(o->ctx, POLY_FLOAT64, 1, 0, NULL);
    if (!o->power1 || !o->power2) return false;
  }
  o->rate = poly_from_data(o->ctx, &o->lr, POLY_FLOAT64, 0, NULL);
  if (o->rate) poly_keep(o->rate);
  return o->rate != NULL;
}

/* Assignments go into a tensor's own memory, so it must have some: one plan computes all initial values. */
static bool realize_all(PolyOptim *o) {
  Base *b = ctx_base(o->ctx);
  int nstate = poly_optim_state(o, NULL, 0), n = o->n + nstate;
  PolyTensor **all = mem_new(b, (size_t)n * sizeof *all);
  if (!all) return false;
  for (int k = 0; k < o->n; k++) all[k] = o->param[k];
  poly_optim_state(o, all + o->n, nstate);
  bool ok = poly_realize_many(all, n) == POLY_OK;
  mem_free(b, all, (size_t)n * sizeof *all);
  return ok;
}

static bool check(Base *b, const char *name, double value, double below) {
  if (value >= 0 && value < below) return true;
  return base_fail(b, POLY_ERROR_VALUE, "optimizer: %s is %g, out of range", name, value);
}

static bool check_settings(Base *b, const Settings *s, double lr) {
  const double huge = 1e300;
  if (s->nesterov && s->momentum == 0)
    return base_fail(b, POLY_ERROR_VALUE, "optimizer: Nesterov needs a momentum above 0");
  return check(b, "learning rate", lr, huge) && check(b, "momentum", s->momentum, huge) &&
         check(b, "beta1", s->beta1, 1) && check(b, "beta2", s->beta2, s->kind == RMSPROP ? huge : 1) &&
         check(b, "eps", s->eps, huge) && check(b, "weight decay", s->decay, huge);
}

static PolyOptim *optim_new(PolyTensor *const *params, int n, double lr, Settings set) {
  if (n <= 0 || !params) return NULL;
  for (int k = 0; k < n; k++)
    if (!params[k]) return NULL;
  PolyContext *ctx = params[0]->ctx;
  Base *b = ctx_base(ctx);
  if (!check_settings(b, &set, lr)) return NULL;
  size_t list = (size_t)n * sizeof(PolyTensor *);
  PolyOptim *o = handle_new(b, sizeof *o + 3 * list, HANDLE_OPTIM, ctx);
  if (!o) return NULL;
  *o = (PolyOptim){.ctx = ctx, .set = set, .lr = lr, .param = (PolyTensor **)(o + 1)};
  o->first = o->param + n;
  o->second = o->first + n;
  bool no_grad = ctx->no_grad;
  ctx->no_grad = false; /* state is made of leaves */
  bool ok = take_params(o, params, n) && make_state(o) && realize_all(o);
  ctx->no_grad = no_grad;
  if (ok) return o;
  poly_optim_free(o);
  return NULL;
}

PolyOptim *poly_sgd(PolyTensor *const *params, int n, double lr, double momentum, double weight_decay, bool nesterov) {
  return optim_new(params, n, lr,
                   (Settings){.kind = SGD, .momentum = momentum, .decay = weight_decay, .nesterov = nesterov});
}

PolyOptim *poly_adam(PolyTensor *const *params, int n, double lr, double beta1, double beta2, double eps,
                     double weight_decay) {
  return optim_new(params, n, lr,
                   (Settings){.kind = ADAM, .beta1 = beta1, .beta2 = beta2, .eps = eps, .decay = weight_decay});
}

PolyOptim *poly_adamw(PolyTensor *const *params, int n, double lr, double beta1, double beta2, double eps,
                      double weight_decay) {
  return optim_new(params, n, lr,
                   (Settings){.kind = ADAMW, .beta1 = beta1, .beta2 = beta2, .eps = eps, .decay = weight_decay});
}

PolyOptim *poly_rmsprop(PolyTensor *const *params, int n, double lr, double alpha, double eps, double weight_decay,
                        double momentum) {
  return optim_new(
      params, n, lr,
      (Settings){.kind = RMSPROP, .beta2 = alpha, .eps = eps, .decay = weight_decay, .momentum = momentum});
}

PolyOptim *poly_lamb(PolyTensor *const *params, int n, double lr, double beta1, double beta2, double eps,
                     double weight_decay) {
  return optim_new(params, n, lr,
                   (Settings){.kind = LAMB, .beta1 = beta1, .beta2 = beta2, .eps = eps, .decay = weight_decay});
}

/* The lists have room for as many entries as were given, of which duplicates were dropped: second - first is that. */
void poly_optim_free(PolyOptim *o) {
  if (!o) return;
  size_t given = (size_t)(o->second - o->first);
  for (int k = 0; k < o->n; k++) {
    poly_free(o->first[k]);
    poly_free(o->second[k]);
  }
  poly_free(o->power1);
  poly_free(o->power2);
  poly_free(o->rate);
  handle_free(ctx_base(o->ctx), o, sizeof *o + 3 * given * sizeof(PolyTensor *));
}

/* ---- using one ---- */

void poly_optim_zero_grad(PolyOptim *o) {
  for (int k = 0; o && k < o->n; k++) poly_set_grad(o->param[k], NULL);
}

PolyStatus poly_optim_set_lr(PolyOptim *o, double lr) {
  if (!o) return POLY_ERROR_VALUE;
  if (!check(ctx_base(o->ctx), "learning rate", lr, 1e300)) return POLY_ERROR_VALUE;
  PolyStatus status = poly_write(o->rate, &lr, sizeof lr);
  if (status == POLY_OK) o->lr = lr;
  return status;
}

double poly_optim_lr(const PolyOptim *o) { return o ? o->lr : 0; }

int poly_optim_state(PolyOptim *o, PolyTensor **out, int max) {
  if (!o) return 0;
  PolyTensor *const scalars[] = {o->power1, o->power2};
  int n = 0;
  for (int k = 0; k < 2 + 2 * o->n; k++) {
    PolyTensor *t = k < 2 ? scalars[k] : k < 2 + o->n ? o->first[k - 2] : o->second[k - 2 - o->n];
    if (!t) continue;
    if (out && n < max) out[n] = t;
    n++;
  }
  return n;
}

/* Pairs of a tensor and the value that it takes. Values are all built before the first is assigned: an error in between
 * leaves everything as it was. */
typedef struct Assign {
  PolyTensor *t, *value;
} Assign;

typedef struct Plan {
  Assign *at;
  int n;
} Plan;

static bool plan_add(PolyContext *ctx, Plan *plan, PolyTensor *t, UOp *value) {
  if (!t) return true;
  value = value ? uop_detach(uop_cast(value, (PolyDType)t->uop->dtype)) : NULL;
  PolyTensor *handle = tensor_wrap(ctx, value);
  if (!handle) return false;
  plan->at[plan->n++] = (Assign){t, poly_keep(handle)};
  return true;
}

static bool plan_param(PolyOptim *o, const Step *step, int k, Plan *plan) {
  PolyTensor *p = o->param[k];
  PolyDType dtype = state_dtype(p);
  Update u = {uop_cast(p->uop, dtype), uop_cast(p->grad->uop, dtype), t_uop(o->first[k]), t_uop(o->second[k])};
  if (!u.param || !u.grad) return false;
  kinds[o->set.kind].step(&o->set, step, &u);
  return plan_add(o->ctx, plan, p, u.param) && plan_add(o->ctx, plan, o->first[k], u.first) &&
         plan_add(o->ctx, plan, o->second[k], u.second);
}

static bool plan_build(PolyOptim *o, Plan *plan) {
  Step step = {.rate = o->rate->uop};
  bool any = false;
  if (o->power1) step.power1 = t_mulc(o->power1->uop, o->set.beta1);
  if (o->power2) step.power2 = t_mulc(o->power2->uop, o->set.beta2);
  for (int k = 0; k < o->n; k++) {
    if (!o->param[k]->grad) continue;
    any = true;
    if (!plan_param(o, &step, k, plan)) return false;
  }
  return !any || (plan_add(o->ctx, plan, o->power1, step.power1) && plan_add(o->ctx, plan, o->power2, step.power2));
}

static bool plan_apply(const Plan *plan) {
  for (int k = 0; k < plan->n; k++)
    if (poly_assign(plan->at[k].t, plan->at[k].value) != POLY_OK) return false;
  return true;
}

static PolyStatus failed(PolyContext *ctx) {
  PolyStatus code = poly_error_code(ctx);
  return code == POLY_OK ? POLY_ERROR_RUNTIME : code;
}

PolyStatus poly_optim_schedule(PolyOptim *o) {
  if (!o) return POLY_ERROR_VALUE;
  Arena arena = {.b = ctx_base(o->ctx)};
  Plan plan = {.at = arena_new(&arena, (size_t)(3 * o->n + 2) * sizeof(Assign))};
  Scope scope;
  scope_enter(o->ctx, &scope);
  bool ok = plan.at && plan_build(o, &plan) && plan_apply(&plan);
  for (int k = 0; k < plan.n; k++) poly_free(plan.at[k].value);
  scope_leave(o->ctx, &scope);
  arena_free(&arena);
  return ok ? POLY_OK : failed(o->ctx);
}

/* Parameters with gradients, the state, and those gradients: computed together. A gradient that stayed lazy would be
 * computed again, from the new parameters, when it is read. */
static PolyStatus realize_step(PolyOptim *o) {
  Arena arena = {.b = ctx_base(o->ctx)};
  int nstate = poly_optim_state(o, NULL, 0), n = 0;
  PolyTensor **all = arena_new(&arena, (size_t)(2 * o->n + nstate + 1) * sizeof *all);
  PolyStatus status = all ? POLY_OK : POLY_ERROR_MEMORY;
  for (int k = 0; all && k < o->n; k++) {
    if (!o->param[k]->grad) continue;
    all[n++] = o->param[k];
    all[n++] = o->param[k]->grad;
  }
  if (n) n += poly_optim_state(o, all + n, nstate);
  if (n) status = poly_realize_many(all, n);
  arena_free(&arena);
  return status;
}

PolyStatus poly_optim_step(PolyOptim *o) {
  PolyStatus status = poly_optim_schedule(o);
  return status == POLY_OK ? realize_step(o) : status;
}
