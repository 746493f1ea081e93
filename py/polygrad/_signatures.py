"""Signatures of libpolygrad, generated from include/polygrad.h by tools/gen_ffi.py. Do not edit.

Codes: v void, b bool, c char, i int and enums, l int64, L uint64, z size_t, d double, s text, p other pointers.
"""

# name: (result, arguments)
FUNCTIONS = {
    "poly_context_new": ("p", ""),
    "poly_context_new_with": ("p", "p"),
    "poly_context_free": ("v", "p"),
    "poly_version": ("s", ""),
    "poly_error_code": ("i", "p"),
    "poly_error_text": ("s", "p"),
    "poly_clear_error": ("v", "p"),
    "poly_set_device": ("i", "ps"),
    "poly_device": ("s", "p"),
    "poly_set_threads": ("v", "pi"),
    "poly_threads": ("i", "p"),
    "poly_set_debug": ("v", "pi"),
    "poly_manual_seed": ("v", "pL"),
    "poly_draw_seed": ("L", "p"),
    "poly_set_training": ("v", "pb"),
    "poly_training": ("b", "p"),
    "poly_set_no_grad": ("v", "pb"),
    "poly_no_grad": ("b", "p"),
    "poly_live_nodes": ("l", "p"),
    "poly_live_tensors": ("l", "p"),
    "poly_live_bytes": ("l", "p"),
    "poly_peak_bytes": ("l", "p"),
    "poly_reset_peak": ("v", "p"),
    "poly_scope_begin": ("v", "p"),
    "poly_scope_end": ("v", "p"),
    "poly_keep": ("p", "p"),
    "poly_free": ("v", "p"),
    "poly_retain_copy": ("p", "p"),
    "poly_context_of": ("p", "p"),
    "poly_ndim": ("i", "p"),
    "poly_dim": ("l", "pi"),
    "poly_shape": ("v", "pp"),
    "poly_numel": ("l", "p"),
    "poly_dtype": ("i", "p"),
    "poly_dtype_name": ("s", "i"),
    "poly_dtype_size": ("i", "i"),
    "poly_promote": ("i", "ii"),
    "poly_is_realized": ("b", "p"),
    "poly_var_bind": ("l", "pslll"),
    "poly_dim_is_symbolic": ("b", "l"),
    "poly_dim_value": ("l", "pl"),
    "poly_dim_min": ("l", "pl"),
    "poly_dim_max": ("l", "pl"),
    "poly_dim_op": ("l", "pcll"),
    "poly_dim_text": ("s", "plpz"),
    "poly_sized": ("p", "pip"),
    "poly_from_data": ("p", "ppiip"),
    "poly_from_borrowed": ("p", "ppiippp"),
    "poly_realize": ("i", "p"),
    "poly_realize_many": ("i", "pi"),
    "poly_read": ("i", "ppz"),
    "poly_data": ("p", "p"),
    "poly_item": ("d", "p"),
    "poly_item_int": ("l", "p"),
    "poly_write": ("i", "ppz"),
    "poly_empty": ("p", "piip"),
    "poly_zeros": ("p", "piip"),
    "poly_ones": ("p", "piip"),
    "poly_full": ("p", "piipd"),
    "poly_full_int": ("p", "piipl"),
    "poly_scalar": ("p", "pid"),
    "poly_arange": ("p", "piddd"),
    "poly_iota": ("p", "pil"),
    "poly_linspace": ("p", "piddl"),
    "poly_eye": ("p", "pill"),
    "poly_full_like": ("p", "pd"),
    "poly_zeros_like": ("p", "p"),
    "poly_ones_like": ("p", "p"),
    "poly_empty_like": ("p", "p"),
    "poly_rand_like": ("p", "p"),
    "poly_randn_like": ("p", "p"),
    "poly_rand": ("p", "piip"),
    "poly_randn": ("p", "piip"),
    "poly_randint": ("p", "piipll"),
    "poly_uniform": ("p", "piipdd"),
    "poly_normal": ("p", "piipdd"),
    "poly_randperm": ("p", "pl"),
    "poly_scaled_uniform": ("p", "piip"),
    "poly_glorot_uniform": ("p", "piip"),
    "poly_glorot_normal": ("p", "piip"),
    "poly_kaiming_uniform": ("p", "piipd"),
    "poly_kaiming_normal": ("p", "piipd"),
    "poly_multinomial": ("p", "plb"),
    "poly_binary": ("p", "ipp"),
    "poly_binary_scalar": ("p", "ipcldb"),
    "poly_add": ("p", "pp"),
    "poly_sub": ("p", "pp"),
    "poly_mul": ("p", "pp"),
    "poly_div": ("p", "pp"),
    "poly_pow": ("p", "pp"),
    "poly_maximum": ("p", "pp"),
    "poly_minimum": ("p", "pp"),
    "poly_lt": ("p", "pp"),
    "poly_eq": ("p", "pp"),
    "poly_add_scalar": ("p", "pd"),
    "poly_mul_scalar": ("p", "pd"),
    "poly_where": ("p", "ppp"),
    "poly_clamp": ("p", "pdd"),
    "poly_logaddexp": ("p", "pp"),
    "poly_lerp": ("p", "ppp"),
    "poly_isclose": ("p", "ppddb"),
    "poly_unary": ("p", "ip"),
    "poly_neg": ("p", "p"),
    "poly_abs": ("p", "p"),
    "poly_square": ("p", "p"),
    "poly_sqrt": ("p", "p"),
    "poly_exp": ("p", "p"),
    "poly_log": ("p", "p"),
    "poly_tanh": ("p", "p"),
    "poly_sigmoid": ("p", "p"),
    "poly_relu": ("p", "p"),
    "poly_gelu": ("p", "p"),
    "poly_leaky_relu": ("p", "pd"),
    "poly_elu": ("p", "pd"),
    "poly_celu": ("p", "pd"),
    "poly_hardtanh": ("p", "pdd"),
    "poly_softplus": ("p", "pd"),
    "poly_cast": ("p", "pi"),
    "poly_bitcast": ("p", "pi"),
    "poly_sum": ("p", "pipb"),
    "poly_sum_dtype": ("p", "pipbi"),
    "poly_prod": ("p", "pipb"),
    "poly_max": ("p", "pipb"),
    "poly_min": ("p", "pipb"),
    "poly_mean": ("p", "pipb"),
    "poly_var": ("p", "pipbd"),
    "poly_std": ("p", "pipbd"),
    "poly_any": ("p", "pipb"),
    "poly_all": ("p", "pipb"),
    "poly_logsumexp": ("p", "pipb"),
    "poly_argmax": ("p", "pib"),
    "poly_argmin": ("p", "pib"),
    "poly_softmax": ("p", "pi"),
    "poly_log_softmax": ("p", "pi"),
    "poly_cumsum": ("p", "pi"),
    "poly_cumprod": ("p", "pi"),
    "poly_cummax": ("p", "pi"),
    "poly_cummin": ("p", "pi"),
    "poly_logcumsumexp": ("p", "pi"),
    "poly_reshape": ("p", "pip"),
    "poly_permute": ("p", "pip"),
    "poly_transpose": ("p", "pii"),
    "poly_expand": ("p", "pip"),
    "poly_shrink": ("p", "pp"),
    "poly_pad": ("p", "ppid"),
    "poly_flip": ("p", "pip"),
    "poly_squeeze": ("p", "pi"),
    "poly_unsqueeze": ("p", "pi"),
    "poly_flatten": ("p", "pii"),
    "poly_unflatten": ("p", "piip"),
    "poly_repeat": ("p", "pip"),
    "poly_repeat_interleave": ("p", "pli"),
    "poly_roll": ("p", "pipp"),
    "poly_cat": ("p", "pii"),
    "poly_stack": ("p", "pii"),
    "poly_split": ("i", "pipip"),
    "poly_chunk": ("i", "piip"),
    "poly_tril": ("p", "pi"),
    "poly_triu": ("p", "pi"),
    "poly_diag": ("p", "p"),
    "poly_diagonal": ("p", "p"),
    "poly_unfold": ("p", "pill"),
    "poly_meshgrid": ("i", "picp"),
    "poly_one_hot": ("p", "pl"),
    "poly_getitem": ("p", "pip"),
    "poly_setitem": ("i", "pipp"),
    "poly_gather": ("p", "pip"),
    "poly_index_select": ("p", "pip"),
    "poly_scatter": ("p", "pipp"),
    "poly_scatter_reduce": ("p", "pippsb"),
    "poly_index_add": ("p", "pipp"),
    "poly_sort": ("i", "pibpp"),
    "poly_argsort": ("p", "pib"),
    "poly_topk": ("i", "plibbpp"),
    "poly_masked_select": ("p", "pp"),
    "poly_nonzero": ("p", "p"),
    "poly_masked_fill": ("p", "ppd"),
    "poly_contiguous": ("p", "p"),
    "poly_clone": ("p", "p"),
    "poly_detach": ("p", "p"),
    "poly_assign": ("i", "pp"),
    "poly_give": ("i", "pp"),
    "poly_replace": ("i", "pp"),
    "poly_matmul": ("p", "pp"),
    "poly_einsum": ("p", "pspi"),
    "poly_linear": ("p", "ppp"),
    "poly_conv": ("p", "pppippp"),
    "poly_conv_transpose": ("p", "pppipppp"),
    "poly_max_pool": ("p", "pippppb"),
    "poly_avg_pool": ("p", "pippppbb"),
    "poly_attention": ("p", "ppppbd"),
    "poly_layernorm": ("p", "pid"),
    "poly_rmsnorm": ("p", "pd"),
    "poly_groupnorm": ("p", "pid"),
    "poly_batchnorm": ("p", "pppppi"),
    "poly_dropout": ("p", "pd"),
    "poly_cross_entropy": ("p", "ppdlc"),
    "poly_nll_loss": ("p", "ppplc"),
    "poly_binary_cross_entropy": ("p", "ppc"),
    "poly_binary_cross_entropy_logits": ("p", "pppc"),
    "poly_mse_loss": ("p", "ppc"),
    "poly_l1_loss": ("p", "ppc"),
    "poly_huber_loss": ("p", "ppdc"),
    "poly_graph_from_coo": ("p", "pppilll"),
    "poly_graph_from_csr": ("p", "pppill"),
    "poly_graph_of": ("p", "pll"),
    "poly_graph_retain": ("p", "p"),
    "poly_graph_free": ("v", "p"),
    "poly_graph_num_edges": ("l", "p"),
    "poly_graph_num_src": ("l", "p"),
    "poly_graph_num_dst": ("l", "p"),
    "poly_graph_reversed": ("p", "p"),
    "poly_graph_with_self_loops": ("p", "pb"),
    "poly_graph_with_own_loops": ("p", "p"),
    "poly_graph_without_self_loops": ("p", "p"),
    "poly_graph_undirected": ("p", "p"),
    "poly_graph_coalesced": ("p", "p"),
    "poly_graph_origin": ("p", "p"),
    "poly_graph_src_index": ("p", "p"),
    "poly_graph_dst_index": ("p", "p"),
    "poly_graph_rowptr": ("p", "pc"),
    "poly_graph_order": ("p", "pc"),
    "poly_graph_other": ("p", "pc"),
    "poly_graph_degree": ("p", "pc"),
    "poly_graph_loops": ("p", "p"),
    "poly_graph_arrays": ("i", "pppi"),
    "poly_graph_src": ("p", "pp"),
    "poly_graph_dst": ("p", "pp"),
    "poly_graph_reduce": ("p", "ppsc"),
    "poly_graph_softmax": ("p", "ppc"),
    "poly_graph_ppr": ("i", "pplddp"),
    "poly_sampler_new": ("p", "pip"),
    "poly_sampler_free": ("v", "p"),
    "poly_sampler_add": ("i", "ppi"),
    "poly_sampler_num_edges": ("l", "pi"),
    "poly_sampler_error": ("i", "p"),
    "poly_sampler_error_text": ("s", "p"),
    "poly_sample_new": ("p", "p"),
    "poly_sample_free": ("v", "p"),
    "poly_sample_run": ("i", "ppip"),
    "poly_sample_run_hgt": ("i", "ppip"),
    "poly_sample_num_nodes": ("l", "pi"),
    "poly_sample_num_edges": ("l", "pi"),
    "poly_sample_hop_nodes": ("l", "pii"),
    "poly_sample_hop_edges": ("l", "pii"),
    "poly_sample_read": ("i", "pcip"),
    "poly_sample_error": ("i", "p"),
    "poly_sample_error_text": ("s", "p"),
    "poly_sampler_walk": ("l", "pipllddLipp"),
    "poly_gather_rows": ("l", "plzplpi"),
    "poly_graph_partition": ("i", "plbp"),
    "poly_rmat": ("i", "lldddLbip"),
    "poly_knn": ("p", "ppppllbb"),
    "poly_radius": ("p", "ppppldlb"),
    "poly_fps": ("p", "ppldp"),
    "poly_graph_match": ("p", "ppL"),
    "poly_graph_contract": ("p", "ppp"),
    "poly_graph_product": ("p", "ppp"),
    "poly_reduce_runs": ("p", "pplc"),
    "poly_zoom_in": ("p", "p"),
    "poly_zoom_out": ("p", "pp"),
    "poly_zoom_out_many": ("i", "ppip"),
    "poly_innbs": ("p", "p"),
    "poly_outnbs": ("p", "p"),
    "poly_nbs": ("p", "ppc"),
    "poly_self": ("p", "pp"),
    "poly_nb": ("p", "pp"),
    "poly_edge": ("p", "pp"),
    "poly_nb_reduce": ("p", "pps"),
    "poly_nb_sum": ("p", "pp"),
    "poly_nb_mean": ("p", "pp"),
    "poly_nb_max": ("p", "pp"),
    "poly_nb_min": ("p", "pp"),
    "poly_nb_softmax": ("p", "pp"),
    "poly_nb_count": ("p", "p"),
    "poly_nb_edges": ("p", "pp"),
    "poly_set_requires_grad": ("i", "pb"),
    "poly_requires_grad": ("b", "p"),
    "poly_grad": ("i", "pppip"),
    "poly_depends_on": ("b", "pp"),
    "poly_backward": ("i", "pp"),
    "poly_backward_until": ("i", "pppip"),
    "poly_get_grad": ("p", "p"),
    "poly_set_grad": ("i", "pp"),
    "poly_sgd": ("p", "pidddb"),
    "poly_adam": ("p", "piddddd"),
    "poly_adamw": ("p", "piddddd"),
    "poly_rmsprop": ("p", "piddddd"),
    "poly_lamb": ("p", "piddddd"),
    "poly_optim_free": ("v", "p"),
    "poly_optim_zero_grad": ("v", "p"),
    "poly_optim_step": ("i", "p"),
    "poly_optim_schedule": ("i", "p"),
    "poly_optim_set_lr": ("i", "pd"),
    "poly_optim_lr": ("d", "p"),
    "poly_optim_state": ("i", "ppi"),
    "poly_settle": ("i", "p"),
    "poly_trace_begin": ("i", "p"),
    "poly_trace_end": ("v", "p"),
    "poly_trace_input": ("p", "p"),
    "poly_trace_reads": ("i", "p"),
    "poly_step_new": ("p", "pipipi"),
    "poly_step_run": ("i", "ppi"),
    "poly_step_bind": ("i", "pll"),
    "poly_step_output": ("p", "pi"),
    "poly_step_kernels": ("i", "p"),
    "poly_step_intermediates": ("i", "p"),
    "poly_step_free": ("v", "p"),
    "poly_safe_save": ("i", "psppi"),
    "poly_safe_open": ("p", "ps"),
    "poly_safe_count": ("i", "p"),
    "poly_safe_name": ("s", "pi"),
    "poly_safe_get": ("p", "pi"),
    "poly_safe_close": ("v", "p"),
    "poly_profile_begin": ("i", "p"),
    "poly_profile_end": ("i", "p"),
    "poly_profile_kernels": ("i", "p"),
    "poly_profile_kernel": ("i", "pip"),
    "poly_profile_stored": ("i", "p"),
    "poly_profile_stored_at": ("i", "pip"),
    "poly_profile_peak_bytes": ("l", "p"),
    "poly_source": ("p", "p"),
    "poly_dump": ("p", "p"),
    "poly_explain": ("p", "p"),
    "poly_text_free": ("v", "pp"),
    "poly_compilations": ("l", "p"),
    "poly_plans_built": ("l", "p"),
    "poly_plans_reused": ("l", "p"),
}

