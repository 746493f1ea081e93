/* compiler.c: finds the system's C compiler and runs it in a child process, without a shell.
 *
 * In: the environment (CC may hold arguments, PATH), a directory with kernels.c. Out: kernels.so beside it, or what the
 * compiler said. A run is started, looked at from time to time, and ends by itself; there is no thread that waits for
 * it. */
#include "runtime/cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* Fused multiply-adds are written out in the source, and IEEE rules for NaN, infinities and signed zeros hold.
 * Lanes are written out in the source, so the compiler's own vectorisers have nothing to add, and gcc 12's give wrong
 * results for guarded loads and for comparisons that are the value of a lane. */
static const char *const flags[] = {
    "-O2",          "-std=gnu11", "-w",    "-fno-tree-vectorize", "-fno-tree-slp-vectorize",
#if defined(__aarch64__) || defined(__arm__)
    "-mcpu=native",
#else
    "-march=native",
#endif
    "-fopenmp",     "-shared",    "-fPIC", "-fno-math-errno",     "-fno-trapping-math",      "-ffp-contract=off",
    "-fwrapv"};

/* ---- finding ---- */

static bool runnable(const char *path, struct stat *st) {
  return stat(path, st) == 0 && S_ISREG(st->st_mode) && access(path, X_OK) == 0;
}

/* Full path of a program into c->path; a name with a slash is a path already. */
static bool resolve(Compiler *c, const char *name) {
  struct stat st;
  bool found = false;
  if (strchr(name, '/')) {
    found = snprintf(c->path, sizeof c->path, "%s", name) < (int)sizeof c->path && runnable(c->path, &st);
  } else {
    const char *dirs = getenv("PATH");
    for (const char *p = dirs ? dirs : "/usr/bin:/bin"; !found && *p;) {
      size_t n = strcspn(p, ":");
      int len = n ? snprintf(c->path, sizeof c->path, "%.*s/%s", (int)n, p, name) : (int)sizeof c->path;
      found = len < (int)sizeof c->path && runnable(c->path, &st);
      p += n + (p[n] == ':');
    }
  }
  if (found)
    snprintf(c->stamp, sizeof c->stamp, "%lld %lld.%09ld", (long long)st.st_size, (long long)st.st_mtim.tv_sec,
             st.st_mtim.tv_nsec);
  return found;
}

bool compiler_find(Compiler *c) {
  *c = (Compiler){0};
  const char *env = getenv("CC"), *name = NULL;
  if (env && strlen(env) < sizeof c->text) {
    strcpy(c->text, env);
    char *save = NULL;
    name = strtok_r(c->text, " \t", &save);
    for (char *w; name && c->nword < COMPILER_WORDS && (w = strtok_r(NULL, " \t", &save));) c->word[c->nword++] = w;
  }
  /* A compiler that was asked for is used or missed, never replaced by another. */
  if (name) return resolve(c, name);
  c->nword = 0;
  return resolve(c, "gcc") || resolve(c, "clang") || resolve(c, "cc");
}

bool cpu_has_compiler(void) {
  Compiler c;
  return compiler_find(&c);
}

/* ---- describing ---- */

/* The processor's model and features: -march=native means something else on another one. */
static void describe_processor(Str *out) {
  struct utsname u;
  if (uname(&u) == 0) str_add(out, u.machine);
  FILE *f = fopen("/proc/cpuinfo", "r");
  if (!f) return;
  static const char *const wanted[] = {"model name", "flags", "Features", "CPU part", "CPU implementer"};
  char line[8192];
  while (fgets(line, sizeof line, f) && line[0] != '\n')
    for (int i = 0; i < LEN(wanted); i++)
      if (!strncmp(line, wanted[i], strlen(wanted[i]))) str_add(out, line);
  fclose(f);
}

void compiler_describe(const Compiler *c, Str *out) {
  str_fmt(out, "%s\n%s %s\n", POLY_VERSION, c->path, c->stamp);
  for (int i = 0; i < c->nword; i++) str_fmt(out, "%s ", c->word[i]);
  for (int i = 0; i < LEN(flags); i++) str_fmt(out, "%s ", flags[i]);
  describe_processor(out);
}

/* ---- running ---- */

/* Ctrl-C while the compiler runs: the handler that the program has set is called as ever, and the compiler is ended, so
 * that the program gets to see what its handler has noted. Only the thread that runs the handler stops its compiler. */
