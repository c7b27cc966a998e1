"""airpath compared with ns-2 on the same bottlenecks, with the same losses: same goodput, retransmissions,
timeouts.

ns-2's ErrorModel loses the packets that airpath's link loses, so only TCP's reaction may differ,
and the difference of a run is not lost in the spread of the runs. `python tests/peers/compare.py`
prints the figures; README.md tells which differences are known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from compare import compare, sends_of_airpath, sends_of_ns2
from configurations import CONFIGURATIONS
from conftest import sampled
from programs import needs

pytestmark = needs("ns")


@dataclass(frozen=True)
class Band:
    """How far the mean of airpath's runs may be from that of ns-2's: a share of ns-2's, and a count."""

    share: float
    count: float

    def around(self, ns2: float) -> float:
        return self.share * ns2 + self.count


BANDS = {
    # Below what any choice between two TCPs would rest on; a timeout more or less in 100 s is 1 %.
    "goodput_kbps": Band(0.01, 0.0),
    # ns-2's clock begins at a random phase of its tick, which shifts a timeout and its retransmissions by
    # 100 ms; arrival and departure at one instant have another order. Both show when a run starts.
    "retransmissions": Band(0.02, 1.0),
    # One in two runs, for the same reason.
    "timeouts": Band(0.02, 0.5),
}
# ns-2's Sack1 is older than RFC 6675: it sends a hole again as soon as it is reported, the RFC when three
# segments beyond have been reported; and the RFC counts what ACKs of new data report, Sack1 duplicate ACKs
# alone. This shows where a window loses several segments: the configurations have 3 % at most.
SACK_BANDS = {
    "goodput_kbps": Band(0.03, 0.0),
    "retransmissions": Band(0.03, 1.0),
    "timeouts": Band(0.15, 1.0),
}

# Without random loss, and without a timeout whose length depends on the phase of the clock.
SEGMENT_BY_SEGMENT = (
    "reno-384kbit-63ms-50pkt-0.0%-ack1",
    "reno-10000kbit-23ms-100pkt-0.0%-ack1",
    "newreno-384kbit-63ms-50pkt-0.0%-ack1",
    "newreno-2000kbit-11ms-10pkt-0.0%-ack2",
)
# With losses and delayed ACKs among them.
OWN_LOSSES = ("reno-384kbit-150ms-20pkt-1.0%-ack1", "newreno-64kbit-150ms-10pkt-1.0%-ack2")


def named(name: str):
    return next(one for one in CONFIGURATIONS if one.name == name)


@pytest.mark.parametrize("configuration", sampled(CONFIGURATIONS, 2), ids=lambda one: one.name)
def test_what_ns2_counts_is_what_airpath_counts(configuration):
    bands = SACK_BANDS if configuration.recovery == "sack" else BANDS
    for found in compare(configuration):
        band = bands[found.quantity].around(found.ns2)
        print(f"{found}: band {band:.2f}")
        assert 2 * found.standard_error <= band, f"{found}: too few runs to tell"
        assert abs(found.difference) <= band, found


@pytest.mark.slow
@pytest.mark.parametrize("name", SEGMENT_BY_SEGMENT)
def test_every_segment_is_sent_when_ns2_sends_it(name):
    configuration = named(name)
    # Some ten thousand segments.
    configuration = replace(configuration, time=max(60, 300 * 384 // configuration.rate_kbps))
    (times, numbers), (our_times, our_numbers) = (
        sends(configuration, 1) for sends in (sends_of_ns2, sends_of_airpath)
    )
    assert len(numbers) > 10_000
    # ns-2's segment 0 has no headers: everything after it is earlier by the transmission time of 40 bytes.
    shift = 40 * 8 / (configuration.rate_kbps * 1000)
    before_end = times + shift < configuration.time - 0.1
    numbers, times = numbers[before_end], times[before_end]
    assert np.array_equal(our_numbers[: len(numbers)], numbers)
    # Over 1 Gbit/s behind the bottleneck, too.
    assert np.abs(our_times[1 : len(times)] - times[1:] - shift).max() < 2e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN_LOSSES)
def test_goodput_is_the_same_with_losses_that_ns2_draws_itself(name):
    goodput, *_ = compare(replace(named(name), runs=24), same_losses=False)
    print(goodput)
    assert goodput.standard_error < 0.02 * goodput.ns2
    assert abs(goodput.difference) < 0.01 * goodput.ns2 + 2 * goodput.standard_error
