/* moves.c: node values seen from edges, and edge values reduced over the rows of a graph. In: tensors and a graph. Out:
 * lazy tensors made of GATHER and SEGMENT by the graph's ENDPOINTs; the schedule makes loops over rows of them, and
 * their gradients are such moves again.
 *
 * Rows without edges. A segment of nothing is the identity of its op. Where that is not 0 (1 for a product), the degree
 * decides, and it decides before a function could make an infinity of the empty value, so that gradients have no NaN.
 * Degrees are differences of row pointers: two loads, never stored. */
#include "graph/graph.h"

#include "ir/row_terms.h"

#include "tensor/tensor.h"

#include <math.h>
#include <string.h>

static PolyDType type_of(const UOp *x) { return (PolyDType)x->dtype; }

/* ---- the graph as nodes ---- */

static bool build_ends(PolyGraph *g) {
  if (g->end[SRC] && g->end[DST]) return true;
  if (!graph_build_rows(g, SRC) || !graph_build_rows(g, DST) || !graph_order_edges(g)) return false;
  for (int k = 0; k < 2; k++) {
    const EdgeRows *r = &g->rows[k];
    UOp *end = uop_endpoint((UOp *[]){g->index[k], r->rowptr, r->entries, r->others, g->index[!k], r->rows, r->places});
    if (!g->end[k]) g->end[k] = uop_retain(end);
  }
  return g->end[SRC] && g->end[DST] && graph_thin(g);
}

/* The ENDPOINT of one end. Both are made at once: gradients of one need the other. */
static UOp *end_of(PolyGraph *g, End end) { return build_ends(g) ? g->end[end] : NULL; }

static UOp *degree(PolyGraph *g, End end) {
  UOp *zero = uop_index(g->ctx, 0), *one = uop_index(g->ctx, 1), *past = int_addc(g->nodes[end], 1);
  if (!past || !graph_build_rows(g, end)) return NULL;
  UOp *rowptr = g->rows[end].rowptr;
  return uop_binary(OP_SUB, uop_shrink(rowptr, &one, &past), uop_shrink(rowptr, &zero, &g->nodes[end]));
}

/* ---- checks ---- */

bool graph_check_rows(PolyGraph *g, const UOp *x, UOp *size, const char *what, const char *of) {
  char shape[256], count[64];
  if (x->ctx != g->ctx)
    return base_fail(ctx_base(g->ctx), POLY_ERROR_VALUE, "%s: graph and tensor belong to two contexts", what);
  if (x->ndim && t_same_size(x->shape[0], size)) return true;
  return base_fail(ctx_base(g->ctx), POLY_ERROR_VALUE, "%s: a tensor of shape %s does not have a row for each of %s %s",
                   what, shape_text(x, shape, sizeof shape), dim_text(size, count, sizeof count), of);
}

static bool check_side(PolyGraph *g, char side, End *end) {
  *end = side == 'o' ? SRC : DST;
  return side == 'i' || side == 'o' ||
         base_fail(ctx_base(g->ctx), POLY_ERROR_VALUE,
                   "rows of a graph are 'i' (in-edges) or 'o' (out-edges), not '%c'", side);
}

/* ---- reductions ---- */

/* What a reduction works on. */
typedef struct Rowwise {
  PolyGraph *g;
  UOp *end, *size, *degree;
} Rowwise;

static UOp *segment(const Rowwise *r, Op op, UOp *m) { return uop_segment(op, m, r->end, r->size); }
static UOp *spread(const Rowwise *r, UOp *node) { return uop_gather(node, r->end); } /* to the edges */

/* A value for each row, [V], over the rows of x. */
static UOp *over_rows(UOp *v, UOp *x) {
  if (!v || !x) return NULL;
  UOp *dims[MAX_DIMS];
  for (int k = 0; k < x->ndim; k++) dims[k] = k ? uop_index(x->ctx, 1) : x->shape[0];
  return uop_expand(uop_reshape(v, x->ndim, dims), x->shape);
}

static UOp *has_edges(const Rowwise *r, UOp *x) {
  return r->degree ? over_rows(uop_binary(OP_CMPLT, t_int_like(r->degree, 0), r->degree), x) : NULL;
}

static UOp *or_zero(const Rowwise *r, UOp *x) { return x ? uop_where(has_edges(r, x), x, t_scalar_like(x, 0)) : NULL; }

static UOp *widen(UOp *m) { return t_cast(m, t_wide_dtype(t_float_dtype(m->ctx, type_of(m)))); }

static UOp *sum(const Rowwise *r, UOp *m) {
  PolyDType d = type_of(m), acc = dtype_sum(d);
  UOp *y = segment(r, OP_ADD, t_cast(m, acc));
  return dtype_is_float(d) ? uop_cast(y, d) : y;
}

