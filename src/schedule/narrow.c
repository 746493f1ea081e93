/* narrow.c: a sum over neighbours and a matrix product may change places. Sums are taken where rows are narrower.
 *
 * Let L be linear and work on each column alone: sums over the edges of each row, factors of rows and of edges, sums of
 * such. For node values x [V, I], weights w [I, O] and d [V, O]:
 *
 *   L(x) @ w    =  L(x @ w)           where O is less than I, and for the gradient of the weights, since L(x) is
 *   L(x)^T @ d  =  x^T @ L^T(d)       no longer there then; L^T is L with sources and destinations exchanged
 *   L(d @ w^T)  =  L(d) @ w^T         the gradient of x, in the other direction
 *
 * Edges read O values in place of I, and L(x) needs no memory. What is asked of L(x) altogether counts: where it is
 * used for anything but products, or for products that are wider together, it stays.
 *
 * A sum over all edges of a product with a value of one end is a sum over the nodes, in front of which the other factor
 * is summed over the edges of each node, if that factor is narrower than the product:
 *
 *   sum over e of src(x)[e, i] * d[e, j]   =   sum over v of x[v, i] * (sum of d over the edges from v)[v, j]
 *
 * Products with a common factor, such as the two gradients of a weight that both ends of an edge are multiplied with,
 * are one:
 *
 *   x^T @ d + x^T @ e  =  x^T @ (d + e) */
#include "schedule/narrow.h"

#include "ir/context.h"
#include "ir/edge_to_node.h"
#include "ir/scan.h"
#include "schedule/contract.h"

enum { MOST_USES = 8, MOST_STEPS = 64, MOST_DEPTH = 32 };

typedef struct Narrow {
  PolyContext *ctx;
  Arena *arena;
  Walk w;
  int *user, *user_at; /* of each node of the walk: its users are user[user_at[k]] .. user[user_at[k + 1]] */
  bool *root;
} Narrow;

static bool in_walk(const Narrow *n, const UOp *u) { return u->epoch == n->w.epoch; }
static int uses(const Narrow *n, const UOp *u) { return n->user_at[u->slot + 1] - n->user_at[u->slot]; }

static bool find_users(Narrow *n, int nroot, UOp *const *root) {
  if (!uop_walk(n->ctx, n->arena, nroot, root, NULL, NULL, &n->w)) return false;
  size_t room = (size_t)n->w.n + 2;
  n->user_at = arena_new(n->arena, room * sizeof(int));
  n->root = arena_new(n->arena, room * sizeof(bool));
  int *next = arena_new(n->arena, room * sizeof(int));
  if (!n->user_at || !n->root || !next) return false;
  for (int i = 0; i < n->w.n; i++)
    for (int k = 0; k < n->w.at[i]->nsrc; k++) n->user_at[n->w.at[i]->src[k]->slot + 1]++;
  for (int i = 0; i < n->w.n; i++) n->user_at[i + 1] += n->user_at[i];
  n->user = arena_new(n->arena, (size_t)(n->user_at[n->w.n] + 1) * sizeof(int));
  if (!n->user) return false;
  for (int i = 0; i < n->w.n; i++)
    for (int k = 0; k < n->w.at[i]->nsrc; k++) {
      int s = n->w.at[i]->src[k]->slot;
      n->user[n->user_at[s] + next[s]++] = i;
    }
  for (int i = 0; i < nroot; i++) n->root[root[i]->slot] = true;
  return true;
}

/* ---- linear functions of rows ---- */

/* A tree of linear operations: from `root` down to one value that is not made by such an operation, or is used for
 * something else as well. */
typedef struct Linear {
  UOp *root, *leaf;
  int leaves, sums; /* how often the leaf occurs; sums over edges */
} Linear;

static bool is_columns(const UOp *u) { return u->ndim == 2 && u->shape[1]->op == OP_CONST && !u->buffer; }

