/* gpu_routines.cl: library routines for devices with groups of threads: stable radix sort, searches in sorted rows,
 * segment order, counts, running reductions, places of true values, and a plain matrix product. The text is embedded into the library; a device puts
 * in front of it what its language calls these things:
 *
 *   KERNEL            begins a kernel                      GLOBAL, SHARED   qualifiers of pointers and local arrays
 *   BLOCK, THREAD     numbers of the group and in it       BARRIER()        all threads of the group wait here
 *   LOWEST(p, v)      atomic minimum of a uint             FUNCTION         begins any other function
 *   ONE_MORE(p)       adds one to a uint, atomically: the order of such additions changes nothing
 *
 * and the types that the routine at hand works on. Groups have 256 threads, each takes 16 items that lie side by side,
 * so that the order of equal keys, and of a sum, is that of the items. Nothing depends on the order in which groups
 * run. */

enum { THREADS = 256, ITEMS = 16, TILE = THREADS * ITEMS, DIGITS = 16 };

/* Sum of what the threads before this one have; *all: of all threads. */
FUNCTION uint before_me(uint v, SHARED_ARG uint *room, uint *all) {
  uint t = THREAD;
  room[t] = v;
  BARRIER();
  for (uint step = 1; step < THREADS; step *= 2) {
    uint left = t >= step ? room[t - step] : 0;
    BARRIER();
    room[t] += left;
    BARRIER();
  }
  uint mine = room[t] - v;
  *all = room[THREADS - 1];
  BARRIER();
  return mine;
}

#ifdef ROUTINE_COUNTS

/* ---- exclusive sums of counts ---- */

KERNEL counts_total(GLOBAL const uint *x, ulong n, GLOBAL uint *total) {
  SHARED uint room[THREADS];
  ulong from = (ulong)BLOCK * TILE + THREAD * ITEMS;
  uint sum = 0, all;
  for (ulong i = from; i < from + ITEMS && i < n; i++) sum += x[i];
  before_me(sum, room, &all);
  if (THREAD == 0) total[BLOCK] = all;
}

/* One group: total[0 .. tiles) becomes the sums before each, total[tiles] the sum of all. */
KERNEL counts_carry(GLOBAL uint *total, ulong tiles) {
  SHARED uint room[THREADS];
  uint carry = 0;
  for (ulong from = 0; from < tiles; from += THREADS) {
    ulong i = from + THREAD;
    uint all, v = i < tiles ? total[i] : 0, before = before_me(v, room, &all);
    if (i < tiles) total[i] = carry + before;
    carry += all;
  }
  if (THREAD == 0) total[tiles] = carry;
}

KERNEL counts_apply(GLOBAL uint *x, ulong n, GLOBAL const uint *total) {
  SHARED uint room[THREADS];
  ulong from = (ulong)BLOCK * TILE + THREAD * ITEMS;
  uint sum = 0, all;
  for (ulong i = from; i < from + ITEMS && i < n; i++) sum += x[i];
  uint at = total[BLOCK] + before_me(sum, room, &all);
  for (ulong i = from; i < from + ITEMS && i < n; i++) {
    uint v = x[i];
    x[i] = at;
    at += v;
  }
}

/* ---- places of true values ---- */

KERNEL nonzero_count(GLOBAL const uchar *x, ulong n, GLOBAL uint *count) {
  SHARED uint room[THREADS];
  ulong from = (ulong)BLOCK * TILE + THREAD * ITEMS;
  uint sum = 0, all;
  for (ulong i = from; i < from + ITEMS && i < n; i++) sum += x[i] != 0;
  before_me(sum, room, &all);
  if (THREAD == 0) count[BLOCK] = all;
}

/* wide: places are 64-bit numbers. */
KERNEL nonzero_write(GLOBAL const uchar *x, ulong n, GLOBAL const uint *before, GLOBAL int *out, ulong space, int wide) {
  SHARED uint room[THREADS];
  ulong from = (ulong)BLOCK * TILE + THREAD * ITEMS;
  uint sum = 0, all;
  for (ulong i = from; i < from + ITEMS && i < n; i++) sum += x[i] != 0;
  ulong at = before[BLOCK] + before_me(sum, room, &all);
  for (ulong i = from; i < from + ITEMS && i < n; i++) {
    if (!x[i] || at >= space) continue;
    if (wide)
      ((GLOBAL int64_t *)out)[at] = (int64_t)i;
    else
      out[at] = (int)i;
    at++;
  }
}

