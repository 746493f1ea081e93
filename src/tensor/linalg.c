/* linalg.c: products that sum over common axes: matmul, linear, einsum.
 *
 * Every product of two tensors takes one form: both operands are given the axes [batch, M, N, K] (size 1 where an
 * operand has none), broadcast, multiplied, and K is reduced by ADD. The scheduler knows this form and sends it to the
 * device's matrix product; nothing else here is special. Half-precision operands are multiplied and summed in float32.
 */
#include "ir/context.h"
#include "tensor/shape_ops.h"

#include <string.h>

/* What products of dtype d are summed in. */
static PolyDType product_dtype(PolyDType d) { return dtype_is_small(d) ? POLY_FLOAT32 : dtype_sum(d); }

UOp *t_contract(UOp *a, UOp *b, int ndim, UOp *const *shape, uint32_t axes, PolyDType out) {
  if (!a || !b) return NULL;
  PolyDType acc = product_dtype(dtype_promote((PolyDType)a->dtype, (PolyDType)b->dtype));
  if (dtype_is_float(out)) acc = dtype_promote(acc, out);
  a = t_broadcast(uop_cast(a, acc), ndim, shape);
  b = t_broadcast(uop_cast(b, acc), ndim, shape);
  UOp *sum = uop_reduce(OP_ADD, uop_binary(OP_MUL, a, b), axes);
  return t_drop_axes(t_cast(sum, out), axes);
}

/* ---- matmul ---- */

static UOp *plain_rows(UOp *a, UOp *b, PolyDType out) {
  if (!a || !b) return NULL;
  UOp *left = t_unsqueeze(a, a->ndim - 1), *right = t_unsqueeze(b, b->ndim - 2), *shape[MAX_DIMS];
  UOp *both[] = {left, right};
  int ndim;
  if (!left || !right || !t_broadcast_shapes(2, both, &ndim, shape)) return NULL;
  return t_contract(left, right, ndim, shape, 1u << (ndim - 1), out);
}

/* a [..., M, K] and b [..., N, K] to [..., M, N]. */
static UOp *matmul_rows(UOp *a, UOp *b, PolyDType out) {
  UOp *plain = plain_rows(a, b, out), *scaled = plain ? t_scaled_product(a, b, out) : NULL;
  if (plain && ctx_base(plain->ctx)->code != POLY_OK) return NULL;
  return scaled ? uop_function(FUNCTION_SAME, 0, scaled, 1, &plain) : plain;
}

static bool batches_fit(const UOp *a, const UOp *b) {
  for (int k = 3; k <= MIN(a->ndim, b->ndim); k++) {
    UOp *p = a->shape[a->ndim - k], *q = b->shape[b->ndim - k];
    if (!t_same_size(p, q) && !uop_is_int(p, 1) && !uop_is_int(q, 1)) return false;
  }
  return true;
}

UOp *t_matmul_as(UOp *a, UOp *b, PolyDType out) {
  if (!a || !b) return NULL;
  bool row = a->ndim == 1, col = b->ndim == 1;
  UOp *k = a->ndim ? a->shape[a->ndim - 1] : NULL, *l = b->ndim ? b->shape[b->ndim - (col ? 1 : 2)] : NULL;
  if (!k || !l || !t_same_size(k, l) || !batches_fit(a, b)) {
    uop_fail_shapes("matmul", a, b);
    return NULL;
  }
  if (row) a = t_unsqueeze(a, 0);
  b = col ? t_unsqueeze(b, 0) : t_transpose(b, b->ndim - 1, b->ndim - 2);
  UOp *c = matmul_rows(a, b, out);
  if (!c) return NULL;
  uint32_t drop = (row ? 1u << (c->ndim - 2) : 0) | (col ? 1u << (c->ndim - 1) : 0);
  return t_drop_axes(c, drop);
}

UOp *t_matmul(UOp *a, UOp *b) {
  return a && b ? t_matmul_as(a, b, dtype_promote((PolyDType)a->dtype, (PolyDType)b->dtype)) : NULL;
}

UOp *t_linear(UOp *x, UOp *weight, UOp *bias) {
  if (!x || !weight) return NULL;
  if (weight->ndim != 2 || x->ndim < 1 || !t_same_size(x->shape[x->ndim - 1], weight->shape[1])) {
    uop_fail_shapes("linear: tensor and weight", x, weight);
    return NULL;
  }
  if (bias && (bias->ndim != 1 || bias->shape[0] != weight->shape[0])) {
    uop_fail_shapes("linear: weight and bias", weight, bias);
    return NULL;
  }
  UOp *rows = x->ndim == 1 ? t_unsqueeze(x, 0) : x;
  UOp *y = matmul_rows(rows, weight, dtype_promote((PolyDType)x->dtype, (PolyDType)weight->dtype));
  if (x->ndim == 1) y = t_drop_axes(y, 1);
  return bias ? t_add(y, bias) : y;
}

