/* emit.h: what the files of the renderer share while one kernel is written. */
#ifndef POLY_EMIT_H
#define POLY_EMIT_H

#include "ir/lanes.h"
#include "render/cmath.h"
#include "render/render.h"

typedef struct Emit Emit;

/* What the dialects differ in. */
typedef struct Style {
  bool vectors;        /* LOOP_VECTOR becomes vector types; else it is ignored */
  bool groups;         /* a kernel is run by the threads of a grid of groups; else those marks are ignored */
  int warp;            /* threads that exchange values by themselves; 0: none */
  bool tensor;         /* they multiply tiles of matrices together (tensor.c) */
  bool pairs;          /* two neighbouring elements are loaded or stored at once, where a thread has two */
  bool writes_out;     /* its compiler writes a short loop out if it is told so: an array that it indexes is none */
  const char *boolean; /* the type of a bool */
  const char *float_suffix; /* of a function of <math.h>, for float32 */
  void (*open_program)(Str *out, const Target *target);
  void (*open_kernel)(Emit *e, const char *name); /* up to its arguments as p0, p1 .. and n0, n1 .. */
  void (*local)(Emit *e, int param); /* declares a local array as p2, where the iteration that it belongs to begins */
  /* Before a loop that threads share, from begin to end; NULL: loops stay on one. */
  void (*parallel)(Emit *e, int loop, const char *begin, const char *end);
  void (*close_program)(Str *out, int n, const Linear *const *kernel);
} Style;

/* A sum of products of a warp is written twice: with matrix instructions, and in plain loops where these cannot do it.
 */
typedef enum Products { PRODUCTS_NONE, PRODUCTS_TENSOR, PRODUCTS_PLAIN } Products;

struct Emit {
  PolyContext *ctx;
  const Style *style;
  const Linear *lin;
  Str *out;
  Helpers *help;
  Place *at;
  int *spread; /* of an instruction inside outer lanes: how deep in the text its lanes were spread, 0: not yet */
  int indent;
  bool pairs;          /* arguments begin at multiples of 16 bytes, and the dialect has pairs */
  bool parallel;       /* inside a loop that runs on several threads */
  bool fresh;          /* partial results of the vector loop hold nothing yet */
  bool group;          /* inside a loop that the threads of a group share */
  int strip, copy;     /* iterations of a loop that are written side by side, and which of them is being written */
  int strip_loop;      /* that loop, */
  bool strip_ends;     /* and the threads of a group share it, the last of whose strips is longer than what is left */
  int across;          /* the loop that neighbouring threads share, of which some have less than others; 0: none */
  int across_of;       /* and the loop of the grid whose iterations theirs are */
  int run_loop;        /* the loop whose loads stand before it, see runs.c; 0: none */
  Products products;   /* how the sum that is being written is formed */
  uint8_t *depth;      /* one an instruction, for turns.c, */
  int stage, stages;   /* which part of several turns is being written, of how many; 0: they are none */
  Txt turn;            /* number of the turn among them */
  int fours;           /* the loop whose iterations are run four at a time, see gpu.c; 0: none */
  int edges, edge;     /* the loop of which several iterations are written side by side, see edges.c, and which of them;
                        * edges 0: none */
  int nedges;          /* how many there are; */
  bool edges_end;      /* some of them may be beyond the end; */
  bool numbers;        /* the threads of a warp load numbers of theirs for each other */
  uint8_t *edge_stage; /* one an instruction, for edges.c */
  bool *room;          /* one an instruction, for vary */
  bool *vary;          /* of an instruction in such a loop: it differs from one to the next. NULL: there is none */
  int loop;            /* the vector loop being written, -1: none */
  int lanes, copies;   /* of the body being written; lanes is 1 in scalar code */
  int outer;           /* the loop of outer lanes being written, -1: none */
  bool wide;           /* writing what differs along the vector loop inside it */
};

_Static_assert(MAX_LANES == 1 << LANES_LOG2, "helpers have as many lanes as loops");

/* cstyle.c */
void line(Emit *e, const char *fmt, ...) PRINTF_LIKE(2, 3); /* one indented line */
void emit_scalar(Emit *e, int i);                           /* one instruction, a value for one iteration */
void emit_loop(Emit *e, int loop);                          /* one that is neither lanes, nor the grid's or a group's */
void emit_inner(Emit *e, int i);                            /* the same, or several of a strip or of lanes */
void emit_body(Emit *e, int from, int to);                  /* instructions from .. to-1, with the loops in them */
Txt kernel_name(int n, const Linear *const *kernel, int k); /* kernels of one name are told apart by a number */

/* dialects.c */
const Style *dialect_style(Dialect dialect); /* NULL: there is no such row */

/* gpu.c: dialects with grid and groups */
void opencl_open_program(Str *out, const Target *target);
void cuda_open_program(Str *out, const Target *target);
void opencl_open_kernel(Emit *e, const char *name);
void cuda_open_kernel(Emit *e, const char *name);
void gpu_local(Emit *e, int param);
void gpu_close_program(Str *out, int n, const Linear *const *kernel);
void emit_grid_loop(Emit *e, int loop);
bool emit_by_fours(Emit *e, int loop);
void emit_group_loop(Emit *e, int loop);
void emit_combine(Emit *e, int i);
void emit_fence(Emit *e, int i);
bool is_written_out(const Emit *e, int loop); /* is the compiler told to write all its iterations out? */
bool is_heavy(const Emit *e, int loop);
void emit_unroll(Emit *e, int loop);
bool stores_alone(const Emit *e, int i);
/* What is added to the index of a load that is made again in each iteration; it is 0. Empty: it need not. */
Txt loaded_again(const Emit *e, int i);

