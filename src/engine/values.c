/* values.c: values in and out at the API: data to tensors, tensors to data, assignment. Everything that computes is in
 * realize.c. */
#include "engine/engine.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- in ---- */

static bool shape_of_api(PolyContext *ctx, int ndim, const int64_t *dims, UOp **shape) {
  if (ndim < 0 || ndim > MAX_DIMS)
    return base_fail(&ctx->base, POLY_ERROR_VALUE, "a tensor of %d dimensions: at most %d are possible", ndim,
                     MAX_DIMS);
  for (int d = 0; d < ndim; d++) {
    if (dims[d] < 0 && !poly_dim_is_symbolic(dims[d]))
      return base_fail(&ctx->base, POLY_ERROR_VALUE, "a size cannot be negative: %" PRId64 " on axis %d", dims[d], d);
    if (!(shape[d] = dim_from_api(ctx, dims[d]))) return false;
  }
  return true;
}

static PolyBuffer *memory_for(const UOp *u) {
  int64_t shape[MAX_DIMS];
  size_t bytes;
  if (!uop_bytes(u, &bytes)) return NULL;
  for (int d = 0; d < u->ndim; d++)
    if (!int_eval_vars(u->shape[d], 0, NULL, NULL, &shape[d])) return NULL;
  return tensor_memory(u->ctx->runtime->current, bytes, u->ndim, shape, (PolyDType)u->dtype, "asked for");
}

/* A BUFFER of this shape with memory of its own, filled from data unless that is NULL. */
static UOp *filled(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *dims, const void *data) {
  UOp *shape[MAX_DIMS];
  if ((unsigned)dtype >= POLY_DTYPE_COUNT)
    return fail_null(&ctx->base, POLY_ERROR_TYPE, "%d is not a dtype", (int)dtype);
  if (!shape_of_api(ctx, ndim, dims, shape)) return NULL;
  UOp *u = uop_buffer(ctx, dtype, ndim, shape);
  PolyBuffer *b = u ? memory_for(u) : NULL;
  if (!b) return NULL;
  node_set_buffer(u, b);
  if (data && b->bytes && !buffer_put(b, ctx->runtime->current->memory, data, b->bytes)) return NULL;
  return u;
}

static PolyTensor *new_tensor(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, const void *data) {
  Scope s;
  scope_enter(ctx, &s);
  PolyTensor *t = tensor_wrap(ctx, filled(ctx, dtype, ndim, shape, data));
  scope_leave(ctx, &s);
  return t;
}

/* NULL is the memory of a tensor without elements alone. */
static bool has_data(PolyContext *ctx, const char *function, const void *data, int ndim, const int64_t *shape) {
  for (int d = 0; d < ndim && d < MAX_DIMS; d++)
    if (shape[d] == 0) return true;
  return data || base_fail(&ctx->base, POLY_ERROR_VALUE, "%s: argument data is NULL", function);
}

PolyTensor *poly_from_data(PolyContext *ctx, const void *data, PolyDType dtype, int ndim, const int64_t *shape) {
  if (!has_data(ctx, "poly_from_data", data, ndim, shape)) return NULL;
  return ctx ? new_tensor(ctx, dtype, ndim, shape, data) : NULL;
}

PolyTensor *poly_empty(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape) {
  return ctx ? new_tensor(ctx, dtype, ndim, shape, NULL) : NULL;
}

/* A tensor on memory of the caller's in m. */
static PolyTensor *borrow(PolyContext *ctx, Memory *m, void *data, PolyDType dtype, int ndim, const int64_t *dims,
                          void (*release)(void *user), void *user) {
  UOp *shape[MAX_DIMS], *u = NULL;
  size_t bytes;
  PolyTensor *t = NULL;
  PolyBuffer *b = NULL;
  Scope s;
  scope_enter(ctx, &s);
  if (shape_of_api(ctx, ndim, dims, shape)) u = uop_buffer(ctx, dtype, ndim, shape);
  if (u && uop_bytes(u, &bytes)) t = tensor_wrap(ctx, u);
  if (t) b = buffer_borrow_in(m, data, bytes, release, user);
  if (b) node_set_buffer(u, b);
  scope_leave(ctx, &s);
  if (b) return t;
  poly_free(t);
  return NULL;
}

