/* interp.c: the interpreter device. Runs linear kernels, needs no compiler, and is the reference that the other devices
 * are tested against. Its Target is the CPU's, and so are its kernels and their bits. Here kernels run one scalar at a
 * time; loops of lanes run in blocks (interp_lanes.c).
 *
 * In: linear kernels. Each is verified and decoded once: an instruction becomes a Code whose number already says
 * operation and class of dtype, loops become jumps, constants are put into the registers before a launch begins. Out:
 * the stored values.
 *
 * Registers are 8-byte cells. Integers are kept as int64, sign- or zero-extended from their dtype, and wrapped after
 * each operation; floats of 8 and 16 bits are floats, rounded to their dtype after each operation.
 *
 * A kernel with groups is run as its threads would run it: each has registers of its own, runs up to the next FENCE or
 * COMBINE, and then the next one has its turn, in an order that changes from fence to fence, so that a missing fence
 * shows. One group runs all iterations of the grid.
 *
 * What an operation means is written in ir/eval.c (casts and identities are called there); the arithmetic is repeated
 * here so that a loop over it is quick, and a test compares the two. */
#include "runtime/interp.h"

typedef struct Kernel {
  Code *code;
  int ncode, ncell;
  Cell *cell; /* as they are when a launch begins: constants in place */
  int nvar;
  int *var; /* pairs: register, number of the integer argument */
  int narg, nlocal;
  void **local; /* local arrays: one set serves all iterations of the parallel loop, one after the other */
  int group;    /* threads */
  int nvec;     /* registers of lanes */
  int thread;   /* the register with a thread's number; the next one: whether it is the first */
} Kernel;

typedef struct InterpProgram {
  Program program; /* first */
  Arena arena;
  Kernel *kernel;
  Cell *reg; /* of the running launch; as many as the largest kernel needs */
  LaneRun lanes;
  HostArgs args;
} InterpProgram;

/* ---- decoding ---- */

static const MathFn math_fn[OP_COUNT] = {
#define E(...)
#define FN(name, cost, props, function, code) [OP_##name] = function,
#include "ir/ops.def"
};

/* As compiled kernels have them: code of their own, or the C library's. */
static const FloatFn float_fn[OP_COUNT] = {
#define FLOAT_OWN(function) float_##function
#define FLOAT_LIBRARY(function) function##f
#define E(...)
#define FN(name, cost, props, function, code) [OP_##name] = FLOAT_##code(function),
#include "ir/ops.def"
};

static Cell const_cell(const Inst *in) {
  if (class_of[in->dtype] <= CLS_U) return (Cell){.i = wrap(in->dtype, in->arg.i)};
  Cell c = {.i = in->arg.i}; /* the bits of a double */
  return convert(c, POLY_FLOAT64, in->dtype);
}

static void decode_alu(const Linear *lin, const Inst *in, Code *c) {
  int from = in->src[0] >= 0 ? lin->inst[in->src[0]].dtype : in->dtype;
  OpClass cls = op_info[in->op].cls;
  c->from = (uint8_t)from;
  if (in->op == OP_CAST) {
    bool ints = class_of[from] <= CLS_U && class_of[in->dtype] <= CLS_U;
    c->what = ints ? CODE_WRAP : CODE_CAST;
  } else if (in->op == OP_BITCAST) {
    c->what = CODE_BITCAST;
  } else if (in->op == OP_WHERE) {
    c->what = CODE_WHERE;
  } else if (math_fn[in->op] && class_of[from] >= CLS_F) {
    static const uint16_t fn_code[CLS_COUNT] = {[CLS_F] = CODE_FN_F, [CLS_H] = CODE_FN_H, [CLS_D] = CODE_FN_D};
    c->what = fn_code[class_of[from]];
    if (c->what == CODE_FN_D)
      c->u.fn = math_fn[in->op];
    else
      c->u.ffn = float_fn[in->op];
  } else {
    int dtype = cls == CLASS_COMPARE ? from : in->dtype;
    c->what = (uint16_t)(in->op * CLS_COUNT + class_of[dtype]);
  }
}

