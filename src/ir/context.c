/* context.c: the intern table, reference counts, scopes and names of a context. The table holds no references: a node
 * lives as long as a source edge, a handle, a plan or an open scope holds it. */
#include "ir/context.h"

#include <string.h>

const OpInfo op_info[OP_COUNT] = {
#define X(name, nsrc, cls, dt) {#name, nsrc, CLASS_##cls, RULE_##dt, 0, 0, 0, 0, 0, 0, 0},
#define EXACT 1
#define COMMUTES 2
#define E(name, nsrc, cls, dt, takes, cost, props, infix, bools, call)                                                 \
  {#name, nsrc,  CLASS_##cls, RULE_##dt, TAKES_##takes, COST_##cost, ((props)&EXACT) != 0, ((props)&COMMUTES) != 0,    \
   infix, bools, call},
#include "ops.def"
#undef EXACT
#undef COMMUTES
};

bool op_takes(Op op, PolyDType dtype) {
  switch (op_info[op].takes) {
  case TAKES_FLOAT: return dtype_is_float(dtype);
  case TAKES_INT: return dtype_is_int(dtype);
  case TAKES_BITS: return !dtype_is_float(dtype);
  case TAKES_NUMBER: return dtype != POLY_BOOL;
  default: return true;
  }
}

enum { FIRST_BUCKETS = 1024 };

Base *ctx_base(PolyContext *ctx) { return &ctx->base; }

int64_t ctx_unique(PolyContext *ctx) { return ++ctx->unique; }

bool ctx_init(PolyContext *ctx) {
  ctx->default_float = POLY_FLOAT32;
  ctx->bucket = mem_new(&ctx->base, FIRST_BUCKETS * sizeof(UOp *));
  if (!ctx->bucket) return false;
  ctx->nbucket = FIRST_BUCKETS;
  return true;
}

static size_t uop_size(int nsrc, int ndim) { return sizeof(UOp) + (size_t)(nsrc + ndim) * sizeof(UOp *); }

/* Memory of nodes. A step of a training loop makes and frees thousands of them: those that were freed last are made
 * anew first, which are in the cache. Under a sanitizer nothing is kept, so that it sees what is used after it was
 * freed. */
#ifdef __SANITIZE_ADDRESS__
enum { MOST_SPARE = 0 };
#else
enum { MOST_SPARE = 1 << 14 };
#endif

static UOp *node_new(PolyContext *ctx, int nsrc, int ndim) {
  int n = nsrc + ndim;
  UOp *u = n < SPARE_SIZES ? ctx->spare[n] : NULL;
  if (!u) return mem_new(&ctx->base, uop_size(nsrc, ndim));
  ctx->spare[n] = u->next;
  ctx->nspare--;
  memset(u, 0, uop_size(nsrc, ndim));
  return u;
}

static void node_free(PolyContext *ctx, UOp *u) {
  int n = u->nsrc + u->ndim;
  if (n >= SPARE_SIZES || ctx->nspare >= MOST_SPARE) {
    mem_free(&ctx->base, u, uop_size(u->nsrc, u->ndim));
    return;
  }
  u->next = ctx->spare[n];
  ctx->spare[n] = u;
  ctx->nspare++;
}

static void drop_spare(PolyContext *ctx) {
  for (int n = 0; n < SPARE_SIZES; n++)
    for (UOp *u = ctx->spare[n], *next; u; u = next) {
      next = u->next;
      mem_free(&ctx->base, u, uop_size(n, 0));
    }
  memset(ctx->spare, 0, sizeof ctx->spare);
  ctx->nspare = 0;
}

