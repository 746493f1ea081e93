/* vertex.c: programs for one vertex in C. In: a graph, and ordinary functions applied to values of a vertex, of its
 * neighbours and of its edges. Out: tensors for all vertices, made of the moves of moves.c and nothing else.
 *
 * A value knows where it lives by its first axis. Its size is a symbolic size of the place's own: "vertices" for the
 * vertex, "in-neighbours" for a loop over in-edges, and so on. Every function of the library takes it along, and sizes
 * of two places never agree, even if a graph has as many edges as nodes; so a program that mixes places by mistake
 * fails where it is written, with the places in the message. A tensor becomes a value by a SHRINK from its true size to
 * that of the place. Where a program looks at another place (a vertex from its edges, edges summed at their vertex),
 * and at its end, the true sizes are put in (resolve_sizes): SHRINKs to everything vanish, and builders see a plain
 * program, as if it had been written with moves.
 *
 *   add(nb(n, el), self(v, er))     [in-neighbours, 8] and [vertices, 8]
 *   ->  add(src(el), dst(er))       [E, 8], under the name in-neighbours */
#include "base/handles.h"
#include "graph/graph.h"

#include "runtime/device.h"
#include "tensor/tensor.h"

#include <stdio.h>

struct PolyNbs {
  PolyVertex *v;
  PolyGraph *g;
  End near;  /* the end of an edge that is the vertex: DST for in-neighbours */
  UOp *size; /* of the axis of the loop's edges; held */
  char name[32];
};

struct PolyVertex {
  PolyContext *ctx;
  PolyVertex *outer;
  PolyGraph *g;
  UOp *size;  /* of the axis of vertices; held */
  int scopes; /* how deep poly_scopes were nested before */
  VEC(PolyNbs *) loops;
};

/* ---- places ---- */

/* loop NULL: the vertex itself. v NULL: a tensor that is the same for all. */
typedef struct Place {
  PolyVertex *v;
  PolyNbs *loop;
} Place;

static UOp *nodes_of(const PolyVertex *v) { return v->g->nodes[DST]; }

static Place place_of(const UOp *x) {
  if (!x->ndim || x->shape[0]->op != OP_BIND) return (Place){0};
  for (PolyVertex *v = x->ctx->zoomed; v; v = v->outer) {
    if (x->shape[0] == v->size) return (Place){v, NULL};
    for (int k = 0; k < v->loops.n; k++)
      if (x->shape[0] == v->loops.at[k]->size) return (Place){v, v->loops.at[k]};
  }
  return (Place){0};
}

/* What a size of a program stands for; NULL: it is not one. */
static UOp *truth(const PolyVertex *v, const UOp *size) {
  if (size == v->size) return nodes_of(v);
  for (int k = 0; k < v->loops.n; k++)
    if (size == v->loops.at[k]->size) return v->loops.at[k]->g->edges;
  return NULL;
}

static UOp *true_size(const PolyVertex *v, UOp *size) {
  UOp *src[3], *t = truth(v, size);
  if (t || !size || size->op == OP_BIND || !size->nsrc || size->nsrc > 3) return t ? t : size;
  for (int k = 0; k < size->nsrc; k++) src[k] = true_size(v, size->src[k]);
  return int_rebuild(size, src);
}

/* A tensor with a row for each node or edge, as a value of their place. */
static UOp *placed(UOp *x, UOp *size) {
  if (!x) return NULL;
  UOp *begin[MAX_DIMS], *end[MAX_DIMS];
  for (int d = 0; d < x->ndim; d++) {
    begin[d] = uop_index(x->ctx, 0);
    end[d] = d ? x->shape[d] : size;
  }
  return uop_shrink(x, begin, end);
}

/* ---- true sizes ---- */

static bool has_place(const PolyVertex *v, const UOp *u) {
  for (int d = 0; d < u->ndim; d++)
    if (true_size(v, u->shape[d]) != u->shape[d]) return true;
  return false;
}

/* A value that was computed inside the program, and can still be, is computed again under its true sizes. */
static bool is_leaf(const UOp *u, void *user) {
  return u->op == OP_BUFFER || u->op == OP_BIND || (u->buffer && !has_place(user, u));
}

/* The memory of a value that was computed inside, as a tensor. */
static UOp *stored(const PolyVertex *v, UOp *u) {
  if (!u->buffer || !has_place(v, u)) return u;
  UOp *shape[MAX_DIMS];
  for (int d = 0; d < u->ndim; d++) shape[d] = true_size(v, u->shape[d]);
  UOp *t = uop_buffer(u->ctx, (PolyDType)u->dtype, u->ndim, shape);
  if (t) t->buffer = buffer_retain(u->buffer);
  return t;
}

