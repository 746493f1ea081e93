"""Modules of torch_geometric.nn that wrap others: for all types of nodes or edges at once, with a fixed number of graphs, by name, on a hub."""

# mypy: disable-error-code="misc, override, no-untyped-call, attr-defined, import-not-found, import-untyped"

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any, cast

from .. import torch
from ..geometric.nn.module_dict import _TAKEN, to_internal_key
from ..torch import nn as _nn

Module: Any = _nn.Module


class ToHeteroLinear(Module):
    """A linear map for each type, of the sizes of the one that is given; x by type, or in one matrix sorted by type with the types beside it.

    >>> import polygrad.torch as torch
    >>> from polygrad.torch_geometric.nn import Linear
    >>> from polygrad.torch_geometric.nn.to_hetero_module import ToHeteroLinear
    >>> out = ToHeteroLinear(Linear(4, 2), ["a", "b"])({"a": torch.ones(3, 4), "b": torch.ones(1, 4)})
    >>> {k: tuple(v.size()) for k, v in out.items()}
    {'a': (3, 2), 'b': (1, 2)}
    """

    def __init__(self, module: Any, types: list[Any]):
        from .nn import HeteroLinear, Linear

        super().__init__()
        if not isinstance(module, (Linear, _nn.Linear)):
            raise ValueError(f"Expected 'Linear' module (got '{type(module)}')")
        module = cast(Any, module)
        sizes = (module.in_channels, module.out_channels) if hasattr(module, "in_channels") else (module.in_features, module.out_features)
        self.types = types
        self.hetero_module = HeteroLinear(*sizes, num_types=len(types), is_sorted=True, bias=module.bias is not None)

    def forward(self, x: Any, type_vec: Any = None) -> Any:
        if isinstance(x, dict):
            sizes = [x[key].size(0) for key in self.types]
            which = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
            rows = self.hetero_module(torch.cat([x[key] for key in self.types], dim=0), which)
            return dict(zip(self.types, rows.split(sizes)))
        if type_vec is None:
            raise ValueError(f"{type(self).__name__} takes x by type, or x with the type of each row")
        return self.hetero_module(x, type_vec)


class ToHeteroMessagePassing(Module):
    """A layer for each type of edges, copies of one with parameters of their own; x and edges by type, or in one with their types beside them."""

    def __init__(self, module: Any, node_types: list[str], edge_types: list[Any], aggr: str = "sum"):
        from .nn import HeteroConv, MessagePassing

        super().__init__()
        if not isinstance(module, MessagePassing):
            raise ValueError(f"Expected 'MessagePassing' module (got '{type(module)}')")
        self.node_types, self.edge_types = node_types, edge_types
        self.hetero_module = HeteroConv({e: copy.deepcopy(module) for e in edge_types}, aggr)
        self.hetero_module.reset_parameters()

    def forward(self, x: Any, edge_index: Any, node_type: Any = None, edge_type: Any = None, **kwargs: Any) -> Any:
        if isinstance(x, dict) and isinstance(edge_index, dict):
            return self.hetero_module(x, edge_index, **kwargs)
        if node_type is None or edge_type is None:
            raise ValueError(f"{type(self).__name__} takes x and edge_index by type, or both with the types of nodes and edges")
        if kwargs:
            raise ValueError("further arguments are taken by type only")
        sizes = torch.bincount(node_type, minlength=len(self.node_types)).tolist()
        counts = torch.bincount(edge_type, minlength=len(self.edge_types)).tolist()
        first = {key: sum(sizes[:k]) for k, key in enumerate(self.node_types)}
        xs = dict(zip(self.node_types, x.split(sizes)))
        edges = {
            key: part - torch.tensor([[first[key[0]]], [first[key[-1]]]], dtype=part.dtype)
            for key, part in zip(self.edge_types, edge_index.split(counts, dim=1))
        }
        out = self.hetero_module(xs, edges)
        return torch.cat([out[key] for key in self.node_types], dim=0)


def to_fixed_size(module: Any, batch_size: int, debug: bool = False) -> Any:
    """The model, whose aggregations give rows for batch_size graphs, however many of them there are.

    >>> import polygrad.torch as torch
    >>> from polygrad.torch_geometric.nn import SumAggregation, to_fixed_size
    >>> model = to_fixed_size(torch.nn.Sequential(SumAggregation()), 4)
    >>> model[0](torch.ones(3, 2), torch.tensor([0, 0, 1])).size()
    torch.Size([4, 2])
    """
    from .nn import MessagePassing
    from .nn.aggr import Aggregation

    module = copy.deepcopy(module)
    inside = {id(m) for layer in module.modules() if isinstance(layer, MessagePassing) for m in layer.modules()}
    for part in module.modules():
        if isinstance(part, Aggregation) and id(part) not in inside:
            part.register_forward_pre_hook(_with_size(batch_size), with_kwargs=True)
    return module


def _with_size(n: int) -> Callable[..., Any]:
    def hook(module: Any, args: Any, kwargs: Any) -> Any:
        return args, {**kwargs, "dim_size": n}

    return hook


