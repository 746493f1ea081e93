/* safejson.c: reads the JSON header of a safetensors file. The text may come from anywhere, so nothing is believed:
 * every step is bounded by the text's length, nesting is limited, numbers are checked for overflow, and no allocation
 * is larger than a small multiple of the text. What is accepted:
 *
 *   {"__metadata__": {...}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
 *
 * Unknown keys inside an entry are skipped. */
#include "nn/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 32 };

static const struct {
  const char *name;
  PolyDType dtype;
} dtypes[] = {{"BOOL", POLY_BOOL},     {"I8", POLY_INT8},         {"U8", POLY_UINT8},        {"I16", POLY_INT16},
              {"U16", POLY_UINT16},    {"I32", POLY_INT32},       {"U32", POLY_UINT32},      {"I64", POLY_INT64},
              {"U64", POLY_UINT64},    {"F8_E4M3", POLY_FP8E4M3}, {"F8_E5M2", POLY_FP8E5M2}, {"F16", POLY_FLOAT16},
              {"BF16", POLY_BFLOAT16}, {"F32", POLY_FLOAT32},     {"F64", POLY_FLOAT64}};

const char *safe_dtype_name(PolyDType d) {
  for (int k = 0; k < LEN(dtypes); k++)
    if (dtypes[k].dtype == d) return dtypes[k].name;
  return "?";
}

/* ---- text ---- */

/* Length of the UTF-8 sequence at s, 0 if it is not one: no overlong forms, no surrogates, nothing above U+10FFFF. */
static size_t utf8_length(const unsigned char *s, size_t n) {
  unsigned char c = s[0];
  if (c < 0x80) return 1;
  size_t len = c >= 0xC2 && c <= 0xDF ? 2 : (c & 0xF0) == 0xE0 ? 3 : c >= 0xF0 && c <= 0xF4 ? 4 : 0;
  if (!len || len > n) return 0;
  for (size_t k = 1; k < len; k++)
    if ((s[k] & 0xC0) != 0x80) return 0;
  if ((c == 0xE0 && s[1] < 0xA0) || (c == 0xED && s[1] > 0x9F)) return 0;
  if ((c == 0xF0 && s[1] < 0x90) || (c == 0xF4 && s[1] > 0x8F)) return 0;
  return len;
}

bool safe_name_valid(const char *s, size_t n) {
  for (size_t at = 0; at < n;) {
    size_t len = s[at] ? utf8_length((const unsigned char *)s + at, n - at) : 0;
    if (!len) return false;
    at += len;
  }
  return true;
}

typedef struct Reader {
  SafeHeader *h;
  const char *text;
  size_t n, at;
  Str string; /* the string read last */
} Reader;

static bool bad(Reader *r, const char *why) {
  return base_fail(r->h->b, POLY_ERROR_IO, "safetensors: bad header at byte %zu: %s", r->at, why);
}

static void skip_space(Reader *r) {
  while (r->at < r->n && strchr(" \t\n\r", r->text[r->at]) && r->text[r->at]) r->at++;
}

/* The next character that is not space, without taking it; 0 at the end. */
static char peek(Reader *r) {
  skip_space(r);
  return r->at < r->n ? r->text[r->at] : 0;
}

static bool take(Reader *r, char c) {
  if (peek(r) != c) return false;
  r->at++;
  return true;
}

static bool expect(Reader *r, char c) {
  char why[32] = "expected ' '";
  why[10] = c;
  return take(r, c) || bad(r, r->at >= r->n ? "the text ends too early" : why);
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex4(Reader *r, uint32_t *out) {
  *out = 0;
  for (int k = 0; k < 4; k++, r->at++) {
    int d = r->at < r->n ? hex_digit(r->text[r->at]) : -1;
    if (d < 0) return bad(r, "four hexadecimal digits must follow \\u");
    *out = *out << 4 | (uint32_t)d;
  }
  return true;
}

static void add_utf8(Str *s, uint32_t c) {
  char out[4];
  size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (size_t k = n; k-- > 1; c >>= 6) out[k] = (char)(0x80 | (c & 0x3F));
  out[0] = (char)(lead[n] | c);
  str_addn(s, out, n);
}

/* After "\u". Surrogates come in pairs. */
static bool read_unicode(Reader *r) {
  uint32_t c, low;
  if (!read_hex4(r, &c)) return false;
  if (c == 0) return bad(r, "a string holds a NUL");
  if (c >= 0xDC00 && c <= 0xDFFF) return bad(r, "half of a surrogate pair");
  if (c >= 0xD800 && c <= 0xDBFF) {
    if (r->n - r->at < 6 || r->text[r->at] != '\\' || r->text[r->at + 1] != 'u')
      return bad(r, "half of a surrogate pair");
    r->at += 2;
    if (!read_hex4(r, &low)) return false;
    if (low < 0xDC00 || low > 0xDFFF) return bad(r, "half of a surrogate pair");
    c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
  }
  add_utf8(&r->string, c);
  return true;
}

static bool read_escape(Reader *r) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  char c = r->at < r->n ? r->text[r->at++] : 0;
  if (c == 'u') return read_unicode(r);
  const char *p = c ? strchr(from, c) : NULL;
  if (!p) return bad(r, "unknown escape in a string");
  str_addn(&r->string, to + (p - from), 1);
  return true;
}

