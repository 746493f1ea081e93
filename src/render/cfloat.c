/* cfloat.c: helper templates that are mathematics: floats of 8 and 16 bits, and the elementary functions of float32.
 *
 * The functions are straight code without branches on values (but for huge arguments of sin and cos), within 2 ulp over
 * the whole range, and right at 0, -0, infinities, NaN and subnormals. Polynomials are minimax fits with float
 * coefficients. The steps that must be exact are so with and without fused multiply-add: constants that are multiplied
 * by an integer are short enough for an exact product. */
#include "render/ctemplate.h"

#include <stddef.h>

/* A function that is one instruction for vectors of three sizes, and the library's for one lane. Clang finds the
 * instruction through a list of lanes. */
#define MACHINE(name, scalar, kind, w4, w8, w16, op4, op8, op16)                                                       \
  {                                                                                                                    \
    name, kind,                                                                                                        \
        "$T @" name "($T x) {\n"                                                                                       \
        "<" w4 "|#if defined(__SSE4_1__) && !defined(__clang__)\n  return __builtin_ia32_" op4 ";\n#endif\n|>"         \
        "<" w8 "|#if defined(__AVX__) && !defined(__clang__)\n  return __builtin_ia32_" op8 ";\n#endif\n|>"            \
        "<" w16 "|#if defined(__AVX512F__) && !defined(__clang__)\n  return __builtin_ia32_" op16 ";\n#endif\n|>"      \
        "  return <s|" scalar "(x)|><v|($T){|><l|" scalar "(x[#])|><v|}|>;\n}"                                         \
  }
#define ROUNDING(name, mode)                                                                                           \
  MACHINE(name, name "f", KIND_F32, "4", "8", "16", "roundps(x, " mode ")", "roundps256(x, " mode ")",                 \
          "rndscaleps_mask(x, " mode ", x, -1, 4)"),                                                                   \
      MACHINE(name, name, KIND_F64, "2", "4", "8", "roundpd(x, " mode ")", "roundpd256(x, " mode ")",                  \
              "rndscalepd_mask(x, " mode ", x, -1, 4)")

