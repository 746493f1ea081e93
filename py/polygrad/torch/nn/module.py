"""torch.nn.Module and its containers: those of polygrad.nn, whose parameters are PyTorch's tensors."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

from ... import nn as _nn
from .._surface import lift

Module = lift(_nn.Module, "polygrad.torch.nn")
ModuleList = lift(_nn.ModuleList, "polygrad.torch.nn")
Sequential = lift(_nn.Sequential, "polygrad.torch.nn")
ModuleDict = lift(_nn.ModuleDict, "polygrad.torch.nn")
ParameterDict = lift(_nn.ParameterDict, "polygrad.torch.nn")
ParameterList = lift(_nn.ParameterList, "polygrad.torch.nn")

__all__ = ["Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
