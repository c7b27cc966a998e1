"""TCP transfers of given sizes between the two ends of a live link, over the kernel's TCP.

A program of the standard library alone, run as `python -I -S transfer.py serve|fetch JSON` in each
namespace. For each transfer the UE opens a connection, as in simulation, to a port of its own at the
server, and the sender writes at once, without a request. A file ends with a half-close, which the receiver
answers with its own; an endless transfer ends when the UE's program is told to end.

JSON is an object: `transfers`, a list of
`{"direction": "downlink" | "uplink", "bytes": n | null, "start_s": t}`, and settings of the kernel's TCP:
`congestion_control`, `mss` (bytes or null), `window_clamp` (largest announced window,
bytes or null), `initial_window` (segments or null), `quickack` (every segment is acknowledged at once),
`rto_min_ms` (or null). The last three are attributes of a route (rtnetlink(7)).

With `paths`, the number of the UE's interfaces, connections are of Multipath TCP and have a subflow over each
interface; then each end leaves a file about each transfer in the folder `notes` (see `note_of`).
"""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

FIRST_PORT = 8000
CHUNK = 1 << 18
# linux/tcp.h; the module `socket` names some of these, depending on the version.
TCP_MAXSEG, TCP_WINDOW_CLAMP, TCP_CONGESTION = 2, 10, 13
# linux/in.h; the module `socket` has it on Linux alone, from Python 3.10 on.
IPPROTO_MPTCP = 262
# The largest segment without options of a TUN device's 1500 B.
LARGEST_MSS = 1460
# linux/rtnetlink.h and linux/netlink.h.
RTM_NEWROUTE, NLMSG_ERROR = 24, 2
NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE = 1, 4, 0x400, 0x100
RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_LINK, RTN_UNICAST = 254, 4, 253, 1
RTA_DST, RTA_OIF, RTA_METRICS = 1, 4, 8
RTAX_INITCWND, RTAX_RTO_MIN, RTAX_QUICKACK = 11, 13, 15
INTERFACE = "airpath0"


def main() -> None:
    """Run the transfers; the exit status is 0 if all are complete."""
    role, settings = sys.argv[1], json.loads(sys.argv[2])
    peer = os.environ["AIRPATH_UE" if role == "serve" else "AIRPATH_SERVER"]
    set_route(peer, settings)
    if paths := settings.get("paths"):
        set_paths(role, paths)
    transfers = settings["transfers"]
    # The UE's program starts when the first port listens, which takes longer than the others need.
    listeners = [listener(settings, number) for number in range(len(transfers) if role == "serve" else 0)]
    began = time.monotonic()
    complete = [False] * len(transfers)

    def carry(number: int) -> None:
        transfer = transfers[number]
        noted: dict[str, float] = {}
        if role == "serve":
            connection, _ = listeners[number].accept()
        else:
            time.sleep(max(0.0, began + transfer["start_s"] - time.monotonic()))
            connection = configured(settings)
            noted["opened_s"] = time.monotonic()
            connection.connect((peer, FIRST_PORT + number))
        sends = (role == "serve") == (transfer["direction"] == "downlink")
        with connection:
            if sends:
                # A single write, which fills the send buffer as soon as it has room.
                chunk = transfer["bytes"] if paths else CHUNK
                complete[number] = send(connection, transfer["bytes"], chunk)
            else:
                complete[number] = receive(connection, transfer["bytes"], noted)
            # Before the connection closes, which ends the other program.
            if paths:
                note_of(Path(settings["notes"]), role, number).write_text(json.dumps(noted))

    threads = [
        threading.Thread(target=carry, args=(number,), daemon=True) for number in range(len(transfers))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.exit(0 if all(complete) else 1)


def configured(settings: dict[str, Any]) -> socket.socket:
    """Make a socket with the TCP settings."""
    is_multipath = bool(settings.get("paths"))
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP if is_multipath else 0)
    made.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, settings["congestion_control"].encode())
    # Kernels before 6.17 do not have this option of Multipath TCP.
    if settings["mss"] and not (is_multipath and settings["mss"] == LARGEST_MSS):
        made.setsockopt(socket.IPPROTO_TCP, TCP_MAXSEG, settings["mss"])
    if settings["window_clamp"]:
        made.setsockopt(socket.IPPROTO_TCP, TCP_WINDOW_CLAMP, settings["window_clamp"])
    return made


