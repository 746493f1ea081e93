/* vector.c: what a vector loop needs of each instruction in it. In: a kernel whose loops are marked. Out: for each
 * instruction whether it varies from lane to lane, and whether its lanes are needed as a vector, its value at lane 0 as
 * a scalar, or both.
 *
 *   i = LOOP (vector)      vary, base               the loop variable
 *   a = MUL i 4            vary, base               only used as an index with a known stride
 *   x = LOAD p[a]          vary, vector
 *   c = CMPLT i n          vary, vector             from i and n at lane 0, in int32 (affine)
 *   y = WHERE c x 0        vary, vector */
#include "render/emit.h"

static const Inst *source(const Emit *e, const Inst *in, int k) { return &e->lin->inst[in->src[k]]; }

static bool varies(const Emit *e, int i) { return i >= 0 && e->at[i].vary; }

static bool is_wide(const Emit *e, int i) { return i >= 0 && e->at[i].wide; }

static int64_t trips(const Emit *e, int loop) {
  int64_t begin = 0, end = 0;
  return loop_trip(e, loop, &begin, &end) ? end - begin : 0;
}

int64_t lane_stride(const Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  if (!varies(e, in->src[0])) return 0;
  if (e->at[i].outer < 0) return in->stride;
  if (!e->at[i].wide) return in->outer;
  bool known = in->stride != STRIDE_NONE && in->outer != STRIDE_NONE;
  return known && in->outer == in->stride * trips(e, e->at[i].inside) ? in->stride : STRIDE_NONE;
}

bool outer_acc(const Emit *e, int update) {
  return e->lin->inst[update].kind == INST_UPDATE && e->lin->inst[update].src[0] < e->at[update].inside;
}

/* ---- forwards: what varies ---- */

static bool find_vary(Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  switch ((InstKind)in->kind) {
  case INST_ALU:
  case INST_CHECK: return varies(e, in->src[0]) || varies(e, in->src[1]) || varies(e, in->src[2]);
  case INST_LOAD: return lane_stride(e, i) != 0 || varies(e, in->src[1]);
  case INST_ACC: return e->at[i].vary;
  default: return false;
  }
}

static bool find_wide(const Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  switch ((InstKind)in->kind) {
  case INST_ALU:
  case INST_CHECK: return is_wide(e, in->src[0]) || is_wide(e, in->src[1]) || is_wide(e, in->src[2]);
  case INST_LOAD:
    return is_wide(e, in->src[1]) || (is_wide(e, in->src[0]) && (in->stride != 0 || in->outer == STRIDE_NONE));
  case INST_STORE: return e->at[i].inside != e->at[i].outer;
  case INST_UPDATE: return outer_acc(e, i) || is_wide(e, in->src[0]);
  default: return false;
  }
}

/* Inside outer lanes: what differs along the vector loop as well. An accumulator of the outer lanes alone may be
 * updated along the vector loop: then it varies, and its partial results are wide. */
static bool spread_wide(Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  Place *p = &e->at[i];
  bool news = false;
  if (p->outer < 0) return false;
  if (in->kind == INST_UPDATE) {
    Place *acc = &e->at[in->src[0]];
    bool vary = acc->vary || outer_acc(e, i), more = is_wide(e, in->src[1]) || is_wide(e, in->src[2]),
         wide = acc->wide || (!outer_acc(e, i) && more);
    news = vary != acc->vary || wide != acc->wide;
    acc->vary = vary;
    acc->wide = wide;
  }
  if (!p->wide && find_wide(e, i)) p->wide = p->vary = news = true;
  return news;
}

/* To a fixed point: an accumulator varies when what goes into it does, and that may depend on it. */
static void spread_vary(Emit *e, int loop) {
  int end = e->at[loop].end;
  e->at[loop].vary = true;
  for (bool again = true; again;) {
    again = false;
    for (int i = loop + 1; i < end; i++) {
      const Inst *in = &e->lin->inst[i];
      again |= spread_wide(e, i);
      if (in->kind == INST_UPDATE && in->src[0] > loop && (varies(e, in->src[1]) || varies(e, in->src[2])) &&
          !e->at[in->src[0]].vary) {
        e->at[in->src[0]].vary = again = true;
      } else if (!e->at[i].vary && find_vary(e, i)) {
        e->at[i].vary = again = true;
      }
    }
  }
}

/* ---- integers that grow by a constant from lane to lane ---- */

enum { MAX_SLOPE = 1 << 20 };

static bool slope_of(const Emit *e, int i, int64_t *slope) {
  const Place *p = &e->at[i];
  if (e->lin->inst[i].dtype != POLY_INT64) return false;
  *slope = p->vary ? p->slope : 0;
  return !p->vary || p->affine;
}

