"""tshark, which knows NR's RLC, PDCP and MAC by itself, reads every PDU of a run and counts alike."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
import tshark
from conftest import sampled

pytestmark = [tshark.needs_tshark, pytest.mark.usefixtures("undrawn")]

DIRECTIONS = ("uplink", "downlink")  # As Wireshark numbers them.
# Without reassembly: a retransmission in other segments overlaps the lost ones, which are in the capture,
# too.
HEURISTICS = [word for name in ("rlc", "pdcp", "mac") for word in ("--enable-heuristic", f"{name}_nr_udp")]
HEURISTICS += ["-o", "rlc-nr.reassemble_am_frames:FALSE", "-o", "rlc-nr.reassemble_um_frames:FALSE"]
AM_FIELDS = (
    *("frame.comment", "rlc-nr.ueid", "rlc-nr.direction", "rlc-nr.am.dc", "rlc-nr.am.si", "rlc-nr.am.so"),
    *("rlc-nr.am.p", "rlc-nr.am.sn", "rlc-nr.am.nack-sn", "rlc-nr.am.so-start", "rlc-nr.am.nack-range"),
)
PROTOCOLS = ("rlc-nr", "pdcp-nr", "mac-nr")
UM_FIELDS = ("rlc-nr.ueid", "rlc-nr.direction", "rlc-nr.um.si", "rlc-nr.um.sn")
PDCP_FIELDS = ("pdcp-nr.ueid", "pdcp-nr.direction", "pdcp-nr.seq-num", "pdcp-nr.fmc")
MAC_FIELDS = ("mac-nr.ueid", "mac-nr.direction")
IN_CELL = ("rlc-nr.bearer-id", "pdcp-nr.bearer-id", "mac-nr.radio-type")
# Downloads over LTE's blocks of 5 MHz, which NR's PDUs do not fill evenly. HARQ sends each block once: RLC
# retransmits losses.
LOSSY = {"duration": "8 s", "flow": [{"ue": "each", "app": {"bulk": {}}}]}
DOWNLINK = {
    "blocks": {"bandwidth": "5 MHz"},
    "queue": {"droptail": {"bytes": "1 MB"}},
    "reception": {"mean_sinr": "15 dB", "diversity": 2, "fading": {"jakes": {"doppler": "5.6 Hz"}}},
    "harq": {"max_transmissions": 1},
}
UPLINK = {"bler": "10 %", "max_transmissions": 1}
BITS = {"am-12": 12, "am-18": 18}


def layers(mode: str, sn: int, pdcp: int) -> dict[str, object]:
    """Two UEs in a cell with NR's RLC and PDCP in both directions."""
    above = {"rlc": {mode: {"sn": sn}}, "pdcp": {"sn": pdcp}}
    return {"radio.lte": {"ues": 2, "downlink": DOWNLINK | above, "uplink": UPLINK | above}}


@pytest.fixture(scope="module", params=sampled(BITS, 1))
def lossy(request, tmp_path_factory):
    """Bits of a sequence number, the bearers of a run's UEs, and the frames of its capture."""
    bits = BITS[request.param]
    handover = {"handover": [{"ue": 0, "at": "4 s", "outage": "50 ms"}]}
    changes = layers("am_nr", bits, bits) | LOSSY | handover
    result, file = tshark.captured(tmp_path_factory.mktemp("nr"), "lte-5mhz", changes, capture_rlc=True)
    [cell] = [element for element in result.summary["elements"] if element["element"] == "radio.lte"]
    return bits, cell["ues"], frames_of(file)


