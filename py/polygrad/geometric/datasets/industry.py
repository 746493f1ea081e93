"""Graphs of several types from industry: fashion (HM), risky goods (RCDD), machines and what they are made with (OSE_GVCS), power grids (OPF)."""

from __future__ import annotations

import csv
import io
import os
import tarfile
import zipfile
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.extract import allowed
from ..data.hetero_data import HeteroData
from ._arrays import load_json, mask_of, number_of, numbers, read_rows, tensor
from ._bases import Archived, OneGraph, many, one_of
from ._edge_lists import check_pairs
from ._files import data_folders, one


def zipped_csv(path: str, columns: list[str]) -> dict[str, list[str]]:
    """The named columns of the only table in a zip archive."""
    try:
        with zipfile.ZipFile(path) as z:
            entry = next((i for i in z.infolist() if i.filename.endswith(".csv")), None)
            if entry is None or entry.file_size > allowed(os.path.getsize(path)):
                raise ValueError(f"{path}: a table that is not much larger than its archive is needed")
            with z.open(entry) as f:
                rows = csv.reader(io.TextIOWrapper(f, "utf-8", "replace", newline=""))
                head = next(rows, [])
                missing = [c for c in columns if c not in head]
                if missing:
                    raise ValueError(f"{path}: there is no column {missing[0]!r} among {head[:10]}")
                at, width = [head.index(c) for c in columns], len(head)
                out: list[list[str]] = [[] for _ in columns]
                for row in rows:
                    if len(row) != width:
                        raise ValueError(f"{path}: a row of {len(row)} columns, the first has {width}")
                    for k, c in enumerate(at):
                        out[k].append(row[c])
    except (zipfile.BadZipFile, csv.Error, EOFError, OSError, NotImplementedError, RuntimeError) as e:
        raise ValueError(f"{path}: cannot be read: {e}") from None
    return dict(zip(columns, out))


def dummies(words: list[str]) -> np.ndarray:
    """A column of 0 and 1 for each value but the missing one; numbers are sorted as numbers."""
    kinds = {w for w in words if w}
    try:
        order = sorted(kinds, key=float)
    except ValueError:
        order = sorted(kinds)
    place = {w: k for k, w in enumerate(order)}
    if len(order) * len(words) > 1 << 31:
        raise ValueError(f"{len(order)} different values of {len(words)} rows are too many")
    out = np.zeros((len(words), len(order)), np.float32)
    known = np.array([bool(w) for w in words], bool)
    out[np.flatnonzero(known), [place[w] for w in words if w]] = 1
    return out


