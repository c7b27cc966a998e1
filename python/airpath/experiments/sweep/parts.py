"""Files of a sweep's runs, possibly untrusted: read within bounds, and only if they are the sweep's.

Keys are digests, which no compression makes smaller: a file with more rows than its octets allow is none of a
sweep. Columns of parameters are not read, as the manifest has them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from airpath.errors import SweepError
from airpath.experiments.sweep.plan import run_keys
from airpath.experiments.sweep.readers import MOST_WORDS
from airpath.files.text import open_to_read
from airpath.runs.renamed import current_name
from airpath.runs.trace import MOST_BYTES_OF_WORDS, MOST_BYTES_PER_ROW, MOST_NUMBERS

KEY_BYTES = 32
"""Octets of a file that a row needs at least: half of its key, which is written in hexadecimal digits."""
_OWN = ("key", "point", "seed")
_WORDS = {"key": 64, "error": 4 * MOST_WORDS}
"""Columns of text that are read, and the octets of their words at most."""


class Parts:
    """Reads files of one sweep, whose manifest it has, up to so many numbers in all."""

    def __init__(self, out: Path, manifest: Mapping[str, Any]) -> None:
        self._out, self._manifest, self._left = out, manifest, MOST_NUMBERS

    def read(self, path: Path) -> pa.Table | None:
        """Read the runs of a file without their parameters; None if they are not of this sweep.

        Raises
        ------
        pyarrow.ArrowException, OSError, ValueError
            If the file cannot be read, is damaged, or would take far more memory than its octets.
        SweepError
            If the folder has too many numbers.
        """
        with open_to_read(path) as file:
            try:
                there = pq.ParquetFile(
                    file, page_checksum_verification=True, read_dictionary=list(_WORDS), pre_buffer=False
                )
            except KeyError as error:  # Names of columns in a damaged footer.
                raise ValueError(f"has no column {error}") from None
            columns = self._columns(pq.read_schema(file))
            if columns is None:
                return None
            _check_sizes(there.metadata, columns, os.fstat(file.fileno()).st_size)
            self._left -= there.metadata.num_rows * len(columns)
            if self._left < 0:
                what = f"holds more than {MOST_NUMBERS / 1e6:.0f} million numbers"
                raise SweepError(str(self._out), what, "sweep into several folders")
            # A thread of Arrow that has just started may abort a process that ends
            # (https://github.com/apache/arrow/issues/34314): decoding starts one, buffering ahead another.
            table = there.read(columns=columns, use_threads=False).select(columns)
        table = _plain(table).rename_columns([current_name(name, silent=True) for name in columns])
        return table if self._is_of(table) else None

    def _columns(self, schema: pa.Schema) -> list[str] | None:
        """Names of columns without those of parameters; None if the types of some are not a sweep's."""
        metrics, parameters = self._manifest["metrics"], self._manifest["parameters"]
        types = {"key": pa.string(), "point": pa.int64(), "seed": pa.int64(), "error": pa.string()}
        types |= dict.fromkeys(metrics, pa.float64())
        today = {current_name(name, silent=True) for name in schema.names}
        # Other numbers are metrics that the sweep's file no longer names.
        names = [one.name for one in schema if one.name in types or one.type.equals(pa.float64())]
        names = [name for name in names if name in types or name not in parameters]
        if len(today) < len(schema.names) or not set(_OWN) <= set(names):
            return None
        if any(not schema.field(name).type.equals(types.get(name, pa.float64())) for name in names):
            return None
        return names

    def _is_of(self, table: pa.Table) -> bool:
        """Whether each row of a file is a run of this sweep; metrics may be missing, or be more."""
        keys, numbers, seeds = (table[name].to_pylist() for name in _OWN)
        digests = [point["scenario_sha256"] for point in self._manifest["points"]]
        if None in seeds or not all(number is not None and 0 <= number < len(digests) for number in numbers):
            return False
        made_by = self._manifest["airpath"], self._manifest["rng"]
        return bool(keys == run_keys((digests[number] for number in numbers), seeds, *made_by))


def _check_sizes(table: pq.FileMetaData, columns: Sequence[str], octets: int) -> None:
    """Refuse a file that unfolds to far more than its octets.

    It has a key for each row, and one value in each column, of bounded length.
    """
    if table.num_rows > octets / KEY_BYTES:
        raise pa.ArrowInvalid(f"it has {table.num_rows} rows in {octets} bytes")
    for group in map(table.row_group, range(table.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            name = column.path_in_schema
            if not any(name == one or name.startswith(f"{one}.") for one in columns):
                continue
            most = (_WORDS.get(name, 0) + MOST_BYTES_PER_ROW) * group.num_rows + MOST_BYTES_OF_WORDS
            if column.total_uncompressed_size > most or column.num_values != group.num_rows:
                megabytes = column.total_uncompressed_size / 1e6
                raise pa.ArrowInvalid(f"its column {name} holds {megabytes:.0f} MB in {group.num_rows} rows")


def _plain(table: pa.Table) -> pa.Table:
    """Write words out in each row, once their lengths are known."""
    for place, name in enumerate(table.column_names):
        if name not in _WORDS:
            continue
        column = table[name]
        for chunk in column.chunks:
            if len(chunk) and (pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0) > _WORDS[name]:
                raise pa.ArrowInvalid(f"its column {name} has a value of more than {_WORDS[name]} bytes")
        table = table.set_column(place, name, column.cast(pa.string()))
    return table
