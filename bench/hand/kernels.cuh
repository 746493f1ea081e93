/* kernels.cuh: what the kernels written by hand for a GPU share. A piece is at most P neighbours of one row, so that no
 * row is longer than the others' work by much; pieces are sorted by length. The partial results of a row that was cut
 * are combined in order by a second kernel: no atomics, the same bits in every run. */

struct Piece {
  int row, begin, end, slot; /* slot: where its partial result goes; -1: it is the whole row */
};

__device__ inline float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
__device__ inline float4 operator*(float s, float4 a) { return make_float4(s * a.x, s * a.y, s * a.z, s * a.w); }
__device__ inline float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

#define ALL 0xffffffffu
#undef INFINITY
#define INFINITY __int_as_float(0x7f800000) /* NVRTC has no math.h */
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
