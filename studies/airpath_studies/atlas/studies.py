"""The studies of the atlas: senders and disciplines at every place, then each cure over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from airpath_studies.atlas.cells import (
    CURES,
    GOODPUT,
    MEAN,
    P95,
    PAGE,
    SHARE,
    alone,
    beside_cubic,
    with_pages,
)
from airpath_studies.atlas.places import PLACES, Place
from airpath_studies.base.cell import Cell
from airpath_studies.base.grid import Grid, make_grid
from airpath_studies.base.measure import Measure
from airpath_studies.base.panel import Map, Path, Plane
from airpath_studies.base.paper import Experiment, study
from airpath_studies.shared.today import DISCIPLINES, SENDERS

_PARAMETER = "queue discipline"


def _grid(
    place: Place,
    measure: Measure,
    of: Callable[[Place, str, str], Cell],
    senders: Iterable[str] = SENDERS,
    disciplines: Iterable[str] = DISCIPLINES,
    behind: str = "",
) -> Grid:
    """A line for each discipline, a column for each sender."""
    return make_grid(
        measure.unit,
        {sender: sender for sender in senders},
        [(discipline, discipline) for discipline in disciplines],
        lambda discipline, sender: measure.of(of(place, sender, discipline)),
        f"{place.name}: {measure.name}{behind}",
        (_PARAMETER,),
    )


def _grids(measure: Measure, of: Callable[[Place, str, str], Cell]) -> dict[str, Grid]:
    return {name: _grid(place, measure, of) for name, place in PLACES.items()}


GOODPUTS, MEANS, P95S = (_grids(measure, alone) for measure in (GOODPUT, MEAN, P95))
SHARES, PAGES = _grids(SHARE, beside_cubic), _grids(PAGE, with_pages)
"""By place: a line for each discipline, a column for each sender."""


def _plane(name: str) -> Plane:
    """Goodput against the delay that 95 % of the packets stay below; along a line the disciplines."""
    paths = tuple(
        Path(
            sender,
            tuple(P95S[name].entry(sender, discipline) for discipline in DISCIPLINES),
            tuple(GOODPUTS[name].entry(sender, discipline) for discipline in DISCIPLINES),
        )
        for sender in SENDERS
    )
    return Plane(
        name,
        _PARAMETER,
        tuple(DISCIPLINES),
        P95.name,
        P95.unit,
        GOODPUT.name,
        GOODPUT.unit,
        paths,
        has_own_axes=True,
    )


def _maps(grids: dict[str, Grid]) -> tuple[Map, ...]:
    return tuple(map(Map, grids.values()))


_BULK = "One download, alone in the bearer."

GOODPUT_AND_DELAY = study(
    1,
    "Goodput and delay",
    f"{_BULK} Goodput over the whole run, and the time from entering the bearer's buffer to arrival at the "
    "UE that 95 % of the packets stay below.",
    planes=map(_plane, PLACES),
    maps=_maps(GOODPUTS),
)
DELAY = study(2, "Mean delay", f"{_BULK} The mean of that time.", maps=_maps(MEANS))
FAIRNESS = study(
    3,
    "Fairness between unlike flows",
    "Two downloads in one buffer: one of each sender, and one of CUBIC that begins a second later. Which "
    "part does the first get of what both receive?",
    maps=_maps(SHARES),
)
PAGE_LOAD = study(
    4,
    "Pages beside a download",
    "How long does a page take, a file from a sender of the same kind, while a download runs in the same "
    "buffer? Mean of three pages in a run: "
    + ", ".join(f"{place.page_bytes // 1000} kB at {name}" for name, place in PLACES.items())
    + ". A page that is not there by the end of the run counts until then.",
    maps=_maps(PAGES),
)


def _cured(place: Place, measure: Measure, name: str) -> Map:
    """The change that a cure makes at a place."""
    cure = CURES[name]
    with_it, without = (
        _grid(place, measure, partial(alone, cure=of), cure.senders, cure.disciplines, f", {name}")
        for of in (name, None)
    )
    return Map(with_it, without)


CURED: dict[str, dict[str, tuple[Map, Map]]] = {
    cure: {name: (_cured(place, GOODPUT, cure), _cured(place, P95, cure)) for name, place in PLACES.items()}
    for cure in CURES
}
"""By cure and place: what it makes of goodput, and of the delay that 95 % of the packets stay below."""

CURE_STUDIES = tuple(
    study(
        5 + place,
        f"{cure[0].upper()}{cure[1:]}: is it still worth it?",
        f"{_BULK} What changes with the box in front of the cell?",
        maps=(drawn for maps in CURED[cure].values() for drawn in maps),
    )
    for place, cure in enumerate(CURES)
)

STUDIES: tuple[Experiment, ...] = (GOODPUT_AND_DELAY, DELAY, FAIRNESS, PAGE_LOAD, *CURE_STUDIES)
