"""Exports a trace as CSV: the columns of `trace.parquet` in its order, with units in their names.

The first line names the columns. A column that an event lacks is empty, words are not quoted, and times have
enough digits to read the same number again.
"""

from __future__ import annotations

from typing import IO

from airpath.runs.export.source import Run, plain


def write_csv(run: Run, out: IO[bytes]) -> None:
    """Write the whole trace of `run` as CSV to `out`, a binary file."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    schema = pa.schema([(field.name, plain(field.type)) for field in run.trace.schema_arrow])
    out.write(",".join(schema.names).encode() + b"\n")
    options = pa_csv.WriteOptions(include_header=False, quoting_style="none")
    with pa_csv.CSVWriter(out, schema, write_options=options) as writer:
        for batch in run.plain_batches():
            writer.write_batch(batch)
