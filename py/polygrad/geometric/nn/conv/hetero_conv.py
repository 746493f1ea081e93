"""HeteroConv: a layer for each type of edges."""

from __future__ import annotations

import warnings
from typing import Any

from ....nn import Module
from ....tensor import Tensor
from ..module_dict import ModuleDict


def group(xs: list[Tensor], aggr: str | None) -> Tensor | None:
    """What several relations bring to the same nodes: 'sum', 'mean', 'min', 'max', 'mul', 'cat', or side by side (None)."""
    if not xs:
        return None
    if aggr is None:
        return Tensor.stack(*xs, dim=1)
    if len(xs) == 1:
        return xs[0]
    if aggr == "cat":
        return Tensor.cat(*xs, dim=-1)
    if aggr in ("sum", "add", "mean"):
        total = xs[0]
        for x in xs[1:]:
            total = total + x
        return total / len(xs) if aggr == "mean" else total
    if aggr in ("min", "max"):  # of equal ones the first gets the gradient, as with torch.max along an axis
        best = xs[0]
        for x in xs[1:]:
            best = (x > best if aggr == "max" else x < best).where(x, best)
        return best
    if aggr in ("mul", "prod"):
        return Tensor.stack(*xs).prod(0)
    raise ValueError(f"aggr must be 'sum', 'mean', 'min', 'max', 'mul', 'cat' or None, not {aggr!r}")


class HeteroConv(Module):
    """Any layers on a graph with several types of nodes and edges; what they bring to one type of nodes is joined by aggr.

        x'_t = aggr over edge types (s, r, t) of conv_(s, r, t)((x_s, x_t), edges)

    convs: {(source type, name, destination type): layer}. Called with dicts: by node type, or by edge type; further arguments of the layers
    by keyword with `_dict` behind their names (edge_attr_dict={edge type: edge_attr}).

    Shapes: x_dict {type: [V_type, F_type]}, edge_index_dict {(type, relation, type): [2, E]}; out {type: [V_type, F_out]}.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import HeteroConv, SimpleConv
    >>> conv = HeteroConv({("author", "writes", "paper"): SimpleConv(), ("paper", "by", "author"): SimpleConv()})
    >>> x = {"author": Tensor([[1.0], [2.0]]), "paper": Tensor([[10.0]])}
    >>> edges = {("author", "writes", "paper"): Tensor([[0, 1], [0, 0]]), ("paper", "by", "author"): Tensor([[0], [1]])}
    >>> {k: v.tolist() for k, v in conv(x, edges).items()}
    {'paper': [[3.0]], 'author': [[0.0], [10.0]]}
    """

    def __init__(self, convs: dict[Any, Any], aggr: str | None = "sum"):
        for (source, _, destination), conv in convs.items():
            if source != destination and getattr(conv, "add_self_loops", False):
                raise ValueError(
                    f"{conv} adds self loops, which is incorrect message passing between {source!r} and {destination!r}: set add_self_loops=False"
                )
        unread = {key[0] for key in convs} - {key[-1] for key in convs}
        if unread:
            text = f"There exist node types {sorted(unread)} whose representations do not get updated"
            warnings.warn(f"{text}: they do not occur as destination type in any edge type", stacklevel=2)
        self.convs, self.aggr = ModuleDict(convs), aggr

    def reset_parameters(self) -> None:
        for conv in self.convs.values():
            conv.reset_parameters()

    def forward(self, *args_dict: Any, **kwargs_dict: Any) -> dict[str, Any]:
        for name in kwargs_dict:
            if not name.endswith("_dict"):
                raise ValueError(f"keyword arguments of HeteroConv need to end with '_dict', not {name!r}")
        out: dict[str, list[Tensor]] = {}
        for edge_type, conv in self.convs.items():
            args = [_of(d, edge_type) for d in args_dict]
            kwargs = {name[:-5]: _of(d, edge_type) for name, d in kwargs_dict.items()}
            if any(edge_type in d for d in (*args_dict, *kwargs_dict.values())):
                found = conv(*[a[0] for a in args if a], **{name: a[0] for name, a in kwargs.items() if a})
                out.setdefault(edge_type[-1], []).append(found)
        return {node_type: group(xs, self.aggr) for node_type, xs in out.items()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_relations={len(self.convs)})"


def _of(values: dict[Any, Any], edge_type: Any) -> tuple[Any, ...]:
    """What a dict holds for an edge type: its value, or those of the nodes at its ends; empty if there is neither."""
    source, _, destination = edge_type
    if edge_type in values:
        return (values[edge_type],)
    if source == destination and source in values:
        return (values[source],)
    if source in values or destination in values:
        return ((values.get(source), values.get(destination)),)
    return ()


__all__ = ["HeteroConv", "group"]
