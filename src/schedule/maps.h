/* maps.h: weights of short linear maps of edges, in the order of their features. Internal to the schedule. */
#ifndef POLY_MAPS_H
#define POLY_MAPS_H

#include "schedule/plan_nodes.h"

/* Rewrites the roots, in place; s knows the target and which sizes are numbers of edges. */
bool maps_order_weights(Sched *s, int nroot, UOp **root);

#endif
