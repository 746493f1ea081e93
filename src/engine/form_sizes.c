/* form_sizes.c: which sizes of a form must be equal. In: a form. Out: a class for each axis of each node.
 *
 * Equality follows from structure: operands of elementwise ops have one shape, a permutation carries sizes along. So
 * sizes that happen to be equal stay two classes, and a size that is written in several places is one. Only RESHAPE
 * says nothing of its axes: there the numbers of all samples tell which of them were kept. A mistake here costs a
 * further plan, never a wrong result, because every number is compared when a program is matched with its form. */
#include "engine/form.h"
#include "ir/scan.h"

static int find(int *cls, int a) {
  while (cls[a] != a) a = cls[a] = cls[cls[a]];
  return a;
}

typedef struct Classes {
  const Form *f;
  int *cls;
  int *rows; /* for each node that is an ENDPOINT: an axis with a row for each of its nodes; -1: none was met */
} Classes;

static void join(Classes *c, int a, int b) {
  a = find(c->cls, a);
  b = find(c->cls, b);
  if (a < b)
    c->cls[b] = a;
  else
    c->cls[a] = b;
}

static const FormNode *source(const Form *f, const FormNode *n, int k) {
  int at = form_src(f, n, k)->node;
  return at < 0 ? NULL : &f->node[at];
}

/* All axes of source k are those of the node. */
static void join_shape(Classes *c, const FormNode *n, int k) {
  const FormNode *x = source(c->f, n, k);
  if (!x || x->ndim != n->ndim) return;
  for (int d = 0; d < n->ndim; d++) join(c, x->axis + d, n->axis + d);
}

static bool is_number(const Form *f, const FormNode *n, int k, int64_t v) {
  bool same = form_src(f, n, k)->node < 0;
  for (int s = 0; same && s < f->nsample; s++) same = form_src_value(f, s, n, k) == v;
  return same;
}

/* ---- RESHAPE ---- */

typedef struct Side {
  const FormNode *n;
  int at; /* next axis */
  int64_t product[FORM_SAMPLES];
} Side;

static void side_begin(Side *s) {
  for (int i = 0; i < FORM_SAMPLES; i++) s->product[i] = 1;
}

/* Takes one more axis; a product that overflows stays out of all comparisons by being odd: it ends one group. */
static void side_take(const Form *f, Side *s) {
  for (int i = 0; i < f->nsample; i++)
    if (__builtin_mul_overflow(s->product[i], form_axis_value(f, i, s->n, s->at), &s->product[i])) s->product[i] = -1;
  s->at++;
}

static bool is_one(const Side *s) { return s->at < s->n->ndim && (s->n->ones >> s->at & 1); }

static void take_ones(const Form *f, Side *s) {
  while (is_one(s)) side_take(f, s);
}

/* Which side has the smaller product, by the first sample that tells: -1 the first, 1 the second, 0 they are equal. */
static int compare(const Form *f, const Side *a, const Side *b) {
  for (int i = 0; i < f->nsample; i++)
    if (a->product[i] != b->product[i]) return a->product[i] < b->product[i] ? -1 : 1;
  return 0;
}

int form_groups(const Form *f, const FormNode *n, AxisGroup *group) {
  Side in = {.n = source(f, n, 0)}, out = {.n = n};
  int count = 0;
  if (!in.n) return 0;
  if (n->zeros) { /* products say nothing */
    group[0] = (AxisGroup){0, in.n->ndim, 0, n->ndim};
    return 1;
  }
  while (in.at < in.n->ndim || out.at < out.n->ndim) {
    AxisGroup *g = &group[count++];
    *g = (AxisGroup){.in = in.at, .out = out.at};
    side_begin(&in);
    side_begin(&out);
    take_ones(f, &in);
    take_ones(f, &out);
    if (in.at < in.n->ndim) side_take(f, &in);
    if (out.at < out.n->ndim) side_take(f, &out);
    for (int c; (c = compare(f, &in, &out)) != 0;) {
      bool more_in = in.at < in.n->ndim, more_out = out.at < out.n->ndim;
      if (!more_in && !more_out) break;
      side_take(f, more_in && (c < 0 || !more_out) ? &in : &out);
    }
    take_ones(f, &in);
    take_ones(f, &out);
    bool last = in.at == in.n->ndim || out.at == out.n->ndim;
    g->in_end = in.at = last ? in.n->ndim : in.at;
    g->out_end = out.at = last ? out.n->ndim : out.at;
  }
  return count;
}

