/* tiles.c: runs a composite item: its sub-items for one tile of edges after the other, pieces of tiles side by side.
 * In: the item and the row pointers of its graph. Out: what its sub-items store. Pieces and tiles follow from the graph
 * and the plan, never from the number of threads. */
#include "base/threads.h"
#include "engine/engine.h"

/* One run of a composite item. */
typedef struct TilesRun {
  Plan *p;
  const PlanTiles *t;
  const int32_t *rowptr; /* on the host; NULL: edges in their own order */
  int64_t edges, rows, pieces;
  bool timed;
  bool profiled; /* each launch is timed by the device, and listed by itself */
} TilesRun;

/* Rows from `row` on and places from `edge` on that a piece has. */
typedef struct Bound {
  int64_t row, edge;
} Bound;

/* The first row that begins at `edge` or behind it. */
static int64_t first_row(const TilesRun *r, int64_t edge) {
  int64_t low = 0, high = r->rows;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (r->rowptr[middle] >= edge)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* Where a piece begins: pieces have about equally many edges, and whole rows. */
static Bound piece_begin(const TilesRun *r, int64_t piece) {
  int64_t edge = (int64_t)((double)r->edges / (double)r->pieces * (double)piece);
  if (piece == 0) return (Bound){0, 0};
  if (piece == r->pieces) return (Bound){r->rows, r->edges};
  if (!r->rowptr) return (Bound){0, edge};
  int64_t row = first_row(r, edge);
  return (Bound){row, r->rowptr[row]};
}

static bool run_sub(const TilesRun *r, const PlanItem *it, const int64_t *var, int worker, int threads) {
  Plan *p = r->p;
  MemoryRef args[TILE_ARGS];
  int64_t vars[TILE_ARGS];
  for (int a = 0; a < it->narg; a++) {
    const PlanSlot *s = &p->slot[it->arg[a]];
    args[a] = p->at[it->arg[a]];
    if (s->kind == SLOT_TILE) args[a].offset += s->each * (size_t)worker;
  }
  if (it->kind == ITEM_KERNEL) {
    for (int k = 0; k < it->nvar; k++) vars[k] = it->var[k] >= 0 ? p->value[it->var[k]] : var[-1 - it->var[k]];
    return launch_kernels(p, it, args, vars, threads);
  }
  MatmulCall c = it->call;
  c.worker = true;
  c.work = r->t->work < 0 ? (MemoryRef){0} : p->at[r->t->work];
  if (r->t->work >= 0) c.work.offset += p->slot[r->t->work].each * (size_t)worker;
  *(it->matmul.axis == ROWS_OUTER ? &c.m : &c.k) = var[TILE_EDGES] * it->each;
  if (it->matmul.in_place)
    args[0].offset += (size_t)(var[TILE_EDGE] * it->each * c.c_row) * dtype_size((PolyDType)c.dtype);
  return run_product(p, it, &c, args, it->a_offset + var[TILE_EDGE] * it->a_step,
                     it->b_offset + var[TILE_EDGE] * it->b_step, 1);
}

/* Runs and times a part of a tile. What a tile reads of whole arrays is its share of them. */
static bool run_profiled(const TilesRun *r, const PlanItem *it, const int64_t *var) {
  Device *d = r->p->device;
  PlanItem share = *it;
  double ms = 0, part = r->edges ? (double)var[TILE_EDGES] / (double)r->edges : 1;
  bool ok = d->timer(d, NULL) && run_sub(r, it, var, 0, 1) && d->timer(d, &ms);
  share.nbytes = share.nflops = 0;
  for (int a = 0; a < it->narg; a++) {
    const PlanSlot *s = &r->p->slot[it->arg[a]];
    share.nbytes += s->kind == SLOT_TILE || s->copies ? (int64_t)s->each : (int64_t)((double)s->bytes * part);
  }
  if (it->kind == ITEM_KERNEL) share.nflops = (int64_t)((double)it->nflops * part);
  if (it->kind == ITEM_MATMUL) {
    int64_t edges = var[TILE_EDGES] * it->each;
    bool outer = it->matmul.axis == ROWS_OUTER;
    share.nflops = 2 * (outer ? edges : it->call.m) * it->call.n * (outer ? it->call.k : edges);
    *(outer ? &share.call.m : &share.call.k) = -1; /* tiles have different sizes and one name */
  }
  if (ok) profile_item(r->p, &share, ms);
  return ok;
}

/* One tile: edges [from, to), rows [row, last). */
static bool run_tile(const TilesRun *r, int64_t *var, Bound from, Bound to, int worker) {
  var[TILE_EDGE] = from.edge;
  var[TILE_EDGES] = to.edge - from.edge;
  var[TILE_ROW] = from.row;
  var[TILE_ROWS] = to.row - from.row;
  for (int i = 0; i < r->t->nitem; i++) {
    PlanItem *it = &r->t->item[i];
    double start = r->timed ? now_ms() : 0;
    if (!(r->profiled ? run_profiled(r, it, var) : run_sub(r, it, var, worker, 1))) return false;
    if (r->timed) it->spent += (int64_t)((now_ms() - start) * 1e6);
  }
  var[TILE_BEGUN] = 1;
  return true;
}

/* Where the tile that begins at `at` ends, and where the next one of the piece begins. */
static Bound tile_end(const TilesRun *r, Bound at, Bound end, Bound *next) {
  Bound to = {end.row, MIN(at.edge + r->t->tile, end.edge)};
  if (to.edge < end.edge && r->rowptr) to.row = first_row(r, to.edge);       /* those that begin before its end */
  bool cut = to.edge < end.edge && r->rowptr && r->rowptr[to.row] > to.edge; /* its last row goes on */
  *next = (Bound){to.row - cut, to.edge};
  return to;
}

/* Has a piece nothing to do, being inside one long row? */
static bool is_empty(const TilesRun *r, Bound at, Bound end) {
  return r->pieces > 1 && at.edge == end.edge && at.row == end.row && !r->t->nfinish;
}

static bool run_piece(void *user, int64_t piece, int worker) {
  const TilesRun *r = user;
  int64_t var[TILE_VARS] = {[TILE_PIECE] = piece, [TILE_PIECES] = r->pieces};
  Bound at = piece_begin(r, piece), end = piece_begin(r, piece + 1);
  if (is_empty(r, at, end)) return true;
  do {
    Bound next, to = tile_end(r, at, end, &next);
    if (!run_tile(r, var, at, to, worker)) return false;
    at = next;
  } while (at.edge < end.edge);
  return true;
}

static bool begin_tiles(Plan *p, const PlanTiles *t, TilesRun *r) {
  *r = (TilesRun){.p = p, .t = t, .edges = t->nedges, .rows = t->nrows, .timed = p->ctx->debug >= 2};
  r->profiled = tiles_are_profiled(p);
  r->pieces = MAX(MIN(t->pieces, (t->nedges + t->tile - 1) / t->tile), 1);
  if (t->rowptr < 0) return true;
  return (r->rowptr = buffer_read(p->input[p->slot[t->rowptr].input], host_memory(p->ctx->runtime))) != NULL;
}

bool tiles_are_profiled(const Plan *p) { return p->ctx->engine->profile.on && p->device->timer; }

bool tiles_word(Plan *p, const PlanItem *it, uint64_t *word) {
  TilesRun r;
  if (!begin_tiles(p, it->tiles, &r)) return false;
  *word = 0;
  for (int64_t piece = 0; r.rowptr && piece < r.pieces; piece++) {
    Bound at = piece_begin(&r, piece), end = piece_begin(&r, piece + 1), next;
    *word = hash_bytes(&at, sizeof at, *word);
    if (is_empty(&r, at, end)) continue;
    do {
      Bound to = tile_end(&r, at, end, &next);
      *word = hash_bytes(&to, sizeof to, *word);
      at = next;
    } while (at.edge < end.edge);
  }
  return true;
}

bool run_tiles(Plan *p, const PlanItem *it) {
  const PlanTiles *t = it->tiles;
  TilesRun r;
  if (!begin_tiles(p, t, &r)) return false;
  int threads = (int)MIN((int64_t)threads_allowed(p->workers), r.pieces);
  bool ok = true;
  if (p->device->pieces)
    ok = p->device->pieces(p->device, r.pieces, threads, run_piece, &r);
  else
    for (int64_t k = 0; ok && k < r.pieces; k++) ok = run_piece(&r, k, 0);
  int64_t var[TILE_VARS] = {[TILE_PIECES] = r.pieces};
  for (int i = 0; ok && i < t->nfinish; i++)
    ok = r.profiled ? run_profiled(&r, &t->item[t->nitem + i], var)
                    : run_sub(&r, &t->item[t->nitem + i], var, 0, threads_allowed(p->ctx->runtime->threads));
  for (int i = 0; ok && r.timed && i < t->nitem; i++) {
    debug_item(p, &t->item[i], (double)t->item[i].spent * 1e-6);
    t->item[i].spent = 0;
  }
  return ok;
}
