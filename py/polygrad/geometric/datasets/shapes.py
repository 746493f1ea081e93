"""Shapes: meshes and clouds of points (ModelNet, GeometricShapes, ShapeNet, FAUST, CoMA, TOSCA)."""

from __future__ import annotations

import os
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ..io.meshes import mesh, read_off, read_ply
from ._arrays import load_json, tensor
from ._bases import Archived, many, one_of
from ._files import data_folders
from ._tables import read_table


class _Shapes(Archived):
    """train: which of the two parts."""

    def __init__(
        self,
        root: str | None = None,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.train, self.name = train, self.name or type(self).__name__
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    @property
    def processed_file_names(self) -> str:
        return "train.safetensors" if self.train else "test.safetensors"

    def _classes(self) -> list[Data]:
        """The meshes in folders `<class>/<train or test>`, numbered by the order of the classes."""
        out = []
        kinds = sorted(k for k in os.listdir(self.raw_dir) if os.path.isdir(os.path.join(self.raw_dir, k)) and not k.startswith((".", "__")))
        for target, kind in enumerate(kinds):
            folder = os.path.join(self.raw_dir, kind, "train" if self.train else "test")
            names = sorted(n for n in (os.listdir(folder) if os.path.isdir(folder) else []) if n.endswith(".off"))
            for name in names:
                data = read_off(os.path.join(folder, name))
                data.y = Tensor(np.array([target]))
                out.append(data)
        return out


class ModelNet(_Shapes):
    """Meshes of things ("3D ShapeNets: A Deep Representation for Volumetric Shapes", 2015). name: "10" or "40" classes.

    >>> from polygrad.geometric.datasets import ModelNet
    >>> dataset = ModelNet("data/ModelNet", name="10", train=True)  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "modelnet"

    def __init__(
        self,
        root: str | None = None,
        name: str = "10",
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.name = f"ModelNet{one_of('name', name, ('10', '40'))}"
        super().__init__(root, train, transform, pre_transform, pre_filter, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return ["bathtub", "bed", "chair", "desk", "dresser", "monitor", "night_stand", "sofa", "table", "toilet"]

    def _places(self, folder: str) -> list[str]:
        return super()._places(folder)[:3] + [os.path.join(folder, self.name)]

    def archives(self) -> list[tuple[str, str]]:
        host = "3dvision.princeton.edu/projects/2014/3DShapeNets" if self.name.endswith("10") else "modelnet.cs.princeton.edu"
        return [(f"https://{host}/{self.name}.zip", f"{self.name}.zip")]

    def _lift(self, folder: str) -> None:
        inner = os.path.join(folder, self.name)
        for kind in os.listdir(inner) if os.path.isdir(inner) else []:
            os.rename(os.path.join(inner, kind), os.path.join(folder, kind))

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return many(self._classes(), self)

    def __repr__(self) -> str:
        return f"{self.name}({len(self) if self._data is not None else ''})"


class GeometricShapes(_Shapes):
    """Meshes of cubes, spheres, pyramids and so on: 80 for training and 80 for the test, in 40 classes.

    >>> from polygrad.geometric.datasets import GeometricShapes
    >>> dataset = GeometricShapes("data/GeometricShapes", train=True)  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "geometric-shapes"

    @property
    def raw_file_names(self) -> list[str]:
        return ["2d_circle"]

    def archives(self) -> list[tuple[str, str]]:
        return [("https://github.com/Yannick-S/geometric_shapes/raw/master/raw.zip", "raw.zip")]

    def _lift(self, folder: str) -> None:
        inner = os.path.join(folder, "raw")
        for kind in os.listdir(inner) if os.path.isdir(inner) else []:
            os.rename(os.path.join(inner, kind), os.path.join(folder, kind))

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        graphs = self._classes()
        for data in graphs:
            pos = data.pos.numpy()
            data.pos = tensor(pos - pos.mean(axis=0, keepdims=True), np.float32)
        return many(graphs, self)


class FAUST(_Shapes):
    """100 meshes of ten people in ten poses ("FAUST: Dataset and Evaluation for 3D Mesh Registration", 2014): 80 for training, 20 for the test; the
    class is the pose. `MPI-FAUST.zip` must be fetched by hand; it, or its meshes `tr_reg_000.ply` ..., is put into the folder.

    >>> from polygrad.geometric.datasets import FAUST
    >>> dataset = FAUST("data/FAUST", train=True)  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "faust"
    by_hand = ("MPI-FAUST.zip",)

    @property
    def raw_file_names(self) -> list[str]:
        return [f"tr_reg_{k:03d}.ply" for k in range(100)]

    def _places(self, folder: str) -> list[str]:
        usual = super()._places(folder)
        return usual + [os.path.join(p, "MPI-FAUST", "training", "registrations") for p in usual]

    def archives(self) -> list[tuple[str, str]]:
        raise ValueError("http://faust.is.tue.mpg.de asks for a registration before MPI-FAUST.zip can be fetched")

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        graphs = []
        for k, path in enumerate(self.raw_paths):
            if (k < 80) == self.train:
                data = read_ply(path)
                data.y = Tensor(np.array([k % 10]))
                graphs.append(data)
        return many(graphs, self)


class CoMA(_Shapes):
    """20,466 meshes of faces in 12 expressions ("Generating 3D Faces using Convolutional Mesh Autoencoders", 2018). `COMA_data.zip`, or the
    folders `FaceTalk_*` in it, must be put into the folder by hand.

    >>> from polygrad.geometric.datasets import CoMA
    >>> dataset = CoMA("data/CoMA", train=True)  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "coma"
    by_hand = ("COMA_data.zip",)
    categories: ClassVar[tuple[str, ...]] = (
        "bareteeth", "cheeks_in", "eyebrow", "high_smile", "lips_back", "lips_up", "mouth_down", "mouth_extreme", "mouth_middle", "mouth_open",
        "mouth_side", "mouth_up",
    )  # fmt: skip

    @property
    def raw_file_names(self) -> list[str]:
        return []

    def _faces(self, place: str) -> list[str]:
        return sorted(n for n in os.listdir(place) if n.startswith("FaceTalk_")) if os.path.isdir(place) else []

    def _find(self) -> str | None:
        def there() -> str | None:
            return next((p for f in data_folders(self.root) for p in self._places(f) if self._faces(p)), None)

        return there() or (there() if any([self._unpack(f) for f in data_folders(self.root)]) else None)

    def archives(self) -> list[tuple[str, str]]:
        raise ValueError("https://coma.is.tue.mpg.de asks for a registration before COMA_data.zip, with the folders FaceTalk_*, can be fetched")

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        graphs = []
        for face in self._faces(self.raw_dir):
            for target, kind in enumerate(self.categories):
                folder = os.path.join(self.raw_dir, face, kind)
                names = sorted(n for n in (os.listdir(folder) if os.path.isdir(folder) else []) if n.endswith(".ply"))
                for k, name in enumerate(names):
                    if (k % 100 < 90) == self.train:
                        data = read_ply(os.path.join(folder, name))
                        data.y = Tensor(np.array([target]))
                        graphs.append(data)
        return many(graphs, self)


class TOSCA(Archived):
    """80 meshes of animals and people ("Numerical Geometry of Non-Rigid Shapes", 2008). categories: some of them, by default all nine.

    >>> from polygrad.geometric.datasets import TOSCA
    >>> dataset = TOSCA("data/TOSCA", categories=["cat"])  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "tosca"
    name = "TOSCA"
    kinds: ClassVar[tuple[str, ...]] = ("cat", "centaur", "david", "dog", "gorilla", "horse", "michael", "victoria", "wolf")

    def __init__(
        self,
        root: str | None = None,
        categories: list[str] | None = None,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.categories = [one_of("categories", c, self.kinds) for c in (categories or self.kinds)]
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return ["cat0.vert", "cat0.tri"]

    @property
    def processed_file_names(self) -> str:
        return "_".join(c[:2] for c in self.categories) + ".safetensors"

    def archives(self) -> list[tuple[str, str]]:
        return [("https://tosca.cs.technion.ac.il/data/toscahires-asci.zip", "tosca.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        names = sorted((n[:-4] for n in os.listdir(self.raw_dir) if n.endswith(".tri")), key=lambda n: (len(n), n))
        graphs = []
        for kind in self.categories:
            for name in names:
                if name.rstrip("0123456789") == kind:
                    path = os.path.join(self.raw_dir, name)
                    face = read_table(f"{path}.tri", np.int64, 3)
                    graphs.append(mesh(read_table(f"{path}.vert", np.float64, 3), face - face.min(initial=1), f"{path}.tri"))
        return many(graphs, self)


class ShapeNet(Archived):
    """Clouds of points of 16 kinds of things, each point with a normal and one of 50 parts ("A Scalable Active Framework for Region Annotation in 3D
    Shape Collections", 2016).

    categories: one or some of the kinds. include_normals: with the normals as `x`. split: "train", "val", "trainval" or "test".

    >>> from polygrad.geometric.datasets import ShapeNet
    >>> dataset = ShapeNet("data/ShapeNet", categories=["Airplane"])  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "shapenet"
    name = "ShapeNet"
    category_ids: ClassVar[dict[str, str]] = {
        "Airplane": "02691156", "Bag": "02773838", "Cap": "02954340", "Car": "02958343", "Chair": "03001627", "Earphone": "03261776",
        "Guitar": "03467517", "Knife": "03624134", "Lamp": "03636649", "Laptop": "03642806", "Motorbike": "03790512", "Mug": "03797390",
        "Pistol": "03948459", "Rocket": "04099429", "Skateboard": "04225987", "Table": "04379243",
    }  # fmt: skip
    seg_classes: ClassVar[dict[str, list[int]]] = {
        "Airplane": [0, 1, 2, 3], "Bag": [4, 5], "Cap": [6, 7], "Car": [8, 9, 10, 11], "Chair": [12, 13, 14, 15], "Earphone": [16, 17, 18],
        "Guitar": [19, 20, 21], "Knife": [22, 23], "Lamp": [24, 25, 26, 27], "Laptop": [28, 29], "Motorbike": [30, 31, 32, 33, 34, 35],
        "Mug": [36, 37], "Pistol": [38, 39, 40], "Rocket": [41, 42, 43], "Skateboard": [44, 45, 46], "Table": [47, 48, 49],
    }  # fmt: skip

    def __init__(
        self,
        root: str | None = None,
        categories: str | list[str] | None = None,
        include_normals: bool = True,
        split: str = "trainval",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        given = list(self.category_ids) if categories is None else [categories] if isinstance(categories, str) else categories
        self.categories = [one_of("categories", c, list(self.category_ids)) for c in given]
        self.split = one_of("split", split, ("train", "val", "trainval", "test"))
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)
        if not include_normals:
            data, slices = self._data, self._slices
            data.x = None
            self._set(data, None if slices is None else {k: v for k, v in slices.items() if k != "x"})
        mask = np.zeros((len(self.seg_classes), 50), bool)
        for k, parts in enumerate(self.seg_classes.values()):
            mask[k, parts] = True
        self.y_mask = Tensor(mask)

    @property
    def num_classes(self) -> int:
        return 50

    @property
    def raw_file_names(self) -> list[str]:
        return [os.path.join("train_test_split", f"shuffled_{s}_file_list.json") for s in ("train", "val", "test")]

    @property
    def processed_file_names(self) -> str:
        return "_".join(c[:3].lower() for c in self.categories) + f"_{self.split}.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        name = "shapenetcore_partanno_segmentation_benchmark_v0_normal"
        return [(f"https://shapenet.cs.stanford.edu/media/{name}.zip", f"{name}.zip")]

    def _lift(self, folder: str) -> None:
        inner = os.path.join(folder, "shapenetcore_partanno_segmentation_benchmark_v0_normal")
        for entry in os.listdir(inner) if os.path.isdir(inner) else []:
            os.rename(os.path.join(inner, entry), os.path.join(folder, entry))

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        number = {self.category_ids[c]: k for k, c in enumerate(self.categories)}
        graphs = []
        for part in ("train", "val") if self.split == "trainval" else (self.split,):
            path = os.path.join(self.raw_dir, "train_test_split", f"shuffled_{part}_file_list.json")
            names = load_json(path)
            if not isinstance(names, list) or not all(isinstance(n, str) and len(n.split("/")) == 3 and ".." not in n for n in names):
                raise ValueError(f"{path}: a list of files <folder>/<kind>/<name> is needed")
            for name in names:
                _, kind, file = name.split("/")
                if kind in number:
                    table = read_table(os.path.join(self.raw_dir, kind, f"{file}.txt"), np.float64, 7)
                    y = table[:, 6]
                    if not np.isin(y, np.arange(50)).all():
                        raise ValueError(f"{os.path.join(self.raw_dir, kind, file)}.txt: parts must be from 0 to 49")
                    pos, x = tensor(table[:, :3], np.float32), tensor(table[:, 3:6], np.float32)
                    graphs.append(Data(pos=pos, x=x, y=tensor(y, np.int64), category=Tensor(np.array([number[kind]]))))
        return many(graphs, self)

    def __repr__(self) -> str:
        return f"ShapeNet({len(self) if self._data is not None else ''}, categories={self.categories})"


__all__ = ["CoMA", "FAUST", "GeometricShapes", "ModelNet", "ShapeNet", "TOSCA"]
