#!/usr/bin/env python3
"""QUIC through a link: aioquic in virtual time and live, and TCP beside it. See docs/quic.md.

`quic.py live` downloads over `airpath.Net` and over `airpath.RadioLink` with the same stack, scenario and seeds,
and compares goodput and the median round-trip time in pairs. It wants what `airpath doctor` asks for, and takes as
long as the downloads.

Needs `pip install aioquic`.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import math
import socket
import ssl
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from aioquic.asyncio import QuicConnectionProtocol
from aioquic.asyncio.server import QuicServer
from aioquic.buffer import Buffer
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived
from aioquic.quic.logger import QuicLogger, QuicLoggerTrace
from aioquic.quic.packet import pull_quic_header
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

import airpath
from airpath.stats.estimate import Estimate, estimate

CONTROLS = ("cubic", "reno")
# For a live download, seconds.
PATIENCE_S = 600
ENDS = {"server": (airpath.Net.address("server"), 4433), 0: (airpath.Net.address(0), 5000)}


def download(net, client, accept, size):
    """Time in ns at which a client at UE 0 has `size` bytes of a server."""
    ends, active, received, now = {0: client}, [0], 0, 0
    client.connect(ENDS["server"], now=0.0)
    ask(client)
    while received < size:
        for end in active:
            for data, to in ends[end].datagrams_to_send(now=now / 1e9):
                net.send(now, end, data, ENDS[end], to)
        timers = {end: connection.get_timer() for end, connection in ends.items()}
        # A microsecond later: rounded, a deadline may lie before itself.
        due = {end: int(at * 1e9) + 1000 for end, at in timers.items() if at is not None}
        arrival = net.advance(max(now, min([*due.values(), net.next_wakeup() or 2**63])))
        now = net.now
        if arrival is None:
            active = [end for end, at in due.items() if at <= now]
            for end in active:
                ends[end].handle_timer(now=now / 1e9)
        else:
            active = [arrival.to]
            src, _, _, data = arrival.datagram()
            if arrival.to not in ends:
                ends["server"] = accept(data)
            ends[arrival.to].receive_datagram(data, src, now=now / 1e9)
        for connection in ends.values():
            while (event := connection.next_event()) is not None:
                received += follow(connection, event, size)
    return now


def ask(client):
    """A client's request, sent as soon as there are keys."""
    client.send_stream_data(client.get_next_available_stream_id(), b"all of it", end_stream=True)


def follow(connection, event, size):
    """Answer a request with `size` bytes; of an answer, return how many bytes came."""
    if isinstance(event, ConnectionTerminated):
        raise RuntimeError(f"the connection ended: {event.reason_phrase}")
    if not isinstance(event, StreamDataReceived):
        return 0
    if connection.configuration.is_client:
        return len(event.data)
    if event.end_stream:
        connection.send_stream_data(event.stream_id, bytes(size), end_stream=True)
    return 0


def accept(data, configuration):
    """A server's connection for a client's first datagram."""
    header = pull_quic_header(Buffer(data=data), host_cid_length=8)
    return QuicConnection(
        configuration=configuration, original_destination_connection_id=header.destination_cid
    )


def identity() -> tuple[Ed25519PrivateKey, x509.Certificate]:
    """A key and its certificate, of the same size each time."""
    key = Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
    day = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, day, day.replace(year=2040))
    return key, builder.sign(key, algorithm=None)


class Samples(QuicLogger):
    """A sender's round-trip times in ms, and the number of packets that it took for lost."""

    def __init__(self) -> None:
        super().__init__()
        self.rtt_ms: list[float] = []
        self.lost = 0

    def start_trace(self, is_client: bool, odcid: bytes) -> QuicLoggerTrace:
        samples = self

        class Trace(QuicLoggerTrace):
            def log_event(self, *, category: str, event: str, data: dict) -> None:
                if "latest_rtt" in data:
                    samples.rtt_ms.append(data["latest_rtt"])
                samples.lost += event == "packet_lost"

        return Trace(is_client=is_client, odcid=odcid)

    def end_trace(self, trace: QuicLoggerTrace) -> None:
        """Keep what was counted."""


def configurations(control: str, samples: Samples) -> tuple[QuicConfiguration, QuicConfiguration]:
    """Of a client, and of a server that samples."""
    key, certificate = identity()
    client = QuicConfiguration(
        alpn_protocols=["test"], congestion_control_algorithm=control, verify_mode=ssl.CERT_NONE
    )
    server = QuicConfiguration(
        alpn_protocols=["test"],
        congestion_control_algorithm=control,
        is_client=False,
        certificate=certificate,
        private_key=key,
        quic_logger=samples,
    )
    return client, server


@dataclass(frozen=True)
class Outcome:
    """What came of a download."""

    done_s: float
    """When the client had everything."""
    goodput_kbps: float
    sent: int
    """IP packets of the server."""
    dropped: int
    """Of these, by the link."""
    acks: int
    """IP packets of the client."""
    delay_ms: float
    """Mean time of a packet in the bearer and its buffer."""
    rtt_ms: float = math.nan
    """Median of the server's samples."""
    valid: bool = True


