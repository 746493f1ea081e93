/* vecloop.c: writes a vector loop with GNU vector types. In: a loop with its widths, and what ir/lanes.c
 * says of its instructions. Out: its body several
 * times: in steps of lanes*copies, then of lanes, then (constant trip count) once each for half as many lanes and so
 * on, then for single iterations. Values that vary are vectors, one for each copy: v12_0, v12_1; all others stay
 * scalars, and an index with a known stride is a scalar at the first lane of the first copy.
 *
 * A reduction along the loop has one vector of partial results a copy; they are combined in a fixed order behind the
 * loop, so that a result depends on sizes alone, never on threads. */
#include "render/emit.h"

enum { TURNED = 4 }; /* stores that are one: see store_turned */

static Txt vector_type(Emit *e, int i) {
  PolyDType d = (PolyDType)e->lin->inst[i].dtype;
  return type_name(e->help, d == POLY_BOOL ? elem_signed(e->at[i].mask ? e->at[i].mask : 1) : elem_of(d), e->lanes);
}

/* ---- memory ---- */

/* " + v3 + 16": where the first lane of a copy is. */
static Txt lane_pointer(Emit *e, const Inst *in, int64_t stride, int copy) {
  int64_t off = stride * e->lanes * copy;
  if (stride == -1) off -= e->lanes - 1;
  Txt at = txt("p%d + %s", in->param, scalar_name(e, in->src[0]).s);
  return off ? txt("%s %c %lld", at.s, off < 0 ? '-' : '+', (long long)(off < 0 ? -off : off)) : at;
}

static Txt call(Emit *e, const char *name, Elem el) { return helper(e->help, name, el, e->lanes); }

static Txt load_lanes(Emit *e, int i, int copy) {
  const Inst *in = &e->lin->inst[i];
  PolyDType d = (PolyDType)in->dtype;
  Elem el = elem_memory(d);
  int64_t stride = lane_stride(e->lin, e->at, i);
  int gate = in->src[1];
  bool masked = gate >= 0 && e->at[gate].vary;
  Txt x;
  if (stride == STRIDE_NONE) {
    Txt index = vector_name(e, in->src[0], copy);
    if (masked)
      x = txt("%s(p%d, %s, %s)", call(e, "gather_if", el).s, in->param, index.s,
              vector_mask(e, gate, copy, elem_size(el)).s);
    else
      x = txt("%s(p%d, %s)", call(e, "gather", el).s, in->param, index.s);
  } else if (masked) {
    Txt p = txt("p%d + %s + %lld", in->param, scalar_name(e, in->src[0]).s, (long long)(stride * e->lanes * copy));
    x = txt("%s(%s, %lld, %s)", call(e, "load_if", el).s, p.s, (long long)stride,
            vector_mask(e, gate, copy, elem_size(el)).s);
  } else {
    Txt p = lane_pointer(e, in, stride, copy);
    if (stride == 1)
      x = txt("%s(%s)", call(e, "load", el).s, p.s);
    else if (stride == -1)
      x = txt("%s(%s(%s))", call(e, "reverse", el).s, call(e, "load", el).s, p.s);
    else
      x = txt("%s(%s, %lld)", call(e, "load_step", el).s, p.s, (long long)stride);
  }
  if (gate >= 0 && !masked)
    x = txt("%s ? %s : (%s){0}", scalar_name(e, gate).s, x.s, type_name(e->help, el, e->lanes).s);
  if (gate >= 0 && d == POLY_BOOL) x = txt("(%s)", x.s);
  return load_text(e, d, e->lanes, x);
}

/* Lines of memory of what all copies will read soon after. */
static void load_ahead(Emit *e, int i) {
  enum { LINE = 64 };
  const Inst *in = &e->lin->inst[i];
  int64_t size = dtype_size((PolyDType)in->dtype), n = size * e->lanes * e->copies;
  if (!in->ahead || lane_stride(e->lin, e->at, i) != 1) return;
  for (int64_t at = 0; at < n; at += LINE)
    line(e, "__builtin_prefetch(p%d + %s + %lld);", in->param, scalar_name(e, in->src[0]).s,
         (long long)(in->ahead + at / size));
}

