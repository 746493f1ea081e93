/* gpu_routines.h: the texts of gpu_routines.cl and cuda_split.cu, embedded when the library is built. Private to
 * src/runtime. */
#ifndef POLY_GPU_ROUTINES_H
#define POLY_GPU_ROUTINES_H

extern const char gpu_routines_text[], cuda_split_text[];

#endif
