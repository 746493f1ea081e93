/* safetensors.h: the header of a safetensors file, as entries. Split so that reading hostile text (safejson.c) needs
 * neither files nor tensors. */
#ifndef POLY_SAFETENSORS_H
#define POLY_SAFETENSORS_H

#include "ir/uop.h"

typedef struct SafeEntry {
  char *name;
  PolyDType dtype;
  int ndim;
  int64_t shape[MAX_DIMS];
  int64_t begin, end; /* bytes, from the end of the header */
} SafeEntry;

typedef struct SafeHeader {
  Base *b;
  VEC(SafeEntry) entry;
} SafeHeader;

/* Reads the JSON text of n bytes and checks every rule of the format against a file with data_bytes bytes of data:
 * known dtypes, sizes that match shapes, unique names, data covered without holes or overlaps. False: POLY_ERROR_IO
 * with the reason; h is to be freed in any case. */
bool safe_header_parse(SafeHeader *h, const char *text, size_t n, int64_t data_bytes);
void safe_header_free(SafeHeader *h);

const char *safe_dtype_name(PolyDType d);
/* Valid UTF-8 without NUL, so that it can be a name. */
bool safe_name_valid(const char *s, size_t n);

#endif
