/* origin.c: which function of the program an index error comes from. In: the roots of a program that failed while it
 * ran. Out: the error with the name of the function that was called with the index ("index_select: index 9 ..."); a
 * kernel only knows the index and the size. */
#include "engine/engine.h"

#include <stdio.h>
#include <string.h>

enum { NAMED = 3 }; /* as many functions as are listed where several could be meant */

typedef struct Names {
  const char *at[NAMED];
  int n;
  bool gradient; /* a gradient, which reads and writes by the indices of the program itself */
} Names;

/* What is stored was computed by an earlier program. */
static bool is_stored(const UOp *u, void *user) {
  (void)user;
  return u->buffer || u->op == OP_BUFFER;
}

static void add_name(Names *names, const char *name) {
  static const char prefix[] = "poly_";
  if (strncmp(name, prefix, sizeof prefix - 1) == 0) name += sizeof prefix - 1;
  if (strcmp(name, "getitem") == 0) name = "x[index]";
  if (strcmp(name, "setitem") == 0) name = "x[index] = value";
  if (strcmp(name, "grad") == 0 || strncmp(name, "backward", strlen("backward")) == 0) {
    names->gradient = true;
    return;
  }
  for (int k = 0; k < names->n; k++)
    if (strcmp(names->at[k], name) == 0) return;
  if (names->n < NAMED) names->at[names->n++] = name;
}

/* Functions that read or write through an index of an axis of this size. */
static bool find_names(PolyContext *ctx, int n, UOp *const *root, int64_t size, Names *names) {
  Arena arena = {.b = ctx_base(ctx)};
  Walk w;
  bool ok = uop_walk(ctx, &arena, n, root, is_stored, NULL, &w);
  for (int i = 0; ok && i < w.n; i++) {
    const UOp *u = w.at[i];
    if (!u->origin || is_stored(u, NULL)) continue;
    const UOp *axis = u->op == OP_GATHER ? u->src[0]->shape[0] : u->shape[0];
    if (axis->op != OP_CONST || const_int(axis) == size) add_name(names, u->origin);
  }
  arena_free(&arena);
  return ok;
}

/* The size of the axis that an index error tells of. */
static bool failed_size(const Base *b, long long *rows) {
  const char *size = strstr(b->text, "size ");
  return b->code == POLY_ERROR_INDEX && size && sscanf(size, "size %lld", rows) == 1;
}

bool index_error_below(PolyContext *ctx, UOp *u) {
  Names names = {0};
  long long rows;
  return failed_size(ctx_base(ctx), &rows) && find_names(ctx, 1, &u, rows, &names) && (names.n || names.gradient);
}

void name_index_error(PolyContext *ctx, int n, UOp *const *root) {
  Base *b = ctx_base(ctx);
  const char *what = strstr(b->text, "index ");
  Names names = {0};
  long long rows;
  if (!what || !failed_size(b, &rows) || !find_names(ctx, n, root, rows, &names)) return;
  if (!names.n && names.gradient) names.at[names.n++] = "gradient";
  if (!names.n) return;
  char text[sizeof b->text];
  if (names.n == 1 && strcmp(names.at[0], "multinomial") == 0)
    snprintf(text, sizeof text, "multinomial: the weights of a row are negative, not finite, or all zero");
  else
    snprintf(text, sizeof text, "%s%s%s%s%s: %.200s", names.at[0], names.n > 1 ? " or " : "",
             names.n > 1 ? names.at[1] : "", names.n > 2 ? " or " : "", names.n > 2 ? names.at[2] : "", what);
  base_clear(b);
  base_fail(b, POLY_ERROR_INDEX, "%s", text);
}