PolyTensor *poly_from_borrowed(PolyContext *ctx, void *data, PolyDType dtype, int ndim, const int64_t *dims,
                               void (*release)(void *user), void *user) {
  if (!ctx || !has_data(ctx, "poly_from_borrowed", data, ndim, dims)) return NULL;
  return borrow(ctx, host_memory(ctx->runtime), data, dtype, ndim, dims, release, user);
}

PolyTensor *poly_from_device(PolyContext *ctx, void *data, PolyDType dtype, int ndim, const int64_t *dims,
                             void (*release)(void *user), void *user) {
  if (!ctx || !has_data(ctx, "poly_from_device", data, ndim, dims)) return NULL;
  return borrow(ctx, ctx->runtime->current->memory, data, dtype, ndim, dims, release, user);
}

PolyStatus poly_move_here(PolyTensor *t) {
  if (!t) return POLY_ERROR_VALUE;
  const Device *d = t->ctx->runtime->current;
  if (!t->uop->buffer || t->uop->buffer->stale) return POLY_OK; /* it is computed where it is needed */
  return status_of(t->ctx, buffer_take(t->uop->buffer, d->memory) != NULL);
}

void *poly_device_data(PolyTensor *t) {
  if (!t || !trace_may_read(t->ctx, 1, &t) || !realize_handles(t->ctx, 1, &t)) return NULL;
  const Device *d = t->ctx->runtime->current;
  void *data = buffer_read(t->uop->buffer, d->memory);
  return data && poly_synchronize(t->ctx) == POLY_OK ? data : NULL;
}

/* Each size must be the size in this run of that axis. */
static bool sizes_agree(const UOp *u, int ndim, UOp *const *shape) {
  bool same = ndim == u->ndim;
  for (int d = 0; same && d < ndim; d++) {
    int64_t have, want;
    if (!int_eval_vars(u->shape[d], 0, NULL, NULL, &have) || !int_eval_vars(shape[d], 0, NULL, NULL, &want))
      return false;
    same = have == want;
  }
  char text[256];
  return same ||
         base_fail(ctx_base(u->ctx), POLY_ERROR_VALUE, "sized: the sizes given are not those of a tensor of shape %s",
                   shape_text(u, text, sizeof text));
}

PolyTensor *poly_sized(PolyTensor *t, int ndim, const int64_t *dims) {
  if (!t || !realize_handles(t->ctx, 1, &t)) return NULL;
  PolyContext *ctx = t->ctx;
  UOp *shape[MAX_DIMS], *u = NULL;
  Scope s;
  scope_enter(ctx, &s);
  if (shape_of_api(ctx, ndim, dims, shape) && sizes_agree(t->uop, ndim, shape))
    u = uop_buffer(ctx, (PolyDType)t->uop->dtype, ndim, shape);
  if (u) node_set_buffer(u, buffer_retain(t->uop->buffer));
  PolyTensor *r = tensor_wrap(ctx, u);
  scope_leave(ctx, &s);
  return r;
}

void poly_set_copy_ahead(PolyContext *ctx, bool on) { ctx->runtime->copy_ahead = on; }
bool poly_can_copy_ahead(const PolyContext *ctx) { return ctx->runtime->current->memory->copy_ahead != NULL; }

/* ---- realize, out ---- */

PolyStatus poly_realize_many(PolyTensor *const *t, int n) {
  for (int k = 0; k < n; k++)
    if (!t[k]) return POLY_ERROR_VALUE;
  if (n <= 0) return POLY_OK;
  for (int k = 1; k < n; k++)
    if (t[k]->ctx != t[0]->ctx)
      return status_of(t[0]->ctx, base_fail(&t[0]->ctx->base, POLY_ERROR_VALUE,
                                            "tensors of two contexts cannot be realized together"));
  return status_of(t[0]->ctx, realize_handles(t[0]->ctx, n, t));
}

PolyStatus poly_realize(PolyTensor *t) { return poly_realize_many(&t, 1); }

static bool is_stored(const UOp *u, void *user) {
  (void)user;
  return u->buffer != NULL;
}

