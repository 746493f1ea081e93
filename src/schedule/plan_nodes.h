/* plan_nodes.h: what the schedule knows of each node while it decides. Internal to the schedule. */
#ifndef POLY_PLAN_NODES_H
#define POLY_PLAN_NODES_H

#include "schedule/loops.h"
#include "schedule/lower.h"

typedef VEC(int) IntVec;
typedef VEC(UOp *) SizeVec;

enum { COST_LIMIT = 1 << 20 }; /* of a node: it is or holds a reduction */

typedef enum StoreKind { STORE_NOT, STORE_KERNEL, STORE_MATMUL, STORE_LIBRARY, STORE_LOOP, STORE_TILES } StoreKind;

/* A kernel that computes a node in place; kernels are named by their place in Sched.work. */
typedef struct Reader {
  int kernel;
  struct Reader *next;
} Reader;

typedef struct NodeInfo {
  UOp *node;
  StoreKind kind;
  Hold hold;       /* what its kernel may hold */
  int slot;        /* where it is stored; -1: nowhere */
  int depth, cost; /* ops below it that would be inlined with it: longest chain; operations per element, saturating */
  int kernel;      /* the last lowering that computed it in place, */
  uint64_t at;     /* at which index (a hash), */
  int entry;       /* and its entry in that trial's list */
  int users, uses; /* nodes that it is a source of; those that are no reductions */
  struct NodeInfo *meet;   /* the first node that every way from it to a root leads through; NULL: none is known */
  int level;               /* how many such nodes follow */
  bool plain;              /* all nodes on the ways to `meet` are elementwise and as large as it */
  struct NodeInfo *end;    /* of a reduction: the elementwise value that all readers make of it first, or NULL; */
  struct NodeInfo *made;   /* of such a value: a reduction that it is the end of, */
  struct NodeInfo *next;   /* and of that reduction: the next one */
  struct NodeInfo *beside; /* of a dot product of both ends of edges: a sum over the edges of one of them that reads the
                              other one's factor, whose kernel may form it too, */
  bool forms_dots;         /* and of that sum: it does, so it is stored as it is */
  Reader *reader;          /* kernels that compute it in place, or did before something below became stored */
  int readers;             /* how many do, */
  int edge_loops;          /* how many of them in a loop over edges, edge by edge, */
  int wide_loops;          /* and how many in loops that are at least as many as its own */
  bool compared;   /* something made of it is looked for among its own maxima or minima: all kernels see one rounding */
  bool maps_edges; /* a linear map of edge values: too wide to store, short enough to repeat */
  int visited;     /* stamp of the last walk over inlined values */
  int64_t split[MAX_DIMS];  /* of a stored node: inner size of an axis that its kernel walks as two, 0: as one */
  bool root;                /* its value is asked for */
  bool by_tiles;            /* a matrix product that is computed tile by tile, see tiles.c, */
  bool over_tiles;          /* a value of each edge that is computed from one, */
  bool sums_tiles;          /* or a reduction of such values, */
  bool sums_operand;        /* or of an operand that lives for a tile anyway, or is to */
  int maps;                 /* longest chain of such products below it and in it */
  UOp *reached;             /* an end of edges whose rows sum up what is computed from it over tiles, */
  bool reaches_both;        /* another one as well, */
  bool kept;                /* and so it is stored in memory rather than computed for each of them */
  bool tile_operand;        /* stored for such a product alone: other kernels compute it in place */
  bool tile;                /* what is stored lives for a tile */
  bool tiled_again;         /* several composites compute it, and it holds a sum: */
  uint64_t composites;      /* which ones, as bits; 0: too many */
  bool contraction;         /* a matrix product, with what follows filled in */
  bool tiled;               /* and it is computed by loops over tiles rather than by a library, */
  struct NodeInfo *product; /* as this one is in the kernel of a stored node; NULL: there is none in it */
  UOp *terms;               /* a sum in that kernel, which adds up several such products; NULL: it computes one */
  bool is_factor;           /* a matrix product reads it, and it holds reductions */
  MatmulItem matmul;
  UOp *operand[2]; /* what the library reads, */
  UOp *factor[2];  /* and what is multiplied, before it is moved into place */
} NodeInfo;

/* What a kernel computed in place when it was last lowered. */
typedef struct Inlined {
  NodeInfo *n;
  bool edge, wide;
} Inlined;
typedef struct Trial {
  VEC(Inlined) inlined;
  bool queued;
} Trial;

