"""The command `polygrad`: what it prints, what it leaves, how it goes on and how it fails."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from polygrad import Device, cli, library_path
from polygrad.cli import charts, plane
from polygrad.cli.models import MODELS
from polygrad.cli.sources import SOURCES, random_split

ROOT = Path(__file__).resolve().parents[2]


def train(folder, *more):
    return cli.main(["train", "--dataset", "KarateClub", "--output", str(folder), *more])


def results(folder):
    return json.loads((folder / "result.json").read_text())


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A training with everything, once for several tests: (folder, what it printed)."""
    import contextlib
    import io

    folder, out = tmp_path_factory.mktemp("train"), io.StringIO()
    Device.DEFAULT = "INTERP"
    with contextlib.redirect_stdout(out):
        assert train(folder, "--model", "gat", "--hidden", "2", "--heads", "2", "--epochs", "4", "--runs", "2") == 0
    return folder, out.getvalue()


def test_training_says_what_it_does(trained):
    folder, text = trained
    assert "KarateClub (embedded in the package): 34 nodes, 156 edges" in text
    assert text.count("4 epochs in") == 2 and "mean" in text and "±" in text
    assert f"pictures in {folder / 'index.html'}" in text.splitlines()[-1]
    r = results(folder)
    assert [f["seed"] for f in r["runs"]] == [0, 1] and r["model"] == "gat" and r["hidden"] == 2
    assert r["test_mean"] == pytest.approx(100 * np.mean([f["test"] for f in r["runs"]]))


def test_page_is_well_formed_and_alone(trained):
    """The page is XML as well as HTML, needs nothing from elsewhere, and has all pictures with coordinates inside their frames."""
    text = (trained[0] / "index.html").read_text()
    assert not re.search(r"<script|src=|href=|@import|url\(", text)
    page = ET.fromstring(text.replace("<!DOCTYPE html>\n", ""))
    svg = page.findall(".//{http://www.w3.org/2000/svg}svg")
    titles = [s.find("{http://www.w3.org/2000/svg}title").text for s in svg]
    assert titles[:2] == ["Loss", "Accuracy"] and titles[2].startswith("All 34 nodes") and titles[3].startswith("Who node")
    for s in svg:
        wide, high = (float(v) for v in s.get("viewBox").split()[2:])
        for c in s.iter("{http://www.w3.org/2000/svg}circle"):
            x, y, r = (float(c.get(k)) for k in ("cx", "cy", "r"))
            assert 0 <= x - r and x + r <= wide and 0 <= y - r and y + r <= high
        for line in s.iter("{http://www.w3.org/2000/svg}polyline"):
            for pair in line.get("points").split():
                x, y = (float(v) for v in pair.split(","))
                assert 0 <= x <= wide and 0 <= y <= high
    assert "nan" not in text


def test_goes_on_from_a_checkpoint(tmp_path, capsys):
    """Six epochs at once are two epochs and then four more: parameters, moments and the history are all there."""
    common = ["--model", "gcn", "--hidden", "4", "--dropout", "0", "--no-page"]
    file = str(tmp_path / "c.safetensors")
    assert train(tmp_path / "whole", *common, "--epochs", "6") == 0
    assert train(tmp_path / "parts", *common, "--epochs", "2", "--checkpoint", file) == 0
    assert train(tmp_path / "parts", *common, "--epochs", "6", "--checkpoint", file) == 0
    assert "going on after epoch 2" in capsys.readouterr().out
    whole, parts = results(tmp_path / "whole")["runs"][0], results(tmp_path / "parts")["runs"][0]
    assert whole["epochs"] == parts["epochs"] == 6
    assert parts["loss"] == pytest.approx(whole["loss"], rel=1e-5) and parts["val_loss"] == pytest.approx(whole["val_loss"], rel=1e-5)

    assert train(tmp_path / "parts", *common, "--epochs", "6", "--checkpoint", file) == 0  # nothing is left to do
    assert results(tmp_path / "parts")["runs"][0]["loss"] == parts["loss"]

    assert train(tmp_path / "parts", "--model", "gcn", "--hidden", "5", "--checkpoint", file, "--no-page") == 2
    assert "hidden is 4 there, 5 here" in capsys.readouterr().err


