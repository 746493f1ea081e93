/* ir_fixture.h: a bare context (no devices, no front end), a repeatable random source, and what cmocka wants included.
 */
#ifndef IR_FIXTURE_H
#define IR_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/context.h"

bool ctx_init(PolyContext *ctx);
void ctx_drop(PolyContext *ctx);

typedef struct Fixture {
  PolyContext ctx;
  Scope scope;
  uint64_t random;
} Fixture;

static inline int fixture_open(void **state) {
  Fixture *f = calloc(1, sizeof *f);
  assert_non_null(f);
  assert_true(ctx_init(&f->ctx));
  f->ctx.verify = true;
  f->random = 12345;
  scope_enter(&f->ctx, &f->scope);
  *state = f;
  return 0;
}

/* Every node must be gone when its scope is left, and every byte when the context is. */
static inline int fixture_close(void **state) {
  Fixture *f = *state;
  scope_leave(&f->ctx, &f->scope);
  assert_int_equal(f->ctx.nnode, 0);
  ctx_drop(&f->ctx);
  assert_int_equal(f->ctx.base.bytes, 0);
  free(f);
  return 0;
}

static inline uint32_t draw(Fixture *f) {
  f->random = f->random * 6364136223846793005ULL + 1442695040888963407ULL;
  return (uint32_t)(f->random >> 33);
}

/* A number in lo..hi. */
static inline int64_t draw_in(Fixture *f, int64_t lo, int64_t hi) {
  return lo + (int64_t)(draw(f) % (uint64_t)(hi - lo + 1));
}

#define IR_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)

#endif
