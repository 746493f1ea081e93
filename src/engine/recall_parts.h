/* recall_parts.h: what the files of recalled steps share. */
#ifndef POLY_RECALL_PARTS_H
#define POLY_RECALL_PARTS_H

#include "engine/engine.h"
#include "engine/recall.h"

/* All that is pending, and the nodes and handles that the words speak of. */
typedef struct Structure {
  Base *b;
  Arena arena;
  Walk walk;
  VEC(UOp *) pending;
  VEC(PolyTensor *) handle; /* on the nodes of the walk, in their order */
  VEC(uint64_t) word;
  uint64_t hash;
} Structure;

/* keep: what is the same in every step is stored first, as realize does it. fits: it may be recalled. False: an error
 * was set. */
bool structure_read(PolyContext *ctx, PolyTensor *root, bool keep, Structure *s, bool *fits);
void structure_free(Structure *s);

#endif
