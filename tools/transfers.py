"""Transfers between airpath's TCP and the kernel's over networks that lose, duplicate and reorder: `make
soak`.

    python tools/transfers.py [--transfers 1000] [--seed 1]

Batches alternate: airpath at the server or the UE, listening or opening, every variant of airpath's TCP, the
kernel's reno and cubic, random sizes. Fails if a transfer hangs, an octet is wrong, or a connection is
left at either end.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

AIRPATH = Path(sys.executable).with_name("airpath")
PEER = Path(__file__).resolve().parent.parent / "tests" / "live" / "peer.py"
# A batch takes no longer, in seconds.
PATIENCE_S = 400
MOST_OCTETS = 150_000
DATA_PORT, KERNEL_PORT = 5001, 42_000
VARIANTS = (
    (),
    ("tcp.recovery.tahoe={}",),
    ("tcp.recovery.newreno={}",),
    ("tcp.sack=true", "tcp.recovery.sack={}", "tcp.undo.dsack={}"),
    ("tcp.cc.westwood={}",),
    ("tcp.timestamps=true", "tcp.undo.eifel={}"),
    ("tcp.sack=true", "tcp.timestamps=true", "tcp.recovery.sack={}", "tcp.undo.frto={}", "tcp.ecn=true"),
)


@dataclass(frozen=True)
class Batch:
    """Transfers over one link."""

    seed: int
    end: str
    active: bool
    count: int


@dataclass
class Found:
    """The result of a batch."""

    transfers: int = 0
    octets: int = 0
    retransmissions: int = 0
    timeouts: int = 0
    dropped: int = 0
    duplicated: int = 0
    held: int = 0
    problems: list[str] = field(default_factory=list)


def link(chance: random.Random, size: int) -> tuple[str, list[str]]:
    """A scenario, and the changes to it."""
    ways = [f'[radio.dch.{way}]\nrate = "20 Mbit/s"\ndelay = "1 ms"' for way in ("downlink", "uplink")]
    text = ['duration = "600 s"', '[wired]\ndelay = "5 ms"', *ways, "[[flow]]", f"app.file.size = '{size} B'"]
    disturbances = []
    for way in ("downlink", "uplink"):
        loss, twice, late = chance.uniform(0, 6), chance.uniform(0, 6), chance.uniform(0, 20)
        hold = chance.randint(1, 40)
        disturbances.append(
            f'{way} = {{ loss = "{loss:.2f} %", duplicate = "{twice:.2f} %", reorder = "{late:.2f} %", '
            f'hold = "{hold} ms" }}'
        )
    box = f"middlebox=[{{ disturb = {{ {', '.join(disturbances)} }} }}]"
    return "\n".join(text) + "\n", [box, *chance.choice(VARIANTS)]


def carry_out(batch: Batch, folder: Path) -> Found:
    """Run a batch; everything that is not as it should be is a problem."""
    chance = random.Random(f"{batch.seed} {batch.end} {batch.active}")
    size = chance.randint(1, MOST_OCTETS)
    text, changes = link(chance, size)
    file, out = folder / "link.toml", folder / "run"
    file.write_text(text)
    control = chance.choice(("reno", "cubic"))
    side = {"server": "--sender", "ue": "--receiver"}[batch.end]
    host = {"server": "$AIRPATH_SERVER", "ue": "$AIRPATH_UE"}[batch.end]
    if batch.active:
        what = f"listen {KERNEL_PORT} {batch.count} most={MOST_OCTETS} seed={batch.seed} control={control}"
        opens = ["--connect", str(KERNEL_PORT), "--connections", str(batch.count)]
    else:
        what = f"many {host} {DATA_PORT} {batch.count} most={MOST_OCTETS} seed={batch.seed} control={control}"
        opens = []
    command = [
        *(str(AIRPATH), "live", str(file), side, "airpath", *opens, "--seed", str(batch.seed)),
        *(word for change in changes for word in ("--set", change)),
        *("--out", str(out), "--force", "--no-capture", "--probes", "", "--sysctl", "net.ipv4.tcp_ecn=1"),
        *("--", "sh", "-c", f"exec {sys.executable} {PEER} {what}"),
    ]
    found = Found()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        found.problems.append(f"{batch}: hangs")
        return found
    if done.returncode or not done.stdout:
        found.problems.append(f"{batch}: status {done.returncode}: {done.stderr[-2000:]}")
        return found
    said = json.loads(done.stdout)
    judge(batch, size, said, json.loads((out / "results.json").read_text()), found)
    return found


def judge(batch: Batch, size: int, said: dict[str, Any], results: dict[str, Any], found: Found) -> None:
    """Compare the reports of both ends."""
    if said["left"]:
        found.problems.append(f"{batch}: left at the kernel's end: {said['left']}")
    ours = results["live"]["endpoint"]
    wrong = {key: ours[key] for key in ("reset", "timed_out", "aborted", "bad_checksums") if ours[key]}
    # The wait for the ACK of the last FIN is bounded, since the ACK may be lost each time.
    if ours["open"] > ours["states"].get("LastAck", 0):
        wrong["states"] = ours["states"]
    if wrong:
        found.problems.append(f"{batch}: airpath's endpoint: {wrong}")
    digests = {}
    for flow in results["flows"]:
        if "airpath" not in flow:
            continue
        addresses = [int(flow[key].rpartition(":")[2]) for key in ("server_address", "ue_address")]
        digests |= dict.fromkeys(addresses, flow["airpath"])
        sender = flow["airpath"].get("sender")
        if sender:
            found.retransmissions += sender["retransmissions"]["total"]
            found.timeouts += sender["timeouts"]
    for one in said["done"]:
        kind = one.get("kind", "listen")
        reads, writes = kind in ("get", "listen"), kind in ("put", "listen")
        is_right = "error" not in one and one.get("right", True)
        if is_right and reads:
            is_right = one["octets"] == size
        if is_right and writes:
            is_right = digests[one["port"]]["read_fnv1a"] == one["fnv1a"]
        if not is_right:
            found.problems.append(f"{batch}: {one}")
        found.transfers += 1
        found.octets += one.get("octets", 0)
    box = next(element for element in results["elements"] if element["element"] == "middlebox.disturb")
    for way in ("downlink", "uplink"):
        for key in ("dropped", "duplicated", "held"):
            setattr(found, key, getattr(found, key) + box[way][key])


def main() -> None:
    """Run batches until there are enough."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transfers", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=20, help="transfers over one link")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    total, began = Found(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        number = 0
        while total.transfers < arguments.transfers and len(total.problems) < 10:
            end, active = ("server", "ue")[number % 2], number % 4 >= 2
            batch = Batch(arguments.seed + number, end, active, arguments.batch)
            found = carry_out(batch, Path(folder))
            for name, value in vars(found).items():
                setattr(total, name, getattr(total, name) + value)
            for problem in found.problems:
                print(problem, flush=True)
            number += 1
            print(f"{total.transfers} transfers, {time.monotonic() - began:.0f} s", flush=True)
    counts = {key: value for key, value in vars(total).items() if key != "problems"}
    print(json.dumps({"batches": number, **counts, "problems": len(total.problems)}))
    sys.exit(bool(total.problems))


if __name__ == "__main__":
    main()
