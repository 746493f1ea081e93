/* cpu.c: the CPU device. Source text is compiled to a shared object by the system's compiler, kept in the cache, loaded
 * and called.
 *
 * In: one translation unit for all kernels of a plan, which exports the table poly_kernels. Out: a Program. The text
 * gets a footer with the cache key, and a loaded object whose key is another one is refused. Where no cache can be used
 * the work is done in a private directory that is gone before the first launch. */
#include "runtime/cpu.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void (*KernelFn)(void *const *arg, const int64_t *var, int threads, int64_t *err);

typedef struct CpuProgram {
  Program program; /* first */
  void *handle;
  const KernelFn *kernel;
} CpuProgram;

/* ---- loading ---- */

/* A shared object that exports the key it was made for; NULL: it does not load, or is another one. */
static void *load(const char *path, const CacheKey *key) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return NULL;
  const char *have = dlsym(handle, "poly_cache_key");
  if (have && !strncmp(have, key->text, CACHE_KEY) && dlsym(handle, "poly_kernels")) return handle;
  dlclose(handle);
  return NULL;
}

/* ---- building ---- */

static bool write_source(const char *dir, const char *source, const CacheKey *key) {
  char path[PATH_ROOM];
  snprintf(path, sizeof path, "%s/kernels.c", dir);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
  if (!f) {
    if (fd >= 0) close(fd);
    return false;
  }
  bool ok = fputs(source, f) >= 0 && fprintf(f, "\nconst char poly_cache_key[] = \"%s\";\n", key->text) > 0;
  return fclose(f) == 0 && ok;
}

static void remove_dir(const char *dir) {
  static const char *const names[] = {"kernels.c", "kernels.so", "log"};
  char path[PATH_ROOM];
  for (int i = 0; i < LEN(names); i++) {
    snprintf(path, sizeof path, "%s/%s", dir, names[i]);
    unlink(path);
  }
  rmdir(dir);
}

/* Compiles in a fresh directory under parent and loads the result; if keep, it becomes the cache's entry first. NULL:
 * message says why. */
static void *build_in(CpuDevice *cpu, const char *parent, bool keep, const char *source, const CacheKey *key,
                      char *message, size_t nmessage) {
  char dir[PATH_ROOM - 64], so[PATH_ROOM], entry[PATH_ROOM];
  int n = snprintf(dir, sizeof dir, "%s/polygrad-XXXXXX", parent);
  if (n >= (int)sizeof dir || !mkdtemp(dir)) {
    snprintf(message, nmessage, "no directory can be made in %.200s", parent);
    return NULL;
  }
  snprintf(so, sizeof so, "%s/kernels.so", dir);
  void *handle = NULL;
  if (!write_source(dir, source, key)) {
    snprintf(message, nmessage, "the source cannot be written to %.200s", dir);
  } else if (compiler_run(&cpu->compiler, dir, message, nmessage)) {
    if (keep && cache_seal(so) && cache_publish(so, parent, key, entry, sizeof entry))
      handle = load(entry, key);
    else if (!keep)
      handle = load(so, key);
    if (!handle) snprintf(message, nmessage, "the compiled kernels cannot be loaded from %.200s", parent);
  }
  remove_dir(dir);
  return handle;
}

/* In the cache's directory if it can be used, else, or if that fails for whatever reason, in a temporary one. */
static void *build(CpuDevice *cpu, const char *cache, const char *source, const CacheKey *key) {
  char message[640] = "";
  void *handle = NULL;
  Runtime *r = cpu->host.heap.runtime;
  r->compilations++;
  if (cache) handle = build_in(cpu, cache, true, source, key, message, sizeof message);
  if (!handle) {
    const char *tmp = getenv("TMPDIR");
    handle = build_in(cpu, tmp && *tmp ? tmp : "/tmp", false, source, key, message, sizeof message);
  }
  if (!handle)
    base_fail(ctx_base(r->ctx), POLY_ERROR_RUNTIME, "%s failed: %s", cpu->compiler.path,
              message[0] ? message : "it gave no reason");
  return handle;
}

static bool need_compiler(CpuDevice *cpu) {
  if (!cpu->looked) cpu->found = compiler_find(&cpu->compiler);
  cpu->looked = true;
  if (cpu->found) return true;
  const char *cc = getenv("CC");
  return base_fail(
      ctx_base(cpu->host.device.ctx), POLY_ERROR_RUNTIME,
      "no C compiler was found: tried %s%.200s%sgcc, clang and cc on PATH; set CC, or use the device INTERP",
      cc ? "CC (\"" : "", cc ? cc : "", cc ? "\"), " : "");
}

static void *find_or_build(CpuDevice *cpu, const char *source) {
  Runtime *r = cpu->host.heap.runtime;
  Str about = {.b = ctx_base(r->ctx)};
  compiler_describe(&cpu->compiler, &about);
  if (about.failed) {
    str_free(&about);
    return NULL;
  }
  CacheKey key;
  cache_key(&key, 2, (const char *const[]){source, about.at});
  str_free(&about);
  const char *cache = r->cache_dir && cache_usable(r->cache_dir) ? r->cache_dir : NULL;
  char path[PATH_ROOM];
  void *handle = cache && cache_find(cache, &key, path, sizeof path) ? load(path, &key) : NULL;
  return handle ? handle : build(cpu, cache, source, &key);
}

/* ---- the device ---- */

static void cpu_program_free(Program *p) {
  if (!p) return;
  CpuProgram *cp = (CpuProgram *)p;
  if (cp->handle) dlclose(cp->handle);
  mem_free(ctx_base(p->device->ctx), cp, sizeof *cp);
}

static Program *cpu_compile(Device *d, const char *source, int n, const Linear *const *kernel) {
  (void)kernel;
  CpuDevice *cpu = (CpuDevice *)d;
  if (!need_compiler(cpu)) return NULL;
  CpuProgram *cp = mem_new(ctx_base(d->ctx), sizeof *cp);
  if (!cp) return NULL;
  cp->program = (Program){.device = d, .nkernel = n};
  cp->handle = find_or_build(cpu, source);
  if (!cp->handle) {
    cpu_program_free(&cp->program);
    return NULL;
  }
  cp->kernel = dlsym(cp->handle, "poly_kernels");
  return &cp->program;
}

static bool cpu_launch(Program *p, int k, void *const *args, const int64_t *vars, int threads) {
  int64_t err[3] = {0};
  ((CpuProgram *)p)->kernel[k](args, vars, threads, err);
  return !err[0] || host_index_error(p->device->ctx, err[1], err[2]);
}

static void cpu_close(Device *d) {
  CpuDevice *cpu = (CpuDevice *)d;
  cpu_matmul_close(cpu);
  heap_trim(&cpu->host.heap, 0);
  mem_free(ctx_base(d->ctx), cpu, sizeof *cpu);
}

Device *cpu_open(Runtime *r) {
  CpuDevice *cpu = mem_new(ctx_base(r->ctx), sizeof *cpu);
  if (!cpu) return NULL;
  host_init(&cpu->host, r, "CPU");
  Device *d = &cpu->host.device;
  d->target.vector = d->target.matmul = true;
  d->needs_source = true;
  d->compile = cpu_compile;
  d->program_free = cpu_program_free;
  d->launch = cpu_launch;
  d->matmul = cpu_matmul;
  d->close = cpu_close;
  return d;
}
