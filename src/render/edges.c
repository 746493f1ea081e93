/* edges.c: several edges of a row at a time, where the iterations of its loop end with a sum of neighbouring threads.
 * In: such a loop. Out: text in which the loads of four iterations are under way together, then come their sums:
 *
 *   for e: x = g[dst[e]]; dot = x . h of all neighbours; t[e] = f(dot)
 *
 *   for b in steps of 4: x0 = g[dst[e0]], x1 = ..; dot0 = x0 . h, ..; exchange dot0, dot1 ..; t[e0] = f(dot0); ..
 *
 * The compiler does not move loads over the exchange, so that each edge would wait for memory by itself. In the place
 * of an edge that is not there the first one is loaded again, and nothing is added or stored. All threads of a warp
 * take equally many turns (Linear), though the edges of a row are shared among some of them. */
#include "render/emit.h"

enum { EDGES = 4 };

#include <stdlib.h>

static bool chain(const Emit *e, int from, int i, int depth, bool *edge) {
  const Inst *in = &e->lin->inst[i];
  if (i < from || in->kind == INST_CONST) return true;
  if (in->kind == INST_LOOP) *edge = true;
  if (in->kind == INST_LOOP) return !(in->flags & LOOP_ACROSS);
  if (in->kind != INST_ALU || !depth) return false;
  for (int k = 0; k < 3; k++)
    if (in->src[k] >= 0 && !chain(e, from, in->src[k], depth - 1, edge)) return false;
  return true;
}

/* Does each iteration of a loop over edges read elements that no other one does? */
bool read_once(const Emit *e, int i) {
  if (!getenv("TRY_CS") || atoi(getenv("TRY_CS")) < 1 || !e->style->tensor) return false;
  int from = -1;
  for (int k = 0; k < i && from < 0; k++)
    if (e->lin->inst[k].kind == INST_LOOP && e->lin->inst[k].flags & LOOP_REDUCE && e->at[k].end > i) from = k;
  if (e->lin->inst[i].param >= linear_nargs(e->lin)) return false;
  bool edge = false, open = false;
  for (int k = 0; k < i; k++)
    if (e->lin->inst[k].kind == INST_LOOP && e->lin->inst[k].flags & LOOP_REDUCE && e->at[k].end > i)
      open |= !loop_trips(e->lin, k);
  return from >= 0 && open && dtype_size((PolyDType)e->lin->inst[i].dtype) == 4 &&
         chain(e, from, e->lin->inst[i].src[0], 12, &edge) && edge;
}

bool store_past(const Emit *e) {
  if (!getenv("TRY_CS") || atoi(getenv("TRY_CS")) < 2 || !e->style->tensor) return false;
  for (int k = 0; k < e->lin->ninst; k++)
    if (e->lin->inst[k].kind == INST_LOOP && e->lin->inst[k].flags & LOOP_REDUCE && !loop_trips(e->lin, k)) return true;
  return false;
}

/* Where an instruction of the body stands: before the sums of neighbours, in them, or behind. */
typedef enum Stage { STAGE_LOADS, STAGE_SUMS, STAGE_REST } Stage;

static int next_of(const Emit *e, int i) { return e->lin->inst[i].kind == INST_LOOP ? e->at[i].end + 1 : i + 1; }

/* Notes the stages of the body's instructions; those inside a sum have none. */
static void find_stages(Emit *e, int loop) {
  for (int i = loop + 1; i < e->at[loop].end; i = next_of(e, i)) {
    const Inst *in = &e->lin->inst[i];
    e->stage[i] = STAGE_LOADS;
    if (in->kind == INST_LOOP || in->kind == INST_ACC) e->stage[i] = STAGE_SUMS;
    if (in->kind == INST_UPDATE || in->kind == INST_STORE) e->stage[i] = STAGE_REST;
    for (int k = 0; k < 3 && e->stage[i] == STAGE_LOADS; k++)
      if (in->src[k] > loop && e->stage[in->src[k]] != STAGE_LOADS) e->stage[i] = STAGE_REST;
  }
}

/* Does all that a sum of neighbours reads stand before it? */
static bool reads_loads(const Emit *e, int loop, int sum) {
  for (int i = sum + 1; i < e->at[sum].end; i++)
    for (int k = 0; k < 3; k++) {
      int s = e->lin->inst[i].src[k];
      if (s > loop && s < sum && e->lin->inst[s].kind != INST_ACC && e->stage[s] != STAGE_LOADS) return false;
    }
  return true;
}