static Txt stored_value(Emit *e, const Inst *in, int copy) {
  PolyDType d = (PolyDType)in->dtype;
  Txt v = d == POLY_BOOL ? vector_mask(e, in->src[1], copy, 1) : vector_name(e, in->src[1], copy);
  return store_text(e, d, e->lanes, v);
}

static void store_lanes(Emit *e, int i, int copy) {
  const Inst *in = &e->lin->inst[i];
  PolyDType d = (PolyDType)in->dtype;
  Elem el = elem_memory(d);
  int64_t stride = lane_stride(e->lin, e->at, i);
  int gate = in->src[2];
  bool masked = gate >= 0 && e->at[gate].vary;
  Txt v = stored_value(e, in, copy);
  Txt m = masked ? txt(", %s", vector_mask(e, gate, copy, elem_size(el)).s) : no_text();
  Txt guard = gate >= 0 && !masked ? txt("if (%s) ", scalar_name(e, gate).s) : no_text();
  if (stride == STRIDE_NONE) {
    line(e, "%s%s(p%d, %s, %s%s);", guard.s, call(e, masked ? "scatter_if" : "scatter", el).s, in->param,
         vector_name(e, in->src[0], copy).s, v.s, m.s);
  } else if (stride == 1 && !masked) {
    line(e, "%s%s(%s, %s);", guard.s, call(e, "store", el).s, lane_pointer(e, in, stride, copy).s, v.s);
  } else if (stride == -1 && !masked) {
    line(e, "%s%s(%s, %s(%s));", guard.s, call(e, "store", el).s, lane_pointer(e, in, stride, copy).s,
         call(e, "reverse", el).s, v.s);
  } else {
    line(e, "%s%s(p%d + %s + %lld, %lld, %s%s);", guard.s, call(e, masked ? "store_if" : "store_step", el).s, in->param,
         scalar_name(e, in->src[0]).s, (long long)(stride * e->lanes * copy), (long long)stride, v.s, m.s);
  }
}

/* Are `first` and the three instructions behind it stores at neighbouring places, in lanes that are further apart? */
static bool stores_turned(const Emit *e, int first) {
  const Linear *lin = e->lin;
  if (first < 0 || first + TURNED > lin->ninst || e->lanes < TURNED) return false;
  const Inst *in = &lin->inst[first];
  int64_t stride = lane_stride(lin, e->at, first);
  if (stride == STRIDE_NONE || stride < TURNED) return false;
  for (int k = 0; k < TURNED; k++) {
    const Inst *s = &in[k], *at = &lin->inst[s->src[0]];
    if (s->kind != INST_STORE || s->param != in->param || s->src[2] >= 0) return false;
    if (!e->at[s->src[1]].vary || lane_stride(lin, e->at, first + k) != stride) return false;
    if (k && (at->kind != INST_ALU || at->op != OP_ADD || at->src[0] != in->src[0])) return false;
    if (k && (lin->inst[at->src[1]].kind != INST_CONST || lin->inst[at->src[1]].arg.i != k)) return false;
  }
  return true;
}

/* A store that is one of four such: all four, in place of the first. */
static bool store_turned(Emit *e, int i, int copy) {
  int first = i;
  while (first > i - TURNED && !stores_turned(e, first)) first--;
  if (first == i - TURNED) return false;
  if (first < i) return true;
  const Inst *in = &e->lin->inst[i];
  int64_t stride = lane_stride(e->lin, e->at, i);
  Txt v[TURNED];
  for (int k = 0; k < TURNED; k++) v[k] = stored_value(e, &in[k], copy);
  const char *name = e->lanes > 16 ? "store_turned_wide" : "store_turned";
  line(e, "%s(p%d + %s + %lld, %lld, %s, %s, %s, %s);", call(e, name, elem_memory((PolyDType)in->dtype)).s, in->param,
       scalar_name(e, in->src[0]).s, (long long)(stride * e->lanes * copy), (long long)stride, v[0].s, v[1].s, v[2].s,
       v[3].s);
  return true;
}

/* ---- values ---- */

static Txt lane_of(Emit *e, int i, int copy) {
  if (i < 0) return no_text();
  if (!e->at[i].vary) return scalar_name(e, i);
  Txt x = txt("%s[l]", lanes_name(e, i, copy).s);
  return e->lin->inst[i].dtype == POLY_BOOL ? txt("(%s != 0)", x.s) : x;
}

