"""An independent reader of the capture counts what the run itself counted.

At the server's interface the sender's own segments are seen as they leave, so everything that tshark
takes for data sent before is a retransmission. tshark files some of them under other names: "fast" and
"spurious" retransmissions carry the flag `tcp.analysis.retransmission` too, and tshark calls
segments "out of order" that follow their predecessors within a few milliseconds.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import tshark
from programs import tshark_count as count
from tshark import captured, fields, needs_tshark

import airpath

RETRANSMISSIONS = "tcp.analysis.retransmission or tcp.analysis.out_of_order"
DUPACKS = "tcp.analysis.duplicate_ack"
AT_SERVER = 'frame.interface_name == "server"'
AT_UE = 'frame.interface_name == "ue"'

RFC = {"tcp.profile": "rfc"}
OUT_OF_SEQUENCE = {"radio.dch.downlink.rlc.fixed_delay_arq.delivery": "out_of_sequence"}
SHORT_QUEUE = {"radio.dch.downlink.queue.droptail.packets": 6}
TWO_UES = {"radio.dch.ues": 2}


@pytest.fixture
def capture(tmp_path):
    """Run with changes; give the run's result and its capture file."""

    def make(name: str, changes: dict[str, str | int | bool]) -> tuple[airpath.Result, Path]:
        return captured(tmp_path, name, RFC | changes, probes=(), capture=True)

    return make


@pytest.mark.slow
@needs_tshark
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("umts-384", {}),
        ("umts-384-simple", OUT_OF_SEQUENCE | {"tcp.mss": "536 B"}),
        ("umts-384", SHORT_QUEUE),
        ("umts-384", SHORT_QUEUE | {"tcp.timestamps": True}),
        ("umts-384", SHORT_QUEUE | {"tcp.ip": "ipv6", "tcp.initial_sequence": 4_294_900_000}),
        ("umts-384", TWO_UES | SHORT_QUEUE),
        ("umts-128-simple", OUT_OF_SEQUENCE | SHORT_QUEUE | {"tcp.mss": "256 B", "tcp.ack_every": 1}),
        ("umts-64-simple", OUT_OF_SEQUENCE),
    ],
)
def test_tshark_counts_what_the_run_counted(name, changes, capture, tmp_path):
    result, file = capture(name, changes)
    # tshark follows a connection without regard to interfaces: each must be a file of its own.
    server = tmp_path / "server.pcapng"
    tshark(file, AT_SERVER, "-w", server)
    retransmissions = sum(flow["retransmissions"]["total"] for flow in result.flows)
    dupacks = sum(flow["dupacks"] for flow in result.flows)
    assert retransmissions > 0
    assert dupacks > 0
    assert count(server, RETRANSMISSIONS) == retransmissions
    assert count(server, DUPACKS) == dupacks


@pytest.mark.slow
@needs_tshark
def test_every_segment_and_every_ack_is_captured(capture):
    result, file = capture("umts-384", SHORT_QUEUE)
    (flow,) = result.flows
    assert count(file, f"{AT_SERVER} and tcp.len > 0") == flow["segments_sent"]
    # The ACK that ends the handshake, and SYN, are the UE's too.
    assert count(file, f"{AT_UE} and tcp.len == 0 and tcp.srcport == 0") == 0
    pure_acks = f"{AT_UE} and tcp.len == 0 and tcp.flags.syn == 0"
    assert count(file, pure_acks) == flow["receiver"]["acks_sent"] + 1


@pytest.mark.slow
@needs_tshark
def test_marks_echoes_and_answers_are_captured(capture):
    regulator = {"middlebox.0.ack_regulator.loss_signal": "ecn", "tcp.ecn": True}
    result, file = capture("chan-variable-delay-ar", regulator | {"duration": "300 s"})
    (flow,) = result.flows
    assert flow["ecn"]["reductions"] > 10
    assert count(file, f"{AT_UE} and ip.dsfield.ecn == 3") == flow["ecn"]["marks"]
    assert count(file, f"{AT_SERVER} and tcp.len == 0 and tcp.flags.ece == 1") == flow["ecn"]["echoes"]
    # Each reduction is signalled in the next new segment, one after a fast retransmit or a timeout too.
    told = count(file, f"{AT_SERVER} and tcp.len > 0 and tcp.flags.cwr == 1")
    losses = flow["fast_retransmits"] + flow["timeouts"]
    assert flow["ecn"]["reductions"] <= told <= flow["ecn"]["reductions"] + losses
    # Retransmissions cannot be marked.
    first = flow["segments_sent"] - flow["retransmissions"]["total"]
    assert count(file, f"{AT_SERVER} and tcp.len > 0 and ip.dsfield.ecn == 2") == first


MARKING = """
duration = "20 s"
wired = { rate = "4 Mbit/s", delay = "20 ms", queue.dualpi2 = {} }
radio.dch = { downlink.rate = "100 Mbit/s", uplink.rate = "100 Mbit/s" }
tcp = { ecn = "accurate", timestamps = true, sack = true }
[[flow]]
app.file.size = "2 MB"
"""


@pytest.mark.slow
@needs_tshark
def test_the_counters_of_accurate_ecn_are_captured(tmp_path):
    result = airpath.run(airpath.Scenario("marking", MARKING), seed=1, probes=(), capture=True)
    file = tmp_path / "marks.pcapng"
    file.write_bytes(result.capture)
    (flow,) = result.flows
    counted = flow["ecn"]["accurate"]["receiver"]
    assert counted["ce_packets"] > 3 and counted == flow["ecn"]["accurate"]["sender"]
    assert count(file, f"{AT_UE} and tcp.len > 0 and ip.dsfield.ecn == 3") == counted["ce_packets"]
    bits = [f"tcp.flags.{bit}" for bit in ("ae", "cwr", "ece")]
    syns = fields(file, f"{AT_UE} and tcp.flags.syn == 1", tuple(bits))
    assert [[bit in ("1", "True") for bit in syn] for syn in syns] == [[True] * 3, [False, True, False]]
    acks = fields(file, f"{AT_UE} and tcp.len == 0 and tcp.flags.syn == 0", ("tcp.flags.ace", "tcp.options"))
    assert int(acks[0][0], 0) == 2
    assert int(acks[-1][0], 0) == (5 + counted["ce_packets"]) % 8
    values = [1 + counted["ect0_bytes"], counted["ce_bytes"]]
    assert acks[-1][1].endswith("ac08" + "".join(f"{value % 2**24:06x}" for value in values))


@pytest.mark.slow
@needs_tshark
def test_checksums_and_headers_are_sound(capture):
    _, file = capture("umts-384", {"tcp.timestamps": True})
    assert count(file, "_ws.malformed or ip.checksum.status == 0") == 0
    assert count(file, "not tcp") == 0
