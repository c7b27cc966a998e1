"""Packets besides TCP and UDP in plain headers. Run as a script at either end of a link.

`serve` echoes datagrams and connections on port 8000. `go SEED` sends to it and prints as JSON what it
received, and how many packets of each kind it sent that no program answers.
"""

from __future__ import annotations

import json
import os
import random
import socket
import struct
import sys
import threading

PORT, DATAGRAM, STREAM = 8000, 8000, 200_000
INTERFACE = "airpath0"
PATIENCE_S = 20.0
ETH_P_IP, ETH_P_ARP, ETH_P_IPV6 = 0x0800, 0x0806, 0x86DD
ICMPV6, NO_NEXT, HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION = 58, 59, 0, 43, 44, 60
IPV6_HOPOPTS, IPV6_DSTOPTS = 54, 59
SERVER, UE = (bytes.fromhex("fd616972706100000000000000000000")[:15] + bytes([end]) for end in (1, 2))
SERVER4, UE4 = bytes([10, 77, 0, 1]), bytes([10, 77, 0, 2])
# RFC 791: no operation, record route of nine hops; timestamps of four; router alert (RFC 2113).
RECORD_ROUTE = bytes([1, 7, 39, 4]) + bytes(36)
TIMESTAMPS = bytes([68, 20, 5, 0]) + bytes(16)
ROUTER_ALERT = bytes([148, 4, 0, 0])
# A header of eight octets whose one option is padding (RFC 8200, 4.2); the kernel writes the next header.
PADDED = bytes([0, 0, 1, 4, 0, 0, 0, 0])


def serve() -> None:
    """Echo."""
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        for kind, echo in ((socket.SOCK_DGRAM, echo_datagrams), (socket.SOCK_STREAM, echo_connections)):
            own = socket.socket(family, kind)
            own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            own.bind((address, PORT))
            threading.Thread(target=echo, args=(own,)).start()


def echo_datagrams(own: socket.socket) -> None:
    while True:
        octets, whom = own.recvfrom(65_536)
        own.sendto(octets, whom)


def echo_connections(own: socket.socket) -> None:
    own.listen()
    while True:
        connection, _ = own.accept()
        threading.Thread(target=echo_connection, args=(connection,)).start()


def echo_connection(connection: socket.socket) -> None:
    while octets := connection.recv(65_536):
        connection.sendall(octets)
    connection.close()


def datagram(server: str, octets: bytes, *options: tuple[int, int, bytes]) -> bool:
    """Send a datagram, with options of IP, until it comes back; whether it came back as it was."""
    with opened(server, socket.SOCK_DGRAM, options) as own:
        own.settimeout(2.0)
        for _ in range(int(PATIENCE_S / 2)):  # The server may not have begun.
            try:
                own.send(octets)
                return own.recv(65_536) == octets
            except OSError:
                continue
    return False


def stream(server: str, octets: bytes, *options: tuple[int, int, bytes]) -> bool:
    """Send over a connection whose packets have options of IP; whether it came back as it was."""
    with opened(server, socket.SOCK_STREAM, options) as own:
        own.settimeout(PATIENCE_S)
        sender = threading.Thread(target=lambda: (own.sendall(octets), own.shutdown(socket.SHUT_WR)))
        sender.start()
        came = b""
        while more := own.recv(65_536):
            came += more
        sender.join()
        return came == octets


def opened(server: str, kind: int, options: tuple[tuple[int, int, bytes], ...]) -> socket.socket:
    own = socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, kind)
    for level, name, value in options:
        own.setsockopt(level, name, value)
    own.connect((server, PORT))
    return own


