/* cuda_ahead.c: copies to the card beside its work, on a stream of their own: the inputs of the next step while the
 * last one runs.
 *
 *   work   ... step 1 | step 2        | waits for copy 2 | step 3
 *   ahead      waits for what was queued before | copy 2 |
 *
 * The memory that a copy fills may have been given back by work that is still queued, so a copy waits for all that was
 * queued before it. Whoever uses what it brings waits for it (buffer.c knows its number), and later copies with it:
 * they are in order. Bytes go through page-locked chunks; their number grows while all are on their way, up to a limit
 * at which the host waits. */
#include "runtime/cuda.h"

#include <string.h>

enum { MOST_CHUNKS = 32, EVENTS = 16, CU_NO_TIMES = 2 };

typedef struct CudaAhead {
  CuStream stream;
  CuEvent queued;          /* what the work had to do when the copy was made */
  CuEvent arrived[EVENTS]; /* of copy n the one at n modulo their number, or of a later one */
  uint64_t made, waited;   /* the last copy, and the last one that the work waits for */
  int nchunk, next;
  char *chunk[MOST_CHUNKS];
  CuEvent chunk_free[MOST_CHUNKS];
} CudaAhead;

static bool new_event(CudaDevice *c, CuEvent *event) {
  return cuda_ok(c, c->api.cuEventCreate(event, CU_NO_TIMES), "making an event");
}

static CudaAhead *ahead_of(CudaDevice *c) {
  if (c->memory.ahead) return c->memory.ahead;
  CudaAhead *a = c->memory.ahead = mem_new(ctx_base(c->device.ctx), sizeof *a);
  if (!a) return NULL;
  bool ok = cuda_ok(c, c->api.cuStreamCreate(&a->stream, CU_STREAM_NON_BLOCKING), "making a stream") &&
            new_event(c, &a->queued);
  for (int k = 0; ok && k < EVENTS; k++) ok = new_event(c, &a->arrived[k]);
  if (ok) return a;
  cuda_ahead_close(c);
  return NULL;
}

static bool new_chunk(CudaDevice *c, CudaAhead *a, int *which) {
  int k = *which = a->nchunk;
  void *p = NULL;
  if (!cuda_ok(c, c->api.cuMemHostAlloc(&p, CUDA_CHUNK_BYTES, 0), "allocating page-locked memory")) return false;
  a->chunk[k] = p;
  a->nchunk++;
  return new_event(c, &a->chunk_free[k]);
}

/* A chunk that no copy uses any more. */
static bool take_chunk(CudaDevice *c, CudaAhead *a, int *which) {
  for (int i = 0; i < a->nchunk; i++) {
    *which = (a->next + i) % a->nchunk;
    if (c->api.cuEventQuery(a->chunk_free[*which]) == CU_OK) return true;
  }
  if (a->nchunk < MOST_CHUNKS) return new_chunk(c, a, which);
  *which = a->next;
  return cuda_ok(c, c->api.cuEventSynchronize(a->chunk_free[*which]), "waiting for a copy");
}

static bool copy_chunks(CudaDevice *c, CudaAhead *a, CuAddress to, const char *from, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    size_t n = MIN(bytes - done, (size_t)CUDA_CHUNK_BYTES);
    int k;
    if (!take_chunk(c, a, &k)) return false;
    memcpy(a->chunk[k], from + done, n);
    if (!cuda_ok(c, c->api.cuMemcpyHtoDAsync_v2(to + done, a->chunk[k], n, a->stream), "copying to the card") ||
        !cuda_ok(c, c->api.cuEventRecord(a->chunk_free[k], a->stream), "recording an event"))
      return false;
    a->next = (k + 1) % a->nchunk;
    done += n;
  }
  return true;
}

static bool queue_copy(CudaDevice *c, CudaAhead *a, CuAddress to, const char *from, size_t bytes) {
  return cuda_ok(c, c->api.cuEventRecord(a->queued, c->stream), "recording an event") &&
         cuda_ok(c, c->api.cuStreamWaitEvent(a->stream, a->queued, 0), "waiting for an event") &&
         copy_chunks(c, a, to, from, bytes) &&
         cuda_ok(c, c->api.cuEventRecord(a->arrived[++a->made % EVENTS], a->stream), "recording an event");
}

uint64_t cuda_copy_ahead(Memory *m, void *dst, const void *host, size_t bytes) {
  CudaDevice *c = ((CudaMemory *)m)->device;
  CudaEntry entry;
  if (!cuda_enter(c, &entry)) return 0;
  CudaAhead *a = ahead_of(c);
  bool ok = a && queue_copy(c, a, (CuAddress)(uintptr_t)dst, host, bytes);
  cuda_leave(c, &entry);
  return ok ? a->made : 0;
}

bool cuda_arrive(Memory *m, uint64_t number) {
  CudaDevice *c = ((CudaMemory *)m)->device;
  CudaAhead *a = c->memory.ahead;
  CudaEntry entry;
  if (!a || number <= a->waited) return true;
  if (!cuda_enter(c, &entry)) return false;
  bool ok = cuda_ok(c, c->api.cuStreamWaitEvent(c->stream, a->arrived[number % EVENTS], 0), "waiting for a copy");
  cuda_leave(c, &entry);
  a->waited = number;
  return ok;
}

void cuda_ahead_close(CudaDevice *c) {
  CudaAhead *a = c->memory.ahead;
  if (!a) return;
  c->memory.ahead = NULL;
  if (a->stream) c->api.cuStreamSynchronize(a->stream);
  for (int k = 0; k < a->nchunk; k++) {
    c->api.cuMemFreeHost(a->chunk[k]);
    if (a->chunk_free[k]) c->api.cuEventDestroy_v2(a->chunk_free[k]);
  }
  for (int k = 0; k < EVENTS; k++)
    if (a->arrived[k]) c->api.cuEventDestroy_v2(a->arrived[k]);
  if (a->queued) c->api.cuEventDestroy_v2(a->queued);
  if (a->stream) c->api.cuStreamDestroy_v2(a->stream);
  mem_free(ctx_base(c->device.ctx), a, sizeof *a);
}
