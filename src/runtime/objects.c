/* objects.c: compiled objects of the CPU device. In: source texts. Out: tables of kernels.
 *
 * An object is found by a key of its source and of all else that it depends on: among those that are loaded, then in
 * the cache on disk; if it is in neither, the compiler makes it, in a child process. Those that a run waits for are
 * compiled at once, several side by side. The others wait for their turn and are compiled with low priority while the
 * program goes on; there is no thread for that: whenever the program runs something, it looks whether a child has
 * ended.
 *
 * A child compiles in a directory that is locked while its process lives. What a killed process has left is removed by
 * the next one that compiles; what an ending process still has running is ended, and its directories are removed. A
 * forked process leaves the children of its parent alone, and compiles for itself. */
#include "runtime/cpu.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum ObjectState { OBJECT_NEW, OBJECT_WAITING, OBJECT_RUNNING, OBJECT_LOADED, OBJECT_FAILED } ObjectState;

struct Object {
  Object *next; /* of the device */
  int refs;
  ObjectState state;
  CacheKey key;
  char *source; /* NULL once it is loaded */
  void *handle;
  const KernelFn *kernel;
  /* while it is compiled */
  CompilerRun run;
  int lock;     /* of its directory */
  double worth; /* what it would have saved over what it costs, as far as is known: the largest is compiled first */
  pid_t owner;
  Object *next_running; /* of the process */
  char message[700];
};

/* ---- directories to compile in ---- */

static void remove_dir(const char *dir) {
  DIR *d = opendir(dir);
  for (const struct dirent *e; d && (e = readdir(d));)
    if (e->d_name[0] != '.') unlinkat(dirfd(d), e->d_name, 0);
  if (d) closedir(d);
  rmdir(dir);
}

/* One that is not locked was left by a process that was killed. */
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
    /* where locks are not to be had, nobody gets one to remove it either */
    bool taken = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!taken && fstat(fd, &opened) == 0 && stat(dir, &named) == 0 && named.st_ino == opened.st_ino) return fd;
    close(fd);
  }
  errno = EAGAIN;
  return -1;
}

static bool write_source(const Object *o, const char *dir) {
  char path[PATH_ROOM];
  snprintf(path, sizeof path, "%s/kernels.c", dir);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
  if (!f) {
    if (fd >= 0) close(fd);
    return false;
  }
  bool ok = fputs(o->source, f) >= 0 && fprintf(f, "\nconst char poly_cache_key[] = \"%s\";\n", o->key.text) > 0;
  int err = ok ? 0 : errno;
  bool closed = fclose(f) == 0;
  if (err) errno = err;
  return closed && ok;
}

/* ---- those that are being compiled in this process ---- */

static pthread_mutex_t running_lock = PTHREAD_MUTEX_INITIALIZER;
static Object *running;

static void list_running(Object *o) {
  pthread_mutex_lock(&running_lock);
  o->next_running = running;
  running = o;
  pthread_mutex_unlock(&running_lock);
}

static void unlist_running(Object *o) {
  pthread_mutex_lock(&running_lock);
  for (Object **at = &running; *at; at = &(*at)->next_running)
    if (*at == o) {
      *at = o->next_running;
      break;
    }
  pthread_mutex_unlock(&running_lock);
}

/* The process ends, or the library is unloaded: nobody will wait for these. */
__attribute__((destructor)) static void end_running(void) {
  if (pthread_mutex_trylock(&running_lock) != 0) return;
  for (Object *o = running; o; o = o->next_running) {
    if (o->owner != getpid()) continue;
    compiler_stop(&o->run);
    remove_dir(o->run.dir);
  }
  running = NULL;
  pthread_mutex_unlock(&running_lock);
}

/* ---- loading ---- */

/* A name for a file that dlopen has not seen: it takes equal names for one object, and numbers of files come again. */
static void file_name(int fd, char *path, size_t n) {
  static _Atomic unsigned count;
  size_t at = (size_t)snprintf(path, n, "/proc/self/fd/");
  for (unsigned k = ++count; k; k /= 2) at += (size_t)snprintf(path + at, n - at, k % 2 ? ".//" : "./");
  snprintf(path + at, n - at, "%d", fd);
}

