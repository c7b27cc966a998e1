"""`airpath.Net`: the link in virtual time, as transports without I/O use it."""

from __future__ import annotations

import json
import random
import statistics
from pathlib import Path

import pytest

import airpath

MS = 1_000_000
ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "crates" / "kit" / "tests" / "golden.txt"
SERVER, UE = (airpath.Net.address("server"), 4433), (airpath.Net.address(0), 4433)


def send(net, at, sender, size, **options):
    src, dst = (SERVER, UE) if sender == "server" else (UE, SERVER)
    return net.send(at, sender, bytes(size), src, dst, **options)


def arrivals(net, until):
    while (arrival := net.advance(until)) is not None:
        yield arrival


def outcome(net):
    """What `outcome` of crates/kit/tests/all/golden.rs does, in its words."""
    seen, told = 0, 0xCBF2_9CE4_8422_2325
    for step in range(401):
        if step < 400:
            send(net, 10 * MS * step, "server", 100 + 37 * step % 1300, ecn=2)
        if step < 400 and step % 4 == 0:
            send(net, 10 * MS * step, 0, 40 + 13 * step % 200, ecn=2)
        for arrival in arrivals(net, 10 * MS * (step + 1) if step < 400 else 6000 * MS):
            seen += 1
            _, _, ecn, _ = arrival.datagram()
            row = arrival.at.to_bytes(8, "little") + bytes([arrival.to != "server"])
            for octet in row + len(arrival.packet).to_bytes(4, "little") + bytes([ecn]):
                told = (told ^ octet) * 0x0100_0000_01B3 % 2**64
    return f"{seen} {told:016x}"


@pytest.mark.parametrize("line", GOLDEN.read_text().splitlines(), ids=lambda line: line.split()[0])
def test_arrivals_are_those_of_the_crate(line):
    name, expected = line.split(" ", 1)
    assert outcome(airpath.Net(name, seed=1)) == expected


def test_a_link_tells_what_it_did(tmp_path):
    scenario = airpath.load("umts-384").with_("radio.dch.downlink.queue.droptail.packets", 5)
    net = airpath.Net(scenario, seed=3, capture=True, probes=["dropped", "bearer_delivered"])
    assert (net.now, net.ues, net.next_wakeup()) == (0, [0], None)
    assert {send(net, 0, "server", 1000) for _ in range(20)} == {"accepted"}
    assert net.next_wakeup() >= 75 * MS
    came = list(arrivals(net, 10_000 * MS))
    downlink = net.stats().downlink
    assert (downlink.sent, downlink.sent_bytes, downlink.delivered) == (20, 20 * 1028, len(came))
    assert downlink.dropped == 20 - len(came) == downlink.reasons["queue_full"] > 0
    assert (net.stats().uplink.sent, net.now) == (0, 10_000 * MS)
    assert [arrival.to for arrival in came] == [0] * len(came)
    assert came[0].datagram() == (SERVER, UE, 0, bytes(1000))
    trace = net.trace()
    assert set(trace["dropped"]["reason"]) == {"queue_full"}
    assert len(trace["dropped"]["time_s"]) == downlink.dropped
    assert len(trace["bearer_delivered"]["time_s"]) == len(came)
    assert not len(net.trace()["dropped"]["time_s"]), "they were taken"
    assert [part["element"] for part in net.report()] == ["link", "radio.dch"]
    captured = tmp_path / "net.pcapng"
    captured.write_bytes(net.capture())
    assert json.loads(airpath._core.analyze(captured))["packets"]["udp"] == 20 + len(came)


def test_whole_packets_pass_and_the_mtu_holds():
    net = airpath.Net("umts-384-simple", mtu=1280)
    assert [send(net, 0, 0, size) for size in (1252, 1253)] == ["accepted", "too_big"]
    packet = next(arrivals(net, 1000 * MS)).packet
    assert net.send_ip(net.now, "server", packet) == "accepted"
    assert next(arrivals(net, 2000 * MS)).packet == packet
    assert net.send_ip(net.now, "server", b"\x45" * 20) == "accepted"
    assert next(arrivals(net, 3000 * MS)).datagram() is None


def overtaken(numbers):
    """Packets that come after one that was sent later: RFC 4737 (3.3)."""
    return sum(number < max(numbers[:at], default=0) for at, number in enumerate(numbers))


