/* engine.h: from tensor UOps to values. Canonicalise the graph, find or build its plan, run it on a device, give the
 * results to their handles. What the files of the engine share; nothing below the engine includes this.
 *
 *   realize.c  handles in, values out         canon.c   a graph without its buffers and the sizes of this run
 *   plan.c     plans and their cache          memory.c  sizes and places of a plan's slots
 *   check.c    what holds of every plan       run.c     one execution of a plan
 *   tiles.c    composite items
 *   step.c     plans replayed on other inputs peek.c    views of stored memory, read without a plan
 *   trace.c    the trace of a step            values.c  data in and out, assignment
 *   view.c     assignment to a part           form.c    plans for programs that differ in numbers alone
 *   loop.c     loops over steps: plans inside a plan
 *   keep.c     values that are the same in every step
 *   recall.c   training steps that come again: the plan of the step before, on other data
 *   profile.c  what ran, how long             api.c     contexts */
#ifndef POLY_ENGINE_H
#define POLY_ENGINE_H

#include "ir/context.h"
#include "runtime/device.h"
#include "schedule/schedule.h"

/* ---- canon.c ---- */

/* A graph in which every buffer is BUFFER -(k+1), k counting first appearances, and every bound variable is v0, v1 ...
 * So two runs of one program on other data give the same canonical roots: the same pointers. Arrays are in the caller's
 * arena, nodes in the caller's scope. ASSIGN is left only at roots for which `inplace` was set; all others are the
 * values they stand for. */
typedef struct Canon {
  int nroot, ninput, nvar;
  UOp **root;
  UOp **input; /* the caller's nodes, which hold the memory, */
  UOp **place; /* and their placeholders */
  UOp **var;   /* canonical VARIABLEs, */
  UOp **bound; /* the caller's BINDs: one variable with two values is two variables here */
  int64_t *value;
} Canon;
bool canon_build(PolyContext *ctx, Arena *arena, int nroot, UOp *const *root, const bool *inplace, Canon *out);
/* The same for a step that is run again and again: of the nodes that hold a value only the memory of tensors is read
 * (node_is_own), and what is in `leaf`, with memory or without; what is in `constant` is its source. */
bool canon_build_step(PolyContext *ctx, Arena *arena, int nroot, UOp *const *root, const bool *inplace, const Map *leaf,
                      const Map *constant, Canon *out);
/* Is what was known of such a node of no use for the next one? Loops over steps are numbered anew each time they are
 * built, and a callback may do anything. */
static inline bool node_is_unique(const UOp *u) {
  switch (u->op) {
  case OP_VARIABLE:
  case OP_ARGUMENT:
  case OP_SCAN:
  case OP_FINAL:
  case OP_STATES:
  case OP_STACKED: return true;
  case OP_FUNCTION: return function_rule(u) == FUNCTION_USER;
  default: return false;
  }
}
/* Is this the counter of a random draw? Each of its BINDs is a variable of its own. */
bool canon_is_rng(const UOp *variable);

/* ---- plan.c ---- */

typedef struct PlanSlot {
  SlotKind kind;
  int input;
  UOp *node, *numel;
  const char *why;
  int first, last;       /* items that touch it first and last */
  int until;             /* TEMP: the last item that touches its memory, under whatever name */
  int over;              /* TEMP: the slot whose memory it takes over when that is read for the last time; -1: none */
  size_t bytes;          /* in this run */
  size_t offset;         /* TEMP: in the arena, in this run */
  int writer;            /* the item that writes it last; -1: none does */
  struct PlanItem *loop; /* TEMP: the item whose memory between steps it is; NULL: none */
  int64_t rows, copies, width, pitch; /* see Slot */
  size_t each;                        /* SLOT_TILE: bytes from one worker's to the next one's */
} PlanSlot;

