/* realize.c: from handles to values. In: handles whose nodes are pending. Out: the same handles on memory.
 *
 * Which handles. Values are what a program says, not what memory holds, and ASSIGN changes memory. So a realize that
 * needs a pending assignment runs it for the handle that owns it, and every live handle that still reads the old
 * contents is computed in the same plan, where the schedule puts reads before the write. `choose` finds them all, to a
 * fixed point.
 *
 * Where the value goes. A node that was computed keeps its memory in u->buffer, so that whatever else uses the node
 * reads it. The handle moves to a fresh BUFFER on the same memory, which lets go of the program that computed it,
 * unless a gradient may still need that program: because a tensor that requires one is in it, or because nobody has
 * asked for this value, so that nobody expects the program to be gone.
 *
 * In place or not. An assignment writes into its target's memory if nobody else shares that memory; otherwise the
 * target first gets a copy of its own. All nodes that a run needs are made before it starts: after the last kernel
 * nothing can fail. */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

/* ---- nodes and memory ---- */

void node_set_buffer(UOp *u, PolyBuffer *b) {
  PolyBuffer *old = u->buffer;
  u->buffer = b;
  if (!b) handles_pending(u);
  buffer_release(old);
}

/* A BUFFER is only its memory; anything else can be computed again. */
void node_set_stale(UOp *u) { node_set_buffer(u, u->op == OP_BUFFER ? buffer_retain(&u->ctx->engine->stale) : NULL); }

bool node_fail_stale(const UOp *u) {
  char shape[256];
  const char *why = u->buffer == &u->ctx->engine->ended
                        ? "a tensor that was computed inside a compiled step is needed outside of it: return it from "
                          "the function that is compiled (shape of the input that it came from: %s)"
                        : "a tensor needed here was overwritten by an assignment (shape %s)";
  return base_fail(ctx_base(u->ctx), POLY_ERROR_RUNTIME, why, shape_text(u, shape, sizeof shape));
}

void handle_set(PolyTensor *t, UOp *u) {
  UOp *old = uop_retain(t->uop);
  handle_move(t, u);
  if (t->ctx->engine->steps) steps_moved(t, old, u);
  uop_release(old);
}

UOp *node_for_memory(PolyContext *ctx, PolyBuffer *b, const UOp *like) {
  UOp *u = uop_buffer(ctx, (PolyDType)like->dtype, like->ndim, like->shape);
  if (u && b) node_set_buffer(u, buffer_retain(b));
  return u;
}

PolyBuffer *node_memory(const UOp *u) {
  PolyBuffer *b = u->buffer;
  if (!b) return fail_null(ctx_base(u->ctx), POLY_ERROR_RUNTIME, "internal: a tensor without memory");
  return b->stale ? (node_fail_stale(u), NULL) : b;
}

static UOp *node_instead_of(const UOp *u, PolyBuffer *b) {
  UOp *memory = uop_buffer_for(u);
  if (memory && b) node_set_buffer(memory, buffer_retain(b));
  return memory;
}

/* ---- which handles ---- */

typedef struct Job {
  PolyContext *ctx;
  Arena arena;
  bool unasked;      /* nobody wants the values of the tensors given */
  bool readers_only; /* realize what reads certain nodes, run no assignment in place */
  /* handles: all that could matter, and what becomes of each */
  PolyTensor **handle;
  bool *chosen; /* is realized */
  bool *asked;  /* the user wants its value, rather than what it takes to get another one */
  bool *loses;  /* its very node is overwritten */
  int nhandle;
  /* nodes: the first ncompute are computed, the others get memory that is there already */
  UOp **root;
  UOp **fresh;   /* the BUFFER that handles on the root move to; NULL: none does */
  bool *inplace; /* an assignment that writes its target */
  int *order;
  int nroot, ncompute;
  Map place; /* of a node in root */
  /* the run */
  Canon canon;
  const int64_t *value; /* of the plan's variables */
  PolyBuffer **input;   /* of the canonical program */
  bool *own;            /* inputs that are copies made for this run */
  Plan *plan;
  PolyBuffer **out; /* by slot */
} Job;