/* The same in all columns: a constant, or a value of each row. */
static bool is_row_factor(const UOp *u) {
  if (u->op == OP_CONST) return true;
  return u->op == OP_EXPAND && u->src[0]->ndim == 2 && uop_is_int(u->src[0]->shape[1], 1);
}

static UOp *widened(UOp *factor, UOp *const *shape) {
  return factor->op == OP_CONST ? factor : uop_expand(factor->src[0], shape);
}

/* Which source of u is linear in the rows; -1: both are, or the only one is; -2: it is no linear operation. */
static int linear_source(const UOp *u) {
  if (!is_columns(u)) return -2;
  switch (u->op) {
  case OP_ADD:
  case OP_SUB: return is_columns(u->src[0]) && is_columns(u->src[1]) ? -1 : -2;
  case OP_MUL: return is_row_factor(u->src[1]) ? 0 : is_row_factor(u->src[0]) ? 1 : -2;
  case OP_DIV: return is_row_factor(u->src[1]) ? 0 : -2;
  case OP_SEGMENT: return u->arg.i == OP_ADD && u->src[1]->op == OP_ENDPOINT ? 0 : -2;
  case OP_GATHER: return u->src[1]->op == OP_ENDPOINT ? 0 : -2;
  default: return -2;
  }
}

static bool find_linear(const Narrow *n, Linear *l, UOp *u, int depth) {
  int at = linear_source(u);
  bool own = u == l->root || (uses(n, u) == 1 && !n->root[u->slot]);
  if (at == -2 || !own || depth > MOST_DEPTH) {
    if (l->leaf && l->leaf != u) return false;
    l->leaf = u;
    l->leaves++;
    return u != l->root;
  }
  l->sums += u->op == OP_SEGMENT;
  for (int k = 0; k < 2; k++)
    if ((at < 0 || at == k) && (k == 0 || at != 0) && !find_linear(n, l, u->src[k], depth + 1)) return false;
  return true;
}

static bool is_linear(const Narrow *n, UOp *u, Linear *l) {
  *l = (Linear){.root = u};
  return linear_source(u) != -2 && in_walk(n, u) && find_linear(n, l, u, 0) && l->sums && is_columns(l->leaf) &&
         l->leaf->shape[1] == u->shape[1] && l->leaf->dtype == u->dtype;
}

/* L(x), with the columns of x. */
static UOp *applied(const Linear *l, UOp *u, UOp *x) {
  if (!x || u == l->leaf) return x;
  UOp *shape[2] = {u->shape[0], x->shape[1]};
  switch (u->op) {
  case OP_ADD:
  case OP_SUB: return uop_binary((Op)u->op, applied(l, u->src[0], x), applied(l, u->src[1], x));
  case OP_GATHER: return uop_gather(applied(l, u->src[0], x), u->src[1]);
  case OP_SEGMENT: return uop_segment(OP_ADD, applied(l, u->src[0], x), u->src[1], u->shape[0]);
  default: {
    int at = linear_source(u);
    UOp *a = applied(l, u->src[at], x), *factor = widened(u->src[!at], shape);
    return uop_binary((Op)u->op, at ? factor : a, at ? a : factor);
  }
  }
}

/* L^T(d): what a value d of u's rows contributes to those of the leaf. */
static UOp *transposed(const Linear *l, UOp *u, UOp *d) {
  if (!d || u == l->leaf) return d;
  UOp *shape[2] = {u->shape[0], d->shape[1]};
  switch (u->op) {
  case OP_ADD:
  case OP_SUB: return uop_binary((Op)u->op, transposed(l, u->src[0], d), transposed(l, u->src[1], d));
  case OP_GATHER: return transposed(l, u->src[0], uop_segment(OP_ADD, d, u->src[1], u->src[0]->shape[0]));
  case OP_SEGMENT: return transposed(l, u->src[0], uop_gather(d, u->src[1]));
  default: {
    int at = linear_source(u);
    UOp *factor = widened(u->src[!at], shape);
    return transposed(l, u->src[at], uop_binary((Op)u->op, at ? factor : d, at ? d : factor));
  }
  }
}

