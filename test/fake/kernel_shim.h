/* kernel_shim.h: CUDA's words for a C++ compiler, so that kernels run on the host: the threads of a block are
 * coroutines, which pass control on where they wait for each other. Put in front of CUDA text by fake_cuda.c. */
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tuple>
#include <ucontext.h>
#include <utility>

/* Of an address that is no multiple of its size the host would load it all the same; the card faults, and so does this.
 */
#define VECTOR(name, type)                                                                                             \
  struct alignas(4 * sizeof(type)) name {                                                                              \
    type x, y, z, w;                                                                                                   \
    name() = default;                                                                                                  \
    name(type a, type b, type c, type d) : x(a), y(b), z(c), w(d) {}                                                   \
    name(const name &o) { *this = o; }                                                                                 \
    name &operator=(const name &o) {                                                                                   \
      if (((uintptr_t)this | (uintptr_t)&o) % (4 * sizeof(type))) abort();                                             \
      x = o.x, y = o.y, z = o.z, w = o.w;                                                                              \
      return *this;                                                                                                    \
    }                                                                                                                  \
  }
VECTOR(char4, int8_t);
VECTOR(uchar4, uint8_t);
VECTOR(short4, int16_t);
VECTOR(ushort4, uint16_t);
VECTOR(int4, int32_t);
VECTOR(uint4, uint32_t);
VECTOR(float4, float);
#undef VECTOR
#define PAIR(name, type)                                                                                               \
  struct alignas(2 * sizeof(type)) name {                                                                              \
    type x, y;                                                                                                         \
    name() = default;                                                                                                  \
    name(type a, type b) : x(a), y(b) {}                                                                               \
    name(const name &o) { *this = o; }                                                                                 \
    name &operator=(const name &o) {                                                                                   \
      if (((uintptr_t)this | (uintptr_t)&o) % (2 * sizeof(type))) abort();                                             \
      x = o.x, y = o.y;                                                                                                \
      return *this;                                                                                                    \
    }                                                                                                                  \
  }
PAIR(float2, float);
PAIR(longlong2, int64_t);
PAIR(double2, double);
#undef PAIR
static inline float2 make_float2(float x, float y) { return {x, y}; }

