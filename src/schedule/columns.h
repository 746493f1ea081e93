/* columns.h: sums over all edges of products with few columns, a sum for each column. Internal to the schedule. */
#ifndef POLY_COLUMNS_H
#define POLY_COLUMNS_H

#include "schedule/plan_nodes.h"

/* Rewrites the roots, in place; s knows the target, which sizes are numbers of edges, and the nodes of the program. */
bool columns_apart(Sched *s, int nroot, UOp **root);

#endif
