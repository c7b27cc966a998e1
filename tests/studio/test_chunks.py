"""Chunks of events: a decoder of their documented layout gets back what was written."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airpath.studio.chunks import encode


def decoded(chunk: bytes) -> dict[str, dict[str, Any]]:
    """Read a chunk by its documentation alone."""
    (length,) = struct.unpack_from("<I", chunk)
    assert (4 + length) % 8 == 0
    tables = {}
    for kind, table in json.loads(chunk[4 : 4 + length]).items():
        tables[kind] = {}
        for name, code, offset, *first in table["columns"]:
            dtype = np.dtype("<u1" if isinstance(code, list) else f"<{code.removeprefix('+')}")
            assert offset % dtype.itemsize == 0
            values = np.frombuffer(chunk, dtype, table["rows"], 4 + length + offset)
            if first:
                sums = [first[0] + int(values[: n + 1].sum(dtype=np.uint64)) for n in range(len(values))]
                limit = 2**64 if name == "time_ns" else 256**dtype.itemsize
                tables[kind][name] = [number % limit for number in sums]
            else:
                tables[kind][name] = [code[n] for n in values] if isinstance(code, list) else values.tolist()
    return tables


@st.composite
def tables(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    """Kinds of events with columns of numbers and of words."""
    kinds = draw(st.lists(st.text(min_size=1, max_size=5), max_size=4, unique=True))
    return {kind: draw(columns()) for kind in kinds}


@st.composite
def columns(draw: st.DrawFn) -> dict[str, Any]:
    rows = draw(st.integers(0, 9))
    most = draw(st.lists(st.sampled_from([0, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, 2**53]), max_size=4))
    found: dict[str, Any] = {"time_ns": numbers(draw, rows, 2**53)}
    if draw(st.booleans()):
        found["time_ns"].sort()
    for name, limit in zip(("seq", "lsn", "first_sn", "ack"), most, strict=False):
        found[name] = numbers(draw, rows, limit)
    words = draw(st.lists(st.text(max_size=3), min_size=1, max_size=5, unique=True))
    codes = draw(st.lists(st.integers(0, len(words) - 1), min_size=rows, max_size=rows))
    return {**found, "cause": (np.array(codes, np.int32), words)}


def numbers(draw: st.DrawFn, rows: int, most: int) -> Any:
    return np.array(draw(st.lists(st.integers(0, most), min_size=rows, max_size=rows)), np.uint64)


@pytest.mark.slow
@given(tables(), st.booleans())
def test_what_is_encoded_is_decoded(events, differences):
    wanted = {
        kind: {
            name: [column[1][code] for code in column[0]] if isinstance(column, tuple) else column.tolist()
            for name, column in columns.items()
        }
        for kind, columns in events.items()
    }
    chunk = encode(events, differences=differences)
    assert decoded(chunk) == wanted
    assert encode(events, differences=differences) == chunk


def test_times_and_numbers_that_count_up_are_deflated_as_differences():
    columns = {"time_ns": [10**12, 10**12 + 5], "seq": [65_536, 1], "first_sn": [4095, 0], "ack": [7, 8]}
    table = {name: np.array(values, np.uint64) for name, values in columns.items()}
    text = encode({"kind": table}, differences=True).decode("latin-1")
    types = ('["time_ns","+u4",0,1000000000000]', '["seq","+u4",8,65536]', '["first_sn","+u2",16,4095]')
    assert all(each in text for each in types) and '["ack","u1",20]' in text
    # Times that are far apart stay as they are.
    table["time_ns"] = np.array([0, 2**32], np.uint64)
    assert b'["time_ns","f8",0]' in encode({"kind": table}, differences=True)


@pytest.mark.parametrize(
    ("largest", "code"), [(255, "u1"), (256, "u2"), (65_535, "u2"), (65_536, "u4"), (2**32, "f8")]
)
def test_a_column_is_as_narrow_as_its_values_allow(largest, code):
    chunk = encode({"kind": {"time_ns": np.array([1], np.uint64), "n": np.array([largest], np.uint64)}})
    assert f'["n","{code}",8]'.encode() in chunk and b'["time_ns","f8",0]' in chunk


def test_more_words_than_a_byte_tells_apart_are_refused():
    words = [str(n) for n in range(257)]
    with pytest.raises(ValueError, match="column cause has 257 words"):
        encode({"kind": {"time_ns": np.array([1], np.uint64), "cause": (np.array([256]), words)}})
