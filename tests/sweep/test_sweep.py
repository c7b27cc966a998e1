"""Sweeps: what their files say, and that nothing is lost or done twice whatever ends them."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import pickle
import re
import signal
import struct
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from conftest import check_error

import airpath
from airpath import _core
from airpath.cli.sweep import progress_words
from airpath.errors import SweepError
from airpath.experiments.sweep import parts as parts_module
from airpath.experiments.sweep import run as run_module
from airpath.experiments.sweep import store as store_module
from airpath.experiments.sweep.plan import read_plan, run_keys
from airpath.experiments.sweep.readers import ReadMetrics
from airpath.experiments.sweep.replications import wanted_of
from airpath.experiments.sweep.results import read_results
from airpath.experiments.sweep.run import run_sweep
from airpath.files import atomic
from airpath.runner import driver as driver_module
from airpath.runner.driver import Progress
from airpath.runner.processes import Processes
from airpath.runner.work import Task, answer_of, carry_out_as, versions
from airpath.runs.metrics import NotMeasuredError, named
from airpath.stats.estimate import t_quantile

SHORT = """
scenario = "umts-384"
metrics = ["transfer_s", "retransmissions.total"]
runs = 150

[set]
"flow.0.app.file.size" = "50 kB"

[axes]
tcp.initial_window = [1, 4]
"radio.dch.downlink.channel.bernoulli.bler" = ["1 %", "10 %"]
"""


looks_for_processes = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


def written(folder, text=SHORT):
    folder.mkdir(exist_ok=True)
    path = folder / "sweep.toml"
    path.write_text(text)
    return path


def plan_of(folder, text=SHORT):
    return read_plan(written(folder, text))


def rows_of(out):
    table = pyarrow.dataset.dataset(out / "runs", format="parquet").to_table()
    return table.sort_by([("point", "ascending"), ("seed", "ascending")]).to_pylist()


def parts(out):
    return sorted((out / "runs").iterdir())


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A busy machine writes what is done in no more parts than an idle one."""
    monkeypatch.setattr(driver_module, "WRITE_S", 60.0)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The rows of the short sweep from one undisturbed worker."""
    folder = tmp_path_factory.mktemp("undisturbed")
    run_sweep(plan_of(folder), folder / "out", 1)
    return rows_of(folder / "out")


# What a file says.


def test_the_grid_the_designs_and_the_list_make_the_points(tmp_path):
    text = """
    scenario = "umts-384"
    metrics = ["goodput_bps"]
    runs = 2
    seed = 7
    [axes]
    tcp.initial_window = [1, 2]
    [random]
    points = 3
    "wired.delay" = { min = "10 ms", max = "200 ms" }
    [[list]]
    "tcp.mss" = "536 B"
    [[list]]
    tcp = { initial_window = 3, "sack" = true }
    """
    points = [point.parameters for point in plan_of(tmp_path, text).points]
    assert [point.get("tcp.initial_window") for point in points] == [1, 1, 1, 2, 2, 2, None, 3]
    delays = [point["wired.delay"] for point in points[:6]]
    assert delays[:3] == delays[3:] and len(set(delays)) == 3
    assert all(10 <= float(delay.removesuffix(" ms")) <= 200 for delay in delays)
    assert points[6:] == [{"tcp.mss": "536 B"}, {"tcp.initial_window": 3, "tcp.sack": True}]


def test_more_random_points_leave_the_earlier_ones_as_they_were(tmp_path):
    text = """
    scenario = "umts-384"
    metrics = ["goodput_bps"]
    runs = 2
    [random]
    points = {}
    radio.dch.downlink.queue.droptail.packets = {{ min = 1, max = 10000 }}
    """
    few, many = (
        [
            value
            for point in plan_of(tmp_path, text.format(count)).points
            for value in point.parameters.values()
        ]
        for count in (5, 9)
    )
    assert many[:5] == few
    assert all(isinstance(value, int) and 1 <= value <= 10000 for value in many)


@pytest.mark.parametrize(
    ("scale", "edges"), [("linear", range(1, 102, 5)), ("log", [10 ** (i / 10) for i in range(21)])]
)
def test_a_latin_hypercube_has_a_point_in_each_interval_of_each_axis(tmp_path, scale, edges):
    low, high = edges[0], round(edges[-1])
    text = f"""
    scenario = "umts-384"
    metrics = ["goodput_bps"]
    runs = 1
    [latin_hypercube]
    points = 20
    "wired.delay" = {{ min = "{low} ms", max = "{high} ms", scale = "{scale}" }}
    "radio.dch.downlink.delay" = {{ min = "0 ms", max = "20 ms" }}
    """
    points = [point.parameters for point in plan_of(tmp_path, text).points]
    wired = sorted(float(point["wired.delay"].split()[0]) for point in points)
    radio = sorted(float(point["radio.dch.downlink.delay"].split()[0]) for point in points)
    assert all(edges[i] * 0.99999 <= wired[i] <= edges[i + 1] * 1.00001 for i in range(20))
    assert all(i <= radio[i] <= i + 1 for i in range(20))
    assert [wired.index(float(p["wired.delay"].split()[0])) for p in points] != list(range(20))


@pytest.mark.parametrize(
    ("change", "key", "cause", "remedy"),
    [
        (("runs = 150", "rnus = 150"), "rnus", "no key of a sweep", "runs"),
        (("runs = 150", ""), "runs", "either runs or precision", "precision = 0.05"),
        (("runs = 150", "runs = 0"), "runs", "is 0", "1 or more"),
        (("runs = 150", f"runs = {10**500}"), "runs", "too many", "fewer than 2^63"),
        (("runs = 150", "precision = -1"), "precision", "-1", "statistics"),
        (("runs = 150", "precision = inf"), "precision", "no number", "0.05"),
        (("runs = 150", f"precision = 1{'0' * 400}"), "precision", "no number", "0.05"),
        (("runs = 150", "runs = 5\nmax_runs = 9"), "max_runs", "together with runs", "leave it out"),
        (("umts-384", "umts-385"), "scenario", "no such scenario", "umts-384"),
        (('["transfer_s", ', '["", '), "metrics", "names no metric", "dots"),
        (('["transfer_s", ', '["seed", '), "metrics", "another column", "another metric"),
        (("[1, 4]", "4"), "axes.tcp.initial_window", "no list", "[...]"),
        (("[1, 4]", "[1, {a = 1}]"), "axes.tcp.initial_window", "no single value", "quotes"),
        (("tcp.initial_window", "tcp.initial_widow"), "tcp.initial_widow", "point 0", ""),
        (('"10 %"', '"1000 %"'), "radio.dch.downlink.channel.bernoulli.bler", "point 1", ""),
        (('"10 %"', '"1.0 %"'), "axes", "same scenario", "leave one out"),
        (("[set]", "[set]\ntcp.initial_window = 2"), "set.tcp.initial_window", "axis too", "one place"),
        (("[axes]", "[random]\npoints = 2\n[axes]"), "random", "no axis", "min"),
        (("[axes]", "[random]\npoints = 0\ntcp.mss = 1\n[axes]"), "random.points", "is 0", "how many"),
        (("[axes]", "[random]\npoints = 2\ntcp.mss = 1\n[axes]"), "random.tcp.mss", "no range", "min"),
        (("[axes]", '[random]\npoints = 2\nwired.delay = {min = "1 s", max = "9 ms"}\n[axes]'),
         "random.wired.delay", "'s' at one end", "one unit"),
        (("[axes]", "[random]\npoints = 2\ntcp.initial_window = {min = 1, max = 9}\n[axes]"),
         "tcp.initial_window", "axis twice", "one of"),
    ],
)  # fmt: skip
def test_a_mistake_is_answered_with_its_key(tmp_path, airpath_command, change, key, cause, remedy):
    path = written(tmp_path, SHORT.replace(*change))
    check_error(airpath_command("sweep", path, "--out", tmp_path / "out"), key, cause, remedy)
    assert not (tmp_path / "out").exists()


# What the folder holds.


def test_a_row_is_what_a_run_of_its_own_gives(tmp_path, undisturbed):
    plan = plan_of(tmp_path)
    assert [(row["point"], row["seed"]) for row in undisturbed] == [
        (p, s) for p in range(4) for s in range(1, 151)
    ]
    row = undisturbed[3 * 150 + 41]
    results = json.loads(_core.run(plan.points[3].text, 42))
    assert row["tcp.initial_window"] == 4
    assert row["radio.dch.downlink.channel.bernoulli.bler"] == "10 %"
    assert row["transfer_s"] == named("transfer_s")(results)
    assert row["retransmissions.total"] == named("retransmissions.total")(results)
    assert [row["key"]] == run_keys([plan.points[3].digest], [42], *versions())
    assert len({row["key"] for row in undisturbed}) == 600


def numbers_in(inside, path=()):
    """Paths of all numbers and nulls in results."""
    if isinstance(inside, (dict, list)):
        pairs = inside.items() if isinstance(inside, dict) else enumerate(inside)
        for key, value in pairs:
            yield from numbers_in(value, (*path, str(key)))
    elif inside is None or (isinstance(inside, (int, float)) and not isinstance(inside, bool)):
        yield path


@pytest.mark.parametrize("name", ["umts-384", "hdr-4", "chan-variable-delay", "umts-384-simple"])
def test_the_core_measures_what_the_results_say(name):
    text = _core.resolve(airpath.load(name).text, [("duration", "8 s")])
    results = json.loads(_core.run(text, 3))
    # Keys with dots in them, rates of 1xEV-DO, are in no metric's name.
    paths = [
        path for path in numbers_in(results) if path[0] in ("flows", "elements") and "." not in "".join(path)
    ]
    assert len(paths) > 40
    (octets,) = _core.measure(text, [3, 4], paths)
    assert _core.measure(text, [4], paths) == [octets[len(octets) // 2 :]]
    numbers = struct.unpack(f"<{len(paths)}d", octets[: len(octets) // 2])
    for path, number in zip(paths, numbers, strict=True):
        try:
            assert named(".".join(path))(results) == number, path
        except NotMeasuredError:
            assert math.isnan(number), path


@pytest.mark.parametrize(
    "metric", ["flows.*.goodput_bps", "simulated_s", "flows.0.nothing", "flows.9.goodput_bps", "flows.0.kind"]
)
def test_what_the_core_cannot_measure_it_gives_whole(tmp_path, metric):
    text = plan_of(tmp_path).points[0].text
    assert _core.measure(text, [4, 5], [["flows", "0", "goodput_bps"], metric.split(".")]) == [
        _core.run(text, 4),
        _core.run(text, 5),
    ]


def test_metrics_that_are_no_plain_numbers_are_read_all_the_same(tmp_path):
    metrics = ("flows.*.goodput_bps", "goodput_bps", "simulated_s", "complete")
    text = plan_of(tmp_path).points[0].text
    expected = [
        [named(metric)(json.loads(_core.run(text, seed))) for metric in metrics] for seed in (1, 2, 3)
    ]
    tables = list(ReadMetrics(metrics).open()(text, (1, 2, 3)))
    assert np.concatenate(pickle.loads(pickle.dumps(tables))).tolist() == expected


def test_a_worker_loads_neither_files_nor_pictures():
    command = [
        sys.executable,
        "-c",
        "import sys, airpath.runner.work, airpath.experiments.sweep.readers; print(*sys.modules)",
    ]
    modules = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert not {"pyarrow", "matplotlib", "typer", "distributed"} & set(modules.split())


# Points that hold too many packets, one before and one after a run that succeeds.
FAILING = """
scenario = "umts-384"
metrics = ["goodput_bps", "flows.0.goodput_bps"]
runs = 1
[set]
duration = "2 s"
"flow.0.app" = '{ cbr = { rate = "10 kbit/s" } }'
[axes]
"flow.0.app.cbr.rate" = ["99 Gbit/s", "10 kbit/s", "100 Gbit/s"]
"""


@pytest.mark.slow
def test_a_run_that_fails_is_recorded_and_the_others_are_made(tmp_path, airpath_command):
    path, out = written(tmp_path, FAILING), tmp_path / "out"
    said = "packets are held here at 0.067 s of the run"
    first = airpath_command("sweep", path, "--out", out, "--workers", 1)
    assert first.code == 2
    *warnings, error = first.err.splitlines()
    assert "3 points, 3 runs, 3 of them made now" in first.out
    assert [line.split(": ")[1] for line in warnings] == [
        "point 0 (flow.0.app.cbr.rate = 99 Gbit/s)",
        "point 2 (flow.0.app.cbr.rate = 100 Gbit/s)",
    ]
    assert all("1 run failed; seed 1: link: " in line for line in warnings) and said in warnings[1]
    assert error.startswith("error: run: some runs failed")
    rows = rows_of(out)
    assert [row["goodput_bps"] is None for row in rows] == [True, False, True]
    assert rows[1]["error"] is None and said in rows[2]["error"] and rows[0]["error"].startswith("link: ")
    again = airpath_command("sweep", path, "--out", out, "--workers", 1)
    assert (again.code, again.err) == (2, first.err)
    assert "0 of them made now" in again.out
    shown = airpath_command("results", out)
    assert shown.code == 0 and shown.err.splitlines() == warnings
    assert shown.out.count("1 of 1 without") == 4
    points = json.loads(airpath_command("results", out, "--json").out)["points"]
    assert [len(point["failed"]) for point in points] == [1, 0, 1]
    assert points[2]["failed"] == [{"seed": 1, "error": rows[2]["error"]}]


def test_failed_runs_stay_failed_where_rows_are_described_again(tmp_path, monkeypatch):
    run, measure = _core.run, _core.measure

    def fail_at_two(text, seed):
        if seed == 2:
            raise airpath.ScenarioError("link", "5 packets are held here", "hold fewer")
        return run(text, seed)

    def measured(text, seeds, paths):
        failed = ("link", "5 packets are held here", "hold fewer")
        return [failed if seed == 2 else measure(text, [seed], paths)[0] for seed in seeds]

    monkeypatch.setattr(_core, "run", fail_at_two)
    monkeypatch.setattr(_core, "measure", measured)
    monkeypatch.setattr(run_module, "pool_of", lambda work, *_: Here(work))
    out = tmp_path / "out"
    outcome = run_sweep(plan_of(tmp_path, SMALL), out)
    assert (outcome.fresh, len(outcome.failures)) == (20, 4)
    assert outcome.failures[0].endswith("1 run failed; seed 2: link: 5 packets are held here")
    assert [row["seed"] for row in rows_of(out) if row["error"]] == [2] * 4
    more = SMALL + '[[list]]\n"wired.delay" = "75 ms"\n'
    assert run_sweep(plan_of(tmp_path, more), out).fresh == 5
    assert [row["seed"] for row in rows_of(out) if row["error"]] == [2] * 5
    assert [point.failures for point in read_results(out).points] == [
        {2: "link: 5 packets are held here"}
    ] * 5


class Here:
    """A pool that makes runs at once, in this process, as a worker elsewhere does."""

    size, task_s, room = 1, 1.0, 2

    def __init__(self, work):
        self._work, self._answers = work, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def hand_in(self, task):
        self._answers.append(answer_of(carry_out_as(versions(), task.runs, self._work)))
        self.room = 0

    def answers(self, _timeout):
        answers, self._answers, self.room = self._answers, [], 2
        return answers


@pytest.mark.slow
def test_what_is_there_is_not_run_again(tmp_path, undisturbed, monkeypatch):
    out = tmp_path / "out"
    monkeypatch.setattr(driver_module, "WRITE_ROWS", 100)
    monkeypatch.setattr(driver_module, "MAX_TASK_RUNS", 20)
    first = run_sweep(plan_of(tmp_path), out, 2)
    assert (first.fresh, first.runs, first.interrupted) == (600, 600, False)
    parts(out)[1].unlink()
    gone = 600 - len(rows_of(out))
    assert gone >= 100
    assert run_sweep(plan_of(tmp_path), out, 2).fresh == gone
    assert rows_of(out) == undisturbed
    assert run_sweep(plan_of(tmp_path), out, 2).fresh == 0


@pytest.mark.slow
@looks_for_processes
def test_workers_that_are_killed_change_nothing(tmp_path, undisturbed, monkeypatch):
    # So many tasks that there are some left for two deaths, and none twice for a worker that is being buried.
    monkeypatch.setattr(driver_module, "MAX_TASK_RUNS", 20)
    killed = []
    # Processes of other tests, such as multiprocessing's resource tracker.
    others = children_of(os.getpid())

    def kill(progress, _worst):
        alive = [child for child in children_of(os.getpid()) if child not in killed + others]
        if progress.fresh and len(killed) < 2 and alive:
            os.kill(alive[0], signal.SIGKILL)
            killed.append(alive[0])
            time.sleep(0.1)

    outcome = run_sweep(plan_of(tmp_path), tmp_path / "out", 2, on_progress=kill)
    assert len(set(killed)) == 2
    assert outcome.fresh == 600
    assert rows_of(tmp_path / "out") == undisturbed
    assert not set(children_of(os.getpid())) - set(others)


DRIVER = """
import sys, time
from pathlib import Path
from airpath.experiments.sweep.plan import read_plan
from airpath.experiments.sweep.run import run_sweep
from airpath.runner import driver
if __name__ == "__main__":
    driver.WRITE_S, driver.MAX_TASK_RUNS = 0.02, 1
    plan, out = read_plan(Path(sys.argv[1])), Path(sys.argv[2])
    outcome = run_sweep(plan, out, 2, on_progress=lambda *_: time.sleep(0.01))
    print(outcome.fresh, outcome.interrupted)
