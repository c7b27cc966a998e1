"""Events as chunks of bytes that a browser reads without copying: `static/events.js` is the other side.

A chunk is `u32 n | header | columns`, little-endian. The header is JSON in UTF-8, n bytes with the spaces
behind it, so that the columns begin at a multiple of 8:

    {kind: {"rows": rows, "columns": [[name, type, offset], ...]}}

An offset counts bytes from where the columns begin and suits the type: ``"f8"``, ``"u4"``, ``"u2"`` or
``"u1"``, the narrowest that holds all values of the column. A list of words in place of the type means codes
of one byte into that list. Times are nanoseconds in ``"f8"``, exact for 104 days.

A chunk that is going to be deflated has differences in place of times and numbers that count up, since these
are mostly the same: ``[name, "+u4", offset, first]`` is the first value, and how much each one, the first
too, is above the one before it, modulo the type's range. Of times they add up without a limit.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from airpath.runs.trace import Events, RawColumn

ALIGNMENT = 8
"""Bytes: the columns begin at a multiple of this."""

_COUNTING = ("seq", "snd_una", "rcv_nxt", "first_sn", "sdu")
"""Columns besides times that are deflated as differences."""

_LIMITS = (("u1", 2**8), ("u2", 2**16), ("u4", 2**32))


def encode(events: Events, *, differences: bool = False) -> bytes:
    """Write events as a chunk, with `differences` for deflating; the same events give the same bytes.

    Raises
    ------
    ValueError
        If a column has more than 256 words.
    """
    header: dict[str, dict[str, Any]] = {}
    parts: list[bytes | memoryview] = []
    end = 0
    for kind, columns in events.items():
        described = []
        for name, column in columns.items():
            code, values = _narrowed(name, column)
            first = []
            if differences and (differing := _differences(name, column, values)) is not None:
                code, first, values = f"+{differing.dtype.str[1:]}", [int(column[0])], differing
            padding = -end % values.dtype.itemsize
            described.append([name, code, end + padding, *first])
            parts += [bytes(padding), values.data]
            end += padding + values.nbytes
        header[kind] = {"rows": len(columns["time_ns"]), "columns": described}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(4 + len(text)) % ALIGNMENT)
    return b"".join([len(text).to_bytes(4, "little"), text, *parts])


def _narrowed(name: str, column: RawColumn) -> tuple[str | list[str], NDArray[Any]]:
    """Choose the type of a column, or its words; return it with the values in that type."""
    if isinstance(column, tuple):
        codes, words = column
        if len(words) > 2**8:
            raise ValueError(f"column {name} has {len(words)} words: a byte has room for 256")
        return words, codes.astype("<u1")
    largest = int(column.max(initial=0))
    fits = "f8" if name == "time_ns" else next((code for code, limit in _LIMITS if largest < limit), "f8")
    return fits, column.astype(f"<{fits}")


def _differences(name: str, column: RawColumn, values: NDArray[Any]) -> NDArray[Any] | None:
    """Take the differences of a column, the first one zero; None if it is to stay as it is."""
    if isinstance(column, tuple) or not len(column):
        return None
    if name == "time_ns":
        apart = np.diff(column, prepend=column[:1])
        return apart.astype("<u4") if int(apart.max()) < 2**32 else None
    if name not in _COUNTING or values.dtype.kind == "f":
        return None
    return np.diff(values, prepend=values[:1])
