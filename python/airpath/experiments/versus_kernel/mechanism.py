"""A scenario with a mechanism that it does not have: a box on the path, or a queue discipline."""

from __future__ import annotations

from collections.abc import Sequence

from airpath.errors import ScenarioError
from airpath.experiments.versus_kernel.carried import changed, registered, resolved, transfers
from airpath.scenario import Scenario, inline

PREFIX = "mechanism."
# What a drop-tail queue has in common with the other disciplines.
LIMITS = ("packets", "bytes")


def mechanisms() -> list[str]:
    """Names of what can be added to a live link: boxes but `split`, queue disciplines but drop-tail."""
    known = (*registered("middlebox"), *registered("queue"))
    return [name for name in known if name not in ("split", "droptail")]


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
    """Add one of `mechanisms()` to a scenario; `changes` are keys of it, and values.

    A middlebox is appended to the existing ones; a queue discipline replaces the bearer's drop-tail queue
    in the direction of the first flow's data, with its limits.

    Raises
    ------
    ScenarioError
        If there is no such mechanism, the scenario has it, or it does not suit the scenario.
    """
    if name not in mechanisms():
        hint = f"choose from {', '.join(mechanisms())}"
        raise ScenarioError("--mechanism", f"there is no '{name}' for a live link", hint)
    says = resolved(scenario)
    wanted = transfers(scenario)
    if "radio" not in says:
        hint = "leave it out, or name a scenario with [radio]"
        raise ScenarioError("--mechanism", "a mechanism is compared over one cell", hint)
    if name in registered("queue"):
        ((cell, bearer),) = says["radio"].items()
        direction = wanted[0].direction
        queue = bearer.get(direction, {}).get("queue", {})
        is_there = name in queue
        path = f"radio.{cell}.{direction}.queue.{name}"
        limits = {key: value for key, value in queue.get("droptail", {}).items() if key in LIMITS}
        whole = (path, inline(limits))
    else:
        boxes = says.get("middlebox", [])
        is_there = any(name in box for box in boxes)
        path = f"middlebox.{len(boxes)}.{name}"
        # All of them behind the overrides, which may set the whole list themselves.
        whole = ("middlebox", inline([*boxes, {name: {}}]))
    if is_there:
        hint = "name a scenario without it"
        raise ScenarioError("--mechanism", f"{scenario.name} has {name} already", hint)
    return changed(scenario, (whole, *((f"{path}.{key}", value) for key, value in changes)))
