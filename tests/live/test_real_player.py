"""Media and reports of `benches/real_player.py`; dash.js itself comes from npm and is not tested here."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
import real_player


def elements(data: bytes):
    """Names and bodies of EBML elements in a row."""
    at = 0
    while at < len(data):
        name_length = 9 - data[at].bit_length()
        name = data[at : at + name_length]
        at += name_length
        length = int.from_bytes(data[at : at + 8], "big") & ~(1 << 56)
        yield name, data[at + 8 : at + 8 + length]
        at += 8 + length


def test_a_segment_has_the_octets_of_its_level_and_its_place_in_time():
    data = real_player.segment(3, 150_000)
    assert len(data) == 150_000
    ((name, cluster),) = elements(data)
    parts = list(elements(cluster))
    blocks = [body for part, body in parts if part == b"\xa3"]
    assert name == b"\x1f\x43\xb6\x75" and parts[0] == (b"\xe7", (12_000).to_bytes(4, "big"))
    assert len(blocks) == 20 and blocks[1][1:3] == (200).to_bytes(2, "big")
    # A key frame of VP8: bit 0 of the first octet is 0, then the start code (RFC 6386, 9.1).
    assert all(block[4] & 1 == 0 and block[7:10] == b"\x9d\x01\x2a" for block in blocks)


def test_the_manifest_has_the_ladder_of_the_simulated_player():
    space = "{urn:mpeg:dash:schema:mpd:2011}"
    levels = ET.fromstring(real_player.manifest(60)).iter(f"{space}Representation")
    assert [int(level.get("bandwidth", 0)) // 1000 for level in levels] == list(real_player.LEVELS_KBPS)


def test_what_the_page_tells_becomes_a_session():
    log = [
        {"what": "begun", "at": 1.0},
        {"what": "playing", "at": 2.5},
        {"what": "stalled", "at": 10.0},
        {"what": "resumed", "at": 12.0},
        {"what": "stalled", "at": 20.0},
    ]
    session = real_player.read(log, [0, 0, 2, 1], ended_s=21.0)
    # 0.3, 0.3, 1.2 and 0.75 Mbit/s.
    assert session == real_player.Session(1.5, pytest.approx(0.6375), 2, 2, 3.0)
    with pytest.raises(RuntimeError, match="did not begin"):
        real_player.read(log[:1], [0], 21.0)
    with pytest.raises(RuntimeError, match="failed: no manifest"):
        real_player.read([{"what": "error", "message": "no manifest"}], [], 1.0)
