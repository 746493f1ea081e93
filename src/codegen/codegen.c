/* codegen.c: the driver: merge ranges, build the tree of loops, shape it, and write it out as a list of instructions.
 */
#include "codegen/block.h"

#include "ir/context.h"
#include "ir/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- work of each block times the sizes of its loops ---- */

static int64_t flops_of(const Inst *in) {
  bool alu = in->kind == INST_ALU || in->kind == INST_UPDATE;
  return alu && dtype_is_float((PolyDType)in->dtype) && in->op != OP_CAST && in->op != OP_WHERE;
}

static int64_t bytes_moved(const Inst *in) {
  return in->kind == INST_LOAD || in->kind == INST_STORE ? dtype_size((PolyDType)in->dtype) : 0;
}

/* guess: loops whose bounds are loaded, and so unknown before the run, count once; else there is no result. */
static UOp *count_work(Codegen *g, const Block *b, int64_t (*of)(const Inst *in), bool guess) {
  int64_t own = 0;
  UOp *sum = uop_index(g->ctx, 0);
  for (int i = 0; i < b->line.n; i++) {
    const Block *c = b->line.at[i].child;
    if (!c) {
      own += of(&g->inst.at[b->line.at[i].inst]);
      continue;
    }
    UOp *trips = int_sub(c->range->src[1], c->range->src[0]);
    if (g->inst.at[c->loop].flags & LOOP_ACROSS) trips = uop_index(g->ctx, 1); /* of a thread */
    if (trips && block_ranges(g, trips)) trips = guess ? uop_index(g->ctx, 1) : NULL;
    if (!trips) return NULL;
    sum = int_add(sum, int_mul(trips, count_work(g, c, of, guess)));
  }
  return int_addc(sum, own);
}

/* ---- name ---- */

static void add_sizes(char *name, size_t n, const UOp *u, int first) {
  for (int i = first; i < u->nsrc; i++) {
    const UOp *end = u->src[i]->src[1];
    size_t used = strlen(name);
    if (end->op == OP_CONST)
      snprintf(name + used, n - used, "_%" PRId64, end->arg.i);
    else if (end->op == OP_VARIABLE)
      snprintf(name + used, n - used, "_%s", end->arg.name);
    else
      snprintf(name + used, n - used, "_x");
  }
}

/* What it does, over which sizes: elementwise_100_64, sum_100_r64. */
static const char *kernel_name(Codegen *g, UOp *store) {
  static const char *const reductions[] = {[OP_ADD] = "sum", [OP_MUL] = "prod", [OP_MAX] = "max", [OP_MIN] = "min"};
  char name[128];
  const UOp *last = g->loops.n ? g->loops.at[g->loops.n - 1] : NULL;
  snprintf(name, sizeof name, "%s", last ? g->loops.n > 1 ? "reduce" : reductions[last->arg.i] : "elementwise");
  add_sizes(name, sizeof name, store, 3);
  if (last) {
    strncat(name, "_r", sizeof name - strlen(name) - 1);
    add_sizes(name, sizeof name, last, 1);
  }
  for (char *c = name; *c; c++) {
    bool plain = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
    if (!plain) *c = '_';
  }
  char *copy = arena_new(g->arena, strlen(name) + 1);
  return copy ? strcpy(copy, name) : NULL;
}

/* ---- parameters ---- */

static bool list_params(Codegen *g, Linear *out) {
  for (int i = 0; i < out->ninst; i++)
    if (out->inst[i].kind == INST_LOAD || out->inst[i].kind == INST_STORE)
      out->nparam = MAX(out->nparam, out->inst[i].param + 1);
  out->param = arena_new(g->arena, (size_t)MAX(out->nparam, 1) * sizeof *out->param);
  if (!out->param) return false;
  for (int i = 0; i < g->local.n && g->nargs + i < out->nparam; i++) out->param[g->nargs + i] = g->local.at[i];
  for (int i = 0; i < out->ninst; i++) {
    const Inst *in = &out->inst[i];
    if (in->kind != INST_LOAD && in->kind != INST_STORE) continue;
    out->param[in->param].dtype = (PolyDType)in->dtype;
    if (in->kind == INST_LOAD)
      out->param[in->param].read = true;
    else
      out->param[in->param].written = true;
  }
  return true;
}

