"""airpath's TCP at one end of a link, the kernel's (or airpath's) at the other: data stays intact."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from programs import needs, tshark, tshark_count

from live.harness import Outcome
from live.peer import CLOSED, DISCARD, ECHO, fnv1a, pattern

PEER = Path(__file__).with_name("peer.py")
DATA = 5001
# Nothing is cut off, so that checksums can be checked.
WHOLE = ("--snaplen", 65535)
# A kernel may write either of the two zeros of one's complement (RFC 1624).
WRONG = "_ws.malformed || tcp.checksum.status == 0 && !tcp.checksum.ffff || ip.checksum.status == 0"
CHECKS = ("-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE")
LOSSY = '{ loss = "3 %", duplicate = "3 %", reorder = "10 %", hold = "15 ms" }'
DISTURBED = f"middlebox=[{{ disturb = {{ downlink = {LOSSY}, uplink = {LOSSY} }} }}]"


def scenario(folder: Path, *lines: str, delay: str = "10 ms", app: str = "bulk = {}") -> Path:
    """A link without link layer, 20 Mbit/s each way, and the configuration of airpath's endpoint."""
    file = folder / "link.toml"
    ways = [f'[radio.dch.{way}]\nrate = "20 Mbit/s"\ndelay = "1 ms"' for way in ("downlink", "uplink")]
    text = ['duration = "60 s"', "[wired]", f'delay = "{delay}"', *ways, "[[flow]]", f"app.{app}", *lines]
    file.write_text("\n".join(text) + "\n")
    return file


def peer(name: str, *arguments: object) -> list[str]:
    """The program at the other end; `$X` in its arguments is the environment's."""
    words = " ".join(str(argument) for argument in arguments)
    return ["sh", "-c", f"exec {sys.executable} {PEER} {name} {words}"]


def said(outcome: Outcome) -> Any:
    """What the program saw; it ended well, and no connection is left at either end."""
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert found["left"] == []
    ours = outcome.live["endpoint"]
    assert ours["open"] == 0, ours
    assert ours["bad_checksums"] == ours["timed_out"] == 0
    return found["done"]


def check_capture(outcome: Outcome) -> None:
    """Another reader finds nothing wrong with any packet of either end."""
    capture = outcome.folder / "capture.pcapng"
    assert tshark(capture, WRONG, *CHECKS) == ""


@pytest.fixture
def run(live, tmp_path):
    """Run a scenario with airpath's endpoint at one end and a program at the other."""

    def call(end: str, command: list[str], *options: object, **link: Any) -> Outcome:
        side = {"server": "--sender", "ue": "--receiver"}[end]
        file = scenario(tmp_path, **link)
        return live(file, side, "airpath", *WHOLE, *options, command=command, out=True)

    return call


# BBR is not in every kernel.
KNOWN = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
HAS_BBR = KNOWN.exists() and "bbr" in KNOWN.read_text().split()
CONTROLS = ["reno", "cubic", *(["bbr"] if HAS_BBR else [])]
HOST = {"server": "$AIRPATH_SERVER", "ue": "$AIRPATH_UE"}
HOST6 = {"server": "$AIRPATH_SERVER6", "ue": "$AIRPATH_UE6"}
RICH = ("--set", "tcp.sack=true", "--set", "tcp.timestamps=true", "--set", "tcp.recovery.sack={}")
OFF = {
    "everything": (),
    "no SACK": ("tcp_sack",),
    "no timestamps": ("tcp_timestamps",),
    "no scaling": ("tcp_window_scaling",),
    "nothing": ("tcp_sack", "tcp_timestamps", "tcp_window_scaling"),
}


