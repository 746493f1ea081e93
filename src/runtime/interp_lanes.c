/* interp_lanes.c: the interpreter's loops of lanes. In: a loop that is marked LOOP_VECTOR. Out: codes that run a block
 * of its iterations, one operation at a time on all of them, so that finding out what to do costs little for each.
 *
 *   y[i] = exp(x[i]) * n        LANES_LOOP i         the first block begins; a short loop goes on as scalars
 *                               SPREAD n             what does not change in the loop, once
 *                               LOAD x               32 values, from the index of the first and a stride
 *                               EXP, MUL             32 values each
 *                               STORE y
 *                               LANES_END i          the next block
 *
 * What each instruction needs is the analysis of ir/lanes.c, as it is for rendered code: a value that is the same for
 * all lanes, or needed at the first of them alone, is a scalar of interp.c; so are loops inside. Iterations of a loop
 * of lanes are independent, so the order does not show. Sums along the loop are added to the partial results that the
 * marks on the loop say, in the order of iterations: the bits are those of the loop as scalars.
 *
 * Left to the scalars: lanes of two loops, groups, and sums to which a body adds more than once. */
#include "runtime/interp.h"

enum { SHORT = 6 }; /* iterations that are quicker one by one */

/* Codes are those of interp.c, on lanes; and these. */
enum {
  LANES_LOOP = 2 * CODE_LANES,
  LANES_END,
  LANES_SPREAD, /* a scalar to all lanes */
  LANES_AFFINE, /* a scalar plus lane times u.value */
  LANES_SUM,    /* to: which of u.sums; b: the second factor, -1: none; c: the loop */
  LANES_STRIDE, /* + dtype: a LOAD whose index is a scalar, plus lane times u.value */
  LANES_STORE_STRIDE = LANES_STRIDE + POLY_DTYPE_COUNT
};
enum { W = INTERP_LANES };

/* A register of the result is one of the operands or none of their memory. */
#if defined(__GNUC__) && !defined(__clang__)
#define LANES _Pragma("GCC ivdep")
#else
#define LANES
#endif

/* ---- decoding ---- */

static bool is_vector(const LaneDecode *d, int i) {
  const Inst *in = &d->lin->inst[i];
  const Place *p = d->place;
  switch ((InstKind)in->kind) {
  case INST_STORE:
    for (int k = 0; k < 3; k++)
      if (in->src[k] >= 0 && p[in->src[k]].vary) return true;
    return false;
  case INST_UPDATE: return p[in->src[0]].vary || outer_acc(d->lin, p, i);
  case INST_ACC: return p[i].vary;
  default: return p[i].vary && p[i].vector;
  }
}

static bool is_scalar(const LaneDecode *d, int i) {
  const Inst *in = &d->lin->inst[i];
  const Place *p = &d->place[i];
  switch ((InstKind)in->kind) {
  case INST_STORE: return !is_vector(d, i);
  case INST_UPDATE: return !outer_acc(d->lin, d->place, i) && (!d->place[in->src[0]].vary || d->place[in->src[0]].base);
  default: return !p->vary || p->base || p->affine;
  }
}

static int vector_of(LaneDecode *d, int i) {
  if (d->vec[i] < 0) d->vec[i] = d->nvec++;
  d->most = MAX(d->most, d->nvec);
  return d->vec[i];
}

static void put(LaneDecode *d, Code c) { *(*d->at)++ = c; }

static void put_affine(LaneDecode *d, int i, int64_t slope) {
  put(d, (Code){.what = LANES_AFFINE, .dst = vector_of(d, i), .a = i, .u = {.value = {.i = slope}}});
}

static void put_spread(LaneDecode *d, int i) {
  put(d, (Code){.what = LANES_SPREAD, .dtype = d->lin->inst[i].dtype, .dst = vector_of(d, i), .a = i});
}

