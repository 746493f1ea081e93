/* rmat_device.c: R-MAT graphs made on a device with memory of its own: the edges of rmat.c, bit for bit, as programs
 * that run where the edges are wanted. Nothing as long as the edges or nodes is copied; one number is waited for in
 * each round.
 *
 *   tries    one try of every edge that is still out of range, round by round:   [E] row << 32 | column
 *   names    the permutation applied to every number until it is in range:       [V]
 *   edges    both ends of each, by their names:                                  [2, E]
 *
 * Keys, chances and sizes that change nothing but numbers are a small input, so graphs of other seeds run the same
 * kernels. */
#include "algorithms/rmat.h"

#include "algorithms/words.h"
#include "runtime/device.h"

/* rounds after which the host does it: chances that lead out of range nearly always */
enum { MOST_ROUNDS = 64, STEPS = 4 };

/* ---- what a round is told ---- */

enum { KEY, BEHIND, NODES, A, AB, ABC, NAMES, TOLD = NAMES + RMAT_ROUNDS };

/* Number k of the input as a tensor of shape [1]. */
static UOp *told(UOp *given, int k) {
  UOp *from = uop_index(given->ctx, k), *to = uop_index(given->ctx, k + 1);
  return uop_shrink(given, &from, &to);
}

static PolyTensor *tell(PolyContext *ctx, const Rmat *m, int64_t round) {
  uint64_t word[TOLD] = {[KEY] = m->key, [NODES] = m->nodes, [A] = m->a, [AB] = m->ab, [ABC] = m->abc};
  word[BEHIND] = (uint64_t)round * (uint64_t)((m->levels + 1) / 2) * RANDOM_STEP;
  for (uint64_t k = 0; k < RMAT_ROUNDS; k++) word[NAMES + k] = m->names + k;
  int64_t n = TOLD;
  return poly_from_data(ctx, word, POLY_UINT64, 1, &n);
}

/* ---- tries ---- */

static UOp *bit(UOp *x) { return uop_cast(x, POLY_UINT64); }

/* Row and column that the quarters of each level lead to; draw() of rmat.c. */
static UOp *one_try(const Rmat *m, UOp *given, UOp *edges) {
  UOp *edge = uop_iota(given->ctx, POLY_UINT64, edges), *ends = edge ? t_int_like(edge, 0) : NULL, *word = NULL;
  UOp *state = op(OP_ADD, keyed(told(given, KEY), edge), told(given, BEHIND));
  UOp *a = told(given, A), *ab = told(given, AB), *abc = told(given, ABC);
  for (int k = 0; k < m->levels; k++) {
    if (k % 2 == 0) word = mixed(opc(OP_ADD, state, (uint64_t)(k / 2 + 1) * RANDOM_STEP));
    UOp *u = k % 2 ? high_word(word) : low_word(word);
    UOp *down = bit(op(OP_CMPLE, ab, u));
    UOp *right = bit(op(OP_OR, op(OP_AND, op(OP_CMPLE, a, u), op(OP_CMPLT, u, ab)), op(OP_CMPLE, abc, u)));
    ends = op(OP_OR, opc(OP_SHL, ends, 1), op(OP_OR, opc(OP_SHL, down, 32), right));
  }
  return ends ? t_broadcast(ends, 1, &edges) : NULL;
}

/* Is an end of the edge no node? */
static UOp *is_out(UOp *ends, UOp *given) {
  UOp *nodes = told(given, NODES);
  return op(OP_OR, op(OP_CMPLE, nodes, high_word(ends)), op(OP_CMPLE, nodes, low_word(ends)));
}

/* Is it so anywhere? One number, and the values themselves. */
static bool compute(UOp *out, UOp *value, PolyTensor *made[2], bool *any) {
  UOp *one = out ? uop_index(out->ctx, 1) : NULL;
  UOp *found = out ? uop_reshape(uop_reduce(OP_MAX, uop_cast(out, POLY_INT32), 1), 1, &one) : NULL;
  int32_t word = 0;
  if (!found || !value) return false;
  made[0] = tensor_wrap(value->ctx, value);
  made[1] = tensor_wrap(value->ctx, found);
  bool ok = made[0] && made[1] && poly_realize_many(made, 2) == POLY_OK &&
            buffer_get(made[1]->uop->buffer, &word, sizeof word);
  *any = word != 0;
  return ok;
}

/* One more round on `before`, NULL at first; gives the caller the new values instead. */
static bool run_round(PolyContext *ctx, const Rmat *m, int64_t round, UOp *size, PolyTensor **state, bool *again,
                      UOp *(*next)(const Rmat *, UOp *given, UOp *before, UOp *size)) {
  PolyTensor *given = tell(ctx, m, round), *made[2] = {NULL, NULL};
  Scope s;
  scope_enter(ctx, &s);
  UOp *value = given ? uop_contiguous(next(m, given->uop, *state ? (*state)->uop : NULL, size), 0) : NULL;
  UOp *out = value ? is_out(value, given->uop) : NULL;
  bool ok = compute(out, value, made, again);
  scope_leave(ctx, &s);
  poly_free(given);
  poly_free(made[1]);
  poly_free(*state);
  *state = made[0];
  return ok;
}