typedef struct Sched {
  PolyContext *ctx;
  Arena *arena;
  const Target *target;
  ScheduleLimits *limits;
  Map index; /* node -> place in info */
  VEC(NodeInfo *) info;
  VEC(int) work;    /* places of stored nodes, in the order in which they were found */
  VEC(Trial) trial; /* their last lowerings, */
  VEC(int) queue;   /* and those of them that are to be lowered, from `next` on */
  int next, current;
  int stamp;        /* of the last walk over inlined values */
  SizeVec edges;    /* numbers of edges of the graphs that occur */
  SizeVec segments; /* numbers of entries of the segment loops that occur */
  LoopVec loops;    /* over steps */
  VEC(Slot) slot;
  Map input;                 /* input number -> slot */
  int kernel;                /* number of the kernel being lowered */
  bool decided;              /* no more decisions: what is stored is stored */
  bool copying;              /* lowering the copy of an assigned value out of its temporary */
  UOp *domain;               /* node that the current kernel stores, */
  Hold hold;                 /* and what it may hold */
  const struct Draft *draft; /* whose outputs are computed side by side and not loaded; NULL: none */
  bool in_tile;              /* the kernel being lowered works on a tile */
  bool retry;                /* a product turned out not to be computable by tiles: see ScheduleLimits.whole */
} Sched;

NodeInfo *sched_info(Sched *s, UOp *node); /* made on first use; NULL: out of memory */
/* Infos of all nodes of a program, sources first; the ends of long chains become stored. */
bool sched_measure(Sched *s, const Walk *walk);
bool sched_store(Sched *s, UOp *node, StoreKind kind, const char *why);
int sched_input(Sched *s, UOp *buffer);
int sched_add_slot(Sched *s, SlotKind kind, int input, UOp *node, const char *why);
/* Is v repeated along an axis that u, a reduction, keeps, as the input of a linear map is for each of its outputs? */
bool sched_is_repeated(const UOp *v, const UOp *u);
/* Is the first size of u that of the edges of a graph? */
bool sched_edge_sized(const Sched *s, const UOp *u);
/* The lowering policy: decides what is stored. user is the Sched. */
int sched_policy(void *user, Lower *l, UOp *node, UOp *const *idx, UOp *gate);
/* The next kernel to lower, as a place in work: new ones, and those of which something inlined became stored since.
 * What it computed in place when it was last lowered is forgotten. -1: none is left. */
int sched_next_kernel(Sched *s);
/* Stores what kernels compute again and again, once it is known who computes what. */
bool sched_store_repeated(Sched *s, bool *changed);
/* The work of what is inlined below a node, for one of its elements. */
typedef struct Below {
  int ops, loads; /* each counted once; what is broadcast is not counted */
  int reads;      /* rows of small arrays that are gathered, which count as broadcast */
  bool reduction; /* there is a reduction; it counts as the load that it would be if it were stored */
  int64_t widest; /* elements of the largest operand that is loaded */
} Below;

Below sched_inlined_work(Sched *s, NodeInfo *n, int limit); /* the walk ends when `limit` is passed */
/* factors.c: factors of a product in tiles that are made of reductions, what follows which is computed by their
 * kernels, or, of edges, that its tiles would compute again and again. */
bool sched_store_factors(Sched *s, const NodeInfo *n);
/* Stores n; where a product by tiles alone reads it, edge by edge (tile), it lives for a tile. */
bool sched_store_for(Sched *s, NodeInfo *n, bool tile, const char *why);
/* terms.c: how many products a kernel that has one adds up; is n another of them? */
int sched_terms(Sched *s, const NodeInfo *kernel);
bool sched_is_term(Sched *s, const NodeInfo *kernel, const NodeInfo *n);
bool sched_store_other_terms(Sched *s, UOp *sum); /* those of a sum that its kernel cannot have as well */
/* The computed node whose memory holds u too, because only reshapes lie between; u itself if there is none. */
UOp *sched_memory(UOp *u);
/* What to store where the reduction n cannot stay inside its readers: its end, while that is not stored itself. */
UOp *sched_store_at(const NodeInfo *n);
/* Slot of a stored node, also seen through reshapes. -1: it is not stored. */
int sched_slot_of(Sched *s, UOp *node);
/* The same for a node that may also be a run of an input's memory, as a row of a matrix is; *offset: its first element,
 * NULL: the first of the memory. */
int sched_run_of(Sched *s, UOp *node, UOp **offset);

#endif
