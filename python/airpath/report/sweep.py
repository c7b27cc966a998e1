"""The report on a sweep: means and intervals by point."""

from __future__ import annotations

import math
from collections.abc import Iterator

from airpath.experiments.sweep.results import PointResult, SweepResults
from airpath.report.document import Part, Table


def sweep_report(results: SweepResults) -> Iterator[Part]:
    """Show the mean of each metric with half the width of its interval, a line for each point."""
    level = f"{100 * results.confidence:g} %"
    title = f"{results.name} ({results.scenario}): mean ± half of the {level} interval"
    names = ("point", *results.parameters, "runs", *results.metrics)
    table = Table(*names, words=range(1, 1 + len(results.parameters)), title=title)
    for point in results.points:
        table.add(
            str(point.point),
            *(str(point.parameters.get(key, "")) for key in results.parameters),
            str(point.runs),
            *(_cell(point, name) for name in results.metrics),
        )
    yield table


def _cell(point: PointResult, metric: str) -> str:
    known, missing = point.estimates[metric], point.missing(metric)
    if known is None:
        text = "–"
    elif known.n > 1 and known.half_width > 0:
        # Two significant digits of the interval, and the mean to the same decimal.
        places = max(0, 1 - math.floor(math.log10(known.half_width)))
        text = f"{known.mean:.{places}f} ± {known.half_width:.{places}f}"
    else:
        text = f"{known.mean:.6g}" + (" ± 0" if known.n > 1 else "")
    return f"{text} ({missing} of {point.runs} without)" if missing else text
