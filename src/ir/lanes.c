/* lanes.c: what a vector loop needs of each instruction in it. In: a kernel whose loops are marked. Out: for each
 * instruction whether it varies from lane to lane, and whether its lanes are needed as a vector, its value at lane 0 as
 * a scalar, or both.
 *
 *   i = LOOP (vector)      vary, base               the loop variable
 *   a = MUL i 4            vary, base               only used as an index with a known stride
 *   x = LOAD p[a]          vary, vector
 *   c = CMPLT i n          vary, vector             from i and n at lane 0, in int32 (affine)
 *   y = WHERE c x 0        vary, vector */
#include "ir/lanes.h"

bool lanes_of_two(const Target *target, const UOp *heads, const UOp *features) {
  if (heads->op != OP_CONST || features->op != OP_CONST || !target->vector_bytes) return false;
  int64_t h = heads->arg.i, d = features->arg.i, most = target->vector_bytes / 4 * (target->vector_registers / 2);
  bool fits = h > 1 && d > 1 && h <= MOST_OUTER_LANES && d <= MOST_WIDE_LANES && h * d <= MIN(MOST_WIDE_LANES, most);
  return fits && is_power_of_two(h) && is_power_of_two(d) && h * d % target->lanes == 0;
}

typedef struct View {
  const Linear *lin;
  Place *at;
} View;

int lane_size(PolyDType d) { return dtype_is_small(d) ? 4 : d == POLY_BOOL ? 1 : dtype_size(d); }

bool loop_trip(const Linear *lin, int loop, int64_t *begin, int64_t *end) {
  const Inst *in = &lin->inst[loop], *b = &lin->inst[in->src[0]], *n = &lin->inst[in->src[1]];
  if (b->kind != INST_CONST || n->kind != INST_CONST) return false;
  *begin = b->arg.i;
  *end = n->arg.i;
  return true;
}

int64_t loop_trips(const Linear *lin, int loop) {
  int64_t begin = 0, end = 0;
  return loop_trip(lin, loop, &begin, &end) ? end - begin : 0;
}

static const Inst *source(const View *v, const Inst *in, int k) { return &v->lin->inst[in->src[k]]; }

static bool varies(const View *v, int i) { return i >= 0 && v->at[i].vary; }

static bool is_wide(const View *v, int i) { return i >= 0 && v->at[i].wide; }

static int64_t stride_of(const View *v, int i) {
  const Inst *in = &v->lin->inst[i];
  if (!varies(v, in->src[0])) return 0;
  if (v->at[i].outer < 0) return in->stride;
  if (!v->at[i].wide) return in->outer;
  bool known = in->stride != STRIDE_NONE && in->outer != STRIDE_NONE;
  return known && in->outer == in->stride * loop_trips(v->lin, v->at[i].inside) ? in->stride : STRIDE_NONE;
}

static bool updates_outer(const View *v, int update) {
  return v->lin->inst[update].kind == INST_UPDATE && v->lin->inst[update].src[0] < v->at[update].inside;
}

/* ---- forwards: what varies ---- */

static bool find_vary(const View *v, int i) {
  const Inst *in = &v->lin->inst[i];
  switch ((InstKind)in->kind) {
  case INST_ALU:
  case INST_CHECK: return varies(v, in->src[0]) || varies(v, in->src[1]) || varies(v, in->src[2]);
  case INST_LOAD: return stride_of(v, i) != 0 || varies(v, in->src[1]);
  case INST_ACC: return v->at[i].vary;
  default: return false;
  }
}

static bool find_wide(const View *v, int i) {
  const Inst *in = &v->lin->inst[i];
  switch ((InstKind)in->kind) {
  case INST_ALU:
  case INST_CHECK: return is_wide(v, in->src[0]) || is_wide(v, in->src[1]) || is_wide(v, in->src[2]);
  case INST_LOAD:
    return is_wide(v, in->src[1]) || (is_wide(v, in->src[0]) && (in->stride != 0 || in->outer == STRIDE_NONE));
  case INST_STORE: /* what belongs to the outer lanes alone is stored by them, once */
    return v->at[i].inside != v->at[i].outer &&
           (in->stride != 0 || is_wide(v, in->src[0]) || is_wide(v, in->src[1]) || is_wide(v, in->src[2]));
  case INST_UPDATE: return updates_outer(v, i) || is_wide(v, in->src[0]);
  default: return false;
  }
}

