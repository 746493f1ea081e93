/* linear.c: linear kernels as text, and what is legal in them.
 *
 * linear_print writes one instruction a line, loops indented. linear_verify is run on every kernel of a plan; it
 * states the promises of linear.h as checks, so that a renderer may rely on them. */
#include "ir/linear.h"

#include <stdio.h>
#include <string.h>

static const char *const kind_name[] = {"CONST", "VAR", "ALU",    "LOAD",  "STORE",   "LOOP",
                                        "END",   "ACC", "UPDATE", "CHECK", "COMBINE", "FENCE"};

void linear_symbol(int n, const Linear *const *kernel, int k, char out[SYMBOL_SIZE]) {
  bool alone = true;
  for (int i = 0; i < n; i++) alone &= i == k || strcmp(kernel[i]->name, kernel[k]->name) != 0;
  if (alone)
    snprintf(out, SYMBOL_SIZE, "%.180s", kernel[k]->name);
  else
    snprintf(out, SYMBOL_SIZE, "%.180s_k%d", kernel[k]->name, k);
}

/* ---- local arrays ---- */

bool linear_has_strip(const Linear *lin) {
  for (int i = 0; i < lin->ninst; i++)
    if (lin->inst[i].kind == INST_LOOP && lin->inst[i].strip > 1) return true;
  return false;
}

int64_t linear_local_bytes(const LinearParam *p) {
  int64_t bytes = p->local * (int64_t)dtype_size(p->dtype);
  return (bytes + LOCAL_ALIGN - 1) / LOCAL_ALIGN * LOCAL_ALIGN;
}

int64_t linear_room(const Linear *lin) {
  int64_t bytes = 0;
  for (int k = linear_nargs(lin); k < lin->nparam; k++) bytes += linear_local_bytes(&lin->param[k]);
  return bytes > LOCAL_BYTES ? bytes : 0;
}

int linear_nargs(const Linear *lin) {
  int n = 0;
  while (n < lin->nparam && !lin->param[n].local) n++;
  return n;
}

int linear_local_loop(const Linear *lin, int param) {
  int loop = -1, home = -1;
  bool used = false;
  for (int i = 0; i < lin->ninst; i++) {
    const Inst *in = &lin->inst[i];
    if (in->kind == INST_LOOP && in->flags & LOOP_PARALLEL && loop < 0) loop = i;
    if (in->kind == INST_END && in->src[0] == loop) loop = -1;
    if ((in->kind != INST_LOAD && in->kind != INST_STORE) || in->param != param) continue;
    if (used && loop != home) return -1;
    home = loop;
    used = true;
  }
  return home;
}

/* ---- printing ---- */

static void print_const(Str *out, const Inst *in) {
  double v;
  memcpy(&v, &in->arg.i, sizeof v);
  if (dtype_is_float((PolyDType)in->dtype))
    str_fmt(out, " %.17g", v);
  else
    str_fmt(out, " %lld", (long long)in->arg.i);
}

static void print_sources(Str *out, const Inst *in) {
  for (int k = 0; k < 3 && in->src[k] >= 0; k++) str_fmt(out, " %%%d", in->src[k]);
}

