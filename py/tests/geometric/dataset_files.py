"""Small files in the formats of datasets, for tests and for the fuzzer: `write(folder)` writes them, `WRITERS` has one for each reader."""

import gzip
import json
import pickle
import struct
import zlib
from pathlib import Path

import numpy as np

PARTS = ("train_mask", "val_mask", "test_mask")


def text(folder, **files):
    for name, content in files.items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".gz"):
            path.write_bytes(gzip.compress(content.encode()))
        else:
            path.write_text(content)


def masks(n, k):
    out = {key: np.zeros(n, bool) for key in PARTS}
    for j, key in enumerate(PARTS):
        out[key][(k + j) % n] = True
    return out


def splits(folder, name, n):
    for k in range(10):
        np.savez(Path(folder) / f"{name}_split_0.6_0.2_{k}.npz", **masks(n, k))


def geom_gcn(folder, name="texas"):
    text(folder, **{"out1_node_feature_label.txt": "node_id\tfeature\tlabel\n1\t0,1\t2\n0\t1,1\t0\n2\t0,0\t1\n"})
    text(folder, **{"out1_graph_edges.txt": "a\tb\n0\t1\n2\t0\n0\t1\n"})
    splits(folder, name, 3)


def actor(folder):
    geom_gcn(folder, "film")
    text(folder, **{"out1_node_feature_label.txt": "node_id\tfeature\tlabel\n0\t1,3\t0\n1\t0\t1\n2\t3\t1\n"})


def musae(folder, name="DE.npz"):
    np.savez(Path(folder) / name, edges=np.array([[0, 1], [1, 2], [2, 0]]), features=np.eye(3, 4), target=np.array([0, 1, 1]))


def heterophilous(folder):
    keys = {f"{k}s": np.stack([masks(3, j)[k] for j in range(2)]) for k in PARTS}
    np.savez(
        Path(folder) / "minesweeper.npz", node_features=np.eye(3, dtype=np.float32), node_labels=np.array([0, 1, 0]), edges=np.array([[0, 1], [1, 2]]),
        **keys,
    )  # fmt: skip


def wikics(folder):
    two = [[True, False, False], [False, True, False]]
    content = {"features": [[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]], "labels": [0, 1, 1], "links": [[1], [2, 0], []], "train_masks": two}
    content |= {"val_masks": two, "stopping_masks": two, "test_mask": [False, False, True]}
    text(folder, **{"data.json": json.dumps(content)})


def airports(folder):
    text(folder, **{"brazil-airports.edgelist": "10 12\n12 11\n10 12\n", "labels-brazil-airports.txt": "node label\n12 0\n10 1\n11 3\n"})


def polblogs(folder):
    text(folder, **{"adjacency.tsv": "0\t1\t1\n2\t1\t3\n", "labels.tsv": "0\n1\n1\n"})


def email(folder):
    text(folder, **{"email-Eu-core.txt": "0 1\n2 2\n", "email-Eu-core-department-labels.txt": "0 4\n1 0\n2 4\n"})


def mixhop(folder):
    for part, array in (("allx", np.arange(12.0).reshape(6, 2)), ("ally", np.eye(6, 3))):
        with open(Path(folder) / f"ind.n5000-h0.3-c10.{part}", "wb") as f:
            np.save(f, array)
    (Path(folder) / "ind.n5000-h0.3-c10.graph").write_bytes(pickle.dumps({0: [1, 2], 1: [0], 5: [4]}, 2))


def sparse(path, dense, kind="csr"):
    """As scipy.sparse.save_npz writes it."""
    dense = np.asarray(dense)
    if kind == "coo":
        row, col = np.nonzero(dense)
        np.savez_compressed(
            path, format=np.array(b"coo"), shape=dense.shape, row=row.astype(np.int32), col=col.astype(np.int32), data=dense[row, col]
        )
        return
    a = dense if kind == "csr" else dense.T
    row, col = np.nonzero(a)
    ptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(a)))]).astype(np.int32)
    np.savez_compressed(path, format=np.array(kind.encode()), shape=dense.shape, indices=col.astype(np.int32), indptr=ptr, data=a[row, col])


def attributed(folder):
    sparse(Path(folder) / "attrs.npz", [[0, 2.5], [1, 0], [0, 0]], "csc")
    text(folder, **{"edgelist.txt": "0 1\n1 2\n", "labels.txt": "0 1\n1 2 3\n2 1\n"})


