/* cuda_library.c: library routines on the card: sort, running reductions, segment order, places of true values, and the
 * matrix products that cuBLASLt has no way to run. The kernels are those of gpu_routines.cl, compiled when they are
 * first needed for a type. */
#include "runtime/cuda.h"
#include "runtime/gpu_routines.h"
#include "runtime/library.h"

#include <stdio.h>
#include <string.h>

/* What the text of the routines is called in CUDA. */
static const char language[] =
    "typedef unsigned char uchar;\ntypedef unsigned short ushort;\ntypedef unsigned int uint;\n"
    "typedef unsigned long long ulong;\ntypedef signed char int8_t;\ntypedef short int16_t;\n"
    "typedef int int32_t;\ntypedef long long int64_t;\n"
    "#define KERNEL extern \"C\" __global__ void\n#define GLOBAL\n#define SHARED __shared__\n"
    "#define SHARED_ARG\n#define FUNCTION static __device__\n#define BLOCK blockIdx.x\n"
    "#define THREAD threadIdx.x\n#define BARRIER() __syncthreads()\n"
    "#define LOWEST(p, v) atomicMin(p, v)\n#define ONE_MORE(p) atomicAdd(p, 1u)\n";

enum { THREADS = 256, TILE = 4096, DIGIT_BITS = 4, DIGITS = 1 << DIGIT_BITS, MAX_ARGS = 16 };

typedef struct CudaRoutine {
  char defines[320];
  CuModule module;
  struct CudaRoutine *next;
} CudaRoutine;

/* ---- kernels ---- */

/* The routines of their text, the words of the language and the defines before it; the defines tell them from others.
 */
static CuModule find_module(CudaDevice *c, const char *defines) {
  Base *b = ctx_base(c->device.ctx);
  for (CudaRoutine *r = c->routines; r; r = r->next)
    if (!strcmp(r->defines, defines)) return r->module;
  Str text = {.b = b};
  str_add(&text, language);
  str_add(&text, defines);
  str_add(&text, gpu_routines_text);
  CudaRoutine *r = text.failed ? NULL : mem_new(b, sizeof *r);
  if (r && !(r->module = cuda_compile_text(c, text.at))) {
    mem_free(b, r, sizeof *r);
    r = NULL;
  }
  str_free(&text);
  if (!r) return NULL;
  snprintf(r->defines, sizeof r->defines, "%s", defines);
  r->next = c->routines;
  c->routines = r;
  return r->module;
}

void cuda_library_close(CudaDevice *c) {
  for (CudaRoutine *r = c->routines, *next; r; r = next) {
    next = r->next;
    c->api.cuModuleUnload(r->module);
    mem_free(ctx_base(c->device.ctx), r, sizeof *r);
  }
  c->routines = NULL;
}

static int64_t blocks(int64_t n, int64_t each) { return (n + each - 1) / each; }

/* args: the addresses of the kernel's arguments. */
static bool launch(CudaDevice *c, CuModule module, const char *name, int64_t groups, void **args) {
  CudaLaunch l = {.grid = (unsigned)groups, .block = THREADS, .params = args};
  if (groups <= 0) return true;
  if (groups > INT32_MAX)
    return base_fail(ctx_base(c->device.ctx), POLY_ERROR_VALUE, "%s: too many elements for %s", name, c->name);
  return cuda_ok(c, c->api.cuModuleGetFunction(&l.function, module, name), name) && cuda_launch(c, &l, name);
}
#define ARGS(...) ((void *[]){__VA_ARGS__})

static CuAddress scratch(CudaDevice *c, size_t bytes) {
  return (CuAddress)(uintptr_t)memory_alloc(&c->memory.memory, bytes);
}

static void give_back(CudaDevice *c, CuAddress p, size_t bytes) {
  if (!cuda_run_keeps(c, (void *)(uintptr_t)p, bytes)) memory_free(&c->memory.memory, (void *)(uintptr_t)p, bytes);
}

