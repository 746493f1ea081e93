/* runs.c: what a short loop loads side by side, for dialects whose compiler writes such a loop out. In: a loop of a
 * known number of iterations. Out: its loads of neighbouring elements that are the same for all threads' strips, four
 * at a time before the loop:
 *
 *   for k < 8: a[8 * e + k] * w[128 * k + f]
 *
 *   const float4 q9_0 = *(const float4 *)(a + 8 * e), q9_4 = ..;  const float q9[8] = {q9_0.x, q9_0.y, ..};
 *   for k < 8: q9[k] * w[128 * k + f]
 *
 * The compiler cannot do that by itself: it does not know that a row begins at a multiple of 16 bytes. */
#include "render/emit.h"

enum { TOGETHER = 4, DEEP = 8 };

/* Is the integer a multiple of TOGETHER? */
static bool is_multiple(const Emit *e, int i, int depth) {
  const Inst *in = &e->lin->inst[i];
  if (i < 0 || depth == 0) return false;
  if (in->kind == INST_CONST) return in->arg.i % TOGETHER == 0;
  if (in->kind == INST_LOOP) return in->strip % TOGETHER == 0 && in->strip && is_multiple(e, in->src[0], depth - 1);
  if (in->kind != INST_ALU) return false;
  bool a = is_multiple(e, in->src[0], depth - 1), b = in->src[1] >= 0 && is_multiple(e, in->src[1], depth - 1);
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

/* What is added to the loop's variable in the index of a load; -1: it is another index. */
static int run_base(const Emit *e, int loop, int index) {
  const Inst *in = &e->lin->inst[index];
  if (in->kind != INST_ALU || in->op != OP_ADD) return -1;
  int base = in->src[0] == loop ? in->src[1] : in->src[1] == loop ? in->src[0] : -1;
  return base >= 0 && base < loop && is_multiple(e, base, DEEP) ? base : -1;
}

bool is_run(const Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  int loop = e->run_loop;
  if (!loop || i <= loop || i >= e->at[loop].end || in->kind != INST_LOAD) return false;
  if (in->dtype != POLY_FLOAT32 || in->src[1] >= 0 || (e->vary && e->vary[i])) return false;
  return run_base(e, loop, in->src[0]) >= 0;
}

void open_run(Emit *e, int loop) {
  int64_t begin, end;
  if (!loop_trip(e->lin, loop, &begin, &end) || begin || end % TOGETHER) return;
  for (int i = loop + 1; i < e->at[loop].end; i++)
    if (e->lin->inst[i].kind == INST_STORE || e->lin->inst[i].kind == INST_LOOP) return;
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

void close_run(Emit *e) { e->run_loop = 0; }
