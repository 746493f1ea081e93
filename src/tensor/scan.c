/* scan.c: poly_scan: a loop over steps. In: first values, stacked inputs, a callback that builds one step. Out: lazy
 * handles on the last values and the stacked results. The body is built once, whatever the number of steps. */
#include "ir/scan.h"
#include "tensor/tensor.h"

typedef struct Build {
  PolyContext *ctx;
  Arena arena;
  const PolyScanBody *body;
  Scan s;
  UOp **init, **xs, **out;
  PolyTensor **argument; /* of the body */
  PolyTensor **given;    /* what it gave: new carried values, then results */
  int ny;
} Build;

static bool fail(const Build *b, PolyStatus code, const char *text) {
  return base_fail(ctx_base(b->ctx), code, "scan: %s", text);
}

static bool take_inputs(Build *b, PolyTensor *const *init, PolyTensor *const *xs, int64_t length) {
  char ta[256], tb[64];
  UOp *n = b->s.nx && length < 0 ? NULL : dim_from_api(b->ctx, length);
  for (int k = 0; k < b->s.ncarry; k++) b->init[k] = init[k]->uop;
  for (int k = 0; k < b->s.nx; k++) {
    UOp *x = b->xs[k] = xs[k]->uop;
    if (!x->ndim) return fail(b, POLY_ERROR_VALUE, "a stacked input has no axis to go along");
    if (!n) n = x->shape[0];
    if (x->shape[0] != n)
      return base_fail(ctx_base(b->ctx), POLY_ERROR_VALUE,
                       "scan: a stacked input has shape %s, and the loop has %s steps", shape_text(x, ta, sizeof ta),
                       dim_text(n, tb, sizeof tb));
  }
  if (n && n->vmax < 0) n = NULL;
  b->s.length = n;
  return n || fail(b, POLY_ERROR_VALUE, "the number of steps is unknown: give stacked inputs or a length");
}

static bool make_arguments(Build *b) {
  b->s.id = ctx_unique(b->ctx);
  for (int k = 0; k < b->s.ncarry + b->s.nx; k++) {
    bool row = k >= b->s.ncarry;
    const UOp *like = row ? b->xs[k - b->s.ncarry] : b->init[k];
    UOp *u = uop_argument(b->ctx, b->s.id, k, (PolyDType)like->dtype, like->ndim - row, like->shape + row);
    if (!(b->argument[k] = tensor_wrap(b->ctx, u))) return false;
  }
  return true;
}

/* The callback draws no random numbers: each step would get the same. */
static bool build_step(Build *b) {
  uint64_t drawn = b->ctx->drawn;
  PolyTensor **y = b->given + b->s.ncarry;
  b->ny = b->body->step(b->body->user, b->argument, b->s.ncarry, b->argument + b->s.ncarry, b->s.nx, b->given, y);
  if (b->ny < 0) return ctx_base(b->ctx)->code != POLY_OK ? false : fail(b, POLY_ERROR_RUNTIME, "the body failed");
  if (b->ny > POLY_SCAN_RESULTS) return fail(b, POLY_ERROR_VALUE, "the body gives too many results");
  if (b->ctx->drawn != drawn)
    return fail(b, POLY_ERROR_VALUE,
                "the body draws random numbers, which would be the same at every step: draw them for all steps before "
                "the loop and give them to it as a stacked input");
  return true;
}

static bool take_results(Build *b) {
  char ta[256], tb[256];
  b->s.nout = b->s.ncarry + b->ny;
  for (int k = 0; k < b->s.nout; k++) {
    if (!b->given[k]) return fail(b, POLY_ERROR_VALUE, "the body did not give all values");
    if (b->given[k]->ctx != b->ctx) return fail(b, POLY_ERROR_VALUE, "the body gave a tensor of another context");
    UOp *u = b->out[k] = b->given[k]->uop;
    if (k >= b->s.ncarry) continue;
    if (u->dtype != b->init[k]->dtype)
      return base_fail(ctx_base(b->ctx), POLY_ERROR_TYPE, "scan: carried value %d begins as %s and becomes %s", k,
                       dtype_name((PolyDType)b->init[k]->dtype), dtype_name((PolyDType)u->dtype));
    if (!shape_equal(u, b->init[k]) && shape_same(u, b->init[k])) u = b->out[k] = uop_under(u, b->init[k]->shape);
    if (!u) return false;
    if (!shape_equal(u, b->init[k]))
      return base_fail(ctx_base(b->ctx), POLY_ERROR_VALUE, "scan: carried value %d begins with shape %s and becomes %s",
                       k, shape_text(b->init[k], ta, sizeof ta), shape_text(u, tb, sizeof tb));
  }
  return true;
}

static bool wrap_results(Build *b, PolyTensor **last, PolyTensor **stacked) {
  b->s.init = b->init;
  b->s.xs = b->xs;
  b->s.out = b->out;
  UOp *scan = scan_build(b->ctx, &b->s);
  if (!scan) return false;
  Scan made = scan_of(scan);
  bool ok = true;
  for (int k = 0; ok && k < b->s.ncarry; k++) ok = (last[k] = tensor_wrap(b->ctx, uop_final(scan, k))) != NULL;
  for (int k = 0; ok && k < b->ny; k++)
    ok = (stacked[k] = tensor_wrap(b->ctx, scan_result(scan, made.out[b->s.ncarry + k]))) != NULL;
  return ok;
}

static bool new_lists(Build *b) {
  size_t n = (size_t)(b->s.ncarry + b->s.nx + POLY_SCAN_RESULTS) + 1;
  b->init = arena_new(&b->arena, n * sizeof *b->init);
  b->xs = arena_new(&b->arena, n * sizeof *b->xs);
  b->out = arena_new(&b->arena, n * sizeof *b->out);
  b->argument = arena_new(&b->arena, n * sizeof *b->argument);
  b->given = arena_new(&b->arena, n * sizeof *b->given);
  return b->init && b->xs && b->out && b->argument && b->given;
}

static void free_handles(int n, PolyTensor **t) {
  for (int k = 0; t && k < n; k++) {
    poly_free(t[k]);
    t[k] = NULL;
  }
}

int poly_scan(PolyContext *ctx, const PolyScanBody *body, PolyTensor *const *init, int ncarry, PolyTensor *const *xs,
              int nx, int64_t length, int flags, PolyTensor **last, PolyTensor **stacked) {
  if (!ctx || !body || !body->step) return -1;
  Build b = {.ctx = ctx, .arena = {.b = ctx_base(ctx)}, .body = body};
  b.s = (Scan){
      .reverse = flags & POLY_SCAN_REVERSE, .recompute = flags & POLY_SCAN_RECOMPUTE, .ncarry = ncarry, .nx = nx};
  for (int k = 0; k < ncarry; k++) last[k] = NULL;
  for (int k = 0; k < POLY_SCAN_RESULTS; k++) stacked[k] = NULL;
  Scope scope;
  scope_enter(ctx, &scope);
  bool ok = new_lists(&b) && take_inputs(&b, init, xs, length) && make_arguments(&b) && build_step(&b) &&
            take_results(&b) && wrap_results(&b, last, stacked);
  scope_leave(ctx, &scope);
  free_handles(ncarry + nx, b.argument);
  free_handles(ncarry + POLY_SCAN_RESULTS, b.given);
  if (!ok) free_handles(ncarry, last);
  if (!ok) free_handles(POLY_SCAN_RESULTS, stacked);
  arena_free(&b.arena);
  return ok ? b.ny : -1;
}
