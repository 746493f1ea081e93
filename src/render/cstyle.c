/* cstyle.c: linear kernels to C-style text. In: the kernels of a plan. Out: one translation unit with the helpers that
 * it needs, a function for each kernel, and the table `poly_kernels`. One statement a value, named by its place in the
 * kernel: v12, i3 for a loop variable, acc5 for an accumulator, p0 for a buffer, n1 for an integer argument.
 *
 * This file writes loops and statements; dialects.c what dialects differ in; expr.c writes values; vecloop.c and
 * veclanes.c write vector loops. */
#include "render/emit.h"

#include <stdio.h>
#include <string.h>

void line(Emit *e, const char *fmt, ...) {
  char text[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  str_fmt(e->out, "%*s%s\n", 2 * e->indent, "", text);
}

/* ---- statements for one iteration ---- */

static void emit_load(Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  PolyDType d = (PolyDType)in->dtype;
  int64_t k;
  if (pair_first(e, i) >= 0) return;
  int second = pair_second(e, i), before = e->style->writes_out && second < 0 ? run_before(e, i, &k) : -1;
  if (second >= 0) {
    emit_load_pair(e, i, second);
    return;
  }
  Txt at = is_run(e, i)  ? txt("q%d[i%d]", i, e->run_loop)
           : before >= 0 ? txt("q%d[%d]", before, (int)k)
           : e->stage    ? txt("load_now(p%d + %s)", in->param, scalar_name(e, in->src[0]).s)
                         : txt("p%d[%s%s]", in->param, scalar_name(e, in->src[0]).s, loaded_again(e, i).s);
  Txt x = load_text(e, d, 1, at);
  if (in->src[1] >= 0) x = txt("%s ? %s : 0", scalar_name(e, in->src[1]).s, x.s);
  line(e, "const %s %s = %s;", scalar_type(e, d).s, scalar_name(e, i).s, x.s);
}

static void emit_store(Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  int first = pair_first(e, i);
  if (pair_second(e, i) >= 0) return;
  if (first >= 0) {
    emit_store_pair(e, first, i);
    return;
  }
  Txt x = store_text(e, (PolyDType)in->dtype, 1, scalar_name(e, in->src[1]));
  Txt gate = in->src[2] >= 0 ? txt("if (%s) ", scalar_name(e, in->src[2]).s) : no_text();
  if (stores_alone(e, i)) gate = txt("if (thread == 0) %s", gate.s);
  if (edge_gate(e).s[0]) gate = txt("if (%s) %s", edge_gate(e).s, gate.s);
  line(e, "%sp%d[%s] = %s;", gate.s, in->param, scalar_name(e, in->src[0]).s, x.s);
}

/* Is an index checked inside a reduction of a thread of a grid? There a branch would stand between the loads of its
 * iterations: an error is noted, and told at the end of the kernel. */
static bool checks_later(const Emit *e, int i) {
  if (!e->style->groups || e->lin->inst[i].kind != INST_CHECK) return false;
  for (int loop = 0; loop < i; loop++)
    if (e->lin->inst[loop].kind == INST_LOOP && e->lin->inst[loop].flags & LOOP_REDUCE && e->at[loop].end > i)
      return true;
  return false;
}

static bool has_later(const Emit *e) {
  for (int i = 0; i < e->lin->ninst; i++)
    if (checks_later(e, i)) return true;
  return false;
}

static void emit_check(Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  Txt gate = in->src[2] >= 0 ? scalar_name(e, in->src[2]) : txt("1");
  bool later = checks_later(e, i);
  line(e, "const int64_t %s = %s(%s, %s, %s, %s);", scalar_name(e, i).s,
       helper(e->help, later ? "check_later" : "check", ELEM_I64, 1).s, scalar_name(e, in->src[0]).s,
       scalar_name(e, in->src[1]).s, gate.s, later ? "later" : "err");
}

/* What iterations that are there only to fill up do not update. */
static Txt update_gate(const Emit *e, int acc) {
  if (e->fours > acc) return txt("if (t%d) ", e->fours);
  if (e->across)
    return txt("if (%s < %s) ", scalar_name(e, e->across_of).s, scalar_name(e, e->lin->inst[e->across].src[1]).s);
  if (!e->strip_ends || acc > e->strip_loop || !e->copy) return no_text();
  return txt("if (i%d_%d < %s) ", e->strip_loop, e->copy, scalar_name(e, e->lin->inst[e->strip_loop].src[1]).s);
}

void emit_scalar(Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  PolyDType d = (PolyDType)in->dtype;
  switch ((InstKind)in->kind) {
  case INST_ALU: {
    Txt src[3];
    for (int k = 0; k < 3; k++) src[k] = in->src[k] >= 0 ? scalar_name(e, in->src[k]) : no_text();
    line(e, "const %s %s = %s;", scalar_type(e, d).s, scalar_name(e, i).s, alu_scalar(e, i, src).s);
    break;
  }
  case INST_LOAD: emit_load(e, i); break;
  case INST_STORE: emit_store(e, i); break;
  case INST_CHECK: emit_check(e, i); break;
  case INST_ACC:
    line(e, "%s %s = %s;", scalar_type(e, d).s, scalar_name(e, i).s, identity_text((Op)in->op, d).s);
    break;
  case INST_UPDATE: {
    const Inst *acc = &e->lin->inst[in->src[0]];
    Txt a = scalar_name(e, in->src[0]), b = scalar_name(e, in->src[1]);
    PolyDType of = (PolyDType)acc->dtype;
    Txt sum = in->src[2] >= 0 ? muladd_text(e, of, 1, b, scalar_name(e, in->src[2]), a)
                              : combine_text(e, (Op)acc->op, of, 1, a, b);
    if (edge_gate(e).s[0] && in->src[0] < e->edges) sum = txt("%s ? %s : %s", edge_gate(e).s, sum.s, a.s);
    line(e, "%s%s = %s;", update_gate(e, in->src[0]).s, a.s, sum.s);
    break;
  }
  case INST_COMBINE:
    if (e->style->groups && e->lin->group > 1) emit_combine(e, i);
    break;
  case INST_FENCE:
    if (e->style->groups && e->lin->group > 1) emit_fence(e, i);
    break;
  default: break;
  }
}

/* ---- loops ---- */

void emit_loop(Emit *e, int loop) {
  const Inst *in = &e->lin->inst[loop];
  Txt begin = scalar_name(e, in->src[0]), end = scalar_name(e, in->src[1]);
  Txt type = scalar_type(e, (PolyDType)in->dtype);
  if (e->style->groups && (emit_by_fours(e, loop) || emit_edges(e, loop))) return;
  if (e->style->tensor && emit_products(e, loop)) return;
  if (e->style->groups && in->flags & LOOP_ACROSS) {
    emit_across(e, loop);
    return;
  }
  bool parallel = (in->flags & LOOP_PARALLEL) && !e->parallel && e->style->parallel;
  if (parallel) e->style->parallel(e, loop, begin.s, end.s);
  if (in->flags & LOOP_ONCE)
    line(e, "if (SELDOM_TRUE(%s < %s)) {", begin.s, end.s);
  else if (in->flags & LOOP_IF)
    line(e, "if (%s < %s) {", begin.s, end.s);
  else {
    if (e->style->writes_out && is_written_out(e, loop)) open_run(e, loop);
    if (e->style->groups) emit_unroll(e, loop);
    if (e->style->groups && in->strip > 1)
      line(e, "for (%s i%d = %s; i%d < %s; i%d += %d) {", type.s, loop, begin.s, loop, end.s, loop, in->strip);
    else
      line(e, "for (%s i%d = %s; i%d < %s; i%d++) {", type.s, loop, begin.s, loop, end.s, loop);
  }
  bool outer = e->parallel;
  e->parallel = outer || parallel;
  e->indent++;
  bool strip = e->style->groups && open_strip(e, loop);
  if (e->style->vectors && !(in->flags & LOOP_ONCE)) emit_ahead(e, loop);
  emit_body(e, loop + 1, e->at[loop].end);
  if (e->run_loop == loop) close_run(e);
  if (strip) close_strip(e);
  e->indent--;
  e->parallel = outer;
  line(e, "}");
}

static void emit_plain(Emit *e, int i) {
  if (e->vary)
    emit_strip(e, i);
  else
    emit_scalar(e, i);
}

void emit_inner(Emit *e, int i) {
  if (e->stage && emit_stage(e, i, emit_plain)) return;
  if (e->loop >= 0 && e->lanes > 1)
    emit_lanes(e, i);
  else
    emit_plain(e, i);
}

/* Local arrays of the parallel loop whose body begins at `from`, or of the kernel. */
static void emit_locals(Emit *e, int from) {
  for (int k = linear_nargs(e->lin); k < e->lin->nparam; k++)
    if (linear_local_loop(e->lin, k) == from - 1) e->style->local(e, k);
}

void emit_body(Emit *e, int from, int to) {
  emit_locals(e, from);
  for (int i = from; i < to && !e->out->failed; i++) {
    const Inst *in = &e->lin->inst[i];
    if (in->kind != INST_LOOP) {
      emit_inner(e, i);
      continue;
    }
    bool lanes = e->style->vectors && in->lanes > 1, vector = lanes && e->loop < 0 && (in->flags & LOOP_VECTOR);
    if (e->style->groups && in->flags & LOOP_PARALLEL)
      emit_grid_loop(e, i);
    else if (e->style->groups && e->lin->group > 1 && in->flags & LOOP_GROUP)
      emit_group_loop(e, i);
    else if (lanes && (in->flags & LOOP_OUTER))
      emit_outer_loop(e, i);
    else if (e->outer >= 0 && (in->flags & LOOP_VECTOR))
      emit_wide_loop(e, i);
    else if (vector)
      emit_vector_loop(e, i);
    else
      emit_loop(e, i);
    i = e->at[i].end;
  }
  if (e->outer >= 0) forget_spread(e);
}

/* ---- kernels ---- */

static bool emit_kernel(Emit *e, const char *name) {
  Arena arena = {.b = e->help->code.b};
  e->at = lanes_analyse(&arena, e->lin, e->style->vectors);
  e->spread = arena_new(&arena, (size_t)MAX(e->lin->ninst, 1) * sizeof *e->spread);
  e->room = arena_new(&arena, (size_t)MAX(e->lin->ninst, 1) * sizeof *e->room);
  e->edge_stage = arena_new(&arena, (size_t)MAX(e->lin->ninst, 1));
  e->pairs = e->style->pairs && linear_has_strip(e->lin);
  e->depth = arena_new(&arena, (size_t)MAX(e->lin->ninst, 1) * sizeof *e->depth);
  bool ok = e->at && e->spread && e->room && e->edge_stage && e->depth;
  if (ok) {
    e->indent = 1;
    e->style->open_kernel(e, name);
    bool later = has_later(e);
    if (later) line(e, "int64_t later[3] = {0, 0, 0};");
    emit_body(e, 0, e->lin->ninst);
    if (later) line(e, "if (later[2]) %s(err, later[0], later[1]);", helper(e->help, "index_error", ELEM_I64, 1).s);
    str_add(e->out, "}\n");
  }
  arena_free(&arena);
  return ok;
}

Txt kernel_name(int n, const Linear *const *kernel, int k) {
  char name[SYMBOL_SIZE];
  linear_symbol(n, kernel, k, name);
  return txt("%s", name);
}

bool render_program(PolyContext *ctx, const Target *target, int n, const Linear *const *kernel, Str *out) {
  Base *b = ctx_base(ctx);
  const Style *style = dialect_style(target->dialect);
  if (!style) return base_fail(b, POLY_ERROR_RUNTIME, "this dialect cannot be rendered yet");
  Helpers *help = mem_new(b, sizeof *help);
  if (!help) return false;
  help->types.b = help->code.b = b;
  Str body = {.b = b};
  bool ok = true;
  for (int k = 0; k < n && ok; k++) {
    Emit e = {.ctx = ctx,
              .style = style,
              .lin = kernel[k],
              .out = &body,
              .help = help,
              .loop = -1,
              .outer = -1,
              .lanes = 1,
              .copies = 1};
    ok = emit_kernel(&e, kernel_name(n, kernel, k).s);
  }
  style->open_program(out, target);
  if (style->tensor) tensor_words(out, n, kernel);
  if (help->types.n) str_addn(out, help->types.at, help->types.n);
  if (help->code.n) str_addn(out, help->code.at, help->code.n);
  if (body.n) str_addn(out, body.at, body.n);
  style->close_program(out, n, kernel);
  ok = ok && !body.failed && !help->types.failed && !help->code.failed && !out->failed && !help->failed;
  str_free(&body);
  str_free(&help->types);
  str_free(&help->code);
  mem_free(b, help, sizeof *help);
  return ok;
}
