"""SplineConv against its formula; datasets out of small files in the format of the real ones."""

import numpy as np
import pytest

from polygrad import Tensor
from polygrad.geometric.datasets import DBLP, MovieLens
from polygrad.geometric.nn import SplineConv


def basis(u, k, degree, closed):
    """Values of the k B-splines of one axis at u, by the recursion over degrees on knots with distance 1."""
    v = u * (k if closed else k - degree)
    first, t = int(np.floor(v)), v - np.floor(v)
    values = {1: [1 - t, t], 2: [(1 - t) ** 2 / 2, 0.5 + t - t * t, t * t / 2]}
    values[3] = [(1 - t) ** 3 / 6, (3 * t**3 - 6 * t * t + 4) / 6, (-3 * t**3 + 3 * t * t + 3 * t + 1) / 6, t**3 / 6]
    out = np.zeros(k)
    for s, b in enumerate(values[degree]):
        out[(first + s) % k] += b
    return out


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("is_open", [True, False])
def test_spline_conv(degree, is_open):
    rng = np.random.default_rng(0)
    x, pairs, place = rng.standard_normal((5, 3)), np.array([[0, 1, 2, 3, 4], [1, 1, 0, 4, 4]]), rng.random((5, 2))
    sizes = [4, 5]
    conv = SplineConv(3, 2, dim=2, kernel_size=sizes, is_open_spline=is_open, degree=degree)
    out = conv(Tensor(x.astype(np.float32)), Tensor(pairs), Tensor(place.astype(np.float32))).numpy()
    weight, root = conv.weight.numpy(), conv.lin.weight.numpy()
    wanted, count = np.zeros((5, 2)), np.zeros(5)
    for (s, d), u in zip(pairs.T, place):
        first, second = (basis(u[k], sizes[k], degree, not is_open) for k in (0, 1))
        kernel = np.einsum("a,b,baio->io", first, second, weight.reshape(5, 4, 3, 2))
        wanted[d] += x[s] @ kernel
        count[d] += 1
    wanted = wanted / np.maximum(count, 1)[:, None] + x @ root.T
    assert np.allclose(out, wanted, atol=1e-4)


def sparse(path, matrix):
    rows, cols = np.nonzero(matrix)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=matrix.shape[0]))])
    np.savez(
        path, data=matrix[rows, cols], indices=cols.astype(np.int32), indptr=indptr.astype(np.int32), shape=np.array(matrix.shape), format=b"csr"
    )


def test_dblp(tmp_path):
    raw = tmp_path / "raw"
    raw.mkdir()
    counts = [3, 2, 2, 1]
    edges = np.zeros((8, 8))
    edges[0, 3] = edges[3, 0] = edges[1, 4] = edges[4, 6] = edges[7, 3] = 1  # authors 0-2, papers 3-4, terms 5-6, the conference 7
    sparse(raw / "adjM.npz", edges)
    sparse(raw / "features_0.npz", np.eye(3))
    sparse(raw / "features_1.npz", np.eye(2, 4))
    np.save(raw / "features_2.npy", np.ones((2, 5)))
    np.save(raw / "labels.npy", np.array([0, 1, 3]))
    np.save(raw / "node_types.npy", np.repeat(np.arange(4), counts))
    np.savez(raw / "train_val_test_idx.npz", train_idx=[0], val_idx=[1], test_idx=[2])
    data = DBLP(str(tmp_path))[0]
    assert data.metadata()[0] == ["author", "paper", "term", "conference"] and data["conference"].num_nodes == 1
    assert data["author", "to", "paper"].edge_index.tolist() == [[0, 1], [0, 1]] and data["paper", "to", "author"].edge_index.tolist() == [[0], [0]]
    assert data["paper", "to", "term"].edge_index.tolist() == [[1], [1]] and data["conference", "to", "paper"].edge_index.tolist() == [[0], [0]]
    assert data["author"].y.tolist() == [0, 1, 3] and data["author"].val_mask.tolist() == [False, True, False]
    assert data["paper"].x.tolist() == np.eye(2, 4).tolist()


def test_movie_lens(tmp_path):
    raw = tmp_path / "raw" / "ml-latest-small"
    raw.mkdir(parents=True)
    (raw / "movies.csv").write_text('movieId,title,genres\n7,"Film, The",Drama|Action\n9,Other,Comedy\n')
    (raw / "ratings.csv").write_text("userId,movieId,rating,timestamp\n5,9,3.5,100\n2,7,5.0,101\n5,7,1.0,102\n")
    data = MovieLens(str(tmp_path), model_name=None)[0]
    edges = data["user", "rates", "movie"]
    assert edges.edge_index.tolist() == [[0, 1, 0], [1, 0, 0]] and edges.edge_label.tolist() == [3, 5, 1] and edges.time.tolist() == [100, 101, 102]
    assert data["movie"].x.tolist() == [[1, 0, 1], [0, 1, 0]] and data["user"].num_nodes == 2
    (raw / "ratings.csv").write_text("userId,movieId,rating,timestamp\n5,8,3.5,100\n")
    with pytest.raises(ValueError, match="movie 8"):
        MovieLens(str(tmp_path), model_name=None, force_reload=True)