static UOp *known(const Map *made, UOp *u) {
  uint64_t to;
  return map_get(made, (uint64_t)(uintptr_t)u, &to) ? (UOp *)(uintptr_t)to : u;
}

/* u over what became of its sources. Not a pass of the rewrite driver: that stops at stored nodes, which are replaced
 * here. */
static UOp *resolved(const PolyVertex *v, const Map *made, Arena *arena, UOp *u) {
  if (u->op == OP_BIND) return true_size(v, u);
  if (u->op == OP_BUFFER) return stored(v, u);
  if (is_leaf(u, (void *)v)) return u;
  UOp *few[8 + 2 * MAX_DIMS], **src = few;
  if (u->nsrc > LEN(few) && !(src = arena_new(arena, (size_t)u->nsrc * sizeof *src))) return NULL;
  bool changed = false;
  for (int k = 0; k < u->nsrc; k++) {
    src[k] = known(made, u->src[k]);
    changed |= src[k] != u->src[k];
  }
  return changed ? uop_with_sources(u, src) : u;
}

/* x with the true sizes of v's program in it. O(nodes). */
static UOp *resolve_sizes(const PolyVertex *v, UOp *x) {
  if (!x) return NULL;
  Arena arena = {.b = ctx_base(v->ctx)};
  Map made = {0};
  Walk walk;
  bool ok = uop_walk(v->ctx, &arena, 1, &x, is_leaf, (void *)v, &walk);
  for (int i = 0; ok && i < walk.n; i++) {
    UOp *u = resolved(v, &made, &arena, walk.at[i]);
    ok = u && (u == walk.at[i] || map_put(arena.b, &made, (uint64_t)(uintptr_t)walk.at[i], (uint64_t)(uintptr_t)u));
  }
  UOp *out = ok ? known(&made, x) : NULL;
  map_free(arena.b, &made);
  arena_free(&arena);
  return out;
}

/* ---- values of several places ---- */

/* A value of the vertex, seen from each edge of a loop. */
static UOp *lift(const PolyNbs *n, UOp *x) {
  return placed(graph_spread(n->g, resolve_sizes(n->v, x), n->near), n->size);
}

static const char *place_name(Place p) { return p.loop ? p.loop->name : "the vertex"; }

/* The place of all values among x; false: they cannot be combined. */
static bool common_place(PolyContext *ctx, int n, UOp *const *x, Place *out) {
  *out = (Place){0};
  for (int k = 0; k < n; k++) {
    Place p = x[k] ? place_of(x[k]) : (Place){0};
    if (p.v && out->v && p.v != out->v)
      return base_fail(ctx_base(ctx), POLY_ERROR_VALUE,
                       "values of two vertex programs cannot be combined: give them to poly_zoom_out first");
    if (p.loop && out->loop && p.loop != out->loop)
      return base_fail(
          ctx_base(ctx), POLY_ERROR_VALUE,
          "values of %s and of %s are combined, but no edge joins them: reduce each first, with poly_nb_sum or "
          "another reduction",
          place_name(*out), place_name(p));
    if (p.v) *out = (Place){p.v, p.loop ? p.loop : out->loop};
  }
  return true;
}

/* A tensor that is the same for all would become an axis of its own. With a row for each node or edge it was hardly
 * meant so. */
static bool check_shared(Place at, const UOp *x, int rank) {
  if (x->ndim < rank || uop_is_int(x->shape[0], 1)) return true;
  const PolyGraph *g = at.loop ? at.loop->g : at.v->g;
  if (x->shape[0] != nodes_of(at.v) && x->shape[0] != g->nodes[SRC] && x->shape[0] != g->nodes[DST] &&
      x->shape[0] != g->edges)
    return true;
  char shape[256];
  return base_fail(
      ctx_base(x->ctx), POLY_ERROR_VALUE,
      "a tensor of shape %s is combined with a value of %s, and has a row for each node or edge: say whose it is with "
      "poly_self, poly_nb or poly_edge; if it is the same for all, give it a first axis of size 1",
      shape_text(x, shape, sizeof shape), place_name(at));
}

/* A value with as many axes as the values and tensors that it is combined with, its own first one apart. */
static UOp *ranked(UOp *x, int rank) {
  UOp *shape[MAX_DIMS] = {x->shape[0]};
  for (int d = 1; d < rank; d++) {
    int from = d - (rank - x->ndim);
    shape[d] = from < 1 ? uop_index(x->ctx, 1) : x->shape[from];
  }
  return rank > MAX_DIMS ? x : uop_reshape(x, rank, shape);
}

