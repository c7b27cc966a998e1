"""Traces of delivery opportunities: files that a scenario names, and what becomes of them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import airpath
from airpath import _core
from airpath.cli import main as cli
from airpath.report.run import run_report
from airpath.report.terminal import show
from airpath.runs import metrics

pytestmark = pytest.mark.usefixtures("undrawn")

SCENARIO = """\
duration = "60 s"

[wired]
delay = "20 ms"
loss = "0.1 %"

[radio.variable.downlink]
queue.droptail.packets = 50
channel.trace_file.file = "traces/down.trace"

[[flow]]
[flow.app.file]
size = "200 kB"
"""

DOWNLINK = "radio.variable.downlink.channel.trace_file"
UPLINK = "radio.variable.uplink.channel.trace_file"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """Make a scenario in a folder of its own, and its trace below."""
    folder = tmp_path / "scenarios"
    (folder / "traces").mkdir(parents=True)
    (folder / "traces" / "down.trace").write_text("".join(f"{ms}\n" for ms in range(7, 400, 7)))
    file = folder / "drive.toml"
    file.write_text(SCENARIO)
    return file


def test_a_run_folder_runs_again_elsewhere_without_the_trace(
    scenario, tmp_path, monkeypatch, airpath_command
):
    outcome = airpath_command("run", scenario, "--out", tmp_path / "first")
    assert outcome.code == 0
    resolved = tmp_path / "first" / "scenario.resolved.toml"
    trace_file = tomllib.loads(resolved.read_text())["radio"]["variable"]["downlink"]["channel"]["trace_file"]
    assert trace_file["trace"].splitlines()[:3] == ["7", "14", "21"]
    assert "file" not in trace_file
    (scenario.parent / "traces" / "down.trace").unlink()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert airpath_command("run", resolved, "--out", tmp_path / "second").code == 0
    for name in ("results.json", "trace/segment_sent.parquet", "capture.pcapng", "scenario.resolved.toml"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes(), name


def test_a_trace_is_looked_for_beside_its_scenario_wherever_one_is(scenario, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loaded = airpath.load("scenarios/drive.toml")
    assert 'trace = """\n7\n14\n' in loaded.text
    (scenario.parent / "up.trace").write_text("9\n")
    changed = loaded.with_(f"{UPLINK}.file", "up.trace")
    assert 'trace = """\n9\n"""' in changed.text
    assert 'trace = """\n7\n14\n' in changed.text


def test_set_names_a_trace_for_a_bundled_scenario_from_the_current_folder(
    scenario, monkeypatch, airpath_command
):
    monkeypatch.chdir(scenario.parent)
    change = f"{DOWNLINK}={{ file = 'traces/down.trace' }}"
    printed = airpath_command("config", "variable-3g", "--set", change)
    assert printed.code == 0
    assert 'trace = """\n7\n14\n' in printed.out


@pytest.mark.parametrize(
    ("content", "cause", "remedy"),
    [
        (b"1\n2\nx\n", "'traces/down.trace', line 3: 'x' is not a whole number", "one in each line"),
        (b"", "'traces/down.trace', the trace is empty", "one in each line"),
        (b"1\n\xff\n", "'traces/down.trace' is no text: byte 2 is not UTF-8", "path of a trace"),
        (b"1\n" * 32_000_001, "'traces/down.trace' is larger than 64 MB", "path of a trace"),
        (None, "'traces/down.trace' cannot be read: No such file", "from the scenario's folder"),
    ],
    ids=["a line", "empty", "no text", "too large", "missing"],
)
def test_a_trace_that_cannot_be_used(content, cause, remedy, scenario, airpath_command):
    trace = scenario.parent / "traces" / "down.trace"
    trace.unlink()
    if content is not None:
        trace.write_bytes(content)
    outcome = airpath_command("run", scenario)
    assert outcome.code == cli.BAD_INPUT
    assert outcome.err.startswith(f"error: {DOWNLINK}.file: {cause}")
    assert remedy in outcome.err.partition("; ")[2]


def test_a_folder_is_no_trace(scenario, airpath_command):
    outcome = airpath_command("run", scenario, "--set", f"{DOWNLINK}.file=traces")
    assert outcome.err.startswith(f"error: {DOWNLINK}.file: 'traces' cannot be read: Is a directory; ")


def test_file_and_text_exclude_each_other(scenario, airpath_command):
    outcome = airpath_command("run", scenario, "--set", f"{DOWNLINK}.trace='1'")
    assert outcome.err.startswith(f"error: {DOWNLINK}: has both a file and a trace; keep one")


def test_only_resolving_reads_files():
    for use in (lambda: _core.run(SCENARIO, 1), lambda: _core.Simulation(SCENARIO, 1)):
        with pytest.raises(airpath.ScenarioError) as error:
            use()
        assert error.value.args[0] == f"{DOWNLINK}.file"
        assert "not read here" in error.value.args[1]


def test_a_bulk_download_fills_a_constant_trace(tmp_path):
    (tmp_path / "constant.trace").write_text(_core.constant_trace("6 Mbit/s"))
    source = SCENARIO.replace("traces/down.trace", "constant.trace").replace('loss = "0.1 %"', "")
    source = source.replace('file]\nsize = "200 kB"', "bulk]")
    summary = airpath.run(airpath.Scenario("constant", source, folder=tmp_path), probes=()).summary
    counters = metrics.bearer(summary, 0, "downlink")
    assert counters is not None
    assert counters["opportunities"] == 60 * 500
    assert counters["utilisation"] >= 0.95
    assert metrics.block_error_share(counters) == 0


def test_constant_traces():
    assert _core.constant_trace("12 Mbit/s") == "1\n"
    assert _core.constant_trace("384 kbit/s") == "32\n63\n94\n125\n"
    for rate, cause in (
        ("12", "missing unit"),
        ("12 Mbps", "unknown unit"),
        ("0 bit/s", "no rate of a trace"),
    ):
        with pytest.raises(airpath.ScenarioError) as error:
            _core.constant_trace(rate)
        key, what, remedy = error.value.args
        assert key == "rate"
        assert cause in what
        assert remedy


def test_the_summary_speaks_of_opportunities_and_not_of_blocks(capsys):
    summary = airpath.run("variable-3g", probes=()).summary
    show(run_report(summary, "drive"))
    # A line may be folded.
    line = " ".join(capsys.readouterr().out.partition("UE 0 downlink bearer: ")[2].split())
    counters = metrics.bearer(summary, 0, "downlink")
    assert counters is not None
    assert line.startswith(f"{counters['sdus_delivered']} SDUs delivered, ")
    assert line.endswith(
        f"; {counters['opportunities']} opportunities, {100 * counters['utilisation']:.1f} % used"
    )
