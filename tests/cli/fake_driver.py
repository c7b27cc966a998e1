"""Stands in for the driver of `airpath live`: speaks its protocol, carries no packet.

Run as `fake_driver.py BEHAVIOUR LOG FD`. Frames that arrive are noted in LOG, one JSON value a line. What
COMMAND would print, it prints itself.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys

FLOW = {
    "ue": 0,
    "flow": 0,
    "direction": "downlink",
    "app": None,
    "start_s": 0.1,
    "transfer_s": None,
    "goodput_bps": 361_000.0,
    "bytes_to_send": None,
    "bytes_acked": 90_000,
    "bytes_received": 91_000,
    "segments_sent": 65,
    "retransmissions": {
        "total": 2,
        "fast_retransmit": None,
        "partial_ack": None,
        "sack": None,
        "timeout": None,
        "go_back_n": None,
    },
    "timeouts": None,
    "fast_retransmits": None,
    "spurious_timeouts": None,
    "spurious_fast_retransmits": None,
    "dupacks": 3,
    "rtt_ms": {"mean": 400.0, "min": 175.0, "max": 800.0, "samples": 40},
    "receiver": {"segments": 65, "duplicates": 0, "out_of_order": 3, "acks_sent": 40, "beyond_window": None},
    "protocol": "tcp",
    "server_address": "10.0.0.1:5201",
    "ue_address": "10.0.0.2:40000",
    "congestion_control": "reno",
}
# Flows other than TCP have only packet and byte counters.
DATAGRAMS = {
    **dict.fromkeys(FLOW),
    "ue": 0,
    "flow": 1,
    "direction": "uplink",
    "start_s": 0.0,
    "bytes_received": 500,
    "protocol": "udp",
    "server_address": "10.0.0.1:53",
    "ue_address": "10.0.0.2:41000",
}
BEARER = {
    "sdus_in": 65,
    "sdus_delivered": 64,
    "sdus_dropped": 1,
    "sdus_discarded": 0,
    "bytes_delivered": 92_000,
    "peak_queued_sdus": 30,
    "slots": 100,
    "pdus_sent": 100,
    "pdus_lost": 9,
    "utilisation": 0.9,
}
END = {"received": 65, "sent": 40, "tun_dropped": 0, "refused_by_kernel": 0}
RESULTS = {
    "format": 2,
    "rng": "pcg64-mcg/1",
    "seed": 1,
    "simulated_s": 2.5,
    "complete": True,
    "flows": [DATAGRAMS, FLOW],
    "elements": [{"element": "radio.dch", "ues": [{"downlink": BEARER, "uplink": BEARER}]}],
    "live": {
        "exit_status": 0,
        "ended_by": "command",
        "valid": True,
        "invalid_because": [],
        "scheduler": "SCHED_FIFO 10",
        "user_namespace": False,
        "notices": [],
        "lateness_us": {"samples": 105, "p50": 23.0, "p90": 40.0, "p99": 71.0, "max": 310.0, "bound": 1000.0},
        "cpu_s": 0.1,
        "lost_records": 0,
        "ends": {"server": END, "ue": {**END, "tun_dropped": 4, "refused_by_kernel": 3}},
        "kernel": {"server": {}, "ue": {}},
    },
}
HALF = {"rate_bps": 361_000.0, "queued_sdus": 28, "queued_bytes": 40_320, "dropped": 12}
IDLE = {"rate_bps": 0.0, "queued_sdus": 0, "queued_bytes": 0, "dropped": 0}
UP = {
    "state": "up",
    "server_addr": "10.0.0.1",
    "ue_addr": "10.0.0.2",
    "scheduler": "SCHED_FIFO 10",
    "user_namespace": False,
    "notices": ["a notice from the start"],
    "interfaces": [
        {"name": None, "device": "airpath0", "server_addr": "10.0.0.1", "ue_addr": "10.0.0.2"},
    ],
}
# The header of a section of pcapng, and of an interface: a capture without packets.
CAPTURE = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
CAPTURE += struct.pack("<IIHHII", 1, 20, 101, 0, 65535, 20)


def running(now_s: float) -> dict[str, object]:
    return {
        "state": "running",
        "now_s": now_s,
        "flows": 1,
        "rtt_ms": None if now_s < 1 else 213.0,
        "lateness_p99_us": 41.0,
        "downlink": HALF,
        "uplink": IDLE,
    }


def trace_chunk() -> bytes:
    """Three round-trip times and two arrivals at the buffer."""
    header = {
        "rtt_sample": {
            "rows": 3,
            "columns": [["time_ns", "u64"], ["ue", "u64"], ["flow", "u64"], ["rtt_us", "u64"]],
        },
        "bearer_enqueued": {
            "rows": 2,
            "columns": [
                ["time_ns", "u64"],
                ["ue", "u64"],
                ["flow", "u64"],
                ["bearer", "u64"],
                ["packet", "u64"],
                ["direction", ["downlink", "uplink"]],
                ["len_bytes", "u64"],
                ["queued_sdus", "u64"],
                ["queued_bytes", "u64"],
            ],
        },
    }
    columns = [
        *([1_000_000, 2_000_000, 4_000_000], [0] * 3, [0] * 3, [175_000, 180_000, 2**40]),
        *([1_500_000, 3_000_000], [0] * 2, [0] * 2, [0, 1], [1, 2], bytes([0, 1])),
        *([1500, 40], [1, 1], [1500, 40]),
    ]
    packed = [c if isinstance(c, bytes) else struct.pack(f"<{len(c)}Q", *c) for c in columns]
    text = json.dumps(header).encode()
    return struct.pack("<I", len(text)) + text + b"".join(packed)


class Peer:
    """The driver's end of the socket."""

    def __init__(self, fd: int, log: str, piece: int | None = None) -> None:
        self.socket = socket.socket(fileno=fd)
        self.log = log
        self.piece = piece

    def send(self, kind: str, content: object) -> None:
        payload = content if isinstance(content, bytes) else json.dumps(content).encode()
        frame = struct.pack("<I", len(payload) + 1) + kind.encode() + payload
        step = self.piece or len(frame)
        for start in range(0, len(frame), step):
            self.socket.sendall(frame[start : start + step])

    def up(self) -> None:
        """Say that the link works, and wait until COMMAND may start."""
        self.send("S", UP)
        assert self._frame() == ("K", {"start": True})

    def receive(self) -> dict[str, object]:
        """The next frame, which is logged."""
        kind, content = self._frame()
        with open(self.log, "a") as log:
            log.write(json.dumps([kind, content]) + "\n")
        return content

    def _frame(self) -> tuple[str, dict[str, object]]:
        """The next frame; without any, airpath is gone, and so are we."""
        (length,) = struct.unpack("<I", self._exactly(4))
        body = self._exactly(length)
        return chr(body[0]), json.loads(body[1:])

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                sys.exit(3)
            data += piece
        return data

    def end(self, status: int = 0, **live: object) -> None:
        self.send("S", {"state": "ended", "exit_status": status})
        complete = live.get("ended_by") != "signal"
        ended = {**RESULTS["live"], "exit_status": status, **live}
        self.send("R", {**RESULTS, "complete": complete, "live": ended})


