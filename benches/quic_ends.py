"""aioquic at both ends of a link: without I/O over `airpath.Net`, and live over `airpath.RadioLink`.

Needs `pip install aioquic`.
"""

from __future__ import annotations

import asyncio
import datetime
import math
import socket
import ssl
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

CONTROLS = ("cubic", "reno")
# For a live download, seconds.
PATIENCE_S = 600
ENDS = {"server": (airpath.Net.address("server"), 4433), 0: (airpath.Net.address(0), 5000)}


def download(net, client, accept, size):
    """Time in ns when a client at UE 0 has `size` bytes of a server."""
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
    """A sender's RTT samples in ms, and the number of packets that it declared lost."""

    def __init__(self) -> None:
        super().__init__()
        self.rtt_ms: list[float] = []
        self.lost = 0

    @property
    def median_ms(self) -> float:
        return statistics.median(self.rtt_ms or [math.nan])

    def start_trace(self, is_client: bool, odcid: bytes) -> QuicLoggerTrace:
        samples = self

        class Trace(QuicLoggerTrace):
            def log_event(self, *, category: str, event: str, data: dict) -> None:
                if "latest_rtt" in data:
                    samples.rtt_ms.append(data["latest_rtt"])
                samples.lost += event == "packet_lost"

        return Trace(is_client=is_client, odcid=odcid)

    def end_trace(self, trace: QuicLoggerTrace) -> None:
        """Keep the counters."""


def configurations(control: str, samples: Samples) -> tuple[QuicConfiguration, QuicConfiguration]:
    """Return the configurations of a client and of a server that samples."""
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
    """The result of a download."""

    size: int
    done_s: float
    """When the client had everything."""
    elements: list[dict[str, Any]]
    """What each part of the link counted, as in `results.json`."""
    rtt_ms: float = math.nan
    """Median of the server's samples."""
    valid: bool = True

    @property
    def goodput_kbps(self) -> float:
        return 8e-3 * self.size / self.done_s

    @property
    def sent(self) -> int:
        """IP packets of the server."""
        counts = self._bearer("downlink")
        return counts["sdus_in"] + counts["sdus_dropped"]

    @property
    def dropped(self) -> int:
        """Of these."""
        counts = self._bearer("downlink")
        return counts["sdus_dropped"] + counts["sdus_discarded"]

    @property
    def carried(self) -> float:
        """Bytes of IP packets that the link delivered for each byte of the download."""
        return self._bearer("downlink")["bytes_delivered"] / self.size

    @property
    def sent_by_client(self) -> int:
        """IP packets of the client."""
        return self._bearer("uplink")["sdus_in"]

    def _bearer(self, direction: str) -> dict[str, Any]:
        cell = next(part for part in self.elements if part["element"].startswith("radio."))
        return cell["ues"][0][direction]


def virtual(scenario: airpath.Scenario, seed: int, size: int, control: str) -> Outcome:
    """A download by aioquic in virtual time."""
    net, samples = airpath.Net(scenario, seed), Samples()
    client, server = configurations(control, samples)
    done = download(net, QuicConnection(configuration=client), lambda data: accept(data, server), size)
    return Outcome(size, done / 1e9, net.report(), samples.median_ms)


def live(scenario: airpath.Scenario, seed: int, size: int, control: str) -> Outcome:
    """Download with aioquic's own sockets and timers."""
    samples = Samples()
    with tempfile.TemporaryDirectory() as folder:
        with airpath.RadioLink(scenario, Path(folder), seed=seed) as link:
            done_s = asyncio.run(asyncio.wait_for(live_download(link, size, control, samples), PATIENCE_S))
        rtt_ms, valid = samples.median_ms, link.results["live"]["valid"]
        return Outcome(size, done_s, link.results["elements"], rtt_ms, valid)


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

        def transmit(self) -> None:
            if not complete.done():
                super().transmit()

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
