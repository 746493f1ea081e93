/* chelp.c: helper templates that are not mathematics: broadcast, select, loads and stores of lanes, integer division,
 * shifts, conversions, folding a vector to one value. */
#include "render/ctemplate.h"

#include <stddef.h>

/* Division towards minus infinity: for lanes, one less and one divisor more where the rest has not the divisor's sign.
 */
#define INTEGER_DIVISION                                                                                               \
  "$T @idiv($T a, $T b) {\n"                                                                                           \
  "<s|  if (b == 0) return 0;\n"                                                                                       \
  "  if (b == -1) return ($U)0 - ($U)a;\n"                                                                             \
  "  return a / b - (a % b != 0 && (a < 0) != (b < 0));\n"                                                             \
  "|><v|  $T r;\n"                                                                                                     \
  "  const $T q = @divided(a, b, &r), floor = q + ((r != 0) & ((r ^ b) < 0));\n"                                       \
  "  return @where(b == -1, ($T)(($U){0} - ($U)a), floor & (b != 0));\n|>}"
#define INTEGER_REMAINDER                                                                                              \
  "$T @mod($T a, $T b) {\n"                                                                                            \
  "<s|  if (b == 0 || b == -1) return 0;\n"                                                                            \
  "  $T r = a % b;\n"                                                                                                  \
  "  return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n"                                                               \
  "|><v|  $T r;\n"                                                                                                     \
  "  @divided(a, b, &r);\n"                                                                                            \
  "  return (r + (b & (r != 0) & ((r ^ b) < 0))) & (b != 0) & (b != -1);\n|>}"

