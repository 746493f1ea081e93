"""A campaign: many programs in several processes, until the time is over or the count is reached.

Each worker is a process of its own and says which seeds it is at, so that a crash or a hang has a name too, and the rest goes on. What fails is
shrunk by the worker that found it and saved.
"""

from __future__ import annotations

import os
import queue
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from polygrad import with_autograd_graph

from .generate import generate
from .run import Failure, run, run_group
from .shrink import shrink
from .source import save

GROUP = 40  # programs whose kernels are compiled as one file
PER_CONTEXT = 400  # programs that share a context: plans of earlier ones are kept in it
SILENCE = {"INTERP": 60.0}  # seconds without a word after which a worker is taken to hang
SILENCE_COMPILED = 600.0
SAVED_PER_SIGNATURE = 2


@dataclass
class Job:
    seed: int
    first: int  # index of its first batch
    stride: int  # batches to go on by: the number of workers
    programs: int  # in all workers together; 0: until the time is over
    seconds: float
    device: str
    folder: Path


def seeds_of(job: Job, batch: int) -> range:
    start = job.seed + batch * GROUP
    stop = start + GROUP if not job.programs else min(start + GROUP, job.seed + job.programs)
    return range(start, stop)


def signature(f: Failure) -> str:
    """Failures of the same steps and the same kind of text are taken for one."""
    steps = "|".join(s.op for s in f.program.steps)
    return f"{f.program.kind} {steps} {re.sub(r'[0-9][0-9.e+-]*', '#', f.text)[:60]}"


def work(job: Job) -> None:
    """The loop of a worker. Says '@ seed' before each batch or program, '! file text' for each failure, '. count' when a batch is done."""
    end = time.monotonic() + job.seconds
    seen: dict[str, int] = {}
    batch = job.first
    while seeds_of(job, batch) and (not job.seconds or time.monotonic() < end):
        with with_autograd_graph():
            for _ in range(max(PER_CONTEXT // GROUP, 1)):
                seeds = seeds_of(job, batch)
                if not seeds or (job.seconds and time.monotonic() >= end):
                    break
                for f in _run_batch(seeds, job.device):
                    _report(f, seen, job.folder)
                print(f". {len(seeds)}", flush=True)
                batch += job.stride


def _run_batch(seeds: range, device: str) -> list[Failure]:
    if device != "INTERP":
        print(f"@ {seeds.start}", flush=True)
        return run_group([generate(s) for s in seeds], device)
    out = []
    for s in seeds:
        print(f"@ {s}", flush=True)
        f = run(generate(s), device)
        if f is not None:
            out.append(f)
    return out


def _report(f: Failure, seen: dict[str, int], folder: Path) -> None:
    small = shrink(f, 400 if f.device == "INTERP" else 40, lambda: print(f"@ {f.program.seed}", flush=True))
    key = signature(small)
    seen[key] = seen.get(key, 0) + 1
    where = save(small, folder) if seen[key] <= SAVED_PER_SIGNATURE else Path("-")
    lines = "; ".join(small.program.text())
    print(f"! {where} seed {f.program.seed}, {small.program.kind}: {small.text} | {lines}".replace("\n", " "), flush=True)


class Worker:
    """A process that works on a job, and a thread that reads what it says."""

    def __init__(self, job: Job, said: queue.Queue):
        self.job, self.seed, self.heard = job, job.seed, time.monotonic()
        self.done = 0  # batches
        command = [sys.executable, "-m", "fuzz", "--worker", str(job.first), str(job.stride), "--seed", str(job.seed), "--programs", str(job.programs),
                   "--seconds", str(job.seconds), "--device", job.device, "--out", str(job.folder)]  # fmt: skip
        env = {**os.environ, "POLY_POISON": "1"}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
        threading.Thread(target=self._read, args=(said,), daemon=True).start()

    def _read(self, said: queue.Queue) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            said.put((self, line.rstrip()))
        said.put((self, None))


class Campaign:
    """All workers of a device; counts what they did."""

    def __init__(self, seed: int, programs: int, seconds: float, device: str, processes: int, folder: Path):
        self.end = time.monotonic() + seconds if seconds else None
        self.said: queue.Queue = queue.Queue()
        self.programs, self.failures, self.tail = 0, [], []
        self.jobs = [Job(seed, k, processes, programs, seconds, device, folder) for k in range(processes)]

    def run(self) -> list[str]:
        workers = [Worker(j, self.said) for j in self.jobs]
        while workers:
            try:
                worker, line = self.said.get(timeout=1.0)
            except queue.Empty:
                self._stop_silent(workers)
                continue
            if line is not None:
                self._hear(worker, line)
                continue
            workers.remove(worker)
            code = worker.process.wait()
            again = self._ended(worker, code)
            if again is not None:
                workers.append(again)
        return self.failures

    def _hear(self, worker: Worker, line: str) -> None:
        worker.heard = time.monotonic()
        if line.startswith("@ "):
            worker.seed = int(line[2:])
        elif line.startswith(". "):
            self.programs += int(line[2:])
            worker.done += 1
        elif line.startswith("! "):
            self.failures.append(line[2:])
            print(line[2:], flush=True)
        else:
            self.tail = [*self.tail[-20:], line]

    def _ended(self, worker: Worker, code: int) -> Worker | None:
        """A crash is a failure; another worker goes on behind it."""
        if code == 0:
            return None
        job = worker.job
        program = generate(worker.seed)
        f = Failure(program, job.device, f"the process ended with {code}: {' '.join(self.tail[-5:])}")
        text = f"{save(f, job.folder)} seed {worker.seed}: {f.text}"
        self.failures.append(text)
        print(text, flush=True)
        left = self.end - time.monotonic() if self.end else 0.0
        if self.end and left <= 0:
            return None
        next_batch = job.first + (worker.done + 1) * job.stride
        return Worker(Job(job.seed, next_batch, job.stride, job.programs, left, job.device, job.folder), self.said)

    @staticmethod
    def _stop_silent(workers: list[Worker]) -> None:
        for w in workers:
            if time.monotonic() - w.heard > SILENCE.get(w.job.device, SILENCE_COMPILED):
                w.process.kill()
