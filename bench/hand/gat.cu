/* gat.cu: a GAT layer's aggregation (8 heads of 32 features), forward and backward, by hand. A warp takes a piece, a
 * lane eight features of one head, the four lanes of a head share out the exponentials. Forward keeps a running maximum
 * and sum. Backward walks the out-edges of each source once: since sum_j alpha_j (dy . x_j) = dy . y, the gradient of a
 * score needs no pass of its own; it is written by the edge's place among the in-edges and summed there. */

enum { H = 8, QUADS = 64 }; /* float4 of a row of features */

/* What an edge reads of its destination, for each head. */
struct Target {
  float right, top, scale, t; /* er, largest score, 1 / sum of exponentials, dy . y */
};

__device__ inline float leaky(float v) { return v < 0 ? 0.2f * v : v; }
__device__ inline float of_head(float v) { /* the sum over the four lanes of a head */
  v += __shfl_xor_sync(ALL, v, 1);
  return v + __shfl_xor_sync(ALL, v, 2);
}
__device__ inline float top_of_head(float v) {
  v = fmaxf(v, __shfl_xor_sync(ALL, v, 1));
  return fmaxf(v, __shfl_xor_sync(ALL, v, 2));
}

extern "C" __global__ void gat_pieces(const Piece *piece, int n, const int *other, const float4 *x, const float *el, const float *er,
                                      float4 *out, float *top_of, float *sum_of, float4 *partial, float *part_top, float *part_sum) {
  int group = THREAD / 32, lane = threadIdx.x % 32, head = lane / 4, part = lane % 4;
  if (group >= n) return;
  Piece p = piece[group];
  float own = er[p.row * H + head], top = -INFINITY, sum = 0;
  float4 a = make_float4(0, 0, 0, 0), b = a;
  for (int e = p.begin; e < p.end; e += 32) {
    int mine = e + lane < p.end ? other[e + lane] : -1, count = min(32, p.end - e);
    float w[8], best = -INFINITY;
#pragma unroll
    for (int j = 0; j < 8; j++) { /* the scores of edges part, part + 4, .. */
      int u = __shfl_sync(ALL, mine, j * 4 + part);
      w[j] = u < 0 ? -INFINITY : leaky(el[u * H + head] + own);
      best = fmaxf(best, w[j]);
    }
    float now = fmaxf(top, top_of_head(best)), scale = __expf(top - now), more = 0;
#pragma unroll
    for (int j = 0; j < 8; j++) more += w[j] = __expf(w[j] - now);
    top = now, sum = sum * scale + of_head(more), a = scale * a, b = scale * b;
#pragma unroll
    for (int j = 0; j < 8; j++) {
      if (j * 4 >= count) break;
#pragma unroll
      for (int i = 0; i < 4; i++) {
        int u = __shfl_sync(ALL, mine, j * 4 + i);
        float weight = __shfl_sync(ALL, w[j], (lane & ~3) + i);
        if (u < 0) continue;
        const float4 *row = x + (size_t)u * QUADS + lane * 2;
        a = a + weight * row[0], b = b + weight * row[1];
      }
    }
  }
  int place = p.slot < 0 ? p.row : p.slot;
  float scale = p.slot < 0 ? 1 / (sum + 1e-16f) : 1;
  float4 *to = (p.slot < 0 ? out : partial) + (size_t)place * QUADS + lane * 2;
  to[0] = scale * a, to[1] = scale * b;
  if (part == 0) (p.slot < 0 ? top_of : part_top)[place * H + head] = top, (p.slot < 0 ? sum_of : part_sum)[place * H + head] = sum;
}

extern "C" __global__ void gat_cut(const int *row, const int *first, int n, const float4 *partial, const float *part_top, const float *part_sum,
                                   float4 *out, float *top_of, float *sum_of) {
  int i = THREAD / 32, lane = threadIdx.x % 32, head = lane / 4;
  if (i >= n) return;
  float top = -INFINITY, sum = 0;
  float4 a = make_float4(0, 0, 0, 0), b = a;
  for (int s = first[i]; s < first[i + 1]; s++) top = fmaxf(top, part_top[s * H + head]);
  for (int s = first[i]; s < first[i + 1]; s++) {
    float w = __expf(part_top[s * H + head] - top);
    const float4 *from = partial + (size_t)s * QUADS + lane * 2;
    sum += w * part_sum[s * H + head], a = a + w * from[0], b = b + w * from[1];
  }
  float4 *to = out + (size_t)row[i] * QUADS + lane * 2;
  float scale = 1 / (sum + 1e-16f);
  to[0] = scale * a, to[1] = scale * b;
  if (lane % 4 == 0) top_of[row[i] * H + head] = top, sum_of[row[i] * H + head] = sum;
}

