/* text.c: prints UOps and reads them back. See text.h for the form. The reader trusts nothing: every line is checked by
 * the verifier before later lines may use it. */
#include "ir/text.h"
#include "ir/context.h"
#include "ir/eval.h"
#include "ir/verify.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the two numbers of an op's argument are called. Ops not listed call them i and j. */
typedef struct ArgNames {
  const char *i, *j;
  bool i_is_op;
} ArgNames;

static ArgNames arg_names(Op op) {
  static const ArgNames table[OP_COUNT] = {
      [OP_BUFFER] = {"id", NULL, false},     [OP_VARIABLE] = {"min", "max", false},
      [OP_PERMUTE] = {"order", NULL, false}, [OP_FLIP] = {"axes", NULL, false},
      [OP_REDUCE] = {"op", "axes", true},    [OP_SEGMENT] = {"op", NULL, true},
      [OP_CAT] = {"axis", NULL, false},      [OP_CONTIGUOUS] = {"id", NULL, false},
      [OP_COPY] = {"device", NULL, false},   [OP_FUNCTION] = {"rule", "bits", false},
      [OP_LIBRARY] = {"n", "values", false}, [OP_RANGE] = {"id", "kind", false},
      [OP_PARAM] = {"at", NULL, false},      [OP_LOOP] = {"op", NULL, true},
      [OP_ARGUMENT] = {"loop", "at", false}, [OP_SCAN] = {"loop", "parts", false},
      [OP_FINAL] = {"at", NULL, false},      [OP_STATES] = {"at", NULL, false},
      [OP_CLOSED] = {"at", NULL, false},     [OP_RESULT] = {"at", NULL, false},
      [OP_RANDOM] = {"word", "wide", false},
  };
  ArgNames n = table[op];
  return (ArgNames){n.i ? n.i : "i", n.j ? n.j : "j", n.i_is_op};
}

/* ---- printing ---- */

static bool is_plain_int(const UOp *u) { return u->op == OP_CONST && u->dtype == POLY_INT64; }

/* The value of a text in a dtype, as CAST would round it. */
static double read_as(const char *text, char **end, PolyDType dtype) {
  return value_cast((Value){.f = strtod(text, end)}, POLY_FLOAT64, dtype).f;
}

/* The shortest decimal that reads back as v. */
static void print_float(Str *out, PolyDType dtype, double v) {
  char buf[40];
  if (isnan(v)) {
    str_add(out, "nan");
    return;
  }
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(buf, sizeof buf, "%.*g", digits, v);
    if (read_as(buf, NULL, dtype) == v) break;
  }
  str_add(out, buf);
}

static void print_name(Str *out, const char *name) {
  str_add(out, "name=\"");
  for (const unsigned char *c = (const unsigned char *)name; *c; c++)
    if (*c == '"' || *c == '\\' || *c < ' ' || *c > '~')
      str_fmt(out, "\\x%02x", *c);
    else
      str_addn(out, (const char *)c, 1);
  str_add(out, "\"");
}

static void print_arg(Str *out, const UOp *u) {
  if (u->op == OP_CONST) {
    str_add(out, " {");
    if (dtype_is_float((PolyDType)u->dtype))
      print_float(out, (PolyDType)u->dtype, const_float(u));
    else
      str_fmt(out, "%" PRId64, u->arg.i);
    str_add(out, "}");
    return;
  }
  ArgNames names = arg_names((Op)u->op);
  const char *sep = " {";
  if (names.i_is_op && u->arg.i >= 0 && u->arg.i < OP_COUNT) {
    str_fmt(out, "%s%s=%s", sep, names.i, op_info[u->arg.i].name), sep = ", ";
  } else if (u->arg.i) {
    str_fmt(out, u->op == OP_PERMUTE ? "%s%s=0x%" PRIx64 : "%s%s=%" PRId64, sep, names.i, u->arg.i), sep = ", ";
  }
  if (u->arg.j) str_fmt(out, "%s%s=%" PRId64, sep, names.j, u->arg.j), sep = ", ";
  if (u->arg.name) str_add(out, sep), print_name(out, u->arg.name), sep = ", ";
  if (sep[0] == ',') str_add(out, "}");
}