static void print_inst(Str *out, const Linear *lin, const Inst *in) {
  const int32_t *s = in->src;
  switch ((InstKind)in->kind) {
  case INST_CONST: print_const(out, in); break;
  case INST_VAR:
    if (in->arg.i >= 0 && in->arg.i < lin->nvar && lin->var[in->arg.i]->arg.name)
      str_fmt(out, " %s", lin->var[in->arg.i]->arg.name);
    else
      str_fmt(out, " #%lld", (long long)in->arg.i);
    break;
  case INST_LOAD:
    str_fmt(out, " arg%d[%%%d]", in->param, s[0]);
    if (s[1] >= 0) str_fmt(out, " if %%%d", s[1]);
    break;
  case INST_STORE:
    str_fmt(out, " arg%d[%%%d] = %%%d", in->param, s[0], s[1]);
    if (s[2] >= 0) str_fmt(out, " if %%%d", s[2]);
    break;
  case INST_LOOP:
    str_fmt(out, " %%%d .. %%%d%s%s%s%s%s%s", s[0], s[1], in->flags & LOOP_PARALLEL ? " parallel" : "",
            in->flags & LOOP_GROUP    ? " group"
            : in->flags & LOOP_SPLIT  ? " tensor split"
            : in->flags & LOOP_TENSOR ? " tensor"
            : in->flags & LOOP_ACROSS ? " across"
                                      : "",
            in->flags & LOOP_VECTOR ? " vector" : "", in->flags & LOOP_OUTER ? " outer" : "",
            in->flags & LOOP_REDUCE ? " reduce" : "",
            in->flags & LOOP_ONCE ? " once"
            : in->flags & LOOP_IF ? " if"
                                  : "");
    if (s[2] >= 0) str_fmt(out, " on to %%%d", s[2]);
    if (in->lanes) str_fmt(out, " lanes %d", in->lanes);
    if (in->copies) str_fmt(out, " copies %d tail %d", in->copies, in->tail);
    if (in->chunk) str_fmt(out, " chunk %d", in->chunk);
    if (in->strip > 1) str_fmt(out, " strip %d", in->strip);
    if (in->cost) str_fmt(out, " cost %lld", (long long)in->cost);
    break;
  case INST_CHECK:
    str_fmt(out, " 0 <= %%%d < %%%d", s[0], s[1]);
    if (s[2] >= 0) str_fmt(out, " if %%%d", s[2]);
    break;
  default: print_sources(out, in);
  }
  if (in->kind != INST_LOAD && in->kind != INST_STORE) return;
  if (in->stride && in->stride != STRIDE_NONE) str_fmt(out, " stride %lld", (long long)in->stride);
  if (in->outer && in->outer != STRIDE_NONE) str_fmt(out, " outer %lld", (long long)in->outer);
}

void linear_print(Str *out, const Linear *lin) {
  str_fmt(out, "kernel %s(", lin->name ? lin->name : "?");
  for (int i = 0; i < lin->nparam; i++) {
    const LinearParam *p = &lin->param[i];
    str_fmt(out, "%sarg%d: %s%s%s", i ? ", " : "", i, dtype_name(p->dtype), p->read ? " r" : "",
            p->written ? " w" : "");
    if (p->local) str_fmt(out, " local %lld", (long long)p->local);
  }
  str_add(out, ")");
  if (lin->group > 1) str_fmt(out, " group %d", lin->group);
  if (lin->pack > 1) str_fmt(out, " pack %d", lin->pack);
  str_add(out, "\n");
  int depth = 1;
  for (int i = 0; i < lin->ninst; i++) {
    const Inst *in = &lin->inst[i];
    if (in->kind == INST_END && depth > 1) depth--;
    bool named = in->kind == INST_ALU || in->kind == INST_ACC || in->kind == INST_UPDATE;
    bool valued = in->kind != INST_STORE && in->kind != INST_END && in->kind != INST_UPDATE &&
                  in->kind != INST_COMBINE && in->kind != INST_FENCE;
    str_fmt(out, "%*s", 2 * depth, "");
    if (valued) str_fmt(out, "%%%d = ", i);
    if (in->kind != INST_ALU) str_fmt(out, "%s%s", kind_name[in->kind], named ? " " : "");
    if (named) str_add(out, op_info[in->op].name);
    if (valued && in->kind != INST_LOOP) str_fmt(out, " %s", dtype_name((PolyDType)in->dtype));
    print_inst(out, lin, in);
    str_add(out, "\n");
    if (in->kind == INST_LOOP) depth++;
  }
}

/* ---- verifying ---- */

/* How a value moves with a loop of lanes around it. */
typedef struct Motion {
  bool vary;     /* may differ from lane to lane */
  bool own;      /* does so whatever accumulators hold */
  bool known;    /* an integer that grows by slope an iteration */
  int64_t slope; /* 0 where it does not vary */
} Motion;

