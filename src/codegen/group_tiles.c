/* group_tiles.c: a sum of products as tiles that the threads of a group compute together. In: the sum and its factors,
 * as tiles.c finds them. Out: the tree of loops
 *
 *   for each tile of rows i and columns j, and of the loops that both vary with      the grid
 *     for each block of k
 *       fence
 *       a = x(i, k), b = y(k, j) of the block two ahead      local arrays; each thread copies strips of four
 *       for each thread: its sums += a * b                   over the k of the block, LOOP_TENSOR of ir/linear.h
 *     for each thread: what follows its sums, and the stores
 *
 * Local arrays have room for several blocks, so that some are on their way while another is multiplied; before the
 * first is, there are iterations that only load.
 *
 * A warp has 32 rows and up to 64 columns, a thread 4 x 16 of them in registers, at the places where matrix
 * instructions have them. What is beyond the edge of a tile is zero in the local arrays, and is not stored. What x and
 * y are makes no difference: strided, transposed, gathered or computed. The order of a sum follows from sizes alone.
 * Of a sum of several products, blocks of the next one follow those of the last (tile_terms.c).
 *
 * Where four warps multiply together (Target.product_split), they take b from local memory, in two parts: what a matrix
 * instruction keeps of a number, and the rest. The threads make them of each block of b before it is multiplied. */
#include "codegen/tiles.h"

#include "ir/context.h"

enum {
  WARP = 32,
  LEAST_ROWS = 32,
  THREAD_ROWS = 4,    /* of a thread, eight apart: two matrix instructions of 16; */
  FRAGMENT = 8,       /* columns of an instruction, */
  MOST_FRAGMENTS = 8, /* that a warp has at most, two columns of each in a thread */
  TOGETHER = 4,       /* warps that multiply together */
  BLOCK_K = 16,       /* of a panel, */
  SPLIT_K = 32,       /* of one that is split */
  STEP_K = 8,         /* a multiple of what an instruction takes */
  MOST_STAGES = 3,    /* blocks that local arrays have room for */
  STRIP = 4,
  BANKS = 32, /* of local memory: threads of a warp read from different ones, */
  BY_K = 8,   /* where lines of a panel, one for each k, are that much longer than a multiple of them, */
  BY_ROW = 4  /* or lines for each row that much longer than a block */
};

typedef struct GroupTiles {
  Tiles *t;
  bool split;               /* b is multiplied in two parts */
  int warp_rows, warp_cols; /* warps side by side along rows and columns */
  int thread_rows;          /* of a thread, */
  int fragments;            /* of a warp */
  int64_t rows, cols, k;    /* of a tile, as panels have them */
  int threads;
  int stages;             /* blocks in the local arrays: */
  int64_t a_size, b_size; /* elements of one */
  UOp *from, *to;         /* where in them, in blocks, the one that is multiplied and the one that is loaded lie */
  int acc[THREAD_ROWS][2 * MOST_FRAGMENTS];
  UOp *row0, *col0; /* the first of a thread in its tile */
  UOp *own_blocks;  /* of the sum's first term, behind which those of the others follow */
  UOp *high, *low;  /* local arrays: the parts of a block of b, four k of a column side by side */
} GroupTiles;

static int64_t line_of(int64_t elements, int64_t k, bool by_k) {
  return by_k ? round_up(elements - BY_K, BANKS) + BY_K : k + BY_ROW;
}

/* ---- sizes ---- */

/* Rows of a warp. */
static int64_t warp_height(const GroupTiles *p) { return (int64_t)p->thread_rows * FRAGMENT; }

/* Columns first: as few tiles of them as there can be, so that x is read as seldom. */
static void choose_warps(GroupTiles *p) {
  int most = p->t->g->target->product_warps, along = p->split ? 1 : most;
  int64_t cols = (int64_t)MIN(tiles_extent(&p->t->col), 1e9), rows = (int64_t)MIN(tiles_extent(&p->t->row), 1e9);
  int64_t fragments = (cols + FRAGMENT - 1) / FRAGMENT;
  for (p->warp_cols = 1; 2 * p->warp_cols <= along && fragments > p->warp_cols * MOST_FRAGMENTS;) p->warp_cols *= 2;
  int64_t tiles = (fragments + p->warp_cols * MOST_FRAGMENTS - 1) / (p->warp_cols * MOST_FRAGMENTS);
  p->fragments = (int)((fragments + tiles * p->warp_cols - 1) / (tiles * p->warp_cols));
  p->thread_rows = p->split && rows <= TOGETHER * THREAD_ROWS / 2 * FRAGMENT ? THREAD_ROWS / 2 : THREAD_ROWS;
  p->warp_rows = p->split ? TOGETHER : 1;
  while (2 * p->warp_rows * p->warp_cols <= most && rows > p->warp_rows * warp_height(p)) p->warp_rows *= 2;
  p->threads = WARP * p->warp_rows * p->warp_cols;
  p->rows = p->warp_rows * warp_height(p);
  p->cols = (int64_t)p->warp_cols * p->fragments * FRAGMENT;
  double longest = tiles_extent(&p->t->k);
  for (int i = 0; i < p->t->nmore; i++) longest = MAX(longest, tiles_extent(&p->t->more[i].k));
  p->k = MIN(p->split ? SPLIT_K : BLOCK_K, round_up((int64_t)MIN(longest, 1e9), STEP_K));
}