/* The one axis of a group that is not of size 1; -1: none or several. */
static int only_axis(const FormNode *n, int begin, int end) {
  int found = -1;
  for (int d = begin; d < end; d++) {
    if (n->ones >> d & 1) continue;
    if (found >= 0) return -1;
    found = d;
  }
  return found;
}

static void join_reshape(Classes *c, const FormNode *n) {
  AxisGroup group[2 * MAX_DIMS];
  int count = form_groups(c->f, n, group);
  const FormNode *x = source(c->f, n, 0);
  for (int g = 0; g < count; g++) {
    int a = only_axis(x, group[g].in, group[g].in_end), b = only_axis(n, group[g].out, group[g].out_end);
    if (a >= 0 && b >= 0) join(c, x->axis + a, n->axis + b);
  }
}

/* ---- the other ops ---- */

/* What is read by the end of edges and what is summed by it have a row for each node: rules that move work from edges
 * to nodes put both side by side. */
static void join_rows(Classes *c, const FormNode *n, const FormNode *x) {
  int at = form_src(c->f, n, 1)->node;
  if (at < 0 || c->f->node[at].op != OP_ENDPOINT || !x || !x->ndim) return;
  if (c->rows[at] < 0)
    c->rows[at] = x->axis;
  else
    join(c, c->rows[at], x->axis);
}

static void join_gather(Classes *c, const FormNode *n) {
  const FormNode *x = source(c->f, n, 0), *index = source(c->f, n, 1);
  int rank = index ? index->ndim : 0;
  join_rows(c, n, x);
  for (int d = 0; d < rank; d++) join(c, index->axis + d, n->axis + d);
  for (int d = 1; x && d < x->ndim; d++) join(c, x->axis + d, n->axis + rank + d - 1);
}

static void join_segment(Classes *c, const FormNode *n) {
  const FormNode *x = source(c->f, n, 0), *index = source(c->f, n, 1), *entries = source(c->f, n, 3);
  join_rows(c, n, n);
  if (!x || !index || !entries) return;
  join(c, x->axis, index->axis);
  join(c, entries->axis, index->axis);
  for (int d = 1; d < n->ndim; d++) join(c, x->axis + d, n->axis + d);
}

/* Axes that a PAD or SHRINK leaves as they are, and those that an EXPAND does not stretch. */
static bool axis_kept(const Form *f, const FormNode *n, const FormNode *x, int d) {
  if (n->op == OP_EXPAND) return !(x->ones >> d & 1);
  if (n->op == OP_PAD) return is_number(f, n, 1 + 2 * d, 0) && is_number(f, n, 2 + 2 * d, 0);
  bool whole = is_number(f, n, 1 + 2 * d, 0);
  for (int s = 0; whole && s < f->nsample; s++) whole = form_axis_value(f, s, n, d) == form_axis_value(f, s, x, d);
  return whole;
}

static void join_kept(Classes *c, const FormNode *n) {
  const FormNode *x = source(c->f, n, 0);
  for (int d = 0; x && d < n->ndim; d++)
    if (axis_kept(c->f, n, x, d)) join(c, x->axis + d, n->axis + d);
}

/* ---- loops over steps ---- */

/* Axes of a from `a0` on are those of b from `b0` on. */
static void join_axes(Classes *c, const FormNode *a, int a0, const FormNode *b, int b0) {
  for (int d = 0; a && b && a0 + d < a->ndim && b0 + d < b->ndim; d++) join(c, a->axis + a0 + d, b->axis + b0 + d);
}

