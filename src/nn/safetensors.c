/* safetensors.c: tensors to and from safetensors files. A file is an 8-byte little-endian length, a JSON header of that
 * length (see safejson.c) and the data. In: names and tensors, or a path. Out: a file, or tensors.
 *
 * Saving writes a new file beside the old one and renames it, so that at any moment the path names a whole file.
 * Reading holds the header only; each tensor's bytes are read when it is asked for. */
#include "base/handles.h"
#include "nn/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LENGTH_BYTES = 8, HEADER_MAX = 100 * 1000 * 1000, ALIGN = 8 };

/* ---- reading ---- */

struct PolyStateFile {
  PolyContext *ctx;
  Base *b;
  char *path;
  int fd;
  int64_t data_at; /* where the data begins */
  SafeHeader header;
};

static bool io_fail(Base *b, const char *doing, const char *path) {
  return base_fail(b, POLY_ERROR_IO, "%s %s: %s", doing, path, strerror(errno));
}

static bool read_at(PolyStateFile *f, void *out, size_t n, int64_t at) {
  for (size_t done = 0; done < n;) {
    ssize_t got = pread(f->fd, (char *)out + done, n - done, (off_t)(at + (int64_t)done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_fail(f->b, "cannot read", f->path);
    if (got == 0) return base_fail(f->b, POLY_ERROR_IO, "%s is shorter than its header says", f->path);
    done += (size_t)got;
  }
  return true;
}

static uint64_t load_u64(const unsigned char *p) {
  uint64_t v = 0;
  for (int k = LENGTH_BYTES; k-- > 0;) v = v << 8 | p[k];
  return v;
}

static bool read_length(PolyStateFile *f, int64_t *length, int64_t *data_bytes) {
  struct stat st;
  unsigned char head[LENGTH_BYTES];
  if (fstat(f->fd, &st) != 0) return io_fail(f->b, "cannot read", f->path);
  if (!S_ISREG(st.st_mode)) return base_fail(f->b, POLY_ERROR_IO, "%s is not a regular file", f->path);
  if (st.st_size < LENGTH_BYTES)
    return base_fail(f->b, POLY_ERROR_IO, "safetensors: %s has %" PRId64 " bytes, too few for a header", f->path,
                     (int64_t)st.st_size);
  if (!read_at(f, head, sizeof head, 0)) return false;
  uint64_t n = load_u64(head);
  if (n > (uint64_t)st.st_size - LENGTH_BYTES || n > HEADER_MAX)
    return base_fail(f->b, POLY_ERROR_IO, "safetensors: %s claims a header of %" PRIu64 " bytes in a file of %" PRId64,
                     f->path, n, (int64_t)st.st_size);
  *length = (int64_t)n;
  f->data_at = LENGTH_BYTES + (int64_t)n;
  *data_bytes = (int64_t)st.st_size - f->data_at;
  return true;
}

static bool read_header(PolyStateFile *f) {
  int64_t length = 0, data_bytes = 0;
  if (!read_length(f, &length, &data_bytes)) return false;
  char *text = mem_new(f->b, (size_t)length + 1);
  if (!text) return false;
  bool ok =
      read_at(f, text, (size_t)length, LENGTH_BYTES) && safe_header_parse(&f->header, text, (size_t)length, data_bytes);
  mem_free(f->b, text, (size_t)length + 1);
  return ok;
}

PolyStateFile *poly_safe_open(PolyContext *ctx, const char *path) {
  Base *b = ctx_base(ctx);
  if (!path) return fail_null(b, POLY_ERROR_VALUE, "safetensors: no path was given");
  PolyStateFile *f = handle_new(b, sizeof *f, HANDLE_FILE, ctx);
  if (!f) return NULL;
  *f = (PolyStateFile){.ctx = ctx, .b = b, .path = mem_strdup(b, path), .fd = -1, .header = {.b = b}};
  bool ok = f->path != NULL;
  if (ok) {
    f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a FIFO must not wait */
    ok = f->fd >= 0 || io_fail(b, "cannot open", path);
  }
  if (ok && read_header(f)) return f;
  poly_safe_close(f);
  return NULL;
}

int poly_safe_count(const PolyStateFile *f) { return f ? f->header.entry.n : 0; }

const char *poly_safe_name(const PolyStateFile *f, int k) {
  return f && k >= 0 && k < f->header.entry.n ? f->header.entry.at[k].name : NULL;
}

PolyTensor *poly_safe_get(PolyStateFile *f, int k) {
  if (!f) return NULL;
  if (k < 0 || k >= f->header.entry.n)
    return fail_null(f->b, POLY_ERROR_INDEX, "safetensors: tensor %d of %d", k, f->header.entry.n);
  const SafeEntry *e = &f->header.entry.at[k];
  size_t bytes = (size_t)(e->end - e->begin);
  void *data = mem_new(f->b, bytes + 1);
  if (!data) return NULL;
  PolyTensor *t = NULL;
  if (read_at(f, data, bytes, f->data_at + e->begin)) t = poly_from_data(f->ctx, data, e->dtype, e->ndim, e->shape);
  mem_free(f->b, data, bytes + 1);
  return t;
}

void poly_safe_close(PolyStateFile *f) {
  if (!f) return;
  if (f->fd >= 0) close(f->fd);
  safe_header_free(&f->header);
  mem_strfree(f->b, f->path);
  handle_free(f->b, f, sizeof *f);
}

/* ---- writing ---- */

/* One tensor on its way to the file. */
typedef struct Item {
  const char *name;
  PolyTensor *t;
  SafeEntry e; /* e.name is not used */
} Item;

static bool write_all(Base *b, int fd, const char *path, const void *data, size_t n) {
  for (size_t done = 0; done < n;) {
    ssize_t put = write(fd, (const char *)data + done, n - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return io_fail(b, "cannot write", path);
    done += (size_t)put;
  }
  return true;
}

static void add_json_string(Str *s, const char *text) {
  str_add(s, "\"");
  for (const char *c = text; *c; c++) {
    if (*c == '"' || *c == '\\')
      str_fmt(s, "\\%c", *c);
    else if ((unsigned char)*c < 0x20)
      str_fmt(s, "\\u%04x", *c);
    else
      str_addn(s, c, 1);
  }
  str_add(s, "\"");
}

static bool describe(PolyContext *ctx, Item *item) {
  Base *b = ctx_base(ctx);
  if (!item->name || !item->t) return base_fail(b, POLY_ERROR_VALUE, "safetensors: a name or a tensor is missing");
  if (!safe_name_valid(item->name, strlen(item->name)) || strcmp(item->name, "__metadata__") == 0)
    return base_fail(b, POLY_ERROR_VALUE, "safetensors: '%.100s' cannot be the name of a tensor", item->name);
  item->e.dtype = poly_dtype(item->t);
  item->e.ndim = poly_ndim(item->t);
  poly_shape(item->t, item->e.shape);
  for (int k = 0; k < item->e.ndim; k++) item->e.shape[k] = poly_dim_value(ctx, item->e.shape[k]);
  return true;
}

static int by_name(const void *a, const void *b) {
  return strcmp((*(Item *const *)a)->name, (*(Item *const *)b)->name);
}

static int by_item_size(const void *a, const void *b) {
  const Item *x = *(Item *const *)a, *y = *(Item *const *)b;
  int d = dtype_size(y->e.dtype) - dtype_size(x->e.dtype);
  return d ? d : x < y ? -1 : x > y;
}

/* Data of wide items first, so that every tensor is aligned to its item size; `order` is the order of the data. */
static bool lay_out(PolyContext *ctx, Item *items, Item **order, int n) {
  Base *b = ctx_base(ctx);
  for (int k = 0; k < n; k++) {
    order[k] = &items[k];
    if (!describe(ctx, &items[k])) return false;
  }
  if (n) qsort(order, (size_t)n, sizeof *order, by_name);
  for (int k = 1; k < n; k++)
    if (strcmp(order[k - 1]->name, order[k]->name) == 0)
      return base_fail(b, POLY_ERROR_VALUE, "safetensors: the name '%.100s' is given twice", order[k]->name);
  if (n) qsort(order, (size_t)n, sizeof *order, by_item_size);
  int64_t at = 0;
  for (int k = 0; k < n; k++) {
    order[k]->e.begin = at;
    at += poly_numel(order[k]->t) * dtype_size(order[k]->e.dtype);
    order[k]->e.end = at;
  }
  return true;
}

/* What a file is written from. */
typedef struct Contents {
  int n, nmeta;
  Item *items, **order;
  const char *const *meta; /* pairs of texts */
} Contents;

static void add_metadata(Str *s, const Contents *c) {
  str_add(s, "\"__metadata__\":{");
  for (int k = 0; k < c->nmeta; k++) {
    str_add(s, k ? "," : "");
    add_json_string(s, c->meta[2 * k]);
    str_add(s, ":");
    add_json_string(s, c->meta[2 * k + 1]);
  }
  str_add(s, "}");
}

static void add_header(Str *s, const Contents *c) {
  str_add(s, "{");
  if (c->nmeta) add_metadata(s, c);
  for (int k = 0; k < c->n; k++) {
    const SafeEntry *e = &c->items[k].e;
    str_add(s, k || c->nmeta ? "," : "");
    add_json_string(s, c->items[k].name);
    str_fmt(s, ":{\"dtype\":\"%s\",\"shape\":[", safe_dtype_name(e->dtype));
    for (int d = 0; d < e->ndim; d++) str_fmt(s, "%s%" PRId64, d ? "," : "", e->shape[d]);
    str_fmt(s, "],\"data_offsets\":[%" PRId64 ",%" PRId64 "]}", e->begin, e->end);
  }
  str_add(s, "}");
  while (!s->failed && s->n % ALIGN) str_add(s, " ");
}

static bool write_tensor(PolyContext *ctx, int fd, const char *path, Item *item) {
  Base *b = ctx_base(ctx);
  size_t bytes = (size_t)(item->e.end - item->e.begin);
  if (!bytes) return true;
  void *data = mem_new(b, bytes);
  if (!data) return false;
  bool ok = poly_read(item->t, data, bytes) == POLY_OK && write_all(b, fd, path, data, bytes);
  mem_free(b, data, bytes);
  return ok;
}

static bool write_file(PolyContext *ctx, int fd, const char *path, const Contents *c) {
  Base *b = ctx_base(ctx);
  Str s = {.b = b};
  unsigned char length[LENGTH_BYTES];
  add_header(&s, c);
  for (int k = 0; k < LENGTH_BYTES; k++) length[k] = (unsigned char)((uint64_t)s.n >> 8 * k);
  bool ok = !s.failed && write_all(b, fd, path, length, sizeof length) && write_all(b, fd, path, s.at, s.n);
  for (int k = 0; ok && k < c->n; k++) ok = write_tensor(ctx, fd, path, c->order[k]);
  str_free(&s);
  if (ok && fsync(fd) != 0) ok = io_fail(b, "cannot write", path);
  return ok;
}

/* Makes the rename itself last through a crash; not every file system can, so failure is no error. Cuts the name of the
 * file off path. */
static void sync_folder(char *path) {
  char *slash = strrchr(path, '/');
  if (slash) slash[slash == path] = 0;
  int fd = open(slash ? path : ".", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!fsync(fd);
  close(fd);
}

/* A new file beside path that nobody else has; its name into tmp. */
static int open_beside(Base *b, const char *path, Str *tmp) {
  for (int k = 0; k < 1000; k++) {
    tmp->n = 0;
    str_fmt(tmp, "%s.%ld.%d.tmp", path, (long)getpid(), k);
    if (tmp->failed) return -1;
    int fd = open(tmp->at, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd >= 0 ? fd : (io_fail(b, "cannot create", tmp->at), -1);
  }
  return io_fail(b, "cannot create", path), -1;
}

static bool replace_file(PolyContext *ctx, const char *path, const Contents *c) {
  Base *b = ctx_base(ctx);
  Str tmp = {.b = b};
  int fd = open_beside(b, path, &tmp);
  bool ok = fd >= 0;
  if (ok) {
    ok = write_file(ctx, fd, tmp.at, c);
    if (close(fd) != 0 && ok) ok = io_fail(b, "cannot write", tmp.at);
    if (ok && rename(tmp.at, path) != 0) ok = io_fail(b, "cannot replace", path);
    if (ok)
      sync_folder(tmp.at);
    else
      unlink(tmp.at);
  }
  str_free(&tmp);
  return ok;
}

PolyStatus poly_safe_save_with(PolyContext *ctx, const char *path, const char *const *names, PolyTensor *const *t,
                               int n, const char *const *meta, int nmeta) {
  Base *b = ctx_base(ctx);
  Arena arena = {.b = b};
  Contents c = {.n = n, .nmeta = nmeta, .meta = meta};
  c.items = arena_new(&arena, (size_t)MAX(n, 1) * sizeof *c.items);
  c.order = arena_new(&arena, (size_t)MAX(n, 1) * sizeof *c.order);
  bool ok = c.items && c.order && (path || base_fail(b, POLY_ERROR_VALUE, "safetensors: no path was given"));
  for (int k = 0; ok && k < n; k++) c.items[k] = (Item){.name = names[k], .t = t[k]};
  for (int k = 0; ok && k < 2 * nmeta; k++)
    ok = meta[k] || base_fail(b, POLY_ERROR_VALUE, "safetensors: text %d of the metadata is missing", k);
  ok = ok && lay_out(ctx, c.items, c.order, n);
  ok = ok && (n == 0 || poly_realize_many(t, n) == POLY_OK);
  ok = ok && replace_file(ctx, path, &c);
  arena_free(&arena);
  PolyStatus code = poly_error_code(ctx);
  return ok ? POLY_OK : code == POLY_OK ? POLY_ERROR_RUNTIME : code;
}

PolyStatus poly_safe_save(PolyContext *ctx, const char *path, const char *const *names, PolyTensor *const *t, int n) {
  return poly_safe_save_with(ctx, path, names, t, n, NULL, 0);
}
