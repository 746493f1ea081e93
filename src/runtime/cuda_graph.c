/* cuda_graph.c: runs of programs as CUDA graphs: what a plan queues is recorded once and then queued by one call.
 *
 * A run is told by its words: where its memory is and the values that sizes depend on. The first run with some words is
 * launched item by item, the second one is recorded and launched, later ones are replayed. Where only loose values have
 * changed (counters of random numbers), the items are walked again, and kernels whose arguments differ get them in the
 * graph. A program keeps a few recorded runs, the one that was used longest ago makes room. */
#include "runtime/cuda.h"

#include <string.h>

/* Memory that routines of a run may keep for their work. What needs more is not worth recording: its kernels take
 * longer than launching them. */
enum { MOST_KEPT = 16 << 20 };

/* A kernel of a recorded run. */
typedef struct CudaNode {
  CuGraphNode node;
  CuFunction function;
  unsigned grid, block;
  int nword;
  uint64_t *word; /* its arguments */
} CudaNode;

/* Memory of the device that a recorded run works in. */
typedef struct CudaRoom {
  void *memory;
  size_t bytes;
} CudaRoom;

typedef enum RunMode { MODE_RECORD, MODE_UPDATE } RunMode;

typedef struct CudaRun {
  uint64_t *fixed;
  int64_t *loose;
  int nfixed, nloose;
  uint64_t used; /* when it was last used */
  RunMode mode;
  int at; /* the next kernel, while it is brought up to date */
  CuGraph graph;
  CuGraphExec exec; /* NULL: not recorded */
  VEC(CudaNode) node;
  VEC(CudaRoom) room;
  size_t kept; /* bytes of all rooms */
  bool failed;
} CudaRun;

static void clear_run(CudaDevice *c, CudaRun *r) {
  Base *b = ctx_base(c->device.ctx);
  if (r->exec) c->api.cuGraphExecDestroy(r->exec);
  if (r->graph) c->api.cuGraphDestroy(r->graph);
  for (int i = 0; i < r->node.n; i++) mem_free(b, r->node.at[i].word, (size_t)r->node.at[i].nword * sizeof(uint64_t));
  for (int i = 0; i < r->room.n; i++) memory_free(&c->memory.memory, r->room.at[i].memory, r->room.at[i].bytes);
  r->exec = NULL;
  r->graph = NULL;
  r->node.n = r->room.n = 0;
  r->kept = 0;
}

static void free_run(CudaDevice *c, CudaRun *r) {
  Base *b = ctx_base(c->device.ctx);
  if (!r) return;
  clear_run(c, r);
  vec_free(b, &r->node);
  vec_free(b, &r->room);
  mem_free(b, r->fixed, (size_t)r->nfixed * sizeof *r->fixed);
  mem_free(b, r->loose, (size_t)r->nloose * sizeof *r->loose);
  mem_free(b, r, sizeof *r);
}

void cuda_forget_runs(CudaProgram *p) {
  for (int i = 0; i < CUDA_RUNS; i++) {
    free_run((CudaDevice *)p->program.device, p->runs[i]);
    p->runs[i] = NULL;
  }
}

static bool same(const void *a, const void *b, int n, int m, size_t size) {
  return n == m && (n == 0 || !memcmp(a, b, (size_t)n * size));
}

static CudaRun *find_run(CudaProgram *p, const RunWords *w) {
  for (int i = 0; i < CUDA_RUNS; i++) {
    CudaRun *r = p->runs[i];
    if (r && same(r->fixed, w->fixed, r->nfixed, w->nfixed, sizeof *w->fixed)) return r;
  }
  return NULL;
}

/* Remembers words that were not seen before, in place of those used longest ago. */
static bool note_run(CudaProgram *p, const RunWords *w) {
  CudaDevice *c = (CudaDevice *)p->program.device;
  Base *b = ctx_base(c->device.ctx);
  int at = 0;
  for (int i = 1; i < CUDA_RUNS; i++)
    if (p->runs[at] && (!p->runs[i] || p->runs[i]->used < p->runs[at]->used)) at = i;
  free_run(c, p->runs[at]);
  CudaRun *r = p->runs[at] = mem_new(b, sizeof *r);
  if (!r) return false;
  r->nfixed = w->nfixed;
  r->nloose = w->nloose;
  r->used = ++p->clock;
  r->fixed = mem_new(b, (size_t)w->nfixed * sizeof *r->fixed);
  r->loose = mem_new(b, (size_t)w->nloose * sizeof *r->loose);
  if ((w->nfixed && !r->fixed) || (w->nloose && !r->loose)) return false;
  if (w->nfixed) memcpy(r->fixed, w->fixed, (size_t)w->nfixed * sizeof *r->fixed);
  return true;
}

static RunKind start(CudaDevice *c, CudaRun *r, RunMode mode) {
  r->mode = mode;
  r->at = 0;
  r->failed = false;
  if (mode == MODE_RECORD &&
      !cuda_ok(c, c->api.cuStreamBeginCapture_v2(c->stream, CU_CAPTURE_RELAXED), "recording a run"))
    return RUN_FAILED;
  if (mode == MODE_RECORD) cuda_order_begin(c);
  c->run = r;
  return RUN_ITEMS;
}

