"""torch.distributions.constraints: which values a parameter or a sample can have."""

from __future__ import annotations

from typing import Any, Callable


class Constraint:
    """check(values) says where values are allowed."""

    is_discrete = False
    event_dim = 0

    def __init__(self, name: str, holds: Callable[[Any], Any], discrete: bool = False, event_dim: int = 0):
        self.name, self.is_discrete, self.event_dim, self._holds = name, discrete, event_dim, holds

    def check(self, value: Any) -> Any:
        """True where the constraint holds."""
        return self._holds(value)

    def __repr__(self) -> str:
        return f"{self.name}()"


def _sums_to_one(x: Any) -> Any:
    return (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6)


real = Constraint("Real", lambda x: x == x)
real_vector = Constraint("RealVector", lambda x: (x == x).all(-1), event_dim=1)
positive = Constraint("GreaterThan(lower_bound=0.0)", lambda x: x > 0)
nonnegative = Constraint("GreaterThanEq(lower_bound=0.0)", lambda x: x >= 0)
unit_interval = Constraint("Interval(lower_bound=0.0, upper_bound=1.0)", lambda x: (x >= 0) & (x <= 1))
boolean = Constraint("Boolean", lambda x: (x == 0) | (x == 1), True)
nonnegative_integer = Constraint("IntegerGreaterThan(lower_bound=0)", lambda x: (x % 1 == 0) & (x >= 0), True)
simplex = Constraint("Simplex", _sums_to_one, event_dim=1)
one_hot = Constraint("OneHot", lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1), True, 1)
lower_cholesky = Constraint("LowerCholesky", lambda x: (x.tril() == x).all(-1).all(-1) & (x.diagonal(dim1=-2, dim2=-1) > 0).all(-1), event_dim=2)


def interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Between two bounds."""
    return Constraint(f"Interval(lower_bound={lower_bound}, upper_bound={upper_bound})", lambda x: (x >= lower_bound) & (x <= upper_bound))


def integer_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Whole numbers between two bounds."""
    name = f"IntegerInterval(lower_bound={lower_bound}, upper_bound={upper_bound})"
    return Constraint(name, lambda x: (x % 1 == 0) & (x >= lower_bound) & (x <= upper_bound), True)


def greater_than(lower_bound: Any) -> Constraint:
    """Above a bound."""
    return Constraint(f"GreaterThan(lower_bound={lower_bound})", lambda x: x > lower_bound)


__all__ = [
    "Constraint", "boolean", "greater_than", "integer_interval", "interval", "lower_cholesky", "nonnegative", "nonnegative_integer", "one_hot",
    "positive", "real", "real_vector", "simplex", "unit_interval",
]  # fmt: skip
