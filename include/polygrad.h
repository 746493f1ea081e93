/* polygrad.h: the whole public API of libpolygrad, a deep-learning compiler in C.
 *
 * Tensors are lazy: functions build a program, and nothing runs until a value is asked for (poly_realize, poly_read,
 * poly_item, a compiled step). Shape and dtype errors are reported when the function is called.
 *
 * Ownership. Every function that returns a PolyTensor * returns a new handle that the caller frees with poly_free,
 * unless a poly_scope is open: then poly_scope_end frees it. Arguments are borrowed, never consumed.
 *
 * Errors. A function that fails returns NULL (or a status other than POLY_OK); code and text are in the context until
 * poly_clear_error. A function given a NULL tensor returns NULL and keeps the first error, so a chain of calls is
 * checked once, at its end. Every function checks its arguments: pointers that are NULL or were freed, handles of
 * another kind or context are errors that name the function and the argument. A call without a live context leaves its
 * error with the calling thread (poly_error_code(NULL)) and in the context that the thread has used last. The library
 * never prints (except at DEBUG), never aborts, never exits.
 *
 * Cost. Building is O(1) a call except where noted; costs that are named are those of running.
 *
 * Threads. Calls of several threads on one context follow one another, and each thread has its own last error; switches
 * and scopes are the context's. Two contexts share nothing. A forked process may use contexts in which no other thread
 * was at work, on one thread if its parent had run kernels on several.
 *
 * Axes may be negative (counted from the end). Sizes are int64_t; a size may be symbolic, see poly_var_bind. */
#ifndef POLYGRAD_H
#define POLYGRAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(POLY_BUILD) && defined(__GNUC__)
#define POLY_API __attribute__((visibility("default")))
#else
#define POLY_API
#endif

#define POLY_VERSION "0.1.0"

typedef struct PolyContext PolyContext;
typedef struct PolyTensor PolyTensor;

typedef enum PolyStatus {
  POLY_OK = 0,
  POLY_ERROR_VALUE,   /* shapes or arguments that do not fit */
  POLY_ERROR_TYPE,    /* a dtype that the function does not take */
  POLY_ERROR_INDEX,   /* an index out of range */
  POLY_ERROR_MEMORY,  /* an allocation failed */
  POLY_ERROR_RUNTIME, /* a compiler, device or state problem */
  POLY_ERROR_IO       /* a file could not be read or written */
} PolyStatus;

typedef enum PolyDType {
  POLY_BOOL,
  POLY_INT8,
  POLY_UINT8,
  POLY_INT16,
  POLY_UINT16,
  POLY_INT32,
  POLY_UINT32,
  POLY_INT64,
  POLY_UINT64,
  POLY_FP8E4M3, /* of 8 bits; computed in float32, like the other two below it */
  POLY_FP8E5M2,
  POLY_FLOAT16,
  POLY_BFLOAT16,
  POLY_FLOAT32,
  POLY_FLOAT64,
  POLY_DTYPE_COUNT
} PolyDType;

/* realloc(user, p, old, new): new == 0 frees. May return NULL: every caller copes. */
typedef struct PolyAllocator {
  void *(*realloc)(void *user, void *p, size_t old_size, size_t new_size);
  void *user;
} PolyAllocator;

/* ---- context ---- */

/* New context with the default allocator; device and threads from the environment. NULL: out of memory. */
POLY_API PolyContext *poly_context_new(void);
/* The same with an allocator of the caller's, used for everything but tensor memory, which goes through it as well. */
POLY_API PolyContext *poly_context_new_with(const PolyAllocator *allocator);
/* Frees the context, its tensors and its plans. Handles that are still alive become invalid. NULL is allowed. */
POLY_API void poly_context_free(PolyContext *ctx);
/* Version of the library, "major.minor.patch". */
POLY_API const char *poly_version(void);
/* Last error of this thread: code, and text that lives until the thread asks again. ctx NULL: of calls without a
 * context. */
POLY_API PolyStatus poly_error_code(const PolyContext *ctx);
POLY_API const char *poly_error_text(const PolyContext *ctx);
POLY_API void poly_clear_error(PolyContext *ctx);
/* Chooses the device by name: "CPU", "INTERP", "TEST", the interpreter on memory of its own, "OPENCL", or "CUDA" and
 * "CUDA:1" and so on. Fails if it cannot be used here. Tensors already realized are copied when they are used on a
 * device with other memory. */
POLY_API PolyStatus poly_set_device(PolyContext *ctx, const char *name);
POLY_API const char *poly_device(const PolyContext *ctx);
/* What the hardware of a device calls itself, or the device's name. NULL and an error: it cannot be used here. */
POLY_API const char *poly_device_card(PolyContext *ctx, const char *device);
/* Waits until everything that was started on the current device has ended; an error that it found is reported. */
POLY_API PolyStatus poly_synchronize(PolyContext *ctx);
/* Threads for kernels; 0: as many as the machine has (or POLY_THREADS). */
POLY_API void poly_set_threads(PolyContext *ctx, int threads);
POLY_API int poly_threads(const PolyContext *ctx);
/* The DEBUG ladder: 0 silent, 1 plans, 2 kernels with times, 3 schedule, 4 source, 5 UOps. */
POLY_API void poly_set_debug(PolyContext *ctx, int level);
/* Seed of the counter-based random numbers; the same seed gives the same numbers on every device. */
POLY_API void poly_manual_seed(PolyContext *ctx, uint64_t seed);
/* A seed for random numbers of the caller's own: the next draw of the context's. */
POLY_API uint64_t poly_draw_seed(PolyContext *ctx);
/* Training switch, followed by poly_dropout and batch norm callers. */
POLY_API void poly_set_training(PolyContext *ctx, bool on);
POLY_API bool poly_training(const PolyContext *ctx);
/* While on, results never require gradients. */
POLY_API void poly_set_no_grad(PolyContext *ctx, bool on);
POLY_API bool poly_no_grad(const PolyContext *ctx);
/* While it is float16 or bfloat16, matrix products and linear maps of float32 take their factors, and give their
 * result, in that dtype; they are summed in float32, and gradients arrive in float32. POLY_FLOAT32: as they are. */
POLY_API PolyStatus poly_set_autocast(PolyContext *ctx, PolyDType dtype);
POLY_API PolyDType poly_autocast(const PolyContext *ctx);
/* What integers and bools become where a result is floating point: their quotients, means, exponentials, and what a
 * number with a fraction is combined with. float32 unless it was set. */
POLY_API PolyStatus poly_set_default_float(PolyContext *ctx, PolyDType dtype);
POLY_API PolyDType poly_default_float(const PolyContext *ctx);
/* UOp nodes alive, handles alive, bytes of tensor memory now and at most since the last reset. */
POLY_API int64_t poly_live_nodes(const PolyContext *ctx);
POLY_API int64_t poly_live_tensors(const PolyContext *ctx);
POLY_API int64_t poly_live_bytes(const PolyContext *ctx);
POLY_API int64_t poly_peak_bytes(const PolyContext *ctx);
POLY_API void poly_reset_peak(PolyContext *ctx);
/* The same of one device, by name. Devices that work in the same memory ("CPU", "INTERP") count together; 0 for one
 * that was not used yet. */
POLY_API int64_t poly_device_live_bytes(PolyContext *ctx, const char *device);
POLY_API int64_t poly_device_peak_bytes(PolyContext *ctx, const char *device);
/* Bytes that the library has taken of a device's memory, those kept for later tensors included: what the driver counts
 * besides its own. Devices that keep nothing count what is in use. */
POLY_API int64_t poly_device_held_bytes(PolyContext *ctx, const char *device);
/* Bytes that were copied from a device's memory to the host's. */
POLY_API int64_t poly_device_read_bytes(PolyContext *ctx, const char *device);
/* Gives back what a device keeps for later tensors. */
POLY_API void poly_device_trim(PolyContext *ctx, const char *device);

/* Scopes: handles made between begin and end are freed at end, but for those given to poly_keep. They nest. */
POLY_API void poly_scope_begin(PolyContext *ctx);
POLY_API void poly_scope_end(PolyContext *ctx);
POLY_API PolyTensor *poly_keep(PolyTensor *t); /* moves t out of all scopes; returns t */

/* ---- handles ---- */

POLY_API void poly_free(PolyTensor *t);               /* NULL is allowed */
POLY_API PolyTensor *poly_retain_copy(PolyTensor *t); /* another handle on the same value and history */
POLY_API PolyContext *poly_context_of(const PolyTensor *t);
POLY_API int poly_ndim(const PolyTensor *t);
/* Size of an axis: a number, or the code of a symbolic size (poly_dim_is_symbolic). -1 and an error: no such axis. */
POLY_API int64_t poly_dim(const PolyTensor *t, int axis);
/* All sizes into out (poly_ndim entries). */
POLY_API void poly_shape(const PolyTensor *t, int64_t *out);
/* Number of elements with the values that symbolic sizes have in this run. */
POLY_API int64_t poly_numel(const PolyTensor *t);
/* Likewise as a size: a number, or the code of a symbolic size. */
POLY_API int64_t poly_numel_size(const PolyTensor *t);
POLY_API PolyDType poly_dtype(const PolyTensor *t);
POLY_API const char *poly_dtype_name(PolyDType d);
POLY_API int poly_dtype_size(PolyDType d);
/* Smallest dtype that both convert to, tinygrad's lattice. */
POLY_API PolyDType poly_promote(PolyDType a, PolyDType b);
POLY_API bool poly_is_realized(const PolyTensor *t);
/* A number for the value of each tensor, into out[n]. A tensor that was assigned to, also through a view of it, gets
 * another one: as long as the number stays, so does the value. O(n). */
POLY_API PolyStatus poly_value_ids(PolyTensor *const *t, int n, int64_t *out);

/* ---- symbolic sizes ---- */

/* A size that changes from run to run: variable `name` between min and max, with the value of this run. Returns a code
 * to be used wherever a size is expected; 0 and an error if value is out of bounds. Codes are below POLY_DIM_LIMIT. */
#define POLY_DIM_LIMIT (-((int64_t)1 << 40))
POLY_API int64_t poly_var_bind(PolyContext *ctx, const char *name, int64_t min, int64_t max, int64_t value);
POLY_API bool poly_dim_is_symbolic(int64_t dim);
/* A code is known while a tensor has that size, while it is held, and until some hundreds more were given out: who
 * keeps one for longer holds it (on), and lets go of it (off) as often. */