/* Is it an operation that run() knows? Others are refused when a program is made. */
static bool runnable(int what) {
  if (what >= CODE_BASE) return true;
  Op op = (Op)(what / CLS_COUNT);
  Class cls = (Class)(what % CLS_COUNT);
  switch (op) {
  case OP_NEG:
  case OP_ADD:
  case OP_SUB:
  case OP_MUL:
  case OP_MAX:
  case OP_MIN:
  case OP_CMPLT:
  case OP_CMPLE:
  case OP_CMPEQ:
  case OP_CMPNE: return true;
  case OP_DIV:
  case OP_MULACC:
  case OP_FMOD:
  case OP_POW: return cls >= CLS_F;
  case OP_NOT:
  case OP_IDIV:
  case OP_MOD:
  case OP_AND:
  case OP_OR:
  case OP_XOR:
  case OP_SHL:
  case OP_SHR:
  case OP_TRUNC:
  case OP_FLOOR:
  case OP_CEIL:
  case OP_ROUND: return cls < CLS_F;
  default: return false;
  }
}

/* Which values are computed as 32-bit indices, on a target that has these: int64 arithmetic that an index into memory
 * is made of. It ends at what was checked against a size, at loops and at what was loaded. */
static void find_indices(const Linear *lin, bool *index) {
  for (int k = lin->ninst; k-- > 0;) {
    const Inst *in = &lin->inst[k];
    bool memory = in->kind == INST_LOAD || in->kind == INST_STORE;
    if (memory && in->src[0] >= 0) index[in->src[0]] = true;
    index[k] = index[k] && in->kind == INST_ALU && in->dtype == POLY_INT64;
    for (int i = 0; index[k] && i < 3; i++)
      if (in->src[i] >= 0) index[in->src[i]] = true;
  }
}

/* What is known while a kernel is decoded. */
typedef struct Decode {
  const Linear *lin;
  const Place *place;
  Kernel *kernel;
  int *begin_of; /* LOOP: its code */
  Sums **sums;   /* LOOP: if it reduces along lanes */
  Code *at;
  int shared; /* the group loop being decoded, -1: none */
} Decode;

/* The cell that an UPDATE changes: along lanes, that of the partial result. */
static int updated_cell(const Decode *d, int k) {
  int acc = d->lin->inst[k].src[0];
  const Sums *s = outer_acc(d->lin, d->place, k) ? d->sums[d->place[k].inside] : NULL;
  for (int i = 0; s && i < s->n; i++)
    if (s->sum[i].acc == acc) return s->sum[i].now;
  return acc;
}

