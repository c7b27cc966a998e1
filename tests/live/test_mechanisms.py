"""Every mechanism on real packets: its effect shows in the capture, and everything else is as it was sent.

Kernels communicate through the middleboxes of scenarios. Datagrams and pings run concurrently with each
transfer; no middlebox may touch them. There is no wired delay: a packet passes a middlebox in the network at
the same instant as the server's end, so that the capture has the order in which the box saw things, in the
model's time, whatever the machine's load is.
"""

from __future__ import annotations

import sys
from itertools import pairwise

import pytest
from programs import needs

import airpath
from live.carried import (
    LINK,
    Carry,
    Transfer,
    carry,
    check_delays_and_drops,
    check_nothing_else,
    retransmitted,
)
from live.packets import (
    ACK,
    AE,
    FIN,
    PSH,
    RST,
    SYN,
    WINDOW_SCALE,
    Captured,
    Passage,
    ack_and_window,
    radio_flag,
    sack_blocks,
    window,
)

__all__ = ["carry"]
pytestmark = needs("ping")
# So that a sender neither meets the end of a buffer nor outgrows a box.
WINDOW = ("net.ipv4.tcp_rmem=4096 131072 131072",)


def simulated_drops(boxes: str, downlink: bool) -> set[int]:
    """Which packets, by number, the boxes at the UE drop in a simulation; one comes every millisecond."""
    direction = "downlink" if downlink else "uplink"
    link = '[radio.dch]\ndownlink.rate = "100 Mbit/s"\nuplink.rate = "100 Mbit/s"\n'
    cbr = 'app.cbr = { size = "1000 B", rate = "8 Mbit/s", packets = 2000 }'
    flow = f'[[flow]]\ndirection = "{direction}"\n{cbr}\n'
    events = airpath.run(airpath.Scenario("losses", boxes + link + flow), seed=1).trace["dropped"]
    return {int(time * 1000) for time in events["time_s"]}


@pytest.mark.slow
def test_packets_are_dropped_that_a_simulation_drops(carry):
    boxes = '[[middlebox]]\npacket_loss = { downlink.loss = "4 %", uplink.loss = "20 %" }\n'
    done = carry(boxes + LINK, 500_000)
    ways = check_delays_and_drops(done)
    for found, downlink, share in zip(ways, (True, False), (0.04, 0.2), strict=True):
        # The middlebox is at the UE: it sees the UE's packets at once, and the others in the buffer's order.
        source = "server" if downlink else "ue"
        sent = [one for one in done.packets if one.end == source and one.is_downlink == downlink]
        lost = {id(one) for one in found.lost}
        mine = {number for number, one in enumerate(sent) if id(one) in lost}
        # Packets still in flight at the end are neither.
        known = len(sent) - 20
        assert {number for number in mine if number < known} == {
            number for number in simulated_drops(boxes, downlink) if number < known
        }
        assert len(lost) == pytest.approx(share * len(sent), abs=5 * (share * len(sent)) ** 0.5)
    dropped = done.box("packet_loss")
    assert [dropped[way]["dropped"] for way in ("downlink", "uplink")] == [len(found.lost) for found in ways]


@pytest.mark.slow
def test_fewer_acks_cross_a_slow_uplink_and_no_sack_block_is_missing(carry):
    slow = LINK.replace("1 Mbit/s", "48 kbit/s")
    done = carry("[[middlebox]]\nack_filter = {}\n" + slow, 1_000_000)
    _, up = check_delays_and_drops(done)
    # Packets after the last one that arrived were in flight.
    uplink = [one for one in done.packets if not one.is_downlink]
    came_of = {one.octets for one in uplink if one.end == "server"}
    until = max(one.at_s for one in uplink if one.end == "ue" and one.octets in came_of)
    filtered = [one for one in up.lost if one.at_s < until]
    assert 50 < len(filtered) <= done.box("ack_filter")["queues"][0]["acks_filtered"]
    assert all(ack.is_pure_ack for ack in filtered)
    # What an ACK reported that did not cross, a later one that did reports too, or acknowledges.
    crossed = [one for one in uplink if one.end == "ue" and one.octets in came_of]
    for ack in filtered:
        later = [one for one in crossed if one.at_s >= ack.at_s]
        for start, end in ack.sack:
            assert any(
                one.ack >= end or any(first <= start and end <= last for first, last in one.sack)
                for one in later
            )
    sent, came = (sum(one.is_pure_ack for one in done.at(end, downlink=False)) for end in ("ue", "server"))
    assert came < 0.75 * sent


