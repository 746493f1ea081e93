"""Cases with values of PyTorch Geometric: see py/tests/tools/make_golden_library.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from polygrad import Tensor

FOLDER = Path(__file__).resolve().parents[1] / "golden_library"


class Case:
    """The arrays of a file, as arrays (`case["x"]`) or tensors (`case.t("x")`)."""

    def __init__(self, name: str):
        with np.load(FOLDER / f"{name}.npz") as f:
            self.arrays = dict(f)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]

    def t(self, name: str) -> Tensor:
        return Tensor(self.arrays[name])

    def under(self, prefix: str) -> dict[str, Tensor]:
        """All whose names begin with prefix/, by the rest of them."""
        return {n[len(prefix) + 1 :]: Tensor(a) for n, a in self.arrays.items() if n.startswith(f"{prefix}/")}

    def types(self, prefix: str) -> dict:
        """The same, by node or edge type."""
        return {tuple(n.split("__")) if "__" in n else n: t for n, t in self.under(prefix).items()}

    def load(self, model):
        model.load_state_dict(self.under("param"))
        return model


def names(prefix: str) -> list[str]:
    return sorted(p.stem for p in FOLDER.glob(f"{prefix}*.npz"))


def close(a, b, rtol=1e-4, atol=1e-5):
    a = a.numpy() if isinstance(a, Tensor) else np.asarray(a)
    np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
