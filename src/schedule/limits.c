/* limits.c: how much each kernel may hold. In: a failure to schedule or to write a kernel, with the nodes that it was
 * to store. Out: limits under which the schedule is built again, with more stored and less in that kernel.
 *
 * A kernel can be more than can be written: it needs more loops than there are names for, or outputs that were put
 * together walk their loops in different ways. Whatever the reason, a kernel that computes one operation of values
 * which are all stored can be written, and each failure goes one step towards it. */
#include "schedule/schedule.h"

#include "ir/context.h"

enum { MAX_ROUNDS = 32 }; /* of building the schedule again for one kernel, before all kernels are limited */

void schedule_blame(PolyContext *ctx, ScheduleLimits *l, int n, UOp *const *made) {
  if (l->failed.n) return; /* the first failure is the cause */
  for (int i = 0; i < n; i++)
    if (!vec_push(ctx_base(ctx), &l->failed, made[i])) return;
}

bool schedule_keep_whole(PolyContext *ctx, ScheduleLimits *l, int n, UOp *const *product) {
  bool ok = true;
  for (int i = 0; i < n && ok; i++) ok = map_put(ctx_base(ctx), &l->whole, (uint64_t)(uintptr_t)product[i], 1);
  l->wider = true;
  return ok;
}

Hold schedule_hold(const ScheduleLimits *l, const UOp *made) {
  uint64_t hold;
  bool own = map_get(&l->hold, (uint64_t)(uintptr_t)made, &hold);
  return own ? MAX((Hold)hold, l->all) : l->all;
}

bool schedule_limit(PolyContext *ctx, ScheduleLimits *l) {
  Base *b = ctx_base(ctx);
  if (ctx->illegal) return false;                                           /* a mistake that tests must see */
  if (b->code != POLY_ERROR_RUNTIME || l->all == HOLD_ONE_OP) return false; /* memory ran out, or there is no less */
  bool tighter = l->wider, ok = true;
  if (l->wider) l->failed.n = 0;
  l->wider = false;
  for (int i = 0; i < l->failed.n && ok && l->rounds < MAX_ROUNDS; i++) {
    Hold hold = schedule_hold(l, l->failed.at[i]);
    tighter |= hold < HOLD_ONE_OP;
    ok = map_put(b, &l->hold, (uint64_t)(uintptr_t)l->failed.at[i], (uint64_t)MIN(hold + 1, HOLD_ONE_OP));
  }
  if (!tighter) l->all++;
  l->rounds++;
  l->failed.n = 0;
  if (ok) base_clear(b);
  return ok;
}

void schedule_limits_free(PolyContext *ctx, ScheduleLimits *l) {
  map_free(ctx_base(ctx), &l->hold);
  map_free(ctx_base(ctx), &l->whole);
  vec_free(ctx_base(ctx), &l->failed);
}