typedef struct PlanItem {
  ItemKind kind;
  int nout, narg;
  int *arg; /* slots */
  const char *name;
  int kernel, nvar;
  int also[MAX_ALSO]; /* its further kernels (Linear.also), -1: no more */
  bool also_first;    /* they are launched before it */
  int *var;           /* kernel: places of its integer arguments among the plan's variables */
  MatmulItem matmul;  /* matrix product */
  MatmulCall call;    /* the same in this run: one batch axis, and */
  int nouter;         /* those that are left to loop over */
  int64_t outer[4], a_outer[4], b_outer[4], c_outer[4], a_offset, b_offset;
  int64_t each, a_step, b_step; /* of a product by tiles: see MatmulItem */
  struct PlanTiles *tiles;
  UOp *library;          /* the LIBRARY node, */
  UOp **offset;          /* and where its operands begin in their slots (Item) */
  struct PlanLoop *loop; /* loop over steps */
  bool checks;           /* it compares indices with a size, and may end halfway */
  _Atomic int64_t spent; /* nanoseconds of a part of a composite item, all threads together, where it is timed */
  UOp *flops, *moved;    /* kernel; moved: NULL where it is not known before it runs */
  int64_t nflops, nbytes, nmoved; /* in this run; nbytes: of all that it is given, nmoved: that it loads and stores */
} PlanItem;

/* A composite item: see TilesItem. Variable k of a tile is number -1 - k among those of a kernel. */
enum { TILE_ARGS = 64 }; /* most arguments of one of its kernels */
typedef struct PlanTiles {
  int nitem, nfinish;
  PlanItem *item;
  int rowptr, work; /* slots: row pointers, scratch memory of its products; -1: none */
  UOp *edges, *rows, *const *var;
  int64_t tile, pieces;
  int64_t nedges, nrows; /* in this run */
} PlanTiles;

typedef struct Plan Plan;

/* A loop over steps: plans inside a plan, that share its program and its variables. */
typedef struct PlanLoop {
  UOp *count;
  bool reverse;
  int ncarry, nrow, nwhole, nstack;
  int *result;        /* argument of each carried value's result, then of each stacked one's */
  bool *states;       /* for each carried value: its result has all states */
  int scratch;        /* slot of the memory that is used between steps, */
  size_t *carry_at;   /* and where in it each carried value that needs a second place has it */
  Plan *first, *body; /* see Loop */
  int *in, *out;      /* slot in the body of each operand, and of each root; -1: it is not read */
  MemoryRef *now;     /* while it runs: where each carried value is */
  int64_t n;          /* steps in this run */
} PlanLoop;

enum { WAYS_TO_PLACE = 3 };

struct Plan {
  PolyContext *ctx;
  Device *device;
  int refs;
  uint64_t hash;
  struct Plan *newer, *older, *chain; /* the cache's lists */
  Arena arena;                        /* all arrays below */
  VEC(UOp *) held;                    /* nodes that the plan keeps alive, */
  VEC(UOp *) sizes;                   /* and those of them that are evaluated (while it is built) */
  int nroot, ninput, nvar, nslot, nitem, nkernel;
  UOp **root, **var;
  int *root_slot;
  PlanSlot *slot;
  PlanItem *item;
  Program *program;
  /* the sizes of this run */
  bool sized;
  bool *is_size;  /* variables that sizes depend on */
  int64_t *value; /* of the variables, then numbers that kernels take as arguments */
  int nnumber;
  size_t arena_bytes, output_bytes;
  int ntemp;                      /* temporaries that have places of their own, */
  PlanSlot **temp[WAYS_TO_PLACE]; /* in each order in which they are placed, as it was in the last run */
  int failed;                     /* the item that the last run ended at, if it failed */
  bool tiled;                     /* there are composite items: */
  int workers;                    /* threads that they have scratch memory for */
  /* scratch of a run */
  PolyBuffer *const *input;
  MemoryRef *at, *args; /* where each slot is; the arguments of a launch */
  int64_t *vars;
  uint64_t *word; /* what a run is told by: RunWords */
  int64_t *loose;
  size_t *bytes;
  MemoryUse *use; /* of an item that is recorded */
  bool expected;  /* the device knows what a run of these sizes is */
  int profiled;   /* number of the profile that has listed its slots */
};

