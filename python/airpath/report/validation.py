"""The report of `airpath reproduce reality`: errors of models of recorded links."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from airpath.recordings.validation import COVERAGE, HALVES, MEASURES, TIMEOUTS, Judgement, summary
from airpath.report.document import Heading, Items, Note, Part, Table
from airpath.terminal import counted, number_text

GOALS = {
    "goodput": 0.05,
    "rtt_p50": 0.05,
    "rtt_p95": 0.10,
    "rtt_max": 0.20,
    "page": 0.07,
    TIMEOUTS: 0.6,
    COVERAGE: 0.8,
    "BBR/CUBIC": 0.05,
}
"""Largest error allowed for a process, judged on the half that it was fitted to."""
HEADINGS = {
    "goodput": "goodput\n%",
    "rtt_p50": "RTT p50\n%",
    "rtt_p95": "RTT p95\n%",
    "rtt_max": "RTT max\n%",
    "page": "page\n%",
    TIMEOUTS: "timeouts\nper min",
    COVERAGE: "covered\n%",
    "BBR/CUBIC": "BBR/CUBIC\n%",
}


def validation_report(judgements: Sequence[Judgement], left_out: Sequence[tuple[str, str]]) -> Iterator[Part]:
    """Show median errors of each model, by half, and of the process by recording."""
    found = list(judgements)
    models = list(dict.fromkeys(one.model for one in found))
    names = list(dict.fromkeys(one.recording for one in found))
    yield Note(
        f"{counted(len(names), 'recording')}; models see the first half; medians over recordings and set-ups"
        "; noise is the standard error of what is seen in so few windows of a recording"
    )
    for half in HALVES:
        yield Heading(f"Errors, judged by the {half}")
        table = Table("model", *(HEADINGS[name] for name in MEASURES))
        for model in models:
            table.add(model, *_cells(summary(found, model, half)))
        if half == HALVES[0]:
            table.add("goal", *_cells(GOALS))
        yield table
    yield Heading("The process by recording, same half")
    table = Table("recording", *(HEADINGS[name] for name in MEASURES))
    for name in names:
        table.add(
            name, *_cells(summary([one for one in found if one.recording == name], "process", HALVES[0]))
        )
    yield table
    if left_out:
        yield Note("left out:")
        yield Items([f"{name}: {reason}" for name, reason in left_out])


def _cells(values: dict[str, float]) -> Iterator[str]:
    for name in MEASURES:
        value = values[name]
        if math.isnan(value):
            yield "-"
        elif name == TIMEOUTS:
            yield number_text(value, 2)
        else:
            yield number_text(100 * value, 0 if name == COVERAGE else 1)