@pytest.mark.slow
def test_a_sender_hears_of_no_window_above_that_of_the_box(carry):
    done = carry('[[middlebox]]\nwindow_clamp.window = "20 kB"\n' + LINK, 300_000)
    down, up = check_nothing_else(done, downlink=window, uplink=window)
    assert (down.made, up.made, down.overtaken, up.overtaken) == ([], [], 0, 0)
    (scale,) = {
        value[0]
        for packet in done.at("ue", downlink=False)
        if packet.flags & SYN
        for kind, _, value in packet.options()
        if kind == WINDOW_SCALE
    }
    assert len(up.changed) > 20
    for before, after in up.changed:
        most = 20_000 if after.flags & SYN else 20_000 >> scale
        assert before.window > after.window == most
    assert all(
        one.window << scale <= 20_000 for one in done.at("server", downlink=False) if not one.flags & SYN
    )


def test_acks_leave_with_a_distance_in_time(carry):
    done = carry('[[middlebox]]\nack_pacing.rate = "1 Mbit/s"\n' + LINK, 600_000)
    check_delays_and_drops(done)

    def distances(end: str) -> list[float]:
        passed = done.at(end, downlink=False)
        # A FIN lets everything go before it; the handshake's ACK comes before any data.
        until = next(one.at_s for one in passed if one.flags & FIN)
        times = [one.at_s for one in passed if one.is_pure_ack and one.at_s < until]
        return [after - before for before, after in pairwise(times[1:])]

    # A packet of 1500 octets at 1 Mbit/s.
    assert min(distances("server")) > 0.012 - 1e-6
    assert sum(distance < 0.006 for distance in distances("ue")) > 20


SMALL = """
[radio.dch.downlink]
rate = "2 Mbit/s"
delay = "10 ms"
queue.droptail = { packets = 15, in_service = "excluded" }
[radio.dch.uplink]
rate = "1 Mbit/s"
delay = "10 ms"
[[flow]]
app.bulk = {}
"""
REGULATOR = '[[middlebox]]\nack_regulator = { alpha = 1000, growth = "acked" }\n'


