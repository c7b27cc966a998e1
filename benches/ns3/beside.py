"""airpath compared with ns-3: the runs of `lte.json` and `queues.json` as scenarios of airpath.

`python benches/ns3/lte.py --airpath` and `python benches/ns3/queues.py --airpath` print the comparison;
`test_ns3.py` and `test_ns3_queues.py` in `tests/peers` hold it. `README.md` says what is set.

Uploads share the scheduled uplink; each UE is near enough for the largest blocks, as in ns-3.

In LTE it is what ns-3 does: whole groups of PRBs, a CQI of the I_TBS that ns-3 chooses, grants without a wait
for a scheduling request, buffers that count what was not yet sent. Behaviour that differs by design is
unchanged: sizes of blocks, the round trip of HARQ (8 ms; ns-3: 7), and in RLC AM where a STATUS report goes
(with data; ns-3: in a block of its own).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import airpath
from airpath.scenario import Scenario

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "lte.json"
QUEUES = HERE / "queues.json"
BANDWIDTHS = {25: ("5 MHz", 2), 50: ("10 MHz", 3)}
SCHEDULERS = {"pf": ("proportional_fair", "in_turn"), "rr": ("round_robin", "equally")}
# I_TBS of the MCS that carry whole cells here: TS 36.213 table 7.1.7.1-1.
I_TBS = {8: 8, 14: 13, 20: 18, 22: 20, 28: 26}
# Ratios in dB that yield CQI 15, 14, 13, 12, 11.
SINR = (30, 19, 17, 15, 13)
# ns-3's own times, as `ping` measures them: a packet takes 2 ms after its TTI, and an ACK 11.93 ms.
DOWN = "2 ms"
UPLINK = {"sr_period": "1 ms", "processing": "7 ms", "interval": "1 ms", "delay": "3.93 ms"}


@dataclass(frozen=True)
class Outcome:
    """Results of an airpath run over ns-3's counting period: one value per UE."""

    goodput_kBps: list[float]
    mac_kBps: list[float]
    rtt_ms: list[float]


def runs() -> dict[str, dict[str, Any]]:
    """Return the runs of ns-3 that airpath can make, by name."""
    found: dict[str, dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))["runs"]
    return {name: run for name, run in found.items() if run["options"]["traffic"] in ("udp", "tcp")}


def scenario(run: dict[str, Any], seconds: float) -> str:
    """Return the scenario of a run for so many simulated seconds, as TOML."""
    options = run["options"]
    bandwidth, group = BANDWIDTHS[options["prbs"]]
    scheduler, sharing = SCHEDULERS[options["scheduler"]]
    # Each I_TBS has a CQI of its own, the largest the highest.
    i_tbs = [I_TBS[mcs] for mcs in run["mcs"]]
    kinds = sorted(set(i_tbs), reverse=True)
    rows = [kinds[min(place, len(kinds) - 1)] for place in reversed(range(15))]
    mean_sinr = [f"{SINR[kinds.index(own)]} dB" for own in i_tbs]
    bler = [sum(run[key]) / len(run[key]) for key in ("first_bler", "second_bler")]
    wait = f'"{options.get("statusProhibitMs", 10)} ms"'
    rlc = {
        "um": "um_lte = {}",
        "am": f'am_lte = {{ t_poll_retransmit = "20 ms", poll_pdu = 1, t_status_prohibit = {wait} }}',
    }[options["rlc"]]
    app = (
        f'app.cbr = {{ size = "1500 B", rate = "{round(options["rate"] * 1000)} bit/s" }}'
        if options["traffic"] == "udp"
        else "app.bulk = {}"
    )
    uplink = "\n".join(f'{key} = "{value}"' for key, value in UPLINK.items())
    direction = "downlink"
    if "upload" in options:
        direction = "uplink"
        uplink = f"""
        queue.droptail = {{ bytes = "{options["buffer"]} B", in_service = "excluded" }}
        sr_period = "{UPLINK["sr_period"]}"
        delay = "{UPLINK["delay"]}"
        [radio.lte.uplink.scheduled]
        reception = {{ mean_sinr = "60 dB", fading.none = {{}} }}
        blocks = {{ modulation = "64qam", reserved_prbs = 0 }}
        scheduler.{scheduler} = {{}}
        harq.bler = [0]
        """
    return f"""
        duration = "{seconds} s"
        [wired]
        rate = "1 Gbit/s"
        delay = "10 ms"
        [radio.lte]
        ues = {options["ues"]}
        [radio.lte.downlink]
        queue.droptail = {{ bytes = "{options["buffer"]} B", in_service = "excluded" }}
        rlc.{rlc}
        reception = {{ mean_sinr = {mean_sinr}, fading.none = {{}} }}
        blocks = {{ bandwidth = "{bandwidth}", i_tbs = {rows} }}
        scheduler.{scheduler} = {{}}
        sharing = "{sharing}"
        group = {group}
        adaptation.outer_loop = false
        harq.bler = {bler}
        delay = "{DOWN}"
        [radio.lte.uplink]
        rlc.{rlc}
        {uplink}
        [tcp]
        mss = "1460 B"
        initial_window = 10
        receive_buffer = "{options.get("window", 65535)} B"
        recovery.newreno = {{}}
        [[flow]]
        ue = "each"
        start = "500 ms"
        stagger = "10 ms"
        direction = "{direction}"
        {app}
    """