"""


def started(folder):
    """A driver of its own that writes often and takes its time, some seconds."""
    (folder / "driver.py").write_text(DRIVER)
    command = [sys.executable, folder / "driver.py", written(folder), folder / "out"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until(condition, seconds=20):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not come to pass"
        time.sleep(0.005)


def children_of(pid):
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in listed]


def is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def has_parts(out, count):
    return (out / "runs").is_dir() and len(list((out / "runs").glob("part-*"))) >= count


@pytest.mark.slow
@looks_for_processes
def test_a_driver_that_is_killed_loses_only_what_was_not_written(tmp_path, undisturbed):
    out = tmp_path / "out"
    interrupted = 0
    for count in (1, 3):
        process = started(tmp_path)
        until(lambda count=count, process=process: has_parts(out, count) or process.poll() is not None)
        workers = children_of(process.pid) if process.poll() is None else []
        interrupted += process.poll() is None
        process.kill()
        process.communicate()
        until(lambda workers=workers: not any(is_running(pid) for pid in workers))
    assert interrupted
    (out / "runs" / ".part-000099.parquet.tmp").write_bytes(b"PAR1, and then the power went")
    there = len(rows_of(out))
    outcome = run_sweep(plan_of(tmp_path), out, 2)
    assert 0 < there < 600
    assert outcome.fresh == 600 - there
    assert rows_of(out) == undisturbed
    assert not list((out / "runs").glob(".*"))


@pytest.mark.slow
def test_ctrl_c_ends_a_sweep_with_what_is_done_written(tmp_path, undisturbed):
    out = tmp_path / "out"
    process = started(tmp_path)
    until(lambda: has_parts(out, 1))
    process.send_signal(signal.SIGINT)
    printed, errors = process.communicate(timeout=20)
    fresh, interrupted = printed.split()
    assert (interrupted, errors) == ("True", "")
    assert len(rows_of(out)) == int(fresh) < 600
    assert run_sweep(plan_of(tmp_path), out, 2).fresh == 600 - int(fresh)
    assert rows_of(out) == undisturbed


def test_a_second_driver_is_told_who_has_the_folder(tmp_path, airpath_command):
    out = tmp_path / "out"
    with store_module.Store(out, plan_of(tmp_path)):
        outcome = airpath_command("sweep", written(tmp_path), "--out", out)
        check_error(outcome, "out", f"process {os.getpid()} on ", "wait")
    with store_module.Store(out, plan_of(tmp_path)):
        pass


SMALL = SHORT.replace("150", "5")


def test_damaged_and_foreign_files_are_named_and_left_alone(tmp_path):
    out = tmp_path / "out"
    other = tmp_path / "other"
    run_sweep(plan_of(tmp_path, SMALL), out, 1)
    run_sweep(plan_of(tmp_path, SMALL.replace("umts-384", "umts-128")), other, 1)
    whole = rows_of(out)
    (part,) = parts(out)
    content = bytearray(part.read_bytes())
    keys = pq.read_metadata(part).row_group(0).column(0)
    content[keys.dictionary_page_offset + keys.total_compressed_size // 2] ^= 0xFF  # In a page of data.
    damaged = bytes(content)
    part.write_bytes(damaged)
    truncated = out / "runs" / "part-000002.parquet"
    truncated.write_bytes(damaged[: len(damaged) // 2])
    foreign = out / "runs" / "part-000007.parquet"
    foreign.write_bytes(parts(other)[0].read_bytes())
    notes = [out / "runs" / "notes.txt", out / "results.json"]
    for note in notes:
        note.write_text("mine")
    before = {path: path.read_bytes() for path in (part, truncated, foreign, *notes)}
    warnings = []
    assert run_sweep(plan_of(tmp_path, SMALL), out, 1, warn=warnings.append).fresh == 20
    told = {Path(warning.partition(": ")[0]): warning for warning in warnings}
    assert set(told) == set(before)
    assert "damaged" in told[part] and "damaged" in told[truncated] and "something else" in told[foreign]
    assert {path: path.read_bytes() for path in before} == before
    assert pq.read_table(out / "runs" / "part-000008.parquet").to_pylist() == whole


@pytest.mark.parametrize(("column", "value"), [("seed", 77), ("point", 2), ("key", "0" * 64)])
def test_results_leave_out_rows_that_are_not_what_their_key_says(tmp_path, column, value):
    out = tmp_path / "out"
    run_sweep(plan_of(tmp_path, SMALL), out, 1)
    table = pq.read_table(parts(out)[0])
    place = table.schema.get_field_index(column)
    values = table[column].to_pylist()
    values[7] = value
    foreign = out / "runs" / "part-000005.parquet"
    pq.write_table(table.set_column(place, table.schema.field(place), [values]), foreign)
    found = read_results(out)
    assert [point.runs for point in found.points] == [5, 5, 5, 5]
    (warning,) = found.warnings
    assert warning.startswith(f"{foreign}: holds runs of something else")


def bombs(whole):
    """Files of few octets that unfold to gigabytes, made of a whole one."""
    rows = 20_000_000
    zeros = np.zeros(1_000_000)
    keys = pa.DictionaryArray.from_arrays(np.zeros(1_000_000, np.int32), ["0" * 64])
    same = {
        name: keys if kind == pa.string() else pa.array(zeros, kind)
        for name, kind in zip(whole.schema.names, whole.schema.types, strict=True)
    }
    yield "many equal rows", pa.concat_tables([pa.table(same)] * (rows // 1_000_000))
    for name in ("key", "error"):
        place, words = whole.schema.get_field_index(name), ["x" * 100_000_000, *[None] * (len(whole) - 1)]
        column = pa.array(words, pa.string())
        yield f"a huge word in {name}", whole.set_column(place, whole.schema.field(place), column)
    lists = pa.array([[0.0] * 30_000_000, *[[]] * (len(whole) - 1)], pa.list_(pa.float64()))
    yield "a list", whole.append_column("more", lists)


@pytest.mark.slow
def test_files_of_a_sweep_that_unfold_to_much_memory_are_left_alone(tmp_path):
    out = tmp_path / "out"
    run_sweep(plan_of(tmp_path, SMALL), out, 1)
    there = read_results(out).as_json()
    bomb = out / "runs" / "part-000002.parquet"
    for name, table in bombs(pq.read_table(parts(out)[0])):
        pq.write_table(table, bomb, compression="zstd")
        del table
        assert bomb.stat().st_size < 2_000_000, name
        # The largest memory of a process only rises: one of its own reads.
        program = (
            "import json, os, resource, sys, pathlib\n"
            "from airpath.experiments.sweep.results import read_results\n"
            "threads = len(os.listdir('/proc/self/task'))\n"
            "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            "found = read_results(pathlib.Path(sys.argv[1]))\n"
            "grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before\n"
            "print(json.dumps([found.as_json(), found.warnings, grown]))\n"
            # A thread of Arrow that has just started may abort the process at its end, rarely.
            "assert len(os.listdir('/proc/self/task')) == threads, 'a thread was started'\n"
        )
        command = [sys.executable, "-c", program, str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (name, done.stderr[-2000:])
        found, warnings, grown_kb = json.loads(done.stdout)
        assert (found, grown_kb < 200_000) == (there, True), (name, grown_kb)
        assert name == "a list" or (len(warnings) == 1 and str(bomb) in warnings[0]), (name, warnings)


def test_a_sweep_of_very_many_numbers_is_refused(tmp_path, monkeypatch):
    out = tmp_path / "out"
    run_sweep(plan_of(tmp_path, SMALL), out, 1)
    monkeypatch.setattr(parts_module, "MOST_NUMBERS", 50)
    with pytest.raises(SweepError, match="million numbers"):
        read_results(out)


def test_a_folder_of_an_earlier_format_is_named_as_such(tmp_path, airpath_command):
    out = tmp_path / "out"
    run_sweep(plan_of(tmp_path, SMALL), out, 1)
    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps(manifest | {"format": 1}))
    check_error(airpath_command("results", out), "out", "earlier airpath, in format 1", "another folder")


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        {"runs": {}},
        {"runs": 5},
        {"sweep": "a = ["},
        {"metrics": 5},
        {"parameters": {"x": "odd"}},
        {"parameters": {"x": []}},
        {"parameters": {"key": "text"}},
        {"metrics": ["seed"]},
        {"metrics": [5]},
        {"name": 5},
        {"format": [2]},
        {"format": 10**400},
        {"seed": "1"},
        {"seed": 2**64},
        {"points": [5]},
        {"points": [{"scenario_sha256": 5, "parameters": {}}]},
        {"points": [{"scenario_sha256": "", "parameters": {"x": []}}]},
        {"points": [{"scenario_sha256": "", "parameters": {"wired.delay": [1]}}]},
        {"sweep": 5},
        {"sweep": "random = 5\n[latin_hypercube]\nx.y = 5\nx = { y = 5 }"},
        {"runs": {"precision": "x", "confidence": 0.9, "min_runs": 5, "max_runs": 5}},
        {"runs": {"precision": 0.1, "confidence": 9, "min_runs": 5, "max_runs": 5}},
        {"runs": {"precision": None, "confidence": 0.9, "min_runs": 9, "max_runs": 5}},
        {"runs": {"precision": None, "confidence": 0.9, "min_runs": 5, "max_runs": 10**30}},
    ],
)
def test_a_damaged_manifest_is_named_as_such(tmp_path, damage):
    out = tmp_path / "out"
    run_sweep(plan_of(tmp_path, SMALL), out, 1)
    manifest = json.loads((out / "manifest.json").read_text())
    check_damaged_manifest(tmp_path, out, json.dumps(manifest | damage))


@pytest.mark.parametrize("text", ["", "{", "[]", "5", "null", "[" * 100_000, '{"format": NaN}', "\0"])
def test_a_manifest_that_is_no_table_is_named_as_damaged(tmp_path, text):
    out = tmp_path / "out"
    run_sweep(plan_of(tmp_path, SMALL), out, 1)
    check_damaged_manifest(tmp_path, out, text)


def check_damaged_manifest(tmp_path, out, text):
    (out / "manifest.json").write_text(text)
    for read in (read_results, lambda folder: run_sweep(plan_of(tmp_path, SMALL), folder, 1)):
        with pytest.raises(SweepError) as refused:
            read(out)
        assert refused.value.args[0] == "out"
        assert "is damaged" in refused.value.args[1]


@pytest.mark.slow
def test_a_full_disk_ends_a_sweep_and_costs_nothing_that_was_written(
    tmp_path, undisturbed, monkeypatch, airpath_command
):
    out = tmp_path / "out"
    write_all, room = atomic.write_all, [4]  # The manifest and three parts.

    def write_until_full(file, content):
        if not room[0]:
            write_all(file, content[:10])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        room[0] -= 1
        write_all(file, content)

    monkeypatch.setattr(driver_module, "WRITE_ROWS", 50)
    monkeypatch.setattr(driver_module, "MAX_TASK_RUNS", 20)
    with monkeypatch.context() as full:
        full.setattr(atomic, "write_all", write_until_full)
        outcome = airpath_command("sweep", written(tmp_path), "--out", out, "--workers", 1)
    check_error(outcome, "out", "No space left on device", "the same command")
    assert len(parts(out)) == 3
    there = len(rows_of(out))
    assert 150 <= there < 600
    assert run_sweep(plan_of(tmp_path), out, 2).fresh == 600 - there
    assert rows_of(out) == undisturbed


def test_points_may_be_added_and_none_lost_or_mixed(tmp_path):
    out = tmp_path / "out"
    run_sweep(plan_of(tmp_path, SMALL), out, 1)
    before = rows_of(out)
    for change, key in [
        (("runs = 5", "runs = 4"), "runs"),
        (("runs = 5", "runs = 5\nseed = 2"), "seed"),
        (("runs = 5", "precision = 0.1"), "runs"),
        (("umts-384", "umts-128"), "scenario"),
        (("50 kB", "60 kB"), "axes"),
        (("[1, 4]", "[1]"), "axes"),
        (("[1, 4]", "[1, 4]\ntcp.mss = ['536 B']"), "axes"),
    ]:
        with pytest.raises(SweepError) as error:
            run_sweep(plan_of(tmp_path, SMALL.replace(*change)), out, 1)
        assert error.value.args[0] == key
        assert "holds a sweep" in error.value.args[1] and "may be added" in error.value.args[2]
    assert rows_of(out) == before
    more = plan_of(tmp_path, SMALL.replace("[1, 4]", "[2, 1, 4]"))
    assert run_sweep(more, out, 1).fresh == 10
    after = rows_of(out)
    assert after[:20] == before
    assert {row["tcp.initial_window"] for row in after[20:]} == {2}


@pytest.mark.slow
def test_runs_may_be_added(tmp_path):
    out = tmp_path / "out"
    run_sweep(plan_of(tmp_path, SMALL), out, 1)
    assert run_sweep(plan_of(tmp_path, SMALL.replace("runs = 5", "runs = 7")), out, 1).fresh == 8
    run_sweep(plan_of(tmp_path, SMALL.replace("runs = 5", "runs = 7")), tmp_path / "other", 1)
    assert rows_of(out) == rows_of(tmp_path / "other")


def test_a_key_may_be_added_whose_value_the_points_had(tmp_path):
    out = tmp_path / "out"
    run_sweep(plan_of(tmp_path, SMALL), out, 1)
    wider = SMALL.replace("[1, 4]", "[1, 4]\ntcp.mss = ['1460 B', '536 B']")
    assert run_sweep(plan_of(tmp_path, wider), out, 1).fresh == 20
    rows = rows_of(out)
    assert [row["tcp.mss"] for row in rows] == 20 * ["1460 B"] + 20 * ["536 B"]
    points = {point.digest: point for point in plan_of(tmp_path, wider).points}
    manifest = json.loads((out / "manifest.json").read_text())
    assert [points[own["scenario_sha256"]].parameters for own in manifest["points"]] == [
        own["parameters"] for own in manifest["points"]
    ]
    assert read_results(out).warnings == ()


@pytest.mark.slow
def test_metrics_may_be_added_and_runs_are_made_again_for_them(tmp_path):
    out = tmp_path / "out"
    run_sweep(plan_of(tmp_path, SMALL), out, 1)
    wider = SMALL.replace('"transfer_s"', '"goodput_bps", "transfer_s"')
    store = store_module.Store(out, plan_of(tmp_path, wider))
    store.__exit__(None, None, None)
    # Until they are made again, what is known stays known.
    (warning,) = read_results(out).warnings
    assert "not measured goodput_bps yet" in warning
    assert read_results(out).points[0].estimates["transfer_s"].n == 5
    warnings = []
    assert run_sweep(plan_of(tmp_path, wider), out, 1, warn=warnings.append).fresh == 20
    assert "20 runs did not measure goodput_bps: made again" in warnings[0]
    run_sweep(plan_of(tmp_path, wider), tmp_path / "other", 1)
    assert rows_of(out) == rows_of(tmp_path / "other")
    assert len(parts(out)) == 1 and not read_results(out).warnings
    # A metric that a file leaves out stays measured.
    assert run_sweep(plan_of(tmp_path, SMALL), out, 1).fresh == 0
    assert read_results(out).metrics == ("transfer_s", "retransmissions.total")
    assert run_sweep(plan_of(tmp_path, wider), out, 1).fresh == 0


def test_a_metric_may_replace_another(tmp_path):
    """The files with the metric that is gone stay, as its values are nowhere else."""
    out = tmp_path / "out"
    run_sweep(plan_of(tmp_path, SMALL), out, 1)
    other = SMALL.replace("retransmissions.total", "goodput_bps")
    assert run_sweep(plan_of(tmp_path, other), out, 1).fresh == 20
    assert read_results(out).warnings == () and len(parts(out)) == 2
    assert run_sweep(plan_of(tmp_path, other), out, 1).fresh == 0


def test_runs_that_differ_from_those_of_another_build_are_told(tmp_path):
    out = tmp_path / "out"
    run_sweep(plan_of(tmp_path, SMALL), out, 1)
    table = pq.read_table(parts(out)[0])
    place = table.schema.get_field_index("transfer_s")
    other = table.set_column(place, table.schema.field(place), [[1.0] * 20])
    pq.write_table(other, out / "runs" / "part-000005.parquet")
    (warning,) = read_results(out).warnings
    assert "20 runs made twice with different values" in warning


def test_a_refused_sweep_leaves_nothing_behind(tmp_path, airpath_command):
    out = tmp_path / "some" / "out"
    wrong = written(tmp_path, SMALL.replace("transfer_s", "transfre_s"))
    assert airpath_command("sweep", wrong, "--out", out, "--workers", 1).code == 2
    assert not (tmp_path / "some").exists()
    assert airpath_command("sweep", written(tmp_path, SMALL), "--out", out, "--workers", 1).code == 0


def test_a_metric_that_only_some_points_have_does_not_block_the_corrected_file(tmp_path, airpath_command):
    out = tmp_path / "out"
    # Only the cell of the first scenario counts this.
    text = SMALL.replace('"umts-384"', '["lte-5mhz", "umts-384"]').partition("[axes]")[0]
    text = text.replace("[set]", '[set]\nduration = "5 s"\n"flow.0.app" = "file"')
    wrong = written(tmp_path, text.replace("transfer_s", "elements.1.ues.0.downlink.harq.blocks"))
    outcome = airpath_command("sweep", wrong, "--out", out, "--workers", 1)
    check_error(outcome, "run", "no 'harq' there", "correct it")
    assert len(rows_of(out)) == 5
    outcome = airpath_command("sweep", written(tmp_path, text), "--out", out, "--workers", 1)
    assert outcome.code == 0
    assert [point.runs for point in read_results(out).points] == [5, 5]


SCENARIOS = """
scenario = ["umts-384", "lte-5mhz"]
metrics = ["goodput_bps"]
runs = 3