static bool combine(PolyContext *ctx, int n, UOp **x, bool aligned) {
  Place at;
  if (!common_place(ctx, n, x, &at)) return false;
  int rank = 0, most = 0;
  for (int k = 0; k < n && at.v; k++) {
    Place p = place_of(x[k]);
    if (p.v && at.loop && !p.loop) x[k] = lift(at.loop, x[k]);
    if (!x[k]) return false;
    if (p.v) rank = MAX(rank, x[k]->ndim);
    most = MAX(most, x[k]->ndim + !p.v);
  }
  for (int k = 0; k < n && at.v && aligned; k++) {
    if (!place_of(x[k]).v) {
      if (!check_shared(at, x[k], rank)) return false;
    } else if (x[k]->ndim < most && !(x[k] = ranked(x[k], most))) {
      return false;
    }
  }
  return true;
}

/* ---- programs ---- */

static UOp *resolve_value(PolyContext *ctx, UOp *x, UOp **size) {
  (void)ctx;
  Place p = place_of(x);
  *size = p.v ? x->shape[0] : NULL;
  return p.v ? resolve_sizes(p.v, x) : x;
}

static UOp *new_size(PolyContext *ctx, const char *name, int64_t value) {
  return uop_retain(uop_bind(uop_variable(ctx, name, 0, INT32_MAX), value));
}

/* "in-neighbours", or "in-neighbours 2" and so on if there are such already. */
static void number_name(char *name, size_t n, const char *word, int before) {
  if (before)
    snprintf(name, n, "%s %d", word, before + 1);
  else
    snprintf(name, n, "%s", word);
}

static void free_program(PolyVertex *v) {
  Base *b = ctx_base(v->ctx);
  for (int k = 0; k < v->loops.n; k++) {
    uop_release(v->loops.at[k]->size);
    graph_drop(v->loops.at[k]->g);
    handle_free(b, v->loops.at[k], sizeof *v->loops.at[k]);
  }
  vec_free(b, &v->loops);
  uop_release(v->size);
  graph_drop(v->g);
  handle_free(b, v, sizeof *v);
}

void vertex_free_all(PolyContext *ctx) {
  for (PolyVertex *v = ctx->zoomed, *outer; v; v = outer) {
    outer = v->outer;
    free_program(v);
  }
  ctx->zoomed = NULL;
  ctx->combine = NULL;
  ctx->resolve_sizes = NULL;
}

/* Ends v's program, and those that were begun inside and not ended. */
static void close_program(PolyVertex *v) {
  PolyContext *ctx = v->ctx;
  while (ctx->scope_depth > v->scopes) poly_scope_end(ctx);
  for (bool last = false; !last && ctx->zoomed;) {
    PolyVertex *inner = ctx->zoomed;
    last = inner == v;
    ctx->zoomed = inner->outer;
    free_program(inner);
  }
  if (ctx->zoomed) return;
  ctx->combine = NULL;
  ctx->resolve_sizes = NULL;
}

PolyVertex *poly_zoom_in(PolyGraph *g) {
  if (!g) return NULL;
  PolyContext *ctx = g->ctx;
  PolyVertex *v = handle_new(ctx_base(ctx), sizeof *v, HANDLE_VERTEX, ctx);
  if (!v) return NULL;
  char name[32];
  int before = 0;
  for (const PolyVertex *o = ctx->zoomed; o; o = o->outer) before++;
  number_name(name, sizeof name, "vertices", before);
  Scope scope;
  scope_enter(ctx, &scope);
  *v = (PolyVertex){.ctx = ctx, .outer = ctx->zoomed, .g = graph_hold(g), .scopes = ctx->scope_depth};
  v->size = new_size(ctx, name, g->num_nodes[DST]);
  scope_leave(ctx, &scope);
  if (!v->size) {
    free_program(v);
    return NULL;
  }
  ctx->zoomed = v;
  ctx->combine = combine;
  ctx->resolve_sizes = resolve_value;
  poly_scope_begin(ctx);
  return v;
}

static UOp *result_of(PolyVertex *v, const PolyTensor *x) {
  Place p = place_of(x->uop);
  if (p.loop)
    return fail_null(ctx_base(v->ctx), POLY_ERROR_VALUE,
                     "poly_zoom_out: a value of %s was not reduced: use poly_nb_sum or another reduction, or "
                     "poly_nb_edges for a tensor of all edges",
                     p.loop->name);
  return p.v == v ? resolve_sizes(v, x->uop) : x->uop;
}

