/* cuda_split.cu: a matrix product of float32 on the tensor cores, with the accuracy of float32. The text is embedded into
 * the library and compiled by NVRTC with
 *
 *   WARPS_M, WARPS_N   warps of a block along rows and columns; each has 32 rows and
 *   WIDE               columns, a multiple of 8
 *   A_BY_K, B_BY_K     1: the operand is contiguous along the inner axis, 0: along its rows or columns
 *   STAGES             tiles of the inner axis in shared memory, of which all but one are under way
 *
 * Tensor cores multiply numbers of 11 significant bits (TF32). Each factor is split into two of them, x = hi + lo: hi is x
 * rounded to 11 bits, lo the rest, which has 12 bits at most, so that 23 of 24 bits are kept. Of the four products the
 * three that matter are added up, lo hi + hi lo + hi hi, what is smaller first. Tensor cores also round their sums towards
 * zero. So they add up the products of TILE_K factors only, and those sums are added to the accumulator in float32.
 *
 * An infinite factor, or one that hi rounds to infinity, has no such split, and gives NaN: results that are not finite
 * are computed again, one by one in plain float32.
 *
 * A block has the tile of rows and columns of one part of the inner axis; results of part p of several lie
 * part_stride further on each. */
typedef unsigned int uint;
typedef long long int64_t;

#define BLOCK_M (32 * WARPS_M)
#define BLOCK_N (WIDE * WARPS_N)
#define THREADS (32 * WARPS_M * WARPS_N)
#define TILE_K 16
/* Steps in shared memory, in floats. The threads of a warp read 8 rows and 4 columns of an operand at a time: with steps
 * of 20 along rows, or 8 more than a multiple of 32 along the inner axis, those are 32 different banks. */
#define A_STEP (A_BY_K ? TILE_K + 4 : BLOCK_M + (40 - BLOCK_M % 32) % 32)
#define B_STEP (B_BY_K ? TILE_K + 4 : BLOCK_N + (40 - BLOCK_N % 32) % 32)
#define A_FLOATS (A_BY_K ? BLOCK_M * A_STEP : TILE_K * A_STEP)
#define B_FLOATS (B_BY_K ? BLOCK_N * B_STEP : TILE_K * B_STEP)

#ifndef MMA_TF32 /* a host that runs this text has its own */
static __device__ __forceinline__ void MMA_TF32(float c[4], const uint a[4], const uint b[2]) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/* 16 bytes to shared memory while other work goes on; zeros if they are not wanted. */
static __device__ __forceinline__ void COPY_16(float *to, const float *from, bool wanted) {
  uint at = (uint)__cvta_generic_to_shared(to), bytes = wanted ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
}
#define COPIES_BEGUN() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_COPIES(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#endif

/* The next tile of an operand: `count` rows or columns from `first` on, of `total`; inner axis from k up to `end`. */
template <int BY_K, int COUNT, int STEP>
static __device__ __forceinline__ void load_tile(float *to, const float *from, int64_t step, int64_t first, int64_t total,
                                                 int64_t k, int64_t end) {
#pragma unroll
  for (int c = 0; c < (COUNT * TILE_K / 4 + THREADS - 1) / THREADS; c++) {
    int i = c * THREADS + (int)threadIdx.x;
    int along = BY_K ? TILE_K / 4 : COUNT / 4, row = i / along, col = i % along * 4;
    int64_t outer = first + (BY_K ? row : col), inner = k + (BY_K ? col : row);
    bool wanted = outer < total && inner < end;
    const float *at = BY_K ? from + outer * step + inner : from + inner * step + outer;
    if (i < COUNT * TILE_K / 4) COPY_16(to + row * STEP + col, wanted ? at : from, wanted);
  }
}

static __device__ __forceinline__ void split(float x, uint *hi, uint *lo) {
  uint near = ((uint)__float_as_int(x) + 0x1000u) & 0xffffe000u;
  *hi = near;
  *lo = (uint)__float_as_int(x - __int_as_float((int)near));
}

