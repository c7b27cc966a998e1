"""Names in results that have changed: files with the old ones are read, and the old ones are understood.

`RENAMED` has all of them, as CHANGELOG.md under "Deprecated". Readers of files pass what they read through
`current`, readers of names of metrics the name through `current_name`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from airpath.errors import RenamedWarning

RENAMED = {
    "elements.*.local_retransmissions.needless": "spurious",
    "live.fates": "outcomes",
    "connections.*.flows.*.counters.behind_their_ack": "after_their_ack",
    "connections.*.flows.*.path.*.under_way": "in_transit",
    "conversations.*.flows.*.path.*.under_way": "in_transit",
    "bearers.*.resends": "retransmits",
}
"""What the last key of a name is called today: of `results.json`, of the analysis of a capture, and of a
trace's `tables.json`.

Names have keys from the outside to the inside, as those of metrics; `*` is any key or index.
"""

_told: set[str] = set()


class _Table(dict[str, Any]):
    """A table of results with today's keys, which can be read by their old names too."""

    def __init__(self, table: dict[str, Any], old: str, new: str) -> None:
        super().__init__({new if key == old else key: value for key, value in table.items()})
        self._today = {**getattr(table, "_today", {}), old: new}

    def __missing__(self, key: str) -> Any:
        if key not in self._today:
            raise KeyError(key)
        _tell(key, self._today[key])
        return self[self._today[key]]

    def get(self, key: str, default: Any = None) -> Any:
        """As of a dict."""
        return self[key] if key in self or key in self._today else default


def current(results: dict[str, Any]) -> dict[str, Any]:
    """Give old keys of results, or of an analysis, their names of today, in place.

    The old names can still be read; the first use of each warns.
    """
    for old, new in RENAMED.items():
        _rename(results, old.split("."), new)
    return results


def current_name(name: str, *, silent: bool = False) -> str:
    """Name a metric as it is called today; the first use of an old name warns, unless `silent`."""
    keys = name.split(".")
    for old, new in RENAMED.items():
        path = old.split(".")
        if len(keys) >= len(path) and all(map(_is_same, path, keys)):
            today = ".".join([*keys[: len(path) - 1], new, *keys[len(path) :]])
            if not silent:
                _tell(name, today)
            return today
    return name


def former_names(name: str) -> Iterator[str]:
    """Give the old names of a metric, without a warning."""
    keys = name.split(".")
    for old, new in RENAMED.items():
        *path, last = old.split(".")
        if len(keys) > len(path) and all(map(_is_same, [*path, new], keys)):
            yield ".".join([*keys[: len(path)], last, *keys[len(path) + 1 :]])


def _is_same(key: str, name: str) -> bool:
    return key in ("*", name)


def _rename(inside: Any, path: Sequence[str], new: str) -> Any:
    """Rename the key at the end of a path; return what takes the place of what the path begins in."""
    key, *rest = path
    if not rest:
        is_there = isinstance(inside, dict) and (key in inside or new in inside)
        return _Table(inside, key, new) if is_there else inside
    if isinstance(inside, dict):
        for one in list(inside) if key == "*" else [key] if key in inside else []:
            inside[one] = _rename(inside[one], rest, new)
    elif isinstance(inside, list) and key == "*":
        inside[:] = [_rename(one, rest, new) for one in inside]
    return inside


def _tell(old: str, new: str) -> None:
    if old not in _told:
        _told.add(old)
        warnings.warn(f"'{old}' is called '{new}' now; the old name will go", RenamedWarning, stacklevel=3)