/* The register of lanes of a source; if it has none, code that fills one. */
static int source(LaneDecode *d, int loop, int i) {
  if (i < 0) return -1;
  const Place *p = &d->place[i];
  bool inside = i >= loop;
  if (inside && p->vary && !p->vector && d->lin->inst[i].kind != INST_ACC && p->affine) put_affine(d, i, p->slope);
  if (inside && !p->vary) put_spread(d, i);
  return vector_of(d, i);
}

/* Which sources are read as lanes? LOAD and STORE: the index only where it has no stride. */
static bool reads_lanes(const LaneDecode *d, int i, int k) {
  const Inst *in = &d->lin->inst[i];
  bool memory = in->kind == INST_LOAD || in->kind == INST_STORE;
  if (in->src[k] < 0 || (in->kind == INST_UPDATE && k == 0)) return false;
  return !memory || k > 0 || lane_stride(d->lin, d->place, i) == STRIDE_NONE;
}

static void put_memory(LaneDecode *d, const Inst *in, int i, Code c) {
  bool load = in->kind == INST_LOAD;
  int64_t stride = lane_stride(d->lin, d->place, i);
  c.to = in->param;
  c.c = load ? c.b : c.c;
  if (stride == STRIDE_NONE) {
    c.what = (uint16_t)((load ? CODE_LOAD : CODE_STORE) + in->dtype + CODE_LANES);
  } else {
    c.what = (uint16_t)((load ? LANES_STRIDE : LANES_STORE_STRIDE) + in->dtype);
    c.a = in->src[0];
    c.u.value.i = stride;
  }
  put(d, c);
}

static void put_update(LaneDecode *d, const Inst *in, int i, int loop, Code c) {
  int acc = in->src[0];
  Sums *s = outer_acc(d->lin, d->place, i) ? d->sums[loop] : NULL;
  int op = in->src[2] < 0 ? in->op : OP_MULACC;
  c.dtype = d->lin->inst[acc].dtype;
  if (s) {
    int k = 0;
    while (s->sum[k].acc != acc) k++;
    put(d, (Code){.what = LANES_SUM,
                  .dtype = c.dtype,
                  .from = (uint8_t)op,
                  .a = c.b,
                  .b = c.c,
                  .c = loop,
                  .to = k,
                  .u = {.sums = s}});
    return;
  }
  int vec = vector_of(d, acc);
  put(d, (Code){.what = (uint16_t)(op * CLS_COUNT + class_of[c.dtype] + CODE_LANES),
                .dtype = c.dtype,
                .dst = vec,
                .a = c.b,
                .b = c.c >= 0 ? c.c : vec,
                .c = vec});
}

static void put_vector(LaneDecode *d, int loop, int i) {
  const Inst *in = &d->lin->inst[i];
  if (in->kind == INST_ALU && d->place[i].affine) {
    put_affine(d, i, d->place[i].slope);
    return;
  }
  int src[3];
  for (int k = 0; k < 3; k++) src[k] = reads_lanes(d, i, k) ? source(d, loop, in->src[k]) : -1;
  Code c = {.dtype = in->dtype, .a = src[0], .b = src[1], .c = src[2]};
  if (in->kind != INST_STORE && in->kind != INST_UPDATE) c.dst = vector_of(d, i);
  switch ((InstKind)in->kind) {
  case INST_ALU:
    d->alu(d->lin, in, &c);
    c.what = (uint16_t)(c.what + CODE_LANES);
    if (c.b < 0) c.b = c.a;
    put(d, c);
    break;
  case INST_LOAD:
  case INST_STORE: put_memory(d, in, i, c); break;
  case INST_CHECK:
    c.what = CODE_CHECK + CODE_LANES;
    put(d, c);
    break;
  case INST_ACC:
    c.what = CODE_SET + CODE_LANES;
    c.u.value = cell_of(value_identity((Op)in->op, (PolyDType)in->dtype), in->dtype);
    put(d, c);
    break;
  case INST_UPDATE: put_update(d, in, i, loop, c); break;
  default: break;
  }
}

/* Can it be run in blocks? A sum gets one value an iteration, not inside a loop of the body: with several the order of
 * additions would be another. */
