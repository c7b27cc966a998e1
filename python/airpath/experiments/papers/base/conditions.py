"""Conditions on what is measured: the rules by which a claim in words is checked, the same for all papers.

=================  ======================================================================================
``Less``           the 95 % interval of the difference lies below zero; open if it includes zero, unless it
                   shows a tie
``Positive``       likewise for a difference from zero
``Tie``            the 95 % interval of the difference lies within 5 % of the larger mean on either side;
                   open if it reaches beyond, refuted if it lies beyond
``NotLess``        larger, or a tie, or between both: the interval lies above the lower limit of a tie
``Agree``          the means are within 15 % of the larger
``Never``          a count is zero in every run
``About``          within 15 % of the claimed number, or it rounds to it
``AtLeast``        the mean is on that side of the limit, or within 5 % of it;
``AtMost``         ``slack`` replaces that tolerance where the claim itself gives one
``between``        both limits, likewise
``WithinPoints``   the mean differs by at most so much
``Spread``         the interval of a single run is at least so wide
=================  ======================================================================================

Differences and gains are taken seed by seed, and the interval is that of their mean. Tolerances are in
proportion to the claimed number or to what is compared: percentages have no points here. Where a mean does
not fit but a value in its 95 % interval would, the condition is open: more runs are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from airpath.experiments.papers.base.quantity import LookUp, Minus, Operand, Quantity, Times
from airpath.experiments.papers.base.verdict import CLOSE_RELATIVE, REPRODUCED_RELATIVE
from airpath.experiments.papers.base.wording import number, unit_name
from airpath.stats.estimate import Estimate

TIE = REPRODUCED_RELATIVE
"""Up to which part of the larger mean two are the same."""


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
    left: Operand
    right: Operand

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What is compared."""
        return (*self.left.quantities, *self.right.quantities)

    def _compare(self, look_up: LookUp, between: str) -> tuple[Estimate, float, str]:
        """The difference, the larger of the two means, and the figures with a word between them."""
        left, right = self.left.value(look_up), self.right.value(look_up)
        figures = f"{_shown(self.left, left)} {between} {_shown(self.right, right)}"
        return Minus(self.left, self.right).value(look_up), max(abs(left.mean), abs(right.mean)), figures


