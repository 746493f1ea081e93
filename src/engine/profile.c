/* profile.c: looking inside: what ran and how long, what was stored and why, the source and the plan of a tensor in
 * words, and the DEBUG ladder on stderr. */
#include "engine/engine.h"

#include <stdio.h>
#include <string.h>

#include "ir/text.h"

/* ---- the profile ---- */

static void profile_clear(PolyContext *ctx) {
  Profile *f = &ctx->engine->profile;
  for (int i = 0; i < f->kernel.n; i++) mem_strfree(&ctx->base, (char *)f->kernel.at[i].name);
  for (int i = 0; i < f->stored.n; i++) mem_strfree(&ctx->base, (char *)f->stored.at[i].why);
  f->kernel.n = f->stored.n = 0;
  f->peak = 0;
}

void profile_free(PolyContext *ctx) {
  profile_clear(ctx);
  vec_free(&ctx->base, &ctx->engine->profile.kernel);
  vec_free(&ctx->base, &ctx->engine->profile.stored);
}

PolyStatus poly_profile_begin(PolyContext *ctx) {
  if (!ctx) return POLY_ERROR_VALUE;
  profile_clear(ctx);
  ctx->engine->profile.on = true;
  ctx->engine->profile.number++;
  return POLY_OK;
}

PolyStatus poly_profile_end(PolyContext *ctx) {
  if (!ctx) return POLY_ERROR_VALUE;
  ctx->engine->profile.on = false;
  return POLY_OK;
}

/* A record that cannot be kept is left out: looking must not make a computation fail. */
static void forget_failure(Base *b, bool clean) {
  if (clean) base_clear(b);
}

static PolyKernelStat *kernel_stat(PolyContext *ctx, const char *name, const char *device) {
  Profile *f = &ctx->engine->profile;
  for (int i = 0; i < f->kernel.n; i++)
    if (f->kernel.at[i].device == device && strcmp(f->kernel.at[i].name, name) == 0) return &f->kernel.at[i];
  char *copy = mem_strdup(&ctx->base, name);
  PolyKernelStat new = {.name = copy, .device = device};
  if (copy && vec_push(&ctx->base, &f->kernel, new)) return &f->kernel.at[f->kernel.n - 1];
  mem_strfree(&ctx->base, copy);
  return NULL;
}

/* A size in the name of a product: what moves along the edges of a tile (-1) differs from tile to tile. */
static void add_size(Str *name, const char *before, int64_t n) {
  if (n < 0)
    str_fmt(name, "%stile_edges", before);
  else
    str_fmt(name, "%s%lld", before, (long long)n);
}

/* The name of an item in a profile: matrix products are told apart by their sizes, as kernels are. */
static void item_name(const PlanItem *it, Str *name) {
  str_add(name, it->name);
  if (it->kind != ITEM_MATMUL) return;
  add_size(name, "_", it->call.m < 0 ? -1 : it->call.m * MAX(it->call.batch, 1));
  add_size(name, "_", it->call.n);
  add_size(name, "_r_", it->call.k);
}

void profile_item(Plan *p, const PlanItem *it, double ms) {
  PolyContext *ctx = p->ctx;
  if (!ctx->engine->profile.on) return;
  bool clean = ctx->base.code == POLY_OK;
  Str name = {.b = &ctx->base};
  item_name(it, &name);
  PolyKernelStat *s = name.failed ? NULL : kernel_stat(ctx, name.at, p->device->name);
  str_free(&name);
  if (!s) {
    forget_failure(&ctx->base, clean);
    return;
  }
  s->count++;
  s->ms += ms;
  s->bytes += it->nbytes;
  s->flops += it->nflops;
}

static bool add_stored(const Plan *p, const PlanSlot *s) {
  PolyContext *ctx = p->ctx;
  PolyStoredStat stat = {.ndim = s->node->ndim, .dtype = (PolyDType)s->node->dtype, .bytes = (int64_t)s->bytes};
  for (int d = 0; d < stat.ndim; d++)
    if (!int_eval_vars(s->node->shape[d], p->nvar, p->var, p->value, &stat.shape[d])) return false;
  char *why = mem_strdup(&ctx->base, s->why);
  stat.why = why;
  if (why && vec_push(&ctx->base, &ctx->engine->profile.stored, stat)) return true;
  mem_strfree(&ctx->base, why);
  return false;
}

/* Called at the end of a run, while its memory is still there. Slots are listed once per plan. */
void profile_plan(Plan *p) {
  PolyContext *ctx = p->ctx;
  Profile *f = &ctx->engine->profile;
  if (!f->on) return;
  f->peak = MAX(f->peak, ctx->runtime->live_bytes);
  if (p->profiled == f->number) return;
  p->profiled = f->number;
  bool clean = ctx->base.code == POLY_OK;
  for (int i = 0; i < p->nslot; i++)
    if (p->slot[i].kind != SLOT_INPUT && p->slot[i].kind != SLOT_TILE && !add_stored(p, &p->slot[i]))
      forget_failure(&ctx->base, clean);
}

