/* ahead.c: rows that a loop gathers are asked for some iterations before they are read. In: a loop whose iterations
 * read memory where an index says that they read as well. Out: a prefetch of what a later iteration will read.
 *
 *   for (i = begin; i < end; i++) {
 *     next = i + 32 < last ? i + 32 : last - 1;
 *     __builtin_prefetch(p2 + p1[next] * 32);
 *     .. p2[p1[i] * 32 + ..] ..
 *
 * The hardware cannot guess such addresses, and a processor that looks a few hundred instructions ahead sees few of
 * them where an iteration computes something or a row has few edges. `last` is the end of all rows (src 2 of the LOOP):
 * most rows of a graph are shorter than the distance. Where it is not known, it is the end of the loop.
 *
 * Measured, one thread, sums over neighbours of an R-MAT graph, ahead by 4 edges within the row, then across rows by 4,
 * 8, 16, 24 and 32, in shares of the time without:
 *   40,000 nodes, 500,000 edges, 16 features      1.19   1.16   1.15   1.12   1.12   1.11
 *   the same, 32 features                         1.05   1.04   0.97   0.90   0.89   0.88
 *   the same, 64 features                         0.88   0.84   0.83   0.78   0.77   0.87
 *   169,343 nodes, 2,315,598 edges, 32 features   1.09   1.02   0.89   0.83   0.74   0.80
 *   the same, 64 features                         0.81   0.79   0.67   0.59   0.56   0.68
 *   the same, 128 features                        0.78   0.75   0.67   0.65   0.68   0.70
 * So rows of two lines and more are always asked for. In loops that compute something, all that is gathered is, also
 * single values: the backward pass of attention reads four of them for each neighbour and one of the edge, and took
 * 0.55 of the time; with the rows of features alone it took 0.9.
 *
 * Rows are asked for into the second cache: few lines can be on their way to the first one at a time, and a row of 64
 * features is four. The same sum over 64 features, ahead by 16 into the first cache, then into the second by 16, 32, 64
 * and 128, in ns an edge (Zen 4, one thread):
 *   42,335 nodes, 578,899 edges                    5.6    4.1    4.2    4.7    4.6
 *   169,343 nodes, 2,315,598 edges                 8.8    7.9    6.9    7.1    6.8
 *   677,372 nodes, 9,262,392 edges                13.3   10.3    9.6    9.5    9.1
 * and a step of GAT on these takes 0.98, 0.86 and 0.79 of the time. What fits the second cache as a whole is there
 * already, and goes to the first: a sum over 3,386 such rows would take 1.15 times as long.
 *
 * Where an index is itself found by an index (the relation of an edge, in the order in which edges were given), it is
 * asked for twice as far ahead, since the address of the row is computed from it.
 *
 * What is read to find an address is what the later iteration reads anyway, so it is there to be read; of an index that
 * is checked nothing but the prefetch depends, which may name any address. */
#include "render/emit.h"

#include <string.h>

/* LEAST_BYTES of a row are asked for in any loop, less in those of LEAST_COST operations an iteration: a plain sum over
 * neighbours (cost 7) sees enough of them by itself, attention has 31 and more. */
enum { LEAST_COST = 28, LEAST_BYTES = 128 };
enum { AHEAD = 32, AHEAD_IN_ROW = 4, LINE = 64, MOST_LINES = 8, MOST_ROWS = 8, MOST_STEPS = 12 };
enum { SMALL = 1 << 20, TO_FIRST = 3, TO_SECOND = 2 }; /* bytes of all rows; which cache is to have them */

typedef struct Ahead {
  int loop;
  int steps;     /* instructions of the address so far */
  bool far;      /* of the iteration that indices are asked for in: twice as far ahead */
  bool gathered; /* it depends on what is loaded inside the loop */
  bool fits;
} Ahead;

static Txt refuse(Ahead *a) {
  a->fits = false;
  return no_text();
}

static bool is_constant_memory(const Emit *e, const Inst *in) {
  const LinearParam *p = &e->lin->param[in->param];
  return !p->written && !p->local;
}

/* Is it in the body of the loop itself, which every iteration runs, rather than in a loop inside? */
static bool runs_always(const Emit *e, int loop, int i) {
  for (int k = loop + 1; k < i; k++)
    if (e->lin->inst[k].kind == INST_LOOP && e->at[k].end > i) return false;
  return true;
}