static UOp *next_try(const Rmat *m, UOp *given, UOp *before, UOp *edges) {
  UOp *now = one_try(m, given, edges);
  return before ? t_where(is_out(before, given), now, before) : now;
}

/* ---- names ---- */

static UOp *feistel(const Rmat *m, UOp *given, UOp *x) {
  uint64_t mask = ((uint64_t)1 << m->half) - 1;
  UOp *left = opc(OP_SHR, x, (uint64_t)m->half), *right = opc(OP_AND, x, mask);
  for (int k = 0; k < RMAT_ROUNDS; k++) {
    UOp *next = op(OP_XOR, left, opc(OP_AND, keyed(told(given, NAMES + k), right), mask));
    left = right;
    right = next;
  }
  return op(OP_OR, opc(OP_SHL, left, (uint64_t)m->half), right);
}

/* The names of all numbers, as far as some more steps lead into range. */
static UOp *next_name(const Rmat *m, UOp *given, UOp *before, UOp *nodes) {
  UOp *x = before ? before : feistel(m, given, uop_iota(given->ctx, POLY_UINT64, nodes));
  for (int k = 0; k < STEPS && x; k++) x = t_where(op(OP_CMPLE, told(given, NODES), x), feistel(m, given, x), x);
  return x;
}

/* ---- both ---- */

static bool run_rounds(PolyContext *ctx, const Rmat *m, UOp *size, PolyTensor **state, bool *done,
                       UOp *(*next)(const Rmat *, UOp *, UOp *, UOp *)) {
  bool again = true;
  for (int64_t round = 0; again && round < MOST_ROUNDS; round++)
    if (!run_round(ctx, m, round, size, state, &again, next)) return false;
  *done = !again;
  return true;
}

/* [2, E] int64 out of packed pairs. */
static UOp *unpacked(UOp *ends, UOp *names) {
  PolyContext *ctx = ends->ctx;
  UOp *n = ends->shape[0], *shape[2] = {uop_index(ctx, 1), n}, *end[2];
  for (int k = 0; k < 2; k++) {
    UOp *x = uop_cast(k ? low_word(ends) : high_word(ends), POLY_INT64);
    if (names) x = uop_cast(uop_gather(names, x), POLY_INT64);
    end[k] = uop_reshape(x, 2, shape);
  }
  return uop_contiguous(uop_cat(2, end, 0), 0);
}

static PolyTensor *join(const PolyTensor *ends, const PolyTensor *names) {
  PolyContext *ctx = ends->ctx;
  Scope s;
  scope_enter(ctx, &s);
  PolyTensor *out = tensor_wrap(ctx, unpacked(ends->uop, names ? names->uop : NULL));
  scope_leave(ctx, &s);
  if (out && poly_realize(out) == POLY_OK) return out;
  poly_free(out);
  return NULL;
}

/* Edges on the device; none if it would take too many rounds. False: an error was set. */
static bool make_there(PolyContext *ctx, const Rmat *m, int64_t num_edges, bool shuffle, PolyTensor **out) {
  PolyTensor *ends = NULL, *names = NULL;
  Scope s;
  scope_enter(ctx, &s);
  UOp *edges = uop_index(ctx, num_edges), *nodes = uop_index(ctx, (int64_t)m->nodes);
  bool done = edges && nodes, ok = done && run_rounds(ctx, m, edges, &ends, &done, next_try);
  if (ok && done && shuffle) ok = run_rounds(ctx, m, nodes, &names, &done, next_name);
  if (ok && done) ok = (*out = join(ends, names)) != NULL;
  poly_free(ends);
  poly_free(names);
  scope_leave(ctx, &s);
  return ok;
}

static PolyTensor *make_here(PolyContext *ctx, const Rmat *m, int64_t num_edges, bool shuffle) {
  int64_t shape[2] = {2, num_edges};
  PolyTensor *out = poly_empty(ctx, POLY_INT64, 2, shape);
  int64_t *data = out && num_edges ? poly_data(out) : NULL;
  if (data) rmat_fill(m, num_edges, shuffle, poly_threads(ctx), data);
  if (data || !num_edges) return out;
  poly_free(out);
  return NULL;
}

PolyTensor *poly_rmat_edges(PolyContext *ctx, int64_t num_nodes, int64_t num_edges, double a, double b, double c,
                            uint64_t seed, bool shuffle) {
  Rmat m;
  if (!rmat_begin(&m, num_nodes, num_edges, a, b, c, seed))
    return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "no R-MAT graph has %lld nodes, %lld edges and chances %g %g %g",
                     (long long)num_nodes, (long long)num_edges, a, b, c);
  const Device *d = ctx->runtime->current;
  int64_t least = d->target.rmat_edges;
  bool there = d->memory->number && least && num_edges >= least && num_nodes <= INT32_MAX && !ctx->tracing;
  PolyTensor *out = NULL;
  if (there && !make_there(ctx, &m, num_edges, shuffle, &out)) return NULL;
  return out ? out : make_here(ctx, &m, num_edges, shuffle);
}