/* One instruction to no, one or a few codes. */
static void decode_inst(Decode *d, int k) {
  const Linear *lin = d->lin;
  Kernel *kernel = d->kernel;
  const Inst *in = &lin->inst[k];
  Code c = {.dtype = in->dtype, .dst = k, .a = in->src[0], .b = in->src[1], .c = in->src[2], .to = in->param};
  int gate = -1;
  switch ((InstKind)in->kind) {
  case INST_CONST: kernel->cell[k] = const_cell(in); return;
  case INST_VAR:
    kernel->var[2 * kernel->nvar] = k;
    kernel->var[2 * kernel->nvar++ + 1] = (int)in->arg.i;
    return;
  case INST_ALU: decode_alu(lin, in, &c); break;
  case INST_LOAD:
    c.what = (uint16_t)(CODE_LOAD + in->dtype);
    gate = in->src[1];
    break;
  case INST_STORE:
    c.what = (uint16_t)(CODE_STORE + in->dtype);
    c.dst = lin->ninst; /* a register that nobody reads */
    gate = in->src[2];
    if (kernel->group > 1 && d->shared < 0 && !lin->param[in->param].read)
      *d->at++ = (Code){.what = CODE_GATE, .dst = c.dst, .c = kernel->thread + 1, .to = gate >= 0};
    break;
  case INST_CHECK:
    c.what = CODE_CHECK;
    gate = in->src[2];
    break;
  case INST_ACC:
    c.what = CODE_SET;
    c.u.value = cell_of(value_identity((Op)in->op, (PolyDType)in->dtype), in->dtype);
    break;
  case INST_UPDATE:
    c.dtype = lin->inst[in->src[0]].dtype;
    c.what = (uint16_t)((in->src[2] < 0 ? in->op : OP_MULACC) * CLS_COUNT + class_of[c.dtype]);
    /* The running value goes second: of two equal ones it stays. */
    c.a = in->src[1];
    c.b = c.c = c.dst = updated_cell(d, k);
    if (in->src[2] >= 0) c.b = in->src[2];
    break;
  case INST_LOOP:
    c.what = (c.u.sums = d->sums[k]) ? CODE_LOOP_SUMS : CODE_LOOP;
    d->begin_of[k] = (int)(d->at - kernel->code);
    if (kernel->group > 1 && in->flags & LOOP_GROUP) {
      c.what = CODE_GROUP_LOOP;
      c.c = kernel->thread;
      d->shared = k;
    }
    break;
  case INST_COMBINE:
    if (kernel->group <= 1) return;
    c.what = CODE_COMBINE;
    c.from = (uint8_t)in->op;
    c.dst = in->src[0];
    break;
  case INST_FENCE:
    if (kernel->group <= 1) return;
    c.what = CODE_FENCE;
    break;
  case INST_END: {
    c.dst = in->src[0];
    c.what = (c.u.sums = d->sums[c.dst]) ? CODE_END_SUMS : CODE_END;
    c.b = lin->inst[c.dst].src[1];
    c.to = d->begin_of[c.dst] + 1;
    bool once = lin->inst[c.dst].flags & LOOP_ONCE;
    kernel->code[c.to - 1].to = (int)(d->at - kernel->code) + !once;
    if (once) return;
    uint32_t flags = lin->inst[in->src[0]].flags;
    if (kernel->group > 1 && flags & LOOP_GROUP) {
      c.what = CODE_GROUP_END;
      c.u.value.i = kernel->group;
      d->shared = -1;
    }
    if (kernel->group > 1 && flags & LOOP_PARALLEL) *d->at++ = (Code){.what = CODE_FENCE};
    break;
  }
  }
  if (gate >= 0) *d->at++ = (Code){.what = CODE_GATE, .dst = c.dst, .c = gate};
  *d->at++ = c;
}

/* ---- reductions along lanes ---- */

/* The accumulators from outside that a vector loop updates, each once. */
static bool list_sums(Arena *arena, const Linear *lin, const Place *place, int loop, Sums *s) {
  s->sum = arena_new(arena, (size_t)(place[loop].end - loop) * sizeof *s->sum);
  if (!s->sum) return false;
  for (int i = loop + 1; i < place[loop].end; i++) {
    if (place[i].inside != loop || !outer_acc(lin, place, i)) continue;
    int acc = lin->inst[i].src[0], k = 0;
    while (k < s->n && s->sum[k].acc != acc) k++;
    if (k < s->n) continue;
    s->sum[s->n++] = (Sum){.acc = acc, .op = (uint8_t)lin->inst[acc].op, .dtype = lin->inst[acc].dtype};
  }
  return true;
}

/* Cells for the partial results of each loop that reduces along lanes. */
static bool find_sums(Arena *arena, Decode *d) {
  const Linear *lin = d->lin;
  for (int k = 0; k < lin->ninst; k++) {
    const Inst *in = &lin->inst[k];
    if (in->kind != INST_LOOP || !(in->flags & LOOP_VECTOR)) continue;
    bool inner = d->place[k].outer >= 0;
    if (!inner && in->lanes <= 1) continue; /* it has no widths: one by one */
    Sums *s = d->sums[k] = arena_new(arena, sizeof *s);
    if (!s || !list_sums(arena, lin, d->place, k, s)) return false;
    int64_t begin = 0, end = 0;
    s->constant = loop_trip(lin, k, &begin, &end);
    s->neighbours = inner;
    s->lanes = inner ? (int)(end - begin) : in->lanes;
    s->copies = inner ? 1 : in->copies;
    s->tail = in->tail;
    for (int i = 0; i < s->n; i++) {
      s->sum[i].now = d->kernel->ncell++;
      s->sum[i].part = d->kernel->ncell;
      d->kernel->ncell += s->lanes * s->copies;
    }
    if (!s->n) d->sums[k] = NULL;
  }
  return true;
}

