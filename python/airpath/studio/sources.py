"""What the server offers: bundled scenarios, and the files and folders that its command line named.

A client names what is listed here, never a path. Files are opened below the folder that was named only.
What reads folders needs NumPy, a quarter of the server's memory: it is imported when there is one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from airpath import _core
from airpath.errors import LiveError, ScenarioError
from airpath.files.atomic import real
from airpath.runs.changes import as_settings, changes_of_resolved
from airpath.scenario import Scenario, bundled, read
from airpath.studies import studies

if TYPE_CHECKING:
    from airpath.runs.finished import FinishedRun
    from airpath.studio.attach import Attached

FIRST = "umts-384"
"""The scenario that is opened where none was named."""
TEXT = "text:"
"""Begins a base that is the text of a scenario."""
MOST_RUNS = 1000
"""Most runs that are listed of a folder."""

PLAIN_NAME = re.compile("""[^<>&"'\\x00-\\x1f\\x7f]{1,80}""")
"""A name that a message repeats: short, and without markup."""

GROUPS = {
    "umts": "UMTS bearers",
    "hsdpa": "HSDPA cells",
    "lte": "LTE cells",
    "nr": "5G NR cells",
    "hdr": "1xEV-DO (HDR) cells",
    "endc": "Split bearers",
    "mptcp": "Several paths",
    "two": "Several cells",
    "variable": "Links that vary",
    "alcaraz": "Alcaraz and Cerdan",
    "chan": "Chan and Ramjee",
    "jayanathan": "Jayanathan et al.",
    "lundsten": "Lundsten",
    "zhang": "Zhang",
}
"""Groups of the bundled scenarios, by the begin of their names, in the order in which they are listed."""
NAMED, RUNS = "Named on the command line", "Runs"

