/* form_program.c: the general program of a form. In: a form with two samples or more. Out: a canonical program in which
 * every number that differs among the samples is a variable, and for each number of the form what it is in terms of
 * those.
 *
 *   samples  (x[3, 4] + y[3, 4]) * 0.5,  (x[7, 4] + y[7, 4]) * 0.25   ->   (x[s0, 4] + y[s0, 4]) * c1
 *
 * A class of sizes has one expression: that of the first node which has it, so that a size which follows from others is
 * computed from them. Where another node of the class has a size that is not provably the same (the sum of the parts of
 * a CAT, say), it is cut to the first expression by a SHRINK that begins at 0: nothing moves, and that both are equal
 * is checked whenever a program is matched with the form. Everything is built by the ordinary builders. */
#include "engine/form.h"
#include "ir/scan.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Build {
  Form *f;
  PolyContext *ctx;
  Arena arena;
  int *cls;
  bool *open; /* for each class: it differs among the samples, or is symbolic */
  UOp **size; /* its expression, once there is one */
  UOp **made; /* for each node */
  int maxhole, maxcast;
} Build;

static bool hold(Form *f, UOp *u) {
  if (!u || !vec_push(ctx_base(f->ctx), &f->held, u)) return false;
  uop_retain(u);
  return true;
}

/* ---- variables ---- */

static UOp *new_hole(Build *b, HoleKind kind, int node, int at) {
  static const char letter[] = {[HOLE_SIZE] = 's', [HOLE_OFFSET] = 'o', [HOLE_SCALAR] = 'c'};
  Form *f = b->f;
  int64_t lo = kind == HOLE_SIZE ? 2 : kind == HOLE_OFFSET ? 0 : INT64_MIN;
  char name[16];
  snprintf(name, sizeof name, "%c%d", letter[kind], f->nhole);
  UOp *v = uop_variable(b->ctx, name, lo, kind == HOLE_SCALAR ? INT64_MAX : INT32_MAX);
  if (!v || f->nhole == b->maxhole || !hold(f, v)) return NULL;
  f->hole[f->nhole++] = (FormHole){kind, node, at, v};
  return v;
}

static bool varies(const Form *f, int element) {
  for (int s = 1; s < f->nsample; s++)
    if (f->sample[s][element] != f->sample[0][element]) return true;
  return false;
}

static UOp *axis_size(Build *b, int node, int d) {
  int a = b->f->node[node].axis + d, c = b->cls[a];
  if (!b->size[c]) b->size[c] = b->open[c] ? new_hole(b, HOLE_SIZE, node, d) : uop_index(b->ctx, b->f->sample[0][a]);
  return b->size[c];
}

static FormEdge *edge_at(Build *b, int node, int k) { return &b->f->edge[b->f->node[node].edge + k]; }

/* The bound of a slice, the width of a pad: a symbolic one is what it was. */
static UOp *offset(Build *b, int node, int k) {
  FormEdge *e = edge_at(b, node, k);
  if (e->node >= 0) return b->made[e->node];
  if (!varies(b->f, b->f->naxis + b->f->node[node].edge + k))
    return uop_index(b->ctx, form_src_value(b->f, 0, &b->f->node[node], k));
  e->hole = b->f->nhole;
  return new_hole(b, HOLE_OFFSET, node, k);
}

/* Scalars that are the same in every sample are one variable: a learning rate is in the update of each parameter. */
static int scalar_hole(Build *b, int node, int k) {
  Form *f = b->f;
  const FormNode *n = &f->node[node];
  for (int h = 0; h < f->nhole; h++) {
    const FormNode *m = &f->node[f->hole[h].node];
    bool same = f->hole[h].kind == HOLE_SCALAR && form_src(f, m, f->hole[h].at)->dtype == form_src(f, n, k)->dtype;
    for (int s = 0; same && s < f->nsample; s++)
      same = form_src_value(f, s, m, f->hole[h].at) == form_src_value(f, s, n, k);
    if (same) return h;
  }
  return new_hole(b, HOLE_SCALAR, node, k) ? f->nhole - 1 : -1;
}

