/* cuda_memory.c: the card's memory: blocks of it, and copies from and to the host.
 *
 * Memory is taken from the driver in segments and cut into blocks. A freed block joins its free neighbours and waits
 * for the next taker, so a training loop asks the driver for nothing after its first steps. Since all work of a device
 * is one stream, a block can be handed out again while the kernels that used it still run. Segments of which nothing is
 * in use go back to the card when it has no more to give, and when the device is closed.
 *
 *   small blocks  from segments of 2 MiB       large ones  from a segment of their own size, or what is left of one
 *
 * Copies go through a few chunks of page-locked memory: the host's side is done when the bytes are in a chunk, or out
 * of it. What a kernel has found wrong is read with every copy to the host. */
#include "runtime/cuda.h"

#include <string.h>

enum { GRAIN = 512, SMALL = 1 << 20, SEGMENT = 2 << 20, LARGE_GRAIN = 2 << 20 };

typedef struct CudaBlock {
  CuAddress at;
  size_t bytes;
  bool used, first;                  /* first: of its segment */
  struct CudaBlock *before, *after;  /* neighbours in the segment */
  struct CudaBlock *previous, *next; /* in its bin, or in the table of used ones (next alone) */
} CudaBlock;

static CudaMemory *of(Memory *m) { return (CudaMemory *)m; }
static Base *base_of(const CudaMemory *m) { return ctx_base(m->memory.runtime->ctx); }

/* ---- lists ---- */

static int bin_of(size_t bytes) {
  int k = 0;
  while (bytes > GRAIN && k + 1 < CUDA_BINS) {
    bytes >>= 1;
    k++;
  }
  return k;
}

static void bin_add(CudaMemory *m, CudaBlock *b) {
  CudaBlock **head = &m->bin[bin_of(b->bytes)];
  b->used = false;
  b->previous = NULL;
  b->next = *head;
  if (b->next) b->next->previous = b;
  *head = b;
}

static void bin_remove(CudaMemory *m, CudaBlock *b) {
  if (b->previous)
    b->previous->next = b->next;
  else
    m->bin[bin_of(b->bytes)] = b->next;
  if (b->next) b->next->previous = b->previous;
}

static size_t slot_of(const CudaMemory *m, CuAddress at) {
  return (size_t)((at >> 9) * 0x9e3779b97f4a7c15u >> 20) & (m->room - 1);
}

static bool used_add(CudaMemory *m, CudaBlock *b) {
  if (m->nused >= m->room) {
    size_t room = m->room ? 2 * m->room : 256, old = m->room;
    CudaBlock **table = mem_new(base_of(m), room * sizeof *table), **from = m->used;
    if (!table) return false;
    m->used = table;
    m->room = room;
    for (size_t i = 0; i < old; i++)
      for (CudaBlock *e = from[i], *next; e; e = next) {
        next = e->next;
        e->next = table[slot_of(m, e->at)];
        table[slot_of(m, e->at)] = e;
      }
    mem_free(base_of(m), from, old * sizeof *from);
  }
  CudaBlock **head = &m->used[slot_of(m, b->at)];
  b->used = true;
  b->next = *head;
  *head = b;
  m->nused++;
  return true;
}

static CudaBlock *used_take(CudaMemory *m, CuAddress at) {
  if (!m->room) return NULL;
  for (CudaBlock **p = &m->used[slot_of(m, at)]; *p; p = &(*p)->next) {
    CudaBlock *b = *p;
    if (b->at != at) continue;
    *p = b->next;
    m->nused--;
    return b;
  }
  return NULL;
}

/* ---- blocks ---- */

/* The smallest free block that holds so much. A large block is not cut for a small piece of it: what is left would keep
 * it from the next large taker. */
static CudaBlock *best_fit(CudaMemory *m, size_t bytes) {
  CudaBlock *best = NULL;
  for (int k = bin_of(bytes); k < CUDA_BINS && !best; k++)
    for (CudaBlock *b = m->bin[k]; b; b = b->next)
      if (b->bytes >= bytes && (!best || b->bytes < best->bytes)) best = b;
  if (best && bytes < SMALL && best->bytes > SEGMENT) return NULL;
  return best;
}

static void give_back_segments(CudaMemory *m);

static CudaBlock *new_segment(CudaMemory *m, size_t bytes) {
  CudaDevice *c = m->device;
  CudaBlock *b = mem_new(base_of(m), sizeof *b);
  if (!b) return NULL;
  b->bytes = bytes < SMALL ? SEGMENT : (bytes + LARGE_GRAIN - 1) / LARGE_GRAIN * LARGE_GRAIN;
  b->first = true;
  int status = c->api.cuMemAlloc_v2(&b->at, b->bytes);
  if (status == CU_OUT_OF_MEMORY) { /* what is kept for later goes back first */
    give_back_segments(m);
    status = c->api.cuMemAlloc_v2(&b->at, b->bytes);
  }
  if (status == CU_OK) {
    m->memory.held_bytes += (int64_t)b->bytes;
    bin_add(m, b);
    return b;
  }
  mem_free(base_of(m), b, sizeof *b);
  if (status != CU_OUT_OF_MEMORY) return cuda_ok(c, status, "allocating memory"), NULL;
  size_t available = 0, total = 0;
  c->api.cuMemGetInfo_v2(&available, &total);
  return fail_null(
      base_of(m), POLY_ERROR_MEMORY,
      "out of memory on %s (%s): %zu bytes were asked for; %lld are in use by this program, %zu of %zu are "
      "free on the card",
      c->name, c->card, bytes, (long long)m->memory.live_bytes, available, total);
}

