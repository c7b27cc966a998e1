"""The options of `airpath live`: the driver's configuration, and the errors for mistakes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import check_error

import airpath
from airpath import _core
from airpath.cli.live_options import choose_scenario, congestion_control_of
from airpath.errors import ScenarioError
from airpath.live import driver
from airpath.live.link import Direction, Link
from airpath.live.shell import marked_shell
from airpath.runs.memory import coarse_probes
from airpath.scenario import Scenario, load

pytestmark = pytest.mark.usefixtures("undrawn")

FAKE = Path(__file__).with_name("fake_driver.py")


@pytest.fixture
def configured(monkeypatch, tmp_path, airpath_command):
    """Run a command line and return the configuration that the driver got."""

    def call(*arguments, path=None):
        log = tmp_path / "frames"
        monkeypatch.setattr(driver, "driver_command", lambda: [sys.executable, str(FAKE), "run", str(log)])
        if path is None:
            path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        monkeypatch.setenv("PATH", path)
        outcome = airpath_command("live", *arguments)
        assert outcome.code == 0, outcome.err
        kind, configuration = json.loads(log.read_text().splitlines()[0])
        assert kind == "C"
        return configuration

    return call


def test_configuration_unless_told_otherwise(configured):
    assert configured("umts-384", "--", "ping", "-c", "1", "10.0.0.1") == {
        "mode": "run",
        "scenario": airpath.load("umts-384").text,
        "seed": 1,
        "probes": [],
        "capture": False,
        "capture_rlc": False,
        "capture_iu": False,
        "snaplen": 128,
        "ue": None,
        "command": ["ping", "-c", "1", "10.0.0.1"],
        "server": None,
        "environment": {},
        "clean_environment": False,
        "user": None,
        "endpoint": None,
        "duration_s": None,
        "attach": None,
        "between": None,
        "keep_addresses": False,
        "control": False,
        "sysctl": {},
        "congestion_control": None,
        "expected_congestion_control": "cubic",
        "status_interval_s": 0.2,
        "tcp_info_interval_s": 0.02,
        "lateness_bound_us": 1000.0,
        "terminal": False,
    }


def test_options_reach_the_driver(configured, tmp_path):
    options = (
        *("--set", "radio.dch.downlink.rate=128 kbit/s", "--seed", 7, "--server", "iperf3 -s -1"),
        *("--duration", "1.5 min", "--max-lateness", "200us", "--out", tmp_path / "out", "--snaplen", 65535),
        "--capture-rlc",
        *("--sysctl", "net.ipv4.tcp_sack=0", "--sysctl", "net.ipv4.tcp_rmem=4096 65536 65536"),
        *("--probes", "rtt_sample, dropped"),
    )
    sent = configured("umts-384", *options, "--", "true")
    assert tomllib.loads(sent["scenario"])["radio"]["dch"]["downlink"]["rate"] == "128 kbit/s"
    assert (sent["seed"], sent["server"], sent["duration_s"]) == (7, "iperf3 -s -1", 90)
    assert sent["lateness_bound_us"] == pytest.approx(200)
    assert (sent["capture"], sent["snaplen"], sent["probes"]) == (True, 65535, ["rtt_sample", "dropped"])
    assert sent["capture_rlc"] is True
    assert sent["sysctl"] == {"net.ipv4.tcp_sack": "0", "net.ipv4.tcp_rmem": "4096 65536 65536"}


def test_the_driver_captures_the_iu_where_there_is_one(configured, tmp_path):
    options = ("--capture-iu", "--out", tmp_path / "out", "--", "true")
    sent = configured("umts-network", *options)
    assert (sent["capture_rlc"], sent["capture_iu"]) == (False, True)


def test_a_browser_is_told_everything_and_files_what_they_were_to_have(configured, tmp_path):
    sent = configured("umts-384", "--studio", "--out", tmp_path / "out", "--probes", "dropped", "--", "true")
    assert sent["probes"] == list(_core.probes())
    names = {file.name for file in (tmp_path / "out" / "trace").iterdir()}
    assert names == {"dropped.parquet", "tables.json"}
    assert (tmp_path / "out" / "page.html").exists()


def test_a_page_is_refused(configured, tmp_path):
    configured("umts-384", "--no-page", "--out", tmp_path / "out", "--", "true")
    assert (tmp_path / "out" / "results.json").exists() and not (tmp_path / "out" / "page.html").exists()


@pytest.mark.parametrize(
    ("options", "kinds"), [((), coarse_probes()), (("--probes", "all"), [*_core.probes()])]
)
def test_a_folder_asks_for_events_and_packets(options, kinds, configured, tmp_path):
    sent = configured("umts-384", "--out", tmp_path / "out", *options, "--", "true")
    assert sent["probes"] == kinds
    assert sent["capture"] is True


@pytest.mark.parametrize(
    "command",
    [
        ["--set", "x=1", "--out", "y"],
        ["sh", "-c", "echo -- $0", "--"],
        ["--", "--help"],
        ["-n"],
    ],
)
def test_what_follows_the_first_dashes_is_the_command(command, configured):
    assert configured("umts-384", "--seed", 2, "--", *command)["command"] == command


def test_options_may_stand_before_the_scenario(configured):
    assert configured("--seed", 3, "umts-64", "--", "true")["seed"] == 3


@pytest.mark.parametrize("dashes", [[], ["--"]])
def test_without_a_command_there_is_the_users_shell(dashes, configured, monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/dash")
    monkeypatch.setenv("PS1", "> ")
    sent = configured("umts-384", *dashes)
    assert sent["command"] == ["/bin/dash"]
    assert sent["environment"] == {"PS1": "(airpath umts-384) > "}


def test_command_finds_airpath_even_where_path_leads_to_none(configured, tmp_path):
    sent = configured("umts-384", "--", "airpath", "ping", path=f"/nowhere:{tmp_path}")
    assert sent["environment"] == {"PATH": f"/nowhere:{tmp_path}:{Path(sys.executable).parent}"}


def test_a_shell_without_a_name_is_sh():
    command, environment = marked_shell("umts-384", {})
    assert command == ["sh"]
    assert environment["PS1"] == "(airpath umts-384) " + ("# " if os.geteuid() == 0 else "$ ")


def test_bash_marks_its_prompt_whatever_start_up_files_do():
    _, environment = marked_shell("my $(rm) link", {"SHELL": "/bin/bash", "PROMPT_COMMAND": "X=1"})
    script = 'PS1="\\u> "; for i in 1 2; do eval "$PROMPT_COMMAND"; done; printf %s "$X$PS1"'
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=30)
    assert done.stdout == "1(airpath my___rm__link) \\u> "


def test_traces_become_a_scenario(tmp_path, monkeypatch):
    trace = tmp_path / 'a "trace"'
    trace.write_text("1\n")
    monkeypatch.setattr(_core, "constant_trace", lambda rate: f"of {rate}\n", raising=False)
    downlink = Direction(str(trace), "droptail", "packets=100,bytes=64kB")
    link = Link(downlink, Direction("100Mbit/s"), delay="20ms", once=True, opportunity_bytes=1504)
    both = {"accounting": "tun_1504"}
    assert link.queues() == [
        ("radio.variable.downlink.queue", "droptail"),
        ("radio.variable.downlink.queue.droptail.packets", "100"),
        ("radio.variable.downlink.queue.droptail.bytes", "64kB"),
        ("radio.variable.uplink.queue", "droptail"),
    ]
    assert tomllib.loads(link.text()) == {
        "wired": {"delay": "20ms"},
        "radio": {
            "variable": {
                "downlink": {
                    "channel": {"trace_file": {"file": str(trace), "once": True, **both}},
                },
                "uplink": {
                    "channel": {"trace_file": {"trace": "of 100Mbit/s\n", "once": False, **both}},
                },
            }
        },
        "flow": [{"app": {"bulk": {}}}],
    }


@pytest.mark.parametrize("queue", ["red", "pdpc"])
def test_links_by_trace_know_the_disciplines_of_scenarios(queue):
    downlink = Direction("10 Mbit/s", queue, "max_threshold=40,packets=100")
    chosen = choose_scenario(None, None, Link(downlink, Direction("1 Mbit/s")))
    says = tomllib.loads(chosen.text)["radio"]["variable"]["downlink"]["queue"]
    assert (says[queue]["max_threshold"], says[queue]["packets"]) == (40, 100)


@pytest.mark.parametrize(
    ("queue", "arguments", "written"),
    [
        ("drophead", "packets=100,bytes=64000", {"packets": 100, "bytes": "64 kB"}),
        (
            "codel",
            "packets=100,target=50,interval=100",
            {"packets": 100, "target": "50 ms", "interval": "100 ms"},
        ),
        (
            "pie",
            "bytes=64000,qdelay_ref=20,max_burst=0",
            {"bytes": "64 kB", "qdelay_ref": "20 ms", "max_burst": "0 s"},
        ),
        ("codel", "target=auto,interval=50ms", {"target": "auto", "interval": "50 ms"}),
    ],
)
def test_queues_take_mahimahis_arguments(queue, arguments, written):
    chosen = choose_scenario(
        None, None, Link(Direction("10 Mbit/s", queue, arguments), Direction("1 Mbit/s"))
    )
    says = tomllib.loads(chosen.text)["radio"]["variable"]["downlink"]["queue"][queue]
    assert says | written == says


def test_the_driver_is_told_which_congestion_control_is_expected():
    base = load("umts-384")
    assert congestion_control_of(base) == "cubic"
    assert congestion_control_of(base.with_("tcp.cc", "reno")) == "reno"
    own = base.with_("tcp.cc", "cubic").with_("flow.0.tcp", {"cc": "westwood"})
    assert congestion_control_of(own) == "westwood"


def test_rates_have_no_end():
    link = Link(Direction("10 Mbit/s"), Direction("1 Mbit/s"), once=True)
    with pytest.raises(ScenarioError) as error:
        link.text()
    assert error.value.args == ("--once", "a rate has no end", "give a trace, or leave --once out")


def test_a_link_by_trace_is_endless_undelayed_and_counts_ip(tmp_path):
    trace = tmp_path / "trace"
    trace.write_text("1\n")
    direction = Direction(str(trace), "droptail", "bytes=64000")
    link = Link(direction, Direction(str(trace), "infinite"))
    content = tomllib.loads(link.text())
    assert "wired" not in content
    down = content["radio"]["variable"]["downlink"]
    assert link.queues()[1] == ("radio.variable.downlink.queue.droptail.bytes", "64000 B")
    assert down["channel"]["trace_file"] == {"file": str(trace), "once": False, "accounting": "ip_1500"}


BOTH = ("--downlink-trace", "TRACE", "--uplink-trace", "TRACE")

BAD = {
    "no such TCP": (
        ("umts-384", "--sender", "bsd", "--", "true"),
        *("--sender", "'bsd' is no TCP", "airpath or kernel"),
    ),
    "both ends ours and a port": (
        ("umts-384", "--sender", "airpath", "--receiver", "airpath", "--connect", "80", "--", "true"),
        *("--connect", "both ends are ours", "the UE's end opens connections"),
    ),
    "our end and a server": (
        ("umts-384", "--sender", "airpath", "--server", "x", "--", "true"),
        *("--server", "the server's end is ours", "COMMAND be the other end"),
    ),
    "COMMAND at the server and a server": (
        ("umts-384", "--receiver", "airpath", "--server", "x", "--", "true"),
        *("--server", "COMMAND runs on the server's side", "leave it out"),
    ),
    "a pause of nobody": (
        ("umts-384", "--pause", "1s", "--", "true"),
        *("--pause", "there is no end of ours", "add --sender airpath"),
    ),
    "no pause": (
        ("umts-384", "--sender", "airpath", "--pause", "1", "--", "true"),
        *("--pause", "missing unit", "60 ms"),
    ),
    "connections to nowhere": (
        ("umts-384", "--sender", "airpath", "--connections", "3", "--", "true"),
        *("--connections", "our end opens none", "--connect PORT"),
    ),
    "no port": (
        ("umts-384", "--sender", "airpath", "--connect", "70000", "--", "true"),
        *("--connect", "70000 is no port", "65535"),
    ),
    "no connections": (
        ("umts-384", "--sender", "airpath", "--connect", "80", "--connections", "0", "--", "true"),
        *("--connections", "0 connections", "write 1 to 4096"),
    ),
    "nothing": ([], "SCENARIO", "nothing says", "--downlink-trace"),
    "both": (["umts-384", *BOTH], "SCENARIO", "'umts-384' and by --downlink-trace", "leave one"),
    "one trace": (BOTH[:2], "--uplink-trace", "missing", "either direction"),
    "options of traces": (["umts-384", "--delay", "20ms"], "--delay", "by trace", "wired.delay"),
    "once": (["umts-384", "--once"], "--once", "by trace", "--set"),
    "no scenario of that name": (["nothing"], "nothing", "no such", "umts-384"),
    "key": (["umts-384", "--set", "x.y=1"], "x", "unknown", "radio"),
    "no trace": (["--downlink-trace", "none", *BOTH[2:]], "--downlink-trace", "'none'", "100 Mbit/s"),
    "counting": ([*BOTH, "--opportunity-bytes", "1400"], "--opportunity-bytes", "1400", "1504"),
    "queue": (
        [*BOTH, "--uplink-queue", "cake"],
        "--uplink-queue",
        "'cake' here",
        "droptail, drophead, codel",
    ),
    "no limit": ([*BOTH, "--uplink-queue", "droptail"], "--uplink-queue", "drops nothing", "packets=100"),
    "no limit either": (
        [*BOTH, "--uplink-queue", "drophead"],
        "--uplink-queue",
        "drops nothing",
        "packets=100",
    ),
    "limit of nothing": (
        [*BOTH, "--uplink-queue-args", "packets=9"],
        *("--uplink-queue-args", "infinite", "--uplink-queue droptail"),
    ),
    "limit": (
        [*BOTH, "--uplink-queue", "droptail", "--uplink-queue-args", "target=5"],
        *("--uplink-queue-args", "target: unknown key", "packets"),
    ),
    "parameter": (
        [*BOTH, "--uplink-queue", "red", "--uplink-queue-args", "max_probability=150 %"],
        *("--uplink-queue-args", "max_probability", "1"),
    ),
    "form": (
        [*BOTH, "--downlink-queue", "red", "--downlink-queue-args", "ecn"],
        *("--downlink-queue-args", "'ecn' is no parameter", "NAME=VALUE"),
    ),
    "seed": (["umts-384", "--seed", "-1"], "seed", "-1", "from 0"),
    "duration": (["umts-384", "--duration", "5"], "--duration", "missing unit", "60 ms"),
    "zero": (["umts-384", "--duration", "0s"], "--duration", "'0s'", "more than zero"),
    "lateness": (["umts-384", "--max-lateness", "x"], "--max-lateness", "not a duration", "60 ms"),
    "sysctl": (["umts-384", "--sysctl", "net.ipv4.tcp_sack"], "--sysctl", "'net.ipv4.tcp_sack'", "=0"),
    "sysctl of the host": (["umts-384", "--sysctl", "vm.swappiness=1"], "--sysctl", "vm.swappiness", "net."),
    "files nowhere": (["umts-384", "--probes", "dropped"], "--probes", "without a folder", "--out DIR"),
    "page nowhere": (["umts-384", "--no-page"], "--no-page", "without a folder", "--out DIR"),
    "PDUs nowhere": (["umts-384", "--capture-rlc"], "--capture-rlc", "without a folder", "--out DIR"),
    "PDUs in no capture": (
        ["umts-384", "--out", "OUT", "--no-capture", "--capture-rlc"],
        "--capture-rlc",
        "no capture",
        "--no-capture",
    ),
    "Iu nowhere": (["umts-384", "--capture-iu"], "--capture-iu", "without a folder", "--out DIR"),
    "Iu in no capture": (
        ["umts-network", "--out", "OUT", "--no-capture", "--capture-iu"],
        "--capture-iu",
        "no capture",
        "--no-capture",
    ),
    "snaplen": (["umts-384", "--out", "OUT", "--snaplen", "20"], "--snaplen", "20", "64"),
    "probe": (["umts-384", "--out", "OUT", "--probes", "x"], "probes", "'x'", "rtt_sample"),
    "no dashes": (["umts-384", "ping", "host"], "command line", "'ping host'", "-- ping host"),
    "view of a shell": (["umts-384", "--view"], "--view", "shell", "COMMAND"),
    "view of nowhere": (["umts-384", "--view", "--", "true"], "--view", "no terminal", "output"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_option(case, tmp_path, monkeypatch, airpath_command):
    def refuse():
        raise AssertionError("started")

    monkeypatch.setattr(driver, "driver_command", refuse)
    refused = ScenarioError("", "no rate", "100 Mbit/s")
    monkeypatch.setattr(_core, "constant_trace", lambda _: throw(refused), raising=False)
    (tmp_path / "trace").write_text("1\n")
    places = {"TRACE": tmp_path / "trace", "OUT": tmp_path / "out"}
    arguments, key, cause, remedy = BAD[case]
    outcome = airpath_command("live", *(places.get(word, word) for word in arguments))
    check_error(outcome, key, cause, remedy)
    assert not (tmp_path / "out").exists()


def test_a_rate_that_cannot_be_is_explained_by_the_core(tmp_path, monkeypatch, airpath_command):
    refused = ScenarioError("", 'unknown unit "Mbps" in "100 Mbps"', "did you mean Mbit/s?")
    monkeypatch.setattr(_core, "constant_trace", lambda _: throw(refused), raising=False)
    outcome = airpath_command("live", "--downlink-trace", "100 Mbps", "--uplink-trace", "x")
    check_error(outcome, "--downlink-trace", "unknown unit", "Mbit/s?")


PASSIVE = {"end": "server", "connect": None, "connections": 1, "pause_s": 0.0}
ACTIVE = {"end": "ue", "connect": 80, "connections": 3, "pause_s": 1.5}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--sender", "airpath"), PASSIVE),
        (("--receiver", "airpath", "--connect", "80", "--connections", "3", "--pause", "1500ms"), ACTIVE),
        (("--sender", "kernel"), None),
    ],
)
def test_an_end_of_ours(options, told, configured):
    assert configured("umts-384", *options, "--", "true")["endpoint"] == told


def test_a_folder_with_a_run_is_left_alone(tmp_path, monkeypatch, airpath_command):
    (tmp_path / "results.json").write_text("{}")
    monkeypatch.setattr(driver, "driver_command", lambda: ["/does/not/exist"])
    outcome = airpath_command("live", "umts-384", "--out", tmp_path, "--", "true")
    check_error(outcome, "out", "holds a run already", "--force")


def test_without_a_driver_live_says_what_it_needs(monkeypatch, airpath_command):
    monkeypatch.delattr(_core, "live_driver", raising=False)
    monkeypatch.setattr(sys, "platform", "darwin")
    check_error(airpath_command("live", "umts-384"), "live", "darwin", "needs Linux")


def test_a_driver_that_cannot_be_started(monkeypatch, airpath_command):
    monkeypatch.setattr(driver, "driver_command", lambda: ["/does/not/exist"])
    check_error(airpath_command("live", "umts-384", "--", "true"), "driver", "No such file", "Python")


def throw(error: Exception) -> str:
    raise error


SERIES = "time_s,rate_kbps\n0,1000\n1,2000\n3,500\n"


def test_a_link_may_be_a_series_of_time_and_rate_which_begins_again(tmp_path):
    file = tmp_path / "rate.csv"
    file.write_text(SERIES)
    link = Link(Direction(str(file)), Direction("1 Mbit/s"), offset="random")
    variable = tomllib.loads(link.text())["radio"]["variable"]
    # The last line is as long as the one before: from 3 to 5 s.
    series = {"file": str(file), "offset": "random", "repeat": "5 s"}
    assert variable["downlink"]["channel"] == {"series": series}
    assert "offset" not in variable["uplink"]["channel"]["trace_file"]
    once = tomllib.loads(Link(Direction(str(file)), Direction("1 Mbit/s"), once=True).text())
    assert once["radio"]["variable"]["downlink"]["channel"] == {"series": {"file": str(file)}}


def test_a_series_is_known_by_its_columns_whatever_its_name(tmp_path):
    file = tmp_path / "recorded"
    file.write_text(SERIES)
    link = Link(Direction(str(file)), Direction(str(file)), offset="2 s")
    scenario = Scenario("trace", link.text())
    (channel,) = tomllib.loads(scenario.text)["radio"]["variable"]["downlink"]["channel"].items()
    assert (channel[0], channel[1]["offset"], channel[1]["rows"]) == ("series", "2 s", SERIES)


def test_both_directions_of_a_trace_begin_at_the_offset(tmp_path):
    trace = tmp_path / "trace"
    trace.write_text("5\n9\n")
    link = Link(Direction(str(trace)), Direction(str(trace)), offset="4 ms")
    variable = tomllib.loads(link.text())["radio"]["variable"]
    assert [variable[way]["channel"]["trace_file"]["offset"] for way in ("downlink", "uplink")] == [
        "4 ms"
    ] * 2


@pytest.mark.parametrize(
    ("content", "options", "key", "cause", "remedy"),
    [
        (SERIES.replace("2000", "fast"), (), "--downlink-trace", "line 3: 'fast'", "a rate in kbit/s"),
        ("a,b\n1,2\n", (), "--downlink-trace", "unknown column 'a'", "time_s and rate_kbps"),
        (SERIES, ("--trace-offset", "5s"), "--trace-offset", "ends at 5 s, before 5 s", "earlier time"),
        (SERIES, ("--trace-offset", "soon"), "--trace-offset", "'soon' is no offset", "random"),
        (SERIES, ("--trace-offset", "random", "--once"), "--trace-offset", "no second round", "write a time"),
        ("9\n", ("--trace-offset", "9ms"), "--trace-offset", "ends at 9 ms", "earlier time"),
    ],
)
def test_what_is_wrong_with_a_recording_names_the_option(
    content, options, key, cause, remedy, airpath_command, tmp_path
):
    file = tmp_path / "recording"
    file.write_text(content)
    link = ("--downlink-trace", file, "--uplink-trace", "1 Mbit/s")
    check_error(airpath_command("live", *link, *options), key, cause, remedy)


def test_a_rate_has_no_offset(airpath_command):
    link = ("--downlink-trace", "2 Mbit/s", "--uplink-trace", "1 Mbit/s", "--trace-offset", "1s")
    check_error(airpath_command("live", *link), "--trace-offset", "the same everywhere", "give a trace")
