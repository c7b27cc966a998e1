"""Small models that run in pages: what a block of `model` says, as runs and as the address of what runs them.

A block is TOML. `scenario` and `set` are those of all runs, `panels` and `figures` have the studio's names,
and `range`, in seconds, is seen first. A `[[run]]` is a line in the picture, with a `name`, and perhaps a
`scenario` and `set` of its own. A `[[change]]` is a value that can be changed, with a `name`, a `key` or
several `keys` that get it, `values`, perhaps `words` for them, and the `first`; the key `scenario` chooses
the scenario. What a run has of its own, and what it `keeps`, no change touches. Each model has a change of
the seed besides.

A page has a picture that was recorded when the site was made. A script puts the running model in its place
where the site has the simulator in it (`assets/model.js`).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from playground import ENGINE

import airpath
from website.pages import DOCS, ROOT, PageError

OVERLAID = {"window": "cwnd", "rtt": "rtt", "buffer": "buffer", "rate": "goodput", "sequence": "sequence"}
"""Panels of the studio that `airpath overlay` has too, with its names."""
SEEDS = {"name": "seed", "key": "seed", "values": [str(seed) for seed in range(1, 11)], "first": "1"}
SPECIAL = ("scenario", "seed")
"""Keys that are none of a scenario."""
SHOWN = re.compile(
    r"^<!-- model: (?P<file>\S+) -->\n!\[(?P<caption>[^\]]*)\]\((?P<picture>[^)]*)\)$", re.MULTILINE
)


class Run(NamedTuple):
    """What a run is made from."""

    base: str
    changes: list[str]
    seed: int

    @property
    def command(self) -> str:
        """The command that makes it, without where to."""
        sets = [f"--set {shlex.quote(change)}" for change in self.changes]
        return " \\\n    ".join([f"airpath run {self.base}", *sets])

    def scenario(self) -> airpath.Scenario:
        """Its scenario."""
        overrides = [(key, value) for key, _, value in (change.partition("=") for change in self.changes)]
        return airpath.load(self.base, overrides)

    def summary(self) -> dict[str, Any]:
        """Simulate it; gives its results."""
        return airpath.run(self.scenario(), seed=self.seed, probes=()).summary


@dataclass(frozen=True)
class Model:
    """A block of `model`; the keys are those of TOML.

    Raises
    ------
    PageError
        If a key or a value is not as it should be, or the core refuses the resulting scenario.
    """

    scenario: str
    run: list[dict[str, Any]]
    change: list[dict[str, Any]]
    panels: list[str]
    figures: list[str]
    set: list[str] = field(default_factory=list)
    range: list[float] | None = None
    air: bool = False

    @classmethod
    def read(cls, text: str) -> Model:
        """Read TOML."""
        try:
            return cls(**tomllib.loads(text))
        except (TypeError, tomllib.TOMLDecodeError) as error:
            raise PageError(f"the model: {error}") from error
        except KeyError as error:
            raise PageError(f"the model: a run or a change lacks {error}") from error

    def __post_init__(self) -> None:
        for change in self.changes:
            if change["first"] not in change["values"]:
                raise PageError(f"the model: {change['name']}: {change['first']} is none of its values")
            for value in change["values"]:
                for run in self.runs(**{change["name"]: value}):
                    try:
                        run.scenario()
                    except ValueError as error:
                        raise PageError(f"the model: {change['name']} {value}: {error}") from error

    @property
    def changes(self) -> list[dict[str, Any]]:
        """Everything that can be changed, the seed last."""
        return [*self.change, SEEDS]

    def runs(self, **chosen: str) -> list[Run]:
        """What the runs are made from, with values by the names of changes; else their first ones."""
        if unknown := set(chosen) - {change["name"] for change in self.changes}:
            raise PageError(f"the model: it has no {', '.join(sorted(unknown))}")
        made = []
        for run in self.run:
            special = {"scenario": run.get("scenario", self.scenario)}
            changes = [*self.set, *run.get("set", [])]
            for change, keys in zip(self.changes, self._takes(run), strict=True):
                value = chosen.get(change["name"], change["first"])
                special |= {key: value for key in keys if key in SPECIAL}
                changes += [f"{key}={value}" for key in keys if key not in SPECIAL]
            made.append(Run(special["scenario"], changes, int(special["seed"])))
        return made

    def flows(self, **chosen: str) -> list[dict[str, Any]]:
        """Results of the first flow of each run, for checks in a document."""
        return [run.summary()["flows"][0] for run in self.runs(**chosen)]

    def _takes(self, run: Mapping[str, Any]) -> Iterator[list[str]]:
        """Keys that each change sets in a run."""
        fixed = {own.partition("=")[0] for own in run.get("set", [])} | {*run.get("keeps", [])}
        fixed |= {"scenario"} & run.keys()
        for change in self.changes:
            yield [key for key in change.get("keys", [change.get("key")]) if key not in fixed]

    def wanted(self) -> dict[str, Any]:
        """The settings of the studio's `embed.js` (its `Wanted`)."""
        return {
            "runs": [
                {
                    "name": run["name"],
                    "base": run.get("scenario", self.scenario),
                    "set": [*self.set, *run.get("set", [])],
                    "takes": list(self._takes(run)),
                }
                for run in self.run
            ],
            "changes": [
                {
                    "name": change["name"],
                    "values": change["values"],
                    "words": change.get("words", change["values"]),
                    "first": change["values"].index(change["first"]),
                }
                for change in self.changes
            ],
            "panels": self.panels,
            "figures": self.figures,
            "range": self.range,
            "air": self.air,
        }

    def commands(self, page: str) -> list[str]:
        """Commands that make its picture, `PAGE.png`; a run's folder has the names of page and run."""
        runs = [
            (f"out/{page}-{re.sub(r'[^a-z0-9]+', '-', named['name'].lower())}", run)
            for named, run in zip(self.run, self.runs(), strict=True)
        ]
        made = [f"{run.command} --out {folder}" for folder, run in runs]
        panels = " ".join(f"--panel {OVERLAID[name]}" for name in self.panels if name in OVERLAID)
        return [*made, f"airpath overlay {' '.join(folder for folder, _ in runs)} {panels} --out {page}.png"]

    def element(self, page: str, picture: str, caption: str) -> str:
        """Write the element: the picture, and where the site has the simulator, the address of what runs."""
        where = ""
        if has_engine():
            address = os.path.relpath("playground/embed.html", Path(page).parent)
            where = f' data-model="{escape(address)}?{quote(json.dumps(self.wanted()))}"'
            said = "Recorded; the model runs here where scripts do and the page comes from a server."
        else:
            said = "Recorded: this site was made without the simulator in it."
        image = f'<img src="{escape(picture)}" alt="{escape(caption)}">'
        return f'<figure class="model"{where}>{image}<figcaption>{caption}. {said}</figcaption></figure>'


def has_engine() -> bool:
    """Whether the simulator is there as WebAssembly."""
    return (ROOT / ENGINE).is_file()


def modelled(text: str, page: str) -> str:
    """Replace pictures below `<!-- model: FILE -->` by models; the file is one of docs/."""

    def model(part: re.Match[str]) -> str:
        made = Model.read((DOCS / part["file"]).read_text(encoding="utf-8"))
        return made.element(page, part["picture"], part["caption"])

    return SHOWN.sub(model, text)