static bool pending_assign(const UOp *u) { return u->op == OP_ASSIGN && !u->buffer; }

static bool is_value(const UOp *u, void *user) {
  (void)user;
  return u->buffer || u->op == OP_BUFFER || u->op == OP_BIND;
}

/* Sources that a node reads: the target of an assignment is written, not read. */
static int first_read(const UOp *u) { return u->op == OP_ASSIGN ? 1 : 0; }

static bool new_handles(Job *j, int n) {
  size_t size = (size_t)n + 1;
  j->handle = arena_new(&j->arena, size * sizeof *j->handle);
  j->chosen = arena_new(&j->arena, size * sizeof *j->chosen);
  j->asked = arena_new(&j->arena, size * sizeof *j->asked);
  j->loses = arena_new(&j->arena, size * sizeof *j->loses);
  return j->handle && j->chosen && j->asked && j->loses;
}

/* Marks what the chosen handles need; handles that own a needed assignment are chosen with it. */
static bool choose_needed(Job *j, const Walk *w, bool *needed) {
  bool changed = false;
  memset(needed, 0, (size_t)w->n * sizeof *needed);
  for (int h = 0; h < j->nhandle; h++)
    if (j->chosen[h]) needed[j->handle[h]->uop->slot] = true;
  for (int i = w->n; i-- > 0;) {
    UOp *u = w->at[i];
    if (!needed[i] || is_value(u, NULL)) continue;
    for (int k = first_read(u); k < u->nsrc; k++) needed[u->src[k]->slot] = true;
  }
  for (int h = 0; h < j->nhandle; h++) {
    UOp *u = j->handle[h]->uop;
    if (!pending_assign(u) || !needed[u->slot] || j->chosen[h]) continue;
    j->chosen[h] = changed = true;
  }
  return changed;
}

void walk_ended(const Walk *w, bool *ended) {
  for (int i = 0; i < w->n; i++) {
    const UOp *u = w->at[i];
    ended[i] = u->buffer == &u->ctx->engine->ended;
    for (int k = first_read(u); !is_value(u, NULL) && !ended[i] && k < u->nsrc; k++) ended[i] = ended[u->src[k]->slot];
  }
}

/* Handles that read memory which is about to change are chosen too. */
static bool choose_readers(Job *j, const Walk *w, bool *reads, const bool *ended, int nover, UOp *const *over) {
  bool changed = false;
  memset(reads, 0, (size_t)w->n * sizeof *reads);
  for (int h = 0; h < j->nhandle && !j->readers_only; h++)
    if (j->chosen[h] && pending_assign(j->handle[h]->uop)) reads[j->handle[h]->uop->src[0]->slot] = true;
  for (int k = 0; k < nover; k++)
    if (over[k]->epoch == w->epoch) reads[over[k]->slot] = true;
  for (int h = 0; h < j->nhandle; h++) j->loses[h] = reads[j->handle[h]->uop->slot];
  for (int i = 0; i < w->n; i++) {
    UOp *u = w->at[i];
    for (int k = first_read(u); !is_value(u, NULL) && !reads[i] && k < u->nsrc; k++) reads[i] = reads[u->src[k]->slot];
  }
  for (int h = 0; h < j->nhandle; h++) {
    int at = j->handle[h]->uop->slot;
    if (j->chosen[h] || !reads[at] || ended[at]) continue;
    j->chosen[h] = changed = true;
  }
  return changed;
}

/* State that nobody asks for, such as the number of batches that a normalisation has seen, runs with the other
 * assignments: else each step would leave one more behind it, for ever. What reads memory that is gone stays as it is,
 * and is an error to who asks for it. */