/* The same operation on int32: it wraps where 32 bits do not hold the value. */
static void narrow_index(Code *c) {
  c->dtype = POLY_INT32;
  if (c->what < CODE_BASE && c->what % CLS_COUNT == CLS_I)
    c->what = (uint16_t)(c->what / CLS_COUNT * CLS_COUNT + CLS_W);
}

static bool make_locals(Arena *arena, const Linear *lin, Kernel *k) {
  k->narg = linear_nargs(lin);
  k->nlocal = lin->nparam - k->narg;
  if (k->nlocal && !(k->local = arena_new(arena, (size_t)k->nlocal * sizeof *k->local))) return false;
  for (int i = 0; i < k->nlocal; i++) {
    const LinearParam *p = &lin->param[k->narg + i];
    if (!(k->local[i] = arena_new(arena, (size_t)p->local * (size_t)dtype_size(p->dtype)))) return false;
  }
  return true;
}

static void decode_scalar(void *user, int inst) { decode_inst(user, inst); }

/* A loop of lanes twice: in blocks, then one by one. Groups and 32-bit indices are for tests and have the second alone.
 */
static bool wants_lanes(const Device *dev, const Linear *lin, int k) {
  return lin->inst[k].kind == INST_LOOP && lin->inst[k].flags & LOOP_VECTOR && lin->group <= 1 &&
         dev->target.index_bits != 32;
}

static bool decode(Device *dev, Arena *arena, const Linear *lin, Kernel *k) {
  size_t n = (size_t)lin->ninst;
  Decode d = {.lin = lin, .kernel = k, .place = lanes_analyse(arena, lin, true), .shared = -1};
  k->code = arena_new(arena, (10 * n + 1) * sizeof *k->code);
  k->var = arena_new(arena, 4 * n * sizeof *k->var + 1);
  d.begin_of = arena_new(arena, n * sizeof *d.begin_of + 1);
  d.sums = arena_new(arena, n * sizeof *d.sums + 1);
  bool *index = arena_new(arena, n + 1);
  LaneDecode lanes = {.lin = lin, .place = d.place, .sums = d.sums, .code = k->code, .at = &d.at};
  lanes.scalar = decode_scalar;
  lanes.alu = decode_alu;
  lanes.user = &d;
  int first = 0, last = -1, closes = -1;
  lanes.vec = arena_new(arena, n * sizeof *lanes.vec + 1);
  if (!lanes.vec || !k->code || !k->var || !d.begin_of || !d.sums || !index || !d.place || !make_locals(arena, lin, k))
    return false;
  k->group = MAX(lin->group, 1);
  k->thread = lin->ninst + 1;
  k->ncell = lin->ninst + 3;
  if (!find_sums(arena, &d) || !(k->cell = arena_new(arena, (size_t)k->ncell * sizeof *k->cell))) return false;
  if (dev->target.index_bits == 32) find_indices(lin, index);
  d.at = k->code;
  for (int i = 0; i < lin->ninst; i++) {
    if (wants_lanes(dev, lin, i) && lanes_decode(&lanes, i, &first, &last)) {
      k->code[first].to = (int)(d.at - k->code);
      closes = d.place[i].end;
    }
    decode_inst(&d, i);
    if (i == closes) k->code[last].to = (int)(d.at - k->code);
    if (index[i]) narrow_index(&d.at[-1]);
    if (d.at > k->code && !runnable(d.at[-1].what))
      return base_fail(ctx_base(dev->ctx), POLY_ERROR_TYPE, "the interpreter has no %s for %s",
                       op_info[lin->inst[i].op].name, dtype_name((PolyDType)d.at[-1].from));
  }
  d.at->what = CODE_STOP;
  k->nvec = lanes.most;
  k->ncode = (int)(d.at - k->code) + 1;
  return true;
}

/* ---- running ---- */

