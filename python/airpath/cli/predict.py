"""`airpath predict`: compares a run's goodput with throughput models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from airpath.cli.arguments import JsonOption, SetOption, argument, load_changed, option, runs_option
from airpath.cli.output import tell
from airpath.errors import ScenarioError
from airpath.files.text import parse_toml
from airpath.models.measured import FlowPredictions, predict_run
from airpath.progress import progress_bar
from airpath.report.prediction import prediction_report
from airpath.runs.finished import FinishedRun
from airpath.runs.memory import run
from airpath.runs.recorder import RESOLVED, RESULTS
from airpath.scenario import bundled

EPISODES = (
    *("packets", "duration_s", "fast_retransmits", "timeouts", "loss_probability", "rtt_s", "timeout_s"),
    *("single_share", "double_share", "timeout_share", "max_window", "packets_per_ack", "window_limit"),
)
LINK = ("service_rate", "propagation_s", "round_trip_s", "buffer_packets")


def command(
    source: Annotated[str, argument("DIR|SCENARIO", "Folder of a finished run, or a scenario to run.")],
    set_: SetOption = None,
    seed: Annotated[int | None, option("N", "Seed of the run, or of the first; 1 if absent.")] = None,
    runs: Annotated[int, runs_option("Runs of the scenario, with consecutive seeds.")] = 1,
    json_: JsonOption = False,
) -> None:
    """Compare the goodput of a run's TCP flows with what models predict from its losses and RTT."""
    if Path(source).is_dir() and source not in bundled():
        for option, given in (("--set", set_), ("--seed", seed is not None), ("--runs", runs > 1)):
            if given:
                what = f"'{source}' is a finished run, which has its seed and values"
                raise ScenarioError(option, what, "name a scenario to run it again")
        done = [read_run(Path(source))]
    else:
        done = _simulate(source, set_, 1 if seed is None else seed, runs)
    said = [{"seed": number, "flows": [as_json(flow) for flow in flows]} for number, flows in done]
    tell(json_, {"source": source, "runs": said}, prediction_report(source, done))


def read_run(folder: Path) -> tuple[int, list[FlowPredictions]]:
    """Read a finished run: its seed, and the models' predictions for its flows; else a `ScenarioError`."""
    finished = FinishedRun.open(folder)
    summary, scenario = finished.summary, finished.scenario
    try:
        flows = predict_run(summary, scenario)
        for flow in flows:
            as_json(flow)
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        what = f"its {RESULTS} and its {RESOLVED} are not of one run"
        hint = "run the scenario again with this version of airpath"
        raise ScenarioError(str(folder), what, hint) from error
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
        "episodes": episodes and {name: getattr(episodes, name) for name in EPISODES},
        "link": link and {name: getattr(link, name) for name in LINK},
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