static bool choose_sizes(GroupTiles *p) {
  Tiles *t = p->t;
  const Target *target = t->g->target;
  p->split = target->product_split;
  choose_warps(p);
  if (!tiles_cut(t, &t->k, p->k, false, &t->k_outer) || !tiles_cut(t, &t->col, p->cols, false, &t->batch) ||
      !tiles_cut(t, &t->row, p->rows, false, &t->batch))
    return false;
  p->own_blocks = t->k.tiles;
  for (int i = 0; i < t->k_outer.n; i++) p->own_blocks = int_mul(p->own_blocks, t->k_outer.range[i]->src[1]);
  t->blocks = p->own_blocks;
  for (int i = 0; i < t->nmore; i++) {
    Group *k = &t->more[i].k;
    if (!tiles_cut(t, k, p->k, false, &t->k_outer)) return false;
    t->blocks = int_add(t->blocks, k->tiles);
  }
  t->a_by_k = tiles_along(t, t->x, &t->row);
  t->b_by_k = tiles_along(t, t->y, &t->col);
  t->a_line = line_of(p->rows, p->k, t->a_by_k);
  t->b_line = line_of(p->cols, p->k, t->b_by_k);
  p->a_size = t->a_line * (t->a_by_k ? p->k : p->rows);
  p->b_size = t->b_line * (t->b_by_k ? p->k : p->cols);
  int64_t part = p->split ? p->cols * p->k : 0, room = target->product_bytes / dtype_size(t->dtype) - 2 * part;
  p->stages = (int)MIN(MOST_STAGES, room / (p->a_size + p->b_size));
  if (p->stages < 2) return false;
  t->a = tiles_array(t, p->a_size * p->stages);
  t->b = tiles_array(t, p->b_size * p->stages);
  p->high = part ? tiles_array(t, part) : NULL;
  p->low = part ? tiles_array(t, part) : NULL;
  return t->blocks && t->a && t->b && (!part || (p->high && p->low));
}

/* ---- panels ---- */

/* Is place `at` one that the tile at hand has, of the `all` that a panel has room for? NULL: it always is. */
static bool inside(const Group *group, int64_t all, UOp *at, UOp **gate) {
  UOp *n = tiles_elements(group);
  if (!n || !at) return false;
  if (uop_is_int(n, all)) return true;
  UOp *in = int_lt(at, n);
  *gate = in && *gate ? uop_binary(OP_AND, *gate, in) : in;
  return *gate != NULL;
}

/* Are strips along a group whole ones, so that it is enough to look at the first of each? */
static bool whole_strips(const Group *group) {
  int64_t size = group->range[0]->src[1]->op == OP_CONST ? group->range[0]->src[1]->vmax : 1;
  return group->n == 1 && size % STRIP == 0 && group->tile % STRIP == 0;
}

