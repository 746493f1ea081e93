"""Modules by name, where a name may be the type of an edge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from ...nn import Module

Key = Any  # a string, or a tuple of strings

# A module under one of these names would hide a method in PyTorch; in a state dict it is called <name>.
_TAKEN = frozenset(
    """
    T_destination add_module apply bfloat16 buffers call_super_init children clear compile cpu cuda double dump_patches eval extra_repr
    float forward get_buffer get_extra_state get_parameter get_submodule half ipu items keys load_state_dict modules mtia named_buffers
    named_children named_modules named_parameters parameters pop register_backward_hook register_buffer register_forward_hook
    register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook register_load_state_dict_post_hook
    register_load_state_dict_pre_hook register_module register_parameter register_state_dict_post_hook register_state_dict_pre_hook
    requires_grad_ set_extra_state set_submodule share_memory state_dict to to_empty train type update values xpu zero_grad
    """.split()
)


def to_internal_key(key: Key) -> str:
    """The name in a state dict.

    >>> from polygrad.geometric.nn.module_dict import to_internal_key
    >>> to_internal_key(("author", "writes", "paper")), to_internal_key("a.b")
    ('<author___writes___paper>', 'a#b')
    """
    if isinstance(key, tuple):
        if len(key) < 2:
            raise ValueError(f"a key that is a tuple needs two entries or more, got {key!r}")
        key = f"<{'___'.join(key)}>"
    if not isinstance(key, str):
        raise TypeError(f"a key is a string or a tuple of strings, not {type(key).__name__}")
    return (f"<{key}>" if key in _TAKEN else key).replace(".", "#")


class ModuleDict(Module, MutableMapping):
    """Modules (or tensors) by key; the state dict has PyG's names for keys that are tuples.

    >>> from polygrad import nn
    >>> from polygrad.geometric.nn.module_dict import ModuleDict
    >>> sorted(ModuleDict({("a", "to", "b"): nn.Linear(1, 2)}).state_dict())
    ['<a___to___b>.bias', '<a___to___b>.weight']
    """

    def __init__(self, modules: Mapping[Key, Any] | None = None):
        self._of: dict[Key, Any] = {}
        for key, module in (modules or {}).items():
            self[key] = module

    def _state_items(self) -> dict[str, Any]:
        return {to_internal_key(key): module for key, module in self._of.items()}

    def __setitem__(self, key: Key, module: Any) -> None:
        to_internal_key(key)  # which says what a key may be
        self._of[key] = module

    def __delitem__(self, key: Key) -> None:
        del self._of[key]

    def __getitem__(self, key: Key) -> Any:
        return self._of[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)

    def __bool__(self) -> bool:
        return True


__all__ = ["ModuleDict", "to_internal_key"]