static bool choose_state(Job *j, const Walk *w) {
  bool *lost = arena_new(&j->arena, (size_t)(w->n + 1) * sizeof *lost);
  if (!lost) return false;
  for (int i = 0; i < w->n; i++) {
    const UOp *u = w->at[i];
    lost[i] = u->op == OP_BUFFER ? !u->buffer || u->buffer->stale : u->buffer && u->buffer->stale;
    for (int k = first_read(u); !is_value(u, NULL) && !lost[i] && k < u->nsrc; k++) lost[i] = lost[u->src[k]->slot];
  }
  for (int h = 0; h < j->nhandle; h++) {
    UOp *u = j->handle[h]->uop;
    if (pending_assign(u) && !lost[u->slot] && !lost[u->src[0]->slot]) j->chosen[h] = true;
  }
  return true;
}

static bool contains(const Map *m, const void *p) { return map_get(m, (uintptr_t)p, NULL); }

static bool set_of(Base *b, Map *m, int n, PolyTensor *const *t) {
  for (int k = 0; k < n; k++)
    if (!map_put(b, m, (uintptr_t)t[k], 1)) return false;
  return true;
}

/* The order of the outputs is part of a plan's key, and must not depend on how nodes were reached. */
static int newest_first(const void *a, const void *b) {
  uint64_t x = (*(PolyTensor *const *)a)->id, y = (*(PolyTensor *const *)b)->id;
  return x < y ? 1 : x > y ? -1 : 0;
}

/* The handles that could matter, but those to skip; the given ones are chosen. A handle on memory matters only if a
 * pending program reads or writes that memory, or if it is about to change: data sets of thousands of tensors are
 * passed over. walk: all that the pending handles are computed from. */
static bool list_handles(Job *j, int n, PolyTensor *const *t, int nskip, PolyTensor *const *skip, int nover,
                         UOp *const *over, Walk *walk) {
  Base *b = ctx_base(j->ctx);
  Map given = {0}, skipped = {0};
  int nroot = n + nover, nhandle = 0;
  for (PolyTensor *h = NULL; (h = handle_next_pending(j->ctx, h));) nroot++;
  UOp **root = arena_new(&j->arena, (size_t)(nroot + 1) * sizeof *root);
  bool ok = root && set_of(b, &given, n, t) && set_of(b, &skipped, nskip, skip);
  nroot = 0;
  for (PolyTensor *h = NULL; ok && (h = handle_next_pending(j->ctx, h));) root[nroot++] = h->uop;
  for (int k = 0; ok && k < n; k++) root[nroot++] = t[k]->uop;
  for (int k = 0; ok && k < nover; k++) root[nroot++] = over[k];
  ok = ok && uop_walk(j->ctx, &j->arena, nroot, root, is_value, NULL, walk);
  for (int i = 0; ok && i < walk->n; i++)
    for (PolyTensor *h = walk->at[i]->handle; h; h = h->links[LIST_NODE].next) nhandle++;
  ok = ok && new_handles(j, nhandle);
  for (int i = 0; ok && i < walk->n; i++)
    for (PolyTensor *h = walk->at[i]->handle; h; h = h->links[LIST_NODE].next)
      if (!nskip || !contains(&skipped, h)) j->handle[j->nhandle++] = h;
  if (ok) qsort(j->handle, (size_t)j->nhandle, sizeof *j->handle, newest_first);
  for (int k = 0; ok && k < j->nhandle; k++) {
    j->chosen[k] = n && contains(&given, j->handle[k]);
    j->asked[k] = j->chosen[k] && !j->unasked;
  }
  map_free(b, &given);
  map_free(b, &skipped);
  return ok;
}

/* The whole set, when there is memory that changes. */
static bool choose_all(Job *j, int n, PolyTensor *const *t, int nskip, PolyTensor *const *skip, int nover,
                       UOp *const *over) {
  Walk w;
  if (!list_handles(j, n, t, nskip, skip, nover, over, &w)) return false;
  bool *mark = arena_new(&j->arena, (size_t)(w.n + 1) * sizeof *mark);
  bool *ended = arena_new(&j->arena, (size_t)(w.n + 1) * sizeof *ended);
  if (!mark || !ended) return false;
  walk_ended(&w, ended);
  if (!j->readers_only && !choose_state(j, &w)) return false;
  for (bool again = true; again;) {
    again = choose_needed(j, &w, mark);
    again |= choose_readers(j, &w, mark, ended, nover, over);
  }
  return true;
}

