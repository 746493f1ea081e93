"""Points on things: noisy surfaces (PCPNet), key points of pictures (PascalPF), partial shapes (SHREC2016), organs (MedShapeNet), teeth
(Teeth3DS)."""

from __future__ import annotations

import os
from glob import escape, glob
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ..io.meshes import mesh, read_obj, read_off
from ._arrays import float32, load_json, numbers, read_lines, tensor
from ._bases import Archived, many, one_of
from ._mat import load_mat
from ._pickles import load_npz
from ._tables import read_table


class PCPNetDataset(Archived):
    """Clouds of points of 30 shapes with normals and curvatures as `x` ("PCPNet: Learning Local Shape Properties from Raw Point Clouds", 2018).

    category: "NoNoise", "Noisy", "VarDensity" or "NoisyAndVarDensity"; for the test "All", "NoNoise", "LowNoise", "MedNoise", "HighNoise",
    "VarDensityStriped" or "VarDensityGradient". split: "train", "val" or "test".

    >>> from polygrad.geometric.datasets import PCPNetDataset
    >>> dataset = PCPNetDataset("data/PCPNetDataset", category="NoNoise", split="train")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "pcpnet"
    name = "PCPNetDataset"
    files: ClassVar[dict[str, str]] = {
        "NoNoise": "no_noise", "Noisy": "whitenoise", "VarDensity": "vardensity", "NoisyAndVarDensity": "vardensity_whitenoise",
    }  # fmt: skip
    test_files: ClassVar[dict[str, str]] = {
        "All": "all", "NoNoise": "no_noise", "LowNoise": "low_noise", "MedNoise": "med_noise", "HighNoise": "high_noise",
        "VarDensityStriped": "vardensity_striped", "VarDensityGradient": "vardensity_gradient",
    }  # fmt: skip

    def __init__(
        self,
        root: str | None = None,
        category: str = "",
        split: str = "train",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.split = one_of("split", split, ("train", "val", "test"))
        self.category = one_of("category", category, list(self.test_files if split == "test" else self.files))
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        kind = {"train": "training", "val": "validation", "test": "test"}[self.split]
        return [f"{kind}set_{(self.test_files if self.split == 'test' else self.files)[self.category]}.txt"]

    @property
    def processed_file_names(self) -> str:
        return f"{self.split}_{self.category}.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        return [("http://geometry.cs.ucl.ac.uk/projects/2018/pcpnet/pclouds.zip", "pclouds.zip")]

    def _lift(self, folder: str) -> None:
        for place, _, names in list(os.walk(folder)):
            for name in names:
                if place != folder:
                    os.replace(os.path.join(place, name), os.path.join(folder, name))

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        graphs = []
        for name in read_lines(self.raw_paths[0]):
            if os.path.basename(name) != name:
                raise ValueError(f"{self.raw_paths[0]}: {name[:60]!r} is not a file of this set")
            path = os.path.join(self.raw_dir, name)
            pos, normal, curve = (read_table(f"{path}.{end}", np.float64, n) for end, n in (("xyz", 3), ("normals", 3), ("curv", 2)))
            if not len(pos) == len(normal) == len(curve):
                raise ValueError(f"{path}.xyz: {len(pos)} points, {len(normal)} normals and {len(curve)} curvatures do not fit")
            index = read_table(f"{path}.pidx", np.int64, 1)
            x = tensor(np.concatenate([normal, curve], axis=1), np.float32)
            graphs.append(Data(pos=tensor(pos, np.float32), x=x, test_idx=tensor(index.reshape(-1))))
        return many(graphs, self)

    def __repr__(self) -> str:
        return f"PCPNetDataset({len(self) if self._data is not None else ''}, category={self.category})"


class PascalPF(Archived):
    """Key points of things in pictures, and `pairs` of pictures whose points are to be matched ("Proposal Flow", 2016).

    category: one of 20, such as "car". y: which key points of the category a graph has; name: the picture.

    >>> from polygrad.geometric.datasets import PascalPF
    >>> dataset = PascalPF("data/PascalPF", category="aeroplane")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "pascal-pf"
    name = "PascalPF"
    categories: ClassVar[tuple[str, ...]] = (
        "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog", "horse", "motorbike", "person",
        "pottedplant", "sheep", "sofa", "train", "tvmonitor",
    )  # fmt: skip

    def __init__(
        self,
        root: str | None = None,
        category: str = "",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.category = one_of("category", category, self.categories)
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return ["Annotations", "parsePascalVOC.mat"]

    @property
    def processed_file_names(self) -> str:
        return f"{self.category}.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        return [("https://www.di.ens.fr/willow/research/proposalflow/dataset/PF-dataset-PASCAL.zip", "PF-dataset-PASCAL.zip")]

    def _notes(self, notes: dict[str, Any]) -> None:
        self.pairs = [(int(a), int(b)) for a, b in notes["pairs"]]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        graphs: list[Data] = []
        place: dict[str, int] = {}
        for path in sorted(glob(os.path.join(escape(self.raw_paths[0]), self.category, "*.mat"))):
            points = load_mat(path, ["kps"])["kps"]
            if not isinstance(points, np.ndarray) or points.ndim != 2 or points.shape[1] != 2:
                raise ValueError(f"{path}: a table of key points is needed")
            known = np.flatnonzero(~np.isnan(points[:, 0]))
            pos = float32(points[known])
            if not np.isfinite(pos).all():
                raise ValueError(f"{path}: a key point infinitely far away")
            pos = pos - pos.mean(axis=0, keepdims=True)
            length = np.linalg.norm(pos, axis=1).max(initial=0)
            name = os.path.basename(path).split(".")[0]
            place[name] = len(graphs)
            graphs.append(Data(pos=tensor(pos / length if length else pos), y=Tensor(known), name=name))
        data, slices, _ = many(graphs, self)
        return data, slices, {"pairs": self._pairs(self.raw_paths[1], place)}

    def _pairs(self, path: str, place: dict[str, int]) -> list[tuple[int, int]]:
        found = load_mat(path, ["PascalVOC"])["PascalVOC"]
        pairs = found[0].get("pair") if isinstance(found, list) and found and isinstance(found[0], dict) else None
        own = pairs[self.categories.index(self.category)] if isinstance(pairs, list) and len(pairs) == len(self.categories) else None
        if not isinstance(own, list) or len(own) % 2 or not all(isinstance(n, str) and n in place for n in own):
            raise ValueError(f"{path}: pairs of pictures of each of the {len(self.categories)} categories are needed")
        half = len(own) // 2
        return [(place[a], place[b]) for a, b in zip(own[:half], own[half:])]

    def __repr__(self) -> str:
        return f"PascalPF({len(self) if self._data is not None else ''}, category={self.category})"


class SHREC2016(Archived):
    """Parts of shapes, and for each of their points where it is on the whole shape `ref` ("SHREC'16: Partial Matching of Deformable Shapes", 2016).

    partiality: "holes" or "cuts". category: "cat", "centaur", "david", "dog", "horse", "michael", "victoria" or "wolf". In training, y is the
    triangle
    of ref that a point lies on, and y_baryc its place in it.

    >>> from polygrad.geometric.datasets import SHREC2016
    >>> dataset = SHREC2016("data/SHREC2016", partiality="holes", category="cat")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "shrec2016"
    name = "SHREC2016"
    categories: ClassVar[tuple[str, ...]] = ("cat", "centaur", "david", "dog", "horse", "michael", "victoria", "wolf")

    def __init__(
        self,
        root: str | None = None,
        partiality: str = "",
        category: str = "",
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.part, self.cat = one_of("partiality", partiality, ("holes", "cuts")), one_of("category", category, self.categories)
        self.train = train
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return ["training", "test"]

    @property
    def processed_file_names(self) -> str:
        return f"{'training' if self.train else 'test'}_{self.part}_{self.cat}.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        host, name = "http://www.dais.unive.it/~shrec2016/data", "shrec2016_PartialDeformableShapes"
        return [(f"{host}/{name}.zip", f"{name}.zip"), (f"{host}/{name}_TestSet.zip", f"{name}_TestSet.zip")]

    def _lift(self, folder: str) -> None:
        for name, own in (("shrec2016_PartialDeformableShapes", "training"), ("shrec2016_PartialDeformableShapes_TestSet", "test")):
            if os.path.isdir(os.path.join(folder, name)):
                os.rename(os.path.join(folder, name), os.path.join(folder, own))

    @property
    def ref(self) -> Data:
        """The whole shape."""
        data = Data(pos=self._whole[0], face=self._whole[1])
        if self.pre_transform is not None:
            data = self.pre_transform(data)
        return data if self.transform is None else self.transform(data)

    def _notes(self, notes: dict[str, Any]) -> None:
        self._whole = notes["pos"], notes["face"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        folder = self.raw_paths[0 if self.train else 1]
        paths = glob(os.path.join(escape(os.path.join(folder, self.part)), f"{self.part}_{self.cat}_*.off"))
        graphs = []
        for path in sorted((p[:-4] for p in paths), key=lambda p: (len(p), p)):
            data = read_off(f"{path}.off")
            if self.train:
                table = read_table(f"{path}.baryc_gt", np.float64, 4)
                data.y, data.y_baryc = tensor(table[:, 0].astype(np.int64) - 1), tensor(table[:, 1:], np.float32)
            graphs.append(data)
        whole = read_off(os.path.join(self.raw_paths[0], "null", f"{self.cat}.off"))
        data, slices, _ = many(graphs, self)
        return data, slices, {"pos": whole.pos, "face": whole.face}

    def __repr__(self) -> str:
        return f"SHREC2016({len(self) if self._data is not None else ''}, partiality={self.part}, category={self.cat})"


class MedShapeNet(Archived):
    """Meshes of organs, vessels and instruments in eight classes ("MedShapeNet - A Large-Scale Dataset of 3D Medical Shapes for Computer
    Vision", 2023).

    size: how many of each class. The package MedShapeNet fetches them: its `download_stl_as_numpy` writes the files <class>/<name>.npz with
    `vertices`
    and `faces` that are read here.

    >>> from polygrad.geometric.datasets import MedShapeNet
    >>> dataset = MedShapeNet("data/MedShapeNet", size=100)  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "medshapenet"
    name = "MedShapeNet"
    classes: ClassVar[tuple[str, ...]] = (
        "3DTeethSeg", "CoronaryArteries", "FLARE", "KITS", "PULMONARY", "SurgicalInstruments", "ThoracicAorta_Saitta", "ToothFairy",
    )  # fmt: skip

    def __init__(
        self,
        root: str | None = None,
        size: int = 100,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.size = size
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return list(self.classes)

    @property
    def processed_file_names(self) -> str:
        return f"dataset_{self.size}.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        raise ValueError("the Python package MedShapeNet fetches its files, by download_stl_as_numpy")

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        graphs = []
        for target, folder in enumerate(self.raw_paths):
            for name in sorted(n for n in os.listdir(folder) if n.endswith(".npz"))[: self.size]:
                path = os.path.join(folder, name)
                found = load_npz(path, ["vertices", "faces"])
                if any(a.ndim != 2 or a.shape[1] != 3 for a in found.values()) or found["faces"].dtype.kind not in "iu":
                    raise ValueError(f"{path}: tables of positions and triangles are needed")
                data = mesh(found["vertices"], found["faces"].astype(np.int64), path)
                data.y = Tensor(np.array([target]))
                graphs.append(data)
        return many(graphs, self)


@np.errstate(over="ignore", invalid="ignore")  # points infinitely far away have no normals
def vertex_normals(pos: np.ndarray, face: np.ndarray) -> np.ndarray:
    """Normals of vertices [V, 3]: of the triangles around each, weighted by their angles there."""
    corners = pos[face]  # [3, N, 3]
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    out = np.zeros_like(pos)
    for k in range(3):
        a, b = corners[(k + 1) % 3] - corners[k], corners[(k + 2) % 3] - corners[k]
        size = np.maximum(np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1), 1e-12)
        np.add.at(out, face[k], normal * np.arccos(np.clip((a * b).sum(axis=1) / size, -1, 1))[:, None])
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12)


class Teeth3DS(Archived):
    """Scans of teeth ("Teeth3DS+: An Extended Benchmark for Intraoral 3D Scans Analysis", 2022): num_samples points of each mesh with normals as `x`,
    the tooth `y` and the instance of each point, and landmarks (`mesial`, `distal`, `cusp`, `inner_point`, `outer_point`, `facial_point`).

    split: "Teeth3DS", "3DTeethSeg22_challenge", "3DTeethLand_challenge" or "sample". train: which part of it. Points are chosen far from each
    other; where
    a mesh has too few, some of them twice.

    >>> from polygrad.geometric.datasets import Teeth3DS
    >>> dataset = Teeth3DS("data/Teeth3DS", split="Teeth3DS", train=True)  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "teeth3ds"
    name = "Teeth3DS"
    parts_of: ClassVar[dict[str, str]] = {
        "data_part_1.zip": "qhprs", "data_part_2.zip": "4pwnr", "data_part_3.zip": "frwdp", "data_part_4.zip": "2arn4", "data_part_5.zip": "xrz5f",
        "data_part_6.zip": "23hgq", "data_part_7.zip": "u83ad", "3DTeethLand_landmarks_train.zip": "k5hbj", "3DTeethLand_landmarks_test.zip": "sqw5e",
    }  # fmt: skip
    landmarks: ClassVar[dict[str, str]] = {
        "Mesial": "mesial", "Distal": "distal", "Cusp": "cusp", "InnerPoint": "inner_point", "OuterPoint": "outer_point", "FacialPoint":
        "facial_point",
    }  # fmt: skip

    def __init__(
        self,
        root: str | None = None,
        split: str = "Teeth3DS",
        train: bool = True,
        num_samples: int = 30000,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.split = one_of("split", split, ("Teeth3DS", "3DTeethSeg22_challenge", "3DTeethLand_challenge", "sample"))
        self.mode, self.num_samples = "training" if train else "testing", num_samples
        super().__init__(root, transform, pre_transform, force_reload=force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return [os.path.join("teeth3ds_sample" if self.split == "sample" else "", f"{self.split}_train_test_split")]

    @property
    def processed_file_names(self) -> str:
        return f"{self.split}_{self.mode}_{self.num_samples}.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        if self.split == "sample":
            return [("https://osf.io/download/vr38s/", "teeth3ds_sample.zip")]
        split = ("https://files.de-1.osf.io/v1/resources/xctdy/providers/osfstorage/?zip=", "train_test_split.zip")
        return [*((f"https://osf.io/download/{key}/", name) for name, key in self.parts_of.items()), split]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        wanted = [name for path in sorted(glob(os.path.join(escape(self.raw_paths[0]), f"{self.mode}*.txt"))) for name in read_lines(path)]
        found = {os.path.basename(p)[:-4]: p for p in glob(os.path.join(escape(self.raw_dir), "**", "*.obj"), recursive=True)}
        return many([self._scan(found[name.strip()]) for name in wanted if name.strip() in found], self)

    def _scan(self, path: str) -> Data:
        from ..nn.pool import fps

        scan = read_obj(path)
        if scan is None:
            raise ValueError(f"{path}: not a mesh")
        pos, face = scan.pos.numpy(), scan.face.numpy()
        n = len(pos)
        if n < self.num_samples:
            some = np.random.default_rng(0).choice(n, self.num_samples)
        else:
            some = fps(scan.pos, ratio=self.num_samples / n, random_start=False).numpy()[: self.num_samples]
        data = Data(pos=tensor(pos[some]), x=tensor(vertex_normals(pos.astype(np.float64), face)[some], np.float32))
        labels = f"{path[:-4]}.json"
        data.y = data.instances = Tensor(np.zeros((0, 3), np.float32))
        if os.path.isfile(labels):
            notes = load_json(labels, "labels", "instances")
            for key, name in (("y", "labels"), ("instances", "instances")):
                values = numbers(notes[name], np.float32, labels)
                if values.shape != (n,):
                    raise ValueError(f"{labels}: {name} of {n} vertices are needed")
                data[key] = tensor(values[some])
        data.jaw = os.path.basename(path)[:-4].rpartition("_")[2]
        points: dict[str, list[Any]] = {k: [] for k in self.landmarks}
        marks = f"{path[:-4]}__kpt.json"
        if os.path.isfile(marks):
            for mark in load_json(marks, "objects")["objects"]:
                if not isinstance(mark, dict) or mark.get("class") not in points or not isinstance(mark.get("coord"), list):
                    raise ValueError(f"{marks}: a landmark is damaged")
                points[mark["class"]].extend(mark["coord"])
        for kind, own in points.items():
            flat = numbers(own, np.float32, marks)
            if flat.size % 3:
                raise ValueError(f"{marks}: three coordinates of each landmark are needed")
            data[self.landmarks[kind]] = tensor(flat.reshape(-1, 3))
        return data

    def __repr__(self) -> str:
        return f"Teeth3DS({len(self) if self._data is not None else ''}, mode={self.mode}, split={self.split})"


__all__ = ["MedShapeNet", "PCPNetDataset", "PascalPF", "SHREC2016", "Teeth3DS", "vertex_normals"]