/* How many edges each row has, or 1, spread like y. */
static UOp *row_count(const Rowwise *r, UOp *y) {
  UOp *count = r->degree ? uop_binary(OP_MAX, r->degree, t_int_like(r->degree, 1)) : NULL;
  return y ? over_rows(uop_cast(count, type_of(y)), y) : NULL;
}

/* Of a floating-point tensor, in its own dtype. */
static UOp *float_mean(const Rowwise *r, UOp *m) {
  UOp *y = segment(r, OP_ADD, m);
  return y ? uop_binary(OP_DIV, y, row_count(r, y)) : NULL;
}

/* Without what the row adds to each of its edges, which takes no loop over them. */
static UOp *unshifted_mean(const Rowwise *r, UOp *m) {
  UOp *below = below_row_shifts(m, r->end);
  if (below == m) return float_mean(r, m);
  return or_zero(r, with_row_terms(m, below, float_mean(r, below), r->end));
}

/* Integers are summed exactly. */
static UOp *mean(const Rowwise *r, UOp *m) {
  PolyDType d = type_of(m);
  if (dtype_is_float(d)) return uop_cast(unshifted_mean(r, widen(m)), d);
  UOp *total = uop_cast(segment(r, OP_ADD, t_cast(m, dtype_is_unsigned(d) ? POLY_UINT64 : POLY_INT64)), POLY_FLOAT64);
  UOp *count = r->degree ? uop_binary(OP_MAX, r->degree, t_int_like(r->degree, 1)) : NULL;
  UOp *y = total ? uop_binary(OP_DIV, total, over_rows(uop_cast(count, POLY_FLOAT64), total)) : NULL;
  return uop_cast(y, POLY_FLOAT32);
}

/* The largest or smallest value of each row; one without edges has any. */
static UOp *extreme(const Rowwise *r, Op op, UOp *m) {
  bool falls;
  UOp *below = below_row_terms(m, r->end, &falls);
  return with_row_terms(m, below, segment(r, falls == (op == OP_MIN) ? OP_MAX : OP_MIN, below), r->end);
}

static UOp *largest(const Rowwise *r, UOp *m) { return or_zero(r, extreme(r, OP_MAX, m)); }
static UOp *smallest(const Rowwise *r, UOp *m) { return or_zero(r, extreme(r, OP_MIN, m)); }

static UOp *prod(const Rowwise *r, UOp *m) {
  if (m->dtype == POLY_BOOL) return segment(r, OP_MIN, m);
  return uop_cast(segment(r, OP_MUL, uop_cast(m, t_wide_dtype(type_of(m)))), type_of(m));
}

/* The mean square distance from the mean, which does not cancel as the difference of two large numbers would. */
static UOp *wide_var(const Rowwise *r, UOp *m) {
  m = without_row_shifts(m, r->end);
  UOp *center = float_mean(r, m), *away = uop_binary(OP_SUB, m, spread(r, center));
  UOp *y = float_mean(r, uop_binary(OP_MUL, away, away));
  return y ? uop_function(FUNCTION_ROW_VARIANCE, 0, y, 4, (UOp *[]){m, r->end, center, row_count(r, y)}) : NULL;
}

static UOp *var(const Rowwise *r, UOp *m) { return uop_cast(wide_var(r, widen(m)), t_float_dtype(m->ctx, type_of(m))); }

/* The root of nearly nothing has no useful slope: below 1e-5 the variance counts as none. */
static UOp *std(const Rowwise *r, UOp *m) {
  UOp *v = wide_var(r, widen(m));
  if (!v) return NULL;
  UOp *least = t_scalar_like(v, 1e-5);
  UOp *enough = uop_binary(OP_CMPLT, least, v);
  UOp *root = uop_unary(OP_SQRT, uop_binary(OP_MAX, v, least));
  return uop_cast(uop_where(enough, root, t_scalar_like(v, 0)), t_float_dtype(m->ctx, type_of(m)));
}

/* The largest value of each row, without history: it only scales, and cancels. One that is infinite (no edges, or
 * nothing but -inf on them) would make inf - inf: then nothing is subtracted. */
static UOp *peak(const Rowwise *r, UOp *m) {
  UOp *top = extreme(r, OP_MAX, m);
  return top ? uop_detach(uop_where(t_unary(POLY_ISFINITE, top), top, t_scalar_like(top, 0))) : NULL;
}