/* Is anything of what these tensors are computed from yet to be assigned? */
static bool needs_assign(Job *j, int n, PolyTensor *const *t, bool *needs) {
  Walk w;
  UOp **root = arena_new(&j->arena, (size_t)(n + 1) * sizeof *root);
  if (!root) return false;
  for (int k = 0; k < n; k++) root[k] = t[k]->uop;
  if (!uop_walk(j->ctx, &j->arena, n, root, is_value, NULL, &w)) return false;
  for (int i = 0; i < w.n && !*needs; i++) *needs = pending_assign(w.at[i]);
  return true;
}

static bool choose(Job *j, int n, PolyTensor *const *t) {
  bool needs = false;
  if (!needs_assign(j, n, t, &needs)) return false;
  if (needs) return choose_all(j, n, t, 0, NULL, 0, NULL);
  Base *b = ctx_base(j->ctx);
  Map seen = {0}; /* the same handle may be given twice */
  bool ok = new_handles(j, n);
  for (int k = 0; ok && k < n; k++) {
    if (contains(&seen, t[k])) continue;
    ok = n == 1 || map_put(b, &seen, (uintptr_t)t[k], 1);
    j->chosen[j->nhandle] = true;
    j->asked[j->nhandle] = !j->unasked;
    j->handle[j->nhandle++] = t[k];
  }
  map_free(b, &seen);
  return ok;
}

/* ---- which nodes ---- */

/* The stored node that u only shows in another shape. */
static UOp *viewed(UOp *u) {
  while (!u->buffer && (u->op == OP_RESHAPE || u->op == OP_DETACH || u->op == OP_FUNCTION ||
                        (u->op == OP_CONTIGUOUS && u->arg.i == 0)))
    u = u->src[0];
  return u->buffer && !u->buffer->stale ? u : NULL;
}

static int place_of(const Job *j, const UOp *u) {
  uint64_t at;
  return map_get(&j->place, (uintptr_t)u, &at) ? (int)at : -1;
}

static bool add_root(Job *j, UOp *u) {
  if (place_of(j, u) >= 0) return true;
  if (!map_put(ctx_base(j->ctx), &j->place, (uintptr_t)u, (uint64_t)j->nroot)) return false;
  j->order[j->nroot] = u->slot; /* of the walk in choose_all: assignments are told apart by it */
  j->root[j->nroot++] = u;
  return true;
}

/* Of several assignments to one memory the one that comes last in the program is written, the others are plain values.
 */
static void pick_inplace(Job *j) {
  for (int r = 0; r < j->ncompute && !j->readers_only; r++) {
    UOp *u = j->root[r];
    if (u->op != OP_ASSIGN || !u->src[0]->buffer || u->src[0]->buffer->stale) continue;
    bool last = true;
    for (int k = 0; k < j->ncompute && last; k++)
      last = j->root[k]->op != OP_ASSIGN || j->root[k]->src[0] != u->src[0] || j->order[k] <= j->order[r];
    j->inplace[r] = last;
  }
}

static bool new_roots(Job *j) {
  size_t n = (size_t)j->nhandle + 1;
  j->root = arena_new(&j->arena, n * sizeof *j->root);
  j->fresh = arena_new(&j->arena, n * sizeof *j->fresh);
  j->inplace = arena_new(&j->arena, n * sizeof *j->inplace);
  j->order = arena_new(&j->arena, n * sizeof *j->order);
  return j->root && j->fresh && j->inplace && j->order;
}

