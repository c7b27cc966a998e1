"""Captures of the kernel's TCP of all kinds, analysed by airpath and by tshark: `make soak`.

    python tools/beside_tshark.py [--captures 100] [--seed 1] [--keep DIR]
    python tools/beside_tshark.py --folder DIR    # captures that are there already, of whatever kind

Each is of a live run drawn at random: rates, delays, buffers, loss, duplicates and reordering in the network;
IPv4 or IPv6; SACK, timestamps, ECN and window scaling on or off; reno, cubic or bbr; one connection or
thirty, up, down or both, closed, reset or refused. It is what one end saw, as pcap or pcapng, with whole
packets or cut ones, in the frames of Ethernet with or without VLANs, Linux cooked, loopback or none.

It compares the quantities that both define alike: connections; packets, segments with data and bytes of each;
segments that repeat, or fill a gap; duplicate ACKs; and without timestamps the minimum RTT. Any difference is
a failure.

Of a folder's captures more is compared, and differences are listed with the reason for them, or without one:
`beside_tshark_folder.py`.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beside_tshark_folder import compare_folder

from airpath.captures import analyze

UNDRAWN = Path(__file__).resolve().parent.parent / "tests" / "live" / "undrawn.py"
PATIENCE_S = 120
PORTS = ("8000", "8001")
"""The server's; no program listens on the second."""
# As on the wire, in front of an IP packet of version 4 or 6: link type, octets.
FRAMES: dict[str, tuple[int, dict[int, bytes]]] = {
    "raw": (101, {4: b"", 6: b""}),
    "ethernet": (1, {4: bytes(12) + b"\x08\x00", 6: bytes(12) + b"\x86\xdd"}),
    "vlan": (1, {4: bytes(12) + b"\x81\x00\x00\x05\x08\x00", 6: bytes(12) + b"\x81\x00\x00\x05\x86\xdd"}),
    "qinq": (
        1,
        {
            4: bytes(12) + b"\x88\xa8\x00\x07\x81\x00\x00\x05\x08\x00",
            6: bytes(12) + b"\x88\xa8\x00\x07\x81\x00\x00\x05\x86\xdd",
        },
    ),
    "sll": (113, {4: bytes(14) + b"\x08\x00", 6: bytes(14) + b"\x86\xdd"}),
    "sll2": (276, {4: b"\x08\x00" + bytes(18), 6: b"\x86\xdd" + bytes(18)}),
    "null": (0, {4: b"\x02\0\0\0", 6: b"\x1c\0\0\0"}),
}
CLIENT = """
import json, os, socket, struct, sys, threading, time
plan = json.loads(sys.argv[1])
host = os.environ["AIRPATH_SERVER6" if plan["ipv6"] else "AIRPATH_SERVER"]
def one(up, down, end, pause):
    time.sleep(pause)
    try:
        sock = socket.create_connection((host, 8000 + (end == "refused")), 20)
    except OSError:
        return
    with sock:
        sock.settimeout(20)
        try:
            sock.sendall(struct.pack("!II", up, down) + bytes(up))
            left = down // 2 if end == "reset" else down
            while left > 0 and (part := sock.recv(65536)):
                left -= len(part)
            if end == "reset":
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass
threads = [threading.Thread(target=one, args=own) for own in plan["connections"]]
for thread in threads: thread.start()
for thread in threads: thread.join(plan["seconds"])
time.sleep(0.3)
os._exit(0)
"""
SERVER = """
import socket, struct, threading
def serve(sock):
    with sock:
        try:
            head = b""
            while len(head) < 8 and (part := sock.recv(8 - len(head))): head += part
            if len(head) < 8: return
            up, down = struct.unpack("!II", head)
            while up > 0 and (part := sock.recv(65536)): up -= len(part)
            sock.sendall(bytes(down))
        except OSError:
            pass
own = socket.socket(socket.AF_INET6)
own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
own.bind(("::", 8000)); own.listen(64)
while True: threading.Thread(target=serve, args=(own.accept()[0],), daemon=True).start()
"""


