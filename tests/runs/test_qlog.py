"""A finished run as qlog: by the rules of the drafts, by hand, and by the run's own counters.

The rules are those of draft-ietf-quic-qlog-main-schema-14 (sections 3, 5, 6, 7.1, 11.2) and
draft-ietf-quic-qlog-quic-events-13 (sections 5.5, 5.6, 7.2, 7.4, 8.6, 8.8, 8.13.3, 8.13.9).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest
from conftest import UP_AND_DOWN, check_error

import airpath
from airpath.runs.export.source import Run
from airpath.runs.folder import run_to_folder

pytestmark = pytest.mark.usefixtures("undrawn")

Check = Callable[[Any], bool]
# Of three segments that are sent at once one finds no room; each is acknowledged at once, the fourth by a
# duplicate ACK.
SMALL = """\
[wired]
delay = "10 ms"

[radio.dch.downlink]
rate = "120 kbit/s"
delay = "5 ms"
queue.droptail.packets = 2

[tcp]
handshake = "none"
initial_window = 3
ack_every = 1

[[flow]]
app.file.size = "5000 B"
"""
# Each event in a few words: what happens, and the packets concerned.
SMALL_EVENTS = """\
0 sent 0
0 sent 1
0 sent 2
130 received 0 [[0]]
130 sent 3
230 received 1 [[1]]
274 received 2 [[1]]
1230 lost 2 pto_expired
1230 sent 4 retransmit_timeout
1360 received 3 [[3, 4]]
"""


def is_uint(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def one_of(*words: str) -> Check:
    return lambda value: value in words


def a_list(check: Check, least: int = 0) -> Check:
    return lambda value: isinstance(value, list) and len(value) >= least and all(map(check, value))


def a_map(required: dict[str, Check], optional: dict[str, Check]) -> Check:
    """A map of CDDL: all that is required, and nothing that is not known."""

    def check(value: Any) -> bool:
        known = required | optional
        return required.keys() <= value.keys() <= known.keys() and all(
            known[key](one) for key, one in value.items()
        )

    return check


RAW = a_map({}, {"length": is_uint, "payload_length": is_uint})
HEADER = a_map({"packet_type": one_of("1RTT")}, {"packet_number": is_uint})
STREAM = a_map({"frame_type": one_of("stream"), "stream_id": is_uint}, {"offset": is_uint, "raw": RAW})
ACK_RANGE = a_list(is_uint, 1)
ACK = a_map({"frame_type": one_of("ack")}, {"acked_ranges": a_list(ACK_RANGE, 1)})
PACKET = {"frames": a_list(lambda frame: STREAM(frame) or ACK(frame)), "raw": RAW}
DATA = {
    "quic:packet_sent": a_map(
        {"header": HEADER},
        PACKET
        | {
            "trigger": one_of(
                "retransmit_reordered",
                "retransmit_timeout",
                "pto_probe",
                "retransmit_crypto",
                "cc_bandwidth_probe",
            )
        },
    ),
    "quic:packet_received": a_map({"header": HEADER}, PACKET),
    "quic:packet_lost": a_map(
        {},
        {
            "header": HEADER,
            "trigger": one_of("reordering_threshold", "time_threshold", "pto_expired"),
        },
    ),
    "quic:recovery_metrics_updated": a_map(
        {},
        {
            **dict.fromkeys(("min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance"), is_number),
            **dict.fromkeys(("congestion_window", "bytes_in_flight", "ssthresh"), is_uint),
            **dict.fromkeys(("packets_in_flight", "pacing_rate", "pto_count"), is_uint),
        },
    ),
}
END = one_of("client", "server", "unknown")
TRACE = a_map(
    {"event_schemas": a_list(is_text, 1)},
    {
        "common_fields": a_map(
            {},
            {
                "time_format": one_of("relative_to_epoch", "relative_to_previous_event"),
                # With a monotonic clock the epoch must be unknown.
                "reference_time": a_map({"clock_type": one_of("monotonic"), "epoch": one_of("unknown")}, {}),
            },
        ),
        "vantage_point": lambda value: (
            a_map({"type": one_of("network"), "flow": END}, {"name": is_text})(value)
            or a_map({"type": END}, {"name": is_text})(value)
        ),
    },
)
FILE = a_map(
    {
        "file_schema": one_of("urn:ietf:params:qlog:file:sequential"),
        "serialization_format": one_of("application/qlog+json-seq"),
        "trace": TRACE,
    },
    {"title": is_text, "description": is_text},
)


def read(content: bytes) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read JSON text sequences, RFC 7464: the header, and the events."""
    first, *records = content.split(b"\x1e")
    assert first == b"" and all(record.endswith(b"\n") for record in records)
    head, *events = map(json.loads, records)
    return head, events


