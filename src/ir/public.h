/* public.h: the public API as the library sees it: types and codes of include/polygrad.h, and functions under their
 * public names, by which the library means the unchecked ones (see api/guard.h). */
#ifndef POLY_PUBLIC_H
#define POLY_PUBLIC_H

#include "polygrad.h"

#include "ir/names.h" /* changes what the names above mean */

#endif