/* Inside outer lanes: what differs along the vector loop as well. An accumulator of the outer lanes alone may be
 * updated along the vector loop: then it varies, and its partial results are wide. */
static bool spread_wide(const View *v, int i) {
  const Inst *in = &v->lin->inst[i];
  Place *p = &v->at[i];
  bool news = false;
  if (p->outer < 0) return false;
  if (in->kind == INST_UPDATE) {
    Place *acc = &v->at[in->src[0]];
    bool vary = acc->vary || updates_outer(v, i), more = is_wide(v, in->src[1]) || is_wide(v, in->src[2]),
         wide = acc->wide || (!updates_outer(v, i) && more);
    news = vary != acc->vary || wide != acc->wide;
    acc->vary = vary;
    acc->wide = wide;
  }
  if (!p->wide && find_wide(v, i)) p->wide = p->vary = news = true;
  return news;
}

/* To a fixed point: an accumulator varies when what goes into it does, and that may depend on it. */
static void spread_vary(const View *v, int loop) {
  int end = v->at[loop].end;
  v->at[loop].vary = true;
  for (bool again = true; again;) {
    again = false;
    for (int i = loop + 1; i < end; i++) {
      const Inst *in = &v->lin->inst[i];
      again |= spread_wide(v, i);
      if (in->kind == INST_UPDATE && in->src[0] > loop && (varies(v, in->src[1]) || varies(v, in->src[2])) &&
          !v->at[in->src[0]].vary) {
        v->at[in->src[0]].vary = again = true;
      } else if (!v->at[i].vary && find_vary(v, i)) {
        v->at[i].vary = again = true;
      }
    }
  }
}

/* ---- integers that grow by a constant from lane to lane ---- */

enum { MAX_SLOPE = 1 << 20 };

static bool slope_of(const View *v, int i, int64_t *slope) {
  const Place *p = &v->at[i];
  if (v->lin->inst[i].dtype != POLY_INT64) return false;
  *slope = p->vary ? p->slope : 0;
  return !p->vary || p->affine;
}

