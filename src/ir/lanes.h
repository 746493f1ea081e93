/* lanes.h: an analysis of a linear kernel: what lanes mean for each instruction in a loop that is marked for them.
 * Codegen chooses widths by it, renderers print by it. */
#ifndef POLY_LANES_H
#define POLY_LANES_H

#include "ir/linear.h"
#include "ir/target.h"

/* Lanes of two loops: iterations of the outer one, and of both. */
enum { MOST_OUTER_LANES = 32, MOST_WIDE_LANES = 256 };

/* What is known of an instruction, about the vector loop that it is in. */
typedef struct Place {
  int end;                          /* LOOP: the place of its END */
  int inside;                       /* the vector loop around it, -1: none */
  bool vary;                        /* differs from lane to lane */
  bool vector;                      /* its lanes are needed as a vector */
  bool base;                        /* its value at lane 0 is needed as a scalar */
  bool affine;                      /* an int64 that is base + lane * slope */
  bool affine_compare, affine_cast; /* computed from such sources at lane 0, in int32 */
  uint8_t mask;                     /* bool: bytes of a lane of the mask */
  int64_t slope;
  int outer; /* the loop of outer lanes around it, -1: none */
  bool wide; /* differs along the vector loop inside that */
} Place;

/* One an instruction, in the arena. lanes: false for a dialect that ignores the marks. NULL: no memory. O(instructions
 * of vector loops) times the depth of their dependences. */
Place *lanes_analyse(Arena *arena, const Linear *lin, bool lanes);

int64_t lane_stride(const Linear *lin, const Place *at,
                    int i); /* of a LOAD or STORE; STRIDE_NONE: its index is a vector */
/* Does it update an accumulator from outside the vector loop? */
bool outer_acc(const Linear *lin, const Place *at, int update);
/* Do loops of so many heads and features fill lanes of two loops with float32, sums over the features included? */
bool lanes_of_two(const Target *target, const UOp *heads, const UOp *features);
int lane_size(PolyDType d); /* bytes of a lane in a register: half types are computed in float32 */

bool loop_trip(const Linear *lin, int loop, int64_t *begin, int64_t *end); /* constant bounds */
int64_t loop_trips(const Linear *lin, int loop);                           /* 0: they are not constant */

#endif
