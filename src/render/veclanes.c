/* veclanes.c: writes lanes of two loops, an outer one of H iterations and vector loops of D inside it. In: loops
 * with their widths, and what ir/lanes.c says of their instructions. Out: the body of each once, both loop variables at
 * their first value. A value that varies with the outer loop alone is narrow, H lanes: v12_0; one that varies with the
 * vector loop is wide, H*D lanes: v15_0, v15_1
 * .. A narrow value that a wide one needs is spread first, each lane D times: v12_w0, v12_w1 ..
 *
 * A reduction along the vector loop has wide partial results; neighbours are combined until there is one for each outer
 * iteration, in a fixed order. */
#include "render/emit.h"

#include <stdio.h>

static int64_t first_of(const Emit *e, int loop) {
  int64_t begin = 0, end = 0;
  loop_trip(e->lin, loop, &begin, &end);
  return begin;
}

static int trips_of(const Emit *e, int loop) { return (int)loop_trips(e->lin, loop); }

static Elem lane_elem(const Emit *e, int i) {
  PolyDType d = (PolyDType)e->lin->inst[i].dtype;
  return d == POLY_BOOL ? elem_signed(MAX(e->at[i].mask, 1)) : elem_of(d);
}

void outer_level(Emit *e, bool wide) {
  int all = trips_of(e, e->outer) * (wide ? trips_of(e, e->loop) : 1);
  e->wide = wide;
  e->lanes = MIN(all, e->lin->inst[e->outer].lanes);
  e->copies = all / e->lanes;
}

/* ---- narrow to wide ---- */

static void spread(Emit *e, int i) {
  Place *p = &e->at[i];
  if (!p->vary || p->wide || !p->vector || e->spread[i]) return;
  e->spread[i] = e->indent;
  int d = trips_of(e, e->loop), h = trips_of(e, e->outer), from = MIN(h, e->lin->inst[e->outer].lanes);
  for (int copy = 0; copy < e->copies; copy++) {
    char list[8 * MAX_LANES];
    int n = 0, a = copy * e->lanes / d / from, b = MIN(a + 1, h / from - 1);
    for (int l = 0; l < e->lanes; l++)
      n += snprintf(list + n, sizeof list - (size_t)n, ", %d", (copy * e->lanes + l) / d - a * from);
    Txt name = scalar_name(e, i);
    line(e, "const %s %s = __builtin_shufflevector(%s_%d, %s_%d%s);", type_name(e->help, lane_elem(e, i), e->lanes).s,
         lanes_name(e, i, copy).s, name.s, a, name.s, b, list);
  }
}

void spread_sources(Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  for (int k = in->kind == INST_UPDATE; k < 3; k++)
    if (in->src[k] >= 0) spread(e, in->src[k]);
}

/* A block of the text ends, and with it what was spread there. */
void forget_spread(Emit *e) {
  for (int i = e->outer; i < e->at[e->outer].end; i++)
    if (e->spread[i] >= e->indent) e->spread[i] = 0;
}

/* ---- wide to narrow ---- */

static Txt call2(Emit *e, const char *name, Elem el, int lanes, Txt a, Txt b) {
  return txt("%s(%s, %s)", helper(e->help, name, el, lanes).s, a.s, b.s);
}

/* Neighbouring lanes are combined until there is one an outer iteration. */
static void fold_wide(Emit *e, int acc) {
  const Inst *in = &e->lin->inst[acc];
  PolyDType d = (PolyDType)in->dtype;
  Elem el = lane_elem(e, acc);
  int lanes = e->lanes, copies = e->copies;
  Txt one = lanes_name(e, acc, 0);
  for (int n = trips_of(e, e->loop); n > 1; n /= 2) {
    if (copies > 1) {
      for (int k = 0; k < copies / 2; k++) {
        Txt a = lanes_name(e, acc, 2 * k), b = lanes_name(e, acc, 2 * k + 1);
        Txt x = combine_text(e, (Op)in->op, d, lanes, call2(e, "evens", el, lanes, a, b),
                             call2(e, "odds", el, lanes, a, b));
        line(e, "%s = %s;", lanes_name(e, acc, k).s, x.s);
      }
      copies /= 2;
      continue;
    }
    Txt lo = helper(e->help, "lo", el, lanes), half = txt("acc%d_fold%d", acc, lanes / 2);
    Txt a = txt("%s(%s)", lo.s, call2(e, "evens", el, lanes, one, one).s);
    Txt b = txt("%s(%s)", lo.s, call2(e, "odds", el, lanes, one, one).s);
    lanes /= 2;
    line(e, "const %s %s = %s;", type_name(e->help, el, lanes).s, half.s,
         combine_text(e, (Op)in->op, d, lanes, a, b).s);
    one = half;
  }
  for (int k = 0; k < copies; k++) {
    Txt to = txt("acc%d_%d", acc, k);
    line(e, "%s = %s;", to.s, combine_text(e, (Op)in->op, d, lanes, to, k ? lanes_name(e, acc, k) : one).s);
  }
}

/* ---- the loops ---- */

/* The loop variable as a vector. */
static void loop_lanes(Emit *e, int loop) {
  for (int copy = 0; copy < e->copies && e->at[loop].vector; copy++) {
    char list[8 * MAX_LANES];
    int n = 0;
    for (int l = 0; l < e->lanes; l++)
      n += snprintf(list + n, sizeof list - (size_t)n, l ? ", %d" : "%d", (copy * e->lanes + l) % trips_of(e, loop));
    Txt type = type_name(e->help, ELEM_I64, e->lanes);
    line(e, "const %s i%d_%d = i%d + (%s){%s};", type.s, loop, copy, loop, type.s, list);
  }
}

static void body_once(Emit *e, int loop) {
  line(e, "const int64_t i%d = %lld;", loop, (long long)first_of(e, loop));
  loop_lanes(e, loop);
  emit_body(e, loop + 1, e->at[loop].end);
}

void emit_wide_loop(Emit *e, int loop) {
  int before = e->loop;
  e->loop = loop;
  line(e, "{");
  e->indent++;
  outer_level(e, true);
  open_partials(e);
  body_once(e, loop);
  outer_level(e, true);
  for (int acc = next_partial(e, -1); acc >= 0; acc = next_partial(e, acc)) fold_wide(e, acc);
  e->indent--;
  line(e, "}");
  e->loop = before;
  outer_level(e, false);
}

void emit_outer_loop(Emit *e, int loop) {
  e->loop = e->outer = loop;
  line(e, "{");
  e->indent++;
  outer_level(e, false);
  body_once(e, loop);
  e->indent--;
  line(e, "}");
  e->loop = e->outer = -1;
  e->wide = false;
  e->lanes = e->copies = 1;
}
