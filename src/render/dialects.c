/* dialects.c: what dialects differ in: a row of names and a few functions each. Types have the names of <stdint.h> in
 * all of them; a dialect that has no such header declares them where its programs begin, and so it does with the macros
 * HELPER and SELDOM, which stand before every function that is not a kernel. */
#include "render/emit.h"

#include <string.h>

/* ---- C ---- */

/* The functions of <math.h> that kernels may call. The header itself declares several hundred more: reading it takes
 * the compiler as long as a small kernel, 8 of 45 ms. */
static void c_declare_math(Str *out) {
  static const char *const names[] = {
#define E(...)
#define FN(name, cost, props, function, code) #function,
#include "ir/ops.def"
      "fabs"};
  str_add(out, "#define INFINITY __builtin_inff()\n#define NAN __builtin_nanf(\"\")\n"
               "#define UNARY(f) double f(double); float f##f(float);\n"
               "#define BINARY(f) double f(double, double); float f##f(float, float);\n");
  for (int i = 0; i < LEN(names); i++) str_fmt(out, "UNARY(%s) ", names[i]);
  str_add(out, "\nBINARY(fmod) BINARY(pow)\n");
}

static void c_open_program(Str *out, const Target *target) {
  str_add(out, "#include <stdint.h>\n\n");
  c_declare_math(out);
  str_fmt(out,
          "/* operations below which one thread is quicker than several */\n"
          "#ifndef PARALLEL_MIN\n#define PARALLEL_MIN %lld\n#endif\n",
          (long long)target->threads.ops);
  str_add(out, "#if defined(__FMA__) || defined(__aarch64__)\n#define FUSED\n#endif\n"
               "#define HELPER static inline __attribute__((always_inline, unused))\n"
               "#define SELDOM static __attribute__((noinline, cold, unused))\n"
               "#define TABLE static const\n#define GLOBAL\n"
               "#define SELDOM_TRUE(x) __builtin_expect(x, 0)\n"
               "#define FIRST(err) !__atomic_exchange_n(err, 1, __ATOMIC_RELAXED)\n"
               "#define fma_float __builtin_fmaf\n#define fma_double __builtin_fma\n");
  str_add(out, "\n");
}

static void c_open_kernel(Emit *e, const char *name) {
  const Linear *lin = e->lin;
  str_fmt(e->out, "\nvoid %s(void *const *arg, const int64_t *var, int threads, int64_t *err) {\n", name);
  for (int k = 0; k < linear_nargs(lin); k++) {
    Txt type = type_name(e->help, elem_memory(lin->param[k].dtype), 1);
    line(e, "%s%s *const p%d = arg[%d];", lin->param[k].written ? "" : "const ", type.s, k, k);
  }
  for (int i = 0; i < lin->nvar; i++) line(e, "const int64_t n%d = var[%d];", i, i);
  line(e, "(void)arg, (void)var, (void)threads, (void)err;");
}

static void c_local(Emit *e, int param) {
  const LinearParam *p = &e->lin->param[param];
  line(e, "%s p%d[%lld] __attribute__((aligned(64)));", type_name(e->help, elem_memory(p->dtype), 1).s, param,
       (long long)p->local);
}

/* The pragma of a loop over steps of `step` iterations each. The caller is not yet inside another parallel loop. */
static void c_parallel(Emit *e, int loop, const char *begin, const char *end) {
  int64_t cost = MAX(e->lin->inst[loop].cost, 1);
  Txt trips = !strcmp(begin, "0") ? txt("%s", end) : txt("(%s - %s)", end, begin);
  int chunk = e->lin->inst[loop].chunk;
  Txt schedule = chunk ? txt("dynamic, %d", chunk) : txt("static");
  line(e, "#pragma omp parallel for schedule(%s) num_threads(threads) if (threads > 1 && %s * %lldll > PARALLEL_MIN)",
       schedule.s, trips.s, (long long)cost);
}

static void c_close_program(Str *out, int n, const Linear *const *kernel) {
  str_fmt(out, "\nvoid (*const poly_kernels[%d])(void *const *, const int64_t *, int, int64_t *) = {\n", MAX(n, 1));
  for (int k = 0; k < n; k++) str_fmt(out, "  %s,\n", kernel_name(n, kernel, k).s);
  str_add(out, n ? "};\n" : "  0,\n};\n");
}

/* ---- the table ---- */

const Style *dialect_style(Dialect dialect) {
  static const Style styles[] = {
      [DIALECT_C] = {.vectors = true,
                     .boolean = "_Bool",
                     .float_suffix = "f",
                     .open_program = c_open_program,
                     .open_kernel = c_open_kernel,
                     .local = c_local,
                     .parallel = c_parallel,
                     .close_program = c_close_program},
      [DIALECT_CUDA] = {.groups = true,
                        .pairs = true,
                        .writes_out = true,
                        .warp = 32,
                        .tensor = true,
                        .boolean = "bool",
                        .float_suffix = "f",
                        .open_program = cuda_open_program,
                        .open_kernel = cuda_open_kernel,
                        .local = gpu_local,
                        .close_program = gpu_close_program},
      [DIALECT_OPENCL] = {.groups = true,
                          .boolean = "bool",
                          .float_suffix = "",
                          .open_program = opencl_open_program,
                          .open_kernel = opencl_open_kernel,
                          .local = gpu_local,
                          .close_program = gpu_close_program},
  };
  return (size_t)dialect < LEN(styles) ? &styles[dialect] : NULL;
}