/* Counts become the sums of those before; where the sum of all is: *total. room: blocks(n, TILE) + 1 words. */
static bool sum_counts(CudaDevice *c, CuModule m, CuAddress count, int64_t n, CuAddress room) {
  int64_t tiles = blocks(n, TILE);
  return launch(c, m, "counts_total", tiles, ARGS(&count, &n, &room)) &&
         launch(c, m, "counts_carry", 1, ARGS(&room, &tiles)) &&
         launch(c, m, "counts_apply", tiles, ARGS(&count, &n, &room));
}

/* ---- radix sort ---- */

typedef struct Sort {
  int64_t n;
  int width;      /* bits of a key to sort by */
  bool wide;      /* keys have 64 bits */
  int64_t length; /* of a row; 0: there is one row */
  CuAddress key[2], place[2], count, room;
  size_t key_bytes, place_bytes, count_bytes, room_bytes;
} Sort;

static bool sort_room(CudaDevice *c, Sort *s) {
  int64_t tiles = blocks(s->n, TILE);
  s->key_bytes = (size_t)s->n * (s->wide ? 8 : 4);
  s->place_bytes = (size_t)s->n * 4;
  s->count_bytes = (size_t)tiles * DIGITS * 4;
  s->room_bytes = (size_t)(blocks(tiles * DIGITS, TILE) + 1) * 4;
  for (int k = 0; k < 2; k++)
    if (!(s->key[k] = scratch(c, s->key_bytes)) || !(s->place[k] = scratch(c, s->place_bytes))) return false;
  return (s->count = scratch(c, s->count_bytes)) && (s->room = scratch(c, s->room_bytes));
}

static void sort_free(CudaDevice *c, const Sort *s) {
  for (int k = 0; k < 2; k++) {
    give_back(c, s->key[k], s->key_bytes);
    give_back(c, s->place[k], s->place_bytes);
  }
  give_back(c, s->count, s->count_bytes);
  give_back(c, s->room, s->room_bytes);
}

/* One pass from key[*side] to the other side. */
static bool sort_pass(CudaDevice *c, Sort *s, CuModule radix, CuModule counts, int shift, uint32_t length, bool first,
                      int *side) {
  int from = *side, to = 1 - from;
  uint32_t by = (uint32_t)shift;
  int64_t tiles = blocks(s->n, TILE);
  CuAddress place = first ? 0 : s->place[from];
  *side = to;
  return launch(c, radix, "radix_count", tiles, ARGS(&s->key[from], &place, &s->n, &by, &length, &tiles, &s->count)) &&
         sum_counts(c, counts, s->count, tiles * DIGITS, s->room) &&
         launch(c, radix, "radix_move", tiles,
                ARGS(&s->key[from], &place, &s->n, &by, &length, &tiles, &s->count, &s->key[to], &s->place[to]));
}

static int bits_of(uint64_t largest) {
  int n = 0;
  while (largest >> n) n++;
  return n;
}

/* Sorts key[0]; *side: where keys and places are then. There is at least one pass, so that there are places. */
static bool sort_keys(CudaDevice *c, Sort *s, int *side) {
  CuModule counts = find_module(c, "#define ROUTINE_COUNTS\n");
  CuModule radix = find_module(c, s->wide ? "#define ROUTINE_RADIX\n#define KEY ulong\n"
                                          : "#define ROUTINE_RADIX\n#define KEY uint\n");
  *side = 0;
  if (!counts || !radix) return false;
  bool first = true;
  for (int shift = 0; shift < s->width || first; shift += DIGIT_BITS, first = false)
    if (!sort_pass(c, s, radix, counts, shift, 0, first, side)) return false;
  if (!s->length) return true;
  int width = bits_of((uint64_t)((s->n - 1) / s->length));
  for (int shift = 0; shift < width; shift += DIGIT_BITS)
    if (!sort_pass(c, s, radix, counts, shift, (uint32_t)s->length, false, side)) return false;
  return true;
}

/* ---- argsort ---- */

typedef struct KeyKind {
  const char *raw;
  uint64_t sign, infinity;
} KeyKind;