def checksum(octets: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv6(following: int, payload: bytes, hops: int = 64) -> bytes:
    """A packet from the UE to the server."""
    return struct.pack(">IHBB", 0x60000000, len(payload), following, hops) + UE + SERVER + payload


def neighbour(kind: int, body: bytes) -> bytes:
    """A message of neighbour discovery (RFC 4861), which a kernel takes at hop limit 255 alone."""
    pseudo = UE + SERVER + struct.pack(">II", 4 + len(body), ICMPV6)
    check = checksum(pseudo + bytes([kind, 0, 0, 0]) + body)
    return ipv6(ICMPV6, struct.pack(">BBH", kind, 0, check) + body, 255)


def arp(operation: int) -> bytes:
    """RFC 826, of Ethernet and IPv4."""
    hardware = bytes.fromhex("020000000001")
    return struct.pack(">HHBBH", 1, ETH_P_IP, 6, 4, operation) + hardware + UE4 + bytes(6) + SERVER4


def unanswered(rng: random.Random) -> dict[str, list[tuple[int, bytes]]]:
    """Frames by kind, with their EtherType."""
    link_address = bytes([1, 1]) + rng.randbytes(6)
    discovery = {
        133: bytes(4) + link_address,
        134: struct.pack(">BBHII", 64, 0, 0, 0, 0) + link_address,
        135: bytes(4) + SERVER + link_address,
        136: struct.pack(">I", 0xE0000000) + UE + bytes([2]) + link_address[1:],
        137: bytes(4) + SERVER + UE,
    }
    ethernet = bytes.fromhex("ffffffffffff020000000001") + struct.pack(">H", ETH_P_ARP)
    payload = rng.randbytes(100)
    routing = struct.pack(">BBBBI", NO_NEXT, 0, 253, 0, 0)
    segments = struct.pack(">BBBBBBH", NO_NEXT, 2, 4, 0, 0, 0, 0) + SERVER  # RFC 8754
    jumbo = struct.pack(">BBBBI", NO_NEXT, 0, 0xC2, 4, 100_000)
    # Both have 48 octets, the second of them from the 32nd on: RFC 5722 has the receiver discard them.
    overlapping = [struct.pack(">BBHI", NO_NEXT, 0, place, 7) for place in (1, 32)]
    return {
        "arp": [(ETH_P_ARP, arp(operation)) for operation in (1, 2)] + [(ETH_P_ARP, ethernet + arp(1))],
        "neighbour_discovery": [(ETH_P_IPV6, neighbour(*message)) for message in discovery.items()],
        "extensions": [
            (ETH_P_IPV6, ipv6(ROUTING, routing + payload)),
            (ETH_P_IPV6, ipv6(ROUTING, segments + payload)),
            (ETH_P_IPV6, ipv6(HOP_BY_HOP, jumbo + payload)),
            (ETH_P_IPV6, ipv6(DESTINATION, bytes([NO_NEXT, 12]) + bytes(102) + payload)),
            (ETH_P_IPV6, ipv6(NO_NEXT, payload)),
        ],
        "too_long_headers": [
            (ETH_P_IPV6, ipv6(kind, bytes([NO_NEXT, 255]) + payload)) for kind in (0, 43, 60)
        ],
        "fragments": [(ETH_P_IPV6, ipv6(FRAGMENT, head + payload[:48])) for head in overlapping],
    }


def go(seed: int) -> None:
    """Send, and print the responses."""
    rng = random.Random(seed)
    four, six = os.environ["AIRPATH_SERVER"], os.environ["AIRPATH_SERVER6"]
    large, small, much = rng.randbytes(DATAGRAM), rng.randbytes(300), rng.randbytes(STREAM)
    ip4, ip6 = (socket.IPPROTO_IP, socket.IP_OPTIONS), socket.IPPROTO_IPV6
    extended = ((ip6, IPV6_HOPOPTS, PADDED), (ip6, IPV6_DSTOPTS, PADDED))
    came = {
        "fragments of IPv4": datagram(four, large),
        "fragments of IPv6": datagram(six, large),
        "a recorded route": datagram(four, small, (*ip4, RECORD_ROUTE)),
        "timestamps": datagram(four, small, (*ip4, TIMESTAMPS)),
        "fragments with a router alert": datagram(four, large, (*ip4, ROUTER_ALERT)),
        "extension headers": datagram(six, small, *extended),
        "fragments behind extension headers": datagram(six, large, *extended),
        "a connection with a recorded route": stream(four, much, (*ip4, RECORD_ROUTE)),
        "a connection with extension headers": stream(six, much, *extended),
    }
    sent = {}
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        for kind, frames in unanswered(rng).items():
            for protocol, octets in frames:
                raw.sendto(octets, (INTERFACE, protocol))
            sent[kind] = len(frames)
    came["fragments behind all of these"] = datagram(six, large) and datagram(four, large)
    print(json.dumps({"came": came, "sent": sent}))


if __name__ == "__main__":
    serve() if sys.argv[1] == "serve" else go(int(sys.argv[2]))