int poly_profile_kernels(const PolyContext *ctx) { return ctx->engine->profile.kernel.n; }
int poly_profile_stored(const PolyContext *ctx) { return ctx->engine->profile.stored.n; }
int64_t poly_profile_peak_bytes(const PolyContext *ctx) { return ctx->engine->profile.peak; }

PolyStatus poly_profile_kernel(const PolyContext *ctx, int k, PolyKernelStat *out) {
  if (k < 0 || k >= ctx->engine->profile.kernel.n) return POLY_ERROR_INDEX;
  *out = ctx->engine->profile.kernel.at[k];
  return POLY_OK;
}

PolyStatus poly_profile_stored_at(const PolyContext *ctx, int k, PolyStoredStat *out) {
  if (k < 0 || k >= ctx->engine->profile.stored.n) return POLY_ERROR_INDEX;
  *out = ctx->engine->profile.stored.at[k];
  return POLY_OK;
}

/* ---- counters ---- */

/* A loop is what its steps run. */
static void count_items(const Plan *p, int64_t times, PolyKernelStat *to) {
  for (int i = 0; i < p->nitem; i++) {
    const PlanItem *it = &p->item[i];
    if (it->loop) {
      count_items(it->loop->body, times * it->loop->n, to);
      continue;
    }
    to->count += times;
    to->bytes += times * it->nbytes;
    to->flops += times * it->nflops;
  }
}

void count_run(const Plan *p) { count_items(p, 1, &p->ctx->engine->counters); }

PolyStatus poly_counters(const PolyContext *ctx, PolyKernelStat *out) {
  *out = ctx->engine->counters;
  return POLY_OK;
}

/* ---- the DEBUG ladder ---- */

static void show(Str *text) {
  if (!text->failed && text->at) fputs(text->at, stderr);
  str_free(text);
}

void debug_form(const PolyContext *ctx, int nvar, int nsample, bool planned) {
  if (ctx->debug < 2) return;
  const char *why = ctx->base.code == POLY_OK ? "it has ops that general programs do not" : ctx->base.text;
  if (planned)
    fprintf(stderr, "general plan with %d variables, from %d programs that differ in numbers alone\n", nvar, nsample);
  else
    fprintf(stderr, "no general plan: %s\n", why);
}

void debug_plan(const Plan *p, const Lowered *l) {
  PolyContext *ctx = p->ctx;
  Base *b = ctx_base(ctx);
  bool clean = b->code == POLY_OK;
  Str text = {.b = b};
  if (ctx->debug >= 5) {
    uop_print(&text, p->nroot, p->root);
    show(&text);
    text = (Str){.b = b};
    for (int i = 0; i < l->nkernel; i++) linear_print(&text, &l->kernel[i]);
    show(&text);
  }
  if (ctx->debug >= 3) {
    text = (Str){.b = b};
    schedule_print(&text, &l->schedule);
    show(&text);
  }
  if (ctx->debug >= 4) {
    text = (Str){.b = b};
    plan_render(ctx, l, &text);
    show(&text);
  }
  forget_failure(b, clean);
}

void debug_item(const Plan *p, const PlanItem *it, double ms) {
  if (p->ctx->debug < 2) return;
  double gb = ms > 0 ? (double)it->nbytes / ms * 1e-6 : 0, gflop = ms > 0 ? (double)it->nflops / ms * 1e-6 : 0;
  fprintf(stderr, "  %-6s %-48s %10.3f ms %8.1f GB/s %8.1f GFLOP/s\n", p->device->name, it->name, ms, gb, gflop);
}

/* Is the memory of temporary s taken while item i runs? Values that lie over each other are one, under the first's
 * name. */
static bool is_taken(const PlanSlot *s, int i) {
  return s->kind >= SLOT_TEMP && s->over < 0 && s->first <= i && i <= s->until;
}

void debug_memory(const Plan *p) {
  if (p->ctx->debug < 3) return;
  size_t most = 0;
  int at = 0;
  for (int i = 0; i < p->nitem; i++) {
    size_t now = 0;
    for (int k = 0; k < p->nslot; k++) now += is_taken(&p->slot[k], i) ? p->slot[k].bytes : 0;
    if (now > most) most = now, at = i;
  }
  if (!most) return;
  fprintf(stderr, "  memory: %.1f kB, of which %.1f kB in use at item %d, %s:\n", (double)p->arena_bytes * 1e-3,
          (double)most * 1e-3, at, p->item[at].name ? p->item[at].name : "");
  for (int k = 0; k < p->nslot; k++) {
    const PlanSlot *s = &p->slot[k];
    if (!is_taken(s, at) || s->bytes * 100 < most) continue;
    fprintf(stderr, "    slot %d: %.1f kB, items %d to %d", k, (double)s->bytes * 1e-3, s->first, s->until);
    for (int o = 0; o < p->nslot; o++)
      if (p->slot[o].over == k) fprintf(stderr, ", then slot %d from item %d", o, p->slot[o].first);
    fprintf(stderr, "\n");
  }
}