static KeyKind key_kind(PolyDType d) {
  switch (d) {
  case POLY_INT8: return (KeyKind){"uchar", 0x80, 0};
  case POLY_INT16: return (KeyKind){"ushort", 0x8000, 0};
  case POLY_UINT16: return (KeyKind){"ushort", 0, 0};
  case POLY_INT32: return (KeyKind){"uint", 0x80000000u, 0};
  case POLY_UINT32: return (KeyKind){"uint", 0, 0};
  case POLY_INT64: return (KeyKind){"ulong", (uint64_t)1 << 63, 0};
  case POLY_UINT64: return (KeyKind){"ulong", 0, 0};
  case POLY_FP8E4M3: return (KeyKind){"uchar", 0x80, 0x7e};
  case POLY_FP8E5M2: return (KeyKind){"uchar", 0x80, 0x7c};
  case POLY_FLOAT16: return (KeyKind){"ushort", 0x8000, 0x7c00};
  case POLY_BFLOAT16: return (KeyKind){"ushort", 0x8000, 0x7f80};
  case POLY_FLOAT32: return (KeyKind){"uint", 0x80000000u, 0x7f800000};
  case POLY_FLOAT64: return (KeyKind){"ulong", (uint64_t)1 << 63, 0x7ff0000000000000};
  default: return (KeyKind){"uchar", 0, 0};
  }
}

static CuModule keys_module(CudaDevice *c, PolyDType d) {
  char defines[160];
  snprintf(defines, sizeof defines, "#define ROUTINE_KEYS\n#define RAW %s\n#define KEY %s\n", key_kind(d).raw,
           dtype_size(d) == 8 ? "ulong" : "uint");
  return find_module(c, defines);
}

/* Keys whose order is that of n elements of x from `from` on. */
static bool make_keys(CudaDevice *c, const LibraryTensor *x, int64_t from, int64_t n, bool descending, CuAddress key) {
  KeyKind kind = key_kind(x->dtype);
  int width = x->dtype == POLY_BOOL ? 1 : 8 * dtype_size(x->dtype);
  uint64_t flip = !descending ? 0 : width == 64 ? ~(uint64_t)0 : ((uint64_t)1 << width) - 1;
  CuAddress in = cuda_at(x->data) + (CuAddress)(from * dtype_size(x->dtype));
  CuModule m = keys_module(c, x->dtype);
  return m && launch(c, m, "sort_keys", blocks(n, THREADS), ARGS(&in, &n, &kind.sign, &kind.infinity, &flip, &key));
}

/* Which places of the order of each row are wanted: `take` from `first` on. */
typedef struct Wanted {
  bool descending;
  uint32_t first, take;
} Wanted;

/* rows of n from row `from` on. */
static bool argsort_rows(CudaDevice *c, const LibraryCall *call, Wanted wanted, int64_t from, int64_t rows, int64_t n) {
  const LibraryTensor *x = &call->src[0];
  int width = x->dtype == POLY_BOOL ? 1 : 8 * dtype_size(x->dtype), side = 0;
  Sort s = {.n = rows * n, .width = width, .wide = width == 64, .length = rows > 1 ? n : 0};
  CuModule counts = find_module(c, "#define ROUTINE_COUNTS\n");
  CuAddress out = cuda_at(call->out.data) + 4 * (CuAddress)from * wanted.take;
  uint32_t length = (uint32_t)n;
  int64_t total = rows * wanted.take;
  bool ok = counts && sort_room(c, &s) && make_keys(c, x, from * n, s.n, wanted.descending, s.key[0]) &&
            sort_keys(c, &s, &side) &&
            launch(c, counts, "sort_places", blocks(total, THREADS),
                   ARGS(&s.place[side], &total, &length, &wanted.first, &wanted.take, &out));
  sort_free(c, &s);
  return ok;
}

static bool order_rows(CudaDevice *c, const LibraryCall *call, Wanted wanted) {
  int64_t n, rows = library_rows(&call->src[0], &n);
  if (rows == 0 || wanted.take == 0) return true;
  if (n > INT32_MAX || call->out.dtype != POLY_INT32 || (int64_t)wanted.first + wanted.take > n)
    return base_fail(ctx_base(c->device.ctx), POLY_ERROR_VALUE, "%s: %lld places of %lld do not fit in int32",
                     call->name, (long long)wanted.take, (long long)n);
  int64_t most = MAX(1, ((int64_t)1 << 30) / n); /* rows at a time: places have 32 bits */
  for (int64_t r = 0; r < rows; r += most)
    if (!argsort_rows(c, call, wanted, r, MIN(most, rows - r), n)) return false;
  return true;
}