@dataclass(frozen=True)
class Kind:
    """A capture to make."""

    scenario: str
    sysctls: dict[str, int]
    congestion_control: str
    plan: dict[str, Any]
    snaplen: int
    end: str
    frame: str
    form: str

    def __str__(self) -> str:
        off = " ".join(f"{name.removeprefix('tcp_')}={value}" for name, value in self.sysctls.items())
        ip = "IPv6" if self.plan["ipv6"] else "IPv4"
        many = len(self.plan["connections"])
        return (
            f"{ip} {self.congestion_control} {many} {self.end} {self.frame} {self.form} {self.snaplen} {off}"
        )


def drawn(rng: random.Random) -> Kind:
    """Draw what a capture is to be."""
    down, up = (rng.choice([0.5, 1, 4, 10]) for _ in range(2))
    scenario = f"""
[radio.dch.downlink]
rate = "{down} Mbit/s"
delay = "{rng.choice([1, 10, 40])} ms"
queue.droptail.packets = {rng.choice([5, 15, 50, 200])}
[radio.dch.uplink]
rate = "{up} Mbit/s"
delay = "{rng.choice([1, 10, 40])} ms"
queue.droptail.packets = {rng.choice([10, 200])}
[[flow]]
app.bulk = {{}}
"""
    if rng.random() < 0.5:
        harm = rng.choice(["loss", "duplicate", "reorder"])
        way = rng.choice(["downlink", "uplink"])
        scenario = f'[[middlebox]]\ndisturb.{way}.{harm} = "{rng.choice([1, 3])} %"\n{scenario}'
    names = ("tcp_sack", "tcp_timestamps", "tcp_window_scaling")
    sysctls = {name: 0 for name in names if rng.random() < 0.3}
    if rng.random() < 0.3:
        sysctls["tcp_ecn"] = 1
    count = rng.choice([1, 1, 1, 3, 30])
    most = int(400_000 * min(down, up, 2) / count)
    connections = [
        (
            rng.choice([0, 0, most, 1000]),
            rng.choice([0, most, most, 5000]),
            rng.choices(["close", "reset", "refused"], [8, 1, 1])[0],
            rng.random() * (count > 1),
        )
        for _ in range(count)
    ]
    plan = {"ipv6": rng.random() < 0.4, "connections": connections, "seconds": 15}
    return Kind(
        scenario=scenario,
        sysctls=sysctls,
        congestion_control=rng.choice(["reno", "cubic", "cubic", "bbr"]),
        plan=plan,
        # Headers with all options have at most 120 octets.
        snaplen=rng.choice([120, 128, 2000]),
        end=rng.choice(["server", "ue"]),
        frame=rng.choice(list(FRAMES)),
        form=rng.choice(["pcap", "pcapng"]),
    )


def capture(kind: Kind, seed: int, folder: Path) -> Path:
    """Make it: a live run, one of its interfaces, in these frames and this form."""
    (folder / "link.toml").write_text(kind.scenario)
    command = [sys.executable, "-P", UNDRAWN, "live", folder / "link.toml", "--seed", seed, "--no-view"]
    command += ["--no-page", "--probes", "", "--snaplen", kind.snaplen, "--out", folder / "run"]
    command += ["--cc", kind.congestion_control, "--max-lateness", "1s"]
    for name, value in kind.sysctls.items():
        command += ["--sysctl", f"net.ipv4.{name}={value}"]
    (folder / "server.py").write_text(SERVER)
    command += ["--server", f"exec {sys.executable} {folder / 'server.py'}"]
    command += ["--", sys.executable, "-c", CLIENT, json.dumps(kind.plan)]
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    whole = folder / "run" / "capture.pcapng"
    if not whole.exists():
        raise RuntimeError(done.stderr)
    raw, file = folder / "raw.pcap", folder / f"capture.{kind.form}"
    of_end = ["-Y", f"frame.interface_name == {kind.end}"]
    run("tshark", "-n", "-r", whole, *of_end, "-F", "nsecpcap", "-w", raw)
    raw.write_bytes(framed(raw.read_bytes(), kind.frame))
    run("editcap", "-F", "nsecpcap" if kind.form == "pcap" else kind.form, raw, file)
    return file


