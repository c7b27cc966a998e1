"""Events as chunks of bytes that a browser reads without copying: `static/events.js` is the other side.

A chunk is `u32 n | header | columns`, little-endian. The header is JSON in UTF-8, n bytes including
trailing spaces, so that the columns begin at a multiple of 8:

    {kind: {"rows": rows, "columns": [[name, type, offset], ...]}}

An offset counts bytes from where the columns begin and suits the type: ``"f8"``, ``"u4"``, ``"u2"`` or
``"u1"``, the narrowest that holds all values of the column. A list of words instead of the type means codes
of one byte into that list. Times are nanoseconds in ``"f8"``, exact for 104 days.

A chunk that is going to be deflated has differences instead of times and numbers that count up, since these
are mostly the same: ``[name, "+u4", offset, first]`` is the first value, and how much each one, the first
too, is above the one before it, modulo the type's range. For times they add up without a limit.

`crates/core/src/trace/chunk.rs` writes them: from a simulation without NumPy, and here from columns in
memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from airpath import _core

if TYPE_CHECKING:
    from airpath.runs.trace import Events, RawColumn

MOST_WORDS = 2**8
"""Words that a column may have: a code has a byte."""


def encode(events: Events, *, differences: bool = False) -> bytes:
    """Write events as a chunk, with `differences` for deflating; the same events give the same bytes.

    Raises
    ------
    ValueError
        If a column has more than 256 words.
    """
    return _core.chunk(
        {
            kind: {name: _in_one_piece(name, column) for name, column in columns.items()}
            for kind, columns in events.items()
        },
        differences,
    )


def _in_one_piece(name: str, column: RawColumn) -> Any:
    if not isinstance(column, tuple):
        return np.ascontiguousarray(column, np.uint64)
    codes, words = column
    if len(words) > MOST_WORDS:
        raise ValueError(f"column {name} has {len(words)} words: a byte has room for {MOST_WORDS}")
    return np.ascontiguousarray(codes, np.uint8), words
