"""Pictures of several runs over a common time axis."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airpath.drawing.picture import size_in_inches
from airpath.errors import ExportError
from airpath.runs.changes import changes_of_resolved, described
from airpath.runs.finished import FinishedRun
from airpath.runs.flows import MOST_LINES, by_path, choose_flows, flow_owners, path_controls
from airpath.runs.lines import FlowLines, goodput_window_s, kinds_read, read_lines, whole_windows_s
from airpath.runs.picture import RunPicture, with_data
from airpath.terminal import clean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHOICE = ("cwnd", "rtt", "delay", "buffer", "goodput", "sequence")
USUAL = CHOICE[:5]
"""Panels to choose from, and the default ones, where there is something to draw."""
MOST_DIFFERENCES = 3
"""Runs that differ in more keys than this are named by their folders."""


class Overlay(RunPicture):
    """Several runs in one picture: flows labelled by differences, title with the common settings."""

    def _draw(self) -> Figure:
        words = {"goodput": f"mean of {goodput_window_s(self.end_s):g} s"}
        return self._draw_panels(has_details=False, words=words)

    def __repr__(self) -> str:
        return f"Overlay({', '.join(flow.name for flow in self.flows)})"


def overlay(
    runs: Iterable[str | Path],
    panels: Sequence[str] = USUAL,
    *,
    title: str | None = None,
    size: str | tuple[float, float] | None = None,
) -> Overlay:
    """Draw several runs in one picture.

    Parameters
    ----------
    runs : iterable of path
        Folders that `airpath run --out` or `airpath live --out` wrote, at most eight.
    panels : sequence of str
        From the top: ``"cwnd"``, ``"rtt"``, ``"delay"`` (of datagrams), ``"buffer"``, ``"goodput"``,
        ``"sequence"``. The default panels without data are left out.
    title : str, optional
        Line above the picture; the keys that the runs share if absent.
    size : str or (float, float), optional
        Such as ``"18x12cm"``; without a unit, and in a tuple, inches.

    Returns
    -------
    Overlay
        With `save`, `draw` and the numbers in `data`.

    Raises
    ------
    ScenarioError
        If a folder holds no finished run, or a file in it is damaged.
    ExportError
        If there are too many runs, or no such panel.

    Examples
    --------
    >>> airpath.overlay(["out/cubic", "out/reno"], ["cwnd", "rtt"]).save("windows.pdf")
    """
    folders = [Path(run) for run in runs]
    if not 1 <= len(folders) <= MOST_LINES:
        what = f"{len(folders)} runs cannot be drawn over each other"
        raise ExportError("RUN", what, f"name 1 to {MOST_LINES} folders")
    for panel in panels:
        if panel not in CHOICE:
            raise ExportError("--panel", f"there is no panel '{panel}'", f"choose from {', '.join(CHOICE)}")
    inches = size_in_inches(size)
    opened = [FinishedRun.open(folder) for folder in folders]
    end_s = max(run.summary["simulated_s"] for run in opened)
    chosen = [choose_flows(by_path(run.summary), MOST_LINES // len(opened)) for run in opened]
    names, common = _names(opened, chosen)
    flows: list[FlowLines] = []
    for run, places, own in zip(opened, chosen, names, strict=True):
        wanted = list(zip(places, own, strict=True))
        flows += read_lines(
            run.events(kinds_read(run.summary)), by_path(run.summary), wanted, whole_windows_s(end_s)
        )
    is_live = any("live" in run.summary for run in opened)
    label = "time (s)" if is_live else "simulated time (s)"
    shown = with_data(USUAL, flows) if tuple(panels) == USUAL else tuple(panels)
    return Overlay(tuple(flows), common if title is None else title, label, end_s, shown, inches)


def _names(runs: Sequence[FinishedRun], chosen: Sequence[Sequence[int]]) -> tuple[list[list[str]], str]:
    """Label the chosen flows of each run by their differences; the title has the common settings."""
    described = [_descriptions(run, places) for run, places in zip(runs, chosen, strict=True)]
    everything = [one for own in described for one in own]
    common = {
        key: value for key, value in everything[0].items() if len({one[key] for one in everything}) == 1
    }
    changes = _differences([run.scenario for run in runs]) if "scenario" in common else []
    if len(changes) > MOST_DIFFERENCES:
        changes = [[clean(run.folder.name) for run in runs]]
    names = []
    for place, own in enumerate(described):
        changed = [values[place] for values in changes]
        names.append([_joined(*(one[key] for key in one if key not in common), *changed) for one in own])
    flat = [name for own in names for name in own]
    distinct = [
        [name if name and flat.count(name) == 1 else _joined(name, clean(str(run.folder))) for name in own]
        for run, own in zip(runs, names, strict=True)
    ]
    return distinct, _joined(*common.values(), _shared_changes(runs) if "scenario" in common else "")


def _shared_changes(runs: Sequence[FinishedRun]) -> str:
    """Name what all runs changed in the bundled scenario; congestion control is named anyway."""
    first, *others = [changes_of_resolved(run.manifest["scenario"], run.scenario) or () for run in runs]
    shared = [change for change in first if all(change in other for other in others)]
    return described([change for change in shared if not change[0].endswith(".cc")])


def _joined(*words: str) -> str:
    return ", ".join(filter(None, words))


def _descriptions(run: FinishedRun, places: Sequence[int]) -> list[dict[str, str]]:
    """Names of a run's chosen flows."""
    whose, controls = flow_owners(by_path(run.summary)), path_controls(run.summary, run.scenario)
    return [
        {
            "scenario": run.manifest["scenario"],
            "flow": whose[place] if len(places) > 1 else "",
            "cc": controls[place],
            "live": "live" if "live" in run.summary else "",
            "seed": f"seed {run.summary['seed']}",
        }
        for place in places
    ]