static RunKind begin(CudaProgram *p, CudaDevice *c, const RunWords *w) {
  CudaRun *r = find_run(p, w);
  if (!r) return note_run(p, w) ? RUN_PLAIN : RUN_FAILED;
  r->used = ++p->clock;
  bool current = same(r->loose, w->loose, r->nloose, w->nloose, sizeof *w->loose);
  if (w->nloose) memcpy(r->loose, w->loose, (size_t)w->nloose * sizeof *r->loose);
  if (!r->exec) return start(c, r, MODE_RECORD);
  if (!current) return start(c, r, MODE_UPDATE);
  return cuda_ok(c, c->api.cuGraphLaunch(r->exec, c->stream), "replaying a run") ? RUN_DONE : RUN_FAILED;
}

RunKind cuda_begin(Program *program, const RunWords *w) {
  CudaProgram *p = (CudaProgram *)program;
  CudaDevice *c = (CudaDevice *)program->device;
  if (p->unrecordable) return RUN_PLAIN;
  CudaEntry entry;
  if (!cuda_enter(c, &entry)) return RUN_FAILED;
  RunKind kind = begin(p, c, w);
  cuda_leave(c, &entry);
  return kind;
}

/* ---- while it runs ---- */

bool cuda_run_queues(const CudaDevice *c) { return !c->run || c->run->mode == MODE_RECORD; }

/* Queues a kernel and notes its node in the graph. */
static bool record(CudaDevice *c, CudaRun *r, const CudaLaunch *l, const GpuKernel *kernel) {
  Base *b = ctx_base(c->device.ctx);
  CudaNode n = {.function = l->function, .grid = l->grid, .block = l->block, .nword = l->nword};
  int status = 0;
  const CuGraphNode *last = NULL;
  size_t nlast = 0;
  if (l->grid) {
    cuda_order_before(c, kernel, 0);
    if (!cuda_launch(c, l, kernel->name)) return false;
    cuda_order_after(c, 0);
    if (c->api.cuStreamGetCaptureInfo_v2(c->stream, &status, NULL, NULL, &last, &nlast) != CU_OK || nlast != 1)
      r->failed = true;
    else
      n.node = last[0];
  }
  n.word = mem_new(b, (size_t)l->nword * sizeof *n.word);
  if (!n.word) return false;
  memcpy(n.word, l->word, (size_t)l->nword * sizeof *n.word);
  if (vec_push(b, &r->node, n)) return true;
  mem_free(b, n.word, (size_t)l->nword * sizeof *n.word);
  return false;
}

/* Gives a recorded kernel its arguments of this run. A kernel without blocks is not in the graph. */
static bool update(CudaDevice *c, CudaRun *r, const CudaLaunch *l) {
  CudaNode *n = r->at < r->node.n ? &r->node.at[r->at++] : NULL;
  if (!n || n->function != l->function || n->nword != l->nword || !n->grid != !l->grid) {
    r->failed = true;
    return true;
  }
  bool same_words = n->grid == l->grid && !memcmp(n->word, l->word, (size_t)n->nword * sizeof *n->word);
  if (same_words || !l->grid) return true;
  CuKernelNode params = {.function = l->function, .grid = {l->grid, 1, 1}, .block = {l->block, 1, 1}};
  params.shared = l->room;
  params.params = l->params;
  n->grid = l->grid;
  memcpy(n->word, l->word, (size_t)n->nword * sizeof *n->word);
  if (c->api.cuGraphExecKernelNodeSetParams(r->exec, n->node, &params) != CU_OK) r->failed = true;
  return true;
}

bool cuda_run_launch(CudaDevice *c, const CudaLaunch *l, const GpuKernel *kernel) {
  return c->run->mode == MODE_RECORD ? record(c, c->run, l, kernel) : update(c, c->run, l);
}

void cuda_run_spoil(CudaDevice *c) {
  if (c->run) c->run->failed = true;
}

bool cuda_run_keeps(CudaDevice *c, void *memory, size_t bytes) {
  CudaRun *r = c->run;
  if (!r || r->mode != MODE_RECORD || !memory) return false;
  r->kept += bytes;
  r->failed |= r->kept > MOST_KEPT;
  if (vec_push(ctx_base(c->device.ctx), &r->room, ((CudaRoom){memory, bytes}))) return true;
  r->failed = true;
  return false;
}

/* ---- its end ---- */

static bool finish_recording(CudaDevice *c, CudaRun *r) {
  int status = c->api.cuStreamEndCapture(c->stream, &r->graph);
  if (status != CU_OK || !r->graph || r->failed) return false;
  return c->api.cuGraphInstantiateWithFlags(&r->exec, r->graph, 0) == CU_OK;
}

/* What cannot be recorded, or no longer be updated, is forgotten, and the items are launched as ever. */
static bool end(CudaProgram *p, CudaDevice *c, CudaRun *r, bool ok, bool *again) {
  bool recorded = r->mode == MODE_UPDATE || finish_recording(c, r);
  if (ok && recorded && !r->failed) return cuda_ok(c, c->api.cuGraphLaunch(r->exec, c->stream), "replaying a run");
  if (r->mode == MODE_RECORD) p->unrecordable = true;
  clear_run(c, r);
  *again = ok;
  return ok;
}

bool cuda_end(Program *program, bool ok, bool *again) {
  CudaProgram *p = (CudaProgram *)program;
  CudaDevice *c = (CudaDevice *)program->device;
  CudaRun *r = c->run;
  *again = false;
  if (!r) return ok;
  c->run = NULL;
  cuda_order_free(c);
  CudaEntry entry;
  if (!cuda_enter(c, &entry)) return false;
  ok = end(p, c, r, ok, again);
  cuda_leave(c, &entry);
  return ok;
}
