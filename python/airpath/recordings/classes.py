"""Mobility classes: how the rates of recorded cells vary, and which class a bundled link imitates.

A band is the range of a statistic over the recordings of a class. A class with one or two recordings has the
range widened by half to either side, and by the Poisson error of its few outages. The recordings: LTE in the
US by mahimahi's authors (drives), LTE in New York (homes, walks, bus, taxi, subway), UMTS and EV-DO in the US
(drives), HSDPA in Norway (cars, buses, trains, metro; logs of seconds, which tell nothing of silences).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airpath.recordings.statistics import Statistics

Band = tuple[float, float]

STATISTICS = {
    "cv_1s": "CV in 1 s",
    "correlation_s": "correl.",
    "silences_per_min": "> 0.1 s",
    "outages_per_min": "> 0.3 s",
}
"""Statistics that have bands, with the words for them."""


@dataclass(frozen=True)
class MobilityClass:
    """A class of mobility.

    Parameters
    ----------
    name : str
    recordings : int
        Number of recordings behind the bands.
    bands : dict of (float, float)
        Range by statistic, of those that the recordings tell.
    """

    name: str
    recordings: int
    bands: Mapping[str, Band]

    def outside(self, statistics: Statistics) -> list[str]:
        """Name the statistics that are outside their bands."""
        values = {name: getattr(statistics, name) or 0.0 for name in self.bands}
        return [name for name, (low, high) in self.bands.items() if not low <= values[name] <= high]


def _of(name: str, recordings: int, *bands: Band) -> MobilityClass:
    return MobilityClass(name, recordings, dict(zip(STATISTICS, bands, strict=False)))


LTE = {
    "stationary": _of("stationary", 2, (0.09, 0.38), (0.1, 0.6), (0.0, 1.8), (0.0, 1.2)),
    "walk": _of("walk", 11, (0.36, 0.56), (0.2, 16.1), (0.3, 24.5), (0.0, 11.4)),
    # Speed decides how long a bus is in a shadow: the correlation time is also that of the buses in Norway.
    "bus": _of("bus", 1, (0.45, 1.03), (3.3, 38.0), (10.5, 23.7), (0.2, 2.0)),
    "drive": _of("drive", 6, (0.43, 0.85), (1.5, 20.6), (4.9, 46.8), (0.3, 4.4)),
    "train": _of("train", 1, (0.48, 1.1), (4.2, 9.5), (18.5, 41.8), (0.9, 3.0)),
}
HSDPA = {
    # No recording of 3G stands still or walks: the variation is LTE's, and silences have no band.
    "stationary": _of("stationary", 2, (0.09, 0.38), (0.1, 0.6)),
    "walk": _of("walk", 11, (0.36, 0.56), (0.2, 16.1)),
    "bus": _of("bus", 19, (0.1, 0.79), (1.0, 38.0)),
    "drive": _of("drive", 7, (0.39, 0.9), (2.9, 20.0), (12.0, 92.0), (5.6, 15.2)),
    "train": _of("train", 18, (0.36, 0.6), (6.0, 45.0)),
}
"""Classes of 3G; those of NR are LTE's, as the recordings of NR change between LTE and NR."""

FAMILIES = {"lte-10mhz": LTE, "hsdpa-3.6": HSDPA, "nr-n78-100mhz": LTE}
"""Bundled scenarios by class: the name of a family alone is the walk."""
TRACES = {
    "evdo-drive": HSDPA["drive"],
    "evdo-walk": LTE["walk"],
    "hsdpa-walk": HSDPA["walk"],
    "lte-drive": LTE["drive"],
    "lte-walk": LTE["walk"],
}
"""Sample traces."""


def class_of(scenario: str) -> MobilityClass | None:
    """Find the class that a bundled scenario imitates; None of one for exact tests."""
    for family, classes in FAMILIES.items():
        if scenario == family:
            return classes["walk"]
        if scenario.startswith(f"{family}-"):
            return classes.get(scenario.removeprefix(f"{family}-"))
    return None
