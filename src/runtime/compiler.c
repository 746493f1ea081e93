/* compiler.c: finds the system's C compiler and runs it in a child process, without a shell.
 *
 * In: the environment (CC may hold arguments, PATH), a directory with kernels.c. Out: kernels.so beside it, or what the
 * compiler said. */
#include "runtime/cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
static bool watch_interrupts(void) {
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

static void unwatch_interrupts(bool own) {
  pthread_mutex_lock(&handler_lock);
  if (own && --handler_users == 0) sigaction(SIGINT, &before, NULL);
  pthread_mutex_unlock(&handler_lock);
}

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

/* Starts the child in a process group of its own, with its output going to a pipe: a log on a full disk would be empty.
 * Its id, or -1 and errno. */
static pid_t spawn(const char *const *argv, int *output) {
  int fd[2];
  if (pipe2(fd, O_CLOEXEC) != 0) return -1;
  posix_spawn_file_actions_t fa;
  posix_spawnattr_t attr;
  pid_t pid = -1;
  int err = posix_spawn_file_actions_init(&fa);
  if (!err) {
    err = posix_spawnattr_init(&attr);
    if (!err) {
      err = posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
      if (!err) err = posix_spawn_file_actions_adddup2(&fa, fd[1], 1);
      if (!err) err = posix_spawn_file_actions_adddup2(&fa, fd[1], 2);
      if (!err) err = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
      if (!err) err = posix_spawn(&pid, argv[0], &fa, &attr, (char *const *)argv, environ);
      posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&fa);
  }
  close(fd[1]);
  *output = fd[0];
  if (!err) return pid;
  close(fd[0]);
  errno = err;
  return -1;
}

/* Adds what the pipe holds to message; what does not fit is read and dropped. False: the other end is closed. */
static bool drain(int fd, char *message, size_t n, size_t *got) {
  char rest[4096];
  bool room = *got + 1 < n;
  ssize_t k = read(fd, room ? message + *got : rest, room ? n - 1 - *got : sizeof rest);
  if (k > 0 && room) *got += (size_t)k;
  return k > 0 || (k < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Waits until the child has ended, its time is over, or this thread is interrupted; then it is ended with all that it
 * has started. Its output is in message. */
static CompilerEnd wait_for(pid_t pid, int output, int *status, char *message, size_t n) {
  enum { TICK = 100 }; /* ms: a child that has closed its output early is noticed so late at most */
  double end = seconds() + time_limit();
  CompilerEnd how = COMPILER_ENDED;
  size_t got = 0;
  bool open = true, known = true;
  for (bool gone = false; !gone;) {
    struct pollfd p = {.fd = output, .events = POLLIN};
    int ready = poll(&p, open ? 1 : 0, open ? TICK : 1);
    if (ready > 0) open = drain(output, message, n, &got);
    if (ready > 0 && open) continue;
    pid_t w = waitpid(pid, status, WNOHANG);
    gone = w == pid || (w < 0 && errno != EINTR);
    known = !gone || w == pid;
    if (gone || (!interrupted && seconds() < end)) continue;
    how = interrupted ? COMPILER_INTERRUPTED : COMPILER_TOO_LONG;
    kill(-pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR) {
    }
    gone = true;
  }
  message[got] = 0;
  if (!known) *status = 0; /* a host that ignores SIGCHLD: the output file tells */
  return how;
}

/* The first lines of a text. */
static void keep_head(char *message) {
  char *p = message;
  for (int lines = 0; lines < 6 && (p = strchr(p, '\n')); lines++) p++;
  if (p) *p = 0;
  for (size_t n = strlen(message); n && message[n - 1] == '\n';) message[--n] = 0;
}

static CompilerEnd run_child(const char *const *argv, const char *so, char *message, size_t n) {
  int output, status = 0;
  bool own = watch_interrupts();
  pid_t pid = spawn(argv, &output);
  if (pid < 0) {
    snprintf(message, n, "it cannot be started: %s", strerror(errno));
    unwatch_interrupts(own);
    return COMPILER_FAILED;
  }
  CompilerEnd how = wait_for(pid, output, &status, message, n);
  unwatch_interrupts(own);
  close(output);
  struct stat st;
  if (how == COMPILER_INTERRUPTED) {
    snprintf(message, n, "it was interrupted");
  } else if (how == COMPILER_TOO_LONG) {
    snprintf(message, n, "it did not end within %g s (POLY_COMPILE_TIMEOUT)", time_limit());
  } else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    if (stat(so, &st) == 0 && st.st_size > 0) return COMPILER_ENDED;
    snprintf(message, n, "it wrote nothing to %.200s", so);
    how = COMPILER_FAILED;
  } else {
    how = COMPILER_FAILED;
    keep_head(message);
    if (message[0]) return how;
    snprintf(message, n, WIFSIGNALED(status) ? "it was ended by signal %d" : "it ended with status %d and no message",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  }
  return how;
}

static CompilerEnd try_run(const Compiler *c, const char *dir, bool openmp, char *message, size_t nmessage) {
  char src[PATH_ROOM], so[PATH_ROOM];
  const char *argv[COMPILER_WORDS + LEN(flags) + 8];
  int n = 0;
  snprintf(src, sizeof src, "%s/kernels.c", dir);
  snprintf(so, sizeof so, "%s/kernels.so", dir);
  argv[n++] = c->path;
  for (int i = 0; i < c->nword; i++) argv[n++] = c->word[i];
  for (int i = 0; i < LEN(flags); i++)
    if (openmp || strcmp(flags[i], "-fopenmp")) argv[n++] = flags[i];
  argv[n++] = "-o";
  argv[n++] = so;
  argv[n++] = src;
  argv[n++] = "-lm";
  argv[n] = NULL;
  return run_child(argv, so, message, nmessage);
}

CompilerEnd compiler_run(const Compiler *c, const char *dir, char *message, size_t nmessage) {
  CompilerEnd how = try_run(c, dir, true, message, nmessage);
  if (how != COMPILER_FAILED) return how;
  /* A compiler without its OpenMP library can still build the kernels: the pragmas are then comments. */
  static const char *const signs[] = {"-lomp", "-lgomp", "libgomp", "fopenmp", "omp.h"};
  for (int i = 0; i < LEN(signs); i++)
    if (strstr(message, signs[i])) return try_run(c, dir, false, message, nmessage);
  return how;
}
