/* buffer.c: what a tensor holds: bytes with a copy in each memory that they were used in. Knows memories only through
 * their functions.
 *
 * A copy is valid or not. Reading a buffer in a memory copies from a valid one if the copy there is not; writing makes
 * that copy the only valid one. Between two memories of which neither is the host's, bytes go through the host. An
 * invalid copy is given back at once, except where its address is known outside. */
#include "runtime/device.h"

static PolyBuffer *origin(PolyBuffer *b) { return b->of ? b->of : b; }

/* ---- memories ---- */

bool memory_fits(const Memory *m, size_t bytes) {
  size_t live = m->live_bytes > 0 ? (size_t)m->live_bytes : 0;
  return !m->capacity || (live <= m->capacity && bytes <= m->capacity - live);
}

void *memory_alloc(Memory *m, size_t bytes) {
  Runtime *r = m->runtime;
  if (bytes > SIZE_MAX / 4 || !memory_fits(m, bytes))
    return fail_null(ctx_base(r->ctx), POLY_ERROR_MEMORY, "out of memory on %s: %zu bytes were asked for", m->name,
                     bytes);
  void *p = m->alloc(m, bytes);
  if (!p) return NULL;
  m->live_bytes += (int64_t)bytes;
  m->peak_bytes = MAX(m->peak_bytes, m->live_bytes);
  r->live_bytes += (int64_t)bytes;
  r->peak_bytes = MAX(r->peak_bytes, r->live_bytes);
  return p;
}

void memory_free(Memory *m, void *p, size_t bytes) {
  if (!p) return;
  m->live_bytes -= (int64_t)bytes;
  m->runtime->live_bytes -= (int64_t)bytes;
  m->free(m, p, bytes);
}

/* ---- making and freeing ---- */

static PolyBuffer *make(Runtime *r, size_t bytes) {
  PolyBuffer *b = mem_new(ctx_base(r->ctx), sizeof *b);
  if (!b) return NULL;
  b->runtime = r;
  b->bytes = bytes;
  b->refs = 1;
  b->next = r->buffers;
  if (b->next) b->next->prev = b;
  r->buffers = b;
  return b;
}

PolyBuffer *buffer_new(Memory *m, size_t bytes) {
  PolyBuffer *b = make(m->runtime, bytes);
  if (b && buffer_overwrite(b, m)) return b;
  buffer_release(b);
  return NULL;
}

PolyBuffer *buffer_borrow(Runtime *r, void *data, size_t bytes, void (*release)(void *), void *user) {
  return buffer_borrow_in(host_memory(r), data, bytes, release, user);
}

PolyBuffer *buffer_borrow_in(Memory *m, void *data, size_t bytes, void (*release)(void *), void *user) {
  static _Alignas(64) char nothing[64]; /* the address of no bytes */
  PolyBuffer *b = make(m->runtime, bytes);
  if (!b) return NULL;
  b->home = m->number;
  b->copy[b->home] = (BufferCopy){data ? data : nothing, true, 0};
  b->borrowed = true;
  b->release = release;
  b->user = user;
  return b;
}

PolyBuffer *buffer_alias(PolyBuffer *b) {
  PolyBuffer *alias = mem_new(ctx_base(b->runtime->ctx), sizeof *alias);
  if (!alias) return NULL;
  *alias = (PolyBuffer){.runtime = b->runtime, .bytes = b->bytes, .refs = 1, .of = buffer_retain(origin(b))};
  return alias;
}

PolyBuffer *buffer_retain(PolyBuffer *b) {
  if (b) b->refs++;
  return b;
}

/* Whoever uses copy k from now on finds it complete. */
static bool arrive(PolyBuffer *b, int k) {
  uint64_t number = b->copy[k].ahead;
  b->copy[k].ahead = 0;
  return !number || b->runtime->memory[k]->arrive(b->runtime->memory[k], number);
}

static void drop_copy(PolyBuffer *b, int k) {
  bool foreign = b->borrowed && k == b->home;
  arrive(b, k); /* whoever gets the memory next writes to it */
  if (!foreign) memory_free(b->runtime->memory[k], b->copy[k].data, b->bytes);
  b->copy[k] = (BufferCopy){0};
}

static void buffer_free(PolyBuffer *b) {
  for (int k = 0; k < MAX_MEMORIES; k++)
    if (b->copy[k].data) drop_copy(b, k);
  if (b->release) b->release(b->user);
  if (b->prev)
    b->prev->next = b->next;
  else
    b->runtime->buffers = b->next;
  if (b->next) b->next->prev = b->prev;
  mem_free(ctx_base(b->runtime->ctx), b, sizeof *b);
}

void buffer_release(PolyBuffer *b) {
  if (!b || --b->refs > 0) return;
  PolyBuffer *of = b->of;
  if (!of) {
    buffer_free(b);
    return;
  }
  mem_free(ctx_base(b->runtime->ctx), b, sizeof *b);
  buffer_release(of);
}

/* ---- copies ---- */

/* May copy k be written by others? */
static bool is_outside(const PolyBuffer *b, int k) { return (b->exposed && k == 0) || (b->borrowed && k == b->home); }

/* Is the copy in m what a reader there should see? A copy that others write to is copied at each use, as long as it is
 * the value. */
