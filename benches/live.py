#!/usr/bin/env python3
"""What a live link costs: rate, idle round-trip time, lateness and CPU. Part of `make bench`.

Each link is a constant trace. Reported are

* the rate that one CUBIC connection gets (iperf3), in bytes of IP, as a share of the link's;
* the RTT of a ping through the idle link, minus the RTT to an address of the same namespace; half a slot in
  each direction is the link's, the rest airpath's overhead;
* how late packets left the bearer, against the model (median, 99th percentile);
* CPU time of the driver for each packet that came out at either end.

Then the rate that one connection gets where only the machine limits it.

Then a cell of 5G NR near its peak of 1.5 Gbit/s, with ten simulated UEs beside the real one, or with fading
and none beside it: the rate of one connection and of datagrams sent at 1 Gbit/s, and the RTT of a ping beyond
that of the simulated scenario.

Then each mechanism that works on real packets, on a bearer of 100 Mbit/s: CPU time of the driver for each
packet that came in at either end, as a ratio to that without one in the same round; of these the median is
to be 1.2 at most.

Needs Linux, iperf3, ping and the prerequisites of `airpath doctor`; without them it exits with a message.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tools"))
import left_out  # noqa: E402

AIRPATH = ROOT / ".venv" / "bin" / "airpath"
RATES_MBPS = (10, 100, 1000)
# The buffer holds at least 10 ms.
LEAST_BUFFER_PACKETS = 100
MTU, MSS = 1500, 1448
PINGS, PING_INTERVAL_S = 200, 0.02
# The link is idle while it is pinged; then it carries one connection.
COMMAND = """
ping -q -c {pings} -i {interval} $AIRPATH_UE
ping -q -c {pings} -i {interval} $AIRPATH_SERVER
iperf3 -c $AIRPATH_SERVER -R -C cubic -t {seconds} -J > {report}
"""


# A wire and a bearer on which no mechanism slows a connection down.
BEARER = """
[wired]
delay = "5 ms"
[radio.dch.downlink]
rate = "100 Mbit/s"
delay = "5 ms"
queue.droptail = { packets = 200, in_service = "excluded" }
[radio.dch.uplink]
rate = "100 Mbit/s"
delay = "5 ms"
queue.droptail = { packets = 200, in_service = "excluded" }
[[flow]]
app.bulk = {}
"""
# The same without a limit that a machine reaches.
WIDE = BEARER.replace("100 Mbit/s", "40 Gbit/s").replace("5 ms", "0.1 ms").replace("200", "4000")
# A cell of NR with 100 MHz and four layers; ten other UEs have 10 Mbit/s each. A ping whose interval is no
# multiple of a slot meets all phases of the frame, and comes when RLC has reported on the one before.
NR_PINGS, NR_PING_INTERVAL_S = 100, 0.1037
NR = f"""
duration = "30 s"
wired = {{ rate = "2.5 Gbit/s", delay = "5 ms" }}
[radio.nr]
ues = 11
[radio.nr.downlink]
reception = {{ mean_sinr = "40 dB", fading.none = {{}} }}
[radio.nr.uplink]
reception = {{ mean_sinr = "50 dB", fading.none = {{}} }}
[[flow]]
direction = "uplink"
app.ping.interval = "{1e3 * NR_PING_INTERVAL_S} ms"
"""
NR_OTHERS = "".join(
    f'[[flow]]\nue = {ue}\napp.cbr = {{ rate = "10 Mbit/s", size = "1500 B" }}\n' for ue in range(1, 11)
)
# HARQ retransmissions make packets leave by the hundred.
NR_FADING = 'fading.jakes.doppler = "5.6 Hz", diversity = 2'
NR_MBPS = 1000
# The rate times the round trip is more than Linux's usual limits of a socket.
NR_SYSCTLS = ("net.ipv4.tcp_rmem=4096 131072 33554432", "net.ipv4.tcp_wmem=4096 16384 33554432")
NR_COMMAND = """
ping -q -c {pings} -i {interval} $AIRPATH_UE
ping -q -c {pings} -i {interval} $AIRPATH_SERVER
iperf3 -c $AIRPATH_SERVER -R {options} -t {seconds} -J > {report}
"""
MECHANISMS = {
    "ack_filter": "ack_filter = {}",
    "ack_pacing": "ack_pacing = {}",
    "ack_rate_control": 'ack_rate_control.t_id.linear = { maxth = 100, maxd = "12 ms" }',
    "ack_regulator": 'ack_regulator.growth = "acked"',
    "freeze": "freeze = {}",
    "packet_loss": 'packet_loss.downlink.loss = "0 %"',
    "rnc_feedback": "rnc_feedback = {}",
    "snoop": "snoop.cache_packets = 1000",
}
MOST_RATIO = 1.2
MECHANISM_SECONDS = 3


def measure(mbps: int, seconds: int) -> dict[str, float]:
    """Measure a link of this rate."""
    packets = max(LEAST_BUFFER_PACKETS, round(mbps * 1e6 * 0.01 / 8 / MTU))
    with tempfile.TemporaryDirectory() as folder:
        report, out = Path(folder, "iperf3.json"), Path(folder, "out")
        queue = ["droptail", f"packets={packets}"]
        command = [str(AIRPATH), "live", "--no-view", "--out", str(out), "--no-capture", "--probes", ""]
        for direction in ("downlink", "uplink"):
            command += [f"--{direction}-trace", f"{mbps} Mbit/s"]
            command += [f"--{direction}-queue", queue[0], f"--{direction}-queue-args", queue[1]]
        script = COMMAND.format(pings=PINGS, interval=PING_INTERVAL_S, seconds=seconds, report=report)
        command += ["--server", "iperf3 -s -1 > /dev/null", "--", "sh", "-ec", script]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60, check=False)
        if done.returncode != 0:
            raise SystemExit(f"live.py: {' '.join(command)}: status {done.returncode}\n{done.stderr}")
        results = json.loads((out / "results.json").read_text())
        received = json.loads(report.read_text())["end"]["sum_received"]["bits_per_second"]
    local, through = (float(mean) for mean in re.findall(r"= [\d.]+/([\d.]+)/", done.stdout))
    live = results["live"]
    came_out = sum(end["received"] for end in live["ends"].values())
    return {
        "share_of_rate": received * MTU / MSS / (mbps * 1e6),
        "added_rtt_ms": through - local,
        "lateness_p50_us": live["lateness_us"]["p50"],
        "lateness_p99_us": live["lateness_us"]["p99"],
        "cpu_us_per_packet": live["cpu_s"] * 1e6 / came_out,
        "scheduler": live["scheduler"],
        "valid": live["valid"],
    }


def carry(scenario: str, seconds: int) -> tuple[dict[str, Any], float]:
    """Carry one connection through a scenario; give `live` of the results, and Gbit/s of IP."""
    with tempfile.TemporaryDirectory() as folder:
        link, report, out = Path(folder, "link.toml"), Path(folder, "iperf3.json"), Path(folder, "out")
        link.write_text(scenario, encoding="utf-8")
        command = [str(AIRPATH), "live", str(link), "--no-view", "--out", str(out), "--no-capture"]
        command += ["--probes", "", "--server", "exec iperf3 -s -1 > /dev/null", "--", "sh", "-c"]
        command += [f"exec iperf3 -c $AIRPATH_SERVER -R -C cubic -t {seconds} -J > {report}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60, check=False)
        if done.returncode != 0:
            raise SystemExit(f"live.py: {' '.join(command)}: status {done.returncode}\n{done.stderr}")
        live: dict[str, Any] = json.loads((out / "results.json").read_text())["live"]
        received = json.loads(report.read_text())["end"]["sum_received"]["bits_per_second"]
    return live, received * MTU / MSS / 1e9


def nr_model(scenario: str) -> float:
    """Simulate a cell of NR; give the mean RTT of a ping, ms."""
    with tempfile.TemporaryDirectory() as folder:
        link, out = Path(folder, "link.toml"), Path(folder, "out")
        link.write_text(scenario, encoding="utf-8")
        command = [str(AIRPATH), "run", str(link), "--out", str(out), "--no-page", "--probes", ""]
        subprocess.run(command, capture_output=True, timeout=300, check=True)
        flow = json.loads((out / "results.json").read_text())["flows"][0]
        mean: float = flow["rtt_ms"]["mean"]
        return mean


def nr_cell(scenario: str, options: str, seconds: int) -> dict[str, Any]:
    """Ping through an idle cell of NR, then load it by iperf3 with these options."""
    with tempfile.TemporaryDirectory() as folder:
        link, report, out = Path(folder, "link.toml"), Path(folder, "iperf3.json"), Path(folder, "out")
        link.write_text(scenario, encoding="utf-8")
        script = NR_COMMAND.format(
            pings=NR_PINGS, interval=NR_PING_INTERVAL_S, options=options, seconds=seconds, report=report
        )
        command = [str(AIRPATH), "live", str(link), "--no-view", "--out", str(out), "--no-capture"]
        command += ["--probes", "", *(word for name in NR_SYSCTLS for word in ("--sysctl", name))]
        command += ["--server", "exec iperf3 -s -1 > /dev/null", "--", "sh", "-ec", script]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 120, check=False)
        if done.returncode != 0:
            raise SystemExit(f"live.py: {' '.join(command)}: status {done.returncode}\n{done.stderr}")
        results = json.loads((out / "results.json").read_text())
        received = json.loads(report.read_text())["end"]["sum_received"]["bits_per_second"]
    local, through = (float(mean) for mean in re.findall(r"= [\d.]+/([\d.]+)/", done.stdout))
    live, others = results["live"], [flow for flow in results["flows"] if flow["ue"] > 0]
    return {
        "gbps": received / 1e9,
        "rtt_ms": through - local,
        "lateness_p99_us": live["lateness_us"]["p99"],
        "cpu_us_per_packet": live["cpu_s"] * 1e6 / sum(end["received"] for end in live["ends"].values()),
        "others_bytes": [flow["bytes_received"] for flow in others],
        "valid": live["valid"],
    }


def nr(rounds: int, seconds: int) -> dict[str, Any]:
    """Measure cells of NR with a real UE, alone or among ten, in rounds; print and give medians."""
    found: dict[str, Any] = {}
    print("\n5G NR                  Gbit/s   ping beyond the model   lateness p99   CPU per packet   valid")
    tcp, udp = "-C cubic -O 3", f"-u -b {NR_MBPS}M -l 1472"
    for name, scenario, options in (
        ("10 more UEs, TCP", NR + NR_OTHERS, tcp),
        ("10 more UEs, UDP", NR + NR_OTHERS, udp),
        ("alone, fading, TCP", NR.replace("fading.none = {}", NR_FADING), tcp),
    ):
        model = nr_model(scenario)
        runs = [nr_cell(scenario, options, seconds) for _ in range(rounds)]
        median = {
            key: statistics.median(run[key] for run in runs)
            for key in ("gbps", "rtt_ms", "lateness_p99_us", "cpu_us_per_packet")
        }
        found[name] = median | {"model_rtt_ms": model, "valid": sum(run["valid"] for run in runs)}
        print(
            f"{name:21}   {median['gbps']:6.3f}   {median['rtt_ms'] - model:18.2f} ms"
            f"   {median['lateness_p99_us']:9.0f} us   {median['cpu_us_per_packet']:11.2f} us"
            f"   {found[name]['valid']} of {rounds}",
            flush=True,
        )
    return found


def cpu_us_per_packet(scenario: str, seconds: int) -> float:
    """Carry one connection through a scenario; give the driver's CPU time for each packet that came in."""
    live, _ = carry(scenario, seconds)
    came_in: int = sum(end["sent"] for end in live["ends"].values())
    cpu_s: float = live["cpu_s"]
    return cpu_s * 1e6 / came_in


