/* expr.c: one instruction's value as a C expression, for a scalar and for a vector of lanes. In: an instruction and the
 * names of its sources. Out: text. Knows nothing of loops. */
#include "ir/eval.h"
#include "render/emit.h"

#include <math.h>
#include <string.h>

Elem elem_of(PolyDType d) {
  static const uint8_t map[POLY_DTYPE_COUNT] = {
      [POLY_BOOL] = ELEM_U8,      [POLY_INT8] = ELEM_I8,     [POLY_UINT8] = ELEM_U8,    [POLY_INT16] = ELEM_I16,
      [POLY_UINT16] = ELEM_U16,   [POLY_INT32] = ELEM_I32,   [POLY_UINT32] = ELEM_U32,  [POLY_INT64] = ELEM_I64,
      [POLY_UINT64] = ELEM_U64,   [POLY_FP8E4M3] = ELEM_F32, [POLY_FP8E5M2] = ELEM_F32, [POLY_FLOAT16] = ELEM_F32,
      [POLY_BFLOAT16] = ELEM_F32, [POLY_FLOAT32] = ELEM_F32, [POLY_FLOAT64] = ELEM_F64,
  };
  return (Elem)map[d];
}

Elem elem_memory(PolyDType d) {
  if (!dtype_is_small(d)) return elem_of(d);
  return dtype_size(d) == 1 ? ELEM_U8 : ELEM_U16;
}

Txt scalar_type(Emit *e, PolyDType d) {
  return d == POLY_BOOL ? txt("%s", e->style->boolean) : type_name(e->help, elem_of(d), 1);
}

/* ---- constants ---- */

static Txt float_text(double v, bool single) {
  const char *sign = signbit(v) ? "-" : "";
  if (isnan(v)) return txt(single ? "NAN" : "(double)NAN");
  if (isinf(v)) return txt(single ? "%sINFINITY" : "%s(double)INFINITY", sign);
  Txt t = txt(single ? "%.9g" : "%.17g", v);
  if (!strpbrk(t.s, ".e")) strcat(t.s, ".0");
  if (single) strcat(t.s, "f");
  return t;
}

static Txt int_text(PolyDType d, int64_t v) {
  if (d == POLY_BOOL) return txt("%d", v != 0);
  if (d == POLY_UINT64) return txt("%lluull", (unsigned long long)v);
  if (d == POLY_UINT32) return txt("%lluu", (unsigned long long)(uint32_t)v);
  if (v == INT64_MIN) return txt("INT64_MIN");
  if (v == INT32_MIN) return txt("(-2147483647 - 1)");
  if (v > INT32_MAX || v < INT32_MIN) return txt("%lldll", (long long)v);
  return txt("%lld", (long long)v);
}

static double bits_double(int64_t i) {
  double v;
  memcpy(&v, &i, sizeof v);
  return v;
}

static Txt const_text(const Inst *in) {
  PolyDType d = (PolyDType)in->dtype;
  if (dtype_is_float(d)) return float_text(bits_double(in->arg.i), d != POLY_FLOAT64);
  return int_text(d, in->arg.i);
}

/* The value that changes nothing. */
Txt identity_text(Op op, PolyDType d) {
  bool single = d != POLY_FLOAT64;
  int bits = 8 * dtype_size(d);
  if (op == OP_ADD || op == OP_MUL) {
    int one = op == OP_MUL;
    return dtype_is_float(d) ? float_text(one, single) : int_text(d, one);
  }
  if (dtype_is_float(d)) return float_text(value_identity(op, d).f, single);
  if (d == POLY_BOOL) return txt("%d", op == OP_MIN);
  if (dtype_is_unsigned(d))
    return int_text(d, op == OP_MAX ? 0 : bits == 64 ? -1 : (int64_t)((UINT64_C(1) << bits) - 1));
  int64_t top = bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1;
  return int_text(d, op == OP_MAX ? -top - 1 : top);
}

/* ---- names ---- */

Txt edge_name(const Emit *e, int i) {
  return e->edges && i >= e->edges && i < e->at[e->edges].end ? txt("_e%d", e->edge) : no_text();
}

