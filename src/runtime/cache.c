/* cache.c: compiled programs on disk. In: texts to make a key of, bytes to keep. Out: the bytes of a key.
 *
 * A directory has a fixed number of pack files, and a key belongs to one of them. A pack is a list of entries, each a
 * header and its bytes; new ones are appended. Whoever changes a pack holds a lock on it; readers hold none: headers
 * and bytes have checksums, so what was cut off by a full disk or a killed process, or is just being written, is not
 * taken for an entry, and the next one that appends cuts it off. A damaged entry is marked and made again.
 *
 * When all packs together pass the limit, those entries that were not used for longest are left out: a pack is written
 * anew beside the old one and renamed. Code is only taken from a directory and files that belong to this user and that
 * nobody else may write to. */
#include "runtime/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PACKS = 64 };
static const int64_t used_again = INT64_C(3600000000); /* microseconds after which a later use is noted */

typedef struct Header {
  char magic[8];
  char key[CACHE_KEY];
  uint64_t size, sum[3]; /* of the bytes */
  uint64_t head;         /* checksum of all before */
  int64_t used;          /* when, in microseconds; 0: damaged */
  char room[8];
} Header;
_Static_assert(sizeof(Header) == 112, "the format of the packs");

typedef struct Pack {
  int fd;
  int64_t end; /* of the last whole entry */
  char path[4096];
} Pack;

static const char magic[8] = {'p', 'o', 'l', 'y', 'p', 'a', 'k', '1'};
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

/* ---- entries ---- */

static int64_t microseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static bool read_at(int fd, void *buf, size_t n, int64_t at) {
  size_t done = 0;
  while (done < n) {
    ssize_t k = pread(fd, (char *)buf + done, n - done, at + (int64_t)done);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return false;
    done += (size_t)k;
  }
  return true;
}

static bool write_at(int fd, const void *buf, size_t n, int64_t at) {
  size_t done = 0;
  while (done < n) {
    ssize_t k = pwrite(fd, (const char *)buf + done, n - done, at + (int64_t)done);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return false;
    done += (size_t)k;
  }
  return true;
}

static uint64_t head_sum(const Header *h) { return hash_bytes(h, offsetof(Header, head), seed[0]); }

static void byte_sums(const void *bytes, size_t n, uint64_t sum[3]) {
  for (int k = 0; k < 3; k++) sum[k] = hash_bytes(bytes, n, seed[k] ^ n);
}

/* The header at a place of the file. False: there is none, or not all of its bytes. */
static bool header_at(int fd, int64_t at, int64_t file_size, Header *h) {
  return at + (int64_t)sizeof *h <= file_size && read_at(fd, h, sizeof *h, at) &&
         !memcmp(h->magic, magic, sizeof magic) && h->head == head_sum(h) &&
         h->size <= (uint64_t)(file_size - at - (int64_t)sizeof *h);
}

static int64_t after(int64_t at, const Header *h) { return at + (int64_t)sizeof *h + (int64_t)h->size; }

static int64_t file_size(int fd) {
  struct stat st;
  return fstat(fd, &st) == 0 ? st.st_size : 0;
}

/* The place of the last good entry of a key, -1: none; and where entries end. */
static int64_t find(Pack *p, const CacheKey *key, Header *out) {
  int64_t size = file_size(p->fd), found = -1;
  Header h;
  for (p->end = 0; header_at(p->fd, p->end, size, &h); p->end = after(p->end, &h))
    if (h.used && !memcmp(h.key, key->text, CACHE_KEY)) {
      found = p->end;
      *out = h;
    }
  return found;
}

/* ---- packs ---- */

static bool pack_path(const char *dir, int k, const char *suffix, char *out, size_t n) {
  int len = snprintf(out, n, "%s/kernels-%02x.%s", dir, k, suffix);
  return len > 0 && (size_t)len < n;
}

static int pack_of(const CacheKey *key) {
  char head[3] = {key->text[0], key->text[1], 0};
  return (int)strtol(head, NULL, 16) % PACKS;
}