static void find_slope(const View *v, int i) {
  const Inst *in = &v->lin->inst[i];
  Place *p = &v->at[i];
  int64_t a = 0, b = 0;
  if (in->kind != INST_ALU || !p->vary || in->dtype != POLY_INT64) return;
  if (!slope_of(v, in->src[0], &a) || (in->src[1] >= 0 && !slope_of(v, in->src[1], &b))) return;
  bool ok = true;
  switch ((Op)in->op) {
  case OP_ADD: p->slope = a + b; break;
  case OP_SUB: p->slope = a - b; break;
  case OP_NEG: p->slope = -a; break;
  case OP_MUL: {
    const Inst *x = source(v, in, 0), *y = source(v, in, 1);
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

static void find_affine(const View *v, int loop) {
  v->at[loop].affine = true;
  v->at[loop].slope = 1;
  for (int i = loop + 1; i < v->at[loop].end; i++) {
    const Inst *in = &v->lin->inst[i];
    Place *p = &v->at[i];
    int64_t a, b;
    find_slope(v, i);
    if (in->kind != INST_ALU || !p->vary) continue;
    if (op_info[in->op].cls == CLASS_COMPARE)
      p->affine_compare = slope_of(v, in->src[0], &a) && slope_of(v, in->src[1], &b);
    if (in->op == OP_CAST && (in->dtype == POLY_INT32 || in->dtype == POLY_UINT32))
      p->affine_cast = v->at[in->src[0]].affine;
  }
}

/* ---- bools: bytes of a lane ---- */

static int mask_bytes(const View *v, int i) {
  const Inst *in = &v->lin->inst[i];
  int bytes = 1;
  if (in->kind != INST_ALU) return 1;
  if (v->at[i].affine_compare) return 4;
  for (int k = 0; k < op_info[in->op].nsrc; k++) {
    if (!varies(v, in->src[k])) continue;
    PolyDType d = (PolyDType)source(v, in, k)->dtype;
    bytes = MAX(bytes, d == POLY_BOOL ? v->at[in->src[k]].mask : lane_size(d));
  }
  return bytes;
}

/* ---- backwards: what is needed ---- */

static bool need(const View *v, int i, bool vector) {
  if (!varies(v, i)) return false;
  bool *flag = vector ? &v->at[i].vector : &v->at[i].base;
  bool news = !*flag;
  *flag = true;
  return news;
}

static bool need_memory(const View *v, int i) {
  const Inst *in = &v->lin->inst[i];
  bool store = in->kind == INST_STORE;
  bool news = need(v, in->src[0], stride_of(v, i) == STRIDE_NONE);
  news |= need(v, in->src[store ? 2 : 1], true);
  return (store && need(v, in->src[1], true)) || news;
}

static bool need_sources(const View *v, int i) {
  const Inst *in = &v->lin->inst[i];
  const Place *p = &v->at[i];
  bool news = false;
  switch ((InstKind)in->kind) {
  case INST_STORE: return need_memory(v, i);
  case INST_UPDATE:
    for (int k = 1; k < 3; k++) {
      if (updates_outer(v, i) || v->at[in->src[0]].vary) news |= need(v, in->src[k], true);
      if (v->at[in->src[0]].base) news |= need(v, in->src[k], false);
    }
    return news;
  case INST_LOAD:
    if (p->vector) news |= need_memory(v, i);
    if (!p->vary) news |= need(v, in->src[0], false);
    break;
  case INST_CHECK:
    if (p->vary) v->at[i].vector = true;
    /* fall through */
  case INST_ALU:
    for (int k = 0; k < 3 && p->vector; k++) news |= need(v, in->src[k], !p->affine_compare && !p->affine_cast);
    break;
  default: return false;
  }
  for (int k = 0; k < 3 && p->base; k++) news |= need(v, in->src[k], false);
  return news;
}

static void analyse_loop(const View *v, int loop) {
  int end = v->at[loop].end;
  for (int i = loop + 1; i < end; i++)
    if (v->at[loop].outer < 0) v->at[i].inside = loop;
  spread_vary(v, loop);
  if (v->at[loop].outer < 0) find_affine(v, loop);
  for (bool again = true; again;) {
    again = false;
    for (int i = end - 1; i > loop; i--) again |= need_sources(v, i);
  }
  for (int i = loop + 1; i < end; i++) {
    if (v->lin->inst[i].dtype == POLY_BOOL) v->at[i].mask = (uint8_t)mask_bytes(v, i);
  }
}

/* ---- lanes of two loops ---- */

static bool is_vector_loop(const View *v, int i) {
  return v->lin->inst[i].kind == INST_LOOP && (v->lin->inst[i].flags & LOOP_VECTOR);
}

static void analyse_outer(const View *v, int outer) {
  int end = v->at[outer].end;
  for (int i = outer; i < end; i++) v->at[i].inside = v->at[i].outer = outer;
  for (int i = outer + 1; i < end; i++) {
    if (!is_vector_loop(v, i)) continue;
    v->at[i].vary = v->at[i].wide = true;
    for (int k = i + 1; k < v->at[i].end; k++) v->at[k].inside = i;
  }
  analyse_loop(v, outer);
}

/* ---- the kernel ---- */

Place *lanes_analyse(Arena *arena, const Linear *lin, bool lanes) {
  View v = {lin, arena_new(arena, (size_t)MAX(lin->ninst, 1) * sizeof *v.at)};
  if (!v.at) return NULL;
  for (int i = 0; i < lin->ninst; i++) {
    v.at[i] = (Place){.end = lin->ninst, .inside = -1, .outer = -1};
    if (lin->inst[i].kind == INST_END) v.at[lin->inst[i].src[0]].end = i;
  }
  for (int i = 0; i < lin->ninst && lanes; i++) {
    bool outer = lin->inst[i].kind == INST_LOOP && (lin->inst[i].flags & LOOP_OUTER);
    if (!outer && !is_vector_loop(&v, i)) continue;
    if (outer)
      analyse_outer(&v, i);
    else
      analyse_loop(&v, i);
    i = v.at[i].end;
  }
  return v.at;
}

int64_t lane_stride(const Linear *lin, const Place *at, int i) {
  return stride_of(&(View){lin, (Place *)(uintptr_t)at}, i);
}

bool outer_acc(const Linear *lin, const Place *at, int update) {
  return updates_outer(&(View){lin, (Place *)(uintptr_t)at}, update);
}