Txt scalar_name(const Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  Txt copy = e->vary && e->vary[i] ? txt("%s_%d", edge_name(e, i).s, e->copy) : edge_name(e, i);
  switch (in->kind) {
  case INST_CONST: return const_text(in);
  case INST_VAR: return txt("n%d", (int)in->arg.i);
  case INST_LOOP: return txt("i%d%s", i, copy.s);
  case INST_ACC: return txt("acc%d%s", i, copy.s);
  default: return txt("v%d%s", i, copy.s);
  }
}

Txt lanes_name(const Emit *e, int i, int copy) {
  return txt("%s_%s%d", scalar_name(e, i).s, e->wide && !e->at[i].wide ? "w" : "", copy);
}

static Txt splat(Emit *e, Elem el, Txt s) { return txt("%s(%s)", helper(e->help, "of", el, e->lanes).s, s.s); }

static Txt convert(Emit *e, Txt x, Elem to) {
  return txt("__builtin_convertvector(%s, %s)", x.s, type_name(e->help, to, e->lanes).s);
}

static bool elem_is_float(Elem e) { return e >= ELEM_F32; }

/* Integers of other sizes are converted in steps of a factor of two: GCC has instructions for those, and takes vectors
 * apart for others. Wider ones keep the sign of x until they are as wide as the result. */
static Txt convert_steps(Emit *e, Txt x, Elem from, Elem to) {
  static const Elem wider[] = {[ELEM_I8] = ELEM_I16,  [ELEM_U8] = ELEM_U16,  [ELEM_I16] = ELEM_I32,
                               [ELEM_U16] = ELEM_U32, [ELEM_I32] = ELEM_I64, [ELEM_U32] = ELEM_U64};
  while (!elem_is_float(from) && !elem_is_float(to) && elem_size(from) * 2 < elem_size(to))
    x = convert(e, x, from = wider[from]);
  while (!elem_is_float(from) && !elem_is_float(to) && elem_size(from) > elem_size(to) * 2)
    x = convert(e, x, from = elem_signed(elem_size(from) / 2));
  return convert(e, x, to);
}

Txt vector_mask(Emit *e, int i, int copy, int bytes) {
  const Place *at = &e->at[i];
  if (!at->vary) return splat(e, elem_signed(bytes), txt("-%s", scalar_name(e, i).s));
  Txt name = lanes_name(e, i, copy);
  if (at->mask == bytes) return name;
  return convert_steps(e, name, elem_signed(at->mask), elem_signed(bytes));
}

Txt vector_name(Emit *e, int i, int copy) {
  const Inst *in = &e->lin->inst[i];
  if (in->dtype == POLY_BOOL) return vector_mask(e, i, copy, e->at[i].vary ? e->at[i].mask : 1);
  if (e->at[i].vary) return lanes_name(e, i, copy);
  return splat(e, elem_of((PolyDType)in->dtype), scalar_name(e, i));
}

/* Where C spreads a scalar operand by itself: the reader is spared the broadcast. */
static Txt vector_operand(Emit *e, int i, int copy) {
  Elem el = elem_of((PolyDType)e->lin->inst[i].dtype);
  if (!e->at[i].vary && e->lin->inst[i].dtype != POLY_BOOL && elem_size(el) >= 4) return scalar_name(e, i);
  return vector_name(e, i, copy);
}

/* ---- the spelling of ops ---- */

static bool is_compare(Op op) { return op_info[op].cls == CLASS_COMPARE; }

static const char *small_name(PolyDType d) {
  return d == POLY_FLOAT16 ? "f16" : d == POLY_BFLOAT16 ? "bf16" : d == POLY_FP8E4M3 ? "e4m3" : "e5m2";
}

static Txt rounded(Emit *e, PolyDType d, int lanes, Txt x) {
  if (!dtype_is_small(d)) return x;
  return txt("%s(%s)", helper(e->help, txt("round_%s", small_name(d)).s, ELEM_F32, lanes).s, x.s);
}

