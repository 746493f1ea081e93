/* peek.c: reading a view of memory that is there. In: a lazy tensor that only moves elements of a stored one (slices,
 * single elements, transposes, broadcasts). Out: its elements, copied; nothing is planned or compiled.
 *
 *   x[i].item()   x[a:b].numpy()   x.T[3].tolist() */
#include "engine/engine.h"

#include <string.h>

enum { MAX_MOVES = 32 };

/* Elements of a buffer: offset + sum of index * stride. */
typedef struct Strided {
  PolyBuffer *memory;
  int ndim;
  int64_t size[MAX_DIMS], stride[MAX_DIMS], offset;
} Strided;

static bool number(const UOp *u, int64_t *out) { return int_eval_vars(u, 0, NULL, NULL, out); }

static bool of_buffer(const UOp *u, Strided *s) {
  *s = (Strided){.memory = u->buffer, .ndim = u->ndim};
  int64_t stride = 1;
  for (int d = u->ndim; d-- > 0;) {
    if (!number(u->shape[d], &s->size[d])) return false;
    s->stride[d] = stride;
    stride *= s->size[d];
  }
  return true;
}

/* Axes of one side whose sizes multiply to those of the other are one run of memory, or the elements would have to
 * move. */
static bool reshape(Strided *s, int ndim, const int64_t *size) {
  Strided r = {.memory = s->memory, .ndim = ndim, .offset = s->offset};
  int a = 0;
  for (int b = 0; b < ndim;) {
    if (size[b] == 1) {
      r.size[b] = 1;
      r.stride[b++] = 0;
      continue;
    }
    while (a < s->ndim && s->size[a] == 1) a++;
    if (a == s->ndim) return false;
    int a1 = a + 1, b1 = b + 1;
    int64_t na = s->size[a], nb = size[b];
    while (na != nb) {
      if (na < nb && a1 < s->ndim)
        na *= s->size[a1++];
      else if (nb < na && b1 < ndim)
        nb *= size[b1++];
      else
        return false;
    }
    int last = a1 - 1;
    while (last > a && s->size[last] == 1) last--;
    int64_t stride = s->stride[last], run = stride * s->size[last];
    for (int k = last; k-- > a;) {
      if (s->size[k] == 1) continue;
      if (s->stride[k] != run) return false;
      run *= s->size[k];
    }
    for (int k = b1; k-- > b;) {
      r.size[k] = size[k];
      r.stride[k] = stride;
      stride *= size[k];
    }
    a = a1;
    b = b1;
  }
  *s = r;
  return true;
}

/* What a movement op does to a view. False without an error: it is none of the next one. */
static bool move(const UOp *u, Strided *s) {
  Strided old = *s;
  int64_t size[MAX_DIMS], n;
  for (int d = 0; d < u->ndim; d++)
    if (!number(u->shape[d], &size[d])) return false;
  switch (u->op) {
  case OP_RESHAPE: return reshape(s, u->ndim, size);
  case OP_EXPAND:
    for (int d = 0; d < u->ndim; d++) {
      if (size[d] != s->size[d]) s->stride[d] = 0;
      s->size[d] = size[d];
    }
    return true;
  case OP_SHRINK:
    for (int d = 0; d < u->ndim; d++) {
      if (!number(u->src[1 + 2 * d], &n)) return false;
      s->offset += n * s->stride[d];
      s->size[d] = size[d];
    }
    return true;
  case OP_PERMUTE:
    for (int d = 0; d < u->ndim; d++) {
      s->size[d] = old.size[perm_at(u, d)];
      s->stride[d] = old.stride[perm_at(u, d)];
    }
    return true;
  case OP_FLIP:
    for (int d = 0; d < u->ndim; d++)
      if (u->arg.i & (1 << d)) {
        s->offset += (s->size[d] - 1) * s->stride[d];
        s->stride[d] = -s->stride[d];
      }
    return true;
  case OP_DETACH: return true;
  default: return false;
  }
}

/* u as a view of stored memory. */
static bool strided_view(const UOp *u, Strided *s) {
  const UOp *chain[MAX_MOVES];
  int n = 0;
  for (; !u->buffer; u = u->src[0]) {
    bool moves = op_info[u->op].cls == CLASS_MOVE || u->op == OP_DETACH;
    if (!moves || n == MAX_MOVES) return false;
    chain[n++] = u;
  }
  if (u->buffer->stale || !of_buffer(u, s)) return false;
  while (n-- > 0)
    if (!move(chain[n], s)) return false;
  return true;
}

static void copy_row(char *to, const char *from, int64_t n, int64_t stride, int size) {
  if (stride == 1) {
    memcpy(to, from, (size_t)(n * size));
    return;
  }
#define COPY(T)                                                                                                        \
  for (int64_t i = 0; i < n; i++) memcpy(to + i * (int64_t)sizeof(T), from + i * stride * (int64_t)sizeof(T), sizeof(T))
  switch (size) {
  case 1: COPY(uint8_t); break;
  case 2: COPY(uint16_t); break;
  case 4: COPY(uint32_t); break;
  default: COPY(uint64_t); break;
  }
#undef COPY
}

static char *copy_axes(const Strided *s, const char *from, int axis, int64_t offset, int size, char *to) {
  if (axis >= s->ndim - 1) {
    int64_t n = s->ndim ? s->size[axis] : 1, stride = s->ndim ? s->stride[axis] : 1;
    copy_row(to, from + offset * size, n, stride, size);
    return to + n * size;
  }
  for (int64_t i = 0; i < s->size[axis]; i++) to = copy_axes(s, from, axis + 1, offset + i * s->stride[axis], size, to);
  return to;
}

bool peek(const UOp *u, void *out, size_t out_bytes) {
  Strided s;
  size_t bytes;
  if (u->buffer || !strided_view(u, &s) || !uop_bytes(u, &bytes) || bytes != out_bytes) return false;
  if (!bytes) return true;
  const char *from = buffer_read(s.memory, host_memory(u->ctx->runtime));
  if (from) copy_axes(&s, from, 0, s.offset, dtype_size((PolyDType)u->dtype), out);
  return from;
}
