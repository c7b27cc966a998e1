"""Fits a cell of HSDPA, LTE or NR to a recording: a link that reacts to load, which a process does not.

1. A surrogate of the cell runs in steps of 100 ms: the rate follows the mean SINR, which has lognormal
   shadowing, by a table from short simulations; fast fading scatters it; outages lower it to a level.
2. A random search looks for the bandwidth, the mean SINR, the shadowing and its decorrelation time whose
   surrogate has the statistics of the recording: mean, coefficients of variation over three scales,
   autocorrelation over five, quantiles. The surrogate's are those of samples as long as the recording: a
   short sample of a slow process varies less than the process, and its autocorrelation falls sooner.
3. Simulations of the cell correct the mean SINR and the shadowing for what the surrogate leaves out. They are
   many and short: within a run the shadowing of a slow UE hardly changes, so the number of runs decides the
   error.

Outages are taken from the recording. Left out: other UEs; a recording with a full buffer does not tell their
load from a narrower band.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from airpath.recordings.fitting import BIN_MS, EPISODE_MS
from airpath.recordings.offered import MOST_BPS, carried
from airpath.recordings.recording import PACKET_BITS
from airpath.recordings.statistics import binned, describe_counts
from airpath.scenario import Scenario

Counts = NDArray[np.int32]
Numbers = NDArray[np.float64]
Technology = Literal["lte", "hsdpa", "nr"]

BANDS = {"1.4 MHz": 6, "3 MHz": 15, "5 MHz": 25, "10 MHz": 50, "15 MHz": 75, "20 MHz": 100}
"""Bandwidths of LTE and their resource blocks."""
NR_BANDS = {"20 MHz": 51, "40 MHz": 106, "60 MHz": 162, "80 MHz": 217, "100 MHz": 273}
"""Bandwidths of NR and their resource blocks of 30 kHz (TS 38.101-1, table 5.3.2-1)."""
CATEGORIES = {"category 6": 5, "category 8": 10, "category 10": 15}
"""Categories of HSDPA and the codes that a cell gives them."""
BLOCKS = {"lte": (BANDS, "10 MHz", 12e6), "nr": (NR_BANDS, "100 MHz", 400e6)}
"""Bands whose rate is proportional to their blocks; the one that is simulated, and its mean rate, bit/s."""
DRAWN_DB = {"lte": (-5.0, 26.0), "hsdpa": (-8.0, 14.0), "nr": (-5.0, 30.0)}
"""Range in which mean SINRs are drawn."""
PER_NEPER_DB = {"lte": 6, "hsdpa": 8, "nr": 6}
"""What the mean SINR has to change by for a rate that is e times higher."""
LEVEL_DB = -20.0
SILENCE_MS = 150
"""Longer silences are outages; shorter ones the fading makes."""
FEWEST = 3
MOST_AGAIN = 0.95
DOPPLERS_HZ = (5.6, 60.0)
"""A walk and a drive: between them the search decides by the variation within 100 ms."""
TABLE_DB = tuple(range(-12, 33, 4))
TABLE_S = 4.0
LEAST_SCATTER = 0.01
CANDIDATES = 120
DRAWN = 1200
CHANGED = 1800
MOST_SD_DB = 14.0
KEPT = 25
"""Candidates kept for each Doppler shift."""
FINAL, AGAIN = 15, 12
"""So many of each Doppler shift are judged so often again: one sample decides by luck."""
SIMILAR = 8
"""So many of the best candidates say how far a parameter is determined."""
LEAST_BINS = 3000
MOST_BINS = 6000
CORRECTIONS = 6
CORRECTION_RUNS = 320
CORRECTION_S = 5.0
WARM_MS = 1000
"""The first second of such a run fills the buffer and is left out."""
CORRECTION_SEED = 100_000
"""Seeds from here on correct, so that the runs of others say how good the cell is."""
RUNS = 20
RUN_S = 60.0
PACKET_S = 200e-6
MOST_OPPORTUNITIES = 6
"""The packets of a fast cell are as long as 200 us of its mean rate, and have six opportunities at most."""
CLOSE = 0.02
CLOSE_CV = 0.05
SOLVED = 50
"""Steps of an iteration that ends at a fixed point."""
LAGS = (3, 10, 30, 100, 300)
"""Lags of the autocorrelation, in bins of 100 ms."""
QUANTILES = (5, 25, 50, 75, 95)


@dataclass(frozen=True)
class Outages:
    """Outages of a cell: number per minute, median length in s, standard deviation of its logarithm."""

    per_minute: float
    median_s: float
    log_sd: float
    again: float = 0.0
    """Probability that another one follows within the episode."""
    calm_s: float = 1.0
    """Mean time between two of an episode, in seconds."""


@dataclass(frozen=True)
class Cell:
    """A cell and how its UE moves.

    Parameters
    ----------
    technology : {"lte", "hsdpa", "nr"}
    band : str
        Bandwidth of LTE or NR, or category of HSDPA.
    mean_db : float
        Mean SINR in dB; of HSDPA per chip.
    sd_db : float
        Standard deviation of the shadowing in dB.
    decorrelation_s : float
        Time in seconds after which its autocorrelation is 1/e.
    doppler_hz : float
        Maximum Doppler shift of the fading.
    outages : Outages or None
    """

    technology: Technology
    band: str
    mean_db: float
    sd_db: float
    decorrelation_s: float
    doppler_hz: float
    outages: Outages | None = None

    def reception(self) -> dict[str, Any]:
        """Write the table `reception` of a scenario."""
        table: dict[str, Any] = {
            "mean_sinr": f"{self.mean_db:.2f} dB",
            "shadowing": {
                "sd": f"{self.sd_db:.2f} dB",
                "decorrelation": f"{1000 * self.decorrelation_s:.0f} ms",
            },
            "fading": {"jakes": {"doppler": f"{self.doppler_hz:g} Hz"}},
        }
        if self.technology != "hsdpa":
            table["diversity"] = 2
        if self.outages is not None:
            table["outages"] = {
                "per_minute": round(self.outages.per_minute, 3),
                "median": f"{1000 * self.outages.median_s:.0f} ms",
                "log_sd": round(self.outages.log_sd, 3),
                "again": f"{100 * self.outages.again:.1f} %",
                "calm": f"{1000 * self.outages.calm_s:.0f} ms",
                "level": f"{LEVEL_DB:g} dB",
            }
        return table

    def radio(self) -> dict[str, Any]:
        """Write the table `radio` of a scenario."""
        queue = {"droptail": {"bytes": "1 MB"}}
        if self.technology == "lte":
            downlink: dict[str, Any] = {"blocks": {"bandwidth": self.band}}
            uplink: dict[str, Any] = {"bler": "10 %"}
        elif self.technology == "nr":
            downlink = {"blocks": {"bandwidth": self.band, "table": "256qam", "layers": 4}}
            uplink = {"reception": {"mean_sinr": "40 dB", "fading": {"none": {}}}}
        else:
            downlink = {"category": int(self.band.split()[1]), "codes": CATEGORIES[self.band]}
            downlink["iub"] = {"capacity": 500}
            uplink = {"rate": "384 kbit/s", "rlc": {"am": {"tti": "10 ms"}}}
        downlink |= {"queue": queue, "reception": self.reception()}
        return {self.technology: {"downlink": downlink, "uplink": uplink}}

    def scenario(self) -> Scenario:
        """Make a scenario of a download over the cell."""
        scenario = Scenario("cell", 'duration = "60 s"\n[radio.variable]\n[[flow]]\napp.bulk = {}\n')
        scenario = scenario.with_("wired", {"rate": "1 Gbit/s", "delay": "15 ms"})
        return scenario.with_("radio", self.radio())

    def record(self, seconds: float, seed: int, mean_bps: float) -> Counts:
        """Record what the cell carries at an expected mean rate, as opportunities in each millisecond."""
        rate = round(min(max(4 * mean_bps, 1e6), MOST_BPS))
        opportunities = min(max(1, round(mean_bps * PACKET_S / PACKET_BITS)), MOST_OPPORTUNITIES)
        return carried(self.scenario(), seconds, seed, "downlink", rate, opportunities * PACKET_BITS // 8)


@dataclass(frozen=True)
class Fit:
    """A cell fitted to a recording.

    Parameters
    ----------
    cell : Cell
    distance : float
        Distance of the surrogate's statistics from the recording's.
    ranges : dict of (float, float)
        Range of each parameter: among the best candidates, and two standard errors of the sample.
    """

    cell: Cell
    distance: float
    ranges: Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Table:
    """Packets per 100 ms by mean SINR, and their coefficient of variation by fading."""

    rate: Numbers
    scatter: Numbers


def outages_of(counts: Counts) -> Outages | None:
    """Describe the silences of a recording as outages in episodes; None of fewer than three."""
    busy = np.flatnonzero(counts)
    places = np.flatnonzero(np.diff(busy) > SILENCE_MS)
    if len(places) < FEWEST:
        return None
    starts, ends = busy[places], busy[places + 1]
    logs = np.log((ends - starts) / 1000)
    apart = starts[1:] - ends[:-1]
    near = apart[apart < EPISODE_MS]
    return Outages(
        len(places) / (len(counts) / 60_000),
        math.exp(float(np.median(logs))),
        float(logs.std()),
        min(MOST_AGAIN, len(near) / len(places)),
        max(0.05, float(near.mean()) / 1000) if len(near) else 1.0,
    )


Tables = Mapping[tuple[str, float], Table]
"""Tables by band and Doppler shift."""


def tables_of(technology: Technology, workers: int, seed: int = 1) -> Tables:
    """Simulate the rates of a cell by SINR, for each band and Doppler shift.

    The rate of LTE and NR is proportional to the resource blocks. The codes of HSDPA share the power of the
    cell, so each category is simulated.
    """
    blocks, simulated, mean_bps = BLOCKS.get(technology, ({}, "", BLOCKS["lte"][2]))
    bands = [simulated] if blocks else list(CATEGORIES)

    def one(band: str, doppler_hz: float, mean_db: float) -> Numbers:
        cell = Cell(technology, band, mean_db, 0.0, 1.0, doppler_hz)
        return binned(cell.record(TABLE_S + 1, seed, mean_bps)[1000:], BIN_MS)

    points = [(band, doppler, float(db)) for band in bands for doppler in DOPPLERS_HZ for db in TABLE_DB]
    with ThreadPoolExecutor(workers) as pool:
        found = dict(zip(points, pool.map(lambda point: one(*point), points), strict=True))
    tables = {}
    for band, doppler_hz in dict.fromkeys(point[:2] for point in points):
        bins = [found[band, doppler_hz, float(db)] for db in TABLE_DB]
        rate = np.maximum.accumulate([float(one.mean()) for one in bins])
        # Fading changes a rate that is far from the largest more.
        scatter = [float(one.std() / one.mean()) if one.mean() > 0 else 1.0 for one in bins]
        tables[band, doppler_hz] = Table(rate, np.clip(scatter, LEAST_SCATTER, 1.0))
    for band, doppler_hz in itertools.product(blocks, DOPPLERS_HZ):
        whole = tables[simulated, doppler_hz]
        tables[band, doppler_hz] = replace(whole, rate=whole.rate * (blocks[band] / blocks[simulated]))
    return tables


def features(bins: Numbers) -> Numbers:
    """Statistics that a surrogate is to have: bins of 100 ms by column.

    Parameters
    ----------
    bins : ndarray of float, shape (bins, candidates)

    Returns
    -------
    ndarray of float, shape (statistics, candidates)
    """
    seconds = bins[: len(bins) // 10 * 10].reshape(-1, 10, bins.shape[1]).sum(axis=1)
    tens = seconds[: len(seconds) // 10 * 10].reshape(-1, 10, bins.shape[1]).sum(axis=1)
    mean = np.maximum(bins.mean(axis=0), 1e-9)
    cvs = [
        np.log(one.std(axis=0) / np.maximum(one.mean(axis=0), 1e-9) + 0.02) for one in (bins, seconds, tens)
    ]
    centred = bins - bins.mean(axis=0)
    variance = np.maximum((centred**2).mean(axis=0), 1e-12)
    correlations = [(centred[lag:] * centred[:-lag]).mean(axis=0) / variance for lag in LAGS]
    quantiles = np.percentile(seconds, QUANTILES, axis=0) / (10 * mean)
    return np.vstack([2 * np.log(mean), *cvs, *correlations, quantiles])


def surrogate(cells: Sequence[Cell], tables: Tables, bins: int, random: np.random.Generator) -> Numbers:
    """Draw packets in bins of 100 ms from the surrogates of cells, shape (bins, cells)."""
    count = len(cells)
    mean, sd = np.array([one.mean_db for one in cells]), np.array([one.sd_db for one in cells])
    keep = np.exp(-0.1 / np.array([one.decorrelation_s for one in cells]))
    renew = np.sqrt(1 - keep * keep)
    draws = random.standard_normal((bins, count))
    sinr = np.empty((bins, count))
    value = random.standard_normal(count)
    for index in range(bins):
        value = keep * value + renew * draws[index]
        sinr[index] = value
    sinr = mean + sd * sinr
    rates = np.empty((bins, count))
    for column, one in enumerate(cells):
        table = tables[one.band, one.doppler_hz]
        variance = np.interp(sinr[:, column], TABLE_DB, table.scatter) ** 2
        fading = random.gamma(1 / variance, variance)
        rates[:, column] = np.interp(sinr[:, column], TABLE_DB, table.rate) * fading
        if one.outages is not None:
            rates[:, column] *= _open(one.outages, bins, random)
    return rates


def _open(outages: Outages, bins: int, random: np.random.Generator) -> Numbers:
    """Draw the share of each bin that is outside outages; clusters of them are left out."""
    number = random.poisson(outages.per_minute * bins / 600)
    starts = random.uniform(0, bins, number)
    ends = starts + 10 * outages.median_s * np.exp(outages.log_sd * random.standard_normal(number))
    edges = np.arange(bins + 1)
    open_share = np.ones(bins)
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        first, last = int(start), min(bins, int(end) + 1)
        covered = np.minimum(edges[first + 1 : last + 1], end) - np.maximum(edges[first:last], start)
        open_share[first:last] -= covered
    return np.maximum(open_share, 0)


def fit_cell(
    counts: Counts,
    technology: Technology = "lte",
    workers: int = 1,
    seed: int = 1,
    band: str | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> Fit:
    """Fit a cell to opportunities in each millisecond.

    Parameters
    ----------
    counts : ndarray of int32
    technology : {"lte", "hsdpa", "nr"}
    workers : int
        Simulations at once.
    seed : int
    band : str, optional
        Bandwidth of LTE or NR, or category of HSDPA, one of `bands_of`, if it is known.
    progress : callable

    Raises
    ------
    ValueError
        If the recording is shorter than a minute, carries nothing, or more than the cell can.
    """
    bands = bands_of(technology) if band is None else [band]
    if len(counts) < 60_000 or counts.sum() == 0:
        raise ValueError("a cell is fitted to a minute at least in which the link carries something")
    random = np.random.default_rng(seed)
    tables = tables_of(technology, workers, seed)
    progress(0.2)
    recorded = binned(counts, BIN_MS)
    most = max(float(tables[one, doppler].rate.max()) for one in bands for doppler in DOPPLERS_HZ)
    if recorded.mean() > most:
        mbps = [10 * PACKET_BITS * value / 1e6 for value in (recorded.mean(), most)]
        raise ValueError(
            f"the recording carries {mbps[0]:.0f} Mbit/s, and {technology} at most {mbps[1]:.0f}"
        )
    wanted = features(recorded[:, None])
    bins = min(len(recorded), MOST_BINS)
    samples = math.ceil(LEAST_BINS / bins)
    outages = outages_of(counts)

    def judged(cells: list[Cell]) -> list[tuple[float, Cell]]:
        found = np.mean(
            [features(surrogate(cells, tables, bins, random)) for _ in range(samples)],
            axis=0,
            dtype=np.float64,
        )
        return list(zip(((found - wanted) ** 2).sum(axis=0).tolist(), cells, strict=True))

    best: list[tuple[float, Cell]] = []
    rounds = (DRAWN + CHANGED) // CANDIDATES
    for turn in range(rounds):
        if turn < DRAWN // CANDIDATES:
            cells = [_drawn(technology, bands, outages, random) for _ in range(CANDIDATES)]
        else:
            places = np.minimum(random.exponential(8, CANDIDATES).astype(int), len(best) - 1)
            cells = [_changed(best[place][1], bands, random) for place in places.tolist()]
        best = _kept([*best, *judged(cells)], KEPT)
        progress(0.2 + 0.3 * (turn + 1) / rounds)
    top = [cell for _, cell in _kept(best, FINAL)]
    again = np.mean([[distance for distance, _ in judged(top)] for _ in range(AGAIN)], axis=0)
    order = np.argsort(again)
    chosen = top[int(order[0])]
    corrected = _corrected(chosen, counts, workers, lambda share: progress(0.5 + 0.5 * share))
    similar = [top[int(place)] for place in order[:SIMILAR]]
    return Fit(corrected, float(again[order[0]]), _ranges(corrected, chosen, similar, len(counts) / 1000))


def _ranges(cell: Cell, chosen: Cell, similar: list[Cell], seconds: float) -> dict[str, tuple[float, float]]:
    """Range of each parameter: among similar candidates, and two standard errors of so long a sample.

    The errors are those of a Gaussian process whose autocorrelation falls exponentially. The error of a
    decorrelation time grows with it, so its upper end is the time from which the estimate is two of that
    time's own errors away.
    """

    def ends(name: str) -> tuple[float, float]:
        values = [getattr(one, name) for one in similar]
        shift = getattr(cell, name) - getattr(chosen, name)
        return min(values) + shift, max(values) + shift

    (low, high), (least, most) = ends("decorrelation_s"), ends("sd_db")
    mean = ends("mean_db")
    slowest = high
    for _ in range(SOLVED):
        slowest = min(seconds, high * math.exp(2 * math.sqrt(2 * slowest / seconds)))
    share = high / seconds
    error_db = 2 * most * math.sqrt(2 * share)
    return {
        "mean_db": (mean[0] - error_db, mean[1] + error_db),
        "sd_db": (max(0.0, least * (1 - 2 * math.sqrt(share))), most * (1 + 2 * math.sqrt(share))),
        "decorrelation_s": (
            low * math.exp(-2 * math.sqrt(2 * share)),
            slowest,
        ),
    }


def _kept(judged: list[tuple[float, Cell]], number: int) -> list[tuple[float, Cell]]:
    """The nearest of each Doppler shift: a few lucky samples of one must not displace the other."""
    ordered = sorted(judged, key=lambda pair: pair[0])
    of_each = [[one for one in ordered if one[1].doppler_hz == doppler][:number] for doppler in DOPPLERS_HZ]
    return sorted(itertools.chain.from_iterable(of_each), key=lambda pair: pair[0])


def bands_of(technology: Technology) -> list[str]:
    """Name the bandwidths of LTE or NR, or categories of HSDPA, that can be fitted."""
    return list(BLOCKS[technology][0] if technology in BLOCKS else CATEGORIES)


def _drawn(
    technology: Technology, bands: Sequence[str], outages: Outages | None, random: np.random.Generator
) -> Cell:
    low, high = DRAWN_DB[technology]
    return Cell(
        technology,
        str(random.choice(bands)),
        float(random.uniform(low, high)),
        float(random.uniform(0, 11)),
        float(math.exp(random.uniform(math.log(0.2), math.log(40)))),
        float(random.choice(DOPPLERS_HZ)),
        outages,
    )


def _changed(cell: Cell, bands: Sequence[str], random: np.random.Generator) -> Cell:
    chance = random.random(2)
    return replace(
        cell,
        band=str(random.choice(bands)) if chance[0] < 0.05 else cell.band,
        mean_db=float(np.clip(cell.mean_db + 1.5 * random.standard_normal(), -10, 30)),
        sd_db=float(np.clip(cell.sd_db * math.exp(0.2 * random.standard_normal()), 0.05, MOST_SD_DB)),
        decorrelation_s=float(
            np.clip(cell.decorrelation_s * math.exp(0.3 * random.standard_normal()), 0.1, 100)
        ),
        doppler_hz=float(random.choice(DOPPLERS_HZ)) if chance[1] < 0.1 else cell.doppler_hz,
    )


def _corrected(cell: Cell, counts: Counts, workers: int, progress: Callable[[float], None]) -> Cell:
    """Change mean SINR and shadowing until simulations have the recorded mean and variation."""
    own = describe_counts(counts)
    mean_bps = own.mean_mbps * 1e6
    for turn in range(CORRECTIONS):
        runs = runs_of(cell, mean_bps, workers, CORRECTION_SEED, CORRECTION_RUNS, CORRECTION_S)
        found = describe_counts(np.concatenate([one[WARM_MS:] for one in runs]))
        progress((turn + 1) / CORRECTIONS)
        if found.mean_mbps <= 0:
            cell = replace(cell, mean_db=cell.mean_db + 5)
            continue
        off = math.log(found.mean_mbps / own.mean_mbps)
        ratio = (own.cv_1s or 0.0) / (found.cv_1s or 1.0)
        is_bound = cell.sd_db == MOST_SD_DB and ratio > 1
        if abs(off) < CLOSE and (abs(ratio - 1) < CLOSE_CV or is_bound):
            break
        cell = replace(
            cell,
            mean_db=float(np.clip(cell.mean_db - PER_NEPER_DB[cell.technology] * off, -12, 32)),
            sd_db=min(float(cell.sd_db * np.clip(math.sqrt(ratio), 0.8, 1.25)), MOST_SD_DB),
        )
    return cell


def runs_of(
    cell: Cell, mean_bps: float, workers: int, seed: int, number: int = RUNS, seconds: float = RUN_S
) -> list[Counts]:
    """Record the cell with several seeds, several at once."""
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda index: cell.record(seconds, seed + index, mean_bps), range(number)))
