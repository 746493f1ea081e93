/* lift.c: kernels that differ in numbers alone. In: the linear kernels of a plan. Out: where several of them are the
 * same but for float constants, the constants that differ are arguments, so that one kernel is compiled for all: the
 * layers of a deep network, each with a factor of its own.
 *
 * A number travels as the bits of a double in an integer argument, as the scalars of a plan do. Bits of results do not
 * change: the argument holds what the constant held. */
#include "codegen/codegen.h"

#include <string.h>

enum { LEAST = 3 }; /* different kernels that are worth one with arguments: a constant may be folded into its users */

static bool is_number(const Inst *in) { return in->kind == INST_CONST && dtype_is_float((PolyDType)in->dtype); }

/* Equal but for the values of float constants? */
static bool same_form(const Linear *a, const Linear *b) {
  if (a->ninst != b->ninst || a->nparam != b->nparam || a->nvar != b->nvar) return false;
  if (a->group != b->group || a->pack != b->pack || a->spread != b->spread || a->turns != b->turns ||
      a->grid != b->grid)
    return false;
  for (int k = 0; k < a->nparam; k++)
    if (memcmp(&a->param[k], &b->param[k], sizeof *a->param) != 0) return false;
  for (int i = 0; i < a->ninst; i++) {
    Inst x = a->inst[i], y = b->inst[i];
    if (is_number(&x) && is_number(&y)) x.arg.i = y.arg.i;
    if (memcmp(&x, &y, sizeof x) != 0) return false;
  }
  return true;
}

static uint64_t form_hash(Arena *arena, const Linear *lin) {
  Inst *copy = arena_new(arena, (size_t)(lin->ninst + 1) * sizeof *copy);
  if (!copy) return 0;
  memcpy(copy, lin->inst, (size_t)lin->ninst * sizeof *copy);
  for (int i = 0; i < lin->ninst; i++)
    if (is_number(&copy[i])) copy[i].arg.i = 0;
  return hash_bytes(copy, (size_t)lin->ninst * sizeof *copy, 17);
}

/* The constant's place becomes that of its value: an argument, its bits as a double, and that in the constant's dtype.
 */
static int put_number(Inst *to, int at, const Inst *number, int var) {
  to[at] = (Inst){.kind = INST_VAR, .dtype = POLY_INT64, .src = {-1, -1, -1}, .arg = {.i = var}};
  to[at + 1] = (Inst){.kind = INST_ALU, .dtype = POLY_FLOAT64, .op = OP_BITCAST, .src = {at, -1, -1}};
  if (number->dtype == POLY_FLOAT64) return at + 1;
  to[at + 2] = (Inst){.kind = INST_ALU, .dtype = number->dtype, .op = OP_CAST, .src = {at + 1, -1, -1}};
  return at + 2;
}

/* The kernel with the marked constants as arguments, which come first. */
static bool lift(PolyContext *ctx, Arena *arena, const bool *marked, int count, Linear *lin) {
  Inst *to = arena_new(arena, (size_t)(lin->ninst + 3 * count) * sizeof *to);
  UOp **var = arena_new(arena, (size_t)(lin->nvar + count) * sizeof *var);
  int32_t *place = arena_new(arena, (size_t)(lin->ninst + 1) * sizeof *place);
  if (!to || !var || !place) return false;
  memcpy(var, lin->var, (size_t)lin->nvar * sizeof *var);
  int n = 0, nvar = lin->nvar;
  for (int i = 0; i < lin->ninst; i++) {
    if (!marked[i]) continue;
    place[i] = put_number(to, n, &lin->inst[i], nvar);
    n = place[i] + 1;
    if (!(var[nvar++] = uop_int_const(ctx, POLY_INT64, lin->inst[i].arg.i))) return false;
  }
  for (int i = 0; i < lin->ninst; i++) {
    if (marked[i]) continue;
    place[i] = n;
    to[n] = lin->inst[i];
    for (int k = 0; k < 3; k++)
      if (to[n].src[k] >= 0) to[n].src[k] = place[to[n].src[k]];
    n++;
  }
  lin->inst = to;
  lin->ninst = n;
  lin->var = var;
  lin->nvar = nvar;
  return true;
}

/* The kernels of one form, at least two: if enough of them differ, each with its numbers as arguments. */
static bool lift_form(PolyContext *ctx, Arena *arena, int n, Linear *const *lin) {
  bool *marked = arena_new(arena, (size_t)lin[0]->ninst + 1);
  if (!marked) return false;
  memset(marked, 0, (size_t)lin[0]->ninst + 1);
  int count = 0, different = 1;
  for (int k = 1; k < n; k++) {
    bool same = true;
    for (int i = 0; i < lin[0]->ninst; i++) {
      if (lin[k]->inst[i].arg.i != lin[k - 1]->inst[i].arg.i) same = false;
      if (!is_number(&lin[0]->inst[i]) || marked[i] || lin[k]->inst[i].arg.i == lin[0]->inst[i].arg.i) continue;
      marked[i] = true;
      count++;
    }
    different += !same;
  }
  if (different < LEAST) return true;
  for (int k = 0; k < n; k++)
    if (!lift(ctx, arena, marked, count, lin[k])) return false;
  return true;
}

bool codegen_lift(PolyContext *ctx, Arena *arena, const Target *target, int n, Linear *const *lin) {
  if (!(target->dtypes >> POLY_FLOAT64 & 1)) return true; /* no double to carry a number in */
  Linear **form = arena_new(arena, (size_t)(n + 1) * sizeof *form);
  uint64_t *hash = arena_new(arena, (size_t)(n + 1) * sizeof *hash);
  bool *done = arena_new(arena, (size_t)n + 1);
  if (!form || !hash || !done) return false;
  memset(done, 0, (size_t)n + 1);
  for (int i = 0; i < n; i++) hash[i] = form_hash(arena, lin[i]);
  for (int i = 0; i < n; i++) {
    int count = 0;
    for (int k = i; !done[i] && k < n; k++) {
      if (done[k] || hash[k] != hash[i] || !same_form(lin[i], lin[k])) continue;
      form[count++] = lin[k];
      done[k] = k > i;
    }
    if (count >= LEAST && !lift_form(ctx, arena, count, form)) return false;
  }
  return true;
}
