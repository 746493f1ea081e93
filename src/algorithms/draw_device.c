/* draw_device.c: the random numbers of neighbour sampling (sampler.h) as a tensor, so that a device that has the edges
 * draws the same ones as the host. */
#include "algorithms/words.h"

static UOp *as_words(const PolyTensor *t) { return uop_cast(t->uop, POLY_UINT64); }

static UOp *drawn(const PolyTensor *key, const PolyTensor *stream, const PolyTensor *number, const PolyTensor *size) {
  UOp *state = keyed(as_words(key), as_words(stream));
  return uop_cast(below(word_of(state, as_words(number)), as_words(size)), POLY_INT64);
}

PolyTensor *poly_draw_below(PolyTensor *stream, PolyTensor *number, PolyTensor *size, uint64_t seed, uint64_t batch,
                            int64_t hop) {
  PolyContext *ctx = stream->ctx;
  const PolyTensor *t[3] = {stream, number, size};
  for (int k = 0; k < 3; k++)
    if (!dtype_is_int((PolyDType)t[k]->uop->dtype))
      return fail_null(ctx_base(ctx), POLY_ERROR_TYPE, "draw_below takes whole numbers");
  int64_t one = 1;
  uint64_t key = sample_key(seed, batch, hop, 0);
  PolyTensor *given = poly_from_data(ctx, &key, POLY_UINT64, 1, &one);
  if (!given) return NULL;
  Scope s;
  scope_enter(ctx, &s);
  PolyTensor *out = tensor_wrap(ctx, drawn(given, stream, number, size));
  scope_leave(ctx, &s);
  poly_free(given);
  return out;
}
