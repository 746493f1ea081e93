/* random.c: random words written out. In: a program with RANDOM nodes. Out: the same program in which each is the
 * integer arithmetic that it stands for.
 *
 * The function is Threefry-2x32 with 20 rounds (Salmon et al., 2011): key = the two halves of the seed, counter =
 * (element, draw). That is 130 nodes, which programs that are built anew in each step need not be made of: they are
 * looked up as they are, and written out when they are planned. */
#include "ir/rewrite.h"

#include "ir/context.h"

typedef struct Words {
  UOp *a, *b;
} Words;

static UOp *word(const UOp *like, int64_t v) { return uop_int_const(like->ctx, POLY_UINT32, v); }

/* A scalar under the one axis of `like`. */
static UOp *spread(UOp *x, const UOp *like) {
  UOp *one = uop_index(like->ctx, 1), *y = x && one && x->ndim == 0 ? uop_reshape(x, 1, &one) : x;
  return y ? uop_expand(y, like->shape) : NULL;
}

static UOp *add(UOp *x, UOp *y) {
  if (!x || !y) return NULL;
  return uop_binary(OP_ADD, x->ndim < y->ndim ? spread(x, y) : x, y->ndim < x->ndim ? spread(y, x) : y);
}

static UOp *rotate_left(UOp *x, int r) {
  if (!x) return NULL;
  return uop_binary(OP_OR, uop_binary(OP_SHL, x, word(x, r)), uop_binary(OP_SHR, x, word(x, 32 - r)));
}

static UOp *third_key(UOp *k0, UOp *k1) {
  if (!k0 || !k1) return NULL;
  UOp *low = k0->ndim < k1->ndim ? spread(k0, k1) : k0;
  UOp *both = low ? uop_binary(OP_XOR, low, k1) : NULL;
  return both ? uop_binary(OP_XOR, both, word(both, 0x1BD11BDA)) : NULL;
}

static Words threefry(UOp *k0, UOp *k1, UOp *c0, UOp *c1) {
  static const int rotation[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  UOp *key[3] = {k0, k1, third_key(k0, k1)};
  Words x = {add(c0, k0), add(c1, k1)};
  for (int block = 0; key[2] && block < 5; block++) {
    for (int r = 0; r < 4; r++) {
      x.a = uop_binary(OP_ADD, x.a, x.b);
      x.b = uop_binary(OP_XOR, rotate_left(x.b, rotation[block % 2][r]), x.a);
    }
    x.a = add(x.a, key[(block + 1) % 3]);
    x.b = add(x.b, add(key[(block + 2) % 3], word(k0, block + 1)));
  }
  return x;
}

/* Beyond 2^32 elements the high word of the index goes into the key. */
static UOp *written_out(UOp *u, void *user) {
  (void)user;
  PolyContext *ctx = u->ctx;
  UOp *k0 = uop_cast(u->src[1], POLY_UINT32), *k1 = uop_cast(u->src[2], POLY_UINT32);
  UOp *draw = uop_cast(u->src[3], POLY_UINT32), *i = uop_iota(ctx, u->arg.j ? POLY_INT64 : POLY_UINT32, u->src[0]);
  if (!k0 || !i) return NULL;
  if (u->arg.j) {
    UOp *high = uop_binary(OP_SHR, i, uop_index(ctx, 32)), *low = uop_binary(OP_AND, i, uop_index(ctx, UINT32_MAX));
    k1 = add(k1, uop_cast(high, POLY_UINT32));
    i = uop_cast(low, POLY_UINT32);
  }
  Words w = i ? threefry(k0, k1, i, spread(draw, i)) : (Words){0};
  return u->arg.i ? w.b : w.a;
}

static const RewriteRule rules[] = {{OP_RANDOM, written_out}};

const RewritePass random_pass = {.name = "random", .rules = rules, .nrule = LEN(rules)};
