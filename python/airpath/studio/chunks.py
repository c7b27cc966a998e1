"""Events as chunks of bytes that a browser reads without copying: `static/events.js` is the other side.

A chunk is `u32 n | header | columns`, little-endian. The header is JSON in UTF-8, n bytes with the spaces
behind it, so that the columns begin at a multiple of 8:

    {kind: {"rows": rows, "columns": [[name, type, offset], ...]}}

An offset counts bytes from where the columns begin and suits the type: ``"f8"``, ``"u4"``, ``"u2"`` or
``"u1"``, the narrowest that holds all values of the column. A list of words in place of the type means codes
of one byte into that list. Times are nanoseconds in ``"f8"``, exact for 104 days.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from airpath.runs.trace import Events, RawColumn

ALIGNMENT = 8
"""Bytes: the columns begin at a multiple of this."""

_LIMITS = (("u1", 2**8), ("u2", 2**16), ("u4", 2**32))


def encode(events: Events) -> bytes:
    """Write events as a chunk; the same events give the same bytes.

    Raises
    ------
    ValueError
        If a column has more than 256 words.
    """
    header: dict[str, dict[str, Any]] = {}
    parts: list[bytes] = []
    end = 0
    for kind, columns in events.items():
        described = []
        for name, column in columns.items():
            code, values = _narrowed(name, column)
            padding = -end % values.dtype.itemsize
            described.append([name, code, end + padding])
            parts += [bytes(padding), values.tobytes()]
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
