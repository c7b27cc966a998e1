"""tshark reads every PDU of LTE's RLC and MAC of a run over `radio.lte`, and its counts equal the run's."""

from __future__ import annotations

from collections import Counter, defaultdict
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
HEURISTICS = [word for name in ("rlc", "mac") for word in ("--enable-heuristic", f"{name}_lte_udp")]
ERROR = "0x00800000"  # As Wireshark numbers severities.
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
    """The bearers of a run's UEs, and its capture."""
    result, file = tshark.captured(tmp_path_factory.mktemp("lte"), "lte-5mhz", LOSSY, capture_rlc=True)
    [cell] = [element for element in result.summary["elements"] if element["element"] == "radio.lte"]
    return cell["ues"], file


def test_tshark_counts_what_the_run_counts(lossy):
    bearers, file = lossy
    pdus_of = defaultdict(list)
    for line in read(file, "rlc-lte", FIELDS):
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
    frames = read(file, "frame and not mac-lte", ("frame.number",))
    assert sum(pdus["all"] for pdus in counted.values()) == len(frames)
    down, up = ([counted[ue, direction] for ue in range(2)] for direction in ("downlink", "uplink"))
    assert all(pdus["data_pdus"] > SEQUENCE_NUMBERS and pdus["segments"] > 100 for pdus in down)
    assert all(pdus["nacks"] > 100 and pdus["nacks_of_parts"] > 10 for pdus in up)


def test_tshark_reads_a_mac_pdu_for_each_block(lossy):
    bearers, file = lossy
    fields = ("mac-lte.ueid", "mac-lte.direction", "mac-lte.dlsch.lcid", "mac-lte.ulsch.lcid")
    blocks: Counter[tuple[int, str]] = Counter()
    pdus: Counter[tuple[int, str]] = Counter()
    for ue, direction, *lcids in read(file, "mac-lte", fields):
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
    _, file = lossy
    wrong = f"_ws.malformed or ((rlc-lte or mac-lte) and _ws.expert.severity >= {ERROR})"
    assert read(file, wrong, ("frame.number", "_ws.expert.message")) == []


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


def read(file: Path, display_filter: str, names: tuple[str, ...]) -> list[list[str]]:
    """Fields of the PDUs that pass."""
    on_air = f'frame.interface_name == "rlc" and ({display_filter})'
    return tshark.fields(file, on_air, names, *HEURISTICS)
