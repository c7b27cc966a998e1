"""`airpath compare` without namespaces: options, both configurations, metrics of captures, verdicts."""

from __future__ import annotations

import dataclasses
import errno
import json
import math
import signal
import socket
import subprocess
import sys
import threading
import tomllib

import pytest
from conftest import check_error
from rich.console import Console

import airpath
from airpath import _core
from airpath.cli import compare as command
from airpath.errors import LiveError, ScenarioError
from airpath.experiments.versus_kernel import campaign, multipath
from airpath.experiments.versus_kernel.campaign import MOST_ATTEMPTS, Outcomes, Variant, crossed, run_all
from airpath.experiments.versus_kernel.carried import Transfer, transfers
from airpath.experiments.versus_kernel.judgement import effects, judge, judged, welch
from airpath.experiments.versus_kernel.measured import METRICS, Figures, figures
from airpath.experiments.versus_kernel.mechanism import mechanisms, with_mechanism
from airpath.experiments.versus_kernel.runs import (
    LiveOutcome,
    Processes,
    configuration,
    kernel_timeouts,
    simulate_once,
)
from airpath.experiments.versus_kernel.tcp import as_linux, as_near, as_written, near_tcp, unlike
from airpath.live import driver
from airpath.live.transfer import receive, send
from airpath.report.terminal import show
from airpath.scenario import Scenario
from airpath.stats.estimate import estimate
from airpath_studies.versus_kernel import cells, jobs, published_report, row_of

GOODPUT, MEDIAN, P95, AGAIN, TIMEOUTS = METRICS
SHORT = """
duration = "20 s"
[wired]
delay = "20 ms"
[radio.dch.downlink]
rate = "384 kbit/s"
queue.droptail.packets = 20
[[flow]]
app.file.size = "100 kB"
"""


def scenario(text, name="own"):
    return Scenario(name, text)


# Options and errors.


@pytest.mark.parametrize(
    ("arguments", "key", "cause", "remedy"),
    [
        ((), "SCENARIO", "nothing says what to run", "--published"),
        (("umts-384", "--runs", 0), "--runs", "0 is too few", "at least 1"),
        (("umts-384", "--workers", 0), "--workers", "0 is too few", "at least 1"),
        (("umts-384", "--cc", "vegas"), "--cc", "'vegas' is not in both simulator and kernel", "reno"),
        (("umts-384", "--cc", "reno,,"), "--cc", "is no list of names", "commas"),
        (("umts-384", "--cc", "reno,reno"), "--cc", "is no list of names", "once"),
        (("umts-384", "--tcp", "paper"), "--tcp", "no way 'paper'", "linux, scenario, near"),
        (("umts-384", "--mechanism", "magic"), "--mechanism", "no 'magic'", "ack_regulator"),
        (("umts-384", "--mechanism", "split"), "--mechanism", "no 'split'", "snoop"),
        (("umts-snoop", "--mechanism", "snoop"), "--mechanism", "has snoop already", "without it"),
        (("alcaraz-384-pdpc", "--mechanism", "pdpc"), "--mechanism", "has pdpc already", "without it"),
        (
            ("umts-384", "--mechanism", "tap", "--set", "mechanism.snoop.x=1"),
            "mechanism.snoop.x",
            "of no mechanism that is compared",
            "--mechanism",
        ),
        (("hdr-4",), "radio", "the cell has 4", "set ues to 1"),
        (("umts-384", "--seed", -1), "seed", "-1 is out of range", "whole number"),
        (("--published", "umts-384"), "SCENARIO", "the papers have their own", "leave it out"),
        (("--published", "--cc", "reno"), "--cc", "the papers have their own", "leave it out"),
        (("--published", "--tcp", "near"), "--tcp", "the papers have their own", "leave it out"),
    ],
)
def test_a_mistake_is_answered_before_anything_runs(arguments, key, cause, remedy, airpath_command):
    check_error(airpath_command("compare", *arguments), key, cause, remedy)


@pytest.mark.parametrize(
    ("text", "key", "cause"),
    [
        ("[[flow]]\napp.web = {}", "flow[0].app.web", "is no transfer"),
        ("[[flow]]\napp.bulk = {}\n[[flow]]\napp.ping = {}", "flow[1].app.ping", "is no transfer"),
        ("[[flow]]\n[flow.tcp]\nmss = '536 B'", "flow[0].tcp", "one TCP for all flows"),
        ("[[flow]]\n[[middlebox]]\nsplit.delay = '5 ms'", "middlebox[0].split", "no live one"),
        ("[radio.dch]\nues = 2\n[[flow]]", "radio", "the cell has 2"),
    ],
)
def test_what_cannot_be_live_is_refused_by_its_key(text, key, cause):
    with pytest.raises(ScenarioError) as refused:
        transfers(scenario(text))
    assert refused.value.args[0] == key
    assert cause in refused.value.args[1]