POLY_API void poly_dim_hold(PolyContext *ctx, int64_t dim, bool on);
/* Today's value of a size; smallest and largest value that it can take. */
POLY_API int64_t poly_dim_value(PolyContext *ctx, int64_t dim);
POLY_API int64_t poly_dim_min(PolyContext *ctx, int64_t dim);
POLY_API int64_t poly_dim_max(PolyContext *ctx, int64_t dim);
/* Arithmetic on sizes: op is one of '+', '-', '*', '/' (floor), '%'. */
POLY_API int64_t poly_dim_op(PolyContext *ctx, char op, int64_t a, int64_t b);
/* Text of a size such as "n*4+1" into buf; returns buf. */
POLY_API const char *poly_dim_text(PolyContext *ctx, int64_t dim, char *buf, size_t n);
/* The memory of t (realized first) under other sizes of the same value, plain or symbolic: programs over tensors whose
 * sizes are bound variables are compiled once for all values. No copy; fails where a size is not the one that t has
 * in this run. */
POLY_API PolyTensor *poly_sized(PolyTensor *t, int ndim, const int64_t *shape);

/* ---- values in and out ---- */

/* Does the current device alone have t's values, in memory that is not the host's? */
POLY_API bool poly_on_device(PolyTensor *t);
/* Are neighbours drawn on the current device from a graph of so many edges that lies there? */
POLY_API bool poly_samples_there(PolyContext *ctx, int64_t edges);
/* Is work on so many bytes that lie on the current device done there, rather than on copies of them on the host? */
POLY_API bool poly_worth_device(PolyContext *ctx, int64_t bytes);
/* Tensors of one dtype one after another along an axis, realized, and joined at once by copies on the current device:
 * for lists of any length, whose sizes come once. No gradient flows through it. O(bytes + n x the axes in front). */
POLY_API PolyTensor *poly_join(PolyTensor *const *t, int n, int axis);

/* Copies numel*itemsize bytes from data. */
POLY_API PolyTensor *poly_from_data(PolyContext *ctx, const void *data, PolyDType dtype, int ndim,
                                    const int64_t *shape);
/* Uses data in place; it must outlive the tensor. release(user) is called when the memory is no longer used; may be
 * NULL. */
POLY_API PolyTensor *poly_from_borrowed(PolyContext *ctx, void *data, PolyDType dtype, int ndim, const int64_t *shape,
                                        void (*release)(void *user), void *user);
/* The same on memory of the current device, such as a tensor of another library on the same card. */
POLY_API PolyTensor *poly_from_device(PolyContext *ctx, void *data, PolyDType dtype, int ndim, const int64_t *shape,
                                      void (*release)(void *user), void *user);
/* While it is on, data that tensors are made of are copied to the current device beside what runs there, if it can do
 * so: a program that uses such a tensor waits for its copy, others do not. For the inputs of a later step. */
POLY_API void poly_set_copy_ahead(PolyContext *ctx, bool on);
POLY_API bool poly_can_copy_ahead(const PolyContext *ctx);
/* Computes these tensors together, in one plan. */
POLY_API PolyStatus poly_realize(PolyTensor *t);
POLY_API PolyStatus poly_realize_many(PolyTensor *const *t, int n);
/* Realizes and copies the values, row-major, into out of out_bytes bytes (must be numel*itemsize). */
POLY_API PolyStatus poly_read(PolyTensor *t, void *out, size_t out_bytes);
/* Realizes and gives the memory itself on the host (row-major), valid while t lives and is not assigned. What is
 * written there is the tensor's value, also on devices with other memory, which copy it at each use. */
POLY_API void *poly_data(PolyTensor *t);
/* Brings the values of a realized tensor to the memory of the current device now rather than at their first use. A
 * tensor on the caller's memory elsewhere has memory of its own afterwards. */
POLY_API PolyStatus poly_move_here(PolyTensor *t);
/* Realizes and gives the address of the memory on the current device (row-major), valid while t lives and is not
 * assigned. It is for reading, by other libraries that work on the same card; what was started on it has ended. */
POLY_API void *poly_device_data(PolyTensor *t);
/* Realizes; a number that is the same for tensors on the same memory, wherever that is, and differs otherwise. 0: an
 * error. */
POLY_API uint64_t poly_memory_id(PolyTensor *t);
/* The one element of t as a double or an int64. NaN / 0 and an error if t has more. */
POLY_API double poly_item(PolyTensor *t);
POLY_API int64_t poly_item_int(PolyTensor *t);
/* Writes new values into t's own memory: t must be realized, sizes must agree. */
POLY_API PolyStatus poly_write(PolyTensor *t, const void *data, size_t bytes);

/* ---- creation ---- */

POLY_API PolyTensor *poly_empty(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape);
POLY_API PolyTensor *poly_zeros(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape);
POLY_API PolyTensor *poly_ones(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape);
POLY_API PolyTensor *poly_full(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double value);
POLY_API PolyTensor *poly_full_int(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, int64_t value);
POLY_API PolyTensor *poly_scalar(PolyContext *ctx, PolyDType dtype, double value);
/* start, start+step ... below (above, for negative steps) stop. */
POLY_API PolyTensor *poly_arange(PolyContext *ctx, PolyDType dtype, double start, double stop, double step);
/* 0 .. n-1 for a size that may be symbolic. */
POLY_API PolyTensor *poly_iota(PolyContext *ctx, PolyDType dtype, int64_t n);
POLY_API PolyTensor *poly_linspace(PolyContext *ctx, PolyDType dtype, double start, double stop, int64_t steps);
POLY_API PolyTensor *poly_eye(PolyContext *ctx, PolyDType dtype, int64_t n, int64_t m);
POLY_API PolyTensor *poly_full_like(PolyTensor *t, double value);
POLY_API PolyTensor *poly_zeros_like(PolyTensor *t);
POLY_API PolyTensor *poly_ones_like(PolyTensor *t);
POLY_API PolyTensor *poly_empty_like(PolyTensor *t);
POLY_API PolyTensor *poly_rand_like(PolyTensor *t);
POLY_API PolyTensor *poly_randn_like(PolyTensor *t);
/* Random: uniform in [0, 1); standard normal; integers in [low, high); uniform; normal; a permutation of 0..n-1
 * (int32). */
POLY_API PolyTensor *poly_rand(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape);
POLY_API PolyTensor *poly_randn(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape);
POLY_API PolyTensor *poly_randint(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, int64_t low,
                                  int64_t high);
POLY_API PolyTensor *poly_uniform(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double low,
                                  double high);
POLY_API PolyTensor *poly_normal(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double mean,
                                 double std);
POLY_API PolyTensor *poly_randperm(PolyContext *ctx, int64_t n);
/* Initialisers, tinygrad's definitions: fan_in is the product of all sizes but the first. */
POLY_API PolyTensor *poly_scaled_uniform(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape);
POLY_API PolyTensor *poly_glorot_uniform(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape);
POLY_API PolyTensor *poly_glorot_normal(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape);
POLY_API PolyTensor *poly_kaiming_uniform(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double a);
POLY_API PolyTensor *poly_kaiming_normal(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double a);
/* Draws n class indices (int32) a row from weights [rows, classes] or [classes]. A class of weight 0 is never drawn.
 * Weights that are negative, not finite or all 0, or fewer positive ones than draws without replacement, are an index
 * error when it is computed: class `classes` is out of range. */
POLY_API PolyTensor *poly_multinomial(PolyTensor *weights, int64_t n, bool replacement);

/* ---- elementwise ---- */

/* Binary operations broadcast (sizes of 1 are repeated, missing leading axes are added) and promote dtypes. */
typedef enum PolyBinaryOp {
  POLY_ADD,
  POLY_SUB,
  POLY_MUL,
  POLY_DIV,
  POLY_FLOORDIV,
  POLY_TRUNCDIV,
  POLY_MOD,
  POLY_FMOD,
  POLY_POW,
  POLY_MAXIMUM,
  POLY_MINIMUM,
  POLY_LT,
  POLY_LE,
  POLY_GT,
  POLY_GE,
  POLY_EQ,
  POLY_NE,
  POLY_AND,
  POLY_OR,
  POLY_XOR,
  POLY_SHL,
  POLY_SHR,
  POLY_ATAN2, /* the angle of the point (b, a), between -pi and pi */
  POLY_HYPOT, /* the length of the point (a, b) */
  POLY_GCD,   /* of integers; 0 and 0 give 0 */
  POLY_LCM,
  POLY_COPYSIGN, /* the size of a with the sign of b, also of -0.0 */
  POLY_BINARY_COUNT
} PolyBinaryOp;
POLY_API PolyTensor *poly_binary(PolyBinaryOp op, PolyTensor *a, PolyTensor *b);
/* With PyTorch's rule for dtypes: an operand without axes takes the dtype of one with axes where that can hold its kind
 * (a float64 scalar and a float32 vector give float32). Bools can be neither subtracted nor divided with remainder. */
POLY_API PolyTensor *poly_binary_weak(PolyBinaryOp op, PolyTensor *a, PolyTensor *b);
/* With a number: it takes the tensor's dtype where that can hold its kind (a float with an int tensor gives the default
 * float). kind 'b', 'i' (value in i; with a bool tensor it is an int32), 'l' (likewise, but an int64), 'u' (the bits of
 * a uint64 in i, beside one), 's' (a size in i, a number or the code of a symbolic one, which compiled steps follow) or
 * 'f' (value in f); reversed: the number is the left side. Sums, products and bits of integers wrap around; elsewhere a
 * number that the dtype does not hold is an error. */
