/* handle.c: tensor handles, their scopes, the switches of a context that the front end follows, and sizes at the API.
 *
 * A handle holds one reference on its node and is a member of the context's list, newest first. A symbolic size crosses
 * the API as a code: POLY_DIM_LIMIT - 1 - number stands for a size in ctx->dims. Loops over batches meet other sizes
 * for ever, so those that nothing else has are forgotten again; a code is never given out twice. */
#include "base/handles.h"
#include "ir/context.h"

#include <inttypes.h>
#include <stdio.h>

_Static_assert(STATUS_OK == (int)POLY_OK && STATUS_MEMORY == (int)POLY_ERROR_MEMORY, "codes of base and of the API");

PolyStatus status_of(PolyContext *ctx, bool ok) {
  if (ok) return POLY_OK;
  return ctx->base.code == POLY_OK ? POLY_ERROR_RUNTIME : ctx->base.code;
}

bool shape_axis(PolyContext *ctx, int axis, int ndim, int *out) {
  int n = MAX(ndim, 1);
  *out = axis < 0 ? axis + n : axis;
  if (*out >= 0 && *out < n) return true;
  return base_fail(ctx_base(ctx), POLY_ERROR_INDEX, "axis %d is out of range for a tensor of %d dimension%s", axis,
                   ndim, ndim == 1 ? "" : "s");
}

/* ---- handles ---- */

static bool is_computed(const UOp *u) {
  switch (op_info[u->op].cls) {
  case CLASS_LEAF:
  case CLASS_MEMORY:
  case CLASS_KERNEL: return u->op == OP_CONTIGUOUS || u->op == OP_FUNCTION;
  default: return true;
  }
}

static void list_add(PolyTensor **first, PolyTensor *t, int list) {
  if (t->links[list].in) return;
  t->links[list].in = true;
  t->links[list].next = *first;
  if (*first) (*first)->links[list].prev = t;
  *first = t;
}

static void list_remove(PolyTensor **first, PolyTensor *t, int list) {
  if (!t->links[list].in) return;
  PolyTensor *prev = t->links[list].prev, *next = t->links[list].next;
  if (prev) prev->links[list].next = next;
  if (next) next->links[list].prev = prev;
  if (*first == t) *first = next;
  t->links[list].prev = t->links[list].next = NULL;
  t->links[list].in = false;
}

bool handle_is_pending(const PolyTensor *t) {
  return !t->uop->buffer && t->uop->op != OP_BUFFER && t->uop->op != OP_BIND;
}

void handle_move(PolyTensor *t, UOp *u) {
  UOp *old = t->uop;
  uop_retain(u);
  if (old) list_remove(&old->handle, t, LIST_NODE);
  if (old != u) t->moves = -1;
  t->uop = u;
  list_add(&u->handle, t, LIST_NODE);
  if (handle_is_pending(t))
    list_add(&t->ctx->pending, t, LIST_PENDING);
  else
    list_remove(&t->ctx->pending, t, LIST_PENDING);
  uop_release(old);
}

void handles_pending(UOp *u) {
  for (PolyTensor *t = u->handle; t; t = t->links[LIST_NODE].next)
    if (handle_is_pending(t)) list_add(&t->ctx->pending, t, LIST_PENDING);
}

PolyTensor *handle_next_pending(PolyContext *ctx, PolyTensor *t) {
  t = t ? t->links[LIST_PENDING].next : ctx->pending;
  while (t && !handle_is_pending(t)) {
    PolyTensor *next = t->links[LIST_PENDING].next;
    list_remove(&ctx->pending, t, LIST_PENDING);
    t = next;
  }
  return t;
}

void handle_require_grad(PolyTensor *t, bool on) {
  t->requires_grad = on;
  if (on)
    list_add(&t->ctx->leaves, t, LIST_LEAF);
  else
    list_remove(&t->ctx->leaves, t, LIST_LEAF);
}