def framed(pcap: bytes, frame: str) -> bytes:
    """Put each IP packet of a file of raw ones into a frame."""
    link_type, heads = FRAMES[frame]
    out = [pcap[:20], struct.pack("<I", link_type)]
    at = 24
    while at < len(pcap):
        kept, length = struct.unpack_from("<II", pcap, at + 8)
        packet = pcap[at + 16 : at + 16 + kept]
        head = heads[packet[0] >> 4]
        out += [pcap[at : at + 8], struct.pack("<II", kept + len(head), length + len(head)), head, packet]
        at += 16 + kept
    return b"".join(out)


def run(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    return done.stdout


@dataclass
class Seen:
    """Counters of a connection, or of one sender."""

    packets: int = 0
    segments: dict[str, int] = field(default_factory=Counter)
    octets: dict[str, int] = field(default_factory=Counter)
    again: dict[str, int] = field(default_factory=Counter)
    dupacks: dict[str, int] = field(default_factory=Counter)
    rtt_ms: dict[str, float] = field(default_factory=dict)
    overtaken: set[str] = field(default_factory=set)
    """ACKs for this end came behind later segments of the other: for tshark they are no duplicates."""
    reordered: set[str] = field(default_factory=set)
    """ACKs for this end came out of order: tshark compares each with the one before, not with the highest."""
    timed_by_fin: set[str] = field(default_factory=set)
    """One ACK for data of this end and for a following FIN: tshark times the FIN, airpath the data."""


def by_tshark(file: Path) -> dict[int, Seen]:
    """tshark's results, by stream index."""
    names = (
        "frame.number",
        "tcp.stream",
        "tcp.srcport",
        "tcp.len",
        "tcp.nxtseq",
        "tcp.ack",
        "tcp.flags.fin",
    )
    names += ("tcp.analysis.ack_rtt", "tcp.analysis.acks_frame")
    flags = ("retransmission", "out_of_order", "duplicate_ack")
    names += tuple(f"tcp.analysis.{flag}" for flag in flags)
    options = [word for name in names for word in ("-e", name)]
    lines = run("tshark", "-n", "-r", file, "-Y", "tcp", "-T", "fields", "-E", "separator=;", *options)
    found: dict[int, Seen] = defaultdict(Seen)
    sent: dict[tuple[int, str], int] = {}
    ends: dict[tuple[int, str], int] = {}
    acknowledged: dict[tuple[int, str], int] = {}
    untimed = set()
    fins = set()
    for line in lines.splitlines():
        frame, stream, source, length, end, ack, fin, rtt, acked, *analysis = line.split(";")
        retransmission, late, duplicate = analysis
        number, is_server = int(stream) + 1, source in PORTS
        sender, other = ("server", "client") if is_server else ("client", "server")
        seen = found[number]
        seen.packets += 1
        if int(length):
            seen.segments[sender] += 1
            seen.octets[sender] += int(length)
            seen.again[sender] += bool(retransmission or late)
        is_fin = fin in ("1", "True")
        before = sent.get((number, sender), 0)
        if is_fin:
            ends[number, sender] = int(end)
            # An ACK that came before it counted its octet.
            sent[number, sender] = int(end) - 1 if before == int(end) else max(before, int(end) - 1)
        elif int(length) or (end and int(end) != ends.get((number, sender))):
            # The number of an ACK without data tells of data that were lost before the capture.
            sent[number, sender] = max(before, int(end))
        if not int(length) and not is_fin and end and int(end) < before:
            seen.overtaken.add(other)
        # RFC 5681 (2) requires data in flight; tshark does not.
        if duplicate and int(ack) < sent.get((number, other), 0):
            seen.dupacks[other] += 1
        # A FIN without data is no RTT sample for airpath, nor is a retransmission (Karn).
        if is_fin and length == "0":
            fins.add(frame)
        if retransmission or late:
            untimed.add(frame)
        before = acknowledged.get((number, other), 0)
        if acked in fins:
            if int(ack) - 1 > before:
                seen.timed_by_fin.add(other)
        elif rtt and acked not in untimed:
            seen.rtt_ms[other] = min(seen.rtt_ms.get(other, float("inf")), 1e3 * float(rtt))
        acknowledged[number, other] = max(int(ack or 0), before)
    return found


def by_airpath(file: Path) -> dict[int, Seen]:
    """airpath's results, like `by_tshark`."""
    found: dict[int, Seen] = {}
    for one in analyze(file, most=1000)["connections"]:
        seen = found[one["number"]] = Seen(one["packets"])
        for flow in one["flows"]:
            sender, counters = flow["sender"], flow["counters"]
            seen.segments[sender] = counters["segments"]
            seen.octets[sender] = counters["bytes"]
            seen.again[sender] = flow["retransmissions"]["total"] + flow["reordering"]["late_segments"]
            seen.dupacks[sender] = counters["dupacks"]
            if counters["old_acks"]:
                seen.reordered.add(sender)
            # With timestamps another ACK may tell; of several segments, one of them sent twice, none does.
            is_clear = not one["syn_retransmissions"] and not seen.again[sender]
            if flow["rtt"]["method"] == "sequence" and is_clear:
                seen.rtt_ms[sender] = flow["rtt"]["min_ms"]
    return found


def differences(file: Path) -> list[str]:
    """Where airpath and tshark count differently."""
    theirs, ours = by_tshark(file), by_airpath(file)
    if theirs.keys() != ours.keys():
        return [f"connections: {sorted(ours)}, tshark {sorted(theirs)}"]
    told = []
    for number, own in ours.items():
        other = theirs[number]
        if own.packets != other.packets:
            told.append(f"{number} packets: {own.packets}, tshark {other.packets}")
        for what in ("segments", "octets", "again", "dupacks"):
            for end in ("client", "server"):
                pair = (getattr(own, what).get(end, 0), getattr(other, what).get(end, 0))
                set_aside = own.reordered | other.overtaken if what == "dupacks" else set()
                if pair[0] != pair[1] and end not in set_aside:
                    told.append(f"{number} {end} {what}: {pair[0]}, tshark {pair[1]}")
        for end in (own.rtt_ms.keys() & other.rtt_ms.keys()) - other.timed_by_fin:
            if abs(own.rtt_ms[end] - other.rtt_ms[end]) > 0.002:
                told.append(
                    f"{number} {end} rtt: {own.rtt_ms[end]:.3f} ms, tshark {other.rtt_ms[end]:.3f} ms"
                )
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--captures", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for captures with differences")
    parser.add_argument("--folder", type=Path, help="compare the captures in it, and draw none")
    options = parser.parse_args()
    if options.folder:
        sys.exit(compare_folder(options.folder))
    kinds: dict[str, int] = Counter()
    differing = 0
    for seed in range(options.seed, options.seed + options.captures):
        kind = drawn(random.Random(seed))
        with tempfile.TemporaryDirectory() as folder:
            file = capture(kind, seed, Path(folder))
            told = differences(file)
            if told and options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, options.keep / f"{seed}.{kind.form}")
        print(f"{seed}: {kind}: {len(told)} differences", *told, sep="\n    ", flush=True)
        kinds.update(line.split()[-4 if "rtt" not in line else -6].rstrip(":") for line in told)
        differing += bool(told)
    print(f"{options.captures} captures, {differing} with differences: {dict(kinds)}")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