static void find_slope(Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  Place *p = &e->at[i];
  int64_t a = 0, b = 0;
  if (in->kind != INST_ALU || !p->vary || in->dtype != POLY_INT64) return;
  if (!slope_of(e, in->src[0], &a) || (in->src[1] >= 0 && !slope_of(e, in->src[1], &b))) return;
  bool ok = true;
  switch ((Op)in->op) {
  case OP_ADD: p->slope = a + b; break;
  case OP_SUB: p->slope = a - b; break;
  case OP_NEG: p->slope = -a; break;
  case OP_MUL: {
    const Inst *x = source(e, in, 0), *y = source(e, in, 1);
    const Inst *by = y->kind == INST_CONST ? y : x;
    int64_t k = by == y ? a : b;
    ok = by->kind == INST_CONST && by->arg.i > -MAX_SLOPE && by->arg.i < MAX_SLOPE;
    if (ok) p->slope = k * by->arg.i;
    break;
  }
  default: ok = false; break;
  }
  p->affine = ok && p->slope > -MAX_SLOPE && p->slope < MAX_SLOPE;
}

static void find_affine(Emit *e, int loop) {
  e->at[loop].affine = true;
  e->at[loop].slope = 1;
  for (int i = loop + 1; i < e->at[loop].end; i++) {
    const Inst *in = &e->lin->inst[i];
    Place *p = &e->at[i];
    int64_t a, b;
    find_slope(e, i);
    if (in->kind != INST_ALU || !p->vary) continue;
    if (op_info[in->op].cls == CLASS_COMPARE)
      p->affine_compare = slope_of(e, in->src[0], &a) && slope_of(e, in->src[1], &b);
    if (in->op == OP_CAST && (in->dtype == POLY_INT32 || in->dtype == POLY_UINT32))
      p->affine_cast = e->at[in->src[0]].affine;
  }
}

/* ---- bools: bytes of a lane ---- */

static int mask_bytes(const Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  int bytes = 1;
  if (in->kind != INST_ALU) return 1;
  if (e->at[i].affine_compare) return 4;
  for (int k = 0; k < op_info[in->op].nsrc; k++) {
    if (!varies(e, in->src[k])) continue;
    PolyDType d = (PolyDType)source(e, in, k)->dtype;
    bytes = MAX(bytes, d == POLY_BOOL ? e->at[in->src[k]].mask : elem_size(elem_of(d)));
  }
  return bytes;
}

/* ---- backwards: what is needed ---- */

static bool need(Emit *e, int i, bool vector) {
  if (!varies(e, i)) return false;
  bool *flag = vector ? &e->at[i].vector : &e->at[i].base;
  bool news = !*flag;
  *flag = true;
  return news;
}

static bool need_memory(Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  bool store = in->kind == INST_STORE;
  bool news = need(e, in->src[0], lane_stride(e, i) == STRIDE_NONE);
  news |= need(e, in->src[store ? 2 : 1], true);
  return (store && need(e, in->src[1], true)) || news;
}

static bool need_sources(Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  const Place *p = &e->at[i];
  bool news = false;
  switch ((InstKind)in->kind) {
  case INST_STORE: return need_memory(e, i);
  case INST_UPDATE:
    for (int k = 1; k < 3; k++) {
      if (outer_acc(e, i) || e->at[in->src[0]].vary) news |= need(e, in->src[k], true);
      if (e->at[in->src[0]].base) news |= need(e, in->src[k], false);
    }
    return news;
  case INST_LOAD:
    if (p->vector) news |= need_memory(e, i);
    if (!p->vary) news |= need(e, in->src[0], false);
    break;
  case INST_CHECK:
    if (p->vary) e->at[i].vector = true;
    /* fall through */
  case INST_ALU:
    for (int k = 0; k < 3 && p->vector; k++) news |= need(e, in->src[k], !p->affine_compare && !p->affine_cast);
    break;
  default: return false;
  }
  for (int k = 0; k < 3 && p->base; k++) news |= need(e, in->src[k], false);
  return news;
}

static void analyse_loop(Emit *e, int loop) {
  int end = e->at[loop].end;
  for (int i = loop + 1; i < end; i++)
    if (e->at[loop].outer < 0) e->at[i].inside = loop;
  spread_vary(e, loop);
  if (e->at[loop].outer < 0) find_affine(e, loop);
  for (bool again = true; again;) {
    again = false;
    for (int i = end - 1; i > loop; i--) again |= need_sources(e, i);
  }
  for (int i = loop + 1; i < end; i++) {
    if (e->lin->inst[i].dtype == POLY_BOOL) e->at[i].mask = (uint8_t)mask_bytes(e, i);
  }
}

/* ---- the size of a body ---- */

static int lane_bytes(const Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  const Place *p = &e->at[i];
  int size = elem_size(elem_of((PolyDType)in->dtype));
  if (in->kind == INST_STORE) return size;
  if (outer_acc(e, i)) return elem_size(elem_of((PolyDType)source(e, in, 0)->dtype));
  if (!p->vector) return 1;
  return in->dtype == POLY_BOOL ? p->mask : size;
}