/* One panel: a factor at all k of the block and all rows or columns of the tile; zeros beyond them. */
static bool pack(GroupTiles *p, Block *b, UOp *factor, UOp *array, Group *other, int64_t all, int64_t line, bool by_k) {
  int64_t size = array == p->t->a ? p->a_size : p->b_size;
  Tiles *t = p->t;
  Block *in = b;
  Group *run = by_k ? other : &t->k, *lines = by_k ? &t->k : other;
  int64_t length = by_k ? all : p->k, nlines = by_k ? p->k : all, quads = length / STRIP;
  UOp *u = tiles_open(t, &in, tiles_index(t, 0), tiles_index(t, nlines * quads), LOOP_GROUP);
  Block *group = in;
  UOp *s = u ? tiles_open(t, &in, tiles_index(t, 0), tiles_index(t, STRIP), 0) : NULL;
  if (!s) return false;
  UOp *of = int_div(u, tiles_index(t, quads)), *first = int_mulc(int_mod(u, tiles_index(t, quads)), STRIP);
  UOp *at = int_add(first, s), *gate = NULL;
  if (!inside(lines, nlines, of, &gate) || !inside(run, length, whole_strips(run) ? first : at, &gate)) return false;
  if (!tiles_at(lines, of, NULL) || !tiles_at(run, at, NULL)) return false;
  Change c = {.t = t, .gate = gate};
  tiles_note(&c, &t->k);
  tiles_note(&c, &t->k_outer);
  tiles_note(&c, other);
  tiles_note(&c, &t->batch);
  UOp *value = tiles_changed(&c, factor);
  map_free(ctx_base(t->g->ctx), &c.done);
  value = value ? uop_cast(value, t->dtype) : NULL;
  if (value && gate && factor->op != OP_LOAD) value = uop_where(gate, value, uop_const(t->g->ctx, t->dtype, 0));
  UOp *place = int_add(int_mulc(p->to, size), tiles_line(of, line, at));
  if (!value || !tiles_store(t, in, array, place, value)) return false;
  block_strip(t->g, in, STRIP);
  group->fenced = true;
  return tiles_close(t, in, b);
}

/* ---- sums ---- */

/* A loop with an iteration for each thread of the group, and where its rows and columns begin. */
static bool open_threads(GroupTiles *p, Block **b, uint32_t flags) {
  Tiles *t = p->t;
  UOp *thread = tiles_open(t, b, tiles_index(t, 0), tiles_index(t, p->threads), LOOP_GROUP | flags);
  if (!thread) return false;
  UOp *warp = int_div(thread, tiles_index(t, WARP)), *lane = int_mod(thread, tiles_index(t, WARP));
  UOp *along = tiles_index(t, p->warp_rows), *four = tiles_index(t, 4);
  p->row0 = int_add(int_mulc(int_mod(warp, along), warp_height(p)), int_div(lane, four));
  p->col0 = int_add(int_mulc(int_div(warp, along), (int64_t)p->fragments * FRAGMENT), int_mulc(int_mod(lane, four), 2));
  return p->row0 && p->col0;
}

static UOp *row_at(const GroupTiles *p, int r) { return int_addc(p->row0, (int64_t)r * FRAGMENT); }

static UOp *col_at(const GroupTiles *p, int c) { return int_addc(p->col0, (int64_t)(c / 2) * FRAGMENT + c % 2); }

static UOp *panel_at(UOp *first, UOp *at, UOp *k, int64_t line, bool by_k) {
  return int_add(first, by_k ? tiles_line(k, line, at) : tiles_line(at, line, k));
}

static bool open_sums(GroupTiles *p, Block *b) {
  Inst inst = {.kind = INST_ACC, .dtype = (uint8_t)p->t->dtype, .op = OP_ADD, .src = {-1, -1, -1}};
  for (int r = 0; r < p->thread_rows; r++)
    for (int c = 0; c < 2 * p->fragments; c++)
      if ((p->acc[r][c] = block_inst(p->t->g, b, inst, NULL)) < 0) return false;
  return true;
}

/* The block of b in its two parts: `high` is it with no more digits than matrix instructions keep, `low` the rest, so
 * their sum is the number itself. What has no such parts (infinite, not a number, too large to be rounded) is `high`.
 */
static bool split_block(GroupTiles *p, Block *b) {
  enum { HALF = 0x1000 };
  Tiles *t = p->t;
  Block *in = b;
  UOp *u = tiles_open(t, &in, tiles_index(t, 0), tiles_index(t, p->cols * p->k / STRIP), LOOP_GROUP);
  Block *group = in;
  UOp *s = u ? tiles_open(t, &in, tiles_index(t, 0), tiles_index(t, STRIP), 0) : NULL;
  if (!s) return false;
  UOp *cols = tiles_index(t, p->cols), *k = int_add(int_mulc(int_div(u, cols), STRIP), s);
  UOp *x = tiles_load(t, t->b, panel_at(int_mulc(p->from, p->b_size), int_mod(u, cols), k, t->b_line, t->b_by_k), 0);
  if (!x) return false;
  UOp *half = uop_int_const(t->g->ctx, POLY_UINT32, HALF), *kept = uop_int_const(t->g->ctx, POLY_UINT32, -2 * HALF);
  UOp *rounded = uop_bitcast(uop_binary(OP_AND, uop_binary(OP_ADD, uop_bitcast(x, POLY_UINT32), half), kept), t->dtype);
  UOp *rest = uop_binary(OP_SUB, x, rounded), *zero = uop_const(t->g->ctx, t->dtype, 0);
  UOp *finite = uop_binary(OP_CMPEQ, uop_binary(OP_SUB, rest, rest), zero), *at = int_add(int_mulc(u, STRIP), s);
  if (!tiles_store(t, in, p->high, at, uop_where(finite, rounded, x)) ||
      !tiles_store(t, in, p->low, at, uop_where(finite, rest, zero)))
    return false;
  block_strip(t->g, in, STRIP);
  group->fenced = true;
  Inst fence = {.kind = INST_FENCE, .src = {-1, -1, -1}};
  return tiles_close(t, in, b) && block_inst(t->g, b, fence, NULL) >= 0;
}

