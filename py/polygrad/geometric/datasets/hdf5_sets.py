"""Sets in HDF5 files: ratings with features (IGMC), rooms as clouds of points (S3DIS), people in motion (DynamicFAUST)."""

from __future__ import annotations

import os
from itertools import product
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ..data.hetero_data import HeteroData
from ._arrays import float32, read_lines, tensor
from ._bases import Archived, NamedGraph, many, one_of
from ._files import one
from ._hdf5 import File


class IGMCDataset(NamedGraph):
    """Users, what they rate, and features of both ("Inductive Matrix Completion Based on Graph Neural Networks", 2020). name: "flixster", "douban" or
    "yahoo_music". Ratings of the test are `edge_label_index` and `edge_label`.

    >>> from polygrad.geometric.datasets import IGMCDataset
    >>> dataset = IGMCDataset("data/IGMCDataset", name="douban")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "igmc"
    names = ("flixster", "douban", "yahoo_music")
    data_class = HeteroData

    def _known(self, name: str) -> str:
        return super()._known(name.replace("-", "_"))

    @property
    def raw_file_names(self) -> list[str]:
        return ["training_test_dataset.mat"]

    def _places(self, folder: str) -> list[str]:
        return super()._places(folder)[:3]

    def urls(self) -> list[str]:
        return [f"https://github.com/muhanzhang/IGMC/raw/master/raw_data/{self.name}/training_test_dataset.mat"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        path = self.raw_paths[0]
        file = File(path)

        def matrix(name: str) -> np.ndarray:
            a = file.array(name).T
            if a.ndim != 2:
                raise ValueError(f"{path}: {name} of shape {a.shape} is not a matrix")
            return float32(a)

        ratings = matrix("M")
        user = np.eye(ratings.shape[0], dtype=np.float32) if self.name == "yahoo_music" else matrix("W_users")
        items = {"flixster": "W_movies", "yahoo_music": "W_tracks"}
        item = matrix(items[self.name]) if self.name in items else np.eye(ratings.shape[1], dtype=np.float32)
        train, test = matrix("Otraining"), matrix("Otest")
        if (len(user), len(item)) != ratings.shape or train.shape != ratings.shape or test.shape != ratings.shape:
            raise ValueError(f"{path}: features and masks do not fit the ratings {ratings.shape}")
        data = HeteroData()
        data["user"].x, data["item"].x = tensor(user), tensor(item)
        pairs = np.stack(np.nonzero(train)).astype(np.int64)
        value = Tensor(ratings[pairs[0], pairs[1]])
        data["user", "rates", "item"].edge_index, data["user", "rates", "item"].rating = Tensor(pairs), value
        data["item", "rated_by", "user"].edge_index, data["item", "rated_by", "user"].rating = tensor(pairs[::-1]), value
        pairs = np.stack(np.nonzero(test)).astype(np.int64)
        data["user", "rates", "item"].edge_label_index = Tensor(pairs)
        data["user", "rates", "item"].edge_label = Tensor(ratings[pairs[0], pairs[1]])
        return one(data)

    def __repr__(self) -> str:
        return f"IGMCDataset(name={self.name})"


class S3DIS(Archived):
    """23,585 blocks of rooms with 4,096 points each, which belong to 13 kinds of things ("3D Semantic Parsing of Large-Scale Indoor Spaces", 2016).

    test_area: which of the six areas is kept for the test. train: which part. x: colours, and the place in the room.

    >>> from polygrad.geometric.datasets import S3DIS
    >>> dataset = S3DIS("data/S3DIS", test_area=6, train=True)  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "s3dis"
    name = "S3DIS"

    def __init__(
        self,
        root: str | None = None,
        test_area: int = 6,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        if test_area not in range(1, 7):
            raise ValueError(f"test_area must be from 1 to 6, not {test_area}")
        self.test_area, self.train = test_area, train
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return ["all_files.txt", "room_filelist.txt"]

    @property
    def processed_file_names(self) -> str:
        return f"{'train' if self.train else 'test'}_{self.test_area}.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        return [("https://shapenet.cs.stanford.edu/media/indoor3d_sem_seg_hdf5_data.zip", "indoor3d_sem_seg_hdf5_data.zip")]

    def _lift(self, folder: str) -> None:
        inner = os.path.join(folder, "indoor3d_sem_seg_hdf5_data")
        for name in os.listdir(inner) if os.path.isdir(inner) else []:
            os.replace(os.path.join(inner, name), os.path.join(folder, name))

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        files, rooms = self.raw_paths
        area = [f"Area_{self.test_area}" in line for line in read_lines(rooms)]
        graphs, at = [], 0
        for line in read_lines(files):
            path = os.path.join(self.raw_dir, line.split("/")[-1])
            file = File(path)
            x, y = file.array("data"), file.array("label")
            if x.ndim != 3 or x.shape[2] < 3 or y.shape != x.shape[:2] or at + len(x) > len(area):
                raise ValueError(f"{path}: blocks {x.shape} and labels {y.shape} do not fit the {len(area)} rooms")
            for k in range(len(x)):
                if area[at + k] != self.train:
                    graphs.append(Data(pos=tensor(x[k, :, :3], np.float32), x=tensor(x[k, :, 3:], np.float32), y=tensor(y[k], np.int64)))
            at += len(x)
        return many(graphs, self)


class DynamicFAUST(Archived):
    """Meshes of ten people in motion ("Dynamic FAUST: Registering Human Bodies in Motion", 2017): each graph is a sequence, with positions `pos`
    [steps,
    vertices, 3] and triangles `face`. subjects, categories: some of the people and motions. Both files must be fetched by hand.

    >>> from polygrad.geometric.datasets import DynamicFAUST
    >>> dataset = DynamicFAUST("data/DynamicFAUST", subjects=["50002"], categories=["chicken_wings"])  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "dynamic-faust"
    name = "DynamicFAUST"
    people: ClassVar[tuple[str, ...]] = ("50002", "50004", "50007", "50009", "50020", "50021", "50022", "50025", "50026", "50027")
    motions: ClassVar[tuple[str, ...]] = (
        "chicken_wings", "hips", "jiggle_on_toes", "jumping_jacks", "knees", "light_hopping_loose", "light_hopping_stiff", "one_leg_jump",
        "one_leg_loose", "personal_move", "punching", "running_on_spot", "running_on_spot_bugfix", "shake_arms", "shake_hips", "shake_shoulders",
    )  # fmt: skip

    def __init__(
        self,
        root: str | None = None,
        subjects: list[str] | None = None,
        categories: list[str] | None = None,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.subjects = [one_of("subjects", s, self.people) for s in (subjects or self.people)]
        self.categories = [one_of("categories", c, self.motions) for c in (categories or self.motions)]
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return ["registrations_m.hdf5", "registrations_f.hdf5"]

    @property
    def processed_file_names(self) -> str:
        who, what = "_".join(s[-2:] for s in self.subjects), "_".join("".join(w[0] for w in c.split("_")) for c in self.categories)
        return f"{who}_{what}.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        raise ValueError("http://dfaust.is.tue.mpg.de asks for a registration before the files can be fetched")

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        files = [File(p) for p in self.raw_paths]
        face = files[0].array("faces")
        if face.ndim != 2 or face.shape[1] != 3 or face.dtype.kind not in "iu":
            raise ValueError(f"{self.raw_paths[0]}: faces {face.shape} are not triangles")
        graphs = []
        for who, what in product(self.subjects, self.categories):
            file = next((f for f in files if f"{who}_{what}" in f), None)
            if file is None:
                continue
            pos = file.array(f"{who}_{what}")  # vertices, coordinates, steps
            if pos.ndim != 3 or pos.shape[1] != 3 or (face.size and face.max() >= len(pos)):
                raise ValueError(f"{file.path}: positions {pos.shape} do not fit the triangles")
            graphs.append(Data(pos=tensor(pos.transpose(2, 0, 1), np.float32), face=tensor(face.T, np.int64), num_nodes=len(pos)))
        return many(graphs, self)


__all__ = ["DynamicFAUST", "IGMCDataset", "S3DIS"]