int vector_lanes(const Emit *e, int loop) {
  int widest = e->at[loop].vector ? 8 : 1;
  for (int i = loop + 1; i < e->at[loop].end; i++) widest = MAX(widest, lane_bytes(e, i));
  int lanes = 1;
  while (lanes * 2 * widest <= e->target->vector_bytes && lanes < MAX_LANES) lanes *= 2;
  return lanes;
}

/* How much of a register file an instruction asks for, roughly. */
static int weight(const Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  if (!e->at[i].vector || in->kind == INST_CHECK) return 0;
  return in->kind == INST_ALU ? e->target->registers[op_info[in->op].cost] : 1;
}

/* Copies of the body side by side: they hide latency where iterations depend on each other through accumulators. */
int vector_copies(const Emit *e, int loop, int lanes) {
  int sum = 0, accs = 0, inner = 0, folds = 0, copies = 1;
  for (int i = loop + 1; i < e->at[loop].end; i++) {
    const Inst *in = &e->lin->inst[i];
    if (in->flags & INST_EXTRA) {
      if (in->kind == INST_LOOP) i = e->at[i].end;
      continue;
    }
    sum += weight(e, i);
    accs += in->kind == INST_ACC && e->at[i].vary;
    inner += in->kind == INST_LOOP;
    folds += outer_acc(e, i);
  }
  if (inner && accs)
    copies = accs == 1 && sum <= 8 ? 8 : accs <= 2 && sum <= 16 ? 4 : sum <= 24 ? 2 : 1;
  else if (folds)
    copies = sum <= 16 ? 4 : sum <= 32 ? 2 : 1;
  else
    copies = sum <= 12 ? 2 : 1;
  int64_t begin, end;
  if (loop_trip(e, loop, &begin, &end)) {
    while (copies > 1 && end - begin < (int64_t)lanes * copies) copies /= 2;
    /* threads share steps: few steps with much in each would leave some idle */
    bool shared = inner && (e->lin->inst[loop].flags & LOOP_PARALLEL);
    while (shared && copies > 2 && end - begin < (int64_t)lanes * copies * 8) copies /= 2;
  }
  return copies;
}

/* ---- lanes of two loops ---- */

static bool is_vector_loop(const Emit *e, int i) {
  return e->lin->inst[i].kind == INST_LOOP && (e->lin->inst[i].flags & LOOP_VECTOR);
}

/* Lanes of a register that suit the outer loop and all vector loops in it; 0: there are none. */
static int outer_width(const Emit *e, int outer) {
  int width = vector_lanes(e, outer);
  int64_t h = trips(e, outer), most = e->target->vector_registers / 2;
  for (int i = outer + 1; i < e->at[outer].end; i++)
    while (is_vector_loop(e, i) && width > 1 && h * trips(e, i) % width) width /= 2;
  for (int i = outer + 1; i < e->at[outer].end && width > 1; i++)
    if (is_vector_loop(e, i) && h * trips(e, i) / width > most) return 0;
  return width > 1 && h > 1 ? width : 0;
}

static bool analyse_outer(Emit *e, int outer) {
  int end = e->at[outer].end;
  for (int i = outer; i < end; i++) e->at[i].inside = e->at[i].outer = outer;
  for (int i = outer + 1; i < end; i++) {
    if (!is_vector_loop(e, i)) continue;
    e->at[i].vary = e->at[i].wide = true;
    for (int k = i + 1; k < e->at[i].end; k++) e->at[k].inside = i;
  }
  analyse_loop(e, outer);
  e->at[outer].width = outer_width(e, outer);
  for (int i = outer; i < end && !e->at[outer].width; i++)
    e->at[i] = (Place){.end = e->at[i].end, .inside = -1, .outer = -1};
  return e->at[outer].width > 0;
}

void outer_level(Emit *e, bool wide) {
  int width = e->at[e->outer].width;
  int64_t h = trips(e, e->outer), all = wide ? h * trips(e, e->loop) : h;
  e->wide = wide;
  e->lanes = (int)MIN(all, width);
  e->copies = (int)(all / e->lanes);
}

void vector_analyse(Emit *e) {
  for (int i = 0; i < e->lin->ninst; i++) e->at[i].inside = e->at[i].outer = -1;
  for (int i = 0; i < e->lin->ninst && e->style->vectors; i++) {
    const Inst *in = &e->lin->inst[i];
    bool outer = in->kind == INST_LOOP && (in->flags & LOOP_OUTER) && analyse_outer(e, i);
    if (!outer && !is_vector_loop(e, i)) continue;
    if (!outer) analyse_loop(e, i);
    i = e->at[i].end;
  }
}
