"""A city of LTE cells: what an hour of it looks like, from as much of it as you let it simulate.

    python examples/city.py [--districts 7] [--ues 1000] [--seconds 20] [--workers 2] [--seed 1]

A district is seven cells 500 m apart and a run of its own; workers run districts side by side. The edges of
a district wrap around, as in system simulations of 3GPP (TR 36.814): a UE at an edge hears the cells of the
opposite edge, so every cell has six neighbours whose load it hears, and hand-overs by measurement stay
inside of the district. UEs are denser in the centre of the city. Each requests files at random, one in two
minutes on average; one UE in five moves.

Writes `city.png`, a map and distributions, and `city.csv`, a line for each cell. A city of 301 cells with
100,000 UEs: `--districts 43 --ues 100000 --seconds 60` (see docs/scale.md).
"""

from __future__ import annotations

import argparse
import csv
import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np

import airpath
from airpath.scenario import Scenario

mpl.use("agg")
from matplotlib import pyplot as plt
from matplotlib.patches import RegularPolygon

APART_M = 500.0
"""Distance of neighbour sites."""
MOST_UES = 65_535
"""UEs that a scenario may have."""
REQUEST_S = 120.0
"""Mean time between two requests of a UE."""
STEP_S = 5.0
"""Time between two points of a UE's series."""

# A cell is a hexagon at q * a + r * b. Seven of them tile the plane, moved by whole numbers of WRAP.
AXES = APART_M * np.array([[1.0, 0.0], [0.5, math.sqrt(3) / 2]])
CELLS = np.array([[0, 0], [1, 0], [0, 1], [-1, 1], [-1, 0], [0, -1], [1, -1]]) @ AXES
WRAP = np.array([[2, 1], [-1, 3]]) @ AXES

# Speeds in m/s and how many of the UEs have them: at rest, on foot, in a car.
SPEEDS, SHARES = (0.0, 1.0, 14.0), (0.80, 0.15, 0.05)

HEAD = """
duration = "{seconds} s"
tcp.profile = "linux"
mobility.series.rows = \"\"\"
{series}
\"\"\"
[[way]]
name = "core"
wired = {{ rate = "10 Gbit/s", delay = "10 ms" }}
"""
FLOW = """
[[flow]]
ue = "u{ue}"
start = "{start:.6f} s"
app.arrivals = {{ size.exponential.mean = "200 kB", interval.exponential.mean = "{mean} s", connections = 1 }}
"""
CELL = """
[[cell]]
name = "c{cell}"
behind = "core"
radio.lte.downlink = {{ blocks.bandwidth = "20 MHz", reception.diversity = 2, queue.droptail.bytes = "1 MB" }}
"""


@dataclass(frozen=True)
class District:
    """Seven cells: where the middle one is, in metres, and how many UEs they have."""

    number: int
    middle: tuple[float, float]
    ues: int


@dataclass(frozen=True)
class Outcome:
    """What a district had: by cell UEs, load, bit/s and hand-overs; by UE the mean time of a file, s."""

    district: District
    ues: list[int]
    loads: list[float]
    rates: list[float]
    handovers: list[int]
    file_s: list[float]


def city(districts: int, ues: int) -> list[District]:
    """Lay out the districts around a centre; density falls by e in 3 km."""
    reach = 2 + math.isqrt(districts)  # The nearest districts are all within this many steps.
    steps = [(i, j) for i in range(-reach, reach + 1) for j in range(-reach, reach + 1)]
    middles = sorted((np.array(step) @ WRAP for step in steps), key=lambda at: round(float(np.hypot(*at)), 3))
    middles = middles[:districts]
    weights = np.array([math.exp(-np.hypot(*at) / 3000) for at in middles])
    ends = np.round(np.cumsum(weights) / weights.sum() * ues).astype(int)
    counts = np.diff(ends, prepend=0)
    if counts.max() > MOST_UES:
        raise SystemExit(
            f"a district has {counts.max():,} UEs, a scenario at most {MOST_UES:,}: use more districts"
        )
    return [
        District(i, (float(at[0]), float(at[1])), int(n))
        for i, (at, n) in enumerate(zip(middles, counts, strict=True))
    ]