/* The room behind them is cleared. */
KERNEL nonzero_rest(GLOBAL const uint *count, GLOBAL int *out, ulong space, int wide, GLOBAL int64_t *error) {
  ulong first = *count, i = (ulong)BLOCK * THREADS + THREAD;
  if (i == 0 && first > space && !error[0]) {
    error[1] = (int64_t)first;
    error[2] = (int64_t)space;
    error[0] = 3;
  }
  if (i < first || i >= space) return;
  if (wide)
    ((GLOBAL int64_t *)out)[i] = 0;
  else
    out[i] = 0;
}

/* ---- rows of sorted keys ---- */

/* rowptr[v]: the first place whose key is at least v. */
KERNEL segment_rows(GLOBAL const uint *key, ulong n, ulong rows, GLOBAL int *rowptr) {
  ulong v = (ulong)BLOCK * THREADS + THREAD;
  if (v > rows) return;
  ulong low = 0, high = n;
  while (low < high) {
    ulong mid = (low + high) / 2;
    if (key[mid] < v)
      low = mid + 1;
    else
      high = mid;
  }
  rowptr[v] = (int)low;
}

/* Places within rows of n: of each row `take` from `first` on, total in all. */
KERNEL sort_places(GLOBAL const int *place, ulong total, uint n, uint first, uint take, GLOBAL int *out) {
  ulong i = (ulong)BLOCK * THREADS + THREAD;
  if (i < total) out[i] = (int)((uint)place[i / take * n + first + i % take] % n);
}

/* Counts of 32 bits as numbers of 64. */
KERNEL counts_wide(GLOBAL const uint *count, ulong n, GLOBAL int64_t *out) {
  ulong i = (ulong)BLOCK * THREADS + THREAD;
  if (i < n) out[i] = (int64_t)count[i];
}
#endif

#ifdef ROUTINE_SEGMENT /* INDEX: the type of an index */

/* bad: the place of the first index that is out of range. */
KERNEL segment_keys(GLOBAL const INDEX *index, ulong n, ulong rows, GLOBAL uint *key, GLOBAL uint *bad) {
  ulong i = (ulong)BLOCK * THREADS + THREAD;
  if (i >= n) return;
  ulong v = (ulong)(int64_t)index[i];
  if (v >= rows) LOWEST(bad, (uint)i);
  key[i] = v < rows ? (uint)v : 0;
}

/* How often each of 0 .. rows-1 occurs; count is 0 before. */
KERNEL index_count(GLOBAL const INDEX *index, ulong n, ulong rows, GLOBAL uint *count, GLOBAL uint *bad) {
  ulong i = (ulong)BLOCK * THREADS + THREAD;
  if (i >= n) return;
  ulong v = (ulong)(int64_t)index[i];
  if (v >= rows)
    LOWEST(bad, (uint)i);
  else
    ONE_MORE(&count[v]);
}

KERNEL segment_bad(GLOBAL const INDEX *index, ulong rows, GLOBAL const uint *bad, GLOBAL int64_t *error, int kind) {
  if (BLOCK || THREAD || *bad == 0xffffffffu || error[0]) return;
  error[1] = (int64_t)index[*bad];
  error[2] = (int64_t)rows;
  error[3] = (int64_t)*bad;
  error[0] = kind;
}
#endif

#ifdef ROUTINE_KEYS /* RAW: unsigned, as wide as the values; KEY: uint or ulong */

/* sign: the sign's bit of signed numbers, infinity: of floats, 0: not a float; flip: bits to turn for descending. */
KERNEL sort_keys(GLOBAL const RAW *x, ulong n, ulong sign, ulong infinity, ulong flip, GLOBAL KEY *key) {
  ulong i = (ulong)BLOCK * THREADS + THREAD;
  if (i >= n) return;
  ulong v = x[i], all = sign | (sign - 1);
  if (infinity) {
    ulong size = v & (sign - 1);
    v = size > infinity ? all : size == 0 ? sign : (v & sign) ? ~v & all : v | sign;
  } else {
    v ^= sign;
  }
  key[i] = (KEY)(v ^ flip);
}

/* How many keys of a row of n lie before each value, or before or at it; `each` values share a row. */
KERNEL search_rows(GLOBAL const KEY *sorted, GLOBAL const KEY *value, ulong total, ulong n, ulong each, int or_at,
                   GLOBAL int *out, int wide) {
  ulong i = (ulong)BLOCK * THREADS + THREAD;
  if (i >= total) return;
  GLOBAL const KEY *row = sorted + i / each * n;
  KEY v = value[i];
  ulong low = 0, high = n;
  while (low < high) {
    ulong mid = (low + high) / 2;
    if (or_at ? row[mid] <= v : row[mid] < v)
      low = mid + 1;
    else
      high = mid;
  }
  if (wide) {
    out[2 * i] = (int)(uint)low;
    out[2 * i + 1] = (int)(uint)(low >> 32);
  } else {
    out[i] = (int)low;
  }
}
#endif

