"""Calls of Chromium through a live link, beside simulated ones: `benches/real_call.py`."""

from __future__ import annotations

import pytest
import real_call
from programs import needs

CONSTANT = real_call.CASES[0]


@pytest.mark.alone
@pytest.mark.slow
@needs("chromium")
@pytest.mark.parametrize("controller", sorted(real_call.TRIALS))
def test_a_real_call_and_a_simulated_one_find_the_same_rate(controller):
    """The limits are those of docs/calls.md for links of constant capacity."""
    rate, delay = "mean target, Mbit/s", "frame delay, median, ms"
    # Where others take the processors, Chromium sends less than it may, and late: call until it was not
    # disturbed. A controller that is another one would differ in all calls.
    for _ in range(4):
        made = real_call.real(CONSTANT.scenario, controller, seconds=20)
        again = real_call.simulated(CONSTANT.scenario, controller, 20, 1, made)
        found, simulated = (CONSTANT.measures(call) for call in (made, again))
        is_near = abs(simulated[rate] - found[rate]) < 0.15 and abs(simulated[delay] - found[delay]) < 50
        if found[rate] > 0.8 and is_near and made.freeze_s < 2:
            break
    assert 0.7 < found[rate] < 1.1 and made.deviation > 0
    assert simulated[rate] == pytest.approx(found[rate], abs=0.15)
    # 50 ms of the path, and a frame takes up to 33 ms at this capacity.
    assert 60 < found[delay] < 200 and abs(simulated[delay] - found[delay]) < 50
    # Chromium freezes for up to a second where others take the processors.
    assert made.freeze_s < 2 and again.freeze_s == 0


def entry(at_s: float, sent: int, estimate: float) -> dict[str, float]:
    return {"at": 1000 * at_s, "bytesSent": sent, "estimate": estimate}


def test_reports_of_both_pages_become_a_call():
    """Ten frames of 1000 B, a key frame aside; estimates before the first packet do not count."""
    callee = {"role": "callee", "framesDecoded": 9, "freezeCount": 1, "totalFreezesDuration": 0.4}
    log = [
        {"frames": [[0, 60 + n, 90 + n] for n in range(99)] + [[0, 900_000, 900_000]]},
        callee,
        {
            "seen": [entry(99, 0, 9e9), entry(100, 1, 1e6), entry(100.9, 2, 2e6), entry(101.5, 3, 8e6)],
            "sizes": [[0, 9000, True], *([0, 1000 + 100 * (n % 2), False] for n in range(64))],
        },
    ]
    call = real_call.read(log, link_began=96.0)
    # More than the encoder's highest rate is of no use to it.
    assert call.target_bps == [1.5e6, 5e6]
    assert (call.p50_ms, call.p95_ms, call.freezes, call.freeze_s, call.start_s) == (109, 154, 1, 0.4, 4.0)
    assert call.deviation == pytest.approx(50 / 1050, abs=0.002)
    with pytest.raises(RuntimeError, match="failed: no camera"):
        real_call.read([{"role": "caller", "error": "no camera"}], 0.0)
    with pytest.raises(RuntimeError, match="no media"):
        real_call.read([], 0.0)


def test_times_to_converge_are_read_from_targets():
    steps = real_call.Case("", CONSTANT.scenario, 60, real_call.STEPS)
    # From 4 s of the link on: 3 Mbit/s until 20 s, above 1.2 for two more seconds, then slowly up again.
    targets = [2.7e6] * 16 + [2e6, 1.3e6] + [0.9e6] * 18 + [1e6, 2e6] + [2.5e6] * 22
    call = real_call.Call(targets, 90.0, 120.0, 0, 0.0, 4.0)
    found = steps.measures(call)
    assert found["after the step down, s"] == 2 and found["80 % after the step up, s"] == 2
    assert found["mean target"] == pytest.approx(2.7) and found["mean target, slow"] == pytest.approx(0.9)
    constant = CONSTANT.measures(real_call.Call([0.5e6, 0.9e6] * 10, 90.0, 120.0, 0, 0.0, 4.0))
    assert constant["time to 80 % of the capacity, s"] == 1
    assert constant["highest target, of the capacity"] == pytest.approx(0.9)