def _differences(scenarios: Sequence[dict[str, Any]]) -> list[list[str]]:
    """In what scenarios differ, except congestion control: for each key the values of all, in words."""
    from airpath.plots.sweep.wording import key_label, value_label

    found = _differing("", scenarios)
    # A profile sets many keys of TCP and represents all of them.
    if "tcp.profile" in found:
        found = {key: values for key, values in found.items() if key == "tcp.profile" or key[:4] != "tcp."}
    return [
        [f"{key_label(key)} {value_label(value)}" for value in values]
        for key, values in found.items()
        if not (key.endswith(".cc") or ".cc." in key)
    ]


def _differing(path: str, values: Sequence[Any]) -> dict[str, list[Any]]:
    if all(value == values[0] for value in values):
        return {}
    if not all(isinstance(value, dict) for value in values):
        return {path: [_plain(value) for value in values]}
    keys = [list(value) for value in values]
    # If components such as queues differ, only the parameters matter that tell those of one name apart.
    if all(len(one) == 1 for one in keys) and len({one[0] for one in keys}) > 1:
        return {path: [_component(one[0], value, values) for one, value in zip(keys, values, strict=True)]}
    found: dict[str, list[Any]] = {}
    for key in dict.fromkeys(key for one in keys for key in one):
        found |= _differing(f"{path}.{key}" if path else key, [value.get(key) for value in values])
    return found


def _component(name: str, value: dict[str, Any], values: Sequence[dict[str, Any]]) -> str:
    """Write a component as TOML, with the parameters in which others of its name differ from it."""
    alike = [value, *(other for other in values if name in other)]
    differing = _differing("", [one[name] for one in alike]).items()
    given = [f"{key} = {json.dumps(own[0])}" for key, own in differing if own[0] is not None]
    return f"{{ {name} = {{ {', '.join(given)} }} }}" if given else name


def _plain(value: Any) -> Any:
    """Shorten a value for a legend."""
    if isinstance(value, list):
        return (
            " + ".join(", ".join(entry) if isinstance(entry, dict) else str(entry) for entry in value)
            or "none"
        )
    if isinstance(value, dict):
        return ", ".join(value)
    return f"{value[:20]}..." if isinstance(value, str) and len(value) > 24 else value
