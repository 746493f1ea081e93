/* pick.c: which edges of one row are drawn. In: a range of places, a count, a random stream of the row's own. Out:
 * places. Without replacement every set of `count` places is equally likely; with weights the draws are as if one place
 * after the other were drawn by weight from those left. */
#include "algorithms/sampler.h"

#include <math.h>

enum { FEW = 32 };

static int64_t positive(const Relation *r, Range range, int64_t enough) {
  int64_t n = 0;
  for (int64_t p = range.begin; p < range.end && n < enough; p++) n += r->weight[p] > 0;
  return n;
}

int64_t pick_count(const Relation *r, Range range, int64_t count, bool replace) {
  int64_t n = range.end - range.begin;
  if (n <= 0 || count == 0) return 0;
  if (count < 0 || (!replace && count >= n)) return n;
  if (!r->weight) return count;
  if (replace) return positive(r, range, 1) ? count : 0;
  return positive(r, range, count);
}

/* ---- all alike ---- */

static bool has(const int32_t *v, int64_t n, int32_t x) {
  for (int64_t k = 0; k < n; k++)
    if (v[k] == x) return true;
  return false;
}

/* R. W. Floyd: for j = n - k .. n - 1 a number up to j, or j itself if that number was drawn before. */
static void pick_few(Range range, int64_t k, Random *random, int32_t *out) {
  int64_t n = range.end - range.begin;
  for (int64_t i = 0; i < k; i++) {
    int64_t j = n - k + i;
    int32_t at = (int32_t)(range.begin + random_below(random, j + 1));
    out[i] = has(out, i, at) ? (int32_t)(range.begin + j) : at;
  }
}

/* Reservoir with jumps (Li 1994, algorithm L): O(k (1 + log(n / k))), and no memory but the result. */
static void pick_many(Range range, int64_t k, Random *random, int32_t *out) {
  for (int64_t i = 0; i < k; i++) out[i] = (int32_t)(range.begin + i);
  double w = exp(log(random_unit(random)) / (double)k), left = (double)(range.end - range.begin - k);
  for (int64_t at = range.begin + k;;) {
    double jump = floor(log(random_unit(random)) / log1p(-w));
    if (!(jump < left)) return;
    left -= jump + 1;
    at += (int64_t)jump;
    out[random_below(random, k)] = (int32_t)at++;
    w *= exp(log(random_unit(random)) / (double)k);
  }
}

/* ---- by weight ---- */

static void sift(double *key, int32_t *value, int64_t n, int64_t at) {
  for (int64_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && key[child + 1] > key[child]) child++;
    if (!(key[child] > key[at])) return;
    double k = key[at];
    int32_t v = value[at];
    key[at] = key[child], value[at] = value[child];
    key[child] = k, value[child] = v;
  }
}

/* Efraimidis and Spirakis 2006: the k smallest of exponential variates of rate `weight`, kept in a heap with the
 * largest of them on top. */
int64_t pick_weighted(const double *weight, int64_t n, int64_t k, Random random, int32_t *out, double *scratch) {
  int64_t have = 0;
  for (int64_t p = 0; p < n; p++) {
    double key = -log(random_unit(&random)) / weight[p];
    if (!(weight[p] > 0)) continue;
    if (have < k) {
      scratch[have] = key;
      out[have++] = (int32_t)p;
      if (have == k)
        for (int64_t i = k / 2 - 1; i >= 0; i--) sift(scratch, out, k, i);
    } else if (key < scratch[0]) {
      scratch[0] = key;
      out[0] = (int32_t)p;
      sift(scratch, out, k, 0);
    }
  }
  return have;
}

/* With replacement: k sorted fractions of the whole (sums of exponential variates over their total), and one walk along
 * the weights. The stream is run twice, for the total and for the fractions. */
static void pick_replaced(const Relation *r, Range range, int64_t k, Random random, int32_t *out) {
  Random again = random;
  double whole = 0, total = 0, reached = 0, sum = 0;
  int64_t last = range.begin;
  for (int64_t i = 0; i <= k; i++) total -= log(random_unit(&random));
  for (int64_t p = range.begin; p < range.end; p++) {
    whole += r->weight[p];
    if (r->weight[p] > 0) last = p;
  }
  int64_t p = range.begin;
  for (int64_t i = 0; i < k; i++) {
    sum -= log(random_unit(&again));
    double want = whole * (sum / total);
    while (p < last && (r->weight[p] <= 0 || reached + r->weight[p] <= want)) reached += r->weight[p++];
    out[i] = (int32_t)p;
  }
}

void pick(const Relation *r, Range range, int64_t count, bool replace, Random random, int64_t take, int32_t *out,
          double *scratch) {
  int64_t n = range.end - range.begin;
  if (count < 0 || (!replace && count >= n)) {
    for (int64_t i = 0; i < n; i++) out[i] = (int32_t)(range.begin + i);
  } else if (r->weight && replace) {
    pick_replaced(r, range, take, random, out);
  } else if (r->weight) {
    pick_weighted(r->weight + range.begin, n, take, random, out, scratch);
    for (int64_t i = 0; i < take; i++) out[i] += (int32_t)range.begin;
  } else if (replace) {
    for (int64_t i = 0; i < take; i++) out[i] = (int32_t)(range.begin + random_below(&random, n));
  } else if (take <= FEW) {
    pick_few(range, take, &random, out);
  } else {
    pick_many(range, take, &random, out);
  }
}
