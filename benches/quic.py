#!/usr/bin/env python3
"""QUIC through a link: live against virtual time, and against TCP. Makes the tables of docs/quic.md.

`quic.py live` downloads by aioquic over `airpath.RadioLink` and over `airpath.Net`, with the same scenario
and seeds, and compares them in pairs. It has the prerequisites of `airpath doctor`, and takes as long as
the downloads.

`quic.py tcp` downloads by quinn, by aioquic and by the simulator's TCP over three links in virtual time. It
needs cargo, for quinn, and takes minutes.

Needs `pip install aioquic`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from quic_ends import CONTROLS, Outcome, live, virtual

import airpath
from airpath.stats.estimate import Estimate, estimate

ROOT = Path(__file__).resolve().parent.parent
# Bytes that take some ten to thirty seconds.
LINKS = {"umts-384": 1_000_000, "hsdpa-3.6-still": 5_000_000, "lte-10mhz-still": 20_000_000}
# The same with uplinks of six times the rate: padded datagrams of a handshake, and ACKs, wait less.
CHANGES = {
    "umts-384": [{}, {"radio.dch.uplink.rate": "384 kbit/s"}],
    "hsdpa-3.6-still": [{}, {"radio.hsdpa.uplink.rate": "384 kbit/s"}],
}
SHOWN = {
    "goodput_kbps": "goodput, kbit/s",
    "rtt_ms": "RTT, ms",
    "sent": "packets sent",
    "dropped": "of these dropped",
}


def tell_live(scenario: airpath.Scenario, size: int, control: str, seeds: range) -> None:
    """Live and virtual in pairs."""
    runs: dict[str, list[Outcome]] = {"live": [], "virtual": []}
    for seed in seeds:
        runs["virtual"].append(virtual(scenario, seed, size, control))
        runs["live"].append(live(scenario, seed, size, control))
        done = ", ".join(f"{way} {of[-1].done_s:.2f} s" for way, of in runs.items())
        late = "" if runs["live"][-1].valid else " (NOT VALID: packets left too late)"
        print(f"seed {seed}: {done}{late}", flush=True)
    print(f"\n| {scenario.name}, {control}, {len(seeds)} seeds | live | virtual | live above virtual |")
    print("|---|---|---|---|")
    for name, what in SHOWN.items():
        both = [estimate(getattr(run, name) for run in runs[way]) for way in ("live", "virtual")]
        means = " | ".join(f"{one.mean:.1f} ({one.sd:.1f})" for one in both)
        above = airpath.paired(*both).relative
        print(f"| {what} | {means} | {shown(above, 100, '+.1f')} % |")


def shown(one: Estimate, scale: float = 1, digits: str = "+.2f") -> str:
    """A mean with its interval."""
    mean, low, high = (format(scale * value, digits) for value in (one.mean, one.ci_low, one.ci_high))
    return f"{mean} [{low}, {high}]"


def tell_tcp(seeds: range) -> None:
    """QUIC and TCP over the same links."""
    for name, size in LINKS.items():
        for change in CHANGES.get(name, [{}]):
            scenario = airpath.load(name)
            for key, value in change.items():
                scenario = scenario.with_(key, value)
            tell_link(scenario, size, seeds, "".join(f", {key} = {value}" for key, value in change.items()))


def tell_link(scenario: airpath.Scenario, size: int, seeds: range, changes: str) -> None:
    heads = ("first byte, s", "all, s", "later than TCP, s", "carried", "dropped", "client's packets")
    print(f"\n| {scenario.name}{changes}, {size / 1e6:g} MB, {len(seeds)} seeds | {' | '.join(heads)} |")
    print("|---" * (len(heads) + 1) + "|", flush=True)
    for control in CONTROLS:
        beside: Estimate | None = None
        for stack in (tcp, tcp_without_hystart, quinn, aioquic):
            if stack is tcp_without_hystart and control != "cubic":
                continue
            runs = stack(scenario, seeds, size, control)
            first = estimate(run.done_s for run in stack(scenario, seeds, 1, control))
            done = estimate(run.done_s for run in runs)
            beside = beside or done
            later = "" if stack is tcp else shown(airpath.paired(done, beside).difference)
            counts = [
                format(statistics.fmean(getattr(run, name) for run in runs), digits)
                for name, digits in (("carried", ".3f"), ("dropped", ".0f"), ("sent_by_client", ".0f"))
            ]
            row = [
                f"{stack.__name__.replace('_', ' ')}, {control}",
                f"{first.mean:.2f}",
                f"{done.mean:.2f}",
                later,
                *counts,
            ]
            print(f"| {' | '.join(row)} |", flush=True)


def tcp(scenario: airpath.Scenario, seeds: range, size: int, control: str) -> list[Outcome]:
    """Downloads by the simulator's TCP: that of Linux, or the same with Reno."""
    scenario = scenario.with_("flow", [{"app": {"file": {"size": f"{size} B"}}}]).with_("duration", "1000 s")
    if control == "reno":
        scenario = scenario.with_("tcp.cc", "reno")
    runs = (airpath.run(scenario, seed) for seed in seeds)
    return [Outcome(size, run.flows[0]["received_s"], run.summary["elements"]) for run in runs]


def tcp_without_hystart(scenario: airpath.Scenario, seeds: range, size: int, control: str) -> list[Outcome]:
    return tcp(scenario.with_("tcp.cc.cubic", {"hystart": "off", "variant": "linux"}), seeds, size, control)


def quinn(scenario: airpath.Scenario, seeds: range, size: int, control: str) -> list[Outcome]:
    """Downloads by the crate's example."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(scenario.text)
        file.flush()
        example = ["cargo", "run", "--quiet", "--release", "--example", "quinn", "--"]
        words = [file.name, str(size), control, str(len(seeds))]
        done = subprocess.run([*example, *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    runs = map(json.loads, done.stdout.splitlines())
    return [Outcome(size, run["done_s"], run["elements"]) for run in runs]


def aioquic(scenario: airpath.Scenario, seeds: range, size: int, control: str) -> list[Outcome]:
    """Downloads by aioquic."""
    return [virtual(scenario, seed, size, control) for seed in seeds]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("live", "tcp"))
    parser.add_argument("--seeds", type=int, default=10, help="1 to this")
    parser.add_argument("--scenario", default="umts-384", help="live: a bundled name or a file")
    parser.add_argument("--size", type=int, default=1_000_000, help="live: bytes")
    parser.add_argument("--control", default="cubic", choices=CONTROLS, help="live: congestion control")
    arguments = parser.parse_args()
    seeds = range(1, arguments.seeds + 1)
    if arguments.what == "tcp":
        tell_tcp(seeds)
    else:
        tell_live(airpath.load(arguments.scenario), arguments.size, arguments.control, seeds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
