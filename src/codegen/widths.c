/* widths.c: how loops that are marked run. In: a linear kernel whose loops are marked for lanes and threads. Out: on
 * each vector loop the lanes of a register, how many registers an iteration fills (copies), and in how narrow vectors
 * what is left over is done (tail); on each loop of outer lanes the lanes of a register; on a parallel loop how many
 * iterations a thread takes at a time (chunk). Marks that the Target has no use for are taken away. Renderers print
 * what stands there. */
#include "codegen/block.h"

#include "ir/lanes.h"

typedef struct Widths {
  const Target *target;
  Linear *lin;
  Place *at;
} Widths;

static bool is_vector_loop(const Linear *lin, int i) {
  return lin->inst[i].kind == INST_LOOP && (lin->inst[i].flags & LOOP_VECTOR);
}

/* ---- lanes ---- */

static int lane_bytes(const Widths *w, int i) {
  const Inst *in = &w->lin->inst[i];
  bool one =
      in->kind == INST_STORE && !w->at[in->src[0]].vary && !w->at[in->src[1]].vary; /* all lanes store one value */
  if (in->kind == INST_STORE) return one ? 1 : lane_size((PolyDType)in->dtype);
  if (outer_acc(w->lin, w->at, i)) return lane_size((PolyDType)w->lin->inst[in->src[0]].dtype);
  if (!w->at[i].vector) return 1;
  return in->dtype == POLY_BOOL ? w->at[i].mask : lane_size((PolyDType)in->dtype);
}

/* As many lanes as a register has of the widest value. */
static int choose_lanes(const Widths *w, int loop) {
  int widest = w->at[loop].vector ? 8 : 1, lanes = 1;
  for (int i = loop + 1; i < w->at[loop].end; i++) widest = MAX(widest, lane_bytes(w, i));
  while (lanes * 2 * widest <= w->target->vector_bytes && lanes < MAX_LANES) lanes *= 2;
  return lanes;
}

/* Lanes of a register that suit the outer loop and all vector loops in it; 0: there are none. */
static int choose_outer(const Widths *w, int outer) {
  int width = choose_lanes(w, outer), end = w->at[outer].end;
  int64_t h = loop_trips(w->lin, outer), most = w->target->vector_registers / 2;
  for (int i = outer + 1; i < end; i++)
    while (is_vector_loop(w->lin, i) && width > 1 && h * loop_trips(w->lin, i) % width) width /= 2;
  for (int i = outer + 1; i < end && width > 1; i++)
    if (is_vector_loop(w->lin, i) && h * loop_trips(w->lin, i) / width > most) return 0;
  return width > 1 && h > 1 ? width : 0;
}

/* ---- copies ---- */

/* How much of a register file an instruction asks for, roughly. */
static int weight(const Widths *w, int i) {
  const Inst *in = &w->lin->inst[i];
  if (!w->at[i].vector || in->kind == INST_CHECK) return 0;
  return in->kind == INST_ALU ? w->target->registers[op_info[in->op].cost] : 1;
}

/* Copies of the body side by side: they hide latency where iterations depend on each other through accumulators. */
static int most_copies(const Widths *w, int loop, bool *inside) {
  int sum = 0, accs = 0, inner = 0, folds = 0;
  for (int i = loop + 1; i < w->at[loop].end; i++) {
    const Inst *in = &w->lin->inst[i];
    if (in->flags & INST_EXTRA) {
      if (in->kind == INST_LOOP) i = w->at[i].end;
      continue;
    }
    sum += weight(w, i);
    accs += in->kind == INST_ACC && w->at[i].vary;
    inner += in->kind == INST_LOOP;
    folds += outer_acc(w->lin, w->at, i);
  }
  *inside = inner > 0;
  if (inner && accs) return accs == 1 && sum <= 8 ? 8 : accs <= 2 && sum <= 16 ? 4 : sum <= 24 ? 2 : 1;
  if (folds) return sum <= 16 ? 4 : sum <= 32 ? 2 : 1;
  return sum <= 12 ? 2 : 1;
}

static int choose_copies(const Widths *w, int loop, int lanes) {
  bool inner;
  int copies = most_copies(w, loop, &inner);
  int64_t begin, end;
  if (loop_trip(w->lin, loop, &begin, &end)) {
    while (copies > 1 && end - begin < (int64_t)lanes * copies) copies /= 2;
    /* threads share steps: few steps with much in each would leave some idle */
    bool shared = inner && (w->lin->inst[loop].flags & LOOP_PARALLEL);
    while (shared && copies > 2 && end - begin < (int64_t)lanes * copies * 8) copies /= 2;
  }
  return copies;
}

/* ---- threads ---- */

