"""Conditions of claims that look at several quantities, or at other conditions; the rest are in `conditions`.

=============  ==========================================================================================
``Highest``    the one of several quantities that has the largest mean, to be compared like any
``AllOf``      every one of several conditions
``OneOf``      at least one of several conditions
``HalfWidth``  the interval of a mean of so many runs is within limits, or reproduces one of them
=============  ==========================================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import stdtrit

from airpath.papers.conditions import Condition, Finding, LookUp, Measured, Operand, Quantity
from airpath.papers.verdict import MET, judge_exact
from airpath.papers.wording import number, unit_name


@dataclass(frozen=True)
class Highest:
    """The one of several quantities that has the largest mean."""

    name: str
    of: tuple[Operand, ...]

    @property
    def unit(self) -> str:
        """Their unit."""
        return self.of[0].unit

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What it is chosen from."""
        return tuple(quantity for operand in self.of for quantity in operand.quantities)

    def value(self, look_up: LookUp) -> Measured:
        """Choose."""
        return max((operand.value(look_up) for operand in self.of), key=lambda known: known.mean)


@dataclass(frozen=True)
class AllOf:
    """Every one of several conditions."""

    of: tuple[Condition, ...]

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What is compared."""
        return tuple(quantity for condition in self.of for quantity in condition.quantities)

    def check(self, look_up: LookUp) -> Finding:
        """Check all."""
        findings = [condition.check(look_up) for condition in self.of]
        known = [finding.holds for finding in findings]
        holds = False if False in known else None if None in known else True
        return Finding(holds, ", ".join(finding.figures for finding in findings))


@dataclass(frozen=True)
class OneOf:
    """At least one of several conditions."""

    of: tuple[Condition, ...]

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What is compared."""
        return tuple(quantity for condition in self.of for quantity in condition.quantities)

    def check(self, look_up: LookUp) -> Finding:
        """Check all; the figures are those of the first that holds, if there is one."""
        findings = [condition.check(look_up) for condition in self.of]
        holding = [finding for finding in findings if finding.holds]
        if holding:
            return Finding(True, f"{len(holding)} of {len(findings)}, such as {holding[0].figures}")
        holds = None if any(finding.holds is None for finding in findings) else False
        return Finding(holds, f"none of {len(findings)}, such as {findings[0].figures}")


@dataclass(frozen=True)
class HalfWidth:
    """Half the width of the interval of a mean of `runs` runs at `confidence` is within limits.

    A limit is kept, too, if `verdict` calls it reproduced.
    """

    of: Quantity
    runs: int
    confidence: float
    low: float
    high: float

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What is measured."""
        return (self.of,)

    def check(self, look_up: LookUp) -> Finding:
        """Compare."""
        quantile = float(stdtrit(self.runs - 1, (1 + self.confidence) / 2))
        half = quantile * look_up(self.of).sd / math.sqrt(self.runs)
        limits = (("claim_lower", self.low), ("claim_upper", self.high))
        kept = [judge_exact(kind, limit, half, self.of.unit) in MET for kind, limit in limits]
        unit = unit_name(self.of.unit)
        figures = f"{self.of.name} ± {number(half)} {unit}, {self.low:g} to {self.high:g}"
        return Finding(all(kept), figures)