/* Nodes to compute first, then those that are another shape of memory that is there. */
static bool find_roots(Job *j) {
  if (!new_roots(j)) return false;
  for (int h = 0; h < j->nhandle; h++) {
    UOp *u = j->handle[h]->uop;
    if (!j->chosen[h]) continue;
    if (u->buffer && u->buffer->stale) return node_fail_stale(u);
    if (!u->buffer && !viewed(u) && !add_root(j, u)) return false;
  }
  j->ncompute = j->nroot;
  pick_inplace(j);
  for (int h = 0; h < j->nhandle; h++) {
    UOp *u = j->handle[h]->uop;
    if (j->chosen[h] && !u->buffer && viewed(u) && !add_root(j, u)) return false;
  }
  for (int r = j->ncompute; r < j->nroot; r++) node_set_buffer(j->root[r], buffer_retain(viewed(j->root[r])->buffer));
  return true;
}

/* ---- which handles move ---- */

static bool no_history(const UOp *u, void *user) {
  (void)user;
  return u->op == OP_DETACH || u->op == OP_BUFFER;
}

/* Why a root may keep its program. */
typedef struct History {
  bool leaf;   /* it is computed from a leaf that requires a gradient */
  bool target; /* it is computed from a tensor that somebody has, and could ask for a gradient by */
  int depth;   /* how many values in a row were stored or assigned on the way to it */
} History;

/* A value that nobody asks for, which is made of the one before it in every step, would keep all steps. */
enum { MOST_DEPTH = 16 };

static bool is_target(const UOp *u) {
  bool found = false;
  for (const PolyTensor *t = u->handle; t && !found; t = t->links[LIST_NODE].next) found = !t->refused && !t->consumed;
  return found && dtype_is_float((PolyDType)u->dtype);
}

static void add_history(History *h, const UOp *source, const History *of) {
  h->leaf |= of->leaf;
  h->target |= of->target || is_target(source);
  int depth = of->depth + (source->op == OP_ASSIGN || (source->buffer && source->op != OP_BUFFER));
  h->depth = MAX(h->depth, depth);
}

static bool find_histories(Job *j, History *history) {
  bool unasked = false;
  for (int h = 0; h < j->nhandle && !unasked; h++) unasked = j->chosen[h] && !j->asked[h];
  if (!j->ctx->leaves && !unasked) return true;
  Walk w;
  if (!uop_walk(j->ctx, &j->arena, j->nroot, j->root, no_history, NULL, &w)) return false;
  History *at = arena_new(&j->arena, (size_t)(w.n + 1) * sizeof *at);
  if (!at) return false;
  for (PolyTensor *t = j->ctx->leaves; t; t = t->links[LIST_LEAF].next)
    if (t->uop->epoch == w.epoch) at[t->uop->slot].leaf = true;
  for (int i = 0; i < w.n; i++)
    for (int k = 0; !no_history(w.at[i], NULL) && k < w.at[i]->nsrc; k++)
      add_history(&at[i], w.at[i]->src[k], &at[w.at[i]->src[k]->slot]);
  for (int r = 0; r < j->nroot; r++) history[r] = at[j->root[r]->slot];
  return true;
}

/* A program of constants alone is its own canonical form, which its plan keeps alive: memory put there would never be
 * freed. */
static bool is_own_canon(const Job *j, int r) { return r < j->ncompute && j->canon.root[r] == j->root[r]; }

/* Does handle h keep its program for gradients that may be asked for, since its value was not? */
static bool keeps_program(const Job *j, int h, const History *history) {
  const PolyTensor *t = j->handle[h];
  return !j->asked[h] && !t->consumed && history->target && dtype_is_float((PolyDType)t->uop->dtype);
}

/* May handle h let go of the program behind its node? A leaf's own node stays while other nodes still name it. */
static bool may_move(const Job *j, int h, int r, const History *history, const int *sharing) {
  const PolyTensor *t = j->handle[h];
  if (is_own_canon(j, r)) return true;
  if (t->requires_grad) return (int)t->uop->refs <= sharing[r];
  if (t->consumed) return true;
  return !history->leaf && (!keeps_program(j, h, history) || history->depth >= MOST_DEPTH);
}

