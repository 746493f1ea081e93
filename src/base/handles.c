/* handles.c: the register of live handles: a hash table of addresses in a few shards, each behind a lock that is held
 * for one probe. Memory comes from malloc: the register belongs to no context. */
#include "base/handles.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS = 16, FIRST_SIZE = 64 };

typedef struct Entry {
  const void *p; /* NULL: free */
  struct PolyContext *ctx;
  uint8_t kind;
  bool live;
} Entry;

typedef struct Shard {
  atomic_flag busy;
  Entry *at;
  size_t size, used, live; /* used: entries that are not free, live or not */
} Shard;

static Shard shards[SHARDS];

static const char *const kind_names[HANDLE_KINDS] = {
    [HANDLE_NONE] = "nothing",       [HANDLE_CONTEXT] = "a context", [HANDLE_TENSOR] = "a tensor",
    [HANDLE_GRAPH] = "a graph",      [HANDLE_VERTEX] = "a vertex",   [HANDLE_NBS] = "a neighbourhood",
    [HANDLE_OPTIM] = "an optimizer", [HANDLE_STEP] = "a step",       [HANDLE_FILE] = "a state file",
    [HANDLE_SAMPLER] = "a sampler",  [HANDLE_SAMPLE] = "a sample",
};

const char *handle_kind_name(HandleKind kind) { return kind_names[kind]; }

static uint64_t mix(const void *p) {
  uint64_t h = (uint64_t)(uintptr_t)p >> 4;
  h *= 0x9e3779b97f4a7c15u;
  return h ^ (h >> 29);
}

static Shard *take(uint64_t h) {
  Shard *s = &shards[h % SHARDS];
  while (atomic_flag_test_and_set_explicit(&s->busy, memory_order_acquire)) sched_yield();
  return s;
}

static void give(Shard *s) { atomic_flag_clear_explicit(&s->busy, memory_order_release); }

/* The entry of p, or the free one where it would be. */
static Entry *probe(const Shard *s, const void *p, uint64_t h) {
  size_t i = (size_t)(h / SHARDS) & (s->size - 1);
  while (s->at[i].p && s->at[i].p != p) i = (i + 1) & (s->size - 1);
  return &s->at[i];
}

/* A table with room for one more, in which entries of freed handles are forgotten. */
static bool rebuild(Shard *s) {
  Shard fresh = {.size = s->size ? s->size : FIRST_SIZE};
  while (fresh.size < 4 * (s->live + 1)) fresh.size *= 2;
  fresh.at = calloc(fresh.size, sizeof *fresh.at);
  if (!fresh.at) return false;
  for (size_t i = 0; i < s->size; i++) {
    const Entry *e = &s->at[i];
    if (!e->p || !e->live) continue;
    *probe(&fresh, e->p, mix(e->p)) = *e;
    fresh.used++;
  }
  free(s->at);
  s->at = fresh.at;
  s->size = fresh.size;
  s->used = s->live = fresh.used;
  return true;
}

bool handle_add(Base *b, const void *p, HandleKind kind, struct PolyContext *ctx) {
  uint64_t h = mix(p);
  Shard *s = take(h);
  bool ok = (s->used + 1) * 4 <= s->size * 3 || rebuild(s);
  if (ok) {
    Entry *e = probe(s, p, h);
    s->used += !e->p;
    s->live += !e->p || !e->live;
    *e = (Entry){.p = p, .ctx = ctx, .kind = (uint8_t)kind, .live = true};
  }
  give(s);
  return ok || base_fail(b, STATUS_MEMORY, "out of memory: no room for a handle");
}

void *handle_new(Base *b, size_t size, HandleKind kind, struct PolyContext *ctx) {
  void *p = mem_new(b, size);
  if (!p || handle_add(b, p, kind, ctx)) return p;
  mem_free(b, p, size);
  return NULL;
}

void handle_free(Base *b, void *p, size_t size) {
  if (!p) return;
  handle_drop(p);
  mem_free(b, p, size);
}

void handle_drop(const void *p) {
  uint64_t h = mix(p);
  Shard *s = take(h);
  Entry *e = s->size ? probe(s, p, h) : NULL;
  if (e && e->p && e->live) {
    e->live = false;
    s->live--;
  }
  give(s);
}

HandleInfo handle_find(const void *p) {
  uint64_t h = mix(p);
  Shard *s = take(h);
  const Entry *e = s->size ? probe(s, p, h) : NULL;
  HandleInfo info = {0};
  if (e && e->p) info = (HandleInfo){.kind = (HandleKind)e->kind, .live = e->live, .ctx = e->ctx};
  give(s);
  return info;
}

void handle_after_fork(void) {
  for (int i = 0; i < SHARDS; i++) atomic_flag_clear(&shards[i].busy);
}