/* Frees the tables. Nodes that somebody forgot are freed too, so that a context never leaks. */
void ctx_drop(PolyContext *ctx) {
  for (int i = 0; i < ctx->dims.n; i++) uop_release(ctx->dims.at[i].node);
  vec_free(&ctx->base, &ctx->dims);
  map_free(&ctx->base, &ctx->dim_index);
  for (int i = 0; i < ctx->nbucket; i++)
    for (UOp *u = ctx->bucket[i], *next; u; u = next) {
      next = u->next;
      if (u->buffer && ctx->buffer_release) ctx->buffer_release(ctx, u->buffer);
      mem_free(&ctx->base, u, uop_size(u->nsrc, u->ndim));
    }
  drop_spare(ctx);
  mem_free(&ctx->base, ctx->bucket, (size_t)ctx->nbucket * sizeof(UOp *));
  ctx->bucket = NULL;
  ctx->nbucket = ctx->nnode = 0;
  for (int i = 0; i < ctx->names.n; i++) mem_strfree(&ctx->base, ctx->names.at[i]);
  vec_free(&ctx->base, &ctx->names);
  map_free(&ctx->base, &ctx->name_index);
  vec_free(&ctx->base, &ctx->walking);
  vec_free(&ctx->base, &ctx->walked);
}

/* ---- names ---- */

const char *ctx_name(PolyContext *ctx, const char *name) {
  uint64_t at, h = hash_bytes(name, strlen(name), 7);
  while (map_get(&ctx->name_index, h, &at)) {
    if (strcmp(ctx->names.at[at], name) == 0) return ctx->names.at[at];
    h++;
  }
  char *copy = mem_strdup(&ctx->base, name);
  if (!copy) return NULL;
  if (!vec_push(&ctx->base, &ctx->names, copy)) {
    mem_strfree(&ctx->base, copy);
    return NULL;
  }
  if (!map_put(&ctx->base, &ctx->name_index, h, (uint64_t)ctx->names.n - 1)) return NULL;
  return copy;
}

/* ---- scopes ---- */

void scope_enter(PolyContext *ctx, Scope *s) {
  *s = (Scope){.outer = ctx->scope};
  ctx->scope = s;
}

void scope_leave(PolyContext *ctx, Scope *s) {
  ctx->scope = s->outer;
  for (int i = s->held.n; i-- > 0;) uop_release(s->held.at[i]);
  vec_free(&ctx->base, &s->held);
}

/* ---- reference counts ---- */

UOp *uop_retain(UOp *u) {
  if (u) u->refs++;
  return u;
}

static void unlink_node(PolyContext *ctx, UOp *u) {
  UOp **at = &ctx->bucket[u->hash & (uint32_t)(ctx->nbucket - 1)];
  while (*at != u) at = &(*at)->next;
  *at = u->next;
  ctx->nnode--;
}

/* A dead node leaves the table at once and waits on a list threaded through `next`, so that freeing needs neither
 * memory nor recursion, however long the chain. */
void uop_release(UOp *u) {
  if (!u || --u->refs) return;
  PolyContext *ctx = u->ctx;
  unlink_node(ctx, u);
  u->next = NULL;
  for (UOp *dead = u; dead;) {
    UOp *d = dead;
    dead = d->next;
    for (int i = 0; i < d->nsrc + d->ndim; i++) {
      UOp *s = i < d->nsrc ? d->src[i] : d->shape[i - d->nsrc];
      if (--s->refs) continue;
      unlink_node(ctx, s);
      s->next = dead;
      dead = s;
    }
    if (d->buffer && ctx->buffer_release) ctx->buffer_release(ctx, d->buffer);
    node_free(ctx, d);
  }
}

/* ---- interning ---- */

static bool grow_table(PolyContext *ctx) {
  int n = ctx->nbucket * 2;
  UOp **bucket = mem_new(&ctx->base, (size_t)n * sizeof(UOp *));
  if (!bucket) return false;
  for (int i = 0; i < ctx->nbucket; i++)
    for (UOp *u = ctx->bucket[i], *next; u; u = next) {
      next = u->next;
      UOp **at = &bucket[u->hash & (uint32_t)(n - 1)];
      u->next = *at;
      *at = u;
    }
  mem_free(&ctx->base, ctx->bucket, (size_t)ctx->nbucket * sizeof(UOp *));
  ctx->bucket = bucket;
  ctx->nbucket = n;
  return true;
}