def test_checkpoint_that_is_none(tmp_path, capsys):
    file = tmp_path / "c.safetensors"
    for content in (b"", b"\x08\0\0\0\0\0\0\0{}      ", b"\xff" * 64):
        file.write_bytes(content)
        assert train(tmp_path, "--checkpoint", str(file), "--no-page") == 2
        assert "is no checkpoint" in capsys.readouterr().err
        assert file.read_bytes() == content


def test_stops_early(tmp_path, capsys):
    """With a learning rate of 0 nothing gets better."""
    assert train(tmp_path, "--model", "gcn", "--hidden", "4", "--dropout", "0", "--no-page", "--lr", "0", "--patience", "3", "--epochs", "50") == 0
    assert results(tmp_path)["runs"][0]["epochs"] == 4
    assert "no lower validation loss for 3 epochs" in capsys.readouterr().out


@pytest.mark.parametrize(
    "given, said",
    [
        (["--dataset", "Coro"], "did you mean Cora?"),
        (["--dataset", "nothing like it"], ", ".join(s.name for s in SOURCES.values())),
        (["--model", "got"], ", ".join(MODELS)),
        (["--patience", "-1"], "--patience must be 0 or more"),
        (["--dataset", "KarateClub", "--output", "/dev/null/x"], "--output /dev/null/x: "),
    ],
)
def test_errors_say_what_there_is(given, said, capsys, tmp_path):
    assert cli.main(["train", "--output", str(tmp_path), *given]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("given", [["--epochs", "0"], ["--dropout", "1"], ["--lr", "x"], ["--heads", "-2"], ["--nothing"]])
def test_wrong_numbers(given, capsys):
    with pytest.raises(SystemExit) as e:
        cli.main(["train", *given])
    assert e.value.code == 2 and "usage" in capsys.readouterr().err


def test_another_dataset_where_the_first_cannot_be_had(tmp_path, capsys, monkeypatch):
    from polygrad.geometric.datasets import _files

    def no(*args, **kwargs):
        raise ConnectionError("no network")

    monkeypatch.setattr(_files, "data_folders", lambda root: [str(tmp_path)])
    monkeypatch.setattr(_files, "download_url", no)
    given = ["train", "--dataset", "CiteSeer", "--epochs", "1", "--hidden", "4", "--no-page", "--output", str(tmp_path)]
    assert cli.main(given) == 2
    err = capsys.readouterr().err
    assert "ind.citeseer.graph" in err and str(tmp_path) in err
    assert cli.main([*given, "--fallback", "KarateClub"]) == 0
    out = capsys.readouterr().out
    assert "KarateClub takes its place" in out and "gcn on KarateClub" in out


def test_interrupting_keeps_what_was_learnt(tmp_path):
    """Ctrl-C ends with status 130, a checkpoint and a word on how to go on."""
    file = tmp_path / "c.safetensors"
    command = [sys.executable, "-m", "polygrad", "train", "--dataset", "KarateClub", "--epochs", "1000000", "--patience", "0", "--hidden", "4"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "py"), "POLYGRAD_LIB": library_path, "POLY_DEVICE": "INTERP", "PYTHONUNBUFFERED": "1"}
    command += ["--output", str(tmp_path), "--checkpoint", str(file)]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = ""
    while "epoch" not in line:
        line = process.stdout.readline()
        assert line, process.stderr.read()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted after epoch" in out and f"--checkpoint {file}" in out and not err
    from polygrad.nn import safe_load

    state = safe_load(file)
    assert state["rows"].shape[0] >= 1 and {"model.convs.0.lin.weight", "best.convs.0.lin.weight", "optimizer.0.0"} <= state.keys()


def test_datasets_and_info(capsys):
    assert cli.main(["datasets"]) == 0
    text = capsys.readouterr().out
    assert all(s.name in text for s in SOURCES.values()) and "embedded" in text
    assert cli.main(["info"]) == 0
    text = capsys.readouterr().out
    assert all(re.search(rf"^{word} ", text, re.M) for word in ("version", "devices", "compiler", "threads", "cache"))
    assert "INTERP" in text


