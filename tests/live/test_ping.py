"""ping through a live link: the delay is there, in both versions of IP, and packets are counted."""

from __future__ import annotations

import re

import pytest
from programs import needs

from live.harness import FAST, check_books

pytestmark = needs("ping")
# One way, in milliseconds; and what the machine may add to a round trip.
DELAY_MS, SLACK_MS = 20, 30


def rtts_ms(out: str) -> list[float]:
    """The round-trip times that ping prints."""
    return [float(number) for number in re.findall(r"time=([0-9.]+) ms", out)]


@pytest.mark.slow
@pytest.mark.parametrize(("address", "option"), [("$AIRPATH_SERVER", "-4"), ("$AIRPATH_SERVER6", "-6")])
def test_a_ping_takes_the_delay_of_both_ways(address, option, live):
    ping = f"exec ping {option} -c 3 -i 0.2 -W 5 {address}"
    outcome = live(*FAST, "--delay", f"{DELAY_MS}ms", out=True, command=["sh", "-c", ping])
    assert outcome.code == 0, outcome.err
    rtts = rtts_ms(outcome.out)
    assert len(rtts) == 3
    assert min(rtts) >= 2 * DELAY_MS
    # The best of three: this is no test of the machine.
    assert min(rtts) < 2 * DELAY_MS + SLACK_MS


@pytest.mark.slow
@pytest.mark.parametrize("option", ["-4", "-6"])
def test_a_ping_is_an_opaque_flow_of_icmp(option, live):
    address = "$AIRPATH_SERVER6" if option == "-6" else "$AIRPATH_SERVER"
    outcome = live(*FAST, out=True, command=["sh", "-c", f"exec ping {option} -c 2 -i 0.2 {address}"])
    flows = outcome.flows("icmp")
    # IPv6 has neighbours to solicit; TUN devices have none.
    assert [flow["segments_sent"] for flow in flows] == [2]
    assert flows[0]["receiver"]["segments"] == 2
    for end in outcome.live["ends"].values():
        assert end["opaque"] == {"other_protocol": 2, "encrypted": 0, "fragment": 0, "malformed": 0}
    assert check_books(outcome.results) == {"downlink": 0, "uplink": 0}


@needs("iperf3")
def test_the_server_reaches_the_ue_by_its_addresses(live, tmp_path):
    done = tmp_path / "done"
    ping = "until ping -c 1 -W 1 {}; do :; done"
    # What listens is what COMMAND waits for.
    server = f"iperf3 -s & {ping.format('$AIRPATH_UE')}; {ping.format('$AIRPATH_UE6')}; touch {done}; wait"
    wait = f"until [ -e {done} ]; do sleep 0.02; done"
    outcome = live(*FAST, "--duration", "20s", server=server, command=["sh", "-c", wait])
    assert outcome.code == 0, outcome.out