def delays(scenario):
    """Delays in ms of 160 bytes every 10 ms for ten seconds, by number, in the order of arrival."""
    net, came = airpath.Net(scenario, seed=1), []
    for number in range(1000):
        came += arrivals(net, 10 * MS * number)
        net.send(10 * MS * number, "server", number.to_bytes(160, "big"), SERVER, UE)
    came += arrivals(net, 20_000 * MS)
    numbers = (int.from_bytes(arrival.datagram()[3], "big") for arrival in came)
    return {number: arrival.at / MS - 10 * number for number, arrival in zip(numbers, came, strict=True)}


def netem(delays):
    """Order of the same packets after `netem delay MEAN JITTER distribution normal`: a model of it.

    Each packet draws its delay for itself, normal with this mean and standard deviation, and leaves when its
    time has come, whatever was sent before (tc-netem(8): jitter reorders).
    """
    draw = random.Random(1).gauss
    mean, jitter = statistics.mean(delays.values()), statistics.stdev(delays.values())
    return sorted(delays, key=lambda number: 10 * number + max(0.0, draw(mean, jitter)))


def test_jitter_of_a_bearer_reorders_nothing_where_that_of_netem_does():
    document = (ROOT / "docs" / "testkit.md").read_text()
    for scenario in ("umts-384", "hsdpa-3.6-still", "lte-10mhz-still"):
        seen = delays(scenario)
        assert overtaken(list(seen)) == 0 and len(seen) > 950
        mean, jitter = statistics.mean(seen.values()), statistics.stdev(seen.values())
        counts = f"{len(seen)} | 0 | {overtaken(netem(seen))}"
        assert f"| `{scenario}` | {mean:.0f} ms | {jitter:.0f} ms | {counts} |" in document, (mean, counts)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda net: send(net, 0, 1, 9), ValueError, r"UE 1 is not yours: your UEs are \[0\]"),
        (
            lambda net: net.send(0, "ue", b"", SERVER, UE),
            ValueError,
            "an end is \"server\" or the number of a UE, not 'ue'",
        ),
        (lambda net: net.send(0, None, b"", SERVER, UE), ValueError, "or the number of a UE, not None"),
        (lambda net: send(net, 0.5, 0, 9), TypeError, "'float' object"),
        (lambda net: send(net, -1, 0, 9), ValueError, "negative"),
        (lambda net: send(net, 0, 0, 9, ecn=4), ValueError, "the ECN field has two bits, and 4 is more"),
        (lambda net: net.send(0, 0, b"", ("here", 1), UE), ValueError, "invalid IP address"),
        (lambda _: airpath.Net("umts-385"), airpath.ScenarioError, "no such scenario"),
        (
            lambda _: airpath.Net("umts-384", mtu=70_000),
            airpath.ScenarioError,
            "mtu: 70000 is no size of an IP packet",
        ),
        (
            lambda _: airpath.Net("umts-384", most_inside=-1),
            airpath.ScenarioError,
            "most_inside: -1 is no number of packets",
        ),
        (lambda _: airpath.Net("umts-384", seed=-1), airpath.ScenarioError, "seed: -1 is out of range"),
        (lambda _: airpath.Net("umts-384", probes=["x"]), airpath.ScenarioError, "there is no probe 'x'"),
    ],
)
def test_wrong_calls_are_refused_in_words(call, error, words):
    with pytest.raises(error, match=words):
        call(airpath.Net("umts-384"))


def test_the_first_test_of_the_document_is_a_test():
    document = (ROOT / "docs" / "testkit.md").read_text()
    assert (ROOT / "crates" / "kit" / "tests" / "all" / "first.rs").read_text() in document


def test_quic_of_another_implementation_downloads_the_same_twice():
    virtual = pytest.importorskip("quic_ends", exc_type=ImportError).virtual

    first, again, other = (virtual(airpath.load("umts-384"), seed, 100_000, "cubic") for seed in (1, 1, 2))
    assert first == again != other
    # 384 kbit/s with 10 % of the blocks retransmitted, and a handshake.
    assert 2.3 < first.done_s < 4.5 and first.carried > 1.03
    assert 300 < first.rtt_ms < 1500
