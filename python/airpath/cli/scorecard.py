"""`airpath scorecard`: sets a congestion control beside CUBIC, or a rate controller into test cases."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from airpath.cli.arguments import (
    WORKERS,
    ForceOption,
    JsonOption,
    argument,
    option,
    out_option,
    parse_changes,
    runs_option,
)
from airpath.cli.output import as_text, folder_for, tell, write_files
from airpath.experiments.scorecard import calls
from airpath.experiments.scorecard.card import RUNS, card_as_json, scenario_of, score, table_of
from airpath.experiments.scorecard.conditions import CONDITIONS
from airpath.progress import progress_bar
from airpath.report import html
from airpath.report.calls import calls_page, calls_report
from airpath.report.scorecard import scorecard_page, scorecard_report, title_of
from airpath.runs.memory import check_seed
from airpath.terminal import console_for, say


def command(
    cc: Annotated[
        str,
        argument(
            "CC",
            "A congestion control or a rate controller: see 'airpath list components tcp.cc' and "
            "'airpath list components controller'.",
        ),
    ],
    set_: Annotated[
        list[str] | None,
        option("PATH=VALUE", "Change a parameter of CC, such as variant=linux. Repeatable.", "--set"),
    ] = None,
    runs: Annotated[int, runs_option("Runs of each condition (pairs), with consecutive seeds.")] = RUNS,
    seed: Annotated[int, option("N", "Seed of the first pair.")] = 1,
    workers: Annotated[int | None, WORKERS] = None,
    json_: JsonOption = False,
    out: Annotated[
        Path | None,
        out_option(
            "Folder for index.html, the page, report.json, and the conditions as scenarios; "
            "out/scorecard-CC if absent."
        ),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Compare a congestion control with CUBIC in the conditions of RFC 9743 and RFC 8869.

    Fairness, bursts, short flows, round trips, cells, loss and jitter: the same seeds with CC and with CUBIC,
    and a verdict in each row. A rate controller of calls is run in the cases of RFC 8867 and RFC 8869
    instead, with a limit in each row.
    """
    check_seed(seed)
    check_seed(seed + runs - 1)
    if cc in calls.controllers():
        return _calls(cc, set_ or [], range(seed, seed + runs), workers, json_, out, force)
    table = table_of(cc, parse_changes(set_))
    folder = out or Path("out") / f"scorecard-{cc}"
    page, data = "index.html", "report.json"
    scenarios = [(f"conditions/{one.name}.toml", one) for one in CONDITIONS]
    folder_for("out", *(folder / name for name in (page, data, *dict(scenarios))), force=force)
    with progress_bar(cc) as progress:
        card = score(cc, table, range(seed, seed + runs), workers, on_progress=progress)
    said = card_as_json(card)
    words = ["airpath", "scorecard", cc, *(word for change in set_ or () for word in ("--set", change))]
    parts = scorecard_page(card, shlex.join([*words, "--runs", str(runs), "--seed", str(seed)]))
    files = {file: scenario_of(condition, cc, table).text for file, condition in scenarios}
    files |= {page: html.page(title_of(cc), parts), data: as_text(said) + "\n"}
    write_files("out", folder, files, force)
    tell(json_, said, scorecard_report(card))
    say(console_for(stderr=json_), f"page: {folder / page}")


def _calls(
    name: str,
    changes: list[str],
    seeds: range,
    workers: int | None,
    json_: bool,
    out: Path | None,
    force: bool,
) -> None:
    """Run the cases of calls."""
    table = calls.table_of(name, parse_changes(changes))
    folder = out or Path("out") / f"scorecard-{name}"
    page, data = "index.html", "report.json"
    files = {f"cases/{case.name}.toml": calls.source(case, table) for case in calls.CASES}
    folder_for("out", *(folder / file for file in (page, data, *files)), force=force)
    with progress_bar(name) as progress:
        card = calls.score(name, table, seeds, workers, on_progress=progress)
    said = calls.card_as_json(card)
    words = ["airpath", "scorecard", name, *(word for change in changes for word in ("--set", change))]
    command = shlex.join([*words, "--runs", str(len(seeds)), "--seed", str(seeds[0])])
    files |= {page: html.page(title_of(name), calls_page(card, command)), data: as_text(said) + "\n"}
    write_files("out", folder, files, force)
    tell(json_, said, calls_report(card))
    say(console_for(stderr=json_), f"page: {folder / page}")
