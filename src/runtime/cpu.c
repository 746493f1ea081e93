/* cpu.c: the CPU device. Source text is compiled to a shared object by the system's compiler, kept in the cache, loaded
 * and called.
 *
 * In: one translation unit for all kernels of a plan, which exports the table poly_kernels. Out: a Program. The text
 * gets a footer with the cache key, and a loaded object whose key is another one is refused. Where no cache can be used
 * the work is done in a private directory that is gone before the first launch. */
#include "runtime/cpu.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

typedef void (*KernelFn)(void *const *arg, const int64_t *var, int threads, int64_t *err);

typedef struct CpuProgram {
  Program program; /* first */
  void *handle;
  const KernelFn *kernel;
  HostArgs args;
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

/* Says why a step failed, with the system's reason. */
static void note(char *message, size_t n, const char *what, const char *path) {
  int err = errno;
  snprintf(message, n, "%s %.200s: %s", what, path, strerror(err));
}

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
  int err = ok ? 0 : errno;
  bool closed = fclose(f) == 0;
  if (err) errno = err;
  return closed && ok;
}

static void remove_dir(const char *dir) {
  static const char *const names[] = {"kernels.c", "kernels.so"};
  char path[PATH_ROOM];
  for (int i = 0; i < LEN(names); i++) {
    snprintf(path, sizeof path, "%s/%s", dir, names[i]);
    unlink(path);
  }
  rmdir(dir);
}

/* Directories to compile in are locked while their process lives. One that is not was left by a process that was
 * killed: it is removed. */
static const char prefix[] = "polygrad-";

static void remove_stale(const char *parent) {
  DIR *d = opendir(parent);
  if (!d) return;
  for (const struct dirent *e; (e = readdir(d));) {
    char path[PATH_ROOM - 64];
    struct stat st;
    if (strncmp(e->d_name, prefix, sizeof prefix - 1) || strlen(e->d_name) != sizeof prefix - 1 + 6) continue;
    if (snprintf(path, sizeof path, "%s/%s", parent, e->d_name) >= (int)sizeof path) continue;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) continue;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0) remove_dir(path);
    close(fd);
  }
  closedir(d);
}

/* A new directory under parent, locked by the file that is returned; -1 and errno. Between its making and its locking
 * another process may take it for a stale one: then there is another try. */
static int new_dir(const char *parent, char *dir, size_t n) {
  for (int tries = 0; tries < 16; tries++) {
    struct stat named, opened;
    if (snprintf(dir, n, "%s/%sXXXXXX", parent, prefix) >= (int)n) {
      errno = ENAMETOOLONG;
      return -1;
    }
    if (!mkdtemp(dir)) return -1;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT) {
      rmdir(dir);
      return -1;
    }
    if (fd < 0) continue;
    flock(fd, LOCK_EX | LOCK_NB); /* where locks are not to be had, nobody gets one to remove it either */
    if (fstat(fd, &opened) == 0 && stat(dir, &named) == 0 && named.st_ino == opened.st_ino) return fd;
    close(fd);
  }
  errno = EAGAIN;
  return -1;
}

/* Compiles in a fresh directory under parent and loads the result; if keep, it becomes the cache's entry first. NULL:
 * message says why, and how whether to try elsewhere. */
static void *build_in(CpuDevice *cpu, const char *parent, bool keep, const char *source, const CacheKey *key,
                      CompilerEnd *how, char *message, size_t nmessage) {
  char dir[PATH_ROOM - 64], so[PATH_ROOM], entry[PATH_ROOM];
  *how = COMPILER_FAILED;
  if (!cpu->swept[keep]) remove_stale(parent);
  cpu->swept[keep] = true;
  int lock = new_dir(parent, dir, sizeof dir);
  if (lock < 0) {
    note(message, nmessage, "no directory can be made in", parent);
    return NULL;
  }
  snprintf(so, sizeof so, "%s/kernels.so", dir);
  void *handle = NULL;
  if (!write_source(dir, source, key)) {
    note(message, nmessage, "the source cannot be written to", dir);
  } else if ((*how = compiler_run(&cpu->compiler, dir, message, nmessage)) == COMPILER_ENDED) {
    if (keep && (!cache_seal(so) || !cache_publish(so, parent, key, entry, sizeof entry))) {
      note(message, nmessage, "the compiled kernels cannot be kept in", parent);
    } else {
      handle = load(keep ? entry : so, key);
      const char *why = handle ? NULL : dlerror();
      if (!handle)
        snprintf(message, nmessage, "the compiled kernels cannot be loaded: %.300s", why ? why : "wrong key");
    }
  }
  remove_dir(dir);
  close(lock);
  return handle;
}

