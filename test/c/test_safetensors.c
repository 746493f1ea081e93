/* test_safetensors.c: files with tensors. Round trips for every dtype; a table of headers that must be refused, each
 * with its reason; whole files that are cut short or lie about their length; mutations of a good file, which may be
 * accepted or refused but never crash; and saving that either replaces the file or leaves it. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing.h"
#include "nn/safetensors.h"

/* ---- headers ---- */

#define T(name, dtype, shape, offsets)                                                                                 \
  "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}"

typedef struct HeaderCase {
  const char *text;
  int64_t data;
  const char *why; /* part of the error text; NULL: accepted */
} HeaderCase;

static const HeaderCase headers[] = {
    {"{}", 0, NULL},
    {" { } \n ", 0, NULL},
    {"{" T("a", "F32", "2,3", "0,24") "}", 24, NULL},
    {"{" T("a", "F32", "", "0,4") "}", 4, NULL},
    {"{" T("a", "F32", "0,9223372036854775807,5", "0,0") "}", 0, NULL},
    {"{" T("b", "I8", "2", "4,6") "," T("a", "F32", "1", "0,4") "}", 6, NULL},
    {"{\"__metadata__\":{\"format\":\"pt\",\"x\":\"\\u00e9\"}," T("a", "U8", "1", "0,1") "}", 1, NULL},
    {"{\"a\":{\"extra\":[1,{\"b\":[]},-2.5e3,null,true,{}],\"shape\":[1],\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1,
     NULL},
    {"{" T("\\ud83d\\ude00 \\\" \\\\ \\n", "U8", "1", "0,1") "}", 1, NULL},
    {"", 0, "ends too early"},
    {"[]", 0, "expected '{'"},
    {"{", 0, "ends too early"},
    {"{}x", 0, "text after the end"},
    {"{" T("a", "F32", "1", "0,4") ",}", 4, "expected '\"'"},
    {"{" T("a", "F32", "1", "0,4"), 4, "ends too early"},
    {"{\"a\":1}", 0, "expected '{'"},
    {"{\"a\":{}}", 0, "lacks"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "lacks"},
    {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "twice"},
    {"{" T("a", "F99", "1", "0,4") "}", 4, "F99"},
    {"{" T("a", "F32", "-1", "0,4") "}", 4, "whole number"},
    {"{" T("a", "F32", "1.0", "0,4") "}", 4, "whole number"},
    {"{" T("a", "F32", "1e3", "0,4") "}", 4, "whole number"},
    {"{" T("a", "F32", "01", "0,4") "}", 4, "begins with 0"},
    {"{" T("a", "F32", "99999999999999999999", "0,4") "}", 4, "too large"},
    {"{" T("a", "F32", "4611686018427387904,2", "0,4") "}", 4, "too large"},
    {"{" T("a", "F32", "9223372036854775807", "0,4") "}", 4, "too large"},
    {"{" T("a", "F32", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", "0,4") "}", 4, "too many dimensions"},
    {"{" T("a", "F32", "1", "0") "}", 4, "two numbers"},
    {"{" T("a", "F32", "1", "0,4,8") "}", 4, "two numbers"},
    {"{" T("a", "F32", "1", "4,0") "}", 4, "bytes 4..0"},
    {"{" T("a", "F32", "1", "0,4") "}", 3, "of 3"},
    {"{" T("a", "F32", "2", "0,4") "}", 4, "need 8"},
    {"{" T("a", "F32", "1", "0,4") "}", 5, "belong to no tensor"},
    {"{" T("a", "F32", "1", "4,8") "}", 8, "hole"},
    {"{" T("a", "F32", "2", "0,8") "," T("b", "F32", "2", "4,12") "}", 12, "overlaps"},
    {"{" T("a", "U8", "1", "0,1") "," T("a", "U8", "1", "1,2") "}", 2, "there twice"},
    {"{" T("a\\u0000b", "U8", "1", "0,1") "}", 1, "NUL"},
    {"{" T("\\ud83d", "U8", "1", "0,1") "}", 1, "surrogate"},
    {"{" T("\\ude00", "U8", "1", "0,1") "}", 1, "surrogate"},
    {"{" T("\\ud83dxxxxxx", "U8", "1", "0,1") "}", 1, "surrogate"},
    {"{" T("\\u12g4", "U8", "1", "0,1") "}", 1, "hexadecimal"},
    {"{" T("\\x41", "U8", "1", "0,1") "}", 1, "escape"},
    {"{" T("\xc0\x80", "U8", "1", "0,1") "}", 1, "UTF-8"},
    {"{" T("\xed\xa0\x80", "U8", "1", "0,1") "}", 1, "UTF-8"},
    {"{" T("\xff", "U8", "1", "0,1") "}", 1, "UTF-8"},
    {"{\"a\nb\":{}}", 0, "control character"},
    {"{\"a", 0, "ends too early"},
    {"{\"a\\", 0, "escape"},
    {"{\"__metadata__\":{\"a\":}}", 0, "expected a value"},
    {"{\"__metadata__\":[1,]}", 0, "expected a value"},
    {"{\"__metadata__\":[1 2]}", 0, "expected ','"},
    {"{\"__metadata__\":", 0, "expected a value"},
};

static void headers_are_judged(void **state) {
  (void)state;
  for (int k = 0; k < LEN(headers); k++) {
    const HeaderCase *c = &headers[k];
    Base b = {0};
    SafeHeader h = {.b = &b};
    size_t n = strlen(c->text);
    char *exact = malloc(n + 1); /* no terminator within reach: the sanitizer sees one byte too far */
    memcpy(exact, c->text, n);
    exact = realloc(exact, n ? n : 1);
    bool ok = safe_header_parse(&h, exact, n, c->data);
    if (ok != !c->why) fail_msg("header %d (%s) was %s: %s", k, c->text, ok ? "accepted" : "refused", b.text);
    if (c->why && (b.code != POLY_ERROR_IO || !strstr(b.text, c->why)))
      fail_msg("header %d (%s): code %d, '%s' does not say '%s'", k, c->text, b.code, b.text, c->why);
    safe_header_free(&h);
    assert_int_equal(b.bytes, 0);
    free(exact);
  }
}

/* A thousand brackets are refused without a thousand stack frames. */
static void nesting_is_limited(void **state) {
  (void)state;
  enum { DEEP = 1000000 };
  static const char *const openers[] = {"[", "{\"a\":"};
  for (int k = 0; k < LEN(openers); k++) {
    Base b = {0};
    SafeHeader h = {.b = &b};
    Str s = {.b = &b};
    str_add(&s, "{\"__metadata__\":");
    for (int i = 0; i < DEEP; i++) str_add(&s, openers[k]);
    assert_false(safe_header_parse(&h, s.at, s.n, 0));
    assert_non_null(strstr(b.text, "nested too deeply"));
    str_free(&s);
    safe_header_free(&h);
    assert_int_equal(b.bytes, 0);
  }
}

static void values_of_a_header(void **state) {
  (void)state;
  static const char text[] = "{" T("\\u00e9\\ud83d\\ude00", "BF16", "2,3", "0,12") "," T("b", "I64", "", "12,20") "}";
  Base b = {0};
  SafeHeader h = {.b = &b};
  assert_true(safe_header_parse(&h, text, sizeof text - 1, 20));
  assert_int_equal(h.entry.n, 2);
  const SafeEntry *e = h.entry.at;
  assert_string_equal(e[0].name, "\xc3\xa9\xf0\x9f\x98\x80");
  assert_int_equal(e[0].dtype, POLY_BFLOAT16);
  assert_int_equal(e[0].ndim, 2);
  assert_true(e[0].shape[0] == 2 && e[0].shape[1] == 3 && e[0].begin == 0 && e[0].end == 12);
  assert_true(e[1].dtype == POLY_INT64 && e[1].ndim == 0 && e[1].begin == 12 && e[1].end == 20);
  safe_header_free(&h);
}

/* Byte flips, cuts and repeats of a good header: any answer but a crash, and no memory left behind. */
static void mutated_headers(void **state) {
  (void)state;
  static const char good[] = "{\"__metadata__\":{\"k\":[1,{\"z\":null}]}," T("a", "F32", "2,3", "0,24") "," T(
      "b\\u00e9\\n", "I8", "4", "24,28") "}";
  static const char bytes[] = "{}[]\",:\\u0123456789eE.-+ \n\xff\xc3\x80 ntf";
  uint64_t random = 99;
  int accepted = 0;
  for (int round = 0; round < 20000; round++) {
    Base b = {0};
    SafeHeader h = {.b = &b};
    size_t n = sizeof good - 1;
    char *text = malloc(n);
    memcpy(text, good, n);
    for (int k = 0; k < 1 + round % 4; k++) {
      random = random * 6364136223846793005ULL + 1442695040888963407ULL;
      size_t at = (size_t)(random >> 33) % n;
      if (random & 1024)
        text[at] = bytes[(random >> 20) % (sizeof bytes - 1)];
      else if (at + 8 < n)
        memmove(text + at, text + at + (random >> 16) % 8, n - at - 8);
      if ((random & 0x70000) == 0) n = at + 1;
    }
    text = realloc(text, n);
    accepted += safe_header_parse(&h, text, n, 28);
    assert_true(b.code == POLY_OK || b.code == POLY_ERROR_IO);
    safe_header_free(&h);
    assert_int_equal(b.bytes, 0);
    free(text);
  }
  assert_in_range(accepted, 1, 10000);
}

/* ---- files ---- */

typedef struct Files {
  PolyContext *ctx;
  char folder[64], path[96];
} Files;

static int files_open(void **state) {
  Files *f = calloc(1, sizeof *f);
  strcpy(f->folder, "/tmp/polygrad-test-XXXXXX");
  assert_non_null(mkdtemp(f->folder));
  snprintf(f->path, sizeof f->path, "%s/model.safetensors", f->folder);
  f->ctx = poly_context_new();
  assert_non_null(f->ctx);
  poly_set_device(f->ctx, "INTERP");
  poly_clear_error(f->ctx);
  *state = f;
  return 0;
}

static int files_close(void **state) {
  Files *f = *state;
  poly_context_free(f->ctx);
  unlink(f->path);
  assert_int_equal(rmdir(f->folder), 0); /* no temporary file is left */
  free(f);
  return 0;
}

static void write_bytes(const char *path, const void *data, size_t n) {
  FILE *out = fopen(path, "wb");
  assert_non_null(out);
  assert_int_equal(fwrite(data, 1, n, out), n);
  fclose(out);
}

static size_t read_bytes(const char *path, unsigned char *data, size_t max) {
  FILE *in = fopen(path, "rb");
  assert_non_null(in);
  size_t n = fread(data, 1, max, in);
  fclose(in);
  return n;
}

static void put_length(unsigned char *to, uint64_t n) {
  for (int k = 0; k < 8; k++) to[k] = (unsigned char)(n >> 8 * k);
}

static void refused(Files *f, const char *why) {
  assert_null(poly_safe_open(f->ctx, f->path));
  assert_int_equal(poly_error_code(f->ctx), POLY_ERROR_IO);
  if (!strstr(poly_error_text(f->ctx), why)) fail_msg("'%s' does not say '%s'", poly_error_text(f->ctx), why);
  poly_clear_error(f->ctx);
}

static void bad_files(void **state) {
  Files *f = *state;
  unsigned char file[256] = {0};
  static const char header[] = "{" T("a", "F32", "2", "0,8") "}";
  size_t n = sizeof header - 1, whole = 8 + n + 8;
  put_length(file, n);
  memcpy(file + 8, header, n);
  refused(f, "No such file");
  for (size_t cut = 0; cut < whole; cut++) {
    write_bytes(f->path, file, cut);
    refused(f, cut < 8 ? "too few" : cut < 8 + n ? "claims a header" : "of");
  }
  write_bytes(f->path, file, whole + 1);
  refused(f, "belong to no tensor");
  static const uint64_t lies[] = {UINT64_MAX, INT64_MAX, 1ull << 32, 200};
  for (int k = 0; k < LEN(lies); k++) {
    put_length(file, lies[k]);
    write_bytes(f->path, file, whole);
    refused(f, "claims a header");
  }
  put_length(file, n - 1);
  write_bytes(f->path, file, whole);
  refused(f, "ends too early");
  put_length(file, n);
  write_bytes(f->path, file, whole);
  PolyStateFile *ok = poly_safe_open(f->ctx, f->path);
  assert_non_null(ok);
  assert_int_equal(poly_safe_count(ok), 1);
  assert_null(poly_safe_name(ok, 1));
  assert_null(poly_safe_get(ok, 1));
  assert_int_equal(poly_error_code(f->ctx), POLY_ERROR_INDEX);
  poly_clear_error(f->ctx);
  /* cut after it was opened */
  assert_int_equal(truncate(f->path, (off_t)whole - 1), 0);
  assert_null(poly_safe_get(ok, 0));
  assert_int_equal(poly_error_code(f->ctx), POLY_ERROR_IO);
  poly_clear_error(f->ctx);
  poly_safe_close(ok);
  unlink(f->path);
  assert_int_equal(mkfifo(f->path, 0600), 0);
  refused(f, "not a regular file");
  unlink(f->path);
  assert_int_equal(mkdir(f->path, 0700), 0);
  refused(f, "");
  rmdir(f->path);
}

enum { ITEMS = 6 };

/* Every dtype, a scalar, an empty tensor; names that need escapes. Items of one byte come first in the call, so the
 * data is reordered; names and values are not. */
static void round_trip(void **state) {
  Files *f = *state;
  enum { N = POLY_DTYPE_COUNT + 2 };
  PolyTensor *t[N];
  char names[N][32];
  const char *name[N];
  unsigned char data[N][ITEMS * 8], got[ITEMS * 8];
  for (int k = 0; k < N; k++) {
    PolyDType dtype = k < POLY_DTYPE_COUNT ? (PolyDType)k : POLY_FLOAT32;
    for (int i = 0; i < ITEMS * 8; i++)
      data[k][i] = dtype == POLY_BOOL ? i & 1 : (unsigned char)(k * 31 + i * 7) & 0x3f;
    snprintf(names[k], sizeof names[k], "layer.%d \"\\\n\xc3\xa9", k);
    name[k] = names[k];
    int ndim = k == POLY_DTYPE_COUNT ? 0 : 2;
    t[k] = poly_from_data(f->ctx, data[k], dtype, ndim, (int64_t[]){k == N - 1 ? 0 : 2, 3});
    assert_non_null(t[k]);
  }
  assert_int_equal(poly_safe_save(f->ctx, f->path, name, t, N), POLY_OK);
  for (int k = 0; k < N; k++) poly_free(t[k]);
  PolyStateFile *file = poly_safe_open(f->ctx, f->path);
  if (!file) fail_msg("%s", poly_error_text(f->ctx));
  assert_int_equal(poly_safe_count(file), N);
  for (int k = 0; k < N; k++) {
    PolyDType dtype = k < POLY_DTYPE_COUNT ? (PolyDType)k : POLY_FLOAT32;
    size_t bytes = (size_t)(k == N - 1 ? 0 : k == POLY_DTYPE_COUNT ? 1 : ITEMS) * (size_t)poly_dtype_size(dtype);
    assert_string_equal(poly_safe_name(file, k), name[k]);
    PolyTensor *x = poly_safe_get(file, k);
    assert_non_null(x);
    assert_int_equal(poly_dtype(x), dtype);
    assert_int_equal(poly_ndim(x), k == POLY_DTYPE_COUNT ? 0 : 2);
    assert_int_equal(poly_read(x, got, bytes), POLY_OK);
    assert_memory_equal(got, data[k], bytes);
    poly_free(x);
  }
  poly_safe_close(file);
}

/* Mutations of a whole file, length and data included. */
static void mutated_files(void **state) {
  Files *f = *state;
  unsigned char good[512], bad[512];
  float v[4] = {1, 2, 3, 4};
  PolyTensor *t[2] = {poly_from_data(f->ctx, v, POLY_FLOAT32, 1, (int64_t[]){4}),
                      poly_from_data(f->ctx, v, POLY_UINT8, 2, (int64_t[]){2, 3})};
  assert_int_equal(poly_safe_save(f->ctx, f->path, (const char *[]){"a", "b"}, t, 2), POLY_OK);
  size_t n = read_bytes(f->path, good, sizeof good);
  uint64_t random = 7;
  for (int round = 0; round < 1000; round++) {
    memcpy(bad, good, n);
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    bad[(random >> 33) % (round % 4 ? n : 8)] ^= (unsigned char)(1u << (random >> 30 & 7));
    write_bytes(f->path, bad, random >> 28 & 1 ? n : (size_t)(random >> 40) % n);
    PolyStateFile *file = poly_safe_open(f->ctx, f->path);
    if (!file) assert_int_equal(poly_error_code(f->ctx), POLY_ERROR_IO);
    for (int k = 0; k < poly_safe_count(file); k++) poly_free(poly_safe_get(file, k));
    poly_safe_close(file);
    poly_clear_error(f->ctx);
  }
  poly_free(t[0]);
  poly_free(t[1]);
}

/* Out of room (a limit on file size stands for a full disk): an error, and the old file as it was. */
static void a_full_disk_keeps_the_old_file(void **state) {
  Files *f = *state;
  unsigned char before[256], after[256];
  static float big[4096];
  PolyTensor *small = poly_from_data(f->ctx, big, POLY_FLOAT32, 1, (int64_t[]){2});
  PolyTensor *large = poly_from_data(f->ctx, big, POLY_FLOAT32, 1, (int64_t[]){4096});
  assert_int_equal(poly_safe_save(f->ctx, f->path, (const char *[]){"x"}, &small, 1), POLY_OK);
  size_t n = read_bytes(f->path, before, sizeof before);
  struct rlimit old, limit;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  limit = (struct rlimit){.rlim_cur = 1000, .rlim_max = old.rlim_max};
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  PolyStatus status = poly_safe_save(f->ctx, f->path, (const char *[]){"x"}, &large, 1);
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, handler);
  assert_int_equal(status, POLY_ERROR_IO);
  poly_clear_error(f->ctx);
  assert_int_equal(read_bytes(f->path, after, sizeof after), n);
  assert_memory_equal(before, after, n);
  char nowhere[160];
  snprintf(nowhere, sizeof nowhere, "%s/none/x", f->folder);
  assert_int_equal(poly_safe_save(f->ctx, nowhere, (const char *[]){"x"}, &small, 1), POLY_ERROR_IO);
  poly_clear_error(f->ctx);
  poly_free(small);
  poly_free(large);
}