static void *open_bytes(const char *bytes, size_t n) {
  char path[160];
  int fd = memfd_create("polygrad-kernels", MFD_CLOEXEC);
  if (fd < 0) return NULL;
  size_t done = 0;
  for (ssize_t k; done < n && (k = write(fd, bytes + done, n - done)) > 0;) done += (size_t)k;
  file_name(fd, path, sizeof path);
  void *handle = done == n ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  close(fd);
  return handle;
}

/* Takes a shared object that exports the key it was made for. */
static bool take_handle(CpuDevice *cpu, Object *o, void *handle) {
  if (!handle) return false;
  const char *have = dlsym(handle, "poly_cache_key");
  const KernelFn *kernel = dlsym(handle, "poly_kernels");
  if (!have || strncmp(have, o->key.text, CACHE_KEY) || !kernel) {
    dlclose(handle);
    return false;
  }
  o->handle = handle;
  o->kernel = kernel;
  o->state = OBJECT_LOADED;
  mem_strfree(ctx_base(cpu->device.ctx), o->source);
  o->source = NULL;
  return true;
}

static const char *cache_of(const CpuDevice *cpu) {
  const Runtime *r = cpu->runtime;
  return r->cache_dir && cache_usable(r->cache_dir) ? r->cache_dir : NULL;
}

static void load_cached(CpuDevice *cpu, Object *o) {
  size_t n;
  Base *b = ctx_base(cpu->device.ctx);
  const char *dir = cache_of(cpu);
  char *bytes = dir ? cache_get(b, dir, &o->key, &n) : NULL;
  if (!bytes) return;
  take_handle(cpu, o, open_bytes(bytes, n));
  mem_free(b, bytes, n);
}

static char *read_file(Base *b, const char *path, size_t *n) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  char *bytes = fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0 ? mem_new(b, *n = (size_t)st.st_size) : NULL;
  size_t done = 0;
  for (ssize_t k; bytes && done < *n && (k = read(fd, bytes + done, *n - done)) > 0;) done += (size_t)k;
  if (bytes && done < *n) {
    mem_free(b, bytes, *n);
    bytes = NULL;
  }
  if (fd >= 0) close(fd);
  return bytes;
}

/* Loads what the compiler made, and keeps it in the cache. What cannot be kept is used all the same. */
static bool load_made(CpuDevice *cpu, Object *o) {
  char so[PATH_ROOM];
  size_t n = 0;
  Base *b = ctx_base(cpu->device.ctx);
  const char *dir = cache_of(cpu);
  snprintf(so, sizeof so, "%s/kernels.so", o->run.dir);
  char *bytes = read_file(b, so, &n);
  if (bytes && dir) cache_put(dir, &o->key, bytes, n, cpu->runtime->cache_limit);
  bool ok = bytes && take_handle(cpu, o, open_bytes(bytes, n));
  mem_free(b, bytes, n);
  if (ok || take_handle(cpu, o, dlopen(so, RTLD_NOW | RTLD_LOCAL))) return true;
  const char *why = dlerror();
  snprintf(o->message, sizeof o->message, "the compiled kernels cannot be loaded: %.300s", why ? why : "wrong key");
  return false;
}

/* ---- compiling ---- */

/* Says why a step failed, with the system's reason. */
static bool note(Object *o, const char *what, const char *path) {
  int err = errno;
  snprintf(o->message, sizeof o->message, "%s %.200s: %s", what, path, strerror(err));
  return false;
}

static void end_run(CpuDevice *cpu, Object *o, ObjectState state) {
  unlist_running(o);
  remove_dir(o->run.dir);
  close(o->lock);
  cpu->nrunning--;
  o->state = state;
}

