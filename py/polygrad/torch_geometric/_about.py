"""Names of torch_geometric that are about PyTorch's compiler, its export and its devices."""

from __future__ import annotations

from typing import Any


def compile(model: Any = None, *args: Any, **kwargs: Any) -> Any:  # noqa: A001
    """torch.compile."""
    from .. import torch

    return torch.compile(model, *args, **kwargs)


def is_compiling() -> bool:
    """Is this called while torch.compile reads a model? It never is: programs are compiled from what they compute."""
    return False


def is_in_onnx_export() -> bool:
    """No."""
    return False


def safe_onnx_export(*args: Any, **kwargs: Any) -> bool:
    """Models are not exported."""
    raise NotImplementedError("models are not exported to ONNX")


def device(device: Any) -> Any:
    """A torch.device by name; 'auto' is the one that tensors are computed on.

    >>> import polygrad.torch as torch
    >>> from polygrad.torch_geometric import device
    >>> device("auto") == torch.zeros(1).device, device("cpu").type
    (True, 'cpu')
    """
    from .. import torch

    return torch.zeros(1).device if device == "auto" else torch.device(device)


def is_mps_available() -> bool:
    """No."""
    return False


def is_xpu_available() -> bool:
    """No."""
    return False


__all__ = ["compile", "device", "is_compiling", "is_in_onnx_export", "is_mps_available", "is_xpu_available", "safe_onnx_export"]