def outcome(size: int, done_s: float, downlink, uplink, report, **more) -> Outcome:
    """From a link's statistics and the report of its elements."""
    cell = next(part for part in report if part["element"].startswith("radio."))
    delay_ms = cell["ues"][0]["downlink"]["mean_delay_ms"]
    return Outcome(
        done_s, 8e-3 * size / done_s, downlink.sent, downlink.dropped, uplink.sent, delay_ms, **more
    )


def virtual(scenario: airpath.Scenario, seed: int, size: int, control: str) -> Outcome:
    """A download by aioquic in virtual time."""
    net, samples = airpath.Net(scenario, seed), Samples()
    client, server = configurations(control, samples)
    done = download(net, QuicConnection(configuration=client), lambda data: accept(data, server), size)
    stats = net.stats()
    return outcome(
        size, done / 1e9, stats.downlink, stats.uplink, net.report(), rtt_ms=statistics.median(samples.rtt_ms)
    )


def live(scenario: airpath.Scenario, seed: int, size: int, control: str) -> Outcome:
    """The same by aioquic's own sockets and timers."""
    samples = Samples()
    with (
        tempfile.TemporaryDirectory() as folder,
        airpath.RadioLink(scenario, Path(folder), seed=seed) as link,
    ):
        done_s = asyncio.run(asyncio.wait_for(live_download(link, size, control, samples), PATIENCE_S))
        stats = link.close()
        return outcome(
            size,
            done_s,
            stats.downlink,
            stats.uplink,
            link.results["elements"],
            rtt_ms=statistics.median(samples.rtt_ms),
            valid=link.results["live"]["valid"],
        )


async def live_download(link: airpath.RadioLink, size: int, control: str, samples: Samples) -> float:
    """Seconds until a client at the UE has `size` bytes of a server."""
    loop = asyncio.get_running_loop()
    client, server = configurations(control, samples)
    complete, received = loop.create_future(), 0

    class End(QuicConnectionProtocol):
        def quic_event_received(self, event: QuicEvent) -> None:
            nonlocal received
            received += follow(self._quic, event, size)
            if received == size and not complete.done():
                complete.set_result(loop.time())

    sockets = [end.socket(type=socket.SOCK_DGRAM) for end in (link.server, link.ue)]
    for end, bound in zip((link.server, link.ue), sockets, strict=True):
        bound.bind((end.address, 4433))
    listener, _ = await loop.create_datagram_endpoint(
        lambda: QuicServer(configuration=server, create_protocol=End), sock=sockets[0]
    )
    caller, protocol = await loop.create_datagram_endpoint(
        lambda: End(QuicConnection(configuration=client)), sock=sockets[1]
    )
    began = loop.time()
    protocol.connect((link.server.address, 4433), transmit=False)
    ask(protocol._quic)
    protocol.transmit()
    done_s = await complete - began
    listener.close()
    caller.close()
    return done_s


def tell_live(scenario: airpath.Scenario, size: int, control: str, seeds: range) -> None:
    """Live and virtual in pairs."""
    runs: dict[str, list[Outcome]] = {"live": [], "virtual": []}
    for seed in seeds:
        runs["virtual"].append(virtual(scenario, seed, size, control))
        runs["live"].append(live(scenario, seed, size, control))
        print(
            f"seed {seed}: " + ", ".join(f"{way} {of[-1].done_s:.2f} s" for way, of in runs.items()),
            flush=True,
        )
    for run, seed in zip(runs["live"], seeds, strict=True):
        if not run.valid:
            print(f"seed {seed}: the live run is NOT VALID: packets left too late")
    print(f"\n| {scenario.name}, {control}, {len(seeds)} seeds | live | virtual | live above virtual |")
    print("|---|---|---|---|")
    for name, what in SHOWN.items():
        both = [estimate(getattr(run, name) for run in runs[way]) for way in ("live", "virtual")]
        means = " | ".join(f"{one.mean:.1f} ({one.sd:.1f})" for one in both)
        above = airpath.paired(*both).relative
        print(f"| {what} | {means} | {shown_percent(above)} |")


def shown_percent(share: Estimate) -> str:
    return f"{100 * share.mean:+.1f} % [{100 * share.ci_low:+.1f}, {100 * share.ci_high:+.1f}]"


SHOWN = {
    "goodput_kbps": "goodput, kbit/s",
    "rtt_ms": "RTT, ms",
    "sent": "packets sent",
    "dropped": "of these dropped",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scenario", default="umts-384")
    parser.add_argument("--control", default="cubic", choices=CONTROLS)
    parser.add_argument("--size", type=int, default=1_000_000, help="bytes")
    parser.add_argument("--seeds", type=int, default=10, help="1 to this")
    arguments = parser.parse_args()
    scenario = airpath.load(arguments.scenario)
    tell_live(scenario, arguments.size, arguments.control, range(1, arguments.seeds + 1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