WAYS_OF_A_PHONE = """
ue = [{ name = "phone", attach = ["one", "two"] }]
way = [
    { name = "one", wired.rate = "10 Mbit/s" },
    { name = "two", wired.rate = "5 Mbit/s" },
]
"""
OVER_BOTH = 'ue = "phone", over = ["one", "two"]'


@pytest.mark.parametrize(
    ("flow", "key", "cause", "remedy"),
    [
        ('ue = "phone", app.file.size = "1 MB"', "flow[0].over", "over all of them", '["one", "two"]'),
        (
            'ue = "phone", over = ["two", "one"], app.file.size = "1 MB"',
            "flow[0].over",
            "in the order of attach",
            '["one", "two"]',
        ),
        (
            OVER_BOTH + ', multipath.backup = ["two"], app.file.size = "1 MB"',
            "flow[0].multipath.backup",
            "no backup paths",
            "leave it out",
        ),
        (OVER_BOTH + ", app.bulk = {}", "flow[0].app", "compare carries files", "app.file"),
    ],
)
def test_what_the_kernel_does_not_carry_over_several_paths_is_refused(flow, key, cause, remedy):
    with pytest.raises(ScenarioError) as refused:
        transfers(scenario(WAYS_OF_A_PHONE + f"flow = [{{ {flow} }}]\n"))
    assert refused.value.args[0] == key
    assert cause in refused.value.args[1] and remedy in refused.value.args[2]


def test_several_ues_are_refused():
    text = WAYS_OF_A_PHONE.replace("ue = [", 'ue = [{ name = "other", attach = ["one"] }, ')
    with pytest.raises(ScenarioError, match="one UE"):
        transfers(scenario(text + f'flow = [{{ {OVER_BOTH}, app.file.size = "1 MB" }}]\n'))


def test_over_several_paths_the_simulated_scheduler_is_linuxs():
    keys = 'multipath = { scheduler.min_rtt = {}, opportunistic = true }, app.file.size = "1 MB"'
    base = scenario(WAYS_OF_A_PHONE + f"flow = [{{ {OVER_BOTH}, {keys} }}]\n")
    assert transfers(base) == [Transfer("downlink", 1_000_000, 0.0, ("one", "two"))]
    simulated, _ = as_linux(base, "cubic")
    (flow,) = tomllib.loads(simulated.text)["flow"]
    assert flow["multipath"]["scheduler"] == {"linux": {}} and not flow["multipath"]["opportunistic"]
    for way in ("scenario", "near"):
        with pytest.raises(ScenarioError, match="kernel's defaults"):
            command.make_variants(base, ["cubic"], [], way, None)
    with pytest.raises(ScenarioError, match="over one cell"):
        command.make_variants(base, ["cubic"], ["pdpc"], "linux", None)


def test_a_kernel_without_multipath_tcp_is_told_before_anything_runs(monkeypatch, tmp_path, airpath_command):
    def none(*_arguments):
        raise OSError(errno.EPROTONOSUPPORT, "Protocol not supported")

    text = WAYS_OF_A_PHONE + f'flow = [{{ {OVER_BOTH}, app.file.size = "1 MB" }}]\n'
    (tmp_path / "both.toml").write_text(text)
    monkeypatch.setattr(multipath.socket, "socket", none)
    outcome = airpath_command("compare", tmp_path / "both.toml", "--cc", "cubic")
    check_error(outcome, "live", "no Multipath TCP: Protocol not supported", "CONFIG_MPTCP")


def test_figures_of_a_simulated_run_over_several_paths_are_the_runs_own(tmp_path):
    base = scenario(WAYS_OF_A_PHONE + f'flow = [{{ {OVER_BOTH}, app.file.size = "1 MB" }}]\n')
    (found,) = simulate_once(base, 1, tmp_path)
    (flow,) = airpath.run(base, 1, probes=()).flows
    assert found.transfer_s == flow["received_s"]
    assert found.goodput_bps == pytest.approx(8e6 / flow["received_s"])
    assert found.shares == {
        name: pytest.approx(path["share"])
        for name, path in zip(("one", "two"), flow["multipath"]["subflows"], strict=True)
    }
    brief = replace_duration(base, "100 ms")
    with pytest.raises(ScenarioError, match="did not arrive whole"):
        simulate_once(brief, 1, tmp_path)


def replace_duration(base, duration):
    """The scenario with another duration."""
    return dataclasses.replace(base, overrides=(*base.overrides, ("duration", duration)))


