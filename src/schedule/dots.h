/* dots.h: dot products of edges that the kernel of a sum over edges may form. Internal to the schedule. */
#ifndef POLY_DOTS_H
#define POLY_DOTS_H

#include "schedule/plan_nodes.h"

/* Marks the dot products (NodeInfo.beside) and the sums (NodeInfo.forms_dots). */
void dots_find(Sched *s, const Walk *walk);

#endif
