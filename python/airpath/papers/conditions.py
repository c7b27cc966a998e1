"""Conditions on what is measured: the rules by which a claim in words is checked, the same for all papers.

=================  ======================================================================================
``Less``           the 95 % interval of the difference lies below zero (half-widths added in quadrature);
                   open if it includes zero, unless it shows a tie within what `verdict` calls reproduced
``Positive``       likewise for a difference from zero
``Agree``          the means are within what `verdict` calls close
``Never``          a count is zero in every run
``Tie``            the means are within what `verdict` calls reproduced, or the difference of two single
                   runs is zero within 95 %
``NotLess``        larger, or a tie
``About``          `verdict` calls the value reproduced or close
``AtLeast``        the mean is on that side of the limit, or `verdict` calls it reproduced;
``AtMost``         ``slack`` replaces that tolerance where the claim itself gives one
``between``        both limits, likewise
``WithinPoints``   the mean differs by at most so much
``Spread``         the interval of a single run is at least so wide
=================  ======================================================================================

Where a mean does not fit but a value in its 95 % interval would, the condition is open: more runs are needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from airpath.papers.paper import Cell, Metric
from airpath.papers.verdict import (
    CLOSE_POINTS,
    CLOSE_RELATIVE,
    MET,
    REPRODUCED_POINTS,
    REPRODUCED_RELATIVE,
    judge_exact,
)
from airpath.papers.wording import number, unit_name
from airpath.replicate import Estimate


@dataclass(frozen=True)
class Measured:
    """A mean with what is known about it: half-widths of its interval, and of that of one more run.

    `sd` is the standard deviation of a run, NaN where it is not known.
    """

    mean: float
    half_width: float
    single_run: float
    sd: float = math.nan

    @classmethod
    def of(cls, estimate: Estimate) -> Measured:
        """Take over an estimate."""
        low, high = estimate.prediction_interval(1)
        return cls(estimate.mean, estimate.half_width, (high - low) / 2, estimate.sd)

    @property
    def text(self) -> str:
        """Mean and half-width in words."""
        return f"{number(self.mean)} ± {number(self.half_width)}"


@dataclass(frozen=True)
class Quantity:
    """A metric of a cell.

    Attributes
    ----------
    name : str
        What it is, in the figures that a claim shows.
    cell : Cell
        What is simulated.
    metric : callable
        The value of a run.
    unit : str
        Its unit; ``percent`` has tolerances in points too.
    traced : bool
        Whether the metric needs the send window over time.
    """

    name: str
    cell: Cell
    metric: Metric
    unit: str = "percent"
    traced: bool = False

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Itself."""
        return (self,)

    def value(self, look_up: LookUp) -> Measured:
        """Look up what was measured."""
        return look_up(self)


LookUp = Callable[[Quantity], Measured]


class Operand(Protocol):
    """What conditions compare."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def unit(self) -> str: ...  # noqa: D102
    @property
    def quantities(self) -> tuple[Quantity, ...]: ...  # noqa: D102
    def value(self, look_up: LookUp) -> Measured: ...  # noqa: D102


@dataclass(frozen=True)
class Times:
    """A multiple of a quantity."""

    factor: float
    of: Operand

    @property
    def name(self) -> str:
        """What it is."""
        return f"{self.factor:g} x {self.of.name}"

    @property
    def unit(self) -> str:
        """Its unit."""
        return self.of.unit

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What it is computed from."""
        return self.of.quantities

    def value(self, look_up: LookUp) -> Measured:
        """Compute it."""
        known = self.of.value(look_up)
        return Measured(
            self.factor * known.mean, abs(self.factor) * known.half_width, abs(self.factor) * known.single_run
        )


@dataclass(frozen=True)
class Minus:
    """The difference of two quantities."""

    left: Operand
    right: Operand

    @property
    def name(self) -> str:
        """What it is."""
        return f"({self.left.name} - {self.right.name})"

    @property
    def unit(self) -> str:
        """Its unit."""
        return self.left.unit

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What it is computed from."""
        return (*self.left.quantities, *self.right.quantities)

    def value(self, look_up: LookUp) -> Measured:
        """Compute it, as if both had been measured independently."""
        left, right = self.left.value(look_up), self.right.value(look_up)
        return Measured(
            left.mean - right.mean,
            math.hypot(left.half_width, right.half_width),
            math.hypot(left.single_run, right.single_run),
        )


@dataclass(frozen=True)
class Gain:
    """By how much a quantity is larger than another, percent; below zero if it is smaller."""

    left: Operand
    right: Operand

    @property
    def name(self) -> str:
        """What it is."""
        return f"gain of {self.left.name} over {self.right.name}"

    @property
    def unit(self) -> str:
        """Its unit."""
        return "percent"

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What it is computed from."""
        return (*self.left.quantities, *self.right.quantities)

    def value(self, look_up: LookUp) -> Measured:
        """Compute it, as if both had been measured independently, to first order in their intervals."""
        left, right = self.left.value(look_up), self.right.value(look_up)
        ratio = left.mean / right.mean

        def spread(of_left: float, of_right: float) -> float:
            return 100 * abs(ratio) * math.hypot(of_left / left.mean, of_right / right.mean)

        return Measured(
            100 * (ratio - 1),
            spread(left.half_width, right.half_width),
            spread(left.single_run, right.single_run),
        )


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


