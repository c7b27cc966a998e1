"""The end of `airpath record` at the modem: asks the server for phases, and puts both logs together."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

from airpath.recordings.own.control import GREETING, PATIENCE_S, Control, ControlError
from airpath.recordings.own.packets import Kind, Packet
from airpath.recordings.own.peer import Log, Peer, Phase

Order = Literal["alternate", "at_once"]
HELLOS = 50
HELLO_EVERY_S = 0.1
STARTING_S = 3.0


@dataclass(frozen=True)
class Recorded:
    """What both ends saw in a phase.

    Parameters
    ----------
    phase : Phase
        As the client had it.
    start_ns : int
        Start of the phase by the client's clock.
    client, server : Log
    """

    phase: Phase
    start_ns: int
    client: Log
    server: Log


def record(
    host: str,
    port: int,
    token: str,
    seconds: float,
    order: Order,
    most_packets: int,
    progress: Callable[[float], None],
) -> list[Recorded]:
    """Record a link to a server.

    Raises
    ------
    ControlError
        If the server refuses, or does not answer.
    OSError
        If the server cannot be reached.
    """
    with _connected(host, port) as connection:
        address = connection.getpeername()
        control = Control(connection)
        control.send({"hello": GREETING, "token": token})
        session = control.receive().get("session")
        if not isinstance(session, int) or not 0 <= session < 1 << 64:
            raise ControlError("the server gave no session")
        with socket.socket(connection.family, socket.SOCK_DGRAM) as sock:
            peer = Peer(sock, session, address, asks_clock=True)
            _greet(peer)
            phases = _phases(seconds, order, most_packets)
            found = []
            for number, (own, theirs) in enumerate(phases):
                control.wait_for(PATIENCE_S)
                if not control.receive().get("ready"):
                    raise ControlError("the server is not ready")
                control.send({"phase": asdict(theirs)})
                if not control.receive().get("go"):
                    raise ControlError("the server did not start")
                start_ns = time.monotonic_ns()
                log = peer.run(own, control.check)
                control.wait_for(PATIENCE_S)
                found.append(Recorded(own, start_ns, log, control.receive_log()))
                progress((number + 1) / len(phases))
            control.receive()
            control.send({"done": True})
            return found


def _connected(host: str, port: int) -> socket.socket:
    """Connect; a server that was just started gets a few seconds."""
    end_s = time.monotonic() + STARTING_S
    while True:
        try:
            return socket.create_connection((host, port), PATIENCE_S)
        except ConnectionRefusedError:
            if time.monotonic() > end_s:
                raise
            time.sleep(HELLO_EVERY_S)


def _greet(peer: Peer) -> None:
    answered = False

    def handle(packet: Packet, _: int) -> None:
        nonlocal answered
        answered |= packet.kind == Kind.HELLO

    for number in range(HELLOS):
        peer.send(Kind.HELLO, number)
        peer.receive(handle, HELLO_EVERY_S)
        if answered:
            return
    raise ControlError("no UDP packet came back from the server; is UDP blocked?")


def _phases(seconds: float, order: Order, most_packets: int) -> list[tuple[Phase, Phase]]:
    """Make the phases as the client and as the server has them; the volume is for all of them."""
    if order == "at_once":
        both = Phase(0, seconds, True, False, most_packets // 2)
        return [(both, both)]
    each = most_packets // 2
    heavy, light = [
        [Phase(number, seconds, sends_data, not sends_data, each) for number in (0, 1)]
        for sends_data in (True, False)
    ]
    return [(light[0], heavy[0]), (heavy[1], light[1])]
