"""Percentiles of delays in the results against numpy's, from the trace of the same run, and Jain's index."""

import json

import numpy as np
import pytest

import airpath
from airpath import _core
from airpath.plots.sweep.quantity import metric_unit
from airpath.plots.sweep.wording import better, metric_label

PERCENTILES = {"p50": 50, "p90": 90, "p95": 95, "p99": 99}

# A deep buffer and no loss: the window grows until the receiver's ends it, and each segment is sent once.
DEEP = """
duration = "30 s"
[wired]
rate = "100 Mbit/s"
delay = "20 ms"
[radio.dch.downlink]
rate = "2 Mbit/s"
delay = "30 ms"
[radio.dch.uplink]
rate = "1 Mbit/s"
delay = "30 ms"
[[flow]]
app.bulk = {}
"""

FADING = """
duration = "20 s"
[radio.lte]
[[flow]]
app.bulk = {}
[[flow]]
[flow.app.cbr]
rate = "100 kbit/s"
size = "500 B"
"""


def run(text, **options):
    return airpath.run(airpath.Scenario("test", text), **options)


def check(report, exact_ms):
    """Mean and extremes are exact; percentiles are off by 0.8 % of the distance from the first, and 2 us."""
    assert report["samples"] == len(exact_ms) > 100
    assert report["min"] == pytest.approx(min(exact_ms), abs=1e-6)
    assert report["max"] == pytest.approx(max(exact_ms), abs=1e-6)
    assert report["mean"] == pytest.approx(np.mean(exact_ms), abs=1e-6)
    for name, share in PERCENTILES.items():
        expected = np.percentile(exact_ms, share)
        assert report[name] == pytest.approx(expected, abs=0.008 * abs(expected - exact_ms[0]) + 0.003), name


def one_way_delays_ms(result):
    """Delays of segments that were all sent once, in the order of their arrival."""
    sent, received = (result.trace[f"segment_{what}"] for what in ("sent", "received"))
    sent_at = dict(zip(sent["seq"].tolist(), sent["time_s"].tolist(), strict=True))
    assert len(sent_at) == len(sent["seq"])
    arrivals = zip(received["seq"].tolist(), received["time_s"].tolist(), strict=True)
    return np.array([1e3 * (time_s - sent_at[seq]) for seq, time_s in arrivals])


def test_one_way_and_queueing_delay_are_those_of_the_trace():
    result = run(DEEP, probes=("segment_sent", "segment_received"))
    exact = one_way_delays_ms(result)
    # By hand: 20 and 30 ms of propagation, 1500 B at 100 and at 2 Mbit/s.
    assert exact.min() == pytest.approx(20 + 30 + 0.12 + 6, abs=1e-6)
    assert exact.max() > 150
    check(result.flows[0]["one_way_delay_ms"], exact)
    queueing = result.flows[0]["queueing_delay_ms"]
    check(queueing, exact - exact.min())
    assert queueing["min"] == 0


def test_round_trip_times_are_those_of_the_trace():
    result = run(FADING, probes=("rtt_sample",))
    # The trace has whole microseconds.
    rtts = result.trace["rtt_sample"]["rtt_us"] / 1e3
    report = result.flows[0]["rtt_ms"]
    assert report["samples"] == len(rtts) > 1000
    for name, share in PERCENTILES.items():
        expected = np.percentile(rtts, share)
        assert report[name] == pytest.approx(expected, abs=0.008 * abs(expected - rtts[0]) + 0.005), name


def test_datagrams_have_one_way_delays_and_no_round_trip_times():
    result = run(FADING, probes=("bearer_delivered",))
    flow, delivered = result.flows[1], result.trace["bearer_delivered"]
    mine = (delivered["flow"] == 1) & (delivered["direction"] == "downlink")
    # The path consists of the bearer only.
    check(flow["one_way_delay_ms"], delivered["delay_ns"][mine] / 1e6)
    for name in ("mean", "min", "max"):
        assert flow["one_way_delay_ms"][name] == flow["datagrams"]["delay_ms"][name]
    assert flow["rtt_ms"]["samples"] == 0 and flow["rtt_ms"]["p95"] is None


def test_a_retransmission_is_timed_from_its_own_transmission():
    lossy = """
duration = "60 s"
[wired]
delay = "100 ms"
loss = "5 %"
[radio.dch]
[tcp]
max_window = 4
[[flow]]
app.bulk = {}
"""
    flow = run(lossy, probes=()).flows[0]
    assert flow["retransmissions"]["total"] > 10
    # By hand: 100 ms of propagation, and at 384 kbit/s 31.25 ms for each of four segments of 1500 B; a
    # retransmission comes later than that after the first transmission.
    assert flow["one_way_delay_ms"]["min"] == pytest.approx(131.25)
    assert flow["one_way_delay_ms"]["max"] <= 225.0 + 1e-6


def test_pages_are_timed_by_their_responses():
    page = DEEP.replace("app.bulk = {}", 'app.web = { objects = 8, object = "40 kB" }')
    result = run(page, probes=("segment_sent", "segment_received"))
    assert len(result.flows) == 1
    exact = one_way_delays_ms(result)
    check(result.flows[0]["one_way_delay_ms"], exact)


def test_jains_index_is_of_the_goodputs_in_each_direction():
    text = FADING + '[[flow]]\ndirection = "uplink"\napp.bulk = {}\n'
    summary = run(text, probes=()).summary
    down = [flow["goodput_bps"] for flow in summary["flows"] if flow["direction"] == "downlink"]
    assert len(down) == 2
    # Jain, Chiu and Hawe 1984: (sum x)^2 / (n sum x^2).
    expected = sum(down) ** 2 / (2 * sum(rate**2 for rate in down))
    assert summary["jain_index"]["downlink"] == pytest.approx(expected)
    assert summary["jain_index"]["uplink"] == 1
    assert run(DEEP, probes=()).summary["jain_index"] == {"downlink": 1, "uplink": None}


def test_delays_do_not_depend_on_what_is_observed():
    alone = json.loads(_core.run(FADING, 3))
    traced = run(FADING, seed=3, probes=("rtt_sample", "packet"))
    assert traced.flows[0]["one_way_delay_ms"] == alone["flows"][0]["one_way_delay_ms"]


def test_percentiles_are_metrics():
    known = airpath.replicate(
        FADING.replace("20 s", "2 s"), ["queueing_delay_ms.p95", "jain_index.downlink"], max_runs=3
    )
    assert known["queueing_delay_ms.p95"].mean > 0
    assert 0.5 <= known["jain_index.downlink"].mean <= 1


def test_figures_name_percentiles_in_the_words_of_the_field():
    assert metric_label("queueing_delay_ms.p95") == "95th percentile queueing delay"
    assert metric_label("flows.1.one_way_delay_ms.p50") == "median one-way delay, flow 1"
    assert metric_label("jain_index.downlink") == "Jain's index, downlink"
    assert metric_unit("one_way_delay_ms.p99").name == "ms"
    assert (better("queueing_delay_ms.p95"), better("jain_index.uplink")) == (-1, 1)
