"""How values, intervals and reasons are put into words."""

from __future__ import annotations

import math
import re

from airpath.stats.estimate import Estimate
from airpath.terminal import counted
from airpath_studies.base.published import Published
from airpath_studies.base.verdict import MET, VERDICTS, Verdict

VERDICT_WORDS: dict[Verdict, str] = {verdict: verdict.replace("_", " ") for verdict in VERDICTS}
VERDICT_WORDS["calibrated_not_met"] = "calibrated, not met"

_UNITS = {"percent": "%", "1": ""}
_COUNTED = ("1", "SDU", "byte", "packets", "segments")
_SHARES = re.compile(r"^share_|^p\d_|probability|index$")


def unit_name(unit: str) -> str:
    """Write a unit of the published values as written after a number."""
    return _UNITS.get(unit, unit)


def number(value: float) -> str:
    """Write a value with a sensible number of digits."""
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 3 if 0 < size < 0.1 else 2
    return f"{value:z.{digits}f}"


def possible(low: float, high: float, unit: str, quantity: str = "") -> tuple[float, float]:
    """Cut an interval to what can be: no count is below zero, no share outside of 0 to 1 or 100 %.

    `quantity` is what is published, as `Published.quantity` names it. What has no unit (``1``) is a count, a
    ratio or a share.
    """
    is_share = _SHARES.search(quantity) is not None
    least = 0.0 if is_share or unit in _COUNTED else -math.inf
    most = (100.0 if unit == "percent" else 1.0) if is_share else math.inf
    return max(low, least), min(high, most)


def mean_text(estimate: Estimate, unit: str, quantity: str = "") -> str:
    """Write the mean and half the width of its interval, or the interval where that reaches too far."""
    mean, known = number(estimate.mean), (estimate.ci_low, estimate.ci_high)
    if estimate.n == 1:
        return mean
    if possible(*known, unit, quantity) != known:
        return f"{mean} ({interval_text(known, unit, quantity)})"
    return f"{mean} ± {number(estimate.half_width)}"


def interval_text(known: tuple[float, float], unit: str, quantity: str = "") -> str:
    """Write an interval, cut to what is possible; nothing after one run, where its limits are NaN."""
    low, high = possible(*known, unit, quantity)
    return "" if math.isnan(known[0]) else f"{number(low)} … {number(high)}"


def reason_for(
    value: Published,
    where: str,
    readings: dict[str, tuple[Estimate, Verdict]],
    averaged_runs: int = 1,
    remark: str = "",
    *,
    more_readings: bool = True,
) -> str:
    """Say what shows that a value did not come out, and what the other readings give; nothing if it did.

    `where` is the experiment, with table or figure and row. `readings` are the simulated interpretations;
    the first one judges. `more_readings` says whether the paper has others at all, `remark` further
    information about the value.
    """
    (reading, (measured, judged)), *others = readings.items()
    if judged in MET:
        return ""
    unit = f" {unit_name(value.unit)}".rstrip()
    made = "by computation" if measured.is_exact and measured.n == 1 else counted(measured.n, "run")
    made += f" under reading '{reading}'" if more_readings else ""
    given = f"{made}: {mean_text(measured, value.unit, value.quantity)}{unit}"
    parts = [f"{where}: {given}, {_off(value, measured)}"]
    if judged == "consistent":
        low_to_high = interval_text(measured.prediction_interval(averaged_runs), value.unit, value.quantity)
        what = "a single run" if averaged_runs == 1 else f"a mean of {averaged_runs} runs"
        parts.append(f"{what} falls in {low_to_high}")
    elif judged == "more_runs_needed":
        parts.append("too few runs to tell")
    elif judged == "not_reproduced" and others:
        means = [estimate.mean for estimate, _ in readings.values()]
        spread = f"all {len(means)} readings give {number(min(means))} to {number(max(means))}{unit}"
        fitting = [
            f"'{name}' {number(estimate.mean)} ({VERDICT_WORDS[verdict]})"
            for name, (estimate, verdict) in others
            if verdict not in ("not_reproduced", "more_runs_needed")
        ]
        parts.append(f"{spread}, among them {', '.join(fitting)}" if fitting else f"{spread}: none fits")
    elif judged == "not_reproduced" and more_readings:
        parts.append("the other readings were not simulated")
    return "; ".join([*parts, remark] if remark else parts)


def _off(value: Published, measured: Estimate) -> str:
    """Say how far off a mean is: in points for percentages, else in percent of the published value."""
    apart = measured.mean - value.target
    side = "above" if apart > 0 else "below"
    if value.unit == "percent":
        return f"{number(abs(apart))} points {side}"
    if value.target == 0:
        return f"{number(abs(apart))} {side}"
    return f"{number(abs(100 * apart / value.target))} % {side}"