/* The plan for a canonical program on the current device, from the cache or new; the caller releases it. */
Plan *plan_get(PolyContext *ctx, const Canon *c);
Plan *plan_find(PolyContext *ctx, const Canon *c); /* from the cache; NULL: it is not there */
void plan_release(Plan *p);
/* Schedule and linear kernels without compiling, for plan_get and for looking inside. */
typedef struct Lowered {
  Schedule schedule;
  struct Lowered **first, **body; /* of items that are loops over steps: their schedules and items */
  int nkernel;
  Linear *kernel;             /* distinct ones */
  const Linear **which;       /* they, by address */
  Linear *item;               /* each item's own: its variables and name; those of sub-items behind the others */
  int *item_kernel;           /* place in kernel, -1 for what is not one */
  int (*item_also)[MAX_ALSO]; /* places of its further kernels (Linear.also), -1: no more */
} Lowered;
/* After a run that failed: an index error names the function that the index was given to (origin.c). */
void name_index_error(PolyContext *ctx, int n, UOp *const *root);
bool index_error_below(PolyContext *ctx, UOp *u); /* may the index error of the context come from this program? */
bool plan_lower(PolyContext *ctx, Arena *arena, const Canon *c, Lowered *out);
bool plan_render(PolyContext *ctx, const Lowered *l, Str *out);

/* The items of a schedule, for plans and the plans of loops inside them. */
bool plan_take(Plan *p, const Lowered *l);
bool plan_hold_size(Plan *p, UOp *u);
void plan_free_inner(Plan *p);

/* ---- loop.c ---- */

bool plan_take_loop(Plan *p, PlanItem *it, const Loop *from, const Lowered *first, const Lowered *body);
/* Its sizes, for the values of the plan's variables; the bytes that it needs between steps. */
bool plan_size_loop(Plan *p, PlanItem *it, size_t *scratch);
bool plan_run_loop(Plan *p, const PlanItem *it);

/* ---- form.c ---- */

/* A plan for the program: its own, or a general one of programs that differ in numbers alone. value: those of the
 * plan's variables, in c or in the arena. */
Plan *form_plan(PolyContext *ctx, Arena *arena, const Canon *c, const int64_t **value);
void forms_free(PolyContext *ctx); /* while nodes still live */

/* ---- folded.c ---- */

typedef struct Folded Folded;
/* The program with loops over steps in place of copies of a body; out: as c, with other roots or the same. */
bool folded_program(PolyContext *ctx, Arena *arena, const Canon *c, Canon *out);
void folded_free(PolyContext *ctx); /* while nodes still live */

/* ---- check.c ---- */

/* Does every item read what was written, and write all that it has to? False and an error if not; the kernel is blamed
 * in `limits`. */
bool plan_check(PolyContext *ctx, Arena *arena, ScheduleLimits *limits, int nroot, const Lowered *l);

/* ---- memory.c ---- */

/* Sizes, places and matrix products for these values of the variables; quick when they are those of the last call. */
bool plan_size(Plan *p, const int64_t *value);
bool int_eval_vars(const UOp *u, int nvar, UOp *const *var, const int64_t *value, int64_t *out);
/* Bytes of a tensor with the sizes of this run (BINDs); false and an error if they overflow. */
bool uop_bytes(const UOp *u, size_t *bytes);

/* ---- run.c ---- */

/* Runs p on its device, whichever is current. input: what each input holds, brought there. out: one entry per slot;
 * entries that are NULL are allocated for OUTPUT slots and belong to the caller. arena: memory for TEMP slots, NULL:
 * allocated for this run. */
bool plan_run(Plan *p, const int64_t *value, PolyBuffer *const *input, PolyBuffer **out, PolyBuffer *arena);
/* The kernels of an item, in their order. */
bool launch_kernels(Plan *p, const PlanItem *it, const MemoryRef *args, const int64_t *vars, int threads);
/* A matrix product with its arguments: result, operands. Offsets are elements. */
bool run_product(Plan *p, const PlanItem *it, MatmulCall *c, const MemoryRef *args, int64_t a_offset, int64_t b_offset,
                 int threads);
