"""More small files in the formats of datasets: `write(folder)` writes them."""

import io
import json
import pickle
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
from dataset_files import off, sparse, text

SQUARE = {"x": np.eye(3, dtype=np.float32), "edge_index": np.array([[0, 1], [1, 2]])}


def malnet(folder):
    head = "# comments\n" * 5
    for name, edges in (("adware/a", "0 1\n1 2\n"), ("trojan/b", "0 3\n"), ("adware/c", "2 0\n"), ("benign/d", "0 1\n")):
        text(folder, **{f"malnet-graphs-tiny/{name}.edgelist": head + edges})
    for part, names in (("train", "adware/a\ntrojan/b\n"), ("val", "adware/c\n"), ("test", "benign/d\n")):
        text(folder, **{f"split_info_tiny/type/{part}.txt": names})


def upfd(folder):
    np.save(Path(folder) / "node_graph_id.npy", np.array([0, 0, 1, 1, 1]))
    np.save(Path(folder) / "graph_labels.npy", np.array([1, 0]))
    for part, index in (("train", [1]), ("val", [0]), ("test", [0, 1])):
        np.save(Path(folder) / f"{part}_idx.npy", np.array(index))
    text(folder, **{"A.txt": "0, 1\n2, 4\n2, 3\n2, 3\n"})
    sparse(Path(folder) / "new_profile_feature.npz", np.arange(10.0).reshape(5, 2))


def gexf(kinds, pairs):
    nodes = "".join(f'<node id="n{k}"><attvalues><attvalue for="0" value="{a}"/></attvalues></node>' for k, a in enumerate(kinds))
    edges = "".join(f'<edge id="{k}" source="n{a}" target="n{b}"/>' for k, (a, b) in enumerate(pairs))
    names = '<attributes class="node"><attribute id="0" title="type" type="string"/></attributes>'
    return (
        f'<?xml version="1.0"?><gexf xmlns="http://www.gexf.net/1.2draft"><graph>{names}<nodes>{nodes}</nodes><edges>{edges}</edges></graph></gexf>'
    )


def ged(folder, name="AIDS700nef"):
    graphs = {"train/7": ("CO", [(0, 1)]), "train/12": ("CCN", [(0, 1), (2, 1)]), "test/3": ("C", [])}
    for where, (kinds, pairs) in graphs.items():
        text(folder, **{f"{name}/{where}.gexf": gexf(kinds, pairs)})
    (Path(folder) / name / "ged.pickle").write_bytes(pickle.dumps({(7, 12): 2, (7, 7): 0, (3, 12): 4.0}, 2))


def dbp15k(folder):
    text(folder, **{"sub.glove.300d": "red 1 0\n0.5 0.5\nfish 0 1\n"})
    for k in ("en_zh", "en_fr", "en_ja", "zh_en", "fr_en", "ja_en"):
        text(
            folder,
            **{
                f"{k}/triples_1": "9\t0\t5\n5\t1\t9\n", f"{k}/id_features_1": "5\tRed fish\n9\tbird\n", f"{k}/triples_2": "1\t3\t0\n",
                f"{k}/id_features_2": "0\tfish\n1\n", f"{k}/train.examples.20": "5\t1\t1\n9\t1\t0\n", f"{k}/test.examples.1000": "9\t0\t1\n",
            },
        )  # fmt: skip


def ego(folder):
    base = Path(folder) / "facebook"
    text(base, **{"0.featnames": "0 age;1\n1 town;7\n", "0.feat": "11 1 0\n12 0 1\n13 0 0\n", "0.egofeat": "1 1\n", "0.circles": "circle0\t11\t13\n"})
    text(base, **{"0.edges": "11 12\n"})
    text(base, **{"9.featnames": "0 age;2\n", "9.feat": "21 1\n", "9.egofeat": "1\n", "9.circles": "", "9.edges": ""})


def suite_sparse(folder):
    import scipy.io
    import scipy.sparse

    matrix = scipy.sparse.csc_matrix(np.array([[0, 2.0, 0], [0, 0, 1.0], [4.0, 0, 0]]))
    scipy.io.savemat(Path(folder) / "small.mat", {"Problem": {"title": "a matrix", "id": 3.0, "A": matrix, "name": "Group/small"}})