/* Into r->string. */
static bool read_string(Reader *r) {
  if (!expect(r, '"')) return false;
  r->string.n = 0;
  str_addn(&r->string, "", 0);
  while (r->at < r->n && r->text[r->at] != '"') {
    unsigned char c = (unsigned char)r->text[r->at];
    if (c < 0x20) return bad(r, "a control character in a string");
    if (c == '\\') {
      r->at++;
      if (!read_escape(r)) return false;
      continue;
    }
    size_t len = utf8_length((const unsigned char *)r->text + r->at, r->n - r->at);
    if (!len) return bad(r, "a string is not UTF-8");
    str_addn(&r->string, r->text + r->at, len);
    r->at += len;
  }
  if (r->string.failed) return false;
  return expect(r, '"');
}

/* A whole number from 0 to 2^63-1. */
static bool read_number(Reader *r, int64_t *out) {
  peek(r);
  size_t start = r->at;
  int64_t v = 0;
  while (r->at < r->n && r->text[r->at] >= '0' && r->text[r->at] <= '9') {
    if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, r->text[r->at] - '0', &v))
      return bad(r, "a number is too large");
    r->at++;
  }
  if (r->at == start) return bad(r, "expected a whole number");
  if (r->text[start] == '0' && r->at > start + 1) return bad(r, "a number begins with 0");
  if (r->at < r->n && strchr(".eE", r->text[r->at]) && r->text[r->at]) return bad(r, "expected a whole number");
  *out = v;
  return true;
}

/* ---- values that are skipped ---- */

static bool skip_word(Reader *r) {
  static const char *const words[] = {"true", "false", "null"};
  for (int k = 0; k < LEN(words); k++) {
    size_t len = strlen(words[k]);
    if (r->n - r->at >= len && memcmp(r->text + r->at, words[k], len) == 0) {
      r->at += len;
      return true;
    }
  }
  size_t start = r->at;
  while (r->at < r->n && r->text[r->at] && strchr("+-.eE0123456789", r->text[r->at])) r->at++;
  return r->at > start || bad(r, "expected a value");
}

/* Any value. No recursion: open[] remembers what encloses the place. */
static bool skip_value(Reader *r) {
  char open[MAX_DEPTH];
  int depth = 0;
  do {
    char c = peek(r);
    bool opened = c == '{' || c == '[';
    if (opened) {
      if (depth == MAX_DEPTH) return bad(r, "nested too deeply");
      open[depth++] = c == '{' ? '}' : ']';
      r->at++;
    } else if (c == '"' ? !read_string(r) : !skip_word(r)) {
      return false;
    }
    if (!opened || peek(r) == open[depth - 1]) {
      while (depth && take(r, open[depth - 1])) depth--;
      if (depth && !expect(r, ',')) return false;
    }
    if (depth && open[depth - 1] == '}' && !(read_string(r) && expect(r, ':'))) return false;
  } while (depth);
  return true;
}

/* ---- entries ---- */

static bool read_dtype(Reader *r, SafeEntry *e) {
  if (!read_string(r)) return false;
  for (int k = 0; k < LEN(dtypes); k++)
    if (strcmp(dtypes[k].name, r->string.at) == 0) {
      e->dtype = dtypes[k].dtype;
      return true;
    }
  return base_fail(r->h->b, POLY_ERROR_IO, "safetensors: tensor '%.100s' has dtype '%.40s', which is not known here",
                   e->name, r->string.at);
}

/* At most max numbers in brackets; returns how many, -1 on an error. */
static int read_numbers(Reader *r, int64_t *out, int max, const char *too_many) {
  int n = 0;
  if (!expect(r, '[')) return -1;
  if (take(r, ']')) return 0;
  do {
    if (n == max) return bad(r, too_many), -1;
    if (!read_number(r, &out[n++])) return -1;
  } while (take(r, ','));
  return expect(r, ']') ? n : -1;
}

static bool read_shape(Reader *r, SafeEntry *e) {
  e->ndim = read_numbers(r, e->shape, MAX_DIMS, "a shape has too many dimensions");
  return e->ndim >= 0;
}

static bool read_offsets(Reader *r, SafeEntry *e) {
  int64_t at[2];
  int n = read_numbers(r, at, 2, "data_offsets must be two numbers");
  if (n < 0) return false;
  if (n != 2) return bad(r, "data_offsets must be two numbers");
  e->begin = at[0];
  e->end = at[1];
  return true;
}

