/* float_math.c: writes the elementary functions of float32 as C, from the same templates as rendered kernels have them
 * (src/render/cfloat.c). The build compiles what it prints into the library, for the interpreter: so both devices
 * compute the same function, to the last bit. */
#include "render/cmath.h"

#include <stdio.h>

static const char head[] = "/* Written by tools/float_math.c. */\n"
                           "#include \"runtime/float_math.h\"\n\n#include <math.h>\n#include <stdint.h>\n\n"
                           "#define FUSED\n"
                           "#define HELPER static inline __attribute__((always_inline, unused))\n"
                           "#define SELDOM static __attribute__((noinline, cold, unused))\n"
                           "#define TABLE static const\n#define SELDOM_TRUE(x) __builtin_expect(x, 0)\n"
                           "#define fma_float __builtin_fmaf\n#define fma_double __builtin_fma\n"
                           "#if defined(__x86_64__)\n"
                           "#define CHOOSE(f, g) __builtin_cpu_supports(\"fma\") ? g : f\n"
                           "#define WITH_FMA __attribute__((target(\"fma\")))\n"
                           "#else\n#define CHOOSE(f, g) f\n#define WITH_FMA __attribute__((unused))\n#endif\n\n";

int main(void) {
  static const char *const unary[] = {
#define NAME_OWN(function) #function,
#define NAME_LIBRARY(function)
#define E(...)
#define FN(name, cost, props, function, code) NAME_##code(function)
#include "ir/ops.def"
  };
  static Base base;
  static Helpers h = {.types = {.b = &base}, .code = {.b = &base}};
  for (int i = 0; i < LEN(unary); i++) helper(&h, unary[i], ELEM_F32, 1);
  helper(&h, "pow", ELEM_F32, 1);
  if (h.failed || h.types.failed || h.code.failed || !h.code.n) return fprintf(stderr, "%s\n", base.text), 1;
  printf("%s%.*s%.*s\n", head, (int)h.types.n, h.types.n ? h.types.at : "", (int)h.code.n, h.code.at);
  for (int i = 0; i < LEN(unary); i++) {
    const char *f = unary[i];
    printf("WITH_FMA static float %s_fma(float x) { return %s_f32(x); }\n", f, f);
    printf("float float_%s(float x) { return CHOOSE(%s_f32(x), %s_fma(x)); }\n", f, f, f);
  }
  printf("WITH_FMA static float pow_fma(float x, float y) { return pow_f32(x, y); }\n"
         "float float_pow(float x, float y) { return CHOOSE(pow_f32(x, y), pow_fma(x, y)); }\n");
  str_free(&h.types);
  str_free(&h.code);
  return ferror(stdout) || fflush(stdout);
}
