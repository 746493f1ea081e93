/* strips.c: a loop of which a thread takes several iterations side by side, for dialects with grids. In: a loop with
 * its strip. Out: the body once, in which a value that differs from iteration to iteration stands once for each: v12_0,
 * v12_1 ..; the others once. Neighbouring elements of memory are loaded and stored together. */
#include "render/emit.h"

#include <string.h>

enum { TOGETHER = 4 }; /* most elements that a vector type of CUDA and OpenCL has */

static bool differs(const Emit *e, const Inst *in) {
  for (int k = 0; k < 3; k++)
    if (in->src[k] >= 0 && e->vary[in->src[k]]) return true;
  return false;
}

/* The loop that an instruction or a loop stands in; -1: none. */
static int loop_of(const Emit *e, int i) {
  for (int k = i; k-- > 0;)
    if (e->lin->inst[k].kind == INST_LOOP && e->at[k].end > i) return k;
  return -1;
}

/* Does i stand in a loop whose iterations neighbouring threads share? */
static bool is_across(const Emit *e, int i) {
  int loop = loop_of(e, i);
  return loop >= 0 && e->lin->inst[loop].flags & LOOP_ACROSS;
}

/* Marks what differs in the loop; accumulators of its own do if what they are updated with does. Those from outside are
 * updated once for each iteration. */
static void find_varying(Emit *e, int loop) {
  bool changed = true;
  e->vary[loop] = true;
  for (int i = loop + 1; i < e->at[loop].end; i++)
    e->vary[i] = e->lin->inst[i].kind == INST_LOOP && e->lin->inst[i].flags & LOOP_ACROSS;
  while (changed) {
    changed = false;
    for (int i = loop + 1; i < e->at[loop].end; i++) {
      const Inst *in = &e->lin->inst[i];
      bool value = in->kind == INST_ALU || in->kind == INST_LOAD || in->kind == INST_CHECK;
      int to = value ? i : in->kind == INST_UPDATE && in->src[0] > loop && !is_across(e, i) ? in->src[0] : -1;
      if (to < 0 || e->vary[to] || !differs(e, in)) continue;
      e->vary[to] = changed = true;
    }
  }
}

bool open_strip(Emit *e, int loop) {
  int n = e->lin->inst[loop].strip;
  if (n <= 1 || e->vary) return false;
  e->vary = e->room;
  memset(e->vary, 0, (size_t)e->lin->ninst * sizeof *e->vary);
  find_varying(e, loop);
  e->strip = n;
  e->strip_loop = loop;
  e->strip_ends = e->lin->inst[loop].flags & LOOP_GROUP && loop_trips(e->lin, loop) % n;
  Txt type = scalar_type(e, (PolyDType)e->lin->inst[loop].dtype);
  for (int k = 0; k < n; k++)
    line(e, k ? "const %s i%d_%d = i%d + %d;" : "const %s i%d_%d = i%d;", type.s, loop, k, loop, k);
  return true;
}

/* Each thread has the iterations that it has of the grid, or the first ones in the place of those that are not there,
 * which it does not add. */
void across_terms(Emit *e, int loop) {
  const Linear *l = e->lin;
  int of = loop, n = e->vary ? e->strip : 1;
  while (of >= 0 && !(l->inst[of].flags & LOOP_PARALLEL)) of = loop_of(e, of);
  int64_t trips = loop_trips(l, loop);
  bool all = trips % ((int64_t)n * l->neighbours) == 0;
  Txt type = scalar_type(e, (PolyDType)l->inst[loop].dtype);
  line(e, "{");
  e->indent++;
  for (e->copy = 0; e->copy < n; e->copy++) {
    Txt own = scalar_name(e, of);
    Txt at = all ? own : txt("%s < %lld ? %s : %d", own.s, (long long)trips, own.s, e->copy);
    line(e, "const %s %s = %s;", type.s, scalar_name(e, loop).s, at.s);
  }
  e->copy = 0;
  e->across = all ? 0 : loop;
  e->across_of = of;
  emit_body(e, loop + 1, e->at[loop].end);
  e->across = 0;
  e->indent--;
  line(e, "}");
}

void across_sums(Emit *e, int loop) {
  const Linear *l = e->lin;
  for (int i = loop + 1; i < e->at[loop].end; i++) {
    const Inst *in = &l->inst[i];
    if (in->kind != INST_UPDATE || l->neighbours == 1) continue;
    Txt acc = scalar_name(e, in->src[0]);
    Txt add = helper(e->help, "near_add", elem_of((PolyDType)l->inst[in->src[0]].dtype), 1);
    line(e, "%s = %s(%s, %d);", acc.s, add.s, acc.s, l->neighbours);
  }
}

void emit_across(Emit *e, int loop) {
  across_terms(e, loop);
  across_sums(e, loop);
}

void close_strip(Emit *e) {
  e->vary = NULL;
  e->strip = e->copy = 0;
  e->strip_ends = false;
}