static Txt encoded(Emit *e, PolyDType d, int lanes, Txt x) {
  return txt("%s(%s)", helper(e->help, txt("to_%s", small_name(d)).s, ELEM_F32, lanes).s, x.s);
}

static Txt decoded(Emit *e, PolyDType d, int lanes, Txt x) {
  return txt("%s(%s)", helper(e->help, txt("from_%s", small_name(d)).s, ELEM_F32, lanes).s, x.s);
}

/* May a division be C's own? Operands are not negative (codegen's mark) or unsigned, and a constant divisor is not 0.
 */
static bool plain_division(const Emit *e, const Inst *in) {
  const Inst *by = &e->lin->inst[in->src[1]];
  bool positive = (in->flags & 1) || dtype_is_unsigned((PolyDType)in->dtype);
  return positive && by->kind == INST_CONST && by->arg.i != 0;
}

static bool plain_shift(const Emit *e, const Inst *in) {
  const Inst *by = &e->lin->inst[in->src[1]];
  return by->kind == INST_CONST && by->arg.i >= 0 && by->arg.i < 8 * dtype_size((PolyDType)in->dtype);
}

static const char *infix_of(const Emit *e, const Inst *in, PolyDType from) {
  Op op = (Op)in->op;
  if (from == POLY_BOOL) return op_info[op].bools;
  if ((op == OP_IDIV || op == OP_MOD) && plain_division(e, in)) return op == OP_IDIV ? "/" : "%";
  if ((op == OP_SHL || op == OP_SHR) && plain_shift(e, in)) return op == OP_SHL ? "<<" : ">>";
  return op_info[op].infix;
}

/* ---- scalars ---- */

static Txt cast_scalar(Emit *e, PolyDType from, PolyDType to, Txt x) {
  bool ff = dtype_is_float(from);
  if (to == POLY_BOOL) return from == POLY_BOOL ? x : txt("%s != 0", x.s);
  if (dtype_is_small(to)) {
    if (from == to) return x;
    if (from == POLY_FLOAT64) x = txt("%s(%s)", helper(e->help, "odd", ELEM_F64, 1).s, x.s);
    return rounded(e, to, 1, ff ? x : txt("(float)%s", x.s));
  }
  if (ff && to == POLY_UINT64) return txt("%s(%s)", helper(e->help, "to_u64", elem_of(from), 1).s, x.s);
  Txt t = txt("(%s)", type_name(e->help, elem_of(to), 1).s);
  if (ff && to == POLY_UINT32) return txt("%s(int64_t)%s", t.s, x.s);
  if (ff && !dtype_is_float(to) && dtype_size(to) < 4) return txt("%s(int32_t)%s", t.s, x.s);
  return txt("%s%s", t.s, x.s);
}

static Txt bitcast_scalar(Emit *e, PolyDType from, PolyDType to, Txt x) {
  if (from == to) return x;
  if (dtype_is_small(from)) x = encoded(e, from, 1, x);
  if (to == POLY_BOOL) return txt("%s != 0", x.s);
  if (dtype_is_small(to)) return decoded(e, to, 1, txt("(%s)%s", type_name(e->help, elem_memory(to), 1).s, x.s));
  if (dtype_is_float(from) == dtype_is_float(to) || dtype_is_small(from) || from == POLY_BOOL)
    return txt("(%s)%s", type_name(e->help, elem_of(to), 1).s, x.s);
  if (dtype_is_float(from))
    return txt("(%s)%s(%s)", type_name(e->help, elem_of(to), 1).s, helper(e->help, "bits", elem_of(from), 1).s, x.s);
  return txt("%s(%s)", helper(e->help, "from_bits", elem_of(to), 1).s, x.s);
}

static Txt call_scalar(Emit *e, Op op, PolyDType d, const Txt src[3], int n) {
  Elem el = elem_of(d);
  const char *name = op_info[op].call;
  Txt f = helper_exists(name, el) ? helper(e->help, name, el, 1)
                                  : txt("%s%s", name, el == ELEM_F32 ? e->style->float_suffix : "");
  return n == 1 ? txt("%s(%s)", f.s, src[0].s) : txt("%s(%s, %s)", f.s, src[0].s, src[1].s);
}

