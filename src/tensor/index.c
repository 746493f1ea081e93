/* index.c: x[...] and x[...] = v.
 *
 * An index expression is read into a View: for each axis of x a range (begin, count, step, direction) or a tensor of
 * places, and the axes of the result in order. It works in two stages:
 *
 *   basic     slices, integers and new axes are movement ops only
 *   advanced  tensors of places: their axes are moved to the front and flattened, and one GATHER reads the rows
 *
 * Writing runs the same two stages backwards: rows are put (the last one wins) into what the basic stage shows, and
 * that is padded back to x's shape and selected by a mask that went the same way. Nothing is changed in place here: the
 * new value is built and given to poly_assign.
 *
 * A bool tensor of k axes first turns the k axes that it covers into one, then indexes that one by the flat places of
 * its true elements. An integer is a slice of size 1 whose axis is dropped, so it does not count as a tensor of places
 * when the position of the result's axes is decided (as in tinygrad and PyTorch; numpy differs for x[0, :, places]). */
#include "ir/select_rows.h"
#include "tensor/shape_ops.h"

#include <inttypes.h>

typedef struct AxisView {
  char kind; /* 's' slice, 'i' integer, 't' tensor, 'n' new axis */
  UOp *begin, *count;
  int64_t step;   /* > 0 */
  bool backwards; /* the range is read from its end */
  bool checked;   /* 'i': the place may lie outside, read it through a GATHER; 't': places are valid and not negative */
  UOp *places;    /* 't' */
} AxisView;

typedef struct View {
  UOp *x; /* the tensor, with the axes under each bool tensor merged */
  int n;
  AxisView at[2 * MAX_DIMS];
} View;

static bool fail_index(const UOp *x, const char *what) {
  char text[256];
  return base_fail(ctx_base(x->ctx), POLY_ERROR_INDEX, "%s, for a tensor of shape %s", what,
                   shape_text(x, text, sizeof(text)));
}

/* ---- reading the expression ---- */

/* How many axes of x an entry uses. */
static int axes_used(const PolyIndex *e) {
  if (e->kind == 'i' || e->kind == 's') return 1;
  if (e->kind != 't') return 0;
  return e->tensor->uop->dtype == POLY_BOOL ? e->tensor->uop->ndim : 1;
}

static bool check_entries(const UOp *x, int n, const PolyIndex *index, int *used) {
  int dots = 0;
  *used = 0;
  for (int k = 0; k < n; k++) {
    const PolyIndex *e = &index[k];
    bool known = e->kind == 'i' || e->kind == 's' || e->kind == 'n' || e->kind == '.' || e->kind == 't';
    if (!known || (e->kind == 't' && !e->tensor)) return fail_index(x, "an index entry is not valid");
    if (e->kind == 's' && e->step == 0)
      return base_fail(ctx_base(x->ctx), POLY_ERROR_VALUE, "the step of a slice is 0");
    if (e->kind == 't' && dtype_is_float((PolyDType)e->tensor->uop->dtype))
      return base_fail(ctx_base(x->ctx), POLY_ERROR_INDEX, "an index must hold integers or bools, not %s",
                       dtype_name((PolyDType)e->tensor->uop->dtype));
    dots += e->kind == '.';
    *used += axes_used(e);
  }
  if (dots > 1) return fail_index(x, "an index can only have a single ellipsis");
  return *used <= x->ndim || fail_index(x, "too many indices");
}

/* A bound of a slice: counted from the end if negative, then limited to low .. high. */
static UOp *slice_bound(UOp *n, int64_t v, UOp *low, UOp *high) {
  UOp *at = t_dim(n->ctx, v);
  if (at && at->vmax < 0) at = int_add(at, n);
  return int_max(int_min(at, high), low);
}

static bool view_slice(UOp *n, const PolyIndex *e, AxisView *v) {
  PolyContext *ctx = n->ctx;
  UOp *zero = uop_index(ctx, 0), *before = uop_index(ctx, -1), *last = int_addc(n, -1);
  bool back = e->step < 0;
  UOp *low = back ? before : zero, *high = back ? last : n;
  UOp *start = e->has_start ? slice_bound(n, e->start, low, high) : back ? last : zero;
  UOp *stop = e->has_stop ? slice_bound(n, e->stop, low, high) : back ? before : n;
  v->step = back ? -e->step : e->step;
  v->backwards = back;
  UOp *span = back ? int_sub(start, stop) : int_sub(stop, start);
  v->count = int_max(zero, t_int_ceildiv(span, uop_index(ctx, v->step)));
  if (!v->count) return false;
  v->begin = start;
  if (v->count->vmax == 0)
    v->begin = zero;
  else if (back)
    v->begin = int_sub(start, int_mulc(int_addc(v->count, -1), v->step));
  return v->begin != NULL;
}