@pytest.mark.slow
def test_tshark_counts_what_the_run_counts(lossy):
    bits, bearers, frames = lossy
    pdus_of = defaultdict(list)
    for line in frames.fields("rlc-nr", AM_FIELDS):
        pdu = dict(zip(AM_FIELDS, line, strict=True))
        # The first UE has number 1 there.
        bearer = int(pdu["rlc-nr.ueid"]) - 1, DIRECTIONS[int(pdu["rlc-nr.direction"], 0)]
        pdus_of[bearer].append(pdu)
    assert set(pdus_of) == {(ue, direction) for ue in range(2) for direction in DIRECTIONS}
    for (ue, direction), pdus in pdus_of.items():
        bearer, counted = bearers[ue][direction], seen(pdus)
        rlc = bearer["rlc"]
        assert counted["all"] == bearer["pdus_sent"] == rlc["data_pdus"] + rlc["status_pdus"]
        expected = ("data_pdus", "segments", "polls", "status_pdus", "nacks")
        assert {name: counted[name] for name in expected} == {name: rlc[name] for name in expected}
        # Downlink PDUs are captured before their outcome is known: HARQ may retransmit them.
        assert counted["lost"] == (bearer["pdus_lost"] if direction == "uplink" else 0)
        assert counted["data_pdus"] > 100
        assert counted["status_pdus"] > 10
        assert rlc["re_establishments"] == (1 if ue == 0 else 0)
    down = [seen(pdus_of[ue, "downlink"]) for ue in range(2)]
    up = [seen(pdus_of[ue, "uplink"]) for ue in range(2)]
    assert all(pdus["segments"] > 1000 and pdus["retransmissions"] > 100 for pdus in down)
    assert all(pdus["nacks"] > 50 and pdus["nacks_of_parts"] > 10 and pdus["ranges"] > 10 for pdus in up)
    assert all(pdus["highest"] > 500 for pdus in down), bits


def test_tshark_reads_pdcp_and_mac_around_them(lossy):
    bits, bearers, frames = lossy
    pdcp: dict[tuple[int, str], list[tuple[str, str]]] = defaultdict(list)
    for ue, direction, sn, fmc in frames.fields("pdcp-nr", PDCP_FIELDS):
        pdcp[int(ue) - 1, DIRECTIONS[int(direction, 0)]].append((sn, fmc))
    mac = Counter(
        (int(ue) - 1, DIRECTIONS[int(direction, 0)]) for ue, direction in frames.fields("mac-nr", MAC_FIELDS)
    )
    for (ue, direction), pdus in pdcp.items():
        bearer = bearers[ue][direction]
        assert mac[ue, direction] == bearer["rlc"]["mac_pdus"]
        numbers = [int(sn) for sn, _ in pdus if sn]
        reports = [fmc for _, fmc in pdus if fmc]
        # A report of the end that receives in the other direction goes this way.
        other = bearers[ue]["uplink" if direction == "downlink" else "downlink"]
        assert len(reports) == other["pdcp"]["status_reports"] == (1 if ue == 0 else 0)
        again = sum(count - 1 for count in Counter(unwrapped(numbers, 1 << bits)).values())
        # Where nothing was re-established, each COUNT comes once, in order.
        if ue == 1:
            assert again == 0
            steps = {(two - one) % (1 << bits) for one, two in pairwise(numbers)}
            assert steps == {1}
        elif direction == "downlink":
            assert 0 < again < 1000
    assert len(pdcp) == len(mac) == 4


def test_tshark_finds_no_pdu_malformed(lossy):
    _, _, frames = lossy
    assert len(frames.rows) == len(frames.having(*PROTOCOLS)) > 10_000
    assert frames.wrong() == []


# A cell of NR: two carriers in each direction, a second bearer for the second flow of each UE, a hand-over.
# HARQ retransmits once; RLC the rest.
CELL = {
    "radio.nr": {
        "ues": 2,
        "carriers": 2,
        "downlink": {
            "blocks": {"bandwidth": "5 MHz", "layers": 1},
            "reception": {"mean_sinr": "15 dB", "fading": {"jakes": {"doppler": "20 Hz"}}},
            "adaptation": {"outer_loop": False},
            "harq": {"bler": ["30 %"], "max_transmissions": 2},
        },
        "uplink": {
            "carriers": 2,
            "blocks": {"bandwidth": "5 MHz"},
            "adaptation": {"outer_loop": False},
            "harq": {"bler": ["30 %"], "max_transmissions": 2},
        },
        "second_bearer": {"flows": [1], "share": "40 %"},
    },
    "flow": [
        {"ue": ue, "direction": direction, "app": {"bulk": {}}}
        for ue, direction in ((0, "downlink"), (0, "downlink"), (1, "uplink"), (1, "uplink"))
    ],
    "handover": [{"ue": 0, "at": "700 ms", "outage": "50 ms"}],
    "duration": "1500 ms",
}


