/* cmath.c: expands helper templates. In: a name, an element kind, a number of lanes. Out: typedefs and functions as
 * text, what a function calls before the function itself. The templates are in the tables of chelp.c and cfloat.c.
 *
 * In a template:
 *   $T $E      type of a value, of one element         $I $U   integer type of the same size, signed and unsigned
 *   $H $Q      uint16, uint8 with as many lanes         $S $W   suffix of names; number of lanes
 *   $B $b      bits of an element; one less            $X      int64 type with as many lanes
 *   $L $R      0, 1 .. W-1 and W-1 .. 1, 0             $lo $hi the halves of a vector v
 *   $V $O      the even and the odd ones of 0 .. 2W-1
 *   @name      another helper for the same type        @@name  the same for half as many lanes
 *   @I:name    ... for the signed integers of the size @U:name ... for the unsigned; @D:name for double; @1:name for
 * one lane $D         double type with as many lanes          $h      type of half as many lanes; $join: halves a, b
 * together <s|..|>    only when scalar; <v|..|> only for vectors, <8|..|> of 8 lanes; <l|..|> once a lane, '#' being
 * the lane A template that begins with '!' is a function of its own that is seldom called; the others are inlined. */
#include "render/cmath.h"
#include "render/ctemplate.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *suffix, *type;
  int size;
} elems[ELEM_COUNT] = {{"i8", "int8_t", 1},   {"u8", "uint8_t", 1},   {"i16", "int16_t", 2}, {"u16", "uint16_t", 2},
                       {"i32", "int32_t", 4}, {"u32", "uint32_t", 4}, {"i64", "int64_t", 8}, {"u64", "uint64_t", 8},
                       {"f32", "float", 4},   {"f64", "double", 8}};

Txt txt(const char *fmt, ...) {
  Txt t;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(t.s, sizeof t.s, fmt, ap);
  va_end(ap);
  return t;
}

int elem_size(Elem e) { return elems[e].size; }

Elem elem_signed(int bytes) { return bytes == 1 ? ELEM_I8 : bytes == 2 ? ELEM_I16 : bytes == 4 ? ELEM_I32 : ELEM_I64; }

static int log2_of(int lanes) {
  int k = 0;
  while ((1 << k) < lanes) k++;
  return k;
}

Txt type_suffix(Elem e, int lanes) {
  return lanes == 1 ? txt("%s", elems[e].suffix) : txt("%sx%d", elems[e].suffix, lanes);
}

Txt type_name(Helpers *h, Elem e, int lanes) {
  if (lanes == 1) return txt("%s", elems[e].type);
  uint8_t *have = &h->have_type[e][log2_of(lanes)];
  if (!*have) {
    *have = 1;
    str_fmt(&h->types, "typedef %s %sx%d __attribute__((vector_size(%d)));\n", elems[e].type, elems[e].suffix, lanes,
            lanes * elems[e].size);
  }
  return type_suffix(e, lanes);
}

static bool kind_fits(HelperKind k, Elem e) {
  switch (k) {
  case KIND_ANY: return true;
  case KIND_INT: return e < ELEM_F32;
  case KIND_SIGNED: return e < ELEM_F32 && !(e & 1);
  case KIND_UNSIGNED: return e < ELEM_F32 && (e & 1);
  case KIND_I32: return e == ELEM_I32;
  case KIND_I64: return e == ELEM_I64;
  case KIND_FLOAT: return e >= ELEM_F32;
  case KIND_F32: return e == ELEM_F32;
  case KIND_F64: return e == ELEM_F64;
  }
  return false;
}

static int find(const char *name, size_t n, Elem e, const HelperText **out) {
  int id = 0;
  const HelperText *const tables[] = {basic_helpers, float_helpers, group_helpers};
  for (int t = 0; t < LEN(tables); t++) {
    const HelperText *at = tables[t];
    for (; at->name; at++, id++) {
      if (strlen(at->name) == n && !memcmp(at->name, name, n) && kind_fits(at->kind, e)) {
        *out = at;
        return id;
      }
    }
  }
  return -1;
}

bool helper_exists(const char *name, Elem e) {
  const HelperText *t;
  return find(name, strlen(name), e, &t) >= 0;
}

static Txt helper_n(Helpers *h, const char *name, size_t n, Elem e, int lanes);

/* Is there an opening "<tag|" at p? Its length, 0 if not. */
static int section_open(const char *p) {
  if (*p != '<') return 0;
  int n = 1;
  while (p[n] >= '0' && p[n] <= '9') n++;
  if (n == 1 && (p[1] == 's' || p[1] == 'v' || p[1] == 'l')) n++;
  return n > 1 && p[n] == '|' ? n + 1 : 0;
}

static bool section_fits(const char *tag, int lanes) {
  if (*tag == 's' || *tag == 'v') return (*tag == 's') == (lanes == 1);
  int n = 0;
  while (*tag >= '0' && *tag <= '9') n = 10 * n + (*tag++ - '0');
  return n == lanes;
}

/* Once a lane, '#' being the lane. */
static void expand_lanes(Str *out, const char *body, const char *stop, int lanes) {
  for (int k = 0; k < lanes && lanes > 1; k++) {
    if (k) str_add(out, ", ");
    for (const char *c = body; c < stop; c++) {
      if (*c == '#')
        str_fmt(out, "%d", k);
      else
        str_addn(out, c, 1);
    }
  }
}

