/* work.h: how much work a launch of a linear kernel is. */
#ifndef POLY_WORK_H
#define POLY_WORK_H

#include "ir/linear.h"

/* Instructions that a launch runs, those of all iterations counted; of loops of lanes, how many runs of the body for
 * `lanes` iterations at once. bytes: of each argument; vars: the integer arguments. A loop whose bounds are loaded is
 * taken to walk, over all rows of the array that they were loaded from, the largest array of integers once. */
typedef struct Work {
  double steps; /* instructions, each for up to `lanes` iterations */
  double lanes; /* values that they make */
} Work;
Work linear_work(const Linear *lin, const size_t *bytes, const int64_t *vars, int lanes);

#endif
