/* view.c: assigning to a view. In: a handle that was made by moving another one's axes, slicing or detaching it, or
 * reading its bits, and its new value. Out: the new value of the tensor that it shows a part of, and of the views
 * between the two.
 *
 *   t = SHRINK(PERMUTE(b)), t.assign(v)   ->   b = PERMUTE'(WHERE(PAD(true), PAD(v), PERMUTE(b)))
 *
 * Each movement is undone in turn; where a view shows a part, the rest keeps its value. Views are known by the handles
 * that they were made of (PolyView); a handle that is gone has nobody who could see it change. A view that was taken
 * before, and is none of those, still has the old contents: assignment has the semantics of values.
 *
 * Which movements made a view is known since then (ir/view.c). A view that is computed lets go of the tensor, so as not
 * to keep its memory alive, and keeps the movements alone, over a BUFFER without memory (PolyTensor.path). */
#include "engine/engine.h"

enum { MAX_BASES = 16 };

/* The list has the newest first, so that only what is newer is looked at; a tensor may have thousands of views. */
static PolyTensor *handle_by_id(PolyContext *ctx, uint64_t id) {
  PolyTensor *t = ctx->looked_up && ctx->looked_up->id == id ? ctx->looked_up : ctx->tensors;
  while (t && t->id > id) t = t->next;
  if (!t || t->id != id) return NULL;
  return ctx->looked_up = t;
}

/* The same, if it still is the tensor that it was then. */
static PolyTensor *tensor_by_name(PolyContext *ctx, TensorName name) {
  PolyTensor *t = handle_by_id(ctx, name.id);
  return t && t->version == name.version ? t : NULL;
}