def outcome(run: dict[str, Any]) -> Outcome:
    """Make a run in airpath."""
    begin, end = run["options"]["warmup"], run["options"]["time"]
    before, after = (airpath.run(Scenario("lte", scenario(run, seconds)), seed=1) for seconds in (begin, end))
    seconds = end - begin

    def rates(counts: list[list[float]]) -> list[float]:
        return [(last - first) / seconds / 1e3 for first, last in zip(*counts, strict=True)]

    received = [[flow["bytes_received"] for flow in result.flows] for result in (before, after)]
    direction = "uplink" if "upload" in run["options"] else "downlink"
    bits = [[ue[direction]["harq"]["bits"] for ue in cell(result)["ues"]] for result in (before, after)]
    return Outcome(
        goodput_kBps=rates(received),
        mac_kBps=[rate / 8 for rate in rates(bits)],
        rtt_ms=round_trips(after, begin),
    )


def cell(result: airpath.Result) -> dict[str, Any]:
    """Return the report of the cell."""
    [found] = [element for element in result.summary["elements"] if element["element"] == "radio.lte"]
    return dict(found)


def round_trips(result: airpath.Result, begin: float) -> list[float]:
    """Return the mean round-trip time of each flow from then on, ms; empty without TCP."""
    samples = result.trace["rtt_sample"]
    late = samples["time_s"] >= begin
    if not late.any():
        return []
    ues = range(len(result.flows))
    return [float(samples["rtt_us"][late & (samples["ue"] == ue)].mean()) / 1e3 for ue in ues]


def queue_runs() -> dict[str, dict[str, Any]]:
    """Return the runs of ns-3's queue disciplines by name."""
    found: dict[str, dict[str, Any]] = json.loads(QUEUES.read_text(encoding="utf-8"))["runs"]
    return found


def queue_scenario(options: dict[str, Any], starts: list[float], seconds: float) -> str:
    """Return the scenario of a run for so many simulated seconds, as TOML; its flows start at these."""
    rate, discipline = options["rate"], options["discipline"]
    parameters = {
        "droptail": f'packets = {options.get("packets")}, in_service = "excluded"',
        "codel": "packets = 1000",
        "fq_codel": 'packets = 1000, quantum = "1500 B"',
        "pie": "packets = 1000",
    }[discipline]
    app = "app.bulk = {}"
    if options["traffic"] == "udp":
        share = round(options["load"] * rate * 1000 / len(starts))
        app = f'app.cbr = {{ size = "1500 B", rate = "{share} bit/s" }}'
    apps = [(at, app) for at in starts]
    if "sparse" in options:
        apps.append((1, f'app.cbr = {{ size = "200 B", rate = "{options["sparse"]} kbit/s" }}'))
    flows = "".join(f'[[flow]]\nstart = "{at} s"\n{app}\n' for at, app in apps)
    return f"""
        duration = "{seconds} s"
        [wired]
        rate = "1 Gbit/s"
        delay = "{options["delayMs"]} ms"
        [radio.dch]
        downlink.rate = "{rate} kbit/s"
        downlink.queue.{discipline} = {{ {parameters} }}
        uplink.rate = "1 Gbit/s"
        [tcp]
        mss = "1460 B"
        initial_window = 10
        receive_buffer = "4 MB"
        window_scaling = true
        sack = true
        recovery.sack = {{}}
        {flows}
    """


def queue_outcome(run: dict[str, Any]) -> dict[str, list[float]]:
    """Make the repetitions of a run in airpath; the keys are those of the run."""
    found = [_repetition(run["options"], starts, seed) for seed, starts in enumerate(run["starts"], start=1)]
    return {key: [each[key] for each in found] for key in found[0]}


def _repetition(options: dict[str, Any], starts: list[float], seed: int) -> dict[str, float]:
    """Make one repetition and return its figures; packets that leave the buffer after the warm-up count."""
    begin, end = 10, options.get("time", 60)
    probes = ("bearer_delivered", "dropped")
    before, after = (
        airpath.run(Scenario("queue", queue_scenario(options, starts, seconds)), seed=seed, probes=probes)
        for seconds in (begin, end)
    )
    counts = [sum(flow["bytes_received"] for flow in result.flows) for result in (before, after)]
    left = after.trace["bearer_delivered"]
    late = (left["time_s"] >= begin) & (left["direction"] == "downlink")
    flow, length = left["flow"][late], left["len_bytes"][late]
    wait_ms = left["delay_ns"][late] / 1e6 - length * 8 / options["rate"]
    figures = {
        "goodput_kbps": (counts[1] - counts[0]) * 8 / (end - begin) / 1e3,
        "drops": float((after.trace["dropped"]["time_s"] >= begin).sum()),
        "wait_ms": float(wait_ms.mean()),
        "wait_95_ms": float(np.quantile(wait_ms, 0.95)),
    }
    if "sparse" in options:
        figures["sparse_wait_ms"] = float(wait_ms[flow == len(starts)].mean())
    return figures