static void print_ref(Str *out, const UOp *u, const int *number) {
  if (is_plain_int(u))
    str_fmt(out, "%" PRId64, u->arg.i);
  else
    str_fmt(out, "%%%d", number[u->slot]);
}

static void print_node(Str *out, const UOp *u, const int *number) {
  str_fmt(out, "%%%d = %s %s", number[u->slot], op_info[u->op].name, dtype_name((PolyDType)u->dtype));
  for (int i = 0; i < u->ndim; i++) {
    str_add(out, i ? ", " : " [");
    print_ref(out, u->shape[i], number);
  }
  if (u->ndim) str_add(out, "]");
  for (int i = 0; i < u->nsrc; i++) {
    str_add(out, " ");
    print_ref(out, u->src[i], number);
  }
  print_arg(out, u);
  str_add(out, u->buffer ? " # stored\n" : "\n");
}

/* All that the roots reach, through shapes too. Sizes are made of sizes alone, so walking them first keeps the order.
 */
static bool walk_with_shapes(PolyContext *ctx, Arena *arena, int nroot, UOp *const *roots, Walk *w) {
  UOpList all = {0};
  bool ok = uop_walk(ctx, arena, nroot, roots, NULL, NULL, w);
  for (int k = 0; ok && k < w->n; k++)
    for (int i = 0; ok && i < w->at[k]->ndim; i++) ok = vec_push(&ctx->base, &all, w->at[k]->shape[i]);
  for (int i = 0; ok && i < nroot; i++) ok = vec_push(&ctx->base, &all, roots[i]);
  ok = ok && uop_walk(ctx, arena, all.n, all.at, NULL, NULL, w);
  vec_free(&ctx->base, &all);
  return ok;
}

void uop_print(Str *out, int nroot, UOp *const *roots) {
  if (nroot < 1 || !roots[0]) return;
  PolyContext *ctx = roots[0]->ctx;
  Arena arena = {&ctx->base, NULL};
  Walk w;
  int *number = NULL;
  if (walk_with_shapes(ctx, &arena, nroot, roots, &w)) number = arena_new(&arena, (size_t)w.n * sizeof *number + 1);
  if (!number) {
    out->failed = true;
  } else {
    for (int k = 0, next = 0; k < w.n; k++)
      if (!is_plain_int(w.at[k])) {
        number[k] = next++;
        print_node(out, w.at[k], number);
      }
    str_add(out, "return");
    for (int i = 0; i < nroot; i++) {
      str_add(out, " ");
      print_ref(out, roots[i], number);
    }
    str_add(out, "\n");
  }
  arena_free(&arena);
}

/* ---- reading ---- */

enum { MAX_SOURCES = 256, MAX_NAME = 256 };

typedef struct Reader {
  PolyContext *ctx;
  const char *at;
  int line;
  Map nodes; /* number -> node */
  UOpList *roots;
  bool done;
} Reader;

static bool fail(Reader *r, const char *what) {
  return base_fail(&r->ctx->base, POLY_ERROR_VALUE, "line %d: %s", r->line, what);
}

static void blank(Reader *r) {
  while (*r->at == ' ' || *r->at == '\t' || *r->at == '\r') r->at++;
  if (*r->at == '#')
    while (*r->at && *r->at != '\n') r->at++;
}

static bool take(Reader *r, char c) {
  blank(r);
  if (*r->at != c) return false;
  r->at++;
  return true;
}

static bool at_end_of_line(Reader *r) {
  blank(r);
  return *r->at == '\n' || !*r->at;
}

