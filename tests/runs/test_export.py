"""A finished run in the formats of other tools: golden outputs, and sums that must agree with the run's."""

from __future__ import annotations

import csv
from collections import Counter

import pytest
from conftest import UP_AND_DOWN, check_error, events_in

import airpath
from airpath import _core
from airpath.runs import trace
from airpath.runs.export import source
from airpath.runs.folder import run_to_folder

pytestmark = pytest.mark.usefixtures("undrawn")

# Segments of 1460 bytes, each acknowledged at once.
TRANSFER = """
[tcp]
handshake = "none"
initial_window = 3
ack_every = 1

[[flow]]
app.file.size = "5000 B"
"""

# Over 120 kbit/s a full packet takes 100 ms. One of the first three finds no room.
SMALL = f"""\
[wired]
delay = "10 ms"

[radio.dch.downlink]
rate = "120 kbit/s"
delay = "5 ms"
queue.droptail.packets = 2
{TRANSFER}"""

SMALL_NS2 = """\
+ 0 0 1 tcp 1500 ------- 0 0.0 2.0 0 0
+ 0 0 1 tcp 1500 ------- 0 0.0 2.0 1 1
+ 0 0 1 tcp 1500 ------- 0 0.0 2.0 2 2
r 0.01 0 1 tcp 1500 ------- 0 0.0 2.0 0 0
+ 0.01 1 2 tcp 1500 ------- 0 0.0 2.0 0 0
r 0.01 0 1 tcp 1500 ------- 0 0.0 2.0 1 1
+ 0.01 1 2 tcp 1500 ------- 0 0.0 2.0 1 1
r 0.01 0 1 tcp 1500 ------- 0 0.0 2.0 2 2
d 0.01 1 2 tcp 1500 ------- 0 0.0 2.0 2 2
- 0.11 1 2 tcp 1500 ------- 0 0.0 2.0 0 0
r 0.115 1 2 tcp 1500 ------- 0 0.0 2.0 0 0
+ 0.115 2 1 ack 40 ------- 0 2.0 0.0 0 3
- 0.12 2 1 ack 40 ------- 0 2.0 0.0 0 3
r 0.12 2 1 ack 40 ------- 0 2.0 0.0 0 3
+ 0.12 1 0 ack 40 ------- 0 2.0 0.0 0 3
+ 0.13 0 1 tcp 660 ------- 0 0.0 2.0 3 4
r 0.14 0 1 tcp 660 ------- 0 0.0 2.0 3 4
+ 0.14 1 2 tcp 660 ------- 0 0.0 2.0 3 4
- 0.21 1 2 tcp 1500 ------- 0 0.0 2.0 1 1
r 0.215 1 2 tcp 1500 ------- 0 0.0 2.0 1 1
+ 0.215 2 1 ack 40 ------- 0 2.0 0.0 1 5
- 0.22 2 1 ack 40 ------- 0 2.0 0.0 1 5
r 0.22 2 1 ack 40 ------- 0 2.0 0.0 1 5
+ 0.22 1 0 ack 40 ------- 0 2.0 0.0 1 5
- 0.254 1 2 tcp 660 ------- 0 0.0 2.0 3 4
r 0.259 1 2 tcp 660 ------- 0 0.0 2.0 3 4
+ 0.259 2 1 ack 40 ------- 0 2.0 0.0 1 6
- 0.264 2 1 ack 40 ------- 0 2.0 0.0 1 6
r 0.264 2 1 ack 40 ------- 0 2.0 0.0 1 6
+ 0.264 1 0 ack 40 ------- 0 2.0 0.0 1 6
+ 1.23 0 1 tcp 1500 ------- 0 0.0 2.0 2 7
r 1.24 0 1 tcp 1500 ------- 0 0.0 2.0 2 7
+ 1.24 1 2 tcp 1500 ------- 0 0.0 2.0 2 7
- 1.34 1 2 tcp 1500 ------- 0 0.0 2.0 2 7
r 1.345 1 2 tcp 1500 ------- 0 0.0 2.0 2 7
+ 1.345 2 1 ack 40 ------- 0 2.0 0.0 3 8
- 1.35 2 1 ack 40 ------- 0 2.0 0.0 3 8
r 1.35 2 1 ack 40 ------- 0 2.0 0.0 3 8
+ 1.35 1 0 ack 40 ------- 0 2.0 0.0 3 8
"""

# An opportunity every 10 ms.
VARIABLE = f"""\
duration = "35 ms"

[wired]
delay = "3 ms"

[radio.variable.downlink]
channel.trace_file.trace = "10\\n20\\n30"
queue.droptail.packets = 2

[radio.variable.uplink]
channel.trace_file.trace = "1"
{TRANSFER}"""