static bool is_loaded(const Linear *lin, int i) {
  const Inst *in = &lin->inst[i];
  if (in->kind != INST_ALU) return in->kind == INST_LOAD;
  for (int k = 0; k < 3; k++)
    if (in->src[k] >= 0 && is_loaded(lin, in->src[k])) return true;
  return false;
}

/* Do iterations of the loop differ in length, because a loop inside has bounds that were loaded? Then threads take rows
 * as they come, a few at a time; every row is computed by one of them, so the result is the same. */
static bool is_ragged(const Widths *w, int loop) {
  for (int i = loop + 1; i < w->at[loop].end; i++)
    if (w->lin->inst[i].kind == INST_LOOP && is_loaded(w->lin, w->lin->inst[i].src[1])) return true;
  return false;
}

/* A loop of lanes around the edges of a row walks them once for each of its steps, and again for what is left over: 40
 * features would be 32 and 8. So it is one step where narrower lanes or an odd number of copies fill it: the sum over
 * neighbours of 40 features took 0.8 of the time (169,343 nodes, 2,315,598 edges). */
static void fit_one_walk(const Widths *w, int loop) {
  Inst *in = &w->lin->inst[loop];
  int64_t trips = loop_trips(w->lin, loop);
  bool inner;
  if (!trips || in->flags & (LOOP_REDUCE | LOOP_PARALLEL | LOOP_JAMMED) || !is_ragged(w, loop)) return;
  int most = most_copies(w, loop, &inner);
  for (int lanes = in->lanes; lanes >= MAX(w->target->least_lanes, in->lanes / 2); lanes /= 2) {
    if (trips % lanes || trips / lanes > most) continue;
    in->lanes = (uint16_t)lanes;
    in->copies = (uint16_t)(trips / lanes);
    return;
  }
}

/* ---- the kernel ---- */

/* Loops of outer lanes first: one whose mark is taken away has plain vector loops inside. */
static bool set_outer(Widths *w) {
  bool removed = false;
  for (int i = 0; i < w->lin->ninst; i++) {
    Inst *in = &w->lin->inst[i];
    if (in->kind != INST_LOOP || !(in->flags & LOOP_OUTER)) continue;
    in->lanes = (uint16_t)choose_outer(w, i);
    if (in->lanes) continue;
    in->flags &= ~(uint32_t)LOOP_OUTER;
    for (int k = i + 1; k < w->at[i].end; k++) /* only outer lanes make one of a vector loop in another */
      if (is_vector_loop(w->lin, k) && w->at[k].inside != i) w->lin->inst[k].flags &= ~(uint32_t)LOOP_VECTOR;
    removed = true;
  }
  return removed;
}

static void set_vector(const Widths *w, int loop) {
  Inst *in = &w->lin->inst[loop];
  int64_t begin, end;
  in->lanes = (uint16_t)choose_lanes(w, loop);
  bool jammed = in->flags & LOOP_JAMMED;
  in->copies = (uint16_t)(jammed ? MAX(loop_trips(w->lin, loop) / in->lanes, 1) : choose_copies(w, loop, in->lanes));
  in->tail = loop_trip(w->lin, loop, &begin, &end) ? (uint16_t)w->target->least_lanes : 1;
  if (in->lanes > 1) fit_one_walk(w, loop);
  if (in->lanes > 1) return;
  in->flags &= ~(uint32_t)LOOP_VECTOR;
  in->lanes = in->copies = in->tail = 0;
}

/* Iterations of unequal length that a thread takes at a time: rows, or fewer of what has much to do, such as the tiles
 * of a product that sums over edges as well: a step of SAGE took 89 ms where 184 of these were taken 64 at a time, and
 * 82 one by one, on two threads. */
static int choose_chunk(const Target *target, const Inst *loop) {
  enum { MOST_WORK = 1 << 20 };
  return (int)MAX(1, MIN(target->threads.chunk, MOST_WORK / MAX(loop->cost, 1)));
}

bool codegen_widths(Arena *arena, const Target *target, Linear *lin) {
  Widths w = {target, lin, lanes_analyse(arena, lin, true)};
  if (!w.at) return false;
  if (set_outer(&w) && !(w.at = lanes_analyse(arena, lin, true))) return false;
  for (int i = 0; i < lin->ninst; i++) {
    Inst *in = &lin->inst[i];
    if (in->kind != INST_LOOP) continue;
    if (in->flags & LOOP_VECTOR && w.at[i].outer < 0) set_vector(&w, i);
    in->flags &= ~(uint32_t)LOOP_JAMMED;
    if (in->flags & LOOP_PARALLEL) in->chunk = is_ragged(&w, i) ? (uint16_t)choose_chunk(target, in) : 0;
  }
  return true;
}
