"""Stores what the layers of geometric/library_cases.py give in PyTorch Geometric: parameters, outputs, and gradients of inputs and parameters.

Routines of the compiled library pyg-lib, which need not be there, are written out in PyTorch here.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import torch
import torch_geometric.nn as tnn

sys.path.append(str(Path(__file__).resolve().parents[1] / "geometric"))
from library_cases import CASES, FORCES, TGN, molecules, tgn_model


def knn(x, y, ptr_x, ptr_y, k, cosine=False, workers=1):
    ptr_x = [0, len(x)] if ptr_x is None else ptr_x.tolist()
    ptr_y = [0, len(y)] if ptr_y is None else ptr_y.tolist()
    pairs = []
    for a, b, c, d in zip(ptr_x, ptr_x[1:], ptr_y, ptr_y[1:]):
        near = torch.cdist(y[c:d], x[a:b]).argsort(1)[:, :k]
        pairs.append(torch.stack([torch.arange(c, d).repeat_interleave(near.size(1)), near.flatten() + a]))
    return torch.cat(pairs, 1)


PIECES = {
    1: [lambda v: 1 - v, lambda v: v],
    2: [lambda v: 0.5 * v * v - v + 0.5, lambda v: -v * v + v + 0.5, lambda v: 0.5 * v * v],
    3: [lambda v: (1 - v) ** 3 / 6, lambda v: (3 * v**3 - 6 * v * v + 4) / 6, lambda v: (-3 * v**3 + 3 * v * v + 3 * v + 1) / 6, lambda v: v**3 / 6],
}


def spline_basis(pseudo, kernel_size, is_open, degree):
    values, index = [], []
    for choice in product(range(degree + 1), repeat=pseudo.size(1)):
        value, at, stride = 1.0, 0, 1
        for d, k in enumerate(choice):
            v = pseudo[:, d] * (kernel_size[d] - degree * is_open[d])
            value = value * PIECES[degree][k](v - v.detach().floor())
            at = at + (v.detach().long() + k) % kernel_size[d] * stride
            stride = stride * kernel_size[d]
        values.append(value)
        index.append(at)
    return torch.stack(values, 1), torch.stack(index, 1)


def spline_weighting(x, weight, basis, index):
    return torch.einsum("es,ei,esio->eo", basis, x, weight[index])


def radius_graph(x, r, batch=None, loop=False, max_num_neighbors=32, flow="source_to_target", num_workers=1, batch_size=None):
    batch = torch.zeros(len(x), dtype=torch.long) if batch is None else batch
    near = (torch.cdist(x, x) <= r) & (batch[:, None] == batch) & (~torch.eye(len(x), dtype=torch.bool) | loop)
    return near.nonzero().t().flip(0)


def triplets(edge_index, num_nodes):
    row, col = edge_index
    pairs = (row[:, None] == col[None]) & (col[:, None] != row[None])  # edge ji ends where edge kj begins
    idx_ji, idx_kj = pairs.nonzero().t()
    return col, row, col[idx_ji], row[idx_ji], row[idx_kj], idx_kj, idx_ji


def scatter_argmax(src, index, dim=0, dim_size=None):
    """As torch_scatter has it: the number of items for rows without any. What PyTorch Geometric falls back to gives these rows another one's item."""
    out = torch.full((dim_size,), src.numel(), dtype=torch.long)
    for row in index.unique():
        at = (index == row).nonzero().flatten()
        out[row] = at[src[at].argmax()]
    return out


def prepare():
    """The routines in the place of those of pyg-lib and torch_scatter."""
    import torch_geometric.nn.models.tgn

    torch_geometric.nn.models.tgn.scatter_argmax = scatter_argmax
    import torch_geometric.nn.conv.spline_conv as spline
    from torch_geometric.nn.models import dimenet, gnnff, schnet, visnet

    torch_geometric.typing.WITH_KNN = True
    torch.ops.pyg.knn = knn
    spline.spline_basis, spline.spline_weighting = spline_basis, spline_weighting
    for module in (dimenet, gnnff, schnet, visnet):
        module.radius_graph = radius_graph
    dimenet.triplets = gnnff.triplets = triplets


class Packages:
    """torch_geometric.nn, and what it does not export itself."""

    def __getattr__(self, name):
        for package in (tnn, tnn.attention, tnn.encoding, tnn.models):
            if hasattr(package, name):
                return getattr(package, name)
        raise AttributeError(name)


def floats(values):
    return [v for v in values if isinstance(v, torch.Tensor) and v.is_floating_point()]