static bool pack_open(Pack *p, const char *dir, int k, int flags) {
  struct stat st;
  if (!pack_path(dir, k, "pack", p->path, sizeof p->path)) return false;
  p->fd = open(p->path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (p->fd < 0) return false;
  if (fstat(p->fd, &st) == 0 && S_ISREG(st.st_mode) && ours(&st)) return true;
  close(p->fd);
  return false;
}

/* Locked, and still the file of that name: it may have been written anew before the lock was had. */
static bool pack_lock(Pack *p, const char *dir, int k) {
  for (int tries = 0; tries < 16; tries++) {
    struct stat mine, named;
    if (!pack_open(p, dir, k, O_RDWR | O_CREAT)) return false;
    while (flock(p->fd, LOCK_EX) != 0 && errno == EINTR) {
    }
    if (fstat(p->fd, &mine) == 0 && stat(p->path, &named) == 0 && mine.st_ino == named.st_ino) return true;
    close(p->fd);
  }
  return false;
}

char *cache_get(Base *b, const char *dir, const CacheKey *key, size_t *n) {
  Pack p;
  Header h;
  if (!pack_open(&p, dir, pack_of(key), O_RDWR)) return NULL;
  int64_t at = find(&p, key, &h);
  char *bytes = NULL;
  if (at >= 0 && (bytes = mem_new(b, *n = (size_t)h.size))) {
    uint64_t sum[3] = {0};
    int64_t now = microseconds(), used = now;
    if (read_at(p.fd, bytes, *n, at + (int64_t)sizeof h)) byte_sums(bytes, *n, sum);
    if (memcmp(sum, h.sum, sizeof sum)) {
      used = 0;
      mem_free(b, bytes, *n);
      bytes = NULL;
    }
    if (!used || now - h.used > used_again) write_at(p.fd, &used, sizeof used, at + (int64_t)offsetof(Header, used));
  }
  close(p.fd);
  return bytes;
}

static bool append(Pack *p, const CacheKey *key, const void *bytes, size_t n) {
  Header h = {.size = n, .used = microseconds()};
  memcpy(h.magic, magic, sizeof magic);
  memcpy(h.key, key->text, CACHE_KEY);
  byte_sums(bytes, n, h.sum);
  h.head = head_sum(&h);
  bool ok = ftruncate(p->fd, p->end) == 0 && write_at(p->fd, bytes, n, p->end + (int64_t)sizeof h) &&
            write_at(p->fd, &h, sizeof h, p->end);
  if (!ok && ftruncate(p->fd, p->end) != 0) return false; /* the next one cuts it off */
  return ok;
}

static int64_t total_bytes(const char *dir) {
  int64_t sum = 0;
  for (int k = 0; k < PACKS; k++) {
    struct stat st;
    char path[4096];
    if (pack_path(dir, k, "pack", path, sizeof path) && stat(path, &st) == 0) sum += st.st_size;
  }
  return sum;
}

bool cache_put(const char *dir, const CacheKey *key, const void *bytes, size_t n, int64_t limit) {
  Pack p;
  Header h;
  if ((int64_t)(n + sizeof h) > limit || !pack_lock(&p, dir, pack_of(key))) return false;
  bool ok = find(&p, key, &h) >= 0 || append(&p, key, bytes, n);
  close(p.fd);
  if (ok && total_bytes(dir) > limit) cache_trim(dir, limit / 4 * 3);
  return ok;
}

/* ---- the limit ---- */

typedef struct Use {
  int64_t used, bytes;
} Use;

static int by_use(const void *a, const void *b) {
  int64_t x = ((const Use *)a)->used, y = ((const Use *)b)->used;
  return (x < y) - (x > y);
}

/* Every good entry of the directory, most recently used first; how many. NULL: none, or no memory. */
static Use *list_uses(const char *dir, size_t *n) {
  Use *use = NULL;
  size_t room = 0;
  *n = 0;
  for (int k = 0; k < PACKS; k++) {
    Pack p;
    Header h;
    if (!pack_open(&p, dir, k, O_RDONLY)) continue;
    int64_t size = file_size(p.fd);
    for (int64_t at = 0; header_at(p.fd, at, size, &h); at = after(at, &h)) {
      if (!h.used) continue;
      if (*n == room) {
        Use *more = realloc(use, (room = 2 * room + 64) * sizeof *use);
        if (!more) break;
        use = more;
      }
      use[(*n)++] = (Use){h.used, after(0, &h)};
    }
    close(p.fd);
  }
  if (use) qsort(use, *n, sizeof *use, by_use);
  return use;
}

/* Copies the entries that were used at `since` or later; of those used just then, as many bytes as *left. */
static bool copy_entries(const Pack *from, int to, int64_t since, int64_t *left) {
  int64_t size = file_size(from->fd), end = 0;
  Header h;
  for (int64_t at = 0; header_at(from->fd, at, size, &h); at = after(at, &h)) {
    size_t n = (size_t)after(0, &h);
    bool keep = h.used && (h.used > since || (h.used == since && (*left -= (int64_t)n) >= 0));
    char *bytes = keep ? malloc(n) : NULL;
    if (!bytes) continue;
    bool ok = read_at(from->fd, bytes, n, at) && write_at(to, bytes, n, end);
    free(bytes);
    if (!ok) return false;
    end += (int64_t)n;
  }
  return true;
}

static void rewrite(const char *dir, int k, int64_t since, int64_t *left) {
  Pack p;
  struct stat st;
  char path[4096], fresh[4096];
  if (!pack_path(dir, k, "pack", path, sizeof path) || stat(path, &st) != 0 || !pack_lock(&p, dir, k)) return;
  if (pack_path(dir, k, "new", fresh, sizeof fresh)) {
    unlink(fresh); /* of a process that was killed: the lock is ours */
    int fd = open(fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool ok = fd >= 0 && copy_entries(&p, fd, since, left);
    if (fd >= 0 && close(fd) != 0) ok = false;
    if (!ok || rename(fresh, path) != 0) unlink(fresh);
  }
  close(p.fd);
}

void cache_trim(const char *dir, int64_t bytes) {
  size_t n, keep = 0;
  Use *use = list_uses(dir, &n);
  int64_t sum = 0, left = 0;
  while (use && keep < n && sum + use[keep].bytes <= bytes) sum += use[keep++].bytes;
  int64_t since = use && keep < n ? use[keep].used : INT64_MAX;
  if (use && keep == n) since = n ? use[n - 1].used : INT64_MAX, left = INT64_MAX / 2;
  for (size_t i = 0; use && i < keep && keep < n; i++)
    if (use[i].used == since) left += use[i].bytes;
  free(use);
  for (int k = 0; k < PACKS; k++) rewrite(dir, k, since, &left);
}

/* Files of one kernel each, which earlier versions wrote. */
static void remove_single(const char *dir) {
  DIR *d = opendir(dir);
  for (const struct dirent *e; d && (e = readdir(d));)
    if (strspn(e->d_name, "0123456789abcdef") == CACHE_KEY && !strcmp(e->d_name + CACHE_KEY, ".so"))
      unlinkat(dirfd(d), e->d_name, 0);
  if (d) closedir(d);
}

void cache_tidy(const char *dir) { remove_single(dir); }

void cache_clear(const char *dir) {
  remove_single(dir);
  for (int k = 0; k < PACKS; k++) {
    Pack p;
    char path[4096];
    if (pack_path(dir, k, "new", path, sizeof path)) unlink(path);
    if (!pack_open(&p, dir, k, O_RDWR)) continue;
    unlink(p.path);
    close(p.fd);
  }
}

void cache_count(const char *dir, CacheCount *out) {
  size_t n;
  *out = (CacheCount){.bytes = total_bytes(dir)};
  free(list_uses(dir, &n));
  out->entries = (int64_t)n;
  for (int k = 0; k < PACKS; k++) {
    Pack p;
    if (!pack_open(&p, dir, k, O_RDONLY)) continue;
    out->files++;
    close(p.fd);
  }
}

int64_t cache_default_limit(void) {
  static const char units[] = "KMGT";
  const char *text = getenv("POLY_CACHE_SIZE");
  char *end = NULL;
  double v = text ? strtod(text, &end) : -1;
  if (end == text || !(v >= 0)) return INT64_C(1) << 30;
  while (*end == ' ') end++;
  const char *unit = *end ? strchr(units, *end >= 'a' ? *end - 32 : *end) : NULL;
  for (long k = unit ? unit - units + 1 : 0; k > 0; k--) v *= 1024;
  return v < 9e18 ? (int64_t)v : INT64_MAX;
}