/* Sums of products of a warp's tile. */
static __device__ __forceinline__ void multiply_tile(const float *a, const float *b, float sum[2][WIDE / 8][4]) {
  uint ah[2][2][4], al[2][2][4];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = warp % WARPS_M * 32 + lane / 4;
  int column = warp / WARPS_M * WIDE + lane / 4, inner = lane % 4;
#pragma unroll
  for (int s = 0; s < 2; s++)
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
      for (int v = 0; v < 4; v++) {
        int r = row + 16 * i + 8 * (v % 2), k = inner + 8 * s + 4 * (v / 2);
        split(a[A_BY_K ? r * A_STEP + k : k * A_STEP + r], &ah[s][i][v], &al[s][i][v]);
      }
#pragma unroll
  for (int j = 0; j < WIDE / 8; j++) {
    uint bh[2][2], bl[2][2];
    float part[2][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
#pragma unroll
    for (int s = 0; s < 2; s++)
#pragma unroll
      for (int v = 0; v < 2; v++) {
        int c = column + 8 * j, k = inner + 8 * s + 4 * v;
        split(b[B_BY_K ? c * B_STEP + k : k * B_STEP + c], &bh[s][v], &bl[s][v]);
      }
#pragma unroll
    for (int s = 0; s < 2; s++)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        MMA_TF32(part[i], al[s][i], bh[s]);
        MMA_TF32(part[i], ah[s][i], bl[s]);
      }
#pragma unroll
    for (int s = 0; s < 2; s++)
#pragma unroll
      for (int i = 0; i < 2; i++) MMA_TF32(part[i], ah[s][i], bh[s]);
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
      for (int v = 0; v < 4; v++) sum[i][j][v] += part[i][v];
  }
}

static __device__ __forceinline__ bool is_finite(float x) { return (__float_as_int(x) & 0x7f800000) != 0x7f800000; }

extern "C" __global__ void __launch_bounds__(THREADS) split_product(
    const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k, int64_t parts, int64_t each, int64_t a_step,
    int64_t a_batch, int64_t b_step, int64_t b_batch, int64_t c_row, int64_t c_batch, int64_t part_stride) {
  __shared__ __align__(16) float a_tile[STAGES][A_FLOATS], b_tile[STAGES][B_FLOATS];
  int64_t block = blockIdx.x, columns = (n + BLOCK_N - 1) / BLOCK_N, rows = (m + BLOCK_M - 1) / BLOCK_M;
  int64_t first_n = block % columns * BLOCK_N, first_m = block / columns % rows * BLOCK_M;
  int64_t part = block / (columns * rows) % parts, batch = block / (columns * rows * parts);
  int64_t from = part * each, end = part + 1 < parts ? from + each : k;
  int tiles = (int)((end - from + TILE_K - 1) / TILE_K);
  a += batch * a_batch;
  b += batch * b_batch;
  c += batch * c_batch + part * part_stride;

  float sum[2][WIDE / 8][4];
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int j = 0; j < WIDE / 8; j++)
#pragma unroll
      for (int v = 0; v < 4; v++) sum[i][j][v] = 0;
#pragma unroll
  for (int t = 0; t < STAGES - 1; t++) {
    load_tile<A_BY_K, BLOCK_M, A_STEP>(a_tile[t], a, a_step, first_m, m, from + t * TILE_K, end);
    load_tile<B_BY_K, BLOCK_N, B_STEP>(b_tile[t], b, b_step, first_n, n, from + t * TILE_K, end);
    COPIES_BEGUN();
  }
  int at = 0, next = STAGES - 1;
  for (int t = 0; t < tiles; t++) {
    WAIT_COPIES(STAGES - 2);
    __syncthreads();
    int64_t ahead = from + (int64_t)(t + STAGES - 1) * TILE_K;
    load_tile<A_BY_K, BLOCK_M, A_STEP>(a_tile[next], a, a_step, first_m, m, ahead, end);
    load_tile<B_BY_K, BLOCK_N, B_STEP>(b_tile[next], b, b_step, first_n, n, ahead, end);
    COPIES_BEGUN();
    multiply_tile(a_tile[at], b_tile[at], sum);
    at = at + 1 == STAGES ? 0 : at + 1;
    next = next + 1 == STAGES ? 0 : next + 1;
  }

  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int64_t row = first_m + warp % WARPS_M * 32 + lane / 4, column = first_n + warp / WARPS_M * WIDE + lane % 4 * 2;
  bool finite = true;
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      int64_t r = row + 16 * i + 8 * h;
      float *to = c + r * c_row + column;
#pragma unroll
      for (int j = 0; j < WIDE / 8; j++) {
        float x = sum[i][j][2 * h], y = sum[i][j][2 * h + 1];
        if (r >= m || column + 8 * j >= n) continue;
        *(float2 *)(to + 8 * j) = make_float2(x, y);
        finite = finite && is_finite(x) && is_finite(y);
      }
    }
  if (finite) return;
#pragma unroll 1
  for (int i = 0; i < 4 * (WIDE / 8) * 2; i++) {
    int64_t r = row + 8 * (i % 4), s = column + 8 * (i / 8) + i / 4 % 2;
    if (r >= m || s >= n || is_finite(c[r * c_row + s])) continue;
    float v = 0;
#pragma unroll 1
    for (int64_t l = from; l < end; l++)
      v = __fmaf_rn(A_BY_K ? a[r * a_step + l] : a[l * a_step + r], B_BY_K ? b[s * b_step + l] : b[l * b_step + s], v);
    c[r * c_row + s] = v;
  }
}
