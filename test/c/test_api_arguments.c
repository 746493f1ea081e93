/* test_api_arguments.c: every public function with every argument wrong in turn. What would be wrong if it failed: a
 * bad argument crashes, or is refused without an error that names the function and the argument.
 *
 * The calls and their arguments are in api_calls.h, which is generated from the header: a new function is tested
 * without being mentioned here. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "polygrad.h"

typedef union Arg {
  void *p;
  int64_t i;
  double d;
} Arg;

typedef struct Result {
  void *p;
  const char *kind; /* of a handle */
  char *text;
} Result;

typedef struct Param {
  const char *name;
  /* H and a kind: a handle; L and a kind: an array of handles; A other arrays; X index; S text; N number of entries of
   * an array; I other integers; D double; B bool; C char; T dtype; E other enumerations */
  const char *what;
  bool needed; /* a pointer that may not be NULL */
} Param;

typedef struct Call {
  const char *name;
  bool (*call)(const Arg *a, Result *r);
  int n;
  bool fails; /* the result says whether the call has failed */
  Param param[12];
} Call;

#include "api_calls.h"

/* ---- a handle of each kind ---- */

enum { KINDS = 10 };
static const char *const kinds[KINDS] = {"CONTEXT", "TENSOR", "GRAPH", "VERTEX",  "NBS",
                                         "OPTIM",   "STEP",   "FILE",  "SAMPLER", "SAMPLE"};

typedef struct World {
  void *handle[KINDS];
  PolyContext *ctx;
  PolyTensor *list[4];
  int64_t numbers[512];
  PolyIndex index[4];
  char path[64];
} World;

static int kind_of(const char *name) {
  for (int k = 0; k < KINDS; k++)
    if (!strcmp(kinds[k], name)) return k;
  fail_msg("unknown kind of handle %s", name);
  return -1;
}

static PolyTensor *ones(PolyContext *ctx) { return poly_ones(ctx, POLY_FLOAT32, 2, (int64_t[]){2, 2}); }

static void write_file(World *w) {
  snprintf(w->path, sizeof w->path, "/tmp/polygrad-arguments-%ld", (long)getpid());
  const char *name = "x";
  PolyTensor *t = ones(w->ctx);
  assert_int_equal(poly_safe_save(w->ctx, w->path, &name, &t, 1), POLY_OK);
  poly_free(t);
}

static void open_world(World *w) {
  memset(w, 0, sizeof *w);
  PolyContext *ctx = w->ctx = poly_context_new();
  assert_non_null(ctx);
  assert_int_equal(poly_set_device(ctx, "INTERP"), POLY_OK);
  PolyTensor *x = ones(ctx);
  poly_set_requires_grad(x, true);
  poly_realize(x);
  for (int k = 0; k < 4; k++) {
    w->list[k] = x;
    w->index[k] = (PolyIndex){.kind = 'i'};
  }
  int64_t ends[2] = {0, 1}, nodes[1] = {2};
  PolyGraph *g = poly_graph_from_coo(ctx, ends, ends, POLY_INT64, 2, 2, 2);
  PolyTensor *y = poly_add_scalar(x, 1);
  write_file(w);
  PolySampler *s = poly_sampler_new(NULL, 1, nodes);
  PolyRelation r = {.dtype = POLY_INT64, .num_edges = 2, .src = ends, .dst = ends};
  assert_int_equal(poly_sampler_add(s, &r, 1), POLY_OK);
  void *made[KINDS] = {ctx,
                       x,
                       g,
                       NULL,
                       NULL,
                       poly_sgd(&x, 1, 0.1, 0, 0, false),
                       poly_step_new(&x, 1, &y, 1, NULL, 0),
                       poly_safe_open(ctx, w->path),
                       s,
                       poly_sample_new(s)};
  memcpy(w->handle, made, sizeof made);
  poly_free(y);
  PolyVertex *v = poly_zoom_in(g);
  w->handle[3] = v;
  w->handle[4] = poly_innbs(v);
  for (int k = 0; k < KINDS; k++)
    if (!w->handle[k]) fail_msg("no %s: %s", kinds[k], poly_error_text(ctx));
}

