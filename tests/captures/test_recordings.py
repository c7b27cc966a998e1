"""Captures from practice: compressed, recorded twice, from within a core network; and their reports."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest
from conftest import check_error
from tshark import captured, fields, needs_tshark

from airpath.captures import analyze

pytestmark = pytest.mark.usefixtures("undrawn")

SERVER, UE, IU = range(3)
ENHANCED_PACKET = 6


def of_interface(content: bytes, number: int) -> bytes:
    """Take the packets of the other interfaces out of a capture."""
    kept, at = b"", 0
    while at < len(content):
        kind, length, first = struct.unpack_from("<III", content, at)
        if kind != ENHANCED_PACKET or first == number:
            kept += content[at : at + length]
        at += length
    return kept


def twice(content: bytes) -> bytes:
    """Record each packet twice."""
    kept, at = b"", 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        kept += content[at : at + length] * (2 if kind == ENHANCED_PACKET else 1)
        at += length
    return kept


@pytest.mark.slow
@needs_tshark
def test_inside_the_tunnels_of_our_own_core_are_the_connections(tmp_path):
    changes = {"duration": "60 s"}
    result, file = captured(tmp_path, "umts-network", changes, probes=(), capture_iu=True)
    outside = tmp_path / "outside.pcapng"
    outside.write_bytes(of_interface(file.read_bytes(), SERVER))
    inside = tmp_path / "inside.pcapng"
    inside.write_bytes(of_interface(file.read_bytes(), IU))
    core = next(element for element in result.summary["elements"] if element["element"] == "umts")
    report = analyze(inside)
    assert report["connections_seen"] == analyze(outside)["connections_seen"] == len(result.flows)
    teids = {ue["iu"]["teids"][node] for ue in core["ues"] for node in ("rnc", "sgsn")}
    assert {tunnel["teid"] for tunnel in report["tunnels"]} == teids
    # Both levels are counted: the datagrams that tshark sees, and the segments in them.
    counted = len(fields(inside, "gtp.message == 255", ("frame.number",)))
    assert sum(tunnel["packets"] for tunnel in report["tunnels"]) == counted == report["tunneled"]["tcp"]
    assert report["packets"]["udp"] >= counted and report["packets"]["tcp"] == 0
    for one in report["connections"]:
        for flow in one["flows"]:
            ends = ("client", "server") if flow["sender"] == "client" else ("server", "client")
            (_, port), (address, other) = (one[end].rsplit(":", 1) for end in ends)
            inner = (
                f"tcp.srcport == {port} and tcp.dstport == {other} and ip.dst == {address} and tcp.len > 0"
            )
            assert flow["counters"]["segments"] == len(fields(inside, inner, ("frame.number",)))
            assert flow["in_tunnel"]
    # With the other interfaces they are the same connections, seen at three places.
    whole = analyze(file)
    assert whole["connections_seen"] == len(result.flows)
    assert {view["in_tunnel"] for one in whole["connections"] for view in one["views"]} == {True, False}
    assert all(len(one["views"]) == 3 for one in whole["connections"])


def test_what_is_in_tunnels_recorded_twice_or_compressed_is_said(tmp_path, airpath_command):
    _, file = captured(tmp_path, "umts-network", {"duration": "20 s"}, probes=(), capture_iu=True)
    once = analyze(file)
    packed = tmp_path / "twice.pcapng.gz"
    packed.write_bytes(gzip.compress(twice(of_interface(file.read_bytes(), IU))))
    done = airpath_command("analyze", packed)
    assert done.code == 0, done.err
    assert f"{len(once['tunnels'])} GTP-U tunnels" in done.out
    copies = once["packets"]["udp"]
    assert f"{copies} packets recorded more than once, counted once" in done.out
    # If the compressed stream is truncated, the data before the end is read.
    packed.write_bytes(packed.read_bytes()[:-3000])
    done = airpath_command("analyze", packed)
    assert done.code == 0, done.err
    assert "the gzip stream ends early" in done.out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"snoop\0\0\0\0\0\0\2", "pcapng converts it"),
        (bytes.fromhex("04224d18") + bytes(20), "compressed by LZ4"),
        (b"", "it is empty"),
    ],
)
def test_what_is_no_capture_is_named(content: bytes, said: str, tmp_path: Path, airpath_command):
    file = tmp_path / "trace"
    file.write_bytes(content)
    check_error(airpath_command("analyze", file), str(file), said, "tcpdump")


def test_an_unknown_link_is_named_by_its_number(tmp_path, airpath_command):
    file = tmp_path / "user0.pcap"
    record = struct.pack("<IIII", 1, 0, 40, 40) + bytes(40)
    file.write_bytes(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 147) + record)
    done = airpath_command("analyze", file)
    assert done.code == 0, done.err
    assert "1 frames of an unknown kind of link (LINKTYPE 147)" in done.out