Opened: TypeAlias = "Attached | FinishedRun | Chosen"


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

    def __init__(self, named: Sequence[str] = (), attached: Attached | None = None) -> None:
        self._attached = attached
        self._files: dict[str, str] = {}
        self._runs: dict[str, Path] = {}
        self._bundled = bundled()
        self.studies: list[dict[str, Any]] = []
        """Sweeps and reproductions, as the front shows them."""
        folders = [Path(name) for name in named if name not in self._bundled and Path(name).is_dir()]
        scenarios = [name for name in named if name in self._bundled or Path(name) not in folders]
        for name in scenarios:
            if name not in self._bundled:
                self._files[name] = read(name)[0]
        for folder in folders:  # They may need the scenarios.
            self._take(folder)
        listed = (name for name in named if name in {*scenarios, *self._runs})
        self._first = next(chain(listed, filter(_has_trace, self._runs), self._runs), "")

    def _take(self, folder: Path) -> None:
        """List the run, the runs, the sweep or the reproduction in a folder."""
        from airpath.runs.finished import FILLED
        from airpath.runs.recorder import FILES, MANIFEST

        if _is_run(folder):
            runs = [folder]
        elif (folder / MANIFEST).is_file():
            from airpath.experiments.sweep.plan import SCENARIO
            from airpath.experiments.sweep.store import RUNS as OF_SWEEP
            from airpath.experiments.sweep.store import read_manifest
            from airpath.studio.sweeps import sweep_study

            _check_inside(folder, folder, folder / MANIFEST, *(folder / OF_SWEEP).glob("*"))
            manifest = read_manifest(folder) or {}
            named = {str(point["parameters"].get(SCENARIO, "")) for point in manifest["points"]}
            bases = {name: base for name in (named | {manifest["scenario"]}) if (base := self._base(name))}
            study = sweep_study(folder, bases, lambda own, changes: self.scenario(own, changes).scenario.text)
            self.studies.append(study)
            return
        elif (folder / "report.json").is_file():
            report = folder / "report.json"
            _check_inside(folder, report)
            self.studies.append(studies("in_studio", str(report)).paper_study(folder))
            return
        else:
            runs = sorted(path for path in folder.iterdir() if _is_run(path))
        if not runs:
            raise ScenarioError(str(folder), "holds no finished run", FILLED)
        for run in runs[:MOST_RUNS]:
            _check_inside(folder, run, *(run / name for name in FILES))
            self._runs[str(run)] = run

    def _base(self, wanted: str) -> tuple[str, str] | None:
        """Name and text of the listed scenario that a sweep's file names: bundled, or a file of this name."""
        if wanted in self._bundled:
            return wanted, read(wanted)[1]
        name = next((name for name in self._files if wanted and Path(name).name == Path(wanted).name), None)
        return None if name is None else (name, read(name)[1])

    def scenarios(self) -> list[dict[str, Any]]:
        """Everything that a run can be made from, each with a line about it and its group.

        `local` marks what no other studio has.
        """
        listed: list[dict[str, Any]] = [
            *({"name": name, "about": f"the file {name}", "group": NAMED} for name in self._files),
            *({"name": name, "about": "as this run was made", "group": RUNS} for name in self._runs),
        ]
        listed = [one | {"local": True} for one in listed]
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
            run = self._run(base)
            if (told := changes_of_resolved(run.manifest["scenario"], run.scenario)) is not None:
                return self.scenario(run.manifest["scenario"], [*as_settings(told), *changes])
            return Chosen(_changed(run.manifest["scenario"], run.scenario_text, changes), None, None)
        if base not in self._files and base not in self._bundled:
            raise _unknown(base)
        _, source, folder = read(base)
        return Chosen(_changed(base, source, changes, folder), base, list(changes))

    def text(self, base: str) -> str:
        """Text of a base, which is the same scenario in any studio: with every default if it names files.

        Raises
        ------
        ScenarioError
            If nothing of this name is listed, or the core refuses the scenario.
        """
        if base not in self._files:
            return self.scenario(base, ()).scenario.text
        _, source, folder = read(base)
        try:
            own = _changed(base, source, (), folder).text
        except ScenarioError:  # Of use only when it is changed.
            return source
        try:
            is_alone = _changed(base, source, ()).text == own
        except ScenarioError:
            is_alone = False
        return source if is_alone else own

    def open(self, name: str | None) -> Opened:
        """Open what is listed under a name; what was named first if there is none."""
        if name is None:
            if self._attached is not None:
                return self._attached
            if not self._first:
                return self._first_of_studies()
            name = self._first
        return self._run(name) if name in self._runs else self.scenario(name, ())

    def change(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Change the live run that is shown, and return the answer of its control socket.

        Raises
        ------
        LiveError
            If there is none, if it is over or cannot be changed, or if the change is refused.
        """
        if self._attached is None:
            raise LiveError("change", "there is no live run", "start one: airpath live --studio")
        return self._attached.change(request)

    def _run(self, name: str) -> FinishedRun:
        from airpath.runs.finished import FinishedRun

        return FinishedRun.open(self._runs[name])

    def _first_of_studies(self) -> Chosen:
        """The first run behind a sweep or a reproduction; a bundled scenario where there is none.

        A point whose runs have all failed comes after the others.
        """
        for study in self.studies:
            of_study = study.get("points", study.get("values", ()))
            for own in sorted(of_study, key=lambda one: "estimates" in one and not any(one["estimates"])):
                base = own.get("base", study.get("base"))
                if base is not None and own["set"] is not None:
                    seed = next(iter(own.get("seeds", ())), study.get("seed", 1))
                    return replace(self.scenario(base, own["set"]), seed=seed)
        return self.scenario(FIRST, ())


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


def _unknown(base: str) -> ScenarioError:
    """Say what a base is that is not listed here: a link of another studio may name it."""
    if not PLAIN_NAME.fullmatch(base):
        return ScenarioError("base", "nothing of this name is listed", "choose a name that is listed")
    kind = "file" if base.endswith(".toml") else "run" if "/" in base else ""
    if not kind:
        return ScenarioError("base", f"no scenario is called {base}", "choose a name that is listed")
    hint = f"open the {kind} with 'airpath studio', or ask for a link with its text"
    return ScenarioError("base", f"{base} is a {kind} of another studio", hint)


def _split(change: str) -> tuple[str, str]:
    path, equals, value = change.partition("=")
    if not equals or not path.strip():
        raise ScenarioError("set", "a change does not name a key and its value", "write key=value")
    return path.strip(), value.strip()


def _is_run(folder: Path) -> bool:
    from airpath.runs.recorder import MANIFEST, RESULTS

    return (folder / MANIFEST).is_file() and (folder / RESULTS).is_file()


def _has_trace(run: str) -> bool:
    from airpath.runs.recorder import TRACES

    return any((Path(run) / name).is_file() for name in TRACES)


def _check_inside(folder: Path, *files: Path) -> None:
    """Refuse files that are links to places outside of the folder that was named."""
    inside = real(folder)
    for file in files:
        if not real(file).is_relative_to(inside):
            raise ScenarioError(str(file), f"leads out of {folder}", "name the folder that it is in")
