"""What differs in a scenario from the one that it was made of: for titles, manifests and pages.

The comparison is of resolved scenarios, so a setting that was written and changes nothing is none. A profile
of TCP or a component that was chosen represents the keys that it sets; keys that differ from what it sets are
named in addition.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from airpath.scenario import Scenario, bundled, inline, load

Changes = tuple[tuple[str, str], ...]
"""Keys and values, as `Scenario.overrides` has them."""

MOST_NAMED = 3
"""Most changes that a title names."""
MOST_VALUE = 32
"""Most characters of a value in a title."""
ABRIDGED = 1000
"""Most characters of a value in a manifest, which may be a recording."""
ABSENT = "absent"


def differing(base: Scenario, own: Mapping[str, Any]) -> Changes:
    """Find the fewest changes that make `own`, a resolved scenario, of another one."""
    chosen: dict[str, str] = {}
    # A profile decides which components there are, these which keys, and some keys the defaults of others.
    for find in (_profiles, _components, _components, _leaves, _leaves):
        try:
            before = _resolved(base, chosen)
        except ValueError:  # Not all that a resolved scenario has can be written.
            break
        for key, value in find("", before, own):
            # A component that is not valid by itself is written with its keys.
            if find is _leaves or _is_valid(base, chosen | {key: value}):
                chosen[key] = value
    return tuple(chosen.items())


def changes_of(scenario: Scenario) -> Changes:
    """Find what differs in a scenario from the bundled one of its name, or from its own file."""
    if scenario.name in bundled():
        base: Scenario | None = load(scenario.name)
    elif not scenario.overrides:
        return ()
    else:
        try:
            base = Scenario(scenario.name, scenario.source, (), scenario.folder)
        except ValueError:  # Of use only when it is changed.
            base = None
    if base is None:
        return scenario.overrides
    return () if base.text == scenario.text else differing(base, tomllib.loads(scenario.text))


def changes_of_resolved(name: str, own: Mapping[str, Any]) -> Changes | None:
    """Find what differs in a resolved scenario from the bundled one of its name; None if that is not known.

    Changing the bundled scenario so gives this scenario.
    """
    if name not in bundled():
        return None
    found = differing(load(name), own)
    try:
        is_whole = tomllib.loads(load(name, found).text) == own
    except ValueError:
        is_whole = False
    return found if is_whole else None


def described(changes: Sequence[tuple[str, str]], most: int = MOST_NAMED) -> str:
    """Name changes in a few words: ``"tcp.cc = cubic, duration = 10 s and 5 more"``."""
    words = ", ".join(f"{key} = {shortened(value)}" for key, value in changes[:most])
    more = len(changes) - most
    return f"{words} and {more} more" if more > 0 else words


def as_settings(changes: Changes) -> list[str]:
    """Write changes as arguments of `--set`."""
    return [f"{key}={value}" for key, value in changes]


def titled(scenario: Scenario, seed: int | None = None) -> str:
    """Name a run: scenario, what was changed in it, and seed."""
    parts = (scenario.name, described(changes_of(scenario)), "" if seed is None else f"seed {seed}")
    return ", ".join(filter(None, parts))


def shortened(value: str) -> str:
    """Write a value on one line, cut if it is long, such as a recording."""
    line = " ".join(value.split())
    return line if len(line) <= MOST_VALUE else f"{line[: MOST_VALUE - 3]}..."


def _resolved(base: Scenario, chosen: Mapping[str, str]) -> dict[str, Any]:
    """Resolve a changed scenario."""
    overrides = (*base.overrides, *chosen.items())
    return tomllib.loads(Scenario(base.name, base.source, overrides, base.folder).text)


def _is_valid(base: Scenario, chosen: Mapping[str, str]) -> bool:
    try:
        _resolved(base, chosen)
    except ValueError:
        return False
    return True


def _profiles(path: str, before: Any, own: Any) -> Iterator[tuple[str, str]]:
    """Find profiles of TCP that differ."""
    for key, there, value in _inner(path, before, own):
        if key.endswith(".profile") and isinstance(value, str) and value != there:
            yield key, value
        else:
            yield from _profiles(key, there, value)


def _components(path: str, before: Any, own: Any) -> Iterator[tuple[str, str]]:
    """Find components that were replaced by others: a table of one table, with another name."""
    if _is_another(before, own):
        yield path, next(iter(own))
    else:
        for key, there, value in _inner(path, before, own):
            yield from _components(key, there, value)


def _is_another(before: Any, own: Any) -> bool:
    """Whether both are components or distributions, of different names."""
    are_tables = isinstance(before, dict) and isinstance(own, dict)
    return are_tables and len(before) == len(own) == 1 and before.keys() != own.keys()


def _inner(path: str, before: Any, own: Any) -> Iterator[tuple[str, Any, Any]]:
    """List what two tables, or two lists of as many tables, have at each key; None for nothing."""
    if isinstance(before, dict) and isinstance(own, dict):
        for key in dict.fromkeys((*own, *before)):
            yield f"{path}.{key}" if path else key, before.get(key), own.get(key)
    elif _are_alike(before, own):
        for place, (there, value) in enumerate(zip(before, own, strict=True)):
            yield f"{path}[{place}]", there, value


def _are_alike(before: Any, own: Any) -> bool:
    """Whether both are lists of as many tables."""
    are_lists = isinstance(before, list) and isinstance(own, list) and len(before) == len(own)
    return are_lists and all(isinstance(one, dict) for one in (*before, *own))


def _leaves(path: str, before: Any, own: Any) -> Iterator[tuple[str, str]]:
    """Find the values that differ, whole lists and whole components among them."""
    if before == own:
        return
    inner = [] if _is_another(before, own) else list(_inner(path, before, own))
    if inner:
        for key, there, value in inner:
            yield from _leaves(key, there, value)
    elif own is None:
        yield path, ABSENT
    else:
        yield path, _written(own)


def _written(value: Any) -> str:
    """Write a value of an override: text as it is, unless it would be taken for another value of TOML."""
    if not isinstance(value, str):
        return inline(value)
    try:
        tomllib.loads(f"x = {value}")
    except tomllib.TOMLDecodeError:
        return value
    return inline(value)
