"""Utilities, transforms and encoders with values that PyTorch Geometric gives for the same inputs; properties by networkx."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

import polygrad.geometric.transforms as T
from polygrad import Tensor
from polygrad.geometric.data import Data
from polygrad.geometric.datasets import FakeDataset
from polygrad.geometric.nn import GCN, GPSE
from polygrad.geometric.nn.models.gpse import IdentityHead, precompute_GPSE
from polygrad.geometric.nn.models.graph_mixer import LinkEncoder, NodeEncoder, get_latest_k_edge_attr
from polygrad.geometric.transforms.node_property_split import _PROPERTIES
from polygrad.geometric.utils import total_influence, tree_decomposition


def waves(model):
    """Parameters that both libraries can be given: sines of 0, 1, 2 ..., each tensor shifted by its number."""
    for k, p in enumerate(model.parameters()):
        p.assign(Tensor((np.sin(np.arange(p.numel(), dtype=np.float32)).reshape(p.shape) + 0.1 * k).astype(np.float32))).realize()
    return model


def edges(nodes=30):
    a = np.triu(np.random.default_rng(0).random((nodes, nodes)) < 0.12, 1)
    a = a | a.T
    a[5] = a[:, 5] = False
    return np.ascontiguousarray(np.stack(np.nonzero(a)).astype(np.int64))


@pytest.mark.parametrize("name", _PROPERTIES)
def test_properties_are_those_of_networkx(name):
    nx = pytest.importorskip("networkx")
    e = edges()
    g = nx.Graph()
    g.add_nodes_from(range(30))
    g.add_edges_from(e.T.tolist())
    ranks = nx.pagerank(g, tol=1e-12, max_iter=1000)
    if name == "locality":
        top = max(ranks, key=ranks.get)
        ranks = nx.pagerank(g, personalization={top: 1.0}, tol=1e-12, max_iter=1000)
    want = np.array(list((nx.clustering(g) if name == "density" else ranks).values()))
    found = {}

    def keep(graph, adj):
        found["value"] = original(graph, adj)
        return found["value"]

    original = _PROPERTIES[name]
    _PROPERTIES[name] = keep
    try:
        data = T.NodePropertySplit(name, [0.3, 0.1, 0.1, 0.3, 0.2])(Data(edge_index=Tensor(e), num_nodes=30))
    finally:
        _PROPERTIES[name] = original
    np.testing.assert_allclose(found["value"].numpy(), want, rtol=1e-5, atol=1e-7)
    masks = np.stack([data[k].numpy() for k in ("id_train_mask", "id_val_mask", "id_test_mask", "ood_val_mask", "ood_test_mask")])
    assert masks.sum(1).tolist() == [9, 3, 3, 9, 6] and (masks.sum(0) == 1).all()
    assert want[masks[:3].any(0)].min() >= want[masks[3]].max() and want[masks[3]].min() >= want[masks[4]].max()
    with pytest.raises(ValueError, match="sum"):
        T.NodePropertySplit(name, [0.5, 0.5, 0.5, 0.0, 0.0])


def test_influence():
    model = waves(GCN(4, 8, 2, 3))
    data = Data(x=Tensor(np.cos(np.arange(120, dtype=np.float32)).reshape(30, 4)), edge_index=Tensor(edges()))
    mean, breadth = total_influence(model, data, 3)
    np.testing.assert_allclose(mean.numpy(), [1.0, 1.19702, 1.10626, 0.0], atol=2e-5)
    assert breadth == pytest.approx(1.02638, abs=2e-5)
    assert total_influence(model, data, 1, num_samples=3, average=False)[0].shape == (3, 2)


class Bond:
    def __init__(self, a, b, ring):
        self.ends, self.ring = (a, b), ring

    def GetBeginAtomIdx(self):
        return self.ends[0]

    def GetEndAtomIdx(self):
        return self.ends[1]

    def IsInRing(self):
        return self.ring


class Molecule:
    """What tree_decomposition asks of RDKit's: two rings that share a bond, a bridged compound, and a chain with a branch."""

    rings = [[0, 1, 2, 3, 4, 5], [4, 5, 6, 7, 8], [9, 10, 11, 12, 13], [9, 10, 11, 14, 15]]

    def GetNumAtoms(self):
        return 20

    def GetBonds(self):
        return [Bond(0, 1, True), *[Bond(a, b, False) for a, b in ((8, 9), (15, 16), (16, 17), (16, 18), (18, 19))]]


