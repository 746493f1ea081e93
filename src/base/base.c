/* base.c: allocation through the injected allocator, error text, arrays, strings, arena, map. */
#include "base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *default_realloc(void *user, void *p, size_t old_size, size_t new_size) {
  (void)user;
  (void)old_size;
  if (new_size == 0) {
    free(p);
    return NULL;
  }
  return realloc(p, new_size);
}

static void *raw_realloc(Base *b, void *p, size_t old_size, size_t new_size) {
  void *q = b->alloc.realloc ? b->alloc.realloc(b->alloc.user, p, old_size, new_size)
                             : default_realloc(NULL, p, old_size, new_size);
  if (new_size && !q) {
    base_fail(b, STATUS_MEMORY, "out of memory: %zu bytes were asked for", new_size);
    return NULL;
  }
  b->bytes = b->bytes - old_size + new_size;
  return q;
}

void *mem_new(Base *b, size_t size) {
  void *p = size ? raw_realloc(b, NULL, 0, size) : NULL;
  if (p) memset(p, 0, size);
  return p;
}

void *mem_resize(Base *b, void *p, size_t old_size, size_t new_size) { return raw_realloc(b, p, old_size, new_size); }

void mem_free(Base *b, void *p, size_t size) {
  if (p) raw_realloc(b, p, size, 0);
}

char *mem_strdup(Base *b, const char *s) {
  size_t n = strlen(s) + 1;
  char *p = mem_new(b, n);
  if (p) memcpy(p, s, n);
  return p;
}

void mem_strfree(Base *b, char *s) {
  if (s) mem_free(b, s, strlen(s) + 1);
}

bool base_vfail(Base *b, int code, const char *fmt, va_list ap) {
  if (b->code != STATUS_OK) return false;
  b->code = code;
  vsnprintf(b->text, sizeof b->text, fmt, ap);
  return false;
}

bool base_fail(Base *b, int code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  base_vfail(b, code, fmt, ap);
  va_end(ap);
  return false;
}

void base_clear(Base *b) {
  b->code = STATUS_OK;
  b->passing = false;
  b->text[0] = 0;
}

bool vec_grow_(Base *b, void **at, int *cap, int need, size_t elem) {
  int grown = *cap ? *cap * 2 : 8;
  if (grown < need) grown = need;
  void *p = mem_resize(b, *at, (size_t)*cap * elem, (size_t)grown * elem);
  if (!p) return false;
  *at = p;
  *cap = grown;
  return true;
}

void str_addn(Str *s, const char *text, size_t n) {
  if (s->failed) return;
  if (s->n + n + 1 > s->cap) {
    size_t cap = MAX(s->cap * 2, s->n + n + 64);
    char *p = mem_resize(s->b, s->at, s->cap, cap);
    if (!p) {
      s->failed = true;
      return;
    }
    s->at = p;
    s->cap = cap;
  }
  memcpy(s->at + s->n, text, n);
  s->n += n;
  s->at[s->n] = 0;
}

void str_add(Str *s, const char *text) { str_addn(s, text, strlen(text)); }

void str_fmt(Str *s, const char *fmt, ...) {
  char small[512];
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(small, sizeof small, fmt, ap);
  va_end(ap);
  if (n < (int)sizeof small) {
    str_addn(s, small, (size_t)n);
  } else {
    char *big = mem_new(s->b, (size_t)n + 1);
    if (big) {
      vsnprintf(big, (size_t)n + 1, fmt, again);
      str_addn(s, big, (size_t)n);
      mem_free(s->b, big, (size_t)n + 1);
    } else {
      s->failed = true;
    }
  }
  va_end(again);
}

void str_free(Str *s) {
  mem_free(s->b, s->at, s->cap);
  s->at = NULL;
  s->n = s->cap = 0;
}

typedef struct ArenaBlock {
  struct ArenaBlock *next;
  size_t used, size;
} ArenaBlock;

enum { ARENA_FIRST = 4 * 1024, ARENA_BLOCK = 64 * 1024, ARENA_HEAD = 32 };

void *arena_new(Arena *a, size_t size) {
  size = (size + 15) & ~(size_t)15;
  if (!a->head || a->head->used + size > a->head->size) {
    size_t usual = a->head ? MIN((size_t)ARENA_BLOCK, 4 * a->head->size) : (size_t)ARENA_FIRST;
    size_t block = MAX(usual, size + ARENA_HEAD);
    ArenaBlock *blk = raw_realloc(a->b, NULL, 0, block);
    if (!blk) return NULL;
    blk->size = block;
    blk->used = ARENA_HEAD;
    blk->next = a->head;
    a->head = blk;
  }
  void *p = (char *)a->head + a->head->used;
  a->head->used += size;
  memset(p, 0, size); /* what is handed out, not the block: most blocks are never filled */
  return p;
}

void arena_free(Arena *a) {
  while (a->head) {
    ArenaBlock *next = a->head->next;
    mem_free(a->b, a->head, a->head->size);
    a->head = next;
  }
}

static uint64_t mix(uint64_t h) {
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdULL;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53ULL;
  return h ^ (h >> 33);
}

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed) {
  const unsigned char *c = p;
  uint64_t h = seed ^ (n * 0x9e3779b97f4a7c15ULL);
  for (; n >= 8; n -= 8, c += 8) {
    uint64_t w;
    memcpy(&w, c, 8);
    h = mix(h ^ w) + 0x9e3779b97f4a7c15ULL;
  }
  uint64_t tail = 0;
  if (n) memcpy(&tail, c, n);
  return mix(h ^ tail);
}

static int map_slot(const Map *m, uint64_t key) {
  int i = (int)(mix(key) & (uint64_t)(m->cap - 1));
  while (m->used[i] && m->keys[i] != key) i = (i + 1) & (m->cap - 1);
  return i;
}

static bool map_grow(Base *b, Map *m) {
  Map big = {.cap = m->cap ? m->cap * 2 : 64};
  size_t cap = (size_t)big.cap;
  big.keys = mem_new(b, cap * 8);
  big.vals = mem_new(b, cap * 8);
  big.used = mem_new(b, cap);
  if (!big.keys || !big.vals || !big.used) {
    map_free(b, &big);
    return false;
  }
  for (int i = 0; i < m->cap; i++)
    if (m->used[i]) {
      int j = map_slot(&big, m->keys[i]);
      big.used[j] = 1;
      big.keys[j] = m->keys[i];
      big.vals[j] = m->vals[i];
      big.n++;
    }
  map_free(b, m);
  *m = big;
  return true;
}

bool map_put(Base *b, Map *m, uint64_t key, uint64_t val) {
  if (m->n * 2 >= m->cap && !map_grow(b, m)) return false;
  int i = map_slot(m, key);
  if (!m->used[i]) {
    m->used[i] = 1;
    m->keys[i] = key;
    m->n++;
  }
  m->vals[i] = val;
  return true;
}

bool map_get(const Map *m, uint64_t key, uint64_t *val) {
  if (!m->cap) return false;
  int i = map_slot(m, key);
  if (!m->used[i]) return false;
  if (val) *val = m->vals[i];
  return true;
}

void map_free(Base *b, Map *m) {
  size_t cap = (size_t)m->cap;
  mem_free(b, m->keys, cap * 8);
  mem_free(b, m->vals, cap * 8);
  mem_free(b, m->used, cap);
  *m = (Map){0};
}