/* One multiplication a word: every node that is built comes by here. */
static uint64_t mix(uint64_t h, uint64_t w) {
  h = (h ^ w) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 32);
}

static uint32_t node_hash(Op op, PolyDType dtype, const UArg *arg, int nsrc, UOp *const *src, int ndim,
                          UOp *const *shape) {
  uint64_t h = mix((uint64_t)op << 8 | (uint64_t)dtype, (uint64_t)nsrc << 8 | (uint64_t)ndim);
  h = mix(mix(mix(h, (uint64_t)arg->i), (uint64_t)arg->j), (uintptr_t)arg->name);
  for (int i = 0; i < nsrc; i++) h = mix(h, (uintptr_t)src[i]);
  for (int i = 0; i < ndim; i++) h = mix(h, (uintptr_t)shape[i]);
  return (uint32_t)(h ^ (h >> 15));
}

static bool node_equal(const UOp *u, Op op, PolyDType dtype, const UArg *arg, int nsrc, UOp *const *src, int ndim,
                       UOp *const *shape) {
  return u->op == op && u->dtype == dtype && u->nsrc == nsrc && u->ndim == ndim && u->arg.i == arg->i &&
         u->arg.j == arg->j && u->arg.name == arg->name &&
         (!nsrc || memcmp(u->src, src, (size_t)nsrc * sizeof *src) == 0) &&
         (!ndim || memcmp(u->shape, shape, (size_t)ndim * sizeof *shape) == 0);
}

/* The innermost scope takes one reference. On failure the reference is dropped again. */
static UOp *hold(PolyContext *ctx, UOp *u) {
  if (!ctx->scope) {
    uop_release(u);
    return fail_null(&ctx->base, POLY_ERROR_RUNTIME, "internal: a node was built outside any scope");
  }
  /* A call that builds something makes some tens of nodes. */
  if (vec_reserve(&ctx->base, &ctx->scope->held, ctx->scope->held.n ? ctx->scope->held.n + 1 : 32) &&
      vec_push(&ctx->base, &ctx->scope->held, u))
    return u;
  uop_release(u);
  return NULL;
}

UOp *uop_make(PolyContext *ctx, Op op, PolyDType dtype, UArg arg, int nsrc, UOp *const *src, int ndim,
              UOp *const *shape) {
  for (int i = 0; i < nsrc; i++)
    if (!src[i]) return NULL;
  for (int i = 0; i < ndim; i++)
    if (!shape[i]) return NULL;
  uint32_t h = node_hash(op, dtype, &arg, nsrc, src, ndim, shape);
  for (UOp *u = ctx->bucket[h & (uint32_t)(ctx->nbucket - 1)]; u; u = u->next)
    if (u->hash == h && node_equal(u, op, dtype, &arg, nsrc, src, ndim, shape)) return hold(ctx, uop_retain(u));
  if (ctx->nnode >= ctx->nbucket / 2 && !grow_table(ctx)) return NULL; /* most new nodes find an empty bucket */
  UOp *u = node_new(ctx, nsrc, ndim);
  if (!u) return NULL;
  u->ctx = ctx;
  u->refs = 1;
  u->hash = h;
  u->op = (uint16_t)op;
  u->dtype = (uint8_t)dtype;
  u->ndim = (uint8_t)ndim;
  u->nsrc = nsrc;
  u->arg = arg;
  u->serial = ++ctx->last_serial;
  u->shape = u->src + nsrc;
  if (op == OP_GATHER || op == OP_SEGMENT) u->origin = ctx->function;
  for (int i = 0; i < nsrc; i++) u->src[i] = uop_retain(src[i]);
  for (int i = 0; i < ndim; i++) u->shape[i] = uop_retain(shape[i]);
  u->vmin = INT64_MIN;
  u->vmax = INT64_MAX;
  if (ndim == 0 && !dtype_is_float(dtype)) int_bounds(u);
  UOp **at = &ctx->bucket[h & (uint32_t)(ctx->nbucket - 1)];
  u->next = *at;
  *at = u;
  ctx->nnode++;
  return hold(ctx, u);
}
