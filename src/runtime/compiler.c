/* compiler.c: finds the system's C compiler and runs it in a child process, without a shell.
 *
 * In: the environment (CC may hold arguments, PATH), a directory with kernels.c. Out: kernels.so beside it, or what the
 * compiler said. */
#include "runtime/cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
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
  if (name && resolve(c, name)) return true;
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

/* Starts the child with its output going to log; its exit status, or -1. */
static int spawn(const char *const *argv, const char *log) {
  posix_spawn_file_actions_t fa;
  if (posix_spawn_file_actions_init(&fa) != 0) return -1;
  pid_t pid;
  bool ok = posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0) == 0 &&
            posix_spawn_file_actions_addopen(&fa, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600) == 0 &&
            posix_spawn_file_actions_adddup2(&fa, 1, 2) == 0 &&
            posix_spawn(&pid, argv[0], &fa, NULL, (char *const *)argv, environ) == 0;
  posix_spawn_file_actions_destroy(&fa);
  if (!ok) return -1;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return errno == ECHILD ? 0 : -1; /* a host that ignores SIGCHLD: the output tells */
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The first lines of a log, as one text. */
static void read_log(const char *log, char *message, size_t n) {
  size_t got = 0;
  FILE *f = fopen(log, "r");
  if (f) {
    got = fread(message, 1, n - 1, f);
    fclose(f);
  }
  message[got] = 0;
  char *p = message;
  for (int lines = 0; lines < 6 && (p = strchr(p, '\n')); lines++) p++;
  if (p) *p = 0;
  for (got = strlen(message); got && message[got - 1] == '\n';) message[--got] = 0;
}

static bool try_run(const Compiler *c, const char *dir, bool openmp, char *message, size_t nmessage) {
  char src[PATH_ROOM], so[PATH_ROOM], log[PATH_ROOM];
  const char *argv[COMPILER_WORDS + LEN(flags) + 8];
  int n = 0;
  snprintf(src, sizeof src, "%s/kernels.c", dir);
  snprintf(so, sizeof so, "%s/kernels.so", dir);
  snprintf(log, sizeof log, "%s/log", dir);
  argv[n++] = c->path;
  for (int i = 0; i < c->nword; i++) argv[n++] = c->word[i];
  for (int i = 0; i < LEN(flags); i++)
    if (openmp || strcmp(flags[i], "-fopenmp")) argv[n++] = flags[i];
  argv[n++] = "-o";
  argv[n++] = so;
  argv[n++] = src;
  argv[n++] = "-lm";
  argv[n] = NULL;
  struct stat st;
  bool ok = spawn(argv, log) == 0 && stat(so, &st) == 0 && st.st_size > 0;
  if (!ok) read_log(log, message, nmessage);
  unlink(log);
  return ok;
}

bool compiler_run(const Compiler *c, const char *dir, char *message, size_t nmessage) {
  if (try_run(c, dir, true, message, nmessage)) return true;
  /* A compiler without its OpenMP library can still build the kernels: the pragmas are then comments. */
  static const char *const signs[] = {"-lomp", "-lgomp", "libgomp", "fopenmp", "omp.h"};
  for (int i = 0; i < LEN(signs); i++)
    if (strstr(message, signs[i])) return try_run(c, dir, false, message, nmessage);
  return false;
}
