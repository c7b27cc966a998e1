"""What a paper's `paper.toml` says about it: how it is read, its open choices, and why something is not met.

    citation, scenario, default_reading = "..."  # and `confidence`, if the paper prints intervals
    [parameters]            # what the page says about how the paper was read
    [[readings]]            # name, description, and the keys that it sets: `overrides`
    [[choices]]             # as `Choice` has them; `uses` are IDs
    [not_reproduced]        # by ID of a claim that does not hold under the default reading: why
    [[derived]]             # the `rule` by which some values or claims follow from others or could not fail
    [[remarks]]             # a `remark` on some values; the first that fits one counts

IDs in `uses` and `of` may have wildcards (`*`, `?`), which stand for published values.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import filter as matching
from functools import cache
from importlib.resources import files

from airpath_studies.base.choices import Choice, Reading
from airpath_studies.base.published import load_published


@dataclass(frozen=True)
class Description:
    """What is said about a paper."""

    name: str
    """Short name, as in the command line."""
    citation: str
    """Full reference."""
    scenario: str
    """Name of the bundled base scenario."""
    parameters: tuple[tuple[str, str], ...]
    """What the page says about how the paper was read."""
    readings: tuple[Reading, ...]
    default_reading: str
    """Name of the reading that judges the whole paper."""
    choices: tuple[Choice, ...]
    not_reproduced: Mapping[str, str]
    """The claims that do not hold under the default reading, by id, and why."""
    derived: Mapping[str, str]
    """The values that follow from others and the claims that could not fail, by ID, with the rule."""
    remarks: Mapping[str, str]
    """What a reader should know about values, by ID."""
    confidence: float | None
    """Confidence level of the intervals that the paper prints; None if it prints none."""

    def reading(self, name: str) -> Reading:
        """Find a reading by its name."""
        return next(reading for reading in self.readings if reading.name == name)

    @property
    def judging(self) -> Reading:
        """The reading that judges."""
        return self.reading(self.default_reading)


@cache
def description(paper: str) -> Description:
    """Read the `paper.toml` of a paper."""
    folder = files("airpath_studies") / paper
    told = tomllib.loads((folder / "paper.toml").read_text(encoding="utf-8"))
    published = load_published(paper) if (folder / "published.csv").is_file() else {}

    def ids(patterns: Iterable[str]) -> Iterator[str]:
        for pattern in patterns:
            yield from matching(published, pattern) or (pattern,)

    def by_id(key: str, said: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for entry in told.get(key, ()):
            for name in ids(entry["of"]):
                found.setdefault(name, entry[said])
        return found

    return Description(
        paper,
        told["citation"],
        told["scenario"],
        tuple(told.get("parameters", {}).items()),
        tuple(
            Reading(of["name"], of["description"], tuple(of.get("overrides", {}).items()), of.get("where"))
            for of in told["readings"]
        ),
        told["default_reading"],
        tuple(Choice(**{**of, "uses": tuple(ids(of.get("uses", ())))}) for of in told.get("choices", ())),
        told.get("not_reproduced", {}),
        by_id("derived", "rule"),
        by_id("remarks", "remark"),
        told.get("confidence"),
    )