/* Does an instruction read what the loop writes? */
static bool reads_written(const Emit *e, int loop) {
  for (int i = loop + 1; i < e->at[loop].end; i++) {
    const Inst *in = &e->lin->inst[i];
    if (in->kind == INST_LOAD && e->lin->param[in->param].written) return true;
  }
  return false;
}

/* Is the value the same for all threads of a warp that has one row? It depends on the row and on loops inside. */
static bool of_row(const Emit *e, int loop, int i, int depth) {
  const Inst *in = &e->lin->inst[i];
  if (in->kind == INST_CONST || in->kind == INST_VAR) return true;
  if (in->kind == INST_LOOP) {
    for (int k = 0; k < i; k++)
      if (in->flags & LOOP_PARALLEL && e->lin->inst[k].kind == INST_LOOP && e->lin->inst[k].flags & LOOP_PARALLEL)
        return false;
    return !(in->flags & LOOP_ACROSS);
  }
  if (!depth || (in->kind != INST_ALU && (in->kind != INST_LOAD || i > loop))) return false;
  for (int k = 0; k < 3; k++)
    if (in->src[k] >= 0 && !of_row(e, loop, in->src[k], depth - 1)) return false;
  return true;
}

/* Does i load a number of each edge, which threads of a warp can load for each other? */
static bool is_number(const Emit *e, int loop, int i) {
  const Inst *in = &e->lin->inst[i];
  return in->kind == INST_LOAD && in->dtype == POLY_INT32 && in->src[1] < 0 && of_row(e, loop, in->src[0], 16) &&
         in->param < linear_nargs(e->lin);
}

static bool has_numbers(const Emit *e, int loop) {
  if (!e->lin->warp_row || e->lin->group > 1 || !e->style->tensor || !getenv("TRY_COOP")) return false;
  for (int i = loop + 1; i < e->at[loop].end; i = next_of(e, i))
    if (is_number(e, loop, i)) return true;
  return false;
}

static int plain_edges(const Emit *e, int loop) {
  if (has_numbers(e, loop) && e->vary && e->lin->inst[loop].flags & LOOP_REDUCE) {
    for (int i = loop + 1; i < e->at[loop].end; i++)
      if (e->lin->inst[i].kind == INST_STORE || e->lin->inst[i].kind == INST_LOOP) return 0;
    return is_heavy(e, loop) ? 0 : loop_trips(e->lin, loop) ? 8 : 4;
  }
  return 0;
}

static int edges_of(const Emit *e, int loop) {
  int n = plain_edges(e, loop);
  return (n ? n : EDGES) / (e->strip > 4 ? 2 : 1);
}

static bool can_stage(Emit *e, int loop) {
  const Inst *in = &e->lin->inst[loop];
  bool any = plain_edges(e, loop);
  if (e->edges || in->strip > 1 || in->flags & (LOOP_ONCE | LOOP_IF | LOOP_PARALLEL | LOOP_ACROSS)) return false;
  if (reads_written(e, loop)) return false;
  find_stages(e, loop);
  for (int i = loop + 1; i < e->at[loop].end; i = next_of(e, i)) {
    InstKind kind = (InstKind)e->lin->inst[i].kind;
    if (kind == INST_LOOP && (!(e->lin->inst[i].flags & LOOP_ACROSS) || !reads_loads(e, loop, i))) return false;
    if (kind == INST_COMBINE || kind == INST_FENCE) return false;
    any |= kind == INST_LOOP;
  }
  return any;
}