enum { VECTOR, OUTER, WITHIN, LEVELS }; /* WITHIN: a vector loop in another one */

typedef struct Verify {
  PolyContext *ctx;
  const Linear *lin;
  int at;    /* the instruction being looked at */
  int *home; /* the innermost loop that an instruction is in, -1: none; a loop is in itself */
  int *open; /* loops open now */
  int nopen;
  int group;              /* the group loop that is open, -1: none */
  int lanes[LEVELS];      /* the loops of lanes that are open, -1: none */
  Motion *motion[LEVELS]; /* about those loops */
} Verify;

static bool bad(Verify *v, const char *what) {
  const Inst *in = &v->lin->inst[v->at];
  return base_fail(ctx_base(v->ctx), POLY_ERROR_RUNTIME, "kernel %s, instruction %d (%s): %s",
                   v->lin->name ? v->lin->name : "?", v->at, in->kind < LEN(kind_name) ? kind_name[in->kind] : "?",
                   what);
}

static PolyDType dtype_at(const Verify *v, int i) { return (PolyDType)v->lin->inst[i].dtype; }

/* Source k: an earlier instruction that has a value which is still in scope. */
static bool source(Verify *v, int k, bool optional) {
  int s = v->lin->inst[v->at].src[k];
  if (s == -1 && optional) return true;
  if (s < 0 || s >= v->at) return bad(v, "a source is missing or not earlier");
  int kind = v->lin->inst[s].kind;
  if (kind == INST_STORE || kind == INST_END || kind == INST_UPDATE || kind == INST_COMBINE || kind == INST_FENCE)
    return bad(v, "a source has no value");
  for (int i = 0; i < v->nopen; i++)
    if (v->open[i] == v->home[s]) return true;
  return v->home[s] < 0 || bad(v, "a source is inside a loop that has ended");
}

static bool source_int(Verify *v, int k) {
  return source(v, k, false) &&
         (dtype_is_int(dtype_at(v, v->lin->inst[v->at].src[k])) || bad(v, "an index or bound is not an integer"));
}

static bool gate(Verify *v, int k) {
  int s = v->lin->inst[v->at].src[k];
  return source(v, k, true) && (s < 0 || dtype_at(v, s) == POLY_BOOL || bad(v, "a gate is not a bool"));
}

static bool none_from(Verify *v, int k) {
  for (; k < 3; k++)
    if (v->lin->inst[v->at].src[k] != -1) return bad(v, "it has too many sources");
  return true;
}

static bool check_alu(Verify *v, const Inst *in) {
  bool known = in->op < OP_COUNT && (op_elementwise((Op)in->op) || in->op == OP_MULACC);
  if (!known) return bad(v, "it is not an elementwise op");
  int n = op_info[in->op].nsrc;
  for (int k = 0; k < n; k++)
    if (!source(v, k, false)) return false;
  if (!none_from(v, n)) return false;
  PolyDType out = (PolyDType)in->dtype, first = dtype_at(v, in->src[0]);
  if (in->op == OP_CAST) return true;
  if (in->op == OP_BITCAST) return dtype_size(first) == dtype_size(out) || bad(v, "item sizes differ");
  if (!op_takes((Op)in->op, first)) return bad(v, "the op does not take this dtype");
  bool where = in->op == OP_WHERE, compare = op_info[in->op].cls == CLASS_COMPARE;
  if (where && first != POLY_BOOL) return bad(v, "the condition is not a bool");
  if (compare && out != POLY_BOOL) return bad(v, "a comparison gives a bool");
  for (int k = where; k < n; k++)
    if (dtype_at(v, in->src[k]) != (compare ? first : out)) return bad(v, "dtypes differ");
  return true;
}

