/* interp.h: what the two halves of the interpreter share: registers, codes, scalars. interp.c decodes kernels and runs
 * them one scalar at a time; interp_lanes.c runs loops that are marked for lanes, a block of iterations at a time.
 * Private to the interpreter. */
#ifndef POLY_INTERP_H
#define POLY_INTERP_H

#include "ir/eval.h"
#include "ir/lanes.h"
#include "runtime/float_math.h"
#include "runtime/host.h"

#include <math.h>
#include <string.h>

typedef union Cell {
  int64_t i;
  uint64_t u;
  double d;
  float f;
} Cell;

/* Classes of dtypes that one piece of code serves. */
typedef enum Class {
  CLS_I, /* int64 */
  CLS_W, /* bool and the narrower integers: as int64, then wrapped */
  CLS_U, /* uint64 */
  CLS_F, /* float32 */
  CLS_H, /* floats of 8 and 16 bits: as float, then rounded */
  CLS_D, /* float64 */
  CLS_COUNT
} Class;

/* Numbers of codes: op * CLS_COUNT + class for ALU operations, then these. */
enum {
  CODE_BASE = OP_COUNT * CLS_COUNT,
  CODE_FN_F, /* a function of the mathematical library */
  CODE_FN_H,
  CODE_FN_D,
  CODE_WHERE,
  CODE_CAST,
  CODE_WRAP, /* integer to integer */
  CODE_BITCAST,
  CODE_LOOP,
  CODE_END,
  CODE_LOOP_SUMS, /* a loop that reduces along lanes */
  CODE_END_SUMS,
  CODE_SET, /* an accumulator begins */
  CODE_CHECK,
  CODE_GATE,       /* unless c: dst = 0, and the next code is skipped */
  CODE_GROUP_LOOP, /* c: the register of the thread's number; u: threads */
  CODE_GROUP_END,
  CODE_COMBINE, /* dst over all threads, by `from` */
  CODE_FENCE,
  CODE_STOP,
  CODE_LOAD,                                 /* + dtype */
  CODE_STORE = CODE_LOAD + POLY_DTYPE_COUNT, /* + dtype */
  CODE_LANES = CODE_STORE + POLY_DTYPE_COUNT /* from here on: interp_lanes.c */
};

typedef double (*MathFn)(double);
typedef float (*FloatFn)(float);

/* One accumulator of a reduction along lanes: its partial results, and the one that this iteration adds to. */
typedef struct Sum {
  int acc, now, part; /* cells; part: the first of lanes * copies */
  uint8_t op, dtype;
} Sum;

/* A loop whose lanes add to accumulators from outside it: in which order is in ir/linear.h. */
typedef struct Sums {
  int n, lanes, copies, tail;
  bool constant;   /* its bounds are */
  bool neighbours; /* one of the loops inside outer lanes */
  Sum *sum;
  /* while it runs: iterations first .. stop-1 go to `parts` partial results, those from `steps` on to the first `lanes`
   */
  int64_t first, steps, stop;
  int parts;
} Sums;

typedef struct Code {
  uint16_t what;
  uint8_t dtype, from; /* of the value; CAST and BITCAST: of the source */
  int32_t dst, a, b, c;
  int32_t to; /* LOOP, END: where to jump; LOAD, STORE: which argument */
  union {
    MathFn fn;   /* of float64 */
    FloatFn ffn; /* of float32, and of the half types */
    Sums *sums;
    Cell value;
  } u;
} Code;

static const uint8_t class_of[POLY_DTYPE_COUNT] = {
    [POLY_BOOL] = CLS_W,     [POLY_INT8] = CLS_W,    [POLY_UINT8] = CLS_W,   [POLY_INT16] = CLS_W,
    [POLY_UINT16] = CLS_W,   [POLY_INT32] = CLS_W,   [POLY_UINT32] = CLS_W,  [POLY_INT64] = CLS_I,
    [POLY_UINT64] = CLS_U,   [POLY_FP8E4M3] = CLS_H, [POLY_FP8E5M2] = CLS_H, [POLY_FLOAT16] = CLS_H,
    [POLY_BFLOAT16] = CLS_H, [POLY_FLOAT32] = CLS_F, [POLY_FLOAT64] = CLS_D};