/* A scalar constant. Variables are int64: those of other dtypes hold the bits of a double, or are cast. */
static UOp *scalar(Build *b, int node, int k) {
  FormEdge *e = edge_at(b, node, k);
  const FormNode *n = &b->f->node[node];
  PolyDType dtype = (PolyDType)e->dtype;
  if (!varies(b->f, b->f->naxis + n->edge + k))
    return uop_make(b->ctx, OP_CONST, dtype, (UArg){.i = form_src_value(b->f, 0, n, k)}, 0, NULL, 0, NULL);
  e->hole = scalar_hole(b, node, k);
  UOp *v = e->hole < 0 ? NULL : b->f->hole[e->hole].var;
  return dtype_is_float(dtype) ? uop_cast(uop_bitcast(v, POLY_FLOAT64), dtype) : uop_cast(v, dtype);
}

/* ---- nodes ---- */

int form_size_axis(const FormNode *n, int k) {
  switch (n->op) {
  case OP_ARGUMENT:
  case OP_BUFFER:
  case OP_IOTA: return k;
  case OP_RANDOM: return k == 0 ? 0 : -1;
  case OP_RESHAPE:
  case OP_EXPAND: return k - 1;
  case OP_SEGMENT: return k == 4 ? 0 : -1;
  case OP_LIBRARY: return k >= n->arg.j ? k - (int)n->arg.j : -1;
  default: return -1;
  }
}

/* Sources of a node: sizes, nodes, scalars. */
static bool sources(Build *b, int i, UOp **src) {
  const FormNode *n = &b->f->node[i];
  for (int k = 0; k < n->nsrc; k++) {
    int axis = form_size_axis(n, k), at = edge_at(b, i, k)->node;
    src[k] = at >= 0 ? b->made[at] : axis >= 0 ? axis_size(b, i, axis) : scalar(b, i, k);
    if (!src[k]) return false;
  }
  return true;
}

/* Constants fit any shape, variables have to be spread. */
static UOp *make_elementwise(Build *b, int i, UOp **src) {
  const FormNode *n = &b->f->node[i];
  const UOp *model = NULL;
  for (int k = 0; k < n->nsrc && !model; k++)
    if (edge_at(b, i, k)->node >= 0) model = src[k];
  for (int k = 0; model && k < n->nsrc; k++)
    if (src[k]->op != OP_CONST && src[k]->ndim != model->ndim &&
        !(src[k] = uop_spread(src[k], model->ndim, model->shape)))
      return NULL;
  return uop_with_sources(&(UOp){.ctx = b->ctx, .op = n->op, .dtype = n->dtype, .ndim = n->ndim, .nsrc = n->nsrc}, src);
}

static UOp *product(PolyContext *ctx, UOp *const *size, int begin, int end) {
  UOp *p = uop_index(ctx, 1);
  for (int d = begin; d < end; d++) p = int_mul(p, size[d]);
  return p;
}

/* In a group with one size that is not known yet, that one follows from the others if it does so certainly. */
static bool solve_group(Build *b, int i, AxisGroup g, UOp *whole) {
  const FormNode *n = &b->f->node[i];
  int unknown = -1;
  UOp *known = uop_index(b->ctx, 1);
  for (int d = g.out; d < g.out_end; d++) {
    int c = b->cls[n->axis + d];
    if (b->size[c] || !b->open[c])
      known = int_mul(known, axis_size(b, i, d));
    else if (unknown >= 0)
      return true;
    else
      unknown = c;
  }
  if (unknown < 0 || !known || !int_less(uop_index(b->ctx, 0), known)) return known;
  UOp *q = int_div(whole, known);
  if (q && int_mul(q, known) == whole) b->size[unknown] = q;
  return q;
}

