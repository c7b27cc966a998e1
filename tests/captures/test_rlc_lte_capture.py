"""tshark reads every PDU of LTE's PDCP, RLC and MAC in captures of runs, and its counts equal the runs'."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
import tshark

pytestmark = [tshark.needs_tshark, pytest.mark.usefixtures("undrawn")]

DIRECTIONS = ("uplink", "downlink")  # As Wireshark numbers them.
SEQUENCE_NUMBERS = 1024
DATA = "0x01"  # As tshark writes the D/C bit of AMD PDUs.
FIELDS = (
    *("frame.comment", "rlc-lte.ueid", "rlc-lte.direction", "rlc-lte.am.frame-type", "rlc-lte.am.rf"),
    *("rlc-lte.am.p", "rlc-lte.am.fixed.sn", "rlc-lte.am.nack-sn", "rlc-lte.am.so-start"),
)
HEURISTICS = [word for name in ("rlc", "pdcp", "mac") for word in ("--enable-heuristic", f"{name}_lte_udp")]
# What RLC carries has a header of PDCP only where a test says so.
HEURISTICS += ["-o", "rlc-lte.call_pdcp_for_drb:Off"]
PROTOCOLS = ("rlc-lte", "pdcp-lte", "mac-lte")
MAC_FIELDS = ("mac-lte.ueid", "mac-lte.direction", "mac-lte.dlsch.lcid", "mac-lte.ulsch.lcid")
PDCP_FIELDS = ("pdcp-lte.ueid", "pdcp-lte.direction", "pdcp-lte.seq-num", "tcp.dstport")
# Two downloads. HARQ sends each block once, so that RLC retransmits losses; sizes of blocks differ, so
# that a repeated PDU often does not fit.
LOSSY = {
    "duration": "8 s",
    "radio.lte.ues": 2,
    "radio.lte.downlink.harq.max_transmissions": 1,
    "radio.lte.uplink.max_transmissions": 1,
    "flow": [{"ue": "each", "app": {"bulk": {}}}],
}


@pytest.fixture(scope="module")
def lossy(tmp_path_factory):
    """The bearers of a run's UEs, and the frames of its capture."""
    result, file = tshark.captured(tmp_path_factory.mktemp("lte"), "lte-5mhz", LOSSY, capture_rlc=True)
    [cell] = [element for element in result.summary["elements"] if element["element"] == "radio.lte"]
    return cell["ues"], frames_of(file)


@pytest.mark.slow
def test_tshark_counts_what_the_run_counts(lossy):
    bearers, frames = lossy
    pdus_of = defaultdict(list)
    for line in frames.fields("rlc-lte", FIELDS):
        pdu = dict(zip(FIELDS, line, strict=True))
        # The first UE has number 1 there.
        bearer = int(pdu["rlc-lte.ueid"]) - 1, DIRECTIONS[int(pdu["rlc-lte.direction"], 0)]
        pdus_of[bearer].append(pdu)
    counted = {bearer: seen(pdus) for bearer, pdus in pdus_of.items()}
    assert set(counted) == {(ue, direction) for ue in range(2) for direction in DIRECTIONS}
    for (ue, direction), pdus in counted.items():
        bearer = bearers[ue][direction]
        rlc = bearer["rlc"]
        assert pdus["all"] == bearer["pdus_sent"] == rlc["data_pdus"] + rlc["status_pdus"]
        expected = ("data_pdus", "retransmitted_pdus", "segments", "polls", "status_pdus")
        assert {name: pdus[name] for name in expected} == {name: rlc[name] for name in expected}
        # Downlink PDUs are captured before their outcome is known: HARQ may retransmit them.
        assert pdus["lost"] == (bearer["pdus_lost"] if direction == "uplink" else 0)
        assert pdus["data_pdus"] > 100
        assert pdus["status_pdus"] > 10
        assert pdus["retransmitted_pdus"] > 5
        assert pdus["nacks"] > 0
    below_mac = len(frames.rows) - len(frames.having("mac-lte"))
    assert sum(pdus["all"] for pdus in counted.values()) == below_mac
    down, up = ([counted[ue, direction] for ue in range(2)] for direction in ("downlink", "uplink"))
    assert all(pdus["data_pdus"] > SEQUENCE_NUMBERS and pdus["segments"] > 100 for pdus in down)
    assert all(pdus["nacks"] > 100 and pdus["nacks_of_parts"] > 10 for pdus in up)


def test_tshark_reads_a_mac_pdu_for_each_block(lossy):
    bearers, frames = lossy
    blocks: Counter[tuple[int, str]] = Counter()
    pdus: Counter[tuple[int, str]] = Counter()
    for ue, direction, *lcids in frames.fields("mac-lte", MAC_FIELDS):
        bearer = int(ue) - 1, DIRECTIONS[int(direction, 0)]
        blocks[bearer] += 1
        pdus[bearer] += sum(values(field) for field in lcids)
    assert len(blocks) == 4
    for (ue, direction), count in pdus.items():
        assert count == bearers[ue][direction]["pdus_sent"]
    for ue in range(2):
        assert blocks[ue, "downlink"] == bearers[ue]["downlink"]["harq"]["blocks"]
        assert blocks[ue, "uplink"] == bearers[ue]["uplink"]["slots"]


def test_tshark_finds_no_pdu_malformed(lossy):
    _, frames = lossy
    assert frames.wrong() == []