# Data both ways, three hand-overs in one run, and all that PDCP may do at one.
BUSY = {
    "duration": "800 ms",
    "flow": [
        {"ue": ue, "direction": way, "app": {"bulk": {}}}
        for ue in (0, 1)
        for way in ("downlink", "downlink", "uplink", "uplink")
    ],
    "handover": [
        {"ue": ue, "at": f"{at} ms", "outage": f"{outage} ms", "warning": "0 s"}
        for ue, at, outage in ((0, 200, 20), (1, 300, 50), (0, 400, 1), (0, 550, 80))
    ],
}
RECOVERS = {"at_handover": "data_recovery", "status_report": False}
CELLS = {
    "TDD": {"radio.nr.frame": "DDDDDDDSUU"},
    "FDD": {"radio.nr.frame": "FDD"},
    "busy": BUSY
    | {"radio.nr.downlink.pdcp.status_report": False, "radio.nr.uplink.pdcp.discard_timer": "100 ms"},
    "busy with data recovery": BUSY
    | {"radio.nr.frame": "FDD", "radio.nr.downlink.pdcp": RECOVERS, "radio.nr.uplink.pdcp": RECOVERS},
}


@pytest.fixture(scope="module", params=sampled(CELLS, 2))
def cell(request, tmp_path_factory):
    """The frame of an NR cell, the bearers of its UEs, and the frames of its capture."""
    changes = CELL | CELLS[request.param]
    result, file = tshark.captured(
        tmp_path_factory.mktemp("cell"), "nr-n78-100mhz-still", changes, capture_rlc=True
    )
    frame = changes.get("radio.nr.frame", "DDDDDDDSUU")
    [ues] = [element["ues"] for element in result.summary["elements"] if element["element"] == "radio.nr"]
    return frame, "busy" in request.param, ues, frames_of(file, *IN_CELL)


@pytest.mark.slow
def test_tshark_counts_what_each_bearer_of_a_cell_counts(cell):
    _, is_busy, ues, frames = cell
    fields = (*AM_FIELDS, "rlc-nr.bearer-id")
    pdus_of = defaultdict(list)
    for line in frames.fields("rlc-nr", fields):
        pdu = dict(zip(fields, line, strict=True))
        direction = DIRECTIONS[int(pdu["rlc-nr.direction"], 0)]
        pdus_of[int(pdu["rlc-nr.ueid"]) - 1, direction, int(pdu["rlc-nr.bearer-id"])].append(pdu)
    assert set(pdus_of) == {
        (ue, direction, bearer) for ue in range(2) for direction in DIRECTIONS for bearer in (5, 6)
    }
    for (ue, direction, bearer), pdus in pdus_of.items():
        own = ues[ue][direction] if bearer == 5 else ues[ue][direction]["second"]
        counted = seen(pdus)
        rlc = own["rlc"]
        expected = ("data_pdus", "segments", "polls", "status_pdus", "nacks")
        assert {name: counted[name] for name in expected} == {name: rlc[name] for name in expected}
        assert counted["all"] == rlc["data_pdus"] + rlc["status_pdus"]
        carries_data = is_busy or direction == ("downlink" if ue == 0 else "uplink")
        assert counted["data_pdus" if carries_data else "status_pdus"] > 20
        assert not carries_data or counted["retransmissions"] > 10
        handovers = [3, 1] if is_busy else [1, 0]
        assert rlc["re_establishments"] == handovers[ue] + rlc["radio_link_failures"]


