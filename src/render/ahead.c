/* ahead.c: rows that a loop gathers are asked for some iterations before they are read. In: a loop whose iterations
 * read memory where an index says that they read as well. Out: a prefetch of what a later iteration will read.
 *
 *   for (i = begin; i < end; i++) {
 *     next = i + 4 < end ? i + 4 : end - 1;
 *     __builtin_prefetch(p2 + p1[next] * 32);
 *     .. p2[p1[i] * 32 + ..] ..
 *
 * The hardware cannot guess such addresses, and a processor that looks a few hundred instructions ahead sees few of
 * them where an iteration computes something. Attention with two heads of 16 features on 40,000 nodes, 500,000 edges
 * took 0.68 of the time with 3 to 8 iterations ahead, whose rows come from the third cache.
 *
 * What is read to find an address is what the later iteration reads anyway, so it is there to be read; of an index that
 * is checked nothing but the prefetch depends, which may name any address. */
#include "render/emit.h"

#include <string.h>

/* Cheaper iterations: the processor sees enough of them by itself, and a plain sum over neighbours (cost 7, 32
 * features) takes 1.25 times as long, one whose rows have three edges (cost 21) 1.6 times. Attention has 31 and more.
 */
enum { LEAST_COST = 28 };
enum { AHEAD = 4, LINE = 64, MOST_LINES = 4, MOST_ROWS = 4, MOST_STEPS = 12 };

typedef struct Ahead {
  int loop;
  int steps;     /* instructions of the address so far */
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
  if (i == a->loop) return txt("next%d", i);
  if (in->kind == INST_CONST) return scalar_name(e, i);
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

/* The load inside the loop that an address depends on first; -1: none, or none was found in so many steps. */
static int index_of(const Emit *e, int loop, int i, int *steps) {
  const Inst *in = &e->lin->inst[i];
  if (i <= loop || in->kind == INST_LOOP || in->kind == INST_CONST || ++*steps > MOST_STEPS) return -1;
  if (in->kind == INST_LOAD) return i;
  for (int k = 0; k < 3; k++) {
    int found = in->src[k] >= 0 ? index_of(e, loop, in->src[k], steps) : -1;
    if (found >= 0) return found;
  }
  return -1;
}

/* Do all values that the loop gathers lie where one index says? Where there are two, such as those of a neighbour and
 * of an edge, prefetching rows of the one delays what is read by the other: attention with edge features took 1.3 times
 * as long. */
static bool one_index(const Emit *e, int loop) {
  int one = -1;
  for (int i = loop + 1; i < e->at[loop].end; i++) {
    const Inst *in = &e->lin->inst[i];
    if (in->kind != INST_LOAD || dtype_is_int((PolyDType)in->dtype)) continue;
    int steps = 0, index = index_of(e, loop, in->src[0], &steps);
    if (steps > MOST_STEPS || (index >= 0 && one >= 0 && index != one)) return false;
    if (index >= 0) one = index;
  }
  return one >= 0;
}

/* Bytes side by side that the lanes of a load read; 0: they are not. */
static int64_t bytes_of(const Emit *e, int i) {
  const Place *p = &e->at[i];
  const Inst *in = &e->lin->inst[i];
  if (!p->vary || in->src[1] >= 0 || lane_stride(e->lin, e->at, i) != 1) return 0;
  int64_t n = p->inside >= 0 ? loop_trips(e->lin, p->inside) : 1;
  if (p->outer >= 0) n = loop_trips(e->lin, p->outer) * (p->wide ? n : 1);
  return n * dtype_size((PolyDType)in->dtype);
}

/* The later iteration, which is one of this loop: behind its last one memory may end. */
static void emit_next(Emit *e, int loop) {
  Txt end = scalar_name(e, e->lin->inst[loop].src[1]);
  line(e, "const int64_t next%d = i%d + %d < %s ? i%d + %d : %s - 1;", loop, loop, AHEAD, end.s, loop, AHEAD, end.s);
}

void emit_ahead(Emit *e, int loop) {
  Txt row[MOST_ROWS];
  int n = 0;
  if (e->lin->inst[loop].cost < LEAST_COST || !one_index(e, loop)) return;
  for (int i = loop + 1; i < e->at[loop].end && n < MOST_ROWS; i++) {
    const Inst *load = &e->lin->inst[i];
    if (load->kind != INST_LOAD || !is_constant_memory(e, load)) continue;
    int64_t bytes = bytes_of(e, i);
    Ahead a = {.loop = loop, .fits = true};
    Txt at = bytes >= LINE ? later(e, &a, load->src[0], false) : no_text();
    if (bytes < LINE || !a.fits || !a.gathered) continue;
    row[n] = txt("p%d + %s", load->param, at.s);
    bool seen = false;
    for (int k = 0; k < n; k++) seen |= !strcmp(row[k].s, row[n].s);
    if (seen) continue;
    if (!n) emit_next(e, loop);
    line(e, "const char *const row%d_%d = (const char *)(%s);", loop, n, row[n].s);
    for (int64_t k = 0; k < MIN((bytes + LINE - 1) / LINE, MOST_LINES); k++)
      line(e, "__builtin_prefetch(row%d_%d + %lld);", loop, n, (long long)(k * LINE));
    n++;
  }
}