namespace fake {
struct Dim {
  unsigned x, y, z;
};
enum Wait { RUNS, AT_BLOCK, AT_WARP, ENDED };
struct Thread {
  ucontext_t first;
  jmp_buf at;
  bool entered;
  Wait wait;
  unsigned mask; /* of the threads of its warp that it waits for */
  Dim index;
  uint64_t value; /* shown to the others of the warp */
};
constexpr unsigned MOST = 1024;
constexpr size_t STACK = 64 << 10;
static Thread thread[MOST];
static char *stacks;
static unsigned now, count;
static jmp_buf scheduler;
static ucontext_t outer;
static void (*body)(void *);
static void *body_args;

/* Gives control to the scheduler until all that are waited for have come here. */
static inline void wait_for(Wait w, unsigned mask = ~0u) {
  thread[now].wait = w;
  thread[now].mask = mask;
  unsigned me = now;
  if (!_setjmp(thread[me].at)) _longjmp(scheduler, 1);
}

static inline void start() {
  body(body_args);
  thread[now].wait = ENDED;
  _longjmp(scheduler, 1);
}

/* Runs one thread until it waits or ends. */
static inline void resume(unsigned t) {
  now = t;
  thread[t].wait = RUNS;
  if (_setjmp(scheduler)) return;
  if (thread[t].entered) _longjmp(thread[t].at, 1);
  thread[t].entered = true;
  setcontext(&thread[t].first);
}

static inline bool all_wait(unsigned n) {
  bool any = false;
  for (unsigned t = 0; t < n; t++) {
    if (thread[t].wait == ENDED) continue;
    if (thread[t].wait != AT_BLOCK) return false;
    any = true;
  }
  return any;
}

/* Lets the threads of a warp go on that t waits for, if they have all come and wait for the same ones. */
static inline bool release_warp(unsigned t, unsigned n) {
  unsigned first = t & ~31u, mask = thread[t].mask;
  for (unsigned l = 0; l < 32 && first + l < n; l++) {
    const Thread &o = thread[first + l];
    if ((mask >> l & 1) && o.wait != ENDED && (o.wait != AT_WARP || o.mask != mask)) return false;
  }
  for (unsigned l = 0; l < 32 && first + l < n; l++)
    if ((mask >> l & 1) && thread[first + l].wait != ENDED) thread[first + l].wait = RUNS;
  return true;
}

static inline void run_block(unsigned n) {
  count = n;
  if (!stacks) stacks = (char *)malloc(STACK * MOST);
  for (unsigned t = 0; t < n; t++) {
    getcontext(&thread[t].first);
    thread[t].first.uc_stack.ss_sp = stacks + STACK * t;
    thread[t].first.uc_stack.ss_size = STACK;
    thread[t].first.uc_link = nullptr;
    thread[t].entered = false;
    thread[t].wait = RUNS;
    thread[t].index = {t, 0, 0};
    makecontext(&thread[t].first, start, 0);
  }
  for (;;) {
    bool ran = false;
    for (unsigned t = 0; t < n; t++)
      if (thread[t].wait == RUNS) {
        resume(t);
        ran = true;
      }
    if (ran) continue;
    bool freed = false;
    for (unsigned t = 0; t < n; t++)
      if (thread[t].wait == AT_WARP && release_warp(t, n)) freed = true;
    if (!freed && all_wait(n)) {
      for (unsigned t = 0; t < n; t++)
        if (thread[t].wait != ENDED) thread[t].wait = RUNS;
      freed = true;
    }
    if (freed) continue;
    for (unsigned t = 0; t < n; t++)
      if (thread[t].wait != ENDED) {
        fprintf(stderr, "fake CUDA: threads of a block wait for each other at different places\n");
        abort();
      }
    return;
  }
}

/* Is any thread's x true? */
static inline int any_of(int x) {
  unsigned me = now;
  int any = 0;
  thread[me].value = x != 0;
  wait_for(AT_BLOCK);
  for (unsigned t = 0; t < count; t++) any |= thread[t].wait != ENDED && thread[t].value;
  wait_for(AT_BLOCK);
  return any;
}

template <class T> static inline T from_lane(unsigned mask, T v, unsigned lane) {
  static_assert(sizeof(T) <= 8, "shuffles move at most eight bytes");
  unsigned me = now;
  if (!(mask >> (me & 31) & 1) || !(mask >> lane & 1)) {
    fprintf(stderr, "fake CUDA: a shuffle with a thread that is not in its mask\n");
    abort();
  }
  memcpy(&thread[me].value, &v, sizeof v);
  wait_for(AT_WARP, mask);
  T r;
  unsigned from = (me & ~31u) + lane;
  memcpy(&r, &thread[from < count ? from : me].value, sizeof r);
  wait_for(AT_WARP, mask);
  return r;
}
} // namespace fake