static void close_world(World *w) {
  poly_zoom_out(w->handle[3], NULL);
  poly_optim_free(w->handle[5]);
  poly_step_free(w->handle[6]);
  poly_safe_close(w->handle[7]);
  poly_sample_free(w->handle[9]);
  poly_sampler_free(w->handle[8]);
  poly_context_free(w->ctx);
  unlink(w->path);
}

/* ---- calls ---- */

static Arg good(World *w, const Param *p) {
  switch (p->what[0]) {
  case 'H': return (Arg){.p = w->handle[kind_of(p->what + 1)]};
  case 'L': return (Arg){.p = w->list};
  case 'X': return (Arg){.p = w->index};
  case 'S': return (Arg){.p = (void *)"sum"};
  case 'A': return (Arg){.p = w->numbers};
  case 'D': return (Arg){.d = 0.5};
  case 'C': return (Arg){.i = 'i'};
  case 'T': return (Arg){.i = POLY_FLOAT32};
  case 'N': return (Arg){.i = 1};
  default: return (Arg){.i = 0};
  }
}

static void drop(PolyContext *ctx, const Result *r) {
  if (r->text) poly_text_free(ctx, r->text);
  if (!r->p) return;
  if (!strcmp(r->kind, "TENSOR")) poly_free(r->p);
  if (!strcmp(r->kind, "GRAPH")) poly_graph_free(r->p);
  if (!strcmp(r->kind, "OPTIM")) poly_optim_free(r->p);
  if (!strcmp(r->kind, "STEP")) poly_step_free(r->p);
  if (!strcmp(r->kind, "FILE")) poly_safe_close(r->p);
  if (!strcmp(r->kind, "SAMPLE")) poly_sample_free(r->p);
  if (!strcmp(r->kind, "SAMPLER")) poly_sampler_free(r->p);
}

/* Calls c with bad in the place of argument k: it must be refused, with an error that names function and argument. */
static void refused(World *w, const Call *c, int k, Arg bad, const char *how) {
  Arg a[12];
  Result r = {0};
  for (int i = 0; i < c->n; i++) a[i] = i == k ? bad : good(w, &c->param[i]);
  poly_clear_error(w->ctx);
  bool ok = c->call(a, &r);
  if (c->fails && ok) fail_msg("%s with %s %s was not refused", c->name, c->param[k].name, how);
  PolyStatus code = poly_error_code(w->ctx), own = poly_error_code(NULL);
  const char *text = code ? poly_error_text(w->ctx) : poly_error_text(NULL);
  if (!code && !own) fail_msg("%s with %s %s left no error", c->name, c->param[k].name, how);
  if (!strstr(text, c->name) || !strstr(text, c->param[k].name))
    fail_msg("%s with %s %s: \"%s\" does not name it", c->name, c->param[k].name, how, text);
  poly_clear_error(w->ctx);
}

static void null_pointers(void **state) {
  World *w = *state;
  for (int i = 0; i < (int)(sizeof calls / sizeof calls[0]); i++)
    for (int k = 0; k < calls[i].n; k++) {
      const Param *p = &calls[i].param[k];
      if (p->needed && strchr("HLXSA", p->what[0])) refused(w, &calls[i], k, (Arg){.p = NULL}, "NULL");
    }
}

