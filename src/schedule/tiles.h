/* tiles.h: dense maps of each edge, computed for a tile of edges at a time. Internal to the schedule. */
#ifndef POLY_TILES_H
#define POLY_TILES_H

#include "schedule/drafts.h"

/* Fills in what a node has to do with tiles, from its sources: by_tiles (then it is a contraction), over_tiles,
 * sums_tiles. */
void tiles_measure(Sched *s, NodeInfo *n);
/* Finds products that are stored in memory (kept). All nodes are to be measured again then. */
void tiles_keep_products(Sched *s, const Walk *walk);
/* The same for sums over all edges of what a product over all edges reads too, once all nodes are measured. */
void tiles_find_sums(Sched *s, const Walk *walk);
/* Is the k-th operand one of which a product by tiles needs the rows of its tile alone? */
bool tiles_operand(const Sched *s, const NodeInfo *product, int k);
/* Puts the drafts whose values live for a tile, and those that read them, together into composite drafts. s->retry:
 * some product cannot be computed so, which the limits now say; the schedule is to be built again. */
bool tiles_form(Sched *s, Drafts *d);
/* The composite item of a draft; its sub-items are added to `sub`. */
typedef VEC(Item) ItemVec;
bool tiles_fill(Sched *s, const Draft *x, Item *item, ItemVec *sub);
void tiles_free(Base *b, Draft *x);

#endif
