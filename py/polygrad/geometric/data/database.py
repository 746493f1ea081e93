"""Database: rows by number, on SQLite; and OnDiskDataset, graphs that are read from it one by one.

A row is kept as JSON and the raw content of its arrays: nothing of it is executed when it is read.
"""

from __future__ import annotations

import json
import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Callable

import numpy as np

from ...autograd import current, making
from ...tensor import Tensor
from ..edge_index import EdgeIndex, Index, Known
from .data import BaseData, Data
from .dataset import Dataset
from .hetero_data import HeteroData


def pack(value: Any) -> bytes:
    """Nested dicts, lists and tuples of tensors, arrays, numbers and texts as bytes: JSON that refers to raw arrays behind it."""
    arrays: list[np.ndarray] = []

    def plain(x: Any) -> Any:
        if isinstance(x, (Tensor, np.ndarray)):
            arrays.append(np.ascontiguousarray(x.numpy() if isinstance(x, Tensor) else x))
            a = arrays[-1]
            if a.dtype.kind not in "biuf":
                raise TypeError(f"an array of {a.dtype} cannot be stored")
            known = {"k": [_KNOWN.index(_class_of(x)), plain([getattr(x, n) for n in x._KNOWN])]} if isinstance(x, Known) else {}
            return {"t": "tensor" if isinstance(x, Tensor) else "array", "d": a.dtype.str, "s": list(a.shape), **known}
        if isinstance(x, (Data, HeteroData)):
            return {"t": "graph", "v": plain(_rows_of(x))}
        if isinstance(x, dict):
            return {"t": "dict", "v": [[plain(k), plain(v)] for k, v in x.items()]}
        if isinstance(x, (list, tuple)):
            return {"t": type(x).__name__ if type(x) in (list, tuple) else "list", "v": [plain(v) for v in x]}
        if x is None or isinstance(x, (bool, int, float, str)):
            return x
        if isinstance(x, np.generic):
            return x.item()
        raise TypeError(f"a {type(x).__name__} cannot be stored")

    head = json.dumps(plain(value)).encode()
    return len(head).to_bytes(8, "little") + head + b"".join(a.tobytes() for a in arrays)


def unpack(content: bytes) -> Any:
    """What pack was given. ValueError for bytes that are damaged."""
    try:
        size = int.from_bytes(content[:8], "little")
        head, at = json.loads(content[8 : 8 + size]), 8 + size

        def rich(x: Any) -> Any:
            nonlocal at
            if not isinstance(x, dict):
                return x
            kind = x["t"]
            if kind in ("tensor", "array"):
                dtype, shape = np.dtype(x["d"]), tuple(int(s) for s in x["s"])
                if dtype.kind not in "biuf" or min(shape, default=0) < 0:
                    raise ValueError("an array is damaged")
                count = int(np.prod(shape, dtype=object))
                if at + count * dtype.itemsize > len(content):
                    raise ValueError("it is cut off")
                a = np.frombuffer(content, dtype, count, at).reshape(shape)
                at += a.nbytes
                if kind == "array":
                    return a.copy()
                made = Tensor(a.copy())
                return _with_known(made, x["k"][0], rich(x["k"][1])) if "k" in x else made
            if kind == "graph":
                return _graph_of(rich(x["v"]))
            if kind == "dict":
                return {_hashed(rich(k)): rich(v) for k, v in x["v"]}
            values = [rich(v) for v in x["v"]]
            return tuple(values) if kind == "tuple" else values

        return rich(head)
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as e:
        raise ValueError(f"a row of the database is damaged: {e}") from None


_KNOWN = (Index, EdgeIndex)  # a row says which of them a tensor is


def _class_of(x: Any) -> type:
    return next(c for c in _KNOWN if isinstance(x, c))


def _with_known(indices: Tensor, which: int, values: list[Any]) -> Any:
    """Indices with what a row says is known of them."""
    origin: Any = _KNOWN[which]
    out = next((c for c in origin.__subclasses__() if c._kind is indices._kind), origin)(indices)
    for name, value in zip(origin._KNOWN, values):
        setattr(out, name, value)
    return out


def _rows_of(data: Any) -> dict[str, Any]:
    """A graph as nested dicts."""
    kind = "HeteroData" if isinstance(data, HeteroData) else "Data"
    return {"": kind, "stores": [(store._key if kind == "HeteroData" else None, dict(store)) for store in data.stores]}


def _graph_of(data: Any) -> Any:
    """A graph of nested dicts."""
    if not isinstance(data, dict) or data.get("") not in ("Data", "HeteroData"):
        raise ValueError("a row of the database is not a graph")
    if data[""] == "Data":
        return Data(**data["stores"][0][1])
    out = HeteroData()
    for key, values in data["stores"]:
        store = out if key is None else out[key if isinstance(key, str) else tuple(key)]
        for name, value in values.items():
            store[name] = value
    return out