@pytest.mark.slow
@needs("tshark")
@pytest.mark.parametrize("end", ["server", "ue"])
@pytest.mark.parametrize("missing", OFF)
def test_options_are_used_where_both_ends_offer_them(missing, end, run):
    sysctls = [word for name in OFF[missing] for word in ("--sysctl", f"net.ipv4.{name}=0")]
    large = ("--set", "tcp.receive_buffer='300 kB'")
    outcome = run(end, peer("echo", HOST[end], ECHO, 400_000), *RICH, *large, *sysctls)
    assert said(outcome) == {"octets": 400_000, "right": True}
    check_capture(outcome)
    fields = [
        word
        for name in ("sack_perm", "wscale.shift", "timestamp.tsval", "mss_val")
        for word in ("-e", f"tcp.options.{name}")
    ]
    answer = tshark(
        outcome.folder / "capture.pcapng", "tcp.flags.syn == 1 && tcp.flags.ack == 1", "-T", "fields", *fields
    )
    sack, scale, timestamp, mss = answer.splitlines()[0].split("\t")
    off = OFF[missing]
    assert (bool(sack), bool(scale), bool(timestamp)) == tuple(
        name not in off for name in ("tcp_sack", "tcp_window_scaling", "tcp_timestamps")
    )
    assert mss == "1460"


VARIANTS = {
    "reno": (),
    "tahoe": ("tcp.recovery.tahoe={}",),
    "newreno": ("tcp.recovery.newreno={}",),
    "sack": ("tcp.sack=true", "tcp.recovery.sack={}"),
    "westwood": ("tcp.cc.westwood={}",),
    "westwood+": ("tcp.cc.westwood_plus={}",),
    "eifel": ("tcp.timestamps=true", "tcp.undo.eifel={}"),
    "eifel timer": ("tcp.timestamps=true", "tcp.rto.timer='eifel_timer'"),
    "dsack": ("tcp.sack=true", "tcp.recovery.sack={}", "tcp.undo.dsack={}"),
    "frto": ("tcp.undo.frto={}",),
    "ecn": ("tcp.ecn=true",),
    "coarse clock": ("tcp.rto.tick='100 ms'",),
    "everything": (
        *("tcp.sack=true", "tcp.timestamps=true", "tcp.ecn=true"),
        *("tcp.recovery.sack={}", "tcp.undo.frto={}", "tcp.cc.westwood_plus={}"),
    ),
    "cubic": ("tcp.cc.cubic={}",),
    "rack": ("tcp.sack=true", "tcp.recovery.rack={}"),
    "linux": ("tcp.profile='linux'",),
    "linux, reno": ("tcp.profile='linux-reno'",),
}


@pytest.mark.slow
@needs("tshark")
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_of_ours_brings_a_file_to_the_kernel_over_a_network_that_misbehaves(variant, run):
    changes = [word for change in (*VARIANTS[variant], DISTURBED) for word in ("--set", change)]
    ecn = ("--sysctl", "net.ipv4.tcp_ecn=1")
    command = peer("get", HOST["server"], DATA)
    outcome = run("server", command, *changes, *ecn, app="file.size = '300 kB'")
    assert said(outcome) == {"octets": 300_000, "right": True}
    check_capture(outcome)
    (flow,) = outcome.flows("tcp")
    assert flow["direction"] == "downlink" and flow["congestion_control"].startswith("airpath ")
    assert (flow["airpath"]["service"], flow["airpath"]["octets_written"]) == ("data", 300_000)
    assert flow["retransmissions"]["total"] >= flow["timeouts"]
    again = sum(flow["retransmissions"][kind] for kind in flow["retransmissions"] if kind != "total")
    assert flow["retransmissions"]["total"] == again > 0
    # The trace has the same sender events as a simulated host.
    states, sent = outcome.events("tcp_state"), outcome.events("segment_sent")
    assert max(states["tcpi_snd_cwnd"]) > 1 and len(sent["seq"]) == flow["segments_sent"]
    if variant == "ecn":
        first = outcome.folder / "capture.pcapng"
        assert tshark_count(first, "tcp.flags.syn == 1 && tcp.flags.ack == 1 && tcp.flags.ece == 1") > 0


@pytest.mark.slow
@pytest.mark.parametrize("missing", OFF)
def test_the_profile_of_linux_goes_without_what_the_kernel_does_not_offer(missing, run):
    sysctls = [word for name in OFF[missing] for word in ("--sysctl", f"net.ipv4.{name}=0")]
    profile = ("--set", "tcp.profile='linux'", "--set", DISTURBED)
    outcome = run("server", peer("get", HOST["server"], DATA), *profile, *sysctls, app="file.size = '300 kB'")
    assert said(outcome) == {"octets": 300_000, "right": True}
    check_capture(outcome)
    (flow,) = outcome.flows("tcp")
    by_sack = flow["retransmissions"]["sack"]
    assert by_sack == 0 if "tcp_sack" in OFF[missing] else by_sack > 0


