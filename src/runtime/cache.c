/* cache.c: compiled programs on disk, one file each, named by a key that covers all that went into them.
 *
 * In: texts to make a key of; a finished file to keep. Out: the path of an entry that is known to be whole.
 *
 * An entry ends in a trailer with its size and checksum, because loading a cut-off shared object can kill the process.
 * Entries are written elsewhere and renamed into place, so a reader sees all of a file or none, however many processes
 * fill the cache at once. Code is only taken from a directory and files that belong to this user and that nobody else
 * may write to. */
#include "runtime/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Trailer {
  char magic[8];
  uint64_t size, sum[3];
} Trailer;
static const char magic[8] = {'p', 'o', 'l', 'y', 'e', 'n', 'd', '1'};
static const uint64_t seed[3] = {0x243f6a8885a308d3u, 0x13198a2e03707344u, 0xa4093822299f31d0u};

/* ---- where ---- */

static char *join(Base *b, const char *dir, const char *rest) {
  size_t n = strlen(dir) + strlen(rest) + 1;
  char *s = mem_new(b, n);
  if (s) snprintf(s, n, "%s%s", dir, rest);
  return s;
}

char *cache_default_dir(Base *b) {
  const char *dir = getenv("POLY_CACHE_DIR");
  if (dir && *dir) return join(b, dir, "");
  if ((dir = getenv("XDG_CACHE_HOME")) && *dir) return join(b, dir, "/polygrad");
  if ((dir = getenv("HOME")) && *dir) return join(b, dir, "/.cache/polygrad");
  return NULL;
}

/* Only this user may have written what is there. */
static bool ours(const struct stat *st) { return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH)); }

bool cache_usable(const char *dir) {
  struct stat st;
  char path[4096];
  size_t n = strlen(dir);
  if (n == 0 || n >= sizeof path) return false;
  if (stat(dir, &st) != 0) {
    for (size_t i = 1; i <= n; i++) /* each parent, then dir itself; those that exist refuse, which is right */
      if (i == n || dir[i] == '/') {
        memcpy(path, dir, i);
        path[i] = 0;
        if (mkdir(path, 0700) != 0 && errno != EEXIST && errno != EISDIR && errno != EACCES && errno != EROFS)
          return false;
      }
    if (stat(dir, &st) != 0) return false;
  }
  return S_ISDIR(st.st_mode) && ours(&st) && access(dir, W_OK | X_OK) == 0;
}

/* ---- keys ---- */

void cache_key(CacheKey *key, int n, const char *const *text) {
  uint64_t h[3] = {seed[0], seed[1], seed[2]};
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 3; k++) h[k] = hash_bytes(text[i], strlen(text[i]) + 1, h[k]);
  snprintf(key->text, sizeof key->text, "%016llx%016llx%016llx", (unsigned long long)h[0], (unsigned long long)h[1],
           (unsigned long long)h[2]);
}

static bool entry_path(const char *dir, const CacheKey *key, char *out, size_t nout) {
  int n = snprintf(out, nout, "%s/%s.so", dir, key->text);
  return n > 0 && (size_t)n < nout;
}

/* ---- entries ---- */

/* As much as there is, at most n. */
static ssize_t read_full(int fd, char *buf, size_t n) {
  size_t got = 0;
  while (got < n) {
    ssize_t k = read(fd, buf + got, n - got);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) return -1;
    if (k == 0) break;
    got += (size_t)k;
  }
  return (ssize_t)got;
}

/* Checksums of the first size bytes. */
static bool checksum(int fd, uint64_t size, uint64_t sum[3]) {
  char buf[16384];
  for (int k = 0; k < 3; k++) sum[k] = seed[k] ^ size;
  while (size) {
    size_t want = (size_t)MIN((uint64_t)sizeof buf, size);
    if (read_full(fd, buf, want) != (ssize_t)want) return false;
    for (int k = 0; k < 3; k++) sum[k] = hash_bytes(buf, want, sum[k]);
    size -= want;
  }
  return true;
}

bool cache_seal(const char *path) {
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat st;
  Trailer t;
  memset(&t, 0, sizeof t);
  memcpy(t.magic, magic, sizeof magic);
  bool ok = fstat(fd, &st) == 0 && st.st_size > 0;
  if (ok) t.size = (uint64_t)st.st_size;
  ok = ok && checksum(fd, t.size, t.sum) && write(fd, &t, sizeof t) == (ssize_t)sizeof t;
  ok = fchmod(fd, 0700) == 0 && ok;
  return close(fd) == 0 && ok;
}

bool cache_publish(const char *path, const char *dir, const CacheKey *key, char *out, size_t nout) {
  return entry_path(dir, key, out, nout) && rename(path, out) == 0;
}

static bool whole(int fd) {
  struct stat st;
  Trailer t;
  uint64_t sum[3];
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !ours(&st) || st.st_size <= (off_t)sizeof t) return false;
  uint64_t size = (uint64_t)st.st_size - sizeof t;
  if (!checksum(fd, size, sum) || read_full(fd, (char *)&t, sizeof t) != (ssize_t)sizeof t) return false;
  return !memcmp(t.magic, magic, sizeof magic) && t.size == size && !memcmp(t.sum, sum, sizeof sum);
}

bool cache_find(const char *dir, const CacheKey *key, char *out, size_t nout) {
  if (!entry_path(dir, key, out, nout)) return false;
  int fd = open(out, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  bool ok = whole(fd);
  close(fd);
  if (!ok) unlink(out);
  return ok;
}
