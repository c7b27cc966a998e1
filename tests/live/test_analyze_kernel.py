"""Captures of the kernel's TCP: the analysis counts as tshark does, and as the kernel did."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest
from programs import needs, require

from airpath.captures import analyze
from live.carried import LINK, carry
from live.packets import FIN, SYN

__all__ = ["carry"]

TOOLS = ("unshare", "mount", "ip", "tc", "iperf3", "dumpcap", "tshark")
# The capture is taken behind the bottleneck: what the queue dropped shows as gaps that are filled later.
SCRIPT = """
set -e
mount -t tmpfs none /run && mkdir /run/netns
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
ip netns add far
ip link add near type veth peer name far netns far
ip addr add 10.9.0.1/24 dev near; ip link set near up; ip link set lo up
ip -n far addr add 10.9.0.2/24 dev far; ip -n far link set far up
tc qdisc add dev near root tbf rate 4mbit burst 6000 limit 15000
ip netns exec far iperf3 -s -1 > /dev/null &
dumpcap -q -i near -s 128 -w - > "$1" 2> /dev/null &
capture=$!
sleep 1.5
iperf3 -c 10.9.0.2 -t 3 -M 1000 --json > "$1.json"
sleep 0.5
kill -INT $capture; wait $capture || true
"""


@pytest.mark.slow
def test_the_analysis_counts_as_tshark_does(tmp_path):
    require(*TOOLS)
    file = tmp_path / "kernel.pcapng"
    file.touch()
    command = [
        "unshare",
        "--user",
        "--map-root-user",
        "--net",
        "--mount",
        "bash",
        "-c",
        SCRIPT,
        "bash",
        str(file),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        pytest.skip(f"no namespaces or no tbf here: {done.stderr.strip()}")
    report = analyze(file)
    # iperf3's other connection ends with probes of a single byte, which tshark takes for keep-alives.
    transfer = max(report["connections"], key=lambda one: one["payload_bytes"])
    [found] = transfer["flows"]
    port = transfer["client"].rpartition(":")[2]
    retransmitted = found["retransmissions"]["total"] + found["reordering"]["late_segments"]
    assert found["retransmissions"]["total"] > 0
    assert retransmitted == tshark(file, port, "(tcp.analysis.retransmission or tcp.analysis.out_of_order)")
    assert found["counters"]["dupacks"] == tshark(file, port, "tcp.analysis.duplicate_ack")
    assert found["viewpoint"] == "between"
    received = json.loads(Path(f"{file}.json").read_text())["end"]["sum_received"]
    assert found["goodput_bps"] == pytest.approx(received["bits_per_second"], rel=0.15)


SMALL = LINK.replace("packets = 200", "packets = 15").replace("4 Mbit/s", "2 Mbit/s")
# Retransmissions are lost, too, and timers expire.
LOSSY = f'[[middlebox]]\ndisturb.downlink.loss = "25 %"\n{LINK}'


@pytest.mark.slow
@needs("ping")
@pytest.mark.parametrize("congestion_control", ["reno", "cubic"])
@pytest.mark.parametrize(
    ("link", "octets", "least"), [(SMALL, 1_500_000, 20), (LOSSY, 150_000, 10)], ids=["small", "lossy"]
)
def test_retransmissions_and_timeouts_are_those_that_the_kernel_counted(
    link, octets, least, congestion_control, carry
):
    done = carry(link, octets, "--datagrams", 10, congestion_control=congestion_control)
    again = done.download["retransmissions"]
    # The kernel counts its SYN and FIN too.
    alone = [
        (packet.flags & (SYN | FIN), packet.connection)
        for packet in done.at("server", downlink=True)
        if packet.flags & (SYN | FIN) and not packet.is_data
    ]
    again_alone = len(alone) - len(set(alone))
    assert again["total"] == done.kernel["RetransSegs"] - again_alone > least
    by_cause, timeouts = again["by_cause"], done.kernel.get("TCPTimeouts", 0)
    probes = done.kernel.get("TCPLossProbes", 0)
    # Nothing tells a probe of the only segment in flight from a timeout, until the sender has shown RACK.
    assert timeouts <= by_cause["timeout"] <= timeouts + probes - by_cause["tail_probe"]


@pytest.mark.slow
@needs("tshark", "editcap")
@pytest.mark.parametrize("seed", [2, 5, 17, 31, 55, 74, 101, 102, 103, 104, 105, 106])
def test_captures_of_all_kinds_are_counted_as_by_tshark(seed, tmp_path):
    from beside_tshark import capture, differences, drawn

    assert differences(capture(drawn(random.Random(seed)), seed, tmp_path)) == []


def tshark(file, port, display_filter):
    require("tshark")
    of_port = f"tcp.port == {port} and {display_filter}"
    command = ["tshark", "-n", "-r", str(file), "-Y", of_port, "-T", "fields", "-e", "frame.number"]
    return len(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
