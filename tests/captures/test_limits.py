"""What limits a run is known from how it was made; the analysis says so, wherever the capture was taken.

No simulated application is a slow reader: it is in `tests/live/test_limits_kernel.py` and in
`crates/analyze/src/flow/limits/tests.rs`.
"""

from __future__ import annotations

import pytest
from interfaces import between, of_interface

import airpath
from airpath.captures import LIMITS, analyze, predictions

SERVER, UE = 0, 1
# RTT of 60 ms, including 40 ms of wired delay.
PATH = """
duration = "10 s"
[wired]
rate = "1 Gbit/s"
delay = "20 ms"
[radio.variable.downlink]
delay = "10 ms"
queue.droptail.packets = 100
channel.series.rows = "time_s,rate_kbps,loss\\n0,20000,0\\n"
[radio.variable.uplink]
delay = "10 ms"
channel.series.rows = "time_s,rate_kbps,loss\\n0,20000,0\\n"
[tcp]
profile = "linux"
[[flow]]
app.bulk = {}
"""
ROWS = "radio.variable.downlink.channel.series.rows"
QUEUE = "radio.variable.downlink.queue.droptail.packets"
STREAM = '{ messages = { size = { constant = "20 kB" }, interval = { constant = "100 ms" } } }'
PACED = {"tcp.pacing": True, "tcp.max_pacing_rate": "5 Mbit/s"}
OTHERS = '{ size.constant = "20 kB", interval.exponential.mean = "1 s" }'
PAGE = {"flow.0.app": '{ web = { objects = 60, object = "40 kB" } }'}
SITUATIONS = {
    "page": (PAGE, "application"),
    "slow server": (
        {"flow.0.app": '{ web = { objects = 4, object = "100 kB", think = "2 s" } }'},
        "application",
    ),
    "page over a slow link": (
        {**PAGE, ROWS: "time_s,rate_kbps,loss\n0,1000,0\n", "duration": "25 s"},
        "link",
    ),
    "small objects over a slow link": (
        {
            "flow.0.app": '{ web = { objects = 60, object = "2 kB" } }',
            ROWS: "time_s,rate_kbps,loss\n0,1000,0\n",
        },
        "application",
    ),
    "bulk": ({}, "link"),
    "small receive window": (
        {"tcp.receive_buffer": "32 kB", "tcp.receive_buffer_max": "32 kB"},
        "receive_window",
    ),
    "small window after a loss": (
        {
            "tcp.profile": "linux-reno",
            QUEUE: 2000,
            ROWS: "time_s,rate_kbps,loss\n0,100000,0.1\n0.3,100000,0\n",
        },
        "congestion_window",
    ),
    "paced by BBR": ({"tcp.profile": "linux-bbr"}, "link"),
    # Two segments in 48 ms: longer than an RTT without a queue.
    "paced by BBR over a slow link": (
        {"tcp.profile": "linux-bbr", "wired.delay": "5 ms", ROWS: "time_s,rate_kbps,loss\n0,500,0\n"},
        "link",
    ),
    "paced by BBR over a long link": (
        {"tcp.profile": "linux-bbr", "wired.delay": "120 ms", ROWS: "time_s,rate_kbps,loss\n0,5000,0\n"},
        "link",
    ),
    "paced below the link": (PACED, "application"),
    "paced beside other traffic": (
        {
            **PACED,
            "wired.delay": "60 ms",
            ROWS: "time_s,rate_kbps,loss\n0,6500,0\n",
            "flow": f"[{{ app.bulk = {{}} }}, {{ app.messages = {OTHERS} }}]",
        },
        "application",
    ),
    "outage": (
        {ROWS: "time_s,rate_kbps,loss\n0,20000,0\n1,20000,1\n5,20000,0\n", "duration": "7.5 s"},
        "timeouts",
    ),
    "losses at random": ({"wired.loss": "1 %"}, "loss"),
    "no buffer, as a policer": ({QUEUE: 6}, "loss"),
    # Between the last ACK of a message and the next: 32, 12 and 2 ms. Over 60 ms of wire messages overlap.
    **{
        f"stream over {delay_ms} ms of wire": (
            {"flow.0.app": STREAM, "wired.delay": f"{delay_ms} ms"},
            "application",
        )
        for delay_ms in (20, 30, 35, 60)
    },
    # Several are in flight, one, or none, by chance.
    **{
        f"{size} at random times, {interval} apart, over {delay_ms} ms of wire": (
            {
                "flow.0.app": f'{{ messages = {{ size.exponential.mean = "{size}", '
                f'interval.exponential.mean = "{interval}" }} }}',
                "wired.delay": f"{delay_ms} ms",
            },
            "application",
        )
        for size, interval, delay_ms in (
            ("1 kB", "30 ms", 5),
            ("5 kB", "30 ms", 40),
            ("5 kB", "100 ms", 120),
            ("1 kB", "500 ms", 120),
            ("50 kB", "500 ms", 40),
        )
    },
}