static void names_are_checked(void **state) {
  Files *f = *state;
  float v[2] = {0};
  PolyTensor *t = poly_from_data(f->ctx, v, POLY_FLOAT32, 1, (int64_t[]){2});
  static const char *const bad[][2] = {{"a", "a"}, {"a", "__metadata__"}, {"a", "\xff"}, {"a", NULL}};
  for (int k = 0; k < LEN(bad); k++) {
    assert_int_equal(poly_safe_save(f->ctx, f->path, bad[k], (PolyTensor *[]){t, t}, 2), POLY_ERROR_VALUE);
    poly_clear_error(f->ctx);
  }
  assert_int_equal(poly_safe_save(f->ctx, f->path, bad[0], (PolyTensor *[]){t, NULL}, 2), POLY_ERROR_VALUE);
  poly_clear_error(f->ctx);
  assert_int_equal(poly_safe_save(f->ctx, f->path, NULL, NULL, 0), POLY_OK);
  PolyStateFile *file = poly_safe_open(f->ctx, f->path);
  assert_int_equal(poly_safe_count(file), 0);
  poly_safe_close(file);
  poly_free(t);
}

static bool save_and_load(PolyContext *ctx, const char *path) {
  float v[2] = {1, 2};
  PolyTensor *t[2] = {poly_from_data(ctx, v, POLY_FLOAT32, 1, (int64_t[]){2}),
                      poly_from_data(ctx, v, POLY_UINT8, 1, (int64_t[]){3})};
  bool ok = t[0] && t[1] && poly_safe_save(ctx, path, (const char *[]){"a", "b"}, t, 2) == POLY_OK;
  PolyStateFile *f = ok ? poly_safe_open(ctx, path) : NULL;
  PolyTensor *back = poly_safe_get(f, 1);
  ok = ok && back;
  poly_safe_close(f);
  poly_free(back);
  poly_free(t[0]);
  poly_free(t[1]);
  return ok;
}

/* The n-th allocation fails, for each n: an error comes back, the context still works, nothing leaks. */
static void allocations_may_fail(void **state) {
  Files *files = *state;
  for (int64_t n = 0, done = 0; !done; n++) {
    Failing f = {.until = -1};
    PolyContext *ctx = failing_context(&f);
    assert_non_null(ctx);
    f.until = n;
    done = save_and_load(ctx, files->path);
    assert_true(done == (poly_error_code(ctx) == POLY_OK));
    f.until = -1;
    poly_clear_error(ctx);
    assert_int_equal(poly_live_tensors(ctx), 0);
    assert_true(save_and_load(ctx, files->path));
    poly_context_free(ctx);
    assert_int_equal(f.bytes, 0);
  }
}

#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, files_open, files_close)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(headers_are_judged),
      cmocka_unit_test(nesting_is_limited),
      cmocka_unit_test(values_of_a_header),
      cmocka_unit_test(mutated_headers),
      FILE_TEST(bad_files),
      FILE_TEST(round_trip),
      FILE_TEST(mutated_files),
      FILE_TEST(a_full_disk_keeps_the_old_file),
      FILE_TEST(names_are_checked),
      FILE_TEST(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
