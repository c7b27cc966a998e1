"""Links whose rate and delay vary: lists and series in files, and the report of such a run."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from conftest import check_error

import airpath
from airpath.report.run import run_report
from airpath.report.terminal import show
from airpath.runs import metrics

pytestmark = pytest.mark.usefixtures("undrawn")

SCENARIO = """\
duration = "60 s"

[radio.variable.downlink.channel.series]
file = "drive.csv"
repeat = "10 s"

[radio.variable.uplink.channel.distribution]
rate.constant = "64 kbit/s"
delay.empirical.file = "pings.txt"

[[flow]]
[flow.app.file]
size = "200 kB"
"""

SERIES = "radio.variable.downlink.channel.series"
EMPIRICAL = "radio.variable.uplink.channel.distribution.delay.empirical"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """Make a scenario and its files, as a spreadsheet on another system may have written them."""
    (tmp_path / "drive.csv").write_bytes(
        b"\xef\xbb\xbftime_s,rate_kbps,delay_ms,loss\r\n0,384,20,0\r\n4,64,80,0.01\r\n"
    )
    (tmp_path / "pings.txt").write_text("20 ms\n25 ms\n180 ms\n")
    file = tmp_path / "drive.toml"
    file.write_text(SCENARIO)
    return file


def test_a_run_folder_runs_again_without_the_files(scenario, tmp_path, airpath_command):
    assert airpath_command("run", scenario, "--out", tmp_path / "first").code == 0
    resolved = tmp_path / "first" / "scenario.resolved.toml"
    radio = tomllib.loads(resolved.read_text())["radio"]["variable"]
    assert radio["downlink"]["channel"]["series"]["rows"].splitlines()[2] == "4,64,80,0.01"
    assert radio["uplink"]["channel"]["distribution"]["delay"] == {
        "empirical": {"values": "20 ms\n25 ms\n180 ms\n"}
    }
    (tmp_path / "drive.csv").unlink()
    (tmp_path / "pings.txt").unlink()
    assert airpath_command("run", resolved, "--out", tmp_path / "second").code == 0
    for name in ("results.json", "trace/segment_sent.parquet", "scenario.resolved.toml"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes(), name


@pytest.mark.parametrize(
    ("name", "content", "key", "cause", "remedy"),
    [
        ("drive.csv", "", SERIES, "'drive.csv', the series is empty", "write a first line of time_s"),
        (
            "drive.csv",
            "time_s,rate_kbps\n0,9\n3,9\n2,9\n",
            SERIES,
            "'drive.csv', line 4: 2 s is not after 3 s",
            "order",
        ),
        (
            "drive.csv",
            "time_s,rate_kbps\n0,-9\n",
            SERIES,
            "line 2: '-9' in column rate_kbps",
            "0 for an outage",
        ),
        ("drive.csv", "time_s,rate_kbps,loss\n0,9,2\n", SERIES, "line 2: '2' in column loss", "from 0 to 1"),
        ("drive.csv", "time_s,rate\n0,9\n", SERIES, "line 1: unknown column 'rate'", "rate_kbps"),
        ("drive.csv", None, SERIES, "'drive.csv' cannot be read: No such file", "write the path of a series"),
        ("pings.txt", "20 ms\n30\n", EMPIRICAL, "'pings.txt', line 2: missing unit", "60 ms"),
        ("pings.txt", None, EMPIRICAL, "'pings.txt' cannot be read", "write the path of a list of values"),
    ],
)
def test_a_file_that_cannot_be_used(name, content, key, cause, remedy, scenario, airpath_command):
    file = scenario.parent / name
    file.unlink()
    if content is not None:
        file.write_text(content)
    check_error(airpath_command("run", scenario), f"{key}.file", cause, remedy)


def test_another_distribution_takes_the_place_of_the_present_one(airpath_command):
    change = "radio.variable.downlink.channel.distribution.delay.normal.mean=80 ms"
    sd = "radio.variable.downlink.channel.distribution.delay.normal.sd=10 ms"
    outcome = airpath_command("config", "chan-variable-delay", "--set", change, "--set", sd)
    delay = tomllib.loads(outcome.out)["radio"]["variable"]["downlink"]["channel"]["distribution"]["delay"]
    assert delay == {"normal": {"mean": "80 ms", "sd": "10 ms"}}


def test_the_pings_of_chan_3g1x_have_the_paper_s_latencies():
    """Section 3: at least 179 ms, 215 ms in the mean, some above a second."""
    scenario = airpath.load("chan-3g1x").with_("flow.app", {"ping": {"requests": 20_000}})
    scenario = scenario.with_("duration", "20010 s")
    rtt = airpath.run(scenario, probes=()).summary["flows"][0]["rtt_ms"]
    assert rtt["samples"] == 20_000
    assert rtt["min"] == pytest.approx(179, abs=0.5)
    # The values have a standard deviation of about 110 ms.
    assert rtt["mean"] == pytest.approx(215, abs=5 * 110 / 20_000**0.5)
    assert rtt["max"] > 1000


def test_the_summary_tells_service_rate_and_delay(capsys):
    summary = airpath.run("chan-3g1x", probes=()).summary
    show(run_report(summary, "chan-3g1x"))
    line = " ".join(capsys.readouterr().out.partition("UE 0 downlink bearer: ")[2].split())
    counters = metrics.bearer(summary, 0, "downlink")
    assert counters is not None
    # 144 kbit/s in packets of 1500 bytes.
    assert "; 12.0 packets/s while busy, " in line
    assert line.endswith(f", {counters['mean_delay_ms']:.1f} ms in transit")


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["mm-link", "ns2"])
def test_formats_that_want_one_delay_are_refused(format_, tmp_path, airpath_command):
    folder = tmp_path / "run"
    assert airpath_command("run", "chan-3g1x", "--out", folder).code == 0
    outcome = airpath_command("export", folder, "--format", format_)
    check_error(outcome, str(folder), "the downlink delay of channel.distribution varies", "csv")
    assert airpath_command("export", folder, "--format", "csv").code == 0
