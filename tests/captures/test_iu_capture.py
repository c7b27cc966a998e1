"""tshark, which knows GTP by its port, reads the datagrams of the Iu, and the packets in them."""

from __future__ import annotations

import struct
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from conftest import check_error
from tshark import captured, fields, needs_tshark

import airpath

pytestmark = pytest.mark.usefixtures("undrawn")

SERVER, UE, IU = range(3)
ENHANCED_PACKET = 6
# Octets in front of the packet in a G-PDU with a sequence number: IP, UDP, GTP-U.
TUNNEL = 20 + 8 + 12
# In the packet, behind the IP header: what holds the RNF bit, and the checksum.
RNF_AT, RNF_BIT, CHECKSUM_AT = 20 + 12, 1, range(20 + 16, 20 + 18)
CHECKSUMS = ("-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE")

# Over UM the radio's losses reach TCP, and the middlebox at the RNC flags the ACKs that request
# retransmissions.
OVER_UM = {
    "duration": "60 s",
    "umts.qos": '["streaming", "streaming", "streaming", "streaming"]',
    "radio.dch.downlink.channel.bernoulli.bler": "3 %",
    "umts.attach": "500 ms",
}


@pytest.fixture
def capture(tmp_path):
    """Run with changes; give the run's result and its capture file."""

    def make(changes: dict[str, str | int | bool]) -> tuple[airpath.Result, Path]:
        return captured(
            tmp_path, "umts-network", changes, probes=("rnc_feedback", "bearer_enqueued"), capture_iu=True
        )

    return make


@pytest.mark.slow
@needs_tshark
def test_tshark_finds_the_tunnels_and_the_packets_in_them(capture):
    result, file = capture({"duration": "60 s"})
    core = next(element for element in result.summary["elements"] if element["element"] == "umts")
    names = ("ip.src", "ip.dst", "gtp.teid", "gtp.seq_number", "udp.length", "tcp.seq_raw", "tcp.ack_raw")
    tunnels, numbers = Counter(), {}
    inner = []
    for outer, dst, teid, number, length, *tcp in fields(file, 'frame.interface_name == "iu" and tcp', names):
        (way, inner_src), (_, inner_dst) = outer.split(","), dst.split(",")
        tunnels[int(teid, 16)] += 1
        # Nothing is missing, and nothing is out of order.
        assert int(number, 16) == numbers.setdefault(teid, 0)
        numbers[teid] += 1
        assert int(length) > TUNNEL - 20
        down = way == "172.16.0.2"
        assert (inner_src == "10.0.0.1") == down
        inner.append((inner_src, inner_dst, *tcp))
    expected = {}
    for ue in core["ues"]:
        teids = ue["iu"]["teids"]
        expected |= {teids["rnc"]: ue["iu"]["downlink"], teids["sgsn"]: ue["iu"]["uplink"]}
    # Packets in transit to the RNC at the end have not passed it.
    for teid, counted in expected.items():
        assert counted["g_pdus"] - 40 < tunnels[teid] <= counted["g_pdus"]
    assert set(tunnels) == set(expected)
    # The same numbers as where the packets came from.
    sent = Counter()
    for interface, src in (("server", "10.0.0.1"), ("ue", "10.64.0.0/16")):
        here = f'frame.interface_name == "{interface}" and ip.src == {src}'
        sent += Counter(map(tuple, fields(file, here, ("ip.src", "ip.dst", "tcp.seq_raw", "tcp.ack_raw"))))
    assert not Counter(inner) - sent
    assert len(inner) > 1000


@pytest.mark.slow
@needs_tshark
def test_echoes_and_checksums_are_right(capture):
    _, file = capture(OVER_UM)
    at_iu = 'frame.interface_name == "iu"'
    echoes = fields(file, f"{at_iu} and gtp.message != 255", ("gtp.message", "ip.src", "gtp.teid"))
    assert echoes == [["0x01", "172.16.1.1", "0x00000000"], ["0x02", "172.16.0.2", "0x00000000"]]
    bad = f"{at_iu} and (_ws.malformed or ip.checksum.status == 0 or tcp.checksum.status == 0 or "
    bad += "udp.checksum.status != 1)"
    assert fields(file, bad, ("frame.number",), *CHECKSUMS) == []
    good = f"{at_iu} and udp.checksum.status == 1 and tcp.checksum.status == 1"
    assert len(fields(file, good, ("frame.number",), *CHECKSUMS)) > 1000