def test_junction_tree(monkeypatch):
    pytest.importorskip("scipy")
    chem, rdkit = types.ModuleType("rdkit.Chem"), types.ModuleType("rdkit")
    chem.GetSymmSSSR, rdkit.Chem = (lambda mol: mol.rings), chem
    monkeypatch.setitem(sys.modules, "rdkit", rdkit)
    monkeypatch.setitem(sys.modules, "rdkit.Chem", chem)
    tree, members, count, kinds = tree_decomposition(Molecule(), return_vocab=True)
    assert tree.tolist() == [[0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 6, 7, 8, 8, 8], [1, 0, 3, 3, 4, 1, 2, 2, 8, 8, 7, 8, 6, 4, 5, 6]]
    assert members.numpy()[1].tolist() == [0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 3, 2, 3, 2, 2, 2, 2, 2, 2, 4, 4, 5, 6, 8, 5, 6, 7, 7]
    assert count == 9 and kinds.tolist() == [0, 0, 2, 1, 1, 1, 1, 1, 3]


def test_encoders_of_the_last_events():
    x, e = Tensor(np.arange(12.0, dtype=np.float32).reshape(4, 3)), Tensor([[0, 1, 2, 0, 1, 3], [1, 2, 0, 2, 0, 0]])
    t, now = Tensor([3.0, 1.0, 2.0, 3.0, 0.0, 5.0]), Tensor([2.0, 3.0, 4.0, 1.0])
    assert NodeEncoder(2)(x, e, t, now).tolist() == [[6, 8, 10], [3, 5, 7], [6, 8, 10], [9, 10, 11]]
    encoder = waves(LinkEncoder(3, 2, 4, 5, 6))
    assert str(encoder) == "LinkEncoder(k=3, in_channels=2, hidden_channels=4, out_channels=5, time_channels=6, dropout=0.0)"
    out = encoder(e, Tensor(np.cos(np.arange(12, dtype=np.float32)).reshape(6, 2)), t, now)
    want = [[19.149, 12.049, 14.858, 18.448, 9.111], [19.391, 11.628, 15.482, 18.369, 8.906], [19.424, 11.963, 15.063, 18.634, 9.032],
            [19.263, 11.709, 15.332, 18.312, 8.960]]  # fmt: skip
    np.testing.assert_allclose(out.numpy(), want, atol=2e-3)
    last = get_latest_k_edge_attr(2, e, Tensor(np.arange(6.0, dtype=np.float32).reshape(6, 1)), t, 4)
    assert last.reshape(-1).tolist() == [5, 2, 0, 0, 3, 1, 0, 0]


def test_encodings_of_positions_and_structure():
    model = GPSE(dim_in=4, dim_out=5, dim_inner=8, layers_mp=2, num_node_targets=5, num_graph_targets=2)
    model.post_mp = IdentityHead()
    data = T.AddGPSE(model)(Data(x=Tensor.ones(30, 1), edge_index=Tensor(edges())))
    assert data.pestat_GPSE.shape == (30, 8) and data.x.shape == (30, 1) and np.isfinite(data.pestat_GPSE.numpy()).all()
    graphs = FakeDataset(num_graphs=5, avg_num_nodes=6, edge_dim=0, seed=0)
    precompute_GPSE(model, graphs, batch_size=2)
    assert [g.pestat_GPSE.shape for g in graphs] == [(g.num_nodes, 8) for g in graphs]


def test_images_as_superpixels(monkeypatch):
    slic = types.ModuleType("skimage.segmentation")
    slic.slic = lambda image, start_label=0, n_segments=2: (np.arange(image.shape[1])[None] // 2).repeat(image.shape[0], 0)
    monkeypatch.setitem(sys.modules, "skimage", types.ModuleType("skimage"))
    monkeypatch.setitem(sys.modules, "skimage.segmentation", slic)
    image = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    data = T.ToSLIC(add_seg=True, add_img=True, n_segments=2)(Tensor(image))
    np.testing.assert_allclose(data.x.numpy(), np.stack([image[:, :, :2].mean((1, 2)), image[:, :, 2:].mean((1, 2))]))
    assert data.pos.tolist() == [[0.5, 1.0], [2.5, 1.0]] and data.seg.shape == (1, 3, 4) and data.img.shape == (1, 2, 3, 4)