/* tensor.c: products of a warp by matrix instructions */
void tensor_words(Str *out, int n, const Linear *const *kernel); /* where one of them has such products */
bool has_products(const Linear *lin);
bool has_split_products(const Linear *lin); /* of four warps together */
bool emit_products(Emit *e, int loop);      /* a loop of them, or that has one inside; false: it is a plain one */
/* Is a LOAD or STORE inside a strip one of a copy that goes on while others are multiplied? Then the STORE does it. */
bool copies_ahead(const Emit *e, int i);
void emit_copy(Emit *e, int store);

/* strips.c: loops of which a thread takes several iterations side by side */
void emit_across(Emit *e, int loop);
void across_terms(Emit *e, int loop); /* what a thread has of them, */
void across_sums(Emit *e, int loop);  /* and what its neighbours have */
bool open_strip(Emit *e, int loop);   /* behind the loop variable; false: the loop is none of them */
void close_strip(Emit *e);
void emit_strip(Emit *e, int i); /* one instruction inside */

/* edges.c: loops of which several iterations are written side by side */
Txt edge_gate(const Emit *e);       /* is the one being written there? Empty: they all are */
bool emit_edges(Emit *e, int loop); /* false: it is none of them */

/* turns.c: turns in a loop of a group whose loads stand before what is computed of them */
int open_turns(Emit *e, int loop, int64_t turns, int *each); /* in how many stages, how many turns at once; 0: none */
/* One instruction, with `emit` if it is a load of the stage; false: it is to be written as ever. */
bool emit_stage(Emit *e, int i, void (*emit)(Emit *e, int i));

/* runs.c: neighbouring elements that a short loop loads, several together before it */
void open_run(Emit *e, int loop);
void close_run(Emit *e);
int index_base(const Emit *e, int i, int64_t *added); /* an integer without the constant that is added to it */
bool is_multiple(const Emit *e, int i, int n);        /* is the integer one of n, 2 or 4? */
bool is_run(const Emit *e, int i);                    /* is the value of this load there already, in an array? */
/* The load of a loop before this one whose array has its value, as element *k; -1: there is none. */
int run_before(const Emit *e, int i, int64_t *k);

/* pairs.c: the access of the element behind that of i, if both are made at once, or before it; -1: there is none */
int pair_second(const Emit *e, int i);
int pair_first(const Emit *e, int i);
void emit_load_pair(Emit *e, int i, int second);
void emit_store_pair(Emit *e, int first, int i);

/* quotient.c: can a division do without a look at the ranges of its operands? */
bool is_near_quotient(const Emit *e, int i);

/* expr.c */
Elem elem_of(PolyDType d);     /* what values of d are computed in; bool: ELEM_U8 */
Elem elem_memory(PolyDType d); /* what they are stored in */
Txt scalar_type(Emit *e, PolyDType d);
Txt edge_name(const Emit *e, int i);                  /* tells apart what stands in several of a loop's iterations */
Txt scalar_name(const Emit *e, int i);                /* the value of i as a scalar: a name or a constant */
Txt lanes_name(const Emit *e, int i, int copy);       /* the variable with the lanes of i, which vary */
Txt vector_name(Emit *e, int i, int copy);            /* the value of i as a vector, broadcast if it is uniform */
Txt vector_mask(Emit *e, int i, int copy, int bytes); /* a bool as a mask with lanes of that many bytes */
Txt identity_text(Op op, PolyDType d);
Txt alu_scalar(Emit *e, int i, const Txt src[3]);
Txt alu_vector(Emit *e, int i, int copy);                              /* empty: there is no vector form */
Txt muladd_text(Emit *e, PolyDType d, int lanes, Txt a, Txt b, Txt c); /* a*b + c, rounded once */
Txt combine_text(Emit *e, Op op, PolyDType d, int lanes, Txt a, Txt b);
Txt load_text(Emit *e, PolyDType d, int lanes, Txt x);  /* from the form in memory */
Txt store_text(Emit *e, PolyDType d, int lanes, Txt x); /* into it; masks have lanes of one byte */

/* ahead.c */
void emit_ahead(Emit *e, int loop); /* at the beginning of its body: prefetches of what a later iteration reads */

/* vecloop.c */
void emit_vector_loop(Emit *e, int loop);
void emit_lanes(Emit *e, int i); /* one instruction inside it, for all lanes and copies */
void open_partials(Emit *e);     /* partial results of the accumulators that the loop reduces to */
int next_partial(const Emit *e, int from);

/* veclanes.c */
void outer_level(Emit *e, bool wide); /* sets lanes and copies inside outer lanes */
void emit_outer_loop(Emit *e, int loop);
void emit_wide_loop(Emit *e, int loop);
void spread_sources(Emit *e, int i);
void forget_spread(Emit *e);

#endif