/* All or nothing, and the program is closed either way. */
PolyStatus poly_zoom_out_many(PolyVertex *v, PolyTensor *const *x, int n, PolyTensor **out) {
  for (int k = 0; k < n && out; k++) out[k] = NULL;
  if (!v) return POLY_ERROR_VALUE;
  PolyContext *ctx = v->ctx;
  Scope scope;
  scope_enter(ctx, &scope); /* holds the results while the program's handles go */
  UOp **result = n > 0 && x && out ? mem_new(ctx_base(ctx), (size_t)n * sizeof *result) : NULL;
  bool ok = result != NULL;
  for (int k = 0; k < n && ok; k++) {
    ok = x[k] &&
         (x[k]->ctx == ctx || base_fail(ctx_base(ctx), POLY_ERROR_VALUE, "tensors of two contexts cannot be combined"));
    result[k] = ok ? uop_retain(result_of(v, x[k])) : NULL;
    ok = ok && result[k];
  }
  close_program(v);
  for (int k = 0; k < n && ok; k++) ok = (out[k] = tensor_wrap(ctx, result[k])) != NULL;
  for (int k = 0; k < n && result; k++) {
    uop_release(result[k]);
    if (ok) continue;
    poly_free(out[k]);
    out[k] = NULL;
  }
  if (result) mem_free(ctx_base(ctx), result, (size_t)n * sizeof *result);
  scope_leave(ctx, &scope);
  if (ok) return POLY_OK;
  return ctx->base.code == POLY_OK ? POLY_ERROR_VALUE : ctx->base.code;
}

PolyTensor *poly_zoom_out(PolyVertex *v, PolyTensor *x) {
  PolyTensor *out = NULL;
  poly_zoom_out_many(v, &x, 1, &out);
  return out;
}

/* ---- neighbourhoods ---- */

static PolyNbs *new_loop(PolyVertex *v, PolyGraph *g, End near) {
  PolyContext *ctx = v->ctx;
  int before = 0;
  for (const PolyVertex *o = ctx->zoomed; o; o = o->outer)
    for (int k = 0; k < o->loops.n; k++) before += o->loops.at[k]->near == near;
  PolyNbs *n = handle_new(ctx_base(ctx), sizeof *n, HANDLE_NBS, ctx);
  if (!n) return NULL;
  *n = (PolyNbs){.v = v, .g = g, .near = near};
  number_name(n->name, sizeof n->name, near == DST ? "in-neighbours" : "out-neighbours", before);
  Scope scope;
  scope_enter(ctx, &scope);
  n->size = new_size(ctx, n->name, g->num_edges);
  scope_leave(ctx, &scope);
  if (n->size && vec_push(ctx_base(ctx), &v->loops, n)) {
    graph_hold(g);
    return n;
  }
  uop_release(n->size);
  handle_free(ctx_base(ctx), n, sizeof *n);
  return NULL;
}

PolyNbs *poly_nbs(PolyVertex *v, PolyGraph *g, char side) {
  if (!v || !g) return NULL;
  Base *b = ctx_base(v->ctx);
  char have[64], want[64];
  if (side != 'i' && side != 'o')
    return fail_null(b, POLY_ERROR_VALUE, "neighbours are 'i' (of in-edges) or 'o' (of out-edges), not '%c'", side);
  if (g->ctx != v->ctx) return fail_null(b, POLY_ERROR_VALUE, "program and graph belong to two contexts");
  End near = side == 'i' ? DST : SRC;
  if (!t_same_size(g->nodes[near], nodes_of(v)))
    return fail_null(b, POLY_ERROR_VALUE, "the program is about %s vertices, but the graph has %s %s nodes",
                     dim_text(nodes_of(v), want, sizeof want), dim_text(g->nodes[near], have, sizeof have),
                     near == DST ? "destination" : "source");
  for (int k = 0; k < v->loops.n; k++)
    if (v->loops.at[k]->g == g && v->loops.at[k]->near == near) return v->loops.at[k];
  return new_loop(v, g, near);
}

PolyNbs *poly_innbs(PolyVertex *v) { return v ? poly_nbs(v, v->g, 'i') : NULL; }
PolyNbs *poly_outnbs(PolyVertex *v) { return v ? poly_nbs(v, v->g, 'o') : NULL; }

/* ---- values ---- */

/* x as a tensor of all nodes, if it is one or a value of v's vertex. */
static UOp *of_nodes(PolyVertex *v, UOp *x, const char *what) {
  Place p = place_of(x);
  if (!p.v) return x;
  if (p.v != v || p.loop)
    return fail_null(ctx_base(v->ctx), POLY_ERROR_VALUE, "%s: a value of %s is not one of the vertex: reduce it first",
                     what, p.v != v ? "another vertex program" : p.loop->name);
  return resolve_sizes(v, x);
}

