"""`airpath record`: packets, the saturator over a known link, and both ends over the loopback device."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections import deque

import numpy as np
import pytest
from conftest import check_error

from airpath.recordings.own.client import Recorded
from airpath.recordings.own.control import Control
from airpath.recordings.own.folder import clocks_of, directions_of, light_csv
from airpath.recordings.own.packets import HEADER, PADDED, Kind, Packet, parse
from airpath.recordings.own.peer import Log, Peer, Phase
from airpath.recordings.own.saturator import HIGH_S, Saturator
from airpath.recordings.own.server import Server
from airpath.recordings.reader import read_recording


def test_packets_read_back_and_others_are_ignored():
    assert HEADER.size == 48
    report = Packet(Kind.REPORT, 7, 1, 2, 3, 4, 5, 6, 8)
    assert parse(report.octets()) == report
    data = Packet(Kind.DATA, 1 << 63, 9, 1 << 40)
    assert parse(data.octets()) == data and len(data.octets()) == PADDED == 1472
    assert data.octets()[:6] == b"APRC\x01\x01"
    for wrong in (b"", b"APRC", data.octets()[:47], b"X" + data.octets()[1:], report.octets()[:50]):
        assert parse(wrong) is None
    wrong_kind = bytearray(data.octets())
    wrong_kind[5] = 77
    assert parse(bytes(wrong_kind)) is None


def over_a_link(opportunities, buffer_packets, delay_s=0.03, report_s=0.01):
    """Run the saturator over a link that may deliver so many packets in each millisecond.

    Returns opportunities that were missed for want of packets after two seconds, and the largest queueing
    delay.
    """
    saturator = Saturator()
    queue, reports = deque(), deque()
    missed, received, longest_s, dropped = 0, 0, 0.0, 0
    newest, reported_s = None, 0.0
    for ms, count in enumerate(opportunities.tolist()):
        now_s = ms / 1000
        while reports and reports[0][0] <= now_s:
            _, *report = reports.popleft()
            saturator.on_report(now_s, *report)
        for _ in range(64):
            if not saturator.may_send(now_s):
                break
            number = saturator.on_sent(now_s)
            if len(queue) < buffer_packets:
                queue.append((number, now_s))
            else:
                dropped += 1
        for _ in range(count):
            if not queue:
                missed += ms >= 2000
                continue
            number, sent_s = queue.popleft()
            received += 1
            longest_s = max(longest_s, now_s - sent_s)
            newest = (number, received, now_s - sent_s + delay_s + 1e3)  # Another clock.
        if newest is not None and now_s - reported_s >= report_s:
            reports.append((now_s + 2 * delay_s, *newest))
            reported_s, newest = now_s, None
    return missed / opportunities[2000:].sum(), longest_s, dropped / max(1, saturator.sent)


@pytest.mark.parametrize("per_ms", [0.05, 1.0, 6.0])
def test_saturator_keeps_a_link_busy_and_its_queue_bounded(per_ms):
    random = np.random.default_rng(1)
    opportunities = random.poisson(per_ms, 30_000)
    missed, longest_s, dropped = over_a_link(opportunities, 100_000)
    assert missed < 0.01 and longest_s < HIGH_S + 1 and dropped == 0


def test_saturator_keeps_a_link_busy_whose_buffer_is_small_or_whose_rate_falls():
    opportunities = np.random.default_rng(2).poisson(1.5, 40_000)
    missed, _, dropped = over_a_link(opportunities, 300)
    assert missed < 0.02 and dropped < 0.3
    opportunities[10_000:] = np.random.default_rng(3).poisson(0.1, 30_000)
    missed, _, _ = over_a_link(opportunities, 100_000)
    assert missed < 0.01


def test_saturator_finds_the_link_again_after_an_outage_that_lost_everything():
    saturator = Saturator()
    sent = 0
    while saturator.may_send(0.0):
        saturator.on_sent(0.0)
        sent += 1
    assert sent == 32 and not saturator.may_send(0.9)
    # All are lost. After a second single packets are sent, and the first that arrives opens the window.
    assert saturator.may_send(1.1)
    number = saturator.on_sent(1.1)
    assert not saturator.may_send(1.11) and saturator.may_send(1.2)
    saturator.on_report(1.2, number, 1, 0.05)
    assert saturator.may_send(1.2)


def recorded(offset_ns, drift=0.0):
    """Make both logs of ten seconds with a packet in each millisecond; the server's clock differs."""

    def of(client_ns):
        return round(client_ns * (1 + drift)) + offset_ns

    start = 5_000_000_000
    times = [start + 1_000_000 * ms for ms in range(12_000)]
    clocks = [(at, of(at + 20_000_000), at + 40_000_000 + 1_000_000 * (at % 7)) for at in times[::1000]]
    server = Log(data=[(n, at - 50_000_000, of(at)) for n, at in enumerate(times)])
    server.trains = [(0, place, times[0], of(times[0] + 20_000_000)) for place in range(3)]
    client = Log(sent=13_000, clocks=clocks)
    return Recorded(Phase(0, 12.0, True, False, 10**6), start, client, server)


