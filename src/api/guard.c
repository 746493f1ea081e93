/* guard.c: argument checks, locks and errors of the public functions; see guard.h. */
#include "api/guard.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/threads.h"
#include "ir/context.h"

/* ---- errors without a context ---- */

enum { SAVED = 4 };

typedef struct Saved {
  const void *thread;
  PolyStatus code;
  char text[sizeof((Base *)0)->text];
} Saved;

static _Thread_local Saved mine; /* the last error of a call without a context */
static _Thread_local char kept_text[sizeof mine.text];
static _Thread_local PolyContext *last; /* that this thread has used */
static const void *self(void) { return &mine; }

PolyStatus api_thread_code(void) { return mine.code; }
const char *api_thread_text(void) { return mine.text; }
void api_thread_clear(void) {
  mine.code = POLY_OK;
  mine.text[0] = 0;
}

const char *api_keep_text(const char *text) {
  snprintf(kept_text, sizeof kept_text, "%s", text);
  return kept_text;
}

/* ---- locks ---- */

/* A call that finds the context free pays for one exchange; a mutex would cost twice that, as giving it back has to
 * look for waiters. Waiting is rare, and the wait is long: for a plan to run. */
struct Guard {
  _Atomic(const void *) owner; /* the thread that is inside; NULL: nobody */
  int depth;                   /* calls of the owner: a release function may call back */
  const void *user;            /* the thread whose error is in the context */
  bool lost;                   /* another thread was inside when the process was forked */
  bool held;                   /* by the forking thread, for the time of the fork */
  _Atomic(PolyTensor *) freed; /* handles to be freed by the owner */
  PolyContext *ctx;
  struct Guard *prev, *next; /* all contexts of the process */
  int nsaved;
  Saved saved[SAVED]; /* errors of other threads */
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct Guard *all;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool try_owner(struct Guard *g, const void *me) {
  const void *nobody = NULL;
  return atomic_compare_exchange_strong_explicit(&g->owner, &nobody, me, memory_order_acquire, memory_order_relaxed);
}

/* Looks often at first, then ever less: at most every fifth of a millisecond. */
static void wait_owner(struct Guard *g, const void *me) {
  enum { YIELDS = 100, LONGEST = 200000 };
  for (int k = 0; k < YIELDS; k++) {
    if (try_owner(g, me)) return;
    sched_yield();
  }
  struct timespec pause = {.tv_nsec = 1000};
  while (!try_owner(g, me)) {
    nanosleep(&pause, NULL);
    pause.tv_nsec = MIN(2 * pause.tv_nsec, (long)LONGEST);
  }
}

static bool take(struct Guard *g, bool wait) {
  const void *me = self();
  if (atomic_load_explicit(&g->owner, memory_order_relaxed) != me && !try_owner(g, me)) {
    if (!wait) return false;
    wait_owner(g, me);
  }
  g->depth++;
  return true;
}

/* Errors go with the thread that made them: those of the last user are put aside. */
static void change_user(struct Guard *g) {
  Base *b = ctx_base(g->ctx);
  if (b->code != POLY_OK) {
    if (g->nsaved == SAVED) memmove(&g->saved[0], &g->saved[1], (size_t)--g->nsaved * sizeof g->saved[0]);
    Saved *s = &g->saved[g->nsaved++];
    s->thread = g->user;
    s->code = b->code;
    memcpy(s->text, b->text, sizeof s->text);
    base_clear(b);
  }
  g->user = self();
  for (int k = 0; k < g->nsaved; k++) {
    if (g->saved[k].thread != g->user) continue;
    b->code = g->saved[k].code;
    memcpy(b->text, g->saved[k].text, sizeof b->text);
    g->saved[k] = g->saved[--g->nsaved];
    return;
  }
}

static void free_waiting(struct Guard *g) {
  PolyTensor *t = atomic_exchange(&g->freed, NULL);
  while (t) {
    PolyTensor *next = t->freed_next;
    poly_free(t);
    t = next;
  }
}

/* The outermost call frees what was given to poly_free meanwhile. What is put there between that and the unlocking
 * waits for the next call. */
static void give(struct Guard *g) {
  if (g->depth == 1 && atomic_load_explicit(&g->freed, memory_order_relaxed)) free_waiting(g);
  if (--g->depth == 0) atomic_store_explicit(&g->owner, NULL, memory_order_release);
}

/* ---- fork ---- */

/* What another thread is changing cannot be used in the child, and waiting for that thread could take for ever (it may
 * need a lock of the forking one): such contexts are lost to the child. */
static void before_fork(void) {
  pthread_mutex_lock(&all_lock);
  for (struct Guard *g = all; g; g = g->next) g->held = take(g, false);
}

static void after_fork_parent(void) {
  for (struct Guard *g = all; g; g = g->next)
    if (g->held && --g->depth == 0) atomic_store_explicit(&g->owner, NULL, memory_order_release);
  pthread_mutex_unlock(&all_lock);
}

static void after_fork_child(void) {
  handle_after_fork();
  threads_after_fork();
  for (struct Guard *g = all; g; g = g->next) {
    g->lost = !g->held;
    if (g->held && --g->depth) continue; /* the fork came out of a call */
    g->depth = 0;
    atomic_store(&g->owner, NULL);
  }
  pthread_mutex_init(&all_lock, NULL);
}

static void install(void) { pthread_atfork(before_fork, after_fork_parent, after_fork_child); }

bool guard_new(PolyContext *ctx) {
  pthread_once(&once, install);
  struct Guard *g = mem_new(ctx_base(ctx), sizeof *g);
  if (!g) return false;
  if (!handle_add(ctx_base(ctx), ctx, HANDLE_CONTEXT, ctx)) {
    mem_free(ctx_base(ctx), g, sizeof *g);
    return false;
  }
  g->user = self();
  g->ctx = ctx;
  ctx->guard = g;
  ctx->guard_free = guard_free;
  pthread_mutex_lock(&all_lock);
  g->next = all;
  if (all) all->prev = g;
  all = g;
  pthread_mutex_unlock(&all_lock);
  return true;
}

void guard_free(PolyContext *ctx) {
  struct Guard *g = ctx->guard;
  if (!g) return;
  handle_drop(ctx);
  pthread_mutex_lock(&all_lock);
  if (g->prev)
    g->prev->next = g->next;
  else
    all = g->next;
  if (g->next) g->next->prev = g->prev;
  pthread_mutex_unlock(&all_lock);
  ctx->guard = NULL;
  mem_free(ctx_base(ctx), g, sizeof *g);
}

/* ---- arguments ---- */

static void refuse(ApiCall *c, PolyStatus code, const char *arg, const char *why, const char *more) {
  if (c->code != POLY_OK) return;
  c->code = code;
  snprintf(c->why, sizeof c->why, "%s: argument %s %s%s", c->name, arg, why, more);
}

void api_handle(ApiCall *c, const void *p, HandleKind kind, const char *arg, bool optional) {
  if (!p) {
    if (!optional) refuse(c, POLY_ERROR_VALUE, arg, "is NULL", "");
    return;
  }
  HandleInfo h = handle_find(p);
  if (h.kind != kind) {
    refuse(c, POLY_ERROR_VALUE, arg, "is not a live handle of ", handle_kind_name(kind));
    return;
  }
  bool live = h.live && (h.ctx == c->ctx || kind == HANDLE_TENSOR || !h.ctx || handle_find(h.ctx).live);
  if (live && (h.ctx == c->ctx || !c->ctx)) {
    c->ctx = h.ctx;
    return;
  }
  refuse(c, POLY_ERROR_VALUE, arg,
         live ? "belongs to another context; handles of two contexts cannot be mixed" : "was freed before", "");
  if (!c->ctx && h.ctx && handle_find(h.ctx).live) c->ctx = h.ctx;
}

void api_context(ApiCall *c, const PolyContext *ctx) { api_handle(c, ctx, HANDLE_CONTEXT, "ctx", false); }

void api_count(ApiCall *c, int64_t n, const char *arg) {
  if (n < 0) refuse(c, POLY_ERROR_VALUE, arg, "is negative", "");
}

void api_array(ApiCall *c, const void *p, bool needed, const char *arg) {
  if (!p && needed) refuse(c, POLY_ERROR_VALUE, arg, "is NULL", "");
}

void api_handles(ApiCall *c, const void *array, int64_t n, HandleKind kind, const char *arg, bool optional) {
  api_array(c, array, n > 0 && !optional, arg);
  if (n == 0) c->empty = arg;
  const void *const *at = array;
  for (int64_t k = 0; at && k < n; k++) {
    char name[64];
    if (c->code != POLY_OK) return;
    if (at[k]) {
      HandleInfo h = handle_find(at[k]);
      if (h.kind == kind && h.live && h.ctx == c->ctx) continue;
    }
    snprintf(name, sizeof name, "%s[%lld]", arg, (long long)k);
    api_handle(c, at[k], kind, name, false);
  }
}

void api_index(ApiCall *c, const PolyIndex *index, int n, const char *arg) {
  api_array(c, index, n > 0, arg);
  for (int k = 0; index && k < n; k++)
    if (index[k].kind == 't') {
      char name[64];
      snprintf(name, sizeof name, "%s[%d].tensor", arg, k);
      api_handle(c, index[k].tensor, HANDLE_TENSOR, name, false);
    }
}

void api_enum(ApiCall *c, int value, int count, const char *arg, const char *what) {
  if (value < 0 || value >= count) refuse(c, POLY_ERROR_TYPE, arg, "is not ", what);
}

/* ---- calls ---- */

static void thread_error(PolyStatus code, const char *text) {
  mine.code = code;
  snprintf(mine.text, sizeof mine.text, "%s", text);
}

/* Calls that what was put off may wait for, and those that free tensors whatever happens: freeing one does it. */
static bool may_be_next(const char *name) {
  return strcmp(name, "poly_optim_step") == 0 || strcmp(name, "poly_scope_end") == 0;
}

/* False: nobody can use the context any more, and nothing in it is to be touched. */
static bool enter(ApiCall *c) {
  struct Guard *g = c->ctx->guard;
  if (g->lost) {
    refuse(c, POLY_ERROR_RUNTIME, "ctx", "was in use by another thread when the process was forked: make a new context",
           "");
    if (!c->reads_error) thread_error(c->code, c->why);
    return false;
  }
  take(g, true);
  if (g->user != self()) change_user(g);
  last = c->ctx;
  c->ctx->function = c->name;
  if (ctx_base(c->ctx)->passing && !c->reads_error) base_clear(ctx_base(c->ctx));
  if (!c->ctx->interrupt || c->reads_error || may_be_next(c->name) || c->ctx->interrupt(c->ctx)) return true;
  c->code = ctx_base(c->ctx)->code;
  give(g);
  return false;
}

static bool report(ApiCall *c) {
  thread_error(c->code, c->why);
  if (!c->ctx && last && handle_find(last).live) c->ctx = last;
  if (!c->ctx || !enter(c)) return false;
  base_fail(ctx_base(c->ctx), c->code, "%s", c->why);
  c->code = ctx_base(c->ctx)->code;
  give(c->ctx->guard);
  return false;
}

bool api_enter(ApiCall *c) {
  if (c->code != POLY_OK) return report(c);
  return !c->ctx || enter(c); /* without a context: handles that belong to none, or an empty list of them */
}

bool api_enter_free(ApiCall *c) { return c->code == POLY_OK || report(c); }

/* A call that names no context has failed: samplers keep the reason, and what works on a list has none to begin with.
 */
static void note_failure(const ApiCall *c, PolyStatus status) {
  char text[160];
  snprintf(text, sizeof text, c->empty ? "%s: argument %s is empty" : "%s: the arguments do not fit", c->name,
           c->empty);
  thread_error(status, text);
}

void api_leave(ApiCall *c, PolyStatus status) {
  if (!c->ctx) {
    if (status != POLY_OK) note_failure(c, status);
    return;
  }
  if (status != POLY_OK) base_fail(ctx_base(c->ctx), status, "%s: the arguments do not fit", c->name);
  give(c->ctx->guard);
}

void api_refuse(ApiCall *c, PolyStatus code, const char *why) {
  c->code = code;
  thread_error(code, why);
}

void api_free_tensor(ApiCall *c, PolyTensor *t) {
  if (!t) return;
  api_handle(c, t, HANDLE_TENSOR, "t", true);
  if (c->code != POLY_OK) {
    report(c);
    return;
  }
  struct Guard *g = c->ctx->guard;
  if (g->lost) return;
  if (atomic_load_explicit(&g->owner, memory_order_relaxed) != self() && take(g, false)) {
    if (g->user != self()) change_user(g);
    poly_free(t);
    give(g);
    return;
  }
  handle_drop(t);
  PolyTensor *head = atomic_load(&g->freed);
  do t->freed_next = head;
  while (!atomic_compare_exchange_weak(&g->freed, &head, t));
}

void api_free_context(ApiCall *c, PolyContext *ctx) {
  if (!ctx) return;
  api_context(c, ctx);
  if (c->code != POLY_OK) {
    report(c);
    return;
  }
  if (ctx->guard->lost) return;
  take(ctx->guard, true);
  free_waiting(ctx->guard);
  if (last == ctx) last = NULL;
  poly_context_free(ctx);
}
