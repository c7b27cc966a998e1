"""Experiments of the papers as sweeps, with the scenarios of their own cells."""

from __future__ import annotations

import json
from collections.abc import Iterable

from airpath.experiments.sweep.plan import Written
from airpath.experiments.sweep.points import Point, Value, text_of
from airpath.files.text import parse_toml
from airpath.scenario import Scenario, load
from airpath_studies.base.cell import Cell
from airpath_studies.base.paper import Experiment, Paper
from airpath_studies.outcome import FULL_RULE
from airpath_studies.papers import PAPERS

METRICS = ("goodput_bps", "rtt_ms.mean", "timeouts", "fast_retransmits")
"""What is read off each flow; of files also `transfer_s`."""


def sweeps() -> dict[str, str]:
    """Names of these sweeps, such as ``chan:figure-11``, and what each shows."""
    return {
        _name(paper, experiment): experiment.title
        for paper in PAPERS.values()
        for experiment in paper.experiments
        if len(_scenarios(paper, experiment)) == 1
    }


def sweep(name: str) -> Written | None:
    """Write the sweep of this name; None if there is none."""
    for paper in PAPERS.values():
        for experiment in paper.experiments:
            if _name(paper, experiment) == name and len(_scenarios(paper, experiment)) == 1:
                return Written(name.replace(":", "-"), _text(paper, experiment))
    return None


def _name(paper: Paper, experiment: Experiment) -> str:
    return f"{paper.name}:{experiment.place.lower().replace(' ', '-')}"


def cells_of(experiment: Experiment) -> list[Cell]:
    """List the cells of an experiment, each once."""
    cells = [cell for row in experiment.rows for cell in row.cells]
    cells += [quantity.cell for quantity in experiment.quantities]
    cells += [curve.cell for curve in experiment.curves] + [trace.cell for trace in experiment.traces]
    cells += [experiment.window_of] if experiment.window_of else []
    return list(dict.fromkeys(cells))


def _scenarios(paper: Paper, experiment: Experiment) -> set[str]:
    return {cell.scenario or paper.scenario for cell in cells_of(experiment)}


def _text(paper: Paper, experiment: Experiment) -> str:
    """Write an experiment as a sweep: a point for each cell, and for what it is compared with."""
    (scenario,) = _scenarios(paper, experiment)
    base, cells = load(scenario), cells_of(experiment)
    by_text: dict[str, Point] = {}
    for cell in cells:
        for changes in (cell.overrides, *([cell.reference] if cell.reference is not None else [])):
            point: Point = {key: _value(text) for key, text in paper.settings(cell, changes).items()}
            own = tuple((key, text_of(value)) for key, value in point.items())
            by_text.setdefault(Scenario(base.name, base.source, own, base.folder).text, point)
    # A key that all points share stands once, unless one of its own parts or its whole is set by a point.
    points = list(by_text.values())
    same = {key: value for key, value in points[0].items() if all(p.get(key) == value for p in points)}
    varied = {key for point in points for key in point if key not in same}
    same = {key: value for key, value in same.items() if not any(_overlap(key, other) for other in varied)}
    runs = max(cell.most_runs or max(cell.runs, FULL_RULE.min_runs) for cell in cells)
    lines = [f"# {_name(paper, experiment)}: {experiment.title}", f"scenario = {_quoted(scenario)}"]
    lines += [f"metrics = {json.dumps(_metrics(by_text))}", f"runs = {runs}"]
    lines += ["", "[set]", *_lines(same)] if same else []
    for point in points:
        lines += ["", "[[list]]", *_lines({key: point[key] for key in point if key not in same})]
    return "\n".join(lines) + "\n"


def _metrics(texts: Iterable[str]) -> list[str]:
    """Choose what is read off each run: for every flow where there are several."""
    flows = [parse_toml(text)["flow"] for text in texts]
    has_files = all("file" in flow["app"] for those in flows for flow in those)
    metrics = [*(["transfer_s"] if has_files else []), *METRICS]
    return metrics if all(len(those) == 1 for those in flows) else [f"flows.*.{name}" for name in metrics]


def _overlap(key: str, other: str) -> bool:
    return f"{key}.".startswith(f"{other}.") or f"{other}.".startswith(f"{key}.")


def _value(text: str) -> Value:
    """Parse a text as a number or a flag if it is one."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, (int, float, bool)) and text_of(value) == text else text


def _lines(point: Point) -> list[str]:
    return [f'"{key}" = {_quoted(v) if isinstance(v, str) else text_of(v)}' for key, v in point.items()]


def _quoted(text: str) -> str:
    """Write text in TOML: literally, where it has double quotes."""
    return f"'{text}'" if '"' in text and "'" not in text else json.dumps(text)