static PolyTensor *new_handle(PolyContext *ctx, UOp *u) {
  PolyTensor *t = handle_new(ctx_base(ctx), sizeof *t, HANDLE_TENSOR, ctx);
  if (!t) return NULL;
  t->ctx = ctx;
  t->moves = -1;
  handle_move(t, u);
  t->id = ++ctx->last_id;
  t->scope = ctx->scope_depth;
  t->next = ctx->tensors;
  if (t->next) t->next->prev = t;
  ctx->tensors = t;
  ctx->ntensor++;
  return t;
}

/* While gradients are off, what is computed is cut from its history here, once for every function. */
PolyTensor *tensor_wrap(PolyContext *ctx, UOp *u) {
  if (!u) return NULL;
  if (!ctx->no_grad || !dtype_is_float((PolyDType)u->dtype) || !is_computed(u)) return new_handle(ctx, u);
  Scope s;
  scope_enter(ctx, &s);
  UOp *cut = uop_detach(u);
  PolyTensor *t = cut ? new_handle(ctx, cut) : NULL;
  scope_leave(ctx, &s);
  return t;
}

/* A handle owns the handle of its accumulated gradient. */
void poly_free(PolyTensor *t) {
  if (t && t->ctx->interrupt) t->ctx->interrupt(t->ctx);
  while (t) {
    PolyContext *ctx = t->ctx;
    PolyTensor *grad = t->grad;
    if (t->prev) t->prev->next = t->next;
    if (t->next) t->next->prev = t->prev;
    if (ctx->tensors == t) ctx->tensors = t->next;
    if (ctx->looked_up == t) ctx->looked_up = NULL;
    ctx->ntensor--;
    handle_no_view(t);
    if (t->requires_grad && (t->uop->buffer || node_is_own(t->uop))) t->uop->left = 1;
    list_remove(&t->uop->handle, t, LIST_NODE);
    list_remove(&ctx->pending, t, LIST_PENDING);
    list_remove(&ctx->leaves, t, LIST_LEAF);
    list_remove(&ctx->implied, t, LIST_IMPLIED);
    uop_release(t->uop);
    handle_free(ctx_base(ctx), t, sizeof *t);
    t = grad;
  }
}

PolyTensor *poly_retain_copy(PolyTensor *t) {
  if (!t) return NULL;
  PolyTensor *copy = new_handle(t->ctx, t->uop);
  if (copy) handle_require_grad(copy, t->requires_grad);
  return copy;
}

PolyContext *poly_context_of(const PolyTensor *t) { return t ? t->ctx : NULL; }

int poly_ndim(const PolyTensor *t) { return t ? t->uop->ndim : 0; }

int64_t poly_dim(const PolyTensor *t, int axis) {
  int a;
  if (!t) return -1;
  if (t->uop->ndim == 0 && shape_axis(t->ctx, axis, 0, &a))
    base_fail(ctx_base(t->ctx), POLY_ERROR_INDEX, "axis %d is out of range for a tensor of 0 dimensions", axis);
  if (t->uop->ndim == 0 || !shape_axis(t->ctx, axis, t->uop->ndim, &a)) return -1;
  return dim_to_api(t->uop->shape[a]);
}

void poly_shape(const PolyTensor *t, int64_t *out) {
  for (int d = 0; d < poly_ndim(t); d++) out[d] = dim_to_api(t->uop->shape[d]);
}

static bool no_lookup(void *user, const UOp *leaf, int64_t *value) {
  (void)user, (void)leaf, (void)value;
  return false;
}

static int64_t value_of(PolyContext *ctx, const UOp *u) {
  int64_t v = 0;
  if (!u) return 0;
  if (!int_eval(u, no_lookup, NULL, &v)) base_fail(ctx_base(ctx), POLY_ERROR_VALUE, "a size has no value yet");
  return v;
}

int64_t poly_numel(const PolyTensor *t) {
  int64_t n = 1;
  for (int d = 0; d < poly_ndim(t); d++) n *= value_of(t->ctx, t->uop->shape[d]);
  return t ? n : 0;
}