VARIABLE_MM_LINK = f"""\
# mahimahi mm-link (downlink) [airpath {_core.version()}, UE 0]
# base timestamp: 0
3 + 1500
3 + 1500
3 + 1500
3 d 1 1500
10 # 1500
10 - 1500 7
16 + 660
20 # 1500
20 - 1500 17
30 # 1500
30 - 660 14
"""

QUEUE = "radio.dch.downlink.queue.droptail.packets"
SHORT = {"duration": "60 s", QUEUE: 6}
LOSSY = {"duration": "60 s", "wired.loss": "3 %", "radio.dch.downlink.delay": "7 ms"}
RUNS = {
    "short queue": ("umts-384", SHORT),
    "timestamps": ("umts-384", SHORT | {"tcp.timestamps": "true", "tcp.ip": "ipv6"}),
    "lossy wire": ("umts-128", LOSSY),
    "out of sequence": ("lundsten-dch", {"duration": "60 s"}),
    "slots": ("umts-384-simple", SHORT),
    "packets whole": (
        "umts-384-simple",
        SHORT
        | {"radio.dch.downlink.channel.bernoulli.bler": "0 %", "radio.dch.downlink.rlc": "{ none = {} }"},
    ),
    "opportunities": ("variable-3g", {"duration": "60 s"}),
    "up and down": (UP_AND_DOWN, {QUEUE: 8}),
}


@pytest.fixture
def run_dir(tmp_path):
    """Run a scenario into a folder of its own."""

    def make(text, **options):
        run_to_folder(airpath.Scenario("test", text), 1, tmp_path / "run", **options)
        return tmp_path / "run"

    return make


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder of one of `RUNS`."""
    folders = {}

    def folder_of(run):
        if run not in folders:
            text, changes = RUNS[run]
            scenario = airpath.Scenario("test", text) if "\n" in text else airpath.load(text)
            for path, value in changes.items():
                scenario = scenario.with_(path, value)
            folders[run] = tmp_path_factory.mktemp("runs") / "run"
            run_to_folder(scenario, 1, folders[run])
        return folders[run]

    return folder_of


@pytest.fixture
def export(airpath_command, tmp_path):
    """Export a run; give the lines of the file."""

    def call(folder, format_, *options):
        out = tmp_path / "exported"
        outcome = airpath_command("export", folder, "--format", format_, "--out", out, "--force", *options)
        assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
        return out.read_text().splitlines()

    return call


def bearers(folder, ue=0):
    """What the cell counted at a UE's bearers."""
    elements = source.Run.open(folder).summary["elements"]
    return next(element["ues"][ue] for element in elements if "ues" in element)


def test_ns2_lines_of_a_run_that_can_be_followed_by_hand(run_dir, export):
    assert export(run_dir(SMALL), "ns2") == SMALL_NS2.splitlines()


def test_mm_link_log_of_a_run_that_can_be_followed_by_hand(run_dir, export):
    assert export(run_dir(VARIABLE), "mm-link") == VARIABLE_MM_LINK.splitlines()


BY_DISTRIBUTION = """channel.distribution = {{ rate.constant = "{rate}", delay.constant = "2 ms" }}"""
BY_SERIES = """channel.series.rows = "time_s,rate_kbps,delay_ms\\n0,{kbps},2\\n1,{kbps},2\\n\""""
BY_STEPS = """channel.switching.steps = [{{ rate = "{rate}", for = "1 s", delay = "2 ms" }}]"""


@pytest.mark.parametrize("channel", [BY_DISTRIBUTION, BY_SERIES, BY_STEPS])
def test_a_link_whose_delay_never_varies_is_exported_as_any_of_constant_delay(channel, run_dir, export):
    """`SMALL`; 2 of its 5 ms in the downlink are the channel's."""
    down = channel.format(rate="120 kbit/s", kbps=120)
    text = f"""
wired.delay = "10 ms"
[radio.variable]
downlink = {{ delay = "3 ms", queue.droptail.packets = 2, {down} }}
uplink.channel.distribution.rate.constant = "64 kbit/s"
{TRANSFER}"""
    folder = run_dir(text)
    assert export(folder, "ns2") == SMALL_NS2.splitlines()
    log = [line for line in export(folder, "mm-link") if not line.startswith("#")]
    assert "100 # 1500" in log and "200 # 1500" in log
    assert [line for line in log if " - " in line][:2] == ["110 - 1500 100", "210 - 1500 200"]


