/* names.h: the functions behind the public ones, generated from include/polygrad.h by py/tools/gen_api.py. Do not edit.
 * The library defines and calls core_x under the name poly_x; src/api alone uses both. See api/guard.h. */
/* clang-format off */
#ifndef POLY_NAMES_H
#define POLY_NAMES_H

PolyContext *core_context_new(void);
PolyContext *core_context_new_with(const PolyAllocator *allocator);
void core_context_free(PolyContext *ctx);
const char *core_version(void);
PolyStatus core_error_code(const PolyContext *ctx);
const char *core_error_text(const PolyContext *ctx);
void core_clear_error(PolyContext *ctx);
PolyStatus core_set_device(PolyContext *ctx, const char *name);
const char *core_device(const PolyContext *ctx);
const char *core_device_card(PolyContext *ctx, const char *device);
PolyStatus core_synchronize(PolyContext *ctx);
void core_set_threads(PolyContext *ctx, int threads);
int core_threads(const PolyContext *ctx);
void core_set_debug(PolyContext *ctx, int level);
void core_manual_seed(PolyContext *ctx, uint64_t seed);
uint64_t core_draw_seed(PolyContext *ctx);
void core_set_training(PolyContext *ctx, bool on);
bool core_training(const PolyContext *ctx);
void core_set_no_grad(PolyContext *ctx, bool on);
bool core_no_grad(const PolyContext *ctx);
PolyStatus core_set_autocast(PolyContext *ctx, PolyDType dtype);
PolyDType core_autocast(const PolyContext *ctx);
PolyStatus core_set_default_float(PolyContext *ctx, PolyDType dtype);
PolyDType core_default_float(const PolyContext *ctx);
int64_t core_live_nodes(const PolyContext *ctx);
int64_t core_live_tensors(const PolyContext *ctx);
int64_t core_live_bytes(const PolyContext *ctx);
int64_t core_peak_bytes(const PolyContext *ctx);
void core_reset_peak(PolyContext *ctx);
int64_t core_device_live_bytes(PolyContext *ctx, const char *device);
int64_t core_device_peak_bytes(PolyContext *ctx, const char *device);
int64_t core_device_held_bytes(PolyContext *ctx, const char *device);
int64_t core_device_read_bytes(PolyContext *ctx, const char *device);
void core_device_trim(PolyContext *ctx, const char *device);
void core_scope_begin(PolyContext *ctx);
void core_scope_end(PolyContext *ctx);
PolyTensor *core_keep(PolyTensor *t);
void core_free(PolyTensor *t);
PolyTensor *core_retain_copy(PolyTensor *t);
PolyContext *core_context_of(const PolyTensor *t);
int core_ndim(const PolyTensor *t);
int64_t core_dim(const PolyTensor *t, int axis);
void core_shape(const PolyTensor *t, int64_t *out);
int64_t core_numel(const PolyTensor *t);
int64_t core_numel_size(const PolyTensor *t);
PolyDType core_dtype(const PolyTensor *t);
const char *core_dtype_name(PolyDType d);
int core_dtype_size(PolyDType d);
PolyDType core_promote(PolyDType a, PolyDType b);
bool core_is_realized(const PolyTensor *t);
PolyStatus core_value_ids(PolyTensor *const *t, int n, int64_t *out);
int64_t core_var_bind(PolyContext *ctx, const char *name, int64_t min, int64_t max, int64_t value);
bool core_dim_is_symbolic(int64_t dim);
void core_dim_hold(PolyContext *ctx, int64_t dim, bool on);
int64_t core_dim_value(PolyContext *ctx, int64_t dim);
int64_t core_dim_min(PolyContext *ctx, int64_t dim);
int64_t core_dim_max(PolyContext *ctx, int64_t dim);
int64_t core_dim_op(PolyContext *ctx, char op, int64_t a, int64_t b);
const char *core_dim_text(PolyContext *ctx, int64_t dim, char *buf, size_t n);
PolyTensor *core_sized(PolyTensor *t, int ndim, const int64_t *shape);
bool core_on_device(PolyTensor *t);
bool core_samples_there(PolyContext *ctx, int64_t edges);
bool core_worth_device(PolyContext *ctx, int64_t bytes);
PolyTensor *core_join(PolyTensor *const *t, int n, int axis);
PolyTensor *core_from_data(PolyContext *ctx, const void *data, PolyDType dtype, int ndim, const int64_t *shape);
PolyTensor *core_from_borrowed(PolyContext *ctx, void *data, PolyDType dtype, int ndim, const int64_t *shape, void (*release)(void *user), void *user);
PolyTensor *core_from_device(PolyContext *ctx, void *data, PolyDType dtype, int ndim, const int64_t *shape, void (*release)(void *user), void *user);
void core_set_copy_ahead(PolyContext *ctx, bool on);
bool core_can_copy_ahead(const PolyContext *ctx);
PolyStatus core_realize(PolyTensor *t);
PolyStatus core_realize_many(PolyTensor *const *t, int n);
PolyStatus core_read(PolyTensor *t, void *out, size_t out_bytes);
void *core_data(PolyTensor *t);
PolyStatus core_move_here(PolyTensor *t);
void *core_device_data(PolyTensor *t);
uint64_t core_memory_id(PolyTensor *t);
double core_item(PolyTensor *t);
int64_t core_item_int(PolyTensor *t);
PolyStatus core_write(PolyTensor *t, const void *data, size_t bytes);
PolyTensor *core_empty(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape);
PolyTensor *core_zeros(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape);
PolyTensor *core_ones(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape);
PolyTensor *core_full(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double value);
PolyTensor *core_full_int(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, int64_t value);
PolyTensor *core_scalar(PolyContext *ctx, PolyDType dtype, double value);
PolyTensor *core_arange(PolyContext *ctx, PolyDType dtype, double start, double stop, double step);
PolyTensor *core_iota(PolyContext *ctx, PolyDType dtype, int64_t n);
PolyTensor *core_linspace(PolyContext *ctx, PolyDType dtype, double start, double stop, int64_t steps);
PolyTensor *core_eye(PolyContext *ctx, PolyDType dtype, int64_t n, int64_t m);
PolyTensor *core_full_like(PolyTensor *t, double value);
PolyTensor *core_zeros_like(PolyTensor *t);
PolyTensor *core_ones_like(PolyTensor *t);
PolyTensor *core_empty_like(PolyTensor *t);
PolyTensor *core_rand_like(PolyTensor *t);
PolyTensor *core_randn_like(PolyTensor *t);
PolyTensor *core_rand(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape);
PolyTensor *core_randn(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape);
PolyTensor *core_randint(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, int64_t low, int64_t high);
PolyTensor *core_uniform(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double low, double high);
PolyTensor *core_normal(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double mean, double std);
PolyTensor *core_randperm(PolyContext *ctx, int64_t n);
PolyTensor *core_scaled_uniform(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape);
PolyTensor *core_glorot_uniform(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape);
PolyTensor *core_glorot_normal(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape);
PolyTensor *core_kaiming_uniform(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double a);
PolyTensor *core_kaiming_normal(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double a);
PolyTensor *core_multinomial(PolyTensor *weights, int64_t n, bool replacement);
PolyTensor *core_binary(PolyBinaryOp op, PolyTensor *a, PolyTensor *b);
PolyTensor *core_binary_weak(PolyBinaryOp op, PolyTensor *a, PolyTensor *b);
PolyTensor *core_binary_scalar(PolyBinaryOp op, PolyTensor *a, char kind, int64_t i, double f, bool reversed);
PolyTensor *core_add(PolyTensor *a, PolyTensor *b);
PolyTensor *core_sub(PolyTensor *a, PolyTensor *b);
PolyTensor *core_mul(PolyTensor *a, PolyTensor *b);
PolyTensor *core_div(PolyTensor *a, PolyTensor *b);
PolyTensor *core_pow(PolyTensor *a, PolyTensor *b);
PolyTensor *core_maximum(PolyTensor *a, PolyTensor *b);
PolyTensor *core_minimum(PolyTensor *a, PolyTensor *b);
PolyTensor *core_lt(PolyTensor *a, PolyTensor *b);
PolyTensor *core_eq(PolyTensor *a, PolyTensor *b);
PolyTensor *core_add_scalar(PolyTensor *a, double value);
PolyTensor *core_mul_scalar(PolyTensor *a, double value);
PolyTensor *core_where(PolyTensor *cond, PolyTensor *a, PolyTensor *b);
PolyTensor *core_clamp(PolyTensor *x, double low, double high);
PolyTensor *core_logaddexp(PolyTensor *a, PolyTensor *b);
PolyTensor *core_lerp(PolyTensor *a, PolyTensor *b, PolyTensor *weight);
PolyTensor *core_isclose(PolyTensor *a, PolyTensor *b, double rtol, double atol, bool equal_nan);
PolyTensor *core_unary(PolyUnaryOp op, PolyTensor *x);
PolyTensor *core_neg(PolyTensor *x);
PolyTensor *core_abs(PolyTensor *x);
PolyTensor *core_square(PolyTensor *x);
PolyTensor *core_sqrt(PolyTensor *x);
PolyTensor *core_exp(PolyTensor *x);
PolyTensor *core_log(PolyTensor *x);
PolyTensor *core_tanh(PolyTensor *x);
PolyTensor *core_sigmoid(PolyTensor *x);
PolyTensor *core_relu(PolyTensor *x);
PolyTensor *core_gelu(PolyTensor *x);
PolyTensor *core_leaky_relu(PolyTensor *x, double slope);
PolyTensor *core_elu(PolyTensor *x, double alpha);
PolyTensor *core_celu(PolyTensor *x, double alpha);
PolyTensor *core_hardtanh(PolyTensor *x, double low, double high);
PolyTensor *core_softplus(PolyTensor *x, double beta);
PolyTensor *core_polygamma(int n, PolyTensor *x);
PolyTensor *core_cast(PolyTensor *x, PolyDType dtype);
PolyTensor *core_bitcast(PolyTensor *x, PolyDType dtype);
PolyTensor *core_keccak(PolyTensor *x, int rate, int suffix, int nout);
PolyTensor *core_sum(PolyTensor *x, int naxis, const int *axes, bool keepdim);
PolyTensor *core_sum_dtype(PolyTensor *x, int naxis, const int *axes, bool keepdim, PolyDType dtype);
PolyTensor *core_prod(PolyTensor *x, int naxis, const int *axes, bool keepdim);
PolyTensor *core_max(PolyTensor *x, int naxis, const int *axes, bool keepdim);
PolyTensor *core_min(PolyTensor *x, int naxis, const int *axes, bool keepdim);
PolyTensor *core_extremum_first(PolyTensor *x, int naxis, const int *axes, bool keepdim, bool smallest);
PolyTensor *core_mean(PolyTensor *x, int naxis, const int *axes, bool keepdim);
PolyTensor *core_var(PolyTensor *x, int naxis, const int *axes, bool keepdim, double correction);
PolyTensor *core_std(PolyTensor *x, int naxis, const int *axes, bool keepdim, double correction);
PolyTensor *core_norm(PolyTensor *x, int naxis, const int *axes, bool keepdim, double p);
PolyTensor *core_any(PolyTensor *x, int naxis, const int *axes, bool keepdim);
PolyTensor *core_all(PolyTensor *x, int naxis, const int *axes, bool keepdim);
PolyTensor *core_logsumexp(PolyTensor *x, int naxis, const int *axes, bool keepdim);
PolyTensor *core_argmax(PolyTensor *x, int axis, bool keepdim);
PolyTensor *core_argmin(PolyTensor *x, int axis, bool keepdim);
PolyTensor *core_softmax(PolyTensor *x, int axis);
PolyTensor *core_log_softmax(PolyTensor *x, int axis);
PolyTensor *core_cumsum(PolyTensor *x, int axis);
PolyTensor *core_cumprod(PolyTensor *x, int axis);
PolyTensor *core_cummax(PolyTensor *x, int axis);
PolyTensor *core_cummin(PolyTensor *x, int axis);
PolyTensor *core_logcumsumexp(PolyTensor *x, int axis);
PolyTensor *core_reshape(PolyTensor *x, int ndim, const int64_t *shape);
PolyTensor *core_permute(PolyTensor *x, int ndim, const int *order);
PolyTensor *core_transpose(PolyTensor *x, int a, int b);
PolyTensor *core_expand(PolyTensor *x, int ndim, const int64_t *shape);
PolyTensor *core_shrink(PolyTensor *x, const int64_t *ranges);
PolyTensor *core_pad(PolyTensor *x, const int64_t *padding, PolyPadMode mode, double value);
PolyTensor *core_flip(PolyTensor *x, int naxis, const int *axes);
PolyTensor *core_squeeze(PolyTensor *x, int axis);
PolyTensor *core_unsqueeze(PolyTensor *x, int axis);
PolyTensor *core_flatten(PolyTensor *x, int first, int last);
PolyTensor *core_unflatten(PolyTensor *x, int axis, int n, const int64_t *sizes);
PolyTensor *core_repeat(PolyTensor *x, int n, const int64_t *repeats);
PolyTensor *core_repeat_interleave(PolyTensor *x, int64_t repeats, int axis);
PolyTensor *core_roll(PolyTensor *x, int naxis, const int64_t *shifts, const int *axes);
PolyTensor *core_cat(PolyTensor *const *t, int n, int axis);
PolyTensor *core_stack(PolyTensor *const *t, int n, int axis);
PolyStatus core_split(PolyTensor *x, int n, const int64_t *sizes, int axis, PolyTensor **out);
int core_chunk(PolyTensor *x, int n, int axis, PolyTensor **out);
PolyTensor *core_tril(PolyTensor *x, int diagonal);
PolyTensor *core_triu(PolyTensor *x, int diagonal);
PolyTensor *core_diag(PolyTensor *x);
PolyTensor *core_diagonal(PolyTensor *x);
PolyTensor *core_unfold(PolyTensor *x, int axis, int64_t size, int64_t step);
PolyStatus core_meshgrid(PolyTensor *const *t, int n, char indexing, PolyTensor **out);
PolyTensor *core_one_hot(PolyTensor *x, int64_t classes);
PolyTensor *core_getitem(PolyTensor *x, int n, const PolyIndex *index);
PolyStatus core_setitem(PolyTensor *x, int n, const PolyIndex *index, PolyTensor *value);
PolyTensor *core_gather(PolyTensor *x, int axis, PolyTensor *index);
PolyTensor *core_index_select(PolyTensor *x, int axis, PolyTensor *index);
PolyTensor *core_scatter(PolyTensor *x, int axis, PolyTensor *index, PolyTensor *src);
PolyTensor *core_scatter_reduce(PolyTensor *x, int axis, PolyTensor *index, PolyTensor *src, const char *reduce, bool include_self);
PolyTensor *core_index_add(PolyTensor *x, int axis, PolyTensor *index, PolyTensor *src);
PolyStatus core_sort(PolyTensor *x, int axis, bool descending, PolyTensor **values, PolyTensor **indices);
PolyTensor *core_argsort(PolyTensor *x, int axis, bool descending);
PolyStatus core_topk(PolyTensor *x, int64_t k, int axis, bool largest, bool sorted, PolyTensor **values, PolyTensor **indices);
PolyStatus core_kthvalue(PolyTensor *x, int64_t k, int axis, PolyTensor **values, PolyTensor **indices);
PolyStatus core_median(PolyTensor *x, int axis, bool numbers, PolyTensor **values, PolyTensor **indices);
PolyTensor *core_searchsorted(PolyTensor *sorted, PolyTensor *values, bool right);
PolyTensor *core_bincount(PolyTensor *x, int64_t size);
PolyTensor *core_masked_select(PolyTensor *x, PolyTensor *mask);
PolyTensor *core_nonzero(PolyTensor *x);
PolyTensor *core_masked_fill(PolyTensor *x, PolyTensor *mask, double value);
PolyTensor *core_contiguous(PolyTensor *x);
PolyTensor *core_clone(PolyTensor *x);
PolyTensor *core_detach(PolyTensor *x);
PolyStatus core_assign(PolyTensor *t, PolyTensor *value);
PolyStatus core_give(PolyTensor *t, PolyTensor *value);
PolyStatus core_replace(PolyTensor *t, PolyTensor *other);
PolyTensor *core_matmul(PolyTensor *a, PolyTensor *b);
PolyTensor *core_einsum(PolyContext *ctx, const char *formula, PolyTensor *const *t, int n);
PolyTensor *core_solve(PolyTensor *a, PolyTensor *b);
PolyTensor *core_solve_triangular(PolyTensor *a, PolyTensor *b, bool upper, bool unit);
PolyTensor *core_cholesky(PolyTensor *a);
PolyStatus core_slogdet(PolyTensor *a, PolyTensor **det, PolyTensor **sign, PolyTensor **size);
PolyStatus core_lu(PolyTensor *a, PolyTensor **factors, PolyTensor **exchanged);
PolyStatus core_eigh(PolyTensor *a, PolyTensor **values, PolyTensor **vectors);
PolyStatus core_qr(PolyTensor *a, PolyTensor **q, PolyTensor **r);
PolyStatus core_svd(PolyTensor *a, PolyTensor **u, PolyTensor **values, PolyTensor **vt);
PolyTensor *core_linear(PolyTensor *x, PolyTensor *weight, PolyTensor *bias);
PolyTensor *core_conv(PolyTensor *x, PolyTensor *weight, PolyTensor *bias, int groups, const int64_t *stride, const int64_t *dilation, const int64_t *padding);
PolyTensor *core_conv_transpose(PolyTensor *x, PolyTensor *weight, PolyTensor *bias, int groups, const int64_t *stride, const int64_t *dilation, const int64_t *padding, const int64_t *output_padding);
PolyTensor *core_max_pool(PolyTensor *x, int nspatial, const int64_t *kernel, const int64_t *stride, const int64_t *dilation, const int64_t *padding, bool ceil_mode);
PolyTensor *core_avg_pool(PolyTensor *x, int nspatial, const int64_t *kernel, const int64_t *stride, const int64_t *dilation, const int64_t *padding, bool ceil_mode, bool count_include_pad);
PolyTensor *core_attention(PolyTensor *q, PolyTensor *k, PolyTensor *v, PolyTensor *mask, bool causal, double dropout);
PolyTensor *core_layernorm(PolyTensor *x, int naxis, double eps);
PolyTensor *core_rmsnorm(PolyTensor *x, double eps);
PolyTensor *core_groupnorm(PolyTensor *x, int groups, double eps);
PolyTensor *core_batchnorm(PolyTensor *x, PolyTensor *weight, PolyTensor *bias, PolyTensor *mean, PolyTensor *invstd, int axis);
PolyTensor *core_batchnorm_train(PolyTensor *x, PolyTensor *weight, PolyTensor *bias, PolyTensor *mean, PolyTensor *var, PolyTensor *count, double momentum, double eps, int axis);
PolyTensor *core_dropout(PolyTensor *x, double p);
PolyTensor *core_cross_entropy(PolyTensor *x, PolyTensor *target, double label_smoothing, int64_t ignore_index, char reduction);
PolyTensor *core_nll_loss(PolyTensor *x, PolyTensor *target, PolyTensor *weight, int64_t ignore_index, char reduction);
PolyTensor *core_binary_cross_entropy(PolyTensor *x, PolyTensor *target, char reduction);
PolyTensor *core_binary_cross_entropy_logits(PolyTensor *x, PolyTensor *target, PolyTensor *pos_weight, char reduction);
PolyTensor *core_mse_loss(PolyTensor *x, PolyTensor *target, char reduction);
PolyTensor *core_l1_loss(PolyTensor *x, PolyTensor *target, char reduction);
PolyTensor *core_huber_loss(PolyTensor *x, PolyTensor *target, double delta, char reduction);
PolyGraph *core_graph_from_coo(PolyContext *ctx, const void *src, const void *dst, PolyDType dtype, int64_t num_edges, int64_t num_src, int64_t num_dst);
PolyGraph *core_graph_from_csr(PolyContext *ctx, const void *rowptr, const void *col, PolyDType dtype, int64_t num_dst, int64_t num_src);
PolyGraph *core_graph_of(PolyTensor *edge_index, int64_t num_src, int64_t num_dst);
PolyGraph *core_graph_retain(PolyGraph *g);
void core_graph_free(PolyGraph *g);
int64_t core_graph_num_edges(const PolyGraph *g);
int64_t core_graph_num_src(const PolyGraph *g);
int64_t core_graph_num_dst(const PolyGraph *g);
PolyGraph *core_graph_reversed(PolyGraph *g);
PolyGraph *core_graph_with_self_loops(PolyGraph *g, bool only_missing);
PolyGraph *core_graph_with_own_loops(PolyGraph *g);
PolyGraph *core_graph_without_self_loops(PolyGraph *g);
PolyGraph *core_graph_undirected(PolyGraph *g);
PolyGraph *core_graph_coalesced(PolyGraph *g);
PolyTensor *core_graph_origin(PolyGraph *g);
PolyTensor *core_graph_src_index(PolyGraph *g);
PolyTensor *core_graph_dst_index(PolyGraph *g);
PolyTensor *core_graph_rowptr(PolyGraph *g, char side);
PolyTensor *core_graph_order(PolyGraph *g, char side);
PolyTensor *core_graph_other(PolyGraph *g, char side);
PolyTensor *core_graph_degree(PolyGraph *g, char side);
PolyTensor *core_graph_loops(PolyGraph *g);
PolyTensor *core_graph_norm(PolyGraph *g, char side, bool own_loops, PolyDType dtype);
PolyTensor *core_graph_own(PolyGraph *g, PolyDType dtype);
PolyTensor *core_graph_smooth(PolyGraph *g, PolyTensor *x, char side, bool own_loops);
int core_graph_arrays(PolyGraph *g, PolyGraph *like, PolyTensor **out, int max);
PolyTensor *core_graph_src(PolyGraph *g, PolyTensor *x);
PolyTensor *core_graph_dst(PolyGraph *g, PolyTensor *x);
PolyTensor *core_graph_reduce(PolyGraph *g, PolyTensor *m, const char *op, char side);
PolyTensor *core_graph_softmax(PolyGraph *g, PolyTensor *m, char side);
PolyStatus core_graph_ppr(PolyGraph *g, const int64_t *targets, int64_t num_targets, double alpha, double eps, PolyTensor **out);
PolySampler *core_sampler_new(const PolyAllocator *allocator, int node_types, const int64_t *num_nodes);
void core_sampler_free(PolySampler *s);
PolyStatus core_sampler_add(PolySampler *s, const PolyRelation *relation, int threads);
int64_t core_sampler_num_edges(const PolySampler *s, int relation);
PolyStatus core_sampler_error(const PolySampler *s);
const char *core_sampler_error_text(const PolySampler *s);
PolySample *core_sample_new(const PolySampler *sampler);
void core_sample_free(PolySample *s);
PolyStatus core_sample_run(PolySample *s, const PolySampleSpec *spec, int num_seeds, const PolySeeds *seeds);
PolyStatus core_sample_run_hgt(PolySample *s, const PolySampleSpec *spec, int num_seeds, const PolySeeds *seeds);
int64_t core_sample_num_nodes(const PolySample *s, int type);
int64_t core_sample_num_edges(const PolySample *s, int relation);
int64_t core_sample_hop_nodes(const PolySample *s, int type, int hop);
int64_t core_sample_hop_edges(const PolySample *s, int relation, int hop);
PolyStatus core_sample_read(PolySample *s, char what, int of, int64_t *out);
PolyStatus core_sample_error(const PolySample *s);
const char *core_sample_error_text(const PolySample *s);
PolyTensor *core_draw_below(PolyTensor *stream, PolyTensor *number, PolyTensor *size, uint64_t seed, uint64_t batch, int64_t hop);
int64_t core_sampler_walk(const PolySampler *s, int relation, const int64_t *start, int64_t n, int64_t length, double p, double q, uint64_t seed, int threads, int64_t *nodes, int64_t *edges);
int64_t core_gather_rows(const void *from, int64_t rows, size_t row_bytes, const int64_t *index, int64_t n, void *out, int threads);
PolyStatus core_graph_partition(PolyGraph *g, int64_t parts, bool recursive, int64_t *out);
PolyStatus core_rmat(int64_t num_nodes, int64_t num_edges, double a, double b, double c, uint64_t seed, bool shuffle, int threads, int64_t *edge_index);
PolyTensor *core_rmat_edges(PolyContext *ctx, int64_t num_nodes, int64_t num_edges, double a, double b, double c, uint64_t seed, bool shuffle);
PolyTensor *core_knn(PolyTensor *x, PolyTensor *y, const int64_t *ptr_x, const int64_t *ptr_y, int64_t groups, int64_t k, bool cosine, bool skip_same);
PolyTensor *core_radius(PolyTensor *x, PolyTensor *y, const int64_t *ptr_x, const int64_t *ptr_y, int64_t groups, double r, int64_t most, bool skip_same);
PolyTensor *core_fps(PolyTensor *x, const int64_t *ptr, int64_t groups, double ratio, const int64_t *start);
PolyTensor *core_graph_match(PolyGraph *g, PolyTensor *weight, uint64_t seed);
PolyTensor *core_graph_contract(PolyGraph *g, PolyTensor *score, PolyTensor **chosen);
PolyGraph *core_graph_product(PolyGraph *a, PolyGraph *b, PolyTensor **paths);
PolyGraph *core_graph_product_values(PolyGraph *a, PolyTensor *x, PolyGraph *b, PolyTensor *y, PolyTensor **values);
PolyTensor *core_reduce_runs(PolyTensor *x, const int64_t *begin, int64_t n, char op);
PolyStatus core_sort_edges(PolyTensor *edge_index, int64_t nodes, bool by_row, bool merge, PolyTensor **sorted, PolyTensor **order, PolyTensor **begin);
PolyStatus core_filter_edges(PolyTensor *edge_index, PolyTensor *mask, PolyTensor *src, PolyTensor *dst, char loops, PolyTensor **kept, PolyTensor **stays);
PolyTensor *core_top_rows(PolyTensor *score, PolyTensor *group, PolyTensor *keep);
PolyTensor *core_compress(PolyTensor *x, PolyTensor *mask, int axis);
PolyTensor *core_random_mask(PolyContext *ctx, int64_t n, double p, uint64_t seed);
PolyVertex *core_zoom_in(PolyGraph *g);
PolyTensor *core_zoom_out(PolyVertex *v, PolyTensor *x);
PolyStatus core_zoom_out_many(PolyVertex *v, PolyTensor *const *x, int n, PolyTensor **out);
PolyNbs *core_innbs(PolyVertex *v);
PolyNbs *core_outnbs(PolyVertex *v);
PolyNbs *core_nbs(PolyVertex *v, PolyGraph *relation, char side);
PolyTensor *core_self(PolyVertex *v, PolyTensor *x);
PolyTensor *core_nb(PolyNbs *n, PolyTensor *x);
PolyTensor *core_edge(PolyNbs *n, PolyTensor *x);
PolyTensor *core_nb_reduce(PolyNbs *n, PolyTensor *x, const char *op);
PolyTensor *core_nb_sum(PolyNbs *n, PolyTensor *x);
PolyTensor *core_nb_mean(PolyNbs *n, PolyTensor *x);
PolyTensor *core_nb_max(PolyNbs *n, PolyTensor *x);
PolyTensor *core_nb_min(PolyNbs *n, PolyTensor *x);
PolyTensor *core_nb_softmax(PolyNbs *n, PolyTensor *x);
PolyTensor *core_nb_count(PolyNbs *n);
PolyTensor *core_nb_edges(PolyNbs *n, PolyTensor *x);
PolyStatus core_set_requires_grad(PolyTensor *t, bool on);
bool core_requires_grad(PolyTensor *t);
PolyStatus core_grad(PolyTensor *root, PolyTensor *gradient, PolyTensor *const *targets, int n, PolyTensor **out);
PolyTensor *core_function(PolyTensor *value, PolyTensor *const *inputs, int n, const PolyFunction *function);
bool core_depends_on(PolyTensor *root, PolyTensor *target);
bool core_depends_on_leaves(PolyTensor *root);
bool core_check_cycles(PolyContext *ctx);
PolyStatus core_backward(PolyTensor *root, PolyTensor *gradient);
PolyStatus core_backward_all(PolyTensor *root, PolyTensor *gradient);
PolyStatus core_backward_until(PolyTensor *root, PolyTensor *gradient, PolyTensor *const *stops, int n, PolyTensor **out);
PolyTensor *core_get_grad(PolyTensor *t);
PolyStatus core_set_grad(PolyTensor *t, PolyTensor *grad);
PolyOptim *core_sgd(PolyTensor *const *params, int n, double lr, double momentum, double weight_decay, bool nesterov);
PolyOptim *core_adam(PolyTensor *const *params, int n, double lr, double beta1, double beta2, double eps, double weight_decay);
PolyOptim *core_adamw(PolyTensor *const *params, int n, double lr, double beta1, double beta2, double eps, double weight_decay);
PolyOptim *core_rmsprop(PolyTensor *const *params, int n, double lr, double alpha, double eps, double weight_decay, double momentum);
PolyOptim *core_lamb(PolyTensor *const *params, int n, double lr, double beta1, double beta2, double eps, double weight_decay);
PolyOptim *core_optim_new(const char *kind, PolyTensor *const *params, int n, double lr, const PolyOptimOptions *options);
PolyStatus core_optim_set(PolyOptim *o, const PolyOptimOptions *options);
void core_optim_free(PolyOptim *o);
void core_optim_zero_grad(PolyOptim *o);
PolyStatus core_optim_step(PolyOptim *o);
PolyStatus core_optim_schedule(PolyOptim *o);
PolyStatus core_optim_step_if(PolyOptim *o, PolyTensor *condition);
PolyStatus core_optim_schedule_if(PolyOptim *o, PolyTensor *condition);
PolyStatus core_optim_set_lr(PolyOptim *o, double lr);
double core_optim_lr(const PolyOptim *o);
int core_optim_state(PolyOptim *o, PolyTensor **out, int max);
int core_scan(PolyContext *ctx, const PolyScanBody *body, PolyTensor *const *init, int ncarry, PolyTensor *const *xs, int nx, int64_t length, int flags, PolyTensor **last, PolyTensor **stacked);
PolyStatus core_settle(PolyContext *ctx);
PolyStatus core_trace_begin(PolyContext *ctx);
void core_trace_end(PolyContext *ctx);
PolyTensor *core_trace_input(PolyTensor *t);
PolyStatus core_trace_reads(PolyTensor *t);
PolyStep *core_step_new(PolyTensor *const *inputs, int ninput, PolyTensor *const *outputs, int noutput, PolyTensor *const *state, int nstate);
PolyStatus core_step_run(PolyStep *s, PolyTensor *const *inputs, int ninput);
PolyStatus core_step_bind(PolyStep *s, int64_t traced, int64_t now);
PolyTensor *core_step_output(PolyStep *s, int k);
int core_step_kernels(const PolyStep *s);
int core_step_intermediates(const PolyStep *s);
int64_t core_step_peak_bytes(PolyStep *s);
void core_step_trim(PolyStep *s);
void core_step_free(PolyStep *s);
PolyStatus core_safe_save(PolyContext *ctx, const char *path, const char *const *names, PolyTensor *const *t, int n);
PolyStatus core_safe_save_with(PolyContext *ctx, const char *path, const char *const *names, PolyTensor *const *t, int n, const char *const *meta, int nmeta);
PolyStateFile *core_safe_open(PolyContext *ctx, const char *path);
int core_safe_count(const PolyStateFile *f);
const char *core_safe_name(const PolyStateFile *f, int k);
PolyTensor *core_safe_get(PolyStateFile *f, int k);
void core_safe_close(PolyStateFile *f);
PolyStatus core_profile_begin(PolyContext *ctx);
PolyStatus core_profile_end(PolyContext *ctx);
int core_profile_kernels(const PolyContext *ctx);
PolyStatus core_profile_kernel(const PolyContext *ctx, int k, PolyKernelStat *out);
int core_profile_stored(const PolyContext *ctx);
PolyStatus core_profile_stored_at(const PolyContext *ctx, int k, PolyStoredStat *out);
int64_t core_profile_peak_bytes(const PolyContext *ctx);
PolyStatus core_counters(const PolyContext *ctx, PolyKernelStat *out);
char *core_source(PolyTensor *t);
char *core_dump(PolyTensor *t);
char *core_explain(PolyTensor *t);
void core_text_free(PolyContext *ctx, char *text);
int64_t core_compilations(const PolyContext *ctx);
int64_t core_plans_built(const PolyContext *ctx);
int64_t core_plans_reused(const PolyContext *ctx);
int64_t core_steps_recalled(const PolyContext *ctx);
const char *core_cache_dir(const PolyContext *ctx);
int64_t core_cache_entries(const PolyContext *ctx);
int64_t core_cache_bytes(const PolyContext *ctx);
int64_t core_cache_limit(const PolyContext *ctx);
PolyStatus core_cache_clear(PolyContext *ctx);

