/* tile_ends.c: what is around a sum of products in tiles: what stands for its loops at a place of a tile, what follows
 * the sum in the registers of a register tile, and memory that both read soon. In and out: the Tiles of tiles.c. */
#include "codegen/tiles.h"

#include "ir/context.h"

static bool varies(const Tiles *t, UOp *u, const UOp *range) { return block_varies(t->g, u, range); }

/* ---- at a place of a tile ---- */

void tiles_note(Change *c, const Group *group) {
  for (int i = 0; i < group->n; i++) {
    c->ranges |= 1ull << group->range[i]->arg.i;
    c->to[group->range[i]->arg.i] = group->to[i];
  }
}

static UOp *gate_of(const Change *c, UOp *u) {
  bool gate = c->gate && (!c->along || varies(c->t, u, c->along));
  bool clip = c->clip && varies(c->t, u, c->t->col.range[0]);
  return gate && clip ? c->both : gate ? c->gate : clip ? c->clip : NULL;
}

/* A load, or the check of an index: beyond the edge of a tile an index may be anything. */
static UOp *gated(Change *c, const UOp *u, UOp *const *src, UOp *gate) {
  UOp *all[3] = {src[0], src[1], u->nsrc > 2 ? uop_binary(OP_AND, src[2], gate) : gate};
  return all[2] ? uop_make(c->t->g->ctx, (Op)u->op, (PolyDType)u->dtype, u->arg, 3, all, 0, NULL) : NULL;
}

UOp *tiles_changed(Change *c, UOp *u) {
  Codegen *g = c->t->g;
  uint64_t at;
  if (u == c->t->loop && c->sum) return c->sum;
  if (!(block_ranges(g, u) & c->ranges)) return u;
  if (u->op == OP_RANGE && c->ranges & (1ull << u->arg.i)) return c->to[u->arg.i];
  if (map_get(&c->done, (uint64_t)(uintptr_t)u, &at)) return (UOp *)(uintptr_t)at;
  UOp **src = arena_new(g->arena, (size_t)u->nsrc * sizeof *src);
  if (!src) return NULL;
  for (int i = 0; i < u->nsrc; i++)
    if (!(src[i] = tiles_changed(c, u->src[i]))) return NULL;
  bool kernel = op_info[u->op].cls == CLASS_KERNEL || u->op == OP_RANGE;
  UOp *gate = u->op == OP_LOAD || u->op == OP_CHECK ? gate_of(c, u) : NULL;
  if (gate) return gated(c, u, src, gate);
  UOp *r = kernel ? uop_make(g->ctx, (Op)u->op, (PolyDType)u->dtype, u->arg, u->nsrc, src, 0, NULL)
                  : uop_with_sources(u, src);
  if (r && r->op == OP_LOOP && !vec_push(ctx_base(g->ctx), &g->loops, r)) return NULL;
  return r && map_put(ctx_base(g->ctx), &c->done, (uint64_t)(uintptr_t)u, (uint64_t)(uintptr_t)r) ? r : NULL;
}

/* The loops of a group at place `flat` of the tile and `lane` places on, in the same run of the innermost one. */
bool tiles_at(Group *group, UOp *flat, UOp *lane) {
  for (int i = group->n - 1; flat && i > 0; i--) {
    UOp *size = group->range[i]->src[1];
    group->to[i] = int_mod(flat, size);
    flat = int_div(flat, size);
  }
  group->to[0] = int_add(group->first, flat);
  if (lane) group->to[group->n - 1] = int_add(group->to[group->n - 1], lane);
  return flat && group->to[0] && group->to[group->n - 1];
}

/* ---- memory that is read soon ---- */

/* What the loop over register tiles reads along `lane` in its next iteration is asked for in this one, so that it comes
 * while products are formed: 169,343 x 64 by 64 x 40 took 0.84 of the time, and where its rows are masked by another
 * matrix 0.7. */
static bool ask_ahead(Tiles *t, Block *b, UOp *u, const UOp *lane, Map *seen) {
  if (!varies(t, u, lane) || map_get(seen, (uint64_t)(uintptr_t)u, NULL)) return true;
  if (!map_put(ctx_base(t->g->ctx), seen, (uint64_t)(uintptr_t)u, 1)) return false;
  for (int i = 0; i < u->nsrc; i++)
    if (!ask_ahead(t, b, u->src[i], lane, seen)) return false;
  if (u->op != OP_LOAD || block_stride(t->g, u->src[1], lane) != 1) return true;
  int64_t step = block_stride(t->g, u->src[1], t->step);
  if (step == STRIDE_NONE || !step) return true;
  int load = block_value(t->g, b, u);
  if (load >= 0) t->g->inst.at[load].ahead = step;
  return load >= 0;
}

bool tiles_read_ahead(Tiles *t, Block *b, UOp *value, const UOp *lane) {
  if (!t->g->target->ahead || !t->step || lane->op != OP_RANGE) return true;
  Map seen = {0};
  bool ok = ask_ahead(t, b, value, lane, &seen);
  map_free(ctx_base(t->g->ctx), &seen);
  return ok;
}

/* ---- what follows, in registers ---- */

