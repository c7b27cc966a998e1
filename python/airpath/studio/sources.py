"""What the server offers: bundled scenarios, and the files and folders that its command line named.

A client names what is listed here, never a path. Files are opened below the folder that was named only.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from airpath import _core
from airpath.errors import ScenarioError
from airpath.runs.finished import FILLED, FinishedRun
from airpath.runs.recorder import FILES, MANIFEST
from airpath.scenario import Scenario, bundled, read
from airpath.studio.facts import changes as changes_of

FIRST = "umts-384"
"""The scenario that is opened where none was named."""
TEXT = "text:"
"""Begins a base that is the text of a scenario."""
MOST_RUNS = 1000
"""Most runs that are listed of a folder."""

GROUPS = {
    "umts": "UMTS bearers",
    "hdr": "1xEV-DO (HDR) cells",
    "variable": "Links that vary",
    "alcaraz": "Alcaraz and Cerdan",
    "chan": "Chan and Ramjee",
    "jayanathan": "Jayanathan et al.",
    "lundsten": "Lundsten",
    "zhang": "Zhang",
}
"""Groups of the bundled scenarios, by the begin of their names, in the order in which they are listed."""
NAMED, RUNS = "Named on the command line", "Runs"

Opened: TypeAlias = "FinishedRun | Chosen"


@dataclass(frozen=True)
class Chosen:
    """A scenario to simulate: `base` is the name under which it is listed, None for a text."""

    scenario: Scenario
    base: str | None
    changes: list[str] | None
    seed: int = 1


class Sources:
    """What is listed, by name.

    Raises
    ------
    ScenarioError
        If something that was named is no scenario, no run and no folder of runs.
    """

    def __init__(self, named: Sequence[str] = ()) -> None:
        self._files: dict[str, str] = {}
        self._runs: dict[str, Path] = {}
        self._bundled = bundled()
        self._first = ""
        for name in named:
            found = self._take(name)
            self._first = self._first or found
        self._first = self._first or FIRST

    def _take(self, name: str) -> str:
        """List what was named; return the name of it, or of the first of several."""
        if name in self._bundled:
            return name
        path = Path(name)
        if not path.is_dir():
            self._files[name] = read(path)[0]
            return name
        is_run = (path / MANIFEST).is_file()
        runs = [path] if is_run else sorted(file.parent for file in path.glob(f"*/{MANIFEST}"))
        if not runs:
            raise ScenarioError(name, "holds no finished run", FILLED)
        for run in runs[:MOST_RUNS]:
            _check_inside(run, path)
            self._runs[str(run)] = run
        return str(runs[0])

    def scenarios(self) -> list[dict[str, str]]:
        """Everything that a run can be made from, each with a line about it and its group."""
        listed = [{"name": name, "about": f"the file {name}", "group": NAMED} for name in self._files]
        listed += [{"name": name, "about": "as this run was made", "group": RUNS} for name in self._runs]
        for begin, group in GROUPS.items():
            listed += [
                {"name": name, "about": about.removeprefix(f"{name}: "), "group": group}
                for name, about in self._bundled.items()
                if name.split("-")[0] == begin
            ]
        return listed

    def scenario(self, base: str, changes: Sequence[str]) -> Chosen:
        """Find the scenario of a base, and change it.

        Raises
        ------
        ScenarioError
            If nothing of this name is listed, or the core refuses the scenario.
        """
        if base.startswith(TEXT):
            return Chosen(_changed("own text", base.removeprefix(TEXT), changes), None, None)
        if base in self._runs:
            run = FinishedRun.open(self._runs[base])
            if (told := changes_of(run)) is not None:
                return self.scenario(run.manifest["scenario"], [*told, *changes])
            return Chosen(_changed(run.manifest["scenario"], run.scenario_text, changes), None, None)
        if base not in self._files and base not in self._bundled:
            raise ScenarioError("base", "nothing of this name is listed", "choose a name that is listed")
        _, source, folder = read(base)
        return Chosen(_changed(base, source, changes, folder), base, list(changes))

    def open(self, name: str | None) -> Opened:
        """Open what is listed under a name; what was named first if there is none."""
        name = self._first if name is None else name
        return FinishedRun.open(self._runs[name]) if name in self._runs else self.scenario(name, ())


def values_of(scenario: Scenario) -> dict[str, Any]:
    """Every value of a scenario, defaults too."""
    return tomllib.loads(scenario.text)


def schema() -> str:
    """JSON Schema of scenarios, as JSON."""
    return _core.schema()


def _changed(name: str, source: str, changes: Sequence[str], folder: Path | None = None) -> Scenario:
    """Change a scenario, which may name files below its folder alone, and none if it has no folder."""
    return Scenario(
        name, _core.resolve(source, [_split(change) for change in changes], folder, confined=True)
    )


def _split(change: str) -> tuple[str, str]:
    path, equals, value = change.partition("=")
    if not equals or not path.strip():
        raise ScenarioError("set", "a change does not name a key and its value", "write key=value")
    return path.strip(), value.strip()


def _check_inside(run: Path, folder: Path) -> None:
    """Refuse a run whose files are links to places outside of the folder that was named."""
    inside = folder.resolve()
    for file in (run, *(run / name for name in FILES)):
        if not file.resolve().is_relative_to(inside):
            raise ScenarioError(str(file), f"leads out of {folder}", "name the folder of the run itself")
