"""CastMixin: objects made out of what stands for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class CastMixin:
    """A class whose `cast` takes an object of it, the tuple or dict of its arguments, or the arguments themselves. None stays None.

    >>> from polygrad.geometric.utils.mixin import CastMixin
    >>> class Size(CastMixin):
    ...     def __init__(self, rows, columns=1):
    ...         self.rows, self.columns = rows, columns
    >>> list(Size.cast((2, 3))), list(Size.cast({"rows": 4})), Size.cast(None)
    ([2, 3], [4, 1], None)
    """

    @classmethod
    def cast(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs:
            given = args[0]
            if given is None or isinstance(given, CastMixin):
                return given
            if isinstance(given, (tuple, dict)):
                return cls(*given) if isinstance(given, tuple) else cls(**given)
        return cls(*args, **kwargs)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.__dict__.values())


__all__ = ["CastMixin"]