def dgraph(folder):
    pairs = np.array([[0, 1], [1, 2]])
    np.savez(
        Path(folder) / "dgraphfin.npz", x=np.eye(3), y=np.array([0, 1, 2]), edge_index=pairs, edge_type=np.array([1, 2]),
        edge_timestamp=np.array([5, 9]), train_mask=np.array([0]), valid_mask=np.array([1]), test_mask=np.array([2]),
    )  # fmt: skip


def saint(folder):
    sparse(Path(folder) / "adj_full.npz", [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    np.save(Path(folder) / "feats.npy", np.arange(6.0).reshape(3, 2))
    text(folder, **{"class_map.json": '{"0": 1, "2": 0}', "role.json": '{"tr": [0], "va": [1], "te": [2]}'})


def reddit(folder):
    np.savez(Path(folder) / "reddit_data.npz", feature=np.eye(3, 2), label=np.array([0, 4, 1]), node_types=np.array([1, 3, 2]))
    sparse(Path(folder) / "reddit_graph.npz", [[0, 1, 0], [1, 0, 1], [0, 1, 0]], "coo")


def ppi(folder):
    for split in ("train", "valid", "test"):
        np.save(Path(folder) / f"{split}_feats.npy", np.arange(10.0).reshape(5, 2))
        np.save(Path(folder) / f"{split}_labels.npy", np.eye(5, 3))
        np.save(Path(folder) / f"{split}_graph_id.npy", np.array([7, 7, 7, 8, 8]))
        links = [{"source": 0, "target": 1}, {"source": 1, "target": 2}, {"source": 2, "target": 2}, {"source": 4, "target": 3}]
        content = {"directed": False, "multigraph": False, "graph": {}, "nodes": [{"id": k} for k in range(5)], "links": links}
        text(folder, **{f"{split}_graph.json": json.dumps(content)})


def mat_element(kind, content):
    return struct.pack("<II", kind, len(content)) + content + b"\0" * (-len(content) % 8)


def mat_matrix(name, array, sparse=False):
    """A matrix of float64 in MATLAB's version 5."""
    array = np.asarray(array, np.float64)
    head = mat_element(6, struct.pack("<II", 5 if sparse else 6, array.size)) + mat_element(5, np.array(array.shape, "<i4").tobytes())
    head += mat_element(1, name.encode())
    if sparse:
        col, row = np.nonzero(array.T)
        start = np.concatenate([[0], np.cumsum(np.bincount(col, minlength=array.shape[1]))])
        body = mat_element(5, row.astype("<i4").tobytes()) + mat_element(5, start.astype("<i4").tobytes()) + mat_element(9, array[row, col].tobytes())
    else:
        body = mat_element(9, array.tobytes(order="F"))
    return mat_element(14, head + body)


def mat(path, packed=True, **matrices):
    out = b"MATLAB 5.0 MAT-file".ljust(124, b" ") + struct.pack("<H", 0x0100) + b"IM"
    for name, (array, is_sparse) in matrices.items():
        element = mat_matrix(name, array, is_sparse)
        if packed:
            content = zlib.compress(element)
            element = struct.pack("<II", 15, len(content)) + content
        out += element
    Path(path).write_bytes(out)


def facebook(folder):
    adj = np.zeros((4, 4))
    adj[[0, 1, 1, 3], [1, 0, 3, 1]] = 1
    mat(Path(folder) / "data.mat", A=(adj, True), local_info=([[1, 2, 5], [2, 1, 5], [1, 0, 7], [3, 2, 5]], False))


def penn(folder):
    facebook(folder)
    parts = [
        {"train": np.array([0, 1]), "valid": np.array([2]), "test": np.array([3])},
        {"train": np.array([3]), "valid": np.array([2]), "test": np.array([0])},
    ]
    objects = np.empty(2, object)
    objects[:] = parts
    np.save(Path(folder) / "fb100-Penn94-splits.npy", objects, allow_pickle=True)


def genius(folder):
    mat(Path(folder) / "data.mat", False, edge_index=([[0, 1], [1, 2]], False), node_feat=(np.eye(3), False), label=([[0, 1, 0]], False))


def magnn(folder):
    adj = np.zeros((6, 6))
    adj[[0, 1, 2, 3, 0, 4, 5], [2, 3, 0, 1, 4, 0, 1]] = 1
    sparse(Path(folder) / "adjM.npz", adj)
    for k in range(3):
        sparse(Path(folder) / f"features_{k}.npz", np.eye(2, 3) * (k + 1))
    np.save(Path(folder) / "labels.npy", np.array([1, 0]))
    np.savez(Path(folder) / "train_val_test_idx.npz", train_idx=np.array([0]), val_idx=np.array([1]), test_idx=np.array([], np.int64))


def dblp(folder):
    magnn(folder)
    adj = np.zeros((7, 7))
    adj[[0, 2, 6], [2, 6, 0]] = 1
    sparse(Path(folder) / "adjM.npz", adj)
    np.save(Path(folder) / "features_2.npy", np.eye(2))
    np.save(Path(folder) / "node_types.npy", np.array([0, 0, 1, 1, 2, 2, 3]))


def lastfm(folder):
    adj = np.zeros((5, 5))
    adj[[0, 1, 2, 3, 0, 1], [2, 3, 4, 4, 1, 0]] = 1
    sparse(Path(folder) / "adjM.npz", adj)
    np.save(Path(folder) / "node_types.npy", np.array([0, 0, 1, 1, 2]))
    pairs = np.array([[0, 1], [1, 0]])
    for sign in ("pos", "neg"):
        np.savez(Path(folder) / f"train_val_test_{sign}_user_artist.npz", **{f"{p}_{sign}_user_artist": pairs for p in ("train", "val", "test")})


def aminer(folder):
    text(
        folder,
        **{
            "id_author.txt": "0\tA Name\n1\tB\n",
            "id_conf.txt": "0\tICML\n1\tKDD\n",
            "paper_author.txt": "0\t0\n1\t1\n1\t1\n",
            "paper_conf.txt": "0\t1\n1\t0\n",
        },
    )
    text(folder, **{"label/googlescholar.8area.author.label.txt": "B 3\n", "label/googlescholar.8area.venue.label.txt": "KDD 1\nICML 2\n"})


def ogb_mag(folder):
    paper = {
        "node-feat/paper/node-feat.csv.gz": "1,2\n3,4\n",
        "node-feat/paper/node_year.csv.gz": "2010\n2011\n",
        "node-label/paper/node-label.csv.gz": "5\n0\n",
    }
    counts = {"num-node-dict.csv.gz": "author,field_of_study,institution,paper\n2,1,1,2\n"}
    edges = {
        f"relations/{r}/edge.csv.gz": e
        for r, e in (
            ("author___affiliated_with___institution", "0,0\n"), ("author___writes___paper", "0,1\n1,0\n"), ("paper___cites___paper", "0,1\n"),
            ("paper___has_topic___field_of_study", "1,0\n"),
        )
    }  # fmt: skip
    parts = {f"split/time/paper/{p}.csv.gz": v for p, v in (("train", "0\n"), ("valid", "1\n"), ("test", ""))}
    text(folder, **paper, **counts, **edges, **parts)


def hgb(folder):
    info = {"node.dat": {"node type": {"0": "paper", "1": "author"}}, "label.dat": {"node type": {"0": {"0": "a", "1": "b"}}}}
    info["link.dat"] = {
        "link type": {"0": {"start": 0, "end": 1, "meaning": "paper-author"}, "1": {"start": 0, "end": 0, "meaning": "paper-cite-paper"}}
    }
    node = "0\tp0\t0\t1,2\n1\tp1\t0\t3,4\n2\ta0\t1\n"
    link = "0\t2\t0\t1.0\n1\t2\t0\t1.0\n0\t1\t1\t2.5\n"
    text(
        folder, **{"info.dat": json.dumps(info), "node.dat": node, "link.dat": link, "label.dat": "0\tp0\t0\t1\n", "label.dat.test": "1\tp1\t0\t0\n"}
    )


def ml100k(folder):
    flags = "|".join("1" if k in (1, 3) else "0" for k in range(19))
    text(folder, **{"u.item": f"1|Toy|01-Jan-1995||http|{flags}\n7|Heat|01-Jan-1995||http|{flags}\n", "u.user": "1|24|M|writer|1\n2|48|F|other|2\n"})
    text(folder, **{"u1.base": "1\t7\t5\t100\n2\t1\t3\t90\n", "u1.test": "2\t7\t1\t120\n"})


def ml1m(folder):
    text(folder, **{"movies.dat": "3::Toy (1995)::Comedy|Animation\n5::Heat::Action\n", "users.dat": "1::F::1::10::48067\n2::M::56::16::70072\n"})
    text(folder, **{"ratings.dat": "1::5::5::978300760\n2::3::3::978302109\n"})


def movielens(folder):
    text(folder, **{"movies.csv": 'movieId,title,genres\n3,"Toy, Story",Comedy|Animation\n5,Heat,Action\n'})
    text(folder, **{"ratings.csv": "userId,movieId,rating,timestamp\n9,5,4.0,10\n4,3,2.5,20\n9,3,1.0,30\n"})


def amazon_book(folder):
    text(
        folder,
        **{
            "user_list.txt": "org_id remap_id\nA 0\nB 1\n",
            "item_list.txt": "org_id remap_id\nX 0\nY 1\nZ 2\n",
            "train.txt": "0 1 2\n1 0\n",
            "test.txt": "0 0\n1\n",
        },
    )


def taobao(folder):
    rows = ["1,10,100,pv,1511539300", "1,10,100,buy,1511539400", "2,20,100,fav,1511539500", "2,20,100,fav,1511539500", "3,30,300,cart,1"]
    text(folder, **{"UserBehavior.csv": "\n".join(rows) + "\n"})


def wordnet(folder):
    text(folder, **{"train.txt": "2\n0 1 2\n3 0 1\n", "valid.txt": "1\n0 2 5\n", "test.txt": "1\n3 1 0\n"})


def wordnet_rr(folder):
    text(folder, **{"train.txt": "a\t_hypernym\tb\nc\t_also_see\ta\n", "valid.txt": "b\t_has_part\tc\n", "test.txt": "a\t_verb_group\tc\n"})


def freebase(folder):
    text(folder, **{"train.txt": "/m/a\t/r/x\t/m/b\n/m/c\t/r/y\t/m/a\n", "valid.txt": "/m/b\t/r/x\t/m/d\n", "test.txt": "/m/a\t/r/y\t/m/d\n"})


def rel_link(folder):
    freebase(folder)
    text(folder, **{"entities.dict": "0\t/m/a\n1\t/m/b\n2\t/m/c\n3\t/m/d\n", "relations.dict": "0\t/r/x\n1\t/r/y\n"})


def jodie(folder):
    head = "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n"
    text(folder, **{"wikipedia.csv": head + "0,0,0.0,0,0.5,1.5\n1,0,36.7,1,2.5,3.5\n0,1,40.0,0,-1,0\n"})


def myket(folder):
    text(folder, **{"myket.csv": "user_id,item_id,timestamp,state_label,x\n0,1,10,0,0\n1,0,11,0,0\n"})
    np.save(Path(folder) / "app_info_sample.npy", np.arange(6.0).reshape(2, 3))


def icews(folder):
    text(folder, **{"train.txt": "1\t2\t3\t24\t0\n4\t2\t1\t72\t0\n", "valid.txt": "1\t3\t3\t96\t0\n", "test.txt": "5\t2\t3\t120\t0\n"})


def elliptic(folder):
    text(folder, **{"elliptic_txs_features.csv": "230,1,0.5,1\n5530,1,2,3\n232,36,4,5\n", "elliptic_txs_edgelist.csv": "txId1,txId2\n230,5530\n"})
    text(folder, **{"elliptic_txs_classes.csv": "txId,class\n230,unknown\n5530,2\n232,1\n"})


def bitcoin(folder):
    day = 86400
    text(folder, **{"soc-sign-bitcoinotc.csv": f"6,2,4,0.5\n6,5,-2,{10 * day}\n1,6,1,{50 * day}\n2,1,1,{51 * day}\n"})


def qm7b(folder):
    x = np.zeros((2, 3, 3))
    x[0, :2, :2], x[1] = [[1, 2], [2, 3]], 4
    mat(Path(folder) / "qm7b.mat", X=(x, False), T=(np.arange(28.0).reshape(2, 14), False))


def md17(folder):
    np.savez(
        Path(folder) / "md17_ethanol.npz",
        z=np.array([6, 8]),
        R=np.arange(18.0).reshape(3, 2, 3),
        E=np.arange(3.0).reshape(3, 1),
        F=np.ones((3, 2, 3)),
    )


def zinc(folder):
    for part in ("train", "val", "test"):
        mol = {
            "atom_type": np.array([0, 3, 1]),
            "bond_type": np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]]),
            "logP_SA_cycle_normalized": np.array([0.25]),
        }
        other = {"atom_type": np.array([5, 5]), "bond_type": np.array([[0, 3], [3, 0]]), "logP_SA_cycle_normalized": np.array([-1.5])}
        (Path(folder) / f"{part}.pickle").write_bytes(pickle.dumps([mol, other]))
        text(folder, **{f"{part}.index": "1\n"})


