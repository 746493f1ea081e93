/* sum.cu: the sum over in-edges of F features (a macro), by hand. A part of a warp takes a piece, each lane four
 * features, or eight where F is 256; it loads as many indices as it has lanes and hands them round by shuffles. */

#define LANES (F / 4 < 32 ? F / 4 : 32)
#define QUADS (F / 4 / LANES)

extern "C" __global__ void sum_pieces(const Piece *piece, int n, const int *other, const float4 *x, float4 *out, float4 *partial) {
  int group = THREAD / LANES, lane = threadIdx.x % LANES;
  if (group >= n) return;
  int base = threadIdx.x % 32 - lane;
  unsigned mask = LANES == 32 ? ALL : ((1u << (LANES & 31)) - 1) << base;
  Piece p = piece[group];
  float4 sum[QUADS];
  for (int q = 0; q < QUADS; q++) sum[q] = make_float4(0, 0, 0, 0);
  for (int e = p.begin; e < p.end; e += LANES) {
    int mine = e + lane < p.end ? other[e + lane] : 0, count = min(LANES, p.end - e);
    if (count == LANES) {
#pragma unroll 8
      for (int k = 0; k < LANES; k++) {
        int u = __shfl_sync(mask, mine, base + k);
#pragma unroll
        for (int q = 0; q < QUADS; q++) sum[q] = sum[q] + x[(size_t)u * (F / 4) + q * LANES + lane];
      }
    } else {
      for (int k = 0; k < count; k++) {
        int u = __shfl_sync(mask, mine, base + k);
        for (int q = 0; q < QUADS; q++) sum[q] = sum[q] + x[(size_t)u * (F / 4) + q * LANES + lane];
      }
    }
  }
  float4 *to = p.slot < 0 ? out + (size_t)p.row * (F / 4) : partial + (size_t)p.slot * (F / 4);
  for (int q = 0; q < QUADS; q++) to[q * LANES + lane] = sum[q];
}

/* Rows that were cut: row[i] has the slots from first[i] to first[i + 1]. */
extern "C" __global__ void sum_cut(const int *row, const int *first, int n, const float4 *partial, float4 *out) {
  int i = THREAD / (F / 4), q = THREAD % (F / 4);
  if (i >= n) return;
  float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 8
  for (int s = first[i]; s < first[i + 1]; s++) sum = sum + partial[(size_t)s * (F / 4) + q];
  out[(size_t)row[i] * (F / 4) + q] = sum;
}