#ifdef ROUTINE_RADIX /* KEY: uint or ulong */

/* The digit of item i: of its key, or of the row of its place if length is not 0. */
FUNCTION uint digit_of(KEY key, uint place, uint shift, uint length) {
  return (uint)((length ? (ulong)(place / length) : (ulong)key) >> shift) & (DIGITS - 1);
}

/* place NULL: places are those of the items. */
KERNEL radix_count(GLOBAL const KEY *key, GLOBAL const int *place, ulong n, uint shift, uint length, ulong tiles,
                   GLOBAL uint *count) {
  SHARED uint part[DIGITS * THREADS];
  uint t = THREAD;
  for (uint d = 0; d < DIGITS; d++) part[d * THREADS + t] = 0;
  ulong from = (ulong)BLOCK * TILE + t * ITEMS;
  for (ulong i = from; i < from + ITEMS && i < n; i++)
    part[digit_of(key[i], place ? (uint)place[i] : (uint)i, shift, length) * THREADS + t]++;
  BARRIER();
  for (uint half = THREADS / 2; half; half /= 2) {
    for (uint j = t; j < DIGITS * half; j += THREADS) {
      uint d = j / half, k = j % half;
      part[d * THREADS + k] += part[d * THREADS + k + half];
    }
    BARRIER();
  }
  if (t < DIGITS) count[t * tiles + BLOCK] = part[t * THREADS];
}

/* Items of a tile to their places: where the tile's items of a digit begin, and how many of them stand before. */
KERNEL radix_move(GLOBAL const KEY *key, GLOBAL const int *place, ulong n, uint shift, uint length, ulong tiles,
                  GLOBAL const uint *begin, GLOBAL KEY *key_out, GLOBAL int *place_out) {
  SHARED uint part[DIGITS * THREADS];
  SHARED uint room[THREADS];
  SHARED uint first[DIGITS];
  uint t = THREAD, all, sum = 0;
  for (uint d = 0; d < DIGITS; d++) part[d * THREADS + t] = 0;
  ulong from = (ulong)BLOCK * TILE + t * ITEMS;
  for (ulong i = from; i < from + ITEMS && i < n; i++)
    part[digit_of(key[i], place ? (uint)place[i] : (uint)i, shift, length) * THREADS + t]++;
  BARRIER();
  for (uint j = 0; j < DIGITS; j++) sum += part[t * DIGITS + j];
  uint at = before_me(sum, room, &all);
  for (uint j = 0; j < DIGITS; j++) {
    uint c = part[t * DIGITS + j];
    part[t * DIGITS + j] = at;
    at += c;
  }
  BARRIER();
  if (t < DIGITS) first[t] = part[t * THREADS];
  BARRIER();
  for (ulong i = from; i < from + ITEMS && i < n; i++) {
    uint p = place ? (uint)place[i] : (uint)i, d = digit_of(key[i], p, shift, length);
    uint to = begin[d * tiles + BLOCK] + part[d * THREADS + t]++ - first[d];
    key_out[to] = key[i];
    place_out[to] = (int)p;
  }
}
#endif

#if defined(ROUTINE_SCAN) || defined(ROUTINE_PRODUCT)
FUNCTION float bits_float(uint v) {
  union {
    uint u;
    float f;
  } b;
  b.u = v;
  return b.f;
}

FUNCTION uint float_bits(float v) {
  union {
    uint u;
    float f;
  } b;
  b.f = v;
  return b.u;
}

/* A float of 8 bits: `size` are its 7 bits below the sign, at the place of those of a float, which is `scale` too small */
FUNCTION float scaled_float(uint size, uint sign, float scale) {
  float f = bits_float(size) * scale;
  return sign ? -f : f;
}

FUNCTION float e4m3_float(uchar v) {
  if ((v & 0x7f) == 0x7f) return bits_float(0x7fc00000u | (uint)(v & 0x80) << 24);
  return scaled_float((uint)(v & 0x7f) << 20, v & 0x80, 0x1p120f);
}

FUNCTION float e5m2_float(uchar v) {
  if ((v & 0x7f) >= 0x7c) return bits_float(0x7f800000u | (uint)(v & 3) << 21 | (uint)(v & 0x80) << 24);
  return scaled_float((uint)(v & 0x7f) << 21, v & 0x80, 0x1p112f);
}