def with_pdcp(folder, down, up, transmissions):
    """The bearers of a run's UEs whose RLC has these parameters, and its capture; UE 0 changes the cell."""
    downlink = {"blocks": {"bandwidth": "5 MHz"}, "rlc": down}
    downlink |= {"queue": {"droptail": {"bytes": "1 MB"}}, "reception": {"mean_sinr": "20 dB"}}
    downlink |= {"harq": {"max_transmissions": transmissions}}
    uplink = {"bler": "5 %", "max_transmissions": transmissions, "rlc": up}
    cell = {"ues": 2, "downlink": downlink, "uplink": uplink}
    changes = {
        **{"duration": "2 s", "radio.lte": cell, "flow": LOSSY["flow"]},
        "handover": [{"ue": 0, "at": "1 s", "outage": "50 ms"}],
    }
    result, file = tshark.captured(folder, "lte-5mhz", changes, capture_rlc=True)
    [cell] = [element for element in result.summary["elements"] if element["element"] == "radio.lte"]
    return cell["ues"], file


def pdcp_numbers(frames):
    """Sequence numbers of PDCP of each bearer; each PDU has a packet that tshark reads."""
    numbers = defaultdict(list)
    for ue, direction, number, port in frames.fields("pdcp-lte", PDCP_FIELDS):
        numbers[int(ue) - 1, DIRECTIONS[int(direction, 0)]].append(int(number))
        assert values(port) == 1
    assert len(numbers) == 4
    return numbers


@pytest.mark.slow
@pytest.mark.parametrize(("down", "up"), [(12, 18), (15, 12)])
def test_tshark_reads_pdcp_of_acknowledged_mode(down, up, tmp_path):
    both = [{"am_lte": {"pdcp_sn_size": bits}} for bits in (down, up)]
    bearers, file = with_pdcp(tmp_path, *both, transmissions=1)
    frames = frames_of(file)
    for (ue, direction), numbers in pdcp_numbers(frames).items():
        rlc = bearers[ue][direction]["rlc"]
        assert len(numbers) == rlc["pdcp_pdus"] > 100
        assert rlc["re_establishments"] == (1 if ue == 0 else 0)
        # Each number in order; after the hand-over those again that were not confirmed, with their numbers.
        back = [(one, two) for one, two in pairwise(numbers) if two != one + 1]
        assert numbers[0] == 0
        assert all(two <= one for one, two in back)
        assert len(back) <= (1 if ue == 0 else 0)
        assert len(back) == 1 or (ue, direction) != (0, "downlink")
    no_error(frames)
    # RLC carries what is shown of PDCP: Wireshark finds the same by itself in RLC's PDUs.
    within = ("-o", f"rlc-lte.call_pdcp_for_drb:{down}-bit SN")
    within += ("-o", "rlc-lte.do_sequence_analysis_am:Only-RLC-frames")  # Needed for reassembly.
    on_air = 'frame.interface_name == "rlc" and rlc-lte and pdcp-lte and rlc-lte.direction == 1'
    found = tshark.fields(file, on_air, ("tcp.srcport",), *HEURISTICS, *within)
    assert sum(values(field) for [field] in found) > 300


@pytest.mark.slow
def test_tshark_reads_pdcp_of_unacknowledged_mode(tmp_path):
    both = [{"um_lte": {"pdcp_sn_size": bits}} for bits in (7, 12)]
    bearers, file = with_pdcp(tmp_path, *both, transmissions=4)
    frames = frames_of(file)
    for (ue, direction), numbers in pdcp_numbers(frames).items():
        assert len(numbers) == bearers[ue][direction]["rlc"]["pdcp_pdus"] > 100
        modulus = 1 << (7 if direction == "downlink" else 12)
        steps = Counter((two - one) % modulus for one, two in pairwise(numbers))
        # At the hand-over COUNT restarts at 0.
        assert steps[1] >= len(numbers) - (2 if ue == 0 else 1)
        assert numbers[0] == 0
        if (ue, direction) == (1, "downlink"):
            assert len(numbers) > 2 * modulus
    no_error(frames)


def no_error(frames):
    assert len(frames.rows) == len(frames.having(*PROTOCOLS))
    assert frames.wrong() == []


def seen(pdus: list[dict[str, str]]) -> Counter[str]:
    """What tshark reads of the PDUs of a UE's direction, by the names that reports have."""
    count: Counter[str] = Counter()
    highest = -1
    for pdu in pdus:
        count["all"] += 1
        count["lost"] += pdu["frame.comment"] == "lost"
        if pdu["rlc-lte.am.frame-type"] != DATA:
            count["status_pdus"] += 1
            count["nacks"] += values(pdu["rlc-lte.am.nack-sn"])
            count["nacks_of_parts"] += values(pdu["rlc-lte.am.so-start"])
            continue
        count["data_pdus"] += 1
        count["segments"] += pdu["rlc-lte.am.rf"] == "0x01"
        count["polls"] += pdu["rlc-lte.am.p"] == "0x01"
        # Half of the numbers are a window: what is less than that ahead of the highest one is new.
        ahead = (int(pdu["rlc-lte.am.fixed.sn"]) - highest) % SEQUENCE_NUMBERS
        if 0 < ahead <= SEQUENCE_NUMBERS // 2:
            highest += ahead
        else:
            count["retransmitted_pdus"] += 1
    return count


def values(field: str) -> int:
    """How many values a field has that may be there several times."""
    return len(field.split(",")) if field else 0


def frames_of(file: Path) -> tshark.Frames:
    """Frames of all layers."""
    return tshark.Frames(file, "rlc", PROTOCOLS, (*FIELDS, *MAC_FIELDS, *PDCP_FIELDS), *HEURISTICS)