def check(content: bytes) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read a file and check it by the rules of the drafts."""
    head, events = read(content)
    assert FILE(head), head
    # Within the first 256 bytes, so that tools know what they read.
    assert b"serialization_format" in content[:256]
    # Names of fields are in lower case; a draft is named with its number.
    assert not re.search(rb'[{,]"[^"]*[A-Z][^"]*":', content)
    assert all(
        re.fullmatch(r"urn:ietf:params:qlog:events:\w+-\d\d", name) for name in head["trace"]["event_schemas"]
    )
    for event in events:
        assert event.keys() >= {"time", "name", "data"} and is_number(event["time"]), event
        assert DATA[event["name"]](event["data"]), event
        assert is_text(event["group_id"])
    times = [event["time"] for event in events]
    assert times == sorted(times)
    return head, events


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder of a run."""
    folders = {}

    def folder_of(name, text=None, **changes):
        if name not in folders:
            scenario = airpath.Scenario(name, text) if text else airpath.load(name)
            for path, value in changes.items():
                scenario = scenario.with_(path, value)
            folders[name] = tmp_path_factory.mktemp("runs") / "run"
            run_to_folder(scenario, 1, folders[name])
        return folders[name]

    return folder_of


@pytest.fixture
def export(airpath_command, tmp_path):
    """Export a run; give the content of the file."""

    def call(folder, *options):
        out = tmp_path / "run.sqlog"
        outcome = airpath_command("export", folder, "--out", out, "--force", *options)
        assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
        return out.read_bytes()

    return call


def of(events, what):
    return [event for event in events if event["name"].endswith(f":{what}")]


def number(event):
    return event["data"]["header"]["packet_number"]


def acknowledged(event):
    """The numbers that an ACK names."""
    for frame in event["data"]["frames"]:
        for first, *last in frame.get("acked_ranges", ()):
            yield from range(first, (last or [first])[0] + 1)


@pytest.mark.slow
def test_a_run_that_can_be_followed_by_hand(ran, export):
    _, events = check(export(ran("small", SMALL), "--format", "qlog"))
    lines = []
    for event in events:
        if not event["name"].endswith("metrics_updated"):
            data = event["data"]
            words = [round(event["time"]), event["name"].rpartition("_")[2], number(event)]
            words += [data[key] for key in ("trigger",) if key in data]
            words += [frame["acked_ranges"] for frame in data.get("frames", ()) if "acked_ranges" in frame]
            lines.append(" ".join(map(str, words)))
    assert lines == SMALL_EVENTS.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "duration"), [("umts-384", "30 s"), ("lundsten-dch", "30 s"), ("lte-5mhz", "3 s")]
)
def test_senders_did_what_the_run_counted(scenario, duration, ran, export):
    folder = ran(scenario, duration=duration)
    head, events = check(export(folder, "--format", "qlog"))
    assert head["trace"]["vantage_point"] == {"type": "server"}
    (flow,) = Run.open(folder).summary["flows"]
    assert len(of(events, "packet_sent")) == flow["segments_sent"] > 100
    assert [number(event) for event in of(events, "packet_sent")] == list(range(flow["segments_sent"]))
    again = flow["retransmissions"]
    assert len(of(events, "packet_lost")) == again["total"]
    assert Counter(event["data"].get("trigger") for event in of(events, "packet_lost")) == Counter(
        {
            "reordering_threshold": again["fast_retransmit"] + again["partial_ack"] + again["sack"],
            "pto_expired": again["timeout"] + again["go_back_n"],
        }
    )
    acks = of(events, "packet_received")
    acked = list(dict.fromkeys(each for event in acks for each in acknowledged(event)))
    # A packet is acknowledged once, and again by each duplicate ACK after it; none before it was sent.
    named = sum(len(list(acknowledged(event))) for event in acks)
    assert named - len(acked) == flow["dupacks"]
    assert (flow["dupacks"] > 0) == (scenario != "lte-5mhz")
    sent = {number(event): event["time"] for event in of(events, "packet_sent")}
    lengths = {number(event): event["data"]["raw"]["payload_length"] for event in of(events, "packet_sent")}
    # SACK blocks name some beyond.
    assert 0 <= sum(lengths[each] for each in acked) - flow["bytes_acked"] <= 100 * max(lengths.values())
    assert all(
        sent[each] < event["time"] for event in of(events, "packet_received") for each in acknowledged(event)
    )
    rtts = [event["data"]["latest_rtt"] for event in events if "latest_rtt" in event["data"]]
    assert min(rtts) == pytest.approx(flow["rtt_ms"]["min"], abs=0.001)
    windows = [event["data"]["congestion_window"] for event in events if "congestion_window" in event["data"]]
    assert len(set(windows)) > 5


