"""torch.profiler: kernels and named blocks of a recording, schedules, and the files that are written."""

import json

import pytest
from polygrad.torch_geometric.typing import SparseTensor

import polygrad.torch as torch
from polygrad.torch.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler
from polygrad.torch_geometric.data import Data
from polygrad.torch_geometric.profile import get_data_size, rename_profile_file, trace_handler


def work(n=50):
    return float((torch.rand(n, n) @ torch.rand(n, n)).relu().sum())


def test_kernels_and_blocks_are_recorded(tmp_path):
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
        for _ in range(3):
            with record_function("step"):
                work()
    found = {event.key: event for event in prof.key_averages()}
    assert found["step"].count == 3 and found["step"].cpu_time_total > 0
    kernels = [event for event in prof.events() if event.start is None]
    assert kernels and all(event.count >= 1 for event in kernels)
    assert prof.key_averages().total_average().cpu_time_total <= found["step"].cpu_time_total
    table = prof.key_averages().table(sort_by="cpu_time_total", row_limit=1)
    assert table.splitlines()[3].startswith("step") and len(table.splitlines()) == 6
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    rows = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [row["name"] for row in rows].count("step") == 3 and len(rows) == len(prof.events())


def test_nothing_is_recorded_outside():
    prof = profile()
    work()
    prof.start()
    prof.stop()
    work()
    assert prof.events() == []

    @record_function("named")
    def named():
        return work()

    named()
    with prof:
        named()
    assert [event.count for event in prof.key_averages() if event.key == "named"] == [1]


def test_schedules():
    act = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    names = [act(step).name[:4] for step in range(11)]
    assert names == ["NONE", "NONE", "WARM", "RECO", "RECO", "NONE", "WARM", "RECO", "RECO", "NONE", "NONE"]
    assert act(4) is ProfilerAction.RECORD_AND_SAVE and act(3) is ProfilerAction.RECORD
    with pytest.raises(AssertionError):
        schedule(wait=0, warmup=0, active=0)
    saved = []
    ready = lambda prof: saved.append([event.count for event in prof.key_averages() if event.key == "step"])  # noqa: E731
    with profile(schedule=schedule(wait=1, warmup=0, active=2, repeat=2), on_trace_ready=ready) as prof:
        for _ in range(8):
            with record_function("step"):
                work()
            prof.step()
    assert saved == [[2], [2]]  # both cycles, without the steps that wait


def test_files_of_handlers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with profile(on_trace_ready=trace_handler):
        work()
    rename_profile_file("a", "b")
    assert "traceEvents" in json.loads((tmp_path / "profile-a-b.json").read_text())
    with profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path / "logs"), "me")):
        work()
    assert [path.name.startswith("me.") for path in (tmp_path / "logs").iterdir()] == [True]


def test_bytes_of_a_graph_with_a_matrix():
    x, matrix = torch.ones(4, 2), SparseTensor.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 3]]), torch.ones(3), sparse_sizes=(4, 4))
    assert get_data_size(Data(x=x, y=x, adj_t=matrix)) == 4 * 2 * 4 + 5 * 8 + 3 * 8 + 3 * 4
