"""Connections over several paths in reports, plots and the studio: each path is a flow of its own."""

from __future__ import annotations

import io
import tomllib

import pytest
from rich.console import Console

import airpath
from airpath.report.run import run_report
from airpath.report.terminal import show
from airpath.runs.flows import by_path, flow_names, path_names
from airpath.runs.metrics import utilisation
from airpath.studio import facts

SCENARIO = """
duration = "2 s"
tcp.profile = "linux"
ue = [{ name = "phone", attach = ["one", "two"] }, { name = "other", attach = ["one"] }]
flow = [
    { ue = "other", app.bulk = {}, tcp = { profile = "linux", cc = "reno" } },
    { ue = "phone", over = ["one", "two"], app.bulk = {} },
]
[[way]]
name = "one"
wired = { rate = "10 Mbit/s", delay = "20 ms", queue.droptail.packets = 60 }
[[way]]
name = "two"
wired = { rate = "5 Mbit/s", delay = "30 ms", queue.droptail.packets = 60 }
"""


@pytest.fixture(scope="module")
def result():
    return airpath.run(airpath.Scenario("two", SCENARIO), seed=1)


def test_each_path_is_a_flow_with_its_own_counters(result):
    summary, scenario = result.summary, tomllib.loads(result.scenario.text)
    paths = by_path(summary)["flows"]
    assert [(flow["ue"], flow["flow"]) for flow in paths] == [(0, 0), (1, 0), (2, 0)]
    connection = summary["flows"][0]
    subflows = connection["multipath"]["subflows"]
    assert [path["segments_sent"] for path in paths[:2]] == [one["segments_sent"] for one in subflows]
    assert sum(path["goodput_bps"] for path in paths[:2]) == pytest.approx(connection["goodput_bps"])
    assert path_names(summary, scenario) == ["phone over one: cubic", "phone over two: cubic", "other: reno"]
    # The connection keeps its place and its name where it is meant as a whole.
    assert len(flow_names(summary, scenario)) == len(summary["flows"]) == 2
    sent = result.trace["segment_sent"]
    events = set(zip(sent["ue"].tolist(), sent["flow"].tolist(), strict=True))
    assert events == {(flow["ue"], flow["flow"]) for flow in paths}


def test_a_run_without_such_connections_is_left_as_it_is():
    summary = airpath.run("umts-384", seed=1, probes=()).summary
    assert by_path(summary) is summary


def test_the_report_has_a_table_of_the_paths(result):
    printed = io.StringIO()
    show(run_report(result.summary, "two"), Console(file=printed, width=200))
    head, *rows = printed.getvalue().partition("path ")[2].splitlines()
    assert "share" not in head and "kbit/s" in head
    shares = [float(row.split()[5]) for row in rows[:2]]
    assert [row.split()[2] for row in rows[:2]] == ["one.0", "two.0"]
    assert sum(shares) == pytest.approx(100, abs=0.2)


def test_the_studio_shows_both_paths(result):
    told = facts.simulated(result.scenario, None, None, result.summary, {}, 0.1)
    assert told["names"][:2] == ["phone over one: cubic", "phone over two: cubic"]
    assert told["chosen"] == [0, 1, 2]
    assert [flow["interface"] for flow in told["summary"]["flows"][:2]] == [
        "phone over one",
        "phone over two",
    ]


def test_the_report_has_both_legs_of_a_split_bearer():
    printed = io.StringIO()
    summary = airpath.run(airpath.load("endc-drive", [("duration", "3 s")]), seed=1, probes=()).summary
    show(run_report(summary, "endc-drive"), Console(file=printed, width=200))
    rows = printed.getvalue().partition("car downlink")[2].splitlines()[2:4]
    assert [row.split()[0] for row in rows] == ["nr", "lte"]
    (bearer,) = next(one for one in summary["elements"] if one["element"] == "split_bearers")["bearers"]
    assert [int(row.split()[1]) for row in rows] == [leg["pdus"] for leg in bearer["downlink"]["legs"]]


def test_the_bearer_of_a_split_flow_is_both_legs():
    printed = io.StringIO()
    summary = airpath.run(airpath.load("endc-drive", [("duration", "3 s")]), seed=1, probes=()).summary
    show(run_report(summary, "endc-drive"), Console(file=printed, width=200))
    lines = [line.partition(":")[0] for line in printed.getvalue().splitlines() if "SDUs delivered" in line]
    assert lines == ["car downlink bearer in nr", "car downlink bearer in lte"]
    assert utilisation(summary, summary["flows"][0]) is None
