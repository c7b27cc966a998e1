"""Conditions of claims that look at several quantities, or at other conditions; the rest are in `conditions`.

=============  ==========================================================================================
``Highest``    the one of several quantities that has the largest mean, to be compared like any
``AllOf``      every one of several conditions
``OneOf``      at least one of several conditions
``HalfWidth``  the interval of a mean of so many runs is between two limits
=============  ==========================================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from airpath.experiments.papers.base.conditions import Condition, Finding, slack
from airpath.experiments.papers.base.quantity import LookUp, Operand, Quantity
from airpath.experiments.papers.base.wording import number, unit_name
from airpath.stats.estimate import Estimate, t_quantile


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

    def value(self, look_up: LookUp) -> Estimate:
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
    """Half the width of the interval of a mean of `runs` runs at `confidence` is between two limits."""

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
        quantile = t_quantile(self.runs, self.confidence)
        half = quantile * look_up(self.of).sd / math.sqrt(self.runs)
        kept = self.low - slack(self.low) <= half <= self.high + slack(self.high)
        unit = unit_name(self.of.unit)
        figures = f"{self.of.name} ± {number(half)} {unit}, {self.low:g} to {self.high:g}"
        return Finding(kept, figures)
