/* view.c: assigning to a view. In: a handle that was made by moving another one's axes, slicing or detaching it, and
 * its new value. Out: the new value of the tensor that it shows a part of, and of the views between the two.
 *
 *   t = SHRINK(PERMUTE(b)), t.assign(v)   ->   b = PERMUTE'(WHERE(PAD(true), PAD(v), PERMUTE(b)))
 *
 * Each movement is undone in turn; where a view shows a part, the rest keeps its value. Views are known by the handles
 * that they were made of (PolyView); a handle that is gone has nobody who could see it change. A view that was taken
 * before, and is none of those, still has the old contents: assignment has the semantics of values.
 *
 * A view that is computed lets go of the tensor, so as not to keep its memory alive, and keeps the movements alone,
 * over a BUFFER without memory (PolyTensor.path). */
#include "engine/engine.h"

enum { MAX_MOVES = 64, MAX_BASES = 16 };

static bool is_move(const UOp *u) {
  switch (u->op) {
  case OP_RESHAPE:
  case OP_PERMUTE:
  case OP_SHRINK:
  case OP_PAD:
  case OP_FLIP:
  case OP_EXPAND:
  case OP_DETACH: return true;
  default: return false;
  }
}

/* The nodes from u to the first that is no movement, which is path[n]. -1: there are too many. */
static int path_of(UOp *u, UOp **path) {
  int n = 0;
  for (; is_move(u) && n < MAX_MOVES; u = u->src[0]) path[n++] = u;
  path[n] = u;
  return is_move(u) ? -1 : n;
}

/* The list has the newest first, so that only what is newer is looked at; a tensor may have thousands of views. */
static PolyTensor *handle_by_id(PolyContext *ctx, uint64_t id) {
  PolyTensor *t = ctx->looked_up && ctx->looked_up->id == id ? ctx->looked_up : ctx->tensors;
  while (t && t->id > id) t = t->next;
  if (!t || t->id != id) return NULL;
  return ctx->looked_up = t;
}

/* The same movements over another tensor of the same shape. */
static UOp *rebase(UOp *const *path, int n, UOp *root) {
  for (int k = n; k-- > 0 && root;) {
    UOp *src[1 + 2 * MAX_DIMS];
    for (int i = 0; i < path[k]->nsrc; i++) src[i] = path[k]->src[i];
    src[0] = root;
    root = uop_with_sources(path[k], src);
  }
  return root;
}

/* The source of movement u once its result has become `value`; old: the source as it is. */
static UOp *undo(const UOp *u, UOp *value, UOp *old) {
  const UOp *x = u->src[0];
  UOp *a[MAX_DIMS], *b[MAX_DIMS];
  int perm[MAX_DIMS];
  switch (u->op) {
  case OP_DETACH: return value;
  case OP_RESHAPE: return uop_reshape(value, x->ndim, x->shape);
  case OP_FLIP: return uop_flip(value, (uint32_t)u->arg.i);
  case OP_PERMUTE:
    for (int d = 0; d < u->ndim; d++) perm[perm_at(u, d)] = d;
    return uop_permute(value, perm);
  case OP_PAD:
    for (int d = 0; d < x->ndim; d++) {
      a[d] = u->src[1 + 2 * d];
      b[d] = int_add(a[d], x->shape[d]);
    }
    return uop_shrink(value, a, b);
  default: break; /* SHRINK */
  }
  for (int d = 0; d < x->ndim; d++) {
    a[d] = u->src[1 + 2 * d];
    b[d] = int_sub(x->shape[d], u->src[2 + 2 * d]);
  }
  UOp *inside = uop_spread(uop_int_const(u->ctx, POLY_BOOL, 1), u->ndim, u->shape);
  return uop_where(uop_pad(inside, a, b), uop_pad(value, a, b), old);
}

static UOp *write_back(UOp *const *path, int n, UOp *root, UOp *value) {
  for (int k = 0; k < n && value; k++) {
    if (path[k]->op == OP_EXPAND) {
      char shape[256];
      return fail_null(ctx_base(value->ctx), POLY_ERROR_VALUE,
                       "assign to an expanded tensor of shape %s: several of its elements are one in memory",
                       shape_text(path[k], shape, sizeof shape));
    }
    value = undo(path[k], value, rebase(path + k + 1, n - k - 1, root));
  }
  return value;
}

/* Does handle h hold the tensor b, in whatever shape, or did it before an assignment? Reshapes of reshapes are merged
 * when they are built, so that a view may start from what its base is a reshape of. */
static bool holds(const PolyTensor *h, const UOp *b) {
  const UOp *u = h->uop;
  if (u == b || (u->op == OP_ASSIGN && !u->buffer && u->src[0] == b)) return true;
  for (const UOp *x = u; x->op == OP_RESHAPE && !x->buffer; x = x->src[0])
    if (x->src[0] == b) return true;
  return b->buffer && !b->buffer->stale && b->buffer == u->buffer;
}