/* ---- products ---- */

typedef struct Product {
  UOp *node, *operand[2];
  MatmulItem m;
} Product;

static bool find_product(UOp *u, Product *p) {
  UOp *factor[2];
  bool copied = true;
  p->node = u;
  return u->op == OP_REDUCE && contract_match(u, false, &p->m, p->operand, factor, &copied) && !copied &&
         !p->m.nbatch && p->operand[0] == factor[0] && p->operand[1] == factor[1];
}

/* Does operand s, [rows, columns], stand with its rows in the rows of the result (which has them in front)? */
static bool maps_rows(const Product *p, int s, const UOp *columns) {
  return s == 0 && p->m.k == columns && p->m.a_row == columns && uop_is_int(p->m.a_col, 1);
}

/* Is it summed over its rows? */
static bool sums_rows(const Product *p, int s, const UOp *columns) {
  if (s == 0) return p->m.m == columns && p->m.a_col == columns && uop_is_int(p->m.a_row, 1);
  return p->m.n == columns && p->m.b_row == columns && uop_is_int(p->m.b_col, 1);
}

/* A view, a chain of moves, of another value of the same shape. */
static UOp *view_of(UOp *view, const UOp *from, UOp *to) {
  if (view == from || !to) return to;
  UOp *src[MAX_DIMS * 2 + 2];
  if (view->nsrc > LEN(src)) return NULL;
  for (int k = 0; k < view->nsrc; k++) src[k] = k ? view->src[k] : view_of(view->src[0], from, to);
  return src[0] ? uop_with_sources(view, src) : NULL;
}

/* Does the view show the operand, through moves alone? */
static bool shows(const UOp *view, const UOp *operand) {
  while (view != operand && op_info[view->op].cls == CLASS_MOVE) view = view->src[0];
  return view == operand;
}

/* The product of other operands of the same shapes. */
static UOp *product_of(const Product *p, UOp *a, UOp *b) {
  UOp *mul = p->node->src[0], *src[2], *with[2] = {a, b};
  for (int s = 0; s < 2; s++) { /* which source of MUL shows which operand */
    int k = shows(mul->src[s], p->operand[0]) && (s == 0 || !shows(mul->src[0], p->operand[0])) ? 0 : 1;
    if (!shows(mul->src[s], p->operand[k]) || !(src[s] = view_of(mul->src[s], p->operand[k], with[k]))) return NULL;
  }
  mul = uop_with_sources(mul, src);
  return mul ? uop_with_sources(p->node, &mul) : NULL;
}

/* f(u) under other sizes: as rows and columns, and back. */
static UOp *as_columns(UOp *u, UOp *rows, UOp *columns) {
  UOp *shape[2] = {rows, columns};
  return u ? uop_reshape(u, 2, shape) : NULL;
}

static UOp *shaped_like(UOp *u, const UOp *like) { return u ? uop_reshape(u, like->ndim, like->shape) : NULL; }

/* ---- what a sum is used for ---- */

/* Products that u is an operand of, through moves; false: it is used for something else as well. */
static bool find_products(const Narrow *n, const UOp *u, UOp **out, int *nout) {
  if (n->root[u->slot]) return false;
  for (int i = n->user_at[u->slot]; i < n->user_at[u->slot + 1]; i++) {
    UOp *v = n->w.at[n->user[i]];
    if (op_info[v->op].cls == CLASS_MOVE) {
      if (!find_products(n, v, out, nout)) return false;
      continue;
    }
    if (v->op != OP_MUL || uses(n, v) != 1 || n->root[v->slot] || *nout == MOST_USES) return false;
    out[(*nout)++] = n->w.at[n->user[n->user_at[v->slot]]];
  }
  return true;
}

