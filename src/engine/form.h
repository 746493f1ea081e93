/* form.h: a program up to its numbers. The form of a canonical program has its ops, dtypes, ranks, sharing, and which
 * sizes are 0 or 1; sizes, bounds of slices and scalar constants are examples (samples) of what may stand there.
 *
 *   form.c          forms of programs, found again by their structure
 *   form_sizes.c    which sizes of a form must be equal
 *   form_program.c  the program of a form: what differs among its samples is a variable */
#ifndef POLY_FORM_H
#define POLY_FORM_H

#include "engine/engine.h"

enum {
  FORM_SAMPLES = 8 /* programs from which a form has learned what varies; one that needs more is planned exactly */
};

/* A source of a node: another node, or a number. */
typedef struct FormEdge {
  int node; /* -1: a number */
  uint8_t dtype;
  int hole;  /* of a number that varies by itself: its place among the holes, else -1 */
  UOp *size; /* a number that follows from the variables, else NULL; neither: as in every sample */
} FormEdge;

typedef struct FormNode {
  uint16_t op;
  uint8_t dtype, ndim;
  int nsrc;
  int edge; /* first of its sources */
  int axis; /* first of its axes */
  UArg arg;
  const char *origin;   /* as in UOp */
  uint16_t zeros, ones; /* axes of these sizes */
  uint16_t symbolic;    /* axes whose size was symbolic before */
} FormNode;

typedef enum HoleKind { HOLE_SIZE, HOLE_OFFSET, HOLE_SCALAR } HoleKind;

/* A variable of the general program: the size of an axis, or the number at a source. */
typedef struct FormHole {
  HoleKind kind;
  int node, at; /* axis or source of the node */
  UOp *var;
} FormHole;

/* The size of an axis that the general program takes for another: they must be equal in each run. */
typedef struct FormCast {
  int node, axis;
  UOp *size;
} FormCast;

typedef struct Form {
  PolyContext *ctx;
  uint64_t hash, used;
  Arena arena;
  int nnode, nedge, naxis, nsample;
  int nroot, ninput, nvar; /* as in Canon */
  FormNode *node;          /* sources before users; the last one has the roots as its sources */
  FormEdge *edge;
  int64_t *sample[FORM_SAMPLES]; /* of axes, then of sources */
  /* the general program, once two samples are known */
  bool general, failed;
  int nhole, ncast;
  FormHole *hole;
  FormCast *cast;
  UOp **root, **var;
  VEC(UOp *) held;
} Form;

static inline const FormEdge *form_src(const Form *f, const FormNode *n, int k) { return &f->edge[n->edge + k]; }
static inline int64_t form_axis_value(const Form *f, int s, const FormNode *n, int d) {
  return f->sample[s][n->axis + d];
}
static inline int64_t form_src_value(const Form *f, int s, const FormNode *n, int k) {
  return f->sample[s][f->naxis + n->edge + k];
}
/* Which axis of the node source k is the size of; -1: none. */
int form_size_axis(const FormNode *n, int k);

/* ---- form_sizes.c ---- */

/* Axes of a RESHAPE that are rearranged among themselves: [in, in_end) of the source become [out, out_end). */
typedef struct AxisGroup {
  int in, in_end, out, out_end;
} AxisGroup;
/* Axes of size 1 belong to the group before them. Returns the number of groups. */
int form_groups(const Form *f, const FormNode *n, AxisGroup *group);
/* cls[a]: the axis that stands for all which must have the same size as axis a. */
bool form_classes(const Form *f, Arena *arena, int **cls);

/* ---- form_program.c ---- */

/* Builds the general program. False without an error: it has ops that are not known here. */
bool form_generalise(Form *f);

#endif