static bool suitable(const LaneDecode *d, int loop) {
  const Linear *lin = d->lin;
  int depth = 0;
  if (d->place[loop].outer >= 0) return false;
  for (int i = loop + 1; i < d->place[loop].end; i++) {
    const Inst *in = &lin->inst[i];
    depth += (in->kind == INST_LOOP) - (in->kind == INST_END);
    if (in->kind == INST_COMBINE || in->kind == INST_FENCE) return false;
    for (int k = 0; k < 3 && in->kind != INST_UPDATE && in->kind != INST_END; k++)
      if (in->src[k] >= 0 && in->src[k] < loop && lin->inst[in->src[k]].kind == INST_ACC && d->sums[loop])
        for (int j = 0; j < d->sums[loop]->n; j++)
          if (d->sums[loop]->sum[j].acc == in->src[k]) return false;
    if (!outer_acc(lin, d->place, i)) continue;
    if (depth || !d->sums[loop]) return false;
    for (int k = i + 1; k < d->place[loop].end; k++)
      if (lin->inst[k].kind == INST_UPDATE && lin->inst[k].src[0] == in->src[0]) return false;
  }
  return true;
}

bool lanes_decode(LaneDecode *d, int loop, int *first, int *last) {
  const Inst *in = &d->lin->inst[loop];
  int end = d->place[loop].end;
  if (!suitable(d, loop)) return false;
  d->nvec = 0; /* registers serve one loop after the other */
  for (int i = 0; i < end; i++) d->vec[i] = -1;
  *first = (int)(*d->at - d->code);
  put(d, (Code){.what = LANES_LOOP, .dst = loop, .a = in->src[0], .b = in->src[1], .u = {.sums = d->sums[loop]}});
  for (int i = loop + 1; i < end; i++) {
    if (!is_vector(d, i) || (d->lin->inst[i].kind == INST_ALU && d->place[i].affine)) continue;
    for (int k = 0; k < 3; k++) {
      int s = d->lin->inst[i].src[k];
      if (reads_lanes(d, i, k) && s < loop && d->vec[s] < 0) put_spread(d, s);
    }
  }
  int body = (int)(*d->at - d->code);
  if (d->place[loop].vector) put_affine(d, loop, 1);
  for (int i = loop + 1; i < end; i++) {
    if (is_scalar(d, i)) d->scalar(d->user, i);
    if (is_vector(d, i)) put_vector(d, loop, i);
  }
  *last = (int)(*d->at - d->code);
  put(d, (Code){.what = LANES_END, .dst = loop, .b = in->src[1], .c = body, .u = {.sums = d->sums[loop]}});
  return true;
}

/* ---- blocks ---- */

/* How many iterations from `at` on are one block: partial results change at the end of their steps. */
static int block_of(const Sums *s, int64_t at, int64_t end) {
  int64_t stop = !s ? end : at < s->steps ? s->steps : s->stop;
  return (int)MIN(stop - at, W);
}

static const Code *begin_block(const Code *code, const Code *c, Cell *r, LaneRun *run) {
  int64_t at = r[c->a].i, end = r[c->b].i;
  if (end - at < SHORT) return code + c->to - 1;
  r[c->dst].i = at;
  if (c->u.sums) sums_open(c->u.sums, r, true, at, end);
  run->n = block_of(c->u.sums, at, end);
  return c;
}

static const Code *next_block(const Code *code, const Code *c, Cell *r, LaneRun *run) {
  int64_t at = r[c->dst].i += run->n, end = r[c->b].i;
  Sums *s = c->u.sums;
  if (s && at == s->stop) {
    if (s->parts) sums_close(s, r);
    if (at < end) sums_open(s, r, false, at, end);
  }
  if (at >= end) return code + c->to - 1;
  run->n = block_of(s, at, end);
  return code + c->c - 1;
}

/* ---- sums ---- */

