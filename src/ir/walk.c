/* walk.c: the one traversal that every pass uses, with an explicit ctx->walking. */
#include "ir/context.h"

/* Sources before users. A node is entered when its stamp is not this walk's; it is listed when its last source has
 * been. */
bool uop_walk(PolyContext *ctx, Arena *arena, int nroot, UOp *const *root, bool (*stop)(const UOp *u, void *user),
              void *user, Walk *out) {
  Base *b = &ctx->base;
  uint32_t epoch = ++ctx->epoch;
  bool ok = true;
  ctx->walked.n = ctx->walking.n = 0;
  for (int r = 0; r < nroot && ok; r++) {
    if (root[r]->epoch == epoch) continue;
    root[r]->epoch = epoch;
    /* until it is listed, slot is the next source to look at */
    root[r]->slot = stop && stop(root[r], user) ? root[r]->nsrc : 0;
    ok = vec_push(b, &ctx->walking, root[r]);
    while (ok && ctx->walking.n) {
      UOp *u = ctx->walking.at[ctx->walking.n - 1];
      while (u->slot < u->nsrc && u->src[u->slot]->epoch == epoch) u->slot++;
      if (u->slot < u->nsrc) {
        UOp *s = u->src[u->slot++];
        s->epoch = epoch;
        s->slot = stop && stop(s, user) ? s->nsrc : 0;
        ok = vec_push(b, &ctx->walking, s);
      } else {
        ctx->walking.n--;
        ok = vec_push(b, &ctx->walked, u);
      }
    }
  }
  if (ok) {
    UOp **at = arena_new(arena, (size_t)MAX(ctx->walked.n, 1) * sizeof(UOp *));
    ok = at != NULL;
    for (int i = 0; ok && i < ctx->walked.n; i++) {
      at[i] = ctx->walked.at[i];
      at[i]->slot = i;
    }
    *out = (Walk){at, ctx->walked.n, epoch};
  }
  return ok;
}