def customers(folder):
    def packed(name, content):
        with zipfile.ZipFile(Path(folder) / f"{name}.zip", "w") as z:
            z.writestr(name, content)

    from polygrad.geometric.datasets import HM

    packed("customers.csv", "customer_id,FN,Active,club_member_status,fashion_news_frequency,age\na,1.0,,ACTIVE,NONE,20\nb,,1.0,LEFT,Regularly,\n")
    packed("articles.csv", f"article_id,{','.join(HM.articles)}\n07,{','.join(['2'] * 19)}\n08,{','.join(['10'] * 19)}\n")
    sales = "t_dat,customer_id,article_id,price,sales_channel_id\n1970-01-03,b,07,0.5,2\n1970-01-04,a,08,0.25,1\n1970-01-04,b,08,0.125,2\n"
    packed("transactions_train.csv", sales)


def rcdd(folder):
    text(folder, **{"AliRCD_ICDM_nodes.csv": "0,item,1:2\n2,b,5\n1,item,3:4\n", "AliRCD_ICDM_edges.csv": "1,2,item,b,A\n2,0,b,item,A_1\n"})
    text(folder, **{"AliRCD_ICDM_train_labels.csv": "1,1\n", "AliRCD_ICDM_test_labels.csv": "0\t0\n"})


def machines(folder):
    from polygrad.geometric.datasets import OSE_GVCS

    for k, name in enumerate(OSE_GVCS.machines):
        ecology = (
            [{"relationship": "uses", "tool": "3D Scanner"}, {"relationship": "uses", "tool": "Hammer"}, {"relationship": "has"}] if k < 2 else []
        )
        text(folder, **{f"{name.lower().replace(' ', '_')}.json": json.dumps({"machine": name, "category": "energy", "ecology": ecology})})


def opf(folder):
    def example(k):
        edges = {"senders": [0, 1], "receivers": [1, 0], "features": [[1.0], [2.0]]}
        link = {"senders": [0], "receivers": [1]}
        kinds = {"bus": [[1.0, k], [2.0, k]], "generator": [[3.0]], "load": [[4.0]], "shunt": [[5.0]]}
        grid = {"context": [[[100.0]]], "nodes": kinds}
        grid["edges"] = {"ac_line": edges, "transformer": edges, "generator_link": link, "load_link": link, "shunt_link": link}
        solution = {"nodes": {"bus": [[0.0], [1.0]], "generator": [[2.0]]}, "edges": {"ac_line": edges, "transformer": edges}}
        return {"grid": grid, "solution": solution, "metadata": {"objective": 7.5}}

    with tarfile.open(Path(folder) / "pglib_opf_case14_ieee_0.tar.gz", "w:gz") as archive:
        for k in (0, 13499, 13500, 14999):
            content = json.dumps(example(k)).encode()
            entry = tarfile.TarInfo(f"gridopt-dataset-tmp/dataset_release_1/pglib_opf_case14_ieee/group_0/example_{k}.json")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def pcpnet(folder):
    text(folder, **{"trainingset_whitenoise.txt": "cat\ndog\n", "testset_all.txt": "dog\n"})
    for name in ("cat", "dog"):
        points = {"xyz": "0 0 0\n1 0 0\n", "normals": "0 0 1\n0 1 0\n", "curv": "0.5 1\n2 3\n", "pidx": "1\n"}
        text(folder, **{f"{name}.{end}": content for end, content in points.items()})


def pascal(folder):
    import scipy.io

    for name, points in (("b1", [[0, 0], [np.nan, np.nan], [2, 0]]), ("a2", [[0, 0], [0, 4], [0, 8]])):
        (Path(folder) / "Annotations" / "bird").mkdir(parents=True, exist_ok=True)
        scipy.io.savemat(Path(folder) / "Annotations" / "bird" / f"{name}.mat", {"kps": np.array(points)})
    pairs = np.empty((1, 20), object)
    for k in range(20):
        pairs[0, k] = np.empty((0, 2), object)
    own = np.empty((2, 2), object)
    own[0, 0], own[0, 1], own[1, 0], own[1, 1] = "b1", "a2", "a2", "a2"
    pairs[0, 2] = own
    scipy.io.savemat(Path(folder) / "parsePascalVOC.mat", {"PascalVOC": {"pair": pairs}})


def shrec(folder):
    for place in ("training/null/cat", "training/cuts/cuts_cat_shape_2", "training/cuts/cuts_cat_shape_10", "test/cuts/cuts_cat_shape_1"):
        (Path(folder) / place).parent.mkdir(parents=True, exist_ok=True)
        off(Path(folder) / f"{place}.off")
    for k in (2, 10):
        text(folder, **{f"training/cuts/cuts_cat_shape_{k}.baryc_gt": f"{k} 0.5 0.5 0\n1 1 0 0\n"})


