"""The command line: what each command prints, and how it ends."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import airpath
from airpath.cli import doctor, ping, status
from airpath.scenario import bundled


def test_version(airpath_command):
    assert airpath_command("--version") == (0, f"airpath {airpath.__version__}\n", "")


def test_summary_table_says_what_became_of_the_flow(airpath_command):
    outcome = airpath_command("run", "umts-384")
    flow = airpath.run("umts-384", probes=()).flows[0]
    assert outcome.code == 0
    assert outcome.err == ""
    performance, delays, sender = (
        line.split() for line in outcome.out.splitlines() if line.startswith("0.0 downlink ")
    )
    rtt = [f"{flow['rtt_ms'][which]:.0f}" for which in ("mean", "min", "max")]
    assert performance[2] == f"{flow['goodput_bps'] / 1000:.1f}"
    assert performance[4:] == [f"{flow['transfer_s']:.3f}", *rtt]
    kinds = ("rtt_ms", "one_way_delay_ms", "queueing_delay_ms")
    assert delays[2:] == [f"{flow[kind][which]:.1f}" for kind in kinds for which in ("p50", "p95", "p99")]
    causes = ("total", "fast_retransmit", "partial_ack", "sack", "timeout", "go_back_n", "tail_loss_probe")
    # Only the causes that there were.
    repeated = [str(count) for cause in causes if (count := flow["retransmissions"].get(cause))]
    assert sender[2:] == [str(flow["segments_sent"]), *repeated, str(flow["timeouts"])]


def test_summary_speaks_of_blocks_only_where_there_are_any(airpath_command):
    outcome = airpath_command(
        "run", "umts-384-simple", "--set=flow.0.direction=uplink", "--set=flow.0.app.file.size=20 kB"
    )
    line = next(line for line in outcome.out.splitlines() if line.startswith("UE 0 uplink bearer"))
    assert " PDUs sent" not in outcome.out and "delivered" in line
    assert outcome.out.split("in the buffer; ")[1].startswith("no blocks")


def test_summary_says_what_a_proxy_did_that_the_flow_cannot_know(airpath_command):
    changes = {
        "wired.delay": "105 ms",
        "middlebox": '[{ split = { delay = "30 ms", buffer = "20 kB" } }]',
        "flow.0.app.file.size": "1 MB",
    }
    outcome = airpath_command(
        "run", "lundsten-dch", *(f"--set={key}={value}" for key, value in changes.items())
    )
    scenario = airpath.load("lundsten-dch")
    for key, value in changes.items():
        scenario = scenario.with_(key, value)
    result = airpath.run(scenario, probes=())
    (box,) = (part for part in result.summary["elements"] if part["element"] == "middlebox.split")
    (connection,) = box["connections"]
    *_, proxy = (line.split() for line in outcome.out.splitlines() if line.startswith("0.0 downlink "))
    counts = ("segments_sent", "retransmissions", "fast_retransmits", "timeouts")
    held, ahead = connection["buffer_bytes"]["peak"], connection["acked_ahead_bytes"]
    shown = [*(connection[which] for which in counts), held, ahead["peak"], ahead["at_end"]]
    assert proxy[2:] == [str(count) for count in shown]
    assert connection["retransmissions"] > 0 and 0 < held <= 20_000


def test_without_out_nothing_is_written(airpath_command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert airpath_command("run", "umts-64").code == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_out_says_where_the_files_are(airpath_command, tmp_path):
    out = tmp_path / "a" / "b"
    outcome = airpath_command("run", "umts-64", "--out", out)
    assert outcome.code == 0
    assert f"files in {out}" in outcome.out
    for name in ("results.json", "trace", "capture.pcapng", "plot.png", "scenario.resolved.toml"):
        assert name in outcome.out
        assert (out / name).is_dir() if name == "trace" else (out / name).is_file()


@pytest.mark.slow
def test_run_json_is_results_json(airpath_command, tmp_path):
    outcome = airpath_command("run", "umts-64", "--seed", 3, "--json", "--out", tmp_path)
    assert json.loads(outcome.out) == json.loads((tmp_path / "results.json").read_text())
    assert json.loads(outcome.out)["seed"] == 3


def test_set_changes_the_run(airpath_command):
    plain = json.loads(airpath_command("run", "umts-64", "--json").out)
    changes = ("--set", "radio.dch.downlink.rate=128 kbit/s", "--set", "tcp.initial_window=2")
    changed = json.loads(airpath_command("run", "umts-64", *changes, "--json").out)
    assert changed["flows"][0]["transfer_s"] < 0.7 * plain["flows"][0]["transfer_s"]


def test_many_flows_are_cut_in_the_table_only(airpath_command, tmp_path):
    file = tmp_path / "cell.toml"
    source = (
        airpath.load("umts-64-simple").source.replace("ues = 1", "ues = 30").replace("ue = 0", 'ue = "each"')
    )
    file.write_text(source)
    outcome = airpath_command("run", file)
    assert len({line.split()[0] for line in outcome.out.splitlines() if " downlink  " in line}) == 20
    assert "10 more flows" in outcome.out
    assert len(json.loads(airpath_command("run", file, "--json").out)["flows"]) == 30


def test_config_prints_every_default_and_can_be_run(airpath_command, tmp_path):
    outcome = airpath_command("config", "umts-384", "--set", "tcp.mss=536 B")
    resolved = tomllib.loads(outcome.out)
    assert resolved["tcp"]["mss"] == "536 B"
    assert resolved["tcp"]["dupack_threshold"] == 3
    file = tmp_path / "resolved.toml"
    file.write_text(outcome.out)
    changed = airpath_command("run", "umts-384", "--set", "tcp.mss=536 B", "--json").out
    assert airpath_command("run", file, "--json").out == changed
    assert airpath_command("config", file).out == outcome.out


@pytest.mark.slow
def test_list_shows_everything_registered(airpath_command):
    content = json.loads(airpath_command("list", "--json").out)
    names = {(part["folder"], part["name"]) for part in content["components"]}
    for component in (
        ("app", "bulk"),
        ("app", "file"),
        ("channel", "bernoulli"),
        ("channel", "rayleigh"),
        ("channel", "trace_file"),
        ("queue", "droptail"),
        ("queue", "pdpc"),
        ("queue", "red"),
        ("radio", "dch"),
        ("radio", "variable"),
        ("rlc", "fixed_delay_arq"),
        ("tcp.cc", "reno"),
        ("tcp.recovery", "newreno"),
    ):
        assert component in names
    assert set(content["scenarios"]) == set(bundled()) >= {"umts-64", "umts-128", "umts-384"}
    for component in content["components"]:
        assert component["description"]
        for parameter in component["parameters"]:
            assert {"name", "type", "default", "description"} == set(parameter)
            assert parameter["description"]
    shown = airpath_command("list").out
    for _, name in names:
        assert name in shown
    assert "retransmission_delay" in shown
    assert "60 ms" in shown
    assert "tcpi_rtt (us)" in shown


@pytest.mark.parametrize("name", sorted(bundled()))
def test_bundled_scenarios_are_short_and_say_what_they_show(name):
    source = airpath.load(name).source
    first, *rest = source.splitlines()
    assert first.startswith(f"# {name}: ")
    assert len(rest) < 40
    assert len(first) <= 120


def test_help_is_quick_and_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from airpath.cli.main import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit:\n"
        "    print([name for name in ('matplotlib', 'pyarrow', 'scipy.stats') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "reproduce" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_output_is_plain_where_there_is_no_terminal():
    command = [sys.executable, "-m", "airpath", "run", "umts-64"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "\x1b" not in done.stdout


def test_every_exit_status_is_documented():
    """`live`, whose status is its program's, is described below the table."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    table = page.partition("| exit status")[2].partition("\n\n")[0]
    documented = {int(line.split("|")[1]) for line in table.splitlines()[2:]}
    known = {value for name, value in vars(status).items() if name.isupper()}
    assert documented == {0, *known, doctor.NEEDED_MISSING, ping.NO_ANSWER}
    ends = re.compile(r"typer\.Exit\((\w*)\)")
    sources = Path(status.__file__).parent.glob("*.py")
    named = {name for file in sources for name in ends.findall(file.read_text(encoding="utf-8")) if name}
    assert named - {"status"} <= {*vars(status), "NEEDED_MISSING", "NO_ANSWER"}
