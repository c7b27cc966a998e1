"""Everything that can be named, and the list of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from airpath import _core
from airpath.errors import ScenarioError
from airpath.experiments.sweep.bundled import bundled as bundled_sweeps
from airpath.live.link import sample_traces
from airpath.report.document import Heading, Note, Part, Span, Table
from airpath.runs.trace import UNITS
from airpath.scenario import bundled
from airpath.studies import studies


def catalogue(kind: str | None = None, prefix: str | None = None) -> dict[str, Any]:
    """Find everything that can be named: scenarios, sweeps, components, probes with columns and units.

    If given, only things of a kind, and only those whose names begin with `prefix`: a `ScenarioError` if none
    does.
    """
    if kind == "sweeps":
        studies("sweeps", kind)  # All of them are the papers'.
    content: dict[str, Any] = {
        "scenarios": bundled(),
        "sweeps": bundled_sweeps(),
        "traces": {
            name: {"shows": trace.shows, "file": str(trace.file)} for name, trace in sample_traces().items()
        },
        "components": json.loads(_core.registry()),
        "probes": {
            kind: {column: UNITS[column] for column in columns} for kind, columns in _core.probes().items()
        },
    }
    if kind is None:
        return content
    named = content[kind]
    if prefix is None:
        return {kind: named}
    if kind == "components":
        names = [component_name(component) for component in named]
        chosen: Any = [component for component in named if component_name(component).startswith(prefix)]
    else:
        names = list(named)
        chosen = {name: said for name, said in named.items() if name.startswith(prefix)}
    if not chosen:
        starts = ", ".join(dict.fromkeys(name.rpartition(".")[0] or name for name in names))
        parent = next((f"{name} for its keys, or " for name in names if prefix.startswith(f"{name}.")), "")
        raise ScenarioError(
            "PREFIX", f"no name of {kind} begins with '{prefix}'", f"choose {parent}from {starts}"
        )
    return {kind: chosen}


def catalogue_report(content: dict[str, Any]) -> Iterator[Part]:
    """List what `catalogue` found, or a part of it."""
    if "scenarios" in content:
        yield from _named("Scenarios (airpath run NAME)", content["scenarios"])
    if "sweeps" in content:
        yield from _named("Sweeps (airpath sweep NAME)", content["sweeps"])
    if traces := content.get("traces"):
        shown = {name: trace["shows"] for name, trace in traces.items()}
        yield from _named("Traces (airpath live --downlink-trace NAME)", shown)
        yield Note(f"in the folder {Path(next(iter(traces.values()))['file']).parent}")
    if "components" in content:
        yield Heading("Components (in a scenario or with --set)")
        for component in content["components"]:
            yield Note((Span(component_name(component), "bold"), f"  {_paragraph(component['description'])}"))
            yield Table.of(
                component["parameters"],
                ("", "name"),
                ("", "type"),
                ("", lambda parameter: _default(parameter["default"])),
                ("", lambda parameter: _paragraph(parameter["description"])),
                words=range(4),
            )
    if "probes" in content:
        shown = {
            kind: ", ".join(f"{column} ({unit})" if unit else column for column, unit in columns.items())
            for kind, columns in content["probes"].items()
        }
        yield from _named("Probes (columns of trace/PROBE.parquet, behind time_ns)", shown)


def _named(title: str, named: dict[str, str]) -> Iterator[Part]:
    yield Heading(title)
    rows = [(name, shows.removeprefix(f"{name}: ")) for name, shows in named.items()]
    yield Table("", "", rows=rows, words=(0, 1))


def _paragraph(text: str) -> str:
    """Join the lines of a description."""
    return " ".join(text.split())


def component_name(component: dict[str, Any]) -> str:
    """Name of a component, such as ``tcp.cc.reno``."""
    return ".".join(part for part in (component["folder"], component["name"]) if part)


def _default(value: Any) -> str:
    """Show a default as a scenario would write it; "-" where there is none."""
    if value is None:
        return "-"
    if isinstance(value, dict):
        shown = (f"{key} = {_default(part)}" for key, part in value.items() if part is not None)
        return "{ " + ", ".join(shown) + " }" if value else "{}"
    return value if isinstance(value, str) and value.isprintable() else json.dumps(value)