void debug_run(const Plan *p, double ms) {
  if (p->ctx->debug < 1) return;
  fprintf(stderr, "plan %016llx on %s: %d items, %d kernels, %.1f kB temporary, %.1f kB results, %.3f ms\n",
          (unsigned long long)p->hash, p->device->name, p->nitem, p->nkernel, (double)p->arena_bytes * 1e-3,
          (double)p->output_bytes * 1e-3, ms);
}

/* ---- a tensor in words ---- */

/* Text that the caller owns and frees with poly_text_free. */
static char *give_text(PolyContext *ctx, Str *s) {
  if (s->failed) {
    str_free(s);
    return NULL;
  }
  char *copy = mem_strdup(&ctx->base, s->at ? s->at : "");
  str_free(s);
  return copy;
}

void poly_text_free(PolyContext *ctx, char *text) {
  if (ctx) mem_strfree(&ctx->base, text);
}

typedef bool (*Describe)(PolyContext *ctx, const Canon *c, const Lowered *l, Str *out);

/* Lowers the program of t as a realize would, without compiling or running it. A value that is there already has no
 * program. */
static char *describe(PolyTensor *t, Describe words, const char *realized) {
  if (!t) return NULL;
  PolyContext *ctx = t->ctx;
  Str text = {.b = &ctx->base};
  if (t->uop->buffer) {
    str_add(&text, realized);
    return give_text(ctx, &text);
  }
  Arena arena = {.b = &ctx->base};
  Canon given, canon;
  Lowered lowered;
  bool inplace = t->uop->op == OP_ASSIGN && t->uop->src[0]->buffer;
  Scope s;
  scope_enter(ctx, &s);
  bool ok = canon_build(ctx, &arena, 1, &t->uop, &inplace, &given) && folded_program(ctx, &arena, &given, &canon) &&
            plan_lower(ctx, &arena, &canon, &lowered) && words(ctx, &canon, &lowered, &text) && !text.failed;
  scope_leave(ctx, &s);
  arena_free(&arena);
  if (ok) return give_text(ctx, &text);
  str_free(&text);
  return NULL;
}

static bool source_words(PolyContext *ctx, const Canon *c, const Lowered *l, Str *out) {
  (void)c;
  return plan_render(ctx, l, out);
}

char *poly_source(PolyTensor *t) { return describe(t, source_words, "/* in memory already: nothing is computed */\n"); }

static bool explain_words(PolyContext *ctx, const Canon *c, const Lowered *l, Str *out) {
  const Schedule *s = &l->schedule;
  int count[SLOT_KINDS] = {0}, kind[ITEM_KINDS] = {0};
  int64_t bytes[SLOT_KINDS] = {0};
  for (int i = 0; i < s->nslot; i++) {
    int64_t numel;
    if (!int_eval_vars(s->slot[i].numel, c->nvar, c->var, c->value, &numel)) return false;
    count[s->slot[i].kind]++;
    bytes[s->slot[i].kind] += numel * dtype_size((PolyDType)s->slot[i].node->dtype);
  }
  for (int i = 0; i < s->nitem; i++) kind[s->item[i].kind]++;
  for (int i = 0; i < s->nsub; i++) kind[s->sub[i].kind]++;
  str_fmt(out, "on %s: %d kernels (%d distinct), %d matrix products, %d library calls", ctx->runtime->current->name,
          kind[ITEM_KERNEL], l->nkernel, kind[ITEM_MATMUL], kind[ITEM_LIBRARY]);
  if (kind[ITEM_LOOP]) str_fmt(out, ", %d loops over steps", kind[ITEM_LOOP]);
  str_add(out, "\n");
  str_fmt(out, "reads %d tensors (%lld bytes), stores %d results (%lld bytes) and %d intermediates (%lld bytes)\n",
          count[SLOT_INPUT], (long long)bytes[SLOT_INPUT], count[SLOT_OUTPUT], (long long)bytes[SLOT_OUTPUT],
          count[SLOT_TEMP], (long long)bytes[SLOT_TEMP]);
  schedule_print(out, s);
  return true;
}

char *poly_explain(PolyTensor *t) { return describe(t, explain_words, "in memory already: nothing is computed\n"); }

char *poly_dump(PolyTensor *t) {
  if (!t) return NULL;
  Str text = {.b = &t->ctx->base};
  uop_print(&text, 1, &t->uop);
  return give_text(t->ctx, &text);
}