/* The value of i in the later iteration; at the first one of loops inside. loaded: memory is read at it. */
static Txt later(Emit *e, Ahead *a, int i, bool loaded) {
  const Inst *in = &e->lin->inst[i];
  int64_t begin, end;
  if (i == a->loop) return txt(a->far ? "far%d" : "next%d", i);
  if (in->kind == INST_CONST) return scalar_name(e, i);
  bool wide = in->kind == INST_LOOP && in->flags & LOOP_VECTOR && e->at[i].outer >= 0; /* all of it is one body */
  if (wide && i < a->loop && loop_trip(e->lin, i, &begin, &end)) return txt("%lld", (long long)begin);
  if (i < a->loop) return e->at[i].vary && !e->at[i].base && in->kind != INST_LOOP ? refuse(a) : scalar_name(e, i);
  if (++a->steps > MOST_STEPS) return refuse(a);
  if (in->kind == INST_LOOP)
    return loaded || !loop_trip(e->lin, i, &begin, &end) ? refuse(a) : txt("%lld", (long long)begin);
  if (in->kind == INST_CHECK) return loaded ? refuse(a) : later(e, a, in->src[0], false);
  if (in->kind == INST_LOAD) {
    bool known = in->src[1] < 0 && is_constant_memory(e, in) && dtype_is_int((PolyDType)in->dtype);
    if (!known || !runs_always(e, a->loop, i)) return refuse(a);
    a->gathered = true;
    return txt("p%d[%s]", in->param, later(e, a, in->src[0], true).s);
  }
  if (in->kind != INST_ALU || !dtype_is_int((PolyDType)in->dtype)) return refuse(a);
  Txt src[3];
  for (int k = 0; k < 3; k++) src[k] = in->src[k] >= 0 ? later(e, a, in->src[k], loaded) : no_text();
  Txt x = a->fits ? txt("(%s)", alu_scalar(e, i, src).s) : no_text();
  return strlen(x.s) + 1 < sizeof x.s ? x : refuse(a);
}

/* Bytes side by side that the lanes of a load or store touch; 0: they are not. */
static int64_t bytes_of(const Emit *e, int i) {
  const Place *p = &e->at[i];
  const Inst *in = &e->lin->inst[i];
  int64_t size = dtype_size((PolyDType)in->dtype), stride = lane_stride(e->lin, e->at, i);
  if (stride == 0) return size;
  if (stride != 1) return 0;
  int64_t n = p->inside >= 0 ? loop_trips(e->lin, p->inside) : 1;
  if (p->outer >= 0) n = loop_trips(e->lin, p->outer) * (p->wide ? n : 1);
  return n * size;
}

/* A later iteration, which is one of this loop or of those that follow it: behind the last one memory may end. */
static void emit_later(Emit *e, int loop, bool far) {
  const Inst *in = &e->lin->inst[loop];
  bool on = in->src[2] >= 0 || in->flags & LOOP_PARALLEL;
  int by = (on ? AHEAD : AHEAD_IN_ROW) << far;
  const char *name = far ? "far" : "next";
  Txt end = scalar_name(e, in->src[in->src[2] >= 0 ? 2 : 1]);
  line(e, "const int64_t %s%d = i%d + %d < %s ? i%d + %d : %s - 1;", name, loop, loop, by, end.s, loop, by, end.s);
}

/* Is it memory that each iteration finds by an index of its own? An output is only written there. */
static bool is_gathered(const Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  if (in->kind == INST_LOAD) return in->src[1] < 0 && is_constant_memory(e, in);
  return in->kind == INST_STORE && in->src[2] < 0 && !e->lin->param[in->param].local;
}

/* Which cache rows of so many bytes are asked for: the second one, unless it has all of them anyway. There are about as
 * many as the kernel has rows. */
static int cache_for(const Emit *e, int loop, int64_t bytes) {
  const Inst *in = &e->lin->inst[loop];
  int rows = loop;
  for (int i = 0; i < loop && rows == loop; i++)
    if (e->lin->inst[i].kind == INST_LOOP && e->at[i].end > loop) rows = i;
  bool far = in->src[2] >= 0 || in->flags & LOOP_PARALLEL;
  int64_t n = loop_trips(e->lin, rows);
  return far && !(n && n <= SMALL / bytes) ? TO_SECOND : TO_FIRST;
}

void emit_ahead(Emit *e, int loop) {
  Txt row[MOST_ROWS];
  int n = 0;
  const Inst *in = &e->lin->inst[loop];
  bool costly = in->cost >= LEAST_COST, begun[2] = {false, false};
  if (in->flags & (LOOP_VECTOR | LOOP_OUTER)) return;
  for (int i = loop + 1; i < e->at[loop].end && n < MOST_ROWS; i++) {
    if (!is_gathered(e, i)) continue;
    int64_t bytes = bytes_of(e, i);
    bool index = e->lin->inst[i].kind == INST_LOAD && dtype_is_int((PolyDType)e->lin->inst[i].dtype);
    bool wanted = bytes && (costly || index || bytes >= LEAST_BYTES);
    Ahead a = {.loop = loop, .fits = true, .far = index};
    Txt at = wanted ? later(e, &a, e->lin->inst[i].src[0], false) : refuse(&a);
    if (!a.fits || !a.gathered) continue;
    row[n] = txt("p%d + %s", e->lin->inst[i].param, at.s);
    bool seen = false;
    for (int k = 0; k < n; k++) seen |= !strcmp(row[k].s, row[n].s);
    if (seen) continue;
    if (!begun[index]) emit_later(e, loop, index);
    begun[index] = true;
    line(e, "const char *const row%d_%d = (const char *)(%s);", loop, n, row[n].s);
    int cache = cache_for(e, loop, bytes);
    for (int64_t k = 0; k < MIN((bytes + LINE - 1) / LINE, MOST_LINES); k++)
      line(e, "__builtin_prefetch(row%d_%d + %lld, 0, %d);", loop, n, (long long)(k * LINE), cache);
    n++;
  }
}