def late_losses(done: Transfer, found: Passage) -> int:
    """Segments with data that did not arrive, after the first quarter of the transfer."""
    sent = [one for one in done.at("server", downlink=True) if one.is_data]
    return sum(one.is_data and one.at_s > sent[len(sent) // 4].at_s for one in found.lost)


@pytest.mark.slow
def test_a_small_buffer_overflows_no_more_with_a_regulator(carry):
    # The first slow start overflows it despite the regulator. Datagrams are not regulated: few of them.
    fast = SMALL.replace("2 Mbit/s", "4 Mbit/s").replace("packets = 15", "packets = 8")
    few = (2_000_000, "--datagrams", 3)

    def lost(boxes):
        done = carry(boxes + fast, *few)
        down, _ = check_delays_and_drops(done)
        assert len(down.lost) == done.dropped_by_the_buffer
        return done, late_losses(done, down)

    _, unregulated = lost("")
    # Where a busy machine stops the server for longer than a timeout, there is a second slow start.
    for _ in range(3):
        regulated, fewer = lost(REGULATOR)
        if fewer < 0.25 * unregulated:
            break
    assert unregulated > 5 and fewer < 0.25 * unregulated, (unregulated, fewer)
    (flow,) = (flow for flow in regulated.box("ack_regulator")["flows"] if flow["acks"] > 0)
    assert flow["acks_held"] > 0 == flow["held_at_end"]


@pytest.mark.slow
def test_connections_that_have_ended_take_no_room_from_those_that_follow(carry):
    done = carry(REGULATOR + SMALL, 60_000, "--times", 15, "--ipv6")
    check_delays_and_drops(done)
    took = done.client["took_s"]
    assert len(took) == 15
    # 0.3 s each; an ACK that is held without effect waits for 0.2 s.
    assert sorted(took[-7:])[3] < sorted(took[:7])[3] + 0.15


# The queue of the AM bearer holds SDUs that are not acknowledged, and may drop one that waits.
AM = """
[radio.dch.downlink]
rate = "1024 kbit/s"
delay = "15 ms"
queue.{queue}
rlc.am = {{ tti = "10 ms", pdu = "82 B" }}
[radio.dch.uplink]
rate = "256 kbit/s"
delay = "15 ms"
rlc.am = {{ tti = "10 ms", pdu = "42 B" }}
[[flow]]
app.bulk = {{}}
"""
# Figure 14 of Alcaraz and Cerdan, for a bearer that is 8/3 as fast.
CONTROL = """
[[middlebox]]
[middlebox.ack_rate_control]
release = "one_per_tti"
occupancy = "untransmitted"
t_id.linear = { minth = 0, maxth = 40, maxd = "300 ms" }
t_id_after_drop.off = {}
"""


@pytest.mark.slow
def test_the_queue_is_shorter_and_goodput_hardly_less_with_ack_rate_control_and_pdpc(carry):
    delays, rates = [], []
    for boxes, queue in (
        ("", "droptail.packets = 50"),
        (CONTROL, 'pdpc = { packets = 50, max_threshold = 40, arriving = "excluded" }'),
    ):
        done = carry(boxes + AM.format(queue=queue), 700_000)
        check_delays_and_drops(done)
        delays.append(done.median_delay_s)
        rates.append(done.download["goodput_bps"])
    assert delays[1] < delays[0] * 0.7, delays
    assert rates[1] > 0.8 * rates[0], rates


SNOOP = "[[middlebox]]\nsnoop = {}\n"
LOSSY = '[[middlebox]]\npacket_loss.{way}.loss = "3 %"\n'


@pytest.mark.slow
def test_losses_of_the_radio_are_repaired_without_the_sender(carry):
    again = []
    for boxes in ("", SNOOP):
        done = carry(boxes + LOSSY.format(way="downlink") + LINK, 1_000_000, sysctls=WINDOW)
        down, up = check_nothing_else(done, uplink=sack_blocks)
        assert up.made == down.changed == []
        assert done.dropped_by_the_buffer == 0
        again.append(retransmitted(done))
    assert again[0] > 10 and again[1] <= again[0] / 5, again
    # Every packet that arrived was sent by the server unchanged, or is a copy of one.
    sent = {one.octets for one in done.packets if one.end == "server" and one.is_downlink}
    assert all(one.octets in sent for one in down.made)
    repairs = done.box("snoop")["local_retransmissions"]["total"]
    assert done.box("packet_loss")["downlink"]["dropped"] == len(down.lost) + repairs - len(down.made)
    # The UE's ACKs that the middlebox kept are missing; where it removed SACK blocks, none are.
    assert all(one.is_pure_ack for one in up.lost)
    assert len([one for one in up.lost if one.sack]) > 10
    assert all(before.sack and not after.sack for before, after in up.changed)


@pytest.mark.slow
def test_a_ue_is_told_which_of_its_segments_the_radio_has_lost(carry):
    done = carry(SNOOP + LOSSY.format(way="uplink") + LINK, 900_000, what="put", sysctls=WINDOW)
    down, up = check_nothing_else(done)
    assert up.made == up.changed == down.changed == []
    assert len(down.made) == done.box("snoop")["nacks"] > 2
    # A NACK says what the server has said, and names what has come over the radio: no octet that did not.
    server: list[Captured] = []
    nacks = [id(one) for one in down.made]
    came: set[tuple[int, int]] = set()
    for one in done.packets:
        if one.is_tcp and one.end == "server":
            server += [one] if one.is_downlink else []
            came |= {(one.seq, one.end_seq)} if one.is_data else set()
        elif id(one) in nacks:
            assert one.flags == ACK | PSH | AE and not one.payload
            assert any((one.ack, one.window) == (said.ack, said.window) for said in server[-200:])
            lefts, rights = {left for left, _ in came}, {right for _, right in came}
            assert one.sack
            assert all(
                right in rights and (left in lefts or left == (one.ack + 1) % 2**32)
                for left, right in one.sack
            )


def flagged_by_figures_3_and_4(seen: list[Captured]) -> list[bool]:
    """Which ACKs the RNC of Jayanathan et al. flags, of all segments that pass it, in their order.

    Figure 3: a segment goes into the table. Figure 4: from the second duplicate on an ACK is flagged whose
    segment is there.
    """
    table: list[tuple[int, int]] = []
    first, last, dupacks, found = 0, -1, 0, []
    for one in seen:
        if one.is_downlink:
            if one.flags & SYN:
                first, last, dupacks, table = one.seq + 1, -1, 0, []
            elif one.payload:
                begin = (one.seq - first) % 2**32
                last = max(last, begin) if last < 0 else last
                if begin + len(one.payload) > last:
                    table.append((begin, begin + len(one.payload)))
            continue
        is_flagged = False
        ack = (one.ack - first) % 2**32
        if one.flags & (SYN | FIN | RST):
            table, last, dupacks = [], -1, 0
        elif last >= 0 and ack > last:
            last, dupacks = ack, 0
            table = [(begin, end) for begin, end in table if end > ack]
        elif last >= 0 and ack == last and one.is_pure_ack:
            dupacks += 1
            is_flagged = dupacks >= 2 and any(begin <= ack < end for begin, end in table)
        found.append(is_flagged)
    return found


@pytest.mark.slow
def test_the_acks_are_flagged_that_the_papers_figures_flag_and_no_others(carry):
    boxes = "[[middlebox]]\nrnc_feedback = {}\n" + LOSSY.format(way="downlink")
    done = carry(boxes + LINK, 700_000, sysctls=WINDOW)
    down, up = check_nothing_else(done, uplink=radio_flag)
    assert down.changed == down.made == up.made == up.lost == []
    assert done.dropped_by_the_buffer == down.overtaken == up.overtaken == 0
    seen = [one for one in done.packets if one.end == "server" and one.is_tcp]
    flagged = [bool(one.flags & AE) for one in seen if not one.is_downlink]
    assert flagged == flagged_by_figures_3_and_4(seen)
    assert sum(flagged) == len(up.changed) == done.box("rnc_feedback")["acks_flagged"] > 20
    assert not any(one.flags & AE for one in done.packets if one.is_tcp and one.end == "ue")


# Reads from airpath's endpoint.
READ = """
import os, socket
with socket.create_connection((os.environ["AIRPATH_SERVER"], 5001), timeout=40) as connection:
    octets = 0
    while part := connection.recv(65536):
        octets += len(part)
print(octets)
"""


@pytest.mark.slow
def test_our_sender_keeps_its_window_where_acks_are_flagged(live, tmp_path):
    boxes = "[[middlebox]]\nrnc_feedback = {}\n" + LOSSY.format(way="downlink")
    file = tmp_path / "link.toml"
    file.write_text(boxes + LINK.replace("app.bulk = {}", 'app.file.size = "700 kB"'))
    rates, cuts = [], []
    for rnf in ("off", "first_flagged"):
        options = (file, "--sender", "airpath", "--set", f"tcp.rnf={rnf}", "--sysctl", *WINDOW, "--force")
        outcome = live(*options, command=[sys.executable, "-c", READ], out=True)
        assert (outcome.code, outcome.out.strip()) == (0, "700000"), outcome.err
        (flow,) = (flow for flow in outcome.flows("tcp") if flow["bytes_received"] >= 700_000)
        rates.append(flow["goodput_bps"])
        cuts.append(flow["loss_episodes"]["events"])
        boxed = next(one for one in outcome.results["elements"] if one["element"] == "middlebox.rnc_feedback")
        assert boxed["acks_flagged"] > 0
    assert rates[1] > 1.3 * rates[0], rates
    assert cuts[1] < cuts[0] / 2, cuts


HANDOVER = """
[[handover]]
at = "2500 ms"
outage = "2 s"
warning = "1 s"
bearers = "{bearers}"
{boxes}
[radio.dch.downlink]
rate = "2 Mbit/s"
delay = "30 ms"
queue.droptail.packets = 60
[radio.dch.uplink]
rate = "1 Mbit/s"
delay = "30 ms"
[[flow]]
app.bulk = {{}}
"""
ENDS_S = 4.5


def away(carry: Carry, bearers: str, boxes: str) -> Transfer:
    """A download whose UE is out of reach for two seconds; the file takes eight seconds.

    The buffer holds the whole window: nothing is lost, and no timer expires, except for the outage.
    """
    return carry(HANDOVER.format(bearers=bearers, boxes=boxes), 1_300_000, sysctls=WINDOW)


def silence_s(done: Transfer) -> float:
    """From the end of the outage until the server sends data again."""
    times = (one.at_s for one in done.at("server", downlink=True) if one.is_data)
    return next(time for time in times if time >= ENDS_S) - ENDS_S


def check_frozen(done: Transfer) -> Passage:
    """The box has changed acknowledgment numbers and windows, within what the UE has said, and no more."""
    down, up = check_nothing_else(done, uplink=ack_and_window)
    assert down.changed == down.made == []
    assert down.overtaken == up.overtaken == 0
    closed = 0
    for before, after in up.changed:
        assert (before.ack - after.ack) % 2**32 in (0, 1)
        # Behind an outage three ACKs open the window step by step.
        assert after.window in (0, *range(before.window - 2, before.window + 1))
        assert after.sack == before.sack
        closed += after.window == 0
    said = {(one.ack, one.connection) for one in done.at("ue", downlink=False)}
    for made in up.made:
        assert made.is_pure_ack and (made.ack, made.connection) in said
        closed += made.window == 0
    assert closed > 0
    return up


@pytest.mark.slow
def test_a_sender_frozen_by_the_network_has_no_timeout(carry):
    without = away(carry, "pause", "")
    check_delays_and_drops(without)
    frozen = away(carry, "pause", '[[middlebox]]\nfreeze.at = "network"')
    check_frozen(frozen)
    assert without.kernel["TCPTimeouts"] > 0 == frozen.kernel.get("TCPTimeouts", 0)
    assert silence_s(frozen) < 0.5


@pytest.mark.slow
def test_a_sender_frozen_by_a_ue_that_was_warned_goes_on_at_once_and_has_lost_nothing(carry):
    without = away(carry, "lose", "")
    check_delays_and_drops(without)
    frozen = away(carry, "lose", '[[middlebox]]\nfreeze.at = "ue"')
    check_frozen(frozen)
    assert without.kernel["TCPTimeouts"] > 0 == frozen.kernel.get("TCPTimeouts", 0)
    assert silence_s(frozen) < min(0.3, silence_s(without))
    # In the outage there was nothing that could be lost.
    assert not any(one.is_data and 2.5 < one.at_s < ENDS_S for one in frozen.packets if one.is_downlink)


# All that only delay or drop, for both directions of data.
CHAIN = """
[[middlebox]]
ack_regulator = {}
[[middlebox]]
ack_rate_control = {}
[[middlebox]]
ack_pacing = {}
[[middlebox]]
tap = {}
[[middlebox]]
ack_filter.at = "ue"
[[middlebox]]
packet_loss = { downlink.loss = "1 %", uplink.loss = "1 %" }
[[middlebox]]
ack_regulator.at = "ue"
[[middlebox]]
ack_rate_control.at = "ue"
[[middlebox]]
ack_pacing.at = "ue"
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["get", "put"])
def test_through_all_that_delay_or_drop_both_directions_arrive_as_they_were_sent(what, carry):
    link = LINK.replace("[radio.dch.uplink]", "[radio.dch.uplink]\nqueue.droptail.packets = 50")
    done = carry(CHAIN + link, 200_000, "--times", 3, "--ipv6", what=what, congestion_control="cubic")
    check_delays_and_drops(done)