def wide(rounds: int, seconds: int) -> dict[str, float]:
    """Measure the rate that only the machine limits, in rounds; print and give medians."""
    runs = [carry(WIDE, seconds) for _ in range(rounds)]
    rate = statistics.median(gbps for _, gbps in runs)
    late = statistics.median(live["lateness_us"]["p99"] for live, _ in runs)
    valid = sum(live["valid"] for live, _ in runs)
    print(f"\nno limit: {rate:.2f} Gbit/s, lateness p99 {late:.0f} us, {valid} of {rounds} valid")
    return {"gbps": rate, "lateness_p99_us": late, "valid": valid / rounds}


def mechanisms(rounds: int, seconds: int) -> dict[str, dict[str, float]]:
    """Measure each mechanism and a run without one, in rounds; print and give costs and ratios."""
    boxes = {"none": ""} | {name: f"[[middlebox]]\n{text}\n" for name, text in MECHANISMS.items()}
    costs: dict[str, list[float]] = {name: [] for name in boxes}
    for _ in range(rounds):
        for name, text in boxes.items():
            costs[name].append(cpu_us_per_packet(text + BEARER, seconds))
    print(f"\nmechanism           CPU per packet   ratio: median of {rounds}, range")
    found = {}
    for name, mine in costs.items():
        ratios = sorted(one / none for one, none in zip(mine, costs["none"], strict=True))
        ratio = statistics.median(ratios)
        found[name] = {"cpu_us_per_packet": statistics.median(mine), "ratio": ratio}
        cost, verdict = found[name]["cpu_us_per_packet"], "" if ratio <= MOST_RATIO else "   TOO MUCH"
        print(f"{name:18}   {cost:11.2f} us   {ratio:5.2f}   {ratios[0]:.2f} to {ratios[-1]:.2f}{verdict}")
    return found


