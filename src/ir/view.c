/* view.c: which part of which tensor a view shows. In: a handle that was just made of another one by moving axes,
 * slicing, detaching, or reading its bits as another dtype of the same size. Out: the movements that lead from its node
 * to the tensor of the handle that all of them started from.
 *
 * They are found when the view is made, while that tensor's node is on the way. Later it may be another: tensors that
 * are computed or assigned get other nodes. As long as the view has its own node, the number of movements is enough;
 * before it gets another (engine/view.c), and for a view of such a view, they are built over a BUFFER without memory,
 * which keeps nothing alive. */
#include "ir/context.h"

static bool is_move(const UOp *u) {
  return op_info[u->op].cls == CLASS_MOVE || u->op == OP_DETACH || u->op == OP_BITCAST;
}

int moves_of(UOp *u, UOp **path) {
  int n = 0;
  for (; is_move(u) && n < MAX_VIEW_MOVES; u = u->src[0]) path[n++] = u;
  path[n] = u;
  return is_move(u) ? -1 : n;
}

UOp *moves_over(UOp *const *path, int n, UOp *root) {
  for (int k = n; k-- > 0 && root;) {
    UOp *src[1 + 2 * MAX_DIMS];
    for (int i = 0; i < path[k]->nsrc; i++) src[i] = path[k]->src[i];
    src[0] = root;
    root = uop_with_sources(path[k], src);
  }
  return root;
}

int moves_to(UOp *u, const UOp *end) {
  UOp *path[MAX_VIEW_MOVES + 1];
  int n = moves_of(u, path);
  for (int i = 0; i <= n; i++)
    for (const UOp *e = end; e; e = e->op == OP_RESHAPE && !e->buffer ? e->src[0] : NULL)
      if (path[i] == e) return i;
  return -1;
}

static TensorName name_of(const PolyTensor *t) { return (TensorName){t->id, t->version}; }

/* The movements of x and those that made t of it. */
static bool add_path(PolyTensor *t, const PolyTensor *x) {
  UOp *path[MAX_VIEW_MOVES + 1];
  int n = moves_of(t->uop, path), k = moves_to(t->uop, x->uop);
  if (n < 0 || k < 0) return true;
  Scope s;
  scope_enter(t->ctx, &s);
  UOp *kept = moves_over(path, k, uop_reshape(x->path, path[k]->ndim, path[k]->shape));
  if (kept) t->path = uop_retain(kept);
  scope_leave(t->ctx, &s);
  t->path_of = x->path_of;
  return kept;
}

/* What t shows a part of, if it can be told: what x shows a part of, or x itself. */
static bool find_moves(PolyTensor *t, const PolyTensor *x) {
  const UOp *end = x->uop;
  bool through = x->view && x->moves >= 0;
  for (int k = through ? x->moves : 0; k > 0; k--) end = end->src[0];
  t->moves = moves_to(t->uop, end);
  t->moves_of = through ? x->moves_of : name_of(x);
  return !x->path || add_path(t, x);
}

static void view_release(Base *b, PolyView *v) {
  while (v && --v->refs == 0) {
    PolyView *up = v->up;
    mem_free(b, v, sizeof *v);
    v = up;
  }
}

PolyTensor *handle_view(PolyTensor *t, const PolyTensor *x) {
  if (!t || t->ctx->zoomed) return t;
  PolyView *v = mem_new(ctx_base(t->ctx), sizeof *v);
  if (v) {
    *v = (PolyView){.refs = 1, .of = name_of(x), .up = x->view};
    if (v->up) v->up->refs++;
    t->view = v;
  }
  if (v && find_moves(t, x)) return t;
  poly_free(t);
  return NULL;
}

void handle_no_view(PolyTensor *t) {
  view_release(ctx_base(t->ctx), t->view);
  t->view = NULL;
  t->moves = -1;
  uop_release(t->path);
  t->path = NULL;
}

void handle_renew(PolyTensor *t) {
  handle_no_view(t);
  t->version++;
}
