"""TCP over a cell of 5G NR without losses: acceptance tests 11 and 18 of 5G NR."""

from __future__ import annotations

import numpy as np
import pytest

import airpath

# 40 dB for each layer, and nothing is lost.
DOWNLINK = {
    "reception": {"mean_sinr": "40 dB", "fading": {"none": {}}},
    "adaptation": {"outer_loop": False},
    "harq": {"bler": [0]},
    "queue": {"droptail": {"bytes": "64 MB"}},
}
UPLINK = {"reception": {"mean_sinr": "60 dB", "fading": {"none": {}}}, "harq": {"bler": [0]}}
DDDSU = {"frame": "DDDSU", "special": {"down": 10, "up": 2}}
FDD_15 = {
    "frame": "FDD",
    "scs": "15 kHz",
    "downlink": DOWNLINK | {"blocks": {"bandwidth": "15 MHz", "layers": 2}},
    "uplink": UPLINK | {"blocks": {"bandwidth": "15 MHz"}},
}


def download(duration: str, wired: str, keys: dict[str, object], **tcp: object) -> airpath.Result:
    """Run a download over a cell with these keys, 1 ms behind a wired link of this rate."""
    scenario = airpath.load("nr-n78-100mhz-still")
    scenario = scenario.with_("radio.nr", {"downlink": DOWNLINK, "uplink": UPLINK} | keys)
    scenario = scenario.with_("wired", {"rate": wired, "delay": "1 ms"}).with_("duration", duration)
    scenario = scenario.with_("tcp", {"profile": "linux", "receive_buffer_max": "64 MB"} | tcp)
    scenario = scenario.with_("flow", [{"app": {"bulk": {}}}])
    return airpath.run(scenario, seed=1, probes=("ack_received", "segment_sent"))


def acknowledged(result: airpath.Result) -> tuple[np.ndarray, np.ndarray]:
    """Times of ACKs at the sender, s, and the bytes that are acknowledged by then."""
    acks = result.trace["ack_received"]
    return acks["time_s"], acks["acked"].astype(float)


@pytest.mark.parametrize(
    ("keys", "expected"), [({}, 1526.9), (DDDSU, 1503.3), (FDD_15, 149.5)], ids=["n78", "DDDSU", "FDD 15 MHz"]
)
def test_tcp_fills_the_cell_but_for_headers(keys, expected):
    times, acked = acknowledged(download("900 ms", "10 Gbit/s", keys))
    # Whole frames of 10 ms after slow start.
    begin, end = np.searchsorted(times, [0.4, 0.8])
    rate = (acked[end] - acked[begin]) * 8 / 0.4 / 1e6
    assert rate == pytest.approx(expected, rel=0.01)


def test_acks_of_a_download_come_in_bunches_and_make_bursts():
    standing = {"standing": {"every": "0.5 ms", "block": "20 kB"}}
    # 500 Mbit/s are 208 packets of 1500 B in the 5 ms of a pattern, and an ACK for two; Linux's receiver
    # sends one for all segments of a block. The window is constant, 36 ms of the rate.
    result = download(
        "600 ms", "500 Mbit/s", {"uplink": UPLINK | standing}, delayed_ack="fixed", max_window=1500
    )
    times, _ = acknowledged(result)
    steady = times[(times >= 0.4) & (times < 0.6)]
    assert len(steady) / 40 == pytest.approx(104.2, abs=2)
    # 104 ACKs of 52 B take 0.09 ms on the wired link.
    gaps = np.diff(steady) * 1e3
    assert np.all((gaps <= 0.5) | ((gaps >= 4.4) & (gaps <= 5.0))), sorted(gaps)[-50:]
    sent = result.trace["segment_sent"]["time_s"]
    sent = sent[(sent >= 0.4) & (sent < 0.6)]
    # A burst ends where nothing is sent for 2 ms.
    bursts = np.diff(np.flatnonzero(np.diff(sent) > 2e-3))
    assert np.median(bursts) == pytest.approx(208, abs=4)