/* Are they the same but for the order of operands? */
static bool same_value(const UOp *a, const UOp *b, int depth) {
  if (a == b) return true;
  bool fits = a->op == b->op && a->nsrc == b->nsrc && a->dtype == b->dtype && a->arg.i == b->arg.i &&
              a->arg.j == b->arg.j && a->buffer == b->buffer && a->nsrc && shape_equal(a, b);
  if (!fits || depth > MOST_DEPTH) return false;
  if ((a->op == OP_ADD || a->op == OP_MUL) && same_value(a->src[0], b->src[1], depth + 1))
    return same_value(a->src[1], b->src[0], depth + 1);
  for (int k = 0; k < a->nsrc; k++)
    if (!same_value(a->src[k], b->src[k], depth + 1)) return false;
  return true;
}

/* What the program has of that value already; u itself if there is nothing. */
static UOp *existing(const Narrow *n, UOp *u) {
  for (int i = 0; u && !in_walk(n, u) && i < n->w.n; i++)
    if (n->w.at[i]->op == u->op && same_value(n->w.at[i], u, 0)) return n->w.at[i];
  return u;
}

/* L^T of the other factor of p, in which operand s is the root of l and is summed over its rows; NULL: it does not fit.
 */
static UOp *moved_factor(const Narrow *n, const Product *p, int s, const Linear *l) {
  UOp *rows = l->root->shape[0], *wide = s ? p->m.m : p->m.n, *other = p->operand[!s];
  bool fits = sums_rows(p, s, l->root->shape[1]) && p->m.k == rows && wide->op == OP_CONST && other->ndim &&
              other->shape[0] == rows && sums_rows(p, !s, wide);
  return fits ? existing(n, transposed(l, l->root, as_columns(other, rows, wide))) : NULL;
}

/* How many columns edges would read for the product p of l.root in place of those of the root; none, if what they read
 * is there for another reason. -1: it must stay. */
static int64_t width_without(const Narrow *n, const Product *p, const Linear *l) {
  const UOp *u = l->root;
  int s = p->operand[0] == u ? 0 : 1;
  if (p->operand[s] != u || p->operand[!s] == u || p->node->dtype != u->dtype) return -1;
  if (maps_rows(p, s, u->shape[1]) && p->m.m == u->shape[0] && p->m.n->op == OP_CONST) return const_int(p->m.n);
  const UOp *moved = moved_factor(n, p, s, l);
  return !moved ? -1 : in_walk(n, moved) ? 0 : const_int(moved->shape[1]);
}

/* The product p of l.root without it. */
static UOp *product_without(const Narrow *n, const Product *p, const Linear *l) {
  const UOp *u = l->root;
  int s = p->operand[0] == u ? 0 : 1;
  if (maps_rows(p, s, u->shape[1])) {
    UOp *y = as_columns(product_of(p, l->leaf, p->operand[1]), l->leaf->shape[0], p->m.n);
    return shaped_like(applied(l, l->root, y), p->node);
  }
  UOp *moved = shaped_like(moved_factor(n, p, s, l), p->operand[!s]);
  return s ? product_of(p, moved, l->leaf) : product_of(p, l->leaf, moved);
}

/* L(x) @ w -> L(x @ w), and likewise for the gradient of w, one product at a time. */
static UOp *move_behind(const Narrow *n, const Product *p) {
  for (int s = 0; s < 2; s++) {
    UOp *u = p->operand[s], *product[MOST_USES];
    Linear l;
    int count = 0;
    int64_t total = 0;
    if (!is_linear(n, u, &l) || l.leaf->shape[0] != u->shape[0] || !find_products(n, u, product, &count)) continue;
    for (int k = 0; k < count && total >= 0; k++) {
      Product q;
      int64_t wide = find_product(product[k], &q) ? width_without(n, &q, &l) : -1;
      total = wide < 0 ? -1 : total + wide;
    }
    int64_t columns = const_int(u->shape[1]);
    if (count && total >= 0 && (total < columns || (total == columns && count > 1))) return product_without(n, p, &l);
  }
  return NULL;
}