@pytest.mark.slow
def test_tshark_reads_every_frame_of_a_cell(cell):
    frame, _, ues, frames = cell
    assert len(frames.rows) == len(frames.having(*PROTOCOLS)) > 2_000
    assert frames.wrong() == []
    fields = (*MAC_FIELDS, "mac-nr.radio-type")
    mac = Counter(
        (int(ue) - 1, DIRECTIONS[int(way, 0)], kind) for ue, way, kind in frames.fields("mac-nr", fields)
    )
    # The part of each bearer is a MAC PDU of its own.
    radio_type = "1" if frame == "FDD" else "2"
    assert mac == {
        (ue, way, radio_type): sum(own["rlc"]["mac_pdus"] for own in (ues[ue][way], ues[ue][way]["second"]))
        for ue in range(2)
        for way in DIRECTIONS
    }
    pdcp: Counter[tuple[int, str, int]] = Counter()
    names = ("pdcp-nr.ueid", "pdcp-nr.direction", "pdcp-nr.bearer-id", "pdcp-nr.seq-num")
    for ue, way, bearer, sn in frames.fields("pdcp-nr", names):
        pdcp[int(ue) - 1, DIRECTIONS[int(way, 0)], int(bearer)] += bool(sn)
    # What has been delivered was in a PDCP PDU; after a hand-over some are transmitted again.
    for ue, way, bearer in ((0, "downlink", 5), (0, "downlink", 6), (1, "uplink", 5), (1, "uplink", 6)):
        own = ues[ue][way] if bearer == 5 else ues[ue][way]["second"]
        assert pdcp[ue, way, bearer] >= own["sdus_delivered"] > 20


@pytest.mark.parametrize("sn", [6, 12])
def test_tshark_reads_unacknowledged_mode(sn, tmp_path):
    changes = layers("um_nr", sn, 18) | LOSSY | {"duration": "3 s"}
    result, file = tshark.captured(tmp_path, "lte-5mhz", changes, capture_rlc=True)
    [cell] = [element for element in result.summary["elements"] if element["element"] == "radio.lte"]
    frames = frames_of(file)
    counted: Counter[tuple[int, str, str]] = Counter()
    for ue, direction, si, number in frames.fields("rlc-nr", UM_FIELDS):
        key = int(ue) - 1, DIRECTIONS[int(direction, 0)]
        is_segment = int(si, 0) != 0
        # Whole SDUs have no number.
        assert bool(number) == is_segment
        counted[(*key, "data_pdus")] += 1
        counted[(*key, "segments")] += is_segment
    for (ue, direction, name), count in counted.items():
        assert cell["ues"][ue][direction]["rlc"][name] == count
    assert counted[0, "downlink", "segments"] > 100
    assert frames.wrong() == []


def seen(pdus: list[dict[str, str]]) -> Counter[str]:
    """What tshark reads of the PDUs of a UE's direction, by the names that reports have."""
    count: Counter[str] = Counter()
    sent: set[tuple[str, str]] = set()
    for pdu in pdus:
        count["all"] += 1
        count["lost"] += pdu["frame.comment"] == "lost"
        if int(pdu["rlc-nr.am.dc"], 0) == 0:
            count["status_pdus"] += 1
            count["nacks"] += values(pdu["rlc-nr.am.nack-sn"])
            count["nacks_of_parts"] += values(pdu["rlc-nr.am.so-start"])
            count["ranges"] += values(pdu["rlc-nr.am.nack-range"])
            continue
        count["data_pdus"] += 1
        count["segments"] += int(pdu["rlc-nr.am.si"], 0) != 0
        count["polls"] += int(pdu["rlc-nr.am.p"], 0) == 1
        count["highest"] = max(count["highest"], int(pdu["rlc-nr.am.sn"]))
        place = pdu["rlc-nr.am.sn"], pdu["rlc-nr.am.so"]
        count["retransmissions"] += place in sent
        sent.add(place)
    return count


def unwrapped(numbers: list[int], modulus: int) -> list[int]:
    """Numbers that may go back by less than half of the modulus."""
    out: list[int] = []
    for number in numbers:
        last = out[-1] if out else 0
        out.append(last + (number - last + modulus // 2) % modulus - modulus // 2)
    return out


def values(field: str) -> int:
    """How many values a field has that may be there several times."""
    return len(field.split(",")) if field else 0


def frames_of(file: Path, *names: str) -> tshark.Frames:
    """Frames of all layers, with fields of these names in addition."""
    names = (*AM_FIELDS, *UM_FIELDS, *PDCP_FIELDS, *MAC_FIELDS, *names)
    return tshark.Frames(file, "rlc", PROTOCOLS, names, *HEURISTICS)