extern "C" __global__ void gat_targets(int rows, const float *er, const float *top, const float *sum, const float4 *dy, const float4 *y, Target *target) {
  int v = THREAD / 32, lane = threadIdx.x % 32, at = v * H + lane / 4;
  if (v >= rows) return;
  size_t q = (size_t)v * QUADS + lane * 2;
  float t = of_head(dot(dy[q], y[q]) + dot(dy[q + 1], y[q + 1]));
  if (lane % 4 == 0) target[at] = {er[at], top[at], 1 / (sum[at] + 1e-16f), t};
}

extern "C" __global__ void gat_back(const Piece *piece, int n, const int *other, const int *place, const float4 *x, const float *el,
                                    const Target *target, const float4 *dy, float4 *dx, float *d_el, float *score, float4 *partial, float *part_el) {
  int group = THREAD / 32, lane = threadIdx.x % 32, head = lane / 4, part = lane % 4;
  if (group >= n) return;
  Piece p = piece[group];
  const float4 *own = x + (size_t)p.row * QUADS + lane * 2;
  float4 x0 = own[0], x1 = own[1], a = make_float4(0, 0, 0, 0), b = a;
  float left = el[p.row * H + head], sum = 0;
  for (int e = p.begin; e < p.end; e += 32) {
    int mine = -1, where = 0, count = min(32, p.end - e);
    if (e + lane < p.end) mine = other[e + lane], where = place[e + lane];
    float w[8], slope[8], t[8];
#pragma unroll
    for (int j = 0; j < 8; j++) {
      int v = __shfl_sync(ALL, mine, j * 4 + part);
      w[j] = slope[j] = t[j] = 0;
      if (v < 0) continue;
      Target d = target[v * H + head];
      float raw = left + d.right;
      w[j] = __expf(leaky(raw) - d.top) * d.scale, slope[j] = raw < 0 ? 0.2f * w[j] : w[j], t[j] = d.t;
    }
#pragma unroll
    for (int j = 0; j < 8; j++) {
      if (j * 4 >= count) break;
#pragma unroll
      for (int i = 0; i < 4; i++) {
        int v = __shfl_sync(ALL, mine, j * 4 + i), at = __shfl_sync(ALL, where, j * 4 + i), from = (lane & ~3) + i;
        float weight = __shfl_sync(ALL, w[j], from), s = __shfl_sync(ALL, slope[j], from), tt = __shfl_sync(ALL, t[j], from);
        if (v < 0) continue; /* the same for all lanes */
        const float4 *row = dy + (size_t)v * QUADS + lane * 2;
        float4 g0 = row[0], g1 = row[1];
        float d = s * (of_head(dot(g0, x0) + dot(g1, x1)) - tt);
        a = a + weight * g0, b = b + weight * g1, sum += d;
        if (part == 0) score[(size_t)at * H + head] = d;
      }
    }
  }
  int to = p.slot < 0 ? p.row : p.slot;
  float4 *features = (p.slot < 0 ? dx : partial) + (size_t)to * QUADS + lane * 2;
  features[0] = a, features[1] = b;
  if (part == 0) (p.slot < 0 ? d_el : part_el)[to * H + head] = sum;
}

/* Rows that were cut: sums of their partial results, width floats each. */
extern "C" __global__ void cut_sums(const int *row, const int *first, int n, int width, const float *partial, float *out) {
  int i = THREAD / width, k = THREAD % width;
  if (i >= n) return;
  float sum = 0;
  for (int s = first[i]; s < first[i + 1]; s++) sum += partial[(size_t)s * width + k];
  out[(size_t)row[i] * width + k] = sum;
}

/* The sum of the scores' gradients over in-edges, which lie side by side: eight lanes a piece. */
extern "C" __global__ void gat_right(const Piece *piece, int n, const float *score, float *d_er, float *partial) {
  int group = THREAD / H, head = THREAD % H;
  if (group >= n) return;
  Piece p = piece[group];
  float sum = 0;
#pragma unroll 8
  for (int e = p.begin; e < p.end; e++) sum += score[(size_t)e * H + head];
  (p.slot < 0 ? d_er : partial)[(p.slot < 0 ? p.row : p.slot) * H + head] = sum;
}
