/* folded.c: programs with loops that were written out. In: a canonical program. Out: the same program in which copies
 * of a body are one loop over steps (ir/repeat.h), over the same inputs and variables.
 *
 * It comes before everything that a plan is found by: a loop of another length is the same program with another number
 * in it, which finds the general plan (form.c). What a program was folded to is remembered, by its roots. */
#include "engine/engine.h"
#include "ir/repeat.h"

#include <string.h>

struct Folded {
  int nroot;
  UOp *node[]; /* roots, then what they were folded to */
};

static Folded **entry_of(PolyContext *ctx, const Canon *c) {
  uint64_t hash = hash_bytes(c->root, (size_t)c->nroot * sizeof *c->root, 3);
  return &ctx->engine->folded[hash % FOLDED_PROGRAMS];
}

static size_t bytes_of(int nroot) { return sizeof(Folded) + 2 * (size_t)nroot * sizeof(UOp *); }

static void entry_free(PolyContext *ctx, Folded *f) {
  for (int k = 0; f && k < 2 * f->nroot; k++) uop_release(f->node[k]);
  if (f) mem_free(ctx_base(ctx), f, bytes_of(f->nroot));
}

void folded_free(PolyContext *ctx) {
  for (int i = 0; i < FOLDED_PROGRAMS; i++) {
    entry_free(ctx, ctx->engine->folded[i]);
    ctx->engine->folded[i] = NULL;
  }
}

static bool remember(PolyContext *ctx, Folded **at, const Canon *c, UOp *const *root) {
  Folded *f = mem_new(ctx_base(ctx), bytes_of(c->nroot));
  if (!f) return false;
  f->nroot = c->nroot;
  memcpy(f->node, c->root, (size_t)c->nroot * sizeof *f->node);
  memcpy(f->node + c->nroot, root, (size_t)c->nroot * sizeof *f->node);
  for (int k = 0; k < 2 * f->nroot; k++) uop_retain(f->node[k]);
  entry_free(ctx, *at);
  *at = f;
  return true;
}

/* Copies that cannot be made a loop stay as they are. Where the context verifies, what goes wrong is an error. */
static bool fold(PolyContext *ctx, Arena *arena, const Canon *c, UOp **root, int *loops) {
  Base *b = ctx_base(ctx);
  memcpy(root, c->root, (size_t)c->nroot * sizeof *root);
  if (repeats_fold(ctx, arena, c->nroot, root, ctx->runtime->current->target.loop_steps, loops)) return true;
  if (b->code == POLY_ERROR_MEMORY || b->passing || (ctx->verify && b->code != POLY_OK)) return false;
  base_clear(b);
  *loops = 0;
  return true;
}

bool folded_program(PolyContext *ctx, Arena *arena, const Canon *c, Canon *out) {
  Folded **at = entry_of(ctx, c), *f = *at;
  *out = *c;
  if (ctx->engine->unrolled) return true;
  if (f && f->nroot == c->nroot && !memcmp(f->node, c->root, (size_t)c->nroot * sizeof *c->root)) {
    out->root = f->node + f->nroot;
    return true;
  }
  bool possible;
  if (!repeats_possible(ctx, arena, c->nroot, c->root, ctx->runtime->current->target.loop_steps, &possible))
    return false;
  if (!possible) return true;
  int loops;
  UOp **root = arena_new(arena, (size_t)(c->nroot + 1) * sizeof *root);
  if (!root || !fold(ctx, arena, c, root, &loops)) return false;
  if (!loops) return true; /* its plan is found by its own roots */
  out->root = root;
  return remember(ctx, at, c, root);
}
