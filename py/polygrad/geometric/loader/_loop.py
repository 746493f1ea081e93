"""The loop of the sampling loaders: which entries make up each batch, and threads that work ahead of the training step.

A batch is made in two steps. The first draws samples and collects features, in C and on arrays, by threads in the background; the second
makes tensors of them, in the thread that asks for the batch, because tensors belong to a thread. What is drawn is a function of the seed
and the batch's number: it does not depend on which thread gets there first, nor on how many there are.
"""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Callable

import numpy as np

from ..data._values import to_array
from ..sampler._draw import draw_seed, generator, thread_count
from ._ahead import copied_ahead, holds_tensors

# Of torch's loader: what has no meaning here, because there are no worker processes.
IGNORED = {
    "dataset", "collate_fn", "pin_memory", "timeout", "worker_init_fn", "multiprocessing_context", "generator", "persistent_workers",
    "pin_memory_device", "in_order", "filter_per_worker", "custom_cls",
}  # fmt: skip


def ahead(work: Callable[[Any], Any], jobs: Iterable[Any], workers: int, depth: int, start: Callable[[], None] | None = None) -> Iterator[Any]:
    """work(job) for each job, in order, by threads that are up to `depth` jobs ahead. start: called in each of them when it begins."""
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(workers, thread_name_prefix="polygrad-loader", initializer=start)
    waiting: deque[Any] = deque()
    try:
        for job in jobs:
            waiting.append(pool.submit(work, job))
            if len(waiting) > depth:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class SamplingLoader:
    """Batches of the entries 0 .. size - 1. Subclasses draw and make them.

    Of torch's DataLoader it takes batch_size, shuffle, sampler, batch_sampler, drop_last, worker_init_fn and num_workers (threads that make
    batches, at least one). prefetch: batches that each of them makes ahead; 0 makes them in the caller's thread. seed: of shuffling and
    sampling; without it they follow Tensor.manual_seed. num_threads: that share the work on one batch. Sizes of batches are variables, so
    that all batches share one compiled program; static_sizes=True makes them plain numbers.
    """

    def __init__(
        self,
        size: int,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        drop_last: bool = False,
        prefetch: int = 2,
        prefetch_factor: int | None = None,
        seed: int | None = None,
        num_threads: int | None = None,
        static_sizes: bool = False,
        **kwargs: Any,
    ):
        unknown = sorted(set(kwargs) - IGNORED)
        if unknown:
            raise TypeError(f"{type(self).__name__} does not know the argument {unknown[0]!r}")
        if batch_sampler is not None and (batch_size not in (None, 1) or shuffle or sampler is not None or drop_last):
            raise ValueError("batch_sampler says what is in a batch: it excludes batch_size, shuffle, sampler and drop_last")
        if sampler is not None and shuffle:
            raise ValueError("sampler says the order of the entries: it excludes shuffle")
        if batch_sampler is None and (batch_size is None or int(batch_size) < 1):
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        self.prefetch = prefetch if prefetch_factor is None else prefetch_factor
        for name, value in (("num_workers", num_workers), ("prefetch", self.prefetch)):
            if value < 0:
                raise ValueError(f"{name} must not be negative, got {value}")
        self.dataset = range(size)
        self.batch_size = None if batch_size is None else int(batch_size)
        self.shuffle, self.sampler, self.batch_sampler, self.drop_last = bool(shuffle), sampler, batch_sampler, drop_last
        self.num_workers, self.seed, self.num_threads, self.static_sizes = num_workers, seed, num_threads, static_sizes
        self.worker_init_fn = kwargs.get("worker_init_fn")
        self.loader_cores: list[Any] | None = None
        self._epoch = 0
        self._threads = 1

    # ---- what a subclass does ----

    def _prepare(self) -> Any:
        """What the threads need to know, found in the caller's thread once an epoch."""
        return None

    def _work(self, prepared: Any, seed: int, number: int, index: np.ndarray) -> Any:
        """First step: arrays, on any thread."""
        raise NotImplementedError

    def _make_batch(self, prepared: Any, work: Any) -> Any:
        """Second step: here, and only here, tensors and their sizes are made."""
        raise NotImplementedError

    _in_background = True  # may the first step run on another thread?

    # ---- the loop ----

    def __len__(self) -> int:
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        n = len(self.dataset) if self.sampler is None else len(self.sampler)
        assert self.batch_size is not None
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def _next_seed(self) -> int:
        """The seed of one epoch. Called in the caller's thread, which has the context that knows."""
        self._threads = max(1, self.num_threads or thread_count() // max(1, self.num_workers))
        if self.seed is None:
            return draw_seed()
        self._epoch += 1
        return int(generator(self.seed, self._epoch).integers(0, 1 << 63))

    def _batches(self, seed: int) -> Iterator[np.ndarray]:
        if self.batch_sampler is not None:
            for index in self.batch_sampler:
                yield self._entries(index)
            return
        n = len(self.dataset)
        if self.sampler is not None:
            order = self._entries(self.sampler)
        elif self.shuffle:
            order = generator(seed, 1).permutation(n)
        else:
            order = np.arange(n)
        size = self.batch_size
        assert size is not None
        for k in range(len(order) // size if self.drop_last else -(-len(order) // size)):
            yield order[k * size : (k + 1) * size]

    def _entries(self, index: Any) -> np.ndarray:
        a = to_array(index if hasattr(index, "shape") else _numbers(index)).reshape(-1).astype(np.int64)
        n = len(self.dataset)
        if a.size and (a.min() < 0 or a.max() >= n):
            raise IndexError(f"the sampler gives the entry {int(a.min()) if a.min() < 0 else int(a.max())}, but there are {n}")
        return a

    def __iter__(self) -> Iterator[Any]:
        seed = self._next_seed()
        prepared = self._prepare()
        jobs = enumerate(self._batches(seed))

        def work(job: tuple[int, np.ndarray]) -> Any:
            return self._work(prepared, seed, *job)

        workers = max(1, self.num_workers)
        in_background = self.prefetch > 0 and self._in_background
        done = ahead(work, jobs, workers, self.prefetch * workers, self._start()) if in_background else map(work, jobs)
        batches = (self._make_batch(prepared, result) for result in done)
        # Not ahead of the last step: a function of the user's may draw random numbers, and rows of tensors are those after the step.
        early = in_background and getattr(self, "transform", None) is None and not holds_tensors(prepared)
        yield from copied_ahead(batches) if early else batches

    def _start(self) -> Callable[[], None] | None:
        """What each thread does first: it goes to its cores, and calls worker_init_fn with its number."""
        if not self.num_workers or (self.worker_init_fn is None and self.loader_cores is None):
            return None
        numbers = itertools.count()

        def start() -> None:
            k = next(numbers)
            if self.loader_cores is not None and hasattr(os, "sched_setaffinity"):
                cores = self.loader_cores[k % len(self.loader_cores)]
                os.sched_setaffinity(0, cores if isinstance(cores, (list, tuple)) else [cores])
            if self.worker_init_fn is not None:
                self.worker_init_fn(k)

        return start

    @contextmanager
    def enable_cpu_affinity(self, loader_cores: list[Any] | None = None) -> Iterator[None]:
        """While it lasts, each of the num_workers threads runs on cores of its own: loader_cores, by default the first that there are."""
        if not self.num_workers:
            raise ValueError("'enable_cpu_affinity' needs at least one worker thread: num_workers is 0")
        if loader_cores is not None and len(loader_cores) != self.num_workers:
            raise ValueError(f"{len(loader_cores)} cores for {self.num_workers} workers: each has its own")
        there = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
        if loader_cores is None and len(there) < self.num_workers:
            raise ValueError(f"More workers (got {self.num_workers}) than available cores (got {len(there)})")
        self.loader_cores = there[: self.num_workers] if loader_cores is None else loader_cores
        try:
            yield
        finally:
            self.loader_cores = None

    @contextmanager
    def enable_multithreading(self, worker_threads: int | None = None) -> Iterator[None]:
        """While it lasts, worker_threads threads share the work on one batch."""
        if not self.num_workers:
            raise ValueError("'enable_multithreading' needs at least one worker thread: num_workers is 0")
        before, self.num_threads = self.num_threads, worker_threads
        try:
            yield
        finally:
            self.num_threads = before

    def _get_iterator(self) -> Iterator[Any]:
        return iter(self)

    def __call__(self, index: Any) -> Any:
        """The batch of the given entries."""
        prepared = self._prepare()
        return self._make_batch(prepared, self._work(prepared, self._next_seed(), 0, self._entries(index)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


__all__ = ["SamplingLoader", "ahead"]


def _numbers(index: Any) -> list[int]:
    """Numbers out of a list, or out of lists of them."""
    return [n for k in index for n in (_numbers(k) if isinstance(k, (list, tuple)) else (int(k),))]