def test_cache_is_shown_and_cleared(tmp_path):
    """In processes of their own: the folder is read when a context is made."""
    env = {**os.environ, "POLY_CACHE_DIR": str(tmp_path / "kernels"), "POLY_CACHE_SIZE": "20M", "POLY_TIER": "1", "POLY_DEVICE": "CPU"}

    def call(*args):
        return subprocess.run([sys.executable, *args], env=env, capture_output=True, text=True, check=True).stdout

    assert "0 programs" in call("-m", "polygrad", "info", "--cache")
    call("-c", "from polygrad import Tensor; (Tensor([1.0, 2.0]) + 1.5).tolist()")
    (tmp_path / "kernels" / "data").write_text("not a kernel")
    text = call("-m", "polygrad", "info", "--cache")
    assert re.fullmatch(rf"cache +{re.escape(str(tmp_path))}/kernels, 1 programs, [\d.]+ KiB of at most 20\.0 MiB\n", text), text
    assert "0 programs" in call("-m", "polygrad", "cache", "clear")
    assert os.listdir(tmp_path / "kernels") == ["data"]
    call("-c", "from polygrad import Tensor; (Tensor([1.0, 2.0]) + 1.5).tolist()")
    assert "1 programs" in call("-m", "polygrad", "cache")
    assert "0 programs" in call("-m", "polygrad", "info", "--clear-cache")


def test_bench_measures(capsys, tmp_path, monkeypatch):
    from polygrad.cli import bench

    monkeypatch.setattr(bench, "GRAPHS", ((50, 200, 8, 3),))
    monkeypatch.setattr(bench, "NETWORKS", ("gcn",))
    monkeypatch.setattr(bench, "_copy", lambda: (lambda: time.sleep(1e-3), lambda t: "fast"))
    monkeypatch.setattr(bench, "_product", bench._copy)
    assert cli.main(["bench", "--seconds", "0.01", "--json", str(tmp_path / "b.json")]) == 0
    assert "gcn step, 50 nodes, 200 edges" in capsys.readouterr().out
    assert json.loads((tmp_path / "b.json").read_text())["copy 64 MiB"]["seconds"] >= 1e-3


def test_no_command_shows_what_there_is(capsys):
    assert cli.main([]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in cli.COMMANDS)


# ---- the parts ----


def test_random_split_has_no_node_twice():
    y = np.repeat([0, 1, 2], [200, 60, 3])
    parts = random_split(y, 0)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(y.size))
    assert (y[parts[0]] == 0).sum() == 20 and (y[parts[1]] == 0).sum() == 30 and (y[parts[0]] == 2).sum() == 1
    assert not np.array_equal(parts[0], random_split(y, 1)[0])


def test_neighbourhood_and_its_weights():
    """0 and 1 speak to 2, 3 to 1; each node also hears itself."""
    edges = np.array([[0, 1, 3, 0], [2, 2, 1, 1]])
    loops = np.array([[0, 1, 3, 0, 0, 1, 2, 3], [2, 2, 1, 1, 0, 1, 2, 3]])
    first, last = np.array([0.1, 0.2, 0.3, 0.4, 1, 0.3, 0.7, 1]), np.array([0.25, 0.25, 0.5, 0.1, 1, 0.4, 0.5, 1])
    n = charts.neighbourhood(edges, 2, [(loops, first), (loops, last)])
    assert n.nodes == [2, 0, 1, 3] and n.parent == [-1, 0, 0, 2]
    assert n.weight[1:] == [0.25, 0.25, 0.3] and n.own == 0.5 and n.other == [(1, 2)]


def test_map_keeps_groups_together():
    """Three groups far from each other stay three groups, each nearer to itself than to others."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 40)
    at = plane.place(np.eye(3)[group] * 20 + rng.standard_normal((120, 3)))
    assert at.min() >= 0 and at.max() <= 1
    d = np.linalg.norm(at[:, None] - at[None], axis=-1) + 9 * np.eye(120)
    assert (group[d.argmin(1)] == group).mean() > 0.95
    assert plane.place(np.zeros((200, 4))).shape == (200, 2) and plane.place(np.ones((1, 4))).tolist() == [[0.5, 0.5]]


def test_curves_with_holes_and_single_epochs():
    text = charts.curves("t", [charts.Curve("a", "#000", [[float("nan")] * 3]), charts.Curve("b", "#111", [[1.0]])])
    ET.fromstring(text)
    assert ">a<" not in text and ">b<" in text and "nan" not in text