static UOp *logsumexp(const Rowwise *r, UOp *m) {
  UOp *x = widen(m), *top = peak(r, x);
  UOp *total = segment(r, OP_ADD, uop_unary(OP_EXP, uop_binary(OP_SUB, x, spread(r, top))));
  if (!total) return NULL;
  UOp *some = uop_where(has_edges(r, total), total, t_scalar_like(total, 1));
  return uop_cast(uop_binary(OP_ADD, uop_unary(OP_LOG, some), top), t_float_dtype(m->ctx, type_of(m)));
}

/* The tiny number gives a row of nothing but -inf the weights 0. */
static UOp *softmax(const Rowwise *r, UOp *m) {
  PolyDType d = t_float_dtype(m->ctx, type_of(m));
  UOp *x = widen(m), *given = t_cast(m, d);
  UOp *e = uop_unary(OP_EXP, uop_binary(OP_SUB, x, spread(r, peak(r, x))));
  UOp *total = segment(r, OP_ADD, e);
  UOp *safe = total ? uop_binary(OP_ADD, total, t_scalar_like(total, 1e-16)) : NULL;
  UOp *y = safe ? uop_binary(OP_DIV, e, spread(r, safe)) : NULL;
  return y ? uop_function(FUNCTION_SHARES, 0, uop_cast(y, d), 3, (UOp *[]){given, r->end, safe}) : NULL;
}

static const struct {
  const char *name;
  UOp *(*make)(const Rowwise *r, UOp *m);
} reductions[] = {{"sum", sum},   {"mean", mean}, {"max", largest}, {"min", smallest},
                  {"prod", prod}, {"var", var},   {"std", std},     {"logsumexp", logsumexp}};

static UOp *over(PolyGraph *g, UOp *m, End end, UOp *(*make)(const Rowwise *r, UOp *m)) {
  Rowwise r = {g, end_of(g, end), g->nodes[end], degree(g, end)};
  return m && r.end && r.degree ? make(&r, m) : NULL;
}

UOp *graph_reduce(PolyGraph *g, UOp *m, const char *op, End end) {
  for (int k = 0; k < LEN(reductions); k++)
    if (op && strcmp(op, reductions[k].name) == 0) return over(g, m, end, reductions[k].make);
  return fail_null(ctx_base(g->ctx), POLY_ERROR_VALUE,
                   "reduce: \"%s\" is not sum, mean, max, min, prod, var, std or logsumexp", op ? op : "");
}

UOp *graph_softmax(PolyGraph *g, UOp *m, End end) { return over(g, m, end, softmax); }
UOp *graph_spread(PolyGraph *g, UOp *x, End end) { return x ? uop_gather(x, end_of(g, end)) : NULL; }
UOp *graph_degree(PolyGraph *g, End end) { return degree(g, end); }

/* ---- symmetric scaling ---- */

/* A function of the graph alone, [V], as a column that the graph keeps. The node stays lazy: compiled steps over graphs
 * that change compute it from the arrays of each run, and building it again costs a look. */
static UOp *kept_column(UOp **kept, UOp *value) {
  if (!value) return NULL;
  UOp *column = uop_reshape(value, 2, (UOp *[]){value->shape[0], uop_index(value->ctx, 1)});
  if (!column) return NULL;
  uop_release(*kept);
  return *kept = uop_retain(column);
}

static bool has_kept(const UOp *kept, PolyDType dtype) { return kept && kept->dtype == dtype; }

/* degree^-1/2. Of nodes without edges it is 0; with a loop at each node there are none. */
static UOp *norm_of(PolyGraph *g, End end, bool own_loops, PolyDType dtype) {
  UOp *d = degree(g, end);
  if (!d || (own_loops && !graph_count_loops(g))) return NULL;
  if (own_loops) {
    d = uop_binary(OP_ADD, uop_binary(OP_SUB, d, g->loops), t_int_like(d, 1));
    return t_rsqrt(uop_cast(d, dtype));
  }
  UOp *some = uop_binary(OP_CMPLT, t_int_like(d, 0), d), *x = uop_cast(d, dtype);
  UOp *root = x ? t_rsqrt(uop_where(some, x, t_scalar_like(x, 1))) : NULL;
  return root ? uop_where(some, root, t_scalar_like(root, 0)) : NULL;
}

static UOp *norm(PolyGraph *g, End end, bool own_loops, PolyDType dtype) {
  UOp **kept = &g->norm[end][own_loops];
  return has_kept(*kept, dtype) ? *kept : kept_column(kept, norm_of(g, end, own_loops, dtype));
}

static UOp *own(PolyGraph *g, PolyDType dtype) {
  if (has_kept(g->own, dtype)) return g->own;
  if (!graph_count_loops(g)) return NULL;
  UOp *count = uop_binary(OP_SUB, t_int_like(g->loops, 1), g->loops);
  return kept_column(&g->own, uop_cast(count, dtype));
}