def test_times_of_the_server_are_converted_to_the_clients_clock():
    one = recorded(10**15 + 300_000)
    clocks = clocks_of([one])
    assert clocks.least_rtt_ms == 40
    uplink = directions_of([one], clocks)["uplink"]
    assert (uplink.sent, uplink.received, uplink.recording.duration_s) == (13_000, 12_000, 10.0)
    # The answer took up to 6 ms more: half of that is the error of the clock at most.
    counts = uplink.recording.counts
    assert counts.sum() >= 9990 and counts.max() <= 2
    rows = light_csv([one], clocks).splitlines()
    assert rows[0] == "direction,train,packet,sent_s,delay_ms" and rows[1].startswith("uplink,0,0,0.000000,")
    assert float(rows[1].split(",")[-1]) == pytest.approx(20, abs=3)


def test_clocks_are_compared_where_nothing_waits():
    one = recorded(10**15)
    # A busy downlink delays all answers but one by 1.5 s or more: half of that is no difference of clocks.
    one.client.clocks[:] = [
        (asked, seen, answered + (0 if at < 1 else 1_500_000_000 + 1_000_000 * at))
        for at, (asked, seen, answered) in enumerate(one.client.clocks)
    ]
    rows = light_csv([one], clocks_of([one])).splitlines()
    assert float(rows[1].split(",")[-1]) == pytest.approx(20, abs=3)


def pair_of_sockets():
    """Make two UDP sockets of the loopback device that send to each other."""
    one, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    for each in (one, other):
        each.bind(("127.0.0.1", 0))
    one.connect(other.getsockname())
    other.connect(one.getsockname())
    return one, other


@pytest.mark.slow
def test_packets_that_wait_in_the_link_at_the_end_of_a_phase_are_not_lost():
    one, other = pair_of_sockets()
    with one, other:
        peer = Peer(one, 7, None, asks_clock=False)

        def send():
            for number in range(20):
                other.send(Packet(Kind.DATA, 7, number, time.monotonic_ns()).octets())
                time.sleep(0.1)

        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        log = peer.run(Phase(0, 0.2, False, False, 0), lambda: None)
        thread.join(10)
        assert [row[0] for row in log.data] == list(range(20))


@pytest.fixture
def server():
    one = Server("127.0.0.1", 0, "secret", 10**6)
    yield one
    one.close()


def served(server):
    """Serve one client in a thread; what the server said."""
    said = []
    thread = threading.Thread(target=server.serve, args=(said.append, True), daemon=True)
    thread.start()
    return thread, said


@pytest.mark.slow
@pytest.mark.parametrize("order", ["alternate", "at_once"])
def test_both_directions_of_the_loopback_device_are_recorded(server, order, tmp_path, airpath_command):
    thread, said = served(server)
    folder = tmp_path / "mine"
    outcome = airpath_command(
        *("record", f"127.0.0.1:{server.port}", "--token", "secret", "--out", folder, "--seconds", "5"),
        *("--order", order, "--limit", "4000", "--place", "a table"),
    )
    assert outcome.code == 0, (outcome.err, said)
    thread.join(10)
    meta = json.loads((folder / "meta.json").read_text())
    assert meta["place"] == "a table" and meta["least_rtt_ms"] < 50
    for name, file in (("downlink", "down.ms.gz"), ("uplink", "up.ms.gz")):
        own = meta["directions"][name]
        assert not own["volume_limit_reached"] and own["sent"] >= own["received"] > 5000
        recording = read_recording(folder / file)
        assert recording.mean_bps > 20e6 and recording.duration_s == pytest.approx(3, abs=0.1)
    trains = (folder / "light.csv").read_text().splitlines()
    assert (len(trains) > 100) == (order == "alternate")
    assert len(said) >= 2