/* An op that has no vector form: a short loop over the lanes. */
static void alu_by_lane(Emit *e, int i, int copy) {
  const Inst *in = &e->lin->inst[i];
  Txt src[3];
  for (int k = 0; k < 3; k++) src[k] = lane_of(e, in->src[k], copy);
  Txt x = alu_scalar(e, i, src);
  if (in->dtype == POLY_BOOL) x = txt("-(_Bool)(%s)", x.s);
  line(e, "%s v%d_%d;", vector_type(e, i).s, i, copy);
  line(e, "for (int l = 0; l < %d; l++) v%d_%d[l] = %s;", e->lanes, i, copy, x.s);
}

static void alu_lanes(Emit *e, int i, int copy) {
  Txt x = alu_vector(e, i, copy);
  if (x.s[0])
    line(e, "const %s v%d_%d = %s;", vector_type(e, i).s, i, copy, x.s);
  else
    alu_by_lane(e, i, copy);
}

static void check_lanes(Emit *e, int i, int copy) {
  const Inst *in = &e->lin->inst[i];
  Txt gate = in->src[2] >= 0 ? vector_mask(e, in->src[2], copy, 8) : txt("%s(-1)", call(e, "of", ELEM_I64).s);
  line(e, "const %s v%d_%d = %s(%s, %s, %s, err);", vector_type(e, i).s, i, copy, call(e, "check", ELEM_I64).s,
       vector_name(e, in->src[0], copy).s, vector_name(e, in->src[1], copy).s, gate.s);
}

static Txt identity_lanes(Emit *e, int acc) {
  const Inst *in = &e->lin->inst[acc];
  PolyDType d = (PolyDType)in->dtype;
  if (d != POLY_BOOL) return txt("%s(%s)", call(e, "of", elem_of(d)).s, identity_text((Op)in->op, d).s);
  return txt("%s(-%s)", call(e, "of", ELEM_I8).s, identity_text((Op)in->op, d).s);
}

/* The first value of a largest or smallest element is what it is so far: short rows, of which a loop is one step, need
 * no comparison with infinity. Sums are not like that: 0 + -0 is 0. */
static bool is_first(const Emit *e, int i) {
  const Inst *in = &e->lin->inst[i], *acc = &e->lin->inst[in->src[0]];
  bool largest = (acc->op == OP_MAX || acc->op == OP_MIN) && (acc->dtype == POLY_FLOAT32 || acc->dtype == POLY_FLOAT64);
  if (!e->fresh || !largest || !outer_acc(e->lin, e->at, i)) return false;
  for (int k = e->loop + 1; k < e->at[e->loop].end; k++) {
    const Inst *other = &e->lin->inst[k];
    if (other->kind == INST_LOOP && k < i && e->at[k].end > i) return false;
    if (other->kind == INST_UPDATE && k != i && other->src[0] == in->src[0]) return false;
  }
  return true;
}

static void update_lanes(Emit *e, int i, int copy) {
  const Inst *in = &e->lin->inst[i], *acc = &e->lin->inst[in->src[0]];
  PolyDType d = (PolyDType)acc->dtype;
  Txt a = lanes_name(e, in->src[0], copy);
  Txt b = d == POLY_BOOL ? vector_mask(e, in->src[1], copy, 1) : vector_name(e, in->src[1], copy);
  if (is_first(e, i))
    line(e, "%s = %s;", a.s, b.s);
  else if (in->src[2] >= 0)
    line(e, "%s = %s;", a.s, muladd_text(e, d, e->lanes, b, vector_name(e, in->src[2], copy), a).s);
  else
    line(e, "%s = %s;", a.s, combine_text(e, (Op)acc->op, d, e->lanes, a, b).s);
}