def say(text: str) -> None:
    """What COMMAND prints."""
    os.write(1, text.encode())


def run(peer: Peer) -> None:
    """A run without incident."""
    peer.receive()
    peer.up()
    peer.send("T", trace_chunk())
    peer.send("P", CAPTURE[:7])
    peer.send("S", running(0.2))
    peer.send("S", {"state": "notice", "text": "a notice on the way"})
    say("COMMAND speaks\n")
    peer.send("P", CAPTURE[7:])
    peer.end()


def in_odd_pieces(peer: Peer) -> None:
    """The same, and no frame arrives whole."""
    peer.piece = 3
    run(peer)


def status_7(peer: Peer) -> None:
    peer.receive()
    peer.up()
    peer.end(7)


def invalid(peer: Peer) -> None:
    peer.receive()
    peer.up()
    peer.end(143, ended_by="duration", valid=False, invalid_because=["p99 lateness 2300 us", "5 lost"])


def no_link(peer: Peer) -> None:
    peer.receive()
    peer.send("E", {"stage": "tun", "message": "no /dev/net/tun", "hint": "modprobe tun"})


def dies_at_once(_peer: Peer) -> None:
    sys.exit(4)


def dies_before_the_link(peer: Peer) -> None:
    peer.receive()
    os.kill(os.getpid(), signal.SIGKILL)


def dies_running(peer: Peer) -> None:
    """And leaves half a frame."""
    peer.receive()
    peer.up()
    peer.send("T", trace_chunk())
    peer.send("P", CAPTURE)
    peer.socket.sendall(b"\x00\x01")
    os.kill(os.getpid(), signal.SIGKILL)