/* Each group is flattened, cut to the size it has by the new sizes, and taken apart. */
static UOp *make_reshape(Build *b, int i, UOp *x) {
  const FormNode *n = &b->f->node[i];
  AxisGroup group[2 * MAX_DIMS];
  UOp *have[2 * MAX_DIMS], *want[2 * MAX_DIMS], *zero[2 * MAX_DIMS], *out[MAX_DIMS];
  int count = edge_at(b, i, 0)->node < 0 ? 0 : form_groups(b->f, n, group);
  bool same = true;
  for (int g = 0; g < count; g++) {
    zero[g] = uop_index(b->ctx, 0);
    have[g] = product(b->ctx, x->shape, group[g].in, group[g].in_end);
    if (!have[g] || !solve_group(b, i, group[g], have[g])) return NULL;
  }
  for (int d = 0; d < n->ndim; d++) {
    int at = edge_at(b, i, 1 + d)->node;
    if (!(out[d] = at >= 0 ? b->made[at] : axis_size(b, i, d))) return NULL;
  }
  for (int g = 0; g < count; g++) {
    want[g] = product(b->ctx, out, group[g].out, group[g].out_end);
    same &= want[g] == have[g];
  }
  if (same || count > MAX_DIMS) return uop_reshape(x, n->ndim, out);
  return uop_reshape(uop_shrink(uop_reshape(x, count, have), zero, want), n->ndim, out);
}

static UOp *make_expand(Build *b, int i, UOp *x) {
  UOp *shape[MAX_DIMS];
  for (int d = 0; d < x->ndim; d++) {
    int at = edge_at(b, i, 1 + d)->node;
    shape[d] = !uop_is_int(x->shape[d], 1) ? x->shape[d] : at >= 0 ? b->made[at] : axis_size(b, i, d);
  }
  return uop_expand(x, shape);
}

static UOp *make_pad(Build *b, int i, UOp *x) {
  UOp *before[MAX_DIMS], *after[MAX_DIMS];
  for (int d = 0; d < x->ndim; d++) {
    before[d] = edge_at(b, i, 1 + 2 * d)->size = offset(b, i, 1 + 2 * d);
    after[d] = edge_at(b, i, 2 + 2 * d)->size = offset(b, i, 2 + 2 * d);
  }
  return uop_pad(x, before, after);
}

/* begin and size are numbers of their own, the end follows: which slices have size 1 is known. */
static UOp *make_shrink(Build *b, int i, UOp *x) {
  const FormNode *n = &b->f->node[i], *from = &b->f->node[edge_at(b, i, 0)->node];
  UOp *begin[MAX_DIMS], *end[MAX_DIMS];
  for (int d = 0; d < x->ndim; d++) {
    FormEdge *first = edge_at(b, i, 1 + 2 * d), *last = edge_at(b, i, 2 + 2 * d);
    begin[d] = first->size = offset(b, i, 1 + 2 * d);
    bool numbers = first->node < 0 && last->node < 0;
    if (!begin[d]) return NULL;
    if (uop_is_int(begin[d], 0) && b->cls[n->axis + d] == b->cls[from->axis + d])
      end[d] = x->shape[d];
    else
      end[d] = numbers ? int_add(begin[d], axis_size(b, i, d)) : offset(b, i, 2 + 2 * d);
    last->size = end[d];
  }
  return uop_shrink(x, begin, end);
}

