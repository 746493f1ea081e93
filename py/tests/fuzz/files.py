"""Damaged files: a reader of any format must raise a clear exception, or read what still makes sense; never crash, hang or ask for much memory.

Each format writes whole files into a folder, and reads them. A round damages one of the files and reads again, under a limit on time and memory.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from polygrad import Context, Device, Tensor, with_autograd_graph
from polygrad.geometric import datasets
from polygrad.geometric.datasets._npz import read_npz
from polygrad.geometric.datasets.entities import read_entities
from polygrad.geometric.datasets.ogb import read_graph
from polygrad.geometric.datasets.planetoid import read_planetoid
from polygrad.geometric.datasets.tu_dataset import read_tu
from polygrad.nn.state import safe_load, safe_save, torch_load

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "geometric")]

# What a reader may raise: the file is not what it should be (ValueError and its kin), or cannot be read (OSError).
ALLOWED = (ValueError, OSError)
SECONDS = 20
EXTRA_BYTES = 2 << 30


class Format(NamedTuple):
    write: Callable[[Path], None]
    read: Callable[[Path], None]


def _all_values(x: object) -> None:
    """Reads every tensor in nested dicts and lists."""
    if isinstance(x, Tensor):
        x.numpy()
    elif isinstance(x, dict):
        for v in x.values():
            _all_values(v)
    elif isinstance(x, (list, tuple)):
        for v in x:
            _all_values(v)


def _safe_write(folder: Path) -> None:
    rng = np.random.default_rng(0)
    safe_save(
        {"a": Tensor(rng.random((3, 4)).astype(np.float32)), "b.c": Tensor(np.arange(7)), "h": Tensor(np.ones(5, np.float16))},
        folder / "a.safetensors",
    )


def _torch_content() -> tuple[dict, dict[str, bytes]]:
    from test_torch_file import Op

    raw = {"0": np.arange(12, dtype=np.float32).tobytes(), "1": np.arange(5).tobytes()}
    content = {"w": Op.tensor("torch.FloatStorage", "0", 12, (3, 4), (4, 1)), "n": Op.tensor("torch.LongStorage", "1", 5, (5,), (1,)), "epoch": 3}
    return content, raw


def _torch_write(folder: Path) -> None:
    from test_torch_file import archive

    (folder / "a.pt").write_bytes(archive(*_torch_content()))


def _torch_write_legacy(folder: Path) -> None:
    from test_torch_file import legacy

    content, raw = _torch_content()
    counts = {"0": 12, "1": 5}
    (folder / "a.pt").write_bytes(legacy(content, {k: (counts[k], v) for k, v in raw.items()}))


def _npz_write(folder: Path) -> None:
    from test_datasets import npz

    npz(folder / "a.npz")


def _planetoid_write(folder: Path) -> None:
    from test_datasets import planetoid

    planetoid(folder)


def _tu_write(folder: Path) -> None:
    from test_datasets import tiny_tu

    tiny_tu(folder)


def _entities_write(folder: Path) -> None:
    from test_datasets import entities

    entities(folder)


def _entities_read(folder: Path) -> None:
    names = ("aifb_stripped.nt.gz", "completeDataset.tsv", "trainingSet.tsv", "testSet.tsv")
    read_entities([str(folder / n) for n in names], "person", "label_affiliation")


def _ogb_write(folder: Path) -> None:
    files = {
        "num-node-list": "4\n",
        "num-edge-list": "3\n",
        "edge": "0,1\n1,2\n3,0\n",
        "node-feat": "0.5,1\n1,2\n3,4\n5,6\n",
        "node-label": "0\n1\n1\n0\n",
    }
    for name, text in files.items():
        (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))


def _cache_program() -> np.ndarray:
    return (Tensor(np.arange(6, dtype=np.float32)) * 3 + 1).sum().numpy()


def _cache_write(folder: Path) -> None:
    _cache_read(folder)


def _cache_read(folder: Path) -> None:
    """A damaged kernel must be made again: the result is right in any case."""
    before = os.environ.get("POLY_CACHE_DIR")
    os.environ["POLY_CACHE_DIR"] = str(folder)
    os.chmod(folder, 0o700)
    try:
        with with_autograd_graph(), Context(DEVICE="CPU"):
            got = float(_cache_program())
    finally:
        os.environ.pop("POLY_CACHE_DIR") if before is None else os.environ.update(POLY_CACHE_DIR=before)
    if got != 51.0:
        raise AssertionError(f"a damaged kernel gave {got}")


FORMATS = {
    "safetensors": Format(_safe_write, lambda f: _all_values(safe_load(str(f / "a.safetensors")))),
    "torch": Format(_torch_write, lambda f: _all_values(torch_load(str(f / "a.pt")))),
    "torch_legacy": Format(_torch_write_legacy, lambda f: _all_values(torch_load(str(f / "a.pt")))),
    "npz": Format(_npz_write, lambda f: read_npz(str(f / "a.npz")) and None),
    "planetoid": Format(_planetoid_write, lambda f: read_planetoid(str(f), "cora") and None),
    "tu": Format(_tu_write, lambda f: read_tu(str(f), "TINY") and None),
    "entities": Format(_entities_write, _entities_read),
    "ogb": Format(_ogb_write, lambda f: read_graph(str(f)) and None),
}


def _dataset(writer: str, kind: str, *args: object, place: str = "") -> Format:
    """A dataset in the small files of the tests, read without being kept."""

    def write(folder: Path) -> None:
        import dataset_files
        import dataset_files_more

        (folder / place).mkdir(parents=True, exist_ok=True)
        getattr(dataset_files if hasattr(dataset_files, writer) else dataset_files_more, writer)(folder / place)

    def read(folder: Path) -> None:
        before = os.environ.get("POLYGRAD_DATA")
        os.environ["POLYGRAD_DATA"] = str(folder)
        try:
            data = getattr(datasets, kind)(None, *args)[0]
        finally:
            os.environ.pop("POLYGRAD_DATA") if before is None else os.environ.update(POLYGRAD_DATA=before)
        for store in data.stores:
            _all_values(dict(store))

    return Format(write, read)


FORMATS |= {
    "malnet": _dataset("malnet", "MalNetTiny"),
    "upfd": _dataset("upfd", "UPFD", "politifact", "profile", "test", place="politifact/raw"),
    "ged": _dataset("ged", "GEDDataset", "AIDS700nef"),
    "dbp15k": _dataset("dbp15k", "DBP15K", "en_fr"),
    "ego": _dataset("ego", "SNAPDataset", "ego-facebook"),
    "suite_sparse": _dataset("suite_sparse", "SuiteSparseMatrixCollection", "Group", "small"),
    "pascal": _dataset("pascal", "PascalPF", "bird"),
    "rcdd": _dataset("rcdd", "RCDD"),
    "opf": _dataset("opf", "OPFDataset", "test", "pglib_opf_case14_ieee", 1, place="dataset_release_1/pglib_opf_case14_ieee/raw"),
    "teeth": _dataset("teeth", "Teeth3DS", "sample", True, 3),
    "water": _dataset("water", "HydroNet", None, None, None, False, 1, 3, False),
    "graphland": _dataset("graphland", "GraphLandDataset", "artnet-views", "THI"),
    "igmc": _dataset("igmc", "IGMCDataset", "douban", place="douban/raw"),
    "rooms": _dataset("rooms", "S3DIS"),
    "geom_gcn": _dataset("geom_gcn", "WebKB", "texas", place="texas/raw"),
    "actor": _dataset("actor", "Actor"),
    "musae": _dataset("musae", "Twitch", "DE"),
    "heterophilous": _dataset("heterophilous", "HeterophilousGraphDataset", "minesweeper"),
    "wikics": _dataset("wikics", "WikiCS"),
    "airports": _dataset("airports", "Airports", "brazil"),
    "mixhop": _dataset("mixhop", "MixHopSyntheticDataset", 0.3),
    "attributed": _dataset("attributed", "AttributedGraphDataset", "wiki"),
    "saint": _dataset("saint", "Flickr", place="Flickr"),
    "reddit": _dataset("reddit", "Reddit"),
    "ppi": _dataset("ppi", "PPI"),
    "linkx": _dataset("penn", "LINKXDataset", "penn94", place="penn94/raw"),
    "magnn": _dataset("dblp", "DBLP"),
    "lastfm": _dataset("lastfm", "LastFM"),
    "aminer": _dataset("aminer", "AMiner"),
    "ogb_mag": _dataset("ogb_mag", "OGB_MAG"),
    "hgb": _dataset("hgb", "HGBDataset", "acm", place="acm/raw"),
    "movielens": _dataset("ml1m", "MovieLens1M"),
    "taobao": _dataset("taobao", "Taobao"),
    "wordnet": _dataset("wordnet", "WordNet18", place="WordNet18"),
    "knowledge": _dataset("rel_link", "RelLinkPredDataset", "FB15k-237"),
    "jodie": _dataset("jodie", "JODIEDataset", "wikipedia"),
    "icews": _dataset("icews", "ICEWS18"),
    "elliptic": _dataset("elliptic", "EllipticBitcoinDataset"),
    "bitcoin": _dataset("bitcoin", "BitcoinOTC"),
    "qm7b": _dataset("qm7b", "QM7b"),
    "md17": _dataset("md17", "MD17", "ethanol"),
    "zinc": _dataset("zinc", "ZINC", True),
    "aqsol": _dataset("aqsol", "AQSOL"),
    "multi_shapes": _dataset("multi_shapes", "BAMultiShapesDataset"),
    "modelnet": _dataset("modelnet", "ModelNet", "10", place="ModelNet10"),
    "coma": _dataset("coma", "CoMA"),
    "tosca": _dataset("tosca", "TOSCA"),
    "shapenet": _dataset("shapenet", "ShapeNet", ["Bag", "Mug"]),
}
COMPILED = {"kernels": Format(_cache_write, _cache_read)}  # a damaged one is compiled again: slow


# ---- damage ----

HUGE = (0xFFFFFFFF, 0x7FFFFFFF, (1 << 63) - 1, (1 << 64) - 1, 1 << 40, 0)


def damaged(raw: bytes, rng: np.random.Generator) -> bytes:
    """The file cut off, with flipped bits, with fields made huge, with parts missing, doubled or overwritten."""
    b = bytearray(raw)
    n = max(len(b), 1)
    for _ in range(int(rng.integers(1, 4))):
        at, length = int(rng.integers(n)), int(rng.integers(1, 17))
        how = int(rng.integers(8))
        if how == 0:
            del b[at:]
        elif how == 1 and at < len(b):
            b[at] ^= 1 << int(rng.integers(8))
        elif how == 2:
            width = int(rng.choice([2, 4, 8]))
            b[at : at + width] = (HUGE[int(rng.integers(len(HUGE)))] & ((1 << 8 * width) - 1)).to_bytes(width, str(rng.choice(["little", "big"])))
        elif how == 3:
            del b[at : at + length]
        elif how == 4:
            b[at:at] = b[at : at + length]
        elif how == 5:
            b[at : at + length] = rng.bytes(length)
        elif how == 6:
            _huge_number(b, rng)
        else:
            b[at:at] = rng.bytes(length)
    return bytes(b)


def _huge_number(b: bytearray, rng: np.random.Generator) -> None:
    """One of the numbers written as text, made huge, negative or a word."""
    digits = [k for k in range(len(b)) if 48 <= b[k] <= 57]
    if digits:
        k = int(rng.choice(digits))
        b[k : k + 1] = str(rng.choice(["99999999999999999999", "-1", "1e999", "nan", "4294967296", "123456789", "[" * 2000])).encode()


@contextlib.contextmanager
def limits() -> Iterator[None]:
    """An alarm after SECONDS, and at most EXTRA_BYTES more memory than now."""

    def ring(*_: object) -> None:
        raise TimeoutError(f"reading took longer than {SECONDS} seconds")

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    old = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    resource.setrlimit(resource.RLIMIT_AS, (used + EXTRA_BYTES, hard))
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def round_of(name: str, seed: int, whole: Path, work: Path) -> str | None:
    """One damaged file, read. What went wrong, or None."""
    rng = np.random.default_rng(seed)
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(whole, work)
    files = sorted(p for p in work.rglob("*") if p.is_file())
    path = files[int(rng.integers(len(files)))]
    raw = path.read_bytes()
    if path.suffix == ".gz" and rng.random() < 0.7:
        path.write_bytes(gzip.compress(damaged(gzip.decompress(raw), rng)))
    else:
        path.write_bytes(damaged(raw, rng))
    formats = {**FORMATS, **COMPILED}
    try:
        with limits(), warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # an overflow in a check is a check that failed
            formats[name].read(work)
    except TimeoutError as e:
        return str(e)
    except ALLOWED:
        return None
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    return None


def campaign(seed: int, rounds: int, seconds: float, folder: Path, names: tuple[str, ...] = (*FORMATS, *COMPILED)) -> int:
    """Rounds over all formats in turn; 1 if any went wrong. The seed of a crash is the last that was printed to `at`."""
    Device.DEFAULT = "INTERP"
    end = time.monotonic() + seconds if seconds else None
    bad = done = 0
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as tmp:
        for name in names:
            whole = Path(tmp) / name
            whole.mkdir()
            {**FORMATS, **COMPILED}[name].write(whole)
            {**FORMATS, **COMPILED}[name].read(whole)  # whole files are read
        print(f"fuzz: files, seed {seed}", flush=True)
        while (end is None or time.monotonic() < end) and (not rounds or done < rounds):
            for name in names:
                if name in COMPILED and done % 20:
                    continue
                (folder / "at").write_text(f"{name} {seed + done}")
                work = Path(tmp) / "work"
                text = round_of(name, seed + done, Path(tmp) / name, work)
                if text is not None:
                    bad += 1
                    kept = folder / f"file_{name}_{seed + done}"
                    shutil.rmtree(kept, ignore_errors=True)
                    shutil.copytree(work, kept)
                    print(f"{kept}: {text}", flush=True)
            done += 1
    print(f"fuzz: {done} rounds over {len(names)} formats, {bad} failures", flush=True)
    return 1 if bad else 0