@pytest.mark.slow
def test_a_limit_that_leaves_nothing_is_refused(server, tmp_path, airpath_command):
    served(server)
    arguments = ("record", f"127.0.0.1:{server.port}", "--token", "secret", "--out", tmp_path / "x")
    outcome = airpath_command(*arguments, "--seconds", "5", "--order", "at_once", "--limit", "3")
    check_error(outcome, "--limit", "came to it within 3 s", "allow more MB")


def test_a_wrong_token_and_a_wrong_protocol_are_refused(server, tmp_path, airpath_command):
    thread, said = served(server)
    arguments = ("record", f"127.0.0.1:{server.port}", "--out", tmp_path / "x", "--token", "wrong")
    check_error(
        airpath_command(*arguments), f"127.0.0.1:{server.port}", "the token is wrong", "see the output"
    )
    thread.join(10)
    assert said[-1] == "127.0.0.1: has a wrong token" and not (tmp_path / "x" / "meta.json").exists()
    thread, said = served(server)
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert connection.recv(100) == b""
    thread.join(10)
    assert said[-1] == "127.0.0.1: the other end speaks another protocol"


@pytest.mark.parametrize(
    "line",
    [
        b'{"hello": "airpath record 1", "token": "\\ud800"}',
        b"[" * 9000,
        b'{"hello": ' + b"1" * 5000 + b"}",
        b"\xff\xfe",
    ],
    ids=["half a character", "nested", "long number", "no text"],
)
def test_no_line_of_a_stranger_ends_the_server(server, line):
    thread, said = served(server)
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.settimeout(10)
        connection.sendall(line + b"\n")
        while connection.recv(1000):
            pass
    thread.join(10)
    assert said[-1] in ("127.0.0.1: has a wrong token", "127.0.0.1: the other end speaks another protocol")


def test_a_line_that_comes_octet_by_octet_has_no_more_time_than_another():
    one, other = socket.socketpair()
    with one, other:
        control = Control(one)
        control.wait_for(0.3)
        stop = threading.Event()

        def send():
            while not stop.wait(0.1):
                other.sendall(b" ")

        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        with pytest.raises(TimeoutError):
            control.receive()
        stop.set()
        thread.join(10)
        control.close()


def test_a_client_that_is_gone_ends_its_phase(server):
    thread, said = served(server)
    with (
        socket.create_connection(("127.0.0.1", server.port)) as connection,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock,
        connection.makefile("rwb") as file,
    ):

        def ask(**request):
            file.write(json.dumps(request).encode() + b"\n")
            file.flush()
            return json.loads(file.readline())

        session = ask(hello="airpath record 1", token="secret")["session"]
        sock.sendto(Packet(Kind.HELLO, session, 0, 0).octets(), ("127.0.0.1", server.port))
        assert json.loads(file.readline()) == {"ready": True}
        phase = {"number": 0, "seconds": 600, "sends_data": False, "sends_trains": False, "most_packets": 0}
        assert ask(phase=phase) == {"go": True}
    thread.join(20)
    assert not thread.is_alive() and said[-1] == "127.0.0.1: the other end closed the connection"


def test_wrong_options_are_refused(tmp_path, airpath_command):
    out = tmp_path / "x"
    for arguments, key, what, remedy in (
        (("--serve", "--out", out), "--serve", "writes nothing", "remove"),
        (("--out", out), "HOST", "is missing", "--serve"),
        (("host",), "--out", "is missing", "name a folder"),
        (("host", "--out", out), "--token", "is missing", "that the server printed"),
        (("host:x", "--out", out, "--token", "t"), "HOST", "'x' is no port", "65535"),
        (("", "--out", out, "--token", "t"), "HOST", "is missing", "--serve"),
        (("host", "--limit", "inf"), "command line", "'--limit': Input should be less than", "--help"),
    ):
        check_error(airpath_command("record", *arguments), key, what, remedy)
    # No process listens on the discard port.
    outcome = airpath_command("record", "127.0.0.1:9", "--out", out, "--token", "t")
    check_error(outcome, "127.0.0.1:9", "cannot be reached", "--serve")


def test_a_recording_is_read_by_fit_and_describe(tmp_path):
    one = recorded(0)
    direction = directions_of([one], clocks_of([one]))["uplink"]
    file = tmp_path / "up.ms.gz"
    file.write_bytes(gzip.compress(direction.recording.text().encode()))
    assert read_recording(file).mean_bps == pytest.approx(12e6, rel=0.01)