def listener(settings: dict[str, Any], number: int) -> socket.socket:
    """Listen for one transfer."""
    made = configured(settings)
    made.bind(("0.0.0.0", FIRST_PORT + number))
    made.listen(1)
    return made


def send(connection: socket.socket, size: int | None, chunk: int = CHUNK) -> bool:
    """Send the bytes, or forever; True when the other end has closed after all of them."""
    left, zeros = size, memoryview(bytes(chunk))
    try:
        while left is None or left > 0:
            sent = connection.send(zeros if left is None else zeros[: min(left, chunk)])
            left = None if left is None else left - sent
        connection.shutdown(socket.SHUT_WR)
        return connection.recv(1) == b""
    except OSError:
        return False


def receive(connection: socket.socket, size: int | None, noted: dict[str, float] | None = None) -> bool:
    """Receive until the other end closes; True if all bytes came.

    Notes their number and the time of the last one; see `note_of`.
    """
    got, last_s, buffer = 0, time.monotonic(), bytearray(CHUNK)
    try:
        while count := connection.recv_into(buffer):
            got, last_s = got + count, time.monotonic()
    except OSError:
        return False
    if noted is not None:
        noted |= {"bytes": got, "last_s": last_s}
    return got == size


def note_of(folder: Path, role: str, number: int) -> Path:
    """The file in which an end notes a transfer: JSON, times of the monotonic clock in seconds.

    Who opens the connection has `opened_s`, before its SYN; who receives has `bytes` and `last_s`, when the
    last of these came.
    """
    return folder / f"{role}-{number}.json"


def set_paths(role: str, paths: int) -> None:
    """Permit a subflow over each interface, and let the UE open those beyond the first."""
    mptcp = ("ip", "mptcp")
    subprocess.run([*mptcp, "limits", "set", "subflow", str(paths - 1)], check=True)
    for number in range(1, paths) if role == "fetch" else ():
        endpoint = (os.environ[f"AIRPATH_UE_{number}"], "dev", f"airpath{number}", "subflow")
        subprocess.run([*mptcp, "endpoint", "add", *endpoint], check=True)


def set_route(peer: str, settings: dict[str, Any]) -> None:
    """Make a route to the other end with the attributes asked for, if any."""
    wanted = {
        RTAX_INITCWND: settings["initial_window"],
        RTAX_RTO_MIN: settings["rto_min_ms"],
        RTAX_QUICKACK: int(settings["quickack"]),
    }
    metrics = b"".join(attribute(kind, struct.pack("=I", value)) for kind, value in wanted.items() if value)
    if not metrics:
        return
    header = struct.pack(
        "=8BI", socket.AF_INET, 32, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_LINK, RTN_UNICAST, 0
    )
    body = header + attribute(RTA_DST, socket.inet_aton(peer))
    body += attribute(RTA_OIF, struct.pack("=I", socket.if_nametoindex(INTERFACE)))
    body += attribute(RTA_METRICS, metrics)
    flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE
    request = struct.pack("=IHHII", 16 + len(body), RTM_NEWROUTE, flags, 1, 0) + body
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.send(request)
        answer = netlink.recv(4096)
    kind, error = struct.unpack_from("=H", answer, 4)[0], struct.unpack_from("=i", answer, 16)[0]
    if kind != NLMSG_ERROR or error:
        raise OSError(-error, f"route to {peer}: {os.strerror(-error)}")


def attribute(kind: int, payload: bytes) -> bytes:
    """Write an attribute of rtnetlink, filled up to four bytes."""
    return struct.pack("=HH", 4 + len(payload), kind) + payload + bytes(-len(payload) % 4)


if __name__ == "__main__":
    main()
