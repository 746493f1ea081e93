/* cmath.h: the vector types and helper functions that rendered C needs, each written out once and only when it is asked
 * for.
 *
 * A helper is a template: one source text gives the scalar function and one function for every number of lanes, so that
 * a value never depends on whether its element fell into a vector or into the rest of a loop. */
#ifndef POLY_CMATH_H
#define POLY_CMATH_H

#include "base/base.h"
#include "ir/public.h"

/* What a value is computed in. Floats of 8 and 16 bits are computed in float, bool in C's _Bool or in masks. */
typedef enum Elem {
  ELEM_I8,
  ELEM_U8,
  ELEM_I16,
  ELEM_U16,
  ELEM_I32,
  ELEM_U32,
  ELEM_I64,
  ELEM_U64,
  ELEM_F32,
  ELEM_F64,
  ELEM_COUNT
} Elem;

enum { LANES_LOG2 = 6, /* of the most lanes a vector has */ MAX_HELPERS = 160 };

/* A short piece of text that is passed around by value. */
typedef struct Txt {
  char s[240];
} Txt;
Txt txt(const char *fmt, ...) PRINTF_LIKE(1, 2);
static inline Txt no_text(void) { return (Txt){{0}}; }

/* The text of types and functions asked for so far. */
typedef struct Helpers {
  Str types, code;
  bool failed; /* a helper that does not exist was asked for */
  uint8_t have_type[ELEM_COUNT][LANES_LOG2 + 1];
  uint8_t have[MAX_HELPERS][ELEM_COUNT][LANES_LOG2 + 1];
} Helpers;

int elem_size(Elem e);
Elem elem_signed(int bytes); /* signed integer of that size */
/* "float" for one lane, "f32x16" for 16; the typedef is added when it is new. */
Txt type_name(Helpers *h, Elem e, int lanes);
/* "f32", "f32x16": what names of helpers end in. */
Txt type_suffix(Elem e, int lanes);
/* Is there a helper of that name for values of that kind? */
bool helper_exists(const char *name, Elem e);
/* Adds the helper and all that it needs; returns the name to call. */
Txt helper(Helpers *h, const char *name, Elem e, int lanes);

#endif