static bool view_integer(UOp *x, int axis, const PolyIndex *e, AxisView *v) {
  UOp *n = x->shape[axis], *at = t_dim(x->ctx, e->start);
  if (!at) return false;
  if (at->vmax < 0) at = int_add(at, n);
  if (!at) return false;
  if (at->vmin >= n->vmax || at->vmax < 0) {
    char text[256];
    return base_fail(ctx_base(x->ctx), POLY_ERROR_INDEX, "index %" PRId64 " is out of bounds for axis %d of %s",
                     e->start, axis, shape_text(x, text, sizeof(text)));
  }
  v->begin = at;
  v->count = uop_index(x->ctx, 1);
  v->step = 1;
  v->checked = !(at->vmin >= 0 && t_holds(int_lt(at, n)));
  return true;
}

/* The mask's axes of x become one. */
static bool view_mask(View *view, int axis, UOp *mask, AxisView *v) {
  UOp *x = view->x;
  for (int k = 0; k < mask->ndim; k++) {
    if (t_same_size(mask->shape[k], x->shape[axis + k])) continue;
    char tx[256], tm[256];
    return base_fail(ctx_base(x->ctx), POLY_ERROR_INDEX, "a bool index of shape %s does not fit %s at axis %d",
                     shape_text(mask, tm, sizeof(tm)), shape_text(x, tx, sizeof(tx)), axis);
  }
  view->x = mask->ndim ? t_merge_axes(x, axis, axis + mask->ndim - 1) : t_unsqueeze(x, axis);
  v->places = t_nonzero_flat(mask);
  v->checked = true;
  return view->x && v->places;
}

static bool view_read(View *view, UOp *x, int n, const PolyIndex *index) {
  int used, axis = 0;
  if (!check_entries(x, n, index, &used)) return false;
  *view = (View){.x = x};
  int whole = x->ndim - used; /* axes that the ellipsis stands for, or that follow the last entry */
  PolyIndex all = {.kind = 's', .step = 1};
  for (int k = 0; k <= n; k++) {
    const PolyIndex *e = k < n ? &index[k] : NULL;
    int repeat = !e || e->kind == '.' ? whole : 1;
    if (!e || e->kind == '.') {
      whole = 0;
      e = &all;
    }
    for (int r = 0; r < repeat; r++) {
      if (view->n == LEN(view->at)) return fail_index(x, "too many indices");
      AxisView *v = &view->at[view->n++];
      v->kind = e->kind;
      if (e->kind == 'n') continue;
      bool ok = true;
      if (e->kind == 's')
        ok = view_slice(view->x->shape[axis], e, v);
      else if (e->kind == 'i')
        ok = view_integer(view->x, axis, e, v);
      else if (e->tensor->uop->dtype == POLY_BOOL)
        ok = view_mask(view, axis, e->tensor->uop, v);
      else
        v->places = e->tensor->uop;
      if (!ok) return false;
      axis++;
    }
  }
  return true;
}

/* ---- the basic stage ---- */

static bool is_whole(const AxisView *v, const UOp *size) {
  return v->kind == 't' || (v->step == 1 && !v->backwards && uop_is_int(v->begin, 0) && v->count == size);
}

/* Shape after the basic stage; drop: the integers' axes are gone and the new ones there. */
static int basic_shape(const View *view, UOp **shape, bool drop) {
  int n = 0, axis = 0;
  for (int k = 0; k < view->n; k++) {
    const AxisView *v = &view->at[k];
    if (v->kind == 'n') {
      if (drop && n < MAX_DIMS) shape[n++] = uop_index(view->x->ctx, 1);
      continue;
    }
    UOp *size = v->kind == 't' ? view->x->shape[axis] : v->count;
    axis++;
    if ((!drop || v->kind != 'i') && n < MAX_DIMS) shape[n++] = size;
  }
  return n;
}

static UOp *basic_get(const View *view) {
  UOp *x = view->x, *shape[MAX_DIMS];
  int axis = 0;
  for (int k = 0; k < view->n && x; k++) {
    const AxisView *v = &view->at[k];
    if (v->kind == 'n') continue;
    if (v->kind == 'i' && v->checked) {
      UOp *one = uop_index(x->ctx, 1);
      x = t_take(x, axis, uop_spread(v->begin, 1, &one));
    } else if (!is_whole(v, x->shape[axis])) {
      x = t_every(x, axis, v->begin, v->count, v->step);
      if (v->backwards) x = uop_flip(x, 1u << axis);
    }
    axis++;
  }
  return x ? uop_reshape(x, basic_shape(view, shape, true), shape) : NULL;
}

/* One axis of `value` [count] put back to its places in [n], zeros elsewhere. With step s: [count] -> [count, s] ->
 * count*s, which may pass the end by less than s; that part is cut off. */