static bool start_in(CpuDevice *cpu, Object *o, const char *parent, bool cache, bool low) {
  char dir[PATH_ROOM - 64];
  if (!cpu->swept[cache]) remove_stale(parent);
  if (!cpu->swept[false] && cache_of(cpu)) cache_tidy(cache_of(cpu));
  cpu->swept[cache] = true;
  if ((o->lock = new_dir(parent, dir, sizeof dir)) < 0) return note(o, "no directory can be made in", parent);
  bool written = write_source(o, dir);
  if (!written) note(o, "the source cannot be written to", dir);
  if (written && compiler_start(&cpu->compiler, &o->run, dir, low)) return true;
  if (written) snprintf(o->message, sizeof o->message, "%.600s", o->run.message);
  remove_dir(dir);
  close(o->lock);
  return false;
}

/* In the directory for temporary files; if that cannot be used, in the cache's. */
static bool start(CpuDevice *cpu, Object *o, bool low) {
  const char *tmp = getenv("TMPDIR"), *cache = cache_of(cpu);
  bool ok = start_in(cpu, o, tmp && *tmp ? tmp : "/tmp", false, low);
  if (!ok && cache) ok = start_in(cpu, o, cache, true, low);
  o->state = ok ? OBJECT_RUNNING : OBJECT_FAILED;
  if (!ok) return false;
  o->owner = getpid();
  cpu->nrunning++;
  cpu->runtime->compilations++;
  list_running(o);
  return true;
}

/* After a fork: children and directories are the parent's. */
static void forget_run(CpuDevice *cpu, Object *o) {
  compiler_abandon(&o->run);
  close(o->lock);
  unlist_running(o);
  cpu->nrunning--;
  o->state = OBJECT_NEW;
}

static void look_at(CpuDevice *cpu, Object *o) {
  if (o->owner != getpid()) {
    forget_run(cpu, o);
    return;
  }
  CompilerEnd how = compiler_poll(&cpu->compiler, &o->run);
  if (how == COMPILER_RUNNING) return;
  bool ok = how == COMPILER_ENDED && load_made(cpu, o);
  if (how != COMPILER_ENDED) snprintf(o->message, sizeof o->message, "%.600s", o->run.message);
  end_run(cpu, o, ok ? OBJECT_LOADED : OBJECT_FAILED);
}

/* How many children may run: while the program waits for them, one a processor; else half of these. */
static int most_running(bool waiting) {
  int n = (int)sysconf(_SC_NPROCESSORS_ONLN);
  return MAX(waiting ? n : n / 2, 1);
}

static void start_waiting(CpuDevice *cpu) {
  while (cpu->nrunning < most_running(false)) {
    Object *best = NULL;
    for (Object *o = cpu->objects; o; o = o->next)
      if (o->state == OBJECT_WAITING && (!best || o->worth > best->worth)) best = o;
    if (!best) break;
    start(cpu, best, true);
  }
}

void objects_poll(CpuDevice *cpu) {
  bool waiting = false;
  for (Object *o = cpu->objects; o; o = o->next) {
    if (o->state == OBJECT_RUNNING) look_at(cpu, o);
    waiting |= o->state == OBJECT_WAITING;
  }
  if (waiting) start_waiting(cpu);
  cpu->busy = waiting || cpu->nrunning;
}

void object_start(CpuDevice *cpu, Object *o, double worth) {
  o->worth = MAX(o->worth, worth);
  if (o->state != OBJECT_NEW) return;
  o->state = OBJECT_WAITING;
  cpu->busy = true;
  start_waiting(cpu);
}

/* Starts those of n that are not compiled and not being compiled. How many are left; -1: one failed. */
static int advance(CpuDevice *cpu, int n, Object *const *o) {
  int left = 0, busy = 0, most = most_running(true);
  for (int i = 0; i < n; i++) {
    if (o[i]->state == OBJECT_RUNNING) look_at(cpu, o[i]);
    busy += o[i]->state == OBJECT_RUNNING;
  }
  for (int i = 0; i < n; i++) {
    bool idle = o[i]->state == OBJECT_NEW || o[i]->state == OBJECT_WAITING;
    if (idle && busy < most) busy += start(cpu, o[i], false);
    if (o[i]->state == OBJECT_FAILED) return -1;
    left += o[i]->state != OBJECT_LOADED;
  }
  return left;
}

