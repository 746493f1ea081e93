/* heap.c: blocks of the host's memory.
 *
 * In: byte counts. Out: blocks aligned to 64 bytes, taken from the context's allocator with room to align inside. A
 * freed block is kept for a while: a training loop asks for the same sizes in every step, and fresh memory costs a page
 * fault for each page. What is kept is bounded, is not counted as live, and is given back before an allocation is said
 * to fail.
 *
 *   raw ... [head, 64 bytes][data, rounded up to its size class]
 *
 * Large blocks begin near a huge-page boundary and ask the kernel for huge pages. They begin a few cache lines behind
 * it, each block at another distance: arrays that all start at the same offset of a page compete for the same cache
 * sets. */
#include "runtime/host.h"

#include <string.h>
#include <sys/mman.h>

enum { LINE = 64, HUGE_PAGE = 2 << 20, STAGGER = 16 };

/* AddressSanitizer finds uses of freed memory only if freed memory is given back. */
#if defined(__SANITIZE_ADDRESS__)
#define KEEP_SPARE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEP_SPARE 0
#endif
#endif
#ifndef KEEP_SPARE
#define KEEP_SPARE ((size_t)256 << 20)
#endif

typedef struct Block {
  void *raw;
  size_t total;
  struct Block *next, *prev;   /* in its class */
  struct Block *older, *newer; /* by time of freeing */
  int cls;
} Block;
_Static_assert(sizeof(Block) <= LINE, "a block's head fits in a cache line");

static Block *head_of(void *p) { return (Block *)((char *)p - LINE); }

/* Sizes up to 1 KiB in steps of a cache line, then eight steps to each doubling. */
static size_t round_size(size_t bytes, int *cls) {
  if (bytes <= 1024) {
    size_t q = bytes ? (bytes + LINE - 1) / LINE : 1;
    *cls = (int)q - 1;
    return q * LINE;
  }
  int e = 63 - __builtin_clzll((unsigned long long)bytes - 1);
  size_t step = (size_t)1 << (e - 3), q = (bytes + step - 1) / step; /* 9 .. 16 */
  *cls = 16 + (e - 10) * 8 + (int)(q - 9);
  return q * step;
}

static void list_remove(Heap *h, Block *b) {
  if (b->prev)
    b->prev->next = b->next;
  else
    h->spare[b->cls] = b->next;
  if (b->next) b->next->prev = b->prev;
  if (b->older)
    b->older->newer = b->newer;
  else
    h->oldest = b->newer;
  if (b->newer)
    b->newer->older = b->older;
  else
    h->newest = b->older;
  h->spare_bytes -= b->total;
}

static void list_add(Heap *h, Block *b) {
  b->prev = NULL;
  b->next = h->spare[b->cls];
  if (b->next) b->next->prev = b;
  h->spare[b->cls] = b;
  b->newer = NULL;
  b->older = h->newest;
  if (b->older)
    b->older->newer = b;
  else
    h->oldest = b;
  h->newest = b;
  h->spare_bytes += b->total;
}

void heap_trim(Heap *h, size_t keep) {
  while (h->oldest && h->spare_bytes > keep) {
    Block *b = h->oldest;
    list_remove(h, b);
    mem_free(ctx_base(h->memory->runtime->ctx), b->raw, b->total);
  }
}

/* From the allocator, after spare blocks have been given back if it refuses. The text of a refusal names what the
 * caller asked for, not what rounding made of it. */
static void *take(Heap *h, size_t total, size_t asked) {
  Base *base = ctx_base(h->memory->runtime->ctx);
  bool clean = base->code == POLY_OK;
  void *raw = mem_resize(base, NULL, 0, total);
  if (!raw && h->oldest) {
    heap_trim(h, 0);
    if (clean) base_clear(base);
    raw = mem_resize(base, NULL, 0, total);
  }
  if (!raw && clean) {
    base_clear(base);
    base_fail(base, POLY_ERROR_MEMORY, "out of memory on %s: %zu bytes were asked for", h->memory->name, asked);
  }
  return raw;
}

static void *new_block(Heap *h, size_t size, int cls, size_t asked) {
  bool huge = size >= HUGE_PAGE;
  size_t total = huge ? size + HUGE_PAGE + (STAGGER + 1) * LINE : size + 2 * LINE;
  char *raw = take(h, total, asked);
  if (!raw) return NULL;
  uintptr_t align = huge ? HUGE_PAGE : LINE;
  char *start = raw + (align - 1 - ((uintptr_t)raw + align - 1) % align);
  char *data = start + LINE;
  if (huge) {
    data += LINE * (h->count++ * 5 % STAGGER);
    madvise(start, (size_t)(raw + total - start), MADV_HUGEPAGE); /* a wish: failure changes nothing */
  }
  *head_of(data) = (Block){.raw = raw, .total = total, .cls = cls};
  return data;
}

void *heap_alloc(Heap *h, size_t bytes) {
  int cls;
  size_t size = round_size(bytes, &cls);
  void *p;
  if (h->spare[cls]) {
    p = (char *)h->spare[cls] + LINE;
    list_remove(h, h->spare[cls]);
  } else if (!(p = new_block(h, size, cls, bytes))) {
    return NULL;
  }
  if (h->memory->runtime->poison) memset(p, HEAP_POISON, size);
  return p;
}

/* Spare and live blocks together stay about as large as the live ones were at their peak: a step whose temporaries are
 * one block of that size finds it again. A quarter more, since blocks are larger than what was asked for. */
void heap_free(Heap *h, void *p) {
  list_add(h, head_of(p));
  size_t keep = KEEP_SPARE;
  int64_t below = h->memory->peak_bytes - h->memory->live_bytes;
  if (keep && below > 0) keep = MAX(keep, (size_t)below + (size_t)below / 4);
  heap_trim(h, keep);
}