static const uint8_t width_of[POLY_DTYPE_COUNT] = {
    [POLY_BOOL] = 1,   [POLY_INT8] = 8,    [POLY_UINT8] = 8,  [POLY_INT16] = 16, [POLY_UINT16] = 16,
    [POLY_INT32] = 32, [POLY_UINT32] = 32, [POLY_INT64] = 64, [POLY_UINT64] = 64};

/* ---- scalars ---- */

static inline int64_t wrap(int dtype, int64_t v) { return dtype_wrap((PolyDType)dtype, (uint64_t)v); }

/* Rounding a sum, product, quotient or root first to float and then to 16 bits or 8 gives what one rounding would. */
static inline float narrow(int dtype, float v) {
  switch (dtype) {
  case POLY_FP8E4M3: return e4m3_to_float(float_to_e4m3(v));
  case POLY_FP8E5M2: return e5m2_to_float(float_to_e5m2(v));
  case POLY_FLOAT16: return half_to_float(float_to_half(v));
  default: return bfloat_to_float(float_to_bfloat(v));
  }
}

static inline int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

static inline int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t m = a % b;
  return m && (m < 0) != (b < 0) ? m + b : m;
}

static inline int64_t shift_left(int64_t a, int64_t n, int width) {
  return (uint64_t)n < (uint64_t)width ? (int64_t)((uint64_t)a << n) : 0;
}

static inline int64_t shift_right(int64_t a, int64_t n, int width) {
  if ((uint64_t)n >= (uint64_t)width) return a < 0 ? -1 : 0;
  return a < 0 ? ~(int64_t)(~(uint64_t)a >> n) : (int64_t)((uint64_t)a >> n);
}

/* Between a register and the scalars of eval.h, which hold every float as a double. */
static inline Value value_of(Cell c, int dtype) {
  switch (class_of[dtype]) {
  case CLS_D: return (Value){.f = c.d};
  case CLS_F:
  case CLS_H: return (Value){.f = (double)c.f};
  default: return (Value){.i = c.i};
  }
}

static inline Cell cell_of(Value v, int dtype) {
  switch (class_of[dtype]) {
  case CLS_D: return (Cell){.d = v.f};
  case CLS_F:
  case CLS_H: return (Cell){.f = (float)v.f};
  default: return (Cell){.i = v.i};
  }
}

static inline Cell convert(Cell c, int from, int to) {
  return cell_of(value_cast(value_of(c, from), (PolyDType)from, (PolyDType)to), to);
}

static inline void store(void *p, int64_t i, Cell v, int dtype) {
  switch (dtype) {
  case POLY_BOOL:
  case POLY_INT8:
  case POLY_UINT8: ((uint8_t *)p)[i] = (uint8_t)v.i; break;
  case POLY_INT16:
  case POLY_UINT16: ((uint16_t *)p)[i] = (uint16_t)v.i; break;
  case POLY_INT32:
  case POLY_UINT32: ((uint32_t *)p)[i] = (uint32_t)v.i; break;
  case POLY_FP8E4M3: ((uint8_t *)p)[i] = float_to_e4m3(v.f); break;
  case POLY_FP8E5M2: ((uint8_t *)p)[i] = float_to_e5m2(v.f); break;
  case POLY_FLOAT16: ((uint16_t *)p)[i] = float_to_half(v.f); break;
  case POLY_BFLOAT16: ((uint16_t *)p)[i] = float_to_bfloat(v.f); break;
  case POLY_FLOAT32: ((float *)p)[i] = v.f; break;
  default: ((uint64_t *)p)[i] = v.u;
  }
}

