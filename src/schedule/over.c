/* over.c: which outputs of a kernel may be written over an input that ends there. In: a kernel that is lowered. Out:
 * for each output the argument whose memory it may have.
 *
 * Each element has to be read before its place is written. So it is where every load of the input has the index of the
 * store, and where the other loads come before the stores of a row and stay in that row:
 *
 *   for i:  m = max x[i, k];  s = sum exp(x[i, k] - m)
 *           for j: out[i, j] = exp(x[i, j] - m) / s                a softmax over x
 */
#include "schedule/drafts.h"

#include "ir/context.h"
#include "ir/index.h"

typedef struct Over {
  Sched *s;
  int64_t param;
  UOp *at;    /* where the output is stored, */
  UOp *inner; /* the innermost loop, */
  UOp *row;   /* and the first element of a row of it; NULL: only what has the index of the store may be read */
  Map ranges; /* memo of index_ranges */
  Map seen;   /* nodes, and what is late where they are read */
} Over;

/* Is an index one of the row that the kernel is at? */
static bool in_row(const Over *o, UOp *index) {
  const UOp *column = o->row ? int_sub(index, o->row) : NULL;
  return column && column->vmin >= 0 && column->vmax < o->inner->src[1]->vmin;
}

/* Is the input read below u only before its places are written? late: ranges of the innermost loop and of those inside
 * it; what varies with none of them is computed before it. */
static bool reads_in_time(Over *o, UOp *u, uint64_t late) {
  Base *b = ctx_base(o->s->ctx);
  uint64_t ranges = index_ranges(o->s->ctx, &o->ranges, u);
  uint64_t known = 0;
  if (!(ranges & late)) late = 0;
  if (map_get(&o->seen, (uint64_t)(uintptr_t)u, &known) && !(late & ~known)) return true;
  late |= known;
  if (!map_put(b, &o->seen, (uint64_t)(uintptr_t)u, late)) return false;
  bool reads = u->op == OP_LOAD && u->src[0]->arg.i == o->param;
  if (reads && u->src[1] != o->at && (late || !in_row(o, u->src[1]))) return false;
  if (u->op == OP_LOOP && late) {
    if (!range_is_row(u->src[1])) o->row = NULL; /* a product in tiles stores a row in several runs */
    for (int i = 1; i < u->nsrc; i++) late |= 1ull << u->src[i]->arg.i;
  }
  for (int i = 0; i < u->nsrc; i++)
    if (!reads_in_time(o, u->src[i], late)) return false;
  return true;
}

/* Are the loops of a store the outermost ones of the first? A value stored from inside a reduction has others: the
 * loops around it run again and read. */
static bool is_outer(const UOp *store, const UOp *first) {
  for (int i = 3; i < store->nsrc; i++)
    if (i >= first->nsrc || store->src[i] != first->src[i]) return false;
  return true;
}

/* Is the k-th argument of a kernel a temporary that output o could be written over? */
static bool can_write_over(Sched *s, const Item *item, int o, int k) {
  const Slot *out = &s->slot.at[item->arg[o]], *in = &s->slot.at[item->arg[k]];
  if (out->kind == SLOT_INPUT || in->kind != SLOT_TEMP || in->numel != out->numel) return false;
  if (dtype_size((PolyDType)in->node->dtype) != dtype_size((PolyDType)out->node->dtype)) return false;
  const UOp *first = item->store[0];
  Over over = {.s = s, .param = k};
  bool outer = true, same = true;
  for (int i = 0; i < item->nout; i++) {
    const UOp *store = item->store[i];
    bool innermost = store->nsrc == first->nsrc && store->src[store->nsrc - 1] == first->src[first->nsrc - 1];
    if (store->src[0]->arg.i == o && innermost) over.at = store->src[2]; /* others may be written too early */
    outer &= is_outer(store, first);
  }
  for (int i = 0; i < item->nout; i++) same &= item->store[i]->src[2] == over.at;
  if (!over.at || !(same || outer)) return false;
  UOp *inner = first->src[first->nsrc - 1];
  bool rows = outer && s->target->group == 1 && first->nsrc > 4; /* threads of a group do not wait for each other */
  if (rows && uop_is_int(inner->src[0], 0)) {
    over.row = int_sub(over.at, inner);
    if (!over.row || index_ranges(s->ctx, &over.ranges, over.row) & (1ull << inner->arg.i)) over.row = NULL;
  }
  over.inner = inner;
  bool had_rows = over.row != NULL, fits = same || had_rows;
  for (int i = 0; i < item->nout && fits; i++)
    fits = reads_in_time(&over, item->store[i]->src[1], had_rows ? 1ull << inner->arg.i : 0);
  if (fits && had_rows && !over.row) { /* not in rows after all */
    map_free(ctx_base(s->ctx), &over.seen);
    over.seen = (Map){0};
    fits = same;
    for (int i = 0; i < item->nout && fits; i++) fits = reads_in_time(&over, item->store[i]->src[1], 0);
  }
  map_free(ctx_base(s->ctx), &over.ranges);
  map_free(ctx_base(s->ctx), &over.seen);
  return fits;
}

bool sched_find_over(Sched *s, Item *item, const int *last, int at) {
  item->over = arena_new(s->arena, (size_t)MAX(item->nout, 1) * sizeof(int));
  if (!item->over) return false;
  for (int o = 0; o < item->nout; o++) {
    item->over[o] = -1;
    for (int k = item->nout; k < item->narg && item->over[o] < 0; k++) {
      bool taken = last[item->arg[k]] != at;
      for (int p = 0; p < o; p++) taken |= item->over[p] == k;
      if (!taken && can_write_over(s, item, o, k)) item->over[o] = k;
    }
  }
  return true;
}
