/* checked.c: the public functions, generated from include/polygrad.h by py/tools/gen_api.py. Do not edit.
 * Each checks its arguments and locks their context; see api/guard.h. */
/* clang-format off */
#define POLY_CHECKED
#include "api/guard.h"

#include <math.h>

const char *poly_version(void) {
  return core_version();
}

PolyStatus poly_set_device(PolyContext *ctx, const char *name) {
  ApiCall call;
  api_begin(&call, "poly_set_device");
  api_context(&call, ctx);
  api_array(&call, name, true, "name");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_set_device(ctx, name);
  api_leave(&call, result);
  return result;
}

const char *poly_device(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_device");
  api_context(&call, ctx);
  if (!api_enter(&call)) return "";
  const char *result = core_device(ctx);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

const char *poly_device_card(PolyContext *ctx, const char *device) {
  ApiCall call;
  api_begin(&call, "poly_device_card");
  api_context(&call, ctx);
  api_array(&call, device, true, "device");
  if (!api_enter(&call)) return NULL;
  const char *result = core_device_card(ctx, device);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyStatus poly_synchronize(PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_synchronize");
  api_context(&call, ctx);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_synchronize(ctx);
  api_leave(&call, result);
  return result;
}

void poly_set_threads(PolyContext *ctx, int threads) {
  ApiCall call;
  api_begin(&call, "poly_set_threads");
  api_context(&call, ctx);
  if (!api_enter(&call)) return;
  core_set_threads(ctx, threads);
  api_leave(&call, POLY_OK);
}

int poly_threads(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_threads");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int result = core_threads(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

void poly_set_debug(PolyContext *ctx, int level) {
  ApiCall call;
  api_begin(&call, "poly_set_debug");
  api_context(&call, ctx);
  if (!api_enter(&call)) return;
  core_set_debug(ctx, level);
  api_leave(&call, POLY_OK);
}

void poly_manual_seed(PolyContext *ctx, uint64_t seed) {
  ApiCall call;
  api_begin(&call, "poly_manual_seed");
  api_context(&call, ctx);
  if (!api_enter(&call)) return;
  core_manual_seed(ctx, seed);
  api_leave(&call, POLY_OK);
}

uint64_t poly_draw_seed(PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_draw_seed");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  uint64_t result = core_draw_seed(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

void poly_set_training(PolyContext *ctx, bool on) {
  ApiCall call;
  api_begin(&call, "poly_set_training");
  api_context(&call, ctx);
  if (!api_enter(&call)) return;
  core_set_training(ctx, on);
  api_leave(&call, POLY_OK);
}

bool poly_training(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_training");
  api_context(&call, ctx);
  if (!api_enter(&call)) return false;
  bool result = core_training(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

void poly_set_no_grad(PolyContext *ctx, bool on) {
  ApiCall call;
  api_begin(&call, "poly_set_no_grad");
  api_context(&call, ctx);
  if (!api_enter(&call)) return;
  core_set_no_grad(ctx, on);
  api_leave(&call, POLY_OK);
}

bool poly_no_grad(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_no_grad");
  api_context(&call, ctx);
  if (!api_enter(&call)) return false;
  bool result = core_no_grad(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

PolyStatus poly_set_autocast(PolyContext *ctx, PolyDType dtype) {
  ApiCall call;
  api_begin(&call, "poly_set_autocast");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_set_autocast(ctx, dtype);
  api_leave(&call, result);
  return result;
}

PolyDType poly_autocast(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_autocast");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  PolyDType result = core_autocast(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

PolyStatus poly_set_default_float(PolyContext *ctx, PolyDType dtype) {
  ApiCall call;
  api_begin(&call, "poly_set_default_float");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_set_default_float(ctx, dtype);
  api_leave(&call, result);
  return result;
}

PolyDType poly_default_float(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_default_float");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  PolyDType result = core_default_float(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_live_nodes(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_live_nodes");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int64_t result = core_live_nodes(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_live_tensors(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_live_tensors");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int64_t result = core_live_tensors(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_live_bytes(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_live_bytes");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int64_t result = core_live_bytes(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_peak_bytes(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_peak_bytes");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int64_t result = core_peak_bytes(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

void poly_reset_peak(PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_reset_peak");
  api_context(&call, ctx);
  if (!api_enter(&call)) return;
  core_reset_peak(ctx);
  api_leave(&call, POLY_OK);
}

int64_t poly_device_live_bytes(PolyContext *ctx, const char *device) {
  ApiCall call;
  api_begin(&call, "poly_device_live_bytes");
  api_context(&call, ctx);
  api_array(&call, device, true, "device");
  if (!api_enter(&call)) return 0;
  int64_t result = core_device_live_bytes(ctx, device);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_device_peak_bytes(PolyContext *ctx, const char *device) {
  ApiCall call;
  api_begin(&call, "poly_device_peak_bytes");
  api_context(&call, ctx);
  api_array(&call, device, true, "device");
  if (!api_enter(&call)) return 0;
  int64_t result = core_device_peak_bytes(ctx, device);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_device_held_bytes(PolyContext *ctx, const char *device) {
  ApiCall call;
  api_begin(&call, "poly_device_held_bytes");
  api_context(&call, ctx);
  api_array(&call, device, true, "device");
  if (!api_enter(&call)) return 0;
  int64_t result = core_device_held_bytes(ctx, device);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_device_read_bytes(PolyContext *ctx, const char *device) {
  ApiCall call;
  api_begin(&call, "poly_device_read_bytes");
  api_context(&call, ctx);
  api_array(&call, device, true, "device");
  if (!api_enter(&call)) return 0;
  int64_t result = core_device_read_bytes(ctx, device);
  api_leave(&call, POLY_OK);
  return result;
}

void poly_device_trim(PolyContext *ctx, const char *device) {
  ApiCall call;
  api_begin(&call, "poly_device_trim");
  api_context(&call, ctx);
  api_array(&call, device, true, "device");
  if (!api_enter(&call)) return;
  core_device_trim(ctx, device);
  api_leave(&call, POLY_OK);
}

void poly_scope_begin(PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_scope_begin");
  api_context(&call, ctx);
  if (!api_enter(&call)) return;
  core_scope_begin(ctx);
  api_leave(&call, POLY_OK);
}

void poly_scope_end(PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_scope_end");
  api_context(&call, ctx);
  if (!api_enter(&call)) return;
  core_scope_end(ctx);
  api_leave(&call, POLY_OK);
}

PolyTensor *poly_keep(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_keep");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_keep(t);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_retain_copy(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_retain_copy");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_retain_copy(t);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyContext *poly_context_of(const PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_context_of");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return NULL;
  PolyContext *result = core_context_of(t);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

int poly_ndim(const PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_ndim");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return 0;
  int result = core_ndim(t);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_dim(const PolyTensor *t, int axis) {
  ApiCall call;
  api_begin(&call, "poly_dim");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return -1;
  int64_t result = core_dim(t, axis);
  api_leave(&call, result == -1 ? POLY_ERROR_VALUE : POLY_OK);
  return result;
}

void poly_shape(const PolyTensor *t, int64_t *out) {
  ApiCall call;
  api_begin(&call, "poly_shape");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  api_array(&call, out, true, "out");
  if (!api_enter(&call)) return;
  core_shape(t, out);
  api_leave(&call, POLY_OK);
}

int64_t poly_numel(const PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_numel");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return 0;
  int64_t result = core_numel(t);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_numel_size(const PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_numel_size");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return 0;
  int64_t result = core_numel_size(t);
  api_leave(&call, POLY_OK);
  return result;
}

PolyDType poly_dtype(const PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_dtype");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return POLY_FLOAT32;
  PolyDType result = core_dtype(t);
  api_leave(&call, POLY_OK);
  return result;
}

const char *poly_dtype_name(PolyDType d) {
  ApiCall call;
  api_begin(&call, "poly_dtype_name");
  api_enum(&call, d, POLY_DTYPE_COUNT, "d", "a dtype");
  if (!api_enter_free(&call)) return "?";
  const char *result = core_dtype_name(d);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

int poly_dtype_size(PolyDType d) {
  ApiCall call;
  api_begin(&call, "poly_dtype_size");
  api_enum(&call, d, POLY_DTYPE_COUNT, "d", "a dtype");
  if (!api_enter_free(&call)) return 0;
  int result = core_dtype_size(d);
  return result;
}

PolyDType poly_promote(PolyDType a, PolyDType b) {
  ApiCall call;
  api_begin(&call, "poly_promote");
  api_enum(&call, a, POLY_DTYPE_COUNT, "a", "a dtype");
  api_enum(&call, b, POLY_DTYPE_COUNT, "b", "a dtype");
  if (!api_enter_free(&call)) return a;
  PolyDType result = core_promote(a, b);
  return result;
}

bool poly_is_realized(const PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_is_realized");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return false;
  bool result = core_is_realized(t);
  api_leave(&call, POLY_OK);
  return result;
}

PolyStatus poly_value_ids(PolyTensor *const *t, int n, int64_t *out) {
  ApiCall call;
  api_begin(&call, "poly_value_ids");
  api_handles(&call, t, n, HANDLE_TENSOR, "t", false);
  api_count(&call, n, "n");
  api_array(&call, out, n != 0, "out");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_value_ids(t, n, out);
  api_leave(&call, result);
  return result;
}

int64_t poly_var_bind(PolyContext *ctx, const char *name, int64_t min, int64_t max, int64_t value) {
  ApiCall call;
  api_begin(&call, "poly_var_bind");
  api_context(&call, ctx);
  api_array(&call, name, true, "name");
  if (!api_enter(&call)) return 0;
  int64_t result = core_var_bind(ctx, name, min, max, value);
  api_leave(&call, POLY_OK);
  return result;
}

bool poly_dim_is_symbolic(int64_t dim) {
  return core_dim_is_symbolic(dim);
}

void poly_dim_hold(PolyContext *ctx, int64_t dim, bool on) {
  ApiCall call;
  api_begin(&call, "poly_dim_hold");
  api_context(&call, ctx);
  if (!api_enter(&call)) return;
  core_dim_hold(ctx, dim, on);
  api_leave(&call, POLY_OK);
}

int64_t poly_dim_value(PolyContext *ctx, int64_t dim) {
  ApiCall call;
  api_begin(&call, "poly_dim_value");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int64_t result = core_dim_value(ctx, dim);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_dim_min(PolyContext *ctx, int64_t dim) {
  ApiCall call;
  api_begin(&call, "poly_dim_min");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int64_t result = core_dim_min(ctx, dim);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_dim_max(PolyContext *ctx, int64_t dim) {
  ApiCall call;
  api_begin(&call, "poly_dim_max");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int64_t result = core_dim_max(ctx, dim);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_dim_op(PolyContext *ctx, char op, int64_t a, int64_t b) {
  ApiCall call;
  api_begin(&call, "poly_dim_op");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int64_t result = core_dim_op(ctx, op, a, b);
  api_leave(&call, POLY_OK);
  return result;
}

const char *poly_dim_text(PolyContext *ctx, int64_t dim, char *buf, size_t n) {
  ApiCall call;
  api_begin(&call, "poly_dim_text");
  api_context(&call, ctx);
  api_array(&call, buf, n != 0, "buf");
  if (!api_enter(&call)) return NULL;
  const char *result = core_dim_text(ctx, dim, buf, n);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_sized(PolyTensor *t, int ndim, const int64_t *shape) {
  ApiCall call;
  api_begin(&call, "poly_sized");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_sized(t, ndim, shape);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

bool poly_on_device(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_on_device");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return false;
  bool result = core_on_device(t);
  api_leave(&call, POLY_OK);
  return result;
}

bool poly_samples_there(PolyContext *ctx, int64_t edges) {
  ApiCall call;
  api_begin(&call, "poly_samples_there");
  api_context(&call, ctx);
  if (!api_enter(&call)) return false;
  bool result = core_samples_there(ctx, edges);
  api_leave(&call, POLY_OK);
  return result;
}

bool poly_worth_device(PolyContext *ctx, int64_t bytes) {
  ApiCall call;
  api_begin(&call, "poly_worth_device");
  api_context(&call, ctx);
  if (!api_enter(&call)) return false;
  bool result = core_worth_device(ctx, bytes);
  api_leave(&call, POLY_OK);
  return result;
}

PolyTensor *poly_join(PolyTensor *const *t, int n, int axis) {
  ApiCall call;
  api_begin(&call, "poly_join");
  api_handles(&call, t, n, HANDLE_TENSOR, "t", false);
  api_count(&call, n, "n");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_join(t, n, axis);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_from_data(PolyContext *ctx, const void *data, PolyDType dtype, int ndim, const int64_t *shape) {
  ApiCall call;
  api_begin(&call, "poly_from_data");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_from_data(ctx, data, dtype, ndim, shape);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_from_borrowed(PolyContext *ctx, void *data, PolyDType dtype, int ndim, const int64_t *shape, void (*release)(void *user), void *user) {
  ApiCall call;
  api_begin(&call, "poly_from_borrowed");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_from_borrowed(ctx, data, dtype, ndim, shape, release, user);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_from_device(PolyContext *ctx, void *data, PolyDType dtype, int ndim, const int64_t *shape, void (*release)(void *user), void *user) {
  ApiCall call;
  api_begin(&call, "poly_from_device");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_from_device(ctx, data, dtype, ndim, shape, release, user);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

void poly_set_copy_ahead(PolyContext *ctx, bool on) {
  ApiCall call;
  api_begin(&call, "poly_set_copy_ahead");
  api_context(&call, ctx);
  if (!api_enter(&call)) return;
  core_set_copy_ahead(ctx, on);
  api_leave(&call, POLY_OK);
}

bool poly_can_copy_ahead(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_can_copy_ahead");
  api_context(&call, ctx);
  if (!api_enter(&call)) return false;
  bool result = core_can_copy_ahead(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

PolyStatus poly_realize(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_realize");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_realize(t);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_realize_many(PolyTensor *const *t, int n) {
  ApiCall call;
  api_begin(&call, "poly_realize_many");
  api_handles(&call, t, n, HANDLE_TENSOR, "t", false);
  api_count(&call, n, "n");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_realize_many(t, n);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_read(PolyTensor *t, void *out, size_t out_bytes) {
  ApiCall call;
  api_begin(&call, "poly_read");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  api_array(&call, out, out_bytes != 0, "out");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_read(t, out, out_bytes);
  api_leave(&call, result);
  return result;
}

void *poly_data(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_data");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return NULL;
  void *result = core_data(t);
  api_leave(&call, POLY_OK);
  return result;
}

PolyStatus poly_move_here(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_move_here");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_move_here(t);
  api_leave(&call, result);
  return result;
}

void *poly_device_data(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_device_data");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return NULL;
  void *result = core_device_data(t);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

uint64_t poly_memory_id(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_memory_id");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return 0;
  uint64_t result = core_memory_id(t);
  api_leave(&call, POLY_OK);
  return result;
}

double poly_item(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_item");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return NAN;
  double result = core_item(t);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_item_int(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_item_int");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return 0;
  int64_t result = core_item_int(t);
  api_leave(&call, POLY_OK);
  return result;
}

PolyStatus poly_write(PolyTensor *t, const void *data, size_t bytes) {
  ApiCall call;
  api_begin(&call, "poly_write");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  api_array(&call, data, bytes != 0, "data");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_write(t, data, bytes);
  api_leave(&call, result);
  return result;
}

PolyTensor *poly_empty(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape) {
  ApiCall call;
  api_begin(&call, "poly_empty");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_empty(ctx, dtype, ndim, shape);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_zeros(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape) {
  ApiCall call;
  api_begin(&call, "poly_zeros");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_zeros(ctx, dtype, ndim, shape);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_ones(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape) {
  ApiCall call;
  api_begin(&call, "poly_ones");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_ones(ctx, dtype, ndim, shape);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_full(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double value) {
  ApiCall call;
  api_begin(&call, "poly_full");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_full(ctx, dtype, ndim, shape, value);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_full_int(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, int64_t value) {
  ApiCall call;
  api_begin(&call, "poly_full_int");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_full_int(ctx, dtype, ndim, shape, value);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_scalar(PolyContext *ctx, PolyDType dtype, double value) {
  ApiCall call;
  api_begin(&call, "poly_scalar");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_scalar(ctx, dtype, value);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_arange(PolyContext *ctx, PolyDType dtype, double start, double stop, double step) {
  ApiCall call;
  api_begin(&call, "poly_arange");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_arange(ctx, dtype, start, stop, step);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_iota(PolyContext *ctx, PolyDType dtype, int64_t n) {
  ApiCall call;
  api_begin(&call, "poly_iota");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_iota(ctx, dtype, n);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_linspace(PolyContext *ctx, PolyDType dtype, double start, double stop, int64_t steps) {
  ApiCall call;
  api_begin(&call, "poly_linspace");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_linspace(ctx, dtype, start, stop, steps);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_eye(PolyContext *ctx, PolyDType dtype, int64_t n, int64_t m) {
  ApiCall call;
  api_begin(&call, "poly_eye");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_eye(ctx, dtype, n, m);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_full_like(PolyTensor *t, double value) {
  ApiCall call;
  api_begin(&call, "poly_full_like");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_full_like(t, value);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_zeros_like(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_zeros_like");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_zeros_like(t);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_ones_like(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_ones_like");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_ones_like(t);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_empty_like(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_empty_like");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_empty_like(t);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_rand_like(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_rand_like");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_rand_like(t);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_randn_like(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_randn_like");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_randn_like(t);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_rand(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape) {
  ApiCall call;
  api_begin(&call, "poly_rand");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_rand(ctx, dtype, ndim, shape);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_randn(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape) {
  ApiCall call;
  api_begin(&call, "poly_randn");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_randn(ctx, dtype, ndim, shape);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_randint(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, int64_t low, int64_t high) {
  ApiCall call;
  api_begin(&call, "poly_randint");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_randint(ctx, dtype, ndim, shape, low, high);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_uniform(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double low, double high) {
  ApiCall call;
  api_begin(&call, "poly_uniform");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_uniform(ctx, dtype, ndim, shape, low, high);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_normal(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double mean, double std) {
  ApiCall call;
  api_begin(&call, "poly_normal");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_normal(ctx, dtype, ndim, shape, mean, std);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_randperm(PolyContext *ctx, int64_t n) {
  ApiCall call;
  api_begin(&call, "poly_randperm");
  api_context(&call, ctx);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_randperm(ctx, n);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_scaled_uniform(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape) {
  ApiCall call;
  api_begin(&call, "poly_scaled_uniform");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_scaled_uniform(ctx, dtype, ndim, shape);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_glorot_uniform(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape) {
  ApiCall call;
  api_begin(&call, "poly_glorot_uniform");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_glorot_uniform(ctx, dtype, ndim, shape);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_glorot_normal(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape) {
  ApiCall call;
  api_begin(&call, "poly_glorot_normal");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_glorot_normal(ctx, dtype, ndim, shape);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_kaiming_uniform(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double a) {
  ApiCall call;
  api_begin(&call, "poly_kaiming_uniform");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_kaiming_uniform(ctx, dtype, ndim, shape, a);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_kaiming_normal(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double a) {
  ApiCall call;
  api_begin(&call, "poly_kaiming_normal");
  api_context(&call, ctx);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_kaiming_normal(ctx, dtype, ndim, shape, a);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_multinomial(PolyTensor *weights, int64_t n, bool replacement) {
  ApiCall call;
  api_begin(&call, "poly_multinomial");
  api_handle(&call, weights, HANDLE_TENSOR, "weights", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_multinomial(weights, n, replacement);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_binary(PolyBinaryOp op, PolyTensor *a, PolyTensor *b) {
  ApiCall call;
  api_begin(&call, "poly_binary");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_handle(&call, b, HANDLE_TENSOR, "b", false);
  api_enum(&call, op, POLY_BINARY_COUNT, "op", "an operation");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_binary(op, a, b);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_binary_weak(PolyBinaryOp op, PolyTensor *a, PolyTensor *b) {
  ApiCall call;
  api_begin(&call, "poly_binary_weak");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_handle(&call, b, HANDLE_TENSOR, "b", false);
  api_enum(&call, op, POLY_BINARY_COUNT, "op", "an operation");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_binary_weak(op, a, b);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_binary_scalar(PolyBinaryOp op, PolyTensor *a, char kind, int64_t i, double f, bool reversed) {
  ApiCall call;
  api_begin(&call, "poly_binary_scalar");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_enum(&call, op, POLY_BINARY_COUNT, "op", "an operation");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_binary_scalar(op, a, kind, i, f, reversed);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_add(PolyTensor *a, PolyTensor *b) {
  ApiCall call;
  api_begin(&call, "poly_add");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_handle(&call, b, HANDLE_TENSOR, "b", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_add(a, b);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_sub(PolyTensor *a, PolyTensor *b) {
  ApiCall call;
  api_begin(&call, "poly_sub");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_handle(&call, b, HANDLE_TENSOR, "b", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_sub(a, b);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_mul(PolyTensor *a, PolyTensor *b) {
  ApiCall call;
  api_begin(&call, "poly_mul");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_handle(&call, b, HANDLE_TENSOR, "b", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_mul(a, b);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_div(PolyTensor *a, PolyTensor *b) {
  ApiCall call;
  api_begin(&call, "poly_div");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_handle(&call, b, HANDLE_TENSOR, "b", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_div(a, b);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_pow(PolyTensor *a, PolyTensor *b) {
  ApiCall call;
  api_begin(&call, "poly_pow");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_handle(&call, b, HANDLE_TENSOR, "b", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_pow(a, b);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_maximum(PolyTensor *a, PolyTensor *b) {
  ApiCall call;
  api_begin(&call, "poly_maximum");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_handle(&call, b, HANDLE_TENSOR, "b", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_maximum(a, b);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_minimum(PolyTensor *a, PolyTensor *b) {
  ApiCall call;
  api_begin(&call, "poly_minimum");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_handle(&call, b, HANDLE_TENSOR, "b", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_minimum(a, b);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_lt(PolyTensor *a, PolyTensor *b) {
  ApiCall call;
  api_begin(&call, "poly_lt");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_handle(&call, b, HANDLE_TENSOR, "b", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_lt(a, b);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_eq(PolyTensor *a, PolyTensor *b) {
  ApiCall call;
  api_begin(&call, "poly_eq");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_handle(&call, b, HANDLE_TENSOR, "b", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_eq(a, b);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_add_scalar(PolyTensor *a, double value) {
  ApiCall call;
  api_begin(&call, "poly_add_scalar");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_add_scalar(a, value);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_mul_scalar(PolyTensor *a, double value) {
  ApiCall call;
  api_begin(&call, "poly_mul_scalar");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_mul_scalar(a, value);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_where(PolyTensor *cond, PolyTensor *a, PolyTensor *b) {
  ApiCall call;
  api_begin(&call, "poly_where");
  api_handle(&call, cond, HANDLE_TENSOR, "cond", false);
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_handle(&call, b, HANDLE_TENSOR, "b", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_where(cond, a, b);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_clamp(PolyTensor *x, double low, double high) {
  ApiCall call;
  api_begin(&call, "poly_clamp");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_clamp(x, low, high);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_logaddexp(PolyTensor *a, PolyTensor *b) {
  ApiCall call;
  api_begin(&call, "poly_logaddexp");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_handle(&call, b, HANDLE_TENSOR, "b", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_logaddexp(a, b);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_lerp(PolyTensor *a, PolyTensor *b, PolyTensor *weight) {
  ApiCall call;
  api_begin(&call, "poly_lerp");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_handle(&call, b, HANDLE_TENSOR, "b", false);
  api_handle(&call, weight, HANDLE_TENSOR, "weight", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_lerp(a, b, weight);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_isclose(PolyTensor *a, PolyTensor *b, double rtol, double atol, bool equal_nan) {
  ApiCall call;
  api_begin(&call, "poly_isclose");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_handle(&call, b, HANDLE_TENSOR, "b", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_isclose(a, b, rtol, atol, equal_nan);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_unary(PolyUnaryOp op, PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_unary");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_enum(&call, op, POLY_UNARY_COUNT, "op", "an operation");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_unary(op, x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_neg(PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_neg");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_neg(x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_abs(PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_abs");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_abs(x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_square(PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_square");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_square(x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_sqrt(PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_sqrt");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_sqrt(x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_exp(PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_exp");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_exp(x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_log(PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_log");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_log(x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_tanh(PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_tanh");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_tanh(x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_sigmoid(PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_sigmoid");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_sigmoid(x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_relu(PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_relu");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_relu(x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_gelu(PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_gelu");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_gelu(x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_leaky_relu(PolyTensor *x, double slope) {
  ApiCall call;
  api_begin(&call, "poly_leaky_relu");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_leaky_relu(x, slope);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_elu(PolyTensor *x, double alpha) {
  ApiCall call;
  api_begin(&call, "poly_elu");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_elu(x, alpha);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_celu(PolyTensor *x, double alpha) {
  ApiCall call;
  api_begin(&call, "poly_celu");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_celu(x, alpha);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_hardtanh(PolyTensor *x, double low, double high) {
  ApiCall call;
  api_begin(&call, "poly_hardtanh");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_hardtanh(x, low, high);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_softplus(PolyTensor *x, double beta) {
  ApiCall call;
  api_begin(&call, "poly_softplus");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_softplus(x, beta);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_polygamma(int n, PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_polygamma");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, n, "n");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_polygamma(n, x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_cast(PolyTensor *x, PolyDType dtype) {
  ApiCall call;
  api_begin(&call, "poly_cast");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_cast(x, dtype);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_bitcast(PolyTensor *x, PolyDType dtype) {
  ApiCall call;
  api_begin(&call, "poly_bitcast");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_bitcast(x, dtype);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_keccak(PolyTensor *x, int rate, int suffix, int nout) {
  ApiCall call;
  api_begin(&call, "poly_keccak");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_keccak(x, rate, suffix, nout);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_sum(PolyTensor *x, int naxis, const int *axes, bool keepdim) {
  ApiCall call;
  api_begin(&call, "poly_sum");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, naxis, "naxis");
  api_array(&call, axes, naxis != 0, "axes");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_sum(x, naxis, axes, keepdim);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_sum_dtype(PolyTensor *x, int naxis, const int *axes, bool keepdim, PolyDType dtype) {
  ApiCall call;
  api_begin(&call, "poly_sum_dtype");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, naxis, "naxis");
  api_array(&call, axes, naxis != 0, "axes");
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_sum_dtype(x, naxis, axes, keepdim, dtype);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_prod(PolyTensor *x, int naxis, const int *axes, bool keepdim) {
  ApiCall call;
  api_begin(&call, "poly_prod");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, naxis, "naxis");
  api_array(&call, axes, naxis != 0, "axes");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_prod(x, naxis, axes, keepdim);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_max(PolyTensor *x, int naxis, const int *axes, bool keepdim) {
  ApiCall call;
  api_begin(&call, "poly_max");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, naxis, "naxis");
  api_array(&call, axes, naxis != 0, "axes");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_max(x, naxis, axes, keepdim);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_min(PolyTensor *x, int naxis, const int *axes, bool keepdim) {
  ApiCall call;
  api_begin(&call, "poly_min");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, naxis, "naxis");
  api_array(&call, axes, naxis != 0, "axes");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_min(x, naxis, axes, keepdim);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_extremum_first(PolyTensor *x, int naxis, const int *axes, bool keepdim, bool smallest) {
  ApiCall call;
  api_begin(&call, "poly_extremum_first");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, naxis, "naxis");
  api_array(&call, axes, naxis != 0, "axes");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_extremum_first(x, naxis, axes, keepdim, smallest);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_mean(PolyTensor *x, int naxis, const int *axes, bool keepdim) {
  ApiCall call;
  api_begin(&call, "poly_mean");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, naxis, "naxis");
  api_array(&call, axes, naxis != 0, "axes");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_mean(x, naxis, axes, keepdim);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_var(PolyTensor *x, int naxis, const int *axes, bool keepdim, double correction) {
  ApiCall call;
  api_begin(&call, "poly_var");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, naxis, "naxis");
  api_array(&call, axes, naxis != 0, "axes");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_var(x, naxis, axes, keepdim, correction);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_std(PolyTensor *x, int naxis, const int *axes, bool keepdim, double correction) {
  ApiCall call;
  api_begin(&call, "poly_std");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, naxis, "naxis");
  api_array(&call, axes, naxis != 0, "axes");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_std(x, naxis, axes, keepdim, correction);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_norm(PolyTensor *x, int naxis, const int *axes, bool keepdim, double p) {
  ApiCall call;
  api_begin(&call, "poly_norm");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, naxis, "naxis");
  api_array(&call, axes, naxis != 0, "axes");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_norm(x, naxis, axes, keepdim, p);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_any(PolyTensor *x, int naxis, const int *axes, bool keepdim) {
  ApiCall call;
  api_begin(&call, "poly_any");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, naxis, "naxis");
  api_array(&call, axes, naxis != 0, "axes");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_any(x, naxis, axes, keepdim);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_all(PolyTensor *x, int naxis, const int *axes, bool keepdim) {
  ApiCall call;
  api_begin(&call, "poly_all");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, naxis, "naxis");
  api_array(&call, axes, naxis != 0, "axes");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_all(x, naxis, axes, keepdim);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_logsumexp(PolyTensor *x, int naxis, const int *axes, bool keepdim) {
  ApiCall call;
  api_begin(&call, "poly_logsumexp");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, naxis, "naxis");
  api_array(&call, axes, naxis != 0, "axes");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_logsumexp(x, naxis, axes, keepdim);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_argmax(PolyTensor *x, int axis, bool keepdim) {
  ApiCall call;
  api_begin(&call, "poly_argmax");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_argmax(x, axis, keepdim);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_argmin(PolyTensor *x, int axis, bool keepdim) {
  ApiCall call;
  api_begin(&call, "poly_argmin");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_argmin(x, axis, keepdim);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_softmax(PolyTensor *x, int axis) {
  ApiCall call;
  api_begin(&call, "poly_softmax");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_softmax(x, axis);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_log_softmax(PolyTensor *x, int axis) {
  ApiCall call;
  api_begin(&call, "poly_log_softmax");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_log_softmax(x, axis);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_cumsum(PolyTensor *x, int axis) {
  ApiCall call;
  api_begin(&call, "poly_cumsum");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_cumsum(x, axis);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_cumprod(PolyTensor *x, int axis) {
  ApiCall call;
  api_begin(&call, "poly_cumprod");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_cumprod(x, axis);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_cummax(PolyTensor *x, int axis) {
  ApiCall call;
  api_begin(&call, "poly_cummax");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_cummax(x, axis);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_cummin(PolyTensor *x, int axis) {
  ApiCall call;
  api_begin(&call, "poly_cummin");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_cummin(x, axis);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_logcumsumexp(PolyTensor *x, int axis) {
  ApiCall call;
  api_begin(&call, "poly_logcumsumexp");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_logcumsumexp(x, axis);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_reshape(PolyTensor *x, int ndim, const int64_t *shape) {
  ApiCall call;
  api_begin(&call, "poly_reshape");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_reshape(x, ndim, shape);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_permute(PolyTensor *x, int ndim, const int *order) {
  ApiCall call;
  api_begin(&call, "poly_permute");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, ndim, "ndim");
  api_array(&call, order, ndim != 0, "order");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_permute(x, ndim, order);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_transpose(PolyTensor *x, int a, int b) {
  ApiCall call;
  api_begin(&call, "poly_transpose");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_transpose(x, a, b);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_expand(PolyTensor *x, int ndim, const int64_t *shape) {
  ApiCall call;
  api_begin(&call, "poly_expand");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, ndim, "ndim");
  api_array(&call, shape, ndim != 0, "shape");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_expand(x, ndim, shape);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_shrink(PolyTensor *x, const int64_t *ranges) {
  ApiCall call;
  api_begin(&call, "poly_shrink");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_array(&call, ranges, true, "ranges");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_shrink(x, ranges);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_pad(PolyTensor *x, const int64_t *padding, PolyPadMode mode, double value) {
  ApiCall call;
  api_begin(&call, "poly_pad");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_array(&call, padding, true, "padding");
  api_enum(&call, mode, POLY_PAD_CIRCULAR + 1, "mode", "an operation");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_pad(x, padding, mode, value);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_flip(PolyTensor *x, int naxis, const int *axes) {
  ApiCall call;
  api_begin(&call, "poly_flip");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, naxis, "naxis");
  api_array(&call, axes, naxis != 0, "axes");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_flip(x, naxis, axes);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_squeeze(PolyTensor *x, int axis) {
  ApiCall call;
  api_begin(&call, "poly_squeeze");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_squeeze(x, axis);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_unsqueeze(PolyTensor *x, int axis) {
  ApiCall call;
  api_begin(&call, "poly_unsqueeze");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_unsqueeze(x, axis);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_flatten(PolyTensor *x, int first, int last) {
  ApiCall call;
  api_begin(&call, "poly_flatten");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_flatten(x, first, last);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_unflatten(PolyTensor *x, int axis, int n, const int64_t *sizes) {
  ApiCall call;
  api_begin(&call, "poly_unflatten");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, n, "n");
  api_array(&call, sizes, n != 0, "sizes");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_unflatten(x, axis, n, sizes);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_repeat(PolyTensor *x, int n, const int64_t *repeats) {
  ApiCall call;
  api_begin(&call, "poly_repeat");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, n, "n");
  api_array(&call, repeats, n != 0, "repeats");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_repeat(x, n, repeats);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_repeat_interleave(PolyTensor *x, int64_t repeats, int axis) {
  ApiCall call;
  api_begin(&call, "poly_repeat_interleave");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_repeat_interleave(x, repeats, axis);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_roll(PolyTensor *x, int naxis, const int64_t *shifts, const int *axes) {
  ApiCall call;
  api_begin(&call, "poly_roll");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, naxis, "naxis");
  api_array(&call, shifts, naxis != 0, "shifts");
  api_array(&call, axes, naxis != 0, "axes");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_roll(x, naxis, shifts, axes);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_cat(PolyTensor *const *t, int n, int axis) {
  ApiCall call;
  api_begin(&call, "poly_cat");
  api_handles(&call, t, n, HANDLE_TENSOR, "t", false);
  api_count(&call, n, "n");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_cat(t, n, axis);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_stack(PolyTensor *const *t, int n, int axis) {
  ApiCall call;
  api_begin(&call, "poly_stack");
  api_handles(&call, t, n, HANDLE_TENSOR, "t", false);
  api_count(&call, n, "n");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_stack(t, n, axis);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyStatus poly_split(PolyTensor *x, int n, const int64_t *sizes, int axis, PolyTensor **out) {
  ApiCall call;
  api_begin(&call, "poly_split");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, n, "n");
  api_array(&call, sizes, n != 0, "sizes");
  api_array(&call, out, n != 0, "out");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_split(x, n, sizes, axis, out);
  api_leave(&call, result);
  return result;
}

int poly_chunk(PolyTensor *x, int n, int axis, PolyTensor **out) {
  ApiCall call;
  api_begin(&call, "poly_chunk");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, n, "n");
  api_array(&call, out, n != 0, "out");
  if (!api_enter(&call)) return -1;
  int result = core_chunk(x, n, axis, out);
  api_leave(&call, result == -1 ? POLY_ERROR_VALUE : POLY_OK);
  return result;
}

PolyTensor *poly_tril(PolyTensor *x, int diagonal) {
  ApiCall call;
  api_begin(&call, "poly_tril");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_tril(x, diagonal);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_triu(PolyTensor *x, int diagonal) {
  ApiCall call;
  api_begin(&call, "poly_triu");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_triu(x, diagonal);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_diag(PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_diag");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_diag(x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_diagonal(PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_diagonal");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_diagonal(x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_unfold(PolyTensor *x, int axis, int64_t size, int64_t step) {
  ApiCall call;
  api_begin(&call, "poly_unfold");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_unfold(x, axis, size, step);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyStatus poly_meshgrid(PolyTensor *const *t, int n, char indexing, PolyTensor **out) {
  ApiCall call;
  api_begin(&call, "poly_meshgrid");
  api_handles(&call, t, n, HANDLE_TENSOR, "t", false);
  api_count(&call, n, "n");
  api_array(&call, out, n != 0, "out");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_meshgrid(t, n, indexing, out);
  api_leave(&call, result);
  return result;
}

PolyTensor *poly_one_hot(PolyTensor *x, int64_t classes) {
  ApiCall call;
  api_begin(&call, "poly_one_hot");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_one_hot(x, classes);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_getitem(PolyTensor *x, int n, const PolyIndex *index) {
  ApiCall call;
  api_begin(&call, "poly_getitem");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_index(&call, index, n, "index");
  api_count(&call, n, "n");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_getitem(x, n, index);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyStatus poly_setitem(PolyTensor *x, int n, const PolyIndex *index, PolyTensor *value) {
  ApiCall call;
  api_begin(&call, "poly_setitem");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_index(&call, index, n, "index");
  api_handle(&call, value, HANDLE_TENSOR, "value", false);
  api_count(&call, n, "n");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_setitem(x, n, index, value);
  api_leave(&call, result);
  return result;
}

PolyTensor *poly_gather(PolyTensor *x, int axis, PolyTensor *index) {
  ApiCall call;
  api_begin(&call, "poly_gather");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, index, HANDLE_TENSOR, "index", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_gather(x, axis, index);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_index_select(PolyTensor *x, int axis, PolyTensor *index) {
  ApiCall call;
  api_begin(&call, "poly_index_select");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, index, HANDLE_TENSOR, "index", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_index_select(x, axis, index);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_scatter(PolyTensor *x, int axis, PolyTensor *index, PolyTensor *src) {
  ApiCall call;
  api_begin(&call, "poly_scatter");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, index, HANDLE_TENSOR, "index", false);
  api_handle(&call, src, HANDLE_TENSOR, "src", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_scatter(x, axis, index, src);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_scatter_reduce(PolyTensor *x, int axis, PolyTensor *index, PolyTensor *src, const char *reduce, bool include_self) {
  ApiCall call;
  api_begin(&call, "poly_scatter_reduce");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, index, HANDLE_TENSOR, "index", false);
  api_handle(&call, src, HANDLE_TENSOR, "src", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_scatter_reduce(x, axis, index, src, reduce, include_self);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_index_add(PolyTensor *x, int axis, PolyTensor *index, PolyTensor *src) {
  ApiCall call;
  api_begin(&call, "poly_index_add");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, index, HANDLE_TENSOR, "index", false);
  api_handle(&call, src, HANDLE_TENSOR, "src", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_index_add(x, axis, index, src);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyStatus poly_sort(PolyTensor *x, int axis, bool descending, PolyTensor **values, PolyTensor **indices) {
  ApiCall call;
  api_begin(&call, "poly_sort");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_sort(x, axis, descending, values, indices);
  api_leave(&call, result);
  return result;
}

PolyTensor *poly_argsort(PolyTensor *x, int axis, bool descending) {
  ApiCall call;
  api_begin(&call, "poly_argsort");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_argsort(x, axis, descending);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyStatus poly_topk(PolyTensor *x, int64_t k, int axis, bool largest, bool sorted, PolyTensor **values, PolyTensor **indices) {
  ApiCall call;
  api_begin(&call, "poly_topk");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_topk(x, k, axis, largest, sorted, values, indices);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_kthvalue(PolyTensor *x, int64_t k, int axis, PolyTensor **values, PolyTensor **indices) {
  ApiCall call;
  api_begin(&call, "poly_kthvalue");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_kthvalue(x, k, axis, values, indices);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_median(PolyTensor *x, int axis, bool numbers, PolyTensor **values, PolyTensor **indices) {
  ApiCall call;
  api_begin(&call, "poly_median");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_median(x, axis, numbers, values, indices);
  api_leave(&call, result);
  return result;
}

PolyTensor *poly_searchsorted(PolyTensor *sorted, PolyTensor *values, bool right) {
  ApiCall call;
  api_begin(&call, "poly_searchsorted");
  api_handle(&call, sorted, HANDLE_TENSOR, "sorted", false);
  api_handle(&call, values, HANDLE_TENSOR, "values", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_searchsorted(sorted, values, right);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_bincount(PolyTensor *x, int64_t size) {
  ApiCall call;
  api_begin(&call, "poly_bincount");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_bincount(x, size);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_masked_select(PolyTensor *x, PolyTensor *mask) {
  ApiCall call;
  api_begin(&call, "poly_masked_select");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, mask, HANDLE_TENSOR, "mask", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_masked_select(x, mask);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_nonzero(PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_nonzero");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_nonzero(x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_masked_fill(PolyTensor *x, PolyTensor *mask, double value) {
  ApiCall call;
  api_begin(&call, "poly_masked_fill");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, mask, HANDLE_TENSOR, "mask", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_masked_fill(x, mask, value);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_contiguous(PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_contiguous");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_contiguous(x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_clone(PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_clone");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_clone(x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_detach(PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_detach");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_detach(x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyStatus poly_assign(PolyTensor *t, PolyTensor *value) {
  ApiCall call;
  api_begin(&call, "poly_assign");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  api_handle(&call, value, HANDLE_TENSOR, "value", false);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_assign(t, value);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_give(PolyTensor *t, PolyTensor *value) {
  ApiCall call;
  api_begin(&call, "poly_give");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  api_handle(&call, value, HANDLE_TENSOR, "value", false);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_give(t, value);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_replace(PolyTensor *t, PolyTensor *other) {
  ApiCall call;
  api_begin(&call, "poly_replace");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  api_handle(&call, other, HANDLE_TENSOR, "other", false);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_replace(t, other);
  api_leave(&call, result);
  return result;
}

PolyTensor *poly_matmul(PolyTensor *a, PolyTensor *b) {
  ApiCall call;
  api_begin(&call, "poly_matmul");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_handle(&call, b, HANDLE_TENSOR, "b", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_matmul(a, b);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_einsum(PolyContext *ctx, const char *formula, PolyTensor *const *t, int n) {
  ApiCall call;
  api_begin(&call, "poly_einsum");
  api_context(&call, ctx);
  api_handles(&call, t, n, HANDLE_TENSOR, "t", false);
  api_array(&call, formula, true, "formula");
  api_count(&call, n, "n");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_einsum(ctx, formula, t, n);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_solve(PolyTensor *a, PolyTensor *b) {
  ApiCall call;
  api_begin(&call, "poly_solve");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_handle(&call, b, HANDLE_TENSOR, "b", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_solve(a, b);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_solve_triangular(PolyTensor *a, PolyTensor *b, bool upper, bool unit) {
  ApiCall call;
  api_begin(&call, "poly_solve_triangular");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_handle(&call, b, HANDLE_TENSOR, "b", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_solve_triangular(a, b, upper, unit);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_cholesky(PolyTensor *a) {
  ApiCall call;
  api_begin(&call, "poly_cholesky");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_cholesky(a);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyStatus poly_slogdet(PolyTensor *a, PolyTensor **det, PolyTensor **sign, PolyTensor **size) {
  ApiCall call;
  api_begin(&call, "poly_slogdet");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_array(&call, det, true, "det");
  api_array(&call, sign, true, "sign");
  api_array(&call, size, true, "size");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_slogdet(a, det, sign, size);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_lu(PolyTensor *a, PolyTensor **factors, PolyTensor **exchanged) {
  ApiCall call;
  api_begin(&call, "poly_lu");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_array(&call, factors, true, "factors");
  api_array(&call, exchanged, true, "exchanged");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_lu(a, factors, exchanged);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_eigh(PolyTensor *a, PolyTensor **values, PolyTensor **vectors) {
  ApiCall call;
  api_begin(&call, "poly_eigh");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_array(&call, values, true, "values");
  api_array(&call, vectors, true, "vectors");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_eigh(a, values, vectors);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_qr(PolyTensor *a, PolyTensor **q, PolyTensor **r) {
  ApiCall call;
  api_begin(&call, "poly_qr");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_array(&call, q, true, "q");
  api_array(&call, r, true, "r");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_qr(a, q, r);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_svd(PolyTensor *a, PolyTensor **u, PolyTensor **values, PolyTensor **vt) {
  ApiCall call;
  api_begin(&call, "poly_svd");
  api_handle(&call, a, HANDLE_TENSOR, "a", false);
  api_array(&call, u, true, "u");
  api_array(&call, values, true, "values");
  api_array(&call, vt, true, "vt");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_svd(a, u, values, vt);
  api_leave(&call, result);
  return result;
}

PolyTensor *poly_linear(PolyTensor *x, PolyTensor *weight, PolyTensor *bias) {
  ApiCall call;
  api_begin(&call, "poly_linear");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, weight, HANDLE_TENSOR, "weight", false);
  api_handle(&call, bias, HANDLE_TENSOR, "bias", true);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_linear(x, weight, bias);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_conv(PolyTensor *x, PolyTensor *weight, PolyTensor *bias, int groups, const int64_t *stride, const int64_t *dilation, const int64_t *padding) {
  ApiCall call;
  api_begin(&call, "poly_conv");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, weight, HANDLE_TENSOR, "weight", false);
  api_handle(&call, bias, HANDLE_TENSOR, "bias", true);
  api_array(&call, stride, true, "stride");
  api_array(&call, dilation, true, "dilation");
  api_array(&call, padding, true, "padding");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_conv(x, weight, bias, groups, stride, dilation, padding);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_conv_transpose(PolyTensor *x, PolyTensor *weight, PolyTensor *bias, int groups, const int64_t *stride, const int64_t *dilation, const int64_t *padding, const int64_t *output_padding) {
  ApiCall call;
  api_begin(&call, "poly_conv_transpose");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, weight, HANDLE_TENSOR, "weight", false);
  api_handle(&call, bias, HANDLE_TENSOR, "bias", true);
  api_array(&call, stride, true, "stride");
  api_array(&call, dilation, true, "dilation");
  api_array(&call, padding, true, "padding");
  api_array(&call, output_padding, true, "output_padding");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_conv_transpose(x, weight, bias, groups, stride, dilation, padding, output_padding);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_max_pool(PolyTensor *x, int nspatial, const int64_t *kernel, const int64_t *stride, const int64_t *dilation, const int64_t *padding, bool ceil_mode) {
  ApiCall call;
  api_begin(&call, "poly_max_pool");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, nspatial, "nspatial");
  api_array(&call, kernel, nspatial != 0, "kernel");
  api_array(&call, stride, nspatial != 0, "stride");
  api_array(&call, dilation, nspatial != 0, "dilation");
  api_array(&call, padding, nspatial != 0, "padding");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_max_pool(x, nspatial, kernel, stride, dilation, padding, ceil_mode);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_avg_pool(PolyTensor *x, int nspatial, const int64_t *kernel, const int64_t *stride, const int64_t *dilation, const int64_t *padding, bool ceil_mode, bool count_include_pad) {
  ApiCall call;
  api_begin(&call, "poly_avg_pool");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_count(&call, nspatial, "nspatial");
  api_array(&call, kernel, nspatial != 0, "kernel");
  api_array(&call, stride, nspatial != 0, "stride");
  api_array(&call, dilation, nspatial != 0, "dilation");
  api_array(&call, padding, nspatial != 0, "padding");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_avg_pool(x, nspatial, kernel, stride, dilation, padding, ceil_mode, count_include_pad);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_attention(PolyTensor *q, PolyTensor *k, PolyTensor *v, PolyTensor *mask, bool causal, double dropout) {
  ApiCall call;
  api_begin(&call, "poly_attention");
  api_handle(&call, q, HANDLE_TENSOR, "q", false);
  api_handle(&call, k, HANDLE_TENSOR, "k", false);
  api_handle(&call, v, HANDLE_TENSOR, "v", false);
  api_handle(&call, mask, HANDLE_TENSOR, "mask", true);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_attention(q, k, v, mask, causal, dropout);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_layernorm(PolyTensor *x, int naxis, double eps) {
  ApiCall call;
  api_begin(&call, "poly_layernorm");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_layernorm(x, naxis, eps);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_rmsnorm(PolyTensor *x, double eps) {
  ApiCall call;
  api_begin(&call, "poly_rmsnorm");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_rmsnorm(x, eps);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_groupnorm(PolyTensor *x, int groups, double eps) {
  ApiCall call;
  api_begin(&call, "poly_groupnorm");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_groupnorm(x, groups, eps);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_batchnorm(PolyTensor *x, PolyTensor *weight, PolyTensor *bias, PolyTensor *mean, PolyTensor *invstd, int axis) {
  ApiCall call;
  api_begin(&call, "poly_batchnorm");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, weight, HANDLE_TENSOR, "weight", true);
  api_handle(&call, bias, HANDLE_TENSOR, "bias", true);
  api_handle(&call, mean, HANDLE_TENSOR, "mean", false);
  api_handle(&call, invstd, HANDLE_TENSOR, "invstd", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_batchnorm(x, weight, bias, mean, invstd, axis);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_batchnorm_train(PolyTensor *x, PolyTensor *weight, PolyTensor *bias, PolyTensor *mean, PolyTensor *var, PolyTensor *count, double momentum, double eps, int axis) {
  ApiCall call;
  api_begin(&call, "poly_batchnorm_train");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, weight, HANDLE_TENSOR, "weight", true);
  api_handle(&call, bias, HANDLE_TENSOR, "bias", true);
  api_handle(&call, mean, HANDLE_TENSOR, "mean", true);
  api_handle(&call, var, HANDLE_TENSOR, "var", true);
  api_handle(&call, count, HANDLE_TENSOR, "count", true);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_batchnorm_train(x, weight, bias, mean, var, count, momentum, eps, axis);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_dropout(PolyTensor *x, double p) {
  ApiCall call;
  api_begin(&call, "poly_dropout");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_dropout(x, p);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_cross_entropy(PolyTensor *x, PolyTensor *target, double label_smoothing, int64_t ignore_index, char reduction) {
  ApiCall call;
  api_begin(&call, "poly_cross_entropy");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, target, HANDLE_TENSOR, "target", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_cross_entropy(x, target, label_smoothing, ignore_index, reduction);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_nll_loss(PolyTensor *x, PolyTensor *target, PolyTensor *weight, int64_t ignore_index, char reduction) {
  ApiCall call;
  api_begin(&call, "poly_nll_loss");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, target, HANDLE_TENSOR, "target", false);
  api_handle(&call, weight, HANDLE_TENSOR, "weight", true);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_nll_loss(x, target, weight, ignore_index, reduction);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_binary_cross_entropy(PolyTensor *x, PolyTensor *target, char reduction) {
  ApiCall call;
  api_begin(&call, "poly_binary_cross_entropy");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, target, HANDLE_TENSOR, "target", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_binary_cross_entropy(x, target, reduction);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_binary_cross_entropy_logits(PolyTensor *x, PolyTensor *target, PolyTensor *pos_weight, char reduction) {
  ApiCall call;
  api_begin(&call, "poly_binary_cross_entropy_logits");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, target, HANDLE_TENSOR, "target", false);
  api_handle(&call, pos_weight, HANDLE_TENSOR, "pos_weight", true);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_binary_cross_entropy_logits(x, target, pos_weight, reduction);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_mse_loss(PolyTensor *x, PolyTensor *target, char reduction) {
  ApiCall call;
  api_begin(&call, "poly_mse_loss");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, target, HANDLE_TENSOR, "target", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_mse_loss(x, target, reduction);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_l1_loss(PolyTensor *x, PolyTensor *target, char reduction) {
  ApiCall call;
  api_begin(&call, "poly_l1_loss");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, target, HANDLE_TENSOR, "target", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_l1_loss(x, target, reduction);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_huber_loss(PolyTensor *x, PolyTensor *target, double delta, char reduction) {
  ApiCall call;
  api_begin(&call, "poly_huber_loss");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, target, HANDLE_TENSOR, "target", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_huber_loss(x, target, delta, reduction);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyGraph *poly_graph_from_coo(PolyContext *ctx, const void *src, const void *dst, PolyDType dtype, int64_t num_edges, int64_t num_src, int64_t num_dst) {
  ApiCall call;
  api_begin(&call, "poly_graph_from_coo");
  api_context(&call, ctx);
  api_array(&call, src, num_edges != 0, "src");
  api_array(&call, dst, num_edges != 0, "dst");
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  if (!api_enter(&call)) return NULL;
  PolyGraph *result = core_graph_from_coo(ctx, src, dst, dtype, num_edges, num_src, num_dst);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyGraph *poly_graph_from_csr(PolyContext *ctx, const void *rowptr, const void *col, PolyDType dtype, int64_t num_dst, int64_t num_src) {
  ApiCall call;
  api_begin(&call, "poly_graph_from_csr");
  api_context(&call, ctx);
  api_array(&call, rowptr, true, "rowptr");
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  if (!api_enter(&call)) return NULL;
  PolyGraph *result = core_graph_from_csr(ctx, rowptr, col, dtype, num_dst, num_src);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyGraph *poly_graph_of(PolyTensor *edge_index, int64_t num_src, int64_t num_dst) {
  ApiCall call;
  api_begin(&call, "poly_graph_of");
  api_handle(&call, edge_index, HANDLE_TENSOR, "edge_index", false);
  if (!api_enter(&call)) return NULL;
  PolyGraph *result = core_graph_of(edge_index, num_src, num_dst);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyGraph *poly_graph_retain(PolyGraph *g) {
  ApiCall call;
  api_begin(&call, "poly_graph_retain");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return NULL;
  PolyGraph *result = core_graph_retain(g);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

void poly_graph_free(PolyGraph *g) {
  ApiCall call;
  api_begin(&call, "poly_graph_free");
  api_handle(&call, g, HANDLE_GRAPH, "g", true);
  if (!g) return;
  if (!api_enter(&call)) return;
  core_graph_free(g);
  api_leave(&call, POLY_OK);
}

int64_t poly_graph_num_edges(const PolyGraph *g) {
  ApiCall call;
  api_begin(&call, "poly_graph_num_edges");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return -1;
  int64_t result = core_graph_num_edges(g);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_graph_num_src(const PolyGraph *g) {
  ApiCall call;
  api_begin(&call, "poly_graph_num_src");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return -1;
  int64_t result = core_graph_num_src(g);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_graph_num_dst(const PolyGraph *g) {
  ApiCall call;
  api_begin(&call, "poly_graph_num_dst");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return -1;
  int64_t result = core_graph_num_dst(g);
  api_leave(&call, POLY_OK);
  return result;
}

PolyGraph *poly_graph_reversed(PolyGraph *g) {
  ApiCall call;
  api_begin(&call, "poly_graph_reversed");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return NULL;
  PolyGraph *result = core_graph_reversed(g);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyGraph *poly_graph_with_self_loops(PolyGraph *g, bool only_missing) {
  ApiCall call;
  api_begin(&call, "poly_graph_with_self_loops");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return NULL;
  PolyGraph *result = core_graph_with_self_loops(g, only_missing);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyGraph *poly_graph_with_own_loops(PolyGraph *g) {
  ApiCall call;
  api_begin(&call, "poly_graph_with_own_loops");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return NULL;
  PolyGraph *result = core_graph_with_own_loops(g);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyGraph *poly_graph_without_self_loops(PolyGraph *g) {
  ApiCall call;
  api_begin(&call, "poly_graph_without_self_loops");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return NULL;
  PolyGraph *result = core_graph_without_self_loops(g);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyGraph *poly_graph_undirected(PolyGraph *g) {
  ApiCall call;
  api_begin(&call, "poly_graph_undirected");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return NULL;
  PolyGraph *result = core_graph_undirected(g);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyGraph *poly_graph_coalesced(PolyGraph *g) {
  ApiCall call;
  api_begin(&call, "poly_graph_coalesced");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return NULL;
  PolyGraph *result = core_graph_coalesced(g);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_graph_origin(PolyGraph *g) {
  ApiCall call;
  api_begin(&call, "poly_graph_origin");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_graph_origin(g);
  api_leave(&call, POLY_OK);
  return result;
}

PolyTensor *poly_graph_src_index(PolyGraph *g) {
  ApiCall call;
  api_begin(&call, "poly_graph_src_index");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_graph_src_index(g);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_graph_dst_index(PolyGraph *g) {
  ApiCall call;
  api_begin(&call, "poly_graph_dst_index");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_graph_dst_index(g);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_graph_rowptr(PolyGraph *g, char side) {
  ApiCall call;
  api_begin(&call, "poly_graph_rowptr");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_graph_rowptr(g, side);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_graph_order(PolyGraph *g, char side) {
  ApiCall call;
  api_begin(&call, "poly_graph_order");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_graph_order(g, side);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_graph_other(PolyGraph *g, char side) {
  ApiCall call;
  api_begin(&call, "poly_graph_other");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_graph_other(g, side);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_graph_degree(PolyGraph *g, char side) {
  ApiCall call;
  api_begin(&call, "poly_graph_degree");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_graph_degree(g, side);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_graph_loops(PolyGraph *g) {
  ApiCall call;
  api_begin(&call, "poly_graph_loops");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_graph_loops(g);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_graph_norm(PolyGraph *g, char side, bool own_loops, PolyDType dtype) {
  ApiCall call;
  api_begin(&call, "poly_graph_norm");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_graph_norm(g, side, own_loops, dtype);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_graph_own(PolyGraph *g, PolyDType dtype) {
  ApiCall call;
  api_begin(&call, "poly_graph_own");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  api_enum(&call, dtype, POLY_DTYPE_COUNT, "dtype", "a dtype");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_graph_own(g, dtype);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_graph_smooth(PolyGraph *g, PolyTensor *x, char side, bool own_loops) {
  ApiCall call;
  api_begin(&call, "poly_graph_smooth");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_graph_smooth(g, x, side, own_loops);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

int poly_graph_arrays(PolyGraph *g, PolyGraph *like, PolyTensor **out, int max) {
  ApiCall call;
  api_begin(&call, "poly_graph_arrays");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  api_handle(&call, like, HANDLE_GRAPH, "like", false);
  api_count(&call, max, "max");
  api_array(&call, out, max != 0, "out");
  if (!api_enter(&call)) return -1;
  int result = core_graph_arrays(g, like, out, max);
  api_leave(&call, result == -1 ? POLY_ERROR_VALUE : POLY_OK);
  return result;
}

PolyTensor *poly_graph_src(PolyGraph *g, PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_graph_src");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_graph_src(g, x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_graph_dst(PolyGraph *g, PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_graph_dst");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_graph_dst(g, x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_graph_reduce(PolyGraph *g, PolyTensor *m, const char *op, char side) {
  ApiCall call;
  api_begin(&call, "poly_graph_reduce");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  api_handle(&call, m, HANDLE_TENSOR, "m", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_graph_reduce(g, m, op, side);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_graph_softmax(PolyGraph *g, PolyTensor *m, char side) {
  ApiCall call;
  api_begin(&call, "poly_graph_softmax");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  api_handle(&call, m, HANDLE_TENSOR, "m", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_graph_softmax(g, m, side);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyStatus poly_graph_ppr(PolyGraph *g, const int64_t *targets, int64_t num_targets, double alpha, double eps, PolyTensor **out) {
  ApiCall call;
  api_begin(&call, "poly_graph_ppr");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  api_array(&call, out, true, "out");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_graph_ppr(g, targets, num_targets, alpha, eps, out);
  api_leave(&call, result);
  return result;
}

PolySampler *poly_sampler_new(const PolyAllocator *allocator, int node_types, const int64_t *num_nodes) {
  ApiCall call;
  api_begin(&call, "poly_sampler_new");
  api_count(&call, node_types, "node_types");
  api_array(&call, num_nodes, node_types != 0, "num_nodes");
  if (!api_enter_free(&call)) return NULL;
  PolySampler *result = core_sampler_new(allocator, node_types, num_nodes);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

void poly_sampler_free(PolySampler *s) {
  ApiCall call;
  api_begin(&call, "poly_sampler_free");
  api_handle(&call, s, HANDLE_SAMPLER, "s", true);
  if (!s) return;
  if (!api_enter(&call)) return;
  core_sampler_free(s);
  api_leave(&call, POLY_OK);
}

PolyStatus poly_sampler_add(PolySampler *s, const PolyRelation *relation, int threads) {
  ApiCall call;
  api_begin(&call, "poly_sampler_add");
  api_handle(&call, s, HANDLE_SAMPLER, "s", false);
  api_array(&call, relation, true, "relation");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_sampler_add(s, relation, threads);
  api_leave(&call, result);
  return result;
}

int64_t poly_sampler_num_edges(const PolySampler *s, int relation) {
  ApiCall call;
  api_begin(&call, "poly_sampler_num_edges");
  api_handle(&call, s, HANDLE_SAMPLER, "s", false);
  if (!api_enter(&call)) return -1;
  int64_t result = core_sampler_num_edges(s, relation);
  api_leave(&call, result == -1 ? POLY_ERROR_VALUE : POLY_OK);
  return result;
}

PolyStatus poly_sampler_error(const PolySampler *s) {
  ApiCall call;
  api_begin(&call, "poly_sampler_error");
  api_handle(&call, s, HANDLE_SAMPLER, "s", false);
  if (!api_enter(&call)) return POLY_ERROR_VALUE;
  PolyStatus result = core_sampler_error(s);
  api_leave(&call, POLY_OK);
  return result;
}

const char *poly_sampler_error_text(const PolySampler *s) {
  ApiCall call;
  api_begin(&call, "poly_sampler_error_text");
  api_handle(&call, s, HANDLE_SAMPLER, "s", false);
  if (!api_enter(&call)) return "";
  const char *result = core_sampler_error_text(s);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolySample *poly_sample_new(const PolySampler *sampler) {
  ApiCall call;
  api_begin(&call, "poly_sample_new");
  api_handle(&call, sampler, HANDLE_SAMPLER, "sampler", false);
  if (!api_enter(&call)) return NULL;
  PolySample *result = core_sample_new(sampler);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

void poly_sample_free(PolySample *s) {
  ApiCall call;
  api_begin(&call, "poly_sample_free");
  api_handle(&call, s, HANDLE_SAMPLE, "s", true);
  if (!s) return;
  if (!api_enter(&call)) return;
  core_sample_free(s);
  api_leave(&call, POLY_OK);
}

PolyStatus poly_sample_run(PolySample *s, const PolySampleSpec *spec, int num_seeds, const PolySeeds *seeds) {
  ApiCall call;
  api_begin(&call, "poly_sample_run");
  api_handle(&call, s, HANDLE_SAMPLE, "s", false);
  api_array(&call, spec, true, "spec");
  api_count(&call, num_seeds, "num_seeds");
  api_array(&call, seeds, num_seeds != 0, "seeds");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_sample_run(s, spec, num_seeds, seeds);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_sample_run_hgt(PolySample *s, const PolySampleSpec *spec, int num_seeds, const PolySeeds *seeds) {
  ApiCall call;
  api_begin(&call, "poly_sample_run_hgt");
  api_handle(&call, s, HANDLE_SAMPLE, "s", false);
  api_array(&call, spec, true, "spec");
  api_count(&call, num_seeds, "num_seeds");
  api_array(&call, seeds, num_seeds != 0, "seeds");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_sample_run_hgt(s, spec, num_seeds, seeds);
  api_leave(&call, result);
  return result;
}

int64_t poly_sample_num_nodes(const PolySample *s, int type) {
  ApiCall call;
  api_begin(&call, "poly_sample_num_nodes");
  api_handle(&call, s, HANDLE_SAMPLE, "s", false);
  if (!api_enter(&call)) return -1;
  int64_t result = core_sample_num_nodes(s, type);
  api_leave(&call, result == -1 ? POLY_ERROR_VALUE : POLY_OK);
  return result;
}

int64_t poly_sample_num_edges(const PolySample *s, int relation) {
  ApiCall call;
  api_begin(&call, "poly_sample_num_edges");
  api_handle(&call, s, HANDLE_SAMPLE, "s", false);
  if (!api_enter(&call)) return -1;
  int64_t result = core_sample_num_edges(s, relation);
  api_leave(&call, result == -1 ? POLY_ERROR_VALUE : POLY_OK);
  return result;
}

int64_t poly_sample_hop_nodes(const PolySample *s, int type, int hop) {
  ApiCall call;
  api_begin(&call, "poly_sample_hop_nodes");
  api_handle(&call, s, HANDLE_SAMPLE, "s", false);
  if (!api_enter(&call)) return -1;
  int64_t result = core_sample_hop_nodes(s, type, hop);
  api_leave(&call, result == -1 ? POLY_ERROR_VALUE : POLY_OK);
  return result;
}

int64_t poly_sample_hop_edges(const PolySample *s, int relation, int hop) {
  ApiCall call;
  api_begin(&call, "poly_sample_hop_edges");
  api_handle(&call, s, HANDLE_SAMPLE, "s", false);
  if (!api_enter(&call)) return -1;
  int64_t result = core_sample_hop_edges(s, relation, hop);
  api_leave(&call, result == -1 ? POLY_ERROR_VALUE : POLY_OK);
  return result;
}

PolyStatus poly_sample_read(PolySample *s, char what, int of, int64_t *out) {
  ApiCall call;
  api_begin(&call, "poly_sample_read");
  api_handle(&call, s, HANDLE_SAMPLE, "s", false);
  api_array(&call, out, true, "out");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_sample_read(s, what, of, out);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_sample_error(const PolySample *s) {
  ApiCall call;
  api_begin(&call, "poly_sample_error");
  api_handle(&call, s, HANDLE_SAMPLE, "s", false);
  if (!api_enter(&call)) return POLY_ERROR_VALUE;
  PolyStatus result = core_sample_error(s);
  api_leave(&call, POLY_OK);
  return result;
}

const char *poly_sample_error_text(const PolySample *s) {
  ApiCall call;
  api_begin(&call, "poly_sample_error_text");
  api_handle(&call, s, HANDLE_SAMPLE, "s", false);
  if (!api_enter(&call)) return "";
  const char *result = core_sample_error_text(s);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_draw_below(PolyTensor *stream, PolyTensor *number, PolyTensor *size, uint64_t seed, uint64_t batch, int64_t hop) {
  ApiCall call;
  api_begin(&call, "poly_draw_below");
  api_handle(&call, stream, HANDLE_TENSOR, "stream", false);
  api_handle(&call, number, HANDLE_TENSOR, "number", false);
  api_handle(&call, size, HANDLE_TENSOR, "size", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_draw_below(stream, number, size, seed, batch, hop);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

int64_t poly_sampler_walk(const PolySampler *s, int relation, const int64_t *start, int64_t n, int64_t length, double p, double q, uint64_t seed, int threads, int64_t *nodes, int64_t *edges) {
  ApiCall call;
  api_begin(&call, "poly_sampler_walk");
  api_handle(&call, s, HANDLE_SAMPLER, "s", false);
  api_array(&call, start, n != 0, "start");
  api_array(&call, nodes, n != 0, "nodes");
  if (!api_enter(&call)) return 0;
  int64_t result = core_sampler_walk(s, relation, start, n, length, p, q, seed, threads, nodes, edges);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_gather_rows(const void *from, int64_t rows, size_t row_bytes, const int64_t *index, int64_t n, void *out, int threads) {
  ApiCall call;
  api_begin(&call, "poly_gather_rows");
  api_array(&call, from, true, "from");
  api_array(&call, index, n != 0, "index");
  api_array(&call, out, n != 0, "out");
  if (!api_enter_free(&call)) return 0;
  int64_t result = core_gather_rows(from, rows, row_bytes, index, n, out, threads);
  return result;
}

PolyStatus poly_graph_partition(PolyGraph *g, int64_t parts, bool recursive, int64_t *out) {
  ApiCall call;
  api_begin(&call, "poly_graph_partition");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  api_array(&call, out, true, "out");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_graph_partition(g, parts, recursive, out);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_rmat(int64_t num_nodes, int64_t num_edges, double a, double b, double c, uint64_t seed, bool shuffle, int threads, int64_t *edge_index) {
  ApiCall call;
  api_begin(&call, "poly_rmat");
  api_array(&call, edge_index, num_edges != 0, "edge_index");
  if (!api_enter_free(&call)) return call.code;
  PolyStatus result = core_rmat(num_nodes, num_edges, a, b, c, seed, shuffle, threads, edge_index);
  api_leave(&call, result);
  return result;
}

PolyTensor *poly_rmat_edges(PolyContext *ctx, int64_t num_nodes, int64_t num_edges, double a, double b, double c, uint64_t seed, bool shuffle) {
  ApiCall call;
  api_begin(&call, "poly_rmat_edges");
  api_context(&call, ctx);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_rmat_edges(ctx, num_nodes, num_edges, a, b, c, seed, shuffle);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_knn(PolyTensor *x, PolyTensor *y, const int64_t *ptr_x, const int64_t *ptr_y, int64_t groups, int64_t k, bool cosine, bool skip_same) {
  ApiCall call;
  api_begin(&call, "poly_knn");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, y, HANDLE_TENSOR, "y", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_knn(x, y, ptr_x, ptr_y, groups, k, cosine, skip_same);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_radius(PolyTensor *x, PolyTensor *y, const int64_t *ptr_x, const int64_t *ptr_y, int64_t groups, double r, int64_t most, bool skip_same) {
  ApiCall call;
  api_begin(&call, "poly_radius");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, y, HANDLE_TENSOR, "y", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_radius(x, y, ptr_x, ptr_y, groups, r, most, skip_same);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_fps(PolyTensor *x, const int64_t *ptr, int64_t groups, double ratio, const int64_t *start) {
  ApiCall call;
  api_begin(&call, "poly_fps");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_fps(x, ptr, groups, ratio, start);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_graph_match(PolyGraph *g, PolyTensor *weight, uint64_t seed) {
  ApiCall call;
  api_begin(&call, "poly_graph_match");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  api_handle(&call, weight, HANDLE_TENSOR, "weight", true);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_graph_match(g, weight, seed);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_graph_contract(PolyGraph *g, PolyTensor *score, PolyTensor **chosen) {
  ApiCall call;
  api_begin(&call, "poly_graph_contract");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  api_handle(&call, score, HANDLE_TENSOR, "score", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_graph_contract(g, score, chosen);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyGraph *poly_graph_product(PolyGraph *a, PolyGraph *b, PolyTensor **paths) {
  ApiCall call;
  api_begin(&call, "poly_graph_product");
  api_handle(&call, a, HANDLE_GRAPH, "a", false);
  api_handle(&call, b, HANDLE_GRAPH, "b", false);
  if (!api_enter(&call)) return NULL;
  PolyGraph *result = core_graph_product(a, b, paths);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyGraph *poly_graph_product_values(PolyGraph *a, PolyTensor *x, PolyGraph *b, PolyTensor *y, PolyTensor **values) {
  ApiCall call;
  api_begin(&call, "poly_graph_product_values");
  api_handle(&call, a, HANDLE_GRAPH, "a", false);
  api_handle(&call, x, HANDLE_TENSOR, "x", true);
  api_handle(&call, b, HANDLE_GRAPH, "b", false);
  api_handle(&call, y, HANDLE_TENSOR, "y", true);
  if (!api_enter(&call)) return NULL;
  PolyGraph *result = core_graph_product_values(a, x, b, y, values);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_reduce_runs(PolyTensor *x, const int64_t *begin, int64_t n, char op) {
  ApiCall call;
  api_begin(&call, "poly_reduce_runs");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_array(&call, begin, true, "begin");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_reduce_runs(x, begin, n, op);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyStatus poly_sort_edges(PolyTensor *edge_index, int64_t nodes, bool by_row, bool merge, PolyTensor **sorted, PolyTensor **order, PolyTensor **begin) {
  ApiCall call;
  api_begin(&call, "poly_sort_edges");
  api_handle(&call, edge_index, HANDLE_TENSOR, "edge_index", false);
  api_array(&call, sorted, true, "sorted");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_sort_edges(edge_index, nodes, by_row, merge, sorted, order, begin);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_filter_edges(PolyTensor *edge_index, PolyTensor *mask, PolyTensor *src, PolyTensor *dst, char loops, PolyTensor **kept, PolyTensor **stays) {
  ApiCall call;
  api_begin(&call, "poly_filter_edges");
  api_handle(&call, edge_index, HANDLE_TENSOR, "edge_index", false);
  api_handle(&call, mask, HANDLE_TENSOR, "mask", true);
  api_handle(&call, src, HANDLE_TENSOR, "src", true);
  api_handle(&call, dst, HANDLE_TENSOR, "dst", true);
  api_array(&call, kept, true, "kept");
  api_array(&call, stays, true, "stays");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_filter_edges(edge_index, mask, src, dst, loops, kept, stays);
  api_leave(&call, result);
  return result;
}

PolyTensor *poly_top_rows(PolyTensor *score, PolyTensor *group, PolyTensor *keep) {
  ApiCall call;
  api_begin(&call, "poly_top_rows");
  api_handle(&call, score, HANDLE_TENSOR, "score", false);
  api_handle(&call, group, HANDLE_TENSOR, "group", false);
  api_handle(&call, keep, HANDLE_TENSOR, "keep", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_top_rows(score, group, keep);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_compress(PolyTensor *x, PolyTensor *mask, int axis) {
  ApiCall call;
  api_begin(&call, "poly_compress");
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  api_handle(&call, mask, HANDLE_TENSOR, "mask", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_compress(x, mask, axis);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_random_mask(PolyContext *ctx, int64_t n, double p, uint64_t seed) {
  ApiCall call;
  api_begin(&call, "poly_random_mask");
  api_context(&call, ctx);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_random_mask(ctx, n, p, seed);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyVertex *poly_zoom_in(PolyGraph *g) {
  ApiCall call;
  api_begin(&call, "poly_zoom_in");
  api_handle(&call, g, HANDLE_GRAPH, "g", false);
  if (!api_enter(&call)) return NULL;
  PolyVertex *result = core_zoom_in(g);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_zoom_out(PolyVertex *v, PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_zoom_out");
  api_handle(&call, v, HANDLE_VERTEX, "v", false);
  api_handle(&call, x, HANDLE_TENSOR, "x", true);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_zoom_out(v, x);
  api_leave(&call, POLY_OK);
  return result;
}

PolyStatus poly_zoom_out_many(PolyVertex *v, PolyTensor *const *x, int n, PolyTensor **out) {
  ApiCall call;
  api_begin(&call, "poly_zoom_out_many");
  api_handle(&call, v, HANDLE_VERTEX, "v", false);
  api_handles(&call, x, n, HANDLE_TENSOR, "x", false);
  api_count(&call, n, "n");
  api_array(&call, out, n != 0, "out");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_zoom_out_many(v, x, n, out);
  api_leave(&call, result);
  return result;
}

PolyNbs *poly_innbs(PolyVertex *v) {
  ApiCall call;
  api_begin(&call, "poly_innbs");
  api_handle(&call, v, HANDLE_VERTEX, "v", false);
  if (!api_enter(&call)) return NULL;
  PolyNbs *result = core_innbs(v);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyNbs *poly_outnbs(PolyVertex *v) {
  ApiCall call;
  api_begin(&call, "poly_outnbs");
  api_handle(&call, v, HANDLE_VERTEX, "v", false);
  if (!api_enter(&call)) return NULL;
  PolyNbs *result = core_outnbs(v);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyNbs *poly_nbs(PolyVertex *v, PolyGraph *relation, char side) {
  ApiCall call;
  api_begin(&call, "poly_nbs");
  api_handle(&call, v, HANDLE_VERTEX, "v", false);
  api_handle(&call, relation, HANDLE_GRAPH, "relation", false);
  if (!api_enter(&call)) return NULL;
  PolyNbs *result = core_nbs(v, relation, side);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_self(PolyVertex *v, PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_self");
  api_handle(&call, v, HANDLE_VERTEX, "v", false);
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_self(v, x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_nb(PolyNbs *n, PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_nb");
  api_handle(&call, n, HANDLE_NBS, "n", false);
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_nb(n, x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_edge(PolyNbs *n, PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_edge");
  api_handle(&call, n, HANDLE_NBS, "n", false);
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_edge(n, x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_nb_reduce(PolyNbs *n, PolyTensor *x, const char *op) {
  ApiCall call;
  api_begin(&call, "poly_nb_reduce");
  api_handle(&call, n, HANDLE_NBS, "n", false);
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_nb_reduce(n, x, op);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_nb_sum(PolyNbs *n, PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_nb_sum");
  api_handle(&call, n, HANDLE_NBS, "n", false);
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_nb_sum(n, x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_nb_mean(PolyNbs *n, PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_nb_mean");
  api_handle(&call, n, HANDLE_NBS, "n", false);
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_nb_mean(n, x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_nb_max(PolyNbs *n, PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_nb_max");
  api_handle(&call, n, HANDLE_NBS, "n", false);
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_nb_max(n, x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_nb_min(PolyNbs *n, PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_nb_min");
  api_handle(&call, n, HANDLE_NBS, "n", false);
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_nb_min(n, x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_nb_softmax(PolyNbs *n, PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_nb_softmax");
  api_handle(&call, n, HANDLE_NBS, "n", false);
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_nb_softmax(n, x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_nb_count(PolyNbs *n) {
  ApiCall call;
  api_begin(&call, "poly_nb_count");
  api_handle(&call, n, HANDLE_NBS, "n", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_nb_count(n);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_nb_edges(PolyNbs *n, PolyTensor *x) {
  ApiCall call;
  api_begin(&call, "poly_nb_edges");
  api_handle(&call, n, HANDLE_NBS, "n", false);
  api_handle(&call, x, HANDLE_TENSOR, "x", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_nb_edges(n, x);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyStatus poly_set_requires_grad(PolyTensor *t, bool on) {
  ApiCall call;
  api_begin(&call, "poly_set_requires_grad");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_set_requires_grad(t, on);
  api_leave(&call, result);
  return result;
}

bool poly_requires_grad(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_requires_grad");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return false;
  bool result = core_requires_grad(t);
  api_leave(&call, POLY_OK);
  return result;
}

PolyStatus poly_grad(PolyTensor *root, PolyTensor *gradient, PolyTensor *const *targets, int n, PolyTensor **out) {
  ApiCall call;
  api_begin(&call, "poly_grad");
  api_handle(&call, root, HANDLE_TENSOR, "root", false);
  api_handle(&call, gradient, HANDLE_TENSOR, "gradient", true);
  api_handles(&call, targets, n, HANDLE_TENSOR, "targets", false);
  api_count(&call, n, "n");
  api_array(&call, out, n != 0, "out");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_grad(root, gradient, targets, n, out);
  api_leave(&call, result);
  return result;
}

PolyTensor *poly_function(PolyTensor *value, PolyTensor *const *inputs, int n, const PolyFunction *function) {
  ApiCall call;
  api_begin(&call, "poly_function");
  api_handle(&call, value, HANDLE_TENSOR, "value", false);
  api_handles(&call, inputs, n, HANDLE_TENSOR, "inputs", false);
  api_count(&call, n, "n");
  api_array(&call, function, true, "function");
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_function(value, inputs, n, function);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

bool poly_depends_on(PolyTensor *root, PolyTensor *target) {
  ApiCall call;
  api_begin(&call, "poly_depends_on");
  api_handle(&call, root, HANDLE_TENSOR, "root", false);
  api_handle(&call, target, HANDLE_TENSOR, "target", false);
  if (!api_enter(&call)) return false;
  bool result = core_depends_on(root, target);
  api_leave(&call, POLY_OK);
  return result;
}

bool poly_depends_on_leaves(PolyTensor *root) {
  ApiCall call;
  api_begin(&call, "poly_depends_on_leaves");
  api_handle(&call, root, HANDLE_TENSOR, "root", false);
  if (!api_enter(&call)) return false;
  bool result = core_depends_on_leaves(root);
  api_leave(&call, POLY_OK);
  return result;
}

bool poly_check_cycles(PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_check_cycles");
  api_context(&call, ctx);
  if (!api_enter(&call)) return false;
  bool result = core_check_cycles(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

PolyStatus poly_backward(PolyTensor *root, PolyTensor *gradient) {
  ApiCall call;
  api_begin(&call, "poly_backward");
  api_handle(&call, root, HANDLE_TENSOR, "root", false);
  api_handle(&call, gradient, HANDLE_TENSOR, "gradient", true);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_backward(root, gradient);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_backward_all(PolyTensor *root, PolyTensor *gradient) {
  ApiCall call;
  api_begin(&call, "poly_backward_all");
  api_handle(&call, root, HANDLE_TENSOR, "root", false);
  api_handle(&call, gradient, HANDLE_TENSOR, "gradient", true);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_backward_all(root, gradient);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_backward_until(PolyTensor *root, PolyTensor *gradient, PolyTensor *const *stops, int n, PolyTensor **out) {
  ApiCall call;
  api_begin(&call, "poly_backward_until");
  api_handle(&call, root, HANDLE_TENSOR, "root", false);
  api_handle(&call, gradient, HANDLE_TENSOR, "gradient", true);
  api_handles(&call, stops, n, HANDLE_TENSOR, "stops", false);
  api_count(&call, n, "n");
  api_array(&call, out, n != 0, "out");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_backward_until(root, gradient, stops, n, out);
  api_leave(&call, result);
  return result;
}

PolyTensor *poly_get_grad(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_get_grad");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_get_grad(t);
  api_leave(&call, POLY_OK);
  return result;
}

PolyStatus poly_set_grad(PolyTensor *t, PolyTensor *grad) {
  ApiCall call;
  api_begin(&call, "poly_set_grad");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  api_handle(&call, grad, HANDLE_TENSOR, "grad", true);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_set_grad(t, grad);
  api_leave(&call, result);
  return result;
}

PolyOptim *poly_sgd(PolyTensor *const *params, int n, double lr, double momentum, double weight_decay, bool nesterov) {
  ApiCall call;
  api_begin(&call, "poly_sgd");
  api_handles(&call, params, n, HANDLE_TENSOR, "params", false);
  api_count(&call, n, "n");
  if (!api_enter(&call)) return NULL;
  PolyOptim *result = core_sgd(params, n, lr, momentum, weight_decay, nesterov);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyOptim *poly_adam(PolyTensor *const *params, int n, double lr, double beta1, double beta2, double eps, double weight_decay) {
  ApiCall call;
  api_begin(&call, "poly_adam");
  api_handles(&call, params, n, HANDLE_TENSOR, "params", false);
  api_count(&call, n, "n");
  if (!api_enter(&call)) return NULL;
  PolyOptim *result = core_adam(params, n, lr, beta1, beta2, eps, weight_decay);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyOptim *poly_adamw(PolyTensor *const *params, int n, double lr, double beta1, double beta2, double eps, double weight_decay) {
  ApiCall call;
  api_begin(&call, "poly_adamw");
  api_handles(&call, params, n, HANDLE_TENSOR, "params", false);
  api_count(&call, n, "n");
  if (!api_enter(&call)) return NULL;
  PolyOptim *result = core_adamw(params, n, lr, beta1, beta2, eps, weight_decay);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyOptim *poly_rmsprop(PolyTensor *const *params, int n, double lr, double alpha, double eps, double weight_decay, double momentum) {
  ApiCall call;
  api_begin(&call, "poly_rmsprop");
  api_handles(&call, params, n, HANDLE_TENSOR, "params", false);
  api_count(&call, n, "n");
  if (!api_enter(&call)) return NULL;
  PolyOptim *result = core_rmsprop(params, n, lr, alpha, eps, weight_decay, momentum);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyOptim *poly_lamb(PolyTensor *const *params, int n, double lr, double beta1, double beta2, double eps, double weight_decay) {
  ApiCall call;
  api_begin(&call, "poly_lamb");
  api_handles(&call, params, n, HANDLE_TENSOR, "params", false);
  api_count(&call, n, "n");
  if (!api_enter(&call)) return NULL;
  PolyOptim *result = core_lamb(params, n, lr, beta1, beta2, eps, weight_decay);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyOptim *poly_optim_new(const char *kind, PolyTensor *const *params, int n, double lr, const PolyOptimOptions *options) {
  ApiCall call;
  api_begin(&call, "poly_optim_new");
  api_handles(&call, params, n, HANDLE_TENSOR, "params", false);
  api_array(&call, kind, true, "kind");
  api_count(&call, n, "n");
  api_array(&call, options, true, "options");
  if (!api_enter(&call)) return NULL;
  PolyOptim *result = core_optim_new(kind, params, n, lr, options);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyStatus poly_optim_set(PolyOptim *o, const PolyOptimOptions *options) {
  ApiCall call;
  api_begin(&call, "poly_optim_set");
  api_handle(&call, o, HANDLE_OPTIM, "o", false);
  api_array(&call, options, true, "options");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_optim_set(o, options);
  api_leave(&call, result);
  return result;
}

void poly_optim_free(PolyOptim *o) {
  ApiCall call;
  api_begin(&call, "poly_optim_free");
  api_handle(&call, o, HANDLE_OPTIM, "o", true);
  if (!o) return;
  if (!api_enter(&call)) return;
  core_optim_free(o);
  api_leave(&call, POLY_OK);
}

void poly_optim_zero_grad(PolyOptim *o) {
  ApiCall call;
  api_begin(&call, "poly_optim_zero_grad");
  api_handle(&call, o, HANDLE_OPTIM, "o", false);
  if (!api_enter(&call)) return;
  core_optim_zero_grad(o);
  api_leave(&call, POLY_OK);
}

PolyStatus poly_optim_step(PolyOptim *o) {
  ApiCall call;
  api_begin(&call, "poly_optim_step");
  api_handle(&call, o, HANDLE_OPTIM, "o", false);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_optim_step(o);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_optim_schedule(PolyOptim *o) {
  ApiCall call;
  api_begin(&call, "poly_optim_schedule");
  api_handle(&call, o, HANDLE_OPTIM, "o", false);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_optim_schedule(o);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_optim_step_if(PolyOptim *o, PolyTensor *condition) {
  ApiCall call;
  api_begin(&call, "poly_optim_step_if");
  api_handle(&call, o, HANDLE_OPTIM, "o", false);
  api_handle(&call, condition, HANDLE_TENSOR, "condition", false);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_optim_step_if(o, condition);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_optim_schedule_if(PolyOptim *o, PolyTensor *condition) {
  ApiCall call;
  api_begin(&call, "poly_optim_schedule_if");
  api_handle(&call, o, HANDLE_OPTIM, "o", false);
  api_handle(&call, condition, HANDLE_TENSOR, "condition", false);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_optim_schedule_if(o, condition);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_optim_set_lr(PolyOptim *o, double lr) {
  ApiCall call;
  api_begin(&call, "poly_optim_set_lr");
  api_handle(&call, o, HANDLE_OPTIM, "o", false);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_optim_set_lr(o, lr);
  api_leave(&call, result);
  return result;
}

double poly_optim_lr(const PolyOptim *o) {
  ApiCall call;
  api_begin(&call, "poly_optim_lr");
  api_handle(&call, o, HANDLE_OPTIM, "o", false);
  if (!api_enter(&call)) return NAN;
  double result = core_optim_lr(o);
  api_leave(&call, POLY_OK);
  return result;
}

int poly_optim_state(PolyOptim *o, PolyTensor **out, int max) {
  ApiCall call;
  api_begin(&call, "poly_optim_state");
  api_handle(&call, o, HANDLE_OPTIM, "o", false);
  api_count(&call, max, "max");
  if (!api_enter(&call)) return -1;
  int result = core_optim_state(o, out, max);
  api_leave(&call, POLY_OK);
  return result;
}

int poly_scan(PolyContext *ctx, const PolyScanBody *body, PolyTensor *const *init, int ncarry, PolyTensor *const *xs, int nx, int64_t length, int flags, PolyTensor **last, PolyTensor **stacked) {
  ApiCall call;
  api_begin(&call, "poly_scan");
  api_context(&call, ctx);
  api_handles(&call, init, ncarry, HANDLE_TENSOR, "init", false);
  api_handles(&call, xs, nx, HANDLE_TENSOR, "xs", false);
  api_array(&call, body, true, "body");
  api_count(&call, ncarry, "ncarry");
  api_count(&call, nx, "nx");
  api_array(&call, last, ncarry != 0, "last");
  api_array(&call, stacked, true, "stacked");
  if (!api_enter(&call)) return -1;
  int result = core_scan(ctx, body, init, ncarry, xs, nx, length, flags, last, stacked);
  api_leave(&call, result == -1 ? POLY_ERROR_VALUE : POLY_OK);
  return result;
}

PolyStatus poly_settle(PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_settle");
  api_context(&call, ctx);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_settle(ctx);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_trace_begin(PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_trace_begin");
  api_context(&call, ctx);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_trace_begin(ctx);
  api_leave(&call, result);
  return result;
}

void poly_trace_end(PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_trace_end");
  api_context(&call, ctx);
  if (!api_enter(&call)) return;
  core_trace_end(ctx);
  api_leave(&call, POLY_OK);
}

PolyTensor *poly_trace_input(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_trace_input");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_trace_input(t);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyStatus poly_trace_reads(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_trace_reads");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_trace_reads(t);
  api_leave(&call, result);
  return result;
}

PolyStep *poly_step_new(PolyTensor *const *inputs, int ninput, PolyTensor *const *outputs, int noutput, PolyTensor *const *state, int nstate) {
  ApiCall call;
  api_begin(&call, "poly_step_new");
  api_handles(&call, inputs, ninput, HANDLE_TENSOR, "inputs", false);
  api_handles(&call, outputs, noutput, HANDLE_TENSOR, "outputs", false);
  api_handles(&call, state, nstate, HANDLE_TENSOR, "state", false);
  api_count(&call, ninput, "ninput");
  api_count(&call, noutput, "noutput");
  api_count(&call, nstate, "nstate");
  if (!api_enter(&call)) return NULL;
  PolyStep *result = core_step_new(inputs, ninput, outputs, noutput, state, nstate);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyStatus poly_step_run(PolyStep *s, PolyTensor *const *inputs, int ninput) {
  ApiCall call;
  api_begin(&call, "poly_step_run");
  api_handle(&call, s, HANDLE_STEP, "s", false);
  api_handles(&call, inputs, ninput, HANDLE_TENSOR, "inputs", true);
  api_count(&call, ninput, "ninput");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_step_run(s, inputs, ninput);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_step_bind(PolyStep *s, int64_t traced, int64_t now) {
  ApiCall call;
  api_begin(&call, "poly_step_bind");
  api_handle(&call, s, HANDLE_STEP, "s", false);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_step_bind(s, traced, now);
  api_leave(&call, result);
  return result;
}

PolyTensor *poly_step_output(PolyStep *s, int k) {
  ApiCall call;
  api_begin(&call, "poly_step_output");
  api_handle(&call, s, HANDLE_STEP, "s", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_step_output(s, k);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

int poly_step_kernels(const PolyStep *s) {
  ApiCall call;
  api_begin(&call, "poly_step_kernels");
  api_handle(&call, s, HANDLE_STEP, "s", false);
  if (!api_enter(&call)) return 0;
  int result = core_step_kernels(s);
  api_leave(&call, POLY_OK);
  return result;
}

int poly_step_intermediates(const PolyStep *s) {
  ApiCall call;
  api_begin(&call, "poly_step_intermediates");
  api_handle(&call, s, HANDLE_STEP, "s", false);
  if (!api_enter(&call)) return 0;
  int result = core_step_intermediates(s);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_step_peak_bytes(PolyStep *s) {
  ApiCall call;
  api_begin(&call, "poly_step_peak_bytes");
  api_handle(&call, s, HANDLE_STEP, "s", false);
  if (!api_enter(&call)) return 0;
  int64_t result = core_step_peak_bytes(s);
  api_leave(&call, POLY_OK);
  return result;
}

void poly_step_trim(PolyStep *s) {
  ApiCall call;
  api_begin(&call, "poly_step_trim");
  api_handle(&call, s, HANDLE_STEP, "s", false);
  if (!api_enter(&call)) return;
  core_step_trim(s);
  api_leave(&call, POLY_OK);
}

void poly_step_free(PolyStep *s) {
  ApiCall call;
  api_begin(&call, "poly_step_free");
  api_handle(&call, s, HANDLE_STEP, "s", true);
  if (!s) return;
  if (!api_enter(&call)) return;
  core_step_free(s);
  api_leave(&call, POLY_OK);
}

PolyStatus poly_safe_save(PolyContext *ctx, const char *path, const char *const *names, PolyTensor *const *t, int n) {
  ApiCall call;
  api_begin(&call, "poly_safe_save");
  api_context(&call, ctx);
  api_handles(&call, t, n, HANDLE_TENSOR, "t", false);
  api_array(&call, path, true, "path");
  api_count(&call, n, "n");
  api_array(&call, names, n != 0, "names");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_safe_save(ctx, path, names, t, n);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_safe_save_with(PolyContext *ctx, const char *path, const char *const *names, PolyTensor *const *t, int n, const char *const *meta, int nmeta) {
  ApiCall call;
  api_begin(&call, "poly_safe_save_with");
  api_context(&call, ctx);
  api_handles(&call, t, n, HANDLE_TENSOR, "t", false);
  api_array(&call, path, true, "path");
  api_count(&call, n, "n");
  api_array(&call, names, n != 0, "names");
  api_count(&call, nmeta, "nmeta");
  api_array(&call, meta, nmeta != 0, "meta");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_safe_save_with(ctx, path, names, t, n, meta, nmeta);
  api_leave(&call, result);
  return result;
}

PolyStateFile *poly_safe_open(PolyContext *ctx, const char *path) {
  ApiCall call;
  api_begin(&call, "poly_safe_open");
  api_context(&call, ctx);
  api_array(&call, path, true, "path");
  if (!api_enter(&call)) return NULL;
  PolyStateFile *result = core_safe_open(ctx, path);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

int poly_safe_count(const PolyStateFile *f) {
  ApiCall call;
  api_begin(&call, "poly_safe_count");
  api_handle(&call, f, HANDLE_FILE, "f", false);
  if (!api_enter(&call)) return 0;
  int result = core_safe_count(f);
  api_leave(&call, POLY_OK);
  return result;
}

const char *poly_safe_name(const PolyStateFile *f, int k) {
  ApiCall call;
  api_begin(&call, "poly_safe_name");
  api_handle(&call, f, HANDLE_FILE, "f", false);
  if (!api_enter(&call)) return NULL;
  const char *result = core_safe_name(f, k);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

PolyTensor *poly_safe_get(PolyStateFile *f, int k) {
  ApiCall call;
  api_begin(&call, "poly_safe_get");
  api_handle(&call, f, HANDLE_FILE, "f", false);
  if (!api_enter(&call)) return NULL;
  PolyTensor *result = core_safe_get(f, k);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

void poly_safe_close(PolyStateFile *f) {
  ApiCall call;
  api_begin(&call, "poly_safe_close");
  api_handle(&call, f, HANDLE_FILE, "f", true);
  if (!f) return;
  if (!api_enter(&call)) return;
  core_safe_close(f);
  api_leave(&call, POLY_OK);
}

PolyStatus poly_profile_begin(PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_profile_begin");
  api_context(&call, ctx);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_profile_begin(ctx);
  api_leave(&call, result);
  return result;
}

PolyStatus poly_profile_end(PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_profile_end");
  api_context(&call, ctx);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_profile_end(ctx);
  api_leave(&call, result);
  return result;
}

int poly_profile_kernels(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_profile_kernels");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int result = core_profile_kernels(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

PolyStatus poly_profile_kernel(const PolyContext *ctx, int k, PolyKernelStat *out) {
  ApiCall call;
  api_begin(&call, "poly_profile_kernel");
  api_context(&call, ctx);
  api_array(&call, out, true, "out");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_profile_kernel(ctx, k, out);
  api_leave(&call, result);
  return result;
}

int poly_profile_stored(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_profile_stored");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int result = core_profile_stored(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

PolyStatus poly_profile_stored_at(const PolyContext *ctx, int k, PolyStoredStat *out) {
  ApiCall call;
  api_begin(&call, "poly_profile_stored_at");
  api_context(&call, ctx);
  api_array(&call, out, true, "out");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_profile_stored_at(ctx, k, out);
  api_leave(&call, result);
  return result;
}

int64_t poly_profile_peak_bytes(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_profile_peak_bytes");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int64_t result = core_profile_peak_bytes(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

PolyStatus poly_counters(const PolyContext *ctx, PolyKernelStat *out) {
  ApiCall call;
  api_begin(&call, "poly_counters");
  api_context(&call, ctx);
  api_array(&call, out, true, "out");
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_counters(ctx, out);
  api_leave(&call, result);
  return result;
}

char *poly_source(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_source");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return NULL;
  char *result = core_source(t);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

char *poly_dump(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_dump");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return NULL;
  char *result = core_dump(t);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

char *poly_explain(PolyTensor *t) {
  ApiCall call;
  api_begin(&call, "poly_explain");
  api_handle(&call, t, HANDLE_TENSOR, "t", false);
  if (!api_enter(&call)) return NULL;
  char *result = core_explain(t);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

void poly_text_free(PolyContext *ctx, char *text) {
  ApiCall call;
  api_begin(&call, "poly_text_free");
  api_context(&call, ctx);
  if (!api_enter(&call)) return;
  core_text_free(ctx, text);
  api_leave(&call, POLY_OK);
}

int64_t poly_compilations(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_compilations");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int64_t result = core_compilations(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_plans_built(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_plans_built");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int64_t result = core_plans_built(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_plans_reused(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_plans_reused");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int64_t result = core_plans_reused(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_steps_recalled(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_steps_recalled");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int64_t result = core_steps_recalled(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

const char *poly_cache_dir(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_cache_dir");
  api_context(&call, ctx);
  if (!api_enter(&call)) return NULL;
  const char *result = core_cache_dir(ctx);
  api_leave(&call, result ? POLY_OK : POLY_ERROR_VALUE);
  return result;
}

int64_t poly_cache_entries(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_cache_entries");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int64_t result = core_cache_entries(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_cache_bytes(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_cache_bytes");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int64_t result = core_cache_bytes(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

int64_t poly_cache_limit(const PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_cache_limit");
  api_context(&call, ctx);
  if (!api_enter(&call)) return 0;
  int64_t result = core_cache_limit(ctx);
  api_leave(&call, POLY_OK);
  return result;
}

PolyStatus poly_cache_clear(PolyContext *ctx) {
  ApiCall call;
  api_begin(&call, "poly_cache_clear");
  api_context(&call, ctx);
  if (!api_enter(&call)) return call.code;
  PolyStatus result = core_cache_clear(ctx);
  api_leave(&call, result);
  return result;
}
