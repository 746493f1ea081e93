/* guard.h: what every public function does before and after its work, once for all of them.
 *
 * A public function poly_x is written in src/api/checked.c, which is generated from include/polygrad.h: it looks at its
 * arguments, takes the lock of their context, calls core_x, and gives the lock back. The rest of the library defines
 * and calls core_x, under the name poly_x (src/ir/names.h, generated as well); nothing inside is checked or locked
 * again.
 *
 * Errors are kept for each thread that uses a context. A call that names no context that is alive leaves its error with
 * the thread, where poly_error_code(NULL) finds it, and in the context that the thread has used last. */
#ifndef POLY_GUARD_H
#define POLY_GUARD_H

#include "base/handles.h"
#include "ir/public.h"

typedef struct ApiCall {
  const char *name;  /* of the public function */
  PolyContext *ctx;  /* of the first handle that has one */
  const char *empty; /* a list of handles that has none, if there is one */
  bool reads_error;  /* the call is about the last error */
  PolyStatus code;   /* POLY_OK: no argument is known to be wrong */
  char why[160];     /* else: what is wrong with the first such one */
} ApiCall;
static inline void api_begin(ApiCall *c, const char *name) {
  c->name = name;
  c->ctx = NULL;
  c->empty = NULL;
  c->reads_error = false;
  c->code = POLY_OK;
}

/* Arguments. Each notes what is wrong in the call; api_enter reports the first. */
void api_context(ApiCall *c, const PolyContext *ctx);
void api_handle(ApiCall *c, const void *p, HandleKind kind, const char *arg, bool optional);
/* optional: the array may be NULL, its entries never. */
void api_handles(ApiCall *c, const void *array, int64_t n, HandleKind kind, const char *arg, bool optional);
void api_array(ApiCall *c, const void *p, bool needed, const char *arg);
void api_count(ApiCall *c, int64_t n, const char *arg);
void api_index(ApiCall *c, const PolyIndex *index, int n, const char *arg);
/* A value of an enumeration below count; what: "a dtype". */
void api_enum(ApiCall *c, int value, int count, const char *arg, const char *what);

/* Takes the lock of the call's context. False: an argument is wrong, and the error is set. */
bool api_enter(ApiCall *c);
/* The same for functions without a context: nothing is locked. */
bool api_enter_free(ApiCall *c);
/* Gives the lock back. A call that failed and did not say why gets an error that names it. */
void api_leave(ApiCall *c, PolyStatus status);
/* An error of a call without arguments. */
void api_refuse(ApiCall *c, PolyStatus code, const char *why);
/* poly_free: never waits. Where the context is in use, the handle is freed by whoever uses it. */
void api_free_tensor(ApiCall *c, PolyTensor *t);
/* poly_context_free: waits for the call of another thread that is under way. */
void api_free_context(ApiCall *c, PolyContext *ctx);
/* The error of a thread, for calls without a context. */
PolyStatus api_thread_code(void);
const char *api_thread_text(void);
void api_thread_clear(void);
/* A copy of the context's text that other threads do not change. */
const char *api_keep_text(const char *text);

/* A context's lock: made with it, freed with it. */
bool guard_new(PolyContext *ctx);
void guard_free(PolyContext *ctx);

#endif