def test_a_delay_that_is_drawn_is_not_exported(run_dir, airpath_command):
    law = 'delay.uniform = { mean = "5 ms", sd = "1 ms" }'
    text = f"""
[radio.variable]
downlink.channel.distribution = {{ rate.constant = "1 Mbit/s", {law} }}
uplink.channel.distribution = {{ rate.constant = "1 Mbit/s" }}
{TRANSFER}"""
    folder = run_dir(text)
    outcome = airpath_command("export", folder, "--format", "mm-link")
    cause = "the downlink delay of channel.distribution varies"
    check_error(outcome, str(folder), cause, "choose the format csv")


def test_without_a_file_lines_go_to_standard_output(run_dir, airpath_command):
    outcome = airpath_command("export", run_dir(SMALL), "--format", "ns2")
    assert (outcome.code, outcome.out) == (0, SMALL_NS2)


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["ns2", "csv", "mm-link"])
def test_how_much_is_read_at_a_time_changes_nothing(format_, ran, export, monkeypatch):
    folder = ran("short queue")
    whole = export(folder, format_)
    monkeypatch.setattr(trace, "ROW_GROUP_ROWS", 101)
    assert export(folder, format_) == whole


@pytest.mark.slow
@pytest.mark.parametrize("run", ["short queue", "out of sequence", "opportunities"])
def test_csv_has_every_row_and_reads_back_as_the_same_values(run, ran, export):
    folder = ran(run)
    table = events_in(folder)
    names, *rows = csv.reader(export(folder, "csv"))
    assert names == table.column_names
    assert len(rows) == table.num_rows > 1000
    for name, texts in zip(names, zip(*rows, strict=True), strict=True):
        words = name in ("event", "direction", "cause", "reason")
        read = str if words else float if name == "time_s" else int
        assert [read(text) if text else None for text in texts] == table[name].to_pylist(), name


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["downlink", "uplink"])
@pytest.mark.parametrize("run", RUNS)
def test_mm_link_sums_are_what_the_bearer_counted(run, direction, ran, export):
    folder = ran(run)
    ue = 1 if run == "up and down" else 0
    counted = bearers(folder, ue)[direction]
    lines = [line.split() for line in export(folder, "mm-link", "--ue", ue, "--direction", direction)]
    kinds = Counter(line[1] for line in lines if line[0] != "#")
    assert kinds["+"] == counted["sdus_in"] + counted["sdus_dropped"] > 50
    assert kinds["-"] == counted["sdus_delivered"]
    assert sum(int(line[2]) for line in lines if line[1] == "-") == counted["bytes_delivered"]
    assert kinds["d"] == counted["sdus_dropped"]
    times = [int(line[0]) for line in lines if line[0] != "#"]
    assert times == sorted(times)
    # A packet leaves no sooner than it came.
    assert all(0 <= int(line[3]) <= int(line[0]) for line in lines if line[1] == "-")
    if run == "opportunities":
        assert kinds["#"] == counted["opportunities"]


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_ns2_lines_agree_with_counters_and_with_what_receivers_got(run, ran, export):
    folder = ran(run)
    opened = source.Run.open(folder)
    lines = [line.split() for line in export(folder, "ns2")]
    assert all(len(line) == 12 for line in lines)
    times = [float(line[1]) for line in lines]
    assert times == sorted(times)
    for ue, links in ((0, ("1 2", "2 1")), (1, ("1 3", "3 1"))):
        if ue and run != "up and down":
            continue
        for direction, link in zip(("downlink", "uplink"), links, strict=True):
            events = Counter(line[0] for line in lines if line[2:4] == link.split())
            counted = bearers(folder, ue)[direction]
            assert events["+"] == counted["sdus_in"]
            assert events["-"] == counted["sdus_delivered"]
            assert events["d"] == counted["sdus_dropped"] + counted["sdus_discarded"]
    downlink = [flow for flow in opened.summary["flows"] if flow["direction"] == "downlink"]
    on_wire = [line for line in lines if line[0] == "+" and line[2:5] == ["0", "1", "tcp"]]
    assert len(on_wire) == sum(flow["segments_sent"] for flow in downlink)
    # Which segment arrived when, receivers noted themselves.
    table = events_in(folder).to_pylist()
    segment = next(row["payload_bytes"] for row in table if row["event"] == "segment_sent")
    fids = {(flow["ue"], flow["flow"]): str(fid) for fid, flow in enumerate(opened.summary["flows"])}
    towards_ue = {(flow["ue"], flow["flow"]) for flow in downlink}
    noted = Counter(
        (round(row["time_s"], 9), fids[row["ue"], row["flow"]], row["seq"] // segment)
        for row in table
        if row["event"] == "segment_received" and (row["ue"], row["flow"]) in towards_ue
    )
    shown = Counter(
        (round(float(line[1]), 9), line[7], int(line[10]))
        for line in lines
        if line[0] == "r" and line[2] == "1" and line[4] == "tcp"
    )
    # If the wired link lost one of several segments of one instant, another is shown for it.
    in_doubt = sum(row["reason"] == "link_loss" for row in table)
    assert sum((noted - shown).values()) <= in_doubt
    # Packets in flight when the run ended.
    assert sum((shown - noted).values()) <= in_doubt + 3


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_an_ns2_packet_goes_its_way_step_by_step(run, ran, export):
    ways = {}
    for line in export(ran(run), "ns2"):
        event, _, source_node, target, *_, uid = line.split()
        ways.setdefault(uid, []).append(f"{event}{source_node}{target}")
    allowed = {
        "downlink data": "+01 r01 +1N -1N r1N",
        "downlink ACK": "r01 +1N -1N r1N",
        "uplink": "+N1 -N1 rN1 +10",
    }
    for way in ways.values():
        way = " ".join(way).replace("2", "N").replace("3", "N")
        steps, dropped, link = way.partition("d")
        whole = [text for text in allowed.values() if text.startswith(steps.rstrip())]
        assert whole, way
        if dropped:
            # Lost on the wire behind its `+`, or refused where its next `+` would be.
            assert any(f"+{link}" in text for text in whole), way


@pytest.mark.parametrize(
    ("missing", "cause"),
    [("trace", "holds no trace"), ("results.json", "holds no results.json")],
)
def test_a_folder_without_a_file_of_the_run_is_an_error(missing, cause, run_dir, airpath_command):
    folder = run_dir(SMALL)
    (folder / missing).rename(folder / "away")
    check_error(airpath_command("export", folder, "--format", "ns2"), str(folder), cause, "has filled")


def test_what_is_no_folder_of_a_run_is_an_error(tmp_path, airpath_command):
    nothing = tmp_path / "nothing"
    outcome = airpath_command("export", nothing, "--format", "csv")
    check_error(outcome, str(nothing), "there is no such folder", "airpath run --out")
    nothing.write_text("")
    outcome = airpath_command("export", nothing, "--format", "csv")
    check_error(outcome, str(nothing), "is not a folder", "airpath run --out")


def test_a_trace_that_cannot_be_read_is_an_error(run_dir, airpath_command):
    folder = run_dir(SMALL)
    file = folder / "trace" / "dropped.parquet"
    file.write_bytes(b"PAR1 and no more")
    outcome = airpath_command("export", folder, "--format", "csv")
    check_error(outcome, str(file), "cannot be read", "run the scenario again")


@pytest.mark.parametrize("format_", ["ns2", "mm-link"])
def test_kinds_that_were_not_recorded_are_named(format_, run_dir, airpath_command):
    folder = run_dir(SMALL, probes=("segment_sent", "bearer_enqueued"))
    outcome = airpath_command("export", folder, "--format", format_)
    check_error(outcome, str(folder), "without", "record all probes")
    assert "bearer_delivered, dropped" in outcome.err
    assert airpath_command("export", folder, "--format", "csv").code == 0


def test_a_ue_that_is_not_there_is_an_error(run_dir, airpath_command, tmp_path):
    out = tmp_path / "log"
    outcome = airpath_command("export", run_dir(SMALL), "--format", "mm-link", "--ue", 3, "--out", out)
    check_error(outcome, "--ue", "no UE 3", "write 0")
    assert not any(path.name.startswith("log") for path in tmp_path.iterdir()), "half a file was left"


def test_files_of_the_run_itself_are_not_overwritten(run_dir, airpath_command):
    folder = run_dir(SMALL)
    file = folder / "trace" / "dropped.parquet"
    before = file.read_bytes()
    outcome = airpath_command("export", folder, "--format", "csv", "--out", file)
    check_error(outcome, "out", "a file of the run itself", "another name")
    assert file.read_bytes() == before


def test_the_log_of_a_run_over_a_part_of_a_trace_begins_where_the_run_does(export, tmp_path):
    """The trace 2, 5, 9 from 4 ms on: 1, 5, then 2 of the second round at 9 + 2 - 4 = 7 ms, and so on."""
    channel = 'channel.trace_file = { trace = "2\\n5\\n9\\n", offset = "4 ms" }'
    text = f'duration = "20 ms"\n[radio.variable]\ndownlink.{channel}\n[[flow]]\n'
    scenario = airpath.load(_written(tmp_path / "part.toml", text))
    run_to_folder(scenario, 1, tmp_path / "out")
    lines = [line for line in export(tmp_path / "out", "mm-link") if " # " in line and line[0] != "#"]
    assert lines == [f"{ms} # 1500" for ms in (1, 5, 7, 10, 14, 16, 19)]


def _written(file, text):
    file.write_text(text)
    return file
