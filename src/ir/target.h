/* target.h: where code will run, in numbers. A device gives a Target; schedule, codegen and render read it and know
 * nothing else of devices: no pass asks which device it is, it asks for the number that it needs. */
#ifndef POLY_TARGET_H
#define POLY_TARGET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Target {
  bool host;   /* its memory is the host's: kernels and the program see the same addresses */
  bool vector; /* can run LOOP_VECTOR as lanes */
  bool matmul; /* has a matrix product of its own for float32 */
} Target;

#endif
