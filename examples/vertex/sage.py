"""GraphSAGE (Hamilton et al. 2017) with the mean and with the largest of each feature.

h'_v = W_self h_v + W_nbr mean_n h_n          h'_v = W_self h_v + W_nbr max_n relu(W_pool h_n + b)
"""

from polygrad.vertex import mean, vertex_program


@vertex_program
def sage_mean(v, w_self, w_nbr):
    return v.h @ w_self + mean([n.h for n in v.innbs]) @ w_nbr


@vertex_program
def sage_max(v, w_self, w_nbr, w_pool, b_pool):
    return v.h @ w_self + max([(n.h @ w_pool + b_pool).relu() for n in v.innbs]) @ w_nbr
