/* keccak.c: the sponge of Keccak over the rows of a tensor of bytes. In: [..., n] bytes. Out: [..., out] bytes,
 * computed at once: a hash is read, not differentiated. */
#include <string.h>

#include "tensor/tensor.h"

enum { LANES = 25, ROUNDS = 24, STATE_BYTES = 200 };

static uint64_t turned(uint64_t x, int by) { return by ? x << by | x >> (64 - by) : x; }

/* The constants of a round are bits of a linear feedback shift register. */
static uint64_t round_constant(uint8_t *lfsr) {
  uint64_t c = 0;
  for (int j = 0; j < 7; j++) {
    if (*lfsr & 1) c |= 1ull << ((1 << j) - 1);
    *lfsr = (uint8_t)(*lfsr << 1 ^ (*lfsr & 0x80 ? 0x71 : 0));
  }
  return c;
}

static void permute(uint64_t a[LANES]) {
  uint8_t lfsr = 1;
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t column[5];
    for (int x = 0; x < 5; x++) column[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
    for (int k = 0; k < LANES; k++) a[k] ^= column[(k % 5 + 4) % 5] ^ turned(column[(k % 5 + 1) % 5], 1);
    uint64_t last = a[1];
    for (int t = 0, x = 1, y = 0; t < 24; t++) { /* each lane, turned, goes to the place of the next */
      int next = (2 * x + 3 * y) % 5;
      x = y;
      y = next;
      uint64_t here = a[x + 5 * y];
      a[x + 5 * y] = turned(last, (t + 1) * (t + 2) / 2 % 64);
      last = here;
    }
    for (int y = 0; y < LANES; y += 5) {
      uint64_t row[5];
      memcpy(row, a + y, sizeof row);
      for (int x = 0; x < 5; x++) a[y + x] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5]);
    }
    a[0] ^= round_constant(&lfsr);
  }
}

static void absorb(uint64_t a[LANES], const uint8_t *bytes, int64_t n) {
  for (int64_t k = 0; k < n; k++) a[k / 8] ^= (uint64_t)bytes[k] << (8 * (k % 8));
}

static void hash_row(const uint8_t *in, int64_t n, int rate, int suffix, uint8_t *out, int nout) {
  uint64_t a[LANES] = {0};
  for (; n >= rate; in += rate, n -= rate) {
    absorb(a, in, rate);
    permute(a);
  }
  absorb(a, in, n);
  a[n / 8] ^= (uint64_t)suffix << (8 * (n % 8));
  a[(rate - 1) / 8] ^= 0x80ull << (8 * ((rate - 1) % 8));
  permute(a);
  for (int k = 0; k < nout; k++) {
    if (k && k % rate == 0) permute(a);
    out[k] = (uint8_t)(a[k % rate / 8] >> (8 * (k % rate % 8)));
  }
}

PolyTensor *poly_keccak(PolyTensor *x, int rate, int suffix, int nout) {
  if (!x) return NULL;
  PolyContext *ctx = x->ctx;
  Base *b = ctx_base(ctx);
  int ndim = poly_ndim(x);
  if (x->uop->dtype != POLY_UINT8 || ndim < 1)
    return fail_null(b, POLY_ERROR_TYPE, "keccak takes bytes with one axis or more, not %s",
                     dtype_name((PolyDType)x->uop->dtype));
  if (rate <= 0 || rate > STATE_BYTES || rate % 8 || nout <= 0)
    return fail_null(b, POLY_ERROR_VALUE, "keccak: a rate of %d bytes and %d of output", rate, nout);
  int64_t shape[16], n = poly_dim(x, ndim - 1), total = poly_numel(x), rows = 1;
  for (int k = 0; k < ndim; k++) shape[k] = poly_dim(x, k);
  for (int k = 0; k < ndim - 1; k++) rows *= shape[k];
  shape[ndim - 1] = nout;
  uint8_t *in = mem_new(b, (size_t)total + 1), *out = mem_new(b, (size_t)(rows * nout) + 1);
  PolyTensor *t = NULL;
  if (in && out && poly_read(x, in, (size_t)total) == POLY_OK) {
    for (int64_t k = 0; k < rows; k++) hash_row(in + k * n, n, rate, suffix, out + k * nout, nout);
    t = poly_from_data(ctx, out, POLY_UINT8, ndim, shape);
  }
  mem_free(b, in, (size_t)total + 1);
  mem_free(b, out, (size_t)(rows * nout) + 1);
  return t;
}