Txt muladd_text(Emit *e, PolyDType d, int lanes, Txt a, Txt b, Txt c) {
  return rounded(e, d, lanes, txt("%s(%s, %s, %s)", helper(e->help, "fma", elem_of(d), lanes).s, a.s, b.s, c.s));
}

Txt alu_scalar(Emit *e, int i, const Txt src[3]) {
  const Inst *in = &e->lin->inst[i], *s0 = &e->lin->inst[in->src[0]];
  Op op = (Op)in->op;
  PolyDType d = (PolyDType)in->dtype, from = (PolyDType)s0->dtype;
  const char *infix = infix_of(e, in, from);
  Txt a = src[0];
  /* two constants: C would compute in int */
  if (infix && d == POLY_INT64 && s0->kind == INST_CONST) a = txt("(int64_t)%s", a.s);
  Txt r;
  if (op == OP_CAST) return cast_scalar(e, from, d, a);
  if (op == OP_BITCAST) return bitcast_scalar(e, from, d, a);
  if (op == OP_WHERE) return txt("%s ? %s : %s", a.s, src[1].s, src[2].s);
  if (op == OP_MULACC) return muladd_text(e, d, 1, a, src[1], src[2]);
  if (op == OP_NEG) return d == POLY_BOOL ? a : txt("-%s%s%s", a.s[0] == '-' ? "(" : "", a.s, a.s[0] == '-' ? ")" : "");
  if (op == OP_NOT) return txt(d == POLY_BOOL ? "!%s" : "~%s", a.s);
  if ((op == OP_IDIV || op == OP_MOD) && !infix && (in->flags & 1) && dtype_is_int(d))
    return txt("%s ? %s %s %s : 0", src[1].s, a.s, op == OP_IDIV ? "/" : "%", src[1].s);
  if (from == POLY_BOOL && op == OP_MOD) return txt("0");
  if (is_near_quotient(e, i))
    r = txt("near_quotient(%s, %s)", a.s, src[1].s);
  else if (infix)
    r = txt("%s %s %s", a.s, infix, src[1].s);
  else
    r = call_scalar(e, op, d, src, op_info[op].nsrc);
  return op_info[op].exact ? r : rounded(e, d, 1, r);
}

/* The running value goes second: then only one comparison of max or min waits for it. */
Txt combine_text(Emit *e, Op op, PolyDType d, int lanes, Txt a, Txt b) {
  const char *infix = d == POLY_BOOL ? op_info[op].bools : op_info[op].infix;
  Txt r = infix ? txt("%s %s %s", a.s, infix, b.s)
                : txt("%s(%s, %s)", helper(e->help, op_info[op].call, elem_of(d), lanes).s, b.s, a.s);
  return op_info[op].exact ? r : rounded(e, d, lanes, r);
}

Txt load_text(Emit *e, PolyDType d, int lanes, Txt x) {
  if (d == POLY_BOOL)
    return lanes == 1 ? txt("%s != 0", x.s) : txt("(%s)(%s != 0)", type_name(e->help, ELEM_I8, lanes).s, x.s);
  return dtype_is_small(d) ? decoded(e, d, lanes, x) : x;
}

Txt store_text(Emit *e, PolyDType d, int lanes, Txt x) {
  if (d == POLY_BOOL && lanes > 1) return txt("(%s)(%s & 1)", type_name(e->help, ELEM_U8, lanes).s, x.s);
  return dtype_is_small(d) ? encoded(e, d, lanes, x) : x;
}

/* ---- vectors ---- */