# struct: [(field, code followed by the length of an array)]
STRUCTS = {
    "PolyAllocator": [
        ("realloc", "p"),
        ("user", "p"),
    ],
    "PolyIndex": [
        ("kind", "c"),
        ("has_start", "b"),
        ("has_stop", "b"),
        ("start", "l"),
        ("stop", "l"),
        ("step", "l"),
        ("tensor", "p"),
    ],
    "PolyRelation": [
        ("src_type", "i"),
        ("dst_type", "i"),
        ("dtype", "i"),
        ("num_edges", "l"),
        ("src", "p"),
        ("dst", "p"),
        ("id", "p"),
        ("edge_time", "p"),
        ("src_time", "p"),
        ("weight", "p"),
    ],
    "PolySeeds": [
        ("type", "i"),
        ("count", "l"),
        ("node", "p"),
        ("time", "p"),
    ],
    "PolySampleSpec": [
        ("hops", "i"),
        ("counts", "p"),
        ("replace", "b"),
        ("disjoint", "b"),
        ("induced", "b"),
        ("last", "b"),
        ("seed", "L"),
        ("batch", "L"),
        ("threads", "i"),
    ],
    "PolyKernelStat": [
        ("name", "s"),
        ("device", "s"),
        ("count", "l"),
        ("ms", "d"),
        ("bytes", "l"),
        ("flops", "l"),
    ],
    "PolyStoredStat": [
        ("ndim", "i"),
        ("shape", "l16"),
        ("dtype", "i"),
        ("bytes", "l"),
        ("why", "s"),
    ],
}

