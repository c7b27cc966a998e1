"""A scenario with a mechanism that it does not have: a box on the path, or a queue discipline."""

from __future__ import annotations

import json
from collections.abc import Sequence

from airpath import _core
from airpath.errors import ScenarioError
from airpath.experiments.versus_kernel.carried import resolved, transfers
from airpath.scenario import Scenario, inline

PREFIX = "mechanism."
# What a drop-tail queue has in common with the other disciplines.
LIMITS = ("packets", "bytes")


def mechanisms() -> list[str]:
    """Names of what can be added to a live link: boxes but `split`, queue disciplines but drop-tail."""
    parts = json.loads(_core.registry())
    boxes = [part["name"] for part in parts if part["folder"] == "middlebox" and part["name"] != "split"]
    return boxes + _disciplines()


def _disciplines() -> list[str]:
    parts = json.loads(_core.registry())
    return [part["name"] for part in parts if part["folder"] == "queue" and part["name"] != "droptail"]


def split_changes(
    changes: Sequence[tuple[str, str]], names: Sequence[str]
) -> tuple[list[tuple[str, str]], dict[str, list[tuple[str, str]]]]:
    """Tell changes of the scenario from those of mechanisms, such as `mechanism.snoop.cache=...`.

    Raises
    ------
    ScenarioError
        If a change is of a mechanism that is not compared.
    """
    scenario, own = [], {name: [] for name in names}  # type: ignore[var-annotated]
    for path, value in changes:
        if not path.startswith(PREFIX):
            scenario.append((path, value))
            continue
        name, _, key = path.removeprefix(PREFIX).partition(".")
        if name not in own or not key:
            hint = f"write {PREFIX}NAME.KEY with a name that stands in --mechanism"
            raise ScenarioError(path, "is of no mechanism that is compared", hint)
        own[name].append((key, value))
    return scenario, own


def with_mechanism(scenario: Scenario, name: str, changes: Sequence[tuple[str, str]] = ()) -> Scenario:
    """Add a mechanism.

    Parameters
    ----------
    scenario : Scenario
        Without it.
    name : str
        One of `mechanisms()`: a box comes behind the boxes that are there, a queue discipline in the
        place of the bearer's drop-tail queue in the direction of the first flow's data, with its limits.
    changes : sequence of (str, str)
        Keys of the mechanism, and values.

    Raises
    ------
    ScenarioError
        If there is no such mechanism, the scenario has it, or it does not suit the scenario.
    """
    if name not in mechanisms():
        hint = f"choose from {', '.join(mechanisms())}"
        raise ScenarioError("--mechanism", f"there is no '{name}' for a live link", hint)
    if name in _disciplines():
        return _with_discipline(scenario, name, changes)
    boxes = resolved(scenario).get("middlebox", [])
    if any(name in box for box in boxes):
        hint = "name a scenario without it"
        raise ScenarioError("--mechanism", f"{scenario.name} has {name} already", hint)
    # All of them behind the overrides, which may set the whole list themselves.
    all_ = ("middlebox", inline([*boxes, {name: {}}]))
    own = tuple((f"middlebox.{len(boxes)}.{name}.{path}", value) for path, value in changes)
    return Scenario(scenario.name, scenario.source, (*scenario.overrides, all_, *own), scenario.folder)


def _with_discipline(scenario: Scenario, name: str, changes: Sequence[tuple[str, str]]) -> Scenario:
    ((cell, says),) = resolved(scenario)["radio"].items()
    direction = transfers(scenario)[0].direction
    queue = says.get(direction, {}).get("queue", {})
    if name in queue:
        hint = "name a scenario without it"
        raise ScenarioError("--mechanism", f"{scenario.name} has {name} already", hint)
    limits = {key: value for key, value in queue.get("droptail", {}).items() if key in LIMITS}
    path = f"radio.{cell}.{direction}.queue.{name}"
    own = tuple((f"{path}.{key}", value) for key, value in changes)
    overrides = (*scenario.overrides, (path, inline(limits)), *own)
    return Scenario(scenario.name, scenario.source, overrides, scenario.folder)