const HelperText basic_helpers[] = {
    /* broadcast: x - 0 is x for every float, -0.0 included */
    {"of", KIND_ANY, "$T @of($E x) { return <s|x|><v|x - ($T){0}|>; }"},
    {"iota", KIND_INT, "$T @iota(void) { return ($T){$L}; }"},
    {"where", KIND_ANY, "$T @where($I m, $T a, $T b) { return <s|m ? a : b|><v|($T)((m & ($I)a) | (~m & ($I)b))|>; }"},
    {"bits", KIND_FLOAT, "$I @bits($T x) { <s|union { $T x; $I i; } u; u.x = x; return u.i;|><v|return ($I)x;|> }"},
    {"from_bits", KIND_FLOAT,
     "$T @from_bits($I i) { <s|union { $I i; $T x; } u; u.i = i; return u.x;|><v|return ($T)i;|> }"},

    {"to_int", KIND_FLOAT, "$I @to_int($T x) { return <s|($I)x|><v|__builtin_convertvector(x, $I)|>; }"},
    {"to_float", KIND_FLOAT, "$T @to_float($I i) { return <s|($T)i|><v|__builtin_convertvector(i, $T)|>; }"},
    {"lo", KIND_ANY, "$h @lo($T v) { return $lo; }"},
    {"hi", KIND_ANY, "$h @hi($T v) { return $hi; }"},
    {"join", KIND_ANY, "$T @join($h a, $h b) { return ($T)$join; }"},

    /* a > b ? a : b, b if one is NaN: one instruction, but not every compiler sees it */
    {"larger", KIND_F32,
     "$T @larger($T a, $T b) {\n"
     "<4|#if defined(__SSE2__) && !defined(__clang__)\n  return __builtin_ia32_maxps(a, b);\n#endif\n|>"
     "<8|#if defined(__AVX__) && !defined(__clang__)\n  return __builtin_ia32_maxps256(a, b);\n#endif\n|>"
     "<16|#if defined(__AVX512F__) && !defined(__clang__)\n"
     "  return __builtin_ia32_maxps512_mask(a, b, a, -1, 4);\n#endif\n|>"
     "  return @where(a > b, a, b);\n}"},
    {"larger", KIND_F64,
     "$T @larger($T a, $T b) {\n"
     "<2|#if defined(__SSE2__) && !defined(__clang__)\n  return __builtin_ia32_maxpd(a, b);\n#endif\n|>"
     "<4|#if defined(__AVX__) && !defined(__clang__)\n  return __builtin_ia32_maxpd256(a, b);\n#endif\n|>"
     "<8|#if defined(__AVX512F__) && !defined(__clang__)\n"
     "  return __builtin_ia32_maxpd512_mask(a, b, a, -1, 4);\n#endif\n|>"
     "  return @where(a > b, a, b);\n}"},
    {"smaller", KIND_F32,
     "$T @smaller($T a, $T b) {\n"
     "<4|#if defined(__SSE2__) && !defined(__clang__)\n  return __builtin_ia32_minps(a, b);\n#endif\n|>"
     "<8|#if defined(__AVX__) && !defined(__clang__)\n  return __builtin_ia32_minps256(a, b);\n#endif\n|>"
     "<16|#if defined(__AVX512F__) && !defined(__clang__)\n"
     "  return __builtin_ia32_minps512_mask(a, b, a, -1, 4);\n#endif\n|>"
     "  return @where(a < b, a, b);\n}"},
    {"smaller", KIND_F64,
     "$T @smaller($T a, $T b) {\n"
     "<2|#if defined(__SSE2__) && !defined(__clang__)\n  return __builtin_ia32_minpd(a, b);\n#endif\n|>"
     "<4|#if defined(__AVX__) && !defined(__clang__)\n  return __builtin_ia32_minpd256(a, b);\n#endif\n|>"
     "<8|#if defined(__AVX512F__) && !defined(__clang__)\n"
     "  return __builtin_ia32_minpd512_mask(a, b, a, -1, 4);\n#endif\n|>"
     "  return @where(a < b, a, b);\n}"},
    /* NaN wins on either side; as a vector, all bits set are a NaN. Scalars, too, are compared as vectors, without
     * branches: which half of a row has the largest element cannot be foreseen */
    {"max", KIND_F32,
     "$T @max($T a, $T b) {\n"
     "<s|#if defined(__SSE2__) && !defined(__clang__)\n"
     "  if (__builtin_constant_p(b) && b == -INFINITY) return a;\n"
     "  typedef $T lanes __attribute__((vector_size(16)));\n  typedef $I bits __attribute__((vector_size(16)));\n"
     "  const lanes x = {a, a, a, a}, y = {b, b, b, b};\n"
     "  return ((lanes)((bits)__builtin_ia32_maxps(x, y) | (x != x)))[0];\n#endif\n|>"
     "  return <s|a != a ? a : @larger(a, b)|><v|($T)(($I)@larger(a, b) | (a != a))|>;\n}"},
    {"max", KIND_F64,
     "$T @max($T a, $T b) {\n"
     "<s|#if defined(__SSE2__) && !defined(__clang__)\n"
     "  if (__builtin_constant_p(b) && b == -INFINITY) return a;\n"
     "  typedef $T lanes __attribute__((vector_size(16)));\n  typedef $I bits __attribute__((vector_size(16)));\n"
     "  const lanes x = {a, a}, y = {b, b};\n"
     "  return ((lanes)((bits)__builtin_ia32_maxpd(x, y) | (x != x)))[0];\n#endif\n|>"
     "  return <s|a != a ? a : @larger(a, b)|><v|($T)(($I)@larger(a, b) | (a != a))|>;\n}"},
    {"min", KIND_F32,
     "$T @min($T a, $T b) {\n"
     "<s|#if defined(__SSE2__) && !defined(__clang__)\n"
     "  if (__builtin_constant_p(b) && b == INFINITY) return a;\n"
     "  typedef $T lanes __attribute__((vector_size(16)));\n  typedef $I bits __attribute__((vector_size(16)));\n"
     "  const lanes x = {a, a, a, a}, y = {b, b, b, b};\n"
     "  return ((lanes)((bits)__builtin_ia32_minps(x, y) | (x != x)))[0];\n#endif\n|>"
     "  return <s|a != a ? a : @smaller(a, b)|><v|($T)(($I)@smaller(a, b) | (a != a))|>;\n}"},
    {"min", KIND_F64,
     "$T @min($T a, $T b) {\n"
     "<s|#if defined(__SSE2__) && !defined(__clang__)\n"
     "  if (__builtin_constant_p(b) && b == INFINITY) return a;\n"
     "  typedef $T lanes __attribute__((vector_size(16)));\n  typedef $I bits __attribute__((vector_size(16)));\n"
     "  const lanes x = {a, a}, y = {b, b};\n"
     "  return ((lanes)((bits)__builtin_ia32_minpd(x, y) | (x != x)))[0];\n#endif\n|>"
     "  return <s|a != a ? a : @smaller(a, b)|><v|($T)(($I)@smaller(a, b) | (a != a))|>;\n}"},
    {"max", KIND_INT, "$T @max($T a, $T b) { return @where(<v|($I)|>(a > b), a, b); }"},
    {"min", KIND_INT, "$T @min($T a, $T b) { return @where(<v|($I)|>(a < b), a, b); }"},

    /* division towards minus infinity; 0 where the divisor is 0 */
    /* a / b for all lanes by floats of 64 bits, with rest = a - b q, which lies between 0 and b or one b beside that.
     * Processors have no division of whole numbers for lanes. What overflows wraps, as the products do. */
    {"divided", KIND_I32,
     "$T @divided($T a, $T b, $T *rest) {\n"
     "  const $T q = <16|@join(@@ratio(@lo(a), @lo(b)), @@ratio(@hi(a), @hi(b)))|><8|@ratio(a, b)|><4|@ratio(a, b)|>"
     "<2|@ratio(a, b)|>;\n"
     "  *rest = ($T)(($U)a - ($U)q * ($U)b);\n"
     "  return q;\n}"},
    {"ratio", KIND_I32,
     "$T @ratio($T a, $T b) {\n"
     "  return __builtin_convertvector(__builtin_convertvector(a, $D) / __builtin_convertvector(b, $D), $T);\n}"},
    /* the first quotient is right to 52 bits, the second one adds what is missing, up to one */
    {"ratio", KIND_I64,
     "$T @ratio($T a, $T b) {\n"
     "  return __builtin_convertvector(__builtin_convertvector(a, $D) / __builtin_convertvector(b, $D), $T);\n}"},
    {"divided", KIND_I64,
     "$T @divided($T a, $T b, $T *rest) {\n"
     "  const $T p = @ratio(a, b), r = ($T)(($U)a - ($U)p * ($U)b), q = @ratio(r, b);\n"
     "  const $U left = ($U)r - ($U)q * ($U)b;\n"
     "  const $T more = @where(b < 0, ($T)left <= b, ($T)left >= b);\n"
     "  *rest = ($T)(left - (($U)more & ($U)b));\n"
     "  return ($T)(($U)p + ($U)q - ($U)more);\n}"},
    {"idiv", KIND_I32, INTEGER_DIVISION},
    {"mod", KIND_I32, INTEGER_REMAINDER},
    {"idiv", KIND_I64, INTEGER_DIVISION},
    {"mod", KIND_I64, INTEGER_REMAINDER},
    {"idiv", KIND_SIGNED,
     "$T @idiv($T a, $T b) {\n"
     "<s|  if (b == 0) return 0;\n"
     "  if (b == -1) return ($U)0 - ($U)a;\n"
     "  return a / b - (a % b != 0 && (a < 0) != (b < 0));\n"
     "|><v|  $T r;\n  for (int l = 0; l < $W; l++) {\n"
     "    r[l] = b[l] == 0 ? 0 : b[l] == -1 ? -a[l] : a[l] / b[l] - (a[l] % b[l] != 0 && (a[l] < 0) != (b[l] < 0));\n"
     "  }\n  return r;\n|>}"},
    {"mod", KIND_SIGNED,
     "$T @mod($T a, $T b) {\n"
     "<s|  if (b == 0 || b == -1) return 0;\n"
     "  $T r = a % b;\n"
     "  return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n"
     "|><v|  $T r;\n  for (int l = 0; l < $W; l++) {\n"
     "    $E q = b[l] == 0 || b[l] == -1 ? 0 : a[l] % b[l];\n"
     "    r[l] = q != 0 && (q < 0) != (b[l] < 0) ? q + b[l] : q;\n"
     "  }\n  return r;\n|>}"},
    {"idiv", KIND_UNSIGNED,
     "$T @idiv($T a, $T b) {\n"
     "<s|  return b ? a / b : 0;\n|>"
     "<v|  $T r;\n  for (int l = 0; l < $W; l++) r[l] = b[l] ? a[l] / b[l] : 0;\n  return r;\n|>}"},
    {"mod", KIND_UNSIGNED,
     "$T @mod($T a, $T b) {\n"
     "<s|  return b ? a % b : 0;\n|>"
     "<v|  $T r;\n  for (int l = 0; l < $W; l++) r[l] = b[l] ? a[l] % b[l] : 0;\n  return r;\n|>}"},

    /* shifts by any amount: bits that are shifted out are gone */
    {"shl", KIND_INT,
     "$T @shl($T a, $T b) {\n  const $I in = <v|($I)|>(($U)b < $B);\n"
     "  return @where(in, ($T)(($U)a << (($U)b & $b)), ($T)<s|0|><v|{0}|>);\n}"},
    {"shr", KIND_INT,
     "$T @shr($T a, $T b) {\n  const $I in = <v|($I)|>(($U)b < $B);\n"
     "  return @where(in, a >> (b & $b), a >> $b >> 1);\n}"},

    /* conversions that C leaves open or does lane by lane */
    {"to_u64", KIND_FLOAT,
     "uint64_t @to_u64($T x) {\n"
     "  if (x >= 9223372036854775808.0) return (uint64_t)(int64_t)(x - ($T)9223372036854775808.0) ^ (1ull << 63);\n"
     "  return (uint64_t)(int64_t)x;\n}"},

    /* cut to what fits in an int32 with room */
    {"clamp", KIND_SIGNED,
     "int32_t @clamp($T x) { return x < -0x40000000 ? -0x40000000 : x > 0x40000000 ? 0x40000000 : x; }"},

    /* memory */
    {"load", KIND_ANY,
     "$T @load(const $E *p) {\n"
     "  typedef $T any __attribute__((aligned(sizeof($E)), may_alias));\n  return *(const any *)p;\n}"},
    {"store", KIND_ANY,
     "void @store($E *p, $T v) {\n"
     "  typedef $T any __attribute__((aligned(sizeof($E)), may_alias));\n  *(any *)p = v;\n}"},
    {"reverse", KIND_ANY, "$T @reverse($T v) { return __builtin_shufflevector(v, v, $R); }"},
    {"evens", KIND_ANY, "$T @evens($T a, $T b) { return __builtin_shufflevector(a, b, $V); }"},
    {"odds", KIND_ANY, "$T @odds($T a, $T b) { return __builtin_shufflevector(a, b, $O); }"},
    /* every other element: of two loads, the second of which ends with the last one */
    {"load_step", KIND_ANY,
     "$T @load_step(const $E *p, int64_t step) {\n"
     "  enum { lanes = $W };\n  if (step == 2)\n"
     "    return __builtin_shufflevector(@load(p), @load(p + lanes - 1), <l|2 * # + (# >= lanes / 2)|>);\n"
     "  return ($T){<l|p[# * step]|>};\n}"},
    {"gather", KIND_ANY, "$T @gather(const $E *p, $X i) {\n  return ($T){<l|p[i[#]]|>};\n}"},
    /* lanes whose gate is closed are not read. Mostly all gates of a vector are open, or none */
    {"load_some", KIND_ANY,
     "!$T @load_some(const $E *p, int64_t step, $I m) {\n"
     "  $T r = {0};\n  for (int l = 0; l < $W; l++) {\n    if (m[l]) r[l] = p[l * step];\n  }\n  return r;\n}"},
    {"load_if", KIND_F32,
     "$T @load_if(const $E *p, int64_t step, $I m) {\n"
     "<16|#if defined(__AVX512DQ__) && !defined(__clang__)\n"
     "  if (step == 1) return __builtin_ia32_loadups512_mask(p, ($T){0}, __builtin_ia32_cvtd2mask512(m));\n#endif\n|>"
     "<4|#if defined(__AVX2__) && !defined(__clang__)\n"
     "  if (step == 1) return __builtin_ia32_maskloadps((const $T *)p, m);\n#endif\n|>"
     "<8|#if defined(__AVX2__) && !defined(__clang__)\n"
     "  if (step == 1) return __builtin_ia32_maskloadps256((const $T *)p, m);\n#endif\n|>"
     "  if (!@I:any(m)) return ($T){0};\n"
     "  if (!@I:any(~m)) return step == 1 ? @load(p) : @load_step(p, step);\n"
     "  return @load_some(p, step, m);\n}"},
    {"load_if", KIND_ANY,
     "$T @load_if(const $E *p, int64_t step, $I m) {\n"
     "  if (!@I:any(m)) return ($T){0};\n"
     "  if (!@I:any(~m)) return step == 1 ? @load(p) : @load_step(p, step);\n"
     "  return @load_some(p, step, m);\n}"},
    {"gather_if", KIND_ANY,
     "$T @gather_if(const $E *p, $X i, $I m) {\n"
     "  $T r = {0};\n  for (int l = 0; l < $W; l++) {\n    if (m[l]) r[l] = p[i[l]];\n  }\n  return r;\n}"},
    {"store_step", KIND_ANY,
     "void @store_step($E *p, int64_t step, $T v) {\n  for (int l = 0; l < $W; l++) p[l * step] = v[l];\n}"},
    /* four vectors to places step apart, side by side: squares of four are turned in registers */
    {"store_turned", KIND_ANY,
     "void @store_turned($E *p, int64_t step, $T a, $T b, $T c, $T d) {\n"
     "  typedef $E quad __attribute__((vector_size(4 * sizeof($E)), aligned(sizeof($E)), may_alias));\n"
     "<4|  const $T e = __builtin_shufflevector(a, b, 0, 4, 1, 5);\n"
     "  const $T f = __builtin_shufflevector(c, d, 0, 4, 1, 5);\n"
     "  const $T g = __builtin_shufflevector(a, b, 2, 6, 3, 7);\n"
     "  const $T h = __builtin_shufflevector(c, d, 2, 6, 3, 7);\n"
     "  const $T r0 = __builtin_shufflevector(e, f, 0, 1, 4, 5);\n"
     "  const $T r1 = __builtin_shufflevector(e, f, 2, 3, 6, 7);\n"
     "  const $T r2 = __builtin_shufflevector(g, h, 0, 1, 4, 5);\n"
     "  const $T r3 = __builtin_shufflevector(g, h, 2, 3, 6, 7);\n"
     "  *(quad *)(p) = r0;\n"
     "  *(quad *)(p + step) = r1;\n"
     "  *(quad *)(p + 2 * step) = r2;\n"
     "  *(quad *)(p + 3 * step) = r3;\n|>"
     "<8|  const $T e = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);\n"
     "  const $T f = __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13);\n"
     "  const $T g = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);\n"
     "  const $T h = __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);\n"
     "  const $T r0 = __builtin_shufflevector(e, f, 0, 1, 8, 9, 4, 5, 12, 13);\n"
     "  const $T r1 = __builtin_shufflevector(e, f, 2, 3, 10, 11, 6, 7, 14, 15);\n"
     "  const $T r2 = __builtin_shufflevector(g, h, 0, 1, 8, 9, 4, 5, 12, 13);\n"
     "  const $T r3 = __builtin_shufflevector(g, h, 2, 3, 10, 11, 6, 7, 14, 15);\n"
     "  *(quad *)(p) = __builtin_shufflevector(r0, r0, 0, 1, 2, 3);\n"
     "  *(quad *)(p + step) = __builtin_shufflevector(r1, r1, 0, 1, 2, 3);\n"
     "  *(quad *)(p + 2 * step) = __builtin_shufflevector(r2, r2, 0, 1, 2, 3);\n"
     "  *(quad *)(p + 3 * step) = __builtin_shufflevector(r3, r3, 0, 1, 2, 3);\n"
     "  *(quad *)(p + 4 * step) = __builtin_shufflevector(r0, r0, 4, 5, 6, 7);\n"
     "  *(quad *)(p + 5 * step) = __builtin_shufflevector(r1, r1, 4, 5, 6, 7);\n"
     "  *(quad *)(p + 6 * step) = __builtin_shufflevector(r2, r2, 4, 5, 6, 7);\n"
     "  *(quad *)(p + 7 * step) = __builtin_shufflevector(r3, r3, 4, 5, 6, 7);\n|>"
     "<16|  const $T e = __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);\n"
     "  const $T f = __builtin_shufflevector(c, d, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);\n"
     "  const $T g = __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);\n"
     "  const $T h = __builtin_shufflevector(c, d, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);\n"
     "  const $T r0 = __builtin_shufflevector(e, f, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);\n"
     "  const $T r1 = __builtin_shufflevector(e, f, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);\n"
     "  const $T r2 = __builtin_shufflevector(g, h, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);\n"
     "  const $T r3 = __builtin_shufflevector(g, h, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);\n"
     "  *(quad *)(p) = __builtin_shufflevector(r0, r0, 0, 1, 2, 3);\n"
     "  *(quad *)(p + step) = __builtin_shufflevector(r1, r1, 0, 1, 2, 3);\n"
     "  *(quad *)(p + 2 * step) = __builtin_shufflevector(r2, r2, 0, 1, 2, 3);\n"
     "  *(quad *)(p + 3 * step) = __builtin_shufflevector(r3, r3, 0, 1, 2, 3);\n"
     "  *(quad *)(p + 4 * step) = __builtin_shufflevector(r0, r0, 4, 5, 6, 7);\n"
     "  *(quad *)(p + 5 * step) = __builtin_shufflevector(r1, r1, 4, 5, 6, 7);\n"
     "  *(quad *)(p + 6 * step) = __builtin_shufflevector(r2, r2, 4, 5, 6, 7);\n"
     "  *(quad *)(p + 7 * step) = __builtin_shufflevector(r3, r3, 4, 5, 6, 7);\n"
     "  *(quad *)(p + 8 * step) = __builtin_shufflevector(r0, r0, 8, 9, 10, 11);\n"
     "  *(quad *)(p + 9 * step) = __builtin_shufflevector(r1, r1, 8, 9, 10, 11);\n"
     "  *(quad *)(p + 10 * step) = __builtin_shufflevector(r2, r2, 8, 9, 10, 11);\n"
     "  *(quad *)(p + 11 * step) = __builtin_shufflevector(r3, r3, 8, 9, 10, 11);\n"
     "  *(quad *)(p + 12 * step) = __builtin_shufflevector(r0, r0, 12, 13, 14, 15);\n"
     "  *(quad *)(p + 13 * step) = __builtin_shufflevector(r1, r1, 12, 13, 14, 15);\n"
     "  *(quad *)(p + 14 * step) = __builtin_shufflevector(r2, r2, 12, 13, 14, 15);\n"
     "  *(quad *)(p + 15 * step) = __builtin_shufflevector(r3, r3, 12, 13, 14, 15);\n|>"
     "}"},
    {"store_turned_wide", KIND_ANY,
     "void @store_turned_wide($E *p, int64_t step, $T a, $T b, $T c, $T d) {\n"
     "<32|  @@store_turned(p, step, @lo(a), @lo(b), @lo(c), @lo(d));\n"
     "  @@store_turned(p + 16 * step, step, @hi(a), @hi(b), @hi(c), @hi(d));\n|>"
     "<64|  @@store_turned_wide(p, step, @lo(a), @lo(b), @lo(c), @lo(d));\n"
     "  @@store_turned_wide(p + 32 * step, step, @hi(a), @hi(b), @hi(c), @hi(d));\n|>"
     "}"},
    {"scatter", KIND_ANY, "void @scatter($E *p, $X i, $T v) {\n  for (int l = 0; l < $W; l++) p[i[l]] = v[l];\n}"},
    {"store_if", KIND_F32,
     "void @store_if($E *p, int64_t step, $T v, $I m) {\n"
     "<16|#if defined(__AVX512DQ__) && !defined(__clang__)\n"
     "  if (step == 1) {\n    __builtin_ia32_storeups512_mask(p, v, __builtin_ia32_cvtd2mask512(m));\n    return;\n  "
     "}\n"
     "#endif\n|>"
     "<8|#if defined(__AVX512VL__) && defined(__AVX512DQ__) && !defined(__clang__)\n"
     "  if (step == 1) {\n    __builtin_ia32_storeups256_mask(p, v, __builtin_ia32_cvtd2mask256(m));\n    return;\n  "
     "}\n"
     "#endif\n|>"
     "  if (step == 1 && !@I:any(~m)) {\n    @store(p, v);\n    return;\n  }\n"
     "  for (int l = 0; l < $W; l++) {\n    if (m[l]) p[l * step] = v[l];\n  }\n}"},
    {"store_if", KIND_ANY,
     "void @store_if($E *p, int64_t step, $T v, $I m) {\n"
     "  if (step == 1 && !@I:any(~m)) {\n    @store(p, v);\n    return;\n  }\n"
     "  for (int l = 0; l < $W; l++) {\n    if (m[l]) p[l * step] = v[l];\n  }\n}"},
    {"scatter_if", KIND_ANY,
     "void @scatter_if($E *p, $X i, $T v, $I m) {\n"
     "  for (int l = 0; l < $W; l++) {\n    if (m[l]) p[i[l]] = v[l];\n  }\n}"},

    /* index checks: the first bad index is kept */
    {"index_error", KIND_SIGNED,
     "void @index_error(GLOBAL int64_t *err, int64_t i, int64_t n) {\n"
     "  if (!(FIRST(err))) return;\n  err[1] = i;\n  err[2] = n;\n}"},
    {"check", KIND_SIGNED,
     "$T @check($T i, $T n, $I m, GLOBAL int64_t *err) {\n"
     "<s|  if (!m) return 0;\n"
     "  if (!SELDOM_TRUE((uint64_t)i >= (uint64_t)n)) return i;\n"
     "  @index_error(err, i, n);\n  return 0;\n|>"
     "<v|  const $T good = ($I)(($U)i < ($U)n);\n"
     "  if (__builtin_expect(@any(m & ~good), 0)) {\n"
     "    for (int l = 0; l < $W; l++) {\n"
     "      if (m[l] && !good[l] && !__atomic_exchange_n(err, 1, __ATOMIC_RELAXED)) err[1] = i[l], err[2] = n[l];\n"
     "    }\n  }\n  return i & good & m;\n|>}"},

    /* the same, to be told behind the loop: later has the index, the size and whether there was one */
    {"check_later", KIND_SIGNED,
     "$T @check_later($T i, $T n, $I m, int64_t *later) {\n"
     "  const int bad = m && (uint64_t)i >= (uint64_t)n, first = bad && !later[2];\n"
     "  later[0] = first ? i : later[0];\n  later[1] = first ? n : later[1];\n  later[2] = later[2] | bad;\n"
     "  return m && !bad ? i : 0;\n}"},

    /* a vector to one value, in a fixed order: halves are combined until one is left */
    {"fold_add", KIND_ANY, "$E @fold_add($T v) { return <s|v|><v|@@fold_add($lo + $hi)|>; }"},
    {"fold_mul", KIND_ANY, "$E @fold_mul($T v) { return <s|v|><v|@@fold_mul($lo * $hi)|>; }"},
    {"fold_max", KIND_F32,
     "$E @fold_max($T v) {\n"
     "<4|  v = @max(v, __builtin_shufflevector(v, v, 2, 3, 0, 1));\n"
     "  return @max(v, __builtin_shufflevector(v, v, 1, 0, 3, 2))[0];\n|>"
     "  return <s|v|><v|@@fold_max(@@max($lo, $hi))|>;\n}"},
    {"fold_max", KIND_ANY, "$E @fold_max($T v) { return <s|v|><v|@@fold_max(@@max($lo, $hi))|>; }"},
    {"fold_min", KIND_F32,
     "$E @fold_min($T v) {\n"
     "<4|  v = @min(v, __builtin_shufflevector(v, v, 2, 3, 0, 1));\n"
     "  return @min(v, __builtin_shufflevector(v, v, 1, 0, 3, 2))[0];\n|>"
     "  return <s|v|><v|@@fold_min(@@min($lo, $hi))|>;\n}"},
    {"fold_min", KIND_ANY, "$E @fold_min($T v) { return <s|v|><v|@@fold_min(@@min($lo, $hi))|>; }"},
    {"fold_or", KIND_INT, "$E @fold_or($T v) { return <s|v|><v|@@fold_or($lo | $hi)|>; }"},
    {"fold_and", KIND_INT, "$E @fold_and($T v) { return <s|v|><v|@@fold_and($lo & $hi)|>; }"},
    {"any", KIND_SIGNED, "int @any($T m) { return @fold_or(m) != 0; }"},
    {NULL, KIND_ANY, NULL},
};