/* f of a value in a vertex program is computed under true sizes: what is read from the ends of edges is seen there. */
static UOp *resolved(UOp *x, UOp **size) {
  *size = NULL;
  return x->ctx->resolve_sizes ? x->ctx->resolve_sizes(x->ctx, x, size) : x;
}

static UOp *placed(UOp *y, UOp *size) { return y && size ? t_slice(y, 0, uop_index(y->ctx, 0), size) : y; }

static UOp *linear_there(UOp *x, UOp *weight, UOp *bias) {
  if (!x || !weight) return NULL;
  UOp *size, *t = resolved(x, &size);
  return placed(t_linear(t, weight, bias), size);
}

static UOp *matmul_there(UOp *a, UOp *b) {
  if (!a || !b) return NULL;
  UOp *size = NULL, *t = b->ndim == 2 && a->ndim > 1 ? resolved(a, &size) : a;
  return placed(t_matmul(t, b), size);
}

/* ---- lower precision ---- */

PolyStatus poly_set_autocast(PolyContext *ctx, PolyDType dtype) {
  if (!ctx) return POLY_ERROR_VALUE;
  if (dtype != POLY_FLOAT32 && dtype != POLY_FLOAT16 && dtype != POLY_BFLOAT16) {
    base_fail(ctx_base(ctx), POLY_ERROR_TYPE, "autocast: products are taken in float16, bfloat16 or float32, not in %s",
              dtype_name(dtype));
    return POLY_ERROR_TYPE;
  }
  ctx->autocast = dtype == POLY_FLOAT32 ? (PolyDType)0 : dtype;
  return POLY_OK;
}

PolyDType poly_autocast(const PolyContext *ctx) { return ctx && ctx->autocast ? ctx->autocast : POLY_FLOAT32; }

/* A factor of a product in the dtype that poly_set_autocast asks for. */
static UOp *lowered(UOp *x) {
  return x && x->ctx->autocast && x->dtype == POLY_FLOAT32 ? uop_cast(x, x->ctx->autocast) : x;
}

PolyTensor *poly_matmul(PolyTensor *a, PolyTensor *b) {
  if (!a || !b) return NULL;
  UOp *x[] = {a->uop, b->uop};
  TENSOR_RETURN(a->ctx, t_meet(a->ctx, 2, x, false) ? matmul_there(lowered(x[0]), lowered(x[1])) : NULL);
}

PolyTensor *poly_linear(PolyTensor *x, PolyTensor *weight, PolyTensor *bias) {
  if (!x || !weight) return NULL;
  TENSOR_RETURN(x->ctx, linear_there(lowered(x->uop), lowered(weight->uop), lowered(t_uop(bias))));
}

/* ---- einsum ---- */

/* A tensor with a label an axis: a letter, or ELLIPSIS + k for the k-th axis from the right of an ellipsis. */
enum { ELLIPSIS = 128, LABELS = ELLIPSIS + MAX_DIMS };
typedef struct Term {
  UOp *x;
  int n;
  uint8_t label[MAX_DIMS];
} Term;

typedef struct Einsum {
  PolyContext *ctx;
  const char *formula;
  int nout, dots; /* dots: axes of the longest ellipsis */
  uint8_t out[MAX_DIMS];
  int seen[LABELS];    /* how many times in the inputs */
  int pending[LABELS]; /* how many operands not yet multiplied have it, plus one if the output has */
} Einsum;