class ParameterDict(_nn.ParameterDict):
    """Parameters by name, where a name may have dots in it or be the type of an edge.

    >>> import polygrad.torch as torch
    >>> from polygrad.torch_geometric.nn.parameter_dict import ParameterDict
    >>> ParameterDict({("a", "b"): torch.nn.Parameter(torch.ones(2))}).keys()
    [('a', 'b')]
    """

    def update(self, parameters: Any) -> None:
        """Adds the parameters of a dict, or of pairs."""
        pairs = parameters.items() if hasattr(parameters, "items") else parameters
        super().update({to_internal_key(key): value for key, value in pairs})

    @classmethod
    def to_internal_key(cls, key: Any) -> str:
        """The name in a state dict."""
        return to_internal_key(key)

    @classmethod
    def to_external_key(cls, key: str) -> Any:
        """The key of a name in a state dict."""
        key = key.replace("#", ".")
        inner = key[1:-1] if key[:1] == "<" and key[-1:] == ">" else None
        if inner in _TAKEN:
            return inner
        return tuple(inner.split("___")) if inner is not None and "___" in inner else key

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(to_internal_key(key))

    def __setitem__(self, key: Any, parameter: Any) -> None:
        super().__setitem__(to_internal_key(key), parameter)

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(to_internal_key(key))

    def __contains__(self, key: Any) -> bool:
        return super().__contains__(to_internal_key(key))

    def keys(self) -> Any:
        return [self.to_external_key(key) for key in super().keys()]

    def items(self) -> Any:
        return [(self.to_external_key(key), value) for key, value in super().items()]


class DataParallel(Module):
    """A model that takes a list of graphs, as one batch: there is one device, which has all threads.

    >>> import polygrad.torch as torch
    >>> from polygrad.torch_geometric.data import Data
    >>> from polygrad.torch_geometric.nn import DataParallel, Linear
    >>> class Model(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.lin = Linear(2, 3)
    ...     def forward(self, data):
    ...         return self.lin(data.x)
    >>> DataParallel(Model())([Data(x=torch.ones(2, 2)), Data(x=torch.ones(1, 2))]).size()
    torch.Size([3, 3])
    """

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, follow_batch: Any = None, exclude_keys: Any = None):
        super().__init__()
        self.module, self.follow_batch, self.exclude_keys = module, follow_batch or [], exclude_keys or []

    def forward(self, data_list: list[Any]) -> Any:
        """The model's output for all graphs."""
        from .data import Batch

        return self.module(Batch.from_data_list(list(data_list), self.follow_batch, self.exclude_keys))


class PyGModelHubMixin:
    """Saves and loads a model with its settings in a folder; models on Hugging Face's hub are fetched and sent by the package huggingface_hub."""

    def __init__(self, model_name: str, dataset_name: str, model_kwargs: dict[str, Any]):
        self.model_config = {k: v for k, v in model_kwargs.items() if isinstance(v, (str, int, float, bool, list, dict, type(None)))}
        self.model_name, self.dataset_name = model_name, dataset_name

    def construct_model_card(self, model_name: str, dataset_name: str) -> str:
        """The text of a page about the model."""
        lines = (
            "---",
            "library_name: polygrad",
            "tags:",
            "- graph-machine-learning",
            "---",
            "",
            f"# {model_name}",
            "",
            f"Trained on {dataset_name}.",
            "",
        )
        return "\n".join(lines)

    def _save_pretrained(self, save_directory: Any) -> None:
        torch.save(self.state_dict(), os.path.join(save_directory, "model.pth"))

    def save_pretrained(
        self, save_directory: Any, push_to_hub: bool = False, repo_id: str | None = None, config: dict[str, Any] | None = None, **kwargs: Any
    ) -> Any:
        """Writes weights, settings and a page into a folder; with push_to_hub also to the hub."""
        import json

        os.makedirs(save_directory, exist_ok=True)
        config = self.model_config if config is None else config
        self._save_pretrained(save_directory)
        with open(os.path.join(save_directory, "config.json"), "w") as out:
            json.dump(config, out)
        with open(os.path.join(save_directory, "README.md"), "w") as out:
            out.write(str(self.construct_model_card(self.model_name, self.dataset_name)))
        if push_to_hub:
            return self.push_to_hub(repo_id=repo_id or os.path.basename(str(save_directory)), config=config, **kwargs)
        return None

    def push_to_hub(self, repo_id: str, config: Any = None, **kwargs: Any) -> Any:
        """Sends the folder to the hub."""
        import tempfile

        from huggingface_hub import HfApi

        with tempfile.TemporaryDirectory() as folder:
            self.save_pretrained(folder, config=config)
            return HfApi().upload_folder(repo_id=repo_id, folder_path=folder, **kwargs)

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: str, dataset_name: str = "", model_name: str = "", **kwargs: Any) -> Any:
        """A model out of a folder, or of a repository on the hub."""
        import json

        folder = str(pretrained_model_name_or_path)
        if not os.path.isdir(folder):
            from huggingface_hub import snapshot_download

            folder = snapshot_download(folder)
        with open(os.path.join(folder, "config.json")) as source:
            config = json.load(source)
        model: Any = cls(model_name, dataset_name, {**config, **kwargs})
        model.load_state_dict(torch.load(os.path.join(folder, "model.pth")))
        return model.eval()


__all__ = ["DataParallel", "ParameterDict", "PyGModelHubMixin", "ToHeteroLinear", "ToHeteroMessagePassing", "to_fixed_size"]