/* The iterations of a turn, by name; those that are not there are the first one. */
static void open_turn(Emit *e, int loop, int step, bool whole) {
  const Inst *in = &e->lin->inst[loop];
  Txt type = scalar_type(e, (PolyDType)in->dtype), begin = scalar_name(e, in->src[0]), end = scalar_name(e, in->src[1]);
  if (e->numbers)
    line(e, "for (%s b%d = a%d; b%d < %s && b%d < a%d + WARP; b%d += %d) {", type.s, loop, loop, loop, end.s, loop,
         loop, loop, e->nedges);
  else
    line(e, "for (%s b%d = %s; b%d < %s; b%d += %d) {", type.s, loop, begin.s, loop, end.s, loop, e->nedges * step);
  e->indent++;
  for (e->edge = 0; e->edge < e->nedges; e->edge++) {
    Txt at = txt("b%d%s + %d", loop, step > 1 ? " + thread" : "", e->edge * step), name = scalar_name(e, loop);
    if (!whole) line(e, "const bool t%d_%d = %s < %s;", loop, e->edge, at.s, end.s);
    if (!whole) at = txt("t%d_%d ? %s : %s", loop, e->edge, at.s, begin.s);
    line(e, "const %s %s = %s;", type.s, name.s, at.s);
  }
}

/* A warp loads what its next edges need, each thread for one of them. */
static void open_numbers(Emit *e, int loop, bool whole) {
  const Inst *in = &e->lin->inst[loop];
  Txt type = scalar_type(e, (PolyDType)in->dtype), begin = scalar_name(e, in->src[0]), end = scalar_name(e, in->src[1]);
  line(e, "for (%s a%d = %s; a%d < %s; a%d += WARP) {", type.s, loop, begin.s, loop, end.s, loop);
  e->indent++;
  e->edge = e->nedges;
  Txt at = txt("a%d + THREAD %% WARP", loop), name = scalar_name(e, loop);
  line(e, "const %s %s = %s < %s ? %s : %s;", type.s, name.s, at.s, end.s, at.s, begin.s);
  for (int i = loop + 1; i < e->at[loop].end; i = next_of(e, i)) {
    const Inst *x = &e->lin->inst[i];
    if (e->stage[i] == STAGE_LOADS && !e->vary[i] &&
        ((x->kind == INST_ALU && of_row(e, loop, i, 16)) || is_number(e, loop, i)))
      emit_inner(e, i);
  }
  (void)whole;
}

static void emit_stage(Emit *e, int loop, Stage stage) {
  for (int i = loop + 1; i < e->at[loop].end; i = next_of(e, i)) {
    if (e->stage[i] != (uint8_t)stage) continue;
    if (e->lin->inst[i].kind == INST_LOOP)
      across_terms(e, i);
    else if (e->numbers && is_number(e, loop, i)) {
      int k = e->edge;
      Txt to = scalar_name(e, i);
      e->edge = e->nedges;
      line(e, "const int32_t %s = PICK(%s, b%d - a%d + %d);", to.s, scalar_name(e, i).s, loop, loop, k);
      e->edge = k;
    } else
      emit_inner(e, i);
  }
}

/* Is the iteration there that is being written? Empty: they all are. */
Txt edge_gate(const Emit *e) { return e->edges_end ? txt("t%d_%d", e->edges, e->edge) : no_text(); }

bool emit_edges(Emit *e, int loop) {
  const Linear *l = e->lin;
  if (!can_stage(e, loop)) return false;
  bool shared = l->group > 1 && l->inst[loop].flags & LOOP_GROUP, outer = e->group;
  int step = shared ? l->group : 1;
  int64_t trips = loop_trips(l, loop);
  e->nedges = edges_of(e, loop);
  bool whole = trips > 0 && trips % (e->nedges * step) == 0;
  e->edges = loop;
  e->edges_end = !whole;
  e->group = outer || shared;
  e->numbers = e->vary && has_numbers(e, loop);
  if (e->numbers) open_numbers(e, loop, whole);
  open_turn(e, loop, step, whole);
  for (e->edge = 0; e->edge < e->nedges; e->edge++) emit_stage(e, loop, STAGE_LOADS);
  for (e->edge = 0; e->edge < e->nedges; e->edge++) emit_stage(e, loop, STAGE_SUMS);
  for (int i = loop + 1; i < e->at[loop].end; i = next_of(e, i))
    for (e->edge = 0; l->inst[i].kind == INST_LOOP && e->edge < e->nedges; e->edge++) across_sums(e, i);
  for (e->edge = 0; e->edge < e->nedges; e->edge++) emit_stage(e, loop, STAGE_REST);
  e->group = outer;
  e->edges = 0;
  e->edges_end = false;
  for (int k = e->numbers ? 2 : 1; k > 0; k--) {
    e->indent--;
    line(e, "}");
  }
  e->numbers = false;
  return true;
}
