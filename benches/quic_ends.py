"""aioquic at both ends of a link: without I/O over `airpath.Net`, and live over `airpath.RadioLink`.

Needs `pip install aioquic`.
"""

from __future__ import annotations

import asyncio
import math
import socket
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aioquic.asyncio import QuicConnectionProtocol
from aioquic.asyncio.server import QuicServer
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import QuicEvent
from aioquic.quic.logger import QuicLogger, QuicLoggerTrace

import airpath

sys.path.append(str(Path(__file__).resolve().parent.parent / "examples"))
from quic_by_aioquic import accept, ask, configurations, download, follow

CONTROLS = ("cubic", "reno")
# For a live download, seconds.
PATIENCE_S = 600


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
    client, server = configurations(control)
    server.quic_logger = samples
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
    client, server = configurations(control)
    server.quic_logger = samples
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