#define A r[c->a]
#define B r[c->b]
#define R r[c->dst]
/* e computes from x and y (uint64) for integers */
#define INTS(op, e)                                                                                                    \
  case K(op, I):                                                                                                       \
  case K(op, U): {                                                                                                     \
    uint64_t x = A.u, y = c->b >= 0 ? B.u : 0;                                                                         \
    (void)y;                                                                                                           \
    R.u = (uint64_t)(e);                                                                                               \
    break;                                                                                                             \
  }                                                                                                                    \
  case K(op, W): {                                                                                                     \
    uint64_t x = A.u, y = c->b >= 0 ? B.u : 0;                                                                         \
    (void)y;                                                                                                           \
    R.i = wrap(c->dtype, (int64_t)(e));                                                                                \
    break;                                                                                                             \
  }
/* s for signed values and narrow ones, u for uint64; width is the dtype's */
#define INTS_SIGNED(op, s, un)                                                                                         \
  case K(op, I):                                                                                                       \
  case K(op, W): {                                                                                                     \
    int64_t x = A.i, y = B.i;                                                                                          \
    int width = width_of[c->dtype];                                                                                    \
    (void)width;                                                                                                       \
    R.i = wrap(c->dtype, (s));                                                                                         \
    break;                                                                                                             \
  }                                                                                                                    \
  case K(op, U): {                                                                                                     \
    uint64_t x = A.u, y = B.u;                                                                                         \
    R.u = (un);                                                                                                        \
    break;                                                                                                             \
  }
#define FLOATS(op, e)                                                                                                  \
  case K(op, F): {                                                                                                     \
    float x = A.f, y = c->b >= 0 ? B.f : 0;                                                                            \
    (void)y;                                                                                                           \
    R.f = (float)(e);                                                                                                  \
    break;                                                                                                             \
  }                                                                                                                    \
  case K(op, H): {                                                                                                     \
    float x = A.f, y = c->b >= 0 ? B.f : 0;                                                                            \
    (void)y;                                                                                                           \
    R.f = narrow(c->dtype, (float)(e));                                                                                \
    break;                                                                                                             \
  }                                                                                                                    \
  case K(op, D): {                                                                                                     \
    double x = A.d, y = c->b >= 0 ? B.d : 0;                                                                           \
    (void)y;                                                                                                           \
    R.d = (e);                                                                                                         \
    break;                                                                                                             \
  }
#define COMPARE(op, sign)                                                                                              \
  case K(op, I):                                                                                                       \
  case K(op, W): R.i = A.i sign B.i; break;                                                                            \
  case K(op, U): R.i = A.u sign B.u; break;                                                                            \
  case K(op, F):                                                                                                       \
  case K(op, H): R.i = A.f sign B.f; break;                                                                            \
  case K(op, D):                                                                                                       \
    R.i = A.d sign B.d;                                                                                                \
    break;
#define MEMORY(dt)                                                                                                     \
  case CODE_LOAD + dt: R = load(args[c->to], A.i, dt); break;                                                          \
  case CODE_STORE + dt: store(args[c->to], A.i, B, dt); break;

/* Which iterations from `at` on are added to partial results together: ir/linear.h has the order. */
void sums_open(Sums *s, Cell *r, bool first, int64_t at, int64_t end) {
  int64_t left = end - at;
  int lanes = s->lanes, parts = s->lanes * s->copies;
  s->first = at;
  if (first && left >= lanes) {
    s->stop = at + left / lanes * lanes;
    s->steps = s->constant ? s->stop : at + left / parts * parts;
  } else {
    for (lanes /= 2; lanes > 1 && (lanes > left || !s->constant); lanes /= 2) {
    }
    parts = lanes > 1 && lanes >= s->tail ? lanes : 0;
    s->stop = s->steps = parts ? at + parts : end;
  }
  s->parts = parts;
  for (int i = 0; i < s->n; i++) {
    Cell none = cell_of(value_identity((Op)s->sum[i].op, (PolyDType)s->sum[i].dtype), s->sum[i].dtype);
    for (int k = 0; k < parts; k++) r[s->sum[i].part + k] = none;
  }
}

