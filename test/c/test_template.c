/* test_template.c: the device that docs/new-device.md begins with compiles, and runs a kernel in its own memory. */
#include "../../docs/template_device.c"

#include "linear_build.h"
#include "runtime_fixture.h"

static void test_template(void **state) {
  World *w = *state;
  Device *d = mine_open(w->runtime);
  assert_non_null(d);
  Kern *k = kern_new("twice");
  int out = kern_param(k, POLY_FLOAT32, true), in = kern_param(k, POLY_FLOAT32, false);
  int zero = kern_int(k, POLY_INT64, 0), n = kern_int(k, POLY_INT64, 4), i = kern_loop(k, zero, n, LOOP_PARALLEL);
  int x = kern_load(k, in, i, STRIDE_NONE, -1);
  kern_store(k, out, i, kern_alu(k, OP_ADD, POLY_FLOAT32, x, x, -1), STRIDE_NONE, -1);
  kern_end(k, i);
  const Linear *lin = &k->lin;
  Program *p = d->compile(d, NULL, 1, &lin);
  float host[8] = {0, 1, 2, 3};
  char *at = memory_alloc(d->memory, sizeof host);
  assert_true(d->memory->copy_in(d->memory, at, host, sizeof host));
  assert_true(d->launch(p, 0, (MemoryRef[]){{at, 16}, {at, 0}}, NULL, 1));
  assert_true(d->memory->copy_out(d->memory, host, at, sizeof host));
  for (int v = 0; v < 4; v++) assert_true(host[4 + v] == 2 * (float)v);
  memory_free(d->memory, at, sizeof host);
  d->program_free(p);
  w->runtime->memory[d->memory->number] = NULL;
  d->close(d);
  free(k);
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_template)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
