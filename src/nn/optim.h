/* optim.h: what the machinery of optimizers (optim.c) and their formulas (optim_rules.c) share. */
#ifndef POLYGRAD_NN_OPTIM_H
#define POLYGRAD_NN_OPTIM_H

#include "tensor/tensor.h"

enum { OPTIM_SLOTS = 3, OPTIM_SCALARS = 4 };

/* Scalars of an optimizer, each a float64 tensor: a float32 0.999 would put a relative error of 1e-5 into the first
 * bias correction. EXTRA is what its kind makes of it. */
enum { POWER1, POWER2, COUNT, EXTRA };
enum { OPTIM_COUNT_IF = 1 << OPTIM_SCALARS }; /* COUNT, if dampening or lr_decay is set */

/* What a step computes for one parameter: from the values before it to those after it. Slots are the optimizer's state.
 */
typedef struct Update {
  UOp *param, *grad, *slot[OPTIM_SLOTS];
} Update;

/* Scalars of a step: float64 nodes. Powers and count are those of this step; extra is still that of the step before,
 * unless the kind has a rule for it. momentum is NULL as long as it is the constant of the options. */
typedef struct Step {
  UOp *rate, *momentum, *scalar[OPTIM_SCALARS];
} Step;

typedef struct OptimKind {
  const char *name;
  void (*step)(const PolyOptimOptions *s, const Step *step, Update *u);
  int scalars;                                                     /* mask of those it has */
  int (*slots)(const PolyOptimOptions *s);                         /* mask of those it has */
  double (*first)(const PolyOptimOptions *s, double lr, int slot); /* first value of a slot; NULL: 0 */
  double (*extra)(const PolyOptimOptions *s, double lr);           /* first value of EXTRA; NULL: 1 */
  UOp *(*next)(const PolyOptimOptions *s, const Step *step);       /* EXTRA after a step; NULL: unchanged */
} OptimKind;

/* NULL if there is none of that name. */
const OptimKind *optim_kind(const char *name);

#endif
