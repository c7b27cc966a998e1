"""Which transfers of a scenario are carried, in simulation and live alike."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from airpath import _core
from airpath.errors import ScenarioError
from airpath.scenario import Scenario


@dataclass(frozen=True)
class Transfer:
    """A flow of a scenario; `size_bytes` is TCP payload, None of a transfer without end.

    `paths` are the names of the cells and ways of a connection of Multipath TCP; empty of one path.
    """

    direction: str
    size_bytes: int | None
    start_s: float
    paths: tuple[str, ...] = ()


def resolved(scenario: Scenario) -> dict[str, Any]:
    """What a scenario says, every default written out."""
    return tomllib.loads(scenario.text)


def changed(scenario: Scenario, changes: Iterable[tuple[str, str]]) -> Scenario:
    """A scenario with further overrides."""
    return replace(scenario, overrides=(*scenario.overrides, *changes))


def registered(folder: str) -> list[str]:
    """Names of the simulator's components of a kind."""
    return [part["name"] for part in json.loads(_core.registry()) if part["folder"] == folder]


def transfers(scenario: Scenario) -> list[Transfer]:
    """Find what a scenario's flows carry.

    Raises
    ------
    ScenarioError
        If something in the scenario cannot be live.
    """
    says = resolved(scenario)
    paths = _paths(says)
    for number, box in enumerate(says.get("middlebox", ())):
        if "split" in box:
            what = "split ends connections and makes segments without payload: there is no live one"
            raise ScenarioError(f"middlebox[{number}].split", what, "remove it, or see 'airpath run'")
    if not says["flow"]:
        raise ScenarioError("flow", "the scenario carries nothing", "add a flow with app.file or app.bulk")
    return [_transfer(number, flow, paths) for number, flow in enumerate(says["flow"])]


def _paths(says: dict[str, Any]) -> tuple[str, ...]:
    """Names of the paths of the UE; empty if it has one cell."""
    if "radio" in says:
        (cell,) = says["radio"].values()
        if cell.get("ues", 1) != 1:
            what = f"compare carries the transfers of one UE, and the cell has {cell['ues']}"
            raise ScenarioError("radio", what, "set ues to 1")
        return ()
    ues = says.get("ue", ())
    if len(ues) != 1 or len(ues[0]["attach"]) < 2:
        what = "compare carries the transfers of one UE, over one cell or by Multipath TCP over several"
        hint = "name a scenario with [radio], or with one [[ue]] that is attached to several cells or ways"
        raise ScenarioError("ue", what, hint)
    return tuple(ues[0]["attach"])


def _transfer(number: int, flow: dict[str, Any], paths: tuple[str, ...]) -> Transfer:
    (app,) = flow["app"]
    if app not in ("file", "bulk"):
        hint = "compare carries app.file and app.bulk: leave the flow out"
        raise ScenarioError(f"flow[{number}].app.{app}", "is no transfer over TCP in one direction", hint)
    if "tcp" in flow:
        hint = "set the same under [tcp] for all flows"
        raise ScenarioError(f"flow[{number}].tcp", "both ends have one TCP for all flows", hint)
    size = _core.octets(flow["app"]["file"]["size"]) if app == "file" else None
    if paths:
        _check_multipath(number, flow, paths)
    return Transfer(flow["direction"], size, _core.seconds(flow["start"]), paths)


def _check_multipath(number: int, flow: dict[str, Any], paths: tuple[str, ...]) -> None:
    """Refuse a flow that the kernel's Multipath TCP does not carry as the scenario says."""
    if flow.get("over") != list(range(len(paths))):
        what = "compare carries flows of a UE of several interfaces over all of them, in the order of attach"
        hint = "write over = [" + ", ".join(f'"{name}"' for name in paths) + "]"
        raise ScenarioError(f"flow[{number}].over", what, hint)
    if flow.get("multipath", {}).get("backup"):
        what = "compare has no backup paths: the kernel's live connections use every path"
        raise ScenarioError(f"flow[{number}].multipath.backup", what, "leave it out")
    if "file" not in flow["app"]:
        what = "over several paths compare carries files: goodput is that of the last byte at the receiver"
        hint = f"write app.file, or --set 'flow[{number}].app={{ file.size = \"20 MB\" }}'"
        raise ScenarioError(f"flow[{number}].app", what, hint)


def duration_s(scenario: Scenario) -> float:
    """How long a run lasts at most."""
    return _core.seconds(resolved(scenario)["duration"])