def aqsol(folder):
    one = (np.array([1, 2, 2]), np.array([1, 1]), np.array([[0, 1], [1, 0]]), np.float64(-2.5))
    alone = (np.array([1]), np.array([], np.int64), np.zeros((2, 0), np.int64), 1.0)
    for part in ("train", "val", "test"):
        (Path(folder) / f"{part}.pickle").write_bytes(pickle.dumps([one, alone]))


def tox21(folder):
    names = ",".join(f"t{k}" for k in range(12))
    row = ",".join("" if k == 3 else str(k % 2) for k in range(12))
    text(folder, **{"tox21.csv": f'{names},mol_id,smiles\n{row},"T,1",CCO\n{row},T2,C\n'})


def multi_shapes(folder):
    adjs, xs = [np.array([[0, 1.0], [1, 0]]), np.array([[0, 1, 1.0], [1, 0, 0], [1, 0, 0]])], [[[0.1, 0.2]] * 2, [[0.3, 0.4]] * 3]
    (Path(folder) / "BAMultiShapes.pkl").write_bytes(pickle.dumps((adjs, xs, [0, 1])))


def off(path, quad=False):
    text(
        Path(path).parent,
        **{Path(path).name: f"OFF\n4 {2 if quad else 1} 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1.5\n3 0 1 2\n" + ("4 0 1 2 3\n" if quad else "")},
    )