@pytest.mark.slow
@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("end", ["server", "ue"])
def test_the_kernels_senders_bring_a_file_to_our_receiver(control, end, run):
    command = peer("put", HOST[end], DISCARD, 300_000, f"control={control}")
    outcome = run(end, command, *RICH, "--set", DISTURBED)
    sent = said(outcome)
    (flow,) = outcome.flows("tcp")
    assert flow["congestion_control"] == control
    assert (flow["airpath"]["octets_read"], flow["airpath"]["read_fnv1a"]) == (300_000, sent["fnv1a"])


@pytest.mark.slow
@needs("tshark")
@pytest.mark.parametrize("end", ["server", "ue"])
def test_our_end_opens_connections_one_after_the_other(end, run):
    command = peer("listen", 42_000, 3, "most=50000")
    connect = ("--connect", 42_000, "--connections", 3)
    outcome = run(end, command, *connect, "--set", DISTURBED, app="file.size = '40 kB'")
    found = said(outcome)
    assert [(one["octets"], one["right"], one["port"]) for one in found] == [
        (40_000, True, 40_000 + number) for number in range(3)
    ]
    key = "server_address" if end == "server" else "ue_address"
    flows = {int(flow[key].rpartition(":")[2]): flow for flow in outcome.flows("tcp")}
    assert {port: flow["airpath"]["read_fnv1a"] for port, flow in flows.items()} == {
        one["port"]: one["fnv1a"] for one in found
    }
    ours = outcome.live["endpoint"]
    assert ours["closed"] + ours["states"].get("TimeWait", 0) == 3
    check_capture(outcome)


@pytest.mark.slow
def test_a_connection_without_end_ends_when_the_kernel_closes(run):
    outcome = run("server", peer("take", 42_000, 200_000), "--connect", 42_000)
    found = said(outcome)
    assert found["right"] and found["octets"] >= 200_000


@pytest.mark.slow
def test_over_ipv6(run):
    outcome = run("server", peer("echo", HOST6["server"], ECHO, 100_000), "--set", DISTURBED)
    assert said(outcome) == {"octets": 100_000, "right": True}


@pytest.mark.slow
def test_a_kernel_that_does_not_read_is_probed(run):
    command = peer("get", HOST["server"], DATA, "pause_s=3", "buffer=5000")
    outcome = run("server", command, app="file.size = '200 kB'")
    assert said(outcome) == {"octets": 200_000, "right": True}
    (flow,) = outcome.flows("tcp")
    assert flow["window_probes"] > 0
    assert flow["timeouts"] == 0


@pytest.mark.slow
@needs("tshark")
def test_our_end_closes_its_window_while_it_does_not_read(run):
    command = peer("put", HOST["server"], DISCARD, 300_000)
    outcome = run("server", command, "--pause", "2s")
    sent = said(outcome)
    (flow,) = outcome.flows("tcp")
    assert (flow["airpath"]["octets_read"], flow["airpath"]["read_fnv1a"]) == (300_000, sent["fnv1a"])
    closed = f"tcp.srcport == {DISCARD} && tcp.window_size_value == 0 && tcp.flags.reset == 0"
    assert tshark_count(outcome.folder / "capture.pcapng", closed) > 0
    check_capture(outcome)


@pytest.mark.slow
def test_the_kernel_resets_a_connection(run):
    outcome = run("server", peer("reset", HOST["server"], DATA))
    assert said(outcome)["right"]
    assert outcome.live["endpoint"]["reset"] == 1


@pytest.mark.slow
def test_our_end_resets_what_comes_after_it_has_closed(run):
    outcome = run("server", peer("insist", HOST["server"], 80), app="file.size = '5 kB'")
    found = said(outcome)
    assert (found["octets"], found["right"]) == (5000, True)
    assert found["error"] in ("ConnectionResetError", "BrokenPipeError")


