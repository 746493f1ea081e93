/* cpu.h: inside of the CPU device: its compiler and its matrix product. Private to src/runtime. */
#ifndef POLY_CPU_H
#define POLY_CPU_H

#include "runtime/host.h"

#include <sys/types.h>

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
/* A child process that makes dir/kernels.so of dir/kernels.c. */
enum { COMPILE_SECONDS = 600 }; /* unless POLY_COMPILE_TIMEOUT is set */
typedef enum CompilerEnd {
  COMPILER_RUNNING,
  COMPILER_ENDED,
  COMPILER_FAILED, /* message: the first lines of the compiler's output, or how it ended */
  COMPILER_TOO_LONG
} CompilerEnd;
typedef struct CompilerRun {
  pid_t pid;
  int output; /* of the child, a pipe */
  double end; /* in seconds, when it is too long */
  size_t got;
  bool open, openmp, low;
  char dir[PATH_ROOM - 64], message[640];
} CompilerRun;
/* low: with low priority. False: message says why. */
bool compiler_start(const Compiler *c, CompilerRun *r, const char *dir, bool low);
CompilerEnd compiler_poll(const Compiler *c, CompilerRun *r); /* does not wait */
void compiler_stop(CompilerRun *r);                           /* ends it with all that it has started */
void compiler_abandon(CompilerRun *r);                        /* in a forked process: it is not its child */
/* While the program waits for the compiler, Ctrl-C is noticed by the thread that waits. */
bool compiler_watch(void);
void compiler_unwatch(bool own);
bool compiler_interrupted(void);

/* ---- objects.c: compiled objects, by their source ---- */

typedef void (*KernelFn)(void *const *arg, const int64_t *var, int threads, int64_t *err);
typedef struct Object Object;
typedef struct CpuDevice CpuDevice;
/* The object of a source text: from memory, from the cache, or to be compiled. NULL: no memory. */
Object *object_get(CpuDevice *cpu, const char *source);
void object_release(CpuDevice *cpu, Object *o);
/* Its table of kernels; NULL: not compiled. */
const KernelFn *object_kernels(const Object *o);
/* The last compilation failed; the text says why. */
const char *object_failure(const Object *o);
/* Has it compiled in the background, unless that failed before. worth: the one of most comes first; it may grow. */
void object_start(CpuDevice *cpu, Object *o, double worth);
/* Compiles what is missing, several at once, and waits. False and an error. */
bool objects_need(CpuDevice *cpu, int n, Object *const *o);
/* Takes over what was compiled in the background, and starts what waits for its turn. */
void objects_poll(CpuDevice *cpu);
void objects_close(CpuDevice *cpu);

/* ---- matmul_cpu.c ---- */

typedef int (*SgemmFn)(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                       int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

struct CpuDevice {
  Device device; /* first */
  Runtime *runtime;
  Device *interp; /* runs what is not compiled */
  Compiler compiler;
  bool found, looked; /* for a compiler */
  bool swept[2];      /* stale files were removed: from the directory for temporary files, from the cache */
  CacheKey about;     /* of compiler and machine */
  Object *objects;
  int nrunning;  /* compilers */
  bool busy;     /* with those, or with objects that wait for one */
  void *dnnl;    /* handle of the library */
  SgemmFn sgemm; /* NULL: own routine */
  bool dnnl_looked;
};
bool cpu_matmul(Device *d, const MatmulCall *m, int threads);
size_t cpu_matmul_room(const Device *d, const MatmulCall *m);
void cpu_matmul_close(CpuDevice *cpu);

/* ---- matmul_zeros.c: float32 with an operand that is nearly all zeros. False: it is not ---- */

bool matmul_zeros(Device *d, const MatmulCall *m, int threads);

#endif