def organs(folder):
    from polygrad.geometric.datasets import MedShapeNet

    for name in MedShapeNet.classes:
        (Path(folder) / name).mkdir()
        for k in range(2):
            np.savez(Path(folder) / name / f"{k}.npz", vertices=np.eye(3) * (k + 1), faces=np.array([[0, 1, 2]]))


def teeth(folder):
    mesh = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n"
    base = "teeth3ds_sample"
    text(folder, **{f"{base}/sample_train_test_split/training_lower_sample.txt": "P1_lower\n", f"{base}/01/P1/P1_lower.obj": mesh})
    text(folder, **{f"{base}/01/P1/P1_lower.json": json.dumps({"labels": [0, 11, 12, 13], "instances": [0, 1, 2, 3]})})
    marks = {"objects": [{"class": "Cusp", "coord": [1, 2, 3]}, {"class": "Cusp", "coord": [4, 5, 6]}]}
    text(folder, **{f"{base}/01/P1/P1_lower__kpt.json": json.dumps(marks)})


XYZ = "3\nLattice {0}\nO 0 0 0.5\nH 1 0 0\nH 0 1 0\n"


def omdb(folder):
    with tarfile.open(Path(folder) / "OMDB-GAP1_v1.1.tar.gz", "w:gz") as archive:
        for name, content in (("structures.xyz", XYZ.format(1) + XYZ.format(2)), ("bandgaps.csv", "1.5\n2.5\n")):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content.encode()))


def water(folder):
    one = "9\nlabel {0}\n" + "O 0 0 0\nH 1 0 0\nH 0 1 0\n" * 3
    with zipfile.ZipFile(Path(folder) / "W3_geoms_all.zip", "w") as z:
        z.writestr("W3_geoms_all.xyz", one.format(-1.5) + one.format(-2.5))
    z = np.tile(np.array([8, 1, 1], np.int8), (2, 4))
    np.savez(Path(folder) / "W4_geoms_all.npz", z=z, pos=np.ones((2, 12, 3), np.float16), y=np.array([1, 2], np.float32), num_graphs=2)


def graphland(folder, name="artnet-views"):
    rng = np.random.default_rng(0)
    n = 12
    table = np.round(rng.standard_normal((n, 3)), 2)
    kinds = rng.integers(0, 3, (n, 2)) % np.array([3, 2])
    rows = ["id,a,b,f,c,d"] + [f"{k},{table[k, 0]},{table[k, 1] if k else ''},{table[k, 2]},{kinds[k, 0]},{kinds[k, 1]}" for k in range(n)]
    info = "dataset_name: x  # a name\ntask: regression\ntarget_name: views\nnumerical_features_names:\n- a\n- b\n- f\nfraction_features_names: [f]\n"
    info += "categorical_features_names:\n  - c\n  - d\n"
    targets = "id,views\n" + "".join(f"{k},{'' if k == 5 else k * k}\n" for k in range(n))
    masks = "id,train,val,test\n" + "".join(f"{k},{k % 3 == 0},{k % 3 == 1},{k % 3 == 2}\n" for k in range(n))
    files = {
        "info.yaml": info,
        "features.csv": "\n".join(rows) + "\n",
        "targets.csv": targets,
        "split_masks_RL.csv": masks,
        "split_masks_TH.csv": masks,
    }
    files["edgelist.csv"] = "source,target\n0,3\n3,1\n1,2\n5,11\n"
    text(folder, **{f"{name}/{k}": v for k, v in files.items()})
    return table, kinds


# ---- HDF5 ----