/* Conversions that go through int32 do so because that is what scalar code does, and what the machine has. */
static Txt cast_vector(Emit *e, int i, int copy) {
  const Inst *in = &e->lin->inst[i];
  int s = in->src[0];
  PolyDType d = (PolyDType)in->dtype, from = (PolyDType)e->lin->inst[s].dtype;
  Elem to = elem_of(d), el = elem_of(from);
  if (d == POLY_BOOL) {
    if (from == POLY_BOOL) return vector_mask(e, s, copy, e->at[i].mask);
    return txt("(%s)(%s != 0)", type_name(e->help, elem_signed(elem_size(el)), e->lanes).s, vector_name(e, s, copy).s);
  }
  if (e->at[s].affine && e->at[i].affine_cast) {
    Txt iota = txt("%s()", helper(e->help, "iota", ELEM_I32, e->lanes).s);
    int64_t k = e->at[s].slope;
    if (k != 1) iota = txt("%s * %d", iota.s, (int)k);
    Txt first = scalar_name(e, s);
    if (copy) first = txt("%s + %lld", first.s, (long long)(k * copy * e->lanes));
    return txt("(%s)((int32_t)(%s) + %s)", type_name(e->help, to, e->lanes).s, first.s, iota.s);
  }
  Txt x = vector_name(e, s, copy);
  if (from == POLY_BOOL) {
    int bytes = e->at[s].mask;
    el = elem_signed(bytes);
    x = txt("-%s", x.s);
  }
  if (from == POLY_FLOAT64 && dtype_is_small(d)) return no_text();
  if (el != to) {
    bool through = (elem_is_float(el) && !elem_is_float(to) && elem_size(to) < 4) ||
                   (!elem_is_float(el) && elem_is_float(to) && elem_size(el) < 4);
    if (elem_is_float(el) && (to == ELEM_U32 || to == ELEM_U64)) return no_text();
    if (through) x = convert_steps(e, x, el, ELEM_I32);
    x = convert_steps(e, x, through ? ELEM_I32 : el, to);
  } else if (from == POLY_BOOL) {
    return x;
  }
  return from == d ? x : rounded(e, d, e->lanes, x);
}

static Txt bitcast_vector(Emit *e, int i, int copy) {
  const Inst *in = &e->lin->inst[i];
  int s = in->src[0];
  PolyDType d = (PolyDType)in->dtype, from = (PolyDType)e->lin->inst[s].dtype;
  Txt x = vector_name(e, s, copy);
  if (d == from) return x;
  if (from == POLY_BOOL) {
    x = txt("(%s)-%s", type_name(e->help, elem_memory(d), e->lanes).s, vector_mask(e, s, copy, 1).s);
    return dtype_is_small(d) ? decoded(e, d, e->lanes, x) : x;
  }
  if (dtype_is_small(from)) x = encoded(e, from, e->lanes, x);
  if (d == POLY_BOOL)
    return convert_steps(e, txt("(%s)(%s != 0)", type_name(e->help, ELEM_I8, e->lanes).s, x.s), ELEM_I8,
                         elem_signed(e->at[i].mask));
  if (dtype_is_small(d))
    return decoded(e, d, e->lanes, txt("(%s)%s", type_name(e->help, elem_memory(d), e->lanes).s, x.s));
  return txt("(%s)%s", type_name(e->help, elem_of(d), e->lanes).s, x.s);
}

/* base_a + sa*lane OP base_b + sb*lane, as (sa - sb)*lane OP base_b - base_a in int32: the right side is cut to a range
 * that lanes cannot leave, so nothing changes and no int64 vector is needed. */
static Txt compare_affine(Emit *e, int i, int copy) {
  const Inst *in = &e->lin->inst[i];
  int64_t d = e->at[in->src[0]].slope - e->at[in->src[1]].slope;
  Txt iota = txt("%s()", helper(e->help, "iota", ELEM_I32, e->lanes).s);
  if (d != 1) iota = txt("%s * %d", iota.s, (int)d);
  Txt gap = txt("%s - %s", scalar_name(e, in->src[1]).s, scalar_name(e, in->src[0]).s);
  if (copy) gap = txt("%s - %lld", gap.s, (long long)(d * copy * e->lanes));
  return txt("%s %s %s(%s)", iota.s, op_info[in->op].infix, helper(e->help, "clamp", ELEM_I64, 1).s, gap.s);
}

