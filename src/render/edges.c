/* edges.c: loops over the edges of a row of which several iterations are written side by side, for dialects with grids.
 * In: a loop. Out: text in which the loads of some iterations are under way together.
 *
 * Sums of neighbouring threads (LOOP_ACROSS) stand between loads and what is made of them:
 *
 *   for e: x = g[dst[e]]; dot = x . h of all neighbours; t[e] = f(dot)
 *
 *   for b in steps of 4: x0 = g[dst[e0]], x1 = ..; dot0 = x0 . h, ..; exchange dot0, dot1 ..; t[e0] = f(dot0); ..
 *
 * The compiler does not move loads over the exchange, so that each edge would wait for memory by itself.
 *
 * Where a warp has one row, each of its threads loads the numbers of another edge, which are handed round: one load
 * for 32 edges, and rows of the next ones are found without waiting for it again.
 *
 * In the place of an edge that is not there the first one is loaded again, and nothing is added or stored. The threads
 * of a warp that exchange anything take equally many turns (Linear). */
#include "render/emit.h"

/* Edges side by side, as many as registers hold: fewer in long strips, more in the blocks of a long sum, which are all
 * there. Of 2 and 4, with sums of neighbours, steps of GAT and TransformerConv were faster with 4, by 2 to 5 % (H200).
 */
enum { EDGES = 4, BLOCK_EDGES = 8, STRIP = 4, DEEP = 16 };

/* Where an instruction of the body stands: before the sums of neighbours, in them, or behind. */
typedef enum Stage { STAGE_LOADS, STAGE_SUMS, STAGE_REST } Stage;

static int next_of(const Emit *e, int i) { return e->lin->inst[i].kind == INST_LOOP ? e->at[i].end + 1 : i + 1; }

/* Notes the stages of the body's instructions; those inside a sum have none. */
static void find_stages(Emit *e, int loop) {
  for (int i = loop + 1; i < e->at[loop].end; i = next_of(e, i)) {
    const Inst *in = &e->lin->inst[i];
    e->edge_stage[i] = STAGE_LOADS;
    if (in->kind == INST_LOOP || in->kind == INST_ACC) e->edge_stage[i] = STAGE_SUMS;
    if (in->kind == INST_UPDATE || in->kind == INST_STORE) e->edge_stage[i] = STAGE_REST;
    for (int k = 0; k < 3 && e->edge_stage[i] == STAGE_LOADS; k++)
      if (in->src[k] > loop && e->edge_stage[in->src[k]] != STAGE_LOADS) e->edge_stage[i] = STAGE_REST;
  }
}

/* Does all that a sum of neighbours reads stand before it? */
static bool reads_loads(const Emit *e, int loop, int sum) {
  for (int i = sum + 1; i < e->at[sum].end; i++)
    for (int k = 0; k < 3; k++) {
      int s = e->lin->inst[i].src[k];
      if (s > loop && s < sum && e->lin->inst[s].kind != INST_ACC && e->edge_stage[s] != STAGE_LOADS) return false;
    }
  return true;
}

/* Does an instruction read what the kernel writes? */
static bool reads_written(const Emit *e, int loop) {
  for (int i = loop + 1; i < e->at[loop].end; i++) {
    const Inst *in = &e->lin->inst[i];
    if (in->kind == INST_LOAD && e->lin->param[in->param].written) return true;
  }
  return false;
}

/* ---- numbers that a warp loads together ---- */

/* The outermost loop of the grid: its iterations are rows. */
static bool is_rows(const Emit *e, int loop) {
  for (int k = 0; k < loop; k++)
    if (e->lin->inst[k].kind == INST_LOOP && e->lin->inst[k].flags & LOOP_PARALLEL) return false;
  return e->lin->inst[loop].flags & LOOP_PARALLEL;
}

/* Is the value the same for all threads that have the row and the edge? */
static bool is_of_edge(const Emit *e, int loop, int i, int depth) {
  const Inst *in = &e->lin->inst[i];
  if (in->kind == INST_CONST || in->kind == INST_VAR) return true;
  if (in->kind == INST_LOOP) return (in->flags & LOOP_REDUCE && !(in->flags & LOOP_ACROSS)) || is_rows(e, i);
  if (!depth || (in->kind != INST_ALU && (in->kind != INST_LOAD || i > loop))) return false;
  for (int k = 0; k < 3; k++)
    if (in->src[k] >= 0 && !is_of_edge(e, loop, in->src[k], depth - 1)) return false;
  return true;
}

static bool is_number(const Emit *e, int loop, int i) {
  const Inst *in = &e->lin->inst[i];
  return in->kind == INST_LOAD && in->dtype == POLY_INT32 && in->src[1] < 0 && in->param < linear_nargs(e->lin) &&
         is_of_edge(e, loop, in->src[0], DEEP);
}

/* Not in plain sums of gathered rows: those of 128 features took 0.188 rather than 0.172 ms on an H200. */
static bool has_numbers(const Emit *e, int loop) {
  bool any = false;
  int loads = 0;
  if (!e->vary || !e->lin->warp_row || e->lin->group > 1 || !(e->lin->inst[loop].flags & LOOP_REDUCE)) return false;
  for (int i = loop + 1; i < e->at[loop].end; i = next_of(e, i)) {
    bool number = is_number(e, loop, i);
    any |= number;
    loads += !number && e->lin->inst[i].kind == INST_LOAD;
  }
  return any && loads > 1;
}