static bool is_current(const PolyBuffer *b, const Memory *m) {
  if (!b->copy[m->number].valid) return false;
  bool outside = is_outside(b, m->number);
  for (int k = 0; k < MAX_MEMORIES && !outside; k++)
    if (b->copy[k].valid && is_outside(b, k)) return false;
  return true;
}

static BufferCopy *copy_in(PolyBuffer *b, Memory *m) {
  BufferCopy *c = &b->copy[m->number];
  if (!c->data) *c = (BufferCopy){memory_alloc(m, b->bytes), false, 0};
  return c->data && arrive(b, m->number) ? c : NULL;
}

bool buffer_is_missing(const PolyBuffer *b) {
  if (b->of) b = b->of;
  for (int k = 0; k < MAX_MEMORIES; k++)
    if (b->copy[k].valid) return false;
  return b->make != NULL;
}

bool buffer_make_later(PolyBuffer *b, bool (*make)(void *user, void *data), void (*release)(void *user), void *user) {
  b = origin(b);
  if (b->make || b->release || b->borrowed || b->exposed) return false;
  for (int k = 0; k < MAX_MEMORIES; k++)
    if (b->copy[k].data) drop_copy(b, k);
  b->make = make;
  b->release = release;
  b->user = user;
  return true;
}

void buffer_forget(PolyBuffer *b) {
  b = origin(b);
  if (!b->make || b->borrowed || b->exposed) return;
  for (int k = 0; k < MAX_MEMORIES; k++)
    if (b->copy[k].data) drop_copy(b, k);
}

/* Bytes of a current copy on another memory than the host's. */
static bool fetch(PolyBuffer *b, void *host, size_t bytes) {
  for (int k = 1; k < MAX_MEMORIES; k++) {
    Memory *m = b->runtime->memory[k];
    if (!m || !is_current(b, m)) continue;
    m->read_bytes += (int64_t)bytes;
    return !bytes || (arrive(b, k) && m->copy_out(m, host, b->copy[k].data, bytes));
  }
  return true; /* nothing was written yet */
}

void *buffer_read(PolyBuffer *b, Memory *m) {
  b = origin(b);
  BufferCopy *c = &b->copy[m->number];
  if (is_current(b, m)) return arrive(b, m->number) ? c->data : NULL;
  Memory *host = host_memory(b->runtime);
  bool fresh = !c->data;
  if (m != host && !is_current(b, host) && !buffer_read(b, host)) return NULL;
  if (!(c = copy_in(b, m))) return NULL;
  if (m != host)
    c->valid = !b->bytes || m->copy_in(m, c->data, b->copy[0].data, b->bytes);
  else
    c->valid = buffer_is_missing(b) ? b->make(b->user, c->data) : fetch(b, c->data, b->bytes);
  if (c->valid) return c->data;
  if (fresh) drop_copy(b, m->number);
  return NULL;
}

static void only_valid(PolyBuffer *b, const Memory *m) {
  for (int k = 0; k < MAX_MEMORIES; k++) {
    if (k == m->number || !b->copy[k].data) continue;
    b->copy[k].valid = false;
    if (!is_outside(b, k)) drop_copy(b, k);
  }
  b->copy[m->number].valid = true;
}

void *buffer_update(PolyBuffer *b, Memory *m) {
  b = origin(b);
  void *data = buffer_read(b, m);
  if (data) only_valid(b, m);
  return data;
}

void *buffer_overwrite(PolyBuffer *b, Memory *m) {
  b = origin(b);
  const BufferCopy *c = copy_in(b, m);
  if (!c) return NULL;
  only_valid(b, m);
  return c->data;
}

void *buffer_expose(PolyBuffer *b) {
  b = origin(b);
  void *data = buffer_update(b, host_memory(b->runtime));
  if (data) b->exposed = true;
  return data;
}

void *buffer_take(PolyBuffer *b, Memory *m) {
  b = origin(b);
  void *data = buffer_read(b, m);
  if (!data || !b->borrowed || b->exposed || b->home == m->number) return data;
  drop_copy(b, b->home);
  b->borrowed = false;
  if (b->release) b->release(b->user);
  b->release = NULL;
  return data;
}

bool buffer_get(PolyBuffer *b, void *host, size_t bytes) {
  b = origin(b);
  if (!bytes) return true;
  Memory *m = host_memory(b->runtime);
  if (buffer_is_missing(b) && !buffer_read(b, m)) return false;
  if (!is_current(b, m)) return fetch(b, host, bytes);
  return m->copy_out(m, host, b->copy[0].data, bytes);
}

bool buffer_put(PolyBuffer *b, Memory *m, const void *host, size_t bytes) {
  b = origin(b);
  if (b->exposed || b->borrowed) m = b->runtime->memory[b->exposed ? 0 : b->home];
  void *data = bytes < b->bytes ? buffer_update(b, m) : buffer_overwrite(b, m);
  if (!data || !bytes) return data != NULL;
  if (!b->runtime->copy_ahead || !m->copy_ahead || bytes < b->bytes) return m->copy_in(m, data, host, bytes);
  return (b->copy[m->number].ahead = m->copy_ahead(m, data, host, bytes)) != 0;
}

PolyBuffer *buffer_copy(PolyBuffer *b, Memory *m) {
  void *from = buffer_read(b, m);
  PolyBuffer *copy = from ? buffer_new(m, b->bytes) : NULL;
  if (!copy || !b->bytes || m->copy(m, copy->copy[m->number].data, from, b->bytes)) return copy;
  buffer_release(copy);
  return NULL;
}