def _hashed(key: Any) -> Any:
    return tuple(_hashed(k) for k in key) if isinstance(key, (list, tuple)) else key


class Database(ABC):
    """Rows by number. schema: kept as given; a row may be any nesting of dicts, lists, tensors, arrays, numbers and texts.

    >>> from polygrad.geometric.data.database import Database, SQLiteDatabase
    >>> db = SQLiteDatabase(":memory:", "rows", schema={"x": float})
    >>> db.insert(0, {"x": 1.5})
    >>> isinstance(db, Database), len(db), db.get(0)
    (True, 1, {'x': 1.5})
    >>> db.close()
    """

    def __init__(self, schema: Any = object):
        self.schema = schema
        self._made = current().made  # the class of tensors that are read

    def _unpack(self, content: bytes) -> Any:
        with making(self._made):
            return unpack(content)

    @abstractmethod
    def connect(self) -> None: ...

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def insert(self, index: int, data: Any) -> None: ...

    @abstractmethod
    def get(self, index: int) -> Any: ...

    @abstractmethod
    def __len__(self) -> int: ...

    def multi_insert(self, indices: Any, data_list: Sequence[Any], batch_size: int | None = None, log: bool = False) -> None:
        """Many rows at once."""
        numbers = self._numbers(indices)
        if len(numbers) != len(data_list):
            raise ValueError(f"{len(data_list)} rows for {len(numbers)} numbers")
        for index, data in zip(numbers, data_list):
            self.insert(index, data)

    def multi_get(self, indices: Any, batch_size: int | None = None) -> list[Any]:
        return [self.get(k) for k in self._numbers(indices)]

    def _numbers(self, indices: Any) -> list[int]:
        if isinstance(indices, slice):
            return list(range(len(self))[indices])
        return [int(k) for k in (indices.numpy() if isinstance(indices, Tensor) else indices)]

    def __getitem__(self, key: Any) -> Any:
        return self.get(int(key)) if isinstance(key, (int, np.integer)) else self.multi_get(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, (int, np.integer)):
            self.insert(int(key), value)
        elif isinstance(key, slice):
            stop = key.stop if key.stop is not None else (key.start or 0) + len(value) * (key.step or 1)
            self.multi_insert(range(key.start or 0, stop, key.step or 1), value)
        else:
            self.multi_insert(key, value)

    def __repr__(self) -> str:
        try:
            return f"{type(self).__name__}({len(self)})"
        except RuntimeError:
            return f"{type(self).__name__}()"


class SQLiteDatabase(Database):
    """Rows in a table `name` of an SQLite file.

    >>> import tempfile, os
    >>> from polygrad.geometric.data import SQLiteDatabase
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     db = SQLiteDatabase(os.path.join(folder, "a.db"), "rows")
    ...     db[0] = {"name": "first", "values": [1, 2]}
    ...     print(db[0], len(db))
    ...     db.close()
    {'name': 'first', 'values': [1, 2]} 1
    """

    def __init__(self, path: str, name: str, schema: Any = object):
        super().__init__(schema)
        if not name.replace("_", "").isalnum():
            raise ValueError(f"the name of a table must be letters, digits and underscores, not {name!r}")
        self.path, self.name = os.fspath(path), name
        self._connection: sqlite3.Connection | None = None
        self.connect()
        self.connection.execute(f'CREATE TABLE IF NOT EXISTS "{name}" (id INTEGER PRIMARY KEY, data BLOB NOT NULL)')

    def connect(self) -> None:
        try:
            self._connection = sqlite3.connect(self.path, check_same_thread=False)
            self._connection.execute("PRAGMA schema_version")
        except sqlite3.DatabaseError as e:
            raise ValueError(f"{self.path}: not an SQLite database: {e}") from None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.commit()
            self._connection.close()
            self._connection = None

    @property
    def connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise RuntimeError("No open database connection")
        return self._connection

    @property
    def cursor(self) -> sqlite3.Cursor:
        return self.connection.cursor()

    def insert(self, index: int, data: Any) -> None:
        self.multi_insert([index], [data])

    def multi_insert(self, indices: Any, data_list: Sequence[Any], batch_size: int | None = None, log: bool = False) -> None:
        numbers = self._numbers(indices)
        if len(numbers) != len(data_list):
            raise ValueError(f"{len(data_list)} rows for {len(numbers)} numbers")
        with self.connection as c:
            c.executemany(f'INSERT OR REPLACE INTO "{self.name}" VALUES (?, ?)', ((k, pack(d)) for k, d in zip(numbers, data_list)))

    def get(self, index: int) -> Any:
        row = self.connection.execute(f'SELECT data FROM "{self.name}" WHERE id = ?', (int(index),)).fetchone()
        if row is None:
            raise IndexError(f"{self.path} has no row {index}")
        return self._unpack(row[0])

    def multi_get(self, indices: Any, batch_size: int | None = None) -> list[Any]:
        numbers = self._numbers(indices)
        found: dict[int, bytes] = {}
        for at in range(0, len(numbers), 500):  # SQLite limits the number of variables of a statement
            some = numbers[at : at + 500]
            marks = ",".join("?" * len(some))
            found |= dict(self.connection.execute(f'SELECT id, data FROM "{self.name}" WHERE id IN ({marks})', some).fetchall())
        missing = next((k for k in numbers if k not in found), None)
        if missing is not None:
            raise IndexError(f"{self.path} has no row {missing}")
        return [self._unpack(found[k]) for k in numbers]

    def __len__(self) -> int:
        return int(self.connection.execute(f'SELECT COUNT(*) FROM "{self.name}"').fetchone()[0])


