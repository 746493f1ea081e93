/* ctemplate.h: the tables of helper templates. See cmath.c for what may stand in a template. */
#ifndef POLY_CTEMPLATE_H
#define POLY_CTEMPLATE_H

typedef enum HelperKind {
  KIND_ANY,
  KIND_INT,
  KIND_SIGNED,
  KIND_UNSIGNED,
  KIND_I32,
  KIND_I64,
  KIND_FLOAT,
  KIND_F32,
  KIND_F64
} HelperKind;

/* A helper for the kinds of elements that it is right for. The first row that fits is taken. */
typedef struct HelperText {
  const char *name;
  HelperKind kind;
  const char *text;
} HelperText;

extern const HelperText basic_helpers[]; /* chelp.c; ends with a NULL name */
extern const HelperText float_helpers[]; /* cfloat.c */
extern const HelperText group_helpers[]; /* cgroup.c */

#endif