static UOp *axis_back(UOp *value, int axis, const AxisView *v, UOp *n) {
  if (!value || is_whole(v, n)) return value;
  PolyContext *ctx = value->ctx;
  UOp *zero = uop_index(ctx, 0), *room = int_sub(n, v->begin), *length = v->count;
  if (v->backwards) value = uop_flip(value, 1u << axis);
  if (v->step > 1) {
    value = t_extend(t_unsqueeze(value, axis + 1), axis + 1, zero, uop_index(ctx, v->step - 1));
    value = t_merge_axes(value, axis, axis + 1);
    length = int_mulc(v->count, v->step);
  }
  value = t_extend(value, axis, v->begin, int_addc(int_sub(room, length), v->step - 1));
  return t_slice(value, axis, zero, n);
}

/* x with value (of the basic stage's shape) written where the view looks. */
static UOp *basic_set(const View *view, UOp *value) {
  UOp *x = view->x, *shape[MAX_DIMS];
  int n = basic_shape(view, shape, false), axis = 0;
  UOp *mask = uop_spread(uop_int_const(x->ctx, POLY_BOOL, 1), n, shape);
  value = uop_reshape(value, n, shape);
  bool all = true;
  for (int k = 0; k < view->n; k++) {
    const AxisView *v = &view->at[k];
    if (v->kind == 'n') continue;
    if (v->kind == 'i' && v->checked) {
      fail_index(x, "an integer index must be known to lie inside a symbolic axis to be written");
      return NULL;
    }
    all = all && is_whole(v, x->shape[axis]);
    value = axis_back(value, axis, v, x->shape[axis]);
    mask = axis_back(mask, axis, v, x->shape[axis]);
    axis++;
  }
  return all ? value : uop_where(mask, value, x);
}

/* ---- the advanced stage ---- */

/* y [.. indexed axes anywhere ..] seen as rows: the indexed axes first and flattened. */
typedef struct Advanced {
  UOp *y;             /* after the basic stage */
  int n;              /* indexed axes */
  int axis[MAX_DIMS]; /* which, ascending */
  int perm[MAX_DIMS]; /* indexed axes, then the others */
  UOp *rows;          /* [V, others...] */
  UOp *index;         /* the places, broadcast together: linear, in 0 .. V-1 */
  int front;          /* where index's axes stand in the result */
} Advanced;

/* Indices of all axes at once: broadcast, wrapped, made linear. */
static UOp *advanced_index(Advanced *a, UOp **places, const bool *checked) {
  UOp *shape[MAX_DIMS], *size[MAX_DIMS], *total = uop_index(a->y->ctx, 1);
  int ndim;
  PolyDType d = POLY_INT32;
  if (!t_broadcast_shapes(a->n, places, &ndim, shape)) return NULL;
  for (int k = 0; k < a->n; k++) {
    size[k] = a->y->shape[a->axis[k]];
    total = int_mul(total, size[k]);
  }
  for (int k = 0; k < a->n; k++) {
    places[k] = checked[k] ? t_index_cast(places[k], total) : t_wrap_index(t_index_cast(places[k], total), size[k]);
    if (!places[k]) return NULL;
    d = dtype_promote(d, (PolyDType)places[k]->dtype);
  }
  for (int k = 0; k < a->n; k++) places[k] = t_broadcast(uop_cast(places[k], d), ndim, shape);
  return t_linear_index(a->n, places, size);
}

static bool advanced_read(const View *view, UOp *y, Advanced *a) {
  UOp *places[MAX_DIMS];
  bool checked[MAX_DIMS];
  int axis = 0, m = 0;
  *a = (Advanced){.y = y};
  for (int k = 0; k < view->n; k++) {
    const AxisView *v = &view->at[k];
    if (v->kind == 't') {
      places[a->n] = v->places;
      checked[a->n] = v->checked;
      a->perm[a->n] = a->axis[a->n] = axis;
      a->n++;
    }
    axis += v->kind != 'i';
  }
  if (a->n == 0 || !y) return y != NULL;
  bool adjacent = a->axis[a->n - 1] - a->axis[0] == a->n - 1;
  a->front = adjacent ? a->axis[0] : 0;
  m = a->n;
  for (int k = 0; k < y->ndim; k++) {
    bool indexed = false;
    for (int i = 0; i < a->n; i++) indexed = indexed || a->axis[i] == k;
    if (!indexed) a->perm[m++] = k;
  }
  a->rows = t_merge_axes(uop_permute(y, a->perm), 0, a->n - 1);
  a->index = advanced_index(a, places, checked);
  return a->rows && a->index;
}