static bool check_memory(Verify *v, const Inst *in) {
  bool write = in->kind == INST_STORE;
  if (in->param < 0 || in->param >= v->lin->nparam) return bad(v, "there is no such argument");
  const LinearParam *p = &v->lin->param[in->param];
  if (!source_int(v, 0) || !gate(v, write ? 2 : 1) || (write && !source(v, 1, false))) return false;
  if (!write && !none_from(v, 2)) return false;
  if (p->dtype != in->dtype || (write && dtype_at(v, in->src[1]) != p->dtype))
    return bad(v, "the dtype is not the argument's");
  if (write ? !p->written : !p->read) return bad(v, "the argument is not marked as used this way");
  for (int l = 0; l < LEVELS; l++) {
    if (v->lanes[l] < 0 || (l == VECTOR && v->lanes[WITHIN] >= 0)) continue;
    const Motion *m = &v->motion[l][in->src[0]];
    int64_t stride = l == OUTER ? in->outer : in->stride;
    if (m->known && stride != STRIDE_NONE && stride != m->slope) return bad(v, "the stride is not the index's");
    bool several = write && !m->vary && v->motion[l][in->src[1]].own;
    if (several) return bad(v, "lanes store different values to one place");
  }
  return true;
}

/* Trips of a loop between constants; 0: not constant, or none. */
static int64_t constant_trips(const Verify *v, const Inst *loop) {
  const Inst *begin = &v->lin->inst[loop->src[0]], *end = &v->lin->inst[loop->src[1]];
  bool constant = begin->kind == INST_CONST && end->kind == INST_CONST;
  return constant && end->arg.i > begin->arg.i ? end->arg.i - begin->arg.i : 0;
}

static bool check_outer(Verify *v, const Inst *in) {
  int64_t trips = constant_trips(v, in);
  if (in->flags & LOOP_OUTER && !is_power_of_two(trips)) return bad(v, "outer lanes are not a power of two");
  if (in->flags & LOOP_OUTER && in->flags & (LOOP_VECTOR | LOOP_REDUCE)) return bad(v, "its marks exclude each other");
  if (v->lanes[OUTER] < 0 || !(in->flags & LOOP_VECTOR)) return true;
  if (!trips) return bad(v, "a vector loop inside an outer one has no constant size");
  return !(in->flags & LOOP_REDUCE) || is_power_of_two(trips) || bad(v, "it reduces what is no power of two");
}

/* Zeros are legal: widths are chosen last. */
static bool check_widths(Verify *v, const Inst *in) {
  bool lanes = in->flags & (LOOP_VECTOR | LOOP_OUTER), vector = in->flags & LOOP_VECTOR;
  if (in->lanes && (!lanes || in->lanes > MAX_LANES || !is_power_of_two(in->lanes)))
    return bad(v, "the number of lanes is not that of a vector");
  if ((in->copies || in->tail) && (!vector || !in->lanes || !in->copies || !in->tail || in->tail > MAX_LANES))
    return bad(v, "copies and tail are those of a loop that has lanes");
  bool alone = in->flags & LOOP_REDUCE && !(in->flags & LOOP_GROUP);
  if (in->strip > 1 && (alone || in->flags & LOOP_VECTOR || !is_power_of_two(in->strip)))
    return bad(v, "a strip is of a loop of the grid or a group, and a power of two");
  return !in->chunk || in->flags & LOOP_PARALLEL || bad(v, "threads take chunks of a parallel loop alone");
}

/* A sum of neighbours: in the grid, and a plain loop but for that. */
static bool check_across(Verify *v, const Inst *in) {
  if (!(in->flags & LOOP_ACROSS)) return true;
  bool grid = false;
  for (int k = 0; k < v->nopen; k++) grid |= v->lin->inst[v->open[k]].flags & LOOP_PARALLEL;
  bool plain = in->flags & LOOP_REDUCE && !(in->flags & (LOOP_GROUP | LOOP_VECTOR | LOOP_OUTER | LOOP_TENSOR));
  if (!grid || !plain || !is_power_of_two(v->lin->neighbours) || !constant_trips(v, in))
    return bad(v, "a sum of neighbouring threads is none");
  return true;
}