def moved(layer):
    """(state, parameters) of a layer whose parameters are not the first ones: what begins with zeros is to be seen too."""
    layer.eval()
    with torch.no_grad():
        for p in layer.parameters():
            p += 0.1 * torch.randn_like(p)
    return {k: v.clone() for k, v in layer.state_dict().items()}, dict(layer.named_parameters())


def store(name, save):
    make, arrays, call = CASES[name]
    torch.manual_seed(1)
    layer = make(Packages(), torch.nn)
    state, leaves = moved(layer) if isinstance(layer, torch.nn.Module) else ({}, {})
    inputs = {k: torch.tensor(v) for k, v in arrays.items()}
    for k, v in inputs.items():
        if v.is_floating_point():
            leaves[f"input/{k}"] = v.requires_grad_()
    out = call(layer, inputs)
    outs = floats(out if isinstance(out, (tuple, list)) else [out])
    loss = sum(o.square().sum() for o in outs)
    if not loss.requires_grad:
        leaves = {}
    grads = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True) if leaves else ()
    slopes = {f"grad/{k}": torch.zeros_like(v) if s is None else s for (k, v), s in zip(leaves.items(), grads)}
    save(
        f"layer_{name}", **{f"in/{k}": v for k, v in inputs.items()}, **{f"param/{k}": v for k, v in state.items()}, **slopes,
        **{f"out/{k}": v for k, v in enumerate(outs)},
    )  # fmt: skip


def forces(name, save):
    """Energies, forces, and the gradients of the sum of their squares. In float64, and stored in float32: PyTorch Geometric's closed forms of
    the Bessel functions lose digits in float32."""
    torch.manual_seed(2)
    torch.set_default_dtype(torch.float64)
    model = FORCES[name](tnn).double()
    state, leaves = moved(model)
    i = {k: torch.tensor(v) for k, v in molecules().items()}
    pos = i["pos"].double().requires_grad_()
    energy = model(i["z"], pos, i["batch"])
    energy = energy[0] if isinstance(energy, tuple) else energy
    torch.set_default_dtype(torch.float32)
    (slope,) = torch.autograd.grad(energy.sum(), pos, create_graph=True)
    leaves = {"input/pos": pos, **leaves}
    grads = torch.autograd.grad(slope.square().sum(), list(leaves.values()), allow_unused=True)
    slopes = {f"grad/{k}": torch.zeros_like(v) if s is None else s for (k, v), s in zip(leaves.items(), grads)}
    arrays = {"energy": energy, "force": -slope, **slopes, **{f"param/{k}": v for k, v in state.items()}}
    arrays = {k: v.float() if v.is_floating_point() else v for k, v in arrays.items()}
    save(f"forces_{name}", **arrays, **{f"in/{k}": v for k, v in i.items()})


def tgn(name, save):
    """Memory while events come in, in training and after it, and the last neighbours."""
    from torch_geometric.nn.models import tgn as modules

    torch.manual_seed(3)
    memory, loader, arrays = tgn_model(modules, tnn.TGNMemory, name)
    memory.train()
    state, _ = moved(memory)
    memory.detach()
    memory.train()
    memory.reset_state()
    state = {k: v for k, v in state.items() if k not in ("memory", "last_update", "_assoc")}
    out = {}
    for k, (src, dst, t, msg) in enumerate(arrays):
        src, dst, t, msg = (torch.tensor(v) for v in (src, dst, t, msg))
        if k == 3:
            memory.eval()
        n_id, edge_index, e_id = loader(torch.cat([src, dst]).unique())
        z, last = memory(n_id)
        out |= {f"n_id/{k}": n_id, f"edge_index/{k}": edge_index, f"e_id/{k}": e_id, f"z/{k}": z, f"last/{k}": last}
        if k < 3:
            named = dict(memory.named_parameters())
            grads = torch.autograd.grad(z.square().sum(), list(named.values()), allow_unused=True)
            out |= {f"grad{k}/{n}": torch.zeros_like(p) if g is None else g for (n, p), g in zip(named.items(), grads)}
        memory.update_state(src, dst, t, msg)
        loader.insert(src, dst)
        memory.detach()
    save(f"tgn_{name}", memory=memory.memory, last_update=memory.last_update, **out, **{f"param/{k}": v for k, v in state.items()})


def layers(save, only=()):
    prepare()
    for name in only or (*CASES, *TGN):
        if name in CASES:
            store(name, save)
        if name in FORCES:
            forces(name, save)
        if name in TGN:
            tgn(name, save)
