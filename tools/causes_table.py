"""How often the analysis of a run's capture has every cause of a retransmission as the run counted it.

    python tools/causes_table.py [--runs 4]

Runs every sender below over each bearer, with the bearer's own buffer and with smaller ones; prints a line
for each run whose counts differ, and in the end the table of docs/analyze.md. Takes some minutes.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import airpath
from airpath.captures import analyze

BEARERS = (
    "umts-384",
    "umts-128",
    "umts-64",
    "umts-384-simple",
    "umts-128-simple",
    "umts-64-simple",
    "variable-3g",
)
BUFFERS = (None, 6, 20)
BUFFER = "radio.dch.downlink.queue.droptail.packets"
SACK = {"tcp.sack": True, "tcp.dsack": True}
SCOREBOARD = SACK | {"tcp.recovery.sack": "{}"}
SENDERS: dict[str, dict[str, Any]] = {
    "newreno": {},
    "reno": {"tcp.recovery.reno": "{}"},
    "newreno, receiver with SACK": SACK,
    "eifel": {"tcp.timestamps": True, "tcp.undo.eifel": "{}"},
    "sack": SCOREBOARD,
    "sack, timestamps": SCOREBOARD | {"tcp.timestamps": True},
    "sack, rto.min 200 ms": SCOREBOARD | {"tcp.rto.min": "200 ms"},
    "linux": {"tcp.profile": "linux"},
    "linux-reno": {"tcp.profile": "linux-reno"},
    "linux-reno without SACK": {
        "tcp.profile": "linux-reno",
        "tcp.recovery": {"newreno": {"variant": "linux"}},
        "tcp.sack": False,
    },
    "linux without tail probes": {"tcp.profile": "linux", "tcp.recovery.rack.tail_loss_probe": False},
}
CAUSES = {
    "fast_retransmit": "fast_retransmit",
    "partial_ack": "partial_ack",
    "sack": "sack",
    "timeout": "timeout",
    "go_back_n": "go_back_n",
    "tail_loss_probe": "tail_probe",
}


def counts(bearer: str, changes: Mapping[str, Any], seed: int, file: Path) -> tuple[list[int], list[int]]:
    """Retransmissions by cause: as the run counted them, and as its capture shows them."""
    scenario = airpath.load(bearer)
    for path, value in ({"tcp.profile": "rfc"} | dict(changes)).items():
        scenario = scenario.with_(path, value)
    result = airpath.run(scenario, seed=seed, probes=(), capture=True)
    file.write_bytes(result.capture)
    (run,) = (flow["retransmissions"] for flow in result.flows)
    (found,) = (
        flow["retransmissions"]["by_cause"]
        for connection in analyze(file)["connections"]
        for flow in connection["flows"]
    )
    return [run.get(cause, 0) for cause in CAUSES], [found[cause] for cause in CAUSES.values()]


def main() -> None:
    """Run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=4, help="seeds of each combination")
    runs = parser.parse_args().runs
    alike: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for bearer in BEARERS:
            for sender, changes in SENDERS.items():
                for buffer in BUFFERS:
                    smaller = {} if buffer is None else {BUFFER: buffer}
                    for seed in range(1, runs + 1):
                        run, found = counts(bearer, changes | smaller, seed, Path(folder) / "capture.pcapng")
                        alike[sender] += run == found
                        if run != found:
                            print(f"{bearer}, {sender}, buffer {buffer}, seed {seed}: {run}, found {found}")
    each = len(BEARERS) * len(BUFFERS) * runs
    for sender in SENDERS:
        print(f"{sender:30} {alike[sender]:4} of {each}")
    print(f"{'all':30} {alike.total():4} of {each * len(SENDERS)}")


if __name__ == "__main__":
    main()
