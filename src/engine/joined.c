/* joined.c: tensors one after another in memory of their own, without a program. In: realized tensors that differ along
 * one axis at most. Out: a tensor that is there at once, on the current device. A program for each list of sizes would
 * take a thousand times longer to compile than to run, and one of a thousand inputs cannot be. */
#include "engine/engine.h"

#include "runtime/device.h"

bool poly_on_device(PolyTensor *t) {
  if (!t || !t->uop->buffer) return false;
  const PolyBuffer *b = t->uop->buffer->of ? t->uop->buffer->of : t->uop->buffer;
  const Memory *m = t->ctx->runtime->current->memory;
  return m->number && b->copy[m->number].valid && !b->copy[0].valid;
}

bool poly_worth_device(PolyContext *ctx, int64_t bytes) {
  const Device *d = ctx->runtime->current;
  return d->memory->number && bytes >= d->target.batch_bytes;
}

bool poly_samples_there(PolyContext *ctx, int64_t edges) {
  const Device *d = ctx->runtime->current;
  return d->memory->number && d->target.sample_edges && edges >= d->target.sample_edges;
}

/* The part of a tensor that lies together: bytes of the axis and those behind it; and how often that is there. */
typedef struct Span {
  int64_t times;
  size_t bytes;
} Span;

static Span span_of(int axis, int ndim, const int64_t *shape, PolyDType dtype) {
  Span s = {1, (size_t)dtype_size(dtype)};
  for (int d = 0; d < axis; d++) s.times *= shape[d];
  for (int d = axis; d < ndim; d++) s.bytes *= (size_t)shape[d];
  return s;
}

static bool plain_shape(PolyTensor *t, int64_t *shape) {
  const UOp *u = t->uop;
  for (int d = 0; d < u->ndim; d++)
    if (!int_eval_vars(u->shape[d], 0, NULL, NULL, &shape[d])) return false;
  return true;
}

/* Adds a part's size along the axis to that of the result. */
static bool add_part(PolyTensor *first, PolyTensor *part, int axis, int64_t *total) {
  int64_t shape[MAX_DIMS] = {0};
  PolyContext *ctx = first->ctx;
  if (!part || part->ctx != ctx) return base_fail(ctx_base(ctx), POLY_ERROR_VALUE, "join takes tensors of one context");
  bool same = part->uop->dtype == first->uop->dtype && part->uop->ndim == first->uop->ndim;
  if (!plain_shape(part, shape)) return false;
  for (int d = 0; same && d < first->uop->ndim; d++) same = d == axis || shape[d] == total[d];
  if (!same) return uop_fail_shapes("join: two parts that differ in more than one axis", first->uop, part->uop), false;
  total[axis] += shape[axis];
  return true;
}

static bool copy_parts(PolyTensor *const *t, int n, int axis, PolyBuffer *out, Span whole) {
  Memory *m = t[0]->ctx->runtime->current->memory;
  char *to = buffer_overwrite(out, m);
  size_t at = 0;
  for (int k = 0; to && k < n; k++) {
    int64_t shape[MAX_DIMS];
    if (!plain_shape(t[k], shape)) return false;
    Span s = span_of(axis, t[k]->uop->ndim, shape, (PolyDType)t[k]->uop->dtype);
    if (!s.bytes || !s.times) continue;
    const char *from = buffer_read(t[k]->uop->buffer, m);
    if (!from) return false;
    for (int64_t i = 0; i < s.times; i++)
      if (!m->copy(m, to + (size_t)i * whole.bytes + at, from + (size_t)i * s.bytes, s.bytes)) return false;
    at += s.bytes;
  }
  return to != NULL;
}

PolyTensor *poly_join(PolyTensor *const *t, int n, int axis) {
  if (n < 1 || !t[0]) return NULL;
  PolyContext *ctx = t[0]->ctx;
  int ndim = t[0]->uop->ndim;
  int64_t shape[MAX_DIMS];
  if (axis < 0 || axis >= ndim)
    return fail_null(ctx_base(ctx), POLY_ERROR_INDEX, "join: axis %d of tensors of %d axes", axis, ndim);
  if (!plain_shape(t[0], shape)) return NULL;
  shape[axis] = 0;
  for (int k = 0; k < n; k++)
    if (!add_part(t[0], t[k], axis, shape)) return NULL;
  PolyDType dtype = (PolyDType)t[0]->uop->dtype;
  PolyTensor *out = poly_realize_many(t, n) == POLY_OK ? poly_empty(ctx, dtype, ndim, shape) : NULL;
  if (!out || copy_parts(t, n, axis, out->uop->buffer, span_of(axis, ndim, shape, dtype))) return out;
  poly_free(out);
  return NULL;
}
