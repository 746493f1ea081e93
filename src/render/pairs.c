/* pairs.c: two neighbouring elements that a thread loads or stores one after the other, at once, for dialects whose
 * threads lie side by side. In: a linear kernel with strips, whose arguments begin at multiples of 16 bytes. Out:
 *
 *   a[i] = x; .. a[i + 1] = y;        ..  *(float2 *)(a + i) = make_float2(x, y);
 *   u = a[i]; .. v = a[i + 1];        const float2 q = *(const float2 *)(a + i); u = q.x; v = q.y; ..
 *
 * A thread of a matrix instruction has two columns of a row: by one store its warp writes whole sectors of memory, by
 * two it would write each of them twice. The store stands where the second was, the load where the first was. */
#include "render/emit.h"

enum { NEAR = 64 };

/* Is index `next` one more than `index`? */
static bool is_next(const Emit *e, int index, int next) {
  int64_t a, b;
  return index_base(e, index, &a) == index_base(e, next, &b) && b == a + 1;
}

static bool can_pair(const Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  bool access = in->kind == INST_LOAD || in->kind == INST_STORE;
  return access && in->dtype == POLY_FLOAT32 && in->param < linear_nargs(e->lin) && !(e->vary && e->vary[i]);
}

/* May instruction j stand between access i and the next element's? Of what is read and written in place, element by
 * element, the load of the next one may move before the store of this one. */
static bool can_pass(const Emit *e, int i, int j) {
  const Inst *a = &e->lin->inst[i], *in = &e->lin->inst[j];
  if (in->kind == INST_ALU || in->kind == INST_CONST) return true;
  if (in->kind != INST_LOAD && in->kind != INST_STORE) return false;
  if (in->param != a->param) return true;
  if (a->kind == INST_LOAD) return in->kind == INST_LOAD || in->src[0] == a->src[0];
  return in->kind == INST_LOAD && is_next(e, a->src[0], in->src[0]);
}

int pair_second(const Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  int gate = in->kind == INST_LOAD ? 1 : 2;
  if (!e->pairs || !can_pair(e, i) || stores_alone(e, i)) return -1;
  if (!is_multiple(e, in->src[0], 2)) return -1;
  for (int k = i + 1; k < e->lin->ninst && k < i + NEAR; k++) {
    const Inst *other = &e->lin->inst[k];
    bool same = other->kind == in->kind && other->param == in->param && can_pair(e, k);
    if (same && is_next(e, in->src[0], other->src[0])) return in->src[gate] == other->src[gate] ? k : -1;
    if (!can_pass(e, i, k)) return -1;
  }
  return -1;
}

int pair_first(const Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  if (!e->pairs || !can_pair(e, i)) return -1;
  for (int k = i - 1; k >= 0 && k > i - NEAR; k--)
    if (e->lin->inst[k].kind == in->kind && e->lin->inst[k].param == in->param && pair_second(e, k) == i) return k;
  return -1;
}

void emit_load_pair(Emit *e, int i, int second) {
  const Inst *in = &e->lin->inst[i];
  Txt at = txt("*(GLOBAL const float2 *)(p%d + %s)", in->param, scalar_name(e, in->src[0]).s);
  if (in->src[1] >= 0) at = txt("%s ? %s : make_float2(0.0f, 0.0f)", scalar_name(e, in->src[1]).s, at.s);
  line(e, "const float2 w%d = %s;", i, at.s);
  line(e, "const float %s = w%d.x;", scalar_name(e, i).s, i);
  line(e, "const float %s = w%d.y;", scalar_name(e, second).s, i);
}

void emit_store_pair(Emit *e, int first, int i) {
  const Inst *a = &e->lin->inst[first], *b = &e->lin->inst[i];
  Txt gate = b->src[2] >= 0 ? txt("if (%s) ", scalar_name(e, b->src[2]).s) : no_text();
  line(e, "%s*(GLOBAL float2 *)(p%d + %s) = make_float2(%s, %s);", gate.s, a->param, scalar_name(e, a->src[0]).s,
       scalar_name(e, a->src[1]).s, scalar_name(e, b->src[1]).s);
}
