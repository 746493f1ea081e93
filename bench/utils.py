"""Utilities, transforms and sorts beside PyTorch Geometric and PyTorch, in one run, on a graph of arxiv size (169,343 nodes, 2,315,598 edges).

Each function is called on the same arrays and its result is computed in full. Results whose size is not random are compared by size.

Usage: utils.py [-k NAME] [--threads 2] [--scale 1.0] [--rounds 3] [--cpu] [--json FILE]; --cpu measures CPU time, for one thread on a busy machine.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np
from graph_common import ARXIV, in_turns, machine, rmat, write_json

SORTS = (
    "coalesce",
    "coalesce attr",
    "sort_edge_index",
    "sort_edge_index attr",
    "to_undirected",
    "to_undirected attr",
    "index_sort",
    "sort 1e7",
    "lexsort",
)


def graph(scale):
    nodes, edges = (int(n * scale) for n in ARXIV)
    rng = np.random.default_rng(1)
    e = rmat(nodes, edges).astype(np.int64)
    return {
        "n": nodes, "e": e, "w": rng.random(edges).astype(np.float32), "a": rng.random((edges, 8)).astype(np.float32),
        "x": rng.standard_normal((nodes, 16)).astype(np.float32), "half": rng.permutation(nodes)[: nodes // 2].astype(np.int64),
        "mask": rng.random(nodes) < 0.5, "emask": rng.random(edges) < 0.5, "y": rng.integers(0, 10, nodes),
        "batch": np.sort(rng.integers(0, nodes // 100, nodes)), "scores": rng.standard_normal((edges, 4)).astype(np.float32),
        "long": rng.standard_normal(int(10**7 * scale)).astype(np.float32), "rows": rng.standard_normal((64, 1000)).astype(np.float32),
        "ints": rng.integers(0, nodes, edges), "s": e[:, np.lexsort((e[1], e[0]))],
    }  # fmt: skip


# name: function of (utils, transforms, Data, inputs)
UTILS = {
    "coalesce": lambda u, i: u.coalesce(i["e"], num_nodes=i["n"]),
    "coalesce attr": lambda u, i: u.coalesce(i["e"], i["a"], num_nodes=i["n"]),
    "sort_edge_index": lambda u, i: u.sort_edge_index(i["e"], num_nodes=i["n"]),
    "sort_edge_index attr": lambda u, i: u.sort_edge_index(i["e"], i["a"], num_nodes=i["n"]),
    "index_sort": lambda u, i: u.index_sort(i["ints"], i["n"]),
    "lexsort": lambda u, i: u.lexsort([i["e"][1], i["e"][0]]),
    "to_undirected": lambda u, i: u.to_undirected(i["e"], num_nodes=i["n"]),
    "to_undirected attr": lambda u, i: u.to_undirected(i["e"], i["w"], num_nodes=i["n"]),
    "is_undirected": lambda u, i: u.is_undirected(i["e"], num_nodes=i["n"]),
    "subgraph": lambda u, i: u.subgraph(i["half"], i["e"], i["a"], relabel_nodes=True, num_nodes=i["n"]),
    "subgraph mask": lambda u, i: u.subgraph(i["mask"], i["e"], num_nodes=i["n"]),
    "k_hop_subgraph": lambda u, i: u.k_hop_subgraph(7, 2, i["e"], relabel_nodes=True, num_nodes=i["n"]),
    "bipartite_subgraph": lambda u, i: u.bipartite_subgraph((i["half"], i["half"]), i["e"], size=(i["n"], i["n"])),
    "dropout_edge": lambda u, i: u.dropout_edge(i["e"], p=0.5),
    "dropout_edge undirected": lambda u, i: u.dropout_edge(i["e"], p=0.5, force_undirected=True),
    "dropout_node": lambda u, i: u.dropout_node(i["e"], p=0.5, num_nodes=i["n"]),
    "dropout_path": lambda u, i: u.dropout_path(i["s"], p=0.01, num_nodes=i["n"], is_sorted=True),
    "add_random_edge": lambda u, i: u.add_random_edge(i["e"], p=0.2, num_nodes=(i["n"], i["n"])),
    "negative_sampling": lambda u, i: u.negative_sampling(i["e"], num_nodes=i["n"]),
    "structured_negative_sampling": lambda u, i: u.structured_negative_sampling(i["e"], num_nodes=i["n"]),
    "get_laplacian": lambda u, i: u.get_laplacian(i["e"], i["w"], normalization="sym", num_nodes=i["n"]),
    "get_laplacian rw": lambda u, i: u.get_laplacian(i["e"], normalization="rw", num_nodes=i["n"]),
    "add_self_loops": lambda u, i: u.add_self_loops(i["e"], i["w"], num_nodes=i["n"]),
    "add_self_loops mean": lambda u, i: u.add_self_loops(i["e"], i["a"], fill_value="mean", num_nodes=i["n"]),
    "add_remaining_self_loops": lambda u, i: u.add_remaining_self_loops(i["e"], i["w"], num_nodes=i["n"]),
    "remove_self_loops": lambda u, i: u.remove_self_loops(i["e"], i["a"]),
    "segregate_self_loops": lambda u, i: u.segregate_self_loops(i["e"], i["a"]),
    "contains_self_loops": lambda u, i: u.contains_self_loops(i["e"]),
    "get_self_loop_attr": lambda u, i: u.get_self_loop_attr(i["e"], i["w"], num_nodes=i["n"]),
    "contains_isolated_nodes": lambda u, i: u.contains_isolated_nodes(i["e"], num_nodes=i["n"]),
    "remove_isolated_nodes": lambda u, i: u.remove_isolated_nodes(i["e"], i["a"], num_nodes=i["n"]),
    "degree": lambda u, i: u.degree(i["e"][0], i["n"]),
    "softmax": lambda u, i: u.softmax(i["scores"], i["e"][1], num_nodes=i["n"]),
    "scatter sum": lambda u, i: u.scatter(i["a"], i["e"][1], 0, i["n"], "sum"),
    "scatter max": lambda u, i: u.scatter(i["a"], i["e"][1], 0, i["n"], "max"),
    "homophily": lambda u, i: u.homophily(i["e"], i["y"]),
    "assortativity": lambda u, i: u.assortativity(i["e"]),
    "one_hot": lambda u, i: u.one_hot(i["y"], 10),
    "to_dense_batch": lambda u, i: u.to_dense_batch(i["x"], i["batch"]),
    "unbatch": lambda u, i: u.unbatch(i["x"], i["batch"]),
    "mask_to_index": lambda u, i: u.mask_to_index(i["emask"]),
    "index_to_mask": lambda u, i: u.index_to_mask(i["half"], i["n"]),
    "select": lambda u, i: u.select(i["a"], i["emask"], 0),
    "normalize_edge_index": lambda u, i: u.normalize_edge_index(i["e"], num_nodes=i["n"]),
    "map_index": lambda u, i: u.map_index(i["ints"], i["perm"], max_index=i["n"]),
    "shuffle_node": lambda u, i: u.shuffle_node(i["x"]),
    "mask_feature": lambda u, i: u.mask_feature(i["x"], 0.5),
    "spmm": lambda u, i: u.spmm(i["adj"], i["x"]) if "adj" in i else None,
}
TRANSFORMS = {
    "AddSelfLoops": {}, "AddRemainingSelfLoops": {}, "RemoveSelfLoops": {}, "RemoveDuplicatedEdges": {}, "RemoveIsolatedNodes": {}, "ToUndirected": {},
    "GCNNorm": {}, "LocalDegreeProfile": {}, "OneHotDegree": {"max_degree": 20000, "few": True}, "TargetIndegree": {}, "NormalizeFeatures": {},
    "VirtualNode": {}, "ToSparseTensor": {}, "LargestConnectedComponents": {}, "SIGN": {"K": 2}, "HalfHop": {}, "RandomNodeSplit": {},
    "RandomLinkSplit": {}, "AddRandomWalkPE": {"walk_length": 2, "few": True}, "Distance": {"pos": True}, "Cartesian": {"pos": True}, "LocalCartesian": {"pos": True},
    "Polar": {"pos2": True}, "Spherical": {"pos": True}, "Constant": {}, "IndexToMask": {"few": True}, "FeaturePropagation": {"few": True}, "TwoHop": {"few": True}, "LineGraph": {"few": True},
}  # fmt: skip
PLAIN = {
    "topk(10) of 64x1000": lambda i: i["rows"].topk(10, 1),
    "topk(10) of 1e7": lambda i: i["long"].topk(10, 0),
    "topk(1000) of 1e7": lambda i: i["long"].topk(1000, 0),
    "sort 1e7": lambda i: i["long"].sort(0),
    "argsort 64x1000": lambda i: i["rows"].argsort(1),
    "unique of edges": lambda i: i["ints"].unique(),
    "bincount": lambda i: i["ints"].bincount(minlength=i["n"]),
    "cumsum 1e7": lambda i: i["long"].cumsum(0),
    "cumsum rows": lambda i: i["rows"].cumsum(1),
    "median 1e7": lambda i: i["long"].median(),
    "kthvalue 1e7": lambda i: i["long"].kthvalue(1000, 0),
    "searchsorted": lambda i: i["lib"].searchsorted(i["sorted"], i["long"]),
    "nonzero": lambda i: i["emask"].nonzero(),
    "masked_select": lambda i: i["w"][i["emask"]],
    "unique_consecutive": lambda i: i["batch"].unique_consecutive(),
}


def parts(result):
    if isinstance(result, (tuple, list)):
        return [t for part in result for t in parts(part)]
    if hasattr(result, "realize"):
        return [result]
    return parts(list(result.to_dict().values())) if hasattr(result, "to_dict") else []


def finish(result):
    """Computes what a function gave, all of it at once."""
    tensors = parts(result)
    if tensors:
        tensors[0].realize(*tensors[1:])
    return result


def sizes(result):
    if isinstance(result, (tuple, list)):
        return [sizes(part) for part in result]
    return tuple(result.shape) if hasattr(result, "shape") else None


def sides(raw, threads):
    """For each library: how an array becomes its tensor, its utils, transforms and Data."""
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    os.environ["POLY_THREADS"] = str(threads)
    os.environ.setdefault("POLY_TIER", "1")  # as after many calls: kernels are compiled rather than interpreted at first
    import torch
    import torch_geometric
    from torch_geometric import transforms as their_transforms
    from torch_geometric import utils as their_utils
    from torch_geometric.data import Data as TheirData

    torch.set_num_threads(threads)
    import polygrad.torch as pt
    from polygrad.geometric import transforms, utils
    from polygrad.geometric.data import Data

    raw["perm"], raw["sorted"] = np.random.default_rng(2).permutation(raw["n"]), np.sort(raw["rows"].reshape(-1))

    def inputs(make, lib):
        return {k: make(v) if isinstance(v, np.ndarray) else v for k, v in raw.items()} | {"lib": lib}

    ours = (utils, transforms, Data, inputs(lambda a: pt.tensor(a), pt))
    theirs = (their_utils, their_transforms, TheirData, inputs(lambda a: torch.from_numpy(a.copy()), torch))
    return ours, theirs, {"torch": torch.__version__, "torch_geometric": torch_geometric.__version__}


def transform_call(side, name, options, raw):
    _, transforms, data, i = side
    options = dict(options)
    few = options.pop("few", False)
    made = {"x": i["x"], "edge_index": i["e"], "edge_attr": i["w"], "y": i["y"], "num_nodes": raw["n"]}
    if few:
        n = 3000
        keep = (raw["e"] < n).all(0)
        make = type(i["x"])
        made = {
            "x": i["x"][:n],
            "edge_index": i["e"][:, np.flatnonzero(keep).tolist()],
            "num_nodes": n,
            "train_mask": i["mask"][:n],
            "edge_attr": None,
        }
        del make
    if options.pop("pos", False):
        made["pos"] = i["x"][:, :3].contiguous()
    if options.pop("pos2", False):
        made["pos"] = i["x"][:, :2].contiguous()
    if name == "OneHotDegree":
        options["max_degree"] = 3000
    if name == "FeaturePropagation":
        options["missing_mask"] = i["x"][:3000] > 1
    if name in ("AddRandomWalkPE", "SIGN", "LineGraph", "TwoHop"):
        made.pop("edge_attr", None)
    t = getattr(transforms, name)(**options)
    return lambda: t(data(**{k: v for k, v in made.items() if v is not None}))


def measure(name, ours, theirs, rounds, rows, clock):
    try:
        a, b = finish(ours()), theirs()
    except Exception as e:  # one function that fails is a row, not the end of the table
        print(f"{name:32} {type(e).__name__}: {str(e)[:90]}")
        rows.append({"name": name, "error": f"{type(e).__name__}: {e}"[:200]})
        return
    note = (
        "" if "dropout" in name or "random" in name or "sampling" in name or sizes(a) == sizes(b) else f"  sizes differ: {sizes(a)} {sizes(b)}"[:120]
    )
    ms = in_turns({"ours": lambda: finish(ours()), "theirs": theirs}, rounds=rounds, block=0.1, least=2, clock=clock)
    ratio = ms["theirs"] / ms["ours"]
    bar = 2.0 if name in SORTS else 1.0
    rows.append({"name": name, "ours_ms": round(ms["ours"], 3), "theirs_ms": round(ms["theirs"], 3), "ratio": round(ratio, 2), "bar": bar})
    print(f"{name:32} {ms['ours']:10.3f} {ms['theirs']:10.3f} {ratio:8.2f} {'' if ratio >= bar else 'below ' + str(bar)}{note}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("-k", default="")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--scale", type=float, default=1.0)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--cpu", action="store_true")
    p.add_argument("--json")
    args = p.parse_args()
    clock = time.process_time if args.cpu else time.perf_counter
    raw, rows = graph(args.scale), []
    ours, theirs, versions = sides(raw, args.threads)
    print(f"{'':32} {'ours ms':>10} {'peer ms':>10} {'ratio':>8}")
    for name, f in PLAIN.items():
        if args.k in name:
            measure(name, lambda f=f: f(ours[3]), lambda f=f: f(theirs[3]), args.rounds, rows, clock)
    for name, f in UTILS.items():
        if args.k in name and name != "spmm":
            measure(name, lambda f=f: f(ours[0], ours[3]), lambda f=f: f(theirs[0], theirs[3]), args.rounds, rows, clock)
    for name, options in TRANSFORMS.items():
        if args.k in name:
            try:
                pair = [transform_call(side, name, options, raw) for side in (ours, theirs)]
            except Exception as e:
                print(f"{name:32} {type(e).__name__}: {str(e)[:90]}")
                continue
            measure(name, *pair, args.rounds, rows, clock)
    ratios = sorted(r["ratio"] for r in rows if "ratio" in r)
    below = [r["name"] for r in rows if "ratio" in r and r["ratio"] < r["bar"]]
    print(f"median {ratios[len(ratios) // 2] if ratios else 0}, below their bar: {', '.join(below) or 'none'}")
    write_json(args.json, machine=machine(args.threads), versions=versions, scale=args.scale, rows=rows)


if __name__ == "__main__":
    main()