/* Handles that were freed, of another kind, of another context; addresses that never were a handle. */
static void bad_handles(void **state) {
  World *w = *state;
  PolyContext *other = poly_context_new();
  PolyTensor *far = ones(other), *freed = ones(w->ctx);
  poly_free(freed); /* last: nothing is made afterwards that could get its address */
  for (int i = 0; i < (int)(sizeof calls / sizeof calls[0]); i++) {
    const Call *c = &calls[i];
    int contexts = 0;
    for (int k = 0; k < c->n; k++)
      contexts += c->param[k].what[0] == 'L' || (c->param[k].what[0] == 'H' && !strstr(c->param[k].what, "SAMPLE"));
    for (int k = 0; k < c->n; k++) {
      const char *what = c->param[k].what;
      if (what[0] == 'L') {
        void *list[4] = {freed, w->list[0], w->list[0], w->list[0]};
        refused(w, c, k, (Arg){.p = list}, "with a freed tensor");
        list[0] = NULL;
        refused(w, c, k, (Arg){.p = list}, "with NULL in it");
      }
      if (what[0] != 'H') continue;
      refused(w, c, k, (Arg){.p = &w->numbers[100]}, "that is no handle");
      refused(w, c, k, (Arg){.p = (void *)(uintptr_t)7}, "that is no address");
      refused(w, c, k, (Arg){.p = w->handle[(kind_of(what + 1) + 1) % KINDS]}, "of another kind");
      if (!strcmp(what, "HTENSOR")) refused(w, c, k, (Arg){.p = freed}, "that was freed");
      if (!strcmp(what, "HTENSOR") && contexts > 1 && k > 0) refused(w, c, k, (Arg){.p = far}, "of another context");
    }
  }
  poly_context_free(other);
}

static void negative_counts_and_enumerations(void **state) {
  World *w = *state;
  for (int i = 0; i < (int)(sizeof calls / sizeof calls[0]); i++)
    for (int k = 0; k < calls[i].n; k++) {
      const char *what = calls[i].param[k].what;
      if (what[0] == 'T' || what[0] == 'E') {
        refused(w, &calls[i], k, (Arg){.i = -1}, "-1");
        refused(w, &calls[i], k, (Arg){.i = 1000}, "1000");
      }
    }
}

/* Numbers at the ends of their types: no crash, and a call that fails says why. Only where no array depends on them. */
static void extreme_numbers(void **state) {
  World *w = *state;
  static const int64_t extremes[] = {INT64_MIN, INT64_MIN + 1, INT32_MIN,     -3,       -1, 2,
                                     17,        INT32_MAX,     INT64_MAX - 1, INT64_MAX};
  for (int i = 0; i < (int)(sizeof calls / sizeof calls[0]); i++) {
    const Call *c = &calls[i];
    bool arrays = strstr(c->name, "_free") || strstr(c->name, "close") || strstr(c->name, "zoom_out") ||
                  strstr(c->name, "scope") || strstr(c->name, "set_threads") || strstr(c->name, "set_debug");
    for (int k = 0; k < c->n; k++) arrays = arrays || strchr("AN", c->param[k].what[0]);
    for (int k = 0; k < c->n && !arrays; k++)
      for (int e = 0; e < (int)(sizeof extremes / sizeof extremes[0]); e++) {
        Arg a[12];
        Result r = {0};
        if (!strchr("ICD", c->param[k].what[0])) continue;
        for (int j = 0; j < c->n; j++) a[j] = good(w, &c->param[j]);
        a[k].i = extremes[e]; /* for a double: denormals, NaN */
        poly_clear_error(w->ctx);
        bool ok = c->call(a, &r);
        if (c->fails && !ok && !poly_error_code(w->ctx) && !poly_error_code(NULL) && strcmp(c->name, "poly_get_grad"))
          fail_msg("%s with %s = %lld failed without an error", c->name, c->param[k].name, (long long)extremes[e]);
        drop(w->ctx, &r);
      }
  }
  poly_clear_error(w->ctx);
}

/* ---- handles that are freed twice, and what stays usable ---- */