class HM(OneGraph):
    """Customers of H&M, articles, and 31 million sales ("H&M Personalized Fashion Recommendations", Kaggle, 2022). The three archives must be
    fetched by
    hand. use_all_tables_as_node_types: a sale is a node between customer and article; otherwise it is an edge.

    >>> from polygrad.geometric.datasets import HM
    >>> dataset = HM("data/HM")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "hm"
    data_class = HeteroData
    articles: ClassVar[tuple[str, ...]] = (
        "product_type_no", "product_type_name", "product_group_name", "graphical_appearance_no", "graphical_appearance_name", "colour_group_code",
        "colour_group_name", "perceived_colour_value_id", "perceived_colour_value_name", "perceived_colour_master_id", "perceived_colour_master_name",
        "index_code", "index_name", "index_group_no", "index_group_name", "section_no", "section_name", "garment_group_no", "garment_group_name",
    )  # fmt: skip

    def __init__(
        self,
        root: str | None = None,
        use_all_tables_as_node_types: bool = False,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.use_all_tables_as_node_types = use_all_tables_as_node_types
        super().__init__(root, transform, pre_transform, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return ["customers.csv.zip", "articles.csv.zip", "transactions_train.csv.zip"]

    @property
    def processed_file_names(self) -> str:
        return "data.safetensors" if self.use_all_tables_as_node_types else "data_merged.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        page = "https://www.kaggle.com/competitions/h-and-m-personalized-fashion-recommendations/data"
        raise ValueError(f"{page} asks for a registration before the archives can be fetched")

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        customers, articles, sales = self.raw_paths
        data = HeteroData()
        kinds = ["Active", "FN", "club_member_status", "fashion_news_frequency"]
        table = zipped_csv(customers, ["customer_id", *kinds, "age"])
        customer = {c: k for k, c in enumerate(table["customer_id"])}
        age = numbers((a or "nan" for a in table["age"]), np.float32, customers)
        if not np.isfinite(age).any():
            raise ValueError(f"{customers}: no customer has an age")
        age = np.where(np.isnan(age), np.nanmean(age), age)
        data["customer"].x = tensor(np.concatenate([*(dummies(table[k]) for k in kinds), age[:, None] / age.max()], axis=1), np.float32)
        table = zipped_csv(articles, ["article_id", *self.articles])
        article = {a: k for k, a in enumerate(table["article_id"])}
        data["article"].x = Tensor(np.concatenate([dummies(table[k]) for k in self.articles], axis=1))
        table = zipped_csv(sales, ["t_dat", "customer_id", "article_id", "price", "sales_channel_id"])
        price = numbers(table["price"], np.float32, sales)
        x = Tensor(np.concatenate([dummies(table["sales_channel_id"]), price[:, None]], axis=1))
        try:
            time = Tensor(np.array(table["t_dat"], "datetime64[D]").astype(np.int64))
        except ValueError as e:
            raise ValueError(f"{sales}: days are needed: {e}") from None
        src, dst = number_of(table["customer_id"], customer, sales, "customer"), number_of(table["article_id"], article, sales, "article")
        if self.use_all_tables_as_node_types:
            data["transaction"].x, data["transaction"].time = x, time
            for name, at in (("customer", src), ("article", dst)):
                pairs = np.stack([at, np.arange(at.size)])
                data[name, "to", "transaction"].edge_index = Tensor(pairs)
                data["transaction", "rev_to", name].edge_index = tensor(pairs[::-1])
        else:
            pairs = np.stack([src, dst])
            for kind, own in ((("customer", "to", "article"), pairs), (("article", "rev_to", "customer"), pairs[::-1])):
                data[kind].edge_index, data[kind].time, data[kind].edge_attr = tensor(own), time, x
        return one(data)


class RCDD(OneGraph):
    """Goods of a market, of which some are forbidden, and what they have in common ("Datasets and Interfaces for Benchmarking Heterogeneous
    Graph Neural
    Networks", 2023): 13,806,619 nodes of 7 types, 157,814,864 edges of 7 types, 122,487 labelled goods.

    >>> from polygrad.geometric.datasets import RCDD
    >>> dataset = RCDD("data/RCDD")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "rcdd"
    data_class = HeteroData

    @property
    def raw_file_names(self) -> list[str]:
        return [f"AliRCD_ICDM_{n}.csv" for n in ("nodes", "edges", "train_labels", "test_labels")]

    def archives(self) -> list[tuple[str, str]]:
        return [("https://s3.cn-north-1.amazonaws.com.cn/dgl-data/dataset/openhgnn/AliRCD_ICDM.zip", "AliRCD_ICDM.zip")]

    @property
    def num_classes(self) -> int:
        return 2

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        node_path, edge_path, *labels = self.raw_paths
        data = HeteroData()
        rows = read_rows(node_path, ",", 3)
        ids = numbers((r[0] for r in rows), np.int64, node_path)
        if not np.array_equal(np.sort(ids), np.arange(ids.size)):
            raise ValueError(f"{node_path}: nodes must be numbered from 0 to {ids.size - 1}")
        place = np.zeros(ids.size, np.int64)
        kinds: dict[str, list[int]] = {}
        for k, r in enumerate(rows):
            kinds.setdefault(r[1], []).append(k)
        for kind, own in kinds.items():
            place[ids[own]] = np.arange(len(own))
            data[kind].x = Tensor(numbers([rows[k][2].split(":") for k in own], np.float32, node_path))
        edges = read_rows(edge_path, ",", 5)
        pairs = numbers([r[:2] for r in edges], np.int64, edge_path).reshape(-1, 2).T
        check_pairs(pairs, ids.size, edge_path)
        types: dict[str, list[int]] = {}
        for k, r in enumerate(edges):
            types.setdefault(r[4], []).append(k)
        for kind, several in types.items():
            first = edges[several[0]]
            data[first[2], kind, first[3]].edge_index = Tensor(place[pairs[:, several]])
        n = len(kinds.get("item", ()))
        y = np.full(n, -1, np.int64)
        for path, sep, key in zip(labels, (",", "\t"), ("train_mask", "test_mask")):
            table = numbers([r[:2] for r in read_rows(path, sep, 2)], np.int64, path).reshape(-1, 2)
            if table.size and (table[:, 0].min() < 0 or table[:, 0].max() >= ids.size):
                raise ValueError(f"{path}: a label of a node that is not there")
            at = place[table[:, 0]]
            data["item"][key] = mask_of(at, n, path)
            y[at] = table[:, 1]
        data["item"].y = Tensor(y)
        return one(data)


class OSE_GVCS(OneGraph):
    """The 50 machines of the Global Village Construction Set of Open Source Ecology, and what each is made from, uses and makes possible.

    >>> from polygrad.geometric.datasets import OSE_GVCS
    >>> dataset = OSE_GVCS("data/OSE_GVCS")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "ose-gvcs"
    data_class = HeteroData
    machines: ClassVar[tuple[str, ...]] = (
        "3D Printer", "3D Scanner", "Aluminum Extractor", "Backhoe", "Bakery Oven", "Baler", "Bioplastic Extruder", "Bulldozer", "Car", "CEB Press",
        "Cement Mixer", "Chipper Hammermill", "CNC Circuit Mill", "CNC Torch Table", "Dairy Milker", "Drill Press", "Electric Motor Generator",
        "Gasifier Burner", "Hay Cutter", "Hay Rake", "Hydraulic Motor", "Induction Furnace", "Industrial Robot", "Ironworker", "Laser Cutter",
        "Metal Roller", "Microcombine", "Microtractor", "Multimachine", "Nickel-Iron Battery", "Pelletizer", "Plasma Cutter", "Power Cube",
        "Press Forge", "Rod and Wire Mill", "Rototiller", "Sawmill", "Seeder", "Solar Concentrator", "Spader", "Steam Engine", "Steam Generator",
        "Tractor", "Trencher", "Truck", "Universal Power Supply", "Universal Rotor", "Welder", "Well-Drilling Rig", "Wind Turbine",
    )  # fmt: skip
    categories: ClassVar[tuple[str, ...]] = ("habitat", "agriculture", "industry", "energy", "materials", "transportation")
    relationships: ClassVar[tuple[str, ...]] = ("from", "uses", "enables")

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{m.lower().replace(' ', '_')}.json" for m in self.machines]

    def archives(self) -> list[tuple[str, str]]:
        return [("https://github.com/Wesxdz/ose_gvcs/raw/master/ose_gvcs.tar.gz", "ose_gvcs.tar.gz")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        categories = []
        edges: dict[str, list[tuple[int, int]]] = {}
        for path in self.raw_paths:
            product = load_json(path, "category", "ecology", "machine")
            if product["category"] not in self.categories or product["machine"] not in self.machines or not isinstance(product["ecology"], list):
                raise ValueError(f"{path}: not the description of a machine of this set")
            categories.append(self.categories.index(product["category"]))
            for entry in product["ecology"]:
                kind, tool = (entry.get("relationship"), entry.get("tool")) if isinstance(entry, dict) else (None, None)
                if kind in self.relationships and tool in self.machines:  # others are not part of the set
                    edges.setdefault(kind, []).append((self.machines.index(product["machine"]), self.machines.index(tool)))
        data = HeteroData()
        data["machine"].num_nodes = len(categories)
        data["machine"].category = Tensor(np.array(categories))
        for kind, pairs in edges.items():
            data["machine", kind, "machine"].edge_index = tensor(np.array(pairs).T)
        return one(data)


class OPFDataset(Archived):
    """Power grids and the cheapest state that meets the demand ("OPFData: Large-scale datasets for AC optimal power flow with topological
    perturbations", 2024): 15,000 examples in each of 20 groups; 90 % are for training, 5 % for validation.

    split: "train", "val" or "test". case_name: the grid. num_groups: how many groups are read. topological_perturbations: with lines and generators
    taken out.

    >>> from polygrad.geometric.datasets import OPFDataset
    >>> dataset = OPFDataset("data/OPFDataset", split="train", case_name="pglib_opf_case14_ieee")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "opf"
    name = "OPFDataset"
    cases: ClassVar[tuple[str, ...]] = tuple(
        f"pglib_opf_case{c}"
        for c in (
            "14_ieee", "30_ieee", "57_ieee", "118_ieee", "500_goc", "2000_goc", "6470_rte", "4661_sdet", "10000_goc", "13659_pegase",
        )
    )  # fmt: skip
    links: ClassVar[tuple[str, ...]] = ("generator", "load", "shunt")

    def __init__(
        self,
        root: str | None = None,
        split: str = "train",
        case_name: str = "pglib_opf_case14_ieee",
        num_groups: int = 20,
        topological_perturbations: bool = False,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.split, self.case_name = one_of("split", split, ("train", "val", "test")), one_of("case_name", case_name, self.cases)
        self.num_groups, self.topological_perturbations = num_groups, topological_perturbations
        self._release = f"dataset_release_1{'_nminusone' if topological_perturbations else ''}"
        super().__init__(root, transform, pre_transform, pre_filter, force_reload, data_cls=HeteroData)

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{self.case_name}_{k}.tar.gz" for k in range(self.num_groups)]

    @property
    def processed_file_names(self) -> str:
        return f"{self.case_name}_{self.num_groups}_{self.split}.safetensors"

    def _places(self, folder: str) -> list[str]:
        own = os.path.join(self._release, self.case_name)
        return [os.path.join(folder, p) for p in (os.path.join(own, "raw"), os.path.join(self.group, own), own)]

    def _download_dir(self) -> str:
        home = self.root or os.environ.get("POLYGRAD_DATA") or data_folders(None)[-1]
        return self._places(home)[0 if self.root else 1]

    @property
    def processed_dir(self) -> str:
        return os.path.join(self.root, self._release, "processed") if self.root else super().processed_dir

    def urls(self) -> list[str]:
        return [f"https://storage.googleapis.com/gridopt-dataset/{self._release}/{f}" for f in self.raw_file_names]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        first = int(15_000 * self.num_groups * 0.9)
        second = first + int(15_000 * self.num_groups * 0.05)
        graphs = []
        for path in self.raw_paths:
            left = allowed(os.path.getsize(path))
            try:
                with tarfile.open(path, "r:gz") as archive:
                    for entry in archive:
                        number = os.path.basename(entry.name).split(".")[0].rpartition("_")[2]
                        if not entry.isfile() or not entry.name.endswith(".json") or not number.isdigit():
                            continue
                        part = "train" if int(number) < first else "val" if int(number) < second else "test"
                        left -= entry.size
                        if left < 0:
                            raise ValueError("its content is much larger than such a file should hold")
                        if part == self.split:
                            graphs.append(self._graph(archive.extractfile(entry), f"{path}/{entry.name}"))
            except (tarfile.TarError, EOFError, OSError) as e:
                raise ValueError(f"{path}: cannot be read: {e}") from None
        return many(graphs, self)

    def _graph(self, file: Any, path: str) -> HeteroData:
        import json

        try:
            obj = json.load(file)
            grid, solution = obj["grid"], obj["solution"]
            data = HeteroData()
            data.x = tensor(np.asarray(grid["context"], np.float32).reshape(-1))
            data.objective = Tensor(np.array(obj["metadata"]["objective"], np.float32))
            for kind in ("bus", "generator", "load", "shunt"):
                data[kind].x = _table(grid["nodes"][kind])
                if kind in ("bus", "generator"):
                    data[kind].y = _table(solution["nodes"][kind])
            for kind in ("ac_line", "transformer"):
                edge = data["bus", kind, "bus"]
                edge.edge_index = self._pairs(grid, kind, path, data, ("bus", "bus"))
                edge.edge_attr, edge.edge_label = _table(grid["edges"][kind]["features"]), _table(solution["edges"][kind]["features"])
            for kind in self.links:
                pairs = self._pairs(grid, f"{kind}_link", path, data, (kind, "bus"))
                data[kind, f"{kind}_link", "bus"].edge_index = pairs
                data["bus", f"{kind}_link", kind].edge_index = tensor(pairs.numpy()[::-1])
        except (KeyError, TypeError, ValueError, RecursionError, OverflowError) as e:
            raise ValueError(f"{path}: not an example of this set: {e}") from None
        return data

    @staticmethod
    def _pairs(grid: Any, kind: str, path: str, data: HeteroData, ends: tuple[str, str]) -> Tensor:
        pairs = np.array([grid["edges"][kind]["senders"], grid["edges"][kind]["receivers"]], np.int64).reshape(2, -1)
        for row, end in zip(pairs, ends):
            if row.size and (row.min() < 0 or row.max() >= data[end].x.shape[0]):
                raise ValueError(f"{kind} joins a {end} beyond the {data[end].x.shape[0]} that there are")
        return Tensor(pairs)

    def __repr__(self) -> str:
        size = len(self) if self._data is not None else ""
        return f"OPFDataset({size}, split={self.split}, case_name={self.case_name}, topological_perturbations={self.topological_perturbations})"


def _table(rows: Any) -> Tensor:
    return tensor(np.asarray(rows, np.float32))


__all__ = ["HM", "OPFDataset", "OSE_GVCS", "RCDD"]