/* Memory for a tensor; the error text of a failure names it. */
PolyBuffer *tensor_memory(Device *d, size_t bytes, int ndim, const int64_t *shape, PolyDType dtype, const char *why);
double now_ms(void);

/* The items of p in order, whose slots are bound. */
bool plan_run_items(Plan *p);

/* ---- tiles.c ---- */

bool run_tiles(Plan *p, const PlanItem *it);
/* Are the parts of a composite item timed one by one, rather than the whole? */
bool tiles_are_profiled(const Plan *p);
/* A word that tells whether its pieces and tiles are those of another run: they follow from row pointers, which are
 * data. False: an error. */
bool tiles_word(Plan *p, const PlanItem *it, uint64_t *word);

/* ---- realize.c ---- */

bool realize_handles(PolyContext *ctx, int n, PolyTensor *const *t);
/* The same for values that the user has not asked for: the tensors keep their history. */
bool realize_unasked(PolyContext *ctx, int n, PolyTensor *const *t);
/* Realizes all live handles, but those to skip, whose value would be lost if the memory behind these nodes changed. */
bool realize_readers(PolyContext *ctx, int n, UOp *const *node, int nskip, PolyTensor *const *skip);
/* Points a node at memory it now holds (takes the reference), releasing what it had. */
void node_set_buffer(UOp *u, PolyBuffer *b);
/* Which nodes of a walk the function of a step has left behind: they can no longer be computed. */
void walk_ended(const Walk *w, bool *ended);
/* The node's memory can no longer be read as its value. */
void node_set_stale(UOp *u);
bool node_fail_stale(const UOp *u);
/* A handle's node, and what steps have captured, move from one node to another. */
void handle_set(PolyTensor *t, UOp *u);
UOp *node_for_memory(PolyContext *ctx, PolyBuffer *b, const UOp *like);
/* What the node holds, wherever it lies. NULL: an error was set. */
PolyBuffer *node_memory(const UOp *u);

/* ---- peek.c ---- */

/* Copies the elements of u if it only moves those of stored memory. False, without an error, for anything else. */
bool peek(const UOp *u, void *out, size_t out_bytes);

/* ---- view.c, values.c ---- */

/* Assigns to what t is a view of, and to t. done: false if that is nothing that lives, so t is a tensor of its own. */
bool view_assign(PolyTensor *t, UOp *value, bool *done);
/* t is about to let go of its program: if it is a view, what it shows is noted. */
bool view_keep_path(PolyTensor *t);
/* Is t a view of base, directly or by way of others? */
bool view_shows(const PolyTensor *t, const PolyTensor *base);
/* Makes t hold a value of its shape and dtype, in its own memory where it has some. */
bool assign_value(PolyTensor *t, UOp *value);

/* ---- step.c ---- */

/* Handle t has moved: steps that captured its node follow. */
void steps_moved(PolyTensor *t, UOp *from, UOp *to);
/* How many references of steps to t's node would go with it? */
int steps_following(const PolyTensor *t);

/* ---- trace.c ---- */

/* The nodes of a tensor before the trace began and while it is open. */
typedef struct Renamed {
  UOp *before, *during;
  int moves;     /* of the handle before: see PolyTensor */
  bool used;     /* the step reads it */
  bool constant; /* no memory is behind it: it is computed where it is used, unless it is assigned */
  uint64_t leaf; /* the handle whose gradient it was; 0: none */
} Renamed;

/* The trace of a step that is open in a context. */
typedef struct Tracing {
  uint64_t first;       /* handles from this id on were made by the traced function */
  uint64_t drawn;       /* random counter at the beginning */
  bool done;            /* a step was made of it */
  VEC(Renamed) renamed; /* see PolyTensor.renamed */
  VEC(UOp *) input;     /* what the inputs are called in the trace */
  VEC(UOp *) read;      /* memory whose contents the function has read */
} Tracing;

/* May the values of these tensors be read now? Not if a trace is open and they differ from run to run. */
bool trace_may_read(PolyContext *ctx, int n, PolyTensor *const *t);
/* The function that is traced is about to assign to t, which needs memory of its own for that. */
bool trace_assigns(PolyTensor *t);
/* The tensors that a step updates: those given and those assigned in the trace; how many, -1: an error was set. */
int trace_state(PolyContext *ctx, Arena *arena, int n, PolyTensor *const *given, PolyTensor ***out);