def test_ipv6_is_refused_in_both_ways():
    over_ipv6 = scenario(SHORT + "[tcp]\nip = 'ipv6'\n")
    for way in (as_linux, as_written, as_near):
        with pytest.raises(ScenarioError, match="IPv4"):
            way(over_ipv6, "reno")


def test_a_comparison_is_not_overwritten_unasked(airpath_command, tmp_path):
    (tmp_path / "comparison.json").write_text("{}")
    outcome = airpath_command("compare", "umts-384", "--out", tmp_path)
    check_error(outcome, "out", "comparison.json' exists already", "--force")


# Both configurations.


def test_transfers_are_the_flows_of_the_scenario():
    text = SHORT + "[[flow]]\ndirection = 'uplink'\nstart = '1500 ms'\napp.bulk = {}\n"
    assert transfers(scenario(text)) == [
        Transfer("downlink", 100_000, 0.0),
        Transfer("uplink", None, 1.5),
    ]


def test_as_linux_changes_tcp_alone_and_keeps_the_segment_size():
    base = scenario(SHORT + "[tcp]\nmss = '1000 B'\nsack = false\ninitial_window = 1\nmax_window = 9\n")
    simulated, kernel = as_linux(base, "reno")
    before, after = tomllib.loads(base.text), tomllib.loads(simulated.text)
    assert {key: value for key, value in before.items() if key != "tcp"} == {
        key: value for key, value in after.items() if key != "tcp"
    }
    assert after["tcp"]["sack"] and after["tcp"]["timestamps"] and after["tcp"]["initial_window"] == 10
    assert after["tcp"]["mss"] == before["tcp"]["mss"]
    assert "max_window" not in after["tcp"]
    assert (kernel.mss, kernel.initial_window, kernel.window_clamp, kernel.unlike) == (1000, None, None, [])
    assert kernel.sysctls["net.ipv4.tcp_sack"] == "1"


def test_as_written_brings_the_kernel_near_the_papers_tcp():
    simulated, kernel = as_written(airpath.load("lundsten-384-576"), "reno")
    assert simulated.text == airpath.load("lundsten-384-576").text
    assert (kernel.mss, kernel.window_clamp, kernel.initial_window) == (536, 25 * 536, 1)
    assert kernel.quickack and kernel.rto_min_ms == 1000
    off = (
        "tcp_sack",
        "tcp_timestamps",
        "tcp_window_scaling",
        "tcp_frto",
        "tcp_recovery",
        "tcp_early_retrans",
    )
    assert {kernel.sysctls[f"net.ipv4.{name}"] for name in off} == {"0"}
    keys = {line.split(":")[0] for line in kernel.unlike}
    assert keys == {
        *("handshake", "window_arithmetic", "recovery.reno", "prr", "rtt_sampling"),
        *("rto", "cc.reno", "initial_ssthresh"),
    }
    assert kernel.sysctls["net.ipv4.tcp_max_reordering"] == "3"


@pytest.mark.parametrize("name", ["lundsten-384-576", "chan-variable-delay", "alcaraz-384", "umts-snoop"])
def test_as_near_nothing_is_left_in_which_the_kernel_does_not_follow(name):
    written, kernel = as_written(airpath.load(name), "reno")
    near, same_kernel = as_near(airpath.load(name), "reno")
    assert dataclasses.replace(same_kernel, unlike=kernel.unlike) == kernel
    left = {line.split(":")[0] for line in as_written(near, "reno")[1].unlike}
    # A threshold that is never reached is still set.
    assert left <= {"initial_ssthresh", "ack_every"}
    assert tomllib.loads(near.text)["radio"] == tomllib.loads(written.text)["radio"]


def test_what_the_kernel_can_be_brought_to_is_not_listed_as_unlike():
    near = (
        "[tcp]\nsack = true\nrecovery.sack = {}\nprr = true\nundo.frto = {}\nack_every = 1\n"
        'cc.reno.variant = "linux"\nrto.timer = "linux"\n'
    )
    _, kernel = as_written(scenario(SHORT + near), "reno")
    assert kernel.unlike == []
    assert kernel.sysctls["net.ipv4.tcp_sack"] == "1" and kernel.sysctls["net.ipv4.tcp_frto"] == "2"
    assert kernel.quickack


def test_a_box_comes_behind_the_others_with_its_own_settings():
    base = airpath.load("umts-snoop")
    with_box = with_mechanism(base, "ack_pacing", [("rate", "32 kbit/s")])
    before, after = (tomllib.loads(one.text)["middlebox"] for one in (base, with_box))
    assert after[:-1] == before
    assert after[-1]["ack_pacing"]["rate"] == "32 kbit/s"


def test_a_discipline_keeps_the_limits_of_the_queue_whose_place_it_takes():
    with_queue = with_mechanism(airpath.load("umts-384"), "pdpc", [("max_threshold", "20")])
    queue = tomllib.loads(with_queue.text)["radio"]["dch"]["downlink"]["queue"]
    assert queue["pdpc"]["packets"] == 30 and queue["pdpc"]["max_threshold"] == 20


def test_mechanisms_are_all_boxes_and_queues_but_those_that_cannot_be_added():
    registered = json.loads(_core.registry())
    known = {part["name"] for part in registered if part["folder"] in ("middlebox", "queue")}
    assert set(mechanisms()) == known - {"split", "droptail"}


def test_variants_are_each_congestion_control_alone_and_with_each_mechanism():
    changes = ["mechanism.pdpc.max_threshold=20", "radio.dch.downlink.rate=128 kbit/s"]
    made = command.make_variants(airpath.load("umts-384"), ["reno"], ["pdpc", "tap"], "linux", changes)
    assert [variant.name for variant in made] == ["reno", "reno-pdpc", "reno-tap"]
    for variant in made:
        for world in (variant.live, variant.simulated):
            says = tomllib.loads(world.text)
            link = says["radio"]["dch"]["downlink"]
            assert link["rate"] == "128 kbit/s"
            assert list(link["queue"]) == ["pdpc" if variant.mechanism == "pdpc" else "droptail"]
            assert link["queue"].get("pdpc", {"max_threshold": 20})["max_threshold"] == 20
            boxes = [name for box in says["middlebox"] for name in box]
            assert boxes == (["tap"] if variant.mechanism == "tap" else [])


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        (SHORT, ['middlebox=[{ snoop = { min_timeout = "300 ms" } }]']),
        ('middlebox = [{ snoop = { min_timeout = "300 ms" } }]\n' + SHORT, []),
        (SHORT + '[[middlebox]]\nsnoop.min_timeout = "300 ms"\n', []),
        (SHORT + "[[middlebox]]\ntap = {}\n", ['middlebox=[{ snoop = { min_timeout = "300 ms" } }]']),
    ],
)
def test_a_box_is_added_however_the_others_are_written(text, changes):
    own = "mechanism.ack_pacing.rate=32 kbit/s"
    made = command.make_variants(scenario(text), ["reno"], ["ack_pacing"], "linux", [*changes, own])
    for variant in made:
        for world in (variant.live, variant.simulated):
            boxes = tomllib.loads(world.text)["middlebox"]
            names = [name for box in boxes for name in box]
            assert names == ["snoop", *([variant.mechanism] if variant.mechanism else [])]
            assert boxes[0]["snoop"]["min_timeout"] == "300 ms"
            assert boxes[-1].get("ack_pacing", {"rate": "32 kbit/s"})["rate"] == "32 kbit/s"


def test_the_driver_is_told_what_airpath_live_tells_it(monkeypatch, tmp_path, airpath_command):
    """A key that the driver learns, or loses, must not be forgotten here."""
    told = {}

    def caught(_scenario, configuration, *_others, **_more):
        told.update(configuration)
        return 0

    monkeypatch.setattr("airpath.cli.live_run.carry_out", caught)
    monkeypatch.setattr(driver, "driver_command", lambda: ["none"])
    assert airpath_command("live", "umts-384", "--", "true").code == 0
    base = airpath.load("umts-384")
    _, kernel = as_linux(base, "reno")
    ours = configuration(base, kernel, 3, transfers(base), tmp_path)
    assert set(ours) <= set(told)
    assert ours["scenario"] == base.text and ours["seed"] == 3 and ours["duration_s"] == 180
    settings = json.loads(ours["command"][-1])
    assert settings["transfers"] == [{"direction": "downlink", "bytes": 2_000_000, "start_s": 0.0}]
    assert ours["command"][-2] == "fetch" and " serve " in ours["server"]


def test_published_cells_are_the_papers_scenarios():
    chosen = cells()
    assert len({cell.published.id for cell in chosen}) == len(chosen) > 10
    for cell in chosen:
        assert not cell.published.background
        paper, kernel = cell.runs.paper, cell.runs.kernel
        assert (paper.tcp, paper.simulated) == (None, kernel.live)
        assert transfers(kernel.live)[0].direction == "downlink"
        before, after = (tomllib.loads(one.text) for one in (paper.simulated, kernel.simulated))
        assert before.pop("tcp") != after.pop("tcp")
        assert before == after
    bundled = tomllib.loads(airpath.load("lundsten-384-576").text)
    (small,) = [cell for cell in chosen if cell.published.id == "lundsten-t10-384-576-bler10"]
    says = tomllib.loads(small.runs.paper.simulated.text)
    assert (says["flow"], says["tcp"]) == (bundled["flow"], bundled["tcp"])


def test_published_cells_run_each_scenario_once_and_short_ones_more_often():
    planned = jobs(cells(), 3, 5)
    names = [(variant.name, seed) for variant, seed in planned]
    assert len(names) == len(set(names))
    seeds = {}
    for name, seed in names:
        seeds.setdefault(name, []).append(seed)
    assert seeds["chan-reno"] == seeds["chan-reno-paper"] == [5, 6, 7]
    assert sorted(seeds["lundsten-384-576-bler10"]) == list(range(5, 17))


def test_an_increase_of_time_is_that_of_the_twin_with_the_same_seed(capsys):
    (cell,) = [cell for cell in cells() if cell.published.id == "lundsten-t3-384-576"]
    outcomes = Outcomes()
    for seed, factor in ((1, 2.0), (2, 4.0)):
        for trio, time in ((cell.runs, 30.0 * factor), (cell.twin, 30.0)):
            taken = dataclasses.replace(some(1.0)[0], transfer_s=time)
            outcomes.simulated[trio.paper.name, seed] = [taken]
            outcomes.simulated[trio.kernel.name, seed] = [taken]
            outcomes.live[trio.kernel.name, seed] = [taken]
    row = row_of(cell, outcomes)
    assert row.paper.values == pytest.approx((100.0, 300.0))
    assert row.judgement.pair.b.mean == pytest.approx(200.0)
    outcomes.live[cell.runs.kernel.name, 1] = some(1.0)
    without = row_of(cell, outcomes)
    assert without.judgement is None
    show(published_report([row, without], outcomes), Console(width=300))
    out = capsys.readouterr().out
    assert out.count(cell.published.id) >= 2 and out.count("not measured in every run") == 1
    assert "the kernel is not the papers' TCP in" in out


@pytest.mark.parametrize(
    ("directions", "expected"),
    [(["downlink"], [4]), (["uplink", "downlink"], [1, 4]), (["downlink", "downlink"], [2, 2])],
)
def test_timeouts_are_the_kernels_own_count(directions, expected):
    results = {
        "flows": [
            {"protocol": "icmp", "server_address": "10.77.0.1", "timeouts": None},
            {"protocol": "tcp", "server_address": "10.77.0.1:8000", "timeouts": 2},
            {"protocol": "tcp", "server_address": "10.77.0.1:8001", "timeouts": 2},
        ],
        "live": {"kernel": {"server": {"TCPTimeouts": 4}, "ue": {"TCPTimeouts": 1}}},
    }
    carried = [Transfer(direction, None, 0.0) for direction in directions]
    assert kernel_timeouts(results, carried) == expected


def test_timeouts_that_the_kernel_does_not_tell_are_not_known():
    """Timeouts with an earlier kernel, and of a connection that was never seen."""
    results = {
        "flows": [{"protocol": "tcp", "server_address": "10.77.0.1:8000", "timeouts": None}],
        "live": {"kernel": {"server": {}, "ue": {}}},
    }
    carried = [Transfer("downlink", None, 0.0), Transfer("downlink", None, 1.0), Transfer("uplink", 9, 0.0)]
    assert kernel_timeouts(results, carried) == [None, None, 0]


# What is read off captures.


@pytest.mark.parametrize("name", ["umts-384", "alcaraz-384", "lundsten-384-576"])
def test_figures_of_a_simulated_run_are_the_runs_own_counters(name, tmp_path):
    result = airpath.run(name, 4, probes=("segment_sent",), capture=True)
    file = tmp_path / "capture.pcapng"
    file.write_bytes(result.capture)
    (flow,) = result.flows
    (found,) = figures(file, transfers(airpath.load(name)), [flow["timeouts"]])
    assert found.retransmissions == flow["retransmissions"]["total"]
    assert found.timeouts == flow["timeouts"] == found.retransmissions_by_cause["timeout"]
    assert found.bytes_acked == flow["bytes_acked"]
    assert found.segments == flow["segments_sent"]
    assert found.goodput_bps == pytest.approx(flow["goodput_bps"], rel=0.02)
    if flow["transfer_s"] is None:
        assert found.transfer_s is None
    else:
        handshake_s = result.trace["segment_sent"]["time_s"][0]
        assert found.transfer_s == pytest.approx(flow["transfer_s"] - handshake_s)


def test_figures_of_several_flows_are_told_apart(tmp_path):
    text = SHORT + (
        "[[flow]]\ndirection = 'uplink'\nstart = '3 s'\napp.file.size = '20 kB'\n"
        "[[flow]]\nstart = '4 s'\napp.bulk = {}\n"
    )
    several = scenario(text)
    result = airpath.run(several, probes=(), capture=True)
    file = tmp_path / "capture.pcapng"
    file.write_bytes(result.capture)
    found = figures(file, transfers(several), [0, 0, 7])
    assert [one.bytes_acked for one in found] == [flow["bytes_acked"] for flow in result.flows]
    assert [one.transfer_s is None for one in found] == [False, False, True]
    assert [one.timeouts for one in found] == [0, 0, 7]


def test_a_transfer_that_carries_nothing_is_an_error(tmp_path):
    brief = scenario(SHORT.replace('"20 s"', '"50 ms"'))
    file = tmp_path / "capture.pcapng"
    file.write_bytes(airpath.run(brief, probes=(), capture=True).capture)
    with pytest.raises(ScenarioError, match="carried nothing"):
        figures(file, transfers(brief), [0])


def test_where_a_scenario_has_what_linux_has_the_kernel_keeps_it():
    says = tomllib.loads(airpath.load("umts-384").text)["tcp"]
    says |= {
        "sack": True,
        "recovery": {"rack": {"tail_loss_probe": True}},
        "prr": True,
        "rto": {**says["rto"], "timer": "linux"},
        "cc": {"reno": {"variant": "linux"}},
        "undo": {"linux": {}},
        "delayed_ack": "linux",
        "receive_buffer_max": "3 MB",
    }
    assert unlike(says, "reno") == []
    kernel = near_tcp(says, "reno", [])
    expected = {"tcp_recovery": "1", "tcp_early_retrans": "3", "tcp_frto": "2", "tcp_moderate_rcvbuf": "1"}
    assert {name: kernel.sysctls[f"net.ipv4.{name}"] for name in expected} == expected
    assert kernel.window_clamp is None and "net.ipv4.tcp_max_reordering" not in kernel.sysctls


# Verdicts.


def test_values_within_the_tolerance_agree_and_the_interval_decides():
    assert judged(GOODPUT, [100, 101, 102], [101, 100, 101]).verdict == "agree"
    assert judged(GOODPUT, [110, 111, 112], [101, 100, 101]).words == "differ by more than 5 %"
    assert judged(P95, [106, 107, 106], [100, 101, 100]).words == "agree within 10 %"
    unsure = judged(GOODPUT, [90, 100, 115], [100, 101, 100])
    assert (unsure.verdict, unsure.words) == ("unsure", "within 5 % so far; more runs would tell")
    chance = judged(GOODPUT, [90, 110, 130], [100, 101, 100])
    assert chance.verdict == "unsure" and "may be chance" in chance.words
    beyond = judged(GOODPUT, [105.5, 107.0, 104.5], [100, 100, 100])
    assert (beyond.verdict, beyond.words) == ("differ", "differ, by about +5.7 %")


def test_one_run_tells_no_interval():
    assert "no interval" in judged(GOODPUT, [100], [101]).words
    assert math.isnan(judged(AGAIN, [3], [4]).welch[0])


def test_counts_have_no_tolerance():
    assert judged(TIMEOUTS, [0, 0, 0], [0, 0, 0]).verdict == "no_difference_seen"
    assert judged(AGAIN, [3, 5, 4], [4, 3, 5]).verdict == "no_difference_seen"
    found = judged(AGAIN, [13, 15, 14], [4, 5, 4])
    assert (found.verdict, found.words) == ("differ", "differ: +9.7 a run")


@pytest.mark.slow
def test_the_interval_of_independent_runs_is_scipys():
    from scipy import stats  # A second for each process that collects tests.

    a, b = [3.0, 4.5, 5.0, 2.0], [1.0, 1.5, 0.5]
    expected = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    assert welch(estimate(a), estimate(b)) == pytest.approx((expected.low, expected.high))


def some(goodput, *, rtt=700.0, again=10, timeouts=0):
    return [
        Figures(
            goodput_bps=goodput,
            bytes_acked=1,
            rtt_mean_ms=rtt,
            rtt_median_ms=rtt,
            rtt_p95_ms=rtt,
            retransmissions=again,
            timeouts=timeouts,
            transfer_s=None,
            segments=1,
            spurious_retransmissions=0,
            retransmissions_by_cause={},
            initial_rtt_ms=None,
        )
    ]


def test_an_effect_is_the_ratio_in_either_world():
    outcomes = Outcomes()
    for seed, base in ((1, 100.0), (2, 110.0), (3, 90.0)):
        outcomes.simulated["reno", seed] = some(base)
        outcomes.simulated["reno-x", seed] = some(1.2 * base, rtt=350)
        outcomes.live["reno", seed] = some(base + 1)
        outcomes.live["reno-x", seed] = some(1.1 * (base + 1), rtt=350)
    found = {one.metric.name: one for one in effects(outcomes, "reno", "reno-x", 0)}
    assert found["goodput_bps"].simulated.mean == pytest.approx(1.2)
    assert found["goodput_bps"].live.mean == pytest.approx(1.1)
    assert found["goodput_bps"].words == "differ by more than 5 points"
    assert found["rtt_median_ms"].words == "agree within 5 points"
    # Ten a run have a ratio; none a run have none.
    assert "retransmissions" in found and "timeouts" not in found


def test_a_figure_that_a_run_does_not_have_is_left_out():
    outcomes = Outcomes()
    for seed in (1, 2):
        outcomes.simulated["reno", seed] = some(100.0, rtt=None)
        outcomes.live["reno", seed] = some(100.0)
    names = [one.metric.name for one in judge(outcomes, "reno", 0)]
    assert names == ["goodput_bps", "retransmissions", "timeouts"]


def test_a_count_that_is_not_known_is_left_out_and_has_a_dash(variant, capsys):
    outcomes = Outcomes()
    for seed in (1, 2):
        outcomes.simulated["reno", seed] = some(100.0)
        outcomes.live["reno", seed] = some(100.0, timeouts=None if seed == 1 else 3)
    command.write("own", [variant], [1, 2], outcomes, False, None, False)
    assert "timeouts" not in [one.metric.name for one in judge(outcomes, "reno", 0)]
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("timeouts")]
    assert line.split()[1:4] == ["-", "-", "-"]


# The runs.


@pytest.fixture
def variant():
    base = scenario(SHORT)
    simulated, kernel = as_linux(base, "reno")
    return Variant("reno", "reno", None, simulated, base, kernel)


class FakeLive:
    """Live runs that are not valid as often as is said for their seed."""

    def __init__(self, invalid):
        self.invalid, self.made, self.at_once, self.most = dict(invalid), [], 0, []
        self._lock = threading.Lock()

    def __call__(self, _scenario, _tcp, seed, _folder, _alive):
        with self._lock:
            self.made.append(seed)
            if self.invalid.get(seed, 0) > 0:
                self.invalid[seed] -= 1
                return LiveOutcome([], ["late"], {"p99": 9000.0})
        return LiveOutcome(some(100.0 + seed), [], {"p99": 100.0})


def test_live_runs_that_are_not_valid_are_repeated_told_and_never_used(variant, monkeypatch, tmp_path):
    fake = FakeLive({2: 1, 3: MOST_ATTEMPTS})
    monkeypatch.setattr(campaign, "run_live_once", fake)
    outcomes = run_all(crossed([variant], [1, 2, 3]), tmp_path, workers=2)
    assert sorted(fake.made) == [1, 2, 2, 3, 3, 3]
    assert outcomes.seeds("reno") == [1, 2]
    assert outcomes.live["reno", 2] == some(102.0)
    assert sorted((one.seed, one.attempt) for one in outcomes.repeated) == [(2, 1), (3, 1), (3, 2), (3, 3)]
    assert {tuple(one.because) for one in outcomes.repeated} == {("late",)}
    assert outcomes.lateness_p99_us == [100.0, 100.0]


def test_live_runs_go_side_by_side_no_more_than_workers_and_alone_in_the_end(variant, monkeypatch, tmp_path):
    seen, lock, now, attempt_of = [], threading.Lock(), [0], {}

    def live(_scenario, _tcp, seed, _folder, _alive):
        with lock:
            now[0] += 1
            attempt_of[seed] = attempt_of.get(seed, 0) + 1
            seen.append((attempt_of[seed], now[0]))
        threading.Event().wait(0.02)
        with lock:
            now[0] -= 1
        late = attempt_of[seed] < MOST_ATTEMPTS
        return LiveOutcome([] if late else some(1.0), ["late"] if late else [], {"p99": 1.0})

    monkeypatch.setattr(campaign, "run_live_once", live)
    run_all(crossed([variant], range(8)), tmp_path, workers=4)
    most = {attempt: max(count for one, count in seen if one == attempt) for attempt in (1, 2, 3)}
    assert most == {1: 4, 2: 2, 3: 1}


def test_the_first_failure_ends_everything(variant, monkeypatch, tmp_path):
    made = []

    def live(_scenario, _tcp, seed, _folder, alive):
        made.append(seed)
        if seed == 1:
            raise LiveError("TUN device", "is not there", "load it")
        threading.Event().wait(0.05)
        return LiveOutcome(some(1.0), [], {"p99": 1.0})

    monkeypatch.setattr(campaign, "run_live_once", live)
    with pytest.raises(LiveError, match="is not there"):
        run_all(crossed([variant], range(1, 50)), tmp_path, workers=2)
    assert len(made) < 10


