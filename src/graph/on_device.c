/* on_device.c: graphs of an edge_index that lies on a device with memory of its own. In: that tensor. Out: the same
 * arrays, bit for bit, that the host would make (graph.c, rows.c, lengths.c), as programs that run where the indices
 * are: nothing as long as the edges is copied to the host, and only bounds are waited for.
 *
 *   indices in 32 bits, their bounds, whether they go down       one program for both ends
 *   rows by an end       the stable order of its indices (the routine "segment_order"), and what others lie there
 *   rows by length       the stable order of their bins, behind the row pointers
 *
 * Where anything is not as it should be, the host does it all, and says what is wrong. */
#include "graph/graph.h"

#include "runtime/device.h"
#include "tensor/tensor.h"

/* What the host wants to know of one end. */
enum { LOW, HIGH, DOWN, HASH, FACTS };

static bool lies_there(const PolyBuffer *b, const Memory *m) {
  if (!b) return false;
  if (b->of) b = b->of;
  return b->copy[m->number].valid && !b->copy[0].valid;
}

/* Do programs that run now find the array where they run, and the host does not? */
static bool is_on_device(const UOp *array) {
  const Runtime *r = array->ctx->runtime;
  const Device *d = r->current;
  bool able = d->memory->number && d->library && d->target.graph_edges && !array->ctx->tracing;
  return able && lies_there(array->buffer, d->memory);
}

/* ---- pieces of programs ---- */

static UOp *part(UOp *x, UOp *from, UOp *to) { return uop_shrink(x, &from, &to); }

static UOp *size_of(PolyContext *ctx, int64_t n) { return uop_index(ctx, n); }

/* One number as an int64 of shape [1]. */
static UOp *fact(UOp *x) {
  UOp *one = x ? uop_index(x->ctx, 1) : NULL;
  return uop_reshape(uop_cast(x, POLY_INT64), 1, &one);
}

/* See end_hash in graph.c. */
static UOp *mixed(UOp *x, uint64_t times) {
  UOp *folded = uop_binary(OP_XOR, x, t_binary(OP_SHR, x, t_int_like(x, 32)));
  return t_binary(OP_MUL, folded, t_int_like(x, (int64_t)times));
}

static UOp *hash_of(UOp *end) {
  UOp *v = uop_cast(uop_cast(end, POLY_INT64), POLY_UINT64), *e = uop_iota(end->ctx, POLY_UINT64, end->shape[0]);
  UOp *one = v ? t_int_like(v, 1) : NULL;
  UOp *a = t_binary(OP_MUL, t_binary(OP_ADD, v, one), t_int_like(v, (int64_t)0x9e3779b97f4a7c15u));
  UOp *b = t_binary(OP_MUL, t_binary(OP_ADD, e, one), t_int_like(v, (int64_t)0xd6e8feb86659fd93u));
  UOp *x = mixed(mixed(t_binary(OP_XOR, a, b), 0xd6e8feb86659fd93u), 0x9e3779b97f4a7c15u);
  return uop_reduce(OP_ADD, x, 1);
}

/* One end of the edges as it came, [E]. */
static UOp *end_of(UOp *edge_index, End k) {
  UOp *n = edge_index->shape[1], *begin[2] = {size_of(n->ctx, k), size_of(n->ctx, 0)};
  UOp *end[2] = {size_of(n->ctx, k + 1), n};
  return uop_reshape(uop_shrink(edge_index, begin, end), 1, &n);
}

static UOp *facts_of(UOp *end) {
  UOp *n = end->shape[0], *zero = size_of(n->ctx, 0), *one = size_of(n->ctx, 1), *fact_of[FACTS];
  UOp *down = t_binary(OP_CMPLT, part(end, one, n), part(end, zero, int_addc(n, -1)));
  fact_of[LOW] = fact(uop_reduce(OP_MIN, end, 1));
  fact_of[HIGH] = fact(uop_reduce(OP_MAX, end, 1));
  fact_of[DOWN] = fact(uop_reduce(OP_MAX, uop_cast(down, POLY_INT32), 1));
  fact_of[HASH] = fact(hash_of(end));
  for (int k = 0; k < FACTS; k++)
    if (!fact_of[k]) return NULL;
  return uop_cat(FACTS, fact_of, 0);
}

/* ---- running them ---- */

/* Computes values, whose handles are the caller's. */
static bool compute(PolyContext *ctx, int n, UOp *const *value, PolyTensor **out) {
  bool ok = true;
  for (int i = 0; i < n; i++) ok = (out[i] = tensor_wrap(ctx, value[i])) && ok;
  return ok && poly_realize_many(out, n) == POLY_OK;
}

static void free_all(int n, PolyTensor *const *t) {
  for (int i = 0; i < n; i++) poly_free(t[i]);
}

/* The memory of a computed value as an array of a graph, whose shape may be a part of it. */
static UOp *array_of(const PolyTensor *t, UOp *size) {
  UOp *u = uop_retain(uop_buffer(t->ctx, POLY_INT32, 1, &size));
  if (u) u->buffer = buffer_retain(t->uop->buffer);
  return u;
}

/* ---- edges ---- */

bool graph_pairs_on_device(const PolyTensor *edge_index) {
  const UOp *u = edge_index->uop;
  if (u->shape[1]->op != OP_CONST || !is_on_device(u)) return false;
  return u->shape[1]->arg.i >= MAX(2, u->ctx->runtime->current->target.graph_edges);
}