static Txt bool_vector(Emit *e, int i, int copy) {
  const Inst *in = &e->lin->inst[i];
  Op op = (Op)in->op;
  int bytes = e->at[i].mask, n = op_info[op].nsrc;
  Txt a = vector_mask(e, in->src[0], copy, bytes), b = n > 1 ? vector_mask(e, in->src[1], copy, bytes) : no_text();
  switch (op) {
  case OP_NEG: return a;
  case OP_NOT: return txt("~%s", a.s);
  case OP_CMPLT: return txt("~%s & %s", a.s, b.s);
  case OP_CMPLE: return txt("~%s | %s", a.s, b.s);
  case OP_CMPEQ: return txt("~(%s ^ %s)", a.s, b.s);
  case OP_CMPNE: return txt("%s ^ %s", a.s, b.s);
  case OP_WHERE: {
    Txt c = vector_mask(e, in->src[2], copy, bytes);
    return txt("(%s & %s) | (~%s & %s)", a.s, b.s, a.s, c.s);
  }
  default: return op_info[op].bools ? txt("%s %s %s", a.s, op_info[op].bools, b.s) : no_text();
  }
}

static Txt where_vector(Emit *e, int i, int copy) {
  const Inst *in = &e->lin->inst[i];
  Elem el = elem_of((PolyDType)in->dtype);
  if (!e->at[in->src[0]].vary)
    return txt("%s ? %s : %s", scalar_name(e, in->src[0]).s, vector_name(e, in->src[1], copy).s,
               vector_name(e, in->src[2], copy).s);
  return txt("%s(%s, %s, %s)", helper(e->help, "where", el, e->lanes).s,
             vector_mask(e, in->src[0], copy, elem_size(el)).s, vector_name(e, in->src[1], copy).s,
             vector_name(e, in->src[2], copy).s);
}

Txt alu_vector(Emit *e, int i, int copy) {
  const Inst *in = &e->lin->inst[i];
  Op op = (Op)in->op;
  PolyDType d = (PolyDType)in->dtype, from = (PolyDType)e->lin->inst[in->src[0]].dtype;
  Elem el = elem_of(d);
  if (op == OP_CAST) return cast_vector(e, i, copy);
  if (op == OP_BITCAST) return bitcast_vector(e, i, copy);
  if (d == POLY_BOOL && (from == POLY_BOOL || op == OP_WHERE)) return bool_vector(e, i, copy);
  if (op == OP_WHERE) return where_vector(e, i, copy);
  if (op == OP_MULACC)
    return muladd_text(e, d, e->lanes, vector_name(e, in->src[0], copy), vector_name(e, in->src[1], copy),
                       vector_name(e, in->src[2], copy));
  if (e->at[i].affine_compare) return compare_affine(e, i, copy);
  const char *infix = infix_of(e, in, from);
  if (infix) {
    bool shift = op == OP_SHL || op == OP_SHR;
    Txt a = shift ? vector_name(e, in->src[0], copy) : vector_operand(e, in->src[0], copy);
    Txt r = txt("%s %s %s", a.s, infix, vector_operand(e, in->src[1], copy).s);
    if (is_compare(op)) return txt("(%s)(%s)", type_name(e->help, elem_signed(e->at[i].mask), e->lanes).s, r.s);
    return rounded(e, d, e->lanes, r);
  }
  if (op == OP_NEG || op == OP_NOT) return txt("%c%s", op == OP_NEG ? '-' : '~', vector_name(e, in->src[0], copy).s);
  if (!op_info[op].call || !helper_exists(op_info[op].call, el)) return no_text();
  Txt f = helper(e->help, op_info[op].call, el, e->lanes), a = vector_name(e, in->src[0], copy), r;
  if (op_info[op].nsrc == 1)
    r = txt("%s(%s)", f.s, a.s);
  else
    r = txt("%s(%s, %s)", f.s, a.s, vector_name(e, in->src[1], copy).s);
  return op_info[op].exact ? r : rounded(e, d, e->lanes, r);
}
