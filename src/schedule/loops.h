/* loops.h: loops over steps in a schedule. Internal to the schedule but for Loop, which an item of a loop carries.
 *
 * Before anything else is decided, each SCAN of a program is closed: what its body reads from outside becomes a list of
 * operands, and the body a program of its own over numbered inputs, which is scheduled by itself. */
#ifndef POLY_LOOPS_H
#define POLY_LOOPS_H

#include "schedule/schedule.h"

typedef VEC(Loop *) LoopVec;

/* root, in which each loop is a CLOSED and what is read of it RESULTs, into `out`; the loops into `loops`, where
 * CLOSED's argument says which. An error if something of a body is read outside of it. */
bool loops_close(PolyContext *ctx, Arena *arena, int nroot, UOp *const *root, LoopVec *loops, UOp **out);
static inline Loop *loop_at(const LoopVec *loops, const UOp *result) { return loops->at[result->src[0]->arg.i]; }

#endif
