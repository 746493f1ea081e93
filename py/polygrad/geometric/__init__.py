"""Learning on graphs: the data, layers, datasets and loaders of PyTorch Geometric, under the same names.

>>> from polygrad import Tensor
>>> from polygrad.geometric.nn import GCNConv
>>> GCNConv(2, 3)(Tensor.ones(4, 2), Tensor([[0, 1], [1, 2]])).shape
(4, 3)
"""

from ._lazy import lazy
from ._paths import install

_TABLE = {
    "data": [], "datasets": [], "explain": [], "io": [], "loader": [], "metrics": [], "nn": [], "profile": [], "sampler": [], "transforms": [],
    "typing": [], "utils": [], "logging": [], "place": ["device"], "seed": ["seed_everything"], "sparse_tensor": ["SparseTensor"],
    "edge_index": ["EdgeIndex", "Index"], "home": ["get_home_dir", "set_home_dir"], "_debug": ["debug", "is_debug_enabled", "set_debug"],
}  # fmt: skip

__getattr__, __dir__, __all__ = lazy(__name__, _TABLE)  # type: ignore[arg-type]
install(__name__)