static UOp *make_other(Build *b, int i, UOp **src) {
  const FormNode *n = &b->f->node[i];
  if (n->op == OP_ASSIGN && src[0]->op != OP_BUFFER) return NULL; /* only memory is written */
  switch (n->op) {
  case OP_VARIABLE: return uop_variable(b->ctx, n->arg.name, n->arg.i, n->arg.j);
  case OP_ARGUMENT:
  case OP_BUFFER: return uop_make(b->ctx, (Op)n->op, (PolyDType)n->dtype, n->arg, n->nsrc, src, n->ndim, src);
  case OP_FINAL:
  case OP_STATES:
  case OP_STACKED:
  case OP_IOTA:
  case OP_RANDOM:
  case OP_PERMUTE:
  case OP_FLIP:
  case OP_CAT:
  case OP_REDUCE:
  case OP_GATHER:
  case OP_ENDPOINT:
  case OP_SEGMENT:
  case OP_CONTIGUOUS:
  case OP_ASSIGN:
  case OP_LIBRARY:
    return uop_with_sources(
        &(UOp){.ctx = b->ctx, .op = n->op, .dtype = n->dtype, .ndim = n->ndim, .nsrc = n->nsrc, .arg = n->arg}, src);
  default: return NULL;
  }
}

/* A loop over steps: its length is that of its stacked inputs, if there are any. */
static UOp *make_scan(Build *b, int i) {
  const FormNode *n = &b->f->node[i];
  Scan s = scan_counts(n->arg, n->nsrc);
  UOp **src = arena_new(&b->arena, (size_t)(n->nsrc + 1) * sizeof *src);
  int last = n->nsrc - 1;
  FormEdge *length = edge_at(b, i, last);
  for (int k = 0; src && k < last; k++) {
    int at = edge_at(b, i, k)->node;
    if (!(src[k] = at >= 0 ? b->made[at] : scalar(b, i, k))) return NULL;
  }
  if (!src) return NULL;
  src[last] = length->node >= 0 ? b->made[length->node] : s.nx ? src[s.ncarry]->shape[0] : offset(b, i, last);
  if (length->node < 0) length->size = src[last];
  for (int k = 0; k < s.ncarry; k++)
    if (!shape_equal(src[k], src[s.ncarry + s.nx + k])) return NULL;
  for (int k = 0; k < s.nx; k++)
    if (src[s.ncarry + k]->shape[0] != src[last]) return NULL;
  return uop_make(b->ctx, OP_SCAN, (PolyDType)n->dtype, n->arg, n->nsrc, src, 0, NULL);
}

static UOp *make_node(Build *b, int i) {
  const FormNode *n = &b->f->node[i];
  int at = n->nsrc ? edge_at(b, i, 0)->node : -1;
  UOp *x = at >= 0 ? b->made[at] : NULL;
  switch (n->op) {
  case OP_SCAN: return make_scan(b, i);
  case OP_PAD: return x ? make_pad(b, i, x) : NULL;
  case OP_SHRINK: return x ? make_shrink(b, i, x) : NULL;
  case OP_EXPAND: return x ? make_expand(b, i, x) : NULL;
  case OP_RESHAPE: return (x = x ? x : scalar(b, i, 0)) ? make_reshape(b, i, x) : NULL;
  default: break;
  }
  UOp **src = arena_new(&b->arena, (size_t)(n->nsrc + 1) * sizeof *src);
  if (!src || !sources(b, i, src)) return NULL;
  return op_elementwise((Op)n->op) ? make_elementwise(b, i, src) : make_other(b, i, src);
}

/* ---- sizes of a node as those of their classes ---- */

static UOp *cut_to_classes(Build *b, int i, UOp *u) {
  Form *f = b->f;
  UOp *zero[MAX_DIMS], *end[MAX_DIMS];
  for (int d = 0; d < u->ndim; d++) {
    int a = f->node[i].axis + d, c = b->cls[a];
    if (!b->size[c]) b->size[c] = b->open[c] ? u->shape[d] : uop_index(b->ctx, f->sample[0][a]);
    zero[d] = uop_index(b->ctx, 0);
    end[d] = b->size[c];
    if (end[d] == u->shape[d]) continue;
    if (f->ncast == b->maxcast || !hold(f, end[d])) return NULL;
    f->cast[f->ncast++] = (FormCast){i, d, end[d]};
  }
  return uop_shrink(u, zero, end);
}

