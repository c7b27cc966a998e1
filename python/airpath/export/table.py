"""A trace as CSV: one long table with the columns of `trace.parquet`, in its order, units in their names.

The first line names the columns. A column that an event does not have is empty; words are not quoted,
and times have as many digits as it takes to read the same number again.
"""

from __future__ import annotations

from typing import IO

from airpath.export.source import Run, plain


def write_csv(run: Run, out: IO[bytes]) -> None:
    """Write the whole trace as CSV.

    Parameters
    ----------
    run : Run
        Where from.
    out : binary file
        Where to.
    """
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    schema = pa.schema([(field.name, plain(field.type)) for field in run.trace.schema_arrow])
    out.write(",".join(schema.names).encode() + b"\n")
    options = pa_csv.WriteOptions(include_header=False, quoting_style="none")
    with pa_csv.CSVWriter(out, schema, write_options=options) as writer:
        for batch in run.plain_batches():
            writer.write_batch(batch)
