"""Download over a radio link by aioquic, an implementation of QUIC, at both ends, in virtual time.

Needs `pip install aioquic`.
"""

import datetime
import ssl

from aioquic.buffer import Buffer
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, StreamDataReceived
from aioquic.quic.packet import pull_quic_header
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

import airpath

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
        # A microsecond later: rounded, a deadline may precede itself.
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
    """Request the file; the request is sent as soon as there are keys."""
    client.send_stream_data(client.get_next_available_stream_id(), b"all of it", end_stream=True)


def follow(connection, event, size):
    """Answer a request with `size` bytes; of an answer, return how many bytes arrived."""
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


def identity():
    """A key and its certificate, of the same size each time."""
    key = Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
    day = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, day, day.replace(year=2040))
    return key, builder.sign(key, algorithm=None)


def configurations(control):
    """Configurations of a client and of a server with this congestion control."""
    key, certificate = identity()
    both = {"alpn_protocols": ["test"], "congestion_control_algorithm": control}
    client = QuicConfiguration(**both, verify_mode=ssl.CERT_NONE)
    return client, QuicConfiguration(**both, is_client=False, certificate=certificate, private_key=key)


if __name__ == "__main__":
    SIZE = 200_000
    for control in ("reno", "cubic"):
        net, (client, server) = airpath.Net("umts-384", seed=1), configurations(control)
        end_ns = download(
            net, QuicConnection(configuration=client), lambda data, to=server: accept(data, to), SIZE
        )
        dropped = net.stats().downlink.dropped
        print(f"{control}: {8e6 * SIZE / end_ns:.0f} kbit/s, {dropped} of the server's packets dropped")