/* Cuts what is not needed off a block that is in no list. */
static void cut(CudaMemory *m, CudaBlock *b, size_t bytes) {
  size_t least = b->bytes > SEGMENT ? SMALL : GRAIN; /* less is not worth a block of its own */
  if (b->bytes - bytes < least) return;
  CudaBlock *rest = mem_new(base_of(m), sizeof *rest);
  if (!rest) return; /* the block is larger than it need be */
  *rest = (CudaBlock){.at = b->at + bytes, .bytes = b->bytes - bytes, .before = b, .after = b->after};
  if (rest->after) rest->after->before = rest;
  b->after = rest;
  b->bytes = bytes;
  bin_add(m, rest);
}

static void *cuda_alloc(Memory *memory, size_t bytes) {
  CudaMemory *m = of(memory);
  CudaEntry entry;
  if (!cuda_enter(m->device, &entry)) return NULL;
  bool clean = base_of(m)->code == POLY_OK;
  bytes = (MAX(bytes, 1) + GRAIN - 1) / GRAIN * GRAIN;
  CudaBlock *b = best_fit(m, bytes);
  if (!b) b = new_segment(m, bytes);
  if (b) {
    bin_remove(m, b);
    cut(m, b, bytes);
    if (clean && base_of(m)->code == POLY_ERROR_MEMORY) base_clear(base_of(m));
    if (!used_add(m, b)) {
      bin_add(m, b);
      b = NULL;
    }
  }
  if (b && memory->runtime->poison) m->device->api.cuMemsetD8Async(b->at, HEAP_POISON, b->bytes, m->device->stream);
  cuda_leave(m->device, &entry);
  return b ? (void *)(uintptr_t)b->at : NULL;
}

static CudaBlock *join(CudaMemory *m, CudaBlock *a, CudaBlock *b) {
  a->bytes += b->bytes;
  a->after = b->after;
  if (a->after) a->after->before = a;
  mem_free(base_of(m), b, sizeof *b);
  return a;
}

static void cuda_free(Memory *memory, void *p, size_t bytes) {
  (void)bytes;
  CudaMemory *m = of(memory);
  CudaBlock *b = used_take(m, (CuAddress)(uintptr_t)p);
  if (!b) return;
  if (b->after && !b->after->used) {
    bin_remove(m, b->after);
    b = join(m, b, b->after);
  }
  if (b->before && !b->before->used) {
    bin_remove(m, b->before);
    b = join(m, b->before, b);
  }
  bin_add(m, b);
}

static void give_back_segments(CudaMemory *m) {
  CudaDevice *c = m->device;
  for (int k = 0; k < CUDA_BINS; k++)
    for (CudaBlock *b = m->bin[k], *next; b; b = next) {
      next = b->next;
      if (!b->first || b->after) continue;
      bin_remove(m, b);
      c->api.cuMemFree_v2(b->at); /* waits for the kernels that use it */
      m->memory.held_bytes -= (int64_t)b->bytes;
      mem_free(base_of(m), b, sizeof *b);
    }
}

static void cuda_trim(Memory *memory) {
  CudaMemory *m = of(memory);
  CudaEntry entry;
  if (!cuda_enter(m->device, &entry)) return;
  give_back_segments(m);
  cuda_leave(m->device, &entry);
}

/* ---- copies ---- */

/* A chunk that no copy uses any more. */
static char *take_chunk(CudaMemory *m, int *which) {
  CudaDevice *c = m->device;
  int k = *which = m->next_chunk;
  m->next_chunk = (k + 1) % CUDA_CHUNKS;
  if (!m->chunk[k]) {
    void *p = NULL;
    if (!cuda_ok(c, c->api.cuMemHostAlloc(&p, CUDA_CHUNK_BYTES, 0), "allocating page-locked memory")) return NULL;
    m->chunk[k] = p;
    if (!cuda_ok(c, c->api.cuEventCreate(&m->chunk_free[k], 2), "making an event")) return NULL; /* 2: no times */
  }
  if (m->chunk_busy[k] && !cuda_ok(c, c->api.cuEventSynchronize(m->chunk_free[k]), "waiting for a copy")) return NULL;
  m->chunk_busy[k] = false;
  return m->chunk[k];
}

static bool mark_chunk(CudaMemory *m, int k) {
  CudaDevice *c = m->device;
  m->chunk_busy[k] = true;
  return cuda_ok(c, c->api.cuEventRecord(m->chunk_free[k], c->stream), "recording an event");
}

