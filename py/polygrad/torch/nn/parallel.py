"""torch.nn.parallel on one device: a wrapper calls its module, which is what PyTorch's does where there is one device, or one process."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, no-untyped-call"

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .module import Module


class DataParallel(Module):
    """A model whose batches are computed by the one device; `module` is the model, and names in the state dict begin with it.

    >>> import polygrad.torch as torch
    >>> model = torch.nn.DataParallel(torch.nn.Linear(2, 3))
    >>> model(torch.ones(4, 2)).size(), sorted(model.state_dict())
    (torch.Size([4, 3]), ['module.bias', 'module.weight'])
    """

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0):
        super().__init__()
        self.module, self.dim = module, dim
        self.device_ids = list(device_ids) if device_ids is not None else []

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        return self.module(*args, **kwargs)


class DistributedDataParallel(Module):
    """A model of the one process of its group; torch.distributed.init_process_group must have been called."""

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0, **settings: Any):
        from .. import distributed

        distributed.get_rank()
        super().__init__()
        self.module, self.device_ids, self.static_graph = module, device_ids, bool(settings.get("static_graph"))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        return self.module(*args, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Gradients are added up without being sent, as they are in any case."""
        yield


def data_parallel(module: Any, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0, module_kwargs: Any = None) -> Any:
    """What the module gives for the inputs."""
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))


__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
