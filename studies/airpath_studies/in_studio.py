"""What `airpath reproduce` wrote, as the front lists it: `Paper` of `static/sweep.js`.

The report has the measurement of each published value; the paper's definition has its scenario.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from airpath.errors import ScenarioError
from airpath.files.text import misfit, parse_json, read_text
from airpath_studies.base.cell import Cell
from airpath_studies.base.paper import Paper
from airpath_studies.outcome import FULL_RULE
from airpath_studies.papers import PAPERS

REPORT = "report.json"
_NUMBERS = ("published", "corrected", "ci_low", "ci_high", "runs")
_TEXTS = ("id", "of", "shows", "column", "claim", "unit", "verdict", "reason")
_KINDS: dict[str, Any] = dict.fromkeys(_NUMBERS, float) | dict.fromkeys(_TEXTS, str) | {"row": {}}
_MEASURED = ("measured", "ci_low", "ci_high", "runs", "unit", "verdict", "reason", "published", "corrected")


def paper_study(folder: Path) -> dict[str, Any]:
    """Read the report of a reproduction.

    Raises
    ------
    ScenarioError
        If there is none, or it is none of a paper that this version knows.
    """
    file, hint = folder / REPORT, "name what 'airpath reproduce --out' wrote"
    try:
        entries = parse_json(read_text(file))
        if wrong := misfit(entries, [{"place": str}]) or _misfit(entries):
            raise ValueError(wrong)
    except OSError as error:
        raise ScenarioError(str(file), f"cannot be read: {error.strerror}", hint) from error
    except ValueError as error:
        raise ScenarioError(str(file), f"is no report of a reproduction: {error}", hint) from error
    paper = _paper_of(entries)
    if paper is None:
        raise ScenarioError(str(file), "is of no paper that this version knows", hint)
    cells, words = _cells(paper), _words(paper)
    return {
        "kind": "paper",
        "name": str(folder),
        "title": paper.name,
        "citation": paper.citation,
        "seed": FULL_RULE.first_seed,
        "values": [
            {
                "place": entry["place"],
                "what": words.get(_name(entry)) or _in_words(entry),
                **{key: entry.get(key) for key in _MEASURED},
                **_settings(paper, cells.get(_name(entry))),
            }
            for entry in entries
            if "claim" not in entry
        ],
        "claims": [
            {
                **{key: entry.get(key) for key in ("place", "claim", "verdict", "reason")},
                "measured": [
                    {"what": own.get("of"), **{key: own.get(key) for key in _MEASURED}}
                    | _settings(paper, cells.get((entry.get("id"), own.get("of"))))
                    for own in entry.get("measured") or ()
                ],
            }
            for entry in entries
            if "claim" in entry
        ],
    }


def _misfit(entries: list[dict[str, Any]]) -> str:
    """Say where an entry is not as it must be; what may be missing may be null."""
    for number, entry in enumerate(entries):
        name = f"it[{number}]"
        measured: Any = [{}] if "claim" in entry else float
        for key, kind in (_KINDS | {"measured": measured}).items():
            known = entry.get(key)
            if known is not None and (wrong := misfit(known, kind, f"{name}.{key}")):
                return wrong
        if any(not isinstance(label, str) for label in (entry.get("row") or {}).values()):
            return f"{name}.row has a label that is no text"
        if "claim" in entry and (inner := _misfit(entry.get("measured") or [])):
            return f"{name}.measured: {inner}"
    return ""


def _paper_of(entries: Iterable[dict[str, Any]]) -> Paper | None:
    names = {_name(entry) for entry in entries} | {entry.get("id") for entry in entries}
    for paper in PAPERS.values():
        known = {claim.id for claim in paper.claims} | paper.published.keys() | _cells(paper).keys()
        if names & known:
            return paper
    return None


def _name(entry: dict[str, Any]) -> Any:
    """What tells an entry of the report apart: the id of a value or claim, or its place in a grid."""
    if "id" in entry:
        return entry["id"]
    return (
        entry["place"],
        entry.get("shows", ""),
        tuple((entry.get("row") or {}).items()),
        entry.get("column"),
    )


def _cells(paper: Paper) -> dict[Any, Cell]:
    """The cell behind each entry of a report, the first where there are several."""
    cells: dict[Any, Cell] = {}
    for experiment in paper.experiments:
        cells |= {row.published_id: row.cells[0] for row in experiment.rows if row.cells}
        for grid in experiment.grids:
            for row in grid.rows:
                labels = tuple(zip(grid.heads or experiment.columns, row.labels, strict=True))
                for column, entry in zip(grid.columns, row.entries, strict=True):
                    if entry is not None:
                        cells[experiment.place, grid.title, labels, column] = entry.cell
    for claim in paper.claims:
        cells |= {(claim.id, quantity.name): quantity.cell for quantity in claim.quantities}
    return cells


def _words(paper: Paper) -> dict[Any, str]:
    """What each published value is."""
    words: dict[Any, str] = {}
    for experiment in paper.experiments:
        for row in experiment.rows:
            labels = (f"{head}: {label}" for head, label in zip(experiment.columns, row.labels, strict=False))
            words[row.published_id] = "; ".join(labels)
    return words


def _in_words(entry: dict[str, Any]) -> str:
    labels = [f"{head}: {label}" for head, label in (entry.get("row") or {}).items()]
    return "; ".join(filter(None, [*labels, entry.get("column")])) or entry.get("id") or ""


def _settings(paper: Paper, cell: Cell | None) -> dict[str, Any]:
    """What a run of a cell is made from, under the reading that judges."""
    if cell is None:
        return {"base": None, "set": None}
    settings = paper.settings(cell, cell.overrides)
    return {
        "base": cell.scenario or paper.scenario,
        "set": [f"{key}={value}" for key, value in settings.items()],
    }