def _shown(operand: Operand, known: Measured) -> str:
    return f"{operand.name} {known.text} {unit_name(operand.unit)}".rstrip()


@dataclass(frozen=True)
class _Pair:
    left: Operand
    right: Operand

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What is compared."""
        return (*self.left.quantities, *self.right.quantities)


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
        difference = Minus(self.left, self.right).value(look_up)
        left, right = self.left.value(look_up), self.right.value(look_up)
        tolerance = _tolerance(max(abs(left.mean), abs(right.mean)), self.left.unit)
        figures = f"{_shown(self.left, left)} < {_shown(self.right, right)}"
        return Finding(_negative(difference, tolerance), figures)


@dataclass(frozen=True)
class Positive(_Single):
    """Above zero, beyond doubt."""

    def check(self, look_up: LookUp) -> Finding:
        """Compare."""
        known = self.operand.value(look_up)
        opposite = Times(-1, self.operand).value(look_up)
        return Finding(_negative(opposite, 0.0), f"{_shown(self.operand, known)}, above zero")


def _negative(difference: Measured, tolerance: float) -> bool | None:
    """Whether a difference is below zero; None if that is open."""
    if difference.mean + difference.half_width < 0:
        return True
    is_above = difference.mean - difference.half_width > 0
    is_tie = abs(difference.mean) + difference.half_width <= tolerance
    return False if is_above or is_tie else None


def _tolerance(
    size: float, unit: str, relative: float = REPRODUCED_RELATIVE, points: float = REPRODUCED_POINTS
) -> float:
    return max(relative * size, points) if unit == "percent" else relative * size


@dataclass(frozen=True)
class Agree(_Pair):
    """The two are close."""

    def check(self, look_up: LookUp) -> Finding:
        """Compare."""
        left, right = self.left.value(look_up), self.right.value(look_up)
        size = max(abs(left.mean), abs(right.mean))
        tolerance = _tolerance(size, self.left.unit, CLOSE_RELATIVE, CLOSE_POINTS)
        figures = f"{_shown(self.left, left)} close to {_shown(self.right, right)}"
        apart = Minus(self.left, self.right).value(look_up)
        return Finding(_decided(apart, 0.0, lambda value: abs(value) <= tolerance), figures)


@dataclass(frozen=True)
class Tie(_Pair):
    """The two differ by no more than the tolerance of a reproduced value, or than two single runs do."""

    def check(self, look_up: LookUp) -> Finding:
        """Compare."""
        left, right = self.left.value(look_up), self.right.value(look_up)
        tolerance = _tolerance(max(abs(left.mean), abs(right.mean)), self.left.unit)
        tolerance = max(tolerance, math.hypot(left.single_run, right.single_run))
        figures = f"{_shown(self.left, left)} ~ {_shown(self.right, right)}"
        return Finding(abs(left.mean - right.mean) <= tolerance, figures)


@dataclass(frozen=True)
class NotLess(_Pair):
    """The first is larger than the second, or they tie."""

    def check(self, look_up: LookUp) -> Finding:
        """Compare."""
        left, right = self.left.value(look_up), self.right.value(look_up)
        holds = left.mean >= right.mean or bool(Tie(self.left, self.right).check(look_up).holds)
        return Finding(holds, f"{_shown(self.left, left)} not below {_shown(self.right, right)}")


@dataclass(frozen=True)
class About(_Single):
    """A value that the claim names with "about" or as printed in a table."""

    target: float

    def check(self, look_up: LookUp) -> Finding:
        """Compare."""
        known = self.operand.value(look_up)

        def fits(value: float) -> bool:
            return judge_exact("claim_approx", self.target, value, self.operand.unit) != "not_reproduced"

        return Finding(
            _decided(known, self.target, fits), f"{_shown(self.operand, known)}, claimed {self.target:g}"
        )


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
        width = 100 * known.single_run / abs(known.mean)
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

        def fits(value: float) -> bool:
            if self.slack is None:
                return judge_exact("claim_lower", self.limit, value, self.operand.unit) in MET
            return value >= self.limit - self.slack

        return Finding(
            _decided(known, self.limit, fits), f"{_shown(self.operand, known)}, at least {self.limit:.4g}"
        )


@dataclass(frozen=True)
class AtMost(_Single):
    """An upper limit."""

    limit: float
    slack: float | None = None

    def check(self, look_up: LookUp) -> Finding:
        """Compare."""
        known = self.operand.value(look_up)

        def fits(value: float) -> bool:
            if self.slack is None:
                return judge_exact("claim_upper", self.limit, value, self.operand.unit) in MET
            return value <= self.limit + self.slack

        return Finding(
            _decided(known, self.limit, fits), f"{_shown(self.operand, known)}, at most {self.limit:.4g}"
        )


def _decided(known: Measured, target: float, fits: Callable[[float], bool]) -> bool | None:
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