void emit_lanes(Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  const Place *p = &e->at[i];
  if (e->outer >= 0) outer_level(e, p->wide);
  if (e->wide) spread_sources(e, i);
  bool update = in->kind == INST_UPDATE;
  bool vector = in->kind == INST_STORE || (update && (outer_acc(e->lin, e->at, i) || e->at[in->src[0]].vary)) ||
                (in->kind == INST_ACC ? p->vary : p->vector);
  bool value = in->kind == INST_ALU || in->kind == INST_LOAD || in->kind == INST_CHECK || in->kind == INST_ACC;
  if ((value && !p->vary) || p->base || (update && (!vector || e->at[in->src[0]].base))) emit_scalar(e, i);
  /* all lanes write one place: the last one stays */
  if (in->kind == INST_STORE && lane_stride(e->lin, e->at, i) == 0 && !e->at[in->src[1]].vary &&
      !(in->src[2] >= 0 && e->at[in->src[2]].vary)) {
    emit_scalar(e, i);
    return;
  }
  if (in->kind == INST_LOAD && vector) load_ahead(e, i);
  for (int copy = 0; copy < e->copies && vector; copy++) {
    switch ((InstKind)in->kind) {
    case INST_ALU: alu_lanes(e, i, copy); break;
    case INST_LOAD: line(e, "const %s v%d_%d = %s;", vector_type(e, i).s, i, copy, load_lanes(e, i, copy).s); break;
    case INST_STORE:
      if (!store_turned(e, i, copy)) store_lanes(e, i, copy);
      break;
    case INST_CHECK: check_lanes(e, i, copy); break;
    case INST_ACC: line(e, "%s acc%d_%d = %s;", vector_type(e, i).s, i, copy, identity_lanes(e, i).s); break;
    case INST_UPDATE: update_lanes(e, i, copy); break;
    default: break;
    }
  }
}

/* ---- partial results of reductions along the loop ---- */

/* The next accumulator from outside that the loop updates, after `from`; each once. -1: no more. */
int next_partial(const Emit *e, int from) {
  int best = -1;
  for (int i = e->loop + 1; i < e->at[e->loop].end; i++) {
    int acc = e->lin->inst[i].src[0];
    if (e->at[i].inside != e->loop) continue; /* of a vector loop in this one */
    if (outer_acc(e->lin, e->at, i) && acc > from && (best < 0 || acc < best)) best = acc;
  }
  return best;
}

void open_partials(Emit *e) {
  for (int acc = next_partial(e, -1); acc >= 0; acc = next_partial(e, acc)) {
    for (int k = 0; k < e->copies; k++)
      line(e, "%s %s = %s;", vector_type(e, acc).s, lanes_name(e, acc, k).s, identity_lanes(e, acc).s);
  }
}

static Txt fold_text(Emit *e, int acc) {
  static const char *const name[] = {"fold_add", "fold_mul", "fold_max", "fold_min"};
  const Inst *in = &e->lin->inst[acc];
  int k = in->op == OP_ADD ? 0 : in->op == OP_MUL ? 1 : in->op == OP_MAX ? 2 : 3;
  if (in->dtype == POLY_BOOL) return txt("(%s(acc%d_0) != 0)", call(e, k & 1 ? "fold_and" : "fold_or", ELEM_I8).s, acc);
  return txt("%s(acc%d_0)", call(e, name[k], elem_of((PolyDType)in->dtype)).s, acc);
}

static void close_partials(Emit *e) {
  for (int acc = next_partial(e, -1); acc >= 0; acc = next_partial(e, acc)) {
    const Inst *in = &e->lin->inst[acc];
    PolyDType d = (PolyDType)in->dtype;
    for (int s = 1; s < e->copies; s *= 2) {
      for (int k = 0; k + s < e->copies; k += 2 * s) {
        Txt a = txt("acc%d_%d", acc, k), b = txt("acc%d_%d", acc, k + s);
        line(e, "%s = %s;", a.s, combine_text(e, (Op)in->op, d, e->lanes, a, b).s);
      }
    }
    Txt a = txt("acc%d", acc);
    line(e, "%s = %s;", a.s, combine_text(e, (Op)in->op, d, 1, a, fold_text(e, acc)).s);
  }
}

/* ---- the loop in pieces ---- */

static void piece_body(Emit *e) {
  int loop = e->loop;
  e->indent++;
  for (int k = 0; k < e->copies && e->lanes > 1 && e->at[loop].vector; k++) {
    Txt first = k ? txt("i%d + %d", loop, k * e->lanes) : txt("i%d", loop);
    line(e, "const %s i%d_%d = %s + %s();", type_name(e->help, ELEM_I64, e->lanes).s, loop, k, first.s,
         call(e, "iota", ELEM_I64).s);
  }
  emit_body(e, loop + 1, e->at[loop].end);
  e->indent--;
  line(e, "}");
}

