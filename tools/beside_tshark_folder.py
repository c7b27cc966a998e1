"""Captures of a folder, analysed by airpath and by tshark: `beside_tshark.py --folder`.

Compared are the records of each file, its TCP connections, the packets of each, and of each direction
segments that repeat or fill a gap, duplicate ACKs, closings of the window, keep-alives and window probes, and
the round trip of the handshake. Where what airpath reports names a reason for a difference, it is listed with
that; otherwise it is open.
"""

from __future__ import annotations

import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airpath.captures import analyze
from airpath.errors import ScenarioError

PATIENCE_S = 600
MOST_CONNECTIONS = 100_000
FIELDS = (
    "tcp.stream",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.len",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.flags",
    "tcp.window_size_value",
    "tcp.analysis.initial_rtt",
    "tcp.analysis.retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.duplicate_ack",
    "tcp.analysis.keep_alive",
    "tcp.analysis.zero_window_probe",
    "frame.protocols",
)
SYN, FIN, RST, ACK = 2, 1, 4, 16
TUNNELS = (
    "gre",
    "vxlan",
    "geneve",
    "teredo",
    "l2tp",
    "esp",
    "capwap",
    "mpls_pw",
    "ipip",
    "6in4",
    "udpencap",
    "cfp",
    "pbb",
)
ITEMS = ("packets", "again", "dupacks", "zero_windows", "probes", "handshake")


@dataclass
class Flow:
    """Data that one end sends, and its acknowledgments."""

    again: int = 0
    dupacks: int = 0
    zero_windows: int = 0
    probes: int = 0
    closed: int = 0
    """ACKs that announce no window."""


@dataclass
class Connection:
    """A connection as one of the two programs sees it."""

    packets: int = 0
    handshake_ms: float | None = None
    flows: dict[str, Flow] = field(default_factory=lambda: defaultdict(Flow))
    notes: set[str] = field(default_factory=set)
    """Why the two may differ."""


Ends = tuple[str, str]
Found = dict[tuple[Ends, int], Connection]
"""By the two ends, and the how manieth connection between them it is."""


def by_tshark(file: Path) -> tuple[int, Found, str]:
    """What tshark says: records, connections, and why it stopped reading, if it did."""
    options = [word for name in FIELDS for word in ("-e", name)]
    whole = [
        "-o",
        "ip.defragment:FALSE",
        "-o",
        "ipv6.defragment:FALSE",
        "-o",
        "tcp.desegment_tcp_streams:FALSE",
    ]
    command = [
        "tshark",
        "-n",
        *whole,
        "-r",
        str(file),
        "-T",
        "fields",
        "-E",
        "separator=;",
        "-E",
        "occurrence=l",
    ]
    done = subprocess.run(
        [*command, *options],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        errors="replace",
    )
    records, streams, order = 0, {}, Counter[Ends]()
    windows: dict[tuple[str, str], int] = {}
    found: Found = {}
    sent: dict[tuple[str, str], int] = {}
    for line in done.stdout.splitlines():
        stream, *rest = line.split(";")
        protocols = rest[-1].split(":")
        records += 1
        # What an error of ICMP quotes is no segment.
        if not stream or {"icmp", "icmpv6"} & set(protocols):
            continue
        src4, dst4, src6, dst6, sport, dport, length, seq, ack, flags, window, rtt, *analysis, _ = rest
        again, late, duplicate, alive, probe = map(bool, analysis)
        is_four = "ip" in protocols and (
            "ipv6" not in protocols or protocols[::-1].index("ip") < protocols[::-1].index("ipv6")
        )
        source = f"{src4}:{sport}" if is_four else f"[{src6}]:{sport}"
        target = f"{dst4}:{dport}" if is_four else f"[{dst6}]:{dport}"
        ends = (min(source, target), max(source, target))
        if stream not in streams:
            streams[stream] = (ends, order[ends])
            order[ends] += 1
        one = found.setdefault(streams[stream], Connection())
        one.packets += 1
        if rtt:
            one.handshake_ms = 1e3 * float(rtt)
        bits = int(flags, 16) if flags else 0
        flow, other = one.flows[source], one.flows[target]
        payload = int(length or 0)
        flow.again += payload > 0 and (again or late)
        flow.probes += alive or probe
        key = stream, source
        end = int(seq or 0) + payload
        if payload:
            sent[key] = max(sent.get(key, 0), end)
        # RFC 5681 (2) requires data in flight; tshark does not.
        other.dupacks += duplicate and int(ack or 0) < sent.get((stream, target), 0)
        if bits & ACK and not bits & (SYN | FIN | RST):
            size, before = int(window or 0), windows.get(key)
            other.zero_windows += size == 0 and before not in (None, 0)
            other.closed += size == 0
            windows[key] = size
        is_nested = protocols.count("ip") + protocols.count("ipv6") > 1 and "gtp" not in protocols
        if is_nested or set(TUNNELS) & set(protocols):
            one.notes.add("in a tunnel that airpath does not open")
    stopped = "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]
    return records, found, stopped


