/* words.h: the random numbers of sampler.h as programs: whole numbers of 64 bits, each a function of keys and places.
 * The same bits on every device. NULL in gives NULL out. */
#ifndef POLY_WORDS_H
#define POLY_WORDS_H

#include "algorithms/sampler.h"
#include "tensor/tensor.h"

static inline UOp *op(Op o, UOp *a, UOp *b) { return a && b ? t_binary(o, a, b) : NULL; }
static inline UOp *opc(Op o, UOp *a, uint64_t c) { return a ? t_binary(o, a, t_int_like(a, (int64_t)c)) : NULL; }
static inline UOp *fold(UOp *x, int shift) { return op(OP_XOR, x, opc(OP_SHR, x, (uint64_t)shift)); }
static inline UOp *low_word(UOp *x) { return opc(OP_AND, x, UINT32_MAX); }
static inline UOp *high_word(UOp *x) { return opc(OP_SHR, x, 32); }

/* random_mix */
static inline UOp *mixed(UOp *x) {
  x = opc(OP_MUL, fold(x, 30), 0xbf58476d1ce4e5b9u);
  return fold(opc(OP_MUL, fold(x, 27), 0x94d049bb133111ebu), 31);
}

/* random_key */
static inline UOp *keyed(UOp *key, UOp *with) {
  return mixed(op(OP_ADD, key, opc(OP_MUL, opc(OP_ADD, with, 1), RANDOM_STEP)));
}

/* What random_next gives as number n, from 0 on, of the stream that begins at state. */
static inline UOp *word_of(UOp *state, UOp *n) {
  return mixed(op(OP_ADD, state, opc(OP_MUL, opc(OP_ADD, n, 1), RANDOM_STEP)));
}

/* random_below, of such a word. */
static inline UOp *below(UOp *word, UOp *n) {
  UOp *high = op(OP_MUL, high_word(word), n), *low = high_word(op(OP_MUL, low_word(word), n));
  return high_word(op(OP_ADD, high, low));
}

#endif
