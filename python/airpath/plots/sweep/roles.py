"""Roles of parameters that distinguish the series of a figure: colour, mark, and the place of the panel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from airpath.errors import SweepError
from airpath.plots.sweep.choice import named_in

BY, COLOR, MARKER = "by", "color", "marker"
"""A line, path or curve for each value: with its own colour and mark, or only one of both."""
ROW, COLUMN, PANEL = "row", "col", "panel"
"""A panel for each value: a row or a column of a grid, or one panel after the other."""
STYLES, PLACES = (BY, COLOR, MARKER), (ROW, COLUMN, PANEL)

Roles = dict[str, tuple[str, ...]]
"""Keys of each role; roles without keys are absent. Panels come first, then `BY` or `COLOR` and `MARKER`."""


def read_roles(
    kind: str,
    parameters: Sequence[str],
    *,
    by: Iterable[str],
    color: Iterable[str],
    marker: Iterable[str],
    facet: Mapping[str, str | Iterable[str]] | Iterable[str],
) -> Roles:
    """Read which parameters have which role; names may be unique endings.

    Raises
    ------
    SweepError
        If there is no such parameter, if one has two roles, or if roles exclude each other.
    """
    given: dict[str, list[str]] = {role: [] for role in (*PLACES, *STYLES)}
    for role, name in _facets(facet):
        given[role].append(named_in("--facet", name, parameters, "parameter"))
    for role, names in ((BY, by), (COLOR, color), (MARKER, marker)):
        given[role] += [named_in(f"--{role}", name, parameters, "parameter") for name in names]
    if kind == "heat":
        for role in (COLOR, MARKER):
            if given[role]:
                raise SweepError(f"--{role}", "has no meaning in a heat figure", "make panels with --facet")
        given[PANEL] += given.pop(BY)
    roles = {role: tuple(dict.fromkeys(names)) for role, names in given.items() if names}
    if BY in roles and (other := next((role for role in (COLOR, MARKER) if role in roles), None)):
        free = MARKER if other == COLOR else COLOR
        what = f"has no meaning with --{other}, since it takes both colours and marks"
        raise SweepError("--by", what, f"use --{free} for this key")
    if PANEL in roles and (ROW in roles or COLUMN in roles):
        what = f"'{roles[PANEL][0]}' is neither a row nor a column of the grid"
        raise SweepError("--facet", what, "write row=KEY or col=KEY")
    _refuse_twice(roles)
    return roles


def option_of(role: str) -> str:
    """Option that gives a key a role."""
    return "--facet" if role in PLACES else f"--{role}"


def _refuse_twice(roles: Roles) -> None:
    seen: dict[str, str] = {}
    for role, keys in roles.items():
        for key in keys:
            if key in seen:
                both = {role, seen[key]} == {COLOR, MARKER}
                hint = "use --by for colours and marks" if both else "leave one of them out"
                raise SweepError(option_of(role), f"'{key}' is in {option_of(seen[key])} too", hint)
            seen[key] = role


def _facets(facet: Mapping[str, str | Iterable[str]] | Iterable[str]) -> Iterable[tuple[str, str]]:
    """Read facets, KEY, row=KEY or col=KEY, or a mapping of these to keys."""
    if isinstance(facet, Mapping):
        facet = [
            f"{where}={name}"
            for where, names in facet.items()
            for name in ([names] if isinstance(names, str) else names)
        ]
    for one in facet:
        where, equals, name = (part.strip() for part in one.rpartition("="))
        if not equals:
            yield PANEL, name
        elif where in (ROW, COLUMN):
            yield where, name
        else:
            raise SweepError("--facet", f"'{one}' is no facet", "write KEY, row=KEY or col=KEY")