/* Of n handles those that depend on random numbers or were assigned to; their count, -1: out of memory. */
static int find_unsettled(PolyContext *ctx, Arena *arena, int n, PolyTensor **t) {
  Walk w;
  UOp **root = arena_new(arena, (size_t)(n + 1) * sizeof *root);
  for (int k = 0; root && k < n; k++) root[k] = t[k]->uop;
  if (!root || !uop_walk(ctx, arena, n, root, is_stored, NULL, &w)) return -1;
  bool *random = arena_new(arena, (size_t)(w.n + 1) * sizeof *random);
  bool *ended = arena_new(arena, (size_t)(w.n + 1) * sizeof *ended);
  if (!random || !ended) return -1;
  walk_ended(&w, ended);
  for (int i = 0; i < w.n; i++) {
    const UOp *u = w.at[i];
    random[i] = u->op == OP_BIND && canon_is_rng(u->src[0]);
    for (int k = 0; !u->buffer && !random[i] && k < u->nsrc; k++) random[i] = random[u->src[k]->slot];
  }
  int found = 0;
  for (int k = 0; k < n; k++)
    if (!ended[root[k]->slot] && (random[root[k]->slot] || root[k]->op == OP_ASSIGN)) t[found++] = t[k];
  return found;
}

PolyStatus poly_settle(PolyContext *ctx) {
  if (!ctx) return POLY_ERROR_VALUE;
  Arena arena = {.b = &ctx->base};
  PolyTensor **t = arena_new(&arena, (size_t)(ctx->ntensor + 1) * sizeof *t);
  int n = 0;
  for (PolyTensor *h = ctx->tensors; t && h; h = h->next)
    if (!h->uop->buffer) t[n++] = h;
  n = t ? find_unsettled(ctx, &arena, n, t) : -1;
  bool ok = n == 0 || (n > 0 && realize_unasked(ctx, n, t));
  arena_free(&arena);
  return status_of(ctx, ok);
}

PolyStatus poly_read(PolyTensor *t, void *out, size_t out_bytes) {
  if (!t) return POLY_ERROR_VALUE;
  PolyContext *ctx = t->ctx;
  size_t bytes;
  if (!trace_may_read(ctx, 1, &t)) return status_of(ctx, false);
  if (peek(t->uop, out, out_bytes)) return status_of(ctx, true);
  if (!realize_handles(ctx, 1, &t) || !uop_bytes(t->uop, &bytes)) return status_of(ctx, false);
  if (bytes != out_bytes) {
    char shape[256];
    return status_of(ctx, base_fail(&ctx->base, POLY_ERROR_VALUE, "a tensor of shape %s %s has %zu bytes, not %zu",
                                    shape_text(t->uop, shape, sizeof shape), dtype_name((PolyDType)t->uop->dtype),
                                    bytes, out_bytes));
  }
  return status_of(ctx, buffer_get(t->uop->buffer, out, bytes));
}

void *poly_data(PolyTensor *t) {
  if (!t || !trace_may_read(t->ctx, 1, &t) || !realize_handles(t->ctx, 1, &t)) return NULL;
  return buffer_expose(t->uop->buffer);
}

uint64_t poly_memory_id(PolyTensor *t) {
  if (!t || !realize_handles(t->ctx, 1, &t)) return 0;
  const PolyBuffer *b = t->uop->buffer;
  return (uint64_t)(uintptr_t)(b->of ? b->of : b);
}

typedef struct Element {
  double f;
  int64_t i;
} Element;