PolyDType poly_dtype(const PolyTensor *t) { return t ? (PolyDType)t->uop->dtype : POLY_FLOAT32; }

static bool known_dtype(PolyDType d) { return (unsigned)d < POLY_DTYPE_COUNT; }
const char *poly_dtype_name(PolyDType d) { return known_dtype(d) ? dtype_name(d) : "?"; }
int poly_dtype_size(PolyDType d) { return known_dtype(d) ? dtype_size(d) : 0; }
PolyDType poly_promote(PolyDType a, PolyDType b) { return known_dtype(a) && known_dtype(b) ? dtype_promote(a, b) : a; }
bool poly_is_realized(const PolyTensor *t) { return t && t->uop->buffer; }

PolyStatus poly_value_ids(PolyTensor *const *t, int n, int64_t *out) {
  for (int k = 0; k < n; k++) out[k] = (int64_t)t[k]->uop->serial;
  return POLY_OK;
}

/* ---- scopes ---- */

void poly_scope_begin(PolyContext *ctx) {
  if (ctx) ctx->scope_depth++;
}

static bool owns(const PolyTensor *t, const PolyTensor *grad) {
  for (const PolyTensor *g = t->grad; g; g = g->grad)
    if (g == grad) return true;
  return false;
}

void poly_scope_end(PolyContext *ctx) {
  if (!ctx || ctx->scope_depth == 0) return;
  for (PolyTensor *t = ctx->tensors, *next; t; t = next) {
    next = t->next;
    if (t->scope < ctx->scope_depth) continue;
    while (next && owns(t, next)) next = next->next;
    poly_free(t);
  }
  ctx->scope_depth--;
}

PolyTensor *poly_keep(PolyTensor *t) {
  if (t) t->scope = 0;
  return t;
}

/* ---- switches ---- */

void poly_manual_seed(PolyContext *ctx, uint64_t seed) {
  if (!ctx) return;
  ctx->seed = seed;
  ctx->drawn = 0;
}

uint64_t poly_draw_seed(PolyContext *ctx) {
  if (!ctx) return 0;
  uint64_t key[2] = {ctx->seed, ctx->drawn++};
  return hash_bytes(key, sizeof key, 1);
}

void poly_set_training(PolyContext *ctx, bool on) {
  if (ctx) ctx->training = on;
}
bool poly_training(const PolyContext *ctx) { return ctx && ctx->training; }

void poly_set_no_grad(PolyContext *ctx, bool on) {
  if (ctx) ctx->no_grad = on;
}
bool poly_no_grad(const PolyContext *ctx) { return ctx && ctx->no_grad; }

/* ---- sizes ---- */

bool poly_dim_is_symbolic(int64_t dim) { return dim < POLY_DIM_LIMIT; }

enum { RECENT = 512 }; /* how many of the last codes are always known */

static int64_t code_of(int64_t number) { return POLY_DIM_LIMIT - 1 - number; }

/* Sizes are in the order of their numbers. */
static Size *size_of(PolyContext *ctx, int64_t code) {
  int64_t number = POLY_DIM_LIMIT - 1 - code;
  int low = 0, high = ctx->dims.n;
  while (low < high) {
    int mid = low + (high - low) / 2;
    if (ctx->dims.at[mid].number < number)
      low = mid + 1;
    else
      high = mid;
  }
  return low < ctx->dims.n && ctx->dims.at[low].number == number ? &ctx->dims.at[low] : NULL;
}

UOp *dim_from_api(PolyContext *ctx, int64_t d) {
  if (!poly_dim_is_symbolic(d)) return uop_index(ctx, d);
  const Size *size = size_of(ctx, d);
  if (size) return size->node;
  return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "%" PRId64 " is not a size of this context, or no longer one", d);
}

static bool size_in_use(const PolyContext *ctx, const Size *s) {
  return s->held || s->node->refs > 1 || s->number >= ctx->ndim_given - RECENT;
}

