/* test_cache.c: the packs that compiled programs are kept in. Entries here are plain bytes: what a program makes of
 * them is tested in test_runtime.c. */
#include "runtime_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { MANY = 200, BYTES = 1000, ENTRY = BYTES + 112 };
static const int64_t no_limit = INT64_C(1) << 40;

static CacheKey key_of(int k) {
  char text[32];
  CacheKey key;
  snprintf(text, sizeof text, "program %d", k);
  cache_key(&key, 1, (const char *const[]){text});
  return key;
}

/* Bytes that follow from a number, so that one entry is never taken for another. */
static void bytes_of(int k, char out[BYTES]) {
  for (int i = 0; i < BYTES; i++) out[i] = (char)(k * 31 + i * 7);
}

static bool put(World *w, int k, int64_t limit) {
  char bytes[BYTES];
  CacheKey key = key_of(k);
  bytes_of(k, bytes);
  return cache_put(w->dir, &key, bytes, BYTES, limit);
}

/* Whole and right, or not there: anything else is a failure. */
static bool has(World *w, int k) {
  size_t n = 0;
  char want[BYTES];
  CacheKey key = key_of(k);
  char *bytes = cache_get(&w->ctx.base, w->dir, &key, &n);
  if (!bytes) return false;
  bytes_of(k, want);
  assert_int_equal(n, BYTES);
  assert_memory_equal(bytes, want, BYTES);
  mem_free(&w->ctx.base, bytes, n);
  return true;
}

static int count_of(World *w, int first, int n) {
  int found = 0;
  for (int k = first; k < first + n; k++) found += has(w, k);
  return found;
}

static CacheCount count(World *w) {
  CacheCount c;
  cache_count(w->dir, &c);
  return c;
}

/* The pack that an entry is in: the first two digits of its key, of 64 packs. */
static void pack_of_key(World *w, int k, char *path, size_t n) {
  CacheKey key = key_of(k);
  unsigned head = 0;
  sscanf(key.text, "%2x", &head);
  snprintf(path, n, "%s/kernels-%02x.pack", w->dir, head % 64);
}

/* Another number whose entry is in the same pack, behind the given one. */
static int neighbour(World *w, int k) {
  char mine[512], other[512];
  pack_of_key(w, k, mine, sizeof mine);
  for (int i = k + 1;; i++) {
    pack_of_key(w, i, other, sizeof other);
    if (!strcmp(mine, other)) return i;
  }
}

/* Says when an entry was used last: the field at byte 96 of its header. Packs begin with the entry that came first. */
static void set_used(World *w, int k, int64_t when) {
  char path[512], head[112];
  CacheKey key = key_of(k);
  pack_of_key(w, k, path, sizeof path);
  int fd = open(path, O_RDWR);
  assert_true(fd >= 0);
  for (off_t at = 0; pread(fd, head, sizeof head, at) == (ssize_t)sizeof head; at += ENTRY)
    if (!memcmp(head + 8, key.text, CACHE_KEY)) assert_int_equal(pwrite(fd, &when, sizeof when, at + 96), sizeof when);
  close(fd);
}

/* ---- what is kept ---- */

static void test_few_files(void **state) {
  World *w = *state;
  for (int k = 0; k < MANY; k++) assert_true(put(w, k, no_limit));
  for (int k = 0; k < MANY; k++) assert_true(put(w, k, no_limit)); /* kept once */
  assert_int_equal(count_of(w, 0, MANY), MANY);
  assert_false(has(w, MANY));
  CacheCount c = count(w);
  assert_int_equal(c.entries, MANY);
  assert_int_equal(c.bytes, MANY * ENTRY);
  assert_true(c.files <= 64);
  assert_int_equal(count_files(w->dir, "", NULL), c.files);
}