static bool run_argsort(CudaDevice *c, const LibraryCall *call) {
  int64_t n;
  library_rows(&call->src[0], &n);
  return order_rows(c, call, (Wanted){call->n != 0, 0, (uint32_t)MIN(n, UINT32_MAX)});
}

/* The whole row is sorted: on a card that takes a few passes over it, whatever k is. */
static bool run_topk(CudaDevice *c, const LibraryCall *call) {
  int64_t k;
  library_rows(&call->out, &k);
  return order_rows(c, call, (Wanted){call->n != 0, 0, (uint32_t)MIN(k, UINT32_MAX)});
}

static bool run_kth(CudaDevice *c, const LibraryCall *call) {
  return order_rows(c, call, (Wanted){false, (uint32_t)(call->n - 1), 1});
}

/* ---- searches ---- */

static bool run_searchsorted(CudaDevice *c, const LibraryCall *call) {
  const LibraryTensor *sorted = &call->src[0], *values = &call->src[1];
  int64_t n, m, rows = library_rows(sorted, &n), total = library_numel(values), all = library_numel(sorted);
  library_rows(values, &m);
  if (total == 0) return true;
  if (sorted->dtype != values->dtype || (sorted->ndim > 1 && rows * m != total && n > 0))
    return base_fail(ctx_base(c->device.ctx), POLY_ERROR_RUNTIME, "searchsorted: operands of different rows or dtypes");
  size_t key_bytes = dtype_size(sorted->dtype) == 8 ? 8 : 4;
  size_t sorted_bytes = (size_t)MAX(all, 1) * key_bytes, value_bytes = (size_t)total * key_bytes;
  CuAddress key = scratch(c, sorted_bytes), value = scratch(c, value_bytes), out = cuda_at(call->out.data);
  int64_t each = sorted->ndim > 1 ? m : total;
  int or_at = call->n != 0, wide = call->out.dtype == POLY_INT64;
  CuModule module = keys_module(c, sorted->dtype);
  bool ok = key && value && module && make_keys(c, sorted, 0, all, false, key) &&
            make_keys(c, values, 0, total, false, value) &&
            launch(c, module, "search_rows", blocks(total, THREADS),
                   ARGS(&key, &value, &total, &n, &each, &or_at, &out, &wide));
  give_back(c, key, sorted_bytes);
  give_back(c, value, value_bytes);
  return ok;
}

/* ---- segment order ---- */

static const char *index_type(PolyDType d) {
  switch (d) {
  case POLY_INT8: return "int8_t";
  case POLY_BOOL:
  case POLY_UINT8: return "uchar";
  case POLY_INT16: return "int16_t";
  case POLY_UINT16: return "ushort";
  case POLY_UINT32: return "uint";
  case POLY_INT64:
  case POLY_UINT64: return "int64_t";
  default: return "int32_t";
  }
}

static CuModule index_module(CudaDevice *c, PolyDType d) {
  char defines[96];
  snprintf(defines, sizeof defines, "#define ROUTINE_SEGMENT\n#define INDEX %s\n", index_type(d));
  return find_module(c, defines);
}

static bool order_entries(CudaDevice *c, const LibraryCall *call, Sort *s, int64_t rows, CuAddress bad) {
  const LibraryTensor *index = &call->src[0];
  CuModule m = index_module(c, index->dtype), counts = find_module(c, "#define ROUTINE_COUNTS\n");
  CuAddress in = cuda_at(index->data), rowptr = cuda_at(call->out.data), order = rowptr + 4 * (CuAddress)(rows + 1);
  int side = 0, kind = CUDA_SEGMENT;
  return m && counts && cuda_ok(c, c->api.cuMemsetD8Async(bad, 0xff, 4, c->stream), "clearing memory") &&
         launch(c, m, "segment_keys", blocks(s->n, THREADS), ARGS(&in, &s->n, &rows, &s->key[0], &bad)) &&
         launch(c, m, "segment_bad", 1, ARGS(&in, &rows, &bad, &c->error, &kind)) && sort_keys(c, s, &side) &&
         launch(c, counts, "segment_rows", blocks(rows + 1, THREADS), ARGS(&s->key[side], &s->n, &rows, &rowptr)) &&
         cuda_ok(c, c->api.cuMemcpyDtoDAsync_v2(order, s->place[side], s->place_bytes, c->stream),
                 "copying on the card");
}