static void enter_lanes(Verify *v, int level) {
  v->lanes[level] = v->at;
  memset(v->motion[level], 0, (size_t)v->at * sizeof **v->motion);
  for (int i = 0; i < v->at; i++) v->motion[level][i].known = true;
}

/* May a vector loop stand in the one that is open? */
static bool may_stand_within(const Verify *v, const Inst *in) {
  if (v->lanes[OUTER] < 0 || v->lanes[WITHIN] >= 0 || !(in->flags & LOOP_REDUCE)) return false;
  return constant_trips(v, in) && constant_trips(v, in) == constant_trips(v, &v->lin->inst[v->lanes[VECTOR]]);
}

/* The grid: parallel loops directly in each other, with nothing else around them. */
static bool check_grid(Verify *v, const Inst *in) {
  if (in->flags & LOOP_PARALLEL && in->flags & LOOP_GROUP) return bad(v, "its marks exclude each other");
  for (int k = 0; v->lin->grid && in->flags & LOOP_PARALLEL && k < v->nopen; k++)
    if (!(v->lin->inst[v->open[k]].flags & LOOP_PARALLEL)) return bad(v, "a loop of the grid is inside another loop");
  if (v->lin->grid && in->flags & LOOP_PARALLEL && (v->home[in->src[0]] >= 0 || v->home[in->src[1]] >= 0))
    return bad(v, "bounds of the grid are not known before it");
  return true;
}

/* Products of a warp: what the loop has in it, and the group loop around it, is codegen's to promise. */
static bool check_tensor(Verify *v, const Inst *in) {
  if (!(in->flags & LOOP_TENSOR)) return true;
  if (v->group < 0 || in->flags & LOOP_GROUP) return bad(v, "products of a warp are not in a loop of its threads");
  return constant_trips(v, in) % 8 == 0 || bad(v, "products of a warp are not a multiple of 8");
}

static bool check_together(Verify *v) { return v->group < 0 || bad(v, "threads of a group do not come here together"); }

static bool check_loop(Verify *v, const Inst *in) {
  if (!source_int(v, 0) || !source_int(v, 1) || (in->src[2] != -1 && !source_int(v, 2))) return false;
  if (in->dtype != POLY_INT64 && in->dtype != POLY_INT32) return bad(v, "a loop variable is an int64 or an int32");
  for (int l = 0; l < LEVELS; l++) {
    if (v->lanes[l] < 0) continue;
    bool nested = in->flags & LOOP_OUTER || (in->flags & LOOP_VECTOR && l != OUTER && !may_stand_within(v, in));
    if (nested) return bad(v, "a vector loop is inside another");
    if (v->motion[l][in->src[0]].vary || v->motion[l][in->src[1]].vary)
      return bad(v, "bounds differ from lane to lane");
  }
  if (!check_outer(v, in) || !check_widths(v, in) || !check_grid(v, in) || !check_tensor(v, in) || !check_across(v, in))
    return false;
  if (in->flags & LOOP_GROUP) {
    if (v->group >= 0) return bad(v, "a group loop is inside another");
    v->group = v->at;
  }
  v->open[v->nopen++] = v->at;
  if (in->flags & LOOP_VECTOR) enter_lanes(v, v->lanes[VECTOR] >= 0 ? WITHIN : VECTOR);
  if (in->flags & LOOP_OUTER) enter_lanes(v, OUTER);
  return true;
}

/* Sums of a vector loop are formed in lanes: nobody inside may look at them. */
static bool check_lanes_private(Verify *v, int loop) {
  const Inst *inst = v->lin->inst;
  for (int i = loop + 1; i < v->at; i++)
    if (inst[i].kind == INST_UPDATE && inst[i].src[0] < loop)
      for (int j = loop + 1; j < v->at; j++)
        for (int k = inst[j].kind == INST_UPDATE; k < 3; k++)
          if (inst[j].src[k] == inst[i].src[0]) return bad(v, "an accumulator of a vector loop is read inside it");
  return true;
}

