/* gpu_routines.h: the text of gpu_routines.cl, embedded when the library is built. Private to src/runtime. */
#ifndef POLY_GPU_ROUTINES_H
#define POLY_GPU_ROUTINES_H

extern const char gpu_routines_text[];

#endif
