"""`airpath compare`: compares a scenario simulated and live."""

from __future__ import annotations

import contextlib
import platform
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

from airpath.cli.arguments import (
    SCENARIO,
    ForceOption,
    JsonOption,
    SetOption,
    flag,
    number_option,
    option,
    out_option,
    parse_changes,
    runs_option,
)
from airpath.cli.output import as_text, folder_for, output_errors, tell, write_files
from airpath.errors import LiveError, ScenarioError
from airpath.experiments.versus_kernel.campaign import (
    LIVE_PER_PROCESSOR,
    Job,
    Outcomes,
    Variant,
    crossed,
    run_all,
)
from airpath.experiments.versus_kernel.carried import transfers
from airpath.experiments.versus_kernel.mechanism import split_changes, with_mechanism
from airpath.experiments.versus_kernel.multipath import check_kernel
from airpath.experiments.versus_kernel.tcp import WAYS, check_congestion_control, congestion_controls
from airpath.files.atomic import withdraw
from airpath.files.folder import Folder
from airpath.live import driver
from airpath.progress import progress_bar
from airpath.report.document import Part
from airpath.runs.memory import check_seed
from airpath.scenario import Scenario, load
from airpath.studies import studies

COMPARISON = "comparison.json"


def command(
    scenario: Annotated[str | None, SCENARIO] = None,
    published: Annotated[
        bool, flag("--published", "Instead of SCENARIO: compare published values of the papers with both.")
    ] = False,
    runs: Annotated[int, runs_option("Runs of each kind (simulated, live), with consecutive seeds.")] = 10,
    cc: Annotated[
        str | None,
        option("NAME,...", "Congestion controls. [default: all that both simulator and kernel have]"),
    ] = None,
    mechanism: Annotated[
        str | None, option("NAME,...", "Also with each of these, such as ack_regulator or pdpc.")
    ] = None,
    tcp: Annotated[
        str | None,
        option(
            "WAY",
            "linux, also if absent: the simulated TCP is like the kernel's; scenario: the kernel's like "
            "[tcp]; near: the same, and the simulated does as the kernel where that does not follow.",
        ),
    ] = None,
    set_: SetOption = None,
    seed: Annotated[int, option("N", "Seed of the first run.")] = 1,
    workers: Annotated[
        int | None,
        number_option("N", f"Live runs in parallel; {LIVE_PER_PROCESSOR} for each processor if absent."),
    ] = None,
    json_: JsonOption = False,
    out: Annotated[
        Path | None, out_option("Keep the captures of all runs, and the JSON, comparison.json, here.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Run a scenario simulated and live, with the kernel's TCP, and say how far both agree.

    Goodput, RTT, retransmissions and timeouts with 95 % confidence intervals; with --mechanism, also the
    effect of a mechanism, simulated and live. Of a flow over several paths: Multipath TCP in both, with
    completion time and the share of each path instead of RTTs. Live runs take real time.
    """
    check_seed(seed)
    check_seed(seed + runs - 1)
    if published:
        given = {"SCENARIO": scenario, "--cc": cc, "--mechanism": mechanism, "--tcp": tcp, "--set": set_}
        for name, value in given.items():
            if value:
                raise ScenarioError(name, "the papers have their own", "leave it out with --published")
        _compare_published(runs, seed, workers, json_, out, force)
        return
    if scenario is None:
        raise ScenarioError("SCENARIO", "nothing says what to run", "name a scenario, or give --published")
    tcp = "linux" if tcp is None else tcp
    if tcp not in WAYS:
        raise ScenarioError("--tcp", f"there is no way '{tcp}'", f"choose from {', '.join(WAYS)}")
    chosen = load(scenario)
    variants = make_variants(chosen, names_in("--cc", cc), names_in("--mechanism", mechanism), tcp, set_)
    seeds = range(seed, seed + runs)
    driver.driver_command()
    if any(transfer.paths for transfer in transfers(variants[0].live)):
        check_kernel()
    check_output(out, force)
    outcomes = carry_out(crossed(variants, seeds), chosen.name, workers, out)
    write(chosen.name, variants, seeds, outcomes, json_, out, force)


def names_in(option: str, text: str | None) -> list[str]:
    """Split a list of names separated by commas; raise a `ScenarioError` if one is empty or repeated."""
    if text is None:
        return []
    names = [name.strip() for name in text.split(",")]
    if not all(names) or len(set(names)) != len(names):
        raise ScenarioError(option, f"'{text}' is no list of names", "write each once, with commas between")
    return names


def make_variants(
    scenario: Scenario,
    congestion_controls_: Sequence[str],
    mechanisms: Sequence[str],
    way: str,
    changes: Sequence[str] | None,
) -> list[Variant]:
    """Make the variants to run: each congestion control alone, then with each mechanism.

    A `ScenarioError` names a part that cannot run live, or that simulator or kernel lacks.
    """
    for cc in congestion_controls_:
        check_congestion_control(cc)
    of_scenario, of_mechanisms = split_changes(parse_changes(changes), mechanisms)
    base = Scenario(scenario.name, scenario.source, tuple(of_scenario), scenario.folder)
    if way != "linux" and any(transfer.paths for transfer in transfers(base)):
        what = f"Multipath TCP is compared with the kernel's defaults, not with '{way}'"
        raise ScenarioError("--tcp", what, "write linux, or leave it out")
    made = []
    for name in (None, *mechanisms):
        path = base if name is None else with_mechanism(base, name, of_mechanisms[name])
        for cc in congestion_controls_ or congestion_controls():
            simulated, kernel = WAYS[way](path, cc)
            made.append(Variant(f"{cc}-{name}" if name else cc, cc, name, simulated, path, kernel))
    return made


def check_output(out: Path | None, force: bool) -> None:
    """Make the folder; refuse to replace an earlier comparison unasked, whose captures the runs replace."""
    if out is not None:
        folder_for("out", out / COMPARISON, force=force)
        with output_errors("out"), Folder.open(out) as folder:
            withdraw(folder, COMPARISON)


def carry_out(jobs: Sequence[Job], name: str, workers: int | None, out: Path | None) -> Outcomes:
    """Make all runs; raise a `LiveError` if live runs do not work here, or no run of a variant was valid."""

    def say_duration(seconds: float) -> None:
        print(f"simulated; the live runs will take about {seconds:.0f} s", file=sys.stderr)

    def temporary() -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="airpath-compare-", ignore_cleanup_errors=True)

    with contextlib.nullcontext(out) if out else temporary() as folder, progress_bar(name) as progress:
        outcomes = run_all(jobs, Path(folder), workers, progress, say_duration)
    for variant in dict.fromkeys(variant.name for variant, _ in jobs if variant.tcp):
        if not outcomes.seeds(variant):
            because = next((one.because for one in outcomes.repeated if one.variant == variant), [])
            what = f"no live run with {variant} was valid: {'; '.join(because)}"
            raise LiveError("live", what, "give fewer --workers, or a machine with less to do")
    return outcomes


def write(
    name: str,
    variants: list[Variant],
    seeds: Sequence[int],
    outcomes: Outcomes,
    json_: bool,
    out: Path | None,
    force: bool,
) -> None:
    """Print the tables or the JSON, and write it into the folder."""
    from airpath.experiments.versus_kernel.judgement import comparison_as_json
    from airpath.report.comparison import comparison_report

    carried, kernel = transfers(variants[0].live), platform.release()
    said = comparison_as_json(name, variants, carried, seeds, outcomes, kernel)
    _write(said, comparison_report(name, variants, carried, outcomes, kernel), json_, out, force)


def _compare_published(
    runs: int, seed: int, workers: int | None, json_: bool, out: Path | None, force: bool
) -> None:
    """Run the cells of the papers' values; print the table or the JSON, and write it into the folder."""
    published = studies("versus_kernel", "--published")
    driver.driver_command()
    check_output(out, force)
    chosen = published.cells()
    outcomes = carry_out(published.jobs(chosen, runs, seed), "published", workers, out)
    rows = [published.row_of(cell, outcomes) for cell in chosen]
    said = published.rows_as_json(rows, outcomes)
    _write(said, published.published_report(rows, outcomes), json_, out, force)


def _write(said: dict[str, Any], report: Iterable[Part], json_: bool, out: Path | None, force: bool) -> None:
    tell(json_, said, report)
    if out is not None:
        write_files("out", out, {COMPARISON: as_text(said) + "\n"}, force)