/* L(d @ w) -> L(d) @ w */
static UOp *move_before(const Narrow *n, UOp *u) {
  Linear l;
  Product p;
  if (!is_linear(n, u, &l) || uses(n, l.leaf) != l.leaves || n->root[l.leaf->slot]) return NULL;
  UOp *y = l.leaf;
  while (y->op == OP_RESHAPE && uses(n, y->src[0]) == 1 && !n->root[y->src[0]->slot]) y = y->src[0];
  if (!find_product(y, &p) || p.m.m != u->shape[0] || p.m.m != l.leaf->shape[0] || p.m.n != u->shape[1]) return NULL;
  UOp *d = p.operand[0], *inner = p.m.k;
  bool fits = inner->op == OP_CONST && maps_rows(&p, 0, inner) && d->ndim && d->shape[0] == p.m.m;
  if (!fits || const_int(inner) >= const_int(p.m.n) || d->dtype != u->dtype) return NULL;
  UOp *sum = applied(&l, l.root, as_columns(d, p.m.m, inner));
  return shaped_like(product_of(&p, shaped_like(sum, d), p.operand[1]), u);
}

/* ---- sums over all edges ---- */

/* A factor of each edge without the axes along which it is repeated, which have size 1 then. */
static UOp *unrepeated(UOp *d) {
  if (d->buffer) return d;
  if (d->op == OP_EXPAND && d->src[0]->shape[0] == d->shape[0]) return d->src[0];
  if (!is_row_read(d)) return d;
  UOp *x = d->src[0];
  bool repeated = x->op == OP_EXPAND && !x->buffer && x->src[0]->shape[0] == x->shape[0];
  return repeated ? uop_gather(x->src[0], d->src[1]) : d;
}

/* Elements of a row; 0: not known. */
static int64_t row_elements(const UOp *u) {
  int64_t n = 1;
  for (int i = 1; i < u->ndim; i++)
    if (u->shape[i]->op != OP_CONST || __builtin_mul_overflow(n, const_int(u->shape[i]), &n)) return 0;
  return n;
}

/* x, or 0 in rows that no edge reads: what stands there may be infinite, and 0 times that would not be 0. */
static UOp *read_rows(UOp *x, UOp *end) {
  UOp *low = unrepeated(x), *any = low ? rows_with_edges(low, end) : NULL;
  UOp *rows = any ? uop_where(any, low, uop_const(x->ctx, (PolyDType)x->dtype, 0)) : NULL;
  return rows ? uop_expand(rows, x->shape) : NULL;
}

/* What is read from the nodes at one end of the edges, times the sum of d over the edges of each node, summed over all
 * nodes. */
static UOp *summed_by_nodes(UOp *read, UOp *d, const UOp *product) {
  UOp *end = read->src[1], *x = read->src[0], *nodes = x->shape[0], *shape[MAX_DIMS] = {nodes};
  UOp *flat = as_columns(d, d->shape[0], uop_index(d->ctx, row_elements(d)));
  UOp *sums = flat ? uop_segment(OP_ADD, flat, end, nodes) : NULL;
  for (int i = 1; i < d->ndim; i++) shape[i] = d->shape[i];
  sums = sums ? uop_reshape(sums, d->ndim, shape) : NULL;
  for (int i = 1; i < d->ndim; i++) shape[i] = product->shape[i];
  sums = sums ? uop_expand(sums, shape) : NULL;
  UOp *rows = sums ? read_rows(x, end) : NULL;
  return rows ? uop_reduce(OP_ADD, uop_binary(OP_MUL, rows, sums), 1) : NULL;
}