/* What each size of the node is in the general program. */
static bool note_sizes(Build *b, int i, UOp *u) {
  const FormNode *n = &b->f->node[i];
  for (int k = 0; k < n->nsrc; k++) {
    FormEdge *e = edge_at(b, i, k);
    int axis = form_size_axis(n, k);
    if (e->node >= 0) continue;
    if (axis >= 0) e->size = u->shape[axis];
    if (e->size && !hold(b->f, e->size)) return false;
  }
  return true;
}

static bool build_nodes(Build *b) {
  Form *f = b->f;
  for (int i = 0; i < f->nnode - 1; i++) {
    UOp *u = make_node(b, i);
    if (!u || u->ndim != f->node[i].ndim || u->dtype != f->node[i].dtype) return false;
    if (u->ndim && f->node[i].op != OP_ASSIGN) u = cut_to_classes(b, i, u);
    if (!u || !note_sizes(b, i, u)) return false;
    if (f->node[i].origin) u->origin = f->node[i].origin;
    b->made[i] = u;
  }
  const FormNode *roots = &f->node[f->nnode - 1];
  for (int r = 0; r < f->nroot; r++) {
    int at = form_src(f, roots, r)->node;
    f->root[r] = at >= 0 ? b->made[at] : scalar(b, f->nnode - 1, r);
    if (!hold(f, f->root[r])) return false;
  }
  return true;
}

/* ---- the whole ---- */

/* Which classes differ; false: the sizes of one class are not equal in a sample. */
static bool find_open(Build *b) {
  Form *f = b->f;
  for (int i = 0; i < f->nnode - 1; i++)
    for (int d = 0; d < f->node[i].ndim; d++) {
      int a = f->node[i].axis + d, c = b->cls[a];
      b->open[c] |= varies(f, a) || (f->node[i].symbolic >> d & 1);
      for (int s = 0; s < f->nsample; s++)
        if (f->sample[s][a] != f->sample[s][c]) return false;
    }
  return true;
}

static bool find_variables(Build *b) {
  Form *f = b->f;
  for (int i = 0; i < f->nnode - 1; i++) {
    if (f->node[i].op != OP_VARIABLE) continue;
    int k = (int)strtol(f->node[i].arg.name + 1, NULL, 10);
    if (k < 0 || k >= f->nvar) return false;
    f->var[k] = b->made[i];
  }
  for (int k = 0; k < f->nvar; k++)
    if (!f->var[k] || !hold(f, f->var[k])) return false;
  for (int h = 0; h < f->nhole; h++) f->var[f->nvar + h] = f->hole[h].var;
  return true;
}

bool form_generalise(Form *f) {
  PolyContext *ctx = f->ctx;
  Build b = {.f = f, .ctx = ctx, .arena = {.b = ctx_base(ctx)}, .maxhole = f->naxis + f->nedge, .maxcast = f->naxis};
  size_t naxis = (size_t)f->naxis + 1, most = (size_t)(f->naxis + f->nedge + f->nvar) + 1;
  b.open = arena_new(&b.arena, naxis * sizeof *b.open);
  b.size = arena_new(&b.arena, naxis * sizeof *b.size);
  b.made = arena_new(&b.arena, (size_t)f->nnode * sizeof *b.made);
  f->hole = arena_new(&f->arena, most * sizeof *f->hole);
  f->cast = arena_new(&f->arena, naxis * sizeof *f->cast);
  f->root = arena_new(&f->arena, (size_t)(f->nroot + 1) * sizeof *f->root);
  f->var = arena_new(&f->arena, most * sizeof *f->var);
  Scope s;
  scope_enter(ctx, &s);
  bool ok = b.open && b.size && b.made && f->hole && f->cast && f->root && f->var &&
            form_classes(f, &b.arena, &b.cls) && find_open(&b) && build_nodes(&b) && find_variables(&b);
  scope_leave(ctx, &s);
  arena_free(&b.arena);
  return f->general = ok;
}