/* A word of letters, digits and underscores; false if there is none or it is too long. */
static bool read_word(Reader *r, char *word, size_t n) {
  blank(r);
  size_t k = 0;
  while (isalnum((unsigned char)r->at[k]) || r->at[k] == '_') k++;
  if (k == 0 || k >= n) return false;
  memcpy(word, r->at, k);
  word[k] = 0;
  r->at += k;
  return true;
}

static bool read_int(Reader *r, int64_t *v) {
  char *end;
  blank(r);
  if (!isdigit((unsigned char)*r->at) && *r->at != '-') return false;
  errno = 0;
  bool hex = r->at[0] == '0' && r->at[1] == 'x';
  *v = hex ? (int64_t)strtoull(r->at, &end, 16) : (int64_t)strtoll(r->at, &end, 10);
  if (end == r->at || errno) return false;
  r->at = end;
  return true;
}

/* %number, or a plain number that stands for an int64 constant. */
static UOp *read_ref(Reader *r) {
  int64_t v;
  uint64_t node;
  bool numbered = take(r, '%');
  if (!read_int(r, &v)) return fail(r, "a node was expected"), NULL;
  if (!numbered) return uop_index(r->ctx, v);
  if (!map_get(&r->nodes, (uint64_t)v, &node)) return fail(r, "a node that is not defined above"), NULL;
  return (UOp *)(uintptr_t)node;
}

static bool read_op(Reader *r, int64_t *op) {
  char word[32];
  if (!read_word(r, word, sizeof word)) return fail(r, "an op was expected");
  for (int i = 0; i < OP_COUNT; i++)
    if (strcmp(word, op_info[i].name) == 0) {
      *op = i;
      return true;
    }
  return fail(r, "no such op");
}

static bool read_dtype(Reader *r, PolyDType *dtype) {
  char word[32];
  if (!read_word(r, word, sizeof word)) return fail(r, "a dtype was expected");
  for (int i = 0; i < POLY_DTYPE_COUNT; i++)
    if (strcmp(word, dtype_name((PolyDType)i)) == 0) {
      *dtype = (PolyDType)i;
      return true;
    }
  return fail(r, "no such dtype");
}

static bool read_shape(Reader *r, int *ndim, UOp **shape) {
  *ndim = 0;
  if (!take(r, '[')) return true;
  do {
    if (*ndim == MAX_DIMS) return fail(r, "too many sizes");
    if (!(shape[*ndim] = read_ref(r))) return false;
    ++*ndim;
  } while (take(r, ','));
  return take(r, ']') || fail(r, "] was expected");
}

static int hex_digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

static bool read_name(Reader *r, const char **name) {
  char buf[MAX_NAME];
  size_t n = 0;
  if (!take(r, '"')) return fail(r, "a name in quotes was expected");
  for (; *r->at != '"'; n++) {
    if (!*r->at || *r->at == '\n' || n + 1 == sizeof buf) return fail(r, "a name does not end");
    int hi = -1, lo = -1;
    if (r->at[0] == '\\' && r->at[1] == 'x') hi = hex_digit(r->at[2]), lo = hi < 0 ? -1 : hex_digit(r->at[3]);
    if (r->at[0] == '\\' && (lo < 0 || hi * 16 + lo == 0)) return fail(r, "a bad escape in a name");
    buf[n] = lo < 0 ? *r->at : (char)(hi * 16 + lo);
    r->at += lo < 0 ? 1 : 4;
  }
  r->at++;
  buf[n] = 0;
  return (*name = ctx_name(r->ctx, buf)) != NULL;
}

static bool read_const(Reader *r, PolyDType dtype, UArg *arg) {
  if (!dtype_is_float(dtype)) return read_int(r, &arg->i) || fail(r, "an integer was expected");
  char *end;
  blank(r);
  double v = read_as(r->at, &end, dtype);
  if (end == r->at) return fail(r, "a number was expected");
  if (isnan(v)) v = (double)NAN;
  r->at = end;
  memcpy(&arg->i, &v, 8);
  return true;
}

