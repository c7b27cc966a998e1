"""tshark reads the PDUs of both legs of a split bearer, whose PDCP numbers go over one leg or the other."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest
import test_rlc_lte_capture as lte
import test_rlc_nr_capture as nr
import tshark

pytestmark = [tshark.needs_tshark, pytest.mark.usefixtures("undrawn")]

DIRECTIONS = ("uplink", "downlink")  # As Wireshark numbers them.
PROTOCOLS = ("rlc-nr", "pdcp-nr", "mac-nr", "rlc-lte", "mac-lte")
PDCP_FIELDS = ("pdcp-nr.ueid", "pdcp-nr.direction", "pdcp-nr.seq-num")
LAYERS = ("rlc_nr_udp", "pdcp_nr_udp", "mac_nr_udp", "rlc_lte_udp", "mac_lte_udp")
HEURISTICS = [word for name in LAYERS for word in ("--enable-heuristic", name)]
# tshark calls no PDCP of NR above RLC of LTE, but that of LTE.
HEURISTICS += ["-o", "rlc-nr.reassemble_am_frames:FALSE", "-o", "rlc-lte.call_pdcp_for_drb:Off"]
# NR is there from 0.3 s on, and is released for 167 ms at 0.7 s.
RELEASE = {"ue": "car", "from": "nr", "warning": "0 s", "bearers": "release"}
CHANGES = {
    "duration": "1.2 s",
    "handover": [
        RELEASE | {"at": "0 s", "outage": "300 ms"},
        RELEASE | {"at": "700 ms", "outage": "167 ms"},
    ],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The result of a run with a split bearer, and the frames of its capture."""
    result, file = tshark.captured(
        tmp_path_factory.mktemp("endc"), "endc-drive", CHANGES, probes=["pdcp_delivered"], capture_rlc=True
    )
    return result, frames_of(file, PDCP_FIELDS)


@pytest.mark.slow
def test_each_number_of_pdcp_is_on_a_leg(run):
    result, frames = run
    [split] = [element for element in result.summary["elements"] if element["element"] == "split_bearers"]
    pdus = [
        (DIRECTIONS[int(told, 0)], int(ue) - 1, int(sn))
        for ue, told, sn in frames.fields("pdcp-nr", PDCP_FIELDS)
    ]
    delivered = result.trace["pdcp_delivered"]
    for direction in DIRECTIONS:
        seen = [Counter(sn for way, ue, sn in pdus if (way, ue) == (direction, leg)) for leg in (0, 1)]
        here = delivered["direction"] == direction
        legs, counts = delivered["leg"][here].astype(int), delivered["count"][here].astype(int)
        assert list(counts) == list(range(len(counts)))
        assert len(counts) > 500
        assert all(count in seen[leg] for leg, count in zip(legs, counts, strict=True))
        own = split["bearers"][0][direction]["legs"]
        # The others were given back before they were sent, or are in a queue at the end.
        for leg, numbers in zip(own, seen, strict=True):
            assert 0 <= leg["pdus"] - numbers.total() <= leg["returned_pdus"] + 200
        # A number is on both legs only after the release, and never twice on one.
        assert max(max(numbers.values()) for numbers in seen) == 1
        twice = seen[0].keys() & seen[1].keys()
        assert len(twice) <= own[1]["recovered_pdus"]
        if direction == "downlink":
            assert own[1]["recovered_pdus"] > 0
            assert min(numbers.total() for numbers in seen) > 500


LEGS = {0: ("nr", nr.AM_FIELDS, nr.seen), 1: ("lte", lte.FIELDS, lte.seen)}


@pytest.mark.slow
@pytest.mark.parametrize("released", ["nr", "lte"])
def test_tshark_counts_what_each_leg_counts(released, tmp_path):
    """A leg that is released thrice has a new RLC entity each time; data goes both ways."""
    release = RELEASE | {"from": released, "outage": "50 ms"}
    flows = [{"ue": "car", "direction": way, "app": {"bulk": {}}} for way in DIRECTIONS]
    times = ("301 ms", "433 ms", "607 ms")
    changes = {"duration": "800 ms", "flow": flows, "handover": [release | {"at": at} for at in times]}
    changes["ue[0].split.uplink.threshold"] = "1 kB"
    result, file = tshark.captured(tmp_path, "endc-drive", changes, capture_rlc=True)
    frames = frames_of(file, (*nr.AM_FIELDS, *lte.FIELDS))
    for leg, (kind, fields, seen) in LEGS.items():
        pdus_of = defaultdict(list)
        for line in frames.fields(f"rlc-{kind}", fields):
            pdu = dict(zip(fields, line, strict=True))
            assert int(pdu[f"rlc-{kind}.ueid"]) - 1 == leg
            pdus_of[DIRECTIONS[int(pdu[f"rlc-{kind}.direction"], 0)]].append(pdu)
        [ues] = [part["ues"] for part in result.summary["elements"] if part["element"] == f"radio.{kind}"]
        for way in DIRECTIONS:
            counted = seen(pdus_of[way])
            entities = [ues[leg][way]["rlc"], *ues[leg][way].get("rlc_before", [])]
            assert len(entities) == (4 if kind == released else 1)
            for name in ("data_pdus", "segments", "polls", "status_pdus"):
                assert counted[name] == sum(entity[name] for entity in entities), (leg, way, name)
            assert counted["data_pdus"] > 20


def test_no_pdu_is_malformed(run):
    _, frames = run
    assert len(frames.rows) == len(frames.having(*PROTOCOLS)) > 5000
    assert frames.wrong() == []


def frames_of(file: Path, names: tuple[str, ...]) -> tshark.Frames:
    """Frames of both legs, with these fields."""
    return tshark.Frames(file, "rlc", PROTOCOLS, names, *HEURISTICS)