/* Rounded at bit `drop` of a float, or where `magic` has its last bit if that is higher; cut off at `largest`. */
FUNCTION uchar rounded_byte(float v, uint drop, float magic, uint first, float scale, uint largest) {
  uint b = float_bits(v), size = b & 0x7fffffff;
  uint near = size + (1u << (drop - 1)) - 1 + (size >> drop & 1);
  float r = size < first ? bits_float(size) + magic - magic : bits_float(near & ~((1u << drop) - 1));
  uint code = float_bits(r * scale) >> drop;
  return (uchar)((code > largest ? largest : code) | (b >> 24 & 0x80));
}

FUNCTION uchar float_e4m3(float v) {
  uint b = float_bits(v);
  if ((b & 0x7fffffff) >= 0x7f800000u) return (uchar)(b >> 24 | 0x7f);
  return rounded_byte(v, 20, 16384.0f, 0x3c800000, 0x1p-120f, 0x7e);
}

FUNCTION uchar float_e5m2(float v) {
  uint b = float_bits(v);
  if ((b & 0x7fffffff) > 0x7f800000u) return (uchar)(b >> 24 | 0x7f);
  if ((b & 0x7fffffff) == 0x7f800000u) return (uchar)((b >> 24 & 0x80) | 0x7c);
  return rounded_byte(v, 21, 128.0f, 0x38800000, 0x1p-112f, 0x7b);
}

FUNCTION float bfloat_float(ushort v) { return bits_float((uint)v << 16); }

