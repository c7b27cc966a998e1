"""UDP in captures: the runs' own counters, and the visible parts of QUIC."""

from __future__ import annotations

import json
import struct

import pytest
from test_analyze import in_page

import airpath
from airpath.captures import analyze

FLOWS = '[{ app.cbr = { rate = "500 kbit/s", size = "800 B" } }, { app.ping = {} }]'


def test_datagrams_lost_and_their_delay_are_those_of_the_run(tmp_path):
    scenario = airpath.load("umts-384").with_("flow", FLOWS).with_("duration", "20 s")
    result = airpath.run(scenario, seed=1, probes=(), capture=True)
    file = tmp_path / "capture.pcapng"
    file.write_bytes(result.capture)
    report = analyze(file)
    assert report["connections_seen"] == 0 and report["conversations_seen"] == 2
    for one, flow in zip(report["conversations"], result.flows, strict=True):
        assert (one["quic"], one["spin"]) == (None, None)
        down = one["flows"][0]
        passed, delay = down["path"]["data"], down["path"]["data"]["delay_ms"]
        assert (down["sender"], down["interface"]) == ("client", "server")
        assert down["datagrams"] == flow["datagrams"]["sent"]
        assert passed["lost"] + passed["in_transit"] == down["datagrams"] - delay["samples"]
        assert (passed["late"], passed["added"]) == (0, 0)
    voice = result.flows[0]["datagrams"]
    delay = report["conversations"][0]["flows"][0]["path"]["data"]["delay_ms"]
    assert delay["samples"] == voice["received"]
    assert delay["mean"] == pytest.approx(voice["delay_ms"]["mean"], rel=0.01)
    ping = report["conversations"][1]
    assert ping["path_rtt_ms"]["min"] <= result.flows[1]["rtt_ms"]["min"]


CLIENT, SERVER = (b"\x0a\x00\x00\x01", 40000), (b"\x0a\x00\x00\x02", 443)


def quic_capture(spins: bool, rounds: int = 40) -> bytes:
    """A pcap of raw IP at the client's side: its Initial, then rounds of 100 ms, answered 60 ms later."""
    records = []

    def add(at_ms, source, destination, payload):
        udp = struct.pack(">HHHH", source[1], destination[1], 8 + len(payload), 0) + payload
        ip = (
            struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0)
            + source[0]
            + destination[0]
        )
        records.append((at_ms, ip + udp))

    add(0, CLIENT, SERVER, b"\xc3" + struct.pack(">I", 1) + bytes(1195))
    for turn in range(rounds):
        bit = 0x20 if spins and turn % 2 else 0
        for part in range(5):
            add(100 + 100 * turn + 10 * part, CLIENT, SERVER, bytes([0x40 | bit, turn, part]) + bytes(40))
            add(160 + 100 * turn + 10 * part, SERVER, CLIENT, bytes([0x40 | bit, turn, part]) + bytes(1000))
    out = struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    for at_ms, packet in sorted(records, key=lambda record: record[0]):
        out += struct.pack("<IIII", at_ms // 1000, at_ms % 1000 * 1000, len(packet), len(packet)) + packet
    return out


@pytest.mark.parametrize("spins", [True, False])
def test_quic_tells_its_version_and_its_round_trips_if_its_ends_spin(spins, tmp_path, airpath_command):
    file = tmp_path / "quic.pcap"
    file.write_bytes(quic_capture(spins))
    shown = airpath_command("analyze", file, "--out", tmp_path / "page")
    assert shown.code == 0
    (one,) = json.loads((tmp_path / "page" / "analysis.json").read_text())["conversations"]
    client, server = one["flows"]
    assert (one["quic"], client["datagrams"], server["datagrams"]) == ("1", 1 + 5 * 40, 5 * 40)
    assert client["path"] is None and client["bytes_on_path"] is None
    assert "QUIC 1" in shown.out and "1 UDP conversation" in shown.out
    page = in_page((tmp_path / "page" / "index.html").read_text())
    says = page["report"]["conversations"][0]["flows"][1]["says"]
    if not spins:
        assert one["spin"] is None and client["bytes_in_round_trip"] is None
        assert "as these do not spin" in shown.out
        return
    assert one["spin"]["rtt_ms"]["median"] == pytest.approx(100, rel=0.01)
    assert server["bytes_in_round_trip"]["median"] == pytest.approx(5 * 1003, rel=0.01)
    assert any("round trips by the spin bit: shortest 100 ms" in line for line in says)


def test_one_tcp_connection_is_shown_without_the_conversations(tmp_path, airpath_command):
    scenario = airpath.load("umts-384").with_("duration", "5 s")
    scenario = scenario.with_("flow", "[{ app.bulk = {} }, { app.ping = {} }]")
    file = tmp_path / "capture.pcapng"
    file.write_bytes(airpath.run(scenario, seed=1, probes=(), capture=True).capture)
    both, alone = (airpath_command("analyze", file, *words).out for words in ([], ["--connection", "1"]))
    assert "by spin bit" in both and "by spin bit" not in alone
