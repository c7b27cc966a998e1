"""Split TCP with real packets: kernels at both ends, and the box between them is a whole end to each."""

from __future__ import annotations

import pytest
from programs import needs

from live.carried import Carry, Transfer, carry
from live.packets import FIN, RST, SYN, Captured, passage

__all__ = ["carry"]
pytestmark = needs("ping")
SPLIT = "[[middlebox]]\nsplit = {}\n"
# A long way to the server, and a radio that loses packets.
LINK = """
[[middlebox]]
packet_loss.downlink.loss = "2 %"
[wired]
delay = "80 ms"
[radio.dch.downlink]
rate = "4 Mbit/s"
delay = "10 ms"
queue.droptail.packets = 200
[radio.dch.uplink]
rate = "1 Mbit/s"
delay = "10 ms"
[tcp]
sack = true
recovery.sack = {}
[[flow]]
app.bulk = {}
"""


def check_whole(done: Transfer) -> None:
    """Checksums are right, what is no TCP has passed as it came, and of TCP nothing has passed."""
    assert done.packets and all(packet.has_right_checksums() for packet in done.packets)
    for downlink in (True, False):
        found = passage(done.packets, downlink)
        assert not any(packet.is_tcp is False for packet in found.made)
        ends = [{one.octets for one in done.at(end, downlink)} for end in ("server", "ue")]
        assert ends[0] and ends[1] and not ends[0] & ends[1]
    counted = done.box("split")
    assert counted["bad_checksums"] == counted["no_room"] == 0


def first(packets: list[Captured], flag: int) -> Captured:
    """The first with this flag."""
    return next(packet for packet in packets if packet.flags & flag)


def acknowledged(packets: list[Captured], start: int) -> list[tuple[float, int]]:
    """When ACKs passed, and how many octets behind the SYN they acknowledge."""
    acks = (packet for packet in packets if not packet.flags & (SYN | RST))
    return [(packet.at_s, (packet.ack - start - 1) % 2**32) for packet in acks]


@pytest.mark.slow
def test_losses_of_the_radio_are_not_the_senders_and_it_is_faster(carry: Carry) -> None:
    whole, split = carry(LINK, 600_000), carry(SPLIT + LINK, 600_000)
    check_whole(split)
    assert split.client["took_s"][0] < whole.client["took_s"][0] / 1.5
    assert whole.kernel["RetransSegs"] > 5 and split.kernel.get("RetransSegs", 0) == 0
    (connection,) = split.box("split")["connections"]
    assert connection["towards_ue"]["retransmissions"] > 5
    assert connection["towards_ue"]["bytes_given"] == 600_000
    # What the box sends has numbers of its own, and is acknowledged to the server before the UE has it.
    answers = [first(split.at(end, downlink=True), SYN) for end in ("server", "ue")]
    assert answers[0].seq != answers[1].seq
    at_server = acknowledged(split.at("server", downlink=False), answers[0].seq)
    at_ue = acknowledged(split.at("ue", downlink=False), answers[1].seq)
    ahead = [at_s for at_s, octets in at_server if octets > max((o for t, o in at_ue if t < at_s), default=0)]
    # An ACK takes 80 ms from the middlebox to the server; in that time the UE may or may not have caught up.
    assert len(ahead) > 10


@pytest.mark.slow
@pytest.mark.parametrize(("what", "version"), [("get", "--ipv6"), ("put", "--ipv6"), ("put", "")])
def test_connections_open_and_close_one_after_the_other_both_ways(what, version, carry) -> None:
    done = carry(SPLIT + LINK, 60_000, "--times", 8, version, what=what, congestion_control="cubic")
    check_whole(done)
    connections = done.box("split")["connections"]
    assert len(connections) == 8
    # Who closes first is in TIME-WAIT: the box towards the end that closes last.
    *earlier, latest = [(one["towards_ue"]["state"], one["towards_server"]["state"]) for one in connections]
    assert {state for ends in earlier for state in ends} <= {"TimeWait", "Closed"}
    # The run ends with the client, and then the ACK of the latest FIN may still be in transit.
    assert set(latest) <= {"TimeWait", "Closed", "LastAck"}
    for end in ("server", "ue"):
        for downlink in (True, False):
            ports = {one.connection for one in done.at(end, downlink) if one.flags & FIN}
            assert len(ports) == 8, f"FINs at {end}, downlink {downlink}: {ports}"


@pytest.mark.slow
def test_a_reset_goes_on_to_the_server(carry) -> None:
    done = carry(SPLIT + LINK, 3_000_000, what="reset")
    check_whole(done)
    resets = [first(done.at(end, downlink=False), RST) for end in ("ue", "server")]
    assert resets[0].at_s < resets[1].at_s < resets[0].at_s + 1
    (connection,) = done.box("split")["connections"]
    assert connection["towards_ue"]["ended"] == "Reset"


def test_where_nobody_listens_the_ue_hears_of_it(carry) -> None:
    done = carry(SPLIT + LINK, 1, what="refused")
    assert done.client["was_reset"] is True
    (connection,) = done.box("split")["connections"]
    assert connection["towards_server"]["ended"] == "Refused"
