"""Which kernels are interpreted and which are compiled, when, and what happens to compilations that are under way. Each test runs programs in
processes of their own: the tier is read when a context is made."""

import os
import time

import pytest
from test_threads_processes import endless, is_alive, run  # noqa: F401

pytestmark = pytest.mark.integration

# A compiler that works, but writes 2.5 where the program has 1.5: then the result shows which tier it came from.
OTHER = """#!/bin/sh
for last; do src="$last"; [ "${src%.c}" != "$src" ] && break; done
sed -i 's/\\b1\\.5f/2.5f/' "$src"
echo x >> "$LOG"
exec gcc "$@"
"""

FAILING = """#!/bin/sh
echo x >> "$LOG"
echo "no such luck" >&2
exit 3
"""

SMALL = "from polygrad import Tensor; print((Tensor([1.0, 2.0]) + 1.5).tolist())"

# Runs one program until its result changes or the time is over.
UNTIL_OTHER = """
import time
import numpy as np
from polygrad import Tensor
x = Tensor(np.zeros(20000, np.float32)).realize()
seen, end = [], time.time() + 40
while time.time() < end and 2.5 not in seen:
    v = (x.exp().log() + 1.5).max().item()
    if v not in seen:
        seen.append(v)
print(seen)
"""


@pytest.fixture
def compiler(tmp_path):
    def make(text, **env):
        path = tmp_path / "cc"
        path.write_text(text)
        path.chmod(0o700)
        (tmp_path / "tmp").mkdir()
        names = {"CC": path, "LOG": tmp_path / "log", "POLY_CACHE_DIR": tmp_path / "cache", "TMPDIR": tmp_path / "tmp"}
        return {**names, "POLY_DEVICE": "CPU", "POLY_TIER": "auto", **env}

    return make


def test_small_work_needs_no_compiler(compiler, tmp_path):
    out, err, status = run(SMALL, **compiler(OTHER))
    assert (out, status) == ("[2.5, 3.5]", 0), err
    assert not (tmp_path / "log").exists() and os.listdir(tmp_path / "tmp") == []


@pytest.mark.parametrize("tier, result", (("0", "[2.5, 3.5]"), ("1", "[3.5, 4.5]")))
def test_a_tier_can_be_fixed(compiler, tier, result):
    out, err, status = run(SMALL, **compiler(OTHER, POLY_TIER=tier))
    assert (out, status) == (result, 0), err


def test_what_runs_again_and_again_is_compiled_in_the_background(compiler, tmp_path):
    out, err, status = run(UNTIL_OTHER, **compiler(OTHER))
    assert (out, status) == ("[1.5, 2.5]", 0), err
    assert (tmp_path / "log").read_text() == "x\n"
    assert os.listdir(tmp_path / "tmp") == []


def test_much_work_is_compiled_before_it_runs(compiler):
    code = """
        import numpy as np
        from polygrad import Tensor
        x = Tensor(np.zeros(30_000_000, np.float32)).realize()
        print((x.exp().log().sin().exp().log() + 1.5).max().item())
        """
    out, err, status = run(code, **compiler(OTHER))
    assert (out, status) == ("2.5", 0), err


def test_a_failed_compilation_leaves_small_work_to_the_interpreter(compiler, tmp_path):
    code = """
        import time
        import numpy as np
        from polygrad import Tensor
        x = Tensor(np.zeros(20000, np.float32)).realize()
        end = time.time() + 1.5
        while time.time() < end:
            assert (x.exp().log() + 1.5).max().item() == 1.5
        y = Tensor(np.zeros(30_000_000, np.float32)).realize()
        try:
            (y.exp().log().sin().exp().log() + 1.5).max().item()
        except RuntimeError as e:
            print("no such luck" in str(e))
        """
    out, err, status = run(code, **compiler(FAILING))
    assert (out, status) == ("True", 0), err
    assert (tmp_path / "log").read_text().count("x") == 2  # once in the background, once for the run that needs it
    assert os.listdir(tmp_path / "tmp") == []


def test_the_end_of_the_program_ends_the_compiler(endless):  # noqa: F811
    code = UNTIL_OTHER.replace("time.time() + 40", "time.time() + 1.5")
    start = time.time()
    out, err, status = run(code, **{**endless, "POLY_TIER": "auto"})
    assert (out, status) == ("[1.5]", 0), err
    assert time.time() - start < 30
    assert not is_alive(int(endless["PIDFILE"].read_text()))
    assert os.listdir(endless["POLY_CACHE_DIR"]) == []


def test_interrupt_leaves_the_background_alone(compiler):
    code = "import os, signal\nsignal.signal(signal.SIGINT, lambda *a: None)\n" + UNTIL_OTHER.replace(
        "    if v not", "    os.kill(0, signal.SIGINT)  # as Ctrl-C: to all of the process group\n    if v not"
    )
    out, err, status = run("import os\nos.setpgid(0, 0)\n" + code, **compiler(OTHER))
    assert (out, status) == ("[1.5, 2.5]", 0), err


def test_a_forked_process_leaves_the_compilers_of_its_parent_alone(compiler):
    code = (
        "import os, sys\n"
        + UNTIL_OTHER.replace("    if v not", "    if len(seen) == 1 and not done:\n        done.append(os.fork())\n    if v not").replace(
            "seen, end", "done = []\nseen, end"
        )
        + "if done[0]:\n    assert os.waitpid(done[0], 0)[1] == 0\nelse:\n    sys.stdout.flush()\n    os._exit(0)\n"
    )
    out, err, status = run(code, timeout=120, **compiler(OTHER))
    assert (out.replace("\n", ""), status) == ("[1.5, 2.5]" * 2, 0), err  # two processes write: lines may end late


PROGRAMS = """
import hashlib
import numpy as np
from fuzz.generate import generate
from fuzz.run import GROUPED, checks_of, realize
from test_bits import bits
from polygrad import Tensor
digest = hashlib.sha256()
for seed in range(31000, 31040):
    p = generate(seed)
    if p.kind not in GROUPED:
        continue
    for again in range(3):
        checks = checks_of(p, 0)
        realize(checks)
        for c in checks:
            digest.update(bits(c.tensor))
print(digest.hexdigest())
"""


def test_tiers_give_the_same_bits(tmp_path):
    """Products included: they are the device's own routine in every tier."""
    path = os.pathsep.join([os.environ.get("PYTHONPATH", ""), os.path.dirname(__file__)])
    found = {
        tier: run(
            PROGRAMS, timeout=600, POLY_TIER=tier, POLY_DEVICE="CPU", PYTHONPATH=path, POLY_CACHE_DIR=tmp_path / "cache", PYTHONWARNINGS="ignore"
        )
        for tier in ("0", "auto", "1")
    }
    assert all(status == 0 for _, _, status in found.values()), found
    assert len({out for out, _, _ in found.values()}) == 1
