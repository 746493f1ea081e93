/* keys.c: see keys.h. The loops are written for the C compiler to vectorise. */
#include "runtime/keys.h"

#define INTS(T, TURN)                                                                                                  \
  do {                                                                                                                 \
    const T *x = (const T *)host_at(t->data) + from;                                                                   \
    for (int i = 0; i < n; i++) out[i] = (uint64_t)(T)(x[i] ^ (T)(TURN)) ^ flip;                                       \
  } while (0)

#define FLOATS(T, INFINITY_BITS)                                                                                       \
  do {                                                                                                                 \
    const T *x = (const T *)host_at(t->data) + from;                                                                   \
    const T sign = (T)1 << (8 * sizeof(T) - 1), rest = (T)(sign - 1);                                                  \
    for (int i = 0; i < n; i++) {                                                                                      \
      T bits = x[i], size = bits & rest;                                                                               \
      T key = (T)(bits & sign ? ~bits : bits | sign);                                                                  \
      key = size == 0 ? sign : key;                                                                                    \
      key = size > (T)(INFINITY_BITS) ? (T)(sign | rest) : key;                                                        \
      out[i] = (uint64_t)key ^ flip;                                                                                   \
    }                                                                                                                  \
  } while (0)

static void keys_bool(const LibraryTensor *t, int64_t from, int n, uint64_t flip, uint64_t *out) {
  const uint8_t *x = (const uint8_t *)host_at(t->data) + from;
  for (int i = 0; i < n; i++) out[i] = (uint64_t)(x[i] != 0) ^ flip;
}

WIDE_CLONES void keys_read(const LibraryTensor *t, int64_t from, int n, bool descending, uint64_t *out) {
  uint64_t flip = !descending ? 0 : ~(uint64_t)0 >> (64 - keys_width(t));
  switch (t->dtype) {
  case POLY_BOOL: keys_bool(t, from, n, flip, out); break;
  case POLY_INT8: INTS(uint8_t, 0x80); break;
  case POLY_UINT8: INTS(uint8_t, 0); break;
  case POLY_INT16: INTS(uint16_t, 0x8000); break;
  case POLY_UINT16: INTS(uint16_t, 0); break;
  case POLY_INT32: INTS(uint32_t, 0x80000000u); break;
  case POLY_UINT32: INTS(uint32_t, 0); break;
  case POLY_INT64: INTS(uint64_t, (uint64_t)1 << 63); break;
  case POLY_FP8E4M3: FLOATS(uint8_t, 0x7e); break;
  case POLY_FP8E5M2: FLOATS(uint8_t, 0x7c); break;
  case POLY_FLOAT16: FLOATS(uint16_t, 0x7c00); break;
  case POLY_BFLOAT16: FLOATS(uint16_t, 0x7f80); break;
  case POLY_FLOAT32: FLOATS(uint32_t, 0x7f800000); break;
  case POLY_FLOAT64: FLOATS(uint64_t, 0x7ff0000000000000); break;
  default: INTS(uint64_t, 0); break;
  }
}
