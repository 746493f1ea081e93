"""Threads on one tensor, forked processes, compilers that do not end, disks that are full, processes that were killed."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from polygrad import Tensor


def run(code, timeout=60, **env):
    """Runs a program in a process of its own; its output and status."""
    full = {**os.environ, **{k: str(v) for k, v in env.items()}}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=full, capture_output=True, text=True, timeout=timeout)
    return done.stdout.strip(), done.stderr, done.returncode


def in_threads(function, n=4):
    errors = []

    def body(k):
        try:
            function(k)
        except BaseException as e:  # noqa: BLE001
            errors.append(e)

    threads = [threading.Thread(target=body, args=(k,)) for k in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not any(t.is_alive() for t in threads), "a thread hangs"
    assert not errors, errors


# ---- threads ----


def test_threads_compute_with_one_tensor():
    x = Tensor(np.arange(64, dtype=np.float32)).realize()

    def work(k):
        for i in range(60):
            y = (x * (k + 1) + i).sum()
            assert y.item() == 2016 * (k + 1) + 64 * i

    in_threads(work)


def test_threads_realize_one_lazy_tensor():
    for _ in range(10):
        y = Tensor(np.arange(1000, dtype=np.float32)).exp().sum()
        want = []
        in_threads(lambda k, y=y, want=want: want.append(y.item()))
        assert len(set(want)) == 1


def test_threads_free_what_others_use():
    x = Tensor.ones(8).realize()

    def work(k):
        for _ in range(300):
            kept = [x + 1 for _ in range(5)]
            del kept

    in_threads(work)
    assert (x + 1).tolist() == [2.0] * 8


def test_each_thread_gets_its_own_error():
    x = Tensor.ones(2, 3).realize()

    def work(k):
        for _ in range(50):
            if k % 2:
                with pytest.raises(ValueError, match="5"):
                    x.reshape(5)
            else:
                with pytest.raises(IndexError, match="7"):
                    x.sum(7)
            assert (x + k).shape == (2, 3)

    in_threads(work)


def test_threads_and_gradients():
    w = Tensor(np.ones(4, np.float32), requires_grad=True)

    def work(k):
        for _ in range(20):
            (g,) = (w * (k + 2)).square().sum().gradient(w)
            np.testing.assert_allclose(g.numpy(), 2 * (k + 2) ** 2)

    in_threads(work)


# ---- fork ----

FORKED = """
    import os, sys, warnings, numpy as np
    warnings.simplefilter("ignore")
    from polygrad import Tensor
    from polygrad.context import Context
    a = np.ones((1500, 1500), np.float32)
    def work(v):
        x = Tensor(a * v)
        return float((x.exp() * 0 + x @ x).sum(0).sum().item())
    with Context(THREADS=2):
        want = work(1)
        pid = os.fork()
        if pid == 0:
            os._exit(0 if work(1) == want and Tensor([1.0, 2.0]).sum().item() == 3 else 1)
        assert os.waitpid(pid, 0)[1] == 0
        print("ok", work(1) == want)
"""


def test_fork_after_two_threads():
    assert run(FORKED) == ("ok True", "", 0)


def test_multiprocessing_by_fork():
    x = Tensor(np.arange(1 << 20, dtype=np.float32)).realize()
    total = (x * 2).sum().item()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()

    def child():
        queue.put((x * 2).sum().item())

    process = context.Process(target=child)
    process.start()
    assert queue.get(timeout=30) == total
    process.join(30)
    assert process.exitcode == 0


def test_fork_while_another_thread_computes():
    """The child cannot use what the other thread was changing, and says so; what is its own works."""
    out, err, status = run("""
        import os, threading, time, warnings, numpy as np
        warnings.simplefilter("ignore")
        from polygrad import Tensor
        x = Tensor(np.ones((1000, 1000), np.float32)).realize()
        go = True
        def work():
            while go:
                (x @ x).realize()
        t = threading.Thread(target=work); t.start(); time.sleep(0.3)
        for _ in range(5):
            pid = os.fork()
            if pid == 0:
                from polygrad import with_autograd_graph
                try:
                    (x + 1).sum().item()
                except RuntimeError as e:
                    assert "forked" in str(e), e
                with with_autograd_graph():
                    assert Tensor([1.0, 2.0]).sum().item() == 3
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
        go = False; t.join(); print("ok")
    """)
    assert (out, status) == ("ok", 0), err


# ---- compilers ----

ENDLESS = """#!/bin/sh
trap '' INT TERM
sleep 300 &
echo $$ > "$PIDFILE"
sleep 300
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_signals_come_between_products(threads):
    """Kernels of a library of matrix products keep no stack for a handler: one that ran inside them wrote over the program's memory."""
    code = """
    import signal, time
    import numpy as np
    from polygrad import Tensor

    count = 0
    def handler(number, frame):
        global count
        count += 1

    rng = np.random.default_rng(0)
    sizes = [((64, 300), (300, 48)), ((256, 256), (256, 256)), ((8, 32, 2304), (8, 2304, 24)), ((700, 600), (600, 500))]
    pairs = [tuple(Tensor(rng.random(s, dtype=np.float32)).realize() for s in pair) for pair in sizes]
    first = [(a @ b).numpy() for a, b in pairs]
    signal.signal(signal.SIGPROF, handler)
    signal.setitimer(signal.ITIMER_PROF, 0.0005, 0.0005)
    end = time.process_time() + 1.5
    while time.process_time() < end:
        for (a, b), c in zip(pairs, first):
            assert ((a @ b).numpy() == c).all()
            kept = [bytes(k) for k in range(100, 4000, 300)]
    signal.setitimer(signal.ITIMER_PROF, 0)
    assert count > 10, count
    print("fine")
    """
    out, err, status = run(code, POLY_THREADS=threads)
    assert (out, status) == ("fine", 0), err


