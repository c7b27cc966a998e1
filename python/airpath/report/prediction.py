"""The report of `airpath predict`: measured goodput compared with the predictions of throughput models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from airpath.models.catalogue import MODELS
from airpath.models.inputs import Episodes
from airpath.models.measured import FlowPredictions
from airpath.report.document import BLANK, Items, Note, Part, Table
from airpath.terminal import counted, number_text


def prediction_report(source: str, runs: Sequence[tuple[int, Sequence[FlowPredictions]]]) -> Iterator[Part]:
    """Report on runs of one scenario, each with its seed: a part for each flow that is in all of them."""
    seeds = ", ".join(str(seed) for seed, _ in runs)
    yield Note(f"{source}, seed{'s' if len(runs) > 1 else ''} {seeds}")
    # Web pages open different numbers of connections in different runs.
    for same in zip(*(flows for _, flows in runs), strict=False):
        yield from _flow(same)


def _flow(runs: Sequence[FlowPredictions]) -> Iterator[Part]:
    """A flow of one run, or the means over several."""
    flow = runs[0].flow
    label = f"flow {flow['ue']}.{flow['flow']} {flow['direction']}"
    goodputs = [one.measured_kbit_per_s for one in runs if one.measured_kbit_per_s is not None]
    measured = f"{fmean(goodputs):.1f} kbit/s of payload" if goodputs else "goodput not known"
    yield BLANK
    yield Note(f"{label}: measured {measured}")
    if episodes := [one.episodes for one in runs if one.episodes is not None]:
        yield Items([f"losses: {_episodes_text(episodes)}"])
    if links := [one.link for one in runs if one.link is not None]:
        text = (
            f"link: mu {fmean(link.service_rate for link in links):.2f} packets/s, "
            f"T {1000 * fmean(link.round_trip_s for link in links):.0f} ms, "
            f"B {links[0].buffer_packets:.0f} packets"
        )
        yield Items([text])
    rows = [cells for which in range(len(MODELS)) if (cells := _model_cells(runs, which))]
    yield Table("  model", "predicted\nkbit/s", "error\n%", rows=rows)
    reasons: dict[str, list[str]] = {}
    for which, model in enumerate(MODELS):
        for reason in dict.fromkeys(one.predictions[which].reason for one in runs):
            if reason:
                reasons.setdefault(reason, []).append(model.title)
    for reason, titles in reasons.items():
        what = "no model applies" if len(titles) == len(MODELS) else "; ".join(titles)
        yield Items([f"{what}: {reason}"])


def _model_cells(runs: Sequence[FlowPredictions], which: int) -> tuple[str, str, str] | None:
    """A model's row: means over the runs where it applies; None if there are none."""
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

    decimals = 2 if len(episodes) > 1 else 0  # A timeout in one of three runs is not none.
    parts = [
        f"p {mean('loss_probability'):.5f}",
        f"TD {number_text(mean('fast_retransmits'), decimals)}",
        f"TO {number_text(mean('timeouts'), decimals)}",
        f"RTT {number_text(mean('rtt_s', 1000))} ms",
        f"T0 {number_text(mean('timeout_s'), 2)} s",
        f"p1 {number_text(mean('single_share'), 3)}",
        f"p2 {number_text(mean('double_share'), 3)}",
        f"p3 {number_text(mean('timeout_share'), 3)}",
        f"Wf {number_text(mean('max_window'), 2)}",
    ]
    return ", ".join(parts)
