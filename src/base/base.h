/* base.h: what every other part stands on: an injected allocator, the status of a context, growable arrays, a string
 * builder and a bump arena. Knows nothing of tensors. Nothing here aborts: a failed allocation sets the status and
 * comes back as NULL or false, and callers pass it on. */
#ifndef POLY_BASE_H
#define POLY_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEN(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#if defined(__GNUC__)
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#else
#define PRINTF_LIKE(f, a)
#endif

/* realloc and free in one: a new_size of 0 frees. NULL: the C library's. */
typedef struct Allocator {
  void *(*realloc)(void *user, void *p, size_t old_size, size_t new_size);
  void *user;
} Allocator;

/* Codes of errors are those of the public API (PolyStatus), of which base knows two. */
enum { STATUS_OK = 0, STATUS_MEMORY = 4 };

/* The allocator and the last error: the first member of every context. */
typedef struct Base {
  Allocator alloc;
  int code;
  bool passing; /* the error is of an interruption: the next call forgets it */
  size_t bytes; /* now allocated through alloc */
  char text[1024];
} Base;

/* Allocation. mem_new clears; mem_resize keeps the old block on failure. A size of 0 frees and gives NULL. */
void *mem_new(Base *b, size_t size);
void *mem_resize(Base *b, void *p, size_t old_size, size_t new_size);
void mem_free(Base *b, void *p, size_t size);
char *mem_strdup(Base *b, const char *s);
void mem_strfree(Base *b, char *s);

/* Errors. base_fail keeps the first error until base_clear and always returns false; fail_null is the same as a NULL.
 */
bool base_fail(Base *b, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool base_vfail(Base *b, int code, const char *fmt, va_list ap);
void base_clear(Base *b);
#define fail_null(b, ...) (base_fail((b), __VA_ARGS__), (void *)0)

/* Growable array: VEC(int) v = {0}; vec_push(b, &v, 3) -> bool. Elements are v.at[0 .. v.n-1]. */
#define VEC(T)                                                                                                         \
  struct {                                                                                                             \
    T *at;                                                                                                             \
    int n, cap;                                                                                                        \
  }
bool vec_grow_(Base *b, void **at, int *cap, int need, size_t elem);
#define vec_reserve(b, v, need)                                                                                        \
  ((need) <= (v)->cap || vec_grow_((b), (void **)&(v)->at, &(v)->cap, (need), sizeof(*(v)->at)))
#define vec_push(b, v, x) (vec_reserve((b), (v), (v)->n + 1) && ((v)->at[(v)->n++] = (x), true))
#define vec_free(b, v)                                                                                                 \
  (mem_free((b), (v)->at, (size_t)(v)->cap * sizeof(*(v)->at)), (v)->at = NULL, (v)->n = (v)->cap = 0)

/* String builder. After a failed allocation s.failed is set and further calls do nothing; check it once at the end. */
typedef struct Str {
  Base *b;
  char *at; /* always NUL-terminated once something was added */
  size_t n, cap;
  bool failed;
} Str;
void str_add(Str *s, const char *text);
void str_addn(Str *s, const char *text, size_t n);
void str_fmt(Str *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
void str_free(Str *s);

/* Bump arena, freed as a whole. */
typedef struct Arena {
  Base *b;
  struct ArenaBlock *head;
} Arena;
void *arena_new(Arena *a, size_t size); /* cleared, aligned to 16 */
void arena_free(Arena *a);

/* Hash map from 64-bit keys (or pointers) to 64-bit values; open addressing. */
typedef struct Map {
  uint64_t *keys, *vals;
  uint8_t *used;
  int n, cap;
} Map;
bool map_put(Base *b, Map *m, uint64_t key, uint64_t val);
bool map_get(const Map *m, uint64_t key, uint64_t *val);
void map_free(Base *b, Map *m);

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed);

#endif