[set]
duration = "5 s"

[axes]
"radio.*.downlink.queue" = ["droptail", "codel"]
"""


@pytest.mark.slow
def test_scenarios_are_an_axis(tmp_path):
    plan = plan_of(tmp_path, SCENARIOS)
    assert [tuple(point.parameters.values()) for point in plan.points] == [
        (scenario, queue) for scenario in ("umts-384", "lte-5mhz") for queue in ("droptail", "codel")
    ]
    expected = airpath.load("lte-5mhz", [("duration", "5 s"), ("radio.lte.downlink.queue", "codel")])
    assert plan.points[3].text == expected.text
    run_sweep(plan, tmp_path / "one", 1)
    run_sweep(plan, tmp_path / "two", 2)
    assert rows_of(tmp_path / "one") == rows_of(tmp_path / "two")
    assert [row["scenario"] for row in rows_of(tmp_path / "one")] == 6 * ["umts-384"] + 6 * ["lte-5mhz"]
    assert read_results(tmp_path / "one").scenario == "umts-384, lte-5mhz"


def test_a_scenario_may_be_added(tmp_path):
    out = tmp_path / "out"
    run_sweep(plan_of(tmp_path, SCENARIOS.replace(', "lte-5mhz"]', "]")), out, 1)
    before = rows_of(out)
    assert run_sweep(plan_of(tmp_path, SCENARIOS), out, 1).fresh == 6
    assert [row | {"scenario": "umts-384"} for row in before] == rows_of(out)[:6]


def test_scenarios_change_together_with_keys_and_in_lists(tmp_path):
    text = """
    metrics = ["goodput_bps"]
    runs = 1
    [[together]]
    scenario = ["umts-384", "lte-5mhz"]
    duration = ["9 s", "5 s"]
    [[list]]
    scenario = "umts-128"
    """
    points = plan_of(tmp_path, text).points
    assert [point.parameters.get("duration") for point in points] == ["9 s", "5 s", None]
    assert points[2].text == airpath.load("umts-128").text


@pytest.mark.parametrize(
    ("change", "key", "cause", "remedy"),
    [
        (("lte-5mhz", "lte"), "scenario", "no such scenario", "umts-384"),
        (("lte-5mhz", "umts-384"), "scenario", "there twice", "once"),
        (('["umts-384", "lte-5mhz"]', "[]"), "scenario", "missing", "umts-384"),
        (('["umts-384", "lte-5mhz"]', "[5]"), "scenario", "[5]", "list of"),
        (("[axes]", "[axes]\nscenario = ['umts-128']"), "scenario", "list and an axis", "one place"),
        (("radio.*", "*"), "*.downlink.queue", "has duration, tcp, wired", "name the key"),
        (("radio.*", "radios.*"), "radios.*.downlink.queue", "no table", "name the key"),
    ],
)
def test_a_mistake_about_scenarios_is_answered_with_its_key(
    tmp_path, airpath_command, change, key, cause, remedy
):
    path = written(tmp_path, SCENARIOS.replace(*change))
    check_error(airpath_command("sweep", path, "--out", tmp_path / "out"), key, cause, remedy)
    assert not (tmp_path / "out").exists()


def test_a_version_of_other_models_is_not_mixed_in(tmp_path, monkeypatch):
    run_sweep(plan_of(tmp_path, SMALL), tmp_path / "out", 1)
    monkeypatch.setattr(_core, "RNG_VERSION", "another")
    with pytest.raises(SweepError) as error:
        run_sweep(plan_of(tmp_path, SMALL), tmp_path / "out", 1)
    assert error.value.args[0] == "rng"


@pytest.mark.slow
def test_a_sweep_by_precision_makes_the_runs_of_replicate_however_it_was_interrupted(tmp_path):
    text = SMALL.replace("runs = 5", "precision = 0.05\nmax_runs = 60").replace(
        ', "retransmissions.total"', ""
    )
    plan, out = plan_of(tmp_path, text), tmp_path / "out"
    run_sweep(plan, out, 2)
    rows = rows_of(out)
    for number, point in enumerate(plan.points):
        expected = airpath.replicate(point.text, "transfer_s", 0.05, max_runs=60)
        assert expected.values == tuple(row["transfer_s"] for row in rows if row["point"] == number)
    half = pq.read_table(parts(out)[0]).slice(17, 23)
    for part in parts(out):
        part.unlink()
    pq.write_table(half, out / "runs" / "part-000001.parquet")
    assert run_sweep(plan, out, 1).fresh == len(rows) - 23
    assert rows_of(out) == rows


def test_what_a_run_did_not_measure_is_null_and_counted(tmp_path, airpath_command):
    text = SMALL.replace("[set]", '[set]\nduration = "1500 ms"')
    out = tmp_path / "out"
    run_sweep(plan_of(tmp_path, text), out, 1)
    assert all(row["transfer_s"] is None for row in rows_of(out))
    assert "5 of 5 without" in airpath_command("results", out).out


def test_a_metric_that_is_not_always_measured_is_never_precise(tmp_path):
    # Some of these transfers are over by then.
    text = SMALL.replace("runs = 5", "precision = 0.9\nmax_runs = 40").replace(
        "[set]", '[set]\nduration = "3300 ms"'
    )
    run_sweep(plan_of(tmp_path, text), tmp_path / "out", 1)
    runs = {}
    for row in rows_of(tmp_path / "out"):
        runs.setdefault(row["point"], []).append(row["transfer_s"])
    some = [values for values in runs.values() if None in values]
    assert some and any(set(values) != {None} for values in some)
    assert all(len(values) == 40 for values in some)


def test_a_metric_that_is_not_there_ends_the_sweep(tmp_path, airpath_command):
    path = written(tmp_path, SMALL.replace("transfer_s", "transfre_s"))
    outcome = airpath_command("sweep", path, "--out", tmp_path / "out", "--workers", 1)
    check_error(outcome, "run", "results have no 'transfre_s' there", "correct it and give the same command")


@looks_for_processes
def test_a_run_that_kills_every_worker_ends_the_sweep(tmp_path):
    plan, others = plan_of(tmp_path, SMALL), children_of(os.getpid())

    def kill_all():
        for child in set(children_of(os.getpid())) - set(others):
            os.kill(child, signal.SIGKILL)

    with Processes(1, ReadMetrics(plan.metrics)) as pool:
        pool.hand_in(Task([(2, plan.points[2].text, (9,))]))
        with pytest.raises(SweepError, match="3 workers died"):
            for _ in range(20):
                kill_all()
                pool.answers(5)


def test_progress_tells_rate_widest_interval_and_time_left(tmp_path):
    told = []
    plan = plan_of(tmp_path)
    run_sweep(
        plan, tmp_path / "out", 1, on_progress=lambda *now: told.append(progress_words(now[0], now[1]()))
    )
    assert told[-1].startswith("600/600 runs, 4/4 points at ") and told[-1].endswith("0:00:00 left")
    widest = max(
        t_quantile(estimate.n) * estimate.sd / math.sqrt(estimate.n) / estimate.mean
        for point in read_results(tmp_path / "out").points
        for estimate in point.estimates.values()
        if estimate.mean
    )
    assert f"widest ± {100 * widest:.2g} %" in told[-1]
    half_way = Progress(300, 7500, 200, 1, 25, 10.0)
    assert (
        progress_words(half_way, 0.25)
        == "300/7500 runs, 1/25 points at 0.0667/s, widest ± 25 %, 0:06:00 left"
    )


def test_results_are_the_means_of_the_rows(tmp_path, airpath_command):
    out = tmp_path / "out"
    run_sweep(plan_of(tmp_path, SMALL), out, 1)
    outcome = airpath_command("results", out)
    assert (outcome.code, outcome.err) == (0, "")
    means = json.loads(airpath_command("results", out, "--json").out)["points"]
    for number, point in enumerate(read_results(out).points):
        values = [row["transfer_s"] for row in rows_of(out) if row["point"] == number]
        expected = point.estimates["transfer_s"]
        assert expected.values == tuple(values)
        assert means[number]["metrics"]["transfer_s"]["mean"] == pytest.approx(sum(values) / 5)
        line = next(line for line in outcome.out.splitlines() if line.split()[:1] == [str(number)])
        mean = float(re.split(r" ± | \[", line)[0].split()[-1])
        assert mean == pytest.approx(sum(values) / 5, abs=expected.half_width / 10)
    check_error(airpath_command("results", tmp_path), str(tmp_path), "no folder of a sweep", "airpath sweep")


@pytest.mark.parametrize(
    "rule", ["runs = 200000000", "precision = 0.05\nmin_runs = 200000000\nmax_runs = 300000000"]
)
def test_any_number_of_runs_is_asked_for_piece_by_piece(rule, tmp_path):
    plan = plan_of(tmp_path, SMALL.replace("runs = 5", rule))
    rows = [(0, seeds, [[1.0 * seed] for seed in seeds]) for seeds in ((1, 2), (5, 200_000_000))]
    tracemalloc.start()
    wanted = wanted_of(plan.rule, len(plan.points), 1, rows)
    assert wanted.expected == 200_000_000 * len(plan.points)
    assert wanted.take(4) == [(0, [3, 4, 6, 7])]
    assert wanted.take(20_000) == [(0, list(range(8, 20_008)))]
    wanted.add((0, (3, 4), [[3.0], [4.0]]))
    assert wanted.done == 6
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000


def test_what_is_wanted_goes_from_point_to_point(tmp_path):
    plan = plan_of(tmp_path, SMALL)
    wanted = wanted_of(plan.rule, 2, 1, [(0, (2,), [[1.0]])])
    assert wanted.take(6) == [(0, [1, 3, 4, 5]), (1, [1, 2])]
    assert wanted.take(100) == [(1, [3, 4, 5])]
    assert wanted.take(100) == []


def test_planning_says_how_far_it_is(tmp_path):
    said = []
    read_plan(written(tmp_path, SMALL), on_point=lambda *counts: said.append(counts))
    assert said == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.slow
def test_planning_is_shown_on_a_terminal(tmp_path):
    # Long runs: the sweep is not over before the signal comes.
    long = SMALL.replace("50 kB", "20 MB")
    many = long + "[random]\npoints = 500\n'wired.delay' = { min = '10 ms', max = '200 ms' }\n"
    master, terminal = os.openpty()
    command = [sys.executable, "-m", "airpath", "sweep", str(written(tmp_path, many)), "--out", "out"]
    with subprocess.Popen(command, stderr=terminal, stdout=subprocess.DEVNULL, cwd=tmp_path) as process:
        os.close(terminal)
        shown = b""
        while b"2000/2000 points planned" not in shown:
            shown += os.read(master, 1024)
        process.send_signal(signal.SIGINT)
        late = threading.Timer(60, process.kill)
        late.start()
        # To the end: unread, a terminal is full after some seconds, and what writes to it waits.
        with contextlib.suppress(OSError):  # The terminal has gone with the process.
            while os.read(master, 1024):
                pass
    late.cancel()
    os.close(master)
    assert process.returncode == 130


@pytest.mark.parametrize("name", ["lock", "runs"])
def test_a_link_in_place_of_a_sweeps_own_file_is_refused_and_nothing_is_written(
    name, tmp_path, airpath_command
):
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    run_sweep(plan_of(tmp_path, SMALL), out, 1)
    (out / name).rename(elsewhere) if name == "runs" else elsewhere.write_text("precious")
    (out / name).symlink_to(elsewhere)
    before = sorted(elsewhere.iterdir()) if name == "runs" else elsewhere.read_text()
    outcome = airpath_command("sweep", written(tmp_path, SMALL), "--out", out)
    check_error(outcome, "out", str(out), "folder")
    assert before == (sorted(elsewhere.iterdir()) if name == "runs" else elsewhere.read_text())


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", "2>&-", ">&- 2>&-"])
def test_a_sweep_with_closed_standard_streams_is_made(closed, tmp_path):
    text = SHORT.replace("runs = 150", "runs = 2").replace("[1, 4]", "[4]")
    words = f'exec "$@" {closed}'
    command = [sys.executable, "-m", "airpath", "sweep", written(tmp_path, text), "--out", tmp_path / "out"]
    done = subprocess.run(["sh", "-c", words, "sh", *map(str, command)], check=False)
    assert done.returncode == 0 and len(rows_of(tmp_path / "out")) == 4


def test_figures_are_not_drawn_through_a_link(tmp_path, airpath_command):
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    run_sweep(plan_of(tmp_path, SMALL), out, 1)
    elsewhere.mkdir()
    (out / "figures").symlink_to(elsewhere)
    words = (
        "--x",
        "tcp.initial_window",
        "--y",
        "transfer_s",
        "--by",
        "radio.dch.downlink.channel.bernoulli.bler",
    )
    outcome = airpath_command("plot", out, *words)
    check_error(outcome, "--out", "is a link", "--out")
    assert not any(elsewhere.iterdir())


def test_a_pipe_among_the_runs_is_named_and_left_alone(tmp_path):
    out = tmp_path / "out"
    run_sweep(plan_of(tmp_path, SMALL), out, 1)
    os.mkfifo(out / "runs" / "part-000009.parquet")
    warnings = []
    assert run_sweep(plan_of(tmp_path, SMALL), out, 1, warn=warnings.append).fresh == 0
    assert "is a pipe and not a file" in warnings[0]