/* The body for iterations begin .. end-1, in steps of what it does at once. */
static void piece_loop(Emit *e, const char *begin, const char *end, bool parallel) {
  int step = e->lanes * e->copies, loop = e->loop;
  if (parallel) e->style->parallel(e, loop, begin, end);
  bool outer = e->parallel;
  e->parallel |= parallel;
  if (step == 1)
    line(e, "for (int64_t i%d = %s; i%d < %s; i%d++) {", loop, begin, loop, end, loop);
  else
    line(e, "for (int64_t i%d = %s; i%d < %s; i%d += %d) {", loop, begin, loop, end, loop, step);
  piece_body(e);
  e->parallel = outer;
}

static void piece_once(Emit *e, int64_t begin) {
  line(e, "{");
  e->indent++;
  line(e, "const int64_t i%d = %lld;", e->loop, (long long)begin);
  e->indent--;
  piece_body(e);
}

static void constant_trip(Emit *e, int64_t begin, int64_t end, bool parallel) {
  int lanes = e->lanes, copies = e->copies;
  int64_t step = (int64_t)lanes * copies, steps = (end - begin) / step, at = begin;
  bool whole = end - begin >= lanes;
  if (whole) open_partials(e);
  e->fresh = steps < 2;
  if (steps == 1)
    piece_once(e, at);
  else if (steps > 1)
    piece_loop(e, txt("%lld", (long long)at).s, txt("%lld", (long long)(at + steps * step)).s, parallel);
  at += steps * step;
  e->fresh &= steps == 0;
  if (end - at >= lanes) {
    e->copies = (int)((end - at) / lanes);
    piece_once(e, at);
    at += (int64_t)lanes * e->copies;
    e->copies = copies;
  }
  e->fresh = false;
  if (whole) close_partials(e);
  e->copies = 1;
  for (int l = lanes / 2; l >= e->lin->inst[e->loop].tail && l > 1; l /= 2) {
    if (end - at < l) continue;
    e->lanes = l;
    line(e, "{");
    e->indent++;
    open_partials(e);
    e->fresh = true;
    piece_once(e, at);
    e->fresh = false;
    close_partials(e);
    e->indent--;
    line(e, "}");
    at += l;
  }
  e->lanes = 1;
  if (end - at == 1)
    piece_once(e, at);
  else if (at < end)
    piece_loop(e, txt("%lld", (long long)at).s, txt("%lld", (long long)end).s, false);
}

/* Where whole steps from begin end. */
static void whole_steps(Emit *e, Txt name, const char *begin, const char *end, int step) {
  if (begin[0] == '0' && !begin[1])
    line(e, "const int64_t %s = %s > 0 ? %s / %d * %d : 0;", name.s, end, end, step, step);
  else
    line(e, "const int64_t %s = %s > %s ? %s + (%s - %s) / %d * %d : %s;", name.s, end, begin, begin, end, begin, step,
         step, begin);
}

static void variable_trip(Emit *e, const char *begin, const char *end, bool parallel) {
  int lanes = e->lanes, copies = e->copies, loop = e->loop;
  whole_steps(e, txt("end%d", loop), begin, end, lanes * copies);
  Txt at = txt("end%d", loop);
  open_partials(e);
  piece_loop(e, begin, at.s, parallel);
  if (copies > 1) {
    whole_steps(e, txt("tail%d", loop), at.s, end, lanes);
    e->copies = 1;
    piece_loop(e, at.s, txt("tail%d", loop).s, false);
    e->copies = copies;
    at = txt("tail%d", loop);
  }
  close_partials(e);
  e->lanes = e->copies = 1;
  piece_loop(e, at.s, end, false);
}

void emit_vector_loop(Emit *e, int loop) {
  const Inst *in = &e->lin->inst[loop];
  bool parallel = (in->flags & LOOP_PARALLEL) && !e->parallel && e->style->parallel;
  int64_t begin, end;
  e->loop = loop;
  e->lanes = in->lanes;
  e->copies = in->copies;
  line(e, "{");
  e->indent++;
  if (loop_trip(e->lin, loop, &begin, &end))
    constant_trip(e, begin, MAX(begin, end), parallel);
  else
    variable_trip(e, scalar_name(e, in->src[0]).s, scalar_name(e, in->src[1]).s, parallel);
  e->indent--;
  line(e, "}");
  e->loop = -1;
  e->lanes = e->copies = 1;
}