static void test_clear(void **state) {
  World *w = *state;
  char path[512], other[128];
  snprintf(other, sizeof other, "%s/data", w->dir);
  FILE *f = fopen(other, "w"); /* not the cache's */
  fclose(f);
  for (int k = 0; k < MANY; k++) assert_true(put(w, k, no_limit));
  cache_clear(w->dir);
  assert_int_equal(count(w).entries, 0);
  assert_int_equal(count_files(w->dir, ".pack", path), 0);
  assert_int_equal(unlink(other), 0);
  assert_true(put(w, 1, no_limit) && has(w, 1));
}

/* ---- the limit ---- */

static void test_limit_holds_at_all_times(void **state) {
  World *w = *state;
  int64_t limit = 20 * ENTRY;
  for (int k = 0; k < MANY; k++) {
    assert_true(put(w, k, limit));
    assert_true(count(w).bytes <= limit);
    assert_true(has(w, k)); /* the newest stays */
  }
  assert_true(count(w).entries >= 10);
}

static void test_least_recently_used_goes_first(void **state) {
  World *w = *state;
  for (int k = 0; k < 40; k++) assert_true(put(w, k, no_limit));
  for (int k = 0; k < 40; k++) set_used(w, k, k % 2 ? 2000 + k : 1000 + k);
  cache_trim(w->dir, 20 * ENTRY);
  for (int k = 0; k < 40; k++) assert_int_equal(has(w, k), k % 2);
  for (int k = 1; k < 40; k += 2) set_used(w, k, 1000 + k);
  assert_true(has(w, 1) && has(w, 3)); /* using them is noted */
  cache_trim(w->dir, 4 * ENTRY);
  assert_true(has(w, 1) && has(w, 3) && has(w, 37) && has(w, 39));
  assert_int_equal(count(w).entries, 4);
}

/* Entries of one moment: as many of them stay as fit. */
static void test_trim_among_equals(void **state) {
  World *w = *state;
  for (int k = 0; k < 40; k++) assert_true(put(w, k, no_limit));
  for (int k = 0; k < 40; k++) set_used(w, k, 1000);
  cache_trim(w->dir, 15 * ENTRY);
  assert_int_equal(count(w).entries, 15);
  cache_trim(w->dir, 0);
  assert_int_equal(count(w).entries, 0);
}

static void test_larger_than_the_limit_is_not_kept(void **state) {
  World *w = *state;
  assert_true(put(w, 1, no_limit));
  assert_false(put(w, 2, ENTRY - 1));
  assert_true(has(w, 1));
  assert_false(has(w, 2));
  assert_false(put(w, 2, 0)); /* a limit of zero: nothing is kept */
}

static void test_limit_from_the_environment(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t bytes;
  } row[] = {{"", INT64_C(1) << 30},
             {"junk", INT64_C(1) << 30}, /* no number: the default, not a cache of no bytes */
             {"0", 0},
             {"500", 500},
             {"20K", 20 << 10},
             {"1.5m", 3 << 19},
             {"2 G", INT64_C(2) << 30},
             {"1T", INT64_C(1) << 40},
             {"-3", INT64_C(1) << 30}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    setenv("POLY_CACHE_SIZE", row[i].text, 1);
    assert_int_equal(cache_default_limit(), row[i].bytes);
  }
  unsetenv("POLY_CACHE_SIZE");
  assert_int_equal(cache_default_limit(), INT64_C(1) << 30);
}

/* ---- damage ---- */

static void test_damaged_packs(void **state) {
  World *w = *state;
  int a = 0, b = neighbour(w, a), c = neighbour(w, b);
  char path[512];
  pack_of_key(w, a, path, sizeof path);
  for (int at = 0; at < 3 * ENTRY; at += 37) { /* one byte, anywhere */
    cache_clear(w->dir);
    assert_true(put(w, a, no_limit) && put(w, b, no_limit) && put(w, c, no_limit));
    int fd = open(path, O_RDWR);
    char byte;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte = (char)~byte;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
    has(w, a), has(w, b), has(w, c); /* right or absent */
    assert_true(put(w, a, no_limit) && put(w, b, no_limit) && put(w, c, no_limit));
    assert_true(has(w, a) && has(w, b) && has(w, c)); /* and made again */
    cache_trim(w->dir, no_limit);
    assert_true(has(w, a) && has(w, b) && has(w, c));
    assert_int_equal(count(w).entries, 3);
  }
}

