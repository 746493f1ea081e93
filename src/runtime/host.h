/* host.h: what the devices that live in the host's memory (CPU and interpreter) share: blocks of memory, library
 * routines, plain matrix products. Private to src/runtime. */
#ifndef POLY_HOST_H
#define POLY_HOST_H

#include "ir/context.h"
#include "runtime/device.h"

/* ---- heap.c: aligned blocks through the context's allocator, recently freed ones kept for the next taker ---- */

struct Block;
enum { HEAP_CLASSES = 448 };
/* Every byte of it: NaN in each float dtype; as an index it is out of range. */
enum { HEAP_POISON = 0xFF };
typedef struct Heap {
  Memory *memory;                    /* that it is the heap of */
  struct Block *spare[HEAP_CLASSES]; /* freed blocks by size class */
  struct Block *oldest, *newest;     /* the same blocks by the time of their freeing */
  size_t spare_bytes;
  unsigned count; /* large blocks made so far: staggers their starts */
} Heap;
void *heap_alloc(Heap *h, size_t bytes); /* 64-byte aligned; NULL and an error with the bytes */
void heap_free(Heap *h, void *p);
void heap_trim(Heap *h, size_t keep); /* gives spare blocks back until at most keep bytes are left */

/* A memory whose blocks are a heap: the host's, and the test device's. */
typedef struct HeapMemory {
  Memory memory; /* first */
  Heap heap;
} HeapMemory;
/* The host's memory, the first of the runtime. */
bool host_memory_open(Runtime *r);
void host_memory_close(Runtime *r);

/* Fills in what does not depend on how kernels run. The CPU and the interpreter have one Target, so that a kernel is
 * the same list of instructions on both. */
void host_init(Device *d, Runtime *r, const char *name);

/* The address of a value in the host's memory. */
static inline void *host_at(MemoryRef ref) { return ref.memory ? (char *)ref.memory + ref.offset : NULL; }

/* The arguments of a launch as addresses, which is what kernels on the host take. Room for those of the largest kernel
 * of a program. */
typedef struct HostArgs {
  void **at;
  int *count; /* of each kernel */
  int room, nkernel;
} HostArgs;
bool host_args_new(PolyContext *ctx, HostArgs *h, int n, const Linear *const *kernel);
void host_args_free(PolyContext *ctx, HostArgs *h);
/* local: room for LOCAL_ARGS of them, so that several threads may launch at a time; NULL: one does. */
enum { LOCAL_ARGS = 64 };
void *const *host_args(HostArgs *h, int k, const MemoryRef *args, void **local);

/* ---- interp.c ---- */

enum { INTERP_LANES = 32 }; /* iterations of a loop of lanes that the interpreter runs at once */

/* ---- library.c, matmul_cpu.c, matmul_naive.c ---- */

bool library_run(Device *d, const LibraryCall *call);
/* Any dtype, any strides, no workspace. Floats are summed in double (float32 and narrower as well), integers wrap. */
void matmul_naive(const MatmulCall *m, int threads);
/* float32 and float64, any strides: blocked and vectorised; the order of a sum does not depend on threads. */
bool matmul_blocked(Memory *memory, const MatmulCall *m, int threads);
/* Does it read both factors where they lie? They have a row for each k, and few results. */
bool matmul_blocked_along(const MatmulCall *m);
/* Bytes that it needs for a product, or one with fewer rows or a shorter sum, on one thread. */
size_t matmul_blocked_room(const MatmulCall *m);

/* The text of an index error, the same on every device. Returns false. */
bool host_index_error(PolyContext *ctx, int64_t index, int64_t size);

/* ---- cache.c: compiled programs on disk, in few files ---- */

enum { CACHE_KEY = 48 }; /* hexadecimal digits */
typedef struct CacheKey {
  char text[CACHE_KEY + 1];
} CacheKey;
/* The directory from the environment (POLY_CACHE_DIR, XDG_CACHE_HOME, HOME) as a new string; NULL without error: none.
 */
char *cache_default_dir(Base *b);
/* Makes dir if need be (mode 0700). False: it cannot be trusted with code: absent, or another user could write to it.
 */
bool cache_usable(const char *dir);
void cache_key(CacheKey *key, int n, const char *const *text);
/* The bytes of a key; NULL: they are not there, or not whole. */
char *cache_get(Base *b, const char *dir, const CacheKey *key, size_t *n);
/* Keeps them; entries that were not used for longest go when all together are more than limit. False: not kept. */
bool cache_put(const char *dir, const CacheKey *key, const void *bytes, size_t n, int64_t limit);
void cache_trim(const char *dir, int64_t bytes); /* to that size */
void cache_tidy(const char *dir);                /* removes what earlier versions left */
void cache_clear(const char *dir);
void cache_count(const char *dir, CacheCount *out);
int64_t cache_default_limit(void); /* in bytes: POLY_CACHE_SIZE, with K, M, G or T; else 1 GiB */

#endif