static void add_sum(const Code *c, Cell *r, const LaneRun *run, int64_t at) {
  const Sums *s = c->u.sums;
  const Sum *sum = &s->sum[c->to];
  const Lanes *x = &run->v[c->a], *y = c->b >= 0 ? &run->v[c->b] : NULL;
  int parts = !s->parts ? 1 : at < s->steps ? s->parts : s->lanes, k = s->parts ? (int)((at - s->first) % parts) : 0;
  Cell *to = &r[s->parts ? sum->part : sum->acc];
  int cls = class_of[c->dtype], what = c->from * CLS_COUNT + cls;
  for (int l = 0; l < run->n; l++) {
    Cell *p = &to[k];
    if (++k == parts) k = 0;
    switch (what) {
    case K(ADD, F): p->f = x->f[l] + p->f; break;
    case K(MULACC, F): p->f = fmaf(x->f[l], y->f[l], p->f); break;
    case K(MULACC, H): p->f = narrow(c->dtype, fmaf(x->f[l], y->f[l], p->f)); break;
    case K(MULACC, D): p->d = fma(x->d[l], y->d[l], p->d); break;
    default: {
      Cell v = cls == CLS_F || cls == CLS_H ? (Cell){.f = x->f[l]} : (Cell){.u = x->u[l]};
      *p = combine(c->from, c->dtype, v, *p);
      if (cls == CLS_H) p->f = narrow(c->dtype, p->f);
    }
    }
  }
}

/* ---- memory ---- */

/* One by one where there is a gate: what it leaves out is neither read nor written. */
#define EACH(place, move)                                                                                              \
  if (gate)                                                                                                            \
    for (int l = 0; l < n; l++) {                                                                                      \
      int64_t at = gate->i[l] ? (place) : 0;                                                                           \
      if (gate->i[l])                                                                                                  \
        move;                                                                                                          \
      else                                                                                                             \
        NONE;                                                                                                          \
    }                                                                                                                  \
  else                                                                                                                 \
    for (int l = 0; l < n; l++) {                                                                                      \
      int64_t at = (place);                                                                                            \
      move;                                                                                                            \
    }
#define DTYPE(dt, move)                                                                                                \
  case dt:                                                                                                             \
    if (index) {                                                                                                       \
      EACH(index->i[l], move)                                                                                          \
    } else if (stride == 1) {                                                                                          \
      EACH(base + l, move)                                                                                             \
    } else {                                                                                                           \
      EACH(base + l * stride, move)                                                                                    \
    }                                                                                                                  \
    break;

static void load_lanes(Lanes *to, const void *p, int dtype, const Lanes *index, int64_t base, int64_t stride,
                       const Lanes *gate, int n) {
#define NONE to->u[l] = 0
#define INT(dt, T) DTYPE(dt, to->i[l] = ((const T *)p)[at])
  switch (dtype) {
    DTYPE(POLY_BOOL, to->i[l] = ((const uint8_t *)p)[at] != 0)
    INT(POLY_INT8, int8_t)
    INT(POLY_UINT8, uint8_t)
    INT(POLY_INT16, int16_t)
    INT(POLY_UINT16, uint16_t)
    INT(POLY_INT32, int32_t)
    INT(POLY_UINT32, uint32_t)
#undef NONE
#define NONE to->f[l] = 0
    DTYPE(POLY_FP8E4M3, to->f[l] = e4m3_to_float(((const uint8_t *)p)[at]))
    DTYPE(POLY_FP8E5M2, to->f[l] = e5m2_to_float(((const uint8_t *)p)[at]))
    DTYPE(POLY_FLOAT16, to->f[l] = half_to_float(((const uint16_t *)p)[at]))
    DTYPE(POLY_BFLOAT16, to->f[l] = bfloat_to_float(((const uint16_t *)p)[at]))
    DTYPE(POLY_FLOAT32, to->f[l] = ((const float *)p)[at])
#undef NONE
#define NONE to->u[l] = 0
  default:
    if (index) {
      EACH(index->i[l], to->u[l] = ((const uint64_t *)p)[at])
    } else {
      EACH(base + l * stride, to->u[l] = ((const uint64_t *)p)[at])
    }
  }
#undef NONE
}

