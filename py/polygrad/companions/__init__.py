"""Packages that PyTorch Geometric scripts import beside PyTorch, with their names on the tensors of `polygrad.torch`: `torch_scatter`,
`torch_sparse`, `torch_cluster`, and the parts of `ogb` and `torchmetrics` that such scripts use. `polygrad port` puts them in their place.
"""