/* Makes the BUFFERs that handles move to; `chosen` is left for those that do. */
static bool make_fresh(Job *j) {
  History *history = arena_new(&j->arena, (size_t)(j->nroot + 1) * sizeof *history);
  int *sharing = arena_new(&j->arena, (size_t)(j->nroot + 1) * sizeof *sharing);
  if (!history || !sharing || !find_histories(j, history)) return false;
  for (int h = 0; h < j->nhandle; h++) {
    int r = j->chosen[h] ? place_of(j, j->handle[h]->uop) : -1;
    if (r >= 0) sharing[r] += 1 + steps_following(j->handle[h]);
  }
  for (int h = 0; h < j->nhandle; h++) {
    UOp *u = j->handle[h]->uop;
    int r = j->chosen[h] ? place_of(j, u) : -1;
    if (!j->chosen[h]) continue;
    j->chosen[h] = r >= 0 && may_move(j, h, r, &history[r], sharing);
    if (!j->chosen[h] && r >= 0 && !j->asked[h]) j->handle[h]->given = true;
    if (!j->chosen[h]) continue;
    if (!view_keep_path(j->handle[h])) return false;
    if (!j->fresh[r] && !(j->fresh[r] = node_instead_of(u, NULL))) return false;
    j->fresh[r]->cut |= keeps_program(j, h, &history[r]);
  }
  return true;
}

/* Handles on a node that is about to be overwritten keep its memory under another name; the write then makes a copy. */
static bool save_losers(Job *j) {
  for (int h = 0; h < j->nhandle; h++) {
    UOp *u = j->handle[h]->uop;
    if (!j->chosen[h] || !j->loses[h] || !u->buffer) continue;
    UOp *n = node_instead_of(u, u->buffer);
    if (!n || !view_keep_path(j->handle[h])) return false;
    handle_set(j->handle[h], n);
  }
  return true;
}

/* ---- the run ---- */

static int input_of(const Job *j, const UOp *u) {
  for (int k = 0; k < j->canon.ninput; k++)
    if (j->canon.input[k] == u) return k;
  return -1;
}

static bool find_inputs(Job *j) {
  const Canon *c = &j->canon;
  j->input = arena_new(&j->arena, (size_t)(c->ninput + 1) * sizeof *j->input);
  j->own = arena_new(&j->arena, (size_t)(c->ninput + 1) * sizeof *j->own);
  if (!j->input || !j->own) return false;
  for (int k = 0; k < c->ninput; k++)
    if (!(j->input[k] = node_memory(c->input[k]))) return false;
  return true;
}

/* Might the assignment end halfway, since its kernel comes upon an index out of range? */
static bool may_end_halfway(const Job *j, int r) {
  int writer = j->plan->slot[j->plan->root_slot[r]].writer;
  return writer >= 0 && j->plan->item[writer].checks;
}

/* Memory that other nodes share, and what a failing kernel would leave half written, is not written: the target gets a
 * copy of its own. */
static bool unshare_targets(Job *j) {
  for (int r = 0; r < j->ncompute; r++) {
    if (!j->inplace[r]) continue;
    int k = input_of(j, j->root[r]->src[0]);
    if (k < 0) return base_fail(ctx_base(j->ctx), POLY_ERROR_RUNTIME, "internal: an assignment without its target");
    if (j->input[k]->refs <= 1 && !may_end_halfway(j, r)) continue;
    PolyBuffer *copy = buffer_copy(j->input[k], j->plan->device->memory);
    if (!copy) return false;
    j->input[k] = copy;
    j->own[k] = true;
  }
  return true;
}

/* ---- what a run leaves behind ---- */

static void commit_root(Job *j, int r) {
  UOp *u = j->root[r];
  PolyBuffer *b;
  if (r >= j->ncompute) {
    b = buffer_retain(u->buffer);
  } else if (j->inplace[r]) {
    int k = input_of(j, u->src[0]);
    b = buffer_retain(j->input[k]);
    if (!j->own[k]) node_set_stale(u->src[0]);
  } else { /* the value of an assignment under another name (DETACH) is in its target's memory */
    const PlanSlot *slot = &j->plan->slot[j->plan->root_slot[r]];
    b = buffer_retain(slot->kind == SLOT_INPUT ? j->input[slot->input] : j->out[j->plan->root_slot[r]]);
  }
  if (j->fresh[r]) node_set_buffer(j->fresh[r], buffer_retain(b));
  if (is_own_canon(j, r))
    buffer_release(b);
  else
    node_set_buffer(u, b);
}

