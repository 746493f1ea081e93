"""torch.distributed for one process: a script that was written for many runs as the only one of its group.

>>> import polygrad.torch as torch
>>> import polygrad.torch.distributed as dist
>>> dist.init_process_group("gloo", rank=0, world_size=1)
>>> x = torch.ones(2); dist.all_reduce(x)
>>> dist.get_rank(), dist.get_world_size(), x.tolist()
(0, 1, [1.0, 1.0])
>>> dist.destroy_process_group()

With more than one process `init_process_group` raises: one process computes, with all its threads.
"""

from __future__ import annotations

import os
from typing import Any

_group: dict[str, str] = {}  # the backend, once there is a group


class ReduceOp:
    """How values of several processes become one."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR = "sum", "avg", "product", "min", "max", "band", "bor", "bxor"


class _Done:
    """The handle of an operation with async_op=True: it is done."""

    def wait(self, timeout: Any = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True


class _Group:
    """The group of this process alone."""

    WORLD: Any = None

    def rank(self) -> int:
        return 0

    def size(self) -> int:
        return 1


class group:  # noqa: N801
    """The group of all processes."""

    WORLD = _Group()


GroupMember, ProcessGroup = group, _Group


def is_available() -> bool:
    """Yes, for one process."""
    return True


def is_initialized() -> bool:
    """Was init_process_group called?"""
    return bool(_group)


def is_torchelastic_launched() -> bool:
    """No."""
    return False


def is_nccl_available() -> bool:
    """No: nothing is sent."""
    return False


is_mpi_available = is_gloo_available = is_nccl_available


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: Any = None, world_size: int = -1, rank: int = -1, store: Any = None,
    group_name: str = "", pg_options: Any = None, device_id: Any = None,
) -> None:  # fmt: skip
    """Makes the group, of which this process must be the only one; sizes that are not given are those of the environment."""
    size = world_size if world_size >= 0 else int(os.environ.get("WORLD_SIZE", "1"))
    place = rank if rank >= 0 else int(os.environ.get("RANK", "0"))
    if size != 1 or place != 0:
        raise RuntimeError(f"one process computes, with all its threads: a group of {size} processes (this one is number {place}) cannot be made")
    if _group:
        raise ValueError("trying to initialize the default process group twice!")
    _group["backend"] = str(backend or "gloo").lower()


def _check() -> None:
    if not _group:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")


def destroy_process_group(group: Any = None) -> None:
    """Ends the group."""
    _check()
    _group.clear()


def get_rank(group: Any = None) -> int:
    """0."""
    _check()
    return 0


def get_world_size(group: Any = None) -> int:
    """1."""
    _check()
    return 1


def get_backend(group: Any = None) -> str:
    """The name that was given."""
    _check()
    return _group["backend"]


def new_group(ranks: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The group of this process."""
    _check()
    return _Group()


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Any:
    """Waits for nobody."""
    _check()
    return _Done() if async_op else None


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    """The value of one process is that of all."""
    return barrier(group, async_op)


def reduce(tensor: Any, dst: int = 0, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    """The value of one process is that of all."""
    return barrier(group, async_op)


def broadcast(tensor: Any, src: int = 0, group: Any = None, async_op: bool = False) -> Any:
    """The value is this process's own."""
    return barrier(group, async_op)


def all_gather(tensor_list: list[Any], tensor: Any, group: Any = None, async_op: bool = False) -> Any:
    """Copies the tensor into the one of the list."""
    tensor_list[0].copy_(tensor)
    return barrier(group, async_op)


def gather(tensor: Any, gather_list: Any = None, dst: int = 0, group: Any = None, async_op: bool = False) -> Any:
    """Copies the tensor into the one of the list."""
    return all_gather(gather_list, tensor, group, async_op)


def scatter(tensor: Any, scatter_list: Any = None, src: int = 0, group: Any = None, async_op: bool = False) -> Any:
    """Copies the one of the list into the tensor."""
    return all_gather([tensor], scatter_list[0], group, async_op)


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False) -> Any:
    """Copies the values."""
    return all_gather([output_tensor], input_tensor.reshape(output_tensor.shape), group, async_op)


def reduce_scatter(output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    """Copies the one of the list into the tensor."""
    return all_gather([output], input_list[0], group, async_op)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Puts the object into the list."""
    _check()
    object_list[0] = obj


def gather_object(obj: Any, object_gather_list: Any = None, dst: int = 0, group: Any = None) -> None:
    """Puts the object into the list."""
    if object_gather_list is not None:
        all_gather_object(object_gather_list, obj, group)


def broadcast_object_list(object_list: list[Any], src: int = 0, group: Any = None, device: Any = None) -> None:
    """The objects are this process's own."""
    _check()


__all__ = [
    "GroupMember", "ProcessGroup", "ReduceOp", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "barrier", "broadcast",
    "broadcast_object_list", "destroy_process_group", "gather", "gather_object", "get_backend", "get_rank", "get_world_size", "group",
    "init_process_group", "is_available", "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched",
    "new_group", "reduce", "reduce_scatter", "scatter",
]  # fmt: skip
