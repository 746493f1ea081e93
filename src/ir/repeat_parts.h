/* repeat_parts.h: what the files of repeat.h share. */
#ifndef POLY_REPEAT_PARTS_H
#define POLY_REPEAT_PARTS_H

#include "ir/repeat.h"
#include "ir/scan.h"

enum { REPEAT_LEAST_TERMS = 4 /* of a sum or a join of copies: fewer stay as they are */ };

/* A program while copies are looked for in it. Slots of nodes hold until something is built. */
typedef struct Written {
  PolyContext *ctx;
  Arena *arena;
  int nroot;
  UOp **root;
  int least; /* copies that are worth a loop */
  Walk walk;
  uint64_t *mask;       /* loops that each node is inside of: what is inside is left alone */
  uint64_t *own, *deep; /* hashes of each node by itself, and with what is below it */
  int depth;            /* of the latter */
  int nloop;
  int64_t next_id; /* of a loop */
} Written;

bool written_read(Written *p);
void written_renumber(const Written *p); /* once something was built: slots as in the walk */
/* Ops whose results are stored as a rule, before what is made of them. */
static inline bool repeat_stores(const UOp *u) {
  return u->op == OP_REDUCE || u->op == OP_SEGMENT || u->op == OP_GATHER || u->op == OP_LIBRARY;
}
/* Sources that are values, which the copies may differ in: from `first` on. */
int repeat_values(const UOp *u, int *first);

typedef enum PlaceKind {
  PLACE_SAME,    /* one node in all copies */
  PLACE_INSIDE,  /* equal over other sources */
  PLACE_CARRIED, /* a copy has what the copy before computed */
  PLACE_ROWS,    /* parts of one value, at regular distances */
  PLACE_STATES,  /* rows of a carried value's states, the first of which is what its loop begins with */
  PLACE_LISTED   /* values of the copies' own, which are joined */
} PlaceKind;

typedef struct Place {
  UOp **at; /* the node of each copy; NULL in the last ones: nobody needs it */
  PlaceKind kind;
  int *src;    /* INSIDE: places of its values */
  int out;     /* CARRIED: place of the new value */
  UOp *states; /* STATES: whose rows from + step * copy */
  int axis;    /* ROWS: of the parts, which begin at from + step * copy */
  int64_t from, step;
  bool on_carry; /* INSIDE: it depends on a carried value, */
  bool heavy;    /* it has a reduction, */
  bool per_edge; /* it has a value of each edge */
  int order;     /* slot of a middle node */
  int number;    /* of its ARGUMENT */
  UOp *body;     /* what it is in the loop */
} Place;

typedef struct Match {
  Written *p;
  int n;            /* copies */
  const int *level; /* of each node: the last copy that it depends on; NULL: none */
  UOp *carried;     /* by the chain; NULL: there is none */
  VEC(Place *) places;
  Map index; /* of places by their nodes */
  VEC(int) queue;
  int *order;   /* of the places: sources first */
  int64_t left; /* nodes that may be looked at */
  int bad;      /* the copy that does not fit; -1: none does */
} Match;

/* Matches n copies that carry chain[0 .. n-1] and make chain[1 .. n]; or, without level, n values of copies. False
 * without an error: they are not copies; bad says which one differs. */
bool match_chain(Match *m, UOp *const *chain);
bool match_values(Match *m, UOp *const *value);
void match_free(Match *m);
/* Is it worth a loop? False: the copies fuse better as they are. */
bool match_is_worth(const Match *m);

/* The places' values in a loop `s`, whose rows and free values are filled in; reversed where rows are. */
bool match_body(Match *m, Scan *s);

/* The program with the loop in place of the copies. */
bool repeat_loop(Match *m);
/* Sums of at least four copies become one sum. changed: some did. */
bool repeat_sums(Written *p, bool *changed);

#endif