/* Elements of its vector type: a load has up to 16 bytes. */
static int together_of(PolyDType d) { return MIN(TOGETHER, 16 / dtype_size(d)); }

/* The vector type of an element in memory; NULL: there is none. */
static const char *together_type(PolyDType d) {
  static const char *const names[] = {
      [ELEM_I8] = "char4",  [ELEM_U8] = "uchar4",  [ELEM_I16] = "short4", [ELEM_U16] = "ushort4", [ELEM_I32] = "int4",
      [ELEM_U32] = "uint4", [ELEM_F32] = "float4", [ELEM_I64] = "LONG2",  [ELEM_F64] = "double2", [ELEM_COUNT] = NULL,
  };
  return names[elem_memory(d)];
}

static const char member[] = "xyzw";

static void load_together(Emit *e, int i, const char *type) {
  const Inst *in = &e->lin->inst[i];
  PolyDType d = (PolyDType)in->dtype;
  Txt gate = in->src[1] >= 0 ? scalar_name(e, in->src[1]) : no_text();
  int n = together_of(d);
  for (int first = 0; first < e->strip; first += n) {
    e->copy = first;
    Txt w = txt("w%d%s_%d", i, edge_name(e, i).s, first);
    Txt at = txt("%s(GLOBAL const %s *)(p%d + %s%s)", e->stage ? "load_now(" : "*", type, in->param,
                 scalar_name(e, in->src[0]).s, loaded_again(e, i).s);
    if (e->stage) at = txt("%s)", at.s);
    if (gate.s[0]) {
      line(e, "%s %s = {0, 0%s};", type, w.s, n == TOGETHER ? ", 0, 0" : "");
      line(e, "if (%s) %s = %s;", gate.s, w.s, at.s);
    } else {
      line(e, "const %s %s = %s;", type, w.s, at.s);
    }
    for (int k = 0; k < n; k++) {
      e->copy = first + k;
      Txt x = load_text(e, d, 1, txt("%s.%c", w.s, member[k]));
      line(e, "const %s %s = %s;", scalar_type(e, d).s, scalar_name(e, i).s, x.s);
    }
  }
}

static void store_together(Emit *e, int i, const char *type) {
  const Inst *in = &e->lin->inst[i];
  PolyDType d = (PolyDType)in->dtype;
  Txt gate = in->src[2] >= 0 ? txt("if (%s) ", scalar_name(e, in->src[2]).s) : no_text();
  if (stores_alone(e, i)) gate = txt("if (thread == 0) %s", gate.s);
  if (edge_gate(e).s[0]) gate = txt("if (%s) %s", edge_gate(e).s, gate.s);
  int n = together_of(d);
  for (int first = 0; first < e->strip; first += n) {
    Txt w = txt("w%d%s_%d", i, edge_name(e, i).s, first);
    line(e, "%s %s;", type, w.s);
    for (int k = 0; k < n; k++) {
      e->copy = first + k;
      line(e, "%s.%c = %s;", w.s, member[k], store_text(e, d, 1, scalar_name(e, in->src[1])).s);
    }
    e->copy = first;
    line(e, "%s*(GLOBAL %s *)(p%d + %s) = %s;", gate.s, type, in->param, scalar_name(e, in->src[0]).s, w.s);
  }
}

static void store_once(Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  Txt x = store_text(e, (PolyDType)in->dtype, 1, scalar_name(e, in->src[1]));
  Txt first = scalar_name(e, e->lin->inst[e->strip_loop].src[0]);
  Txt there = edge_gate(e).s[0] ? txt("%s && ", edge_gate(e).s) : no_text();
  line(e, "if (%si%d == %s) p%d[%s] = %s;", there.s, e->strip_loop, first.s, in->param, scalar_name(e, in->src[0]).s,
       x.s);
}

void emit_strip(Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  bool load = in->kind == INST_LOAD, store = in->kind == INST_STORE;
  bool outer = in->kind == INST_UPDATE && in->src[0] < e->strip_loop;
  bool several = in->kind == INST_COMBINE           ? e->vary[in->src[0]]
                 : store || in->kind == INST_UPDATE ? outer || differs(e, in)
                                                    : e->vary[i];
  int gate = load ? in->src[1] : store ? in->src[2] : -1;
  const char *type = load || store ? together_type((PolyDType)in->dtype) : NULL;
  bool together = type && in->stride == 1 && e->strip % TOGETHER == 0 && !(gate >= 0 && e->vary[gate]);
  e->copy = 0;
  if (store && e->lin->neighbours && !e->vary[in->src[0]] && !e->vary[in->src[1]]) { /* neighbours have the same */
    store_once(e, i);
    return;
  }
  if (together && copies_ahead(e, i)) {
    if (store) emit_copy(e, i);
    return;
  }
  if (several && together && load)
    load_together(e, i, type);
  else if (several && together && store)
    store_together(e, i, type);
  else
    for (e->copy = 0; e->copy < (several ? e->strip : 1); e->copy++) emit_scalar(e, i);
  e->copy = 0;
}
