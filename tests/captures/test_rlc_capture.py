"""tshark, which knows RLC by itself, reads the PDUs of a run and finds what the run's own trace says.

tshark mistakes PDUs for copies of others once sequence numbers wrap, after 4096, and then fails to reassemble
packets. It still decodes each PDU correctly.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
import tshark
from conftest import check_error

import airpath

pytestmark = pytest.mark.usefixtures("undrawn")

DIRECTIONS = ("uplink", "downlink")  # As Wireshark numbers them.
SEQUENCE_NUMBERS = 4096
WARNING = "0x00600000"  # As Wireshark numbers severities.
LIST, BITMAP = "3", "4"
PDU_FIELDS = (
    *("frame.time_epoch", "frame.comment", "frame.packet_flags_crc_error", "_ws.expert.message"),
    *("rlc.channel.dir", "rlc.channel.ueid", "rlc.dc", "rlc.seq", "rlc.p", "rlc.sufi.type", "rlc.sufi.lsn"),
    *("rlc.sufi.l", "rlc.sufi.len", "rlc.sufi.fsn", "rlc.bitmap_string"),
)
IN_BURSTS = {
    "radio.dch.downlink.channel": {"markov_fading": {"bler": "10 %", "doppler": "1 Hz", "step": "10 ms"}}
}
PDUS_APART = {
    "radio.dch.downlink.rlc.am.errors": "per_pdu",
    "radio.dch.uplink.rlc.am.errors": "per_pdu",
    "radio.dch.ues": 2,
}
LARGE_PDUS = {"radio.dch.downlink.rlc.am.pdu": "162 B", "radio.dch.downlink.rlc.am.special_he": True}


@pytest.fixture
def capture(tmp_path):
    """Run with changes; give the run's result and its capture file."""

    def make(changes: dict[str, str | int | bool]) -> tuple[airpath.Result, Path]:
        return tshark.captured(
            tmp_path, "umts-384", changes, probes=("rlc_data", "rlc_status"), capture_rlc=True
        )

    return make


@pytest.mark.slow
@tshark.needs_tshark
@pytest.mark.parametrize("changes", [{}, IN_BURSTS, PDUS_APART, LARGE_PDUS], ids=repr)
def test_tshark_reads_what_the_run_traced(changes, capture):
    result, file = capture({"duration": "15 s"} | changes)
    pdus, reports = traced(result.trace)
    seen_pdus, seen_reports = defaultdict(list), defaultdict(list)
    # Without reassembly, PDUs are decoded independently.
    options = ("-o", "rlc.perform_reassembly:FALSE")
    for line in fields(file, 'frame.interface_name == "rlc"', PDU_FIELDS, *options):
        pdu = dict(zip(PDU_FIELDS, line, strict=True))
        lost = pdu["frame.comment"] == "lost"
        assert lost == (pdu["frame.packet_flags_crc_error"] == "1")
        # No complaints: the comment is an "expert info" too.
        assert pdu["_ws.expert.message"] == pdu["frame.comment"]
        # The first UE has number 1 there.
        bearer = (int(pdu["rlc.channel.ueid"], 0) - 1, DIRECTIONS[int(pdu["rlc.channel.dir"])])
        at = round(float(pdu["frame.time_epoch"]), 6)
        if pdu["rlc.dc"] == "1":
            seen_pdus[bearer].append((at, int(pdu["rlc.seq"]), pdu["rlc.p"] == "1", lost))
        else:
            seen_reports[bearer].append((at, int(pdu["rlc.sufi.lsn"]), missing(pdu), lost))
    assert seen_pdus == pdus
    assert seen_reports == reports
    count = sum(map(len, pdus.values()))
    assert count > (SEQUENCE_NUMBERS / 2 if changes == LARGE_PDUS else 2 * SEQUENCE_NUMBERS)
    assert any(lost for log in pdus.values() for *_, lost in log)
    assert any(report[2] for log in reports.values() for report in log)


