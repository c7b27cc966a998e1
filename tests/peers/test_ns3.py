"""airpath's LTE compared with stored runs of ns-3's (`benches/ns3/lte.json`): goodput, round trips, shares.

`python benches/ns3/lte.py --airpath` prints all of it; `benches/ns3/README.md` says what is set and which
differences are known. ns-3 itself is not needed.
"""

from __future__ import annotations

import re
import statistics

import beside
import pytest

RUNS = beside.runs()
# The target is 10 %. The mean block sizes of `radio.lte` are 2 % off those of the standard at most.
GOODPUT = 0.03
SHARE = 0.03


def both(name):
    return RUNS[name], beside.outcome(RUNS[name])


@pytest.mark.parametrize("ues", [1, 4, 8])
@pytest.mark.parametrize("prbs", [25, 50])
@pytest.mark.parametrize("scheduler", ["pf", "rr"])
def test_downloads_over_um_are_as_fast_and_wait_as_long(scheduler, prbs, ues):
    ns3, own = both(f"tcp-{scheduler}-{prbs}prb-{ues}ue-um")
    assert own.goodput_kBps == pytest.approx(ns3["goodput_kBps"], rel=GOODPUT)
    assert own.rtt_ms == pytest.approx([mean for mean, _, _ in ns3["rtt_ms"]], rel=GOODPUT)


@pytest.mark.parametrize("name", [name for name in RUNS if name.startswith("upload-")])
def test_uploads_share_the_cell_alike(name):
    ns3, own = both(name)
    prbs, ues = (ns3["options"][key] for key in ("prbs", "ues"))
    assert own.goodput_kBps == pytest.approx(ns3["goodput_kBps"], rel=0.1)
    # In each TTI ns-3 gives each UE equally many PRBs, and leaves the rest of the division unused.
    used = prbs // ues * ues / prbs
    assert [rate * used for rate in own.goodput_kBps] == pytest.approx(ns3["goodput_kBps"], rel=GOODPUT)
    assert [rate * used for rate in own.mac_kBps] == pytest.approx(ns3["mac_kBps"], rel=SHARE)
    if ns3["options"]["traffic"] == "tcp":
        assert own.rtt_ms == pytest.approx([mean for mean, _, _ in ns3["rtt_ms"]], rel=0.1)


@pytest.mark.parametrize("ues", [1, 4, 8])
def test_downloads_with_repeated_blocks_are_as_fast(ues):
    ns3, own = both(f"tcp-pf-25prb-{ues}ue-um-errors")
    assert statistics.mean(ns3["first_bler"]) > 0.13
    assert own.goodput_kBps == pytest.approx(ns3["goodput_kBps"], rel=GOODPUT)
    assert own.rtt_ms == pytest.approx([mean for mean, _, _ in ns3["rtt_ms"]], rel=GOODPUT)


@pytest.mark.parametrize("ues", [1, 4, 8])
def test_over_am_the_difference_is_the_blocks_that_ns3_gives_to_status_reports(ues):
    ns3, own = both(f"tcp-pf-25prb-{ues}ue-am-prohibit100")
    assert own.goodput_kBps == pytest.approx(ns3["goodput_kBps"], rel=0.1)
    # A report of each UE every 100 ms, each a block of 1 ms.
    without = [rate * (1 - ues * 10 / 1000) for rate in own.goodput_kBps]
    assert without == pytest.approx(ns3["goodput_kBps"], rel=GOODPUT)


@pytest.mark.parametrize("name", [name for name in RUNS if re.match("udp-(?!.*distances)", name)])
def test_a_busy_cell_is_shared_alike(name):
    ns3, own = both(name)
    assert own.goodput_kBps == pytest.approx(ns3["goodput_kBps"], rel=SHARE)
    assert own.mac_kBps == pytest.approx(ns3["mac_kBps"], rel=SHARE)


@pytest.mark.parametrize("scheduler", ["pf", "rr"])
def test_ues_at_several_distances_share_alike(scheduler):
    # Proportional fair: ns-3 gives the nearest UE 20.9 % of the time and the farthest 19.0 %, airpath a fifth
    # to each. Round robin: 4 PRBs of I_TBS 8 have 67 bytes; by the mean of a PRB, as in airpath, 70.
    ns3, own = both(f"udp-{scheduler}-25prb-5ue-distances")
    assert own.mac_kBps == pytest.approx(ns3["mac_kBps"], rel=0.055)
    assert sum(own.mac_kBps) == pytest.approx(sum(ns3["mac_kBps"]), rel=SHARE)