static _Thread_local volatile sig_atomic_t interrupted;
static pthread_mutex_t handler_lock = PTHREAD_MUTEX_INITIALIZER;
static int handler_users;
static struct sigaction before;

static void on_interrupt(int number, siginfo_t *info, void *more) {
  interrupted = 1;
  if (before.sa_flags & SA_SIGINFO)
    before.sa_sigaction(number, info, more);
  else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    before.sa_handler(number);
}

/* A program that has no handler of its own is ended by the signal, as if the library were not there. */
bool compiler_watch(void) {
  interrupted = 0;
  pthread_mutex_lock(&handler_lock);
  struct sigaction now;
  bool own = handler_users > 0;
  if (!own && sigaction(SIGINT, NULL, &now) == 0 &&
      ((now.sa_flags & SA_SIGINFO) || (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN))) {
    before = now;
    struct sigaction mine = {.sa_sigaction = on_interrupt, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&mine.sa_mask);
    own = sigaction(SIGINT, &mine, NULL) == 0;
  }
  handler_users += own;
  pthread_mutex_unlock(&handler_lock);
  return own;
}

void compiler_unwatch(bool own) {
  pthread_mutex_lock(&handler_lock);
  if (own && --handler_users == 0) sigaction(SIGINT, &before, NULL);
  pthread_mutex_unlock(&handler_lock);
}

bool compiler_interrupted(void) { return interrupted; }

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* POLY_COMPILE_TIMEOUT in seconds, 0: none. */
static double time_limit(void) {
  const char *text = getenv("POLY_COMPILE_TIMEOUT");
  char *end;
  double limit = text && *text ? strtod(text, &end) : COMPILE_SECONDS;
  return limit > 0 ? limit : limit == 0 ? INFINITY : COMPILE_SECONDS;
}

/* The environment of this process, with the directory as the place for temporary files: what a killed compiler leaves
 * is removed with it. NULL: no memory. */
static char **child_environment(char *temporary) {
  size_t n = 0, k = 0;
  while (environ[n]) n++;
  char **env = malloc((n + 2) * sizeof *env);
  for (size_t i = 0; env && i < n; i++)
    if (strncmp(environ[i], "TMPDIR=", 7)) env[k++] = environ[i];
  if (env) {
    env[k++] = temporary;
    env[k] = NULL;
  }
  return env;
}

/* Starts the child in a process group of its own, with its output going to a pipe: a log on a full disk would be empty.
 * Its id, or -1 and errno. */
