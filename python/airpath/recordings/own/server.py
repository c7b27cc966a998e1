"""The wired end of `airpath record`: serves one client at a time that knows its token."""

from __future__ import annotations

import hmac
import secrets
import socket
import time
from collections.abc import Callable

from airpath.recordings.own.control import GREETING, PATIENCE_S, Control, ControlError, phase_of
from airpath.recordings.own.packets import Kind, Packet
from airpath.recordings.own.peer import Peer, Phase

HELLO_S = 10.0
"""How long the first line, and then the first packet, may take: nobody else is served meanwhile."""


class Server:
    """Listens on a port, TCP for requests and UDP for data.

    Raises
    ------
    OSError
        If the address cannot be used.
    """

    def __init__(self, address: str, port: int, token: str, most_packets: int) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.create_server((address, port), family=family)
        self.port: int = self._listener.getsockname()[1]
        self._udp = socket.socket(family, socket.SOCK_DGRAM)
        self._udp.bind((address, self.port))
        self._token = token
        self._most_packets = most_packets

    def serve(self, say: Callable[[str], None], is_once: bool) -> None:
        """Serve clients until the process ends, or one."""
        while True:
            connection, (host, *_) = self._listener.accept()
            control = Control(connection)
            try:
                say(f"{host}: connected")
                self._serve_one(control, lambda text: say(f"{host}: {text}"))  # noqa: B023
            except ControlError as error:
                say(f"{host}: {error}")
            except OSError as error:
                say(f"{host}: {error.strerror or error}")
            finally:
                control.close()
            if is_once:
                return

    def close(self) -> None:
        """Close the sockets."""
        self._listener.close()
        self._udp.close()

    def _serve_one(self, control: Control, say: Callable[[str], None]) -> None:
        control.wait_for(HELLO_S)
        said = control.receive()
        control.wait_for(PATIENCE_S)
        if said.get("hello") != GREETING:
            control.send({"error": f"the server speaks '{GREETING}'"})
            raise ControlError("speaks another protocol")
        # As bytes: text outside of ASCII would be an error, and so would halves of a character.
        given, own = (text.encode(errors="surrogatepass") for text in (str(said.get("token")), self._token))
        if not hmac.compare_digest(given, own):
            control.send({"error": "the token is wrong"})
            raise ControlError("has a wrong token")
        session = secrets.randbits(64)
        control.send({"session": session})
        peer = Peer(self._udp, session, None, asks_clock=False)
        _await_hello(peer)
        if peer.address is None:
            control.send({"error": "no UDP packet arrived at the server"})
            raise ControlError("no UDP packet arrived")
        while True:
            control.send({"ready": True})
            said = control.receive()
            if said.get("done"):
                return
            asked = phase_of(said.get("phase"))
            phase = Phase(
                asked.number,
                asked.seconds,
                asked.sends_data,
                asked.sends_trains,
                min(asked.most_packets, self._most_packets),
            )
            control.send({"go": True})
            log = peer.run(phase, control.check)
            say(f"phase {phase.number}: {len(log.data)} packets received, {log.sent} sent")
            control.send_log(log)
            control.wait_for(PATIENCE_S)


def _await_hello(peer: Peer) -> None:
    """Answer hellos until one came, and those that follow it at once."""
    end_s = time.monotonic() + HELLO_S

    def handle(packet: Packet, _: int) -> None:
        if packet.kind == Kind.HELLO:
            peer.send(Kind.HELLO, packet.seq)

    while peer.address is None and time.monotonic() < end_s:
        peer.receive(handle, 0.1)
    peer.receive(handle, 0.2)
