/* ppr.c: personalised PageRank, approximated by pushing (Andersen, Chung and Lang, 2006). In: a graph and some of its
 * nodes. Out: for each of them the nodes that hold a share of its rank, and the shares.
 *
 * Rank that has not ranked yet lies at nodes as a residual; at first all of it, alpha, at the target. A push at u
 * assigns u's residual r to u and spreads (1 - alpha) r evenly over its out-neighbours; a neighbour whose residual
 * reaches alpha eps degree is pushed in its turn, the latest first. The work is O(1 / (alpha eps)) a target, whatever
 * the size of the graph. Targets are independent: each thread has arrays over the nodes, of which only what was touched
 * is cleared, and writes rows of its own, so the result does not depend on the number of threads. */
#include "graph/graph.h"

#include <inttypes.h>
#include <omp.h>
#include <string.h>

enum { SETTLED = 1, WAITING = 2, TOUCHED = 4 };

typedef struct Row { /* of the result, among those of its thread */
  int64_t at, n;
  int thread;
} Row;

typedef struct Worker {
  double *rank, *rest;               /* [nodes] */
  int32_t *stack, *ranked, *touched; /* [nodes] */
  uint8_t *state;                    /* [nodes] */
  int64_t n_stack, n_ranked, n_touched;
  int32_t *node; /* [cap]: what was found */
  float *share;
  int64_t n, cap;
  bool failed;
} Worker;

typedef struct Push {
  const int32_t *rowptr, *to;
  double alpha, eps;
} Push;

static bool worker_new(Base *b, Worker *w, size_t nodes) {
  *w = (Worker){.rank = mem_new(b, nodes * sizeof *w->rank),
                .rest = mem_new(b, nodes * sizeof *w->rest),
                .stack = mem_new(b, nodes * sizeof *w->stack),
                .ranked = mem_new(b, nodes * sizeof *w->ranked),
                .touched = mem_new(b, nodes * sizeof *w->touched),
                .state = mem_new(b, nodes)};
  return w->rank && w->rest && w->stack && w->ranked && w->touched && w->state;
}

static void worker_free(Base *b, Worker *w, size_t nodes) {
  mem_free(b, w->rank, nodes * sizeof *w->rank);
  mem_free(b, w->rest, nodes * sizeof *w->rest);
  mem_free(b, w->stack, nodes * sizeof *w->stack);
  mem_free(b, w->ranked, nodes * sizeof *w->ranked);
  mem_free(b, w->touched, nodes * sizeof *w->touched);
  mem_free(b, w->state, nodes);
  mem_free(b, w->node, (size_t)w->cap * sizeof *w->node);
  mem_free(b, w->share, (size_t)w->cap * sizeof *w->share);
}

static void touch(Worker *w, int32_t v, uint8_t bit) {
  if (!w->state[v]) w->touched[w->n_touched++] = v;
  w->state[v] |= bit | TOUCHED;
}

static void add_rank(Worker *w, int32_t v, double amount) {
  if (!(w->state[v] & SETTLED)) w->ranked[w->n_ranked++] = v;
  touch(w, v, SETTLED);
  w->rank[v] += amount;
}

static void push_from(const Push *p, Worker *w, int32_t target) {
  add_rank(w, target, 0.0);
  touch(w, target, WAITING);
  w->rest[target] = p->alpha;
  w->stack[w->n_stack++] = target;
  while (w->n_stack) {
    int32_t u = w->stack[--w->n_stack];
    double rest = w->rest[u];
    w->state[u] &= (uint8_t)~WAITING;
    add_rank(w, u, rest);
    w->rest[u] = 0.0;
    int32_t begin = p->rowptr[u], end = p->rowptr[u + 1];
    double part = (1.0 - p->alpha) * rest / (end - begin);
    for (int32_t i = begin; i < end; i++) {
      int32_t v = p->to[i];
      touch(w, v, 0);
      w->rest[v] += part;
      if (w->rest[v] < p->alpha * p->eps * (p->rowptr[v + 1] - p->rowptr[v]) || w->state[v] & WAITING) continue;
      touch(w, v, WAITING);
      w->stack[w->n_stack++] = v;
    }
  }
}

/* Room for n more entries. Allocators are not for several threads at a time. */
static bool worker_reserve(Base *b, Worker *w, int64_t n) {
  if (w->n + n <= w->cap) return true;
  int64_t cap = MAX(MAX(2 * w->cap, w->n + n), 1024);
  bool ok = false;
#pragma omp critical(poly_ppr)
  {
    int32_t *node = mem_resize(b, NULL, 0, (size_t)cap * sizeof *node);
    float *share = node ? mem_resize(b, NULL, 0, (size_t)cap * sizeof *share) : NULL;
    if (share) {
      if (w->n) memcpy(node, w->node, (size_t)w->n * sizeof *node);
      if (w->n) memcpy(share, w->share, (size_t)w->n * sizeof *share);
      mem_free(b, w->node, (size_t)w->cap * sizeof *node);
      mem_free(b, w->share, (size_t)w->cap * sizeof *share);
      w->node = node, w->share = share, w->cap = cap;
      ok = true;
    } else
      mem_free(b, node, (size_t)cap * sizeof *node);
  }
  return ok;
}

