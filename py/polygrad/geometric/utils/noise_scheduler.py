"""Levels of noise for models that are trained to remove it."""

from __future__ import annotations

import math
from typing import Any

from ...tensor import Tensor


def _line(start: float, end: float, steps: int, dtype: Any) -> Tensor:
    out = Tensor.linspace(start, end, steps)
    return out if dtype is None else out.cast(dtype)


def get_smld_sigma_schedule(sigma_min: float, sigma_max: float, num_scales: int, dtype: Any = None, device: Any = None) -> Tensor:
    """num_scales values from sigma_max to sigma_min whose logarithms are evenly spaced (score matching with Langevin dynamics).

    >>> from polygrad.geometric.utils.noise_scheduler import get_smld_sigma_schedule
    >>> [round(v, 4) for v in get_smld_sigma_schedule(0.01, 1.0, 3).tolist()]
    [1.0, 0.1, 0.01]
    """
    return _line(math.log(sigma_max), math.log(sigma_min), num_scales, dtype).exp()


def get_diffusion_beta_schedule(
    schedule_type: str, beta_start: float, beta_end: float, num_diffusion_timesteps: int, dtype: Any = None, device: Any = None
) -> Tensor:
    """The variances beta_t that a diffusion adds at each step, from beta_start to beta_end: 'linear', 'quadratic' (their roots are evenly spaced),
    'constant' (beta_end), or 'sigmoid' (of -6 to 6)."""
    n = num_diffusion_timesteps
    if schedule_type == "linear":
        return _line(beta_start, beta_end, n, dtype)
    if schedule_type == "quadratic":
        return _line(beta_start**0.5, beta_end**0.5, n, dtype).square()
    if schedule_type == "constant":
        return _line(beta_end, beta_end, n, dtype)
    if schedule_type == "sigmoid":
        return _line(-6, 6, n, dtype).sigmoid() * (beta_end - beta_start) + beta_start
    raise ValueError(f"Found invalid 'schedule_type' (got '{schedule_type}')")


__all__ = ["get_diffusion_beta_schedule", "get_smld_sigma_schedule"]