static void test_cut_packs(void **state) {
  World *w = *state;
  int a = 0, b = neighbour(w, a);
  char path[512];
  pack_of_key(w, a, path, sizeof path);
  for (int size = 0; size < 2 * ENTRY; size += 53) {
    cache_clear(w->dir);
    assert_true(put(w, a, no_limit) && put(w, b, no_limit));
    assert_int_equal(truncate(path, size), 0);
    assert_int_equal(has(w, a), size >= ENTRY);
    assert_false(has(w, b));
    assert_true(put(w, b, no_limit) && has(w, b));
    assert_int_equal(has(w, a), size >= ENTRY);
  }
}

/* A pack of another format, and files of one kernel each, which earlier versions wrote. */
static void test_old_versions(void **state) {
  World *w = *state;
  char path[512], single[512], notes[512];
  pack_of_key(w, 0, path, sizeof path);
  FILE *f = fopen(path, "w");
  for (int i = 0; i < 500; i++) fputs("polypak0 of before ", f);
  fclose(f);
  assert_int_equal(chmod(path, 0600), 0);
  assert_false(has(w, 0));
  assert_true(put(w, 0, no_limit) && has(w, 0));
  assert_int_equal(count(w).bytes, ENTRY);
  CacheKey key = key_of(5);
  snprintf(single, sizeof single, "%s/%s.so", w->dir, key.text);
  snprintf(notes, sizeof notes, "%s/notes.so", w->dir);
  fclose(fopen(single, "w"));
  fclose(fopen(notes, "w"));
  cache_tidy(w->dir);
  assert_int_equal(access(single, F_OK), -1);
  assert_int_equal(unlink(notes), 0);
  assert_true(has(w, 0));
}

static void test_packs_of_others_are_not_read(void **state) {
  World *w = *state;
  char path[512], real[512];
  assert_true(put(w, 0, no_limit));
  pack_of_key(w, 0, path, sizeof path);
  assert_int_equal(chmod(path, 0666), 0); /* anybody could have written it */
  assert_false(has(w, 0));
  assert_false(put(w, 0, no_limit));
  assert_int_equal(chmod(path, 0600), 0);
  assert_true(has(w, 0));
  snprintf(real, sizeof real, "%s/real.pack", w->dir);
  assert_int_equal(rename(path, real), 0);
  assert_int_equal(symlink(real, path), 0);
  assert_false(has(w, 0));
  unlink(path);
}

/* ---- full disks ---- */