static bool fail_view(const UOp *u) {
  char shape[256];
  return base_fail(ctx_base(u->ctx), POLY_ERROR_RUNTIME,
                   "assign to a view of shape %s: it is not known any more which part of which tensor it shows; take "
                   "the view again, or assign to a clone of it",
                   shape_text(u, shape, sizeof shape));
}

bool view_shows(const PolyTensor *t, const PolyTensor *base) {
  for (const PolyView *v = t->view; v; v = v->up)
    if (v->of == base->id) return true;
  return false;
}

/* The living handles that t is a view of, nearest first; how many, -1: too many. */
static int find_bases(const PolyTensor *t, PolyTensor **base) {
  int n = 0;
  for (const PolyView *v = t->view; v; v = v->up) {
    PolyTensor *h = handle_by_id(t->ctx, v->of);
    if (h && n == MAX_BASES) return -1;
    if (h) base[n++] = h;
  }
  return n;
}

/* What a handle shows: movements, and the tensor that they start from, or the handle that holds it. */
typedef struct Part {
  UOp *path[MAX_MOVES + 1];
  int n;
  PolyTensor *holder; /* NULL: none that lives */
} Part;

/* Cuts the movements where they reach a tensor that one of the bases holds: the last one, which all others are views
 * of, if they reach it. */
static void find_holder(Part *part, int nbase, PolyTensor *const *base) {
  part->holder = NULL;
  for (int k = nbase; k-- > 0 && !part->holder;)
    for (int i = 0; i <= part->n && !part->holder; i++) {
      if (!holds(base[k], part->path[i])) continue;
      part->holder = base[k];
      part->n = i;
    }
}

static bool find_part(PolyTensor *h, int nbase, PolyTensor *const *base, Part *out) {
  out->n = path_of(h->path ? h->path : h->uop, out->path);
  if (out->n < 0) return fail_view(h->uop);
  if (h->path) return (out->holder = handle_by_id(h->ctx, h->path_holder)) || fail_view(h->uop);
  find_holder(out, nbase, base);
  const UOp *b = out->path[out->n];
  return out->holder || !b->buffer || !b->buffer->stale || fail_view(h->uop);
}

bool view_keep_path(PolyTensor *t) {
  PolyTensor *base[MAX_BASES];
  Part part;
  int nbase = t->view && !t->path ? find_bases(t, base) : 0;
  if (nbase <= 0 || (part.n = path_of(t->uop, part.path)) < 0) return true;
  find_holder(&part, nbase, base);
  if (!part.holder) return true;
  const UOp *b = part.path[part.n];
  UOp *kept = rebase(part.path, part.n, uop_buffer(t->ctx, (PolyDType)b->dtype, b->ndim, b->shape));
  if (!kept) return false;
  t->path = uop_retain(kept);
  t->path_holder = part.holder->id;
  return true;
}

static void forget_path(PolyTensor *t) {
  uop_release(t->path);
  t->path = NULL;
}

static bool move_to(PolyTensor *h, const Part *part, UOp *root) {
  const UOp *b = part->path[part->n];
  UOp *u = rebase(part->path, part->n, uop_reshape(root, b->ndim, b->shape));
  if (!u) return false;
  handle_set(h, u);
  forget_path(h);
  return true;
}

/* The new value of the tensor that t is a part of. */
static UOp *new_root(const Part *part, UOp *value) {
  UOp *b = part->path[part->n];
  UOp *old = part->holder ? uop_reshape(part->holder->uop, b->ndim, b->shape) : b;
  return old ? write_back(part->path, part->n, old, value) : NULL;
}

bool view_assign(PolyTensor *t, UOp *value, bool *done) {
  PolyTensor *base[MAX_BASES];
  Part part, other[MAX_BASES];
  int n = find_bases(t, base);
  *done = n != 0;
  if (!n) return handle_no_view(t), true;
  if (n < 0 || !find_part(t, n, base, &part)) return n < 0 ? fail_view(t->uop) : false;
  PolyTensor *holder = part.holder;
  UOp *b = part.path[part.n];
  for (int k = 0; k < n; k++) { /* all must be parts of the same tensor, before anything changes */
    if (base[k] == holder) continue;
    /* without a holder all of them show the same node, each in its own way */
    if (!find_part(base[k], holder ? n : 0, base, &other[k])) return false;
    if (other[k].holder != holder || (!holder && other[k].path[other[k].n] != b)) return fail_view(base[k]->uop);
  }
  UOp *root = new_root(&part, value);
  if (root && holder) root = uop_reshape(root, holder->uop->ndim, holder->uop->shape);
  /* a node of its own, by which the views find it again */
  if (root && !(holder && node_is_own(holder->uop))) root = uop_contiguous(root, ctx_unique(t->ctx));
  if (root && holder && !assign_value(holder, root)) return false;
  if (root && holder) root = holder->uop;
  for (int k = 0; k < n && root; k++)
    if (base[k] != holder && !move_to(base[k], &other[k], root)) return false;
  return root && move_to(t, &part, root);
}