FUNCTION ushort float_bfloat(float v) {
  uint b = float_bits(v);
  if ((b & 0x7fffffffu) > 0x7f800000u) return (ushort)(b >> 16 | 0x40);
  return (ushort)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

FUNCTION float half_float(ushort v) {
  uint sign = (uint)(v & 0x8000) << 16, size = v & 0x7fff;
  if (size >= 0x7c00) return bits_float(sign | 0x7f800000u | (size & 0x3ff) << 13);
  if (size >= 0x400) return bits_float(sign | ((size << 13) + (112u << 23)));
  float f = (float)size * 5.9604644775390625e-8f;
  return sign ? -f : f;
}

FUNCTION ushort float_half(float v) {
  uint b = float_bits(v), sign = b >> 16 & 0x8000, size = b & 0x7fffffff;
  if (size > 0x7f800000u) return (ushort)(sign | 0x7e00);
  if (size >= 0x47800000u) return (ushort)(sign | 0x7c00);
  if (size >= 0x38800000u) return (ushort)(sign | ((size - 0x38000000u + 0xfff + (size >> 13 & 1)) >> 13));
  if (size < 0x33000000u) return (ushort)sign;
  uint shift = 126 - (size >> 23), m = (size & 0x7fffff) | 0x800000, half = 1u << (shift - 1);
  uint kept = m >> shift, rest = m & ((1u << shift) - 1);
  return (ushort)(sign | (kept + (rest > half || (rest == half && (kept & 1)))));
}
#endif

#ifdef ROUTINE_SCAN /* STORED: in memory; WIDE: carried along; GET, PUT: between them; JOIN(a, b): the operation */

/* What the threads before this one have, joined; NONE of them: thread 0's is not used. *all: of all threads. */
FUNCTION WIDE joined_before(WIDE v, int has, SHARED_ARG WIDE *room, SHARED_ARG int *there, int *any, WIDE *all,
                            int *any_all) {
  uint t = THREAD;
  room[t] = v;
  there[t] = has;
  BARRIER();
  for (uint step = 1; step < THREADS; step *= 2) {
    int left_has = t >= step && there[t - step];
    WIDE left = left_has ? room[t - step] : v;
    BARRIER();
    if (left_has) room[t] = there[t] ? JOIN(left, room[t]) : left;
    there[t] |= left_has;
    BARRIER();
  }
  WIDE before = t ? room[t - 1] : v;
  *any = t && there[t - 1];
  *all = room[THREADS - 1];
  *any_all = there[THREADS - 1];
  BARRIER();
  return before;
}

KERNEL scan_total(GLOBAL const STORED *x, ulong n, ulong tiles, GLOBAL WIDE *total) {
  SHARED WIDE room[THREADS];
  SHARED int there[THREADS];
  ulong row = (ulong)BLOCK / tiles, tile = (ulong)BLOCK % tiles, from = tile * TILE + THREAD * ITEMS;
  WIDE run = GET(x[row * n]), all;
  int has = 0, any, any_all;
  for (ulong i = from; i < from + ITEMS && i < n; i++) {
    WIDE v = GET(x[row * n + i]);
    run = has ? JOIN(run, v) : v;
    has = 1;
  }
  joined_before(run, has, room, there, &any, &all, &any_all);
  if (THREAD == 0) total[BLOCK] = all;
}

/* A group for each row: total[t] becomes what the tiles before t have, joined; that of the first is not used. */
KERNEL scan_carry(GLOBAL WIDE *total, ulong tiles) {
  SHARED WIDE room[THREADS];
  SHARED int there[THREADS];
  GLOBAL WIDE *mine = total + (ulong)BLOCK * tiles;
  WIDE carry = mine[0];
  int started = 0;
  for (ulong from = 0; from < tiles; from += THREADS) {
    ulong i = from + THREAD;
    int any, any_all;
    WIDE v = mine[i < tiles ? i : 0], all, before = joined_before(v, i < tiles, room, there, &any, &all, &any_all);
    if (i < tiles) mine[i] = started ? (any ? JOIN(carry, before) : carry) : before;
    carry = started ? JOIN(carry, all) : all;
    started = 1;
  }
}

KERNEL scan_apply(GLOBAL const STORED *x, GLOBAL STORED *y, ulong n, ulong tiles, GLOBAL const WIDE *total) {
  SHARED WIDE room[THREADS];
  SHARED int there[THREADS];
  ulong row = (ulong)BLOCK / tiles, tile = (ulong)BLOCK % tiles, from = tile * TILE + THREAD * ITEMS;
  WIDE run = GET(x[row * n]), all;
  int has = 0, any, any_all;
  for (ulong i = from; i < from + ITEMS && i < n; i++) {
    WIDE v = GET(x[row * n + i]);
    run = has ? JOIN(run, v) : v;
    has = 1;
  }
  WIDE before = joined_before(run, has, room, there, &any, &all, &any_all);
  if (tile) {
    before = any ? JOIN(total[BLOCK], before) : total[BLOCK];
    any = 1;
  }
  for (ulong i = from; i < from + ITEMS && i < n; i++) {
    WIDE v = GET(x[row * n + i]);
    before = any ? JOIN(before, v) : v;
    any = 1;
    y[row * n + i] = (STORED)PUT(before);
  }
}

/* Short rows: a thread for each. */
KERNEL scan_rows(GLOBAL const STORED *x, GLOBAL STORED *y, ulong rows, ulong n) {
  ulong row = (ulong)BLOCK * THREADS + THREAD;
  if (row >= rows) return;
  WIDE run = GET(x[row * n]);
  y[row * n] = (STORED)PUT(run);
  for (ulong i = row * n + 1; i < row * n + n; i++) {
    WIDE v = GET(x[i]);
    run = JOIN(run, v);
    y[i] = (STORED)PUT(run);
  }
}
#endif

#ifdef ROUTINE_PARTS /* STORED: float or double. A block has COLUMNS results, whose parts its rows of threads share. */
#define COLUMNS 32
#define ROWS (THREADS / COLUMNS)
KERNEL add_parts(GLOBAL const STORED *part, GLOBAL STORED *c, int64_t m, int64_t n, int64_t parts, int64_t c_row) {
  SHARED double sums[THREADS];
  int64_t i = (int64_t)BLOCK * COLUMNS + THREAD % COLUMNS;
  double sum = 0;
  if (i < m * n)
    for (int64_t p = THREAD / COLUMNS; p < parts; p += ROWS) sum += (double)part[p * m * n + i];
  sums[THREAD] = sum;
  BARRIER();
  if (THREAD >= COLUMNS || i >= m * n) return;
  for (int r = 1; r < ROWS; r++) sum += sums[r * COLUMNS + THREAD];
  c[i / n * c_row + i % n] = (STORED)sum;
}
#endif

#ifdef ROUTINE_PRODUCT /* STORED, GET, PUT as above; sums are in double */
KERNEL product(GLOBAL const STORED *a, GLOBAL const STORED *b, GLOBAL STORED *c, int64_t m, int64_t n, int64_t k,
               int64_t batch, int64_t a_row, int64_t a_col, int64_t a_batch, int64_t b_row, int64_t b_col,
               int64_t b_batch, int64_t c_row, int64_t c_batch) {
  int64_t i = (int64_t)BLOCK * THREADS + THREAD;
  if (i >= m * n * batch) return;
  int64_t p = i / (m * n), r = i % (m * n) / n, s = i % n;
  double sum = 0;
  for (int64_t j = 0; j < k; j++)
    sum += (double)GET(a[p * a_batch + r * a_row + j * a_col]) * (double)GET(b[p * b_batch + j * b_row + s * b_col]);
  c[p * c_batch + r * c_row + s] = (STORED)PUT(sum);
}
#endif
