"""Marks in the gNB by the predicted sojourn time, compared with drop-tail and DualPI2: docs/models/nr.md."""

from __future__ import annotations

import functools

import pytest

import airpath

PRAGUE = {"profile": "linux-prague", "receive_buffer_max": "64 MB"}
CUBIC = {"profile": "linux", "ecn": True, "receive_buffer_max": "64 MB"}
SENDERS = {"prague": PRAGUE, "cubic": CUBIC}
QUEUES = {
    "droptail": {"droptail": {"bytes": "6 MB"}},
    "dualpi2": {"dualpi2": {"step": "auto"}},
    "predicted": {"predicted_sojourn": {}},
}


@functools.cache
def download(sender: str, queue: str) -> tuple[float, float, float]:
    """Run a download over a cell of 20 MHz.

    Returns
    -------
    tuple
        Goodput in Mbit/s, and median and 95th percentile of the queueing delay in ms.
    """
    scenario = airpath.load("nr-n78-100mhz-still").with_("duration", "20 s").with_("tcp", SENDERS[sender])
    scenario = scenario.with_("radio.nr.downlink.blocks", {"bandwidth": "20 MHz", "layers": 2})
    scenario = scenario.with_("radio.nr.downlink.queue", QUEUES[queue])
    result = airpath.run(scenario.with_("flow", [{"app": {"bulk": {}}}]), seed=1)
    [flow] = result.summary["flows"]
    delay = flow["queueing_delay_ms"]
    return flow["goodput_bps"] / 1e6, delay["p50"], delay["p95"]


@pytest.mark.slow
@pytest.mark.parametrize("sender", SENDERS)
def test_marks_by_predicted_sojourn(sender):
    goodput, p50, p95 = download(sender, "predicted")
    full, _, longest = download(sender, "droptail")
    # Prague grows by a segment per RTT: it does not follow a fading of 5.6 Hz upwards.
    assert goodput > {"prague": 0.5, "cubic": 0.95}[sender] * full
    # Most packets wait no longer than the threshold, and few twice as long.
    threshold = {"prague": 10, "cubic": 100}[sender]
    assert p50 < threshold
    assert p95 < 2 * threshold < longest
    # DualPI2 marks at departure by the age of the packet, which the frame alone makes several ms.
    assert goodput > 1.05 * download(sender, "dualpi2")[0]