static void store_lanes(const Lanes *v, void *p, int dtype, const Lanes *index, int64_t base, int64_t stride,
                        const Lanes *gate, int n) {
#define NONE (void)0
  switch (dtype) {
    DTYPE(POLY_BOOL, ((uint8_t *)p)[at] = (uint8_t)v->u[l])
    DTYPE(POLY_INT32, ((uint32_t *)p)[at] = (uint32_t)v->u[l])
    DTYPE(POLY_FLOAT32, ((float *)p)[at] = v->f[l])
  default: {
    bool single = class_of[dtype] == CLS_H;
    if (index) {
      EACH(index->i[l], store(p, at, single ? (Cell){.f = v->f[l]} : (Cell){.u = v->u[l]}, dtype))
    } else {
      EACH(base + l * stride, store(p, at, single ? (Cell){.f = v->f[l]} : (Cell){.u = v->u[l]}, dtype))
    }
  }
  }
#undef NONE
}

/* The first lane whose index is out of range, -1: none. */
static int check_lanes(Lanes *to, const Lanes *index, const Lanes *size, const Lanes *gate, int n) {
  for (int l = 0; l < n; l++) {
    if (gate && !gate->i[l]) {
      to->i[l] = 0;
      continue;
    }
    if (index->u[l] >= size->u[l]) return l;
    to->i[l] = index->i[l];
  }
  return -1;
}

/* ---- arithmetic ---- */

#if defined(__x86_64__) || defined(__i386__)
__attribute__((target("avx2,fma"))) static void fused_avx2(float *to, const float *x, const float *y, const float *z) {
  LANES for (int l = 0; l < W; l++) to[l] = __builtin_fmaf(x[l], y[l], z[l]);
}
#endif

static void fused(float *to, const float *x, const float *y, const float *z, int n) {
#if defined(__x86_64__) || defined(__i386__)
  if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2")) {
    fused_avx2(to, x, y, z);
    return;
  }
#endif
  for (int l = 0; l < n; l++) to[l] = fmaf(x[l], y[l], z[l]);
}

static void wrap_lanes(Lanes *v, int dtype, int n) {
  switch (dtype) {
  case POLY_BOOL:
    for (int l = 0; l < n; l++) v->i[l] = wrap(POLY_BOOL, v->i[l]);
    break;
  case POLY_INT32:
    for (int l = 0; l < W; l++) v->i[l] = (int32_t)v->u[l];
    break;
  case POLY_UINT32:
    for (int l = 0; l < W; l++) v->i[l] = (uint32_t)v->u[l];
    break;
  case POLY_INT64:
  case POLY_UINT64: break;
  default:
    for (int l = 0; l < n; l++) v->i[l] = wrap(dtype, v->i[l]);
  }
}

static void narrow_lanes(Lanes *v, int dtype, int n) {
  for (int l = 0; l < n; l++) v->f[l] = narrow(dtype, v->f[l]);
}

static Cell lane(const Lanes *v, int dtype, int l) {
  bool single = class_of[dtype] == CLS_F || class_of[dtype] == CLS_H;
  return single ? (Cell){.f = v->f[l]} : (Cell){.u = v->u[l]};
}

static void set_lane(Lanes *v, int dtype, int l, Cell c) {
  if (class_of[dtype] == CLS_F || class_of[dtype] == CLS_H)
    v->f[l] = c.f;
  else
    v->u[l] = c.u;
}

static void cast_lanes(const Code *c, Lanes *to, const Lanes *x, int n) {
  if (class_of[c->from] == CLS_W && class_of[c->dtype] == CLS_F) {
    LANES for (int l = 0; l < W; l++) to->f[l] = (float)x->i[l];
    return;
  }
  for (int l = 0; l < n; l++) set_lane(to, c->dtype, l, convert(lane(x, c->from, l), c->from, c->dtype));
}

#define R run->v[c->dst]
#define A run->v[c->a]
#define B run->v[c->b]
/* Simple ones for all lanes of a register, those beyond the block included: a loop of a fixed length is quicker. */
#define ALL(T, field, e)                                                                                               \
  do {                                                                                                                 \
    LANES for (int l = 0; l < W; l++) {                                                                                \
      T x = A.field[l], y = B.field[l];                                                                                \
      (void)y;                                                                                                         \
      R.field[l] = (T)(e);                                                                                             \
    }                                                                                                                  \
  } while (0)
