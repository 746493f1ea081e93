"""torch_geometric.graphgym: the encoders of features (`models.encoder`), which models outside of GraphGym use too."""

from typing import Any


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"torch_geometric.graphgym.{name} is left out of polygrad.torch_geometric: it belongs to a program for running experiments with "
        "PyTorch Lightning and yacs; graphgym.models.encoder is here"
    )
