/* runs.c: what a short loop loads side by side, for dialects whose compiler writes such a loop out. In: a loop of a
 * known number of iterations. Out: its loads of neighbouring elements that are the same for all threads' strips, four
 * at a time before the loop:
 *
 *   for k < 8: a[8 * e + k] * w[128 * k + f]
 *
 *   const float4 q9_0 = *(const float4 *)(a + 8 * e), q9_4 = ..;  const float q9[8] = {q9_0.x, q9_0.y, ..};
 *   for k < 8: q9[k] * w[128 * k + f]
 *
 * The compiler cannot do that by itself: it does not know that a row begins at a multiple of 16 bytes. Nor does it see
 * that elements which are loaded one by one behind the loop, as by the gradient of a map beside the map, are there
 * already: these are taken from the array too. */
#include "render/emit.h"

enum { TOGETHER = 4, DEEP = 8, NEAR = 256 };

/* Is the integer a multiple of n, a power of two of at most 4, as far as `depth` operations tell? */
static bool multiple_of(const Emit *e, int i, int n, int depth) {
  const Inst *in = &e->lin->inst[i];
  if (i < 0 || depth == 0) return false;
  if (in->kind == INST_CONST) return in->arg.i % n == 0;
  if (in->kind == INST_LOOP) return in->strip % n == 0 && in->strip && multiple_of(e, in->src[0], n, depth - 1);
  if (in->kind != INST_ALU) return false;
  bool a = multiple_of(e, in->src[0], n, depth - 1), b = in->src[1] >= 0 && multiple_of(e, in->src[1], n, depth - 1);
  const Inst *by = in->src[1] >= 0 ? &e->lin->inst[in->src[1]] : NULL;
  switch (in->op) {
  case OP_ADD:
  case OP_SUB: return a && b;
  case OP_MUL: return a || b;
  case OP_SHL: return a || (by->kind == INST_CONST && by->arg.i >= 2);
  case OP_CAST: return a && dtype_is_int((PolyDType)e->lin->inst[in->src[0]].dtype);
  default: return false;
  }
}

bool is_multiple(const Emit *e, int i, int n) { return multiple_of(e, i, n, DEEP); }

int index_base(const Emit *e, int i, int64_t *added) {
  const Inst *in = &e->lin->inst[i];
  *added = 0;
  if (in->kind != INST_ALU || in->op != OP_ADD || e->lin->inst[in->src[1]].kind != INST_CONST) return i;
  *added = e->lin->inst[in->src[1]].arg.i;
  return in->src[0];
}

/* What is added to the loop's variable in the index of a load; -1: it is another index. */
static int run_base(const Emit *e, int loop, int index) {
  const Inst *in = &e->lin->inst[index];
  if (in->kind != INST_ALU || in->op != OP_ADD) return -1;
  int base = in->src[0] == loop ? in->src[1] : in->src[1] == loop ? in->src[0] : -1;
  return base >= 0 && base < loop && is_multiple(e, base, TOGETHER) ? base : -1;
}

bool is_run(const Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  int loop = e->run_loop;
  if (!loop || i <= loop || i >= e->at[loop].end || in->kind != INST_LOAD) return false;
  if (in->dtype != POLY_FLOAT32 || in->src[1] >= 0 || (e->vary && e->vary[i])) return false;
  return run_base(e, loop, in->src[0]) >= 0;
}

/* How many iterations a loop has whose loads can stand before it; 0: they cannot. */
static int64_t run_length(const Emit *e, int loop) {
  int64_t begin, end;
  if (!loop_trip(e->lin, loop, &begin, &end) || begin || end % TOGETHER) return 0;
  for (int i = loop + 1; i < e->at[loop].end; i++)
    if (e->lin->inst[i].kind == INST_STORE || e->lin->inst[i].kind == INST_LOOP) return 0;
  return end;
}

void open_run(Emit *e, int loop) {
  int64_t end = run_length(e, loop);
  if (!end) return;
  e->run_loop = loop;
  for (int i = loop + 1; i < e->at[loop].end; i++) {
    if (!is_run(e, i)) continue;
    const Inst *in = &e->lin->inst[i];
    Txt base = scalar_name(e, run_base(e, loop, in->src[0])), list = no_text();
    for (int k = 0; k < end; k += TOGETHER) {
      line(e, "const float4 q%d_%d = *(GLOBAL const float4 *)(p%d + %s + %d);", i, k, in->param, base.s, k);
      list = txt("%s%sq%d_%d.x, q%d_%d.y, q%d_%d.z, q%d_%d.w", list.s, k ? ", " : "", i, k, i, k, i, k, i, k);
    }
    line(e, "const float q%d[%d] = {%s};", i, (int)end, list.s);
  }
}

/* The innermost loop around an instruction; -1: there is none. */
static int loop_of(const Emit *e, int i) {
  for (int k = i; k-- > 0;)
    if (e->lin->inst[k].kind == INST_LOOP && e->at[k].end > i) return k;
  return -1;
}

/* Has the array of load j, whose base is `base`, element k of what load i reads from, and does it stand in a loop
 * around i? */
static bool run_has(const Emit *e, int j, int i, int base, int64_t k) {
  const Inst *in = &e->lin->inst[j];
  if (in->kind != INST_LOAD || in->param != e->lin->inst[i].param || in->src[1] >= 0 || in->dtype != POLY_FLOAT32)
    return false;
  int loop = loop_of(e, j), around = loop >= 0 ? loop_of(e, loop) : -1;
  if (loop < 0 || e->at[loop].end > i || (around >= 0 && e->at[around].end <= i)) return false;
  if (e->lin->inst[loop].flags & (LOOP_ONCE | LOOP_IF | LOOP_GROUP | LOOP_PARALLEL) || !is_written_out(e, loop))
    return false;
  return k < run_length(e, loop) && run_base(e, loop, in->src[0]) == base && !(e->vary && e->vary[j]);
}

int run_before(const Emit *e, int i, int64_t *k) {
  const Inst *in = &e->lin->inst[i];
  if (in->dtype != POLY_FLOAT32 || in->src[1] >= 0 || e->lin->param[in->param].written) return -1;
  int base = index_base(e, in->src[0], k);
  for (int j = i - 1; j >= 0 && j > i - NEAR && *k >= 0; j--)
    if (run_has(e, j, i, base, *k)) return j;
  return -1;
}

void close_run(Emit *e) { e->run_loop = 0; }
