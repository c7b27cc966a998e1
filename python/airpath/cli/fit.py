"""`airpath fit`: writes a scenario whose link has the statistics of a recording."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from airpath.cli.arguments import ForceOption, JsonOption, argument, flag, option
from airpath.cli.output import STANDARD_OUTPUT, check_free, tell, write_file
from airpath.errors import ScenarioError
from airpath.progress import progress_bar
from airpath.recordings.fitting import fit_process
from airpath.recordings.judged import compare_transfers, statistics_of
from airpath.recordings.reader import read_recording
from airpath.recordings.recording import Recording
from airpath.recordings.statistics import describe, describe_counts
from airpath.recordings.written import model_json, scenario_toml
from airpath.report.fit import fit_report, warnings_of
from airpath.scenario import Scenario

SHORTEST_S = 60


def command(
    recording: Annotated[
        Path, argument("RECORDING", "A recording in any of the known formats, also as .gz.")
    ],
    out: Annotated[
        Path, option("FILE", "Where to write the scenario; if it ends in .json, the model alone.", "--out")
    ],
    uplink: Annotated[
        Path | None, option("RECORDING", "The uplink, recorded at the same time.", "--uplink")
    ] = None,
    from_: Annotated[float, option("SECONDS", "Begin of the part that is fitted.", "--from", min=0)] = 0.0,
    to: Annotated[
        float | None, option("SECONDS", "End of that part; of the recording if absent.", min=0)
    ] = None,
    mean: Annotated[
        str | None, option("RATE", "Mean rate of the scenario, such as '8 Mbit/s'; as recorded if absent.")
    ] = None,
    column: Annotated[
        str | None, option("NAME", "Operator in a file of 5Gophers, or column of rates in one of UCC.")
    ] = None,
    transfers: Annotated[
        bool, flag("--transfers/--no-transfers", "Whether to compare transfers over both.")
    ] = True,
    force: ForceOption = False,
    json_: JsonOption = False,
) -> None:
    """Write a scenario whose link has the statistics of a recording, with a report on both."""
    if out != STANDARD_OUTPUT:
        check_free("--out", out, force)
    read = _part(read_recording(recording, column=column), from_, to)
    other = _part(read_recording(uplink), from_, to) if uplink else None
    own = read.in_ms()
    origin = f"{read.name}, {read.duration_s:.0f} s: {read.format}"
    model = _fitted(recording, own, other, origin)
    model_up = _fitted(uplink, other.in_ms(), read, f"{other.name}, uplink") if uplink and other else None
    statistics, modelled = describe(read), statistics_of(model, len(own))
    found = []
    if transfers:
        with progress_bar(f"transfers over {read.name}") as progress:
            found = compare_transfers(own, model, progress=progress)
    warnings = warnings_of(read, statistics, describe_counts(own))
    comments = [
        f"a download over a link fitted to {origin}",
        "",
        *(f"{one}" for one in warnings),
        f"mean {statistics.mean_mbps:.3f} Mbit/s; the process of channel.process, by airpath fit",
    ]
    text = scenario_toml(comments, model, model_up, mean)
    Scenario(out.stem, text)  # The core checks --mean.
    write_file("--out", out, model_json(model) if out.suffix == ".json" else text, force)
    if out == STANDARD_OUTPUT:
        return
    said: dict[str, Any] = {
        "recording": {"name": read.name, "format": read.format, "notes": list(read.notes)},
        "recorded": statistics.as_dict(),
        "modelled": modelled.as_dict(),
        "transfers": [asdict(one) for one in found],
        "warnings": warnings,
        "model": model,
    }
    tell(json_, said, fit_report(read, statistics, modelled, found, warnings, out))


def _part(read: Recording, from_s: float, to_s: float | None) -> Recording:
    end_s = read.duration_s if to_s is None else to_s
    if to_s is not None and to_s > read.duration_s:
        what = f"{read.name} ends at {read.duration_s:.1f} s"
        raise ScenarioError("--to", what, "write an earlier time, or leave it out")
    if end_s - from_s < SHORTEST_S:
        what = f"{max(end_s - from_s, 0):.1f} s of {read.name} are too short to fit"
        raise ScenarioError("RECORDING", what, f"give at least {SHORTEST_S} s; five minutes are better")
    return read.part(from_s, end_s)


def _fitted(path: Path, own: np.ndarray[Any, Any], other: Recording | None, origin: str) -> dict[str, Any]:
    try:
        return fit_process(own, other.in_ms() if other else None, origin)
    except ValueError as error:
        raise ScenarioError(str(path), str(error), "give a longer recording") from error