/* b at k and column number c of the thread. */
static UOp *load_b(const GroupTiles *p, UOp *k, int c) {
  Tiles *t = p->t;
  UOp *col = col_at(p, c);
  if (!p->split) return tiles_load(t, t->b, panel_at(int_mulc(p->from, p->b_size), col, k, t->b_line, t->b_by_k), 0);
  UOp *four = tiles_index(t, STRIP);
  UOp *at = int_add(int_mulc(int_add(int_mulc(int_div(k, four), p->cols), col), STRIP), int_mod(k, four));
  return uop_binary(OP_ADD, tiles_load(t, p->high, at, 0), tiles_load(t, p->low, at, 0));
}

static bool multiply(GroupTiles *p, Block *b) {
  Tiles *t = p->t;
  Codegen *g = t->g;
  Block *in = b;
  int x[THREAD_ROWS], y[2 * MOST_FRAGMENTS];
  if ((p->split && !split_block(p, b)) || !open_threads(p, &in, LOOP_REDUCE)) return false;
  in->own = in->whole = true;
  UOp *k = tiles_open(t, &in, tiles_index(t, 0), tiles_index(t, p->k),
                      LOOP_REDUCE | LOOP_TENSOR | (p->split ? LOOP_SPLIT : 0));
  if (!k) return false;
  in->whole = true;
  g->inst.at[in->loop].arg.i = p->split ? p->cols : t->b_by_k ? 1 : t->b_line;
  for (int r = 0; r < p->thread_rows; r++) {
    UOp *u = tiles_load(t, t->a, panel_at(int_mulc(p->from, p->a_size), row_at(p, r), k, t->a_line, t->a_by_k), 0);
    if (!u || (x[r] = block_value(g, in, u)) < 0) return false;
  }
  for (int c = 0; c < 2 * p->fragments; c++) {
    UOp *u = load_b(p, k, c);
    if (!u || (y[c] = block_value(g, in, u)) < 0) return false;
  }
  for (int r = 0; r < p->thread_rows; r++)
    for (int c = 0; c < 2 * p->fragments; c++) {
      Inst update = {.kind = INST_UPDATE, .dtype = (uint8_t)t->dtype, .op = OP_ADD, .src = {p->acc[r][c], x[r], y[c]}};
      if (block_inst(g, in, update, NULL) < 0) return false;
    }
  return tiles_close(t, in, b);
}

/* ---- what follows ---- */

/* What follows one sum, with its row and column. */
static bool finish_one(GroupTiles *p, Block *b, int r, int c) {
  Tiles *t = p->t;
  UOp *row = row_at(p, r), *col = col_at(p, c), *gate = NULL;
  if (!inside(&t->row, p->rows, row, &gate) || !inside(&t->col, p->cols, col, &gate)) return false;
  UOp *sum = tiles_load(t, t->a, tiles_line(row, p->cols, col), 1 + r * 2 * MOST_FRAGMENTS + c);
  if (!sum || !block_name(t->g, b, sum, p->acc[r][c])) return false;
  if (!tiles_at(&t->row, row, NULL) || !tiles_at(&t->col, col, NULL)) return false;
  return tiles_finish(t, b, uop_cast(sum, (PolyDType)t->loop->dtype), gate, NULL, NULL);
}

static bool finish(GroupTiles *p, Block *b) {
  Block *in = b;
  if (!open_threads(p, &in, 0)) return false;
  for (int r = 0; r < p->thread_rows; r++)
    for (int c = 0; c < 2 * p->fragments; c++)
      if (!finish_one(p, in, r, c)) return false;
  return tiles_close(p->t, in, b);
}

/* ---- the kernel ---- */

/* A block that runs if `yes`: a loop of one iteration or none. */
static bool open_if(Tiles *t, Block **b, UOp *yes) {
  UOp *one = tiles_index(t, 1), *zero = tiles_index(t, 0), *end = yes ? uop_where(yes, one, zero) : NULL;
  return end && tiles_open(t, b, zero, end, LOOP_REDUCE | LOOP_IF);
}