@pytest.mark.slow
@tshark.needs_tshark
@pytest.mark.parametrize("changes", [{}, LARGE_PDUS], ids=repr)
def test_tshark_puts_packets_together(changes, capture):
    result, file = capture({"duration": "3500 ms"} | changes)
    bearers = next(e["ues"][0] for e in result.summary["elements"] if e["element"] == "radio.dch")
    for way, (direction, end) in enumerate([("uplink", "server"), ("downlink", "ue")]):
        rlc = bearers[direction]["rlc"]
        assert rlc["data_pdus"] - rlc["retransmitted_pdus"] < SEQUENCE_NUMBERS
        fields_of_tcp = ("ip.len", "tcp.seq_raw", "tcp.ack_raw", "tcp.flags")
        on_air = f'frame.interface_name == "rlc" and rlc.channel.dir == {way} and tcp'
        together = fields(file, on_air, fields_of_tcp, at=-1)
        far = f'frame.interface_name == "{end}" and ip.dst == {"10.64.0.1" if way else "10.0.0.1"}'
        delivered = fields(file, far, fields_of_tcp)
        # In sending order, each once; the last ones have not arrived yet.
        assert delivered == together[: len(delivered)]
        assert len(together) - len(delivered) < 40
        assert len(delivered) > 40
    # TCP is the same connection at three places, and that it would complain about.
    alone = ("-o", "tcp.analyze_sequence_numbers:FALSE")
    wrong = f"rlc and (_ws.malformed or _ws.expert.severity >= {WARNING})"
    assert fields(file, wrong, ("frame.number", "_ws.expert.message"), *alone) == []


@pytest.mark.slow
@tshark.needs_tshark
def test_a_folder_has_pdus_if_it_is_to(airpath_command, tmp_path):
    command = ("run", "umts-384", "--set", "duration=2 s", "--out", tmp_path)
    assert airpath_command(*command).code == 0
    file = tmp_path / "capture.pcapng"
    packets = fields(file, "frame", ("frame.interface_name", "frame.time_epoch"))
    assert airpath_command(*command, "--force", "--capture-rlc").code == 0
    both = fields(file, "frame", ("frame.interface_name", "frame.time_epoch"))
    assert [frame for frame in both if frame[0] != "rlc"] == packets
    assert len(both) > 10 * len(packets) > 100


def test_pdus_without_a_folder(airpath_command):
    outcome = airpath_command("run", "umts-384", "--capture-rlc")
    check_error(outcome, "--capture-rlc", "without a folder", "--out DIR")


def traced(trace):
    """Every PDU and every report in the trace, by UE and direction."""
    pdus, reports = defaultdict(list), defaultdict(list)
    rows = trace["rlc_data"]
    for at, ue, direction, first, count, poll, lost in zip(
        *(rows[name].tolist() for name in ("time_s", "ue", "direction", "first_sn", "pdus", "poll", "lost")),
        strict=True,
    ):
        for sn in range(first, first + count):
            pdus[ue, direction].append((round(at, 6), sn % SEQUENCE_NUMBERS, bool(poll), bool(lost)))
    rows = trace["rlc_status"]
    for at, ue, direction, lsn, gone, lost in zip(
        *(rows[name].tolist() for name in ("time_s", "ue", "direction", "lsn", "missing_pdus", "lost")),
        strict=True,
    ):
        reports[ue, direction].append((round(at, 6), lsn % SEQUENCE_NUMBERS, gone, bool(lost)))
    return pdus, reports


def missing(pdu: dict[str, str]) -> int:
    """How many PDUs a STATUS PDU reports missing."""
    kinds = pdu["rlc.sufi.type"].split(",")
    if LIST in kinds:
        return sum(int(more) + 1 for more in pdu["rlc.sufi.l"].split(","))
    if BITMAP not in kinds:
        return 0
    # tshark names the PDUs that arrived, and shows the octets of a second bitmap shifted by four bits.
    arrived = {int(sn) for sn in pdu["rlc.bitmap_string"].split(",") if sn.strip()}
    first, lsn = int(pdu["rlc.sufi.fsn"].split(",")[0]), int(pdu["rlc.sufi.lsn"])
    octets = sum(int(length) + 1 for length in pdu["rlc.sufi.len"].split(","))
    reported = min((lsn - first) % SEQUENCE_NUMBERS, 8 * octets)
    return sum((first + place) % SEQUENCE_NUMBERS not in arrived for place in range(reported))


def fields(file: Path, display_filter: str, names: tuple[str, ...], *options: str, at: int | None = None):
    """Fields of the frames that pass; all occurrences of a field, or the one at index `at`."""
    lines = tshark.fields(file, display_filter, names, "--enable-heuristic", "rlc_udp", *options)
    return lines if at is None else [[value.split(",")[at] for value in line] for line in lines]
