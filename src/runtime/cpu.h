/* cpu.h: inside of the CPU device: its compiler and its matrix product. Private to src/runtime. */
#ifndef POLY_CPU_H
#define POLY_CPU_H

#include "runtime/host.h"

/* ---- compiler.c: the system's C compiler in a child process ---- */

enum { COMPILER_WORDS = 24, PATH_ROOM = 4096 };
typedef struct Compiler {
  char path[PATH_ROOM];
  char text[1024]; /* the value of CC, cut into words */
  const char *word[COMPILER_WORDS];
  int nword;      /* further arguments from CC */
  char stamp[64]; /* size and time of the program: changes when it is replaced */
} Compiler;
/* CC if it is set, else gcc, clang or cc on PATH. False: none. */
bool compiler_find(Compiler *c);
bool cpu_has_compiler(void);
/* All that the result depends on besides the source, as text. */
void compiler_describe(const Compiler *c, Str *out);
/* dir/kernels.c -> dir/kernels.so. Unless it is COMPILER_ENDED, message says why: the first lines of the compiler's
 * output, or how it ended. */
enum { COMPILE_SECONDS = 600 }; /* unless POLY_COMPILE_TIMEOUT is set */
typedef enum CompilerEnd { COMPILER_ENDED, COMPILER_FAILED, COMPILER_TOO_LONG, COMPILER_INTERRUPTED } CompilerEnd;
CompilerEnd compiler_run(const Compiler *c, const char *dir, char *message, size_t nmessage);

/* ---- matmul_cpu.c ---- */

typedef int (*SgemmFn)(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                       int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

typedef struct CpuDevice {
  Device device; /* first */
  Runtime *runtime;
  Compiler compiler;
  bool found, looked; /* for a compiler */
  bool swept[2];      /* stale files were removed: from the directory for temporary files, from the cache */
  void *dnnl;         /* handle of the library */
  SgemmFn sgemm;      /* NULL: own routine */
  bool dnnl_looked;
} CpuDevice;
bool cpu_matmul(Device *d, const MatmulCall *m, int threads);
void cpu_matmul_close(CpuDevice *cpu);

/* ---- matmul_zeros.c: float32 with an operand that is nearly all zeros. False: it is not ---- */

bool matmul_zeros(Device *d, const MatmulCall *m, int threads);

#endif