/* Of a run that failed, what was finished before: assignments have changed their memory, so they are not to be done
 * again. */
static void commit_finished(Job *j) {
  bool *done = arena_new(&j->arena, (size_t)(j->nroot + 1) * sizeof *done);
  for (int r = 0; done && r < j->ncompute; r++) {
    int writer = j->plan->slot[j->plan->root_slot[r]].writer;
    done[r] = writer >= 0 && writer < j->plan->failed;
  }
  for (int r = 0; done && r < j->ncompute; r++)
    if (done[r]) commit_root(j, r);
  for (int h = 0; done && h < j->nhandle; h++) {
    int r = j->chosen[h] ? place_of(j, j->handle[h]->uop) : -1;
    if (r >= 0 && done[r]) handle_set(j->handle[h], j->fresh[r]);
  }
}

static bool run(Job *j) {
  if (!find_inputs(j) || !(j->plan = form_plan(j->ctx, &j->arena, &j->canon, &j->value))) return false;
  j->out = arena_new(&j->arena, (size_t)(j->plan->nslot + 1) * sizeof *j->out);
  if (!j->out || !unshare_targets(j)) return false;
  bool ok = plan_run(j->plan, j->value, j->input, j->out, NULL);
  if (ok) return true;
  name_index_error(j->ctx, j->ncompute, j->root);
  commit_finished(j);
  return false;
}

/* For a step that is recorded. Copies of shared memory, views of memory that is there and histories that are given up
 * are cases of their own. */
static void record(const Job *j) {
  bool plain = j->ncompute && j->ncompute == j->nroot && !j->readers_only;
  for (int k = 0; plain && k < j->canon.ninput; k++) plain = !j->own[k];
  for (int r = 0; plain && r < j->nroot; r++) plain = !j->fresh[r] || !j->fresh[r]->cut;
  if (plain)
    recall_record(j->ctx, &(Realized){j->nroot, j->nhandle, j->root, j->inplace, j->handle, j->chosen, j->asked,
                                      &j->canon, j->value, j->plan});
}

static void commit(Job *j) {
  for (int r = 0; r < j->nroot; r++) commit_root(j, r);
  for (int h = 0; h < j->nhandle; h++)
    if (j->chosen[h]) handle_set(j->handle[h], j->fresh[place_of(j, j->handle[h]->uop)]);
}

static void job_free(Job *j) {
  for (int i = 0; j->out && i < j->plan->nslot; i++) buffer_release(j->out[i]);
  for (int k = 0; j->own && k < j->canon.ninput; k++)
    if (j->own[k]) buffer_release(j->input[k]);
  plan_release(j->plan);
  map_free(ctx_base(j->ctx), &j->place);
  arena_free(&j->arena);
}

/* The program of an assignment that failed by an index, without it: the memory as it was, or an assignment before. */
static UOp *without_failed(PolyContext *ctx, UOp *u) {
  while (pending_assign(u) && index_error_below(ctx, u)) u = u->src[0];
  return u;
}

/* An assignment whose index is out of range is an error once, and is gone: its tensor has the value from before, rather
 * than failing whatever is computed later. Where several of them may be the one, each is computed by itself; those that
 * cannot be told apart, since one reads what the other overwrites, are all gone. */
