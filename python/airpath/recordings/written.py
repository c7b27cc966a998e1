"""Writes a fitted process or cell as a scenario, or a process as a model that scenarios name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from airpath.recordings.cells import Cell
from airpath.scenario import inline

Model = Mapping[str, Any]
_ASSUMED = "which a recording of opportunities does not have"
_RTT_MS = 34.0
_BEARER_MS = 3.0
"""Delay of a bearer, at most: the rest of half the RTT is the wire's."""


def model_json(model: Model) -> str:
    """Write a model for `channel.process.file`."""
    return json.dumps(model, separators=(",", ":")) + "\n"


def scenario_toml(
    comments: Sequence[str], downlink: Model, uplink: Model | None, mean: str | None, rtt_ms: float | None
) -> str:
    """Write a download over a fitted link; the uplink carries 12 Mbit/s if it has no model.

    `rtt_ms` is that of the idle path, or None where it is not known.
    """
    assumed = "delays and queues" if rtt_ms is None else "queues"
    lines = [*(f"# {line}" for line in comments), f"# ASSUMED: {assumed}, {_ASSUMED}"]
    one_way = (_RTT_MS if rtt_ms is None else rtt_ms) / 2
    bearer = min(_BEARER_MS, one_way / 2)
    wire = f'wired = {{ rate = "10 Gbit/s", delay = "{one_way - bearer:.6g} ms" }}'
    lines += ['duration = "60 s"', wire, ""]
    for name, model in (("downlink", downlink), ("uplink", uplink)):
        own = f"radio.variable.{name}"
        lines += [f"[{own}]", f'delay = "{bearer:.6g} ms"', 'queue.droptail.bytes = "1 MB"']
        if model is None:
            lines += ['channel.trace_file.trace = "1"', ""]
            continue
        if mean is not None and name == "downlink":
            lines += [f"channel.process.mean = {inline(mean)}"]
        lines += [f"[{own}.channel.process.model]", *_model(model), ""]
    lines += ["[tcp]", 'profile = "linux"', "", "[[flow]]", "app.bulk = {}"]
    return "\n".join(lines) + "\n"


def cell_toml(comments: Sequence[str], cell: Cell) -> str:
    """Write a download over a fitted cell."""
    lines = [*(f"# {line}" for line in comments), f"# ASSUMED: delays and queues, {_ASSUMED}"]
    lines += ['duration = "60 s"', 'wired = { rate = "1 Gbit/s", delay = "15 ms" }', ""]
    ((name, radio),) = cell.radio().items()
    for direction, table in radio.items():
        lines.append(f"[radio.{name}.{direction}]")
        lines += [f"{key} = {inline(value)}" for key, value in table.items() if key != "reception"]
        if "reception" in table:
            lines.append(f"[radio.{name}.{direction}.reception]")
            lines += [f"{key} = {inline(value)}" for key, value in table["reception"].items()]
        lines.append("")
    lines += ["[tcp]", 'profile = "linux"', "", "[[flow]]", "app.bulk = {}"]
    return "\n".join(lines) + "\n"


def _model(model: Model) -> list[str]:
    """Write a table, arrays of tables with a line for each."""
    lines = []
    for key, value in model.items():
        if key == "texture":
            lines += [f"{key} = [", *(f"    {inline(one)}," for one in value), "]"]
        else:
            lines.append(f"{key} = {inline(value)}")
    return lines
