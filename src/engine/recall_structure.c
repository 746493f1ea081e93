/* recall_structure.c: the structure of all that is pending, as a list of words. Two programs with equal words differ in
 * their memory and in the values of bound sizes alone, so the same gradients and updates are built of both, and one
 * plan serves them. See recall.h. */
#include "engine/recall_parts.h"

/* Gradients flow through nodes that hold a value, so these are entered; the sizes of a BUFFER are its sources. */
static bool stop(const UOp *u, void *user) {
  (void)user;
  return u->op == OP_BIND;
}

static bool put(Structure *s, uint64_t word) {
  s->hash = (s->hash ^ word) * 0x9E3779B97F4A7C15u;
  s->hash ^= s->hash >> 29;
  return vec_push(s->b, &s->word, word);
}

static uint64_t handle_word(const PolyTensor *t) {
  uint64_t flags = t->requires_grad | t->refused << 1 | t->consumed << 2 | t->given << 3 | (t->view != NULL) << 4;
  return (uint64_t)1 << 63 | flags;
}

static bool put_node(Structure *s, const UOp *u) {
  bool stale = u->buffer && u->buffer->stale;
  uint64_t word = (uint64_t)u->op | (uint64_t)u->dtype << 16 | (uint64_t)u->ndim << 24 |
                  (uint64_t)(uint32_t)u->nsrc << 32 | (uint64_t)(u->buffer != NULL) << 60 | (uint64_t)stale << 61;
  if (!put(s, word)) return false;
  switch (u->op) {
  case OP_BIND: /* only the bounds of its variable are part of a plan */
    return put(s, (uint64_t)u->src[0]->arg.i) && put(s, (uint64_t)u->src[0]->arg.j) && put(s, canon_is_rng(u->src[0]));
  case OP_BUFFER: break;
  case OP_CONTIGUOUS:
    if (!put(s, u->arg.i != 0)) return false;
    break;
  default:
    if (!put(s, (uint64_t)u->arg.i) || !put(s, (uint64_t)u->arg.j) || !put(s, (uintptr_t)u->arg.name)) return false;
  }
  for (int k = 0; k < u->nsrc; k++)
    if (!put(s, (uint64_t)u->src[k]->slot)) return false;
  return true;
}

/* A BUFFER remembers in whose place it is (uop_buffer_for), and gradients that reach that node are its own. A step
 * builds on the memory of the step before, not on what was computed there. */
static bool stands_for_another(const Structure *s) {
  int64_t newest = 0;
  for (int h = 0; h < s->handle.n; h++) {
    const UOp *u = s->handle.at[h]->uop;
    if (u->op == OP_BUFFER && u->arg.j > newest) newest = u->arg.j;
  }
  for (int i = 0; i < s->walk.n; i++) {
    const UOp *u = s->walk.at[i];
    if (u->op == OP_BUFFER || (int64_t)u->serial > newest) continue;
    for (int h = 0; h < s->handle.n; h++)
      if (s->handle.at[h]->uop->op == OP_BUFFER && s->handle.at[h]->uop->arg.j == (int64_t)u->serial) return true;
  }
  return false;
}

/* All handles whose programs a step could need, and the nodes behind them. A constant needs nothing and is not
 * computed; state such as the number of batches seen is another one in each step. */
static bool read_nodes(PolyContext *ctx, PolyTensor *root, bool keep, Structure *s) {
  for (PolyTensor *t = NULL; (t = handle_next_pending(ctx, t));)
    if (t->uop->op != OP_CONST && !vec_push(s->b, &s->pending, t->uop)) return false;
  if (!vec_push(s->b, &s->pending, root->uop)) return false;
  return (!keep || keep_constants(ctx, s->pending.n, s->pending.at)) &&
         uop_walk(ctx, &s->arena, s->pending.n, s->pending.at, stop, NULL, &s->walk);
}

bool structure_read(PolyContext *ctx, PolyTensor *root, bool keep, Structure *s, bool *fits) {
  bool leaf = false, plain = true;
  *fits = false;
  s->b = ctx_base(ctx);
  s->word.n = s->handle.n = s->pending.n = 0;
  s->hash = 0;
  arena_free(&s->arena);
  s->arena = (Arena){.b = s->b};
  if (!read_nodes(ctx, root, keep, s)) return false;
  for (int i = 0; i < s->walk.n && plain; i++) {
    const UOp *u = s->walk.at[i];
    plain = !node_is_unique(u);
    if (!put_node(s, u)) return false;
    for (PolyTensor *t = u->op == OP_CONST ? NULL : u->handle; t; t = t->links[LIST_NODE].next) {
      plain = plain && !t->grad; /* a gradient would be added to it */
      leaf |= t->requires_grad;
      if (!put(s, handle_word(t)) || !vec_push(s->b, &s->handle, t)) return false;
    }
  }
  *fits = plain && leaf && !stands_for_another(s);
  return put(s, (uint64_t)root->uop->slot);
}

void structure_free(Structure *s) {
  if (!s->b) return;
  arena_free(&s->arena);
  vec_free(s->b, &s->word);
  vec_free(s->b, &s->handle);
  vec_free(s->b, &s->pending);
}