const HelperText float_helpers[] = {
    {"from_bf16", KIND_F32,
     "$T @from_bf16($H h) { return @from_bits(<s|($I)((uint32_t)h << 16)|><v|__builtin_convertvector(h, $I) << 16|>); "
     "}"},
    {"to_bf16", KIND_F32,
     "$H @to_bf16($T x) {\n"
     "  const $U u = ($U)@bits(x);\n"
     "  const $U near = u + 0x7fffu + (u >> 16 & 1);\n"
     "  const $U r = ($U)@I:where(x == x, ($I)near, ($I)(u | 0x400000u)) >> 16;\n"
     "  return <s|($H)r|><v|__builtin_convertvector(r, $H)|>;\n}"},
    {"round_bf16", KIND_F32,
     "$T @round_bf16($T x) {\n"
     "  const $U u = ($U)@bits(x);\n"
     "  const $U near = u + 0x7fffu + (u >> 16 & 1);\n"
     "  return @from_bits(@I:where(x == x, ($I)near, ($I)(u | 0x400000u)) & (int32_t)0xffff0000);\n}"},
    /* float16 by the machine's own conversion where there is one */
    {"from_f16", KIND_F32,
     "$T @from_f16($H h) {\n"
     "<s|#if defined(__F16C__) && defined(__clang__)\n  __fp16 x;\n  __builtin_memcpy(&x, &h, 2);\n  return x;\n"
     "#elif defined(__F16C__)\n  typedef short t __attribute__((vector_size(16)));\n"
     "  return __builtin_ia32_vcvtph2ps((t){h})[0];\n#endif\n|>"
     "<v|#if defined(__F16C__) && defined(__clang__)\n  typedef __fp16 half __attribute__((vector_size(2 * $W)));\n"
     "  return __builtin_convertvector((half)h, $T);\n#endif\n|>"
     "<8|#if defined(__F16C__) && !defined(__clang__)\n  typedef short t __attribute__((vector_size(16)));\n"
     "  return __builtin_ia32_vcvtph2ps256((t)h);\n#endif\n|>"
     "<16|#if defined(__AVX512F__) && !defined(__clang__)\n  typedef short t __attribute__((vector_size(32)));\n"
     "  return __builtin_ia32_vcvtph2ps512_mask((t)h, ($T){0}, -1, 4);\n#endif\n|>"
     "  return @from_f16_soft(h);\n}"},
    {"to_f16", KIND_F32,
     "$H @to_f16($T x) {\n"
     "<s|#if defined(__F16C__) && defined(__clang__)\n  const __fp16 r = x;\n  uint16_t h;\n"
     "  __builtin_memcpy(&h, &r, 2);\n  return h;\n"
     "#elif defined(__F16C__)\n  typedef float t __attribute__((vector_size(16)));\n"
     "  return __builtin_ia32_vcvtps2ph((t){x}, 0)[0];\n#endif\n|>"
     "<v|#if defined(__F16C__) && defined(__clang__)\n  typedef __fp16 half __attribute__((vector_size(2 * $W)));\n"
     "  return ($H)__builtin_convertvector(x, half);\n#endif\n|>"
     "<8|#if defined(__F16C__) && !defined(__clang__)\n  return ($H)__builtin_ia32_vcvtps2ph256(x, 0);\n#endif\n|>"
     "<16|#if defined(__AVX512F__) && !defined(__clang__)\n  typedef short t __attribute__((vector_size(32)));\n"
     "  return ($H)__builtin_ia32_vcvtps2ph512_mask(x, 0, (t){0}, -1);\n#endif\n|>"
     "  return @to_f16_soft(x);\n}"},
    {"round_f16", KIND_F32,
     "$T @round_f16($T x) {\n#if defined(__F16C__)\n  return @from_f16(@to_f16(x));\n#endif\n  return "
     "@round_f16_soft(x);\n}"},
    /* float16: a float that is scaled by 2^112 has the exponent that the bits of the half stand for */
    {"from_f16_soft", KIND_F32,
     "$T @from_f16_soft($H h) {\n"
     "  const $I u = <s|h|><v|__builtin_convertvector(h, $I)|>;\n"
     "  const $I m = (u & 0x7fff) << 13;\n"
     "  const $T x = @from_bits(m) * 0x1p112f;\n"
     "  const $I big = @I:where(<v|($I)|>(m >= 0x0f800000), m | 0x7f800000, @bits(x));\n"
     "  return @from_bits(big | (u & 0x8000) << 16);\n}"},
    /* rounding in float arithmetic: adding the magic number leaves ten bits of mantissa below it, or what is left of
     * them for subnormal results */
    {"round_f16_soft", KIND_F32,
     "$T @round_f16_soft($T x) {\n"
     "  const $I u = @bits(x), sign = u & (int32_t)0x80000000, a = u & 0x7fffffff;\n"
     "  const $I near = (a + 0xfff + (a >> 13 & 1)) & ~0x1fff;\n"
     "  const $I tiny = @bits((@from_bits(a) + 0.5f) - 0.5f);\n"
     "  const $I mid = @I:where(<v|($I)|>(a < 0x38800000), tiny, near);\n"
     "  const $I big = @I:where(<v|($I)|>(mid > 0x477fe000), <s|0x7f800000|><v|@I:of(0x7f800000)|>, mid);\n"
     "  return @from_bits(@I:where(<v|($I)|>(a > 0x7f800000), a | 0x400000, big) | sign);\n}"},
    {"to_f16_soft", KIND_F32,
     "$H @to_f16_soft($T x) {\n"
     "  const $I u = @bits(@round_f16_soft(x)), a = u & 0x7fffffff;\n"
     "  const $I small = @bits(@from_bits(a) * 0x1p-112f) >> 13;\n"
     "  const $I big = 0x7c00 | (a >> 13 & 0x3ff);\n"
     "  const $I r = @I:where(<v|($I)|>(a >= 0x7f800000), big, small) | (u >> 16 & 0x8000);\n"
     "  return <s|($H)r|><v|__builtin_convertvector(r, $H)|>;\n}"},
    /* fp8, in the same manner: e4m3 by 2^120 without infinity, e5m2 by 2^112. What is too large is cut off */
    {"from_e4m3", KIND_F32,
     "$T @from_e4m3($Q h) {\n"
     "  const $I u = <s|h|><v|__builtin_convertvector(__builtin_convertvector(h, $H), $I)|>;\n"
     "  const $I m = (u & 0x7f) << 20;\n"
     "  const $T x = @from_bits(m) * 0x1p120f;\n"
     "  const $I r = @I:where(<v|($I)|>(m == 0x07f00000), m | 0x7fc00000, @bits(x));\n"
     "  return @from_bits(r | (u & 0x80) << 24);\n}"},
    {"round_e4m3", KIND_F32,
     "$T @round_e4m3($T x) {\n"
     "  const $I u = @bits(x), sign = u & (int32_t)0x80000000, a = u & 0x7fffffff;\n"
     "  const $I near = (a + 0x7ffff + (a >> 20 & 1)) & ~0xfffff;\n"
     "  const $I tiny = @bits((@from_bits(a) + 16384.0f) - 16384.0f);\n"
     "  const $I mid = @I:where(<v|($I)|>(a < 0x3c800000), tiny, near);\n"
     "  const $I top = @I:where(<v|($I)|>(mid > 0x43e00000), <s|0x43e00000|><v|@I:of(0x43e00000)|>, mid);\n"
     "  return @from_bits(@I:where(<v|($I)|>(a >= 0x7f800000), a | 0x7fc00000, top) | sign);\n}"},
    {"to_e4m3", KIND_F32,
     "$Q @to_e4m3($T x) {\n"
     "  const $I u = @bits(@round_e4m3(x)), a = u & 0x7fffffff;\n"
     "  const $I small = @bits(@from_bits(a) * 0x1p-120f) >> 20;\n"
     "  const $I r = @I:where(<v|($I)|>(a >= 0x7f800000), <s|0x7f|><v|@I:of(0x7f)|>, small) | (u >> 24 & 0x80);\n"
     "  return <s|($Q)r|><v|__builtin_convertvector(__builtin_convertvector(r, $H), $Q)|>;\n}"},
    {"from_e5m2", KIND_F32,
     "$T @from_e5m2($Q h) {\n"
     "  const $I u = <s|h|><v|__builtin_convertvector(__builtin_convertvector(h, $H), $I)|>;\n"
     "  const $I m = (u & 0x7f) << 21;\n"
     "  const $T x = @from_bits(m) * 0x1p112f;\n"
     "  const $I r = @I:where(<v|($I)|>(m >= 0x0f800000), m | 0x7f800000, @bits(x));\n"
     "  return @from_bits(r | (u & 0x80) << 24);\n}"},
    {"round_e5m2", KIND_F32,
     "$T @round_e5m2($T x) {\n"
     "  const $I u = @bits(x), sign = u & (int32_t)0x80000000, a = u & 0x7fffffff;\n"
     "  const $I near = (a + 0xfffff + (a >> 21 & 1)) & ~0x1fffff;\n"
     "  const $I tiny = @bits((@from_bits(a) + 128.0f) - 128.0f);\n"
     "  const $I mid = @I:where(<v|($I)|>(a < 0x38800000), tiny, near);\n"
     "  const $I top = @I:where(<v|($I)|>(mid > 0x47600000), <s|0x47600000|><v|@I:of(0x47600000)|>, mid);\n"
     "  const $I whole = @I:where(<v|($I)|>(a > 0x7f800000), a | 0x7fe00000, a);\n"
     "  return @from_bits(@I:where(<v|($I)|>(a >= 0x7f800000), whole, top) | sign);\n}"},
    {"to_e5m2", KIND_F32,
     "$Q @to_e5m2($T x) {\n"
     "  const $I u = @bits(@round_e5m2(x)), a = u & 0x7fffffff;\n"
     "  const $I small = @bits(@from_bits(a) * 0x1p-112f) >> 21;\n"
     "  const $I big = 0x7c | (a >> 21 & 3);\n"
     "  const $I r = @I:where(<v|($I)|>(a >= 0x7f800000), big, small) | (u >> 24 & 0x80);\n"
     "  return <s|($Q)r|><v|__builtin_convertvector(__builtin_convertvector(r, $H), $Q)|>;\n}"},
    /* double to a float that, rounded again to fewer bits, gives what one rounding would have */
    {"odd", KIND_F64,
     "float @odd(double x) {\n"
     "  const float f = (float)x;\n"
     "  if (f == x || x != x) return f;\n"
     "  union { float f; int32_t i; } u;\n  u.f = f;\n"
     "  u.i = (u.i - (fabs((double)f) > fabs(x))) | 1;\n"
     "  return u.f;\n}"},

    /* ---- elementary functions ---- */
    {"pow2", KIND_F32, "$T @pow2($I k) { return @from_bits((k + 127) << 23); }"},
    /* x 2^n for a whole n, rounded once; in two factors, since 2^n may be no float */
    {"scale", KIND_F32,
     "$T @scale($T x, $T n) {\n"
     "<4|#ifdef __AVX512VL__\n  return __builtin_ia32_scalefps128_mask(x, n, x, -1);\n#endif\n|>"
     "<8|#ifdef __AVX512VL__\n  return __builtin_ia32_scalefps256_mask(x, n, x, -1);\n#endif\n|>"
     "<16|#ifdef __AVX512F__\n  return __builtin_ia32_scalefps512_mask(x, n, x, -1, 4);\n#endif\n|>"
     "  const $I k = @bits(n + 12582912.0f) - 0x4b400000, part = k >> 1;\n"
     "  return x * @pow2(part) * @pow2(k - part);\n}"},
    {"cut", KIND_FLOAT, "$T @cut($T x, $T a, $T b) { return @larger(a, @smaller(b, x)); }"},
    /* a b + c, rounded once. Sums of products are fused where this stands and nowhere else, so that scalars, vectors
     * and the interpreter (runtime/interp.c) give the same bits; a processor without the instruction rounds twice. */
    {"fma", KIND_F32,
     "$T @fma($T a, $T b, $T c) {\n"
     "#ifndef FUSED\n  return a * b + c;\n#endif\n"
     "<2|#if defined(__FMA__) && !defined(__clang__)\n"
     "  typedef float wide __attribute__((vector_size(16)));\n"
     "  const wide x = __builtin_shufflevector(a, a, 0, 1, -1, -1), y = __builtin_shufflevector(b, b, 0, 1, -1, -1);\n"
     "  const wide r = __builtin_ia32_vfmaddps(x, y, __builtin_shufflevector(c, c, 0, 1, -1, -1));\n"
     "  return __builtin_shufflevector(r, r, 0, 1);\n#endif\n|>"
     "<4|#if defined(__FMA__) && !defined(__clang__)\n  return __builtin_ia32_vfmaddps(a, b, c);\n#endif\n|>"
     "<8|#if defined(__FMA__) && !defined(__clang__)\n  return __builtin_ia32_vfmaddps256(a, b, c);\n#endif\n|>"
     "<16|#if defined(__AVX512F__) && !defined(__clang__)\n"
     "  return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);\n#endif\n|>"
     "  return <s|fma_float(a, b, c)|><v|($T){|><l|__builtin_fmaf(a[#], b[#], c[#])|><v|}|>;\n}"},
    {"fma", KIND_F64,
     "$T @fma($T a, $T b, $T c) {\n"
     "#ifndef FUSED\n  return a * b + c;\n#endif\n"
     "<2|#if defined(__FMA__) && !defined(__clang__)\n  return __builtin_ia32_vfmaddpd(a, b, c);\n#endif\n|>"
     "<4|#if defined(__FMA__) && !defined(__clang__)\n  return __builtin_ia32_vfmaddpd256(a, b, c);\n#endif\n|>"
     "<8|#if defined(__AVX512F__) && !defined(__clang__)\n"
     "  return __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4);\n#endif\n|>"
     "  return <s|fma_double(a, b, c)|><v|($T){|><l|__builtin_fma(a[#], b[#], c[#])|><v|}|>;\n}"},
    /* e^x = 2^n e^r, |r| <= ln2/2 */
    {"exp", KIND_F32,
     "$T @exp($T x) {\n"
     "<s|#ifdef EXP_F32\n  return EXP_F32(x);\n#endif\n|>"
     "  const $T c = @cut(x, @of(-104.0f), @of(89.0f)), n = @fma(c, @of(1.44269502f), @of(12582912.0f)) - "
     "12582912.0f;\n"
     "  const $T r = @fma(n, @of(-1.42860677e-06f), @fma(n, @of(-0.693145752f), c));\n"
     "  $T p = @fma(r, @of(0.0013820742f), @of(0.00836924836f));\n"
     "  p = @fma(p, r, @of(0.041668281f));\n"
     "  p = @fma(p, r, @of(0.166665167f));\n"
     "  p = @fma(p, r, @of(0.49999994f));\n"
     "  return @scale(@fma(p, r * r, r) + 1.0f, n);\n}"},
    {"exp2", KIND_F32,
     "$T @exp2($T x) {\n"
     "  const $T c = @cut(x, @of(-151.0f), @of(129.0f)), n = (c + 12582912.0f) - 12582912.0f, r = c - n;\n"
     "  $T p = @fma(r, @of(0.000153292349f), @of(0.00133918901f));\n"
     "  p = @fma(p, r, @of(0.00961850304f));\n"
     "  p = @fma(p, r, @of(0.0555035807f));\n"
     "  p = @fma(p, r, @of(0.240226477f));\n"
     "  p = @fma(p, r, @of(0.693147182f));\n"
     "  return @scale(@fma(p, r, @of(1.0f)), n);\n}"},
    /* 2^k (e^r - 1) + 2^k - 1, all halved, since 2^128 is no float */
    {"expm1", KIND_F32,
     "$T @expm1($T x) {\n"
     "  const $T c = @cut(x, @of(-20.0f), @of(89.0f));\n"
     "  const $T t = @fma(c, @of(1.44269502f), @of(12582912.0f)), n = t - 12582912.0f;\n"
     "  const $T r = @fma(n, @of(-1.42860677e-06f), @fma(n, @of(-0.693145752f), c));\n"
     "  const $T s = @pow2(@bits(t) - 0x4b400001);\n"
     "  $T p = @fma(r, @of(0.000197669942f), @of(0.00139332283f));\n"
     "  p = @fma(p, r, @of(0.00833354145f));\n"
     "  p = @fma(p, r, @of(0.0416664854f));\n"
     "  p = @fma(p, r, @of(0.166666657f));\n"
     "  p = @fma(p, r, @of(0.5f));\n"
     "  const $T y = @fma(p, r * r, r), z = @fma(y, s, s - 0.5f) * 2.0f;\n"
     "  return @where((x < 0x1p-25f) & (x > -0x1p-25f), x, z);\n}"},
    /* log(1+f) for f in sqrt(1/2)-1 .. sqrt(2)-1. Here and below no sum has two products: which of them is fused would
     * be left to the compiler, and scalars and vectors would differ. */
    {"log_part", KIND_F32,
     "$T @log_part($T f) {\n"
     "  const $T s = f * f;\n"
     "  $T p = @fma(f, @of(0.0680306107f), @of(-0.117219038f));\n"
     "  p = @fma(p, f, @of(0.118852347f));\n"
     "  p = @fma(p, f, @of(-0.123961642f));\n"
     "  p = @fma(p, f, @of(0.142187297f));\n"
     "  p = @fma(p, f, @of(-0.16668652f));\n"
     "  p = @fma(p, f, @of(0.200022012f));\n"
     "  p = @fma(p, f, @of(-0.24999994f));\n"
     "  p = @fma(p, f, @of(0.333333105f));\n"
     "  return @fma(@fma(p, f, @of(-0.5f)), s, f);\n}"},
    /* log of what is not a positive number: 0, negative, NaN, infinity */
    {"log_rest", KIND_F32,
     "$T @log_rest($T x, $T r) {\n"
     "  const $T rest = @where(x == 0.0f, @of(-INFINITY), @where(x < 0.0f, @of(NAN), x));\n"
     "  return @where((x > 0.0f) & (x < INFINITY), r, rest);\n}"},
    {"log", KIND_F32,
     "$T @log($T x) {\n"
     "  const $I tiny = x < 0x1p-126f;\n"
     "  const $I u = @bits(@where(tiny, x * 0x1p23f, x)), e = (u - 0x3f3504f3) >> 23;\n"
     "  const $T f = @from_bits(u - (e << 23)) - 1.0f;\n"
     "  const $T k = @to_float(e) - @where(tiny, @of(23.0f), @of(0.0f));\n"
     "  const $T r = @fma(k, @of(1.42860677e-06f), @log_part(f));\n"
     "  return @log_rest(x, @fma(k, @of(0.693145752f), r));\n}"},
    {"log2", KIND_F32,
     "$T @log2($T x) {\n"
     "  const $I tiny = x < 0x1p-126f;\n"
     "  const $I u = @bits(@where(tiny, x * 0x1p23f, x)), e = (u - 0x3f3504f3) >> 23;\n"
     "  const $T f = @from_bits(u - (e << 23)) - 1.0f;\n"
     "  const $T k = @to_float(e) - @where(tiny, @of(23.0f), @of(0.0f));\n"
     "  $T p = @fma(f, @of(-0.11567425f), @of(0.18686603f));\n"
     "  p = @fma(p, f, @of(-0.188591063f));\n"
     "  p = @fma(p, f, @of(0.204203844f));\n"
     "  p = @fma(p, f, @of(-0.239918098f));\n"
     "  p = @fma(p, f, @of(0.28861326f));\n"
     "  p = @fma(p, f, @of(-0.360683531f));\n"
     "  p = @fma(p, f, @of(0.480896652f));\n"
     "  p = @fma(p, f, @of(-0.721347511f));\n"
     "  return @log_rest(x, k + @fma(@fma(p, f, @of(0.442695051f)), f, f));\n}"},
    /* log(u) with u = 1 + x, and what the rounding of u lost goes into f */
    {"log1p", KIND_F32,
     "$T @log1p($T x) {\n"
     "<s|#ifdef LOG1P_F32\n  return LOG1P_F32(x);\n#endif\n|>"
     "  const $T u = x + 1.0f;\n"
     "  const $T lost = @where(x > 1.0f, 1.0f - (u - x), x - (u - 1.0f));\n"
     "  const $I e = (@bits(u) - 0x3f3504f3) >> 23;\n"
     "  const $T scale = @from_bits(0x3f800000 - (e << 23));\n"
     "  const $T f = @from_bits(@bits(u) - (e << 23)) - 1.0f + @where(x < 0x1p30f, lost * scale, @of(0.0f));\n"
     "  const $T k = @to_float(e);\n"
     "  const $T r = @fma(k, @of(1.42860677e-06f), @log_part(f));\n"
     "  return @where(x == 0.0f, x, @log_rest(u, @fma(k, @of(0.693145752f), r)));\n}"},

    {"widen", KIND_F32, "$D @widen($T x) { return <s|x|><v|__builtin_convertvector(x, $D)|>; }"},
    {"narrow", KIND_F32, "$T @narrow($D x) { return <s|($T)x|><v|__builtin_convertvector(x, $T)|>; }"},
    /* x - n pi/2 in double: exact products for |n| < 2^20 */
    {"near", KIND_F32,
     "$T @near($T x, $T n) {\n"
     "  const $D k = @widen(n);\n"
     "  return @narrow(@D:fma(k, @D:of(-0x1.0b4611a626331p-34), @D:fma(k, @D:of(-0x1.921fb544p+0), @widen(x))));\n}"},
    {"reduce", KIND_F32,
     "$T @reduce($T x, $T n) {\n"
     "<s|  return @near(x, n);|><v|  return @join(@@near(@lo(x), @lo(n)), @@near(@hi(x), @hi(n)));|>\n}"},
    /* The same for |x| >= 2^19 and any size: x 2/pi modulo 4, from those bits of 2/pi that matter. */
    {"reduce_big", KIND_F32,
     "float @reduce_big(float x, int32_t *q) {\n"
     "  TABLE uint32_t two_over_pi[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,\n"
     "                                         0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};\n"
     "  const int32_t u = @bits(x), e = (u >> 23 & 255) - 150;\n"
     "  if (e > 104) return x - x;\n"
     "  const uint64_t m = (u & 0x7fffff) | 0x800000;\n"
     "  const uint32_t *t = two_over_pi + (e + 30) / 32;\n"
     "  const int s = (e + 30) % 32;\n"
     "  const uint32_t b0 = ((uint64_t)t[0] << 32 | t[1]) << s >> 32, b1 = ((uint64_t)t[1] << 32 | t[2]) << s >> 32;\n"
     "  const uint32_t b2 = ((uint64_t)t[2] << 32 | t[3]) << s >> 32;\n"
     "  const uint64_t h = (m * b0 << 32) + m * b1 + (m * b2 >> 32), k = (h + (1ull << 61)) >> 62;\n"
     "  const float r = (float)((double)(int64_t)(h - (k << 62)) * 0x1.921fb54442d18p-62);\n"
     "  *q = u < 0 ? -(int32_t)k : (int32_t)k;\n"
     "  return u < 0 ? -r : r;\n}"},
    /* x - q pi/2, at most pi/4 */
    {"angle", KIND_F32,
     "$T @angle($T x, $I *quarters) {\n"
     "  const $T t = @fma(x, @of(0.636619747f), @of(12582912.0f));\n"
     "  const $I big = (x > 0x1p19f) | (x < -0x1p19f);\n"
     "  $I q = @bits(t) - 0x4b400000;\n"
     "  $T r = @reduce(x, t - 12582912.0f);\n"
     "<s|  if (SELDOM_TRUE(big)) r = @1:reduce_big(x, &q);\n|>"
     "<v|  if (__builtin_expect(@I:any(big), 0)) {\n"
     "    for (int l = 0; l < $W; l++) {\n"
     "      int32_t k = q[l];\n"
     "      if (big[l]) r[l] = @1:reduce_big(x[l], &k);\n"
     "      q[l] = k;\n    }\n  }\n|>"
     "  *quarters = q;\n"
     "  return r;\n}"},
    /* sin(x + quarter pi/2) */
    {"trig", KIND_F32,
     "$T @trig($T x, int32_t quarter) {\n"
     "  $I q;\n"
     "  const $T r = @angle(x, &q), s = r * r;\n"
     "  q += quarter;\n"
     "  $T a = @fma(s, @of(2.76699461e-06f), @of(-0.000198471738f));\n"
     "  a = @fma(a, s, @of(0.0083333673f));\n"
     "  a = @fma(a, s, @of(-0.166666672f));\n"
     "  a = @fma(a, s * r, r);\n"
     "  $T b = @fma(s, @of(-2.79353372e-07f), @of(2.4812447e-05f));\n"
     "  b = @fma(b, s, @of(-0.00138889567f));\n"
     "  b = @fma(b, s, @of(0.0416666679f));\n"
     "  b = @fma(b, s * s, @fma(s, @of(-0.5f), @of(1.0f)));\n"
     "  return @from_bits(@bits(@where((q & 1) != 0, b, a)) ^ (q & 2) << 30);\n}"},
    {"sin", KIND_F32, "$T @sin($T x) { return @where(x == 0.0f, x, @trig(x, 0)); }"},
    {"cos", KIND_F32, "$T @cos($T x) { return @trig(x, 1); }"},
    /* tan r = a + rest, or y = -1 / tan r, by a step of Newton's that takes in the rest */
    {"tan", KIND_F32,
     "$T @tan($T x) {\n"
     "  $I q;\n"
     "  const $T r = @angle(x, &q), s = r * r;\n"
     "  $T p = @fma(s, @of(0.004379599f), @of(8.512512e-05f));\n"
     "  p = @fma(p, s, @of(0.010836962f));\n"
     "  p = @fma(p, s, @of(0.02128295f));\n"
     "  p = @fma(p, s, @of(0.05405943f));\n"
     "  p = @fma(p, s, @of(0.13332672f));\n"
     "  p = @fma(p, s, @of(0.3333335f));\n"
     "  p = p * (s * r);\n"
     "  const $T a = r + p, rest = p - (a - r), d = -1.0f / a;\n"
     "  const $T y = @fma(d, @fma(d, rest, @fma(d, a, @of(1.0f))), d);\n"
     "  return @where(x == 0.0f, x, @where((q & 1) != 0, y, a));\n}"},
    /* above 1: pi/2 - atan(1/x) */
    {"atan", KIND_F32,
     "$T @atan($T x) {\n"
     "  const $I sign = @bits(x) & (int32_t)0x80000000;\n"
     "  const $T a = @from_bits(@bits(x) ^ sign);\n"
     "  const $I steep = a > 1.0f;\n"
     "  const $T t = @where(steep, 1.0f / a, a), s = t * t;\n"
     "  $T p = @fma(s, @of(-0.0017875476f), @of(0.010887361f));\n"
     "  p = @fma(p, s, @of(-0.031127002f));\n"
     "  p = @fma(p, s, @of(0.057906546f));\n"
     "  p = @fma(p, s, @of(-0.08400475f));\n"
     "  p = @fma(p, s, @of(0.10951175f));\n"
     "  p = @fma(p, s, @of(-0.14264052f));\n"
     "  p = @fma(p, s, @of(0.19998531f));\n"
     "  p = @fma(p, s, @of(-0.333333f));\n"
     "  p = @fma(p, s * t, t);\n"
     "  return @from_bits(@bits(@where(steep, 1.57079637f - (p + 4.37113883e-08f), p)) | sign);\n}"},
    /* asin(t) - t for |t| <= 1/2, with s = t t */
    {"asin_rest", KIND_F32,
     "$T @asin_rest($T t, $T s) {\n"
     "  $T p = @fma(s, @of(0.037696462f), @of(0.0143149635f));\n"
     "  p = @fma(p, s, @of(0.031839084f));\n"
     "  p = @fma(p, s, @of(0.044513375f));\n"
     "  p = @fma(p, s, @of(0.07500522f));\n"
     "  p = @fma(p, s, @of(0.1666666f));\n"
     "  return p * (s * t);\n}"},
    /* above 1/2: asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)) */
    {"asin", KIND_F32,
     "$T @asin($T x) {\n"
     "  const $I sign = @bits(x) & (int32_t)0x80000000;\n"
     "  const $T a = @from_bits(@bits(x) ^ sign);\n"
     "  const $I big = a > 0.5f;\n"
     "  const $T s = @where(big, 0.5f - 0.5f * a, a * a), t = @where(big, @sqrt(s), a), p = @asin_rest(t, s);\n"
     "  const $T y = (1.57079637f - (t + t)) - (p + p + 4.37113883e-08f);\n"
     "  return @from_bits(@bits(@where(big, y, t + p)) | sign);\n}"},
    {"acos", KIND_F32,
     "$T @acos($T x) {\n"
     "  const $I big = (x > 0.5f) | (x < -0.5f);\n"
     "  const $T a = @from_bits(@bits(x) & 0x7fffffff);\n"
     "  const $T s = @where(big, 0.5f - 0.5f * a, x * x), t = @where(big, @sqrt(s), x), p = @asin_rest(t, s);\n"
     "  const $T q = p + p, far = (3.14159274f - (t + t)) - (q + 8.74227766e-08f);\n"
     "  const $T near = (1.57079637f - t) - (p + 4.37113883e-08f);\n"
     "  return @where(big, @where(x < 0.0f, far, t + t + q), near);\n}"},
    /* e^x / 2, a number also where e^x is none */
    {"exp_half", KIND_F32,
     "$T @exp_half($T x) {\n"
     "  const $T c = @cut(x, @of(-104.0f), @of(90.0f)), n = @fma(c, @of(1.44269502f), @of(12582912.0f)) - "
     "12582912.0f;\n"
     "  const $T r = @fma(n, @of(-1.42860677e-06f), @fma(n, @of(-0.693145752f), c));\n"
     "  $T p = @fma(r, @of(0.0013820742f), @of(0.00836924836f));\n"
     "  p = @fma(p, r, @of(0.041668281f));\n"
     "  p = @fma(p, r, @of(0.166665167f));\n"
     "  p = @fma(p, r, @of(0.49999994f));\n"
     "  return @scale(@fma(p, r * r, r) + 1.0f, n - 1.0f);\n}"},
    {"sinh", KIND_F32,
     "$T @sinh($T x) {\n"
     "  const $I sign = @bits(x) & (int32_t)0x80000000;\n"
     "  const $T a = @from_bits(@bits(x) ^ sign), s = a * a, h = @exp_half(a);\n"
     "  $T p = @fma(s, @of(2.7822132e-06f), @of(0.00019842896f));\n"
     "  p = @fma(p, s, @of(0.0083333105f));\n"
     "  p = @fma(p, s, @of(0.16666667f));\n"
     "  const $T small = @fma(p, s * a, a), big = h - 0.25f / h;\n"
     "  return @from_bits(@bits(@where(a < 1.0f, small, big)) | sign);\n}"},
    {"cosh", KIND_F32,
     "$T @cosh($T x) {\n"
     "  const $T h = @exp_half(@from_bits(@bits(x) & 0x7fffffff));\n"
     "  return h + 0.25f / h;\n}"},
    {"tanh", KIND_F32,
     "$T @tanh($T x) {\n"
     "  const $I sign = @bits(x) & (int32_t)0x80000000;\n"
     "  const $T a = @from_bits(@bits(x) ^ sign), s = a * a;\n"
     "  $T p = @fma(s, @of(-0.00566506386f), @of(0.0206042957f));\n"
     "  p = @fma(p, s, @of(-0.0537293665f));\n"
     "  p = @fma(p, s, @of(0.133313224f));\n"
     "  p = @fma(p, s, @of(-0.333332777f));\n"
     "  const $T small = @fma(p, s * a, a), big = 1.0f - 2.0f / (@exp(a + a) + 1.0f);\n"
     "  return @from_bits(@bits(@where(a < 0.625f, small, big)) | sign);\n}"},
    /* 1 - exp(-P(x)) away from 0 */
    {"erf", KIND_F32,
     "$T @erf($T x) {\n"
     "  const $I sign = @bits(x) & (int32_t)0x80000000;\n"
     "  const $T a = @from_bits(@bits(x) ^ sign), s = a * a, c = @where(a > 4.0f, @of(4.0f), a);\n"
     "  $T p = @fma(s, @of(7.80690316e-05f), @of(-0.00079978531f));\n"
     "  p = @fma(p, s, @of(0.0051871622f));\n"
     "  p = @fma(p, s, @of(-0.0268533472f));\n"
     "  p = @fma(p, s, @of(0.112835787f));\n"
     "  p = @fma(p, s, @of(-0.37612626f));\n"
     "  p = @fma(p, s, @of(0.128379166f));\n"
     "  $T g = @fma(c, @of(2.14965385e-05f), @of(-0.000439100171f));\n"
     "  g = @fma(g, c, @of(0.00419355044f));\n"
     "  g = @fma(g, c, @of(-0.0251787771f));\n"
     "  g = @fma(g, c, @of(0.108372197f));\n"
     "  g = @fma(g, c, @of(0.633262813f));\n"
     "  g = @fma(g, c, @of(1.12955678f));\n"
     "  g = @fma(g, c, @of(-0.000183444412f));\n"
     "  const $T small = @fma(p, a, a), big = 1.0f - @exp(-g);\n"
     "  return @from_bits(@bits(@where(a < 1.0f, small, big)) | sign);\n}"},

    /* 2^(y (k + log2(1+f))) in double */
    {"pow_part", KIND_F32,
     "$T @pow_part($T f, $T k, $T y) {\n"
     "  const $D d = @widen(f);\n"
     "  $D p = @D:fma(d, @D:of(-0.06981597070467728), @D:of(0.13265356336431111));\n"
     "  p = @D:fma(p, d, @D:of(-0.13468165494789927));\n"
     "  p = @D:fma(p, d, @D:of(0.13025319726193221));\n"
     "  p = @D:fma(p, d, @D:of(-0.1424847156307768));\n"
     "  p = @D:fma(p, d, @D:of(0.16021741207322471));\n"
     "  p = @D:fma(p, d, @D:of(-0.18043793295893229));\n"
     "  p = @D:fma(p, d, @D:of(0.20610715598527016));\n"
     "  p = @D:fma(p, d, @D:of(-0.24044639061797346));\n"
     "  p = @D:fma(p, d, @D:of(0.28853879369520957));\n"
     "  p = @D:fma(p, d, @D:of(-0.36067379377384945));\n"
     "  p = @D:fma(p, d, @D:of(0.48089834882787758));\n"
     "  p = @D:fma(p, d, @D:of(-0.72134752032489391));\n"
     "  p = @D:fma(p, d, @D:of(1.4426950408865331));\n"
     "  const $D t = @D:cut(@D:fma(p, d, @widen(k)) * @widen(y), @D:of(-200.0), @D:of(200.0));\n"
     "  const $D s = t + 6755399441055744.0, r = t - (s - 6755399441055744.0);\n"
     "  $D q = @D:fma(r, @D:of(0.00015345784259067965), @D:of(0.0013399957586949659));\n"
     "  q = @D:fma(q, r, @D:of(0.0096184892613175726));\n"
     "  q = @D:fma(q, r, @D:of(0.055503287119182419));\n"
     "  q = @D:fma(q, r, @D:of(0.24022646885923687));\n"
     "  q = @D:fma(q, r, @D:of(0.69314720576706923));\n"
     "  q = @D:fma(q, r, @D:of(1.0000000005550704));\n"
     "  return @narrow(q * @D:from_bits((@D:bits(s) + 1023) << 52));\n}"},
    {"pow_halves", KIND_F32,
     "$T @pow_halves($T f, $T k, $T y) {\n"
     "<s|  return @pow_part(f, k, y);|>"
     "<v|  return @join(@@pow_part(@lo(f), @lo(k), @lo(y)), @@pow_part(@hi(f), @hi(k), @hi(y)));|>\n}"},
    {"pow", KIND_F32,
     "$T @pow($T x, $T y) {\n"
     "  const $I sign = @bits(x) & (int32_t)0x80000000, whole = @to_int(y);\n"
     "  const $T a = @from_bits(@bits(x) ^ sign), b = @from_bits(@bits(y) & 0x7fffffff);\n"
     "  const $I tiny = a < 0x1p-126f, even = b >= 0x1p24f, same = @to_float(whole) == y;\n"
     "  const $I u = @bits(@where(tiny, a * 0x1p23f, a)), e = (u - 0x3f3504f3) >> 23;\n"
     "  const $T f = @from_bits(u - (e << 23)) - 1.0f;\n"
     "  const $T n = @to_float(e) - @where(tiny, @of(23.0f), @of(0.0f));\n"
     "  const $T k = @where(a == 0.0f, @of(-INFINITY), @where(a == INFINITY, a, n));\n"
     "  $T r = @where((a == 1.0f) & (y == y), a, @pow_halves(f, k, y));\n"
     "  r = @where((x < 0.0f) & (a < INFINITY) & ((even | same) == 0), @of(NAN), r);\n"
     "  r = @where((x != x) | (y != y), x + y, r);\n"
     "  r = @from_bits(@bits(r) ^ @I:where(((whole & 1) != 0) & same & (b < 0x1p24f), sign, ($I)<s|0|><v|{0}|>));\n"
     "  return @where((y == 0.0f) | (x == 1.0f), @of(1.0f), r);\n}"},

    /* what the machine has an instruction for */
    MACHINE("sqrt", "sqrtf", KIND_F32, "4", "8", "16", "sqrtps(x)", "sqrtps256(x)", "sqrtps512_mask(x, x, -1, 4)"),
    MACHINE("sqrt", "sqrt", KIND_F64, "2", "4", "8", "sqrtpd(x)", "sqrtpd256(x)", "sqrtpd512_mask(x, x, -1, 4)"),
    ROUNDING("rint", "0"),
    ROUNDING("floor", "1"),
    ROUNDING("ceil", "2"),
    ROUNDING("trunc", "3"),
    {NULL, KIND_ANY, NULL},
};