@dataclass(frozen=True)
class _Single:
    operand: Operand

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What is compared."""
        return self.operand.quantities


@dataclass(frozen=True)
class Less(_Pair):
    """The first is smaller, beyond doubt."""

    def check(self, look_up: LookUp) -> Finding:
        """Compare."""
        difference, larger, figures = self._compare(look_up, "<")
        return Finding(_negative(difference, TIE * larger), figures)


@dataclass(frozen=True)
class Positive(_Single):
    """Above zero, beyond doubt."""

    def check(self, look_up: LookUp) -> Finding:
        """Compare."""
        opposite = Times(-1, self.operand).value(look_up)
        figures = f"{_shown(self.operand, self.operand.value(look_up))}, above zero"
        return Finding(_negative(opposite, 0.0), figures)


def _negative(difference: Estimate, tie: float) -> bool | None:
    """Whether a difference is below zero; None if that is open."""
    if difference.ci_high < 0:
        return True
    is_tie = -tie <= difference.ci_low and difference.ci_high <= tie
    return False if difference.ci_low > 0 or is_tie else None


@dataclass(frozen=True)
class Agree(_Pair):
    """The two are close."""

    def check(self, look_up: LookUp) -> Finding:
        """Compare."""
        difference, larger, figures = self._compare(look_up, "close to")
        return Finding(
            _decided(difference, 0.0, lambda apart: abs(apart) <= CLOSE_RELATIVE * larger), figures
        )


@dataclass(frozen=True)
class Tie(_Pair):
    """The two differ by no more than a small part of them, beyond doubt."""

    def check(self, look_up: LookUp) -> Finding:
        """Compare."""
        difference, larger, figures = self._compare(look_up, "~")
        low, high, limit = difference.ci_low, difference.ci_high, TIE * larger
        holds = True if -limit <= low and high <= limit else False if low > limit or high < -limit else None
        return Finding(holds, figures)


@dataclass(frozen=True)
class NotLess(_Pair):
    """The first is larger than the second, or they tie."""

    def check(self, look_up: LookUp) -> Finding:
        """Compare."""
        difference, larger, figures = self._compare(look_up, "not below")
        limit = -TIE * larger
        holds = True if difference.ci_low >= limit else False if difference.ci_high < limit else None
        return Finding(holds, figures)


@dataclass(frozen=True)
class About(_Single):
    """A value that the claim names with "about" or as printed in a table."""

    target: float

    def check(self, look_up: LookUp) -> Finding:
        """Compare."""
        known = self.operand.value(look_up)
        decimals = len(f"{self.target:g}".partition(".")[2])
        limit = max(CLOSE_RELATIVE * abs(self.target), 0.5 / 10**decimals)
        holds = _decided(known, self.target, lambda value: abs(value - self.target) <= limit)
        return Finding(holds, f"{_shown(self.operand, known)}, claimed {self.target:g}")


@dataclass(frozen=True)
class WithinPoints(_Single):
    """No further than `points` from a value."""

    target: float
    points: float

    def check(self, look_up: LookUp) -> Finding:
        """Compare."""
        known = self.operand.value(look_up)
        holds = _decided(known, self.target, lambda value: abs(value - self.target) <= self.points)
        figures = f"{_shown(self.operand, known)}, claimed {self.target:.4g} within {self.points:g}"
        return Finding(holds, figures)


@dataclass(frozen=True)
class Never(_Single):
    """A count that is zero in every run."""

    def check(self, look_up: LookUp) -> Finding:
        """Compare."""
        known = self.operand.value(look_up)
        return Finding(known.mean == 0, f"{_shown(self.operand, known)}, never")


@dataclass(frozen=True)
class Spread(_Single):
    """Single runs scatter: 95 % of them fill more than this share of the mean on either side."""

    share: float

    def check(self, look_up: LookUp) -> Finding:
        """Compare."""
        known = self.operand.value(look_up)
        width = 100 * (known.prediction_interval()[1] - known.mean) / abs(known.mean)
        figures = f"{_shown(self.operand, known)}, single runs within {number(width)} % of it"
        return Finding(width >= 100 * self.share, f"{figures}, at least {100 * self.share:g} %")


@dataclass(frozen=True)
class AtLeast(_Single):
    """A lower limit."""

    limit: float
    slack: float | None = None

    def check(self, look_up: LookUp) -> Finding:
        """Compare."""
        known = self.operand.value(look_up)
        lowest = self.limit - slack(self.limit, self.slack)
        holds = _decided(known, self.limit, lambda value: value >= lowest)
        return Finding(holds, f"{_shown(self.operand, known)}, at least {self.limit:.4g}")


@dataclass(frozen=True)
class AtMost(_Single):
    """An upper limit."""

    limit: float
    slack: float | None = None

    def check(self, look_up: LookUp) -> Finding:
        """Compare."""
        known = self.operand.value(look_up)
        highest = self.limit + slack(self.limit, self.slack)
        holds = _decided(known, self.limit, lambda value: value <= highest)
        return Finding(holds, f"{_shown(self.operand, known)}, at most {self.limit:.4g}")


def slack(limit: float, given: float | None = None) -> float:
    """How far beyond a limit still keeps it, in the unit of the limit."""
    return REPRODUCED_RELATIVE * abs(limit) if given is None else given


def _decided(known: Estimate, target: float, fits: Callable[[float], bool]) -> bool | None:
    """Whether a mean fits; None if it does not, but a value in its interval does."""
    if fits(known.mean):
        return True
    low, high = known.mean - known.half_width, known.mean + known.half_width
    return None if fits(min(max(target, low), high)) else False


def between(operand: Operand, low: float, high: float) -> tuple[Condition, ...]:
    """Make both limits of a range."""
    return (AtLeast(operand, low), AtMost(operand, high))


def rising(*operands: Operand) -> tuple[Condition, ...]:
    """Make the conditions that each is less than the next one."""
    return tuple(Less(left, right) for left, right in pairwise(operands))