/* Forgets the sizes that nobody can ask for. Each sweep comes when there are twice as many as the last one left, so a
 * size costs a constant share of one. */
static bool sweep_sizes(PolyContext *ctx) {
  Map index = {0};
  int n = 0;
  for (int i = 0; i < ctx->dims.n; i++) {
    const Size *s = &ctx->dims.at[i];
    if (!size_in_use(ctx, s)) continue;
    if (!map_put(ctx_base(ctx), &index, (uintptr_t)s->node, (uint64_t)n++)) {
      map_free(ctx_base(ctx), &index);
      return false;
    }
  }
  map_free(ctx_base(ctx), &ctx->dim_index);
  ctx->dim_index = index;
  n = 0;
  for (int i = 0; i < ctx->dims.n; i++) {
    Size s = ctx->dims.at[i];
    uint64_t at;
    if (map_get(&index, (uintptr_t)s.node, &at)) /* not asked again: letting go of one size can leave another alone */
      ctx->dims.at[n++] = s;
    else
      uop_release(s.node);
  }
  ctx->dims.n = ctx->dims_after_sweep = n;
  return true;
}

void poly_dim_hold(PolyContext *ctx, int64_t dim, bool on) {
  Size *size = ctx && poly_dim_is_symbolic(dim) ? size_of(ctx, dim) : NULL;
  if (size && (on || size->held)) size->held += on ? 1 : -1;
}

/* One size has one code: sizes are interned, so looking for the pointer is enough. 0 and an error: out of memory. */
int64_t dim_to_api(UOp *u) {
  if (!u) return 0;
  if (u->op == OP_CONST) return const_int(u);
  PolyContext *ctx = u->ctx;
  uint64_t k;
  if (map_get(&ctx->dim_index, (uintptr_t)u, &k)) return code_of(ctx->dims.at[k].number);
  if (ctx->dims.n >= 2 * MAX(ctx->dims_after_sweep, RECENT) && !sweep_sizes(ctx)) return 0;
  if (!vec_push(ctx_base(ctx), &ctx->dims, ((Size){.node = u, .number = ctx->ndim_given}))) return 0;
  if (!map_put(ctx_base(ctx), &ctx->dim_index, (uintptr_t)u, (uint64_t)ctx->dims.n - 1)) {
    ctx->dims.n--;
    return 0;
  }
  uop_retain(u);
  return code_of(ctx->ndim_given++);
}

int64_t poly_var_bind(PolyContext *ctx, const char *name, int64_t min, int64_t max, int64_t value) {
  if (!ctx || !name) return 0;
  if (min < 0) {
    base_fail(ctx_base(ctx), POLY_ERROR_VALUE, "variable %s: a size cannot be negative, its minimum is %" PRId64, name,
              min);
    return 0;
  }
  Scope s;
  scope_enter(ctx, &s);
  UOp *u = uop_bind(uop_variable(ctx, name, min, max), value);
  int64_t code = u && u->op != OP_CONST ? dim_to_api(u) : 0;
  scope_leave(ctx, &s);
  return code;
}

static const UOp *symbol(PolyContext *ctx, int64_t dim) {
  return poly_dim_is_symbolic(dim) ? dim_from_api(ctx, dim) : NULL;
}

int64_t poly_dim_value(PolyContext *ctx, int64_t dim) {
  return poly_dim_is_symbolic(dim) ? value_of(ctx, symbol(ctx, dim)) : dim;
}

int64_t poly_dim_min(PolyContext *ctx, int64_t dim) {
  const UOp *u = symbol(ctx, dim);
  return u ? u->vmin : poly_dim_is_symbolic(dim) ? 0 : dim;
}

int64_t poly_dim_max(PolyContext *ctx, int64_t dim) {
  const UOp *u = symbol(ctx, dim);
  return u ? u->vmax : poly_dim_is_symbolic(dim) ? 0 : dim;
}

