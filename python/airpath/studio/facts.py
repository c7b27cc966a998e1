"""Facts about a run that the front gets in addition to its events: `Run` of `static/source.js`."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airpath import _core
from airpath.runs.changes import as_settings, changes_of_resolved, described
from airpath.runs.flows import by_path, choose_flows, path_names
from airpath.scenario import Scenario

if TYPE_CHECKING:
    from airpath.runs.finished import FinishedRun

BY_NEED = (
    *("tcp_state", "rtt_sample", "segment_sent", "dropped", "marked", "bearer_enqueued", "outage"),
    *("activity", "mobility", "change", "video_frame", "video_segment"),
    *("tcp_path", "ack_regulator", "ack_rate_control", "rnc_feedback", "snoop", "made", "kept"),
    "pdcp_delivered",
    *("bearer_delivered", "rlc_data", "rlc_status", "slot_ended", "segment_received", "rlc_confirmed"),
    *("block_sent", "uplink_block", "sack_block", "ack_received"),
    *("packet", "rlc_sdu"),
)
"""Kinds of event, those first that the front can least do without."""

MOST_SCENARIO = 200_000
"""Most characters of the scenario's text: one with a trace in it may have millions."""

MOST_TEXT, MOST_ITEMS = 1000, 1000
"""Most characters of a text, and most items of a list, among a scenario's values."""

_OF_MANIFEST = (
    *("airpath", "git", "rng", "scenario", "scenario_sha256", "seed", "started", "elapsed_s"),
    *("interrupted", "live", "python", "platform"),
)
"""The shown entries of the manifest, without the machine's name: a page is made to be passed on."""


def finished(
    run: FinishedRun, left_out: Mapping[str, int | None], not_again: str | None = None
) -> dict[str, Any]:
    """Collect the facts of a finished run.

    `left_out` has kinds of event that there is no room for, and their rows; `not_again` says why kinds that
    were not recorded are not simulated again.
    """
    facts = {key: run.manifest[key] for key in _OF_MANIFEST if key in run.manifest}
    title = run.manifest["scenario"]
    changes = changes_of_resolved(title, run.scenario)
    changed = None if changes is None else as_settings(changes)
    base = None if changed is None else title
    told = _facts(title, base, changed, run.summary, run.scenario, run.scenario_text, facts, left_out)
    return told | {"not_again": not_again, "waterfall": run.waterfall}


def simulated(
    scenario: Scenario,
    base: str | None,
    changed: Sequence[str] | None,
    summary: dict[str, Any],
    left_out: Mapping[str, None],
    elapsed_s: float,
) -> dict[str, Any]:
    """Collect the facts of a run simulated here; `base` and `changed` as in `static/source.js`."""
    facts = {
        "airpath": _core.version(),
        "rng": _core.RNG_VERSION,
        "seed": summary["seed"],
        "elapsed_s": round(elapsed_s, 4),
    }
    parsed = tomllib.loads(scenario.text)
    told = _facts(scenario.name, base, changed, summary, parsed, scenario.text, facts, left_out)
    return told | {"waterfall": None}


def live(
    scenario: Scenario, values: dict[str, Any], summary: dict[str, Any], what: str, *, goes_on: bool
) -> dict[str, Any]:
    """Collect the facts of a live run, in progress or ended; `what` names its changes."""
    facts = {"airpath": _core.version(), "rng": _core.RNG_VERSION, "seed": summary["seed"]}
    told = _facts(scenario.name, None, None, summary, values, scenario.text, facts, {})
    return told | {"what": what, "goes_on": goes_on}


def _facts(
    title: str,
    base: str | None,
    changed: Sequence[str] | None,
    summary: dict[str, Any],
    scenario: dict[str, Any],
    text: str,
    facts: dict[str, Any],
    left_out: Mapping[str, int | None],
) -> dict[str, Any]:
    path, edges = _core.path(text)
    names, summary = path_names(summary, scenario), by_path(summary)
    handovers = [*scenario.get("handover", []), *_measured(summary, scenario)]
    values = {**scenario, "handover": handovers} if handovers else scenario
    return {
        "title": title,
        "base": base,
        "changes": changed,
        "what": described([(key, value) for key, _, value in (one.partition("=") for one in changed or ())]),
        "names": names,
        "chosen": choose_flows(summary),
        "summary": summary,
        "path": path,
        "edges": edges,
        "bearers": json.loads(_core.tables_of(text))["bearers"],
        "values": _without_tables(values),
        "scenario": text[:MOST_SCENARIO],
        "cut": len(text) > MOST_SCENARIO,
        "facts": facts,
        "remarks": [
            {"path": key, "message": message, "hint": hint} for key, message, hint in _core.remarks(text)
        ],
        "left_out": dict(left_out),
        "not_again": None,
        "waterfall": [],
    }


def _measured(summary: dict[str, Any], scenario: dict[str, Any]) -> list[dict[str, Any]]:
    """Tell of hand-overs that UEs have measured, in the form of those that a scenario writes."""
    mobility = scenario.get("mobility", {})
    outages = [one for element in summary["elements"] for one in element.get("outages", []) if "to" in one]
    return [
        {
            "ue": outage["ue"],
            "at": f"{outage['at_s']} s",
            "outage": f"{outage['outage_s']} s",
            "to": outage["to"],
            "path_switch": mobility.get("path_switch", "0 s"),
            "forward": mobility.get("forward", True),
        }
        for outage in outages
    ]


def _without_tables(value: Any) -> Any:
    """Leave out what is too long to be looked at: the text of a trace, and long lists of numbers."""
    if isinstance(value, dict):
        return {key: _without_tables(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_tables(inner) for inner in value[:MOST_ITEMS]]
    return value[:MOST_TEXT] if isinstance(value, str) else value