static void drop_failed(Job *j) {
  PolyContext *ctx = j->ctx;
  Base *b = ctx_base(ctx), error = *b;
  int n = 0;
  PolyTensor **t = arena_new(&j->arena, (size_t)(j->nhandle + 1) * sizeof *t);
  for (int h = 0; t && h < j->nhandle; h++) {
    const UOp *u = place_of(j, j->handle[h]->uop) < 0 ? NULL : without_failed(ctx, j->handle[h]->uop);
    if (u && u != j->handle[h]->uop && (pending_assign(u) || (u->buffer && !u->buffer->stale))) t[n++] = j->handle[h];
  }
  for (int k = 0; k < n && (n == 1 || ctx->engine->dropping); k++) handle_set(t[k], without_failed(ctx, t[k]->uop));
  if (n < 2 || ctx->engine->dropping) return;
  ctx->engine->dropping = true;
  for (int k = 0; k < n; k++) {
    base_clear(b);
    realize_unasked(ctx, 1, &t[k]);
  }
  ctx->engine->dropping = false;
  base_clear(b);
  base_fail(b, error.code, "%s", error.text);
}

static bool realize(Job *j) {
  PolyContext *ctx = j->ctx;
  bool ok = find_roots(j) && save_losers(j) && (j->readers_only || keep_constants(ctx, j->ncompute, j->root));
  if (ok && j->ncompute) ok = canon_build(ctx, &j->arena, j->ncompute, j->root, j->inplace, &j->canon);
  ok = ok && make_fresh(j) && (!j->ncompute || run(j));
  if (ok) record(j);
  if (ok) commit(j);
  if (!ok && ctx_base(ctx)->code == POLY_ERROR_INDEX && !ctx->tracing) drop_failed(j);
  return ok;
}

/* A tensor whose value was given lets go of its program when it is realized, as others do, unless a gradient may need
 * it. */
static bool let_go(PolyTensor *t) {
  UOp *u = t->uop;
  PolyContext *ctx = t->ctx;
  t->given = false;
  if (!u->buffer || u->buffer->stale || t->requires_grad) return true;
  Walk w;
  Arena arena = {.b = ctx_base(ctx)};
  bool ok = uop_walk(ctx, &arena, 1, &u, no_history, NULL, &w), keep = false;
  for (PolyTensor *o = ctx->leaves; ok && o && !keep; o = o->links[LIST_LEAF].next) keep = o->uop->epoch == w.epoch;
  arena_free(&arena);
  if (!ok || keep) return ok;
  Scope s;
  scope_enter(ctx, &s);
  UOp *fresh = view_keep_path(t) ? node_instead_of(u, u->buffer) : NULL;
  if (fresh) handle_set(t, fresh);
  scope_leave(ctx, &s);
  return fresh;
}

static bool realize_given(PolyContext *ctx, int n, PolyTensor *const *t, bool unasked) {
  bool done = true;
  bool may_move = !unasked && !ctx->tracing; /* a trace knows tensors by their nodes */
  for (int k = 0; k < n && may_move; k++)
    if (t[k]->given && !let_go(t[k])) return false;
  for (int k = 0; k < n && done; k++) done = t[k]->uop->buffer && !t[k]->uop->buffer->stale;
  if (done) return true;
  if (!trace_may_read(ctx, n, t)) return false;
  Job j = {.ctx = ctx, .arena = {.b = ctx_base(ctx)}, .unasked = unasked};
  Scope s;
  scope_enter(ctx, &s);
  bool ok = choose(&j, n, t) && realize(&j);
  job_free(&j);
  scope_leave(ctx, &s);
  return ok;
}

bool realize_handles(PolyContext *ctx, int n, PolyTensor *const *t) { return realize_given(ctx, n, t, false); }
bool realize_unasked(PolyContext *ctx, int n, PolyTensor *const *t) { return realize_given(ctx, n, t, true); }

bool realize_readers(PolyContext *ctx, int n, UOp *const *node, int nskip, PolyTensor *const *skip) {
  Job j = {.ctx = ctx, .arena = {.b = ctx_base(ctx)}, .readers_only = true};
  Scope s;
  scope_enter(ctx, &s);
  bool ok = choose_all(&j, 0, NULL, nskip, skip, n, node) && realize(&j);
  job_free(&j);
  scope_leave(ctx, &s);
  return ok;
}
