/* context.h: the context behind every handle: intern table, scopes, names, live tensor handles, and one opaque slot for
 * each later layer. Nothing here is global: two contexts share nothing. */
#ifndef POLY_CONTEXT_H
#define POLY_CONTEXT_H

#include "ir/uop.h"

/* A tensor by its handle, which may be freed before, and how often that had become another tensor by then. */
typedef struct TensorName {
  uint64_t id;
  uint32_t version;
} TensorName;

/* What a handle is a view of: the handle that it was made of, and what that is a view of. Shared by all views that were
 * made of one handle. */
typedef struct PolyView {
  int refs;
  TensorName of;
  struct PolyView *up; /* NULL: of is no view */
} PolyView;

enum { LIST_NODE, LIST_PENDING, LIST_LEAF, LIST_IMPLIED, LISTS };

struct PolyTensor {
  PolyContext *ctx;
  UOp *uop;
  uint64_t id;         /* 1, 2, 3 ... in the order in which handles are made */
  uint32_t version;    /* how often it became another tensor, of which older views show nothing */
  PolyView *view;      /* NULL: not a view */
  int moves;           /* of a view: how many movements lead from its node to what it shows a part of; -1: unknown */
  TensorName moves_of; /* that tensor */
  UOp *path;           /* movements over a BUFFER without memory, once the view may have another node; NULL: none, */
  TensorName path_of;  /* and the tensor that they move */
  PolyTensor *grad;    /* accumulated gradient, or NULL */
  PolyTensor *prev, *next; /* list of live handles */
  /* Further lists, so that no call has to look at every tensor of a large data set: links[LIST_NODE] of the handles on
   * one node, links[LIST_PENDING] of those that may have to be computed, links[LIST_LEAF] of those that require a
   * gradient, links[LIST_IMPLIED] of those that hold an implied one: see `implied`. */
  struct {
    PolyTensor *prev, *next;
    bool in;
  } links[LISTS];
  PolyTensor *freed_next; /* see api/guard.c */
  int scope;              /* depth of the poly_scope that frees it, 0: the caller does */
  int renamed;            /* while a step is traced: its place, from 1, in the list of renamed tensors */
  bool assigned;          /* assigned by the step that is being traced */
  /* How often poly_backward_all added to a gradient that was not asked for by requires_grad, since it was last read; 0:
   * there is none. */
  int implied;
  bool requires_grad;
  bool refused;  /* requires_grad was turned off, rather than never on */
  bool consumed; /* backward has run through it: its history may go when it is realized */
  bool held;     /* the gradient of another handle, which owns it */
  bool given;    /* it has its value, and the program too until somebody asks for the value */
};

/* A symbolic size that the API has a code for. */
typedef struct Size {
  UOp *node;
  int64_t number; /* of the code: 0, 1, 2 ... in the order in which they were given out */
  int held;       /* how often poly_dim_hold asked for it to be kept */
} Size;

enum { SPARE_SIZES = 16 };