/* Partial results to one, into the accumulator. */
void sums_close(const Sums *s, Cell *r) {
  for (int i = 0; i < s->n; i++) {
    const Sum *sum = &s->sum[i];
    Cell *p = &r[sum->part];
    int op = sum->op, dtype = sum->dtype, n = s->parts;
    int copies = n > s->lanes ? s->copies : 1, lanes = n / copies;
    for (int far = 1; far < copies; far *= 2)
      for (int k = 0; k + far < copies; k += 2 * far)
        for (int l = 0; l < lanes; l++)
          p[k * lanes + l] = combine(op, dtype, p[(k + far) * lanes + l], p[k * lanes + l]);
    for (int half = lanes / 2; half; half /= 2)
      for (int l = 0; l < half; l++)
        p[l] = s->neighbours ? combine(op, dtype, p[2 * l + 1], p[2 * l]) : combine(op, dtype, p[l], p[l + half]);
    Cell all = combine(op, dtype, p[0], r[sum->acc]);
    r[sum->acc] = class_of[dtype] == CLS_H ? (Cell){.f = narrow(dtype, all.f)} : all;
  }
}

static Cell *part_of(const Sums *s, const Sum *sum, Cell *r, int64_t at) {
  if (!s->parts) return &r[sum->acc];
  return &r[sum->part + (at - s->first) % (at < s->steps ? s->parts : s->lanes)];
}

static void load_parts(const Sums *s, Cell *r, int64_t at) {
  for (int i = 0; i < s->n; i++) r[s->sum[i].now] = *part_of(s, &s->sum[i], r, at);
}

static void store_parts(const Sums *s, Cell *r, int64_t at) {
  for (int i = 0; i < s->n; i++) *part_of(s, &s->sum[i], r, at) = r[s->sum[i].now];
}

static void begin_sums(Sums *s, Cell *r, int64_t at, int64_t end) {
  sums_open(s, r, true, at, end);
  load_parts(s, r, at);
}

/* After iteration `at`. */
static void next_sums(Sums *s, Cell *r, int64_t at, int64_t end) {
  store_parts(s, r, at);
  if (++at == s->stop) {
    if (s->parts) sums_close(s, r);
    if (at < end) sums_open(s, r, false, at, end);
  }
  if (at < end) load_parts(s, r, at);
}

