"""One run, simulated or live, into its own folder."""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from airpath.errors import LiveError
from airpath.experiments.versus_kernel.carried import Transfer, duration_s, transfers
from airpath.experiments.versus_kernel.measured import Figures, figures
from airpath.experiments.versus_kernel.multipath import forget_notes, live_figures, simulated_figures
from airpath.experiments.versus_kernel.tcp import KernelTcp
from airpath.files.atomic import make_folder, write_whole
from airpath.live import transfer as transfer_program
from airpath.live.apart import outcome
from airpath.live.transfer import FIRST_PORT
from airpath.runs.memory import run
from airpath.runs.recorder import CAPTURE
from airpath.scenario import Scenario

# As for `airpath live`.
LATENESS_BOUND_US = 1000.0
SNAPLEN = 96
STATUS_INTERVAL_S, TCP_INFO_INTERVAL_S = 1.0, 0.05


@dataclass(frozen=True)
class LiveOutcome:
    """What became of a live run: figures of each transfer, and quantiles of how late packets left.

    There are no figures if they describe the machine and not the link; `invalid_because` says why.
    """

    figures: list[Figures]
    invalid_because: list[str]
    lateness_us: dict[str, float]


def simulate_once(scenario: Scenario, seed: int, folder: Path) -> list[Figures]:
    """Simulate a run and read its figures."""
    make_folder(folder)
    capture = folder / CAPTURE
    result = run(scenario, seed, probes=(), capture=True)
    write_whole(capture, result.capture)
    carried = transfers(scenario)
    if carried[0].paths:
        return simulated_figures(result.flows, carried)
    return figures(capture, carried, [flow["timeouts"] for flow in result.flows])


def run_live_once(
    scenario: Scenario, tcp: KernelTcp, seed: int, folder: Path, alive: Processes
) -> LiveOutcome:
    """Make a live run and read its figures.

    Raises
    ------
    LiveError
        If there is no live run, or its transfers fail.
    """
    make_folder(folder)
    carried = transfers(scenario)
    if carried[0].paths:
        forget_notes(folder, len(carried))
    results, said = _drive(configuration(scenario, tcp, seed, carried, folder), folder, alive)
    live = results["live"]
    if live["exit_status"] != 0 and live["ended_by"] != "duration":
        words = "; ".join([*live["notices"], *said.strip().splitlines()[-1:]])
        what = f"the transfers ended with status {live['exit_status']}: {words}"
        raise LiveError("live", what, f"see {folder}, and what 'airpath doctor' says")
    if not live["valid"]:
        return LiveOutcome([], live["invalid_because"], live["lateness_us"])
    timeouts = kernel_timeouts(results, carried)
    if carried[0].paths:
        found = live_figures(results, folder, carried, timeouts)
    else:
        found = figures(folder / CAPTURE, carried, timeouts)
    return LiveOutcome(found, [], live["lateness_us"])


def kernel_timeouts(results: dict[str, Any], carried: list[Transfer]) -> list[int | None]:
    """How often the kernel's retransmission timers expired, by transfer.

    Where one transfer alone sends from an end, by the counters of that namespace; else from the kernel's
    last `tcp_info` of each of its connections (Linux 6.7 and later), polled every 50 ms. None where that is
    not known: an earlier kernel, or a connection that was never seen.
    """
    flows = [flow for flow in results["flows"] if flow["protocol"] == "tcp"]
    by_port: dict[int, list[int | None]] = {}
    for flow in flows:
        by_port.setdefault(int(flow["server_address"].rpartition(":")[2]), []).append(flow["timeouts"])
    directions = [transfer.direction for transfer in carried]
    counted: list[int | None] = []
    for number, direction in enumerate(directions):
        if directions.count(direction) == 1:
            end = "server" if direction == "downlink" else "ue"
            counted.append(int(results["live"]["kernel"][end].get("TCPTimeouts", 0)))
        else:
            known = by_port.get(FIRST_PORT + number, [None])
            counted.append(None if None in known else sum(one for one in known if one is not None))
    return counted


def configuration(
    scenario: Scenario, tcp: KernelTcp, seed: int, carried: list[Transfer], folder: Path
) -> dict[str, Any]:
    """The driver's configuration of a live run, whose transfers over several paths note their times here."""
    settings = {key: value for key, value in asdict(tcp).items() if key not in ("sysctls", "unlike")}
    settings["transfers"] = [
        {"direction": one.direction, "bytes": one.size_bytes, "start_s": one.start_s} for one in carried
    ]
    paths = len(carried[0].paths)
    if paths:
        settings |= {"paths": paths, "notes": str(folder.resolve())}
    program = [sys.executable, "-I", "-S", str(Path(transfer_program.__file__).resolve())]
    as_server, as_ue = ([*program, role, json.dumps(settings)] for role in ("serve", "fetch"))
    return {
        "mode": "run",
        "scenario": scenario.text,
        "seed": seed,
        "probes": [],
        "capture": True,
        "snaplen": SNAPLEN,
        "command": as_ue,
        "server": shlex.join(as_server),
        "duration_s": duration_s(scenario),
        "sysctl": tcp.sysctls,
        "status_interval_s": STATUS_INTERVAL_S,
        "tcp_info_interval_s": TCP_INFO_INTERVAL_S,
        "lateness_bound_us": LATENESS_BOUND_US,
    }


def _drive(configured: dict[str, Any], folder: Path, alive: Processes) -> tuple[dict[str, Any], str]:
    """Start the process of a live run, wait for its end, and take its results and what was said."""
    command = [sys.executable, "-m", "airpath.experiments.versus_kernel.live_run", str(folder)]
    with alive.started(command) as process:
        assert process.stdin is not None and process.stderr is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(configured) + "\n")
            process.stdin.flush()
        # Standard input stays open: its end would end the run.
        said = process.stderr.read()
        status = process.wait()
    return outcome(folder, status, said), said


class Processes:
    """The processes of live runs in progress, so that all can be terminated."""

    def __init__(self) -> None:
        self._alive: set[subprocess.Popen[str]] = set()
        self._over = False

    @contextlib.contextmanager
    def started(self, command: list[str]) -> Iterator[subprocess.Popen[str]]:
        """Start a process; it is over in the end."""
        if self._over:
            raise LiveError("live", "the comparison has ended", "")
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        self._alive.add(process)
        # All were terminated while this one started.
        if self._over:
            process.terminate()
        try:
            with process:
                yield process
        finally:
            self._alive.discard(process)

    def end(self) -> None:
        """Tell all to end; no further one begins."""
        self._over = True
        for process in list(self._alive):
            process.terminate()