static bool write_out(Codegen *g, UOp *store, Linear *out) {
  if (!flatten_blocks(g, out)) return false;
  out->nvar = g->var.n;
  out->var = arena_new(g->arena, (size_t)MAX(g->var.n, 1) * sizeof(UOp *));
  out->flops = g->flops ? g->flops : count_work(g, g->top, flops_of, true);
  /* A kernel may read little of a large tensor, as the one that adds up the pieces of a sum and the rows left over. */
  out->moved = g->flops ? NULL : count_work(g, g->top, bytes_moved, false);
  out->name = kernel_name(g, store);
  if (!out->var || !out->flops || !out->name || ctx_base(g->ctx)->code) return false;
  for (int i = 0; i < g->var.n; i++) out->var[i] = g->var.at[i];
  out->grid = g->grid;
  out->group = g->group;
  out->pack = g->pack;
  out->spread = g->spread;
  out->turns = g->turns;
  out->warp_row = g->warp_row;
  out->neighbours = g->neighbours;
  return list_params(g, out);
}

static bool write_rows(Codegen *g, UOp *store, RowClass rows, const char *of, const char *what, Linear **out) {
  const Hubs hubs = g->hubs;
  Linear *also = *out = arena_new(g->arena, sizeof *also);
  char *name = arena_new(g->arena, strlen(of) + strlen(what) + 1);
  if (!also || !name || !shape_hubs(g, rows) || !write_out(g, store, also)) return false;
  g->hubs = hubs;
  strcat(strcpy(name, of), what);
  also->name = name;
  also->flops = uop_index(g->ctx, 0); /* counted with the other rows */
  return also->flops && codegen_widths(g->arena, g->target, also);
}

/* The kernels of long rows. */
static bool write_hubs(Codegen *g, UOp *store, Linear *out) {
  if (!g->nragged) return true;
  out->also_first = g->hubs.first;
  if (!g->hubs.split) return write_rows(g, store, ROWS_LONG, out->name, "_hubs", &out->also);
  return write_rows(g, store, ROWS_LONGEST, out->name, "_hubs", &out->also) &&
         write_rows(g, store, ROWS_MIDDLE, out->name, "_long", &out->also->also);
}

static void codegen_free(Codegen *g) {
  Base *b = ctx_base(g->ctx);
  for (int i = 0; i < g->block.n; i++) {
    vec_free(b, &g->block.at[i]->line);
    map_free(b, &g->block.at[i]->value);
  }
  vec_free(b, &g->block);
  vec_free(b, &g->inst);
  vec_free(b, &g->origin);
  vec_free(b, &g->loops);
  vec_free(b, &g->unread);
  vec_free(b, &g->var);
  vec_free(b, &g->local);
  map_free(b, &g->ranges);
  map_free(b, &g->made);
}

static bool check_dtypes(Codegen *g, const Linear *lin) {
  for (int i = 0; i < lin->ninst; i++)
    if (!(g->target->dtypes & (1u << lin->inst[i].dtype)))
      return base_fail(ctx_base(g->ctx), POLY_ERROR_TYPE, "kernel %s needs %s, which the device does not have",
                       lin->name, dtype_name((PolyDType)lin->inst[i].dtype));
  return true;
}

bool codegen_kernel(PolyContext *ctx, Arena *arena, int nstore, UOp *const *store, const Target *target, Linear *out) {
  Codegen g = {.ctx = ctx, .arena = arena, .target = target};
  *out = (Linear){0};
  UOp **merged = arena_new(arena, (size_t)(nstore + 1) * sizeof *merged); /* and one of share_values */
  if (!merged) return false;
  for (int i = 0; i < nstore; i++) merged[i] = store[i];
  bool ok = merge_ranges(ctx, arena, nstore, merged) &&
            uop_verify_pass(ctx, "merging of loops", nstore, merged, VERIFY_KERNEL) &&
            (target->group > 1 || part_ranges(ctx, arena, nstore, merged)) &&
            uop_verify_pass(ctx, "parting of loops", nstore, merged, VERIFY_KERNEL) &&
            begin_blocks(&g, nstore, merged) && build_tiles(&g, nstore, merged, &g.tiled) &&
            (g.tiled || build_turned(&g, nstore, merged, &g.tiled)) && (g.tiled || build_blocks(&g, nstore, merged)) &&
            shape_loops(&g) && write_out(&g, merged[0], out) && check_dtypes(&g, out) &&
            codegen_widths(arena, target, out) && write_hubs(&g, merged[0], out);
  codegen_free(&g);
  return ok;
}