static bool fail_formula(const Einsum *e, const char *why) {
  return base_fail(ctx_base(e->ctx), POLY_ERROR_VALUE, "einsum \"%s\": %s", e->formula, why);
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* One side of a comma or the output, from *at up to a comma, an arrow or the end. dots: axes behind an ellipsis. */
static bool parse_labels(const Einsum *e, const char **at, int dots, uint8_t *label, int *n) {
  bool ellipsis = false;
  *n = 0;
  for (; **at && **at != ',' && **at != '-'; (*at)++) {
    if (**at == ' ') continue;
    if (strncmp(*at, "...", 3) == 0 && !ellipsis) {
      ellipsis = true;
      *at += 2;
      for (int k = dots - 1; k >= 0; k--) {
        if (*n == MAX_DIMS) return fail_formula(e, "too many axes");
        label[(*n)++] = (uint8_t)(ELLIPSIS + k);
      }
    } else if (is_letter(**at)) {
      if (*n == MAX_DIMS) return fail_formula(e, "too many axes");
      label[(*n)++] = (uint8_t) * *at;
    } else {
      return fail_formula(e, "letters, commas, \"...\" and \"->\" are expected");
    }
  }
  return true;
}

/* Letters that an operand has outside of its ellipsis; -1: it has no ellipsis. */
static int ellipsis_axes(const char *at, int ndim) {
  int letters = 0;
  bool ellipsis = false;
  for (; *at && *at != ',' && *at != '-'; at++) {
    letters += is_letter(*at);
    ellipsis = ellipsis || *at == '.';
  }
  return ellipsis ? MAX(ndim - letters, 0) : 0;
}

static bool parse_inputs(Einsum *e, const char **at, Term *term, int n) {
  char text[256];
  for (int k = 0; k < n; k++) {
    int dots = ellipsis_axes(*at, term[k].x->ndim);
    e->dots = MAX(e->dots, dots);
    if (!parse_labels(e, at, dots, term[k].label, &term[k].n)) return false;
    if (term[k].n != term[k].x->ndim)
      return base_fail(ctx_base(e->ctx), POLY_ERROR_VALUE, "einsum \"%s\": operand %d has %d labels for shape %s",
                       e->formula, k, term[k].n, shape_text(term[k].x, text, sizeof(text)));
    for (int i = 0; i < term[k].n; i++) e->seen[term[k].label[i]]++;
    if (k < n - 1 ? **at != ',' : **at == ',') return fail_formula(e, "it does not have as many inputs as were given");
    if (**at == ',') (*at)++;
  }
  return true;
}

static bool parse_output(Einsum *e, const char *at) {
  if (*at == '-') {
    if (at[1] != '>') return fail_formula(e, "\"-\" without \">\"");
    at += 2;
    if (!parse_labels(e, &at, e->dots, e->out, &e->nout)) return false;
    if (*at) return fail_formula(e, "there is something after the output");
  } else { /* the ellipsis, then the letters that occur once, in order */
    for (int k = e->dots - 1; k >= 0; k--) e->out[e->nout++] = (uint8_t)(ELLIPSIS + k);
    for (int c = 0; c < ELLIPSIS; c++) {
      if (e->seen[c] != 1) continue;
      if (e->nout == MAX_DIMS) return fail_formula(e, "too many axes");
      e->out[e->nout++] = (uint8_t)c;
    }
  }
  for (int k = 0; k < e->nout; k++) {
    if (e->seen[e->out[k]] == 0) return fail_formula(e, "an output label is in no input");
    for (int i = 0; i < k; i++)
      if (e->out[i] == e->out[k]) return fail_formula(e, "an output label occurs twice");
  }
  return true;
}

static int find_label(const Term *t, int label) {
  for (int k = 0; k < t->n; k++)
    if (t->label[k] == label) return k;
  return -1;
}

static void remove_label(Term *t, int k) {
  memmove(t->label + k, t->label + k + 1, (size_t)(t->n - k - 1));
  t->n--;
}

/* A label that occurs twice: its diagonal, as the last axis. */
static bool take_diagonals(Term *t) {
  for (int i = 0; i < t->n; i++)
    for (int j = i + 1; j < t->n; j++) {
      if (t->label[i] != t->label[j]) continue;
      uint8_t label = t->label[i];
      t->x = t_move_axis(t_move_axis(t->x, j, t->n - 1), i, t->n - 1);
      t->x = t_diagonal(t->x);
      if (!t->x) return false;
      remove_label(t, j);
      remove_label(t, i);
      t->label[t->n++] = label;
      i = -1;
      break;
    }
  return true;
}

/* Sums the axes that nobody else needs. */
static bool sum_lonely(const Einsum *e, Term *t, const Term *other) {
  uint32_t mask = 0;
  for (int k = 0; k < t->n; k++)
    if (!e->pending[t->label[k]] && (!other || find_label(other, t->label[k]) < 0)) mask |= 1u << k;
  t->x = t_drop_axes(uop_reduce(OP_ADD, t->x, mask), mask);
  int n = 0;
  for (int k = 0; k < t->n; k++)
    if (!(mask >> k & 1)) t->label[n++] = t->label[k];
  t->n = n;
  return t->x != NULL;
}

/* t's axes in the order of labels, size 1 where it has none. */
static UOp *align(const Term *t, int n, const uint8_t *label) {
  int perm[MAX_DIMS], m = 0;
  UOp *dims[MAX_DIMS];
  for (int k = 0; k < n; k++) {
    int at = find_label(t, label[k]);
    if (at >= 0) perm[m++] = at;
    dims[k] = at >= 0 ? t->x->shape[at] : uop_index(t->x->ctx, 1);
  }
  return uop_reshape(uop_permute(t->x, perm), n, dims);
}

/* a * b: labels ordered batch, M, N, K; K (in both and not pending) is summed. The product replaces a. */
static bool multiply(const Einsum *e, Term *a, Term *b) {
  uint8_t label[2 * MAX_DIMS];
  int n = 0, nk = 0;
  if (!sum_lonely(e, a, b) || !sum_lonely(e, b, a)) return false;
  for (int group = 0; group < 4; group++) {
    const Term *t = group == 2 ? b : a;
    for (int k = 0; k < t->n; k++) {
      bool both = find_label(t == a ? b : a, t->label[k]) >= 0, later = e->pending[t->label[k]] > 0;
      int own = both ? (later ? 0 : 3) : (t == a ? 1 : 2);
      if (own == group) label[n++] = t->label[k], nk += group == 3;
    }
  }
  if (n > MAX_DIMS) return fail_formula(e, "a product has too many axes");
  UOp *both[] = {align(a, n, label), align(b, n, label)}, *shape[MAX_DIMS];
  int ndim;
  if (!both[0] || !both[1] || !t_broadcast_shapes(2, both, &ndim, shape)) return false;
  uint32_t axes = (uint32_t)((1ull << n) - (1ull << (n - nk)));
  a->x = t_contract(both[0], both[1], n, shape, axes, (PolyDType)both[0]->dtype);
  a->n = n - nk;
  memcpy(a->label, label, (size_t)a->n);
  return a->x != NULL;
}

static bool take_apart(Einsum *e, Term *term, int n) {
  const char *at = e->formula;
  if (!parse_inputs(e, &at, term, n) || !parse_output(e, at)) return false;
  for (int k = 0; k < e->nout; k++) e->pending[e->out[k]]++;
  for (int k = 0; k < n; k++) {
    if (!take_diagonals(&term[k])) return false;
    for (int i = 0; i < term[k].n; i++) e->pending[term[k].label[i]]++;
  }
  return true;
}

static void no_longer_pending(Einsum *e, const Term *t) {
  for (int i = 0; i < t->n; i++) e->pending[t->label[i]]--;
}

static UOp *einsum(Einsum *e, Term *term, int n) {
  PolyDType out = (PolyDType)term[0].x->dtype;
  for (int k = 0; k < n; k++) out = dtype_promote(out, (PolyDType)term[k].x->dtype);
  for (int k = 0; k < n; k++) {
    term[k].x = uop_cast(term[k].x, product_dtype(out));
    if (!term[k].x) return NULL;
  }
  if (!dtype_is_float(out)) out = dtype_sum(out); /* small integers are added as wider ones */
  if (!take_apart(e, term, n)) return NULL;
  no_longer_pending(e, &term[0]);
  for (int k = 1; k < n; k++) {
    no_longer_pending(e, &term[k]);
    if (!multiply(e, &term[0], &term[k])) return NULL;
  }
  if (!sum_lonely(e, &term[0], NULL)) return NULL;
  int perm[MAX_DIMS];
  for (int k = 0; k < e->nout; k++) perm[k] = find_label(&term[0], e->out[k]);
  return t_cast(uop_permute(term[0].x, perm), out);
}

static UOp *einsum_of(PolyContext *ctx, const char *formula, PolyTensor *const *t, int n) {
  Base *b = ctx_base(ctx);
  Einsum e = {.ctx = ctx, .formula = formula};
  Term *term = mem_new(b, (size_t)n * sizeof(*term));
  if (!term) return NULL;
  for (int k = 0; k < n; k++) term[k].x = t[k]->uop;
  UOp *out = einsum(&e, term, n);
  mem_free(b, term, (size_t)n * sizeof(*term));
  return out;
}

PolyTensor *poly_einsum(PolyContext *ctx, const char *formula, PolyTensor *const *t, int n) {
  if (!ctx || !formula || !t) return NULL;
  for (int k = 0; k < n; k++)
    if (!t[k]) return NULL;
  if (n < 1) return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "einsum \"%s\": no operands", formula);
  TENSOR_RETURN(ctx, einsum_of(ctx, formula, t, n));
}