/* Runs to the end, or to a failed CHECK, a FENCE or a COMBINE, which it returns. */
static const Code *run(const Code *code, const Code *c, Cell *r, void *const *args, LaneRun *lanes) {
  for (;; c++) switch (c->what) {
      INTS(NEG, 0 - x)
      FLOATS(NEG, -x)
      INTS(NOT, c->dtype == POLY_BOOL ? !x : ~x)
      INTS(ADD, x + y)
      FLOATS(ADD, x + y)
      INTS(SUB, x - y)
      FLOATS(SUB, x - y)
      INTS(MUL, x * y)
      FLOATS(MUL, x * y)
      FLOATS(DIV, x / y)
      FLOATS(POW, POWER(x, y))
      FLOATS(FMOD, fmod(x, y))
    case K(MULACC, F): R.f = fmaf(A.f, B.f, r[c->c].f); break;
    case K(MULACC, H): R.f = narrow(c->dtype, fmaf(A.f, B.f, r[c->c].f)); break;
    case K(MULACC, D):
      R.d = fma(A.d, B.d, r[c->c].d);
      break;
      INTS_SIGNED(IDIV, floor_div(x, y), y ? x / y : 0)
      INTS_SIGNED(MOD, floor_mod(x, y), y ? x % y : 0)
      INTS_SIGNED(MAX, x > y ? x : y, x > y ? x : y)
      INTS_SIGNED(MIN, x < y ? x : y, x < y ? x : y)
      FLOATS(MAX, x != x || x > y ? x : y)
      FLOATS(MIN, x != x || x < y ? x : y)
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
      MEMORY(POLY_BOOL)
      MEMORY(POLY_INT8)
      MEMORY(POLY_UINT8)
      MEMORY(POLY_INT16)
      MEMORY(POLY_UINT16)
      MEMORY(POLY_INT32)
      MEMORY(POLY_UINT32)
      MEMORY(POLY_INT64)
      MEMORY(POLY_UINT64)
      MEMORY(POLY_FP8E4M3)
      MEMORY(POLY_FP8E5M2)
      MEMORY(POLY_FLOAT16)
      MEMORY(POLY_BFLOAT16)
      MEMORY(POLY_FLOAT32)
      MEMORY(POLY_FLOAT64)
    case CODE_FN_F: R.f = c->u.ffn(A.f); break;
    case CODE_FN_H: R.f = narrow(c->dtype, c->u.ffn(A.f)); break;
    case CODE_FN_D: R.d = c->u.fn(A.d); break;
    case CODE_WHERE: R = A.i ? B : r[c->c]; break;
    case CODE_CAST: R = convert(A, c->from, c->dtype); break;
    case CODE_WRAP: R.i = wrap(c->dtype, A.i); break;
    case CODE_BITCAST: R = bitcast(A, c->from, c->dtype); break;
    case CODE_SET: R = c->u.value; break;
    case CODE_LOOP:
      R = A;
      if (R.i >= B.i) c = code + c->to - 1;
      break;
    case CODE_END:
      if (++R.i < B.i) c = code + c->to - 1;
      break;
    case CODE_LOOP_SUMS:
      R = A;
      if (R.i >= B.i)
        c = code + c->to - 1;
      else
        begin_sums(c->u.sums, r, R.i, B.i);
      break;
    case CODE_END_SUMS:
      next_sums(c->u.sums, r, R.i, B.i);
      if (++R.i < B.i) c = code + c->to - 1;
      break;
    case CODE_GATE:
      if (!r[c->c].i) {
        R.i = 0;
        c += 1 + c->to;
      }
      break;
    case CODE_GROUP_LOOP:
      R.i = A.i + r[c->c].i;
      if (R.i >= B.i) c = code + c->to - 1;
      break;
    case CODE_GROUP_END:
      if ((R.i += c->u.value.i) < B.i) c = code + c->to - 1;
      break;
    case CODE_FENCE:
    case CODE_COMBINE: return c;
    case CODE_CHECK:
      if ((uint64_t)A.i >= (uint64_t)B.i) return c;
      R = A;
      break;
    default: {
      if (c->what < CODE_LANES) return NULL;
      const Code *next = lanes_step(code, c, r, args, lanes);
      if (!next) return c;
      c = next;
    }
    }
}

/* ---- groups ---- */

/* The op over the threads' values, in a tree: halves are combined until one is left. */
static void combine_group(const Code *c, int group, int ncell, Cell *reg) {
  Cell *at = reg + c->dst;
  for (int n = group / 2; n; n /= 2)
    for (int t = 0; t < n; t++) at[t * ncell] = combine(c->from, c->dtype, at[t * ncell], at[(t + n) * ncell]);
  if (class_of[c->dtype] == CLS_H) at->f = narrow(c->dtype, at->f);
  for (int t = 1; t < group; t++) at[t * ncell] = *at;
}

/* A step through the threads that visits each of them. The number of threads is a power of two. */
static int odd_step(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (int)(*seed >> 40 & 0xffff) | 1;
}

/* From where all of them are to where they wait for each other. Returns a failed CHECK, of the thread *at. */
static const Code *run_threads(const Kernel *k, Cell *reg, void *const *args, int *at) {
  const Code *from = k->code;
  uint64_t seed = 1;
  while (from) {
    const Code *stop = NULL;
    int step = odd_step(&seed), first = odd_step(&seed);
    for (int i = 0; i < k->group; i++) {
      int t = (first + i * step) & (k->group - 1);
      const Code *c = run(k->code, from, reg + (size_t)t * (size_t)k->ncell, args, NULL);
      *at = t;
      if (c && c->what == CODE_CHECK) return c;
      if (i && c != stop) return k->code + k->ncode - 1; /* they have parted */
      stop = c;
    }
    if (stop && stop->what == CODE_COMBINE) combine_group(stop, k->group, k->ncell, reg);
    from = stop ? stop + 1 : NULL;
  }
  return NULL;
}