@pytest.mark.slow
def test_a_closed_port_of_ours_refuses(run):
    outcome = run("server", peer("knock", HOST["server"], CLOSED))
    assert said(outcome) == {"error": "ConnectionRefusedError"}
    assert (outcome.live["endpoint"]["strays_reset"], outcome.live["endpoint"]["accepted"]) == (1, 0)


def fins(outcome: Outcome) -> list[tuple[str, str]]:
    """Interface and acknowledgment number of the first FIN of either end, where that end sent it."""
    fields = ("-T", "fields", "-e", "frame.interface_id", "-e", "ip.src", "-e", "tcp.ack")
    lines = tshark(outcome.folder / "capture.pcapng", "tcp.flags.fin == 1", *fields).splitlines()
    by_source: dict[str, tuple[str, str]] = {}
    for line in lines:
        interface, source, ack = line.split("\t")
        server = source.endswith(".1")
        if interface == ("0" if server else "1"):
            by_source.setdefault("server" if server else "ue", (interface, ack))
    return [("server", by_source["server"][1]), ("ue", by_source["ue"][1])]


@pytest.mark.slow
@needs("tshark")
def test_fins_cross(run):
    # The kernel closes as soon as its connection is open, airpath's endpoint with its first segment.
    command = peer("get", HOST["server"], DATA, "half_close=true")
    outcome = run("server", command, app="file.size = '100 B'", delay="300 ms")
    assert said(outcome) == {"octets": 100, "right": True}
    # Neither acknowledges the other: relative numbers, one SYN each, 100 octets.
    assert fins(outcome) == [("server", "1"), ("ue", "1")]


@pytest.mark.slow
@needs("tshark")
def test_the_kernel_closes_first_and_reads_on(run):
    command = peer("get", HOST["server"], DATA, "half_close=true")
    outcome = run("server", command, app="file.size = '300 kB'")
    assert said(outcome) == {"octets": 300_000, "right": True}
    (server, ue) = fins(outcome)
    assert server[1] == "2", "our FIN acknowledges the kernel's"
    assert int(ue[1]) <= 300_001, "and the kernel's does not acknowledge ours"


@pytest.mark.slow
@needs("tshark")
def test_our_end_closes_first_and_reads_on(run):
    command = peer("listen", 42_000, 1, "most=300000", "seed=2")
    outcome = run("server", command, "--connect", 42_000, app="file.size = '10 kB'")
    (found,) = said(outcome)
    assert found["right"] and found["octets"] == 10_000
    (flow,) = outcome.flows("tcp")
    assert flow["airpath"]["read_fnv1a"] == found["fnv1a"]
    assert flow["airpath"]["octets_read"] > 10_000


@pytest.mark.slow
def test_both_open_at_once(run):
    command = peer("both_open", HOST["server"], 40_000, 42_000)
    outcome = run("server", command, "--connect", 42_000, app="file.size = '10 kB'", delay="100 ms")
    assert said(outcome) == {"octets": 10_000, "right": True}


@pytest.mark.slow
def test_initial_sequence_numbers_follow_from_the_seed(run, live, tmp_path):
    def first(seed: int) -> int:
        command = peer("get", HOST["server"], DATA)
        options = ("--seed", seed, "--force", "--probes", "")
        outcome = run("server", command, *options, app="file.size = '1 kB'")
        said(outcome)
        text = tshark(
            outcome.folder / "capture.pcapng",
            "tcp.flags.syn == 1 && tcp.flags.ack == 1",
            *("-T", "fields", "-e", "tcp.seq_raw"),
        )
        return int(text.split()[0])

    assert first(1) == first(1) != first(2)


@pytest.mark.slow
def test_the_report_tells_of_our_end(run):
    outcome = run("server", peer("get", HOST["server"], DATA), app="file.size = '10 kB'")
    said(outcome)
    assert "airpath's TCP at the server's end: 1 accepted" in outcome.err
    assert "its senders: " in outcome.err
    assert "airpath reno" in " ".join(outcome.err.split())