def rsrp(district: District, seconds: float, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Times in s, and the RSRP in dBm by UE, cell and time."""
    times = np.arange(0.0, seconds + STEP_S, STEP_S)
    place = draw.random((district.ues, 2)) @ WRAP
    speed, angle = draw.choice(SPEEDS, district.ues, p=SHARES), draw.uniform(0, 2 * math.pi, district.ues)
    way = (speed * np.array([np.cos(angle), np.sin(angle)])).T
    at = place[:, None, :] + way[:, None, :] * times[None, :, None]
    at = (at @ np.linalg.inv(WRAP) % 1.0) @ WRAP
    images = np.array([[i, j] for i in (-1, 0, 1, 2) for j in (-1, 0, 1, 2)]) @ WRAP
    nearest = np.full((district.ues, len(CELLS), len(times)), np.inf)
    for image in images:
        for cell, site in enumerate(CELLS):
            apart = np.hypot(*np.moveaxis(at - site - image, -1, 0))
            nearest[:, cell] = np.minimum(nearest[:, cell], apart)
    # ASSUMED: 43 dBm, 14 dBi, 20 dB of losses, 1200 subcarriers; TR 36.814; shadowing of 6 dB that stays.
    loss_db = 128.1 + 37.6 * np.log10(np.maximum(nearest, 35.0) / 1000)
    shadow_db = draw.normal(0, 6, (district.ues, len(CELLS), 1))
    return times, 43 + 14 - 20 - 10 * math.log10(1200) - loss_db + shadow_db


def simulate(task: tuple[District, float, int]) -> Outcome:
    """Run a district."""
    district, seconds, seed = task
    if not district.ues:
        nothing = [0] * len(CELLS)
        return Outcome(district, nothing, [0.0] * len(CELLS), [0.0] * len(CELLS), nothing, [])
    draw = np.random.default_rng([seed, district.number])
    times, heard = rsrp(district, seconds, draw)
    first = heard[:, :, 0].argmax(axis=1)
    names = [f"u{ue}.c{cell}_dbm" for ue in range(district.ues) for cell in range(len(CELLS))]
    columns = np.round(heard.reshape(-1, len(times)).T, 1)
    lines = [",".join(map(str, (time, *row))) for time, row in zip(times, columns.tolist(), strict=True)]
    text = HEAD.format(seconds=seconds, series="\n".join((",".join(("time_s", *names)), *lines)))
    text += "".join(CELL.format(cell=cell) for cell in range(len(CELLS)))
    # The time to the first request is distributed as that between two. Most UEs are silent in a short run.
    starts = draw.exponential(REQUEST_S, district.ues)
    starts[0] = min(starts[0], seconds / 2)
    requests = ((ue, start) for ue, start in enumerate(starts) if start < seconds)
    text += "".join(FLOW.format(ue=ue, start=start, mean=REQUEST_S) for ue, start in requests)
    text += "".join(f'[[ue]]\nname = "u{ue}"\nattach = ["c{cell}"]\n' for ue, cell in enumerate(first))
    summary = airpath.run(Scenario(f"district {district.number}", text), seed, probes=()).summary
    cells = [element for element in summary["elements"] if element["element"] == "radio.lte"]
    down = [[ue["downlink"] for ue in cell["ues"]] for cell in cells]
    files = [flow["transfers"]["completion_ms"] for flow in summary["flows"] if flow.get("transfers")]
    return Outcome(
        district,
        np.bincount(first, minlength=len(CELLS)).tolist(),
        [cell["slots_busy_share"] for cell in cells],
        [sum(8 * ue["bytes_delivered"] for ue in cell) / seconds for cell in down],
        [sum(one["cause"] == "a3" for one in cell.get("outages", ())) for cell in cells],
        [file["mean"] / 1000 for file in files if file["mean"] is not None],
    )


def draw_city(outcomes: list[Outcome]) -> None:
    """Draw the map of the cells and the distributions."""
    figure, (city_map, loads, times) = plt.subplots(
        1, 3, figsize=(15, 5), layout="constrained", width_ratios=(1.3, 1, 1)
    )
    every = np.sort([load for outcome in outcomes for load in outcome.loads])
    colours = mpl.cm.ScalarMappable(mpl.colors.Normalize(0, max(every[-1], 0.01)), "viridis")
    for outcome in outcomes:
        for site, load in zip(CELLS + outcome.district.middle, outcome.loads, strict=True):
            hexagon = RegularPolygon(
                site / 1000, 6, radius=APART_M / 1000 / math.sqrt(3), facecolor=colours.to_rgba(load)
            )
            city_map.add_patch(hexagon)
    city_map.autoscale_view()
    city_map.set(aspect="equal", xlabel="km", ylabel="km", title="load of each cell")
    figure.colorbar(colours, ax=city_map, label="share of TTIs with data")
    loads.plot(every, np.arange(1, len(every) + 1) / len(every))
    loads.set(
        xlabel="share of TTIs with data", ylabel="share of cells below", title="load of cells", ylim=(0, 1)
    )
    loads.set_xlim(left=0)
    loads.locator_params(axis="x", nbins=5)
    halves = sorted(outcomes, key=lambda outcome: math.hypot(*outcome.district.middle))
    inner = len(halves) // 2
    for label, some in (("inner half of the districts", halves[:inner]), ("outer half", halves[inner:])):
        means = np.sort([file for outcome in some for file in outcome.file_s])
        if len(means):
            times.plot(means, np.arange(1, len(means) + 1) / len(means), label=label)
    times.set(
        xscale="log", xlabel="mean time of a file, s", ylabel="share of UEs below", title="files", ylim=(0, 1)
    )
    ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500]
    times.set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    times.set_xticks([], minor=True)
    every_file = [file for outcome in outcomes for file in outcome.file_s]
    if every_file:
        below = [tick for tick in ticks if tick <= min(every_file)]
        above = [tick for tick in ticks if tick >= max(every_file)]
        times.set_xlim(max(below, default=None), min(above, default=None))
        times.legend()
    figure.savefig("city.png", dpi=110)


def main() -> None:
    """Simulate, write, and say what there was."""
    parser = argparse.ArgumentParser(description="Simulate a city of LTE cells.")
    parser.add_argument("--districts", type=int, default=7, help="districts of seven cells [default: 7]")
    parser.add_argument("--ues", type=int, default=1000, help="UEs in all [default: 1000]")
    parser.add_argument("--seconds", type=float, default=20.0, help="simulated time [default: 20]")
    parser.add_argument("--workers", type=int, default=2, help="processes [default: 2]")
    parser.add_argument("--seed", type=int, default=1, help="random seed [default: 1]")
    given = parser.parse_args()
    if min(given.districts, given.ues, given.workers) < 1:
        parser.error("--districts, --ues and --workers are 1 or more")
    if not (0 < given.seconds < math.inf and 0 <= given.seed < 2**64):
        parser.error("--seconds is above 0, and --seed from 0 to 2^64 - 1")
    tasks = [(district, given.seconds, given.seed) for district in city(given.districts, given.ues)]
    with ProcessPoolExecutor(given.workers) as pool:
        outcomes = list(pool.map(simulate, tasks))
    with Path("city.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("district", "cell", "x_m", "y_m", "ues", "load", "rate_bps", "handovers"))
        for outcome in outcomes:
            for cell, site in enumerate(CELLS + outcome.district.middle):
                columns = (outcome.ues, outcome.loads, outcome.rates, outcome.handovers)
                values = [round(column[cell], 4) for column in columns]
                table.writerow((outcome.district.number, cell, round(site[0]), round(site[1]), *values))
    draw_city(outcomes)
    loads = [load for outcome in outcomes for load in outcome.loads]
    files = [file for outcome in outcomes for file in outcome.file_s]
    moved = sum(sum(outcome.handovers) for outcome in outcomes)
    ues = sum(outcome.district.ues for outcome in outcomes)
    print(
        f"{len(loads)} cells with {ues} UEs: load {np.mean(loads):.0%} on average, {max(loads):.0%} at most"
    )
    told = f"a file takes {np.median(files):.2f} s (median of UEs)" if files else "no file has arrived"
    print(f"{told}; {moved} hand-overs; see city.png, city.csv")


if __name__ == "__main__":
    main()
