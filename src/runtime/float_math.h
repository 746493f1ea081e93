/* float_math.h: the elementary functions of float32 that rendered kernels have code of their own for, as functions. The
 * build writes them from the templates of src/render/cfloat.c (tools/float_math.c), so that the interpreter and
 * compiled kernels give the same bits. Every other function is the C library's, in both. */
#ifndef POLY_FLOAT_MATH_H
#define POLY_FLOAT_MATH_H

#define DECLARE_OWN(function) float float_##function(float x);
#define DECLARE_LIBRARY(function)
#define E(...)
#define FN(name, cost, props, function, code) DECLARE_##code(function)
#include "ir/ops.def"
#undef DECLARE_OWN
#undef DECLARE_LIBRARY
float float_pow(float x, float y);

#endif