static void freed_twice(void **state) {
  World *w = *state;
  PolyTensor *t = ones(w->ctx);
  int64_t before = poly_live_tensors(w->ctx);
  poly_free(t);
  poly_free(t);
  assert_int_equal(poly_error_code(w->ctx), POLY_ERROR_VALUE);
  assert_non_null(strstr(poly_error_text(w->ctx), "poly_free: argument t was freed before"));
  poly_clear_error(w->ctx);
  assert_int_equal(poly_live_tensors(w->ctx), before - 1);
  assert_null(poly_neg(t));
  assert_non_null(strstr(poly_error_text(w->ctx), "poly_neg"));
  poly_clear_error(w->ctx);
  PolyContext *other = poly_context_new();
  PolyTensor *gone = ones(other);
  PolyOptim *o = poly_sgd(&gone, 1, 0.1, 0, 0, false);
  poly_context_free(other);
  poly_context_free(other);
  assert_int_equal(poly_error_code(NULL), POLY_ERROR_VALUE);
  poly_free(gone);
  poly_optim_step(o);
  poly_clear_error(w->ctx);
  PolyTensor *sum = poly_sum(w->list[0], 0, NULL, false);
  assert_true(poly_item(sum) == 4);
  poly_free(sum);
}

static void refused_free(World *w, PolyGraph *g) {
  poly_graph_free(g);
  assert_int_equal(poly_error_code(w->ctx), POLY_ERROR_VALUE);
  assert_non_null(strstr(poly_error_text(w->ctx), "poly_graph_free: argument g was freed before"));
  poly_clear_error(w->ctx);
}

/* A vertex program, or the graph that another was derived from, still uses what its owner frees twice. */
static void graphs_freed_twice(void **state) {
  World *w = *state;
  int64_t ends[2] = {0, 1};
  PolyGraph *g = poly_graph_from_coo(w->ctx, ends, ends, POLY_INT64, 2, 2, 2);
  PolyVertex *v = poly_zoom_in(g);
  PolyNbs *n = poly_innbs(v);
  poly_graph_free(g);
  refused_free(w, g);
  PolyTensor *sum = poly_nb_sum(n, poly_nb(n, w->list[0]));
  PolyTensor *out = poly_zoom_out(v, sum), *total = poly_sum(out, 0, NULL, false);
  assert_true(poly_item(total) == 4);
  poly_free(out);
  poly_free(total);
  refused_free(w, g);
  g = poly_graph_from_coo(w->ctx, ends, ends, POLY_INT64, 2, 2, 2);
  PolyGraph *loops = poly_graph_with_self_loops(g, false);
  poly_graph_free(loops);
  refused_free(w, loops);
  assert_ptr_equal(poly_graph_with_self_loops(g, false), loops);
  assert_int_equal(poly_graph_num_edges(loops), 4);
  poly_graph_free(g);
  poly_graph_free(loops);
  refused_free(w, loops);
}

/* Errors without a context are the thread's. */
static void errors_without_context(void **state) {
  (void)state;
  poly_clear_error(NULL);
  assert_int_equal(poly_error_code(NULL), POLY_OK);
  assert_null(poly_zeros(NULL, POLY_FLOAT32, 0, NULL));
  assert_int_equal(poly_error_code(NULL), POLY_ERROR_VALUE);
  assert_non_null(strstr(poly_error_text(NULL), "poly_zeros: argument ctx is NULL"));
  assert_int_equal(poly_rmat(4, 4, 0.25, 0.25, 0.25, 1, false, 1, NULL), POLY_ERROR_VALUE);
  poly_clear_error(NULL);
}

static void data_that_is_missing(void **state) {
  World *w = *state;
  assert_null(poly_from_data(w->ctx, NULL, POLY_FLOAT32, 1, (int64_t[]){3}));
  assert_int_equal(poly_error_code(w->ctx), POLY_ERROR_VALUE);
  poly_clear_error(w->ctx);
  assert_null(poly_from_borrowed(w->ctx, NULL, POLY_FLOAT32, 1, (int64_t[]){3}, NULL, NULL));
  assert_int_equal(poly_error_code(w->ctx), POLY_ERROR_VALUE);
  poly_clear_error(w->ctx);
  PolyTensor *none = poly_from_data(w->ctx, NULL, POLY_FLOAT32, 1, (int64_t[]){0});
  assert_non_null(none);
  poly_free(none);
}