static Element element_of(PolyDType dtype, const void *p) {
#define TAKE(T)                                                                                                        \
  do {                                                                                                                 \
    T v;                                                                                                               \
    memcpy(&v, p, sizeof v);                                                                                           \
    return (Element){(double)v, (int64_t)v};                                                                           \
  } while (0)
  uint16_t half;
  memcpy(&half, p, dtype_size(dtype) >= 2 ? 2 : 0);
  switch (dtype) {
  case POLY_BOOL:
  case POLY_UINT8: TAKE(uint8_t);
  case POLY_INT8: TAKE(int8_t);
  case POLY_INT16: TAKE(int16_t);
  case POLY_UINT16: TAKE(uint16_t);
  case POLY_INT32: TAKE(int32_t);
  case POLY_UINT32: TAKE(uint32_t);
  case POLY_INT64: TAKE(int64_t);
  case POLY_UINT64: TAKE(uint64_t);
  default: break;
  }
  double v = 0;
  float f = 0;
  switch (dtype) {
  case POLY_FP8E4M3: v = (double)e4m3_to_float(*(const uint8_t *)p); break;
  case POLY_FP8E5M2: v = (double)e5m2_to_float(*(const uint8_t *)p); break;
  case POLY_FLOAT16: v = (double)half_to_float(half); break;
  case POLY_BFLOAT16: v = (double)bfloat_to_float(half); break;
  case POLY_FLOAT32:
    memcpy(&f, p, sizeof f);
    v = (double)f;
    break;
  default: memcpy(&v, p, sizeof v); break;
  }
  int64_t i = v >= 9223372036854775807.0 ? INT64_MAX : v > -9223372036854775808.0 ? (int64_t)v : INT64_MIN;
  return (Element){v, isnan(v) ? 0 : i};
#undef TAKE
}

static bool one_element(PolyTensor *t, Element *out) {
  unsigned char raw[8] = {0};
  if (!t) return false;
  if (poly_numel(t) != 1) {
    char shape[256];
    return base_fail(&t->ctx->base, POLY_ERROR_VALUE, "item needs a tensor of one element, not one of shape %s",
                     shape_text(t->uop, shape, sizeof shape));
  }
  if (poly_read(t, raw, (size_t)dtype_size((PolyDType)t->uop->dtype)) != POLY_OK) return false;
  *out = element_of((PolyDType)t->uop->dtype, raw);
  return true;
}

double poly_item(PolyTensor *t) {
  Element e;
  return one_element(t, &e) ? e.f : (double)NAN;
}

int64_t poly_item_int(PolyTensor *t) {
  Element e;
  return one_element(t, &e) ? e.i : 0;
}

/* ---- assignment ---- */

/* Writes in place when t alone uses its memory; otherwise t gets new memory, and whoever read the old one still can. */
static bool write_memory(PolyTensor *t, const void *data, size_t bytes) {
  UOp *u = t->uop;
  Memory *here = t->ctx->runtime->current->memory;
  if (u->op == OP_BUFFER && u->refs == 1 && u->buffer->refs == 1) return buffer_put(u->buffer, here, data, bytes);
  UOp *n = node_for_memory(t->ctx, NULL, u);
  PolyBuffer *memory = n ? memory_for(u) : NULL;
  if (!memory) return false;
  node_set_buffer(n, memory);
  if (!buffer_put(memory, here, data, bytes)) return false;
  handle_set(t, n);
  return true;
}

PolyStatus poly_write(PolyTensor *t, const void *data, size_t bytes) {
  if (!t) return POLY_ERROR_VALUE;
  PolyContext *ctx = t->ctx;
  size_t own;
  char shape[256];
  if (!t->uop->buffer)
    return status_of(ctx,
                     base_fail(&ctx->base, POLY_ERROR_VALUE, "a tensor of shape %s is not realized: write needs memory",
                               shape_text(t->uop, shape, sizeof shape)));
  if (t->uop->buffer->stale) return status_of(ctx, node_fail_stale(t->uop));
  if (ctx->tracing)
    return status_of(ctx, base_fail(&ctx->base, POLY_ERROR_RUNTIME,
                                    "a tensor of shape %s is written while a step is traced: assign to it",
                                    shape_text(t->uop, shape, sizeof shape)));
  if (!uop_bytes(t->uop, &own)) return status_of(ctx, false);
  if (own != bytes)
    return status_of(ctx, base_fail(&ctx->base, POLY_ERROR_VALUE, "a tensor of shape %s %s has %zu bytes, not %zu",
                                    shape_text(t->uop, shape, sizeof shape), dtype_name((PolyDType)t->uop->dtype), own,
                                    bytes));
  Scope s;
  scope_enter(ctx, &s);
  bool ok = !bytes || write_memory(t, data, bytes);
  scope_leave(ctx, &s);
  return status_of(ctx, ok);
}

