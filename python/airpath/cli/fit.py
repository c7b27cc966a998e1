"""`airpath fit`: writes a scenario whose link has the statistics of a recording."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from airpath.cli.arguments import ForceOption, JsonOption, argument, flag, option
from airpath.cli.output import STANDARD_OUTPUT, check_free, tell, write_file
from airpath.errors import ScenarioError
from airpath.progress import progress_bar
from airpath.recordings.cells import Fit, Technology, bands_of, fit_cell, runs_of
from airpath.recordings.felt import link_of
from airpath.recordings.fitting import fit_process
from airpath.recordings.judged import compare_transfers, mean_of, process, statistics_of
from airpath.recordings.own.folder import RTT_MS, idle_rtt_ms
from airpath.recordings.reader import read_recording
from airpath.recordings.recording import Recording
from airpath.recordings.statistics import Statistics, describe, describe_counts
from airpath.recordings.written import cell_toml, model_json, scenario_toml
from airpath.report.fit import LEFT_OUT, cell_parameters, fit_report, warnings_of
from airpath.runner.processes import processors
from airpath.scenario import Scenario
from airpath.terminal import clean

SHORTEST_S = 60


Form = Literal["process", "cell"]


def command(
    recording: Annotated[
        Path, argument("RECORDING", "A recording in any of the known formats, also as .gz.")
    ],
    out: Annotated[
        Path, option("FILE", "Where to write the scenario; if it ends in .json, the model alone.", "--out")
    ],
    as_: Annotated[
        Form, option("FORM", "process: as recorded; cell: it also reacts to load.", "--as")
    ] = "process",
    technology: Annotated[
        Technology, option("NAME", "Technology of --as cell: hsdpa, lte or nr.", "--technology")
    ] = "lte",
    band: Annotated[
        str | None, option("NAME", "Of --as cell, if it is known: such as '10 MHz', or 'category 8'.")
    ] = None,
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
    rtt: Annotated[
        float | None,
        option(
            "MS",
            "RTT of the idle path; absent, that of airpath record's meta.json or 34.",
            min=RTT_MS[0],
            max=RTT_MS[1],
        ),
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
    is_model = out.suffix.lower() == ".json"
    if as_ == "cell":
        _refuse_for_cells(**{"--uplink": uplink, "--mean": mean, "--rtt": rtt, "--out": is_model})
    elif band is not None:
        raise ScenarioError("--band", "is of a cell, and this is a process", "remove it, or write --as cell")
    if band is not None and band not in bands_of(technology):
        known = ", ".join(f"'{one}'" for one in bands_of(technology))
        raise ScenarioError("--band", f"'{band}' is none of {technology}", f"choose from {known}")
    for name, value, key in (("--mean", mean, "channel.process.mean"), ("--rtt", rtt, "wired.delay")):
        if is_model and value is not None:
            what = "is of a scenario, and this is a model alone"
            raise ScenarioError(name, what, f"remove it, and write {key} in the scenario")
    read = _part(read_recording(recording, column=column), from_, to)
    other = _part(read_recording(uplink), from_, to) if uplink else None
    with _by_option():
        fitted = (
            _cell(recording, read, technology, band)
            if as_ == "cell"
            else _process(recording, read, uplink, other, idle_rtt_ms(recording) if rtt is None else rtt)
        )
    statistics = describe(read)
    warnings = warnings_of(read, statistics, describe_counts(read.in_ms()))
    comments = [
        f"a download over a {fitted.what} fitted to {clean(_origin(read))}",
        "",
        *(f"{one}" for one in warnings),
        f"mean {statistics.mean_mbps:.3f} Mbit/s; by airpath fit --as {as_}",
    ]
    text = fitted.text(comments, mean)
    with _by_option():
        Scenario(out.stem, text)
    found = []
    if transfers:
        with progress_bar(f"transfers over {read.name}") as progress:
            found = compare_transfers(read.in_ms(), fitted.link, progress=progress)
    written = model_json(fitted.model) if is_model else text
    write_file("--out", out, written, force)
    if out == STANDARD_OUTPUT:
        return
    said: dict[str, Any] = {
        "recording": {"name": read.name, "format": read.format, "notes": list(read.notes)},
        "recorded": statistics.as_dict(),
        "modelled": fitted.statistics.as_dict(),
        "transfers": [one.as_dict() for one in found],
        "warnings": warnings,
        "model": fitted.model,
    }
    notes = [*fitted.notes, LEFT_OUT[as_], f"written: {out}"]
    tell(json_, said, fit_report(read, statistics, fitted.statistics, found, warnings, notes))


@contextlib.contextmanager
def _by_option() -> Iterator[None]:
    """Name the option in the core's errors about a model and its mean."""
    try:
        yield
    except ScenarioError as error:
        key, message, hint = error.args
        _, is_model, below = key.partition(".process.model.")
        if is_model:
            option = "--uplink" if ".uplink." in key else "RECORDING"
            what = f"no model can have this: {below}: {message}"
            raise ScenarioError(option, what, "fit a part of it with --from and --to") from error
        if key.endswith(".process.mean"):
            raise ScenarioError("--mean", message, hint) from error
        raise


@dataclass(frozen=True)
class _Fitted:
    """A fitted link: what it is, its statistics, its channel by window, and the text of its scenario."""

    what: str
    model: dict[str, Any]
    statistics: Statistics
    link: Callable[[int], object]
    text: Callable[[list[str], str | None], str]
    notes: tuple[str, ...] = ()


def _process(
    path: Path, read: Recording, uplink: Path | None, other: Recording | None, rtt_ms: float | None
) -> _Fitted:
    own = read.in_ms()
    model = _fitted(path, own, other, _origin(read))
    model_up = _fitted(uplink, other.in_ms(), read, f"{other.name}, uplink") if uplink and other else None
    notes = (
        (f"{other.name} is shorter than half of {read.name}: what both share is not fitted",)
        if other and "shared" not in model
        else ()
    )
    return _Fitted(
        "link",
        model,
        statistics_of(model, len(own)),
        lambda _: process(model),
        lambda comments, mean: scenario_toml(comments, model, model_up, mean, rtt_ms),
        notes,
    )


def _cell(path: Path, read: Recording, technology: Technology, band: str | None) -> _Fitted:
    own, workers = read.in_ms(), processors()
    with progress_bar(f"cells for {read.name}") as progress:
        try:
            fit: Fit = fit_cell(own, technology, workers, band=band, progress=progress)
        except ValueError as error:
            raise ScenarioError(str(path), str(error), "give another recording, or --technology") from error
    runs = runs_of(fit.cell, read.mean_bps, workers, seed=1)
    return _Fitted(
        "cell",
        asdict(fit),
        mean_of([describe_counts(run) for run in (np.concatenate(runs[at::4]) for at in range(4))]),
        lambda index: link_of(runs[index % len(runs)]),
        lambda comments, _: cell_toml([*comments, *cell_parameters(fit)], fit.cell),
        tuple(cell_parameters(fit)),
    )


def _origin(read: Recording) -> str:
    return f"{read.name}, {read.duration_s:.0f} s: {read.format}"


def _refuse_for_cells(**given: object) -> None:
    for name, value in given.items():
        if value:
            raise ScenarioError(name, "does not go with --as cell", "remove it, or write --as process")


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
