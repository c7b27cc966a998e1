"""`airpath reproduce reality`: judges models of recorded links on held-out data."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from airpath.cli.output import as_text, folder_for, tell, write_file
from airpath.errors import ScenarioError
from airpath.progress import progress_bar
from airpath.recordings.reader import read_recording
from airpath.recordings.validation import HALVES, MOST_WINDOWS, Judgement, summary, validate_all
from airpath.report.validation import validation_report
from airpath.runner.processes import processors

NAME = "reality"
QUICK_WINDOWS = 5


def reality(
    recordings: Path | None,
    runs: int | None,
    workers: int | None,
    json_: bool,
    out: Path,
    force: bool,
) -> None:
    """Judge models of all recordings in a folder, and print and write the report."""
    if recordings is None:
        raise ScenarioError("--recordings", "is missing", "name a folder of recordings")
    if not recordings.is_dir():
        raise ScenarioError("--recordings", f"'{recordings}' is no folder", "name a folder of recordings")
    file = out / "report.json"
    folder_for("out", file, force=force)
    files = sorted(one for one in recordings.rglob("*") if one.is_file() and not one.name.startswith("."))
    read, left_out = [], []
    for one in files:
        try:
            read.append(read_recording(one))
        except ScenarioError as error:
            left_out.append((str(one.relative_to(recordings)), error.problem))
    if not read:
        raise ScenarioError("--recordings", f"'{recordings}' has no recordings", "see airpath import --help")
    judgements: list[Judgement] = []
    with progress_bar("recordings") as progress:
        for recording, found in validate_all(read, workers or processors(), runs or MOST_WINDOWS, progress):
            if isinstance(found, str):
                left_out.append((recording.name, found))
            else:
                judgements += found
    if not judgements:
        raise ScenarioError(
            "--recordings", "no recording could be judged", f"{left_out[0][0]}: {left_out[0][1]}"
        )
    models = dict.fromkeys(one.model for one in judgements)
    said = {
        "medians": {half: {model: summary(judgements, model, half) for model in models} for half in HALVES},
        "judgements": [asdict(one) for one in judgements],
        "left_out": dict(left_out),
    }
    write_file("out", file, as_text(said) + "\n", force)
    tell(json_, said, validation_report(judgements, left_out))
