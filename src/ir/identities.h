/* identities.h: the table behind simplify_pass, for the test that walks it. */
#ifndef POLY_IDENTITIES_H
#define POLY_IDENTITIES_H

#include "ir/rewrite.h"

extern const Identity identities[];
extern const int identity_count;

#endif
