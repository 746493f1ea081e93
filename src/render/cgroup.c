/* cgroup.c: helper templates for the threads of a group: combining what each of them has. The words in capitals are the
 * dialect's (gpu.c). */
#include "render/ctemplate.h"

#include <stddef.h>

/* a and b: what two threads have, the own value v of thread t and w. A sum has the same bits in either order; of two
 * zeros the larger one has not: there a is what the lower thread has, so that all threads have the same bits. */
#define EITHER "a = v, b = w"
#define LOWER_FIRST "a = t & o ? w : v, b = t & o ? v : w"

/* In a fixed tree: neighbours at half the distance, a quarter, and so on. Of several warps one after the other. */
#define COMBINE(name, kind, both, order)                                                                               \
  {                                                                                                                    \
    "group_" name, kind,                                                                                               \
        "$T @group_" name "($T v, int t, int n, LOCAL void *room) {\n"                                                 \
        "  LOCAL $T *const r = (LOCAL $T *)room;\n"                                                                    \
        "  for (int o = (n < WARP ? n : WARP) / 2; o; o /= 2) {\n"                                                     \
        "    const $T w = SHUFFLE(v, o, (n < WARP ? n : WARP)), " order ";\n"                                          \
        "    v = " both ";\n  }\n"                                                                                     \
        "  if (n <= WARP) return v;\n"                                                                                 \
        "  if (t % WARP == 0) r[t / WARP] = v;\n"                                                                      \
        "  FENCE(n);\n"                                                                                                \
        "  for (int o = n / WARP / 2; o; o /= 2) {\n"                                                                  \
        "    if (t < o) {\n      const $T a = r[t], b = r[t + o];\n      r[t] = " both ";\n    }\n"                    \
        "    FENCE(n);\n  }\n"                                                                                         \
        "  v = r[0];\n  FENCE(n);\n  return v;\n}"                                                                     \
  }

/* The same where the threads of the groups of a block alternate: thread t of n, one of `pack` groups. No fence stands
 * in a condition: compilers that make loops of fences take very long over those. */
#define SPREAD(name, kind, both)                                                                                       \
  {                                                                                                                    \
    "spread_" name, kind,                                                                                              \
        "$T @spread_" name "($T v, int t, int n, LOCAL void *room, int pack) {\n"                                      \
        "  LOCAL $T *const r = (LOCAL $T *)room + THREAD % pack;\n"                                                    \
        "  r[t * pack] = v;\n"                                                                                         \
        "  FENCE(n * pack);\n"                                                                                         \
        "  for (int o = n / 2; o; o /= 2) {\n"                                                                         \
        "    if (t < o) {\n"                                                                                           \
        "      const $T a = r[t * pack], b = r[(t + o) * pack];\n"                                                     \
        "      r[t * pack] = " both ";\n    }\n"                                                                       \
        "    FENCE(n * pack);\n  }\n"                                                                                  \
        "  v = r[0];\n  FENCE(n * pack);\n  return v;\n}"                                                              \
  }

/* The same where the threads of all of them lie in one warp. */
#define LANES(name, kind, both, order)                                                                                 \
  {                                                                                                                    \
    "lanes_" name, kind,                                                                                               \
        "$T @lanes_" name "($T v, int n, int pack) {\n"                                                                \
        "  const int t = THREAD;\n"                                                                                    \
        "  for (int o = n * pack / 2; o >= pack; o /= 2) {\n"                                                          \
        "    const $T w = SHUFFLE(v, o, n * pack), " order ";\n"                                                       \
        "    v = " both ";\n  }\n"                                                                                     \
        "  return v;\n}"                                                                                               \
  }

/* Of n threads side by side. All threads of the warp come here, which spares the look who else does. */
#define NEAR(name, kind, both, order)                                                                                  \
  {                                                                                                                    \
    "near_" name, kind,                                                                                                \
        "$T @near_" name "($T v, int n) {\n"                                                                           \
        "  for (int o = n / 2; o; o /= 2) {\n"                                                                         \
        "    const $T w = SHUFFLE(v, o, WARP), " order ";\n"                                                           \
        "    v = " both ";\n  }\n"                                                                                     \
        "  return v;\n}"                                                                                               \
  }

/* The same in a block of several warps: each combines its own part, then all threads the parts, in their order. */
#define WARPS(name, kind, both, order)                                                                                 \
  {                                                                                                                    \
    "warps_" name, kind,                                                                                               \
        "$T @warps_" name "($T v, int warps, LOCAL void *room, int pack) {\n"                                          \
        "  LOCAL $T *const r = (LOCAL $T *)room + THREAD % pack;\n"                                                    \
        "  const int t = THREAD;\n"                                                                                    \
        "  for (int o = WARP / 2; o >= pack; o /= 2) {\n"                                                              \
        "    const $T w = SHUFFLE(v, o, WARP), " order ";\n"                                                           \
        "    v = " both ";\n  }\n"                                                                                     \
        "  if (THREAD % WARP < pack) r[THREAD / WARP * pack] = v;\n"                                                   \
        "  FENCE(warps * WARP);\n"                                                                                     \
        "  v = r[0];\n"                                                                                                \
        "  for (int k = 1; k < warps; k++) {\n    const $T a = v, b = r[k * pack];\n    v = " both ";\n  }\n"          \
        "  FENCE(warps * WARP);\n  return v;\n}"                                                                       \
  }
#define BOTH(name, kind, both, order)                                                                                  \
  COMBINE(name, kind, both, order), SPREAD(name, kind, both), LANES(name, kind, both, order),                          \
      WARPS(name, kind, both, order)

const HelperText group_helpers[] = {
    /* of numbers that are not negative: seldom do they need 64 bits, whose division is several times as long */
    {"quotient", KIND_SIGNED,
     "$T @quotient($T a, $T b) { return (a | b) >> 31 ? a / b : ($T)((uint32_t)a / (uint32_t)b); }"},
    {"remainder", KIND_SIGNED,
     "$T @remainder($T a, $T b) { return (a | b) >> 31 ? a % b : ($T)((uint32_t)a % (uint32_t)b); }"},
    BOTH("add", KIND_ANY, "($T)(a + b)", EITHER),
    NEAR("add", KIND_ANY, "($T)(a + b)", EITHER),
    BOTH("mul", KIND_ANY, "($T)(a * b)", EITHER),
    BOTH("max", KIND_ANY, "@max(a, b)", LOWER_FIRST),
    BOTH("min", KIND_ANY, "@min(a, b)", LOWER_FIRST),
    BOTH("or", KIND_INT, "($T)(a | b)", EITHER),
    BOTH("and", KIND_INT, "($T)(a & b)", EITHER),
    {NULL, KIND_ANY, NULL},
};
