/* joins.c: tensors joined of joined ones. In: the program. Out: the same, with
 *
 *   CAT(x, CAT(a, b, c))    ->    CAT(x, a, b, c)        along one axis, where nothing else reads the inner one
 *
 * A join of many parts is stored, part by part: the inner one would be written to memory, read again and written once
 * more. */
#include "schedule/joins.h"

#include "ir/context.h"
#include "ir/rewrite.h"

enum { FEW_PARTS = 4 }; /* that a reader may choose from at each element */

typedef struct Joins {
  const Target *target;
  Arena *arena;
  Map users; /* of a CAT: how many nodes read it, a root once more */
} Joins;

bool joins_many(const Target *target, int parts) { return parts > (target->rows_apart ? 2 : FEW_PARTS); }

static bool goes_into(const Joins *j, const UOp *inner, const UOp *outer) {
  uint64_t users = 0;
  if (inner->op != OP_CAT || inner->buffer || inner->arg.i != outer->arg.i) return false;
  return joins_many(j->target, inner->nsrc) && map_get(&j->users, (uint64_t)(uintptr_t)inner, &users) && users == 1;
}

static UOp *flatten(UOp *u, void *user) {
  const Joins *j = user;
  int n = 0, m = 0;
  for (int i = 0; i < u->nsrc; i++) n += goes_into(j, u->src[i], u) ? u->src[i]->nsrc : 1;
  if (n == u->nsrc || n > UOP_MAX_PARTS) return u;
  UOp **part = arena_new(j->arena, (size_t)n * sizeof *part);
  for (int i = 0; part && i < u->nsrc; i++) {
    bool open = goes_into(j, u->src[i], u);
    for (int k = 0; k < (open ? u->src[i]->nsrc : 1); k++) part[m++] = open ? u->src[i]->src[k] : u->src[i];
  }
  return part ? uop_cat(n, part, (int)u->arg.i) : NULL;
}

static bool add_user(Joins *j, PolyContext *ctx, const UOp *u) {
  uint64_t n = 0;
  if (u->op != OP_CAT) return true;
  map_get(&j->users, (uint64_t)(uintptr_t)u, &n);
  return map_put(ctx_base(ctx), &j->users, (uint64_t)(uintptr_t)u, n + 1);
}

/* A join over new sources has the readers that it had. */
static bool carry_users(const UOp *from, const UOp *to, void *user) {
  Joins *j = user;
  uint64_t n;
  if (from->op != OP_CAT || !map_get(&j->users, (uint64_t)(uintptr_t)from, &n)) return true;
  return map_put(ctx_base(to->ctx), &j->users, (uint64_t)(uintptr_t)to, n);
}

bool joins_flatten(PolyContext *ctx, Arena *arena, const Target *target, int nroot, UOp **root) {
  static const RewriteRule rules[] = {{OP_CAT, flatten}};
  static const RewritePass pass = {
      .name = "joins of joins", .rules = rules, .nrule = LEN(rules), .rebuilt = carry_users};
  Joins j = {.target = target, .arena = arena};
  Walk walk;
  bool ok = uop_walk(ctx, arena, nroot, root, NULL, NULL, &walk);
  for (int i = 0; ok && i < nroot; i++) ok = add_user(&j, ctx, root[i]);
  for (int i = 0; ok && i < walk.n; i++)
    for (int k = 0; ok && k < walk.at[i]->nsrc; k++) ok = add_user(&j, ctx, walk.at[i]->src[k]);
  ok = ok && (!j.users.n || rewrite_graphs(ctx, &pass, &j, nroot, root));
  map_free(ctx_base(ctx), &j.users);
  return ok;
}