#define SOME(T, field, e)                                                                                              \
  do {                                                                                                                 \
    for (int l = 0; l < run->n; l++) {                                                                                 \
      T x = A.field[l], y = B.field[l];                                                                                \
      R.field[l] = (T)(e);                                                                                             \
    }                                                                                                                  \
  } while (0)
#define INTS(op, e)                                                                                                    \
  case K(op, I):                                                                                                       \
  case K(op, U): ALL(uint64_t, u, e); break;                                                                           \
  case K(op, W):                                                                                                       \
    ALL(uint64_t, u, e);                                                                                               \
    wrap_lanes(&R, c->dtype, run->n);                                                                                  \
    break;
#define INTS_SIGNED(op, s, un)                                                                                         \
  case K(op, I):                                                                                                       \
  case K(op, W): {                                                                                                     \
    int width = width_of[c->dtype];                                                                                    \
    (void)width;                                                                                                       \
    SOME(int64_t, i, s);                                                                                               \
    wrap_lanes(&R, c->dtype, run->n);                                                                                  \
    break;                                                                                                             \
  }                                                                                                                    \
  case K(op, U):                                                                                                       \
    SOME(uint64_t, u, un);                                                                                             \
    break;
#define FLOATS(loop, op, e)                                                                                            \
  case K(op, F): loop(float, f, e); break;                                                                             \
  case K(op, H):                                                                                                       \
    loop(float, f, e);                                                                                                 \
    narrow_lanes(&R, c->dtype, run->n);                                                                                \
    break;                                                                                                             \
  case K(op, D):                                                                                                       \
    loop(double, d, e);                                                                                                \
    break;
#define PAIRS(field, sign) LANES for (int l = 0; l < W; l++) R.i[l] = A.field[l] sign B.field[l]
#define COMPARE(op, sign)                                                                                              \
  case K(op, I):                                                                                                       \
  case K(op, W): PAIRS(i, sign); break;                                                                                \
  case K(op, U): PAIRS(u, sign); break;                                                                                \
  case K(op, D): PAIRS(d, sign); break;                                                                                \
  case K(op, F):                                                                                                       \
  case K(op, H): PAIRS(f, sign); break;