/* The source of movement u once its result has become `value`; old: the source as it is. */
static UOp *undo(const UOp *u, UOp *value, UOp *old) {
  const UOp *x = u->src[0];
  UOp *a[MAX_DIMS], *b[MAX_DIMS];
  int perm[MAX_DIMS];
  switch (u->op) {
  case OP_DETACH: return value;
  case OP_BITCAST: return uop_bitcast(value, (PolyDType)x->dtype);
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
    value = undo(path[k], value, moves_over(path + k + 1, n - k - 1, root));
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
    if (v->of.id == base->id) return true;
  return false;
}

/* The living handles that t is a view of, nearest first; how many, -1: too many. */
static int find_bases(const PolyTensor *t, PolyTensor **base) {
  int n = 0;
  for (const PolyView *v = t->view; v; v = v->up) {
    PolyTensor *h = tensor_by_name(t->ctx, v->of);
    if (h && n == MAX_BASES) return -1;
    if (h) base[n++] = h;
  }
  return n;
}

/* What a handle shows: movements, and the tensor that they start from, or the handle that holds it. */
typedef struct Part {
  UOp *path[MAX_VIEW_MOVES + 1];
  int n;
  PolyTensor *holder; /* NULL: none that lives */
  TensorName root;    /* its name, or that of one that lives no more; id 0: unknown */
} Part;

/* Cuts the movements where they reach a tensor that one of the bases holds: the last one, which all others are views
 * of, if they reach it. */
static void find_holder(Part *part, int nbase, PolyTensor *const *base) {
  part->holder = NULL;
  for (int k = nbase; k-- > 0 && !part->holder;)
    for (int i = 0; i <= part->n && !part->holder; i++) {
      if (!holds(base[k], part->path[i])) continue;
      part->holder = base[k];
      part->root = (TensorName){base[k]->id, base[k]->version};
      part->n = i;
    }
}

/* What is known of h since it was made or assigned. False: nothing. gone: of a tensor that lives no more, too. */
static bool known_part(const PolyTensor *h, bool gone, Part *out) {
  for (int kept = 1; kept >= 0; kept--) { /* first what leads furthest */
    if (!h->view || (kept ? !h->path : h->moves < 0)) continue;
    out->root = kept ? h->path_of : h->moves_of;
    out->holder = tensor_by_name(h->ctx, out->root);
    if (gone == (out->holder != NULL)) continue;
    out->n = moves_of(kept ? h->path : h->uop, out->path);
    if (!kept) out->n = h->moves;
    return out->n >= 0;
  }
  return false;
}

/* What h shows of a tensor that lives, or that can be told by nodes. False: neither. */
static bool find_part(const PolyTensor *h, int nbase, PolyTensor *const *base, Part *out) {
  if (known_part(h, false, out)) return true;
  out->root.id = 0;
  out->n = moves_of(h->uop, out->path);
  if (out->n < 0) return false;
  find_holder(out, nbase, base);
  const UOp *b = out->path[out->n];
  return out->holder || !b->buffer || !b->buffer->stale;
}

static bool keep_part(PolyTensor *t, const Part *part) {
  const UOp *b = part->path[part->n];
  UOp *kept = moves_over(part->path, part->n, uop_buffer(t->ctx, (PolyDType)b->dtype, b->ndim, b->shape));
  if (!kept) return false;
  uop_retain(kept);
  uop_release(t->path);
  t->path = kept;
  t->path_of = part->root;
  return true;
}

bool view_keep_path(PolyTensor *t) {
  PolyTensor *base[MAX_BASES];
  Part part;
  if (!t->view || t->path) return true;
  if (known_part(t, false, &part) || known_part(t, true, &part)) return keep_part(t, &part);
  int nbase = find_bases(t, base);
  if (nbase <= 0 || (part.n = moves_of(t->uop, part.path)) < 0) return true;
  find_holder(&part, nbase, base);
  return !part.holder || keep_part(t, &part);
}

/* h shows its part of `root` from now on. What was known of it before stays true. */
static bool move_to(PolyTensor *h, const Part *part, UOp *root) {
  const UOp *b = part->path[part->n];
  UOp *from = uop_reshape(root, b->ndim, b->shape), *u = moves_over(part->path, part->n, from);
  if (!u || !view_keep_path(h)) return false;
  if (h->view && !h->path && part->root.id && !keep_part(h, part)) return false;
  handle_set(h, u);
  if (h->view && part->root.id) h->moves = moves_to(u, from);
  h->moves_of = part->root;
  return true;
}

/* A tensor that nobody holds any more, as far as one of its views shows it; the rest is zeros, which nobody sees. */
static UOp *root_from(const PolyTensor *h, const Part *part) {
  const UOp *b = part->path[part->n];
  UOp *rest = uop_spread(uop_const(h->ctx, (PolyDType)b->dtype, 0), b->ndim, b->shape);
  return rest ? write_back(part->path, part->n, rest, h->uop) : NULL;
}

/* The parts of t (the last one) and of all bases, which must be parts of the same tensor. */
static bool find_parts(const PolyTensor *t, int n, PolyTensor *const *base, Part *part) {
  if (!find_part(t, n, base, &part[n])) return false;
  PolyTensor *holder = part[n].holder;
  for (int k = 0; k < n; k++) {
    if (base[k] == holder) continue;
    /* without a holder all of them show the same node, each in its own way */
    if (!find_part(base[k], holder ? n : 0, base, &part[k]) || part[k].holder != holder) return false;
    if (!holder && part[k].path[part[k].n] != part[n].path[part[n].n]) return false;
  }
  return true;
}

/* What h shows of a tensor that is gone: directly, or by way of a living one that shows a part of it. */
static bool part_of_gone(const PolyTensor *h, Part *out) {
  if (known_part(h, true, out)) return true;
  const PolyTensor *by = known_part(h, false, out) ? out->holder : NULL;
  if (!by || !by->view || !by->path || tensor_by_name(by->ctx, by->path_of)) return false;
  const UOp *b = out->path[out->n];
  UOp *both = moves_over(out->path, out->n, uop_reshape(by->path, b->ndim, b->shape));
  out->n = both ? moves_of(both, out->path) : -1;
  out->holder = NULL;
  out->root = by->path_of;
  return out->n >= 0;
}

/* The same if that tensor is gone. */
static bool find_parts_of_gone(const PolyTensor *t, int n, PolyTensor *const *base, Part *part) {
  for (int k = 0; k <= n; k++)
    if (!part_of_gone(k < n ? base[k] : t, &part[k]) || part[k].root.id != part[0].root.id) return false;
  return true;
}

/* The tensor that all are parts of, as it is, in the shape of t's movements. */
static UOp *old_root(const PolyTensor *t, int n, PolyTensor *const *base, Part *part) {
  UOp *old = NULL;
  if (find_parts(t, n, base, part))
    old = part[n].holder ? part[n].holder->uop : part[n].path[part[n].n];
  else if (find_parts_of_gone(t, n, base, part))
    old = root_from(base[n - 1], &part[n - 1]);
  else
    fail_view(t->uop);
  const UOp *b = part[n].path[part[n].n];
  return old ? uop_reshape(old, b->ndim, b->shape) : NULL;
}

bool view_assign(PolyTensor *t, UOp *value, bool *done) {
  PolyTensor *base[MAX_BASES];
  Part part[MAX_BASES + 1];
  int n = find_bases(t, base);
  *done = n != 0;
  if (!n) return view_keep_path(t); /* views of it may be left */
  if (n < 0) return fail_view(t->uop);
  UOp *old = old_root(t, n, base, part), *root = old ? write_back(part[n].path, part[n].n, old, value) : NULL;
  PolyTensor *holder = old ? part[n].holder : NULL;
  if (root && holder) root = uop_reshape(root, holder->uop->ndim, holder->uop->shape);
  /* a node of its own, by which the views find it again */
  if (root && !(holder && node_is_own(holder->uop))) root = uop_contiguous(root, ctx_unique(t->ctx));
  if (root && holder && !(view_keep_path(holder) && assign_value(holder, root))) return false;
  if (root && holder) root = holder->uop;
  for (int k = 0; k < n && root; k++)
    if (base[k] != holder && !move_to(base[k], &part[k], root)) return false;
  return root && move_to(t, &part[n], root);
}
