/* cuda_order.c: which items of a recorded run wait for which. In: the memory that each item reads and writes, told
 * before it is launched. Out: edges of the CUDA graph.
 *
 * A stream would run all items one after the other. Of a small training step most items take as long as it takes to
 * start them, and many have nothing to do with each other: gradients of biases, updates of parameters, the rows of hubs
 * beside those of other nodes. So before each launch the stream that is recorded is told to wait for just the nodes
 * whose memory the launch touches. What runs side by side writes nothing that the other reads or writes, so results are
 * the same bits. Two items that each keep the card busy stay in order: they would only take each other's cache. */
#include "runtime/cuda.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ITEMS = 2048, WORD_BITS = 64, MOST_LAST = 8 };
enum { LARGE_BYTES = 8 << 20 }; /* 2 us at the card's bandwidth, about what starting a kernel takes */

typedef struct CudaItem {
  int nuse;
  MemoryUse *use;
  bool large, checks, updates;
  bool in_order; /* each of its launches waits for the one before */
  VEC(CuGraphNode) node;
  uint64_t before[MOST_ITEMS / WORD_BITS]; /* items that are over when it begins */
} CudaItem;

struct CudaOrder {
  VEC(CudaItem *) item;
  VEC(CuGraphNode) wait;            /* what the next launch waits for */
  CuGraphNode room[CUDA_ALL_ROOMS]; /* the last product that worked in each part of the workspace */
  bool in_order;                    /* the rest of the run is recorded as it comes */
};

void cuda_order_free(CudaDevice *c) {
  Base *b = ctx_base(c->device.ctx);
  CudaOrder *o = c->order;
  c->order = NULL;
  for (int i = 0; o && i < o->item.n; i++) {
    CudaItem *it = o->item.at[i];
    mem_free(b, it->use, (size_t)it->nuse * sizeof *it->use);
    vec_free(b, &it->node);
    mem_free(b, it, sizeof *it);
  }
  if (o) {
    vec_free(b, &o->item);
    vec_free(b, &o->wait);
    mem_free(b, o, sizeof *o);
  }
}

void cuda_order_begin(CudaDevice *c) {
  const char *env = getenv("POLY_CUDA_ORDER");
  cuda_order_free(c);
  if (c->api.update_dependencies && !(env && atoi(env) > 0))
    c->order = mem_new(ctx_base(c->device.ctx), sizeof *c->order);
}

/* All that was recorded comes before what follows, which is recorded in the order it comes in. */
static void give_up(CudaDevice *c) {
  Base *b = ctx_base(c->device.ctx);
  CudaOrder *o = c->order;
  bool ok = true;
  o->in_order = true;
  o->wait.n = 0;
  for (int i = 0; i < o->item.n; i++)
    for (int k = 0; k < o->item.at[i]->node.n; k++) ok = vec_push(b, &o->wait, o->item.at[i]->node.at[k]) && ok;
  if (!ok || (o->wait.n && c->api.update_dependencies(c->stream, o->wait.at, (size_t)o->wait.n, CU_ADD_DEPENDENCIES)))
    cuda_run_spoil(c);
}

void cuda_touches(Device *d, int n, const MemoryUse *use, int64_t bytes, bool in_order) {
  CudaDevice *c = (CudaDevice *)d;
  CudaOrder *o = c->order;
  Base *b = ctx_base(d->ctx);
  if (!o || o->in_order) return;
  CudaItem *it = o->item.n < MOST_ITEMS ? mem_new(b, sizeof *it) : NULL;
  if (it) {
    it->nuse = n;
    it->large = bytes > LARGE_BYTES;
    it->in_order = in_order;
    it->use = mem_new(b, (size_t)n * sizeof *use);
  }
  if (!it || (n && !it->use) || !vec_push(b, &o->item, it)) {
    if (it) mem_free(b, it->use, (size_t)n * sizeof *use);
    mem_free(b, it, it ? sizeof *it : 0);
    give_up(c);
    return;
  }
  if (n) memcpy(it->use, use, (size_t)n * sizeof *use);
}

