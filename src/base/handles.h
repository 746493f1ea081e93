/* handles.h: the register of all live handles of the process: contexts, tensors, graphs and so on, each with its kind
 * and its context. Whatever address a caller gives can be looked up without reading it, so a handle that was freed, one
 * of another kind, or a number that never was one is an error instead of a crash.
 *
 * An entry stays behind when its handle is freed, as long as it is not overwritten: it tells a second free from an
 * address that is unknown. An address that the allocator has given to a new handle is that handle. */
#ifndef POLY_HANDLES_H
#define POLY_HANDLES_H

#include "base/base.h"

typedef enum HandleKind {
  HANDLE_NONE,
  HANDLE_CONTEXT,
  HANDLE_TENSOR,
  HANDLE_GRAPH,
  HANDLE_VERTEX,
  HANDLE_NBS,
  HANDLE_OPTIM,
  HANDLE_STEP,
  HANDLE_FILE,
  HANDLE_SAMPLER,
  HANDLE_SAMPLE,
  HANDLE_KINDS
} HandleKind;

typedef struct HandleInfo {
  HandleKind kind;         /* HANDLE_NONE: unknown */
  bool live;               /* false: it was freed */
  struct PolyContext *ctx; /* that it belongs to; NULL: none */
} HandleInfo;

/* Memory for a handle, entered into the register; and back. NULL: an error was set. */
void *handle_new(Base *b, size_t size, HandleKind kind, struct PolyContext *ctx);
void handle_free(Base *b, void *p, size_t size);
/* The same for memory that the caller has. False: no memory for the entry, an error was set. */
bool handle_add(Base *b, const void *p, HandleKind kind, struct PolyContext *ctx);
void handle_drop(const void *p);
HandleInfo handle_find(const void *p);
const char *handle_kind_name(HandleKind kind);
/* In a process that was forked: no thread that held the register's locks is left. */
void handle_after_fork(void);

#endif