def modelnet(folder):
    kinds = ["bathtub", "bed", "chair", "desk", "dresser", "monitor", "night_stand", "sofa", "table", "toilet"]
    for kind in kinds:
        for part in ("train", "test"):
            (Path(folder) / kind / part).mkdir(parents=True)
            off(Path(folder) / kind / part / f"{kind}_0001.off", part == "test")


def shapes(folder):
    for kind in ("2d_circle", "cube"):
        for part in ("train", "test"):
            (Path(folder) / kind / part).mkdir(parents=True)
            off(Path(folder) / kind / part / "0.off")


def ply(path, binary=False):
    """A tetrahedron without one side; binary with a quadrangle."""
    pos = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], "<f4")
    kind = "binary_little_endian" if binary else "ascii"
    faces = [[0, 1, 2], [0, 1, 2, 3]] if binary else [[0, 1, 2], [0, 2, 3]]
    head = (
        f"ply\nformat {kind} 1.0\ncomment none\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\nelement face {len(faces)}\n"
    )
    head += "property list uchar int vertex_indices\nend_header\n"
    if binary:
        body = pos.tobytes() + b"".join(struct.pack(f"<B{len(f)}i", len(f), *f) for f in faces)
    else:
        body = (
            "\n".join(" ".join(map(str, p)) for p in pos.tolist()) + "\n" + "\n".join(f"{len(f)} {' '.join(map(str, f))}" for f in faces) + "\n"
        ).encode()
    Path(path).write_bytes(head.encode() + body)