/* value broadcast to the shape of `like`; the other way round is an error. */
static UOp *broadcast_to(UOp *value, UOp *like) {
  if (shape_equal(value, like)) return value;
  if (value->op == OP_CONST) return uop_spread(value, like->ndim, like->shape);
  UOp *shape[MAX_DIMS];
  int missing = like->ndim - value->ndim;
  bool fits = missing >= 0;
  for (int d = 0; fits && d < like->ndim; d++) {
    shape[d] = d < missing ? uop_index(like->ctx, 1) : value->shape[d - missing];
    if (!shape[d]) return NULL;
    fits = size_same(shape[d], like->shape[d]) || uop_is_int(shape[d], 1);
  }
  if (fits) return uop_expand(uop_reshape(value, like->ndim, shape), like->shape);
  uop_fail_shapes("assign", like, value);
  return NULL;
}

/* What t's memory is known by: the node before any assignment that is still pending. NULL: t has none to write to. */
static UOp *target_of(PolyTensor *t) {
  UOp *u = t->uop;
  if (u->op == OP_ASSIGN && !u->buffer) u = u->src[0];
  bool own = u->buffer || u->op == OP_BUFFER || (u->op == OP_CONTIGUOUS && u->arg.i != 0);
  return own ? u : NULL;
}

bool assign_value(PolyTensor *t, UOp *value) {
  if (!value) return false;
  if (value == t->uop) return true;
  if (!trace_assigns(t)) return false;
  UOp *target = target_of(t);
  UOp *u = value;
  if (target)
    u = uop_assign(target, value);
  else if (t->requires_grad)
    u = uop_contiguous(value, ctx_unique(t->ctx));
  if (!u) return false;
  handle_set(t, u);
  return true;
}

static bool assign(PolyTensor *t, PolyTensor *from) {
  UOp *value = broadcast_to(from->uop, t->uop);
  value = value ? uop_cast(value, (PolyDType)t->uop->dtype) : NULL;
  bool done = false;
  if (!value || (t->view && !view_assign(t, value, &done))) return false;
  return done || assign_value(t, value);
}

PolyStatus poly_assign(PolyTensor *t, PolyTensor *value) {
  if (!t || !value) return POLY_ERROR_VALUE;
  Scope s;
  scope_enter(t->ctx, &s);
  bool ok = assign(t, value);
  scope_leave(t->ctx, &s);
  return status_of(t->ctx, ok);
}

static bool give(PolyTensor *t, const PolyTensor *value) {
  const UOp *u = value->uop;
  Base *b = &t->ctx->base;
  if (t->ctx != value->ctx) return base_fail(b, POLY_ERROR_VALUE, "give: the tensors belong to two contexts");
  if (!u->buffer) return base_fail(b, POLY_ERROR_VALUE, "give: the value has no memory yet");
  if (u->buffer->stale) return node_fail_stale(u);
  bool same = t->uop->dtype == u->dtype && t->uop->ndim == u->ndim;
  for (int d = 0; same && d < u->ndim; d++) same = size_same(t->uop->shape[d], u->shape[d]);
  if (!same) return uop_fail_shapes("give: tensor and value", t->uop, u), false;
  if (!t->uop->buffer && t->uop->nsrc) {
    node_set_buffer(t->uop, buffer_retain(u->buffer));
    t->given = true;
  }
  return true;
}

PolyStatus poly_give(PolyTensor *t, PolyTensor *value) {
  if (!t || !value) return POLY_ERROR_VALUE;
  return status_of(t->ctx, give(t, value));
}

PolyStatus poly_replace(PolyTensor *t, PolyTensor *other) {
  if (!t || !other) return POLY_ERROR_VALUE;
  if (t->ctx != other->ctx)
    return status_of(t->ctx, base_fail(&t->ctx->base, POLY_ERROR_VALUE, "replace: the tensors belong to two contexts"));
  handle_renew(t);
  if (t->ctx->tracing) return poly_assign(t, other); /* a step keeps the memory of its state */
  handle_set(t, other->uop);
  return POLY_OK;
}