@pytest.fixture
def endless(tmp_path):
    """A compiler that never ends, and an empty cache."""
    path = tmp_path / "cc"
    path.write_text(ENDLESS)
    path.chmod(0o700)
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    return {"CC": path, "POLY_CACHE_DIR": cache, "TMPDIR": cache, "PIDFILE": tmp_path / "pid", "POLY_DEVICE": "CPU"}


def is_alive(pid):
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] != "Z"
    except OSError:
        return False


def test_compiler_time_limit(endless):
    out, err, status = run(
        """
        from polygrad import Tensor
        for _ in range(2):
            try:
                (Tensor([1.0]) + 1).numpy()
            except RuntimeError as e:
                print("did not end within 0.5 s" in str(e) and "POLY_COMPILE_TIMEOUT" in str(e))
        """,
        POLY_COMPILE_TIMEOUT=0.5,
        **endless,
    )
    assert (out, status) == ("True\nTrue", 0), err
    assert os.listdir(endless["POLY_CACHE_DIR"]) == []
    assert not is_alive(int(endless["PIDFILE"].read_text()))


def test_interrupt_ends_the_compiler(endless):
    out, err, status = run(
        """
        import os, signal, threading
        from polygrad import Tensor
        x = Tensor([1.0, 2.0])
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            (x + 1).numpy()
        except KeyboardInterrupt:
            print("interrupted")
        from polygrad import Device
        Device.DEFAULT = "INTERP"
        print((x + 1).tolist())
        try:
            x.sum(7)
        except IndexError as e:
            print("axis 7" in str(e))
        """,
        **endless,
    )
    assert (out, status) == ("interrupted\n[2.0, 3.0]\nTrue", 0), err
    assert os.listdir(endless["POLY_CACHE_DIR"]) == []
    assert not is_alive(int(endless["PIDFILE"].read_text()))


def test_files_of_killed_processes_are_removed(endless, tmp_path):
    """A process that is killed while its compiler runs leaves a directory; the next process that compiles removes it."""
    code = "from polygrad import Tensor; (Tensor([1.0]) + 1).numpy()"
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, **{k: str(v) for k, v in endless.items()}})
    cache, pidfile = endless["POLY_CACHE_DIR"], endless["PIDFILE"]
    for _ in range(200):
        if pidfile.exists() and pidfile.read_text():
            break
        time.sleep(0.05)
    process.kill()
    process.wait()
    os.killpg(int(pidfile.read_text()), signal.SIGKILL)
    assert len(os.listdir(cache)) == 1
    (cache / "polygrad-notes").mkdir()  # of the user: not one of ours, whose names end in six random characters
    out, err, status = run(code, **{**endless, "CC": "gcc"})
    assert status == 0, err
    left = sorted(os.listdir(cache))
    assert "polygrad-notes" in left and [n for n in left if not n.endswith(".pack")] == ["polygrad-notes"]


def test_a_compiler_that_is_not_there():
    out, err, status = run("from polygrad import Tensor; (Tensor([1.0]) + 1).numpy()", CC="doesnotexist -m64", POLY_DEVICE="")
    assert status == 1 and 'RuntimeError: CC is "doesnotexist -m64", which is not a program on PATH' in err


def test_a_compiler_that_says_nothing(tmp_path):
    for script, words in (("exit 3", "it ended with status 3"), ("kill -9 $$", "it was ended by signal 9"), ("exit 0", "it wrote nothing")):
        path = tmp_path / "cc"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o700)
        out, err, status = run(
            "from polygrad import Tensor; (Tensor([1.0]) + 1).numpy()", CC=path, POLY_CACHE_DIR=tmp_path / "none", POLY_DEVICE="CPU"
        )
        assert status == 1 and words in err, err


def test_full_disk(tmp_path):
    """Files cannot grow: the compiler's own words, or the system's, are in the error."""
    out, err, status = run(
        """
        import resource
        from polygrad import Tensor
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        try:
            (Tensor([1.0]) + 1).numpy()
        except RuntimeError as e:
            print(e)
        """,
        POLY_CACHE_DIR=tmp_path / "cache",
        TMPDIR=tmp_path,
        POLY_DEVICE="CPU",
    )
    assert status == 0 and ("File too large" in out or "No space left" in out), (out, err)
    assert "gave no reason" not in out
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []
