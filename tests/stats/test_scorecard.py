"""The scorecard of a congestion control: verdicts by hand, the set of conditions, the page, bad input."""

import json
import math
import re
import tomllib
from collections import Counter

import pytest
from conftest import check_error

import airpath
from airpath.experiments.paired import paired
from airpath.experiments.replicate import simulation_of
from airpath.experiments.scorecard import measures
from airpath.experiments.scorecard.card import (
    CONDITIONS,
    VERDICTS,
    Score,
    judged,
    scenario_of,
    score,
    table_of,
    values,
)
from airpath.experiments.scorecard.conditions import CUBIC, GROUPS, RENO, Row
from airpath.experiments.versus_kernel.carried import registered
from airpath.stats.estimate import estimate

BY_NAME = {condition.name: condition for condition in CONDITIONS}


def card_of(name, *conditions, runs=5, **parameters):
    table = table_of(name, parameters.items())
    return score(name, table, range(1, runs + 1), conditions=[BY_NAME[one] for one in conditions])


def verdicts(card):
    """Verdict by condition, and whom or what the row is of."""
    return {(one.condition.name, one.row.of or one.row.measure.title): one.verdict for one in card.scores}


# Two values: the interval is their mean ± 12.706 times half of what they are apart (t of one degree).
@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((0.04, 0.04), "same"),
        ((0.05, 0.05), "same"),
        ((0.06, 0.06), "better"),
        ((-0.06, -0.06), "worse"),
        ((0.000, 0.006), "same"),  # 0.003 ± 0.038
        ((0.000, 0.010), "unclear"),  # 0.005 ± 0.064
        ((0.098, 0.102), "better"),  # 0.1 ± 0.025
        ((0.090, 0.110), "unclear"),  # 0.1 ± 0.127
        ((0.041, 0.043), "unclear"),  # 0.042 ± 0.013: not 0, but not beyond the tolerance either
        ((0.2,), "unclear"),  # one run has no interval
    ],
)
def test_verdicts_follow_from_interval_and_tolerance(values, verdict):
    assert judged(estimate(values), 0.05, is_of_others=False) == verdict
    others = judged(estimate(values), 0.05, is_of_others=True)
    assert others == ("harms" if verdict == "worse" else verdict)


def scored(measure, mine, cubics, of=""):
    return Score(CONDITIONS[0], Row(measure, of=of), paired(estimate(mine), estimate(cubics)))


def test_gains_are_shares_of_cubics_mean_and_positive_where_it_is_better():
    assert scored(measures.GOODPUT, [110, 220], [100, 200]).gain.mean == pytest.approx(0.1)
    assert scored(measures.RTT, [110, 220], [100, 200]).gain.mean == pytest.approx(-0.1)
    assert scored(measures.RTT, [50, 50], [100, 100]).verdict == "better"
    assert scored(measures.GOODPUT, [50, 50], [100, 100], of="CUBIC").verdict == "harms"


def test_shares_differ_by_points():
    # 3 % lost compared with 2 %: half as much again, and one point.
    assert scored(measures.LOST, [3, 3], [2, 2]).gain.mean == pytest.approx(-0.01)
    assert scored(measures.LOST, [3, 3], [2, 2]).verdict == "same"
    assert scored(measures.LOST, [3.1, 3.1], [2, 2]).verdict == "worse"
    assert scored(measures.JAIN, [90, 90], [84, 84]).verdict == "better"


def test_measures_by_hand():
    def flow(**facts):
        known = {"goodput_bps": 0.0, "segments_sent": 0, "retransmissions": {"total": 0}, "start_s": 0.0}
        return {**known, "transfer_s": None, **facts}

    def read(measure, *flows):
        return measure.read(flows, 10.0)

    three, one = flow(goodput_bps=3e6), flow(goodput_bps=1e6)
    assert read(measures.GOODPUT, three, one) == 4000
    # (3 + 1)^2 / (2 (9 + 1)) = 0.8
    assert read(measures.JAIN, three, one) == pytest.approx(80)
    assert read(measures.share_of(2e6), one) == 50
    assert read(measures.share_of(2e6), three) == 100
    # One of 10 and 5 of 20 segments.
    few = flow(segments_sent=10, retransmissions={"total": 1})
    many = flow(segments_sent=20, retransmissions={"total": 5})
    assert read(measures.RETRANSMITTED, few, many) == pytest.approx(20)
    assert read(measures.SENDING, few, many) == 3
    # The second one, begun after 4 s, has not ended at 10 s.
    assert read(measures.TRANSFER, flow(transfer_s=2.0), flow(start_s=4.0)) == 4
    seen, unseen = (flow(rtt_ms={"mean": mean}) for mean in (50.0, None))
    assert (read(measures.RTT, seen), read(measures.RTT, seen, unseen)) == (50, 5025)
    call = flow(datagrams={"sent": 50, "lost": 2, "delay_ms": {"mean": 30.0}})
    assert (read(measures.LOST, call), read(measures.DELAY, call)) == (4, 30)


def test_rows_read_the_flows_of_the_scenario_whatever_ue_they_are_of():
    condition = BY_NAME["rtt-spread"]
    results = simulation_of(scenario_of(condition, "cubic", CUBIC))(1)
    assert [flow["app"] for flow in results["flows"]].index("on_off") == 1
    rates = [flow["goodput_bps"] for flow in results["flows"] if flow["app"] == "bulk"]
    assert values(condition, results) == (
        pytest.approx(100 * sum(rates) ** 2 / (4 * sum(r * r for r in rates))),
    )
    # Their round trips are what the condition says, and a packet's time on the link.
    least = [flow["rtt_ms"]["min"] for flow in results["flows"] if flow["app"] == "bulk"]
    assert least == pytest.approx([20, 40, 80, 160], abs=3)


@pytest.mark.slow
def test_every_condition_is_a_scenario_of_its_own_whose_runs_differ():
    assert all(count == 1 for count in Counter(condition.name for condition in CONDITIONS).values())
    for condition in CONDITIONS:
        run = simulation_of(scenario_of(condition, "cubic", CUBIC))
        first, second = (values(condition, run(seed)) for seed in (1, 2))
        assert all(math.isfinite(value) for value in first + second)
        idle = condition.name in ("file-30k", "file-satellite", "outage")
        assert first != second or idle, condition.name


def test_the_yardstick_is_linuxs():
    for profile, table in (("linux", CUBIC), ("linux-reno", RENO)):
        scenario = airpath.load("umts-384").with_("tcp.profile", profile)
        said = tomllib.loads(scenario.text)["tcp"]["cc"]
        (kind,) = table
        assert table[kind].items() <= said[kind].items()


@pytest.mark.slow
def test_cubic_beside_cubic_is_the_same_in_every_row():
    card = card_of("cubic", *BY_NAME, runs=2, variant="linux", hystart="linux")
    assert {one.verdict for one in card.scores} == {"same"}
    assert all(one.pair.difference.mean == 0 for one in card.scores)


@pytest.mark.slow
def test_every_registered_congestion_control_gets_a_card():
    for name in registered("tcp.cc"):
        card = card_of(name, "wired-1", "file-30k", runs=2)
        assert sum(card.counts().values()) == len(card.scores) == 3


def test_the_number_of_workers_makes_no_difference():
    table, conditions = table_of("bbr"), [BY_NAME["wired-1"], BY_NAME["umts"]]
    one, four = (score("bbr", table, range(1, 4), workers, conditions) for workers in (1, 4))
    assert one == four


@pytest.mark.slow
def test_what_is_known_of_bbr():
    found = verdicts(
        card_of("bbr", *("cubic-shallow", "reno-shallow", "cubic-deep", "shallow-4", "deep", "loss-1"))
    )
    assert found["cubic-shallow", "CUBIC"] == found["reno-shallow", "Reno"] == "harms"
    assert found["cubic-deep", "CUBIC"] != "harms"
    assert found["shallow-4", "retransmitted"] == "worse"
    assert found["deep", "round trip"] == found["loss-1", "goodput"] == "better"


@pytest.mark.slow
def test_what_is_known_of_copa_and_reno():
    copa = verdicts(card_of("copa", "cubic-bdp", "jitter", "deep", "half-lost"))
    assert copa["cubic-bdp", "CUBIC"] == copa["deep", "round trip"] == "better"
    assert copa["cubic-bdp", "of its fair part"] == copa["jitter", "goodput"] == "worse"
    assert copa["half-lost", "segments sent"] == "worse"
    reno = verdicts(card_of("reno", "cubic-shallow", "cubic-bdp", "reno-bdp", "call", variant="rfc5681"))
    assert "harms" not in reno.values()


@pytest.mark.slow
def test_the_page_has_a_row_for_each_row_and_the_same_counts(tmp_path, airpath_command):
    out = tmp_path / "card"
    outcome = airpath_command("scorecard", "reno", "--set", "variant=linux", "--runs", "2", "--out", out)
    assert outcome.code == 0 and "page:" in outcome.out
    report = json.loads((out / "report.json").read_text())
    page = (out / "index.html").read_text()
    assert report["cc"] == {"reno": {"variant": "linux"}} and report["seeds"] == [1, 2]
    assert len(report["rows"]) == sum(len(condition.rows) for condition in CONDITIONS)
    assert report["counts"] == {
        verdict: sum(row["verdict"] == verdict for row in report["rows"]) for verdict in VERDICTS
    }
    for verdict, count in report["counts"].items():
        assert f"<b>{count}</b> {verdict}" in page
        assert f"{count} {verdict}" in outcome.out
    for group in GROUPS:
        assert group.heading in page
    for condition in CONDITIONS:
        assert page.count(f"<b>{condition.name}</b>") >= len(condition.rows)
    harms = [row["condition"] for row in report["rows"] if row["verdict"] == "harms"]
    first = page.split("Effect on others")[1].split("All rows")[0]
    assert re.findall(r"<b>([\w-]+)</b>", first) == harms
    assert "airpath scorecard reno --set variant=linux --runs 2 --seed 1" in page
    # A condition is a scenario that gives the value of the report.
    row = report["rows"][0]
    again = simulation_of(airpath.load(out / "conditions" / f"{row['condition']}.toml"))(2)
    assert values(CONDITIONS[0], again)[0] == row["measured"]["values"][1]


def test_bad_input(tmp_path, airpath_command):
    check_error(
        airpath_command("scorecard", "renos"), "CC", "no congestion control 'renos'", "did you mean reno?"
    )
    check_error(
        airpath_command("scorecard", "reno", "--set", "vari=linux"),
        "tcp.cc.reno.vari",
        "unknown key",
        "variant",
    )
    check_error(
        airpath_command("scorecard", "copa", "--set", "delta=7"), "tcp.cc.copa.delta", "waiting", "0.5"
    )
    check_error(
        airpath_command("scorecard", "reno", "--set", "variant"), "--set", "does not name", "PATH=VALUE"
    )
    check_error(airpath_command("scorecard", "reno", "--runs", "0"), "--runs", "too few", "at least 1")
    (tmp_path / "index.html").write_text("mine")
    check_error(airpath_command("scorecard", "reno", "--out", tmp_path), "out", "exists already", "--force")
    assert (tmp_path / "index.html").read_text() == "mine"