def test_all_that_runs_is_told_to_end_and_has_ended_before_the_failure_is_told(
    variant, monkeypatch, tmp_path
):
    ended, told = [], threading.Event()
    monkeypatch.setattr(campaign.Processes, "end", lambda _self: told.set())

    def live(_scenario, _tcp, seed, _folder, _alive):
        if seed == 1:
            raise LiveError("TUN device", "is not there", "load it")
        assert told.wait(20)
        threading.Event().wait(0.05)
        ended.append(seed)
        return LiveOutcome(some(1.0), [], {"p99": 1.0})

    monkeypatch.setattr(campaign, "run_live_once", live)
    with pytest.raises(LiveError, match="is not there"):
        run_all(crossed([variant], [1, 2, 3]), tmp_path, workers=3)
    assert ended and len(ended) == len(set(ended))
    before = list(ended)
    threading.Event().wait(0.2)
    assert ended == before


def test_ctrl_c_ends_the_live_runs(variant, monkeypatch, tmp_path):
    told = threading.Event()
    monkeypatch.setattr(campaign.Processes, "end", lambda _self: told.set())
    monkeypatch.setattr(campaign, "run_live_once", FakeLive({}))

    def interrupt(_share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all(crossed([variant], range(5)), tmp_path, workers=2, progress=interrupt)
    assert told.is_set()


def test_a_process_that_begins_as_all_are_told_to_end_is_told_too(monkeypatch):
    alive, popen = Processes(), subprocess.Popen

    def slow(*arguments, **options):
        process = popen(*arguments, **options)
        alive.end()
        return process

    monkeypatch.setattr("airpath.experiments.versus_kernel.runs.subprocess.Popen", slow)
    with alive.started([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        assert process.wait(20) == -signal.SIGTERM


def test_no_valid_run_at_all_is_an_error(variant, monkeypatch):
    monkeypatch.setattr(campaign, "run_live_once", FakeLive({1: 99}))
    with pytest.raises(LiveError, match="no live run with reno was valid: late"):
        command.carry_out(crossed([variant], [1]), "own", 1, None)


def test_the_json_has_every_value_and_is_json(variant, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(campaign, "run_live_once", FakeLive({2: 1}))
    outcomes = command.carry_out(crossed([variant], [1, 2]), "own", 2, tmp_path)
    command.write("own", [variant], [1, 2], outcomes, False, tmp_path, False)
    printed = capsys.readouterr().out
    assert "own, reno: 2 runs of each" in printed
    assert "live runs that were not valid, and whose figures were not used: 1" in printed

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    command.write("own", [variant], [1, 2], outcomes, True, None, False)
    printed = capsys.readouterr().out
    assert (tmp_path / "comparison.json").read_text() == printed
    said = json.loads(printed, parse_constant=refuse)
    (one,) = said["comparisons"]
    assert [run["seed"] for run in one["flows"][0]["runs"]] == [1, 2]
    assert [run["live"]["goodput_bps"] for run in one["flows"][0]["runs"]] == [101.0, 102.0]
    metric = one["flows"][0]["metrics"]["goodput_bps"]
    assert metric["live"]["values"] == [101.0, 102.0]
    assert metric["tolerance"] == 0.05 and metric["verdict"] == "differ"
    assert [repeated["seed"] for repeated in said["live"]["repeated"]] == [2]
    assert one["kernel_tcp"]["sysctls"]["net.ipv4.tcp_sack"] == "1"
    assert said["flows"] == [{"direction": "downlink", "size_bytes": 100_000, "start_s": 0.0, "paths": []}]


# The transfers' own program.


@pytest.mark.parametrize("size", [0, 1, 3_000_000])
def test_a_file_ends_with_a_half_close_that_is_answered(size):
    here, there = socket.socketpair()
    got = {}

    def other_end():
        got["complete"] = receive(there, size)
        there.close()

    thread = threading.Thread(target=other_end)
    thread.start()
    with here:
        assert send(here, size)
    thread.join()
    assert got["complete"]


def test_a_file_that_comes_short_is_not_complete():
    here, there = socket.socketpair()
    with there:
        here.sendall(bytes(10))
        here.close()
        assert not receive(there, 11)


def test_a_sender_whose_peer_has_gone_says_so():
    here, there = socket.socketpair()
    there.close()
    with here:
        assert not send(here, 10_000_000)
        assert not send(here, None)


def test_figures_are_plain_numbers():
    assert set(dataclasses.asdict(some(1.0)[0])) == {field.name for field in dataclasses.fields(Figures)}