#ifndef POLY_CHECKED
#define poly_context_new core_context_new
#define poly_context_new_with core_context_new_with
#define poly_context_free core_context_free
#define poly_version core_version
#define poly_error_code core_error_code
#define poly_error_text core_error_text
#define poly_clear_error core_clear_error
#define poly_set_device core_set_device
#define poly_device core_device
#define poly_device_card core_device_card
#define poly_synchronize core_synchronize
#define poly_set_threads core_set_threads
#define poly_threads core_threads
#define poly_set_debug core_set_debug
#define poly_manual_seed core_manual_seed
#define poly_draw_seed core_draw_seed
#define poly_set_training core_set_training
#define poly_training core_training
#define poly_set_no_grad core_set_no_grad
#define poly_no_grad core_no_grad
#define poly_set_autocast core_set_autocast
#define poly_autocast core_autocast
#define poly_set_default_float core_set_default_float
#define poly_default_float core_default_float
#define poly_live_nodes core_live_nodes
#define poly_live_tensors core_live_tensors
#define poly_live_bytes core_live_bytes
#define poly_peak_bytes core_peak_bytes
#define poly_reset_peak core_reset_peak
#define poly_device_live_bytes core_device_live_bytes
#define poly_device_peak_bytes core_device_peak_bytes
#define poly_device_held_bytes core_device_held_bytes
#define poly_device_read_bytes core_device_read_bytes
#define poly_device_trim core_device_trim
#define poly_scope_begin core_scope_begin
#define poly_scope_end core_scope_end
#define poly_keep core_keep
#define poly_free core_free
#define poly_retain_copy core_retain_copy
#define poly_context_of core_context_of
#define poly_ndim core_ndim
#define poly_dim core_dim
#define poly_shape core_shape
#define poly_numel core_numel
#define poly_numel_size core_numel_size
#define poly_dtype core_dtype
#define poly_dtype_name core_dtype_name
#define poly_dtype_size core_dtype_size
#define poly_promote core_promote
#define poly_is_realized core_is_realized
#define poly_value_ids core_value_ids
#define poly_var_bind core_var_bind
#define poly_dim_is_symbolic core_dim_is_symbolic
#define poly_dim_hold core_dim_hold
#define poly_dim_value core_dim_value
#define poly_dim_min core_dim_min
#define poly_dim_max core_dim_max
#define poly_dim_op core_dim_op
#define poly_dim_text core_dim_text
#define poly_sized core_sized
#define poly_on_device core_on_device
#define poly_samples_there core_samples_there
#define poly_worth_device core_worth_device
#define poly_join core_join
#define poly_from_data core_from_data
#define poly_from_borrowed core_from_borrowed
#define poly_from_device core_from_device
#define poly_set_copy_ahead core_set_copy_ahead
#define poly_can_copy_ahead core_can_copy_ahead
#define poly_realize core_realize
#define poly_realize_many core_realize_many
#define poly_read core_read
#define poly_data core_data
#define poly_move_here core_move_here
#define poly_device_data core_device_data
#define poly_memory_id core_memory_id
#define poly_item core_item
#define poly_item_int core_item_int
#define poly_write core_write
#define poly_empty core_empty
#define poly_zeros core_zeros
#define poly_ones core_ones
#define poly_full core_full
#define poly_full_int core_full_int
#define poly_scalar core_scalar
#define poly_arange core_arange
#define poly_iota core_iota
#define poly_linspace core_linspace
#define poly_eye core_eye
#define poly_full_like core_full_like
#define poly_zeros_like core_zeros_like
#define poly_ones_like core_ones_like
#define poly_empty_like core_empty_like
#define poly_rand_like core_rand_like
#define poly_randn_like core_randn_like
#define poly_rand core_rand
#define poly_randn core_randn
#define poly_randint core_randint
#define poly_uniform core_uniform
#define poly_normal core_normal
#define poly_randperm core_randperm
#define poly_scaled_uniform core_scaled_uniform
#define poly_glorot_uniform core_glorot_uniform
#define poly_glorot_normal core_glorot_normal
#define poly_kaiming_uniform core_kaiming_uniform
#define poly_kaiming_normal core_kaiming_normal
#define poly_multinomial core_multinomial
#define poly_binary core_binary
#define poly_binary_weak core_binary_weak
#define poly_binary_scalar core_binary_scalar
#define poly_add core_add
#define poly_sub core_sub
#define poly_mul core_mul
#define poly_div core_div
#define poly_pow core_pow
#define poly_maximum core_maximum
#define poly_minimum core_minimum
#define poly_lt core_lt
#define poly_eq core_eq
#define poly_add_scalar core_add_scalar
#define poly_mul_scalar core_mul_scalar
#define poly_where core_where
#define poly_clamp core_clamp
#define poly_logaddexp core_logaddexp
#define poly_lerp core_lerp
#define poly_isclose core_isclose
#define poly_unary core_unary
#define poly_neg core_neg
#define poly_abs core_abs
#define poly_square core_square
#define poly_sqrt core_sqrt
#define poly_exp core_exp
#define poly_log core_log
#define poly_tanh core_tanh
#define poly_sigmoid core_sigmoid
#define poly_relu core_relu
#define poly_gelu core_gelu
#define poly_leaky_relu core_leaky_relu
#define poly_elu core_elu
#define poly_celu core_celu
#define poly_hardtanh core_hardtanh
#define poly_softplus core_softplus
#define poly_polygamma core_polygamma
#define poly_cast core_cast
#define poly_bitcast core_bitcast
#define poly_keccak core_keccak
#define poly_sum core_sum
#define poly_sum_dtype core_sum_dtype
#define poly_prod core_prod
#define poly_max core_max
#define poly_min core_min
#define poly_extremum_first core_extremum_first
#define poly_mean core_mean
#define poly_var core_var
#define poly_std core_std
#define poly_norm core_norm
#define poly_any core_any
#define poly_all core_all
#define poly_logsumexp core_logsumexp
#define poly_argmax core_argmax
#define poly_argmin core_argmin
#define poly_softmax core_softmax
#define poly_log_softmax core_log_softmax
#define poly_cumsum core_cumsum
#define poly_cumprod core_cumprod
#define poly_cummax core_cummax
#define poly_cummin core_cummin
#define poly_logcumsumexp core_logcumsumexp
#define poly_reshape core_reshape
#define poly_permute core_permute
#define poly_transpose core_transpose
#define poly_expand core_expand
#define poly_shrink core_shrink
#define poly_pad core_pad
#define poly_flip core_flip
#define poly_squeeze core_squeeze
#define poly_unsqueeze core_unsqueeze
#define poly_flatten core_flatten
#define poly_unflatten core_unflatten
#define poly_repeat core_repeat
#define poly_repeat_interleave core_repeat_interleave
#define poly_roll core_roll
#define poly_cat core_cat
#define poly_stack core_stack
#define poly_split core_split
#define poly_chunk core_chunk
#define poly_tril core_tril
#define poly_triu core_triu
#define poly_diag core_diag
#define poly_diagonal core_diagonal
#define poly_unfold core_unfold
#define poly_meshgrid core_meshgrid
#define poly_one_hot core_one_hot
#define poly_getitem core_getitem
#define poly_setitem core_setitem
#define poly_gather core_gather
#define poly_index_select core_index_select
#define poly_scatter core_scatter
#define poly_scatter_reduce core_scatter_reduce
#define poly_index_add core_index_add
#define poly_sort core_sort
#define poly_argsort core_argsort
#define poly_topk core_topk
#define poly_kthvalue core_kthvalue
#define poly_median core_median
#define poly_searchsorted core_searchsorted
#define poly_bincount core_bincount
#define poly_masked_select core_masked_select
#define poly_nonzero core_nonzero
#define poly_masked_fill core_masked_fill
#define poly_contiguous core_contiguous
#define poly_clone core_clone
#define poly_detach core_detach
#define poly_assign core_assign
#define poly_give core_give
#define poly_replace core_replace
#define poly_matmul core_matmul
#define poly_einsum core_einsum
#define poly_solve core_solve
#define poly_solve_triangular core_solve_triangular
#define poly_cholesky core_cholesky
#define poly_slogdet core_slogdet
#define poly_lu core_lu
#define poly_eigh core_eigh
#define poly_qr core_qr
#define poly_svd core_svd
#define poly_linear core_linear
#define poly_conv core_conv
#define poly_conv_transpose core_conv_transpose
#define poly_max_pool core_max_pool
#define poly_avg_pool core_avg_pool
#define poly_attention core_attention
#define poly_layernorm core_layernorm
#define poly_rmsnorm core_rmsnorm
#define poly_groupnorm core_groupnorm
#define poly_batchnorm core_batchnorm
#define poly_batchnorm_train core_batchnorm_train
#define poly_dropout core_dropout
#define poly_cross_entropy core_cross_entropy
#define poly_nll_loss core_nll_loss
#define poly_binary_cross_entropy core_binary_cross_entropy
#define poly_binary_cross_entropy_logits core_binary_cross_entropy_logits
#define poly_mse_loss core_mse_loss
#define poly_l1_loss core_l1_loss
#define poly_huber_loss core_huber_loss
#define poly_graph_from_coo core_graph_from_coo
#define poly_graph_from_csr core_graph_from_csr
#define poly_graph_of core_graph_of
#define poly_graph_retain core_graph_retain
#define poly_graph_free core_graph_free
#define poly_graph_num_edges core_graph_num_edges
#define poly_graph_num_src core_graph_num_src
#define poly_graph_num_dst core_graph_num_dst
#define poly_graph_reversed core_graph_reversed
#define poly_graph_with_self_loops core_graph_with_self_loops
#define poly_graph_with_own_loops core_graph_with_own_loops
#define poly_graph_without_self_loops core_graph_without_self_loops
#define poly_graph_undirected core_graph_undirected
#define poly_graph_coalesced core_graph_coalesced
#define poly_graph_origin core_graph_origin
#define poly_graph_src_index core_graph_src_index
#define poly_graph_dst_index core_graph_dst_index
#define poly_graph_rowptr core_graph_rowptr
#define poly_graph_order core_graph_order
#define poly_graph_other core_graph_other
#define poly_graph_degree core_graph_degree
#define poly_graph_loops core_graph_loops
#define poly_graph_norm core_graph_norm
#define poly_graph_own core_graph_own
#define poly_graph_smooth core_graph_smooth
#define poly_graph_arrays core_graph_arrays
#define poly_graph_src core_graph_src
#define poly_graph_dst core_graph_dst
#define poly_graph_reduce core_graph_reduce
#define poly_graph_softmax core_graph_softmax
#define poly_graph_ppr core_graph_ppr
#define poly_sampler_new core_sampler_new
#define poly_sampler_free core_sampler_free
#define poly_sampler_add core_sampler_add
#define poly_sampler_num_edges core_sampler_num_edges
#define poly_sampler_error core_sampler_error
#define poly_sampler_error_text core_sampler_error_text
#define poly_sample_new core_sample_new
#define poly_sample_free core_sample_free
#define poly_sample_run core_sample_run
#define poly_sample_run_hgt core_sample_run_hgt
#define poly_sample_num_nodes core_sample_num_nodes
#define poly_sample_num_edges core_sample_num_edges
#define poly_sample_hop_nodes core_sample_hop_nodes
#define poly_sample_hop_edges core_sample_hop_edges
#define poly_sample_read core_sample_read
#define poly_sample_error core_sample_error
#define poly_sample_error_text core_sample_error_text
#define poly_draw_below core_draw_below
#define poly_sampler_walk core_sampler_walk
#define poly_gather_rows core_gather_rows
#define poly_graph_partition core_graph_partition
#define poly_rmat core_rmat
#define poly_rmat_edges core_rmat_edges
#define poly_knn core_knn
#define poly_radius core_radius
#define poly_fps core_fps
#define poly_graph_match core_graph_match
#define poly_graph_contract core_graph_contract
#define poly_graph_product core_graph_product
#define poly_graph_product_values core_graph_product_values
#define poly_reduce_runs core_reduce_runs
#define poly_sort_edges core_sort_edges
#define poly_filter_edges core_filter_edges
#define poly_top_rows core_top_rows
#define poly_compress core_compress
#define poly_random_mask core_random_mask
#define poly_zoom_in core_zoom_in
#define poly_zoom_out core_zoom_out
#define poly_zoom_out_many core_zoom_out_many
#define poly_innbs core_innbs
#define poly_outnbs core_outnbs
#define poly_nbs core_nbs
#define poly_self core_self
#define poly_nb core_nb
#define poly_edge core_edge
#define poly_nb_reduce core_nb_reduce
#define poly_nb_sum core_nb_sum
#define poly_nb_mean core_nb_mean
#define poly_nb_max core_nb_max
#define poly_nb_min core_nb_min
#define poly_nb_softmax core_nb_softmax
#define poly_nb_count core_nb_count
#define poly_nb_edges core_nb_edges
#define poly_set_requires_grad core_set_requires_grad
#define poly_requires_grad core_requires_grad
#define poly_grad core_grad
#define poly_function core_function
#define poly_depends_on core_depends_on
#define poly_depends_on_leaves core_depends_on_leaves
#define poly_check_cycles core_check_cycles
#define poly_backward core_backward
#define poly_backward_all core_backward_all
#define poly_backward_until core_backward_until
#define poly_get_grad core_get_grad
#define poly_set_grad core_set_grad
#define poly_sgd core_sgd
#define poly_adam core_adam
#define poly_adamw core_adamw
#define poly_rmsprop core_rmsprop
#define poly_lamb core_lamb
#define poly_optim_new core_optim_new
#define poly_optim_set core_optim_set
#define poly_optim_free core_optim_free
#define poly_optim_zero_grad core_optim_zero_grad
#define poly_optim_step core_optim_step
#define poly_optim_schedule core_optim_schedule
#define poly_optim_step_if core_optim_step_if
#define poly_optim_schedule_if core_optim_schedule_if
#define poly_optim_set_lr core_optim_set_lr
#define poly_optim_lr core_optim_lr
#define poly_optim_state core_optim_state
#define poly_scan core_scan
#define poly_settle core_settle
#define poly_trace_begin core_trace_begin
#define poly_trace_end core_trace_end
#define poly_trace_input core_trace_input
#define poly_trace_reads core_trace_reads
#define poly_step_new core_step_new
#define poly_step_run core_step_run
#define poly_step_bind core_step_bind
#define poly_step_output core_step_output
#define poly_step_kernels core_step_kernels
#define poly_step_intermediates core_step_intermediates
#define poly_step_peak_bytes core_step_peak_bytes
#define poly_step_trim core_step_trim
#define poly_step_free core_step_free
#define poly_safe_save core_safe_save
#define poly_safe_save_with core_safe_save_with
#define poly_safe_open core_safe_open
#define poly_safe_count core_safe_count
#define poly_safe_name core_safe_name
#define poly_safe_get core_safe_get
#define poly_safe_close core_safe_close
#define poly_profile_begin core_profile_begin
#define poly_profile_end core_profile_end
#define poly_profile_kernels core_profile_kernels
#define poly_profile_kernel core_profile_kernel
#define poly_profile_stored core_profile_stored
#define poly_profile_stored_at core_profile_stored_at
#define poly_profile_peak_bytes core_profile_peak_bytes
#define poly_counters core_counters
#define poly_source core_source
#define poly_dump core_dump
#define poly_explain core_explain
#define poly_text_free core_text_free
#define poly_compilations core_compilations
#define poly_plans_built core_plans_built
#define poly_plans_reused core_plans_reused
#define poly_steps_recalled core_steps_recalled
#define poly_cache_dir core_cache_dir
#define poly_cache_entries core_cache_entries
#define poly_cache_bytes core_cache_bytes
#define poly_cache_limit core_cache_limit
#define poly_cache_clear core_cache_clear
#endif

#endif
