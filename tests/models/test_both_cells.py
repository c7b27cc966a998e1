"""A hand-over with both cells until the old one is released, as DAPS has it (TS 38.300, 9.2.3.2)."""

from __future__ import annotations

import numpy as np
import pytest

import airpath

# A datagram each ms, and no block is lost. The UE has both cells from 900 ms on.
CELL = """
[[cell]]
name = "{name}"
behind = "core"
wired.delay = "{xn} ms"
[cell.radio.nr.downlink]
reception = {{ mean_sinr = "20 dB", fading.none = {{}} }}
harq.bler = ["0 %"]
[cell.radio.nr.uplink]
reception = {{ mean_sinr = "40 dB", fading.none = {{}} }}
"""
SCENARIO = """
duration = "1200 ms"
flow = [{{ ue = "phone", app.cbr = {{ rate = "8 Mbit/s", size = "1000 B" }} }}]
{moves}
[[ue]]
name = "phone"
attach = {attach}
{split}
[[way]]
name = "core"
wired = {{ rate = "1 Gbit/s", delay = "5 ms" }}
"""
BOTH = """
[[handover]]
ue = "phone"
from = "new"
at = "0 s"
outage = "900 ms"
warning = "0 s"
bearers = "release"
[[handover]]
ue = "phone"
from = "old"
at = "{at} ms"
outage = "10 s"
warning = "0 s"
bearers = "release"
"""
BREAK = """
[[handover]]
ue = "phone"
from = "old"
to = "new"
at = "{at} ms"
outage = "108 ms"
warning = "0 s"
"""
CELLS = CELL.format(name="old", xn=0) + CELL.format(name="new", xn=2)
# A round trip of HARQ of DDDDDDDSUU takes that at most.
MOST_GAP_MS = 8.5


def gaps(text: str, seed: int) -> tuple[np.ndarray, int]:
    """Gaps between two arrivals at the UE from 920 ms on, ms; and how many datagrams were lost."""
    result = airpath.run(
        airpath.Scenario("both-cells", text), seed=seed, probes=["pdcp_delivered", "bearer_delivered"]
    )
    events = result.trace["pdcp_delivered"]
    if not len(events["time_s"]):
        events = result.trace["bearer_delivered"]
    time = events["time_s"][events["direction"] == "downlink"]
    return 1e3 * np.diff(time[time > 0.92]), result.summary["flows"][0]["datagrams"]["lost"]


@pytest.mark.parametrize("at", range(1000, 1010))
def test_no_gap_is_longer_than_a_repetition_where_both_cells_serve(at):
    """At any phase of the frame: what the old cell has not delivered goes over the new one."""
    moves = BOTH.format(at=at + 0.3)
    text = SCENARIO.format(
        moves=moves, attach='["old", "new"]', split='[ue.split]\npdcp.t_reordering = "200 ms"'
    )
    found, lost = gaps(text + CELLS, seed=at)
    assert lost == 0
    assert 1 < found.max() <= MOST_GAP_MS


def test_a_break_is_the_gap_without_the_second_cell():
    text = SCENARIO.format(moves=BREAK.format(at=1000), attach='["old"]', split="")
    found, _ = gaps(text + CELLS, seed=1)
    assert 108 <= found.max() < 108 + 2 * MOST_GAP_MS
