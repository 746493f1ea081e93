/* turns.c: turns that a thread takes in a loop of its group, several at once. In: a loop that puts a factor of a
 * product into a local array, and computes it from what it loads through an index. Out: a few turns at a time, first
 * all their loads, then what is computed of them:
 *
 *   for k < 4: i = index[..]; x = a[i]; .. local[..] = f(x)
 *
 *   for k < 4: li[k] = index[..]     for k < 4: i = li[k]; lx[k] = a[i]     for k < 4: x = lx[k]; .. local[..] = f(x)
 *
 * The card's compiler would wait for the loads of one turn before it makes those of the next: few warps multiply
 * together, and they would do nothing else meanwhile. What is computed of indices stands in each of the stages, where
 * it is needed; arrays whose places are constants are registers. */
#include "render/emit.h"

enum {
  MOST_BYTES = 320, /* that a thread keeps of the turns at hand: 80 registers */
  BESIDE = 255      /* depth of what waits for no load of another stage, and of what is made of it */
};

/* A load that goes to the local array as it is: a copy that runs beside the products (tensor.c). */
static bool is_copied(const Emit *e, int i, int end) {
  for (int k = i + 1; k < end; k++)
    if (e->lin->inst[k].kind == INST_STORE && e->lin->inst[k].src[1] == i) return true;
  return false;
}

static bool is_staged(const Emit *e, int i) {
  return e->lin->inst[i].kind == INST_LOAD && e->depth[i] && e->depth[i] < BESIDE;
}

/* Loads one after the other that an instruction waits for, itself among them. False: it has no place in a stage. */
static bool find_depth(Emit *e, int loop, int i) {
  const Inst *in = &e->lin->inst[i];
  bool plain = in->kind == INST_LOOP ? in->strip > 1 && !(in->flags & ~LOOP_REDUCE)
                                     : in->kind == INST_ALU || in->kind == INST_LOAD || in->kind == INST_STORE ||
                                           in->kind == INST_CONST || in->kind == INST_END;
  int depth = 0;
  for (int k = 0; k < 3; k++)
    if (in->kind != INST_LOOP && in->src[k] > loop) depth = MAX(depth, e->depth[in->src[k]]);
  if (in->kind == INST_LOAD) {
    bool beside = in->param >= linear_nargs(e->lin) || is_copied(e, i, e->at[loop].end);
    if (!beside && depth == BESIDE) return false;
    depth = beside ? BESIDE : depth + 1;
  }
  e->depth[i] = (uint8_t)depth;
  return plain;
}

/* Loops that a load stands in have strips. */
static int copies_of(const Emit *e, int loop, int i) {
  for (int k = i; k-- > loop + 1;)
    if (e->lin->inst[k].kind == INST_LOOP && e->at[k].end > i) return e->lin->inst[k].strip;
  return 1;
}

int open_turns(Emit *e, int loop, int64_t turns, int *each) {
  int last = 0;
  int64_t bytes = 0;
  if (!e->style->writes_out || e->products != PRODUCTS_TENSOR || e->vary || e->stage || turns < 2) return 0;
  for (int i = loop + 1; i < e->at[loop].end; i++) {
    if (!find_depth(e, loop, i)) return 0;
    if (!is_staged(e, i)) continue;
    last = MAX(last, e->depth[i]);
    bytes += copies_of(e, loop, i) * dtype_size((PolyDType)e->lin->inst[i].dtype);
  }
  if (!last || 2 * bytes > MOST_BYTES) return 0;
  *each = (int)MIN(MOST_BYTES / bytes, turns);
  *each = (int)((turns - 1) / ((turns - 1) / *each + 1) + 1);
  for (int i = loop + 1; i < e->at[loop].end; i++) {
    if (!is_staged(e, i)) continue;
    Txt type = scalar_type(e, (PolyDType)e->lin->inst[i].dtype);
    int n = copies_of(e, loop, i);
    line(e, "%s lv%d[%d];", type.s, i, *each);
    for (int k = 0; k < n && n > 1; k++) line(e, "%s lv%d_%d[%d];", type.s, i, k, *each);
  }
  return last + 1;
}

static void each_copy(Emit *e, int i, bool keep) {
  Txt type = scalar_type(e, (PolyDType)e->lin->inst[i].dtype);
  int n = e->vary && e->vary[i] ? e->strip : 1;
  for (e->copy = 0; e->copy < n; e->copy++) {
    Txt name = scalar_name(e, i), kept = txt("l%s[%s]", name.s, e->turn.s);
    line(e, keep ? "%s = %s;" : "const %s %s = %s;", keep ? kept.s : type.s, name.s, kept.s);
  }
  e->copy = 0;
}

bool emit_stage(Emit *e, int i, void (*emit)(Emit *e, int i)) {
  int depth = e->depth[i];
  bool last = e->stage == e->stages;
  if (is_staged(e, i)) {
    if (depth < e->stage) each_copy(e, i, false);
    if (depth != e->stage) return true;
    emit(e, i);
    each_copy(e, i, true);
    return true;
  }
  bool value = e->lin->inst[i].kind == INST_ALU || e->lin->inst[i].kind == INST_CONST;
  return !last && (!value || depth >= e->stage);
}
