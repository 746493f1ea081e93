/* rates.c: what the machine can do at most, for bench/shares.py: multiplications and additions of float32 in registers,
 * and bytes of memory that are read. Seconds are those of the processor, which other programs do not add to. */
#include "kernels.h"

#include <time.h>

static double seconds(int threads) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return ((double)t.tv_sec + 1e-9 * (double)t.tv_nsec) / threads;
}

/* One more fused multiply-add of a sum, which the compiler neither merges nor moves. */
#define STEP(s)                                                                                                        \
  do {                                                                                                                 \
    s = s * x + y;                                                                                                     \
    __asm__ volatile("" : "+v"(s));                                                                                    \
  } while (0)

/* Seconds that `threads` threads take for `turns` * 12 * 16 fused multiply-adds each: twelve independent sums are more
 * than the latency of a unit times the number of units. */
double hand_arithmetic(int64_t turns, int threads, float *sink) {
  double start = seconds(threads);
#pragma omp parallel num_threads(threads)
  {
    f16 x = load16(sink), y = load16(sink + 16), a = x, b = x, c = x, d = x, e = x, f = x, g = x, h = x, i = x, j = x,
        k = x, l = x;
    for (int64_t t = 0; t < turns; t++) {
      STEP(a);
      STEP(b);
      STEP(c);
      STEP(d);
      STEP(e);
      STEP(f);
      STEP(g);
      STEP(h);
      STEP(i);
      STEP(j);
      STEP(k);
      STEP(l);
    }
#pragma omp critical
    store16(sink + 32, a + b + c + d + e + f + g + h + i + j + k + l);
  }
  return seconds(threads) - start;
}

/* Seconds that reading n floats takes, n a multiple of 64 * threads. */
double hand_read(const float *data, int64_t n, int threads, float *sink) {
  double start = seconds(threads);
#pragma omp parallel num_threads(threads)
  {
    f16 sum[4] = {0};
#pragma omp for schedule(static)
    for (int64_t i = 0; i < n / 64; i++)
      for (int k = 0; k < 4; k++) sum[k] += load16(data + 64 * i + 16 * k);
#pragma omp critical
    store16(sink + 32, sum[0] + sum[1] + sum[2] + sum[3]);
  }
  return seconds(threads) - start;
}
