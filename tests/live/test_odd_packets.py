"""Fragments, IP options, extension headers, neighbour discovery and ARP: each is carried as it is."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from live.harness import FAST, check_books
from live.odd import DATAGRAM, STREAM
from live.packets import passage, read

SCRIPT = Path(__file__).with_name("odd.py")
PROGRAM = f"exec {sys.executable} {SCRIPT}"
# Fragments of a datagram with its UDP header, by fragment payload size, a multiple of eight.
FRAGMENTS = sum(-(-(DATAGRAM + 8) // room) for room in (1480, 1448, 1472, 1432, 1480, 1448))


def test_what_is_neither_tcp_nor_udp_in_plain_headers_is_carried_unchanged(live):
    command = ["sh", "-c", f"{PROGRAM} go 1"]
    outcome = live(*FAST, "--snaplen", 2000, server=f"{PROGRAM} serve", command=command, out=True)
    assert outcome.code == 0, outcome.err
    told = json.loads(outcome.out)
    assert told["came"] == dict.fromkeys(told["came"], True)
    assert check_books(outcome.results) == {"downlink": 0, "uplink": 0}
    packets = read(outcome.folder / "capture.pcapng")
    for downlink in (True, False):
        found = passage(packets, downlink)
        # Octet by octet, those too whose lengths contradict themselves.
        assert found.changed == found.lost == found.made == []
        assert found.as_sent > 100
    server, ue = (outcome.live["ends"][end] for end in ("server", "ue"))
    sent = told["sent"]
    # A datagram sent before the server's program had started was retransmitted.
    assert ue["opaque"]["fragment"] >= FRAGMENTS + sent["fragments"]
    assert server["opaque"]["fragment"] >= FRAGMENTS - 4
    # What is no IP arrives, and the other kernel refuses it.
    assert server["refused_by_kernel"] == sent["arp"]
    assert ue["opaque"]["malformed"] == sent["arp"] + sent["too_long_headers"]
    assert ue["opaque"]["other_protocol"] >= sent["neighbour_discovery"] + sent["extensions"]
    # Connections are read through options and extension headers.
    flows = outcome.flows("tcp")
    assert [flow["bytes_received"] for flow in flows] == [STREAM] * 2, flows