def dies_at_the_end(peer: Peer) -> None:
    peer.receive()
    peer.up()
    peer.send("S", {"state": "ended", "exit_status": 0})
    sys.exit(5)


def leaves_a_child(peer: Peer) -> None:
    """Dies, but its end of the socket stays open in a child that it leaves until we are gone."""
    peer.receive()
    peer.up()
    if os.fork():
        os.kill(os.getpid(), signal.SIGKILL)
    peer.receive()


def waits(peer: Peer) -> None:
    """Until SIGTERM is passed on."""
    peer.receive()
    peer.up()
    say("ready\n")
    while (frame := peer.receive()).get("signal") != signal.SIGTERM:
        say(f"{json.dumps(frame)}\n")
    peer.end(143, ended_by="signal")


def stops(peer: Peer) -> None:
    """COMMAND stops itself, and ends when it is continued."""
    peer.receive()
    peer.up()
    peer.send("S", {"state": "stopped"})
    while not peer.receive().get("continue"):
        pass
    peer.end(9)


def has_a_job(peer: Peer) -> None:
    """COMMAND is a process in a group that has the terminal; it ends with 7 when it is continued."""
    assert peer.receive()["terminal"] is True
    peer.up()
    job = os.fork()
    if not job:
        os.setpgid(0, 0)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCONT, signal.SIGTTOU])
        os.tcsetpgrp(0, os.getpid())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTTOU])
        say("ready\n")
        signal.sigwait([signal.SIGCONT])
        os._exit(7 if os.tcgetpgrp(0) == os.getpid() else 8)
    _, how = os.waitpid(job, os.WUNTRACED)
    assert os.WIFSTOPPED(how)
    peer.send("S", {"state": "stopped"})
    assert peer.receive() == {"continue": True}
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    os.tcsetpgrp(0, job)
    os.kill(job, signal.SIGCONT)
    _, how = os.waitpid(job, 0)
    peer.end(os.waitstatus_to_exitcode(how))


def prints(peer: Peer) -> None:
    """Lines, some of them in parts, colours, a progress bar, and a last line without its end."""
    peer.receive()
    peer.up()
    for number in range(50):
        say(f"line {number} be")
        peer.send("S", running(0.2 * number))
        say("gins and ends\n")
    say("\x1b[31mred\x1b[0m\n")
    say("".join(f"\r{share:3} % done" for share in range(0, 101, 10)))
    peer.send("S", running(11.0))
    say(f"\nstdout is a terminal: {os.isatty(1)}, stderr {os.get_terminal_size(2).columns} wide\n")
    os.write(2, b"this is stderr\n")
    say("no end")
    peer.end()


def floods(peer: Peer) -> None:
    """COMMAND prints without end until it is ended."""
    peer.receive()
    peer.up()
    command = os.fork()
    if not command:
        while True:
            say("flood\n" * 500)
    while peer.receive().get("signal") != signal.SIGTERM:
        pass
    os.kill(command, signal.SIGKILL)
    os.waitpid(command, 0)
    peer.end(143)


def fills_the_disk(peer: Peer) -> None:
    """Sends capture until airpath has gone."""
    peer.receive()
    peer.up()
    try:
        while True:
            peer.send("P", bytes(1 << 16))
    except OSError:
        pass


def all_well(peer: Peer) -> None:
    peer.receive()
    peer.send("D", {"check": "TUN device", "ok": True, "found": "made", "remedy": "", "needed": True})
    peer.send("D", unneeded(False))


def not_well(peer: Peer) -> None:
    peer.receive()
    remedy = "run as root"
    peer.send("D", {"check": "namespaces", "ok": False, "found": "EPERM", "remedy": remedy, "needed": True})
    peer.send("D", {"check": "TUN device", "ok": None, "found": "", "remedy": "", "needed": True})
    peer.send("D", unneeded(True))


def unneeded(ok: bool) -> dict[str, object]:
    remedy = "" if ok else "setcap cap_sys_nice+ep"
    found = "SCHED_FIFO 10" if ok else "SCHED_OTHER"
    return {"check": "real-time scheduling", "ok": ok, "found": found, "remedy": remedy, "needed": False}


if __name__ == "__main__":
    behaviour, log, fd = sys.argv[1:]
    globals()[behaviour](Peer(int(fd), log))
