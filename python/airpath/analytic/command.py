"""`airpath predict`: what a run measured beside what throughput models make of its loss episodes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

import typer

from airpath.analytic.inputs import Episodes
from airpath.analytic.measured import FlowPredictions, predict_run
from airpath.analytic.models import MODELS
from airpath.arguments import JsonOption, SetOption, load_changed, runs_option
from airpath.errors import ScenarioError
from airpath.finished import FinishedRun
from airpath.progress import progress_bar
from airpath.recorder import RESULTS
from airpath.run import run
from airpath.scenario import bundled
from airpath.terminal import Table, console_for, counted, number_text, say
from airpath.textfile import parse_toml

if TYPE_CHECKING:
    from rich.console import Console


def predict(
    source: Annotated[
        str,
        typer.Argument(metavar="DIR|SCENARIO", help="A folder that a run has filled, or what to run."),
    ],
    set_: SetOption = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of the run, or of the first; 1 if absent.")
    ] = None,
    runs: Annotated[int, runs_option("Runs of the scenario, with consecutive seeds.")] = 1,
    json_: JsonOption = False,
) -> None:
    """Set the goodput of a run's TCP flows beside what throughput models predict from its losses."""
    if Path(source).is_dir() and source not in bundled():
        for option, given in (("--set", set_), ("--seed", seed is not None), ("--runs", runs > 1)):
            if given:
                what = f"'{source}' is a finished run, which has its seed and values"
                raise ScenarioError(option, what, "name a scenario to run it anew")
        done = [read_run(Path(source))]
    else:
        done = _simulate(source, set_, 1 if seed is None else seed, runs)
    if json_:
        said = [{"seed": number, "flows": [as_json(flow) for flow in flows]} for number, flows in done]
        typer.echo(json.dumps({"source": source, "runs": said}, indent=2))
        return
    console = console_for()
    numbers = ", ".join(str(number) for number, _ in done)
    say(console, f"{source}, seed{'s' if len(done) > 1 else ''} {numbers}")
    # Pages open as many connections as a run brings: whoever is there in each run is compared.
    for same in zip(*(flows for _, flows in done), strict=False):
        _print_flow(console, same)


def read_run(folder: Path) -> tuple[int, list[FlowPredictions]]:
    """The seed of a finished run, and what models make of its flows.

    Raises
    ------
    ScenarioError
        If the folder holds no run that can be read.
    """
    finished = FinishedRun.open(folder)
    summary, scenario = finished.summary, finished.scenario
    try:
        flows = predict_run(summary, scenario)
        for flow in flows:
            as_json(flow)
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        what = f"its {RESULTS} lacks what a run's has ({error!r})"
        raise ScenarioError(
            str(folder), what, "run the scenario again with this version of airpath"
        ) from error
    return summary["seed"], flows


def _simulate(
    source: str, changes: Sequence[str] | None, first: int, count: int
) -> list[tuple[int, list[FlowPredictions]]]:
    scenario = load_changed(source, changes)
    resolved = parse_toml(scenario.text)
    runs = []
    for seed in range(first, first + count):
        with progress_bar(f"{scenario.name}, seed {seed}") as progress:
            summary = run(scenario, seed, probes=(), progress=progress).summary
        runs.append((seed, predict_run(summary, resolved)))
    return runs