static void alu_lanes(const Code *c, int what, const LaneRun *run) {
  switch (what) {
    INTS(NEG, 0 - x)
    FLOATS(ALL, NEG, -x)
    INTS(NOT, c->dtype == POLY_BOOL ? !x : ~x)
    INTS(ADD, x + y)
    FLOATS(ALL, ADD, x + y)
    INTS(SUB, x - y)
    FLOATS(ALL, SUB, x - y)
    INTS(MUL, x * y)
    FLOATS(ALL, MUL, x * y)
    FLOATS(ALL, DIV, x / y)
    FLOATS(SOME, POW, POWER(x, y))
    FLOATS(SOME, FMOD, fmod(x, y))
    INTS_SIGNED(IDIV, floor_div(x, y), y ? x / y : 0)
    INTS_SIGNED(MOD, floor_mod(x, y), y ? x % y : 0)
    INTS_SIGNED(MAX, x > y ? x : y, x > y ? x : y)
    INTS_SIGNED(MIN, x < y ? x : y, x < y ? x : y)
    FLOATS(ALL, MAX, x != x || x > y ? x : y)
    FLOATS(ALL, MIN, x != x || x < y ? x : y)
    INTS(AND, x & y)
    INTS(OR, x | y)
    INTS(XOR, x ^ y)
    INTS_SIGNED(SHL, shift_left(x, y, width), y < 64 ? x << y : 0)
    INTS_SIGNED(SHR, shift_right(x, y, width), y < 64 ? x >> y : 0)
    INTS(TRUNC, x)
    INTS(FLOOR, x)
    INTS(CEIL, x)
    INTS(ROUND, x)
    COMPARE(CMPLT, <)
    COMPARE(CMPLE, <=)
    COMPARE(CMPEQ, ==)
    COMPARE(CMPNE, !=)
  case K(MULACC, F): fused(R.f, A.f, B.f, run->v[c->c].f, run->n); break;
  case K(MULACC, H):
    fused(R.f, A.f, B.f, run->v[c->c].f, run->n);
    narrow_lanes(&R, c->dtype, run->n);
    break;
  case K(MULACC, D):
    for (int l = 0; l < run->n; l++) R.d[l] = fma(A.d[l], B.d[l], run->v[c->c].d[l]);
    break;
  case CODE_FN_F:
    for (int l = 0; l < run->n; l++) R.f[l] = c->u.ffn(A.f[l]);
    break;
  case CODE_FN_H:
    for (int l = 0; l < run->n; l++) R.f[l] = narrow(c->dtype, c->u.ffn(A.f[l]));
    break;
  case CODE_FN_D:
    for (int l = 0; l < run->n; l++) R.d[l] = c->u.fn(A.d[l]);
    break;
  case CODE_WHERE:
    if (class_of[c->dtype] == CLS_F || class_of[c->dtype] == CLS_H)
      LANES for (int l = 0; l < W; l++) R.f[l] = A.i[l] ? B.f[l] : run->v[c->c].f[l];
    else
      LANES for (int l = 0; l < W; l++) R.u[l] = A.i[l] ? B.u[l] : run->v[c->c].u[l];
    break;
  case CODE_CAST: cast_lanes(c, &R, &A, run->n); break;
  case CODE_WRAP:
    memcpy(&R, &A, sizeof R);
    wrap_lanes(&R, c->dtype, run->n);
    break;
  case CODE_BITCAST:
    for (int l = 0; l < run->n; l++) set_lane(&R, c->dtype, l, bitcast(lane(&A, c->from, l), c->from, c->dtype));
    break;
  case CODE_SET:
    for (int l = 0; l < W; l++) set_lane(&R, c->dtype, l, c->u.value);
    break;
  default: break;
  }
}

static const Lanes *lanes_or_none(const LaneRun *run, int k) { return k >= 0 ? &run->v[k] : NULL; }

const Code *lanes_step(const Code *code, const Code *c, Cell *r, void *const *args, LaneRun *run) {
  const Lanes *gate;
  switch (c->what) {
  case LANES_LOOP: return begin_block(code, c, r, run);
  case LANES_END: return next_block(code, c, r, run);
  case LANES_SPREAD:
    for (int l = 0; l < W; l++) set_lane(&R, c->dtype, l, r[c->a]);
    return c;
  case LANES_AFFINE:
    for (int l = 0; l < W; l++) R.i[l] = r[c->a].i + l * c->u.value.i;
    return c;
  case LANES_SUM: add_sum(c, r, run, r[c->c].i); return c;
  default: break;
  }
  gate = lanes_or_none(run, c->c);
  if (c->what >= LANES_STORE_STRIDE) {
    store_lanes(&B, args[c->to], c->dtype, NULL, r[c->a].i, c->u.value.i, gate, run->n);
  } else if (c->what >= LANES_STRIDE) {
    load_lanes(&R, args[c->to], c->dtype, NULL, r[c->a].i, c->u.value.i, gate, run->n);
  } else if (c->what >= CODE_STORE + CODE_LANES) {
    store_lanes(&B, args[c->to], c->dtype, &A, 0, 0, gate, run->n);
  } else if (c->what >= CODE_LOAD + CODE_LANES) {
    load_lanes(&R, args[c->to], c->dtype, &A, 0, 0, gate, run->n);
  } else if (c->what == CODE_CHECK + CODE_LANES) {
    int bad = check_lanes(&R, &A, &B, gate, run->n);
    if (bad < 0) return c;
    run->index = A.i[bad];
    run->size = B.i[bad];
    return NULL;
  } else {
    alu_lanes(c, c->what - CODE_LANES, run);
  }
  return c;
}