def capture_of(changes):
    scenario = airpath.Scenario("limits", PATH)
    for path, value in changes.items():
        scenario = scenario.with_(path, value)
    return airpath.run(scenario, seed=1, probes=(), capture=True).capture


def from_server(file, content):
    file.write_bytes(content)
    connection = max(analyze(file)["connections"], key=lambda one: one["payload_bytes"])
    (flow,) = (flow for flow in connection["flows"] if flow["sender"] == "server")
    return flow


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_largest_share_is_what_limits_the_sender(name, tmp_path):
    changes, expected = SITUATIONS[name]
    # Nearer to the receiver, it would be the receiver's place.
    behind_ms = min(20, float(changes.get("wired.delay", "20 ms").removesuffix(" ms")))
    whole = capture_of(changes)
    server = of_interface(whole, SERVER)
    places = {
        "sender": server,
        "receiver": of_interface(whole, UE),
        # Losses of the wired link come in between.
        "between": None if "wired.loss" in changes else between(server, "10.0.0.1", behind_ms / 1e3),
    }
    for place, content in places.items():
        if content is None:
            continue
        flow = from_server(tmp_path / f"{place}.pcapng", content)
        shares = flow["verdict"]["shares"]
        assert flow["viewpoint"] == place
        assert sum(shares.values()) == pytest.approx(1)
        assert list(shares) == list(LIMITS)
        largest = max(shares, key=shares.get)
        said = f"{place}: {flow['verdict']['limited_by']}, {shares}"
        assert largest == expected or (place != "sender" and largest == "unknown"), said


def test_a_page_is_limited_request_by_request(tmp_path):
    scenario = airpath.load("lte-10mhz-still").with_("flow.0.app", PAGE["flow.0.app"])
    whole = airpath.run(scenario, seed=1, probes=(), capture=True).capture
    for content in (whole, of_interface(whole, SERVER), of_interface(whole, UE)):
        verdict = from_server(tmp_path / "page.pcapng", content)["verdict"]
        assert verdict["limited_by"] == "the application"
        assert verdict["application"]["turns"] == 61
        assert verdict["application"]["between_turns"] > 0.65
        assert "61 turns of request and response" in verdict["because"]


def test_models_say_nothing_of_what_they_do_not_describe(tmp_path):
    page = '{ web = { objects = 60, object = "40 kB", think = "300 ms" } }'
    changes = {"flow.0.app": page, "wired.loss": "2 %", "duration": "60 s"}
    flow = from_server(tmp_path / "page.pcapng", capture_of(changes))
    said = predictions(flow)
    assert flow["loss_episodes"]["events"] > 10
    assert {one["kbit_per_s"] for one in said} == {None}
    assert all("the sender had nothing to send for" in one["reason"] for one in said)
    few = from_server(tmp_path / "few.pcapng", capture_of({"wired.loss": "0.05 %", "duration": "3 s"}))
    assert 0 < few["loss_episodes"]["events"] < 10
    assert all("too few for a loss rate" in one["reason"] for one in predictions(few))
    lossy = from_server(tmp_path / "lossy.pcapng", capture_of({"wired.loss": "1 %"}))
    assert any(one["kbit_per_s"] is not None for one in predictions(lossy))