static UOp *sum_by_nodes(UOp *u) {
  UOp *best = NULL, *read = NULL;
  if (u->op != OP_REDUCE || u->arg.i != OP_ADD || u->arg.j != 1 || u->buffer) return NULL;
  UOp *m = u->src[0];
  while (m->op == OP_RESHAPE && !m->buffer && m->src[0]->ndim && m->src[0]->shape[0] == m->shape[0]) {
    if (m->shape[0]->vmin < 1) return NULL; /* without edges, the other sizes may be any */
    m = m->src[0];
  }
  if (m->op != OP_MUL || m->buffer || !dtype_is_float((PolyDType)m->dtype)) return NULL;
  for (int s = 0; s < 2; s++) {
    UOp *d = is_row_read(m->src[s]) && m->src[!s]->op != OP_CONST ? unrepeated(m->src[!s]) : NULL;
    bool narrow = d && row_elements(d) && row_elements(m) >= 2 * row_elements(d);
    if (!narrow || (best && row_elements(best) <= row_elements(d))) continue;
    best = d;
    read = m->src[s];
  }
  return best ? shaped_like(summed_by_nodes(read, best, m), u) : NULL;
}

/* ---- sums of products ---- */

/* The product behind u, if it is a sum of products along axes with one factor that is repeated. */
static UOp *summed_product(const UOp *u) {
  bool sum = u->op == OP_REDUCE && u->arg.i == OP_ADD && !u->buffer && dtype_is_float((PolyDType)u->dtype);
  return sum && u->src[0]->op == OP_MUL && !u->src[0]->buffer ? u->src[0] : NULL;
}

/* x^T @ d + x^T @ e -> x^T @ (d + e), as where what lies at both ends of an edge is multiplied with one weight. */
static UOp *common_factor(UOp *u) {
  if (u->op != OP_ADD || u->buffer) return NULL;
  const UOp *a = summed_product(u->src[0]), *b = summed_product(u->src[1]);
  if (!a || !b || u->src[0]->arg.j != u->src[1]->arg.j) return NULL;
  for (int i = 0; i < 4; i++) {
    UOp *x = a->src[i & 1], *d = a->src[!(i & 1)], *e = b->src[i >> 1];
    bool same = x == b->src[!(i >> 1)] && d->op == OP_EXPAND && e->op == OP_EXPAND && !d->buffer && !e->buffer;
    if (!same || !shape_equal(d->src[0], e->src[0]) || !shape_equal(d, e)) continue;
    UOp *both = uop_expand(uop_binary(OP_ADD, d->src[0], e->src[0]), d->shape);
    return uop_reduce(OP_ADD, uop_binary(OP_MUL, both, x), (uint32_t)u->src[0]->arg.j);
  }
  return NULL;
}

/* ---- steps ---- */

/* One step: the node that changes and what it becomes. */
static bool find_step(const Narrow *n, UOp **from, UOp **to) {
  Base *b = ctx_base(n->ctx);
  *to = NULL;
  for (int i = 0; i < n->w.n && !*to && b->code == POLY_OK; i++) *to = sum_by_nodes(*from = n->w.at[i]);
  for (int i = 0; i < n->w.n && !*to && b->code == POLY_OK; i++) *to = common_factor(*from = n->w.at[i]);
  for (int i = n->w.n; i-- > 0 && !*to && b->code == POLY_OK;)
    if (linear_source(n->w.at[i]) != -2) *to = move_before(n, *from = n->w.at[i]);
  for (int i = 0; i < n->w.n && !*to && b->code == POLY_OK; i++) {
    Product p;
    if (n->w.at[i]->op == OP_REDUCE && find_product(n->w.at[i], &p)) *to = move_behind(n, &p), *from = n->w.at[i];
  }
  return b->code == POLY_OK;
}

static bool has_edges(const Narrow *n) {
  for (int i = 0; i < n->w.n; i++)
    if (n->w.at[i]->op == OP_ENDPOINT) return true;
  return false;
}

bool narrow_sums(PolyContext *ctx, Arena *arena, int nroot, UOp **root) {
  for (int step = 0; step < MOST_STEPS; step++) {
    Narrow n = {.ctx = ctx, .arena = arena};
    UOp *from, *to;
    if (!find_users(&n, nroot, root)) return false;
    if (!has_edges(&n)) return true;
    if (!find_step(&n, &from, &to)) return false;
    if (!to) return true;
    if (!uop_replace(ctx, arena, nroot, root, 1, &from, &to, root)) return false;
  }
  return true;
}