/* Axes [index..., others...] into the order of the result, or back. */
static UOp *advanced_order(const Advanced *a, UOp *u, bool back) {
  if (!u) return NULL;
  int perm[MAX_DIMS], inverse[MAX_DIMS], n = a->index->ndim;
  for (int k = 0; k < u->ndim; k++) perm[k] = k < a->front ? n + k : k < a->front + n ? k - a->front : k;
  for (int k = 0; k < u->ndim; k++) inverse[perm[k]] = k;
  return uop_permute(u, back ? inverse : perm);
}

/* y with value, broadcast to the shape that reading gives, written to the places. */
static UOp *advanced_set(const Advanced *a, UOp *value) {
  UOp *shape[MAX_DIMS], *dims[MAX_DIMS], *rows = a->rows, *index = a->index;
  int n = index->ndim, others = rows->ndim - 1, inverse[MAX_DIMS];
  if (n + others > MAX_DIMS) return fail_null(ctx_base(rows->ctx), POLY_ERROR_VALUE, "more than %d axes", MAX_DIMS);
  for (int k = 0; k < n + others; k++)
    shape[k] = k < a->front       ? rows->shape[1 + k]
               : k < a->front + n ? index->shape[k - a->front]
                                  : rows->shape[1 + k - n];
  value = advanced_order(a, t_broadcast(value, n + others, shape), true);
  dims[0] = uop_numel(index);
  for (int k = 1; k <= others; k++) dims[k] = rows->shape[k];
  rows = t_put_rows(rows, t_flatten(index), uop_reshape(value, others + 1, dims));
  for (int k = 0; k < a->y->ndim; k++) {
    dims[k] = a->y->shape[a->perm[k]];
    inverse[a->perm[k]] = k;
  }
  return uop_permute(uop_reshape(rows, a->y->ndim, dims), inverse);
}

/* ---- both together ---- */

static UOp *getitem(UOp *x, int n, const PolyIndex *index) {
  View view;
  Advanced a;
  if (!view_read(&view, x, n, index) || !advanced_read(&view, basic_get(&view), &a)) return NULL;
  return a.n == 0 ? a.y : advanced_order(&a, uop_select_rows(a.rows, a.index), false);
}

/* x[mask] = value where value does not depend on the place: a selection, and no count is needed. */
static UOp *set_masked(UOp *x, UOp *mask, UOp *value) {
  UOp *dims[MAX_DIMS];
  for (int k = 0; k < x->ndim; k++) dims[k] = k < mask->ndim ? x->shape[k] : uop_index(x->ctx, 1);
  mask = t_broadcast_like(uop_reshape(mask, x->ndim, dims), x);
  return uop_where(mask, t_broadcast_like(value, x), x);
}

static bool mask_fits(const UOp *x, const UOp *mask, const UOp *value) {
  if (mask->ndim > x->ndim || value->ndim > x->ndim - mask->ndim) return false;
  for (int k = 0; k < mask->ndim; k++)
    if (mask->shape[k] != x->shape[k]) return false;
  return true;
}

static UOp *setitem(UOp *x, int n, const PolyIndex *index, UOp *value) {
  View view;
  Advanced a;
  UOp *shape[MAX_DIMS];
  value = t_cast(value, (PolyDType)x->dtype);
  if (!value) return NULL;
  if (n == 1 && index[0].kind == 't' && index[0].tensor && index[0].tensor->uop->dtype == POLY_BOOL &&
      mask_fits(x, index[0].tensor->uop, value))
    return set_masked(x, index[0].tensor->uop, value);
  if (!view_read(&view, x, n, index) || !advanced_read(&view, basic_get(&view), &a)) return NULL;
  int ndim = basic_shape(&view, shape, true);
  if (a.n == 0) {
    while (value && value->ndim > ndim && uop_is_int(value->shape[0], 1)) value = t_drop_axes(value, 1);
    value = t_broadcast(value, ndim, shape);
  } else {
    value = advanced_set(&a, value);
  }
  value = value ? basic_set(&view, value) : NULL;
  return value ? uop_reshape(value, x->ndim, x->shape) : NULL;
}

PolyTensor *poly_getitem(PolyTensor *x, int n, const PolyIndex *index) {
  if (!x) return NULL;
  for (int k = 0; k < n; k++)
    if (index[k].kind == 't') TENSOR_RETURN(x->ctx, getitem(x->uop, n, index));
  TENSOR_VIEW(x, getitem(x->uop, n, index));
}

PolyStatus poly_setitem(PolyTensor *x, int n, const PolyIndex *index, PolyTensor *value) {
  if (!x || !value) return POLY_ERROR_VALUE;
  Scope s;
  scope_enter(x->ctx, &s);
  PolyTensor *result = tensor_wrap(x->ctx, setitem(x->uop, n, index, value->uop));
  scope_leave(x->ctx, &s);
  PolyStatus status = result ? poly_assign(x, result) : poly_error_code(x->ctx);
  poly_free(result);
  return status;
}
