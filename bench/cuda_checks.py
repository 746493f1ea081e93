"""What has to hold on a GPU besides tests and times: accuracies, equal bits from run to run, nothing that compute-sanitizer finds, a quick first step.

    accuracy    the networks of examples/geometric on Cora, and on CiteSeer where its files are found, at most a point below PyTorch Geometric's
    bits        a step of GAT from the same parameters, again and again, in two processes: loss and parameters have the same bits
    first       seconds until the first step of GCN on Cora has a loss, with an empty kernel cache, at most 3
    memory      what nvidia-smi says the process holds, beside our own figure, at most 5 % apart
    memcheck, racecheck   compute-sanitizer over a part of the tests of graphs; left out where it is not installed

Each is one or several processes with a time limit; a line is printed as each ends, and the exit status is 1 if one does not hold.

Usage: cuda_checks.py [-k bits,first] [--device CUDA] [--seeds 10] [--runs 100] [--data FOLDER] [--share 8] [--limit 240] [--jobs 12] [--json FILE]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKS = ("first", "memory", "bits", "accuracy", "memcheck", "racecheck")
MODELS = ("gcn", "gat", "sage", "sgc", "appnp")
FIRST_SECONDS, MEMORY_SHARE = 3.0, 0.05
SANITIZER_PARTS = 4


# ---- what runs in a process of its own ----


def train(net, opt, x, y, graph):
    loss = net(x, graph).cross_entropy(y)
    loss.backward()
    opt.step()
    opt.zero_grad()
    return loss


def bits(device, runs):
    """Steps of GAT on an R-MAT graph with hubs. The number of different results, and what all of them have in common."""
    import numpy as np
    import polygrad.geometric.nn as gnn
    from polygrad import Device, Graph, Tensor, nn

    Device.DEFAULT = device
    rng = np.random.default_rng(1)
    nodes, edges = (3000, 60_000) if runs > 3 else (60, 600)
    hubs = np.where(rng.random(edges) < 0.2, rng.integers(0, 4, edges), rng.integers(0, nodes, edges))
    graph = Graph(Tensor(np.stack([rng.integers(0, nodes, edges), hubs])), nodes)
    x, y = Tensor(rng.standard_normal((nodes, 64)).astype(np.float32)).realize(), Tensor(rng.integers(0, 7, nodes)).realize()
    seen = set()
    for _ in range(runs):
        Tensor.manual_seed(3)

        class Net(nn.Module):
            def __init__(self):
                self.one, self.two = gnn.GATConv(64, 16, heads=8, dropout=0.5), gnn.GATConv(128, 7)

            def forward(self, x, graph):
                return self.two(self.one(x, graph).elu(), graph)

        net = Net()
        net.train()
        step = nn.compile_step(lambda n, o, a, b: train(n, o, a, b, graph), net, nn.Adam(nn.get_parameters(net), lr=0.01), x, y)
        for _ in range(3):  # launched one by one, recorded, replayed
            step.run()
        text = hashlib.sha256(np.float32(step.loss_value()).tobytes())
        for p in nn.get_parameters(net):
            text.update(p.numpy().tobytes())
        seen.add(text.hexdigest())
    return {"runs": runs, "different": len(seen), "hash": min(seen)}


def first(device):
    """Seconds from the network to the loss of its first step, and with everything that is imported and read."""
    start = time.perf_counter()
    sys.path.insert(0, os.path.join(HERE, "..", "examples", "geometric"))
    import node_classification
    from polygrad import Device, Graph, nn

    Device.DEFAULT = device
    dataset, data, parts = node_classification.load("Cora")
    data.x.realize()
    opened = time.perf_counter()
    graph = Graph(data.edge_index, data.num_nodes)
    net = node_classification.GCN(dataset.num_features, dataset.num_classes)
    opt = nn.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
    net.train()
    step = nn.compile_step(lambda n, o: train_part(n, o, data, graph, parts[0]), net, opt)
    step.run()
    loss = step.loss_value()
    return {"seconds": time.perf_counter() - opened, "with_imports": time.perf_counter() - start, "loss": loss}


def train_part(net, opt, data, graph, part):
    loss = net(data.x, graph)[part].cross_entropy(data.y[part])
    loss.backward()
    opt.step()
    opt.zero_grad()
    return loss


def memory(device):
    """Bytes that the process holds on the card by nvidia-smi and by our own count, after tensors of several sizes came and went."""
    import numpy as np
    from polygrad import Device, Tensor
    from polygrad.autograd import current

    def of_driver():
        out = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"], capture_output=True, text=True, check=True)
        return int(out.stdout.split()[0]) << 20

    Device.DEFAULT = device
    before = of_driver()
    Tensor([1.0, 2.0]).sum().item()
    opened, held = of_driver(), current().held_bytes_on(device)
    kept = [(Tensor(np.ones(1000, np.float32)).sum() + Tensor.ones((64 + 37 * i) << 20)).contiguous().realize() for i in range(8)]
    kept.append((Tensor.rand(3 << 28) * 2).realize())
    kept[-1].sum().item()
    return {
        "before": before,
        "context": opened - before,
        "driver": of_driver() - opened,
        "ours": current().held_bytes_on(device) - held,
        "live": current().live_bytes_on(device),
    }


def child(what, device, runs):
    result = {"bits": lambda: bits(device, runs), "first": lambda: first(device), "memory": lambda: memory(device)}[what]()
    print(json.dumps(result))


# ---- the checks ----


class Checks:
    def __init__(self, args):
        self.args, self.rows, self.pool = args, [], ThreadPoolExecutor(args.jobs)

    def note(self, name, ok, text):
        self.rows.append({"name": name, "ok": ok, "text": text})
        print(f"{name:18} {'holds' if ok else 'left out' if ok is None else 'DOES NOT HOLD':14} {text}", flush=True)
        if self.args.json:
            with open(self.args.json, "w") as f:
                json.dump(self.rows, f, indent=1)

    def run(self, command, **env):
        """Exit status (None: out of time) and output of a process."""
        try:
            p = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=self.args.limit, env={**os.environ, **env}
            )
        except subprocess.TimeoutExpired as e:
            return None, (e.stdout or b"").decode(errors="replace") if isinstance(e.stdout, bytes) else e.stdout or ""
        return p.returncode, p.stdout

    def one(self, what, **env):
        """The result of a check in its own process, or None and a line."""
        status, out = self.run([sys.executable, __file__, "--child", what, "--device", self.args.device, "--runs", str(self.args.runs)], **env)
        lines = [line for line in out.splitlines() if line.startswith("{")]
        if status == 0 and lines:
            return json.loads(lines[-1])
        self.note(what, False, "out of time" if status is None else (out.strip().splitlines() or [f"exit status {status}"])[-1][:300])
        return None

    def first(self):
        with tempfile.TemporaryDirectory() as folder:
            r = self.one("first", POLY_CACHE_DIR=folder)
            if r:
                text = f"{r['seconds']:.2f} s (wanted {FIRST_SECONDS:.0f}), {r['with_imports']:.2f} s with imports, driver and data; loss {r['loss']:.4f}"
                self.note("first", r["seconds"] <= FIRST_SECONDS, text)
            again = self.one("first", POLY_CACHE_DIR=folder) if r else None
            if again:
                self.note("first, from cache", None, f"{again['seconds']:.2f} s, {again['with_imports']:.2f} s with imports, driver and data")

    def memory(self):
        if not shutil.which("nvidia-smi"):
            return self.note("memory", None, "nvidia-smi is not there")
        r = self.one("memory")
        if r:
            apart = abs(r["driver"] - r["ours"]) / max(r["driver"], 1)
            text = f"{r['driver'] / 2**20:.0f} MiB beyond the context's {r['context'] / 2**20:.0f}; ours {r['ours'] / 2**20:.0f} held, {r['live'] / 2**20:.0f} in use"
            self.note("memory", apart <= MEMORY_SHARE, text)

    def bits(self):
        two = [r for r in self.pool.map(lambda _: self.one("bits"), range(2)) if r]
        if len(two) == 2:
            ok = all(r["different"] == 1 for r in two) and two[0]["hash"] == two[1]["hash"]
            self.note(
                "bits",
                ok,
                f"{two[0]['runs']} runs in each of 2 processes, {len({r['hash'] for r in two})} results; within each {two[0]['different']}, {two[1]['different']}",
            )

    def accuracy(self):
        def measure(work):
            with tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "a.json")
                command = [sys.executable, os.path.join(HERE, "accuracy.py"), "-k", work, "--seeds", str(self.args.seeds), "--json", file]
                status, out = self.run(command, POLY_DEVICE=self.args.device)
                lines = out.strip().splitlines() or [""]
                if status in (0, 1) and os.path.exists(file):
                    self.note(work, status == 0, " ".join(lines[-1].split()[2:]))
                elif "cannot be had" in out:
                    self.note(work, None, "its files are not here: name their folder with --data or POLYGRAD_DATA")
                else:
                    self.note(work, False, "out of time" if status is None else lines[-1][:300])

        list(self.pool.map(measure, [f"{name} {model}" for name in ("Cora", "CiteSeer") for model in MODELS]))

    def sanitizer(self, tool):
        program = shutil.which("compute-sanitizer") or next(
            (p for p in ("/usr/local/cuda/bin/compute-sanitizer", "/usr/local/cuda/compute-sanitizer/compute-sanitizer") if os.path.exists(p)), None
        )
        if not program:
            return self.note(tool, None, "compute-sanitizer is not installed")
        tests = [os.path.join(HERE, "..", "py", "tests", f) for f in ("test_graphs.py", "test_vertex.py")]

        def part(i):
            command = [program, "--tool", tool, "--error-exitcode", "99", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
            env = {"POLY_TEST_DEVICE": self.args.device, "POLY_TEST_SHARE": str(self.args.share), "POLY_TEST_PART": f"{i}/{SANITIZER_PARTS}"}
            return self.run(command, **env)

        found = list(self.pool.map(part, range(SANITIZER_PARTS)))
        lines = [
            line
            for _, out in found
            for line in out.splitlines()
            if "passed" in line or "failed" in line or "ERROR SUMMARY" in line or "RACECHECK SUMMARY" in line
        ]
        late = sum(status is None for status, _ in found)
        text = "; ".join(" ".join(line.replace("=", " ").split()) for line in lines) + (f"; {late} of {len(found)} parts out of time" if late else "")
        self.note(tool, None if late and not any(status for status, _ in found) else all(status == 0 for status, _ in found), text[:600])
        for status, out in found:
            if status:
                print("\n".join(line for line in out.splitlines() if line.startswith("=====") or "Error" in line)[-3000:], flush=True)

    def memcheck(self):
        self.sanitizer("memcheck")

    def racecheck(self):
        self.sanitizer("racecheck")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("-k", default=",".join(CHECKS), help="these checks")
    ap.add_argument("--device", default="CUDA")
    ap.add_argument("--seeds", type=int, default=10, help="runs of each network")
    ap.add_argument("--runs", type=int, default=100, help="runs of the step of GAT")
    ap.add_argument("--data", help="the folder with data sets, as POLYGRAD_DATA")
    ap.add_argument("--share", type=int, default=8, help="one test in this many runs under compute-sanitizer")
    ap.add_argument("--limit", type=float, default=240.0, help="seconds that a process may take")
    ap.add_argument("--jobs", type=int, default=12, help="processes at a time")
    ap.add_argument("--json")
    ap.add_argument("--child", help=argparse.SUPPRESS)
    args = ap.parse_args()
    if args.child:
        return child(args.child, args.device, args.runs)
    if args.data:
        os.environ["POLYGRAD_DATA"] = args.data
    checks, start = Checks(args), time.monotonic()
    for name in args.k.split(","):
        getattr(checks, name)()
    bad = [r["name"] for r in checks.rows if r["ok"] is False]
    print(f"-- {time.monotonic() - start:.0f} s; {'all hold' if not bad else 'do not hold: ' + ', '.join(bad)}")
    return len(bad) > 0


if __name__ == "__main__":
    sys.exit(main())