static bool run_segment_order(CudaDevice *c, const LibraryCall *call) {
  int64_t entries = library_numel(&call->src[0]), rows = library_numel(&call->out) - 1 - entries;
  if (rows < 0 || call->out.dtype != POLY_INT32 || entries + rows >= INT32_MAX)
    return base_fail(ctx_base(c->device.ctx), POLY_ERROR_VALUE,
                     "segment_order: %lld entries do not fit in 32-bit places", (long long)entries);
  if (entries == 0)
    return cuda_ok(c, c->api.cuMemsetD8Async(cuda_at(call->out.data), 0, 4 * (size_t)(rows + 1), c->stream),
                   "clearing memory");
  Sort s = {.n = entries, .width = rows > 1 ? bits_of((uint64_t)(rows - 1)) : 0};
  CuAddress bad = scratch(c, 4);
  bool ok = bad && sort_room(c, &s) && order_entries(c, call, &s, rows, bad);
  sort_free(c, &s);
  give_back(c, bad, 4);
  return ok;
}

/* ---- counts ---- */

static bool run_bincount(CudaDevice *c, const LibraryCall *call) {
  const LibraryTensor *index = &call->src[0];
  int64_t entries = library_numel(index), size = library_numel(&call->out);
  if (entries >= UINT32_MAX)
    return base_fail(ctx_base(c->device.ctx), POLY_ERROR_VALUE, "bincount: %lld entries are more than 32 bits count",
                     (long long)entries);
  bool wide = call->out.dtype == POLY_INT64;
  size_t bytes = (size_t)MAX(size, 1) * 4;
  CuAddress in = cuda_at(index->data), out = cuda_at(call->out.data), bad = scratch(c, 4);
  CuAddress count = wide ? scratch(c, bytes) : out;
  int kind = CUDA_COUNT;
  CuModule m = index_module(c, index->dtype), counts = find_module(c, "#define ROUTINE_COUNTS\n");
  bool ok = m && counts && bad && (count || !size) &&
            cuda_ok(c, c->api.cuMemsetD8Async(bad, 0xff, 4, c->stream), "clearing memory") &&
            (!size || cuda_ok(c, c->api.cuMemsetD8Async(count, 0, (size_t)size * 4, c->stream), "clearing memory")) &&
            launch(c, m, "index_count", blocks(entries, THREADS), ARGS(&in, &entries, &size, &count, &bad)) &&
            launch(c, m, "segment_bad", 1, ARGS(&in, &size, &bad, &c->error, &kind)) &&
            (!wide || launch(c, counts, "counts_wide", blocks(size, THREADS), ARGS(&count, &size, &out)));
  if (wide) give_back(c, count, bytes);
  give_back(c, bad, 4);
  return ok;
}

/* ---- running reductions ---- */

typedef struct Carried {
  const char *stored, *wide, *get, *put;
  size_t bytes; /* of wide */
} Carried;