/* ---- the device ---- */

static bool interp_launch(Program *p, int k, const MemoryRef *args, const int64_t *vars, int threads) {
  (void)threads;
  InterpProgram *ip = (InterpProgram *)p;
  const Kernel *kernel = &ip->kernel[k];
  int n = kernel->ncell, at = 0;
  for (int t = 0; t < kernel->group; t++) {
    Cell *r = ip->reg + (size_t)t * (size_t)n;
    memcpy(r, kernel->cell, (size_t)n * sizeof(Cell));
    for (int i = 0; i < kernel->nvar; i++) r[kernel->var[2 * i]].i = vars[kernel->var[2 * i + 1]];
    r[kernel->thread].i = t;
    r[kernel->thread + 1].i = !t;
  }
  host_args(&ip->args, k, args, NULL);
  for (int i = 0; i < kernel->nlocal; i++) ip->args.at[kernel->narg + i] = kernel->local[i];
  const Code *bad = kernel->group > 1 ? run_threads(kernel, ip->reg, ip->args.at, &at)
                                      : run(kernel->code, kernel->code, ip->reg, ip->args.at, &ip->lanes);
  if (bad && bad->what == CODE_STOP)
    return base_fail(ctx_base(p->device->ctx), POLY_ERROR_RUNTIME, "internal: threads of a group wait for each other");
  const Cell *r = ip->reg + (size_t)at * (size_t)n;
  if (bad && bad->what >= CODE_LANES) return host_index_error(p->device->ctx, ip->lanes.index, ip->lanes.size);
  return !bad || host_index_error(p->device->ctx, r[bad->a].i, r[bad->b].i);
}

static void interp_program_free(Program *p) {
  if (!p) return;
  InterpProgram *ip = (InterpProgram *)p;
  arena_free(&ip->arena);
  host_args_free(p->device->ctx, &ip->args);
  mem_free(ctx_base(p->device->ctx), ip, sizeof *ip);
}

static Program *interp_compile(Device *d, const char *source, int n, const Linear *const *kernel) {
  (void)source;
  InterpProgram *ip = mem_new(ctx_base(d->ctx), sizeof *ip);
  if (!ip) return NULL;
  ip->program = (Program){.device = d, .nkernel = n};
  ip->arena.b = ctx_base(d->ctx);
  ip->kernel = arena_new(&ip->arena, (size_t)n * sizeof *ip->kernel + 1);
  bool ok = ip->kernel && host_args_new(d->ctx, &ip->args, n, kernel);
  int ncell = 1, nvec = 1;
  for (int i = 0; ok && i < n; i++) {
    ok = linear_verify(d->ctx, kernel[i]) && decode(d, &ip->arena, kernel[i], &ip->kernel[i]);
    ncell = MAX(ncell, ip->kernel[i].ncell * ip->kernel[i].group);
    nvec = MAX(nvec, ip->kernel[i].nvec);
  }
  if (ok) ok = (ip->lanes.v = arena_new(&ip->arena, (size_t)nvec * sizeof *ip->lanes.v)) != NULL;
  if (ok) ok = (ip->reg = arena_new(&ip->arena, (size_t)ncell * sizeof *ip->reg)) != NULL;
  if (ok) return &ip->program;
  interp_program_free(&ip->program);
  return NULL;
}

static bool interp_matmul(Device *d, const MatmulCall *m, int threads) {
  (void)d;
  (void)threads;
  matmul_naive(m, 1);
  return true;
}

static void interp_close(Device *d) { mem_free(ctx_base(d->ctx), d, sizeof *d); }

Device *interp_open(Runtime *r) {
  Device *d = mem_new(ctx_base(r->ctx), sizeof *d);
  if (!d) return NULL;
  host_init(d, r, "INTERP");
  d->compile = interp_compile;
  d->program_free = interp_program_free;
  d->launch = interp_launch;
  d->matmul = interp_matmul;
  d->close = interp_close;
  return d;
}