@pytest.mark.slow
@needs_tshark
def test_before_and_behind_the_box_acks_differ_in_one_bit_and_the_checksum(capture):
    result, file = capture(OVER_UM)
    frames = frames_of(file)
    # Uplink alone: what the UEs sent, and G-PDUs from the RNC.
    sent = [data for interface, data in frames if interface == UE and data[12] == 10 and data[13] == 64]
    came = [data[TUNNEL:] for interface, data in frames if interface == IU and data[12:15] == b"\xac\x10\x01"]
    came = came[1:]  # The first is an echo.
    # The identification and the addresses tell which is which.
    by_key = {key(data): data for data in sent}
    assert len(by_key) == len(sent)
    flagged = 0
    for behind in came:
        before = by_key.pop(key(behind))
        assert len(before) == len(behind)
        differs = {at for at in range(len(before)) if before[at] != behind[at]}
        if differs:
            assert RNF_AT in differs
            assert differs <= {RNF_AT, *CHECKSUM_AT}
            assert before[RNF_AT] ^ behind[RNF_AT] == RNF_BIT
            flagged += 1
    assert len(came) > 300
    trace = result.trace["rnc_feedback"]
    assert flagged == trace["flagged"].sum() > 10
    # tshark sees the same bit, nowhere but behind the box, and no checksum that is bad.
    bit, at = "tcp.flags.ae == 1", 'frame.interface_name == "{}"'
    names = ("ip.checksum.status", "tcp.checksum.status")
    at_iu = fields(file, f"{at.format('iu')} and {bit}", names, *CHECKSUMS)
    assert at_iu == [["1,1", "1"]] * flagged
    assert fields(file, f"{at.format('ue')} and ip.src == 10.64.0.0/16 and {bit}", names) == []
    # What has not come is still on the radio, or was lost there.
    assert len(by_key) < 100


@pytest.mark.slow
@needs_tshark
def test_the_folder_has_the_iu_if_it_is_to(airpath_command, tmp_path):
    command = ("run", "umts-network", "--set", "duration=20 s", "--out", tmp_path, "--force")
    file = tmp_path / "capture.pcapng"
    outcome = airpath_command(*command, "--capture-iu", "--capture-rlc")
    assert (outcome.code, outcome.err) == (0, "")
    names = [name for (name,) in fields(file, "frame", ("frame.interface_name",))]
    assert set(names) == {"server", "ue", "rlc", "iu"}
    assert airpath_command(*command).code == 0
    assert {name for (name,) in fields(file, "frame", ("frame.interface_name",))} == {"server", "ue"}


@needs_tshark
@pytest.mark.parametrize(
    ("scenario", "option", "reason"),
    [
        ("umts-384", "--capture-iu", "the scenario has no [umts]"),
        ("umts-384-simple", "--capture-rlc", "the cell has no link layer that goes by TTIs"),
    ],
)
def test_an_interface_without_anything_is_warned_of_and_left_out(
    scenario, option, reason, airpath_command, tmp_path
):
    outcome = airpath_command("run", scenario, "--set", "duration=5 s", "--out", tmp_path, option)
    assert outcome.code == 0
    assert outcome.err == f"warning: {option}: {reason}; the capture is without that interface\n"
    shown = subprocess.run(["capinfos", "-M", tmp_path / "capture.pcapng"], capture_output=True, text=True)
    assert "Number of interfaces in file: 2" in shown.stdout


def test_the_iu_without_a_folder(airpath_command):
    outcome = airpath_command("run", "umts-network", "--capture-iu")
    check_error(outcome, "--capture-iu", "without a folder", "--out DIR")


def key(packet: bytes) -> bytes:
    """Identification and addresses."""
    return packet[4:6] + packet[12:20]


def frames_of(file: Path) -> list[tuple[int, bytes]]:
    """Interface and octets of every frame."""
    content, position, found = file.read_bytes(), 0, []
    while position < len(content):
        kind, length = struct.unpack_from("<II", content, position)
        if kind == ENHANCED_PACKET:
            interface, _, _, captured = struct.unpack_from("<IIII", content, position + 8)
            found.append((interface, content[position + 28 : position + 28 + captured]))
        position += length
    return found