def test_the_pattern_and_the_digest_are_those_of_the_driver():
    assert pattern(3) == bytes([0, 31, 62]) and len(pattern(200_000)) == 200_000
    # The test vector of the algorithm's description.
    assert fnv1a(b"a") == "af63dc4c8601ec8c"


@pytest.mark.slow
@pytest.mark.parametrize("end", ["server", "ue"])
def test_a_few_of_the_thousand_transfers(end, tmp_path):
    from transfers import Batch, carry_out

    for active in (False, True):
        outcome = carry_out(Batch(seed=11, end=end, active=active, count=8), tmp_path)
        assert outcome.problems == []
        assert outcome.transfers == 8


@pytest.mark.slow
def test_our_receiver_answers_scripts_of_segments_as_the_rfcs_have_it_and_the_kernel_does(tmp_path):
    from packet_scripts import answers, drawn, judged

    scripts = [drawn(seed) for seed in range(1, 16)]
    for ours in (True, False):
        # The kernel sends no DSACK for a duplicate of one byte.
        for steps, told in zip(scripts, answers(scripts, ours, tmp_path), strict=True):
            wrong = judged(steps, told)
            assert not [line for line in wrong if ours or "D-SACK" not in line], steps


@pytest.mark.slow
@pytest.mark.parametrize("sack", [True, False])
def test_our_sender_answers_scripts_of_acks_as_the_rfcs_have_it_and_the_kernel_does(sack, tmp_path):
    from sender_scripts import answers, difference, drawn, judged

    scripts = [drawn(seed) for seed in (1, 2, 3, 4, 5, 7, 8, 9, 11, 13)]
    # On a busy machine an answer may come a step late, but not each time.
    for _ in range(3):
        ours, theirs = (answers(scripts, which, sack, tmp_path) for which in (True, False))
        wrong = []
        for steps, own, other in zip(scripts, ours, theirs, strict=True):
            found = difference(steps, own, other) if sack else None
            why = (judged(steps, own, sack), judged(steps, other, sack), found[1] if found else "")
            if any(why):
                wrong.append((steps, why))
        scripts = [steps for steps, _ in wrong]
        if not scripts:
            break
    assert wrong == []


@pytest.mark.slow
@needs("tshark")
@pytest.mark.parametrize("direction", ["downlink", "uplink"])
def test_between_two_ends_of_ours_marks_are_counted(direction, live, tmp_path):
    file = tmp_path / "link.toml"
    file.write_text(
        f"""
        duration = "60 s"
        [wired]
        rate = "8 Mbit/s"
        delay = "10 ms"
        queue.dualpi2 = {{}}
        [radio.dch]
        downlink.rate = "20 Mbit/s"
        uplink.rate = "20 Mbit/s"
        [tcp]
        profile = "linux-prague"
        [[flow]]
        app.file.size = "1 MB"
        direction = "{direction}"
        """
    )
    both = ("--sender", "airpath", "--receiver", "airpath", "--connections", 2)
    outcome = live(file, *both, *WHOLE, command=["sleep", "3"], out=True)
    assert outcome.code == 0, outcome.err
    check_capture(outcome)
    flows = outcome.flows("tcp")
    assert len(flows) == 2
    for flow in flows:
        assert flow["direction"] == direction and flow["congestion_control"] == "airpath prague+rack"
        sent, received = flow["airpath"], flow["airpath_receiver"]
        assert (sent["octets_written"], received["octets_read"]) == (1_000_000, 1_000_000)
        assert received["read_fnv1a"] == fnv1a(pattern(1_000_000))
        told, counted = sent["ecn"]["accurate"]["sender"], received["ecn"]["accurate"]["receiver"]
        assert counted["ce_packets"] > 10 and counted["ect1_bytes"] + counted["ce_bytes"] > 950_000
        assert told == counted
    capture = outcome.folder / "capture.pcapng"
    syns = tshark(capture, "tcp.flags.syn == 1 && tcp.flags.ack == 0", "-T", "fields", "-e", "tcp.flags.ae")
    assert set(syns.split()) <= {"1", "True"} and syns
    marked = "ip.dsfield.ecn == 3 && tcp.len > 0"
    assert tshark_count(capture, marked) >= sum(flow["airpath_receiver"]["ecn"]["marks"] for flow in flows)