/* facts: of both ends. */
static bool read_facts(const PolyTensor *t, DeviceEnd *end) {
  int64_t facts[2][FACTS];
  if (!buffer_get(t->uop->buffer, facts, sizeof facts)) return false;
  for (int k = 0; k < 2; k++)
    end[k] = (DeviceEnd){facts[k][LOW], facts[k][HIGH], !facts[k][DOWN], (uint64_t)facts[k][HASH], NULL};
  return true;
}

bool graph_look_on_device(PolyTensor *edge_index, bool arrays, DeviceEnd end[2]) {
  PolyContext *ctx = edge_index->ctx;
  UOp *e[2] = {NULL, NULL}, *value[3] = {NULL}, *facts[2];
  PolyTensor *out[3] = {NULL};
  Scope s;
  scope_enter(ctx, &s);
  for (int k = 0; k < 2; k++) {
    e[k] = end_of(edge_index->uop, (End)k);
    facts[k] = e[k] ? facts_of(e[k]) : NULL;
    value[1 + k] = arrays && e[k] ? uop_contiguous(uop_cast(e[k], POLY_INT32), 0) : NULL;
  }
  value[0] = facts[0] && facts[1] ? uop_cat(2, facts, 0) : NULL;
  int n = arrays ? 3 : 1;
  bool ok = value[0] && (!arrays || (value[1] && value[2])) && compute(ctx, n, value, out) && read_facts(out[0], end);
  for (int k = 0; ok && arrays && k < 2; k++) ok = (end[k].index = array_of(out[1 + k], e[k]->shape[0])) != NULL;
  free_all(n, out);
  scope_leave(ctx, &s);
  return ok;
}

/* ---- rows ---- */

/* Row pointers and entries, one behind the other: the stable order of keys below `rows`. */
static UOp *order_of(UOp *key, UOp *rows) {
  UOp *total = int_add(int_addc(rows, 1), key->shape[0]);
  return uop_library(key->ctx, "segment_order", 0, POLY_INT32, 1, &key, 1, &total);
}

/* The bin of each row: see lengths.c. */
static UOp *bins_of(UOp *length) {
  PolyContext *ctx = length->ctx;
  UOp *bits = size_of(ctx, ROW_BINS - 1), *rows = length->shape[0], *one = size_of(ctx, 1);
  UOp *power = uop_iota(ctx, POLY_INT32, bits);
  power = t_binary(OP_SHL, power ? t_int_like(power, 1) : NULL, power);
  UOp *longer =
      t_binary(OP_CMPLT, uop_reshape(power, 2, (UOp *[]){one, bits}), uop_reshape(length, 2, (UOp *[]){rows, one}));
  UOp *log = uop_reshape(uop_reduce(OP_ADD, uop_cast(longer, POLY_INT32), 1u << 1), 1, &rows);
  UOp *bin = log ? t_binary(OP_SUB, t_int_like(log, ROW_BINS - 1), log) : NULL;
  UOp *empty = t_binary(OP_CMPEQ, length, t_int_like(length, 0));
  return bin && empty ? t_where(empty, t_int_like(bin, ROW_BINS), bin) : NULL;
}

/* Row pointers with the rows by their lengths behind them. */
static UOp *with_lengths(UOp *rowptr, UOp *rows) {
  PolyContext *ctx = rowptr->ctx;
  UOp *zero = size_of(ctx, 0), *one = size_of(ctx, 1), *bins = size_of(ctx, ROW_BINS);
  UOp *length = uop_binary(OP_SUB, part(rowptr, one, int_addc(rows, 1)), part(rowptr, zero, rows));
  UOp *bin = length ? bins_of(length) : NULL, *order = bin ? order_of(bin, int_addc(bins, 1)) : NULL;
  if (!order) return NULL;
  UOp *by_length = part(order, int_addc(bins, 2), order->shape[0]), *begin = part(order, zero, bins);
  UOp *parts[3] = {rowptr, by_length, uop_flip(begin, 1)};
  return parts[1] && parts[2] ? uop_cat(3, parts, 0) : NULL;
}

bool graph_rows_on_device(PolyGraph *g, End end, bool *done) {
  UOp *key = g->index[end], *other = g->index[other_end(end)], *rows = g->nodes[end];
  *done = false;
  if (g->edges->op != OP_CONST || rows->op != OP_CONST || g->num_nodes[end] < 1) return true;
  if (!is_on_device(key) || !is_on_device(other)) return true;
  PolyTensor *out[3] = {NULL};
  Scope s;
  scope_enter(g->ctx, &s);
  UOp *order = order_of(key, rows), *past = int_addc(rows, 1), *zero = size_of(g->ctx, 0);
  UOp *rowptr = order ? part(order, zero, past) : NULL, *entries = order ? part(order, past, order->shape[0]) : NULL;
  UOp *value[3] = {rowptr ? with_lengths(rowptr, rows) : NULL, entries ? uop_contiguous(entries, 0) : NULL,
                   entries ? uop_gather(other, entries) : NULL};
  bool ok = value[0] && value[1] && value[2] && compute(g->ctx, 3, value, out);
  if (ok) {
    EdgeRows made = {array_of(out[0], past), array_of(out[1], g->edges), array_of(out[2], g->edges), NULL, NULL};
    g->rows[end] = made;
    *done = true;
    ok = made.rowptr && made.entries && made.others;
  }
  free_all(3, out);
  scope_leave(g->ctx, &s);
  return ok;
}
