/* partition.c: parts of a graph by METIS, from the system's library (Debian and Ubuntu: libmetis5). It is opened when
 * first used, so that nothing else needs it. METIS wants a graph without directions, loops and repeated edges, with
 * rows in its own integers, which are of 32 or 64 bits as it was built. */
#include "graph/graph.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <string.h>

enum { METIS_OPTIONS = 40, METIS_OK = 1 };

typedef int (*Part)(void *vertices, void *constraints, void *rowptr, void *col, void *vertex_weight, void *vertex_size,
                    void *edge_weight, void *parts, void *target, void *balance, void *options, void *cut, void *part);

typedef struct Metis {
  Part kway, recursive;
  bool wide; /* are its integers of 64 bits? */
} Metis;

static void *open_metis(void) {
  static const char *const name[] = {"libmetis.so.5", "libmetis.so", "libmetis.dylib"};
  void *lib = NULL;
  for (int k = 0; k < LEN(name) && !lib; k++) lib = dlopen(name[k], RTLD_NOW | RTLD_LOCAL);
  return lib;
}

/* Its options are 40 integers, set to -1 by a function: how far it writes says how wide they are. */
static bool find_width(void *lib, Metis *m) {
  int32_t options[2 * METIS_OPTIONS] = {0};
  int (*set)(int32_t *);
  *(void **)&set = dlsym(lib, "METIS_SetDefaultOptions");
  if (!set || set(options) != METIS_OK) return false;
  m->wide = options[2 * METIS_OPTIONS - 1] == -1;
  return true;
}

static bool load_metis(Base *b, Metis *m) {
  void *lib = open_metis();
  if (!lib)
    return base_fail(b, POLY_ERROR_RUNTIME,
                     "METIS was not found: install the system's library (Debian, Ubuntu: apt install libmetis5; macOS: "
                     "brew install metis)");
  *(void **)&m->kway = dlsym(lib, "METIS_PartGraphKway");
  *(void **)&m->recursive = dlsym(lib, "METIS_PartGraphRecursive");
  return (m->kway && m->recursive && find_width(lib, m)) ||
         base_fail(b, POLY_ERROR_RUNTIME, "the METIS library found here is not of version 5");
}

/* ---- its arrays ---- */

static void put(const Metis *m, void *array, int64_t at, int64_t value) {
  if (m->wide)
    ((int64_t *)array)[at] = value;
  else
    ((int32_t *)array)[at] = (int32_t)value;
}

static int64_t get(const Metis *m, const void *array, int64_t at) {
  return m->wide ? ((const int64_t *)array)[at] : ((const int32_t *)array)[at];
}

static bool run_metis(Base *b, const Metis *m, const RowView *rows, int64_t n, int64_t edges, int64_t parts,
                      bool recursive, int64_t *out) {
  size_t width = m->wide ? sizeof(int64_t) : sizeof(int32_t), count = (size_t)(n + 1 + edges + n);
  char *memory = mem_resize(b, NULL, 0, count * width);
  if (!memory) return false;
  char *rowptr = memory, *col = rowptr + (size_t)(n + 1) * width, *part = col + (size_t)edges * width;
  for (int64_t v = 0; v <= n; v++) put(m, rowptr, v, rows->rowptr[v]);
  for (int64_t e = 0; e < edges; e++) put(m, col, e, rows->other[e]);
  int64_t vertices = 0, constraints = 0, num = 0, cut = 0;
  put(m, &vertices, 0, n);
  put(m, &constraints, 0, 1);
  put(m, &num, 0, parts);
  int status = (recursive ? m->recursive : m->kway)(&vertices, &constraints, rowptr, col, NULL, NULL, NULL, &num, NULL,
                                                    NULL, NULL, &cut, part);
  for (int64_t v = 0; status == METIS_OK && v < n; v++) out[v] = get(m, part, v);
  mem_free(b, memory, count * width);
  return status == METIS_OK || base_fail(b, POLY_ERROR_RUNTIME, "METIS failed with status %d", status);
}

/* Without directions, loops and repeats. */
static PolyGraph *simple_graph(PolyGraph *g) {
  PolyGraph *bare = poly_graph_without_self_loops(g);
  PolyGraph *both = bare ? poly_graph_undirected(bare) : NULL;
  PolyGraph *once = both ? poly_graph_coalesced(both) : NULL;
  poly_graph_free(both);
  poly_graph_free(bare);
  return once;
}

PolyStatus poly_graph_partition(PolyGraph *g, int64_t parts, bool recursive, int64_t *out) {
  if (!g || !out) return POLY_ERROR_VALUE;
  Base *b = ctx_base(g->ctx);
  int64_t n = g->num_nodes[DST];
  Metis m = {0};
  if (g->num_nodes[SRC] != n || parts < 1) {
    base_fail(b, POLY_ERROR_VALUE, "%" PRId64 " parts of a graph of %" PRId64 " to %" PRId64 " nodes", parts,
              g->num_nodes[SRC], n);
    return b->code;
  }
  if (!load_metis(b, &m)) return b->code;
  PolyGraph *simple = simple_graph(g);
  RowView rows;
  bool ok = simple && graph_view_rows(simple, DST, &rows);
  if (ok && (parts == 1 || parts >= n || !simple->num_edges))
    for (int64_t v = 0; v < n; v++) out[v] = parts >= n ? v : v * parts / n; /* nothing to choose */
  else if (ok)
    ok = run_metis(b, &m, &rows, n, simple->num_edges, parts, recursive, out);
  poly_graph_free(simple);
  return ok ? POLY_OK : b->code;
}