def as_json(flow: FlowPredictions) -> dict[str, Any]:
    """A flow as `airpath predict --json` has it; what is not known is null."""
    episodes, link = flow.episodes, flow.link
    return {
        **{key: flow.flow[key] for key in ("ue", "flow", "direction")},
        "measured_kbit_per_s": flow.measured_kbit_per_s,
        "segment_bytes": flow.segment_bytes,
        "episodes": episodes
        and {
            "packets": episodes.packets,
            "duration_s": episodes.duration_s,
            "fast_retransmits": episodes.fast_retransmits,
            "timeouts": episodes.timeouts,
            "loss_probability": episodes.loss_probability,
            "rtt_s": episodes.rtt_s,
            "timeout_s": episodes.timeout_s,
            "single_share": episodes.single_share,
            "double_share": episodes.double_share,
            "timeout_share": episodes.timeout_share,
            "max_window": episodes.max_window,
            "packets_per_ack": episodes.packets_per_ack,
            "window_limit": episodes.window_limit,
        },
        "link": link
        and {
            "service_rate": link.service_rate,
            "propagation_s": link.propagation_s,
            "round_trip_s": link.round_trip_s,
            "buffer_packets": link.buffer_packets,
        },
        "no_link": flow.no_link,
        "models": [
            {
                "name": prediction.model.name,
                "packets_per_s": prediction.throughput and prediction.throughput.packets_per_s,
                "kbit_per_s": flow.kbit_per_s(prediction),
                "relative_error": flow.relative_error(prediction),
                "reason": prediction.reason,
            }
            for prediction in flow.predictions
        ],
    }


def _print_flow(console: Console, runs: Sequence[FlowPredictions]) -> None:
    """Print a flow of one run, or the means over several."""
    flow = runs[0].flow
    label = f"flow {flow['ue']}.{flow['flow']} {flow['direction']}"
    goodputs = [one.measured_kbit_per_s for one in runs if one.measured_kbit_per_s is not None]
    measured = f"{fmean(goodputs):.1f} kbit/s of payload" if goodputs else "goodput not known"
    console.print()
    say(console, f"{label}: measured {measured}")
    if episodes := [one.episodes for one in runs if one.episodes is not None]:
        say(console, f"  losses: {_episodes_text(episodes)}")
    if links := [one.link for one in runs if one.link is not None]:
        text = (
            f"mu {fmean(link.service_rate for link in links):.2f} packets/s, "
            f"T {1000 * fmean(link.round_trip_s for link in links):.0f} ms, "
            f"B {links[0].buffer_packets:.0f} packets"
        )
        say(console, f"  link: {text}")
    table = Table("  model", "predicted\nkbit/s", "error\n%")
    for which in range(len(MODELS)):
        if cells := _model_cells(runs, which):
            table.add(*cells)
    table.print(console)
    reasons: dict[str, list[str]] = {}
    for which, model in enumerate(MODELS):
        for reason in dict.fromkeys(one.predictions[which].reason for one in runs):
            if reason:
                reasons.setdefault(reason, []).append(model.title)
    for reason, titles in reasons.items():
        what = "no model applies" if len(titles) == len(MODELS) else "; ".join(titles)
        say(console, f"  {what}: {reason}")


def _model_cells(runs: Sequence[FlowPredictions], which: int) -> tuple[str, str, str] | None:
    """A model's row: means over the runs to which it applies; None if there are none."""
    pairs = [(one, one.predictions[which]) for one in runs]
    said = [kbit for one, prediction in pairs if (kbit := one.kbit_per_s(prediction)) is not None]
    errors = [error for one, prediction in pairs if (error := one.relative_error(prediction)) is not None]
    if not said:
        return None
    some = f" ({len(said)} of {counted(len(runs), 'run')})" if len(said) < len(runs) else ""
    percent = number_text(100 * fmean(errors) if errors else None, 1)
    return f"  {MODELS[which].title}{some}", f"{fmean(said):.1f}", percent


def _episodes_text(episodes: Sequence[Episodes]) -> str:
    """The losses of one run, or the means over several."""

    def mean(name: str, scale: float = 1.0) -> float | None:
        known = [value for one in episodes if (value := getattr(one, name)) is not None]
        return scale * fmean(known) if known else None

    parts = [
        f"p {mean('loss_probability'):.5f}",
        f"TD {number_text(mean('fast_retransmits'))}",
        f"TO {number_text(mean('timeouts'))}",
        f"RTT {number_text(mean('rtt_s', 1000))} ms",
        f"T0 {number_text(mean('timeout_s'), 2)} s",
        f"p1 {number_text(mean('single_share'), 3)}",
        f"p2 {number_text(mean('double_share'), 3)}",
        f"p3 {number_text(mean('timeout_share'), 3)}",
        f"Wf {number_text(mean('max_window'), 2)}",
    ]
    return ", ".join(parts)
