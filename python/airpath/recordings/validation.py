"""How well models of a link predict what TCP sees: fitted to one half of a recording, judged by both.

The truth is a replay of windows of 60 s of a half, with CUBIC and BBR over drop-tail and CoDel. An error is
|ln(predicted / true)| of the mean goodput, or of the geometric mean of an RTT, over windows. The process and
a fitted cell are compared with a replay of the first half, a bundled cell scaled to its mean, and a constant
rate.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from airpath.recordings.cells import RUNS, Technology, fit_cell, runs_of
from airpath.recordings.felt import (
    METRICS,
    SETUPS,
    WINDOW_S,
    Felt,
    Model,
    error,
    felt_of,
    link_of,
    median,
    middle,
    page_interval_s,
    pages,
    windows,
)
from airpath.recordings.fitting import fit_process
from airpath.recordings.judged import process
from airpath.recordings.offered import record
from airpath.recordings.recording import PACKET_BITS, Recording
from airpath.recordings.statistics import binned
from airpath.scenario import load

Counts = NDArray[np.int32]

SHORTEST_S = 130
"""Two windows and some more: shorter recordings are left out."""
MOST_WINDOWS = 20
SEEDS = 6
"""Runs of the process for each window: a mean over two has an error of up to 8 %."""
MOST_PACKETS = 60_000_000
"""Opportunities that are at most simulated for a recording: fast ones have fewer windows."""
LTE_BPS = 75_376_000
"""A cell of LTE carries at most this: the largest block of 100 PRBs (TS 36.213, 7.1.7.2.1) in each ms."""
CELLS = (("hsdpa-3.6-still", 3e6), ("lte-10mhz-still", LTE_BPS), ("nr-n78-100mhz-still", math.inf))
"""Bundled cells, each for mean rates up to this, in bit/s."""
CELL_S = 180
HALVES = ("same half", "second half")
PAGES = "page"
TIMEOUTS = "timeouts"
COVERAGE = "covered"
RATIO = "BBR/CUBIC"
MEASURES = (*METRICS, PAGES, TIMEOUTS, COVERAGE, RATIO)
NOISE = "noise"
"""Not a model: the standard error of the truth itself, which no model can be shown to be better than."""
RANGE = (0.05, 0.95)
"""A true window is covered if it lies between these quantiles of the predicted ones."""


@dataclass(frozen=True)
class Judgement:
    """How a model of a recording did, judged by one half.

    Parameters
    ----------
    recording, model, half : str
    errors : dict of list of float
        By measure: |ln| of the ratio for each set-up; of timeouts the difference per minute; of `COVERAGE`
        the share of true windows within the central 90 % of predicted ones.
    """

    recording: str
    model: str
    half: str
    errors: Mapping[str, list[float]] = field(default_factory=dict)


def halves(counts: Counts) -> tuple[Counts, Counts]:
    """The first and the second half."""
    middle_ms = len(counts) // 2
    return counts[:middle_ms], counts[middle_ms:]


def models_of(first: Counts, number: int) -> dict[str, tuple[Model, int, bool]]:
    """Models of a half: the channel of each window, the number of windows, and whether they are seeds."""
    fitted = process(fit_process(first))
    mean = float(first.sum()) / len(first)
    replayed = [link_of(one) for one in thinned(windows(first), number)]
    scaled = [link_of(one) for one in thinned(windows(cell_of(mean)), number)]
    fitted_cell = [link_of(one) for one in fitted_cell_of(first, 2 * number)]
    even = np.diff(np.floor(np.arange(60_001) * mean + 0.37)).astype(np.int32)
    constant = link_of(even)
    return {
        "process": (lambda _: fitted, SEEDS * number, True),
        "fitted cell": (lambda index: fitted_cell[index], len(fitted_cell), False),
        "replay": (lambda index: replayed[index], len(replayed), False),
        "cell": (lambda index: scaled[index], len(scaled), False),
        "constant": (lambda _: constant, 1, False),
    }


def fitted_cell_of(counts: Counts, number: int) -> list[Counts]:
    """Opportunities of at least so many windows of a cell that is fitted to a recording.

    A slow recording may be of HSDPA or of a narrow band of LTE: the cell is that whose surrogate is closer.
    One with a second that LTE cannot carry is of NR.
    """
    mean_bps = float(counts.sum()) / len(counts) * 1000 * PACKET_BITS
    technologies: list[Technology] = ["lte", "hsdpa"] if mean_bps <= CELLS[0][1] else ["lte"]
    if binned(counts, 1000).max() * PACKET_BITS > LTE_BPS:
        technologies = ["nr"]
    # Recordings run in parallel already.
    fits = [fit_cell(counts, technology, workers=1) for technology in technologies]
    cell = min(fits, key=lambda fit: fit.distance).cell
    return runs_of(cell, mean_bps, workers=1, seed=1, number=max(number, RUNS))


def cell_of(mean: float) -> Counts:
    """Opportunities of the bundled cell that fits a mean of so many per millisecond, scaled to it."""
    name = next(name for name, most_bps in CELLS if mean * 1000 * PACKET_BITS <= most_bps)
    counts = record(load(name), CELL_S).counts
    assert counts is not None
    total = np.cumsum(counts) * (mean / (counts.sum() / len(counts)))
    return np.diff(np.floor(np.concatenate(([0.0], total)))).astype(np.int32)


def thinned(items: list[Counts], number: int) -> list[Counts]:
    """At most so many items, evenly."""
    if len(items) <= number:
        return items
    return [items[int((index + 0.5) * len(items) / number)] for index in range(number)]


@dataclass(frozen=True)
class Seen:
    """What was seen of a link: transfers by set-up, and the times of pages in seconds."""

    felt: Mapping[tuple[str, str], list[Felt]]
    page_s: list[list[float]]
    """Of each window."""

    def some(self, windows: slice) -> Seen:
        """What was seen in some windows."""
        return Seen({setup: felt[windows] for setup, felt in self.felt.items()}, self.page_s[windows])

    def page_median_s(self) -> float:
        """Median time of a page."""
        return float(np.median(list(itertools.chain.from_iterable(self.page_s))))


def seen_of(link: Model, number: int, is_seeded: bool, page_every_s: float) -> Seen:
    """Run all transfers and pages over a link."""
    felt = {setup: felt_of(link, number, setup, is_seeded) for setup in SETUPS}
    times = [pages(link(index), page_every_s, index + 1 if is_seeded else 1) for index in range(number)]
    return Seen(felt, times)


def judge(said: Seen, true: Seen) -> dict[str, list[float]]:
    """Errors of a prediction, by measure."""
    errors: dict[str, list[float]] = {
        metric: [error(middle(said.felt[one], metric), middle(true.felt[one], metric)) for one in SETUPS]
        for metric in METRICS
    }
    errors[PAGES] = [error(said.page_median_s(), true.page_median_s())]
    errors[TIMEOUTS] = [
        abs(middle(said.felt[one], TIMEOUTS) - middle(true.felt[one], TIMEOUTS)) for one in SETUPS
    ]
    errors[COVERAGE] = [
        covered(said.felt[one], true.felt[one], metric) for one in SETUPS for metric in METRICS
    ]
    errors[RATIO] = [error(ratio(said), ratio(true))]
    return errors


def noise(true: Seen, *, overlapping: bool) -> dict[str, list[float]]:
    """Standard errors of what was seen in these windows: half the difference of two disjoint halves of them.

    Where windows overlap by half, each has every fourth window.
    """
    step = 4 if overlapping else 2
    one, other = (true.some(slice(first, None, step)) for first in (0, step // 2))
    errors = judge(one, other)
    # The share of windows that are covered is none of a mean.
    return {name: [value / 2 for value in errors[name]] if name != COVERAGE else [] for name in errors}


def covered(said: list[Felt], true: list[Felt], metric: str) -> float:
    """Share of true windows within the central range of the predicted ones."""
    low, high = np.quantile([getattr(one, metric) for one in said], RANGE)
    return float(np.mean([low <= getattr(one, metric) <= high for one in true]))


def ratio(seen: Seen) -> float:
    """Goodput of BBR over that of CUBIC, under CoDel."""
    bbr, cubic = (middle(seen.felt[control, "CoDel"], "goodput") for control in ("BBR", "CUBIC"))
    return bbr / cubic if cubic > 0 else math.nan


def validate(recording: Recording, most_windows: int = MOST_WINDOWS) -> list[Judgement]:
    """Judge all models of a recording by both halves; nothing of one that is too short.

    Raises
    ------
    ValueError
        If no model can be fitted to its first half.
    """
    counts = recording.in_ms()
    if recording.duration_s < SHORTEST_S:
        return []
    per_window = max(float(counts.sum()) / len(counts) * 60_000, 1.0)
    # Each window is run with four set-ups and pages, over both halves, the process, and five other links.
    number = max(2, min(most_windows, int(MOST_PACKETS / per_window / (5 * (SEEDS + 7)))))
    first, second = halves(counts)
    truths, found = {}, []
    page_every_s = page_interval_s(first)
    for half, part in zip(HALVES, (first, second), strict=True):
        links = [link_of(one) for one in thinned(windows(part), number)]
        truths[half] = seen_of(links.__getitem__, len(links), False, page_every_s)
        overlapping = len(part) < len(links) * 1000 * WINDOW_S
        if len(links) >= 4:
            errors = noise(truths[half], overlapping=overlapping)
            found.append(Judgement(recording.name, NOISE, half, errors))
    for model, (link, count, is_seeded) in models_of(first, number).items():
        said = seen_of(link, count, is_seeded, page_every_s)
        found += [Judgement(recording.name, model, half, judge(said, truths[half])) for half in HALVES]
    return found


def validate_all(
    recordings: list[Recording], workers: int, most_windows: int, progress: Callable[[float], None]
) -> Iterator[tuple[Recording, list[Judgement] | str]]:
    """Judge recordings, several at once; of one that cannot be judged, the reason."""

    def one(recording: Recording) -> list[Judgement] | str:
        try:
            return validate(recording, most_windows) or f"shorter than {SHORTEST_S} s"
        except ValueError as wrong:
            return str(wrong)

    with ThreadPoolExecutor(workers) as pool:
        for done, (recording, found) in enumerate(zip(recordings, pool.map(one, recordings), strict=True), 1):
            progress(done / len(recordings))
            yield recording, found


def summary(judgements: list[Judgement], model: str, half: str) -> dict[str, float]:
    """Median of each measure over recordings and set-ups."""
    own = [one.errors for one in judgements if (one.model, one.half) == (model, half)]
    return {name: median(itertools.chain.from_iterable(one[name] for one in own)) for name in MEASURES}
