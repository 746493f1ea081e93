"""Signatures of libpolygrad, generated from include/polygrad.h by tools/gen_ffi.py. Do not edit.

Codes: v void, b bool, c char, i int and enums, l int64, L uint64, z size_t, d double, s text, p other pointers.
"""

# name: (result, arguments, their names)
FUNCTIONS = {
    "poly_context_new": ("p", "", ""),
    "poly_context_new_with": ("p", "p", "allocator"),
    "poly_context_free": ("v", "p", "ctx"),
    "poly_version": ("s", "", ""),
    "poly_error_code": ("i", "p", "ctx"),
    "poly_error_text": ("s", "p", "ctx"),
    "poly_clear_error": ("v", "p", "ctx"),
    "poly_set_device": ("i", "ps", "ctx name"),
    "poly_device": ("s", "p", "ctx"),
    "poly_device_card": ("s", "ps", "ctx device"),
    "poly_synchronize": ("i", "p", "ctx"),
    "poly_set_threads": ("v", "pi", "ctx threads"),
    "poly_threads": ("i", "p", "ctx"),
    "poly_set_debug": ("v", "pi", "ctx level"),
    "poly_manual_seed": ("v", "pL", "ctx seed"),
    "poly_draw_seed": ("L", "p", "ctx"),
    "poly_set_training": ("v", "pb", "ctx on"),
    "poly_training": ("b", "p", "ctx"),
    "poly_set_no_grad": ("v", "pb", "ctx on"),
    "poly_no_grad": ("b", "p", "ctx"),
    "poly_set_autocast": ("i", "pi", "ctx dtype"),
    "poly_autocast": ("i", "p", "ctx"),
    "poly_set_default_float": ("i", "pi", "ctx dtype"),
    "poly_default_float": ("i", "p", "ctx"),
    "poly_live_nodes": ("l", "p", "ctx"),
    "poly_live_tensors": ("l", "p", "ctx"),
    "poly_live_bytes": ("l", "p", "ctx"),
    "poly_peak_bytes": ("l", "p", "ctx"),
    "poly_reset_peak": ("v", "p", "ctx"),
    "poly_device_live_bytes": ("l", "ps", "ctx device"),
    "poly_device_peak_bytes": ("l", "ps", "ctx device"),
    "poly_device_held_bytes": ("l", "ps", "ctx device"),
    "poly_device_read_bytes": ("l", "ps", "ctx device"),
    "poly_device_trim": ("v", "ps", "ctx device"),
    "poly_scope_begin": ("v", "p", "ctx"),
    "poly_scope_end": ("v", "p", "ctx"),
    "poly_keep": ("p", "p", "t"),
    "poly_free": ("v", "p", "t"),
    "poly_retain_copy": ("p", "p", "t"),
    "poly_context_of": ("p", "p", "t"),
    "poly_ndim": ("i", "p", "t"),
    "poly_dim": ("l", "pi", "t axis"),
    "poly_shape": ("v", "pp", "t out"),
    "poly_numel": ("l", "p", "t"),
    "poly_numel_size": ("l", "p", "t"),
    "poly_dtype": ("i", "p", "t"),
    "poly_dtype_name": ("s", "i", "d"),
    "poly_dtype_size": ("i", "i", "d"),
    "poly_promote": ("i", "ii", "a b"),
    "poly_is_realized": ("b", "p", "t"),
    "poly_value_ids": ("i", "pip", "t n out"),
    "poly_var_bind": ("l", "pslll", "ctx name min max value"),
    "poly_dim_is_symbolic": ("b", "l", "dim"),
    "poly_dim_hold": ("v", "plb", "ctx dim on"),
    "poly_dim_value": ("l", "pl", "ctx dim"),
    "poly_dim_min": ("l", "pl", "ctx dim"),
    "poly_dim_max": ("l", "pl", "ctx dim"),
    "poly_dim_op": ("l", "pcll", "ctx op a b"),
    "poly_dim_text": ("s", "plpz", "ctx dim buf n"),
    "poly_sized": ("p", "pip", "t ndim shape"),
    "poly_on_device": ("b", "p", "t"),
    "poly_samples_there": ("b", "pl", "ctx edges"),
    "poly_worth_device": ("b", "pl", "ctx bytes"),
    "poly_join": ("p", "pii", "t n axis"),
    "poly_from_data": ("p", "ppiip", "ctx data dtype ndim shape"),
    "poly_from_borrowed": ("p", "ppiippp", "ctx data dtype ndim shape release user"),
    "poly_from_device": ("p", "ppiippp", "ctx data dtype ndim shape release user"),
    "poly_set_copy_ahead": ("v", "pb", "ctx on"),
    "poly_can_copy_ahead": ("b", "p", "ctx"),
    "poly_realize": ("i", "p", "t"),
    "poly_realize_many": ("i", "pi", "t n"),
    "poly_read": ("i", "ppz", "t out out_bytes"),
    "poly_data": ("p", "p", "t"),
    "poly_move_here": ("i", "p", "t"),
    "poly_device_data": ("p", "p", "t"),
    "poly_memory_id": ("L", "p", "t"),
    "poly_item": ("d", "p", "t"),
    "poly_item_int": ("l", "p", "t"),
    "poly_write": ("i", "ppz", "t data bytes"),
    "poly_empty": ("p", "piip", "ctx dtype ndim shape"),
    "poly_zeros": ("p", "piip", "ctx dtype ndim shape"),
    "poly_ones": ("p", "piip", "ctx dtype ndim shape"),
    "poly_full": ("p", "piipd", "ctx dtype ndim shape value"),
    "poly_full_int": ("p", "piipl", "ctx dtype ndim shape value"),
    "poly_scalar": ("p", "pid", "ctx dtype value"),
    "poly_arange": ("p", "piddd", "ctx dtype start stop step"),
    "poly_iota": ("p", "pil", "ctx dtype n"),
    "poly_linspace": ("p", "piddl", "ctx dtype start stop steps"),
    "poly_eye": ("p", "pill", "ctx dtype n m"),
    "poly_full_like": ("p", "pd", "t value"),
    "poly_zeros_like": ("p", "p", "t"),
    "poly_ones_like": ("p", "p", "t"),
    "poly_empty_like": ("p", "p", "t"),
    "poly_rand_like": ("p", "p", "t"),
    "poly_randn_like": ("p", "p", "t"),
    "poly_rand": ("p", "piip", "ctx dtype ndim shape"),
    "poly_randn": ("p", "piip", "ctx dtype ndim shape"),
    "poly_randint": ("p", "piipll", "ctx dtype ndim shape low high"),
    "poly_uniform": ("p", "piipdd", "ctx dtype ndim shape low high"),
    "poly_normal": ("p", "piipdd", "ctx dtype ndim shape mean std"),
    "poly_randperm": ("p", "pl", "ctx n"),
    "poly_scaled_uniform": ("p", "piip", "ctx dtype ndim shape"),
    "poly_glorot_uniform": ("p", "piip", "ctx dtype ndim shape"),
    "poly_glorot_normal": ("p", "piip", "ctx dtype ndim shape"),
    "poly_kaiming_uniform": ("p", "piipd", "ctx dtype ndim shape a"),
    "poly_kaiming_normal": ("p", "piipd", "ctx dtype ndim shape a"),
    "poly_multinomial": ("p", "plb", "weights n replacement"),
    "poly_binary": ("p", "ipp", "op a b"),
    "poly_binary_weak": ("p", "ipp", "op a b"),
    "poly_binary_scalar": ("p", "ipcldb", "op a kind i f reversed"),
    "poly_add": ("p", "pp", "a b"),
    "poly_sub": ("p", "pp", "a b"),
    "poly_mul": ("p", "pp", "a b"),
    "poly_div": ("p", "pp", "a b"),
    "poly_pow": ("p", "pp", "a b"),
    "poly_maximum": ("p", "pp", "a b"),
    "poly_minimum": ("p", "pp", "a b"),
    "poly_lt": ("p", "pp", "a b"),
    "poly_eq": ("p", "pp", "a b"),
    "poly_add_scalar": ("p", "pd", "a value"),
    "poly_mul_scalar": ("p", "pd", "a value"),
    "poly_where": ("p", "ppp", "cond a b"),
    "poly_clamp": ("p", "pdd", "x low high"),
    "poly_logaddexp": ("p", "pp", "a b"),
    "poly_lerp": ("p", "ppp", "a b weight"),
    "poly_isclose": ("p", "ppddb", "a b rtol atol equal_nan"),
    "poly_unary": ("p", "ip", "op x"),
    "poly_neg": ("p", "p", "x"),
    "poly_abs": ("p", "p", "x"),
    "poly_square": ("p", "p", "x"),
    "poly_sqrt": ("p", "p", "x"),
    "poly_exp": ("p", "p", "x"),
    "poly_log": ("p", "p", "x"),
    "poly_tanh": ("p", "p", "x"),
    "poly_sigmoid": ("p", "p", "x"),
    "poly_relu": ("p", "p", "x"),
    "poly_gelu": ("p", "p", "x"),
    "poly_leaky_relu": ("p", "pd", "x slope"),
    "poly_elu": ("p", "pd", "x alpha"),
    "poly_celu": ("p", "pd", "x alpha"),
    "poly_hardtanh": ("p", "pdd", "x low high"),
    "poly_softplus": ("p", "pd", "x beta"),
    "poly_polygamma": ("p", "ip", "n x"),
    "poly_cast": ("p", "pi", "x dtype"),
    "poly_bitcast": ("p", "pi", "x dtype"),
    "poly_keccak": ("p", "piii", "x rate suffix nout"),
    "poly_sum": ("p", "pipb", "x naxis axes keepdim"),
    "poly_sum_dtype": ("p", "pipbi", "x naxis axes keepdim dtype"),
    "poly_prod": ("p", "pipb", "x naxis axes keepdim"),
    "poly_max": ("p", "pipb", "x naxis axes keepdim"),
    "poly_min": ("p", "pipb", "x naxis axes keepdim"),
    "poly_extremum_first": ("p", "pipbb", "x naxis axes keepdim smallest"),
    "poly_mean": ("p", "pipb", "x naxis axes keepdim"),
    "poly_var": ("p", "pipbd", "x naxis axes keepdim correction"),
    "poly_std": ("p", "pipbd", "x naxis axes keepdim correction"),
    "poly_norm": ("p", "pipbd", "x naxis axes keepdim p"),
    "poly_any": ("p", "pipb", "x naxis axes keepdim"),
    "poly_all": ("p", "pipb", "x naxis axes keepdim"),
    "poly_logsumexp": ("p", "pipb", "x naxis axes keepdim"),
    "poly_argmax": ("p", "pib", "x axis keepdim"),
    "poly_argmin": ("p", "pib", "x axis keepdim"),
    "poly_softmax": ("p", "pi", "x axis"),
    "poly_log_softmax": ("p", "pi", "x axis"),
    "poly_cumsum": ("p", "pi", "x axis"),
    "poly_cumprod": ("p", "pi", "x axis"),
    "poly_cummax": ("p", "pi", "x axis"),
    "poly_cummin": ("p", "pi", "x axis"),
    "poly_logcumsumexp": ("p", "pi", "x axis"),
    "poly_reshape": ("p", "pip", "x ndim shape"),
    "poly_permute": ("p", "pip", "x ndim order"),
    "poly_transpose": ("p", "pii", "x a b"),
    "poly_expand": ("p", "pip", "x ndim shape"),
    "poly_shrink": ("p", "pp", "x ranges"),
    "poly_pad": ("p", "ppid", "x padding mode value"),
    "poly_flip": ("p", "pip", "x naxis axes"),
    "poly_squeeze": ("p", "pi", "x axis"),
    "poly_unsqueeze": ("p", "pi", "x axis"),
    "poly_flatten": ("p", "pii", "x first last"),
    "poly_unflatten": ("p", "piip", "x axis n sizes"),
    "poly_repeat": ("p", "pip", "x n repeats"),
    "poly_repeat_interleave": ("p", "pli", "x repeats axis"),
    "poly_roll": ("p", "pipp", "x naxis shifts axes"),
    "poly_cat": ("p", "pii", "t n axis"),
    "poly_stack": ("p", "pii", "t n axis"),
    "poly_split": ("i", "pipip", "x n sizes axis out"),
    "poly_chunk": ("i", "piip", "x n axis out"),
    "poly_tril": ("p", "pi", "x diagonal"),
    "poly_triu": ("p", "pi", "x diagonal"),
    "poly_diag": ("p", "p", "x"),
    "poly_diagonal": ("p", "p", "x"),
    "poly_unfold": ("p", "pill", "x axis size step"),
    "poly_meshgrid": ("i", "picp", "t n indexing out"),
    "poly_one_hot": ("p", "pl", "x classes"),
    "poly_getitem": ("p", "pip", "x n index"),
    "poly_setitem": ("i", "pipp", "x n index value"),
    "poly_gather": ("p", "pip", "x axis index"),
    "poly_index_select": ("p", "pip", "x axis index"),
    "poly_scatter": ("p", "pipp", "x axis index src"),
    "poly_scatter_reduce": ("p", "pippsb", "x axis index src reduce include_self"),
    "poly_index_add": ("p", "pipp", "x axis index src"),
    "poly_sort": ("i", "pibpp", "x axis descending values indices"),
    "poly_argsort": ("p", "pib", "x axis descending"),
    "poly_topk": ("i", "plibbpp", "x k axis largest sorted values indices"),
    "poly_kthvalue": ("i", "plipp", "x k axis values indices"),
    "poly_median": ("i", "pibpp", "x axis numbers values indices"),
    "poly_searchsorted": ("p", "ppb", "sorted values right"),
    "poly_bincount": ("p", "pl", "x size"),
    "poly_masked_select": ("p", "pp", "x mask"),
    "poly_nonzero": ("p", "p", "x"),
    "poly_masked_fill": ("p", "ppd", "x mask value"),
    "poly_contiguous": ("p", "p", "x"),
    "poly_clone": ("p", "p", "x"),
    "poly_detach": ("p", "p", "x"),
    "poly_assign": ("i", "pp", "t value"),
    "poly_give": ("i", "pp", "t value"),
    "poly_replace": ("i", "pp", "t other"),
    "poly_matmul": ("p", "pp", "a b"),
    "poly_einsum": ("p", "pspi", "ctx formula t n"),
    "poly_solve": ("p", "pp", "a b"),
    "poly_solve_triangular": ("p", "ppbb", "a b upper unit"),
    "poly_cholesky": ("p", "p", "a"),
    "poly_slogdet": ("i", "pppp", "a det sign size"),
    "poly_lu": ("i", "ppp", "a factors exchanged"),
    "poly_eigh": ("i", "ppp", "a values vectors"),
    "poly_qr": ("i", "ppp", "a q r"),
    "poly_svd": ("i", "pppp", "a u values vt"),
    "poly_linear": ("p", "ppp", "x weight bias"),
    "poly_conv": ("p", "pppippp", "x weight bias groups stride dilation padding"),
    "poly_conv_transpose": ("p", "pppipppp", "x weight bias groups stride dilation padding output_padding"),
    "poly_max_pool": ("p", "pippppb", "x nspatial kernel stride dilation padding ceil_mode"),
    "poly_avg_pool": ("p", "pippppbb", "x nspatial kernel stride dilation padding ceil_mode count_include_pad"),
    "poly_attention": ("p", "ppppbd", "q k v mask causal dropout"),
    "poly_layernorm": ("p", "pid", "x naxis eps"),
    "poly_rmsnorm": ("p", "pd", "x eps"),
    "poly_groupnorm": ("p", "pid", "x groups eps"),
    "poly_batchnorm": ("p", "pppppi", "x weight bias mean invstd axis"),
    "poly_batchnorm_train": ("p", "ppppppddi", "x weight bias mean var count momentum eps axis"),
    "poly_dropout": ("p", "pd", "x p"),
    "poly_cross_entropy": ("p", "ppdlc", "x target label_smoothing ignore_index reduction"),
    "poly_nll_loss": ("p", "ppplc", "x target weight ignore_index reduction"),
    "poly_binary_cross_entropy": ("p", "ppc", "x target reduction"),
    "poly_binary_cross_entropy_logits": ("p", "pppc", "x target pos_weight reduction"),
    "poly_mse_loss": ("p", "ppc", "x target reduction"),
    "poly_l1_loss": ("p", "ppc", "x target reduction"),
    "poly_huber_loss": ("p", "ppdc", "x target delta reduction"),
    "poly_graph_from_coo": ("p", "pppilll", "ctx src dst dtype num_edges num_src num_dst"),
    "poly_graph_from_csr": ("p", "pppill", "ctx rowptr col dtype num_dst num_src"),
    "poly_graph_of": ("p", "pll", "edge_index num_src num_dst"),
    "poly_graph_retain": ("p", "p", "g"),
    "poly_graph_free": ("v", "p", "g"),
    "poly_graph_num_edges": ("l", "p", "g"),
    "poly_graph_num_src": ("l", "p", "g"),
    "poly_graph_num_dst": ("l", "p", "g"),
    "poly_graph_reversed": ("p", "p", "g"),
    "poly_graph_with_self_loops": ("p", "pb", "g only_missing"),
    "poly_graph_with_own_loops": ("p", "p", "g"),
    "poly_graph_without_self_loops": ("p", "p", "g"),
    "poly_graph_undirected": ("p", "p", "g"),
    "poly_graph_coalesced": ("p", "p", "g"),
    "poly_graph_origin": ("p", "p", "g"),
    "poly_graph_src_index": ("p", "p", "g"),
    "poly_graph_dst_index": ("p", "p", "g"),
    "poly_graph_rowptr": ("p", "pc", "g side"),
    "poly_graph_order": ("p", "pc", "g side"),
    "poly_graph_other": ("p", "pc", "g side"),
    "poly_graph_degree": ("p", "pc", "g side"),
    "poly_graph_loops": ("p", "p", "g"),
    "poly_graph_norm": ("p", "pcbi", "g side own_loops dtype"),
    "poly_graph_own": ("p", "pi", "g dtype"),
    "poly_graph_smooth": ("p", "ppcb", "g x side own_loops"),
    "poly_graph_arrays": ("i", "pppi", "g like out max"),
    "poly_graph_src": ("p", "pp", "g x"),
    "poly_graph_dst": ("p", "pp", "g x"),
    "poly_graph_reduce": ("p", "ppsc", "g m op side"),
    "poly_graph_softmax": ("p", "ppc", "g m side"),
    "poly_graph_ppr": ("i", "pplddp", "g targets num_targets alpha eps out"),
    "poly_sampler_new": ("p", "pip", "allocator node_types num_nodes"),
    "poly_sampler_free": ("v", "p", "s"),
    "poly_sampler_add": ("i", "ppi", "s relation threads"),
    "poly_sampler_num_edges": ("l", "pi", "s relation"),
    "poly_sampler_error": ("i", "p", "s"),
    "poly_sampler_error_text": ("s", "p", "s"),
    "poly_sample_new": ("p", "p", "sampler"),
    "poly_sample_free": ("v", "p", "s"),
    "poly_sample_run": ("i", "ppip", "s spec num_seeds seeds"),
    "poly_sample_run_hgt": ("i", "ppip", "s spec num_seeds seeds"),
    "poly_sample_num_nodes": ("l", "pi", "s type"),
    "poly_sample_num_edges": ("l", "pi", "s relation"),
    "poly_sample_hop_nodes": ("l", "pii", "s type hop"),
    "poly_sample_hop_edges": ("l", "pii", "s relation hop"),
    "poly_sample_read": ("i", "pcip", "s what of out"),
    "poly_sample_error": ("i", "p", "s"),
    "poly_sample_error_text": ("s", "p", "s"),
    "poly_draw_below": ("p", "pppLLl", "stream number size seed batch hop"),
    "poly_sampler_walk": ("l", "pipllddLipp", "s relation start n length p q seed threads nodes edges"),
    "poly_gather_rows": ("l", "plzplpi", "from rows row_bytes index n out threads"),
    "poly_graph_partition": ("i", "plbp", "g parts recursive out"),
    "poly_rmat": ("i", "lldddLbip", "num_nodes num_edges a b c seed shuffle threads edge_index"),
    "poly_rmat_edges": ("p", "plldddLb", "ctx num_nodes num_edges a b c seed shuffle"),
    "poly_knn": ("p", "ppppllbb", "x y ptr_x ptr_y groups k cosine skip_same"),
    "poly_radius": ("p", "ppppldlb", "x y ptr_x ptr_y groups r most skip_same"),
    "poly_fps": ("p", "ppldp", "x ptr groups ratio start"),
    "poly_graph_match": ("p", "ppL", "g weight seed"),
    "poly_graph_contract": ("p", "ppp", "g score chosen"),
    "poly_graph_product": ("p", "ppp", "a b paths"),
    "poly_graph_product_values": ("p", "ppppp", "a x b y values"),
    "poly_reduce_runs": ("p", "pplc", "x begin n op"),
    "poly_sort_edges": ("i", "plbbppp", "edge_index nodes by_row merge sorted order begin"),
    "poly_filter_edges": ("i", "ppppcpp", "edge_index mask src dst loops kept stays"),
    "poly_top_rows": ("p", "ppp", "score group keep"),
    "poly_compress": ("p", "ppi", "x mask axis"),
    "poly_random_mask": ("p", "pldL", "ctx n p seed"),
    "poly_zoom_in": ("p", "p", "g"),
    "poly_zoom_out": ("p", "pp", "v x"),
    "poly_zoom_out_many": ("i", "ppip", "v x n out"),
    "poly_innbs": ("p", "p", "v"),
    "poly_outnbs": ("p", "p", "v"),
    "poly_nbs": ("p", "ppc", "v relation side"),
    "poly_self": ("p", "pp", "v x"),
    "poly_nb": ("p", "pp", "n x"),
    "poly_edge": ("p", "pp", "n x"),
    "poly_nb_reduce": ("p", "pps", "n x op"),
    "poly_nb_sum": ("p", "pp", "n x"),
    "poly_nb_mean": ("p", "pp", "n x"),
    "poly_nb_max": ("p", "pp", "n x"),
    "poly_nb_min": ("p", "pp", "n x"),
    "poly_nb_softmax": ("p", "pp", "n x"),
    "poly_nb_count": ("p", "p", "n"),
    "poly_nb_edges": ("p", "pp", "n x"),
    "poly_set_requires_grad": ("i", "pb", "t on"),
    "poly_requires_grad": ("b", "p", "t"),
    "poly_grad": ("i", "pppip", "root gradient targets n out"),
    "poly_function": ("p", "ppip", "value inputs n function"),
    "poly_depends_on": ("b", "pp", "root target"),
    "poly_depends_on_leaves": ("b", "p", "root"),
    "poly_check_cycles": ("b", "p", "ctx"),
    "poly_backward": ("i", "pp", "root gradient"),
    "poly_backward_all": ("i", "pp", "root gradient"),
    "poly_backward_until": ("i", "pppip", "root gradient stops n out"),
    "poly_get_grad": ("p", "p", "t"),
    "poly_set_grad": ("i", "pp", "t grad"),
    "poly_sgd": ("p", "pidddb", "params n lr momentum weight_decay nesterov"),
    "poly_adam": ("p", "piddddd", "params n lr beta1 beta2 eps weight_decay"),
    "poly_adamw": ("p", "piddddd", "params n lr beta1 beta2 eps weight_decay"),
    "poly_rmsprop": ("p", "piddddd", "params n lr alpha eps weight_decay momentum"),
    "poly_lamb": ("p", "piddddd", "params n lr beta1 beta2 eps weight_decay"),
    "poly_optim_new": ("p", "spidp", "kind params n lr options"),
    "poly_optim_set": ("i", "pp", "o options"),
    "poly_optim_free": ("v", "p", "o"),
    "poly_optim_zero_grad": ("v", "p", "o"),
    "poly_optim_step": ("i", "p", "o"),
    "poly_optim_schedule": ("i", "p", "o"),
    "poly_optim_step_if": ("i", "pp", "o condition"),
    "poly_optim_schedule_if": ("i", "pp", "o condition"),
    "poly_optim_set_lr": ("i", "pd", "o lr"),
    "poly_optim_lr": ("d", "p", "o"),
    "poly_optim_state": ("i", "ppi", "o out max"),
    "poly_scan": ("i", "pppipilipp", "ctx body init ncarry xs nx length flags last stacked"),
    "poly_settle": ("i", "p", "ctx"),
    "poly_trace_begin": ("i", "p", "ctx"),
    "poly_trace_end": ("v", "p", "ctx"),
    "poly_trace_input": ("p", "p", "t"),
    "poly_trace_reads": ("i", "p", "t"),
    "poly_step_new": ("p", "pipipi", "inputs ninput outputs noutput state nstate"),
    "poly_step_run": ("i", "ppi", "s inputs ninput"),
    "poly_step_bind": ("i", "pll", "s traced now"),
    "poly_step_output": ("p", "pi", "s k"),
    "poly_step_kernels": ("i", "p", "s"),
    "poly_step_intermediates": ("i", "p", "s"),
    "poly_step_peak_bytes": ("l", "p", "s"),
    "poly_step_trim": ("v", "p", "s"),
    "poly_step_free": ("v", "p", "s"),
    "poly_safe_save": ("i", "psppi", "ctx path names t n"),
    "poly_safe_save_with": ("i", "psppipi", "ctx path names t n meta nmeta"),
    "poly_safe_open": ("p", "ps", "ctx path"),
    "poly_safe_count": ("i", "p", "f"),
    "poly_safe_name": ("s", "pi", "f k"),
    "poly_safe_get": ("p", "pi", "f k"),
    "poly_safe_close": ("v", "p", "f"),
    "poly_profile_begin": ("i", "p", "ctx"),
    "poly_profile_end": ("i", "p", "ctx"),
    "poly_profile_kernels": ("i", "p", "ctx"),
    "poly_profile_kernel": ("i", "pip", "ctx k out"),
    "poly_profile_stored": ("i", "p", "ctx"),
    "poly_profile_stored_at": ("i", "pip", "ctx k out"),
    "poly_profile_peak_bytes": ("l", "p", "ctx"),
    "poly_counters": ("i", "pp", "ctx out"),
    "poly_source": ("p", "p", "t"),
    "poly_dump": ("p", "p", "t"),
    "poly_explain": ("p", "p", "t"),
    "poly_text_free": ("v", "pp", "ctx text"),
    "poly_compilations": ("l", "p", "ctx"),
    "poly_plans_built": ("l", "p", "ctx"),
    "poly_plans_reused": ("l", "p", "ctx"),
    "poly_steps_recalled": ("l", "p", "ctx"),
    "poly_cache_dir": ("s", "p", "ctx"),
    "poly_cache_entries": ("l", "p", "ctx"),
    "poly_cache_bytes": ("l", "p", "ctx"),
    "poly_cache_limit": ("l", "p", "ctx"),
    "poly_cache_clear": ("i", "p", "ctx"),
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
    "PolyFunction": [
        ("backward", "p"),
        ("release", "p"),
        ("user", "p"),
    ],
    "PolyOptimOptions": [
        ("momentum", "d"),
        ("dampening", "d"),
        ("beta1", "d"),
        ("beta2", "d"),
        ("eps", "d"),
        ("weight_decay", "d"),
        ("lr_decay", "d"),
        ("initial", "d"),
        ("momentum_decay", "d"),
        ("lambd", "d"),
        ("alpha", "d"),
        ("t0", "d"),
        ("grow", "d"),
        ("shrink", "d"),
        ("low", "d"),
        ("high", "d"),
        ("trust", "d"),
        ("ns", "d3"),
        ("ns_steps", "i"),
        ("nesterov", "b"),
        ("classic", "b"),
        ("decoupled", "b"),
        ("amsgrad", "b"),
        ("centered", "b"),
        ("maximize", "b"),
    ],
    "PolyScanBody": [
        ("step", "p"),
        ("user", "p"),
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
POLY_FP8E4M3 = 9
POLY_FP8E5M2 = 10
POLY_FLOAT16 = 11
POLY_BFLOAT16 = 12
POLY_FLOAT32 = 13
POLY_FLOAT64 = 14
POLY_DTYPE_COUNT = 15
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
POLY_ATAN2 = 22
POLY_HYPOT = 23
POLY_GCD = 24
POLY_LCM = 25
POLY_COPYSIGN = 26
POLY_BINARY_COUNT = 27
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
POLY_LGAMMA = 48
POLY_DIGAMMA = 49
POLY_ERFINV = 50
POLY_GELU_ERF = 51
POLY_UNARY_COUNT = 52
POLY_PAD_CONSTANT = 0
POLY_PAD_REFLECT = 1
POLY_PAD_REPLICATE = 2
POLY_PAD_CIRCULAR = 3
POLY_ALL_AXES = 1000