static fake::Dim blockIdx, blockDim, gridDim;
#define threadIdx (fake::thread[fake::now].index)
#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __shared__ static
#define SHARED_ROOM(bytes) static __attribute__((aligned(16))) char shared[bytes]
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __syncthreads() fake::wait_for(fake::AT_BLOCK)
#define __syncthreads_or(x) fake::any_of(x)
#define __syncwarp(mask) fake::wait_for(fake::AT_WARP, mask)
#define __shfl_xor_sync(mask, v, k) fake::from_lane(mask, v, (fake::now & 31) ^ (k))
#define __shfl_sync(mask, v, k) fake::from_lane(mask, v, (unsigned)(k)&31)
#define __fmaf_rn fmaf
#define __fma_rn fma
#define __ldg(p) (*(p))
static inline int __float_as_int(float f) {
  int i;
  memcpy(&i, &f, 4);
  return i;
}
static inline float __int_as_float(int i) {
  float f;
  memcpy(&f, &i, 4);
  return f;
}
static inline uint32_t __float_as_uint(float f) { return (uint32_t)__float_as_int(f); }
static inline float __uint_as_float(uint32_t i) { return __int_as_float((int)i); }
static inline unsigned atomicAdd(unsigned *p, unsigned v) {
  unsigned old = *p;
  *p += v;
  return old;
}
static inline unsigned atomicMin(unsigned *p, unsigned v) {
  unsigned old = *p;
  if (v < old) *p = v;
  return old;
}
static inline unsigned long long atomicCAS(unsigned long long *p, unsigned long long expected, unsigned long long v) {
  unsigned long long old = *p;
  if (old == expected) *p = v;
  return old;
}
static inline unsigned atomicExch(unsigned *p, unsigned v) {
  unsigned old = *p;
  *p = v;
  return old;
}
static inline int atomicCAS(int *p, int expected, int v) {
  int old = *p;
  if (old == expected) *p = v;
  return old;
}
static inline void __threadfence() {}
#define __align__(n) __attribute__((aligned(n)))

/* A product of tensor cores: 16 x 8 and 8 x 8 elements, of which each thread of the warp has those that the card's
 * threads have. The low bits of factors are ignored. */
namespace fake {
static uint32_t factor[MOST][6];
static inline float tf32(uint32_t v) { return __int_as_float((int)(v & 0xffffe000u)); }
static inline void mma_tf32(float *c, const uint32_t *a, const uint32_t *b) {
  unsigned me = now, warp = me & ~31u, lane = me & 31, row = lane / 4, column = lane % 4 * 2;
  memcpy(factor[me], a, 16);
  memcpy(factor[me] + 4, b, 8);
  wait_for(AT_WARP);
  for (unsigned v = 0; v < 4; v++) {
    double sum = c[v];
    for (unsigned k = 0; k < 8; k++)
      sum += (double)tf32(factor[warp + row * 4 + k % 4][v / 2 + k / 4 * 2]) *
             tf32(factor[warp + (column + v % 2) * 4 + k % 4][4 + k / 4]);
    c[v] = (float)sum;
  }
  wait_for(AT_WARP);
}
static inline void copy_16(float *to, const float *from, bool wanted) {
  if (((uintptr_t)to | (uintptr_t)from) % 16) abort();
  for (int i = 0; i < 4; i++) to[i] = wanted ? from[i] : 0;
}
} // namespace fake
#define TENSOR_STEP fake::mma_tf32
#define COPY_16 fake::copy_16

/* A launch: its arguments are copied when it is made and used when it runs. */
namespace fake {
template <class... A> struct Call {
  void (*kernel)(A...);
  std::tuple<A...> args;
};
template <class... A, size_t... I> static void *pack(void (*kernel)(A...), void **p, std::index_sequence<I...>) {
  (void)p;
  return new Call<A...>{kernel, std::tuple<A...>(*(A *)p[I]...)};
}
template <class... A> static void *pack_all(void (*kernel)(A...), void **p) {
  return pack(kernel, p, std::index_sequence_for<A...>{});
}
template <class... A> static void invoke(void *call) {
  auto *c = (Call<A...> *)call;
  std::apply(c->kernel, c->args);
}
template <class... A>
static void run_all(void (*kernel)(A...), void *call, const unsigned *grid, const unsigned *block) {
  (void)kernel;
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {block[0], block[1], block[2]};
  body = invoke<A...>;
  body_args = call;
  for (unsigned z = 0; z < grid[2]; z++)
    for (unsigned y = 0; y < grid[1]; y++)
      for (unsigned x = 0; x < grid[0]; x++) {
        blockIdx = {x, y, z};
        run_block(block[0] * block[1] * block[2]);
      }
}
template <class... A> static void free_all(void (*kernel)(A...), void *call) {
  delete (Call<A...> *)call;
  (void)kernel;
}
} // namespace fake
