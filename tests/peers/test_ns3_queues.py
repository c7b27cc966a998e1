"""airpath's CoDel, FQ-CoDel and PIE compared with stored runs of ns-3's (`benches/ns3/queues.json`).

`python benches/ns3/queues.py --airpath` prints all of it; `benches/ns3/README.md` says what is set and which
differences are known. ns-3 itself is not needed.
"""

from __future__ import annotations

import math
import statistics

import beside
import pytest
from conftest import sampled

RUNS = beside.queue_runs()
# The target; beyond it, twice the standard error of ten repetitions.
BAND = 0.05
# ns-3 approximates 1 / sqrt(count) by one step of Newton's method: too small where the count has fallen.
NEWTON = 0.11
# One drop of five more.
FEW = 0.21
# Synchronised downloads: how often one comes to an empty queue depends on the spacing of their segments.
IN_STEP = 0.11
WIDER = {
    "udp-codel-2mbit-1.5": NEWTON,
    "udp-codel-10mbit-1.1": NEWTON,
    "udp-fq_codel-10mbit-1.5": NEWTON,
    "tcp-codel-2mbit-40ms-4": NEWTON,
    "tcp-droptail-10mbit-100ms-1": FEW,
    "tcp-fq_codel-2mbit-40ms-4-sparse": IN_STEP,
    "tcp-fq_codel-10mbit-40ms-4-sparse": IN_STEP,
}


@pytest.mark.parametrize("name", sampled(RUNS, quick=6))
def test_goodput_waits_and_drops_are_those_of_ns3(name):
    theirs, ours = RUNS[name], beside.queue_outcome(RUNS[name])
    for figure, values in ours.items():
        ns3, own = statistics.mean(theirs[figure]), statistics.mean(values)
        error = math.hypot(*(statistics.stdev(each) / len(each) ** 0.5 for each in (theirs[figure], values)))
        assert own == pytest.approx(ns3, abs=WIDER.get(name, BAND) * ns3 + 2 * error), figure


@pytest.mark.slow
def test_sparse_packets_pass_those_that_wait():
    for rate in (2, 10):
        theirs = RUNS[f"udp-fq_codel-{rate}mbit-0.9-sparse"]
        ours = beside.queue_outcome(theirs)["sparse_wait_ms"]
        # Nothing is drawn: each repetition for itself. PPP's two bytes with 200 shift phases in ns-3.
        assert ours == pytest.approx(theirs["sparse_wait_ms"], rel=0.03)