class RocksDatabase(Database):
    """Rows in a RocksDB folder, by the package rocksdict, which must be installed."""

    def __init__(self, path: str, schema: Any = object):
        super().__init__(schema)
        self.path = os.fspath(path)
        self._rows: Any = None
        self.connect()

    def connect(self) -> None:
        from ..utils._host import library

        rocksdict = library("rocksdict", "rows in RocksDB")
        self._rows = rocksdict.Rdict(self.path, rocksdict.Options(raw_mode=True))

    def close(self) -> None:
        if self._rows is not None:
            self._rows.close()
            self._rows = None

    def insert(self, index: int, data: Any) -> None:
        self._rows[int(index).to_bytes(8, "big")] = pack(data)

    def get(self, index: int) -> Any:
        return self._unpack(self._rows[int(index).to_bytes(8, "big")])

    def __len__(self) -> int:
        raise NotImplementedError("a RocksDB folder does not count its rows")

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class OnDiskDataset(Dataset):
    """Graphs in an SQLite file under root, of which only those that are asked for are in memory.

    A subclass may say `download` and `process` as usual, and calls `append` or `extend`. serialize, deserialize: a graph as something that the
    database keeps, and back; by default all attributes of Data and HeteroData.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data, OnDiskDataset
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     dataset = OnDiskDataset(root, schema={"x": {"dtype": "float32", "size": (-1, 2)}})
    ...     dataset.append(Data(x=Tensor.ones(3, 2)))
    ...     print(len(dataset), dataset[0].x.shape)
    ...     dataset.close()
    1 (3, 2)
    """

    def __init__(
        self,
        root: str,
        transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        backend: str = "sqlite",
        schema: Any = object,
        log: bool = True,
    ):
        if backend != "sqlite":
            raise ValueError(f"Database backend must be one of {{'sqlite'}} (got '{backend}')")
        self.backend, self.schema = backend, schema
        self._made = current().made
        self._db: Database | None = None
        self._numel: int | None = None
        super().__init__(root, transform, pre_filter=pre_filter, log=log)

    @property
    def processed_file_names(self) -> str:
        return f"{self.backend}.db"

    @property
    def db(self) -> Database:
        if self._db is None:
            os.makedirs(self.processed_dir, exist_ok=True)
            with making(self._made):
                self._db = SQLiteDatabase(self.processed_paths[0], type(self).__name__, self.schema)
        return self._db

    def close(self) -> None:
        """Ends the connection; it is opened again when it is needed."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def serialize(self, data: BaseData) -> Any:
        return _rows_of(data)

    def deserialize(self, data: Any) -> Any:
        return _graph_of(data)

    def append(self, data: Any) -> None:
        """Adds a graph."""
        self.extend([data])

    def extend(self, data_list: Sequence[Any], batch_size: int | None = None) -> None:
        """Adds graphs."""
        n = self.len()
        self.db.multi_insert(range(n, n + len(data_list)), [self.serialize(d) for d in data_list], batch_size)
        self._numel = n + len(data_list)

    def get(self, idx: int) -> Any:
        return self.deserialize(self.db.get(idx))

    def multi_get(self, indices: Iterable[int] | Tensor | slice | range, batch_size: int | None = None) -> list[Any]:
        """Several graphs of this dataset at once, transformed."""
        numbers = self.indices()
        chosen = range(len(numbers))[indices] if isinstance(indices, slice) else [int(k) for k in indices]
        graphs = [self.deserialize(d) for d in self.db.multi_get([numbers[k] for k in chosen], batch_size)]
        return graphs if self.transform is None else [self.transform(g) for g in graphs]

    __getitems__ = multi_get

    def len(self) -> int:
        if self._numel is None:
            self._numel = len(self.db)
        return self._numel

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)})"


__all__ = ["Database", "OnDiskDataset", "RocksDatabase", "SQLiteDatabase"]
