"""tshark reads the PDUs of both legs of a split bearer, whose PDCP numbers go over one leg or the other."""

from __future__ import annotations

from collections import Counter

import pytest
import tshark

pytestmark = [tshark.needs_tshark, pytest.mark.usefixtures("undrawn")]

DIRECTIONS = ("uplink", "downlink")  # As Wireshark numbers them.
ERROR = "0x00800000"  # As Wireshark numbers severities.
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
    """The result of a run with a split bearer, and its capture."""
    return tshark.captured(
        tmp_path_factory.mktemp("endc"), "endc-drive", CHANGES, probes=["pdcp_delivered"], capture_rlc=True
    )


def test_each_number_of_pdcp_is_on_a_leg(run):
    result, file = run
    [split] = [element for element in result.summary["elements"] if element["element"] == "split_bearers"]
    fields = ("pdcp-nr.ueid", "pdcp-nr.direction", "pdcp-nr.seq-num")
    pdus = [
        (DIRECTIONS[int(told, 0)], int(ue) - 1, int(sn)) for ue, told, sn in read(file, "pdcp-nr", fields)
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


def test_no_pdu_is_malformed(run):
    _, file = run
    known = "rlc-nr or pdcp-nr or mac-nr or rlc-lte or mac-lte"
    frames = read(file, "frame", ("frame.number",))
    assert len(frames) == len(read(file, known, ("frame.number",))) > 5000
    wrong = f"_ws.malformed or _ws.expert.severity >= {ERROR}"
    assert read(file, wrong, ("frame.number", "_ws.expert.message")) == []


def read(file, display_filter: str, names: tuple[str, ...]) -> list[list[str]]:
    """Fields of the PDUs that pass."""
    return tshark.fields(file, f'frame.interface_name == "rlc" and ({display_filter})', names, *HEURISTICS)
