/* plan_nodes.h: what the schedule knows of each node while it decides. Internal to the schedule. */
#ifndef POLY_PLAN_NODES_H
#define POLY_PLAN_NODES_H

#include "schedule/lower.h"

typedef VEC(int) IntVec;

enum { COST_LIMIT = 1 << 20 }; /* of a node: it is or holds a reduction */

typedef enum StoreKind { STORE_NOT, STORE_KERNEL, STORE_MATMUL, STORE_LIBRARY } StoreKind;

typedef struct NodeInfo {
  UOp *node;
  StoreKind kind;
  int slot;        /* where it is stored; -1: nowhere */
  int depth, cost; /* ops below it that would be inlined with it: longest chain; operations an element, saturating */
  int kernel;      /* the last kernel that computed it in place, */
  uint64_t at;     /* at which index (a hash), */
  int readers;     /* and how many did */
  bool edge;       /* a loop over edges computes it, edge by edge */
  bool maps_edges; /* a linear map of edge values: too wide to store, short enough to repeat */
  bool wide;       /* a reader's loops were at least as many as its own */
  int64_t split[MAX_DIMS]; /* of a stored node: inner size of an axis that its kernel walks as two, 0: as one */
  bool contraction;        /* a matrix product, with what follows filled in */
  MatmulItem matmul;
  UOp *operand[2];
} NodeInfo;

typedef struct Sched {
  PolyContext *ctx;
  Arena *arena;
  const ScheduleOptions *opt;
  Map index; /* node -> place in info */
  VEC(NodeInfo *) info;
  VEC(int) work;    /* places of stored nodes, in the order in which they were found */
  VEC(UOp *) edges; /* numbers of edges of the graphs that occur */
  VEC(Slot) slot;
  Map input;                 /* input number -> slot */
  int kernel;                /* number of the kernel being lowered */
  bool settled;              /* no more decisions: what is stored is stored */
  bool copying;              /* lowering the copy of an assigned value out of its temporary */
  UOp *domain;               /* node that the current kernel stores */
  const struct Draft *draft; /* whose outputs are computed side by side and not loaded; NULL: none */
} Sched;

NodeInfo *sched_info(Sched *s, UOp *node); /* made on first use; NULL: out of memory */
bool sched_store(Sched *s, UOp *node, StoreKind kind, const char *why);
int sched_input(Sched *s, UOp *buffer);
/* The lowering policy: decides what is stored. user is the Sched. */
int sched_policy(void *user, Lower *l, UOp *node, UOp *const *idx, UOp *gate);
/* What several kernels compute is stored, once it is known who computes what: forget, lower them all, then ask. */
void sched_forget_readers(Sched *s);
bool sched_store_repeated(Sched *s, bool *changed);
/* The computed node whose memory holds u too, because only reshapes lie between; u itself if there is none. */
UOp *sched_memory(UOp *u);
/* Slot of a stored node, also seen through reshapes. -1: it is not stored. */
int sched_slot_of(Sched *s, UOp *node);

#endif