/* Calls on lists without entries have no context: their errors are the thread's, too. */
static void lists_without_entries(void **state) {
  (void)state;
  PolyTensor *out[4];
  const char *name[] = {"poly_cat: argument t", "poly_stack: argument t", "poly_sgd: argument params", "poly_meshgrid",
                        "poly_sampler_new"};
  for (int k = 0; k < 5; k++) {
    poly_clear_error(NULL);
    if (k == 0) assert_null(poly_cat(NULL, 0, 0));
    if (k == 1) assert_null(poly_stack(out, 0, 0));
    if (k == 2) assert_null(poly_sgd(NULL, 0, 0.1, 0, 0, false));
    if (k == 3) assert_int_not_equal(poly_meshgrid(NULL, 0, false, out), POLY_OK);
    if (k == 4) assert_null(poly_sampler_new(NULL, 0, NULL));
    assert_int_not_equal(poly_error_code(NULL), POLY_OK);
    if (!strstr(poly_error_text(NULL), name[k])) fail_msg("\"%s\" does not name %s", poly_error_text(NULL), name[k]);
  }
  poly_clear_error(NULL);
}

/* What an optimizer or a sample works on may be freed before it. */
static void freed_below(void **state) {
  World *w = *state;
  PolyTensor *x = ones(w->ctx), *held[8];
  poly_set_requires_grad(x, true);
  PolyOptim *o = poly_sgd(&x, 1, 0.1, 0.9, 0, false), *second = poly_sgd(w->list, 1, 0.1, 0.9, 0, false);
  poly_free(x);
  x = ones(w->ctx); /* likely at the same address */
  assert_int_equal(poly_optim_step(o), POLY_ERROR_VALUE);
  assert_non_null(strstr(poly_error_text(w->ctx), "parameter 0 of the optimizer was freed"));
  poly_clear_error(w->ctx);
  poly_optim_zero_grad(o);
  assert_int_equal(poly_error_code(w->ctx), POLY_ERROR_VALUE);
  poly_clear_error(w->ctx);
  for (int k = 0, n = poly_optim_state(second, held, 8); k < n; k++) poly_free(held[k]);
  assert_int_not_equal(poly_optim_step(second), POLY_OK);
  poly_clear_error(w->ctx);
  poly_optim_free(o);
  poly_optim_free(second);
  poly_free(x);
  int64_t ends[2] = {0, 1}, nodes[1] = {2};
  PolyRelation r = {.dtype = POLY_INT64, .num_edges = 2, .src = ends, .dst = ends};
  PolySampler *s = poly_sampler_new(NULL, 1, nodes);
  assert_int_equal(poly_sampler_add(s, &r, 1), POLY_OK);
  PolySample *sample = poly_sample_new(s);
  poly_sampler_free(s);
  assert_int_equal(poly_sampler_add(s, &r, 1), POLY_ERROR_VALUE);
  assert_int_equal(poly_sample_num_nodes(sample, 0), 0);
  poly_sample_free(sample);
  poly_clear_error(w->ctx);
}

static int setup(void **state) {
  static World world;
  open_world(&world);
  *state = &world;
  return 0;
}

static int teardown(void **state) {
  close_world(*state);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(null_pointers, setup, teardown),
      cmocka_unit_test_setup_teardown(bad_handles, setup, teardown),
      cmocka_unit_test_setup_teardown(negative_counts_and_enumerations, setup, teardown),
      cmocka_unit_test_setup_teardown(extreme_numbers, setup, teardown),
      cmocka_unit_test_setup_teardown(freed_twice, setup, teardown),
      cmocka_unit_test_setup_teardown(graphs_freed_twice, setup, teardown),
      cmocka_unit_test(errors_without_context),
      cmocka_unit_test(lists_without_entries),
      cmocka_unit_test_setup_teardown(freed_below, setup, teardown),
      cmocka_unit_test_setup_teardown(data_that_is_missing, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