/* Each thread loads the numbers of one of the next edges: they have the names of an edge behind the last. */
static void open_numbers(Emit *e, int loop) {
  const Inst *in = &e->lin->inst[loop];
  Txt type = scalar_type(e, (PolyDType)in->dtype), begin = scalar_name(e, in->src[0]), end = scalar_name(e, in->src[1]);
  line(e, "for (%s a%d = %s; a%d < %s; a%d += WARP) {", type.s, loop, begin.s, loop, end.s, loop);
  e->indent++;
  line(e, "const %s c%d = a%d + WARP < %s ? a%d + WARP : %s;", type.s, loop, loop, end.s, loop, end.s);
  e->edge = e->nedges;
  Txt at = txt("a%d + THREAD %% WARP", loop);
  line(e, "const %s %s = %s < %s ? %s : %s;", type.s, scalar_name(e, loop).s, at.s, end.s, at.s, begin.s);
  for (int i = loop + 1; i < e->at[loop].end; i = next_of(e, i)) {
    bool index = e->lin->inst[i].kind == INST_ALU && is_of_edge(e, loop, i, DEEP);
    if (!e->vary[i] && (index || is_number(e, loop, i))) emit_inner(e, i);
  }
}

static void pick_number(Emit *e, int loop, int i) {
  int edge = e->edge;
  Txt to = scalar_name(e, i);
  e->edge = e->nedges;
  line(e, "const int32_t %s = PICK(%s, b%d - a%d + %d);", to.s, scalar_name(e, i).s, loop, loop, edge);
  e->edge = edge;
}

/* ---- iterations side by side ---- */

/* Nothing but values and sums in it, and their work is loading? */
static bool is_plain(const Emit *e, int loop) {
  for (int i = loop + 1; i < e->at[loop].end; i++)
    if (e->lin->inst[i].kind == INST_STORE || e->lin->inst[i].kind == INST_LOOP) return false;
  return !is_heavy(e, loop);
}

static bool can_stage(Emit *e, int loop) {
  const Inst *in = &e->lin->inst[loop];
  bool any = has_numbers(e, loop) && is_plain(e, loop);
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

/* Without an exchange the compiler itself can write a loop out, and needs no edge in the place of one that is not
 * there. */
static int edges_of(const Emit *e, int loop, bool block) {
  bool wide = e->strip > STRIP, plain = is_plain(e, loop);
  return plain && !block ? 1 : plain && !wide ? BLOCK_EDGES : plain || !wide ? EDGES : EDGES / 2;
}

/* The iterations of a turn, by name; those that are not there are the first one. */
static void open_turn(Emit *e, int loop, int step) {
  const Inst *in = &e->lin->inst[loop];
  Txt type = scalar_type(e, (PolyDType)in->dtype), begin = scalar_name(e, in->src[0]), end = scalar_name(e, in->src[1]);
  Txt from = e->numbers ? txt("a%d", loop) : begin, to = e->numbers ? txt("c%d", loop) : end;
  if (e->nedges == 1) line(e, "UNROLL_STRIP");
  line(e, "for (%s b%d = %s; b%d < %s; b%d += %d) {", type.s, loop, from.s, loop, to.s, loop, e->nedges * step);
  e->indent++;
  for (e->edge = 0; e->edge < e->nedges; e->edge++) {
    Txt at = txt("b%d%s + %d", loop, step > 1 ? " + thread" : "", e->edge * step), gate = edge_gate(e);
    if (gate.s[0]) line(e, "const bool %s = %s < %s;", gate.s, at.s, end.s);
    if (gate.s[0]) at = txt("%s ? %s : %s", gate.s, at.s, begin.s);
    line(e, "const %s %s = %s;", type.s, scalar_name(e, loop).s, at.s);
  }
}

static void edges_of_stage(Emit *e, int loop, Stage stage) {
  for (int i = loop + 1; i < e->at[loop].end; i = next_of(e, i)) {
    if (e->edge_stage[i] != (uint8_t)stage) continue;
    if (e->lin->inst[i].kind == INST_LOOP)
      across_terms(e, i);
    else if (e->numbers && is_number(e, loop, i))
      pick_number(e, loop, i);
    else
      emit_inner(e, i);
  }
}

static void emit_exchange(Emit *e, int loop) {
  for (int i = loop + 1; i < e->at[loop].end; i = next_of(e, i))
    for (e->edge = 0; e->lin->inst[i].kind == INST_LOOP && e->edge < e->nedges; e->edge++) across_sums(e, i);
}

Txt edge_gate(const Emit *e) { return e->edges_end ? txt("t%d_%d", e->edges, e->edge) : no_text(); }

bool emit_edges(Emit *e, int loop) {
  const Linear *l = e->lin;
  if (!can_stage(e, loop)) return false;
  bool shared = l->group > 1 && l->inst[loop].flags & LOOP_GROUP, outer = e->group;
  int step = shared ? l->group : 1;
  int64_t trips = loop_trips(l, loop);
  e->numbers = has_numbers(e, loop);
  e->nedges = edges_of(e, loop, trips > 0);
  e->edges = loop;
  e->edges_end = (e->nedges > 1 || step > 1) && (trips <= 0 || trips % (e->nedges * step));
  e->group = outer || shared;
  if (e->numbers) open_numbers(e, loop);
  open_turn(e, loop, step);
  for (Stage s = STAGE_LOADS; s <= STAGE_REST; s++) {
    for (e->edge = 0; e->edge < e->nedges; e->edge++) edges_of_stage(e, loop, s);
    if (s == STAGE_SUMS) emit_exchange(e, loop);
  }
  for (int k = 0; k < (e->numbers ? 2 : 1); k++) {
    e->indent--;
    line(e, "}");
  }
  e->group = outer;
  e->edges = 0;
  e->edges_end = e->numbers = false;
  return true;
}