static bool read_arg(Reader *r, Op op, PolyDType dtype, UArg *arg) {
  ArgNames names = arg_names(op);
  if (!take(r, '{')) return true;
  if (op == OP_CONST) {
    if (!read_const(r, dtype, arg)) return false;
  } else {
    do {
      char key[32];
      bool ok = read_word(r, key, sizeof key) && take(r, '=');
      if (!ok) return fail(r, "key=value was expected");
      if (strcmp(key, "name") == 0)
        ok = read_name(r, &arg->name);
      else if (strcmp(key, names.i) == 0)
        ok = names.i_is_op ? read_op(r, &arg->i) : read_int(r, &arg->i);
      else if (strcmp(key, names.j) == 0)
        ok = read_int(r, &arg->j);
      else
        return fail(r, "no such argument");
      if (!ok) return fail(r, "a bad argument");
    } while (take(r, ','));
  }
  return take(r, '}') || fail(r, "} was expected");
}

/* OP dtype [sizes] sources {arg}. */
static UOp *read_node(Reader *r) {
  int64_t op = 0;
  PolyDType dtype = POLY_BOOL;
  UArg arg = {0};
  UOp *shape[MAX_DIMS], *src[MAX_SOURCES];
  int ndim = 0, nsrc = 0;
  if (!read_op(r, &op) || !read_dtype(r, &dtype) || !read_shape(r, &ndim, shape)) return NULL;
  for (blank(r); *r->at == '%' || *r->at == '-' || isdigit((unsigned char)*r->at); blank(r)) {
    if (nsrc == MAX_SOURCES) return fail(r, "too many sources"), NULL;
    if (!(src[nsrc++] = read_ref(r))) return NULL;
  }
  if (!read_arg(r, (Op)op, dtype, &arg)) return NULL;
  if (!uop_arity_ok((Op)op, &arg, nsrc, ndim)) return fail(r, "a wrong number of sources"), NULL;
  UOp *u = uop_make(r->ctx, (Op)op, dtype, arg, nsrc, src, ndim, shape);
  if (!u || !uop_verify_node(u, VERIFY_ANY)) return NULL;
  bool has_id = op == OP_BUFFER || op == OP_CONTIGUOUS || op == OP_ARGUMENT ||
                op == OP_SCAN; /* numbers handed out later must differ from these */
  if (has_id) r->ctx->unique = MAX(r->ctx->unique, arg.i);
  return u;
}

static bool read_line(Reader *r) {
  char word[16];
  int64_t number;
  r->line++;
  if (at_end_of_line(r)) return true;
  if (r->done) return fail(r, "text after the return");
  if (take(r, '%')) {
    if (!read_int(r, &number) || number < 0 || !take(r, '=')) return fail(r, "%number = was expected");
    UOp *u = read_node(r);
    if (!u) return false;
    if (!map_put(&r->ctx->base, &r->nodes, (uint64_t)number, (uint64_t)(uintptr_t)u)) return false;
  } else {
    if (!read_word(r, word, sizeof word) || strcmp(word, "return") != 0)
      return fail(r, "a node or return was expected");
    while (!at_end_of_line(r)) {
      UOp *u = read_ref(r);
      if (!u || !vec_push(&r->ctx->base, r->roots, u)) return false;
    }
    r->done = true;
  }
  return at_end_of_line(r) || fail(r, "something is left over");
}

bool uop_parse(PolyContext *ctx, const char *text, UOpList *out) {
  Reader r = {.ctx = ctx, .at = text, .roots = out};
  bool ok = ctx->base.code == POLY_OK;
  while (ok && *r.at) {
    ok = read_line(&r);
    if (ok && *r.at == '\n') r.at++;
  }
  if (ok && !r.done) ok = fail(&r, "the text ends without return");
  map_free(&ctx->base, &r.nodes);
  return ok;
}