/* What a vector loop in another one sums is for each outer iteration: nobody adds what the other's lanes have. */
static bool check_within(Verify *v, int loop) {
  const Inst *inst = v->lin->inst;
  for (int i = loop + 1; i < v->at; i++) {
    if (v->motion[VECTOR][i].own) return bad(v, "a vector loop depends on the one around it");
    if (inst[i].kind != INST_UPDATE) continue;
    if (inst[i].src[0] < v->lanes[VECTOR])
      return bad(v, "a vector loop in another one updates what is from before both");
    for (int j = v->lanes[VECTOR]; j < v->lin->ninst; j++)
      if ((j < loop || j > v->at) && inst[j].kind == INST_UPDATE && inst[j].src[0] == inst[i].src[0])
        return bad(v, "a sum of lanes in lanes is updated outside of its loop");
  }
  return true;
}

static bool check_end(Verify *v, const Inst *in) {
  if (v->nopen == 0 || in->src[0] != v->open[v->nopen - 1]) return bad(v, "it does not end the innermost loop");
  v->nopen--;
  if (in->src[0] == v->group) v->group = -1;
  bool within = in->src[0] == v->lanes[WITHIN], vector = within || in->src[0] == v->lanes[VECTOR];
  if (within && !check_within(v, in->src[0])) return false;
  for (int l = 0; l < LEVELS; l++)
    if (in->src[0] == v->lanes[l]) v->lanes[l] = -1;
  return !vector || check_lanes_private(v, in->src[0]);
}

static bool is_reduction(int op) { return op == OP_ADD || op == OP_MUL || op == OP_MAX || op == OP_MIN; }

static bool check_update(Verify *v, const Inst *in) {
  if (!source(v, 0, false) || !source(v, 1, false) || !source(v, 2, true)) return false;
  const Inst *acc = &v->lin->inst[in->src[0]];
  bool fused = in->src[2] >= 0, sum = acc->op == OP_ADD && dtype_is_float((PolyDType)acc->dtype);
  if (fused && (!sum || dtype_at(v, in->src[2]) != acc->dtype)) return bad(v, "it has too many sources");
  if (acc->kind != INST_ACC) return bad(v, "it updates what is no accumulator");
  if (acc->op != in->op) return bad(v, "the accumulator has another op");
  if (in->src[0] < v->lanes[OUTER]) return bad(v, "the accumulator is from before the outer lanes");
  return dtype_at(v, in->src[1]) == acc->dtype || bad(v, "the accumulator has another dtype");
}

static bool check_inst(Verify *v, const Inst *in) {
  if (in->dtype >= POLY_DTYPE_COUNT) return bad(v, "there is no such dtype");
  switch ((InstKind)in->kind) {
  case INST_CONST: return none_from(v, 0);
  case INST_VAR:
    if (in->arg.i < 0 || in->arg.i >= v->lin->nvar) return bad(v, "there is no such variable");
    return none_from(v, 0) && (in->dtype == POLY_INT64 || bad(v, "a variable is an int64"));
  case INST_ALU: return check_alu(v, in);
  case INST_LOAD:
  case INST_STORE: return check_memory(v, in);
  case INST_LOOP: return check_loop(v, in);
  case INST_END: return check_end(v, in);
  case INST_ACC: return none_from(v, 0) && (is_reduction(in->op) || bad(v, "the op has no identity"));
  case INST_UPDATE: return check_update(v, in);
  case INST_CHECK: return source_int(v, 0) && source_int(v, 1) && gate(v, 2);
  case INST_COMBINE:
    if (!source(v, 0, false) || !none_from(v, 1) || !check_together(v)) return false;
    return v->lin->inst[in->src[0]].kind == INST_ACC || bad(v, "it combines what is no accumulator");
  case INST_FENCE: return none_from(v, 0) && check_together(v);
  }
  return bad(v, "there is no such kind");
}

