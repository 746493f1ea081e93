"""Columns of tables made ready for networks: scaled, spread evenly by their ranks, filled where they are missing, one-hot.

Each function fits on some rows and gives what transforms all: the results are those of scikit-learn's preprocessing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...tensor import Tensor

Fit = Callable[[np.ndarray], np.ndarray]
_EDGE = 1e-7  # how far ranks stay away from 0 and 1, where the normal distribution has no quantile
_QUANTILES = 1000


def _check_finite(x: np.ndarray) -> None:
    if np.isinf(x).any():
        raise ValueError("columns with infinite values cannot be scaled")


def standard_scaler(x: np.ndarray) -> Fit:
    """Mean 0 and variance 1."""
    _check_finite(x)
    mean, scale = np.nanmean(x, axis=0, dtype=np.float64), np.nanstd(x, axis=0, dtype=np.float64)
    scale = np.where(scale == 0, 1, scale)
    return lambda v: (v - mean) / scale


def min_max_scaler(x: np.ndarray) -> Fit:
    """From 0 to 1."""
    _check_finite(x)
    low, high = np.nanmin(x, axis=0).astype(np.float64), np.nanmax(x, axis=0).astype(np.float64)
    scale = np.where(high == low, 1, high - low)
    return lambda v: (v - low) / scale


def _ranks(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    at = np.linspace(0, 1, min(_QUANTILES, len(x)))
    return at, np.maximum.accumulate(np.nanpercentile(x, at * 100, axis=0), axis=0)


def quantile_transform_uniform(x: np.ndarray) -> Fit:
    """Evenly spread from 0 to 1 by rank."""
    at, quantiles = _ranks(x)
    return lambda v: np.stack([_spread(v[:, k], quantiles[:, k], at, 0.0) for k in range(v.shape[1])], axis=1)


def quantile_transform_normal(x: np.ndarray) -> Fit:
    """Normally distributed, by rank."""
    at, quantiles = _ranks(x)

    def transform(v: np.ndarray) -> np.ndarray:
        p = np.stack([_spread(v[:, k], quantiles[:, k], at, _EDGE) for k in range(v.shape[1])], axis=1)
        edge = _EDGE - np.spacing(1)
        return np.sqrt(2) * Tensor(2 * np.clip(p, edge, 1 - edge) - 1).erfinv().numpy()

    return transform


def _spread(v: np.ndarray, quantiles: np.ndarray, at: np.ndarray, edge: float) -> np.ndarray:
    """The rank of each value: the mean of its first and its last place among equal quantiles."""
    v = v.astype(np.float64)
    low = v - edge < quantiles[0] if edge else v == quantiles[0]
    high = v + edge > quantiles[-1] if edge else v == quantiles[-1]
    with np.errstate(invalid="ignore"):
        out = np.where(np.isnan(v), np.nan, 0.5 * (np.interp(v, quantiles, at) - np.interp(-v, -quantiles[::-1], -at[::-1])))
    return np.where(low, 0.0, np.where(high, 1.0, out))


def filled(x: np.ndarray, strategy: str) -> Fit:
    """What is missing becomes the "most_frequent" value (the least of several), the "mean" or the "median" of its column."""
    if strategy == "most_frequent":
        value = np.zeros(x.shape[1])
        for k in range(x.shape[1]):
            kinds, count = np.unique(x[~np.isnan(x[:, k]), k], return_counts=True)
            value[k] = kinds[np.argmax(count)] if kinds.size else 0
    elif strategy in ("mean", "median"):
        value = (np.nanmean if strategy == "mean" else np.nanmedian)(x, axis=0)
    else:
        raise ValueError(f"the strategy for missing values must be most_frequent, mean or median, not {strategy!r}")
    return lambda v: np.where(np.isnan(v), value, v)


def one_hot_encoding(x: np.ndarray) -> Fit:
    """A column for each value of each column, or a single one where there are two values; values that were not seen have zeros."""
    kinds = [np.unique(x[:, k]) for k in range(x.shape[1])]

    def transform(v: np.ndarray) -> np.ndarray:
        parts = [(v[:, k, None] == (own[1:] if own.size == 2 else own)[None]).astype(np.float32) for k, own in enumerate(kinds)]
        return np.concatenate(parts, axis=1)

    return transform


SCALERS: dict[str, Callable[[np.ndarray], Fit]] = {
    f.__name__: f for f in (standard_scaler, min_max_scaler, quantile_transform_normal, quantile_transform_uniform)
}

__all__ = ["SCALERS", "filled", "min_max_scaler", "one_hot_encoding", "quantile_transform_normal", "quantile_transform_uniform", "standard_scaler"]