static bool read_entry(Reader *r, SafeEntry *e) {
  static const struct {
    const char *key;
    bool (*read)(Reader *r, SafeEntry *e);
  } fields[] = {{"dtype", read_dtype}, {"shape", read_shape}, {"data_offsets", read_offsets}};
  unsigned seen = 0;
  if (!expect(r, '{')) return false;
  if (peek(r) != '}') {
    do {
      int k = 0;
      if (!read_string(r) || !expect(r, ':')) return false;
      while (k < LEN(fields) && strcmp(fields[k].key, r->string.at) != 0) k++;
      if (k < LEN(fields) && seen & 1u << k) return bad(r, "the same key twice");
      if (k < LEN(fields) ? !fields[k].read(r, e) : !skip_value(r)) return false;
      seen |= 1u << k;
    } while (take(r, ','));
  }
  if (!expect(r, '}')) return false;
  return (seen & 7) == 7 ||
         base_fail(r->h->b, POLY_ERROR_IO, "safetensors: tensor '%.100s' lacks dtype, shape or data_offsets", e->name);
}

static bool read_named(Reader *r, SafeHeader *h) {
  if (!read_string(r)) return false;
  if (strcmp(r->string.at, "__metadata__") == 0) return expect(r, ':') && skip_value(r);
  SafeEntry e = {.name = mem_strdup(h->b, r->string.at)};
  if (!e.name) return false;
  if (!vec_push(h->b, &h->entry, e)) {
    mem_strfree(h->b, e.name);
    return false;
  }
  return expect(r, ':') && read_entry(r, &h->entry.at[h->entry.n - 1]);
}

static bool read_header(Reader *r, SafeHeader *h) {
  if (!expect(r, '{')) return false;
  if (peek(r) != '}') {
    do {
      if (!read_named(r, h)) return false;
    } while (take(r, ','));
  }
  if (!expect(r, '}')) return false;
  return !peek(r) || bad(r, "text after the end");
}

/* ---- the rules of the format ---- */

static bool check_size(SafeHeader *h, const SafeEntry *e, int64_t data_bytes) {
  int64_t bytes = dtype_size(e->dtype);
  bool empty = false, too_large = false;
  for (int k = 0; k < e->ndim; k++) empty |= e->shape[k] == 0;
  for (int k = 0; k < e->ndim && !empty; k++) too_large |= __builtin_mul_overflow(bytes, e->shape[k], &bytes);
  if (empty) bytes = 0;
  if (too_large)
    return base_fail(h->b, POLY_ERROR_IO, "safetensors: the shape of tensor '%.100s' is too large", e->name);
  if (e->begin > e->end || e->end > data_bytes)
    return base_fail(h->b, POLY_ERROR_IO,
                     "safetensors: tensor '%.100s' lies at bytes %" PRId64 "..%" PRId64 " of %" PRId64, e->name,
                     e->begin, e->end, data_bytes);
  if (e->end - e->begin != bytes)
    return base_fail(h->b, POLY_ERROR_IO,
                     "safetensors: tensor '%.100s' has %" PRId64 " bytes, but its shape and dtype need %" PRId64,
                     e->name, e->end - e->begin, bytes);
  return true;
}

static int by_name(const void *a, const void *b) {
  return strcmp((*(SafeEntry *const *)a)->name, (*(SafeEntry *const *)b)->name);
}

static int by_place(const void *a, const void *b) {
  const SafeEntry *x = *(SafeEntry *const *)a, *y = *(SafeEntry *const *)b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}

static bool check_all(SafeHeader *h, SafeEntry **sorted, int64_t data_bytes) {
  int n = h->entry.n;
  for (int k = 0; k < n; k++) {
    sorted[k] = &h->entry.at[k];
    if (!check_size(h, sorted[k], data_bytes)) return false;
  }
  if (n) qsort(sorted, (size_t)n, sizeof *sorted, by_name);
  for (int k = 1; k < n; k++)
    if (strcmp(sorted[k - 1]->name, sorted[k]->name) == 0)
      return base_fail(h->b, POLY_ERROR_IO, "safetensors: tensor '%.100s' is there twice", sorted[k]->name);
  if (n) qsort(sorted, (size_t)n, sizeof *sorted, by_place);
  int64_t end = 0;
  for (int k = 0; k < n; k++) {
    if (sorted[k]->begin != end)
      return base_fail(h->b, POLY_ERROR_IO, "safetensors: the data of tensor '%.100s' %s", sorted[k]->name,
                       sorted[k]->begin < end ? "overlaps that of another" : "follows a hole");
    end = sorted[k]->end;
  }
  return end == data_bytes ||
         base_fail(h->b, POLY_ERROR_IO, "safetensors: %" PRId64 " bytes at the end belong to no tensor",
                   data_bytes - end);
}

bool safe_header_parse(SafeHeader *h, const char *text, size_t n, int64_t data_bytes) {
  Reader r = {.h = h, .text = text, .n = n, .string = {.b = h->b}};
  bool ok = read_header(&r, h);
  str_free(&r.string);
  if (!ok) return false;
  size_t bytes = (size_t)(h->entry.n + 1) * sizeof(SafeEntry *);
  SafeEntry **sorted = mem_new(h->b, bytes);
  ok = sorted && check_all(h, sorted, data_bytes);
  mem_free(h->b, sorted, bytes);
  return ok;
}

void safe_header_free(SafeHeader *h) {
  for (int k = 0; k < h->entry.n; k++) mem_strfree(h->b, h->entry.at[k].name);
  vec_free(h->b, &h->entry);
}
