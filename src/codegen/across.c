/* across.c: sums along what neighbouring threads have. In: the tree of loops of a kernel over rows of edges, its grid
 * chosen. Out: marks (LOOP_ACROSS), where each sum inside its loops over edges is such a one:
 *
 *   for v, f: for e: acc += w[e] * g[dst[e], f];  dot = 0; for k: dot += g[dst[e], k] * h[v, k];  t[e] = dot ..
 *
 * The loop over k has as many iterations as the grid has along f, and the threads of a row lie side by side: each adds
 * what it has at its own f, and a warp the sums of its threads. So g is read once, and h stays in registers. */
#include "codegen/block.h"

static bool same_bounds(const UOp *a, const UOp *b) { return a->src[0] == b->src[0] && a->src[1] == b->src[1]; }

/* Does the loop of b do nothing but add up values, which it loads or computes, and which are the same along f? */
static bool adds_up(Codegen *g, const Block *b, const UOp *f) {
  if (!(g->inst.at[b->loop].flags & LOOP_REDUCE)) return false;
  for (int i = 0; i < b->line.n; i++) {
    if (b->line.at[i].child || block_varies(g, g->origin.at[b->line.at[i].inst], f)) return false;
    const Inst *in = &g->inst.at[b->line.at[i].inst];
    if (in->kind == INST_STORE || in->kind == INST_CHECK || in->kind == INST_ACC) return false;
    if (in->kind == INST_UPDATE && g->inst.at[in->src[0]].op != OP_ADD) return false;
  }
  return true;
}

bool sums_along(Codegen *g, const Block *b, const UOp *f) {
  return same_bounds(b->range, f) && f->src[1]->op == OP_CONST && adds_up(g, b, f);
}

/* Looks at the loops inside b, which is or is inside a loop over edges, and marks them if told so. False: one of them
 * is another loop. */
static bool look_inside(Codegen *g, Block *b, const UOp *f, bool mark, int *found) {
  for (int i = 0; i < b->line.n; i++) {
    Block *c = b->line.at[i].child;
    if (!c) continue;
    if (!sums_along(g, c, f)) return false;
    ++*found;
    if (!mark) continue;
    g->inst.at[c->loop].flags |= LOOP_ACROSS;
    c->whole = true;
  }
  return true;
}

/* The same for all loops over edges of the body. */
static bool look(Codegen *g, bool mark, int *found) {
  const UOp *f = g->body->range;
  for (int i = 0; i < g->body->line.n; i++) {
    Block *c = g->body->line.at[i].child;
    if (c && !look_inside(g, c, f, mark, found)) return false;
  }
  return true;
}

bool find_across(Codegen *g) {
  const UOp *f = g->body->range;
  int found = 0;
  if (g->target->warp <= 1 || !f || !uop_is_int(f->src[0], 0) || f->src[1]->op != OP_CONST) return false;
  if (!look(g, false, &found) || !found) return false;
  int strip = block_strip_of(g, g->body), threads = 1;
  while ((int64_t)threads * strip < f->src[1]->arg.i) threads *= 2;
  if (threads > g->target->warp) return false;
  g->neighbours = threads;
  return look(g, true, &found);
}

void drop_across(Codegen *g) {
  for (int i = 0; i < g->inst.n; i++)
    if (g->inst.at[i].kind == INST_LOOP) g->inst.at[i].flags &= ~(uint32_t)LOOP_ACROSS;
  g->neighbours = 0;
}