/* In a child: a file may not grow beyond some bytes, which is what a full disk looks like to who writes. */
static void test_full_disk(void **state) {
  World *w = *state;
  int a = 0, b = neighbour(w, a), c = neighbour(w, b);
  assert_true(put(w, a, no_limit));
  for (int room = ENTRY; room < 2 * ENTRY; room += 101) {
    pid_t child = fork();
    if (child == 0) {
      struct rlimit most = {(rlim_t)room, (rlim_t)room};
      signal(SIGXFSZ, SIG_IGN);
      setrlimit(RLIMIT_FSIZE, &most);
      _exit(put(w, b, no_limit) ? 1 : 0); /* it says that it did not keep it */
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(has(w, a) && !has(w, b));
    assert_int_equal(count(w).bytes, ENTRY); /* no half entry is left */
  }
  assert_true(put(w, b, no_limit) && put(w, c, no_limit) && has(w, a) && has(w, b) && has(w, c));
}

/* Removing old entries writes packs anew: where there is no room for that, the old ones stay. */
static void test_full_disk_while_trimming(void **state) {
  World *w = *state;
  int a = 0, b = neighbour(w, a), c = neighbour(w, b);
  assert_true(put(w, a, no_limit) && put(w, b, no_limit) && put(w, c, no_limit));
  set_used(w, a, 1000);
  pid_t child = fork();
  if (child == 0) {
    struct rlimit most = {ENTRY + 10, ENTRY + 10};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &most);
    cache_trim(w->dir, 2 * ENTRY);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(count_files(w->dir, ".new", NULL), 0);
  assert_true(has(w, b) && has(w, c));
}

/* ---- several processes ---- */

static void test_two_processes_at_once(void **state) {
  World *w = *state;
  enum { PROCESSES = 4, EACH = 60, COMMON = 40 };
  pid_t child[PROCESSES];
  for (int p = 0; p < PROCESSES; p++) {
    if ((child[p] = fork())) continue;
    bool ok = true;
    for (int k = 0; k < EACH && ok; k++) {
      int own = COMMON + p * EACH + k;
      ok = put(w, k % COMMON, no_limit) && put(w, own, no_limit) && has(w, k % COMMON) && has(w, own);
    }
    _exit(ok ? 0 : 1);
  }
  for (int p = 0; p < PROCESSES; p++) {
    int status;
    assert_int_equal(waitpid(child[p], &status, 0), child[p]);
    assert_int_equal(status, 0);
  }
  assert_int_equal(count_of(w, 0, COMMON + PROCESSES * EACH), COMMON + PROCESSES * EACH);
  assert_int_equal(count(w).entries, COMMON + PROCESSES * EACH); /* the common ones once */
}

/* Some write, some trim: what is found is right, and the limit holds in the end. */
static void test_writers_beside_trimmers(void **state) {
  World *w = *state;
  enum { PROCESSES = 4 };
  pid_t child[PROCESSES];
  for (int p = 0; p < PROCESSES; p++) {
    if ((child[p] = fork())) continue;
    for (int k = 0; k < 60; k++) {
      put(w, 1000 * p + k, 30 * ENTRY);
      has(w, 1000 * ((p + 1) % PROCESSES) + k);
    }
    _exit(0);
  }
  for (int p = 0; p < PROCESSES; p++) {
    int status;
    assert_int_equal(waitpid(child[p], &status, 0), child[p]);
    assert_int_equal(status, 0);
  }
  assert_true(put(w, 9999, 30 * ENTRY) && has(w, 9999));
  assert_true(count(w).bytes <= 30 * ENTRY);
  assert_int_equal(count_files(w->dir, ".new", NULL), 0);
}

/* A process that is killed in the middle of its work, at many moments. */
static void test_killed_writers(void **state) {
  World *w = *state;
  for (int round = 0; round < 30; round++) {
    pid_t child = fork();
    if (child == 0) {
      for (int k = 0;; k++) put(w, k % 300, 40 * ENTRY);
    }
    usleep((useconds_t)(200 + 331 * round));
    kill(child, SIGKILL);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    count_of(w, 0, 300);                                                 /* right or absent */
    assert_true(put(w, 500 + round, 40 * ENTRY) && has(w, 500 + round)); /* no lock is left */
  }
  assert_true(count(w).bytes <= 40 * ENTRY);
  cache_trim(w->dir, no_limit); /* writes every pack anew: nothing of the killed ones is left beside them */
  assert_int_equal(count_files(w->dir, ".new", NULL), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_few_files),
      TEST(test_clear),
      TEST(test_limit_holds_at_all_times),
      TEST(test_least_recently_used_goes_first),
      TEST(test_trim_among_equals),
      TEST(test_larger_than_the_limit_is_not_kept),
      TEST(test_limit_from_the_environment),
      TEST(test_damaged_packs),
      TEST(test_cut_packs),
      TEST(test_old_versions),
      TEST(test_packs_of_others_are_not_read),
      TEST(test_full_disk),
      TEST(test_full_disk_while_trimming),
      TEST(test_two_processes_at_once),
      TEST(test_writers_beside_trimmers),
      TEST(test_killed_writers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