def test_metrics_are_told_when_they_change(ran, export):
    _, events = check(export(ran("umts-384", duration="30 s"), "--format", "qlog"))
    told: dict[str, float] = {}
    for event in of(events, "metrics_updated"):
        assert event["data"] and all(told.get(name) != value for name, value in event["data"].items())
        told |= event["data"]


def read_kind(folder, kind):
    return pq.read_table(folder / "trace" / f"{kind}.parquet").to_pylist()


@pytest.mark.parametrize("loss", [0.0, 0.01])
def test_a_retransmission_is_of_a_packet_that_was_dropped_or_it_was_spurious(loss, ran, export):
    text = airpath.load("umts-384").with_("duration", "30 s").with_("wired.loss", loss).text
    folder = ran(f"loss {loss}", text)
    _, events = check(export(folder, "--format", "qlog"))
    dropped = {row["packet"]: row for row in read_kind(folder, "dropped")}
    nodes = Run.open(folder).nodes
    sent = {number(event): event for event in of(events, "packet_sent")}
    lost = of(events, "packet_lost")
    assert lost
    for event in lost:
        assert event["packet"] == sent[number(event)]["packet"]
        drop = dropped.get(event["packet"])
        if drop is None or drop["time_ns"] > event["time"] * 1e6:
            assert "node" not in event and "reason" not in event
        else:
            assert (event["node"], event["reason"]) == (nodes[drop["element"]], drop["reason"])
    assert {event.get("reason") for event in lost} == (
        {"queue_full", "link_loss"} if loss else {"queue_full"}
    )


@pytest.mark.slow
def test_flows_are_groups_and_each_direction_has_its_senders(ran, export):
    folder = ran("up and down", UP_AND_DOWN)
    flows = Run.open(folder).summary["flows"]
    for direction, end in (("downlink", "server"), ("uplink", "client")):
        head, events = check(export(folder, "--format", "qlog", "--direction", direction))
        assert head["trace"]["vantage_point"] == {"type": end}
        sent = Counter(event["group_id"] for event in of(events, "packet_sent"))
        assert sent == {
            f"{flow['ue']}.{flow['flow']}": flow["segments_sent"]
            for flow in flows
            if flow["direction"] == direction
        }


@pytest.mark.parametrize(("ue", "direction"), [(0, "downlink"), (1, "downlink"), (1, "uplink")])
def test_a_bearer_carried_what_the_run_counted(ue, direction, ran, export):
    folder = ran("up and down", UP_AND_DOWN)
    head, events = check(export(folder, "--format", "qlog-link", "--ue", ue, "--direction", direction))
    end = {"downlink": "server", "uplink": "client"}[direction]
    assert head["trace"]["vantage_point"] == {"name": f"bearer of UE {ue}", "type": "network", "flow": end}
    cell = next(element for element in Run.open(folder).summary["elements"] if "ues" in element)["ues"][ue]
    other = {"downlink": "uplink", "uplink": "downlink"}[direction]
    refused = cell[direction]["sdus_dropped"]
    assert len(of(events, "packet_sent")) == cell[direction]["sdus_in"] + refused > 50
    received = of(events, "packet_received")
    assert len(received) == cell[other]["sdus_delivered"]
    assert sum(event["data"]["raw"]["length"] for event in received) == cell[other]["bytes_delivered"]
    lost = of(events, "packet_lost")
    assert [event["reason"] for event in lost] == ["queue_full"] * refused
    assert {event["node"] for event in lost} <= {"radio.dch"}
    dropped = read_kind(folder, "dropped")
    assert {event["packet"] for event in lost} == {
        row["packet"] for row in dropped if (row["ue"], row["direction"]) == (ue, direction)
    }
    assert {number(event) for event in lost} <= {number(event) for event in of(events, "packet_sent")}


@pytest.mark.slow
def test_version_0_3_says_the_same_in_its_words(ran, export):
    folder = ran("umts-384", duration="30 s")
    _, events = read(export(folder, "--format", "qlog"))
    head, earlier = read(export(folder, "--format", "qlog", "--qlog-version", "0.3"))
    assert (head["qlog_version"], head["qlog_format"]) == ("0.3", "JSON-SEQ")
    assert head["trace"]["common_fields"] == {"time_format": "relative", "reference_time": 0}
    names = {
        "quic:packet_sent": "transport:packet_sent",
        "quic:packet_received": "transport:packet_received",
        "quic:packet_lost": "recovery:packet_lost",
        "quic:recovery_metrics_updated": "recovery:metrics_updated",
    }
    assert [event | {"name": names[event["name"]]} for event in events] == earlier


def test_without_a_sender_there_is_no_file(ran, airpath_command, tmp_path):
    folder = ran("umts-384", duration="30 s")
    outcome = airpath_command("export", folder, "--format", "qlog", "--direction", "uplink")
    check_error(
        outcome, str(folder), "no TCP flow has sent data uplink", "--direction downlink, or --format qlog"
    )