/* A block of both factors is loaded into place, if `yes`. */
static bool load_factors(GroupTiles *p, Block *b, UOp *yes, UOp *x, UOp *y) {
  Tiles *t = p->t;
  Block *in = b;
  if (!open_if(t, &in, yes)) return false;
  in->fenced = true;
  return pack(p, in, x, t->a, &t->row, p->rows, t->a_line, t->a_by_k) &&
         pack(p, in, y, t->b, &t->col, p->cols, t->b_line, t->b_by_k) && tiles_close(t, in, b);
}

/* Block number `block` of the sum is loaded: those of one product after those of the other. */
static bool load_block(GroupTiles *p, Block *b, UOp *block) {
  Tiles *t = p->t;
  p->to = int_mod(block, tiles_index(t, p->stages));
  if (!tiles_place(&t->k, int_mod(block, t->k.tiles)) || !tiles_place_outer(&t->k_outer, int_div(block, t->k.tiles)))
    return false;
  UOp *end = p->own_blocks;
  if (!load_factors(p, b, int_lt(block, end), t->x, t->y)) return false;
  Group first = t->k;
  for (int i = 0; i < t->nmore; i++) {
    const Term *m = &t->more[i];
    UOp *begin = end, *own = begin ? int_sub(block, begin) : NULL;
    t->k = m->k;
    end = int_add(begin, m->k.tiles);
    if (!own || !end || !tiles_place(&t->k, own)) return false;
    UOp *inside = uop_binary(OP_AND, int_lt(int_addc(begin, -1), block), int_lt(block, end));
    if (!load_factors(p, b, inside, m->x, m->y)) return false;
  }
  t->k = first;
  return true;
}

/* The one that was loaded `stages - 1` iterations ago is multiplied. */
static bool multiply_block(GroupTiles *p, Block *b, UOp *block) {
  Tiles *t = p->t;
  Block *in = b;
  if (!open_if(t, &in, int_lt(tiles_index(t, p->stages - 2), block))) return false;
  in->whole = in->own = true;
  p->from = int_mod(int_addc(block, 1), tiles_index(t, p->stages)); /* of block - (stages - 1) */
  return p->from && multiply(p, in) && tiles_close(t, in, b);
}

static bool build(GroupTiles *p) {
  Tiles *t = p->t;
  Codegen *g = t->g;
  Block *tile = g->top;
  if (!tiles_grid(t, &tile) || !open_sums(p, tile)) return false;
  g->inner = tile;
  g->group = p->threads;
  g->pack = 1;
  Block *in = tile;
  UOp *block = tiles_open(t, &in, tiles_index(t, 0), int_addc(t->blocks, p->stages - 1), LOOP_REDUCE);
  if (!block) return false;
  in->whole = in->own = in->fenced = true;
  Inst fence = {.kind = INST_FENCE, .src = {-1, -1, -1}, .arg = {.i = p->stages - 1}};
  return block_inst(g, in, fence, NULL) >= 0 && load_block(p, in, block) && multiply_block(p, in, block) &&
         tiles_close(t, in, tile) && finish(p, tile) && tiles_close(t, tile, g->top) &&
         (g->flops = tiles_flops(t)) != NULL;
}

/* Is it worth tiles? A few rows or columns would be mostly zeros; of few results that are long sums, threads rather
 * share the sums. */
static bool fills_tiles(const Tiles *t) {
  enum { FEW_TILES = 32, LONG_SUM = 4096 };
  double rows = tiles_extent(&t->row), cols = tiles_extent(&t->col), k = tiles_extent(&t->k);
  if (t->dtype != POLY_FLOAT32 || rows < LEAST_ROWS || cols < FRAGMENT || k < STEP_K) return false;
  double results = rows * cols * tiles_extent(&t->batch), tile = 4 * LEAST_ROWS * MOST_FRAGMENTS * FRAGMENT;
  return k < LONG_SUM || results >= FEW_TILES * tile;
}

bool build_group_tiles(Tiles *t, bool *done) {
  GroupTiles p = {.t = t};
  if (!t->nmore && tiles_extent(&t->row) < LEAST_ROWS) tiles_turn(t); /* a warp has more rows than columns at least */
  if (!fills_tiles(t)) return true;
  if (!choose_sizes(&p)) {
    t->g->local.n = 0;
    return ctx_base(t->g->ctx)->code == POLY_OK;
  }
  *done = true;
  return build(&p);
}
