"""`airpath import`: writes a recording of another tool in neutral form."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from airpath.cli.arguments import ForceOption, JsonOption, argument, option
from airpath.cli.output import STANDARD_OUTPUT, opened, tell
from airpath.errors import ScenarioError
from airpath.recordings.reader import read_recording
from airpath.recordings.statistics import describe
from airpath.report.recording import Link, describe_report
from airpath.terminal import console_for, say


def command(
    recording: Annotated[
        Path, argument("RECORDING", "A recording in any of the known formats, also as .gz.")
    ],
    out: Annotated[
        Path,
        option(
            "FILE", "Where to write milliseconds, or CSV of times and rates; - is standard output.", "--out"
        ),
    ],
    column: Annotated[
        str | None, option("NAME", "Operator in a file of 5Gophers, or column of rates in one of UCC.")
    ] = None,
    radio: Annotated[
        Path | None,
        option("FILE", "Where to write what else a log has by time, such as RSRP, as CSV.", "--radio"),
    ] = None,
    force: ForceOption = False,
    json_: JsonOption = False,
) -> None:
    """Write a recording of another tool in the form that scenarios and `airpath live` take."""
    found = read_recording(recording, column=column)
    if radio is not None and not (found.series and found.series.radio):
        raise ScenarioError("--radio", f"{found.name} has nothing but rates", "leave it out")
    if radio is not None and radio.resolve() == out.resolve():
        raise ScenarioError("--radio", f"'{radio}' is the file of --out", "choose another place")
    with ExitStack() as files:  # Both appear, or none.
        files.enter_context(opened("--out", out, force)).write(found.text().encode())
        if radio is not None:
            files.enter_context(opened("--radio", radio, force)).write(found.radio_text().encode())
    if out == STANDARD_OUTPUT:
        return
    statistics = describe(found)
    said = {"name": found.name, "format": found.format, "notes": list(found.notes), **statistics.as_dict()}
    tell(json_, said, describe_report([Link(found.name, found.format, statistics, found.notes)]))
    if not json_:
        name, parameters = found.channel()
        more = "".join(f', {key} = "{value}"' for key, value in parameters.items() if key == "repeat")
        say(console_for(), f'in a scenario: channel.{name} = {{ file = "{out}"{more} }}')