def faust(folder):
    for k in range(100):
        ply(Path(folder) / f"tr_reg_{k:03d}.ply", k % 2 == 0)


def coma(folder):
    for kind in ("bareteeth", "mouth_up"):
        (Path(folder) / "FaceTalk_1" / kind).mkdir(parents=True)
        for k in range(2):
            ply(Path(folder) / "FaceTalk_1" / kind / f"{k}.ply")


def tosca(folder):
    for name in ("cat0", "cat10", "cat2", "dog1"):
        text(folder, **{f"{name}.vert": "0 0 0\n1 0 0\n0 1 0\n", f"{name}.tri": "1 2 3\n"})


def shapenet(folder):
    for part, name in (("train", "a"), ("val", "b"), ("test", "c")):
        names = [f"shape_data/02773838/{name}", f"shape_data/03797390/{name}"]
        text(folder, **{f"train_test_split/shuffled_{part}_file_list.json": json.dumps(names)})
        text(folder, **{f"02773838/{name}.txt": "0 0 0 1 0 0 4.0\n1 0 0 0 1 0 5.0\n", f"03797390/{name}.txt": "0 0 0 1 0 0 36.0\n"})


def ogb_graphs(folder):
    raw = {"num-node-list": "2\n3\n", "num-edge-list": "1\n2\n", "edge": "0,1\n0,1\n2,1\n", "node-feat": "1,0\n2,0\n3,0\n4,0\n5,1\n"}
    raw |= {"edge-feat": "1\n2\n3\n", "graph-label": "1\nnan\n"}
    text(folder, **{f"raw/{k}.csv.gz": v for k, v in raw.items()})
    text(folder, **{f"split/scaffold/{p}.csv.gz": v for p, v in (("train", "0\n"), ("valid", "1\n"), ("test", "0\n"))})


def sdf(path):
    atoms = "    0.0    0.0    0.0 O   0  0\n    1.0    0.0    0.0 H   0  0\n    0.0    1.0    0.0 H   0  0\n"
    Path(path).write_text(f"water\n tool\n\n  3  2  0     0  0\n{atoms}  1  2  1  0\n  1  3  1  0\nM  END\n")