/* Must b, which comes later, wait for a? A kernel that updates state looks whether one that checks indices has found an
 * error. */
static bool conflict(const CudaItem *a, const CudaItem *b) {
  if ((a->large && b->large) || (a->checks && b->updates) || (a->updates && b->checks)) return true;
  for (int i = 0; i < a->nuse; i++)
    for (int k = 0; k < b->nuse; k++)
      if ((a->use[i].written || b->use[k].written) && a->use[i].begin < b->use[k].end &&
          b->use[k].begin < a->use[i].end)
        return true;
  return false;
}

/* The latest items that the last one depends on; what those wait for is over as well. */
static bool find_earlier(CudaDevice *c, CudaItem *it) {
  CudaOrder *o = c->order;
  Base *b = ctx_base(c->device.ctx);
  o->wait.n = 0;
  memset(it->before, 0, sizeof it->before);
  for (int j = o->item.n - 2; j >= 0; j--) {
    const CudaItem *other = o->item.at[j];
    uint64_t *word = &it->before[j / WORD_BITS], bit = (uint64_t)1 << j % WORD_BITS;
    if (!other->node.n || *word & bit || !conflict(other, it)) continue;
    for (int k = 0; k < other->node.n; k++)
      if (!vec_push(b, &o->wait, other->node.at[k])) return false;
    *word |= bit;
    for (int k = 0; k <= j / WORD_BITS; k++) it->before[k] |= other->before[k];
  }
  return true;
}

/* Does the item know now of something that earlier items must wait for, or that must wait for them? */
static bool learns(CudaItem *it, const GpuKernel *kernel) {
  bool checks = it->checks, updates = it->updates;
  it->checks |= kernel && kernel->checks;
  it->updates |= kernel && kernel->updates;
  return it->checks != checks || it->updates != updates;
}

void cuda_order_before(CudaDevice *c, const GpuKernel *kernel, unsigned rooms) {
  CudaOrder *o = c->order;
  if (!o || o->in_order || !o->item.n) return;
  CudaItem *it = o->item.at[o->item.n - 1];
  bool follows = it->in_order && it->node.n, ok = true, learned = learns(it, kernel);
  o->wait.n = 0;
  if (!follows || learned) ok = find_earlier(c, it);
  for (int k = 0; k < CUDA_ALL_ROOMS; k++)
    if (ok && rooms & 1u << k && o->room[k]) ok = vec_push(ctx_base(c->device.ctx), &o->wait, o->room[k]);
  for (int k = 0; ok && follows && k < it->node.n; k++)
    ok = vec_push(ctx_base(c->device.ctx), &o->wait, it->node.at[k]);
  if (!ok || c->api.update_dependencies(c->stream, o->wait.at, (size_t)o->wait.n, CU_SET_DEPENDENCIES)) give_up(c);
}

void cuda_order_after(CudaDevice *c, unsigned rooms) {
  CudaOrder *o = c->order;
  Base *b = ctx_base(c->device.ctx);
  if (!o || o->in_order || !o->item.n) return;
  CudaItem *it = o->item.at[o->item.n - 1];
  const CuGraphNode *last = NULL;
  size_t n = 0;
  int status = 0;
  bool ok = c->api.cuStreamGetCaptureInfo_v2(c->stream, &status, NULL, NULL, &last, &n) == CU_OK && n <= MOST_LAST;
  if (it->in_order) it->node.n = 0; /* what is last waits for the others */
  for (size_t k = 0; ok && k < n; k++) ok = vec_push(b, &it->node, last[k]);
  for (int k = 0; ok && k < CUDA_ALL_ROOMS && rooms; k++)
    if (rooms & 1u << k) o->room[k] = n == 1 ? last[0] : NULL;
  if (!ok || (rooms && n != 1)) give_up(c);
}
