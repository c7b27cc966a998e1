"""Conditions on measurements: the rules that check a claim in words, equal for all papers.

=================  ======================================================================================
``Less``           the 95 % interval of the difference lies below zero; open if it includes zero, unless it
                   shows a tie
``Positive``       like ``Less``, for a difference from zero
``Tie``            the 95 % interval of the difference lies within 5 % of the larger mean on either side;
                   open if it reaches beyond, refuted if it lies beyond
``NotLess``        larger, or a tie, or between both: the interval lies above the lower limit of a tie
``Agree``          the means are within 15 % of the larger
``Never``          a count is zero in every run
``About``          within 15 % of the claimed number, or it rounds to it
``AtLeast``        the mean is on that side of the limit, or within 5 % of it;
``AtMost``         ``slack`` replaces that tolerance where the claim itself gives one
``between``        both limits, like ``AtMost``
``WithinPoints``   the mean differs by at most so much
``Spread``         the interval of a single run is at least so wide
``HalfWidth``      the interval of a mean of so many runs is between two limits
``AllOf``          every one of several conditions
``OneOf``          at least one of several conditions
=================  ======================================================================================

Differences and gains are taken seed by seed, and the interval is that of their mean. Tolerances are in
proportion to the claimed number or to what is compared: percentages have no points here. Where a mean does
not fit but a value in its 95 % interval would, the condition is open: more runs are needed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Protocol

from airpath.stats.estimate import Estimate, by_seed, t_quantile
from airpath_studies.base.quantity import LookUp, Minus, Operand, Quantity
from airpath_studies.base.verdict import CLOSE_RELATIVE, REPRODUCED_RELATIVE, reproduced_limit
from airpath_studies.base.wording import number, unit_name

TIE = REPRODUCED_RELATIVE
"""Largest difference of a tie, as a share of the larger mean."""


@dataclass(frozen=True)
class Finding:
    """Whether a condition holds (None if more runs would be needed to tell), and the figures."""

    holds: bool | None
    figures: str


class Condition(Protocol):
    """One thing that must be so for a claim to hold."""

    @property
    def quantities(self) -> tuple[Quantity, ...]: ...  # noqa: D102
    def check(self, look_up: LookUp) -> Finding: ...  # noqa: D102


def _shown(operand: Operand, known: Estimate) -> str:
    return (
        f"{operand.name} {number(known.mean)} ± {number(known.half_width)} {unit_name(operand.unit)}".rstrip()
    )


@dataclass(frozen=True)
class _Pair:
    """Two operands; their difference decides, and the larger of their means."""

    left: Operand
    right: Operand

    is_said: ClassVar[str]

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return (*self.left.quantities, *self.right.quantities)

    def check(self, look_up: LookUp) -> Finding:
        left, right = self.left.value(look_up), self.right.value(look_up)
        difference = Minus(self.left, self.right).value(look_up)
        holds = self._holds(difference, max(abs(left.mean), abs(right.mean)))
        return Finding(holds, f"{_shown(self.left, left)} {self.is_said} {_shown(self.right, right)}")

    def _holds(self, difference: Estimate, larger: float) -> bool | None:
        raise NotImplementedError


class Less(_Pair):
    """The first is smaller, beyond doubt."""

    is_said = "<"

    def _holds(self, difference: Estimate, larger: float) -> bool | None:
        return _negative(difference, TIE * larger)


class Agree(_Pair):
    """The two are close."""

    is_said = "close to"

    def _holds(self, difference: Estimate, larger: float) -> bool | None:
        return _decided(difference, 0.0, lambda apart: abs(apart) <= CLOSE_RELATIVE * larger)


class Tie(_Pair):
    """The two differ by no more than a small part of them, beyond doubt."""

    is_said = "~"

    def _holds(self, difference: Estimate, larger: float) -> bool | None:
        low, high, limit = difference.ci_low, difference.ci_high, TIE * larger
        return True if -limit <= low and high <= limit else False if low > limit or high < -limit else None


class NotLess(_Pair):
    """The first is larger than the second, or they tie."""

    is_said = "not below"

    def _holds(self, difference: Estimate, larger: float) -> bool | None:
        limit = -TIE * larger
        return True if difference.ci_low >= limit else False if difference.ci_high < limit else None


@dataclass(frozen=True)
class _Single:
    """One operand."""

    operand: Operand

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return self.operand.quantities

    def check(self, look_up: LookUp) -> Finding:
        known = self.operand.value(look_up)
        holds, claimed = self._judge(known)
        return Finding(holds, f"{_shown(self.operand, known)}, {claimed}")

    def _judge(self, known: Estimate) -> tuple[bool | None, str]:
        """Whether it holds, and what is claimed."""
        raise NotImplementedError


class Positive(_Single):
    """Above zero, beyond doubt."""

    def _judge(self, known: Estimate) -> tuple[bool | None, str]:
        return _negative(by_seed(operator.neg, known), 0.0), "above zero"


class Never(_Single):
    """A count that is zero in every run."""

    def _judge(self, known: Estimate) -> tuple[bool | None, str]:
        return known.mean == 0, "never"


@dataclass(frozen=True)
class About(_Single):
    """A value that the claim names with "about" or as printed in a table: one that is reproduced holds."""

    target: float

    def _judge(self, known: Estimate) -> tuple[bool | None, str]:
        decimals = len(f"{self.target:g}".partition(".")[2])
        rounding = 0.5 / 10**decimals
        reproduced = reproduced_limit(self.target, self.operand.unit)
        limit = max(CLOSE_RELATIVE * abs(self.target), reproduced, rounding)
        holds = _decided(known, self.target, lambda value: abs(value - self.target) <= limit)
        return holds, f"claimed {self.target:g}"


@dataclass(frozen=True)
class WithinPoints(_Single):
    """No further than `points` from a value."""

    target: float
    points: float

    def _judge(self, known: Estimate) -> tuple[bool | None, str]:
        holds = _decided(known, self.target, lambda value: abs(value - self.target) <= self.points)
        return holds, f"claimed {self.target:.4g} within {self.points:g}"


@dataclass(frozen=True)
class Spread(_Single):
    """Single runs scatter: 95 % of them fill more than this share of the mean on either side."""

    share: float

    def _judge(self, known: Estimate) -> tuple[bool | None, str]:
        width = 100 * (known.prediction_interval()[1] - known.mean) / abs(known.mean)
        claimed = f"single runs within {number(width)} % of it, at least {100 * self.share:g} %"
        return width >= 100 * self.share, claimed


@dataclass(frozen=True)
class _Limit(_Single):
    limit: float
    slack: float | None = None

    sign: ClassVar[int]
    is_said: ClassVar[str]

    def _judge(self, known: Estimate) -> tuple[bool | None, str]:
        last = self.sign * self.limit - _slack(self.limit, self.slack)
        holds = _decided(known, self.limit, lambda value: self.sign * value >= last)
        return holds, f"{self.is_said} {self.limit:.4g}"


class AtLeast(_Limit):
    """A lower limit."""

    sign, is_said = 1, "at least"


class AtMost(_Limit):
    """An upper limit."""

    sign, is_said = -1, "at most"


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
        half = t_quantile(self.runs, self.confidence) * look_up(self.of).sd / math.sqrt(self.runs)
        kept = self.low - _slack(self.low) <= half <= self.high + _slack(self.high)
        unit = unit_name(self.of.unit)
        return Finding(kept, f"{self.of.name} ± {number(half)} {unit}, {self.low:g} to {self.high:g}")


@dataclass(frozen=True)
class _Several:
    of: tuple[Condition, ...]

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return tuple(quantity for condition in self.of for quantity in condition.quantities)

    def check(self, look_up: LookUp) -> Finding:
        return self._judge([condition.check(look_up) for condition in self.of])

    def _judge(self, findings: list[Finding]) -> Finding:
        raise NotImplementedError


class AllOf(_Several):
    """Every one of several conditions."""

    def _judge(self, findings: list[Finding]) -> Finding:
        known = [finding.holds for finding in findings]
        holds = False if False in known else None if None in known else True
        return Finding(holds, ", ".join(finding.figures for finding in findings))


class OneOf(_Several):
    """At least one of several conditions; the figures are those of the first that holds, if there is one."""

    def _judge(self, findings: list[Finding]) -> Finding:
        holding = [finding for finding in findings if finding.holds]
        if holding:
            return Finding(True, f"{len(holding)} of {len(findings)}, such as {holding[0].figures}")
        holds = None if any(finding.holds is None for finding in findings) else False
        return Finding(holds, f"none of {len(findings)}, such as {findings[0].figures}")


def _negative(difference: Estimate, tie: float) -> bool | None:
    """Whether a difference is below zero; None if that is open."""
    if difference.ci_high < 0:
        return True
    is_tie = -tie <= difference.ci_low and difference.ci_high <= tie
    return False if difference.ci_low > 0 or is_tie else None


def _slack(limit: float, given: float | None = None) -> float:
    """How far beyond a limit still keeps it, in the unit of the limit."""
    return REPRODUCED_RELATIVE * abs(limit) if given is None else given


def _decided(known: Estimate, target: float, fits: Callable[[float], bool]) -> bool | None:
    """Whether a mean fits; None if it does not, but a value in its interval does."""
    if fits(known.mean):
        return True
    return None if fits(min(max(target, known.ci_low), known.ci_high)) else False


def between(operand: Operand, low: float, high: float) -> tuple[Condition, ...]:
    """Make both limits of a range."""
    return (AtLeast(operand, low), AtMost(operand, high))


def rising(*operands: Operand) -> tuple[Condition, ...]:
    """Make the conditions that each is less than the next one."""
    return tuple(Less(left, right) for left, right in pairwise(operands))