/* Sums and products of integers wrap, and those of float32 are carried in double. */
static Carried carried(PolyDType d, bool arithmetic) {
#define INTEGER(name, bits)                                                                                            \
  (Carried) { arithmetic ? unsigned_##bits : name, arithmetic ? "ulong" : name, "", "", arithmetic ? 8 : bits / 8 }
  static const char unsigned_8[] = "uchar", unsigned_16[] = "ushort", unsigned_32[] = "uint", unsigned_64[] = "ulong";
  switch (d) {
  case POLY_BOOL: return (Carried){"uchar", "uchar", "0 != ", "", 1};
  case POLY_INT8: return INTEGER("int8_t", 8);
  case POLY_UINT8: return INTEGER("uchar", 8);
  case POLY_INT16: return INTEGER("int16_t", 16);
  case POLY_UINT16: return INTEGER("ushort", 16);
  case POLY_INT32: return INTEGER("int32_t", 32);
  case POLY_UINT32: return INTEGER("uint", 32);
  case POLY_INT64: return INTEGER("int64_t", 64);
  case POLY_UINT64: return INTEGER("ulong", 64);
  case POLY_FP8E4M3: return (Carried){"uchar", "float", "e4m3_float", "float_e4m3", 4};
  case POLY_FP8E5M2: return (Carried){"uchar", "float", "e5m2_float", "float_e5m2", 4};
  case POLY_FLOAT16: return (Carried){"ushort", "float", "half_float", "float_half", 4};
  case POLY_BFLOAT16: return (Carried){"ushort", "float", "bfloat_float", "float_bfloat", 4};
  case POLY_FLOAT32: return (Carried){"float", arithmetic ? "double" : "float", "", "", arithmetic ? 8 : 4};
  default: return (Carried){"double", "double", "", "", 8};
  }
#undef INTEGER
}

static const char *join_text(int64_t op, PolyDType d) {
  if (d == POLY_BOOL) return op == OP_ADD || op == OP_MAX ? "((x) > (y) ? (x) : (y))" : "((x) < (y) ? (x) : (y))";
  switch (op) {
  case OP_ADD: return "((x) + (y))";
  case OP_MUL: return "((x) * (y))";
  case OP_MAX: return "((x) != (x) || (x) > (y) ? (x) : (y))";
  case OP_MIN: return "((x) != (x) || (x) < (y) ? (x) : (y))";
  default: return NULL;
  }
}

enum { SHORT_ROW = 64 };

static bool scan_long(CudaDevice *c, CuModule m, CuAddress x, CuAddress y, int64_t rows, int64_t n, size_t wide) {
  int64_t tiles = blocks(n, TILE);
  size_t bytes = (size_t)(rows * tiles) * wide;
  CuAddress total = scratch(c, bytes);
  bool ok = total != 0;
  if (tiles > 1)
    ok = ok && launch(c, m, "scan_total", rows * tiles, ARGS(&x, &n, &tiles, &total)) &&
         launch(c, m, "scan_carry", rows, ARGS(&total, &tiles));
  ok = ok && launch(c, m, "scan_apply", rows * tiles, ARGS(&x, &y, &n, &tiles, &total));
  give_back(c, total, bytes);
  return ok;
}

static bool run_scan(CudaDevice *c, const LibraryCall *call) {
  const LibraryTensor *t = &call->src[0];
  const char *join = join_text(call->n, t->dtype);
  if (!join || t->dtype != call->out.dtype)
    return base_fail(ctx_base(c->device.ctx), POLY_ERROR_RUNTIME, "scan: no such operation for %s",
                     dtype_name(t->dtype));
  int64_t n, rows = library_rows(t, &n);
  if (rows == 0) return true;
  Carried k = carried(t->dtype, call->n == OP_ADD || call->n == OP_MUL);
  char defines[320];
  snprintf(
      defines, sizeof defines,
      "#define ROUTINE_SCAN\n#define STORED %s\n#define WIDE %s\n#define GET(v) ((WIDE)%s(v))\n#define PUT(v) %s(v)\n"
      "#define JOIN(x, y) ((WIDE)%s)\n",
      k.stored, k.wide, k.get, k.put, join);
  CuModule m = find_module(c, defines);
  CuAddress x = cuda_at(t->data), y = cuda_at(call->out.data);
  if (!m) return false;
  return n <= SHORT_ROW ? launch(c, m, "scan_rows", blocks(rows, THREADS), ARGS(&x, &y, &rows, &n))
                        : scan_long(c, m, x, y, rows, n, k.bytes);
}

/* ---- places of true values ---- */

static bool run_nonzero(CudaDevice *c, const LibraryCall *call) {
  const LibraryTensor *x = &call->src[0], *out = &call->out;
  int64_t n = library_numel(x), space = library_numel(out), tiles = blocks(n, TILE);
  if (x->dtype != POLY_BOOL || (out->dtype != POLY_INT64 && (out->dtype != POLY_INT32 || n > INT32_MAX)) ||
      n > UINT32_MAX)
    return base_fail(ctx_base(c->device.ctx), POLY_ERROR_TYPE, "nonzero: places of %s as %s", dtype_name(x->dtype),
                     dtype_name(out->dtype));
  size_t count_bytes = (size_t)MAX(tiles, 1) * 4, room_bytes = (size_t)(blocks(tiles, TILE) + 1) * 4;
  CuModule m = find_module(c, "#define ROUTINE_COUNTS\n");
  CuAddress in = cuda_at(x->data), to = cuda_at(out->data), count = scratch(c, count_bytes),
            room = scratch(c, room_bytes);
  int wide = out->dtype == POLY_INT64;
  bool ok = m && count && room && launch(c, m, "nonzero_count", tiles, ARGS(&in, &n, &count)) &&
            sum_counts(c, m, count, tiles, room);
  CuAddress all = room + 4 * (CuAddress)blocks(tiles, TILE);
  ok = ok && launch(c, m, "nonzero_write", tiles, ARGS(&in, &n, &count, &to, &space, &wide)) &&
       launch(c, m, "nonzero_rest", blocks(MAX(space, 1), THREADS), ARGS(&all, &to, &space, &wide, &c->error));
  give_back(c, count, count_bytes);
  give_back(c, room, room_bytes);
  return ok;
}

/* ---- matrix products ---- */

bool cuda_matmul_plain(CudaDevice *c, const MatmulCall *m) {
  Carried k = carried(m->dtype, false);
  char defines[256];
  snprintf(defines, sizeof defines,
           "#define ROUTINE_PRODUCT\n#define STORED %s\n#define GET(v) %s(v)\n#define PUT(v) %s(v)\n", k.stored, k.get,
           k.put);
  CuModule module = find_module(c, defines);
  CuAddress a = cuda_at(m->a), b = cuda_at(m->b), d = cuda_at(m->c);
  MatmulCall v = *m;
  return module && launch(c, module, "product", blocks(m->m * m->n * m->batch, THREADS),
                          ARGS(&a, &b, &d, &v.m, &v.n, &v.k, &v.batch, &v.a_row, &v.a_col, &v.a_batch, &v.b_row,
                               &v.b_col, &v.b_batch, &v.c_row, &v.c_batch));
}

bool cuda_add_parts(CudaDevice *c, const MatmulCall *m, CuAddress part, int64_t parts) {
  enum { COLUMNS = 32 };
  char defines[64];
  snprintf(defines, sizeof defines, "#define ROUTINE_PARTS\n#define STORED %s\n",
           m->dtype == POLY_FLOAT64 ? "double" : "float");
  CuModule module = find_module(c, defines);
  CuAddress to = cuda_at(m->c);
  MatmulCall v = *m;
  return module &&
         launch(c, module, "add_parts", blocks(m->m * m->n, COLUMNS), ARGS(&part, &to, &v.m, &v.n, &parts, &v.c_row));
}

/* ---- the table ---- */

static const struct {
  const char *name;
  bool (*run)(CudaDevice *c, const LibraryCall *call);
} routine[] = {{"argsort", run_argsort},
               {"topk", run_topk},
               {"kth", run_kth},
               {"searchsorted", run_searchsorted},
               {"bincount", run_bincount},
               {"scan", run_scan},
               {"segment_order", run_segment_order},
               {"nonzero", run_nonzero}};

/* While a run is recorded a routine is part of it, as are its places in memory. What it does follows from the words of
 * the run, so there is nothing to bring up to date. A routine of the host cannot be recorded. */
static bool run_routine(CudaDevice *c, const LibraryCall *call) {
  static const GpuKernel checking = {.checks = true};
  int i = 0;
  while (i < LEN(routine) && strcmp(call->name, routine[i].name)) i++;
  if (i == LEN(routine)) {
    cuda_run_spoil(c);
    return c->run || gpu_library(&c->device, call);
  }
  if (!cuda_run_queues(c)) return true;
  cuda_order_before(c, &checking, 0);
  bool ok = routine[i].run(c, call);
  cuda_order_after(c, 0);
  return ok;
}

bool cuda_library(Device *d, const LibraryCall *call) {
  CudaDevice *c = (CudaDevice *)d;
  CudaEntry entry;
  if (!cuda_enter(c, &entry)) return false;
  bool ok = run_routine(c, call);
  cuda_leave(c, &entry);
  return ok;
}
