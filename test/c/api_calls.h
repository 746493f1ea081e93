/* api_calls.h: a call of every public function that checks its arguments, generated from include/polygrad.h by
 * py/tools/gen_api.py. Do not edit. Included by test_api_arguments.c alone. */
/* clang-format off */

static bool call_poly_set_device(const Arg *a, Result *r) { (void)r; return poly_set_device((PolyContext *)a[0].p, (const char *)a[1].p) == POLY_OK; }
static bool call_poly_device(const Arg *a, Result *r) { (void)r; (void)poly_device((const PolyContext *)a[0].p); return true; }
static bool call_poly_device_card(const Arg *a, Result *r) { (void)r; (void)poly_device_card((PolyContext *)a[0].p, (const char *)a[1].p); return true; }
static bool call_poly_synchronize(const Arg *a, Result *r) { (void)r; return poly_synchronize((PolyContext *)a[0].p) == POLY_OK; }
static bool call_poly_set_threads(const Arg *a, Result *r) { (void)r; poly_set_threads((PolyContext *)a[0].p, (int)a[1].i); return true; }
static bool call_poly_threads(const Arg *a, Result *r) { (void)r; (void)poly_threads((const PolyContext *)a[0].p); return true; }
static bool call_poly_set_debug(const Arg *a, Result *r) { (void)r; poly_set_debug((PolyContext *)a[0].p, (int)a[1].i); return true; }
static bool call_poly_manual_seed(const Arg *a, Result *r) { (void)r; poly_manual_seed((PolyContext *)a[0].p, (uint64_t)a[1].i); return true; }
static bool call_poly_draw_seed(const Arg *a, Result *r) { (void)r; (void)poly_draw_seed((PolyContext *)a[0].p); return true; }
static bool call_poly_set_training(const Arg *a, Result *r) { (void)r; poly_set_training((PolyContext *)a[0].p, (bool)a[1].i); return true; }
static bool call_poly_training(const Arg *a, Result *r) { (void)r; (void)poly_training((const PolyContext *)a[0].p); return true; }
static bool call_poly_set_no_grad(const Arg *a, Result *r) { (void)r; poly_set_no_grad((PolyContext *)a[0].p, (bool)a[1].i); return true; }
static bool call_poly_no_grad(const Arg *a, Result *r) { (void)r; (void)poly_no_grad((const PolyContext *)a[0].p); return true; }
static bool call_poly_set_autocast(const Arg *a, Result *r) { (void)r; return poly_set_autocast((PolyContext *)a[0].p, (PolyDType)a[1].i) == POLY_OK; }
static bool call_poly_autocast(const Arg *a, Result *r) { (void)r; (void)poly_autocast((const PolyContext *)a[0].p); return true; }
static bool call_poly_set_default_float(const Arg *a, Result *r) { (void)r; return poly_set_default_float((PolyContext *)a[0].p, (PolyDType)a[1].i) == POLY_OK; }
static bool call_poly_default_float(const Arg *a, Result *r) { (void)r; (void)poly_default_float((const PolyContext *)a[0].p); return true; }
static bool call_poly_live_nodes(const Arg *a, Result *r) { (void)r; (void)poly_live_nodes((const PolyContext *)a[0].p); return true; }
static bool call_poly_live_tensors(const Arg *a, Result *r) { (void)r; (void)poly_live_tensors((const PolyContext *)a[0].p); return true; }
static bool call_poly_live_bytes(const Arg *a, Result *r) { (void)r; (void)poly_live_bytes((const PolyContext *)a[0].p); return true; }
static bool call_poly_peak_bytes(const Arg *a, Result *r) { (void)r; (void)poly_peak_bytes((const PolyContext *)a[0].p); return true; }
static bool call_poly_reset_peak(const Arg *a, Result *r) { (void)r; poly_reset_peak((PolyContext *)a[0].p); return true; }
static bool call_poly_device_live_bytes(const Arg *a, Result *r) { (void)r; (void)poly_device_live_bytes((PolyContext *)a[0].p, (const char *)a[1].p); return true; }
static bool call_poly_device_peak_bytes(const Arg *a, Result *r) { (void)r; (void)poly_device_peak_bytes((PolyContext *)a[0].p, (const char *)a[1].p); return true; }
static bool call_poly_device_held_bytes(const Arg *a, Result *r) { (void)r; (void)poly_device_held_bytes((PolyContext *)a[0].p, (const char *)a[1].p); return true; }
static bool call_poly_device_read_bytes(const Arg *a, Result *r) { (void)r; (void)poly_device_read_bytes((PolyContext *)a[0].p, (const char *)a[1].p); return true; }
static bool call_poly_device_trim(const Arg *a, Result *r) { (void)r; poly_device_trim((PolyContext *)a[0].p, (const char *)a[1].p); return true; }
static bool call_poly_scope_begin(const Arg *a, Result *r) { (void)r; poly_scope_begin((PolyContext *)a[0].p); return true; }
static bool call_poly_scope_end(const Arg *a, Result *r) { (void)r; poly_scope_end((PolyContext *)a[0].p); return true; }
static bool call_poly_keep(const Arg *a, Result *r) { r->p = poly_keep((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_retain_copy(const Arg *a, Result *r) { r->p = poly_retain_copy((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_context_of(const Arg *a, Result *r) { r->p = poly_context_of((const PolyTensor *)a[0].p); r->kind = "CONTEXT"; return r->p != NULL; }
static bool call_poly_ndim(const Arg *a, Result *r) { (void)r; (void)poly_ndim((const PolyTensor *)a[0].p); return true; }
static bool call_poly_dim(const Arg *a, Result *r) { (void)r; (void)poly_dim((const PolyTensor *)a[0].p, (int)a[1].i); return true; }
static bool call_poly_shape(const Arg *a, Result *r) { (void)r; poly_shape((const PolyTensor *)a[0].p, (int64_t *)a[1].p); return true; }
static bool call_poly_numel(const Arg *a, Result *r) { (void)r; (void)poly_numel((const PolyTensor *)a[0].p); return true; }
static bool call_poly_numel_size(const Arg *a, Result *r) { (void)r; (void)poly_numel_size((const PolyTensor *)a[0].p); return true; }
static bool call_poly_dtype(const Arg *a, Result *r) { (void)r; (void)poly_dtype((const PolyTensor *)a[0].p); return true; }
static bool call_poly_dtype_name(const Arg *a, Result *r) { (void)r; (void)poly_dtype_name((PolyDType)a[0].i); return true; }
static bool call_poly_dtype_size(const Arg *a, Result *r) { (void)r; (void)poly_dtype_size((PolyDType)a[0].i); return true; }
static bool call_poly_promote(const Arg *a, Result *r) { (void)r; (void)poly_promote((PolyDType)a[0].i, (PolyDType)a[1].i); return true; }
static bool call_poly_is_realized(const Arg *a, Result *r) { (void)r; (void)poly_is_realized((const PolyTensor *)a[0].p); return true; }
static bool call_poly_value_ids(const Arg *a, Result *r) { (void)r; return poly_value_ids((PolyTensor *const *)a[0].p, (int)a[1].i, (int64_t *)a[2].p) == POLY_OK; }
static bool call_poly_var_bind(const Arg *a, Result *r) { (void)r; (void)poly_var_bind((PolyContext *)a[0].p, (const char *)a[1].p, (int64_t)a[2].i, (int64_t)a[3].i, (int64_t)a[4].i); return true; }
static bool call_poly_dim_hold(const Arg *a, Result *r) { (void)r; poly_dim_hold((PolyContext *)a[0].p, (int64_t)a[1].i, (bool)a[2].i); return true; }
static bool call_poly_dim_value(const Arg *a, Result *r) { (void)r; (void)poly_dim_value((PolyContext *)a[0].p, (int64_t)a[1].i); return true; }
static bool call_poly_dim_min(const Arg *a, Result *r) { (void)r; (void)poly_dim_min((PolyContext *)a[0].p, (int64_t)a[1].i); return true; }
static bool call_poly_dim_max(const Arg *a, Result *r) { (void)r; (void)poly_dim_max((PolyContext *)a[0].p, (int64_t)a[1].i); return true; }
static bool call_poly_dim_op(const Arg *a, Result *r) { (void)r; (void)poly_dim_op((PolyContext *)a[0].p, (char)a[1].i, (int64_t)a[2].i, (int64_t)a[3].i); return true; }
static bool call_poly_dim_text(const Arg *a, Result *r) { (void)r; (void)poly_dim_text((PolyContext *)a[0].p, (int64_t)a[1].i, (char *)a[2].p, (size_t)a[3].i); return true; }
static bool call_poly_sized(const Arg *a, Result *r) { r->p = poly_sized((PolyTensor *)a[0].p, (int)a[1].i, (const int64_t *)a[2].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_on_device(const Arg *a, Result *r) { (void)r; (void)poly_on_device((PolyTensor *)a[0].p); return true; }
static bool call_poly_samples_there(const Arg *a, Result *r) { (void)r; (void)poly_samples_there((PolyContext *)a[0].p, (int64_t)a[1].i); return true; }
static bool call_poly_worth_device(const Arg *a, Result *r) { (void)r; (void)poly_worth_device((PolyContext *)a[0].p, (int64_t)a[1].i); return true; }
static bool call_poly_join(const Arg *a, Result *r) { r->p = poly_join((PolyTensor *const *)a[0].p, (int)a[1].i, (int)a[2].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_from_data(const Arg *a, Result *r) { r->p = poly_from_data((PolyContext *)a[0].p, (const void *)a[1].p, (PolyDType)a[2].i, (int)a[3].i, (const int64_t *)a[4].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_from_borrowed(const Arg *a, Result *r) { r->p = poly_from_borrowed((PolyContext *)a[0].p, (void *)a[1].p, (PolyDType)a[2].i, (int)a[3].i, (const int64_t *)a[4].p, NULL, (void *)a[6].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_from_device(const Arg *a, Result *r) { r->p = poly_from_device((PolyContext *)a[0].p, (void *)a[1].p, (PolyDType)a[2].i, (int)a[3].i, (const int64_t *)a[4].p, NULL, (void *)a[6].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_set_copy_ahead(const Arg *a, Result *r) { (void)r; poly_set_copy_ahead((PolyContext *)a[0].p, (bool)a[1].i); return true; }
static bool call_poly_can_copy_ahead(const Arg *a, Result *r) { (void)r; (void)poly_can_copy_ahead((const PolyContext *)a[0].p); return true; }
static bool call_poly_realize(const Arg *a, Result *r) { (void)r; return poly_realize((PolyTensor *)a[0].p) == POLY_OK; }
static bool call_poly_realize_many(const Arg *a, Result *r) { (void)r; return poly_realize_many((PolyTensor *const *)a[0].p, (int)a[1].i) == POLY_OK; }
static bool call_poly_read(const Arg *a, Result *r) { (void)r; return poly_read((PolyTensor *)a[0].p, (void *)a[1].p, (size_t)a[2].i) == POLY_OK; }
static bool call_poly_data(const Arg *a, Result *r) { (void)r; (void)poly_data((PolyTensor *)a[0].p); return true; }
static bool call_poly_move_here(const Arg *a, Result *r) { (void)r; return poly_move_here((PolyTensor *)a[0].p) == POLY_OK; }
static bool call_poly_device_data(const Arg *a, Result *r) { (void)r; (void)poly_device_data((PolyTensor *)a[0].p); return true; }
static bool call_poly_memory_id(const Arg *a, Result *r) { (void)r; (void)poly_memory_id((PolyTensor *)a[0].p); return true; }
static bool call_poly_item(const Arg *a, Result *r) { (void)r; (void)poly_item((PolyTensor *)a[0].p); return true; }
static bool call_poly_item_int(const Arg *a, Result *r) { (void)r; (void)poly_item_int((PolyTensor *)a[0].p); return true; }
static bool call_poly_write(const Arg *a, Result *r) { (void)r; return poly_write((PolyTensor *)a[0].p, (const void *)a[1].p, (size_t)a[2].i) == POLY_OK; }
static bool call_poly_empty(const Arg *a, Result *r) { r->p = poly_empty((PolyContext *)a[0].p, (PolyDType)a[1].i, (int)a[2].i, (const int64_t *)a[3].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_zeros(const Arg *a, Result *r) { r->p = poly_zeros((PolyContext *)a[0].p, (PolyDType)a[1].i, (int)a[2].i, (const int64_t *)a[3].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_ones(const Arg *a, Result *r) { r->p = poly_ones((PolyContext *)a[0].p, (PolyDType)a[1].i, (int)a[2].i, (const int64_t *)a[3].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_full(const Arg *a, Result *r) { r->p = poly_full((PolyContext *)a[0].p, (PolyDType)a[1].i, (int)a[2].i, (const int64_t *)a[3].p, a[4].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_full_int(const Arg *a, Result *r) { r->p = poly_full_int((PolyContext *)a[0].p, (PolyDType)a[1].i, (int)a[2].i, (const int64_t *)a[3].p, (int64_t)a[4].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_scalar(const Arg *a, Result *r) { r->p = poly_scalar((PolyContext *)a[0].p, (PolyDType)a[1].i, a[2].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_arange(const Arg *a, Result *r) { r->p = poly_arange((PolyContext *)a[0].p, (PolyDType)a[1].i, a[2].d, a[3].d, a[4].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_iota(const Arg *a, Result *r) { r->p = poly_iota((PolyContext *)a[0].p, (PolyDType)a[1].i, (int64_t)a[2].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_linspace(const Arg *a, Result *r) { r->p = poly_linspace((PolyContext *)a[0].p, (PolyDType)a[1].i, a[2].d, a[3].d, (int64_t)a[4].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_eye(const Arg *a, Result *r) { r->p = poly_eye((PolyContext *)a[0].p, (PolyDType)a[1].i, (int64_t)a[2].i, (int64_t)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_full_like(const Arg *a, Result *r) { r->p = poly_full_like((PolyTensor *)a[0].p, a[1].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_zeros_like(const Arg *a, Result *r) { r->p = poly_zeros_like((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_ones_like(const Arg *a, Result *r) { r->p = poly_ones_like((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_empty_like(const Arg *a, Result *r) { r->p = poly_empty_like((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_rand_like(const Arg *a, Result *r) { r->p = poly_rand_like((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_randn_like(const Arg *a, Result *r) { r->p = poly_randn_like((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_rand(const Arg *a, Result *r) { r->p = poly_rand((PolyContext *)a[0].p, (PolyDType)a[1].i, (int)a[2].i, (const int64_t *)a[3].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_randn(const Arg *a, Result *r) { r->p = poly_randn((PolyContext *)a[0].p, (PolyDType)a[1].i, (int)a[2].i, (const int64_t *)a[3].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_randint(const Arg *a, Result *r) { r->p = poly_randint((PolyContext *)a[0].p, (PolyDType)a[1].i, (int)a[2].i, (const int64_t *)a[3].p, (int64_t)a[4].i, (int64_t)a[5].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_uniform(const Arg *a, Result *r) { r->p = poly_uniform((PolyContext *)a[0].p, (PolyDType)a[1].i, (int)a[2].i, (const int64_t *)a[3].p, a[4].d, a[5].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_normal(const Arg *a, Result *r) { r->p = poly_normal((PolyContext *)a[0].p, (PolyDType)a[1].i, (int)a[2].i, (const int64_t *)a[3].p, a[4].d, a[5].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_randperm(const Arg *a, Result *r) { r->p = poly_randperm((PolyContext *)a[0].p, (int64_t)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_scaled_uniform(const Arg *a, Result *r) { r->p = poly_scaled_uniform((PolyContext *)a[0].p, (PolyDType)a[1].i, (int)a[2].i, (const int64_t *)a[3].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_glorot_uniform(const Arg *a, Result *r) { r->p = poly_glorot_uniform((PolyContext *)a[0].p, (PolyDType)a[1].i, (int)a[2].i, (const int64_t *)a[3].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_glorot_normal(const Arg *a, Result *r) { r->p = poly_glorot_normal((PolyContext *)a[0].p, (PolyDType)a[1].i, (int)a[2].i, (const int64_t *)a[3].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_kaiming_uniform(const Arg *a, Result *r) { r->p = poly_kaiming_uniform((PolyContext *)a[0].p, (PolyDType)a[1].i, (int)a[2].i, (const int64_t *)a[3].p, a[4].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_kaiming_normal(const Arg *a, Result *r) { r->p = poly_kaiming_normal((PolyContext *)a[0].p, (PolyDType)a[1].i, (int)a[2].i, (const int64_t *)a[3].p, a[4].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_multinomial(const Arg *a, Result *r) { r->p = poly_multinomial((PolyTensor *)a[0].p, (int64_t)a[1].i, (bool)a[2].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_binary(const Arg *a, Result *r) { r->p = poly_binary((PolyBinaryOp)a[0].i, (PolyTensor *)a[1].p, (PolyTensor *)a[2].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_binary_weak(const Arg *a, Result *r) { r->p = poly_binary_weak((PolyBinaryOp)a[0].i, (PolyTensor *)a[1].p, (PolyTensor *)a[2].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_binary_scalar(const Arg *a, Result *r) { r->p = poly_binary_scalar((PolyBinaryOp)a[0].i, (PolyTensor *)a[1].p, (char)a[2].i, (int64_t)a[3].i, a[4].d, (bool)a[5].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_add(const Arg *a, Result *r) { r->p = poly_add((PolyTensor *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_sub(const Arg *a, Result *r) { r->p = poly_sub((PolyTensor *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_mul(const Arg *a, Result *r) { r->p = poly_mul((PolyTensor *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_div(const Arg *a, Result *r) { r->p = poly_div((PolyTensor *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_pow(const Arg *a, Result *r) { r->p = poly_pow((PolyTensor *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_maximum(const Arg *a, Result *r) { r->p = poly_maximum((PolyTensor *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_minimum(const Arg *a, Result *r) { r->p = poly_minimum((PolyTensor *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_lt(const Arg *a, Result *r) { r->p = poly_lt((PolyTensor *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_eq(const Arg *a, Result *r) { r->p = poly_eq((PolyTensor *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_add_scalar(const Arg *a, Result *r) { r->p = poly_add_scalar((PolyTensor *)a[0].p, a[1].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_mul_scalar(const Arg *a, Result *r) { r->p = poly_mul_scalar((PolyTensor *)a[0].p, a[1].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_where(const Arg *a, Result *r) { r->p = poly_where((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (PolyTensor *)a[2].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_clamp(const Arg *a, Result *r) { r->p = poly_clamp((PolyTensor *)a[0].p, a[1].d, a[2].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_logaddexp(const Arg *a, Result *r) { r->p = poly_logaddexp((PolyTensor *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_lerp(const Arg *a, Result *r) { r->p = poly_lerp((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (PolyTensor *)a[2].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_isclose(const Arg *a, Result *r) { r->p = poly_isclose((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, a[2].d, a[3].d, (bool)a[4].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_unary(const Arg *a, Result *r) { r->p = poly_unary((PolyUnaryOp)a[0].i, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_neg(const Arg *a, Result *r) { r->p = poly_neg((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_abs(const Arg *a, Result *r) { r->p = poly_abs((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_square(const Arg *a, Result *r) { r->p = poly_square((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_sqrt(const Arg *a, Result *r) { r->p = poly_sqrt((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_exp(const Arg *a, Result *r) { r->p = poly_exp((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_log(const Arg *a, Result *r) { r->p = poly_log((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_tanh(const Arg *a, Result *r) { r->p = poly_tanh((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_sigmoid(const Arg *a, Result *r) { r->p = poly_sigmoid((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_relu(const Arg *a, Result *r) { r->p = poly_relu((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_gelu(const Arg *a, Result *r) { r->p = poly_gelu((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_leaky_relu(const Arg *a, Result *r) { r->p = poly_leaky_relu((PolyTensor *)a[0].p, a[1].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_elu(const Arg *a, Result *r) { r->p = poly_elu((PolyTensor *)a[0].p, a[1].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_celu(const Arg *a, Result *r) { r->p = poly_celu((PolyTensor *)a[0].p, a[1].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_hardtanh(const Arg *a, Result *r) { r->p = poly_hardtanh((PolyTensor *)a[0].p, a[1].d, a[2].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_softplus(const Arg *a, Result *r) { r->p = poly_softplus((PolyTensor *)a[0].p, a[1].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_polygamma(const Arg *a, Result *r) { r->p = poly_polygamma((int)a[0].i, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_cast(const Arg *a, Result *r) { r->p = poly_cast((PolyTensor *)a[0].p, (PolyDType)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_bitcast(const Arg *a, Result *r) { r->p = poly_bitcast((PolyTensor *)a[0].p, (PolyDType)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_keccak(const Arg *a, Result *r) { r->p = poly_keccak((PolyTensor *)a[0].p, (int)a[1].i, (int)a[2].i, (int)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_sum(const Arg *a, Result *r) { r->p = poly_sum((PolyTensor *)a[0].p, (int)a[1].i, (const int *)a[2].p, (bool)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_sum_dtype(const Arg *a, Result *r) { r->p = poly_sum_dtype((PolyTensor *)a[0].p, (int)a[1].i, (const int *)a[2].p, (bool)a[3].i, (PolyDType)a[4].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_prod(const Arg *a, Result *r) { r->p = poly_prod((PolyTensor *)a[0].p, (int)a[1].i, (const int *)a[2].p, (bool)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_max(const Arg *a, Result *r) { r->p = poly_max((PolyTensor *)a[0].p, (int)a[1].i, (const int *)a[2].p, (bool)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_min(const Arg *a, Result *r) { r->p = poly_min((PolyTensor *)a[0].p, (int)a[1].i, (const int *)a[2].p, (bool)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_extremum_first(const Arg *a, Result *r) { r->p = poly_extremum_first((PolyTensor *)a[0].p, (int)a[1].i, (const int *)a[2].p, (bool)a[3].i, (bool)a[4].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_mean(const Arg *a, Result *r) { r->p = poly_mean((PolyTensor *)a[0].p, (int)a[1].i, (const int *)a[2].p, (bool)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_var(const Arg *a, Result *r) { r->p = poly_var((PolyTensor *)a[0].p, (int)a[1].i, (const int *)a[2].p, (bool)a[3].i, a[4].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_std(const Arg *a, Result *r) { r->p = poly_std((PolyTensor *)a[0].p, (int)a[1].i, (const int *)a[2].p, (bool)a[3].i, a[4].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_norm(const Arg *a, Result *r) { r->p = poly_norm((PolyTensor *)a[0].p, (int)a[1].i, (const int *)a[2].p, (bool)a[3].i, a[4].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_any(const Arg *a, Result *r) { r->p = poly_any((PolyTensor *)a[0].p, (int)a[1].i, (const int *)a[2].p, (bool)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_all(const Arg *a, Result *r) { r->p = poly_all((PolyTensor *)a[0].p, (int)a[1].i, (const int *)a[2].p, (bool)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_logsumexp(const Arg *a, Result *r) { r->p = poly_logsumexp((PolyTensor *)a[0].p, (int)a[1].i, (const int *)a[2].p, (bool)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_argmax(const Arg *a, Result *r) { r->p = poly_argmax((PolyTensor *)a[0].p, (int)a[1].i, (bool)a[2].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_argmin(const Arg *a, Result *r) { r->p = poly_argmin((PolyTensor *)a[0].p, (int)a[1].i, (bool)a[2].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_softmax(const Arg *a, Result *r) { r->p = poly_softmax((PolyTensor *)a[0].p, (int)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_log_softmax(const Arg *a, Result *r) { r->p = poly_log_softmax((PolyTensor *)a[0].p, (int)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_cumsum(const Arg *a, Result *r) { r->p = poly_cumsum((PolyTensor *)a[0].p, (int)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_cumprod(const Arg *a, Result *r) { r->p = poly_cumprod((PolyTensor *)a[0].p, (int)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_cummax(const Arg *a, Result *r) { r->p = poly_cummax((PolyTensor *)a[0].p, (int)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_cummin(const Arg *a, Result *r) { r->p = poly_cummin((PolyTensor *)a[0].p, (int)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_logcumsumexp(const Arg *a, Result *r) { r->p = poly_logcumsumexp((PolyTensor *)a[0].p, (int)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_reshape(const Arg *a, Result *r) { r->p = poly_reshape((PolyTensor *)a[0].p, (int)a[1].i, (const int64_t *)a[2].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_permute(const Arg *a, Result *r) { r->p = poly_permute((PolyTensor *)a[0].p, (int)a[1].i, (const int *)a[2].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_transpose(const Arg *a, Result *r) { r->p = poly_transpose((PolyTensor *)a[0].p, (int)a[1].i, (int)a[2].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_expand(const Arg *a, Result *r) { r->p = poly_expand((PolyTensor *)a[0].p, (int)a[1].i, (const int64_t *)a[2].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_shrink(const Arg *a, Result *r) { r->p = poly_shrink((PolyTensor *)a[0].p, (const int64_t *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_pad(const Arg *a, Result *r) { r->p = poly_pad((PolyTensor *)a[0].p, (const int64_t *)a[1].p, (PolyPadMode)a[2].i, a[3].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_flip(const Arg *a, Result *r) { r->p = poly_flip((PolyTensor *)a[0].p, (int)a[1].i, (const int *)a[2].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_squeeze(const Arg *a, Result *r) { r->p = poly_squeeze((PolyTensor *)a[0].p, (int)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_unsqueeze(const Arg *a, Result *r) { r->p = poly_unsqueeze((PolyTensor *)a[0].p, (int)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_flatten(const Arg *a, Result *r) { r->p = poly_flatten((PolyTensor *)a[0].p, (int)a[1].i, (int)a[2].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_unflatten(const Arg *a, Result *r) { r->p = poly_unflatten((PolyTensor *)a[0].p, (int)a[1].i, (int)a[2].i, (const int64_t *)a[3].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_repeat(const Arg *a, Result *r) { r->p = poly_repeat((PolyTensor *)a[0].p, (int)a[1].i, (const int64_t *)a[2].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_repeat_interleave(const Arg *a, Result *r) { r->p = poly_repeat_interleave((PolyTensor *)a[0].p, (int64_t)a[1].i, (int)a[2].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_roll(const Arg *a, Result *r) { r->p = poly_roll((PolyTensor *)a[0].p, (int)a[1].i, (const int64_t *)a[2].p, (const int *)a[3].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_cat(const Arg *a, Result *r) { r->p = poly_cat((PolyTensor *const *)a[0].p, (int)a[1].i, (int)a[2].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_stack(const Arg *a, Result *r) { r->p = poly_stack((PolyTensor *const *)a[0].p, (int)a[1].i, (int)a[2].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_split(const Arg *a, Result *r) { (void)r; return poly_split((PolyTensor *)a[0].p, (int)a[1].i, (const int64_t *)a[2].p, (int)a[3].i, (PolyTensor **)a[4].p) == POLY_OK; }
static bool call_poly_chunk(const Arg *a, Result *r) { (void)r; (void)poly_chunk((PolyTensor *)a[0].p, (int)a[1].i, (int)a[2].i, (PolyTensor **)a[3].p); return true; }
static bool call_poly_tril(const Arg *a, Result *r) { r->p = poly_tril((PolyTensor *)a[0].p, (int)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_triu(const Arg *a, Result *r) { r->p = poly_triu((PolyTensor *)a[0].p, (int)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_diag(const Arg *a, Result *r) { r->p = poly_diag((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_diagonal(const Arg *a, Result *r) { r->p = poly_diagonal((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_unfold(const Arg *a, Result *r) { r->p = poly_unfold((PolyTensor *)a[0].p, (int)a[1].i, (int64_t)a[2].i, (int64_t)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_meshgrid(const Arg *a, Result *r) { (void)r; return poly_meshgrid((PolyTensor *const *)a[0].p, (int)a[1].i, (char)a[2].i, (PolyTensor **)a[3].p) == POLY_OK; }
static bool call_poly_one_hot(const Arg *a, Result *r) { r->p = poly_one_hot((PolyTensor *)a[0].p, (int64_t)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_getitem(const Arg *a, Result *r) { r->p = poly_getitem((PolyTensor *)a[0].p, (int)a[1].i, (const PolyIndex *)a[2].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_setitem(const Arg *a, Result *r) { (void)r; return poly_setitem((PolyTensor *)a[0].p, (int)a[1].i, (const PolyIndex *)a[2].p, (PolyTensor *)a[3].p) == POLY_OK; }
static bool call_poly_gather(const Arg *a, Result *r) { r->p = poly_gather((PolyTensor *)a[0].p, (int)a[1].i, (PolyTensor *)a[2].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_index_select(const Arg *a, Result *r) { r->p = poly_index_select((PolyTensor *)a[0].p, (int)a[1].i, (PolyTensor *)a[2].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_scatter(const Arg *a, Result *r) { r->p = poly_scatter((PolyTensor *)a[0].p, (int)a[1].i, (PolyTensor *)a[2].p, (PolyTensor *)a[3].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_scatter_reduce(const Arg *a, Result *r) { r->p = poly_scatter_reduce((PolyTensor *)a[0].p, (int)a[1].i, (PolyTensor *)a[2].p, (PolyTensor *)a[3].p, (const char *)a[4].p, (bool)a[5].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_index_add(const Arg *a, Result *r) { r->p = poly_index_add((PolyTensor *)a[0].p, (int)a[1].i, (PolyTensor *)a[2].p, (PolyTensor *)a[3].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_sort(const Arg *a, Result *r) { (void)r; return poly_sort((PolyTensor *)a[0].p, (int)a[1].i, (bool)a[2].i, (PolyTensor **)a[3].p, (PolyTensor **)a[4].p) == POLY_OK; }
static bool call_poly_argsort(const Arg *a, Result *r) { r->p = poly_argsort((PolyTensor *)a[0].p, (int)a[1].i, (bool)a[2].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_topk(const Arg *a, Result *r) { (void)r; return poly_topk((PolyTensor *)a[0].p, (int64_t)a[1].i, (int)a[2].i, (bool)a[3].i, (bool)a[4].i, (PolyTensor **)a[5].p, (PolyTensor **)a[6].p) == POLY_OK; }
static bool call_poly_kthvalue(const Arg *a, Result *r) { (void)r; return poly_kthvalue((PolyTensor *)a[0].p, (int64_t)a[1].i, (int)a[2].i, (PolyTensor **)a[3].p, (PolyTensor **)a[4].p) == POLY_OK; }
static bool call_poly_median(const Arg *a, Result *r) { (void)r; return poly_median((PolyTensor *)a[0].p, (int)a[1].i, (bool)a[2].i, (PolyTensor **)a[3].p, (PolyTensor **)a[4].p) == POLY_OK; }
static bool call_poly_searchsorted(const Arg *a, Result *r) { r->p = poly_searchsorted((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (bool)a[2].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_bincount(const Arg *a, Result *r) { r->p = poly_bincount((PolyTensor *)a[0].p, (int64_t)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_masked_select(const Arg *a, Result *r) { r->p = poly_masked_select((PolyTensor *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_nonzero(const Arg *a, Result *r) { r->p = poly_nonzero((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_masked_fill(const Arg *a, Result *r) { r->p = poly_masked_fill((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, a[2].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_contiguous(const Arg *a, Result *r) { r->p = poly_contiguous((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_clone(const Arg *a, Result *r) { r->p = poly_clone((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_detach(const Arg *a, Result *r) { r->p = poly_detach((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_assign(const Arg *a, Result *r) { (void)r; return poly_assign((PolyTensor *)a[0].p, (PolyTensor *)a[1].p) == POLY_OK; }
static bool call_poly_give(const Arg *a, Result *r) { (void)r; return poly_give((PolyTensor *)a[0].p, (PolyTensor *)a[1].p) == POLY_OK; }
static bool call_poly_replace(const Arg *a, Result *r) { (void)r; return poly_replace((PolyTensor *)a[0].p, (PolyTensor *)a[1].p) == POLY_OK; }
static bool call_poly_matmul(const Arg *a, Result *r) { r->p = poly_matmul((PolyTensor *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_einsum(const Arg *a, Result *r) { r->p = poly_einsum((PolyContext *)a[0].p, (const char *)a[1].p, (PolyTensor *const *)a[2].p, (int)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_solve(const Arg *a, Result *r) { r->p = poly_solve((PolyTensor *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_solve_triangular(const Arg *a, Result *r) { r->p = poly_solve_triangular((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (bool)a[2].i, (bool)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_cholesky(const Arg *a, Result *r) { r->p = poly_cholesky((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_slogdet(const Arg *a, Result *r) { (void)r; return poly_slogdet((PolyTensor *)a[0].p, (PolyTensor **)a[1].p, (PolyTensor **)a[2].p, (PolyTensor **)a[3].p) == POLY_OK; }
static bool call_poly_lu(const Arg *a, Result *r) { (void)r; return poly_lu((PolyTensor *)a[0].p, (PolyTensor **)a[1].p, (PolyTensor **)a[2].p) == POLY_OK; }
static bool call_poly_eigh(const Arg *a, Result *r) { (void)r; return poly_eigh((PolyTensor *)a[0].p, (PolyTensor **)a[1].p, (PolyTensor **)a[2].p) == POLY_OK; }
static bool call_poly_qr(const Arg *a, Result *r) { (void)r; return poly_qr((PolyTensor *)a[0].p, (PolyTensor **)a[1].p, (PolyTensor **)a[2].p) == POLY_OK; }
static bool call_poly_svd(const Arg *a, Result *r) { (void)r; return poly_svd((PolyTensor *)a[0].p, (PolyTensor **)a[1].p, (PolyTensor **)a[2].p, (PolyTensor **)a[3].p) == POLY_OK; }
static bool call_poly_linear(const Arg *a, Result *r) { r->p = poly_linear((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (PolyTensor *)a[2].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_conv(const Arg *a, Result *r) { r->p = poly_conv((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (PolyTensor *)a[2].p, (int)a[3].i, (const int64_t *)a[4].p, (const int64_t *)a[5].p, (const int64_t *)a[6].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_conv_transpose(const Arg *a, Result *r) { r->p = poly_conv_transpose((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (PolyTensor *)a[2].p, (int)a[3].i, (const int64_t *)a[4].p, (const int64_t *)a[5].p, (const int64_t *)a[6].p, (const int64_t *)a[7].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_max_pool(const Arg *a, Result *r) { r->p = poly_max_pool((PolyTensor *)a[0].p, (int)a[1].i, (const int64_t *)a[2].p, (const int64_t *)a[3].p, (const int64_t *)a[4].p, (const int64_t *)a[5].p, (bool)a[6].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_avg_pool(const Arg *a, Result *r) { r->p = poly_avg_pool((PolyTensor *)a[0].p, (int)a[1].i, (const int64_t *)a[2].p, (const int64_t *)a[3].p, (const int64_t *)a[4].p, (const int64_t *)a[5].p, (bool)a[6].i, (bool)a[7].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_attention(const Arg *a, Result *r) { r->p = poly_attention((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (PolyTensor *)a[2].p, (PolyTensor *)a[3].p, (bool)a[4].i, a[5].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_layernorm(const Arg *a, Result *r) { r->p = poly_layernorm((PolyTensor *)a[0].p, (int)a[1].i, a[2].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_rmsnorm(const Arg *a, Result *r) { r->p = poly_rmsnorm((PolyTensor *)a[0].p, a[1].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_groupnorm(const Arg *a, Result *r) { r->p = poly_groupnorm((PolyTensor *)a[0].p, (int)a[1].i, a[2].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_batchnorm(const Arg *a, Result *r) { r->p = poly_batchnorm((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (PolyTensor *)a[2].p, (PolyTensor *)a[3].p, (PolyTensor *)a[4].p, (int)a[5].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_batchnorm_train(const Arg *a, Result *r) { r->p = poly_batchnorm_train((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (PolyTensor *)a[2].p, (PolyTensor *)a[3].p, (PolyTensor *)a[4].p, (PolyTensor *)a[5].p, a[6].d, a[7].d, (int)a[8].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_dropout(const Arg *a, Result *r) { r->p = poly_dropout((PolyTensor *)a[0].p, a[1].d); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_cross_entropy(const Arg *a, Result *r) { r->p = poly_cross_entropy((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, a[2].d, (int64_t)a[3].i, (char)a[4].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_nll_loss(const Arg *a, Result *r) { r->p = poly_nll_loss((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (PolyTensor *)a[2].p, (int64_t)a[3].i, (char)a[4].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_binary_cross_entropy(const Arg *a, Result *r) { r->p = poly_binary_cross_entropy((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (char)a[2].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_binary_cross_entropy_logits(const Arg *a, Result *r) { r->p = poly_binary_cross_entropy_logits((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (PolyTensor *)a[2].p, (char)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_mse_loss(const Arg *a, Result *r) { r->p = poly_mse_loss((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (char)a[2].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_l1_loss(const Arg *a, Result *r) { r->p = poly_l1_loss((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (char)a[2].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_huber_loss(const Arg *a, Result *r) { r->p = poly_huber_loss((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, a[2].d, (char)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_from_coo(const Arg *a, Result *r) { r->p = poly_graph_from_coo((PolyContext *)a[0].p, (const void *)a[1].p, (const void *)a[2].p, (PolyDType)a[3].i, (int64_t)a[4].i, (int64_t)a[5].i, (int64_t)a[6].i); r->kind = "GRAPH"; return r->p != NULL; }
static bool call_poly_graph_from_csr(const Arg *a, Result *r) { r->p = poly_graph_from_csr((PolyContext *)a[0].p, (const void *)a[1].p, (const void *)a[2].p, (PolyDType)a[3].i, (int64_t)a[4].i, (int64_t)a[5].i); r->kind = "GRAPH"; return r->p != NULL; }
static bool call_poly_graph_of(const Arg *a, Result *r) { r->p = poly_graph_of((PolyTensor *)a[0].p, (int64_t)a[1].i, (int64_t)a[2].i); r->kind = "GRAPH"; return r->p != NULL; }
static bool call_poly_graph_retain(const Arg *a, Result *r) { r->p = poly_graph_retain((PolyGraph *)a[0].p); r->kind = "GRAPH"; return r->p != NULL; }
static bool call_poly_graph_free(const Arg *a, Result *r) { (void)r; poly_graph_free((PolyGraph *)a[0].p); return true; }
static bool call_poly_graph_num_edges(const Arg *a, Result *r) { (void)r; (void)poly_graph_num_edges((const PolyGraph *)a[0].p); return true; }
static bool call_poly_graph_num_src(const Arg *a, Result *r) { (void)r; (void)poly_graph_num_src((const PolyGraph *)a[0].p); return true; }
static bool call_poly_graph_num_dst(const Arg *a, Result *r) { (void)r; (void)poly_graph_num_dst((const PolyGraph *)a[0].p); return true; }
static bool call_poly_graph_reversed(const Arg *a, Result *r) { r->p = poly_graph_reversed((PolyGraph *)a[0].p); r->kind = "GRAPH"; return r->p != NULL; }
static bool call_poly_graph_with_self_loops(const Arg *a, Result *r) { r->p = poly_graph_with_self_loops((PolyGraph *)a[0].p, (bool)a[1].i); r->kind = "GRAPH"; return r->p != NULL; }
static bool call_poly_graph_with_own_loops(const Arg *a, Result *r) { r->p = poly_graph_with_own_loops((PolyGraph *)a[0].p); r->kind = "GRAPH"; return r->p != NULL; }
static bool call_poly_graph_without_self_loops(const Arg *a, Result *r) { r->p = poly_graph_without_self_loops((PolyGraph *)a[0].p); r->kind = "GRAPH"; return r->p != NULL; }
static bool call_poly_graph_undirected(const Arg *a, Result *r) { r->p = poly_graph_undirected((PolyGraph *)a[0].p); r->kind = "GRAPH"; return r->p != NULL; }
static bool call_poly_graph_coalesced(const Arg *a, Result *r) { r->p = poly_graph_coalesced((PolyGraph *)a[0].p); r->kind = "GRAPH"; return r->p != NULL; }
static bool call_poly_graph_origin(const Arg *a, Result *r) { r->p = poly_graph_origin((PolyGraph *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_src_index(const Arg *a, Result *r) { r->p = poly_graph_src_index((PolyGraph *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_dst_index(const Arg *a, Result *r) { r->p = poly_graph_dst_index((PolyGraph *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_rowptr(const Arg *a, Result *r) { r->p = poly_graph_rowptr((PolyGraph *)a[0].p, (char)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_order(const Arg *a, Result *r) { r->p = poly_graph_order((PolyGraph *)a[0].p, (char)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_other(const Arg *a, Result *r) { r->p = poly_graph_other((PolyGraph *)a[0].p, (char)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_degree(const Arg *a, Result *r) { r->p = poly_graph_degree((PolyGraph *)a[0].p, (char)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_loops(const Arg *a, Result *r) { r->p = poly_graph_loops((PolyGraph *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_norm(const Arg *a, Result *r) { r->p = poly_graph_norm((PolyGraph *)a[0].p, (char)a[1].i, (bool)a[2].i, (PolyDType)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_own(const Arg *a, Result *r) { r->p = poly_graph_own((PolyGraph *)a[0].p, (PolyDType)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_smooth(const Arg *a, Result *r) { r->p = poly_graph_smooth((PolyGraph *)a[0].p, (PolyTensor *)a[1].p, (char)a[2].i, (bool)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_arrays(const Arg *a, Result *r) { (void)r; (void)poly_graph_arrays((PolyGraph *)a[0].p, (PolyGraph *)a[1].p, (PolyTensor **)a[2].p, (int)a[3].i); return true; }
static bool call_poly_graph_src(const Arg *a, Result *r) { r->p = poly_graph_src((PolyGraph *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_dst(const Arg *a, Result *r) { r->p = poly_graph_dst((PolyGraph *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_reduce(const Arg *a, Result *r) { r->p = poly_graph_reduce((PolyGraph *)a[0].p, (PolyTensor *)a[1].p, (const char *)a[2].p, (char)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_softmax(const Arg *a, Result *r) { r->p = poly_graph_softmax((PolyGraph *)a[0].p, (PolyTensor *)a[1].p, (char)a[2].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_ppr(const Arg *a, Result *r) { (void)r; return poly_graph_ppr((PolyGraph *)a[0].p, (const int64_t *)a[1].p, (int64_t)a[2].i, a[3].d, a[4].d, (PolyTensor **)a[5].p) == POLY_OK; }
static bool call_poly_sampler_new(const Arg *a, Result *r) { r->p = poly_sampler_new((const PolyAllocator *)a[0].p, (int)a[1].i, (const int64_t *)a[2].p); r->kind = "SAMPLER"; return r->p != NULL; }
static bool call_poly_sampler_free(const Arg *a, Result *r) { (void)r; poly_sampler_free((PolySampler *)a[0].p); return true; }
static bool call_poly_sampler_add(const Arg *a, Result *r) { (void)r; return poly_sampler_add((PolySampler *)a[0].p, (const PolyRelation *)a[1].p, (int)a[2].i) == POLY_OK; }
static bool call_poly_sampler_num_edges(const Arg *a, Result *r) { (void)r; (void)poly_sampler_num_edges((const PolySampler *)a[0].p, (int)a[1].i); return true; }
static bool call_poly_sampler_error(const Arg *a, Result *r) { (void)r; return poly_sampler_error((const PolySampler *)a[0].p) == POLY_OK; }
static bool call_poly_sampler_error_text(const Arg *a, Result *r) { (void)r; (void)poly_sampler_error_text((const PolySampler *)a[0].p); return true; }
static bool call_poly_sample_new(const Arg *a, Result *r) { r->p = poly_sample_new((const PolySampler *)a[0].p); r->kind = "SAMPLE"; return r->p != NULL; }
static bool call_poly_sample_free(const Arg *a, Result *r) { (void)r; poly_sample_free((PolySample *)a[0].p); return true; }
static bool call_poly_sample_run(const Arg *a, Result *r) { (void)r; return poly_sample_run((PolySample *)a[0].p, (const PolySampleSpec *)a[1].p, (int)a[2].i, (const PolySeeds *)a[3].p) == POLY_OK; }
static bool call_poly_sample_run_hgt(const Arg *a, Result *r) { (void)r; return poly_sample_run_hgt((PolySample *)a[0].p, (const PolySampleSpec *)a[1].p, (int)a[2].i, (const PolySeeds *)a[3].p) == POLY_OK; }
static bool call_poly_sample_num_nodes(const Arg *a, Result *r) { (void)r; (void)poly_sample_num_nodes((const PolySample *)a[0].p, (int)a[1].i); return true; }
static bool call_poly_sample_num_edges(const Arg *a, Result *r) { (void)r; (void)poly_sample_num_edges((const PolySample *)a[0].p, (int)a[1].i); return true; }
static bool call_poly_sample_hop_nodes(const Arg *a, Result *r) { (void)r; (void)poly_sample_hop_nodes((const PolySample *)a[0].p, (int)a[1].i, (int)a[2].i); return true; }
static bool call_poly_sample_hop_edges(const Arg *a, Result *r) { (void)r; (void)poly_sample_hop_edges((const PolySample *)a[0].p, (int)a[1].i, (int)a[2].i); return true; }
static bool call_poly_sample_read(const Arg *a, Result *r) { (void)r; return poly_sample_read((PolySample *)a[0].p, (char)a[1].i, (int)a[2].i, (int64_t *)a[3].p) == POLY_OK; }
static bool call_poly_sample_error(const Arg *a, Result *r) { (void)r; return poly_sample_error((const PolySample *)a[0].p) == POLY_OK; }
static bool call_poly_sample_error_text(const Arg *a, Result *r) { (void)r; (void)poly_sample_error_text((const PolySample *)a[0].p); return true; }
static bool call_poly_draw_below(const Arg *a, Result *r) { r->p = poly_draw_below((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (PolyTensor *)a[2].p, (uint64_t)a[3].i, (uint64_t)a[4].i, (int64_t)a[5].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_sampler_walk(const Arg *a, Result *r) { (void)r; (void)poly_sampler_walk((const PolySampler *)a[0].p, (int)a[1].i, (const int64_t *)a[2].p, (int64_t)a[3].i, (int64_t)a[4].i, a[5].d, a[6].d, (uint64_t)a[7].i, (int)a[8].i, (int64_t *)a[9].p, (int64_t *)a[10].p); return true; }
static bool call_poly_gather_rows(const Arg *a, Result *r) { (void)r; (void)poly_gather_rows((const void *)a[0].p, (int64_t)a[1].i, (size_t)a[2].i, (const int64_t *)a[3].p, (int64_t)a[4].i, (void *)a[5].p, (int)a[6].i); return true; }
static bool call_poly_graph_partition(const Arg *a, Result *r) { (void)r; return poly_graph_partition((PolyGraph *)a[0].p, (int64_t)a[1].i, (bool)a[2].i, (int64_t *)a[3].p) == POLY_OK; }
static bool call_poly_rmat(const Arg *a, Result *r) { (void)r; return poly_rmat((int64_t)a[0].i, (int64_t)a[1].i, a[2].d, a[3].d, a[4].d, (uint64_t)a[5].i, (bool)a[6].i, (int)a[7].i, (int64_t *)a[8].p) == POLY_OK; }
static bool call_poly_rmat_edges(const Arg *a, Result *r) { r->p = poly_rmat_edges((PolyContext *)a[0].p, (int64_t)a[1].i, (int64_t)a[2].i, a[3].d, a[4].d, a[5].d, (uint64_t)a[6].i, (bool)a[7].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_knn(const Arg *a, Result *r) { r->p = poly_knn((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (const int64_t *)a[2].p, (const int64_t *)a[3].p, (int64_t)a[4].i, (int64_t)a[5].i, (bool)a[6].i, (bool)a[7].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_radius(const Arg *a, Result *r) { r->p = poly_radius((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (const int64_t *)a[2].p, (const int64_t *)a[3].p, (int64_t)a[4].i, a[5].d, (int64_t)a[6].i, (bool)a[7].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_fps(const Arg *a, Result *r) { r->p = poly_fps((PolyTensor *)a[0].p, (const int64_t *)a[1].p, (int64_t)a[2].i, a[3].d, (const int64_t *)a[4].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_match(const Arg *a, Result *r) { r->p = poly_graph_match((PolyGraph *)a[0].p, (PolyTensor *)a[1].p, (uint64_t)a[2].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_contract(const Arg *a, Result *r) { r->p = poly_graph_contract((PolyGraph *)a[0].p, (PolyTensor *)a[1].p, (PolyTensor **)a[2].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_graph_product(const Arg *a, Result *r) { r->p = poly_graph_product((PolyGraph *)a[0].p, (PolyGraph *)a[1].p, (PolyTensor **)a[2].p); r->kind = "GRAPH"; return r->p != NULL; }
static bool call_poly_graph_product_values(const Arg *a, Result *r) { r->p = poly_graph_product_values((PolyGraph *)a[0].p, (PolyTensor *)a[1].p, (PolyGraph *)a[2].p, (PolyTensor *)a[3].p, (PolyTensor **)a[4].p); r->kind = "GRAPH"; return r->p != NULL; }
static bool call_poly_reduce_runs(const Arg *a, Result *r) { r->p = poly_reduce_runs((PolyTensor *)a[0].p, (const int64_t *)a[1].p, (int64_t)a[2].i, (char)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_sort_edges(const Arg *a, Result *r) { (void)r; return poly_sort_edges((PolyTensor *)a[0].p, (int64_t)a[1].i, (bool)a[2].i, (bool)a[3].i, (PolyTensor **)a[4].p, (PolyTensor **)a[5].p, (PolyTensor **)a[6].p) == POLY_OK; }
static bool call_poly_filter_edges(const Arg *a, Result *r) { (void)r; return poly_filter_edges((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (PolyTensor *)a[2].p, (PolyTensor *)a[3].p, (char)a[4].i, (PolyTensor **)a[5].p, (PolyTensor **)a[6].p) == POLY_OK; }
static bool call_poly_top_rows(const Arg *a, Result *r) { r->p = poly_top_rows((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (PolyTensor *)a[2].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_compress(const Arg *a, Result *r) { r->p = poly_compress((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (int)a[2].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_random_mask(const Arg *a, Result *r) { r->p = poly_random_mask((PolyContext *)a[0].p, (int64_t)a[1].i, a[2].d, (uint64_t)a[3].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_zoom_in(const Arg *a, Result *r) { r->p = poly_zoom_in((PolyGraph *)a[0].p); r->kind = "VERTEX"; return r->p != NULL; }
static bool call_poly_zoom_out(const Arg *a, Result *r) { r->p = poly_zoom_out((PolyVertex *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_zoom_out_many(const Arg *a, Result *r) { (void)r; return poly_zoom_out_many((PolyVertex *)a[0].p, (PolyTensor *const *)a[1].p, (int)a[2].i, (PolyTensor **)a[3].p) == POLY_OK; }
static bool call_poly_innbs(const Arg *a, Result *r) { r->p = poly_innbs((PolyVertex *)a[0].p); r->kind = "NBS"; return r->p != NULL; }
static bool call_poly_outnbs(const Arg *a, Result *r) { r->p = poly_outnbs((PolyVertex *)a[0].p); r->kind = "NBS"; return r->p != NULL; }
static bool call_poly_nbs(const Arg *a, Result *r) { r->p = poly_nbs((PolyVertex *)a[0].p, (PolyGraph *)a[1].p, (char)a[2].i); r->kind = "NBS"; return r->p != NULL; }
static bool call_poly_self(const Arg *a, Result *r) { r->p = poly_self((PolyVertex *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_nb(const Arg *a, Result *r) { r->p = poly_nb((PolyNbs *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_edge(const Arg *a, Result *r) { r->p = poly_edge((PolyNbs *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_nb_reduce(const Arg *a, Result *r) { r->p = poly_nb_reduce((PolyNbs *)a[0].p, (PolyTensor *)a[1].p, (const char *)a[2].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_nb_sum(const Arg *a, Result *r) { r->p = poly_nb_sum((PolyNbs *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_nb_mean(const Arg *a, Result *r) { r->p = poly_nb_mean((PolyNbs *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_nb_max(const Arg *a, Result *r) { r->p = poly_nb_max((PolyNbs *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_nb_min(const Arg *a, Result *r) { r->p = poly_nb_min((PolyNbs *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_nb_softmax(const Arg *a, Result *r) { r->p = poly_nb_softmax((PolyNbs *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_nb_count(const Arg *a, Result *r) { r->p = poly_nb_count((PolyNbs *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_nb_edges(const Arg *a, Result *r) { r->p = poly_nb_edges((PolyNbs *)a[0].p, (PolyTensor *)a[1].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_set_requires_grad(const Arg *a, Result *r) { (void)r; return poly_set_requires_grad((PolyTensor *)a[0].p, (bool)a[1].i) == POLY_OK; }
static bool call_poly_requires_grad(const Arg *a, Result *r) { (void)r; (void)poly_requires_grad((PolyTensor *)a[0].p); return true; }
static bool call_poly_grad(const Arg *a, Result *r) { (void)r; return poly_grad((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (PolyTensor *const *)a[2].p, (int)a[3].i, (PolyTensor **)a[4].p) == POLY_OK; }
static bool call_poly_function(const Arg *a, Result *r) { r->p = poly_function((PolyTensor *)a[0].p, (PolyTensor *const *)a[1].p, (int)a[2].i, (const PolyFunction *)a[3].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_depends_on(const Arg *a, Result *r) { (void)r; (void)poly_depends_on((PolyTensor *)a[0].p, (PolyTensor *)a[1].p); return true; }
static bool call_poly_depends_on_leaves(const Arg *a, Result *r) { (void)r; (void)poly_depends_on_leaves((PolyTensor *)a[0].p); return true; }
static bool call_poly_check_cycles(const Arg *a, Result *r) { (void)r; (void)poly_check_cycles((PolyContext *)a[0].p); return true; }
static bool call_poly_backward(const Arg *a, Result *r) { (void)r; return poly_backward((PolyTensor *)a[0].p, (PolyTensor *)a[1].p) == POLY_OK; }
static bool call_poly_backward_all(const Arg *a, Result *r) { (void)r; return poly_backward_all((PolyTensor *)a[0].p, (PolyTensor *)a[1].p) == POLY_OK; }
static bool call_poly_backward_until(const Arg *a, Result *r) { (void)r; return poly_backward_until((PolyTensor *)a[0].p, (PolyTensor *)a[1].p, (PolyTensor *const *)a[2].p, (int)a[3].i, (PolyTensor **)a[4].p) == POLY_OK; }
static bool call_poly_get_grad(const Arg *a, Result *r) { r->p = poly_get_grad((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_set_grad(const Arg *a, Result *r) { (void)r; return poly_set_grad((PolyTensor *)a[0].p, (PolyTensor *)a[1].p) == POLY_OK; }
static bool call_poly_sgd(const Arg *a, Result *r) { r->p = poly_sgd((PolyTensor *const *)a[0].p, (int)a[1].i, a[2].d, a[3].d, a[4].d, (bool)a[5].i); r->kind = "OPTIM"; return r->p != NULL; }
static bool call_poly_adam(const Arg *a, Result *r) { r->p = poly_adam((PolyTensor *const *)a[0].p, (int)a[1].i, a[2].d, a[3].d, a[4].d, a[5].d, a[6].d); r->kind = "OPTIM"; return r->p != NULL; }
static bool call_poly_adamw(const Arg *a, Result *r) { r->p = poly_adamw((PolyTensor *const *)a[0].p, (int)a[1].i, a[2].d, a[3].d, a[4].d, a[5].d, a[6].d); r->kind = "OPTIM"; return r->p != NULL; }
static bool call_poly_rmsprop(const Arg *a, Result *r) { r->p = poly_rmsprop((PolyTensor *const *)a[0].p, (int)a[1].i, a[2].d, a[3].d, a[4].d, a[5].d, a[6].d); r->kind = "OPTIM"; return r->p != NULL; }
static bool call_poly_lamb(const Arg *a, Result *r) { r->p = poly_lamb((PolyTensor *const *)a[0].p, (int)a[1].i, a[2].d, a[3].d, a[4].d, a[5].d, a[6].d); r->kind = "OPTIM"; return r->p != NULL; }
static bool call_poly_optim_new(const Arg *a, Result *r) { r->p = poly_optim_new((const char *)a[0].p, (PolyTensor *const *)a[1].p, (int)a[2].i, a[3].d, (const PolyOptimOptions *)a[4].p); r->kind = "OPTIM"; return r->p != NULL; }
static bool call_poly_optim_set(const Arg *a, Result *r) { (void)r; return poly_optim_set((PolyOptim *)a[0].p, (const PolyOptimOptions *)a[1].p) == POLY_OK; }
static bool call_poly_optim_free(const Arg *a, Result *r) { (void)r; poly_optim_free((PolyOptim *)a[0].p); return true; }
static bool call_poly_optim_zero_grad(const Arg *a, Result *r) { (void)r; poly_optim_zero_grad((PolyOptim *)a[0].p); return true; }
static bool call_poly_optim_step(const Arg *a, Result *r) { (void)r; return poly_optim_step((PolyOptim *)a[0].p) == POLY_OK; }
static bool call_poly_optim_schedule(const Arg *a, Result *r) { (void)r; return poly_optim_schedule((PolyOptim *)a[0].p) == POLY_OK; }
static bool call_poly_optim_step_if(const Arg *a, Result *r) { (void)r; return poly_optim_step_if((PolyOptim *)a[0].p, (PolyTensor *)a[1].p) == POLY_OK; }
static bool call_poly_optim_schedule_if(const Arg *a, Result *r) { (void)r; return poly_optim_schedule_if((PolyOptim *)a[0].p, (PolyTensor *)a[1].p) == POLY_OK; }
static bool call_poly_optim_set_lr(const Arg *a, Result *r) { (void)r; return poly_optim_set_lr((PolyOptim *)a[0].p, a[1].d) == POLY_OK; }
static bool call_poly_optim_lr(const Arg *a, Result *r) { (void)r; (void)poly_optim_lr((const PolyOptim *)a[0].p); return true; }
static bool call_poly_optim_state(const Arg *a, Result *r) { (void)r; (void)poly_optim_state((PolyOptim *)a[0].p, (PolyTensor **)a[1].p, (int)a[2].i); return true; }
static bool call_poly_scan(const Arg *a, Result *r) { (void)r; (void)poly_scan((PolyContext *)a[0].p, (const PolyScanBody *)a[1].p, (PolyTensor *const *)a[2].p, (int)a[3].i, (PolyTensor *const *)a[4].p, (int)a[5].i, (int64_t)a[6].i, (int)a[7].i, (PolyTensor **)a[8].p, (PolyTensor **)a[9].p); return true; }
static bool call_poly_settle(const Arg *a, Result *r) { (void)r; return poly_settle((PolyContext *)a[0].p) == POLY_OK; }
static bool call_poly_trace_begin(const Arg *a, Result *r) { (void)r; return poly_trace_begin((PolyContext *)a[0].p) == POLY_OK; }
static bool call_poly_trace_end(const Arg *a, Result *r) { (void)r; poly_trace_end((PolyContext *)a[0].p); return true; }
static bool call_poly_trace_input(const Arg *a, Result *r) { r->p = poly_trace_input((PolyTensor *)a[0].p); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_trace_reads(const Arg *a, Result *r) { (void)r; return poly_trace_reads((PolyTensor *)a[0].p) == POLY_OK; }
static bool call_poly_step_new(const Arg *a, Result *r) { r->p = poly_step_new((PolyTensor *const *)a[0].p, (int)a[1].i, (PolyTensor *const *)a[2].p, (int)a[3].i, (PolyTensor *const *)a[4].p, (int)a[5].i); r->kind = "STEP"; return r->p != NULL; }
static bool call_poly_step_run(const Arg *a, Result *r) { (void)r; return poly_step_run((PolyStep *)a[0].p, (PolyTensor *const *)a[1].p, (int)a[2].i) == POLY_OK; }
static bool call_poly_step_bind(const Arg *a, Result *r) { (void)r; return poly_step_bind((PolyStep *)a[0].p, (int64_t)a[1].i, (int64_t)a[2].i) == POLY_OK; }
static bool call_poly_step_output(const Arg *a, Result *r) { r->p = poly_step_output((PolyStep *)a[0].p, (int)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_step_kernels(const Arg *a, Result *r) { (void)r; (void)poly_step_kernels((const PolyStep *)a[0].p); return true; }
static bool call_poly_step_intermediates(const Arg *a, Result *r) { (void)r; (void)poly_step_intermediates((const PolyStep *)a[0].p); return true; }
static bool call_poly_step_peak_bytes(const Arg *a, Result *r) { (void)r; (void)poly_step_peak_bytes((PolyStep *)a[0].p); return true; }
static bool call_poly_step_trim(const Arg *a, Result *r) { (void)r; poly_step_trim((PolyStep *)a[0].p); return true; }
static bool call_poly_step_free(const Arg *a, Result *r) { (void)r; poly_step_free((PolyStep *)a[0].p); return true; }
static bool call_poly_safe_save(const Arg *a, Result *r) { (void)r; return poly_safe_save((PolyContext *)a[0].p, (const char *)a[1].p, (const char *const *)a[2].p, (PolyTensor *const *)a[3].p, (int)a[4].i) == POLY_OK; }
static bool call_poly_safe_save_with(const Arg *a, Result *r) { (void)r; return poly_safe_save_with((PolyContext *)a[0].p, (const char *)a[1].p, (const char *const *)a[2].p, (PolyTensor *const *)a[3].p, (int)a[4].i, (const char *const *)a[5].p, (int)a[6].i) == POLY_OK; }
static bool call_poly_safe_open(const Arg *a, Result *r) { r->p = poly_safe_open((PolyContext *)a[0].p, (const char *)a[1].p); r->kind = "FILE"; return r->p != NULL; }
static bool call_poly_safe_count(const Arg *a, Result *r) { (void)r; (void)poly_safe_count((const PolyStateFile *)a[0].p); return true; }
static bool call_poly_safe_name(const Arg *a, Result *r) { (void)r; (void)poly_safe_name((const PolyStateFile *)a[0].p, (int)a[1].i); return true; }
static bool call_poly_safe_get(const Arg *a, Result *r) { r->p = poly_safe_get((PolyStateFile *)a[0].p, (int)a[1].i); r->kind = "TENSOR"; return r->p != NULL; }
static bool call_poly_safe_close(const Arg *a, Result *r) { (void)r; poly_safe_close((PolyStateFile *)a[0].p); return true; }
static bool call_poly_profile_begin(const Arg *a, Result *r) { (void)r; return poly_profile_begin((PolyContext *)a[0].p) == POLY_OK; }
static bool call_poly_profile_end(const Arg *a, Result *r) { (void)r; return poly_profile_end((PolyContext *)a[0].p) == POLY_OK; }
static bool call_poly_profile_kernels(const Arg *a, Result *r) { (void)r; (void)poly_profile_kernels((const PolyContext *)a[0].p); return true; }
static bool call_poly_profile_kernel(const Arg *a, Result *r) { (void)r; return poly_profile_kernel((const PolyContext *)a[0].p, (int)a[1].i, (PolyKernelStat *)a[2].p) == POLY_OK; }
static bool call_poly_profile_stored(const Arg *a, Result *r) { (void)r; (void)poly_profile_stored((const PolyContext *)a[0].p); return true; }
static bool call_poly_profile_stored_at(const Arg *a, Result *r) { (void)r; return poly_profile_stored_at((const PolyContext *)a[0].p, (int)a[1].i, (PolyStoredStat *)a[2].p) == POLY_OK; }
static bool call_poly_profile_peak_bytes(const Arg *a, Result *r) { (void)r; (void)poly_profile_peak_bytes((const PolyContext *)a[0].p); return true; }
static bool call_poly_counters(const Arg *a, Result *r) { (void)r; return poly_counters((const PolyContext *)a[0].p, (PolyKernelStat *)a[1].p) == POLY_OK; }
static bool call_poly_source(const Arg *a, Result *r) { r->text = poly_source((PolyTensor *)a[0].p); return r->text != NULL; }
static bool call_poly_dump(const Arg *a, Result *r) { r->text = poly_dump((PolyTensor *)a[0].p); return r->text != NULL; }
static bool call_poly_explain(const Arg *a, Result *r) { r->text = poly_explain((PolyTensor *)a[0].p); return r->text != NULL; }
static bool call_poly_text_free(const Arg *a, Result *r) { (void)r; poly_text_free((PolyContext *)a[0].p, (char *)a[1].p); return true; }
static bool call_poly_compilations(const Arg *a, Result *r) { (void)r; (void)poly_compilations((const PolyContext *)a[0].p); return true; }
static bool call_poly_plans_built(const Arg *a, Result *r) { (void)r; (void)poly_plans_built((const PolyContext *)a[0].p); return true; }
static bool call_poly_plans_reused(const Arg *a, Result *r) { (void)r; (void)poly_plans_reused((const PolyContext *)a[0].p); return true; }
static bool call_poly_steps_recalled(const Arg *a, Result *r) { (void)r; (void)poly_steps_recalled((const PolyContext *)a[0].p); return true; }
static bool call_poly_cache_dir(const Arg *a, Result *r) { (void)r; (void)poly_cache_dir((const PolyContext *)a[0].p); return true; }
static bool call_poly_cache_entries(const Arg *a, Result *r) { (void)r; (void)poly_cache_entries((const PolyContext *)a[0].p); return true; }
static bool call_poly_cache_bytes(const Arg *a, Result *r) { (void)r; (void)poly_cache_bytes((const PolyContext *)a[0].p); return true; }
static bool call_poly_cache_limit(const Arg *a, Result *r) { (void)r; (void)poly_cache_limit((const PolyContext *)a[0].p); return true; }
static bool call_poly_cache_clear(const Arg *a, Result *r) { (void)r; return poly_cache_clear((PolyContext *)a[0].p) == POLY_OK; }

static const Call calls[] = {
  {"poly_set_device", call_poly_set_device, 2, true, {{"ctx", "HCONTEXT", true}, {"name", "S", true}}},
  {"poly_device", call_poly_device, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_device_card", call_poly_device_card, 2, false, {{"ctx", "HCONTEXT", true}, {"device", "S", true}}},
  {"poly_synchronize", call_poly_synchronize, 1, true, {{"ctx", "HCONTEXT", true}}},
  {"poly_set_threads", call_poly_set_threads, 2, false, {{"ctx", "HCONTEXT", true}, {"threads", "I", true}}},
  {"poly_threads", call_poly_threads, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_set_debug", call_poly_set_debug, 2, false, {{"ctx", "HCONTEXT", true}, {"level", "I", true}}},
  {"poly_manual_seed", call_poly_manual_seed, 2, false, {{"ctx", "HCONTEXT", true}, {"seed", "I", true}}},
  {"poly_draw_seed", call_poly_draw_seed, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_set_training", call_poly_set_training, 2, false, {{"ctx", "HCONTEXT", true}, {"on", "B", true}}},
  {"poly_training", call_poly_training, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_set_no_grad", call_poly_set_no_grad, 2, false, {{"ctx", "HCONTEXT", true}, {"on", "B", true}}},
  {"poly_no_grad", call_poly_no_grad, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_set_autocast", call_poly_set_autocast, 2, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}}},
  {"poly_autocast", call_poly_autocast, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_set_default_float", call_poly_set_default_float, 2, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}}},
  {"poly_default_float", call_poly_default_float, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_live_nodes", call_poly_live_nodes, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_live_tensors", call_poly_live_tensors, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_live_bytes", call_poly_live_bytes, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_peak_bytes", call_poly_peak_bytes, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_reset_peak", call_poly_reset_peak, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_device_live_bytes", call_poly_device_live_bytes, 2, false, {{"ctx", "HCONTEXT", true}, {"device", "S", true}}},
  {"poly_device_peak_bytes", call_poly_device_peak_bytes, 2, false, {{"ctx", "HCONTEXT", true}, {"device", "S", true}}},
  {"poly_device_held_bytes", call_poly_device_held_bytes, 2, false, {{"ctx", "HCONTEXT", true}, {"device", "S", true}}},
  {"poly_device_read_bytes", call_poly_device_read_bytes, 2, false, {{"ctx", "HCONTEXT", true}, {"device", "S", true}}},
  {"poly_device_trim", call_poly_device_trim, 2, false, {{"ctx", "HCONTEXT", true}, {"device", "S", true}}},
  {"poly_scope_begin", call_poly_scope_begin, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_scope_end", call_poly_scope_end, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_keep", call_poly_keep, 1, true, {{"t", "HTENSOR", true}}},
  {"poly_retain_copy", call_poly_retain_copy, 1, true, {{"t", "HTENSOR", true}}},
  {"poly_context_of", call_poly_context_of, 1, true, {{"t", "HTENSOR", true}}},
  {"poly_ndim", call_poly_ndim, 1, false, {{"t", "HTENSOR", true}}},
  {"poly_dim", call_poly_dim, 2, false, {{"t", "HTENSOR", true}, {"axis", "I", true}}},
  {"poly_shape", call_poly_shape, 2, false, {{"t", "HTENSOR", true}, {"out", "A", true}}},
  {"poly_numel", call_poly_numel, 1, false, {{"t", "HTENSOR", true}}},
  {"poly_numel_size", call_poly_numel_size, 1, false, {{"t", "HTENSOR", true}}},
  {"poly_dtype", call_poly_dtype, 1, false, {{"t", "HTENSOR", true}}},
  {"poly_dtype_name", call_poly_dtype_name, 1, false, {{"d", "T", true}}},
  {"poly_dtype_size", call_poly_dtype_size, 1, false, {{"d", "T", true}}},
  {"poly_promote", call_poly_promote, 2, false, {{"a", "T", true}, {"b", "T", true}}},
  {"poly_is_realized", call_poly_is_realized, 1, false, {{"t", "HTENSOR", true}}},
  {"poly_value_ids", call_poly_value_ids, 3, true, {{"t", "LTENSOR", true}, {"n", "N", true}, {"out", "A", true}}},
  {"poly_var_bind", call_poly_var_bind, 5, false, {{"ctx", "HCONTEXT", true}, {"name", "S", true}, {"min", "I", true}, {"max", "I", true}, {"value", "I", true}}},
  {"poly_dim_hold", call_poly_dim_hold, 3, false, {{"ctx", "HCONTEXT", true}, {"dim", "I", true}, {"on", "B", true}}},
  {"poly_dim_value", call_poly_dim_value, 2, false, {{"ctx", "HCONTEXT", true}, {"dim", "I", true}}},
  {"poly_dim_min", call_poly_dim_min, 2, false, {{"ctx", "HCONTEXT", true}, {"dim", "I", true}}},
  {"poly_dim_max", call_poly_dim_max, 2, false, {{"ctx", "HCONTEXT", true}, {"dim", "I", true}}},
  {"poly_dim_op", call_poly_dim_op, 4, false, {{"ctx", "HCONTEXT", true}, {"op", "C", true}, {"a", "I", true}, {"b", "I", true}}},
  {"poly_dim_text", call_poly_dim_text, 4, false, {{"ctx", "HCONTEXT", true}, {"dim", "I", true}, {"buf", "A", true}, {"n", "N", true}}},
  {"poly_sized", call_poly_sized, 3, true, {{"t", "HTENSOR", true}, {"ndim", "N", true}, {"shape", "A", true}}},
  {"poly_on_device", call_poly_on_device, 1, false, {{"t", "HTENSOR", true}}},
  {"poly_samples_there", call_poly_samples_there, 2, false, {{"ctx", "HCONTEXT", true}, {"edges", "I", true}}},
  {"poly_worth_device", call_poly_worth_device, 2, false, {{"ctx", "HCONTEXT", true}, {"bytes", "I", true}}},
  {"poly_join", call_poly_join, 3, true, {{"t", "LTENSOR", true}, {"n", "N", true}, {"axis", "I", true}}},
  {"poly_from_data", call_poly_from_data, 5, true, {{"ctx", "HCONTEXT", true}, {"data", "A", false}, {"dtype", "T", true}, {"ndim", "N", true}, {"shape", "A", true}}},
  {"poly_from_borrowed", call_poly_from_borrowed, 7, true, {{"ctx", "HCONTEXT", true}, {"data", "A", false}, {"dtype", "T", true}, {"ndim", "N", true}, {"shape", "A", true}, {"release", "A", false}, {"user", "A", false}}},
  {"poly_from_device", call_poly_from_device, 7, true, {{"ctx", "HCONTEXT", true}, {"data", "A", false}, {"dtype", "T", true}, {"ndim", "N", true}, {"shape", "A", true}, {"release", "A", false}, {"user", "A", false}}},
  {"poly_set_copy_ahead", call_poly_set_copy_ahead, 2, false, {{"ctx", "HCONTEXT", true}, {"on", "B", true}}},
  {"poly_can_copy_ahead", call_poly_can_copy_ahead, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_realize", call_poly_realize, 1, true, {{"t", "HTENSOR", true}}},
  {"poly_realize_many", call_poly_realize_many, 2, true, {{"t", "LTENSOR", true}, {"n", "N", true}}},
  {"poly_read", call_poly_read, 3, true, {{"t", "HTENSOR", true}, {"out", "A", true}, {"out_bytes", "N", true}}},
  {"poly_data", call_poly_data, 1, false, {{"t", "HTENSOR", true}}},
  {"poly_move_here", call_poly_move_here, 1, true, {{"t", "HTENSOR", true}}},
  {"poly_device_data", call_poly_device_data, 1, false, {{"t", "HTENSOR", true}}},
  {"poly_memory_id", call_poly_memory_id, 1, false, {{"t", "HTENSOR", true}}},
  {"poly_item", call_poly_item, 1, false, {{"t", "HTENSOR", true}}},
  {"poly_item_int", call_poly_item_int, 1, false, {{"t", "HTENSOR", true}}},
  {"poly_write", call_poly_write, 3, true, {{"t", "HTENSOR", true}, {"data", "A", true}, {"bytes", "N", true}}},
  {"poly_empty", call_poly_empty, 4, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"ndim", "N", true}, {"shape", "A", true}}},
  {"poly_zeros", call_poly_zeros, 4, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"ndim", "N", true}, {"shape", "A", true}}},
  {"poly_ones", call_poly_ones, 4, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"ndim", "N", true}, {"shape", "A", true}}},
  {"poly_full", call_poly_full, 5, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"ndim", "N", true}, {"shape", "A", true}, {"value", "D", true}}},
  {"poly_full_int", call_poly_full_int, 5, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"ndim", "N", true}, {"shape", "A", true}, {"value", "I", true}}},
  {"poly_scalar", call_poly_scalar, 3, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"value", "D", true}}},
  {"poly_arange", call_poly_arange, 5, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"start", "D", true}, {"stop", "D", true}, {"step", "D", true}}},
  {"poly_iota", call_poly_iota, 3, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"n", "I", true}}},
  {"poly_linspace", call_poly_linspace, 5, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"start", "D", true}, {"stop", "D", true}, {"steps", "I", true}}},
  {"poly_eye", call_poly_eye, 4, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"n", "I", true}, {"m", "I", true}}},
  {"poly_full_like", call_poly_full_like, 2, true, {{"t", "HTENSOR", true}, {"value", "D", true}}},
  {"poly_zeros_like", call_poly_zeros_like, 1, true, {{"t", "HTENSOR", true}}},
  {"poly_ones_like", call_poly_ones_like, 1, true, {{"t", "HTENSOR", true}}},
  {"poly_empty_like", call_poly_empty_like, 1, true, {{"t", "HTENSOR", true}}},
  {"poly_rand_like", call_poly_rand_like, 1, true, {{"t", "HTENSOR", true}}},
  {"poly_randn_like", call_poly_randn_like, 1, true, {{"t", "HTENSOR", true}}},
  {"poly_rand", call_poly_rand, 4, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"ndim", "N", true}, {"shape", "A", true}}},
  {"poly_randn", call_poly_randn, 4, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"ndim", "N", true}, {"shape", "A", true}}},
  {"poly_randint", call_poly_randint, 6, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"ndim", "N", true}, {"shape", "A", true}, {"low", "I", true}, {"high", "I", true}}},
  {"poly_uniform", call_poly_uniform, 6, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"ndim", "N", true}, {"shape", "A", true}, {"low", "D", true}, {"high", "D", true}}},
  {"poly_normal", call_poly_normal, 6, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"ndim", "N", true}, {"shape", "A", true}, {"mean", "D", true}, {"std", "D", true}}},
  {"poly_randperm", call_poly_randperm, 2, true, {{"ctx", "HCONTEXT", true}, {"n", "I", true}}},
  {"poly_scaled_uniform", call_poly_scaled_uniform, 4, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"ndim", "N", true}, {"shape", "A", true}}},
  {"poly_glorot_uniform", call_poly_glorot_uniform, 4, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"ndim", "N", true}, {"shape", "A", true}}},
  {"poly_glorot_normal", call_poly_glorot_normal, 4, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"ndim", "N", true}, {"shape", "A", true}}},
  {"poly_kaiming_uniform", call_poly_kaiming_uniform, 5, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"ndim", "N", true}, {"shape", "A", true}, {"a", "D", true}}},
  {"poly_kaiming_normal", call_poly_kaiming_normal, 5, true, {{"ctx", "HCONTEXT", true}, {"dtype", "T", true}, {"ndim", "N", true}, {"shape", "A", true}, {"a", "D", true}}},
  {"poly_multinomial", call_poly_multinomial, 3, true, {{"weights", "HTENSOR", true}, {"n", "I", true}, {"replacement", "B", true}}},
  {"poly_binary", call_poly_binary, 3, true, {{"op", "E", true}, {"a", "HTENSOR", true}, {"b", "HTENSOR", true}}},
  {"poly_binary_weak", call_poly_binary_weak, 3, true, {{"op", "E", true}, {"a", "HTENSOR", true}, {"b", "HTENSOR", true}}},
  {"poly_binary_scalar", call_poly_binary_scalar, 6, true, {{"op", "E", true}, {"a", "HTENSOR", true}, {"kind", "C", true}, {"i", "I", true}, {"f", "D", true}, {"reversed", "B", true}}},
  {"poly_add", call_poly_add, 2, true, {{"a", "HTENSOR", true}, {"b", "HTENSOR", true}}},
  {"poly_sub", call_poly_sub, 2, true, {{"a", "HTENSOR", true}, {"b", "HTENSOR", true}}},
  {"poly_mul", call_poly_mul, 2, true, {{"a", "HTENSOR", true}, {"b", "HTENSOR", true}}},
  {"poly_div", call_poly_div, 2, true, {{"a", "HTENSOR", true}, {"b", "HTENSOR", true}}},
  {"poly_pow", call_poly_pow, 2, true, {{"a", "HTENSOR", true}, {"b", "HTENSOR", true}}},
  {"poly_maximum", call_poly_maximum, 2, true, {{"a", "HTENSOR", true}, {"b", "HTENSOR", true}}},
  {"poly_minimum", call_poly_minimum, 2, true, {{"a", "HTENSOR", true}, {"b", "HTENSOR", true}}},
  {"poly_lt", call_poly_lt, 2, true, {{"a", "HTENSOR", true}, {"b", "HTENSOR", true}}},
  {"poly_eq", call_poly_eq, 2, true, {{"a", "HTENSOR", true}, {"b", "HTENSOR", true}}},
  {"poly_add_scalar", call_poly_add_scalar, 2, true, {{"a", "HTENSOR", true}, {"value", "D", true}}},
  {"poly_mul_scalar", call_poly_mul_scalar, 2, true, {{"a", "HTENSOR", true}, {"value", "D", true}}},
  {"poly_where", call_poly_where, 3, true, {{"cond", "HTENSOR", true}, {"a", "HTENSOR", true}, {"b", "HTENSOR", true}}},
  {"poly_clamp", call_poly_clamp, 3, true, {{"x", "HTENSOR", true}, {"low", "D", true}, {"high", "D", true}}},
  {"poly_logaddexp", call_poly_logaddexp, 2, true, {{"a", "HTENSOR", true}, {"b", "HTENSOR", true}}},
  {"poly_lerp", call_poly_lerp, 3, true, {{"a", "HTENSOR", true}, {"b", "HTENSOR", true}, {"weight", "HTENSOR", true}}},
  {"poly_isclose", call_poly_isclose, 5, true, {{"a", "HTENSOR", true}, {"b", "HTENSOR", true}, {"rtol", "D", true}, {"atol", "D", true}, {"equal_nan", "B", true}}},
  {"poly_unary", call_poly_unary, 2, true, {{"op", "E", true}, {"x", "HTENSOR", true}}},
  {"poly_neg", call_poly_neg, 1, true, {{"x", "HTENSOR", true}}},
  {"poly_abs", call_poly_abs, 1, true, {{"x", "HTENSOR", true}}},
  {"poly_square", call_poly_square, 1, true, {{"x", "HTENSOR", true}}},
  {"poly_sqrt", call_poly_sqrt, 1, true, {{"x", "HTENSOR", true}}},
  {"poly_exp", call_poly_exp, 1, true, {{"x", "HTENSOR", true}}},
  {"poly_log", call_poly_log, 1, true, {{"x", "HTENSOR", true}}},
  {"poly_tanh", call_poly_tanh, 1, true, {{"x", "HTENSOR", true}}},
  {"poly_sigmoid", call_poly_sigmoid, 1, true, {{"x", "HTENSOR", true}}},
  {"poly_relu", call_poly_relu, 1, true, {{"x", "HTENSOR", true}}},
  {"poly_gelu", call_poly_gelu, 1, true, {{"x", "HTENSOR", true}}},
  {"poly_leaky_relu", call_poly_leaky_relu, 2, true, {{"x", "HTENSOR", true}, {"slope", "D", true}}},
  {"poly_elu", call_poly_elu, 2, true, {{"x", "HTENSOR", true}, {"alpha", "D", true}}},
  {"poly_celu", call_poly_celu, 2, true, {{"x", "HTENSOR", true}, {"alpha", "D", true}}},
  {"poly_hardtanh", call_poly_hardtanh, 3, true, {{"x", "HTENSOR", true}, {"low", "D", true}, {"high", "D", true}}},
  {"poly_softplus", call_poly_softplus, 2, true, {{"x", "HTENSOR", true}, {"beta", "D", true}}},
  {"poly_polygamma", call_poly_polygamma, 2, true, {{"n", "N", true}, {"x", "HTENSOR", true}}},
  {"poly_cast", call_poly_cast, 2, true, {{"x", "HTENSOR", true}, {"dtype", "T", true}}},
  {"poly_bitcast", call_poly_bitcast, 2, true, {{"x", "HTENSOR", true}, {"dtype", "T", true}}},
  {"poly_keccak", call_poly_keccak, 4, true, {{"x", "HTENSOR", true}, {"rate", "I", true}, {"suffix", "I", true}, {"nout", "I", true}}},
  {"poly_sum", call_poly_sum, 4, true, {{"x", "HTENSOR", true}, {"naxis", "N", true}, {"axes", "A", true}, {"keepdim", "B", true}}},
  {"poly_sum_dtype", call_poly_sum_dtype, 5, true, {{"x", "HTENSOR", true}, {"naxis", "N", true}, {"axes", "A", true}, {"keepdim", "B", true}, {"dtype", "T", true}}},
  {"poly_prod", call_poly_prod, 4, true, {{"x", "HTENSOR", true}, {"naxis", "N", true}, {"axes", "A", true}, {"keepdim", "B", true}}},
  {"poly_max", call_poly_max, 4, true, {{"x", "HTENSOR", true}, {"naxis", "N", true}, {"axes", "A", true}, {"keepdim", "B", true}}},
  {"poly_min", call_poly_min, 4, true, {{"x", "HTENSOR", true}, {"naxis", "N", true}, {"axes", "A", true}, {"keepdim", "B", true}}},
  {"poly_extremum_first", call_poly_extremum_first, 5, true, {{"x", "HTENSOR", true}, {"naxis", "N", true}, {"axes", "A", true}, {"keepdim", "B", true}, {"smallest", "B", true}}},
  {"poly_mean", call_poly_mean, 4, true, {{"x", "HTENSOR", true}, {"naxis", "N", true}, {"axes", "A", true}, {"keepdim", "B", true}}},
  {"poly_var", call_poly_var, 5, true, {{"x", "HTENSOR", true}, {"naxis", "N", true}, {"axes", "A", true}, {"keepdim", "B", true}, {"correction", "D", true}}},
  {"poly_std", call_poly_std, 5, true, {{"x", "HTENSOR", true}, {"naxis", "N", true}, {"axes", "A", true}, {"keepdim", "B", true}, {"correction", "D", true}}},
  {"poly_norm", call_poly_norm, 5, true, {{"x", "HTENSOR", true}, {"naxis", "N", true}, {"axes", "A", true}, {"keepdim", "B", true}, {"p", "D", true}}},
  {"poly_any", call_poly_any, 4, true, {{"x", "HTENSOR", true}, {"naxis", "N", true}, {"axes", "A", true}, {"keepdim", "B", true}}},
  {"poly_all", call_poly_all, 4, true, {{"x", "HTENSOR", true}, {"naxis", "N", true}, {"axes", "A", true}, {"keepdim", "B", true}}},
  {"poly_logsumexp", call_poly_logsumexp, 4, true, {{"x", "HTENSOR", true}, {"naxis", "N", true}, {"axes", "A", true}, {"keepdim", "B", true}}},
  {"poly_argmax", call_poly_argmax, 3, true, {{"x", "HTENSOR", true}, {"axis", "I", true}, {"keepdim", "B", true}}},
  {"poly_argmin", call_poly_argmin, 3, true, {{"x", "HTENSOR", true}, {"axis", "I", true}, {"keepdim", "B", true}}},
  {"poly_softmax", call_poly_softmax, 2, true, {{"x", "HTENSOR", true}, {"axis", "I", true}}},
  {"poly_log_softmax", call_poly_log_softmax, 2, true, {{"x", "HTENSOR", true}, {"axis", "I", true}}},
  {"poly_cumsum", call_poly_cumsum, 2, true, {{"x", "HTENSOR", true}, {"axis", "I", true}}},
  {"poly_cumprod", call_poly_cumprod, 2, true, {{"x", "HTENSOR", true}, {"axis", "I", true}}},
  {"poly_cummax", call_poly_cummax, 2, true, {{"x", "HTENSOR", true}, {"axis", "I", true}}},
  {"poly_cummin", call_poly_cummin, 2, true, {{"x", "HTENSOR", true}, {"axis", "I", true}}},
  {"poly_logcumsumexp", call_poly_logcumsumexp, 2, true, {{"x", "HTENSOR", true}, {"axis", "I", true}}},
  {"poly_reshape", call_poly_reshape, 3, true, {{"x", "HTENSOR", true}, {"ndim", "N", true}, {"shape", "A", true}}},
  {"poly_permute", call_poly_permute, 3, true, {{"x", "HTENSOR", true}, {"ndim", "N", true}, {"order", "A", true}}},
  {"poly_transpose", call_poly_transpose, 3, true, {{"x", "HTENSOR", true}, {"a", "I", true}, {"b", "I", true}}},
  {"poly_expand", call_poly_expand, 3, true, {{"x", "HTENSOR", true}, {"ndim", "N", true}, {"shape", "A", true}}},
  {"poly_shrink", call_poly_shrink, 2, true, {{"x", "HTENSOR", true}, {"ranges", "A", true}}},
  {"poly_pad", call_poly_pad, 4, true, {{"x", "HTENSOR", true}, {"padding", "A", true}, {"mode", "E", true}, {"value", "D", true}}},
  {"poly_flip", call_poly_flip, 3, true, {{"x", "HTENSOR", true}, {"naxis", "N", true}, {"axes", "A", true}}},
  {"poly_squeeze", call_poly_squeeze, 2, true, {{"x", "HTENSOR", true}, {"axis", "I", true}}},
  {"poly_unsqueeze", call_poly_unsqueeze, 2, true, {{"x", "HTENSOR", true}, {"axis", "I", true}}},
  {"poly_flatten", call_poly_flatten, 3, true, {{"x", "HTENSOR", true}, {"first", "I", true}, {"last", "I", true}}},
  {"poly_unflatten", call_poly_unflatten, 4, true, {{"x", "HTENSOR", true}, {"axis", "I", true}, {"n", "N", true}, {"sizes", "A", true}}},
  {"poly_repeat", call_poly_repeat, 3, true, {{"x", "HTENSOR", true}, {"n", "N", true}, {"repeats", "A", true}}},
  {"poly_repeat_interleave", call_poly_repeat_interleave, 3, true, {{"x", "HTENSOR", true}, {"repeats", "I", true}, {"axis", "I", true}}},
  {"poly_roll", call_poly_roll, 4, true, {{"x", "HTENSOR", true}, {"naxis", "N", true}, {"shifts", "A", true}, {"axes", "A", true}}},
  {"poly_cat", call_poly_cat, 3, true, {{"t", "LTENSOR", true}, {"n", "N", true}, {"axis", "I", true}}},
  {"poly_stack", call_poly_stack, 3, true, {{"t", "LTENSOR", true}, {"n", "N", true}, {"axis", "I", true}}},
  {"poly_split", call_poly_split, 5, true, {{"x", "HTENSOR", true}, {"n", "N", true}, {"sizes", "A", true}, {"axis", "I", true}, {"out", "A", true}}},
  {"poly_chunk", call_poly_chunk, 4, false, {{"x", "HTENSOR", true}, {"n", "N", true}, {"axis", "I", true}, {"out", "A", true}}},
  {"poly_tril", call_poly_tril, 2, true, {{"x", "HTENSOR", true}, {"diagonal", "I", true}}},
  {"poly_triu", call_poly_triu, 2, true, {{"x", "HTENSOR", true}, {"diagonal", "I", true}}},
  {"poly_diag", call_poly_diag, 1, true, {{"x", "HTENSOR", true}}},
  {"poly_diagonal", call_poly_diagonal, 1, true, {{"x", "HTENSOR", true}}},
  {"poly_unfold", call_poly_unfold, 4, true, {{"x", "HTENSOR", true}, {"axis", "I", true}, {"size", "I", true}, {"step", "I", true}}},
  {"poly_meshgrid", call_poly_meshgrid, 4, true, {{"t", "LTENSOR", true}, {"n", "N", true}, {"indexing", "C", true}, {"out", "A", true}}},
  {"poly_one_hot", call_poly_one_hot, 2, true, {{"x", "HTENSOR", true}, {"classes", "I", true}}},
  {"poly_getitem", call_poly_getitem, 3, true, {{"x", "HTENSOR", true}, {"n", "N", true}, {"index", "X", true}}},
  {"poly_setitem", call_poly_setitem, 4, true, {{"x", "HTENSOR", true}, {"n", "N", true}, {"index", "X", true}, {"value", "HTENSOR", true}}},
  {"poly_gather", call_poly_gather, 3, true, {{"x", "HTENSOR", true}, {"axis", "I", true}, {"index", "HTENSOR", true}}},
  {"poly_index_select", call_poly_index_select, 3, true, {{"x", "HTENSOR", true}, {"axis", "I", true}, {"index", "HTENSOR", true}}},
  {"poly_scatter", call_poly_scatter, 4, true, {{"x", "HTENSOR", true}, {"axis", "I", true}, {"index", "HTENSOR", true}, {"src", "HTENSOR", true}}},
  {"poly_scatter_reduce", call_poly_scatter_reduce, 6, true, {{"x", "HTENSOR", true}, {"axis", "I", true}, {"index", "HTENSOR", true}, {"src", "HTENSOR", true}, {"reduce", "S", false}, {"include_self", "B", true}}},
  {"poly_index_add", call_poly_index_add, 4, true, {{"x", "HTENSOR", true}, {"axis", "I", true}, {"index", "HTENSOR", true}, {"src", "HTENSOR", true}}},
  {"poly_sort", call_poly_sort, 5, true, {{"x", "HTENSOR", true}, {"axis", "I", true}, {"descending", "B", true}, {"values", "A", false}, {"indices", "A", false}}},
  {"poly_argsort", call_poly_argsort, 3, true, {{"x", "HTENSOR", true}, {"axis", "I", true}, {"descending", "B", true}}},
  {"poly_topk", call_poly_topk, 7, true, {{"x", "HTENSOR", true}, {"k", "I", true}, {"axis", "I", true}, {"largest", "B", true}, {"sorted", "B", true}, {"values", "A", false}, {"indices", "A", false}}},
  {"poly_kthvalue", call_poly_kthvalue, 5, true, {{"x", "HTENSOR", true}, {"k", "I", true}, {"axis", "I", true}, {"values", "A", false}, {"indices", "A", false}}},
  {"poly_median", call_poly_median, 5, true, {{"x", "HTENSOR", true}, {"axis", "I", true}, {"numbers", "B", true}, {"values", "A", false}, {"indices", "A", false}}},
  {"poly_searchsorted", call_poly_searchsorted, 3, true, {{"sorted", "HTENSOR", true}, {"values", "HTENSOR", true}, {"right", "B", true}}},
  {"poly_bincount", call_poly_bincount, 2, true, {{"x", "HTENSOR", true}, {"size", "I", true}}},
  {"poly_masked_select", call_poly_masked_select, 2, true, {{"x", "HTENSOR", true}, {"mask", "HTENSOR", true}}},
  {"poly_nonzero", call_poly_nonzero, 1, true, {{"x", "HTENSOR", true}}},
  {"poly_masked_fill", call_poly_masked_fill, 3, true, {{"x", "HTENSOR", true}, {"mask", "HTENSOR", true}, {"value", "D", true}}},
  {"poly_contiguous", call_poly_contiguous, 1, true, {{"x", "HTENSOR", true}}},
  {"poly_clone", call_poly_clone, 1, true, {{"x", "HTENSOR", true}}},
  {"poly_detach", call_poly_detach, 1, true, {{"x", "HTENSOR", true}}},
  {"poly_assign", call_poly_assign, 2, true, {{"t", "HTENSOR", true}, {"value", "HTENSOR", true}}},
  {"poly_give", call_poly_give, 2, true, {{"t", "HTENSOR", true}, {"value", "HTENSOR", true}}},
  {"poly_replace", call_poly_replace, 2, true, {{"t", "HTENSOR", true}, {"other", "HTENSOR", true}}},
  {"poly_matmul", call_poly_matmul, 2, true, {{"a", "HTENSOR", true}, {"b", "HTENSOR", true}}},
  {"poly_einsum", call_poly_einsum, 4, true, {{"ctx", "HCONTEXT", true}, {"formula", "S", true}, {"t", "LTENSOR", true}, {"n", "N", true}}},
  {"poly_solve", call_poly_solve, 2, true, {{"a", "HTENSOR", true}, {"b", "HTENSOR", true}}},
  {"poly_solve_triangular", call_poly_solve_triangular, 4, true, {{"a", "HTENSOR", true}, {"b", "HTENSOR", true}, {"upper", "B", true}, {"unit", "B", true}}},
  {"poly_cholesky", call_poly_cholesky, 1, true, {{"a", "HTENSOR", true}}},
  {"poly_slogdet", call_poly_slogdet, 4, true, {{"a", "HTENSOR", true}, {"det", "A", true}, {"sign", "A", true}, {"size", "A", true}}},
  {"poly_lu", call_poly_lu, 3, true, {{"a", "HTENSOR", true}, {"factors", "A", true}, {"exchanged", "A", true}}},
  {"poly_eigh", call_poly_eigh, 3, true, {{"a", "HTENSOR", true}, {"values", "A", true}, {"vectors", "A", true}}},
  {"poly_qr", call_poly_qr, 3, true, {{"a", "HTENSOR", true}, {"q", "A", true}, {"r", "A", true}}},
  {"poly_svd", call_poly_svd, 4, true, {{"a", "HTENSOR", true}, {"u", "A", true}, {"values", "A", true}, {"vt", "A", true}}},
  {"poly_linear", call_poly_linear, 3, true, {{"x", "HTENSOR", true}, {"weight", "HTENSOR", true}, {"bias", "HTENSOR", false}}},
  {"poly_conv", call_poly_conv, 7, true, {{"x", "HTENSOR", true}, {"weight", "HTENSOR", true}, {"bias", "HTENSOR", false}, {"groups", "I", true}, {"stride", "A", true}, {"dilation", "A", true}, {"padding", "A", true}}},
  {"poly_conv_transpose", call_poly_conv_transpose, 8, true, {{"x", "HTENSOR", true}, {"weight", "HTENSOR", true}, {"bias", "HTENSOR", false}, {"groups", "I", true}, {"stride", "A", true}, {"dilation", "A", true}, {"padding", "A", true}, {"output_padding", "A", true}}},
  {"poly_max_pool", call_poly_max_pool, 7, true, {{"x", "HTENSOR", true}, {"nspatial", "N", true}, {"kernel", "A", true}, {"stride", "A", true}, {"dilation", "A", true}, {"padding", "A", true}, {"ceil_mode", "B", true}}},
  {"poly_avg_pool", call_poly_avg_pool, 8, true, {{"x", "HTENSOR", true}, {"nspatial", "N", true}, {"kernel", "A", true}, {"stride", "A", true}, {"dilation", "A", true}, {"padding", "A", true}, {"ceil_mode", "B", true}, {"count_include_pad", "B", true}}},
  {"poly_attention", call_poly_attention, 6, true, {{"q", "HTENSOR", true}, {"k", "HTENSOR", true}, {"v", "HTENSOR", true}, {"mask", "HTENSOR", false}, {"causal", "B", true}, {"dropout", "D", true}}},
  {"poly_layernorm", call_poly_layernorm, 3, true, {{"x", "HTENSOR", true}, {"naxis", "I", true}, {"eps", "D", true}}},
  {"poly_rmsnorm", call_poly_rmsnorm, 2, true, {{"x", "HTENSOR", true}, {"eps", "D", true}}},
  {"poly_groupnorm", call_poly_groupnorm, 3, true, {{"x", "HTENSOR", true}, {"groups", "I", true}, {"eps", "D", true}}},
  {"poly_batchnorm", call_poly_batchnorm, 6, true, {{"x", "HTENSOR", true}, {"weight", "HTENSOR", false}, {"bias", "HTENSOR", false}, {"mean", "HTENSOR", true}, {"invstd", "HTENSOR", true}, {"axis", "I", true}}},
  {"poly_batchnorm_train", call_poly_batchnorm_train, 9, true, {{"x", "HTENSOR", true}, {"weight", "HTENSOR", false}, {"bias", "HTENSOR", false}, {"mean", "HTENSOR", false}, {"var", "HTENSOR", false}, {"count", "HTENSOR", false}, {"momentum", "D", true}, {"eps", "D", true}, {"axis", "I", true}}},
  {"poly_dropout", call_poly_dropout, 2, true, {{"x", "HTENSOR", true}, {"p", "D", true}}},
  {"poly_cross_entropy", call_poly_cross_entropy, 5, true, {{"x", "HTENSOR", true}, {"target", "HTENSOR", true}, {"label_smoothing", "D", true}, {"ignore_index", "I", true}, {"reduction", "C", true}}},
  {"poly_nll_loss", call_poly_nll_loss, 5, true, {{"x", "HTENSOR", true}, {"target", "HTENSOR", true}, {"weight", "HTENSOR", false}, {"ignore_index", "I", true}, {"reduction", "C", true}}},
  {"poly_binary_cross_entropy", call_poly_binary_cross_entropy, 3, true, {{"x", "HTENSOR", true}, {"target", "HTENSOR", true}, {"reduction", "C", true}}},
  {"poly_binary_cross_entropy_logits", call_poly_binary_cross_entropy_logits, 4, true, {{"x", "HTENSOR", true}, {"target", "HTENSOR", true}, {"pos_weight", "HTENSOR", false}, {"reduction", "C", true}}},
  {"poly_mse_loss", call_poly_mse_loss, 3, true, {{"x", "HTENSOR", true}, {"target", "HTENSOR", true}, {"reduction", "C", true}}},
  {"poly_l1_loss", call_poly_l1_loss, 3, true, {{"x", "HTENSOR", true}, {"target", "HTENSOR", true}, {"reduction", "C", true}}},
  {"poly_huber_loss", call_poly_huber_loss, 4, true, {{"x", "HTENSOR", true}, {"target", "HTENSOR", true}, {"delta", "D", true}, {"reduction", "C", true}}},
  {"poly_graph_from_coo", call_poly_graph_from_coo, 7, true, {{"ctx", "HCONTEXT", true}, {"src", "A", true}, {"dst", "A", true}, {"dtype", "T", true}, {"num_edges", "N", true}, {"num_src", "I", true}, {"num_dst", "I", true}}},
  {"poly_graph_from_csr", call_poly_graph_from_csr, 6, true, {{"ctx", "HCONTEXT", true}, {"rowptr", "A", true}, {"col", "A", false}, {"dtype", "T", true}, {"num_dst", "I", true}, {"num_src", "I", true}}},
  {"poly_graph_of", call_poly_graph_of, 3, true, {{"edge_index", "HTENSOR", true}, {"num_src", "I", true}, {"num_dst", "I", true}}},
  {"poly_graph_retain", call_poly_graph_retain, 1, true, {{"g", "HGRAPH", true}}},
  {"poly_graph_free", call_poly_graph_free, 1, false, {{"g", "HGRAPH", false}}},
  {"poly_graph_num_edges", call_poly_graph_num_edges, 1, false, {{"g", "HGRAPH", true}}},
  {"poly_graph_num_src", call_poly_graph_num_src, 1, false, {{"g", "HGRAPH", true}}},
  {"poly_graph_num_dst", call_poly_graph_num_dst, 1, false, {{"g", "HGRAPH", true}}},
  {"poly_graph_reversed", call_poly_graph_reversed, 1, true, {{"g", "HGRAPH", true}}},
  {"poly_graph_with_self_loops", call_poly_graph_with_self_loops, 2, true, {{"g", "HGRAPH", true}, {"only_missing", "B", true}}},
  {"poly_graph_with_own_loops", call_poly_graph_with_own_loops, 1, true, {{"g", "HGRAPH", true}}},
  {"poly_graph_without_self_loops", call_poly_graph_without_self_loops, 1, true, {{"g", "HGRAPH", true}}},
  {"poly_graph_undirected", call_poly_graph_undirected, 1, true, {{"g", "HGRAPH", true}}},
  {"poly_graph_coalesced", call_poly_graph_coalesced, 1, true, {{"g", "HGRAPH", true}}},
  {"poly_graph_origin", call_poly_graph_origin, 1, true, {{"g", "HGRAPH", true}}},
  {"poly_graph_src_index", call_poly_graph_src_index, 1, true, {{"g", "HGRAPH", true}}},
  {"poly_graph_dst_index", call_poly_graph_dst_index, 1, true, {{"g", "HGRAPH", true}}},
  {"poly_graph_rowptr", call_poly_graph_rowptr, 2, true, {{"g", "HGRAPH", true}, {"side", "C", true}}},
  {"poly_graph_order", call_poly_graph_order, 2, true, {{"g", "HGRAPH", true}, {"side", "C", true}}},
  {"poly_graph_other", call_poly_graph_other, 2, true, {{"g", "HGRAPH", true}, {"side", "C", true}}},
  {"poly_graph_degree", call_poly_graph_degree, 2, true, {{"g", "HGRAPH", true}, {"side", "C", true}}},
  {"poly_graph_loops", call_poly_graph_loops, 1, true, {{"g", "HGRAPH", true}}},
  {"poly_graph_norm", call_poly_graph_norm, 4, true, {{"g", "HGRAPH", true}, {"side", "C", true}, {"own_loops", "B", true}, {"dtype", "T", true}}},
  {"poly_graph_own", call_poly_graph_own, 2, true, {{"g", "HGRAPH", true}, {"dtype", "T", true}}},
  {"poly_graph_smooth", call_poly_graph_smooth, 4, true, {{"g", "HGRAPH", true}, {"x", "HTENSOR", true}, {"side", "C", true}, {"own_loops", "B", true}}},
  {"poly_graph_arrays", call_poly_graph_arrays, 4, false, {{"g", "HGRAPH", true}, {"like", "HGRAPH", true}, {"out", "A", true}, {"max", "N", true}}},
  {"poly_graph_src", call_poly_graph_src, 2, true, {{"g", "HGRAPH", true}, {"x", "HTENSOR", true}}},
  {"poly_graph_dst", call_poly_graph_dst, 2, true, {{"g", "HGRAPH", true}, {"x", "HTENSOR", true}}},
  {"poly_graph_reduce", call_poly_graph_reduce, 4, true, {{"g", "HGRAPH", true}, {"m", "HTENSOR", true}, {"op", "S", false}, {"side", "C", true}}},
  {"poly_graph_softmax", call_poly_graph_softmax, 3, true, {{"g", "HGRAPH", true}, {"m", "HTENSOR", true}, {"side", "C", true}}},
  {"poly_graph_ppr", call_poly_graph_ppr, 6, true, {{"g", "HGRAPH", true}, {"targets", "A", false}, {"num_targets", "I", true}, {"alpha", "D", true}, {"eps", "D", true}, {"out", "A", true}}},
  {"poly_sampler_new", call_poly_sampler_new, 3, true, {{"allocator", "A", false}, {"node_types", "N", true}, {"num_nodes", "A", true}}},
  {"poly_sampler_free", call_poly_sampler_free, 1, false, {{"s", "HSAMPLER", false}}},
  {"poly_sampler_add", call_poly_sampler_add, 3, true, {{"s", "HSAMPLER", true}, {"relation", "A", true}, {"threads", "I", true}}},
  {"poly_sampler_num_edges", call_poly_sampler_num_edges, 2, false, {{"s", "HSAMPLER", true}, {"relation", "I", true}}},
  {"poly_sampler_error", call_poly_sampler_error, 1, true, {{"s", "HSAMPLER", true}}},
  {"poly_sampler_error_text", call_poly_sampler_error_text, 1, false, {{"s", "HSAMPLER", true}}},
  {"poly_sample_new", call_poly_sample_new, 1, true, {{"sampler", "HSAMPLER", true}}},
  {"poly_sample_free", call_poly_sample_free, 1, false, {{"s", "HSAMPLE", false}}},
  {"poly_sample_run", call_poly_sample_run, 4, true, {{"s", "HSAMPLE", true}, {"spec", "A", true}, {"num_seeds", "N", true}, {"seeds", "A", true}}},
  {"poly_sample_run_hgt", call_poly_sample_run_hgt, 4, true, {{"s", "HSAMPLE", true}, {"spec", "A", true}, {"num_seeds", "N", true}, {"seeds", "A", true}}},
  {"poly_sample_num_nodes", call_poly_sample_num_nodes, 2, false, {{"s", "HSAMPLE", true}, {"type", "I", true}}},
  {"poly_sample_num_edges", call_poly_sample_num_edges, 2, false, {{"s", "HSAMPLE", true}, {"relation", "I", true}}},
  {"poly_sample_hop_nodes", call_poly_sample_hop_nodes, 3, false, {{"s", "HSAMPLE", true}, {"type", "I", true}, {"hop", "I", true}}},
  {"poly_sample_hop_edges", call_poly_sample_hop_edges, 3, false, {{"s", "HSAMPLE", true}, {"relation", "I", true}, {"hop", "I", true}}},
  {"poly_sample_read", call_poly_sample_read, 4, true, {{"s", "HSAMPLE", true}, {"what", "C", true}, {"of", "I", true}, {"out", "A", true}}},
  {"poly_sample_error", call_poly_sample_error, 1, true, {{"s", "HSAMPLE", true}}},
  {"poly_sample_error_text", call_poly_sample_error_text, 1, false, {{"s", "HSAMPLE", true}}},
  {"poly_draw_below", call_poly_draw_below, 6, true, {{"stream", "HTENSOR", true}, {"number", "HTENSOR", true}, {"size", "HTENSOR", true}, {"seed", "I", true}, {"batch", "I", true}, {"hop", "I", true}}},
  {"poly_sampler_walk", call_poly_sampler_walk, 11, false, {{"s", "HSAMPLER", true}, {"relation", "I", true}, {"start", "A", true}, {"n", "N", true}, {"length", "I", true}, {"p", "D", true}, {"q", "D", true}, {"seed", "I", true}, {"threads", "I", true}, {"nodes", "A", true}, {"edges", "A", false}}},
  {"poly_gather_rows", call_poly_gather_rows, 7, false, {{"from", "A", true}, {"rows", "I", true}, {"row_bytes", "I", true}, {"index", "A", true}, {"n", "N", true}, {"out", "A", true}, {"threads", "I", true}}},
  {"poly_graph_partition", call_poly_graph_partition, 4, true, {{"g", "HGRAPH", true}, {"parts", "I", true}, {"recursive", "B", true}, {"out", "A", true}}},
  {"poly_rmat", call_poly_rmat, 9, true, {{"num_nodes", "I", true}, {"num_edges", "N", true}, {"a", "D", true}, {"b", "D", true}, {"c", "D", true}, {"seed", "I", true}, {"shuffle", "B", true}, {"threads", "I", true}, {"edge_index", "A", true}}},
  {"poly_rmat_edges", call_poly_rmat_edges, 8, true, {{"ctx", "HCONTEXT", true}, {"num_nodes", "I", true}, {"num_edges", "I", true}, {"a", "D", true}, {"b", "D", true}, {"c", "D", true}, {"seed", "I", true}, {"shuffle", "B", true}}},
  {"poly_knn", call_poly_knn, 8, true, {{"x", "HTENSOR", true}, {"y", "HTENSOR", true}, {"ptr_x", "A", false}, {"ptr_y", "A", false}, {"groups", "I", true}, {"k", "I", true}, {"cosine", "B", true}, {"skip_same", "B", true}}},
  {"poly_radius", call_poly_radius, 8, true, {{"x", "HTENSOR", true}, {"y", "HTENSOR", true}, {"ptr_x", "A", false}, {"ptr_y", "A", false}, {"groups", "I", true}, {"r", "D", true}, {"most", "I", true}, {"skip_same", "B", true}}},
  {"poly_fps", call_poly_fps, 5, true, {{"x", "HTENSOR", true}, {"ptr", "A", false}, {"groups", "I", true}, {"ratio", "D", true}, {"start", "A", false}}},
  {"poly_graph_match", call_poly_graph_match, 3, true, {{"g", "HGRAPH", true}, {"weight", "HTENSOR", false}, {"seed", "I", true}}},
  {"poly_graph_contract", call_poly_graph_contract, 3, true, {{"g", "HGRAPH", true}, {"score", "HTENSOR", true}, {"chosen", "A", false}}},
  {"poly_graph_product", call_poly_graph_product, 3, true, {{"a", "HGRAPH", true}, {"b", "HGRAPH", true}, {"paths", "A", false}}},
  {"poly_graph_product_values", call_poly_graph_product_values, 5, true, {{"a", "HGRAPH", true}, {"x", "HTENSOR", false}, {"b", "HGRAPH", true}, {"y", "HTENSOR", false}, {"values", "A", false}}},
  {"poly_reduce_runs", call_poly_reduce_runs, 4, true, {{"x", "HTENSOR", true}, {"begin", "A", true}, {"n", "N", true}, {"op", "C", true}}},
  {"poly_sort_edges", call_poly_sort_edges, 7, true, {{"edge_index", "HTENSOR", true}, {"nodes", "I", true}, {"by_row", "B", true}, {"merge", "B", true}, {"sorted", "A", true}, {"order", "A", false}, {"begin", "A", false}}},
  {"poly_filter_edges", call_poly_filter_edges, 7, true, {{"edge_index", "HTENSOR", true}, {"mask", "HTENSOR", false}, {"src", "HTENSOR", false}, {"dst", "HTENSOR", false}, {"loops", "C", true}, {"kept", "A", true}, {"stays", "A", true}}},
  {"poly_top_rows", call_poly_top_rows, 3, true, {{"score", "HTENSOR", true}, {"group", "HTENSOR", true}, {"keep", "HTENSOR", true}}},
  {"poly_compress", call_poly_compress, 3, true, {{"x", "HTENSOR", true}, {"mask", "HTENSOR", true}, {"axis", "I", true}}},
  {"poly_random_mask", call_poly_random_mask, 4, true, {{"ctx", "HCONTEXT", true}, {"n", "I", true}, {"p", "D", true}, {"seed", "I", true}}},
  {"poly_zoom_in", call_poly_zoom_in, 1, true, {{"g", "HGRAPH", true}}},
  {"poly_zoom_out", call_poly_zoom_out, 2, true, {{"v", "HVERTEX", true}, {"x", "HTENSOR", false}}},
  {"poly_zoom_out_many", call_poly_zoom_out_many, 4, true, {{"v", "HVERTEX", true}, {"x", "LTENSOR", true}, {"n", "N", true}, {"out", "A", true}}},
  {"poly_innbs", call_poly_innbs, 1, true, {{"v", "HVERTEX", true}}},
  {"poly_outnbs", call_poly_outnbs, 1, true, {{"v", "HVERTEX", true}}},
  {"poly_nbs", call_poly_nbs, 3, true, {{"v", "HVERTEX", true}, {"relation", "HGRAPH", true}, {"side", "C", true}}},
  {"poly_self", call_poly_self, 2, true, {{"v", "HVERTEX", true}, {"x", "HTENSOR", true}}},
  {"poly_nb", call_poly_nb, 2, true, {{"n", "HNBS", true}, {"x", "HTENSOR", true}}},
  {"poly_edge", call_poly_edge, 2, true, {{"n", "HNBS", true}, {"x", "HTENSOR", true}}},
  {"poly_nb_reduce", call_poly_nb_reduce, 3, true, {{"n", "HNBS", true}, {"x", "HTENSOR", true}, {"op", "S", false}}},
  {"poly_nb_sum", call_poly_nb_sum, 2, true, {{"n", "HNBS", true}, {"x", "HTENSOR", true}}},
  {"poly_nb_mean", call_poly_nb_mean, 2, true, {{"n", "HNBS", true}, {"x", "HTENSOR", true}}},
  {"poly_nb_max", call_poly_nb_max, 2, true, {{"n", "HNBS", true}, {"x", "HTENSOR", true}}},
  {"poly_nb_min", call_poly_nb_min, 2, true, {{"n", "HNBS", true}, {"x", "HTENSOR", true}}},
  {"poly_nb_softmax", call_poly_nb_softmax, 2, true, {{"n", "HNBS", true}, {"x", "HTENSOR", true}}},
  {"poly_nb_count", call_poly_nb_count, 1, true, {{"n", "HNBS", true}}},
  {"poly_nb_edges", call_poly_nb_edges, 2, true, {{"n", "HNBS", true}, {"x", "HTENSOR", true}}},
  {"poly_set_requires_grad", call_poly_set_requires_grad, 2, true, {{"t", "HTENSOR", true}, {"on", "B", true}}},
  {"poly_requires_grad", call_poly_requires_grad, 1, false, {{"t", "HTENSOR", true}}},
  {"poly_grad", call_poly_grad, 5, true, {{"root", "HTENSOR", true}, {"gradient", "HTENSOR", false}, {"targets", "LTENSOR", true}, {"n", "N", true}, {"out", "A", true}}},
  {"poly_function", call_poly_function, 4, true, {{"value", "HTENSOR", true}, {"inputs", "LTENSOR", true}, {"n", "N", true}, {"function", "A", true}}},
  {"poly_depends_on", call_poly_depends_on, 2, false, {{"root", "HTENSOR", true}, {"target", "HTENSOR", true}}},
  {"poly_depends_on_leaves", call_poly_depends_on_leaves, 1, false, {{"root", "HTENSOR", true}}},
  {"poly_check_cycles", call_poly_check_cycles, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_backward", call_poly_backward, 2, true, {{"root", "HTENSOR", true}, {"gradient", "HTENSOR", false}}},
  {"poly_backward_all", call_poly_backward_all, 2, true, {{"root", "HTENSOR", true}, {"gradient", "HTENSOR", false}}},
  {"poly_backward_until", call_poly_backward_until, 5, true, {{"root", "HTENSOR", true}, {"gradient", "HTENSOR", false}, {"stops", "LTENSOR", true}, {"n", "N", true}, {"out", "A", true}}},
  {"poly_get_grad", call_poly_get_grad, 1, true, {{"t", "HTENSOR", true}}},
  {"poly_set_grad", call_poly_set_grad, 2, true, {{"t", "HTENSOR", true}, {"grad", "HTENSOR", false}}},
  {"poly_sgd", call_poly_sgd, 6, true, {{"params", "LTENSOR", true}, {"n", "N", true}, {"lr", "D", true}, {"momentum", "D", true}, {"weight_decay", "D", true}, {"nesterov", "B", true}}},
  {"poly_adam", call_poly_adam, 7, true, {{"params", "LTENSOR", true}, {"n", "N", true}, {"lr", "D", true}, {"beta1", "D", true}, {"beta2", "D", true}, {"eps", "D", true}, {"weight_decay", "D", true}}},
  {"poly_adamw", call_poly_adamw, 7, true, {{"params", "LTENSOR", true}, {"n", "N", true}, {"lr", "D", true}, {"beta1", "D", true}, {"beta2", "D", true}, {"eps", "D", true}, {"weight_decay", "D", true}}},
  {"poly_rmsprop", call_poly_rmsprop, 7, true, {{"params", "LTENSOR", true}, {"n", "N", true}, {"lr", "D", true}, {"alpha", "D", true}, {"eps", "D", true}, {"weight_decay", "D", true}, {"momentum", "D", true}}},
  {"poly_lamb", call_poly_lamb, 7, true, {{"params", "LTENSOR", true}, {"n", "N", true}, {"lr", "D", true}, {"beta1", "D", true}, {"beta2", "D", true}, {"eps", "D", true}, {"weight_decay", "D", true}}},
  {"poly_optim_new", call_poly_optim_new, 5, true, {{"kind", "S", true}, {"params", "LTENSOR", true}, {"n", "N", true}, {"lr", "D", true}, {"options", "A", true}}},
  {"poly_optim_set", call_poly_optim_set, 2, true, {{"o", "HOPTIM", true}, {"options", "A", true}}},
  {"poly_optim_free", call_poly_optim_free, 1, false, {{"o", "HOPTIM", false}}},
  {"poly_optim_zero_grad", call_poly_optim_zero_grad, 1, false, {{"o", "HOPTIM", true}}},
  {"poly_optim_step", call_poly_optim_step, 1, true, {{"o", "HOPTIM", true}}},
  {"poly_optim_schedule", call_poly_optim_schedule, 1, true, {{"o", "HOPTIM", true}}},
  {"poly_optim_step_if", call_poly_optim_step_if, 2, true, {{"o", "HOPTIM", true}, {"condition", "HTENSOR", true}}},
  {"poly_optim_schedule_if", call_poly_optim_schedule_if, 2, true, {{"o", "HOPTIM", true}, {"condition", "HTENSOR", true}}},
  {"poly_optim_set_lr", call_poly_optim_set_lr, 2, true, {{"o", "HOPTIM", true}, {"lr", "D", true}}},
  {"poly_optim_lr", call_poly_optim_lr, 1, false, {{"o", "HOPTIM", true}}},
  {"poly_optim_state", call_poly_optim_state, 3, false, {{"o", "HOPTIM", true}, {"out", "A", false}, {"max", "N", true}}},
  {"poly_scan", call_poly_scan, 10, false, {{"ctx", "HCONTEXT", true}, {"body", "A", true}, {"init", "LTENSOR", true}, {"ncarry", "N", true}, {"xs", "LTENSOR", true}, {"nx", "N", true}, {"length", "I", true}, {"flags", "I", true}, {"last", "A", true}, {"stacked", "A", true}}},
  {"poly_settle", call_poly_settle, 1, true, {{"ctx", "HCONTEXT", true}}},
  {"poly_trace_begin", call_poly_trace_begin, 1, true, {{"ctx", "HCONTEXT", true}}},
  {"poly_trace_end", call_poly_trace_end, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_trace_input", call_poly_trace_input, 1, true, {{"t", "HTENSOR", true}}},
  {"poly_trace_reads", call_poly_trace_reads, 1, true, {{"t", "HTENSOR", true}}},
  {"poly_step_new", call_poly_step_new, 6, true, {{"inputs", "LTENSOR", true}, {"ninput", "N", true}, {"outputs", "LTENSOR", true}, {"noutput", "N", true}, {"state", "LTENSOR", true}, {"nstate", "N", true}}},
  {"poly_step_run", call_poly_step_run, 3, true, {{"s", "HSTEP", true}, {"inputs", "LTENSOR", false}, {"ninput", "N", true}}},
  {"poly_step_bind", call_poly_step_bind, 3, true, {{"s", "HSTEP", true}, {"traced", "I", true}, {"now", "I", true}}},
  {"poly_step_output", call_poly_step_output, 2, true, {{"s", "HSTEP", true}, {"k", "I", true}}},
  {"poly_step_kernels", call_poly_step_kernels, 1, false, {{"s", "HSTEP", true}}},
  {"poly_step_intermediates", call_poly_step_intermediates, 1, false, {{"s", "HSTEP", true}}},
  {"poly_step_peak_bytes", call_poly_step_peak_bytes, 1, false, {{"s", "HSTEP", true}}},
  {"poly_step_trim", call_poly_step_trim, 1, false, {{"s", "HSTEP", true}}},
  {"poly_step_free", call_poly_step_free, 1, false, {{"s", "HSTEP", false}}},
  {"poly_safe_save", call_poly_safe_save, 5, true, {{"ctx", "HCONTEXT", true}, {"path", "S", true}, {"names", "A", true}, {"t", "LTENSOR", true}, {"n", "N", true}}},
  {"poly_safe_save_with", call_poly_safe_save_with, 7, true, {{"ctx", "HCONTEXT", true}, {"path", "S", true}, {"names", "A", true}, {"t", "LTENSOR", true}, {"n", "N", true}, {"meta", "A", true}, {"nmeta", "N", true}}},
  {"poly_safe_open", call_poly_safe_open, 2, true, {{"ctx", "HCONTEXT", true}, {"path", "S", true}}},
  {"poly_safe_count", call_poly_safe_count, 1, false, {{"f", "HFILE", true}}},
  {"poly_safe_name", call_poly_safe_name, 2, false, {{"f", "HFILE", true}, {"k", "I", true}}},
  {"poly_safe_get", call_poly_safe_get, 2, true, {{"f", "HFILE", true}, {"k", "I", true}}},
  {"poly_safe_close", call_poly_safe_close, 1, false, {{"f", "HFILE", false}}},
  {"poly_profile_begin", call_poly_profile_begin, 1, true, {{"ctx", "HCONTEXT", true}}},
  {"poly_profile_end", call_poly_profile_end, 1, true, {{"ctx", "HCONTEXT", true}}},
  {"poly_profile_kernels", call_poly_profile_kernels, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_profile_kernel", call_poly_profile_kernel, 3, true, {{"ctx", "HCONTEXT", true}, {"k", "I", true}, {"out", "A", true}}},
  {"poly_profile_stored", call_poly_profile_stored, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_profile_stored_at", call_poly_profile_stored_at, 3, true, {{"ctx", "HCONTEXT", true}, {"k", "I", true}, {"out", "A", true}}},
  {"poly_profile_peak_bytes", call_poly_profile_peak_bytes, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_counters", call_poly_counters, 2, true, {{"ctx", "HCONTEXT", true}, {"out", "A", true}}},
  {"poly_source", call_poly_source, 1, true, {{"t", "HTENSOR", true}}},
  {"poly_dump", call_poly_dump, 1, true, {{"t", "HTENSOR", true}}},
  {"poly_explain", call_poly_explain, 1, true, {{"t", "HTENSOR", true}}},
  {"poly_text_free", call_poly_text_free, 2, false, {{"ctx", "HCONTEXT", true}, {"text", "A", false}}},
  {"poly_compilations", call_poly_compilations, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_plans_built", call_poly_plans_built, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_plans_reused", call_poly_plans_reused, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_steps_recalled", call_poly_steps_recalled, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_cache_dir", call_poly_cache_dir, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_cache_entries", call_poly_cache_entries, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_cache_bytes", call_poly_cache_bytes, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_cache_limit", call_poly_cache_limit, 1, false, {{"ctx", "HCONTEXT", true}}},
  {"poly_cache_clear", call_poly_cache_clear, 1, true, {{"ctx", "HCONTEXT", true}}},
};
