/* float_math.h: the elementary functions of float32 that rendered kernels have code of their own for, as functions. The
 * build writes them from the templates of src/render/cfloat.c (tools/float_math.c), so that the interpreter and
 * compiled kernels give the same bits. Every other function is the C library's, in both. */
#ifndef POLY_FLOAT_MATH_H
#define POLY_FLOAT_MATH_H

float float_exp(float x);
float float_exp2(float x);
float float_expm1(float x);
float float_log(float x);
float float_log2(float x);
float float_log1p(float x);
float float_sin(float x);
float float_cos(float x);
float float_tanh(float x);
float float_erf(float x);
float float_pow(float x, float y);

#endif