def by_airpath(file: Path) -> tuple[dict[str, Any], Found]:
    """What airpath says: the report, and connections."""
    report = analyze(file, most=MOST_CONNECTIONS)
    found: Found = {}
    order = Counter[Ends]()
    for one in report["connections"]:
        ends = (min(one["client"], one["server"]), max(one["client"], one["server"]))
        seen = found[ends, order[ends]] = Connection(one["packets"] + one["copies"], one["handshake_rtt_ms"])
        order[ends] += 1
        if one["copies"]:
            seen.notes.add("frames recorded more than once")
        if one["strays"]:
            seen.notes.add("stray segments in front of the answer to a SYN (RFC 9293 3.10.7.3)")
        if one["syn_retransmissions"]:
            seen.notes.add("SYN retransmitted: its round trip is ambiguous (Karn)")
        if one["opening"] != "whole":
            seen.notes.add("handshake not captured")
        for flow in one["flows"]:
            counters = flow["counters"]
            again = flow["retransmissions"]["total"] + flow["reordering"]["late_segments"]
            own = Flow(again, counters["dupacks"] or 0, flow["flight"]["zero_windows"])
            own.probes = counters["keepalives"] + counters["window_probes"]
            seen.flows[one[flow["sender"]]] = own
            if counters["after_their_ack"]:
                seen.notes.add("data recorded behind their ACK")
            if counters["old_acks"]:
                seen.notes.add("ACKs out of order: tshark compares with the one before")
            if counters["unseen_bytes"]:
                seen.notes.add("data missing in the capture")
            if counters["dupacks"] is None:
                seen.notes.add("ACKs alone: duplicates cannot be known")
            if counters["out_of_window"]:
                seen.notes.add("numbers that belong nowhere near")
    return report, found


def differences(ours: Connection, theirs: Connection) -> Iterator[tuple[str, str]]:
    """Items in which the two differ, and how."""
    if ours.packets != theirs.packets:
        yield "packets", f"{ours.packets}, tshark {theirs.packets}"
    for item in ("again", "dupacks", "zero_windows", "probes"):
        for end in sorted(ours.flows.keys() | theirs.flows.keys()):
            own = getattr(ours.flows.get(end, Flow()), item)
            other = getattr(theirs.flows.get(end, Flow()), item)
            if own != other and (end in ours.flows or other):
                yield item, f"{end}: {own}, tshark {other}"
    own_ms, other_ms = ours.handshake_ms, theirs.handshake_ms
    is_one_alone = (own_ms is None) != (other_ms is None)
    if is_one_alone or (own_ms is not None and other_ms is not None and abs(own_ms - other_ms) > 0.002):
        yield "handshake", f"{own_ms} ms, tshark {other_ms}"


def reasons_for(item: str, ours: Connection, theirs: Connection) -> set[str]:
    """Why the two may differ in an item."""
    found = ours.notes | theirs.notes
    ends = ours.flows.keys() | theirs.flows.keys()
    both = [(ours.flows.get(end, Flow()), theirs.flows.get(end, Flow())) for end in ends]
    if item in ("again", "probes") and all(
        own.again + own.probes == other.again + other.probes for own, other in both
    ):
        found.add("a single byte retransmitted before its ACK, for tshark a keep-alive")
    if item == "dupacks" and all(0 <= own.dupacks - other.dupacks <= other.closed for own, other in both):
        found.add("duplicate ACKs of a closed window, which tshark does not count")
    if item == "handshake" and (theirs.handshake_ms is None or ours.handshake_ms == 0.0):
        found.add("tshark times no handshake whose third segment has data, or that takes no time")
    return found


def compare_folder(folder: Path) -> int:
    """Compare all captures below a folder, and print differences and a table; 1 if one is open."""
    compared, equal, explained = Counter[str](), Counter[str](), Counter[str]()
    reasons, files, refused = Counter[str](), 0, 0
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = file.relative_to(folder)
        try:
            report, ours = by_airpath(file)
        except ScenarioError as error:
            refused += 1
            print(f"{name}: {error}")
            continue
        try:
            records, theirs, stopped = by_tshark(file)
        except subprocess.TimeoutExpired:
            print(f"{name}: tshark took more than {PATIENCE_S} s")
            continue
        files += 1
        compared["records"] += 1
        # Simple packet blocks have no time: airpath counts them and no more.
        own_records = report["file"]["records"] + report["file"]["records_without_time"]
        equal["records"] += own_records == records
        if own_records != records:
            explained["records"] += bool(stopped)
            print(f"{name}: records {own_records}, tshark {records} [{stopped or 'open'}]")
        for key in sorted(ours.keys() | theirs.keys()):
            (one, other), compared["connections"] = (
                (ours.get(key), theirs.get(key)),
                compared["connections"] + 1,
            )
            if one is None or other is None:
                notes = (one or other or Connection()).notes & {"in a tunnel that airpath does not open"}
                if report["packets"]["fragments"]:
                    notes.add("fragments, which airpath does not read")
                if report["unknown_link_types"]:
                    notes.add("a link type that airpath does not read")
                _told(
                    name, key, "connections", "only tshark" if one is None else "only airpath", notes, reasons
                )
                explained["connections"] += bool(notes)
                continue
            equal["connections"] += 1
            told = dict[str, list[str]]()
            for item, text in differences(one, other):
                told.setdefault(item, []).append(text)
            why = {item: reasons_for(item, one, other) for item in told}
            for item in ITEMS:
                compared[item] += 1
                equal[item] += item not in told
                explained[item] += bool(why.get(item))
            for item, texts in told.items():
                _told(name, key, item, "; ".join(texts), why[item], reasons)
    print(f"\n{files} captures, {refused} refused")
    print("| item | compared | equal | with a reason | open |\n|---|---|---|---|---|")
    open_ones = 0
    for item in ("records", "connections", *ITEMS):
        left = compared[item] - equal[item] - explained[item]
        open_ones += left
        print(f"| {item} | {compared[item]} | {equal[item]} | {explained[item]} | {left} |")
    for reason, count in reasons.most_common():
        print(f"{count}: {reason}")
    return int(open_ones > 0)


def _told(
    name: Path, key: tuple[Ends, int], item: str, text: str, notes: set[str], reasons: Counter[str]
) -> None:
    (one, other), number = key
    why = ", ".join(sorted(notes)) or "open"
    reasons[f"{item}: {why}"] += 1
    print(f"{name}: {one} - {other} #{number + 1}: {item} {text} [{why}]")