/* Until a child of these writes or ends; a short time, since one may close its output before it ends. */
static void wait_a_while(int n, Object *const *o) {
  enum { TICK = 100, MOST = 64 };
  struct pollfd p[MOST];
  int k = 0, ms = TICK;
  for (int i = 0; i < n && k < MOST; i++) {
    if (o[i]->state != OBJECT_RUNNING) continue;
    if (o[i]->run.open)
      p[k++] = (struct pollfd){.fd = o[i]->run.output, .events = POLLIN};
    else
      ms = 1;
  }
  poll(p, (nfds_t)k, ms);
}

bool objects_need(CpuDevice *cpu, int n, Object *const *o) {
  Base *b = ctx_base(cpu->device.ctx);
  int left;
  for (int i = 0; i < n; i++)
    if (o[i]->state == OBJECT_FAILED) o[i]->state = OBJECT_NEW; /* whoever asks again gets another try */
  bool own = compiler_watch();
  while ((left = advance(cpu, n, o)) > 0 && !compiler_interrupted()) wait_a_while(n, o);
  bool stopped = left > 0;
  compiler_unwatch(own);
  if (left == 0) return true;
  for (int i = 0; i < n; i++) {
    if (o[i]->state == OBJECT_FAILED)
      base_fail(b, POLY_ERROR_RUNTIME, "%s failed: %s", cpu->compiler.path, o[i]->message);
    if (o[i]->state != OBJECT_RUNNING) continue;
    compiler_stop(&o[i]->run);
    end_run(cpu, o[i], OBJECT_NEW);
  }
  if (stopped) base_fail(b, POLY_ERROR_RUNTIME, "%s failed: it was interrupted", cpu->compiler.path);
  b->passing = stopped;
  return false;
}

/* ---- objects ---- */

/* What compiler and machine are is asked for once. */
static bool key_of(CpuDevice *cpu, const char *source, CacheKey *key) {
  if (!cpu->about.text[0]) {
    Str about = {.b = ctx_base(cpu->device.ctx)};
    compiler_describe(&cpu->compiler, &about);
    if (!about.failed) cache_key(&cpu->about, 1, (const char *const[]){about.at});
    str_free(&about);
  }
  cache_key(key, 2, (const char *const[]){source, cpu->about.text});
  return cpu->about.text[0];
}

Object *object_get(CpuDevice *cpu, const char *source) {
  Base *b = ctx_base(cpu->device.ctx);
  CacheKey key;
  if (!key_of(cpu, source, &key)) return NULL;
  for (Object *o = cpu->objects; o; o = o->next)
    if (!strcmp(o->key.text, key.text)) {
      o->refs++;
      return o;
    }
  Object *o = mem_new(b, sizeof *o);
  if (!o) return NULL;
  o->refs = 1;
  o->key = key;
  if (!(o->source = mem_strdup(b, source))) {
    mem_free(b, o, sizeof *o);
    return NULL;
  }
  o->next = cpu->objects;
  cpu->objects = o;
  load_cached(cpu, o);
  return o;
}

static void free_object(CpuDevice *cpu, Object *o) {
  if (o->state == OBJECT_RUNNING && o->owner == getpid()) {
    compiler_stop(&o->run);
    end_run(cpu, o, OBJECT_NEW);
  } else if (o->state == OBJECT_RUNNING) {
    forget_run(cpu, o);
  }
  if (o->handle) dlclose(o->handle);
  mem_strfree(ctx_base(cpu->device.ctx), o->source);
  mem_free(ctx_base(cpu->device.ctx), o, sizeof *o);
}

void object_release(CpuDevice *cpu, Object *o) {
  if (!o || --o->refs) return;
  Object **at = &cpu->objects;
  while (*at != o) at = &(*at)->next;
  *at = o->next;
  free_object(cpu, o);
}

const KernelFn *object_kernels(const Object *o) { return o->kernel; }
const char *object_failure(const Object *o) { return o->state == OBJECT_FAILED ? o->message : NULL; }

void objects_close(CpuDevice *cpu) {
  while (cpu->objects) {
    Object *o = cpu->objects;
    cpu->objects = o->next;
    free_object(cpu, o);
  }
}