static inline Cell load(const void *p, int64_t i, int dtype) {
  Cell v = {0};
  switch (dtype) {
  case POLY_BOOL: v.i = ((const uint8_t *)p)[i] != 0; break;
  case POLY_INT8: v.i = ((const int8_t *)p)[i]; break;
  case POLY_UINT8: v.i = ((const uint8_t *)p)[i]; break;
  case POLY_INT16: v.i = ((const int16_t *)p)[i]; break;
  case POLY_UINT16: v.i = ((const uint16_t *)p)[i]; break;
  case POLY_INT32: v.i = ((const int32_t *)p)[i]; break;
  case POLY_UINT32: v.i = ((const uint32_t *)p)[i]; break;
  case POLY_FP8E4M3: v.f = e4m3_to_float(((const uint8_t *)p)[i]); break;
  case POLY_FP8E5M2: v.f = e5m2_to_float(((const uint8_t *)p)[i]); break;
  case POLY_FLOAT16: v.f = half_to_float(((const uint16_t *)p)[i]); break;
  case POLY_BFLOAT16: v.f = bfloat_to_float(((const uint16_t *)p)[i]); break;
  case POLY_FLOAT32: v.f = ((const float *)p)[i]; break;
  default: v.u = ((const uint64_t *)p)[i];
  }
  return v;
}

static inline Cell bitcast(Cell v, int from, int to) {
  uint64_t room = 0;
  store(&room, 0, v, from);
  return load(&room, 0, to);
}

#define K(op, cls) (OP_##op * CLS_COUNT + CLS_##cls)
#define POWER(x, y) _Generic((x), float : float_pow, double : pow)(x, y)

/* op(a, b), of the ops that reduce. Partial results of the half types are floats, which the accumulator rounds. */
static inline Cell combine(int op, int dtype, Cell a, Cell b) {
  Cell r = {0};
#define COMBINE(f)                                                                                                     \
  r.f = op == OP_ADD   ? a.f + b.f                                                                                     \
        : op == OP_MUL ? a.f * b.f                                                                                     \
        : op == OP_MAX ? (a.f != a.f || a.f > b.f ? a.f : b.f)                                                         \
                       : (a.f != a.f || a.f < b.f ? a.f : b.f)
  switch (class_of[dtype]) {
  case CLS_F:
  case CLS_H: COMBINE(f); break;
  case CLS_D: COMBINE(d); break;
  case CLS_U: COMBINE(u); break;
  default: COMBINE(i); r.i = wrap(dtype, r.i);
  }
#undef COMBINE
  return r;
}

/* Partial results of a reduction along lanes, from iteration `at` on; and those to one, into the accumulator. */
void sums_open(Sums *s, Cell *r, bool first, int64_t at, int64_t end);
void sums_close(const Sums *s, Cell *r);

/* ---- interp_lanes.c ---- */

/* The values of a register for a block of iterations: float for float32 and the half types. */
typedef union Lanes {
  int64_t i[INTERP_LANES];
  uint64_t u[INTERP_LANES];
  double d[INTERP_LANES];
  float f[INTERP_LANES];
} Lanes;

typedef struct LaneRun {
  Lanes *v;
  int n;               /* iterations of this block */
  int64_t index, size; /* of a failed CHECK */
} LaneRun;

/* What decoding a loop of lanes needs. `scalar` decodes an instruction as it is done outside such loops. */
typedef struct LaneDecode {
  const Linear *lin;
  const Place *place;
  Sums **sums;    /* LOOP: if it reduces along lanes */
  int *vec;       /* register of lanes of an instruction, -1: none */
  int nvec, most; /* registers of a loop, of all */
  Code *code;     /* of the kernel */
  Code **at;      /* the next one */
  void (*scalar)(void *user, int inst);
  void (*alu)(const Linear *lin, const Inst *in, Code *c);
  void *user;
} LaneDecode;

/* Codes for a vector loop, before those that run it one by one: where it is short, or where this returns false and has
 * put none, those are run. The caller sets `to` of the first and of the last code: where the loop as scalars begins,
 * and where it has ended. */
bool lanes_decode(LaneDecode *d, int loop, int *first, int *last);
/* One code of these; what run() is to go on with, NULL: an index out of range. */
const Code *lanes_step(const Code *code, const Code *c, Cell *r, void *const *args, LaneRun *run);

#endif