static UOp *self(PolyVertex *v, UOp *x) {
  UOp *t = of_nodes(v, x, "poly_self");
  return t && graph_check_rows(v->g, t, nodes_of(v), "poly_self", "vertices") ? placed(t, v->size) : NULL;
}

static UOp *neighbour(PolyNbs *n, UOp *x) {
  End far = other_end(n->near);
  UOp *t = of_nodes(n->v, x, "poly_nb");
  if (!t || !graph_check_rows(n->g, t, n->g->nodes[far], "poly_nb", far == SRC ? "source nodes" : "destination nodes"))
    return NULL;
  return placed(graph_spread(n->g, t, far), n->size);
}

static UOp *edge(PolyNbs *n, UOp *x) {
  UOp *both[] = {x};
  Place at;
  if (!common_place(n->v->ctx, 1, both, &at)) return NULL;
  if (at.v == n->v && at.loop == n) return x;
  if (at.v == n->v && !at.loop) return lift(n, x);
  if (at.v)
    return fail_null(ctx_base(n->v->ctx), POLY_ERROR_VALUE,
                     "poly_edge: a value of %s is not one of %s: reduce it first, or take poly_nb_edges of it",
                     place_name(at), n->name);
  return graph_check_rows(n->g, x, n->g->edges, "poly_edge", "edges") ? placed(x, n->size) : NULL;
}

/* x on the edges of the loop, in their true number. */
static UOp *on_edges(PolyNbs *n, UOp *x, const char *what) {
  if (place_of(x).v) return resolve_sizes(n->v, edge(n, x));
  char shape[256];
  return fail_null(ctx_base(n->v->ctx), POLY_ERROR_VALUE,
                   "%s: a tensor of shape %s is not a value of this program: say whose it is with poly_nb or poly_edge",
                   what, shape_text(x, shape, sizeof shape));
}

static UOp *reduced(PolyNbs *n, UOp *x, const char *op) {
  UOp *m = on_edges(n, x, "poly_nb_reduce");
  return m ? placed(graph_reduce(n->g, m, op, n->near), n->v->size) : NULL;
}

static UOp *weights(PolyNbs *n, UOp *x) {
  UOp *m = on_edges(n, x, "poly_nb_softmax");
  return m ? placed(graph_softmax(n->g, m, n->near), n->size) : NULL;
}

PolyTensor *poly_self(PolyVertex *v, PolyTensor *x) {
  if (!v || !x) return NULL;
  TENSOR_RETURN(v->ctx, self(v, x->uop));
}

PolyTensor *poly_nb(PolyNbs *n, PolyTensor *x) {
  if (!n || !x) return NULL;
  TENSOR_RETURN(n->v->ctx, neighbour(n, x->uop));
}

PolyTensor *poly_edge(PolyNbs *n, PolyTensor *x) {
  if (!n || !x) return NULL;
  TENSOR_RETURN(n->v->ctx, edge(n, x->uop));
}

PolyTensor *poly_nb_reduce(PolyNbs *n, PolyTensor *x, const char *op) {
  if (!n || !x) return NULL;
  TENSOR_RETURN(n->v->ctx, reduced(n, x->uop, op));
}

PolyTensor *poly_nb_sum(PolyNbs *n, PolyTensor *x) { return poly_nb_reduce(n, x, "sum"); }
PolyTensor *poly_nb_mean(PolyNbs *n, PolyTensor *x) { return poly_nb_reduce(n, x, "mean"); }
PolyTensor *poly_nb_max(PolyNbs *n, PolyTensor *x) { return poly_nb_reduce(n, x, "max"); }
PolyTensor *poly_nb_min(PolyNbs *n, PolyTensor *x) { return poly_nb_reduce(n, x, "min"); }

PolyTensor *poly_nb_softmax(PolyNbs *n, PolyTensor *x) {
  if (!n || !x) return NULL;
  TENSOR_RETURN(n->v->ctx, weights(n, x->uop));
}

PolyTensor *poly_nb_edges(PolyNbs *n, PolyTensor *x) {
  if (!n || !x) return NULL;
  TENSOR_RETURN(n->v->ctx, on_edges(n, x->uop, "poly_nb_edges"));
}

PolyTensor *poly_nb_count(PolyNbs *n) {
  if (!n) return NULL;
  TENSOR_RETURN(n->v->ctx, placed(graph_degree(n->g, n->near), n->v->size));
}