def hdf5(path, arrays, user_block=0, packed=()):
    """A file of one group: contiguous arrays, or chunks of (2, ...) packed by shuffle and deflate for those of packed."""
    out = bytearray()
    undefined = b"\xff" * 8

    def place(content):
        out.extend(b"\0" * (-len(out) % 8))
        at = len(out)
        out.extend(content)
        return at

    def message(kind, body):
        body += b"\0" * (-len(body) % 8)
        return struct.pack("<HHB3x", kind, len(body), 0) + body

    def header(messages):
        body = b"".join(messages)
        return place(struct.pack("<BxHII4x", 1, len(messages), 1, len(body)) + body)

    def chunked(a):
        keys = b""
        size = (2, *a.shape[1:])
        starts = range(0, len(a), 2)
        for k in starts:
            part = np.zeros(size, a.dtype)
            part[: len(a[k : k + 2])] = a[k : k + 2]
            raw = np.frombuffer(part.tobytes(), np.uint8).reshape(-1, a.itemsize).T.tobytes()
            content = zlib.compress(raw)
            keys += struct.pack(f"<II{a.ndim + 1}Q", len(content), 0, k, *[0] * a.ndim) + struct.pack("<Q", place(content))
        keys += struct.pack(f"<II{a.ndim + 1}Q", 0, 0, len(a), *[0] * a.ndim)
        tree = place(b"TREE" + struct.pack("<BBH", 1, 0, len(starts)) + undefined * 2 + keys)
        layout = struct.pack(f"<BBBQ{a.ndim + 1}I", 3, 2, a.ndim + 1, tree, *size, a.itemsize)
        filters = struct.pack("<BB6x", 1, 2) + struct.pack("<HHHHI4x", 2, 0, 1, 1, a.itemsize) + struct.pack("<HHHHI4x", 1, 0, 1, 1, 4)
        return [message(0x08, layout), message(0x0B, filters)]

    place(b"\0" * 96)
    addresses = {}
    for name, a in arrays.items():
        a = np.ascontiguousarray(a)
        kind = 1 if a.dtype.kind == "f" else 0
        shape = struct.pack(f"<BBB5x{a.ndim}Q", 1, a.ndim, 0, *a.shape)
        dtype = struct.pack("<BBBBI", 0x10 | kind, 8 if a.dtype.kind == "i" else 0, 0, 0, a.itemsize) + b"\0" * (12 if kind else 4)
        content = chunked(a) if name in packed else [message(0x08, struct.pack("<BBQQ", 3, 1, place(a.tobytes()), a.nbytes))]
        addresses[name] = header([message(0x01, shape), message(0x03, dtype), *content])
    heap, starts = b"\0" * 8, {}
    for name in sorted(arrays):
        starts[name] = len(heap)
        heap += name.encode() + b"\0" * (8 - len(name) % 8)
    names = place(b"HEAP" + struct.pack("<B3xQQQ", 0, len(heap), 1, len(out) + 32 + (-len(out) % 8)))
    place(heap)
    entries = b"".join(struct.pack("<QQII16x", starts[n], addresses[n], 0, 0) for n in sorted(arrays))
    node = place(b"SNOD" + struct.pack("<BxH", 1, len(arrays)) + entries)
    tree = place(b"TREE" + struct.pack("<BBH", 0, 0, 1) + undefined * 2 + struct.pack("<QQQ", 0, node, starts[max(arrays)]))
    root = header([message(0x11, struct.pack("<QQ", tree, names))])
    block = b"\x89HDF\r\n\x1a\n" + struct.pack("<BBBxBBBxHHI", 0, 0, 0, 0, 8, 8, 4, 16, 0)
    block += struct.pack("<Q", 0) + undefined + struct.pack("<Q", len(out)) + undefined + struct.pack("<QQII16x", 0, root, 0, 0)
    out[: len(block)] = block
    Path(path).write_bytes(b"M" * user_block + bytes(out))


def igmc(folder):
    ratings = np.array([[5, 0, 3], [0, 4, 0]], np.float64)
    arrays = {"M": ratings.T, "Otraining": np.array([[1, 0, 0], [0, 1, 0]], np.float64).T, "Otest": np.array([[0, 0, 1], [0, 0, 0]], np.float64).T}
    hdf5(Path(folder) / "training_test_dataset.mat", {**arrays, "W_users": np.eye(2)}, 512, ("M",))


def rooms(folder):
    text(folder, **{"all_files.txt": "a/b/one.h5\ntwo.h5\n", "room_filelist.txt": "Area_1_office\nArea_6_hall\nArea_2_hall\n"})
    data = np.arange(3 * 4 * 9, dtype=np.float32).reshape(3, 4, 9)
    label = np.arange(12, dtype=np.uint8).reshape(3, 4)
    hdf5(Path(folder) / "one.h5", {"data": data[:2], "label": label[:2]}, packed=("data",))
    hdf5(Path(folder) / "two.h5", {"data": data[2:], "label": label[2:]})


def people(folder):
    pos = np.arange(4 * 3 * 2, dtype=np.float64).reshape(4, 3, 2)
    hdf5(Path(folder) / "registrations_m.hdf5", {"faces": np.array([[0, 1, 2], [1, 2, 3]], np.uint32), "50002_hips": pos})
    hdf5(Path(folder) / "registrations_f.hdf5", {"50004_knees": pos + 1})