static void row_of(Base *b, const Push *p, Worker *w, int32_t target, Row *row) {
  push_from(p, w, target);
  *row = (Row){.at = w->n, .n = w->n_ranked, .thread = omp_get_thread_num()};
  if (worker_reserve(b, w, w->n_ranked)) {
    for (int64_t k = 0; k < w->n_ranked; k++, w->n++) {
      w->node[w->n] = w->ranked[k];
      w->share[w->n] = (float)w->rank[w->ranked[k]];
    }
  } else
    w->failed = true;
  for (int64_t k = 0; k < w->n_touched; k++) {
    int32_t v = w->touched[k];
    w->rank[v] = w->rest[v] = 0.0;
    w->state[v] = 0;
  }
  w->n_ranked = w->n_touched = 0;
}

/* The rows of all threads, in the order of the targets, as tensors. */
static bool collect(PolyGraph *g, const Worker *workers, const Row *rows, int64_t n, PolyTensor *out[3]) {
  Base *b = ctx_base(g->ctx);
  size_t ptr_bytes = (size_t)(n + 1) * sizeof(int64_t);
  int64_t *ptr = mem_new(b, ptr_bytes);
  if (!ptr) return false;
  for (int64_t k = 0; k < n; k++) ptr[k + 1] = ptr[k] + rows[k].n;
  int64_t total = ptr[n], sizes[2] = {n + 1, total};
  size_t node_bytes = (size_t)MAX(total, 1) * sizeof(int64_t), share_bytes = (size_t)MAX(total, 1) * sizeof(float);
  int64_t *node = mem_new(b, node_bytes);
  float *share = mem_new(b, share_bytes);
  if (node && share) {
    for (int64_t k = 0; k < n; k++) {
      const Worker *w = &workers[rows[k].thread];
      for (int64_t i = 0; i < rows[k].n; i++) {
        node[ptr[k] + i] = w->node[rows[k].at + i];
        share[ptr[k] + i] = w->share[rows[k].at + i];
      }
    }
    out[0] = poly_from_data(g->ctx, ptr, POLY_INT64, 1, &sizes[0]);
    out[1] = poly_from_data(g->ctx, node, POLY_INT64, 1, &sizes[1]);
    out[2] = poly_from_data(g->ctx, share, POLY_FLOAT32, 1, &sizes[1]);
  }
  mem_free(b, share, share_bytes);
  mem_free(b, node, node_bytes);
  mem_free(b, ptr, ptr_bytes);
  if (out[0] && out[1] && out[2]) return true;
  for (int k = 0; k < 3; k++) poly_free(out[k]), out[k] = NULL;
  return false;
}

static bool check(PolyGraph *g, const int64_t *targets, int64_t n, double alpha, double eps) {
  Base *b = ctx_base(g->ctx);
  if (g->num_nodes[SRC] != g->num_nodes[DST])
    return base_fail(b, POLY_ERROR_VALUE, "PageRank needs one set of nodes, not %" PRId64 " and %" PRId64,
                     g->num_nodes[SRC], g->num_nodes[DST]);
  if (!(alpha > 0.0 && alpha <= 1.0) || !(eps > 0.0))
    return base_fail(b, POLY_ERROR_VALUE, "PageRank needs 0 < alpha <= 1 and eps > 0, not %g and %g", alpha, eps);
  for (int64_t k = 0; k < n; k++)
    if (targets[k] < 0 || targets[k] >= g->num_nodes[SRC])
      return base_fail(b, POLY_ERROR_INDEX, "target %" PRId64 " is out of range for a graph of %" PRId64 " nodes",
                       targets[k], g->num_nodes[SRC]);
  return true;
}

PolyStatus poly_graph_ppr(PolyGraph *g, const int64_t *targets, int64_t num_targets, double alpha, double eps,
                          PolyTensor **out) {
  for (int k = 0; k < 3; k++) out[k] = NULL;
  Base *b = ctx_base(g->ctx);
  int64_t n = targets ? num_targets : g->num_nodes[SRC];
  RowView view;
  if (!check(g, targets, targets ? n : 0, alpha, eps) || !graph_view_rows(g, SRC, &view)) return b->code;
  Push p = {view.rowptr, view.other, alpha, eps};
  int threads = (int)MIN(MAX(n, 1), graph_threads(g, INT64_MAX));
  size_t nodes = (size_t)MAX(g->num_nodes[SRC], 1), row_bytes = (size_t)MAX(n, 1) * sizeof(Row);
  Worker *workers = mem_new(b, (size_t)threads * sizeof *workers);
  Row *rows = mem_new(b, row_bytes);
  bool ok = workers && rows;
  for (int t = 0; ok && t < threads; t++) ok = worker_new(b, &workers[t], nodes);
  if (ok) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
    for (int64_t k = 0; k < n; k++) {
      Worker *w = &workers[omp_get_thread_num()];
      if (!w->failed) row_of(b, &p, w, (int32_t)(targets ? targets[k] : k), &rows[k]);
    }
    for (int t = 0; t < threads; t++) ok = ok && !workers[t].failed;
    ok = ok && collect(g, workers, rows, n, out);
  }
  for (int t = 0; workers && t < threads; t++) worker_free(b, &workers[t], nodes);
  mem_free(b, workers, (size_t)threads * sizeof *workers);
  mem_free(b, rows, row_bytes);
  return ok ? POLY_OK : b->code;
}