def obstacle() -> str:
    """Say what keeps us from measuring; empty if nothing does."""
    if why := left_out.why("iperf3", "ping"):
        return why
    doctor = subprocess.run([str(AIRPATH), "doctor"], capture_output=True, text=True, timeout=60, check=False)
    return "" if doctor.returncode == 0 else "airpath doctor says that live does not work here"


def links(seconds: int) -> dict[str, object]:
    """Measure the links of all rates; print and give the figures."""
    print("live          IP rate   added RTT   lateness p50     p99   CPU per packet")
    figures: dict[str, object] = {}
    for mbps in RATES_MBPS:
        figures[f"{mbps} Mbit/s"] = found = measure(mbps, seconds)
        print(
            f"{mbps:5} Mbit/s   {found['share_of_rate']:6.3f}   {found['added_rtt_ms']:6.3f} ms"
            f"   {found['lateness_p50_us']:9.0f} us {found['lateness_p99_us']:5.0f} us"
            f"   {found['cpu_us_per_packet']:11.2f} us   {found['scheduler']}"
            f"{'' if found['valid'] else ', NOT VALID'}",
            flush=True,
        )
    return figures


def main() -> None:
    """Measure, print a table, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=int, default=10, help="length of each transfer")
    parser.add_argument("--rounds", type=int, default=5, help="of all mechanisms")
    parser.add_argument("--mechanisms-only", action="store_true", help="leave the links out")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "bench-live.json", metavar="FILE")
    options = parser.parse_args()
    if missing := obstacle():
        left_out.note("speed of the live link", missing)
        print(f"live: not measured: {missing}")
        return
    figures: dict[str, object] = {}
    if not options.mechanisms_only:
        figures |= links(options.seconds)
        figures["no limit"] = wide(options.rounds, min(options.seconds, MECHANISM_SECONDS))
        figures["nr"] = nr(options.rounds, options.seconds)
    figures["mechanisms"] = mechanisms(options.rounds, min(options.seconds, MECHANISM_SECONDS))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