# enumerations and whole-number constants
POLY_OK = 0
POLY_ERROR_VALUE = 1
POLY_ERROR_TYPE = 2
POLY_ERROR_INDEX = 3
POLY_ERROR_MEMORY = 4
POLY_ERROR_RUNTIME = 5
POLY_ERROR_IO = 6
POLY_BOOL = 0
POLY_INT8 = 1
POLY_UINT8 = 2
POLY_INT16 = 3
POLY_UINT16 = 4
POLY_INT32 = 5
POLY_UINT32 = 6
POLY_INT64 = 7
POLY_UINT64 = 8
POLY_FLOAT16 = 9
POLY_BFLOAT16 = 10
POLY_FLOAT32 = 11
POLY_FLOAT64 = 12
POLY_DTYPE_COUNT = 13
POLY_ADD = 0
POLY_SUB = 1
POLY_MUL = 2
POLY_DIV = 3
POLY_FLOORDIV = 4
POLY_TRUNCDIV = 5
POLY_MOD = 6
POLY_FMOD = 7
POLY_POW = 8
POLY_MAXIMUM = 9
POLY_MINIMUM = 10
POLY_LT = 11
POLY_LE = 12
POLY_GT = 13
POLY_GE = 14
POLY_EQ = 15
POLY_NE = 16
POLY_AND = 17
POLY_OR = 18
POLY_XOR = 19
POLY_SHL = 20
POLY_SHR = 21
POLY_BINARY_COUNT = 22
POLY_NEG = 0
POLY_LOGICAL_NOT = 1
POLY_BITWISE_NOT = 2
POLY_ABS = 3
POLY_SIGN = 4
POLY_SQUARE = 5
POLY_SQRT = 6
POLY_RSQRT = 7
POLY_RECIPROCAL = 8
POLY_EXP = 9
POLY_EXP2 = 10
POLY_EXPM1 = 11
POLY_LOG = 12
POLY_LOG2 = 13
POLY_LOG10 = 14
POLY_LOG1P = 15
POLY_SIN = 16
POLY_COS = 17
POLY_TAN = 18
POLY_ASIN = 19
POLY_ACOS = 20
POLY_ATAN = 21
POLY_SINH = 22
POLY_COSH = 23
POLY_TANH = 24
POLY_ASINH = 25
POLY_ACOSH = 26
POLY_ATANH = 27
POLY_ERF = 28
POLY_CEIL = 29
POLY_FLOOR = 30
POLY_ROUND = 31
POLY_TRUNC = 32
POLY_ISNAN = 33
POLY_ISINF = 34
POLY_ISFINITE = 35
POLY_RELU = 36
POLY_RELU6 = 37
POLY_SIGMOID = 38
POLY_LOGSIGMOID = 39
POLY_HARDSIGMOID = 40
POLY_HARDSWISH = 41
POLY_GELU = 42
POLY_QUICK_GELU = 43
POLY_SILU = 44
POLY_MISH = 45
POLY_SELU = 46
POLY_SOFTSIGN = 47
POLY_UNARY_COUNT = 48
POLY_PAD_CONSTANT = 0
POLY_PAD_REFLECT = 1
POLY_PAD_REPLICATE = 2
POLY_PAD_CIRCULAR = 3
POLY_ALL_AXES = 1000