/* What u costs once for each element; more than `most` where it cannot be done for a vector of columns in order. */
static int end_cost(Tiles *t, UOp *u, int most, Map *seen) {
  const UOp *last = t->col.range[t->col.n - 1];
  if (u == t->loop || !(block_ranges(t->g, u) & (tiles_ranges(&t->col) | tiles_ranges(&t->row)))) return 0;
  if (map_get(seen, (uint64_t)(uintptr_t)u, NULL)) return 0;
  if (!map_put(ctx_base(t->g->ctx), seen, (uint64_t)(uintptr_t)u, 1)) return most + 1;
  if (u->op == OP_LOAD) {
    int64_t step = block_stride(t->g, u->src[1], last);
    return u->nsrc == 2 && (step == 0 || step == 1) && u->dtype == t->dtype ? 1 : most + 1;
  }
  if (!op_elementwise((Op)u->op) || (u->dtype != t->dtype && u->dtype != POLY_BOOL)) return most + 1;
  int cost = (int)t->g->target->cost.op[op_info[u->op].cost];
  for (int i = 0; i < u->nsrc && cost <= most; i++) cost += end_cost(t, u->src[i], most, seen);
  return cost;
}

/* Is what follows the sum little work on vectors of columns? Its text is written once for every row of a register
 * tile. */
bool tiles_end_plainly(Tiles *t) {
  enum { MOST = 8 };
  const UOp *last = t->col.range[t->col.n - 1];
  int cost = 0;
  Map seen = {0};
  for (int i = 0; i < t->nstore && cost <= MOST; i++) {
    const UOp *s = t->store[i];
    cost += block_stride(t->g, s->src[2], last) == 1 && s->dtype == t->dtype ? end_cost(t, s->src[1], MOST, &seen)
                                                                             : MOST + 1;
  }
  map_free(ctx_base(t->g->ctx), &seen);
  return cost <= MOST && t->loop->dtype == t->dtype && t->g->target->vector_bytes;
}

/* Are all tiles of a group whole register tiles of `of`? */
static bool is_whole(const Group *group, int64_t of) {
  const UOp *size = group->range[0]->src[1];
  return size->op == OP_CONST && size->vmax % group->tile == 0 && tiles_each(group) % of == 0;
}

/* A sum of one block whose tiles have whole register tiles of columns is finished in registers, and needs no third
 * array; so is one whose last register tile has fewer, where some lanes are stored as quickly as all. The rows of a
 * register tile are as many as divide the tile, unless that is less than half of what there is room for. Then each row
 * is looked at before it is stored, if rows are one loop. */
void tiles_choose_end(Tiles *t) {
  const UOp *last = t->col.range[t->col.n - 1];
  t->direct = t->ragged = t->clipped = false;
  if (!t->plain_end || !uop_is_int(t->blocks, 1) || (t->windows.on && !t->windows.whole)) return;
  bool whole = is_whole(&t->col, t->nr), some = t->g->target->masks && t->dtype == POLY_FLOAT32;
  if (whole ? t->col.n > 1 && last->src[1]->vmax % t->nr : !some || t->col.n > 1) return;
  int64_t most = MIN(t->most_rows, tiles_each(&t->row)), mr = most;
  while (2 * mr > most && !is_whole(&t->row, mr)) mr--;
  t->ragged = 2 * mr <= most;
  if (t->ragged && t->row.n > 1) return;
  if (!t->ragged) t->mr = mr;
  t->clipped = !whole;
  t->direct = true;
}

/* Do rows of a register tile, in all columns, stay in the first cache until they are read? Where they do not, asking
 * for them takes a tenth of the time of 512 x 128 by 128 x 512 in vain. */
static bool rows_stay(const Tiles *t) {
  return t->mr * tiles_each(&t->col) * dtype_size(t->dtype) <= t->g->target->cache_bytes[0] / 4;
}

bool tiles_finish(Tiles *t, Block *b, UOp *sum, UOp *gate, const UOp *along, UOp *clip) {
  UOp *value[MAX_STORES], *index[MAX_STORES];
  Change c = {.t = t, .sum = sum, .gate = gate, .along = along, .clip = clip};
  c.both = gate && clip ? uop_binary(OP_AND, gate, clip) : gate ? gate : clip;
  tiles_note(&c, &t->row);
  tiles_note(&c, &t->col);
  tiles_note(&c, &t->batch);
  bool ok = sum && (c.both || !(gate || clip));
  for (int i = 0; ok && i < t->nstore; i++) { /* all values before any store: an output may be an input too */
    value[i] = tiles_changed(&c, t->store[i]->src[1]);
    index[i] = tiles_changed(&c, t->store[i]->src[2]);
    ok = value[i] && index[i] && block_value(t->g, b, value[i]) >= 0 && block_value(t->g, b, index[i]) >= 0;
    ok = ok && (!b->range || !rows_stay(t) || tiles_read_ahead(t, b, value[i], b->range));
  }
  map_free(ctx_base(t->g->ctx), &c.done);
  for (int i = 0; ok && i < t->nstore; i++) ok = tiles_store_if(t, b, t->store[i]->src[0], index[i], value[i], c.both);
  return ok;
}

/* What follows the sum `part`, of one row of a register tile. */
bool tiles_finish_row(Tiles *t, Block *b, UOp *row, UOp *col, UOp *lane, UOp *part) {
  UOp *gate = t->ragged ? int_lt(row, tiles_elements(&t->row)) : NULL, *clip = NULL;
  if (t->ragged && !gate) return false;
  if (t->clipped) { /* in 32 bits, as lanes of the sums */
    UOp *left = int_sub(tiles_elements(&t->col), col);
    clip = left ? uop_binary(OP_CMPLT, uop_cast(lane, POLY_INT32), uop_cast(left, POLY_INT32)) : NULL;
    if (!clip) return false;
  }
  return tiles_at(&t->row, row, NULL) && tiles_at(&t->col, col, lane) &&
         tiles_finish(t, b, part, gate, t->row.range[0], clip);
}