static UOp *size_op(PolyContext *ctx, char op, UOp *a, UOp *b) {
  if (!a || !b) return NULL;
  if ((op == '/' || op == '%') && b->vmin <= 0 && b->vmax >= 0)
    return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "a size is divided by one that may be 0");
  switch (op) {
  case '+': return int_add(a, b);
  case '-': return int_sub(a, b);
  case '*': return int_mul(a, b);
  case '/': return int_div(a, b);
  case '%': return int_mod(a, b);
  default: return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "'%c' is not an operation on sizes", op);
  }
}

int64_t poly_dim_op(PolyContext *ctx, char op, int64_t a, int64_t b) {
  Scope s;
  scope_enter(ctx, &s);
  int64_t r = dim_to_api(size_op(ctx, op, dim_from_api(ctx, a), dim_from_api(ctx, b)));
  scope_leave(ctx, &s);
  return r;
}

int64_t poly_numel_size(const PolyTensor *t) {
  bool symbolic = false;
  for (int d = 0; d < poly_ndim(t); d++) symbolic |= t->uop->shape[d]->op != OP_CONST;
  if (!symbolic) return poly_numel(t);
  Scope s;
  scope_enter(t->ctx, &s);
  int64_t size = dim_to_api(uop_numel(t->uop));
  scope_leave(t->ctx, &s);
  return size;
}

const char *poly_dim_text(PolyContext *ctx, int64_t dim, char *buf, size_t n) {
  const UOp *u = symbol(ctx, dim);
  if (n == 0) return buf;
  if (u) return dim_text(u, buf, n);
  snprintf(buf, n, "%" PRId64, dim);
  return buf;
}

/* ---- gradients that handles hold ---- */

PolyTensor *held_grad(PolyContext *ctx, UOp *u) {
  PolyTensor *t = tensor_wrap(ctx, u);
  if (!t) return NULL;
  t->consumed = t->held = true;
  return poly_keep(t);
}

void imply_grad(PolyTensor *t, int times) {
  t->implied = times;
  if (times)
    list_add(&t->ctx->implied, t, LIST_IMPLIED);
  else
    list_remove(&t->ctx->implied, t, LIST_IMPLIED);
}

void hold_grad(PolyTensor *t, PolyTensor *grad) {
  poly_free(t->grad);
  t->grad = grad;
  imply_grad(t, 0);
}

void drop_implied_grads(PolyContext *ctx) {
  while (ctx->implied) hold_grad(ctx->implied, NULL);
}

PolyTensor *poly_get_grad(PolyTensor *t) {
  if (!t || !t->grad) return NULL;
  imply_grad(t, 0); /* somebody wants it: it is a gradient like others from now on */
  Scope scope;
  scope_enter(t->ctx, &scope);
  PolyTensor *g = tensor_wrap(t->ctx, t->grad->uop);
  scope_leave(t->ctx, &scope);
  if (g) g->consumed = true;
  return g;
}

PolyStatus poly_set_grad(PolyTensor *t, PolyTensor *grad) {
  if (!t) return POLY_ERROR_VALUE;
  PolyContext *ctx = t->ctx;
  if (!grad) {
    hold_grad(t, NULL);
    return POLY_OK;
  }
  if (!shape_equal(t->uop, grad->uop)) {
    uop_fail_shapes("set_grad", t->uop, grad->uop);
    return status_of(ctx, false);
  }
  if (t->uop->dtype != grad->uop->dtype)
    return status_of(ctx,
                     base_fail(ctx_base(ctx), POLY_ERROR_TYPE, "set_grad: a gradient of dtype %s for a tensor of %s",
                               dtype_name((PolyDType)grad->uop->dtype), dtype_name((PolyDType)t->uop->dtype)));
  Scope scope;
  scope_enter(ctx, &scope);
  PolyTensor *own = held_grad(ctx, grad->uop);
  scope_leave(ctx, &scope);
  if (own) hold_grad(t, own);
  return status_of(ctx, own != NULL);
}