POLY_API PolyTensor *poly_binary_scalar(PolyBinaryOp op, PolyTensor *a, char kind, int64_t i, double f, bool reversed);
POLY_API PolyTensor *poly_add(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_sub(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_mul(PolyTensor *a, PolyTensor *b);
/* True division: integers become the default float. */
POLY_API PolyTensor *poly_div(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_pow(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_maximum(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_minimum(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_lt(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_eq(PolyTensor *a, PolyTensor *b);
/* a + value and a * value: short forms of poly_binary_scalar. */
POLY_API PolyTensor *poly_add_scalar(PolyTensor *a, double value);
POLY_API PolyTensor *poly_mul_scalar(PolyTensor *a, double value);
/* cond ? a : b, all three broadcast. */
POLY_API PolyTensor *poly_where(PolyTensor *cond, PolyTensor *a, PolyTensor *b);
/* Limits; pass -INFINITY or INFINITY for an open side. */
POLY_API PolyTensor *poly_clamp(PolyTensor *x, double low, double high);
/* log(exp(a) + exp(b)), without overflow. */
POLY_API PolyTensor *poly_logaddexp(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_lerp(PolyTensor *a, PolyTensor *b, PolyTensor *weight);
POLY_API PolyTensor *poly_isclose(PolyTensor *a, PolyTensor *b, double rtol, double atol, bool equal_nan);

/* Unary functions. Integers become the default float where the result is not an integer. */
typedef enum PolyUnaryOp {
  POLY_NEG,
  POLY_LOGICAL_NOT,
  POLY_BITWISE_NOT,
  POLY_ABS,
  POLY_SIGN,
  POLY_SQUARE,
  POLY_SQRT,
  POLY_RSQRT,
  POLY_RECIPROCAL,
  POLY_EXP,
  POLY_EXP2,
  POLY_EXPM1,
  POLY_LOG,
  POLY_LOG2,
  POLY_LOG10,
  POLY_LOG1P,
  POLY_SIN,
  POLY_COS,
  POLY_TAN,
  POLY_ASIN,
  POLY_ACOS,
  POLY_ATAN,
  POLY_SINH,
  POLY_COSH,
  POLY_TANH,
  POLY_ASINH,
  POLY_ACOSH,
  POLY_ATANH,
  POLY_ERF,
  POLY_CEIL,
  POLY_FLOOR,
  POLY_ROUND,
  POLY_TRUNC,
  POLY_ISNAN,
  POLY_ISINF,
  POLY_ISFINITE,
  POLY_RELU,
  POLY_RELU6,
  POLY_SIGMOID,
  POLY_LOGSIGMOID,
  POLY_HARDSIGMOID,
  POLY_HARDSWISH,
  POLY_GELU,
  POLY_QUICK_GELU,
  POLY_SILU,
  POLY_MISH,
  POLY_SELU,
  POLY_SOFTSIGN,
  POLY_LGAMMA, /* log |Gamma(x)| */
  POLY_DIGAMMA,
  POLY_ERFINV,
  POLY_GELU_ERF, /* x times the normal distribution up to x; POLY_GELU approximates that by tanh */
  POLY_UNARY_COUNT
} PolyUnaryOp;
POLY_API PolyTensor *poly_unary(PolyUnaryOp op, PolyTensor *x);
POLY_API PolyTensor *poly_neg(PolyTensor *x);
POLY_API PolyTensor *poly_abs(PolyTensor *x);
POLY_API PolyTensor *poly_square(PolyTensor *x);
POLY_API PolyTensor *poly_sqrt(PolyTensor *x);
POLY_API PolyTensor *poly_exp(PolyTensor *x);
POLY_API PolyTensor *poly_log(PolyTensor *x);
POLY_API PolyTensor *poly_tanh(PolyTensor *x);
POLY_API PolyTensor *poly_sigmoid(PolyTensor *x);
POLY_API PolyTensor *poly_relu(PolyTensor *x);
POLY_API PolyTensor *poly_gelu(PolyTensor *x);
/* Activations with a parameter. */
POLY_API PolyTensor *poly_leaky_relu(PolyTensor *x, double slope);
POLY_API PolyTensor *poly_elu(PolyTensor *x, double alpha);
POLY_API PolyTensor *poly_celu(PolyTensor *x, double alpha);
POLY_API PolyTensor *poly_hardtanh(PolyTensor *x, double low, double high);
POLY_API PolyTensor *poly_softplus(PolyTensor *x, double beta);
/* The nth derivative of digamma, n from 0 to 100. */
POLY_API PolyTensor *poly_polygamma(int n, PolyTensor *x);
/* Conversion; float to integer truncates towards zero, anything to bool is x != 0. */
POLY_API PolyTensor *poly_cast(PolyTensor *x, PolyDType dtype);
/* The same bits as another dtype of the same size. A view: assigning to it assigns to x. */
POLY_API PolyTensor *poly_bitcast(PolyTensor *x, PolyDType dtype);
/* Keccak's hash of each row of bytes [..., n]: nout bytes [..., nout]. rate: bytes taken in at a time; suffix: 6 for
 * SHA-3, 31 for SHAKE. Computed at once. O(bytes). */
POLY_API PolyTensor *poly_keccak(PolyTensor *x, int rate, int suffix, int nout);

/* ---- reductions: over naxis axes (naxis 0 with axes NULL: all) ---- */

POLY_API PolyTensor *poly_sum(PolyTensor *x, int naxis, const int *axes, bool keepdim);
/* The same, accumulated and returned in dtype. */
POLY_API PolyTensor *poly_sum_dtype(PolyTensor *x, int naxis, const int *axes, bool keepdim, PolyDType dtype);
POLY_API PolyTensor *poly_prod(PolyTensor *x, int naxis, const int *axes, bool keepdim);
POLY_API PolyTensor *poly_max(PolyTensor *x, int naxis, const int *axes, bool keepdim);
POLY_API PolyTensor *poly_min(PolyTensor *x, int naxis, const int *axes, bool keepdim);
/* The largest (smallest) value; of equal ones the first has the whole gradient, which those of poly_max share. */
POLY_API PolyTensor *poly_extremum_first(PolyTensor *x, int naxis, const int *axes, bool keepdim, bool smallest);
POLY_API PolyTensor *poly_mean(PolyTensor *x, int naxis, const int *axes, bool keepdim);
POLY_API PolyTensor *poly_var(PolyTensor *x, int naxis, const int *axes, bool keepdim, double correction);
POLY_API PolyTensor *poly_std(PolyTensor *x, int naxis, const int *axes, bool keepdim, double correction);
/* (sum |x|^p)^(1/p); the largest size for an infinite p, the smallest for -infinity, how many are not zero for 0. The
 * gradient of a vector of zeros is 0. */
POLY_API PolyTensor *poly_norm(PolyTensor *x, int naxis, const int *axes, bool keepdim, double p);
POLY_API PolyTensor *poly_any(PolyTensor *x, int naxis, const int *axes, bool keepdim);
POLY_API PolyTensor *poly_all(PolyTensor *x, int naxis, const int *axes, bool keepdim);
POLY_API PolyTensor *poly_logsumexp(PolyTensor *x, int naxis, const int *axes, bool keepdim);
/* Index of the first largest / smallest (int32) along axis; POLY_ALL_AXES: of the flattened tensor. */
#define POLY_ALL_AXES 1000
POLY_API PolyTensor *poly_argmax(PolyTensor *x, int axis, bool keepdim);
POLY_API PolyTensor *poly_argmin(PolyTensor *x, int axis, bool keepdim);
POLY_API PolyTensor *poly_softmax(PolyTensor *x, int axis);
POLY_API PolyTensor *poly_log_softmax(PolyTensor *x, int axis);
/* Running sum, product, maximum, minimum along axis, O(n); log-sum-exp, O(n log n). */
POLY_API PolyTensor *poly_cumsum(PolyTensor *x, int axis);
POLY_API PolyTensor *poly_cumprod(PolyTensor *x, int axis);
POLY_API PolyTensor *poly_cummax(PolyTensor *x, int axis);
POLY_API PolyTensor *poly_cummin(PolyTensor *x, int axis);
POLY_API PolyTensor *poly_logcumsumexp(PolyTensor *x, int axis);

/* ---- movement ---- */

POLY_API PolyTensor *poly_reshape(PolyTensor *x, int ndim, const int64_t *shape); /* one size may be -1 */
POLY_API PolyTensor *poly_permute(PolyTensor *x, int ndim, const int *order);
POLY_API PolyTensor *poly_transpose(PolyTensor *x, int a, int b);
POLY_API PolyTensor *poly_expand(PolyTensor *x, int ndim, const int64_t *shape); /* -1 keeps a size */
/* begin/end or before/after for each axis, 2*ndim numbers. */
POLY_API PolyTensor *poly_shrink(PolyTensor *x, const int64_t *ranges);
typedef enum PolyPadMode { POLY_PAD_CONSTANT, POLY_PAD_REFLECT, POLY_PAD_REPLICATE, POLY_PAD_CIRCULAR } PolyPadMode;
POLY_API PolyTensor *poly_pad(PolyTensor *x, const int64_t *padding, PolyPadMode mode,
                              double value); /* negative padding crops */
POLY_API PolyTensor *poly_flip(PolyTensor *x, int naxis, const int *axes);
POLY_API PolyTensor *poly_squeeze(PolyTensor *x, int axis); /* POLY_ALL_AXES: every axis of size 1 */
POLY_API PolyTensor *poly_unsqueeze(PolyTensor *x, int axis);
POLY_API PolyTensor *poly_flatten(PolyTensor *x, int first, int last);
POLY_API PolyTensor *poly_unflatten(PolyTensor *x, int axis, int n, const int64_t *sizes);
POLY_API PolyTensor *poly_repeat(PolyTensor *x, int n, const int64_t *repeats);
POLY_API PolyTensor *poly_repeat_interleave(PolyTensor *x, int64_t repeats, int axis);
POLY_API PolyTensor *poly_roll(PolyTensor *x, int naxis, const int64_t *shifts, const int *axes);
POLY_API PolyTensor *poly_cat(PolyTensor *const *t, int n, int axis);
POLY_API PolyTensor *poly_stack(PolyTensor *const *t, int n, int axis);
/* Splits into n parts of the given sizes; out gets n new handles. */
POLY_API PolyStatus poly_split(PolyTensor *x, int n, const int64_t *sizes, int axis, PolyTensor **out);
/* At most n parts of equal size but the last; returns how many, -1 on error. */
POLY_API int poly_chunk(PolyTensor *x, int n, int axis, PolyTensor **out);
POLY_API PolyTensor *poly_tril(PolyTensor *x, int diagonal);
POLY_API PolyTensor *poly_triu(PolyTensor *x, int diagonal);
POLY_API PolyTensor *poly_diag(PolyTensor *x);     /* vector to diagonal matrix */
POLY_API PolyTensor *poly_diagonal(PolyTensor *x); /* diagonal of the last two axes (must be square) */
/* Windows of `size` every `step` along axis, as a new last axis. */
POLY_API PolyTensor *poly_unfold(PolyTensor *x, int axis, int64_t size, int64_t step);
/* n vectors to n grids; indexing 'i' (ij) or 'x' (xy). */
POLY_API PolyStatus poly_meshgrid(PolyTensor *const *t, int n, char indexing, PolyTensor **out);
/* Integer tensor to int32 0/1 with a new last axis of `classes`; -1: largest value + 1, which realizes. */
POLY_API PolyTensor *poly_one_hot(PolyTensor *x, int64_t classes);

/* ---- indexing ---- */

/* One entry of an index expression. kind: 'i' integer (start), 's' slice (start, stop, step, with has_* flags), 'n' new
 * axis,
 * '.' ellipsis, 't' tensor (integer or bool). */
typedef struct PolyIndex {
  char kind;
  bool has_start, has_stop;
  int64_t start, stop, step;
  PolyTensor *tensor;
} PolyIndex;
/* x[...] with numpy's rules. A bool tensor realizes to know its count. */
POLY_API PolyTensor *poly_getitem(PolyTensor *x, int n, const PolyIndex *index);
/* x[...] = value, broadcast. Changes x. */
POLY_API PolyStatus poly_setitem(PolyTensor *x, int n, const PolyIndex *index, PolyTensor *value);
/* out[i][j][k] = x[index[i][j][k]][j][k] for axis 0, and so on; O(size of index). */
POLY_API PolyTensor *poly_gather(PolyTensor *x, int axis, PolyTensor *index);
/* Rows of x along axis; O(size of result). */
POLY_API PolyTensor *poly_index_select(PolyTensor *x, int axis, PolyTensor *index);
/* x with src written (the last write wins) or combined at index. reduce: NULL, "sum", "prod", "mean", "amax", "amin".
 * O(x + index). */
POLY_API PolyTensor *poly_scatter(PolyTensor *x, int axis, PolyTensor *index, PolyTensor *src);
POLY_API PolyTensor *poly_scatter_reduce(PolyTensor *x, int axis, PolyTensor *index, PolyTensor *src,
                                         const char *reduce, bool include_self);
/* x with rows of src added at index along axis. O(x + src). */
POLY_API PolyTensor *poly_index_add(PolyTensor *x, int axis, PolyTensor *index, PolyTensor *src);
/* Sorted values and their places (int32), stable. Either out may be NULL. O(n log n). */
POLY_API PolyStatus poly_sort(PolyTensor *x, int axis, bool descending, PolyTensor **values, PolyTensor **indices);
POLY_API PolyTensor *poly_argsort(PolyTensor *x, int axis, bool descending);
POLY_API PolyStatus poly_topk(PolyTensor *x, int64_t k, int axis, bool largest, bool sorted, PolyTensor **values,
                              PolyTensor **indices);
/* The k-th smallest value along axis, counted from 1, and its place; axis has the size 1 afterwards. O(n). */
POLY_API PolyStatus poly_kthvalue(PolyTensor *x, int64_t k, int axis, PolyTensor **values, PolyTensor **indices);
/* The lower median along axis and its place; axis has the size 1 afterwards. Where there is a NaN it is the first of
 * them, unless numbers alone count and there is one. O(n). */
POLY_API PolyStatus poly_median(PolyTensor *x, int axis, bool numbers, PolyTensor **values, PolyTensor **indices);
/* How many elements of a sorted vector lie before each value (right: or are equal to it); with sorted rows, of the row
 * that the value is in. O(values log n). */
POLY_API PolyTensor *poly_searchsorted(PolyTensor *sorted, PolyTensor *values, bool right);
/* How often each of 0 .. size-1 occurs in x, int64; others are an error. O(x + size). */
POLY_API PolyTensor *poly_bincount(PolyTensor *x, int64_t size);
/* These realize, because their size depends on values. nonzero gives [count, ndim] int32. */
POLY_API PolyTensor *poly_masked_select(PolyTensor *x, PolyTensor *mask);
POLY_API PolyTensor *poly_nonzero(PolyTensor *x);
POLY_API PolyTensor *poly_masked_fill(PolyTensor *x, PolyTensor *mask, double value);

/* ---- memory ---- */

POLY_API PolyTensor *poly_contiguous(PolyTensor *x);
POLY_API PolyTensor *poly_clone(PolyTensor *x);
POLY_API PolyTensor *poly_detach(PolyTensor *x);
/* Makes t hold value from now on, in t's own memory where it has some. Shape must agree; dtype is converted. Lazy. */
POLY_API PolyStatus poly_assign(PolyTensor *t, PolyTensor *value);
/* Gives the lazy tensor t its value, which was computed by other means: the memory of `value`, a tensor with memory of
 * the same shape and dtype. The program behind t stays, so that gradients flow through it, until t is realized. A
 * tensor that has memory, or is not computed from others, is left alone. O(1). */
POLY_API PolyStatus poly_give(PolyTensor *t, PolyTensor *value);
/* Points t at the same value as other (no copy). */
POLY_API PolyStatus poly_replace(PolyTensor *t, PolyTensor *other);

/* ---- linear algebra ---- */

/* numpy's matmul: vectors, matrices, broadcast batches. O(M*N*K). */
POLY_API PolyTensor *poly_matmul(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_einsum(PolyContext *ctx, const char *formula, PolyTensor *const *t, int n);
/* Matrices [..., m, n] of floating point, any number at once, computed in double for each. All but poly_lu can be
 * differentiated. A X = B; leading axes are broadcast. A singular A is an error when X is computed. O(n^2 (n + k)). */
POLY_API PolyTensor *poly_solve(PolyTensor *a, PolyTensor *b);
/* The same with the lower or upper triangle of a; unit: with ones on its diagonal. O(n^2 k). */
POLY_API PolyTensor *poly_solve_triangular(PolyTensor *a, PolyTensor *b, bool upper, bool unit);
/* The lower triangle L with L L^T = a; only the lower triangle of a is read, which must be positive definite. O(n^3).
 */
POLY_API PolyTensor *poly_cholesky(PolyTensor *a);
/* The determinant, its sign and the logarithm of its size. Each out may be NULL. O(n^3). */
POLY_API PolyStatus poly_slogdet(PolyTensor *a, PolyTensor **det, PolyTensor **sign, PolyTensor **size);
/* Both factors of a with exchanged rows in one matrix, and the row that each row was exchanged with, int32. O(m n
 * min(m, n)). */
POLY_API PolyStatus poly_lu(PolyTensor *a, PolyTensor **factors, PolyTensor **exchanged);
/* Eigenvalues of symmetric matrices, ascending, and eigenvectors as columns; only the lower triangle of a is read.
 * O(n^3). */
POLY_API PolyStatus poly_eigh(PolyTensor *a, PolyTensor **values, PolyTensor **vectors);
/* q [..., m, m] with orthogonal columns and an upper triangle r [..., m, n] with q r = a. O(m n (m + n)). */
POLY_API PolyStatus poly_qr(PolyTensor *a, PolyTensor **q, PolyTensor **r);
/* u [..., m, m], singular values from the largest down, vt [..., n, n] with u diag(values) vt = a. O(m n (m + n)). */
POLY_API PolyStatus poly_svd(PolyTensor *a, PolyTensor **u, PolyTensor **values, PolyTensor **vt);
/* x @ weight.T + bias, weight [out, in]; bias may be NULL. */
POLY_API PolyTensor *poly_linear(PolyTensor *x, PolyTensor *weight, PolyTensor *bias);
/* Convolution of x [batch, in, spatial...] with weight [out, in/groups, kernel...]; arrays have one entry a spatial
 * axis, and padding two (before, after). bias may be NULL. */
POLY_API PolyTensor *poly_conv(PolyTensor *x, PolyTensor *weight, PolyTensor *bias, int groups, const int64_t *stride,
                               const int64_t *dilation, const int64_t *padding);
POLY_API PolyTensor *poly_conv_transpose(PolyTensor *x, PolyTensor *weight, PolyTensor *bias, int groups,
                                         const int64_t *stride, const int64_t *dilation, const int64_t *padding,
                                         const int64_t *output_padding);
POLY_API PolyTensor *poly_max_pool(PolyTensor *x, int nspatial, const int64_t *kernel, const int64_t *stride,
                                   const int64_t *dilation, const int64_t *padding, bool ceil_mode);
POLY_API PolyTensor *poly_avg_pool(PolyTensor *x, int nspatial, const int64_t *kernel, const int64_t *stride,
                                   const int64_t *dilation, const int64_t *padding, bool ceil_mode,
                                   bool count_include_pad);
/* softmax(q k^T / sqrt(d) + mask) v; mask bool or float, or NULL. */
POLY_API PolyTensor *poly_attention(PolyTensor *q, PolyTensor *k, PolyTensor *v, PolyTensor *mask, bool causal,
                                    double dropout);
/* Normalise over the last naxis axes; no scale or shift. */
POLY_API PolyTensor *poly_layernorm(PolyTensor *x, int naxis, double eps);
POLY_API PolyTensor *poly_rmsnorm(PolyTensor *x, double eps);
POLY_API PolyTensor *poly_groupnorm(PolyTensor *x, int groups, double eps);
/* (x - mean) * invstd * weight + bias, each [channels] along axis; weight and bias may be NULL. */
POLY_API PolyTensor *poly_batchnorm(PolyTensor *x, PolyTensor *weight, PolyTensor *bias, PolyTensor *mean,
                                    PolyTensor *invstd, int axis);
/* The same with mean and variance of x over all other axes. Running mean, variance and count of batches, all NULL or
 * none, are moved towards them by momentum; NaN: they are the means over all batches. */
POLY_API PolyTensor *poly_batchnorm_train(PolyTensor *x, PolyTensor *weight, PolyTensor *bias, PolyTensor *mean,
                                          PolyTensor *var, PolyTensor *count, double momentum, double eps, int axis);
/* Zeroes with probability p and scales the rest by 1/(1-p) while the context is training; else x. */
POLY_API PolyTensor *poly_dropout(PolyTensor *x, double p);

/* ---- losses; reduction: 'm' mean, 's' sum, 'n' none ---- */

/* target: class indices (integers) or probabilities of x's shape; classes on axis 1 (axis 0 of a vector, last of a
 * matrix). */
POLY_API PolyTensor *poly_cross_entropy(PolyTensor *x, PolyTensor *target, double label_smoothing, int64_t ignore_index,
                                        char reduction);
/* x: log-probabilities; weight [classes] may be NULL. */
POLY_API PolyTensor *poly_nll_loss(PolyTensor *x, PolyTensor *target, PolyTensor *weight, int64_t ignore_index,
                                   char reduction);
POLY_API PolyTensor *poly_binary_cross_entropy(PolyTensor *x, PolyTensor *target, char reduction);
POLY_API PolyTensor *poly_binary_cross_entropy_logits(PolyTensor *x, PolyTensor *target, PolyTensor *pos_weight,
                                                      char reduction);
POLY_API PolyTensor *poly_mse_loss(PolyTensor *x, PolyTensor *target, char reduction);
POLY_API PolyTensor *poly_l1_loss(PolyTensor *x, PolyTensor *target, char reduction);
POLY_API PolyTensor *poly_huber_loss(PolyTensor *x, PolyTensor *target, double delta, char reduction);

/* ---- graphs ---- */

/* A directed graph with num_src source nodes and num_dst destination nodes (the same set in an ordinary graph). Edge
 * values are in the user's edge order. Indices are checked once, when the graph is made; row orders are built when
 * first needed, in O(V + E), and kept: those of one side by functions that take a side, both by the moves, whose
 * gradients need both. Graphs end with their context. */
typedef struct PolyGraph PolyGraph;
/* From E pairs in host memory, int32 or int64. num_src or num_dst -1: largest index + 1 over both. Copies what it
 * needs. O(E). An index out of range is an error that names the first such edge. At most 2^31 - 1 nodes and edges. */
POLY_API PolyGraph *poly_graph_from_coo(PolyContext *ctx, const void *src, const void *dst, PolyDType dtype,
                                        int64_t num_edges, int64_t num_src, int64_t num_dst);
/* From rows by destination: rowptr[num_dst + 1], col[E] (sources). Edge k is the k-th entry. num_src -1: num_dst, or
 * more if a source needs it. */
POLY_API PolyGraph *poly_graph_from_csr(PolyContext *ctx, const void *rowptr, const void *col, PolyDType dtype,
                                        int64_t num_dst, int64_t num_src);
/* The graph of an edge_index tensor [2, E] (realized first); the same realized tensor gives the same graph again, O(1),
 * as long as it is not assigned to. Borrowed or shared memory is compared with the graph first, O(E). Tensors of the
 * last 16 graphs are known. */
POLY_API PolyGraph *poly_graph_of(PolyTensor *edge_index, int64_t num_src, int64_t num_dst);
POLY_API PolyGraph *poly_graph_retain(PolyGraph *g);
POLY_API void poly_graph_free(PolyGraph *g); /* drops one reference; NULL is allowed */
/* Sizes as poly_dim gives them: numbers, or codes where the graph was made with symbolic sizes. */
POLY_API int64_t poly_graph_num_edges(const PolyGraph *g);
POLY_API int64_t poly_graph_num_src(const PolyGraph *g);
POLY_API int64_t poly_graph_num_dst(const PolyGraph *g);
/* Derived graphs, new references, cached as long as g lives. O(V + E). Edges of g keep their places at the front; added
 * ones follow, and where edges are left out the others close up. undirected needs one set of nodes. reversed: the same
 * edges the other way round, on the same memory; reversed again it is g. with_self_loops: a loop at every node, or at
 * those that have none; between two sets of nodes, an edge from k to k for each k that both have. with_own_loops: the
 * edges that are no loops, then a loop at every node; it comes from the last one that the node had. undirected: for
 * each edge whose way back is missing that way, once. coalesced: the first of equal edges. */
POLY_API PolyGraph *poly_graph_reversed(PolyGraph *g);
POLY_API PolyGraph *poly_graph_with_self_loops(PolyGraph *g, bool only_missing);
POLY_API PolyGraph *poly_graph_with_own_loops(PolyGraph *g);
POLY_API PolyGraph *poly_graph_without_self_loops(PolyGraph *g);
POLY_API PolyGraph *poly_graph_undirected(PolyGraph *g);
POLY_API PolyGraph *poly_graph_coalesced(PolyGraph *g);
/* For a derived graph: int32 [E], the edge of its parent that each edge came from (a way back: the edge that it leads
 * back), -1 for added loops. NULL: not derived. */
POLY_API PolyTensor *poly_graph_origin(PolyGraph *g);
/* int32 tensors: endpoints of each edge in the user's order; row pointers, the order of edges, and the other end of
 * each, by destination ('i': rows of in-edges) or by source ('o': rows of out-edges); degrees. */
POLY_API PolyTensor *poly_graph_src_index(PolyGraph *g);
POLY_API PolyTensor *poly_graph_dst_index(PolyGraph *g);
POLY_API PolyTensor *poly_graph_rowptr(PolyGraph *g, char side);
POLY_API PolyTensor *poly_graph_order(PolyGraph *g, char side);
POLY_API PolyTensor *poly_graph_other(PolyGraph *g, char side);
POLY_API PolyTensor *poly_graph_degree(PolyGraph *g, char side);
/* int32 [num_dst]: edges from each node to itself. Counted once. */
POLY_API PolyTensor *poly_graph_loops(PolyGraph *g);
/* Symmetric scaling, [V, 1]: degree^-1/2 of each node, 0 where it has no edges. own_loops: as if each node had one self
 * loop, whatever it has; poly_graph_own is then how often a node's own value is to be added to the sum over the edges
 * that are there, 1 - its loops. Built once for a graph. O(V). */
POLY_API PolyTensor *poly_graph_norm(PolyGraph *g, char side, bool own_loops, PolyDType dtype);
POLY_API PolyTensor *poly_graph_own(PolyGraph *g, PolyDType dtype);
/* D^-1/2 A D^-1/2 x, or with own_loops D^-1/2 (A + I) D^-1/2 x, with a row of x [V, F] for each node: the scaling above
 * before and behind a sum over the edges into each node (side 'i') or out of it ('o'). O((V + E) F). */
POLY_API PolyTensor *poly_graph_smooth(PolyGraph *g, PolyTensor *x, char side, bool own_loops);
/* The arrays by which compiled programs know g, and the graphs derived from it, as far as those of `like` (g itself, or
 * another graph that was used in the same way) have been built; missing ones are built. New handles into out, at most
 * max (with max = 0: how many there can be); returns how many there are, -1 on failure. Given to poly_step_new as
 * inputs, they are what a run on another graph replaces. */
POLY_API int poly_graph_arrays(PolyGraph *g, PolyGraph *like, PolyTensor **out, int max);
/* The moves. src and dst: a node tensor [V, ...] seen from the edges, [E, ...]. reduce: an edge tensor to [V, ...] over
 * the in-edges
 * ('i') or out-edges ('o') of each node; op: "sum", "mean", "max", "min", "prod", "var", "std", "logsumexp". Empty rows
 * give 0 (1 for prod). var is divided by the number of edges; std is 0 where var is at most 1e-5. softmax: over the
 * edges of each row, [E, ...]; a row of nothing but -inf gets 0. Nothing of E x features is stored unless it is asked
 * for. O(E x features). */
POLY_API PolyTensor *poly_graph_src(PolyGraph *g, PolyTensor *x);
POLY_API PolyTensor *poly_graph_dst(PolyGraph *g, PolyTensor *x);
POLY_API PolyTensor *poly_graph_reduce(PolyGraph *g, PolyTensor *m, const char *op, char side);
POLY_API PolyTensor *poly_graph_softmax(PolyGraph *g, PolyTensor *m, char side);
/* Personalised PageRank of num_targets nodes (targets NULL: of all), approximated by pushing along out-edges until no
 * node holds more than alpha * eps * degree of rank that is not assigned yet. out, 3 new handles: int64 [targets + 1]
 * where each target's entries begin; int64 the nodes with a share in its rank, itself first; float32 the shares. O(1 /
 * (alpha
 * * eps)) a target, and 37 bytes a node and thread. */
POLY_API PolyStatus poly_graph_ppr(PolyGraph *g, const int64_t *targets, int64_t num_targets, double alpha, double eps,
                                   PolyTensor **out);

/* Sampling from large graphs. A sampler holds the relations that neighbours are drawn from (one for an ordinary graph):
 * the edges into each node of a type from the nodes of another, or the same. It belongs to no context, and neither do
 * samples: several threads may draw from one sampler, each with a sample of its own, while a context computes. Errors
 * are kept by the sampler or sample they belong to. */
typedef struct PolySampler PolySampler;
typedef struct PolySample PolySample;
typedef struct PolyRelation {
  int src_type;
  int dst_type;
  PolyDType dtype; /* of src and dst: int32 or int64 */
  int64_t num_edges;
  const void *src;
  const void *dst;
  const int64_t *id;        /* [E] the numbers that edges go by; NULL: their places */
  const int64_t *edge_time; /* [E], or NULL. The edges into a node must be in the order of their times */
  const int64_t *src_time;  /* the same for times of source nodes, [V] */
  const double *weight;     /* [E] at least 0: how likely an edge is to be drawn; NULL: all alike */
} PolyRelation;
/* Nodes of one type to draw from. Without time: all edges; with time: those that are not later. */
typedef struct PolySeeds {
  int type;
  int64_t count;
  const int64_t *node;
  const int64_t *time;
} PolySeeds;
typedef struct PolySampleSpec {
  int hops;
  const int64_t *counts; /* [relations][hops]: edges drawn for each node, -1 for all of them */
  bool replace;          /* may an edge be drawn twice? */
  bool disjoint;         /* every seed has nodes of its own; always so with times */
  bool induced;          /* afterwards take all edges between the nodes, not those drawn */
  bool last;             /* with times: the latest edges, not any */
  uint64_t seed;         /* the result is a function of seed, batch and what is above, not of threads */
  uint64_t batch;
  int threads;
} PolySampleSpec;
/* allocator NULL: malloc. NULL: out of memory, or no types. */
POLY_API PolySampler *poly_sampler_new(const PolyAllocator *allocator, int node_types, const int64_t *num_nodes);
POLY_API void poly_sampler_free(PolySampler *s); /* after its samples; NULL is allowed */
/* Adds a relation; copies what it needs. All relations come before the first sample. O(V + E). */
POLY_API PolyStatus poly_sampler_add(PolySampler *s, const PolyRelation *relation, int threads);
POLY_API int64_t poly_sampler_num_edges(const PolySampler *s, int relation);
POLY_API PolyStatus poly_sampler_error(const PolySampler *s);
POLY_API const char *poly_sampler_error_text(const PolySampler *s);
/* A sample holds the result of its last run, and memory for the next: 4 bytes for each node of the graph. */
POLY_API PolySample *poly_sample_new(const PolySampler *sampler);
POLY_API void poly_sample_free(PolySample *s); /* NULL is allowed */
/* Draws. Seeds are the first nodes, in their order, repeated ones included; others follow as they are met, hop after
 * hop. Edges are in the order of hops, and within a hop of their destinations. O(nodes + edges of the sample). */
POLY_API PolyStatus poly_sample_run(PolySample *s, const PolySampleSpec *spec, int num_seeds, const PolySeeds *seeds);
/* As HGT samples (Hu et al., 2020): at each hop counts[types][hops] nodes of each type, by the square of what their
 * edges to nodes drawn before add up to, where an edge adds 1 / in-degree; then all edges between the nodes. Of spec:
 * hops, counts, seed, batch, threads. */
POLY_API PolyStatus poly_sample_run_hgt(PolySample *s, const PolySampleSpec *spec, int num_seeds,
                                        const PolySeeds *seeds);
POLY_API int64_t poly_sample_num_nodes(const PolySample *s, int type);
POLY_API int64_t poly_sample_num_edges(const PolySample *s, int relation);
/* Nodes reached first at a hop (0: the seeds), edges drawn at a hop (from 0). */
POLY_API int64_t poly_sample_hop_nodes(const PolySample *s, int type, int hop);
POLY_API int64_t poly_sample_hop_edges(const PolySample *s, int relation, int hop);
/* what: 'n' the nodes of a type, 'b' the seed that each belongs to (disjoint samples); 's' and 'd' the ends of a
 * relation's edges by their places in 'n', 'e' their numbers. */
POLY_API PolyStatus poly_sample_read(PolySample *s, char what, int of, int64_t *out);
POLY_API PolyStatus poly_sample_error(const PolySample *s);
POLY_API const char *poly_sample_error_text(const PolySample *s);
/* Numbers in [0, size) as the sampler of relation 0 draws them at a hop of a batch: number n of the stream of a row.
 * The three tensors of whole numbers are broadcast; sizes are below 2^32. */
POLY_API PolyTensor *poly_draw_below(PolyTensor *stream, PolyTensor *number, PolyTensor *size, uint64_t seed,
                                     uint64_t batch, int64_t hop);
/* Random walks against the edges of a relation between nodes of one type (give it the edges the other way round to walk
 * along them). nodes: [n][length + 1], begins with start; edges: [n][length], -1 where a node has none and the walk
 * stays; may be NULL. p, q: steps back are 1 / p, steps away 1 / q times as likely as others (node2vec); 1 for both is
 * uniform. O(n x length), times the degree with p or q unless each row's sources go up. Returns -1, or the place of the
 * first start out of range. */
POLY_API int64_t poly_sampler_walk(const PolySampler *s, int relation, const int64_t *start, int64_t n, int64_t length,
                                   double p, double q, uint64_t seed, int threads, int64_t *nodes, int64_t *edges);
/* out[k] = row index[k] of `from`, which has `rows` rows of row_bytes. Returns -1, or the place of the first index out
 * of range. */
POLY_API int64_t poly_gather_rows(const void *from, int64_t rows, size_t row_bytes, const int64_t *index, int64_t n,
                                  void *out, int threads);
/* Splits the nodes into parts of about the same size with few edges between them, by METIS (k-way, or recursive
 * bisection), which is loaded from the system when first used. Directions, loops and repeated edges do not matter. out:
 * [V], the part of each node. */
POLY_API PolyStatus poly_graph_partition(PolyGraph *g, int64_t parts, bool recursive, int64_t *out);
/* An R-MAT graph: edge_index [2, E] with the chances a, b, c (and what is left of 1) of the quarters of the adjacency
 * matrix. shuffle: nodes are named at random, else small numbers have most edges. A function of seed, not of threads.
 * O(E log V). */
POLY_API PolyStatus poly_rmat(int64_t num_nodes, int64_t num_edges, double a, double b, double c, uint64_t seed,
                              bool shuffle, int threads, int64_t *edge_index);
/* The same edges as a tensor of int64. Where programs run on a device with memory of its own, many edges are made there
 * and stay there. */
POLY_API PolyTensor *poly_rmat_edges(PolyContext *ctx, int64_t num_nodes, int64_t num_edges, double a, double b,
                                     double c, uint64_t seed, bool shuffle);

/* Points and clusters. Points are [N, F], float32 or float64, in `groups` groups that lie one after the other:
 * ptr[groups + 1] says where each begins; NULL: one group. Neighbours are looked for in the same group. knn: for each y
 * the k nearest x, nearest first; by cosine: by 1 - x y / (|x| |y|). radius: the x nearer than r, in their order; of
 * more than `most` (-1: all) the nearest. skip_same: x and y are the same points, and none is its own neighbour. Both
 * give int64 [2, pairs]: index of y, index of x. Equal distances: the smaller index first. O(N log N) with up to 8
 * features, else O(N^2 F). */
POLY_API PolyTensor *poly_knn(PolyTensor *x, PolyTensor *y, const int64_t *ptr_x, const int64_t *ptr_y, int64_t groups,
                              int64_t k, bool cosine, bool skip_same);
POLY_API PolyTensor *poly_radius(PolyTensor *x, PolyTensor *y, const int64_t *ptr_x, const int64_t *ptr_y,
                                 int64_t groups, double r, int64_t most, bool skip_same);
/* ceil(ratio * N) points of each group, each the farthest from those before it; int64. start[groups]: the first of each
 * group, counted from its beginning; NULL: 0. O(ratio N^2 F). */
POLY_API PolyTensor *poly_fps(PolyTensor *x, const int64_t *ptr, int64_t groups, double ratio, const int64_t *start);
/* Pairs of neighbours along out-edges, node by node in an order drawn from seed: the free neighbour of largest weight,
 * or (weight NULL) any. int64 [V]: the smaller node of each pair, or the node itself. O(V + E). */
POLY_API PolyTensor *poly_graph_match(PolyGraph *g, PolyTensor *weight, uint64_t seed);
/* Takes the edges by falling score, each unless one of its ends is taken. int64 [V]: the clusters, those of edges first
 * in the order in which they were taken, then nodes that are left. chosen: int64, the edges taken. O(E log E). */
POLY_API PolyTensor *poly_graph_contract(PolyGraph *g, PolyTensor *score, PolyTensor **chosen);
/* The graph with an edge i -> k where a has i -> j and b has j -> k, once: the pattern of a sparse matrix product. By
 * i; for one i as they are reached when the rows of a and b are gone through. paths: int32 [3, P]: for each such pair
 * the edge of a, that of b, and the new one, by which they are sorted. O(P), 8 bytes a node and thread. */
POLY_API PolyGraph *poly_graph_product(PolyGraph *a, PolyGraph *b, PolyTensor **paths);
/* The same with values x and y of the edges, float32 or float64, NULL for ones: values[E] of the new edges, the sum
 * over their paths of the products, summed as float64. No gradient flows through it; x and y are realized. O(P), 16
 * bytes a node and thread. */
POLY_API PolyGraph *poly_graph_product_values(PolyGraph *a, PolyTensor *x, PolyGraph *b, PolyTensor *y,
                                              PolyTensor **values);

/* Rows of x [E, ...] that lie side by side, combined into a row for each of n runs: run k is begin[k] .. begin[k + 1] -
 * 1, the last one ends with x. op: 's' sum, 'm' mean (of floats), 'a' largest, 'i' smallest, 'p' product. The result
 * has memory; no gradient flows through it. x is realized. O(E F). */
POLY_API PolyTensor *poly_reduce_runs(PolyTensor *x, const int64_t *begin, int64_t n, char op);

/* The edges of edge_index [2, E], int32 or int64, of `nodes` nodes in the order of their first end and then their
 * second, or the other way with by_row false. merge: edges that occur several times are there once. order, if not NULL:
 * where each of the E edges came from; begin, if not NULL: where in that order the edges begin that each result stands
 * for; both int64. *sorted is NULL if there was nothing to do. edge_index is realized. O(V + E log degree). */
POLY_API PolyStatus poly_sort_edges(PolyTensor *edge_index, int64_t nodes, bool by_row, bool merge, PolyTensor **sorted,
                                    PolyTensor **order, PolyTensor **begin);

/* The edges of edge_index that stay, in their order. edge_index: int32 or int64, [2, E], or [E] for one end alone. An
 * edge stays if mask (bool [E]) says so, if both its nodes do, and by `loops`: 'a' all edges, 'n' no self loops, 'l'
 * self loops alone. src, dst: bool [V], the nodes that stay; or whole numbers [V], their new numbers, negative for
 * nodes that go. mask, src and dst may be NULL. stays: bool [E], which edges they are. Everything is realized. O(V +
 * E). */
POLY_API PolyStatus poly_filter_edges(PolyTensor *edge_index, PolyTensor *mask, PolyTensor *src, PolyTensor *dst,
                                      char loops, PolyTensor **kept, PolyTensor **stays);
/* int64: the places of the keep[g] highest scores of each group g, group after group, highest first; equal scores keep
 * their order, NaN comes last. score: float32 or float64 [N]; group: int32 or int64 [N], below the number of entries of
 * keep, int64. Everything is realized. O(N log N). */
POLY_API PolyTensor *poly_top_rows(PolyTensor *score, PolyTensor *group, PolyTensor *keep);
/* The slices of x along axis at which mask (bool) is true, with their values; x and mask are realized. Gradients flow
 * to x where there are any slices. O(numel). */
POLY_API PolyTensor *poly_compress(PolyTensor *x, PolyTensor *mask, int axis);
/* bool [n], each true with probability p: a function of seed. O(n). */
POLY_API PolyTensor *poly_random_mask(PolyContext *ctx, int64_t n, double p, uint64_t seed);

/* ---- vertex programs: what happens at one vertex, compiled for all ---- */

/* Between poly_zoom_in and poly_zoom_out a program is written for one vertex v and its neighbours n, with values that
 * know whose they are:
 *
 *   PolyVertex *v = poly_zoom_in(g);
 *   PolyNbs *n = poly_innbs(v);
 *   PolyTensor *score = poly_leaky_relu(poly_add(poly_nb(n, el), poly_self(v, er)), 0.2);
 *   PolyTensor *alpha = poly_nb_softmax(n, score);
 *   PolyTensor *rst = poly_nb_sum(n, poly_mul(poly_unsqueeze(alpha, -1), poly_nb(n, h)));
 *   PolyTensor *out = poly_zoom_out(v, rst);
 *
 * Values are lazy tensors, and every function above takes them. Their first axis is that of all vertices or all edges;
 * its size is symbolic and has the place's name, so values of two places do not fit together by accident. Elementwise
 * functions of several tensors, poly_matmul, poly_cat and poly_stack bring them together: a value of the vertex is seen
 * from each of its edges. Elementwise functions broadcast values as if the first axis were not there: [edges] and
 * [edges, F] give [edges, F], and a plain tensor is the same for all. Values of two neighbourhoods are not combined
 * before they are reduced. Nothing of edges x features is stored. O(1) a call, where a value is reduced or seen from
 * another place O(nodes of the program).
 *
 * A program opens a poly_scope: its handles, v and n end with poly_zoom_out. Values can be read inside (to look at
 * them); gradients are taken of what poly_zoom_out gives. Programs may be nested, but their values cannot be combined.
 */
typedef struct PolyVertex PolyVertex;
typedef struct PolyNbs PolyNbs;
/* A program about the vertices at which g's edges end: all nodes, or the destinations between two sets. */
POLY_API PolyVertex *poly_zoom_in(PolyGraph *g);
/* Ends the program. Gives the result for all vertices, [V, ...], as a handle of the caller's; x NULL: gives NULL, and
 * still ends it. Tensors that are no values of the program come back as they are. */
POLY_API PolyTensor *poly_zoom_out(PolyVertex *v, PolyTensor *x);
/* The same with n results; all of them or none. */
POLY_API PolyStatus poly_zoom_out_many(PolyVertex *v, PolyTensor *const *x, int n, PolyTensor **out);
/* The neighbourhoods of v: over in-edges and over out-edges; and those of another graph with the same vertices, an edge
 * type of its own. side 'i': v is where its edges end; 'o': where they begin. Asked for again, it is the same one.
 * Owned by the program. */
POLY_API PolyNbs *poly_innbs(PolyVertex *v);
POLY_API PolyNbs *poly_outnbs(PolyVertex *v);
POLY_API PolyNbs *poly_nbs(PolyVertex *v, PolyGraph *relation, char side);
/* Whose value is x? Of the vertex and of each neighbour: a tensor [nodes, ...], or a value of the vertex. Of each edge:
 * a tensor [E, ...] in the user's edge order, or a value of the vertex, seen from its edges. */
POLY_API PolyTensor *poly_self(PolyVertex *v, PolyTensor *x);
POLY_API PolyTensor *poly_nb(PolyNbs *n, PolyTensor *x);
POLY_API PolyTensor *poly_edge(PolyNbs *n, PolyTensor *x);
/* Over the neighbourhood, to a value of the vertex; op as in poly_graph_reduce. O(E x features). */
POLY_API PolyTensor *poly_nb_reduce(PolyNbs *n, PolyTensor *x, const char *op);
POLY_API PolyTensor *poly_nb_sum(PolyNbs *n, PolyTensor *x);
POLY_API PolyTensor *poly_nb_mean(PolyNbs *n, PolyTensor *x);
POLY_API PolyTensor *poly_nb_max(PolyNbs *n, PolyTensor *x);
POLY_API PolyTensor *poly_nb_min(PolyNbs *n, PolyTensor *x);
/* Weights that add up to 1 over the neighbourhood: a value of each neighbour. */
POLY_API PolyTensor *poly_nb_softmax(PolyNbs *n, PolyTensor *x);
/* How many neighbours, int32. */
POLY_API PolyTensor *poly_nb_count(PolyNbs *n);
/* The values of all edges, [E, ...] in the user's edge order: to look at weights, or for another neighbourhood's
 * poly_edge. */
POLY_API PolyTensor *poly_nb_edges(PolyNbs *n, PolyTensor *x);

/* ---- gradients ---- */

/* Marks t as a leaf whose gradient poly_backward accumulates. Floating point only. */
POLY_API PolyStatus poly_set_requires_grad(PolyTensor *t, bool on);
/* Leaf with the mark, or computed from one. */
POLY_API bool poly_requires_grad(PolyTensor *t);
/* d(root)/d(targets): n new handles into out. root must have one element unless gradient (same shape) is given. A
 * target that root does not depend on gets zeros, as does one whose derivative is zero: use poly_depends_on to tell
 * them apart. Lazy, differentiable again. O(nodes). */
POLY_API PolyStatus poly_grad(PolyTensor *root, PolyTensor *gradient, PolyTensor *const *targets, int n,
                              PolyTensor **out);
/* A function with a gradient of the caller's own: value was computed from inputs in whatever way, and its gradient is
 * what backward makes: grads[k], new handles or NULL for none, out of the inputs, the value and the gradient of the
 * value. It is called while gradients are built, may use every function that makes lazy tensors, and what it makes can
 * be differentiated again. release, if not NULL, is called with user once nothing can ask for the gradient any more. At
 * most 24 inputs. */
typedef struct PolyFunction {
  PolyStatus (*backward)(void *user, PolyTensor *const *inputs, int n, PolyTensor *value, PolyTensor *gradient,
                         PolyTensor **grads);
  void (*release)(void *user);
  void *user;
} PolyFunction;
POLY_API PolyTensor *poly_function(PolyTensor *value, PolyTensor *const *inputs, int n, const PolyFunction *function);
/* Is root computed from target, other than through poly_detach? Its derivative may still be zero everywhere (a
 * comparison, a cast to integers). A realized tensor keeps its history only for live leaves that require a gradient.
 * O(nodes). */
POLY_API bool poly_depends_on(PolyTensor *root, PolyTensor *target);
/* Is root computed from any tensor that requires a gradient, by any way but detach? One that was freed counts, as long
 * as root was not realized since. O(nodes + such tensors). */
POLY_API bool poly_depends_on_leaves(PolyTensor *root);
/* Does any live tensor depend on itself? It cannot: a node is made of nodes that are there. O(nodes). */
POLY_API bool poly_check_cycles(PolyContext *ctx);
/* Adds d(root)/d(leaf) into every live leaf that requires a gradient and that root depends on (see poly_depends_on); if
 * there is none, into every live floating-point tensor that it depends on and whose mark was not turned off. A
 * leaf that root does not depend on keeps the gradient it has, or none. */
POLY_API PolyStatus poly_backward(PolyTensor *root, PolyTensor *gradient);
/* poly_backward as tinygrad's: beside leaves that require a gradient, every other live floating-point tensor that root
 * is computed from, an intermediate or a leaf whose mark was not turned off, gets one as well. Such a gradient goes at
 * the next step of an optimizer, or after 16 passes, if nobody has read it. Constants that were not assigned get none.
 */
POLY_API PolyStatus poly_backward_all(PolyTensor *root, PolyTensor *gradient);
/* The same as poly_backward, but gradients end at the stops: out[k] is a new handle on what arrives at stops[k], NULL
 * if nothing does, and neither the stop, if it is a leaf, nor what lies behind it gets anything of that. The caller
 * goes on from there, with poly_backward_until(stops[k], out[k],
 * ...), from the stops nearest to root on. If root is among the stops, it does not stop. */
POLY_API PolyStatus poly_backward_until(PolyTensor *root, PolyTensor *gradient, PolyTensor *const *stops, int n,
                                        PolyTensor **out);
/* The accumulated gradient as a new handle; NULL without error if there is none. */
POLY_API PolyTensor *poly_get_grad(PolyTensor *t);
POLY_API PolyStatus poly_set_grad(PolyTensor *t, PolyTensor *grad); /* NULL clears */

/* ---- optimizers ---- */

/* The parameters must outlive their optimizer. The learning rate and the step count live on the device, so a compiled
 * step sees them. */
typedef struct PolyOptim PolyOptim;
POLY_API PolyOptim *poly_sgd(PolyTensor *const *params, int n, double lr, double momentum, double weight_decay,
                             bool nesterov);
POLY_API PolyOptim *poly_adam(PolyTensor *const *params, int n, double lr, double beta1, double beta2, double eps,
                              double weight_decay);
POLY_API PolyOptim *poly_adamw(PolyTensor *const *params, int n, double lr, double beta1, double beta2, double eps,
                               double weight_decay);
POLY_API PolyOptim *poly_rmsprop(PolyTensor *const *params, int n, double lr, double alpha, double eps,
                                 double weight_decay, double momentum);
POLY_API PolyOptim *poly_lamb(PolyTensor *const *params, int n, double lr, double beta1, double beta2, double eps,
                              double weight_decay);
/* Settings of an optimizer of any kind; each kind reads its own. Zero everywhere is a valid start. */
typedef struct PolyOptimOptions {
  double momentum, dampening, beta1, beta2, eps, weight_decay; /* beta2: also alpha and rho, the memory of squares */
  double lr_decay, initial;                                    /* adagrad: of the rate; first value of the squares */
  double momentum_decay;                                       /* nadam */
  double lambd, alpha, t0;                                     /* asgd */
  double grow, shrink, low, high;                              /* rprop: factors and limits of the step sizes */
  double trust;                                                /* lars: coefficient of the ratio of norms; 0: none */
  double ns[3];                                                /* lars: polynomial of Newton and Schulz's iteration */
  int ns_steps;                                                /* lars: how often; 0: not at all */
  bool nesterov, classic, decoupled, amsgrad, centered, maximize; /* decoupled: decay of the parameter itself */
} PolyOptimOptions;
/* kind: "sgd", "lars", "adam", "sparseadam", "adamax", "nadam", "radam", "lamb", "rmsprop", "adagrad", "adadelta",
 * "rprop" or "asgd". AdamW is "adam" with decoupled, Muon "lars" with ns_steps and decoupled. */
POLY_API PolyOptim *poly_optim_new(const char *kind, PolyTensor *const *params, int n, double lr,
                                   const PolyOptimOptions *options);
/* Other settings from now on; state that they need is made. A compiled step sees a new momentum or beta1 if one was set
 * before it was compiled. */
POLY_API PolyStatus poly_optim_set(PolyOptim *o, const PolyOptimOptions *options);
POLY_API void poly_optim_free(PolyOptim *o);
POLY_API void poly_optim_zero_grad(PolyOptim *o);
/* Updates the parameters that have gradients; realizes. poly_optim_schedule leaves the updates lazy. */
POLY_API PolyStatus poly_optim_step(PolyOptim *o);
POLY_API PolyStatus poly_optim_schedule(PolyOptim *o);
/* The same, but parameters and state stay as they are where the condition, one truth value, is false. */
POLY_API PolyStatus poly_optim_step_if(PolyOptim *o, PolyTensor *condition);
POLY_API PolyStatus poly_optim_schedule_if(PolyOptim *o, PolyTensor *condition);
POLY_API PolyStatus poly_optim_set_lr(PolyOptim *o, double lr);
POLY_API double poly_optim_lr(const PolyOptim *o);
/* The state tensors (moments, step count), borrowed; returns how many; out may be NULL. */
POLY_API int poly_optim_state(PolyOptim *o, PolyTensor **out, int max);

/* ---- loops over steps ---- */

/* One step: new carried values and at most POLY_SCAN_RESULTS results y, all of them new handles that poly_scan frees,
 * out of the carried values and row t of each stacked input. Returns the number of results, -1: an error. */
typedef struct PolyScanBody {
  int (*step)(void *user, PolyTensor *const *carry, int ncarry, PolyTensor *const *x, int nx, PolyTensor **new_carry,
              PolyTensor **y);
  void *user;
} PolyScanBody;
enum { POLY_SCAN_RESULTS = 256, POLY_SCAN_REVERSE = 1, POLY_SCAN_RECOMPUTE = 2 };
/* carry = init; for t = 0 .. n-1: carry, y[t] = step(carry, xs[t]). One body is built, planned and compiled, whatever n
 * is; n is the first size of the stacked inputs, or length where there are none (-1: not given), and may be symbolic.
 * The new carried values have the shapes and dtypes of the first ones. step may use any tensors from outside, and draws
 * no random numbers. last: the ncarry carried values after the last step; stacked: room for POLY_SCAN_RESULTS handles,
 * of which as many are filled as the return value says, each [n, ...]. POLY_SCAN_REVERSE: t runs from n-1 to 0.
 * POLY_SCAN_RECOMPUTE: gradients keep the carried values of all steps and nothing else, and compute each step again.
 * Lazy, differentiable any number of times; O(nodes of the body) to build. -1: an error. */
POLY_API int poly_scan(PolyContext *ctx, const PolyScanBody *body, PolyTensor *const *init, int ncarry,
                       PolyTensor *const *xs, int nx, int64_t length, int flags, PolyTensor **last,
                       PolyTensor **stacked);

/* ---- compiled steps: trace once, run many times ---- */

typedef struct PolyStep PolyStep;
/* Computes every tensor whose values are drawn at random, or were assigned, and have not been computed: a step that is
 * traced afterwards reads them; it would draw and assign what is still to be computed anew in each run. */
POLY_API PolyStatus poly_settle(PolyContext *ctx);
/* A trace: between begin and end a function builds lazy tensors of which poly_step_new, called before the end, makes a
 * step. A step depends on the tensors that the function used, whatever has been computed of them before: each tensor
 * has its own identity during the trace. Tensors from before that the function assigns to are state of the step;
 * tensors that it made are not. Values that depend on an input, on state or on random numbers cannot be read while the
 * trace is open. begin calls poly_settle. end puts all tensors back; what was computed from an input cannot be read
 * afterwards, unless as an output of the step. One trace at a time. O(nodes). */
POLY_API PolyStatus poly_trace_begin(PolyContext *ctx);
POLY_API void poly_trace_end(PolyContext *ctx);
/* A new handle by which the traced function knows input t (realized): give it to the function and, as an input, to
 * poly_step_new. It has t's memory and not its history. */
POLY_API PolyTensor *poly_trace_input(PolyTensor *t);
/* The traced function uses what t holds as a part of the program, as poly_read would. An error if that differs from run
 * to run; a run after t was assigned is an error too. */
POLY_API PolyStatus poly_trace_reads(PolyTensor *t);
/* Compiles what is needed to compute `outputs` and all lazily assigned tensors in `state` or assigned in the open
 * trace, as a function of `inputs` (realized tensors). Running replays the same kernels on new inputs. */
POLY_API PolyStep *poly_step_new(PolyTensor *const *inputs, int ninput, PolyTensor *const *outputs, int noutput,
                                 PolyTensor *const *state, int nstate);
/* Runs; inputs replace those given to poly_step_new: same dtype, same shape but for symbolic sizes. NULL: the same
 * inputs, not those of poly_trace_input. An input that the function assigned to is changed. */
POLY_API PolyStatus poly_step_run(PolyStep *s, PolyTensor *const *inputs, int ninput);
/* A size that was bound when the step was traced (see poly_var_bind) has another value from the next run on: the codes
 * of both. */
POLY_API PolyStatus poly_step_bind(PolyStep *s, int64_t traced, int64_t now);
/* The k-th output of the last run, as a new handle. Its memory is used again by a later run once the handle is free. */
POLY_API PolyTensor *poly_step_output(PolyStep *s, int k);
POLY_API int poly_step_kernels(const PolyStep *s);
POLY_API int poly_step_intermediates(const PolyStep *s);
/* What poly_peak_bytes becomes in a run with the inputs and sizes of the trace: all tensors that are live now, the
 * results and the temporary memory of the step. Known before it runs. -1 on failure. O(buffers of the step). */
POLY_API int64_t poly_step_peak_bytes(PolyStep *s);
/* Gives back the temporary memory of a step until it runs again. */
POLY_API void poly_step_trim(PolyStep *s);
POLY_API void poly_step_free(PolyStep *s);

/* ---- files ---- */

/* safetensors. Names and tensors in the same order. Saving writes a temporary file and renames it. */
POLY_API PolyStatus poly_safe_save(PolyContext *ctx, const char *path, const char *const *names, PolyTensor *const *t,
                                   int n);
/* With texts about the file: meta[2 k] is the name of meta[2 k + 1], for k below nmeta. */
POLY_API PolyStatus poly_safe_save_with(PolyContext *ctx, const char *path, const char *const *names,
                                        PolyTensor *const *t, int n, const char *const *meta, int nmeta);
typedef struct PolyStateFile PolyStateFile;
POLY_API PolyStateFile *poly_safe_open(PolyContext *ctx, const char *path);
POLY_API int poly_safe_count(const PolyStateFile *f);
POLY_API const char *poly_safe_name(const PolyStateFile *f, int k);
POLY_API PolyTensor *poly_safe_get(PolyStateFile *f, int k); /* a copy of the tensor's data */
POLY_API void poly_safe_close(PolyStateFile *f);

/* ---- looking inside ---- */

typedef struct PolyKernelStat {
  const char *name;
  const char *device;
  int64_t count;
  double ms;
  int64_t bytes, flops; /* of all runs */
} PolyKernelStat;
typedef struct PolyStoredStat {
  int ndim;
  int64_t shape[16];
  PolyDType dtype;
  int64_t bytes;
  const char *why;
} PolyStoredStat;
/* Between begin and end every plan that runs is recorded; the results stay until the next begin. */
POLY_API PolyStatus poly_profile_begin(PolyContext *ctx);
POLY_API PolyStatus poly_profile_end(PolyContext *ctx);
POLY_API int poly_profile_kernels(const PolyContext *ctx);
POLY_API PolyStatus poly_profile_kernel(const PolyContext *ctx, int k, PolyKernelStat *out);
POLY_API int poly_profile_stored(const PolyContext *ctx);
POLY_API PolyStatus poly_profile_stored_at(const PolyContext *ctx, int k, PolyStoredStat *out);
POLY_API int64_t poly_profile_peak_bytes(const PolyContext *ctx);
/* What ran since the context was made: runs of kernels, matrix products and library routines, the bytes that they read
 * and wrote, and their operations; ms of those that were timed (in a profile, or with DEBUG of 2). No name. */
POLY_API PolyStatus poly_counters(const PolyContext *ctx, PolyKernelStat *out);
/* The generated source of the plan that computes t; the UOps of t; the plan in words. Free with poly_text_free. */
POLY_API char *poly_source(PolyTensor *t);
POLY_API char *poly_dump(PolyTensor *t);
POLY_API char *poly_explain(PolyTensor *t);
POLY_API void poly_text_free(PolyContext *ctx, char *text);
/* Counters since the context began: kernels compiled, plans built, plans found in the cache. */
POLY_API int64_t poly_compilations(const PolyContext *ctx);
POLY_API int64_t poly_plans_built(const PolyContext *ctx);
POLY_API int64_t poly_plans_reused(const PolyContext *ctx);
/* Training steps (poly_backward, then poly_optim_step) that ran the plan of an earlier one without being built. */
POLY_API int64_t poly_steps_recalled(const PolyContext *ctx);
/* Compiled kernels that are kept on disk: the directory (NULL: nothing is kept), programs and bytes in it, and how many
 * bytes it may have before those that were not used for longest are removed. O(entries). Clearing removes nothing that
 * is loaded. */
POLY_API const char *poly_cache_dir(const PolyContext *ctx);
POLY_API int64_t poly_cache_entries(const PolyContext *ctx);
POLY_API int64_t poly_cache_bytes(const PolyContext *ctx);
POLY_API int64_t poly_cache_limit(const PolyContext *ctx);
POLY_API PolyStatus poly_cache_clear(PolyContext *ctx);

#ifdef __cplusplus
}
#endif
#endif