static bool copy_to_card(CudaMemory *m, CuAddress to, const char *from, size_t bytes) {
  CudaDevice *c = m->device;
  for (size_t done = 0; done < bytes;) {
    size_t n = MIN(bytes - done, (size_t)CUDA_CHUNK_BYTES);
    int k;
    char *chunk = take_chunk(m, &k);
    if (!chunk) return false;
    memcpy(chunk, from + done, n);
    if (!cuda_ok(c, c->api.cuMemcpyHtoDAsync_v2(to + done, chunk, n, c->stream), "copying to the card")) return false;
    if (!mark_chunk(m, k)) return false;
    done += n;
  }
  return true;
}

static bool cuda_copy_in(Memory *memory, void *dst, const void *host, size_t bytes) {
  CudaMemory *m = of(memory);
  CudaEntry entry;
  if (!cuda_enter(m->device, &entry)) return false;
  bool ok = copy_to_card(m, (CuAddress)(uintptr_t)dst, host, bytes);
  cuda_leave(m->device, &entry);
  return ok;
}

/* One piece ahead is on its way while the one before is copied to its place. */
static bool copy_from_card(CudaMemory *m, char *to, CuAddress from, size_t bytes) {
  CudaDevice *c = m->device;
  size_t pieces = (bytes + CUDA_CHUNK_BYTES - 1) / CUDA_CHUNK_BYTES;
  int which[2] = {0, 0};
  char *chunk[2] = {NULL, NULL};
  for (size_t i = 0; i <= pieces; i++) {
    size_t at = i * CUDA_CHUNK_BYTES, n = i < pieces ? MIN(bytes - at, (size_t)CUDA_CHUNK_BYTES) : 0;
    if (n) {
      if (!(chunk[i & 1] = take_chunk(m, &which[i & 1]))) return false;
      if (!cuda_ok(c, c->api.cuMemcpyDtoHAsync_v2(chunk[i & 1], from + at, n, c->stream), "copying from the card"))
        return false;
      if (i + 1 == pieces && !cuda_queue_word(c)) return false;
      if (!mark_chunk(m, which[i & 1])) return false;
    }
    if (i == 0) continue;
    int last = (int)(i - 1) & 1;
    size_t begin = (i - 1) * CUDA_CHUNK_BYTES;
    if (!cuda_ok(c, c->api.cuEventSynchronize(m->chunk_free[which[last]]), "running kernels")) return false;
    memcpy(to + begin, chunk[last], MIN(bytes - begin, (size_t)CUDA_CHUNK_BYTES));
  }
  return cuda_check_word(c);
}

static bool cuda_copy_out(Memory *memory, void *host, const void *src, size_t bytes) {
  CudaMemory *m = of(memory);
  CudaEntry entry;
  if (!cuda_enter(m->device, &entry)) return false;
  bool ok = copy_from_card(m, host, (CuAddress)(uintptr_t)src, bytes);
  cuda_leave(m->device, &entry);
  return ok;
}

static bool cuda_copy(Memory *memory, void *dst, const void *src, size_t bytes) {
  CudaDevice *c = of(memory)->device;
  CudaEntry entry;
  if (!cuda_enter(c, &entry)) return false;
  bool ok =
      cuda_ok(c, c->api.cuMemcpyDtoDAsync_v2((CuAddress)(uintptr_t)dst, (CuAddress)(uintptr_t)src, bytes, c->stream),
              "copying on the card");
  cuda_leave(c, &entry);
  return ok;
}

/* ---- opening and closing ---- */

bool cuda_memory_open(CudaDevice *c) {
  CudaMemory *m = &c->memory;
  m->device = c;
  m->memory = (Memory){.name = c->name, .runtime = c->runtime, .alloc = cuda_alloc, .free = cuda_free};
  m->memory.copy_in = cuda_copy_in;
  m->memory.copy_out = cuda_copy_out;
  m->memory.copy = cuda_copy;
  m->memory.trim = cuda_trim;
  m->memory.copy_ahead = cuda_copy_ahead;
  m->memory.arrive = cuda_arrive;
  if (c->workspace) m->memory.held_bytes = CUDA_WORKSPACE;
  return cuda_ok(c, c->api.cuDeviceTotalMem_v2(&m->memory.capacity, c->handle), "asking for its memory");
}

void cuda_memory_close(CudaDevice *c) {
  CudaMemory *m = &c->memory;
  cuda_ahead_close(c);
  give_back_segments(m);
  for (int k = 0; k < CUDA_CHUNKS; k++) {
    if (m->chunk[k]) c->api.cuMemFreeHost(m->chunk[k]);
    if (m->chunk_free[k]) c->api.cuEventDestroy_v2(m->chunk_free[k]);
    m->chunk[k] = NULL;
    m->chunk_free[k] = NULL;
  }
  mem_free(base_of(m), m->used, m->room * sizeof *m->used);
  m->used = NULL;
  m->room = 0;
}
