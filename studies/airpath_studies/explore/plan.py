"""The file of an exploration: free choices, the values to choose by, and the values to test by.

    [[choice]]
    name = "window of the UE"
    option."8760 bytes" = {}
    option."65535 bytes" = { "tcp.receive_buffer" = "65535 B" }

An option sets keys of the scenario of every cell; a choice with `where` only of the cells that change this
key, such as `middlebox`. A set-up takes one option of each choice, and the grid is all of them. What the text
of the paper settles stands in `argued`: the best of these set-ups is found, too.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Any

from airpath.errors import ScenarioError
from airpath_studies.base.cell import Cell, Overrides
from airpath_studies.base.choices import Reading
from airpath_studies.base.paper import Paper, Row

_KEYS = ("question", "runs", "keep", "choose", "test", "swap", "choice", "argued", "beside", "excluded")
NAME = "explore.toml"
"""The file in the folder of a paper."""
MOST_SETUPS = 5000
"""More than these take hours."""


@dataclass(frozen=True)
class Option:
    """One way to settle a choice, and the keys that it sets."""

    name: str
    overrides: Overrides


@dataclass(frozen=True)
class FreeChoice:
    """What a paper leaves open, with its options."""

    name: str
    options: tuple[Option, ...]
    where: str | None = None
    """A key: only cells that change it are concerned."""


@dataclass(frozen=True)
class SetUp(Reading):
    """One option of each choice, as a reading."""

    options: tuple[str, ...] = ()
    parts: tuple[tuple[str | None, Overrides], ...] = ()
    """For each choice the key that a cell must change, or None, and the changes."""

    def changes(self, cell: Cell) -> Overrides:
        """Changes to a cell."""
        changed = {path for path, _ in cell.overrides}
        return tuple(
            change for where, made in self.parts if where is None or where in changed for change in made
        )


@dataclass(frozen=True)
class Exploration:
    """A grid of set-ups, and how it is searched."""

    question: str
    choices: tuple[FreeChoice, ...]
    choose: tuple[str, ...]
    """IDs of the values used to choose a set-up."""
    test: tuple[str, ...]
    """IDs of the values that test it."""
    runs: tuple[int, ...]
    """Runs of a cell in each round; each round has seeds of its own."""
    keep: float
    """Share of the set-ups that a round leaves."""
    argued: Mapping[str, str]
    """By choice, the option that the text of the paper settles."""
    beside: Mapping[str, tuple[str, ...]]
    """Set-ups that the last round has whatever comes out, by name."""
    excluded: tuple[str, ...]
    """What was not tried, or was tried elsewhere, and why."""
    swap: bool
    """Whether the halves change places in a second search."""

    @property
    def setups(self) -> tuple[SetUp, ...]:
        """The grid, the options of the last choice changing first."""
        return tuple(map(self.setup, itertools.product(*(choice.options for choice in self.choices))))

    def setup(self, options: tuple[Option, ...]) -> SetUp:
        """Make the set-up of an option of each choice."""
        names = tuple(option.name for option in options)
        parts = tuple(
            (choice.where, option.overrides) for choice, option in zip(self.choices, options, strict=True)
        )
        return SetUp(", ".join(names), "", (), options=names, parts=parts)

    def is_argued(self, setup: SetUp) -> bool:
        """Whether a set-up has what the text settles."""
        return all(
            self.argued.get(choice.name, option) == option
            for choice, option in zip(self.choices, setup.options, strict=True)
        )

    def named(self) -> dict[str, SetUp]:
        """The additional named set-ups."""
        return {
            name: self.setup(
                tuple(
                    next(option for option in choice.options if option.name == chosen)
                    for choice, chosen in zip(self.choices, options, strict=True)
                )
            )
            for name, options in self.beside.items()
        }


def explorations() -> list[str]:
    """Names of the papers that have an exploration, in the order of their names."""
    folders = files("airpath_studies").iterdir()
    return sorted(folder.name for folder in folders if folder.is_dir() and (folder / NAME).is_file())


def load_exploration(paper: Paper, file: Path | None = None) -> Exploration:
    """Read the exploration of a paper, or one from another file.

    Raises
    ------
    ScenarioError
        If there is none, or if it is not one.
    """
    name = f"{paper.name}/{NAME}"
    if file is None:
        if paper.name not in explorations():
            known = ", ".join(explorations())
            raise ScenarioError(
                "--explore", f"{paper.name} has no free choices to explore", f"choose one of: {known}"
            )
        text = files("airpath_studies").joinpath(name).read_text(encoding="utf-8")
    else:
        name = str(file)
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ScenarioError("--choices", f"cannot read {file}: {error}", "name a TOML file") from None
    try:
        return _exploration(paper, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError("--choices", f"{name} is not TOML: {error}", "mend the file") from None


def rows_of(paper: Paper) -> dict[str, Row]:
    """The rows whose values can choose or test, by id: what is simulated and counted."""
    published = paper.published
    return {
        row.published_id: row
        for experiment in paper.experiments
        for row in experiment.rows
        if row.cells and published[row.published_id].restates is None
    }


def _exploration(paper: Paper, told: dict[str, Any]) -> Exploration:
    unknown = [key for key in told if key not in _KEYS]
    if unknown:
        raise _wrong(unknown[0], "is not known", f"write one of: {', '.join(_KEYS)}")
    choices = tuple(_choice(place, entry) for place, entry in enumerate(_list(told, "choice")))
    if not choices:
        raise _wrong("choice", "is missing", "write a [[choice]] with at least two options")
    runs = tuple(_list(told, "runs"))
    if not runs or not all(type(n) is int and 2 <= n <= 10_000 for n in runs):
        raise _wrong(
            "runs", f"is {list(runs)}", "write the runs of each round, 2 or more, such as [2, 6, 20]"
        )
    keep = told.get("keep", 0.25)
    if isinstance(keep, bool) or not isinstance(keep, int | float) or not 0 < keep < 1:
        raise _wrong("keep", f"is {keep}", "write a share between 0 and 1")
    rows = rows_of(paper)
    choose, test = (tuple(_ids(told, key, rows)) for key in ("choose", "test"))
    if both := [name for name in choose if name in test]:
        raise _wrong("test", f"has {both[0]}, which is in choose, too", "let a value choose or test")
    swap = told.get("swap", False)
    if not isinstance(swap, bool):
        raise _wrong("swap", f"is {swap}", "write true or false")
    exploration = Exploration(
        str(told.get("question", "")),
        choices,
        choose,
        test,
        runs,
        float(keep),
        _argued(_table(told, "argued"), choices),
        {name: _beside(name, options, choices) for name, options in _table(told, "beside").items()},
        tuple(map(str, _list(told, "excluded"))),
        swap,
    )
    size = 1
    for choice in choices:
        size *= len(choice.options)
    if size > MOST_SETUPS:
        raise _wrong("choice", f"makes {size} set-ups", f"leave options out: {MOST_SETUPS} is the most")
    return exploration


def _choice(place: int, entry: Any) -> FreeChoice:
    key = f"choice[{place}]"
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise _wrong(key, "has no name", 'write name = "..."')
    if extra := [name for name in entry if name not in ("name", "where", "option")]:
        raise _wrong(f"{key}.{extra[0]}", "is not known", "write name, where or option")
    options = entry.get("option")
    if not isinstance(options, dict) or len(options) < 2:
        raise _wrong(
            f"{key}.option", "needs two options at least", 'write option."..." = { "key" = "value" }'
        )
    return FreeChoice(
        entry["name"],
        tuple(Option(name, tuple(_changes(f"{key}.option.{name}", made))) for name, made in options.items()),
        entry.get("where"),
    )


def _changes(key: str, made: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(made, dict):
        raise _wrong(key, "is no table", 'write { "tcp.max_window" = "44" }, or {} for no change')
    for path, value in made.items():
        if not isinstance(value, str):
            raise _wrong(f"{key}.{path}", "is no text", "write the value in quotes, as on the command line")
        yield path, value


def _beside(name: str, options: Any, choices: tuple[FreeChoice, ...]) -> tuple[str, ...]:
    known = [[option.name for option in choice.options] for choice in choices]
    fits = isinstance(options, list) and len(options) == len(known)
    if not fits or not all(one in of for one, of in zip(options, known, strict=True)):
        raise _wrong(f"beside.{name}", f"is {options}", f"write an option of each choice, of {known}")
    return tuple(options)


def _argued(told: dict[str, Any], choices: tuple[FreeChoice, ...]) -> dict[str, str]:
    known = {choice.name: [option.name for option in choice.options] for choice in choices}
    for name, option in told.items():
        if name not in known:
            raise _wrong(f"argued.{name}", "is no choice", f"write one of: {', '.join(known)}")
        if option not in known[name]:
            raise _wrong(f"argued.{name}", f"is {option}", f"write one of: {', '.join(known[name])}")
    return told


def _ids(told: dict[str, Any], key: str, rows: Mapping[str, Row]) -> Iterator[str]:
    seen: set[str] = set()
    for pattern in _list(told, key):
        found = [name for name in rows if fnmatchcase(name, str(pattern))]
        if not found:
            raise _wrong(
                key, f"has '{pattern}', which no simulated value matches", "write ids, * for any part"
            )
        yield from (name for name in found if name not in seen)
        seen.update(found)
    if not seen:
        raise _wrong(key, "is missing", "write the ids of values")


def _list(told: dict[str, Any], key: str) -> list[Any]:
    known = told.get(key, [])
    if not isinstance(known, list):
        raise _wrong(key, f"is {known}", "write a list")
    return known


def _table(told: dict[str, Any], key: str) -> dict[str, Any]:
    known = told.get(key, {})
    if not isinstance(known, dict):
        raise _wrong(key, f"is {known}", "write a table")
    return known


def _wrong(key: str, what: str, what_to_do: str) -> ScenarioError:
    return ScenarioError(key, what, what_to_do)
