"""Runs in memory and into a folder: what they give, that they agree, and that they repeat."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import forks
import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import WRITTEN, check_error, events_in
from live.harness import UNDRAWN

import airpath
from airpath import _core
from airpath.cli import main as cli
from airpath.files.folder import Folder
from airpath.runs import memory, trace
from airpath.runs.finished import FinishedRun
from airpath.runs.folder import run_to_folder
from airpath.runs.memory import FINE_PROBES, coarse_probes
from airpath.runs.recorder import TABLES, UNFINISHED
from airpath.runs.trace import UNITS, WORD_COLUMNS

ALL_PROBES = tuple(_core.probes())
RECORDED = tuple(sorted(name for name in WRITTEN if name.startswith("trace/")))
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
PCAPNG_SECTION_HEADER = b"\x0a\x0d\x0d\x0a"

# A cell of many UEs that never finish: Ctrl-C has to end it.
ENDLESS = """\
duration = "1000000 s"
[wired]
delay = "75 ms"
[radio.dch]
ues = 20
[radio.dch.downlink.rlc.fixed_delay_arq]
[radio.dch.downlink.channel.bernoulli]
bler = "10 %"
[[flow]]
ue = "each"
direction = "downlink"
[flow.app.bulk]
"""

# Changes of a folder by the command line: while the picture is written (4 and 5), while it removes an earlier
# run (6 to 11), while it moves the files (from 12 on), and after that.
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir")


def killed(step, out):
    """Run a scenario into a folder, killed before this change of a name, in a fork of this process.

    Gives its status and the number of its changes, which it tells if it lives.
    """
    left = step

    def count(event, _arguments):
        nonlocal left
        if event in CHANGES:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def run():
        sys.addaudithook(count)
        try:
            cli.main(["run", "umts-384", "--seed", "2", "--out", str(out), "--force"])
        finally:
            print(step - left)

    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as errors:
        child = forks.fork(run, 60, errors.fileno(), said.fileno())
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for file in (said, errors):
            file.seek(0)
        return subprocess.CompletedProcess("airpath", status, said.read(), errors.read())


@pytest.fixture(scope="module")
def scenario():
    return airpath.load("umts-384")


@pytest.fixture(scope="module")
def result(scenario):
    return airpath.run(scenario, seed=1, probes=ALL_PROBES, capture=True)


@pytest.fixture(scope="module")
def folder(scenario, tmp_path_factory):
    return run_to_folder(scenario, 1, tmp_path_factory.mktemp("run"))


def test_summary_and_columns_agree(result):
    (flow,) = result.flows
    sent, state, rtt = (result.trace[kind] for kind in ("segment_sent", "tcp_state", "rtt_sample"))
    assert flow["bytes_acked"] == 2_000_000
    assert len(sent["seq"]) == flow["segments_sent"]
    repeated = ~np.isin(sent["cause"], ["new", "limited_transmit"])
    assert repeated.sum() == flow["retransmissions"]["total"]
    assert state["snd_una"][-1] == flow["bytes_acked"]
    assert rtt["rtt_us"].mean() / 1000 == pytest.approx(flow["rtt_ms"]["mean"], rel=1e-6)
    assert flow["goodput_bps"] == pytest.approx(8 * flow["bytes_acked"] / flow["transfer_s"])
    for columns in result.trace.values():
        assert columns["time_s"].dtype == np.float64
        assert {len(column) for column in columns.values()} == {len(columns["time_s"])}
        assert np.all(np.diff(columns["time_s"]) >= 0)


def test_only_the_probes_asked_for_are_recorded():
    result = airpath.run("umts-64", probes=("rtt_sample", "dropped"))
    assert list(result.trace) == ["rtt_sample", "dropped"]
    assert airpath.run("umts-64", probes=()).trace == {}
    assert result.capture == b""
    with pytest.raises(airpath.ScenarioError, match="no probe"):
        airpath.run("umts-64", probes=("rtt",))
    with pytest.raises(airpath.ScenarioError, match=r"'rtt_sample' is a text; write a list"):
        airpath.run("umts-64", probes="rtt_sample")


def test_a_kind_without_events_has_empty_columns():
    endless_queue = airpath.load("umts-64").with_("radio.dch.downlink.queue.droptail.packets", 10_000)
    dropped = airpath.run(endless_queue, probes=("dropped",)).trace["dropped"]
    assert list(dropped) == ["time_s", *_core.probes()["dropped"]]
    assert {len(column) for column in dropped.values()} == {0}


def test_probes_and_capture_change_nothing(scenario, result):
    assert airpath.run(scenario, probes=()).summary == result.summary
    assert json.loads(_core.run(scenario.text, 1)) == result.summary


def test_a_changed_copy_leaves_the_scenario_as_it_was(scenario):
    text = scenario.text
    faster = scenario.with_("radio.dch.downlink.rate", "1920 kbit/s").with_("tcp.timestamps", True)
    assert scenario.text == text
    assert 'rate = "1920 kbit/s"' in faster.text
    assert "timestamps = true" in faster.text
    assert airpath.run(faster, probes=()).flows[0]["transfer_s"] < 45


@pytest.mark.slow
def test_a_folder_holds_everything(folder, result):
    assert {str(file.relative_to(folder.path)) for file in folder.files} == WRITTEN - {"page.html"}
    assert not folder.interrupted
    assert folder.summary == result.summary
    assert json.loads((folder.path / "results.json").read_text()) == result.summary
    assert (folder.path / "results.json").read_text().endswith("}\n")
    assert (folder.path / "capture.pcapng").read_bytes() == result.capture
    assert (folder.path / "plot.png").read_bytes().startswith(PNG_SIGNATURE)
    resolved = airpath.load(folder.path / "scenario.resolved.toml")
    assert resolved.text == airpath.load("umts-384").text


def test_clock_and_machine_are_in_the_manifest_only(folder):
    manifest = json.loads((folder.path / "manifest.json").read_text())
    assert manifest["seed"] == 1
    assert manifest["airpath"] == airpath.__version__
    assert len(manifest["scenario_sha256"]) == 64
    assert set(manifest["files"]) == WRITTEN - {"manifest.json", "page.html"}
    assert {"started", "elapsed_s", "host", "python", "git", "rng"} <= set(manifest)
    results = (folder.path / "results.json").read_text()
    assert manifest["host"] not in results
    assert manifest["started"][:10] not in results


def test_the_table_is_the_trace_in_order_of_time(folder, result):
    table = events_in(folder.path)
    assert table.num_rows == sum(len(result.trace[kind]["time_s"]) for kind in coarse_probes())
    assert np.all(np.diff(table["time_s"].to_numpy()) >= 0)
    events = np.asarray(table["event"].to_pylist())
    for kind in coarse_probes():
        columns = result.trace[kind]
        rows = table.filter(events == kind)
        for name, values in columns.items():
            assert rows[name].null_count == 0
            np.testing.assert_array_equal(np.asarray(rows[name].to_pylist()), values)
        for name in set(table.column_names) - set(columns) - {"event"}:
            assert rows[name].null_count == rows.num_rows


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_tests_can_make_runs_without_drawing_their_pictures(tmp_path):
    """Drawing takes three quarters of the processor time of a short run."""
    run_to_folder("umts-64-simple", 1, tmp_path / "here")
    command = [*UNDRAWN, "run", "umts-64-simple", "--out", str(tmp_path / "elsewhere")]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    for out in ("here", "elsewhere"):
        assert FinishedRun.open(tmp_path / out).summary["complete"]
        assert (tmp_path / out / "plot.png").read_bytes() == b""


@pytest.mark.usefixtures("undrawn")
def test_every_column_says_its_unit(tmp_path):
    run_to_folder(airpath.load("umts-64-simple").with_("duration", "1 s"), 1, tmp_path, probes=ALL_PROBES)
    schemas = {kind: pq.read_schema(tmp_path / "trace" / f"{kind}.parquet") for kind in ALL_PROBES}
    for kind, columns in _core.probes().items():
        assert schemas[kind].names == ["time_ns", *columns]
        for field in schemas[kind]:
            assert field.metadata[b"unit"].decode() == UNITS[field.name]
    assert schemas["tcp_state"].field("tcpi_rtt").metadata[b"unit"] == b"us"
    flags = {"conservative", "after_drop", "poll", "lost", "flagged", "flags", "duplicate", "key"}
    numbers = {
        "first_sn",
        "frame",
        "segment",
        "lsn",
        "sdu",
        "process",
        "transmission",
        "cqi",
        "units",
        "sinr_thousandths",
        "count",
    }
    identities = {"ue", "flow", "packet", "copy_of", "bearer", "slot", "element"}
    identities |= {"serving", "target", "change", "leg"}
    for columns in _core.probes().values():
        without = {name for name in columns if not UNITS[name]}
        assert without <= {*WORD_COLUMNS, *identities, "tcpi_ca_state", *flags, *numbers}


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_a_trace_says_what_its_numbers_mean(tmp_path):
    run_to_folder(airpath.load("two-cells").with_("duration", "2 s"), 1, tmp_path, probes=ALL_PROBES)
    tables = json.loads((tmp_path / "trace" / TABLES).read_text())
    trace = {kind: pq.read_table(tmp_path / "trace" / f"{kind}.parquet").to_pylist() for kind in ALL_PROBES}
    assert len(tables["nodes"]) > 5 and len(tables["bearers"]) >= 4 and tables["flows"]
    nodes, bearers = tables["nodes"], tables["bearers"]
    rows = [(kind, row) for kind, rows in trace.items() for row in rows]
    assert all(row["element"] < len(nodes) for _, row in rows if "element" in row)
    flows = {(flow["ue"], flow["flow"]) for flow in tables["flows"]}
    assert all((row["ue"], row["flow"]) in flows for _, row in rows if "flow" in row)
    for kind, row in rows:
        if "bearer" in row:
            bearer = bearers[row["bearer"]]
            assert row["ue"] == bearer["ue"] and nodes[bearer["node"]]["name"].startswith("radio.")
            # STATUS PDUs go the other way.
            way = row.get("direction", "downlink") == bearer["direction"]
            assert way == (kind != "rlc_status")


@pytest.mark.parametrize("name", ["lte-5mhz", "hsdpa-3.6-still"])
def test_blocks_are_in_the_slots_of_the_table_of_bearers(name):
    scenario = airpath.load(name).with_("duration", "2 s")
    blocks = airpath.run(scenario, 1, probes=["block_sent"]).trace["block_sent"]
    (number,) = set(blocks["bearer"].tolist())
    row = json.loads(_core.tables_of(scenario.text))["bearers"][number]
    assert row["shared"] and len(blocks["slot"]) > 100
    begins = row["phase_ns"] + blocks["slot"] * row["slot_ns"]
    assert (np.rint(blocks["time_s"] * 1e9) == begins).all()


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_a_folder_has_fine_probes_on_request_only(tmp_path, airpath_command):
    short = ("run", "umts-64-simple", "--set", "duration=3 s", "--out", tmp_path, "--force")
    for options, missing in (
        ((), set(FINE_PROBES)),
        (("--probes", "all"), set()),
        (("--probes", "packet, dropped"), set(ALL_PROBES) - {"packet", "dropped"}),
        (("--probes", ""), set(ALL_PROBES)),
    ):
        assert airpath_command(*short, *options).code == 0
        there = {file.name for file in (tmp_path / "trace").iterdir()}
        tables = {TABLES} if missing != set(ALL_PROBES) else set()
        assert there == {f"{kind}.parquet" for kind in set(ALL_PROBES) - missing} | tables
    check_error(airpath_command(*short, "--probes", "x"), "probes", "no probe 'x'", "packet")
    check_error(airpath_command("run", "umts-64", "--probes", "all"), "--probes", "without a folder", "--out")


@pytest.mark.slow
def test_same_seed_same_files(scenario, folder, tmp_path):
    again = run_to_folder(scenario, 1, tmp_path)
    for name in WRITTEN - {"manifest.json", "page.html"}:
        assert (again.path / name).read_bytes() == (folder.path / name).read_bytes(), name
    other = run_to_folder(scenario, 2, tmp_path, force=True)
    assert (other.path / "results.json").read_bytes() != (folder.path / "results.json").read_bytes()


def test_any_number_of_workers_gives_the_same_results(scenario):
    seeds = range(1, 9)
    alone = [_core.run(scenario.text, seed) for seed in seeds]
    for workers in (2, 5):
        with ThreadPoolExecutor(workers) as pool:
            assert list(pool.map(lambda seed: _core.run(scenario.text, seed), seeds)) == alone
    assert len(set(alone)) == len(alone)


@pytest.mark.slow
def test_a_long_run_is_written_in_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(trace, "ROW_GROUP_ROWS", 500)
    monkeypatch.setattr(memory, "TAKEN_EVENTS", 500)
    cell = ENDLESS.replace("1000000 s", "4 s")
    run_to_folder(airpath.Scenario("cell", cell), 1, tmp_path / "a")
    run_to_folder(airpath.Scenario("cell", cell), 1, tmp_path / "b")
    with pq.ParquetFile(tmp_path / "a" / "trace" / "segment_sent.parquet") as file:
        assert file.num_row_groups > 1
        assert file.metadata.row_group(0).num_rows >= 500
        time_ns = file.read(columns=["time_ns"])["time_ns"].to_numpy()
    assert np.all(time_ns[1:] >= time_ns[:-1])
    for name in (*RECORDED, "results.json", "plot.png"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.slow
def test_rows_that_come_one_by_one_take_no_memory_until_they_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr(trace, "ROW_GROUP_ROWS", 4_000)
    columns, rows = _core.probes()["rtt_sample"], 10_000
    numbers = [name for name in ("time_ns", *columns) if name not in WORD_COLUMNS]
    words = {name: (np.zeros(1, np.uint8), ["downlink"]) for name in columns if name not in numbers}
    with Folder.open(tmp_path) as folder:
        made = trace.TraceWriter(folder, {"rtt_sample": columns}, {})
    with contextlib.closing(made) as writer:
        tracemalloc.start()
        for row in range(rows):
            writer.write({"rtt_sample": {name: np.array([row], np.uint64) for name in numbers} | words})
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert held < 8 * rows
    table = pq.read_table(tmp_path / "rtt_sample.parquet")
    assert table["time_ns"].to_pylist() == list(range(rows))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("captured_bytes", "number"),
    [(0, signal.SIGINT), (3_000_000, signal.SIGINT), (1_000_000, signal.SIGTERM)],
)
def test_ctrl_c_and_sigterm_leave_readable_files(captured_bytes, number, tmp_path):
    scenario, out = tmp_path / "endless.toml", tmp_path / "out"
    scenario.write_text(ENDLESS)
    command = [sys.executable, "-m", "airpath", "run", str(scenario), "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: size(out / UNFINISHED / "capture.pcapng") >= captured_bytes, process)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert err.count("\n") == 1
    results = json.loads((out / "results.json").read_text())
    assert results["complete"] is False
    assert json.loads((out / "manifest.json").read_text())["interrupted"] is True
    sent = sum(flow["segments_sent"] for flow in results["flows"])
    assert pq.read_metadata(out / "trace" / "segment_sent.parquet").num_rows == sent
    assert complete_blocks((out / "capture.pcapng").read_bytes()) > 0 or results["simulated_s"] == 0
    assert (out / "plot.png").read_bytes().startswith(PNG_SIGNATURE)
    assert {str(file.relative_to(out)) for file in out.rglob("*.*")} == WRITTEN


@pytest.fixture(scope="module")
def changes(folder, tmp_path_factory):
    """Number of changes of names in a run over an earlier one."""
    out = tmp_path_factory.mktemp("changes") / "run"
    shutil.copytree(folder.path, out)
    done = killed(1000, out)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("step", [8, 11, 12, 28, 34, 46, -3, -2])
def test_a_run_that_is_killed_leaves_the_earlier_one_or_nothing(step, scenario, folder, changes, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(folder.path, out)
    done = killed(step if step > 0 else changes + step, out)
    assert done.returncode == -signal.SIGKILL, done.stderr
    # The manifest of the earlier run goes with the 11th change, the new one comes with the fourth to last.
    if step <= 11 and step != -3:
        read = FinishedRun.open(out)
        assert read.manifest["seed"] == read.summary["seed"] == (1 if step > 0 else 2)
        for name, bytes_ in read.manifest["files"].items():
            assert size(out / name) == bytes_
    else:
        with pytest.raises(airpath.ScenarioError, match=r"manifest\.json"):
            FinishedRun.open(out)
    again = run_to_folder(scenario, 1, out, force=True)
    for name in ("results.json", *RECORDED, "capture.pcapng", "plot.png"):
        assert (out / name).read_bytes() == (folder.path / name).read_bytes()
    assert {file for file in out.rglob("*.*")} == set(again.files)


def size(file: Path) -> int:
    """Size of a file in bytes, -1 if there is none."""
    return os.stat(file).st_size if file.exists() else -1


def wait_for(condition, process) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def complete_blocks(pcapng: bytes) -> int:
    """Count the blocks of a capture; fails if the last one is cut."""
    assert pcapng.startswith(PCAPNG_SECTION_HEADER)
    blocks, position = 0, 0
    while position < len(pcapng):
        length = int.from_bytes(pcapng[position + 4 : position + 8], "little")
        position += length
        assert int.from_bytes(pcapng[position - 4 : position], "little") == length
        blocks += 1
    assert position == len(pcapng)
    return blocks


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", "2>&-", ">&- 2>&-"])
def test_a_run_with_closed_standard_streams_is_made_and_writes_into_its_files_alone(closed, tmp_path):
    words = "exec {} -m airpath run umts-384 --set flow.0.app.file.size='5 kB' --out {} {}"
    done = subprocess.run(["sh", "-c", words.format(sys.executable, tmp_path / "out", closed)], check=False)
    assert done.returncode == 0
    assert FinishedRun.open(tmp_path / "out").summary["complete"]