/* Where the section that starts after its opening ends: at "|>". Sections do not nest. */
static const char *section_end(const char *p) {
  const char *q = strstr(p, "|>");
  return q ? q : p + strlen(p);
}

static void lane_list(Str *out, int from, int step, int count) {
  for (int k = 0; k < count; k++) str_fmt(out, k ? ", %d" : "%d", from + k * step);
}

static void half_text(Str *out, int lanes, int high) {
  if (lanes == 2) {
    str_fmt(out, "v[%d]", high);
    return;
  }
  str_add(out, "__builtin_shufflevector(v, v, ");
  lane_list(out, high ? lanes / 2 : 0, 1, lanes / 2);
  str_add(out, ")");
}

/* Expands "$X" at p; returns what follows it. */
static const char *expand_dollar(Helpers *h, Str *out, const char *p, Elem e, int lanes) {
  int size = elems[e].size;
  if (!strncmp(p, "$lo", 3) || !strncmp(p, "$hi", 3)) {
    half_text(out, lanes, p[1] == 'h');
    return p + 3;
  }
  if (!strncmp(p, "$join", 5)) {
    str_add(out, lanes == 2 ? "{" : "__builtin_shufflevector(");
    str_add(out, "a, b");
    for (int k = 0; k < lanes && lanes > 2; k++) str_fmt(out, ", %d", k);
    str_add(out, lanes == 2 ? "}" : ")");
    return p + 5;
  }
  switch (p[1]) {
  case 'T': str_add(out, type_name(h, e, lanes).s); break;
  case 'E': str_add(out, elems[e].type); break;
  case 'I': str_add(out, type_name(h, elem_signed(size), lanes).s); break;
  case 'U': str_add(out, type_name(h, (Elem)(elem_signed(size) + 1), lanes).s); break;
  case 'H': str_add(out, type_name(h, ELEM_U16, lanes).s); break;
  case 'Q': str_add(out, type_name(h, ELEM_U8, lanes).s); break;
  case 'D': str_add(out, type_name(h, ELEM_F64, lanes).s); break;
  case 'h': str_add(out, type_name(h, e, lanes / 2).s); break;
  case 'X': str_add(out, type_name(h, ELEM_I64, lanes).s); break;
  case 'S': str_add(out, type_suffix(e, lanes).s); break;
  case 'W': str_fmt(out, "%d", lanes); break;
  case 'B': str_fmt(out, "%d", 8 * size); break;
  case 'b': str_fmt(out, "%d", 8 * size - 1); break;
  case 'L': lane_list(out, 0, 1, lanes); break;
  case 'V': lane_list(out, 0, 2, lanes); break;
  case 'O': lane_list(out, 1, 2, lanes); break;
  case 'R': lane_list(out, lanes - 1, -1, lanes); break;
  default: str_addn(out, p, 2); break;
  }
  return p + 2;
}

static bool name_char(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

static const char *expand_at(Helpers *h, Str *out, const char *p, Elem e, int lanes) {
  p++;
  if (*p == '@') {
    p++;
    lanes /= 2;
  } else if (!strncmp(p, "1:", 2)) {
    p += 2;
    lanes = 1;
  } else if (p[1] == ':') {
    Elem same = elem_signed(elems[e].size);
    e = *p == 'D' ? ELEM_F64 : *p == 'U' ? (Elem)(same + 1) : same;
    p += 2;
  }
  const char *q = p;
  while (name_char(*q)) q++;
  str_add(out, helper_n(h, p, (size_t)(q - p), e, lanes).s);
  return q;
}

static void expand(Helpers *h, Str *out, const char *p, const char *end, Elem e, int lanes) {
  while (p < end && !out->failed) {
    if (*p == '$') {
      p = expand_dollar(h, out, p, e, lanes);
    } else if (*p == '@') {
      p = expand_at(h, out, p, e, lanes);
    } else if (section_open(p)) {
      const char *body = p + section_open(p), *stop = section_end(body);
      if (p[1] == 'l')
        expand_lanes(out, body, stop, lanes);
      else if (section_fits(p + 1, lanes))
        expand(h, out, body, stop, e, lanes);
      p = stop + 2;
    } else {
      str_addn(out, p++, 1);
    }
  }
}

static Txt helper_n(Helpers *h, const char *name, size_t n, Elem e, int lanes) {
  Txt full = txt("%.*s_%s", (int)n, name, type_suffix(e, lanes).s);
  const HelperText *t = NULL;
  int id = find(name, n, e, &t);
  if (id < 0 || id >= MAX_HELPERS) {
    h->failed = true;
    base_fail(h->code.b, POLY_ERROR_RUNTIME, "no helper %s", full.s);
    return full;
  }
  uint8_t *have = &h->have[id][e][log2_of(lanes)];
  if (*have) return full;
  *have = 1;
  Str body = {.b = h->code.b};
  bool seldom = t->text[0] == '!';
  str_add(&body, seldom ? "SELDOM " : "HELPER ");
  expand(h, &body, t->text + seldom, t->text + strlen(t->text), e, lanes);
  str_add(&body, "\n");
  if (body.failed)
    h->code.failed = true;
  else
    str_addn(&h->code, body.at, body.n);
  str_free(&body);
  return full;
}

Txt helper(Helpers *h, const char *name, Elem e, int lanes) { return helper_n(h, name, strlen(name), e, lanes); }