/* ---- profile.c ---- */

typedef struct Profile {
  bool on;
  int number; /* of this profile */
  VEC(PolyKernelStat) kernel;
  VEC(PolyStoredStat) stored;
  int64_t peak;
} Profile;
void profile_item(Plan *p, const PlanItem *it, double ms);
void profile_plan(Plan *p);
/* Adds the items of a plan that has run to poly_counters, which count without a profile too. */
void count_run(const Plan *p);
void profile_free(PolyContext *ctx);
/* The DEBUG ladder: a new plan, an item that ran. */
void debug_plan(const Plan *p, const Lowered *l);
void debug_item(const Plan *p, const PlanItem *it, double ms);
void debug_run(const Plan *p, double ms);
void debug_memory(const Plan *p); /* what is in use where most is */
void debug_form(const PolyContext *ctx, int nvar, int nsample, bool planned);

/* ---- keep.c ---- */

/* Stores what these nodes are computed from and what is the same in every step, if it has come often enough. */
bool keep_constants(PolyContext *ctx, int n, UOp *const *root);
void keep_free(PolyContext *ctx); /* while nodes still live */

enum { KEEP_SEEN = 1024 };
typedef struct Kept {
  UOp *u; /* held, with its value */
  size_t bytes;
  uint64_t used; /* keep_clock when it was last met */
} Kept;

/* ---- recall.c; what other folders call is in recall.h ---- */

/* What a realize has done, for the recording of a step. */
typedef struct Realized {
  int nroot, nhandle;
  UOp *const *root;
  const bool *inplace;
  PolyTensor *const *handle;
  const bool *moves; /* the handle is about to get a node of its own, */
  const bool *asked; /* and somebody wants its value */
  const Canon *canon;
  const int64_t *value; /* that the plan was run with */
  Plan *plan;
} Realized;
void recall_record(PolyContext *ctx, const Realized *r);

void recall_free(PolyContext *ctx); /* while nodes still live */

/* ---- the engine of a context ---- */

enum { PLAN_BUCKETS = 1024, PLAN_LIMIT = 256, FORM_SETS = 256, FORM_WAYS = 4, FOLDED_PROGRAMS = 16 };

typedef struct Engine {
  PolyContext *ctx;
  Plan *newest, *oldest, *bucket[PLAN_BUCKETS];
  int nplan;
  PolyStep *steps;
  PolyBuffer stale; /* stands for memory that was overwritten, */
  PolyBuffer ended; /* and for the inputs of a trace that has ended */
  bool exact;       /* POLY_EXACT=1: no general plans */
  bool unrolled;    /* POLY_UNROLL=1: loops that were written out stay so */
  bool recalls;     /* POLY_NO_RECALL=1: every step is built */
  struct Recall *recall;
  Folded *folded[FOLDED_PROGRAMS];
  struct Form *form[FORM_SETS][FORM_WAYS];
  uint64_t form_clock;
  uint8_t widths[256]; /* forms that were made for last axes of their own: see form.c */
  int64_t plans_built, plans_reused, steps_recalled;
  /* values that do not change from step to step: keep.c */
  VEC(Kept) kept;
  size_t keep_bytes, keep_limit; /* POLY_KEEP; 0: nothing is kept */
  uint64_t keep_seen[KEEP_SEEN]; /* hashes of expressions that were met, */
  uint8_t keep_times[KEEP_SEEN]; /* and how often */
  uint64_t keep_clock;
  int64_t keep_before; /* number of the newest BUFFER at the last look */
  int keep_wait, keep_barren;
  bool keeping;
  bool dropping; /* assignments are computed one by one to find those that fail */
  Profile profile;
  PolyKernelStat counters; /* poly_counters */
} Engine;
bool engine_new(PolyContext *ctx);
void engine_drop_plans(PolyContext *ctx); /* while nodes still live */
void engine_free(PolyContext *ctx);
void steps_free(PolyContext *ctx);

#endif