/* Carried values keep their shapes; arguments of the body are them and rows of stacked inputs, which have one length.
 */
static void join_scan(Classes *c, const FormNode *n) {
  const Form *f = c->f;
  Scan s = scan_counts(n->arg, n->nsrc);
  for (int k = 0; k < s.ncarry; k++) join_axes(c, source(f, n, k), 0, source(f, n, s.ncarry + s.nx + k), 0);
  for (int i = 0; i < f->nnode - 1; i++) {
    const FormNode *a = &f->node[i];
    if (a->op == OP_ARGUMENT && a->arg.i == n->arg.i)
      join_axes(c, source(f, n, (int)a->arg.j), a->arg.j >= s.ncarry, a, 0);
  }
  for (int k = 1; k < s.nx; k++) {
    const FormNode *x = source(f, n, s.ncarry), *y = source(f, n, s.ncarry + k);
    if (x && y) join(c, x->axis, y->axis);
  }
}

static void join_scan_result(Classes *c, const FormNode *n) {
  const FormNode *scan = source(c->f, n, 0);
  Scan s = scan_counts(scan->arg, scan->nsrc);
  bool stacked = n->op == OP_STACKED;
  join_axes(c, stacked ? source(c->f, n, 1) : source(c->f, scan, (int)n->arg.i), 0, n, n->op != OP_FINAL);
  const FormNode *x = stacked && s.nx ? source(c->f, scan, s.ncarry) : NULL;
  if (x) join(c, x->axis, n->axis);
}

static void join_node(Classes *c, const FormNode *n) {
  const FormNode *x = n->nsrc ? source(c->f, n, 0) : NULL;
  if (op_elementwise((Op)n->op) || n->op == OP_ASSIGN || n->op == OP_CONTIGUOUS || n->op == OP_FLIP) {
    for (int k = 0; k < n->nsrc; k++) join_shape(c, n, k);
    return;
  }
  switch (n->op) {
  case OP_PERMUTE:
    for (int d = 0; d < n->ndim; d++) join(c, x->axis + (int)((n->arg.i >> (4 * d)) & 15), n->axis + d);
    break;
  case OP_REDUCE:
    for (int d = 0; d < n->ndim; d++)
      if (!(n->arg.j >> d & 1)) join(c, x->axis + d, n->axis + d);
    break;
  case OP_CAT:
    for (int k = 0; k < n->nsrc; k++)
      for (int d = 0; d < n->ndim; d++)
        if (d != n->arg.i) join(c, source(c->f, n, k)->axis + d, n->axis + d);
    break;
  case OP_ENDPOINT:
    for (int k = 0; k < n->nsrc; k++)
      if (k != END_ROWPTR) join_shape(c, n, k);
    break;
  case OP_RESHAPE: join_reshape(c, n); break;
  case OP_GATHER: join_gather(c, n); break;
  case OP_SEGMENT: join_segment(c, n); break;
  case OP_SCAN: join_scan(c, n); break;
  case OP_FINAL:
  case OP_STATES:
  case OP_STACKED: join_scan_result(c, n); break;
  case OP_EXPAND:
  case OP_PAD:
  case OP_SHRINK: join_kept(c, n); break;
  default: break;
  }
}

bool form_classes(const Form *f, Arena *arena, int **cls) {
  Classes c = {f, arena_new(arena, (size_t)(f->naxis + 1) * sizeof(int)),
               arena_new(arena, (size_t)(f->nnode + 1) * sizeof(int))};
  if (!c.cls || !c.rows) return false;
  for (int i = 0; i < f->nnode; i++) c.rows[i] = -1;
  for (int a = 0; a < f->naxis; a++) c.cls[a] = a;
  for (int i = 0; i < f->nnode - 1; i++) join_node(&c, &f->node[i]);
  for (int a = 0; a < f->naxis; a++) find(c.cls, a);
  for (int a = 0; a < f->naxis; a++) c.cls[a] = find(c.cls, a);
  *cls = c.cls;
  return true;
}