static pid_t spawn(const char *const *argv, char *const *env, int *output) {
  int fd[2];
  if (pipe2(fd, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
  posix_spawn_file_actions_t fa;
  posix_spawnattr_t attr;
  pid_t pid = -1;
  int err = posix_spawn_file_actions_init(&fa);
  fcntl(fd[1], F_SETFL, 0); /* the child's end waits for a reader */
  if (!err) {
    err = posix_spawnattr_init(&attr);
    if (!err) {
      err = posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
      if (!err) err = posix_spawn_file_actions_adddup2(&fa, fd[1], 1);
      if (!err) err = posix_spawn_file_actions_adddup2(&fa, fd[1], 2);
      if (!err) err = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
      if (!err) err = posix_spawn(&pid, argv[0], &fa, &attr, (char *const *)argv, env);
      posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&fa);
  }
  close(fd[1]);
  *output = fd[0];
  if (!err) return pid;
  close(fd[0]);
  *output = -1;
  errno = err;
  return -1;
}

static bool start(const Compiler *c, CompilerRun *r, bool openmp) {
  char src[PATH_ROOM], so[PATH_ROOM], temporary[PATH_ROOM];
  const char *argv[COMPILER_WORDS + LEN(flags) + 8];
  int n = 0;
  snprintf(src, sizeof src, "%s/kernels.c", r->dir);
  snprintf(so, sizeof so, "%s/kernels.so", r->dir);
  snprintf(temporary, sizeof temporary, "TMPDIR=%s", r->dir);
  argv[n++] = c->path;
  for (int i = 0; i < c->nword; i++) argv[n++] = c->word[i];
  for (int i = 0; i < LEN(flags); i++)
    if (openmp || strcmp(flags[i], "-fopenmp")) argv[n++] = flags[i];
  argv[n++] = "-o";
  argv[n++] = so;
  argv[n++] = src;
  argv[n++] = "-lm";
  argv[n] = NULL;
  r->got = 0;
  r->openmp = openmp;
  r->open = true;
  r->end = seconds() + time_limit();
  char **env = child_environment(temporary);
  r->pid = env ? spawn(argv, env, &r->output) : -1;
  if (r->pid < 0) snprintf(r->message, sizeof r->message, "it cannot be started: %s", strerror(errno));
  free(env);
  enum { LOW = 5 };
  if (r->pid > 0 && r->low) setpriority(PRIO_PGRP, (id_t)r->pid, LOW); /* for those that it starts, too */
  return r->pid > 0;
}

bool compiler_start(const Compiler *c, CompilerRun *r, const char *dir, bool low) {
  *r = (CompilerRun){.output = -1, .low = low};
  snprintf(r->dir, sizeof r->dir, "%s", dir);
  return start(c, r, true);
}

/* Adds what the pipe holds to the message; what does not fit is read and dropped. */
static void drain(CompilerRun *r) {
  for (ssize_t k = 1; r->open && k > 0;) {
    char rest[4096];
    size_t room = sizeof r->message - 1 - r->got;
    k = read(r->output, room ? r->message + r->got : rest, room ? room : sizeof rest);
    if (k > 0 && room) r->got += (size_t)k;
    if (k == 0 || (k < 0 && errno != EINTR && errno != EAGAIN)) r->open = false;
  }
  r->message[r->got] = 0;
}

/* The first lines of a text. */
static void keep_head(char *message) {
  char *p = message;
  for (int lines = 0; lines < 6 && (p = strchr(p, '\n')); lines++) p++;
  if (p) *p = 0;
  for (size_t n = strlen(message); n && message[n - 1] == '\n';) message[--n] = 0;
}

static void close_output(CompilerRun *r) {
  if (r->output >= 0) close(r->output);
  r->output = -1;
}

void compiler_stop(CompilerRun *r) {
  if (r->pid > 0) {
    int status;
    kill(-r->pid, SIGKILL);
    while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
  r->pid = 0;
  close_output(r);
}

void compiler_abandon(CompilerRun *r) {
  r->pid = 0;
  close_output(r);
}

static CompilerEnd ended(CompilerRun *r, int status) {
  char so[PATH_ROOM];
  struct stat st;
  snprintf(so, sizeof so, "%s/kernels.so", r->dir);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    if (stat(so, &st) == 0 && st.st_size > 0) return COMPILER_ENDED;
    snprintf(r->message, sizeof r->message, "it wrote nothing to %.200s", so);
    return COMPILER_FAILED;
  }
  keep_head(r->message);
  if (!r->message[0])
    snprintf(r->message, sizeof r->message,
             WIFSIGNALED(status) ? "it was ended by signal %d" : "it ended with status %d and no message",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  return COMPILER_FAILED;
}

/* Has it failed for want of the OpenMP library? A compiler without it can still build the kernels: the pragmas are then
 * comments. */
static bool lacks_openmp(const CompilerRun *r) {
  static const char *const signs[] = {"-lomp", "-lgomp", "libgomp", "fopenmp", "omp.h"};
  for (int i = 0; r->openmp && i < LEN(signs); i++)
    if (strstr(r->message, signs[i])) return true;
  return false;
}

CompilerEnd compiler_poll(const Compiler *c, CompilerRun *r) {
  int status = 0;
  drain(r);
  pid_t w = waitpid(r->pid, &status, WNOHANG);
  if (w == r->pid || (w < 0 && errno != EINTR)) {
    if (w != r->pid) status = 0; /* a host that ignores SIGCHLD: the output file tells */
    drain(r);
    r->pid = 0;
    close_output(r);
    CompilerEnd how = ended(r, status);
    if (how != COMPILER_FAILED || !lacks_openmp(r)) return how;
    return start(c, r, false) ? COMPILER_RUNNING : COMPILER_FAILED;
  }
  if (seconds() < r->end) return COMPILER_RUNNING;
  compiler_stop(r);
  snprintf(r->message, sizeof r->message, "it did not end within %g s (POLY_COMPILE_TIMEOUT)", time_limit());
  return COMPILER_TOO_LONG;
}
