"""The report on what differs between two subjects."""

from __future__ import annotations

import math
from collections.abc import Iterator

from airpath.experiments.difference import Difference, Result
from airpath.report.document import Note, Part, Table
from airpath.runs.changes import shortened
from airpath.stats.estimate import Estimate, is_lopsided
from airpath.terminal import counted

MOST_ROWS = 40
"""Most results that are shown; JSON has all of them."""


def difference_report(found: Difference) -> Iterator[Part]:
    """Show the settings that differ, then the results that differ, with b - a."""
    if found.is_none:
        yield Note(f"the same: {counted(found.compared, 'number')} of the results and all settings")
        return
    settings = Table("setting", "A", "B", words=(0, 1, 2))
    for key, *values in found.settings:
        settings.add(key, *("–" if value is None else shortened(value) for value in values))
    yield settings
    keys = list(dict.fromkeys(key for one in found.results for key in one.point))
    table = Table(*keys, "result", "A", "B", "B - A", "%", words=range(len(keys) + 1), keys=len(keys) + 1)
    for one in found.results[:MOST_ROWS]:
        point = (str(one.point.get(key, "")) for key in keys)
        means = map(estimate_text, (one.a, one.b, one.difference))
        table.add(*point, one.name, *means, _share(one))
    yield table
    if (more := len(found.results) - MOST_ROWS) > 0:
        yield Note(f"and {counted(more, 'more result')}: see --format json")
    if found.compared:
        yield Note(
            f"{len(found.results)} of {counted(found.compared, 'number')} of the results differ{_how(found)}"
        )
    if found.unmatched:
        yield Note(f"{counted(found.unmatched, 'number')} of the results only in A or only in B")


def _how(found: Difference) -> str:
    several = [one for one in found.results if one.difference.n > 1]
    if not several:
        return ""
    pairs = all(one.paired for one in several)
    of = "pairs with the same seed" if pairs else "independent runs, as the seeds differ"
    lopsided = any(is_lopsided(known) for one in several for known in (one.a, one.b, one.difference))
    ends = ", [its ends] where it is not symmetric" if lopsided else ""
    return f"; ± is half of the 95 % confidence interval{ends}, of {of}"


def estimate_text(known: Estimate) -> str:
    """Write a mean with two significant digits of half its interval."""
    if known.n > 1 and known.half_width > 0:
        places = max(0, 1 - math.floor(math.log10(known.half_width)))
        if is_lopsided(known):
            return f"{known.mean:.{places}f} [{known.ci_low:.{places}f}, {known.ci_high:.{places}f}]"
        return f"{known.mean:.{places}f} ± {known.half_width:.{places}f}"
    return f"{known.mean:.6g}" + (" ± 0" if known.n > 1 else "")


def _share(one: Result) -> str:
    return f"{100 * one.difference.mean / abs(one.a.mean):+.1f}" if one.a.mean else ""
