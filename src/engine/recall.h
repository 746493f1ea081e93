/* recall.h: training steps that come again. A plain loop builds the same program in each step, on other data: a loss,
 * its gradients, the updates of an optimizer. The program of the loss determines all the rest. So what becomes of it is
 * written down once, as a Recipe, and a step whose loss has the same structure runs the plan of that step at once:
 * gradients and updates are not built, nothing is made canonical, no plan is looked for.
 *
 *   backward     recall_defer: is the structure known? Then nothing is built yet.
 *   step         recall_run: runs the plan and puts the results where the step would have put them.
 *
 * Any other call of the API in between sees what it always saw: the gradients are built first (ctx->interrupt). A
 * structure that comes for the second time with a backward and a step side by side is recorded. */
#ifndef POLY_RECALL_H
#define POLY_RECALL_H

#include "ir/context.h"

typedef enum Recalled { RECALLED, RECALL_FAILED, RECALL_NOT } Recalled;
/* Puts a backward pass off, if what follows it is known; build: does it after all. RECALL_NOT: it is to be done now. */
Recalled recall_defer(PolyTensor *root, bool (*build)(PolyTensor *root));

/* An update of some tensors: what stands behind it is told by `rule`, a number that no other update has. named: the
 * tensors that it reads and changes, each on memory of its own. */
typedef struct RecallUpdate {
  int64_t rule;
  PolyTensor *const *named;
  int n;
} RecallUpdate;
/* Runs the update behind a backward that was put off. RECALL_NOT: it is to be built as usual, between recall_watch and
 * recall_unwatch. */
Recalled recall_run(PolyContext *ctx, const RecallUpdate *update);
void recall_watch(PolyContext *ctx, const RecallUpdate *update);
void recall_unwatch(PolyContext *ctx);

#endif
