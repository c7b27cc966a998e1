"""Published values that live runs can be set beside: a handful of cells of three papers, short enough.

Each cell is the paper's own scenario, as `airpath reproduce` simulates it, and where that lasts an hour a
shorter one; simulated and live are as long as each other. The simulated TCP is the paper's, the kernel's
as near to it as it comes (`nearness.as_written`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from airpath.experiments.papers.alcaraz import model as alcaraz
from airpath.experiments.papers.alcaraz.observed import PACKET_BYTES, PAYLOAD_BYTES
from airpath.experiments.papers.base.cell import Overrides
from airpath.experiments.papers.base.published import Published, load_published
from airpath.experiments.papers.chan import model as chan
from airpath.experiments.papers.downloads import NO_BLOCK_ERRORS, Download
from airpath.experiments.papers.lundsten import model as lundsten
from airpath.experiments.versus_kernel.campaign import Job, Variant, crossed
from airpath.experiments.versus_kernel.measured import Figures
from airpath.experiments.versus_kernel.nearness import as_near, as_written
from airpath.scenario import Scenario, load

CONGESTION_CONTROL = "reno"
CHAN_RUN_S = 240
"""Instead of an hour."""
LUNDSTEN_FILE_BYTES = 2_000_000
"""Instead of 16,000,000."""
CHAN_PACKET_BYTES, CHAN_PAYLOAD_BYTES = 1000, 960

Measure = Callable[[Figures], float | None]


@dataclass(frozen=True)
class Trio:
    """The runs of a cell.

    Attributes
    ----------
    paper : Variant
        Simulated with the paper's TCP, and not live.
    kernel : Variant
        Live with the kernel's, simulated with one like that.
    repeat : int
        So many times the number of runs that was asked for: short runs scatter widely, and cost little.
    """

    paper: Variant
    kernel: Variant
    repeat: int = 1


@dataclass(frozen=True)
class PublishedCell:
    """A published value, and the runs that give the same quantity.

    Attributes
    ----------
    published : Published
        As printed.
    runs : Trio
        What is run.
    measure : callable
        From the figures of a run to the published quantity in its unit, before the twin.
    twin : Trio or None
        With the same seeds; then the quantity is the percentage by which the twin's is above: an increase of
        time where what is measured is a speed.
    note : str
        How the runs differ from the paper's.
    """

    published: Published
    runs: Trio
    measure: Measure
    twin: Trio | None = None
    note: str = ""


def cells() -> list[PublishedCell]:
    """All of them, in the order of the papers."""
    return [*_lundsten(), *_chan(), *_alcaraz()]


def jobs(chosen: list[PublishedCell], runs: int, first_seed: int) -> list[Job]:
    """What is to be run for these cells, each once, the long runs first."""
    trios = {trio.kernel.name: trio for cell in chosen for trio in (cell.runs, cell.twin) if trio}
    return [
        job
        for trio in sorted(trios.values(), key=lambda trio: trio.repeat)
        for job in crossed((trio.kernel, trio.paper), range(first_seed, first_seed + runs * trio.repeat))
    ]


def _trio(name: str, base: str, overrides: Overrides, repeat: int = 1) -> Trio:
    scenario = load(base)
    changed = Scenario(scenario.name, scenario.source, overrides, scenario.folder)
    near, kernel = as_near(changed, CONGESTION_CONTROL)
    _, told = as_written(changed, CONGESTION_CONTROL)
    paper = Variant(f"{name}-paper", CONGESTION_CONTROL, None, changed, changed, None)
    like = Variant(name, CONGESTION_CONTROL, None, near, changed, replace(kernel, unlike=told.unlike))
    return Trio(paper, like, repeat)


def _lundsten() -> list[PublishedCell]:
    published = load_published("lundsten")
    tie = dict((reading.name, reading.overrides) for reading in lundsten.READINGS)[lundsten.DEFAULT_READING]
    made = []
    for packet_bytes in (576, 1500):
        download = lundsten.make_download(384, packet_bytes, lundsten.SMALL_FILE_BYTES)
        for percent in (0, 10):
            errors = (NO_BLOCK_ERRORS,) if percent == 0 else ()
            name = f"lundsten-384-{packet_bytes}-bler{percent}"
            trio = _trio(name, "lundsten-384-576", (*download.overrides, *tie, *errors), repeat=4)
            value = published[f"lundsten-t10-384-{packet_bytes}-bler{percent}"]
            made.append(PublishedCell(value, trio, _speed(download)))
    download = lundsten.make_download(384, 576, LUNDSTEN_FILE_BYTES)
    large = _trio("lundsten-384-576-large", "lundsten-dch", (*download.overrides, *tie))
    no_errors = (*download.overrides, *tie, NO_BLOCK_ERRORS)
    twin = _trio("lundsten-384-576-large-bler0", "lundsten-dch", no_errors)
    note = f"{LUNDSTEN_FILE_BYTES // 1_000_000} MB instead of 16"
    made.append(PublishedCell(published["lundsten-t3-384-576"], large, _speed(download), twin, note))
    return made


def _chan() -> list[PublishedCell]:
    published = load_published("chan")
    made = []
    for flow, name in (
        (chan.RENO, "reno"),
        (chan.RENO_AR, "reno-ar"),
        (chan.SACK, "sack"),
        (chan.SACK_AR, "sack-ar"),
    ):
        cell = chan.make_cell(flow, chan.CASES[4])
        overrides = (*cell.overrides, ("duration", f"{CHAN_RUN_S} s"))
        trio = _trio(f"chan-{name}", "chan-variable-delay", overrides)
        measure = _goodput(CHAN_PACKET_BYTES, CHAN_PAYLOAD_BYTES, CHAN_RUN_S)
        note = f"{CHAN_RUN_S} s instead of an hour"
        made.append(PublishedCell(published[f"chan-t3-{name}-goodput"], trio, measure, note=note))
    return made


def _alcaraz() -> list[PublishedCell]:
    published = load_published("alcaraz")
    # At most one ACK in a TTI, as the live runs were made.
    reading = next(known for known in alcaraz.READINGS if known.name == "one per TTI, unsent")
    made = []
    for name in ("conventional", "ackrate", "pdpc", "combined2"):
        cell = alcaraz.make_cell(alcaraz.SCHEMES[name])
        overrides = (*cell.overrides, *(reading.overrides if cell.is_read else ()))
        trio = _trio(f"alcaraz-{name}", alcaraz.BASE, overrides, repeat=2)
        measure = _goodput(PACKET_BYTES, PAYLOAD_BYTES, 60)
        made.append(PublishedCell(published[f"alcaraz-t2-{name}-1f-goodput"], trio, measure))
    return made


def _speed(download: Download) -> Measure:
    """Size of the file, headers included, over the time from the first data to the last ACK, kbit/s."""
    kbit = download.packets * download.packet_bytes * 8 / 1000

    def speed(figures: Figures) -> float | None:
        return None if figures.transfer_s is None else kbit / figures.transfer_s

    return speed


def _goodput(packet_bytes: int, payload_bytes: int, run_s: float) -> Measure:
    """Packets acknowledged over the whole run, headers included, kbit/s."""
    return lambda figures: figures.bytes_acked / payload_bytes * packet_bytes * 8 / 1000 / run_s