/* In the cache's directory if it can be used, else, or if that fails for a reason that may be the directory's, in a
 * temporary one. */
static void *build(CpuDevice *cpu, const char *cache, const char *source, const CacheKey *key) {
  char message[640] = "";
  void *handle = NULL;
  CompilerEnd how = COMPILER_FAILED;
  Runtime *r = cpu->runtime;
  r->compilations++;
  if (cache) handle = build_in(cpu, cache, true, source, key, &how, message, sizeof message);
  if (!handle && how != COMPILER_TOO_LONG && how != COMPILER_INTERRUPTED) {
    const char *tmp = getenv("TMPDIR");
    handle = build_in(cpu, tmp && *tmp ? tmp : "/tmp", false, source, key, &how, message, sizeof message);
  }
  if (handle) return handle;
  base_fail(ctx_base(r->ctx), POLY_ERROR_RUNTIME, "%s failed: %s", cpu->compiler.path, message);
  ctx_base(r->ctx)->passing = how == COMPILER_INTERRUPTED;
  return NULL;
}

static bool need_compiler(CpuDevice *cpu) {
  if (!cpu->looked) cpu->found = compiler_find(&cpu->compiler);
  cpu->looked = true;
  if (cpu->found) return true;
  Base *b = ctx_base(cpu->device.ctx);
  const char *cc = getenv("CC");
  if (cc && strspn(cc, " \t") < strlen(cc))
    return base_fail(
        b, POLY_ERROR_RUNTIME,
        "CC is \"%.200s\", which is not a program on PATH: set CC to a C compiler, unset it to use gcc, clang "
        "or cc, or use the device INTERP",
        cc);
  return base_fail(b, POLY_ERROR_RUNTIME,
                   "no C compiler was found: tried gcc, clang and cc on PATH; set CC, or use the device INTERP");
}

static void *find_or_build(CpuDevice *cpu, const char *source) {
  Runtime *r = cpu->runtime;
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
  host_args_free(p->device->ctx, &cp->args);
  mem_free(ctx_base(p->device->ctx), cp, sizeof *cp);
}

static Program *cpu_compile(Device *d, const char *source, int n, const Linear *const *kernel) {
  CpuDevice *cpu = (CpuDevice *)d;
  if (!need_compiler(cpu)) return NULL;
  CpuProgram *cp = mem_new(ctx_base(d->ctx), sizeof *cp);
  if (!cp) return NULL;
  cp->program = (Program){.device = d, .nkernel = n};
  if (host_args_new(d->ctx, &cp->args, n, kernel)) cp->handle = find_or_build(cpu, source);
  if (!cp->handle) {
    cpu_program_free(&cp->program);
    return NULL;
  }
  cp->kernel = dlsym(cp->handle, "poly_kernels");
  return &cp->program;
}

static bool cpu_launch(Program *p, int k, const MemoryRef *args, const int64_t *vars, int threads) {
  int64_t err[3] = {0};
  CpuProgram *cp = (CpuProgram *)p;
  cp->kernel[k](host_args(&cp->args, k, args), vars, threads, err);
  return !err[0] || host_index_error(p->device->ctx, err[1], err[2]);
}

static void cpu_close(Device *d) {
  CpuDevice *cpu = (CpuDevice *)d;
  cpu_matmul_close(cpu);
  mem_free(ctx_base(d->ctx), cpu, sizeof *cpu);
}

Device *cpu_open(Runtime *r) {
  CpuDevice *cpu = mem_new(ctx_base(r->ctx), sizeof *cpu);
  if (!cpu) return NULL;
  Device *d = &cpu->device;
  host_init(d, r, "CPU");
  cpu->runtime = r;
  d->needs_source = true;
  d->compile = cpu_compile;
  d->program_free = cpu_program_free;
  d->launch = cpu_launch;
  d->matmul = cpu_matmul;
  d->close = cpu_close;
  return d;
}
