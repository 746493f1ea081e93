"""torch.testing: comparison of tensors that says where they differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Tensor as Plain

# Relative and absolute tolerance by dtype, PyTorch's.
_TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}


def assert_close(
    actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None, atol: float | None = None, equal_nan: bool = False,
    check_device: bool = True, check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False, msg: Any = None,
) -> None:  # fmt: skip
    """Raises AssertionError unless both have the same shape, dtype and, within tolerances, values; lists and dicts element by element.

    >>> import polygrad.torch as torch
    >>> torch.testing.assert_close(torch.ones(2), torch.ones(2) + 1e-7)
    """
    options: dict[str, Any] = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan, "check_dtype": check_dtype, "msg": msg}
    if isinstance(actual, dict):
        if set(actual) != set(expected):
            raise AssertionError(f"The keys of the mappings do not match: {sorted(actual)} and {sorted(expected)}")
        for key in actual:
            assert_close(actual[key], expected[key], **options)
        return
    if isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple)):
        if len(actual) != len(expected):
            raise AssertionError(f"The length of the sequences do not match: {len(actual)} != {len(expected)}")
        for a, b in zip(actual, expected):
            assert_close(a, b, **options)
        return
    if check_dtype and isinstance(actual, Plain) and isinstance(expected, Plain) and actual.dtype != expected.dtype:
        raise AssertionError(f"The values for attribute 'dtype' do not match: {actual.dtype} != {expected.dtype}.")
    wide = next((_TOLERANCES.get(v.dtype.name, (0.0, 0.0)) for v in (actual, expected) if isinstance(v, Plain)), (1e-7, 1e-7))
    a, b = (v.detach().numpy() if isinstance(v, Plain) else np.asarray(v) for v in (actual, expected))
    if a.shape != b.shape:
        raise AssertionError(f"The values for attribute 'shape' do not match: {a.shape} != {b.shape}.")
    np.testing.assert_allclose(a, b, wide[0] if rtol is None else rtol, wide[1] if atol is None else atol, equal_nan, err_msg=msg or "")


__all__ = ["assert_close"]
