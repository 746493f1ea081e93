/* work.c: counts the instructions that a launch will run, from sizes alone: whether it is worth compiling is decided
 * before it runs. */
#include "ir/work.h"

#include "ir/eval.h"

#include <limits.h>

enum { MAX_NEST = 64, MAX_KNOWN = 4096 };

typedef struct Count {
  const Linear *lin;
  const int64_t *vars;
  double entries; /* of the largest array of integers */
  int n;          /* instructions whose values are looked at */
  bool known[MAX_KNOWN];
  int64_t value[MAX_KNOWN];
} Count;

/* Integers that follow from constants and arguments. */
static void evaluate(Count *c, int i) {
  const Inst *in = &c->lin->inst[i];
  if (i >= c->n) return;
  c->known[i] = false;
  if (in->dtype != POLY_INT64) return;
  if (in->kind == INST_CONST) {
    c->value[i] = in->arg.i;
    c->known[i] = true;
  } else if (in->kind == INST_VAR) {
    c->value[i] = c->vars[in->arg.i];
    c->known[i] = true;
  } else if (in->kind == INST_ALU) {
    Value src[3] = {{0}}, out;
    for (int k = 0; k < 3 && in->src[k] >= 0; k++) {
      if (!c->known[in->src[k]] || c->lin->inst[in->src[k]].dtype != POLY_INT64) return;
      src[k].i = c->value[in->src[k]];
    }
    c->known[i] = eval_scalar((Op)in->op, POLY_INT64, POLY_INT64, src, &out);
    c->value[i] = out.i;
  }
}

/* Elements of the array that a bound was loaded from, directly or by way of arithmetic; 0: it was not loaded. */
static double rows_of(const Count *c, int bound, const size_t *bytes) {
  for (int steps = 0; bound >= 0 && steps < MAX_NEST; steps++) {
    const Inst *in = &c->lin->inst[bound];
    if (in->kind == INST_LOAD && in->param < linear_nargs(c->lin))
      return (double)bytes[in->param] / dtype_size(c->lin->param[in->param].dtype);
    if (in->kind != INST_ALU) return 0;
    int next = in->src[0];
    for (int k = 1; k < 3; k++)
      if (in->src[k] >= 0 && !(in->src[k] < c->n && c->known[in->src[k]])) next = in->src[k];
    bound = next;
  }
  return 0;
}

/* Bounds that follow from a loop around (the rest of a tile): what is around it walks the array once. */
static double trips_of(const Count *c, const Inst *loop, const size_t *bytes, double around) {
  int a = loop->src[0], b = loop->src[1];
  if (loop->flags & LOOP_ONCE) return 0;
  if (a < c->n && b < c->n && c->known[a] && c->known[b]) return (double)MAX(c->value[b] - c->value[a], 0);
  double rows = rows_of(c, b, bytes);
  return MAX(c->entries / MAX(rows > 0 ? rows : around, 1), 1);
}

static void largest_array(Count *c, const size_t *bytes) {
  double all = 0;
  for (int k = 0; k < linear_nargs(c->lin); k++) {
    PolyDType d = c->lin->param[k].dtype;
    double n = (double)bytes[k] / dtype_size(d);
    all = MAX(all, n);
    if (dtype_is_int(d)) c->entries = MAX(c->entries, n);
  }
  if (!c->entries) c->entries = all;
}

/* Simple operations that take as long, measured on blocks of lanes: an addition 0.3 ns a value, exp 4. */
static double values_of(const Inst *in) {
  enum { FUNCTION = 14, SLOW = 6, SCATTERED = 3 };
  if (in->kind == INST_LOAD || in->kind == INST_STORE) return in->stride == STRIDE_NONE ? SCATTERED : 1;
  if (in->kind != INST_ALU) return 1;
  switch ((Op)in->op) {
  case OP_POW:
  case OP_FMOD: return FUNCTION;
  case OP_CAST:
  case OP_BITCAST:
  case OP_IDIV:
  case OP_MOD:
  case OP_SHL:
  case OP_SHR: return SLOW;
  default: return op_info[in->op].cost == COST_FUNCTION ? FUNCTION : 1;
  }
}

Work linear_work(const Linear *lin, const size_t *bytes, const int64_t *vars, int lanes) {
  static _Thread_local Count c;
  c.lin = lin;
  c.vars = vars;
  c.entries = 0;
  c.n = MIN(lin->ninst, MAX_KNOWN);
  largest_array(&c, bytes);
  Work sum = {0};
  double times[MAX_NEST] = {1}, runs[MAX_NEST] = {1}; /* of the body: iterations; the same with lanes at once */
  int depth = 0, deeper = 0, outer = INT_MAX;         /* the end of a loop of outer lanes: their loops run one by one */
  for (int i = 0; i < lin->ninst; i++) {
    const Inst *in = &lin->inst[i];
    evaluate(&c, i);
    if (in->kind == INST_LOOP && depth + 1 < MAX_NEST) {
      double trips = trips_of(&c, in, bytes, times[depth]);
      bool vector = in->flags & LOOP_VECTOR && depth < outer;
      if (in->flags & LOOP_OUTER) outer = MIN(outer, depth);
      times[depth + 1] = times[depth] * trips;
      runs[depth + 1] = runs[depth] * (vector ? MAX(trips / lanes, MIN(trips, 1)) : trips);
      depth++;
    } else if (in->kind == INST_LOOP) {
      deeper++;
    } else if (in->kind == INST_END) {
      if (deeper)
        deeper--;
      else
        outer = --depth <= outer ? INT_MAX : outer;
    }
    if (in->kind == INST_CONST || in->kind == INST_VAR) continue;
    sum.steps += runs[depth];
    sum.lanes += times[depth] * values_of(in);
  }
  return sum;
}