/* Motion of a value from that of its sources. */
static Motion motion_of(const Verify *v, const Inst *in, int level) {
  if (v->at == v->lanes[level]) return (Motion){true, true, true, 1};
  if (in->kind == INST_ACC) return (Motion){.vary = true};
  Motion m[3] = {{0}}, out = {.known = true};
  for (int k = 0; k < 3; k++) {
    m[k] = in->src[k] >= 0 ? v->motion[level][in->src[k]] : (Motion){.known = true};
    out.vary |= m[k].vary;
    out.own |= m[k].own;
  }
  if (!out.vary) return out;
  out.known = false;
  if (in->kind != INST_ALU || !dtype_is_int((PolyDType)in->dtype) || !m[0].known || !m[1].known) return out;
  const Inst *b = &v->lin->inst[in->src[1] >= 0 ? in->src[1] : in->src[0]];
  const Inst *a = &v->lin->inst[in->src[0]];
  if (in->op == OP_ADD || in->op == OP_SUB) {
    out.known = true;
    out.slope = in->op == OP_ADD ? m[0].slope + m[1].slope : m[0].slope - m[1].slope;
  } else if (in->op == OP_MUL && (a->kind == INST_CONST || b->kind == INST_CONST)) {
    out.known = true;
    out.slope = a->kind == INST_CONST ? a->arg.i * m[1].slope : b->arg.i * m[0].slope;
  }
  return out;
}

static bool verify_all(Verify *v) {
  const Linear *lin = v->lin;
  for (v->at = 0; v->at < lin->ninst; v->at++) {
    const Inst *in = &lin->inst[v->at];
    if (!check_inst(v, in)) return false;
    v->home[v->at] = v->nopen ? v->open[v->nopen - 1] : -1;
    for (int l = 0; l < LEVELS; l++)
      if (v->lanes[l] >= 0) v->motion[l][v->at] = motion_of(v, in, l);
  }
  v->at = lin->ninst - 1;
  return v->nopen == 0 || bad(v, "a loop has no end");
}

/* Local arrays come last, have a size, and belong to iterations that run one by one. */
static bool verify_locals(Verify *v) {
  const Linear *lin = v->lin;
  v->at = MAX(lin->ninst - 1, 0);
  for (int k = linear_nargs(lin); k < lin->nparam; k++) {
    int64_t n = lin->param[k].local, size = dtype_size(lin->param[k].dtype);
    if (n <= 0 || n > MAX_LOCAL_BYTES / size) return bad(v, "a local array is too large, or comes before an argument");
    int loop = linear_local_loop(lin, k);
    if (loop >= 0 && lin->inst[loop].flags & (LOOP_VECTOR | LOOP_OUTER))
      return bad(v, "a local array belongs to one iteration of a loop of lanes");
    if (loop >= 0) continue;
    for (int i = 0, open = -1; i < lin->ninst; i++) { /* used outside: then nowhere inside */
      const Inst *in = &lin->inst[i];
      if (in->kind == INST_LOOP && in->flags & LOOP_PARALLEL && open < 0) open = i;
      if (in->kind == INST_END && in->src[0] == open) open = -1;
      if (open >= 0 && (in->kind == INST_LOAD || in->kind == INST_STORE) && in->param == k)
        return bad(v, "a local array is used by several iterations of a parallel loop");
    }
  }
  return true;
}

bool linear_verify(PolyContext *ctx, const Linear *lin) {
  Arena arena = {.b = ctx_base(ctx)};
  size_t n = (size_t)lin->ninst + 1;
  Verify v = {.ctx = ctx, .lin = lin, .group = -1, .lanes = {-1, -1, -1}};
  v.home = arena_new(&arena, n * sizeof *v.home);
  v.open = arena_new(&arena, n * sizeof *v.open);
  for (int l = 0; l < LEVELS; l++) v.motion[l] = arena_new(&arena, n * sizeof *v.motion[l]);
  bool ok = v.home && v.open && v.motion[VECTOR] && v.motion[OUTER] && v.motion[WITHIN] && verify_all(&v) &&
            verify_locals(&v);
  arena_free(&arena);
  return ok;
}