static bool check_norm(PolyGraph *g, bool own_loops, PolyDType dtype) {
  if ((unsigned)dtype >= POLY_DTYPE_COUNT || !dtype_is_float(dtype))
    return base_fail(ctx_base(g->ctx), POLY_ERROR_TYPE, "norm: a floating-point dtype is needed");
  return !own_loops || g->num_nodes[SRC] == g->num_nodes[DST] ||
         base_fail(ctx_base(g->ctx), POLY_ERROR_VALUE, "norm: only a graph of one set of nodes has self loops");
}

/* D^-1/2 A D^-1/2 x as factors of rows around the sum over edges; with own loops, (A + I) in the place of A. */
static UOp *smooth(PolyGraph *g, UOp *x, End end, bool own_loops) {
  PolyDType dtype = t_float_dtype(x->ctx, type_of(x));
  UOp *scale = norm(g, end, own_loops, dtype), *beside = own_loops ? own(g, dtype) : NULL;
  if (!scale || (own_loops && !beside)) return NULL;
  UOp *scaled = t_mul(x, scale);
  UOp *sum = graph_reduce(g, graph_spread(g, scaled, end == DST ? SRC : DST), "sum", end);
  return t_mul(own_loops ? t_add(sum, t_mul(scaled, beside)) : sum, scale);
}

/* ---- the API ---- */

PolyTensor *poly_graph_src(PolyGraph *g, PolyTensor *x) {
  if (!g || !x || !graph_check_rows(g, x->uop, g->nodes[SRC], "src", "source nodes")) return NULL;
  TENSOR_RETURN(g->ctx, graph_spread(g, x->uop, SRC));
}

PolyTensor *poly_graph_dst(PolyGraph *g, PolyTensor *x) {
  if (!g || !x || !graph_check_rows(g, x->uop, g->nodes[DST], "dst", "destination nodes")) return NULL;
  TENSOR_RETURN(g->ctx, graph_spread(g, x->uop, DST));
}

PolyTensor *poly_graph_reduce(PolyGraph *g, PolyTensor *m, const char *op, char side) {
  End end;
  if (!g || !m || !check_side(g, side, &end) || !graph_check_rows(g, m->uop, g->edges, "reduce", "edges")) return NULL;
  TENSOR_RETURN(g->ctx, graph_reduce(g, m->uop, op, end));
}

PolyTensor *poly_graph_softmax(PolyGraph *g, PolyTensor *m, char side) {
  End end;
  if (!g || !m || !check_side(g, side, &end) || !graph_check_rows(g, m->uop, g->edges, "softmax", "edges")) return NULL;
  TENSOR_RETURN(g->ctx, graph_softmax(g, m->uop, end));
}

#define ROW_ARRAY(name, array)                                                                                         \
  PolyTensor *name(PolyGraph *g, char side) {                                                                          \
    End end;                                                                                                           \
    if (!g || !check_side(g, side, &end) || !graph_build_rows(g, end)) return NULL;                                    \
    return graph_handle(g, g->rows[end].array);                                                                        \
  }
ROW_ARRAY(poly_graph_rowptr, rowptr)
ROW_ARRAY(poly_graph_order, entries)
ROW_ARRAY(poly_graph_other, others)

PolyTensor *poly_graph_degree(PolyGraph *g, char side) {
  End end;
  if (!g || !check_side(g, side, &end)) return NULL;
  TENSOR_RETURN(g->ctx, degree(g, end));
}

PolyTensor *poly_graph_norm(PolyGraph *g, char side, bool own_loops, PolyDType dtype) {
  End end;
  if (!g || !check_side(g, side, &end) || !check_norm(g, own_loops, dtype)) return NULL;
  TENSOR_RETURN(g->ctx, norm(g, end, own_loops, dtype));
}

PolyTensor *poly_graph_own(PolyGraph *g, PolyDType dtype) {
  if (!g || !check_norm(g, true, dtype)) return NULL;
  TENSOR_RETURN(g->ctx, own(g, dtype));
}

PolyTensor *poly_graph_smooth(PolyGraph *g, PolyTensor *x, char side, bool own_loops) {
  End end;
  if (!g || !x || !check_side(g, side, &end)) return NULL;
  if (g->num_nodes[SRC] != g->num_nodes[DST])
    return fail_null(ctx_base(g->ctx), POLY_ERROR_VALUE, "smooth: a graph of one set of nodes is needed");
  if (x->uop->ndim < 2) return fail_null(ctx_base(g->ctx), POLY_ERROR_VALUE, "smooth: rows of features are needed");
  if (!graph_check_rows(g, x->uop, g->nodes[SRC], "smooth", "nodes")) return NULL;
  TENSOR_RETURN(g->ctx, smooth(g, x->uop, end, own_loops));
}
