/* special.c: public functions whose arguments have rules of their own: contexts begin and end, errors are read after a
 * call has failed, and freeing never waits. */
#define POLY_CHECKED
#include "api/guard.h"

PolyContext *poly_context_new_with(const PolyAllocator *allocator) {
  ApiCall c;
  api_begin(&c, "poly_context_new");
  PolyContext *ctx = core_context_new_with(allocator);
  if (ctx && !guard_new(ctx)) {
    core_context_free(ctx);
    ctx = NULL;
  }
  if (!ctx) api_refuse(&c, POLY_ERROR_MEMORY, "out of memory: no context");
  return ctx;
}

PolyContext *poly_context_new(void) { return poly_context_new_with(NULL); }

void poly_context_free(PolyContext *ctx) {
  ApiCall c;
  api_begin(&c, "poly_context_free");
  api_free_context(&c, ctx);
}

void poly_free(PolyTensor *t) {
  ApiCall c;
  api_begin(&c, "poly_free");
  api_free_tensor(&c, t);
}

/* Reading an error must not replace it, so a context that is not alive is the same as none. */
static bool enter(ApiCall *c, const char *name, const PolyContext *ctx) {
  api_begin(c, name);
  c->reads_error = true;
  if (ctx) api_context(c, ctx);
  return c->ctx && c->code == POLY_OK && api_enter(c);
}

PolyStatus poly_error_code(const PolyContext *ctx) {
  ApiCall c;
  if (!enter(&c, "poly_error_code", ctx)) return api_thread_code();
  PolyStatus code = core_error_code(ctx);
  api_leave(&c, POLY_OK);
  return code;
}

const char *poly_error_text(const PolyContext *ctx) {
  ApiCall c;
  if (!enter(&c, "poly_error_text", ctx)) return api_thread_text();
  const char *text = api_keep_text(core_error_text(ctx));
  api_leave(&c, POLY_OK);
  return text;
}

void poly_clear_error(PolyContext *ctx) {
  ApiCall c;
  api_thread_clear();
  if (!enter(&c, "poly_clear_error", ctx)) return;
  core_clear_error(ctx);
  api_leave(&c, POLY_OK);
}
