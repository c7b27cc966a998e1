"""Metrics of a run: pure functions of its results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from airpath.runs.renamed import current_name


class NotMeasuredError(ValueError):
    """The run did not measure this metric, such as the time of a transfer that did not end."""


def bearer(summary: dict[str, Any], ue: int, direction: str) -> dict[str, Any] | None:
    """Counters of one radio bearer in `results.json`, or None if the run had no such bearer.

    The direction is ``"downlink"`` or ``"uplink"``. None also if several cells carried packets of the UE, as
    those of a split bearer do.
    """
    found = bearers(summary, ue, direction)
    return found[0][1] if len(found) == 1 and split_bearer(summary, ue) is None else None


def split_bearer(summary: dict[str, Any], ue: int) -> dict[str, Any] | None:
    """Entry of the split bearer with a leg over this interface of a UE, or None if it has none."""
    splits = (element for element in summary["elements"] if element["element"] == "split_bearers")
    found = (split for element in splits for split in element["bearers"])
    return next((split for split in found if any(leg["ue"] == ue for leg in split["downlink"]["legs"])), None)


def bearers(summary: dict[str, Any], ue: int, direction: str) -> list[tuple[str, dict[str, Any]]]:
    """Counters of a UE's radio bearers in a direction, with the name of each one's cell.

    The name is empty in a scenario with one cell. Cells that carried nothing are left out if there are
    several.
    """
    found = []
    for element in summary["elements"]:
        # Boxes may count by UE too.
        if not element["element"].startswith("radio.") or ue >= len(element["ues"]):
            continue
        counters = element["ues"][ue].get(direction)
        cell = element.get("node", "").partition(" ")[2]
        carried = counters and counters["sdus_delivered"] + counters["sdus_dropped"]
        if counters is not None and (carried or not cell):
            found.append((cell, counters))
    return found


def named(name: str) -> Callable[[dict[str, Any]], float]:
    """Make a function that reads the metric of this name from the content of `results.json`.

    The name has keys from the outside to the inside with dots between, such as
    ``"elements.1.ues.0.downlink.utilisation"``. In a list, a number chooses one (from 0) and ``*`` averages
    over all: ``"flows.*.goodput_bps"``. A name that is no key of the results is a key of the first flow:
    ``"goodput_bps"``, ``"rtt_ms.mean"``. Old names of `airpath.runs.renamed` are read as today's.

    Raises
    ------
    ValueError
        If `name` is malformed. The function raises one if a run has no such number, and a
        `NotMeasuredError` if it did not measure it.
    """
    keys = _keys_of(name)
    return lambda summary: _number_at(summary, _from_the_top(keys, summary), name)


def path_of(name: str, summary: dict[str, Any]) -> list[str]:
    """Path of a metric in these results, and in all of the same structure.

    Raises
    ------
    ValueError
        If `name` is malformed.
    """
    return _from_the_top(_keys_of(name), summary)


def _keys_of(name: str) -> list[str]:
    keys = name.split(".") if isinstance(name, str) else []
    if not all(keys) or not keys:
        raise ValueError(f"{name!r} names no metric: write keys of results.json, such as 'goodput_bps'")
    return current_name(name).split(".")


def _from_the_top(keys: list[str], summary: dict[str, Any]) -> list[str]:
    return keys if keys[0] in summary else ["flows", "0", *keys]


def _number_at(inside: Any, path: list[str], name: str) -> float:
    if not path:
        if isinstance(inside, (int, float)):
            return float(inside)
        if inside is None:
            raise NotMeasuredError(f"metric '{name}' is null: not measured, or not ended in time")
        raise ValueError(f"metric '{name}' is no number")
    key, *rest = path
    if key == "*" and isinstance(inside, list) and inside:
        import numpy as np

        return float(np.mean([_number_at(entry, rest, name) for entry in inside]))
    if isinstance(inside, dict) and key in inside:
        return _number_at(inside[key], rest, name)
    if isinstance(inside, list) and key.isdecimal() and int(key) < len(inside):
        return _number_at(inside[int(key)], rest, name)
    if isinstance(inside, dict):
        known = ", ".join(inside)
    else:
        known = f"* or a number below {len(inside)}" if isinstance(inside, list) else "nothing below it"
    raise ValueError(f"metric '{name}': results have no '{key}' there; there is {known}")


def utilisation(summary: dict[str, Any], flow: dict[str, Any]) -> float | None:
    """Share of its radio bearer's capacity that carried IP packets during the run.

    In cells that share slots the capacity is that of the UE alone: a new block in every slot, as large as its
    CQI allowed in the slots in which it had data.

    All flows of the bearer count together. None if the flow crosses no bearer or several, or one that
    shares its rate with others (1xEV-DO's forward link).
    """
    counters = bearer(summary, flow["ue"], flow["direction"]) or {}
    share: float | None = counters.get("utilisation")
    return share


def carried_bytes(flow: dict[str, Any]) -> int:
    """Bytes that a flow carried: acknowledged or received, the larger of those known."""
    return max(flow["bytes_acked"] or 0, flow["bytes_received"] or 0)


def retransmission_share(flow: dict[str, Any]) -> float:
    """Retransmissions per segment sent, 0 to 1; 0 if nothing was sent."""
    sent = flow["segments_sent"]
    return flow["retransmissions"]["total"] / sent if sent else 0.0


def block_error_share(counters: dict[str, Any]) -> float:
    """Lost PDUs per PDU sent on a bearer, 0 to 1; 0 if none was sent or the bearer has no PDUs."""
    sent = counters.get("pdus_sent", 0)
    return counters["pdus_lost"] / sent if sent else 0.0


def with_specs(
    flows: Sequence[dict[str, Any]], specs: Sequence[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Pair flows with their entries in the scenario, in order at each UE; a page has several flows."""
    waiting: dict[int, Iterator[dict[str, Any]]] = {}
    current: dict[int, dict[str, Any] | None] = {}
    for flow in flows:
        ue = flow["ue"]
        own = waiting.setdefault(ue, iter([spec for spec in specs if spec["ue"] in (ue, "each")]))
        if not (flow["app"] == "web" and "web" not in flow):
            current[ue] = next(own, None)
        yield flow, current[ue]