struct PolyContext {
  Base base;           /* first */
  struct Guard *guard; /* its lock; see api/guard.h */
  void (*guard_free)(PolyContext *ctx);
  /* intern table */
  UOp **bucket;
  int nbucket, nnode;
  UOp *spare[SPARE_SIZES]; /* freed nodes, by the number of their sources and sizes; see context.c */
  int nspare;
  uint32_t epoch;
  uint64_t last_serial; /* see UOp.serial */
  VEC(UOp *) walking;   /* scratch of uop_walk */
  VEC(UOp *) walked;
  int64_t unique;
  Scope *scope;
  VEC(char *) names;
  Map name_index;
  /* symbolic sizes handed out through the API as numbers below zero; see handle.c */
  VEC(Size) dims;
  Map dim_index; /* node: its place in dims */
  int64_t ndim_given;
  int dims_after_sweep;
  /* live tensor handles */
  PolyTensor *tensors;
  PolyTensor *pending;   /* every handle on a node without a value, and some that have one by now */
  PolyTensor *leaves;    /* every handle that requires a gradient */
  PolyTensor *implied;   /* every handle with an implied gradient */
  PolyTensor *looked_up; /* the one that was last found by its number */
  int ntensor;
  uint64_t last_id;
  int scope_depth; /* of poly_scope_begin */
  /* random numbers: see tensor/random.c */
  uint64_t seed, drawn;
  bool training, no_grad;
  PolyDType autocast; /* of the factors of float32 products; 0: none */
  PolyDType default_float;
  const char *function; /* the public function that runs */
  int debug;            /* the DEBUG ladder */
  bool verify;          /* POLY_VERIFY=1: the verifier runs after every pass (ir/verify.h), */
  bool illegal;         /* and has refused something */
  /* What was put off, and is to be done before any call but the one that it waits for (engine/recall.h); NULL: nothing.
   * False: an error was set. */
  bool (*interrupt)(PolyContext *ctx);
  /* later layers */
  void (*buffer_release)(PolyContext *ctx, struct PolyBuffer *b);
  struct Runtime *runtime;
  struct Engine *engine;
  struct Tracing *tracing; /* NULL: no step is being traced */
  struct Graphs *graphs;
  void (*graphs_free)(PolyContext *ctx); /* set with graphs */
  /* Vertex programs that are open, innermost first; set while there are some (graph/vertex.c):
   * combine brings the operands of a function to one place. aligned: they are to be broadcast as the values of one
   * vertex. False: an error was set. resolve_sizes gives a value under its true sizes, and in size that of its place
   * (else NULL). */
  PolyVertex *zoomed;
  bool (*combine)(PolyContext *ctx, int n, UOp **x, bool aligned);
  UOp *(*resolve_sizes)(PolyContext *ctx, UOp *x, UOp **size);
};

/* The code that a public function returns: that of the last error unless it went well. */
PolyStatus status_of(PolyContext *ctx, bool ok);
/* Axis in 0 .. ndim-1 out of one that may be negative. Error: "axis 3 is out of range for a tensor of 2 dimensions".
 * A tensor of no dimensions takes 0 and -1, as if it had one axis; use t_axis_bit on the result. */
bool shape_axis(PolyContext *ctx, int axis, int ndim, int *out);
/* Makes u the gradient that t holds: outside the caller's poly_scope, and without history once it is realized, or
 * accumulation over many steps would keep them all alive. NULL: none. held_grad makes the handle alone. */
PolyTensor *held_grad(PolyContext *ctx, UOp *u);
void hold_grad(PolyTensor *t, PolyTensor *grad);
/* The gradient of t is an implied one, to which something was added this many times. */
void imply_grad(PolyTensor *t, int times);
/* Implied gradients go: an optimizer is about to change what they are computed from, so their programs would have to
 * keep copies of the old parameters, for gradients that nobody looked at. */
void drop_implied_grads(PolyContext *ctx);

/* Handles. tensor_wrap takes a scope-held node and returns a new handle that retains it. NULL in, NULL out. */
PolyTensor *tensor_wrap(PolyContext *ctx, UOp *u);
/* The handle points at u from now on. */
void handle_move(PolyTensor *t, UOp *u);
void handle_require_grad(PolyTensor *t, bool on);
/* A node has lost its value: handles on it are pending again. */
void handles_pending(UOp *u);
bool handle_is_pending(const PolyTensor *t);
/* The first handle of ctx->pending, or the one behind t, that is pending still; those that are not leave the list. */
PolyTensor *handle_next_pending(PolyContext *ctx, PolyTensor *t);
/* Marks t, just made of x by moving axes, slicing or detaching, as a view of x. Gives t; NULL: out of memory, t is
 * freed. */
PolyTensor *handle_view(PolyTensor *t, const PolyTensor *x);
void handle_no_view(PolyTensor *t);
/* The handle becomes another tensor: what was a view of it shows a part of the old one. */
void handle_renew(PolyTensor *t);

/* Movements: the nodes from u to the first that is none, which is path[n]. Gives n; -1: there are too many. */
enum { MAX_VIEW_MOVES = 64 };
int moves_of(UOp *u, UOp **path);
/* How many of them lead from u to `end`, or to what it is a reshape of: reshapes of reshapes are merged when they are
 * built. -1: none do. */
int moves_to(UOp *u, const UOp *end);
/* The same movements over another tensor of the same shape. */
UOp *moves_over(UOp *const *path, int n, UOp *root);
/* Sizes at the API: plain numbers, or codes of symbolic sizes (see poly_var_bind). */
UOp *dim_from_api(PolyContext *ctx, int64_t d);
int64_t dim_to_api(UOp *u);

#endif
