/* buffer.c: the memory of a tensor, reference-counted. Knows devices only through their functions. */
#include "runtime/device.h"

static PolyBuffer *make(Device *d, size_t bytes) {
  PolyBuffer *b = mem_new(ctx_base(d->ctx), sizeof *b);
  if (!b) return NULL;
  b->device = d;
  b->bytes = bytes;
  b->refs = 1;
  return b;
}

PolyBuffer *buffer_new(Device *d, size_t bytes) {
  PolyBuffer *b = make(d, bytes);
  if (!b) return NULL;
  b->data = d->alloc(d, bytes);
  if (b->data) return b;
  mem_free(ctx_base(d->ctx), b, sizeof *b);
  return NULL;
}

PolyBuffer *buffer_borrow(Device *d, void *data, size_t bytes, void (*release)(void *), void *user) {
  PolyBuffer *b = make(d, bytes);
  if (!b) return NULL;
  b->data = data;
  b->borrowed = true;
  b->release = release;
  b->user = user;
  return b;
}

PolyBuffer *buffer_retain(PolyBuffer *b) {
  if (b) b->refs++;
  return b;
}

void buffer_release(PolyBuffer *b) {
  if (!b || --b->refs > 0) return;
  if (!b->borrowed)
    b->device->free(b->device, b->data, b->bytes);
  else if (b->release)
    b->release(b->user);
  mem_free(ctx_base(b->device->ctx), b, sizeof *b);
}
