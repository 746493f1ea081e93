/* runtime_fixture.h: a bare context with a runtime and a cache directory of its own. When a test ends, nothing may be
 * left: no byte of the allocator, no file but cache entries. */
#ifndef RUNTIME_FIXTURE_H
#define RUNTIME_FIXTURE_H

#include "ir_fixture.h"
#include "ir/eval.h"
#include "runtime/device.h"
#include "runtime/host.h"

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct World {
  PolyContext ctx;
  Runtime *runtime;
  char dir[64]; /* of the cache */
  uint64_t random;
} World;

static inline uint32_t roll(World *w) {
  w->random = w->random * 6364136223846793005ULL + 1442695040888963407ULL;
  return (uint32_t)(w->random >> 33);
}
static inline float roll_float(World *w) { return (float)(int32_t)(roll(w) % 2001) / 1000.0f - 1.0f; }

static inline int world_open(void **state) {
  World *w = calloc(1, sizeof *w);
  w->random = 7;
  snprintf(w->dir, sizeof w->dir, "/tmp/poly_test_XXXXXX");
  assert_non_null(mkdtemp(w->dir));
  setenv("POLY_CACHE_DIR", w->dir, 1);
  unsetenv("POLY_DEVICE");
  unsetenv("CC");
  assert_true(ctx_init(&w->ctx));
  w->ctx.verify = true;
  w->runtime = runtime_new(&w->ctx);
  assert_non_null(w->runtime);
  *state = w;
  return 0;
}

static inline int count_files(const char *dir, const char *suffix, char *last) {
  int n = 0;
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d));) {
    size_t len = strlen(e->d_name), s = strlen(suffix);
    if (e->d_name[0] == '.' || len < s || strcmp(e->d_name + len - s, suffix)) continue;
    if (last) sprintf(last, "%s/%s", dir, e->d_name);
    n++;
  }
  if (d) closedir(d);
  return n;
}

static inline int world_close(void **state) {
  World *w = *state;
  char path[512];
  assert_int_equal(w->runtime->live_bytes, 0);
  runtime_free(w->runtime);
  ctx_drop(&w->ctx);
  assert_int_equal(w->ctx.base.bytes, 0);
  chmod(w->dir, 0700);
  while (count_files(w->dir, ".pack", path)) unlink(path);
  assert_int_equal(rmdir(w->dir), 0);
  free(w);
  return 0;
}

static inline Device *device(World *w, const char *name) {
  Device *d = runtime_open(w->runtime, name);
  assert_non_null(d);
  return d;
}

/* Random values of a dtype, special ones among them. */
static inline void fill(World *w, PolyDType d, void *p, int n) {
  static const double special[] = {0, -0.0, 1, -1, 0.5, INFINITY, -INFINITY, NAN, 3.7, -2.5, 300, 65504};
  for (int i = 0; i < n; i++) {
    Value v = {.i = (int64_t)((uint64_t)roll(w) << 40 ^ (uint64_t)roll(w) << 20 ^ roll(w))};
    if (roll(w) % 3 == 0) v.i = (int64_t)(roll(w) % 9) - 4;
    if (dtype_is_float(d)) v.f = roll(w) % 2 ? special[roll(w) % 12] : (double)roll_float(w) * 5;
    v = value_cast(v, dtype_is_float(d) ? POLY_FLOAT64 : POLY_INT64, d);
    value_store((char *)p + i * dtype_size(d), d, v);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_open, world_close)

#endif
